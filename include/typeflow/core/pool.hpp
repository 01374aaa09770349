// SPDX-License-Identifier: Apache-2.0
#pragma once

// A growable array for constant evaluation.
//
// Graphs are traced and rewritten while the compiler runs, and there std::vector costs five
// times as much as a plain array: every access is several evaluated calls. A Pool holds trivial
// records (no member initialisers: an uninitialised `new T[n]` is free), grows by doubling and
// hands out its pointer for loops.

#include <type_traits>
#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

template <class T>
class Pool {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>,
                "Pool<T>: T must be a trivial record");

 public:
  constexpr Pool() = default;
  constexpr Pool(const Pool& other) { assign(other); }
  constexpr Pool(Pool&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  constexpr Pool& operator=(const Pool& other) {
    if (this != &other) assign(other);
    return *this;
  }
  constexpr Pool& operator=(Pool&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  constexpr ~Pool() { delete[] data_; }

  /// `count` copies of `value`.
  constexpr Pool(int count, const T& value) {
    reserve(count);
    for (int i = 0; i < count; ++i) data_[i] = value;
    size_ = count;
  }

  /// `count` elements that hold nothing yet: to be written before they are read. As long as one is
  /// not, the pool can't grow beyond `capacity`: growing copies all.
  static constexpr Pool uninitialized(int count, int capacity = 0) {
    Pool pool;
    pool.reserve(capacity > count ? capacity : count);
    pool.size_ = count;
    return pool;
  }

  constexpr int size() const { return size_; }
  constexpr int capacity() const { return capacity_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T& operator[](int i) { return data_[i]; }
  constexpr const T& operator[](int i) const { return data_[i]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr T& back() { return data_[size_ - 1]; }

  /// Appends a copy and returns its index. The storage grows by four: while compiling, what is
  /// outgrown is kept by the compiler to the end, so that few large steps cost it the least.
  constexpr int push(const T& value) {
    if (size_ == capacity_) reserve(capacity_ < 16 ? 32 : 4 * capacity_);
    data_[size_] = value;
    return size_++;
  }
  /// Makes room for `count` more and returns the first of them, for the caller to fill.
  constexpr T* extend(int count) {
    const int first = size_;
    size_ += count;
    if (size_ > capacity_) {
      size_ = first;
      reserve(first + count > 4 * capacity_ ? first + count + 32 : 4 * capacity_);
      size_ = first + count;
    }
    return data_ + first;
  }
  constexpr void pop() { --size_; }
  /// Drops all from `size` on.
  constexpr void shrink(int size) { size_ = size; }
  constexpr void clear() { size_ = 0; }

  constexpr void reserve(int capacity) {
    if (capacity <= capacity_) return;
    T* const grown = new T[static_cast<unsigned long>(capacity)];
    for (int i = 0; i < size_; ++i) grown[i] = data_[i];
    delete[] data_;
    data_ = grown;
    capacity_ = capacity;
  }

 private:
  constexpr void assign(const Pool& other) {
    size_ = 0;
    reserve(other.size_);
    for (int i = 0; i < other.size_; ++i) data_[i] = other.data_[i];
    size_ = other.size_;
  }

  T* data_ = nullptr;
  int size_ = 0;
  int capacity_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
