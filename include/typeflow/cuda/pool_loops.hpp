// SPDX-License-Identifier: Apache-2.0
#pragma once

// The walks of pools' kernels. A thread has neighbouring channels of a place or of a pixel, which
// it loads and stores by accesses of up to 16 bytes where channels and addresses allow it. It
// divides by extents that the host knows, so that a division is a multiplication.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/cuda/divider.hpp"
#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/nn/pool.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

using typeflow::detail::PoolImage;

/// Division of numbers that are too large for a Divider, in its form.
struct WideDivider {
  std::int64_t divisor;

  static constexpr WideDivider by(std::int64_t divisor) { return {divisor}; }
  constexpr std::int64_t quotient(std::int64_t n) const { return n / divisor; }
  constexpr std::int64_t take_remainder(std::int64_t& n) const {
    const std::int64_t whole = n;
    n = quotient(whole);
    return whole - n * divisor;
  }
};

/// Some neighbouring elements, or places, of an axis.
template <class Index>
struct PoolRange {
  Index begin;
  Index end;
  constexpr Index size() const { return end - begin; }
};

/// An axis of a pool: PoolImage's, without divisions.
template <class Index>
struct PoolAxis {
  using Division = std::conditional_t<sizeof(Index) == 4, Divider, WideDivider>;
  using Dividend = std::conditional_t<sizeof(Index) == 4, std::uint32_t, std::int64_t>;
  Index in;
  Index out;
  Index size;
  Index stride;
  Index before;
  Division by_in;
  Division by_out;
  Division by_stride;

  PoolAxis(const PoolImage& image, int i)
      : in(static_cast<Index>(image.in[i])),
        out(static_cast<Index>(image.out[i])),
        size(static_cast<Index>(image.axis[i].size)),
        stride(static_cast<Index>(image.axis[i].stride)),
        before(static_cast<Index>(image.axis[i].before)),
        by_in(Division::by(std::max<std::int64_t>(in, 1))),
        by_out(Division::by(std::max<std::int64_t>(out, 1))),
        by_stride(Division::by(stride)) {}

  /// The elements that the window at a place covers.
  constexpr PoolRange<Index> covered(Index place) const {
    const Index begin = place * stride - before;
    return {std::max<Index>(begin, 0), std::min<Index>(begin + size, in)};
  }
  /// The places whose windows cover an element.
  constexpr PoolRange<Index> covering(Index element) const {
    const Index at = element + before;
    return {at < size ? 0 : strides_in(at - size) + 1, std::min<Index>(strides_in(at) + 1, out)};
  }
  /// The elements from where the window at a place begins to where the next one does. The first and
  /// the last place have those in front and behind, too.
  constexpr PoolRange<Index> cell(Index place) const {
    const Index begin = place * stride - before;
    return {place == 0 ? 0 : begin, place == out - 1 ? in : begin + stride};
  }

 private:
  constexpr Index strides_in(Index n) const {
    return static_cast<Index>(by_stride.quotient(static_cast<Dividend>(n)));
  }
};

/// A place of a window, or a pixel of the image, and the first channel of a thread.
template <class Index>
struct PoolPoint {
  Index image;
  Index d;
  Index h;
  Index w;
  Index channel;
};

/// The largest elements of N windows, one of each of N channels, and the pixels that have them: the
/// first one of several. NaN is the largest.
template <class T, class Index, int N>
struct LargestElements {
  Computed<T> value[N];
  Index pixel[N];
};

template <int N, class T>
TYPEFLOW_DEVICE Packet<T, N> load_channels(const T* from) {
  return *reinterpret_cast<const Packet<T, N>*>(from);
}
template <int N, class T>
TYPEFLOW_DEVICE void store_channels(T* to, const Packet<T, N>& elements) {
  *reinterpret_cast<Packet<T, N>*>(to) = elements;
}

/// The geometry of a pool for threads that have N channels each, and walks through it. Pixels and
/// places are numbered without their channels.
template <class I, int N>
struct PoolLoops {
  using Index = I;
  using Axis = PoolAxis<Index>;
  using Point = PoolPoint<Index>;
  Axis d;
  Axis h;
  Axis w;
  Index channels;
  typename Axis::Division by_packets;  ///< of a pixel

  explicit PoolLoops(const PoolImage& image)
      : d(image, 0),
        h(image, 1),
        w(image, 2),
        channels(static_cast<Index>(image.channels)),
        by_packets(Axis::Division::by(std::max<std::int64_t>(image.channels / N, 1))) {}

  TYPEFLOW_DEVICE Point place(Index thread) const {
    return point(thread, d.by_out, h.by_out, w.by_out);
  }
  TYPEFLOW_DEVICE Point pixel(Index thread) const {
    return point(thread, d.by_in, h.by_in, w.by_in);
  }
  TYPEFLOW_DEVICE Index pixel_at(const Point& p) const {
    return ((p.image * d.in + p.d) * h.in + p.h) * w.in + p.w;
  }
  /// Where the channels of a pixel or place begin.
  TYPEFLOW_DEVICE Index offset(Index pixel, const Point& at) const {
    return pixel * channels + at.channel;
  }

  /// Calls f(pixel) for the window at a place, in the order of x.
  template <class F>
  TYPEFLOW_DEVICE void each_in_window(const Point& at, const F& f) const {
    each_pixel(at.image, d.covered(at.d), h.covered(at.h), w.covered(at.w), f);
  }
  /// The same for the pixels of the window that come before one of them.
  template <class F>
  TYPEFLOW_DEVICE void each_before(const Point& at, const Point& pixel, const F& f) const {
    const PoolRange<Index> rows = h.covered(at.h);
    const PoolRange<Index> columns = w.covered(at.w);
    for (Index i = d.covered(at.d).begin; i <= pixel.d; ++i) {
      const bool is_slice = i == pixel.d;
      const Index last_row = is_slice ? pixel.h : rows.end - 1;
      for (Index j = rows.begin; j <= last_row; ++j) {
        const Index row = ((at.image * d.in + i) * h.in + j) * w.in;
        const Index end = is_slice && j == pixel.h ? pixel.w : columns.end;
        for (Index k = columns.begin; k < end; ++k) f(row + k);
      }
    }
  }
  template <class F>
  TYPEFLOW_DEVICE void each_pixel(Index image, const PoolRange<Index>& slices,
                                  const PoolRange<Index>& rows, const PoolRange<Index>& columns,
                                  const F& f) const {
    for (Index i = slices.begin; i < slices.end; ++i) {
      for (Index j = rows.begin; j < rows.end; ++j) {
        const Index row = ((image * d.in + i) * h.in + j) * w.in;
        for (Index k = columns.begin; k < columns.end; ++k) f(row + k);
      }
    }
  }
  /// Calls f(number of the place, the place) for the windows that cover a pixel, in the order of y.
  template <class F>
  TYPEFLOW_DEVICE void each_covering(const Point& at, const F& f) const {
    const PoolRange<Index> slices = d.covering(at.d);
    const PoolRange<Index> rows = h.covering(at.h);
    const PoolRange<Index> columns = w.covering(at.w);
    for (Index i = slices.begin; i < slices.end; ++i) {
      for (Index j = rows.begin; j < rows.end; ++j) {
        const Index row = ((at.image * d.out + i) * h.out + j) * w.out;
        for (Index k = columns.begin; k < columns.end; ++k) {
          f(row + k, Point{at.image, i, j, k, at.channel});
        }
      }
    }
  }
  template <class T>
  TYPEFLOW_DEVICE LargestElements<T, Index, N> largest(const Point& at, const T* x) const {
    using C = Computed<T>;
    LargestElements<T, Index, N> found{};
    bool is_first = true;
    each_in_window(at, [&](Index pixel) {
      const Packet<T, N> elements = load_channels<N>(x + offset(pixel, at));
      TYPEFLOW_UNROLL
      for (int n = 0; n < N; ++n) {
        const C e = static_cast<C>(elements.element[n]);
        const C best = found.value[n];
        if (!is_first && (e <= best || best != best)) continue;
        found.value[n] = e;
        found.pixel[n] = pixel;
      }
      is_first = false;
    });
    return found;
  }

 private:
  TYPEFLOW_DEVICE Point point(Index thread, const typename Axis::Division& by_d,
                              const typename Axis::Division& by_h,
                              const typename Axis::Division& by_w) const {
    auto rest = static_cast<typename Axis::Dividend>(thread);
    Point p;
    p.channel = static_cast<Index>(by_packets.take_remainder(rest)) * N;
    p.w = static_cast<Index>(by_w.take_remainder(rest));
    p.h = static_cast<Index>(by_h.take_remainder(rest));
    p.d = static_cast<Index>(by_d.take_remainder(rest));
    p.image = static_cast<Index>(rest);
    return p;
  }
};

/// Whether numbers of 32 bits suffice for all that PoolLoops computes.
inline bool is_small_pool(const PoolImage& image) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto elements = [&](const std::int64_t(&extent)[max_window_rank]) {
    std::int64_t count = image.images * image.channels;
    for (const std::int64_t e : extent) count *= e;
    return count;
  };
  bool is_small = elements(image.in) < most && elements(image.out) < most;
  for (int i = 0; i < max_window_rank; ++i) {
    const WindowAxis& axis = image.axis[i];
    for (const std::int64_t n :
         {image.in[i], image.out[i], axis.size, axis.stride, axis.before, axis.after}) {
      is_small = is_small && n < most / 8;
    }
  }
  return is_small;
}

template <int N, class T>
bool holds_packets(const T* data) {
  return address_of(data) % (N * sizeof(T)) == 0;
}
template <int N>
bool holds_packets(std::int64_t) {
  return true;  // a number, which no thread loads
}

/// Runs Element<T, PoolLoops> for the threads that cover the elements of the pool, or of its image.
/// The element's members are the loops and these arguments.
template <template <class, class> class Element, class T, class... A>
void each_pool(const KernelCall& call, const PoolImage& image, const A&... arguments) {
  const auto start = [&]<class Index, int N>(std::type_identity<PoolLoops<Index, N>>) {
    using F = Element<T, PoolLoops<Index, N>>;
    using Number = typename PoolAxis<Index>::Dividend;
    const std::int64_t(&extent)[max_window_rank] = F::is_of_pixels ? image.in : image.out;
    const std::int64_t count =
        image.images * extent[0] * extent[1] * extent[2] * (image.channels / N);
    launch(call, &each_kernel<Number, F>, blocks_for(count, loop_threads), loop_threads,
           F{PoolLoops<Index, N>(image), arguments...}, static_cast<Number>(count));
  };
  constexpr int most = static_cast<int>(std::min<std::size_t>(8, 16 / sizeof(T)));
  if (!is_small_pool(image)) {
    start(std::type_identity<PoolLoops<std::int64_t, 1>>{});
  } else if (image.channels % most == 0 && (holds_packets<most>(arguments) && ...)) {
    start(std::type_identity<PoolLoops<std::int32_t, most>>{});
  } else {
    start(std::type_identity<PoolLoops<std::int32_t, 1>>{});
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
