// SPDX-License-Identifier: Apache-2.0

// tf::fit beside the loop that it stands for, and its line of progress.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void line(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto y = placeholder<float, tf::batch>(g, "y");
  auto a = variable<float>(g, "a", tf::zeros);
  auto b = variable<float>(g, "b", tf::zeros);
  auto loss = mean(square(a * x + b - y)).named("error");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("step");
}

/// Batch i of y = 3 x - 1.
struct Data {
  std::vector<float> x = std::vector<float>(4);
  std::vector<float> y = std::vector<float>(4);
  int count = 0;

  auto next() {
    for (std::size_t i = 0; i < 4; ++i) {
      x[i] = std::sin(static_cast<float>(count++));
      y[i] = 3 * x[i] - 1;
    }
    return std::tuple(tf::feed<"x">(x), tf::feed<"y">(y));
  }
};

std::string written(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

struct File {
  std::FILE* file = std::tmpfile();
  ~File() { std::fclose(file); }
};

std::string error_of(const auto& f) {
  try {
    f();
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fit does what its loop does, bit by bit") {
  tf::Variables expected;
  double loss = 0;
  {
    tf::Session<line> session(expected);
    Data data;
    for (int step = 0; step < 30; ++step) {
      const auto [x, y] = data.next();
      loss = static_cast<double>(session.run<"error", "step">(x, y));
    }
  }
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  std::vector<std::int64_t> steps;
  int validations = 0;
  const File out;
  const tf::FitResult result =
      tf::fit<"error", "step">(session, [&] { return data.next(); },
                               {.epochs = 3,
                                .steps_per_epoch = 10,
                                .batch_size = 4,
                                .on_step =
                                    [&](std::int64_t step, double) {
                                      steps.push_back(step);
                                      return true;
                                    },
                                .validate = [&] { return 1.0 / ++validations; },
                                .progress = out.file,
                                .progress_every = 10});
  CHECK(result.steps == 30);
  CHECK(result.epochs == 3);
  CHECK(result.loss == loss);
  CHECK(result.best_epoch == 3);
  CHECK(result.best_validation == 1.0 / 3);
  CHECK_FALSE(result.stopped_early);
  CHECK(validations == 3);
  REQUIRE(steps.size() == 30);
  CHECK(steps.front() == 1);
  CHECK(steps.back() == 30);
  CHECK(variables.get<float>("a")[0] == expected.get<float>("a")[0]);
  CHECK(variables.get<float>("b")[0] == expected.get<float>("b")[0]);

  const std::string text = written(out.file);  // no terminal: a line every 10 steps
  CHECK(text.starts_with("step 10 of 30   loss "));
  CHECK(text.find(" samples/s   0:0") != std::string::npos);
  CHECK(text.find(" left\nstep 20 of 30") != std::string::npos);
  CHECK(text.find("\nstep 30 of 30") != std::string::npos);
  CHECK(text.ends_with(" samples/s\n"));
}

TEST_CASE("fit stops early") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const auto next = [&] { return data.next(); };
  SUBCASE("when a validation gets no better for as long as patience says") {
    const double values[] = {5, 3, 4, 2.99, 3.5, 2.98, 1};
    std::size_t i = 0;
    const tf::FitResult result = tf::fit<"error", "step">(session, next,
                                                          {.epochs = 7,
                                                           .steps_per_epoch = 2,
                                                           .validate = [&] { return values[i++]; },
                                                           .patience = 3,
                                                           .min_delta = 0.1,
                                                           .progress = nullptr});
    CHECK(result.stopped_early);
    CHECK(result.epochs == 5);  // 2.99 is not better than 3 by 0.1
    CHECK(result.steps == 10);
    CHECK(result.best_epoch == 2);
    CHECK(result.best_validation == 3);
  }
  SUBCASE("when a validation is no number") {
    const tf::FitResult result = tf::fit<"error", "step">(
        session, next,
        {.epochs = 9,
         .steps_per_epoch = 1,
         .validate = [] { return std::numeric_limits<double>::quiet_NaN(); },
         .patience = 2,
         .progress = nullptr});
    CHECK(result.stopped_early);
    CHECK(result.epochs == 2);
    CHECK(result.best_epoch == 0);
  }
  SUBCASE("not when one becomes a number") {
    const double values[] = {std::numeric_limits<double>::quiet_NaN(), 4, 5, 3};
    std::size_t i = 0;
    const tf::FitResult result = tf::fit<"error", "step">(session, next,
                                                          {.epochs = 4,
                                                           .steps_per_epoch = 1,
                                                           .validate = [&] { return values[i++]; },
                                                           .patience = 2,
                                                           .progress = nullptr});
    CHECK_FALSE(result.stopped_early);
    CHECK(result.best_epoch == 4);
    CHECK(result.best_validation == 3);
  }
  SUBCASE("when on_step says so") {
    const tf::FitResult result =
        tf::fit<"error", "step">(session, next,
                                 {.epochs = 2,
                                  .steps_per_epoch = 5,
                                  .on_step = [](std::int64_t step, double) { return step < 7; },
                                  .progress = nullptr});
    CHECK(result.stopped_early);
    CHECK(result.steps == 7);
    CHECK(result.epochs == 1);
  }
}

TEST_CASE("fit refuses what it can't do") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const auto next = [&] { return data.next(); };
  CHECK(error_of([&] { tf::fit<"error", "step">(session, next, {}); }) ==
        "fit: steps_per_epoch: expected 1 or more, got 0");
  CHECK(error_of([&] { tf::fit<"error", "step">(session, next, {.epochs = -1}); }) ==
        "fit: epochs: expected 0 or more, got -1");
  const std::vector<float> x = {std::numeric_limits<float>::quiet_NaN()};
  const auto bad = [&] { return std::tuple(tf::feed<"x">(x), tf::feed<"y">(x)); };
  CHECK(error_of([&] {
          tf::fit<"error", "step">(session, bad, {.steps_per_epoch = 1, .progress = nullptr});
        }) == "fit: the loss of step 1: expected a finite number, got nan");
  // No epochs, no steps.
  const tf::FitResult nothing =
      tf::fit<"error", "step">(session, next, {.epochs = 0, .steps_per_epoch = 1});
  CHECK(nothing.steps == 0);
  CHECK(std::isnan(nothing.loss));
}

TEST_CASE("the line of progress") {
  using tf::detail::clock_text;
  using tf::detail::progress_text;
  CHECK(clock_text(0.2) == "0:01");
  CHECK(clock_text(75) == "1:15");
  CHECK(clock_text(3700) == "1:01:40");
  CHECK(progress_text({.steps = 400, .batch_size = 50}, 100, 0.34567, 2) ==
        "step 100 of 400   loss 0.3457   2500 samples/s   0:06 left");
  CHECK(progress_text({.steps = 400, .batch_size = 50}, 400, 12345, 8) ==
        "step 400 of 400   loss 1.234e+04   2500 samples/s");
  CHECK(progress_text({}, 100, 1, 2) == "step 100   loss 1   50 steps/s");
}
