// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gamma and beta random numbers.
//
// Numbers are drawn by rejection, so a result is not a smooth function of the draws. Its gradient
// for the shape is that of its quantile: with the distribution function F(x; alpha) held constant,
// dx/dalpha = -(dF/dalpha) / (dF/dx). Source: Figurnov, Mohamed and Mnih, "Implicit
// reparameterization gradients", NeurIPS 2018.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <source_location>

#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/random/distributions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A gamma number of scale 1, or its logarithm, which is finite even if the number underflows. A
/// shape alpha below 1 uses a number of shape alpha + 1, times u^(1 / alpha). Source: Marsaglia and
/// Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
template <std::same_as<double> V>
constexpr V gamma_number(V alpha, bool logarithm, ElementStream& stream) {
  if (!(alpha > 0 && alpha <= std::numeric_limits<double>::max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1. / 3;
  const double c = 1 / std::sqrt(9 * d);
  double v = 0;
  for (bool found = false; !found;) {
    const double radius = std::sqrt(-2 * std::log(1 - stream.next()));
    const double z = radius * std::cos(2 * std::numbers::pi * stream.next());
    const double root = 1 + c * z;
    v = root * root * root;
    found = std::log(1 - stream.next()) < 0.5 * z * z + d - d * v + d * std::log(v) && root > 0;
  }
  const double boost = alpha < 1 ? std::log(1 - stream.next()) / alpha : 0;
  return logarithm ? std::log(d) + std::log(v) + boost : d * v * std::exp(boost);
}

/// dx/dalpha of a gamma number x, or of its logarithm. Below 10000 it uses the series of the
/// incomplete gamma function, x^alpha e^-x sum x^n / Gamma(alpha + n + 1). This sum cancels only if
/// x is far out in a tail: the more digits are lost, the rarer is such an x. From 10000 on it uses
/// Cornish and Fisher's expansion of the quantile (Abramowitz and Stegun, 26.2.49).
template <std::same_as<double> V>
constexpr V gamma_slope(V alpha, V number, bool logarithm) {
  const double log_x = logarithm ? number : std::log(number);
  const double x = logarithm ? std::exp(number) : number;
  if (!logarithm && x == 0) return 0;
  if (!(alpha > 0) || !(log_x - log_x == 0)) return std::numeric_limits<double>::quiet_NaN();
  if (alpha >= 1e4) {
    const double root = std::sqrt(alpha);
    double z = (x - alpha) / root;
    for (int i = 0; i < 5; ++i) {  // each step reduces the error by the factor `root`
      z = (x - alpha - (z * z - 1) / 3 - (z * z * z - 7 * z) / (36 * root) +
           (6 * z * z * z * z + 14 * z * z - 32) / (1620 * alpha)) /
          root;
    }
    const double slope = 1 + z / (2 * root) - (z * z * z - 7 * z) / (72 * alpha * root) +
                         (6 * z * z * z * z + 14 * z * z - 32) / (1620 * alpha * alpha);
    return logarithm ? slope / x : slope;
  }
  double term = 1 / alpha;
  double psi = math::digamma(alpha + 1);
  double sum = 0;
  double size = 0;
  for (double n = 1;; ++n) {
    const double part = term * (log_x - psi);
    sum += part;
    size += std::abs(part);
    if (n > x - alpha && std::abs(part) < 1e-17 * size && term * psi < 1e-17 * size) break;
    psi += 1 / (alpha + n);
    term *= x / (alpha + n);
  }
  return logarithm ? -sum : -x * sum;
}

}  // namespace detail

namespace ops {

/// The slope of a gamma number, or its logarithm, for the shape that it was drawn with.
struct GammaSlope : elementwise {
  static constexpr std::string_view name = "GammaSlope";
  static constexpr Domain domain = Domain::floating;
  static constexpr bool scalar_body = true;
  static constexpr int flops = 200;
  std::uint32_t logarithm;

  template <class V>
  constexpr V operator()(V alpha, V number) const {
    return static_cast<V>(detail::gamma_slope(static_cast<double>(alpha),
                                              static_cast<double>(number), logarithm != 0));
  }
};

/// A gamma number of each shape, or its logarithm.
struct RandomGamma : random_elements {
  static constexpr std::string_view name = "RandomGamma";
  static constexpr Derivative derivative = Derivative::rule;
  static constexpr bool own_type = false;
  static constexpr int flops = 200;
  std::uint32_t path_low;
  std::uint32_t path_high;
  std::uint32_t logarithm;

  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index, T alpha) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    ElementStream stream(key, random.draw, static_cast<std::uint64_t>(index));
    return static_cast<T>(detail::gamma_number(static_cast<double>(alpha), logarithm != 0, stream));
  }
  static Number evaluate(const ir::EvaluateCall& call) {
    const RandomGamma op = decode<RandomGamma>(call.graph, call.node);
    return detail::fitted({op.element<double>(call.random, call.index, call.inputs[0].real), 0},
                          call.graph.dtype_of(call.node.outputs.first));
  }
  static constexpr AnyExpr gradient(RandomGamma op, AnyExpr alpha, AnyExpr y, AnyExpr dy) {
    return dy * apply(GammaSlope{{}, op.logarithm}, alpha, y);
  }
};

}  // namespace ops

namespace detail {
constexpr AnyExpr gamma_node(const AnyExpr& alpha, std::uint64_t path, bool logarithm) {
  return apply_untyped(ops::RandomGamma{{},
                                        static_cast<std::uint32_t>(path),
                                        static_cast<std::uint32_t>(path >> 32),
                                        logarithm ? 1u : 0u},
                       alpha);
}
}  // namespace detail

/// A gamma number of scale 1 for each element of alpha, the shape. For another scale multiply by
/// it; for a rate divide by it. Drawn anew in each run; a label is the result's name. (S) -> (S)
///
/// For several numbers of one shape: random_gamma(broadcast_to<100>(alpha)). NaN where alpha is not
/// a positive number. Its gradient for alpha is that of the number's quantile; this gradient has no
/// gradient.
template <TypedExpr A>
constexpr auto random_gamma(const A& alpha, Label label = "",
                            std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, A>,
                "random_gamma(alpha): alpha must be floating-point; convert with "
                "cast<float>(alpha)");
  detail::mark(at, alpha);
  ir::Graph& graph = alpha.graph();
  const std::uint64_t path = graph.add_random_path("random_gamma", label);
  const AnyExpr x = detail::in_float(
      alpha.any(), [&](const AnyExpr& a) { return detail::gamma_node(a, path, false); });
  return detail::same_type(alpha, detail::labelled(x, label).id);
}

/// A beta number for each pair of elements of a and b, which broadcast: x / (x + y) for gamma
/// numbers x and y of these shapes. It is computed from logarithms, so small shapes do not give 0 /
/// 0. Drawn anew in each run; a label is the result's name. (S) x (S) -> (S)
///
/// NaN where a or b is not a positive number. Gradients for a and b are those of random_gamma.
template <TypedExpr A, TypedExpr B>
constexpr auto random_beta(const A& a, const B& b, Label label = "",
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, A>,
                "random_beta(a, b): a and b must be floating-point; convert with cast<float>(a)");
  static_assert(detail::same_elements<A, B>,
                "random_beta(a, b): the element types must be equal; convert with cast<T>(b)");
  using Rule = detail::BroadcastRule<typename A::shape, typename B::shape>;
  static_assert(Rule::common.valid(), "random_beta(a, b): the shapes do not broadcast");
  using S = shape_of_t<Rule>;
  detail::mark(at, a);
  ir::Graph& graph = a.graph();
  const std::uint64_t path = graph.add_random_path("random_beta", label);
  const auto log_gamma = [&](const AnyExpr& shape, std::uint64_t from) {
    const bool half = detail::is_half<typename A::element>;
    const AnyExpr wide = half ? cast_to(shape, DType::float32) : shape;
    return detail::gamma_node(broadcast_to(wide, S::dims), from, true);
  };
  const AnyExpr x =
      sigmoid(log_gamma(a.any(), path) - log_gamma(b.any(), detail::second_path(path)));
  return Expr<typename A::element, S>(a.graph(),
                                      detail::labelled(cast_to(x, A::type.dtype), label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
