// SPDX-License-Identifier: Apache-2.0
#pragma once

// space_to_batch and its inverse, batch_to_space, for any number of axes; composed of pads,
// transposes and slices. (shape_ops.hpp has space_to_depth and depth_to_space.)

#include <array>
#include <cstddef>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/shape/pad.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Blocks over as many axes as the array has entries, and the zeros {before, after} that are added
/// first.
template <int Rank>
struct SpaceToBatchOptions {
  static constexpr int rank = Rank;
  std::array<int, Rank> block{};
  std::array<std::array<int, 2>, Rank> paddings{};
};
/// The same for batch_to_space, with what is cut off {before, after} at the end.
template <int Rank>
struct BatchToSpaceOptions {
  static constexpr int rank = Rank;
  std::array<int, Rank> block{};
  std::array<std::array<int, 2>, Rank> crops{};
};

namespace detail {

template <class O>
inline constexpr bool is_space_to_batch = false;
template <int Rank>
inline constexpr bool is_space_to_batch<SpaceToBatchOptions<Rank>> = true;
template <class O>
inline constexpr bool is_batch_to_space = false;
template <int Rank>
inline constexpr bool is_batch_to_space<BatchToSpaceOptions<Rank>> = true;

/// The number of elements of a block; 0 if it is no block.
template <std::size_t Rank>
constexpr Extent block_size(const std::array<int, Rank>& block) {
  Extent size = 1;
  for (const int b : block) size = b < 1 ? 0 : size * b;
  return size;
}
/// Whether x has an axis of batches and behind it those of a block, all numbers, and a tensor has
/// room for as many more.
template <std::size_t Rank>
constexpr bool has_block_axes(const Dims& x, const std::array<int, Rank>& block) {
  const int rank = static_cast<int>(Rank);
  if (block_size(block) < 1 || x.rank < rank + 1 || x.rank + rank > max_rank) return false;
  for (int i = 1; i <= rank; ++i) {
    if (is_symbolic(x.extent[i])) return false;
  }
  return true;
}

template <auto Options, class S>
struct SpaceToBatchRule {
  static constexpr int rank = Options.rank;
  static constexpr bool has_axes = has_block_axes(S::dims, Options.block);
  /// The extents with the padding.
  static constexpr Dims padded = [] {
    Dims d = S::dims;
    for (int i = 0; has_axes && i < rank; ++i) {
      const auto [before, after] = Options.paddings[static_cast<std::size_t>(i)];
      if (before < 0 || after < 0) return no_dims;
      d.extent[1 + i] += before + after;
      if (d.extent[1 + i] % Options.block[static_cast<std::size_t>(i)] != 0) return no_dims;
    }
    return d;
  }();
  static constexpr bool divides = padded.valid();
  static constexpr Dims value = [] {
    Dims d = S::dims;
    if (!has_axes || !divides) return d;
    d = padded;
    d.extent[0] = times(d.extent[0], block_size(Options.block));
    for (int i = 0; i < rank; ++i) d.extent[1 + i] /= Options.block[static_cast<std::size_t>(i)];
    return d;
  }();
};

template <auto Options, class S>
struct BatchToSpaceRule {
  static constexpr int rank = Options.rank;
  static constexpr bool has_axes = has_block_axes(S::dims, Options.block);
  static constexpr bool divides =
      !has_axes || factor_of(S::dims.extent[0]) % block_size(Options.block) == 0;
  /// The extents before anything is cut off.
  static constexpr Dims whole = [] {
    Dims d = S::dims;
    if (!has_axes || !divides) return d;
    d.extent[0] = with_factor(d.extent[0], factor_of(d.extent[0]) / block_size(Options.block));
    for (int i = 0; i < rank; ++i) d.extent[1 + i] *= Options.block[static_cast<std::size_t>(i)];
    return d;
  }();
  static constexpr Dims cropped = [] {
    Dims d = whole;
    for (int i = 0; has_axes && divides && i < rank; ++i) {
      const auto [before, after] = Options.crops[static_cast<std::size_t>(i)];
      if (before < 0 || after < 0 || before + after > d.extent[1 + i]) return no_dims;
      d.extent[1 + i] -= before + after;
    }
    return d;
  }();
  static constexpr bool fits = cropped.valid();
  static constexpr Dims value = fits ? cropped : whole;
};

/// Untyped: x, (N, s*b..., rest), as (b..., N, s..., rest), in the shape of the result.
template <std::size_t Rank>
constexpr AnyExpr blocks_to_front(const AnyExpr& x, const std::array<int, Rank>& block,
                                  const Dims& result) {
  const Dims dims = x.dims();
  const int rank = static_cast<int>(Rank);
  Dims split{1, {dims.extent[0]}};
  int permutation[max_rank] = {};
  permutation[rank] = 0;
  for (int i = 0; i < rank; ++i) {
    split.append(result.extent[1 + i]);
    split.append(block[static_cast<std::size_t>(i)]);
    permutation[i] = 2 + 2 * i;
    permutation[rank + 1 + i] = 1 + 2 * i;
  }
  for (int i = rank + 1; i < dims.rank; ++i) {
    permutation[split.rank] = split.rank;
    split.append(dims.extent[i]);
  }
  return reshape_to(transpose_to(reshape_to(x, split), permutation), result);
}
/// Untyped: x, (b...*N, s..., rest), as (N, s, b, ..., rest), in the shape of the result.
template <std::size_t Rank>
constexpr AnyExpr blocks_to_back(const AnyExpr& x, const std::array<int, Rank>& block,
                                 const Dims& result) {
  const Dims dims = x.dims();
  const int rank = static_cast<int>(Rank);
  Dims split{};
  for (const int b : block) split.append(b);
  split.append(result.extent[0]);
  int permutation[max_rank] = {};
  permutation[0] = rank;
  for (int i = 0; i < rank; ++i) {
    split.append(dims.extent[1 + i]);
    permutation[1 + 2 * i] = rank + 1 + i;
    permutation[2 + 2 * i] = i;
  }
  for (int i = rank + 1; i < dims.rank; ++i) {
    permutation[split.rank] = split.rank;
    split.append(dims.extent[i]);
  }
  return reshape_to(transpose_to(reshape_to(x, split), permutation), result);
}

}  // namespace detail

/// Adds zeros around x, if the options say so, and moves its blocks' elements along the batch:
/// first the first elements of all blocks, row by row. So elements that strides would skip become
/// further images of the batch: space_to_batch<tf::SpaceToBatchOptions<2>{.block = {2, 2},
/// .paddings =
/// {{{1, 1}, {0, 0}}}}>(x). (N,H,W,C) -> (N*b*b,H/b,W/b,C), as TensorFlow's space_to_batch_nd
template <auto Options, TypedExpr X>
  requires(detail::is_space_to_batch<std::remove_cvref_t<decltype(Options)>>)
constexpr auto space_to_batch(const X& x,
                              std::source_location at = std::source_location::current()) {
  using Rule = detail::SpaceToBatchRule<Options, typename X::shape>;
  static_assert(Rule::has_axes,
                "space_to_batch<block...>(x): x must have a batch and behind it the axes of the "
                "block, which are numbers; blocks are 1 or more, and all axes together at most 8");
  static_assert(!Rule::has_axes || Rule::divides,
                "space_to_batch<block...>(x): the padded axes must be multiples of the block, pads "
                "0 or more");
  detail::mark(at, x);
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (Rule::has_axes && Rule::divides) {
    Extent amounts[2 * max_rank] = {};
    for (int i = 0; i < Rule::rank; ++i) {
      const auto [before, after] = Options.paddings[static_cast<std::size_t>(i)];
      amounts[2 + 2 * i] = before;
      amounts[3 + 2 * i] = after;
    }
    ir::Graph& graph = x.graph();
    const AnyExpr zero = detail::constant_node(graph, X::type.dtype, Number{});
    const AnyExpr all = detail::pad_by(x.any(), amounts, Rule::padded, zero);
    return E(x.graph(), detail::blocks_to_front(all, Options.block, Rule::value).id);
  } else {
    return E(x.graph(), x.id());
  }
}

/// The same without padding: space_to_batch<2, 2>(x). (N,H,W,C) -> (N*b*b,H/b,W/b,C)
template <int... Block, TypedExpr X>
  requires(sizeof...(Block) > 0)
constexpr auto space_to_batch(const X& x,
                              std::source_location at = std::source_location::current()) {
  constexpr int rank = static_cast<int>(sizeof...(Block));
  return space_to_batch<SpaceToBatchOptions<rank>{.block = {Block...}, .paddings = {}}>(x, at);
}

/// The inverse of space_to_batch: puts images of the batch together as blocks, then cuts off what
/// the options say: batch_to_space<tf::BatchToSpaceOptions<2>{.block = {2, 2}, .crops = {{{1, 1},
/// {0, 0}}}}>(x). (N*b*b,H,W,C) -> (N,H*b,W*b,C), as TensorFlow's batch_to_space_nd
template <auto Options, TypedExpr X>
  requires(detail::is_batch_to_space<std::remove_cvref_t<decltype(Options)>>)
constexpr auto batch_to_space(const X& x,
                              std::source_location at = std::source_location::current()) {
  using Rule = detail::BatchToSpaceRule<Options, typename X::shape>;
  static_assert(Rule::has_axes,
                "batch_to_space<block...>(x): x must have a batch and behind it the axes of the "
                "block, which are numbers; blocks are 1 or more, and all axes together at most 8");
  static_assert(Rule::divides,
                "batch_to_space<block...>(x): the batch must be a multiple of the block");
  static_assert(Rule::fits,
                "batch_to_space<block...>(x): crops must be 0 or more, and leave something");
  detail::mark(at, x);
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (Rule::has_axes && Rule::divides && Rule::fits) {
    AnyExpr y = detail::blocks_to_back(x.any(), Options.block, Rule::whole);
    SliceWindow window = window_at_start(Rule::value);
    for (int i = 0; i < Rule::rank; ++i) {
      if (Rule::value.extent[1 + i] == 0) continue;
      window.begin[1 + i] = Options.crops[static_cast<std::size_t>(i)][0];
    }
    return E(x.graph(), slice_to(y, window, Rule::value).id);
  } else {
    return E(x.graph(), x.id());
  }
}

/// The same without crops: batch_to_space<2, 2>(x). (N*b*b,H,W,C) -> (N,H*b,W*b,C)
template <int... Block, TypedExpr X>
  requires(sizeof...(Block) > 0)
constexpr auto batch_to_space(const X& x,
                              std::source_location at = std::source_location::current()) {
  constexpr int rank = static_cast<int>(sizeof...(Block));
  return batch_to_space<BatchToSpaceOptions<rank>{.block = {Block...}, .crops = {}}>(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
