// SPDX-License-Identifier: Apache-2.0
#pragma once

// Von Mises random numbers: the normal distribution's counterpart on a circle.
//
// They are drawn by rejection. Their gradient for the concentration is that of their quantile, as
// in gamma.hpp.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <source_location>

#include "typeflow/ops/random/distributions.hpp"
#include "typeflow/random/von_mises_integrals.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// An angle in [-pi, pi] with density proportional to exp(concentration cos(angle)). Rejection from
/// a wrapped Cauchy distribution: Best and Fisher, "Efficient simulation of the von Mises
/// distribution", Applied Statistics 28 (1979). From a concentration of a million on it is a normal
/// number, and differs by less than a millionth of its deviation.
template <std::same_as<double> V>
constexpr V von_mises_number(V concentration, ElementStream& stream) {
  constexpr double pi = std::numbers::pi;
  if (!(concentration >= 0 && concentration <= std::numeric_limits<double>::max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (concentration < 1e-8) return pi * (2 * stream.next() - 1);
  if (concentration > 1e6) {
    const double radius = std::sqrt(-2 * std::log(1 - stream.next()));
    return radius * std::cos(2 * pi * stream.next()) / std::sqrt(concentration);
  }
  const double tau = 1 + std::sqrt(1 + 4 * concentration * concentration);
  const double rho = (tau - std::sqrt(2 * tau)) / (2 * concentration);
  // For small concentrations the difference above would cancel.
  const double r =
      concentration < 1e-5 ? 1 / concentration + concentration : (1 + rho * rho) / (2 * rho);
  for (;;) {
    const double z = std::cos(pi * stream.next());
    const double f = (1 + r * z) / (r + z);
    const double c = concentration * (r - f);
    const double u = 1 - stream.next();
    if (c * (2 - c) - u > 0 || std::log(c / u) + 1 - c >= 0) {
      const double angle = std::acos(std::fmin(std::fmax(f, -1), 1));
      return stream.next() < 0.5 ? -angle : angle;
    }
  }
}

}  // namespace detail

namespace ops {

/// A von Mises number for each concentration.
struct RandomVonMises : random_elements {
  static constexpr std::string_view name = "RandomVonMises";
  static constexpr Derivative derivative = Derivative::rule;
  static constexpr bool own_type = false;
  static constexpr int flops = 200;
  std::uint32_t path_low;
  std::uint32_t path_high;

  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index, T concentration) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    ElementStream stream(key, random.draw, static_cast<std::uint64_t>(index));
    return static_cast<T>(detail::von_mises_number(static_cast<double>(concentration), stream));
  }
  static Number evaluate(const ir::EvaluateCall& call) {
    const RandomVonMises op = decode<RandomVonMises>(call.graph, call.node);
    return detail::fitted({op.element<double>(call.random, call.index, call.inputs[0].real), 0},
                          call.graph.dtype_of(call.node.outputs.first));
  }
  static constexpr AnyExpr gradient(RandomVonMises, AnyExpr concentration, AnyExpr y, AnyExpr dy) {
    return dy * apply(VonMisesSlope{}, concentration, y);
  }
};

}  // namespace ops

/// An angle in [-pi, pi] for each concentration, with mean direction 0: the von Mises distribution,
/// whose density is proportional to exp(concentration cos(angle)). Drawn anew in each run; a label
/// is the result's name. Its gradient is that of the quantile; it has no second one. (S) -> (S)
///
/// For several numbers of one concentration: random_von_mises(broadcast_to<100>(concentration)).
/// NaN where the concentration is negative or not a number.
template <TypedExpr K>
constexpr auto random_von_mises(const K& concentration, Label label = "",
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, K>,
                "random_von_mises(concentration): the concentration must be floating-point; "
                "convert with cast<float>(concentration)");
  detail::mark(at, concentration);
  ir::Graph& graph = concentration.graph();
  const std::uint64_t path = graph.add_random_path("random_von_mises", label);
  const AnyExpr x = detail::in_float(concentration.any(), [&](const AnyExpr& k) {
    return detail::apply_untyped(
        ops::RandomVonMises{
            {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
        k);
  });
  return detail::same_type(concentration, detail::labelled(x, label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
