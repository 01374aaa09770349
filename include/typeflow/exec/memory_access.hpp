// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that kernel calls read and write. It decides which calls may change places.

#include <cstdint>

#include "typeflow/core/isa.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Bytes that a kernel call reads or writes.
struct MemoryAccess {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool writes;
  /// Not negative: it writes only some of the bytes, as the operands of a concatenation do that lie
  /// in the result. Other parts of the same bytes have no element in common with it.
  std::int32_t part = -1;

  constexpr bool overlaps(const MemoryAccess& other) const {
    return begin < other.end && other.begin < end;
  }
  constexpr bool conflicts_with(const MemoryAccess& other) const {
    return (writes || other.writes) && overlaps(other) && !is_beside(other);
  }

 private:
  constexpr bool is_beside(const MemoryAccess& other) const {
    return part >= 0 && other.part >= 0 && part != other.part && begin == other.begin &&
           end == other.end;
  }
};

/// The access of an unknown call. It comes after all calls before it, and before all others.
inline constexpr MemoryAccess any_access{0, UINTPTR_MAX, true};

}  // namespace typeflow::inline TYPEFLOW_ISA
