// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include <typeflow/data/mnist.hpp>

Options parse_options(int argc, char** argv) {
  Options options;
  CLI::App app("Softmax regression on MNIST: chapter 3's first model.");
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "folder with MNIST, also as subfolder mnist")
      ->check(CLI::ExistingDirectory)
      ->check([](const std::string& folder) {
        return typeflow::has_mnist(folder) ? "" : "No files of MNIST in " + folder;
      });
  app.add_option("--steps", options.steps, "training steps")->check(CLI::Range(1, 100'000'000));
  app.add_option("--batch", options.batch, "images a step")->check(CLI::Range(1, 100'000));
  app.add_option("--rate", options.rate, "learning rate")->check(CLI::Range(1e-6, 1e3));
  app.add_option("--seed", options.seed, "of the shuffling and of drawn digits")
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
  return options;
}
