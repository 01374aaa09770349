// SPDX-License-Identifier: Apache-2.0

// Chapter 1: no net, but a pond in the rain. The water's height U and speed Ut are variables. A run
// takes a step of the damped wave equation,
//
//   U  += eps Ut
//   Ut += eps (laplace(U) - damping Ut)
//
// where Laplace's operator is a stencil of 3x3. Settings and stencil are those of TensorFlow's
// tutorial "Partial Differential Equations", whose simple scheme lets the shortest waves grow by
// 0.3 % a step. The result is compared with plain loops of doubles. Expected: an agreement (1 - the
// norm of the difference over the norm of U) that rounds to 1.
//
//   ch01_pde    writes five pictures of the pond, side by side

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <typeflow/image.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int side = 500;
constexpr std::size_t points = std::size_t{side} * side;
constexpr double time_step = 0.03;  // eps
constexpr double damping = 0.04;
constexpr int drops = 40;
constexpr int pictures = 5;

/// The values Y rows below and X columns to the right of each point. (502,502) -> (500,500)
template <int Y, int X>
constexpr auto neighbours(auto bordered) {
  return slice<tf::range(1 + Y, 1 + Y + side), tf::range(1 + X, 1 + X + side)>(bordered);
}

/// The stencil of Laplace's operator; outside of the pond U is 0. (500,500) -> (500,500)
constexpr auto laplace(auto u) {
  auto w = pad<1, 1, 1, 1>(u);
  auto beside =
      neighbours<-1, 0>(w) + neighbours<0, -1>(w) + neighbours<0, 1>(w) + neighbours<1, 0>(w);
  auto across =
      neighbours<-1, -1>(w) + neighbours<-1, 1>(w) + neighbours<1, -1>(w) + neighbours<1, 1>(w);
  return beside + 0.5f * across - 6 * u;
}

constexpr void pond(tf::Graph& g) {
  auto eps = placeholder<float>(g, "eps", static_cast<float>(time_step));
  auto decay = placeholder<float>(g, "damping", static_cast<float>(damping));
  auto U = variable<float, side, side>(g, "U", tf::zeros());
  auto Ut = variable<float, side, side>(g, "Ut", tf::zeros());
  // A variable's name means its value at the start of the run, so both steps see the old pond.
  group(assign(U, U + eps * Ut), assign(Ut, Ut + eps * (laplace(U) - decay * Ut))).named("step");
  clip_by_value(U, -0.1f, 0.1f).named("picture");
}

/// A flat pond after drops have fallen into it.
std::vector<float> rained_on(std::mt19937_64& random) {
  std::vector<float> u(points);
  std::uniform_real_distribution<float> height;
  for (int i = 0; i < drops; ++i) u[random() % points] = height(random);
  return u;
}

/// The same pond in plain loops, with a border of zeros.
std::vector<double> plain_pond(std::span<const float> start, std::int64_t steps) {
  constexpr std::size_t stride = side + 2;
  std::vector<double> u(stride * stride);
  std::vector<double> ut(u.size());
  const auto at = [](std::size_t point) { return (point / side + 1) * stride + point % side + 1; };
  for (std::size_t i = 0; i < points; ++i) u[at(i)] = static_cast<double>(start[i]);
  std::vector<double> next = u;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t y = 1; y <= side; ++y) {
      for (std::size_t i = y * stride + 1; i <= y * stride + side; ++i) {
        const double across =
            u[i - stride - 1] + u[i - stride + 1] + u[i + stride - 1] + u[i + stride + 1];
        const double beside = u[i - stride] + u[i - 1] + u[i + 1] + u[i + stride];
        next[i] = u[i] + time_step * ut[i];
        ut[i] += time_step * (0.5 * across + beside - 6 * u[i] - damping * ut[i]);
      }
    }
    std::swap(u, next);
  }
  std::vector<double> out(points);
  for (std::size_t i = 0; i < points; ++i) out[i] = u[at(i)];
  return out;
}

void rain(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::vector<float> start = rained_on(random);
  tf::Variables variables;
  variables.set<float>("U", start, tf::Dims{2, {side, side}});
  tf::Session<pond> session(variables);

  std::vector<float> frames;
  std::chrono::duration<double> seconds{};
  for (std::int64_t picture = 1, step = 0; picture <= pictures; ++picture) {
    const auto from = std::chrono::steady_clock::now();
    for (; step < options.steps * picture / pictures; ++step) session.run<"step">();
    seconds += std::chrono::steady_clock::now() - from;
    const auto frame = session.run<"picture">();
    frames.insert(frames.end(), frame.begin(), frame.end());
  }
  tf::write_png(options.output, tf::tile_images(frames, side, side, {.columns = pictures}));
  std::printf("%lld steps of %d x %d points, %.4g steps/s\n", static_cast<long long>(options.steps),
              side, side, static_cast<double>(options.steps) / seconds.count());
  std::printf("the pond, five times: %s\n", options.output.c_str());

  const std::vector<double> expected = plain_pond(start, options.steps);
  const auto u = variables.get<float>("U");
  double difference = 0;  // sums of squares, so that NaN counts as a difference
  double size = 0;
  for (std::size_t i = 0; i < points; ++i) {
    difference += std::pow(static_cast<double>(u[i]) - expected[i], 2);
    size += expected[i] * expected[i];
  }
  const double relative = std::sqrt(difference / size);
  std::printf("plain loops of doubles differ by %.1e of the waves\n", relative);
  std::printf("agreement with plain loops %.4f\n", 1 - relative);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Raindrops on a pond. --steps counts steps of time.",
                               {.steps = 1000, .batch = 0, .rate = 0, .output = "pond.png"}, rain);
}
