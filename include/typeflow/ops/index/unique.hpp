// SPDX-License-Identifier: Apache-2.0
#pragma once

// unique: the distinct elements of a list.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/ops/index/selection.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The distinct elements of a list, `count` of them, then zeros; and the position of each element
/// of the list among them.
template <TypedExpr V, TypedExpr I>
struct UniqueElements {
  V values;
  I index;
  Expr<std::int32_t> count;
};

namespace ops {

/// (N) -> (bound), (N) and ()
struct Unique : custom {
  static constexpr std::string_view name = "Unique";
  static constexpr int outputs = 3;
  static constexpr int flops = 4;
  Extent bound;

  static constexpr std::array<Type, 3> infer(Unique op, const Type& x) {
    const bool fits = x.dims.rank == 1;
    return {Type(x.dtype, fits ? Dims{1, {op.bound}} : no_dims), Type(DType::int32, x.dims),
            Type(DType::int32, {})};
  }
  TYPEFLOW_COLD static Error explain(Unique, const Failure& wrong, std::span<const Dims>) {
    return Error("unique", detail::sentence({"at most ", wrong.number[0], " distinct elements"}),
                 detail::sentence({"another one at [", wrong.number[1], "]"}));
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    HostTensor& values = call.outputs[0];
    std::int64_t count = 0;
    const auto equal = [&](const Number& a, const Number& b) {
      if (is_complex(x.dtype)) return a.real == b.real && a.imaginary == b.imaginary;
      return is_floating(x.dtype) ? a.real == b.real : a.integer == b.integer;
    };
    for (std::int64_t i = 0; i < x.size(); ++i) {
      std::int64_t k = 0;
      while (k < count && !equal(values[k], x[i])) ++k;
      if (k == count) {
        if (count == values.size()) throw explain({}, {1, {count, i}}, {});
        values[count++] = x[i];
      }
      call.outputs[1][i].integer = k;
    }
    call.outputs[2][0].integer = count;
  }
};

}  // namespace ops

/// Untyped: values, index, count.
template <UntypedExpr X>
constexpr std::array<AnyExpr, 3> unique(const X& x, Extent bound) {
  return apply(ops::Unique{{}, bound}, x);
}

namespace detail {
template <Extent Bound, TypedExpr X>
constexpr auto unique_typed(const X& x, const std::source_location& at) {
  static_assert(X::rank == 1, "unique(x): x must have one axis");
  using V = Expr<typename X::element, Shape<Bound>>;
  using I = Expr<std::int32_t, typename X::shape>;
  mark(at, x);
  const auto [values, index, count] = unique(x.any(), Bound);
  Graph& graph = x.graph();
  return UniqueElements<V, I>{V(graph, values.id), I(graph, index.id), {graph, count.id}};
}
}  // namespace detail

/// The distinct elements of x in the order in which they first occur, the position of each element
/// of x among them, and their number: {values, index, count}. (N) -> (N), (N) and ()
///
/// Elements may have any type. They are compared by ==: -0 equals 0, and each NaN differs from all
/// others. A gradient through the values is an error.
template <TypedExpr X>
constexpr auto unique(const X& x, std::source_location at = std::source_location::current()) {
  constexpr Extent bound = X::rank == 1 ? X::shape::dims.extent[0] : 0;
  return detail::unique_typed<bound>(x, at);
}
/// The same with at most Bound distinct elements; more are an Error of the run.
/// (N) -> (Bound), (N) and ()
template <Extent Bound, TypedExpr X>
constexpr auto unique(const X& x, std::source_location at = std::source_location::current()) {
  return detail::unique_typed<Bound>(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
