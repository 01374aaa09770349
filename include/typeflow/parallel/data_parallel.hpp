// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data parallelism: towers, copies of one model on several devices that share its variables. Each
// works on its part of the batch.
//
//   auto towers = tf::data_parallel<4>(g, [&](auto x, auto y) {
//     return mean(softmax_cross_entropy(net(x), y));
//   }, images, labels);
//   towers.loss().named("loss");
//   minimize(tf::Adam{}, towers.gradients()).named("train");

#include <array>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>

#include "typeflow/front/gradients.hpp"
#include "typeflow/front/placement.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/optimizers/optimizer.hpp"
#include "typeflow/parallel/batch_parts.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// scale * gradient; a sparse gradient stays sparse.
constexpr AnyExpr scaled(const AnyExpr& gradient, double scale) {
  return map_values(
      gradient, [&](const AnyExpr& x) { return setting(*x.graph, Scalar(scale), x.dtype()) * x; });
}

/// The gradients of towers, in one list. (Of an array of lists, nvcc 13 destroys the first alone.)
struct TowerGradients {
  Pool<GradientRecord> items;  // of tower 0, of tower 1...
  Pool<int> ends;              // by tower

  constexpr void push(const Gradients& of_tower) {
    for (const GradientRecord item : of_tower.items) items.push(item);
    ends.push(items.size());
  }
  constexpr int begin(int tower) const { return tower == 0 ? 0 : ends[tower - 1]; }
  /// The gradient for a variable; none if the tower has none.
  constexpr Id of(int tower, Id variable) const {
    for (int i = begin(tower); i < ends[tower]; ++i) {
      if (items[i].variable == variable) return items[i].gradient;
    }
    return none;
  }
  /// Whether a tower before has a gradient for a variable.
  constexpr bool is_known(int tower, Id variable) const {
    for (int i = 0; i < begin(tower); ++i) {
      if (items[i].variable == variable) return true;
    }
    return false;
  }
};

struct SameGradient {};

/// The mean of the towers' gradients, weighted by their shares, which add up to 1. It is computed
/// on the variables' devices, from wire(gradient).
template <class Wire>
constexpr Gradients mean_of_gradients(Graph& g, const TowerGradients& towers, const double* shares,
                                      const Wire& wire) {
  ir::Graph& graph = g;
  const int count = towers.ends.size();
  Gradients mean{&g, {}};
  bool equal = true;
  for (int i = 1; i < count; ++i) equal = equal && shares[i] == shares[0];
  const NameScope in(g, "average");
  for (int t = 0; t < count; ++t) {
    for (int i = towers.begin(t); i < towers.ends[t]; ++i) {
      const GradientRecord item = towers.items[i];
      if (towers.is_known(t, item.variable)) continue;
      const AnyVariable variable(g, graph.variable_records[item.variable].value);
      const Device home = graph.node_of(variable.id()).device;
      const AnyExpr average = on(g, home, [&] {
        AnyExpr sum{};
        for (int k = t; k < count; ++k) {
          const Id gradient = towers.of(k, item.variable);
          if (gradient == none) continue;
          AnyExpr part{&graph, gradient};
          if constexpr (!std::is_same_v<Wire, SameGradient>) {
            const Device reads =
                home.kind != DeviceKind::any ? home : ir::future_device(graph, variable.id());
            part = on(g, reads, [&] { return map_values(part, wire); });
          }
          if (!equal) part = scaled(part, shares[k]);
          sum = sum.exists() ? sum + part : part;
        }
        return equal && count > 1 ? scaled(sum, shares[0]) : sum;
      });
      mean.items.push(GradientRecord{item.variable, average.id});
    }
  }
  return mean;
}

}  // namespace detail

/// The towers of a data-parallel model.
template <int N, Element T = float>
struct Towers {
  std::array<Expr<T>, N> losses;  ///< each on its tower's device
  std::array<double, N> shares;   ///< of the batch; they add up to 1

  constexpr Graph& graph() const { return losses[0].graph(); }

  /// The loss of the batch: the mean of the losses, weighted by the towers' shares of the batch.
  constexpr Expr<T> loss() const {
    Graph& g = graph();
    const NameScope in(g, "average");
    bool equal = true;
    for (const double share : shares) equal = equal && share == shares[0];
    Expr<T> sum = equal ? losses[0] : losses[0] * shares[0];
    for (std::size_t i = 1; i < N; ++i) sum = sum + (equal ? losses[i] : losses[i] * shares[i]);
    return equal && N > 1 ? sum * shares[0] : sum;
  }

  /// The mean of the towers' gradients for the trainable variables on which the losses depend:
  /// minimize(optimizer, towers.gradients()). Each tower computes its gradients on its device. The
  /// mean and the optimiser's step are on the variables' devices. It waits for all towers.
  constexpr Gradients gradients() const { return gradients(graph().trainable()); }
  /// The same for a list of variables.
  constexpr Gradients gradients(const VariableList& variables) const {
    return gradients_of(variables, detail::SameGradient{});
  }
  /// The same, where the mean is taken of wire(gradient) for each tower's gradient, an AnyExpr.
  /// wire is called on the variable's device: [](auto dv) { return tf::compressed(dv); }.
  template <class Wire>
  constexpr Gradients gradients(const VariableList& variables, const Wire& wire) const {
    return gradients_of(variables, wire);
  }

  /// The gradients of one tower's loss.
  constexpr Gradients gradients_of_tower(int i, const VariableList& variables) const {
    const Expr<T>& loss = losses[static_cast<std::size_t>(i)];
    return detail::gradients_of_list("Towers::gradients()", ys(loss), grad_ys(), variables, false);
  }

 private:
  template <class Wire>
  constexpr Gradients gradients_of(const VariableList& variables, const Wire& wire) const {
    detail::TowerGradients towers;
    for (int i = 0; i < N; ++i) towers.push(gradients_of_tower(i, variables));
    return detail::mean_of_gradients(graph(), towers, shares.data(), wire);
  }
};

/// Where towers are.
struct TowerOptions {
  int first_device = 0;               ///< tower i is on cpu(first_device + i)
  Label name = "tower";               ///< of the towers' name scopes: tower_0/, tower_1/...
  DeviceKind kind = DeviceKind::cpu;  ///< DeviceKind::gpu: tower i is on gpu(first_device + i)

  constexpr Device device(int i) const { return {kind, first_device + i}; }
  constexpr Label label(int i) const {
    Label own = name;
    own.index = i;
    return own;
  }
};

namespace detail {

/// A name scope in which variables exist already (Reuse::reuse), or as outside.
class TowerScope {
 public:
  constexpr TowerScope(Graph& g, const Label& label, Reuse reuse)
      : graph_(g), outer_(graph_.scope) {
    graph_.scope = graph_.add_scope(label, false, reuse, {});
  }
  TowerScope(const TowerScope&) = delete;
  TowerScope& operator=(const TowerScope&) = delete;
  constexpr ~TowerScope() { graph_.scope = outer_; }

 private:
  ir::Graph& graph_;
  Id outer_;
};

/// Records the mistake that a later tower made a variable.
constexpr void check_shared(ir::Graph& graph, Id known, const char* call, int tower) {
  if (graph.variable_records.size() == known) return;
  Message message{};
  message << call << ": tower " << tower << " made the variable '";
  graph.print_name(message, graph.names[graph.variable_records[known].name]);
  graph.fail(message << "'; expected only variables of tower 0, declared by tf::variable or a "
                        "layer, not by fresh_variable");
}

/// Calls f once for each tower.
template <int N, class F, class... X>
constexpr auto make_towers(Graph& g, const char* call, const TowerOptions& options, const F& f,
                           const X&... x) {
  ir::Graph& graph = g;
  const Id first = graph.variable_records.size();
  const Device home = graph.device;
  Id known = none;
  const auto tower = [&]<int I>(std::integral_constant<int, I>) {
    const auto loss = on(g, options.device(I), [&] {
      const TowerScope in(g, options.label(I), I == 0 ? Reuse::inherit : Reuse::reuse);
      return f(part_of_batch<N, I>(x)...);
    });
    if (I == 0) {
      known = graph.variable_records.size();
      for (Id i = first; i < known; ++i) {
        const ir::VariableRecord& record = graph.variable_records[i];
        if (record.is_resource()) continue;
        Device& device = graph.nodes[graph.values[record.value].node].device;
        device = graph.variable_turn.device_for_variable(home);
      }
    }
    check_shared(graph, known, call, I);
    return loss;
  };
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    using Loss = decltype(f(part_of_batch<N, 0>(x)...));
    static_assert(TypedExpr<Loss> && Loss::rank == 0,
                  "data_parallel<N>(g, f, x...): f must return a scalar loss; take mean(loss)");
    Towers<N, typename Loss::element> towers{};
    ((towers.losses[I] = tower(std::integral_constant<int, I>{})), ...);
    towers.shares = shares_of<N, X...>();
    return towers;
  }(std::make_integer_sequence<int, N>{});
}

}  // namespace detail

/// Makes N towers: calls f(part of x...) once for each, pinned to a device of its own and in a name
/// scope of its own, tower_i. f returns the loss of its part, a scalar that is a mean over the
/// rows.
///
/// The first tower makes the variables, and the others share them. They are where the caller is
/// pinned, on /cpu:0 by default (see VariablesInTurn), and so are their updates.
///
/// Inputs are divided along axis 0; scalars go to every tower whole. A fixed number of rows may be
/// divided unevenly: the means are then weighted by the rows. An axis of k*batch needs a k that N
/// divides: placeholder<float, 4 * tf::batch, 784>(g, "x") for four towers.
template <int N, class F, TypedExpr... X>
constexpr auto data_parallel(Graph& g, const TowerOptions& options, const F& f, const X&... x) {
  static_assert(N > 0, "data_parallel<N>(g, f, x...): N must be 1 or more");
  static_assert(detail::have_same_rows<X...>,
                "data_parallel<N>(g, f, x...): the inputs that are no scalars must have the same "
                "number of rows");
  constexpr bool divisible = detail::is_divisible<(N > 0 ? N : 1)>(detail::common_rows<X...>());
  static_assert(divisible,
                "data_parallel<N>(g, f, x...): each tower needs rows: N or more of a fixed number, "
                "or k*batch with a k that N divides, as placeholder<float, N * tf::batch, ...>");
  if constexpr (N > 0 && detail::have_same_rows<X...> && divisible) {
    return detail::make_towers<N>(g, "data_parallel<N>(g, f, x...)", options, f, x...);
  }
}
template <int N, class F, TypedExpr... X>
constexpr auto data_parallel(Graph& g, const F& f, const X&... x) {
  return data_parallel<N>(g, TowerOptions{}, f, x...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
