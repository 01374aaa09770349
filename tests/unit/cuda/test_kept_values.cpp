// SPDX-License-Identifier: Apache-2.0

// Folds whose elements need the results, in rows that keep values from pass to pass, and in rows
// that are too long for that.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

namespace tf = typeflow;

template <class T, tf::Extent N>
constexpr void floats(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, N>(g, {"x", i});
  auto y = tf::placeholder<T, tf::batch, N>(g, {"y", i});
  softmax(x).named({"softmax", i});
  log_softmax(x * y).named({"log_softmax", i});
  auto centered = x - tf::mean<-1>(x, tf::keep_dims);
  auto deviation = sqrt(tf::mean<-1>(square(centered), tf::keep_dims) + 1);
  (centered / deviation * y + x).named({"norm", i});
  (exp(x - tf::max<-1>(x, tf::keep_dims)) + x * y + tf::sum<-1>(y, tf::keep_dims))
      .named({"several", i});
  softmax(tf::dropout(x, {.keep = 0.75})).named({"random", i});
}
template <tf::Extent N>
constexpr void integers(tf::Graph& g, int i) {
  auto x = tf::placeholder<std::int8_t, tf::batch, N>(g, {"x", i});
  (x - tf::max<-1>(x, tf::keep_dims)).named({"below", i});
}

/// Rows of a warp, and of a block.
constexpr void kept(tf::Graph& g) {
  floats<float, 1>(g, 0);
  floats<float, 33>(g, 1);
  floats<float, 1024>(g, 2);
  floats<float, 1025>(g, 3);
  floats<double, 700>(g, 4);
  floats<tf::bfloat16, 200>(g, 5);
  integers<5000>(g, 6);
}
/// Rows of which a block has room for one of one value, and those that have no room.
constexpr void long_rows(tf::Graph& g) {
  floats<float, 10240>(g, 0);
  floats<float, 10241>(g, 1);
  floats<double, 5121>(g, 2);
  integers<40961>(g, 3);
  integers<20000>(g, 4);  // in two chunks
}

}  // namespace

TEST_CASE("a GPU keeps values of a row between its passes") {
  for (const std::int64_t batch : {0, 1, 13}) test::check_cuda<kept>(batch, 4e-6);
}
TEST_CASE("a GPU reads rows anew that have no room to keep values") {
  for (const std::int64_t batch : {1, 3}) test::check_cuda<long_rows>(batch, 4e-6);
}
