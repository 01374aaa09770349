// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared parts of the operations of linear algebra. Each works on the matrices in a tensor's last
// two axes, for every position along the other axes, if there are any.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/shape/concat.hpp"  // a rule of sums is there
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The triangle of a matrix that is read, with the diagonal; other elements count as zeros.
enum class Triangle : std::uint32_t { lower = 0, upper = 1 };
inline constexpr Triangle lower_triangle = Triangle::lower;
inline constexpr Triangle upper_triangle = Triangle::upper;

namespace linalg {

// Types and shapes.

constexpr bool is_lapack_type(DType type) {
  return type == DType::float32 || type == DType::float64;
}
constexpr bool are_matrices(const Dims& x) { return x.rank >= 2; }
constexpr bool are_square(const Dims& x) {
  return are_matrices(x) && x.extent[x.rank - 2] == x.extent[x.rank - 1];
}

/// The axes before the last `dropped` ones.
constexpr Dims leading(const Dims& x, int dropped = 2) {
  Dims out{};
  for (int i = 0; i < x.rank - dropped; ++i) out.append(x.extent[i]);
  return out;
}

/// (...,N,N) and (...,N,K), with equal leading axes.
constexpr bool can_solve(const Dims& a, const Dims& b) {
  return are_square(a) && are_matrices(b) && leading(a) == leading(b) &&
         a.extent[a.rank - 1] == b.extent[b.rank - 2];
}

// Conditions for static_asserts. They are true for an AnyExpr, whose type is not known at compile
// time.
template <class... X>
inline constexpr bool lapack_types = [] {
  if constexpr (detail::untyped<X...>) {
    return true;
  } else {
    return detail::same_elements<X...> && (is_lapack_type(X::type.dtype) && ...);
  }
}();
template <class A>
inline constexpr bool square_matrices = [] {
  if constexpr (detail::untyped<A>) {
    return true;
  } else {
    return are_square(A::shape::dims);
  }
}();

/// The shape of an operation's result number I.
template <class O, int I, class... X>
struct OutputRule {
  static constexpr Dims value = O::infer(O{}, X::type...)[I].dims;
};

/// Adds a node with one result. If operands do not fit, as the caller has asserted, the result is a
/// scalar, so that one mistake gives one message.
template <class O, Tensor... X>
constexpr auto apply_to_matrices(const std::source_location& at, const O& op, const X&... x) {
  if constexpr (detail::untyped<X...>) {
    return apply(op, x...);
  } else {
    using Rule = detail::InferRule<O, X...>;
    using E = Expr<typename detail::FirstElement<X...>::type, shape_of_t<Rule>>;
    detail::mark(at, x...);
    Graph& graph = detail::graph_of(x...);
    const Id ids[] = {x.id()...};
    return E(graph, add_node(graph, op, ids, static_cast<int>(sizeof...(X)), E::type).id);
  }
}

/// Adds a node with one input and several results; returns these as a std::tuple.
template <class O, Tensor A>
constexpr auto apply_to_one(const std::source_location& at, const A& a) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (detail::untyped<A>) {
      const auto y = add_node(*a.graph, O{}, &a.id, 1, O::infer({}, a.graph->type_of(a.id)));
      return std::tuple{y[I]...};
    } else {
      constexpr auto types = O::infer(O{}, A::type);
      using E = std::tuple<
          Expr<element_of<types[I].dtype>, shape_of_t<OutputRule<O, static_cast<int>(I), A>>>...>;
      detail::mark(at, a);
      const Id id = a.id();
      const auto y =
          add_node(a.graph(), O{}, &id, 1, std::array{std::tuple_element_t<I, E>::type...});
      return E(std::tuple_element_t<I, E>(a.graph(), y[I].id)...);
    }
  }(std::make_index_sequence<static_cast<std::size_t>(O::outputs)>());
}

// Parts of gradients.

/// Each matrix transposed.
constexpr AnyExpr transpose_matrices(const AnyExpr& x) {
  const int rank = x.dims().rank;
  int permutation[max_rank] = {};
  for (int i = 0; i < rank; ++i) permutation[i] = i;
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return transpose_to(x, permutation);
}

/// The shape of one matrix.
constexpr Dims matrix_of(const Dims& x) {
  return {2, {x.extent[x.rank - 2], x.extent[x.rank - 1]}};
}
/// The row or column number of each element of one matrix.
constexpr AnyExpr rows_of(const AnyExpr& x) {
  return index_along(*x.graph, matrix_of(x.dims()), 0);
}
constexpr AnyExpr columns_of(const AnyExpr& x) {
  return index_along(*x.graph, matrix_of(x.dims()), 1);
}

/// One triangle with the diagonal; zeros elsewhere.
constexpr AnyExpr triangle_of(const AnyExpr& x, Triangle triangle) {
  const AnyExpr row = rows_of(x);
  const AnyExpr column = columns_of(x);
  return where(triangle == Triangle::lower ? greater_equal(row, column) : less_equal(row, column),
               x, 0);
}

/// Phi of Murray 2016, section 3.1: the lower triangle with half of the diagonal; zeros above.
constexpr AnyExpr lower_and_half_diagonal(const AnyExpr& x) {
  const AnyExpr row = rows_of(x);
  const AnyExpr column = columns_of(x);
  return where(greater(row, column), x, where(equal(row, column), x * 0.5, 0));
}

/// The gradient of an operation that reads the lower triangle of a symmetric matrix x, from the
/// gradient that it would have if all elements of x were independent.
constexpr AnyExpr gradient_of_lower(const AnyExpr& dx) {
  return lower_and_half_diagonal(dx + transpose_matrices(dx));
}

// For kernels and the interpreter.

/// "matrix_inverse: the matrix at [2, 0] is singular": matrix number[0] of a tensor.
TYPEFLOW_COLD inline Error wrong_matrix(const char* function, const Failure& wrong,
                                        const Dims& dims, const char* what) {
  const auto extents = detail::extents_of(dims);
  const std::string place = detail::place_of(wrong.number[0], extents.first(extents.size() - 2));
  return Error(function, "the matrix" + place + " " + what);
}

/// A product of factors of any size. It does not overflow or underflow before its value is read.
class ScaledProduct {
 public:
  explicit ScaledProduct(double factor = 1) { multiply(factor); }

  void multiply(double factor) {
    int more = 0;
    mantissa_ = std::frexp(mantissa_ * factor, &more);
    exponent_ += more;
  }
  double value() const {
    constexpr std::int64_t most = 1 << 20;  // far beyond a double's
    return std::ldexp(mantissa_, static_cast<int>(std::clamp(exponent_, -most, most)));
  }
  /// -1, 0 or 1; NaN if the product is.
  double sign() const { return mantissa_ > 0 ? 1 : mantissa_ < 0 ? -1 : mantissa_; }
  double log_of_size() const {
    // The logarithm's argument lies between sqrt(1/2) and sqrt(2): near 1 the two terms would
    // cancel otherwise.
    const bool doubled = std::abs(mantissa_) < std::numbers::sqrt2 / 2;
    return std::log(std::abs(doubled ? 2 * mantissa_ : mantissa_)) +
           static_cast<double>(exponent_ - doubled) * std::numbers::ln2;
  }

 private:
  double mantissa_ = 1;
  std::int64_t exponent_ = 0;
};

/// A matrix of the interpreter. Its algorithms are those of a first course, in double, without
/// LAPACK.
struct HostMatrix {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<double> elements;

  HostMatrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), elements(static_cast<std::size_t>(r * c), 0.0) {}

  static HostMatrix identity(std::int64_t n) {
    HostMatrix out(n, n);
    for (std::int64_t i = 0; i < n; ++i) out(i, i) = 1;
    return out;
  }
  /// Matrix `index` of a tensor.
  static HostMatrix of(const HostTensor& x, std::int64_t index) {
    HostMatrix out(x.dims.extent[x.dims.rank - 2], x.dims.extent[x.dims.rank - 1]);
    const std::int64_t size = out.rows * out.columns;
    for (std::int64_t i = 0; i < size; ++i) {
      out.elements[static_cast<std::size_t>(i)] = x.value(index * size + i);
    }
    return out;
  }
  void store(HostTensor& y, std::int64_t index) const {
    const std::int64_t size = rows * columns;
    for (std::int64_t i = 0; i < size; ++i) {
      y.set(index * size + i, elements[static_cast<std::size_t>(i)]);
    }
  }

  double& operator()(std::int64_t i, std::int64_t j) {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }

  HostMatrix transposed() const {
    HostMatrix out(columns, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) out(j, i) = (*this)(i, j);
    }
    return out;
  }
  bool is_finite() const {
    for (const double x : elements) {
      if (!std::isfinite(x)) return false;
    }
    return true;
  }
  bool has_nan() const {
    for (const double x : elements) {
      if (std::isnan(x)) return true;
    }
    return false;
  }
  void fill(double value) { elements.assign(elements.size(), value); }
};

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// The number of matrices in a tensor.
inline std::int64_t count_matrices(const Dims& x) { return count_of(leading(x)).coefficient; }

/// Brings [a | b] to reduced row echelon form by Gauss-Jordan elimination with partial pivoting: b
/// becomes a^-1 b. Multiplies `determinant` by that of a. Returns false if a is singular; b is then
/// unspecified.
inline bool gauss_jordan(HostMatrix a, HostMatrix& b, ScaledProduct* determinant = nullptr) {
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    }
    if (a(pivot, k) == 0) return false;
    for (std::int64_t j = 0; pivot != k && j < a.columns; ++j) std::swap(a(k, j), a(pivot, j));
    for (std::int64_t j = 0; pivot != k && j < b.columns; ++j) std::swap(b(k, j), b(pivot, j));
    const double divisor = a(k, k);
    if (determinant != nullptr) determinant->multiply(pivot == k ? divisor : -divisor);
    for (std::int64_t j = k; j < a.columns; ++j) a(k, j) /= divisor;
    for (std::int64_t j = 0; j < b.columns; ++j) b(k, j) /= divisor;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const double factor = a(i, k);
      if (i == k || factor == 0) continue;
      for (std::int64_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      for (std::int64_t j = 0; j < b.columns; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  return true;
}

}  // namespace linalg

}  // namespace typeflow::inline TYPEFLOW_ISA
