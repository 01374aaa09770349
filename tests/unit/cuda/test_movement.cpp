// SPDX-License-Identifier: Apache-2.0

// Transpose, slice, reverse, concat and pad on a pretended GPU: the same elements as on the
// processor, for elements of all sizes, short and long rows, and extents 0 and 1.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

namespace tf = typeflow;

struct Transposes {
  template <class T>
  static constexpr void of(tf::Graph& g, int i) {
    auto x = tf::placeholder<T, tf::batch, 33, 9>(g, {"x", i});
    transpose<2, 1, 0>(x).named({"reversed", i});
    transpose<0, 2, 1>(x).named({"last_two", i});
    transpose<1, 0, 2>(x).named({"first_two", i});
    transpose<1, 2, 0>(x).named({"batch_last", i});
    auto small = tf::placeholder<T, tf::batch, 2, 3>(g, {"small", i});
    transpose<2, 0, 1>(small).named({"small_last_first", i});
    transpose<1, 0>(tf::placeholder<T, 40, 70>(g, {"fixed", i})).named({"fixed_transposed", i});
  }
};
struct Windows {
  template <class T>
  static constexpr void of(tf::Graph& g, int i) {
    auto x = tf::placeholder<T, tf::batch, 10, 16>(g, {"whole", i});
    tf::slice<tf::whole, tf::range(1, 5), tf::range(3, 12)>(x).named({"part", i});
    tf::slice<tf::whole, tf::range(0, 10, 3), tf::range(1, 16, 5)>(x).named({"steps", i});
    tf::slice<tf::whole, 3>(x).named({"one", i});
    tf::slice<tf::whole, tf::every(-1), tf::every(-1)>(x).named({"backwards", i});
    tf::slice<tf::whole, tf::whole, tf::range(4, 12)>(x).named({"aligned", i});
    tf::reverse<0>(x).named({"reversed_batch", i});
    tf::reverse<1, 2>(x).named({"reversed_rows", i});
    tf::reverse<0>(tf::placeholder<T, 7>(g, {"fixed", i})).named({"fixed_reversed", i});
  }
};
struct Joins {
  template <class T>
  static constexpr void of(tf::Graph& g, int i) {
    auto x = tf::placeholder<T, tf::batch, 3, 4>(g, {"left", i});
    auto y = tf::placeholder<T, tf::batch, 3, 7>(g, {"right", i});
    auto empty = tf::placeholder<T, tf::batch, 3, 0>(g, {"empty", i});
    tf::concat<2>(x, y).named({"last", i});
    tf::concat<0>(x, x).named({"batches", i});
    tf::concat<1>(x, x, x).named({"middle", i});
    tf::concat<2>(empty, y, empty, x).named({"with_empty_ones", i});
    tf::stack<1>(x, x).named({"stack", i});
    tf::pad<0, 0, 1, 2, 0, 3>(x, 1).named({"pad", i});
    auto one = tf::placeholder<T, 1>(g, {"scalar", i});
    tf::pad<2, 1>(one).named({"pad_one", i});
    tf::pad<tf::batch, 0, 0, 0, 0, 0>(y).named({"pad_batch", i});
  }
};

/// Calls Part::of<T>(g, the size of T) for a T of each size.
template <class Part>
constexpr void of_all_sizes(tf::Graph& g) {
  Part::template of<bool>(g, 1);
  Part::template of<tf::float16>(g, 2);
  Part::template of<float>(g, 4);
  Part::template of<std::int64_t>(g, 8);
}
constexpr void transposed(tf::Graph& g) { of_all_sizes<Transposes>(g); }
constexpr void sliced(tf::Graph& g) { of_all_sizes<Windows>(g); }
constexpr void joined(tf::Graph& g) { of_all_sizes<Joins>(g); }

/// Gradients of slices are pads with steps; they add up in place.
constexpr void slice_gradients(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 10, 16>(g, "x");
  auto a = tf::slice<tf::whole, tf::range(1, 10, 3), tf::range(2, 9)>(x);
  auto b = tf::slice<tf::whole, tf::range(0, 5), tf::range(1, 16, 4)>(x);
  tf::gradients(sum(a * a) + sum(b * b * b), x).named("dx");
  tf::reverse<0>(tf::placeholder<float, 7>(g, "fixed")).named("fixed_reversed");
  tf::gradients(sum(square(tf::reverse<1>(x) * x)), x).named("dr");
}

constexpr void too_short(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  tf::slice<tf::range(1, 4)>(x).named("y");
}

}  // namespace

TEST_CASE("a GPU transposes as the processor does") {
  for (const std::int64_t batch : {0, 1, 2, 70}) test::check_cuda<transposed>(batch, 0);
}
TEST_CASE("a GPU reads windows as the processor does") {
  for (const std::int64_t batch : {0, 1, 5}) test::check_cuda<sliced>(batch, 0);
}
TEST_CASE("a GPU joins and pads as the processor does") {
  for (const std::int64_t batch : {0, 1, 5}) test::check_cuda<joined>(batch, 0);
}
TEST_CASE("a GPU computes gradients of slices as the processor does") {
  for (const std::int64_t batch : {0, 1, 6}) test::check_cuda<slice_gradients>(batch);
}
TEST_CASE("a window outside of a short batch is an error on a GPU, too") {
  tf::Variables variables;
  tf::Session<too_short, tf::inference, test::CudaTargetOnHost> session(variables);
  const std::vector<float> x(4);
  CHECK_THROWS_WITH(session.run<"y">(tf::feed<"x">(x)),
                    doctest::Contains("more than 3 elements along axis 0"));
}
