// SPDX-License-Identifier: Apache-2.0

// Products of bfloat16 and half that kernels widen as they read them: the same bits as chains of
// multiplications and additions of the widened numbers in plain loops, for any number of threads.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/control_flow.hpp"
#include "typeflow/mixed_matmul.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent rows = tf::batch;
constexpr tf::Extent columns = tf::symbol<"width">;
constexpr tf::Extent depth = tf::symbol<"time">;

/// Of X and Y, with results of float.
template <class X, class Y>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<X, rows, depth>(g, "a");
  auto at = tf::placeholder<X, depth, rows>(g, "at");
  auto b = tf::placeholder<Y, depth, columns>(g, "b");
  auto bt = tf::placeholder<Y, columns, depth>(g, "bt");
  auto bias = tf::placeholder<float, columns>(g, "bias");
  const auto multiply = [](auto x, auto y) {
    return matmul(tf::cast<float>(x), tf::cast<float>(y));
  };
  multiply(a, b).named("nn");
  multiply(transpose(at), b).named("tn");
  multiply(a, transpose(bt)).named("nt");
  tf::matmul<tf::transpose_both>(tf::cast<float>(at), tf::cast<float>(bt)).named("tt");
  relu(multiply(a, b) + bias).named("layer");
}
template <class X>
constexpr void many(tf::Graph& g) {
  auto a = tf::placeholder<X, 3, rows, depth>(g, "a");
  auto b = tf::placeholder<X, 3, columns, depth>(g, "b");
  auto one = tf::placeholder<X, columns, depth>(g, "one");
  const auto x = tf::cast<float>(a);
  tf::matmul<tf::transpose_b>(x, tf::cast<float>(b)).named("each");
  tf::matmul<tf::transpose_b>(transpose<0, 2, 1>(transpose<0, 2, 1>(x)), tf::cast<float>(one))
      .named("shared");
}

float multiply_add(float a, float b, float c) {
#if defined(__FMA__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

struct Size {
  std::size_t m, n, k;
};

/// Numbers of both signs, denormals, zeros of both signs; with `wild`, a NaN and infinities.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed, bool wild) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-2, 2);
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(i % 11 == 3   ? -0.0f
                          : i % 13 == 5 ? std::ldexp(number(random), -16)
                                        : number(random));
  }
  if (wild && count > 2) {
    x[count / 2] = static_cast<T>(std::numeric_limits<float>::infinity());
    x[count - 1] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
  }
  return x;
}
template <class T>
std::vector<T> transposed(std::size_t m, std::size_t n, const std::vector<T>& x) {
  std::vector<T> y;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < m; ++i) y.push_back(x[i * n + j]);
  }
  return y;
}
/// (M,K) x (K,N); the operands begin at these elements.
template <class X, class Y>
std::vector<float> multiplied(Size s, const std::vector<X>& a, const std::vector<Y>& b,
                              std::size_t of_a = 0, std::size_t of_b = 0) {
  std::vector<float> y;
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < s.k; ++k) {
        sum = multiply_add(static_cast<float>(a[of_a + i * s.k + k]),
                           static_cast<float>(b[of_b + k * s.n + j]), sum);
      }
      y.push_back(sum);
    }
  }
  return y;
}
/// Equal bits; a NaN equals a NaN.
template <class Y>
bool same(const Y& y, const std::vector<float>& expected) {
  std::size_t i = 0;
  for (const float x : y) {
    if (i == expected.size()) return false;
    const float e = expected[i++];
    if (std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(e) &&
        !(std::isnan(x) && std::isnan(e))) {
      return false;
    }
  }
  return i == expected.size();
}

// One row or column; fewer and more rows than a task has; fewer and more columns than several
// panels; no multiples of vectors; rows a power of two apart; several blocks of the depth; nothing;
// an a that several tasks widen.
constexpr Size sizes[] = {{1, 1, 1},     {1, 7, 9},     {1, 427, 70},   {1, 3, 2051},
                          {5, 1, 13},    {67, 1, 512},  {33, 1, 4100},  {2, 17, 200},
                          {13, 250, 31}, {64, 49, 193}, {65, 48, 400},  {131, 210, 9},
                          {300, 5, 201}, {0, 3, 2},     {4, 5, 0},      {1, 5, 0},
                          {4, 1, 0},     {3, 0, 2},     {40, 201, 1100}};
// Matrices that no near cache holds, and vectors of columns in pairs.
constexpr Size large_sizes[] = {{1, 2501, 841}, {701, 1, 3001}, {1, 389, 300}};

template <class X, class Y>
void check(std::span<const Size> of = sizes) {
  for (const int threads : {1, 2, 3, 8}) {
    tf::Variables variables;
    tf::Session<products<X, Y>> session(variables, {.threads = threads});
    for (const Size s : of) {
      CAPTURE(s.m);
      CAPTURE(s.n);
      CAPTURE(s.k);
      for (const bool wild : {false, true}) {
        const auto a = numbers<X>(s.m * s.k, 1, wild);
        const auto b = numbers<Y>(s.k * s.n, 2, wild);
        const auto bias = numbers<float>(s.n, 3, false);
        const auto at = transposed(s.m, s.k, a);
        const auto bt = transposed(s.k, s.n, b);
        const auto m = static_cast<std::int64_t>(s.m);
        const auto n = static_cast<std::int64_t>(s.n);
        const auto k = static_cast<std::int64_t>(s.k);
        const auto [nn, tn, nt, tt, layer] = session.template run<"nn", "tn", "nt", "tt", "layer">(
            tf::feed<"a">(a.data(), {m, k}), tf::feed<"at">(at.data(), {k, m}),
            tf::feed<"b">(b.data(), {k, n}), tf::feed<"bt">(bt.data(), {n, k}),
            tf::feed<"bias">(bias.data(), {n}));
        std::vector<float> expected = multiplied(s, a, b);
        CHECK(same(nn, expected));
        CHECK(same(tn, expected));
        CHECK(same(nt, expected));
        CHECK(same(tt, expected));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const float x = expected[i] + bias[i % s.n];
          expected[i] = std::isnan(x) ? x : x > 0 ? x : 0.0f;
        }
        CHECK(same(layer, expected));
      }
    }
  }
}

template <class X>
void check_many() {
  for (const int threads : {1, 3}) {
    tf::Variables variables;
    tf::Session<many<X>> session(variables, {.threads = threads});
    for (const Size s : {Size{1, 9, 33}, Size{7, 1, 40}, Size{4, 4, 3}, Size{70, 50, 30}}) {
      CAPTURE(s.m);
      const auto a = numbers<X>(3 * s.m * s.k, 4, false);
      const auto b = numbers<X>(3 * s.n * s.k, 5, false);
      const auto one = numbers<X>(s.n * s.k, 6, false);
      const auto [each, shared] = session.template run<"each", "shared">(
          tf::feed<"a">(a.data(), {3, std::int64_t(s.m), std::int64_t(s.k)}),
          tf::feed<"b">(b.data(), {3, std::int64_t(s.n), std::int64_t(s.k)}), tf::feed<"one">(one));
      std::vector<float> of_each;
      std::vector<float> of_shared;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto begin = b.begin() + std::ptrdiff_t(i * s.n * s.k);
        const std::vector<X> part(begin, begin + std::ptrdiff_t(s.n * s.k));
        const auto add = [&](std::vector<float>& to, const std::vector<X>& bt) {
          const auto y = multiplied(s, a, transposed(s.n, s.k, bt), i * s.m * s.k);
          to.insert(to.end(), y.begin(), y.end());
        };
        add(of_each, part);
        add(of_shared, one);
      }
      CHECK(same(each, of_each));
      CHECK(same(shared, of_shared));
    }
  }
}

}  // namespace

namespace {
/// Products of few long rows and columns: their sums are of lanes and parts of the depth.
template <class X, class Y>
void check_deep() {
  for (const int threads : {1, 3}) {
    tf::Variables variables;
    tf::Session<products<X, Y>> session(variables, {.threads = threads});
    tf::Session<products<float, float>> of_floats(variables, {.threads = threads});
    for (const Size s : {Size{1, 1, 4099}, Size{3, 5, 20001}, Size{16, 2, 4096}}) {
      CAPTURE(s.k);
      const auto a = numbers<X>(s.m * s.k, 1, false);
      const auto b = numbers<Y>(s.k * s.n, 2, false);
      const auto bias = numbers<float>(s.n, 3, false);
      const auto m = static_cast<std::int64_t>(s.m);
      const auto n = static_cast<std::int64_t>(s.n);
      const auto k = static_cast<std::int64_t>(s.k);
      const auto run = [&](auto& in, const auto& left, const auto& right) {
        const auto at = transposed(s.m, s.k, left);
        const auto bt = transposed(s.k, s.n, right);
        const auto [nn, tn, nt, tt] = in.template run<"nn", "tn", "nt", "tt">(
            tf::feed<"a">(left.data(), {m, k}), tf::feed<"at">(at.data(), {k, m}),
            tf::feed<"b">(right.data(), {k, n}), tf::feed<"bt">(bt.data(), {n, k}),
            tf::feed<"bias">(bias.data(), {n}));
        const std::vector<float> y(nn.begin(), nn.end());
        CHECK(same(tn, y));
        CHECK(same(nt, y));
        CHECK(same(tt, y));
        return y;
      };
      const std::vector<float> wide_a(a.begin(), a.end());
      const std::vector<float> wide_b(b.begin(), b.end());
      const std::vector<float> expected = run(of_floats, wide_a, wide_b);
      CHECK(same(run(session, a, b), expected));
      const std::vector<float> chains = multiplied(s, wide_a, wide_b);
      for (std::size_t i = 0; i < chains.size(); ++i) {
        CHECK(std::abs(expected[i] - chains[i]) <= 1e-6f * static_cast<float>(s.k));
      }
    }
  }
}
}  // namespace

TEST_CASE("products of few long rows of half and of bfloat16 have the bits of float's") {
  check_deep<tf::float16, tf::float16>();
  check_deep<tf::bfloat16, tf::float16>();
}

TEST_CASE("products of half and of bfloat16 have the bits of float's") {
  check<tf::float16, tf::float16>();
  check<tf::bfloat16, tf::float16>();
  check<float, tf::bfloat16>();
  check<tf::float16, float>();
}

TEST_CASE("products of a vector and a large matrix of bfloat16 or half have the bits of float's") {
  check<tf::bfloat16, tf::float16>(large_sizes);
  check<tf::float16, tf::bfloat16>(large_sizes);
}

TEST_CASE("products of many matrices of half have the bits of float's") {
  check_many<tf::float16>();
}

namespace {
/// The weights are cast outside of the loop's body.
constexpr void in_loop(tf::Graph& g) {
  auto x = tf::placeholder<tf::float16, 3, 2, 40>(g, "x");
  auto w = tf::cast<float>(tf::placeholder<tf::float16, 40, 40>(g, "w"));
  auto [last, all] = tf::scan(
      [&](auto h, auto now) {
        auto next = tf::cast<tf::float16>(matmul(tf::cast<float>(h + now), w));
        return std::pair{next, next};
      },
      tf::zeros<tf::float16, 2, 40>(g), x);
  last.named("last");
}
}  // namespace

TEST_CASE("a loop's body widens what is outside of it") {
  const auto x = numbers<tf::float16>(3 * 2 * 40, 1, false);
  const auto w = numbers<tf::float16>(40 * 40, 2, false);
  tf::Variables variables;
  tf::Session<in_loop> session(variables, {.threads = 1});
  const auto last = session.run<"last">(tf::feed<"x">(x), tf::feed<"w">(w));
  std::vector<tf::float16> h(2 * 40, tf::float16(0.0f));
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < h.size(); ++i) {
      h[i] = tf::float16(static_cast<float>(h[i]) + static_cast<float>(x[t * h.size() + i]));
    }
    const std::vector<float> y = multiplied({2, 40, 40}, h, w);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = tf::float16(y[i]);
  }
  std::size_t i = 0;
  for (const tf::float16 value : last) CHECK(value.bits == h[i++].bits);
  CHECK(i == h.size());
}
