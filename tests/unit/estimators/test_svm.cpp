// SPDX-License-Identifier: Apache-2.0

// Support vector machines beside scikit-learn 1.9's LinearSVC with hinge loss, which is LIBLINEAR's
// dual coordinate descent, and beside the objectives in plain loops.

#include <typeflow/typeflow.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/estimators/support_vector_machine.hpp>

#include "support/message_of.hpp"
#include "unit/estimators/numbers.hpp"

namespace tf = typeflow;

namespace {

using Svm = tf::SvmClassifier<3, double>;

/// 120 points of three features, which no plane separates.
struct Data {
  std::vector<double> x;
  std::vector<std::int32_t> labels;
  std::vector<double> weights;

  Data() {
    numbers::Sequence next(5);
    for (int i = 0; i < 120; ++i) {
      for (int j = 0; j < 3; ++j) x.push_back(next() * 4 - 2);
      const double* const row = x.data() + x.size() - 3;
      labels.push_back(row[0] - 0.5 * row[1] + 0.3 + (next() * 2 - 1) > 0 ? 1 : 0);
      weights.push_back(0.5 + next());
    }
  }
  Svm::Examples examples(bool weighted = false) const {
    return {.x = x, .labels = labels, .weights = weighted ? weights : std::span<const double>{}};
  }
};

/// P and D of the top of support_vector_machine.hpp, from weights and dual variables. Checks that
/// the weights follow from the dual variables, and that these are in their bounds.
struct Objectives {
  double primal = 0;
  double dual = 0;
  double loss = 0;
};
template <class Machine, class T>
Objectives objectives(const Machine& svm, const std::vector<T>& x,
                      const std::vector<std::int32_t>& labels, const std::vector<double>& weights,
                      std::span<const std::string> ids = {}) {
  const std::span<const double> w = svm.weights();
  const double l1 = svm.options().l1;
  const double l2 = svm.options().l2;
  std::vector<double> v(w.size());
  double b = 0;
  double norm = svm.bias() * svm.bias();
  double total = 0;
  Objectives result;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    const double y = labels[i] == 1 ? 1 : -1;
    const double a = svm.duals().at(ids.empty() ? std::to_string(i) : ids[i]);
    CHECK(a >= 0);
    CHECK(a <= weight);
    double score = svm.bias();
    for (std::size_t j = 0; j < w.size(); ++j) {
      score += w[j] * static_cast<double>(x[i * w.size() + j]);
      v[j] += a * y * static_cast<double>(x[i * w.size() + j]) / l2;
    }
    b += a * y / l2;
    result.primal += weight * std::max(0.0, 1 - y * score);
    result.dual += a;
    total += weight;
  }
  result.loss = result.primal / total;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double shrunk = std::max(0.0, std::abs(v[j]) - l1 / l2);
    CHECK(w[j] == doctest::Approx(std::copysign(shrunk, v[j])).epsilon(1e-9));
    result.primal += l1 * std::abs(w[j]);
    norm += w[j] * w[j];
  }
  if (svm.options().bias) CHECK(svm.bias() == doctest::Approx(b).epsilon(1e-9));
  result.primal += l2 / 2 * norm;
  result.dual -= l2 / 2 * norm;
  return result;
}

}  // namespace

TEST_CASE("the three examples of TensorFlow's test") {
  const std::vector<float> x = {0, 1, 1, -1.2f, 3, 1};
  const std::vector<std::int32_t> labels = {1, 0, 1};
  const std::vector<std::string> ids = {"1", "2", "3"};
  for (const bool bias : {false, true}) {
    tf::SvmClassifier<2> svm({.l1 = 0, .l2 = 0, .bias = bias, .steps = 30, .tolerance = 0});
    CHECK(svm.options().l2 == 1);
    const tf::SvmResult result = svm.fit({.x = x, .labels = labels, .ids = ids});
    CHECK(result.steps <= 30);
    CHECK(std::abs(result.loss) <= 1e-3);
    const tf::SvmEvaluation evaluation = svm.evaluate({.x = x, .labels = labels, .ids = ids});
    CHECK(std::abs(evaluation.loss) <= 1e-3);
    CHECK(evaluation.accuracy == 1);
    const auto classes = svm.predict(x);
    for (std::size_t i = 0; i < 3; ++i) CHECK(classes[i] == labels[i]);
  }
}

TEST_CASE("the objective is LIBLINEAR's") {
  const Data data;
  struct Case {
    double l2;
    bool bias;
    bool weighted;
    double primal;
    double w0;
  };
  for (const Case& c : {Case{1, true, false, 29.218193150407945, 1.7539353635341894},
                        Case{1, false, false, 34.272102474708866, 1.6956784423901659},
                        Case{10, true, false, 39.854158464921895, 1.0528034691970385},
                        Case{0.1, true, false, 26.794272246371243, 2.1610079773160535},
                        Case{1, true, true, 29.522091845876986, 1.5268375182366452}}) {
    CAPTURE(c.l2);
    Svm svm({.l2 = c.l2, .bias = c.bias, .steps = 20000, .tolerance = 1e-7});
    const tf::SvmResult result = svm.fit(data.examples(c.weighted));
    CHECK(result.converged);
    CHECK(std::abs(result.primal - c.primal) <= 1e-4);
    CHECK(svm.weights()[0] == doctest::Approx(c.w0).epsilon(1e-3));
    const Objectives plain =
        objectives(svm, data.x, data.labels, c.weighted ? data.weights : std::vector<double>{});
    CHECK(result.primal == doctest::Approx(plain.primal).epsilon(1e-10));
    CHECK(result.dual == doctest::Approx(plain.dual).epsilon(1e-10));
    CHECK(result.loss == doctest::Approx(plain.loss).epsilon(1e-10));
    CHECK(result.gap() >= -1e-9);
    CHECK(result.gap() <= 1e-7 * result.primal);
    const tf::SvmEvaluation evaluation = svm.evaluate(data.examples(c.weighted));
    CHECK(evaluation.loss == doctest::Approx(plain.loss).epsilon(1e-10));
  }
}

TEST_CASE("l1 makes weights 0, and the dual gap still closes") {
  const Data data;
  for (const double l1 : {0.5, 8.0, 1000.0}) {
    CAPTURE(l1);
    Svm svm({.l1 = l1, .l2 = 0.5, .steps = 20000, .tolerance = 1e-6});
    const tf::SvmResult result = svm.fit(data.examples(true));
    CHECK(result.converged);
    const Objectives plain = objectives(svm, data.x, data.labels, data.weights);
    CHECK(result.primal == doctest::Approx(plain.primal).epsilon(1e-10));
    CHECK(result.dual == doctest::Approx(plain.dual).epsilon(1e-10));
    CHECK(plain.primal - plain.dual <= 1e-6 * plain.primal);
    if (l1 >= 8) CHECK(svm.weights()[2] == 0);  // the labels do not depend on the third feature
    if (l1 == 1000) CHECK(svm.weights()[0] == 0);
  }
}

TEST_CASE("decisions, classes and accuracy follow from weights") {
  const Data data;
  Svm svm;
  svm.fit(data.examples());
  const auto scores = svm.decision(data.x);
  const auto classes = svm.predict(data.x);
  double correct = 0;
  for (std::size_t i = 0; i < 120; ++i) {
    double score = svm.bias();
    for (std::size_t j = 0; j < 3; ++j) score += svm.weights()[j] * data.x[i * 3 + j];
    CHECK(scores[i] == doctest::Approx(score).epsilon(1e-12));
    CHECK(classes[i] == (score > 0 ? 1 : 0));
    correct += classes[i] == data.labels[i];
  }
  CHECK(svm.evaluate(data.examples()).accuracy == doctest::Approx(correct / 120));
  CHECK(correct / 120 == doctest::Approx(0.9));  // LIBLINEAR's
  CHECK(svm.predict(std::vector<double>{}).size() == 0);
}

TEST_CASE("an example of weight 0 counts as if it were not there") {
  Data data;
  std::vector<double> weights(120, 1.0);
  for (std::size_t i = 60; i < 120; ++i) weights[i] = 0;
  Svm svm({.steps = 20000, .tolerance = 1e-8});
  const double all = svm.fit({.x = data.x, .labels = data.labels, .weights = weights}).primal;
  data.x.resize(180);
  data.labels.resize(60);
  CHECK(svm.fit(data.examples()).primal == doctest::Approx(all).epsilon(1e-6));
}

TEST_CASE("a row of zeros without bias has a constant loss") {
  const std::vector<double> x = {0, 0, 0, 1, 0, 0};
  const std::vector<std::int32_t> labels = {1, 0};
  Svm svm({.bias = false, .tolerance = 1e-9});
  const tf::SvmResult result = svm.fit({.x = x, .labels = labels});
  CHECK(result.converged);
  CHECK(result.loss == doctest::Approx(0.5));
  CHECK(svm.weights()[0] == doctest::Approx(-1));
  CHECK(svm.bias() == 0);
}

TEST_CASE("partial fits find dual variables by ids") {
  const Data data;
  std::vector<std::string> ids;
  for (int i = 0; i < 120; ++i) ids.push_back("example " + std::to_string(i));
  Svm svm({.tolerance = 1e-6});
  // Parts of the examples, in turns.
  for (int pass = 0; pass < 3000; ++pass) {
    const auto from = static_cast<std::size_t>(pass % 4) * 30;
    svm.partial_fit({.x = std::span<const double>(data.x).subspan(from * 3, 90),
                     .labels = std::span<const std::int32_t>(data.labels).subspan(from, 30),
                     .ids = std::span<const std::string>(ids).subspan(from, 30)});
  }
  const Objectives plain = objectives(svm, data.x, data.labels, {}, ids);
  CHECK(plain.primal - plain.dual >= -1e-9);
  CHECK(std::abs(plain.primal - 29.218193150407945) <= 1e-2);

  // Weights and dual variables make another object go on with the same bits.
  Svm other;
  for (const char* const name : {"v", "w", "b"}) {
    other.variables().set<double>(name, std::as_const(svm.variables()).get<double>(name));
  }
  other.variables().set<std::int64_t>("steps",
                                      std::as_const(svm.variables()).get<std::int64_t>("steps"));
  const Svm::Examples all{.x = data.x, .labels = data.labels, .ids = ids};
  CHECK(message_of([&] { other.partial_fit(all); }) ==
        "SvmClassifier::partial_fit: expected the dual variables of the loaded training: "
        "set_duals(), got none");
  other.set_duals(svm.duals());
  CHECK(other.evaluate(all).loss == svm.evaluate(all).loss);
  other.partial_fit(all);
  const Objectives next = objectives(other, data.x, data.labels, {}, ids);
  CHECK(next.dual >= plain.dual - 1e-9);
}

TEST_CASE("equal seeds give equal bits for any number of threads") {
  const Data data;
  const auto weights = [&](int threads, std::uint64_t seed) {
    Svm svm({.steps = 5, .tolerance = 0, .seed = seed, .threads = threads});
    svm.fit(data.examples());
    svm.fit(data.examples());  // anew
    const std::span<const double> w = svm.weights();
    return std::vector<double>(w.begin(), w.end());
  };
  const std::vector<double> one = weights(1, 2);
  for (const int threads : {2, 3, 8}) CHECK(weights(threads, 2) == one);
  CHECK(weights(1, 3) != one);
}

TEST_CASE("mistakes are named") {
  Data data;
  Svm svm;
  CHECK(message_of([&] { svm.predict(data.x); }) ==
        "SvmClassifier::predict: expected trained weights, which fit() makes or load() reads, got "
        "none");
  CHECK(message_of([&] { svm.fit({}); }) == "SvmClassifier::fit: rows: expected 1 or more, got 0");
  Svm::Examples examples = data.examples(true);
  examples.labels = examples.labels.first(119);
  CHECK(message_of([&] { svm.fit(examples); }) ==
        "SvmClassifier::fit: labels: expected 120, one for each row, got 119");
  examples = data.examples(true);
  examples.weights = examples.weights.first(7);
  CHECK(message_of([&] { svm.fit(examples); }) ==
        "SvmClassifier::fit: weights: expected 120, one for each row, got 7");
  const std::vector<std::string> ids(120, "a");
  examples = data.examples();
  examples.ids = ids;
  CHECK(message_of([&] { svm.fit(examples); }) ==
        "SvmClassifier::fit: id of row 1: expected one that no other row has, got 'a', as row 0");
  examples.ids = examples.ids.first(3);
  CHECK(message_of([&] { svm.fit(examples); }) ==
        "SvmClassifier::fit: ids: expected 120, one for each row, got 3");
  data.labels[5] = 2;
  CHECK(message_of([&] { svm.fit(data.examples()); }) ==
        "SvmClassifier::fit: label of row 5: expected 0 or 1, got 2");
  data.labels[5] = 1;
  data.weights[3] = -1;
  CHECK(message_of([&] { svm.fit(data.examples(true)); }) ==
        "SvmClassifier::fit: weight of row 3: expected a finite number, 0 or more, got -1.000000");
  data.weights.assign(120, 0);
  CHECK(message_of([&] { svm.fit(data.examples(true)); }) ==
        "SvmClassifier::fit: sum of weights: expected more than 0, got 0");
  data.x[4] = std::numeric_limits<double>::quiet_NaN();
  CHECK(message_of([&] { svm.fit(data.examples()); }) ==
        "SvmClassifier::fit: row 1, column 1: expected a finite number, got NaN");
  CHECK(message_of([] { Svm none({.l2 = -1}); }) ==
        "SvmOptions: l2: expected a finite number, 0 or more, got -1.000000");
  CHECK(message_of([] { Svm none({.steps = 0}); }) ==
        "SvmOptions: steps: expected 1 or more, got 0");
}
