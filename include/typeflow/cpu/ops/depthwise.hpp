// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/nn/depthwise.hpp: vectors of channels, for several neighbouring positions at a
// time, so that a filter's elements are loaded once for all of them.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/rows.hpp"
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
    parallel(call, images_ * rows_.written, grain_of_cost(cost),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 for (std::int64_t phase = 0; phase < columns_.divisor; ++phase) line(row, phase);
               }
             });
  }

 private:
  using L = Lanes<(sizeof(T) > 4), A>;
  using V = typename L::template of<T>;
  static constexpr int N = L::size;
  static constexpr int together = 6;  ///< positions

  /// The positions `phase`, `phase` + divisor... of a row: they use the same taps.
  [[gnu::flatten]] void line(std::int64_t row, std::int64_t phase) const {
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
      if (u >= begin && u + together <= end && u + together <= count) {
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
    for (; c + N <= channels_; c += N) {
      positions<U, true>(x + c, w_ + c, y + c, u, N, of_rows, in_row);
    }
    if (c < channels_) {
      positions<U, false>(x + c, w_ + c, y + c, u, static_cast<int>(channels_ - c), of_rows,
                          in_row);
    }
  }
  /// A vector of channels for U positions, from number u of the line on. A single position may have
  /// taps outside.
  template <int U, bool Whole>
  TYPEFLOW_INLINE void positions(const T* x, const T* w, T* y, std::int64_t u, int lanes,
                                 const TapAxis::Taps& of_rows, const TapAxis::Taps& in_row) const {
    const auto load = [&](const T* p) TYPEFLOW_INLINE_LAMBDA {
      return lanes == N ? L::load(p) : L::load(p, lanes);
    };
    V sum[U];
    for (V& s : sum) s = V(T(0));
    std::int64_t r = of_rows.source;
    for (std::int64_t i = of_rows.first; i < rows_.taps; i += of_rows.every) {
      const T* const row = x + r * columns_.read * channels_;
      const bool exists = r >= 0 && r < rows_.read;
      r += of_rows.advance;
      if (!exists) continue;
      std::int64_t s = in_row.source + u * columns_.scale;
      for (std::int64_t j = in_row.first; j < columns_.taps; j += in_row.every) {
        const T* const from = row + s * channels_;
        const bool inside = U > 1 || (s >= 0 && s < columns_.read);
        s += in_row.advance;
        if (!inside) continue;
        const V filter = load(w + (i * columns_.taps + j) * channels_);
        for (int k = 0; k < U; ++k) {
          sum[k] = cpu_kernels::fma(load(from + k * columns_.scale * channels_), filter, sum[k]);
        }
      }
    }
    for (int k = 0; k < U; ++k) {
      T* const to = y + (u + k) * columns_.divisor * channels_;
      if constexpr (Whole) {
        L::store(to, sum[k]);
      } else {
        L::store(to, sum[k], lanes);
      }
    }
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

/// Sums over parts of the rows of dy, which are added in order. Extents alone decide how many parts
/// there are.
template <>
struct kernel_of<ops::DepthwiseFilterGradient> {
  /// Extents are those of x (N,H,W,C), dy (N,H',W',C) and dw (KH,KW,C).
  static std::int64_t workspace(const std::int64_t* extents) {
    const std::int64_t parts = parts_of(checked_product(extents[4], extents[5]));
    const std::int64_t size = checked_product(checked_product(extents[8], extents[9]), extents[10]);
    return checked_product(checked_product(parts, size), sizeof(double));
  }

  template <class A, class T>
  static void run(const ops::DepthwiseFilterGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      const std::int64_t rows = in[1].extents[0] * in[1].extents[1];
      const std::int64_t parts = parts_of(rows);
      const std::int64_t size = out->size();
      T* const sums = static_cast<T*>(call.workspace);
      T* const dw = static_cast<T*>(out->data);
      constexpr int N = Lanes<(sizeof(T) > 4), A>::size;
      const std::int64_t products = in[1].extents[2] * op.window.axis(1).size *
                                    op.window.axis(2).size * ((in[1].extents[3] + N - 1) / N);
      const std::int64_t cost =
          rows / std::max<std::int64_t>(parts, 1) * products * cost_of_products;
      parallel(call, parts, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          T* const sum = sums + part * size;
          std::fill(sum, sum + size, T(0));
          for (std::int64_t r = rows * part / parts; r < rows * (part + 1) / parts; ++r) {
            row<A>(op, in, sum, r);
          }
        }
      });
      parallel(call, size, grain_of_cost(3 * parts), [&](std::int64_t begin, std::int64_t end) {
        std::fill(dw + begin, dw + end, T(0));
        for (std::int64_t part = 0; part < parts; ++part) {
          for (std::int64_t i = begin; i < end; ++i) dw[i] += sums[part * size + i];
        }
      });
    }
  }

 private:
  static std::int64_t parts_of(std::int64_t rows) { return std::min<std::int64_t>(rows, 32); }

  /// Adds the contributions of row r of dy.
  template <class A, class T>
  [[gnu::flatten]] static void row(const ops::DepthwiseFilterGradient& op, const Tensor* in, T* sum,
                                   std::int64_t r) {
    using L = Lanes<(sizeof(T) > 4), A>;
    using V = typename L::template of<T>;
    constexpr int N = L::size;
    constexpr std::int64_t block = 8;  // places, so that channels are read in order
    const WindowAxis rows = op.window.axis(1);
    const WindowAxis columns = op.window.axis(2);
    const std::int64_t height = in[0].extents[1];
    const std::int64_t width = in[0].extents[2];
    const std::int64_t channels = in[0].extents[3];
    const std::int64_t places = in[1].extents[2];
    const auto* const x = static_cast<const T*>(in[0].data);
    const T* const dy = static_cast<const T*>(in[1].data) + r * places * channels;
    const std::int64_t image = r / in[1].extents[1];
    for (std::int64_t i = 0; i < rows.size; ++i) {
      const std::int64_t h = r % in[1].extents[1] * rows.stride - rows.before + i * rows.dilation;
      if (h < 0 || h >= height) continue;
      const T* const line = x + (image * height + h) * width * channels;
      for (std::int64_t first = 0; first < places; first += block) {
        for (std::int64_t j = 0; j < columns.size; ++j) {
          // Place p reads element p * stride + offset.
          const std::int64_t offset = j * columns.dilation - columns.before;
          const std::int64_t begin =
              offset >= 0 ? 0 : (columns.stride - 1 - offset) / columns.stride;
          const std::int64_t end = offset >= width ? 0 : (width - 1 - offset) / columns.stride + 1;
          const std::int64_t p = std::max(first, begin);
          const std::int64_t count = std::min({first + block, end, places}) - p;
          if (count <= 0) continue;
          const T* const a = line + (p * columns.stride + offset) * channels;
          const T* const b = dy + p * channels;
          T* const to = sum + (i * columns.size + j) * channels;
          const std::int64_t step = columns.stride * channels;
          std::int64_t c = 0;
          for (; c + N <= channels; c += N) {
            L::store(to + c, L::load(to + c) + products<L>(a + c, b + c, count, step, channels, N));
          }
          if (c < channels) {
            const auto lanes = static_cast<int>(channels - c);
            const V total = products<L>(a + c, b + c, count, step, channels, lanes);
            L::store(to + c, L::load(to + c, lanes) + total, lanes);
          }
        }
      }
    }
  }
  /// The sum of `count` products of neighbouring places.
  template <class L, class T>
  TYPEFLOW_INLINE static auto products(const T* a, const T* b, std::int64_t count,
                                       std::int64_t step_of_a, std::int64_t step_of_b, int lanes) {
    const auto load = [&](const T* p) TYPEFLOW_INLINE_LAMBDA {
      return lanes == L::size ? L::load(p) : L::load(p, lanes);
    };
    auto even = L::broadcast(T(0));  // one addition needn't wait for the one before
    auto odd = even;
    std::int64_t p = 0;
    for (; p + 2 <= count; p += 2) {
      even = cpu_kernels::fma(load(a + p * step_of_a), load(b + p * step_of_b), even);
      odd = cpu_kernels::fma(load(a + (p + 1) * step_of_a), load(b + (p + 1) * step_of_b), odd);
    }
    if (p < count) even = cpu_kernels::fma(load(a + p * step_of_a), load(b + p * step_of_b), even);
    return even + odd;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
