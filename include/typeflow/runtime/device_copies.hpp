// SPDX-License-Identifier: Apache-2.0
#pragma once

// What sessions with devices ask of a store whose variables have copies in the memory of devices.
// Like VariableTable, it is an interface that units for different instruction sets exchange.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "typeflow/core/isa.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow {

/// A device's memory (exec/memory.hpp), with the functions of the unit that has the device.
struct CopyMemory {
  void* memory;
  std::byte* (*allocate)(void* memory, std::int64_t bytes);
  void (*release)(void* memory, std::byte* data, std::int64_t bytes) noexcept;
  void (*copy_in)(void* memory, void* to, const void* from, std::int64_t bytes);
  void (*copy_out)(void* memory, void* to, const void* from, std::int64_t bytes);
  /// Copies to the memory of another device, whose functions are of the same unit, after all that
  /// both devices were given, and before all that they are given from now on. Returns false, and
  /// does nothing, if there is no direct way.
  bool (*copy_to)(void* memory, void* other, void* to, const void* from, std::int64_t bytes);
};

/// The copies of a store's variables in the memory of devices. Thread-safe.
class DeviceCopies : public VariableCopies {
 public:
  TYPEFLOW_EXCHANGED DeviceCopies() {}

  /// The variable's copy in a memory, made if it is missing. It stays until every hold() has had
  /// its drop(). std::bad_alloc if there is no memory.
  virtual std::byte* hold(const VariableEntry& entry, const CopyMemory& memory) = 0;
  /// The last one copies the elements to the host, if no other copy is valid.
  virtual void drop(const VariableEntry& entry, const void* memory) noexcept = 0;

  /// Another counter, besides the store's own, that changes with its version.
  virtual void watch(std::atomic<std::int64_t>& version) = 0;
  virtual void unwatch(std::atomic<std::int64_t>& version) noexcept = 0;

 protected:
  TYPEFLOW_EXCHANGED ~DeviceCopies() = default;
};

}  // namespace typeflow
