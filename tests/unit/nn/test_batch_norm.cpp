// SPDX-License-Identifier: Apache-2.0

// batch_norm: its values and gradients in both modes, and moving averages, which `minimize` moves,
// against loops that are written here.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/optimizers.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
using Numbers = std::vector<double>;

Numbers random_numbers(std::size_t count, std::uint64_t seed, double low = -2, double high = 2) {
  test::Random random(seed);
  Numbers out(count);
  for (double& x : out) x = random.uniform(low, high);
  return out;
}

/// Mean and variance of each channel; channels lie side by side.
struct Statistics {
  Numbers mean;
  Numbers variance;
};
Statistics statistics(const Numbers& x, std::size_t channels) {
  Statistics s{Numbers(channels), Numbers(channels)};
  const auto n = static_cast<double>(x.size() / channels);
  for (std::size_t i = 0; i < x.size(); ++i) s.mean[i % channels] += x[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double centred = x[i] - s.mean[i % channels];
    s.variance[i % channels] += centred * centred / n;
  }
  return s;
}
Numbers normalized(const Numbers& x, const Statistics& s, const Numbers& gamma, const Numbers& beta,
                   double epsilon = 0.001) {
  const std::size_t channels = gamma.size();
  Numbers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    y[i] = (x[i] - s.mean[c]) / std::sqrt(s.variance[c] + epsilon) * gamma[c] + beta[c];
  }
  return y;
}

template <class T>
std::vector<T> as(const Numbers& x) {
  return std::vector<T>(x.begin(), x.end());
}
template <class Tensor>
void check_close(const Tensor& got, const Numbers& expected, double tolerance) {
  REQUIRE(static_cast<std::size_t>(got.size()) == expected.size());
  double largest = 0;
  double scale = 1;
  for (const double e : expected) scale = std::max(scale, std::abs(e));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double x = static_cast<double>(got.data()[i]);
    largest = std::max(largest, std::abs(x - expected[i]));
    if (std::isnan(x)) largest = std::numeric_limits<double>::infinity();
  }
  CHECK(largest <= tolerance * scale);
}

// Values.

template <class T, tf::Extent... D>
constexpr void layer(tf::Graph& g) {
  auto x = tf::placeholder<T, D...>(g, "x");
  tf::batch_norm(g, "norm", x).named("y");
  tf::batch_norm(g, "plain", x, {.epsilon = 0.1, .center = false, .scale = false}).named("plain_y");
}

template <class T, std::size_t C, tf::Extent... D>
void check_layer(std::size_t rows, double tolerance, double offset = 0) {
  using V = tf::detail::Computed<T>;
  INFO("channels ", C, ", rows ", rows);
  const tf::Dims dims{1, {C}};
  const Numbers gamma = random_numbers(C, 1);
  const Numbers beta = random_numbers(C, 2);
  const Numbers mean = random_numbers(C, 3);
  const Numbers variance = random_numbers(C, 4, 0.1, 3);
  tf::Variables variables;
  variables.set<V>("norm/gamma", as<V>(gamma), dims);
  variables.set<V>("norm/beta", as<V>(beta), dims);
  for (const char* const name : {"norm", "plain"}) {
    variables.set<V>(std::string(name) + "/moving_mean", as<V>(mean), dims);
    variables.set<V>(std::string(name) + "/moving_variance", as<V>(variance), dims);
  }
  tf::Session<layer<T, D...>> training(variables);
  tf::Session<layer<T, D...>, tf::inference> inference(variables);
  const std::vector<T> fed = as<T>(random_numbers(rows * C, 5, offset - 2, offset + 2));
  const Numbers x(fed.begin(), fed.end());
  const Numbers one(C, 1);
  const Numbers none(C, 0);
  const Statistics batch = statistics(x, C);
  const auto [y, plain] = training.template run<"y", "plain_y">(tf::feed<"x">(fed));
  check_close(y, normalized(x, batch, gamma, beta), tolerance);
  check_close(plain, normalized(x, batch, one, none, 0.1), tolerance);
  const auto [z, plain_z] = inference.template run<"y", "plain_y">(tf::feed<"x">(fed));
  check_close(z, normalized(x, {mean, variance}, gamma, beta), tolerance);
  check_close(plain_z, normalized(x, {mean, variance}, one, none, 0.1), tolerance);
  // Neither run was one of `minimize`.
  check_close(variables.get<V>("norm/moving_mean"), mean, 1e-7);
  check_close(variables.get<V>("norm/moving_variance"), variance, 1e-7);
}

// A net of two layers, trained.

constexpr void net(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 2, 3>(g, "x");
  auto h = relu(tf::batch_norm(g, "first", x, {.decay = 0.9}));
  auto y = tf::batch_norm(g, "second", h, {.decay = 0.5}).named("y");
  auto loss = mean(square(y - 0.3)).named("loss");
  tf::GradientDescent{.rate = 0.2}.minimize(loss).named("train");
}

constexpr void shared(tf::Graph& g) {
  auto a = tf::placeholder<float, 4, 2>(g, "a");
  auto b = tf::placeholder<float, 3, 5, 2>(g, "b");
  const tf::BatchNorm<2> norm(g, "norm", {.decay = 0.75});
  auto loss = sum(norm(a)) + sum(square(norm(b)));
  tf::GradientDescent{.rate = 0}.minimize(loss).named("train");
}

constexpr void own_update(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::ones());
  auto steps = tf::variable<float>(g, "steps", tf::zeros(), false);
  g.add_update(assign_add(steps, 1));
  g.add_update(tf::Effect{});
  auto loss = square(v).named("loss");
  const tf::Gradients all = gradients(loss);
  const tf::GradientDescent descent{.rate = 0.25};
  minimize(descent, all).named("train");
  const tf::Gradients clipped = clip_by_global_norm(all, 100);
  descent.apply(clipped).named("apply");
  tf::Momentum{.rate = 0, .momentum = 0}.apply(clipped).named("momentum");
  (descent.apply(all) + descent.apply(all)).named("two");
  apply_gradients(tf::Adagrad{.rate = 0}, all).named("bare");
  g.updates().named("updates");
  const tf::GradientSums sums(all);
  sums.add().named("add");
  (descent.apply(sums.mean().map([](auto, auto dv) { return 1 * dv; })) + sums.reset())
      .named("apply_sums");
}

// Gradients.

constexpr void with_gradients(tf::Graph& g) {
  auto x = tf::placeholder<double, 5, 2, 3>(g, "x");
  auto w = tf::placeholder<double, 5, 2, 3>(g, "w");
  auto y = tf::batch_norm(g, "norm", x);
  auto loss = sum(y * y * w).named("loss");
  gradients(loss, x).named("dx");
  for (const auto& [v, dv] : gradients(loss)) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
}

template <tf::Mode M>
void check_gradients() {
  Numbers x = random_numbers(30, 1);
  const Numbers w = random_numbers(30, 2);
  Numbers gamma = random_numbers(3, 3);
  Numbers beta = random_numbers(3, 4);
  tf::Variables variables;
  variables.set<double>("norm/moving_mean", Numbers{0.3, -0.2, 1}, tf::Dims{1, {3}});
  variables.set<double>("norm/moving_variance", Numbers{0.5, 2, 1}, tf::Dims{1, {3}});
  const auto set = [&] {
    variables.set<double>("norm/gamma", gamma, tf::Dims{1, {3}});
    variables.set<double>("norm/beta", beta, tf::Dims{1, {3}});
  };
  set();
  tf::Session<with_gradients, M> session(variables);
  const auto [dx, dgamma, dbeta] =
      session.template run<"dx", "norm/gamma/gradient", "norm/beta/gradient">(tf::feed<"x">(x),
                                                                              tf::feed<"w">(w));
  const auto loss = [&] {
    set();
    const double value = session.template run<"loss">(tf::feed<"x">(x), tf::feed<"w">(w));
    return value;
  };
  const auto differences = [&](Numbers& of) {
    Numbers out;
    for (double& e : of) {
      const double here = e;
      e = here + 1e-5;
      const double above = loss();
      e = here - 1e-5;
      out.push_back((above - loss()) / 2e-5);
      e = here;
    }
    return out;
  };
  check_close(dx, differences(x), 1e-7);
  check_close(dgamma, differences(gamma), 1e-7);
  check_close(dbeta, differences(beta), 1e-7);
}

}  // namespace

TEST_CASE("batch_norm: values") {
  check_layer<float, 3, tf::batch, 3>(7, 2e-6);
  check_layer<float, 3, tf::batch, 3>(1, 2e-6);
  check_layer<double, 40, tf::batch, 5, 2, 40>(30, 1e-13);
  check_layer<float, 1, 4, 6, 1>(24, 2e-6);
  check_layer<tf::bfloat16, 19, tf::batch, 3, 19>(12, 8e-3);
}

TEST_CASE("batch_norm: a large mean costs the variance no digits") {
  // E[x^2] - E[x]^2 would be a difference of numbers near 1e8, whose floats are 8 apart.
  check_layer<float, 3, tf::batch, 8, 3>(64, 2e-3, 1e4);
}

TEST_CASE("batch_norm: gradient") {
  check_gradients<tf::training>();
  check_gradients<tf::inference>();
}

TEST_CASE("batch_norm: minimize moves the averages, from step to step") {
  const Numbers one(3, 1);
  const Numbers none(3, 0);
  Statistics first{none, one};
  Statistics second{none, one};
  tf::Variables variables;
  tf::Session<net> session(variables);
  const auto move = [](Numbers& average, const Numbers& value, double decay) {
    for (std::size_t c = 0; c < 3; ++c) average[c] = decay * average[c] + (1 - decay) * value[c];
  };
  const auto numbers = [&](const char* name) {
    const auto got = variables.get<double>(name);
    return Numbers(got.begin(), got.end());
  };
  double before = 0;
  double after = 0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Numbers x = random_numbers(5 * 2 * 3, 7 + step, -1, 3);
    const Statistics of_x = statistics(x, 3);
    Numbers h = normalized(x, of_x, numbers("first/gamma"), numbers("first/beta"));
    for (double& e : h) e = std::max(e, 0.0);
    const Statistics of_h = statistics(h, 3);
    move(first.mean, of_x.mean, 0.9);
    move(first.variance, of_x.variance, 0.9);
    move(second.mean, of_h.mean, 0.5);
    move(second.variance, of_h.variance, 0.5);
    after = session.run<"loss", "train">(tf::feed<"x">(x));
    if (step == 0) before = after;
    check_close(variables.get<double>("first/moving_mean"), first.mean, 1e-13);
    check_close(variables.get<double>("first/moving_variance"), first.variance, 1e-13);
    check_close(variables.get<double>("second/moving_mean"), second.mean, 1e-13);
    check_close(variables.get<double>("second/moving_variance"), second.variance, 1e-13);
  }
  CHECK(after < before);

  // Inference with the same variables takes the averages.
  tf::Session<net, tf::inference> inference(variables);
  const Numbers x = random_numbers(2 * 2 * 3, 20);
  Numbers h = normalized(x, first, numbers("first/gamma"), numbers("first/beta"));
  for (double& e : h) e = std::max(e, 0.0);
  const Numbers y = normalized(h, second, numbers("second/gamma"), numbers("second/beta"));
  check_close(inference.run<"y">(tf::feed<"x">(x)), y, 1e-13);
}

TEST_CASE("batch_norm: minimize in inference changes no averages") {
  tf::Variables variables;
  tf::Session<net, tf::inference> session(variables);
  session.run<"train">(tf::feed<"x">(random_numbers(30, 1)));
  check_close(variables.get<double>("first/moving_mean"), Numbers(3, 0), 0);
  check_close(variables.get<double>("second/moving_variance"), Numbers(3, 1), 0);
}

TEST_CASE("batch_norm: a layer that is called twice takes two steps") {
  const Numbers a = random_numbers(8, 1);
  const Numbers b = random_numbers(30, 2);
  tf::Variables variables;
  tf::Session<shared> session(variables);
  session.run<"train">(tf::feed<"a">(as<float>(a)), tf::feed<"b">(as<float>(b)));
  const Statistics of_a = statistics(a, 2);
  const Statistics of_b = statistics(b, 2);
  Numbers mean(2);
  Numbers variance(2);
  for (std::size_t c = 0; c < 2; ++c) {
    mean[c] = 0.75 * (0.25 * of_a.mean[c]) + 0.25 * of_b.mean[c];
    variance[c] = 0.75 * (0.75 + 0.25 * of_a.variance[c]) + 0.25 * of_b.variance[c];
  }
  check_close(variables.get<float>("norm/moving_mean"), mean, 1e-6);
  check_close(variables.get<float>("norm/moving_variance"), variance, 1e-6);
}

TEST_CASE("batch_norm: a step of training with an empty batch changes nothing") {
  tf::Variables variables;
  tf::Session<net> session(variables);
  session.run<"train">(tf::feed<"x">(random_numbers(5 * 2 * 3, 3)));
  std::vector<std::vector<double>> before;
  for (const std::string& name : variables.names()) {
    const auto v = variables.get<double>(name);
    before.emplace_back(v.begin(), v.end());
  }
  session.run<"train">(tf::feed<"x">(Numbers{}));
  std::size_t i = 0;
  for (const std::string& name : variables.names()) {
    INFO(name);
    check_close(variables.get<double>(name), before[i++], 0);
  }
  CHECK(i == 8);
  // And the next batch counts as ever.
  const double loss = session.run<"loss", "train">(tf::feed<"x">(random_numbers(30, 4)));
  CHECK(std::isfinite(loss));
}

TEST_CASE(
    "what add_update registers happens with every optimiser's step, applied or minimised, once") {
  tf::Variables variables;
  tf::Session<own_update> session(variables);
  CHECK(session.run<"loss">() == 1);
  CHECK(variables.get<float>("steps")[0] == 0);
  session.run<"train">();
  session.run<"train">();
  const float& steps = variables.get<float>("steps")[0];
  const float& v = variables.get<float>("v")[0];
  CHECK(steps == 2);
  CHECK(v == 0.25f);
  session.run<"apply">();
  CHECK(steps == 3);
  CHECK(v == 0.125f);
  session.run<"momentum">();
  CHECK(steps == 4);
  session.run<"two">();  // from the value at the start: v -= 0.25 * 2 * v, twice
  CHECK(steps == 5);
  CHECK(v == 0);
  session.run<"bare">();
  CHECK(steps == 5);
  session.run<"updates">();
  CHECK(steps == 6);
  variables.set<float>("v", std::vector{1.0f});
  session.run<"add">();  // the run that sees a batch
  session.run<"add">();
  CHECK(steps == 8);
  session.run<"apply_sums">();
  CHECK(steps == 8);
  CHECK(v == 0.5f);
}
