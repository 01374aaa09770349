// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions over one, two or three axes, in the layouts NHWC (samples, height, width, channels)
// for images and HWIO (height, width, input channels, filters) for kernels. As usual in deep
// learning, the kernel is not flipped.

#include <array>
#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/nn/conv_operations.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The conditions for a convolution of x with w, and its attributes.
template <auto Options, class X, class W>
struct ConvRule {
  static constexpr int rank = Options.rank;
  static constexpr bool axes = X::rank == rank + 2 && W::rank == rank + 2;
  static constexpr bool elements =
      std::is_same_v<typename X::element, typename W::element> && in_domain<Domain::floating, X>;
  static constexpr bool numbers =
      !axes || (has_batch_in_front_only(X::shape::dims) && is_static(W::shape::dims));
  static constexpr bool settings = places_windows(Options);
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
    ops::ConvAttributes a{
        ops::one_element, {1, 1, 1}, Options.groups, Base::rank, Options.winograd ? 1 : 0};
    if (!Base::usable) return a;
    a.window = conv_window(Options, X::shape::dims, W::shape::dims);
    for (int i = 0; i < max_window_rank; ++i) {
      a.image[i] = static_cast<std::int32_t>(image_extent(X::shape::dims, 1, Base::rank, i));
    }
    return a;
  }();
  /// Whether the window has elements and fits; an empty image that no padding follows is allowed.
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

/// conv1d, conv2d and conv3d after their checks.
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

/// The convolution of images x with kernels w: at every stride-th place, the sum over a window of x
/// and its channels, weighted by w. (N,W,C) x (K,C/groups,F) -> (N,W',F)
///
/// For float and double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places; an odd element of padding goes to the end.
template <ConvOptions<1> Options = ConvOptions<1>{}, TypedExpr X, TypedExpr W>
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

/// The convolution of images x with kernels w: at every stride-th place, the sum over a window of x
/// and its channels, weighted by w. (N,H,W,C) x (KH,KW,C/groups,F) -> (N,H',W',F)
///
/// For float and double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places; an odd element of padding goes to the end.
template <ConvOptions<2> Options = ConvOptions<2>{}, TypedExpr X, TypedExpr W>
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

/// The convolution of images x with kernels w: at every stride-th place, the sum over a window of x
/// and its channels, weighted by w. (N,D,H,W,C) x (KD,KH,KW,C/groups,F) -> (N,D',H',W',F)
///
/// For float and double; 16-bit numbers are computed in float and rounded once. Padding::same, the
/// default, gives ceil(extent / stride) places; an odd element of padding goes to the end.
template <ConvOptions<3> Options = ConvOptions<3>{}, TypedExpr X, TypedExpr W>
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
/// The shapes of a convolution's result y and of its image x.
template <auto Options, class Y, class W>
struct ConvTransposeRule : ConvRule<Options, Y, W> {
  using Base = ConvRule<Options, Y, W>;
  static constexpr int first = max_window_rank - Base::rank;  // of the window's axes
  static constexpr bool group = [] {
    if (!Base::usable) return Options.groups >= 1;
    return W::shape::dims.extent[Base::rank] > 0 && Base::filters > 0 &&
           Base::filters % Options.groups == 0;
  }();
  static constexpr bool filters_fit =
      !Base::usable || Y::shape::dims.extent[Base::rank + 1] == Base::filters;
  static constexpr ops::ConvAttributes attributes = [] {
    ops::ConvAttributes a{
        ops::one_element, {1, 1, 1}, Options.groups, Base::rank, Options.winograd ? 1 : 0};
    if (!Base::usable) return a;
    Dims x{1, {Y::shape::dims.extent[0]}};
    for (std::size_t i = 0; i < Options.strides.size(); ++i) {
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
    for (int i = first; i < max_window_rank; ++i) {
      a.image[i] = static_cast<std::int32_t>(x.extent[1 + i - first]);
    }
    return a;
  }();
  static constexpr bool room = !Base::usable || [] {
    for (int i = first; i < max_window_rank; ++i) {
      if (attributes.window.size[i] < 1 || attributes.image[i] < 0) return false;
      if (attributes.places(i) != Y::shape::dims.extent[1 + i - first]) return false;
    }
    return true;
  }();
  static constexpr Dims value = [] {
    if (!Base::usable || !group || !filters_fit || !room) return no_dims;
    return attributes.x(Y::shape::dims.extent[0],
                        W::shape::dims.extent[Base::rank] * Options.groups);
  }();
};

/// conv2d_transpose and conv3d_transpose after their checks.
template <class Rule, class Y, class W>
constexpr auto conv_transpose(const Y& y, const W& w, const std::source_location& at) {
  mark(at, y);
  using E = Expr<typename Y::element, shape_of_t<Rule>>;
  return E(y.graph(), in_float(y.any(), [&](const AnyExpr& of_y) {
                        return apply(ops::ConvInputGradient{{}, Rule::attributes}, of_y,
                                     cast_to(w.any(), of_y.dtype()));
                      }).id);
}
}  // namespace detail

/// The transposed convolution: every element of y adds w, weighted by the element, to the window at
/// its place. It is conv2d's gradient for x, with conv2d's w, so it enlarges an image by its
/// strides. H is H' * stride with Padding::same. With Padding::valid it is (H'-1) * stride + the
/// window's reach; given pads are subtracted. (N,H',W',F) x (KH,KW,C/groups,F) -> (N,H,W,C)
template <ConvOptions<2> Options = ConvOptions<2>{}, TypedExpr Y, TypedExpr W>
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
  return detail::conv_transpose<Rule>(y, w, at);
}

/// The same for volumes, conv3d's gradient for x. (N,D',H',W',F) x (KD,KH,KW,C/groups,F) ->
/// (N,D,H,W,C)
template <ConvOptions<3> Options = ConvOptions<3>{}, TypedExpr Y, TypedExpr W>
constexpr auto conv3d_transpose(const Y& y, const W& w,
                                std::source_location at = std::source_location::current()) {
  using Rule = detail::ConvTransposeRule<Options, Y, W>;
  static_assert(Rule::axes,
                "conv3d_transpose(y, w): y must have five axes, (N,D,H,W,F), and w five, "
                "(KD,KH,KW,C/groups,F)");
  static_assert(Rule::elements,
                "conv3d_transpose(y, w): the element types must be equal and floating");
  static_assert(Rule::numbers,
                "conv3d_transpose(y, w): depth, height, width and channels must be numbers; only "
                "the first axis may be a batch");
  static_assert(Rule::settings,
                "conv3d_transpose(y, w): strides and dilations must be 1 or more, pads 0 or more, "
                "and 0 unless padding is given");
  static_assert(Rule::group, "conv3d_transpose(y, w): groups must divide the filters of w");
  static_assert(Rule::filters_fit, "conv3d_transpose(y, w): the last axis of y must be that of w");
  static_assert(Rule::room,
                "conv3d_transpose(y, w): the pads must be smaller than the enlarged image");
  return detail::conv_transpose<Rule>(y, w, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
