// SPDX-License-Identifier: Apache-2.0
#pragma once

// Element types: as a C++ type where the user sees them, as a DType in the graph.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "typeflow/core/config.hpp"

namespace typeflow {

/// The element types of tensors. A boolean takes one byte in memory, 0 or 1.
enum class DType : std::uint8_t { boolean, uint8, int32, int64, float32, float64 };
inline constexpr int dtype_count = 6;

constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::boolean:
      return "bool";
    case DType::uint8:
      return "uint8";
    case DType::int32:
      return "int32";
    case DType::int64:
      return "int64";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
  }
  return "?";
}

/// Bytes of one element.
constexpr int size_of(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::uint8:
      return 1;
    case DType::int32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::float64:
      return 8;
  }
  return 0;
}

constexpr bool is_floating(DType type) { return type >= DType::float32; }
constexpr bool is_integer(DType type) { return type >= DType::uint8 && type <= DType::int64; }
constexpr bool is_number(DType type) { return type != DType::boolean; }

namespace detail {
template <class T>
constexpr int dtype_index() {
  if constexpr (std::is_same_v<T, bool>) return 0;
  if constexpr (std::is_same_v<T, std::uint8_t>) return 1;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) return 2;
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) return 3;
  if constexpr (std::is_same_v<T, float>) return 4;
  if constexpr (std::is_same_v<T, double>) return 5;
  return -1;
}

template <DType>
struct ElementOf;
template <>
struct ElementOf<DType::boolean> {
  using type = bool;
};
template <>
struct ElementOf<DType::uint8> {
  using type = std::uint8_t;
};
template <>
struct ElementOf<DType::int32> {
  using type = std::int32_t;
};
template <>
struct ElementOf<DType::int64> {
  using type = std::int64_t;
};
template <>
struct ElementOf<DType::float32> {
  using type = float;
};
template <>
struct ElementOf<DType::float64> {
  using type = double;
};
}  // namespace detail

/// A C++ type that can be the element of a tensor.
template <class T>
concept Element = detail::dtype_index<T>()
>= 0;

template <class T>
inline constexpr DType dtype_of = static_cast<DType>(detail::dtype_index<T>());

/// The C++ type of elements of a DType.
template <DType D>
using element_of = typename detail::ElementOf<D>::type;

/// Calls `f(T{})` with T the C++ type of `type`.
template <class F>
constexpr decltype(auto) visit_dtype(DType type, F&& f) {
  switch (type) {
    case DType::boolean:
      return f(bool{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::float32:
      return f(float{});
    default:
      return f(double{});
  }
}

}  // namespace typeflow
