// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches: cond and switch_case.
//
//   auto y = tf::cond(tf::less(loss, 1.0f), [&] { return x * 2.0f; }, [&] { return x; });
//   auto z = tf::switch_case(k, [&] { return a; }, [&] { return b; }, [&] { return c; });
//
// A branch is a function without arguments that returns a structure of tensors
// (front/structure.hpp) or nothing. It captures outer tensors that it reads. Only the branch that
// is taken runs, with its effects. An expression that was made before is computed in any case.

#include <source_location>
#include <type_traits>
#include <utility>

#include "typeflow/front/control_gradient.hpp"
#include "typeflow/front/structure.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The result of a branch, with plain tensors; void for a branch that returns nothing, or an
/// effect.
template <class F>
using BranchResult = decltype(std::declval<F&>()());
template <class R>
struct BranchType {
  using type = plain_t<R>;
};
template <class R>
  requires(std::is_void_v<R> || std::is_convertible_v<R, Effect>)
struct BranchType<R> {
  using type = void;
};
template <class F>
using branch_t = typename BranchType<BranchResult<F>>::type;

template <class F>
concept BranchFunction = requires(F& f) { f(); };

/// Whether no two of several branches' results are pinned to different devices.
template <class First, class... Rest>
constexpr bool on_one_device() {
  if constexpr (sizeof...(Rest) == 0) {
    return true;
  } else {
    return (devices_agree<std::remove_cvref_t<First>, std::remove_cvref_t<Rest>>() && ...) &&
           on_one_device<Rest...>();
  }
}

/// Traces a branch into a region of its own.
template <class F>
constexpr Id trace_branch(Graph& to, F& branch, Pool<Id>& types) {
  ir::Graph& graph = to;
  const Id region = ir::open_region(graph);
  Pool<Id> results;
  if constexpr (std::is_void_v<branch_t<F>>) {
    branch();
  } else {
    results = ids_of(branch());
  }
  types.clear();
  for (const Id result : results) types.push(graph.values[result].type);
  ir::close_region(graph, region, results);
  return region;
}

template <class First, class... F>
constexpr auto branch(Graph& to, Id selector, const ir::SourceLine& at, First& first, F&... rest) {
  using R = branch_t<First>;
  ir::Graph& graph = to;
  Pool<Id> types;
  Pool<Id> regions;
  regions.push(trace_branch(to, first, types));
  (regions.push(trace_branch(to, rest, types)), ...);
  graph.source = at;
  Pool<Id> inputs;
  inputs.push(selector);
  graph.control_gradient = &control_gradient;
  const Id token = ir::ControlBuilder(graph, regions).add(ops::Branch{}, inputs);
  if constexpr (std::is_void_v<R>) {
    return Effect(to, token);
  } else {
    Pool<Id> results;
    for (int i = 0; i < types.size(); ++i) {
      results.push(ir::control_result(graph, token, i, types[i]));
    }
    return structure_of<R>(to, results.data());
  }
}

}  // namespace detail

/// The result of `yes` if the predicate, a boolean scalar, is true, otherwise that of `no`. Both
/// return structures of tensors with the same element types and shapes. Or both return nothing (or
/// an effect); cond is then an effect. The other branch does not run.
template <TypedExpr P, class Yes, class No>
constexpr auto cond(const P& predicate, Yes&& yes, No&& no,
                    std::source_location at = std::source_location::current()) {
  static_assert(std::is_same_v<typename P::element, bool> && P::rank == 0,
                "cond(predicate, yes, no): the predicate must be a boolean scalar");
  constexpr bool calls = detail::BranchFunction<Yes> && detail::BranchFunction<No>;
  static_assert(calls, "cond(predicate, yes, no): yes and no must be functions without arguments");
  if constexpr (calls) {
    using R = detail::branch_t<Yes>;
    constexpr bool agree = std::is_same_v<R, detail::branch_t<No>>;
    constexpr bool fits = std::is_void_v<R> || Structure<R>;
    constexpr bool together =
        !agree || detail::on_one_device<detail::BranchResult<Yes>, detail::BranchResult<No>>();
    (void)sizeof(detail::requirement<
                 "cond(predicate, yes, no): both branches must give the same structure, with equal "
                 "element types and shapes; convert with cast<T>(x), reshape or broadcast_to",
                 agree>);
    static_assert(
        agree,
        "cond(predicate, yes, no): both branches must give the same structure, with equal "
        "element types and shapes; convert with cast<T>(x), reshape or broadcast_to");
    static_assert(
        fits,
        "cond(predicate, yes, no): the branches must give a tensor, a tuple, pair, array or "
        "struct of tensors, an effect, or nothing");
    static_assert(together,
                  "cond(predicate, yes, no): both branches must give tensors on the same device; "
                  "say where the result is to be, with on<D>(g, f), in both or in neither");
    if constexpr (agree && fits && together) {
      return detail::branch(predicate.graph(), predicate.id(), source_line(at), yes, no);
    } else if constexpr (!std::is_void_v<R>) {
      return R{};  // one mistake is enough: later code compiles
    }
  }
}

/// The result of branch number `index`, an int32 scalar; an index out of range takes the last
/// branch. The branches return equal structures, as those of cond.
template <TypedExpr I, class First, class... F>
  requires(!std::is_same_v<std::remove_cvref_t<First>, std::source_location>)
constexpr auto switch_case(const I& index, First&& first, F&&... rest) {
  static_assert(std::is_same_v<typename I::element, std::int32_t> && I::rank == 0,
                "switch_case(index, branches...): the index must be an int32 scalar");
  constexpr bool calls = detail::BranchFunction<First> && (detail::BranchFunction<F> && ...);
  static_assert(
      calls, "switch_case(index, branches...): the branches must be functions without arguments");
  if constexpr (calls) {
    using R = detail::branch_t<First>;
    constexpr bool agree = (std::is_same_v<R, detail::branch_t<F>> && ...);
    constexpr bool fits = std::is_void_v<R> || Structure<R>;
    constexpr bool together =
        !agree || detail::on_one_device<detail::BranchResult<First>, detail::BranchResult<F>...>();
    (void)sizeof(detail::requirement<
                 "switch_case(index, branches...): all branches must give the same structure, with "
                 "equal element types and shapes",
                 agree>);
    static_assert(
        agree,
        "switch_case(index, branches...): all branches must give the same structure, with "
        "equal element types and shapes");
    static_assert(
        fits,
        "switch_case(index, branches...): the branches must give a tensor, a tuple, pair, "
        "array or struct of tensors, an effect, or nothing");
    static_assert(together,
                  "switch_case(index, branches...): all branches must give tensors on the same "
                  "device; say where the result is to be, with on<D>(g, f), in all or in none");
    if constexpr (agree && fits && together) {
      ir::Graph& graph = index.graph();
      const ir::SourceLine at =
          graph.node_of(index.id()).source;  // a pack leaves no place for a source_location
      return detail::branch(index.graph(), index.id(), at, first, rest...);
    } else if constexpr (!std::is_void_v<R>) {
      return R{};
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
