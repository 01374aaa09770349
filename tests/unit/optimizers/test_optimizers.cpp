// SPDX-License-Identifier: Apache-2.0

// Optimisers written with public names alone, as users write them: their steps against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace user {

/// Adam with decoupled weight decay of what is no bias, after clipping by the global norm.
struct AdamW {
  tf::Scalar rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;
  double clip = 1;

  constexpr tf::Effect apply(const tf::Gradients& gradients) const {
    tf::Graph& g = *gradients.graph;
    const tf::AnyExpr norm = global_norm(gradients);
    const tf::Gradients clipped = gradients.map([&](tf::AnyVariable v, tf::AnyExpr dv) {
      const tf::AnyExpr scale = setting(g, clip, norm.dtype()) / maximum(norm, clip);
      return tf::map_values(dv, [&](tf::AnyExpr x) { return x * cast_to(scale, v.dtype()); });
    });
    tf::Scope in(g, "adam");
    auto steps = variable<double>(g, "steps", tf::zeros(), false);
    const auto t = steps.read() + 1;
    tf::Effect effect = assign(steps, t);
    for (const auto& [v, dv] : clipped) {
      tf::Scope slots(g, v);
      const auto m = variable(g, "m", type_of(v), tf::zeros(), false);
      const auto s = variable(g, "s", type_of(v), tf::zeros(), false);
      const auto m_now = beta1 * m.read() + (1 - beta1) * dv;
      const auto s_now = beta2 * s.read() + (1 - beta2) * square(dv);
      const auto mean = m_now / setting(g, 1 - pow(beta1, t), v.dtype());
      const auto deviation = sqrt(s_now / setting(g, 1 - pow(beta2, t), v.dtype()));
      const auto x = v.read();
      const bool decays = !v.name().view().ends_with("/b");
      const auto direction = mean / (deviation + epsilon) + (decays ? decay : 0.) * x;
      effect += assign(m, m_now) + assign(s, s_now) +
                assign(v, x - setting(g, rate, v.dtype()) * direction);
    }
    return effect;
  }
};

/// Gradient descent that keeps sparse gradients sparse, and clips elements.
struct Clipped {
  double rate = 0.5;

  constexpr tf::Effect apply(const tf::Gradients& gradients) const {
    tf::Effect effect;
    for (const auto& [v, dv] : gradients) {
      const tf::AnyExpr step =
          tf::map_values(dv, [&](tf::AnyExpr x) { return rate * minimum(maximum(x, -1), 1); });
      const tf::Pool<tf::Slices> sparse = tf::slices_of(step);
      for (const tf::Slices& slices : sparse) effect += scatter_sub(v, slices);
      if (sparse.empty()) effect += assign_sub(v, step);
    }
    return effect;
  }
};

}  // namespace user

namespace {

// y = tanh(x W + b), a layer that owns its variables.
constexpr void layer(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 3>(g, "x");
  auto t = tf::placeholder<double, tf::batch, 2>(g, "t");
  auto rate = tf::placeholder<float>(g, "rate");
  auto y = tanh(tf::dense<2>(g, "fc", x));
  auto loss = mean(square(y - t)).named("loss");
  const tf::Gradients all = gradients(loss);
  for (const auto& [v, dv] : all) {
    tf::Scope in(g, v);
    dv.named("gradient");
  }
  tf::minimize(user::AdamW{.rate = rate, .decay = 0.02, .clip = 0.3}, all).named("train");
}

constexpr void table(tf::Graph& g) {
  auto ids = tf::placeholder<int, 3>(g, "ids");
  auto rows = tf::variable<float, 1000, 2>(g, "rows", tf::ones());
  auto scale = tf::variable<float>(g, "scale", tf::ones());
  auto loss = sum(square(gather(rows, ids))) * scale;
  user::Clipped{}.apply(gradients(loss, g.trainable())).named("train");
}

// More groups of groups than the compiler nests calls.
constexpr void many_statements(tf::Graph& g) {
  auto v = tf::variable<double>(g, "v", tf::zeros());
  tf::Effect step;
  for (int i = 0; i < 520; ++i) step += assign_add(v, 1);
  step.named("step");
}

}  // namespace

TEST_CASE("effects add up in a loop of any length") {
  tf::Variables variables;
  tf::Session<many_statements> session(variables);
  session.run<"step">();
  CHECK(variables.get<double>("v")[0] == 520);
}

TEST_CASE("a user's Adam with decay and clipping takes the steps that its paper says") {
  const std::array<double, 12> x{0.3, -1, 2, 0.5, 0.1, -0.7, 1.5, 1, -0.2, -2, 0.4, 0.9};
  const std::array<double, 8> t{0.1, -0.9, 0.8, 0.2, -0.3, 0.5, 0.7, -0.6};
  std::array<double, 8> v{0.2, -0.4, 0.6, 0.1, -0.3, 0.5, 0, 0};  // W (3,2), b (2)
  std::array<double, 8> m{};
  std::array<double, 8> s{};

  tf::Variables variables;
  variables.set<double>("fc/W", std::vector<double>(v.begin(), v.begin() + 6), tf::Dims{2, {3, 2}});
  variables.set<double>("fc/b", std::vector<double>(2, 0.0), tf::Dims{1, {2}});
  tf::Session<layer> session(variables);
  int clipped = 0;
  for (int step = 1; step <= 12; ++step) {
    const float rate = step < 6 ? 0.1f : 0.01f;
    const auto [dW, db] = session.run<"fc/W/gradient", "fc/b/gradient", "train">(
        tf::feed<"x">(x), tf::feed<"t">(t), tf::feed<"rate">(rate));

    std::array<double, 8> d{};
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t j = 0; j < 2; ++j) {
        double y = v[6 + j];
        for (std::size_t k = 0; k < 3; ++k) y += x[3 * row + k] * v[2 * k + j];
        y = std::tanh(y);
        const double dy = 2 * (y - t[2 * row + j]) / 8 * (1 - y * y);
        for (std::size_t k = 0; k < 3; ++k) d[2 * k + j] += x[3 * row + k] * dy;
        d[6 + j] += dy;
      }
    }
    double norm = 0;
    for (const double e : d) norm += e * e;
    norm = std::sqrt(norm);
    clipped += norm > 0.3;
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK((i < 6 ? dW(i / 2, i % 2) : db(i - 6)) == doctest::Approx(d[i]).epsilon(1e-12));
      const double e = d[i] * 0.3 / std::max(norm, 0.3);
      m[i] = 0.9 * m[i] + 0.1 * e;
      s[i] = 0.999 * s[i] + 0.001 * e * e;
      const double mean = m[i] / (1 - std::pow(0.9, step));
      const double deviation = std::sqrt(s[i] / (1 - std::pow(0.999, step)));
      const double decay = i < 6 ? 0.02 : 0;
      v[i] -= static_cast<double>(rate) * (mean / (deviation + 1e-8) + decay * v[i]);
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const char* const name = i < 6 ? "fc/W" : "fc/b";
      CHECK(variables.get<double>(name)[i % 6] == doctest::Approx(v[i]).epsilon(1e-11));
      CHECK(variables.get<double>(std::string(name) + "/m")[i % 6] ==
            doctest::Approx(m[i]).epsilon(1e-11));
    }
  }
  CHECK((clipped > 0 && clipped < 12));
  CHECK(variables.get<double>("adam/steps")[0] == 12);
}

TEST_CASE("a user's optimiser changes the rows of a table that were read, and no others") {
  tf::Variables variables;
  tf::Session<table> session(variables);
  session.run<"train">(tf::feed<"ids">(std::vector<int>{7, 990, 7}));
  const auto rows = variables.get<float>("rows");
  // d = 2 * 1 in each slice, clipped to 1; row 7 was read twice.
  for (std::size_t i = 0; i < 1000; ++i) {
    CHECK(rows[2 * i] == (i == 7 ? 0.0f : i == 990 ? 0.5f : 1.0f));
  }
  CHECK(variables.get<float>("scale")[0] == 0.5f);
}
