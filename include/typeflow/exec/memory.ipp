// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "typeflow/exec/memory.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

constexpr std::int64_t huge_page = std::int64_t{1} << 21;

/// Blocks that are worth huge pages begin at one.
constexpr std::align_val_t alignment_of_block(std::int64_t bytes) {
  return std::align_val_t{bytes < 2 * huge_page ? 64 : static_cast<std::size_t>(huge_page)};
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::byte* HostMemory::allocate(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const std::align_val_t alignment = detail::alignment_of_block(bytes);
  auto* const data = static_cast<std::byte*>(::operator new(size, alignment));
#ifdef MADV_HUGEPAGE
  // Before the pages are touched. A system without huge pages refuses, which does no harm.
  if (bytes >= 2 * detail::huge_page) ::madvise(data, size, MADV_HUGEPAGE);
#endif
  std::memset(data, 0, size);
  return data;
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void HostMemory::release(std::byte* data,
                                                           std::int64_t bytes) noexcept {
  ::operator delete(data, detail::alignment_of_block(bytes));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
