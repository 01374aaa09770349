// SPDX-License-Identifier: Apache-2.0

// Cost models in files, and the rates of the machine in the user's cache folder.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <typeflow/saving/cost_models.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// An environment variable, until the end of its life.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (had_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_;
  std::string before_;
};

tf::exec::CostModel some_model() {
  tf::exec::CostModel model;
  model.rates = {1.25e9, 3e9, 1e-7};
  model.link = {2e-6, 0.1};
  model.iterations = 7;
  model.measured["fc1/MatMul (a \"b\".cpp:3)"]["/cpu:0"] = {1.0 / 3, 19};
  model.measured["fc1/MatMul (a \"b\".cpp:3)"]["/gpu:1"] = {1e-9, 1};
  model.measured["y"]["/cpu:0"] = {0, 2};
  return model;
}

void check_equal(const tf::exec::CostModel& a, const tf::exec::CostModel& b) {
  CHECK(a.rates.flops_per_second == b.rates.flops_per_second);
  CHECK(a.rates.bytes_per_second == b.rates.bytes_per_second);
  CHECK(a.rates.launch_seconds == b.rates.launch_seconds);
  CHECK(a.link.latency == b.link.latency);
  CHECK(a.link.bytes_per_second == b.link.bytes_per_second);
  CHECK(a.iterations == b.iterations);
  REQUIRE(a.measured.size() == b.measured.size());
  for (const auto& [step, times] : a.measured) {
    REQUIRE(b.measured.contains(step));
    REQUIRE(b.measured.at(step).size() == times.size());
    for (const auto& [device, time] : times) {
      CHECK(b.measured.at(step).at(device).seconds == time.seconds);
      CHECK(b.measured.at(step).at(device).samples == time.samples);
    }
  }
}

}  // namespace

TEST_CASE("a cost model that was saved is loaded as it was") {
  const Folder folder;
  const std::string path = (folder / "model.json").string();
  tf::save(some_model(), path);
  check_equal(tf::load_cost_model(path), some_model());
}

TEST_CASE("a damaged cost model is refused, with its file and field") {
  const Folder folder;
  const std::string path = (folder / "model.json").string();
  tf::save(some_model(), path);
  const std::string right = read(path);
  const auto message_with = [&](const std::string& what, const std::string& instead) {
    std::string text = right;
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    write(path, text.replace(at, what.size(), instead));
    return message_of([&] { tf::load_cost_model(path); });
  };
  const auto of = [&](const std::string& field) { return path + ", field \"" + field + "\": "; };
  CHECK(message_with("{", "[") == path + ": expected JSON of a cost model, got no JSON");
  CHECK(message_with("model 1", "model 2") ==
        of("format") + "expected typeflow cost model 1, got typeflow cost model 2");
  CHECK(message_with("1250000000.0", "-3") ==
        of("rates.flops_per_second") + "expected a number > 0, got -3");
  CHECK(message_with("1250000000.0", "\"fast\"") ==
        of("rates.flops_per_second") + "expected a number, got string");
  CHECK(message_with("\"latency\"", "\"delay\"") ==
        of("link.delay") + "expected no such field, got one");
  CHECK(message_with("\"iterations\": 7,", "") == of("iterations") + "expected a value, got none");
  CHECK(message_with("\"samples\": 19", "\"samples\": 0") ==
        of("steps[0].samples") + "expected a whole number >= 1, got 0");
  CHECK(message_with("\"samples\": 19", "\"samples\": 1.5") ==
        of("steps[0].samples") + "expected a whole number >= 1, got 1.5");
  const std::string nested = std::string(400000, '[') + std::string(400000, ']');
  CHECK(message_with("\"samples\": 19", "\"samples\": " + nested) ==
        of("steps[0].samples") + "expected a whole number >= 1, got array");
  CHECK(message_with("/gpu:1", "/cpu:0") ==
        of("steps[1].device") + "expected a step once for each device, got \"/cpu:0\" twice");
  CHECK(message_of([&] {
          tf::load_cost_model((folder / "missing.json").string());
        }).find("missing.json: cannot be opened") != std::string::npos);
}

TEST_CASE("the machine's rates are measured once, and again if the file is broken") {
  const Folder folder;
  const Setting cache("XDG_CACHE_HOME", (folder / "cache").c_str());
  const std::string path = tf::rates_file();
  CHECK(path.starts_with((folder / "cache").string() + "/typeflow/rates-"));
  const tf::exec::CostModel measured = tf::cost_model_of_machine();
  CHECK(measured.rates.flops_per_second > 1e7);
  CHECK(measured.rates.bytes_per_second > 1e7);
  CHECK(measured.link.latency > 0);
  const std::string kept = read(path);
  REQUIRE(!kept.empty());
  check_equal(tf::cost_model_of_machine(), measured);
  CHECK(read(path) == kept);
  // The file is believed, not measured again.
  std::string other = kept;
  other.replace(other.find("\"iterations\": 2"), 15, "\"iterations\": 5");
  write(path, other);
  CHECK(tf::cost_model_of_machine().iterations == 5);
  write(path, kept.substr(0, kept.size() / 2));
  CHECK(tf::cost_model_of_machine().iterations == 2);
  CHECK(message_of([&] { tf::load_cost_model(path); }).empty());
  // Another processor's.
  const std::size_t machine = kept.find("\"machine\": \"") + 12;
  write(path, kept.substr(0, machine) + "other " + kept.substr(machine));
  tf::cost_model_of_machine();
  CHECK(read(path).find("other ") == std::string::npos);
  // No other file is left in the folder.
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(path).parent_path())) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("without XDG_CACHE_HOME the rates are in ~/.cache, without a home nowhere") {
  const Folder folder;
  const Setting cache("XDG_CACHE_HOME", nullptr);
  {
    const Setting home("HOME", (folder / "home").c_str());
    CHECK(tf::rates_file().starts_with((folder / "home").string() + "/.cache/typeflow/rates-"));
  }
  const Setting home("HOME", nullptr);
  CHECK(tf::rates_file().empty());
}
