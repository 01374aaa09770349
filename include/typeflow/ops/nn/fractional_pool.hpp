// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fractional pooling: fractional_max_pool, fractional_avg_pool. Each run draws the borders of the
// regions, whose sizes differ by one.
//
// Source: Graham, "Fractional max-pooling", 2014.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <source_location>
#include <string_view>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/index/counting.hpp"
#include "typeflow/ops/index/segment_folds.hpp"
#include "typeflow/ops/index/selection.hpp"
#include "typeflow/ops/random/random.hpp"
#include "typeflow/ops/shape/slice.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct FractionalPoolOptions {
  bool pseudo_random = false;  ///< the sizes alternate evenly, from a random start on
  bool overlapping = false;    ///< a region also has the next one's first row and column
  bool deterministic = false;  ///< all runs have the same regions, drawn by the session's seed
  Label name = "";             ///< of the result; operations without one draw by their number
};

/// How many times smaller a fractional pool makes images: a template argument,
/// fractional_max_pool<tf::PoolingRatio(1.44, 1.73)>(x). (It has the bits of the ratios, because
/// not all compilers take floating-point members there.)
struct PoolingRatio {
  std::uint32_t rows_bits;
  std::uint32_t columns_bits;

  constexpr PoolingRatio(double rows, double columns)
      : rows_bits(std::bit_cast<std::uint32_t>(static_cast<float>(rows))),
        columns_bits(std::bit_cast<std::uint32_t>(static_cast<float>(columns))) {}

  constexpr float rows() const { return std::bit_cast<float>(rows_bits); }
  constexpr float columns() const { return std::bit_cast<float>(columns_bits); }
};

/// The results of a fractional pool.
template <TypedExpr V, TypedExpr R, TypedExpr C>
struct FractionalPool {
  V values;
  R rows;     ///< the first row of each region, and the number of rows, as int64
  C columns;  ///< the same of columns
};

namespace ops {

/// Where the regions of an axis begin, and the axis ends: () -> (regions + 1), int64
struct PoolingSequence : custom {
  static constexpr std::string_view name = "PoolingSequence";
  static constexpr SideEffect effect = SideEffect::random;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 20;
  std::uint32_t path_low;  ///< hash of the operation's path
  std::uint32_t path_high;
  std::int64_t length;
  std::uint32_t pseudo_random;
  std::uint32_t deterministic;

  /// Calls put(i, border) for all borders.
  template <class Put>
  void draw(const RandomState& random, std::int64_t regions, const Put& put) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    const auto uniform = [&](std::int64_t i) {
      return uniform_element<double>(key, deterministic != 0 ? 0 : random.draw,
                                     static_cast<std::uint64_t>(i));
    };
    const std::int64_t size = length / regions;
    std::int64_t larger = length % regions;  // the regions that are larger by one
    put(0, 0);
    if (pseudo_random != 0 && larger != 0) {
      // ceil(ratio (i + u)), for a u that leaves no first or last region too small or too large
      const double n = static_cast<double>(regions);
      const double ratio = static_cast<double>(length) / n;
      const double k = static_cast<double>(size);
      const double most =
          std::min((k + 2) / ratio - 1, (static_cast<double>(length) + 1 - k) / ratio - (n - 1));
      const double u = uniform(0) * most;
      for (std::int64_t i = 1; i < regions; ++i) {
        put(i, static_cast<std::int64_t>(std::ceil(ratio * (static_cast<double>(i) + u))) - 1);
      }
    } else {
      std::int64_t border = 0;
      for (std::int64_t i = 1; i < regions; ++i) {
        const double left = static_cast<double>(regions - i + 1);
        const bool is_larger = uniform(i) * left < static_cast<double>(larger);
        larger -= is_larger;
        border += size + is_larger;
        put(i, border);
      }
    }
    put(regions, length);
  }
  static void interpret(InterpretCall& call) {
    const PoolingSequence op = decode<PoolingSequence>(call.graph, call.node);
    HostTensor& y = call.outputs[0];
    op.draw(call.random, y.size() - 1,
            [&](std::int64_t i, std::int64_t border) { y[i].integer = border; });
  }
};

}  // namespace ops

namespace detail {

/// Axis 0 of x folded in regions with these borders: (H,R...) -> (H',R...). For means it adds up.
constexpr AnyExpr pool_first_axis(const AnyExpr& x, const AnyExpr& borders, bool is_max,
                                  bool overlapping) {
  const Extent length = x.dims().extent[0];
  const Extent regions = borders.dims().extent[0] - 1;
  const AnyExpr ends = slice_along(borders, 0, 1, regions);
  const AnyExpr place = cast_to(index_along(*x.graph, Dims{1, {length}}, 0), DType::int64);
  const AnyExpr region = apply(ops::SearchSorted{{}, 1}, ends, place);
  const AnyExpr y = is_max ? apply(ops::ScatterMax{{}, regions, Indexing::selection}, x, region)
                           : scatter_sum_node(region, x, regions, 0, 0, Indexing::selection);
  if (!overlapping) return y;
  // The next region's first row; where there is none, the last row again, or nothing.
  if (is_max) return maximum(y, slices_at(x, minimum(ends, length - 1), 0));
  return y + slices_at(x, where(less(ends, length), ends, -1), 0);
}

/// The number of elements of each region.
constexpr AnyExpr sizes_of(const AnyExpr& borders, bool overlapping) {
  const Extent regions = borders.dims().extent[0] - 1;
  const AnyExpr ends = slice_along(borders, 0, 1, regions);
  const AnyExpr size = ends - slice_along(borders, 0, 0, regions);
  if (!overlapping) return size;
  const AnyExpr length = slice_along(borders, 0, regions, 1);
  return size + cast_to(less(ends, length), DType::int64);
}

/// (N,H,W,C) -> (N,H',W',C), for borders of rows and columns.
constexpr AnyExpr fractional_pool(const AnyExpr& x, const AnyExpr& rows, const AnyExpr& columns,
                                  bool is_max, bool overlapping) {
  constexpr int rows_first[] = {1, 2, 0, 3};     // (H,W,N,C)
  constexpr int columns_first[] = {1, 0, 2, 3};  // (W,H',N,C)
  constexpr int back[] = {2, 1, 0, 3};
  const AnyExpr of_rows = pool_first_axis(transpose_to(x, rows_first), rows, is_max, overlapping);
  const AnyExpr y = transpose_to(
      pool_first_axis(transpose_to(of_rows, columns_first), columns, is_max, overlapping), back);
  if (is_max) return y;
  const AnyExpr height =
      reshape_to(sizes_of(rows, overlapping), Dims{4, {1, rows.dims().extent[0] - 1, 1, 1}});
  const AnyExpr width =
      reshape_to(sizes_of(columns, overlapping), Dims{4, {1, 1, columns.dims().extent[0] - 1, 1}});
  return y / cast_to(height * width, y.dtype());
}

template <class X, Extent H, Extent W>
struct FractionalPoolRule {
  static constexpr bool is_image = X::rank == 4;
  static constexpr bool fits = [] {
    if (!is_image || is_symbolic(H) || is_symbolic(W) || H < 1 || W < 1) return false;
    const Extent rows = X::shape::dims.extent[1];
    const Extent columns = X::shape::dims.extent[2];
    return !is_symbolic(rows) && !is_symbolic(columns) && H <= rows && W <= columns;
  }();
  static constexpr Dims value = [] {
    Dims dims = X::shape::dims;
    if (fits) dims.extent[1] = H;
    if (fits) dims.extent[2] = W;
    return dims;
  }();
};

/// floor(extent / ratio), in float as TensorFlow computes it; 0 if there is no such extent.
constexpr Extent pooled_extent(Extent extent, float ratio) {
  if (is_symbolic(extent) || !(ratio >= 1 && ratio < std::numeric_limits<float>::infinity())) {
    return 0;
  }
  return static_cast<Extent>(static_cast<float>(extent) / ratio);
}
/// The extents of a pool with a ratio: rows and columns, 0 if x has none.
template <class X>
constexpr std::array<Extent, 2> pooled_extents(const PoolingRatio& ratio) {
  if constexpr (X::rank != 4) {
    return {0, 0};
  } else {
    return {pooled_extent(X::shape::dims.extent[1], ratio.rows()),
            pooled_extent(X::shape::dims.extent[2], ratio.columns())};
  }
}

template <Extent H, Extent W, TypedExpr X>
constexpr auto fractional_pool_typed(const X& x, bool is_max, const Label& kind,
                                     const FractionalPoolOptions& options,
                                     const std::source_location& at) {
  using Rule = FractionalPoolRule<X, H, W>;
  mark(at, x);
  ir::Graph& graph = x.graph();
  const std::uint64_t path = graph.add_random_path(kind, options.name);
  const auto borders = [&](int axis, Extent regions, std::uint64_t salt) {
    const std::uint64_t key = path ^ salt;
    const ops::PoolingSequence op{{},
                                  static_cast<std::uint32_t>(key),
                                  static_cast<std::uint32_t>(key >> 32),
                                  X::shape::dims.extent[axis],
                                  options.pseudo_random ? 1u : 0u,
                                  options.deterministic ? 1u : 0u};
    return AnyExpr(add_node(graph, op, nullptr, 0, Type(DType::int64, Dims{1, {regions + 1}})));
  };
  const AnyExpr rows = borders(1, H, 0);
  const AnyExpr columns = borders(2, W, 0x9E3779B97F4A7C15ull);
  const AnyExpr y = is_max ? fractional_pool(x.any(), rows, columns, true, options.overlapping)
                           : in_float(x.any(), [&](const AnyExpr& v) {
                               return fractional_pool(v, rows, columns, false, options.overlapping);
                             });
  Graph& g = x.graph();
  using V = Expr<typename X::element, shape_of_t<Rule>>;
  using R = Expr<std::int64_t, Shape<H + 1>>;
  using C = Expr<std::int64_t, Shape<W + 1>>;
  return FractionalPool<V, R, C>{V(g, labelled(y, options.name).id), R(g, rows.id),
                                 C(g, columns.id)};
}

}  // namespace detail

/// The largest element of each region, for H x W regions that each run draws:
/// fractional_max_pool<18, 18>(x) of images of 25 x 25. (N,H0,W0,C) -> {values (N,H,W,C), rows
/// (H+1), columns (W+1)}
///
/// Regions have H0 / H rows, rounded down or up, at random; `rows` says where they begin. With
/// .pseudo_random the sizes alternate evenly. NaN is passed on. Gradients go to the largest
/// elements.
template <Extent H, Extent W, TypedExpr X>
constexpr auto fractional_max_pool(const X& x, FractionalPoolOptions options = {},
                                   std::source_location at = std::source_location::current()) {
  using Rule = detail::FractionalPoolRule<X, H, W>;
  static_assert(detail::in_domain<Domain::real, X>,
                "fractional_max_pool<H, W>(x): x must be a tensor of real numbers");
  static_assert(Rule::fits,
                "fractional_max_pool<H, W>(x): x must be images (N,H0,W0,C), with numbers of rows "
                "and columns that are not smaller than H and W");
  if constexpr (Rule::fits) {
    return detail::fractional_pool_typed<H, W>(x, true, "fractional_max_pool", options, at);
  }
}
/// The same with ratios instead of extents, as TensorFlow's pooling_ratio:
/// fractional_max_pool<tf::PoolingRatio(1.44, 1.73)>(x). H is H0 / 1.44 and W is W0 / 1.73, rounded
/// down. Ratios are 1 or more. (N,H0,W0,C) -> {values (N,H,W,C), rows (H+1), columns (W+1)}
template <PoolingRatio Ratio, TypedExpr X>
constexpr auto fractional_max_pool(const X& x, FractionalPoolOptions options = {},
                                   std::source_location at = std::source_location::current()) {
  constexpr std::array<Extent, 2> extents = detail::pooled_extents<X>(Ratio);
  static_assert(detail::in_domain<Domain::real, X>,
                "fractional_max_pool<ratio>(x): x must be a tensor of real numbers");
  static_assert(extents[0] > 0 && extents[1] > 0,
                "fractional_max_pool<ratio>(x): x must be images (N,H0,W0,C) with numbers of rows "
                "and columns, and the ratios from 1 on to these");
  if constexpr (extents[0] > 0 && extents[1] > 0) {
    return detail::fractional_pool_typed<extents[0], extents[1]>(x, true, "fractional_max_pool",
                                                                 options, at);
  }
}

/// The mean of each region; otherwise as fractional_max_pool.
/// (N,H0,W0,C) -> {values (N,H,W,C), rows (H+1), columns (W+1)}
template <Extent H, Extent W, TypedExpr X>
constexpr auto fractional_avg_pool(const X& x, FractionalPoolOptions options = {},
                                   std::source_location at = std::source_location::current()) {
  using Rule = detail::FractionalPoolRule<X, H, W>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "fractional_avg_pool<H, W>(x): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(Rule::fits,
                "fractional_avg_pool<H, W>(x): x must be images (N,H0,W0,C), with numbers of rows "
                "and columns that are not smaller than H and W");
  if constexpr (Rule::fits) {
    return detail::fractional_pool_typed<H, W>(x, false, "fractional_avg_pool", options, at);
  }
}
/// The same with ratios instead of extents; see fractional_max_pool.
/// (N,H0,W0,C) -> {values (N,H,W,C), rows (H+1), columns (W+1)}
template <PoolingRatio Ratio, TypedExpr X>
constexpr auto fractional_avg_pool(const X& x, FractionalPoolOptions options = {},
                                   std::source_location at = std::source_location::current()) {
  constexpr std::array<Extent, 2> extents = detail::pooled_extents<X>(Ratio);
  static_assert(detail::in_domain<Domain::floating, X>,
                "fractional_avg_pool<ratio>(x): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(extents[0] > 0 && extents[1] > 0,
                "fractional_avg_pool<ratio>(x): x must be images (N,H0,W0,C) with numbers of rows "
                "and columns, and the ratios from 1 on to these");
  if constexpr (extents[0] > 0 && extents[1] > 0) {
    return detail::fractional_pool_typed<extents[0], extents[1]>(x, false, "fractional_avg_pool",
                                                                 options, at);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
