// SPDX-License-Identifier: Apache-2.0

// Areas under curves, and sensitivity and specificity at each other, against plain loops over the
// thresholds and, of the ROC curve, over pairs of predictions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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
  auto p = tf::placeholder<float, tf::batch>(g, "p");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto w = tf::placeholder<float, tf::batch>(g, "w");
  tf::Effect update = metrics::auc(g, "roc", p, y, w).update;
  update += metrics::auc(g, "even", p, y).update;
  update += metrics::auc<3>(g, "three", p, y, w).update;
  update += metrics::auc(g, "low", p, y, w, {.curve = Curve::pr, .summation = Summation::minoring})
                .update;
  update += metrics::auc(g, "high", p, y, w, {.curve = Curve::pr, .summation = Summation::majoring})
                .update;
  update += metrics::auc(g, "pr", p, y, w, {.curve = Curve::pr}).update;
  update += metrics::auc(g, "careful", p, y, w,
                         {.curve = Curve::pr, .summation = Summation::careful_interpolation})
                .update;
  update += metrics::specificity_at_sensitivity(g, "specificity", p, y, 0.7, w).update;
  update += metrics::sensitivity_at_specificity(g, "sensitivity", p, y, 0.8, w).update;
  update.named("update");
}

struct Data {
  std::vector<float> p, w;
  std::vector<std::int32_t> y;

  /// A prediction in the middle between two thresholds, no two of a label alike.
  void add(int place, bool positive, double weight) {
    p.push_back(static_cast<float>((place + 0.5) / 199));
    y.push_back(positive ? 1 : 0);
    w.push_back(static_cast<float>(weight));
  }
};

/// The sums of weights at each of n thresholds.
struct Counts {
  std::vector<double> tp, fp, tn, fn;

  Counts(const Data& d, int n, bool weighted) : tp(), fp(), tn(), fn() {
    for (int t = 0; t < n; ++t) {
      double threshold = static_cast<double>(t) / (n - 1);
      if (t == 0) threshold = -1e-7;
      if (t == n - 1) threshold = 1 + 1e-7;
      double sums[2][2] = {};
      for (std::size_t i = 0; i < d.p.size(); ++i) {
        sums[d.p[i] > threshold ? 1 : 0][d.y[i]] += weighted ? static_cast<double>(d.w[i]) : 1;
      }
      tp.push_back(sums[1][1]);
      fp.push_back(sums[1][0]);
      tn.push_back(sums[0][0]);
      fn.push_back(sums[0][1]);
    }
  }
  double recall(std::size_t i) const { return (tp[i] + 1e-6) / (tp[i] + fn[i] + 1e-6); }
  double precision(std::size_t i) const { return (tp[i] + 1e-6) / (tp[i] + fp[i] + 1e-6); }
  double alarms(std::size_t i) const { return fp[i] / (fp[i] + tn[i] + 1e-6); }
  double sensitivity(std::size_t i) const { return tp[i] / (tp[i] + fn[i] + 1e-7); }
  double specificity(std::size_t i) const { return tn[i] / (tn[i] + fp[i] + 1e-7); }

  double roc() const {
    double area = 0;
    for (std::size_t i = 0; i + 1 < tp.size(); ++i) {
      area += (alarms(i) - alarms(i + 1)) * (recall(i) + recall(i + 1)) / 2;
    }
    return area;
  }
  template <class F>
  double pr(const F& height) const {
    double area = 0;
    for (std::size_t i = 0; i + 1 < tp.size(); ++i) {
      area += (recall(i) - recall(i + 1)) * height(precision(i), precision(i + 1));
    }
    return area;
  }
  /// The area with many points put between each two thresholds, where the counts are linear.
  double careful() const {
    constexpr int steps = 20000;
    double area = 0;
    for (std::size_t i = 0; i + 1 < tp.size(); ++i) {
      const double gained = tp[i] - tp[i + 1];
      for (int s = 0; s < steps; ++s) {
        const double part = (s + 0.5) / steps;
        const double hits = tp[i + 1] + part * gained;
        const double called = hits + fp[i + 1] + part * (fp[i] - fp[i + 1]);
        if (called > 0) area += gained / steps * hits / called;
      }
    }
    return area / (tp[0] + fn[0]);
  }
  double specificity_at(double target) const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < tp.size(); ++i) {
      const double here = std::abs(sensitivity(i) - target);
      if (here <= std::abs(sensitivity(best) - target)) best = i;
    }
    return specificity(best);
  }
  double sensitivity_at(double target) const {
    std::size_t best = 0;
    for (std::size_t i = 0; i < tp.size(); ++i) {
      const double here = std::abs(specificity(i) - target);
      if (here < std::abs(specificity(best) - target)) best = i;
    }
    return sensitivity(best);
  }
};

/// The chance that a positive's prediction is above a negative's: the exact area.
double chance(const Data& d) {
  double above = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < d.p.size(); ++i) {
    for (std::size_t j = 0; j < d.p.size(); ++j) {
      if (d.y[i] != 1 || d.y[j] != 0) continue;
      above += d.p[i] > d.p[j] ? 1 : d.p[i] == d.p[j] ? 0.5 : 0;
      pairs += 1;
    }
  }
  return above / pairs;
}

void run(tf::Session<model>& session, const Data& d) {
  session.run<"update">(tf::feed<"p">(d.p), tf::feed<"y">(d.y), tf::feed<"w">(d.w));
}

}  // namespace

TEST_CASE("metrics at thresholds are those of plain loops over all batches") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  test::Random random(5);
  Data all;
  for (const int rows : {40, 1, 80}) {
    Data d;
    for (int i = 0; i < rows; ++i) {
      const bool positive = random.chance(0.4);
      d.add(std::min(198, random.below(150) + (positive ? 60 : 0)), positive,
            random.below(4) == 0 ? 0 : random.uniform(0.5, 2));
    }
    run(session, d);
    all.p.insert(all.p.end(), d.p.begin(), d.p.end());
    all.w.insert(all.w.end(), d.w.begin(), d.w.end());
    all.y.insert(all.y.end(), d.y.begin(), d.y.end());
  }
  const Counts weighted(all, 200, true);
  const auto close = [](double got, double expected, double epsilon = 2e-6) {
    CHECK(got == doctest::Approx(expected).epsilon(epsilon));
  };
  close(session.run<"roc/value">(), weighted.roc());
  close(session.run<"even/value">(), Counts(all, 200, false).roc());
  close(session.run<"even/value">(), chance(all));  // thresholds lie between all predictions
  close(session.run<"three/value">(), Counts(all, 3, true).roc());
  close(session.run<"low/value">(), weighted.pr([](double a, double b) { return std::min(a, b); }));
  close(session.run<"high/value">(),
        weighted.pr([](double a, double b) { return std::max(a, b); }));
  close(session.run<"pr/value">(), weighted.pr([](double a, double b) { return (a + b) / 2; }));
  close(session.run<"careful/value">(), weighted.careful(), 1e-5);
  close(session.run<"specificity/value">(), weighted.specificity_at(0.7));
  close(session.run<"sensitivity/value">(), weighted.sensitivity_at(0.8));
}

TEST_CASE("areas are those of Keras's documentation, and of TensorFlow where there is nothing") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"roc/value">() == 0);
  CHECK(session.run<"careful/value">() == 0);
  CHECK(session.run<"specificity/value">() == 0);
  Data d;
  d.p = {0, 0.5f, 0.3f, 0.9f};
  d.y = {0, 0, 1, 1};
  d.w = {1, 1, 1, 1};
  run(session, d);
  CHECK(session.run<"three/value">() == doctest::Approx(0.75).epsilon(1e-5));
  session.reset();
  d.w = {1, 0, 0, 1};
  run(session, d);
  CHECK(session.run<"three/value">() == doctest::Approx(1).epsilon(1e-5));
  CHECK(session.run<"careful/value">() == doctest::Approx(1).epsilon(1e-5));
}
