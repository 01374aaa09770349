// SPDX-License-Identifier: Apache-2.0

// How fast optimisers' steps read and write memory, beside a copy: parameter, gradient and slots
// read once, parameter and slots written once. On one thread, with a parameter of 64 MiB.

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "timing.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent size = tf::Extent{16} << 20;  // of the parameter

/// A loss whose gradient is a variable.
template <class Optimizer>
constexpr void step(tf::Graph& g) {
  auto w = tf::variable<float, size>(g, "w", tf::ones());
  auto gradient = tf::variable<float, size>(g, "gradient", tf::filled(1e-3), false);
  Optimizer{}.minimize(sum(w * gradient)).named("train");
}

/// `moved` counts the tensors that a step reads and writes.
template <class Optimizer>
void measure(const char* name, int moved, double copy) {
  tf::Variables variables;
  tf::Session<step<Optimizer>> session(variables, {.threads = 1});
  const double seconds = bench::fastest([&] { session.template run<"train">(); });
  const double bytes = static_cast<double>(moved) * static_cast<double>(size) * sizeof(float);
  const double rate = bytes / seconds;
  std::printf("optimizer=%s tensors=%d ms=%.2f gb_per_s=%.2f copy_gb_per_s=%.2f share=%.2f\n", name,
              moved, seconds * 1e3, rate * 1e-9, copy * 1e-9, rate / copy);
  std::fflush(stdout);
}

/// Bytes a second that a copy reads and writes.
double copy_rate() {
  const std::vector<float> from(static_cast<std::size_t>(size), 1.0f);
  std::vector<float> to(from.size());
  const std::size_t bytes = from.size() * sizeof(float);
  const double seconds = bench::fastest([&] { std::memcpy(to.data(), from.data(), bytes); });
  return 2 * static_cast<double>(bytes) / seconds;
}

}  // namespace

int main() {
  const double copy = copy_rate();
  measure<tf::GradientDescent>("gradient_descent", 3, copy);
  measure<tf::Momentum>("momentum", 5, copy);
  measure<tf::Adagrad>("adagrad", 5, copy);
  measure<tf::RMSProp>("rms_prop", 5, copy);
  measure<tf::Adam>("adam", 7, copy);
  measure<tf::AdamW>("adam_w", 7, copy);
  measure<tf::Adadelta>("adadelta", 7, copy);
  measure<tf::Adamax>("adamax", 7, copy);
  measure<tf::Ftrl>("ftrl", 7, copy);
}
