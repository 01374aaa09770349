// SPDX-License-Identifier: Apache-2.0

// Callbacks of a training, its history, and trainings that are resumed.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/data.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

/// A line through noisy points, with noise in the model too, so that the draws count.
constexpr void line(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto y = placeholder<float, tf::batch>(g, "y");
  auto rate = variable<float>(g, "rate", tf::filled(0.05), false);
  auto a = variable<float>(g, "a", tf::zeros());
  auto b = variable<float>(g, "b", tf::zeros());
  auto noise = random_normal<float>(g, "noise");
  auto error = a * x + b + 0.01f * noise - y;
  auto loss = mean(square(error)).named("loss");
  mean(abs(error)).named("distance");
  tf::Momentum{.rate = rate, .momentum = 0.5f}.minimize(loss).named("train");
}

struct Points {
  tf::BatchSampler sampler{100, {.size = 4, .seed = 7}};

  auto next() {
    std::vector<float> x, y;
    for (const std::int64_t i : sampler.next()) {
      x.push_back(static_cast<float>(i) / 50 - 1);
      y.push_back(3 * x.back() - 1 + 0.1f * std::sin(static_cast<float>(i)));
    }
    return std::tuple(tf::feed<"x">(std::move(x)), tf::feed<"y">(std::move(y)));
  }
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }
bool equal(const tf::Variables& a, const tf::Variables& b) {
  return a.names() == b.names() && a.draws() == b.draws() &&
         std::ranges::all_of(a.names(), [&](const std::string& name) {
           return std::ranges::equal(a.find(name)->bytes, b.find(name)->bytes);
         });
}

/// A loop that gives its callbacks these figures: a step and a validation in each epoch.
tf::FitResult play(const std::vector<double>& values, auto&&... callbacks) {
  std::size_t i = 0;
  tf::TrainingLoop loop({.epochs = static_cast<std::int64_t>(values.size()),
                         .steps_per_epoch = 1,
                         .validate = [&]() -> tf::Validation { return {{"score", values[i++]}}; },
                         .progress = nullptr},
                        {"loss"}, callbacks...);
  while (loop.goes_on()) loop.step(1.0);
  return loop.finish();
}

}  // namespace

TEST_CASE("the history has the means of steps, and the validations") {
  tf::TrainingLoop loop(
      {.epochs = 2,
       .steps_per_epoch = 3,
       .validate = []() -> tf::Validation { return {{"loss", 0.5}, {"accuracy", 0.75}}; },
       .progress = nullptr},
      {"loss", "accuracy"});
  int steps = 0;
  while (loop.goes_on()) {
    ++steps;
    loop.step(steps, 10.0f * static_cast<float>(steps));
  }
  const tf::FitResult result = loop.finish();
  CHECK(steps == 6);
  CHECK(result.history.names() ==
        std::vector<std::string>{"loss", "accuracy", "val_loss", "val_accuracy"});
  CHECK(result.history.of("loss") == std::vector<double>{2, 5});
  CHECK(result.history.of("accuracy") == std::vector<double>{20, 50});
  CHECK(result.history.of("val_accuracy") == std::vector<double>{0.75, 0.75});
  CHECK(result.best_validation == 0.5);
  CHECK(result.best_epoch == 1);
  CHECK(message_of([&] { result.history.of("accurracy"); }) ==
        "History::of: expected one of 'loss', 'accuracy', 'val_loss', 'val_accuracy', got "
        "'accurracy'");
  CHECK(message_of([&] { tf::History().of("loss"); }) ==
        "History::of: expected a history with epochs, got 'loss'");
  CHECK(csv_of(result.history) ==
        "epoch,loss,accuracy,val_loss,val_accuracy\n1,2,20,0.5,0.75\n2,5,50,0.5,0.75\n");
}

TEST_CASE("a table leaves out what an epoch lacks, and quotes names") {
  tf::History history;
  history.add({1, {{"loss", 0.1}}});
  history.add({2, {{"loss", 1e-30}, {"top 5, \"all\"", std::numeric_limits<double>::infinity()}}});
  CHECK(csv_of(history) == "epoch,loss,\"top 5, \"\"all\"\"\"\n1,0.1,\n2,1e-30,inf\n");
  CHECK(std::isnan(history.of("top 5, \"all\"")[0]));
}

TEST_CASE("fit shows metrics in the line of progress, and keeps them") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Points points;
  std::FILE* const out = std::tmpfile();
  std::vector<double> losses;
  std::vector<double> distances;
  const tf::FitResult result = tf::fit<"loss", "train", "distance">(
      session, [&] { return points.next(); },
      {.epochs = 2, .steps_per_epoch = 5, .progress = out, .progress_every = 5},
      tf::LambdaCallback({.step = [&](tf::TrainingLoop& loop) {
        losses.push_back(loop.figure("loss"));
        distances.push_back(loop.figure("distance"));
      }}));
  REQUIRE(distances.size() == 10);
  double sum = 0;
  for (int i = 5; i < 10; ++i) sum += distances[static_cast<std::size_t>(i)];
  CHECK(result.history.of("distance")[1] == sum / 5);
  CHECK(result.loss == losses[9]);
  std::string text;
  std::rewind(out);
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  std::fclose(out);
  CAPTURE(text);
  CHECK(text.starts_with("step 5 of 10   loss "));
  CHECK(has(text, "   distance "));
  CHECK(has(text, "left\nepoch 1 of 2   loss "));
}

TEST_CASE("an epoch may end where the data do") {
  tf::Variables variables;
  tf::Session<line> session(variables);
  Points points;
  int taken = 0;
  const auto next = [&]() -> std::optional<decltype(points.next())> {
    if (taken == 3) {
      taken = 0;
      return std::nullopt;
    }
    ++taken;
    return points.next();
  };
  const tf::FitResult result = tf::fit(session, next, {.epochs = 4, .progress = nullptr});
  CHECK(result.steps == 12);
  CHECK(result.history.epochs().size() == 4);
  const auto none = []() -> std::optional<decltype(points.next())> { return std::nullopt; };
  CHECK(message_of([&] { tf::fit(session, none, {.progress = nullptr}); }) ==
        "fit: the data: expected a batch at least, got none");
}

TEST_CASE("early stopping by a figure that rises") {
  tf::EarlyStopping stopping({.figure = "val_score", .goal = tf::Goal::rise, .min_delta = 0.05}, 2);
  const tf::FitResult result = play({0.5, 0.7, 0.74, 0.76, 0.8, 0.79, 0.9}, stopping);
  CHECK(result.stopped_early);
  CHECK(result.epochs == 6);  // 0.76 is better than 0.7 by more than 0.05; 0.8 and 0.79 are not
  CHECK(stopping.best_epoch() == 4);
  CHECK(stopping.best() == 0.76);
  // The callback begins anew with each training; NaN is never the best.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(play({nan, 0.1, nan, nan, 0.2}, stopping).epochs == 4);
  CHECK(stopping.best_epoch() == 2);
  CHECK(message_of([&] { play({1}, tf::EarlyStopping({.figure = "val_loss"}, 1)); }) ==
        "a figure of the training: expected one of 'loss', 'val_score', got 'val_loss'");
  CHECK(message_of([] { tf::EarlyStopping({}, 0); }) ==
        "EarlyStopping: patience: expected 1 or more, got 0");
}

TEST_CASE("a rate is reduced where a figure stands still") {
  tf::Variables variables;
  variables.set<float>("rate", std::vector<float>{1}, {0, {}});
  std::vector<float> rates;
  const auto watch = [&] {
    return tf::LambdaCallback(
        {.epoch = [&](tf::TrainingLoop&) { rates.push_back(variables.get<float>("rate")[0]); }});
  };
  SUBCASE("after `patience` epochs") {
    play({5, 4, 4, 4, 3, 3, 3, 3},
         tf::ReduceOnPlateau(variables, "rate", {.factor = 0.5, .patience = 2}), watch());
    CHECK(rates == std::vector<float>{1, 1, 1, 0.5f, 0.5f, 0.5f, 0.25f, 0.25f});
  }
  SUBCASE("not in the epochs of a cooldown, and not below the least") {
    play({5, 5, 5, 5, 5, 5},
         tf::ReduceOnPlateau(variables, "rate",
                             {.factor = 0.5, .patience = 1, .cooldown = 1, .least = 0.25}),
         watch());
    // Keras's own order: 1 down to 0.5 after epoch 2, epoch 3 cools, ...
    CHECK(rates == std::vector<float>{1, 0.5f, 0.25f, 0.25f, 0.25f, 0.25f});
  }
  CHECK(message_of([&] {
          variables.set<float>("rates", std::vector<float>{1, 2}, {1, {2}});
          play({1}, tf::ReduceOnPlateau(variables, "rates"));
        }) ==
        "ReduceOnPlateau: variable 'rates': expected a scalar of float or double, got float "
        "[2]");
  CHECK(message_of([&] { tf::ReduceOnPlateau(variables, "rate", {.factor = 1}); }) ==
        "ReduceOnPlateau: factor: expected more than 0 and less than 1, got 1.000000");
}

TEST_CASE("the best variables are kept in a file") {
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{0}, {0, {}});
  const auto count = tf::LambdaCallback({.epoch = [&](tf::TrainingLoop& loop) {
    variables.set<float>("w", std::vector<float>{static_cast<float>(loop.epochs())});
  }});
  for (const bool restore : {false, true}) {
    tf::SaveBest best(variables, folder / "best", {.restore = restore});
    auto counting = count;
    play({3, 1, 2}, counting, best);
    CHECK(best.best_epoch() == 2);
    CHECK(variables.get<float>("w")[0] == (restore ? 2 : 3));
    tf::Variables saved;
    load(saved, folder / "best");
    CHECK(saved.get<float>("w")[0] == 2);
  }
  // Nothing is restored where nothing was the best.
  variables.set<float>("w", std::vector<float>{9});
  play({std::numeric_limits<double>::quiet_NaN()},
       tf::SaveBest(variables, folder / "best", {.restore = true}));
  CHECK(variables.get<float>("w")[0] == 9);
}

namespace {

/// All that a process makes to train it, up to `stop_at` steps, when it is killed, so to say.
struct Process {
  explicit Process(const std::filesystem::path& in) : folder(in) {}

  tf::FitResult train(std::int64_t epochs, std::int64_t stop_at,
                      tf::Interval interval = {.steps = 7}) {
    tf::Checkpoints saver((folder / "checkpoints").string(), {.keep = 2});
    saver.include("points", points.sampler);
    return tf::fit<"loss", "train", "distance">(
        session, [&] { return points.next(); },
        {.epochs = epochs,
         .steps_per_epoch = 10,
         .on_step =
             [&](std::int64_t step, double) {
               steps.push_back(step);
               if (step == stop_at) throw std::runtime_error("killed");
               return true;
             },
         .validate = [&]() -> tf::Validation {
           const float a = std::as_const(variables).get<float>("a")[0];
           return {{"a", std::abs(a - 3)}};
         },
         .progress = nullptr},
        tf::EarlyStopping({.figure = "val_a", .min_delta = 0.1}, 3),
        tf::ReduceOnPlateau(variables, "rate", {.factor = 0.5, .patience = 2}),
        tf::CsvLog((folder / "log.csv").string()),
        tf::SaveBest(variables, (folder / "best.safetensors").string()),
        tf::SaveCheckpoints(saver, variables, interval));
  }

  std::filesystem::path folder;
  tf::Variables variables;
  tf::Session<line> session{variables, {.seed = 11}};
  Points points;
  std::vector<std::int64_t> steps;
};

}  // namespace

TEST_CASE("a training that is killed and resumed ends as one without a break, bit by bit") {
  const Folder folder;
  Process whole(folder.path() / "whole");
  std::filesystem::create_directories(whole.folder);
  const tf::FitResult expected = whole.train(12, -1);
  CHECK(expected.stopped_early);  // so early stopping had a state to keep
  CHECK(std::as_const(whole.variables).get<float>("rate")[0] < 0.05f);
  const std::string table = text_of(whole.folder / "log.csv");
  tf::Variables best;
  load(best, (whole.folder / "best.safetensors").string());

  for (const std::int64_t first : {3, 7, 10, 28, 41, 50}) {
    CAPTURE(first);
    const std::filesystem::path in = folder.path() / std::to_string(first);
    std::filesystem::create_directories(in);
    std::int64_t stop = first;
    for (; stop < expected.steps; stop += 17) {
      Process killed(in);
      CHECK_THROWS_WITH(killed.train(12, stop), "killed");
      // At most one interval is done again.
      REQUIRE_FALSE(killed.steps.empty());
      const std::int64_t before = stop - first >= 17 ? stop - 17 : 0;
      if (before > 0) CHECK(killed.steps.front() == (before - 1) / 7 * 7 + 1);
    }
    Process last(in);
    const tf::FitResult result = last.train(12, -1);
    CHECK(result.steps == expected.steps);
    CHECK(result.epochs == expected.epochs);
    CHECK(result.loss == expected.loss);
    CHECK(result.best_validation == expected.best_validation);
    CHECK(result.best_epoch == expected.best_epoch);
    CHECK(result.stopped_early);
    CHECK(result.history == expected.history);
    CHECK(equal(last.variables, whole.variables));
    CHECK(text_of(in / "log.csv") == table);
    tf::Variables its_best;
    load(its_best, (in / "best.safetensors").string());
    CHECK(equal(its_best, best));
    // A training that has ended has nothing to do.
    Process again(in);
    const tf::FitResult nothing = again.train(12, -1);
    CHECK(again.steps.empty());
    CHECK(nothing.history == expected.history);
    CHECK(equal(again.variables, whole.variables));
  }
}

TEST_CASE("a training goes on with more epochs than it had") {
  const Folder folder;
  Process first(folder.path());
  first.train(2, -1, {});
  CHECK(first.steps.size() == 20);
  Process second(folder.path());
  const tf::FitResult result = second.train(3, -1, {});
  CHECK(second.steps.size() == 10);
  CHECK(second.steps.front() == 21);
  CHECK(result.history.epochs().size() == 3);
}

TEST_CASE("a training that on_step has stopped goes on when it is resumed") {
  const Folder folder;
  tf::Variables variables;
  std::int64_t asked = 10;
  const auto run = [&] {
    tf::Session<line> session(variables);
    Points points;
    tf::Checkpoints saver(folder.path().string());
    return tf::fit(
        session, [&] { return points.next(); },
        {.epochs = 2,
         .steps_per_epoch = 10,
         .on_step = [&](std::int64_t step, double) { return step != asked; },
         .progress = nullptr},
        tf::SaveCheckpoints(saver, variables, {}));
  };
  tf::FitResult result = run();
  CHECK(result.steps == 10);
  CHECK(result.epochs == 0);
  CHECK(result.stopped_early);
  asked = 15;
  result = run();
  CHECK(result.steps == 15);
  CHECK(result.epochs == 1);
  asked = -1;
  result = run();
  CHECK(result.steps == 20);
  CHECK(result.epochs == 2);
  CHECK_FALSE(result.stopped_early);
}

TEST_CASE("a checkpoint that is not of this training is an error") {
  const Folder folder;
  tf::Variables variables;
  tf::Session<line> session(variables);
  Points points;
  const auto next = [&] { return points.next(); };
  const tf::FitOptions options{.steps_per_epoch = 2, .progress = nullptr};
  {
    tf::Checkpoints saver(folder / "bare");
    saver.save(variables, 5);
    CHECK(has(message_of([&] {
                tf::fit(session, next, options, tf::SaveCheckpoints(saver, variables, {}));
              }),
              "it has no state of 'training'"));
    // The callback has gone, and so has what it included.
    saver.save(variables, 6);
  }
  tf::Checkpoints saver(folder / "other");
  tf::fit(session, next, options, tf::SaveCheckpoints(saver, variables, {}));
  const std::vector<float> a(std::as_const(variables).get<float>("a").begin(),
                             std::as_const(variables).get<float>("a").end());
  session.run<"train">(std::get<0>(points.next()), std::get<1>(points.next()));
  const float now = std::as_const(variables).get<float>("a")[0];
  CHECK(now != a[0]);
  CHECK(has(message_of([&] {
              tf::fit<"loss", "train", "distance">(session, next, options,
                                                   tf::SaveCheckpoints(saver, variables, {}));
            }),
            "expected the figures 'loss', 'distance', got 'loss'"));
  CHECK(has(message_of([&] {
              tf::fit(session, next, options, tf::EarlyStopping({}, 1),
                      tf::SaveCheckpoints(saver, variables, {}));
            }),
            "expected 2 callbacks, got 1"));
  CHECK(std::as_const(variables).get<float>("a")[0] == now);  // nothing was restored
}

TEST_CASE("a callback and its checkpoints may outlive a training that an error ended") {
  const Folder folder;
  tf::Variables variables;
  tf::Session<line> session(variables);
  Points points;
  tf::Checkpoints saver(folder.path().string());
  tf::SaveCheckpoints saving(saver, variables, {.steps = 1});
  std::vector<std::int64_t> steps;
  const auto train = [&](std::int64_t last) {
    return tf::fit(
        session, [&] { return points.next(); },
        {.steps_per_epoch = 4,
         .on_step =
             [&](std::int64_t step, double) {
               steps.push_back(step);
               if (step == last) throw std::runtime_error("broken");
               return true;
             },
         .progress = nullptr},
        saving);
  };
  CHECK_THROWS_WITH(train(3), "broken");
  CHECK(train(-1).steps == 4);
  CHECK(steps == std::vector<std::int64_t>{1, 2, 3, 3, 4});
  saver.save(variables, 9);  // has no training in it
  CHECK(has(message_of([&] { train(-1); }), "it has no state of 'training'"));
}

TEST_CASE("the state of a training is checked") {
  tf::FitOptions options{.epochs = 3, .steps_per_epoch = 2, .progress = nullptr};
  tf::TrainingLoop loop(options, {"loss\twith\na tab \\"});
  for (int i = 0; i < 3; ++i) loop.step(i + 0.1);
  const std::string state = loop.state();
  tf::TrainingLoop other(options, {"loss\twith\na tab \\"});
  other.restore(state);
  CHECK(other.state() == state);
  CHECK(other.steps() == 3);
  CHECK(other.history() == loop.history());
  // Every shorter text is refused.
  for (std::size_t i = 0; i < state.size(); ++i) {
    tf::TrainingLoop third(options, {"loss\twith\na tab \\"});
    CHECK_FALSE(message_of([&] { third.restore(std::string_view(state).substr(0, i)); }).empty());
    CHECK(third.steps() == 0);
  }
  // Numbers that don't fit each other: 3 steps, 1 epoch, 1 step in the next one, no best epoch.
  const std::size_t at = state.find("3\t1\t1\t0");
  REQUIRE(at != state.npos);
  for (const std::string numbers : {"-3\t1\t1\t0", "3\t-1\t1\t0", "3\t1\t-1\t0", "3\t1\t1\t-1",
                                    "3\t1\t4\t0", "3\t1\t1\t2", "9223372036854775807\t1\t1\t0"}) {
    std::string other_state = state;
    other_state.replace(at, 7, numbers);
    tf::TrainingLoop third(options, {"loss\twith\na tab \\"});
    CHECK(message_of([&] { third.restore(other_state); })
              .starts_with("the state of a training: expected numbers of steps and epochs that fit "
                           "each other, got "));
  }
}

TEST_CASE("a loop refuses what it can't count") {
  const tf::FitOptions options{.steps_per_epoch = 2, .progress = nullptr};
  tf::TrainingLoop loop(options, {"loss", "accuracy"});
  CHECK(message_of([&] { loop.step(1); }) == "TrainingLoop::step: expected 2 figures, got 1");
  CHECK(message_of([&] { tf::TrainingLoop(options, {"a", "b", "a"}); }) ==
        "fit: names of figures: expected different ones, got 'a' twice");
  CHECK(message_of([&] { tf::TrainingLoop(options, {""}); }) ==
        "fit: name of a figure: expected a text, got an empty one");
  CHECK(message_of([&] { tf::TrainingLoop(options, std::vector<std::string>{}); }) ==
        "fit: names of figures: expected one or more, got none");
  CHECK(message_of([] { tf::Periodic({.steps = -1}); }) ==
        "Interval: steps: expected 0 or more, got -1");
}

TEST_CASE("an interval by steps, and by the clock") {
  tf::Periodic every_third({.steps = 3});
  std::vector<std::int64_t> due;
  for (std::int64_t step = 1; step < 10; ++step) {
    if (every_third(step)) due.push_back(step);
  }
  CHECK(due == std::vector<std::int64_t>{3, 6, 9});
  tf::Periodic never({});
  CHECK_FALSE(never(100));
  tf::Periodic at_once({.seconds = 1e-9});
  CHECK(at_once(1));
  CHECK(at_once(2));
  tf::Periodic later({.seconds = 1e6});
  CHECK_FALSE(later(1));
}
