// SPDX-License-Identifier: Apache-2.0
#pragma once

// The third way to combine towers: each trains a copy of the variables, and the copies are averaged
// from time to time.
//
//   auto copies = tf::averaged_copies<2>(g, f, x, y);
//   auto step = copies.step(tf::GradientDescent{.rate = 0.1});   // each device, by itself
//   copies.average(step).named("train");                         // then the mean of all

#include <array>
#include <cstddef>
#include <type_traits>

#include "typeflow/parallel/replicas.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// N copies of a model with their own variables.
template <int N, Element T = float>
class AveragedCopies {
 public:
  constexpr explicit AveragedCopies(const detail::Replicas<N, 1, T>& replicas,
                                    const std::array<double, N>& shares)
      : replicas_(replicas), shares_(shares) {}

  /// The loss of one copy, on its device.
  constexpr Expr<T> loss(int i) const {
    return replicas_.towers[static_cast<std::size_t>(i)].losses[0];
  }
  /// The mean of the losses, weighted by the copies' shares of the batch.
  constexpr Expr<T> loss() const {
    Towers<N, T> all{{}, shares_};
    for (std::size_t i = 0; i < N; ++i) all.losses[i] = replicas_.towers[i].losses[0];
    return all.loss();
  }

  /// Each device changes its copies by the gradients of its own loss. Slots are the device's own.
  template <class Optimizer>
  constexpr Effect step(const Optimizer& optimizer) const {
    Effect all;
    for (int i = 0; i < N; ++i) {
      all += minimize(optimizer, replicas_.gradients_of_copies(i));
    }
    return all;
  }
  /// After `step`: shared variables := the mean of the copies, weighted by their shares of the
  /// batch, and copies := shared variables. Variables of integers take the first copy's value.
  constexpr Effect average(const Effect& step = {}) const {
    Graph& g = *replicas_.graph;
    ir::Graph& graph = g;
    Effect all = step;
    for (int k = 0; k < replicas_.shared.size(); ++k) {
      const AnyVariable shared = replicas_.shared_variable(k);
      const Device home = graph.node_of(shared.id()).device;
      AnyExpr mean{};
      const bool averages = is_floating(shared.dtype());
      for (int i = 0; i < (averages ? N : 1); ++i) {
        AnyExpr part = replicas_.copy(i, k).read();
        on(g, home, [&] {
          if (averages) part = detail::scaled(part, shares_[static_cast<std::size_t>(i)]);
          mean = mean.exists() ? mean + part : part;
        });
      }
      all += assign(shared, mean);
    }
    for (int i = 0; i < N; ++i) all += replicas_.pull(i);
    return all;
  }
  /// Copies := shared variables: after the store has loaded them from a file, for example.
  constexpr Effect pull() const {
    Effect all;
    for (int i = 0; i < N; ++i) all += replicas_.pull(i);
    return all;
  }

 private:
  detail::Replicas<N, 1, T> replicas_;
  std::array<double, N> shares_;
};

/// N copies of a model on N devices, with their own variables, on N parts of the batch (see
/// data_parallel). The copies are states of the session, below tower_i/. The shared variables have
/// the paths that f gives them. All begin with the same values.
template <int N, class F, TypedExpr... X>
constexpr auto averaged_copies(Graph& g, const TowerOptions& options, const F& f, const X&... x) {
  static_assert(N > 0, "averaged_copies<N>(g, f, x...): N must be 1 or more");
  static_assert(detail::have_same_rows<X...>,
                "averaged_copies<N>(g, f, x...): the inputs that are no scalars must have the same "
                "number of rows");
  constexpr bool divisible = detail::is_divisible<(N > 0 ? N : 1)>(detail::common_rows<X...>());
  static_assert(
      divisible,
      "averaged_copies<N>(g, f, x...): each copy needs rows: N or more of a fixed number, "
      "or k*batch with a k that N divides, as placeholder<float, N * tf::batch, ...>");
  if constexpr (N > 0 && detail::have_same_rows<X...> && divisible) {
    using T = typename decltype(f(detail::part_of_batch<N, 0>(x)...))::element;
    const auto make = [&]<int I>(std::integral_constant<int, I>) {
      return Towers<1, T>{{f(detail::part_of_batch<N, I>(x)...)}, {1.0}};
    };
    return AveragedCopies<N, T>(
        detail::make_replicas<N, 1>(g, "averaged_copies<N>(g, f, x...)", options, true, make),
        detail::shares_of<N, X...>());
  }
}
template <int N, class F, TypedExpr... X>
constexpr auto averaged_copies(Graph& g, const F& f, const X&... x) {
  return averaged_copies<N>(g, TowerOptions{}, f, x...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
