// SPDX-License-Identifier: Apache-2.0
#pragma once

// Moving averages of variables, and sums of gradients over several runs.

#include <concepts>

#include "typeflow/front/gradients.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/scatter.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
/// The element type of averages and sums: float for 16-bit variables.
constexpr Type summed_type(const AnyVariable& v) {
  return {is_half_precision(v.dtype()) ? DType::float32 : v.dtype(), v.dims()};
}
}  // namespace detail

/// Moving averages of variables, as TensorFlow's ExponentialMovingAverage. An update is average :=
/// decay * average + (1 - decay) * variable.
///
///   const tf::ExponentialMovingAverage averages{.decay = 0.999};
///   (train + averages.apply(g.trainable())).named("train");
///   auto smooth = averages.average(W);       // a variable, W/ExponentialMovingAverage
///
/// Before the first update an average has the initial values of its variable. The first update
/// starts from the variable's value at the start of the run, so averages follow variables that were
/// set or loaded.
///
/// With zero_debias averages start at zero, and are divided by the sum of the weights of the values
/// so far; they are 0 while no value has a weight. (TensorFlow has that for tensors, not for
/// variables.)
///
/// Averages are not trained, and are saved with the model. Those of 16-bit variables are float,
/// because 16 bits cannot hold a small step away from 1.
struct ExponentialMovingAverage {
  Scalar decay = 0.999;  ///< in [0, 1]; another number is a mistake of the model
  /// If n >= 0, the decay is at most (1 + n) / (10 + n), so that early averages follow quickly.
  Scalar num_updates = -1;
  bool zero_debias = false;

  /// The effect that updates the averages of these variables. It reads the variables at this point
  /// of the model's statements.
  constexpr Effect apply(const std::same_as<VariableList> auto& variables) const {
    Graph& g = *variables.graph;
    ir::Graph& graph = g;
    if (variables.size() == 0) return {};
    const Decay kept = present_decay(graph);
    const Type number(DType::float64, {});
    Effect effect;
    AnyExpr remaining{};  // with zero_debias: the weight of the zeros at the start
    AnyExpr first{};      // without: whether no update was before
    if (zero_debias) {
      const AnyVariable weight = slot(variables[0], "weight", number, ones());
      remaining = weight.any() * kept.in(graph, DType::float64);
      effect = assign(weight, remaining);
    } else {
      const AnyVariable updates = slot(variables[0], "updates", number, zeros());
      first = equal(updates.any(), 0);
      effect = assign_add(updates, 1);
    }
    for (const AnyVariable v : variables) {
      const AnyVariable average = make(v);
      const DType type = average.dtype();
      const AnyExpr keep = kept.in(graph, type);
      const AnyExpr add = kept.rest_in(graph, type);
      const AnyExpr now = cast_to(v.read(), type);
      if (zero_debias) {
        const AnyVariable sum = slot(v, "biased", type_of(average), zeros());
        const AnyExpr next = keep * sum.any() + add * now;
        const AnyExpr nothing = equal(remaining, 1);
        const AnyExpr seen = cast_to(where(nothing, 1, 1 - remaining), type);
        effect += assign(sum, next) + assign(average, next / seen);
      } else {
        const AnyExpr last = where(first, cast_to(v.any(), type), average.any());
        effect += assign(average, keep * last + add * now);
      }
    }
    return effect;
  }

  /// The average of a variable, after apply(); float for a 16-bit variable.
  template <Element T, class S>
  constexpr Variable<detail::Computed<T>, S> average(const Variable<T, S>& v) const {
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
    const Initializer its = graph.variable_records[graph.variable_index(v.id())].initializer;
    const Initializer start = zero_debias ? zeros() : its.as_of(v.name_record().hash);
    const Scope below(v.graph(), v);
    return variable(v.graph(), "ExponentialMovingAverage", detail::summed_type(v), start, false);
  }
  static constexpr AnyVariable slot(const AnyVariable& v, Label name, const Type& type,
                                    const Initializer& start) {
    const Scope below(v.graph(), v);
    const Scope own(v.graph(), "ExponentialMovingAverage");
    return variable(v.graph(), name, type, start, false);
  }
};

/// Sums of gradients over several runs, for batches that are too large for one run:
///
///   tf::GradientSums sums(gradients(loss));
///   sums.add().named("accumulate");                                  // of each part of the batch
///   (minimize(tf::Adam{}, sums.mean()) + sums.reset()).named("train");  // and then once
///
/// The sums are variables, fc/W/accumulated. They are not trained, and are saved with the model.
/// Those of 16-bit gradients are float. The cost of adding a sparse gradient depends on its rows
/// only.
class GradientSums {
 public:
  constexpr explicit GradientSums(const Gradients& gradients, Label name = "accumulated")
      : gradients_(gradients) {
    for (const auto& [v, dv] : gradients) {
      const Scope below(v.graph(), v);
      sums_.push(variable(v.graph(), name, detail::summed_type(v), zeros(), false).id());
    }
    const AnyVariable first = gradients[0].variable;
    const Scope below(first.graph(), first);
    const Scope own(first.graph(), name);
    count_ = variable(first.graph(), "count", Type(DType::float64, {}), zeros(), false).id();
  }

  /// sum := sum + gradient of this run, and the updates that layers registered. Those belong to the
  /// runs that see the batch, so a step by mean() has none.
  constexpr Effect add() const {
    Effect effect = assign_add(count(), 1) + gradients_.graph->updates();
    for (int i = 0; i < gradients_.size(); ++i) {
      const DType type = sum(i).dtype();
      const AnyExpr gradient =
          map_values(gradients_[i].gradient, [&](const AnyExpr& x) { return cast_to(x, type); });
      const Pool<Slices> slices = slices_of(gradient);
      for (const Slices& s : slices) effect += scatter_add(sum(i), s);
      if (slices.empty()) effect += assign_add(sum(i), gradient);
    }
    return effect;
  }
  /// The sums at the start of a run, divided by the number of gradients added. NaN before the
  /// first.
  constexpr Gradients mean() const {
    Gradients out = gradients_;
    out.updated = true;
    for (int i = 0; i < gradients_.size(); ++i) {
      const AnyExpr total = sum(i).any();
      const AnyExpr mean = total / cast_to(count().any(), total.dtype());
      out.items[i].gradient = cast_to(mean, gradients_[i].variable.dtype()).id;
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

}  // namespace typeflow::inline TYPEFLOW_ISA
