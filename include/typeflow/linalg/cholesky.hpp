// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cholesky's decomposition.

#include "typeflow/linalg/solve.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct Cholesky : custom {
  static constexpr std::string_view name = "Cholesky";

  static constexpr Type infer(Cholesky, const Type& a) {
    return {a.dtype,
            linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims) ? a.dims : no_dims};
  }
  /// If all elements of A were independent, the gradient would be S = L^-T Phi(L^T dL) L^-1 (Murray
  /// 2016, equation 10).
  static constexpr AnyExpr gradient(Cholesky, auto, auto l, auto dl) {
    const AnyExpr inner = linalg::lower_and_half_diagonal(matmul(l, dl, true, false));
    const AnyExpr left = matrix_triangular_solve(l, inner, Triangle::lower, true);
    return linalg::gradient_of_lower(matrix_triangular_solve(l, linalg::transpose_matrices(left),
                                                             Triangle::lower, true));  // S^T
  }
  static Error explain(Cholesky, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("cholesky", wrong, operands[0], "is not positive definite");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      const linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      linalg::HostMatrix l(matrix.rows, matrix.columns);
      for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          double rest = matrix(i, j);
          for (std::int64_t k = 0; k < j; ++k) rest -= l(i, k) * l(j, k);
          if (i == j && !(rest > 0)) {
            throw explain({}, {1, {m}}, std::array{a.dims});
          }
          l(i, j) = i == j ? std::sqrt(rest) : rest / l(j, j);
        }
      }
      l.store(call.outputs[0], m);
    }
  }
};

}  // namespace ops

/// The lower triangle L of each symmetric positive definite matrix A = L L^T, with zeros above the
/// diagonal. (...,N,N) -> (...,N,N)
///
/// Only the lower triangle of A is read, so only its elements have a gradient. A matrix that is not
/// positive definite, or has NaN, is an Error at run time, with its position in a.
template <Tensor A>
constexpr auto cholesky(const A& a, std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "cholesky(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "cholesky(a): a must be float or double; convert with cast<float>(x)");
  return linalg::apply_to_matrices(at, ops::Cholesky{}, a);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
