// SPDX-License-Identifier: Apache-2.0

// An autoencoder with an operation of the user's own, run as a whole and from its hidden layer on;
// trained, and then run by a session that only infers.

#include <doctest/doctest.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "support/plain_nets.hpp"
#include "typeflow/typeflow.hpp"

namespace acme {

namespace tf = typeflow;

/// x sigmoid(beta x), whole in one place.
struct Swish : tf::elementwise {
  static constexpr std::string_view name = "acme/Swish";
  static constexpr tf::Domain domain = tf::Domain::floating;
  float beta = 1;  // an argument of the kernel at run time

  template <class V>
  V operator()(V x) const {
    using std::exp;
    return x / (V(1) + exp(V(-beta) * x));
  }
  static constexpr tf::AnyExpr gradient(Swish op, auto x, auto y, auto dy) {
    const auto s = sigmoid(op.beta * x);
    return dy * (op.beta * y + s * (1 - op.beta * y));
  }
};
constexpr auto swish(tf::TypedExpr auto x, float beta = 1) { return tf::apply(Swish{{}, beta}, x); }

}  // namespace acme

namespace {

namespace tf = typeflow;
using test::Numbers;

constexpr void autoencoder(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto hidden = acme::swish(dense<2>(g, "encoder", x), 1.5f).named("hidden");
  auto reconstruction = dense<4>(g, "decoder", hidden).named("reconstruction");
  auto loss = mean(square(reconstruction - x)).named("loss");
  tf::GradientDescent{.rate = 0.2f}.minimize(loss).named("train");
}

Numbers encode(const Numbers& x, const tf::Variables& variables) {
  return test::map(test::dense(x, variables, "encoder"),
                   [](double e) { return e * test::sigmoid(1.5 * e); });
}

}  // namespace

TEST_CASE("an autoencoder reconstructs, also from codes that are fed") {
  const Numbers x = test::random_numbers(5 * 4, 1);
  const std::vector<float> fed = test::as_floats(x);
  tf::Variables variables;
  tf::Session<autoencoder> session(variables, {.seed = 4});

  // A step of training moves the first encoder's weight by the rate times the slope of the loss.
  const auto loss = [&] {
    const Numbers y = test::dense(encode(x, variables), variables, "decoder");
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += (y[i] - x[i]) * (y[i] - x[i]) / 20;
    return total;
  };
  const auto W = variables.get<float>("encoder/W");
  Numbers expected = test::as_numbers(W);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float here = W[i];
    W[i] = here + 0x1p-7f;
    const double above = loss();
    W[i] = here - 0x1p-7f;
    expected[i] -= 0.2 * (above - loss()) / 0x1p-6;
    W[i] = here;
  }
  const double before = loss();
  CHECK(static_cast<double>(session.run<"loss", "train">(tf::feed<"x">(fed))) ==
        doctest::Approx(before).epsilon(1e-5));
  CHECK(test::largest_difference(test::variable(variables, "encoder/W"), expected) < 1e-4);

  // Deployed: no gradients in it. From codes on, the encoder is not even run: x needs no feed.
  tf::Session<autoencoder, tf::inference> deployed(variables, {.initialize = false});
  const Numbers code = test::random_numbers(3 * 2, 2);
  const auto picture = deployed.run<"reconstruction">(tf::feed<"hidden">(test::as_floats(code)));
  CHECK(test::largest_difference(test::as_numbers(picture),
                                 test::dense(code, variables, "decoder")) < 1e-6);
  const auto whole = deployed.run<"reconstruction">(tf::feed<"x">(fed));
  CHECK(test::largest_difference(test::as_numbers(whole),
                                 test::dense(encode(x, variables), variables, "decoder")) < 1e-5);
}

TEST_CASE("a session that may not initialise names the variable that the store lacks") {
  tf::Variables variables;
  CHECK_THROWS_AS((tf::Session<autoencoder, tf::inference>(variables, {.initialize = false})),
                  tf::Error);
}
