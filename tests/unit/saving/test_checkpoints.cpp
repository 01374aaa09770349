// SPDX-License-Identifier: Apache-2.0

// Checkpoints: which are kept, which is the latest, and what a kill leaves.

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "typeflow/saving.hpp"
#include "unit/saving/folder.hpp"

namespace tf = typeflow;

namespace {

void set(tf::Variables& variables, std::int64_t step) {
  variables.set<std::int64_t>("w", std::vector(1000, step), {1, {1000}});
}
std::set<std::string> files_of(const std::filesystem::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.insert(entry.path().filename().string());
  }
  return files;
}
std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("the last checkpoints are kept, and the latest is restored") {
  const Folder folder;
  tf::Variables variables;
  {
    tf::Checkpoints saver(folder / "a", {.keep = 2});
    CHECK_FALSE(saver.latest().has_value());
    CHECK_FALSE(saver.restore_latest(variables).has_value());
    for (const std::int64_t step : {10, 9, 100}) {
      set(variables, step);
      CHECK(saver.save(variables, step) ==
            folder / "a" / ("model-" + std::to_string(step) + ".safetensors"));
    }
  }
  CHECK(files_of(folder / "a") ==
        std::set<std::string>{"latest", "model-9.safetensors", "model-100.safetensors"});
  CHECK(text_of(folder / "a" / "latest") == "model-100.safetensors\nmodel-9.safetensors\n");

  // Another process goes on, from an earlier step even: the last one saved is the latest.
  tf::Checkpoints saver(folder / "a", {.keep = 2});
  tf::Variables restored;
  CHECK(saver.restore_latest(restored) == std::optional<std::int64_t>(100));
  CHECK(restored.get<std::int64_t>("w")[999] == 100);
  set(variables, 5);
  saver.save(variables, 5);
  CHECK(saver.latest() == folder / "a" / "model-5.safetensors");
  CHECK(files_of(folder / "a") ==
        std::set<std::string>{"latest", "model-5.safetensors", "model-100.safetensors"});
  saver.save(variables, 5);  // again
  CHECK(text_of(folder / "a" / "latest") == "model-5.safetensors\nmodel-100.safetensors\n");
}

TEST_CASE("all checkpoints are kept where that is wished, and other files are left alone") {
  const Folder folder;
  std::ofstream(folder / "notes.txt").flush();
  std::ofstream(folder / "model-77.safetensors").flush();
  tf::Variables variables;
  set(variables, 0);
  tf::Checkpoints saver(folder.path(), {.name = "net", .keep = 0});
  for (std::int64_t step = 0; step < 8; ++step) saver.save(variables, step);
  CHECK(files_of(folder.path()).size() == 2 + 8 + 1);
}

TEST_CASE("one checkpoint is left for good every so many hours") {
  const Folder folder;
  tf::Variables variables;
  set(variables, 0);
  tf::Checkpoints saver(folder.path(), {.keep = 1, .every_hours = 2});
  const auto start = std::filesystem::file_time_type::clock::now();
  for (int step = 0; step < 7; ++step) {  // as if 1.5 hours lay between two
    const auto path = saver.save(variables, step);
    std::filesystem::last_write_time(path, start + std::chrono::minutes(1 + 90 * step));
  }
  // At 0, 1.5, 3, 4.5, 6, 7.5 and 9 hours, of which the last is the one that is kept.
  CHECK(files_of(folder.path()) == std::set<std::string>{"latest", "model-2.safetensors",
                                                         "model-4.safetensors",
                                                         "model-6.safetensors"});
  CHECK(text_of(folder / "latest") == "model-6.safetensors\n");
}

TEST_CASE("what makes no sense is an Error") {
  const Folder folder;
  tf::Variables variables;
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path(), {.name = "a/b"}); }), "'a/b'"));
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path(), {.keep = -1}); }), "keep >= 0"));
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path(), {.every_hours = -1}); }),
            "every_hours >= 0"));
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path()).save(variables, -1); }), "got -1"));
  std::ofstream(folder / "latest") << "../../etc/passwd\n";
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path()).restore_latest(variables); }),
            "names '../../etc/passwd', which is no checkpoint of 'model'"));
  std::ofstream(folder / "latest") << "model-3.safetensors\n";
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path()).restore_latest(variables); }),
            "model-3.safetensors: cannot be opened"));
  std::ofstream(folder / "file").flush();
  CHECK(has(refusal([&] { tf::Checkpoints saver(folder / "file" / "x"); }), "no such folder"));
}

TEST_CASE("a training that is killed at any moment goes on from a complete checkpoint") {
  const Folder folder;
  std::mt19937 random(2);
  std::int64_t last = -1;
  for (int i = 0; i < 200; ++i) {
    const ::pid_t child = ::fork();
    if (child == 0) {
      tf::Checkpoints saver(folder.path(), {.keep = 2});
      tf::Variables variables;
      std::int64_t step = saver.restore_latest(variables).value_or(0);
      for (;;) {
        set(variables, ++step);
        saver.save(variables, step);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 4000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    const tf::Checkpoints saver(folder.path(), {.keep = 2});
    tf::Variables variables;
    const std::optional<std::int64_t> step = saver.restore_latest(variables);
    if (!step.has_value()) {
      REQUIRE(last == -1);
      continue;
    }
    REQUIRE(*step >= last);
    last = *step;
    REQUIRE(variables.get<std::int64_t>("w")[0] == last);
    REQUIRE(variables.get<std::int64_t>("w")[999] == last);
    for (const std::string& file : files_of(folder.path())) REQUIRE_FALSE(file.ends_with(".tmp"));
  }
  CHECK(last > 0);
}
