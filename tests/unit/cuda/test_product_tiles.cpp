// SPDX-License-Identifier: Apache-2.0

// Tiles of products, one for each grid, against loops in double: operands in either order, aligned
// for packets or not, with extents that fill no tile and no panel.
//
// For the emulation alone: grids are run without a stream.

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

/// Element types of operands.
template <class TypeA, class TypeB = TypeA>
struct Of {
  using A = TypeA;
  using B = TypeB;
};

template <class Tile, Precision P, bool AAlong, bool BAlong, class Types>
void check_tile(std::int64_t rows, std::int64_t columns, std::int64_t depth, bool is_aligned,
                std::uint32_t seed) {
  using T = typename Tile::T;
  INFO("rows ", rows, " columns ", columns, " depth ", depth, " aligned ", is_aligned, " along ",
       AAlong, BAlong, " precision ", static_cast<int>(P));
  test::Random random(seed);
  Operand<typename Types::A, AAlong> a(random, rows, depth, is_aligned);
  Operand<typename Types::B, BAlong> b(random, columns, depth, is_aligned);
  CHECK(a.source().in_packets == (is_aligned && (AAlong ? depth : rows) % 4 == 0));
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
          const double product = static_cast<double>(static_cast<T>(a.at(i, k))) *
                                 static_cast<double>(static_cast<T>(b.at(j, k)));
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

template <class Tile, Precision P, bool AAlong, bool BAlong, class Types = Of<typename Tile::T>>
void check_extents() {
  constexpr std::int64_t d = Tile::depth;
  constexpr std::int64_t r = Tile::rows;
  constexpr std::int64_t c = Tile::columns;
  std::uint32_t seed = 1;
  for (const bool is_aligned : {true, false}) {
    check_tile<Tile, P, AAlong, BAlong, Types>(r, c, 3 * d, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong, Types>(r - 4, c / 2 + 4, d + 4, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong, Types>(r / 2 + 1, c - 3, 2 * d - 1, is_aligned, ++seed);
    check_tile<Tile, P, AAlong, BAlong, Types>(1, 2, 1, is_aligned, ++seed);
  }
  check_tile<Tile, P, AAlong, BAlong, Types>(4, 8, 0, true, ++seed);
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
  if constexpr (Tiles::has_few) check_orders<typename Tiles::Few, P>();
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

TEST_CASE("tiles read 16-bit operands in place, and round none that their cores have") {
  // With the exact precision's bound: nothing is rounded but sums.
  constexpr Precision exact = Precision::exact;
  using BFloat16 = kernels::ProductTiles<float, Precision::bfloat16>;
  using Half = kernels::ProductTiles<float, Precision::float16>;
  using TF32 = kernels::ProductTiles<float, Precision::tf32>;
  using Exact = kernels::ProductTiles<float, exact>;
  check_extents<BFloat16::Big, exact, true, false, Of<tf::bfloat16>>();
  check_extents<BFloat16::Small, exact, false, true, Of<tf::bfloat16>>();
  check_extents<Half::Big, exact, false, true, Of<tf::float16>>();
  check_extents<Half::Small, exact, true, true, Of<tf::float16>>();
  check_extents<TF32::Small, exact, false, false, Of<tf::bfloat16, tf::float16>>();
  check_extents<Exact::Big, exact, true, false, Of<tf::float16, float>>();
  check_extents<Exact::Small, exact, false, true, Of<float, tf::bfloat16>>();
  check_extents<Exact::Few, exact, true, false, Of<tf::bfloat16, tf::float16>>();
  // Others are rounded as floats are.
  check_extents<Half::Small, Precision::float16, true, false, Of<tf::bfloat16, float>>();
  check_extents<BFloat16::Small, Precision::bfloat16, true, false, Of<float, tf::float16>>();
}

TEST_CASE("every number of half keeps its value in a tile") {
  const auto check = [](auto tiles) {
    using Tile = typename decltype(tiles)::Small;
    test::Random random(3);
    Operand<tf::float16, true> a(random, Tile::rows, 1024, true);
    // The sum of one product by 1 and many by 0. Infinities and NaN would make all of them NaN.
    for (std::int64_t k = 0; k < 1024; ++k) {
      for (std::int64_t i = 0; i < Tile::rows; ++i) {
        const auto bits = static_cast<std::uint16_t>(i * 1024 + k);
        const bool is_finite = (bits & 0x7c00) != 0x7c00;
        a.at(i, k) = tf::float16::from_bits(is_finite ? bits : 0);
      }
    }
    for (std::int64_t first = 0; first < 1024; first += Tile::columns) {
      const kernels::ProductPlace place{0, 0, 0, 0, first, static_cast<int>(Tile::columns)};
      Operand<tf::float16, false> one(random, Tile::columns, 1024, true);
      for (std::int64_t k = 0; k < 1024; ++k) {
        for (std::int64_t j = 0; j < Tile::columns; ++j) {
          one.at(j, k) = tf::float16(k == first + j ? 1 : 0);
        }
      }
      const std::vector<float> y = run_tile<Tile>(a.source(), one.source(), place, 1);
      for (int i = 0; i < Tile::rows; ++i) {
        for (int j = 0; j < Tile::columns; ++j) {
          REQUIRE(y[static_cast<std::size_t>(i * Tile::columns + j)] ==
                  static_cast<float>(a.at(i, first + j)));
        }
      }
    }
  };
  check(kernels::ProductTiles<float, Precision::float16>{});
  check(kernels::ProductTiles<float, Precision::exact>{});
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
