// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops along the first axis of tensors: scan, map and fold_left.
//
//   auto [last, all] = tf::scan([&](auto h, auto x) { return std::pair{h + x, h * x}; }, h0, xs);
//
// Each iteration reads the next slice in place, and writes its result in place. For states and
// bodies see loop.hpp.

#include <array>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/ops/control/loop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct LoopOptions {
  bool reverse = false;  ///< from the last slice to the first; results keep their places
  /// The most iterations that may overlap, as in WhileOptions.
  int parallel_iterations = 0;
};

namespace detail {

template <class X>
struct TakenSliceRule {
  static constexpr Dims value = [] {
    if (X::rank < 1) return no_dims;
    Dims dims{0, {}};
    for (int i = 1; i < X::rank; ++i) dims.append(X::shape::dims.extent[i]);
    return dims;
  }();
};
template <class X, Extent N>
struct PutTogetherRule {
  static constexpr Dims value = [] {
    if (X::rank >= max_rank) return no_dims;
    Dims dims{0, {}};
    dims.append(N);
    for (int i = 0; i < X::rank; ++i) dims.append(X::shape::dims.extent[i]);
    return dims;
  }();
};

/// The structure of the slices of S along axis 0.
template <class S>
struct SliceOf;
template <TypedExpr X>
struct SliceOf<X> {
  using type = Expr<typename X::element, shape_of_t<TakenSliceRule<X>>>;
};
template <class... E>
struct SliceOf<std::tuple<E...>> {
  using type = std::tuple<typename SliceOf<E>::type...>;
};
template <class A, class B>
struct SliceOf<std::pair<A, B>> {
  using type = std::pair<typename SliceOf<A>::type, typename SliceOf<B>::type>;
};
template <class E, std::size_t N>
struct SliceOf<std::array<E, N>> {
  using type = std::array<typename SliceOf<E>::type, N>;
};
/// The structure whose slices along an axis 0 of N have the structure S.
template <class S, Extent N>
struct StackOf;
template <TypedExpr X, Extent N>
struct StackOf<X, N> {
  using type = Expr<typename X::element, shape_of_t<PutTogetherRule<X, N>>>;
};
template <class... E, Extent N>
struct StackOf<std::tuple<E...>, N> {
  using type = std::tuple<typename StackOf<E, N>::type...>;
};
template <class A, class B, Extent N>
struct StackOf<std::pair<A, B>, N> {
  using type = std::pair<typename StackOf<A, N>::type, typename StackOf<B, N>::type>;
};
template <class E, std::size_t Count, Extent N>
struct StackOf<std::array<E, Count>, N> {
  using type = std::array<typename StackOf<E, N>::type, Count>;
};

/// Whether all tensors of a tuple, pair, array or tensor fulfil a condition.
template <class S, template <class> class Like>
constexpr bool all_tensors() {
  if constexpr (TypedExpr<S>) {
    return Like<S>::value;
  } else if constexpr (is_tuple_like<S>) {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (all_tensors<std::tuple_element_t<I, S>, Like>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<S>>{});
  } else {
    return false;
  }
}
template <class S>
inline constexpr bool is_pair_like = false;
template <class S>
  requires is_tuple_like<S>
inline constexpr bool is_pair_like<S> = std::tuple_size_v<S> == 2;
/// The first tensor of a structure.
template <class S>
struct FirstTensor : FirstTensor<std::tuple_element_t<0, S>> {};
template <TypedExpr X>
struct FirstTensor<X> {
  using type = X;
};
template <class X>
struct CanSlice {
  static constexpr bool value = X::rank >= 1;
};
template <class X>
struct CanStack {
  static constexpr bool value = X::rank < max_rank;
};
template <Extent N>
struct Along {
  template <class X>
  struct Same {
    static constexpr bool value = X::rank >= 1 && X::shape::dims.extent[0] == N;
  };
};
template <class X>
constexpr Extent length_of() {
  if constexpr (X::rank >= 1) {
    return X::shape::dims.extent[0];
  } else {
    return -1;
  }
}

/// Whether a structure can be sliced along axis 0.
template <class X>
inline constexpr bool can_slice = all_tensors<X, CanSlice>();
/// The extent of axis 0.
template <class X>
inline constexpr Extent length_along = length_of<typename FirstTensor<X>::type>();
/// Whether all tensors have the same extent along axis 0.
template <class X>
inline constexpr bool of_one_length = all_tensors<X, Along<length_along<X>>::template Same>();
template <class X>
using slice_of_t = typename SliceOf<plain_t<X>>::type;

/// A scan with a function that returns a pair of a State and a Y.
template <class State, class Y, class F, class S, class X>
constexpr auto trace_scan(F&& f, const S& init, const X& xs, const LoopOptions& options,
                          const ir::SourceLine& source) {
  constexpr Extent length = length_along<X>;
  using Stack = typename StackOf<Y, length>::type;
  Graph& g = graph_of_structure(xs);
  const Pool<Id> start = ids_of(init);
  const Pool<Id> results = trace_counted(
      g, length, start, ids_of(xs), options.reverse, options.parallel_iterations,
      [&](const Id*, const Id* states, const Id* slice) {
        const auto given = f(structure_of<State>(g, states), structure_of<slice_of_t<X>>(g, slice));
        Pool<Id> ids = ids_of(std::get<0>(given));
        for (const Id id : ids_of(std::get<1>(given))) ids.push(id);
        return ids;
      },
      source);
  return std::pair<State, Stack>(structure_of<State>(g, results.data()),
                                 structure_of<Stack>(g, results.data() + start.size()));
}

}  // namespace detail

/// Goes along axis 0 of `xs`: a tensor, or a tuple, pair or array of tensors of one length.
/// f(state, slice) returns a pair of the next state and an output. Returns a pair of the last
/// state, and the outputs stacked along axis 0.
template <class F, Structure S, Structure X>
constexpr auto scan(F&& f, const S& init, const X& xs, const LoopOptions& options = {},
                    std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::can_slice<X>;
  static_assert(slices,
                "scan(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair or "
                "array of such tensors");
  if constexpr (slices) {
    constexpr bool alike = detail::of_one_length<X>;
    static_assert(alike, "scan(f, init, xs): all xs must have the same extent along axis 0");
    using State = detail::plain_t<S>;
    using Slice = detail::slice_of_t<X>;
    constexpr bool calls = requires(const State& s, const Slice& x) { f(s, x); };
    static_assert(calls, "scan(f, init, xs): f must be a function of the state and a slice of xs");
    if constexpr (alike && calls) {
      using Given = std::remove_cvref_t<decltype(f(std::declval<State>(), std::declval<Slice>()))>;
      constexpr bool pairs = detail::is_pair_like<Given>;
      static_assert(pairs, "scan(f, init, xs): f must give a pair of the next state and a result");
      if constexpr (pairs) {
        using Next = std::tuple_element_t<0, Given>;
        using Y = detail::plain_t<std::tuple_element_t<1, Given>>;
        constexpr bool keeps = std::is_same_v<detail::plain_t<Next>, State>;
        constexpr bool stays = !keeps || detail::devices_agree<Next, S>();
        constexpr bool stacks = detail::all_tensors<Y, detail::CanStack>();
        (void)sizeof(detail::requirement<
                     "scan(f, init, xs): the next state must have the structure, element types and "
                     "shapes of init",
                     keeps>);
        static_assert(
            keeps,
            "scan(f, init, xs): the next state must have the structure, element types and "
            "shapes of init");
        static_assert(stays,
                      "scan(f, init, xs): the next state must be on the device of init; nothing "
                      "moves a state from one device to another");
        static_assert(stacks,
                      "scan(f, init, xs): f's result must be a tensor of less than tf::max_rank "
                      "axes, or a tuple, pair or array of such tensors");
        if constexpr (keeps && stays && stacks) {
          return detail::trace_scan<State, Y>(f, init, xs, options, source_line(at));
        } else if constexpr (stacks) {
          return std::pair<State, typename detail::StackOf<Y, detail::length_along<X>>::type>{};
        }
      }
    }
  }
}

/// f of each slice of `xs` along axis 0, stacked.
template <class F, Structure X>
constexpr auto map(F&& f, const X& xs, std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::can_slice<X>;
  static_assert(
      slices,
      "map(f, xs): xs must be a tensor of one axis at least, or a tuple, pair or array of "
      "such tensors");
  if constexpr (slices) {
    constexpr bool alike = detail::of_one_length<X>;
    static_assert(alike, "map(f, xs): all xs must have the same extent along axis 0");
    using Slice = detail::slice_of_t<X>;
    constexpr bool calls = requires(const Slice& x) { f(x); };
    static_assert(calls, "map(f, xs): f must be a function of a slice of xs");
    if constexpr (alike && calls) {
      using Y = detail::plain_t<decltype(f(std::declval<Slice>()))>;
      constexpr bool stacks = detail::all_tensors<Y, detail::CanStack>();
      static_assert(stacks,
                    "map(f, xs): f must give a tensor of less than tf::max_rank axes, or a tuple, "
                    "pair or array of such tensors");
      if constexpr (stacks) {
        return detail::trace_scan<std::tuple<>, Y>(
                   [&](const std::tuple<>& state, const Slice& x) {
                     return std::pair(state, f(x));
                   },
                   std::tuple<>{}, xs, {}, source_line(at))
            .second;
      }
    }
  }
}

/// f(...f(f(init, x0), x1)..., xn) along axis 0 of `xs`: returns the last state.
template <class F, Structure S, Structure X>
constexpr auto fold_left(F&& f, const S& init, const X& xs,
                         std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::can_slice<X>;
  static_assert(
      slices,
      "fold_left(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair "
      "or array of such tensors");
  if constexpr (slices) {
    constexpr bool alike = detail::of_one_length<X>;
    static_assert(alike, "fold_left(f, init, xs): all xs must have the same extent along axis 0");
    using State = detail::plain_t<S>;
    using Slice = detail::slice_of_t<X>;
    constexpr bool calls = requires(const State& s, const Slice& x) { f(s, x); };
    static_assert(calls,
                  "fold_left(f, init, xs): f must be a function of the state and a slice of xs");
    if constexpr (alike && calls) {
      using Next = std::remove_cvref_t<decltype(f(std::declval<State>(), std::declval<Slice>()))>;
      constexpr bool keeps = std::is_same_v<detail::plain_t<Next>, State>;
      constexpr bool stays = !keeps || detail::devices_agree<Next, S>();
      (void)sizeof(detail::requirement<
                   "fold_left(f, init, xs): f must give a state of the structure, element types "
                   "and shapes of init",
                   keeps>);
      static_assert(
          keeps,
          "fold_left(f, init, xs): f must give a state of the structure, element types and "
          "shapes of init");
      static_assert(stays,
                    "fold_left(f, init, xs): the next state must be on the device of init; nothing "
                    "moves a state from one device to another");
      if constexpr (keeps && stays) {
        return detail::trace_scan<State, std::tuple<>>(
                   [&](const State& state, const Slice& x) {
                     return std::pair(f(state, x), std::tuple<>{});
                   },
                   init, xs, {}, source_line(at))
            .first;
      } else {
        return State{};  // one mistake is enough: later code compiles
      }
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
