// SPDX-License-Identifier: Apache-2.0
#pragma once

// The depthwise convolution and its gradient for the image (ops/nn/depthwise.hpp): vectors of
// channels, for several neighbouring positions at a time, so that a filter's elements are loaded
// once for all of them. If a vector has several positions of a line, it has all channels of each.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/tile.hpp"
#include "typeflow/cpu/unrolled.hpp"
#include "typeflow/ops/nn/depthwise.hpp"
#include "typeflow/ops/nn/gather_axis.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The positions of one side that are read for a position of the other, along an axis. Tap k of
/// position p reads (p * scale + offset + k * step) / divisor, if that is whole and exists. A
/// convolution skips elements by `scale`; its gradient for the image skips taps by `divisor`.
struct TapAxis {
  std::int64_t scale;
  std::int64_t offset;
  std::int64_t step;
  std::int64_t divisor;
  std::int64_t taps;
  std::int64_t read;     ///< number of positions to read
  std::int64_t written;  ///< number of positions to compute

  static TapAxis of_places(const WindowAxis& axis, std::int64_t elements, std::int64_t places) {
    return {axis.stride, -axis.before, axis.dilation, 1, axis.size, elements, places};
  }
  static TapAxis of_elements(const WindowAxis& axis, std::int64_t elements, std::int64_t places) {
    return {1, axis.before, -axis.dilation, axis.stride, axis.size, places, elements};
  }

  /// The taps k = first, first + every... that read something for position p, from position
  /// `source` on, `advance` apart.
  struct Taps {
    std::int64_t first;
    std::int64_t every;
    std::int64_t source;
    std::int64_t advance;
  };
  Taps of(std::int64_t p) const {
    const std::int64_t every = divisor / common_divisor(divisor, step);
    for (std::int64_t k = 0; k < std::min(taps, every); ++k) {
      const std::int64_t at = p * scale + offset + k * step;
      if (at % divisor == 0) return {k, every, at / divisor, step * every / divisor};
    }
    return {taps, every, 0, 0};
  }
};

/// The cost (cost_of_part) of multiplying and adding a vector of channels.
inline constexpr std::int64_t cost_of_products = 48;

/// Vectors of channels that loops take side by side, so that memory is read in runs. Their sums fit
/// the registers.
template <class A, class T>
inline constexpr int channel_vectors = TileShape<T, A>::large ? 4 : 2;

/// Computes one side y from the other side x and w: the convolution, and its gradient for the
/// image.
template <class A, class T>
class DepthwiseLoops {
 public:
  DepthwiseLoops(const TapAxis& rows, const TapAxis& columns, const Tensor& x, const Tensor& w,
                 const Tensor& y)
      : rows_(rows),
        columns_(columns),
        channels_(x.extents.back()),
        x_(static_cast<const T*>(x.data)),
        w_(static_cast<const T*>(w.data)),
        y_(static_cast<T*>(y.data)),
        images_(x.extents.front()) {}

  void run(const KernelCall& call) const {
    // An element sees one of `divisor` taps on an axis, and is stored once.
    const std::int64_t taps = rows_.taps * columns_.taps / (rows_.divisor * columns_.divisor) + 1;
    const std::int64_t vectors = columns_.written * ((channels_ + N - 1) / N);
    const std::int64_t cost = vectors * taps * cost_of_products;
    alignas(64) T repeated[most_repeated];
    const Repeated filters = repeat(repeated);
    parallel(call, images_ * rows_.written, grain_of_cost(cost),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 for (std::int64_t phase = 0; phase < columns_.divisor; ++phase) {
                   line(row, phase, filters);
                 }
               }
             });
  }

 private:
  using L = Lanes<(sizeof(T) > 4), A>;
  using V = typename L::template of<T>;
  static constexpr int N = L::size;
  static constexpr int together = 6;  ///< positions
  static constexpr int side_by_side = channel_vectors<A, T>;
  static constexpr int of_three = side_by_side / 2;  ///< the same of three taps

  static constexpr std::int64_t most_repeated = 8192;
  static constexpr int at_once = TileShape<T, A>::rows;  ///< vectors of positions

  /// The filters for vectors of positions and all their channels. After `count` vectors their lanes
  /// have the same channels again; further ones follow, for several vectors at once.
  struct Repeated {
    const T* vectors;
    std::int64_t count;  ///< 0: vectors have channels of one position
    std::int64_t of_tap() const { return (count + at_once) * N; }
  };
  Repeated repeat(T* to) const {
    Repeated r{to, 0};
    if (channels_ == 0 || channels_ >= N || columns_.scale * columns_.divisor > 1) return r;
    const std::int64_t count = channels_ / common_divisor(channels_, N);
    const std::int64_t taps = rows_.taps * columns_.taps;
    if (taps * (count + at_once) * N > most_repeated) return r;
    r.count = count;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t i = 0, c = 0; i < r.of_tap(); ++i) {
        *to++ = w_[tap * channels_ + c];
        if (++c == channels_) c = 0;
      }
    }
    return r;
  }

  /// Positions [begin, end) of a row, for which all of its taps exist.
  TYPEFLOW_INLINE void few_channels(const T* x, T* y, std::int64_t begin, std::int64_t end,
                                    const TapAxis::Taps& of_rows, const TapAxis::Taps& in_row,
                                    const Repeated& filters) const {
    const std::int64_t first = begin * channels_;
    const std::int64_t count = end * channels_ - first;
    const auto compute = [&](auto vectors, std::int64_t i, int lanes) TYPEFLOW_INLINE_LAMBDA {
      few_channels<vectors()>(x + first + i, y + first + i, lanes, i % (filters.count * N), of_rows,
                              in_row, filters);
    };
    const auto several = [&](auto vectors) TYPEFLOW_INLINE_LAMBDA {
      constexpr std::int64_t size = vectors() * N;
      for (std::int64_t i = 0; i < count; i += size) {  // the last ones are computed again
        compute(vectors, std::min(i, count - size), N);
      }
    };
    if (count >= at_once * N) {
      several(std::integral_constant<int, at_once>{});
    } else if (count >= at_once / 2 * N) {
      several(std::integral_constant<int, at_once / 2>{});
    } else {
      for (std::int64_t i = 0; i < count; i += N) {
        compute(std::integral_constant<int, 1>{}, i,
                static_cast<int>(std::min<std::int64_t>(N, count - i)));
      }
    }
  }
  /// U vectors, or the first lanes of one.
  template <int U>
  TYPEFLOW_INLINE void few_channels(const T* x, T* y, int lanes, std::int64_t filter_at,
                                    const TapAxis::Taps& of_rows, const TapAxis::Taps& in_row,
                                    const Repeated& filters) const {
    V sum[U];
    unrolled<U>([&](auto u) TYPEFLOW_INLINE_LAMBDA { sum[u] = V(T(0)); });
    std::int64_t r = of_rows.source;
    for (std::int64_t i = of_rows.first; i < rows_.taps; i += of_rows.every) {
      const bool exists = r >= 0 && r < rows_.read;
      const T* from = x + (r * columns_.read + in_row.source) * channels_;
      r += of_rows.advance;
      if (!exists) continue;
      const T* filter = filters.vectors + i * columns_.taps * filters.of_tap() + filter_at;
      for (std::int64_t j = 0; j < columns_.taps; ++j) {
        unrolled<U>([&](auto u) TYPEFLOW_INLINE_LAMBDA {
          const V read = U > 1 ? L::load(from + u * N) : L::load(from, lanes);
          sum[u] = cpu_kernels::fma(read, L::load(filter + u * N), sum[u]);
        });
        from += in_row.advance * channels_;
        filter += filters.of_tap();
      }
    }
    unrolled<U>([&](auto u) TYPEFLOW_INLINE_LAMBDA {
      U > 1 ? L::store(y + u * N, sum[u]) : L::store(y, sum[u], lanes);
    });
  }

  /// The positions `phase`, `phase` + divisor... of a row: they use the same taps.
  [[gnu::flatten]] void line(std::int64_t row, std::int64_t phase, const Repeated& filters) const {
    const std::int64_t count = (columns_.written - phase + columns_.divisor - 1) / columns_.divisor;
    const TapAxis::Taps in_row = columns_.of(phase);
    // Positions for which all taps exist.
    const std::int64_t last =
        in_row.source + (columns_.taps - 1 - in_row.first) / in_row.every * in_row.advance;
    const std::int64_t lowest = std::min(in_row.source, last);
    const std::int64_t highest = std::max(in_row.source, last);
    const std::int64_t scale = columns_.scale;
    const std::int64_t begin = lowest >= 0 ? 0 : (-lowest + scale - 1) / scale;
    const std::int64_t end =
        highest >= columns_.read ? 0 : (columns_.read - 1 - highest) / scale + 1;
    const TapAxis::Taps of_rows = rows_.of(row % rows_.written);
    const T* const image = x_ + row / rows_.written * rows_.read * columns_.read * channels_;
    T* const y = y_ + (row * columns_.written + phase) * channels_;
    for (std::int64_t u = 0; u < count;) {
      if (filters.count > 0 && u == begin && u < std::min(end, count)) {
        u = std::min(end, count);
        few_channels(image, y, begin, u, of_rows, in_row, filters);
      } else if (u >= begin && u + together <= end && u + together <= count) {
        all_channels<together>(image, y, u, of_rows, in_row);
        u += together;
      } else {
        all_channels<1>(image, y, u, of_rows, in_row);
        ++u;
      }
    }
  }
  template <int U>
  TYPEFLOW_INLINE void all_channels(const T* x, T* y, std::int64_t u, const TapAxis::Taps& of_rows,
                                    const TapAxis::Taps& in_row) const {
    std::int64_t c = 0;
    if constexpr (U > 1) {
      if (columns_.taps == 3 && columns_.scale * columns_.divisor == 1 &&
          std::abs(in_row.advance) == 1) {
        for (; c + of_three * N <= channels_; c += of_three * N) {
          three_taps(x + c, w_ + c, y + c, u, of_rows, in_row);
        }
      }
    }
    for (; c + side_by_side * N <= channels_; c += side_by_side * N) {
      positions<U, side_by_side>(x + c, w_ + c, y + c, u, N, of_rows, in_row);
    }
    for (; c + N <= channels_; c += N) {
      positions<U, 1>(x + c, w_ + c, y + c, u, N, of_rows, in_row);
    }
    if (c < channels_) {
      positions<U, 0>(x + c, w_ + c, y + c, u, static_cast<int>(channels_ - c), of_rows, in_row);
    }
  }
  /// Vectors of channels, or the first lanes of one (0), for U positions, from number u of the line
  /// on. A single position may have taps outside.
  template <int U, int Vectors>
  TYPEFLOW_INLINE void positions(const T* x, const T* w, T* y, std::int64_t u, int lanes,
                                 const TapAxis::Taps& of_rows, const TapAxis::Taps& in_row) const {
    constexpr int count = std::max(Vectors, 1);
    const auto load = [&](const T* p) TYPEFLOW_INLINE_LAMBDA {
      return Vectors > 0 ? L::load(p) : L::load(p, lanes);
    };
    V sum[U][count];
    unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
      unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA { sum[k][v] = V(T(0)); });
    });
    if constexpr (U > 1 && Vectors > 1) ask_ahead<U, Vectors>(x, u, of_rows, in_row);
    std::int64_t r = of_rows.source;
    for (std::int64_t i = of_rows.first; i < rows_.taps; i += of_rows.every) {
      const T* const row = x + r * columns_.read * channels_;
      const bool exists = r >= 0 && r < rows_.read;
      r += of_rows.advance;
      if (!exists) continue;
      std::int64_t s = in_row.source + u * columns_.scale;
      for (std::int64_t j = in_row.first; j < columns_.taps; j += in_row.every) {
        const T* from = row + s * channels_;
        const bool inside = U > 1 || (s >= 0 && s < columns_.read);
        s += in_row.advance;
        if (!inside) continue;
        const T* const tap = w + (i * columns_.taps + j) * channels_;
        V filter[count];
        unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA { filter[v] = load(tap + v * N); });
        unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
          unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
            sum[k][v] = cpu_kernels::fma(load(from + v * N), filter[v], sum[k][v]);
          });
          from += columns_.scale * channels_;
        });
      }
    }
    unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      T* const to = y + (u + k) * columns_.divisor * channels_;
      unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        if constexpr (Vectors > 0) {
          L::store(to + v * N, sum[k][v]);
        } else {
          L::store(to, sum[k][v], lanes);
        }
      });
    });
  }

  /// The same of vectors of channels for a line of three taps side by side: what several positions
  /// read is loaded once.
  TYPEFLOW_INLINE void three_taps(const T* x, const T* w, T* y, std::int64_t u,
                                  const TapAxis::Taps& of_rows, const TapAxis::Taps& in_row) const {
    constexpr int U = together;
    constexpr int count = of_three;
    V sum[U][count];
    unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA { sum[k][v] = V(T(0)); });
    });
    ask_ahead<U, count>(x, u, of_rows, in_row);
    // A gradient reads what lies before a position, and goes backwards through all of them.
    const std::int64_t step = in_row.advance * channels_;
    const std::int64_t first = in_row.advance > 0 ? u : u + U - 1;
    std::int64_t r = of_rows.source;
    for (std::int64_t i = of_rows.first; i < rows_.taps; i += of_rows.every) {
      const bool exists = r >= 0 && r < rows_.read;
      const T* from = x + (r * columns_.read + in_row.source + first) * channels_;
      r += of_rows.advance;
      if (!exists) continue;
      V filter[3][count];
      unrolled<3>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
        unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          filter[j][v] = L::load(w + (i * 3 + j) * channels_ + v * N);
        });
      });
      unrolled<U + 2>([&](auto at) TYPEFLOW_INLINE_LAMBDA {
        unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
          const V read = L::load(from + v * N);
          unrolled<3>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
            constexpr int k = at() - j();
            if constexpr (k >= 0 && k < U) {
              sum[k][v] = cpu_kernels::fma(read, filter[j][v], sum[k][v]);
            }
          });
        });
        from += step;
      });
    }
    T* to = y + first * channels_;
    unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA { L::store(to + v * N, sum[k][v]); });
      to += step;
    });
  }

  /// Asks for what positions some way ahead read of the row that no line has read before.
  template <int U, int Vectors>
  TYPEFLOW_INLINE void ask_ahead(const T* x, std::int64_t u, const TapAxis::Taps& of_rows,
                                 const TapAxis::Taps& in_row) const {
    const std::int64_t more = (rows_.taps - 1 - of_rows.first) / of_rows.every * of_rows.advance;
    const std::int64_t row =
        std::min(of_rows.source + std::max<std::int64_t>(more, 0), rows_.read - 1);
    const std::int64_t at = in_row.source + (u + 2 * U) * columns_.scale;
    const std::int64_t from = (row * columns_.read + at) * channels_;
    unrolled<U>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      unrolled<Vectors>([&](auto v) TYPEFLOW_INLINE_LAMBDA {
        cpu_kernels::prefetch(x, from + k * columns_.scale * channels_ + v * N);
      });
    });
  }

  TapAxis rows_;
  TapAxis columns_;
  std::int64_t channels_;
  const T* x_;
  const T* w_;
  T* y_;
  std::int64_t images_;
};

template <>
struct kernel_of<ops::DepthwiseConv> {
  template <class A, class T>
  static void run(const ops::DepthwiseConv& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto axis = [&](int i) {
        const auto e = static_cast<std::size_t>(i);
        return TapAxis::of_places(op.window.axis(i), in->extents[e], out->extents[e]);
      };
      DepthwiseLoops<A, T>(axis(1), axis(2), in[0], in[1], *out).run(call);
    }
  }
};

template <>
struct kernel_of<ops::DepthwiseInputGradient> {
  template <class A, class T>
  static void run(const ops::DepthwiseInputGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto axis = [&](int i) {
        const auto e = static_cast<std::size_t>(i);
        return TapAxis::of_elements(op.window.axis(i), out->extents[e], in->extents[e]);
      };
      DepthwiseLoops<A, T>(axis(1), axis(2), in[0], in[1], *out).run(call);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
