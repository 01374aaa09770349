// SPDX-License-Identifier: Apache-2.0

// What an iteration and a branch cost besides what they compute: scalar loops of ten thousand
// iterations, beside what the same session takes for none or without the branch. On one thread.

#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/typeflow.hpp>

#include "timing.hpp"

namespace {

namespace tf = typeflow;

constexpr std::int32_t iterations =
    10'000;  // few enough that nothing else interrupts some of the calls

/// A step of a recurrence that stays between 0 and 2.
constexpr auto next(const auto& x) { return 0.5f * x + 1.0f; }

/// The number of the iteration is part of the state, as in TensorFlow.
constexpr void while_scalar(tf::Graph& g) {
  auto n = placeholder<std::int32_t>(g, "n");
  auto x = placeholder<float>(g, "x");
  auto [i, last] = while_loop([&](auto step, auto) { return less(step, n); },
                              [](auto step, auto y) { return std::tuple(step + 1, next(y)); },
                              std::tuple(tf::constant<std::int32_t>(g, 0), x));
  last.named("last");
}
template <std::int32_t N>
constexpr void fori_scalar(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  tf::fori_loop(0, N, [](auto, auto y) { return next(y); }, x).named("last");
}
/// The same state, with a branch in each iteration that gives it on or changes it.
template <std::int32_t N>
constexpr void fori_branch(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  auto flag = placeholder<bool>(g, "flag");
  tf::fori_loop(
      0, N, [&](auto, auto y) { return cond(flag, [&] { return next(y); }, [&] { return -y; }); },
      x)
      .named("last");
}

void print(const char* name, double seconds, double without, double goal) {
  const double ns = (seconds - without) / iterations * 1e9;
  std::printf("control=%s ns=%.1f goal_ns=%.0f\n", name, ns, goal);
  std::fflush(stdout);
}

double time_while(std::int32_t n) {
  tf::Variables variables;
  tf::Session<while_scalar> session(variables, {.threads = 1});
  return bench::fastest([&] { session.run<"last">(tf::feed<"n">(n), tf::feed<"x">(1.0f)); });
}
template <std::int32_t N>
double time_fori() {
  tf::Variables variables;
  tf::Session<fori_scalar<N>> session(variables, {.threads = 1});
  return bench::fastest([&] { session.template run<"last">(tf::feed<"x">(1.0f)); });
}
template <std::int32_t N>
double time_branch() {
  tf::Variables variables;
  tf::Session<fori_branch<N>> session(variables, {.threads = 1});
  return bench::fastest(
      [&] { session.template run<"last">(tf::feed<"x">(1.0f), tf::feed<"flag">(true)); });
}

}  // namespace

int main() {
  const double fori = time_fori<iterations>();
  print("while_loop", time_while(iterations), time_while(0), 150);
  print("fori_loop", fori, time_fori<0>(), 150);
  print("cond", time_branch<iterations>(), fori, 100);
}
