// SPDX-License-Identifier: Apache-2.0
#pragma once

// bitcast<T>(x): the same bytes as elements of another type.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <vector>

#include "typeflow/ops/custom.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The shape of x's bytes as elements of another type. Elements of equal size keep it, smaller ones
/// add an axis, larger ones remove one. no_dims if x has no such axis.
constexpr Dims bitcast_dims(const Type& x, DType to) {
  const int from_size = size_of(x.dtype);
  const int to_size = size_of(to);
  if (x.dtype == DType::boolean || to == DType::boolean) return no_dims;
  Dims dims = x.dims;
  if (to_size < from_size) {
    if (dims.rank == max_rank) return no_dims;
    dims.append(from_size / to_size);
  } else if (to_size > from_size) {
    if (dims.rank == 0 || dims.extent[dims.rank - 1] != to_size / from_size) return no_dims;
    --dims.rank;
    dims.extent[dims.rank] = 0;
  }
  return dims;
}

template <class X, DType To>
struct BitcastRule {
  static constexpr Dims value = bitcast_dims(X::type, To);
};

}  // namespace detail

namespace ops {

/// The same bytes as elements of another type. A copy, so that no other operation has to know that
/// memory can have two types.
struct Bitcast : custom {
  static constexpr std::string_view name = "Bitcast";
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
  std::uint32_t to;  ///< a DType

  static constexpr Type infer(Bitcast op, const Type& x) {
    const DType to = static_cast<DType>(op.to);
    return {to, detail::bitcast_dims(x, to)};
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    const auto size = static_cast<std::size_t>(size_of(x.dtype));
    std::vector<std::byte> bytes(static_cast<std::size_t>(x.size()) * size);
    visit_dtype(x.dtype, [&](auto zero) {
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto element = typeflow::to<decltype(zero)>(x[i]);
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof zero, &element,
                    sizeof zero);
      }
    });
    visit_dtype(y.dtype, [&](auto element) {
      for (std::int64_t i = 0; i < y.size(); ++i) {
        std::memcpy(&element, bytes.data() + static_cast<std::size_t>(i) * sizeof element,
                    sizeof element);
        y[i] = number_from(element);
      }
    });
  }
};

}  // namespace ops

/// The bytes of x as elements of type T. (S) -> (S) for types of equal size; (S) -> (S,k) for a T
/// that is k times smaller; (S,k) -> (S) for a T that is k times larger. Not for booleans. It has
/// no gradient.
template <Element T, TypedExpr X>
constexpr auto bitcast(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::BitcastRule<X, dtype_of<T>>;
  static_assert(!std::is_same_v<T, bool> && X::type.dtype != DType::boolean,
                "bitcast<T>(x): neither T nor x can be boolean; use cast<T>(x)");
  static_assert(Rule::value.valid() || std::is_same_v<T, bool> || X::type.dtype == DType::boolean,
                "bitcast<T>(x): T is larger than x's elements: x's last axis must hold as many of "
                "them as make one T");
  detail::mark(at, x);
  using E = Expr<T, shape_of_t<Rule>>;
  const Id id = x.id();
  return E(x.graph(), add_node(x.graph(), ops::Bitcast{{}, static_cast<std::uint32_t>(dtype_of<T>)},
                               &id, 1, E::type)
                          .id);
}
/// Untyped.
template <UntypedExpr X>
constexpr AnyExpr bitcast_to(const X& x, DType type) {
  const ops::Bitcast op{{}, static_cast<std::uint32_t>(type)};
  return add_node(*x.graph, op, &x.id, 1, ops::Bitcast::infer(op, x.graph->type_of(x.id)));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
