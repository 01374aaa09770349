// SPDX-License-Identifier: Apache-2.0

// cross and matrix_band_part against loops over elements.

#include "support/check_gradients.hpp"

namespace {

namespace tf = typeflow;
using tf::Shape;
using tf::testing::Elements;
using tf::testing::Inputs;

tf::HostTensor cross_products(const tf::HostTensor& a, const tf::HostTensor& b) {
  tf::HostTensor y = tf::host_tensor(a.dtype, tf::broadcast(a.dims, b.dims));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const std::int64_t row = i / 3 * 3;
    const auto element = [&](const tf::HostTensor& x, std::int64_t k) {
      return x.value(tf::broadcast_index(row + k % 3, y.dims, x.dims));
    };
    const std::int64_t k = i % 3;
    y.set(i, element(a, k + 1) * element(b, k + 2) - element(a, k + 2) * element(b, k + 1));
  }
  return y;
}

/// Elements (i, j) with -lower <= j - i <= upper.
auto band(int lower, int upper) {
  return [=](const tf::HostTensor& x) {
    const std::int64_t rows = x.dims[x.dims.rank - 2];
    const std::int64_t columns = x.dims[x.dims.rank - 1];
    tf::HostTensor y = x;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t row = i / columns % rows;
      const std::int64_t column = i % columns;
      if (column < row - lower || column > row + upper) y.set(i, 0);
    }
    return y;
  };
}
constexpr int all = 1000;

/// Of matrices with NaN, also where they are dropped.
template <int Lower, int Upper, class... Cases>
void check_band() {
  const auto check = tf::testing::check_values<Cases...>(
      [](auto x) { return tf::matrix_band_part<Lower, Upper>(x); },
      band(Lower < 0 ? all : Lower, Upper < 0 ? all : Upper), {.also = {NAN, INFINITY, 3, NAN}});
  INFO(check.worst);
  CHECK(check.largest_error == 0);
}

}  // namespace

TEST_CASE("cross: values") {
  const auto f = [](auto a, auto b) { return cross(a, b); };
  const auto check = tf::testing::check_values<Elements<float, std::int32_t>,
                                               Inputs<Shape<tf::batch, 1, 3>, Shape<5, 3>>,
                                               Inputs<Shape<3>, Shape<0, 3>>>(f, cross_products);
  INFO(check.worst);
  CHECK(check.largest_error <= 4);
}
TEST_CASE("matrix_band_part: values") {
  check_band<-1, 0, Elements<double>, Shape<tf::batch, 5, 3>, Shape<0, 2>>();
  check_band<0, 2, Shape<4, 7>>();
  check_band<1, -1, Elements<std::int32_t>, Shape<tf::batch, tf::batch>>();
}

TEST_CASE("cross: gradient") {
  test::check_gradients<Shape<2, 3>, Shape<3>>([](auto a, auto b) { return cross(a, b); });
}
TEST_CASE("matrix_band_part: gradient") {
  test::check_gradients<Shape<2, 3, 4>>([](auto x) { return tf::matrix_band_part<1, 0>(x); });
}
