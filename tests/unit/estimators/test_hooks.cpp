// SPDX-License-Identifier: Apache-2.0

// Hooks of trainings, validation with early stopping, experiments.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/records/tf_record.hpp>

#include "support/folder.hpp"
#include "unit/estimators/models.hpp"

namespace estimators {

namespace {

using Line = tf::Estimator<line, "accuracy", "worst">;

/// A training of a loop of `steps` steps, whose validations are scripted by step.
void train(tf::ValidationMonitor& monitor, std::int64_t steps, std::int64_t& at) {
  tf::LambdaCallback tell({.step = [&](tf::TrainingLoop& loop) { at = loop.steps(); }});
  tf::TrainingLoop loop({.steps_per_epoch = steps, .progress = nullptr}, {"loss"}, tell, monitor);
  while (loop.goes_on()) loop.step(0.0);
  loop.finish();
}

}  // namespace

// The log of TensorFlow's tutorial on monitors: validations of the checkpoints that were new at a
// multiple of 50 steps, "Stopping. Best step: 1150 with loss = 0.0506".
TEST_CASE("Early stopping ends the tutorial's training at step 1450, with 1150 as the best") {
  const std::map<std::int64_t, double> script{{50, 1.71139},     {300, 0.0714158},
                                              {600, 0.0635},     {850, 0.0574183},
                                              {1150, 0.0506101}, {1450, 0.0550445}};
  std::int64_t at = 0;
  std::vector<std::string> lines;
  tf::ValidationMonitor monitor(
      [&]() -> std::optional<tf::Evaluation> {
        CHECK(at % 50 == 0);
        const auto found = script.find(at);
        if (found == script.end()) return std::nullopt;
        return tf::Evaluation({{"loss", found->second}, {"precision", 1}}, at);
      },
      {.every_n_steps = 50, .early_stopping_rounds = 200, .print = [&](std::string_view line) {
         lines.emplace_back(line);
       }});
  train(monitor, 2000, at);
  CHECK(at == 1450);
  CHECK(monitor.early_stopped());
  CHECK(monitor.best_step() == 1150);
  CHECK(monitor.best_value() == 0.0506101);
  CHECK(monitor.evaluations().size() == 6);
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "validation at step 50: loss 1.71139, precision 1");
  CHECK(lines[6] == "stopping: the best step is 1150, with loss 0.0506101");
}

TEST_CASE("Early stopping watches a figure that rises, and leaves out what is not a number") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> script{nan, 0.5, 0.7, nan, 0.7, 0.6, 0.9, 0.9};
  std::int64_t at = 0;
  const auto evaluate = [&]() -> std::optional<tf::Evaluation> {
    const auto i = static_cast<std::size_t>(at / 10 - 1);
    return tf::Evaluation({{"loss", 0}, {"accuracy", script[i]}}, at);
  };
  tf::ValidationMonitorOptions options{.every_n_steps = 10,
                                       .early_stopping_metric = "accuracy",
                                       .early_stopping_metric_minimize = false,
                                       .early_stopping_rounds = 30};
  tf::ValidationMonitor monitor(evaluate, options);
  train(monitor, 80, at);
  CHECK(at == 60);
  CHECK(monitor.best_step() == 30);

  options.early_stopping_rounds = 0;
  tf::ValidationMonitor never(evaluate, options);
  train(never, 80, at);
  CHECK(at == 80);
  CHECK_FALSE(never.early_stopped());
  CHECK(never.best_value() == 0.9);
  CHECK(never.best_step() == 70);

  tf::ValidationMonitor other(evaluate, options);
  other.restore(never.state());
  CHECK(other.best_step() == 70);
  CHECK(other.best_value() == 0.9);
  CHECK_THROWS_AS(other.restore("EarlyStopping\n"), tf::Error);

  options.early_stopping_metric = "recall";
  tf::ValidationMonitor unknown(evaluate, options);
  CHECK_THROWS_WITH(train(unknown, 80, at), doctest::Contains("'recall'"));
  CHECK_THROWS_WITH(tf::ValidationMonitor(evaluate, {.every_n_steps = 0}),
                    doctest::Contains("every_n_steps"));
  CHECK_THROWS_WITH(tf::ValidationMonitor(evaluate, {.early_stopping_rounds = -1}),
                    doctest::Contains("early_stopping_rounds"));
}

TEST_CASE("Hooks print, keep and write what a training has at their steps") {
  const Folder folder;
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  Line estimator({.seed = 3, .progress = nullptr});
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  tf::CaptureVariable<float> b(estimator.variables(), "b", {.steps = 4, .first = 1});
  tf::GraphDump<"loss", "y"> dump({.steps = 5, .first = 0});
  std::map<std::int64_t, double> losses;
  tf::LambdaCallback tell(
      {.step = [&](tf::TrainingLoop& loop) { losses[loop.steps()] = loop.figure("loss"); }});
  tf::EventWriter writer(folder.path() / "events");
  tf::StepCounter counter({.steps = 10, .first = 0, .print = [](std::string_view) {}}, &writer);
  const tf::FitResult result =
      estimator.fit(inputs, {.steps = 50}, tell, b, dump, counter,
                    tf::PrintTensors<"loss", "y">({.steps = 10, .first = 0, .print = keep}, 2),
                    tf::LogVariables(estimator, {.steps = 10, .first = 0, .print = keep}),
                    tf::StopAtStep({.steps = 12}));
  CHECK(result.stopped_early);
  CHECK(result.steps == 12);

  std::vector<std::int64_t> steps;
  for (const auto& [step, values] : b.values()) steps.push_back(step);
  CHECK(steps == std::vector<std::int64_t>{1, 4, 8, 12});
  CHECK(b.values().at(12)[0] == estimator.variables().get<float>("b")[0]);
  CHECK(b.values().at(12) != b.values().at(8));

  REQUIRE(dump.steps().size() == 2);
  CHECK(dump.steps().at(5).find("y")->second.size() == 8);
  CHECK(dump.steps().at(10).find("loss")->second[0] == losses[10]);
  CHECK(counter.steps_per_second() > 0);

  REQUIRE(lines.size() == 3);
  CHECK(lines[0].starts_with("step 10: loss "));
  CHECK(lines[0].find(", y [8] ") != std::string::npos);
  CHECK(lines[0].ends_with(" ..."));
  CHECK(lines[1].starts_with("step 10: w mean "));
  CHECK(lines[2].starts_with("step 10: b mean "));
  CHECK(estimator.trainable_names() == std::vector<std::string>{"w", "b"});
}

TEST_CASE("The model's summaries and the steps a second are written at their steps") {
  const Folder folder;
  const Points points(40);
  Line estimator({.progress = nullptr});
  const std::filesystem::path in = folder.path() / "events";
  {
    tf::EventWriter writer(in);
    estimator.fit(points.inputs({.batch = 8}), {.steps = 9},
                  tf::SaveSummaries(writer, {.steps = 4, .first = 1}),
                  tf::StepCounter({.steps = 9, .first = 0}, &writer));
  }
  int labels = 0, counts = 0;
  for (const auto& file : std::filesystem::directory_iterator(in)) {
    tf::TfRecordReader records(file.path());
    while (const auto record = records.next()) {
      labels += std::string(*record).find("batch/label") != std::string::npos;
      counts += std::string(*record).find("global_step/sec") != std::string::npos;
    }
  }
  CHECK(labels == 3);  // steps 1, 4, 8
  CHECK(counts == 1);
}

TEST_CASE("A dump names the tensors that differ from another training's") {
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8});
  tf::GraphDump<"loss", "y"> first, again, other;
  Line({.seed = 3, .progress = nullptr}).fit(inputs, {.steps = 3}, first);
  Line({.seed = 3, .progress = nullptr}).fit(inputs, {.steps = 3}, again);
  Line({.seed = 4, .progress = nullptr}).fit(inputs, {.steps = 3}, other);
  CHECK(first.compare(again, 3, 0).empty());
  CHECK(first.compare(other, 3) == std::vector<std::string>{"loss", "y"});
  CHECK_THROWS_WITH(first.compare(again, 4), doctest::Contains("step 4"));
}

TEST_CASE("Hooks refuse what does not fit") {
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8});
  Line estimator({.progress = nullptr});
  CHECK_THROWS_WITH(
      estimator.fit(inputs, {.steps = 1}, tf::CaptureVariable<float>(estimator.variables(), "v")),
      doctest::Contains("'v'"));
  CHECK_THROWS_AS(
      estimator.fit(inputs, {.steps = 1}, tf::CaptureVariable<double>(estimator.variables(), "b")),
      tf::Error);
  CHECK_THROWS_WITH(
      estimator.fit(inputs, {.steps = 1}, tf::LogVariables(estimator.variables(), {"w", "bias"})),
      doctest::Contains("'bias'"));
  CHECK_THROWS_WITH(tf::StopAtStep({}), doctest::Contains("StopAtStep"));
  CHECK_THROWS_WITH(tf::StopAtStep({.steps = 1, .last_step = 1}), doctest::Contains("StopAtStep"));
  CHECK_THROWS_WITH(tf::PrintTensors<"y">({.steps = -1}), doctest::Contains("PrintTensors: steps"));
}

TEST_CASE("A monitor evaluates an estimator while it trains, and changes nothing of it") {
  const Points points(40), others(13, 5);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  const auto test = others.inputs({.epochs = 1});
  Line alone({.seed = 3, .progress = nullptr}), watched({.seed = 3, .progress = nullptr});
  alone.fit(inputs, {.steps = 30});
  tf::ValidationMonitor monitor(watched, test, {.every_n_steps = 10});
  watched.fit(inputs, {.steps = 30}, monitor);
  CHECK(alone.evaluate(test) == watched.evaluate(test));
  REQUIRE(monitor.evaluations().size() == 3);
  CHECK(monitor.evaluations()[0].step() == 10);
  CHECK(monitor.evaluations()[2] == watched.evaluate(test));
}

TEST_CASE("An experiment trains and evaluates in turns") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  tf::Experiment experiment(estimator, points.inputs({.batch = 8}),
                            others.inputs({.batch = 5, .epochs = 1}),
                            {.train_steps = 40, .evaluate_every = 10});
  CHECK(experiment.test().step() == 1);
  const tf::Evaluation last = experiment.local_run();
  CHECK(last.step() == 40);
  CHECK(last == estimator.evaluate(others.inputs({.batch = 5, .epochs = 1})));
  CHECK(experiment.train().steps == 40);  // they are done
  CHECK(experiment.evaluate() == last);
}

TEST_CASE("An experiment runs the schedule of a name") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  tf::Experiment experiment(estimator, points.inputs({.batch = 8}),
                            others.inputs({.batch = 5, .epochs = 1}),
                            {.train_steps = 20, .evaluate_every = 10, .schedule = "train"});
  int steps = 0;
  tf::LambdaCallback counter({.step = [&](tf::TrainingLoop&) { ++steps; }});
  CHECK(experiment.run("test", counter)->step() == 1);
  CHECK(steps == 0);
  CHECK_FALSE(experiment.run());
  CHECK(estimator.step() == 20);
  CHECK(experiment.run("evaluate") == experiment.evaluate());
  CHECK(experiment.run("train_and_evaluate")->step() == 20);  // its steps are done
  CHECK_THROWS_WITH(experiment.run("run_std_server"),
                    doctest::Contains("'train_and_evaluate', 'continuous_eval'"));
  CHECK_THROWS_WITH(experiment.run("continuous_eval"), doctest::Contains("read_only"));
  Line other({.seed = 3, .progress = nullptr});
  tf::Experiment local(other, points.inputs({.batch = 8}), others.inputs({.batch = 5, .epochs = 1}),
                       {.train_steps = 15});
  CHECK(local.run("local_run", counter)->step() == 15);
  CHECK(steps == 15);
}

TEST_CASE("A continuous evaluation follows the checkpoints of another training") {
  const Folder folder;
  const Points points(40), others(13, 5);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  const auto test = others.inputs({.batch = 5, .epochs = 1});
  const std::string run = (folder / "run").string();
  tf::RunConfig config{.model_folder = run,
                       .seed = 3,
                       .threads = 1,
                       .save_checkpoints = {.steps = 10},
                       .save_summaries_steps = 0,
                       .progress = nullptr};
  tf::RunConfig reader = config;
  reader.read_only = true;

  // No checkpoint yet: it waits until the time-out, and makes no folder.
  Line follower(reader);
  tf::Experiment idle(follower, inputs, test,
                      {.continuous = {.poll_seconds = 0.001, .timeout_seconds = 0.01}});
  CHECK(idle.continuous_eval().empty());
  CHECK_FALSE(idle.run("continuous_eval"));
  CHECK_FALSE(std::filesystem::exists(run));
  CHECK_THROWS_WITH(follower.fit(inputs, {.steps = 1}), doctest::Contains("read_only"));

  // The training goes on whenever an evaluation is there, so that each checkpoint is seen.
  Line trained(config);
  trained.fit(inputs, {.steps = 10});
  std::vector<tf::Evaluation> expected{trained.evaluate(test)};
  tf::Experiment following(
      follower, inputs, test,
      {.train_steps = 40,
       .continuous = {.poll_seconds = 0.001, .after_evaluation = [&](const tf::Evaluation&) {
                        trained.fit(inputs, {.steps = 10});
                        expected.push_back(trained.evaluate(test));
                        return true;
                      }}});
  const std::vector<tf::Evaluation> found = following.continuous_eval();
  REQUIRE(found.size() == 4);
  expected.pop_back();  // of step 50
  CHECK(found == expected);
  CHECK(found.back().step() == 40);

  // It begins with the last checkpoint, and a function may end it.
  Line late(reader);
  tf::Experiment once(late, inputs, test,
                      {.continuous = {.after_evaluation = [](auto&) { return false; }}});
  CHECK(once.run("continuous_eval")->step() == 50);
  tf::Experiment stopped(late, inputs, test, {.continuous = {.stop_step = 45}});
  CHECK(stopped.continuous_eval().size() == 1);
  CHECK_FALSE(late.reload());
  tf::Experiment wrong(late, inputs, test, {.continuous = {.poll_seconds = -1}});
  CHECK_THROWS_WITH(wrong.continuous_eval(), doctest::Contains("poll_seconds: expected 0 or more"));
  CHECK_THROWS_WITH(trained.reload(), doctest::Contains("Estimator::reload"));

  // Another thread trains and removes all checkpoints but the last.
  config.keep_checkpoints = 1;
  config.save_checkpoints = {.steps = 1};
  std::thread training([&] { Line(config).fit(inputs, {.max_steps = 120}); });
  tf::Experiment beside(late, inputs, test,
                        {.train_steps = 120, .continuous = {.poll_seconds = 0.0001}});
  const std::vector<tf::Evaluation> seen = beside.continuous_eval();
  training.join();
  CHECK(seen.back().step() == 120);
  CHECK(seen.back() == Line(config).evaluate(test));
}

}  // namespace estimators
