// SPDX-License-Identifier: Apache-2.0
#pragma once

// Profiles: what the kernels of a session's runs took. A profile is plain data. It does not need
// the session, so programs keep it in files and look at it later.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/core/extent.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A kernel of a profile: a step of the program on one device, with sums over its calls.
struct ProfiledStep {
  /// The path of the result that has a name, else that of the variable that it writes with
  /// "/update" behind it, else scope and operation: "fc1/Relu". Further steps of one path have
  /// "#1", "#2"... behind it.
  std::string name;
  std::string operation;           ///< the kind of the kernel: "MatMul"
  std::vector<std::string> fused;  ///< the operations that the kernel computes: MatMul, Add, Relu
  std::string file;                ///< where the model called the operation
  int line = 0;
  int device = 0;          ///< in Profile::devices
  std::int64_t calls = 0;  ///< 0 for a branch or loop, whose blocks' kernels are steps of their own
  double seconds = 0;      ///< of all calls
  double least_seconds = 0;
  double most_seconds = 0;
  std::int64_t flops = 0;         ///< of all calls
  std::int64_t bytes = 0;         ///< read and written by all calls
  std::int64_t output_bytes = 0;  ///< of the results of one call, the largest
  std::vector<int> inputs{};      ///< the steps whose results it reads, in Profile::steps

  double mean_seconds() const { return calls > 0 ? seconds / static_cast<double>(calls) : 0; }

  bool operator==(const ProfiledStep&) const = default;
};

/// A variable of the model.
struct ProfiledVariable {
  std::string name;  ///< "fc1/W"
  std::string type;  ///< "float [784, 300]"
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  bool trainable = false;

  bool operator==(const ProfiledVariable&) const = default;
};

/// A device of the session. Its memory is that of runs of the session's program: see
/// Session::devices.
struct ProfiledDevice {
  std::string name;                ///< "/cpu:0"
  double flops_per_second = 0;     ///< the most that it can do; 0: unknown
  double bytes_per_second = 0;     ///< the most that it can read and write; 0: unknown
  std::int64_t peak_bytes = 0;     ///< the most that runs have reserved at one time
  std::int64_t planned_bytes = 0;  ///< of tensors in the last run

  bool operator==(const ProfiledDevice&) const = default;
};

/// A call of a kernel. Seconds count from the profiler's start.
struct ProfiledCall {
  int step = 0;  ///< in Profile::steps
  double begin = 0;
  double end = 0;

  bool operator==(const ProfiledCall&) const = default;
};

/// Times, operations and bytes of the kernels of a session's runs, with the session's variables and
/// devices.
struct Profile {
  std::vector<ProfiledStep> steps{};
  std::vector<ProfiledVariable> variables{};
  std::vector<ProfiledDevice> devices{};
  /// The last calls of each device, in the order of time.
  std::vector<ProfiledCall> calls{};
  double wall_seconds = 0;  ///< from the first call's begin to the last one's end

  bool operator==(const Profile&) const = default;

  /// The most calls of a step: the number of runs, if all runs have the same steps and no step is
  /// in a loop.
  std::int64_t most_calls() const {
    std::int64_t most = 0;
    for (const ProfiledStep& step : steps) most = std::max(most, step.calls);
    return most;
  }
  /// Seconds of all kernels on all devices.
  double seconds() const {
    double sum = 0;
    for (const ProfiledStep& step : steps) sum += step.seconds;
    return sum;
  }
  std::int64_t flops() const {
    std::int64_t sum = 0;
    for (const ProfiledStep& step : steps) sum = checked_sum(sum, step.flops);
    return sum;
  }
  std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const ProfiledStep& step : steps) sum = checked_sum(sum, step.bytes);
    return sum;
  }
  /// The elements of trainable variables.
  std::int64_t parameters() const {
    std::int64_t sum = 0;
    for (const ProfiledVariable& v : variables)
      sum = checked_sum(sum, v.trainable ? v.elements : 0);
    return sum;
  }
  std::int64_t peak_bytes() const {
    std::int64_t sum = 0;
    for (const ProfiledDevice& device : devices) sum = checked_sum(sum, device.peak_bytes);
    return sum;
  }

  /// Seconds that the roofline model gives all calls of a step: its flops at the device's rate, or
  /// its bytes at that of memory, whichever is longer. 0 if the rates are unknown.
  double roofline_seconds(const ProfiledStep& step) const {
    const ProfiledDevice& device = devices[static_cast<std::size_t>(step.device)];
    if (device.flops_per_second <= 0 || device.bytes_per_second <= 0) return 0;
    return std::max(static_cast<double>(step.flops) / device.flops_per_second,
                    static_cast<double>(step.bytes) / device.bytes_per_second);
  }
  /// roofline_seconds as a share of the measured ones. More than 1 is possible: data in a cache
  /// comes faster than the rate of memory says.
  double roofline_share(const ProfiledStep& step) const {
    return step.seconds > 0 ? roofline_seconds(step) / step.seconds : 0;
  }
  /// The step's part of the time of all kernels.
  double share(const ProfiledStep& step) const {
    const double all = seconds();
    return all > 0 ? step.seconds / all : 0;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA
