// SPDX-License-Identifier: Apache-2.0

// Short rows by small matrices whose extents the model knows: what follows the products takes
// several rows of the result at a time. Against the interpreter.

#include <cstdint>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

template <class T, int Depth, int Columns>
constexpr void points(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, Depth>(g, "x");
  auto w = tf::placeholder<T, Depth, Columns>(g, "w");
  auto wt = tf::placeholder<T, Columns, Depth>(g, "wt");
  auto bias = tf::placeholder<T, Columns>(g, "bias");
  auto rest = tf::placeholder<T, tf::batch, Columns>(g, "rest");
  auto each = tf::placeholder<T, tf::batch, 1>(g, "each");
  auto number = tf::placeholder<T>(g, "number");
  matmul(x, w).named("product");
  relu(matmul(x, w) + bias).named("layer");
  (tf::matmul<tf::transpose_b>(x, wt) * each + rest * number).named("rows");
  const auto y = matmul(x, w - bias);
  const auto z = tanh(y + each);
  z.named("two");
  tf::cast<float>(greater(y, rest)).named("compared");
  dropout(matmul(x, w * number), {.keep = 0.5f}).named("dropped");
  (matmul(x, w + 1) * tf::range<T, Columns>(g, 0, 1)).named("counted");
  (matmul(x, w + 2) + tf::cast<T>(tf::one_hot<Columns, 1, float>(
                          tf::placeholder<std::int32_t, tf::batch>(g, "class"))))
      .named("one hot");
}

template <class T, int Depth, int Columns>
void check() {
  for (const std::int64_t rows : {0, 1, 63, 64, 65, 257, 1000}) {
    CAPTURE(rows);
    test::check_against_interpreter<points<T, Depth, Columns>>(rows, 1e-5);
  }
}

}  // namespace

TEST_CASE("what follows products of points agrees with the interpreter") {
  check<float, 3, 3>();
  check<float, 4, 5>();
  check<float, 2, 8>();
  check<float, 8, 8>();
  check<float, 7, 2>();
  check<double, 3, 4>();
  check<double, 5, 3>();
}
