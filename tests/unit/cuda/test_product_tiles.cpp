// SPDX-License-Identifier: Apache-2.0

// Tiles of products, one for each grid, against loops in double: operands in either order, aligned
// for packets or not, with extents that fill no tile and no panel.

#include "support/cuda_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/cuda/contraction.hpp"

namespace {

namespace tf = typeflow;
namespace kernels = tf::cuda_kernels;
using tf::Precision;

/// A matrix (lines, depth), of which `data` has the elements in the source's order.
template <class T, bool AlongDepth>
struct Operand {
  std::vector<T> data;
  std::int64_t lines, depth, first;

  Operand(test::Random& random, std::int64_t its_lines, std::int64_t its_depth, bool is_aligned)
      : data(static_cast<std::size_t>(its_lines * its_depth + 8)),
        lines(its_lines),
        depth(its_depth) {
    for (T& x : data) x = static_cast<T>(random.uniform(-1, 1));
    first = reinterpret_cast<std::uintptr_t>(data.data()) % 16 == 0 ? 0 : 2;
    if (!is_aligned) ++first;
  }
  T& at(std::int64_t line, std::int64_t k) {
    const std::int64_t i = AlongDepth ? line * depth + k : k * lines + line;
    return data[static_cast<std::size_t>(first + i)];
  }
  kernels::MatrixSource<T, AlongDepth> source() const {
    const std::int64_t pitch = AlongDepth ? depth : lines;
    return {data.data() + first, lines, pitch, pitch, 0};
  }
};

/// The result's elements that a tile has from `place` on; the others are 99.
template <class Tile, class A, class B>
std::vector<typename Tile::T> run_tile(const A& a, const B& b, const kernels::ProductPlace& where,
                                       std::uint32_t seed) {
  using T = typename Tile::T;
  std::vector<T> y(Tile::rows * Tile::columns, T(99));
  cuda_on_host::run_grid(
      [&] {
        __shared__ kernels::ProductPlace place;
        if (threadIdx.x == 0) place = where;
        __syncthreads();
        T* const memory = reinterpret_cast<T*>(kernels::launched_memory());
        typename Tile::Sums sum;
        kernels::sum_products<Tile>(a, b, place, memory, sum);
        for (int g = 0; g < Tile::stages; ++g) {
          Tile::stage(sum, g, memory);
          __syncthreads();
          for (int i = static_cast<int>(threadIdx.x); i < Tile::staged_rows * Tile::columns;
               i += Tile::threads) {
            const int row = Tile::row(g, i / Tile::columns);
            y[static_cast<std::size_t>(row * Tile::columns + i % Tile::columns)] = memory[i];
          }
          __syncthreads();
        }
      },
      dim3(1), dim3(Tile::threads), seed, Tile::memory * sizeof(T));
  return y;
}

/// The largest part of a product that rounding of operands changes.
double rounding(Precision p) {
  const double operand = p == Precision::exact ? 0 : p == Precision::bfloat16 ? 0x1p-8 : 0x1p-11;
  return 2 * operand + operand * operand;
}

template <class Tile, Precision P, bool AAlong, bool BAlong>
void check_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool is_aligned,
                std::uint32_t seed) {
  using T = typename Tile::T;
  INFO("rows ", rows, " columns ", columns, " depth ", depth, " aligned ", is_aligned, " along ",
       AAlong, BAlong, " precision ", static_cast<int>(P));
  test::Random random(seed);
  Operand<T, AAlong> a(random, rows, depth, is_aligned);
  Operand<T, BAlong> b(random, columns, depth, is_aligned);
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  // Once the whole product, once a part of the depth.
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{Tile::depth}}) {
    if (begin > depth) continue;
    const kernels::ProductPlace place{0, 0, 0, 0, begin, static_cast<int>(depth - begin)};
    const std::vector<T> y = run_tile<Tile>(a.source(), b.source(), place, seed);
    for (std::int64_t i = 0; i < Tile::rows; ++i) {
      for (std::int64_t j = 0; j < Tile::columns; ++j) {
        double sum = 0;
        double absolute = 0;
        for (std::int64_t k = begin; k < depth && i < rows && j < columns; ++k) {
          const double product = double{a.at(i, k)} * double{b.at(j, k)};
          sum += product;
          absolute += std::abs(product);
        }
        const double got = y[static_cast<std::size_t>(i * Tile::columns + j)];
        const double allowed = (rounding(P) + static_cast<double>(depth) * epsilon) * absolute;
        if (!(std::abs(got - sum) <= allowed)) {
          INFO("row ", i, " column ", j);
          REQUIRE(got == sum);
        }
      }
    }
  }
}

template <class Tile, Precision P, bool AAlong, bool BAlong>
void check_extents() {
  constexpr std::int64_t d = Tile::depth;
  constexpr std::int64_t r = Tile::rows;
  constexpr std::int64_t c = Tile::columns;
  std::uint32_t seed = 1;
  for (const bool is_aligned : {true, false}) {
    check_tile<Tile, P, AAlong, BAlong>(r, c, 3 * d, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong>(r - 4, c / 2 + 4, d + 4, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong>(r / 2 + 1, c - 3, 2 * d - 1, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong>(1, 2, 1, is_aligned, ++seed);
  }
  check_tile<Tile, P, AAlong, BAlong>(4, 8, 0, true, ++seed);
}

template <class Tile, Precision P>
void check_orders() {
  check_extents<Tile, P, true, true>();
  check_extents<Tile, P, true, false>();
  check_extents<Tile, P, false, true>();
  check_extents<Tile, P, false, false>();
}

template <class T, Precision P>
void check_tiles() {
  using Tiles = kernels::ProductTiles<T, P>;
  check_orders<typename Tiles::Small, P>();
  if constexpr (Tiles::has_big) check_orders<typename Tiles::Big, P>();
}

}  // namespace

TEST_CASE("tiles sum products for operands in any order, of any extents") {
  check_tiles<float, Precision::exact>();
  check_tiles<double, Precision::exact>();
}

TEST_CASE("tiles on tensor cores sum products for operands in any order, of any extents") {
  check_tiles<float, Precision::tf32>();
  check_tiles<float, Precision::bfloat16>();
  check_tiles<float, Precision::float16>();
}

TEST_CASE("tiles for GPUs without tensor cores are as large, and have as many threads") {
  using Tiles = kernels::ProductTiles<float, Precision::tf32>;
  check_extents<Tiles::Small::WithoutTensorCores, Precision::exact, true, false>();
  check_extents<Tiles::Big::WithoutTensorCores, Precision::exact, true, false>();
  static_assert(Tiles::Big::WithoutTensorCores::threads == Tiles::Big::threads);
  static_assert(Tiles::Big::WithoutTensorCores::memory <= Tiles::Big::memory);
}

TEST_CASE("an infinity and NaN reach the elements of their row or column, and no others") {
  using Tile = kernels::ProductTiles<float, Precision::tf32>::Big;
  test::Random random(7);
  Operand<float, true> a(random, Tile::rows, 40, true);
  Operand<float, false> b(random, Tile::columns, 40, true);
  a.at(37, 21) = std::numeric_limits<float>::infinity();
  a.at(5, 3) = std::numeric_limits<float>::quiet_NaN();
  b.at(77, 39) = -std::numeric_limits<float>::infinity();
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    const std::vector<float> y = run_tile<Tile>(a.source(), b.source(), {0, 0, 0, 0, 0, 40}, seed);
    for (int i = 0; i < Tile::rows; ++i) {
      for (int j = 0; j < Tile::columns; ++j) {
        const float got = y[static_cast<std::size_t>(i * Tile::columns + j)];
        if (i == 5) {
          REQUIRE(std::isnan(got));
        } else {
          REQUIRE(std::isfinite(got) == (i != 37 && j != 77));
        }
      }
    }
  }
}
