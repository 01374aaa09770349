// SPDX-License-Identifier: Apache-2.0
#pragma once

// Aligned memory that frees itself.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// 64-byte aligned bytes, zero at first. std::bad_alloc if the machine does not have them.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::int64_t size)
      : data_(size == 0 ? nullptr
                        : static_cast<std::byte*>(::operator new(static_cast<std::size_t>(size),
                                                                 std::align_val_t{alignment}))),
        size_(size) {
    if (size > 0) std::memset(data_.get(), 0, static_cast<std::size_t>(size));
  }
  std::byte* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }

 private:
  static constexpr std::size_t alignment = 64;
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{alignment}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::int64_t size_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
