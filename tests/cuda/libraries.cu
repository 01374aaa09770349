// SPDX-License-Identifier: Apache-2.0

// Products and systems by NVIDIA's libraries and by typeflow's kernels, and sums at indices with
// and without sorting, in one program. Without a GPU the processor computes all.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/libraries.hpp>
#include <typeflow/typeflow.hpp>

#include <typeflow/cuda/atomic_sums.hpp>

#if __has_include(<cudnn.h>)
#include <typeflow/cuda/cudnn.hpp>  // compiles
#endif
#if __has_include(<cusolverDn.h>)
#include <typeflow/cuda/cusolver.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace tf = typeflow;

namespace {

constexpr void layer(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto w = tf::placeholder<float, 300, 200>(g, "w");
  auto bias = tf::placeholder<float, 200>(g, "bias");
  relu(matmul(x, w) + bias).named("y");
}

constexpr void embedding(tf::Graph& g) {
  auto table = tf::variable<float, 50, 6>(g, "table", tf::normal(0, 1));
  auto words = tf::placeholder<std::int32_t, tf::batch>(g, "words");
  tf::gradients(sum(square(gather(table, words))), table).named("slope");
}
template <class Target>
std::vector<float> slope_of_embedding() {
  std::vector<std::int32_t> words(1000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(i * i % 47);
  tf::Variables variables;
  tf::Session<embedding, tf::training, Target> session(variables, {.seed = 1});
  const auto slope = session.template run<"slope">(tf::feed<"words">(words));
  return {slope.begin(), slope.end()};
}

#if __has_include(<cusolverDn.h>)
constexpr void system(tf::Graph& g) {
  auto a = tf::placeholder<float, 256, 256>(g, "a");
  auto b = tf::placeholder<float, 256, 3>(g, "b");
  matmul(a, matrix_solve(a, b)).named("b again");
}

/// The largest error of a solution, put into its equations.
double error_of_solution() {
  std::vector<float> a(256 * 256), b(256 * 3);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i * i)) / 256;
  for (std::size_t i = 0; i < 256; ++i) a[i * 256 + (i + 1) % 256] += 2;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i));
  tf::Variables variables;
  using Target = tf::BasicCudaTarget<tf::Precision::exact, tf::CusolverLibraries>;
  tf::Session<system, tf::inference, Target> session(variables);
  const auto again = session.run<"b again">(tf::feed<"a">(a), tf::feed<"b">(b));
  double most = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double here = std::abs(static_cast<double>(again.data()[i]) - b[i]);
    most = here <= most ? most : here;  // keeps NaN
  }
  return most;
}
#else
double error_of_solution() { return 0; }
#endif

template <class Target>
std::vector<float> run(const std::vector<float>& x, const std::vector<float>& w,
                       const std::vector<float>& bias) {
  tf::Variables variables;
  tf::Session<layer, tf::inference, Target> session(variables);
  const auto y =
      session.template run<"y">(tf::feed<"x">(x), tf::feed<"w">(w), tf::feed<"bias">(bias));
  return {y.begin(), y.end()};
}

}  // namespace

int main() {
  std::vector<float> x(70 * 300), w(300 * 200), bias(200);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<float>(3 * i));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 7) - 3;
  using Libraries = tf::BasicCudaTarget<tf::Precision::exact, tf::CudaLibraries>;
  const std::vector<float> own = run<tf::CudaTarget>(x, w, bias);
  const std::vector<float> theirs = run<Libraries>(x, w, bias);
  double most = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    most = std::max(most, static_cast<double>(std::abs(own[i] - theirs[i])));
  }
  using Atomic = tf::BasicCudaTarget<tf::Precision::exact, tf::AtomicSums<>>;
  const std::vector<float> sorted = slope_of_embedding<tf::CudaTarget>();
  const std::vector<float> atomic = slope_of_embedding<Atomic>();
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    most = std::max(most, static_cast<double>(std::abs(sorted[i] - atomic[i])));
  }
  const double error = error_of_solution();
  const bool agree =
      own.size() == 70 * 200 && atomic.size() == 50 * 6 && most < 1e-3 && error < 1e-4;
  std::printf("the largest difference is %g, a solution's error %g: %s\n", most, error,
              agree ? "both know the products" : "they differ");
  return 0;
}
