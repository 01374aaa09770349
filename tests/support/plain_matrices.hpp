// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrices in plain loops: the reference of linear algebra.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/testing.hpp>

namespace test {

template <class E>
struct MatrixOf {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<E> e;

  MatrixOf(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), e(static_cast<std::size_t>(r * c), E(0)) {}
  E& operator()(std::int64_t i, std::int64_t j) {
    return e[static_cast<std::size_t>(i * columns + j)];
  }
  E operator()(std::int64_t i, std::int64_t j) const {
    return e[static_cast<std::size_t>(i * columns + j)];
  }
};
using Matrix = MatrixOf<double>;

/// The matrices in a tensor's last two axes.
inline std::vector<Matrix> matrices(const typeflow::HostTensor& x) {
  const std::int64_t rows = x.dims[x.dims.rank - 2];
  const std::int64_t columns = x.dims[x.dims.rank - 1];
  std::int64_t count = 1;
  for (int i = 0; i < x.dims.rank - 2; ++i) count *= x.dims[i];
  std::vector<Matrix> out(static_cast<std::size_t>(count), Matrix(rows, columns));
  std::int64_t k = 0;
  for (Matrix& m : out) {
    for (double& e : m.e) e = x.value(k++);
  }
  return out;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  REQUIRE(a.columns == b.rows);
  Matrix y(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) y(i, j) += a(i, k) * b(k, j);
    }
  }
  return y;
}
inline Matrix transposed(const Matrix& a) {
  Matrix y(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) y(j, i) = a(i, j);
  }
  return y;
}
inline Matrix identity(std::int64_t n, double factor = 1) {
  Matrix y(n, n);
  for (std::int64_t i = 0; i < n; ++i) y(i, i) = factor;
  return y;
}

/// a and b differ by at most the tolerance, times b's largest magnitude if that is above 1.
inline void check_same(const Matrix& a, const Matrix& b, double tolerance) {
  REQUIRE(a.rows == b.rows);
  REQUIRE(a.columns == b.columns);
  double scale = 1;
  double worst = 0;
  for (std::size_t i = 0; i < a.e.size(); ++i) {
    scale = std::max(scale, std::abs(b.e[i]));
    const double here = std::abs(a.e[i] - b.e[i]);
    worst = here <= worst ? worst : here;  // keeps NaN
  }
  CHECK(worst <= tolerance * scale);
}

}  // namespace test
