// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions as layers with variables: functions for layers used once, objects for layers used
// several times.
//
//   conv2d<64, 3>(g, "conv1", x)                                 // 64 filters of (3,3)
//   conv2d<64, 3, 2>(g, "conv2", x, {.activation = tf::relu})    // stride 2
//   constexpr tf::ConvOptions<2> valid{.padding = tf::Padding::valid};
//   conv2d<64, tf::Kernel2d{1, 7}, valid>(g, "conv3", x)
//   tf::Conv2d<3, 64, 3> shared(g, "shared");  // for images of 3 channels

#include <array>
#include <concepts>
#include <cstddef>
#include <source_location>

#include "typeflow/nn/layer.hpp"
#include "typeflow/ops/nn/conv.hpp"
#include "typeflow/ops/nn/depthwise.hpp"
#include "typeflow/ops/nn/separable.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The extents of a convolution's kernel: 3 along all axes, or tf::Kernel2d{1, 7}.
template <int Rank>
struct KernelSize {
  std::array<int, static_cast<std::size_t>(Rank)> extent{};

  constexpr KernelSize(int all) {  // NOLINT: conv2d<64, 3>
    for (int& one : extent) one = all;
  }
  /// nvcc writes these members for template arguments.
  constexpr explicit KernelSize(const std::array<int, static_cast<std::size_t>(Rank)>& extents)
      : extent(extents) {}
  template <std::same_as<int>... I>
    requires(Rank > 1 && sizeof...(I) == static_cast<std::size_t>(Rank))
  constexpr KernelSize(I... extents) : extent{extents...} {}
};
using Kernel1d = KernelSize<1>;
using Kernel2d = KernelSize<2>;
using Kernel3d = KernelSize<3>;

namespace detail {

/// A layer's settings: a convolution's settings, or its stride along all axes.
template <int Rank>
constexpr ConvOptions<Rank> conv_settings(const ConvOptions<Rank>& settings) {
  return settings;
}
template <int Rank>
constexpr ConvOptions<Rank> conv_settings(std::same_as<int> auto stride) {
  ConvOptions<Rank> settings;
  for (int& one : settings.strides) one = stride;
  return settings;
}

/// The shape of a layer's weights: the kernel's extents, then two more.
template <auto Kernel, Extent A, Extent B>
struct KernelRule {
  static constexpr Dims value = [] {
    Dims d{};
    for (const int e : Kernel.extent) d.append(e);
    d.append(A);
    d.append(B);
    return d;
  }();
};
template <auto Kernel, Extent A, Extent B>
using KernelShape = shape_of_t<KernelRule<Kernel, A, B>>;

template <class X, int Rank>
inline constexpr bool is_image = X::rank == Rank + 2;
/// The channels of an image; 1 if x is no image.
template <class X, int Rank>
inline constexpr Extent channels_of =
    is_image<X, Rank> ? X::shape::dims.extent[is_image<X, Rank> ? Rank + 1 : 0] : 1;

/// A convolution over Rank axes with weights and bias. Use it by the aliases below.
template <int Rank, Extent In, Extent Filters, KernelSize<Rank> Kernel, ConvOptions<Rank> Settings,
          Element T>
class ConvLayer {
  static_assert(Settings.groups >= 1 && In % (Settings.groups < 1 ? 1 : Settings.groups) == 0,
                "convolution layer: groups must divide the channels of x");

 public:
  using WeightShape = KernelShape<Kernel, In / Settings.groups, Filters>;

  constexpr ConvLayer(Graph& graph, Label name, LayerOptions options = {},
                      std::source_location at = std::source_location::current())
      : variables_(graph, name, options, at) {}

  /// (N,..,In) -> (N,..',Filters)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(channels_of<X, Rank> == In || !is_image<X, Rank>,
                  "convolution layer: the channels of x must be the layer's");
    if constexpr (Rank == 1) {
      return variables_.finish(conv1d<Settings>(x, weights(), at), at);
    } else if constexpr (Rank == 2) {
      return variables_.finish(conv2d<Settings>(x, weights(), at), at);
    } else {
      return variables_.finish(conv3d<Settings>(x, weights(), at), at);
    }
  }

  constexpr const Variable<T, WeightShape>& weights() const { return variables_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<Filters>>& bias() const { return variables_.bias(); }

 private:
  Weights<T, WeightShape, Filters> variables_;
};

template <Extent In, Extent Filters, Kernel2d Kernel, ConvOptions<2> Settings, Element T>
class ConvTransposeLayer {
  static_assert(Settings.groups >= 1 && Filters % (Settings.groups < 1 ? 1 : Settings.groups) == 0,
                "transposed convolution layer: groups must divide the filters");

 public:
  using WeightShape = KernelShape<Kernel, Filters / Settings.groups, In>;

  constexpr ConvTransposeLayer(Graph& graph, Label name, LayerOptions options = {},
                               std::source_location at = std::source_location::current())
      : variables_(graph, name, options, at) {}

  /// (N,H',W',In) -> (N,H,W,Filters)
  template <TypedExpr Y>
  constexpr auto operator()(const Y& y,
                            std::source_location at = std::source_location::current()) const {
    static_assert(channels_of<Y, 2> == In || !is_image<Y, 2>,
                  "transposed convolution layer: the channels of y must be the layer's");
    return variables_.finish(conv2d_transpose<Settings>(y, weights(), at), at);
  }

  constexpr const Variable<T, WeightShape>& weights() const { return variables_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<Filters>>& bias() const { return variables_.bias(); }

 private:
  Weights<T, WeightShape, Filters> variables_;
};

template <Extent In, Extent Multiplier, Kernel2d Kernel, ConvOptions<2> Settings, Element T>
class DepthwiseLayer {
 public:
  using WeightShape = KernelShape<Kernel, In, Multiplier>;

  constexpr DepthwiseLayer(Graph& graph, Label name, LayerOptions options = {},
                           std::source_location at = std::source_location::current())
      : variables_(graph, name, options, at) {}

  /// (N,H,W,In) -> (N,H',W',In*Multiplier)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(channels_of<X, 2> == In || !is_image<X, 2>,
                  "depthwise convolution layer: the channels of x must be the layer's");
    return variables_.finish(depthwise_conv2d<Settings>(x, weights(), at), at);
  }

  constexpr const Variable<T, WeightShape>& weights() const { return variables_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<In * Multiplier>>& bias() const { return variables_.bias(); }

 private:
  Weights<T, WeightShape, In * Multiplier> variables_;
};

template <Extent In, Kernel2d Kernel, ConvOptions<2> Settings, Element T>
class InPlaneLayer {
 public:
  using WeightShape = KernelShape<Kernel, 1, 1>;

  constexpr InPlaneLayer(Graph& graph, Label name, LayerOptions options = {},
                         std::source_location at = std::source_location::current())
      : variables_(graph, name, options, at) {}

  /// (N,H,W,In) -> (N,H',W',In)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(channels_of<X, 2> == In || !is_image<X, 2>,
                  "in-plane convolution layer: the channels of x must be the layer's");
    return variables_.finish(conv2d_in_plane<Settings>(x, weights(), at), at);
  }

  constexpr const Variable<T, WeightShape>& weights() const { return variables_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<In>>& bias() const { return variables_.bias(); }

 private:
  Weights<T, WeightShape, In> variables_;
};

template <Extent In, Extent Filters, Kernel2d Kernel, ConvOptions<2> Settings, Extent Multiplier,
          Element T>
class SeparableLayer {
 public:
  constexpr SeparableLayer(Graph& graph, Label name, LayerOptions options = {},
                           std::source_location at = std::source_location::current())
      : depthwise_(in_scope(graph, name, options, at)), pointwise_(graph, name, options, at) {}

  /// (N,H,W,In) -> (N,H',W',Filters)
  template <TypedExpr X>
  constexpr auto operator()(const X& x,
                            std::source_location at = std::source_location::current()) const {
    static_assert(channels_of<X, 2> == In || !is_image<X, 2>,
                  "separable convolution layer: the channels of x must be the layer's");
    return pointwise_.finish(separable_conv2d<Settings>(x, depthwise_, weights(), at), at);
  }

  /// The weights of the depthwise convolution.
  constexpr const auto& depthwise_weights() const { return depthwise_; }
  /// The weights of the 1x1 convolution of its channels.
  constexpr const auto& weights() const { return pointwise_.weights(); }
  /// A handle of nothing if there is no bias.
  constexpr const Variable<T, Shape<Filters>>& bias() const { return pointwise_.bias(); }

 private:
  using DepthwiseShape = KernelShape<Kernel, In, Multiplier>;
  static constexpr Variable<T, DepthwiseShape> in_scope(Graph& graph, Label name,
                                                        const LayerOptions& options,
                                                        const std::source_location& at) {
    const Scope in(graph, name);
    return layer_variable<T, DepthwiseShape>(graph, "depthwise", options.weights,
                                             options.regularizer, at);
  }

  Variable<T, DepthwiseShape> depthwise_;
  Weights<T, Shape<1, 1, In * Multiplier, Filters>, Filters> pointwise_;
};

/// Makes a layer and calls it once.
template <class Layer, TypedExpr X>
constexpr auto apply_once(Graph& graph, Label name, const X& x, const LayerOptions& options,
                          const std::source_location& at) {
  const Layer layer(graph, name, options, at);
  const NameScope scope(graph, name);
  return layer(x, at);
}

}  // namespace detail

/// A convolution layer with weights W (K..,In/groups,Filters) and bias b (Filters). It can be
/// called many times, and makes its variables once: tf::Conv2d<3, 64, 7, 2> root(g, "root");
/// root(x). Settings are a stride or a tf::ConvOptions<2>. (N,H,W,In) ->
/// (N,H',W',Filters)
template <Extent In, Extent Filters, Kernel2d Kernel, auto Settings = 1, Element T = float>
using Conv2d = detail::ConvLayer<2, In, Filters, Kernel, detail::conv_settings<2>(Settings), T>;
/// (N,W,In) -> (N,W',Filters)
template <Extent In, Extent Filters, Kernel1d Kernel, auto Settings = 1, Element T = float>
using Conv1d = detail::ConvLayer<1, In, Filters, Kernel, detail::conv_settings<1>(Settings), T>;
/// (N,D,H,W,In) -> (N,D',H',W',Filters)
template <Extent In, Extent Filters, Kernel3d Kernel, auto Settings = 1, Element T = float>
using Conv3d = detail::ConvLayer<3, In, Filters, Kernel, detail::conv_settings<3>(Settings), T>;
/// A transposed convolution, which enlarges images by its stride. Weights W
/// (KH,KW,Filters/groups,In), in TensorFlow's layout, and bias b (Filters). (N,H',W',In) ->
/// (N,H,W,Filters)
template <Extent In, Extent Filters, Kernel2d Kernel, auto Settings = 1, Element T = float>
using Conv2dTranspose =
    detail::ConvTransposeLayer<In, Filters, Kernel, detail::conv_settings<2>(Settings), T>;
/// Multiplier filters for each channel, with weights W (KH,KW,In,Multiplier) and bias b
/// (In*Multiplier). (N,H,W,In) -> (N,H',W',In*Multiplier)
template <Extent In, Extent Multiplier, Kernel2d Kernel, auto Settings = 1, Element T = float>
using DepthwiseConv2d =
    detail::DepthwiseLayer<In, Multiplier, Kernel, detail::conv_settings<2>(Settings), T>;
/// The same filter for each channel, with weights W (KH,KW,1,1) and bias b (In). (N,H,W,In) ->
/// (N,H',W',In)
template <Extent In, Kernel2d Kernel, auto Settings = 1, Element T = float>
using Conv2dInPlane = detail::InPlaneLayer<In, Kernel, detail::conv_settings<2>(Settings), T>;
/// A DepthwiseConv2d, then a 1x1 convolution of its channels. Weights depthwise
/// (KH,KW,In,Multiplier) and W (1,1,In*Multiplier,Filters), and bias b (Filters). (N,H,W,In) ->
/// (N,H',W',Filters)
template <Extent In, Extent Filters, Kernel2d Kernel, auto Settings = 1, Extent Multiplier = 1,
          Element T = float>
using SeparableConv2d =
    detail::SeparableLayer<In, Filters, Kernel, detail::conv_settings<2>(Settings), Multiplier, T>;

/// A layer used once: conv2d<64, 3>(g, "conv1", x) convolves with 64 filters of 3x3. It has the
/// variables conv1/W (3,3,C,64) and conv1/b (64). Settings are a stride or a tf::ConvOptions<2>.
/// (N,H,W,C)
/// -> (N,H',W',Filters)
template <Extent Filters, Kernel2d Kernel, auto Settings = 1, TypedExpr X>
constexpr auto conv2d(Graph& graph, Label name, const X& x, LayerOptions options = {},
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 2>, "conv2d(g, name, x): x must have four axes, (N,H,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 2>),
                "conv2d(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer = Conv2d<detail::channels_of<X, 2>, Filters, Kernel, Settings, typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}
/// The same along one axis. (N,W,C) -> (N,W',Filters)
template <Extent Filters, Kernel1d Kernel, auto Settings = 1, TypedExpr X>
constexpr auto conv1d(Graph& graph, Label name, const X& x, LayerOptions options = {},
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 1>, "conv1d(g, name, x): x must have three axes, (N,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 1>),
                "conv1d(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer = Conv1d<detail::channels_of<X, 1>, Filters, Kernel, Settings, typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}
/// The same along three axes. (N,D,H,W,C) -> (N,D',H',W',Filters)
template <Extent Filters, Kernel3d Kernel, auto Settings = 1, TypedExpr X>
constexpr auto conv3d(Graph& graph, Label name, const X& x, LayerOptions options = {},
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 3>, "conv3d(g, name, x): x must have five axes, (N,D,H,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 3>),
                "conv3d(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer = Conv3d<detail::channels_of<X, 3>, Filters, Kernel, Settings, typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}
/// A transposed convolution used once: conv2d_transpose<32, 4, 2>(g, "up", y) doubles the height
/// and width of images. It has the variables up/W (4,4,32,F) and up/b (32). (N,H',W',F) ->
/// (N,H,W,Filters)
template <Extent Filters, Kernel2d Kernel, auto Settings = 1, TypedExpr Y>
constexpr auto conv2d_transpose(Graph& graph, Label name, const Y& y, LayerOptions options = {},
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<Y, 2>,
                "conv2d_transpose(g, name, y): y must have four axes, (N,H,W,F)");
  static_assert(!is_symbolic(detail::channels_of<Y, 2>),
                "conv2d_transpose(g, name, y): the last axis of y must be a number, not tf::batch");
  using Layer =
      Conv2dTranspose<detail::channels_of<Y, 2>, Filters, Kernel, Settings, typename Y::element>;
  return detail::apply_once<Layer>(graph, name, y, options, at);
}
/// A depthwise convolution used once: depthwise_conv2d<1, 3>(g, "plane", x) has the variables
/// plane/W (3,3,C,1) and plane/b (C). (N,H,W,C) -> (N,H',W',C*Multiplier)
template <Extent Multiplier, Kernel2d Kernel, auto Settings = 1, TypedExpr X>
constexpr auto depthwise_conv2d(Graph& graph, Label name, const X& x, LayerOptions options = {},
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 2>,
                "depthwise_conv2d(g, name, x): x must have four axes, (N,H,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 2>),
                "depthwise_conv2d(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer =
      DepthwiseConv2d<detail::channels_of<X, 2>, Multiplier, Kernel, Settings, typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}
/// A separable convolution used once: separable_conv2d<64, 3>(g, "sep", x) has the variables
/// sep/depthwise (3,3,C,Multiplier), sep/W (1,1,C*Multiplier,64) and sep/b (64).
/// (N,H,W,C) -> (N,H',W',Filters)
template <Extent Filters, Kernel2d Kernel, auto Settings = 1, Extent Multiplier = 1, TypedExpr X>
constexpr auto separable_conv2d(Graph& graph, Label name, const X& x, LayerOptions options = {},
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 2>,
                "separable_conv2d(g, name, x): x must have four axes, (N,H,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 2>),
                "separable_conv2d(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer = SeparableConv2d<detail::channels_of<X, 2>, Filters, Kernel, Settings, Multiplier,
                                typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}
/// The same filter for each channel: conv2d_in_plane<3>(g, "blur", x) has the variables blur/W
/// (3,3,1,1) and blur/b (C). (N,H,W,C) -> (N,H',W',C)
template <Kernel2d Kernel, auto Settings = 1, TypedExpr X>
constexpr auto conv2d_in_plane(Graph& graph, Label name, const X& x, LayerOptions options = {},
                               std::source_location at = std::source_location::current()) {
  static_assert(detail::is_image<X, 2>,
                "conv2d_in_plane(g, name, x): x must have four axes, (N,H,W,C)");
  static_assert(!is_symbolic(detail::channels_of<X, 2>),
                "conv2d_in_plane(g, name, x): the channels of x must be a number, not tf::batch");
  using Layer = Conv2dInPlane<detail::channels_of<X, 2>, Kernel, Settings, typename X::element>;
  return detail::apply_once<Layer>(graph, name, x, options, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
