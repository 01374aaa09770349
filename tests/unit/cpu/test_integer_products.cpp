// SPDX-License-Identifier: Apache-2.0

// Products of bytes with sums of int32, against plain loops in int64; and of 16-bit numbers with
// sums of float.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/mixed_matmul.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent rows = tf::batch;
constexpr tf::Extent columns = tf::symbol<"width">;
constexpr tf::Extent depth = tf::symbol<"time">;

template <class X, class Y>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<X, 3, rows, depth>(g, "a");
  auto b = tf::placeholder<Y, 3, depth, columns>(g, "b");
  auto bias = tf::placeholder<float, columns>(g, "bias");
  auto y = tf::matmul<std::int32_t>(a, b).named("nn");
  auto at = tf::transpose<0, 2, 1>(a);
  auto bt = tf::transpose<0, 2, 1>(b);
  tf::matmul<std::int32_t, tf::transpose_a>(at, b).named("tn");
  tf::matmul<std::int32_t, tf::transpose_b>(a, bt).named("nt");
  tf::relu(tf::cast<float>(y) * 0.5f + bias).named("layer");
  auto one = tf::placeholder<Y, depth, columns>(g, "one");
  auto turned = tf::placeholder<Y, columns, depth>(g, "turned");
  tf::matmul<std::int32_t>(a, one).named("shared");
  tf::matmul<std::int32_t, tf::transpose_b>(a, turned).named("shared_turned");
}
template <class X, class Y>
constexpr void matrices(tf::Graph& g) {
  auto at = tf::placeholder<X, depth, rows>(g, "at");
  auto bt = tf::placeholder<Y, columns, depth>(g, "bt");
  auto b = tf::placeholder<Y, depth, columns>(g, "b");
  tf::matmul<std::int32_t, tf::transpose_both>(at, bt).named("tt");
  tf::matmul<std::int32_t, tf::transpose_a>(at, b).named("tn");
}

template <class T>
std::vector<T> bytes(std::int64_t count, unsigned seed, bool extreme) {
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(Limits::min(), Limits::max());
  std::vector<T> x(static_cast<std::size_t>(count));
  for (T& e : x) {
    const int n = number(random);
    e = static_cast<T>(!extreme ? n : n % 3 == 0 ? Limits::max() : Limits::min());
  }
  return x;
}

struct Size {
  std::int64_t m, n, k;
};

/// `count` products; b repeats if there is one.
template <class X, class Y>
std::vector<std::int32_t> multiplied(int count, Size s, const std::vector<X>& a,
                                     const std::vector<Y>& b) {
  std::vector<std::int32_t> y;
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t of_b = static_cast<std::int64_t>(b.size()) == s.k * s.n ? 0 : c * s.k * s.n;
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k) {
          sum += std::int64_t{a[static_cast<std::size_t>((c * s.m + i) * s.k + k)]} *
                 b[static_cast<std::size_t>(of_b + k * s.n + j)];
        }
        y.push_back(static_cast<std::int32_t>(sum));
      }
    }
  }
  return y;
}
template <class T>
std::vector<T> transposed(std::int64_t m, std::int64_t n, const std::vector<T>& x) {
  std::vector<T> y;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) y.push_back(x[static_cast<std::size_t>(i * n + j)]);
  }
  return y;
}
template <class Y>
auto list(const Y& y) {
  return std::vector(y.begin(), y.end());
}

template <class X, class Y>
void check() {
  // No multiples of vectors, tiles and groups; one of each; several blocks of the depth; nothing.
  constexpr Size sizes[] = {{1, 1, 1},     {2, 3, 5},   {9, 17, 4},     {65, 50, 131},
                            {70, 130, 66}, {1, 97, 70}, {100, 1, 1027}, {5, 33, 8300},
                            {130, 1, 64},  {1, 1, 65},  {1, 70, 129},   {67, 1, 3},
                            {0, 3, 2},     {4, 5, 0},   {1, 3, 0}};
  for (const int threads : {1, 3}) {
    tf::Variables variables;
    tf::Session<products<X, Y>> session(variables, {.threads = threads});
    tf::Session<matrices<X, Y>> of_matrices(variables, {.threads = threads});
    for (const Size s : sizes) {
      CAPTURE(s.m);
      CAPTURE(s.n);
      CAPTURE(s.k);
      for (const bool extreme : {false, true}) {
        const auto a = bytes<X>(3 * s.m * s.k, 1, extreme);
        const auto b = bytes<Y>(3 * s.k * s.n, 2, extreme);
        const auto one = bytes<Y>(s.k * s.n, 3, extreme);
        const auto turned = transposed(s.k, s.n, one);
        std::vector<float> bias(static_cast<std::size_t>(s.n));
        for (std::size_t j = 0; j < bias.size(); ++j) bias[j] = static_cast<float>(j) - 3;
        const auto [nn, tn, nt, layer, shared, shared_turned] =
            session.template run<"nn", "tn", "nt", "layer", "shared", "shared_turned">(
                tf::feed<"a">(a.data(), {3, s.m, s.k}), tf::feed<"b">(b.data(), {3, s.k, s.n}),
                tf::feed<"bias">(bias), tf::feed<"one">(one), tf::feed<"turned">(turned));
        const std::vector<std::int32_t> expected = multiplied(3, s, a, b);
        CHECK(list(nn) == expected);
        CHECK(list(tn) == expected);
        CHECK(list(nt) == expected);
        std::vector<float> follows;
        for (std::size_t i = 0; i < expected.size(); ++i) {
          follows.push_back(
              std::max(0.0f, static_cast<float>(expected[i]) * 0.5f + bias[i % bias.size()]));
        }
        CHECK(list(layer) == follows);
        const std::vector<std::int32_t> repeated = multiplied(3, s, a, one);
        CHECK(list(shared) == repeated);
        CHECK(list(shared_turned) == repeated);

        const std::vector<X> first(a.begin(), a.begin() + s.m * s.k);
        const auto at = transposed(s.m, s.k, first);
        const auto [tt, of_a] = of_matrices.template run<"tt", "tn">(
            tf::feed<"at">(at.data(), {s.k, s.m}), tf::feed<"bt">(turned.data(), {s.n, s.k}),
            tf::feed<"b">(one));
        const std::vector<std::int32_t> single = multiplied(1, s, first, one);
        CHECK(list(tt) == single);
        CHECK(list(of_a) == single);
      }
    }
  }
}

}  // namespace

TEST_CASE("products of bytes are exact in int32") {
  check<std::int8_t, std::int8_t>();
  check<std::uint8_t, std::int8_t>();
  check<std::int8_t, std::uint8_t>();
  check<std::uint8_t, std::uint8_t>();
}

namespace {
constexpr void long_sums(tf::Graph& g) {
  auto a = tf::placeholder<std::uint8_t, 2, depth>(g, "a");
  auto b = tf::placeholder<std::uint8_t, depth, 3>(g, "b");
  auto c = tf::placeholder<std::int8_t, depth, 3>(g, "c");
  tf::matmul<std::int32_t>(a, b).named("unsigned");
  tf::matmul<std::int32_t>(a, c).named("signed");
}
}  // namespace

TEST_CASE("sums of int32 wrap around") {
  constexpr std::int64_t k = 70003;  // 70003 * 255 * 255 = 4551945075
  const std::vector<std::uint8_t> a(2 * k, 255), b(3 * k, 255);
  const std::vector<std::int8_t> c(3 * k, -128);
  tf::Variables variables;
  tf::Session<long_sums> session(variables, {.threads = 1});
  const auto [large, negative] =
      session.run<"unsigned", "signed">(tf::feed<"a">(a), tf::feed<"b">(b), tf::feed<"c">(c));
  CHECK(list(large) == std::vector<std::int32_t>(6, 256977779));      // - 2^32
  CHECK(list(negative) == std::vector<std::int32_t>(6, 2010069376));  // -2284897920 + 2^32
  tf::Graph graph;
  long_sums(graph);
  const auto tensor = [](tf::DType type, tf::Dims dims, std::int64_t x) {
    tf::HostTensor t = tf::host_tensor(type, dims);
    for (tf::Number& n : t.elements) n.integer = x;
    return t;
  };
  const tf::HostTensors interpreted =
      tf::interpret(graph, {{"a", tensor(tf::DType::uint8, {2, {2, k}}, 255)},
                            {"b", tensor(tf::DType::uint8, {2, {k, 3}}, 255)},
                            {"c", tensor(tf::DType::int8, {2, {k, 3}}, -128)}});
  CHECK(interpreted.at("unsigned")[5].integer == 256977779);
  CHECK(interpreted.at("signed")[0].integer == 2010069376);
}

namespace {
constexpr void of_16_bits(tf::Graph& g) {
  auto a = tf::placeholder<tf::float16, 5, 40>(g, "a");
  auto b = tf::placeholder<tf::bfloat16, 40, 3>(g, "b");
  auto y = tf::matmul<float>(a, b).named("float");
  const auto [da, db] = tf::gradients(tf::sum(y), a, b);
  da.named("da");
  db.named("db");
  tf::matmul<double>(a, b).named("double");
}
constexpr void of_integers(tf::Graph& g) {
  auto a = tf::placeholder<std::int16_t, 5, 40>(g, "a");
  auto b = tf::placeholder<std::uint8_t, 40, 3>(g, "b");
  tf::matmul<std::int64_t>(a, b).named("y");
}
}  // namespace

TEST_CASE("products of 16-bit numbers and of other integers have the elements that are asked for") {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> number(-64, 64);
  std::vector<tf::float16> a;
  std::vector<tf::bfloat16> b;
  std::vector<std::int16_t> ia;
  std::vector<std::uint8_t> ib;
  for (int i = 0; i < 200; ++i) {
    ia.push_back(static_cast<std::int16_t>(number(random) * 500));
    a.push_back(tf::float16(static_cast<float>(number(random)) / 64));
  }
  for (int i = 0; i < 120; ++i) {
    ib.push_back(static_cast<std::uint8_t>(number(random) + 64));
    b.push_back(tf::bfloat16(static_cast<float>(number(random)) / 64));
  }
  tf::Variables variables;
  tf::Session<of_16_bits> session(variables, {.threads = 1});
  const auto [as_float, da, db, as_double] =
      session.run<"float", "da", "db", "double">(tf::feed<"a">(a), tf::feed<"b">(b));
  tf::Session<of_integers> integers(variables, {.threads = 1});
  const auto exact = integers.run<"y">(tf::feed<"a">(ia), tf::feed<"b">(ib));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;  // of multiples of 2^-12, exact in float, too
      std::int64_t of_integers = 0;
      for (std::size_t k = 0; k < 40; ++k) {
        sum += double(static_cast<float>(a[40 * i + k])) * double(static_cast<float>(b[3 * k + j]));
        of_integers += std::int64_t{ia[40 * i + k]} * ib[3 * k + j];
      }
      CHECK(list(as_float)[3 * i + j] == static_cast<float>(sum));
      CHECK(list(as_double)[3 * i + j] == sum);
      CHECK(list(exact)[3 * i + j] == of_integers);
    }
  }
  float of_a = 0;
  float of_b = 0;
  for (std::size_t j = 0; j < 3; ++j) of_a += static_cast<float>(b[j]);
  for (std::size_t i = 0; i < 5; ++i) of_b += static_cast<float>(a[40 * i]);
  CHECK(static_cast<float>(list(da)[0]) == static_cast<float>(tf::float16(of_a)));
  CHECK(static_cast<float>(list(db)[0]) == static_cast<float>(tf::bfloat16(of_b)));
}
