// SPDX-License-Identifier: Apache-2.0
#pragma once

// Loops that carry a state: while_loop and fori_loop. (scan.hpp has loops along tensors' first
// axis.)
//
//   auto [i, x] = tf::while_loop([&](auto i, auto x) { return tf::less(i, n); },
//                                [&](auto i, auto x) { return std::tuple{i + 1, x * w}; },
//                                std::tuple{zero, x0});
//   auto x5 = tf::fori_loop(0, 5, [&](auto i, auto x) { return x * w; }, x0);
//
// A state is a structure of tensors (front/structure.hpp). It keeps its type from one iteration to
// the next. A body is traced once. It may read and assign variables, draw random numbers (anew in
// each iteration) and have other effects, which happen in each iteration. In a body, too, a
// variable's handle is its value at the start of the run; v.read() is its present value.

#include <concepts>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/control_gradient.hpp"
#include "typeflow/front/structure.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/passes/loops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct WhileOptions {
  /// The most iterations. A run fails if the condition still holds after them. 0: unlimited, and
  /// without a gradient.
  std::int64_t max_iterations = 0;
  /// The most iterations that may overlap, which they do where the loop's body is on several
  /// devices (docs/devices.md). 1: none do. 0: as many as the plan chooses.
  int parallel_iterations = 0;
};

namespace detail {

/// Calls f with a state. The elements of a tuple become separate arguments.
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

/// A loop's results: the last states, then the outputs stacked along axis 0.
constexpr Pool<Id> loop_results(ir::Graph& graph, const Pool<Id>& regions, const ops::Loop& op,
                                const Pool<Id>& inputs, const ir::SourceLine& source) {
  graph.source = source;
  const Id body = regions[regions.size() - 1];
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
  graph.control_gradient = &control_gradient;
  graph.rewrite_loops = &ir::rewrite_loops;
  graph.loops = true;
  const Id token = ir::ControlBuilder(graph, regions).add(op, inputs);
  Pool<Id> results;
  for (int i = 0; i < types.size(); ++i) {
    results.push(ir::control_result(graph, token, i, types[i]));
  }
  results.push(token);
  return results;
}

/// A mistake in a loop's options.
constexpr void check_parallel(ir::Graph& graph, int parallel) {
  if (parallel >= 0) return;
  Message message{};
  graph.fail(message << "parallel_iterations: expected 0 or more, got " << parallel);
}

template <class C, class F, class S>
constexpr Pool<Id> trace_while(Graph& to, C& condition, F& body, const S& init,
                               const WhileOptions& options, const ir::SourceLine& source) {
  using State = plain_t<S>;
  ir::Graph& graph = to;
  graph.source = source;
  check_parallel(graph, options.parallel_iterations);
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
                      ops::Loop{{},
                                most > 0 ? most : 0,
                                start.size(),
                                0,
                                0,
                                most > 0 ? 1 : 0,
                                options.parallel_iterations},
                      start, source);
}

/// A loop with this trip count. `body(index, state, slices)` gives the next states, and then the
/// values to stack.
template <class F>
constexpr Pool<Id> trace_counted(Graph& to, Extent count, const Pool<Id>& init,
                                 const Pool<Id>& sliced, bool reversed, int parallel, F&& body,
                                 const ir::SourceLine& source) {
  ir::Graph& graph = to;
  graph.source = source;
  check_parallel(graph, parallel);
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
  return loop_results(
      graph, regions,
      ops::Loop{{}, count, init.size(), sliced.size(), reversed ? 1 : 0, 1, parallel}, inputs,
      source);
}

}  // namespace detail

/// The state after the last iteration: state := body(state), while condition(state). The elements
/// of a std::tuple become separate arguments. The state keeps its structure, element types and
/// shapes.
///
/// With options.max_iterations the loop has a gradient. The values that it needs are saved in
/// memory for that many iterations.
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
    using Next = std::remove_cvref_t<decltype(detail::call_with(body, std::declval<State>()))>;
    constexpr bool asks = detail::is_condition<Predicate>;
    constexpr bool keeps = std::is_same_v<detail::plain_t<Next>, State>;
    constexpr bool stays = !keeps || detail::devices_agree<Next, S>();
    static_assert(asks,
                  "while_loop(condition, body, init): the condition must give a boolean scalar");
    (void)sizeof(detail::requirement<
                 "while_loop(condition, body, init): the body must give a state of the structure, "
                 "element types and shapes of init",
                 keeps>);
    static_assert(keeps,
                  "while_loop(condition, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    static_assert(stays,
                  "while_loop(condition, body, init): the body must give a state on the device of "
                  "init; nothing moves a state from one device to another");
    if constexpr (asks && keeps && stays) {
      Graph& g = detail::graph_of_structure(init);
      const Pool<Id> results =
          detail::trace_while(g, condition, body, init, options, source_line(at));
      return detail::structure_of<State>(g, results.data());
    } else {
      return State{};  // one mistake is enough: later code compiles
    }
  }
}

/// state := body(i, state) for i = begin, ..., end - 1, starting from init.
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
    using Next = std::remove_cvref_t<decltype(detail::call_with(body, std::declval<Index>(),
                                                                std::declval<State>()))>;
    constexpr bool keeps = std::is_same_v<detail::plain_t<Next>, State>;
    constexpr bool stays = !keeps || detail::devices_agree<Next, S>();
    (void)sizeof(detail::requirement<
                 "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                 "element types and shapes of init",
                 keeps>);
    static_assert(keeps,
                  "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    static_assert(stays,
                  "fori_loop(begin, end, body, init): the body must give a state on the device of "
                  "init; nothing moves a state from one device to another");
    if constexpr (keeps && stays) {
      Graph& g = detail::graph_of_structure(init);
      const std::int64_t count = std::int64_t{end} - begin;
      const Pool<Id> results = detail::trace_counted(
          g, count < 0 ? 0 : count, detail::ids_of(init), {}, false, 0,
          [&](const Id* index, const Id* states, const Id*) {
            const Index step(g, *index);
            const State state = detail::structure_of<State>(g, states);
            return detail::ids_of(
                detail::call_with(body, begin == 0 ? step : Index(step + begin), state));
          },
          source_line(at));
      return detail::structure_of<State>(g, results.data());
    } else {
      return State{};  // one mistake is enough: later code compiles
    }
  }
}
/// The same without a state: body(i) returns an effect, and so does this.
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
        g, count < 0 ? 0 : count, {}, {}, false, 0,
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
/// options.max_iterations limits its iterations.
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
    using Next = std::remove_cvref_t<decltype(detail::call_with(body, std::declval<Index>(),
                                                                std::declval<State>()))>;
    constexpr bool keeps = std::is_same_v<detail::plain_t<Next>, State>;
    constexpr bool stays = !keeps || detail::devices_agree<Next, S>();
    (void)sizeof(detail::requirement<
                 "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                 "element types and shapes of init",
                 keeps>);
    static_assert(keeps,
                  "fori_loop(begin, end, body, init): the body must give a state of the structure, "
                  "element types and shapes of init");
    static_assert(stays,
                  "fori_loop(begin, end, body, init): the body must give a state on the device of "
                  "init; nothing moves a state from one device to another");
    if constexpr (keeps && stays) {
      return std::get<1>(
          while_loop([&](const Index& i, const State&) { return less(i, Index(end)); },
                     [&](const Index& i, const State& state) {
                       return std::tuple<Index, State>(i + 1, detail::call_with(body, i, state));
                     },
                     std::tuple<Index, S>(begin, init), options, at));
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
