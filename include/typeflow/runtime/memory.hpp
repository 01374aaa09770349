// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that targets give, and that frees itself.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Where the arenas of a target get their memory from. The host writes to it, too: constants.
class Memory {
 public:
  /// So many bytes, more than 0: 64-byte aligned, and zero. std::bad_alloc if there are none.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* data, std::int64_t bytes) noexcept = 0;

 protected:
  ~Memory() = default;
};

/// The memory of the process.
class HostMemory final : public Memory {
 public:
  std::byte* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    auto* const data = static_cast<std::byte*>(::operator new(size, std::align_val_t{alignment}));
    std::memset(data, 0, size);
    return data;
  }
  void release(std::byte* data, std::int64_t) noexcept override {
    ::operator delete(data, std::align_val_t{alignment});
  }

 private:
  static constexpr std::size_t alignment = 64;
};
inline constinit HostMemory host_memory{};

/// Bytes of a memory, which must outlive them.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size, Memory& memory = host_memory)
      : data_(size == 0 ? nullptr : memory.allocate(size), Free{&memory, size}) {}
  std::byte* data() const { return data_.get(); }
  std::int64_t size() const { return data_.get_deleter().size; }

 private:
  struct Free {
    Memory* memory;
    std::int64_t size;
    void operator()(std::byte* p) const { memory->release(p, size); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
