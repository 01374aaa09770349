// SPDX-License-Identifier: Apache-2.0
#pragma once

// Eigenvalues and eigenvectors of symmetric matrices.

#include <cmath>
#include <cstdint>
#include <vector>

#include "typeflow/linalg/matrices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// auto [values, vectors] = self_adjoint_eig(a)
template <Tensor Values, Tensor Vectors>
struct SelfAdjointEig {
  Values values;    ///< (...,N), ascending
  Vectors vectors;  ///< (...,N,N), orthonormal columns, in the order of the values
};

namespace linalg {

/// Jacobi's method: each rotation zeroes one off-diagonal element of a, until none is left. The
/// diagonal of a then has the eigenvalues, the columns of v the eigenvectors.
inline void jacobi(HostMatrix& a, HostMatrix& v) {
  const std::int64_t n = a.rows;
  double norm = 0;
  for (const double x : a.elements) norm = std::hypot(norm, x);
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool done = true;
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (std::abs(a(p, q)) <= 1e-17 * norm) continue;
        done = false;
        const double theta = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0));
        const double c = 1 / std::hypot(t, 1.0);
        const double s = t * c;
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = a(k, p);
          const double y = a(k, q);
          a(k, p) = c * x - s * y;
          a(k, q) = s * x + c * y;
        }
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = a(p, k);
          const double y = a(q, k);
          a(p, k) = c * x - s * y;
          a(q, k) = s * x + c * y;
        }
        a(p, q) = a(q, p) = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          const double x = v(k, p);
          const double y = v(k, q);
          v(k, p) = c * x - s * y;
          v(k, q) = s * x + c * y;
        }
      }
    }
    if (done) return;
  }
}

/// The numbers 0 .. n - 1 sorted by less(i, j), stably. Insertion sort: it costs little beside the
/// rotations, and NaN does no harm. (libstdc++'s stable_sort uses deprecated parts of the library,
/// which clang reports.)
template <class Less>
std::vector<std::int64_t> sorted_indices(std::int64_t n, const Less& less) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < n; ++i) {
    auto place = order.end();
    while (place != order.begin() && less(i, *(place - 1))) --place;
    order.insert(place, i);
  }
  return order;
}

}  // namespace linalg

namespace ops {

struct SelfAdjointEig : custom {
  static constexpr std::string_view name = "SelfAdjointEig";
  static constexpr int outputs = 2;

  static constexpr std::array<Type, 2> infer(SelfAdjointEig, const Type& a) {
    const bool fits = linalg::is_lapack_type(a.dtype) && linalg::are_square(a.dims);
    return {Type(a.dtype, fits ? linalg::leading(a.dims, 1) : no_dims),
            Type(a.dtype, fits ? a.dims : no_dims)};
  }
  /// If all elements of A were independent, the gradient would be S = V (diag(dw) + F * (V^T dV))
  /// V^T. F is 1 / (w_j - w_i) off the diagonal and 0 on it (Giles 2008, section 3.1).
  static constexpr AnyExpr gradient(SelfAdjointEig, auto a, const std::array<AnyExpr, 2>& y,
                                    const std::array<AnyExpr, 2>& dy) {
    const auto& [w, v] = y;
    const auto& [dw, dv] = dy;
    const AnyExpr on_diagonal = equal(linalg::rows_of(a), linalg::columns_of(a));
    Dims as_row = w.dims();
    as_row.append(as_row.extent[as_row.rank - 1]);
    Dims as_column = as_row;
    as_row.extent[as_row.rank - 2] = 1;
    as_column.extent[as_column.rank - 1] = 1;
    AnyExpr inner{};
    if (dv.exists()) {
      // The inner `where` keeps infinities out of the gradient's own gradient.
      const AnyExpr gap = where(on_diagonal, 1, reshape_to(w, as_row) - reshape_to(w, as_column));
      inner = where(on_diagonal, 0, matmul(v, dv, true, false) / gap);
    }
    if (dw.exists()) {
      const AnyExpr row = reshape_to(dw, as_row);
      inner = inner.exists() ? where(on_diagonal, row, inner) : where(on_diagonal, row, 0);
    }
    return linalg::gradient_of_lower(matmul(matmul(v, inner, false, false), v, false, true));
  }
  static Error explain(SelfAdjointEig, const Failure& wrong, std::span<const Dims> operands) {
    return linalg::wrong_matrix("self_adjoint_eig", wrong, operands[0],
                                "has eigenvalues that the iteration did not find");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    for (std::int64_t m = 0; m < linalg::count_matrices(a.dims); ++m) {
      linalg::HostMatrix matrix = linalg::HostMatrix::of(a, m);
      const std::int64_t n = matrix.rows;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) matrix(j, i) = matrix(i, j);
      }
      linalg::HostMatrix v = linalg::HostMatrix::identity(n);
      if (matrix.is_finite()) {
        linalg::jacobi(matrix, v);
      } else {
        matrix.fill(linalg::not_a_number);
        v.fill(linalg::not_a_number);
      }
      const auto order = linalg::sorted_indices(
          n, [&](std::int64_t i, std::int64_t j) { return matrix(i, i) < matrix(j, j); });
      linalg::HostMatrix vectors(n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t from = order[static_cast<std::size_t>(j)];
        call.outputs[0].set(m * n + j, matrix(from, from));
        for (std::int64_t i = 0; i < n; ++i) vectors(i, j) = v(i, from);
      }
      vectors.store(call.outputs[1], m);
    }
  }
};

}  // namespace ops

/// Eigenvalues and eigenvectors of each symmetric matrix, A = V diag(w) V^T: auto [w, v] =
/// self_adjoint_eig(a). (...,N,N) -> values (...,N), vectors (...,N,N)
///
/// The values ascend. The columns of V are orthonormal; their signs depend on the algorithm. Only
/// the lower triangle of A is read, so only its elements have a gradient. A matrix with NaN or
/// infinity gives NaN. Eigenvectors of equal eigenvalues have no derivative: their contribution to
/// the gradient of A is infinite or NaN; the contribution of the values is right.
template <Tensor A>
constexpr auto self_adjoint_eig(const A& a,
                                std::source_location at = std::source_location::current()) {
  static_assert(linalg::square_matrices<A>,
                "self_adjoint_eig(a): the last two axes of a must be square matrices, (...,N,N)");
  static_assert(linalg::lapack_types<A>,
                "self_adjoint_eig(a): a must be float or double; convert with cast<float>(x)");
  using O = ops::SelfAdjointEig;
  if constexpr (detail::untyped<A>) {
    const auto y = add_node(*a.graph, O{}, &a.id, 1, O::infer({}, a.graph->type_of(a.id)));
    return SelfAdjointEig<AnyExpr, AnyExpr>{y[0], y[1]};
  } else {
    using Values = Expr<typename A::element, shape_of_t<linalg::OutputRule<O, 0, A>>>;
    using Vectors = Expr<typename A::element, shape_of_t<linalg::OutputRule<O, 1, A>>>;
    detail::mark(at, a);
    const Id id = a.id();
    const auto y = add_node(a.graph(), O{}, &id, 1, std::array{Values::type, Vectors::type});
    return SelfAdjointEig<Values, Vectors>{Values(a.graph(), y[0].id), Vectors(a.graph(), y[1].id)};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
