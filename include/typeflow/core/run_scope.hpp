// SPDX-License-Identifier: Apache-2.0
#pragma once

// The resources that a run holds until it ends, such as the locks of mutexes, which it must
// give back. A run that fails gives everything back, too.

#include <mutex>
#include <utility>

#include "typeflow/core/config.hpp"
#include "typeflow/core/run_stop.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A run, as kernels see it (KernelCall::run). There is one object for each run, however many
/// devices it has; its address tells runs apart that overlap in time. Kernels of one run may call
/// its members at the same time.
class RunScope {
 public:
  /// Gives back what `run` holds of a resource. It must not call members of the run.
  using Release = void (*)(void* resource, const RunScope& run) noexcept;

  RunScope() = default;
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() { close(); }

  /// The end of the run calls release(resource, *this), unless let_go(resource) comes before.
  TYPEFLOW_COLD void hold(void* resource, Release release) {
    const std::lock_guard lock(mutex_);
    first_ = new Hold{resource, release, first_};
  }
  /// Forgets the last hold of a resource, which the caller gives back. False if there is none.
  TYPEFLOW_COLD bool let_go(const void* resource) noexcept {
    const std::lock_guard lock(mutex_);
    for (Hold** at = &first_; *at != nullptr; at = &(*at)->next) {
      if ((*at)->resource != resource) continue;
      delete std::exchange(*at, (*at)->next);
      return true;
    }
    return false;
  }
  /// The end of the run: gives everything back, the last hold first. No kernel of the run may still
  /// be at work.
  void close() noexcept {
    if (first_ != nullptr) release_all();
  }

  RunStop stop;  ///< kernels that wait, wait until the run is stopped at most

 private:
  struct Hold {
    void* resource;
    Release release;
    Hold* next;
  };

  TYPEFLOW_COLD void release_all() noexcept {
    while (first_ != nullptr) {
      first_->release(first_->resource, *this);
      delete std::exchange(first_, first_->next);
    }
  }

  std::mutex mutex_;
  Hold* first_ = nullptr;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
