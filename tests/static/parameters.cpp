// SPDX-License-Identifier: Apache-2.0

// tf::parameters: the trainable variables of a model, counted at compile time.

#include "support.hpp"

constexpr void softmax_regression(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 784>(g, "x");
  auto y = placeholder<float, tf::batch, 10>(g, "y");
  auto W = variable<float, 784, 10>(g, "W", tf::zeros());
  auto b = variable<float, 10>(g, "b", tf::zeros());
  auto logits = (matmul(x, W) + b).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}
static_assert(tf::parameters<softmax_regression>() == 7850);
static_assert(tf::parameters<softmax_regression, tf::inference>() == 7850);

// What no optimiser changes, and what the session keeps, is none.
constexpr void counted(tf::Graph& g) {
  tf::Scope in(g, "block", 3);
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto h = tf::batch_norm(g, "norm", tf::dense<6>(g, "fc", x));
  variable<double>(g, "steps", tf::zeros(), false);
  state<float, 7>(g, "carried");
  variable<double>(g, "scale", tf::ones());
  h.named("h");
}
constexpr bool table_has_paths_and_shapes() {
  const tf::ParameterTable table = tf::parameters<counted>();
  const auto is = [&](int i, std::string_view path, const tf::Dims& dims, std::int64_t elements) {
    return table[i].path == path && table[i].dims == dims && table[i].elements == elements;
  };
  std::int64_t sum = 0;
  for (const tf::Parameter& parameter : table) sum += parameter.elements;
  return table.size() == 5 && is(0, "block_3/fc/W", tf::Dims{2, {4, 6}}, 24) &&
         is(1, "block_3/fc/b", tf::Dims{1, {6}}, 6) &&
         is(2, "block_3/norm/gamma", tf::Dims{1, {6}}, 6) &&
         is(3, "block_3/norm/beta", tf::Dims{1, {6}}, 6) && is(4, "block_3/scale", tf::Dims{}, 1) &&
         table[4].dtype == tf::DType::float64 && table[0].dtype == tf::DType::float32 &&
         sum == 43 && table.total() == 43;
}
static_assert(table_has_paths_and_shapes());

constexpr void without_variables(tf::Graph& g) { placeholder<float, 3>(g, "x"); }
static_assert(tf::parameters<without_variables>() == 0);

// More than 32 bits count.
constexpr void large(tf::Graph& g) {
  variable<float, 100000, 100000>(g, "W");
  variable<float, 100000>(g, "b");
}
static_assert(tf::parameters<large>() == 10'000'100'000);

// Of a graph that is still being made.
constexpr bool counts_so_far() {
  tf::Graph g;
  variable<float, 3, 5>(g, "W");
  const std::int64_t before = tf::parameters(g);
  variable<float, 5>(g, "b");
  return before == 15 && tf::parameters(g) == 20;
}
static_assert(counts_so_far());
