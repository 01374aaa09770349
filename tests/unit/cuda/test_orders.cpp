// SPDX-License-Identifier: Apache-2.0

// Sorts, selections, distinct elements and running sums on a pretended GPU, as on the processor.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

template <class T>
constexpr void sorts(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 13>(g, {"x", i});
  auto large = tf::placeholder<T, 2, 2600>(g, {"large", i});  // tiles are merged twice
  auto tile = tf::placeholder<T, 1024>(g, {"tile", i});
  tf::sort<-1>(x).named({"up", i});
  tf::argsort<-1>(x, {.descending = true}).named({"down", i});
  tf::sort<0>(x).named({"along_batch", i});
  tf::top_k<3>(x).values.named({"best", i});
  tf::argsort<-1>(large).named({"large_up", i});
  tf::top_k<5>(large).indices.named({"large_best", i});
  tf::argsort<0>(tile).named({"tile_up", i});
  tf::sort<0>(tf::placeholder<T, 1>(g, {"one", i})).named({"one_up", i});
}
constexpr void sorted(tf::Graph& g) {
  sorts<float>(g, 0);
  sorts<std::int64_t>(g, 1);
  sorts<std::uint8_t>(g, 2);
}
constexpr void sorted_more(tf::Graph& g) {
  sorts<double>(g, 0);
  sorts<std::int32_t>(g, 1);
  sorts<tf::float16>(g, 2);
}
/// With NaN and zeros of both signs.
constexpr void special(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch>(g, "x");
  tf::argsort<0>(x).named("up");
  tf::argsort<0>(x, {.descending = true}).named("down");
  tf::unique(x).index.named("index");
  tf::unique(x).values.named("values");
}
constexpr void top_gradient(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13>(g, "x");
  tf::gradients(sum(square(tf::top_k<4>(x).values)), x).named("dx");
}

constexpr void selections(tf::Graph& g) {
  auto mask = tf::placeholder<bool, tf::batch, 5, 7>(g, "mask");
  auto found = tf::where(mask);
  found.indices.named("indices");
  found.count.named("count");
  auto rows = tf::placeholder<bool, tf::batch>(g, "rows");
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto kept = tf::boolean_mask(x, rows);
  kept.values.named("kept");
  kept.count.named("kept_count");
  auto parts = tf::dynamic_partition<10>(x, tf::placeholder<std::int32_t, tf::batch>(g, "part"));
  parts[3].values.named("third");
  parts[3].count.named("third_count");
  auto large = tf::where(tf::placeholder<bool, 3000>(g, "large"));
  large.indices.named("large_indices");
}
template <class T>
constexpr void uniques(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch>(g, {"x", i});
  auto u = tf::unique(x);
  u.values.named({"values", i});
  u.index.named({"index", i});
  u.count.named({"count", i});
}
constexpr void distinct(tf::Graph& g) {
  uniques<std::int32_t>(g, 0);
  uniques<float>(g, 1);
  uniques<bool>(g, 2);
  uniques<tf::bfloat16>(g, 3);
  uniques<std::int64_t>(g, 4);
  tf::unique(tf::placeholder<std::int32_t, 5>(g, "fixed")).index.named("fixed_index");
}
constexpr void too_many(tf::Graph& g) {
  auto x = tf::placeholder<std::int32_t, tf::batch>(g, "x");
  tf::unique<3>(x).values.named("unique");
  tf::where<4>(equal(x, 1)).indices.named("where");
  tf::dynamic_partition<2>(x, x)[0].values.named("parts");
}

template <class T>
constexpr void running(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 5, 7>(g, {"x", i});
  tf::cumsum<1>(x).named({"sum", i});
  tf::cumsum<2>(x, {.exclusive = true, .reverse = true}).named({"sum_last", i});
  tf::cumprod<0>(x, {.exclusive = true}).named({"prod", i});
  tf::cumprod<2>(x).named({"prod_last", i});
  tf::cummax<1>(x, {.reverse = true}).named({"max", i});
  auto wide = tf::placeholder<T, 3, 40, 50>(g, {"wide", i});
  tf::cumsum<1>(wide, {.reverse = true}).named({"wide_sum", i});
  tf::cummin<2>(wide).named({"wide_min", i});
}
constexpr void run(tf::Graph& g) {
  running<float>(g, 0);
  running<std::int8_t>(g, 1);
  running<tf::float16>(g, 2);
}
template <class T>
constexpr void long_lines(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 3000>(g, {"x", i});
  tf::cumsum<1>(x).named({"sum", i});
  tf::cumsum<1>(x, {.exclusive = true, .reverse = true}).named({"back", i});
  tf::cummax<1>(x).named({"max", i});
  tf::cumsum<0>(tf::placeholder<T, 70000>(g, {"line", i})).named({"line_sum", i});
}
constexpr void scanned(tf::Graph& g) {
  long_lines<std::int32_t>(g, 0);
  long_lines<double>(g, 1);
}
constexpr void running_gradients(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6>(g, "x");
  tf::gradients(sum(square(tf::cumsum<1>(x))), x).named("dsum");
  tf::gradients(sum(square(tf::cumprod<1>(x))), x).named("dprod");
  tf::gradients(sum(square(tf::cummax<1>(x))), x).named("dmax");
}

template <auto Model, class Target>
using SessionOn = tf::Session<Model, tf::inference, Target>;

}  // namespace

TEST_CASE("a GPU sorts as the processor does") {
  for (const std::int64_t batch : {0, 1, 90}) test::check_cuda<sorted>(batch, 0);
  test::check_cuda<sorted_more>(7, 0);
  for (const std::int64_t batch : {1, 40}) test::check_cuda<top_gradient>(batch, 0);
}
TEST_CASE("a GPU orders NaN and zeros as the processor does") {
  std::vector<float> x;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (int i = 0; i < 300; ++i) {
    for (const float e : {nan, -0.0f, 3.0f, 0.0f, infinity, -1.0f, -infinity, -nan}) x.push_back(e);
  }
  tf::Variables variables;
  SessionOn<special, tf::CpuTarget<>> near(variables);
  SessionOn<special, test::CudaTargetOnHost> far(variables);
  const auto [up, down, index] = near.run<"up", "down", "index">(tf::feed<"x">(x));
  const auto [got_up, got_down, got_index] = far.run<"up", "down", "index">(tf::feed<"x">(x));
  CHECK(got_up == up);
  CHECK(got_down == down);
  CHECK(got_index == index);
}
TEST_CASE("a GPU selects elements as the processor does") {
  for (const std::int64_t batch : {0, 1, 100}) test::check_cuda<selections>(batch, 0);
}
TEST_CASE("a GPU finds distinct elements as the processor does") {
  for (const std::int64_t batch : {0, 1, 2, 1500}) test::check_cuda<distinct>(batch, 0);
}
TEST_CASE("a GPU reports more elements than expected as the processor does") {
  tf::Variables variables;
  SessionOn<too_many, tf::CpuTarget<>> near(variables);
  SessionOn<too_many, test::CudaTargetOnHost> far(variables);
  for (const std::size_t count : {20u, 4000u}) {
    CAPTURE(count);
    std::vector<std::int32_t> x(count, 1);
    x[5] = 7;
    x[11] = 3;
    x[12] = 4;
    const auto check = [&](const auto& run) {
      const std::string expected = message_of([&] { run(near); });
      CHECK(expected != "");
      CHECK(message_of([&] { run(far); }) == expected);
    };
    check([&](auto& session) { session.template run<"unique">(tf::feed<"x">(x)); });
    check([&](auto& session) { session.template run<"where">(tf::feed<"x">(x)); });
    check([&](auto& session) { session.template run<"parts">(tf::feed<"x">(x)); });
  }
}
TEST_CASE("a GPU computes running sums with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 9}) test::check_cuda<run>(batch, 0);
}
TEST_CASE("a GPU scans long lines by parts") {
  for (const std::int64_t batch : {1, 5, 300}) test::check_cuda<scanned>(batch, 1e-14);
}
TEST_CASE("a GPU computes gradients of running sums as the processor does") {
  for (const std::int64_t batch : {1, 9}) test::check_cuda<running_gradients>(batch);
}
