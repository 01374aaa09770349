// SPDX-License-Identifier: Apache-2.0
#pragma once

// The LU decomposition.

#include "typeflow/linalg/solve.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// auto [l, u, p] = lu(a)
template <Tensor L, Tensor U, Tensor P>
struct Lu {
  L l;  ///< (...,N,N), lower triangles with ones on the diagonal
  U u;  ///< (...,N,N), upper triangles
  P p;  ///< (...,N), std::int32_t: row i of L U is row p(i) of A
};

namespace ops {

struct Lu : custom {
  static constexpr std::string_view name = "Lu";
  static constexpr int outputs = 3;

  static constexpr std::array<Type, 3> infer(Lu, const Type& a) {
    const bool fits = linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims);
    const Type factor(a.dtype, fits ? a.dims : no_dims);
    return {factor, factor, Type(DType::int32, fits ? linalg::leading(a.dims, 1) : no_dims)};
  }
  /// Q dA = L^-T (strict lower triangle of L^T dL + upper triangle of dU U^T) U^-T for Q A = L U
  /// (Seeger et al., Auto-differentiating linear algebra, 2017).
  static constexpr AnyExpr gradient(Lu, auto a, const std::array<AnyExpr, 3>& y,
                                    const std::array<AnyExpr, 3>& dy) {
    const auto [l, u, p] = y;
    AnyExpr inner{};
    if (dy[0].exists()) {
      const AnyExpr below = matmul(l, dy[0], true, false);
      inner = where(greater(linalg::rows_of(below), linalg::columns_of(below)), below, 0);
    }
    if (dy[1].exists()) {
      const AnyExpr above = linalg::triangle_of(matmul(dy[1], u, false, true), Triangle::upper);
      inner = inner.exists() ? inner + above : above;
    }
    if (!inner.exists()) return inner;
    const AnyExpr left = matrix_triangular_solve(l, inner, Triangle::lower, true);
    const AnyExpr both = matrix_triangular_solve(u, linalg::transpose_matrices(left),
                                                 Triangle::upper, false);  // transposed
    Dims column = p.dims();
    column.append(1);
    const AnyExpr exchanges =
        cast_to(equal(reshape_to(p, column), linalg::columns_of(a)), a.dtype());
    return matmul(exchanges, both, true, true);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix u = linalg::HostMatrix::of(a, m);
      const std::int64_t n = u.rows;
      linalg::HostMatrix l = linalg::HostMatrix::identity(n);
      std::vector<std::int64_t> p(static_cast<std::size_t>(n), 0);
      for (std::int64_t i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
      if (u.has_nan()) {
        u.fill(linalg::not_a_number);
        l.fill(linalg::not_a_number);
      } else {
        eliminate(l, u, p);
      }
      l.store(call.outputs[0], m);
      u.store(call.outputs[1], m);
      for (std::int64_t i = 0; i < n; ++i) {
        call.outputs[2][m * n + i] =
            number_from(static_cast<std::int32_t>(p[static_cast<std::size_t>(i)]));
      }
    }
  }

 private:
  static void eliminate(linalg::HostMatrix& l, linalg::HostMatrix& u,
                        std::vector<std::int64_t>& p) {
    const std::int64_t n = u.rows;
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < n; ++i) {
        if (std::abs(u(i, k)) > std::abs(u(pivot, k))) pivot = i;
      }
      std::swap(p[static_cast<std::size_t>(k)], p[static_cast<std::size_t>(pivot)]);
      for (std::int64_t j = 0; j < n; ++j) {
        if (pivot != k) std::swap(j < k ? l(k, j) : u(k, j), j < k ? l(pivot, j) : u(pivot, j));
      }
      if (u(k, k) == 0) continue;
      for (std::int64_t i = k + 1; i < n; ++i) {
        l(i, k) = u(i, k) / u(k, k);
        u(i, k) = 0;
        for (std::int64_t j = k + 1; j < n; ++j) u(i, j) -= l(i, k) * u(k, j);
      }
    }
  }
};

}  // namespace ops

/// The LU decomposition of each matrix: auto [l, u, p] = lu(a). Row i of L U is row p(i) of A; L is
/// lower triangular with ones on the diagonal, U upper triangular; p comes from partial pivoting.
/// (...,N,N) -> l (...,N,N), u (...,N,N), p (...,N)
///
/// A singular matrix has zeros on the diagonal of U, and its gradient is an Error at run time. A
/// matrix with NaN gives NaN.
template <Tensor A>
constexpr auto lu(const A& a, std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "lu(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "lu(a): a must be float or double; convert with cast<float>(x)");
  const auto [l, u, p] = linalg::apply_to_one<ops::Lu>(at, a);
  return Lu<std::remove_cvref_t<decltype(l)>, std::remove_cvref_t<decltype(u)>,
            std::remove_cvref_t<decltype(p)>>{l, u, p};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
