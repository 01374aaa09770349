// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tools share: command lines, errors, files that are complete or absent.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include <typeflow/records.hpp>

#include "text_of.hpp"

namespace tools {

namespace tf = typeflow;

/// Reads the command line, and calls the function. The result is the program's: 0, or 2 if
/// something is wrong, which is said in one line.
int run(CLI::App& app, int argc, char** argv, const std::function<void()>& convert);

/// The option --packing of files of records that are written.
void add_packing(CLI::App& app, std::string& packing);
tf::RecordPacking packing_of(const std::string& packing);

/// A text file that is written to a temporary name, and has its own from finish() on. Without
/// finish() nothing is left of it.
class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& path);
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile();
  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream file_;
  bool finished_ = false;
};

/// A temporary name beside a file or folder.
std::filesystem::path temporary_of(const std::filesystem::path& path);
/// The bytes of a file.
std::string bytes_of(const std::filesystem::path& path);

/// A record's name in messages: "a.tfrecord: record 3".
std::string place(const std::string& path, std::int64_t record);

}  // namespace tools
