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

/// The key of each element. NaN is the largest number; -0 equals 0.
template <class T>
struct SortKeys {
  using Key = SortKey<T>;
  const T* x;
  bool ascending;

  TYPEFLOW_DEVICE Key operator()(std::int64_t i) const {
    constexpr Key sign = static_cast<Key>(Key(1) << (8 * sizeof(Key) - 1));
    const auto element = static_cast<Computed<T>>(x[i]);
    Key key;
    if constexpr (std::is_floating_point_v<Computed<T>>) {
      key = std::bit_cast<Key>(element + Computed<T>(0));  // 0 for -0
      key ^= (key & sign) != 0 ? static_cast<Key>(~Key(0)) : sign;
      if (element != element) key = static_cast<Key>(~Key(0));
    } else {
      key = static_cast<Key>(static_cast<Key>(element) ^ (std::is_signed_v<T> ? sign : Key(0)));
    }
    return ascending ? key : static_cast<Key>(~key);
  }
};

/// Writes result i: an element, and its position in the row.
template <class T>
struct WriteSorted {
  const T* x;
  const SortItem<SortKey<T>>* items;
  T* values;
  std::int32_t* positions;
  std::int64_t length;
  std::int64_t count;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    Index rest = i;
    const std::int64_t place = next_digit(rest, count);
    const std::int64_t row = static_cast<std::int64_t>(rest) * length;
    const auto position = static_cast<std::int64_t>(items[row + place].position);
    values[i] = x[row + position];
    positions[i] = static_cast<std::int32_t>(position);
  }
};

template <>
struct kernel_of<ops::TopK> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return size_of(in->dtype) > 4 ? sort_workspace<std::uint64_t>(1, in->size())
                                  : sort_workspace<std::uint32_t>(1, in->size());
  }
  template <class T>
  static void run(const ops::TopK& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t length = in->extents.back();
    const std::int64_t count = out->extents.back();
    if (count > length) return call.fail({1, {count, length}});
    if (out->size() == 0) return;
    const T* const x = static_cast<const T*>(in->data);
    const auto* const items =
        sort_rows(call, SortKeys<T>{x, op.ascending != 0}, out->size() / count, length);
    each(call, out->size(),
         WriteSorted<T>{x, items, static_cast<T*>(out[0].data),
                        static_cast<std::int32_t*>(out[1].data), length, count});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
