// SPDX-License-Identifier: Apache-2.0
#pragma once

// Convolutions made from depthwise ones: separable_conv2d and conv2d_in_plane.

#include <source_location>
#include <type_traits>

#include "typeflow/ops/nn/conv.hpp"
#include "typeflow/ops/nn/depthwise.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// depthwise_conv2d<options>(x, depthwise), then a 1x1 convolution of its channels with
/// `pointwise`. (N,H,W,C) x (KH,KW,C,M) x (1,1,C*M,F) -> (N,H',W',F)
///
/// (Chollet, Xception: deep learning with depthwise separable convolutions, 2017.)
template <ConvOptions<2> Options = ConvOptions<2>{}, TypedExpr X, TypedExpr D, TypedExpr P>
constexpr auto separable_conv2d(const X& x, const D& depthwise, const P& pointwise,
                                std::source_location at = std::source_location::current()) {
  using T = typename X::element;
  static_assert(
      P::rank == 4 && P::shape::dims.extent[0] == 1 && P::shape::dims.extent[P::rank > 1] == 1,
      "separable_conv2d(x, depthwise, pointwise): pointwise must be (1,1,C*M,F)");
  static_assert(std::is_same_v<T, typename D::element> && std::is_same_v<T, typename P::element>,
                "separable_conv2d(x, depthwise, pointwise): the element types must be equal and "
                "floating");
  if constexpr (detail::is_half<T>) {  // rounded once
    return cast<T>(separable_conv2d<Options>(cast<float>(x, at), cast<float>(depthwise, at),
                                             cast<float>(pointwise, at), at),
                   at);
  } else {
    return conv2d(depthwise_conv2d<Options>(x, depthwise, at), pointwise, at);
  }
}

namespace detail {
/// The common filter as one filter for each channel.
template <class X, class W>
struct InPlaneRule {
  static constexpr Dims w = W::shape::dims;
  static constexpr bool is_plane = w.rank == 4 && w.extent[2] == 1 && w.extent[3] == 1;
  static constexpr bool has_channels = X::rank == 4 && !is_symbolic(X::shape::dims.extent[3]);
  static constexpr Dims value =
      is_plane && has_channels ? Dims{4, {w.extent[0], w.extent[1], X::shape::dims.extent[3], 1}}
                               : w;
};
}  // namespace detail

/// Convolves each channel of x with the same filter: conv2d_in_plane<tf::ConvOptions<2>{.strides =
/// {2, 2}}>(x, w). (N,H,W,C) x (KH,KW,1,1) -> (N,H',W',C)
template <ConvOptions<2> Options = ConvOptions<2>{}, TypedExpr X, TypedExpr W>
constexpr auto conv2d_in_plane(const X& x, const W& w,
                               std::source_location at = std::source_location::current()) {
  using Rule = detail::InPlaneRule<X, W>;
  static_assert(Rule::is_plane && Rule::has_channels,
                "conv2d_in_plane(x, w): x must have four axes, (N,H,W,C), the last a number, and w "
                "must be (KH,KW,1,1)");
  static_assert(std::is_same_v<typename X::element, typename W::element>,
                "conv2d_in_plane(x, w): the element types must be equal and floating");
  using Wide = Expr<typename W::element, shape_of_t<Rule>>;
  detail::mark(at, x, w);
  return depthwise_conv2d<Options>(x, Wide(w.graph(), broadcast_to(w.any(), Rule::value).id), at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
