// SPDX-License-Identifier: Apache-2.0
#pragma once

// Local response normalization, which follows AlexNet's convolutions. Source: Krizhevsky et al.,
// ImageNet classification with deep convolutional neural networks, 2012, section 3.3.
//
// Composed: one operation adds the squares of neighbouring channels, and the others fuse.

#include <algorithm>
#include <cstdint>
#include <source_location>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/cast.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The sum of the elements of the last axis that are at most `radius` away, including the element
/// itself. Its matrix is symmetric, so it is its own gradient.
struct WindowSum : custom {
  static constexpr std::string_view name = "WindowSum";
  static constexpr Domain domain = Domain::floating;
  std::int32_t radius;

  static constexpr Type infer(WindowSum op, const Type& x) {
    return {x.dtype,
            contains(domain, x.dtype) && x.dims.rank > 0 && op.radius >= 0 ? x.dims : no_dims};
  }
  static constexpr AnyExpr gradient(WindowSum op, auto, auto, auto dy) { return apply(op, dy); }
  static void interpret(InterpretCall& call) {
    const HostTensor& x = *call.inputs[0];
    const std::int64_t radius = decode<WindowSum>(call.graph, call.node).radius;
    const std::int64_t extent = x.dims.extent[x.dims.rank - 1];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t c = i % extent;
      double sum = 0;
      for (std::int64_t j = std::max<std::int64_t>(c - radius, 0);
           j <= std::min(c + radius, extent - 1); ++j) {
        sum += x.value(i - c + j);
      }
      call.outputs[0].set(i, sum);
    }
  }
};

}  // namespace ops

namespace detail {
/// s^-beta; by roots where these are enough, because they cost a fraction of a power.
constexpr AnyExpr divided_by_power(const AnyExpr& x, const AnyExpr& s, double beta) {
  if (beta == 0.5) return x / sqrt(s);
  if (beta == 0.75) return x / (sqrt(s) * sqrt(sqrt(s)));
  if (beta == 1) return x / s;
  return x * pow(s, -beta);
}
}  // namespace detail

/// TensorFlow's names and defaults.
struct LrnOptions {
  int depth_radius = 5;  ///< channels on either side
  double bias = 1;
  double alpha = 1;  ///< factor of the sum, not of the mean as in some other libraries
  double beta = 0.5;
};

/// Local response normalization, x / (bias + alpha * sum(x^2))^beta. The sum is over the channels
/// (the last axis) that are at most depth_radius away: lrn(x, {.depth_radius = 2, .alpha = 2e-5,
/// .beta = 0.75}). (..,C) -> (..,C). A radius below 0 is a mistake of the model.
template <TypedExpr X>
constexpr auto lrn(const X& x, LrnOptions options = {},
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "lrn(x): x must be floating-point; convert with cast<float>(x)");
  static_assert(X::rank > 0, "lrn(x): x must have an axis of channels");
  detail::mark(at, x);
  if (options.depth_radius < 0) {
    Message message{};
    message << "lrn(x), ";
    detail::print_place(message, ir::records(x.graph()).source);
    ir::records(x.graph()).fail(message << ": depth_radius must be 0 or more");
    return detail::same_type(x, x.id());
  }
  const AnyExpr y = detail::in_float(x.any(), [&](const AnyExpr& v) {
    const AnyExpr sums = apply(ops::WindowSum{{}, options.depth_radius}, square(v));
    return detail::divided_by_power(v, options.bias + options.alpha * sums, options.beta);
  });
  return detail::same_type(x, y.id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
