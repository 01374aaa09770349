// SPDX-License-Identifier: Apache-2.0

// Operations of which a session's threads share the loops: equal bits for 1, 2, 3 and 8 threads,
// and however the loops are divided. Tensors are so large that the loops are divided indeed.

#include <doctest/doctest.h>

#include <typeflow/operations.hpp>
#include <typeflow/random.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

template <class Y, class X>
constexpr void name_gradient(const Y& y, const X& x, tf::Label name) {
  gradients(sum(y * y), x).named(name);
}

constexpr void convolutions(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 14, 15, 24>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 24, 33>(g, "w");
  auto y = conv2d(x, w).named("y");
  name_gradient(y, x, "of_x");
  name_gradient(y, w, "of_w");
}

constexpr void convolutions_of_few_channels(tf::Graph& g) {
  constexpr tf::ConvOptions<2> options{.strides = {2, 2}};
  auto x = tf::placeholder<float, tf::batch, 61, 63, 3>(g, "x");
  auto w = tf::placeholder<float, 5, 5, 3, 17>(g, "w");
  auto y = conv2d<options>(x, w).named("y");
  name_gradient(y, x, "of_x");
  name_gradient(y, w, "of_w");
}

constexpr void depthwise_convolutions(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 31, 29, 19>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 19, 1>(g, "w");
  auto y = depthwise_conv2d(x, w).named("y");
  name_gradient(y, x, "of_x");
  name_gradient(y, w, "of_w");
}

constexpr void pools(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 31, 29, 19>(g, "x");
  auto most = tf::max_pool<3, 2>(x).named("most");
  auto mean = tf::avg_pool<3, 2>(x).named("mean");
  name_gradient(most, x, "of_most");
  name_gradient(mean, x, "of_mean");
}

constexpr void sorts(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 601>(g, "x");
  tf::sort<-1>(x).named("sorted");
  tf::sort<0>(x).named("columns");
  auto best = tf::top_k<5>(x);
  best.values.named("values");
  best.indices.named("indices");
  tf::sort<0>(tf::reshape<601 * tf::batch>(x)).named("long");
}

constexpr void indexing(tf::Graph& g) {
  auto x = tf::placeholder<float, 10, tf::batch, 37>(g, "x");
  auto rows = tf::placeholder<float, 10, 4001>(g, "rows");
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, "ids");
  auto taken = gather(x, ids).named("taken");
  auto inner = tf::gather<1>(rows, ids).named("inner");
  name_gradient(taken, x, "of_x");
  name_gradient(inner, rows, "of_rows");
  auto values = tf::reshape<tf::batch, 370>(tf::transpose<1, 0, 2>(x));
  tf::unsorted_segment_sum<10>(values, ids).named("sums");
  tf::unsorted_segment_max<10>(values, ids).named("most");
}

constexpr void movement(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 61, 67>(g, "x");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  tf::transpose<2, 0, 1>(x).named("transposed");
  tf::transpose<1, 0, 2>(x).named("rows");
  tf::reverse<2>(x).named("reversed");
  tf::roll<1, 2>(x, {5, -3}).named("rolled");
  tf::concat<2>(x, x * 2).named("joined");
  tf::pad<0, 0, 2, 3, 1, 0>(x, 7).named("padded");
  tf::reverse_sequence<1, 0>(x, lengths).named("sequences");
}

constexpr void cumulative(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 61, 67>(g, "x");
  auto sums = tf::cumsum<1>(x).named("sums");
  tf::cumsum<2>(x, {.exclusive = true, .reverse = true}).named("of_rows");
  tf::cumprod<0>(x * 0.5f).named("products");
  tf::cummax<2>(x).named("most");
  name_gradient(sums, x, "of_x");
}

constexpr void normalizations(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 11, 35>(g, "x");
  auto y = tf::lrn(x, {.depth_radius = 3}).named("y");
  name_gradient(y, x, "of_x");
}

constexpr void random_numbers(tf::Graph& g) {
  tf::random_uniform<float, 100, 4001>(g, "uniform");
  tf::random_normal<float, 100, 401>(g, "normal");
  tf::truncated_normal<float, 100, 401>(g, "truncated");
  auto x = tf::placeholder<float, tf::batch, 61>(g, "x");
  random_poisson(abs(x) * 3 + 1, "poisson");
}

constexpr void classifiers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
  auto wide = tf::placeholder<float, tf::batch, 301>(g, "wide");
  auto classes = tf::placeholder<std::int32_t, tf::batch>(g, "classes");
  tf::softmax(x).named("few");
  tf::log_softmax<0>(wide).named("columns");
  auto loss = softmax_cross_entropy(wide, classes).named("loss");
  gradients(sum(loss), wide).named("of_wide");
  auto other = softmax_cross_entropy(x, classes).named("other");
  gradients(sum(other), x).named("of_few");
}

}  // namespace

TEST_CASE("threads share convolutions and their gradients") {
  CHECK(test::check_threads<convolutions>(23) >= 3);
  CHECK(test::check_threads<convolutions_of_few_channels>(9) >= 3);
  CHECK(test::check_threads<depthwise_convolutions>(9) >= 3);
}
TEST_CASE("threads share pools and their gradients") { CHECK(test::check_threads<pools>(9) >= 4); }
TEST_CASE("threads share sorts") { CHECK(test::check_threads<sorts>(103) >= 5); }
TEST_CASE("threads share gathers, and sums at indices") {
  CHECK(test::check_threads<indexing>(2003) >= 6);
}
TEST_CASE("threads share what moves elements") { CHECK(test::check_threads<movement>(41) >= 7); }
TEST_CASE("threads share cumulative operations") {
  CHECK(test::check_threads<cumulative>(41) >= 5);
}
TEST_CASE("threads share sums over neighbouring channels") {
  CHECK(test::check_threads<normalizations>(37) >= 2);
}
TEST_CASE("threads share random numbers") { CHECK(test::check_threads<random_numbers>(701) >= 4); }
TEST_CASE("threads share softmax and cross entropy") {
  CHECK(test::check_threads<classifiers>(4007) >= 4);
}
