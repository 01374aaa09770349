// SPDX-License-Identifier: Apache-2.0
#pragma once

// Files on POSIX systems: one that replaces another as a whole or not at
// all, and one that is mapped into memory.

#if !__has_include(<sys/mman.h>)
#error "typeflow: files are replaced and mapped with POSIX's functions"
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Throws errno as an Error: "weights.safetensors: cannot be written (No space left on device)".
[[noreturn]] TYPEFLOW_COLD inline void fail_file(const std::filesystem::path& path,
                                                 const std::string& sentence) {
  const int reason = errno;
  throw Error(path.string(), sentence + " (" + std::generic_category().message(reason) + ")");
}

/// Error if no file can have this path: it is empty, or the system would end it at a zero byte.
TYPEFLOW_COLD inline const std::filesystem::path& checked_path(const std::filesystem::path& path) {
  if (path.empty()) throw Error("the path is empty");
  if (path.native().find('\0') != std::string::npos) {
    throw Error(path.c_str(), "the path has a zero in it");
  }
  return path;
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void reset(int number) {
    close();
    number_ = number;
  }
  /// False, with errno, if the system could not write buffered data.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// A file mapped into memory. Nothing may truncate it meanwhile.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path) {
    const Descriptor file(::open(checked_path(path).c_str(), O_RDONLY | O_CLOEXEC));
    struct ::stat status{};
    if (!file.is_open() || ::fstat(file.number(), &status) != 0) {
      fail_file(path, "cannot be opened");
    }
    if (!S_ISREG(status.st_mode)) throw Error(path.string(), "is no regular file");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
    if (data_ == MAP_FAILED) fail_file(path, "cannot be mapped");
    ::posix_madvise(data_, size_, POSIX_MADV_SEQUENTIAL);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0) ::munmap(data_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The text of a regular file. It may shrink meanwhile: then the text is shorter.
TYPEFLOW_COLD inline std::string text_of_file(const std::filesystem::path& path) {
  const Descriptor file(::open(checked_path(path).c_str(), O_RDONLY | O_CLOEXEC));
  struct ::stat status{};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0) fail_file(path, "cannot be opened");
  if (!S_ISREG(status.st_mode)) throw Error(path.string(), "is no regular file");
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  for (;;) {
    const ::ssize_t got = ::read(file.number(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_file(path, "cannot be read");
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

/// Replaces a file as a whole. The new file is written beside the old one, which stays unchanged
/// until finish(). After finish() the new one is in place, and survives a loss of power.
class ReplacingFile {
 public:
  explicit ReplacingFile(const std::filesystem::path& path) : path_(checked_path(path)) {
    buffer_.reserve(buffer_size);  // no allocation may fail once the file exists
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw Error(path_.string(), "is no regular file, so it can't be replaced");
    }
    static std::atomic<unsigned> count{0};
    do {
      temporary_ = path_;
      temporary_ += "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".tmp";
      file_.reset(
          ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t{0666}));
    } while (!file_.is_open() && errno == EEXIST);
    if (!file_.is_open()) fail_file(path_, "cannot be written");
  }
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;
  ~ReplacingFile() {
    if (!finished_) ::unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > buffer_size) flush();
    if (bytes.size() > buffer_size) {
      put(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }

  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Puts the new file in the old one's place.
  void finish() {
    flush();
    if (::fsync(file_.number()) != 0) fail_file(path_, "cannot be written");
    if (!file_.close()) fail_file(path_, "cannot be written");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_file(path_, "cannot be replaced");
    finished_ = true;
    const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
    const Descriptor entry(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // EINVAL: this file system does not sync folders.
    if (!entry.is_open() || (::fsync(entry.number()) != 0 && errno != EINVAL)) {
      fail_file(path_, "is written, but may not survive a loss of power");
    }
  }

 private:
  static constexpr std::size_t buffer_size = 1 << 16;

  void flush() {
    put(buffer_);
    buffer_.clear();
  }
  void put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ::ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_file(path_, "cannot be written");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Descriptor file_;
  std::vector<std::byte> buffer_;
  bool finished_ = false;
};

/// Replaces a file by one with this text.
TYPEFLOW_COLD inline void replace_file(const std::filesystem::path& path, std::string_view text) {
  ReplacingFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
