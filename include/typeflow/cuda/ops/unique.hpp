// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/unique.hpp.
//
// Threads put their elements into a hash table with open addressing. Which slot a value gets
// depends on their turns; that its first position is the smallest one does not. Values whose own
// position is the first are chosen in order.

#include <bit>
#include <cstdint>
#include <cstring>

#include "typeflow/cuda/compaction.hpp"
#include "typeflow/ops/index/unique.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The table, and what is known of each element, in the workspace.
struct UniqueTables {
  std::int32_t* slots;   ///< an element with the slot's value; -1: free
  std::uint32_t* first;  ///< the smallest position of the slot's value
  std::int32_t* slot;    ///< of each element; -1 for NaN
  std::int32_t* number;  ///< of each element that is its value's first
  std::int64_t size;     ///< of the table, a power of two

  static std::int64_t slot_count(std::int64_t elements) {
    const std::int64_t least = std::max<std::int64_t>(checked_product(2, elements), 2);
    constexpr std::int64_t most = std::int64_t{1} << 62;  // a power of two, more than memory has
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::min(least, most))));
  }
};

/// Finds the slot of element i.
template <class T>
struct InsertElement {
  const T* x;
  UniqueTables tables;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    const auto value = static_cast<Computed<T>>(x[i]);
    tables.slot[i] = -1;
    if (value != value) return;
    std::uint64_t bits = 0;
    if (value != Computed<T>(0)) memcpy(&bits, &value, sizeof value);  // -0 is 0
    // Source: Knuth, The Art of Computer Programming, vol. 3, 6.4, multiplicative hashing.
    bits = (bits ^ bits >> 32) * 0x9E3779B97F4A7C15ull;
    const auto mask = static_cast<std::uint64_t>(tables.size - 1);
    for (std::uint64_t at = bits >> 32 & mask;; at = (at + 1) & mask) {
      const std::int32_t known =
          atomicCAS(tables.slots + at, std::int32_t{-1}, static_cast<std::int32_t>(i));
      if (known != -1 && static_cast<Computed<T>>(x[known]) != value) continue;
      atomicMin(tables.first + at, static_cast<std::uint32_t>(i));
      tables.slot[i] = static_cast<std::int32_t>(at);
      return;
    }
  }
};

/// Chooses the first element with each value.
template <class T>
struct FirstElements {
  const T* x;
  T* values;
  UniqueTables tables;
  std::int64_t bound;
  Failure* found;

  TYPEFLOW_DEVICE bool is_chosen(std::int64_t i) const {
    const std::int32_t slot = tables.slot[i];
    return slot < 0 || tables.first[slot] == static_cast<std::uint32_t>(i);
  }
  TYPEFLOW_DEVICE void write(std::int64_t i, std::int64_t number) const {
    tables.number[i] = static_cast<std::int32_t>(number);
    if (number < bound) values[number] = x[i];
    if (number == bound) write_failure({1, {bound, i}}, found);
  }
};

struct StoreTotal {
  std::int32_t* out;
  std::int64_t bound;

  TYPEFLOW_DEVICE void operator()(std::int64_t total) const {
    *out = static_cast<std::int32_t>(total < bound ? total : bound);
  }
};

struct WriteNumber {
  UniqueTables tables;
  std::int32_t* out;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    const std::int32_t slot = tables.slot[i];
    out[i] = tables.number[slot < 0 ? static_cast<std::uint32_t>(i) : tables.first[slot]];
  }
};

template <>
struct kernel_of<ops::Unique> {
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t slots = UniqueTables::slot_count(extents[0]);
    return compaction_workspace(extents[0]) + checked_product(slots, 2 * sizeof(std::int32_t)) +
           checked_product(extents[0], 2 * sizeof(std::int32_t));
  }
  template <class T>
  static void run(const ops::Unique&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const std::int64_t size = in->size();
    const std::int64_t bound = out[0].size();
    const T* const x = static_cast<const T*>(in->data);
    T* const values = static_cast<T*>(out[0].data);
    UniqueTables tables{};
    tables.size = UniqueTables::slot_count(size);
    auto* const words = static_cast<std::byte*>(call.workspace) + compaction_workspace(size);
    tables.slots = reinterpret_cast<std::int32_t*>(words);
    tables.first = reinterpret_cast<std::uint32_t*>(tables.slots + tables.size);
    tables.slot = tables.slots + 2 * tables.size;
    tables.number = tables.slot + size;
    // -1 and the largest position.
    fill_bytes(call, tables.slots, 0xff,
               2 * tables.size * static_cast<std::int64_t>(sizeof(std::int32_t)));
    each(call, size, InsertElement<T>{x, tables});
    const std::int64_t* const total = choose(
        call, size, FirstElements<T>{x, values, tables, bound, stream_of(call).failure_of(call)},
        StoreTotal{static_cast<std::int32_t*>(out[2].data), bound}, call.workspace);
    each(call, size, WriteNumber{tables, static_cast<std::int32_t*>(out[1].data)});
    each(call, bound, FillRest<T>{values, T{}, total, 1});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
