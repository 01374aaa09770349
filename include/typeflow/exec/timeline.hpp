// SPDX-License-Identifier: Apache-2.0
#pragma once

// Timelines of devices, and drawings of them.

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/program.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// A kernel call or copy of a device, from `begin` to `end`, in seconds.
struct Span {
  int device;  ///< in the machine's list
  Id step;     ///< of the program; none for a copy to another device
  double begin;
  double end;
};

/// Measured times of kernels. While a session has one (Session::trace), each of its runs adds to
/// it; no two runs may be made at the same time.
class Trace : public KernelTrace {
 public:
  using Clock = std::chrono::steady_clock;

  Trace() : KernelTrace{&take_time, false} {}

  /// In the order of devices, and on each in the order of time. Times count from the trace's start.
  std::vector<Span> spans() const {
    std::vector<Span> all;
    for (const std::vector<Span>& own : of_device_) all.insert(all.end(), own.begin(), own.end());
    return all;
  }
  /// Forgets all spans and starts anew.
  void clear() {
    for (std::vector<Span>& own : of_device_) own.clear();
    start_ = Clock::now();
  }

 private:
  static void take_time(KernelTrace& trace, const ir::ProgramView&, const SymbolSizes&, int device,
                        Id step) {
    Trace& own = static_cast<Trace&>(trace);
    std::vector<Span>& spans = own.of_device_[static_cast<std::size_t>(device)];
    const double now = own.seconds(Clock::now());
    if (step < 0) {
      spans.push_back({device, step, now, now});
    } else {
      spans.back().step = step;
      spans.back().end = now;
    }
  }
  double seconds(Clock::time_point time) const {
    return std::chrono::duration<double>(time - start_).count();
  }

  Clock::time_point start_ = Clock::now();
  std::array<std::vector<Span>, max_devices> of_device_;
};

namespace detail {

TYPEFLOW_COLD inline std::string device_name(const MachineDevice& device) {
  Message text{};
  text << device.device;
  return std::string(text.view());
}

}  // namespace detail

/// A drawing with a row for each device and a box for each span.
std::string timeline_svg(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                         const std::vector<Span>& spans, int width);

/// Predicted and measured spans in one drawing, on one scale: for each device a row of predictions,
/// and below it one of measured times. Both begin at the left.
std::string timelines_svg(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                          const std::vector<Span>& predicted, const std::vector<Span>& measured,
                          int width);

/// The same as JSON for trace viewers: the processes `predicted` and `measured`, each with a thread
/// for each device. Both begin at 0.
std::string chrome_traces(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                          const std::vector<Span>& predicted, const std::vector<Span>& measured);

/// JSON for trace viewers: one event for each span, one thread for each device.
std::string chrome_trace(const ir::ProgramView& program, std::span<const MachineDevice> devices,
                         const std::vector<Span>& spans);

}  // namespace typeflow::inline TYPEFLOW_ISA::exec

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/timeline.ipp"
#endif
