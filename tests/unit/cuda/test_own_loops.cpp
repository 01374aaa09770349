// SPDX-License-Identifier: Apache-2.0

// Operations of which each result element is a loop of its own, on a pretended GPU: bitcast,
// checks of numbers, searches, windows at computed places, reversed sequences.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <typeflow/cuda/bits.hpp>
#include <typeflow/cuda/compression.hpp>
#include <typeflow/cuda/indexing.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr void bits(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6>(g, "x");
  tf::bitcast<std::int32_t>(x).named("same_size");
  tf::bitcast<std::uint8_t>(x).named("smaller");
  tf::bitcast<double>(reshape<tf::batch, 3, 2>(x)).named("larger");
  tf::bitcast<std::int32_t>(tf::placeholder<float>(g, "scalar")).named("of_scalar");
  tf::compressed(x).named("compressed");
  tf::compressed(tf::placeholder<float, 3>(g, "fixed")).named("fixed_compressed");
}

template <class T, class I>
constexpr void moves(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 5, 8>(g, {"x", i});
  auto part = tf::placeholder<T, tf::batch, 2, 3>(g, {"part", i});
  auto row = tf::placeholder<I>(g, {"row", i});
  auto starts = tf::placeholder<I, 2>(g, {"starts", i});
  auto fixed = tf::placeholder<T, 7, 4>(g, {"fixed", i});
  tf::dynamic_slice<tf::batch, 2, 3>(x, 0, row, 1).named({"window", i});
  tf::dynamic_slice<3, 4>(fixed, starts).named({"fixed_window", i});
  tf::dynamic_update_slice(x, part, 0, row, 7).named({"updated", i});
  auto lengths = tf::cast<I>(tf::minimum(tf::placeholder<std::int32_t, tf::batch>(g, {"n", i}), 5));
  tf::reverse_sequence<1, 0>(x, lengths).named({"reversed", i});
  auto five = tf::cast<I>(tf::minimum(tf::placeholder<std::int32_t, 5>(g, {"five", i}), 8));
  tf::reverse_sequence<2, 1>(x, five).named({"reversed_inner", i});
  tf::roll<0, 1, 2>(x, {1, -2, 3}).named({"rolled", i});
}
constexpr void moved(tf::Graph& g) {
  moves<bool, std::int8_t>(g, 1);
  moves<tf::bfloat16, std::uint64_t>(g, 2);
  moves<float, std::int32_t>(g, 4);
  moves<double, std::int64_t>(g, 8);
}

template <class T>
constexpr void searches(tf::Graph& g, int i) {
  auto sorted = tf::sort<-1>(tf::placeholder<T, tf::batch, 17>(g, {"row", i}));
  auto values = tf::placeholder<T, tf::batch, 5>(g, {"values", i});
  searchsorted(sorted, values).named({"left", i});
  searchsorted(sorted, values, {.right = true}).named({"right", i});
  auto one = tf::placeholder<T, 1>(g, {"one", i});
  searchsorted(one, tf::placeholder<T, 3, 3>(g, {"square", i})).named({"in_one", i});
}
constexpr void searched(tf::Graph& g) {
  searches<float>(g, 0);
  searches<std::int32_t>(g, 1);
  searches<tf::float16>(g, 2);
}

template <class T>
constexpr void checked(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 7>(g, "x");
  auto keep = tf::placeholder<T>(g, "keep");
  check_numerics(x).named("y");
  dropout(x, {.keep = keep, .name = "dropped"});
}
constexpr void reversed(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto n = tf::placeholder<std::int32_t, tf::batch>(g, "n");
  tf::reverse_sequence<1, 0>(x, n).named("y");
}

template <auto Model>
using OnGpu = tf::Session<Model, tf::training, test::CudaTargetOnHost>;

}  // namespace

TEST_CASE("a GPU copies bits as the processor does") {
  for (const std::int64_t batch : {0, 1, 7}) test::check_cuda<bits>(batch, 0);
}
TEST_CASE("a GPU moves windows and sequences to computed places as the processor does") {
  for (const std::int64_t batch : {0, 1, 7}) test::check_cuda<moved>(batch, 0);
}
TEST_CASE("a GPU searches as the processor does") {
  for (const std::int64_t batch : {0, 1, 9}) test::check_cuda<searched>(batch, 0);
}

TEST_CASE_TEMPLATE("a GPU checks numbers as the processor does", T, float, double, tf::float16) {
  tf::Variables variables;
  OnGpu<checked<T>> session(variables, {.seed = 3});
  std::vector<T> x(7 * 300, T(2));
  CHECK(session.template run<"y">(tf::feed<"x">(x), tf::feed<"keep">(T(1))).size() == x.size());
  x[5] = T(std::numeric_limits<float>::quiet_NaN());
  x[1000] = T(-std::numeric_limits<float>::infinity());
  x[2000] = T(std::numeric_limits<float>::infinity());
  CHECK(message_of([&] {
          session.template run<"y">(tf::feed<"x">(x), tf::feed<"keep">(T(1)));
        }).find("1 NaN and 2 infinite among 2100 elements") != std::string::npos);
  x.assign(x.size(), T(1));
  CHECK(message_of([&] {
          session.template run<"dropped">(tf::feed<"x">(x), tf::feed<"keep">(T(1.5)));
        }).find("expected keep in (0, 1], got 1.500000") != std::string::npos);
}

TEST_CASE("of several lengths that are too large, a GPU reports the first") {
  tf::Variables variables;
  OnGpu<reversed> session(variables);
  for (const int rows : {10, 5000}) {
    CAPTURE(rows);
    std::vector<float> x(static_cast<std::size_t>(rows) * 4);
    std::vector<std::int32_t> n(static_cast<std::size_t>(rows), 3);
    n[8] = 6;
    n[9] = -1;
    n.back() = 5;
    CHECK(message_of([&] {
            session.run<"y">(tf::feed<"x">(x), tf::feed<"n">(n));
          }).find("length 6 at [8] is not in [0, 4]") != std::string::npos);
  }
}
