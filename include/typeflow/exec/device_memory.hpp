// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory of a device with an allocator, a limit or an arena of its own.
//
//   tf::DeviceMemory memory({.memory_fraction = 0.8, .allow_growth = false});
//   tf::Session<model> session(variables, {.devices = {{}, {.memory = &memory}}});
//
// Several devices and sessions may share it. Then the limit is that of all of them together, as
// TensorFlow's per_process_gpu_memory_fraction is.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "typeflow/exec/memory.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A user's allocator. It must outlive the DeviceMemory that uses it. One thread at a time calls
/// it, unless several DeviceMemory share it.
class Allocator {
 public:
  /// `bytes` > 0 bytes that the host may access, aligned to `alignment`. Null or std::bad_alloc if
  /// there are none.
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  /// Takes back what allocate gave for the same sizes.
  virtual void deallocate(void* data, std::size_t bytes, std::size_t alignment) noexcept = 0;

 protected:
  ~Allocator() = default;
};

/// The defaults: what runs need, from the process's memory, without a limit.
struct DeviceMemoryOptions {
  /// Where the bytes come from; null: the process's memory.
  Allocator* allocator = nullptr;
  /// The most bytes of tensors and workspaces at one time; 0: no limit.
  std::int64_t memory_limit = 0;
  /// The same as a fraction of the machine's memory, above 0 and at most 1. Of two limits the lower
  /// one counts.
  double memory_fraction = 0;
  /// Whether memory is allocated as programs and sizes need it. If false, all of the limit is
  /// allocated at once, as one arena from which runs get their memory.
  bool allow_growth = true;
};

/// Memory of the host with these options. It must outlive the sessions that use it. Its functions
/// may be called by several threads at the same time.
class DeviceMemory final : public Memory {
 public:
  /// Error if an option is out of its range, if there is no limit without allow_growth, or if there
  /// is no memory for the arena.
  explicit DeviceMemory(const DeviceMemoryOptions& options = {});
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  /// Throws std::bad_alloc if the limit or the allocator says so. Error if the allocator's address
  /// is not aligned to 64 bytes.
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* data, std::int64_t bytes) noexcept override;
  Use use() const override;

  /// Bytes that it has of its allocator: those in use, or the whole arena.
  std::int64_t reserved() const;

 private:
  struct Block {
    std::int64_t bytes;
    bool is_free;
  };

  std::byte* take(std::int64_t bytes);
  void give(std::byte* data, std::int64_t bytes) noexcept;

  Allocator* allocator_;
  std::int64_t limit_;
  bool grows_;
  mutable std::mutex mutex_;  // guards what follows
  std::int64_t in_use_ = 0;
  std::byte* arena_ = nullptr;              // all of the limit, if it does not grow
  std::map<std::int64_t, Block> blocks_{};  // of the arena, by offset
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/device_memory.ipp"
#endif
