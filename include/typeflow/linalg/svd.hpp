// SPDX-License-Identifier: Apache-2.0
#pragma once

// Singular values.

#include "typeflow/linalg/eig.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// auto [s, u, v] = svd(a)
template <Tensor S, Tensor U, Tensor V>
struct Svd {
  S s;  ///< (...,P), descending, P = min(M, N)
  U u;  ///< (...,M,P), orthonormal columns
  V v;  ///< (...,N,P), orthonormal columns
};

namespace linalg {

/// Whether the shorter one of the last two axes is known.
constexpr bool has_shorter_side(const Dims& a) {
  if (!are_matrices(a)) return false;
  const Extent m = a.extent[a.rank - 2];
  const Extent n = a.extent[a.rank - 1];
  return symbols_of(m) == symbols_of(n);
}
constexpr Extent shorter_side(const Dims& a) {
  const Extent m = a.extent[a.rank - 2];
  const Extent n = a.extent[a.rank - 1];
  return factor_of(m) < factor_of(n) ? m : n;
}

/// Divides the elements by a power of two that brings the largest one to [1/2, 1). Returns its
/// exponent.
inline int normalize_elements(HostMatrix& a) {
  double largest = 0;
  for (const double x : a.elements) largest = std::max(largest, std::abs(x));
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (double& x : a.elements) x = std::ldexp(x, -exponent);
  return exponent;
}

/// Hestenes' method: Jacobi's rotations from the right until the columns of a are orthogonal; v is
/// the product of the rotations. a has at least as many rows as columns.
inline void hestenes(HostMatrix& a, HostMatrix& v) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool done = true;
    for (std::int64_t p = 0; p < a.columns; ++p) {
      for (std::int64_t q = p + 1; q < a.columns; ++q) {
        double pp = 0;
        double pq = 0;
        double qq = 0;
        for (std::int64_t i = 0; i < a.rows; ++i) {
          pp += a(i, p) * a(i, p);
          pq += a(i, p) * a(i, q);
          qq += a(i, q) * a(i, q);
        }
        if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq) || std::abs(pq) < 1e-300) continue;
        done = false;
        const double theta = (qq - pp) / (2 * pq);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1 / std::hypot(t, 1.0);
        const double s = t * c;
        for (HostMatrix* const m : {&a, &v}) {
          for (std::int64_t i = 0; i < m->rows; ++i) {
            const double x = (*m)(i, p);
            const double y = (*m)(i, q);
            (*m)(i, p) = c * x - s * y;
            (*m)(i, q) = s * x + c * y;
          }
        }
      }
    }
    if (done) return;
  }
}

/// Makes column j of u a unit vector, orthogonal to the columns before it. It keeps its own
/// direction; a column without length gets the first axis that has a length after Gram-Schmidt.
inline void complete_column(HostMatrix& u, std::int64_t j, double length) {
  if (length > 0) {
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) /= length;
    return;
  }
  for (std::int64_t axis = 0; axis < u.rows; ++axis) {
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) = i == axis ? 1 : 0;
    double norm = 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t k = 0; k < j; ++k) {
        double dot = 0;
        for (std::int64_t i = 0; i < u.rows; ++i) dot += u(i, k) * u(i, j);
        for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) -= dot * u(i, k);
      }
      norm = 0;
      for (std::int64_t i = 0; i < u.rows; ++i) norm += u(i, j) * u(i, j);
      norm = std::sqrt(norm);
    }
    if (norm * norm * static_cast<double>(2 * u.rows) < 1) continue;
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) /= norm;
    return;
  }
}

}  // namespace linalg

namespace ops {

struct Svd : custom {
  static constexpr std::string_view name = "Svd";
  static constexpr int outputs = 3;

  static constexpr std::array<Type, 3> infer(Svd, const Type& a) {
    if (!linalg::is_lapack_type(a.dtype) || !linalg::has_shorter_side(a.dims)) {
      const Type none(a.dtype, no_dims);
      return {none, none, none};
    }
    const Extent p = linalg::shorter_side(a.dims);
    Dims s = linalg::leading(a.dims);
    Dims u = s;
    Dims v = s;
    s.append(p);
    u.append(a.dims.extent[a.dims.rank - 2]);
    u.append(p);
    v.append(a.dims.extent[a.dims.rank - 1]);
    v.append(p);
    return {Type(a.dtype, s), Type(a.dtype, u), Type(a.dtype, v)};
  }
  static Error explain(Svd, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("svd", wrong, operands[0],
                                "has singular values that the iteration did not find");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix left = linalg::HostMatrix::of(a, m);
      const bool wide = left.columns > left.rows;
      if (wide) left = left.transposed();
      const std::int64_t p = left.columns;
      linalg::HostMatrix right = linalg::HostMatrix::identity(p);
      int exponent = 0;  // of what the elements are divided by, so that squares have normal sizes
      if (left.is_finite()) {
        exponent = linalg::normalize_elements(left);
        linalg::hestenes(left, right);
      } else {
        left.fill(linalg::not_a_number);
        right.fill(linalg::not_a_number);
      }
      std::vector<double> lengths(static_cast<std::size_t>(p), 0.0);
      for (std::int64_t j = 0; j < p; ++j) {
        for (std::int64_t i = 0; i < left.rows; ++i) {
          double& length = lengths[static_cast<std::size_t>(j)];
          length = std::hypot(length, left(i, j));
        }
      }
      const auto order = linalg::sorted_indices(p, [&](std::int64_t i, std::int64_t j) {
        return lengths[static_cast<std::size_t>(i)] > lengths[static_cast<std::size_t>(j)];
      });
      linalg::HostMatrix u(left.rows, p);
      linalg::HostMatrix v(p, p);
      for (std::int64_t j = 0; j < p; ++j) {
        const std::int64_t from = order[static_cast<std::size_t>(j)];
        const double length = lengths[static_cast<std::size_t>(from)];
        for (std::int64_t i = 0; i < left.rows; ++i) u(i, j) = left(i, from);
        for (std::int64_t i = 0; i < p; ++i) v(i, j) = right(i, from);
        // A column that consists of rounding errors has no direction of its own.
        const double largest = lengths[static_cast<std::size_t>(order[0])];
        if (!std::isnan(length))
          linalg::complete_column(u, j, length > 1e-14 * largest ? length : 0);
        call.outputs[0].set(m * p + j, std::ldexp(length, exponent));
      }
      (wide ? v : u).store(call.outputs[1], m);
      (wide ? u : v).store(call.outputs[2], m);
    }
  }
};

}  // namespace ops

/// The singular value decomposition of each matrix in reduced form, A = U diag(s) V^T: auto [s, u,
/// v] = svd(a). (...,M,N) -> s (...,P), u (...,M,P), v (...,N,P), P = min(M, N)
///
/// V is not transposed, as in TensorFlow. The singular values descend. The columns of U and V are
/// orthonormal; the common sign of two corresponding columns depends on the algorithm. A matrix
/// with NaN or infinity gives NaN. It has no gradient: taking one is a compile error.
template <Tensor A>
constexpr auto svd(const A& a, std::source_location at = std::source_location::current()) {
  using O = ops::Svd;
  if constexpr (detail::untyped<A>) {
    const auto y = add_node(*a.graph, O{}, &a.id, 1, O::infer({}, a.graph->type_of(a.id)));
    return Svd<AnyExpr, AnyExpr, AnyExpr>{y[0], y[1], y[2]};
  } else {
    static_assert(A::rank >= 2, "svd(a): the last two axes of a must be matrices, (...,M,N)");
    static_assert(A::rank < 2 || linalg::has_shorter_side(A::shape::dims),
                  "svd(a): which of the last two axes is shorter must not depend on tf::batch");
    static_assert(linalg::lapack_types<A>,
                  "svd(a): a must be float or double; convert with cast<float>(x)");
    using S = Expr<typename A::element, shape_of_t<linalg::OutputRule<O, 0, A>>>;
    using U = Expr<typename A::element, shape_of_t<linalg::OutputRule<O, 1, A>>>;
    using V = Expr<typename A::element, shape_of_t<linalg::OutputRule<O, 2, A>>>;
    detail::mark(at, a);
    const Id id = a.id();
    const auto y = add_node(a.graph(), O{}, &id, 1, std::array{S::type, U::type, V::type});
    return Svd<S, U, V>{S(a.graph(), y[0].id), U(a.graph(), y[1].id), V(a.graph(), y[2].id)};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
