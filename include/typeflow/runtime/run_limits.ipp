// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps look at the clock before they begin. Those who wait are woken by a thread that all runs of
// the process share; it starts with the first run that has a deadline.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "typeflow/core/error.hpp"
#include "typeflow/core/run_stop.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/run_limits.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Stops runs at their deadlines.
class AlarmClock {
  using Clock = std::chrono::steady_clock;

 public:
  /// Stops a run at a time, until it is destroyed.
  class Alarm {
   public:
    Alarm(AlarmClock& clock, Clock::time_point time, RunStop& run)
        : clock_(clock), time_(time), run_(run) {
      clock.add(*this);
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() { clock_.remove(*this); }

   private:
    friend AlarmClock;
    AlarmClock& clock_;
    Clock::time_point time_;
    RunStop& run_;
    Alarm* next_ = nullptr;
    Alarm* previous_ = nullptr;
    bool set_ = false;
  };

  TYPEFLOW_COLD ~AlarmClock() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  static AlarmClock& of_process() {
    static AlarmClock clock;
    return clock;
  }

 private:
  void add(Alarm& alarm) {
    bool earlier;
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
      Alarm* before = nullptr;
      Alarm* after = first_;
      while (after != nullptr && after->time_ <= alarm.time_) {
        before = after;
        after = after->next_;
      }
      alarm.previous_ = before;
      alarm.next_ = after;
      (before != nullptr ? before->next_ : first_) = &alarm;
      if (after != nullptr) after->previous_ = &alarm;
      alarm.set_ = true;
      earlier = alarm.time_ < wakes_;
    }
    if (earlier) changed_.notify_all();
  }
  void remove(Alarm& alarm) {
    const std::lock_guard lock(mutex_);
    if (alarm.set_) unlink(alarm);
  }
  void unlink(Alarm& alarm) {
    (alarm.previous_ != nullptr ? alarm.previous_->next_ : first_) = alarm.next_;
    if (alarm.next_ != nullptr) alarm.next_->previous_ = alarm.previous_;
    alarm.set_ = false;
  }

  TYPEFLOW_COLD void work() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      if (first_ == nullptr) {
        wakes_ = Clock::time_point::max();
        changed_.wait(lock);
        continue;
      }
      wakes_ = first_->time_;
      if (Clock::now() < wakes_) {
        changed_.wait_until(lock, wakes_);
        continue;
      }
      first_->run_.stop(StopReason::deadline);
      unlink(*first_);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Alarm* first_ = nullptr;  // by time
  Clock::time_point wakes_ = Clock::time_point::max();
  bool ended_ = false;
  std::thread thread_;
};

/// Throws for a run that has been stopped by a limit.
[[noreturn]] TYPEFLOW_COLD inline void fail_at_limit(const ir::ProgramView& program, int step,
                                                     StopReason reason, const std::string& limit) {
  Message where{};
  if (step >= 0) {
    where << "; it came to ";
    print_step(where, program, program.steps[step]);
  }
  const std::string at(where.view());
  if (reason == StopReason::cancelled) throw Cancelled("run", "was cancelled" + at);
  throw DeadlineExceeded("run", limit + at);
}

TYPEFLOW_DEFINITION void RunLimits::execute(Engine::Run& run, void (*call)(const void*),
                                            const void* context) const {
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point never = Clock::time_point::max();
  struct Limit {
    RunStop& stop;
    Clock::time_point deadline;
    std::atomic<int> step{-1};  // the last one that began
    ~Limit() { stop.set_limit(nullptr, nullptr); }
  };
  Clock::time_point deadline = deadline_;
  bool by_time = false;
  if (time_ != std::chrono::nanoseconds::max()) {
    const Clock::time_point start = Clock::now();
    const auto time = std::max(time_, std::chrono::nanoseconds::zero());
    const Clock::time_point end = time < never - start ? start + time : never;
    by_time = end < deadline;
    if (by_time) deadline = end;
  }
  Limit limit{run.stop(), deadline};
  limit.stop.set_limit(
      [](void* given, int step) {
        auto& own = *static_cast<Limit*>(given);
        own.step.store(step, std::memory_order_relaxed);
        if (own.deadline != never && Clock::now() >= own.deadline) {
          own.stop.stop(StopReason::deadline);
        }
        if (own.stop.is_stopped()) throw RunStopped{step};
      },
      &limit);
  const auto fail = [&](int step) {
    std::string text;
    if (by_time) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", std::chrono::duration<double>(time_).count());
      text = "did not end within " + std::string(number) + " s";
    } else {
      text = "did not end by its deadline";
    }
    fail_at_limit(run.program(), step >= 0 ? step : limit.step.load(), limit.stop.reason(), text);
  };
  try {
    std::optional<AlarmClock::Alarm> alarm;
    if (deadline != never) alarm.emplace(AlarmClock::of_process(), deadline, limit.stop);
    const std::stop_callback cancel(token_, [&] { limit.stop.stop(StopReason::cancelled); });
    call(context);
  } catch (const RunStopped& stopped) {
    fail(stopped.step);
  } catch (const Error&) {
    if (limit.stop.by_limit()) fail(-1);  // the first reason counts
    throw;
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
