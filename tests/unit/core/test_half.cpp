// SPDX-License-Identifier: Apache-2.0

// 16-bit floating-point numbers: every value there and back, rounding against the compiler's own
// _Float16 and against a search for the nearest number.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/core/half.hpp"

namespace {

namespace tf = typeflow;

/// Doubles of all magnitudes, and those that lie between two halves or next to it.
template <class H>
std::vector<double> samples() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> out{0.0,     -0.0,      infinity, -infinity, 65504,  65519.999,
                          65520,   65535,     1e300,    1e-300,    5e-324, 0x1p-24,
                          0x1p-25, 0x1.8p-25, 0x1p-133, 0x1p-134,  3.4e38};
  test::Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const double x = random.uniform(-1, 1);
    out.push_back(std::ldexp(x, random.below(60) - 40));
    out.push_back(std::ldexp(x, random.below(300) - 150));
    const auto bits = static_cast<std::uint16_t>(random.below(0x7BFF));
    const double a = static_cast<float>(H::from_bits(bits));
    const double b = static_cast<float>(H::from_bits(static_cast<std::uint16_t>(bits + 1)));
    if (!std::isfinite(b)) continue;
    for (const double middle : {(a + b) / 2, std::nextafter((a + b) / 2, b)}) {
      out.push_back(middle);
      out.push_back(-middle);
    }
  }
  return out;
}

/// The number nearest to x among all, the one with an even last bit where two are as near.
template <class H>
std::uint16_t nearest(double x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000u : 0;
  const double magnitude = std::abs(x);
  std::uint16_t low = 0;
  std::uint16_t high = std::numeric_limits<H>::infinity().bits;
  const auto value = [](std::uint16_t bits) -> double {  // of infinity: what would come next
    if (bits != std::numeric_limits<H>::infinity().bits)
      return static_cast<float>(H::from_bits(bits));
    const double last = static_cast<float>(H::from_bits(static_cast<std::uint16_t>(bits - 1)));
    const double before = static_cast<float>(H::from_bits(static_cast<std::uint16_t>(bits - 2)));
    return last + (last - before);
  };
  if (magnitude >= value(high)) return static_cast<std::uint16_t>(sign | high);
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value(low);
  const double above = value(high) - magnitude;
  const bool up = above < below || (above == below && (low & 1u) != 0);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

template <class H>
void check_all() {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const H x = H::from_bits(static_cast<std::uint16_t>(bits));
    const float wide = x;
    if (std::isnan(wide)) {
      CHECK(std::isnan(static_cast<float>(H(wide))));
      continue;
    }
    if (H(wide).bits != bits || H(static_cast<double>(wide)).bits != bits) FAIL(bits);
  }
  for (const double x : samples<H>()) {
    const std::uint16_t expected = nearest<H>(x);
    if (H(x).bits != expected) FAIL(x, " becomes ", H(x).bits, " instead of ", expected);
    const float f = static_cast<float>(x);
    if (H(f).bits != nearest<H>(f)) FAIL(f, " becomes ", H(f).bits);
  }
}

}  // namespace

TEST_CASE("float16 holds every value that it converts to, and rounds to the nearest") {
  check_all<tf::float16>();
}

TEST_CASE("bfloat16 holds every value that it converts to, and rounds to the nearest") {
  check_all<tf::bfloat16>();
}

#ifdef __FLT16_MAX__
TEST_CASE("float16 agrees with the compiler's own type") {
  for (const double x : samples<tf::float16>()) {
    const auto own = static_cast<_Float16>(x);
    std::uint16_t bits;
    std::memcpy(&bits, &own, sizeof bits);
    if (tf::float16(x).bits != bits) FAIL(x, " becomes ", tf::float16(x).bits);
  }
}
#endif

TEST_CASE("limits of 16-bit numbers") {
  using F = std::numeric_limits<tf::float16>;
  using B = std::numeric_limits<tf::bfloat16>;
  CHECK(F::max() == 65504.0f);
  CHECK(F::lowest() == -65504.0f);
  CHECK(F::min() == 0x1p-14f);
  CHECK(F::denorm_min() == 0x1p-24f);
  CHECK(F::epsilon() == 0x1p-10f);
  CHECK(std::isinf(static_cast<float>(F::infinity())));
  CHECK(std::isnan(static_cast<float>(F::quiet_NaN())));
  CHECK(B::max() == 0x1.FEp127f);
  CHECK(B::min() == 0x1p-126f);
  CHECK(B::epsilon() == 0x1p-7f);
  CHECK(std::isinf(static_cast<float>(B::infinity())));
  CHECK(std::isnan(static_cast<float>(tf::bfloat16(std::nan("")))));
}
