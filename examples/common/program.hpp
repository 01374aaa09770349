// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the examples share, so that a program is its model and its training: the command line, what
// becomes of errors, and the line of progress. digits.hpp has what those on images of digits share.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <string>

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
  std::string output{};  ///< the PNG file that the program writes, if it does
};

/// main() of an example: reads the command line, then calls `train` with the settings. Returns 1
/// after an exception, with its message; 0 otherwise. After --help the program ends with 0, on a
/// bad argument with 2 and a message. (In a source file of its own: CLI11 takes as long to compile
/// as a model.)
int run_program(int argc, char** argv, const char* title, Options defaults,
                void (*train)(const Options&));

/// One line that is written over on a terminal; in a file or pipe a line every 100 steps.
class Progress {
 public:
  explicit Progress(const Options& options) : steps_(options.steps), batch_(options.batch) {}

  void show(std::int64_t step, float loss) {
    const Clock::time_point now = Clock::now();
    const bool last = step == steps_;
    const bool due = terminal_ ? now - shown_ >= std::chrono::milliseconds(50) : step % 100 == 0;
    if (!due && !last) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double samples = static_cast<double>(step) * static_cast<double>(batch_);
    std::printf("%sstep %lld of %lld   loss %.4f   %.0f samples/s%s", terminal_ ? "\r\x1b[K" : "",
                static_cast<long long>(step), static_cast<long long>(steps_),
                static_cast<double>(loss), samples / seconds, terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::int64_t steps_;
  std::int64_t batch_;
  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};

}  // namespace examples
