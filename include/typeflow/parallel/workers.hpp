// SPDX-License-Identifier: Apache-2.0
#pragma once

// Asynchronous training: workers with copies of the variables. Each computes gradients from its
// copies, changes the shared variables when it is ready, and takes their latest values.
//
//   auto workers = tf::asynchronous<4>(g, f, x, y);
//   workers.train(tf::GradientDescent{.rate = 0.1});    // effects "worker_0/train", ...
//   ...
//   std::jthread([&] { session.run<"worker_0/train">(tf::feed<"x">(...), tf::feed<"y">(...)); });

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/parallel/replicas.hpp"
#include "typeflow/resources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Where workers are.
struct WorkerOptions {
  int first_device = 0;               ///< worker 0 has the devices from cpu(first_device) on
  DeviceKind kind = DeviceKind::cpu;  ///< DeviceKind::gpu: from gpu(first_device) on
};

/// Workers of asynchronous training. Runs of different workers may be made at the same time, of one
/// worker one after the other.
template <int Count, int Each, Element T = float>
class Workers {
 public:
  constexpr explicit Workers(const detail::Replicas<Count, Each, T>& replicas)
      : replicas_(replicas) {}

  /// A worker's loss: of its rows, by its copies of the variables.
  constexpr Expr<T> loss(int worker) const {
    return replicas_.towers[static_cast<std::size_t>(worker)].loss();
  }

  /// Adds the training of all workers, under these names:
  ///
  ///   worker_i/train       an effect: computes gradients from the worker's copies; then, while it
  ///                        holds a mutex, makes the optimiser's step on the shared variables and
  ///                        copies them
  ///   worker_i/loss        its loss
  ///   worker_i/staleness   updates by others since the worker copied the variables; fetching it
  ///                        trains
  ///   worker_i/pull        an effect: copies the shared variables. For the first run of a session
  ///                        on a store that was trained or loaded
  ///   workers/updates      the number of updates by this store's sessions; a tensor
  ///
  /// The mutex keeps steps apart, so a tensor is never half old and half new. All workers' steps
  /// have the same slots.
  template <class Optimizer>
  constexpr void train(const Optimizer& optimizer) const {
    Graph& g = *replicas_.graph;
    // (clang 19 can't evaluate structured bindings that a lambda captures.)
    const Shared shared = shared_resources();
    for (int i = 0; i < Count; ++i) {
      Gradients gradients = replicas_.gradients(i);
      gradients.updated = true;  // no layer registers updates
      const Scope in(g, {"worker", i});
      loss(i).named("loss");
      const auto version = state<std::int64_t>(g, "version");
      const auto stale = state<std::int64_t>(g, "stale");
      const Effect trained = critical_section(shared.lock, [&] {
        const detail::TowerScope same(g, "step", i == 0 ? Reuse::create : Reuse::reuse);
        Effect all = minimize(optimizer, gradients);
        const auto before = next(shared.updates);
        all += assign(stale, before - version.read());
        all += assign(version, before + 1);
        return all + replicas_.pull(i);
      });
      trained.named("train");
      after(trained, stale.read()).named("staleness");
      critical_section(shared.lock, [&] {
        return replicas_.pull(i) + assign(version, next(shared.updates, 0));
      }).named("pull");
    }
    const Scope in(g, "workers");
    next(shared.updates, 0).named("updates");
  }

 protected:
  struct Shared {
    Resource<Mutex> lock;
    Resource<Counter> updates;
  };
  constexpr Shared shared_resources() const {
    Graph& g = *replicas_.graph;
    const Scope in(g, "workers");
    return {mutex(g, "lock"), counter(g, "count")};
  }

  detail::Replicas<Count, Each, T> replicas_;
};

namespace detail {

/// The replicas of Count workers with Each towers, each of which gets the inputs whole and divides
/// them.
template <int Count, int Each, class F, class... X>
constexpr auto make_workers(Graph& g, const char* call, const WorkerOptions& options, const F& f,
                            const X&... x) {
  using T = typename decltype(f(part_of_batch<Each, 0>(x)...))::element;
  const auto make = [&]<int I>(std::integral_constant<int, I>) {
    if constexpr (Each == 1) {
      return Towers<1, T>{{f(x...)}, {1.0}};
    } else {
      return make_towers<Each>(
          g, call, {.first_device = options.first_device + I * Each, .kind = options.kind}, f,
          x...);
    }
  };
  const TowerOptions towers{options.first_device, "worker", options.kind};
  return make_replicas<Count, Each>(g, call, towers, false, make);
}

}  // namespace detail

/// Workers that train asynchronously, each on a device of its own. A run of a worker feeds the
/// inputs with the worker's rows.
///
/// With Each > 1, a worker is a group of towers on as many devices, which divide its rows: towers
/// of a group are synchronous, groups are asynchronous. Worker i has the devices from cpu(i * Each)
/// on; with {.kind = DeviceKind::gpu} in front of f from gpu(i * Each) on. If a session has fewer
/// devices, see SessionOptions::soft_placement: several workers on one device overlap, too.
///
/// f returns the loss of its rows, a scalar. Its variables are declared by tf::variable or a layer,
/// and change by the optimiser alone: batch norm's averages are refused. The shared variables have
/// the paths that f gives them; workers' copies are states of the session. All begin with the same
/// values.
template <int Count, int Each = 1, class F, TypedExpr... X>
constexpr auto asynchronous(Graph& g, const WorkerOptions& options, const F& f, const X&... x) {
  constexpr bool counts = Count > 0 && Each > 0;
  static_assert(counts, "asynchronous<workers, each>(g, f, x...): both numbers must be 1 or more");
  static_assert(detail::have_same_rows<X...>,
                "asynchronous<workers, each>(g, f, x...): the inputs that are no scalars must have "
                "the same number of rows");
  constexpr bool divisible =
      Each == 1 || detail::is_divisible<(counts ? Each : 1)>(detail::common_rows<X...>());
  static_assert(divisible,
                "asynchronous<workers, each>(g, f, x...): each tower needs rows: `each` or more of "
                "a fixed number, or k*batch with a k that `each` divides");
  if constexpr (counts && detail::have_same_rows<X...> && divisible) {
    const auto replicas = detail::make_workers<Count, Each>(
        g, "asynchronous<workers, each>(g, f, x...)", options, f, x...);
    return Workers<Count, Each, typename decltype(replicas.towers[0].losses)::value_type::element>(
        replicas);
  }
}
template <int Count, int Each = 1, class F, TypedExpr... X>
constexpr auto asynchronous(Graph& g, const F& f, const X&... x) {
  return asynchronous<Count, Each>(g, WorkerOptions{}, f, x...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
