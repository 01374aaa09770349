// SPDX-License-Identifier: Apache-2.0
#pragma once

// Activations: relu6, leaky_relu, elu, selu, gelu, silu, mish, softsign, log_sigmoid, hard_sigmoid,
// hard_swish, hard_tanh. All but leaky_relu, gelu and softsign are composed of other functions.
// Elementwise operations fuse, so each takes one pass over the elements.

#include <array>
#include <limits>
#include <numbers>
#include <source_location>

#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/error_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {
/// x times a number, which is rounded to the element type first.
template <class V>
constexpr V scaled(const V& x, double factor) {
  if constexpr (Element<V>) {
    return x * static_cast<V>(factor);
  } else {
    return x * V(static_cast<typename V::value_type>(factor));
  }
}
}  // namespace math

namespace ops {

/// x / (1 + |x|), and 1 or -1 at infinity. An operation of its own, because the gradient of the
/// quotient would cancel for large x.
struct Softsign : floating {
  static constexpr std::string_view name = "Softsign";
  static constexpr int flops = 4;
  template <class V>
  constexpr V operator()(V x) const {
    using math::select;
    using std::abs;
    const V infinite(std::numeric_limits<float>::infinity());
    const V size = abs(x);
    const V sign = select(x < V(0), V(-1), V(1));
    return select(size == infinite, sign, x / (V(1) + size));
  }
  static constexpr AnyExpr gradient(Softsign, auto x, auto, auto dy) {
    return dy / square(1 + abs(x));
  }
};

struct LeakyRelu : floating {
  static constexpr std::string_view name = "LeakyRelu";
  static constexpr int flops = 2;
  double slope;
  template <class V>
  constexpr V operator()(V x) const {
    using math::select;
    return select(x > V(0), x, math::scaled(x, slope));
  }
  static constexpr AnyExpr gradient(LeakyRelu op, auto x, auto, auto dy) {
    return detail::apply_untyped(IfGreater{}, dy, x, 0) +
           op.slope * detail::apply_untyped(IfGreaterEqual{}, dy, 0, x);
  }
};

/// dy times the derivative of gelu at x.
struct GeluGradient : floating {
  static constexpr std::string_view name = "GeluGradient";
  static constexpr int flops = 60;
  template <class V>
  constexpr V operator()(V dy, V x) const {
    return dy * math::gelu_slope(x);
  }
  /// The second derivative is (2 - x^2) e^(-x^2 / 2) / sqrt(2 pi). x is limited to where that is 0.
  static constexpr std::array<AnyExpr, 2> gradient(GeluGradient, auto dy, auto x, auto, auto ddy) {
    const auto below = detail::apply_untyped(Minimum{}, x, 40);
    const auto near = detail::apply_untyped(Maximum{}, below, -40);
    const AnyExpr density =
        exp(-0.5 * square(near)) * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    return {detail::apply_untyped(GeluGradient{}, ddy, x),
            ddy * dy * (density * (2 - square(near)))};
  }
};

struct Gelu : floating {
  static constexpr std::string_view name = "Gelu";
  static constexpr int flops = 60;
  template <class V>
  constexpr V operator()(V x) const {
    return math::gelu(x);
  }
  static constexpr AnyExpr gradient(Gelu, auto x, auto, auto dy) {
    return detail::apply_untyped(GeluGradient{}, dy, x);
  }
};

}  // namespace ops

namespace detail {
/// x * gate(x), for a gate that equals 0 or 1 to the last bit of a double where |x| is above the
/// bound. x is limited to the bound, so that neither the product nor its gradient is inf * 0.
template <Tensor X, class Gate>
constexpr auto gated(const X& x, double bound, const Gate& gate, const std::source_location& at) {
  const auto from_below = maximum(x, -bound, at);
  return from_below * gate(minimum(from_below, bound, at));
}
}  // namespace detail

/// min(max(x, 0), 6), elementwise; NaN stays NaN. The gradient is 0 at 0 and at 6, as in
/// TensorFlow. (Krizhevsky, Convolutional deep belief networks on CIFAR-10, 2010.)
template <Tensor X>
constexpr auto relu6(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::real, X>,
                "relu6(x): x must be a tensor of numbers that have an order");
  return minimum(6, relu(x, at), at);  // where they are equal, 6 gets the gradient
}

/// x where x > 0, slope * x elsewhere; the gradient at 0 is the slope. (Maas et al., Rectifier
/// nonlinearities improve neural network acoustic models, 2013.)
template <Tensor X>
constexpr auto leaky_relu(const X& x, double slope = 0.2,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "leaky_relu(x, slope): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::LeakyRelu{{}, slope}, x);
}

/// x where x > 0, e^x - 1 elsewhere. (Clevert et al., Fast and accurate deep network learning by
/// exponential linear units, 2016.)
template <Tensor X>
constexpr auto elu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "elu(x): x must be floating-point; convert with cast<float>(x)");
  // A sum, not a choice between the two: e^x of a large x would be infinite in the gradient.
  return relu(x, at) + expm1(minimum(x, 0, at), at);
}

/// 1.0507 x where x > 0, 1.7581 (e^x - 1) elsewhere (numbers rounded here): activations keep mean 0
/// and variance 1. The gradient at 0 is 1.0507, as in TensorFlow. (Klambauer et al.,
/// Self-normalizing neural networks, 2017.)
template <Tensor X>
constexpr auto selu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "selu(x): x must be floating-point; convert with cast<float>(x)");
  constexpr double scale = 1.0507009873554804934193349852946;
  constexpr double alpha = 1.6732632423543772848170429916717;
  return scale * maximum(x, 0, at) + scale * alpha * expm1(-relu(neg(x, at), at), at);
}

/// x times the distribution function of the standard normal distribution, x erfc(-x / sqrt(2)) / 2,
/// elementwise. (Hendrycks, Gimpel, Gaussian error linear units, 2016.)
template <Tensor X>
constexpr auto gelu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "gelu(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Gelu{}, x);
}

/// Tag: gelu is approximated by a hyperbolic tangent.
struct TanhForm {};
inline constexpr TanhForm tanh_form{};

/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, elementwise: the gelu of GPT-2 and BERT.
/// gelu(x, tf::tanh_form) differs from gelu(x) by at most 5e-4.
template <Tensor X>
constexpr auto gelu(const X& x, TanhForm,
                    std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "gelu(x, tf::tanh_form): x must be floating-point; convert with cast<float>(x)");
  // (1 + tanh(z)) / 2 = sigmoid(2 z), which does not cancel.
  constexpr double scale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return detail::gated(
      x, 30,
      [&](const auto& z) { return sigmoid(z * (scale + scale * 0.044715 * square(z, at)), at); },
      at);
}

/// x sigmoid(x), elementwise; also known as swish. (Elfwing et al., Sigmoid-weighted linear units,
/// 2018.)
template <Tensor X>
constexpr auto silu(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "silu(x): x must be floating-point; convert with cast<float>(x)");
  return detail::gated(x, 750, [&](const auto& z) { return sigmoid(z, at); }, at);
}

/// x tanh(softplus(x)), elementwise. (Misra, Mish: a self regularized non-monotonic activation
/// function, 2019.)
template <Tensor X>
constexpr auto mish(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "mish(x): x must be floating-point; convert with cast<float>(x)");
  return detail::gated(x, 750, [&](const auto& z) { return tanh(softplus(z, at), at); }, at);
}

/// x / (1 + |x|), elementwise; 1 or -1 where x is infinite.
template <Tensor X>
constexpr auto softsign(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "softsign(x): x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Softsign{}, x);
}

/// log(sigmoid(x)), elementwise, without overflow.
template <Tensor X>
constexpr auto log_sigmoid(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "log_sigmoid(x): x must be floating-point; convert with cast<float>(x)");
  return -softplus(neg(x, at), at);
}

/// relu6(x + 3) / 6, elementwise; its gradient is 0 at -3 and 3. (Howard et al., Searching for
/// MobileNetV3, 2019; that of Keras before version 3 had the slope 1/5.)
template <Tensor X>
constexpr auto hard_sigmoid(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "hard_sigmoid(x): x must be floating-point; convert with cast<float>(x)");
  return relu6(x + 3, at) / 6;
}

/// x hard_sigmoid(x), elementwise. (Howard et al., Searching for MobileNetV3, 2019.)
template <Tensor X>
constexpr auto hard_swish(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "hard_swish(x): x must be floating-point; convert with cast<float>(x)");
  return detail::gated(x, 3, [&](const auto& z) { return hard_sigmoid(z, at); }, at);
}

/// min(max(x, -1), 1), elementwise; the gradient is 1 at -1 and 1, as of clip_by_value. (Collobert,
/// Large scale machine learning, 2004.)
template <Tensor X>
constexpr auto hard_tanh(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, X>,
                "hard_tanh(x): x must be floating-point; convert with cast<float>(x)");
  return clip_by_value(x, -1, 1, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
