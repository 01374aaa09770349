// SPDX-License-Identifier: Apache-2.0
#pragma once

// Extents: how long an axis is.
//
// Every extent is known to the compiler but for one symbol, tf::batch, whose value the feeds of
// a run give. An extent is an integer n >= 0 or k * batch; the latter is written as -k, so that
// a shape stays a list of plain integers, in types as in error messages: Shape<-1, 784> is
// [batch, 784], Shape<-4, 10> is [4*batch, 10].

#include <concepts>
#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

using Extent = std::int64_t;

/// k * batch. Converts to an Extent; other arithmetic than multiples does not compile.
struct Batch {
  Extent factor = 1;
  constexpr operator Extent() const { return -factor; }
};

/// The one run-time extent: `placeholder<float, tf::batch, 784>`, `4 * tf::batch`.
inline constexpr Batch batch{};

template <std::integral I>
constexpr Batch operator*(I k, Batch b) {
  return {static_cast<Extent>(k) * b.factor};
}
template <std::integral I>
constexpr Batch operator*(Batch b, I k) {
  return {static_cast<Extent>(k) * b.factor};
}
void operator*(Batch, Batch) = delete;
template <class T>
void operator+(Batch, T) = delete;
template <class T>
void operator+(T, Batch) = delete;
template <class T>
void operator-(Batch, T) = delete;
template <class T>
void operator-(T, Batch) = delete;
template <class T>
void operator/(Batch, T) = delete;
void operator-(Batch) = delete;

constexpr bool is_batch(Extent extent) { return extent < 0; }

/// A number of elements or bytes that 63 bits can't hold, or the largest that they can: what
/// checked_product and checked_sum give then. No machine has so much memory, so it is always an
/// error.
inline constexpr std::int64_t too_many = INT64_MAX;

/// a * b, of numbers >= 0; too_many instead of what overflows.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 31 == 0) return a * b;
  return b != 0 && a > too_many / b ? too_many : a * b;
}
/// a + b, of numbers >= 0; too_many instead of what overflows.
constexpr std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  return a > too_many - b ? too_many : a + b;
}

/// The extent in a run whose batch is `batch_size`.
constexpr std::int64_t resolve(Extent extent, std::int64_t batch_size) {
  return extent < 0 ? checked_product(-extent, batch_size) : extent;
}

/// A number of elements: coefficient * batch^power. Products are checked ones.
struct Count {
  std::int64_t coefficient = 1;
  int power = 0;

  constexpr void multiply(Extent extent) {
    coefficient = checked_product(coefficient, extent < 0 ? -extent : extent);
    power += extent < 0;
  }
  constexpr std::int64_t resolve(std::int64_t batch_size) const {
    std::int64_t count = coefficient;
    for (int i = 0; i < power; ++i) count = checked_product(count, batch_size);
    return count;
  }
  constexpr bool operator==(const Count&) const = default;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
