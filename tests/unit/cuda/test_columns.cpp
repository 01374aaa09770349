// SPDX-License-Identifier: Apache-2.0

// Folds over columns on a pretended GPU: short ones, and those whose rows are divided into chunks.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

namespace tf = typeflow;

template <int Columns>
constexpr void folds(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Columns>(g, "x");
  tf::sum<0>(x).named("sum");
  tf::max<0>(tf::abs(x)).named("max");
  tf::argmin<0>(x).named("argmin");
  auto y = tf::placeholder<double, 2, tf::batch, Columns>(g, "y");
  tf::mean<1>(square(y)).named("mean");
}

template <int Columns>
constexpr void sum_of_columns(tf::Graph& g) {
  tf::sum<0>(tf::placeholder<float, tf::batch, Columns>(g, "x")).named("sum");
}
/// Elements need the sum, so one block folds all rows.
template <int Columns>
constexpr void less_sum(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Columns>(g, "x");
  (x - tf::sum<0>(x, tf::keep_dims)).named("less");
}
template <auto Model>
using SessionOf = tf::Session<Model, tf::inference, test::CudaTargetOnHost>;

/// The sum of each column has the same bits, whether its chunks are folded at the same time or not.
template <int Columns>
void check_order(std::int64_t rows) {
  CAPTURE(rows);
  std::vector<float> x(static_cast<std::size_t>(rows * Columns));
  std::uint32_t state = 1;
  for (float& e : x) {
    state = state * 1664525u + 1013904223u;
    e = static_cast<float>(state >> 8) * 0x1p-24f;
  }
  tf::Variables variables;
  SessionOf<sum_of_columns<Columns>> plain(variables);
  SessionOf<less_sum<Columns>> fused(variables);
  const auto sum = plain.template run<"sum">(tf::feed<"x">(x));
  const auto less = fused.template run<"less">(tf::feed<"x">(x));
  int different = 0;
  for (std::int64_t i = 0; i < rows * Columns; ++i) {
    different += less.data()[i] != x[static_cast<std::size_t>(i)] - sum.data()[i % Columns];
  }
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("a GPU folds columns as the processor does") {
  for (const std::int64_t rows : {1, 7, 100, 511, 512, 1300}) {
    test::check_cuda<folds<1>>(rows, 2e-5);
    test::check_cuda<folds<10>>(rows, 2e-5);
    test::check_cuda<folds<70>>(rows, 2e-5);
  }
}
TEST_CASE("a column's sum has the same bits, whatever is fused with it") {
  for (const std::int64_t rows : {3, 300, 512, 5000}) {
    check_order<3>(rows);
    check_order<40>(rows);
  }
}
