// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the bytes of a file, plain, gzip or zlib, in order.
//
// It does not use zlib's gzread. That ignores what follows the compressed data, and reports a
// truncated file only when it is closed. A model must not be trained on a damaged data set.

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// How a file is packed.
enum class Packing : std::uint8_t { automatic, plain, gzip, zlib };

class ByteReader {
 public:
  /// Opens the file. `automatic`: one that starts with gzip's two magic bytes is unpacked while it
  /// is read.
  explicit ByteReader(const std::filesystem::path& path, Packing packing = Packing::automatic)
      : path_(path.string()), buffer_(1 << 18) {
    std::error_code ignored;
    if (std::filesystem::is_directory(checked_path(path), ignored)) {
      throw Error(path_, "a file", "a folder");
    }
    errno = 0;
    file_.open(path, std::ios::binary);
    if (!file_) {
      const int reason = errno;
      throw Error(path_, "cannot be opened (" + std::generic_category().message(reason) + ")");
    }
    fill();
    if (packing == Packing::plain) return;
    if (packing == Packing::automatic) {
      if (stream_.avail_in < 2 || buffer_[0] != 0x1f || buffer_[1] != 0x8b) return;
      packing = Packing::gzip;
    }
    // 15: the largest window; 16: a gzip header
    if (inflateInit2(&stream_, packing == Packing::gzip ? 15 + 16 : 15) != Z_OK) {
      throw Error(path_, "zlib cannot start to unpack it");
    }
    packing_ = packing;
  }
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;
  ~ByteReader() {
    if (is_packed()) inflateEnd(&stream_);
  }

  /// Reads up to `count` bytes, fewer only at the end of the file. Returns their number. Throws
  /// Error where compressed data is damaged, ends early, or is followed by something else.
  std::size_t read(void* to, std::size_t count) {
    auto* out = static_cast<unsigned char*>(to);
    std::size_t done = 0;
    while (done < count) {
      if (stream_.avail_in == 0 && !is_packed() && count - done >= most_skipped) {
        const std::size_t got = read_file(out + done, count - done);  // large parts need no buffer
        done += got;
        if (got == 0) break;
        continue;
      }
      if (stream_.avail_in == 0 && !fill()) break;
      done += is_packed() ? unpack(out + done, count - done) : copy(out + done, count - done);
    }
    if (done < count && is_packed() && !member_ended_) {
      throw Error(path_, "the " + format() + " data ends too early: the file is truncated");
    }
    read_ += done;
    return done;
  }

  /// The bytes behind what has been read of a regular file that is plain; nothing of others.
  std::optional<std::uint64_t> left() const {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path_, error);
    if (error || is_packed()) return std::nullopt;
    return size - std::min(size, read_);
  }

  /// Leaves out up to `count` bytes, fewer only at the end of the file. Returns their number.
  std::uint64_t skip(std::uint64_t count) {
    if (const auto all = left()) {
      count = std::min(count, *all);
      if (count <= stream_.avail_in) {
        stream_.next_in += count;
        stream_.avail_in -= static_cast<uInt>(count);
      } else {
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(read_ + count));
        if (!file_) throw Error(path_, "cannot be read");
        stream_.avail_in = 0;
      }
      read_ += count;
      return count;
    }
    std::vector<unsigned char> block(static_cast<std::size_t>(std::min(count, most_skipped)));
    std::uint64_t done = 0;
    while (done < count) {
      const auto size = static_cast<std::size_t>(std::min(count - done, most_skipped));
      const std::size_t got = read(block.data(), size);
      done += got;
      if (got < size) break;
    }
    return done;
  }

  /// The next `count` bytes in the reader's own memory, valid until the next call. Null, and
  /// nothing is read, if they are not there as a whole: the file is packed or ends before, or they
  /// are more than the reader's buffer holds. So what read() would copy need not be copied.
  const unsigned char* view(std::size_t count) {
    if (is_packed() || count > buffer_.size()) return nullptr;
    if (stream_.avail_in < count) {
      std::copy_n(stream_.next_in, stream_.avail_in, buffer_.data());
      append(stream_.avail_in);
      if (stream_.avail_in < count) return nullptr;
    }
    const unsigned char* const first = stream_.next_in;
    stream_.next_in += count;
    stream_.avail_in -= static_cast<uInt>(count);
    read_ += count;
    return first;
  }

 private:
  static constexpr std::uint64_t most_skipped = 1 << 16;

  bool is_packed() const { return packing_ != Packing::plain; }
  std::string format() const { return packing_ == Packing::zlib ? "zlib" : "gzip"; }
  /// Reads the next block of the file; false at its end.
  bool fill() {
    append(0);
    return stream_.avail_in > 0;
  }
  /// The same behind bytes that stay at the buffer's begin.
  void append(std::size_t staying) {
    const std::size_t got = read_file(buffer_.data() + staying, buffer_.size() - staying);
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(staying + got);
  }
  /// Reads up to `count` bytes of the file as they are; returns their number.
  std::size_t read_file(unsigned char* to, std::size_t count) {
    file_.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count));
    if (file_.bad()) throw Error(path_, "cannot be read");
    return static_cast<std::size_t>(file_.gcount());
  }

  std::size_t copy(unsigned char* out, std::size_t count) {
    const std::size_t size = std::min<std::size_t>(count, stream_.avail_in);
    std::copy_n(stream_.next_in, size, out);
    stream_.next_in += size;
    stream_.avail_in -= static_cast<uInt>(size);
    return size;
  }

  std::size_t unpack(unsigned char* out, std::size_t count) {
    if (member_ended_) {  // a gzip file may have several members
      if (packing_ == Packing::zlib || *stream_.next_in != 0x1f) {
        throw Error(path_, "there are bytes after the " + format() + " data");
      }
      inflateReset(&stream_);
      member_ended_ = false;
    }
    const auto size = static_cast<uInt>(std::min<std::size_t>(count, 1u << 30));
    stream_.next_out = out;
    stream_.avail_out = size;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) {
      const std::string reason = stream_.msg != nullptr ? stream_.msg : "unknown reason";
      throw Error(path_, "the " + format() + " data is corrupt (" + reason + ")");
    }
    member_ended_ = status == Z_STREAM_END;
    return size - stream_.avail_out;
  }

  std::string path_;
  std::ifstream file_;
  std::vector<unsigned char> buffer_;
  z_stream stream_{};  // its input side also serves plain files
  Packing packing_ = Packing::plain;
  std::uint64_t read_ = 0;  // unpacked bytes that have been read or left out
  bool member_ended_ = false;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
