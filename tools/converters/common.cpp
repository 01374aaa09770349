// SPDX-License-Identifier: Apache-2.0

#include "common.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

namespace tools {

namespace {

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

int run(CLI::App& app, int argc, char** argv, const std::function<void()>& convert) {
  std::string what;
  try {
    app.parse(argc, argv);
    convert();
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    what = error.what();
  } catch (const std::exception& error) {
    what = error.what();
  }
  std::replace(what.begin(), what.end(), '\n', ' ');
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  std::fprintf(stderr, "%s: %s\n", program.c_str(), what.c_str());
  return 2;
}

void add_packing(CLI::App& app, std::string& packing) {
  packing = "plain";
  app.add_option("--packing", packing, "of the file of records: plain, gzip or zlib")
      ->check(CLI::IsMember({"plain", "gzip", "zlib"}))
      ->capture_default_str();
}
tf::RecordPacking packing_of(const std::string& packing) {
  return packing == "gzip"   ? tf::RecordPacking::gzip
         : packing == "zlib" ? tf::RecordPacking::zlib
                             : tf::RecordPacking::plain;
}

WholeFile::WholeFile(const std::filesystem::path& path)
    : path_(path), temporary_(temporary_of(path)) {
  const auto status = std::filesystem::status(path);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw tf::Error(path.string(), "is no regular file, so it can't be replaced");
  }
  errno = 0;
  file_.open(temporary_, std::ios::binary);
  if (!file_) fail();
}
void WholeFile::fail() const {
  throw tf::Error(path_.string(), "cannot be written (" + reason() + ")");
}
WholeFile::~WholeFile() {
  std::error_code ignored;
  if (!finished_) std::filesystem::remove(temporary_, ignored);
}
void WholeFile::write(std::string_view text) {
  errno = 0;
  if (!file_.write(text.data(), static_cast<std::streamsize>(text.size()))) fail();
}
void WholeFile::finish() {
  errno = 0;
  file_.close();
  if (!file_) fail();
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) throw tf::Error(path_.string(), "cannot be replaced (" + error.message() + ")");
  finished_ = true;
}

std::filesystem::path temporary_of(const std::filesystem::path& path) {
  std::filesystem::path whole = path;
  if (!whole.has_filename()) whole = whole.parent_path();  // "folder/"
  return whole.string() + "." + std::to_string(::getpid()) + ".tmp";
}

std::string bytes_of(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw tf::Error(path.string(), "cannot be opened (" + reason() + ")");
  // (Iterators of a stream throw errors of the system, without the file's name.)
  std::string bytes;
  char block[1 << 16];
  do {
    file.read(block, sizeof block);
    bytes.append(block, static_cast<std::size_t>(file.gcount()));
  } while (file);
  if (file.bad()) throw tf::Error(path.string(), "cannot be read (" + reason() + ")");
  return bytes;
}

std::string place(const std::string& path, std::int64_t record) {
  return path + ": record " + std::to_string(record);
}

}  // namespace tools
