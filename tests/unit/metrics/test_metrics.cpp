// SPDX-License-Identifier: Apache-2.0

// Streaming metrics against plain loops over all batches.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/metrics.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;
namespace metrics = tf::metrics;

namespace {

constexpr int classes = 4;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, classes>(g, "x");
  auto y = tf::placeholder<float, tf::batch, classes>(g, "y");
  auto k = tf::placeholder<std::int32_t, tf::batch>(g, "k");
  auto two = tf::placeholder<std::int32_t, tf::batch, 2>(g, "two");
  auto w = tf::placeholder<float, tf::batch>(g, "w");
  auto chosen = argmax<1>(x);
  auto high = greater(x, 0.25f);
  auto hit = greater(y, 0);
  tf::Effect update = metrics::mean(g, "mean", x, w).update;
  update += metrics::mean(g, "mean_of_scalar", sum(x), 0.5).update;
  update += metrics::mean(g, "mean_of_integers", k).update;
  update += metrics::percentage_below(g, "below", x, 0.25, w).update;
  update += metrics::accuracy(g, "accuracy", chosen, k).update;
  update += metrics::accuracy(g, "weighted", chosen, k, w).update;
  update += metrics::top_k_accuracy(g, "top_2", x, k, 2, w).update;
  update += metrics::recall_at_k<2>(g, "recall_1", x, k, w).update;
  update += metrics::recall_at_k<2>(g, "recall_2", x, two, w).update;
  update += metrics::mean_absolute_error(g, "absolute", x, y, w).update;
  update += metrics::mean_squared_error(g, "squared", x, y).update;
  update += metrics::root_mean_squared_error(g, "root", x, y, w).update;
  update += metrics::mean_relative_error(g, "relative", x, y, relu(y), w).update;
  update += metrics::mean_cosine_distance(g, "cosine", x, y, w).update;
  update += metrics::true_positives(g, "tp", high, hit, w).update;
  update += metrics::true_negatives(g, "tn", high, hit).update;
  update += metrics::false_positives(g, "fp", high, hit, 2).update;
  update += metrics::false_negatives(g, "fn", high, relu(y), w).update;
  update += metrics::precision(g, "precision", high, hit, w).update;
  update += metrics::recall(g, "recall", high, hit, w).update;
  update += metrics::confusion_matrix<classes>(g, "confusion", chosen, k, w).update;
  update += metrics::mean_iou<classes + 1>(g, "iou", chosen, k, w).update;
  update.named("update");
}

/// The numbers of one batch, or of several.
struct Data {
  std::vector<float> x, y, w;
  std::vector<std::int32_t> k, two;

  void draw(test::Random& random, int rows) {
    for (int i = 0; i < rows * classes; ++i) {
      x.push_back(static_cast<float>(random.uniform(-1, 1)));
      y.push_back(static_cast<float>(random.uniform(-1, 1)));
    }
    for (int i = 0; i < rows; ++i) {
      k.push_back(random.below(classes));
      const int first = random.below(classes);
      two.push_back(first);
      two.push_back((first + 1 + random.below(classes - 1)) % classes);
      w.push_back(random.below(4) == 0 ? 0 : static_cast<float>(random.uniform(0.5, 2)));
    }
  }
  int rows() const { return static_cast<int>(k.size()); }
  double at(const std::vector<float>& of, int i, int j) const {
    return of[static_cast<std::size_t>(i * classes + j)];
  }
  double weight(int i) const { return w[static_cast<std::size_t>(i)]; }
  int label(int i) const { return k[static_cast<std::size_t>(i)]; }
  /// How many of the row's predictions are larger than this one.
  int rank(int i, int j) const {
    int larger = 0;
    for (int c = 0; c < classes; ++c) larger += at(x, i, c) > at(x, i, j) ? 1 : 0;
    return larger;
  }
  int chosen(int i) const {
    int best = 0;
    for (int j = 1; j < classes; ++j) best = at(x, i, j) > at(x, i, best) ? j : best;
    return best;
  }
  /// Of all elements or rows, the mean of f(i, j) with the row's weight.
  double mean(const std::function<double(int, int)>& f, bool weighted = true) const {
    double total = 0;
    double weights = 0;
    for (int i = 0; i < rows(); ++i) {
      for (int j = 0; j < classes; ++j) {
        total += (weighted ? weight(i) : 1) * f(i, j);
        weights += weighted ? weight(i) : 1;
      }
    }
    return total / weights;
  }
  /// The sum of weights where the prediction and the label are so.
  double count(bool predicted, bool labelled, bool weighted = true) const {
    double sum = 0;
    for (int i = 0; i < rows(); ++i) {
      for (int j = 0; j < classes; ++j) {
        const bool hit = (at(x, i, j) > 0.25) == predicted && (at(y, i, j) > 0) == labelled;
        sum += hit ? (weighted ? weight(i) : 1) : 0;
      }
    }
    return sum;
  }
  /// Weights by label and prediction.
  std::array<std::array<double, classes>, classes> confusion() const {
    std::array<std::array<double, classes>, classes> out{};
    for (int i = 0; i < rows(); ++i) {
      out[static_cast<std::size_t>(label(i))][static_cast<std::size_t>(chosen(i))] += weight(i);
    }
    return out;
  }
  double mean_iou() const {
    const auto matrix = confusion();
    double total = 0;
    int seen = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      double either = -matrix[c][c];
      for (std::size_t d = 0; d < classes; ++d) either += matrix[c][d] + matrix[d][c];
      if (either == 0) continue;
      total += matrix[c][c] / either;
      ++seen;
    }
    return total / seen;
  }
};

}  // namespace

TEST_CASE("streaming metrics are those of all batches together, and reset") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(session.run<"accuracy/value">() == 0);
  CHECK(session.run<"precision/value">() == 0);
  CHECK(session.run<"iou/value">() == 0);
  CHECK(session.run<"cosine/value">() == 1);
  test::Random random(11);
  for (int epoch = 0; epoch < 2; ++epoch) {
    Data all;
    double of_sums = 0;
    for (const int rows : {5, 1, 17}) {
      Data d;
      d.draw(random, rows);
      session.run<"update">(tf::feed<"x">(d.x), tf::feed<"y">(d.y), tf::feed<"k">(d.k),
                            tf::feed<"two">(d.two), tf::feed<"w">(d.w));
      for (const float x : d.x) of_sums += x;
      const auto append = [](auto& to, const auto& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(all.x, d.x);
      append(all.y, d.y);
      append(all.w, d.w);
      append(all.k, d.k);
      append(all.two, d.two);
    }
    const auto x = [&](int i, int j) { return all.at(all.x, i, j); };
    const auto y = [&](int i, int j) { return all.at(all.y, i, j); };
    const auto close = [](double got, double expected) {
      CHECK(got == doctest::Approx(expected).epsilon(2e-6));
    };
    close(session.run<"mean/value">(), all.mean(x));
    close(session.run<"mean_of_scalar/value">(), of_sums / 3);
    close(session.run<"mean_of_integers/value">(),
          all.mean([&](int i, int) { return all.label(i); }, false));
    close(session.run<"below/value">(),
          all.mean([&](int i, int j) { return x(i, j) < 0.25 ? 1 : 0; }));
    const auto right = [&](int i, int) { return all.chosen(i) == all.label(i) ? 1. : 0.; };
    close(session.run<"accuracy/value">(), all.mean(right, false));
    close(session.run<"weighted/value">(), all.mean(right));
    const double top_2 =
        all.mean([&](int i, int) { return all.rank(i, all.label(i)) < 2 ? 1 : 0; });
    close(session.run<"top_2/value">(), top_2);
    close(session.run<"recall_1/value">(), top_2);
    close(session.run<"recall_2/value">(), all.mean([&](int i, int j) {
      return all.rank(i, all.two[static_cast<std::size_t>(2 * i + j % 2)]) < 2 ? 1 : 0;
    }));
    close(session.run<"absolute/value">(),
          all.mean([&](int i, int j) { return std::abs(x(i, j) - y(i, j)); }));
    const auto squared = [&](int i, int j) { return std::pow(x(i, j) - y(i, j), 2); };
    close(session.run<"squared/value">(), all.mean(squared, false));
    close(session.run<"root/value">(), std::sqrt(all.mean(squared)));
    close(session.run<"relative/value">(), all.mean([&](int i, int j) {
      return y(i, j) > 0 ? std::abs(x(i, j) - y(i, j)) / y(i, j) : 0;
    }));
    close(session.run<"cosine/value">(),
          1 - classes * all.mean([&](int i, int j) { return x(i, j) * y(i, j); }));
    const double tp = all.count(true, true);
    close(session.run<"tp/value">(), tp);
    CHECK(session.run<"tn/value">() == all.count(false, false, false));
    CHECK(session.run<"fp/value">() == 2 * all.count(true, false, false));
    close(session.run<"fn/value">(), all.count(false, true));
    close(session.run<"precision/value">(), tp / (tp + all.count(true, false)));
    close(session.run<"recall/value">(), tp / (tp + all.count(false, true)));
    const auto matrix = session.run<"confusion/value">();
    const auto expected = all.confusion();
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = 0; j < classes; ++j) close(matrix(i, j), expected[i][j]);
    }
    close(session.run<"iou/value">(), all.mean_iou());
    session.reset();
    CHECK(session.run<"accuracy/value">() == 0);
    CHECK(session.run<"confusion/value">()(0, 0) == 0);
  }
}

namespace {
constexpr void repeats(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, classes>(g, "x");
  auto w = tf::placeholder<double, 2>(g, "w");
  auto pairs = tf::placeholder<std::int32_t, 2, 2>(g, "pairs");
  auto triples = tf::placeholder<std::int64_t, 2, 3>(g, "triples");
  tf::Effect update = metrics::recall_at_k<2>(g, "pairs_recall", x, pairs).update;
  update += metrics::recall_at_k<2>(g, "triples_recall", x, triples, w).update;
  update.named("update");
}
}  // namespace

TEST_CASE("recall_at_k counts a label that repeats once") {
  tf::Variables variables;
  tf::Session<repeats> session(variables);
  session.run<"update">(tf::feed<"x">(std::vector<float>{0.1f, 0.9f, 0.5f, 0.2f,  //
                                                         0.3f, 0.2f, 0.1f, 0.8f}),
                        tf::feed<"w">(std::vector<double>{2, 0.5}),
                        tf::feed<"pairs">(std::vector<std::int32_t>{1, 1, 0, 2}),
                        tf::feed<"triples">(std::vector<std::int64_t>{3, 3, 1, 0, 0, 9}));
  // tf.compat.v1.metrics.recall_at_k of TensorFlow 2.21
  CHECK(session.run<"pairs_recall/value">() == doctest::Approx(2 / 3.));
  CHECK(session.run<"triples_recall/value">() == doctest::Approx(0.5));
}

namespace {

constexpr void heavy(tf::Graph& g) {
  auto yes = tf::placeholder<bool, tf::batch>(g, "yes");
  auto w = tf::placeholder<double, tf::batch>(g, "w");
  metrics::true_positives(g, "hits", yes, yes, w);
}

}  // namespace

TEST_CASE("counts of one batch stay exact above 2^24") {
  tf::Variables variables;
  tf::Session<heavy> session(variables);
  const std::array<bool, 3> yes = {true, true, true};
  const std::vector<double> weights = {16777216, 1, 2};
  session.run<"hits/update">(tf::feed<"yes">(yes), tf::feed<"w">(weights));
  CHECK(session.run<"hits/value">() == 16777219);
}
