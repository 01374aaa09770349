// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/data/npy.hpp"
#include "typeflow/data/npy_header.ipp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

class NpyFile final : public NpySource {
 public:
  explicit NpyFile(const std::string& path) : reader(path) {}
  std::size_t read(void* to, std::size_t count) override { return reader.read(to, count); }
  std::optional<std::uint64_t> left() const override { return reader.left(); }

  ByteReader reader;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION void with_npy_file(const std::string& path, void* context,
                                                     void (*call)(void* context,
                                                                  NpySource& source)) {
  NpyFile file(path);
  call(context, file);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void check_npy_type(const std::string& name, DType wanted,
                                                      DType found) {
  if (wanted == found) return;
  throw Error(name, "elements of type " + std::string(name_of(wanted)),
              std::string(name_of(found)));
}

/// Elements as the file has them, in this machine's byte order. bool is checked: another byte than
/// 0 and 1 would be no value of the type.
inline void mend_npy_elements(const std::string& name, const NpyHeader& header,
                              unsigned char* bytes, std::size_t count) {
  const auto size = static_cast<std::size_t>(size_of(header.type));
  if (size > 1 && header.big_endian != (std::endian::native == std::endian::big)) {
    for (std::size_t i = 0; i < count; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
  }
  if (header.type != DType::boolean) return;
  const auto* const wrong = std::find_if(bytes, bytes + count, [](auto b) { return b > 1; });
  if (wrong != bytes + count) throw Error(name, "booleans of 0 or 1", std::to_string(*wrong));
}

/// (d0,d1,...) column-major -> row-major
template <class Word>
void to_row_major(const Word* from, Word* to, const std::vector<std::int64_t>& shape,
                  std::size_t count) {
  std::array<std::size_t, most_npy_rank> position{};
  std::array<std::size_t, most_npy_rank> stride{};
  std::size_t product = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = product;
    product *= static_cast<std::size_t>(shape[axis]);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = from[at];
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += stride[axis];
      if (++position[axis] < static_cast<std::size_t>(shape[axis])) break;
      at -= position[axis] * stride[axis];
      position[axis] = 0;
    }
  }
}
inline void to_row_major(unsigned char* bytes, const NpyHeader& header, std::size_t count) {
  if (!header.column_major || header.shape.size() < 2 || count < 2) return;
  const auto convert = [&]<class Word>(Word) {
    std::vector<Word> from(count);
    std::vector<Word> to(count);
    std::memcpy(from.data(), bytes, count * sizeof(Word));
    to_row_major(from.data(), to.data(), header.shape, count);
    std::memcpy(bytes, to.data(), count * sizeof(Word));
  };
  switch (size_of(header.type)) {
    case 1:
      return convert(std::uint8_t{});
    case 2:
      return convert(std::uint16_t{});
    case 4:
      return convert(std::uint32_t{});
    default:
      return convert(std::uint64_t{});
  }
}

[[noreturn]] TYPEFLOW_COLD inline void fail_npy_size(const std::string& name,
                                                     const NpyHeader& header, std::size_t bytes,
                                                     const std::string& got) {
  throw Error(name,
              std::to_string(bytes) + " bytes behind its header, for elements of type " +
                  std::string(name_of(header.type)) + " and shape " + npy_shape_text(header.shape),
              got);
}

TYPEFLOW_DEFINITION void read_npy_elements(const std::string& name, NpySource& source,
                                           const NpyHeader& header, const NpyElements& to) {
  const auto size = static_cast<std::size_t>(size_of(header.type));
  const std::size_t count = npy_count(header.shape, size_of(header.type)).value();
  const std::optional<std::uint64_t> left = source.left();
  if (left && *left != count * size)
    fail_npy_size(name, header, count * size, std::to_string(*left));
  // Memory grows with the bytes that are there, whatever the header claims.
  const std::size_t block = left ? count : (std::size_t{1} << 24) / size;
  auto* bytes = static_cast<unsigned char*>(to.resize(to.vector, 0));
  for (std::size_t first = 0; first < count;) {
    const std::size_t next = std::min(block, count - first);
    bytes = static_cast<unsigned char*>(to.resize(to.vector, first + next));
    const std::size_t got = source.read(bytes + first * size, next * size);
    if (got < next * size)
      fail_npy_size(name, header, count * size, std::to_string(first * size + got));
    first += next;
  }
  unsigned char extra = 0;
  if (source.read(&extra, 1) != 0) fail_npy_size(name, header, count * size, "more");
  mend_npy_elements(name, header, bytes, count);
  to_row_major(bytes, header, count);
}

TYPEFLOW_DEFINITION AnyNpyArray read_any_npy_from(const std::string& name, NpySource& source) {
  NpyHeader header = read_npy_header(name, source);
  return visit_dtype(header.type, [&]<class T>(T) -> AnyNpyArray {
    if constexpr (NpyElement<T>) {
      return read_npy_array<T>(name, source, std::move(header));
    } else {
      throw Error(name, "elements that are not complex", std::string(name_of(dtype_of<T>)));
    }
  });
}

struct NpyRows::Parts {
  Parts(const std::string& its_path, DType type)
      : path(its_path), file(its_path), header(read_npy_header(its_path, file)) {
    check_npy_type(path, type, header.type);
    if (header.shape.empty()) throw Error(path, "an array with rows", "one of shape ()");
    const std::span<const std::int64_t> shape = header.shape;
    size = static_cast<std::size_t>(size_of(type));
    rows = header.shape[0];
    width = npy_count(shape.subspan(1), size_of(type)).value();
    if (header.column_major && header.shape.size() > 1) {
      read_npy_elements(path, file, header, {this, [](void* parts, std::size_t count) -> void* {
                                               auto& p = *static_cast<Parts*>(parts);
                                               p.all.resize(count * p.size);
                                               return p.all.data();
                                             }});
      return;
    }
    const std::optional<std::uint64_t> left = file.left();
    if (left && *left != bytes()) fail_npy_size(path, header, bytes(), std::to_string(*left));
  }

  std::size_t bytes() const { return static_cast<std::size_t>(rows) * width * size; }
  bool is_in_memory() const { return !all.empty(); }

  std::string path;
  NpyFile file;
  NpyHeader header;
  std::size_t size = 0;            ///< bytes of an element
  std::int64_t rows = 0;           ///< of the file
  std::size_t width = 0;           ///< elements of a row
  std::int64_t at = 0;             ///< the next row
  std::vector<unsigned char> all;  ///< a column-major file's elements, row-major
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION NpyRows::NpyRows(const std::string& path, DType type)
    : parts_(std::make_unique<Parts>(path, type)) {}
TYPEFLOW_DEFINITION NpyRows::~NpyRows() = default;
TYPEFLOW_DEFINITION std::size_t NpyRows::width() const { return parts_->width; }

TYPEFLOW_DEFINITION bool NpyRows::next(void* row) {
  Parts& p = *parts_;
  const std::size_t bytes = p.width * p.size;
  const std::size_t done = static_cast<std::size_t>(p.at) * bytes;
  if (p.at == p.rows) {
    unsigned char extra = 0;
    if (!p.is_in_memory() && p.file.read(&extra, 1) != 0) {
      fail_npy_size(p.path, p.header, p.bytes(), "more");
    }
    return false;
  }
  ++p.at;
  if (bytes == 0) return true;
  if (p.is_in_memory()) {
    std::memcpy(row, p.all.data() + done, bytes);
    return true;
  }
  const std::size_t got = p.file.read(row, bytes);
  if (got < bytes) fail_npy_size(p.path, p.header, p.bytes(), std::to_string(done + got));
  mend_npy_elements(p.path, p.header, static_cast<unsigned char*>(row), p.width);
  return true;
}

TYPEFLOW_DEFINITION void NpyRows::skip(std::int64_t count) {
  Parts& p = *parts_;
  const std::size_t row = p.width * p.size;
  const std::int64_t rows = std::min(count, p.rows - p.at);
  const std::size_t done = static_cast<std::size_t>(p.at) * row;
  p.at += rows;
  if (p.is_in_memory() || row == 0) return;
  const std::uint64_t bytes = static_cast<std::uint64_t>(rows) * row;
  const std::uint64_t got = p.file.reader.skip(bytes);
  if (got < bytes) fail_npy_size(p.path, p.header, p.bytes(), std::to_string(done + got));
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION NpyView::NpyView(DType type, const void* data, std::size_t count,
                                                   std::vector<std::int64_t> shape)
    : type_(type), data_(data), count_(count), shape_(std::move(shape)) {
  if (shape_.size() > detail::most_npy_rank) {
    throw Error("NpyView",
                "a shape of at most " + std::to_string(detail::most_npy_rank) + " extents",
                std::to_string(shape_.size()));
  }
  const auto expected = detail::npy_count(shape_, size_of(type));
  if (!expected) {
    throw Error("NpyView", "a shape that memory can hold", detail::npy_shape_text(shape_));
  }
  if (*expected == count) return;
  throw Error(
      "NpyView",
      std::to_string(*expected) + " elements for the shape " + detail::npy_shape_text(shape_),
      std::to_string(count));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION NpyHeader read_npy_header(const std::string& path) {
  detail::NpyFile file(path);
  return detail::read_npy_header(path, file);
}

TYPEFLOW_DEFINITION AnyNpyArray read_npy(const std::string& path) {
  detail::NpyFile file(path);
  return detail::read_any_npy_from(path, file);
}

TYPEFLOW_DEFINITION void write_npy(const std::string& path, const NpyView& array) {
  detail::ReplacingFile file(path);
  file.write(detail::npy_header_of(array));
  file.write(std::span(static_cast<const std::byte*>(array.data()), array.bytes()));
  file.finish();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
