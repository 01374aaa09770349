// SPDX-License-Identifier: Apache-2.0
#pragma once

// Events of event files. Only .ipp files read it.

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>

#include "typeflow/core/isa.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// A tensorflow.Event. f(writer) writes what it has besides time and step.
template <class F>
std::string encoded_event(double wall_time, std::int64_t step, const F& f) {
  std::string bytes;
  protozero::pbf_writer event(bytes);
  event.add_double(1, wall_time);
  if (step != 0) event.add_int64(2, step);
  f(event);
  return bytes;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
