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

/// The tiles that a result may consist of.
enum class TileChoice : std::uint8_t {
  few,  ///< that of results with few tiles
  small,
  big
};

/// How a result is divided over blocks.
struct ProductPlan {
  TileChoice tile;
  std::int64_t parts;  ///< parts of the depth

  /// About as many as a GPU has. Each runs 256 x 128 elements of big tiles at the same time.
  static constexpr std::int64_t multiprocessors = 128;
  static constexpr std::int64_t most_parts = 256;
  static constexpr std::int64_t longest_part = std::int64_t{1} << 30;

  /// `few_percent`: the time of a panel of TileChoice::few, in percent of that for two matrices.
  /// Operands whose elements are found by divisions take longer.
  template <class Tiles>
  static constexpr ProductPlan of(const ProductSize& z, std::int64_t matrices,
                                  std::int64_t few_percent = 100) {
    using Big = typename Tiles::Big;
    constexpr std::int64_t enough = 2 * multiprocessors * 128 * 128 / (Big::rows * Big::columns);
    if (Tiles::has_big && z.rows > Big::rows / 2 && z.columns > Big::columns / 2 &&
        tiles_of<Big>(z, matrices) >= enough) {
      return {TileChoice::big, fewest_parts(z)};
    }
    const std::int64_t parts = small_parts<typename Tiles::Small>(z, matrices);
    if constexpr (Tiles::has_few) {
      using Few = typename Tiles::Few;
      const TileTimes few_times{2800, 1350 * few_percent / 100};
      const std::int64_t parts_of_few = few_parts<Few>(few_times, z, matrices);
      if (time_of<Few>(few_times, z, matrices, parts_of_few) <
          time_of<typename Tiles::Small>(small_times, z, matrices, parts)) {
        return {TileChoice::few, parts_of_few};
      }
    }
    return {TileChoice::small, parts};
  }

 private:
  /// The time that a tile takes of its multiprocessor, in ns, as measured on an H100.
  struct TileTimes {
    std::int64_t once;   ///< to begin and to end, in which others do not hinder
    std::int64_t panel;  ///< for each panel, in which they do
  };
  static constexpr TileTimes small_times{7000, 1250};

  template <class Tile>
  static constexpr std::int64_t tiles_of(const ProductSize& z, std::int64_t matrices) {
    return matrices * z.groups * ((z.rows + Tile::rows - 1) / Tile::rows) *
           ((z.columns + Tile::columns - 1) / Tile::columns);
  }
  static constexpr std::int64_t fewest_parts(const ProductSize& z) {
    return z.depth / longest_part + 1;
  }
  template <class Tile>
  static constexpr std::int64_t small_parts(const ProductSize& z, std::int64_t matrices) {
    constexpr std::int64_t shortest_part = 128;
    const std::int64_t wanted =
        4 * multiprocessors / std::max<std::int64_t>(1, tiles_of<Tile>(z, matrices));
    const std::int64_t possible = std::min(most_parts, z.depth / shortest_part);
    return std::max(fewest_parts(z), std::min(wanted, possible));
  }
  template <class Tile>
  static constexpr std::int64_t few_parts(const TileTimes& t, const ProductSize& z,
                                          std::int64_t matrices) {
    const std::int64_t most = std::min(most_parts, (z.depth + Tile::depth - 1) / Tile::depth);
    std::int64_t parts = fewest_parts(z);
    std::int64_t least = time_of<Tile>(t, z, matrices, parts);
    for (std::int64_t n = parts + 1; n <= most; n += std::max<std::int64_t>(1, n / 4)) {
      const std::int64_t time = time_of<Tile>(t, z, matrices, n);
      if (time < least) {
        least = time;
        parts = n;
      }
    }
    return parts;
  }

  /// The time of a product, and of the launch that adds up its parts.
  template <class Tile>
  static constexpr std::int64_t time_of(const TileTimes& t, const ProductSize& z,
                                        std::int64_t matrices, std::int64_t parts) {
    const std::int64_t blocks = std::max<std::int64_t>(1, tiles_of<Tile>(z, matrices) * parts);
    const std::int64_t at_once = Tile::blocks * multiprocessors;
    const std::int64_t waves = (blocks + at_once - 1) / at_once;
    const std::int64_t running = std::clamp(blocks, multiprocessors, at_once);
    const std::int64_t steps = std::max<std::int64_t>(16, z.depth / parts);
    std::int64_t time =
        waves * (t.once + t.panel * steps / Tile::depth * running / multiprocessors);
    if (parts > 1) {
      constexpr std::int64_t launch = 3000;
      constexpr std::int64_t each_part = 50;
      constexpr std::int64_t bytes_a_ns = 2500;
      time += launch + each_part * parts + blocks * Tile::rows * Tile::columns * 8 / bytes_a_ns;
    }
    return time;
  }
};

/// The tiles of an element type. Tensor cores multiply floats, if a precision is chosen.
template <class T, Precision P = Precision::exact>
struct ProductTiles {
  static constexpr bool has_big = true;
  static constexpr bool has_few = true;
  using Few = DepthTile<T>;
  using Small = ProductTile<T, 64, 64, 8, 4, 32, 4>;
  using Big = ProductTile<T, 128, 128, 16, 8, 16, 2>;
};
template <Precision P>
struct ProductTiles<double, P> {
  static constexpr bool has_big = false;
  static constexpr bool has_few = false;
  using Small = ProductTile<double, 64, 64, 8, 4, 16, 2>;
  using Big = Small;
};
template <Precision P>
  requires(P != Precision::exact)
struct ProductTiles<float, P> {
  static constexpr bool has_big = true;
  static constexpr bool has_few = false;
  using Small = TensorTile<ProductTiles<float>::Small, P, 32, 32, 32, 3>;
  using Big = TensorTile<ProductTile<float, 256, 128, 16, 8, 16, 1>, P, 64, 64, 32, 1>;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
