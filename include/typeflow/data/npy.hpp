// SPDX-License-Identifier: Apache-2.0
#pragma once

// NumPy's files of one array, .npy, of the format's versions 1 to 3, in any byte order and both
// orders of elements. Source: NumPy, "numpy.lib.format".
//
//   const tf::NpyArray<float> x = tf::read_npy<float>("x.npy");   // x.shape, x.values
//   tf::write_npy("y.npy", tf::NpyView(values, {100, 10}));
//
// NumPy has no bfloat16. As the package ml_dtypes does, files have it as '<V2', bytes without a
// meaning: numpy.load(file).view(ml_dtypes.bfloat16).

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/runtime/array.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// An element type of npy files: numbers that are not complex, and bool.
template <class T>
concept NpyElement = Element<T> && !detail::is_string<T> && !detail::is_complex_number<T>;

/// The header of an npy file: element type, shape, and order of elements and bytes.
struct NpyHeader {
  DType type = DType::float32;
  std::vector<std::int64_t> shape;
  bool column_major = false;  ///< NumPy: Fortran order
  bool big_endian = false;
};

/// An array of any rank; a rank of 0 has one element.
template <NpyElement T>
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<T> values;  ///< row-major

  bool operator==(const NpyArray&) const = default;
};

/// An array of a type that its file tells.
using AnyNpyArray =
    std::variant<NpyArray<bool>, NpyArray<std::int8_t>, NpyArray<std::int16_t>,
                 NpyArray<std::int32_t>, NpyArray<std::int64_t>, NpyArray<std::uint8_t>,
                 NpyArray<std::uint16_t>, NpyArray<std::uint32_t>, NpyArray<std::uint64_t>,
                 NpyArray<bfloat16>, NpyArray<float16>, NpyArray<float>, NpyArray<double>>;

/// An array that is to be written: a view of elements that somebody else owns, row-major. A view of
/// a std::vector<bool>, which has no elements in memory, has a copy.
class NpyView {
 public:
  /// Contiguous elements. Error if their number is not that of the shape.
  template <std::ranges::contiguous_range Values>
    requires NpyElement<std::ranges::range_value_t<Values>>
  NpyView(const Values& values, std::vector<std::int64_t> shape)
      : NpyView(dtype_of<std::ranges::range_value_t<Values>>, std::ranges::data(values),
                std::ranges::size(values), std::move(shape)) {}
  NpyView(const std::vector<bool>& values, std::vector<std::int64_t> shape)
      : NpyView(std::make_shared<const std::vector<std::uint8_t>>(values.begin(), values.end()),
                std::move(shape)) {}
  template <NpyElement T>
  NpyView(const NpyArray<T>& array)  // NOLINT: write_npy("x.npy", array)
      : NpyView(array.values, array.shape) {}
  template <NpyElement T, std::size_t Rank>
  NpyView(const Array<T, Rank>& array)  // NOLINT: write_npy("x.npy", session.run<"x">())
      : NpyView(array, {array.shape().begin(), array.shape().end()}) {}

  DType type() const { return type_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const void* data() const { return data_; }
  std::size_t bytes() const { return count_ * static_cast<std::size_t>(size_of(type_)); }

 private:
  NpyView(DType type, const void* data, std::size_t count, std::vector<std::int64_t> shape);
  NpyView(std::shared_ptr<const std::vector<std::uint8_t>> bits, std::vector<std::int64_t> shape)
      : NpyView(DType::boolean, bits->data(), bits->size(), std::move(shape)) {
    owned_ = std::move(bits);
  }

  DType type_;
  const void* data_;
  std::size_t count_;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<const std::vector<std::uint8_t>> owned_;
};

namespace detail {

/// Where the bytes of an npy file come from: a file, or a member of an archive.
class NpySource {
 public:
  virtual ~NpySource() = default;
  /// Reads up to `count` bytes, fewer only at the end. Returns their number.
  virtual std::size_t read(void* to, std::size_t count) = 0;
  /// The bytes that are left, if that is sure.
  virtual std::optional<std::uint64_t> left() const { return std::nullopt; }
};
/// Calls the function with a file's source.
void with_npy_file(const std::string& path, void* context,
                   void (*call)(void* context, NpySource& source));
template <class F>
void with_npy_file(const std::string& path, F f) {
  with_npy_file(path, &f,
                [](void* context, NpySource& source) { (*static_cast<F*>(context))(source); });
}

/// Where read_npy_elements puts elements.
struct NpyElements {
  void* vector;
  /// Resizes the vector to `count` elements, and returns its data.
  void* (*resize)(void* vector, std::size_t count);
};
template <class T>
NpyElements npy_elements(std::vector<T>& values) {
  return {&values, [](void* vector, std::size_t count) -> void* {
            auto& out = *static_cast<std::vector<T>*>(vector);
            out.resize(count);
            return out.data();
          }};
}
template <class T>
using NpyStored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

NpyHeader read_npy_header(const std::string& name, NpySource& source);
/// Reads what follows a header: elements in this machine's byte order, row-major.
void read_npy_elements(const std::string& name, NpySource& source, const NpyHeader& header,
                       const NpyElements& to);
/// The bytes in front of the elements.
std::string npy_header_of(const NpyView& array);
/// Error unless elements of the wanted type were found.
void check_npy_type(const std::string& name, DType wanted, DType found);

template <NpyElement T>
NpyArray<T> read_npy_array(const std::string& name, NpySource& source, NpyHeader header) {
  NpyArray<T> out;
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::uint8_t> bytes;
    read_npy_elements(name, source, header, npy_elements(bytes));
    out.values.assign(bytes.begin(), bytes.end());
  } else {
    read_npy_elements(name, source, header, npy_elements(out.values));
  }
  out.shape = std::move(header.shape);
  return out;
}
template <NpyElement T>
NpyArray<T> read_npy_from(const std::string& name, NpySource& source) {
  NpyHeader header = read_npy_header(name, source);
  check_npy_type(name, dtype_of<T>, header.type);
  return read_npy_array<T>(name, source, std::move(header));
}
AnyNpyArray read_any_npy_from(const std::string& name, NpySource& source);

/// Reads the rows of a file.
class NpyRows {
 public:
  NpyRows(const std::string& path, DType type);
  NpyRows(const NpyRows&) = delete;
  NpyRows& operator=(const NpyRows&) = delete;
  ~NpyRows();

  /// Elements of a row.
  std::size_t width() const;
  /// Reads the next row; false at the end.
  bool next(void* row);
  void skip(std::int64_t count);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

template <NpyElement T>
class NpyRowCursor final : public Cursor<std::vector<T>> {
 public:
  explicit NpyRowCursor(const std::string& path) : rows_(path, dtype_of<T>) {}
  std::optional<std::vector<T>> next() override {
    std::vector<NpyStored<T>> row(rows_.width());
    if (!rows_.next(row.data())) return std::nullopt;
    if constexpr (std::is_same_v<T, bool>) {
      return std::vector<bool>(row.begin(), row.end());
    } else {
      return row;
    }
  }
  void skip(std::int64_t count) override { rows_.skip(count); }

 private:
  NpyRows rows_;
};

}  // namespace detail

/// Reads the header alone. Errors are those of read_npy.
NpyHeader read_npy_header(const std::string& path);

/// Reads an npy file, plain or gzip. Error, with the file, if it can't be read, is damaged, shorter
/// or longer than its header says, or has elements of another type.
template <NpyElement T>
NpyArray<T> read_npy(const std::string& path) {
  NpyArray<T> out;
  detail::with_npy_file(
      path, [&](detail::NpySource& source) { out = detail::read_npy_from<T>(path, source); });
  return out;
}
/// The same for any type: std::visit([](const auto& array) { ... }, tf::read_npy(path)).
AnyNpyArray read_npy(const std::string& path);

/// Writes an npy file, byte for byte as NumPy does. It is complete or absent: it is written to a
/// temporary name beside it, then renamed. Error, with the file, if it can't be written.
void write_npy(const std::string& path, const NpyView& array);
template <class Values>
void write_npy(const std::string& path, const Values& values, std::vector<std::int64_t> shape) {
  write_npy(path, NpyView(values, std::move(shape)));
}

/// The rows of an npy file, plain or gzip: (N,H,W) -> N vectors of H*W elements. One row at a time
/// is in memory, but all of a column-major file. Leaving out rows of a plain file reads nothing.
/// Errors are those of read_npy, and one for a single number, which has no rows.
template <NpyElement T>
Dataset<std::vector<T>> npy_rows(const std::string& path) {
  return Dataset<std::vector<T>>([path](std::uint64_t) -> detail::CursorOf<std::vector<T>> {
    return std::make_unique<detail::NpyRowCursor<T>>(path);
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/npy.ipp"
#endif
