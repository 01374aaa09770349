// SPDX-License-Identifier: Apache-2.0

// Trainings that are killed at random moments, and resumed.

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/data.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/training.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr std::int64_t interval = 5;
constexpr std::int64_t epochs = 8;

constexpr void line(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
  auto a = variable<float, 8>(g, "a", tf::zeros());
  auto noise = random_normal<float, 8>(g, "noise");
  auto loss = (mean(square(reshape<tf::batch, 1>(x) * (a - 3) + 0.01f * noise))).named("loss");
  tf::Adam{.rate = 0.01}.minimize(loss).named("train");
}

/// A process that trains, and writes the number of each step to a pipe before it saves.
[[noreturn]] void train(const std::filesystem::path& folder, int steps_to) {
  tf::Variables variables;
  tf::Session<line> session(variables, {.seed = 5, .threads = 1});
  const auto points = tf::from_range(0, 1000)
                          .map([](std::int64_t i) { return std::sin(static_cast<float>(i)); })
                          .shuffle({.buffer = 50, .seed = 3})
                          .repeat()
                          .batch(4);
  tf::DatasetIterator batches(points);
  tf::Checkpoints saver(folder.string(), {.keep = 2});
  saver.include("batches", batches);
  tf::LambdaCallback tell({.step = [&](tf::TrainingLoop& loop) {
    const std::int64_t step = loop.steps();
    if (::write(steps_to, &step, sizeof step) != sizeof step) ::_exit(3);
  }});
  tf::fit(
      session, [&] { return std::tuple(tf::feed<"x">(*batches.next())); },
      {.epochs = epochs, .steps_per_epoch = 13, .progress = nullptr}, tell,
      tf::SaveCheckpoints(saver, variables, {.steps = interval}));
  ::_exit(0);
}

/// Starts a process, kills it after this time, and returns its steps; whether it had ended.
std::pair<std::vector<std::int64_t>, bool> run(const std::filesystem::path& folder,
                                               std::int64_t microseconds) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    train(folder, ends[1]);
  }
  ::close(ends[1]);
  if (microseconds >= 0) {
    ::usleep(static_cast<::useconds_t>(microseconds));
    ::kill(child, SIGKILL);
  }
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; ::read(ends[0], &step, sizeof step) == sizeof step;) {
    steps.push_back(step);
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  REQUIRE((is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
  return {steps, !is_killed};
}

}  // namespace

TEST_CASE("a training that is killed at any moment loses one interval at most, and ends equal") {
  // TYPEFLOW_KILLS=1000 asks for more.
  const char* const asked = std::getenv("TYPEFLOW_KILLS");
  const int wanted = asked == nullptr ? 30 : std::atoi(asked);
  const Folder folder;
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(run(folder.path() / "whole", -1).second);
  const std::chrono::duration<double, std::micro> whole_time =
      std::chrono::steady_clock::now() - start;
  tf::Variables whole;
  REQUIRE(tf::Checkpoints((folder.path() / "whole").string()).restore_latest(whole) == 13 * epochs);

  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> moment(0,
                                                     static_cast<std::int64_t>(whole_time.count()));
  int kills = 0;
  int most_lost = 0;
  for (int training = 0; kills < wanted; ++training) {
    CAPTURE(training);
    const std::filesystem::path in = folder.path() / std::to_string(training);
    std::int64_t last = 0;
    for (bool ended = false; !ended;) {
      // A process that always dies before its first checkpoint would never end the training.
      const auto [steps, has_ended] = run(in, kills < wanted ? moment(random) : -1);
      ended = has_ended;
      kills += ended ? 0 : 1;
      if (steps.empty()) continue;
      CAPTURE(last);
      CHECK(steps.front() <= last + 1);
      CHECK(steps.front() > last - interval);
      most_lost = std::max(most_lost, static_cast<int>(last + 1 - steps.front()));
      for (std::size_t i = 1; i < steps.size(); ++i) REQUIRE(steps[i] == steps[i - 1] + 1);
      last = steps.back();
    }
    tf::Variables resumed;
    REQUIRE(tf::Checkpoints(in.string()).restore_latest(resumed) == 13 * epochs);
    CHECK(resumed.draws() == whole.draws());
    for (const std::string& name : whole.names()) {
      CHECK(std::ranges::equal(resumed.find(name)->bytes, whole.find(name)->bytes));
    }
  }
  CHECK(kills >= wanted);
  MESSAGE(kills << " kills, at most " << most_lost << " steps done again");
}
