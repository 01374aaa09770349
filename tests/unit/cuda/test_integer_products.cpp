// SPDX-License-Identifier: Apache-2.0

// Products of bytes with int32 sums on a pretended GPU: against plain loops, and the processor's.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <typeflow/cuda/mixed_matmul.hpp>

namespace {

namespace tf = typeflow;

constexpr tf::Extent rows = tf::batch;
constexpr tf::Extent columns = tf::symbol<"width">;
constexpr tf::Extent depth = tf::symbol<"time">;

template <class X, class Y>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<X, 3, rows, depth>(g, "a");
  auto at = tf::placeholder<X, 3, depth, rows>(g, "at");
  auto b = tf::placeholder<Y, 3, depth, columns>(g, "b");
  auto bt = tf::placeholder<Y, 3, columns, depth>(g, "bt");
  auto one = tf::placeholder<Y, depth, columns>(g, "one");
  auto bias = tf::placeholder<float, columns>(g, "bias");
  tf::matmul<std::int32_t>(a, b).named("nn");
  tf::matmul<std::int32_t, tf::transpose_a>(at, b).named("tn");
  tf::matmul<std::int32_t, tf::transpose_b>(a, bt).named("nt");
  tf::matmul<std::int32_t, tf::transpose_both>(at, bt).named("tt");
  auto shared = tf::matmul<std::int32_t>(a, one).named("shared");
  tf::relu(tf::cast<float>(shared) * 0.5f + bias).named("layer");
}
constexpr void with_shapes(tf::Graph& g) {
  auto a = tf::placeholder<std::int8_t, tf::batch, 5, 9>(g, "a");
  auto b = tf::placeholder<std::uint8_t, 9, 70>(g, "b");
  auto y = tf::matmul<std::int32_t>(a, b);
  (y * 3 - 7).named("y");
  tf::matmul<std::int32_t, tf::transpose_b>(a, a).named("square");
}

/// Half of the numbers are the least and the largest.
template <class T>
std::vector<T> bytes(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(Limits::min(), Limits::max());
  std::vector<T> x(count);
  for (T& e : x) {
    const int n = number(random);
    e = static_cast<T>(n % 4 == 0 ? Limits::max() : n % 4 == 1 ? Limits::min() : n);
  }
  return x;
}
/// Each of `count` matrices m x n as n x m.
template <class T>
std::vector<T> turned(std::size_t count, std::size_t m, std::size_t n, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) y[(c * n + j) * m + i] = x[(c * m + i) * n + j];
    }
  }
  return y;
}
struct Size {
  std::size_t m, n, k;
};
/// Three products; b repeats if there is one. Sums modulo 2^32.
template <class X, class Y>
std::vector<std::int32_t> multiplied(Size s, const std::vector<X>& a, const std::vector<Y>& b) {
  std::vector<std::int32_t> y(3 * s.m * s.n);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t of_b = b.size() == s.k * s.n ? 0 : c * s.k * s.n;
    for (std::size_t i = 0; i < s.m; ++i) {
      for (std::size_t j = 0; j < s.n; ++j) {
        std::int64_t sum = 0;
        for (std::size_t p = 0; p < s.k; ++p) {
          sum += std::int64_t{a[(c * s.m + i) * s.k + p]} * b[of_b + p * s.n + j];
        }
        y[(c * s.m + i) * s.n + j] = static_cast<std::int32_t>(sum);
      }
    }
  }
  return y;
}
template <class Y>
auto list(const Y& y) {
  return std::vector(y.begin(), y.end());
}

template <class X, class Y>
void check() {
  using Model = test::Kernels<products<X, Y>, tf::inference, test::CudaTargetOnHost>;
  for (const tf::KernelEntry& entry :
       tf::detail::kernel_table<typename Model::Program, test::CudaTargetOnHost>) {
    CHECK((entry.run != nullptr));
  }
  tf::Variables variables;
  tf::Session<products<X, Y>, tf::inference, test::CudaTargetOnHost> session(variables);
  // No multiples of tiles and packets; packets; tiles; several blocks for a tile; nothing.
  for (const Size s :
       {Size{1, 1, 1}, Size{2, 3, 5}, Size{9, 17, 4}, Size{8, 12, 16}, Size{65, 70, 131},
        Size{64, 64, 32}, Size{5, 3, 1027}, Size{1, 97, 70}, Size{0, 3, 2}, Size{4, 5, 0}}) {
    CAPTURE(s.m);
    CAPTURE(s.n);
    CAPTURE(s.k);
    const auto a = bytes<X>(3 * s.m * s.k, 1);
    const auto b = bytes<Y>(3 * s.k * s.n, 2);
    const auto one = bytes<Y>(s.k * s.n, 3);
    const auto at = turned(3, s.m, s.k, a);
    const auto bt = turned(3, s.k, s.n, b);
    std::vector<float> bias(s.n);
    for (std::size_t j = 0; j < s.n; ++j) bias[j] = static_cast<float>(j) - 3;
    const auto [nn, tn, nt, tt, shared, layer] =
        session.template run<"nn", "tn", "nt", "tt", "shared", "layer">(
            tf::feed<"a">(a.data(), {3, std::int64_t(s.m), std::int64_t(s.k)}),
            tf::feed<"at">(at.data(), {3, std::int64_t(s.k), std::int64_t(s.m)}),
            tf::feed<"b">(b.data(), {3, std::int64_t(s.k), std::int64_t(s.n)}),
            tf::feed<"bt">(bt.data(), {3, std::int64_t(s.n), std::int64_t(s.k)}),
            tf::feed<"one">(one.data(), {std::int64_t(s.k), std::int64_t(s.n)}),
            tf::feed<"bias">(bias));
    const std::vector<std::int32_t> expected = multiplied(s, a, b);
    CHECK(list(nn) == expected);
    CHECK(list(tn) == expected);
    CHECK(list(nt) == expected);
    CHECK(list(tt) == expected);
    const std::vector<std::int32_t> repeated = multiplied(s, a, one);
    CHECK(list(shared) == repeated);
    for (std::size_t i = 0; i < repeated.size(); ++i) {
      const float y = static_cast<float>(repeated[i]) * 0.5f + bias[i % s.n];
      REQUIRE(layer.data()[i] == (y > 0 ? y : 0.0f));
    }
  }
}

constexpr void long_sums(tf::Graph& g) {
  auto a = tf::placeholder<std::uint8_t, 2, depth>(g, "a");
  auto b = tf::placeholder<std::uint8_t, depth, 3>(g, "b");
  auto c = tf::placeholder<std::int8_t, depth, 3>(g, "c");
  tf::matmul<std::int32_t>(a, b).named("unsigned");
  tf::matmul<std::int32_t>(a, c).named("signed");
}

}  // namespace

TEST_CASE("products of bytes are exact in int32") {
  check<std::int8_t, std::int8_t>();
  check<std::uint8_t, std::int8_t>();
  check<std::int8_t, std::uint8_t>();
  check<std::uint8_t, std::uint8_t>();
}

TEST_CASE("sums of int32 wrap around, also where several blocks share the depth") {
  constexpr std::size_t k = 70003;  // 70003 * 255 * 255 = 4551945075
  const std::vector<std::uint8_t> a(2 * k, 255), b(3 * k, 255);
  const std::vector<std::int8_t> c(3 * k, -128);
  tf::Variables variables;
  tf::Session<long_sums, tf::inference, test::CudaTargetOnHost> session(variables);
  const auto [large, negative] =
      session.run<"unsigned", "signed">(tf::feed<"a">(a), tf::feed<"b">(b), tf::feed<"c">(c));
  CHECK(list(large) == std::vector<std::int32_t>(6, 256977779));      // - 2^32
  CHECK(list(negative) == std::vector<std::int32_t>(6, 2010069376));  // -2284897920 + 2^32
}

TEST_CASE("products of bytes with what follows agree with the processor's") {
  for (const int batch : {0, 1, 7}) test::check_cuda<with_shapes>(batch, 0);
}
