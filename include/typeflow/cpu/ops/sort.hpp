// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/sort.hpp: positions are put in order where the result has them, then the
// values follow. Since no two elements are equal in that order, any way to find it gives the same.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/index/sort.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::simd {

/// Whether position i of a row comes before position j. (A: code of its own for each instruction
/// set.)
template <class A, class T, bool Ascending>
struct Before {
  const T* row;
  bool operator()(std::int32_t i, std::int32_t j) const {
    const auto x = static_cast<Computed<T>>(row[i]);
    const auto y = static_cast<Computed<T>>(row[j]);
    return detail::in_order(x, i, y, j, Ascending);
  }
};

template <>
struct kernel_of<ops::TopK> {
  template <class A, class T>
  static void run(const ops::TopK& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (op.ascending != 0) {
      rows<A, T, true>(in, out, call);
    } else {
      rows<A, T, false>(in, out, call);
    }
  }

 private:
  template <class A, class T, bool Ascending>
  static void rows(const Tensor* in, const Tensor* out, const KernelCall& call) {
    const std::int64_t length = in->extents.back();
    const std::int64_t count = out->extents.back();
    if (count > length) return call.fail({1, {count, length}});
    if (count == 0) return;
    const std::int64_t rows = out->size() / count;
    const T* const x = static_cast<const T*>(in->data);
    T* const values = static_cast<T*>(out[0].data);
    std::int32_t* const indices = static_cast<std::int32_t*>(out[1].data);
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / 4 / length);
    const bool one_by_one = rows < 4 && length == count && length > 2 * chunk_size;
    for (std::int64_t row = 0; one_by_one && row < rows; ++row) {
      sort_parts(Before<A, T, Ascending>{x + row * length}, indices + row * count, length, call);
    }
    parallel(call, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const Before<A, T, Ascending> before{x + row * length};
        std::int32_t* const order = indices + row * count;
        if (!one_by_one) choose(before, order, count, length);
        for (std::int64_t i = 0; i < count; ++i) values[row * count + i] = before.row[order[i]];
      }
    });
  }

  /// The first `count` positions in order, of so many.
  template <class B>
  static void choose(const B& before, std::int32_t* order, std::int64_t count,
                     std::int64_t length) {
    std::int32_t* const end = order + count;
    std::iota(order, end, std::int32_t{0});
    if (count == length) {
      std::sort(order, end, before);
      return;
    }
    std::make_heap(order, end, before);  // the last one in order on top
    for (std::int64_t i = count; i < length; ++i) {
      if (!before(static_cast<std::int32_t>(i), *order)) continue;
      std::pop_heap(order, end, before);
      end[-1] = static_cast<std::int32_t>(i);
      std::push_heap(order, end, before);
    }
    std::sort_heap(order, end, before);
  }

  /// Merges [first, middle) and [middle, last), both in order. (std::inplace_merge of libstdc++ is
  /// built on what it has deprecated, which clang reports.)
  template <class B>
  static void merge(std::int32_t* first, const std::int32_t* middle, const std::int32_t* last,
                    const B& before) {
    const std::vector<std::int32_t> left(static_cast<const std::int32_t*>(first), middle);
    for (const std::int32_t x : left) {
      while (middle != last && before(*middle, x)) *first++ = *middle++;
      *first++ = x;
    }
  }

  /// A long row by several threads: parts are sorted, then merged two by two.
  template <class B>
  static void sort_parts(const B& before, std::int32_t* order, std::int64_t length,
                         const KernelCall& call) {
    std::iota(order, order + length, std::int32_t{0});
    const auto at = [&](std::int64_t i) { return order + std::min(i, length); };
    parallel(call, (length + chunk_size - 1) / chunk_size, 1,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t part = begin; part < end; ++part) {
                 std::sort(at(part * chunk_size), at((part + 1) * chunk_size), before);
               }
             });
    for (std::int64_t half = chunk_size; half < length; half *= 2) {
      parallel(call, (length + 2 * half - 1) / (2 * half), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t pair = begin; pair < end; ++pair) {
                   const std::int64_t first = 2 * half * pair;
                   merge(at(first), at(first + half), at(first + 2 * half), before);
                 }
               });
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::simd
