// SPDX-License-Identifier: Apache-2.0

// Estimators with networks: a step of a wide and deep model beside plain loops, weights of
// examples, settings of hidden layers and optimisers.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/estimators.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

constexpr auto kind = tf::categorical_column_with_identity<"kind", 3>();
constexpr auto x = tf::numeric_column<"x">();
constexpr auto wide = tf::feature_columns(kind);
constexpr auto deep = tf::feature_columns(tf::embedding_column<2>(kind), x);
constexpr auto only_x = tf::feature_columns(x);
constexpr auto bought =
    tf::categorical_column_with_vocabulary_list<"bought">({"never", "often"}, {});
constexpr auto price = tf::numeric_column<"price">();
constexpr auto weight = tf::numeric_column<"weight">();
constexpr tf::Ftrl ftrl{.rate = 0.2f};
constexpr tf::Adagrad adagrad{.rate = 0.05f};

constexpr void combined(tf::Graph& g) {
  using Head = tf::ClassHead<bought, weight>;
  tf::DnnLinearCombinedModel<wide, deep, Head, tf::hidden_units<3>, ftrl, adagrad>{}(
      g, tf::ModeKeys::train);
}

const std::vector<std::int64_t> kinds{0, 2, 2, 1};
const std::vector<float> xs{0.5f, -1, 2, 0.25f};
const std::vector<std::string> labels{"often", "never", "often", "never"};
const std::vector<float> weights{1, 2, 0.5f, 3};

const std::array<std::string, 7> parameters = {
    "linear/kind/weights", "linear/bias_weights", "dnn/input/kind_embedding/embedding_weights",
    "dnn/hiddenlayer_0/W", "dnn/hiddenlayer_0/b", "dnn/logits/W",
    "dnn/logits/b"};
using Values = std::array<std::vector<double>, 7>;
Values values_of(const tf::Variables& variables, const std::string& below = "") {
  Values values;
  for (std::size_t i = 0; i < 7; ++i) {
    const auto found = variables.get<float>(parameters[i] + below);
    values[i].assign(found.begin(), found.end());
  }
  return values;
}

/// The weighted mean of logistic losses, by plain loops.
double plain_loss(const Values& p) {
  double loss = 0, all = 0;
  for (std::size_t n = 0; n < 4; ++n) {
    const auto k = static_cast<std::size_t>(kinds[n]);
    const double input[3] = {p[2][2 * k], p[2][2 * k + 1], static_cast<double>(xs[n])};
    double logit = p[0][k] + p[1][0] + p[6][0];
    for (std::size_t unit = 0; unit < 3; ++unit) {
      double sum = p[4][unit];
      for (std::size_t i = 0; i < 3; ++i) sum += input[i] * p[3][3 * i + unit];
      logit += std::max(sum, 0.0) * p[5][unit];
    }
    const double y = labels[n] == "often" ? 1 : 0;
    loss += static_cast<double>(weights[n]) * (std::log1p(std::exp(logit)) - y * logit);
    all += static_cast<double>(weights[n]);
  }
  return loss / all;
}

}  // namespace

TEST_CASE("A wide and deep step: FTRL for the linear part, Adagrad for the network") {
  tf::Variables variables;
  tf::Session<combined> session(variables, {.seed = 3});
  const Values start = values_of(variables);
  const float loss =
      session.run<"loss", "train">(tf::feed<"kind">(kinds), tf::feed<"x">(xs),
                                   tf::feed<"bought">(labels), tf::feed<"weight">(weights));
  CHECK(static_cast<double>(loss) == doctest::Approx(plain_loss(start)).epsilon(1e-5));
  const Values after = values_of(variables);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(parameters[i]);
    const bool is_linear = i < 2;
    // Each has the slots of its own optimiser only.
    const auto sums =
        variables.get<float>(parameters[i] + (is_linear ? "/ftrl/sum" : "/adagrad/sum"));
    const std::vector<std::string> names = variables.names();
    CHECK(std::find(names.begin(), names.end(),
                    parameters[i] + (is_linear ? "/adagrad/sum" : "/ftrl/sum")) == names.end());
    for (std::size_t j = 0; j < start[i].size(); ++j) {
      Values up = start, down = start;
      up[i][j] += 1e-5;
      down[i][j] -= 1e-5;
      const double gradient = (plain_loss(up) - plain_loss(down)) / 2e-5;
      const double sum = 0.1 + gradient * gradient;
      const double w = start[i][j];
      double expected = w - 0.05 * gradient / std::sqrt(sum);
      if (is_linear) {
        const double line = gradient - (std::sqrt(sum) - std::sqrt(0.1)) / 0.2 * w;
        expected = -line / (std::sqrt(sum) / 0.2);
      }
      CHECK(after[i][j] == doctest::Approx(expected).epsilon(1e-4));
      CHECK(static_cast<double>(sums[j]) == doctest::Approx(sum).epsilon(1e-4));
      moved += after[i][j] != w ? 1 : 0;
    }
  }
  CHECK(moved > 12);
}

TEST_CASE("DnnClassifier: learns three samples; those without weight are left out") {
  using Model = tf::DnnClassifier<deep, bought, tf::hidden_units<8, 4>, adagrad, weight>;
  const auto inputs = [](std::int64_t epochs, bool with_others) {
    std::vector<std::int64_t> k{0, 1, 2};
    std::vector<float> numbers{0.5f, -1, 2}, w{1, 1, 1};
    std::vector<std::string> y{"often", "never", "often"};
    if (with_others) {
      for (const std::int64_t other : {0, 2}) {
        k.push_back(other);
        numbers.push_back(-7);
        w.push_back(0);
        y.push_back("never");
      }
    }
    return tf::rows<"kind", "x", "weight", "bought">({.epochs = epochs}, k, numbers, w, y);
  };
  Model without({.seed = 5, .progress = nullptr}), with({.seed = 5, .progress = nullptr});
  without.fit(inputs(0, false), {.steps = 200});
  with.fit(inputs(0, true), {.steps = 200});
  const tf::Evaluation found = without.evaluate(inputs(1, false));
  CHECK(found["accuracy"] == 1);
  CHECK(found["loss"] < 0.1);
  CHECK(with.evaluate(inputs(1, true)) == found);
  for (const std::string& name : without.variables().names()) {
    CAPTURE(name);
    const auto a = without.variables().get<float>(name), b = with.variables().get<float>(name);
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

namespace {
constexpr tf::HiddenUnits<16> by_tanh{.activation = tf::tanh, .dropout = 0.01};
constexpr auto decaying = [](tf::Graph& g) {
  return tf::Adam{
      .rate = exponential_decay(global_step(g), {.rate = 0.05, .steps = 100, .decay = 0.8})};
};
}  // namespace

TEST_CASE("DnnRegressor: an optimiser whose rate decays, and hidden units with settings") {
  using Model = tf::DnnRegressor<only_x, price, by_tanh, decaying>;
  std::vector<float> points, prices;
  for (int i = -20; i <= 20; ++i) {
    points.push_back(0.1f * static_cast<float>(i));
    prices.push_back(points.back() * points.back());
  }
  const auto inputs = [&](std::int64_t epochs) {
    return tf::rows<"x", "price">({.epochs = epochs}, points, prices);
  };
  Model model({.seed = 2, .progress = nullptr});
  model.fit(inputs(0), {.steps = 600});
  CHECK(model.variables().get<std::int64_t>("global_step")[0] == 600);
  // The variance of the prices is 1.5.
  CHECK(model.evaluate(inputs(1))["average_loss"] < 0.05);
  const auto predicted =
      model.predict<"predictions">(tf::rows<"x">({.epochs = 1}, std::vector<float>{-1, 1.5f}));
  CHECK(predicted[0] == doctest::Approx(1).epsilon(0.25));
  CHECK(predicted[1] == doctest::Approx(2.25).epsilon(0.25));
}
