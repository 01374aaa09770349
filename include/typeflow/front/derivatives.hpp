// SPDX-License-Identifier: Apache-2.0
#pragma once

// Derivatives made from gradients: forward mode, products with a Hessian, and functions with a
// gradient of their own.
//
//   auto dy = jvp(y, x, v);                               // how y changes as x moves along v
//   auto dy = jvp(y, xs(a, b), tangents(u, v));           // as both move
//   auto hv = hvp(loss, x, v);                            // the Hessian of loss times v
//   auto y  = custom_gradient(f, rule, x);                // f(x), differentiated by rule(x, y, dy)

#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/gradients.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Several tensors that move at the same time: jvp(y, xs(a, b), tangents(u, v)).
template <TypedExpr... X>
struct Xs {
  std::tuple<X...> values;
};
template <TypedExpr... X>
constexpr Xs<X...> xs(const X&... x) {
  return {{x...}};
}
/// The directions in which they move, each with the type of its x.
template <TypedExpr... V>
struct Tangents {
  std::tuple<V...> values;
};
template <TypedExpr... V>
constexpr Tangents<V...> tangents(const V&... v) {
  return {{v...}};
}

namespace detail {

template <class X, class V>
inline constexpr bool moves_along = false;
template <class... X, class... V>
  requires(sizeof...(X) == sizeof...(V))
inline constexpr bool moves_along<Xs<X...>, Tangents<V...>> = ((X::type == V::type) && ...);

/// The reverse mode's result for y is linear in y's gradient u. Its own gradient for u is the
/// forward mode. (Townsend, "A new trick for calculating Jacobian vector products", 2017.) Of the
/// two reverse passes only what the result needs remains.
constexpr AnyExpr forward(const AnyExpr& y, const Pool<Id>& x, const Pool<Id>& v) {
  ir::Graph& graph = *y.graph;
  const Type type = graph.type_of(y.id);
  // A node of its own: constants are shared, but nothing else may be equal to u.
  const AnyExpr zero = constant_node(graph, type.dtype, Number{});
  const AnyExpr u = add_node(graph, ops::BroadcastTo{}, &zero.id, 1, type);
  Pool<Id> ys;
  Pool<Id> us;
  ys.push(y.id);
  us.push(u.id);
  const Pool<Id> reverse = gradients_of(graph, ys, us, x);
  Pool<Id> reached;
  Pool<Id> along;
  for (int i = 0; i < x.size(); ++i) {
    if (reverse[i] == none) continue;
    reached.push(reverse[i]);
    along.push(v[i]);
  }
  Pool<Id> to;
  to.push(u.id);
  if (reached.empty()) {
    Message message{};
    graph.fail(message << "jvp(y, x, v): no differentiable path leads from x to y");
    return u;
  }
  const Id result = gradients_of(graph, reached, along, to)[0];
  // A gradient that does not depend on u is zero.
  return result != none ? AnyExpr{&graph, result} : u;
}

}  // namespace detail

/// The derivative of y as x moves along v, which is the product of the Jacobian with v: a tensor
/// like y. v has the type of x. Forward mode; costs about two evaluations of y.
template <TypedExpr Y, class... X, class... V>
constexpr auto jvp(const Y& y, const Xs<X...>& x, const Tangents<V...>& v) {
  static_assert(
      detail::moves_along<Xs<X...>, Tangents<V...>>,
      "jvp(y, xs(x...), tangents(v...)): as many tangents are needed as xs, each with the "
      "element type and shape of its x");
  static_assert(detail::all_floating<Y, X...>,
                "jvp(y, xs(x...), tangents(v...)): y and the xs must be of floating-point type");
  Pool<Id> from;
  Pool<Id> along;
  std::apply([&](const auto&... e) { (from.push(e.id()), ...); }, x.values);
  std::apply([&](const auto&... e) { (along.push(e.id()), ...); }, v.values);
  return detail::same_type(y, detail::forward(y.any(), from, along).id);
}
template <TypedExpr Y, TypedExpr X, TypedExpr V>
constexpr auto jvp(const Y& y, const X& x, const V& v) {
  static_assert(X::type == V::type, "jvp(y, x, v): v must have the element type and shape of x");
  static_assert(detail::all_floating<Y, X>, "jvp(y, x, v): y and x must be of floating-point type");
  return jvp(y, xs(x), tangents(v));
}

/// The product of a scalar's Hessian for x with v: a tensor like x. The Hessian itself is never
/// computed.
template <TypedExpr Y, TypedExpr X, TypedExpr V>
constexpr auto hvp(const Y& y, const X& x, const V& v) {
  static_assert(Y::rank == 0, "hvp(y, x, v): y must be a scalar");
  static_assert(X::type == V::type, "hvp(y, x, v): v must have the element type and shape of x");
  return gradients(sum(gradients(y, x) * stop_gradient(v)), x);
}

namespace ops {

/// Returns input 0. Its gradient is what Rule gives for the N other inputs, from which it was
/// computed.
template <class Rule, int N>
struct CustomGradient : view {
  static constexpr std::string_view name = detail::type_name<CustomGradient>();
  static constexpr bool variadic = true;
  static constexpr Type infer(CustomGradient, std::span<const Type> x) { return x[0]; }
  static constexpr AnyExpr simplify(CustomGradient, std::span<const AnyExpr> x, AnyExpr y) {
    return viewed(x[0], y);
  }
  static constexpr void gradient(CustomGradient, std::span<const AnyExpr> x, AnyExpr y, AnyExpr dy,
                                 AnyExpr* dx) {
    const auto result = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Rule{}(x[I + 1]..., y, dy);
    }(std::make_index_sequence<static_cast<std::size_t>(N)>{});
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(result)>, AnyExpr>) {
      dx[1] = result;
    } else {
      static_assert(result.size() == N,
                    "custom_gradient(f, rule, x...): rule must give a gradient for each x");
      for (std::size_t i = 0; i < N; ++i) dx[i + 1] = result[i];
    }
  }
};

}  // namespace ops

/// f(x...), with a gradient given by a rule instead of f's own: rule(x..., y, dy) returns the
/// gradient of x, or a std::array with one for each x. The rule works on untyped tensors (AnyExpr)
/// with the same functions. It has no captures, so values that it needs are passed as an x.
///
///   // relu whose gradient is clipped to [-1, 1]
///   auto y = custom_gradient([](auto x) { return relu(x); },
///                            [](auto x, auto y, auto dy) {
///                              return where(greater(x, 0), maximum(minimum(dy, 1), -1), 0);
///                            }, x);
template <class F, class Rule, TypedExpr... X>
constexpr auto custom_gradient(const F& f, const Rule&, const X&... x) {
  static_assert(std::is_empty_v<Rule> && std::is_default_constructible_v<Rule>,
                "custom_gradient(f, rule, x...): the rule must not capture; give it what it needs "
                "as an x");
  constexpr int count = sizeof...(X);
  const auto y = f(x...);
  const Id ids[] = {y.id(), x.id()...};
  ir::Graph& graph = y.graph();
  return detail::same_type(y, add_node(graph, ops::CustomGradient<Rule, count>{}, ids, count + 1,
                                       graph.values[y.id()].type)
                                  .id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
