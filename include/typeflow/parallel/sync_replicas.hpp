// SPDX-License-Identifier: Apache-2.0
#pragma once

// Synchronous training with spare workers, as TensorFlow's SyncReplicasOptimizer: a round ends when
// enough gradients are there, and those of workers that come too late are dropped.
//
//   tf::rounds<3>(g, tf::Adam{}, f, x, y);              // in the model
//   ...
//   tf::SyncReplicas replicas(session, {.replicas_to_aggregate = 2, .total_replicas = 3});
//   while (replicas.step<0>(tf::feed<"x">(x), tf::feed<"y">(y))) {}    // worker 0's thread

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/parallel/workers.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How workers form rounds.
struct SyncReplicasOptions {
  int replicas_to_aggregate = 0;  ///< fresh gradients that end a round; at least 1
  int total_replicas = 0;         ///< workers; at least 1
};

namespace detail {

/// The sums of gradients of a round, and its counts.
struct RoundState {
  Resource<Mutex> lock;
  Variable<std::int64_t> round;      ///< TensorFlow's global step
  Variable<std::int64_t> collected;  ///< gradients in the sums
  Variable<std::int64_t> dropped;    ///< stale gradients so far
};

/// Adds worker i's push: gradients of the present round are summed, stale ones are counted.
constexpr Effect add_push(const RoundState& state, const Variable<std::int64_t>& version,
                          const Gradients& gradients, const Gradients& sums) {
  return critical_section(state.lock, [&] {
    const auto fresh = greater_equal(version, state.round.read());
    Effect all;
    for (int k = 0; k < gradients.size(); ++k) {
      const AnyVariable sum(*sums.graph, sums.items[k].gradient);
      const AnyExpr part = gradients[k].gradient;
      all += assign(sum, sum.read() + cast_to(fresh.any(), part.dtype()) * part);
    }
    const auto count = cast<std::int64_t>(fresh);
    return all + assign(state.collected, state.collected.read() + count) +
           assign(state.dropped, state.dropped.read() + (1 - count));
  });
}
/// Adds the optimiser's step by the mean of the sums, after which a new round begins.
template <class Optimizer>
constexpr Effect add_apply(const RoundState& state, const Gradients& sums,
                           const Optimizer& optimizer) {
  return critical_section(state.lock, [&] {
    const auto count = state.collected.read();
    Gradients mean{sums.graph, {}, true};
    for (const GradientRecord item : sums.items) {
      const AnyExpr sum = AnyVariable(*sums.graph, item.gradient).read();
      mean.items.push(GradientRecord{item.variable, (sum / cast_to(count.any(), sum.dtype())).id});
    }
    Effect all = minimize(optimizer, mean);
    for (const GradientRecord item : sums.items) {
      all += assign(AnyVariable(*sums.graph, item.gradient), 0);
    }
    return all + assign(state.collected, 0) + assign(state.round, state.round.read() + 1);
  });
}
/// A state of the session for each gradient, beside its variable.
constexpr Gradients make_sums(const Gradients& gradients) {
  Graph& g = *gradients.graph;
  ir::Graph& graph = g;
  Gradients sums{&g, {}, true};
  for (int k = 0; k < gradients.size(); ++k) {
    const AnyVariable v = gradients[k].variable;
    const Scope below(g, v);
    const DeviceGuard beside(graph, graph.node_of(v.id()).device);
    const Id sum = get_variable(graph, "round_sum", type_of(v), zeros(), false, true);
    sums.items.push(GradientRecord{gradients.items[k].variable, sum});
  }
  return sums;
}

/// "worker_12/push" for a session's run.
template <int Worker, std::size_t N>
constexpr auto worker_text(const char (&what)[N]) {
  constexpr std::size_t digits = Worker < 10 ? 1 : Worker < 100 ? 2 : 3;
  char text[7 + digits + 1 + N] = {};
  const char start[] = "worker_";
  std::copy_n(start, 7, text);
  int left = Worker;
  for (std::size_t i = digits; i-- > 0; left /= 10)
    text[7 + i] = static_cast<char>('0' + left % 10);
  text[7 + digits] = '/';
  std::copy_n(what, N, text + 8 + digits);
  return Text(text);
}

}  // namespace detail

/// Adds Count workers that train in rounds; see asynchronous() for the workers and their options,
/// rounds<2>(g, {.kind = DeviceKind::gpu}, optimizer, f, x...) for example. SyncReplicas runs
/// these names:
///
///   worker_i/loss, worker_i/push   the loss; an effect that adds the gradients to those of the
///                                  round, or drops them if the worker's variables are of an
///                                  earlier one
///   worker_i/pull                  an effect: copies the shared variables, and notes the number of
///                                  the round, which is fed as rounds/token
///   rounds/apply                   an effect: the optimiser's step by the mean gradient
///   rounds/number                  rounds so far: TensorFlow's global step. The variable
///                                  rounds/global_step has it; files do, too
///   rounds/collected, rounds/dropped   gradients of this round, and stale ones so far
template <int Count, int Each = 1, class F, class Optimizer, TypedExpr... X>
constexpr void rounds(Graph& g, const WorkerOptions& options, const Optimizer& optimizer,
                      const F& f, const X&... x) {
  static_assert(Count > 0 && Count < 1000 && Each > 0,
                "rounds<workers, each>(g, optimizer, f, x...): both numbers must be 1 or more");
  const auto replicas = detail::make_workers<Count, Each>(
      g, "rounds<workers, each>(g, optimizer, f, x...)", options, f, x...);
  const Label own = "rounds";
  const auto make_state = [&] {
    const Scope in(g, own);
    return detail::RoundState{mutex(g, "lock"),
                              variable<std::int64_t>(g, "global_step", zeros(), false),
                              state<std::int64_t>(g, "count"), state<std::int64_t>(g, "stale")};
  };
  const detail::RoundState rounds = make_state();
  const auto make_token = [&] {
    const Scope in(g, own);
    return placeholder<std::int64_t>(g, "token", 0);
  };
  const auto token = make_token();
  Gradients sums;
  for (int i = 0; i < Count; ++i) {
    const Gradients gradients = replicas.gradients(i);
    if (i == 0) sums = detail::make_sums(gradients);
    const Scope in(g, "worker", i);
    replicas.towers[static_cast<std::size_t>(i)].loss().named("loss");
    const auto version = state<std::int64_t>(g, "version");
    detail::add_push(rounds, version, gradients, sums).named("push");
    critical_section(rounds.lock, [&] {
      return replicas.pull(i) + assign(version, token);
    }).named("pull");
  }
  const Scope in(g, own);
  detail::add_apply(rounds, sums, optimizer).named("apply");
  const auto now = [&](const Variable<std::int64_t>& number) {
    return critical_section(rounds.lock, [&] { return number.read(); });
  };
  now(rounds.round).named("number");
  now(rounds.collected).named("collected");
  now(rounds.dropped).named("dropped");
}
template <int Count, int Each = 1, class F, class Optimizer, TypedExpr... X>
constexpr void rounds(Graph& g, const Optimizer& optimizer, const F& f, const X&... x) {
  rounds<Count, Each>(g, WorkerOptions{}, optimizer, f, x...);
}

/// Runs the workers of rounds(). Each worker has a thread that calls step<i>. The worker whose
/// gradients complete a round makes the optimiser's step, and hands out tokens with the number of
/// the new round: one to each worker, and more to any if a round needs more gradients than there
/// are workers. Every step ends by taking one. (TensorFlow's tokens are all for any worker, so a
/// fast one may take those of the others.)
template <class Session>
class SyncReplicas {
 public:
  SyncReplicas(Session& session, const SyncReplicasOptions& options)
      : session_(session), options_(options) {
    if (options.replicas_to_aggregate < 1)
      refuse("replicas_to_aggregate", options.replicas_to_aggregate);
    if (options.total_replicas < 1) refuse("total_replicas", options.total_replicas);
    round_ = session_.template run<"rounds/number">();
    extra_ = extra_tokens();
    taken_.assign(static_cast<std::size_t>(options.total_replicas), round_);
  }

  /// One step of a worker, with the feeds of its rows. Waits for the end of the round. Returns
  /// false if the replicas are closed, so that a worker ends: while (replicas.step<0>(...)) {}
  template <int Worker, class... Feeds>
  bool step(const Feeds&... feeds) {
    try {
      if (Worker >= options_.total_replicas) refuse_worker(Worker);
      if (is_closed()) return false;
      session_.template run<detail::worker_text<Worker>("push")>(feeds...);
      end_round();
      std::int64_t token = 0;
      if (!take(Worker, token)) return false;
      session_.template run<detail::worker_text<Worker>("pull")>(feed<"rounds/token">(token));
      return true;
    } catch (...) {
      close();  // others would wait for this worker's gradients
      throw;
    }
  }
  /// Takes the variables and the round of a store that was trained or loaded, before the first
  /// step.
  template <int Worker>
  void pull() {
    const std::int64_t round = session_.template run<"rounds/number">();
    session_.template run<detail::worker_text<Worker>("pull")>(feed<"rounds/token">(round));
  }
  /// Ends all steps, those that wait, too: they return false. A worker that fails calls it.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  std::int64_t rounds() { return session_.template run<"rounds/number">(); }
  /// Stale gradients so far.
  std::int64_t dropped() { return session_.template run<"rounds/dropped">(); }

 private:
  [[noreturn]] static void refuse(const char* option, int value) {
    throw Error(std::string("SyncReplicas: ") + option, "1 or more", std::to_string(value));
  }
  void refuse_worker(int worker) const {
    throw Error("SyncReplicas: the worker of a step",
                "a number below " + std::to_string(options_.total_replicas),
                std::to_string(worker));
  }
  void end_round() {
    const std::lock_guard one(chief_);
    if (session_.template run<"rounds/collected">() < options_.replicas_to_aggregate) return;
    session_.template run<"rounds/apply">();
    const std::int64_t round = session_.template run<"rounds/number">();
    {
      const std::lock_guard lock(mutex_);
      round_ = round;
      extra_ = extra_tokens();
    }
    changed_.notify_all();
  }
  int extra_tokens() const {
    return std::max(options_.replicas_to_aggregate - options_.total_replicas, 0);
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  /// Waits for the worker's token of the next round, or for a further one of this round.
  bool take(std::size_t worker, std::int64_t& token) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || round_ > taken_[worker] || extra_ > 0; });
    if (closed_) return false;
    if (round_ == taken_[worker]) --extra_;
    taken_[worker] = round_;
    token = round_;
    return true;
  }

  Session& session_;
  SyncReplicasOptions options_;
  std::mutex chief_;  // one ends a round
  std::mutex mutex_;  // of the tokens
  std::condition_variable changed_;
  std::int64_t round_ = 0;
  int extra_ = 0;                    // further tokens of this round
  std::vector<std::int64_t> taken_;  // by worker: the round of its last token
  bool closed_ = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
