// SPDX-License-Identifier: Apache-2.0

// tf::fit beside the loop that it stands for, and its line of progress.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

// The clocks, which a test sets forward.
static ::time_t ahead = 0;
extern "C" int clock_gettime(::clockid_t clock, ::timespec* time) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  time->tv_sec += ahead;
  return result;
}

namespace {

constexpr void line(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto y = placeholder<float, tf::batch>(g, "y");
  auto a = variable<float>(g, "a", tf::zeros());
  auto b = variable<float>(g, "b", tf::zeros());
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

/// A terminal, and what is written on it.
class Terminal {
 public:
  Terminal() {
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    const int end = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    REQUIRE(end >= 0);
    ::termios settings{};
    REQUIRE(::tcgetattr(end, &settings) == 0);
    ::cfmakeraw(&settings);
    REQUIRE(::tcsetattr(end, TCSANOW, &settings) == 0);
    file = ::fdopen(end, "w");
  }
  ~Terminal() {
    std::fclose(file);
    ::close(master_);
  }

  /// Its lines as they stand there in the end: a line that is begun again is not kept.
  std::string text() const {
    std::fputc(end_of_text, file);  // what is written arrives in pieces
    std::fflush(file);
    std::string all;
    for (char c = 0; ::read(master_, &c, 1) == 1 && c != end_of_text;) all += c;
    constexpr std::string_view again = "\r\x1b[K";
    for (std::size_t at = all.find(again); at != all.npos; at = all.find(again)) {
      const std::size_t line = at == 0 ? 0 : all.rfind('\n', at - 1) + 1;
      all.erase(line, at + again.size() - line);
    }
    return all;
  }

  std::FILE* file = nullptr;

 private:
  static constexpr char end_of_text = '\3';

  int master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
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
  CHECK(text.find(" left\nepoch 1 of 3   loss ") != std::string::npos);
  CHECK(text.find("   validation 1\nstep 20 of 30") != std::string::npos);
  CHECK(text.find("\nstep 30 of 30") != std::string::npos);
  CHECK(text.find(" samples/s\nepoch 3 of 3   loss ") != std::string::npos);
  CHECK(text.ends_with("   validation 0.3333\n"));
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

TEST_CASE("a terminal's line shows an epoch's last step and ends before a validation") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const Terminal terminal;
  tf::FitOptions options{.epochs = 2,
                         .steps_per_epoch = 30,
                         .validate =
                             [&] {
                               std::fprintf(terminal.file, "validated\n");
                               return 0.0;
                             },
                         .progress = terminal.file};
  tf::fit<"error", "step">(session, [&] { return data.next(); }, options);
  const std::string text = terminal.text();
  CAPTURE(text);
  const std::size_t first = text.find("\nvalidated\n");
  REQUIRE(first != text.npos);
  CHECK(text.starts_with("step 30 of 60 "));
  CHECK(text.find('\n') == first);
  const std::string second = text.substr(first + 11);
  CHECK(second.starts_with("epoch 1 of 2   loss "));
  CHECK(second.find("   validation 0\nstep 60 of 60 ") != text.npos);
  CHECK(text.find("/s\nvalidated\nepoch 2 of 2   loss ") != text.npos);
  CHECK(text.ends_with("   validation 0\n"));
}

TEST_CASE("a terminal's line ends where a training does") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const Terminal terminal;
  tf::FitOptions options{.epochs = 1, .steps_per_epoch = 60, .progress = terminal.file};
  const auto next = [&] { return data.next(); };
  SUBCASE("when on_step throws") {
    options.on_step = [](std::int64_t step, double) {
      if (step == 7) throw std::runtime_error("seven");
      return true;
    };
    CHECK_THROWS_WITH((tf::fit<"error", "step">(session, next, options)), "seven");
  }
  SUBCASE("when next_batch throws") {
    const auto eighth = [&] {
      if (data.count == 4 * 7) throw std::runtime_error("eight");
      return data.next();
    };
    CHECK_THROWS_WITH((tf::fit<"error", "step">(session, eighth, options)), "eight");
  }
  SUBCASE("when on_step stops it") {
    options.on_step = [](std::int64_t step, double) { return step < 7; };
    tf::fit<"error", "step">(session, next, options);
  }
  const std::string text = terminal.text();
  CAPTURE(text);
  CHECK(text.starts_with("step 7 of 60 "));
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("where there is no terminal, the last step has a line too if the training is stopped") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const File out;
  tf::fit<"error", "step">(session, [&] { return data.next(); },
                           {.steps_per_epoch = 60,
                            .on_step = [](std::int64_t step, double) { return step < 25; },
                            .progress = out.file,
                            .progress_every = 20});
  const std::string text = written(out.file);
  CHECK(text.starts_with("step 20 of 60 "));
  CHECK(text.find("\nstep 25 of 60 ") != text.npos);
}

TEST_CASE("the time of validations is no time of training") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Data data;
  const File out;
  tf::fit<"error", "step">(session, [&] { return data.next(); },
                           {.epochs = 3,
                            .steps_per_epoch = 2,
                            .validate =
                                [] {
                                  ahead += 1'000'000;
                                  return 0.0;
                                },
                            .progress = out.file,
                            .progress_every = 4});
  const std::string text = written(out.file);  // steps 4 and 6
  CAPTURE(text);
  CHECK(ahead == 3'000'000);
  const std::size_t rate = text.find("   ", text.find("loss", text.find("step 4 of 6")));
  REQUIRE(rate != text.npos);
  CHECK(std::stod(text.substr(rate)) > 1e-3);  // 4e-6 steps/s with one of them
  CHECK(text.find("   0:") != text.npos);      // left of the first line
}

TEST_CASE("steps count on from those of earlier trainings") {
  tf::TrainingLoop loop({.steps_per_epoch = 3, .first_step = 40, .progress = nullptr});
  CHECK(loop.steps() == 40);
  while (loop.goes_on()) loop.step(0.5);
  CHECK(loop.finish().steps == 43);
  CHECK_THROWS_WITH(tf::TrainingLoop({.steps_per_epoch = 3, .first_step = -1}),
                    doctest::Contains("first_step"));
}

TEST_CASE("the line of progress") {
  using tf::detail::clock_text;
  using tf::detail::progress_text;
  CHECK(clock_text(0.2) == "0:01");
  CHECK(clock_text(75) == "1:15");
  CHECK(clock_text(3700) == "1:01:40");
  const tf::Figure loss{"loss", 0.34567};
  const tf::Figures both{{"loss", 12345}, {"accuracy", 0.5}};
  CHECK(progress_text({.steps = 400, .batch_size = 50}, 100, 100, {&loss, 1}, 2) ==
        "step 100 of 400   loss 0.3457   2500 samples/s   0:06 left");
  CHECK(progress_text({.steps = 400, .batch_size = 50}, 400, 400, both, 8) ==
        "step 400 of 400   loss 1.234e+04   accuracy 0.5   2500 samples/s");
  CHECK(progress_text({}, 100, 100, {&loss, 1}, 2) == "step 100   loss 0.3457   50 steps/s");
  // 100 steps were done by an earlier process.
  CHECK(progress_text({.steps = 300}, 200, 100, {&loss, 1}, 2) ==
        "step 200 of 300   loss 0.3457   50 steps/s   0:02 left");
}
