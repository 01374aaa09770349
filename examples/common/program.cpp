// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>

namespace examples {

namespace {

void read_command_line(int argc, char** argv, const char* title, Options& options) {
  CLI::App app(title);
  app.option_defaults()->always_capture_default();
  if (options.data_set.is_in != nullptr) {
    const DataSet data_set = options.data_set;
    app.add_option("--data", options.data, std::string("folder with ") + data_set.name)
        ->check(CLI::ExistingDirectory)
        ->check([data_set](const std::string& folder) {
          return data_set.is_in(folder) ? "" : folder + " is no folder with " + data_set.name;
        });
  }
  if (options.steps > 0) {
    app.add_option("--steps", options.steps, "training steps")->check(CLI::Range(1, 100'000'000));
  }
  if (options.batch > 0) {
    app.add_option("--batch", options.batch, "examples a step")->check(CLI::Range(1, 100'000));
  }
  if (options.rate > 0) {
    app.add_option("--rate", options.rate, "learning rate")->check(CLI::Range(1e-6, 1e3));
  }
  app.add_option("--seed", options.seed, "of weights, of random numbers and of made data")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  if (!options.output.empty()) {
    app.add_option("--output", options.output, "file to write")->check([](const std::string& file) {
      const auto folder = std::filesystem::path(file).parent_path();
      return folder.empty() || is_directory(folder) ? "" : "No such folder: " + folder.string();
    });
  }
  if (!options.sizes.empty()) {
    options.size = options.sizes.front();
    app.add_option("--size", options.size, "of the model")->check(CLI::IsMember(options.sizes));
  }
  if (options.queue_help != nullptr) app.add_flag("--queue", options.queue, options.queue_help);
  if (options.pipeline_help != nullptr) {
    app.add_flag("--pipeline", options.pipeline, options.pipeline_help);
  }
  if (options.has_summaries) {
    app.add_option("--summaries", options.summaries, "folder to write event files for TensorBoard");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
}

}  // namespace

int run_program(int argc, char** argv, const char* title, Options defaults,
                void (*train)(const Options&)) {
  read_command_line(argc, argv, title, defaults);
  try {
    train(defaults);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace examples
