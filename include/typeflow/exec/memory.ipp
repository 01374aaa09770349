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

constexpr std::size_t huge_page = std::size_t{1} << 21;

#ifdef MADV_HUGEPAGE
/// Whether a block is worth huge pages. It is the system's own then: in memory that malloc has
/// given out before, pages stay as small as they are.
constexpr bool is_mapped(std::size_t bytes) { return bytes >= 2 * huge_page; }
constexpr std::size_t mapped_size(std::size_t bytes) {
  return (bytes + huge_page - 1) / huge_page * huge_page;
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION std::byte* map_huge_pages(std::size_t size) {
  void* const all =
      ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(all);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(all) % huge_page;
  if (before != 0) ::munmap(begin, before);
  ::munmap(begin + before + size, huge_page - before);
  // A system without huge pages refuses, which does no harm.
  ::madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}
#endif

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::byte* HostMemory::allocate(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
#ifdef MADV_HUGEPAGE
  if (detail::is_mapped(size)) {
    std::byte* const data = detail::map_huge_pages(detail::mapped_size(size));
    std::memset(data, 0, size);  // so that runs find all pages
    return data;
  }
#endif
  auto* const data = static_cast<std::byte*>(::operator new(size, std::align_val_t{64}));
  std::memset(data, 0, size);
  return data;
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void HostMemory::release(
    std::byte* data, [[maybe_unused]] std::int64_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  const auto size = static_cast<std::size_t>(bytes);
  if (detail::is_mapped(size)) {
    ::munmap(data, detail::mapped_size(size));
    return;
  }
#endif
  ::operator delete(data, std::align_val_t{64});
}

}  // namespace typeflow::inline TYPEFLOW_ISA
