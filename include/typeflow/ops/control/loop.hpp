// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops: while_loop and fori_loop, which carry a state; scan, map and fold_left, which go along the
// first axis of tensors.
//
//   auto [i, x] = tf::while_loop([&](auto i, auto x) { return tf::less(i, n); },
//                                [&](auto i, auto x) { return std::tuple{i + 1, x * w}; },
//                                std::tuple{zero, x0});
//   auto x5 = tf::fori_loop(0, 5, [&](auto i, auto x) { return x * w; }, x0);
//   auto [last, all] = tf::scan([&](auto h, auto x) { return std::pair{h + x, h * x}; }, h0, xs);
//
// A state is a structure of tensors (front/structure.hpp), which keeps its type from one iteration
// to the next. A body is traced once. It may read and assign variables, draw random numbers (others
// in each iteration) and have other effects, which happen in each iteration. A variable's handle is
// its value when the run starts, there too; its present value is v.read().

#include <concepts>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/structure.hpp"
#include "typeflow/ops/control/loop_operands.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct WhileOptions {
  /// The most iterations; a run in which the condition still holds after them fails. 0: no limit,
  /// and no gradient.
  std::int64_t max_iterations = 0;
  /// How many iterations may overlap. They do so where several devices share them: not yet.
  int parallel_iterations = 10;
};

struct LoopOptions {
  bool reverse = false;  ///< from the last slice to the first; results keep their places
};

namespace detail {

/// Calls f with a state, a tuple's elements as arguments of their own.
template <class F, class S>
constexpr decltype(auto) call_with(F& f, const S& state) {
  return f(state);
}
template <class F, class... E>
constexpr decltype(auto) call_with(F& f, const std::tuple<E...>& state) {
  return std::apply(f, state);
}
template <class F, class I, class S>
constexpr decltype(auto) call_with(F& f, const I& index, const S& state) {
  return f(index, state);
}
template <class F, class I, class... E>
constexpr decltype(auto) call_with(F& f, const I& index, const std::tuple<E...>& state) {
  return std::apply([&](const E&... e) -> decltype(auto) { return f(index, e...); }, state);
}

template <class F, class... A>
concept TakesState = requires(F& f, const A&... a) { call_with(f, a...); };

/// A boolean scalar.
template <class C>
inline constexpr bool is_condition = false;
template <TypedExpr C>
inline constexpr bool is_condition<C> = std::is_same_v<typename C::element, bool> && C::rank == 0;

// Slices along axis 0.

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

/// Whether all tensors of a tuple, pair, array or tensor are like this.
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
/// The first tensor of one.
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

// Tracing.

/// A loop while it is traced.
struct LoopTrace {
  Id region = none;
  Pool<Id> parameters;  // types
};

/// The types of the parameters of a loop's regions: the iteration, the states.
constexpr Pool<Id> state_parameters(ir::Graph& graph, const Pool<Id>& init) {
  Pool<Id> types;
  types.push(graph.intern(Type(DType::int32, Dims{0, {}})));
  for (const Id value : init) types.push(graph.values[value].type);
  return types;
}
constexpr const Id* parameters_of(const ir::Graph& graph, Id region) {
  return graph.lists.data() + graph.regions[region].parameters.first;
}

/// The values of a loop's results: last states, then what is put together along axis 0.
constexpr Pool<Id> loop_results(ir::Graph& graph, const Pool<Id>& regions, ops::Loop op,
                                Pool<Id> inputs, bool at_least_once, const ir::SourceLine& source) {
  graph.source = source;
  ir::ControlBuilder builder(graph, regions);
  for (const Id region : regions) builder.hoist(region, at_least_once);
  const Id body = regions[regions.size() - 1];
  if (op.slices > 0 && op.count > 1) ir::multiply_slices_outside(graph, body, op, inputs);
  if (op.limited == 0 || op.count > 1) ir::transpose_outside(graph, body);
  Pool<Id> types;
  const ir::Range given = graph.regions[body].results;
  for (int i = 0; i < given.count; ++i) {
    const Type type = graph.type_of(graph.lists[given.first + i]);
    if (i < op.states) {
      types.push(graph.intern(type));
      continue;
    }
    Dims dims{0, {}};
    dims.append(op.count);
    for (int k = 0; k < type.dims.rank; ++k) dims.append(type.dims.extent[k]);
    types.push(graph.intern(Type(type.dtype, dims)));
  }
  const Id token = builder.add(op, inputs);
  Pool<Id> results;
  for (int i = 0; i < types.size(); ++i) {
    results.push(ir::control_result(graph, token, i, types[i]));
  }
  results.push(token);
  return results;
}

template <class C, class F, class S>
constexpr Pool<Id> trace_while(Graph& to, C& condition, F& body, const S& init,
                               const WhileOptions& options, const ir::SourceLine& source) {
  using State = plain_t<S>;
  ir::Graph& graph = to;
  graph.source = source;
  const Pool<Id> start = ids_of(init);
  const Pool<Id> parameters = state_parameters(graph, start);
  Pool<Id> regions;
  regions.push(ir::open_region(graph));
  ir::add_parameters(graph, regions[0], parameters);
  Pool<Id> results;
  results.push(
      call_with(condition, structure_of<State>(to, parameters_of(graph, regions[0]) + 1)).id());
  ir::close_region(graph, regions[0], results);
  graph.source = source;
  regions.push(ir::open_region(graph));
  ir::add_parameters(graph, regions[1], parameters);
  results = ids_of(call_with(body, structure_of<State>(to, parameters_of(graph, regions[1]) + 1)));
  ir::close_region(graph, regions[1], results);
  const std::int64_t most = options.max_iterations;
  return loop_results(graph, regions,
                      ops::Loop{{}, most > 0 ? most : 0, start.size(), 0, 0, most > 0 ? 1 : 0},
                      start, false, source);
}

/// A loop of so many iterations. `body(index, state, slices)` gives the next states' values, and
/// then those of what is put together.
template <class F>
constexpr Pool<Id> trace_counted(Graph& to, Extent count, const Pool<Id>& init,
                                 const Pool<Id>& sliced, bool reversed, F&& body,
                                 const ir::SourceLine& source) {
  ir::Graph& graph = to;
  graph.source = source;
  Pool<Id> parameters = state_parameters(graph, init);
  Pool<Id> inputs = init;
  for (const Id x : sliced) {
    const Type type = graph.type_of(x);
    Dims dims{0, {}};
    for (int i = 1; i < type.dims.rank; ++i) dims.append(type.dims.extent[i]);
    parameters.push(graph.intern(Type(type.dtype, dims)));
    inputs.push(x);
  }
  Pool<Id> regions;
  regions.push(ir::open_region(graph));
  ir::add_parameters(graph, regions[0], parameters);
  Pool<Id> given;  // the pools may move while the body is traced
  for (int i = 0; i < parameters.size(); ++i) given.push(parameters_of(graph, regions[0])[i]);
  const Pool<Id> results = body(given.data(), given.data() + 1, given.data() + 1 + init.size());
  ir::close_region(graph, regions[0], results);
  return loop_results(graph, regions,
                      ops::Loop{{}, count, init.size(), sliced.size(), reversed ? 1 : 0, 1}, inputs,
                      count > 0, source);
}

}  // namespace detail

/// The state after as many iterations as the condition holds before: body(state), while
/// condition(state). A std::tuple of states is given as arguments of their own. An iteration's
/// state has the structure, element types and shapes of the first.
/// With options.max_iterations the loop has a gradient: what that needs of an iteration is saved,
/// in memory for as many as there may be.
///
/// Errors: in a run, more than options.max_iterations.
template <class C, class F, Structure S>
constexpr auto while_loop(C&& condition, F&& body, const S& init, const WhileOptions& options = {},
                          std::source_location at = std::source_location::current()) {
  using State = detail::plain_t<S>;
  constexpr bool calls = detail::TakesState<C, State> && detail::TakesState<F, State>;
  static_assert(calls,
                "while_loop(condition, body, init): condition and body must be functions of the "
                "state; of the elements of a std::tuple, if init is one");
  if constexpr (calls) {
    using Predicate =
        std::remove_cvref_t<decltype(detail::call_with(condition, std::declval<State>()))>;
    using Next = detail::plain_t<decltype(detail::call_with(body, std::declval<State>()))>;
    constexpr bool asks = detail::is_condition<Predicate>;
    constexpr bool keeps = std::is_same_v<Next, State>;
    static_assert(asks,
                  "while_loop(condition, body, init): the condition must give a boolean scalar");
    static_assert(keeps,
                  "while_loop(condition, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    if constexpr (asks && keeps) {
      Graph& g = detail::graph_of_structure(init);
      const Pool<Id> results =
          detail::trace_while(g, condition, body, init, options, source_line(at));
      return detail::structure_of<State>(g, results.data());
    }
  }
}

/// body(i, state) for i = begin, ..., end - 1, one after the other; init if there is none.
template <class F, Structure S>
constexpr auto fori_loop(std::int32_t begin, std::int32_t end, F&& body, const S& init,
                         std::source_location at = std::source_location::current()) {
  using State = detail::plain_t<S>;
  using Index = Expr<std::int32_t>;
  constexpr bool calls = detail::TakesState<F, Index, State>;
  static_assert(calls,
                "fori_loop(begin, end, body, init): the body must be a function of the number and "
                "the state; of the elements of a std::tuple, if init is one");
  if constexpr (calls) {
    using Next = detail::plain_t<decltype(detail::call_with(body, std::declval<Index>(),
                                                            std::declval<State>()))>;
    constexpr bool keeps = std::is_same_v<Next, State>;
    static_assert(keeps,
                  "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    if constexpr (keeps) {
      Graph& g = detail::graph_of_structure(init);
      const std::int64_t count = std::int64_t{end} - begin;
      const Pool<Id> results = detail::trace_counted(
          g, count < 0 ? 0 : count, detail::ids_of(init), {}, false,
          [&](const Id* index, const Id* states, const Id*) {
            const Index step(g, *index);
            const State state = detail::structure_of<State>(g, states);
            return detail::ids_of(
                detail::call_with(body, begin == 0 ? step : Index(step + begin), state));
          },
          source_line(at));
      return detail::structure_of<State>(g, results.data());
    }
  }
}
/// The same with an effect for a body, which carries no state: body(i). It is an effect.
template <class F>
constexpr Effect fori_loop(Graph& g, std::int32_t begin, std::int32_t end, F&& body,
                           std::source_location at = std::source_location::current()) {
  using Index = Expr<std::int32_t>;
  constexpr bool calls = requires(const Index& i) { body(i); };
  static_assert(calls,
                "fori_loop(graph, begin, end, body): the body must be a function of the number");
  if constexpr (calls) {
    const std::int64_t count = std::int64_t{end} - begin;
    const Pool<Id> results = detail::trace_counted(
        g, count < 0 ? 0 : count, {}, {}, false,
        [&](const Id* index, const Id*, const Id*) {
          const Index step(g, *index);
          body(begin == 0 ? step : Index(step + begin));
          return Pool<Id>{};
        },
        source_line(at));
    return {g, results[results.size() - 1]};
  } else {
    return {};
  }
}
/// The same with bounds that a run computes, int32 scalars. It has a gradient if
/// options.max_iterations says how many iterations there may be.
///
/// Errors: in a run, more than options.max_iterations.
template <TypedExpr B, TypedExpr E, class F, Structure S>
constexpr auto fori_loop(const B& begin, const E& end, F&& body, const S& init,
                         const WhileOptions& options = {},
                         std::source_location at = std::source_location::current()) {
  using State = detail::plain_t<S>;
  using Index = Expr<std::int32_t>;
  constexpr bool bounds =
      std::is_same_v<detail::plain_t<B>, Index> && std::is_same_v<detail::plain_t<E>, Index>;
  static_assert(bounds, "fori_loop(begin, end, body, init): the bounds must be int32 scalars");
  constexpr bool calls = detail::TakesState<F, Index, State>;
  static_assert(calls,
                "fori_loop(begin, end, body, init): the body must be a function of the number and "
                "the state; of the elements of a std::tuple, if init is one");
  if constexpr (bounds && calls) {
    using Next = detail::plain_t<decltype(detail::call_with(body, std::declval<Index>(),
                                                            std::declval<State>()))>;
    constexpr bool keeps = std::is_same_v<Next, State>;
    static_assert(keeps,
                  "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    if constexpr (keeps) {
      return std::get<1>(
          while_loop([&](const Index& i, const State&) { return less(i, Index(end)); },
                     [&](const Index& i, const State& state) {
                       return std::tuple<Index, State>(i + 1, detail::call_with(body, i, state));
                     },
                     std::tuple<Index, S>(begin, init), options, at));
    }
  }
}

/// Goes along axis 0 of `xs`, a tensor or a tuple, pair or array of tensors of one length:
/// f(state, slice) gives a pair of the next state and a result. A pair of the last state, and the
/// results put together along axis 0.
template <class F, Structure S, Structure X>
constexpr auto scan(F&& f, const S& init, const X& xs, const LoopOptions& options = {},
                    std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::all_tensors<X, detail::CanSlice>();
  static_assert(slices,
                "scan(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair or "
                "array of such tensors");
  if constexpr (slices) {
    constexpr Extent length = detail::length_of<typename detail::FirstTensor<X>::type>();
    constexpr bool alike = detail::all_tensors<X, detail::Along<length>::template Same>();
    static_assert(alike, "scan(f, init, xs): all xs must have the same extent along axis 0");
    using State = detail::plain_t<S>;
    using Slice = typename detail::SliceOf<detail::plain_t<X>>::type;
    constexpr bool calls = requires(const State& s, const Slice& x) { f(s, x); };
    static_assert(calls, "scan(f, init, xs): f must be a function of the state and a slice of xs");
    if constexpr (alike && calls) {
      using Given = std::remove_cvref_t<decltype(f(std::declval<State>(), std::declval<Slice>()))>;
      constexpr bool pairs = [] {
        if constexpr (detail::is_tuple_like<Given>) {
          return std::tuple_size_v<Given> == 2;
        } else {
          return false;
        }
      }();
      static_assert(pairs, "scan(f, init, xs): f must give a pair of the next state and a result");
      if constexpr (pairs) {
        using Next = detail::plain_t<std::tuple_element_t<0, Given>>;
        using Y = detail::plain_t<std::tuple_element_t<1, Given>>;
        constexpr bool keeps = std::is_same_v<Next, State>;
        constexpr bool stacks = detail::all_tensors<Y, detail::CanStack>();
        static_assert(
            keeps,
            "scan(f, init, xs): the next state must have the structure, element types and "
            "shapes of init");
        static_assert(stacks,
                      "scan(f, init, xs): f's result must be a tensor of less than tf::max_rank "
                      "axes, or a tuple, pair or array of such tensors");
        if constexpr (keeps && stacks) {
          Graph& g = detail::graph_of_structure(xs);
          const Pool<Id> start = detail::ids_of(init);
          const Pool<Id> results = detail::trace_counted(
              g, length, start, detail::ids_of(xs), options.reverse,
              [&](const Id*, const Id* states, const Id* slice) {
                const Given given = f(detail::structure_of<State>(g, states),
                                      detail::structure_of<Slice>(g, slice));
                Pool<Id> ids = detail::ids_of(std::get<0>(given));
                for (const Id id : detail::ids_of(std::get<1>(given))) ids.push(id);
                return ids;
              },
              source_line(at));
          using Stack = typename detail::StackOf<Y, length>::type;
          return std::pair<State, Stack>(
              detail::structure_of<State>(g, results.data()),
              detail::structure_of<Stack>(g, results.data() + start.size()));
        }
      }
    }
  }
}

/// f of each slice of `xs` along axis 0, put together along axis 0.
template <class F, Structure X>
constexpr auto map(F&& f, const X& xs, std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::all_tensors<X, detail::CanSlice>();
  static_assert(
      slices,
      "map(f, xs): xs must be a tensor of one axis at least, or a tuple, pair or array of "
      "such tensors");
  if constexpr (slices) {
    using Slice = typename detail::SliceOf<detail::plain_t<X>>::type;
    constexpr bool calls = requires(const Slice& x) { f(x); };
    static_assert(calls, "map(f, xs): f must be a function of a slice of xs");
    if constexpr (calls) {
      return scan([&](const std::tuple<>& state, const Slice& x) { return std::pair(state, f(x)); },
                  std::tuple<>{}, xs, {}, at)
          .second;
    }
  }
}

/// f(...f(f(init, x0), x1)..., xn), along axis 0 of `xs`: the last state.
template <class F, Structure S, Structure X>
constexpr auto fold_left(F&& f, const S& init, const X& xs,
                         std::source_location at = std::source_location::current()) {
  constexpr bool slices = detail::all_tensors<X, detail::CanSlice>();
  static_assert(
      slices,
      "fold_left(f, init, xs): xs must be a tensor of one axis at least, or a tuple, pair "
      "or array of such tensors");
  if constexpr (slices) {
    using State = detail::plain_t<S>;
    using Slice = typename detail::SliceOf<detail::plain_t<X>>::type;
    constexpr bool calls = requires(const State& s, const Slice& x) { f(s, x); };
    static_assert(calls,
                  "fold_left(f, init, xs): f must be a function of the state and a slice of xs");
    if constexpr (calls) {
      return scan([&](const State& state,
                      const Slice& x) { return std::pair(f(state, x), std::tuple<>{}); },
                  init, xs, {}, at)
          .first;
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
