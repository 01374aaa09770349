// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program's settings. The parser has its own source file: CLI11 takes as long to compile as the
// model.

#include <cstdint>
#include <string>

struct Options {
  std::string data;  ///< folder with MNIST; empty: see tf::data_folder
  std::int64_t steps = 1000;
  std::int64_t batch = 100;
  float rate = 0.5f;
  std::uint64_t seed = 1;
  std::string output = "weights.png";
};

/// Reads the command line. Ends the program after --help (exit code 0) and on a bad argument, with
/// a message (exit code 2).
Options parse_options(int argc, char** argv);
