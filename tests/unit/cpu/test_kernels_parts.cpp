// SPDX-License-Identifier: Apache-2.0

// Kernels that write into parts of concatenations and pads, or read gathered rows in place, against
// the interpreter; and sessions whose runs want the whole now in the caller's memory, now not at
// all.

#include <cmath>
#include <vector>

#include "docs/adding_an_operation.hpp"
#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

constexpr void elements(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 41>(g, "x");
  auto z = tf::placeholder<float, 3, tf::batch, 9>(g, "z");
  concat<2>(exp(x), z, 2.0f * z).named("along the last");
  concat<1>(x + 1.0f, sqrt(abs(x))).named("along the batch");
  stack<1>(tanh(x), -x).named("stacked");
  auto image = tf::placeholder<double, 7, 5, 24>(g, "image");
  pad<1, 2, 0, 0, 3, 5>(image * image, 7.0).named("bordered");
  pad<0, 1, 1, 1, 0, 0>(exp(image)).named("rows around");
  concat<2>(greater(image, 0.0), less(image, 1.0)).named("compared");
  // Both halves are computed by one kernel, from strided rows, into strided rows.
  auto heads = tf::placeholder<float, tf::batch, 3, 32>(g, "heads");
  auto angles = tf::placeholder<float, 3, 16>(g, "angles");
  const auto [a, b] = tf::split<2, 2>(heads);
  concat<2>(a * cos(angles) - b * sin(angles), a * sin(angles) + b * cos(angles)).named("rotated");
}

constexpr void folds(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 41>(g, "x");
  concat<2>(softmax(x), log_softmax(x)).named("rows");
  pad<0, 0, 0, 0, 1, 6>(x - mean<2>(x, tf::keep_dims)).named("centred");
}

/// Operations that are done to the parts of concatenations, and to slices.
constexpr void joined(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 77>(g, "x");
  auto z = tf::placeholder<float, tf::batch, 3, 33>(g, "z");
  auto s = tf::placeholder<float, tf::batch, 1, 110>(g, "s");
  auto u = tf::placeholder<float, 110>(g, "u");
  auto v = tf::placeholder<float, 3, 1>(g, "v");
  auto w = tf::placeholder<float, tf::batch, 3, 110>(g, "w");
  const auto turned = concat<2>(-slice<tf::whole, tf::whole, tf::range(77, 110)>(w),
                                slice<tf::whole, tf::whole, tf::range(0, 77)>(w));
  const auto y = w * u + turned * s;
  y.named("turned");
  gradients(sum(y * y), w).named("dw");
  (exp(concat<2>(x, z) * v) - u).named("of the last");
  concat<1>(x, x, x).named("thrice");
  acme::soft_threshold(concat<2>(z, x), 0.5f).named("by a user's operation");
  where(greater(concat<1>(x, x + 1.0f), 0.5f), tf::placeholder<float, tf::batch, 6, 77>(g, "c"),
        0.25f)
      .named("chosen");
  auto i = tf::placeholder<std::int32_t, tf::batch, 3, 77>(g, "i");
  (tf::cast<float>(concat<2>(i, i)) / 3.0f).named("converted");
  const auto whole = w * tf::placeholder<float, tf::batch, 3, 110>(g, "t") + u;
  tanh(slice<tf::whole, tf::whole, tf::range(0, 40)>(whole)).named("low");
  (slice<tf::whole, tf::range(0, 3, 2), tf::range(40, 110, 2)>(whole) * 2.0f).named("high");
  sum<1>(slice<tf::whole, 1, tf::range(40, 110)>(whole)).named("middle");
}

constexpr void sliced(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 40>(g, "x");
  auto y = exp(slice<tf::whole, tf::range(1, 8, 2), tf::range(3, 30)>(x));
  auto z = tanh(slice<tf::whole, 0, tf::range(0, 12)>(x));
  gradients(sum(square(y)) + sum(z), x).named("dx");
}

}  // namespace

TEST_CASE("kernels that write parts agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 2, 17, 300}) {
    test::check_against_interpreter<elements>(batch, 1e-5);
    if (batch > 0) test::check_against_interpreter<folds>(batch, 1e-5);
    if (batch > 0) test::check_against_interpreter<sliced>(batch, 1e-5);
    test::check_against_interpreter<joined>(batch, 1e-5);
  }
}

#ifndef TYPEFLOW_TEST_TARGET
namespace {

/// Strided rows that threads divide into pieces.
constexpr void long_rows(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 2, 100'003>(g, "x");
  auto scale = tf::placeholder<float, 3, 1, 1>(g, "scale");
  const auto [a, b] = tf::split_sizes<2, 50'001, 50'002>(x);
  (exp(a) * scale).named("a");
  concat<2>(sin(b) * scale, a * scale).named("halves");
}

}  // namespace

TEST_CASE("threads take pieces of long strided rows") {
  test::check_against_interpreter<long_rows>(1, 1e-5, 3);
  CHECK(test::check_threads<long_rows>(1) > 0);
}
#endif

TEST_CASE("kernels that write parts have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 5, 1003}) {
    test::check_bits<elements>(batch);
    test::check_bits<folds>(batch);
    test::check_bits<sliced>(batch);
  }
}

namespace {

constexpr void whole_and_sum(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 16>(g, "x");
  auto y = concat<1>(exp(x), 2.0f * x).named("y");
  sum<1>(y).named("sums");
}

}  // namespace

TEST_CASE("a part follows the whole into the caller's memory and back") {
  tf::Variables variables;
  tf::Session<whole_and_sum> session(variables);
  for (const int batch : {3, 5, 2}) {
    std::vector<float> x(static_cast<std::size_t>(16 * batch));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 4;
    const auto check_sums = [&] {
      std::vector<float> sums(static_cast<std::size_t>(batch));
      session.run(tf::feed<"x">(x), tf::into<"sums">(sums));
      for (std::size_t row = 0; row < sums.size(); ++row) {
        double expected = 0;
        for (std::size_t k = 0; k < 16; ++k) {
          expected += std::exp(double{x[16 * row + k]}) + 2 * double{x[16 * row + k]};
        }
        CHECK(sums[row] == doctest::Approx(expected));
      }
    };
    check_sums();
    std::vector<float> y(2 * x.size(), -1.0f);
    session.run(tf::feed<"x">(x), tf::into<"y">(y));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = i / 16 * 32 + i % 16;
      CHECK(y[at] == doctest::Approx(std::exp(double{x[i]})));
      CHECK(y[at + 16] == 2 * x[i]);
    }
    const std::vector<float> before = y;
    check_sums();
    CHECK(y == before);
  }
}

namespace {

// Gathered rows that kernels read where they lie. (Random integers are below 10.)

constexpr void gathered(tf::Graph& g) {
  auto table = tf::placeholder<float, 10, 41>(g, "table");
  auto other = tf::placeholder<float, 10, 41>(g, "other");
  auto ids = tf::placeholder<std::int32_t, tf::batch, 3>(g, "ids");
  auto bias = tf::placeholder<float, 3, 41>(g, "bias");
  const auto rows = gather(table, ids);
  (2.0f * rows + bias).named("elements");
  (softmax(rows) * gather(other, ids)).named("softmax");
  sum<2>(square(rows)).named("of rows");
  sum<1>(rows).named("bags");
  argmax<1>(exp(rows) * bias).named("places");
}

constexpr void gathered_of_types(tf::Graph& g) {
  auto cubes = tf::placeholder<double, 10, 3, 35>(g, "cubes");
  auto halves = tf::placeholder<tf::bfloat16, 10, 70>(g, "halves");
  auto numbers = tf::placeholder<std::int32_t, 10, 33>(g, "numbers");
  auto ids = tf::placeholder<std::uint8_t, tf::batch>(g, "ids");
  auto one = tf::placeholder<std::int64_t>(g, "one");
  exp(reshape<3 * tf::batch, 35>(gather(cubes, ids))).named("cubes");
  sum<1>(gather(cubes, ids)).named("within");
  (gather(halves, ids) + gather(halves, one)).named("halves");
  max<0>(gather(numbers, ids)).named("largest");
}

constexpr void trained(tf::Graph& g) {
  auto table = tf::variable<float, 10, 40>(g, "table", tf::truncated_normal());
  auto ids = tf::placeholder<std::int32_t, tf::batch, 4>(g, "ids");
  const auto loss = sum(square(tanh(sum<1>(gather(table, ids))))).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("kernels that read gathered rows agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 2, 17, 300}) {
    test::check_against_interpreter<gathered>(batch, 1e-5);
    if (batch > 0) test::check_against_interpreter<gathered_of_types>(batch, 1e-5);
    test::check_against_interpreter<trained>(batch, 1e-4);
  }
}

TEST_CASE("kernels that read gathered rows have equal bits, fused or not, for any threads") {
  for (const std::int64_t batch : {1, 5, 1003}) {
    test::check_bits<gathered>(batch);
    test::check_bits<gathered_of_types>(batch);
    test::check_bits<trained>(batch);
  }
}
