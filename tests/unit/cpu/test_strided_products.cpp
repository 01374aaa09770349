// SPDX-License-Identifier: Apache-2.0

// Products whose operands lie in larger tensors: the same bits as those of dense copies, which
// plain loops make, for any number of threads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/mixed_matmul.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent rows = tf::batch;
constexpr tf::Extent columns = tf::symbol<"width">;
constexpr tf::Extent depth = tf::symbol<"time">;

/// The sums of products of T.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::int32_t,
                               std::conditional_t<std::is_same_v<T, tf::bfloat16>, float, T>>;

template <tf::Transposed How, class T, class A, class B>
constexpr auto product(const A& a, const B& b) {
  if constexpr (std::is_same_v<T, Sum<T>>) {
    return tf::matmul<How>(a, b);
  } else {
    return tf::matmul<Sum<T>, How>(a, b);
  }
}

/// The four ways to read a and b.
template <class T, class A, class At, class B, class Bt>
constexpr void four(const A& a, const At& at, const B& b, const Bt& bt, tf::Label nn, tf::Label tn,
                    tf::Label nt, tf::Label tt) {
  product<tf::Transposed::neither, T>(a, b).named(nn);
  product<tf::transpose_a, T>(at, b).named(tn);
  product<tf::transpose_b, T>(a, bt).named(nt);
  product<tf::transpose_both, T>(at, bt).named(tt);
}

template <class T>
constexpr void products(tf::Graph& g) {
  // Three matrices side by side, and the same one after the other.
  auto a = tf::placeholder<T, rows, 3, depth>(g, "a");
  auto at = tf::placeholder<T, depth, 3, rows>(g, "at");
  auto b = tf::placeholder<T, depth, 3, columns>(g, "b");
  auto bt = tf::placeholder<T, columns, 3, depth>(g, "bt");
  auto dense_a = tf::placeholder<T, 3, rows, depth>(g, "dense_a");
  auto dense_at = tf::placeholder<T, 3, depth, rows>(g, "dense_at");
  auto dense_b = tf::placeholder<T, 3, depth, columns>(g, "dense_b");
  auto dense_bt = tf::placeholder<T, 3, columns, depth>(g, "dense_bt");
  // The third of each, as one matrix.
  const auto last = [](const auto& x) { return slice<tf::whole, 2>(x); };
  four<T>(last(a), last(at), last(b), last(bt), "nn", "tn", "nt", "tt");
  four<T>(slice<2>(dense_a), slice<2>(dense_at), slice<2>(dense_b), slice<2>(dense_bt), "dense_nn",
          "dense_tn", "dense_nt", "dense_tt");
  // All of them.
  const auto heads = [](const auto& x) { return transpose<1, 0, 2>(x); };
  four<T>(heads(a), heads(at), heads(b), heads(bt), "nn3", "tn3", "nt3", "tt3");
  four<T>(dense_a, dense_at, dense_b, dense_bt, "dense_nn3", "dense_tn3", "dense_nt3", "dense_tt3");
  // One operand is dense, or the same for all.
  product<tf::transpose_b, T>(heads(a), dense_bt).named("mixed");
  product<tf::Transposed::neither, T>(dense_a, heads(b)).named("mixed_b");
  product<tf::transpose_a, T>(heads(at), last(b)).named("shared");
  product<tf::transpose_a, T>(dense_at, slice<2>(dense_b)).named("dense_shared");
  // With an epilogue.
  abs(product<tf::transpose_b, T>(heads(a), heads(bt))).named("abs");
  abs(product<tf::transpose_b, T>(dense_a, dense_bt)).named("dense_abs");
}

struct Size {
  std::size_t m, n, k;
};

/// With `exact`, small whole numbers, whose sums have no rounding errors.
template <class T>
std::vector<T> drawn(std::mt19937& random, std::size_t count, bool exact) {
  std::vector<T> x(count);
  if constexpr (std::is_integral_v<T>) {
    for (T& e : x) e = static_cast<T>(random());
  } else {
    std::uniform_real_distribution<float> number(-1, 1);
    std::uniform_int_distribution<int> whole(-3, 3);
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = static_cast<T>(exact ? static_cast<float>(whole(random))
                                  : (i % 7 == 3 ? -0.0f : number(random)));
    }
    if (!exact && count > 8) {
      x[count / 2] = static_cast<T>(std::numeric_limits<float>::infinity());
      x[count - 1] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
  }
  return x;
}
/// (m,3,n) as (3,m,n).
template <class T>
std::vector<T> apart(const std::vector<T>& x, std::size_t m, std::size_t n) {
  std::vector<T> y;
  for (std::size_t part = 0; part < 3; ++part) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) y.push_back(x[(i * 3 + part) * n + j]);
    }
  }
  return y;
}
/// Equal bits, or both NaN.
template <class X, class Y>
bool equal(const X& x, const Y& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](auto p, auto q) {
    return std::memcmp(&p, &q, sizeof p) == 0 || (p != p && q != q);
  });
}

/// The third product of a (m,3,k) and b (k,3,n), by plain loops.
template <class T>
std::vector<Sum<T>> multiplied(Size s, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<Sum<T>> y;
  for (std::size_t i = 0; i < s.m; ++i) {
    for (std::size_t j = 0; j < s.n; ++j) {
      Sum<T> sum = 0;
      for (std::size_t k = 0; k < s.k; ++k) {
        sum += static_cast<Sum<T>>(a[(i * 3 + 2) * s.k + k]) *
               static_cast<Sum<T>>(b[(k * 3 + 2) * s.n + j]);
      }
      y.push_back(sum);
    }
  }
  return y;
}

template <class T>
void check(const std::vector<Size>& sizes) {
  std::vector<std::vector<Sum<T>>> first;
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    tf::Variables variables;
    tf::Session<products<T>> session(variables, {.threads = threads});
    std::mt19937 random(11);
    std::size_t number = 0;
    for (const Size s : sizes) {
      for (const bool exact : {false, true}) {
        CAPTURE(s.m);
        CAPTURE(s.n);
        CAPTURE(s.k);
        const auto a = drawn<T>(random, s.m * 3 * s.k, exact);
        const auto at = drawn<T>(random, s.k * 3 * s.m, exact);
        const auto b = drawn<T>(random, s.k * 3 * s.n, exact);
        const auto bt = drawn<T>(random, s.n * 3 * s.k, exact);
        const auto dense_a = apart(a, s.m, s.k);
        const auto dense_at = apart(at, s.k, s.m);
        const auto dense_b = apart(b, s.k, s.n);
        const auto dense_bt = apart(bt, s.n, s.k);
        const auto m = static_cast<std::int64_t>(s.m);
        const auto n = static_cast<std::int64_t>(s.n);
        const auto k = static_cast<std::int64_t>(s.k);
        const auto y =
            session.template run<"nn", "dense_nn", "tn", "dense_tn", "nt", "dense_nt", "tt",
                                 "dense_tt", "nn3", "dense_nn3", "tn3", "dense_tn3", "nt3",
                                 "dense_nt3", "tt3", "dense_tt3", "mixed", "dense_nt3", "mixed_b",
                                 "dense_nn3", "shared", "dense_shared", "abs", "dense_abs">(
                tf::feed<"a">(a.data(), {m, 3, k}), tf::feed<"at">(at.data(), {k, 3, m}),
                tf::feed<"b">(b.data(), {k, 3, n}), tf::feed<"bt">(bt.data(), {n, 3, k}),
                tf::feed<"dense_a">(dense_a.data(), {3, m, k}),
                tf::feed<"dense_at">(dense_at.data(), {3, k, m}),
                tf::feed<"dense_b">(dense_b.data(), {3, k, n}),
                tf::feed<"dense_bt">(dense_bt.data(), {3, n, k}));
        const auto compare = [&](auto i) {
          CAPTURE(i());
          CHECK(equal(std::get<2 * i()>(y), std::get<2 * i() + 1>(y)));
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          (compare(std::integral_constant<std::size_t, I>{}), ...);
        }(std::make_index_sequence<12>{});
        const auto& nn = std::get<0>(y);
        if (exact || std::is_integral_v<T>) CHECK(equal(nn, multiplied(s, a, b)));
        if (threads == 1) first.emplace_back(nn.begin(), nn.end());
        CHECK(equal(nn, first[number++]));
      }
    }
  }
}

// Vectors, many small products, tiles, deep ones, several blocks and panels, nothing.
const std::vector<Size> sizes = {
    {1, 1, 1},      {1, 1, 300},   {1, 7, 16},   {1, 300, 7},   {1, 203, 290}, {7, 1, 16},
    {300, 1, 7},    {203, 1, 291}, {1, 1, 4100}, {3, 5, 4111},  {16, 8, 4097}, {4, 5, 9},
    {12, 20, 4},    {9, 47, 130},  {5, 16, 16},  {100, 20, 32}, {66, 96, 33},  {67, 101, 64},
    {140, 97, 200}, {64, 64, 64},  {0, 5, 3},    {5, 0, 3},     {5, 4, 0},     {33, 130, 1100}};

TEST_CASE("products of parts of float tensors have the bits of dense ones") { check<float>(sizes); }
TEST_CASE("products of parts of double tensors have the bits of dense ones") {
  check<double>(sizes);
}
TEST_CASE("products of parts of bfloat16 tensors have the bits of dense ones") {
  check<tf::bfloat16>(sizes);
}
TEST_CASE("products of parts of int8 tensors have the bits of dense ones") {
  check<std::int8_t>(sizes);
}
TEST_CASE("a product of a large part reads it ahead") {
  check<float>({{13, 1040, 1030}, {130, 50, 4100}, {4200, 130, 140}});
}

TEST_CASE("a product of heads whose copy would have more rows has the bits of the copy") {
  static constexpr auto of_heads = [](tf::Graph& g, bool copies) {
    auto a = placeholder<float, tf::batch, 2, 3, 4200>(g, "a");
    auto b = placeholder<float, tf::batch, 1, 4200, 4>(g, "b");
    auto heads = tf::transpose<0, 2, 1, 3>(a);
    if (copies) heads.named("heads");
    matmul(heads, b).named("y");
  };
  static constexpr auto in_place = [](tf::Graph& g) { of_heads(g, false); };
  static constexpr auto copied = [](tf::Graph& g) { of_heads(g, true); };
  std::vector<float> a(2 * 3 * 4200);
  std::vector<float> b(4200 * 4);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(-1, 1);
  for (float& x : a) x = number(random);
  for (float& x : b) x = number(random);
  tf::Variables variables;
  tf::Session<in_place> one(variables);
  tf::Session<copied> other(variables);
  const auto y = one.run<"y">(tf::feed<"a">(a), tf::feed<"b">(b));
  const auto [heads, expected] = other.run<"heads", "y">(tf::feed<"a">(a), tf::feed<"b">(b));
  CHECK(heads.size() == a.size());
  CHECK(std::equal(y.begin(), y.end(), expected.begin()));
}

}  // namespace
