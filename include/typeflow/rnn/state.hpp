// SPDX-License-Identifier: Apache-2.0
#pragma once

// The state of recurrent cells: a tensor (B,Units), an LstmState, or a std::tuple of states. A cell
// names it by its member `state<B>`. All other code on states maps functions over their tensors.

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/scope.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/ops/shape/fill.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The state of an LSTM: its memory c and its last output h. (TensorFlow's LSTMStateTuple.)
template <TypedExpr C, TypedExpr H = C>
struct LstmState {
  C c;  ///< (B,Units)
  H h;  ///< (B,Units), or (B,Projection) if the cell has a projection
};

namespace detail {

/// f(x, y...) for each tensor of states with one structure, in their order.
template <class F>
struct StateMap {
  const F& f;

  template <TypedExpr... X>
  constexpr auto operator()(const X&... x) const {
    return f(x...);
  }
  template <class C, class H>
  constexpr auto operator()(const LstmState<C, H>& s) const {
    const auto c = f(s.c);
    const auto h = f(s.h);
    return LstmState<std::remove_const_t<decltype(c)>, std::remove_const_t<decltype(h)>>{c, h};
  }
  template <class C, class H, class D, class I>
  constexpr auto operator()(const LstmState<C, H>& s, const LstmState<D, I>& t) const {
    const auto c = f(s.c, t.c);
    const auto h = f(s.h, t.h);
    return LstmState<std::remove_const_t<decltype(c)>, std::remove_const_t<decltype(h)>>{c, h};
  }
  template <class... S>
  constexpr auto operator()(const std::tuple<S...>& s) const {
    const StateMap& map = *this;  // nvcc 13 garbles (*this) in a lambda's types
    return std::apply(
        [&map](const auto&... part) {
          return std::tuple<decltype(map(part))...>{map(part)...};  // braces: in this order
        },
        s);
  }
  template <class... S, class... T>
    requires(sizeof...(S) == sizeof...(T))
  constexpr auto operator()(const std::tuple<S...>& s, const std::tuple<T...>& t) const {
    const StateMap& map = *this;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<decltype(map(std::get<I>(s), std::get<I>(t)))...>{
          map(std::get<I>(s), std::get<I>(t))...};
    }(std::index_sequence_for<S...>());
  }
};
template <class F, class... S>
constexpr auto map_state(const F& f, const S&... states) {
  return StateMap<F>{f}(states...);
}

/// A tensor's handle, also of a variable.
struct ToExpr {
  template <TypedExpr X>
  constexpr auto operator()(const X& x) const {
    return Expr<typename X::element, typename X::shape>(x.graph(), x.id());
  }
};
/// The state with variables replaced by their values.
template <class S>
constexpr auto state_values(const S& state) {
  return map_state(ToExpr{}, state);
}
template <class S>
using StateValues = decltype(state_values(std::declval<const S&>()));

/// Makes the tensors of a state type S, in their order: make(Type<tensor>, name).
template <class S>
struct StateMaker;
template <Element T, class S>
struct StateMaker<Expr<T, S>> {
  template <class F>
  static constexpr auto make(Graph&, Label name, const F& f) {
    return f(std::type_identity<Expr<T, S>>{}, name);
  }
};
template <class C, class H>
struct StateMaker<LstmState<C, H>> {
  template <class F>
  static constexpr auto make(Graph& g, Label name, const F& f) {
    const Scope in(g, name);
    const auto c = f(std::type_identity<C>{}, "c");
    const auto h = f(std::type_identity<H>{}, "h");
    return LstmState<std::remove_const_t<decltype(c)>, std::remove_const_t<decltype(h)>>{c, h};
  }
};
template <class... S>
struct StateMaker<std::tuple<S...>> {
  template <class F>
  static constexpr auto make(Graph& g, Label name, const F& f) {
    const Scope in(g, name);
    return make_parts(g, f, std::index_sequence_for<S...>());
  }
  template <class F, std::size_t... I>
  static constexpr auto make_parts(Graph& g, const F& f, std::index_sequence<I...>) {
    return std::tuple<decltype(StateMaker<S>::make(g, Label("cell", 0), f))...>{
        StateMaker<S>::make(g, Label("cell", static_cast<int>(I)), f)...};
  }
};

template <class S>
constexpr S zero_of(Graph& g) {
  return StateMaker<S>::make(g, "", [&]<class T, class D>(std::type_identity<Expr<T, D>>, Label) {
    const AnyExpr zero = constant_node(g, dtype_of<T>, Number{});
    return Expr<T, D>(g, broadcast_to(zero, D::dims).id);
  });
}

}  // namespace detail

/// The type of a cell's state for a batch.
template <class Cell, Extent B>
using StateOf = typename Cell::template state<B>;

/// A state of zeros, the usual initial state: zero_state<tf::batch>(g, cell).
template <Extent B, class Cell>
constexpr StateOf<Cell, B> zero_state(Graph& g, const Cell&) {
  return detail::zero_of<StateOf<Cell, B>>(g);
}

/// A state carried from run to run, usable wherever a state is expected. It consists of variables
/// of the session (tf::state), which are zeros initially and after Session::reset(). They are
/// called `name` for a tensor, name/c and name/h for an LSTM, name/cell_0... for stacked cells.
template <Extent B, class Cell>
constexpr auto kept_state(Graph& g, Label name, const Cell&) {
  static_assert(!is_symbolic(B),
                "kept_state<batch>(g, name, cell): the batch must be a number, not tf::batch");
  return detail::StateMaker<StateOf<Cell, B>>::make(
      g, name, [&]<class T, Extent... D>(std::type_identity<Expr<T, Shape<D...>>>, Label label) {
        return state<T, D...>(g, label);
      });
}

/// The effect that keeps a state for the next run: keep_state(start, result.state).
template <class V, class S>
constexpr Effect keep_state(const V& variables, const S& now) {
  constexpr bool alike = std::same_as<detail::StateValues<V>, detail::StateValues<S>>;
  static_assert(
      alike,
      "keep_state(variables, state): both must be states of one cell and batch, the first "
      "made by kept_state");
  Effect all;
  if constexpr (alike) {
    detail::map_state(
        [&](const auto& variable, const auto& value) {
          all += assign(variable, value);
          return variable;
        },
        variables, now);
  }
  return all;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
