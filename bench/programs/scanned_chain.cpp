// SPDX-License-Identifier: Apache-2.0

// What compiling many residual blocks as one body costs, beside one block: BLOCKS blocks of the
// residual chain without its training step, by FORM.
//
//   -DFORM=0  one after the other in the graph, each with variables of its own
//   -DFORM=1  by scan over variables that have the weights of all blocks
//   -DFORM=2  by fori_loop, which takes its block's weights from them

#include <cstdio>
#include <tuple>
#include <vector>

#include "../residual_chain.hpp"

namespace tf = typeflow;

namespace {

using bench::rows;
using bench::width;

constexpr auto block(const auto& h, const auto& W1, const auto& b1, const auto& W2,
                     const auto& b2) {
  return relu(h + matmul(relu(matmul(h, W1) + b1), W2) + b2);
}

constexpr void model(tf::Graph& g) {
  const auto initializer = tf::truncated_normal(0, 0.01);
  auto x = tf::placeholder<float, rows, width>(g, "x");
#if FORM == 0
  auto h = tf::Expr<float, tf::Shape<rows, width>>(x);
  for (int i = 0; i < BLOCKS; ++i) {
    tf::Scope in(g, "block", i);
    auto W1 = tf::variable<float, width, width>(g, "W1", initializer);
    auto b1 = tf::variable<float, width>(g, "b1", tf::zeros());
    auto W2 = tf::variable<float, width, width>(g, "W2", initializer);
    auto b2 = tf::variable<float, width>(g, "b2", tf::zeros());
    h = block(h, W1, b1, W2, b2);
  }
#else
  auto W1 = tf::variable<float, BLOCKS, width, width>(g, "W1", initializer);
  auto b1 = tf::variable<float, BLOCKS, width>(g, "b1", tf::zeros());
  auto W2 = tf::variable<float, BLOCKS, width, width>(g, "W2", initializer);
  auto b2 = tf::variable<float, BLOCKS, width>(g, "b2", tf::zeros());
#if FORM == 1
  auto h = fold_left(
      [](auto h, auto w) { return std::apply([&](auto... part) { return block(h, part...); }, w); },
      x, std::tuple(W1, b1, W2, b2));
#else
  auto h = tf::fori_loop(
      0, BLOCKS,
      [&](auto i, auto h) {
        return block(h, gather(W1, i), gather(b1, i), gather(W2, i), gather(b2, i));
      },
      x);
#endif
#endif
  mean(square(h)).named("loss");
}

}  // namespace

int main() {
  tf::Variables variables;
  tf::Session<model> session(variables, {.seed = 1, .threads = 1});
  const std::vector<float> x(rows * width, 0.5f);
  const float loss = session.run<"loss">(tf::feed<"x">(x));
  std::printf("loss %g\n", static_cast<double>(loss));
}
