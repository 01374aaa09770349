// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions of each channel by itself, as in mobile nets: depthwise_conv2d.
//
// There are three operations, and the gradients of each are the other two: the convolution, which
// gathers elements of x; its gradient for x, which gathers places; and its gradient for w. They
// have one filter for each channel. For several filters the image's channels are repeated.

#include <array>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/nn/pool.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The common parts of the three. The image x is (N,H,W,C), the result y (N,H',W',C), the filters w
/// (KH,KW,C).
struct depthwise : custom {
  static constexpr Domain domain = Domain::floating;

  /// Whether x, w and y fit together. Only float and double have kernels.
  static constexpr bool fit(const WindowAttributes& window, const Type& x, const Type& w,
                            const Type& y) {
    return (x.dtype == DType::float32 || x.dtype == DType::float64) && w.dtype == x.dtype &&
           y.dtype == x.dtype && x.dims.rank == 4 && y.dims == detail::pooled(window, x.dims) &&
           w.dims == Dims{3, {window.size[1], window.size[2], x.dims.extent[3]}};
  }
  /// Calls f(position in x, in w, in y) for each product of the convolution. For the interpreter.
  template <class F>
  static void each_product(const WindowAttributes& window, const Dims& x, const F& f) {
    const detail::PoolImage image(window, x);
    const std::int64_t places = image.images * image.out[1] * image.out[2];
    const WindowAxis& rows = image.axis[1];
    const WindowAxis& columns = image.axis[2];
    for (std::int64_t at = 0; at < places; ++at) {
      for (std::int64_t k = 0; k < rows.size * columns.size; ++k) {
        const std::int64_t h = at / image.out[2] % image.out[1] * rows.stride - rows.before +
                               k / columns.size * rows.dilation;
        const std::int64_t v = at % image.out[2] * columns.stride - columns.before +
                               k % columns.size * columns.dilation;
        if (h < 0 || h >= image.in[1] || v < 0 || v >= image.in[2]) continue;
        const std::int64_t pixel =
            (at / (image.out[1] * image.out[2]) * image.in[1] + h) * image.in[2] + v;
        for (std::int64_t c = 0; c < image.channels; ++c) {
          f(pixel * image.channels + c, k * image.channels + c, at * image.channels + c);
        }
      }
    }
  }
  /// Adds a term to its sum, in double.
  struct Sums {
    HostTensor& result;
    std::vector<double> sums = std::vector<double>(result.elements.size());
    void add(std::int64_t i, double x) { sums[static_cast<std::size_t>(i)] += x; }
    void set() {
      for (std::int64_t i = 0; i < result.size(); ++i) {
        result.set(i, sums[static_cast<std::size_t>(i)]);
      }
    }
  };
};

/// y from x and w.
struct DepthwiseConv : depthwise {
  static constexpr std::string_view name = "DepthwiseConv";
  WindowAttributes window;

  static constexpr Type infer(const DepthwiseConv& op, const Type& x, const Type& w) {
    const Type y(x.dtype, detail::pooled(op.window, x.dims));
    return fit(op.window, x, w, y) ? y : Type(x.dtype, no_dims);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const DepthwiseConv& op, auto x, auto w, auto,
                                                   auto dy);
  static void interpret(InterpretCall& call) {
    Sums y{call.outputs[0]};
    each_product(decode<DepthwiseConv>(call.graph, call.node).window, call.inputs[0]->dims,
                 [&](std::int64_t i, std::int64_t k, std::int64_t at) {
                   y.add(at, call.inputs[0]->value(i) * call.inputs[1]->value(k));
                 });
    y.set();
  }
};

/// The gradient for x, from dy and w. It needs the extents of x, which dy does not give.
struct DepthwiseInputGradient : depthwise {
  static constexpr std::string_view name = "DepthwiseInputGradient";
  WindowAttributes window;
  std::int32_t height;
  std::int32_t width;

  static constexpr Type infer(const DepthwiseInputGradient& op, const Type& dy, const Type& w) {
    Dims dims = dy.dims;
    dims.extent[1] = op.height;
    dims.extent[2] = op.width;
    const Type x(dy.dtype, dims);
    return fit(op.window, x, w, dy) ? x : Type(dy.dtype, no_dims);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const DepthwiseInputGradient& op, auto dy,
                                                   auto w, auto, auto ddx);
  static void interpret(InterpretCall& call) {
    Sums dx{call.outputs[0]};
    each_product(decode<DepthwiseInputGradient>(call.graph, call.node).window, dx.result.dims,
                 [&](std::int64_t i, std::int64_t k, std::int64_t at) {
                   dx.add(i, call.inputs[0]->value(at) * call.inputs[1]->value(k));
                 });
    dx.set();
  }
};

/// The gradient for w, from x and dy.
struct DepthwiseFilterGradient : depthwise {
  static constexpr std::string_view name = "DepthwiseFilterGradient";
  WindowAttributes window;

  static constexpr Type infer(const DepthwiseFilterGradient& op, const Type& x, const Type& dy) {
    if (x.dims.rank != 4) return {x.dtype, no_dims};
    const Type w(x.dtype, Dims{3, {op.window.size[1], op.window.size[2], x.dims.extent[3]}});
    return fit(op.window, x, w, dy) ? w : Type(x.dtype, no_dims);
  }
  static constexpr std::array<AnyExpr, 2> gradient(const DepthwiseFilterGradient& op, auto x,
                                                   auto dy, auto, auto ddw);
  static void interpret(InterpretCall& call) {
    Sums dw{call.outputs[0]};
    each_product(decode<DepthwiseFilterGradient>(call.graph, call.node).window,
                 call.inputs[0]->dims, [&](std::int64_t i, std::int64_t k, std::int64_t at) {
                   dw.add(k, call.inputs[0]->value(i) * call.inputs[1]->value(at));
                 });
    dw.set();
  }
};

/// The gradient for an image with the shape of x.
constexpr AnyExpr depthwise_input_gradient(const WindowAttributes& window,
                                           const UntypedExpr auto& x, const UntypedExpr auto& dy,
                                           const UntypedExpr auto& w) {
  return apply(DepthwiseInputGradient{{},
                                      window,
                                      static_cast<std::int32_t>(x.dims().extent[1]),
                                      static_cast<std::int32_t>(x.dims().extent[2])},
               dy, w);
}
constexpr std::array<AnyExpr, 2> DepthwiseConv::gradient(const DepthwiseConv& op, auto x, auto w,
                                                         auto, auto dy) {
  return {depthwise_input_gradient(op.window, x, dy, w),
          apply(DepthwiseFilterGradient{{}, op.window}, x, dy)};
}
constexpr std::array<AnyExpr, 2> DepthwiseInputGradient::gradient(const DepthwiseInputGradient& op,
                                                                  auto dy, auto w, auto, auto ddx) {
  return {apply(DepthwiseConv{{}, op.window}, ddx, w),
          apply(DepthwiseFilterGradient{{}, op.window}, ddx, dy)};
}
constexpr std::array<AnyExpr, 2> DepthwiseFilterGradient::gradient(
    const DepthwiseFilterGradient& op, auto x, auto dy, auto, auto ddw) {
  return {depthwise_input_gradient(op.window, x, dy, ddw),
          apply(DepthwiseConv{{}, op.window}, x, ddw)};
}

}  // namespace ops

namespace detail {

/// The shapes of depthwise_conv2d with the settings Options.
template <ConvOptions<2> Options, class X, class W>
struct DepthwiseRule {
  static constexpr Dims x = X::shape::dims;
  static constexpr Dims w = W::shape::dims;
  static constexpr bool has_ranks = x.rank == 4 && w.rank == 4;
  static constexpr bool has_types = std::is_same_v<typename X::element, typename W::element> &&
                                    contains(Domain::floating, X::type.dtype);
  static constexpr bool has_extents = !has_ranks || (has_batch_in_front_only(x) && is_static(w));
  static constexpr bool has_channels = !has_ranks || !has_extents || x.extent[3] == w.extent[2];
  static constexpr bool is_sound = places_windows(Options);
  static constexpr bool may_fit = has_ranks && has_extents && is_sound;
  static constexpr ops::WindowAttributes window =
      may_fit ? conv_window(Options, x, w) : ops::one_element;
  static constexpr bool holds = [] {
    if (!may_fit) return true;
    for (int i = 0; i < 2; ++i) {
      if (w.extent[i] < 1) return false;
      if (x.extent[1 + i] > 0 && window.axis(1 + i).places(x.extent[1 + i]) < 1) return false;
    }
    return true;
  }();
  static constexpr bool fits = may_fit && has_types && has_channels && holds;
  /// x and w, with as many channels as y.
  static constexpr Dims wide = [] {
    Dims d = x;
    if (fits) d.extent[3] *= w.extent[3];
    return d;
  }();
  static constexpr Dims value = fits ? pooled(window, wide) : no_dims;
};

/// x, with each channel repeated `count` times.
constexpr AnyExpr repeat_channels(const AnyExpr& x, Extent count) {
  if (count == 1) return x;
  Dims dims = x.dims();
  dims.append(1);
  const AnyExpr column = reshape_to(x, dims);
  dims.extent[dims.rank - 1] = count;
  const AnyExpr wide = broadcast_to(column, dims);
  --dims.rank;
  dims.extent[dims.rank - 1] *= count;
  return reshape_to(wide, dims);
}

}  // namespace detail

/// Convolves each channel of x with M filters of its own; channel c becomes channels c * M to c * M
/// + M - 1: depthwise_conv2d<tf::ConvOptions<2>{.strides = {2, 2}}>(x, w). 16-bit numbers are
/// computed in float and rounded once. (N,H,W,C) x (KH,KW,C,M) -> (N,H',W',C*M)
///
/// (Chollet, Xception: deep learning with depthwise separable convolutions, 2017.)
template <ConvOptions<2> Options = ConvOptions<2>{}, TypedExpr X, TypedExpr W>
constexpr auto depthwise_conv2d(const X& x, const W& w,
                                std::source_location at = std::source_location::current()) {
  using Rule = detail::DepthwiseRule<Options, X, W>;
  static_assert(Rule::has_ranks,
                "depthwise_conv2d(x, w): x must have four axes, (N,H,W,C), and w four, "
                "(KH,KW,C,M)");
  static_assert(Rule::has_types,
                "depthwise_conv2d(x, w): the element types must be equal and floating");
  static_assert(
      Rule::has_extents,
      "depthwise_conv2d(x, w): height, width and channels must be numbers; only the first "
      "axis may be a batch");
  static_assert(Rule::has_channels,
                "depthwise_conv2d(x, w): the channels of x must be the third axis of w");
  static_assert(Options.groups == 1,
                "depthwise_conv2d(x, w): groups must be left at 1; each channel is one by itself");
  static_assert(Rule::is_sound,
                "depthwise_conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, "
                "and 0 unless padding is given");
  static_assert(Rule::holds, "depthwise_conv2d(x, w): the kernel must fit into the padded image");
  detail::mark(at, x, w);
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (Rule::fits) {
    constexpr Extent filters = Rule::w.extent[3];
    const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
      const AnyExpr u =
          reshape_to(cast_to(w.any(), v.dtype()),
                     Dims{3, {Rule::w.extent[0], Rule::w.extent[1], Rule::wide.extent[3]}});
      return apply(ops::DepthwiseConv{{}, Rule::window}, detail::repeat_channels(v, filters), u);
    });
    return E(x.graph(), y.id);
  } else {
    return E();
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
