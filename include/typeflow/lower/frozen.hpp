// SPDX-License-Identifier: Apache-2.0
#pragma once

// A compiled model as constants.
//
// Lowering<Model, Mode, Request> evaluates a model once, into a record of fixed capacity (what a
// constant evaluation allocates can't outlive it), and copies the record's tables to arrays of
// their exact sizes, which are what a program holds at run time.

#include <array>

#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/kernel_types.hpp"

#ifndef TYPEFLOW_MAX_STEPS
/// The largest program, in kernel calls.
#define TYPEFLOW_MAX_STEPS 8192
#endif

namespace typeflow {

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
constexpr ProgramPools compiled() {
  Graph graph(M);
  Model(graph);
  const Request request = make_request(graph, std::type_identity<R>{});
  return compile(std::move(graph), request);
}

template <auto Model, Mode M, class R>
constexpr Frozen freeze() {
  const ProgramPools program = compiled<Model, M, R>();
  Frozen f{};
  f.error = program.error;
  f.nodes = program.nodes;
  const bool fits = f.types.take(program.types) && f.slots.take(program.slots) &&
                    f.steps.take(program.steps) && f.operands.take(program.operands) &&
                    f.extents.take(program.extents) && f.words.take(program.words) &&
                    f.constants.take(program.constants) && f.names.take(program.names) &&
                    f.scopes.take(program.scopes) && f.variables.take(program.variables) &&
                    f.placeholders.take(program.placeholders) && f.kernels.take(program.kernels);
  if (!fits) {
    f = Frozen{};
    f.error << "the program is larger than TYPEFLOW_MAX_STEPS = " << Frozen::steps_max
            << " allows; define a larger one before including typeflow";
  }
  return f;
}

template <auto Model, Mode M, class R>
inline constexpr Frozen frozen = freeze<Model, M, R>();

/// The exact size of one of Frozen's tables.
template <int N, class T, int Capacity>
constexpr std::array<T, static_cast<std::size_t>(N)> exact(const FrozenTable<T, Capacity>& table) {
  std::array<T, static_cast<std::size_t>(N)> out{};
  for (int i = 0; i < N; ++i) out[static_cast<std::size_t>(i)] = table.items[i];
  return out;
}

}  // namespace detail

/// A model's program: tables and kernel descriptions as constants.
template <auto Model, Mode M = training, class R = Everything>
class Lowering {
#define TYPEFLOW_TABLE(name)      \
  static constexpr auto name##_ = \
      detail::exact<detail::frozen<Model, M, R>.name.size>(detail::frozen<Model, M, R>.name)
  TYPEFLOW_TABLE(types);
  TYPEFLOW_TABLE(slots);
  TYPEFLOW_TABLE(steps);
  TYPEFLOW_TABLE(operands);
  TYPEFLOW_TABLE(extents);
  TYPEFLOW_TABLE(words);
  TYPEFLOW_TABLE(constants);
  TYPEFLOW_TABLE(names);
  TYPEFLOW_TABLE(scopes);
  TYPEFLOW_TABLE(variables);
  TYPEFLOW_TABLE(placeholders);
#undef TYPEFLOW_TABLE

 public:
  static constexpr int kernel_count = detail::frozen<Model, M, R>.kernels.size;
  /// Nodes of the graph as the model made it, gradients included.
  static constexpr int node_count = detail::frozen<Model, M, R>.nodes;
  /// The model's mistake, if it has one.
  static constexpr const Message& error = detail::frozen<Model, M, R>.error;

  /// The description of kernel I.
  template <int I>
  struct Kernel {
    static constexpr KernelSpec value = detail::frozen<Model, M, R>.kernels.items[I];
  };

 private:
  template <int... I>
  static constexpr auto summaries(std::integer_sequence<int, I...>) {
    return std::array<KernelSummary, sizeof...(I)>{
        summary_of(detail::frozen<Model, M, R>.kernels.items[I])...};
  }
  static constexpr auto kernels_ = summaries(std::make_integer_sequence<int, kernel_count>{});

  template <class T, std::size_t N>
  static constexpr Table<T> table(const std::array<T, N>& array) {
    return {array.data(), static_cast<int>(N)};
  }

 public:
  static constexpr ProgramView view{table(types_),     table(slots_),        table(steps_),
                                    table(operands_),  table(extents_),      table(words_),
                                    table(constants_), table(names_),        table(scopes_),
                                    table(variables_), table(placeholders_), table(kernels_)};
};

}  // namespace typeflow
