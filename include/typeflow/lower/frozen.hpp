// SPDX-License-Identifier: Apache-2.0
#pragma once

// A compiled model as constants.
//
// Lowering<Model, Mode, Request> evaluates a model once, into a record of fixed capacity (what a
// constant evaluation allocates can't outlive it), and copies the record's tables to arrays of
// their exact sizes, which are what a program holds at run time.

#include <array>
#include <type_traits>

#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/kernel_types.hpp"

#ifndef TYPEFLOW_MAX_STEPS
/// The largest program, in kernel calls.
#define TYPEFLOW_MAX_STEPS 4096
#endif

namespace typeflow::inline TYPEFLOW_TARGET {

/// What fetches and feeds a program is compiled for: everything that the model names...
struct Everything {};
/// ...or these names, and these fed besides placeholders.
template <class... N>  // NameOf<...>
struct Names {};
template <class Fetches, class Feeds>
struct Only;

namespace detail {

template <class T, int Capacity>
struct FrozenTable {
  int size;
  T items[Capacity];

  /// False if the pool has too many.
  constexpr bool take(const Pool<T>& pool) {
    size = pool.size();
    if (size > Capacity) return false;
    for (int i = 0; i < size; ++i) items[i] = pool[i];
    return true;
  }
};

struct Frozen {
  static constexpr int steps_max = TYPEFLOW_MAX_STEPS;
  FrozenTable<Type, steps_max / 8> types;
  FrozenTable<Slot, steps_max * 2> slots;
  FrozenTable<Step, steps_max> steps;
  FrozenTable<Id, steps_max * 16> operands;
  FrozenTable<StepExtent, steps_max * 8> extents;
  FrozenTable<std::uint32_t, steps_max * 16> words;
  FrozenTable<ConstantRecord, steps_max> constants;
  FrozenTable<ProgramName, steps_max * 2> names;
  FrozenTable<ScopeRecord, steps_max> scopes;
  FrozenTable<ProgramVariable, steps_max> variables;
  FrozenTable<ProgramPlaceholder, steps_max / 8> placeholders;
  FrozenTable<KernelSpec, steps_max / 16> kernels;
  FrozenTable<std::uint32_t, steps_max * 4> need_sets;
  int nodes;
  Message error;
};

/// Adds the name ids of `N...` to a request.
template <class... N>
constexpr void find_names(const Graph& graph, Names<N...>, Pool<Id>& out) {
  (out.push(graph.find_name(hash(N::view()))), ...);
}
template <class F, class D>
constexpr Request make_request(const Graph& graph, std::type_identity<Only<F, D>>) {
  Request request;
  request.everything = false;
  find_names(graph, F{}, request.fetches);
  find_names(graph, D{}, request.feeds);
  return request;
}
constexpr Request make_request(const Graph&, std::type_identity<Everything>) { return {}; }

template <auto Model, Mode M, class R>
constexpr Frozen freeze() {
  // All in one function: clang evaluates a local variable's initialiser an extra time where that
  // stands for itself, as a call without local arguments does.
  Graph graph(M);
  Model(graph);
  const Request request = make_request(graph, std::type_identity<R>{});
  const ProgramPools program = compile(std::move(graph), request);
  Frozen f{};
  f.error = program.error;
  f.nodes = program.nodes;
  const bool fits = f.types.take(program.types) && f.slots.take(program.slots) &&
                    f.steps.take(program.steps) && f.operands.take(program.operands) &&
                    f.extents.take(program.extents) && f.words.take(program.words) &&
                    f.constants.take(program.constants) && f.names.take(program.names) &&
                    f.scopes.take(program.scopes) && f.variables.take(program.variables) &&
                    f.placeholders.take(program.placeholders) && f.kernels.take(program.kernels) &&
                    f.need_sets.take(program.need_sets);
  if (!fits) {
    f = Frozen{};
    f.error << "the program is larger than TYPEFLOW_MAX_STEPS = " << Frozen::steps_max
            << " allows; define a larger one before including typeflow";
  }
  return f;
}

// Whether the compiler can evaluate a model is asked before it must, so that its user is told in a
// sentence: `frozen` is evaluated once either way. A constant is no constexpr variable for clang
// but a reference, which may be dynamic; g++ knows the result of a call that it evaluated before.
// nvcc does neither, and isn't asked.
#if defined(__clang__) && !defined(__CUDACC__)
template <auto Model, Mode M, class R>
inline const Frozen& frozen = freeze<Model, M, R>();
template <auto Model, Mode M, class R>
concept Evaluated = requires { typename std::bool_constant<(frozen<Model, M, R>.nodes >= 0)>; };
#else
template <auto Model, Mode M, class R>
inline constexpr Frozen frozen = freeze<Model, M, R>();
#ifdef __CUDACC__
template <auto Model, Mode M, class R>
concept Evaluated = true;
#else
template <auto Model, Mode M, class R>
concept Evaluated = requires { typename std::bool_constant<(freeze<Model, M, R>().nodes >= 0)>; };
#endif
#endif

/// Whether a model of this type takes the graph by reference; true where that can't be seen.
template <class F>
inline constexpr bool takes_reference = true;
template <class R, class... A, bool N>
inline constexpr bool takes_reference<R (*)(A...) noexcept(N)> =
    std::is_same_v<void(A...), void(Graph&)>;
template <class F, class R, class... A, bool N>
inline constexpr bool takes_reference<R (F::*)(A...) const noexcept(N)> =
    std::is_same_v<void(A...), void(Graph&)>;
template <class F>
  requires requires { &F::operator(); }
inline constexpr bool takes_reference<F> = takes_reference<decltype(&F::operator())>;

/// Whether a session can be made of a model.
template <auto Model, Mode M>
struct ModelCheck {
  static constexpr bool by_reference = takes_reference<std::remove_const_t<decltype(Model)>>;
  static constexpr bool ok = [] {
    if constexpr (by_reference) {
      return Evaluated<Model, M, Everything>;
    } else {
      return false;
    }
  }();
};
constexpr void no_model(Graph&) {}

/// The sizes of a program's tables.
struct TableSizes {
  int types;
  int slots;
  int steps;
  int operands;
  int extents;
  int words;
  int constants;
  int names;
  int scopes;
  int variables;
  int placeholders;
  int kernels;
  int need_sets;
};
constexpr TableSizes sizes_of(const Frozen& f) {
  return {f.types.size,        f.slots.size,     f.steps.size,    f.operands.size, f.extents.size,
          f.words.size,        f.constants.size, f.names.size,    f.scopes.size,   f.variables.size,
          f.placeholders.size, f.kernels.size,   f.need_sets.size};
}
template <auto Model, Mode M, class R>
inline constexpr TableSizes sizes = sizes_of(frozen<Model, M, R>);

template <class T, int N>
using Exact = std::array<T, static_cast<std::size_t>(N)>;

/// A program's tables in their exact sizes. (nvcc copies the whole of Frozen for every constant
/// that reads it, so few do.)
template <TableSizes S>
struct Tables {
  Exact<Type, S.types> types;
  Exact<Slot, S.slots> slots;
  Exact<Step, S.steps> steps;
  Exact<Id, S.operands> operands;
  Exact<StepExtent, S.extents> extents;
  Exact<std::uint32_t, S.words> words;
  Exact<ConstantRecord, S.constants> constants;
  Exact<ProgramName, S.names> names;
  Exact<ScopeRecord, S.scopes> scopes;
  Exact<ProgramVariable, S.variables> variables;
  Exact<ProgramPlaceholder, S.placeholders> placeholders;
  Exact<KernelSummary, S.kernels> summaries;
  Exact<std::uint32_t, S.need_sets> need_sets;
};
/// What only the compiler needs.
template <TableSizes S>
struct Descriptions {
  Exact<KernelSpec, S.kernels> kernels;
  int nodes;
  Message error;
};

template <class T, std::size_t N, int Capacity>
constexpr void copy(std::array<T, N>& to, const FrozenTable<T, Capacity>& from) {
  if constexpr (N > 0) {
    for (std::size_t i = 0; i < N; ++i) to[i] = from.items[i];
  }
}
template <TableSizes S>
constexpr Tables<S> tables_of(const Frozen& f) {
  Tables<S> t{};
  copy(t.types, f.types);
  copy(t.slots, f.slots);
  copy(t.steps, f.steps);
  copy(t.operands, f.operands);
  copy(t.extents, f.extents);
  copy(t.words, f.words);
  copy(t.constants, f.constants);
  copy(t.names, f.names);
  copy(t.scopes, f.scopes);
  copy(t.variables, f.variables);
  copy(t.placeholders, f.placeholders);
  copy(t.need_sets, f.need_sets);
  for (int i = 0; i < S.kernels; ++i) {
    t.summaries[static_cast<std::size_t>(i)] = summary_of(f.kernels.items[i]);
  }
  return t;
}
template <TableSizes S>
constexpr Descriptions<S> descriptions_of(const Frozen& f) {
  Descriptions<S> d{};
  copy(d.kernels, f.kernels);
  d.nodes = f.nodes;
  d.error = f.error;
  return d;
}

}  // namespace detail

/// A model's program: tables and kernel descriptions as constants.
template <auto Model, Mode M = training, class R = Everything>
class Lowering {
  static constexpr detail::TableSizes sizes = detail::sizes<Model, M, R>;
  static constexpr auto tables = detail::tables_of<sizes>(detail::frozen<Model, M, R>);
  static constexpr auto descriptions = detail::descriptions_of<sizes>(detail::frozen<Model, M, R>);

  template <class T, std::size_t N>
  static constexpr Table<T> table(const std::array<T, N>& array) {
    return {array.data(), static_cast<int>(N)};
  }

 public:
  static constexpr int kernel_count = sizes.kernels;
  /// Nodes of the graph as the model made it, gradients included.
  static constexpr int node_count = descriptions.nodes;
  /// The model's mistake, if it has one.
  static constexpr Message error = descriptions.error;

  /// The description of kernel I.
  template <int I>
  struct Kernel {
    static constexpr KernelSpec value = descriptions.kernels[static_cast<std::size_t>(I)];
  };

  static constexpr ProgramView view{
      table(tables.types),     table(tables.slots),        table(tables.steps),
      table(tables.operands),  table(tables.extents),      table(tables.words),
      table(tables.constants), table(tables.names),        table(tables.scopes),
      table(tables.variables), table(tables.placeholders), table(tables.summaries),
      table(tables.need_sets)};
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
