// SPDX-License-Identifier: Apache-2.0

// cholesky_solve: forward and back substitution by loops, and its gradient.

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "typeflow/linalg.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Inputs;

/// The lower triangles of matrices.
struct Lower {
  const tf::HostTensor& m;
  std::int64_t n = m.dims[m.dims.rank - 1];
  double operator()(std::int64_t matrix, std::int64_t i, std::int64_t j) const {
    return m.value((matrix * n + i) * n + j);
  }
};

tf::HostTensor solved(const tf::HostTensor& m, const tf::HostTensor& b) {
  const Lower l{m};
  const std::int64_t columns = b.dims[b.dims.rank - 1];
  tf::HostTensor x = b;
  for (std::int64_t k = 0; k * l.n * columns < b.size(); ++k) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::vector<double> v;
      const auto at = [&](std::int64_t i) { return (k * l.n + i) * columns + c; };
      for (std::int64_t i = 0; i < l.n; ++i) {
        double rest = b.value(at(i));
        for (std::int64_t j = 0; j < i; ++j) {
          rest -= l(k, i, j) * v[static_cast<std::size_t>(j)];
        }
        v.push_back(rest / l(k, i, i));
      }
      for (std::int64_t i = l.n - 1; i >= 0; --i) {
        double rest = v[static_cast<std::size_t>(i)];
        for (std::int64_t j = i + 1; j < l.n; ++j) {
          rest -= l(k, j, i) * v[static_cast<std::size_t>(j)];
        }
        v[static_cast<std::size_t>(i)] = rest / l(k, i, i);
        x.set(at(i), v[static_cast<std::size_t>(i)]);
      }
    }
  }
  return x;
}

}  // namespace

TEST_CASE("cholesky_solve: values") {
  const auto check =
      testing::check_values<Elements<float, double>, Inputs<tf::Shape<4, 4>, tf::Shape<4, 3>>,
                            Inputs<tf::Shape<tf::batch, 3, 3>, tf::Shape<tf::batch, 3, 1>>,
                            Inputs<tf::Shape<1, 1>, tf::Shape<1, 2>>>(
          [](auto l, auto b) { return tf::cholesky_solve(l, b); }, solved,
          {.ranges = {{1, 2}, {-2, 2}}});
  INFO(check.worst);
  CHECK(check.largest_error <= 200);
}

TEST_CASE("cholesky_solve: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 3, 3>, tf::Shape<2, 3, 2>>(
      [](auto m, auto b) { return tf::cholesky_solve(tf::sigmoid(m) + 1, b); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}
