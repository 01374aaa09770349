// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/nn/pool.hpp. A thread computes one element; neighbouring threads have neighbouring
// channels. Gradients do not scatter: each element of dx finds the windows that cover it, and adds
// their contributions in order, as on the processor.

#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/nn/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

using typeflow::detail::AxisRange;
using typeflow::detail::PoolImage;

/// A place of a window, or a pixel of the image.
struct PoolPoint {
  std::int64_t image;
  std::int64_t d;
  std::int64_t h;
  std::int64_t w;
  std::int64_t channel;
};

/// The geometry of a pool, and walks through it.
struct PoolLoops {
  PoolImage image;

  PoolLoops(const ops::WindowAttributes& window, const Tensor& x) : image(window, x.extents) {}

  std::int64_t results() const {
    return image.images * image.out[0] * image.out[1] * image.out[2] * image.channels;
  }
  std::int64_t elements() const {
    return image.images * image.in[0] * image.in[1] * image.in[2] * image.channels;
  }
  template <class Index>
  TYPEFLOW_DEVICE PoolPoint point(Index i, const std::int64_t (&extent)[max_window_rank]) const {
    PoolPoint p;
    p.channel = next_digit(i, image.channels);
    p.w = next_digit(i, extent[2]);
    p.h = next_digit(i, extent[1]);
    p.d = next_digit(i, extent[0]);
    p.image = static_cast<std::int64_t>(i);
    return p;
  }
  template <class Index>
  TYPEFLOW_DEVICE PoolPoint place(Index i) const {
    return point(i, image.out);
  }
  template <class Index>
  TYPEFLOW_DEVICE PoolPoint pixel(Index i) const {
    return point(i, image.in);
  }

  /// Calls f(element of x) for the window at a place, in the order of x, until it returns true.
  template <class F>
  TYPEFLOW_DEVICE void each_in_window(const PoolPoint& at, const F& f) const {
    const AxisRange d = image.covered(0, at.d);
    const AxisRange h = image.covered(1, at.h);
    const AxisRange w = image.covered(2, at.w);
    for (std::int64_t i = d.begin; i < d.end; ++i) {
      for (std::int64_t j = h.begin; j < h.end; ++j) {
        const std::int64_t row = (at.image * image.in[0] + i) * image.in[1] + j;
        for (std::int64_t k = w.begin; k < w.end; ++k) {
          if (f((row * image.in[2] + k) * image.channels + at.channel)) return;
        }
      }
    }
  }
  /// Calls f(element of y, its place) for the windows that cover a pixel, in the order of y.
  template <class F>
  TYPEFLOW_DEVICE void each_covering(const PoolPoint& at, const F& f) const {
    const AxisRange d = image.covering(0, at.d);
    const AxisRange h = image.covering(1, at.h);
    const AxisRange w = image.covering(2, at.w);
    for (std::int64_t i = d.begin; i < d.end; ++i) {
      for (std::int64_t j = h.begin; j < h.end; ++j) {
        const std::int64_t row = (at.image * image.out[0] + i) * image.out[1] + j;
        for (std::int64_t k = w.begin; k < w.end; ++k) {
          f((row * image.out[2] + k) * image.channels + at.channel,
            PoolPoint{at.image, i, j, k, at.channel});
        }
      }
    }
  }
  /// The first element of a window that is the largest, or NaN.
  template <class T>
  TYPEFLOW_DEVICE std::int64_t largest(const PoolPoint& at, const T* x, T of_window) const {
    using C = Computed<T>;
    const C most = static_cast<C>(of_window);
    std::int64_t found = 0;
    each_in_window(at, [&](std::int64_t i) {
      const C e = static_cast<C>(x[i]);
      found = i;
      return e == most || e != e;
    });
    return found;
  }
};

template <class T>
struct MaxPoolElement {
  PoolLoops loops;
  const T* x;
  T* y;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    bool is_first = true;
    C best = C(0);
    loops.each_in_window(loops.place(at), [&](std::int64_t i) {
      const C e = static_cast<C>(x[i]);
      if (is_first || (!(e <= best) && best == best)) best = e;
      is_first = false;
      return false;
    });
    y[at] = static_cast<T>(best);
  }
};

template <>
struct kernel_of<ops::MaxPool> {
  template <class T>
  static void run(const ops::MaxPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *in);
    each(call, loops.results(),
         MaxPoolElement<T>{loops, static_cast<const T*>(in->data), static_cast<T*>(out->data)});
  }
};

template <class T>
struct MaxPoolSelectElement {
  PoolLoops loops;
  const T* x;
  const T* y;
  const T* z;
  T* out;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    out[at] = z[loops.largest(loops.place(at), x, y[at])];
  }
};

template <>
struct kernel_of<ops::MaxPoolSelect> {
  template <class T>
  static void run(const ops::MaxPoolSelect& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *in);
    each(call, loops.results(),
         MaxPoolSelectElement<T>{loops, static_cast<const T*>(in[0].data),
                                 static_cast<const T*>(in[1].data),
                                 static_cast<const T*>(in[2].data), static_cast<T*>(out->data)});
  }
};

template <class T>
struct MaxPoolGradientElement {
  PoolLoops loops;
  const T* x;
  const T* y;
  const T* dy;
  T* dx;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    const C element = static_cast<C>(x[at]);
    C sum = C(0);
    loops.each_covering(loops.pixel(at), [&](std::int64_t i, const PoolPoint& place) {
      const bool may_be = element == static_cast<C>(y[i]) || element != element;
      if (may_be && loops.largest(place, x, y[i]) == static_cast<std::int64_t>(at)) {
        sum = sum + static_cast<C>(dy[i]);
      }
    });
    dx[at] = static_cast<T>(sum);
  }
};

template <>
struct kernel_of<ops::MaxPoolGradient> {
  template <class T>
  static void run(const ops::MaxPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *in);
    each(call, loops.elements(),
         MaxPoolGradientElement<T>{loops, static_cast<const T*>(in[0].data),
                                   static_cast<const T*>(in[1].data),
                                   static_cast<const T*>(in[2].data), static_cast<T*>(out->data)});
  }
};

template <class T>
struct AvgPoolElement {
  PoolLoops loops;
  const T* x;
  T* y;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    C sum = C(0);
    std::int64_t count = 0;
    loops.each_in_window(loops.place(at), [&](std::int64_t i) {
      sum = sum + static_cast<C>(x[i]);
      ++count;
      return false;
    });
    y[at] = static_cast<T>(sum / static_cast<C>(count));
  }
};

template <>
struct kernel_of<ops::AvgPool> {
  template <class T>
  static void run(const ops::AvgPool& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *in);
    each(call, loops.results(),
         AvgPoolElement<T>{loops, static_cast<const T*>(in->data), static_cast<T*>(out->data)});
  }
};

template <class T>
struct AvgPoolGradientElement {
  PoolLoops loops;
  const T* dy;
  T* dx;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    C sum = C(0);
    loops.each_covering(loops.pixel(at), [&](std::int64_t i, const PoolPoint& place) {
      const std::int64_t count = loops.image.covered(0, place.d).size() *
                                 loops.image.covered(1, place.h).size() *
                                 loops.image.covered(2, place.w).size();
      const C part = C(1) / static_cast<C>(count);
      sum = sum + static_cast<C>(dy[i]) * part;
    });
    dx[at] = static_cast<T>(sum);
  }
};

template <>
struct kernel_of<ops::AvgPoolGradient> {
  template <class T>
  static void run(const ops::AvgPoolGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops loops(op.window, *out);
    each(call, loops.elements(),
         AvgPoolGradientElement<T>{loops, static_cast<const T*>(in->data),
                                   static_cast<T*>(out->data)});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
