// SPDX-License-Identifier: Apache-2.0
#pragma once

// Layers of one kind in a row, each with variables of its own:
//
//   auto h = repeat<3>(g, "conv3", x, [](tf::Graph& in, tf::Label name, auto v) {
//     return conv2d<256, 3>(in, name, v);                    // conv3/conv3_1/W ... conv3/conv3_3/W
//   });
//   auto y = stack<32, 64, 128>(g, "fc", x, []<int N>(tf::Graph& in, tf::Label name, auto v) {
//     return dense<N>(in, name, v);                          // fc/fc_1/W ... fc/fc_3/W
//   });

#include <concepts>
#include <type_traits>

#include "typeflow/front/scope.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// "conv3" becomes "conv3_2". {"conv", 3} becomes "conv_2": its number is in the scope's name.
constexpr Label numbered(Label name, int number) {
  name.index = number;
  return name;
}

/// The layers from number First on. Once the type stays the same, a plain loop.
template <int First, int Last, TypedExpr X, class F>
constexpr auto repeat_from(Graph& graph, const Label& name, const X& x, const F& layer) {
  auto y = layer(graph, numbered(name, First), x);
  if constexpr (First == Last) {
    return y;
  } else if constexpr (std::same_as<decltype(y), X>) {
    for (int i = First + 1; i <= Last; ++i) y = layer(graph, numbered(name, i), y);
    return y;
  } else {
    return repeat_from<First + 1, Last>(graph, name, y, layer);
  }
}

template <int Number, auto Item, auto... Rest, TypedExpr X, class F>
constexpr auto stack_from(Graph& graph, const Label& name, const X& x, const F& layer) {
  const auto y = layer.template operator()<Item>(graph, numbered(name, Number), x);
  if constexpr (sizeof...(Rest) == 0) {
    return y;
  } else {
    return stack_from<Number + 1, Rest...>(graph, name, y, layer);
  }
}

}  // namespace detail

/// Applies layer(g, name, x) N times. The layers stand in the scope `name` and are called name_1,
/// name_2..., as in TensorFlow's slim.repeat.
template <int N, TypedExpr X, class F>
constexpr auto repeat(Graph& graph, Label name, const X& x, const F& layer) {
  static_assert(N >= 1, "repeat<N>(g, name, x, layer): N must be 1 or more");
  static_assert(std::is_invocable_v<const F&, Graph&, Label, const X&>,
                "repeat<N>(g, name, x, layer): layer must take (tf::Graph&, tf::Label, auto)");
  const Scope in(graph, name);
  return detail::repeat_from<1, (N < 1 ? 1 : N)>(graph, name, x, layer);
}

/// Applies layer.operator()<Item>(g, name, x) for each of Items (widths or settings) in turn. The
/// layers stand in the scope `name` and are called name_1, name_2..., as in TensorFlow's
/// slim.stack.
template <auto... Items, TypedExpr X, class F>
constexpr auto stack(Graph& graph, Label name, const X& x, const F& layer) {
  static_assert(sizeof...(Items) > 0, "stack<items...>(g, name, x, layer): needs an item at least");
  const Scope in(graph, name);
  return detail::stack_from<1, Items...>(graph, name, x, layer);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
