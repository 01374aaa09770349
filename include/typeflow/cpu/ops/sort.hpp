// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/sort.hpp. Elements become keys, unsigned integers in the same order. The
// upper 32 bits of a key and the element's position are sorted as one number of 64 bits. Elements
// of 8 bytes whose upper halves are equal are then sorted by the lower ones.
//
// If few of many elements are wanted, they are selected first. Groups of elements, lanes of
// vectors, each have a largest element; elements less than the k-th of these are none of the k
// largest. No two elements are equal in the required order, so every method gives the same result.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/sort_keys.hpp"
#include "typeflow/ops/index/sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Puts positions of elements of T in order.
template <class A, class T, bool Ascending>
class Sorter {
 public:
  /// Bytes of workspace for a row of this length.
  static std::int64_t bytes(std::int64_t length) {
    return checked_product(2 * static_cast<std::int64_t>(sizeof(std::uint64_t)), length);
  }
  /// The cost of a row (cost_of_part): some 2 ns for an element that is sorted, 0.2 ns for one that
  /// is only compared.
  static std::int64_t cost(std::int64_t count, std::int64_t length) {
    return selects(count, length) ? 20 * length + 200 * groups_of(count) * N : 200 * length;
  }
  /// For rows of this length.
  Sorter(void* workspace, std::int64_t length)
      : items_(static_cast<std::uint64_t*>(workspace)), spare_(items_ + length) {}

  /// The first `count` elements of a row of this length, and their positions.
  void choose(const T* row, T* values, std::int32_t* order, std::int64_t count,
              std::int64_t length) {
    const std::int64_t groups = groups_of(count);
    size_ = 0;
    if (!selects(count, length)) {
      add_all(row, 0, length);
      size_ = length;
    } else {
      filter(row, count, length, groups);
    }
    KeySorter::sort(items_, spare_, size_);
    sort_lower_halves(row, count);
    write(row, values, order, 0, count);
  }

  /// All elements of a long row, by several threads.
  void sort(const KernelCall& call, const T* row, T* values, std::int32_t* order,
            std::int64_t length) {
    size_ = length;
    parallel(call, length, chunk_size,
             [&](std::int64_t begin, std::int64_t end) { add_all(row, begin, end); });
    KeySorter::sort(call, items_, spare_, length);
    sort_lower_halves(row, length);
    parallel(call, length, chunk_size,
             [&](std::int64_t begin, std::int64_t end) { write(row, values, order, begin, end); });
  }

 private:
  using Key = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;

  /// The number of vectors whose lanes are groups, for the `count` largest of a row.
  static std::int64_t groups_of(std::int64_t count) {
    return std::max<std::int64_t>(2, (4 * count + N - 1) / N);
  }
  /// Whether the `count` first elements of a row are selected before they are sorted.
  static bool selects(std::int64_t count, std::int64_t length) {
    return !Ascending && groups_of(count) * 4 <= length / N;
  }

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
  static std::uint64_t upper_half(Key key) {
    if constexpr (sizeof(Key) > 4) {
      return key >> 32;
    } else {
      return key;
    }
  }
  static std::uint64_t item(std::uint64_t half, std::int64_t position) {
    return half << 32 | static_cast<std::uint64_t>(position);
  }
  static std::int32_t position(std::uint64_t item) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(item));
  }
  void add_all(const T* row, std::int64_t begin, std::int64_t end) {
    std::uint64_t* const items = items_;
    for (std::int64_t i = begin; i < end; ++i) items[i] = item(upper_half(key_of(row[i])), i);
  }
  void add(const T* row, std::int64_t i) { items_[size_++] = item(upper_half(key_of(row[i])), i); }

  /// Results [begin, end). Most elements are read off their keys, since they lie anywhere in the
  /// row.
  void write(const T* row, T* values, std::int32_t* order, std::int64_t begin,
             std::int64_t end) const {
    const std::uint64_t* const items = items_;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int32_t at = position(items[i]);
      order[i] = at;
      if constexpr (sizeof(Key) > 4) {
        values[i] = row[at];
      } else {
        const auto key = static_cast<Key>(items[i] >> 32);
        values[i] = has_one_element(key) ? element_of_key(key) : row[at];
      }
    }
  }
  /// Keys of zeros and NaN have several elements.
  static bool has_one_element(Key key) {
    if constexpr (!is_batch<T>) return true;
    return key != key_of(T(0)) && key != (Ascending ? static_cast<Key>(~Key(0)) : Key(0));
  }
  static T element_of_key(Key key) {
    constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1));
    if (!Ascending) key = static_cast<Key>(~key);
    if constexpr (is_batch<T>) {
      key ^= (key & sign) != 0 ? sign : static_cast<Key>(~Key(0));
      return static_cast<T>(std::bit_cast<Computed<T>>(key));
    } else {
      return static_cast<T>(key ^ (std::is_signed_v<T> ? sign : Key(0)));
    }
  }

  /// Puts sorted items with equal upper halves in order, as far as the first `count` need it.
  void sort_lower_halves(const T* row, std::int64_t count) {
    if constexpr (sizeof(Key) > 4) {
      for (std::int64_t begin = 0, end = 0; begin < count; begin = end) {
        const std::uint64_t half = items_[begin] >> 32;
        for (end = begin + 1; end < size_ && items_[end] >> 32 == half;) ++end;
        if (end == begin + 1) continue;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t at = position(items_[i]);
          items_[i] = item(static_cast<std::uint32_t>(key_of(row[at])), at);
        }
        KeySorter::sort(items_ + begin, spare_, end - begin);
        for (std::int64_t i = begin; i < end; ++i) items_[i] = item(half, position(items_[i]));
      }
    }
  }

  /// Makes items of elements that include the `count` largest. Group i is lane i % N of the vectors
  /// i / N, i / N + groups, ...
  void filter(const T* row, std::int64_t count, std::int64_t length, std::int64_t groups) {
    const std::int64_t end = length / N * N;
    C* const largest = reinterpret_cast<C*>(spare_);  // of each group
    for (std::int64_t i = 0, group = 0; i < end; i += N) {
      C* const at = largest + group * lanes;
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
      std::copy_n(largest + group * lanes, N, largest + group * N);
    }
    std::nth_element(largest, largest + (count - 1), largest + groups * N, std::greater<>());
    const C least = largest[count - 1];
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

  std::uint64_t* items_;
  std::uint64_t* spare_;
  std::int64_t size_ = 0;
};

template <>
struct kernel_of<ops::TopK> {
  /// Rows are shared out to so many parts, each with memory of its own.
  static std::int64_t parts_of(std::int64_t rows) { return std::min<std::int64_t>(rows, 16); }

  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t length = in->extents.back();
    std::int64_t rows = 1;
    for (const std::int64_t n : in->extents.first(in->extents.size() - 1)) rows *= n;
    return checked_product(parts_of(rows), Sorter<DefaultArch, float, true>::bytes(length));
  }

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
    using S = Sorter<A, T, Ascending>;
    const std::int64_t length = in->extents.back();
    const std::int64_t count = out->extents.back();
    if (count > length) return call.fail({1, {count, length}});
    if (out->size() == 0) return;
    const std::int64_t rows = out->size() / count;
    const T* const x = static_cast<const T*>(in->data);
    T* const values = static_cast<T*>(out[0].data);
    std::int32_t* const indices = static_cast<std::int32_t*>(out[1].data);
    std::byte* const workspace = static_cast<std::byte*>(call.workspace);
    if (rows < 4 && length == count && length > 2 * KeySorter::least_part) {
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t first = row * length;
        S(workspace, length).sort(call, x + first, values + first, indices + first, length);
      }
      return;
    }
    const std::int64_t parts = parts_of(rows);
    const std::int64_t cost = S::cost(count, length) * ((rows + parts - 1) / parts);
    parallel(call, parts, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
      S sorter(workspace + begin * S::bytes(length), length);
      for (std::int64_t row = rows * begin / parts; row < rows * end / parts; ++row) {
        sorter.choose(x + row * length, values + row * count, indices + row * count, count, length);
      }
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
