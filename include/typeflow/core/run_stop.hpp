// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a run ends before its last step: by an error, or by a limit that its caller has set, such as
// a deadline. The first reason counts. Steps look for it before they begin, and whoever waits is
// woken.

#include <atomic>
#include <mutex>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

enum class StopReason : int { not_stopped, error, cancelled, deadline };

/// Is thrown by what waits in a run, when the run has been stopped. It is no Error: the run reports
/// the reason instead.
struct RunStopped {
  int step = -1;  ///< of the program: the one that the run came to, if that is known
};

/// Ends a run early. All members may be called in any thread.
class RunStop {
 public:
  RunStop() = default;
  RunStop(const RunStop&) = delete;
  RunStop& operator=(const RunStop&) = delete;

  bool is_stopped() const { return reason_.load() != StopReason::not_stopped; }
  /// The first reason.
  StopReason reason() const { return reason_.load(); }
  /// Whether the caller's limit has ended the run.
  bool by_limit() const { return reason() > StopReason::error; }
  /// Stops the run, unless it has been stopped before.
  TYPEFLOW_COLD void stop(StopReason reason) noexcept {
    StopReason expected = StopReason::not_stopped;
    if (!reason_.compare_exchange_strong(expected, reason)) return;
    const std::lock_guard lock(mutex_);
    for (Sleeper* sleeper = first_; sleeper != nullptr; sleeper = sleeper->next_) {
      sleeper->wake_(sleeper->context_);
    }
  }

  /// Is called before each step of a run that has a limit; throws RunStopped to end the run.
  using Look = void (*)(void* context, int step);
  void set_limit(Look look, void* context) {
    look_ = look;
    context_ = context;
  }
  bool has_limit() const { return look_ != nullptr; }
  void before_step(int step) const {
    if (look_ != nullptr) look_(context_, step);
  }

  /// Ready for the next run. Nobody may wait.
  void reset() noexcept { reason_.store(StopReason::not_stopped, std::memory_order_relaxed); }

  /// Someone who waits in the run. `wake` is called once the run is stopped, also if it has been
  /// stopped already. To be made and destroyed without the locks that `wake` takes.
  class Sleeper {
   public:
    using Wake = void (*)(void* context) noexcept;
    TYPEFLOW_COLD Sleeper(RunStop& run, Wake wake, void* context)
        : run_(run), wake_(wake), context_(context) {
      const std::lock_guard lock(run.mutex_);
      next_ = run.first_;
      if (next_ != nullptr) next_->previous_ = this;
      run.first_ = this;
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    TYPEFLOW_COLD ~Sleeper() {
      const std::lock_guard lock(run_.mutex_);
      (previous_ != nullptr ? previous_->next_ : run_.first_) = next_;
      if (next_ != nullptr) next_->previous_ = previous_;
    }

   private:
    friend RunStop;
    RunStop& run_;
    Wake wake_;
    void* context_;
    Sleeper* next_ = nullptr;
    Sleeper* previous_ = nullptr;
  };

 private:
  std::atomic<StopReason> reason_{StopReason::not_stopped};
  Look look_ = nullptr;
  void* context_ = nullptr;
  std::mutex mutex_;  // guards the list
  Sleeper* first_ = nullptr;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
