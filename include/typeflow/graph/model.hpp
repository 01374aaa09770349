// SPDX-License-Identifier: Apache-2.0
#pragma once

// The graph as a model sees it. ir::Graph (graph/graph.hpp) has the records and adds nodes. A Graph
// converts to it, so the library's functions take either. An operation's author gets the records by
// ir::Graph& graph = x.graph().

#include <string_view>
#include <utility>

#include "typeflow/core/pool.hpp"
#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class Graph;

class AnyVariable;
class Effect;
struct AnyExpr;

/// An iterator over a list: list[0], list[1]...
template <class List>
struct ListPlace {
  const List* list;
  int i;
  constexpr auto operator*() const { return (*list)[i]; }
  constexpr ListPlace& operator++() {
    ++i;
    return *this;
  }
  constexpr bool operator!=(const ListPlace& other) const { return i != other.i; }
};

/// Some of a graph's variables, in the order in which the model made them.
struct VariableList {
  Graph* graph = nullptr;
  Pool<Id> variables;       ///< in ir::Graph::variable_records
  std::string_view path{};  ///< below which they lie, as the list was asked for

  constexpr int size() const { return variables.size(); }
  constexpr AnyVariable operator[](int i) const;  // front/variables.hpp
  constexpr ListPlace<VariableList> begin() const { return {this, 0}; }
  constexpr ListPlace<VariableList> end() const { return {this, size()}; }
};

/// Some of the losses that a model added: scalars, in the order in which it added them.
struct LossList {
  Graph* graph = nullptr;
  Pool<Id> values;

  constexpr int size() const { return values.size(); }
  constexpr AnyExpr operator[](int i) const;  // front/expr.hpp
  constexpr ListPlace<LossList> begin() const { return {this, 0}; }
  constexpr ListPlace<LossList> end() const { return {this, size()}; }
};

/// The graph that a model function adds to: void model(tf::Graph& g).
class Graph {
 public:
  constexpr explicit Graph(Mode mode = typeflow::training) : records_(mode) {}

  /// Whether dropout drops and layers register their training updates.
  constexpr bool training() const { return records_.training(); }
  constexpr Mode mode() const { return records_.mode(); }

  /// The trainable variables whose path is `path` or lies below it; all of them without a path.
  constexpr VariableList trainable(std::string_view path = {}) { return select(path, true); }
  /// The same for all variables, except states.
  constexpr VariableList variables(std::string_view path = {}) { return select(path, false); }

  /// Registers an update that a layer makes in each training step, beside the optimiser's. The
  /// optimisers' effects, `minimize` and `apply`, include the updates that were registered before
  /// them.
  constexpr void add_update(const Effect& update);  // front/expr.hpp
  /// All updates that are registered so far, as one effect; empty if there are none. For training
  /// steps that no optimiser of the library makes.
  constexpr Effect updates();  // ops/state/assign.hpp

  /// Adds a scalar to the model's losses, and returns it: g.add_loss(mean(x)).named("loss"). It
  /// belongs to the current name scope.
  template <class L>
  constexpr L add_loss(const L& loss);  // front/expr.hpp
  /// The losses that were added in the name scope `path` or below it; all of them without a path.
  constexpr LossList losses(std::string_view path = {}) {
    LossList list{this, {}};
    for (const ir::LossRecord& loss : records_.losses) {
      Message scope{};
      records_.print_scope(scope, loss.scope, false);  // "tower_1/"
      const std::string_view text = scope.view();
      const bool inside = text.starts_with(path) && text.substr(path.size()).starts_with('/');
      if (path.empty() || inside) list.values.push(loss.value);
    }
    return list;
  }

  /// The records, for the library and for operations that add nodes themselves.
  constexpr operator ir::Graph&() & { return records_; }               // NOLINT
  constexpr operator const ir::Graph&() const& { return records_; }    // NOLINT
  constexpr operator ir::Graph&&() && { return std::move(records_); }  // NOLINT

 private:
  constexpr VariableList select(std::string_view path, bool trainable_only) {
    VariableList list{this, {}, path};
    for (Id i = 0; i < records_.variable_records.size(); ++i) {
      const ir::VariableRecord& record = records_.variable_records[i];
      if (record.state || (trainable_only && !record.trainable) || record.is_resource()) continue;
      if (records_.is_within(records_.names[record.name], path)) list.variables.push(i);
    }
    return list;
  }

  ir::Graph records_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// The records of a model's graph.
constexpr Graph& records(typeflow::Graph& graph) { return graph; }
constexpr const Graph& records(const typeflow::Graph& graph) { return graph; }

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
