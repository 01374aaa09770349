// SPDX-License-Identifier: Apache-2.0
#pragma once

// How products on GPUs are divided over blocks: which tiles their results consist of, and in how
// many parts the depth is summed.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/depth_tile.hpp"
#include "typeflow/cuda/product_tile.hpp"
#include "typeflow/cuda/tensor_tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// A product's extents; columns and depth are those of one group.
struct ProductSize {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t groups;  ///< each has its own columns of the result
};

/// How a result is divided over blocks.
struct ProductPlan {
  bool big;            ///< big tiles
  std::int64_t parts;  ///< parts of the depth

  /// About as many as a GPU has. Each runs 256 x 128 elements of big tiles at the same time.
  static constexpr std::int64_t multiprocessors = 128;
  static constexpr std::int64_t most_parts = 256;
  static constexpr std::int64_t shortest_part = 128;
  static constexpr std::int64_t longest_part = std::int64_t{1} << 30;

  template <class Tiles>
  static constexpr ProductPlan of(const ProductSize& z, std::int64_t matrices) {
    using Big = typename Tiles::Big;
    using Small = typename Tiles::Small;
    const auto tiles = [&](std::int64_t rows, std::int64_t columns) {
      return matrices * z.groups * ((z.rows + rows - 1) / rows) *
             ((z.columns + columns - 1) / columns);
    };
    const std::int64_t fewest_parts = z.depth / longest_part + 1;
    constexpr std::int64_t enough = 2 * multiprocessors * 128 * 128 / (Big::rows * Big::columns);
    if (Tiles::has_big && z.rows > Big::rows / 2 && z.columns > Big::columns / 2 &&
        tiles(Big::rows, Big::columns) >= enough) {
      return {true, fewest_parts};
    }
    const std::int64_t blocks = std::max<std::int64_t>(1, tiles(Small::rows, Small::columns));
    if constexpr (Small::divides_depth) {
      const std::int64_t panels = (z.depth + Small::depth - 1) / Small::depth;
      std::int64_t parts = 1;
      for (std::int64_t p = 2; p <= std::min(most_parts, panels);
           p += std::max<std::int64_t>(1, p / 4)) {
        if (time_of<Small>(blocks, panels, p) < time_of<Small>(blocks, panels, parts)) parts = p;
      }
      return {false, std::max(fewest_parts, parts)};
    } else {
      const std::int64_t wanted = 4 * multiprocessors / blocks;
      const std::int64_t possible = std::min(most_parts, z.depth / shortest_part);
      return {false, std::max(fewest_parts, std::min(wanted, possible))};
    }
  }

 private:
  /// What so many parts take, in sixteenths of the time in which a block that has a multiprocessor
  /// to itself sums a panel: 0.65 us on an H100. To begin and to end takes a block 3 of these
  /// times, a launch that adds up the parts 5, and their way through memory that of their bytes.
  template <class Tile>
  static constexpr std::int64_t time_of(std::int64_t tiles, std::int64_t panels,
                                        std::int64_t parts) {
    constexpr std::int64_t unit = 16;
    const std::int64_t blocks = tiles * parts;
    const std::int64_t at_once = Tile::blocks * multiprocessors;
    const std::int64_t waves = (blocks + at_once - 1) / at_once;
    const std::int64_t sharing =
        std::min<std::int64_t>(Tile::blocks, (blocks + multiprocessors - 1) / multiprocessors);
    const std::int64_t sums = waves * unit * (3 + sharing * ((panels + parts - 1) / parts));
    if (parts == 1) return sums;
    // 4 bytes are written and read; some 1.6 MB in that time.
    const std::int64_t bytes = blocks * Tile::rows * Tile::columns * 8;
    return sums + 5 * unit + parts + bytes / 100'000;
  }
};

/// The tiles of an element type. Tensor cores multiply floats, if a precision is chosen.
template <class T, Precision P = Precision::exact>
struct ProductTiles {
  static constexpr bool has_big = true;
  using Small = DepthTile<T>;
  using Big = ProductTile<T, 128, 128, 16, 8, 16, 2>;
};
template <Precision P>
struct ProductTiles<double, P> {
  static constexpr bool has_big = false;
  using Small = ProductTile<double, 64, 64, 8, 4, 16, 2>;
  using Big = Small;
};
template <Precision P>
  requires(P != Precision::exact)
struct ProductTiles<float, P> {
  static constexpr bool has_big = true;
  using Small = TensorTile<ProductTile<float, 64, 64, 8, 4, 32, 4>, P, 32, 32, 32, 3>;
  using Big = TensorTile<ProductTile<float, 256, 128, 16, 8, 16, 1>, P, 64, 64, 32, 1>;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
