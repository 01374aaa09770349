// SPDX-License-Identifier: Apache-2.0
#pragma once

// Common parts of the examples, so that a program is only its model and its training: the command
// line, and the handling of errors. digits.hpp is for examples with images of digits.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace examples {

/// The data that a program reads from the folder of --data, which must have it.
struct DataSet {
  const char* name = "";
  bool (*is_in)(const std::string& folder) = nullptr;
};

/// The path of the first of these files that a folder has; empty if it has none, or does not exist.
inline std::filesystem::path find_file(const std::filesystem::path& folder,
                                       std::initializer_list<const char*> files) {
  if (folder.empty()) return {};
  for (const char* const file : files) {
    if (std::filesystem::is_regular_file(folder / file)) return folder / file;
  }
  return {};
}

/// A program's settings, with its own defaults. A setting that is empty or 0 is no option of the
/// program.
struct Options {
  DataSet data_set{};
  std::string data{};  ///< --data, a folder; empty: see tf::data_folder
  std::int64_t steps = 1000;
  std::int64_t batch = 100;
  float rate = 0.5f;
  std::uint64_t seed = 1;
  std::string output{};                 ///< the file that the program writes, if any
  std::vector<std::string> sizes{};     ///< values of --size; the first is the default
  std::string size{};                   ///< one of them
  const char* queue_help = nullptr;     ///< what --queue does
  bool queue = false;                   ///< --queue was given
  const char* pipeline_help = nullptr;  ///< what --pipeline does
  bool pipeline = false;                ///< --pipeline was given
  bool has_summaries = false;           ///< the program has an option --summaries
  std::string summaries{};              ///< --summaries, a folder for event files; empty: none
};

/// main() of an example: reads the command line, then calls `train` with the settings. Returns 1
/// after an exception, with its message; otherwise 0. After --help the program ends with 0, after a
/// bad argument with 2 and a message. (It has a source file of its own, because CLI11 takes as long
/// to compile as a model.)
int run_program(int argc, char** argv, const char* title, Options defaults,
                void (*train)(const Options&));

}  // namespace examples
