// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions over one, two or three axes, NHWC, kernels HWIO, and the functions that are their
// gradients. (What deep learning calls a convolution: the kernel is not turned around.)
//
// Three operations, each linear in both of its operands and each other's gradients, so that there
// are gradients of any order. They are contractions: what follows them elementwise goes on in their
// kernels.

#include <array>
#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "typeflow/ops/contraction.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/nn/window.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace ops {

/// What convolutions are given. Axes are depth, height and width, as in WindowAttributes.
struct ConvAttributes {
  WindowAttributes window;
  std::int32_t image[max_window_rank];
  std::int32_t groups;
  std::int32_t rank;  ///< axes of the image

  constexpr std::int64_t places(int axis) const { return window.axis(axis).places(image[axis]); }
  constexpr std::int64_t taps() const {
    return std::int64_t{1} * window.size[0] * window.size[1] * window.size[2];
  }
  constexpr std::int64_t place_count() const { return places(0) * places(1) * places(2); }
  constexpr std::int64_t image_size() const {
    return std::int64_t{1} * image[0] * image[1] * image[2];
  }

  // The shapes of the three tensors.

  constexpr Dims x(Extent samples, Extent channels) const {
    Dims dims{1, {samples}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(image[i]);
    dims.append(channels);
    return dims;
  }
  constexpr Dims w(Extent channels, Extent filters) const {
    Dims dims{0, {}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(window.size[i]);
    dims.append(channels / groups);
    dims.append(filters);
    return dims;
  }
  constexpr Dims y(Extent samples, Extent filters) const {
    Dims dims{1, {samples}};
    for (int i = max_window_rank - rank; i < max_window_rank; ++i) dims.append(places(i));
    dims.append(filters);
    return dims;
  }
  constexpr bool divides(Extent channels, Extent filters) const {
    return channels > 0 && filters > 0 && channels % groups == 0 && filters % groups == 0;
  }
  static constexpr bool takes(DType a, DType b) {
    return a == b && (a == DType::float32 || a == DType::float64);
  }
  /// The extents that kernels ask for besides.
  constexpr Contraction contraction_of(Extent samples, Extent channels, Extent filters) const {
    Contraction c;
    c.further = 5;
    c.extents[0] = samples;
    c.extents[1] = channels;
    c.extents[2] = filters;
    c.extents[3] = groups;
    c.extents[4] = taps();
    return c;
  }

  /// Calls f(x, w, y) with the positions of all products of elements of x and w, and of the element
  /// of y that they belong to.
  template <class F>
  void each_product(std::int64_t samples, std::int64_t channels, std::int64_t filters,
                    const F& f) const {
    const std::int64_t of_group = channels / groups;
    const std::int64_t filters_of_group = filters / groups;
    const auto each = [](const auto& extent, const auto& body) {
      std::int64_t at[max_window_rank];
      for (at[0] = 0; at[0] < extent(0); ++at[0]) {
        for (at[1] = 0; at[1] < extent(1); ++at[1]) {
          for (at[2] = 0; at[2] < extent(2); ++at[2]) body(at);
        }
      }
    };
    std::int64_t place = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
      each([&](int i) { return places(i); },
           [&](const std::int64_t* p) {
             std::int64_t tap = 0;
             each([&](int i) { return std::int64_t{window.size[i]}; },
                  [&](const std::int64_t* k) {
                    std::int64_t pixel = n;
                    bool inside = true;
                    for (int i = 0; i < max_window_rank; ++i) {
                      const WindowAxis axis = window.axis(i);
                      const std::int64_t at =
                          p[i] * axis.stride + k[i] * axis.dilation - axis.before;
                      inside = inside && at >= 0 && at < image[i];
                      pixel = pixel * image[i] + at;
                    }
                    for (std::int64_t o = 0; o < filters && inside; ++o) {
                      const std::int64_t first = o / filters_of_group * of_group;
                      for (std::int64_t c = 0; c < of_group; ++c) {
                        f(pixel * channels + first + c, (tap * of_group + c) * filters + o,
                          place * filters + o);
                      }
                    }
                    ++tap;
                  });
             ++place;
           });
    }
  }
};

/// (N,H,W,C) x (KH,KW,C/groups,F) -> (N,H',W',F), and of one or three axes.
struct Conv : contraction, ConvAttributes {
  static constexpr std::string_view name = "Conv";
  static constexpr Type infer(const Conv& op, const Type& x, const Type& w) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = w.dims.extent[op.rank + 1];
    const bool fits = takes(x.dtype, w.dtype) && x.dims.rank == op.rank + 2 &&
                      w.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      x.dims == op.x(x.dims.extent[0], channels) &&
                      w.dims == op.w(channels, filters);
    return {x.dtype, fits ? op.y(x.dims.extent[0], filters) : no_dims};
  }
  static constexpr Contraction describe(const Conv& op, const Type& x, const Type& w, const Type&) {
    const Extent channels = x.dims.extent[op.rank + 1];
    Contraction c = op.contraction_of(x.dims.extent[0], channels, w.dims.extent[op.rank + 1]);
    c.depth.multiply(op.taps() * (channels / op.groups));
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const Conv& op, const std::int64_t* further,
                                              std::int64_t, std::int64_t, std::int64_t) {
    return {op.x(further[0], further[1]), op.w(further[1], further[2]),
            op.y(further[0], further[2])};
  }
  static constexpr std::array<AnyExpr, 2> gradient(const Conv& op, AnyExpr x, AnyExpr w, AnyExpr,
                                                   AnyExpr dy);
  static void interpret(InterpretCall& call);
};

/// The gradient of Conv for x, from dy and w; also the transposed convolution.
/// (N,H',W',F) x (KH,KW,C/groups,F) -> (N,H,W,C)
struct ConvInputGradient : contraction, ConvAttributes {
  static constexpr std::string_view name = "ConvInputGradient";
  static constexpr Type infer(const ConvInputGradient& op, const Type& dy, const Type& w) {
    const Extent channels = w.dims.extent[op.rank] * op.groups;
    const Extent filters = w.dims.extent[op.rank + 1];
    const bool fits = takes(dy.dtype, w.dtype) && dy.dims.rank == op.rank + 2 &&
                      w.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      dy.dims == op.y(dy.dims.extent[0], filters) &&
                      w.dims == op.w(channels, filters);
    return {dy.dtype, fits ? op.x(dy.dims.extent[0], channels) : no_dims};
  }
  static constexpr Contraction describe(const ConvInputGradient& op, const Type& dy, const Type& w,
                                        const Type&) {
    const Extent filters = w.dims.extent[op.rank + 1];
    Contraction c =
        op.contraction_of(dy.dims.extent[0], w.dims.extent[op.rank] * op.groups, filters);
    c.depth.multiply(filters / op.groups);
    for (int i = 0; i < max_window_rank; ++i) {  // of a window's taps every stride-th meets a place
      c.depth.multiply((op.window.size[i] + op.window.stride[i] - 1) / op.window.stride[i]);
    }
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const ConvInputGradient& op,
                                              const std::int64_t* further, std::int64_t,
                                              std::int64_t, std::int64_t) {
    return {op.y(further[0], further[2]), op.w(further[1], further[2]),
            op.x(further[0], further[1])};
  }
  static constexpr std::array<AnyExpr, 2> gradient(const ConvInputGradient& op, AnyExpr dy,
                                                   AnyExpr w, AnyExpr, AnyExpr ddx);
  static void interpret(InterpretCall& call);
};

/// The gradient of Conv for w, from x and dy.
/// (N,H,W,C) x (N,H',W',F) -> (KH,KW,C/groups,F)
struct ConvFilterGradient : contraction, ConvAttributes {
  static constexpr std::string_view name = "ConvFilterGradient";
  static constexpr Type infer(const ConvFilterGradient& op, const Type& x, const Type& dy) {
    const Extent channels = x.dims.extent[op.rank + 1];
    const Extent filters = dy.dims.extent[op.rank + 1];
    const bool fits = takes(x.dtype, dy.dtype) && x.dims.rank == op.rank + 2 &&
                      dy.dims.rank == op.rank + 2 && op.divides(channels, filters) &&
                      x.dims == op.x(x.dims.extent[0], channels) &&
                      dy.dims == op.y(x.dims.extent[0], filters);
    return {x.dtype, fits ? op.w(channels, filters) : no_dims};
  }
  static constexpr Contraction describe(const ConvFilterGradient& op, const Type& x, const Type& dy,
                                        const Type&) {
    Contraction c = op.contraction_of(x.dims.extent[0], x.dims.extent[op.rank + 1],
                                      dy.dims.extent[op.rank + 1]);
    c.depth.multiply(x.dims.extent[0]);
    c.depth.multiply(op.place_count());
    return c;
  }
  static constexpr std::array<Dims, 3> shapes(const ConvFilterGradient& op,
                                              const std::int64_t* further, std::int64_t,
                                              std::int64_t, std::int64_t) {
    return {op.x(further[0], further[1]), op.y(further[0], further[2]),
            op.w(further[1], further[2])};
  }
  static constexpr std::array<AnyExpr, 2> gradient(const ConvFilterGradient& op, AnyExpr x,
                                                   AnyExpr dy, AnyExpr, AnyExpr ddw);
  static void interpret(InterpretCall& call);
};

constexpr std::array<AnyExpr, 2> Conv::gradient(const Conv& op, AnyExpr x, AnyExpr w, AnyExpr,
                                                AnyExpr dy) {
  return {apply(ConvInputGradient{{}, op}, dy, w), apply(ConvFilterGradient{{}, op}, x, dy)};
}
constexpr std::array<AnyExpr, 2> ConvInputGradient::gradient(const ConvInputGradient& op,
                                                             AnyExpr dy, AnyExpr w, AnyExpr,
                                                             AnyExpr ddx) {
  return {apply(Conv{{}, op}, ddx, w), apply(ConvFilterGradient{{}, op}, ddx, dy)};
}
constexpr std::array<AnyExpr, 2> ConvFilterGradient::gradient(const ConvFilterGradient& op,
                                                              AnyExpr x, AnyExpr dy, AnyExpr,
                                                              AnyExpr ddw) {
  return {apply(ConvInputGradient{{}, op}, dy, ddw), apply(Conv{{}, op}, x, ddw)};
}

inline void Conv::interpret(InterpretCall& call) {
  const Conv op = decode<Conv>(call.graph, call.node);
  const HostTensor& x = *call.inputs[0];
  const HostTensor& w = *call.inputs[1];
  HostTensor& y = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  op.each_product(x.dims.extent[0], x.dims.extent[op.rank + 1], w.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(o)] += x.value(i) * w.value(k);
                  });
  for (std::int64_t o = 0; o < y.size(); ++o) y.set(o, sums[static_cast<std::size_t>(o)]);
}
inline void ConvInputGradient::interpret(InterpretCall& call) {
  const ConvInputGradient op = decode<ConvInputGradient>(call.graph, call.node);
  const HostTensor& dy = *call.inputs[0];
  const HostTensor& w = *call.inputs[1];
  HostTensor& dx = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(dx.size()));
  op.each_product(dy.dims.extent[0], dx.dims.extent[op.rank + 1], w.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(i)] += dy.value(o) * w.value(k);
                  });
  for (std::int64_t i = 0; i < dx.size(); ++i) dx.set(i, sums[static_cast<std::size_t>(i)]);
}
inline void ConvFilterGradient::interpret(InterpretCall& call) {
  const ConvFilterGradient op = decode<ConvFilterGradient>(call.graph, call.node);
  const HostTensor& x = *call.inputs[0];
  const HostTensor& dy = *call.inputs[1];
  HostTensor& dw = call.outputs[0];
  std::vector<double> sums(static_cast<std::size_t>(dw.size()));
  op.each_product(x.dims.extent[0], x.dims.extent[op.rank + 1], dy.dims.extent[op.rank + 1],
                  [&](std::int64_t i, std::int64_t k, std::int64_t o) {
                    sums[static_cast<std::size_t>(k)] += x.value(i) * dy.value(o);
                  });
  for (std::int64_t k = 0; k < dw.size(); ++k) dw.set(k, sums[static_cast<std::size_t>(k)]);
}

}  // namespace ops

namespace detail {

/// What has to hold of a convolution of x with w, and its attributes.
template <auto Options, class X, class W>
struct ConvRule {
  static constexpr int rank = Options.rank;
  static constexpr bool axes = X::rank == rank + 2 && W::rank == rank + 2;
  static constexpr bool elements =
      std::is_same_v<typename X::element, typename W::element> && in_domain<Domain::floating, X>;
  static constexpr bool numbers = !axes || [] {
    bool all = true;
    for (int i = 1; i < rank + 2; ++i) all = all && !is_batch(X::shape::dims.extent[i]);
    for (int i = 0; i < rank + 2; ++i) all = all && !is_batch(W::shape::dims.extent[i]);
    return all;
  }();
  static constexpr bool settings = [] {
    bool all = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) {
      const std::array<int, 2> pads = Options.pads[i];
      all = all && Options.strides[i] >= 1 && Options.dilations[i] >= 1 && pads[0] >= 0 &&
            pads[1] >= 0 && (Options.padding == Padding::given || (pads[0] == 0 && pads[1] == 0));
    }
    return all;
  }();
  static constexpr Extent filters = axes ? W::shape::dims.extent[rank + 1] : 1;
  static constexpr bool usable = axes && numbers && settings && Options.groups >= 1;
};

template <auto Options, class X, class W>
struct ConvForwardRule : ConvRule<Options, X, W> {
  using Base = ConvRule<Options, X, W>;
  static constexpr Extent channels = Base::axes ? X::shape::dims.extent[Base::rank + 1] : 1;
  static constexpr bool group = [] {
    if (!Base::usable) return Options.groups >= 1;
    return channels > 0 && Base::filters > 0 && channels % Options.groups == 0 &&
           Base::filters % Options.groups == 0;
  }();
  static constexpr bool channels_fit =
      !Base::usable || !group || channels == W::shape::dims.extent[Base::rank] * Options.groups;
  static constexpr ops::ConvAttributes attributes = [] {
    ops::ConvAttributes a{ops::one_element, {1, 1, 1}, Options.groups, Base::rank};
    if (!Base::usable) return a;
    a.window = conv_window(Options, X::shape::dims, W::shape::dims);
    for (int i = 0; i < max_window_rank; ++i) {
      a.image[i] = static_cast<std::int32_t>(image_extent(X::shape::dims, 1, Base::rank, i));
    }
    return a;
  }();
  /// A window of elements, and room for it, unless the image is empty and padding follows it.
  static constexpr bool room = !Base::usable || [] {
    for (int i = max_window_rank - Base::rank; i < max_window_rank; ++i) {
      if (attributes.window.size[i] < 1) return false;
      if (attributes.places(i) < 1 && Options.padding != Padding::same) return false;
    }
    return true;
  }();
  static constexpr Dims value = [] {
    if (!Base::usable || !group || !channels_fit || !room) return no_dims;
    return attributes.y(X::shape::dims.extent[0], Base::filters);
  }();
};

/// conv1d, conv2d and conv3d behind their checks.
template <class Rule, class X, class W>
constexpr auto conv(const X& x, const W& w, std::source_location at) {
  mark(at, x);
  using E = Expr<typename X::element, shape_of_t<Rule>>;
  if constexpr (is_half<typename X::element>) {
    const AnyExpr y = apply(ops::Conv{{}, Rule::attributes}, cast_to(x.any(), DType::float32),
                            cast_to(w.any(), DType::float32));
    return E(x.graph(), cast_to(y, X::type.dtype).id);
  } else {
    const Id ids[] = {x.id(), w.id()};
    return E(x.graph(), add_node(x.graph(), ops::Conv{{}, Rule::attributes}, ids, 2, E::type).id);
  }
}

}  // namespace detail

/// The convolution of images x with kernels w: sums over windows of x, of all channels, weighted by
/// w, at every stride-th place.
/// (N,W,C) x (K,C/groups,F) -> (N,W',F)
///
/// float, double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places, and pads one more at the end where it is odd.
template <Conv1d Options = Conv1d{}, TypedExpr X, TypedExpr W>
constexpr auto conv1d(const X& x, const W& w,
                      std::source_location at = std::source_location::current()) {
  using Rule = detail::ConvForwardRule<Options, X, W>;
  static_assert(Rule::axes,
                "conv1d(x, w): x must have three axes, (N,W,C), and w three, (K,C/groups,F)");
  static_assert(Rule::elements, "conv1d(x, w): the element types must be equal and floating");
  static_assert(
      Rule::numbers,
      "conv1d(x, w): width and channels must be numbers; only the first axis may be a batch");
  static_assert(Rule::settings,
                "conv1d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 "
                "unless padding is given");
  static_assert(Rule::group,
                "conv1d(x, w): groups must divide the channels of x and the filters of w");
  static_assert(Rule::channels_fit,
                "conv1d(x, w): the channels of x must be groups times the second axis of w");
  static_assert(Rule::room, "conv1d(x, w): the kernel must fit into the padded image");
  return detail::conv<Rule>(x, w, at);
}

/// The convolution of images x with kernels w: sums over windows of x, of all channels, weighted by
/// w, at every stride-th place.
/// (N,H,W,C) x (KH,KW,C/groups,F) -> (N,H',W',F)
///
/// float, double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places, and pads one more at the end where it is odd.
template <Conv2d Options = Conv2d{}, TypedExpr X, TypedExpr W>
constexpr auto conv2d(const X& x, const W& w,
                      std::source_location at = std::source_location::current()) {
  using Rule = detail::ConvForwardRule<Options, X, W>;
  static_assert(Rule::axes,
                "conv2d(x, w): x must have four axes, (N,H,W,C), and w four, (KH,KW,C/groups,F)");
  static_assert(Rule::elements, "conv2d(x, w): the element types must be equal and floating");
  static_assert(Rule::numbers,
                "conv2d(x, w): height, width and channels must be numbers; only the first axis may "
                "be a batch");
  static_assert(Rule::settings,
                "conv2d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 "
                "unless padding is given");
  static_assert(Rule::group,
                "conv2d(x, w): groups must divide the channels of x and the filters of w");
  static_assert(Rule::channels_fit,
                "conv2d(x, w): the channels of x must be groups times the third axis of w");
  static_assert(Rule::room, "conv2d(x, w): the kernel must fit into the padded image");
  return detail::conv<Rule>(x, w, at);
}

/// The convolution of images x with kernels w: sums over windows of x, of all channels, weighted by
/// w, at every stride-th place.
/// (N,D,H,W,C) x (KD,KH,KW,C/groups,F) -> (N,D',H',W',F)
///
/// float, double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places, and pads one more at the end where it is odd.
template <Conv3d Options = Conv3d{}, TypedExpr X, TypedExpr W>
constexpr auto conv3d(const X& x, const W& w,
                      std::source_location at = std::source_location::current()) {
  using Rule = detail::ConvForwardRule<Options, X, W>;
  static_assert(
      Rule::axes,
      "conv3d(x, w): x must have five axes, (N,D,H,W,C), and w five, (KD,KH,KW,C/groups,F)");
  static_assert(Rule::elements, "conv3d(x, w): the element types must be equal and floating");
  static_assert(Rule::numbers,
                "conv3d(x, w): depth, height, width and channels must be numbers; only the first "
                "axis may be a batch");
  static_assert(Rule::settings,
                "conv3d(x, w): strides and dilations must be 1 or more, pads 0 or more, and 0 "
                "unless padding is given");
  static_assert(Rule::group,
                "conv3d(x, w): groups must divide the channels of x and the filters of w");
  static_assert(Rule::channels_fit,
                "conv3d(x, w): the channels of x must be groups times the fourth axis of w");
  static_assert(Rule::room, "conv3d(x, w): the kernel must fit into the padded image");
  return detail::conv<Rule>(x, w, at);
}

namespace detail {
/// y as an image of conv2d's result, and x as what it was.
template <auto Options, class Y, class W>
struct ConvTransposeRule : ConvRule<Options, Y, W> {
  using Base = ConvRule<Options, Y, W>;
  static constexpr bool group = [] {
    if (!Base::usable) return Options.groups >= 1;
    return W::shape::dims.extent[2] > 0 && Base::filters > 0 && Base::filters % Options.groups == 0;
  }();
  static constexpr bool filters_fit = !Base::usable || Y::shape::dims.extent[3] == Base::filters;
  static constexpr ops::ConvAttributes attributes = [] {
    ops::ConvAttributes a{ops::one_element, {1, 1, 1}, Options.groups, Base::rank};
    if (!Base::usable) return a;
    Dims x{1, {Y::shape::dims.extent[0]}};
    for (std::size_t i = 0; i < 2; ++i) {
      const int axis = static_cast<int>(i);
      const std::int64_t places = Y::shape::dims.extent[1 + axis];
      const WindowAxis along{W::shape::dims.extent[axis], Options.strides[i], Options.dilations[i],
                             Options.pads[i][0], Options.pads[i][1]};
      const std::int64_t reach = (places - 1) * along.stride + along.span();
      x.append(Options.padding == Padding::same ? places * along.stride
               : places < 1                     ? 0
                                                : reach - along.before - along.after);
    }
    a.window = conv_window(Options, x, W::shape::dims);
    for (int i = 1; i < max_window_rank; ++i) {
      a.image[i] = static_cast<std::int32_t>(x.extent[i]);
    }
    return a;
  }();
  static constexpr bool room = !Base::usable || [] {
    for (int i = 1; i < max_window_rank; ++i) {
      if (attributes.window.size[i] < 1 || attributes.image[i] < 0) return false;
      if (attributes.places(i) != Y::shape::dims.extent[i]) return false;
    }
    return true;
  }();
  static constexpr Dims value = [] {
    if (!Base::usable || !group || !filters_fit || !room) return no_dims;
    return attributes.x(Y::shape::dims.extent[0], W::shape::dims.extent[2] * Options.groups);
  }();
};
}  // namespace detail

/// The transposed convolution: every element of y adds w, weighted by it, to the window of its
/// place. It is the gradient of conv2d for x, with w as conv2d has it, and so enlarges an image by
/// its strides: H is H' * stride with Padding::same, (H'-1) * stride + the window's reach with
/// Padding::valid, less the pads if they are given.
/// (N,H',W',F) x (KH,KW,C/groups,F) -> (N,H,W,C)
template <Conv2d Options = Conv2d{}, TypedExpr Y, TypedExpr W>
constexpr auto conv2d_transpose(const Y& y, const W& w,
                                std::source_location at = std::source_location::current()) {
  using Rule = detail::ConvTransposeRule<Options, Y, W>;
  static_assert(Rule::axes,
                "conv2d_transpose(y, w): y must have four axes, (N,H,W,F), and w four, "
                "(KH,KW,C/groups,F)");
  static_assert(Rule::elements,
                "conv2d_transpose(y, w): the element types must be equal and floating");
  static_assert(Rule::numbers,
                "conv2d_transpose(y, w): height, width and channels must be numbers; only the "
                "first axis may be a batch");
  static_assert(Rule::settings,
                "conv2d_transpose(y, w): strides and dilations must be 1 or more, pads 0 or more, "
                "and 0 unless padding is given");
  static_assert(Rule::group, "conv2d_transpose(y, w): groups must divide the filters of w");
  static_assert(Rule::filters_fit, "conv2d_transpose(y, w): the last axis of y must be that of w");
  static_assert(Rule::room,
                "conv2d_transpose(y, w): the pads must be smaller than the enlarged image");
  detail::mark(at, y);
  using E = Expr<typename Y::element, shape_of_t<Rule>>;
  return E(y.graph(), detail::in_float(y.any(), [&](const AnyExpr& of_y) {
                        return apply(ops::ConvInputGradient{{}, Rule::attributes}, of_y,
                                     cast_to(w.any(), of_y.dtype()));
                      }).id);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
