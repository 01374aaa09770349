// SPDX-License-Identifier: Apache-2.0
#pragma once

// Poisson random numbers.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/random/distributions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A rate below 10 counts events of an exponential clock (Knuth, The Art of Computer Programming,
/// vol. 2, 3.4.1). Larger rates use transformed rejection (Hörmann, Insurance: Mathematics and
/// Economics 12 (1993), algorithm PTRS).
template <std::same_as<double> V>
constexpr V poisson_number(V rate, ElementStream& stream) {
  if (!(rate >= 0 && rate <= std::numeric_limits<double>::max())) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double k = 0;
    for (double product = 1 - stream.next(); product > limit; product *= 1 - stream.next()) ++k;
    return k;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.next() - 0.5;
    const double v = 1 - stream.next();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (!(k >= 0) || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <=
        k * log_rate - rate - math::log_gamma(k + 1)) {
      return k;
    }
  }
}

}  // namespace detail

namespace ops {

/// A Poisson number for each rate.
struct RandomPoisson : random_elements {
  static constexpr std::string_view name = "RandomPoisson";
  static constexpr bool own_type = false;
  static constexpr int flops = 200;
  std::uint32_t path_low;
  std::uint32_t path_high;

  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index, T rate) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    ElementStream stream(key, random.draw, static_cast<std::uint64_t>(index));
    return static_cast<T>(detail::poisson_number(static_cast<double>(rate), stream));
  }
  static Number evaluate(const ir::EvaluateCall& call) {
    const RandomPoisson op = decode<RandomPoisson>(call.graph, call.node);
    return detail::fitted({op.element<double>(call.random, call.index, call.inputs[0].real), 0},
                          call.graph.dtype_of(call.node.outputs.first));
  }
  /// Numbers of events are not smooth in the rate.
  static constexpr AnyExpr gradient(RandomPoisson, AnyExpr, AnyExpr, AnyExpr) { return {}; }
};

}  // namespace ops

/// A Poisson number for each element of the rate, of the rate's element type. Drawn anew in each
/// run; a label is the result's name. No gradient flows through it. (S) -> (S)
///
/// For several numbers with one rate: random_poisson(broadcast_to<100>(rate)). NaN where the rate
/// is negative or not a number.
template <TypedExpr R>
constexpr auto random_poisson(const R& rate, Label label = "",
                              std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, R>,
                "random_poisson(rate): the rate must be floating-point; convert with "
                "cast<float>(rate)");
  detail::mark(at, rate);
  ir::Graph& graph = rate.graph();
  const std::uint64_t path = graph.add_random_path("random_poisson", label);
  const AnyExpr k = detail::in_float(rate.any(), [&](const AnyExpr& r) {
    return detail::apply_untyped(
        ops::RandomPoisson{
            {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
        r);
  });
  return detail::same_type(rate, detail::labelled(k, label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
