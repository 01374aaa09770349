// SPDX-License-Identifier: Apache-2.0

// The program of the script models: the training step of MODEL by gradient descent, which is one of
// chapter_models.hpp or, with CHAPTER_6, of chapter6_models.hpp. With WINOGRAD, the former take
// Winograd's transforms where they can. peers/ has the same models.
//
//   models THREADS    milliseconds of a step (fastest_on of timing.hpp), and what its arithmetic
//                     would take at the rate of additions and multiplications in registers
//   models            the program's size

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <typeflow/lower/cost.hpp>

#include "../timing.hpp"
#ifdef CHAPTER_6
#include "chapter6_models.hpp"
#else
#include "chapter_models.hpp"
#endif

template <class M>
double seconds_of_step(int threads) {
  std::mt19937 generator(1);
  std::normal_distribution<float> number;
  std::vector<float> x(std::size_t{M::batch} * M::inputs);
  for (float& e : x) e = number(generator);
  std::vector<std::int32_t> labels(M::batch);
  for (std::int32_t& label : labels) label = static_cast<std::int32_t>(generator() % 10);
  tf::Variables variables;
  tf::Session<M::model> session(variables, {.seed = 1, .threads = threads});
  const auto step = [&] {
    if constexpr (M::has_labels) {
      tf::run<"loss", "train">(session, tf::feed<"x">(x), tf::feed<"labels">(labels));
    } else {
      tf::run<"loss", "train">(session, tf::feed<"x">(x));
    }
  };
  return bench::fastest_on(threads, step, 3);
}

int main(int argc, char** argv) {
  using Program = tf::ir::Lowering<MODEL::model>;
  if (argc < 2) {
    std::printf("nodes=%d steps=%d kernels=%d\n", Program::node_count, Program::view.steps.size,
                Program::kernel_count);
    return 0;
  }
  const int threads = std::atoi(argv[1]);
  const double seconds = seconds_of_step<MODEL>(threads);
  double flops = 0;
  for (const tf::ir::Step& step : Program::view.steps) {
    flops += static_cast<double>(tf::ir::cost_of(Program::view, step, MODEL::batch).flops);
  }
  std::printf("%.4f %.4f\n", seconds * 1e3, flops / bench::peak_flops(threads) * 1e3);
}
