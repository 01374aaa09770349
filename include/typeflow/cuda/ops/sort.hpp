// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/sort.hpp. Elements become keys, unsigned integers in the same order.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/sorting.hpp"
#include "typeflow/ops/index/sort.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T>
using SortKey = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;
/// Bits of a key: those of the element.
template <class T>
inline constexpr int sort_bits = static_cast<int>(8 * sizeof(T));

/// The key of each element. NaN is the largest number; -0 equals 0.
template <class T>
struct SortKeys {
  using Key = SortKey<T>;
  const T* x;
  bool ascending;

  TYPEFLOW_DEVICE Key operator()(std::int64_t i) const {
    constexpr auto sign = static_cast<Key>(Key(1) << (sort_bits<T> - 1));
    constexpr auto all = static_cast<Key>(sign | (sign - 1));
    const T element = x[i];
    Key key;
    if constexpr (typeflow::detail::is_half<T> || std::is_floating_point_v<T>) {
      const auto number = static_cast<Computed<T>>(element);
      key = bits_of(element);
      if (number == Computed<T>(0)) key = 0;
      key ^= (key & sign) != 0 ? all : sign;
      if (number != number) key = all;
    } else {
      key = static_cast<Key>(static_cast<Key>(element) ^ (std::is_signed_v<T> ? sign : Key(0)));
      key &= all;
    }
    return ascending ? key : static_cast<Key>(key ^ all);
  }

 private:
  static constexpr Key bits_of(T element) {
    if constexpr (typeflow::detail::is_half<T>) {
      return element.bits;
    } else {
      return std::bit_cast<Key>(element);
    }
  }
};

/// Writes result i: an element, and its position in the row.
template <class T>
struct WriteSorted {
  const T* x;
  const std::uint32_t* order;  ///< positions in their rows
  T* values;
  std::int32_t* positions;
  std::int64_t length;
  std::int64_t count;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    Index rest = i;
    const std::int64_t place = next_digit(rest, count);
    const std::int64_t row = static_cast<std::int64_t>(rest) * length;
    const auto position = static_cast<std::int64_t>(order[row + place]);
    values[i] = x[row + position];
    positions[i] = static_cast<std::int32_t>(position);
  }
};

template <>
struct kernel_of<ops::TopK> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t length = in->extents.back();
    const std::int64_t rows = length == 0 ? 0 : in->size() / length;
    return size_of(in->dtype) > 4 ? sort_workspace<std::uint64_t>(rows, length)
                                  : sort_workspace<std::uint32_t>(rows, length);
  }
  template <class T>
  static void run(const ops::TopK& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t length = in->extents.back();
    const std::int64_t count = out->extents.back();
    if (count > length) return call.fail({1, {count, length}});
    if (out->size() == 0) return;
    const T* const x = static_cast<const T*>(in->data);
    const auto sorted = sort_rows(call, SortKeys<T>{x, op.ascending != 0}, out->size() / count,
                                  length, sort_bits<T>);
    each(call, out->size(),
         WriteSorted<T>{x, sorted.positions, static_cast<T*>(out[0].data),
                        static_cast<std::int32_t*>(out[1].data), length, count});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
