// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads idx files, the format of MNIST and its relatives: a magic number with element type and
// rank, the extents, then the elements row-major, all big-endian. Source: Y. LeCun, C. Cortes,
// C. J. C. Burges, "The MNIST database of handwritten digits".
//
// The caller states type and rank, so images passed as labels are an Error. Memory grows with the
// bytes that the file really has, whatever its header claims.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// An element type of idx files.
template <class T>
concept IdxElement = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> ||
                     std::same_as<T, std::int16_t> || std::same_as<T, std::int32_t> ||
                     std::same_as<T, float> || std::same_as<T, double>;

/// The content of an idx file.
template <IdxElement T, std::size_t Rank>
struct IdxArray {
  std::array<std::int64_t, Rank> extents{};
  std::vector<T> elements;  ///< row-major
};

namespace detail {

template <IdxElement T>
constexpr std::uint32_t idx_type_code() {
  if constexpr (std::same_as<T, std::uint8_t>) return 0x08;
  if constexpr (std::same_as<T, std::int8_t>) return 0x09;
  if constexpr (std::same_as<T, std::int16_t>) return 0x0B;
  if constexpr (std::same_as<T, std::int32_t>) return 0x0C;
  if constexpr (std::same_as<T, float>) return 0x0D;
  if constexpr (std::same_as<T, double>) return 0x0E;
}

/// The elements of a file, of any type: where read_idx_file puts them.
struct IdxElements {
  std::uint32_t type_code;
  std::size_t size;  ///< bytes of an element
  void* vector;
  /// Resizes the vector to `count` elements, and returns its data.
  void* (*resize)(void* vector, std::size_t count);
};

/// Reads a file of rank extents.size(). Fills the extents and the elements.
void read_idx_file(const std::string& path, std::span<std::int64_t> extents,
                   const IdxElements& elements);

}  // namespace detail

/// Reads an idx file, plain or gzip: read_idx<std::uint8_t, 3>("train-images-idx3-ubyte.gz").
/// Throws Error if the file is missing, has another type or rank, is shorter or longer than its
/// header says, or is damaged gzip.
template <IdxElement T, std::size_t Rank>
  requires(Rank >= 1 && Rank <= 255)
IdxArray<T, Rank> read_idx(const std::string& path) {
  IdxArray<T, Rank> result;
  const auto resize = [](void* vector, std::size_t count) -> void* {
    auto& elements = *static_cast<std::vector<T>*>(vector);
    elements.resize(count);
    return elements.data();
  };
  detail::read_idx_file(path, result.extents,
                        {detail::idx_type_code<T>(), sizeof(T), &result.elements, resize});
  return result;
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/idx.ipp"
#endif
