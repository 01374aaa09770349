// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the examples share, so that a program is its model and its training: the command line and
// what becomes of errors. digits.hpp has what those on images of digits share.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace examples {

/// What a program reads from the folder of --data, which has to have it.
struct DataSet {
  const char* name = "";
  bool (*is_in)(const std::filesystem::path& folder) = nullptr;
};

/// The path of the first of these files that a folder has; empty if it has none, or is no folder.
inline std::filesystem::path find_file(const std::filesystem::path& folder,
                                       std::initializer_list<const char*> files) {
  if (folder.empty()) return {};
  for (const char* const file : files) {
    if (std::filesystem::is_regular_file(folder / file)) return folder / file;
  }
  return {};
}

/// A program's settings. Each has its own defaults; what is empty or 0 is no option of its.
struct Options {
  DataSet data_set{};
  std::string data{};  ///< --data, a folder; empty: see tf::data_folder
  std::int64_t steps = 1000;
  std::int64_t batch = 100;
  float rate = 0.5f;
  std::uint64_t seed = 1;
  std::string output{};              ///< the PNG file that the program writes, if it does
  std::vector<std::string> sizes{};  ///< what --size may be; the first is the default
  std::string size{};                ///< one of them
};

/// main() of an example: reads the command line, then calls `train` with the settings. Returns 1
/// after an exception, with its message; 0 otherwise. After --help the program ends with 0, on a
/// bad argument with 2 and a message. (In a source file of its own: CLI11 takes as long to compile
/// as a model.)
int run_program(int argc, char** argv, const char* title, Options defaults,
                void (*train)(const Options&));

}  // namespace examples
