// SPDX-License-Identifier: Apache-2.0

// eye, matrix_set_diag, meshgrid: all orders of extents, element types, batches.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>

#include "typeflow/einsum.hpp"
#include "typeflow/indexing.hpp"
#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Input;
using testing::Inputs;

/// m with the diagonals d.
tf::HostTensor with_diagonals(const tf::HostTensor& m, const tf::HostTensor& d) {
  const std::int64_t columns = m.dims[m.dims.rank - 1];
  const std::int64_t rows = m.dims[m.dims.rank - 2];
  const std::int64_t shorter = std::min(rows, columns);
  tf::HostTensor y = m;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t r = i / columns % rows;
    if (r == i % columns) y[i] = d[i / (rows * columns) * shorter + r];
  }
  return y;
}

/// Element i of a result of shape (rows,columns) is list[i / columns] or list[i % columns].
auto grid(bool along_rows, std::int64_t rows, std::int64_t columns) {
  return [=](const tf::HostTensor& x, const tf::HostTensor& y) {
    tf::HostTensor g = tf::host_tensor(x.dtype, tf::Dims{2, {rows, columns}});
    for (std::int64_t i = 0; i < g.size(); ++i) {
      const std::int64_t at = along_rows ? i / columns : i % columns;
      g[i] = (x.size() == (along_rows ? rows : columns) ? x : y)[at];
    }
    return g;
  };
}

}  // namespace

TEST_CASE("eye: values") {
  const auto check = [](const auto& result) {
    INFO(result.worst);
    CHECK(result.largest_error == 0);
  };
  const auto expected = [](const tf::HostTensor& x) {
    tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const bool on = i / x.dims[1] == i % x.dims[1];
      y.set(i, on ? 1 : 0);
    }
    return y;
  };
  check(testing::check_values<Elements<float, double, std::int32_t, std::uint8_t, tf::float16>,
                              tf::Shape<4, 4>, tf::Shape<3, 7>, tf::Shape<7, 3>, tf::Shape<1, 1>,
                              tf::Shape<0, 2>, tf::Shape<tf::batch, tf::batch>,
                              tf::Shape<tf::batch, 2>>(
      [](auto x) {
        using X = decltype(x);
        // x itself takes part, so that the batch is known.
        return where(
            tf::not_equal(x, x), x,
            tf::eye<typename X::element, tf::extent<0>(X{}), tf::extent<1>(X{})>(x.graph()));
      },
      expected));
}

TEST_CASE("matrix_set_diag: values") {
  const auto check = testing::check_values<
      Elements<float, double, bool, std::int32_t, std::int64_t, tf::bfloat16>,
      Inputs<tf::Shape<tf::batch, 5, 5>, tf::Shape<tf::batch, 5>>,
      Inputs<tf::Shape<2, 3, 7>, tf::Shape<2, 3>>, Inputs<tf::Shape<7, 3>, tf::Shape<3>>,
      Inputs<tf::Shape<tf::batch, tf::batch>, tf::Shape<tf::batch>>,
      Inputs<tf::Shape<0, 4>, tf::Shape<0>>, Inputs<tf::Shape<1, 1>, tf::Shape<1>>>(
      [](auto m, auto d) { return tf::matrix_set_diag(m, d); }, with_diagonals,
      {.also = {-0., std::numeric_limits<double>::quiet_NaN()}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}
TEST_CASE("matrix_set_diag: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 4, 3>, tf::Shape<2, 3>>(
      [](auto m, auto d) { return tf::matrix_set_diag(m, d); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}

TEST_CASE("meshgrid: values") {
  using Lists = Inputs<tf::Shape<5>, tf::Shape<3>>;
  const auto check = [](const auto& result) {
    INFO(result.worst);
    CHECK(result.largest_error == 0);
  };
  using Types = Elements<float, std::int64_t, bool>;
  check(testing::check_values<Types, Lists>(
      [](auto x, auto y) { return std::get<0>(tf::meshgrid(std::tuple{x, y})); },
      grid(false, 3, 5)));
  check(testing::check_values<Types, Lists>(
      [](auto x, auto y) { return std::get<1>(tf::meshgrid(std::tuple{x, y})); },
      grid(true, 3, 5)));
  check(testing::check_values<Types, Lists>(
      [](auto x, auto y) { return std::get<0>(tf::meshgrid<tf::GridOrder::ij>(std::tuple{x, y})); },
      grid(true, 5, 3)));
  check(testing::check_values<Types, Lists>(
      [](auto x, auto y) { return std::get<1>(tf::meshgrid<tf::GridOrder::ij>(std::tuple{x, y})); },
      grid(false, 5, 3)));
  // Three lists and a batch: the third stays along the last axis.
  const auto three =
      testing::check_values<Inputs<tf::Shape<tf::batch>, tf::Shape<2>, tf::Shape<4>>>(
          [](auto x, auto y, auto z) {
            const auto [a, b, c] = tf::meshgrid(std::tuple{x, y, z});
            static_assert(decltype(a)::shape::dims == tf::Dims{3, {2, tf::batch, 4}});
            return a + 2 * b + 4 * c;
          },
          [](const tf::HostTensor& x, const tf::HostTensor& y, const tf::HostTensor& z) {
            const std::int64_t n = x.size();
            tf::HostTensor s = tf::host_tensor(x.dtype, tf::Dims{3, {2, n, 4}});
            for (std::int64_t i = 0; i < s.size(); ++i) {
              s.set(i, x.value(i / 4 % n) + 2 * y.value(i / 4 / n) + 4 * z.value(i % 4));
            }
            return s;
          },
          {.ranges = {{0, 1}}});
  INFO(three.worst);
  CHECK(three.largest_error <= 2);
}
TEST_CASE("meshgrid: gradient") {
  const auto check = testing::check_gradients<tf::Shape<3>, tf::Shape<2>>([](auto x, auto y) {
    const auto [a, b] = tf::meshgrid(std::tuple{x, y});
    return a * b;
  });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}
