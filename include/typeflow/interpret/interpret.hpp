// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interpreter: runs a graph on the host, with one plain loop for each operation.
//
// It says what a graph means. Passes are tested by interpreting the graph before and after them,
// kernels by comparing their results with its results. So it fuses, orders and reuses nothing, and
// is as slow as it is simple. Elementwise operations compute in the element type; reductions and
// matrix products add up in double and round once.
//
//   tf::Graph g;
//   model(g);
//   tf::Interpreter interpreter(g);
//   interpreter.variables = {{"W", w}, {"b", b}};
//   tf::HostTensor loss = interpreter.run({"loss", "train"}, {{"x", x}, {"y", y}})[0];

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/core/symbol.hpp"
#include "typeflow/graph/model.hpp"
#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/ops/control/region.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Tensors by name: the feeds of a run, and the values of variables by their paths.
using HostTensors = std::map<std::string, HostTensor, std::less<>>;

/// Runs one graph, any number of times. The graph must outlive it and not change.
class Interpreter {
 public:
  /// A graph as traced.
  explicit Interpreter(const ir::Graph& graph);
  /// A graph after passes: its live nodes in an order in which they can be computed, and for every
  /// value of the traced graph the value that replaces it (Simplified::order and ::map).
  Interpreter(const ir::Graph& graph, const Pool<Id>& order, const Pool<Id>& map)
      : graph_(graph), order_(order), map_(map), traced_(false) {}
  explicit Interpreter(ir::Graph&&) = delete;
  virtual ~Interpreter() = default;

  HostTensors variables;  ///< at the start of the next run; runs assign them by their effects
  RandomState random{};   ///< of the next run; each run draws anew

  /// One run. Returns the values of the tensors among the fetches, in their order. Effects among
  /// the fetches are executed; other effects only if a fetch depends on them. Any named tensor but
  /// a variable can be fed, and is then not computed. The feeds give the values of symbols.
  ///
  /// Errors: an unknown name; a feed or variable that is missing or has another element type or
  /// shape; feeds that disagree on a symbol. Variables are then as before the run.
  std::vector<HostTensor> run(const std::vector<std::string>& fetches,
                              const HostTensors& feeds = {});
  /// The same for numbers of values and tokens of the traced graph: loss.id().
  std::vector<HostTensor> run_values(const std::vector<Id>& fetches, const HostTensors& feeds = {});

 protected:
  // For interpreters that run nodes in another way.

  /// Computes the nodes of the graph, or of one of its regions, that a run needs, in their order.
  virtual void run_nodes(const ir::Graph& graph, const Pool<Id>& nodes) {
    for (const Id id : nodes) compute(graph, id);
  }
  HostTensor& value(Id id) { return values_[static_cast<std::size_t>(id)]; }
  bool is_known(Id id) const { return known_[static_cast<std::size_t>(id)]; }
  void set(Id id, HostTensor tensor);
  std::string name_of(const ir::Graph& graph, const ir::Node& node) const;
  /// Computes one node, whose inputs are known.
  void compute(const ir::Graph& graph, Id id);
  /// The results of the branch or loop with this token.
  std::vector<HostTensor>& given(Id token) { return given_[token]; }

 private:
  static std::string quoted(const char* what, const std::string& name);
  static std::string text_of(const HostTensor& tensor);

  const ir::Name& find(const std::string& text, const char* what) const;
  std::string variable_name(Id index) const;

  // The start of a run.

  void feed(const HostTensors& feeds);

  /// Finds the symbols' values from the feeds. A product of symbols gives one of them when the
  /// others are known.
  void find_symbols(const HostTensors& feeds);

  /// Whether a tensor has this type, with the symbols known so far. It may give the value of
  /// others.
  bool fits(const HostTensor& tensor, const Type& type);

  /// Sets the variables' handles to their present values, whatever the run assigns later.
  void start_variables();

  /// The nodes that the fetches need, with the effects on which they depend.
  std::vector<bool> find_needed(const std::vector<Id>& fetches) const;

  // Nodes.

  /// The node's outputs, zero.
  HostTensor zeros(const ir::Graph& graph, const ir::Node& node, Id id) const;
  /// Error if a product of symbols is not known.
  void require_symbols(const std::string& what, int powers) const;

  /// Error: a placeholder or variable that has to be computed was neither fed nor set.
  void require_given(const ir::Graph& graph, const ir::Node& node) const;

  void compute_outputs(const ir::Graph& graph, const ir::Node& node);

  void compute_source(const ir::Graph& graph, const ir::Node& node, HostTensor& out);

  static void compute_index(int axis, HostTensor& out);

  void compute_elementwise(const ir::Graph& graph, const ir::Node& node, HostTensor& out);

  /// The variable as it is now: the value that the run has assigned last, or its initial one.
  void read(const ir::Graph& graph, const ir::Node& node, HostTensor& out);

  void call(const ir::Graph& graph, const ir::Node& node);

  /// Computes an operation without loops of its own by what it expands into, in a copy of the
  /// graph.
  void expand(const ir::Graph& graph, const ir::Node& node);

  // Branches and loops.

  /// Value i of a list of a region.
  static Id listed(const ir::Graph& graph, const ir::Range& list, Id i);
  /// The outer values that a node's regions read, from its inputs. After passes, other values
  /// replace those that were traced.
  void give_captures(const ir::Graph& graph, const ir::Node& node, ir::Range captures);
  /// Computes a region's nodes.
  void run_region(const ir::Graph& graph, Id id);
  /// Constants and positions are no captures, so they may not have been computed yet.
  void make_source(const ir::Graph& graph, Id id);

  /// The number of the region that a branch takes.
  Id taken_of(const ir::Graph& graph, const ir::Node& node);
  void branch(const ir::Graph& graph, const ir::Node& node);

  void loop(const ir::Graph& graph, const ir::Node& node, const ops::Loop& op);
  void give_parameters(const ir::Graph& graph, const ir::Node& node, Id region, const ops::Loop& op,
                       const std::vector<HostTensor>& states, std::int64_t index);
  /// Stacks slices; the shape is that of the result.
  static HostTensor put_together(const std::vector<HostTensor>& slices);
  /// One of the results of a branch or loop. Zeros where a branch left it open, and for iterations
  /// that a loop did not do.
  void pick(const ir::Graph& graph, const ir::Node& node, HostTensor& out);

  const ir::Graph& graph_;
  Pool<Id> order_;
  Pool<Id> map_;
  bool traced_;  ///< not changed by passes

  // Of the run at hand.
  std::vector<HostTensor> values_;
  std::vector<bool> known_;  ///< by value: fed, computed, or a token that has happened
  std::vector<std::pair<Id, const HostTensor*>> fed_;
  std::map<Id, HostTensor> assigned_;            ///< by variable
  std::map<Id, std::vector<HostTensor>> given_;  ///< by token: what a branch or a loop gave
  std::map<Id, std::int64_t> done_;              ///< by token: how many iterations a loop did
  KnownSymbols symbols_;
};

/// Computes every tensor that the model names, in one run.
HostTensors interpret(const ir::Graph& graph, const HostTensors& feeds,
                      const HostTensors& variables = {}, RandomState random = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_TESTING
#include "typeflow/interpret/interpret.ipp"
#include "typeflow/interpret/regions.ipp"
#endif
