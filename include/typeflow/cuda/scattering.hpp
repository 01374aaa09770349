// SPDX-License-Identifier: Apache-2.0
#pragma once

// Combining slices of values with the slices of a target at their indices, without atomics.
//
// Indices are sorted with their positions, so that the values of an index are a run of neighbours.
// They are combined in the order of the indices, one after the other, which gives the bits of the
// processor. A thread has the runs that begin in a strip of places, for one element of the slices.
//
// Sums and extremes of long runs are cut into parts that threads combine at the same time. A run is
// cut at each multiple of the part's length that lies a part or more behind the run's first place.
// So a run of one part is never cut, and the order depends on the indices alone:
//
//   parts of 4, a run from place 3 to 13:   3 4 5 6 7 | 8 9 10 11 | 12 13

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/sorting.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/indexing.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

using IndexLoops = typeflow::detail::IndexLoops;

/// Operations whose runs can be cut: merge() combines values of one run with each other.
template <class O>
inline constexpr bool merges_values =
    std::is_same_v<O, ops::Add> || std::is_same_v<O, ops::Sub> || std::is_same_v<O, ops::Maximum> ||
    std::is_same_v<O, ops::Minimum>;

/// element := f(element, value) for two elements in memory.
template <class O>
struct FoldStep {
  O op;
  template <class T>
  TYPEFLOW_DEVICE T operator()(const T& element, const T& value) const {
    return apply_to(op, element, value);
  }

  static constexpr bool can_merge = merges_values<O>;
  static constexpr bool merges() { return can_merge; }
  /// A value for the element, made of two. (a - b) - c is a - (b + c).
  template <class T>
  TYPEFLOW_DEVICE T merge(const T& sum, const T& value) const {
    return apply_to(std::conditional_t<std::is_same_v<O, ops::Sub>, ops::Add, O>{}, sum, value);
  }

 private:
  template <class F, class T>
  TYPEFLOW_DEVICE static T apply_to(const F& f, const T& a, const T& b) {
    using C = Computed<T>;
    return static_cast<T>(f(static_cast<C>(a), static_cast<C>(b)));
  }
};
struct ReplaceStep {
  template <class T>
  TYPEFLOW_DEVICE T operator()(const T&, const T& value) const {
    return value;
  }

  static constexpr bool can_merge = false;
  static constexpr bool merges() { return can_merge; }
};

/// Indices as keys to sort. All indices that are skipped are alike.
struct IndexKeys {
  Indices indices;
  std::int64_t extent;

  TYPEFLOW_DEVICE std::uint64_t operator()(std::int64_t i) const {
    const std::int64_t index = indices[i];
    return is_inside(index, extent) ? static_cast<std::uint64_t>(index)
                                    : static_cast<std::uint64_t>(extent);
  }
};

/// Places of a strip. A thread loads what belongs to them at the same time.
inline constexpr int strip_length = 8;
/// The binary logarithm of the shortest part's length.
inline constexpr int shortest_part = 8;

/// The same of a part's length if there are so many indices. Parts are at most 16 times as many as
/// the places of one.
constexpr int part_shift(std::int64_t count) {
  int shift = shortest_part;
  while (count >> shift > std::int64_t{16} << shift) ++shift;
  return shift;
}

/// The runs of sorted indices, and the parts of long ones.
template <class T, class V, class Sum>
struct ScatterRuns {
  const V* values;
  T* target;
  SortedRows<std::uint64_t> sorted;  ///< indices and positions, a row for each batch
  IndexLoops loops;
  std::int64_t strips;  ///< of a row
  int shift;            ///< the binary logarithm of a part's length
  std::int64_t parts;   ///< of a row; 0: runs are not cut
  Sum* partial;         ///< (outer, parts, inner): what parts of cut runs come to

  /// The key in front of a row's first place, which no index has.
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};

  /// Whether a run is cut in front of part `number`.
  TYPEFLOW_DEVICE bool is_cut(std::int64_t row, std::int64_t number) const {
    const std::uint64_t* const keys = sorted.keys + row;
    return number > 0 && number < parts && keys[number << shift] == keys[(number - 1) << shift];
  }
  TYPEFLOW_DEVICE bool begins_part(std::int64_t place) const {
    return (place & ((std::int64_t{1} << shift) - 1)) == 0;
  }
};

/// Combines the runs, or the parts of runs, that begin in a strip. They may end behind it.
template <class T, class V, class Sum, class Step>
struct ScatterStrip {
  ScatterRuns<T, V, Sum> runs;
  Step step;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const IndexLoops& loops = runs.loops;
    const std::int64_t r = next_digit(at, loops.inner);
    const auto first = static_cast<std::uint32_t>(next_digit(at, runs.strips)) * strip_length;
    const auto outer = static_cast<std::int64_t>(at);
    const auto row = static_cast<std::int64_t>(at / static_cast<Index>(loops.middle)) * loops.count;
    const V* const values = runs.values + outer * loops.count * loops.inner + r;
    T* const target = runs.target + outer * loops.extent * loops.inner + r;
    const std::int64_t partial = outer * runs.parts * loops.inner + r;

    bool is_open = false;         // a run has begun in the strip, and has not ended
    bool is_part = false;         // it is a part, but not the run's first one
    std::uint32_t part_base = 0;  // the part's first place
    Sum sum{};
    TYPEFLOW_ROLLED
    for (std::uint32_t base = first; is_open || base == first; base += strip_length) {
      const bool is_strip = base == first;
      std::uint64_t key[strip_length];
      unsigned heads = 0;    // where runs or parts begin
      unsigned targets = 0;  // indices that are not skipped
      // Behind the row's end stands its last key, so that no load waits for a comparison.
      const std::uint32_t left = static_cast<std::uint32_t>(loops.count) - base;
      const int rest = left < strip_length ? static_cast<int>(left) : strip_length;
      const std::uint64_t* const own = runs.sorted.keys + (row + base);
      const std::uint32_t* const positions = runs.sorted.positions + (row + base);
      const std::uint64_t known = base > 0 ? own[-1] : runs.no_key;
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) key[j] = own[j < rest ? j : rest - 1];
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        const bool is_target = is_inside(static_cast<std::int64_t>(key[j]), loops.extent);
        const bool is_head = key[j] != (j > 0 ? key[j - 1] : known);
        if (is_target) targets |= 1u << j;
        if (is_head) heads |= 1u << j;
      }
      heads |= 1u << rest;  // the row's end, or the next strip
      targets &= (1u << rest) - 1;
      bool cuts = false;
      if constexpr (Step::can_merge) {
        cuts = runs.begins_part(base) && runs.is_cut(row, base >> runs.shift);
        if (cuts) heads |= 1u;
      }
      // In the strip, the places from the first head on; behind it, those in front of the first.
      const unsigned in_front = (heads & (~heads + 1)) - 1;
      const unsigned wanted = targets & (is_strip ? ~in_front : in_front);
      if (wanted == 0 && !is_open) return;

      std::uint32_t slice[strip_length];
      V value[strip_length];
      T element[strip_length];
      const unsigned starts = wanted & heads & ~(cuts ? 1u : 0u);
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        if ((starts >> j & 1u) != 0) {  // the key is in the first cache
          element[j] = target[static_cast<std::int64_t>(own[j]) * loops.inner];
        }
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) slice[j] = positions[j < rest ? j : rest - 1];
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        if ((wanted >> j & 1u) != 0) {
          value[j] = values[static_cast<std::int64_t>(slice[j]) * loops.inner];
        }
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        const bool is_head = (heads >> j & 1u) != 0;
        const bool is_cut = j == 0 && cuts;
        if (is_head && is_open) {
          if (is_part || is_cut) {
            const std::uint32_t number =
                is_part ? part_base >> runs.shift : (base >> runs.shift) - 1;
            runs.partial[partial + number * loops.inner] = sum;
          } else {  // the key is in the first cache
            target[static_cast<std::int64_t>(own[j - 1]) * loops.inner] = static_cast<T>(sum);
          }
          is_open = false;
        }
        if ((wanted >> j & 1u) == 0) continue;
        const auto next = static_cast<Sum>(value[j]);
        if (is_head) {
          is_open = true;
          is_part = is_cut;
          part_base = base;
          sum = is_cut ? next : step(static_cast<Sum>(element[j]), next);
        } else if constexpr (Step::can_merge) {
          sum = is_part ? step.merge(sum, next) : step(sum, next);
        } else {
          sum = step(sum, next);
        }
      }
    }
  }
};

/// Combines the parts of a run with each other if its first part has this number.
template <class T, class V, class Sum, class Step>
struct ScatterParts {
  ScatterRuns<T, V, Sum> runs;
  Step step;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const IndexLoops& loops = runs.loops;
    const std::int64_t r = next_digit(at, loops.inner);
    const std::int64_t number = next_digit(at, runs.parts);
    const auto outer = static_cast<std::int64_t>(at);
    const auto row = static_cast<std::int64_t>(at / static_cast<Index>(loops.middle)) * loops.count;
    if (!runs.is_cut(row, number + 1) || runs.is_cut(row, number)) return;
    const std::uint64_t* const keys = runs.sorted.keys + row;
    const std::uint64_t key = keys[number << runs.shift];
    if (!is_inside(static_cast<std::int64_t>(key), loops.extent)) return;
    const Sum* const partial = runs.partial + outer * runs.parts * loops.inner + r;
    Sum sum = partial[number * loops.inner];
    bool goes_on = true;
    TYPEFLOW_ROLLED
    for (std::int64_t base = number + 1; goes_on && base < runs.parts; base += strip_length) {
      Sum value[strip_length];
      bool belongs[strip_length];
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        belongs[j] = base + j < runs.parts && keys[(base + j) << runs.shift] == key;
        if (base + j < runs.parts) value[j] = partial[(base + j) * loops.inner];
      }
      TYPEFLOW_UNROLL
      for (int j = 0; j < strip_length; ++j) {
        if (belongs[j]) sum = step(sum, value[j]);
      }
      goes_on = belongs[strip_length - 1];
    }
    runs.target[(outer * loops.extent + static_cast<std::int64_t>(key)) * loops.inner + r] =
        static_cast<T>(sum);
  }
};

/// Bytes of workspace for scattering by these indices, if no run is cut.
inline std::int64_t scatter_workspace(const Tensor& indices) {
  return sort_workspace<std::uint64_t>(indices.size());
}
/// The same if long runs of values may be cut.
inline std::int64_t fold_workspace(const Tensor& indices, const Tensor& values) {
  // Rows of more indices than a part has n / length + 1 parts at most, so at most 2 n / length.
  const std::int64_t elements = values.size() >> (shortest_part - 1);
  constexpr std::int64_t padding = sizeof(std::uint64_t);
  return checked_sum(scatter_workspace(indices),
                     checked_sum(checked_product(elements, size_of(values.dtype)), padding));
}

/// step(element, value) for the elements of the slice at each index and of the index's slice of
/// values, in the order of the indices. Sum: the type in which an element takes its values.
/// Nothing is written if `found`, unless it is null, has a mistake. If step.merges(), the workspace
/// is that of fold_workspace.
template <class Sum, class T, class V, class Step>
void scatter_slices(const KernelCall& call, const IndexLoops& loops, const Tensor& indices,
                    const V* values, T* target, const Failure* found, const Step& step) {
  const std::int64_t outer = loops.shared * loops.middle;
  if (outer * loops.count * loops.inner == 0) return;
  const auto most =
      static_cast<std::uint64_t>(loops.extent);  // the key of indices that are skipped
  const int bits = std::max(1, static_cast<int>(std::bit_width(most)));
  ScatterRuns<T, V, Sum> runs{};
  runs.values = values;
  runs.target = target;
  runs.sorted =
      sort_rows(call, IndexKeys{Indices(indices), loops.extent}, loops.shared, loops.count, bits);
  runs.loops = loops;
  runs.strips = (loops.count + strip_length - 1) / strip_length;
  runs.shift = part_shift(loops.count);
  if (step.merges() && loops.count >> runs.shift > 0) {
    runs.parts = ((loops.count - 1) >> runs.shift) + 1;
    const std::int64_t behind = (scatter_workspace(indices) + 7) / 8 * 8;
    runs.partial = reinterpret_cast<Sum*>(static_cast<std::byte*>(call.workspace) + behind);
  }
  each_unless(call, found, outer * runs.strips * loops.inner,
              ScatterStrip<T, V, Sum, Step>{runs, step});
  if constexpr (Step::can_merge) {
    if (runs.parts > 0) {
      each_unless(call, found, outer * runs.parts * loops.inner,
                  ScatterParts<T, V, Sum, Step>{runs, step});
    }
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
