// SPDX-License-Identifier: Apache-2.0
#pragma once

// Several tensors as one value, for results of branches and states of loops.
//
// A structure is a tensor, or a std::tuple, std::pair or std::array of structures, or a struct with
// up to eight members that are structures, such as a recurrent cell's state:
//
//   struct LstmState { tf::Expr<float, tf::Shape<20, 200>> c, h; };

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/expr.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class S>
inline constexpr bool is_tuple_like = false;
template <class... E>
inline constexpr bool is_tuple_like<std::tuple<E...>> = true;
template <class A, class B>
inline constexpr bool is_tuple_like<std::pair<A, B>> = true;
template <class E, std::size_t N>
inline constexpr bool is_tuple_like<std::array<E, N>> = true;

/// Converts to the type of any struct member.
struct AnyMember {
  template <class T>
  constexpr operator T() const;
};
template <class S, class... A>
constexpr std::size_t member_count(A... members) {
  if constexpr (sizeof...(A) < 8 && requires { S{AnyMember{}, members...}; }) {
    return member_count<S>(AnyMember{}, members...);
  } else {
    return sizeof...(A);
  }
}

/// The members of a struct, as references.
template <class S>
constexpr auto members_of(S& s) {
  constexpr std::size_t count = member_count<std::remove_const_t<S>>();
  if constexpr (count == 0) {
    return std::tie();
  } else if constexpr (count == 1) {
    auto& [a] = s;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  }
}

/// Calls f for each tensor of a structure, in order.
template <class S, class F>
constexpr void each_tensor(S& s, F&& f) {
  using Plain = std::remove_const_t<S>;
  if constexpr (TypedExpr<Plain>) {
    f(s);
  } else if constexpr (is_tuple_like<Plain>) {
    std::apply([&](auto&... element) { (each_tensor(element, f), ...); }, s);
  } else {
    std::apply([&](auto&... member) { (each_tensor(member, f), ...); }, members_of(s));
  }
}

template <class S>
constexpr bool is_structure();
template <class... E>
constexpr bool all_structures(std::type_identity<std::tuple<E...>>) {
  return (is_structure<std::remove_cvref_t<E>>() && ...);
}
/// Whether S consists of tensors alone.
template <class S>
constexpr bool is_structure() {
  if constexpr (TypedExpr<S>) {
    return true;
  } else if constexpr (is_tuple_like<S>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_structure<std::tuple_element_t<I, S>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<S>>{});
  } else if constexpr (std::is_aggregate_v<S> && !std::is_array_v<S>) {
    return all_structures(std::type_identity<decltype(members_of(std::declval<S&>()))>{});
  } else {
    return false;
  }
}

/// The structure type that replaces S inside a body: handles of variables and pinned tensors become
/// plain tensors.
template <class S>
struct PlainOf {
  using type = S;
};
template <TypedExpr S>
struct PlainOf<S> {
  using type = Expr<typename S::element, typename S::shape>;
};
template <class... E>
struct PlainOf<std::tuple<E...>> {
  using type = std::tuple<typename PlainOf<E>::type...>;
};
template <class A, class B>
struct PlainOf<std::pair<A, B>> {
  using type = std::pair<typename PlainOf<A>::type, typename PlainOf<B>::type>;
};
template <class E, std::size_t N>
struct PlainOf<std::array<E, N>> {
  using type = std::array<typename PlainOf<E>::type, N>;
};
template <class S>
using plain_t = typename PlainOf<std::remove_cvref_t<S>>::type;

/// Whether tensors of A and B in the same place are pinned to the same device, if both are pinned.
/// A and B have the same structure.
template <class A, class B>
constexpr bool devices_agree() {
  if constexpr (TypedExpr<A> && TypedExpr<B>) {
    constexpr Device a = A::device::value;
    constexpr Device b = B::device::value;
    return a.kind == DeviceKind::any || b.kind == DeviceKind::any || a == b;
  } else if constexpr (is_tuple_like<A> && is_tuple_like<B>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (devices_agree<std::tuple_element_t<I, A>, std::tuple_element_t<I, B>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<A>>{});
  } else {
    return true;  // one struct
  }
}

/// The graph of a structure's first tensor.
template <class S>
constexpr Graph& graph_of_structure(const S& s) {
  Graph* graph = nullptr;
  each_tensor(s, [&](const auto& x) {
    if (graph == nullptr) graph = &x.graph();
  });
  return *graph;
}

template <class S>
constexpr Pool<Id> ids_of(const S& s) {
  Pool<Id> ids;
  each_tensor(s, [&](const auto& x) { ids.push(x.id()); });
  return ids;
}

/// A structure of type S with these values.
template <class S>
constexpr S structure_of(Graph& graph, const Id* values) {
  S s{};
  each_tensor(s, [&](auto& x) { x = {graph, *values++}; });
  return s;
}

}  // namespace detail

/// Several tensors as one value.
template <class S>
concept Structure = detail::is_structure<std::remove_cvref_t<S>>();

}  // namespace typeflow::inline TYPEFLOW_ISA
