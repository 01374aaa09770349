// SPDX-License-Identifier: Apache-2.0
#pragma once

// The machine that a session runs on: a list of devices.
//
//   tf::Session<model> session(variables, {.devices = {{.threads = 1}, {.threads = 1}}});
//
// makes /cpu:0 and /cpu:1 of the processor, each with memory and threads of its own.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "typeflow/core/device.hpp"
#include "typeflow/core/error.hpp"
#include "typeflow/core/extent.hpp"
#include "typeflow/exec/memory.hpp"
#include "typeflow/lower/kernel_call.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The most devices of a session.
inline constexpr int max_devices = 16;

/// Settings of one virtual device of the processor.
struct DeviceOptions {
  /// Threads over which a kernel spreads its loops, with the one that calls it; 0: as many as the
  /// machine has.
  int threads = 1;
  /// The most bytes of tensors that a run may have on the device; 0: no limit.
  std::int64_t memory_limit = 0;
  /// Where tensors and workspaces of runs are: a tf::DeviceMemory (devices.hpp), for an allocator,
  /// a limit or an arena of your own. It must outlive the session. Null: the process's memory.
  Memory* memory = nullptr;
};

/// The virtual devices /cpu:0, /cpu:1, ... of a session. None: one device, /cpu:0.
class DeviceList {
 public:
  constexpr DeviceList() = default;
  /// Error if there are more than max_devices.
  DeviceList(std::initializer_list<DeviceOptions> devices) {
    for (const DeviceOptions& device : devices) push(device);
  }
  /// `count` devices with these settings.
  static DeviceList of(int count, const DeviceOptions& device = {}) {
    DeviceList list;
    for (int i = 0; i < count; ++i) list.push(device);
    return list;
  }

  constexpr int size() const { return size_; }
  constexpr const DeviceOptions& operator[](int i) const { return devices_[i]; }

 private:
  void push(const DeviceOptions& device) {
    if (size_ == max_devices) {
      throw Error("devices", detail::sentence({"at most ", max_devices}), "more");
    }
    devices_[size_++] = device;
  }

  DeviceOptions devices_[max_devices] = {};
  int size_ = 0;
};

/// The options from which a session constructs its target.
struct TargetOptions {
  int threads = 1;  ///< for the loops of a kernel, where `devices` says nothing
  DeviceList devices = {};
};

class Transport;

/// A device of a target.
struct MachineDevice {
  Device device;                      ///< its kind and number
  Memory* memory = &host_memory;      ///< of its tensors, workspace and constants
  Stream* stream = nullptr;           ///< is passed to kernels; may be null
  std::int64_t memory_limit = 0;      ///< bytes of tensors in a run; 0: no limit
  const char* description = nullptr;  ///< for people; null: a processor
  Transport* transport = nullptr;     ///< of what it sends (exec/transport.hpp); null: copies
};

/// The virtual device /cpu:number with these settings.
inline MachineDevice processor_device(int number, const DeviceOptions& options, Stream* stream) {
  MachineDevice device{cpu(number), &host_memory, stream, options.memory_limit};
  if (options.memory == nullptr) return device;
  device.memory = options.memory;
  if (device.memory_limit == 0) device.memory_limit = options.memory->use().limit;
  return device;
}

/// The memory of a device in a session's runs.
struct DeviceStatistics {
  Device device;
  std::int64_t memory_limit;  ///< 0: none
  std::int64_t reserved;      ///< bytes that runs hold, also between runs
  std::int64_t peak;          ///< the most bytes that were reserved at one time
  std::int64_t live;          ///< bytes of tensors of the runs that are in progress
  std::int64_t planned;       ///< bytes of tensors in the last run
  std::int64_t lower_bound;   ///< the most bytes that are in use at one time by that plan
  std::int64_t allocations;   ///< calls of Memory::allocate so far
  std::int64_t sent;          ///< bytes of tensors to other devices so far
};

namespace ir {
struct ProgramView;
}

/// Somebody who measures kernels: exec::Trace, Profiler. `take` is called at the beginning
/// (step < 0) and at the end of each, with the sizes of the run.
struct KernelTrace {
  using Take = void (*)(KernelTrace& trace, const ir::ProgramView& program,
                        const SymbolSizes& sizes, int device, std::int32_t step);
  Take take;
  bool all_programs;  ///< also those of runs that are compiled for themselves
};

}  // namespace typeflow::inline TYPEFLOW_ISA
