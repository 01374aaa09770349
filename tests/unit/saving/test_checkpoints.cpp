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

#include "support/folder.hpp"
#include "typeflow/saving.hpp"

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
  const tf::Extras extras;
  CHECK(has(refusal([&] { tf::Checkpoints(folder.path(), {.save = {.extras = &extras}}); }),
            "expected include(name, x), which restores too, got the option .save.extras"));
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

TEST_CASE("a checkpoint that is damaged or missing is skipped, and that is said") {
  const Folder folder;
  tf::Variables variables;
  {
    tf::Checkpoints saver(folder.path(), {.keep = 3});
    for (const std::int64_t step : {10, 20, 30}) {
      set(variables, step);
      saver.save(variables, step);
    }
  }
  const std::filesystem::path last = folder / "model-30.safetensors";
  const std::string whole = text_of(last);
  SUBCASE("cut short") { std::filesystem::resize_file(last, whole.size() - 1); }
  SUBCASE("empty") { std::filesystem::resize_file(last, 0); }
  SUBCASE("missing") { std::filesystem::remove(last); }
  SUBCASE("a bit of an element") {
    std::string changed = whole;
    changed[changed.size() - 4000] ^= 1;
    std::ofstream(last, std::ios::binary) << changed;
  }
  std::vector<std::string> lines;
  const auto report = [&](std::string_view line) { lines.emplace_back(line); };
  tf::Checkpoints saver(folder.path(), {.keep = 3, .report = report});
  tf::Variables restored;
  CHECK(saver.restore_latest(restored) == std::optional<std::int64_t>(20));
  CHECK(restored.get<std::int64_t>("w")[999] == 20);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].starts_with("Checkpoints: skipped " + last.string() + ": "));
  CHECK(lines[1] == "Checkpoints: took " + (folder / "model-20.safetensors").string() + " instead");
  CHECK(saver.latest() == folder / "model-20.safetensors");
  CHECK(lines.size() == 4);

  // What is damaged goes before what is whole.
  set(variables, 25);
  saver.save(variables, 25);
  saver.save(variables, 26);
  CHECK(text_of(folder / "latest") ==
        "model-26.safetensors\nmodel-25.safetensors\nmodel-20.safetensors\n");
  CHECK(files_of(folder.path()) == std::set<std::string>{"latest", "model-20.safetensors",
                                                         "model-25.safetensors",
                                                         "model-26.safetensors"});
}

TEST_CASE("where no checkpoint is whole, nothing begins anew by itself") {
  const Folder folder;
  tf::Variables variables;
  set(variables, 1);
  tf::Checkpoints saver(folder.path(), {.keep = 2});
  saver.save(variables, 1);
  saver.save(variables, 2);
  // One that is whole and does not fit is no reason to take an older one.
  tf::Variables other;
  other.set<float>("w", std::vector<float>(2), {1, {2}});
  CHECK(has(refusal([&] { saver.restore_latest(other); }),
            "model-2.safetensors: does not fit the store: variable 'w': expected float [2], got"));

  std::filesystem::resize_file(folder / "model-1.safetensors", 100);
  std::filesystem::resize_file(folder / "model-2.safetensors", 3);
  const std::string text = refusal([&] { saver.restore_latest(variables); });
  CHECK(has(text, "none of its checkpoints is whole; to begin anew, remove them; "));
  CHECK(has(text, "model-2.safetensors: is damaged, or no safetensors file: it has 3 bytes; "));
  CHECK(has(text, "model-1.safetensors: is damaged"));
}

TEST_CASE("checkpoints are found without the file that names them, and stay") {
  const Folder folder;
  tf::Variables variables;
  {
    tf::Checkpoints saver(folder.path(), {.keep = 3});
    for (const std::int64_t step : {300, 20, 1000}) {  // the last one saved comes first
      set(variables, step);
      saver.save(variables, step);
    }
    set(variables, 30);
    saver.save(variables, 30);
  }
  SUBCASE("deleted") { std::filesystem::remove(folder / "latest"); }
  SUBCASE("empty") { std::filesystem::resize_file(folder / "latest", 0); }
  std::vector<std::string> lines;
  tf::Checkpoints saver(folder.path(), {.keep = 1, .report = [&](std::string_view line) {
                                          lines.emplace_back(line);
                                        }});
  tf::Variables restored;
  CHECK(saver.restore_latest(restored) == std::optional<std::int64_t>(30));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "Checkpoints: " + (folder / "latest").string() +
                        " is missing or empty; the newest of the folder's checkpoints is taken, "
                        "and none of them will be removed");
  saver.save(variables, 40);
  saver.save(variables, 50);
  CHECK(files_of(folder.path()) ==
        std::set<std::string>{"latest", "model-20.safetensors", "model-1000.safetensors",
                              "model-30.safetensors", "model-50.safetensors"});
  CHECK(text_of(folder / "latest") == "model-50.safetensors\n");
  CHECK(lines.size() == 1);
}

TEST_CASE("a serial number that no training can reach does not hide later checkpoints") {
  const Folder folder;
  tf::Variables variables;
  set(variables, 7);
  save(variables, folder / "model-7.safetensors",
       {.metadata = {{"typeflow.checkpoint", "9223372036854775807"}}});
  {
    tf::Checkpoints saver(folder.path(), {.report = {}});
    set(variables, 8);
    saver.save(variables, 8);
  }
  std::filesystem::remove(folder / "latest");
  tf::Checkpoints saver(folder.path(), {.report = {}});
  CHECK(saver.restore_latest(variables) == std::optional<std::int64_t>(8));
}

TEST_CASE("a checkpoint that was left for good is restored where no other is whole, and stays") {
  const Folder folder;
  tf::Variables variables;
  {
    tf::Checkpoints saver(folder.path(), {.keep = 1, .every_hours = 1});
    const auto start = std::filesystem::file_time_type::clock::now();
    for (int step = 1; step <= 3; ++step) {
      set(variables, step);
      const auto path = saver.save(variables, step);
      std::filesystem::last_write_time(path, start + std::chrono::hours(2 * step));
    }
  }
  std::filesystem::resize_file(folder / "model-3.safetensors", 5);
  std::vector<std::string> lines;
  tf::Checkpoints saver(folder.path(), {.keep = 1, .report = [&](std::string_view line) {
                                          lines.emplace_back(line);
                                        }});
  CHECK(saver.restore_latest(variables) == std::optional<std::int64_t>(2));
  CHECK(lines.size() == 2);
  saver.save(variables, 4);
  saver.save(variables, 5);
  CHECK(files_of(folder.path()) == std::set<std::string>{"latest", "model-1.safetensors",
                                                         "model-2.safetensors",
                                                         "model-5.safetensors"});
}

TEST_CASE("what a killed process left is removed, and nothing else") {
  const Folder folder;
  tf::Variables variables;
  {
    tf::Checkpoints saver(folder.path(), {.keep = 2});
    for (const std::int64_t step : {1, 2, 3}) {
      set(variables, step);
      saver.save(variables, step);
    }
    // Killed when a checkpoint was written and `latest` was not, and when it had removed none.
    const std::string latest = text_of(folder / "latest");
    set(variables, 4);
    saver.save(variables, 4);
    std::ofstream(folder / "latest") << latest << "removing: model-0.safetensors\n";
    std::ofstream(folder / "model-0.safetensors").flush();
    set(variables, 2);
    save(variables, folder / "model-2.safetensors", {.metadata = {{"typeflow.checkpoint", "2"}}});
  }
  const ::pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string living = std::to_string(::getppid());
  const std::set<std::string> others = {"latest." + living + "-0.tmp",
                                        "model-5.safetensors." + living + "-1.tmp",
                                        "model-draft.1-1.tmp",
                                        "model-5.tmp",
                                        "model-5.safetensors.tmp",
                                        "other-5.safetensors." + std::to_string(gone) + "-1.tmp",
                                        "latest.old.tmp",
                                        "model-best.safetensors",
                                        "notes.txt"};
  const std::set<std::string> left = {"latest." + std::to_string(gone) + "-3.tmp",
                                      "latest." + std::to_string(::getpid()) + "-99.tmp",
                                      "model-5.safetensors." + std::to_string(gone) + "-12.tmp"};
  for (const std::string& file : others) std::ofstream(folder / file).flush();
  for (const std::string& file : left) std::ofstream(folder / file).flush();

  tf::Checkpoints saver(folder.path(), {.keep = 2});
  std::set<std::string> expected = others;
  expected.insert({"latest", "model-2.safetensors", "model-3.safetensors", "model-4.safetensors"});
  CHECK(files_of(folder.path()) == expected);
  CHECK(text_of(folder / "latest") == "model-3.safetensors\nmodel-2.safetensors\n");
  CHECK(saver.restore_latest(variables) == std::optional<std::int64_t>(4));
  saver.save(variables, 5);
  expected.erase("model-2.safetensors");
  expected.erase("model-3.safetensors");
  expected.insert("model-5.safetensors");
  CHECK(files_of(folder.path()) == expected);
  CHECK(text_of(folder / "latest") == "model-5.safetensors\nmodel-4.safetensors\n");
}

TEST_CASE("a training that is killed at any moment goes on from a complete checkpoint") {
  const Folder folder;
  std::mt19937 random(2);
  std::int64_t last = -1;
  for (int i = 0; i < 200; ++i) {
    int saved[2];
    REQUIRE(::pipe(saved) == 0);
    const ::pid_t child = ::fork();
    if (child == 0) {
      [&]() noexcept {  // an Error ends the child
        tf::Checkpoints saver(folder.path(), {.keep = 2});
        tf::Variables variables;
        std::int64_t step = saver.restore_latest(variables).value_or(0);
        for (;;) {
          set(variables, ++step);
          saver.save(variables, step);
          if (::write(saved[1], "", 1) != 1) ::_exit(1);
        }
      }();
    }
    ::close(saved[1]);
    char byte;
    REQUIRE(::read(saved[0], &byte, 1) == 1);  // every process gets one step further at least
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(saved[0]);

    tf::Checkpoints saver(folder.path(), {.keep = 2});
    tf::Variables variables;
    const std::optional<std::int64_t> step = saver.restore_latest(variables);
    REQUIRE(step.has_value());
    REQUIRE(*step > last);
    last = *step;
    REQUIRE(variables.get<std::int64_t>("w")[0] == last);
    REQUIRE(variables.get<std::int64_t>("w")[999] == last);
    // `latest`, two checkpoints, and one that it does not name yet.
    REQUIRE(files_of(folder.path()).size() <= 4);
  }
  tf::Variables variables;
  set(variables, 0);
  tf::Checkpoints(folder.path(), {.keep = 2}).save(variables, 0);
  CHECK(files_of(folder.path()).size() == 3);
}

TEST_CASE("a folder is read while another process saves, and left as it is") {
  const Folder folder;
  tf::Variables variables;
  set(variables, 0);
  std::vector<std::string> reports;
  const auto report = [&](std::string_view line) { reports.emplace_back(line); };
  tf::Checkpoints reader(folder / "a", {.read_only = true, .report = report});
  CHECK_FALSE(reader.latest_step().has_value());
  CHECK_FALSE(reader.restore_latest(variables).has_value());
  CHECK_FALSE(std::filesystem::exists(folder / "a"));
  CHECK(has(refusal([&] { reader.save(variables, 1); }), "read_only"));

  tf::Checkpoints saver(folder / "a", {.keep = 2});
  for (const std::int64_t step : {10, 9}) {
    set(variables, step);
    saver.save(variables, step);
    CHECK(reader.latest_step() == step);
    CHECK(saver.latest_step() == step);
  }
  // What a killed process left, which a saver would remove.
  std::ofstream(folder / "a" / "latest.999999999-0.tmp") << "unfinished";
  std::ofstream(folder / "a" / "latest") << "model-9.safetensors\nremoving: model-10.safetensors\n";
  const auto before = files_of(folder / "a");
  tf::Checkpoints other(folder / "a", {.read_only = true, .report = report});
  set(variables, 0);
  CHECK(other.restore_latest(variables) == 9);
  CHECK(variables.get<std::int64_t>("w")[7] == 9);
  CHECK(files_of(folder / "a") == before);
  CHECK(has(text_of(folder / "a" / "latest"), "removing"));

  // A checkpoint that is gone when it is read: the one before it.
  std::filesystem::remove(folder / "a" / "model-9.safetensors");
  CHECK(other.restore_latest(variables) == 10);
  REQUIRE(reports.size() == 2);
  CHECK(has(reports[0], "model-9.safetensors"));
  std::ofstream(folder / "a" / "latest") << "model-x.safetensors\n";
  CHECK(has(refusal([&] { other.latest_step(); }), "'model-x.safetensors'"));
}
