// SPDX-License-Identifier: Apache-2.0
#pragma once

// Products of a matrix and a vector of bytes where the elements of a matrix's row lie along the
// depth. Sums of int32 are exact in any order, so a vector holds sums of one row, and nothing is
// packed. For builds that multiply groups of four bytes (integer_products.hpp).

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/integer_products.hpp"
#include "typeflow/cpu/lane_sums.hpp"
#include "typeflow/cpu/vector_products.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// X and Y are the elements of a and b.
template <class X, class Y, class A>
class IntegerDots {
  using Extents = ir::ContractionExtents;
  static constexpr int lanes = IntegerGroups<X, Y, A>::lanes;
  static constexpr std::int64_t line = 4 * lanes;        ///< bytes of a register
  static constexpr std::int64_t rows_of_task = 64;       ///< of the matrix
  static constexpr int together = lanes == 16 ? 16 : 4;  ///< rows that share the vector's loads
  using Sums = Vector<std::int32_t, lanes>;
  using Words = Vector<std::uint32_t, lanes>;

 public:
  /// Whether the build multiplies groups of four bytes.
  static constexpr bool possible = IntegerGroups<X, Y, A>::group == 4;
  /// Whether the product is one that run() computes.
  static bool fits(const ProductKernel<std::int32_t>& kernel, const std::int64_t* extents) {
    const bool one_row = extents[Extents::rows] == 1;
    const bool one_column = extents[Extents::columns] == 1;
    // The elements of both operands must lie together along the depth.
    return (one_row || one_column) && (!kernel.transposed_a || (one_row && kernel.pitch_a <= 1)) &&
           (kernel.transposed_b || (one_column && kernel.pitch_b <= 1));
  }

  static void run(const KernelCall& call, const ProductKernel<std::int32_t>& kernel) {
    const bool is_row = call.extents[Extents::columns] != 1;
    const std::int64_t count = call.extents[is_row ? Extents::columns : Extents::rows];
    const std::int64_t depth = call.extents[Extents::depth];
    const std::int64_t tasks = (count + rows_of_task - 1) / rows_of_task;
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * chunk_size / (16 * (depth + 64)));
    parallel(call, kernel.count * tasks, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t matrix = task / tasks;
        const std::int64_t first = task % tasks * rows_of_task;
        const std::int64_t last = std::min(first + rows_of_task, count);
        const X* const a = call.operand<const X>(0) + kernel.start_of_a(call.extents, matrix);
        const Y* const b = call.operand<const Y>(1) + kernel.start_of_b(call.extents, matrix);
        alignas(64) std::int32_t own[rows_of_task];
        std::int32_t* const sums =
            kernel.is_result ? call.operand<std::int32_t>(2) + matrix * count + first : own;
        if (is_row) {
          const std::int64_t pitch = kernel.pitch_b;
          add<IntegerGroups<Y, X, A>>(b + first * pitch, pitch, a, depth, last - first, sums);
        } else {
          const std::int64_t pitch = kernel.pitch_a;
          add<IntegerGroups<X, Y, A>>(a + first * pitch, pitch, b, depth, last - first, sums);
        }
        if (kernel.is_result) continue;
        finish_vector<std::int32_t, A>(call, kernel, matrix, is_row, first, last, sums);
      }
    });
  }

 private:
  /// The sums of `count` rows of a matrix m times a vector x, by a Rule of which m is the left
  /// side. The rows lie `pitch` elements apart.
  template <class Rule, class M, class V>
  [[gnu::noinline]] static void add(const M* m, std::int64_t pitch, const V* x, std::int64_t depth,
                                    std::int64_t count, std::int32_t* out) {
    const std::int32_t start = start_of<Rule>(x, depth);
    std::int64_t i = 0;
    for (; i + together <= count; i += together) {
      add_rows<Rule, together>(m + i * pitch, pitch, x, depth, start, out + i);
    }
    for (; i < count; ++i) add_rows<Rule, 1>(m + i * pitch, pitch, x, depth, start, out + i);
  }
  template <class Rule, int R, class M, class V>
  [[gnu::flatten]] static void add_rows(const M* m, std::int64_t pitch, const V* x,
                                        std::int64_t depth, std::int32_t start, std::int32_t* out) {
    Sums sum[R];
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { sum[i] = Sums(0); });
    const Words flip(Rule::is_flipped ? 0x80808080u : 0u);
    std::int64_t k = 0;
    for (; k + line <= depth; k += line) {
      const Words right = words_at(x + k);
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        sum[i] = Rule::add(sum[i], words_at(m + i * pitch + k) ^ flip, right);
      });
    }
    if (k < depth) {  // the vector has zeros behind its last element
      const int rest = static_cast<int>(depth - k);
      const Words right = words_at(x + k, rest);
      unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        sum[i] = Rule::add(sum[i], words_at(m + i * pitch + k, rest) ^ flip, right);
      });
    }
    // Sums wrap around.
#if defined(__AVX512F__)
    if constexpr (R == 16) {
      const Sums all = lane_sums(sum) + Sums(start);
      std::memcpy(out, &all.v, sizeof all.v);
      return;
    }
#endif
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      out[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(start) +
                                         static_cast<std::uint32_t>(total(sum[i])));
    });
  }
  /// The number that all sums begin with.
  template <class Rule, class V>
  static std::int32_t start_of(const V* x, std::int64_t depth) {
    if constexpr (Rule::has_starts) {
      Sums sum(0);
      const Words ones(0x01010101u);
      std::int64_t k = 0;
      for (; k + line <= depth; k += line) sum = Rule::add(sum, ones, words_at(x + k));
      if (k < depth) {
        sum = Rule::add(sum, ones, words_at(x + k, static_cast<int>(depth - k)));
      }
      return total(Rule::start(sum));
    } else {
      return 0;
    }
  }
  /// The sum of the lanes: of halves that are added, again and again.
  template <int N>
  TYPEFLOW_INLINE static std::int32_t total(const Vector<std::int32_t, N>& x) {
    if constexpr (N == 1) {
      return x.v[0];
    } else {
      struct {
        Vector<std::int32_t, N / 2> low, high;
      } halves;
      std::memcpy(&halves, &x.v, sizeof x.v);
      return total(halves.low + halves.high);
    }
  }

  template <class T>
  TYPEFLOW_INLINE static Words words_at(const T* from) {
    Words r;
    std::memcpy(&r.v, from, sizeof r.v);
    return r;
  }
  /// The first `count` bytes, at least one, with zeros behind them.
  template <class T>
  TYPEFLOW_INLINE static Words words_at(const T* from, int count) {
    const auto bytes =
        load_part<std::uint8_t, line>(reinterpret_cast<const std::uint8_t*>(from), count);
    Words r;
    std::memcpy(&r.v, &bytes.v, sizeof r.v);
    return r;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
