// SPDX-License-Identifier: Apache-2.0

// Kernels that read slices, reversals and transposes in place, against the interpreter: elements,
// folds over rows and columns, what broadcasts, and gradients through them.

#include <string_view>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

constexpr void elements(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 41>(g, "x");
  auto a = slice<0, tf::whole, tf::range(2, 37)>(x);  // (B,35)
  auto b = slice<2, tf::whole, tf::from(6)>(x);
  (a * 2.0f - exp(b)).named("pair");
  auto image = tf::placeholder<double, 7, 5, 24>(g, "image");
  (1.0 + slice<tf::every(-1)>(image)).named("backwards");
  (1.0 + slice<tf::every(2), tf::range(1, 4)>(image)).named("every other");
  sqrt(abs(transpose<1, 0, 2>(image))).named("turned");
  (image - slice<3, 2>(image)).named("less a row");
  (image * slice<3, 2, 19>(image)).named("times a number");
  (transpose<1, 0, 2>(image) - slice<tf::whole, 4>(image)).named("rows");
}

constexpr void folds(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 41>(g, "x");
  auto a = slice<0, tf::whole, tf::range(2, 37)>(x);
  auto b = slice<1, tf::whole, tf::range(1, 36)>(x);
  sum<1>(a * b).named("rows");
  softmax(a).named("softmax");
  max<0>(b).named("columns");
  (a - sum<0>(a, tf::keep_dims)).named("less columns");
  sum<1>(slice<tf::every(-1), tf::every(-1)>(x)).named("middle");
}

constexpr void gates(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9>(g, "x");
  auto c = tf::placeholder<float, tf::batch, 16>(g, "c");
  auto w = tf::variable<float, 9, 64>(g, "w");
  auto [i, f, o, z] = split<4, 1>(matmul(x, w));
  auto next = sigmoid(f) * c + sigmoid(i) * tanh(z);
  auto loss = mean(square(sigmoid(o) * tanh(next))).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

/// Windows of tensors that a batch of 0 leaves without elements, and maybe without memory.
constexpr void nothing(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 41>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 20, 24>(g, "y");
  sum<1>(slice<tf::every(-1), tf::every(-1)>(x)).named("backwards");
  sum<1>(transpose<1, 0, 2>(y)).named("turned");
}

template <auto Model>
bool moves_elements() {
  for (const tf::ir::Step& step : test::Kernels<Model>::Program::view.steps) {
    const std::string_view operation = step.label.operation.view();
    if (operation == "Slice" || operation == "Reverse" || operation == "Transpose") return true;
  }
  return false;
}

}  // namespace

TEST_CASE("windows are read in place") {
  CHECK(!moves_elements<elements>());
  CHECK(!moves_elements<folds>());
  CHECK(!moves_elements<nothing>());
}

TEST_CASE("kernels that read windows agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 2, 17, 300}) {
    test::check_against_interpreter<elements>(batch, 1e-5);
    test::check_against_interpreter<nothing>(batch, 1e-5);
    if (batch > 0) test::check_against_interpreter<folds>(batch, 1e-5);
    if (batch > 0) test::check_against_interpreter<gates>(batch, 1e-5);
  }
}

TEST_CASE("kernels that read windows have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 5, 1003}) {
    test::check_bits<elements>(batch);
    test::check_bits<folds>(batch);
    test::check_bits<gates>(batch);
  }
}
