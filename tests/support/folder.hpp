// SPDX-License-Identifier: Apache-2.0
#pragma once

// A folder of a test's own, which goes with it: in memory where the system has such folders, since
// tests save thousands of files, each of which waits for a disk.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

class Folder {
 public:
  Folder() {
    static std::atomic<int> count{0};
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = ::access(memory.c_str(), W_OK) == 0;
    path_ = (in_memory ? memory : std::filesystem::temp_directory_path()) /
            ("typeflow-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};
