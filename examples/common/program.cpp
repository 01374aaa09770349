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

#include <typeflow/data/mnist.hpp>

namespace examples {

namespace {

void read_command_line(int argc, char** argv, const char* title, Options& options) {
  CLI::App app(title);
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "folder with MNIST, also as subfolder mnist")
      ->check(CLI::ExistingDirectory)
      ->check([](const std::string& folder) {
        return typeflow::has_mnist(folder) ? "" : "No files of MNIST in " + folder;
      });
  app.add_option("--steps", options.steps, "training steps")->check(CLI::Range(1, 100'000'000));
  app.add_option("--batch", options.batch, "examples a step")->check(CLI::Range(1, 100'000));
  app.add_option("--rate", options.rate, "learning rate")->check(CLI::Range(1e-6, 1e3));
  app.add_option("--seed", options.seed, "of weights, shuffling and drawn digits")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  app.add_option("--output", options.output, "PNG file for the weights")
      ->check([](const std::string& file) {
        const auto folder = std::filesystem::path(file).parent_path();
        return folder.empty() || is_directory(folder) ? "" : "No such folder: " + folder.string();
      });
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
