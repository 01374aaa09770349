// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pools: the largest element, or the mean, of windows that move over an image.
//
//   max_pool<2>(x)                              windows of 2x2, side by side
//   max_pool<3, 2>(x)                           windows of 3x3, two elements apart
//   avg_pool<3, 2, tf::Padding::valid>(x)       only where they fit
//   max_pool<tf::PoolOptions<2>{.window = {1, 4}, .strides = {1, 2}}>(x)
//
// Images have channels last, (N,H,W,C). Each gradient is an operation of its own, and so are its
// gradients. They are all linear in the gradient that they get. The number of threads does not
// change the order of sums. For pooling over the whole image write mean<1, 2>(x).

#include <algorithm>
#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/nn/window.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The shape of a pool of x, which is (N,H,W,C) or has one or three axes in the middle: as many
/// places as the window has along those. Invalid if one of them, or the last axis, is no number.
constexpr Dims pooled(const ops::WindowAttributes& window, const Dims& x) {
  const int rank = x.rank - 2;
  if (rank < 1 || rank > max_window_rank || is_symbolic(x.extent[x.rank - 1])) return no_dims;
  Dims y = x;
  for (int i = 0; i < rank; ++i) {
    if (is_symbolic(x.extent[1 + i])) return no_dims;
    y.extent[1 + i] = window.axis(max_window_rank - rank + i).places(x.extent[1 + i]);
  }
  return y;
}

/// Some neighbouring elements, or places, of an axis.
struct AxisRange {
  std::int64_t begin;
  std::int64_t end;
  constexpr std::int64_t size() const { return end - begin; }
};

/// A pool in a run: an image and the places of its windows, both as (N,D,H,W,C).
struct PoolImage {
  std::int64_t images = 0;
  std::int64_t in[max_window_rank]{};
  std::int64_t out[max_window_rank]{};
  std::int64_t channels = 0;
  WindowAxis axis[max_window_rank]{};

  /// For an image with these extents.
  constexpr PoolImage(const ops::WindowAttributes& window, std::span<const std::int64_t> x)
      : images(x.front()), channels(x.back()) {
    const int rank = static_cast<int>(x.size()) - 2;
    for (int i = 0; i < max_window_rank; ++i) {
      const int from = i - (max_window_rank - rank);
      in[i] = from < 0 ? 1 : x[static_cast<std::size_t>(1 + from)];
      axis[i] = window.axis(i);
      out[i] = axis[i].places(in[i]);
    }
  }
  constexpr PoolImage(const ops::WindowAttributes& window, const Dims& x)
      : PoolImage(window, std::span(x.extent, static_cast<std::size_t>(x.rank))) {}

  /// The elements of axis i that the window at a place covers.
  constexpr AxisRange covered(int i, std::int64_t place) const {
    const std::int64_t begin = place * axis[i].stride - axis[i].before;
    return {std::max<std::int64_t>(begin, 0), std::min(begin + axis[i].size, in[i])};
  }
  /// The places whose windows cover an element of axis i.
  constexpr AxisRange covering(int i, std::int64_t element) const {
    const std::int64_t at = element + axis[i].before;
    const std::int64_t begin = at < axis[i].size ? 0 : (at - axis[i].size) / axis[i].stride + 1;
    return {begin, std::min(at / axis[i].stride + 1, out[i])};
  }

  /// Calls f(position in y, elements, position in x of each) for every result of the pool, in the
  /// order of x's elements. For the interpreter.
  template <class F>
  void each_window(const F& f) const {
    std::vector<std::int64_t> inside;
    const std::int64_t places = out[0] * out[1] * out[2];
    for (std::int64_t at = 0; at < images * places * channels; ++at) {
      const std::int64_t place = at / channels % places;
      const AxisRange d = covered(0, place / (out[1] * out[2]));
      const AxisRange h = covered(1, place / out[2] % out[1]);
      const AxisRange w = covered(2, place % out[2]);
      inside.clear();
      for (std::int64_t i = d.begin; i < d.end; ++i) {
        for (std::int64_t j = h.begin; j < h.end; ++j) {
          for (std::int64_t k = w.begin; k < w.end; ++k) {
            const std::int64_t image = at / channels / places;
            const std::int64_t pixel = ((image * in[0] + i) * in[1] + j) * in[2] + k;
            inside.push_back(pixel * channels + at % channels);
          }
        }
      }
      f(at, inside);
    }
  }
};

}  // namespace detail

namespace ops {

/// For each window, the element of z where x is largest; the first one of several. y is the pool of
/// x.
struct MaxPoolSelect : custom {
  static constexpr std::string_view name = "MaxPoolSelect";
  static constexpr Domain domain = Domain::floating;
  WindowAttributes window;

  static constexpr Type infer(const MaxPoolSelect& op, const Type& x, const Type& y,
                              const Type& z) {
    const bool fits = x == z && y == Type(x.dtype, detail::pooled(op.window, x.dims));
    return {x.dtype, fits && contains(domain, x.dtype) ? y.dims : no_dims};
  }
  static constexpr std::array<AnyExpr, 3> gradient(const MaxPoolSelect& op, auto x, auto y, auto,
                                                   auto, auto dy);
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const HostTensor& y = *call.inputs[1];
    detail::PoolImage(decode<MaxPoolSelect>(call.graph, call.node).window, x.dims)
        .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
          call.outputs[0][at] = (*call.inputs[2])[largest(x, y, at, inside)];
        });
  }
  /// Where a window has its largest element of x.
  static std::int64_t largest(const HostTensor& x, const HostTensor& y, std::int64_t at,
                              const std::vector<std::int64_t>& inside) {
    for (const std::int64_t i : inside) {
      if (x[i].real == y[at].real || x[i].real != x[i].real) return i;
    }
    return inside.front();
  }
};

/// The gradient of max_pool(x) = y: each element of dy goes to the first element of its window that
/// is the largest.
struct MaxPoolGradient : custom {
  static constexpr std::string_view name = "MaxPoolGradient";
  static constexpr Domain domain = Domain::floating;
  WindowAttributes window;

  static constexpr Type infer(const MaxPoolGradient& op, const Type& x, const Type& y,
                              const Type& dy) {
    const bool fits = y == dy && y == Type(x.dtype, detail::pooled(op.window, x.dims));
    return {x.dtype, fits && contains(domain, x.dtype) ? x.dims : no_dims};
  }
  /// Which elements are largest does not change with x, except where two are equal.
  static constexpr std::array<AnyExpr, 3> gradient(const MaxPoolGradient& op, auto x, auto y, auto,
                                                   auto, auto ddx) {
    return {AnyExpr{}, AnyExpr{}, apply(MaxPoolSelect{{}, op.window}, x, y, ddx)};
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const HostTensor& y = *call.inputs[1];
    HostTensor& dx = call.outputs[0];
    detail::PoolImage(decode<MaxPoolGradient>(call.graph, call.node).window, x.dims)
        .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
          const std::int64_t i = MaxPoolSelect::largest(x, y, at, inside);
          dx.set(i, dx.value(i) + call.inputs[2]->value(at));
        });
  }
};

constexpr std::array<AnyExpr, 3> MaxPoolSelect::gradient(const MaxPoolSelect& op, auto x, auto y,
                                                         auto, auto, auto dy) {
  return {AnyExpr{}, AnyExpr{}, apply(MaxPoolGradient{{}, op.window}, x, y, dy)};
}

/// The largest element of each window; NaN if there is one.
struct MaxPool : custom {
  static constexpr std::string_view name = "MaxPool";
  static constexpr Domain domain = Domain::real;
  WindowAttributes window;

  static constexpr Type infer(const MaxPool& op, const Type& x) {
    return {x.dtype, contains(domain, x.dtype) ? detail::pooled(op.window, x.dims) : no_dims};
  }
  /// In float for 16-bit numbers, because contributions of overlapping windows add up.
  static constexpr AnyExpr gradient(const MaxPool& op, auto x, auto y, auto dy) {
    return detail::in_float(dy, [&](const AnyExpr& v) {
      return apply(MaxPoolGradient{{}, op.window}, cast_to(x, v.dtype()), cast_to(y, v.dtype()), v);
    });
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    detail::visit_widest(x.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      if constexpr (!detail::is_complex_number<Wide>) {
        detail::PoolImage(decode<MaxPool>(call.graph, call.node).window, x.dims)
            .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
              std::int64_t best = inside.front();
              for (const std::int64_t i : inside) {
                const auto a = typeflow::to<Wide>(x[best]);
                const auto b = typeflow::to<Wide>(x[i]);
                if (a == a && !(b <= a)) best = i;
              }
              call.outputs[0][at] = x[best];
            });
      }
    });
  }
};

/// The gradient of avg_pool: equal parts of dy, added where windows overlap. It needs the extents
/// of the image, which dy does not give.
struct AvgPoolGradient : custom {
  static constexpr std::string_view name = "AvgPoolGradient";
  static constexpr Domain domain = Domain::floating;
  WindowAttributes window;
  std::int32_t extent[max_window_rank];

  static constexpr Type infer(const AvgPoolGradient& op, const Type& dy) {
    Dims x = dy.dims;
    const int rank = x.rank - 2;
    if (rank < 1 || rank > max_window_rank) return {dy.dtype, no_dims};
    for (int i = 0; i < rank; ++i) x.extent[1 + i] = op.extent[max_window_rank - rank + i];
    const bool fits = contains(domain, dy.dtype) && detail::pooled(op.window, x) == dy.dims;
    return {dy.dtype, fits ? x : no_dims};
  }
  static constexpr AnyExpr gradient(const AvgPoolGradient& op, auto, auto, auto ddx);
  static void interpret(InterpretCall& call) {
    HostTensor& dx = call.outputs[0];
    std::vector<double> sums(dx.elements.size());
    detail::PoolImage(decode<AvgPoolGradient>(call.graph, call.node).window, dx.dims)
        .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
          const double part = call.inputs[0]->value(at) / static_cast<double>(inside.size());
          for (const std::int64_t i : inside) sums[static_cast<std::size_t>(i)] += part;
        });
    for (std::int64_t i = 0; i < dx.size(); ++i) dx.set(i, sums[static_cast<std::size_t>(i)]);
  }
};

/// The mean of the elements that each window covers; padding does not count.
struct AvgPool : custom {
  static constexpr std::string_view name = "AvgPool";
  static constexpr Domain domain = Domain::floating;
  WindowAttributes window;

  static constexpr Type infer(const AvgPool& op, const Type& x) {
    return {x.dtype, contains(domain, x.dtype) ? detail::pooled(op.window, x.dims) : no_dims};
  }
  static constexpr AnyExpr gradient(const AvgPool& op, auto x, auto, auto dy) {
    AvgPoolGradient back{{}, op.window, {}};
    for (int i = 0; i < max_window_rank; ++i) {
      back.extent[i] =
          static_cast<std::int32_t>(detail::image_extent(x.dims(), 1, x.dims().rank - 2, i));
    }
    return apply(back, dy);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    detail::PoolImage(decode<AvgPool>(call.graph, call.node).window, x.dims)
        .each_window([&](std::int64_t at, const std::vector<std::int64_t>& inside) {
          double sum = 0;
          for (const std::int64_t i : inside) sum += x.value(i);
          call.outputs[0].set(at, sum / static_cast<double>(inside.size()));
        });
  }
};

constexpr AnyExpr AvgPoolGradient::gradient(const AvgPoolGradient& op, auto, auto, auto ddx) {
  return apply(AvgPool{{}, op.window}, ddx);
}

}  // namespace ops

namespace detail {

template <class O>
inline constexpr bool is_pool = false;
template <int Rank>
inline constexpr bool is_pool<PoolOptions<Rank>> = true;

/// Windows of at least 1 element, and settings that place them.
template <int Rank>
constexpr bool pool_is_sound(const PoolOptions<Rank>& options) {
  for (const int size : options.window) {
    if (size < 1) return false;
  }
  return places_windows(options);
}

/// Whether there are windows, if x has elements, and none lies in the padding.
template <int Rank>
constexpr bool windows_hold_elements(const PoolOptions<Rank>& options, const Dims& x) {
  const ops::WindowAttributes window = pool_window(options, x);
  for (int i = 0; i < Rank; ++i) {
    const WindowAxis axis = window.axis(max_window_rank - Rank + i);
    const bool fits = axis.places(x.extent[1 + i]) > 0;
    if (x.extent[1 + i] == 0 ? fits : !fits) return false;
    if (axis.before >= axis.size || axis.after >= axis.size) return false;
  }
  return true;
}

/// The shape of a pool with the settings Options of a tensor of type X.
template <auto Options, class X>
struct PoolRule {
  static constexpr Dims x = X::shape::dims;
  static constexpr bool has_rank = x.rank == Options.rank + 2;
  static constexpr bool is_sound = pool_is_sound(Options);
  static constexpr bool has_extents = has_batch_in_front_only(x);
  static constexpr bool holds = [] {
    if (!has_rank || !is_sound || !has_extents) return true;
    return windows_hold_elements(Options, x);
  }();
  static constexpr bool fits = has_rank && is_sound && has_extents && holds;
  static constexpr ops::WindowAttributes window = fits ? pool_window(Options, x) : ops::one_element;
  static constexpr Dims value = fits ? pooled(window, x) : no_dims;
};

/// The settings of max_pool<Size, Stride, P>(x).
template <int Size, int Stride, Padding P>
inline constexpr PoolOptions<2> square_pool{
    .window = {Size, Size}, .strides = {Stride, Stride}, .padding = P, .pads = {}};

template <class O, class Rule, class X>
constexpr auto pool_node(const X& x) {
  const AnyExpr y = apply(O{{}, Rule::window}, x.any());
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(), y.id);
}

}  // namespace detail

/// The largest element of each window: max_pool<tf::PoolOptions<2>{.window = {3, 3}, .strides = {2,
/// 2}}>(x); tf::PoolOptions<1> and tf::PoolOptions<3> are for images with one and three axes. NaN
/// if a window has one. A gradient goes to the window's first element that is largest, or NaN.
/// (N,H,W,C) -> (N,H',W',C)
template <auto Options, TypedExpr X>
  requires(detail::is_pool<std::remove_cvref_t<decltype(Options)>>)
constexpr auto max_pool(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::PoolRule<Options, X>;
  static_assert(detail::in_domain<Domain::real, X>,
                "max_pool(x): x must be a tensor of real numbers");
  static_assert(Rule::has_rank,
                "max_pool(x): x must have the axes of the window between its first and its last, "
                "(N,H,W,C)");
  static_assert(Rule::is_sound,
                "max_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless "
                "padding is given");
  static_assert(Rule::has_extents,
                "max_pool(x): height, width and channels must be numbers; only the first axis may "
                "be a batch");
  static_assert(Rule::holds, "max_pool(x): every window must hold an element of x");
  detail::mark(at, x);
  return detail::pool_node<ops::MaxPool, Rule>(x);
}

/// The same with windows of Size x Size: max_pool<2>(x), max_pool<3, 2>(x).
template <int Size, int Stride = Size, Padding P = Padding::same, TypedExpr X>
constexpr auto max_pool(const X& x, std::source_location at = std::source_location::current()) {
  return max_pool<detail::square_pool<Size, Stride, P>>(x, at);
}

/// The mean of the elements that each window covers, without padding:
/// avg_pool<tf::PoolOptions<2>{.window = {3, 3}, .strides = {2, 2}}>(x); tf::PoolOptions<1> and
/// tf::PoolOptions<3> are for images with one and three axes. (N,H,W,C) -> (N,H',W',C)
template <auto Options, TypedExpr X>
  requires(detail::is_pool<std::remove_cvref_t<decltype(Options)>>)
constexpr auto avg_pool(const X& x, std::source_location at = std::source_location::current()) {
  using Rule = detail::PoolRule<Options, X>;
  static_assert(detail::in_domain<Domain::floating, X>,
                "avg_pool(x): x must be floating-point; convert with cast<float>(x)");
  static_assert(Rule::has_rank,
                "avg_pool(x): x must have the axes of the window between its first and its last, "
                "(N,H,W,C)");
  static_assert(Rule::is_sound,
                "avg_pool(x): windows and strides must be 1 or more, pads 0 or more, and 0 unless "
                "padding is given");
  static_assert(Rule::has_extents,
                "avg_pool(x): height, width and channels must be numbers; only the first axis may "
                "be a batch");
  static_assert(Rule::holds, "avg_pool(x): every window must hold an element of x");
  detail::mark(at, x);
  return detail::pool_node<ops::AvgPool, Rule>(x);
}

/// The same with windows of Size x Size: avg_pool<2>(x), avg_pool<3, 1, tf::Padding::valid>(x).
template <int Size, int Stride = Size, Padding P = Padding::same, TypedExpr X>
constexpr auto avg_pool(const X& x, std::source_location at = std::source_location::current()) {
  return avg_pool<detail::square_pool<Size, Stride, P>>(x, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
