// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/unique.hpp: one pass with a hash table in the workspace.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/call.hpp"
#include "typeflow/ops/index/unique.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Unique> {
  static std::int64_t workspace(const std::int64_t* extents) {
    return checked_product(slot_count(extents[0]), sizeof(std::int32_t));
  }

  template <class A>
  static void run(const ops::Unique&, const Tensor* in, const Tensor* out, const KernelCall& call) {
    visit_dtype(in->dtype, [&](auto zero) {
      using T = decltype(zero);
      find<T>(*in, out, call);
    });
  }

 private:
  /// Open addressing: the table's size is a power of two, at least twice the number of elements.
  static std::int64_t slot_count(std::int64_t elements) {
    const std::int64_t least = std::max<std::int64_t>(checked_product(2, elements), 2);
    constexpr std::int64_t most = std::int64_t{1} << 62;  // a power of two, more than memory has
    return static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::min(least, most))));
  }

  /// A hash, the same for equal elements.
  template <class T>
  static std::uint64_t bits_of(const T& x) {
    if constexpr (detail::is_complex_number<T>) {
      return bits_of(x.real()) * 3 + bits_of(x.imag());
    } else {
      std::uint64_t bits = 0;
      if (!(x == T{})) std::memcpy(&bits, &x, sizeof(T));  // -0 is 0
      return bits;
    }
  }

  template <class T>
  static void find(const Tensor& in, const Tensor* out, const KernelCall& call) {
    const T* const x = static_cast<const T*>(in.data);
    T* const values = static_cast<T*>(out[0].data);
    std::int32_t* const index = static_cast<std::int32_t*>(out[1].data);
    std::int32_t* const table = static_cast<std::int32_t*>(call.workspace);  // of values, or -1
    const std::int64_t size = in.size();
    const std::int64_t bound = out[0].size();
    const std::int64_t slots = slot_count(size);
    const int shift = 64 - std::countr_zero(static_cast<std::uint64_t>(slots));
    std::fill_n(table, slots, -1);
    std::int32_t count = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      std::int32_t* known = nullptr;
      if (x[i] == x[i]) {  // a NaN equals nothing, and is not kept
        const std::uint64_t bits = bits_of(x[i]);
        // Source: Knuth, The Art of Computer Programming, vol. 3, 6.4, multiplicative hashing.
        auto slot = static_cast<std::int64_t>((bits ^ bits >> 32) * 0x9E3779B97F4A7C15ull >> shift);
        while (table[slot] != -1 && !(values[table[slot]] == x[i])) slot = (slot + 1) & (slots - 1);
        known = table + slot;
      }
      if (known != nullptr && *known != -1) {
        index[i] = *known;
      } else {
        if (count == bound) return call.fail({1, {bound, i}});
        values[count] = x[i];
        if (known != nullptr) *known = count;
        index[i] = count++;
      }
    }
    std::fill(values + count, values + bound, T{});
    *static_cast<std::int32_t*>(out[2].data) = count;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
