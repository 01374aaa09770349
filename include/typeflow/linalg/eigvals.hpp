// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eigenvalues of general matrices.

#include <complex>

#include "typeflow/linalg/matrices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace linalg {

/// A square matrix of complex numbers.
struct ComplexMatrix {
  std::int64_t n;
  std::vector<std::complex<double>> elements;

  explicit ComplexMatrix(const HostMatrix& a)
      : n(a.rows), elements(a.elements.begin(), a.elements.end()) {}
  std::complex<double>& operator()(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i * n + j)];
  }
};

/// Applies the rotation (c s; -conj(s) c) to rows p and q, or its conjugate transpose to columns p
/// and q.
struct Rotation {
  double c;
  std::complex<double> s;

  /// The rotation that turns (x, y) into (r, 0).
  static Rotation to_zero(std::complex<double> x, std::complex<double> y) {
    const double length = std::hypot(std::abs(x), std::abs(y));
    if (length == 0 || y == 0.0) return {1, 0};
    if (x == 0.0) return {0, std::conj(y) / std::abs(y)};
    return {std::abs(x) / length, x / std::abs(x) * std::conj(y) / length};
  }
  void rows(ComplexMatrix& a, std::int64_t p, std::int64_t q) const {
    for (std::int64_t j = 0; j < a.n; ++j) {
      const auto x = a(p, j);
      const auto y = a(q, j);
      a(p, j) = c * x + s * y;
      a(q, j) = -std::conj(s) * x + c * y;
    }
  }
  void columns(ComplexMatrix& a, std::int64_t p, std::int64_t q) const {
    for (std::int64_t i = 0; i < a.n; ++i) {
      const auto x = a(i, p);
      const auto y = a(i, q);
      a(i, p) = c * x + std::conj(s) * y;
      a(i, q) = -s * x + c * y;
    }
  }
};

/// The eigenvalue of the 2 x 2 block that ends at k, the one nearer to its last element.
inline std::complex<double> wilkinson_shift(ComplexMatrix& a, std::int64_t k) {
  const auto d = a(k, k);
  const auto half = (a(k - 1, k - 1) - d) / 2.0;
  const auto product = a(k - 1, k) * a(k, k - 1);
  const auto root = std::sqrt(half * half + product);
  const auto far = std::abs(half + root) > std::abs(half - root) ? half + root : half - root;
  return far == 0.0 ? d : d - product / far;
}

/// The QR algorithm: a becomes upper triangular, with the eigenvalues on its diagonal. False if it
/// does not converge.
inline bool make_triangular(ComplexMatrix& a) {
  for (std::int64_t j = 0; j + 2 < a.n; ++j) {  // to a Hessenberg matrix
    for (std::int64_t i = a.n - 1; i > j + 1; --i) {
      const Rotation r = Rotation::to_zero(a(i - 1, j), a(i, j));
      r.rows(a, i - 1, i);
      r.columns(a, i - 1, i);
      a(i, j) = 0;
    }
  }
  int steps = 0;
  for (std::int64_t k = a.n - 1; k > 0;) {
    std::int64_t first = k;
    for (; first > 0; --first) {
      const double beside = std::abs(a(first, first)) + std::abs(a(first - 1, first - 1));
      if (std::abs(a(first, first - 1)) <= 1e-16 * beside) break;
    }
    if (first == k) {
      --k;
      steps = 0;
      continue;
    }
    if (++steps > 300) return false;
    // An exceptional shift now and then, for matrices that the usual shift does not change.
    const auto shift = steps % 11 == 10 ? a(k, k) + std::abs(a(k, k - 1)) : wilkinson_shift(a, k);
    for (std::int64_t i = 0; i < a.n; ++i) a(i, i) -= shift;
    std::vector<Rotation> rotations;
    for (std::int64_t i = first; i < k; ++i) {
      rotations.push_back(Rotation::to_zero(a(i, i), a(i + 1, i)));
      rotations.back().rows(a, i, i + 1);
    }
    for (std::int64_t i = first; i < k; ++i) {
      rotations[static_cast<std::size_t>(i - first)].columns(a, i, i + 1);
    }
    for (std::int64_t i = 0; i < a.n; ++i) a(i, i) += shift;
  }
  return true;
}

}  // namespace linalg

namespace ops {

struct Eigvals : custom {
  static constexpr std::string_view name = "Eigvals";

  static constexpr Type infer(Eigvals, const Type& a) {
    return {a.dtype == DType::float32 ? DType::complex64 : DType::complex128,
            linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims)
                ? linalg::leading(a.dims, 1)
                : no_dims};
  }
  static Error explain(Eigvals, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("eigvals", wrong, operands[0],
                                "has eigenvalues that the iteration did not find");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      const bool finite = matrix.is_finite();
      if (!finite) matrix.fill(linalg::not_a_number);
      linalg::ComplexMatrix work(matrix);
      if (finite && !linalg::make_triangular(work)) throw explain({}, {1, {m}}, std::array{a.dims});
      for (std::int64_t i = 0; i < work.n; ++i) {
        call.outputs[0][m * work.n + i] = number_from(work(i, i));
      }
    }
  }
};

}  // namespace ops

/// The eigenvalues of each matrix, as complex numbers, in no particular order. For symmetric
/// matrices self_adjoint_eig(a) gives them ascending. (...,N,N) -> (...,N)
///
/// A matrix with NaN or infinity gives NaN. It has no gradient.
template <Tensor A>
constexpr auto eigvals(const A& a, std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "eigvals(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "eigvals(a): a must be float or double; convert with cast<float>(x)");
  if constexpr (detail::untyped<A>) {
    return apply(ops::Eigvals{}, a);
  } else {
    constexpr DType complex = ops::Eigvals::infer({}, A::type).dtype;
    using E = Expr<element_of<complex>, shape_of_t<detail::InferRule<ops::Eigvals, A>>>;
    detail::mark(at, a);
    const Id id = a.id();
    return E(a.graph(), add_node(a.graph(), ops::Eigvals{}, &id, 1, E::type).id);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
