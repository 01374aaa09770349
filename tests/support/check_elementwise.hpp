// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise functions against references, element by element: within units in the last place, at
// ordinary and at extreme numbers.

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/check_values.hpp"

namespace test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The distance from 1 to the next number of a type, and its smallest normal number.
inline double epsilon(tf::DType type) {
  return type == tf::DType::float32 ? 0x1p-23 : type == tf::DType::float64 ? 0x1p-52 : 0;
}
inline double smallest(tf::DType type) {
  return type == tf::DType::float32 ? 0x1p-126 : type == tf::DType::float64 ? 0x1p-1022 : 0;
}

/// Every element is within `ulps` units in the last place and `absolute` of what is expected. NaN
/// and infinities are equal to themselves alone, denormal numbers may be flushed to zero.
inline void check_ulps(const std::string& name, const tf::HostTensor& got,
                       const tf::HostTensor& expected, double ulps, double absolute = 0) {
  INFO(name);
  REQUIRE(got.dtype == expected.dtype);
  REQUIRE(got.dims == expected.dims);
  int wrong = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = got.value(i);
    const double b = expected.value(i);
    const double bound = ulps * epsilon(got.dtype) * std::abs(b) + absolute + smallest(got.dtype);
    const bool integers = !tf::is_floating(got.dtype) && got[i].integer == expected[i].integer;
    const bool same = integers || (tf::is_floating(got.dtype) &&
                                   (a == b || (a != a && b != b) || std::abs(a - b) <= bound));
    if (!same && wrong++ < 3) {
      INFO("element ", i, ": ", a, " instead of ", b, ", off by ",
           std::abs(a - b) / std::abs(b) / epsilon(got.dtype), " ulps");
      CHECK(same);
    }
  }
  CHECK(wrong == 0);
}

/// Compares one named value of a model, interpreted and compiled, with what is expected.
inline void check_result(const TestedModel& model, const std::string& name,
                         const tf::HostTensors& feeds, const tf::HostTensor& expected, double ulps,
                         double absolute) {
  tf::Graph graph;
  model.trace(graph);
  {
    INFO("interpreted");
    check_ulps(name, tf::Interpreter(graph).run({name}, feeds)[0], expected, ulps, absolute);
  }
  INFO("kernels");
  const Outcome got = model.compiled(1)->run(feeds);
  REQUIRE(got.count(name) == 1);
  check_ulps(name, got.at(name), expected, ulps, absolute);
  check_parts(model, feeds);
  check_allocations(model, feeds);
}
template <auto Model>
void check_result(const std::string& name, const tf::HostTensors& feeds,
                  const tf::HostTensor& expected, double ulps, double absolute = 0) {
  check_result(tested<Model>(), name, feeds, expected, ulps, absolute);
}

/// Zeros, infinities, NaN, the ends of the range, halves and whole numbers; then, up to `count`,
/// random numbers of every magnitude from 1e-6 to 1e6.
inline tf::HostTensor extreme(tf::DType type, const tf::Dims& shape, std::uint64_t seed = 1) {
  const double largest = type == tf::DType::float32 ? double{std::numeric_limits<float>::max()}
                                                    : std::numeric_limits<double>::max();
  const std::vector<double> special{
      0,    -0.0, infinity, -infinity, nan,  largest, -largest, smallest(type), -smallest(type),
      1,    -1,   2,        -2,        3,    -3,      0.5,      -0.5,           1.5,
      -1.5, 2.5,  -2.5,     6,         -6,   3.5,     1e-5,     -1e-5,          1e-10,
      88,   -88,  1e4,      1e10,      -1e10};
  Random random(seed);
  tf::HostTensor x = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double magnitude = std::exp(random.uniform(-14, 14));
    x.set(i, at < special.size() ? special[at] : random.chance(0.5) ? magnitude : -magnitude);
  }
  return x;
}
/// Every pair of the numbers at which integers overflow, then random ones.
inline tf::HostTensor extreme_integers(tf::DType type, const tf::Dims& shape,
                                       std::uint64_t seed = 1) {
  Random random(seed);
  tf::HostTensor x = tf::host_tensor(type, shape);
  tf::visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool> && std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      const T special[] = {0, 1, static_cast<T>(-1), Limits::min(), Limits::max(), 2, 7};
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const T any = static_cast<T>(random.below(201) - 100);
        x[i] = tf::number_from(random.chance(0.5) ? special[random.below(7)] : any);
      }
    }
  });
  return x;
}

}  // namespace test
