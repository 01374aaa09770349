// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types as values: DType, for graphs and runners. dtype.hpp has them as C++ types and
// includes <complex>; this header includes next to nothing.

#include <cstdint>
#include <string_view>

#include "typeflow/core/config.hpp"

namespace typeflow {

/// The element types of tensors. A boolean takes one byte in memory, 0 or 1.
enum class DType : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  bfloat16,
  float16,
  float32,
  float64,
  complex64,   ///< two floats
  complex128,  ///< two doubles
  string,      ///< any number of bytes: std::string_view
};

}  // namespace typeflow

namespace typeflow::inline TYPEFLOW_ISA {

/// The number of types that visit_dtype visits, numbers and booleans. They stand first in DType.
inline constexpr int dtype_count = 15;

namespace detail {

struct DTypeRecord {
  std::string_view name;
  int size;
};
inline constexpr DTypeRecord dtype_records[dtype_count + 1] = {
    {"bool", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"bfloat16", 2},
    {"float16", 2},
    {"float", 4},
    {"double", 8},
    {"complex<float>", 8},
    {"complex<double>", 16},
    {"string", sizeof(std::string_view)},
};

}  // namespace detail

constexpr std::string_view name_of(DType type) {
  return detail::dtype_records[static_cast<int>(type)].name;
}

/// Bytes of one element.
constexpr int size_of(DType type) { return detail::dtype_records[static_cast<int>(type)].size; }

/// int8 to uint64.
constexpr bool is_integer(DType type) { return type >= DType::int8 && type <= DType::uint64; }
constexpr bool is_unsigned(DType type) { return type >= DType::uint8 && type <= DType::uint64; }
/// bfloat16 to double: real floating-point numbers, which have gradients.
constexpr bool is_floating(DType type) { return type >= DType::bfloat16 && type <= DType::float64; }
constexpr bool is_half_precision(DType type) {
  return type == DType::bfloat16 || type == DType::float16;
}
constexpr bool is_complex(DType type) {
  return type == DType::complex64 || type == DType::complex128;
}
/// Bytes of an element in a register. A complex number has two: one for each part.
constexpr int lane_size(DType type) { return size_of(type) / (is_complex(type) ? 2 : 1); }
constexpr bool is_number(DType type) { return type != DType::boolean && type != DType::string; }

}  // namespace typeflow::inline TYPEFLOW_ISA
