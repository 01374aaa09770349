// SPDX-License-Identifier: Apache-2.0
#pragma once

// Initial values of variables. Random ones depend on the session's seed and the variable's path,
// and on no other variable. `.with_seed(9)` replaces the session's seed by 9.

#include <cstdint>

#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
constexpr Initializer initializer(Initializer::Kind kind, double a, double b) {
  return InitializerRecord{kind, {}, {}, false, a, b, 0, 0, nullptr};
}
}  // namespace detail

/// Every element is `value`.
constexpr Initializer filled(double value) {
  return detail::initializer(Initializer::Kind::constant, value, 0);
}
/// Also as `zeros`, without parentheses, where an initialiser is expected. So `ones`.
constexpr Initializer zeros() { return filled(0); }
constexpr Initializer ones() { return filled(1); }

/// Uniform in [low, high).
constexpr Initializer uniform(double low, double high) {
  return detail::initializer(Initializer::Kind::uniform, low, high);
}

/// Normal.
constexpr Initializer normal(double mean = 0, double standard_deviation = 1) {
  return detail::initializer(Initializer::Kind::normal, mean, standard_deviation);
}

/// Normal, limited to two standard deviations from the mean.
constexpr Initializer truncated_normal(double mean = 0, double standard_deviation = 1) {
  return detail::initializer(Initializer::Kind::truncated_normal, mean, standard_deviation);
}

/// Variance scale / fan. For a weight [.., in, out] the fans are `in` and `out`, each times the
/// product of the leading axes (a convolution's window). Both fans of a vector are its length. A
/// truncated normal distribution is widened, so that the variance after truncation is right.
/// Source: He et al., arXiv:1502.01852.
constexpr Initializer variance_scaling(
    double scale = 2, Initializer::Fan fan = Initializer::Fan::in,
    Initializer::Distribution distribution = Initializer::Distribution::truncated_normal) {
  Initializer made = detail::initializer(Initializer::Kind::variance_scaling, scale, 0);
  made.fan = fan;
  made.distribution = distribution;
  return made;
}

/// Xavier's uniform initialiser, the default: U(-l, l), l = sqrt(6 / (in + out)).
/// Source: Glorot and Bengio, AISTATS 2010.
inline constexpr Initializer glorot_uniform =
    variance_scaling(1, Initializer::Fan::average, Initializer::Distribution::uniform);
/// The same variance, with a truncated normal distribution.
inline constexpr Initializer glorot_normal = variance_scaling(1, Initializer::Fan::average);
/// Variance 2 / in, for layers before relu. Source: He et al., arXiv:1502.01852.
inline constexpr Initializer he_normal = variance_scaling(2, Initializer::Fan::in);
inline constexpr Initializer he_uniform =
    variance_scaling(2, Initializer::Fan::in, Initializer::Distribution::uniform);
/// Variance 1 / in. Source: LeCun et al., "Efficient BackProp", 1998.
inline constexpr Initializer lecun_normal = variance_scaling(1, Initializer::Fan::in);
inline constexpr Initializer lecun_uniform =
    variance_scaling(1, Initializer::Fan::in, Initializer::Distribution::uniform);

/// `gain` times a uniformly distributed orthogonal matrix. The last axis is the columns, the other
/// axes are the rows; whichever are fewer are orthonormal. A vector has length `gain`. Takes rows x
/// columns x min(rows, columns) multiplications. Source: Saxe et al., arXiv:1312.6120.
constexpr Initializer orthogonal(double gain = 1) {
  return detail::initializer(Initializer::Kind::orthogonal, gain, 0);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
