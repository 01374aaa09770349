// SPDX-License-Identifier: Apache-2.0
#pragma once

// Systems of linear equations.

#include "typeflow/linalg/matrices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// X of A X = B, or of A^T X = B.
struct MatrixSolve : custom {
  static constexpr std::string_view name = "MatrixSolve";
  std::uint32_t transposed;

  static constexpr Type infer(MatrixSolve, const Type& a, const Type& b) {
    return {b.dtype, a.dtype == b.dtype && linalg::is_lapack_type(a.dtype) &&
                             linalg::can_solve(a.dims, b.dims)
                         ? b.dims
                         : no_dims};
  }
  /// dB = A^-T dX, dA = -dB X^T; with A^T in place of A, dA is transposed, too.
  static constexpr std::array<AnyExpr, 2> gradient(MatrixSolve op, auto a, auto, auto x, auto dx) {
    const bool transposed = op.transposed != 0;
    const AnyExpr db = matrix_solve(a, dx, !transposed);
    return {-(transposed ? matmul(x, db, false, true) : matmul(db, x, false, true)), db};
  }
  static Error explain(MatrixSolve, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("matrix_solve", wrong, operands[0], "is singular");
  }
  static void interpret(InterpretCall& call) {
    const bool transposed = decode<MatrixSolve>(call.graph, call.node).transposed != 0;
    const HostTensor& a = *call.inputs[0];
    if (call.outputs[0].size() == 0) return;
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      const linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      linalg::HostMatrix x = linalg::HostMatrix::of(*call.inputs[1], m);
      if (matrix.has_nan()) {
        x.fill(linalg::not_a_number);
      } else if (!linalg::gauss_jordan(transposed ? matrix.transposed() : matrix, x)) {
        throw explain({}, {1, {m}}, std::array{a.dims});
      }
      x.store(call.outputs[0], m);
    }
  }
};

/// The same for a triangular A.
struct MatrixTriangularSolve : custom {
  static constexpr std::string_view name = "MatrixTriangularSolve";
  std::uint32_t triangle;  ///< a Triangle
  std::uint32_t transposed;

  static constexpr Type infer(MatrixTriangularSolve, const Type& a, const Type& b) {
    return MatrixSolve::infer({}, a, b);
  }
  /// As in MatrixSolve, for the elements that are read.
  static constexpr std::array<AnyExpr, 2> gradient(MatrixTriangularSolve op, auto a, auto, auto x,
                                                   auto dx) {
    const bool transposed = op.transposed != 0;
    const Triangle triangle = static_cast<Triangle>(op.triangle);
    const AnyExpr db = matrix_triangular_solve(a, dx, triangle, !transposed);
    const AnyExpr da = -(transposed ? matmul(x, db, false, true) : matmul(db, x, false, true));
    return {linalg::triangle_of(da, triangle), db};
  }
  static Error explain(MatrixTriangularSolve, const Failure& wrong,
                       std::span<const Dims> operands) {
    return linalg::wrong_matrix("matrix_triangular_solve", wrong, operands[0], "is singular");
  }
  static void interpret(InterpretCall& call) {
    const MatrixTriangularSolve op = decode<MatrixTriangularSolve>(call.graph, call.node);
    const HostTensor& a = *call.inputs[0];
    if (call.outputs[0].size() == 0) return;
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      if (op.transposed != 0) matrix = matrix.transposed();
      const bool lower =
          (static_cast<Triangle>(op.triangle) == Triangle::lower) == (op.transposed == 0);
      linalg::HostMatrix x = linalg::HostMatrix::of(*call.inputs[1], m);
      const std::int64_t n = matrix.rows;
      for (std::int64_t step = 0; step < n; ++step) {
        const std::int64_t i = lower ? step : n - 1 - step;
        if (matrix(i, i) == 0) {
          throw explain({}, {1, {m}}, std::array{a.dims});
        }
        for (std::int64_t j = 0; j < x.columns; ++j) {
          double rest = x(i, j);
          for (std::int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) {
            rest -= matrix(i, k) * x(k, j);
          }
          x(i, j) = rest / matrix(i, i);
        }
      }
      x.store(call.outputs[0], m);
    }
  }
};

}  // namespace ops

/// Untyped matrix_solve.
template <UntypedExpr X>
constexpr AnyExpr matrix_solve(const X& a, const X& b, bool transposed) {
  return apply(ops::MatrixSolve{{}, transposed ? 1u : 0u}, a, b);
}
/// Untyped matrix_triangular_solve.
template <UntypedExpr X>
constexpr AnyExpr matrix_triangular_solve(const X& a, const X& b, Triangle triangle,
                                          bool transposed) {
  return apply(
      ops::MatrixTriangularSolve{{}, static_cast<std::uint32_t>(triangle), transposed ? 1u : 0u}, a,
      b);
}

/// X of A X = B for each pair of matrices, or of A^T X = B: matrix_solve<transpose_a>(a, b).
/// (...,N,N) x (...,N,K) -> (...,N,K)
///
/// The leading axes must be equal. A singular matrix is an Error at run time, with its position in
/// a; a matrix with NaN gives NaN.
template <Transposed T = Transposed::neither, TypedExpr A, TypedExpr B>
constexpr auto matrix_solve(const A& a, const B& b,
                            std::source_location at = std::source_location::current()) {
  static_assert(T == Transposed::neither || T == Transposed::a,
                "matrix_solve<transposed>(a, b): only a can be read transposed");
  static_assert(linalg::square_matrices<A>,
                "matrix_solve(a, b): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(!linalg::square_matrices<A> || linalg::can_solve(A::shape::dims, B::shape::dims),
                "matrix_solve(a, b): b must have a matrix with as many rows for each matrix of a: "
                "(...,N,N) and (...,N,K)");
  static_assert(linalg::lapack_types<A, B>,
                "matrix_solve(a, b): the element types must be equal, float or double; convert "
                "with cast<T>(x)");
  return linalg::apply_to_matrices(at, ops::MatrixSolve{{}, T == Transposed::a ? 1u : 0u}, a, b);
}

/// The same for triangular matrices A, lower_triangle or upper_triangle:
/// matrix_triangular_solve<upper_triangle>(a, b). The other triangle is not read and counts as
/// zeros. <lower_triangle, transpose_a> reads the lower triangle of a, and solves A^T X = B.
/// (...,N,N) x (...,N,K) -> (...,N,K)
///
/// A zero on the diagonal is an Error at run time, with the position of the matrix in a.
template <Triangle Which = Triangle::lower, Transposed T = Transposed::neither, TypedExpr A,
          TypedExpr B>
constexpr auto matrix_triangular_solve(const A& a, const B& b,
                                       std::source_location at = std::source_location::current()) {
  static_assert(T == Transposed::neither || T == Transposed::a,
                "matrix_triangular_solve<triangle, transposed>(a, b): only a can be read "
                "transposed");
  static_assert(
      linalg::square_matrices<A>,
      "matrix_triangular_solve(a, b): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(!linalg::square_matrices<A> || linalg::can_solve(A::shape::dims, B::shape::dims),
                "matrix_triangular_solve(a, b): b must have a matrix with as many rows for each "
                "matrix of a: (...,N,N) and (...,N,K)");
  static_assert(linalg::lapack_types<A, B>,
                "matrix_triangular_solve(a, b): the element types must be equal, float or double; "
                "convert with cast<T>(x)");
  const ops::MatrixTriangularSolve op{
      {}, static_cast<std::uint32_t>(Which), T == Transposed::a ? 1u : 0u};
  return linalg::apply_to_matrices(at, op, a, b);
}

/// X of L L^T X = B for lower triangles L, which cholesky makes: cholesky_solve(cholesky(a), b)
/// solves A X = B. (...,N,N) x (...,N,K) -> (...,N,K)
///
/// A zero on the diagonal is an Error at run time, with the position of the matrix in l.
template <TypedExpr L, TypedExpr B>
constexpr auto cholesky_solve(const L& l, const B& b,
                              std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<L>,
                "cholesky_solve(l, b): the last two axes of l must be square matrices, (...,N,N)");
  static_assert(!linalg::square_matrices<L> || linalg::can_solve(L::shape::dims, B::shape::dims),
                "cholesky_solve(l, b): b must have a matrix with as many rows for each matrix of "
                "l: (...,N,N) and (...,N,K)");
  static_assert(linalg::lapack_types<L, B>,
                "cholesky_solve(l, b): the element types must be equal, float or double; convert "
                "with cast<T>(x)");
  return matrix_triangular_solve<lower_triangle, transpose_a>(l, matrix_triangular_solve(l, b, at),
                                                              at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
