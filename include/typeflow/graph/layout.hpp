// SPDX-License-Identifier: Apache-2.0
#pragma once

// Layouts: where the elements of a tensor lie in another tensor's memory.
//
// A slice, a reversal or a transpose moves nothing if its readers know where its elements lie in
// its operand. Such operations have a rule that says so (Op::layout).

#include <cstdint>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/shape.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The distance between two elements in memory, in elements: a Count that may be negative.
struct Stride {
  std::int64_t coefficient;
  int powers;
  constexpr bool operator==(const Stride&) const = default;
};

/// Element (i, j, ...) is element begin + i * stride[0] + j * stride[1] + ... of another tensor.
struct Layout {
  Stride begin[2];  ///< a number and a multiple of symbols, which add up
  Stride stride[max_rank];

  /// Moves the beginning by n elements along an axis. False if the result is no such sum, as one of
  /// batch and time.
  constexpr bool skip(Extent n, const Stride& along) {
    const int powers = along.powers + symbols_of(n);
    Stride& part = begin[powers == 0 ? 0 : 1];
    if (part.coefficient != 0 && part.powers != powers) return false;
    part = {part.coefficient + factor_of(n) * along.coefficient, powers};
    return true;
  }
};

/// The layout of a tensor in its own memory. (If the tensor's size fits into 63 bits, so do the
/// layout's coefficients, and sums of their products with positions.)
constexpr Layout row_major(const Dims& dims) {
  Layout layout{};
  Count size{};
  for (int i = dims.rank - 1; i >= 0; --i) {
    layout.stride[i] = {size.coefficient, size.powers};
    size.multiply(dims.extent[i]);
  }
  return layout;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
