// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers of 16 bits: all there are of a type, and how far a result is from what it should be.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "support/check_values.hpp"

namespace test {

/// All numbers of a 16-bit type: zeros, denormals, infinities and NaN among them.
inline constexpr tf::Extent halves = 65536;
template <class T>
tf::HostTensor all_halves() {
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, dims({halves}));
  for (std::int64_t i = 0; i < halves; ++i) {
    x[i] = tf::number_from(T::from_bits(static_cast<std::uint16_t>(i)));
  }
  return x;
}

/// How many numbers of T lie between two: next neighbours are 1 apart, and so are 0 and the
/// smallest denormal number.
template <class T>
int units_between(T a, T b) {
  const auto place = [](T x) {
    const int magnitude = x.bits & 0x7FFF;
    return (x.bits & 0x8000) != 0 ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

/// Every element is at most `units` numbers away from what is expected; NaN is where it should be.
/// A denormal float, and so a denormal bfloat16, may be 0.
template <class T>
void check_units(const std::string& name, const tf::HostTensor& got, const tf::HostTensor& expected,
                 int units) {
  INFO(name);
  REQUIRE(got.dtype == tf::dtype_of<T>);
  REQUIRE(expected.dtype == got.dtype);
  REQUIRE(got.dims == expected.dims);
  int wrong = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = got.value(i);
    const double b = expected.value(i);
    const bool flushed = std::abs(b) <= 0x1p-126 && std::abs(a) <= 0x1p-126;
    const bool same = std::isnan(b)
                          ? std::isnan(a)
                          : flushed || (!std::isnan(a) && units_between(T(a), T(b)) <= units);
    if (!same && wrong++ < 3) {
      INFO("element ", i, ": ", a, " instead of ", b);
      CHECK(same);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace test
