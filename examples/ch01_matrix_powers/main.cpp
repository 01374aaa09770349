// SPDX-License-Identifier: Apache-2.0

// A^n + B^n on one device and on two, timed, after the multi-GPU example of Damien's
// TensorFlow-Examples, which the notes on several GPUs quote. Each power is a chain of n - 1
// products; the two chains don't depend on each other. Expected: equal bits, and on a machine with
// two idle cores about half the time. The last line is "A^n + B^n one device S s, two T s".

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr tf::Extent size = 512;
constexpr int power = 10;

template <class X>
constexpr X power_of(const X& x) {
  X y = x;
  for (int i = 1; i < power; ++i) y = matmul(x, y);
  return y;
}

constexpr void model(tf::Graph& g) {
  auto a = tf::placeholder<float, size, size>(g, "a");
  auto b = tf::placeholder<float, size, size>(g, "b");
  auto a_n = tf::on(g, tf::cpu(0), [&] { return power_of(a); });
  auto b_n = tf::on(g, tf::cpu(1), [&] { return power_of(b); });
  tf::on(g, tf::cpu(0), [&] { return a_n + b_n; }).named("sum");
}

/// The least time of some runs in seconds, and their result.
template <class Session>
double time(Session& session, const std::vector<float>& a, const std::vector<float>& b,
            std::vector<float>& sum) {
  double least = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    session.template run<>(tf::feed<"a">(a), tf::feed<"b">(b), tf::into<"sum">(sum));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return least;
}

void run(const examples::Options&) {
  constexpr std::size_t count = static_cast<std::size_t>(size * size);
  std::vector<float> a(count);
  std::vector<float> b(count);
  for (std::size_t i = 0; i < count; ++i) {  // rows that sum to about 1: powers stay moderate
    a[i] = static_cast<float>((i * 7919) % 1009) / 1009 / (size / 2);
    b[i] = static_cast<float>((i * 104729) % 997) / 997 / (size / 2);
  }
  tf::Variables variables;
  tf::Session<model> one(variables, {.threads = 1, .soft_placement = true});
  tf::Session<model> two(variables, {.devices = tf::DeviceList::of(2)});
  std::vector<float> sum_of_one(count);
  std::vector<float> sum_of_two(count);
  const double first = time(one, a, b, sum_of_one);
  const double second = time(two, a, b, sum_of_two);
  if (sum_of_one != sum_of_two) throw std::runtime_error("the sums differ");
  std::printf("A^n + B^n one device %.4f s, two %.4f s\n", first, second);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A^n + B^n on one device and on two.",
                               {.steps = 0, .batch = 0, .rate = 0, .seed = 0}, run);
}
