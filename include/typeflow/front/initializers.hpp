// SPDX-License-Identifier: Apache-2.0
#pragma once

// How variables get their first values. Random ones draw from the session's seed and the
// variable's path, so they depend on no other variable; with `.with_seed(9)` from 9 and the path.

#include <cstdint>

#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {
constexpr Initializer initializer(Initializer::Kind kind, double a, double b) {
  return {kind, Initializer::Fan::in, Initializer::Distribution::truncated_normal, false, a, b, 0,
          0};
}
}  // namespace detail

/// Every element is `value`.
constexpr Initializer filled(double value) {
  return detail::initializer(Initializer::Kind::constant, value, 0);
}
inline constexpr Initializer zeros = filled(0);
inline constexpr Initializer ones = filled(1);

/// Uniform in [low, high).
constexpr Initializer uniform(double low, double high) {
  return detail::initializer(Initializer::Kind::uniform, low, high);
}

/// Normal.
constexpr Initializer normal(double mean = 0, double standard_deviation = 1) {
  return detail::initializer(Initializer::Kind::normal, mean, standard_deviation);
}

/// Normal, limited to two standard deviations from the mean.
constexpr Initializer truncated_normal(double standard_deviation = 1, double mean = 0) {
  return detail::initializer(Initializer::Kind::truncated_normal, mean, standard_deviation);
}

/// Variance scale / fan. For a weight [.., in, out] the fans are `in` and `out`, each times the
/// product of the leading axes (a convolution's window); a vector's are its length. A truncated
/// normal distribution is widened, so that the variance is that after truncation.
/// Source: He et al., arXiv:1502.01852.
constexpr Initializer variance_scaling(
    double scale = 2, Initializer::Fan fan = Initializer::Fan::in,
    Initializer::Distribution distribution = Initializer::Distribution::truncated_normal) {
  return {Initializer::Kind::variance_scaling, fan, distribution, false, scale, 0, 0, 0};
}

/// Xavier's uniform initialiser, the default: U(-l, l), l = sqrt(6 / (in + out)).
/// Source: Glorot and Bengio, AISTATS 2010.
inline constexpr Initializer glorot_uniform =
    variance_scaling(1, Initializer::Fan::average, Initializer::Distribution::uniform);
/// The same variance, truncated normal.
inline constexpr Initializer glorot_normal = variance_scaling(1, Initializer::Fan::average);
/// Variance 2 / in, for layers that relu follows. Source: He et al., arXiv:1502.01852.
inline constexpr Initializer he_normal = variance_scaling(2, Initializer::Fan::in);
inline constexpr Initializer he_uniform =
    variance_scaling(2, Initializer::Fan::in, Initializer::Distribution::uniform);
/// Variance 1 / in. Source: LeCun et al., "Efficient BackProp", 1998.
inline constexpr Initializer lecun_normal = variance_scaling(1, Initializer::Fan::in);
inline constexpr Initializer lecun_uniform =
    variance_scaling(1, Initializer::Fan::in, Initializer::Distribution::uniform);

/// `gain` times an orthogonal matrix, each as likely as another: the last axis is the columns, the
/// others are the rows. Of rows and columns, the fewer are orthonormal. Of a vector, one of length
/// `gain`. Takes rows x columns x the fewer multiplications. Source: Saxe et al., arXiv:1312.6120.
constexpr Initializer orthogonal(double gain = 1) {
  return detail::initializer(Initializer::Kind::orthogonal, gain, 0);
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
