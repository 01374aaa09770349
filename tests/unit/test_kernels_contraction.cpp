// SPDX-License-Identifier: Apache-2.0

// Matrix products and transpositions against the interpreter: transposes, tails, epilogues.

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 23>(g, "a");
  auto at = tf::placeholder<float, 23, tf::batch>(g, "at");
  auto b = tf::placeholder<float, 23, 50>(g, "b");
  auto bt = tf::placeholder<float, 50, 23>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

template <int Columns>
constexpr void widths(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, Columns>(g, "b");
  auto bias = tf::placeholder<float, Columns>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, Columns>(g, "rest");
  auto scale = tf::placeholder<float, tf::batch, 1>(g, "scale");
  relu(rest + scale * (matmul(a, b) + bias)).named("y");
}

constexpr void doubles(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 31>(g, "a");
  auto b = tf::placeholder<double, 31, 21>(g, "b");
  tanh(matmul(a, b)).named("y");
  greater(tf::matmul<tf::transpose_a>(a, a), 0).named("gram");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto h = tf::dense<33>(g, "first", x);
  auto y = tf::dense<3>(g, "second", relu(h));
  auto loss = mean(square(y - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

constexpr void transposes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 35>(g, "x");
  auto y = tf::placeholder<std::int64_t, 3, 18, 5, 2>(g, "y");
  auto t = tf::placeholder<bool, 4, 17, 3>(g, "t");
  tf::transpose(x).named("x");
  tf::transpose<0, 2, 1, 3>(y).named("y0213");
  tf::transpose<3, 1, 0, 2>(y).named("y3102");
  tf::transpose<2, 3, 0, 1>(y).named("y2301");
  tf::transpose<1, 0, 2>(t).named("t102");
  tf::transpose<2, 1, 0>(t).named("t210");
}

}  // namespace

TEST_CASE("matrix products agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 5, 8, 13, 100}) {
    test::check_against_interpreter<products>(batch, 1e-6);
    test::check_against_interpreter<widths<1>>(batch, 1e-6);
    test::check_against_interpreter<widths<10>>(batch, 1e-6);
    test::check_against_interpreter<widths<16>>(batch, 1e-6);
    test::check_against_interpreter<widths<48>>(batch, 1e-6);
    test::check_against_interpreter<widths<67>>(batch, 1e-6);
    test::check_against_interpreter<doubles>(batch, 1e-12);
    test::check_against_interpreter<transposes>(batch, 0);
  }
  for (const std::int64_t batch : {1, 5, 64}) {
    test::check_against_interpreter<training>(batch, 1e-6);
  }
}

TEST_CASE("matrix products have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 3, 700}) {
    test::check_bits<products>(batch);
    test::check_bits<widths<67>>(batch);
    test::check_bits<training>(batch);
  }
}
