// SPDX-License-Identifier: Apache-2.0
#pragma once

// The memory of devices, and blocks of it that free themselves.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The memory of a device. Kernels on the device read and write it directly. Everything else uses
/// the functions below. By default they are those of the host's memory.
class Memory {
 public:
  /// `bytes` > 0 bytes, zero and aligned to 64 bytes; std::bad_alloc if there are none.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* data, std::int64_t bytes) noexcept = 0;

  /// Bytes that it gives out.
  struct Use {
    std::int64_t limit = 0;  ///< the most at one time; 0: none that it knows
    std::int64_t bytes = 0;  ///< at present, if there is a limit
  };
  virtual Use use() const { return {}; }

  /// Whether the host may read and write it directly. Then tensors of the host need no copy.
  virtual bool is_host() const { return true; }
  /// Copies from the host, to the host, and within the memory. The ranges do not overlap.
  virtual void copy_in(void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  virtual void copy_out(void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  virtual void copy(void* to, const void* from, std::int64_t bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  /// This memory, if its device works by itself (exec/asynchronous.hpp); else null.
  class AsynchronousMemory* asynchronous() const { return asynchronous_; }
  /// Sets bytes to zero.
  virtual void clear(void* data, std::int64_t bytes) {
    std::memset(data, 0, static_cast<std::size_t>(bytes));
  }

 protected:
  class AsynchronousMemory* asynchronous_ = nullptr;
  ~Memory() = default;
};

/// The memory of the process. Blocks of 4 MiB and more lie in huge pages, if the system has some.
class HostMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* data, std::int64_t bytes) noexcept override;
};
inline constinit HostMemory host_memory{};

/// Bytes from a Memory, which must outlive them.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size, Memory& memory = host_memory)
      : data_(size == 0 ? nullptr : memory.allocate(size)), size_(size), memory_(&memory) {}
  AlignedBytes(AlignedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        memory_(other.memory_) {}
  AlignedBytes& operator=(AlignedBytes other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~AlignedBytes() {
    if (data_ != nullptr) memory_->release(data_, size_);
  }

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  Memory* memory_ = &host_memory;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/exec/memory.ipp"
#endif
