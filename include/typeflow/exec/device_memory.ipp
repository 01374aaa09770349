// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/device_memory.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/runtime/local_devices.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The limit of these options in bytes; 0: none.
TYPEFLOW_COLD inline std::int64_t limit_of(const DeviceMemoryOptions& options) {
  const auto refuse = [](const char* option, const char* expected, const std::string& given) {
    throw Error(std::string("DeviceMemory: ") + option, expected, given);
  };
  std::int64_t limit = options.memory_limit;
  const double fraction = options.memory_fraction;
  if (limit < 0) refuse("memory_limit", "at least 0 bytes", std::to_string(limit));
  if (!(fraction >= 0 && fraction <= 1)) {
    refuse("memory_fraction", "a number from 0 to 1", std::to_string(fraction));
  }
  if (fraction > 0) {
    const std::int64_t all = host_bytes();
    if (all == 0) refuse("memory_fraction", "a system that tells its memory", "another one");
    const auto part = static_cast<std::int64_t>(fraction * static_cast<double>(all));
    if (limit == 0 || part < limit) limit = std::max<std::int64_t>(part, 1);
  }
  if (limit == 0 && !options.allow_growth) {
    refuse("allow_growth = false", "a memory_limit or memory_fraction to allocate", "none");
  }
  return limit;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION DeviceMemory::DeviceMemory(const DeviceMemoryOptions& options)
    : allocator_(options.allocator),
      limit_(detail::limit_of(options)),
      grows_(options.allow_growth) {
  if (grows_) return;
  limit_ = std::max(limit_ / exec::memory_alignment, std::int64_t{1}) * exec::memory_alignment;
  try {
    arena_ = take(limit_);
  } catch (const std::bad_alloc&) {
    throw Error("DeviceMemory",
                "no memory for the " + std::to_string(limit_) + " bytes of its arena");
  }
  blocks_.emplace(0, Block{limit_, true});
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION DeviceMemory::~DeviceMemory() {
  if (arena_ != nullptr) give(arena_, limit_);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::byte* DeviceMemory::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::byte* data = nullptr;
  if (grows_) {
    if (limit_ > 0 && bytes > limit_ - in_use_) throw std::bad_alloc();
    data = take(bytes);
  } else {
    // Best fit: the smallest free block that is large enough.
    bytes = exec::aligned_size(bytes);
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (!block->second.is_free || block->second.bytes < bytes) continue;
      if (best == blocks_.end() || block->second.bytes < best->second.bytes) best = block;
    }
    if (best == blocks_.end()) throw std::bad_alloc();
    const std::int64_t offset = best->first;
    if (const std::int64_t rest = best->second.bytes - bytes; rest > 0) {
      blocks_.emplace(offset + bytes, Block{rest, true});
    }
    best->second = {bytes, false};
    data = arena_ + offset;
  }
  in_use_ += bytes;
  std::memset(data, 0, static_cast<std::size_t>(bytes));
  return data;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void DeviceMemory::release(std::byte* data,
                                                             std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  if (grows_) {
    give(data, bytes);
    in_use_ -= bytes;
    return;
  }
  bytes = exec::aligned_size(bytes);
  in_use_ -= bytes;
  const auto own = blocks_.find(data - arena_);
  own->second.is_free = true;
  // Coalesces with free blocks behind it and before it.
  const auto merge = [&](auto first) {
    const auto second = std::next(first);
    if (second == blocks_.end() || !first->second.is_free || !second->second.is_free) return;
    first->second.bytes += second->second.bytes;
    blocks_.erase(second);
  };
  merge(own);
  if (own != blocks_.begin()) merge(std::prev(own));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Memory::Use DeviceMemory::use() const {
  const std::lock_guard lock(mutex_);
  return {limit_, in_use_};
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION std::int64_t DeviceMemory::reserved() const {
  const std::lock_guard lock(mutex_);
  return grows_ ? in_use_ : limit_;
}

/// Bytes of the allocator.
TYPEFLOW_COLD TYPEFLOW_DEFINITION std::byte* DeviceMemory::take(std::int64_t bytes) {
  if (allocator_ == nullptr) return host_memory.allocate(bytes);
  const auto size = static_cast<std::size_t>(bytes);
  constexpr auto alignment = static_cast<std::size_t>(exec::memory_alignment);
  void* const data = allocator_->allocate(size, alignment);
  if (data == nullptr) throw std::bad_alloc();
  const auto past = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(data) % alignment);
  if (past != 0) {
    allocator_->deallocate(data, size, alignment);
    throw Error("the allocator of a DeviceMemory",
                "an address aligned to " + std::to_string(alignment) + " bytes",
                "one " + std::to_string(past) + " bytes past that");
  }
  return static_cast<std::byte*>(data);
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void DeviceMemory::give(std::byte* data,
                                                          std::int64_t bytes) noexcept {
  if (allocator_ == nullptr) return host_memory.release(data, bytes);
  allocator_->deallocate(data, static_cast<std::size_t>(bytes),
                         static_cast<std::size_t>(exec::memory_alignment));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
