// SPDX-License-Identifier: Apache-2.0

// Streaming metrics beside TensorFlow's, after two batches with weights.
// tests/peers/tensorflow_figures.py wrote down what TensorFlow computes.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "typeflow/metrics.hpp"
#include "typeflow/testing.hpp"

#include "peers/tensorflow_figures.hpp"
#include "support/check_optimizer.hpp"

namespace {

namespace tf = typeflow;
namespace metrics = tf::metrics;
namespace peer = peers::tensorflow;

tf::HostTensor reals(const std::vector<double>& x) {
  return test::floats({static_cast<std::int64_t>(x.size())}, x);
}
tf::HostTensor integers(const std::vector<std::int32_t>& x) {
  return test::ints({static_cast<std::int64_t>(x.size())}, {x.begin(), x.end()});
}

}  // namespace

TEST_CASE("streaming metrics are TensorFlow's") {
  using metrics::Curve;
  using metrics::Summation;
  tf::Graph g;
  auto y = tf::placeholder<std::int32_t, 40>(g, "y");  // 0 or 1
  auto p = tf::placeholder<float, 40>(g, "p");         // probabilities
  auto w = tf::placeholder<float, 40>(g, "w");
  auto k = tf::placeholder<std::int32_t, 40>(g, "k");  // classes
  auto c = tf::placeholder<std::int32_t, 40>(g, "c");
  auto t = tf::placeholder<float, 40>(g, "t");
  tf::Effect update;
  std::vector<double> expected;
  const auto next = [&] { return tf::Label("metric", static_cast<int>(expected.size())); };
  const auto check = [&](const auto& metric, const std::vector<double>& value) {
    update += metric.update;
    expected.push_back(value.at(0));
  };
  const auto check_area = [&](Curve curve, Summation summation, const std::vector<double>& value) {
    check(metrics::auc(g, next(), p, y, w, {.curve = curve, .summation = summation}), value);
  };
  check_area(Curve::roc, Summation::trapezoidal, peer::metric_roc_trapezoidal);
  check_area(Curve::roc, Summation::minoring, peer::metric_roc_minoring);
  check_area(Curve::roc, Summation::majoring, peer::metric_roc_majoring);
  check_area(Curve::pr, Summation::trapezoidal, peer::metric_pr_trapezoidal);
  check_area(Curve::pr, Summation::careful_interpolation, peer::metric_pr_careful_interpolation);
  check_area(Curve::pr, Summation::minoring, peer::metric_pr_minoring);
  check_area(Curve::pr, Summation::majoring, peer::metric_pr_majoring);
  check(metrics::specificity_at_sensitivity(g, next(), p, y, 0.7, w), peer::metric_specificity);
  check(metrics::sensitivity_at_specificity(g, next(), p, y, 0.8, w), peer::metric_sensitivity);
  check(metrics::accuracy(g, next(), c, k, w), peer::metric_accuracy);
  check(metrics::precision(g, next(), c, y, w), peer::metric_precision);
  check(metrics::recall(g, next(), c, y, w), peer::metric_recall);
  check(metrics::false_positives(g, next(), c, y, w), peer::metric_false_positives);
  check(metrics::mean_iou<4>(g, next(), c, k, w), peer::metric_iou);
  check(metrics::mean_absolute_error(g, next(), p, t, w), peer::metric_absolute);
  check(metrics::mean_squared_error(g, next(), p, t, w), peer::metric_squared);
  check(metrics::root_mean_squared_error(g, next(), p, t, w), peer::metric_root);
  check(metrics::mean_relative_error(g, next(), p, t, abs(t), w), peer::metric_relative);
  check(metrics::percentage_below(g, next(), p, 0.5, w), peer::metric_percentage);
  update.named("update");

  tf::ir::ProgramInterpreter programs(g);
  programs.variables = test::start_values(g, {});
  programs.run({"update"}, {{"y", integers(peer::metric_y_0)},
                            {"p", reals(peer::metric_p_0)},
                            {"w", reals(peer::metric_w_0)},
                            {"k", integers(peer::metric_k_0)},
                            {"c", integers(peer::metric_c_0)},
                            {"t", reals(peer::metric_t_0)}});
  programs.run({"update"}, {{"y", integers(peer::metric_y_1)},
                            {"p", reals(peer::metric_p_1)},
                            {"w", reals(peer::metric_w_1)},
                            {"k", integers(peer::metric_k_1)},
                            {"c", integers(peer::metric_c_1)},
                            {"t", reals(peer::metric_t_1)}});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const std::string name = "metric_" + std::to_string(i) + "/value";
    CHECK(programs.run({name})[0].value(0) == doctest::Approx(expected[i]).epsilon(1e-5));
  }
}
