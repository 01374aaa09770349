// SPDX-License-Identifier: Apache-2.0

// Ten training steps beside PyTorch's: of each optimiser that has the same formula there, and of
// two small networks. tests/peers/optimizers.py wrote down what PyTorch computes.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "peers/optimizers.hpp"

namespace {

namespace tf = typeflow;

// All optimisers in one model, each of a variable of its own.
constexpr void vectors(tf::Graph& g) {
  auto weights = tf::placeholder<float, 6>(g, "weights");
  auto goal = tf::placeholder<float, 6>(g, "goal");
  tf::Effect all;
  const auto train = [&](tf::Label name, const auto& optimizer) {
    auto w = tf::variable<float, 6>(g, name);
    const auto loss = sum(weights * square(w - goal));
    tf::VariableList list = g.trainable();
    const tf::Id last = list.variables.back();
    list.variables.clear();
    list.variables.push(last);
    all += optimizer.minimize(loss, list);
  };
  train("momentum", tf::Momentum{.rate = 0.1, .momentum = 0.8});
  train("nesterov", tf::Momentum{.rate = 0.1, .momentum = 0.8, .nesterov = true});
  train("adagrad", tf::Adagrad{.rate = 0.3});
  train("adam", tf::Adam{.rate = 0.1});
  train("adamw", tf::AdamW{.rate = 0.1, .decay = 0.2});
  train("adadelta", tf::Adadelta{.rate = 1, .decay = 0.9, .epsilon = 1e-4});
  train("adamax", tf::Adamax{.rate = 0.1});
  all.named("train");
}

constexpr void residual(tf::Graph& g) {
  auto h = tf::placeholder<float, tf::batch, 6>(g, "x") + 0;
  auto t = tf::placeholder<float, tf::batch, 3>(g, "t");
  for (int i = 0; i < 2; ++i) {
    auto norm = tf::layer_norm(g, {"norm", i}, h, {.epsilon = 1e-5});
    h = h + relu(tf::dense<6>(g, {"fc", i}, norm));
  }
  auto loss = mean(square(tf::dense<3>(g, "fc_2", h) - t)).named("loss");
  tf::Adam{.rate = 0.02}.minimize(loss).named("train");
}

constexpr void convolution(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 4, 2>(g, "x");
  auto t = tf::placeholder<float, tf::batch, 3>(g, "t");
  auto y = conv2d(x, tf::variable<float, 3, 3, 2, 3>(g, "kernel"));
  auto h = tf::reshape<tf::batch, 60>(relu(tf::batch_norm(g, "norm", y, {.epsilon = 1e-3})));
  auto loss = mean(square(tf::dense<3>(g, "fc", h) - t)).named("loss");
  tf::Momentum{.rate = 0.05, .momentum = 0.8}.minimize(loss).named("train");
}

std::vector<float> floats(const std::vector<double>& x) { return {x.begin(), x.end()}; }

void set(tf::Variables& variables, const std::string& name, const std::vector<double>& x,
         const tf::Dims& dims) {
  variables.set<float>(name, floats(x), dims);
}
void check(const tf::Variables& variables, const std::string& name,
           const std::vector<double>& expected) {
  CAPTURE(name);
  const auto x = variables.get<float>(name);
  REQUIRE(x.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(static_cast<double>(x[i]) == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("optimisers take PyTorch's steps") {
  tf::Variables variables;
  for (const char* name :
       {"momentum", "nesterov", "adagrad", "adam", "adamw", "adadelta", "adamax"}) {
    set(variables, name, peers::vector_start, {1, {6}});
  }
  tf::Session<vectors> session(variables);
  for (int step = 0; step < 10; ++step) {
    session.run<"train">(tf::feed<"weights">(floats(peers::vector_weights)),
                         tf::feed<"goal">(floats(peers::vector_goal)));
  }
  check(variables, "momentum", peers::vector_momentum);
  check(variables, "nesterov", peers::vector_nesterov);
  check(variables, "adagrad", peers::vector_adagrad);
  check(variables, "adam", peers::vector_adam);
  check(variables, "adamw", peers::vector_adamw);
  check(variables, "adadelta", peers::vector_adadelta);
  check(variables, "adamax", peers::vector_adamax);
}

TEST_CASE("a residual network with layer norm takes PyTorch's steps of Adam") {
  using namespace peers;
  tf::Variables v;
  set(v, "norm_0/gamma", residual_gamma0_before, {1, {6}});
  set(v, "norm_0/beta", residual_beta0_before, {1, {6}});
  set(v, "fc_0/W", residual_W0_before, {2, {6, 6}});
  set(v, "fc_0/b", residual_b0_before, {1, {6}});
  set(v, "norm_1/gamma", residual_gamma1_before, {1, {6}});
  set(v, "norm_1/beta", residual_beta1_before, {1, {6}});
  set(v, "fc_1/W", residual_W1_before, {2, {6, 6}});
  set(v, "fc_1/b", residual_b1_before, {1, {6}});
  set(v, "fc_2/W", residual_W2_before, {2, {6, 3}});
  set(v, "fc_2/b", residual_b2_before, {1, {3}});
  tf::Session<residual> session(v);
  for (const double expected : residual_losses) {
    const float loss = session.run<"loss", "train">(tf::feed<"x">(floats(residual_x)),
                                                    tf::feed<"t">(floats(residual_t)));
    CHECK(static_cast<double>(loss) == doctest::Approx(expected).epsilon(1e-4));
  }
  check(v, "norm_0/gamma", residual_gamma0_after);
  check(v, "norm_0/beta", residual_beta0_after);
  check(v, "fc_0/W", residual_W0_after);
  check(v, "fc_0/b", residual_b0_after);
  check(v, "norm_1/gamma", residual_gamma1_after);
  check(v, "norm_1/beta", residual_beta1_after);
  check(v, "fc_1/W", residual_W1_after);
  check(v, "fc_1/b", residual_b1_after);
  check(v, "fc_2/W", residual_W2_after);
  check(v, "fc_2/b", residual_b2_after);
}

TEST_CASE("a convolution with batch norm takes PyTorch's steps of gradient descent with momentum") {
  using namespace peers;
  tf::Variables v;
  set(v, "kernel", convolution_kernel_before, {4, {3, 3, 2, 3}});
  set(v, "norm/gamma", convolution_gamma_before, {1, {3}});
  set(v, "norm/beta", convolution_beta_before, {1, {3}});
  set(v, "fc/W", convolution_W_before, {2, {60, 3}});
  set(v, "fc/b", convolution_b_before, {1, {3}});
  tf::Session<convolution> session(v);
  for (const double expected : convolution_losses) {
    const float loss = session.run<"loss", "train">(tf::feed<"x">(floats(convolution_x)),
                                                    tf::feed<"t">(floats(convolution_t)));
    CHECK(static_cast<double>(loss) == doctest::Approx(expected).epsilon(1e-4));
  }
  check(v, "kernel", convolution_kernel_after);
  check(v, "norm/gamma", convolution_gamma_after);
  check(v, "norm/beta", convolution_beta_after);
  check(v, "fc/W", convolution_W_after);
  check(v, "fc/b", convolution_b_after);
}
