// SPDX-License-Identifier: Apache-2.0
#pragma once

// Binomial random numbers.

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/ops/elementwise/special_functions.hpp"
#include "typeflow/ops/random/distributions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The number of successes in n trials of probability p <= 1/2. An expectation below 10 counts the
/// geometric waiting times that fit into n trials (Devroye, "Non-uniform random variate
/// generation", 1986, X.4.3). Larger ones use transformed rejection (Hörmann, "The generation of
/// binomial random variates", J. Statist. Comput. Simul. 46 (1993), algorithm BTRS).
template <std::same_as<double> V>
constexpr V rare_successes(V n, V p, ElementStream& stream) {
  if (p == 0 || n == 0) return 0;
  if (n * p < 10) {
    const double log_q = std::log1p(-p);
    double k = 0;
    for (double trial = 0;; ++k) {
      trial += std::floor(std::log(1 - stream.next()) / log_q) + 1;
      if (trial > n) return k;
    }
  }
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double v_r = 0.92 - 4.2 / b;
  const double log_odds = std::log(p / (1 - p));
  const double mode = std::floor((n + 1) * p);
  const double at_mode = math::log_gamma(mode + 1) + math::log_gamma(n - mode + 1);
  for (;;) {
    const double u = stream.next() - 0.5;
    const double v = 1 - stream.next();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + n * p + 0.5);
    if (!(k >= 0 && k <= n)) continue;
    if (us >= 0.07 && v <= v_r) return k;
    if (std::log(v * alpha / (a / (us * us) + b)) <=
        at_mode - math::log_gamma(k + 1) - math::log_gamma(n - k + 1) + (k - mode) * log_odds) {
      return k;
    }
  }
}

template <std::same_as<double> V>
constexpr V binomial_number(V n, V p, ElementStream& stream) {
  const bool counts = n >= 0 && n <= std::numeric_limits<double>::max() && n == std::floor(n);
  if (!counts || !(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  return p <= 0.5 ? rare_successes(n, p, stream) : n - rare_successes(n, 1 - p, stream);
}

}  // namespace detail

namespace ops {

/// A binomial number for each pair of a number of trials and a probability.
struct RandomBinomial : random_elements {
  static constexpr std::string_view name = "RandomBinomial";
  static constexpr bool own_type = false;
  static constexpr int flops = 200;
  std::uint32_t path_low;
  std::uint32_t path_high;

  template <Element T>
  constexpr T element(const RandomState& random, std::int64_t index, T n, T p) const {
    const std::uint64_t key = random_key(random.seed, std::uint64_t{path_high} << 32 | path_low);
    ElementStream stream(key, random.draw, static_cast<std::uint64_t>(index));
    return static_cast<T>(
        detail::binomial_number(static_cast<double>(n), static_cast<double>(p), stream));
  }
  static Number evaluate(const ir::EvaluateCall& call) {
    const RandomBinomial op = decode<RandomBinomial>(call.graph, call.node);
    return detail::fitted(
        {op.element<double>(call.random, call.index, call.inputs[0].real, call.inputs[1].real), 0},
        call.graph.dtype_of(call.node.outputs.first));
  }
  /// Numbers of successes are not smooth in the probability.
  static constexpr std::array<AnyExpr, 2> gradient(RandomBinomial, AnyExpr, AnyExpr, AnyExpr,
                                                   AnyExpr) {
    return {};
  }
};

}  // namespace ops

/// The number of successes in n trials of probability p, for each pair of elements of n and p,
/// which broadcast; of their element type. Drawn anew in each run; a label is the result's name. No
/// gradient flows through it. (S) x (S) -> (S)
///
/// For several numbers of one pair: random_binomial(broadcast_to<100>(n), p). NaN where n is not a
/// whole number >= 0, or p not in [0, 1].
template <TypedExpr N, TypedExpr P>
constexpr auto random_binomial(const N& n, const P& p, Label label = "",
                               std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::floating, N>,
                "random_binomial(n, p): n and p must be floating-point; convert with "
                "cast<float>(n)");
  static_assert(detail::same_elements<N, P>,
                "random_binomial(n, p): the element types must be equal; convert with cast<T>(n)");
  using Rule = detail::BroadcastRule<typename N::shape, typename P::shape>;
  static_assert(Rule::common.valid(), "random_binomial(n, p): the shapes do not broadcast");
  using S = shape_of_t<Rule>;
  detail::mark(at, n);
  ir::Graph& graph = n.graph();
  const std::uint64_t path = graph.add_random_path("random_binomial", label);
  const auto wide = [](const AnyExpr& x) {
    const bool half = detail::is_half<typename N::element>;
    return broadcast_to(half ? cast_to(x, DType::float32) : x, S::dims);
  };
  const AnyExpr k = detail::apply_untyped(
      ops::RandomBinomial{
          {}, static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32)},
      wide(n.any()), wide(p.any()));
  return Expr<typename N::element, S>(n.graph(),
                                      detail::labelled(cast_to(k, N::type.dtype), label).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
