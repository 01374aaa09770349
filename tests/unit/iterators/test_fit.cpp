// SPDX-License-Identifier: Apache-2.0

// tf::fit with the data of a session's iterators, beside the loop that it stands for.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/data.hpp"
#include "typeflow/iterators.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void line(tf::Graph& g) {
  const auto [x, y] =
      tf::iterator<tf::ElementPart<float, tf::batch>, tf::ElementPart<float, tf::batch>>(g, "data");
  auto a = variable<float>(g, "a", tf::zeros());
  auto b = variable<float>(g, "b", tf::zeros());
  auto rate = placeholder<float>(g, "rate", 0.1f);
  const auto error = a * x + b - y;
  const auto loss = mean(square(error)).named("loss");
  mean(abs(error)).named("distance");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

/// 10 points of y = 3 x - 1, shuffled, in batches of 4, 4 and 2.
auto batches() {
  return tf::from_range(0, 10)
      .map([](std::int64_t i) {
        const float x = std::sin(static_cast<float>(i));
        return std::tuple(x, 3 * x - 1);
      })
      .shuffle({.buffer = 10, .seed = 4})
      .batch(4);
}

/// Gradient descent in double, on the batches that repeats of the dataset give.
struct Reference {
  double a = 0;
  double b = 0;
  std::vector<double> losses;

  explicit Reference(int epochs) {
    for (int e = 0; e < epochs; ++e) {
      tf::Dataset<std::tuple<float, float>> rows = tf::from_range(0, 10)
                                                       .map([](std::int64_t i) {
                                                         const float x =
                                                             std::sin(static_cast<float>(i));
                                                         return std::tuple(x, 3 * x - 1);
                                                       })
                                                       .shuffle({.buffer = 10, .seed = 4})
                                                       .repeat(e + 1)
                                                       .skip(10 * e);
      for (const auto& [x, y] : rows.batch(4)) step(x, y);
    }
  }
  void step(const std::vector<float>& x, const std::vector<float>& y) {
    double da = 0;
    double db = 0;
    double loss = 0;
    const auto n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = a * static_cast<double>(x[i]) + b - static_cast<double>(y[i]);
      loss += error * error / n;
      da += 2 * error * static_cast<double>(x[i]) / n;
      db += 2 * error / n;
    }
    losses.push_back(loss);
    a -= 0.1 * da;
    b -= 0.1 * db;
  }
};

}  // namespace

TEST_CASE("an epoch of fit ends where the dataset does, and the next one has another order") {
  tf::Variables variables;
  tf::DataSession<line> session(variables);
  session.bind<"data">(batches());
  std::vector<double> losses;
  tf::FitOptions options{.epochs = 3, .progress = nullptr};
  options.on_step = [&](std::int64_t, double loss) {
    losses.push_back(loss);
    return true;
  };
  const tf::FitResult result = tf::fit<"loss", "train", "distance">(session, options);
  CHECK(result.steps == 9);
  CHECK(result.epochs == 3);
  const Reference reference(3);
  REQUIRE(losses.size() == reference.losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CHECK(losses[i] == doctest::Approx(reference.losses[i]).epsilon(1e-5));
  }
  CHECK(double(variables.get<float>("a")[0]) == doctest::Approx(reference.a).epsilon(1e-5));
  CHECK(double(variables.get<float>("b")[0]) == doctest::Approx(reference.b).epsilon(1e-5));
}

TEST_CASE("fit without metrics, with a number of steps, goes on in the dataset") {
  tf::Variables variables;
  tf::DataSession<line> session(variables);
  session.bind<"data">(batches());
  const tf::FitResult result =
      tf::fit(session, {.epochs = 1, .steps_per_epoch = 2, .progress = nullptr});
  CHECK(result.steps == 2);
  CHECK(result.loss == doctest::Approx(Reference(1).losses[1]).epsilon(1e-5));
  CHECK(session.iterator<"data">().taken() == 2);
  // With feeds besides: the loop of training/fit.hpp runs the session, too.
  session.bind<"data">(batches().repeat());
  tf::fit(session, [] { return std::tuple(tf::feed<"rate">(0.f)); },
          {.steps_per_epoch = 5, .progress = nullptr});
  CHECK(session.iterator<"data">().taken() == 5);
}

TEST_CASE("an epoch of as many steps as the dataset has is one epoch") {
  tf::Variables variables;
  tf::DataSession<line> session(variables);
  session.bind<"data">(batches());
  const tf::FitResult result =
      tf::fit(session, {.epochs = 2, .steps_per_epoch = 3, .progress = nullptr});
  CHECK(result.steps == 6);
  CHECK(result.loss == doctest::Approx(Reference(2).losses[5]).epsilon(1e-5));
  CHECK(session.iterator<"data">().taken() == (std::int64_t{1} << 40) + 3);
}

TEST_CASE("an empty dataset is an error of fit, and so is an iterator that is not bound") {
  tf::Variables variables;
  tf::DataSession<line> session(variables);
  CHECK(
      message_of([&] { tf::fit(session, {.progress = nullptr}); }).starts_with("iterator 'data'"));
  session.bind<"data">(batches().take(0));
  CHECK(message_of([&] { tf::fit(session, {.progress = nullptr}); }) ==
        "fit: the data: expected a batch at least, got none");
}

TEST_CASE("a training that is resumed goes on with the elements that it has not had") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("typeflow_test_iterators_" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  const auto train = [&](std::int64_t stop_after) {
    tf::Variables variables;
    tf::DataSession<line> session(variables);
    session.bind<"data">(batches());
    tf::Checkpoints saver(folder.string());
    saver.include("data", session.iterator<"data">());
    tf::FitOptions options{.epochs = 3, .progress = nullptr};
    options.on_step = [&](std::int64_t step, double) {
      if (step == stop_after) throw tf::Error("power", "it is off");
      return true;
    };
    tf::fit(session, options, tf::SaveCheckpoints(saver, variables, {.steps = 1}));
    return std::tuple(variables.get<float>("a")[0], variables.get<float>("b")[0]);
  };
  CHECK(message_of([&] { train(5); }) == "power: it is off");  // in the second epoch
  const auto [a, b] = train(-1);
  std::filesystem::remove_all(folder);
  const auto [whole_a, whole_b] = train(-1);
  std::filesystem::remove_all(folder);
  CHECK(a == whole_a);
  CHECK(b == whole_b);
}
