// SPDX-License-Identifier: Apache-2.0
#pragma once

// Positions from positions: invert_permutation, unravel_index.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// y[x[i]] = i, of int32 or int64. (N) -> (N)
struct InvertPermutation : custom {
  static constexpr std::string_view name = "InvertPermutation";
  static constexpr Derivative derivative = Derivative::zero;

  static constexpr Type infer(const InvertPermutation&, const Type& x) {
    const bool fits = (x.dtype == DType::int32 || x.dtype == DType::int64) && x.dims.rank == 1;
    return {x.dtype, fits ? x.dims : no_dims};
  }
  /// Inverts at(0) ... at(n - 1): calls put(k, i) and reads with back(k). The last of two equal
  /// positions stays, so the first does not find itself.
  template <class At, class Put, class Back>
  static Failure invert(std::int64_t n, const At& at, const Put& put, const Back& back) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t k = at(i);
      if (k < 0 || k >= n) return {1, {i, k, n}};
      put(k, i);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      if (back(at(i)) != i) return {2, {i, at(i), back(at(i))}};
    }
    return {};
  }
  TYPEFLOW_COLD static Error explain(const InvertPermutation&, const Failure& wrong,
                                     std::span<const Dims>) {
    const auto [i, k, other, unused] = wrong.number;
    if (wrong.what == 1) {
      return detail::out_of_range("invert_permutation", "element", k,
                                  " at [" + std::to_string(i) + "]", other);
    }
    return Error("invert_permutation", std::to_string(k) + " is at [" + std::to_string(i) +
                                           "] and at [" + std::to_string(other) + "]");
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const Failure wrong = invert(
        x.size(), [&](std::int64_t i) { return x[i].integer; },
        [&](std::int64_t k, std::int64_t i) { y[k].integer = i; },
        [&](std::int64_t k) { return y[k].integer; });
    if (wrong.what != 0) throw explain({}, wrong, {});
  }
};

/// The coordinates of row-major positions in a tensor, one axis after the other. The tensor's
/// shape is that of the second input, without its last axis, which is empty (see RavelIndex).
/// (I...) x (D1,...,DK,0) -> (K,I...)
struct UnravelIndex : custom {
  static constexpr std::string_view name = "UnravelIndex";
  static constexpr Derivative derivative = Derivative::zero;

  static constexpr Type infer(const UnravelIndex&, const Type& indices, const Type& shape) {
    if (!is_integer(indices.dtype) || indices.dims.rank == max_rank || shape.dims.rank < 2) {
      return {indices.dtype, no_dims};
    }
    Dims dims{};
    dims.append(shape.dims.rank - 1);
    for (int i = 0; i < indices.dims.rank; ++i) dims.append(indices.dims.extent[i]);
    return {indices.dtype, dims};
  }
  /// Calls put(axis, i, coordinate) for the positions at(0) ... at(count - 1).
  template <class At, class Put>
  static Failure unravel(std::int64_t count, std::span<const std::int64_t> shape, const At& at,
                         const Put& put) {
    const std::size_t depth = shape.size() - 1;
    std::int64_t size = 1;
    for (std::size_t axis = 0; axis < depth; ++axis) size *= shape[axis];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = at(i);
      if (rest < 0 || rest >= size) return {1, {i, rest, size}};
      for (std::size_t axis = depth; axis-- > 0; rest /= shape[axis]) {
        put(static_cast<std::int64_t>(axis), i, rest % shape[axis]);
      }
    }
    return {};
  }
  TYPEFLOW_COLD static Error explain(const UnravelIndex&, const Failure& wrong,
                                     std::span<const Dims> operands) {
    return detail::wrong_index(Indexing::unravel_index, wrong, detail::extents_of(operands[0]));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const Failure wrong = unravel(
        x.size(), detail::extents_of(*call.inputs[1]),
        [&](std::int64_t i) { return detail::index_at(x, i); },
        [&](std::int64_t axis, std::int64_t i, std::int64_t c) {
          y[axis * x.size() + i].integer = c;
        });
    if (wrong.what != 0) throw explain({}, wrong, std::array{x.dims});
  }
};

}  // namespace ops

namespace detail {

template <class X, Extent... D>
struct UnravelRule {
  static constexpr bool fits = sizeof...(D) > 0 && sizeof...(D) < max_rank&& X::rank < max_rank;
  static constexpr Dims value = [] {
    Dims dims{};
    if (!fits) return X::dims;
    dims.append(static_cast<Extent>(sizeof...(D)));
    for (int i = 0; i < X::rank; ++i) dims.append(X::dims.extent[i]);
    return dims;
  }();
};

}  // namespace detail

/// The inverse of a permutation: y[x[i]] = i. x holds 0 ... N-1 in any order. (N) -> (N)
///
/// x is int32 or int64. A number outside of [0, N) and a number that occurs twice are errors of
/// the run.
template <TypedExpr X>
constexpr auto invert_permutation(const X& x,
                                  std::source_location at = std::source_location::current()) {
  static_assert((X::type.dtype == DType::int32 || X::type.dtype == DType::int64) && X::rank == 1,
                "invert_permutation(x): x must be int32 or int64, with one axis");
  detail::mark(at, x);
  return detail::same_type(x, apply(ops::InvertPermutation{}, x.any()).id);
}

/// The coordinates of row-major positions in a tensor of shape [D...], all of axis 0, then those of
/// axis 1...: unravel_index<3, 4>(indices). (I...) -> (number of D, I...)
///
/// As numpy.unravel_index; the coordinates have the type of the indices. An index outside of the
/// tensor is an error of the run.
template <Extent... D, TypedExpr I>
constexpr auto unravel_index(const I& indices,
                             std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>,
                "unravel_index<D...>(indices): the indices must be integers");
  using Rule = detail::UnravelRule<typename I::shape, D...>;
  static_assert(Rule::fits,
                "unravel_index<D...>(indices): the shape must have 1 to 7 axes, and the indices "
                "fewer axes than tf::max_rank");
  detail::mark(at, indices);
  using E = Expr<typename I::element, shape_of_t<Rule>>;
  if constexpr (Rule::fits) {
    ir::Graph& graph = indices.graph();
    const AnyExpr empty = broadcast_to(detail::constant_node(graph, DType::boolean, Number{}),
                                       Dims{static_cast<int>(sizeof...(D)) + 1, {D..., 0}});
    return E(indices.graph(), apply(ops::UnravelIndex{}, indices.any(), empty).id);
  } else {
    return E(indices.graph(), indices.id());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
