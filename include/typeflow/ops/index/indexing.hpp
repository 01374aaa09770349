// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common parts of operations on indices: which indices they take, how these walk through a
// tensor, and the messages about an index that is out of range. See ops/index/gather.hpp.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/core/failure.hpp"
#include "typeflow/front/expr.hpp"
#include "typeflow/interpret/host_tensor.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The function for which an operation uses indices. It decides what messages call it and its
/// indices, and what happens to an index outside of [0, extent). (64 bits, so that attributes have
/// no padding.)
enum class Indexing : std::uint64_t {
  gather,
  gather_nd,
  scatter_nd,
  scatter_nd_add,
  scatter_nd_sub,
  scatter_nd_update,
  tensor_scatter_nd_add,
  tensor_scatter_nd_sub,
  tensor_scatter_nd_min,
  tensor_scatter_nd_max,
  tensor_scatter_nd_update,
  scatter_add,
  scatter_sub,
  scatter_mul,
  scatter_div,
  scatter_max,
  scatter_min,
  scatter_update,
  segment_sum,
  unsorted_segment_sum,
  segment_prod,
  segment_max,
  segment_min,
  segment_mean,
  unsorted_segment_prod,
  unsorted_segment_max,
  unsorted_segment_min,
  unsorted_segment_mean,
  unsorted_segment_sqrt_n,
  bincount,
  confusion_matrix,
  unravel_index,
  to_dense,
  sparse_coordinates,  ///< of other functions of sparse tensors
  embedding_lookup,
  embedding_ids,       ///< of embedding_lookup_sparse
  embedding_segments,  ///< the same
  crop_and_resize,
  candidates,  ///< of losses over sampled classes
  percentile,
  selection,  ///< positions that an operation found, -1 for none
};

namespace detail {

struct IndexingRule {
  std::string_view name;
  std::string_view index;
  bool skips_negative;  ///< reads zeros, adds nothing; otherwise an error
  bool skips_large;     ///< the same for an index >= extent
  bool sorted;          ///< an index smaller than the one before is an error
};
inline constexpr IndexingRule indexing_rules[] = {
    {"gather", "index", false, false, false},
    {"gather_nd", "index", false, false, false},
    {"scatter_nd", "index", false, false, false},
    {"scatter_nd_add", "index", false, false, false},
    {"scatter_nd_sub", "index", false, false, false},
    {"scatter_nd_update", "index", false, false, false},
    {"tensor_scatter_nd_add", "index", false, false, false},
    {"tensor_scatter_nd_sub", "index", false, false, false},
    {"tensor_scatter_nd_min", "index", false, false, false},
    {"tensor_scatter_nd_max", "index", false, false, false},
    {"tensor_scatter_nd_update", "index", false, false, false},
    {"scatter_add", "index", false, false, false},
    {"scatter_sub", "index", false, false, false},
    {"scatter_mul", "index", false, false, false},
    {"scatter_div", "index", false, false, false},
    {"scatter_max", "index", false, false, false},
    {"scatter_min", "index", false, false, false},
    {"scatter_update", "index", false, false, false},
    {"segment_sum", "id", false, false, true},
    {"unsorted_segment_sum", "id", true, false, false},
    {"segment_prod", "id", false, false, true},
    {"segment_max", "id", false, false, true},
    {"segment_min", "id", false, false, true},
    {"segment_mean", "id", false, false, true},
    {"unsorted_segment_prod", "id", true, false, false},
    {"unsorted_segment_max", "id", true, false, false},
    {"unsorted_segment_min", "id", true, false, false},
    {"unsorted_segment_mean", "id", true, false, false},
    {"unsorted_segment_sqrt_n", "id", true, false, false},
    {"bincount", "value", false, true, false},
    {"confusion_matrix", "label", false, false, false},
    {"unravel_index", "index", false, false, false},
    {"to_dense", "index", false, false, false},
    {"sparse tensor", "index", false, false, false},
    {"embedding_lookup", "id", false, false, false},
    {"embedding_lookup_sparse", "id", false, false, false},
    {"embedding_lookup_sparse", "segment id", true, false, false},
    {"crop_and_resize", "box index", false, false, false},
    {"sampled loss", "label", false, false, false},
    {"percentile", "position", false, false, false},
    {"selection", "position", true, false, false},
};
static_assert(sizeof(indexing_rules) / sizeof(indexing_rules[0]) ==
                  static_cast<std::size_t>(Indexing::selection) + 1,
              "a rule for each Indexing");
constexpr const IndexingRule& rule_of(Indexing indexing) {
  return indexing_rules[static_cast<int>(indexing)];
}

// Common parts of interpreter and kernels.

/// A tensor, indices along one of its axes, and the slices at these indices, as nested loops. The
/// tensor is [shared][middle][extent][inner], the indices are [shared][count], the slices
/// [shared][middle][count][inner].
struct IndexLoops {
  std::int64_t shared = 1;
  std::int64_t middle = 1;
  std::int64_t extent = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
};
inline IndexLoops index_loops(std::span<const std::int64_t> tensor,
                              std::span<const std::int64_t> indices, int axis, int batch_dims) {
  IndexLoops loops;
  const int rank = static_cast<int>(tensor.size());
  for (int i = 0; i < rank; ++i) {
    std::int64_t& part = i < batch_dims ? loops.shared
                         : i < axis     ? loops.middle
                         : i == axis    ? loops.extent
                                        : loops.inner;
    part *= tensor[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = static_cast<std::size_t>(batch_dims); i < indices.size(); ++i) {
    loops.count *= indices[i];
  }
  return loops;
}
/// The same if `count` indices are row-major positions in a tensor's first axes.
inline IndexLoops flat_loops(std::span<const std::int64_t> tensor, std::int64_t count, int axes) {
  IndexLoops loops{.count = count};
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    (i < static_cast<std::size_t>(axes) ? loops.extent : loops.inner) *= tensor[i];
  }
  return loops;
}
inline std::span<const std::int64_t> extents_of(const Dims& dims) {
  return {dims.extent, static_cast<std::size_t>(dims.rank)};
}
inline std::span<const std::int64_t> extents_of(const HostTensor& tensor) {
  return extents_of(tensor.dims);
}

/// An index of any integer type. A number that std::int64_t can't hold is too large for any tensor.
template <class T>
constexpr std::int64_t to_index(T index) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (index > static_cast<std::uint64_t>(largest)) return largest;
  }
  return static_cast<std::int64_t>(index);
}
inline std::int64_t index_at(const HostTensor& indices, std::int64_t i) {
  const std::int64_t index = indices[i].integer;
  return indices.dtype == DType::uint64 ? to_index(static_cast<std::uint64_t>(index)) : index;
}

/// " at [1, 4]": element `position` of a tensor with these extents; empty for a scalar.
TYPEFLOW_COLD inline std::string place_of(std::int64_t position,
                                          std::span<const std::int64_t> extents) {
  std::string place;
  for (std::size_t i = extents.size(); i-- > 0;) {
    place = sentence({position % extents[i], place.empty() ? "]" : ", ", place});
    position /= extents[i];
  }
  return place.empty() ? place : sentence({" at [", place});
}
TYPEFLOW_COLD inline Error out_of_range(std::string_view function, std::string_view what,
                                        std::int64_t index, const std::string& place,
                                        std::int64_t extent) {
  return Error(std::string(function),
               sentence({what, " ", index, place, " is not in [0, ", extent, ")"}));
}

/// The mistake of the first index that is out of range and not skipped, or out of order. at(i) is
/// the i-th of `count`.
template <class At>
Failure find_wrong_index(Indexing indexing, const At& at, std::int64_t count, std::int64_t extent) {
  const IndexingRule& rule = rule_of(indexing);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = at(i);
    if ((index < 0 && !rule.skips_negative) || (index >= extent && !rule.skips_large)) {
      return {1, {i, index, extent}};
    }
    if (rule.sorted && i > 0 && index < at(i - 1)) return {2, {i, index, at(i - 1)}};
  }
  return {};
}
/// The same in words. The extents are those of the indices.
TYPEFLOW_COLD inline Error wrong_index(Indexing indexing, const Failure& wrong,
                                       std::span<const std::int64_t> extents) {
  const IndexingRule& rule = rule_of(indexing);
  if (indexing == Indexing::percentile) {  // the user gave no positions
    return Error("percentile", wrong.number[2] == 0 ? "x must have elements along the axes"
                                                    : "q must be in [0, 100]");
  }
  const std::string place = place_of(wrong.number[0], extents);
  if (wrong.what == 1) {
    return out_of_range(rule.name, rule.index, wrong.number[1], place, wrong.number[2]);
  }
  return Error(std::string(rule.name), sentence({"the ids must be sorted, but ", wrong.number[1],
                                                 place, " follows ", wrong.number[2]}));
}
/// Throws if one of the indices is wrong.
inline void check_indices(Indexing indexing, const HostTensor& indices, std::int64_t extent) {
  const Failure wrong = find_wrong_index(
      indexing, [&](std::int64_t i) { return index_at(indices, i); }, indices.size(), extent);
  if (wrong.what != 0) throw wrong_index(indexing, wrong, extents_of(indices));
}

/// Calls f(slice of the tensor, slice of the result) for every index in order. Both are positions
/// of the first element, in units of loops.inner; the former is -1 for an index that is skipped.
template <class F>
void each_index(const IndexLoops& loops, const HostTensor& indices, const F& f) {
  for (std::int64_t outer = 0; outer < loops.shared * loops.middle; ++outer) {
    for (std::int64_t i = 0; i < loops.count; ++i) {
      const std::int64_t index = index_at(indices, outer / loops.middle * loops.count + i);
      const bool skipped = index < 0 || index >= loops.extent;
      f(skipped ? -1 : outer * loops.extent + index, outer * loops.count + i);
    }
  }
}

// Shapes.

/// x[:axis] + indices[batch_dims:] + x[axis+1:]
constexpr Dims gathered(const Dims& x, const Dims& indices, int axis, int batch_dims) {
  if (axis < 0 || axis >= x.rank || batch_dims < 0 || batch_dims > axis ||
      batch_dims > indices.rank || x.rank - 1 + indices.rank - batch_dims > max_rank) {
    return no_dims;
  }
  Dims out{};
  for (int i = 0; i < batch_dims; ++i) {
    if (x.extent[i] != indices.extent[i]) return no_dims;
  }
  for (int i = 0; i < axis; ++i) out.append(x.extent[i]);
  for (int i = batch_dims; i < indices.rank; ++i) out.append(indices.extent[i]);
  for (int i = axis + 1; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}

/// The type of a tensor with `extent` along the axis, of which `values` are slices at indices.
constexpr Dims scattered(const Dims& indices, const Dims& values, Extent extent, int axis,
                         int batch_dims) {
  const int chosen = indices.rank - batch_dims;
  if (batch_dims < 0 || batch_dims > axis || chosen < 0 || axis + chosen > values.rank ||
      values.rank - chosen + 1 > max_rank) {
    return no_dims;
  }
  Dims out{};
  for (int i = 0; i < axis; ++i) {
    out.append(values.extent[i]);
    if (i < batch_dims && values.extent[i] != indices.extent[i]) return no_dims;
  }
  out.append(extent);
  for (int i = 0; i < chosen; ++i) {
    if (values.extent[axis + i] != indices.extent[batch_dims + i]) return no_dims;
  }
  for (int i = axis + chosen; i < values.rank; ++i) out.append(values.extent[i]);
  return out;
}

template <class I>
inline constexpr bool are_indices = is_integer(I::type.dtype);

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
