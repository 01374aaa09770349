// SPDX-License-Identifier: Apache-2.0

// Estimators: fit, partial_fit, evaluate, predict, export_model; model folders and trainings that
// are killed; mistakes.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/records/tf_record.hpp>

#include "support/folder.hpp"
#include "unit/estimators/models.hpp"

namespace estimators {

namespace {

using Line = tf::Estimator<line, "accuracy", "worst">;

tf::RunConfig config_of(const std::filesystem::path& folder) {
  return {.model_folder = folder.string(),
          .seed = 3,
          .threads = 1,
          .save_checkpoints = {.steps = 7},
          .save_summaries_steps = 10,
          .progress = nullptr};
}

/// All bits of an estimator's variables.
std::string bits_of(const Line& estimator) {
  std::string bits;
  for (const std::string& name : estimator.variables().names()) {
    const auto bytes = estimator.variables().find(name)->bytes;
    bits += name;
    bits.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return bits + std::to_string(estimator.variables().draws());
}

/// A program of two trainings, the second of which validates. It kills itself after these steps of
/// its process, if they are above 0.
std::string program(const std::filesystem::path& folder, int kill_after) {
  const Points points(40), others(13, 5);
  Line estimator(config_of(folder));
  int steps = 0;
  tf::LambdaCallback killer({.step = [&](tf::TrainingLoop&) {
    if (++steps == kill_after) ::raise(SIGKILL);
  }});
  const auto shuffled = points.inputs({.batch = 8, .shuffle = true, .seed = 2});
  estimator.fit(shuffled, {.max_steps = 30}, killer);
  tf::ValidationMonitor monitor(estimator, others.inputs({.epochs = 1}), {.every_n_steps = 5});
  estimator.fit(points.inputs({.batch = 12}), {.max_steps = 60}, monitor, killer);
  return bits_of(estimator) + std::to_string(monitor.best_step()) +
         std::to_string(monitor.best_value());
}

/// Predicts by a variable that no training makes.
constexpr void other_variable(tf::Graph& g, tf::ModeKeys mode) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto w = variable<float>(g, "w", tf::zeros());
  if (mode == tf::ModeKeys::infer) {
    (variable<float>(g, "scale", tf::ones()) * w * x).named("y");
  } else {
    auto loss = mean(square(w * x - 1)).named("loss");
    tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
  }
}
static_assert(tf::Estimator<other_variable>::InferSession::has_name<"y">());
static_assert(!tf::Estimator<other_variable>::InferSession::has_name<"loss">());

/// The variables of `line`, and one more.
constexpr void longer(tf::Graph& g, tf::ModeKeys) {
  auto x = placeholder<float, tf::batch, 2>(g, "x");
  auto w = variable<float, 2, 1>(g, "w", tf::normal());
  auto extra = variable<float>(g, "extra", tf::ones());
  auto loss = mean(square(matmul(x, w) * extra)).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

/// Whether a process of the program was killed.
bool is_killed(const std::filesystem::path& folder, int after) {
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      program(folder, after);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

TEST_CASE("Trainings that are killed at any step end with the bits of those without a break") {
  const Folder folder;
  // Before threads: processes are forked.
  for (const int after : {3, 7, 18, 31, 44}) {
    const std::filesystem::path killed = folder / std::to_string(after);
    CHECK(is_killed(killed, after));
    if (after > 10) CHECK(is_killed(killed, 9));
  }
  const std::string whole = program(folder / "whole", 0);
  for (const int after : {3, 7, 18, 31, 44}) {
    CAPTURE(after);
    CHECK(program(folder / std::to_string(after), 0) == whole);
  }
}

TEST_CASE("A fit trains so many further steps, or until so many in all") {
  const Points points(40);
  Line estimator({.seed = 3, .progress = nullptr});
  CHECK_FALSE(estimator.is_trained());
  CHECK(estimator.step() == 0);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  CHECK(estimator.fit(inputs, {.steps = 30}).steps == 30);
  CHECK(estimator.fit(inputs, {.steps = 20}).steps == 50);
  CHECK(estimator.fit(inputs, {.max_steps = 60}).steps == 60);
  CHECK(estimator.fit(inputs, {.max_steps = 60}).steps == 60);
  CHECK(estimator.step() == 60);
  CHECK(estimator.partial_fit(points.inputs({.batch = 8, .epochs = 1})).steps == 65);
  CHECK(estimator.is_trained());
}

TEST_CASE("An evaluation gives the mean of the batches' losses, and metrics of all rows") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  estimator.fit(points.inputs({.batch = 8, .shuffle = true}), {.steps = 15});
  const tf::Evaluation found = estimator.evaluate(others.inputs({.batch = 5, .epochs = 1}));

  const auto w = estimator.variables().get<float>("w");
  const auto b = static_cast<double>(estimator.variables().get<float>("b")[0]);
  double loss = 0, worst = 0;
  int right = 0;
  for (const auto& [first, last] : {std::pair(0, 5), std::pair(5, 10), std::pair(10, 13)}) {
    double sum = 0, most = 0;
    for (int i = first; i < last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double y = static_cast<double>(w[0]) * static_cast<double>(others.x[2 * at]) +
                       static_cast<double>(w[1]) * static_cast<double>(others.x[2 * at + 1]) + b;
      const double off = y - static_cast<double>(others.label[at]);
      sum += off * off;
      most = std::max(most, std::abs(off));
      right += (y > 0) == (others.label[at] > 0);
    }
    loss += sum / (last - first) / 3;
    worst += most / 3;
  }
  CHECK(found["loss"] == doctest::Approx(loss).epsilon(1e-5));
  CHECK(found["accuracy"] == doctest::Approx(right / 13.0).epsilon(1e-6));
  CHECK(found["worst"] == doctest::Approx(worst).epsilon(1e-5));
  CHECK(found.step() == 15);
  CHECK(estimator.evaluate(others.inputs({.batch = 5, .epochs = 1})) == found);
}

TEST_CASE("Predictions are those of all rows, and need no labels") {
  const Points points(40), others(13, 5);
  Line estimator({.seed = 3, .progress = nullptr});
  estimator.fit(points.inputs({.batch = 8}), {.steps = 15});
  const auto [y, positive] =
      estimator.predict<"y", "is_positive">(others.inputs({.batch = 5, .epochs = 1}));
  REQUIRE(y.size() == 13);
  const auto w = estimator.variables().get<float>("w");
  const float b = estimator.variables().get<float>("b")[0];
  for (std::size_t i = 0; i < 13; ++i) {
    CHECK(y[i] == doctest::Approx(w[0] * others.x[2 * i] + w[1] * others.x[2 * i + 1] + b));
    CHECK(positive[i] == (y[i] > 0));
  }
  const auto alone = estimator.predict<"y">(tf::rows<"x">({.epochs = 1}, tf::matrix(others.x, 2)));
  CHECK(alone == y);
}

TEST_CASE("A fit of further steps is finished after a kill, and not begun again") {
  const Folder folder;
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8, .shuffle = true});
  {
    Line estimator(config_of(folder / "a"));
    tf::LambdaCallback fails({.step = [&](tf::TrainingLoop& loop) {
      if (loop.steps() == 25) throw std::runtime_error("as if it were killed");
    }});
    estimator.fit(inputs, {.steps = 10}, fails);
    CHECK_THROWS_AS(estimator.fit(inputs, {.steps = 30}, fails), std::runtime_error);
  }
  tf::LambdaCallback nothing({});
  {
    Line estimator(config_of(folder / "a"));
    CHECK(estimator.step() == 21);
    CHECK_THROWS_WITH(estimator.fit(points.inputs({.batch = 8}), {.steps = 31}, nothing),
                      doctest::Contains("a training to step 41 with the inputs \"x\", \"label\""));
  }
  {
    Line estimator(config_of(folder / "a"));
    CHECK(estimator.fit(inputs, {.steps = 30}, nothing).steps == 40);
    CHECK(estimator.fit(inputs, {.steps = 1}).steps == 41);
    Line whole(config_of(folder / "b"));
    whole.fit(inputs, {.steps = 10});
    whole.fit(inputs, {.steps = 30});
    whole.fit(inputs, {.steps = 1});
    CHECK(bits_of(estimator) == bits_of(whole));
  }
  Line again(config_of(folder / "a"));
  CHECK(again.is_trained());
  CHECK(again.fit(inputs, {.max_steps = 41}).steps == 41);
  CHECK(again.fit(inputs, {.steps = 2}).steps == 43);
}

TEST_CASE("A training that was not finished can be given up") {
  const Folder folder;
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8});
  {
    Line estimator(config_of(folder / "a"));
    tf::LambdaCallback fails({.step = [&](tf::TrainingLoop& loop) {
      if (loop.steps() == 10) throw std::runtime_error("as if it were killed");
    }});
    CHECK_THROWS_AS(estimator.fit(inputs, {.steps = 30}, fails), std::runtime_error);
  }
  Line estimator(config_of(folder / "a"));
  CHECK(estimator.step() == 7);
  CHECK(estimator.fit(inputs, {.steps = 5, .resume = false}).steps == 12);
}

TEST_CASE("A training that a hook has stopped stays so, for the same max_steps") {
  const Folder folder;
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8});
  for (int time = 0; time < 2; ++time) {
    Line estimator(config_of(folder / "a"));
    const tf::FitResult result =
        estimator.fit(inputs, {.max_steps = 30}, tf::StopAtStep({.last_step = 12}));
    CHECK(result.steps == 12);
    CHECK(result.stopped_early);
  }
  Line estimator(config_of(folder / "a"));
  CHECK(estimator.fit(inputs, {.max_steps = 20}).steps == 20);
}

TEST_CASE("A model folder has checkpoints, and event files of trainings and evaluations") {
  const Folder folder;
  const Points points(40), others(13, 5);
  Line estimator(config_of(folder / "run"));
  estimator.fit(points.inputs({.batch = 8}), {.steps = 30});
  estimator.evaluate(others.inputs({.epochs = 1}));
  estimator.evaluate(points.inputs({.epochs = 1}), {.name = "train"});
  CHECK(std::filesystem::exists(folder / "run/model-30.safetensors"));
  CHECK(std::filesystem::exists(folder / "run/model-28.safetensors"));
  const auto events = [&](const std::string& in) {
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(folder / in)) {
      if (file.path().filename().string().find("tfevents") == std::string::npos) continue;
      tf::TfRecordReader records(file.path());
      while (const auto record = records.next()) all += std::string(*record) + '\n';
    }
    return all;
  };
  CHECK(events("run").find("loss") != std::string::npos);
  CHECK(events("run/eval").find("accuracy") != std::string::npos);
  CHECK(events("run/eval_train").find("worst") != std::string::npos);
}

TEST_CASE("Another program evaluates, predicts and serves what a model folder has") {
  const Folder folder;
  const Points points(40), others(13, 5);
  const auto test = others.inputs({.batch = 5, .epochs = 1});
  Line trained(config_of(folder / "run"));
  trained.fit(points.inputs({.batch = 8}), {.steps = 30});
  Line loaded(config_of(folder / "run"));
  CHECK(loaded.evaluate(test) == trained.evaluate(test));
  const auto y = trained.predict<"y">(test);
  CHECK(loaded.predict<"y">(test) == y);

  const std::string file = (folder / "line.safetensors").string();
  loaded.export_model<"y">(file);
  tf::Runner served = tf::exported_runner<Line::InferSession, "y">(file);
  std::vector<float> result(13);
  served.run({{"x", others.x}}, {{"y", result}});
  CHECK(std::equal(result.begin(), result.end(), y.begin()));
}

TEST_CASE("Estimators name what is missing or wrong, what was expected and what came") {
  const Folder folder;
  const Points points(40);
  const auto inputs = points.inputs({.batch = 8, .epochs = 1});
  Line in_memory({.progress = nullptr}),
      in_folder({.model_folder = (folder / "none").string(), .progress = nullptr});
  CHECK_THROWS_WITH(in_memory.evaluate(inputs), doctest::Contains("got neither"));
  CHECK_THROWS_WITH(in_folder.evaluate(inputs), doctest::Contains("none'"));
  CHECK_THROWS_WITH(in_folder.predict<"y">(inputs), doctest::Contains("Estimator::predict"));
  CHECK_THROWS_WITH(in_folder.export_model<"y">("x"), doctest::Contains("Estimator::export_model"));
  CHECK_FALSE(std::filesystem::exists(folder / "none"));

  const auto empty = tf::inputs<"x", "label">(inputs.batches().take(0));
  CHECK_THROWS_WITH(in_memory.fit(empty, {.steps = 3}),
                    doctest::Contains("the inputs \"x\", \"label\": expected a batch at least"));
  CHECK_FALSE(in_memory.is_trained());
  CHECK_THROWS_WITH(in_memory.fit(inputs, {.steps = -1}), doctest::Contains("got -1"));
  CHECK_THROWS_WITH(in_memory.fit(inputs, {.steps = 3, .max_steps = 3}),
                    doctest::Contains("got both"));
  in_memory.fit(inputs, {.steps = 3});
  CHECK_THROWS_WITH(in_memory.evaluate(empty),
                    doctest::Contains("Estimator::evaluate: the inputs"));
  CHECK_THROWS_WITH(in_memory.predict<"y">(empty), doctest::Contains("Estimator::predict"));
  CHECK_THROWS_WITH(in_memory.evaluate(inputs)["recall"],
                    doctest::Contains("expected one of 'loss', 'accuracy', 'worst', got 'recall'"));

  const std::vector<float> three(3), four(4);
  CHECK_THROWS_WITH(tf::matrix(three, 2), doctest::Contains("got 3 values"));
  CHECK_THROWS_WITH((tf::rows<"x", "label">({}, tf::matrix(four, 2), three)),
                    doctest::Contains("array \"label\": expected 2 rows"));
  CHECK_THROWS_WITH((tf::rows<"x">({}, std::vector<float>())), doctest::Contains("a row at least"));
  CHECK_THROWS_WITH((tf::rows<"x">({.batch = -1}, four)), doctest::Contains("a batch"));
  // Rows of another length.
  CHECK_THROWS_WITH(in_memory.predict<"y">(tf::rows<"x">({.epochs = 1}, tf::matrix(three, 3))),
                    doctest::Contains("\"x\""));
  // A column of a table.
  std::FILE* const file = std::fopen((folder / "t.csv").c_str(), "w");
  std::fputs("x0,x1,label\n1,2,3\n", file);
  std::fclose(file);
  const auto table = tf::csv_rows<float, float, float>(
      (folder / "t.csv").string(), {.header = true, .columns = {"x0", "x1", "labels"}});
  const auto rows = table.map([](const auto& row) {
    return std::tuple(std::array{std::get<0>(row), std::get<1>(row)}, std::get<2>(row));
  });
  CHECK_THROWS_WITH(in_memory.evaluate(tf::inputs<"x", "label">(rows.batch(2))),
                    doctest::Contains("labels"));
}

TEST_CASE("A variable that was not trained is an error, and is not made up") {
  tf::Estimator<other_variable> estimator({.progress = nullptr});
  const auto inputs = tf::rows<"x">({.epochs = 1}, std::vector<float>{1, 2});
  estimator.fit(inputs);
  CHECK_THROWS_WITH(estimator.predict<"y">(inputs), doctest::Contains("'scale'"));
  CHECK_FALSE(estimator.variables().contains("scale"));
}

TEST_CASE(
    "A folder with another model is an error that names it, and no training makes up the rest") {
  const Folder folder;
  const Points points(16);
  const auto inputs = points.inputs({.batch = 8});
  Line(config_of(folder.path())).fit(inputs, {.steps = 2});
  const auto xs = tf::rows<"x">({.batch = 8}, tf::matrix(points.x, 2));
  const std::string where = "the folder '" + folder.path().string() + "'";
  const auto message = [&](auto&& estimator, const auto& its_inputs) -> std::string {
    try {
      estimator.fit(its_inputs, {.steps = 1});
    } catch (const tf::Error& why) {
      return why.what();
    }
    return "";
  };
  const auto has = [&](const std::string& text, const char* part) {
    return text.find(where) != text.npos && text.find(part) != text.npos;
  };
  CHECK(has(message(tf::Estimator<longer>(config_of(folder.path())), xs), "'extra'"));
  CHECK(has(message(tf::Estimator<other_variable>(config_of(folder.path())),
                    tf::rows<"x">({.batch = 8}, points.label)),
            "variable 'w': expected float [], got float [2, 1]"));
  CHECK(Line(config_of(folder.path())).fit(inputs, {.steps = 1}).steps == 3);
}

TEST_CASE("A state with impossible numbers of steps is refused") {
  tf::detail::ModelState state{.step = 3};
  for (const std::int64_t number : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    const tf::detail::ModelState wrong{.step = number};
    CHECK_THROWS_WITH(state.restore(wrong.state()), doctest::Contains("from 0 to 2^62, got"));
    CHECK_THROWS_AS(state.restore(tf::detail::ModelState{.taken = number}.state()), tf::Error);
  }
  CHECK(state.step == 3);
}

TEST_CASE("A loss that is not finite is an error that names the step, or ends the training") {
  Points points(16);
  points.label[9] = std::numeric_limits<float>::infinity();
  const auto inputs = points.inputs({.batch = 8});
  Line estimator({.progress = nullptr});
  CHECK_THROWS_WITH(estimator.fit(inputs, {.steps = 5}), doctest::Contains("the loss of step 2"));
  Line other({.progress = nullptr});
  const tf::FitResult result = other.fit(inputs, {.steps = 5, .fail_on_nan_loss = false});
  CHECK(result.steps == 1);
  CHECK(result.stopped_early);
}

}  // namespace estimators
