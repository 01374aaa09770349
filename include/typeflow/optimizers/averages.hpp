// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is kept from run to run besides an optimiser's slots: moving averages of variables, and sums
// of gradients.

#include <concepts>

#include "typeflow/front/gradients.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Moving averages of variables, as TensorFlow's ExponentialMovingAverage: each update is average
/// := decay * average + (1 - decay) * variable.
///
///   const tf::ExponentialMovingAverage averages{.decay = 0.999};
///   (train + averages.apply(g.trainable())).named("train");
///   auto smooth = averages.average(W);       // a variable, W/ExponentialMovingAverage
///
/// Before the first update an average has the initial values of its variable. That update counts
/// from what the variable is when the run starts: in a store whose variables were set or loaded,
/// averages follow these. With zero_debias they start at zero, and are divided by the sum of the
/// weights that the values so far have (in TensorFlow that is for tensors that are no variables).
/// Averages are not trained, and saved with the model.
struct ExponentialMovingAverage {
  Scalar decay = 0.999;  ///< in [0, 1]; another number is a mistake of the model
  /// If n >= 0, the decay is at most (1 + n) / (10 + n), so that early averages follow fast.
  Scalar num_updates = -1;
  bool zero_debias = false;

  /// The effect of an update of each of these variables' averages, by the variables as they are at
  /// this point of the model's statements.
  constexpr Effect apply(const std::same_as<VariableList> auto& variables) const {
    Graph& g = *variables.graph;
    ir::Graph& graph = g;
    if (variables.size() == 0) return {};
    const Decay kept = present_decay(graph);
    const AnyVariable weight = slot(variables[0], "weight", Type(DType::float64, {}), ones);
    // The weight of what was there at the start.
    const AnyExpr remaining = weight.any() * kept.in(graph, DType::float64);
    Effect effect = assign(weight, remaining);
    for (const AnyVariable v : variables) {
      const AnyVariable average = make(v);
      const AnyExpr keep = kept.in(graph, v.dtype());
      const AnyExpr add = kept.rest_in(graph, v.dtype());
      if (zero_debias) {
        const AnyVariable sum = slot(v, "biased", type_of(v), zeros);
        const AnyExpr next = keep * sum.any() + add * v.read();
        effect += assign(sum, next) + assign(average, next / cast_to(1 - remaining, v.dtype()));
      } else {
        const AnyExpr last = where(equal(weight.any(), 1), v.any(), average.any());
        effect += assign(average, keep * last + add * v.read());
      }
    }
    return effect;
  }

  /// The average of a variable, after apply().
  template <Element T, class S>
  constexpr Variable<T, S> average(const Variable<T, S>& v) const {
    return {v.graph(), average(AnyVariable(v)).id()};
  }
  constexpr AnyVariable average(const AnyVariable& v) const {
    const Scope below(v.graph(), v);
    ir::Graph& graph = v.graph();
    const Id found =
        graph.find_name(graph.path_hash(graph.scope, "ExponentialMovingAverage", true));
    if (found != none) return {v.graph(), graph.names[found].value};
    Message message{};
    graph.fail(message << "average(v): no moving average of '" << v.name().view()
                       << "' has been made; call apply before");
    return v;
  }

 private:
  /// A number, or a double that the run computes.
  struct Decay {
    double number;
    AnyExpr computed{};

    constexpr AnyExpr in(ir::Graph& graph, DType type) const {
      return computed.exists() ? cast_to(computed, type) : setting(graph, Scalar(number), type);
    }
    constexpr AnyExpr rest_in(ir::Graph& graph, DType type) const {
      return computed.exists() ? cast_to(1 - computed, type)
                               : setting(graph, Scalar(1 - number), type);
    }
  };
  constexpr Decay present_decay(std::same_as<ir::Graph> auto& graph) const {
    if (!decay.is_expression() && !(decay.value() >= 0 && decay.value() <= 1)) {
      Message message{};
      graph.fail(message << "ExponentialMovingAverage: decay must be in [0, 1]");
    }
    const double n = num_updates.value();
    const bool limited = num_updates.is_expression() || n >= 0;
    if (!decay.is_expression() && !num_updates.is_expression()) {
      const double limit = (1 + n) / (10 + n);
      return {limited && limit < decay.value() ? limit : decay.value()};
    }
    AnyExpr most = setting(graph, decay, DType::float64);
    if (limited) {
      const AnyExpr count = setting(graph, num_updates, DType::float64);
      most = minimum(most, (1 + count) / (10 + count));
    }
    return {0, most};
  }
  constexpr AnyVariable make(const AnyVariable& v) const {
    const ir::Graph& graph = v.graph();
    const Initializer& its = graph.variable_records[graph.variable_index(v.id())].initializer;
    const Initializer start = zero_debias ? zeros : its.as_of(v.name_record().hash);
    const Scope below(v.graph(), v);
    return variable(v.graph(), "ExponentialMovingAverage", type_of(v), start, false);
  }
  static constexpr AnyVariable slot(const AnyVariable& v, Label name, const Type& type,
                                    const Initializer& start) {
    const Scope below(v.graph(), v);
    const Scope own(v.graph(), "ExponentialMovingAverage");
    return variable(v.graph(), name, type, start, false);
  }
};

/// Gradients added up over several runs, for batches that don't fit one:
///
///   tf::GradientSums sums(gradients(loss));
///   sums.add().named("accumulate");                                  // of each part of the batch
///   (minimize(tf::Adam{}, sums.mean()) + sums.reset()).named("train");  // and then once
///
/// The sums are variables, fc/W/accumulated, not trained, saved with the model. Adding a sparse
/// gradient costs what its rows do.
class GradientSums {
 public:
  constexpr explicit GradientSums(const Gradients& gradients, Label name = "accumulated")
      : gradients_(gradients) {
    for (const auto& [v, dv] : gradients) {
      const Scope below(v.graph(), v);
      sums_.push(variable(v.graph(), name, type_of(v), zeros, false).id());
    }
    const AnyVariable first = gradients[0].variable;
    const Scope below(first.graph(), first);
    const Scope own(first.graph(), name);
    count_ = variable(first.graph(), "count", Type(DType::float64, {}), zeros, false).id();
  }

  /// sum := sum + gradient, of this run.
  constexpr Effect add() const {
    Effect effect = assign_add(count(), 1);
    for (int i = 0; i < gradients_.size(); ++i) {
      const AnyExpr gradient = gradients_[i].gradient;
      const Pool<Slices> slices = slices_of(gradient);
      for (const Slices& s : slices) effect += scatter_add(sum(i), s);
      if (slices.empty()) effect += assign_add(sum(i), gradient);
    }
    return effect;
  }
  /// The sums as they are when a run starts, divided by how many were added. NaN before the first.
  constexpr Gradients mean() const {
    Gradients out = gradients_;
    for (int i = 0; i < gradients_.size(); ++i) {
      const AnyExpr total = sum(i).any();
      out.items[i].gradient = (total / cast_to(count().any(), total.dtype())).id;
    }
    return out;
  }
  /// sum := 0.
  constexpr Effect reset() const {
    Effect effect = assign(count(), 0);
    for (int i = 0; i < gradients_.size(); ++i) effect += assign(sum(i), 0);
    return effect;
  }

 private:
  constexpr AnyVariable sum(int i) const { return {*gradients_.graph, sums_[i]}; }
  constexpr AnyVariable count() const { return {*gradients_.graph, count_}; }

  Gradients gradients_;
  Pool<Id> sums_;
  Id count_ = none;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
