// SPDX-License-Identifier: Apache-2.0

#include "support/allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

std::atomic<long> allocations{0};
std::atomic<long> allocations_until_failure{-1};

namespace {

void count_allocation() {
  ++allocations;
  if (allocations_until_failure.load() < 0) return;
  if (allocations_until_failure.fetch_sub(1) == 0) throw std::bad_alloc();
}

}  // namespace

// Also what the standard library makes of these: sanitizers have their own.

[[gnu::noinline]] void* operator new(std::size_t size) {
  count_allocation();
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  count_allocation();
  const auto a = static_cast<std::size_t>(alignment);
  if (void* const p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return operator new(size, alignment);
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept { operator delete(p); }
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete[](void* p, std::size_t) noexcept { operator delete(p); }
void operator delete[](void* p, std::align_val_t) noexcept { operator delete(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { operator delete(p); }
