// SPDX-License-Identifier: Apache-2.0
#pragma once

// The QR decomposition, and least squares by it.

#include "typeflow/linalg/cholesky.hpp"
#include "typeflow/linalg/solve.hpp"
#include "typeflow/linalg/svd.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// auto [q, r] = qr(a)
template <Tensor Q, Tensor R>
struct Qr {
  Q q;  ///< (...,M,P), orthonormal columns, P = min(M, N)
  R r;  ///< (...,P,N), upper triangles
};

namespace linalg {

/// Columns of each matrix: `count` of them from `begin` on; both are extents.
constexpr AnyExpr columns_from(const AnyExpr& x, Extent begin, Extent count) {
  return slice_along(x, x.dims().rank - 1, begin, count);
}

/// (1 - 2 v v^T) x
inline void reflect(HostMatrix& x, const std::vector<double>& v) {
  for (std::int64_t j = 0; j < x.columns; ++j) {
    double dot = 0;
    for (std::int64_t i = 0; i < x.rows; ++i) dot += v[static_cast<std::size_t>(i)] * x(i, j);
    for (std::int64_t i = 0; i < x.rows; ++i) x(i, j) -= 2 * dot * v[static_cast<std::size_t>(i)];
  }
}

/// Householder's reflections: a becomes R; q is multiplied by the reflections. Signs are LAPACK's:
/// a reflection gives the diagonal the sign opposite to the column's, and a column that is zero
/// below the diagonal gets none.
inline void householder(HostMatrix& a, HostMatrix& q) {
  const std::int64_t p = std::min(a.rows, a.columns);
  std::vector<std::vector<double>> reflections;
  for (std::int64_t k = 0; k < p; ++k) {
    double tail = 0;
    for (std::int64_t i = k + 1; i < a.rows; ++i) tail = std::hypot(tail, a(i, k));
    std::vector<double> v(static_cast<std::size_t>(a.rows), 0.0);
    if (tail > 0) {
      const double length = std::hypot(a(k, k), tail);
      for (std::int64_t i = k; i < a.rows; ++i) v[static_cast<std::size_t>(i)] = a(i, k);
      v[static_cast<std::size_t>(k)] += std::copysign(length, a(k, k));
      const double norm = std::hypot(v[static_cast<std::size_t>(k)], tail);
      for (double& e : v) e /= norm;
    }
    reflections.push_back(v);
    reflect(a, v);
    for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, k) = 0;
  }
  for (std::size_t k = reflections.size(); k-- > 0;) reflect(q, reflections[k]);
}

}  // namespace linalg

namespace ops {

struct Qr : custom {
  static constexpr std::string_view name = "Qr";
  static constexpr int outputs = 2;

  static constexpr std::array<Type, 2> infer(Qr, const Type& a) {
    if (!linalg::is_lapack_type(a.dtype) || !linalg::has_shorter_side(a.dims)) {
      const Type none(a.dtype, no_dims);
      return {none, none};
    }
    const Extent p = linalg::shorter_side(a.dims);
    Dims q = a.dims;
    Dims r = a.dims;
    q.extent[q.rank - 1] = p;
    r.extent[r.rank - 2] = p;
    return {Type(a.dtype, q), Type(a.dtype, r)};
  }
  /// If M < N: A = (X Y) and R = (U V) with X = Q U and V = Q^T Y (Roberts, Roberts, QR and LQ
  /// decomposition matrix backpropagation algorithms for square, wide, and deep matrices, 2020).
  static constexpr AnyExpr gradient(Qr, auto a, const std::array<AnyExpr, 2>& y,
                                    const std::array<AnyExpr, 2>& dy) {
    const auto [q, r] = y;
    const int rank = a.dims().rank;
    const Extent m = a.dims().extent[rank - 2];
    const Extent n = a.dims().extent[rank - 1];
    if (!dy[0].exists() && !dy[1].exists()) return AnyExpr{};
    if (linalg::shorter_side(a.dims()) == n) return of_tall(q, r, dy[0], dy[1]);
    const Extent rest = with_factor(n, factor_of(n) - factor_of(m));
    const AnyExpr u = linalg::columns_from(r, 0, m);
    const AnyExpr dr = dy[1].exists() ? dy[1] : zeros_of(r);
    const AnyExpr dv = linalg::columns_from(dr, m, rest);
    const AnyExpr of_v = matmul(linalg::columns_from(a, m, rest), dv, false, true);
    const AnyExpr dq = dy[0].exists() ? dy[0] + of_v : of_v;
    const AnyExpr parts[] = {of_tall(q, u, dq, linalg::columns_from(dr, 0, m)),
                             matmul(q, dv, false, false)};
    return concat_to(parts, rank - 1);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix r = linalg::HostMatrix::of(a, m);
      const std::int64_t p = std::min(r.rows, r.columns);
      linalg::HostMatrix q(r.rows, p);
      for (std::int64_t i = 0; i < p; ++i) q(i, i) = 1;
      if (r.is_finite()) {
        linalg::householder(r, q);
      } else {
        r.fill(linalg::not_a_number);
        q.fill(linalg::not_a_number);
      }
      r.rows = p;
      r.elements.resize(static_cast<std::size_t>(p * r.columns));
      q.store(call.outputs[0], m);
      r.store(call.outputs[1], m);
    }
  }

 private:
  /// (dQ + Q (the lower triangle of R dR^T - dQ^T Q, mirrored)) R^-T (Walter, Lehmann, Algorithmic
  /// differentiation of linear algebra functions, 2010).
  static constexpr AnyExpr of_tall(const AnyExpr& q, const AnyExpr& r, const AnyExpr& dq,
                                   const AnyExpr& dr) {
    AnyExpr inner{};
    if (dr.exists()) inner = matmul(r, dr, false, true);
    if (dq.exists()) {
      const AnyExpr of_q = matmul(dq, q, true, false);
      inner = inner.exists() ? inner - of_q : -of_q;
    }
    const AnyExpr half = linalg::lower_and_half_diagonal(inner);
    AnyExpr left = matmul(q, half + linalg::transpose_matrices(half), false, false);
    if (dq.exists()) left = left + dq;
    return linalg::transpose_matrices(
        matrix_triangular_solve(r, linalg::transpose_matrices(left), Triangle::upper, false));
  }
  static constexpr AnyExpr zeros_of(const AnyExpr& x) {
    return broadcast_to(detail::constant_node(*x.graph, x.dtype(), Number{}), x.dims());
  }
};

}  // namespace ops

/// The QR decomposition of each matrix in reduced form, A = Q R: auto [q, r] = qr(a). (...,M,N) ->
/// q (...,M,P), r (...,P,N), P = min(M, N)
///
/// The columns of Q are orthonormal, R is upper triangular. The signs of R's diagonal are those of
/// Householder's reflections. A matrix with NaN or infinity gives NaN. The gradient needs linearly
/// independent first P columns of A; otherwise it is an Error at run time.
template <Tensor A>
constexpr auto qr(const A& a, std::source_location at = std::source_location::current()) {
  if constexpr (TypedExpr<A>) {
    static_assert(A::rank >= 2, "qr(a): the last two axes of a must be matrices, (...,M,N)");
    static_assert(A::rank < 2 || linalg::has_shorter_side(A::shape::dims),
                  "qr(a): which of the last two axes is shorter must not depend on tf::batch");
  }
  static_assert(linalg::lapack_types<A>,
                "qr(a): a must be float or double; convert with cast<float>(x)");
  const auto [q, r] = linalg::apply_to_one<ops::Qr>(at, a);
  return Qr<std::remove_cvref_t<decltype(q)>, std::remove_cvref_t<decltype(r)>>{q, r};
}

namespace linalg {

/// (...,M,N) and (...,M,K), with equal leading axes.
constexpr bool can_fit(const Dims& a, const Dims& b) {
  return are_matrices(a) && are_matrices(b) && leading(a) == leading(b) &&
         a.extent[a.rank - 2] == b.extent[b.rank - 2];
}
template <class A, class B>
struct LeastSquaresRule {
  static constexpr Dims value = [] {
    Dims x = B::dims;
    if (x.rank >= 2 && A::rank >= 2) x.extent[x.rank - 2] = A::dims.extent[A::rank - 1];
    return x;
  }();
};

/// A, with sqrt(l2) times the identity above it. In this order a small A keeps its digits in Q.
constexpr AnyExpr regularized(const AnyExpr& a, double l2) {
  Dims square = a.dims();
  square.extent[square.rank - 2] = square.extent[square.rank - 1];
  ir::Graph& graph = *a.graph;
  const AnyExpr diagonal = equal(index_along(graph, square, square.rank - 2),
                                 index_along(graph, square, square.rank - 1));
  const AnyExpr root = sqrt(detail::literal_node(graph, a.dtype(), l2));
  const AnyExpr parts[] = {where(diagonal, root, 0), a};
  return concat_to(parts, square.rank - 2);
}

/// Whether least_squares has a method: it must know the shorter side, or the number of columns.
constexpr bool has_known_columns(const Dims& a) {
  return has_shorter_side(a) || (are_matrices(a) && !is_symbolic(a.extent[a.rank - 1]));
}

/// L^-T L^-1 A^T B for A^T A + l2 = L L^T.
constexpr AnyExpr normal_equations(const AnyExpr& a, const AnyExpr& b, double l2) {
  const AnyExpr product = matmul(a, a, true, false);
  const AnyExpr diagonal = equal(rows_of(product), columns_of(product));
  const AnyExpr l = cholesky(l2 > 0 ? where(diagonal, product + l2, product) : product);
  const AnyExpr right = matmul(a, b, true, false);
  return matrix_triangular_solve(l, matrix_triangular_solve(l, right, Triangle::lower, false),
                                 Triangle::lower, true);
}

/// R^-1 Q^T B for A = Q R if A has at least as many rows as columns; otherwise Q R^-T B from A^T =
/// Q R. With l2, Q R has further rows, and Q is the part of it that belongs to A.
constexpr AnyExpr least_squares(const AnyExpr& a, const AnyExpr& b, double l2) {
  const int rank = a.dims().rank;
  const Extent m = a.dims().extent[rank - 2];
  const Extent n = a.dims().extent[rank - 1];
  if (!has_shorter_side(a.dims())) return normal_equations(a, b, l2);
  const bool tall = shorter_side(a.dims()) == n;
  const AnyExpr columns = tall ? a : transpose_matrices(a);
  const auto [all, r] = qr(l2 > 0 ? regularized(columns, l2) : columns);
  const AnyExpr q = l2 > 0 ? slice_along(all, rank - 2, tall ? n : m, tall ? m : n) : all;
  if (tall) return matrix_triangular_solve(r, matmul(q, b, true, false), Triangle::upper, false);
  return matmul(q, matrix_triangular_solve(r, b, Triangle::upper, true), false, false);
}

}  // namespace linalg

/// Least squares: for each pair of matrices the X that minimises |A X - B|^2 + l2 |X|^2;
/// regularised if l2 is above 0. If A has fewer rows than columns and l2 is 0, the smallest X with
/// A X = B. (...,M,N) x (...,M,K) -> (...,N,K)
///
/// It uses QR decompositions. If M has symbols and N is a number it uses A^T A, whose condition
/// number is the square of A's, and A must have at least N rows. Without l2, a matrix A without
/// full rank is an Error at run time if the decomposition shows it.
template <TypedExpr A, TypedExpr B>
constexpr auto lstsq(const A& a, const B& b, double l2 = 0,
                     std::source_location at = std::source_location::current()) {
  constexpr bool fits = linalg::can_fit(A::shape::dims, B::shape::dims);
  constexpr bool known = linalg::has_known_columns(A::shape::dims);
  constexpr bool types = linalg::lapack_types<A, B>;
  static_assert(fits,
                "lstsq(a, b, l2): b must have a matrix with as many rows for each matrix of a: "
                "(...,M,N) and (...,M,K)");
  static_assert(!fits || known,
                "lstsq(a, b, l2): the columns of a must be a number where its rows are not of the "
                "same symbols");
  static_assert(types,
                "lstsq(a, b, l2): the element types must be equal, float or double; convert with "
                "cast<T>(x)");
  using E = Expr<typename B::element,
                 shape_of_t<linalg::LeastSquaresRule<typename A::shape, typename B::shape>>>;
  detail::mark(at, a, b);
  if constexpr (fits && known && types) {
    return E(a.graph(), linalg::least_squares(a.any(), b.any(), l2).id);
  } else {
    return E(a.graph(), b.id());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
