// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/nn/pool.hpp. Channels lie side by side and fill vectors; threads share the rows to
// compute. Gradients do not scatter: each row of dx finds the windows that cover it, and adds their
// contributions in order. So no two threads write the same element, and the bits of a sum depend
// only on the windows.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cpu/product_kernel.hpp"
#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/nn/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Common parts of the kernels of pools. T is the element type.
template <class A, class T>
class PoolLoops {
 public:
  using L = Lanes<(sizeof(T) > 4), A>;
  using C = Computed<T>;
  using V = typename L::template of<T>;
  static constexpr int N = L::size;
  using Range = typeflow::detail::AxisRange;

  /// Channels c to c + U vectors; the last vector has `count` elements.
  template <int U>
  struct Block {
    std::int64_t c;
    int count;
    TYPEFLOW_INLINE V load(const T* p, int u) const {
      p += c + u * N;
      return count == N ? L::load(p) : L::load(p, count);
    }
    TYPEFLOW_INLINE void store(T* p, int u, const V& x) const {
      p += c + u * N;
      if (count == N) {
        L::template store<T>(p, L::template rounded<T>(x));
      } else {
        L::template store<T>(p, L::template rounded<T>(x), count);
      }
    }
  };

  PoolLoops(const ops::WindowAttributes& window, const Tensor& x) : image_(window, x.extents) {
    constexpr std::int64_t near = std::int64_t{1} << 23;  // bytes that come soon anyway
    asks_ = x.size() * std::int64_t{sizeof(T)} > near;
  }

  /// Calls f(block) for all channels, `widest` vectors at once and then one after the other.
  template <int Widest, class F>
  TYPEFLOW_INLINE void each_block(const F& f) const {
    std::int64_t c = 0;
    for (; c + Widest * N <= image_.channels; c += Widest * N) f(Block<Widest>{c, N});
    for (; c < image_.channels; c += N) {
      f(Block<1>{c, static_cast<int>(std::min<std::int64_t>(N, image_.channels - c))});
    }
  }

  /// Calls f(row of y, its places d and h, image) for parts of y's rows in several threads.
  template <class F>
  void each_row_of_y(const KernelCall& call, const F& f) const {
    const std::int64_t rows = image_.out[0] * image_.out[1];
    parallel(call, image_.images * rows, grain(image_.out[2], window()),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 f(row, row % rows / image_.out[1], row % image_.out[1], row / rows);
               }
             });
  }
  /// Calls f(image, d, first h, last h + 1) for parts of x's planes in several threads.
  template <class F>
  void each_band_of_x(const KernelCall& call, const F& f) const {
    const std::int64_t height = image_.in[1];
    const std::int64_t windows = window() / strides() + 1;  // that a pixel is in
    parallel(call, image_.images * image_.in[0] * height, grain(image_.in[2], windows),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end;) {
                 const std::int64_t plane = row / height;
                 const std::int64_t stop = std::min(end, (plane + 1) * height);
                 f(plane / image_.in[0], plane % image_.in[0], row - plane * height,
                   stop - plane * height);
                 row = stop;
               }
             });
  }

  /// The place of the first channel of a pixel of x, or of a place.
  std::int64_t pixel(std::int64_t image, std::int64_t d, std::int64_t h, std::int64_t w) const {
    return (((image * image_.in[0] + d) * image_.in[1] + h) * image_.in[2] + w) * image_.channels;
  }
  std::int64_t place(std::int64_t image, std::int64_t d, std::int64_t h, std::int64_t w) const {
    return (((image * image_.out[0] + d) * image_.out[1] + h) * image_.out[2] + w) *
           image_.channels;
  }

  /// Calls f(place) for the pixels of x in these ranges, in their order.
  template <class F>
  TYPEFLOW_INLINE void each_pixel(std::int64_t image, const Range& d, const Range& h,
                                  const Range& w, const F& f) const {
    for (std::int64_t i = d.begin; i < d.end; ++i) {
      for (std::int64_t j = h.begin; j < h.end; ++j) {
        const std::int64_t first = pixel(image, i, j, w.begin);
        for (std::int64_t k = 0; k < w.size(); ++k) f(first + k * image_.channels);
      }
    }
  }

  /// Asks for what places further on read in the last rows of a window, which no window above has
  /// read. Rows lie apart, and each is a run of memory that soon ends.
  template <int U>
  TYPEFLOW_INLINE void ask_ahead(const Block<U>& block, const T* x, std::int64_t image,
                                 const Range& d, const Range& h, const Range& w) const {
    if (U == 1 || !asks_) return;
    constexpr std::int64_t ahead = 3072 / sizeof(T);
    constexpr std::int64_t line = std::max<std::int64_t>(64 / sizeof(T), N);
    for (std::int64_t i = d.begin; i < d.end; ++i) {
      for (std::int64_t j = std::max(h.begin, h.end - image_.axis[1].stride); j < h.end; ++j) {
        std::int64_t at = pixel(image, i, j, w.begin) + block.c + ahead;
        for (std::int64_t k = 0; k < image_.axis[2].stride; ++k, at += image_.channels) {
          for (std::int64_t e = 0; e < U * N; e += line) cpu_kernels::prefetch(x, at + e);
        }
      }
    }
  }

  const typeflow::detail::PoolImage& image() const { return image_; }

 private:
  /// The number of rows of so many pixels that are worth a part, if each pixel is combined with so
  /// many others: a vector of channels is read each time.
  std::int64_t grain(std::int64_t pixels, std::int64_t others) const {
    constexpr std::int64_t cost_of_vector = 48;
    return grain_of_cost(pixels * others * ((image_.channels + N - 1) / N) * cost_of_vector);
  }
  std::int64_t window() const {
    return image_.axis[0].size * image_.axis[1].size * image_.axis[2].size;
  }
  std::int64_t strides() const {
    return image_.axis[0].stride * image_.axis[1].stride * image_.axis[2].stride;
  }

  typeflow::detail::PoolImage image_;
  bool asks_;
};

/// a, or b where it is larger or the first NaN.
template <class T, class V>
TYPEFLOW_INLINE V first_largest(const V& a, const V& b) {
  if constexpr (is_batch<T>) {
    return xsimd::select((!(b <= a)) & (a == a), b, a);
  } else {
    return select(a < b, b, a);
  }
}

template <>
struct kernel_of<ops::MaxPool> {
  template <class A, class T>
  static void run(const ops::MaxPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops<A, T> loops(op.window, *in);
    const auto* const x = static_cast<const T*>(in->data);
    auto* const y = static_cast<T*>(out->data);
    loops.each_row_of_y(call, [&](std::int64_t r, std::int64_t d, std::int64_t h, std::int64_t n) {
      row<A, T>(loops, x, y + r * loops.image().out[2] * loops.image().channels, d, h, n);
    });
  }

 private:
  template <class A, class T>
  [[gnu::flatten]] static void row(const PoolLoops<A, T>& loops, const T* x, T* y, std::int64_t d,
                                   std::int64_t h, std::int64_t n) {
    using V = typename PoolLoops<A, T>::V;
    const auto& image = loops.image();
    const auto in_d = image.covered(0, d);
    const auto in_h = image.covered(1, h);
    for (std::int64_t place = 0; place < image.out[2]; ++place, y += image.channels) {
      const auto in_w = image.covered(2, place);
      const T* const first = x + loops.pixel(n, in_d.begin, in_h.begin, in_w.begin);
      loops.template each_block<4>(
          [&]<int U>(const typename PoolLoops<A, T>::template Block<U>& block)
              TYPEFLOW_INLINE_LAMBDA {
                loops.ask_ahead(block, x, n, in_d, in_h, in_w);
                V best[U];
                for (int u = 0; u < U; ++u) best[u] = block.load(first, u);
                loops.each_pixel(n, in_d, in_h, in_w, [&](std::int64_t at) TYPEFLOW_INLINE_LAMBDA {
                  for (int u = 0; u < U; ++u) {
                    best[u] = first_largest<T>(best[u], block.load(x + at, u));
                  }
                });
                for (int u = 0; u < U; ++u) block.store(y, u, best[u]);
              });
    }
  }
};

/// Whether x is the largest element y of its window, or NaN, in lanes without a `found` element
/// yet.
template <class V, class M>
TYPEFLOW_INLINE M is_first(const V& x, const V& y, M& found) {
  const M here = ((x == y) | (!(x == x))) & (!found);  // xsimd 8's != is false of NaN
  found = found | here;
  return here;
}

template <>
struct kernel_of<ops::MaxPoolSelect> {
  template <class A, class T>
  static void run(const ops::MaxPoolSelect& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      const PoolLoops<A, T> loops(op.window, *in);
      loops.each_row_of_y(call, [&](std::int64_t r, std::int64_t d, std::int64_t h,
                                    std::int64_t n) {
        const std::int64_t at = r * loops.image().out[2] * loops.image().channels;
        row<A, T>(loops, static_cast<const T*>(in[0].data), static_cast<const T*>(in[1].data) + at,
                  static_cast<const T*>(in[2].data), static_cast<T*>(out->data) + at, d, h, n);
      });
    }
  }

 private:
  template <class A, class T>
  [[gnu::flatten]] static void row(const PoolLoops<A, T>& loops, const T* x, const T* y, const T* z,
                                   T* to, std::int64_t d, std::int64_t h, std::int64_t n) {
    using V = typename PoolLoops<A, T>::V;
    using M = typename V::batch_bool_type;
    const auto& image = loops.image();
    const auto in_d = image.covered(0, d);
    const auto in_h = image.covered(1, h);
    for (std::int64_t place = 0; place < image.out[2]; ++place) {
      const auto in_w = image.covered(2, place);
      loops.template each_block<1>(
          [&](const typename PoolLoops<A, T>::template Block<1>& block) TYPEFLOW_INLINE_LAMBDA {
            const V largest = block.load(y, 0);
            V selected(T(0));
            M found(false);
            loops.each_pixel(n, in_d, in_h, in_w, [&](std::int64_t at) TYPEFLOW_INLINE_LAMBDA {
              const M here = is_first(block.load(x + at, 0), largest, found);
              selected = xsimd::select(here, block.load(z + at, 0), selected);
            });
            block.store(to, 0, selected);
          });
      y += image.channels;
      to += image.channels;
    }
  }
};

/// Every band of rows visits the windows that cover it, and takes the contributions that lie in it.
template <>
struct kernel_of<ops::MaxPoolGradient> {
  template <class A, class T>
  static void run(const ops::MaxPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      const PoolLoops<A, T> loops(op.window, *in);
      const auto* const x = static_cast<const T*>(in[0].data);
      const auto* const y = static_cast<const T*>(in[1].data);
      const auto* const dy = static_cast<const T*>(in[2].data);
      auto* const dx = static_cast<T*>(out->data);
      loops.each_band_of_x(
          call, [&](std::int64_t n, std::int64_t d, std::int64_t first, std::int64_t end) {
            const auto& image = loops.image();
            std::fill(dx + loops.pixel(n, d, first, 0), dx + loops.pixel(n, d, end, 0), T(0));
            const auto planes = image.covering(0, d);
            const std::int64_t above = image.covering(1, first).begin;
            const std::int64_t below = image.covering(1, end - 1).end;
            for (std::int64_t i = planes.begin; i < planes.end; ++i) {
              for (std::int64_t j = above; j < below; ++j) {
                const std::int64_t at = loops.place(n, i, j, 0);
                row<A, T>(loops, x, y + at, dy + at, dx, i, j, n, d, {first, end});
              }
            }
          });
    }
  }

 private:
  template <class A, class T>
  [[gnu::flatten]] static void row(const PoolLoops<A, T>& loops, const T* x, const T* y,
                                   const T* dy, T* dx, std::int64_t d, std::int64_t h,
                                   std::int64_t n, std::int64_t plane,
                                   typeflow::detail::AxisRange rows) {
    using V = typename PoolLoops<A, T>::V;
    using M = typename V::batch_bool_type;
    const auto& image = loops.image();
    const auto in_d = image.covered(0, d);
    const auto in_h = image.covered(1, h);
    const std::int64_t begin = loops.pixel(n, plane, rows.begin, 0);
    const std::int64_t end = loops.pixel(n, plane, rows.end, 0);
    for (std::int64_t place = 0; place < image.out[2]; ++place) {
      const auto in_w = image.covered(2, place);
      loops.template each_block<1>(
          [&](const typename PoolLoops<A, T>::template Block<1>& block) TYPEFLOW_INLINE_LAMBDA {
            const V largest = block.load(y, 0);
            const V given = block.load(dy, 0);
            M found(false);
            loops.each_pixel(n, in_d, in_h, in_w, [&](std::int64_t at) TYPEFLOW_INLINE_LAMBDA {
              const M here = is_first(block.load(x + at, 0), largest, found);
              if (at < begin || at >= end) return;
              block.store(dx + at, 0, block.load(dx + at, 0) + xsimd::select(here, given, V(T(0))));
            });
          });
      y += image.channels;
      dy += image.channels;
    }
  }
};

template <>
struct kernel_of<ops::AvgPool> {
  template <class A, class T>
  static void run(const ops::AvgPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (is_batch<T>) {
      const PoolLoops<A, T> loops(op.window, *in);
      const auto* const x = static_cast<const T*>(in->data);
      auto* const y = static_cast<T*>(out->data);
      loops.each_row_of_y(
          call, [&](std::int64_t r, std::int64_t d, std::int64_t h, std::int64_t n) {
            row<A, T>(loops, x, y + r * loops.image().out[2] * loops.image().channels, d, h, n);
          });
    }
  }

 private:
  template <class A, class T>
  [[gnu::flatten]] static void row(const PoolLoops<A, T>& loops, const T* x, T* y, std::int64_t d,
                                   std::int64_t h, std::int64_t n) {
    using V = typename PoolLoops<A, T>::V;
    using C = typename PoolLoops<A, T>::C;
    const auto& image = loops.image();
    const auto in_d = image.covered(0, d);
    const auto in_h = image.covered(1, h);
    for (std::int64_t place = 0; place < image.out[2]; ++place, y += image.channels) {
      const auto in_w = image.covered(2, place);
      const V count(static_cast<C>(in_d.size() * in_h.size() * in_w.size()));
      loops.template each_block<4>(
          [&]<int U>(const typename PoolLoops<A, T>::template Block<U>& block)
              TYPEFLOW_INLINE_LAMBDA {
                loops.ask_ahead(block, x, n, in_d, in_h, in_w);
                V sum[U];
                for (V& s : sum) s = V(C(0));
                loops.each_pixel(n, in_d, in_h, in_w, [&](std::int64_t at) TYPEFLOW_INLINE_LAMBDA {
                  for (int u = 0; u < U; ++u) sum[u] = sum[u] + block.load(x + at, u);
                });
                for (int u = 0; u < U; ++u) block.store(y, u, sum[u] / count);
              });
    }
  }
};

template <>
struct kernel_of<ops::AvgPoolGradient> {
  template <class A, class T>
  static void run(const ops::AvgPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (is_batch<T>) {
      const PoolLoops<A, T> loops(op.window, *out);
      const auto* const dy = static_cast<const T*>(in->data);
      auto* const dx = static_cast<T*>(out->data);
      loops.each_band_of_x(
          call, [&](std::int64_t n, std::int64_t d, std::int64_t first, std::int64_t end) {
            for (std::int64_t h = first; h < end; ++h) {
              row<A, T>(loops, dy, dx + loops.pixel(n, d, h, 0), d, h, n);
            }
          });
    }
  }

 private:
  template <class A, class T>
  [[gnu::flatten]] static void row(const PoolLoops<A, T>& loops, const T* dy, T* dx, std::int64_t d,
                                   std::int64_t h, std::int64_t n) {
    using V = typename PoolLoops<A, T>::V;
    using C = typename PoolLoops<A, T>::C;
    const auto& image = loops.image();
    const auto of_d = image.covering(0, d);
    const auto of_h = image.covering(1, h);
    const auto& axis = image.axis[2];
    auto of_w = image.covering(2, 0);
    std::int64_t elements = 0;  // of a window
    V part(C(0));               // 1 / elements
    for (std::int64_t w = 0; w < image.in[2]; ++w, dx += image.channels) {
      // As image.covering(2, w), without divisions.
      const std::int64_t at = w + axis.before;
      while (of_w.begin < image.out[2] && of_w.begin * axis.stride + axis.size <= at) ++of_w.begin;
      while (of_w.end < image.out[2] && of_w.end * axis.stride <= at) ++of_w.end;
      loops.template each_block<4>(
          [&]<int U>(const typename PoolLoops<A, T>::template Block<U>& block)
              TYPEFLOW_INLINE_LAMBDA {
                V sum[U];
                for (V& s : sum) s = V(C(0));
                for (std::int64_t i = of_d.begin; i < of_d.end; ++i) {
                  for (std::int64_t j = of_h.begin; j < of_h.end; ++j) {
                    const std::int64_t rows =
                        image.covered(0, i).size() * image.covered(1, j).size();
                    for (std::int64_t k = of_w.begin; k < of_w.end; ++k) {
                      const std::int64_t covered = rows * image.covered(2, k).size();
                      if (covered != elements) {
                        elements = covered;
                        part = V(C(1) / static_cast<C>(covered));
                      }
                      const T* const given = dy + loops.place(n, i, j, k);
                      for (int u = 0; u < U; ++u) sum[u] = sum[u] + block.load(given, u) * part;
                    }
                  }
                }
                for (int u = 0; u < U; ++u) block.store(dx, u, sum[u]);
              });
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
