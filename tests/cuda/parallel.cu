// SPDX-License-Identifier: Apache-2.0

// Models whose tracing keeps a list for each stage or tower. nvcc 13 destroys only the first
// element of an array of lists in constant evaluation, and takes the others for leaked.

#include <typeflow/cuda.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include <cstdio>

namespace tf = typeflow;

namespace {

constexpr void stages(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 6>(g, "x");
  auto y = placeholder<float, 2 * tf::batch, 3>(g, "y");
  auto pipe = tf::pipeline<2>(
      g, {.kind = tf::DeviceKind::gpu}, x, y,
      [&](auto part) { return tanh(tf::dense<5>(g, "first", part)); },
      [&](auto part, auto expected) {
        return mean(square(tf::dense<3>(g, "last", part) - expected));
      });
  tf::minimize(tf::GradientDescent{.rate = 0.1f}, pipe.gradients()).named("train");
}
constexpr void towers(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 6>(g, "x");
  auto both = tf::data_parallel<2>(
      g, [&](auto part) { return mean(square(tf::dense<3>(g, "fc", part))); }, x);
  tf::minimize(tf::GradientDescent{.rate = 0.1f}, both.gradients()).named("train");
}

template <auto Model>
constexpr int steps = tf::ir::Lowering<Model, tf::Mode::gpu_first>::view.steps.size;
static_assert(steps<stages> > 8 && steps<towers> > 4);

}  // namespace

int main() {
  std::puts("pipelines and towers are traced");
  return 0;
}
