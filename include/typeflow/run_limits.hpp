// SPDX-License-Identifier: Apache-2.0
#pragma once

// Limits of runs: a stop token, a time, a deadline.
//
//   auto y = session.run<"y">(tf::feed<"x">(x), tf::stop_when(token), tf::within(10ms));
//
// A run looks at its limits before each step, in each iteration, and wherever it waits: for another
// device, or for a resource such as a mutex. A step that has begun is not interrupted. The first
// limit or error ends the run on all devices, and the run throws. Variables that its steps have
// assigned keep their values. The session can be used as before.

#include <chrono>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/core/run_stop.hpp"
#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// An argument of a run: its stop token.
struct StopWhen {
  static constexpr detail::ArgumentKind argument = detail::ArgumentKind::limit;
  std::stop_token token;
};
/// An argument of a run: the time that it may take.
struct Within {
  static constexpr detail::ArgumentKind argument = detail::ArgumentKind::limit;
  std::chrono::nanoseconds time;
};
/// An argument of a run: its deadline.
struct Until {
  static constexpr detail::ArgumentKind argument = detail::ArgumentKind::limit;
  std::chrono::steady_clock::time_point deadline;
};

/// The run throws Cancelled when a stop is requested. A run has at most one stop token.
inline StopWhen stop_when(std::stop_token token) { return {std::move(token)}; }

/// The run throws DeadlineExceeded when it has taken so long, from its first step on.
template <class Count, class Period>
constexpr Within within(std::chrono::duration<Count, Period> time) {
  // Longer times than nanoseconds can count are years.
  using Seconds = std::chrono::duration<double>;
  if (Seconds(time) >= Seconds(std::chrono::nanoseconds::max())) {
    return {std::chrono::nanoseconds::max()};
  }
  return {std::chrono::ceil<std::chrono::nanoseconds>(time)};
}

/// The run throws DeadlineExceeded at this time. Of several times and deadlines the first counts.
inline Until until(std::chrono::steady_clock::time_point deadline) { return {deadline}; }

namespace detail {

/// The limits of one run.
class RunLimits {
 public:
  void add(const StopWhen& limit) { token_ = limit.token; }
  void add(const Within& limit) { time_ = limit.time < time_ ? limit.time : time_; }
  void add(const Until& limit) {
    deadline_ = limit.deadline < deadline_ ? limit.deadline : deadline_;
  }
  void add(const auto&) {}

  /// call(context) within the limits.
  void execute(Engine::Run& run, void (*call)(const void*), const void* context) const;

 private:
  std::stop_token token_;
  std::chrono::nanoseconds time_ = std::chrono::nanoseconds::max();
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace detail

/// Sessions call it for runs with limits.
template <class F, class... A>
void execute_within(Engine::Run& run, const F& execute, const A&... arguments) {
  static_assert((std::is_same_v<A, StopWhen> + ...) <= 1, "run(...): at most one stop_when(token)");
  detail::RunLimits limits;
  (limits.add(arguments), ...);
  limits.execute(run, [](const void* f) { (*static_cast<const F*>(f))(); }, &execute);
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/runtime/run_limits.ipp"
#endif
