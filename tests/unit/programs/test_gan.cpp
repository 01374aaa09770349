// SPDX-License-Identifier: Apache-2.0

// A generative adversarial net: two nets, two losses, each trained by its own step.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/plain_nets.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
using test::Numbers;

constexpr auto generator(tf::Graph& g, tf::Label name) {
  tf::Scope in(g, name);
  tf::Dense<2, 4> hidden(g, "hidden", {.activation = tf::tanh});
  tf::Dense<4, 3> out(g, "out");
  return [=](auto z) { return out(hidden(z)); };
}
constexpr auto discriminator(tf::Graph& g, tf::Label name) {
  tf::Scope in(g, name);
  tf::Dense<3, 4> hidden(g, "hidden", {.activation = tf::tanh});
  tf::Dense<4, 1> out(g, "out");
  return [=](auto x) { return out(hidden(x)); };
}

constexpr void gan(tf::Graph& g) {
  auto G = generator(g, "G");
  auto D = discriminator(g, "D");
  auto real = placeholder<float, tf::batch, 3>(g, "real");
  auto fake = G(tf::random_normal<float, tf::batch, 2>(g, "z")).named("fake");
  auto d_fake = D(fake);
  // Cross entropies with 1 and with 0: softplus(-x) and softplus(x).
  auto d_loss = (mean(softplus(-D(real))) + mean(softplus(d_fake))).named("d_loss");
  auto g_loss = mean(softplus(-d_fake)).named("g_loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(d_loss, g.trainable("D")).named("train_d");
  tf::GradientDescent{.rate = 0.1f}.minimize(g_loss, g.trainable("G")).named("train_g");
}

Numbers scores(const Numbers& x, const tf::Variables& variables) {
  const Numbers hidden =
      test::map(test::dense(x, variables, "D/hidden"), [](double e) { return std::tanh(e); });
  return test::dense(hidden, variables, "D/out");
}
template <class F>
double mean_of(const Numbers& x, const F& f) {
  double total = 0;
  for (const double e : x) total += f(e) / static_cast<double>(x.size());
  return total;
}

}  // namespace

TEST_CASE("each step of a GAN trains its own net") {
  const Numbers real = test::random_numbers(3 * 6, 1);
  const std::vector<float> fed = test::as_floats(real);
  tf::Variables variables;
  tf::Session<gan> session(variables, {.seed = 3});
  const auto all = [&](const std::string& net) {
    std::vector<Numbers> values;
    for (const char* const name : {"/hidden/W", "/hidden/b", "/out/W", "/out/b"}) {
      values.push_back(test::variable(variables, net + name));
    }
    return values;
  };
  const auto of_g = all("G");
  const auto of_d = all("D");
  const auto old_scores = scores(real, variables);

  const auto [fake, d_loss, g_loss] =
      session.run<"fake", "d_loss", "g_loss", "train_d">(tf::feed<"real">(fed));
  CHECK(all("G") == of_g);
  CHECK(all("D") != of_d);
  tf::Variables before;  // D as it was
  for (const char* const name : {"D/hidden/W", "D/hidden/b", "D/out/W", "D/out/b"}) {
    const std::string text = name;
    const std::size_t i = (text.starts_with("D/out") ? 2u : 0u) + (text.ends_with("b") ? 1u : 0u);
    before.set<float>(text, test::as_floats(of_d[i]),
                      tf::Dims{1, {static_cast<tf::Extent>(of_d[i].size())}});
  }
  const Numbers of_fake = scores(test::as_numbers(fake), before);
  const auto minus = [](double x) { return test::softplus(-x); };
  CHECK(static_cast<double>(d_loss) ==
        doctest::Approx(mean_of(old_scores, minus) + mean_of(of_fake, test::softplus)));
  CHECK(static_cast<double>(g_loss) == doctest::Approx(mean_of(of_fake, minus)));
  // The gradient for D's last bias: of softplus(-x) and of softplus(x).
  const double slope = mean_of(old_scores, [](double x) { return test::sigmoid(x) - 1; }) +
                       mean_of(of_fake, test::sigmoid);
  CHECK(test::variable(variables, "D/out/b")[0] == doctest::Approx(of_d[3][0] - 0.1 * slope));

  const auto trained_d = all("D");
  session.run<"train_g">(tf::feed<"real">(fed));
  CHECK(all("G") != of_g);
  CHECK(all("D") == trained_d);
}
