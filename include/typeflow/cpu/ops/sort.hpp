// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/sort.hpp. Elements become keys, unsigned integers in the same order.
// These are sorted with their positions by their bytes, the last byte first (LSD radix sort), so
// equal keys stay in the order of positions.
//
// If few of many elements are wanted, they are selected first. Groups of elements, lanes of
// vectors, each have a largest element; elements less than the k-th of these are none of the k
// largest. No two elements are equal in the required order, so every method gives the same result.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/index/sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

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

/// Puts positions of elements of T in order.
template <class A, class T, bool Ascending>
class Sorter {
 public:
  /// The positions [begin, end) of a row, at `order`.
  void sort(const T* row, std::int64_t begin, std::int64_t end, std::int32_t* order) {
    items_.clear();
    for (std::int64_t i = begin; i < end; ++i) add(row, i);
    write(order, end - begin);
  }
  /// The first `count` positions of a row of this length.
  void choose(const T* row, std::int32_t* order, std::int64_t count, std::int64_t length) {
    const std::int64_t vectors = length / N;
    const std::int64_t groups = std::max<std::int64_t>(2, (4 * count + N - 1) / N);  // vectors
    if (Ascending || groups * 4 > vectors) {
      items_.clear();
      for (std::int64_t i = 0; i < length; ++i) add(row, i);
    } else {
      filter(row, count, length, groups);
    }
    write(order, count);
  }

 private:
  using Key = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;
  struct Item {
    Key key;
    std::uint32_t position;
    bool operator<(const Item& other) const {
      return key != other.key ? key < other.key : position < other.position;
    }
  };
  static constexpr int few = 48;  ///< items that are sorted by comparing

  using L = Lanes<(sizeof(T) > 4), A>;
  static constexpr int N = L::size;
  using Values = Comparable<L, A, T>;
  using C = typename Values::value_type;

  static Key key_of(T element) {
    constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1));
    Key key;
    if constexpr (is_batch<T>) {
      const auto x = static_cast<Computed<T>>(element) + Computed<T>(0);  // 0 for -0
      key = std::bit_cast<Key>(x);
      key ^= (key & sign) != 0 ? static_cast<Key>(~Key(0)) : sign;
      if (x != x) key = static_cast<Key>(~Key(0));
    } else {
      key = static_cast<Key>(element) ^ (std::is_signed_v<T> ? sign : Key(0));
    }
    return Ascending ? key : static_cast<Key>(~key);
  }
  void add(const T* row, std::int64_t i) {
    items_.push_back(Item{key_of(row[i]), static_cast<std::uint32_t>(i)});
  }

  /// Sorts the items and writes the first positions.
  void write(std::int32_t* order, std::int64_t count) {
    const Item* const sorted = sorted_items();
    for (std::int64_t i = 0; i < count; ++i) {
      order[i] = static_cast<std::int32_t>(sorted[i].position);
    }
  }
  const Item* sorted_items() {
    const std::size_t n = items_.size();
    if (n <= few) {
      std::sort(items_.begin(), items_.end());
      return items_.data();
    }
    other_.resize(std::max(n, other_.size()));
    constexpr int digits = sizeof(Key);
    std::uint32_t counts[digits][256] = {};
    for (const Item& item : items_) {
      for (int d = 0; d < digits; ++d) ++counts[d][item.key >> 8 * d & 255u];
    }
    Item* from = items_.data();
    Item* to = other_.data();
    for (int d = 0; d < digits; ++d) {
      std::uint32_t* const place = counts[d];
      if (place[from->key >> 8 * d & 255u] == n) continue;  // all have the same digit
      std::uint32_t next = 0;
      for (int i = 0; i < 256; ++i) next += std::exchange(place[i], next);
      for (std::size_t i = 0; i < n; ++i) to[place[from[i].key >> 8 * d & 255u]++] = from[i];
      std::swap(from, to);
    }
    return from;
  }

  /// Makes items of elements that include the `count` largest. Group i is lane i % N of the vectors
  /// i / N, i / N + groups, ...
  void filter(const T* row, std::int64_t count, std::int64_t length, std::int64_t groups) {
    const std::int64_t end = length / N * N;
    largest_.resize(static_cast<std::size_t>(groups * lanes));
    for (std::int64_t i = 0, group = 0; i < end; i += N) {
      C* const at = largest_.data() + group * lanes;
      const Values x = comparable(row + i);
      if (i < groups * N) {
        x.store_unaligned(at);
      } else {
        const Values y = Values::load_unaligned(at);
        select(y < x, x, y).store_unaligned(at);
      }
      group = group + 1 == groups ? 0 : group + 1;
    }
    for (std::int64_t group = 1; N < lanes && group < groups; ++group) {  // unused lanes out
      std::copy_n(largest_.data() + group * lanes, N, largest_.data() + group * N);
    }
    const auto bound = largest_.begin() + (count - 1);
    std::nth_element(largest_.begin(), bound, largest_.begin() + groups * N, std::greater<>());
    const C least = *bound;
    items_.clear();
    for (std::int64_t i = 0; i < end; i += N) {
      const Values x = comparable(row + i);
      if (xsimd::all(x < Values(least))) continue;
      C lane[lanes];
      x.store_unaligned(lane);
      for (int k = 0; k < N; ++k) {
        if (!(lane[k] < least)) add(row, i + k);
      }
    }
    for (std::int64_t i = end; i < length; ++i) add(row, i);
  }
  static constexpr int lanes = static_cast<int>(Values::size);  // more than N for floats as doubles

  /// A number in the order of the elements, but NaN is as large as infinity.
  static Values comparable(const T* at) {
    const Values x = compared<L, A, T>(L::load(at));
    if constexpr (is_batch<T>) {
      return select(x == x, x, Values(std::numeric_limits<C>::infinity()));
    } else {
      return x;
    }
  }

  std::vector<Item> items_;
  std::vector<Item> other_;
  std::vector<C> largest_;  // the largest of each group
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
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / length);
    const bool one_by_one = rows < 4 && length == count && length > 2 * chunk_size;
    for (std::int64_t row = 0; one_by_one && row < rows; ++row) {
      sort_parts<A, T, Ascending>(x + row * length, indices + row * count, length, call);
    }
    parallel(call, rows, grain, [&](std::int64_t begin, std::int64_t end) {
      Sorter<A, T, Ascending> sorter;
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const elements = x + row * length;
        std::int32_t* const order = indices + row * count;
        if (!one_by_one) sorter.choose(elements, order, count, length);
        for (std::int64_t i = 0; i < count; ++i) values[row * count + i] = elements[order[i]];
      }
    });
  }

  /// Merges [first, middle) and [middle, last), both sorted. (libstdc++'s std::inplace_merge uses
  /// deprecated parts of it, which clang reports.)
  template <class B>
  static void merge(std::int32_t* first, const std::int32_t* middle, const std::int32_t* last,
                    const B& before) {
    const std::vector<std::int32_t> left(static_cast<const std::int32_t*>(first), middle);
    for (const std::int32_t x : left) {
      while (middle != last && before(*middle, x)) *first++ = *middle++;
      *first++ = x;
    }
  }

  /// Sorts a long row by several threads: parts are sorted, then merged two by two.
  template <class A, class T, bool Ascending>
  static void sort_parts(const T* row, std::int32_t* order, std::int64_t length,
                         const KernelCall& call) {
    parallel(call, (length + chunk_size - 1) / chunk_size, 1,
             [&](std::int64_t begin, std::int64_t end) {
               Sorter<A, T, Ascending> sorter;
               for (std::int64_t part = begin; part < end; ++part) {
                 const std::int64_t first = part * chunk_size;
                 sorter.sort(row, first, std::min(first + chunk_size, length), order + first);
               }
             });
    const Before<A, T, Ascending> before{row};
    const auto at = [&](std::int64_t i) { return order + std::min(i, length); };
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

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
