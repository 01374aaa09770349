// SPDX-License-Identifier: Apache-2.0

// concurrent_steps [STEPS]: training steps that overlap on one device, by asynchronous workers. One
// thread makes the steps of each worker, and computes them alone. Printed are the examples a second
// of 1, 2 and 4 workers, their ratio to one worker, and the updates, workers x steps.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

constexpr std::size_t rows = 64;
constexpr std::size_t width = 256;
constexpr int rounds = 5;

/// Two dense layers of 256 units, ten classes.
template <int Workers>
constexpr void net(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto workers = tf::asynchronous<Workers>(
      g,
      [&](auto a, auto b) {
        auto h = tf::dense<256>(g, "first", a, {.activation = tf::relu});
        h = tf::dense<256>(g, "second", h, {.activation = tf::relu});
        return mean(softmax_cross_entropy(tf::dense<10>(g, "out", h), b));
      },
      x, y);
  workers.train(tf::GradientDescent{.rate = 0.01f});
}

template <int I, class Session>
void step(Session& session, const std::vector<float>& x, const std::vector<std::int32_t>& y) {
  const auto a = tf::feed<"x">(x);
  const auto b = tf::feed<"y">(y);
  if constexpr (I == 0) session.template run<"worker_0/train">(a, b);
  if constexpr (I == 1) session.template run<"worker_1/train">(a, b);
  if constexpr (I == 2) session.template run<"worker_2/train">(a, b);
  if constexpr (I == 3) session.template run<"worker_3/train">(a, b);
}

/// Examples a second: the median of the rounds.
template <int Workers>
double measure(int steps, double of_one) {
  std::vector<float> x(rows * width);
  std::vector<std::int32_t> y(rows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int32_t>(i % 10);
  tf::Variables variables;
  tf::Session<net<Workers>> session(variables, {.threads = 1, .soft_placement = true});
  const auto train = [&](int count) {
    std::vector<std::jthread> threads;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (threads.emplace_back([&session, &x, &y, count] {
        for (int s = 0; s < count; ++s) step<I>(session, x, y);
      }),
       ...);
    }(std::make_integer_sequence<int, Workers>());
  };
  train(10);
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    train(steps);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    seconds.push_back(passed.count());
  }
  std::sort(seconds.begin(), seconds.end());
  const double speed =
      static_cast<double>(Workers) * steps * static_cast<double>(rows) / seconds[rounds / 2];
  const std::int64_t updates = session.template run<"workers/updates">();
  const std::int64_t expected = std::int64_t{Workers} * (10 + rounds * std::int64_t{steps});
  std::printf("%d worker%s %10.0f examples/s, %.2f of one, %lld updates%s\n", Workers,
              Workers == 1 ? ": " : "s:", speed, of_one > 0 ? speed / of_one : 1.0,
              static_cast<long long>(updates), updates == expected ? "" : "  WRONG COUNT");
  return speed;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 400;
  const double of_one = measure<1>(steps, 0);
  measure<2>(steps, of_one);
  measure<4>(steps, of_one);
}
