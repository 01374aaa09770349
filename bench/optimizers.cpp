// SPDX-License-Identifier: Apache-2.0

// optimizers [--filter TEXT] [--seconds S] [--threads N]
//
// How fast optimisers' steps read and write memory, beside a copy on one thread (copy_rate.hpp):
// parameter, gradient and slots read once, parameter and slots written once. The parameter has
// 64 MiB, as the copy, so no cache holds either. `share` is the step's rate over the copy's, of one
// thread. Times are the best of the repetitions made in S seconds (default: 1): the processor's on
// one thread, else the clock's. peers/optimizers.py has the same steps by PyTorch and JAX.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "copy_rate.hpp"
#include "timing.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::Extent size = tf::Extent{16} << 20;  // of the parameter

/// A step on a loss whose gradient is a variable.
template <class Optimizer>
constexpr void step(tf::Graph& g) {
  auto w = tf::variable<float, size>(g, "w", tf::ones());
  auto gradient = tf::variable<float, size>(g, "gradient", tf::filled(1e-3), false);
  Optimizer{}.minimize(sum(w * gradient)).named("train");
}

/// Adam on gradients that are limited to a norm.
struct ClippedAdam {
  constexpr auto minimize(const auto& loss) const {
    return tf::Adam{}.apply(clip_by_norm(gradients(loss), 1));
  }
};

struct Options {
  std::string filter;
  double seconds = 1;
  int threads = 1;
};

template <class F>
double seconds_of(const Options& options, const F& call) {
  return bench::fastest_on(options.threads, call, options.seconds);
}

/// `moved` counts the tensors that a step reads and writes.
template <class Optimizer>
void measure(const Options& options, std::string_view name, int moved, double copy) {
  if (name.find(options.filter) == std::string_view::npos) return;
  tf::Variables variables;
  tf::Session<step<Optimizer>> session(variables, {.threads = options.threads});
  const double seconds = seconds_of(options, [&] { session.template run<"train">(); });
  const double bytes = static_cast<double>(moved) * static_cast<double>(size) * sizeof(float);
  const double rate = bytes / seconds;
  std::printf("name=%s tensors=%d ms=%.2f gb_per_s=%.2f", name.data(), moved, seconds * 1e3,
              rate * 1e-9);
  if (options.threads == 1) {
    std::printf(" copy_gb_per_s=%.2f share=%.2f", copy * 1e-9, rate / copy);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 < argc && option == "--filter") {
      options.filter = argv[i + 1];
    } else if (i + 1 < argc && option == "--seconds") {
      options.seconds = std::atof(argv[i + 1]);
    } else if (i + 1 < argc && option == "--threads") {
      options.threads = std::atoi(argv[i + 1]);
    } else {
      std::fprintf(stderr, "usage: optimizers [--filter TEXT] [--seconds S] [--threads N]\n");
      return 2;
    }
  }
  const double copy = bench::copy_rate(2 * static_cast<std::size_t>(size) * sizeof(float),
                                       [&](const auto& call) { return seconds_of(options, call); });
  measure<tf::GradientDescent>(options, "gradient_descent", 3, copy);
  measure<tf::Momentum>(options, "momentum", 5, copy);
  measure<tf::Adagrad>(options, "adagrad", 5, copy);
  measure<tf::RMSProp>(options, "rms_prop", 5, copy);
  measure<tf::Adam>(options, "adam", 7, copy);
  measure<ClippedAdam>(options, "clipped_adam", 8, copy);  // the gradient twice
  measure<tf::AdamW>(options, "adam_w", 7, copy);
  measure<tf::Adadelta>(options, "adadelta", 7, copy);
  measure<tf::Adamax>(options, "adamax", 7, copy);
  measure<tf::Ftrl>(options, "ftrl", 7, copy);
}
