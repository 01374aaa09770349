// SPDX-License-Identifier: Apache-2.0
#pragma once

// How ConvFilterGradient's loops go through the places of an image: in lines of a padded block, or
// by a list of the places from which a tap sees the image.

#include <algorithm>
#include <cstdint>

#include "typeflow/core/window.hpp"
#include "typeflow/cpu/tile.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A place as its sample and coordinates.
struct ImagePosition {
  std::int64_t sample;
  std::int64_t at[max_window_rank];
};
template <class O>
ImagePosition image_position(const O& op, std::int64_t place) {
  ImagePosition p{};
  for (int a = max_window_rank - 1; a >= 0; --a) {
    const std::int64_t places = op.places(a);
    p.at[a] = place % places;
    place /= places;
  }
  p.sample = place;
  return p;
}

/// Places that lie side by side and see pixels at equal distances.
struct PlaceRun {
  std::int64_t place;
  std::int64_t pixel;
  std::int64_t length;
};

/// Brings memory that is read later: `step` bytes at each call.
struct SteadyPrefetch {
  std::uintptr_t at;
  std::uintptr_t step;
  TYPEFLOW_INLINE void operator()() {
    __builtin_prefetch(reinterpret_cast<const void*>(at));
    at += step;
  }
};

/// Lines of places of a padded block: a run for each line. The rows of a tile have their pixels at
/// `offsets`.
template <class T>
struct LineRuns {
  const T* x;
  const std::int64_t* offsets;
  std::int64_t step;
  std::int64_t x_line;  ///< elements of x from a line to the next
  const T* b;
  std::int64_t pitch;
  std::int64_t b_line;
  std::int64_t length;
  std::int64_t lines;
  SteadyPrefetch ahead;

  TYPEFLOW_INLINE bool more() const { return lines > 0; }
  TYPEFLOW_INLINE SteadyPrefetch others() {
    const SteadyPrefetch now = ahead;
    ahead.at += static_cast<std::uintptr_t>(length) * ahead.step;
    return now;
  }
  template <int R>
  TYPEFLOW_INLINE std::int64_t next(const T* (&at)[R], const T*& right) {
    unrolled<R>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = x + offsets[i]; });
    right = b;
    x += x_line;
    b += b_line;
    --lines;
    return length;
  }
};

/// Finds the runs of a tap from places [begin, end): those of a line of places, without those that
/// see padding.
class RunsOfTap {
 public:
  template <class O>
  RunsOfTap(const O& op, std::int64_t tap, std::int64_t begin, std::int64_t end)
      : place_(begin),
        end_(end),
        position_(begin < end ? image_position(op, begin) : ImagePosition{}) {
    const std::int64_t k[] = {tap / (op.window.size[1] * op.window.size[2]),
                              tap / op.window.size[2] % op.window.size[1], tap % op.window.size[2]};
    for (int a = 0; a < max_window_rank; ++a) {
      const WindowAxis axis = op.window.axis(a);
      places_[a] = op.places(a);
      image_[a] = op.image[a];
      stride_[a] = axis.stride;
      shift_[a] = k[a] * axis.dilation - axis.before;
    }
  }

  /// Finds the next one. Returns whether there is one.
  bool next(PlaceRun& run) {
    while (place_ < end_) {
      run = of_line();
      if (run.length > 0) return true;
    }
    return false;
  }

 private:
  PlaceRun of_line() {
    const std::int64_t from = position_.at[2];
    const std::int64_t size = std::min(places_[2] - from, end_ - place_);
    const std::int64_t z = position_.at[0] * stride_[0] + shift_[0];
    const std::int64_t y = position_.at[1] * stride_[1] + shift_[1];
    // The places of the line that see the image: 0 <= p * stride + shift < extent.
    std::int64_t begin = from;
    if (shift_[2] < 0) begin = std::max(begin, (-shift_[2] + stride_[2] - 1) / stride_[2]);
    const std::int64_t room = image_[2] - shift_[2];
    const std::int64_t end =
        std::min(from + size, room <= 0 ? 0 : (room + stride_[2] - 1) / stride_[2]);
    const bool inside = z >= 0 && z < image_[0] && y >= 0 && y < image_[1];
    const PlaceRun run{place_ + (begin - from),
                       ((position_.sample * image_[0] + z) * image_[1] + y) * image_[2] +
                           begin * stride_[2] + shift_[2],
                       inside ? end - begin : 0};
    place_ += size;
    position_.at[2] = 0;
    if (++position_.at[1] == places_[1]) {
      position_.at[1] = 0;
      if (++position_.at[0] == places_[0]) {
        position_.at[0] = 0;
        ++position_.sample;
      }
    }
    return run;
  }

  std::int64_t place_;
  std::int64_t end_;
  ImagePosition position_;
  std::int64_t places_[max_window_rank];
  std::int64_t image_[max_window_rank];
  std::int64_t stride_[max_window_rank];
  std::int64_t shift_[max_window_rank];  ///< distance of the tap from a place's first pixel
};

/// Places that see the image, and what they see. Lines of an image can be short, so a register tile
/// goes through these in one loop, not line by line.
struct SeenPlaces {
  static constexpr std::int64_t most = 512;
  std::int64_t count = 0;
  std::int64_t place[most];  ///< from the first of a part on
  std::int64_t x[most];      ///< elements of x, or of a copy, before what is seen

  void add(std::int64_t from_first, std::int64_t of_x) {
    place[count] = from_first;
    x[count++] = of_x;
  }
};

/// tile[i][j] = sum of x[i] * b[j] at these places, for i < rows and j < V vectors; with `go_on`,
/// added to it. Rows of b lie `pitch` apart. Further rows of the tile are as the last one.
template <class T, class A, int V>
[[gnu::noinline, gnu::flatten]] void seen_places_tile(const SeenPlaces& seen, const T* x, int rows,
                                                      const T* b, std::int64_t pitch, T* tile,
                                                      bool go_on) {
  using S = TileShape<T, A>;
  using B = xsimd::batch<T, A>;
  TileSums<T, A, V> sums;
  if (go_on) {
    sums.load(tile, S::width);
  } else {
    sums.clear();
  }
  const T* at[S::rows];
  unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA { at[i] = x + std::min<int>(i, rows - 1); });
  for (std::int64_t k = 0; k < seen.count; ++k) {
    const T* const row = b + seen.place[k] * pitch;
    const std::int64_t offset = seen.x[k];
    B right[V];
    unrolled<V>([&](auto v)
                    TYPEFLOW_INLINE_LAMBDA { right[v] = B::load_unaligned(row + v * S::lanes); });
    unrolled<S::rows>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
      const B left(at[i][offset]);
      unrolled<V>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        sums.sum[i][v] = cpu_kernels::fma(left, right[v], sums.sum[i][v]);
      });
    });
  }
  sums.store(tile, S::width);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
