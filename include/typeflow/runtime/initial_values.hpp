// SPDX-License-Identifier: Apache-2.0
#pragma once

// Initial values of variables, computed on the host: the meaning of the initialisers of
// front/initializers.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "typeflow/core/philox.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Standard normal number `index` of a sequence, by the method of Box and Muller. `attempt` counts
/// redraws.
inline double normal_element(std::uint64_t key, std::uint64_t index, std::uint64_t attempt) {
  const double u = 1 - uniform_element<double>(key, attempt, 2 * index);  // (0, 1]
  const double v = uniform_element<double>(key, attempt, 2 * index + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}
inline double truncated_normal_element(std::uint64_t key, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double x = normal_element(key, index, attempt);
    if (std::abs(x) <= 2) return x;
  }
}

/// Element `index` of a variable with this initialiser.
TYPEFLOW_COLD inline double initial_element(const InitializerRecord& how, const Dims& dims,
                                            std::uint64_t key, std::uint64_t index) {
  switch (how.kind) {
    case Initializer::Kind::unset:
    case Initializer::Kind::resource:  // an object, which the store makes
      return 0;
    case Initializer::Kind::constant:
      return how.a;
    case Initializer::Kind::uniform:
      return how.a + (how.b - how.a) * uniform_element<double>(key, 0, index);
    case Initializer::Kind::normal:
      return how.a + how.b * normal_element(key, index, 0);
    case Initializer::Kind::truncated_normal:
      return how.a + how.b * truncated_normal_element(key, index);
    case Initializer::Kind::variance_scaling:
    case Initializer::Kind::orthogonal:  // as a whole
      break;
  }
  // Fans as in TensorFlow: the last two axes are in and out, the others are the filter's size.
  double in = 1;
  double out = 1;
  if (dims.rank == 1) in = out = static_cast<double>(dims.extent[0]);
  if (dims.rank >= 2) {
    double filter = 1;
    for (int i = 0; i + 2 < dims.rank; ++i) filter *= static_cast<double>(dims.extent[i]);
    in = filter * static_cast<double>(dims.extent[dims.rank - 2]);
    out = filter * static_cast<double>(dims.extent[dims.rank - 1]);
  }
  const double fan = how.fan == Initializer::Fan::in    ? in
                     : how.fan == Initializer::Fan::out ? out
                                                        : (in + out) / 2;
  const double variance = how.a / std::max(1.0, fan);
  switch (how.distribution) {
    case Initializer::Distribution::uniform:
      return std::sqrt(3 * variance) * (2 * uniform_element<double>(key, 0, index) - 1);
    case Initializer::Distribution::normal:
      return std::sqrt(variance) * normal_element(key, index, 0);
    case Initializer::Distribution::truncated_normal:
      break;
  }
  // 0.8796... is the standard deviation of a standard normal that is cut at two deviations.
  return std::sqrt(variance) / 0.87962566103423978 * truncated_normal_element(key, index);
}

/// The sum of products, in an order that compilers can vectorise.
inline double dot_product(const double* a, const double* b, std::size_t n) {
  double sum[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sum[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sum[i % 8] += a[i] * b[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// The elements of `gain` times an orthogonal matrix. Normal vectors are made orthogonal to those
/// before, each twice, since one pass leaves rounding errors (Giraud, Langou and Rozloznik, Comput.
/// Math. Appl. 50 (2005)). The result is the factor Q of a normal matrix whose R has a positive
/// diagonal. It is uniformly distributed (Mezzadri, Notices of the AMS 54 (2007)).
TYPEFLOW_COLD inline std::vector<double> orthogonal_matrix(const Dims& dims, std::uint64_t key,
                                                           double gain) {
  const auto columns = static_cast<std::size_t>(dims.rank == 0 ? 1 : dims.extent[dims.rank - 1]);
  const auto size = static_cast<std::size_t>(count_of(dims).coefficient);
  if (size == 0) return {};
  const std::size_t rows = size / columns;
  const std::size_t count = std::min(rows, columns);
  const std::size_t length = std::max(rows, columns);
  std::vector<double> vectors(size);
  for (std::size_t i = 0; i < size; ++i) vectors[i] = normal_element(key, i, 0);
  for (std::size_t i = 0; i < count; ++i) {
    double* const v = vectors.data() + i * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < i; ++k) {
        const double* const q = vectors.data() + k * length;
        const double along = dot_product(v, q, length);
        for (std::size_t at = 0; at < length; ++at) v[at] -= along * q[at];
      }
      const double norm = std::sqrt(dot_product(v, v, length));
      for (std::size_t at = 0; at < length; ++at) v[at] /= norm;
    }
  }
  std::vector<double> matrix(size);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      matrix[row * columns + column] =
          gain * (rows < columns ? vectors[row * length + column] : vectors[column * length + row]);
    }
  }
  return matrix;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
