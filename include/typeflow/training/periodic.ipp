// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/training/periodic.hpp"
#include "typeflow/training/progress.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION Periodic::Periodic(Interval interval)
    : interval_(interval), last_(detail::clock_seconds()) {
  if (interval.steps < 0) {
    throw Error("Interval: steps", "0 or more", std::to_string(interval.steps));
  }
  if (!(interval.seconds >= 0)) {
    throw Error("Interval: seconds", "0 or more", std::to_string(interval.seconds));
  }
}

TYPEFLOW_DEFINITION bool Periodic::operator()(std::int64_t step) {
  bool is_due = interval_.steps > 0 && step % interval_.steps == 0;
  if (interval_.seconds > 0) {
    is_due = is_due || detail::clock_seconds() - last_ >= interval_.seconds;
    if (is_due) last_ = detail::clock_seconds();
  }
  return is_due;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
