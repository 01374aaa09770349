// SPDX-License-Identifier: Apache-2.0
#pragma once

// Regularisers: penalties on a variable's size, which are added to the loss. A scope gives the
// default, a variable can have its own. They count once total_loss or regularization_loss adds them
// up (losses/collection.hpp).
//
//   tf::Scope in(g, "net", {.regularizer = tf::l2_regularizer(1e-4)});
//   regularize(w, tf::l1_regularizer(0.01));

#include <source_location>

#include "typeflow/front/variables.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// scale sum(|w|), as TensorFlow's contrib.layers.l1_regularizer.
constexpr Regularizer l1_regularizer(double scale) { return {true, scale, 0}; }

/// scale sum(w^2) / 2, as TensorFlow's contrib.layers.l2_regularizer. (Keras's l2 does not halve.)
constexpr Regularizer l2_regularizer(double scale) { return {true, 0, scale}; }

/// The sum of both, as in elastic nets.
constexpr Regularizer l1_l2_regularizer(double l1, double l2) { return {true, l1, l2}; }

/// No regulariser, for a variable or scope inside of one that has one.
inline constexpr Regularizer no_regularizer{true, 0, 0};

/// Gives a variable a regulariser, instead of its scope's.
constexpr void regularize(const AnyVariable& variable, const Regularizer& regularizer,
                          std::source_location at = std::source_location::current()) {
  ir::Graph& graph = variable.graph();
  graph.source = source_line(at);
  if (!is_floating(variable.dtype())) {
    Message message{};
    graph.fail(message << "regularize(variable '" << variable.name().view()
                       << "', regularizer): the variable must be floating-point, but is "
                       << variable.dtype());
  }
  graph.variable_records[graph.variable_index(variable.id())].regularizer = regularizer;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
