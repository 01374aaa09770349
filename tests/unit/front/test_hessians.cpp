// SPDX-License-Identifier: Apache-2.0

// hessians: against TensorFlow's values, formulas and differences.

#include "support/check_values.hpp"
#include "typeflow/hessians.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, 2>(g, "x");
  auto n = tf::placeholder<double, tf::batch>(g, "n");
  auto s = tf::placeholder<double>(g, "s");
  auto c = tf::constant<double, 2, 2>(g, {1, 2, -1, 0.5});
  auto y = sum(x * x * x) * exp(sum(x * c));
  hessians(y, x).named("of_matrix");
  const auto [of_n, of_s] = hessians(sum(square(n)) * s + s * s * s, n, s);
  of_n.named("of_batch");
  of_s.named("of_scalar");
  hessians(sum(x * c), x).named("of_linear");
}

}  // namespace

TEST_CASE("hessians: values") {
  for (const std::int64_t batch : {0, 1, 3}) {
    const tf::HostTensors feeds = {
        {"x", test::doubles({2, 2}, {0.5, -1, 2, 0.25})},
        {"n", test::doubles({batch}, std::vector<double>(static_cast<std::size_t>(batch), 2))},
        {"s", test::doubles({}, {0.75})}};
    tf::HostTensor of_batch = tf::host_tensor(tf::DType::float64, test::dims({batch, batch}));
    for (std::int64_t i = 0; i < batch; ++i) of_batch.set(i * batch + i, 2 * 0.75);
    // TensorFlow 2.21: tf.compat.v1.hessians.
    test::check_values<model>(
        feeds,
        {{"of_matrix",
          test::doubles({2, 2, 2, 2}, {0.39832028, 0.64265903, 0.14061508, 0.14141707,   //
                                       0.64265903, 1.18266371, 0.22990298, 0.30849772,   //
                                       0.14061508, 0.22990298, -0.16627867, 0.07672344,  //
                                       0.14141707, 0.30849772, 0.07672344, 0.11882776})},
         {"of_batch", of_batch},
         {"of_scalar", test::doubles({}, {6 * 0.75})},
         {"of_linear", tf::host_tensor(tf::DType::float64, test::dims({2, 2, 2, 2}))}},
        2e-8);
  }
}

TEST_CASE("hessians: gradient") {
  // The Hessian of x^4 is diag(12 x^2); its sum has the gradient 24 x.
  tf::Graph g;
  auto x = tf::placeholder<double, 3>(g, "x");
  gradients(sum(hessians(sum(square(square(x))), x)), x).named("third");
  const tf::HostTensors out = tf::interpret(g, {{"x", test::doubles({3}, {1, -2, 0.5})}});
  CHECK(test::elements(out.at("third")) == std::vector<double>{24, -48, 12});
}

TEST_CASE("hessians: errors") {
  tf::Graph g;
  auto a = tf::placeholder<double, 2>(g, "a");
  auto b = tf::placeholder<double, 2>(g, "b");
  CHECK_THROWS_AS(hessians(sum(square(a)), b), tf::Error);
}
