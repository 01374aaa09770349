// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors for tests: made of lists or of random numbers, and compared.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/interpret/host_tensor.hpp"

namespace test {

namespace tf = typeflow;

/// A small generator whose numbers are the same everywhere: splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 1) {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in 0 .. count - 1.
  int below(int count) { return static_cast<int>(bits() % static_cast<std::uint64_t>(count)); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

 private:
  std::uint64_t state_;
};

inline tf::Dims dims(const std::vector<tf::Extent>& extents) {
  tf::Dims out{};
  for (const tf::Extent e : extents) out.append(e);
  return out;
}

/// A tensor of these elements, in row-major order.
inline tf::HostTensor tensor(tf::DType type, const std::vector<tf::Extent>& extents,
                             const std::vector<double>& elements) {
  tf::HostTensor out = tf::host_tensor(type, dims(extents));
  if (elements.size() != out.elements.size()) throw tf::Error("test::tensor", "wrong count");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    out.set(static_cast<std::int64_t>(i), elements[i]);
  }
  return out;
}
inline tf::HostTensor doubles(const std::vector<tf::Extent>& extents,
                              const std::vector<double>& elements) {
  return tensor(tf::DType::float64, extents, elements);
}
inline tf::HostTensor floats(const std::vector<tf::Extent>& extents,
                             const std::vector<double>& elements) {
  return tensor(tf::DType::float32, extents, elements);
}
inline tf::HostTensor ints(const std::vector<tf::Extent>& extents,
                           const std::vector<double>& elements) {
  return tensor(tf::DType::int32, extents, elements);
}

/// Uniform random elements.
inline tf::HostTensor random_tensor(Random& random, tf::DType type, const tf::Dims& shape,
                                    double low, double high) {
  tf::HostTensor out = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, random.uniform(low, high));
  return out;
}

/// The elements as doubles.
inline std::vector<double> elements(const tf::HostTensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.value(i));
  return out;
}

/// The largest |a - b| / max(scale, |a|, |b|) over all elements; equal infinities and two NaN
/// differ by 0. Infinity if the types or shapes differ.
inline double difference(const tf::HostTensor& a, const tf::HostTensor& b, double scale = 1) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.dtype != b.dtype || !(a.dims == b.dims) || a.size() != b.size()) return infinity;
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.value(i);
    const double y = b.value(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double here = std::abs(x - y) / std::max({scale, std::abs(x), std::abs(y)});
    largest = std::isnan(here) ? infinity : std::max(largest, here);
  }
  return largest;
}

}  // namespace test
