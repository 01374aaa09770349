// SPDX-License-Identifier: Apache-2.0

// Random numbers in the registers of one instruction set, against the elements that the operations
// define one by one. CMakeLists.txt builds this file once for each instruction set.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <typeflow/cpu/apply.hpp>
#include <typeflow/graph.hpp>
#include <typeflow/operations.hpp>

namespace {

namespace tf = typeflow;
namespace cpu_kernels = tf::cpu_kernels;

template <bool Wide>
using Lanes = cpu_kernels::Lanes<Wide, cpu_kernels::DefaultArch>;

constexpr std::uint32_t path_low = 0x89ABCDEFu;
constexpr std::uint32_t path_high = 0x01234567u;
constexpr tf::RandomState states[] = {
    {7, 0}, {0xFEDCBA9876543210u, 3}, {1, 0x8000000000000001u}, {2, 0xFFFFFFFFFFFFFFFFu}};

/// How many of `registers` registers from `first` on differ from the elements in a bit.
template <bool Wide, class T, class O>
int differing(const O& op, std::int64_t first, int registers) {
  using L = Lanes<Wide>;
  int wrong = 0;
  for (const tf::RandomState& random : states) {
    for (int k = 0; k < registers; ++k) {
      const std::int64_t index = first + k * L::size;
      const auto drawn = cpu_kernels::draw_lanes<L, T>(op, random, index);
      const auto all = L::template elements<T>(drawn);
      for (int i = 0; i < L::size; ++i) {
        const T expected = op.template element<T>(random, index + i);
        if constexpr (tf::detail::is_half<T>) {
          wrong += all.v[i].bits != expected.bits;
        } else {
          wrong += !(all.v[i] == expected);
        }
      }
    }
  }
  return wrong;
}

/// First elements: inside of a block and of a register, and where an index fills both of its words.
constexpr std::int64_t firsts[] = {0, 1, 5, 1003, 0xFFFFFFF9, 0x123456789ABCDEF};

}  // namespace

TEST_CASE("registers of random integers have the numbers of their elements") {
  const auto check = []<bool Wide, class T>(std::int64_t low, std::uint64_t range) {
    const tf::ops::RandomInteger op{{}, path_low, path_high, low, range};
    for (const std::int64_t first : firsts) {
      CAPTURE(low);
      CAPTURE(range);
      CAPTURE(first);
      CHECK(differing<Wide, T>(op, first, 20) == 0);
    }
  };
  for (const std::uint64_t range : {1u, 2u, 1000u, 0x7FFFFFFFu, 0x80000001u, 0xFFFFFFFFu}) {
    check.operator()<false, std::int32_t>(-5, range);
    check.operator()<false, std::uint32_t>(0, range);
    check.operator()<true, std::int32_t>(3, range);
    check.operator()<true, std::int64_t>(-3'000'000'000'000'000'000, range);
    check.operator()<true, std::uint64_t>(17, range);
  }
  for (const std::uint64_t range :
       {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1, ~std::uint64_t{0}}) {
    check.operator()<true, std::int64_t>(-9, range);
    check.operator()<true, std::uint64_t>(0, range);
  }
  check.operator()<false, std::int8_t>(-128, 255);
  check.operator()<false, std::uint8_t>(1, 255);
  check.operator()<false, std::int16_t>(-300, 601);
  check.operator()<true, std::uint16_t>(0, 65535);
}

TEST_CASE("registers of truncated normals have the numbers of their elements") {
  const tf::ops::RandomTruncatedNormal op{{}, path_low, path_high};
  for (const std::int64_t first : firsts) {
    CAPTURE(first);
    CHECK(differing<false, float>(op, first, 300) == 0);
    CHECK(differing<true, float>(op, first, 300) == 0);
    CHECK(differing<true, double>(op, first, 300) == 0);
    CHECK(differing<false, tf::bfloat16>(op, first, 100) == 0);
    CHECK(differing<false, tf::float16>(op, first, 100) == 0);
  }
}

TEST_CASE("truncated normals do not depend on the order in which they are asked for") {
  const tf::ops::RandomTruncatedNormal op{{}, path_low, path_high};
  const tf::ops::RandomTruncatedNormal other{{}, path_low, path_high + 1};
  CHECK(differing<false, float>(op, 0, 5000) == 0);  // in order: more and more at a time
  for (const std::int64_t first : {4000, 3999, 1, 0, 255, 256, 4000, 4256, 77}) {
    CAPTURE(first);
    CHECK(differing<false, float>(op, first, 1) == 0);
    CHECK(differing<true, double>(op, first + 9, 3) == 0);
    CHECK(differing<false, float>(other, first, 40) == 0);
  }
}

TEST_CASE("points near the normal curve are below it where std::exp says so") {
  using L = Lanes<true>;
  int wrong = 0;
  int below = 0;
  int points = 0;
  for (double at = -2; at <= 2; at += 0x1p-9) {
    for (const std::int64_t steps : {-200, -91, -3, -1, 0, 1, 2, 90, 200}) {
      double x[L::size];
      double y[L::size];
      for (int i = 0; i < L::size; ++i) {
        x[i] = at / (1 + 0.01 * i);
        const double bell = std::exp(-0.5 * x[i] * x[i]);
        y[i] = std::bit_cast<double>(std::bit_cast<std::int64_t>(bell) + steps * (i + 1));
      }
      const auto is_below = cpu_kernels::below_bell<L>(L::load(x), L::load(y));
      for (int i = 0; i < L::size; ++i) {
        const bool expected = y[i] < std::exp(-0.5 * x[i] * x[i]);
        wrong += is_below.v[i] != (expected ? -1 : 0);
        below += expected;
        ++points;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(below * 9 == points * 4);  // those with negative steps
}
