// SPDX-License-Identifier: Apache-2.0
#pragma once

// The depthwise convolution's gradient for the filter (ops/nn/depthwise.hpp): vectors of channels,
// for several taps at a time.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/ops/depthwise.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

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
          const std::int64_t first = rows * part / parts;
          const std::int64_t last = rows * (part + 1) / parts;
          std::int64_t j = 0;
          for (; j + together <= op.window.axis(2).size; j += together) {
            all_channels<A, together>(Taps(op, in, j, together, first, last), sum);
          }
          for (; j < op.window.axis(2).size; ++j) {
            all_channels<A, 1>(Taps(op, in, j, 1, first, last), sum);
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
  static constexpr int together = 3;  ///< taps of an axis

  /// Some taps of a row, and rows [row, last_row) of dy. All taps have the places [first, last),
  /// which lie behind all others if there are none.
  struct Taps {
    WindowAxis rows;
    const Tensor* in;
    std::int64_t row, last_row, places, channels;
    std::int64_t step, next, line;  ///< in x, to the next place, tap and row
    std::int64_t offset, sum;       ///< of the first tap, in a row of x and in the sums
    std::int64_t sum_row;           ///< in the sums, to the next row of the window
    std::int64_t begin[together], end[together], first, last;
    Taps(const ops::DepthwiseFilterGradient& op, const Tensor* of, std::int64_t j, int count,
         std::int64_t from_row, std::int64_t to_row)
        : rows(op.window.axis(1)), in(of), row(from_row), last_row(to_row), first(0) {
      const WindowAxis columns = op.window.axis(2);
      const std::int64_t width = in[0].extents[2];
      places = last = in[1].extents[2];
      channels = in[0].extents[3];
      step = columns.stride * channels;
      next = columns.dilation * channels;
      line = width * channels;
      sum_row = columns.size * channels;
      offset = (j * columns.dilation - columns.before) * channels;
      sum = j * channels;
      for (int t = 0; t < count; ++t) {
        // Place p reads element p * stride + at, if begin <= p < end.
        const std::int64_t at = (j + t) * columns.dilation - columns.before;
        begin[t] = at >= 0 ? 0 : (columns.stride - 1 - at) / columns.stride;
        end[t] = at >= width ? 0 : std::min(places, (width - 1 - at) / columns.stride + 1);
        first = std::max(first, begin[t]);
        last = std::min(last, end[t]);
      }
      if (last <= first) first = last = places;
    }
  };
  template <class T>
  using AddProducts = void (*)(const Taps&, const T* x, const T* dy, T* sum, int lanes);

  /// The sums for J taps of each row of the window.
  template <class A, int J, class T>
  static void all_channels(const Taps& taps, T* sum) {
    constexpr int vectors = channel_vectors<A, T>;
    constexpr int N = Lanes<(sizeof(T) > 4), A>::size;
    // Three rows read an element of x for all their taps. Of places a multiple of 2048 bytes apart,
    // a cache holds few lines; then more channels of one row pay.
    const bool slides = J == together && taps.step == taps.next;
    const bool several =
        slides && taps.rows.size >= together && taps.step * std::int64_t{sizeof(T)} % 2048 != 0;
    const AddProducts<T> three = &add_products<A, together, J, 1, (J == together), T>;
    const AddProducts<T> sliding = &add_products<A, 1, J, vectors, (J == together), T>;
    const AddProducts<T> row = slides ? sliding : &add_products<A, 1, J, vectors, false, T>;
    std::int64_t c = 0;
    for (; !several && c + vectors * N <= taps.channels; c += vectors * N) {
      add_rows<T>(taps, nullptr, row, c, sum, N);
    }
    for (; c + N <= taps.channels; c += N) {
      add_rows<T>(taps, several ? three : nullptr, &add_products<A, 1, J, 1, false, T>, c, sum, N);
    }
    const int rest = static_cast<int>(taps.channels - c);
    if (rest > 0) add_rows<T>(taps, nullptr, &add_products<A, 1, J, 0, false, T>, c, sum, rest);
  }
  /// Adds the products of channels from c on.
  template <class T>
  [[gnu::noinline]] static void add_rows(const Taps& taps, AddProducts<T> several,
                                         AddProducts<T> single, std::int64_t c, T* sum, int lanes) {
    const std::int64_t height = taps.line > 0 ? taps.in[0].extents[1] : 0;
    for (std::int64_t r = taps.row; r < taps.last_row; ++r) {
      const std::int64_t image = r / taps.in[1].extents[1];
      const std::int64_t top = r % taps.in[1].extents[1] * taps.rows.stride - taps.rows.before;
      for (std::int64_t i = 0; i < taps.rows.size; ++i) {
        const std::int64_t h = top + i * taps.rows.dilation;
        if (h < 0 || h >= height) continue;
        const bool all = several != nullptr && i + together <= taps.rows.size &&
                         h + (together - 1) * taps.rows.dilation < height;
        (all ? several : single)(
            taps,
            static_cast<const T*>(taps.in[0].data) +
                ((image * height + h) * taps.line + taps.offset + c),
            static_cast<const T*>(taps.in[1].data) + (r * taps.places * taps.channels + c),
            sum + i * taps.sum_row + taps.sum + c, lanes);
        if (all) i += together - 1;
      }
    }
  }
  /// Adds the products of I x J taps for vectors of channels, or for the first lanes of one (0), in
  /// the order of the places. If it slides, what a tap sees stays in a register for the tap before.
  template <class A, int I, int J, int Vectors, bool Slides, class T>
  [[gnu::flatten]] static void add_products(const Taps& taps, const T* x, const T* dy, T* sum,
                                            int lanes) {
    using L = Lanes<(sizeof(T) > 4), A>;
    using V = typename L::template of<T>;
    constexpr int count = std::max(Vectors, 1);
    constexpr int kept = Slides ? J - 1 : 0;
    const auto load = [&](const T* p) TYPEFLOW_INLINE_LAMBDA {
      return Vectors > 0 ? L::load(p) : L::load(p, lanes);
    };
    const std::int64_t row = taps.rows.dilation * taps.line;
    V products[I][J][count];
    V left[I][J][count];
    const auto each = [](const auto& f) TYPEFLOW_INLINE_LAMBDA {
      unrolled<I>([&](auto i) TYPEFLOW_INLINE_LAMBDA {
        unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA { f(i, v); });
      });
    };
    const auto read = [&](auto i, auto j, auto v) TYPEFLOW_INLINE_LAMBDA {
      left[i][j][v] = load(x + i * row + j * taps.next + v * L::size);
    };
    const auto place = [&](auto first, const auto& sees) TYPEFLOW_INLINE_LAMBDA {
      V y[count];
      unrolled<count>([&](auto v) TYPEFLOW_INLINE_LAMBDA { y[v] = load(dy + v * L::size); });
      unrolled<J>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
        if (!sees(j)) return;
        each([&](auto i, auto v) TYPEFLOW_INLINE_LAMBDA {
          if constexpr (j >= first) read(i, j, v);
          products[i][j][v] = cpu_kernels::fma(left[i][j][v], y[v], products[i][j][v]);
          if constexpr (j > 0 && first > 0) left[i][j - 1][v] = left[i][j][v];
        });
      });
      x += taps.step;
      dy += taps.channels;
    };
    unrolled<J>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
      each([&](auto i, auto v) TYPEFLOW_INLINE_LAMBDA { products[i][j][v] = V(T(0)); });
    });
    for (std::int64_t p = 0; p < taps.places; ++p) {
      if (p == taps.first) {
        unrolled<kept>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
          each([&](auto i, auto v) TYPEFLOW_INLINE_LAMBDA { read(i, j, v); });
        });
        for (; p < taps.last; ++p) {
          if (I > 1) cpu_kernels::prefetch_to_second(dy, L::size);  // the next channels
          if (I > 1) cpu_kernels::prefetch_to_second(x, (I - 1) * row + taps.next + L::size);
          place(std::integral_constant<int, kept>{}, [](auto) { return true; });
        }
        if (p == taps.places) break;
      }
      place(std::integral_constant<int, 0>{},
            [&](auto j) TYPEFLOW_INLINE_LAMBDA { return p >= taps.begin[j] && p < taps.end[j]; });
    }
    unrolled<J>([&](auto j) TYPEFLOW_INLINE_LAMBDA {
      each([&](auto i, auto v) TYPEFLOW_INLINE_LAMBDA {
        T* const to = sum + i * taps.sum_row + j * taps.channels + v * L::size;
        const V total = load(to) + products[i][j][v];
        Vectors > 0 ? L::store(to, total) : L::store(to, total, lanes);
      });
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
