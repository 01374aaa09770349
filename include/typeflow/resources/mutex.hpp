// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mutexes: critical sections of runs. TensorFlow's MutexAcquire and MutexRelease, and its
// CriticalSection.

#include <mutex>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/core/run_scope.hpp"
#include "typeflow/core/waiting.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/resources/resource.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The object of a mutex. Runs hold it, not threads: a run may acquire and release it in different
/// threads.
class Mutex {
 public:
  static constexpr std::string_view name = "Mutex";
  static constexpr bool is_held_by_runs = true;
  explicit Mutex(std::string_view path) : path_(path) {}

  /// Takes it for a run; false if another run holds it.
  bool try_acquire(RunScope& run) {
    const std::lock_guard lock(mutex_);
    if (owner_ == &run)
      throw Error(title(), "to be free", "a second acquire by the run that holds it");
    if (owner_ != nullptr) return false;
    run.hold(this, [](void* mutex, const RunScope& of) noexcept {
      static_cast<Mutex*>(mutex)->free(of);
    });
    owner_ = &run;
    return true;
  }
  /// The same, but waits until no run holds it, and blocks the thread until then. Throws RunStopped
  /// if its own run is stopped.
  void acquire(RunScope& run) {
    wait_in_thread(waiters_, [&] { return try_acquire(run); }, &run.stop);
  }
  void release(RunScope& run) {
    {
      const std::lock_guard lock(mutex_);
      if (owner_ != &run) {
        throw Error(
            title(), "to be held by the run that releases it",
            owner_ == nullptr ? "a release without acquire" : "a mutex that another run holds");
      }
    }
    run.let_go(this);
    free(run);
  }
  /// Those who wait until it is free.
  Waiters& waiters() { return waiters_; }
  bool is_held() const {
    const std::lock_guard lock(mutex_);
    return owner_ != nullptr;
  }

 private:
  std::string title() const { return "mutex '" + path_ + "'"; }
  void free(const RunScope& run) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (owner_ != &run) return;
      owner_ = nullptr;
    }
    waiters_.notify();
  }

  std::string path_;
  mutable std::mutex mutex_;
  Waiters waiters_;
  const RunScope* owner_ = nullptr;
};

namespace ops {

/// Waits for a mutex and takes it. Input: the mutex; output: a token.
struct MutexAcquire : resource_operation<Mutex> {
  static constexpr std::string_view name = "MutexAcquire";
  static constexpr bool may_wait = true;
  static constexpr int flops = 0;
};
/// Gives a mutex back. Input: the mutex; output: a token.
struct MutexRelease : resource_operation<Mutex> {
  static constexpr std::string_view name = "MutexRelease";
  static constexpr int flops = 0;
};

}  // namespace ops

/// Declares a mutex. Sessions on one store share it.
constexpr Resource<Mutex> mutex(Graph& g, Label name,
                                std::source_location at = std::source_location::current()) {
  return resource<Mutex>(g, name, at);
}

/// The run takes the mutex, after an effect if one is given. It waits while another run holds it;
/// to acquire it twice is an Error. The end of the run releases it, if nothing else does.
constexpr Effect acquire(const Resource<Mutex>& mutex, const Effect& first = {},
                         std::source_location at = std::source_location::current()) {
  ir::Graph& graph = mutex.graph();
  graph.source = source_line(at);
  return run_after(first, apply(ops::MutexAcquire{}, mutex));
}
/// The run gives the mutex back, after an effect if one is given. An Error if it does not hold it.
constexpr Effect release(const Resource<Mutex>& mutex, const Effect& first = {},
                         std::source_location at = std::source_location::current()) {
  ir::Graph& graph = mutex.graph();
  graph.source = source_line(at);
  return run_after(first, apply(ops::MutexRelease{}, mutex));
}

namespace detail {

/// Orders the statements that a function adds: after an acquire, and before a release.
class CriticalSection {
 public:
  constexpr explicit CriticalSection(const Resource<Mutex>& mutex, std::source_location at)
      : mutex_(mutex),
        at_(at),
        graph_(mutex.graph()),
        acquired_(acquire(mutex, {}, at)),
        first_(graph_.nodes.size()),
        outer_(graph_.in_critical_section) {
    graph_.in_critical_section = true;
  }

  /// The release; the statements are complete.
  constexpr Effect finish() {
    graph_.in_critical_section = outer_;
    const Id end = graph_.nodes.size();
    const Id token = acquired_.token();
    Pool<Id> inside;  // values of the nodes that the mutex protects
    inside.push(token);
    for (Id id = first_; id < end; ++id) {
      const ir::Node node = graph_.nodes[id];
      if (node.region != graph_.region) continue;
      if (!is_present_access(graph_, node) && !is_effect_outside(graph_, node)) continue;
      add_controls(graph_, node.outputs.first, &token, 1);
      inside.push(node.outputs.first);
    }
    check(end);
    const Effect released = release(mutex_, {}, at_);
    add_controls(graph_, released.token(), inside.data(), inside.size());
    return released;
  }

 private:
  /// A mistake if a node reads the start value of a variable that the section writes: other runs
  /// may have changed the variable since.
  constexpr void check(Id end) {
    Pool<char> written(graph_.variable_records.size(), 0);
    for (Id id = first_; id < end; ++id) {
      const auto mark = [&](Id variable) { written[variable] = 1; };
      ir::each_written_variable(graph_, graph_.nodes[id], mark);
    }
    for (Id id = first_; id < end; ++id) {
      const ir::Node& node = graph_.nodes[id];
      const bool present =
          writes_variable(node.op->kind) || node.op->effect == SideEffect::reads_state;
      for (Id k = present ? 1 : 0; k < node.inputs.count; ++k) {
        const Id input = graph_.input(node, k);
        if (graph_.op_of(input).builtin != Builtin::variable) continue;
        const Id variable = graph_.variable_index(input);
        if (written[variable] != 0) return refuse(variable);
      }
    }
  }
  constexpr void refuse(Id variable) {
    Message message{};
    message << "critical_section(mutex, f): f assigns the variable '";
    graph_.print_name(message, graph_.names[graph_.variable_records[variable].name]);
    graph_.fail(message << "' and uses its value at the start of the run, when the mutex was not "
                           "held; use v.read()");
  }

  Resource<Mutex> mutex_;
  std::source_location at_;
  ir::Graph& graph_;
  Effect acquired_;
  Id first_;
  bool outer_;
};

template <class T>
inline constexpr bool is_tuple_of_tensors = false;
template <TypedExpr... X>
inline constexpr bool is_tuple_of_tensors<std::tuple<X...>> = true;

}  // namespace detail

/// What f() returns, computed while the run holds the mutex:
///
///   auto seen = critical_section(lock, [&] { return assign_add(v, 1).value(); });
///
/// f adds statements to the model. All of them that assign, read present values, or have other
/// effects happen between acquire and release. In f, assign_add and its kin use the present value;
/// a handle's value is still that at the start of the run, so read variables that other runs change
/// by v.read(). f returns a tensor, a std::tuple of tensors, or an Effect.
template <class F>
constexpr auto critical_section(const Resource<Mutex>& mutex, const F& f,
                                std::source_location at = std::source_location::current()) {
  using Given = std::remove_cvref_t<decltype(f())>;
  constexpr bool effect = std::is_convertible_v<Given, Effect>;
  constexpr bool fits = effect || TypedExpr<Given> || detail::is_tuple_of_tensors<Given>;
  static_assert(
      fits,
      "critical_section(mutex, f): f must return a tensor, a std::tuple of tensors, or an "
      "Effect");
  if constexpr (fits) {
    detail::CriticalSection section(mutex, at);
    const Given given = f();
    const Effect released = section.finish();
    if constexpr (effect) {
      return static_cast<const Effect&>(given) + released;
    } else if constexpr (TypedExpr<Given>) {
      return after(released, given, at);
    } else {
      return std::apply([&](const auto&... x) { return std::tuple{after(released, x, at)...}; },
                        given);
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
