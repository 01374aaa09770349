// SPDX-License-Identifier: Apache-2.0
#pragma once

// A growable array for constant evaluation.
//
// Graphs are traced and rewritten while the compiler runs. There std::vector costs five times as
// much as a plain array, because every access is several evaluated calls. A Pool holds trivial
// records: without member initialisers, an uninitialised `new T[n]` is free. It grows in few
// large steps, and gives its pointer to loops.

#include <type_traits>
#include <utility>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

template <class T>
class Pool {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>,
                "Pool<T>: T must be a trivial record");
  /// A number by value, which is cheaper to evaluate, and a record by reference.
  using Given = std::conditional_t<std::is_scalar_v<T>, T, const T&>;

 public:
  /// The elements. Public, since to read one by a function costs the compiler twice as much, and
  /// the loops of the passes do so for every node. Where f may grow the pool, write neither
  /// items[f()] nor items[i] = f(): g++ 12 reads the pointer first.
  T* items = nullptr;

  constexpr Pool() = default;
  constexpr Pool(const Pool& other) { assign(other); }
  constexpr Pool(Pool&& other) noexcept
      : items(std::exchange(other.items, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  constexpr Pool& operator=(const Pool& other) {
    if (this != &other) assign(other);
    return *this;
  }
  constexpr Pool& operator=(Pool&& other) noexcept {
    std::swap(items, other.items);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  constexpr ~Pool() { delete[] items; }

  /// `count` copies of `value`.
  constexpr Pool(int count, const T& value) {
    if (count > 0) items = new T[static_cast<unsigned long>(count)];
    for (int i = 0; i < count; ++i) items[i] = value;
    size_ = capacity_ = count;
  }

  /// `count` uninitialised elements. Write them before you read them. Until all are written, the
  /// pool must not grow beyond `capacity`, because growing copies all.
  static constexpr Pool uninitialized(int count, int capacity = 0) {
    Pool pool;
    pool.reserve(capacity > count ? capacity : count);
    pool.size_ = count;
    return pool;
  }

  constexpr int size() const { return size_; }
  constexpr int capacity() const { return capacity_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  constexpr T& operator[](int i) { return items[i]; }
  constexpr const T& operator[](int i) const { return items[i]; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + size_; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + size_; }
  constexpr T& back() { return items[size_ - 1]; }

  /// Appends a copy and returns its index.
  constexpr int push(Given value) {
    if (size_ == capacity_) reserve(grown_capacity());
    items[size_] = value;
    return size_++;
  }
  /// Makes room for `count` more and returns the first of them, for the caller to fill.
  constexpr T* extend(int count) {
    const int first = size_;
    size_ += count;
    if (size_ > capacity_) {
      size_ = first;
      reserve(first + count > grown_capacity() ? first + count + 32 : grown_capacity());
      size_ = first + count;
    }
    return items + first;
  }
  constexpr void pop() { --size_; }
  /// Drops all elements from `size` on.
  constexpr void shrink(int size) { size_ = size; }
  constexpr void clear() { size_ = 0; }

  constexpr void reserve(int capacity) {
    if (capacity <= capacity_) return;
    T* const grown = new T[static_cast<unsigned long>(capacity)];
    for (int i = 0; i < size_; ++i) grown[i] = items[i];
    delete[] items;
    items = grown;
    capacity_ = capacity;
  }

 private:
  /// A compiler copies element by element, and keeps what is outgrown to the end, while elements
  /// that nothing was written to cost it nothing: few large steps are cheapest.
  constexpr int grown_capacity() const {
    if (capacity_ < 16) return 32;
    return (std::is_constant_evaluated() && capacity_ < (1 << 20) ? 16 : 4) * capacity_;
  }
  constexpr void assign(const Pool& other) {
    size_ = 0;
    reserve(other.size_);
    for (int i = 0; i < other.size_; ++i) items[i] = other.items[i];
    size_ = other.size_;
  }

  int size_ = 0;
  int capacity_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
