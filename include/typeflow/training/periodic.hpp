// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is due every so many steps or seconds.

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How often something is done. If several are given, each of them counts.
struct Interval {
  std::int64_t steps = 0;  ///< every so many steps; 0: steps do not count
  double seconds = 0;      ///< every so many seconds; 0: the clock does not count
};

/// Says when an interval has passed, in a loop of your own:
///
///   tf::Periodic due({.seconds = 600});
///   if (due(step)) saver.save(variables, step);
class Periodic {
 public:
  /// The clock starts now. Error if an interval is negative.
  explicit Periodic(Interval interval);

  /// Whether the interval has passed since it last had, or since the start. Steps count from 1:
  /// multiples of interval.steps are due.
  bool operator()(std::int64_t step);

 private:
  Interval interval_;
  double last_;  // by a clock that nobody sets
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/training/periodic.ipp"
#endif
