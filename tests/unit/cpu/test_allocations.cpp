// SPDX-License-Identifier: Apache-2.0

// Kernels take memory from the run's workspace: from the second run on, nothing is allocated.

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "support/allocations.hpp"
#include "typeflow/operations.hpp"

namespace {

namespace tf = typeflow;

template <class X>
constexpr auto total(const X& x) {
  return sum(tf::cast<float>(x));
}

constexpr void sorts(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto wide = tf::cast<double>(x);
  auto half = tf::cast<tf::float16>(x);
  auto best = tf::top_k<5>(x);
  auto sorted = tf::sort<-1>(wide, {.descending = true});
  auto all = total(tf::sort<0>(x)) + total(tf::argsort<1>(half)) + total(best.values) +
             total(best.indices) + total(sorted) + total(gradients(sum(sorted * sorted), wide));
  all.named("total");
}

constexpr void moves(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto image = tf::reshape<tf::batch, 10, 10, 3>(x);
  auto turned = tf::transpose<0, 3, 1, 2>(image);
  auto all = total(turned * turned) + total(tf::roll<0, 1>(x, {1, 7}) * x) +
             total(tf::reverse<1>(x) * x) + total(tf::concat<1>(x, tf::reverse<0>(x)) * 2);
  all.named("total");
}

constexpr void windows(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto wide = tf::reshape<tf::batch, 10, 10, 3>(tf::cast<double>(x));
  auto image = tf::reshape<tf::batch, 10, 10, 3>(x);
  auto y = tf::lrn(image, {.depth_radius = 2});
  auto all =
      total(y) + total(gradients(sum(y * y), image)) + total(tf::lrn(wide, {.depth_radius = 100}));
  all.named("total");
}

constexpr void updates(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto table = tf::variable<tf::bfloat16, 300, 300>(g, "table", tf::uniform(-2, 2));
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  scatter_add(table, ids, tf::cast<tf::bfloat16>(x)).named("update");
  total(x).named("total");
}

constexpr void embeds(tf::Graph& g) {
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto y = tf::embedding<300, 20>(g, "words", ids);
  tf::GradientDescent{.rate = 0.1f}.minimize(total(y * y) + total(x)).named("update");
  total(y).named("total");
}

tf::Array<float, 2> rows(std::int64_t count) {
  tf::Array<float, 2> x({static_cast<std::size_t>(count), 300});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(i * 7919 % 1009);
  }
  return x;
}

constexpr auto fetch = [](auto& session, const auto& x) -> float {
  return session.template run<"total">(tf::feed<"x">(x));
};
constexpr std::array<std::int32_t, 9> ids = {5, 299, 5, 0, 1, 5, 2, 299, 7};
constexpr auto update = [](auto& session, const auto& x) -> float {
  return session.template run<"total", "update">(tf::feed<"x">(x), tf::feed<"ids">(ids));
};

/// The allocations of three runs after the first.
template <auto Model, auto Run>
long allocations_of() {
  tf::Variables variables;
  tf::Session<Model> session(variables);
  const auto x = rows(9);
  float sum = Run(session, x);
  const long before = allocations;
  for (int i = 0; i < 3; ++i) sum += Run(session, x);
  const long after = allocations;
  CHECK(sum == sum);
  return after - before;
}

}  // namespace

TEST_CASE("what sorts allocates nothing") { CHECK(allocations_of<sorts, fetch>() == 0); }
TEST_CASE("what moves elements allocates nothing") { CHECK(allocations_of<moves, fetch>() == 0); }
TEST_CASE("what adds up neighbouring channels allocates nothing") {
  CHECK(allocations_of<windows, fetch>() == 0);
}
TEST_CASE("embedding: runs allocate nothing") { CHECK(allocations_of<embeds, update>() == 0); }
TEST_CASE("what changes rows of 16-bit variables allocates nothing") {
  CHECK(allocations_of<updates, update>() == 0);
}
