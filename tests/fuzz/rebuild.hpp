// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the models that the fuzzer writes are made of: graphs node by node, as C++.

#include <initializer_list>

#include "support/graph_operations.hpp"
#include "typeflow/candidate_sampling.hpp"
#include "typeflow/images.hpp"
#include "typeflow/linalg.hpp"
#include "typeflow/random.hpp"
#include "typeflow/sequences.hpp"
#include "typeflow/sparse.hpp"

namespace fuzz {

namespace tf = typeflow;

/// Adds nodes to a graph in the order of its calls, without any check.
class Rebuilder {
 public:
  constexpr explicit Rebuilder(tf::ir::Graph& graph) : g_(graph) {}

  /// Where the next nodes go.
  constexpr void device(const tf::Device& device) { g_.device = device; }
  constexpr tf::Id placeholder(int number, const tf::Type& type) {
    const tf::Id x = tf::add_node(g_, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, type).id;
    g_.add_name({"x", number}, tf::ir::NameKind::placeholder, x);
    return x;
  }
  constexpr tf::Id variable(int number, const tf::Type& type) {
    return tf::detail::get_variable(g_, {"v", number}, type, tf::zeros(), true, false);
  }
  /// A node of an operation with these inputs, attributes, outputs and control inputs; its first
  /// output.
  template <class O>
  constexpr tf::Id node(std::initializer_list<tf::Id> inputs,
                        std::initializer_list<std::uint32_t> words,
                        std::initializer_list<tf::Type> types,
                        std::initializer_list<tf::Id> controls = {}) {
    const tf::ir::Op& op = tf::record<O>;  // first: for clang it may lead to this again
    (void)sizeof(tf::detail::BindOp<O>);
    const bool token = types.size() == 0;
    const tf::Id id = g_.add_node(op, inputs.begin(), static_cast<int>(inputs.size()),
                                  token ? 1 : static_cast<int>(types.size()), words.begin(),
                                  static_cast<int>(words.size()));
    const tf::Id first = g_.values.size();
    if (token) g_.values.push(tf::ir::Value{id, 0, tf::none, tf::none});
    tf::Id output = 0;
    for (const tf::Type& type : types) {
      g_.values.push(tf::ir::Value{id, output++, g_.intern(type), tf::none});
    }
    if (controls.size() > 0) {
      g_.nodes[id].controls = g_.append(controls.begin(), static_cast<int>(controls.size()));
    }
    return first;
  }
  constexpr void tensor(int number, tf::Id value) {
    g_.add_name({"t", number}, tf::ir::NameKind::value, value);
  }
  constexpr void effect(int number, tf::Id token) {
    g_.add_name({"e", number}, tf::ir::NameKind::effect, token);
  }

 private:
  tf::ir::Graph& g_;
};

}  // namespace fuzz
