// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strings are views of bytes; this says who owns the bytes. Those of a feed are the caller's, those
// of a constant the program's. Bytes that kernels make are kept until the end of the run; their
// memory is there for the next run. Each element of a variable owns its bytes.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The bytes of strings that a run makes. They live until its results have been copied. Only the
/// thread that calls kernels uses it.
class Characters {
 public:
  Characters() = default;
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;
  ~Characters() {
    release_from(0);
    delete[] blocks_;
  }

  /// Room for `size` bytes; throws std::bad_alloc.
  char* allocate(std::size_t size) {
    if (size > capacity_of_room_ - used_) add_room(size);
    char* const bytes = room_ + used_;
    used_ += size;
    return bytes;
  }
  /// Puts bytes behind the `size` ones that the last call of allocate() or append() returned.
  /// Returns where they begin now; throws std::bad_alloc.
  char* append(char* begin, std::size_t size, std::string_view bytes) {
    if (bytes.empty()) return begin;
    if (bytes.size() > capacity_of_room_ - used_) {
      char* const old = begin;
      add_room(size + bytes.size());
      begin = room_;
      std::copy(old, old + size, begin);
      used_ = size;
    }
    std::memcpy(begin + size, bytes.data(), bytes.size());
    used_ += bytes.size();
    return begin;
  }
  /// Takes over the bytes of a variable's element, because the run may still have views of them.
  void take(std::string_view owned) {
    if (owned.data() == nullptr) return;
    reserve(1);
    blocks_[size_++] = const_cast<char*>(owned.data());
  }
  /// Reserves room for `count` calls of take(), which then cannot fail.
  TYPEFLOW_COLD void reserve(std::size_t count) {
    if (size_ + count <= capacity_) return;
    const std::size_t capacity = size_ + std::max(count, size_);
    char** const grown = new char*[capacity];
    std::copy(blocks_, blocks_ + size_, grown);
    delete[] blocks_;
    blocks_ = grown;
    capacity_ = capacity;
  }
  /// Frees what was taken over. Keeps one room, as large as all that were needed together.
  void clear() {
    if (keep_room_ != nullptr) return keep_room_(*this);
    release_from(0);
  }

 private:
  void release_from(std::size_t first) {
    for (; size_ > first; --size_) delete[] blocks_[size_ - 1];
  }
  /// Goes on in a larger room. The one before is freed at the end of the run.
  TYPEFLOW_COLD void add_room(std::size_t size) {
    reserve(1);
    const std::size_t capacity = std::max(size, 2 * capacity_of_room_);
    blocks_[size_] = room_ = new char[capacity];
    place_of_room_ = size_++;
    capacity_of_room_ = capacity;
    used_ = 0;
    needed_ += capacity;
    keep_room_ = &keep_room;
  }
  /// If memory runs out, the next run adds its rooms itself.
  TYPEFLOW_COLD static void keep_room(Characters& x) {
    std::swap(x.blocks_[0], x.blocks_[x.place_of_room_]);
    x.place_of_room_ = 0;
    x.used_ = 0;
    x.release_from(1);
    if (x.needed_ == x.capacity_of_room_) return;
    delete[] x.room_;
    x.blocks_[0] = x.room_ = new (std::nothrow) char[x.needed_];
    if (x.room_ == nullptr) x.needed_ = 0;
    x.capacity_of_room_ = x.needed_;
  }

  char** blocks_ = nullptr;  // owned: rooms, and what was taken over
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  char* room_ = nullptr;  // one of the blocks
  std::size_t place_of_room_ = 0;
  std::size_t capacity_of_room_ = 0;
  std::size_t used_ = 0;
  std::size_t needed_ = 0;  // bytes of all rooms of a run
  /// Set once there is a room: programs that make no strings have no code for it.
  void (*keep_room_)(Characters&) = nullptr;
};

namespace detail {

inline void release(std::string_view owned) { delete[] owned.data(); }

/// Sets elements that own their bytes to copies of `values`, of equal number, and calls
/// dispose(old) for their old bytes. If memory runs out, nothing has changed.
template <class Dispose>
void replace_strings(std::span<std::string_view> elements, const std::string_view* values,
                     const Dispose& dispose) {
  std::vector<std::unique_ptr<char[]>> copies(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (values[i].empty()) continue;
    copies[i].reset(new char[values[i].size()]);
    std::memcpy(copies[i].get(), values[i].data(), values[i].size());
  }
  std::vector<std::size_t> sizes(elements.size());  // `values` may be the elements
  for (std::size_t i = 0; i < elements.size(); ++i) sizes[i] = values[i].size();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    dispose(std::exchange(elements[i], std::string_view(copies[i].get(), sizes[i])));
    copies[i].release();
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
