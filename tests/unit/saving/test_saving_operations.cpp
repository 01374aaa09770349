// SPDX-License-Identifier: Apache-2.0

// Saving and restoring as operations of the graph.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/make_runner.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr std::array<bool, 3> flags_true_false_true = {true, false, true};

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

constexpr void model(tf::Graph& g) {
  auto path = placeholder<std::string_view>(g, "path");
  const auto [W, b, flags, step] = [&] {
    tf::Scope in(g, "fc");
    return std::tuple{
        variable<float, 2, 3>(g, "W", tf::ones()), variable<double, 2>(g, "b", tf::zeros()),
        variable<bool, 3>(g, "flags", tf::zeros()), variable<std::int64_t>(g, "step", tf::zeros())};
  }();
  save_variables(path, {W, b, flags, step}).named("save");
  save_variables(path, g.trainable()).named("save_trainable");
  assign(b, 3).named("set");
  const tf::Effect after_set = assign_add(step, 1);
  (save_variables(path, {step}) + after_set).named("count_and_save");
  auto restored = restore_tensor<float, 2, 3>(path, "fc/W");
  (restored * 2).named("twice");
  (restore_variable(path, W) + restore_variable(path, b) + restore_variable(path, flags) +
   restore_variable(path, step))
      .named("restore");
  restore_variable(path, W, "other").named("rename");
}

/// Writes and reads a file in one run.
constexpr void round_trip(tf::Graph& g) {
  auto path = placeholder<std::string_view>(g, "path");
  auto v = variable<float, 2>(g, "v", tf::zeros());
  const tf::Effect set = assign(v, 5);
  const tf::Effect saved = save_variables(path, {v});
  const tf::Effect cleared = assign(v, 0);
  auto back = restore_tensor<float, 2>(path, "v");
  (set + saved + cleared).named("all");
  after(cleared, back + 1).named("back");
  (set + saved + cleared + restore_variable(path, v)).named("round_trip");
}

}  // namespace

TEST_CASE("save_variables: values") {
  const Folder folder;
  const std::string path = (folder / "net.safetensors").string();
  tf::Variables variables;
  tf::Session<model> session(variables);
  variables.set<float>("fc/W", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, {2, 3}});
  variables.set<double>("fc/b", std::vector<double>{0.1, -2}, {1, {2}});
  variables.set<bool>("fc/flags", flags_true_false_true, {1, {3}});
  session.run<"save">(tf::feed<"path">(std::string_view(path)));
  tf::Variables loaded;
  const tf::Metadata metadata = load(loaded, path);
  CHECK(metadata.at("format") == "typeflow");
  CHECK(loaded.names() == std::vector<std::string>{"fc/W", "fc/b", "fc/flags", "fc/step"});
  CHECK(loaded.get<float>("fc/W")[5] == 6);
  CHECK(loaded.get<double>("fc/b")[0] == 0.1);
  CHECK(loaded.get<bool>("fc/flags")[2]);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);

  session.run<"save_trainable">(tf::feed<"path">(std::string_view(path)));  // replaces it
  tf::Variables trainable;
  load(trainable, path);
  CHECK(trainable.names() == std::vector<std::string>{"fc/W", "fc/b"});

  session.run<"count_and_save">(tf::feed<"path">(std::string_view(path)));
  tf::Variables counted;
  load(counted, path);
  CHECK(counted.get<std::int64_t>("fc/step")[0] == 1);  // as it is behind the statement
}

TEST_CASE("restore_variable: values") {
  const Folder folder;
  const std::string path = (folder / "net.safetensors").string();
  tf::Variables saved;
  saved.set<float>("fc/W", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, {2, 3}});
  saved.set<double>("fc/b", std::vector<double>{0.1, -2}, {1, {2}});
  saved.set<bool>("fc/flags", flags_true_false_true, {1, {3}});
  saved.set<std::int64_t>("fc/step", std::vector<std::int64_t>{7}, {0, {}});
  saved.set<float>("other", std::vector<float>(6, 9), {2, {2, 3}});
  save(saved, path);
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto feed = [&] { return tf::feed<"path">(std::string_view(path)); };
  session.run<"restore">(feed());
  CHECK(variables.get<float>("fc/W")[4] == 5);
  CHECK(variables.get<double>("fc/b")[1] == -2);
  CHECK(variables.get<bool>("fc/flags")[0]);
  CHECK(variables.get<std::int64_t>("fc/step")[0] == 7);
  session.run<"rename">(feed());
  CHECK(variables.get<float>("fc/W")[0] == 9);
}

TEST_CASE("restore_tensor: values") {
  const Folder folder;
  const std::string path = (folder / "net.safetensors").string();
  tf::Variables saved;
  saved.set<float>("fc/W", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, {2, 3}});
  save(saved, path);
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"twice">(tf::feed<"path">(std::string_view(path)))(1, 2) == 12);
  auto runner = tf::runner<tf::Session<model>, "twice">(variables);
  const tf::RunnerResults results = runner.run({{"path", std::string_view(path)}}, {"twice"});
  CHECK(results.get<float>("twice")[0] == 2);
}

TEST_CASE("a file is written before the operations behind it read it") {
  const Folder folder;
  const std::string path = (folder / "v").string();
  tf::Variables variables;
  tf::Session<round_trip> session(variables);
  const auto feed = [&] { return tf::feed<"path">(std::string_view(path)); };
  session.run<"round_trip">(feed());
  CHECK(variables.get<float>("v")[1] == 5);
  session.run<"all">(feed());
  CHECK(variables.get<float>("v")[1] == 0);
  CHECK(session.run<"back">(feed())(0) == 6);
}

TEST_CASE("save_variables: errors") {
  const Folder folder;
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto message = [&](const std::string& path) {
    return message_of([&] { session.run<"save">(tf::feed<"path">(std::string_view(path))); });
  };
  const std::string nowhere = (folder / "no folder" / "net").string();
  CHECK(message(nowhere).starts_with("save (test_saving_operations.cpp:"));
  CHECK(has(message(nowhere), nowhere + ": cannot be written (No such file or directory)"));
  CHECK(has(message(folder.path().string()), ": is no regular file, so it can't be replaced"));
  CHECK(has(message(""), "): the path is empty"));
  CHECK(has(message(std::string("a\0b", 3)), "a: the path has a zero in it"));

  const auto mistake = [](const auto& model) {
    return message_of([&] {
      tf::Graph g;
      model(tf::placeholder<std::string_view>(g, "path"), g);
    });
  };
  CHECK(mistake([](auto path, tf::Graph& g) {
          auto v = tf::variable<float>(g, "v");
          save_variables(path, {v, v});
        }) == "save_variables(path, variables): 'v' is given twice");
  CHECK(mistake([](auto path, tf::Graph& g) { save_variables(path, g.variables()); }) ==
        "save_variables(path, variables): no variable is given");
  CHECK(mistake([](auto path, tf::Graph& g) {
          for (int i = 0; i < 31; ++i) tf::variable<float>(g, {"v", i});
          save_variables(path, g.variables());
        }) == "save_variables(path, variables): 30 variables are the most, got 31");
}

TEST_CASE("restore_tensor: errors") {
  const Folder folder;
  const std::string path = (folder / "net").string();
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto message = [&] {
    return message_of([&] { session.run<"twice">(tf::feed<"path">(std::string_view(path))); });
  };
  CHECK(has(message(), path + ": cannot be opened (No such file or directory)"));
  const auto save_as = [&](const char* name, auto values, tf::Dims dims) {
    tf::Variables saved;
    saved.set<typename decltype(values)::value_type>(name, values, dims);
    save(saved, path);
  };
  save_as("fc/V", std::vector<float>(6), {2, {2, 3}});
  CHECK(has(message(), path + ": it has no tensor float [2, 3] 'fc/W'"));
  save_as("fc/W", std::vector<float>(6), {2, {3, 2}});
  CHECK(has(message(), path + ": tensor 'fc/W': expected float [2, 3], got float [3, 2]"));
  save_as("fc/W", std::vector<double>(6), {2, {2, 3}});
  CHECK(has(message(), path + ": tensor 'fc/W': expected float [2, 3], got double [2, 3]"));
  save_as("fc/W", std::vector<float>(6), {2, {2, 3}});
  CHECK(message() == "");
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK(has(message(), path + ": is damaged, or no safetensors file: tensor 'fc/W' is not within"));
  std::ofstream(path) << "no tensors";
  CHECK(has(message(), path + ": is damaged, or no safetensors file"));
}

TEST_CASE("restore_variable: errors") {
  const Folder folder;
  const std::string path = (folder / "net").string();
  tf::Variables saved;
  saved.set<float>("fc/W", std::vector<float>(6, 2), {2, {2, 3}});
  saved.set<double>("fc/b", std::vector<double>{3, 3}, {1, {2}});
  saved.set<std::uint8_t>("fc/flags", std::vector<std::uint8_t>{1, 0, 2}, {1, {3}});
  save(saved, path);
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto restore = [&] {
    return message_of([&] { session.run<"restore">(tf::feed<"path">(std::string_view(path))); });
  };
  CHECK(has(restore(), "tensor 'fc/flags': expected bool [3], got uint8 [3]"));
  CHECK_FALSE(variables.get<bool>("fc/flags")[0]);
  // The same bytes as booleans, of which 2 is none.
  std::string text;
  {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  text.replace(text.find("\"U8\""), 4, "\"BOOL\"");
  text[0] = static_cast<char>(text[0] + 2);  // the header's length
  std::ofstream(path, std::ios::binary) << text;
  CHECK(has(restore(), "tensor 'fc/flags' has booleans that are neither 0 nor 1"));
}
