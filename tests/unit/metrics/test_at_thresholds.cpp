// SPDX-License-Identifier: Apache-2.0

// Metrics at given thresholds, and areas over them, after two batches with weights. Values: Keras
// (AUC(thresholds=...)) and tf.compat.v1.metrics of TensorFlow 2.21.

#include <doctest/doctest.h>

#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/metrics.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace metrics = tf::metrics;

namespace {

constexpr void model(tf::Graph& g) {
  using metrics::Curve;
  using metrics::Summation;
  auto p = tf::placeholder<float, 12>(g, "p");
  auto y = tf::placeholder<std::int32_t, 12>(g, "y");
  auto w = tf::placeholder<float, 12>(g, "w");
  tf::Effect update;
  const auto add = [&](tf::Label name, Curve curve, Summation summation) {
    update += metrics::auc(g, name, p, y, {0.7, 0.1, 0.4, 0.5}, w,
                           {.curve = curve, .summation = summation})
                  .update;
  };
  add("roc", Curve::roc, Summation::trapezoidal);
  add("roc_low", Curve::roc, Summation::minoring);
  add("roc_high", Curve::roc, Summation::majoring);
  add("pr", Curve::pr, Summation::careful_interpolation);
  const double at[] = {0.7, 0.1, 0.4, 0.5};
  update += metrics::precision_at_thresholds(g, "precision", p, y, at, w).update;
  update += metrics::recall_at_thresholds(g, "recall", p, y, at, w).update;
  update += metrics::true_positives_at_thresholds(g, "tp", p, y, at, w).update;
  update += metrics::false_positives_at_thresholds(g, "fp", p, y, at, w).update;
  update += metrics::true_negatives_at_thresholds(g, "tn", p, y, at, w).update;
  update += metrics::false_negatives_at_thresholds(g, "fn", p, y, at, w).update;
  update.named("update");
}

const std::vector<float> p[] = {{0.125f, 0.275f, 0.825f, 0.625f, 0.125f, 0.475f, 0.525f, 0.175f,
                                 0.775f, 0.125f, 0.425f, 0.525f},
                                {0.475f, 0.625f, 0.775f, 0.975f, 0.325f, 0.675f, 0.725f, 0.325f,
                                 0.025f, 0.975f, 0.325f, 0.325f}};
const std::vector<std::int32_t> y[] = {{0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0},
                                       {1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1}};
const std::vector<float> w[] = {{2, 1.5, 1.5, 1, 2, 1, 2, 1, 1.5, 1.5, 1.5, 1},
                                {1, 2, 2, 1.5, 2.5, 1, 2, 1, 2.5, 1.5, 1.5, 2.5}};

}  // namespace

TEST_CASE("metrics at given thresholds are TensorFlow's") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto check = [&](const auto& got, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(static_cast<double>(got(static_cast<std::int64_t>(i))) ==
            doctest::Approx(expected[i]).epsilon(1e-6));
    }
  };
  check(session.run<"precision/value">(), {0, 0, 0, 0});
  for (int batch = 0; batch < 2; ++batch) {
    session.run<"update">(tf::feed<"p">(p[batch]), tf::feed<"y">(y[batch]),
                          tf::feed<"w">(w[batch]));
  }
  const auto area = [](double expected) { return doctest::Approx(expected).epsilon(1e-6); };
  CHECK(static_cast<double>(session.run<"roc/value">()) == area(0.5786638259887695));
  CHECK(static_cast<double>(session.run<"roc_low/value">()) == area(0.4461206793785095));
  CHECK(static_cast<double>(session.run<"roc_high/value">()) == area(0.7112069129943848));
  CHECK(static_cast<double>(session.run<"pr/value">()) == area(0.42572951316833496));
  check(session.run<"precision/value">(), {0.45, 0.4027777910, 0.4390243888, 0.3823529482});
  check(session.run<"recall/value">(), {0.3103448153, 1, 0.6206896305, 0.4482758641});
  check(session.run<"tp/value">(), {4.5, 14.5, 9, 6.5});
  check(session.run<"fp/value">(), {5.5, 21.5, 11.5, 10.5});
  check(session.run<"tn/value">(), {18.5, 2.5, 12.5, 13.5});
  check(session.run<"fn/value">(), {10, 0, 5.5, 8});
}

TEST_CASE("thresholds outside of [0, 1] are a mistake of the model") {
  tf::Graph g;
  auto x = tf::placeholder<float, 3>(g, "x");
  auto k = tf::placeholder<bool, 3>(g, "k");
  CHECK_THROWS_WITH_AS(metrics::auc(g, "auc", x, k, {0.5, 1.5}),
                       doctest::Contains("metrics::auc: the thresholds must be in [0, 1]"),
                       tf::Error);
  CHECK_THROWS_WITH_AS(
      metrics::recall_at_thresholds(g, "recall", x, k, {-0.5}),
      doctest::Contains("metrics::recall_at_thresholds: the thresholds must be in [0, 1]"),
      tf::Error);
}
