// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory of devices whose n-th allocation fails.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <typeflow/exec/memory.hpp>

namespace test {

/// Memory of the host. The figures are of all such memories together.
class FailingMemory final : public typeflow::Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    count_allocation();
    std::byte* const data = typeflow::host_memory.allocate(bytes);
    in_use += bytes;
    return data;
  }
  void release(std::byte* data, std::int64_t bytes) noexcept override {
    in_use -= bytes;
    typeflow::host_memory.release(data, bytes);
  }

  /// Throws std::bad_alloc if it is this allocation's turn to fail.
  static void count_allocation() {
    if (until_failure.load() >= 0 && until_failure.fetch_sub(1) == 0) throw std::bad_alloc();
  }
  /// If it is n >= 0, n allocations succeed, and the next one fails. Then it is negative.
  static inline std::atomic<long> until_failure{-1};
  static inline std::atomic<std::int64_t> in_use{0};  ///< bytes
};

}  // namespace test
