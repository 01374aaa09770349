// SPDX-License-Identifier: Apache-2.0
#pragma once

// Replicas: copies of a model that have copies of its variables. The shared variables have the
// paths that f gives them; a replica's copies are states of the session, below replica_i/.

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "typeflow/front/scope.hpp"
#include "typeflow/parallel/data_parallel.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Makes a copy of a scope's path that lacks the scope `removed`.
constexpr Id scope_without(ir::Graph& graph, Id scope, Id removed) {
  const ir::ScopeRecord record = graph.scopes[scope];
  if (scope == removed || record.parent == none)
    return record.parent == none ? scope : record.parent;
  const Id parent = scope_without(graph, record.parent, removed);
  Label label = "";
  label.text = record.text;
  label.length = record.length;
  label.index = record.index;
  const Id outer = graph.scope;
  graph.scope = parent;
  const Id copy = graph.add_scope(label, record.variables, record.reuse, record.initializer,
                                  record.regularizer);
  graph.scope = outer;
  return copy;
}

/// Replicas, each of `Each` towers that divide its rows. (Flat lists: g++ 12 can't return arrays of
/// lists from a function that the compiler evaluates.)
template <int Count, int Each, Element T>
struct Replicas {
  Graph* graph = nullptr;
  std::array<Towers<Each, T>, Count> towers{};
  Pool<Id> copies;       ///< of replica 0, of replica 1...: numbers in variable_records
  Pool<Id> shared;       ///< the shared variables, in the order of the copies
  Pool<char> trainable;  ///< whether they are

  constexpr explicit Replicas(Graph& g) : graph(&g) {}

  constexpr AnyVariable variable(Id index) const {
    const ir::Graph& records = *graph;
    return {*graph, records.variable_records[index].value};
  }
  constexpr AnyVariable shared_variable(int k) const { return variable(shared[k]); }
  constexpr AnyVariable copy(int replica, int k) const {
    return variable(copies[replica * shared.size() + k]);
  }
  /// A replica's gradients of its loss, for its copies.
  constexpr Gradients gradients_of_copies(int replica) const {
    VariableList list{graph, {}};
    for (int k = 0; k < shared.size(); ++k) {
      if (trainable[k] != 0) list.variables.push(copies[replica * shared.size() + k]);
    }
    return towers[static_cast<std::size_t>(replica)].gradients(list);
  }
  /// The same for the shared variables.
  constexpr Gradients gradients(int replica) const {
    Gradients mean = gradients_of_copies(replica);
    for (GradientRecord& item : mean.items) {
      int k = 0;
      while (copies[replica * shared.size() + k] != item.variable) ++k;
      item.variable = shared[k];
    }
    return mean;
  }
  /// Copies := shared variables, as they are at this point.
  constexpr Effect pull(int replica) const {
    Effect all;
    for (int k = 0; k < shared.size(); ++k) {
      all += assign(copy(replica, k), shared_variable(k).read());
    }
    return all;
  }
};

/// Whether the copies from `first` on have the types of the first replica's.
template <class R>
constexpr bool are_alike(const R& replicas, int first) {
  bool alike = replicas.copies.size() - first == replicas.trainable.size();
  for (int k = 0; k < replicas.trainable.size() && alike; ++k) {
    alike = type_of(replicas.variable(replicas.copies[first + k])) ==
            type_of(replicas.variable(replicas.copies[k]));
  }
  return alike;
}

/// Makes the shared variable of a copy, which begins with its initial value.
constexpr Id make_shared_variable(Graph& g, Id copy, Id scope, bool trainable,
                                  const Regularizer& regularizer, const char* call) {
  ir::Graph& graph = g;
  const ir::VariableRecord record = graph.variable_records[copy];
  const ir::Name name = graph.names[record.name];
  if (!name.variable_path) {
    Message message{};
    message << call << ": '";
    graph.print_name(message, name);
    graph.fail(message << "' is a fresh_variable; expected variables with names of their own");
    return copy;
  }
  const Id outer = graph.scope;
  graph.scope = scope_without(graph, name.scope, scope);
  const Type type = graph.type_of(record.value);
  const AnyVariable shared =
      typeflow::variable(g, Label(name), type, record.initializer, trainable);
  graph.scope = outer;
  const Id index = graph.variable_index(shared.id());
  graph.variable_records[index].regularizer = regularizer;
  return index;
}

/// Calls make(i), which returns Towers, for each replica, in a scope of its own, pinned to its
/// first device. Then makes the shared variables. The towers of replica 0 have the options' first
/// devices, those of replica 1 the next ones...
template <int Count, int Each, class Make>
constexpr auto make_replicas(Graph& g, const char* call, const TowerOptions& options,
                             bool with_updates, const Make& make) {
  ir::Graph& graph = g;
  using AllTowers = decltype(make(std::integral_constant<int, 0>{}));
  using T = typename decltype(AllTowers{}.losses)::value_type::element;
  Replicas<Count, Each, T> replicas(g);
  Pool<Regularizer> regularizers;
  const int updates = graph.update_tokens.size();
  Id first_scope = none;
  bool alike = true;
  const auto add = [&]<int I>(std::integral_constant<int, I> number) {
    const Scope in(g, options.label(I));
    if (I == 0) first_scope = graph.scope;
    const Id first = graph.variable_records.size();
    const int first_copy = replicas.copies.size();
    replicas.towers[I] = on(g, options.device(I * Each), [&] { return make(number); });
    for (Id i = first; i < graph.variable_records.size(); ++i) {
      ir::VariableRecord& record = graph.variable_records[i];
      if (record.is_resource() || record.state) continue;
      replicas.copies.push(i);
      if (I == 0) {
        replicas.trainable.push(record.trainable ? char{1} : char{0});
        regularizers.push(record.regularizer);
      }
      record.trainable = false;  // later lists and penalties have the shared variables alone
      record.regularizer = {};
    }
    alike = alike && are_alike(replicas, first_copy);
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (add(std::integral_constant<int, I>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
  Message message{};
  if (!alike) {
    graph.fail(message << call
                       << ": f declared other variables in a later call than in the first; "
                          "expected the same");
    return replicas;
  }
  if (!with_updates && graph.update_tokens.size() > updates) {
    graph.fail(message << call
                       << ": a layer registers updates of its own, as batch norm does; "
                          "expected variables that only the optimiser changes");
  }
  const int count = replicas.trainable.size();
  for (int k = 0; k < count; ++k) {
    replicas.shared.push(make_shared_variable(g, replicas.copies[k], first_scope,
                                              replicas.trainable[k] != 0, regularizers[k], call));
  }
  for (int i = 0; i < replicas.copies.size(); ++i) {
    const ir::VariableRecord shared = graph.variable_records[replicas.shared[i % count]];
    ir::VariableRecord& record = graph.variable_records[replicas.copies[i]];
    record.initializer = Initializer(shared.initializer).as_of(graph.names[shared.name].hash);
    record.state = true;
  }
  return replicas;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
