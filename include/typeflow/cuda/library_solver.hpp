// SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear algebra of large matrices on GPUs by a library such as cuSOLVER.
//
// A library L is a class with
//   static bool is_large(std::int64_t side, std::int64_t count);
//   static std::int64_t solver_workspace(const SolverCall& call);
//   static bool solve(CudaStream& stream, const SolverCall& call, void* workspace,
//                     std::int64_t bytes);
// is_large() says whether it has `count` matrices whose shorter side is `side`; the kernels of
// ops/linalg.hpp, qr.hpp, eig.hpp and svd.hpp have the others. solver_workspace() returns bytes of
// the GPU's memory for a call whose pointers are null. solve() gives the stream the work; it
// returns false, and does nothing, if `bytes` are not enough. Its calls are not recorded as CUDA
// graphs.
//
// Matrices that are no ordinary case are left to our kernels, which find them by a mark in memory:
// those with NaN or infinity, and those for which the library reports that it has no result
// (singular ones, ones that are not positive definite). So errors and NaN are the same with and
// without a library.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/solver_work.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace cuda_kernels {

/// How a library computes an operation: the routines that it calls, what they work on, and the work
/// on a matrix, which returns false if the library can't.
template <class O>
struct solver_of {
  static constexpr bool is_missing = true;
};

/// Matrix m of an operand or result.
template <class T>
T* matrix_of(const Tensor& x, std::int64_t m) {
  return static_cast<T*>(x.data) + m * MatrixExtents(x).size();
}
/// Takes a square matrix.
template <class T, class L>
void stage_square(const SolverWork<T, L>& work, const Tensor& a) {
  const std::int64_t n = work.rows();
  work.stage(matrix_of<const T>(a, work.m()), n, n, work.stored(work.a(), n));
}

template <>
struct solver_of<ops::Lu> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::getrf};
  static SolverShape shape(const Tensor* in, const Tensor*) { return SolverShape(*in); }
  template <class T, class L>
  static bool work(const ops::Lu&, const Tensor* in, const Tensor* out, SolverWork<T, L>& work) {
    const std::int64_t n = work.rows();
    stage_square(work, *in);
    work.settle();
    if (!work.run(SolverRoutine::getrf)) return false;
    work.mark();
    const auto lu = work.stored(work.a(), n);
    work.copy(lu, matrix_of<T>(out[0], work.m()), n, n, MatrixPart::unit_lower);
    work.copy(lu, matrix_of<T>(out[1], work.m()), n, n, MatrixPart::upper);
    work.copy_order(static_cast<std::int32_t*>(out[2].data) + work.m() * n);
    return true;
  }
};

template <>
struct solver_of<ops::MatrixSolve> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::getrf, SolverRoutine::getrs};
  static SolverShape shape(const Tensor* in, const Tensor*) {
    return SolverShape(*in, in[1].extents.back());
  }
  template <class T, class L>
  static bool work(const ops::MatrixSolve& op, const Tensor* in, const Tensor* out,
                   SolverWork<T, L>& work) {
    const std::int64_t n = work.rows();
    const auto b = work.stored(work.b(), n);
    stage_square(work, *in);
    work.stage(matrix_of<const T>(in[1], work.m()), n, work.right(), b);
    work.settle();
    if (!work.run(SolverRoutine::getrf)) return false;
    if (!work.run(SolverRoutine::getrs, op.transposed != 0)) return false;
    work.mark();
    work.copy(b, matrix_of<T>(*out, work.m()), n, work.right(), MatrixPart::all);
    return true;
  }
};

template <>
struct solver_of<ops::MatrixInverse> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::getrf, SolverRoutine::getrs};
  static SolverShape shape(const Tensor* in, const Tensor*) {
    return SolverShape(*in, in->extents.back());
  }
  template <class T, class L>
  static bool work(const ops::MatrixInverse&, const Tensor* in, const Tensor* out,
                   SolverWork<T, L>& work) {
    const std::int64_t n = work.rows();
    const auto b = work.stored(work.b(), n);
    stage_square(work, *in);
    work.settle();
    work.copy(b, work.b(), n, n, MatrixPart::identity);
    if (!work.run(SolverRoutine::getrf) || !work.run(SolverRoutine::getrs)) return false;
    work.mark();
    work.copy(b, matrix_of<T>(*out, work.m()), n, n, MatrixPart::all);
    return true;
  }
};

/// Computes the determinant, or its sign and logarithm, by an LU decomposition.
struct SolverOfDeterminants {
  static constexpr SolverRoutine routines[] = {SolverRoutine::getrf};
  static SolverShape shape(const Tensor* in, const Tensor*) { return SolverShape(*in); }
  template <class O, class T, class L>
  static bool work(const O&, const Tensor* in, const Tensor* out, SolverWork<T, L>& work) {
    stage_square(work, *in);
    work.settle();
    if (!work.run(SolverRoutine::getrf)) return false;
    work.mark();
    T* const first = static_cast<T*>(out[0].data) + work.m();
    if constexpr (std::is_same_v<O, ops::LogDeterminant>) {
      work.copy_determinant(nullptr, first, static_cast<T*>(out[1].data) + work.m());
    } else {
      work.copy_determinant(first, nullptr, nullptr);
    }
    return true;
  }
};
template <>
struct solver_of<ops::MatrixDeterminant> : SolverOfDeterminants {};
template <>
struct solver_of<ops::LogDeterminant> : SolverOfDeterminants {};

template <>
struct solver_of<ops::Cholesky> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::potrf};
  static SolverShape shape(const Tensor* in, const Tensor*) { return SolverShape(*in); }
  template <class T, class L>
  static bool work(const ops::Cholesky&, const Tensor* in, const Tensor* out,
                   SolverWork<T, L>& work) {
    const std::int64_t n = work.rows();
    const auto rows = work.transposed(work.a(), n);  // our lower triangle is the library's upper
    work.stage(matrix_of<const T>(*in, work.m()), n, n, rows, true);
    work.settle();
    if (!work.run(SolverRoutine::potrf)) return false;
    work.mark();
    work.copy(rows, matrix_of<T>(*out, work.m()), n, n, MatrixPart::lower);
    return true;
  }
};

template <>
struct solver_of<ops::Qr> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::geqrf, SolverRoutine::orgqr};
  static SolverShape shape(const Tensor* in, const Tensor*) {
    const MatrixExtents e(*in);
    return {*in, e.rows, e.columns, 0};
  }
  template <class T, class L>
  static bool work(const ops::Qr&, const Tensor* in, const Tensor* out, SolverWork<T, L>& work) {
    const std::int64_t p = std::min(work.rows(), work.columns());
    const auto w = work.stored(work.a(), work.rows());
    work.stage(matrix_of<const T>(*in, work.m()), work.rows(), work.columns(), w);
    work.settle();
    if (!work.run(SolverRoutine::geqrf)) return false;
    work.copy(w, matrix_of<T>(out[1], work.m()), p, work.columns(), MatrixPart::upper);
    if (!work.run(SolverRoutine::orgqr)) return false;
    work.mark();
    work.copy(w, matrix_of<T>(out[0], work.m()), work.rows(), p, MatrixPart::all);
    return true;
  }
};

template <>
struct solver_of<ops::SelfAdjointEig> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::syevd};
  static SolverShape shape(const Tensor* in, const Tensor*) { return SolverShape(*in); }
  template <class T, class L>
  static bool work(const ops::SelfAdjointEig&, const Tensor* in, const Tensor* out,
                   SolverWork<T, L>& work) {
    const std::int64_t n = work.rows();
    work.stage(matrix_of<const T>(*in, work.m()), n, n, work.transposed(work.a(), n), true);
    work.settle(true);
    if (!work.run(SolverRoutine::syevd)) return false;
    work.mark(n);
    work.copy_values(static_cast<T*>(out[0].data) + work.m() * n);
    work.copy(work.stored(work.a(), n), matrix_of<T>(out[1], work.m()), n, n, MatrixPart::all);
    return true;
  }
};

template <>
struct solver_of<ops::Svd> {
  static constexpr SolverRoutine routines[] = {SolverRoutine::gesvd};
  static SolverShape shape(const Tensor* in, const Tensor*) {
    const MatrixExtents e(*in);
    SolverShape shape(*in, std::max(e.rows, e.columns), std::min(e.rows, e.columns), 0);
    shape.has_singular_vectors = true;
    return shape;
  }
  template <class T, class L>
  static bool work(const ops::Svd&, const Tensor* in, const Tensor* out, SolverWork<T, L>& work) {
    const MatrixExtents e(*in);
    const bool wide = e.rows < e.columns;  // the library takes the transpose
    const std::int64_t length = work.rows();
    const std::int64_t p = work.columns();
    work.stage(matrix_of<const T>(*in, work.m()), e.rows, e.columns,
               wide ? work.transposed(work.a(), length) : work.stored(work.a(), length));
    work.settle(true);
    if (!work.run(SolverRoutine::gesvd)) return false;
    work.mark(p);
    work.copy_values(static_cast<T*>(out[0].data) + work.m() * p);
    const Tensor& longer = wide ? out[2] : out[1];
    const Tensor& shorter = wide ? out[1] : out[2];
    work.copy(work.stored(work.b(), length), matrix_of<T>(longer, work.m()), length, p,
              MatrixPart::all);
    work.copy(work.transposed(work.c(), p), matrix_of<T>(shorter, work.m()), p, p, MatrixPart::all);
    return true;
  }
};

/// The kernel of an operation whose large matrices a library has, in the form of kernel_of.
template <class O, class L>
struct LibrarySolver {
  using Own = kernel_of<O>;
  using Solver = solver_of<O>;

  static std::int64_t workspace(const Tensor* in, const Tensor* out) {
    const std::int64_t own = Own::workspace(in, out);
    return is_large(*in, out) ? places_of(Solver::shape(in, out), own).end : own;
  }
  template <class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    if (!is_large(*in, out)) return Own::template run<T>(op, in, out, call);
    const SolverShape shape = Solver::shape(in, out);
    stream_of(call).use_device();  // whose cuSOLVER is asked for its workspace
    const SolverPlaces places = places_of(shape, Own::workspace(in, out));
    auto* const memory = static_cast<std::byte*>(call.workspace);
    fill_bytes(call, memory + places.largest, 0, places.info - places.largest);
    KernelCall rest = call;
    rest.workspace = memory + places.own;
    for (std::int64_t m = 0; m < shape.count; ++m) {
      SolverWork<T, L> work(call, shape, places, m);
      if (!Solver::work(op, in, out, work)) return Own::template run<T>(op, in, out, rest);
    }
    Own::template run<T>(op, in, out, rest, reinterpret_cast<const int*>(memory + places.chosen));
  }

 private:
  static bool is_large(const Tensor& a, const Tensor* out) {
    const MatrixExtents e(a);
    return e.count > 0 && out->size() > 0 && L::is_large(std::min(e.rows, e.columns), e.count);
  }
  static SolverPlaces places_of(const SolverShape& shape, std::int64_t own) {
    std::int64_t library = 0;
    for (const SolverRoutine routine : Solver::routines) {
      SolverCall call = shape.call;
      call.routine = routine;
      library = std::max(library, L::solver_workspace(call));
    }
    return {shape, library, own};
  }
};

template <class L>
concept SolvingLibrary = requires { &L::solver_workspace; };

template <class O, class In, class Out, Precision P, SolvingLibrary L>
  requires(!requires { solver_of<O>::is_missing; })
struct LibraryCode<ir::CustomKernel<O, In, Out>, P, L>
    : CustomCode<LibrarySolver<O, L>, O, In, Out> {
  static constexpr bool may_be_recorded = false;
};

}  // namespace cuda_kernels

}  // namespace typeflow::inline TYPEFLOW_ISA
