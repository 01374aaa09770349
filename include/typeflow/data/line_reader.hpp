// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the lines of a file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/data/byte_reader.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

class LineReader {
 public:
  /// Bytes behind a line that may be read, the one at its end included.
  static constexpr std::size_t slack = 16;

  explicit LineReader(const std::string& path) : reader_(path), buffer_((1 << 18) + slack) {}

  /// Finds the next line; false at the end of the file. The line lies, without its end, in the
  /// reader's memory until the next call. Behind it is a '\n', or a '\r' before one.
  bool next(std::string_view& line) {
    for (std::size_t searched = 0;;) {
      const char* const first = buffer_.data() + at_;
      const void* const found = std::memchr(first + searched, '\n', end_ - at_ - searched);
      if (found != nullptr) {
        const auto size = static_cast<std::size_t>(static_cast<const char*>(found) - first);
        line = {first, size - (size > 0 && first[size - 1] == '\r')};
        at_ += size + 1;
        return true;
      }
      searched = end_ - at_;
      if (!read_more()) {
        line = {buffer_.data() + at_, searched};
        at_ = end_;
        return searched > 0;
      }
    }
  }

 private:
  /// Reads behind the bytes that are left; false at the end of the file.
  bool read_more() {
    const std::size_t left = end_ - at_;
    std::memmove(buffer_.data(), buffer_.data() + at_, left);
    at_ = 0;
    end_ = left;
    if (left + slack == buffer_.size()) buffer_.resize(2 * left + slack);
    const std::size_t got = reader_.read(buffer_.data() + left, buffer_.size() - slack - left);
    end_ += got;
    buffer_[end_] = '\n';
    return got > 0;
  }

  ByteReader reader_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
