// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/sort.hpp. Elements become keys, unsigned integers in the same order. If
// few elements of long rows are wanted, they are selected, and only these are sorted.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/radix_select.hpp"
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
  const std::uint32_t* order;     ///< positions in their rows, or among the chosen ones
  const std::uint32_t* selected;  ///< the positions of these in their rows; null: all are chosen
  T* values;
  std::int32_t* positions;
  std::int64_t length;
  std::int64_t count;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    Index rest = i;
    const std::int64_t place = next_digit(rest, count);
    const auto row = static_cast<std::int64_t>(rest);
    auto position =
        static_cast<std::int64_t>(order[row * (selected == nullptr ? length : count) + place]);
    if (selected != nullptr) position = static_cast<std::int64_t>(selected[row * count + position]);
    values[i] = x[row * length + position];
    positions[i] = static_cast<std::int32_t>(position);
  }
};

/// Whether the first elements of rows are selected before they are sorted. A block sorts several
/// short rows at once. If most elements are chosen, selecting them saves nothing.
constexpr bool selects(std::int64_t length, std::int64_t count) {
  return length > short_row && count <= length / 4;
}

/// The parts of the workspace for selecting and sorting, by their first bytes.
template <class Key>
struct SelectPlaces {
  std::int64_t keys;
  std::int64_t positions;
  std::int64_t counts;
  std::int64_t end;

  explicit SelectPlaces(const SelectShape& shape) {
    const auto after = [](std::int64_t place, std::int64_t bytes) {
      return checked_sum(checked_sum(place, bytes), 15) / 16 * 16;
    };
    const std::int64_t items = checked_product(shape.rows, shape.count);
    keys = after(0, sort_workspace<Key>(shape.rows, shape.count));
    positions = after(keys, checked_product(items, static_cast<std::int64_t>(sizeof(Key))));
    counts = after(positions, checked_product(items, std::int64_t{sizeof(std::uint32_t)}));
    end = after(counts, select_workspace<Key>(shape));
  }
};

template <>
struct kernel_of<ops::TopK> {
  static std::int64_t workspace(const Tensor* in, const Tensor* out) {
    return size_of(in->dtype) > 4 ? workspace_of<std::uint64_t>(*in, *out)
                                  : workspace_of<std::uint32_t>(*in, *out);
  }
  template <class T>
  static void run(const ops::TopK& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    using Key = SortKey<T>;
    const std::int64_t length = in->extents.back();
    const std::int64_t count = out->extents.back();
    if (count > length) return call.fail({1, {count, length}});
    if (out->size() == 0) return;
    const std::int64_t rows = out->size() / count;
    const SortKeys<T> keys{static_cast<const T*>(in->data), op.ascending != 0};
    SortedRows<Key> sorted{};
    const std::uint32_t* selected = nullptr;
    if (selects(length, count)) {
      const SelectShape shape(rows, length, count, sort_bits<T>);
      const SelectPlaces<Key> places(shape);
      auto* const memory = static_cast<std::byte*>(call.workspace);
      auto* const chosen = reinterpret_cast<Key*>(memory + places.keys);
      auto* const positions = reinterpret_cast<std::uint32_t*>(memory + places.positions);
      select_rows(call, keys, shape, chosen, positions, memory + places.counts);
      sorted = sort_rows(call, StoredKeys<Key>{chosen}, rows, count, sort_bits<T>);
      selected = positions;
    } else {
      sorted = sort_rows(call, keys, rows, length, sort_bits<T>);
    }
    each(call, out->size(),
         WriteSorted<T>{keys.x, sorted.positions, selected, static_cast<T*>(out[0].data),
                        static_cast<std::int32_t*>(out[1].data), length, count});
  }

 private:
  template <class Key>
  static std::int64_t workspace_of(const Tensor& in, const Tensor& out) {
    const std::int64_t length = in.extents.back();
    const std::int64_t count = out.extents.back();
    const std::int64_t rows = length == 0 ? 0 : in.size() / length;
    if (!selects(length, count)) return sort_workspace<Key>(rows, length);
    return SelectPlaces<Key>(SelectShape(rows, length, count, 8 * int{sizeof(Key)})).end;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
