// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers of npy files: read, with errors that name what is wrong, and written.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/npy.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

inline constexpr std::size_t most_npy_rank = 64;  // NumPy's limit
inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// "(3, 4)", as Python writes a tuple.
inline std::string npy_shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// The number of elements of a shape; nothing if their bytes, or those of its other extents where
/// one is 0, are more than memory can hold.
inline std::optional<std::size_t> npy_count(std::span<const std::int64_t> shape, int size) {
  const std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  std::uint64_t bytes = static_cast<std::uint64_t>(size);
  bool is_empty = false;
  for (const std::int64_t extent : shape) {
    if (extent == 0) {
      is_empty = true;
      continue;
    }
    if (extent < 0 || bytes > most / static_cast<std::uint64_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return is_empty ? 0 : static_cast<std::size_t>(bytes / static_cast<std::uint64_t>(size));
}

/// A printable form of a file's text for messages: no control characters, and not too long.
inline std::string npy_shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 60 ? "...'" : "'");
}

/// Parses a header: a dictionary in Python's notation with the keys descr, fortran_order and shape.
class NpyHeaderParser {
 public:
  NpyHeaderParser(const std::string& name, std::string_view text, bool allows_long)
      : name_(name), text_(text), allows_long_(allows_long) {}

  NpyHeader parse() {
    NpyHeader out;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted("a key in quotes");
      bool& seen = key == "descr"           ? has_descr
                   : key == "fortran_order" ? has_order
                   : key == "shape"         ? has_shape
                                            : fail_key(key);
      if (seen) fail("each key once in its header", npy_shown(key) + " twice");
      seen = true;
      expect(':');
      if (key == "descr") {
        read_type(out);
      } else if (key == "shape") {
        read_shape(out.shape);
      } else {
        out.column_major = boolean();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) {
      fail("the header's end behind '}'", npy_shown(text_.substr(at_)));
    }
    if (!has_descr) fail("a key 'descr' in its header", "none");
    if (!has_order) fail("a key 'fortran_order' in its header", "none");
    if (!has_shape) fail("a key 'shape' in its header", "none");
    if (!npy_count(out.shape, size_of(out.type))) {
      fail("a shape that memory can hold", npy_shape_text(out.shape));
    }
    return out;
  }

 private:
  [[noreturn]] TYPEFLOW_COLD void fail(const std::string& expected, const std::string& got) const {
    throw Error(name_, expected, got);
  }
  [[noreturn]] TYPEFLOW_COLD void fail_here(const std::string& expected) const {
    fail(expected + " at byte " + std::to_string(at_) + " of its header",
         at_ == text_.size() ? "its end" : npy_shown(text_.substr(at_, 20)));
  }
  [[noreturn]] TYPEFLOW_COLD bool& fail_key(std::string_view key) const {
    fail("the keys 'descr', 'fortran_order' and 'shape' in its header", npy_shown(key));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here(std::string("'") + c + "'");
  }
  std::string_view quoted(const char* what) {
    const char quote = accept('\'') ? '\'' : accept('"') ? '"' : '\0';
    if (quote == '\0') fail_here(what);
    const std::size_t end = text_.find(quote, at_);
    if (end == text_.npos) fail_here("an end of the text in quotes");
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    fail_here("True or False");
  }

  void read_type(NpyHeader& out) {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') {
      fail("elements of one number or boolean", "a structured type");
    }
    const std::string_view text = quoted("a type in quotes");
    const char order = text.empty() ? '\0' : text[0];
    const std::string_view kind = text.empty() ? text : text.substr(1);
    struct Known {
      std::string_view kind;
      DType type;
    };
    static constexpr Known known[] = {
        {"b1", DType::boolean},  {"i1", DType::int8},    {"i2", DType::int16},
        {"i4", DType::int32},    {"i8", DType::int64},   {"u1", DType::uint8},
        {"u2", DType::uint16},   {"u4", DType::uint32},  {"u8", DType::uint64},
        {"V2", DType::bfloat16}, {"f2", DType::float16}, {"f4", DType::float32},
        {"f8", DType::float64}};
    for (const Known& one : known) {
      const bool has_no_order = size_of(one.type) == 1 || one.type == DType::bfloat16;
      if (kind != one.kind || !(order == '<' || order == '>' || (order == '|' && has_no_order))) {
        continue;
      }
      out.type = one.type;
      out.big_endian = order == '>';
      return;
    }
    const char* const meaning = kind == "c8"             ? " (complex64)"
                                : kind == "c16"          ? " (complex128)"
                                : kind.starts_with("U")  ? " (text)"
                                : kind.starts_with("S")  ? " (bytes)"
                                : kind.starts_with("O")  ? " (Python's objects)"
                                : kind.starts_with("M8") ? " (dates)"
                                : kind.starts_with("m8") ? " (durations)"
                                                         : "";
    fail(
        "elements of a type that the library has in files (bool, integers, bfloat16, float16, "
        "float, double)",
        npy_shown(text) + meaning);
  }

  void read_shape(std::vector<std::int64_t>& shape) {
    expect('(');
    while (!accept(')')) {
      skip_space();
      const std::size_t first = at_;
      std::uint64_t extent = 0;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
        if (extent > (std::uint64_t{std::numeric_limits<std::int64_t>::max()} - digit) / 10) {
          at_ = first;
          fail_here("an extent below 2^63");
        }
        extent = extent * 10 + digit;
        ++at_;
      }
      if (at_ == first || (text_[first] == '0' && at_ > first + 1)) {
        at_ = first;
        fail_here("an extent");
      }
      if (allows_long_ && at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
      if (shape.size() == most_npy_rank) {
        fail("a shape of at most " + std::to_string(most_npy_rank) + " extents", "more");
      }
      shape.push_back(static_cast<std::int64_t>(extent));
      if (accept(',')) continue;
      if (shape.size() == 1) fail_here("',' behind the only extent");
      expect(')');
      break;
    }
  }

  const std::string& name_;
  std::string_view text_;
  bool allows_long_;
  std::size_t at_ = 0;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION NpyHeader read_npy_header(const std::string& name,
                                                            NpySource& source) {
  // The magic text, a version of two bytes, and the length of the header, of two or four.
  unsigned char start[12];
  const std::size_t got = source.read(start, 10);
  const std::string_view magic(reinterpret_cast<const char*>(start),
                               std::min(got, npy_magic.size()));
  if (magic != npy_magic) {
    throw Error(name, "npy's first bytes, 0x93 and 'NUMPY'",
                got < npy_magic.size() ? std::to_string(got) + " bytes" : npy_shown(magic));
  }
  if (got < 10) throw Error(name, "a header", std::to_string(got) + " bytes");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    throw Error(name, "version 1.0, 2.0 or 3.0 of the format",
                std::to_string(version) + "." + std::to_string(start[7]));
  }
  std::uint32_t length = start[8] | std::uint32_t{start[9]} << 8;
  if (version > 1) {
    if (source.read(start + 10, 2) < 2) throw Error(name, "a header", "fewer than 12 bytes");
    length |= std::uint32_t{start[10]} << 16 | std::uint32_t{start[11]} << 24;
  }
  constexpr std::uint32_t most = 1 << 16;
  if (length > most) {
    throw Error(name, "a header of at most " + std::to_string(most) + " bytes",
                std::to_string(length));
  }
  std::string text(length, ' ');
  const std::size_t size = source.read(text.data(), length);
  if (size < length) {
    throw Error(name, "a header of " + std::to_string(length) + " bytes",
                std::to_string(size) + " bytes");
  }
  return NpyHeaderParser(name, text, version < 3).parse();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string npy_header_of(const NpyView& array) {
  static constexpr const char* kinds[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2",
                                          "u4", "u8", "V2", "f2", "f4", "f8"};
  const char order = size_of(array.type()) == 1                   ? '|'
                     : std::endian::native == std::endian::little ? '<'
                                                                  : '>';
  std::string text = std::string("{'descr': '") + order + kinds[static_cast<int>(array.type())] +
                     "', 'fortran_order': False, 'shape': " + npy_shape_text(array.shape()) + ", }";
  // NumPy leaves room for a larger first extent, of up to 21 digits, and aligns the elements.
  if (!array.shape().empty()) text.append(21 - std::to_string(array.shape()[0]).size(), ' ');
  constexpr std::size_t alignment = 64;
  constexpr std::size_t start = 10;
  text.append(alignment - (start + text.size() + 1) % alignment, ' ');
  text += '\n';
  std::string out(npy_magic);
  out += {'\1', '\0', static_cast<char>(text.size() & 0xffu), static_cast<char>(text.size() >> 8)};
  return out + text;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
