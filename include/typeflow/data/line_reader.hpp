// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the lines of a file.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "typeflow/data/byte_reader.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

class LineReader {
 public:
  explicit LineReader(const std::string& path) : reader_(path), buffer_(1 << 16) {}

  /// Appends the next line to `line`, without its end; false at the end of the file.
  bool next(std::string& line) {
    for (bool any = false;;) {
      if (at_ == end_) {
        at_ = 0;
        end_ = reader_.read(buffer_.data(), buffer_.size());
        if (end_ == 0) return any;
      }
      any = true;
      const char* const first = buffer_.data() + at_;
      const void* const found = std::memchr(first, '\n', end_ - at_);
      if (found == nullptr) {
        line.append(first, end_ - at_);
        at_ = end_;
        continue;
      }
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - first);
      line.append(first, length);
      at_ += length + 1;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
  }

 private:
  ByteReader reader_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
