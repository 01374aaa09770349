// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/nn/pool.hpp. Gradients do not scatter: each element of dx finds the windows that
// cover it, and adds their contributions in order, as on the processor. If windows do not overlap,
// a thread writes dx for a whole window.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/pool_loops.hpp"
#include "typeflow/ops/nn/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

template <class T, class Loops>
struct MaxPoolElement;
template <class T, class Index, int N>
struct MaxPoolElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = false;
  PoolLoops<Index, N> loops;
  const T* x;
  T* y;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    const auto found = loops.largest(loops.place(static_cast<Index>(at)), x);
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) result.element[n] = static_cast<T>(found.value[n]);
    store_channels<N>(y + at * N, result);
  }
};

template <>
struct kernel_of<ops::MaxPool> {
  template <class T>
  static void run(const ops::MaxPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each_pool<MaxPoolElement, T>(call, PoolImage(op.window, in->extents),
                                 static_cast<const T*>(in->data), static_cast<T*>(out->data));
  }
};

template <class T, class Loops>
struct MaxPoolSelectElement;
template <class T, class Index, int N>
struct MaxPoolSelectElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = false;
  PoolLoops<Index, N> loops;
  const T* x;
  const T* z;
  T* out;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    const PoolPoint<Index> place = loops.place(static_cast<Index>(at));
    const auto found = loops.largest(place, x);
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) result.element[n] = z[loops.offset(found.pixel[n], place) + n];
    store_channels<N>(out + at * N, result);
  }
};

template <>
struct kernel_of<ops::MaxPoolSelect> {
  template <class T>
  static void run(const ops::MaxPoolSelect& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each_pool<MaxPoolSelectElement, T>(
        call, PoolImage(op.window, in->extents), static_cast<const T*>(in[0].data),
        static_cast<const T*>(in[2].data), static_cast<T*>(out->data));
  }
};

/// A pixel of dx. It has a window's gradient if it is as large as y, and none before it in the
/// window is.
template <class T, class Loops>
struct MaxPoolGradientElement;
template <class T, class Index, int N>
struct MaxPoolGradientElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = true;
  PoolLoops<Index, N> loops;
  const T* x;
  const T* y;
  const T* dy;
  T* dx;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    using C = Computed<T>;
    const PoolPoint<Index> pixel = loops.pixel(static_cast<Index>(at));
    const Packet<T, N> own = load_channels<N>(x + at * N);
    C sum[N] = {};
    loops.each_covering(pixel, [&](Index number, const PoolPoint<Index>& place) {
      const Index offset = loops.offset(number, pixel);
      const Packet<T, N> most = load_channels<N>(y + offset);
      bool wins[N];
      bool any = false;
      TYPEFLOW_UNROLL
      for (int n = 0; n < N; ++n) {
        wins[n] = is_largest(own.element[n], most.element[n]);
        any = any || wins[n];
      }
      if (!any) return;
      loops.each_before(place, pixel, [&](Index before) {
        const Packet<T, N> elements = load_channels<N>(x + loops.offset(before, pixel));
        TYPEFLOW_UNROLL
        for (int n = 0; n < N; ++n) {
          wins[n] = wins[n] && !is_largest(elements.element[n], most.element[n]);
        }
      });
      const Packet<T, N> slope = load_channels<N>(dy + offset);
      TYPEFLOW_UNROLL
      for (int n = 0; n < N; ++n) {
        if (wins[n]) sum[n] = sum[n] + static_cast<C>(slope.element[n]);
      }
    });
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) result.element[n] = static_cast<T>(sum[n]);
    store_channels<N>(dx + at * N, result);
  }

  /// Whether an element is its window's largest, or NaN.
  TYPEFLOW_DEVICE static bool is_largest(T element, T most) {
    const auto e = static_cast<Computed<T>>(element);
    return e == static_cast<Computed<T>>(most) || e != e;
  }
};

/// A window's cell of dx, of windows that do not overlap: the window's gradient at its largest
/// element, and 0 elsewhere.
template <class T, class Loops>
struct MaxPoolCell;
template <class T, class Index, int N>
struct MaxPoolCell<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = false;
  PoolLoops<Index, N> loops;
  const T* x;
  const T* dy;
  T* dx;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    using C = Computed<T>;
    const PoolPoint<Index> place = loops.place(static_cast<Index>(at));
    Packet<T, N> slope = load_channels<N>(dy + at * N);
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {  // a sum as the others: -0 becomes 0
      slope.element[n] = static_cast<T>(C(0) + static_cast<C>(slope.element[n]));
    }
    const auto found = loops.largest(place, x);
    loops.each_pixel(place.image, loops.d.cell(place.d), loops.h.cell(place.h),
                     loops.w.cell(place.w), [&](Index pixel) {
                       Packet<T, N> result;
                       TYPEFLOW_UNROLL
                       for (int n = 0; n < N; ++n) {
                         result.element[n] =
                             pixel == found.pixel[n] ? slope.element[n] : static_cast<T>(C(0));
                       }
                       store_channels<N>(dx + loops.offset(pixel, place), result);
                     });
  }

  /// Whether the cells of these windows are dx, and small enough for a thread.
  static bool fits(const PoolImage& image) {
    constexpr std::int64_t largest_cell = 64;
    std::int64_t cell = 1;
    bool fits = true;
    for (int i = 0; i < max_window_rank; ++i) {
      const WindowAxis& axis = image.axis[i];
      fits = fits && image.out[i] > 0 && axis.size <= axis.stride;
      if (image.out[i] > 1)
        cell *= std::min(axis.stride, largest_cell + 1);
      else
        cell *= std::min(image.in[i], largest_cell + 1);
    }
    return fits && cell <= largest_cell;
  }
};

template <>
struct kernel_of<ops::MaxPoolGradient> {
  template <class T>
  static void run(const ops::MaxPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolImage image(op.window, in->extents);
    const auto* const x = static_cast<const T*>(in[0].data);
    const auto* const y = static_cast<const T*>(in[1].data);
    const auto* const dy = static_cast<const T*>(in[2].data);
    auto* const dx = static_cast<T*>(out->data);
    if (MaxPoolCell<T, PoolLoops<std::int64_t, 1>>::fits(image)) {
      each_pool<MaxPoolCell, T>(call, image, x, dy, dx);
    } else {
      each_pool<MaxPoolGradientElement, T>(call, image, x, y, dy, dx);
    }
  }
};

template <class T, class Loops>
struct AvgPoolElement;
template <class T, class Index, int N>
struct AvgPoolElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = false;
  PoolLoops<Index, N> loops;
  const T* x;
  T* y;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    using C = Computed<T>;
    const PoolPoint<Index> place = loops.place(static_cast<Index>(at));
    C sum[N] = {};
    Index count = 0;
    loops.each_in_window(place, [&](Index pixel) {
      const Packet<T, N> elements = load_channels<N>(x + loops.offset(pixel, place));
      TYPEFLOW_UNROLL
      for (int n = 0; n < N; ++n) sum[n] = sum[n] + static_cast<C>(elements.element[n]);
      ++count;
    });
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {
      result.element[n] = static_cast<T>(sum[n] / static_cast<C>(count));
    }
    store_channels<N>(y + at * N, result);
  }
};

template <>
struct kernel_of<ops::AvgPool> {
  template <class T>
  static void run(const ops::AvgPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each_pool<AvgPoolElement, T>(call, PoolImage(op.window, in->extents),
                                 static_cast<const T*>(in->data), static_cast<T*>(out->data));
  }
};

template <class T, class Loops>
struct AvgPoolGradientElement;
template <class T, class Index, int N>
struct AvgPoolGradientElement<T, PoolLoops<Index, N>> {
  static constexpr bool is_of_pixels = true;
  PoolLoops<Index, N> loops;
  const T* dy;
  T* dx;

  template <class Number>
  TYPEFLOW_DEVICE void operator()(Number at) const {
    using C = Computed<T>;
    const PoolPoint<Index> pixel = loops.pixel(static_cast<Index>(at));
    C sum[N] = {};
    loops.each_covering(pixel, [&](Index number, const PoolPoint<Index>& place) {
      const Index count = loops.d.covered(place.d).size() * loops.h.covered(place.h).size() *
                          loops.w.covered(place.w).size();
      const C part = C(1) / static_cast<C>(count);
      const Packet<T, N> slope = load_channels<N>(dy + loops.offset(number, pixel));
      TYPEFLOW_UNROLL
      for (int n = 0; n < N; ++n) sum[n] = sum[n] + static_cast<C>(slope.element[n]) * part;
    });
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) result.element[n] = static_cast<T>(sum[n]);
    store_channels<N>(dx + at * N, result);
  }
};

template <>
struct kernel_of<ops::AvgPoolGradient> {
  template <class T>
  static void run(const ops::AvgPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    each_pool<AvgPoolGradientElement, T>(call, PoolImage(op.window, out->extents),
                                         static_cast<const T*>(in->data),
                                         static_cast<T*>(out->data));
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
