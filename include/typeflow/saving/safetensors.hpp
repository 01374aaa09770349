// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads the safetensors format (https://github.com/huggingface/safetensors): the header's length in
// eight bytes, the header, and the tensors' elements.
//
// The header is JSON, {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...},
// with a map of strings under "__metadata__". Files may come from anywhere, so everything that the
// header says is checked against the bytes of the file.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

/// Texts about a file, by keys: "__metadata__" in safetensors files.
using Metadata = std::map<std::string, std::string, std::less<>>;

namespace detail {

/// The format's limit on headers. It also stops files that only claim to be large.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
inline constexpr std::size_t max_saved_rank = 64;

/// An element type of the format.
struct SavedType {
  std::string_view name;
  int bits;
  DType dtype = DType::string;  ///< string: typeflow has no such type
};
inline constexpr SavedType saved_types[] = {
    {"BOOL", 8, DType::boolean},
    {"I8", 8, DType::int8},
    {"I16", 16, DType::int16},
    {"I32", 32, DType::int32},
    {"I64", 64, DType::int64},
    {"U8", 8, DType::uint8},
    {"U16", 16, DType::uint16},
    {"U32", 32, DType::uint32},
    {"U64", 64, DType::uint64},
    {"BF16", 16, DType::bfloat16},
    {"F16", 16, DType::float16},
    {"F32", 32, DType::float32},
    {"F64", 64, DType::float64},
    {"C64", 64, DType::complex64},
    {"F8_E4M3", 8},
    {"F8_E5M2", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"F4", 4},
};

/// A name from a file in quotes, for messages. It is cut after 200 bytes.
std::string in_quotes(std::string_view name);

/// A tensor in a file.
struct SavedTensor {
  const SavedType* type = nullptr;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< its first byte in the file's data
  std::uint64_t end = 0;

  /// Whether a variable can have its type and shape. Otherwise dtype() and dims() are invalid.
  bool fits_variable() const {
    return type->dtype != DType::string && shape.size() <= static_cast<std::size_t>(max_rank);
  }
  DType dtype() const { return type->dtype; }
  Dims dims() const;
  /// "float [784, 10]"
  std::string text() const;
};

struct SavedFile {
  std::map<std::string, SavedTensor, std::less<>> tensors;
  Metadata metadata;
  std::span<const std::byte> data;

  std::span<const std::byte> bytes(const SavedTensor& tensor) const {
    return data.subspan(tensor.begin, tensor.end - tensor.begin);
  }
};

/// Parses and checks the header of a file in memory. The result refers to `bytes`. Errors begin
/// with `source`.
SavedFile parse_safetensors(std::span<const std::byte> bytes, const std::string& source);

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/safetensors.ipp"
#endif
