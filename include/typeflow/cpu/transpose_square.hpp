// SPDX-License-Identifier: Apache-2.0
#pragma once

// Squares of elements transposed in registers of 16 bytes.

#include <cstdint>
#include <type_traits>

#include "typeflow/core/config.hpp"
#include "typeflow/cpu/xsimd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// 16 bytes of elements, for transposing blocks in registers; void if there are no such registers.
template <class T>
using TransposeBatch =
    typename std::conditional_t<std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                                xsimd::make_sized_batch<T, 16 / sizeof(T)>,
                                std::type_identity<void>>::type;

/// Copies a block of W x W elements transposed, where W elements are 16 bytes.
template <class T, class B = TransposeBatch<T>>
TYPEFLOW_INLINE void transpose_square(const T* from, std::int64_t pitch, T* to,
                                      std::int64_t to_pitch) {
  if constexpr (B::size == 2) {
    const B r0 = B::load_unaligned(from);
    const B r1 = B::load_unaligned(from + pitch);
    xsimd::zip_lo(r0, r1).store_unaligned(to);
    xsimd::zip_hi(r0, r1).store_unaligned(to + to_pitch);
  } else {
    const B r0 = B::load_unaligned(from);
    const B r1 = B::load_unaligned(from + pitch);
    const B r2 = B::load_unaligned(from + 2 * pitch);
    const B r3 = B::load_unaligned(from + 3 * pitch);
    const B even_low = xsimd::zip_lo(r0, r2);
    const B even_high = xsimd::zip_hi(r0, r2);
    const B odd_low = xsimd::zip_lo(r1, r3);
    const B odd_high = xsimd::zip_hi(r1, r3);
    xsimd::zip_lo(even_low, odd_low).store_unaligned(to);
    xsimd::zip_hi(even_low, odd_low).store_unaligned(to + to_pitch);
    xsimd::zip_lo(even_high, odd_high).store_unaligned(to + 2 * to_pitch);
    xsimd::zip_hi(even_high, odd_high).store_unaligned(to + 3 * to_pitch);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
