// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/gather.hpp and gather_nd.hpp.
//
// Indices are checked first. Wrong ones read zeros and write nothing, so kernels that follow find
// memory as it should be. Sums at indices add up in the order of the indices (scattering.hpp).
// Integers, whose sums don't depend on the order, are added atomically instead; with AtomicSums
// (cuda/atomic_sums.hpp), all numbers are.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/scattering.hpp"
#include "typeflow/ops/index/gather_nd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Whether an index is out of range and not skipped, or out of order.
struct WrongIndex {
  Indices indices;
  std::int64_t extent;
  bool skips_negative;
  bool skips_large;
  bool sorted;

  TYPEFLOW_DEVICE bool is_out(std::int64_t index) const {
    return (index < 0 && !skips_negative) || (index >= extent && !skips_large);
  }
  TYPEFLOW_DEVICE bool is_wrong(std::int64_t i) const {
    const std::int64_t index = indices[i];
    return is_out(index) || (sorted && i > 0 && index < indices[i - 1]);
  }
  TYPEFLOW_DEVICE Failure mistake(std::int64_t i) const {
    const std::int64_t index = indices[i];
    if (is_out(index)) return {1, {i, index, extent}};
    return {2, {i, index, indices[i - 1]}};
  }
};

/// Reports the first index that is out of range and not skipped, or out of order.
inline Failure* check_indices(const KernelCall& call, Indexing indexing, const Tensor& indices,
                              std::int64_t extent) {
  const typeflow::detail::IndexingRule& rule = typeflow::detail::rule_of(indexing);
  return find_mistake(
      call, indices.size(),
      WrongIndex{Indices(indices), extent, rule.skips_negative, rule.skips_large, rule.sorted});
}

/// Copies a unit of a slice, or zeros if its index is skipped.
template <int N>
struct GatherUnit {
  const Unit<N>* in;
  Unit<N>* out;
  Indices indices;
  IndexLoops loops;
  std::int64_t units;  ///< in a slice

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    Index rest = at;
    const std::int64_t unit = next_digit(rest, units);
    const std::int64_t i = next_digit(rest, loops.count);
    const auto outer = static_cast<std::int64_t>(rest);
    const auto shared = static_cast<std::int64_t>(rest / static_cast<Index>(loops.middle));
    const std::int64_t index = indices[shared * loops.count + i];
    out[at] = is_inside(index, loops.extent) ? in[(outer * loops.extent + index) * units + unit]
                                             : Unit<N>{};
  }
};

template <>
struct kernel_of<ops::Gather> {
  template <class>
  static void run(const ops::Gather& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const IndexLoops loops =
        typeflow::detail::index_loops(in[0].extents, in[1].extents, op.axis, op.batch_dims);
    check_indices(call, op.indexing, in[1], loops.extent);
    const std::int64_t bytes = loops.inner * size_of(in->dtype);  // of a slice
    const std::int64_t slices = loops.shared * loops.middle * loops.count;
    if (bytes == 0 || slices == 0) return;
    const std::int64_t unit =
        unit_of(address_of(in->data) | address_of(out->data) | static_cast<std::uint64_t>(bytes));
    visit_unit(unit, [&]<int N>(Unit<N>) {
      each(call, slices * (bytes / N),
           GatherUnit<N>{static_cast<const Unit<N>*>(in->data), static_cast<Unit<N>*>(out->data),
                         Indices(in[1]), loops, bytes / N});
    });
  }
};

// Sums at indices.

/// *at += value. Bytes around *at may change at the same time, if they are changed atomically or by
/// stores.
template <class T>
TYPEFLOW_DEVICE void add_atomically(T* at, T value) {
  if constexpr (sizeof(T) >= 4) {
    atomicAdd(at, value);
  } else {  // in the word that has the element
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto* const word = reinterpret_cast<unsigned*>(address - address % sizeof(unsigned));
    const auto shift = static_cast<unsigned>(8 * (address % sizeof(unsigned)));
    constexpr unsigned mask = sizeof(T) == 1 ? 0xffu : 0xffffu;
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    unsigned known = atomicAdd(word, 0u);
    for (;;) {
      const T old = std::bit_cast<T>(static_cast<Bits>(known >> shift));
      const T sum = static_cast<T>(static_cast<Computed<T>>(old) + static_cast<Computed<T>>(value));
      const unsigned next =
          (known & ~(mask << shift)) | static_cast<unsigned>(std::bit_cast<Bits>(sum)) << shift;
      const unsigned found = atomicCAS(word, known, next);
      if (found == known) return;
      known = found;
    }
  }
}

/// Adds an element of a slice to the sum at its index.
template <class T>
struct AtomicSum {
  const T* values;
  T* target;
  Indices indices;
  IndexLoops loops;
  bool subtracts;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const T value = values[at];
    const std::int64_t r = next_digit(at, loops.inner);
    const std::int64_t i = next_digit(at, loops.count);
    const auto outer = static_cast<std::int64_t>(at);
    const auto shared = static_cast<std::int64_t>(at / static_cast<Index>(loops.middle));
    const std::int64_t index = indices[shared * loops.count + i];
    if (!is_inside(index, loops.extent)) return;
    add_atomically(target + (outer * loops.extent + index) * loops.inner + r,
                   subtracts ? static_cast<T>(-static_cast<Computed<T>>(value)) : value);
  }
};

/// Elements that can be added atomically: their sums don't depend on the order.
template <class T>
inline constexpr bool adds_atomically = std::is_integral_v<T> && sizeof(T) >= 4;

/// The type in which AtomicSum adds: CUDA adds integers as words without a sign.
template <class T>
using AtomicNumber =
    std::conditional_t<!adds_atomically<T>, T,
                       std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>;

/// Adds the slices of values to those at their indices, or subtracts them. `Atomic`: in any order.
template <class T, bool Atomic>
void add_slices(const KernelCall& call, const IndexLoops& loops, const Tensor& indices,
                const Tensor& values, const Tensor& target, const Failure* found, bool subtracts) {
  if constexpr (Atomic || adds_atomically<T>) {
    using Word = AtomicNumber<T>;
    each_unless(
        call, found, loops.shared * loops.middle * loops.count * loops.inner,
        AtomicSum<Word>{static_cast<const Word*>(values.data), static_cast<Word*>(target.data),
                        Indices(indices), loops, subtracts});
  } else if (subtracts) {
    scatter_slices<T>(call, loops, indices, static_cast<const T*>(values.data),
                      static_cast<T*>(target.data), found, FoldStep<ops::Sub>{});
  } else {
    scatter_slices<T>(call, loops, indices, static_cast<const T*>(values.data),
                      static_cast<T*>(target.data), found, FoldStep<ops::Add>{});
  }
}

template <bool Atomic>
struct sum_at_indices_kernel {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return Atomic ? 0 : fold_workspace(in[1], in[0]);
  }
  template <class T>
  static void run(const ops::ScatterSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const IndexLoops loops =
        typeflow::detail::index_loops(out->extents, in[1].extents, op.axis, op.batch_dims);
    check_indices(call, op.indexing, in[1], loops.extent);
    fill_bytes(call, out->data, 0, out->size() * size_of(out->dtype));
    add_slices<T, Atomic>(call, loops, in[1], in[0], *out, nullptr, false);
  }
};
template <>
struct kernel_of<ops::ScatterSum> : sum_at_indices_kernel<false> {};

/// A row of coordinates as a position in a tensor.
struct RavelRow {
  Indices indices;
  std::int64_t* positions;
  std::int64_t extent[max_rank];
  int depth;

  /// The coordinate of a row that is outside of its axis; -1 if there is none.
  TYPEFLOW_DEVICE int wrong_axis(std::int64_t row) const {
    for (int k = 0; k < depth; ++k) {
      if (!is_inside(indices[row * depth + k], extent[k])) return k;
    }
    return -1;
  }
  TYPEFLOW_DEVICE bool is_wrong(std::int64_t row) const { return wrong_axis(row) >= 0; }
  TYPEFLOW_DEVICE Failure mistake(std::int64_t row) const {
    const int k = wrong_axis(row);
    return {1, {row, k, indices[row * depth + k], extent[k]}};
  }
  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index row) const {
    std::int64_t position = 0;
    for (int k = 0; k < depth; ++k) {
      position = position * extent[k] + indices[static_cast<std::int64_t>(row) * depth + k];
    }
    positions[row] = is_wrong(row) ? -1 : position;
  }
};

template <>
struct kernel_of<ops::RavelIndex> {
  template <class>
  static void run(const ops::RavelIndex&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    RavelRow ravel{Indices(in[0]), static_cast<std::int64_t*>(out->data), {}, 0};
    while (ravel.depth + 1 < static_cast<int>(in[1].extents.size())) {
      ravel.extent[ravel.depth] = in[1].extents[static_cast<std::size_t>(ravel.depth)];
      ++ravel.depth;
    }
    find_mistake(call, out->size(), ravel);
    each(call, out->size(), ravel);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
