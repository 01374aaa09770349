// SPDX-License-Identifier: Apache-2.0

// The memory of products that are parts of concatenations: in loops, in variables, of other
// element types, and of wholes that runs want in the caller's memory or not at all.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/mixed_matmul.hpp>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;

/// A recurrent net whose state is a concatenation of products, and its gradients.
constexpr void in_a_loop(tf::Graph& g) {
  auto first = tf::placeholder<float, tf::batch, 20>(g, "first");
  auto xs = tf::placeholder<float, 4, tf::batch, 11>(g, "xs");
  auto w = tf::placeholder<float, 20, 9>(g, "w");
  auto u = tf::placeholder<float, 11, 11>(g, "u");
  auto [last, all] = tf::scan(
      [&](auto s, auto x) {
        auto state = tf::concat<1>(tf::tanh(tf::matmul(s, w)), 0.1f * tf::matmul(x, u));
        return std::pair{state, state};
      },
      first, xs);
  last.named("last");
  auto loss = (tf::sum(last * last) + tf::mean(all)).named("loss");
  auto [of_w, of_u] = tf::gradients(loss, w, u);
  of_w.named("of w");
  of_u.named("of u");
}

constexpr void in_variables(tf::Graph& g) {
  auto v = tf::variable<float, 12, 30>(g, "v", tf::truncated_normal());
  auto w = tf::variable<float, 30, 18>(g, "w", tf::truncated_normal());
  auto x = tf::placeholder<float, 12, 12>(g, "x");
  auto product = tf::matmul(x, tf::slice<tf::whole, tf::range(0, 12)>(v.read()));
  auto y = tf::concat<1>(tf::matmul(v, w), product).named("y");
  tf::assign(v, y).named("step");
}

constexpr void used_twice(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 15>(g, "x");
  auto w = tf::placeholder<float, 15, 13>(g, "w");
  auto p = tf::matmul(x, w);
  auto q = tf::sigmoid(tf::matmul(x, w) + 1.0f);
  tf::concat<1>(p, x).named("p first");
  tf::concat<1>(x, p).named("p last");
  tf::concat<1>(q, q).named("twice");
  auto inner = tf::concat<1>(tf::matmul(x, 2.0f * w), tf::relu(tf::matmul(x, w - 1.0f)));
  tf::concat<1>(inner, x, tf::matmul(x, 3.0f * w)).named("outer");
  inner.named("inner");
  tf::sum<1>(tf::concat<1>(tf::matmul(x, 4.0f * w), x)).named("sums");
}

constexpr void of_operations(tf::Graph& g) {
  auto a = tf::placeholder<std::int8_t, tf::batch, 40>(g, "a");
  auto b = tf::placeholder<std::int8_t, 40, 21>(g, "b");
  auto p = tf::matmul<std::int32_t>(a, b);
  tf::concat<1>(p, tf::cast<std::int32_t>(a), p * 2).named("integers");
  auto y = tf::placeholder<float, tf::batch, 4, 5, 12>(g, "y");
  auto w = tf::placeholder<float, 3, 3, 17, 12>(g, "w");
  auto up = tf::conv2d_transpose<tf::ConvOptions<2>{.strides = {2, 2}}>(y, w);
  tf::concat<3>(up, tf::exp(up)).named("transposed");
}

}  // namespace

TEST_CASE("products that are parts agree with the interpreter in loops and variables") {
  for (const std::int64_t batch : {1, 3, 40}) {
    CAPTURE(batch);
    test::check_against_interpreter<in_a_loop>(batch, 1e-5);
    test::check_against_interpreter<in_variables>(batch, 1e-5, 2);
    test::check_against_interpreter<used_twice>(batch, 1e-5);
    test::check_against_interpreter<of_operations>(batch, 1e-5, 3);
  }
}

namespace {

constexpr void whole_and_sum(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto w = tf::placeholder<float, 3, 10>(g, "w");
  auto y = tf::concat<1>(tf::matmul(x, w), tf::relu(tf::matmul(x, w))).named("y");
  tf::sum<1>(y).named("sums");
}

}  // namespace

TEST_CASE("a product follows the whole into the caller's memory and back") {
  tf::Variables variables;
  tf::Session<whole_and_sum> session(variables);
  std::vector<float> w(30);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  for (const std::size_t batch : {3u, 50u, 2u}) {
    std::vector<float> x(3 * batch);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
    std::vector<float> expected(20 * batch);
    std::vector<float> of_rows(batch);
    for (std::size_t row = 0; row < batch; ++row) {  // all numbers are small and whole
      for (std::size_t j = 0; j < 10; ++j) {
        float sum = 0;
        for (std::size_t k = 0; k < 3; ++k) sum += x[3 * row + k] * w[10 * k + j];
        expected[20 * row + j] = sum;
        expected[20 * row + 10 + j] = sum > 0 ? sum : 0;
        of_rows[row] += sum + (sum > 0 ? sum : 0);
      }
    }
    const auto check_sums = [&] {
      std::vector<float> sums(batch);
      session.run(tf::feed<"x">(x), tf::feed<"w">(w), tf::into<"sums">(sums));
      CHECK(sums == of_rows);
    };
    check_sums();
    std::vector<float> y(20 * batch, -100.0f);
    session.run(tf::feed<"x">(x), tf::feed<"w">(w), tf::into<"y">(y));
    CHECK(y == expected);
    const std::vector<float> before = y;
    check_sums();
    CHECK(y == before);
  }
}
