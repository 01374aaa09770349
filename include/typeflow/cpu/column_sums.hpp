// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a vector and a large matrix whose columns' sums lie side by side. The matrix is read
// row by row, and the sums wait in the first cache. Pieces of rows that lie pages apart would each
// wait for their page's address, and for their first lines until the processor fetches ahead.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Whether a matrix is so large that no near cache holds it. Elements that are widened take so long
/// that a farther one is near enough.
constexpr bool reads_rows(std::int64_t columns, std::int64_t depth, std::int64_t size) {
  return columns * depth * size >= std::int64_t{1} << (size < 4 ? 22 : 20);
}

/// out[j] += x[0] * m[j] + ... + x[K - 1] * m[(K - 1) * pitch + j], for j < count. Each sum is a
/// chain in the order of the rows. Elements X of m may be narrower than the sums.
template <class T, class A, int K, class X>
[[gnu::noinline, gnu::flatten]] void add_rows_by(const T* x, const X* m, std::int64_t pitch,
                                                 std::int64_t count, T* out) {
  using S = TileShape<T, A>;
  using L = Lanes<sizeof(T) == 8, A>;
  using B = xsimd::batch<T, A>;
  constexpr int vectors = S::large ? 4 : 2;
  B left[K];
  unrolled<K>([&](auto k) TYPEFLOW_INLINE_LAMBDA { left[k] = B(x[k]); });
  std::int64_t j = 0;
  for (; j + vectors * S::lanes <= count; j += vectors * S::lanes) {
    B sum[vectors];
    unrolled<vectors>(
        [&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v] = B::load_unaligned(out + j + v * S::lanes); });
    unrolled<K>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      unrolled<vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sum[v] = cpu_kernels::fma(left[k], L::load(m + k * pitch + j + v * S::lanes), sum[v]);
      });
    });
    unrolled<vectors>(
        [&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[v].store_unaligned(out + j + v * S::lanes); });
  }
  const auto add = [&](auto... rest) TYPEFLOW_INLINE_LAMBDA {  // whole vectors have none
    B sum = L::load(out + j, rest...);
    unrolled<K>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      sum = cpu_kernels::fma(left[k], L::load(m + k * pitch + j, rest...), sum);
    });
    L::store(out + j, sum, rest...);
  };
  for (; j + S::lanes <= count; j += S::lanes) add();
  if (j < count) add(static_cast<int>(count - j));
}

/// out[j] = sum over k of x[k] * m[k * pitch + j], for j < count; with `go_on`, added to out[j].
template <class T, class A, class X>
void sum_by_rows(const T* x, const X* m, std::int64_t pitch, std::int64_t depth, std::int64_t count,
                 T* out, bool go_on) {
  constexpr int together = 8;
  constexpr std::int64_t short_row = 8192 / sizeof(T);
  if (!go_on) std::fill(out, out + count, T(0));
  std::int64_t k = 0;
  // Rows together load and store each sum once. Short ones that follow each other are read faster
  // one by one.
  if (pitch != count || count > short_row) {
    for (; k + together <= depth; k += together) {
      add_rows_by<T, A, together>(x + k, m + k * pitch, pitch, count, out);
    }
  }
  for (; k < depth; ++k) add_rows_by<T, A, 1>(x + k, m + k * pitch, pitch, count, out);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
