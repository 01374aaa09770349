// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/gather.hpp and gather_nd.hpp. Indices are checked before anything is
// written. Threads share gathering by slices. They share scattering along the axes outside and
// inside of the indexed one, where no two indices meet. So every element adds up in the order of
// the indices.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/index/gather_nd.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// False, and reports it, if an index is out of range and not skipped, or out of order.
inline bool check_indices(const KernelCall& call, Indexing indexing, const Tensor& indices,
                          std::int64_t extent) {
  Failure wrong;
  visit_integer(indices.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const index = static_cast<const T*>(indices.data);
    const std::int64_t count = indices.size();
    using U = typename std::conditional_t<std::is_same_v<T, bool>, std::type_identity<T>,
                                          std::make_unsigned<T>>::type;
    U largest = 0;  // negative indices wrap around to large ones
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, static_cast<U>(index[i]));
    const bool inside = count == 0 || (largest <= static_cast<U>(std::numeric_limits<T>::max()) &&
                                       largest < static_cast<std::uint64_t>(extent));
    if (inside && !detail::rule_of(indexing).sorted) return;
    wrong = detail::find_wrong_index(
        indexing, [&](std::int64_t i) { return detail::to_index(index[i]); }, count, extent);
  });
  if (wrong.what != 0) call.fail(wrong);
  return wrong.what == 0;
}

/// Indices as std::int64_t, from any integer type, some at a time.
struct IndexBlock {
  static constexpr std::int64_t size = 256;
  std::int64_t at[size];

  void load(const Tensor& indices, std::int64_t first, std::int64_t count) {
    visit_integer(indices.dtype, [&](auto zero) {
      const auto* const from = static_cast<const decltype(zero)*>(indices.data) + first;
      for (std::int64_t i = 0; i < count; ++i) at[i] = detail::to_index(from[i]);
    });
  }
};
constexpr bool is_inside(std::int64_t index, std::int64_t extent) {
  return static_cast<std::uint64_t>(index) < static_cast<std::uint64_t>(extent);
}

template <>
struct kernel_of<ops::Gather> {
  template <class A>
  static void run(const ops::Gather& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Loops loops = detail::index_loops(in[0].extents, in[1].extents, op.axis, op.batch_dims);
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    const std::int64_t size = loops.inner * size_of(in->dtype);
    if (size == 0) return;
    const auto& rule = detail::rule_of(op.indexing);
    visit_bytes(size, [&](auto bytes) {
      if constexpr (!std::is_same_v<decltype(bytes), std::int64_t>) {
        if (!rule.skips_negative && !rule.skips_large) {
          if (in[1].dtype == DType::int32) {
            return copy_elements<bytes, std::int32_t>(loops, in, out, call);
          }
          if (in[1].dtype == DType::int64) {
            return copy_elements<bytes, std::int64_t>(loops, in, out, call);
          }
        }
      }
      copy(loops, bytes, in, out, call);
    });
  }

 private:
  using Loops = detail::IndexLoops;

  /// Copies slices of a single element at indices of type I, none of which is out of range.
  template <std::int64_t Size, class I>
  static void copy_elements(const Loops& loops, const Tensor* in, const Tensor* out,
                            const KernelCall& call) {
    const auto* const x = static_cast<const std::byte*>(in->data);
    const auto* const indices = static_cast<const I*>(in[1].data);
    const std::int64_t slices = loops.shared * loops.middle * loops.count;
    parallel(call, slices, grain_of_cost(16 + Size), [&](std::int64_t begin, std::int64_t end) {
      std::int64_t first = begin % loops.count;
      const std::int64_t outer = begin / loops.count;
      const auto* from = x + outer * loops.extent * Size;
      const auto* index = indices + outer / loops.middle * loops.count;
      std::int64_t middle = outer % loops.middle;
      for (std::int64_t count = 0; begin < end; begin += count, first = 0) {
        count = std::min(end - begin, loops.count - first);
        gather_elements<Size>(from, index + first, count,
                              static_cast<std::byte*>(out->data) + begin * Size);
        from += loops.extent * Size;
        if (++middle == loops.middle) {
          middle = 0;
          index += loops.count;
        }
      }
    });
  }
  /// As many elements a store as 32 bytes hold: stores to lines that are in no cache wait, and
  /// there is room for few.
  template <std::int64_t Size, class I>
  static void gather_elements(const std::byte* from, const I* index, std::int64_t count,
                              std::byte* to) {
    constexpr auto bytes = static_cast<std::size_t>(Size);
    constexpr std::int64_t together = 32 / Size;
    std::int64_t k = 0;
    for (; k + together <= count; k += together, to += 32) {
      Bytes<32> x;
      for (std::int64_t i = 0; i < together; ++i) {
        std::memcpy(x.byte + i * Size, from + index[k + i] * Size, bytes);
      }
      std::memcpy(to, &x, sizeof x);
    }
    for (; k < count; ++k, to += Size) std::memcpy(to, from + index[k] * Size, bytes);
  }

  /// Copies the slices at n indices, and zeros for those out of range.
  template <class Size>
  static void copy_slices(const std::byte* from, std::int64_t extent, Size size,
                          const std::int64_t* index, std::int64_t n, std::byte* to) {
    std::uint64_t largest = 0;  // negative ones are larger than all extents
    for (std::int64_t k = 0; k < n; ++k) {
      largest = std::max(largest, static_cast<std::uint64_t>(index[k]));
    }
    if (largest < static_cast<std::uint64_t>(extent)) {
      constexpr std::int64_t ahead = 8;
      for (std::int64_t k = 0; k < n; ++k, to += size) {
        if (size >= 64 && k + ahead < n) fetch(from + index[k + ahead] * size, size);
        copy_slice(from + index[k] * size, size, to);
      }
      return;
    }
    for (std::int64_t k = 0; k < n; ++k, to += size) {
      if (is_inside(index[k], extent)) {
        std::memcpy(to, from + index[k] * size, static_cast<std::size_t>(size));
      } else {
        std::memset(to, 0, static_cast<std::size_t>(size));
      }
    }
  }
  /// Asks for a slice's first lines. (Those that follow come by themselves.)
  static void fetch(const std::byte* from, std::int64_t size) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(size, 256); i += 64) {
      __builtin_prefetch(from + i);
    }
  }
  [[gnu::noinline]] static void copy_long(const std::byte* from, std::int64_t size, std::byte* to) {
    copy_lines({from, 0}, {to, 0}, 1, size);
  }
  template <class Size>
  static void copy_slice(const std::byte* from, Size size, std::byte* to) {
    constexpr std::int64_t lane = 16;
    if constexpr (std::is_same_v<Size, std::int64_t>) {
      if (size > lane && size <= 8 * lane) {  // less than the call of memcpy takes
        for (std::int64_t i = 0; i + lane < size; i += lane) std::memcpy(to + i, from + i, lane);
        std::memcpy(to + size - lane, from + size - lane, lane);
        return;
      }
      if (size > few_lines && size <= short_run) return copy_long(from, size, to);
    }
    std::memcpy(to, from, static_cast<std::size_t>(size));
  }

  /// Copies slices of `size` bytes.
  template <class Size>
  static void copy(const Loops& loops, Size size, const Tensor* in, const Tensor* out,
                   const KernelCall& call) {
    const std::int64_t slices = loops.shared * loops.middle * loops.count;
    constexpr std::int64_t cost_of_index = 100;
    parallel(call, slices, grain_of_cost(cost_of_index + size),
             [&](std::int64_t begin, std::int64_t end) {
               IndexBlock index;
               std::int64_t outer = begin / loops.count;
               std::int64_t i = begin % loops.count;
               auto* to = static_cast<std::byte*>(out->data) + begin * size;
               for (std::int64_t count = 0; begin < end; begin += count) {
                 // Without axes in between, the indices of all slices lie side by side.
                 const std::int64_t block = std::min(end - begin, IndexBlock::size);
                 count = loops.middle == 1 ? block : std::min(block, loops.count - i);
                 index.load(in[1], outer / loops.middle * loops.count + i, count);
                 const auto* from =
                     static_cast<const std::byte*>(in->data) + outer * loops.extent * size;
                 for (std::int64_t k = 0; k < count;) {
                   const std::int64_t n = std::min(count - k, loops.count - i);
                   copy_slices(from, loops.extent, size, index.at + k, n, to);
                   k += n;
                   i += n;
                   to += n * size;
                   if (i == loops.count) {
                     i = 0;
                     ++outer;
                     from += loops.extent * size;
                   }
                 }
               }
             });
  }
};

template <>
struct kernel_of<ops::RowOffsets> {
  template <class A>
  static void run(const ops::RowOffsets& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (!check_indices(call, op.indexing, in[0], op.extent)) return;
    op.wide != 0 ? write<std::int64_t>(op, in, out) : write<std::int32_t>(op, in, out);
  }

 private:
  template <class T>
  static void write(const ops::RowOffsets& op, const Tensor* in, const Tensor* out) {
    visit_integer(in->dtype, [&](auto zero) {
      const auto* const index = static_cast<const decltype(zero)*>(in->data);
      T* const to = static_cast<T*>(out->data);
      const std::int64_t count = in->size();
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(detail::to_index(index[i]) * op.size);
      }
    });
  }
};

/// element := f(element, value), for N elements in registers.
template <std::int64_t N, class T, class F>
TYPEFLOW_INLINE void add_line(const T* value, T* slice, const F& f) {
  T given[N];
  T sums[N];
  std::memcpy(given, value, sizeof given);
  std::memcpy(sums, slice, sizeof sums);
#ifndef __CUDACC__  // nvcc does not know it
#pragma GCC unroll 1
#endif
  for (std::int64_t i = 0; i < N; ++i) sums[i] = f(sums[i], given[i]);
  std::memcpy(slice, sums, sizeof sums);
}
/// The same for `elements` of the slice at each of `count` indices, and of the index's slice of
/// values. Slices lie `inner` elements apart.
template <std::int64_t N, class T, class F>
[[gnu::noinline]] void add_slices(const std::int64_t* index, std::int64_t count,
                                  std::int64_t extent, std::int64_t inner, std::int64_t elements,
                                  const T* value, T* slices, const F& f) {
  if (elements == N) {
    for (std::int64_t k = 0; k < count; ++k, value += inner) {
      if (is_inside(index[k], extent)) add_line<N>(value, slices + index[k] * inner, f);
    }
    return;
  }
  for (std::int64_t k = 0; k < count; ++k, value += inner) {
    if (!is_inside(index[k], extent)) continue;
    T* const slice = slices + index[k] * inner;
    std::int64_t r = 0;
    for (; r + N <= elements; r += N) add_line<N>(value + r, slice + r, f);
    for (; r < elements; ++r) slice[r] = f(slice[r], value[r]);
  }
}
/// The same for the elements of the slice at each index and of the index's
/// slice of values, in the order of the indices.
template <class T, class F>
void scatter_slices(const detail::IndexLoops& loops, const Tensor& indices, const T* values,
                    T* target, const KernelCall& call, const F& f) {
  constexpr std::int64_t width = std::max<std::int64_t>(1, 64 / static_cast<int>(sizeof(T)));
  if (loops.count == 0) return;
  const std::int64_t columns = (loops.inner + width - 1) / width;  // a cache line wide
  constexpr std::int64_t cost_of_line = 128;                       // of a slice, at one index
  parallel(call, loops.shared * loops.middle * columns, grain_of_cost(loops.count * cost_of_line),
           [&](std::int64_t begin, std::int64_t end) {
             IndexBlock index;
             for (std::int64_t part = 0; begin < end; begin += part) {
               const std::int64_t outer = begin / columns;
               const std::int64_t column = begin % columns;
               part = std::min(end - begin, columns - column);
               const std::int64_t from = column * width;
               const std::int64_t to = std::min(loops.inner, from + part * width);
               const T* value = values + outer * loops.count * loops.inner;
               T* const slices = target + outer * loops.extent * loops.inner;
               for (std::int64_t i = 0; i < loops.count; i += IndexBlock::size) {
                 const std::int64_t count = std::min(IndexBlock::size, loops.count - i);
                 index.load(indices, outer / loops.middle * loops.count + i, count);
                 if (loops.inner == 1) {
                   for (std::int64_t k = 0; k < count; ++k, ++value) {
                     const std::int64_t at = index.at[k];
                     if (is_inside(at, loops.extent)) slices[at] = f(slices[at], *value);
                   }
                   continue;
                 }
                 add_slices<width>(index.at, count, loops.extent, loops.inner, to - from,
                                   value + from, slices + from, f);
                 value += count * loops.inner;
               }
             }
           });
}

/// An operation's body on single elements in memory.
template <class O, class T>
T apply_element(const O& op, const T& a, const T& b) {
  using C = detail::Computed<T>;
  return static_cast<T>(op(static_cast<C>(a), static_cast<C>(b)));
}

template <>
struct kernel_of<ops::ScatterSum> {
  template <class A, class T>
  static void run(const ops::ScatterSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto loops = detail::index_loops(out->extents, in[1].extents, op.axis, op.batch_dims);
    if (!check_indices(call, op.indexing, in[1], loops.extent)) return;
    T* const sums = static_cast<T*>(out->data);
    parallel(
        call, out->size(), grain_of_bytes(sizeof(T)),
        [&](std::int64_t begin, std::int64_t end) { std::fill(sums + begin, sums + end, T(0)); });
    scatter_slices(loops, in[1], static_cast<const T*>(in[0].data), sums, call,
                   [](const T& a, const T& b) { return apply_element(ops::Add{}, a, b); });
  }
};

template <>
struct kernel_of<ops::RavelIndex> {
  template <class A, class T>
  static void run(const ops::RavelIndex&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const T* const index = static_cast<const T*>(in->data);
    const auto at = [&](std::int64_t i) { return detail::to_index(index[i]); };
    auto* const positions = static_cast<std::int64_t*>(out->data);
    const std::int64_t rows = out->size();
    Failure wrong;
    for (std::int64_t row = 0; row < rows && wrong.what == 0; ++row) {
      positions[row] = ops::RavelIndex::position(row, at, in[1].extents, wrong);
    }
    if (wrong.what != 0) call.fail(wrong);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
