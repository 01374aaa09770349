// SPDX-License-Identifier: Apache-2.0

// Linear regression in eight ways. y = 0.1 x + 0.3, with noise of deviation 0.01; two further
// features mean nothing. Least squares by QR, by Cholesky and by gradient descent, the least
// absolute errors, ridge, lasso and elastic net find the line; the lasso leaves the two others out.
// The eighth way is for an x that is itself measured with noise: least squares then finds a line
// that is too flat, Deming regression the right one. Draws both as lines.svg. Expected: w and b
// within 0.01, and gradient descent where the closed form is.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int points = 1000, features = 3;
constexpr double noise_x = 0.5, noise_y = 0.01;

/// The w with the least |x w - y|^2 / 2 N + l1 |w| + l2 |w|^2 / 2, by proximal gradients: a step of
/// gradient descent, then numbers nearer to zero than rate l1 become zero. (N,F) x (N,1) -> (F,1)
constexpr auto elastic_net(auto x, auto y, double l1, double l2) {
  const auto products = matmul<tf::transpose_a>(x, x) / points;  // (F,F)
  const auto target = matmul<tf::transpose_a>(x, y) / points;    // (F,1)
  const auto rate = 1.0 / (trace(products) + l2);  // a trace is at least the largest eigenvalue
  const auto step = [=](auto, auto w) {
    const auto moved = w - rate * (matmul(products, w) - target + l2 * w);
    return sign(moved) * maximum(abs(moved) - rate * l1, 0.0);
  };
  return tf::fori_loop(0, 200, step, zeros_like(target));
}

constexpr void line(tf::Graph& g) {
  auto x = placeholder<double, points, features>(g, "x");
  auto y = placeholder<double, points, 1>(g, "y");
  auto middle = mean<0>(x, tf::keep_dims);  // (1,F)
  auto height = mean<0>(y);
  auto centred = x - middle;  // the constant b is not penalised
  auto heights = y - height;
  const auto name = [&](tf::Label label, auto w) {  // (4): w, then b
    return concat<0>(reshape<features>(w), height - reshape<1>(matmul(middle, w))).named(label);
  };
  const auto closed = name("QR", lstsq(centred, heights));
  auto products = matmul<tf::transpose_a>(centred, centred);
  name("Cholesky", cholesky_solve(cholesky(products), matmul<tf::transpose_a>(centred, heights)));
  name("ridge", lstsq(centred, heights, 1.0));
  name("lasso", elastic_net(centred, heights, 0.002, 0));
  name("elastic net", elastic_net(centred, heights, 0.001, 0.001));
  auto w = variable<double, features, 1>(g, "w", tf::zeros());
  auto b = variable<double, 1>(g, "b", tf::zeros());
  auto errors = matmul(x, w) + b - y;
  const auto descent = concat<0>(reshape<features>(w), b).named("descent");
  max(abs(descent - closed)).named("apart");
  tf::GradientDescent{.rate = 0.3}.minimize(mean(square(errors))).named("train");
  tf::GradientDescent{.rate = 0.002}.minimize(mean(abs(errors))).named("train absolute");
}

/// Both x and y have errors; `ratio` is the variance of y's by that of x's. (N) x (N) -> (2)
constexpr void deming(tf::Graph& g) {
  auto x = placeholder<double, points>(g, "x"), y = placeholder<double, points>(g, "y");
  constexpr double ratio = noise_y * noise_y / (noise_x * noise_x);
  auto dx = x - mean(x), dy = y - mean(y);
  auto xy = mean(dx * dy);
  auto excess = mean(square(dy)) - ratio * mean(square(dx));
  auto w = (excess + sqrt(square(excess) + 4 * ratio * square(xy))) / (2 * xy);
  stack<0>(w, mean(y) - w * mean(x)).named("deming");
  auto flat = xy / mean(square(dx));
  stack<0>(flat, mean(y) - flat * mean(x)).named("least squares");
}

/// Every fifth point, and lines through them as dots.
void draw(const std::vector<double>& x, const std::vector<double>& y, const auto& flat,
          const auto& deming, const std::string& path) {
  std::vector<float> places;
  std::vector<std::int32_t> classes;
  const auto add = [&](double px, double py, std::int32_t kind) {
    places.insert(places.end(), {static_cast<float>(px), static_cast<float>(py)});
    classes.push_back(kind);
  };
  for (std::size_t i = 0; i < points; i += 5) add(x[i], y[i], 0);
  for (double at = -3; at <= 3; at += 0.05) add(at, flat(0) * at + flat(1), 1);
  for (double at = -3; at <= 3; at += 0.05) add(at, deming(0) * at + deming(1), 2);
  const std::vector<std::string> names{"measured", "least squares", "Deming"};
  tf::write_plot(path, tf::plot_points(places, classes, names, {.title = "an x with errors"}));
}

void fit(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(std::size_t{points} * features), y, measured;
  for (double& value : x) value = normal(random);
  for (std::size_t i = 0; i < points; ++i) {
    y.push_back(0.1 * x[i * features] + 0.3 + noise_y * normal(random));
    measured.push_back(x[i * features] + noise_x * normal(random));
  }

  double worst = 0;
  const auto show = [&](const char* way, const auto& found, std::size_t count = features) {
    std::printf("%-15s w %.4f, b %.4f", way, found(0), found(count));
    if (count > 1) std::printf(", others %8.5f %8.5f", found(1), found(2));
    std::printf("\n");
    worst = std::max({worst, std::abs(found(0) - 0.1), std::abs(found(count) - 0.3)});
  };
  tf::Variables variables;
  tf::Session<line> session(variables);
  const auto of_x = tf::feed<"x">(x);
  const auto of_y = tf::feed<"y">(y);
  show("QR", session.run<"QR">(of_x, of_y));
  show("Cholesky", session.run<"Cholesky">(of_x, of_y));
  for (int i = 0; i < options.steps; ++i) session.run<"train">(of_x, of_y);
  show("descent", session.run<"descent">());
  const double apart = session.run<"apart">(of_x, of_y);
  for (int i = 0; i < options.steps; ++i) session.run<"train absolute">(of_x, of_y);
  show("least absolute", session.run<"descent">());
  show("ridge", session.run<"ridge">(of_x, of_y));
  show("lasso", session.run<"lasso">(of_x, of_y));
  show("elastic net", session.run<"elastic net">(of_x, of_y));
  tf::Session<deming> both(variables);
  const auto [best, flat] = both.run<"deming", "least squares">(tf::feed<"x">(measured), of_y);
  std::printf("x with errors: least squares w %.4f\n", flat(0));
  show("Deming", best, 1);
  draw(measured, y, flat, best, options.output);
  std::printf("w and b within %.4f, descent within %.1e of the closed form\n", worst, apart);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Linear regression in eight ways.",
                               {.steps = 100, .batch = 0, .rate = 0, .output = "lines.svg"}, fit);
}
