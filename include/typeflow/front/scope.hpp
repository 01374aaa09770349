// SPDX-License-Identifier: Apache-2.0
#pragma once

// Name scopes, as TensorFlow's pair: Scope prefixes the names of operations and variables,
// NameScope those of operations (and fresh_variable) only.
//
//   tf::Scope in(g, "block", i);        // block_3/...
//   tf::NameScope in(g, "tower", i);
//   tf::Scope in(g, v);                 // the variable's path, wherever this is: fc/W/...
//
// A scope lasts until the end of the C++ block. Guards are built in place: when the compiler traces
// the model, a guard that a function returns would end with that function.

#include "typeflow/front/initializers.hpp"
#include "typeflow/front/regularizers.hpp"
#include "typeflow/front/variables.hpp"
#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The settings of a Scope. They hold for the variables in it and in scopes inside of it.
struct ScopeOptions {
  Reuse reuse = Reuse::inherit;
  Initializer initializer{};  ///< for variables that name none
  Regularizer regularizer{};  ///< for trainable variables that name none
};

class [[nodiscard]] Scope {
 public:
  constexpr Scope(Graph& graph, Label label, ScopeOptions options = {})
      : graph_(graph), outer_(graph_.scope) {
    graph_.scope =
        graph_.add_scope(label, true, options.reuse, options.initializer, options.regularizer);
  }
  template <std::size_t N>
  constexpr Scope(Graph& graph, const char (&literal)[N], int index, ScopeOptions options = {})
      : Scope(graph, Label(literal, index), options) {}
  /// For things that belong to a variable: names in it are below the variable's path.
  constexpr Scope(Graph& graph, const AnyVariable& variable) : graph_(graph), outer_(graph_.scope) {
    graph_.scope = graph_.add_scope(variable.name_record());
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  constexpr ~Scope() { graph_.scope = outer_; }

 private:
  ir::Graph& graph_;
  Id outer_;
};

class [[nodiscard]] NameScope {
 public:
  constexpr NameScope(Graph& graph, Label label) : graph_(graph), outer_(graph_.scope) {
    graph_.scope = graph_.add_scope(label, false, Reuse::inherit, {});
  }
  template <std::size_t N>
  constexpr NameScope(Graph& graph, const char (&literal)[N], int index)
      : NameScope(graph, Label(literal, index)) {}
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  constexpr ~NameScope() { graph_.scope = outer_; }

 private:
  ir::Graph& graph_;
  Id outer_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
