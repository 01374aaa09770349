// SPDX-License-Identifier: Apache-2.0

// Logistic regression of two classes and of three. Two: points of the plane about two centres, by
// Newton's method, which takes a few steps. Three: Fisher's irises by four measures, every second
// flower for the test, by gradient descent on the softmax cross-entropy. Draws the two classes, and
// the line between them, as classes.svg. Expected: accuracies of at least 0.95 on new points and on
// Fisher's flowers. No line can have more than 0.9772 of such points right, but for chance.
//
//   logistic_regression --data DIR    DIR, or DIR/uci, has iris.data of the UC Irvine repository
//   logistic_regression               takes TYPEFLOW_DATA, otherwise makes up flowers

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/iris.hpp"
#include "common/program.hpp"

namespace tf = typeflow;

constexpr int points = 2000;
constexpr int measures = 4;

/// w has the weights of both coordinates and of the constant 1.
constexpr void two_classes(tf::Graph& g) {
  auto place = placeholder<float, points, 2>(g, "x");
  auto y = placeholder<float, points, 1>(g, "y");  // 0 or 1
  auto x = concat<1>(place, ones_like(y));         // (points,3)
  auto w = variable<float, 3, 1>(g, "w", tf::zeros());
  auto logits = matmul(x, w);
  auto loss = mean(sigmoid_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(greater(logits, 0.0f), greater(y, 0.5f)))).named("accuracy");
  // The second derivative of the loss: each point counts by p (1 - p).  // (3,3)
  auto p = sigmoid(logits);
  auto curvature = matmul<tf::transpose_a>(x, x * p * (1.0f - p)) / points;
  assign_sub(w, matrix_solve(curvature, gradients(loss, w))).named("newton");
}

constexpr void three_classes(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, measures>(g, "x");
  auto y = placeholder<std::int32_t, tf::batch>(g, "y");
  auto logits = dense<3>(g, "fc", x, {.weights = tf::zeros()});
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(cast<float>(equal(argmax<1>(logits), y))).named("accuracy");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

struct Rows {
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

/// Points of two classes in turns: both coordinates are 2 * class, with noise.
Rows make_points(float noise, std::mt19937_64& random) {
  std::normal_distribution<float> normal(0, noise);
  Rows all;
  for (std::int32_t i = 0; i < points; ++i) {
    const auto centre = 2 * static_cast<float>(i % 2);
    all.y.push_back(i % 2);
    all.x.insert(all.x.end(), {centre + normal(random), centre + normal(random)});
  }
  return all;
}

/// Fits the line between two classes and draws it. Returns the accuracy on other points.
float fit_line(const std::string& path, std::mt19937_64& random) {
  // The centres are two deviations of the noise from the line: 0.9772 lie on their side of it.
  constexpr float noise = 0.70710678f;
  const Rows known = make_points(noise, random);
  const Rows others = make_points(noise, random);
  const std::vector<float> y(known.y.begin(), known.y.end());
  tf::Variables variables;
  tf::Session<two_classes> session(variables);
  for (int step = 0; step < 8; ++step) {
    session.run<"newton">(tf::feed<"x">(known.x), tf::feed<"y">(y));
  }
  const auto [loss, accuracy] =
      session.run<"loss", "accuracy">(tf::feed<"x">(others.x), tf::feed<"y">(y));
  const auto w = variables.get<float>("w");
  std::printf("two classes: w %.3f %.3f %.3f, loss %.4f, accuracy %.4f\n", w[0], w[1], w[2], loss,
              accuracy);
  Rows dots{{others.x.begin(), others.x.begin() + 600}, {others.y.begin(), others.y.begin() + 300}};
  for (float at = -1; at < 3; at += 0.05f) {
    dots.x.insert(dots.x.end(), {at, -(w[0] * at + w[2]) / w[1]});
    dots.y.push_back(2);
  }
  tf::write_plot(path, tf::plot_points(dots.x, dots.y, {"class 0", "class 1", "as likely"},
                                       {.title = "logistic regression"}));
  return accuracy;
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const float of_points = fit_line(options.output, random);

  const std::filesystem::path file = examples::iris_file(tf::data_folder(options.data));
  tf::DatasetIterator flowers(file.empty() ? examples::made_irises(options.seed)
                                           : examples::read_irises(file));
  Rows parts[2];  // for the training, for the test
  for (int i = 0; const auto flower = flowers.next(); ++i) {
    const auto& [x, species] = *flower;
    Rows& part = parts[i / 3 % 2];
    part.x.insert(part.x.end(), x.begin(), x.end());
    part.y.push_back(species);
  }
  tf::Variables variables;
  tf::Session<three_classes> session(variables);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    session.run<"train">(tf::feed<"x">(parts[0].x), tf::feed<"y">(parts[0].y));
  }
  const auto [loss, of_flowers] =
      session.run<"loss", "accuracy">(tf::feed<"x">(parts[1].x), tf::feed<"y">(parts[1].y));
  std::printf("flowers, %s: loss %.4f, accuracy %.4f\n", file.empty() ? "made up" : file.c_str(),
              loss, of_flowers);
  std::printf("test accuracy %.4f\n", std::min(of_points, of_flowers));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Logistic regression of two classes and of three.",
      {.data_set = examples::iris, .steps = 2000, .batch = 0, .rate = 0, .output = "classes.svg"},
      train);
}
