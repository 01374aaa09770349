// SPDX-License-Identifier: Apache-2.0

// Linear estimators, beside scikit-learn's models (tests/peers/estimators.py).

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/estimators.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "peers/estimators.hpp"
#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace tf = typeflow;
namespace peer = peers::estimators;

namespace {

constexpr auto x2 = tf::numeric_column<"x", 2>();
constexpr auto language = tf::categorical_column_with_hash_bucket<"language", 100>();
constexpr auto measures = tf::feature_columns(x2);
constexpr auto visitors = tf::feature_columns(tf::numeric_column<"age">(), language);
constexpr auto bought = tf::categorical_column_with_identity<"bought", 2>();
constexpr auto species = tf::categorical_column_with_identity<"species", 3>();
constexpr auto price = tf::numeric_column<"price">();
constexpr auto weight = tf::numeric_column<"weight">();
constexpr tf::Ftrl fast{.rate = 1.0};
constexpr tf::Ftrl ftrl{.rate = 0.1f};
constexpr auto default_rate = tf::linear_optimizer<visitors>;
static_assert(default_rate.rate.value() == 0.2);

/// An epoch of all rows, and the same rows again and again.
constexpr tf::RowOptions once{.epochs = 1};
constexpr tf::RowOptions forever{};

using Visitors = tf::LinearClassifier<visitors, bought, default_rate, weight>;
/// TensorFlow's three samples, and perhaps others behind them that have no weight.
auto visitor_inputs(const tf::RowOptions& options, bool with_others) {
  if (!with_others) {
    return tf::rows<"age", "language", "bought", "weight">(
        options, std::vector<float>{16, 80, 20}, std::vector<std::string>{"en", "fr", "zh"},
        std::vector<std::int64_t>{1, 0, 1}, std::vector<float>{1, 1, 1});
  }
  return tf::rows<"age", "language", "bought", "weight">(
      options, std::vector<float>{16, 80, 20, 99, 3},
      std::vector<std::string>{"en", "fr", "zh", "en", "de"},
      std::vector<std::int64_t>{1, 0, 1, 0, 0}, std::vector<float>{1, 1, 1, 0, 0});
}
void check_equal(const tf::Variables& a, const tf::Variables& b) {
  REQUIRE(a.names() == b.names());
  for (const std::string& name : a.names()) {
    CAPTURE(name);
    const auto x = a.get<float>(name), y = b.get<float>(name);
    REQUIRE(x.size() == y.size());
    CHECK(std::equal(x.begin(), x.end(), y.begin()));
  }
}

}  // namespace

TEST_CASE("LinearClassifier: its loss falls, and its variables have TensorFlow's names") {
  Visitors model({.progress = nullptr});
  model.fit(visitor_inputs(forever, false), {.steps = 1});
  const tf::Evaluation first = model.evaluate(visitor_inputs(once, false));
  model.fit(visitor_inputs(forever, false), {.steps = 99});
  const tf::Evaluation last = model.evaluate(visitor_inputs(once, false));
  CHECK(last["loss"] < 0.3 * first["loss"]);
  CHECK(last["accuracy"] == 1);
  const std::vector<std::string> names = model.variables().names();
  for (const char* const name :
       {"linear/age/weights", "linear/language/weights", "linear/bias_weights",
        "linear/language/weights/ftrl/sum", "linear/language/weights/ftrl/linear"}) {
    CAPTURE(name);
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  // Languages that nobody has keep their weights.
  const auto languages = model.variables().get<float>("linear/language/weights");
  CHECK(std::count(languages.begin(), languages.end(), 0.0f) == 97);
}

TEST_CASE("LinearClassifier: examples without weight are left out, to the last bit") {
  Visitors without({.progress = nullptr}), with({.progress = nullptr});
  without.fit(visitor_inputs(forever, false), {.steps = 50});
  with.fit(visitor_inputs(forever, true), {.steps = 50});
  // An untouched weight stays 0, a touched one without weight as well.
  check_equal(without.variables(), with.variables());
  CHECK(without.evaluate(visitor_inputs(once, false)) == with.evaluate(visitor_inputs(once, true)));
}

TEST_CASE("LinearClassifier: goes on from its folder with equal bits") {
  const Folder folder;
  Visitors whole({.progress = nullptr});
  whole.fit(visitor_inputs(forever, false), {.steps = 60});
  const tf::RunConfig config{.model_folder = (folder / "model").string(), .progress = nullptr};
  {
    Visitors part(config);
    part.fit(visitor_inputs(forever, false), {.steps = 25});
  }
  Visitors rest(config);
  CHECK(rest.step() == 25);
  rest.fit(visitor_inputs(forever, false), {.max_steps = 60});
  check_equal(whole.variables(), rest.variables());
}

TEST_CASE("LinearClassifier: scikit-learn's coefficients, loss, accuracy and AUC") {
  using Model = tf::LinearClassifier<measures, bought, fast, weight>;
  const auto inputs = [](const tf::RowOptions& options) {
    return tf::rows<"x", "bought", "weight">(options, tf::matrix(peer::x, 2), peer::binary,
                                             peer::weight);
  };
  Model model({.progress = nullptr});
  model.fit(inputs(forever), {.steps = 3000});
  const auto w = model.variables().get<float>("linear/x/weights");
  const float bias = model.variables().get<float>("linear/bias_weights")[0];
  const std::vector<double>& expected = peer::logistic_coefficients;
  CHECK(static_cast<double>(w[0]) == doctest::Approx(expected[0]).epsilon(1e-3));
  CHECK(static_cast<double>(w[1]) == doctest::Approx(expected[1]).epsilon(1e-3));
  CHECK(static_cast<double>(bias) == doctest::Approx(expected[2]).epsilon(1e-3));
  const tf::Evaluation found = model.evaluate(inputs(once));
  CHECK(found["loss"] == doctest::Approx(peer::logistic_figures[0]).epsilon(1e-4));
  CHECK(found["average_loss"] == doctest::Approx(peer::logistic_figures[0]).epsilon(1e-4));
  CHECK(found["accuracy"] == doctest::Approx(peer::logistic_figures[1]).epsilon(1e-6));
  CHECK(found["auc"] == doctest::Approx(peer::logistic_figures[2]).epsilon(5e-3));
  CHECK(found["accuracy/baseline_label_mean"] ==
        doctest::Approx(peer::logistic_figures[3]).epsilon(1e-6));
  // Of two batches with other sums of weights, "loss" is the mean, average_loss that of examples.
  const tf::Evaluation parts = model.evaluate(inputs({.batch = 25, .epochs = 1}));
  CHECK(parts["average_loss"] == doctest::Approx(found["loss"]).epsilon(1e-6));
  CHECK(parts["auc"] == doctest::Approx(found["auc"]).epsilon(1e-6));
}

TEST_CASE("LinearClassifier of three classes: scikit-learn's probabilities; labels are checked") {
  using Model = tf::LinearClassifier<measures, species, ftrl>;
  const auto inputs = [](const tf::RowOptions& options) {
    return tf::rows<"x", "species">(options, tf::matrix(peer::x, 2), peer::species);
  };
  Model model({.progress = nullptr});
  model.fit(inputs(forever), {.steps = 1});
  const double first = model.evaluate(inputs(once))["loss"];
  model.fit(inputs(forever), {.steps = 9999});
  const tf::Evaluation found = model.evaluate(inputs(once));
  CHECK(found["loss"] < 0.9 * first);
  const auto [probabilities, classes, logits] = model.predict<"probabilities", "classes", "logits">(
      tf::rows<"x">(once, tf::matrix(peer::x, 2)));
  REQUIRE(probabilities.size() == peer::softmax_probabilities.size());
  double right = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const auto first_class = peer::softmax_probabilities.begin() + static_cast<long>(3 * i);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(static_cast<double>(probabilities(i, k)) ==
            doctest::Approx(first_class[static_cast<long>(k)]).epsilon(2e-3));
    }
    CHECK(classes[i] == std::max_element(first_class, first_class + 3) - first_class);
    right += classes[i] == peer::species[i] ? 1 : 0;
  }
  CHECK(logits.shape()[1] == 3);
  CHECK(found["accuracy"] == doctest::Approx(right / 40).epsilon(1e-6));

  const auto error_of = [&](std::int64_t label) {
    return message_of([&] {
      model.fit(tf::rows<"x", "species">({.epochs = 1}, tf::matrix(std::vector<float>{1, 2}, 2),
                                         std::vector<std::int64_t>{label}));
    });
  };
  CHECK(error_of(-1).find("a label is none of the classes: [-1]") != std::string::npos);
  CHECK(error_of(3).find("an id is out of range: [3]") != std::string::npos);
}

TEST_CASE("LinearRegressor: scikit-learn's coefficients") {
  using Model = tf::LinearRegressor<measures, price, fast, weight>;
  const auto inputs = [](const tf::RowOptions& options) {
    return tf::rows<"x", "price", "weight">(options, tf::matrix(peer::x, 2), peer::price,
                                            peer::weight);
  };
  Model model({.progress = nullptr});
  model.fit(inputs(forever), {.steps = 3000});
  const auto w = model.variables().get<float>("linear/x/weights");
  const std::vector<double>& expected = peer::linear_coefficients;
  const double bias = static_cast<double>(model.variables().get<float>("linear/bias_weights")[0]);
  CHECK(static_cast<double>(w[0]) == doctest::Approx(expected[0]).epsilon(1e-4));
  CHECK(static_cast<double>(w[1]) == doctest::Approx(expected[1]).epsilon(1e-4));
  CHECK(bias == doctest::Approx(expected[2]).epsilon(1e-4));

  const auto predicted = model.predict<"predictions">(tf::rows<"x">(once, tf::matrix(peer::x, 2)));
  double loss = 0, sum = 0, labels = 0, weights = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const double y = static_cast<double>(peer::x[2 * i]) * expected[0] +
                     static_cast<double>(peer::x[2 * i + 1]) * expected[1] + expected[2];
    CHECK(static_cast<double>(predicted[i]) == doctest::Approx(y).epsilon(1e-3));
    const double off = y - static_cast<double>(peer::price[i]);
    const auto one = static_cast<double>(peer::weight[i]);
    loss += one * off * off;
    sum += one * y;
    labels += one * static_cast<double>(peer::price[i]);
    weights += one;
  }
  const tf::Evaluation found = model.evaluate(inputs({.batch = 15, .epochs = 1}));
  CHECK(found["average_loss"] == doctest::Approx(loss / weights).epsilon(1e-4));
  CHECK(found["prediction/mean"] == doctest::Approx(sum / weights).epsilon(1e-3));
  CHECK(found["label/mean"] == doctest::Approx(labels / weights).epsilon(1e-5));
}
