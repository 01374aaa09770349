// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists of tensors and effects under keys of the user, filtered by name scope. A part of the
// library that typeflow.hpp does not include.
//
//   tf::Collections collections(g);
//   auto net = tf::data_parallel<2>(g, [&](auto x, auto y) {
//     auto logits = dense<3>(g, "out", x);
//     collections.add("predict", logits);
//     return collections.add("losses", mean(softmax_cross_entropy(logits, y)));
//   }, x, y);
//   for (tf::AnyExpr loss : collections.get("losses", "tower_1")) ...
//
// TensorFlow's tf.add_to_collection and tf.get_collection, but not of the graph: a model passes the
// object to its functions, so models without collections compile nothing of it.

#include <concepts>
#include <cstddef>
#include <string_view>

#include "typeflow/front/expr.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/model.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The tensors of one key, in the order in which they were added.
struct CollectedTensors {
  Graph* graph = nullptr;
  Pool<Id> values;

  constexpr int size() const { return values.size(); }
  constexpr bool empty() const { return values.empty(); }
  constexpr AnyExpr operator[](int i) const { return {&ir::records(*graph), values[i]}; }
  constexpr ListPlace<CollectedTensors> begin() const { return {this, 0}; }
  constexpr ListPlace<CollectedTensors> end() const { return {this, size()}; }
};

/// Collections of a model's tensors and effects. It belongs to one graph, and must not outlive it.
///
/// A scope "tower_1" selects what was added in the name scope tower_1 or below it: tower_1/hidden,
/// but not tower_10. TensorFlow takes a regular expression that matches the name's beginning.
///
/// The tensors under "losses" are the model's losses, too: add("losses", x) is g.add_loss(x), and
/// get("losses") has the losses that g.add_loss added.
class Collections {
 public:
  constexpr explicit Collections(Graph& graph) : graph_(graph) {}
  Collections(const Collections&) = delete;
  Collections& operator=(const Collections&) = delete;

  /// Adds a tensor to the collection of a key, for the current name scope, and returns it.
  template <TypedExpr E>
  constexpr E add(Label key, const E& tensor) {
    if (is_losses(key)) {
      if constexpr (E::rank == 0) {
        graph_.add_loss(tensor);
      } else {
        Message message{};
        message << "collections.add(\"losses\", x): expected a scalar tensor, got one of rank "
                << E::rank << "; take mean(x)";
        records().fail(message);
      }
    } else {
      push(key, tensor.id(), false);
    }
    return tensor;
  }
  /// Adds an effect, such as a training step, and returns it.
  template <class E>
    requires std::derived_from<E, Effect>
  constexpr E add(Label key, const E& effect) {
    if (!effect.empty()) push(key, effect.token(), true);
    return effect;
  }

  /// The tensors that were added under a key, in a scope or below it; all of them without a scope.
  /// Empty if there are none.
  constexpr CollectedTensors get(Label key, std::string_view scope = {}) {
    CollectedTensors out{&graph_, {}};
    if (is_losses(key)) out.values = graph_.losses(scope).values;
    for (const Id value : select(key, scope, false)) out.values.push(value);
    return out;
  }
  /// The effects that were added under a key, as one; empty if there are none.
  constexpr Effect effects(Label key, std::string_view scope = {}) {
    const Pool<Id> tokens = select(key, scope, true);
    return tokens.empty() ? Effect() : detail::group_node(graph_, tokens.data(), tokens.size());
  }

 private:
  struct Entry {
    const char* text;  // of the key, with its length and index
    int length;
    int index;
    Id scope;
    Id value;  // of an effect: the token
    bool is_effect;
  };

  static constexpr std::string_view text_of(const Label& key) {
    return {key.text, static_cast<std::size_t>(key.length)};
  }
  static constexpr bool is_losses(const Label& key) {
    return text_of(key) == "losses" && key.index == none;
  }
  constexpr ir::Graph& records() { return graph_; }
  constexpr void push(const Label& key, Id value, bool is_effect) {
    entries_.push({key.text, key.length, key.index, records().scope, value, is_effect});
  }

  constexpr Pool<Id> select(const Label& key, std::string_view scope, bool effects) {
    Pool<Id> out;
    for (const Entry& entry : entries_) {
      const std::string_view own(entry.text, static_cast<std::size_t>(entry.length));
      if (entry.is_effect != effects || entry.index != key.index || own != text_of(key)) continue;
      Message path{};
      records().print_scope(path, entry.scope, false);  // "tower_1/"
      const std::string_view text = path.view();
      const bool is_inside = text.starts_with(scope) && text.substr(scope.size()).starts_with('/');
      if (scope.empty() || is_inside) out.push(entry.value);
    }
    return out;
  }

  Graph& graph_;
  Pool<Entry> entries_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
