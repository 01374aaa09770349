// SPDX-License-Identifier: Apache-2.0

// Random forests: gains against closed forms, counts against plain loops, growth and its
// independence of threads and batches, files, and forests in models.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/estimators/forest_operations.hpp"
#include "typeflow/estimators/random_forest.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Rows {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
};

/// Three classes about points of a plane, among `features` features; the others are noise. The
/// target is 3 x0 - 2 x1 and the class.
Rows some_rows(int count, int features, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const int label = static_cast<int>(random() % 3);
    for (int k = 0; k < features; ++k) {
      const float centre = k == 0 ? 3.0f * static_cast<float>(label) : k == 1 && label == 1 ? 3 : 0;
      rows.x.push_back(centre + normal(random));
    }
    rows.labels.push_back(label);
    const float* const x = rows.x.data() + rows.x.size() - static_cast<std::size_t>(features);
    rows.targets.push_back(3 * x[0] - 2 * x[1] + static_cast<float>(label));
  }
  return rows;
}

/// A file that is removed at the end.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("forest-" + std::to_string(std::random_device{}()) + ".safetensors"))
                         .string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

bool same_trees(const tf::Forest& a, const tf::Forest& b) {
  if (a.size() != b.size()) return false;
  for (int t = 0; t < a.size(); ++t) {
    if (!std::ranges::equal(a.tree(t).nodes(), b.tree(t).nodes())) return false;
    if (!std::ranges::equal(a.tree(t).values(), b.tree(t).values())) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("impurities and gains are their closed forms") {
  using Counts = std::vector<double>;
  CHECK(tf::gini_impurity(Counts{5, 5}) == doctest::Approx(0.5));
  CHECK(tf::gini_impurity(Counts{2, 0, 6}) == doctest::Approx(1 - 0.0625 - 0.5625));
  CHECK(tf::gini_impurity(Counts{7, 0}) == 0);
  CHECK(tf::gini_impurity(Counts{0, 0}) == 0);
  CHECK(tf::entropy_impurity(Counts{1, 1, 1, 1}) == doctest::Approx(std::log(4.0)));
  CHECK(tf::entropy_impurity(Counts{1, 3}) ==
        doctest::Approx(-0.25 * std::log(0.25) - 0.75 * std::log(0.75)));
  CHECK(tf::entropy_impurity(Counts{0, 9}) == 0);

  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Counts total;
    Counts left;
    Counts right;
    double n[3] = {};
    for (int k = 0; k < 1 + trial % 5; ++k) {
      left.push_back(static_cast<double>(random() % 9));
      right.push_back(static_cast<double>(random() % 9));
      total.push_back(left.back() + right.back());
      n[0] += total.back();
      n[1] += left.back();
      n[2] += right.back();
    }
    const bool is_split = n[1] > 0 && n[2] > 0;
    const auto expected = [&](auto impurity) {
      return is_split
                 ? impurity(total) - n[1] / n[0] * impurity(left) - n[2] / n[0] * impurity(right)
                 : 0;
    };
    const auto gini = [](const Counts& c) { return tf::gini_impurity(c); };
    const auto entropy = [](const Counts& c) { return tf::entropy_impurity(c); };
    CHECK(std::abs(tf::split_gain(tf::SplitCriterion::gini, total, left) - expected(gini)) < 1e-14);
    CHECK(std::abs(tf::split_gain(tf::SplitCriterion::entropy, total, left) - expected(entropy)) <
          1e-14);
  }
  // Variances: 10, 12 | 20, 24, 28, with a large offset that must not cancel.
  const Counts total{5, 1e9 * 5 + 94};
  const Counts left{2, 1e9 * 2 + 22};
  const double variance = 47.36 - 0.4 * 1 - 0.6 * 32.0 / 3;
  CHECK(tf::split_gain(tf::SplitCriterion::squared_error, total, left) ==
        doctest::Approx(variance).epsilon(1e-6));
}

TEST_CASE("candidates count what plain loops count") {
  constexpr int features = 5;
  std::mt19937 random(2);
  for (const int candidates : {1, 3, 10, 40}) {
    for (const bool is_regression : {false, true}) {
      const std::vector<std::int32_t> choice{0, 2, 3, 4};
      const int first_rows = std::min(candidates, tf::SplitStatistics::most_first_rows);
      tf::SplitStatistics statistics(candidates, 3, is_regression, first_rows, 7, 9, choice);
      std::vector<std::vector<float>> x;
      std::vector<std::vector<float>> y;
      for (int i = 0; i < 77; ++i) {
        auto& row = x.emplace_back();
        for (int k = 0; k < features; ++k) row.push_back(static_cast<float>(random() % 11));
        if (i % 7 == 0) row[2] = not_a_number;
        if (i % 9 == 0) row[3] = i % 2 == 0 ? infinity : -infinity;
        if (is_regression) {
          y.push_back({1e6f + static_cast<float>(random() % 5), static_cast<float>(random() % 3)});
          statistics.add(row.data(), y.back());
        } else {
          y.push_back({static_cast<float>(random() % 3)});
          statistics.add(row.data(), static_cast<int>(y.back()[0]));
        }
      }
      REQUIRE(statistics.rows() == 77);
      CHECK(statistics.is_mixed());
      for (int c = 0; c < candidates; ++c) {
        const auto [feature, threshold] = statistics.candidate(c);
        CHECK(std::ranges::count(choice, feature) == 1);
        std::vector<double> expected(3);
        bool is_value = false;  // of a first row
        for (std::size_t i = 0; i < x.size(); ++i) {
          const float value = x[i][static_cast<std::size_t>(feature)];
          is_value = is_value || (static_cast<int>(i) < first_rows && value == threshold);
          if (!(value <= threshold)) continue;
          if (!is_regression) {
            expected[static_cast<std::size_t>(y[i][0])] += 1;
          } else {
            expected[0] += 1;
            expected[1] += static_cast<double>(y[i][0]) - statistics.offset()[0];
            expected[2] += static_cast<double>(y[i][1]) - statistics.offset()[1];
          }
        }
        CHECK((is_value || threshold != threshold));
        CHECK(statistics.left(c) == expected);
      }
    }
  }
}

TEST_CASE("a leaf splits by the best candidate, after its rows") {
  // One feature, whose sign is the class: every row is known after one split.
  tf::RandomForestClassifier forest(
      1, 2, {.trees = 1, .max_nodes = 3, .split_after_samples = 20, .splits_to_consider = 10});
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 21; ++i) {
    x.push_back(static_cast<float>(i % 2 == 0 ? -1 - i : 1 + i));
    labels.push_back(i % 2);
  }
  // The first row is of one class only, so it does not count.
  forest.partial_fit(std::span(x).first(20), std::span(labels).first(20));
  CHECK(forest.forest().tree(0).size() == 1);
  CHECK(forest.forest().fertile_leaves(0) == 1);
  CHECK(forest.predict_proba(std::vector<float>{5}) == std::vector<float>{0.5, 0.5});
  forest.partial_fit(std::span(x).last(1), std::span(labels).last(1));
  REQUIRE(forest.forest().tree(0).size() == 3);
  CHECK(forest.forest().fertile_leaves(0) == 0);  // max_nodes is reached
  CHECK(forest.evaluate(x, labels).accuracy > 0.95);
  CHECK(forest.forest().tree(0).value(1)[1] == 0);
  CHECK(forest.forest().tree(0).value(1)[0] + forest.forest().tree(0).value(2)[1] == 20);
  // At the boundary: features equal to the threshold go to the left, NaN to the right.
  const float threshold = forest.forest().tree(0).node(0).threshold;
  CHECK(forest.predict(std::vector<float>{threshold, not_a_number, -infinity, infinity}) ==
        std::vector<std::int32_t>{0, 1, 0, 1});
}

TEST_CASE("a forest is the same for any threads and batches") {
  const Rows rows = some_rows(1500, 6, 3);
  for (const bool bagging : {false, true}) {
    tf::RandomForestOptions options{.trees = 7, .max_nodes = 61, .split_after_samples = 30};
    options.max_fertile_nodes = 9;
    options.bagging_fraction = bagging ? 0.6 : 1;
    options.feature_bagging_fraction = bagging ? 0.5 : 1;
    options.threads = 1;
    tf::RandomForestClassifier one(6, 3, options);
    one.fit(rows.x, rows.labels, {.steps = 2});
    CHECK(one.evaluate(rows.x, rows.labels).accuracy > 0.85);
    for (int t = 0; t < 7; ++t) {
      CHECK(one.forest().tree(t).size() <= 61);
      CHECK(one.forest().fertile_leaves(t) <= 9);
      CHECK(one.forest().features_of(t).size() == (bagging ? 3 : 6));
      for (const tf::TreeNode& node : one.forest().tree(t).nodes()) {
        if (node.is_leaf()) continue;
        CHECK(std::ranges::count(one.forest().features_of(t), node.feature) == 1);
      }
    }
    CHECK_FALSE(std::ranges::equal(one.forest().tree(0).nodes(), one.forest().tree(1).nodes()));
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      tf::RandomForestClassifier other(6, 3, options);
      other.fit(rows.x, rows.labels, {.steps = 2 * 15, .batch = 100});
      CHECK(same_trees(one.forest(), other.forest()));
      CHECK(one.predict_proba(rows.x) == other.predict_proba(rows.x));
    }
    options.seed = 2;
    tf::RandomForestClassifier another(6, 3, options);
    another.fit(rows.x, rows.labels, {.steps = 2});
    CHECK_FALSE(same_trees(one.forest(), another.forest()));
  }
}

TEST_CASE("probabilities are the mean of the leaves' shares") {
  const Rows rows = some_rows(400, 3, 4);
  tf::RandomForestClassifier forest(3, 3, {.trees = 5, .max_nodes = 31, .split_after_samples = 20});
  forest.fit(rows.x, rows.labels, {.steps = 1});
  const std::vector<float> found = forest.predict_proba(rows.x);
  for (std::size_t i = 0; i < 400; ++i) {
    std::array<double, 3> expected{};
    for (int t = 0; t < 5; ++t) {
      const tf::DecisionTree& tree = forest.forest().tree(t);
      int at = 0;
      while (!tree.node(at).is_leaf()) {
        const tf::TreeNode& node = tree.node(at);
        const bool left = rows.x[i * 3 + static_cast<std::size_t>(node.feature)] <= node.threshold;
        at = left ? node.left : node.left + 1;
      }
      const auto counts = tree.value(at);
      for (std::size_t k = 0; k < 3; ++k) {
        expected[k] += counts[k] / (counts[0] + counts[1] + counts[2]) / 5;
      }
    }
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(std::abs(static_cast<double>(found[i * 3 + k]) - expected[k]) < 1e-6);
    }
  }
  CHECK(forest.predict_proba({}).empty());
}

TEST_CASE("regression lowers the variance") {
  const Rows rows = some_rows(3000, 4, 5);
  const Rows others = some_rows(500, 4, 6);
  tf::RandomForestRegressor forest(
      4, {.trees = 20, .max_nodes = 400, .split_after_samples = 30, .splits_to_consider = 20});
  forest.fit(rows.x, rows.targets, {.steps = 8});
  const tf::RegressionScore score = forest.evaluate(others.x, others.targets);
  CHECK(score.rows == 500);
  CHECK(score.r2 > 0.85);
  // Two outputs, far from 0: the leaves' means have the targets' scale.
  std::vector<float> pairs;
  for (const float y : rows.targets) pairs.insert(pairs.end(), {1e5f + y, -y});
  tf::RandomForestRegressor two(4, {.trees = 5, .max_nodes = 100, .split_after_samples = 50}, 2);
  two.fit(rows.x, pairs, {.steps = 2});
  const std::vector<float> found = two.predict(std::span(rows.x).first(4));
  CHECK(std::abs(found[0] - 1e5f + found[1]) < 0.1f);  // the outputs' sum is 1e5
  CHECK(std::abs(found[0] - 1e5f - rows.targets[0]) < 6);
}

TEST_CASE("dominance splits a clear leaf early, and an unclear one at its time") {
  for (const auto dominance : {tf::Dominance::hoeffding, tf::Dominance::bootstrap}) {
    tf::RandomForestOptions options{
        .trees = 1, .max_nodes = 3, .split_after_samples = 4000, .splits_to_consider = 10};
    options.dominance = dominance;
    tf::RandomForestClassifier clear(2, 2, options);
    tf::RandomForestClassifier unclear(2, 2, options);
    std::mt19937 random(3);
    std::int64_t rows = 0;
    for (; rows < 3000 && clear.forest().tree(0).size() == 1; ++rows) {
      const auto label = static_cast<std::int32_t>(random() % 2);
      const float noise = static_cast<float>(random() % 100);
      clear.partial_fit(std::vector<float>{static_cast<float>(label), noise}, std::vector{label});
      const auto other = static_cast<std::int32_t>(random() % 2);
      unclear.partial_fit(std::vector<float>{static_cast<float>(random() % 2), noise},
                          std::vector{other});
    }
    CHECK(rows < 1000);
    CHECK(clear.forest().tree(0).node(0).feature == 0);
    CHECK(unclear.forest().tree(0).size() == 1);
  }
}

TEST_CASE("one class, constant features and missing ones") {
  tf::RandomForestOptions options{.trees = 2, .max_nodes = 15, .split_after_samples = 10};
  tf::RandomForestClassifier one_class(2, 3, options);
  const std::vector<float> x = some_rows(100, 2, 7).x;
  one_class.fit(x, std::vector<std::int32_t>(100, 2), {.steps = 3});
  CHECK(one_class.forest().tree(0).size() == 1);
  CHECK(one_class.predict(std::vector<float>{0, 0}) == std::vector<std::int32_t>{2});
  CHECK(one_class.evaluate(x, std::vector<std::int32_t>(100, 2)).loss == 0);

  std::vector<std::int32_t> labels(100);
  for (std::size_t i = 0; i < 100; ++i) labels[i] = i % 4 == 0 ? 1 : 0;
  for (const float value : {0.0f, not_a_number, infinity, -infinity}) {
    tf::RandomForestClassifier constant(2, 2, options);
    constant.fit(std::vector<float>(200, value), labels, {.steps = 3});
    CHECK(constant.forest().tree(0).size() == 1);
    CHECK(constant.predict_proba(std::vector<float>{not_a_number, 1})[1] == doctest::Approx(0.25));
  }

  // Whether a feature is missing tells the class.
  tf::RandomForestClassifier missing(1, 2, options);
  std::vector<float> sometimes;
  for (std::size_t i = 0; i < 100; ++i) {
    sometimes.push_back(labels[i] == 1 ? not_a_number : static_cast<float>(i % 7));
  }
  missing.fit(sometimes, labels, {.steps = 20});
  CHECK(missing.evaluate(sometimes, labels).accuracy == 1);

  tf::RandomForestRegressor equal(2, options);
  equal.fit(x, std::vector<float>(100, 3.5f), {.steps = 3});
  CHECK(equal.forest().tree(0).size() == 1);
  CHECK(equal.predict(std::vector<float>{0, 0}) == std::vector<float>{3.5});
}

TEST_CASE("a forest that is saved and loaded grows on with the same bits") {
  const Rows rows = some_rows(700, 5, 8);
  const TemporaryFile file;
  tf::RandomForestOptions options{.trees = 4, .max_nodes = 101, .split_after_samples = 25};
  options.bagging_fraction = 0.8;
  const auto first = std::span(rows.x).first(5 * 333);
  const auto rest = std::span(rows.x).subspan(5 * 333);
  {
    tf::RandomForestClassifier through(5, 3, options);
    tf::RandomForestClassifier before(5, 3, options);
    CHECK_FALSE(before.resume(file.path));
    before.partial_fit(first, std::span(rows.labels).first(333)).save(file.path);
    tf::RandomForestClassifier after(5, 3, options);
    CHECK(after.resume(file.path));
    CHECK(after.forest().samples_seen() == 333);
    CHECK(same_trees(before.forest(), after.forest()));
    after.partial_fit(rest, std::span(rows.labels).subspan(333));
    through.partial_fit(rows.x, rows.labels);
    CHECK(same_trees(through.forest(), after.forest()));
    CHECK(through.forest().tree(0).size() > 5);
    // fit() takes the next orders.
    through.fit(rows.x, rows.labels, {.steps = 3});
    after.fit(rows.x, rows.labels, {.steps = 1});
    after.save(file.path);
    auto again = tf::RandomForestClassifier::from_file(file.path);
    again.fit(rows.x, rows.labels, {.steps = 2});
    CHECK(same_trees(through.forest(), again.forest()));
  }
  tf::RandomForestRegressor through(5, options);
  tf::RandomForestRegressor before(5, options);
  before.partial_fit(first, std::span(rows.targets).first(333)).save(file.path);
  auto after = tf::RandomForestRegressor::from_file(file.path);
  after.partial_fit(rest, std::span(rows.targets).subspan(333));
  through.partial_fit(rows.x, rows.targets);
  CHECK(same_trees(through.forest(), after.forest()));
}

TEST_CASE("errors of forests name the thing") {
  CHECK(message_of([] { tf::RandomForestClassifier(4, 1); }) ==
        "RandomForestClassifier: expected at least 2 classes, got 1");
  CHECK(message_of([] { tf::RandomForestClassifier(0, 3); }) ==
        "RandomForestClassifier: expected at least 1 feature, got 0");
  CHECK(message_of([] { tf::RandomForestClassifier(4, 3, {.trees = 0}); }) ==
        "RandomForestClassifier: expected trees >= 1, got 0");
  CHECK(message_of([] { tf::RandomForestClassifier(4, 3, {.bagging_fraction = not_a_number}); }) ==
        "RandomForestClassifier: expected 0 < bagging_fraction <= 1, got nan");
  CHECK(message_of([] { tf::RandomForestRegressor(4, {.dominance = tf::Dominance::hoeffding}); }) ==
        "RandomForestRegressor: expected Dominance::off, since bounds need classes, got "
        "another dominance");
  CHECK(message_of([] {
          tf::RandomForestClassifier(4, 3, {.criterion = tf::SplitCriterion::squared_error});
        }) ==
        "RandomForestClassifier: expected a criterion of classes, gini or entropy, got "
        "squared_error");
  tf::RandomForestClassifier forest(2, 3);
  const std::vector<float> x{1, 2, 3, 4};
  CHECK(message_of([&] { forest.predict(x); }) ==
        "RandomForestClassifier.predict: expected a forest that has seen rows, got a new one; call "
        "fit() first");
  CHECK(message_of([&] { forest.fit(std::span(x).first(3), std::vector{1}); }) ==
        "RandomForestClassifier.fit: expected rows of 2 features, got 3 numbers");
  CHECK(message_of([&] { forest.partial_fit(x, std::vector{1}); }) ==
        "RandomForestClassifier.partial_fit: expected 2 labels, one for each row, got 1");
  CHECK(message_of([&] { forest.fit(x, std::vector{1, 3}); }) ==
        "RandomForestClassifier.fit: expected labels from 0 to 2, got 3 in row 1");
  CHECK(message_of([&] { forest.fit({}, {}); }) ==
        "RandomForestClassifier.fit: expected at least 1 row, got 0");
  CHECK(message_of([&] { forest.fit(x, std::vector{1, 2}, {.steps = -1}); }) ==
        "RandomForestClassifier.fit: expected steps >= 0, got -1");
  tf::RandomForestRegressor regressor(2);
  CHECK(message_of([&] { regressor.fit(x, std::vector<float>{1, infinity}); }) ==
        "RandomForestRegressor.fit: expected finite targets, got inf in row 1");
  CHECK(forest.forest().samples_seen() == 0);
}

TEST_CASE("damaged files of forests are refused") {
  const TemporaryFile file;
  const Rows rows = some_rows(300, 3, 9);
  tf::RandomForestClassifier forest(3, 3, {.trees = 2, .max_nodes = 31, .split_after_samples = 20});
  forest.fit(rows.x, rows.labels, {.steps = 1});
  forest.save(file.path);
  CHECK(message_of([&] { tf::RandomForestRegressor::from_file(file.path); }) ==
        file.path +
            ": expected a file of a RandomForestRegressor, got one of a "
            "RandomForestClassifier");
  tf::RandomForestClassifier other(4, 3);
  CHECK(message_of([&] { other.resume(file.path); }) ==
        file.path + ": expected 4 features and 3 classes, got 3 and 3");
  CHECK(message_of([&] { tf::RandomForestClassifier::from_file(file.path + ".none"); }) != "");

  // Each number of each list, changed and saved with a new checksum: it is refused, or the forest
  // works.
  tf::Variables lists;
  const tf::Metadata metadata = tf::load(lists, file.path);
  int refused = 0;
  int taken = 0;
  const auto try_it = [&] {
    tf::save(lists, file.path, {.metadata = metadata});
    try {
      auto changed = tf::RandomForestClassifier::from_file(file.path);
      changed.predict(rows.x);
      changed.partial_fit(rows.x, rows.labels);
      ++taken;
    } catch (const tf::Error&) {
      ++refused;
    }
  };
  for (const std::string& name : lists.names()) {
    const auto change = [&]<class T>(T) {
      const std::span<T> list = lists.get<T>(name);
      const std::size_t step = std::max<std::size_t>(list.size() / 12, 1);
      for (std::size_t i = 0; i < list.size(); i += step) {
        const T old = list[i];
        for (const double value : {-1.0, 1.0, 7.0, 1e6}) {
          if constexpr (std::is_unsigned_v<T>) {
            list[i] = static_cast<T>(std::abs(value));
          } else {
            list[i] = static_cast<T>(value);
          }
          try_it();
        }
        if constexpr (std::is_floating_point_v<T>) {
          list[i] = std::numeric_limits<T>::quiet_NaN();
          try_it();
        }
        list[i] = old;
      }
    };
    switch (lists.dtype(name)) {
      case tf::DType::int32:
        change(std::int32_t{});
        break;
      case tf::DType::int64:
        change(std::int64_t{});
        break;
      case tf::DType::uint32:
        change(std::uint32_t{});
        break;
      case tf::DType::float32:
        change(0.0f);
        break;
      default:
        change(0.0);
        break;
    }
  }
  CHECK(refused > 50);
  CHECK(taken > 0);
  std::ofstream(file.path) << "no tensors";
  CHECK(message_of([&] { forest.resume(file.path); }).starts_with(file.path));
  CHECK(forest.forest().samples_seen() == 300);
}

constexpr void classes(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto label = placeholder<std::int32_t, tf::batch>(g, "label");
  auto forest =
      tf::random_forest<3>(g, "forest", {.trees = 3, .max_nodes = 99, .split_after_samples = 20});
  infer(forest, x).named("before");
  grow(forest, x, label).named("train");
  infer(forest, x).named("probabilities");
}
constexpr void numbers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto y = placeholder<float, tf::batch, 1>(g, "y");
  auto forest = tf::regression_forest(g, "forest", {.trees = 3, .split_after_samples = 20});
  grow(forest, x, y).named("train");
  infer(forest, x).named("y_now");
}

TEST_CASE("a forest in a model is that of the class") {
  const Rows rows = some_rows(500, 4, 10);
  tf::Variables variables;
  tf::Session<classes> session(variables);
  tf::RandomForestClassifier forest(4, 3, {.trees = 3, .max_nodes = 99, .split_after_samples = 20});
  for (int step = 0; step < 3; ++step) {
    const auto [before, now] = session.run<"before", "probabilities", "train">(
        tf::feed<"x">(rows.x), tf::feed<"label">(rows.labels));
    const std::vector<float> expected =
        step == 0 ? std::vector<float>(1500) : forest.predict_proba(rows.x);
    CHECK(std::ranges::equal(before, expected));
    forest.partial_fit(rows.x, rows.labels);
    CHECK(std::ranges::equal(now, forest.predict_proba(rows.x)));
  }
  CHECK(same_trees(variables.resource<tf::Forest>("forest"), forest.forest()));
  std::vector<std::int32_t> wrong = rows.labels;
  wrong[3] = 3;
  CHECK(message_of([&] {
          session.run<"train">(tf::feed<"x">(rows.x), tf::feed<"label">(wrong));
        }).find("labels from 0 to 2, got 3 in row 3") != std::string::npos);

  tf::Variables others;
  tf::Session<numbers> regression(others);
  regression.run<"train">(tf::feed<"x">(rows.x), tf::feed<"y">(rows.targets));
  tf::RandomForestRegressor same(4, {.trees = 3, .split_after_samples = 20});
  same.partial_fit(rows.x, rows.targets);
  CHECK(std::ranges::equal(
      regression.run<"y_now", "train">(tf::feed<"x">(rows.x), tf::feed<"y">(rows.targets)),
      same.partial_fit(rows.x, rows.targets).predict(rows.x)));
}

TEST_CASE("forests: weights are repeats, and rows of weight 0 are absent, bit by bit") {
  const Rows rows = some_rows(300, 5, 21);
  std::vector<double> weights;
  Rows repeated;
  for (std::size_t i = 0; i < 300; ++i) {
    weights.push_back(static_cast<double>(i * 7 % 5));
    const auto row = std::span(rows.x).subspan(5 * i, 5);
    for (std::size_t time = 0; time < i * 7 % 5; ++time) {
      repeated.x.insert(repeated.x.end(), row.begin(), row.end());
      repeated.labels.push_back(rows.labels[i]);
      repeated.targets.push_back(rows.targets[i]);
    }
  }
  tf::RandomForestOptions options{.trees = 8, .max_nodes = 200, .split_after_samples = 30};
  options.bagging_fraction = 0.8;
  for (const bool shuffle : {true, false}) {
    for (const std::int64_t batch : {0, 17}) {
      CAPTURE(shuffle);
      CAPTURE(batch);
      const tf::ForestFitOptions steps{.steps = 40, .batch = batch, .shuffle = shuffle};
      tf::RandomForestClassifier weighted(5, 3, options), whole(5, 3, options);
      weighted.fit(rows.x, rows.labels, weights, steps);
      whole.fit(repeated.x, repeated.labels, steps);
      CHECK(same_trees(weighted.forest(), whole.forest()));
      CHECK(weighted.forest().tree(0).size() > 5);
      CHECK(weighted.evaluate(rows.x, rows.labels, weights).accuracy ==
            doctest::Approx(whole.evaluate(repeated.x, repeated.labels).accuracy));
      CHECK(weighted.evaluate(rows.x, rows.labels, weights).loss ==
            doctest::Approx(whole.evaluate(repeated.x, repeated.labels).loss));

      tf::RandomForestRegressor numbers(5, options), all_numbers(5, options);
      numbers.fit(rows.x, rows.targets, weights, steps);
      all_numbers.fit(repeated.x, repeated.targets, steps);
      numbers.partial_fit(rows.x, rows.targets, weights);
      all_numbers.partial_fit(repeated.x, repeated.targets);
      CHECK(same_trees(numbers.forest(), all_numbers.forest()));
      CHECK(numbers.evaluate(rows.x, rows.targets, weights).r2 ==
            doctest::Approx(all_numbers.evaluate(repeated.x, repeated.targets).r2));
      CHECK(numbers.evaluate(rows.x, rows.targets, weights).mean_squared_error ==
            doctest::Approx(all_numbers.evaluate(repeated.x, repeated.targets).mean_squared_error));
    }
  }
  // Weights of 1 are none.
  tf::RandomForestClassifier ones(5, 3, options), none(5, 3, options);
  ones.fit(rows.x, rows.labels, std::vector<double>(300, 1.0), {.steps = 20});
  none.fit(rows.x, rows.labels, {.steps = 20});
  CHECK(same_trees(ones.forest(), none.forest()));
}

TEST_CASE("forests: of a fraction of a row each tree draws whether it counts") {
  const Rows rows = some_rows(2000, 5, 22);
  std::vector<double> weights;
  double expected[3] = {};
  double variance[3] = {};
  for (std::size_t i = 0; i < 2000; ++i) {
    weights.push_back(static_cast<double>(i % 8) * 0.375);
    const double share = weights.back() - std::floor(weights.back());
    expected[rows.labels[i]] += weights.back();
    variance[rows.labels[i]] += share * (1 - share);
  }
  tf::RandomForestOptions options{.trees = 50, .max_nodes = 1};  // a leaf counts all rows
  tf::RandomForestClassifier forest(5, 3, options);
  forest.partial_fit(rows.x, rows.labels, weights);
  double sums[3] = {};
  bool differ = false;
  for (int t = 0; t < 50; ++t) {
    const auto counts = forest.forest().tree(t).value(0);
    for (std::size_t k = 0; k < 3; ++k) {
      sums[k] += counts[k];
      CHECK(std::abs(counts[k] - expected[k]) < 6 * std::sqrt(variance[k]));
      differ = differ || counts[k] != forest.forest().tree(0).value(0)[k];
    }
  }
  CHECK(differ);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK(std::abs(sums[k] / 50 - expected[k]) < 6 * std::sqrt(variance[k] / 50));
  }
  // The same bits for any threads and batches.
  options.max_nodes = 300;
  options.split_after_samples = 40;
  options.threads = 1;
  tf::RandomForestClassifier one(5, 3, options);
  one.fit(rows.x, rows.labels, weights, {.steps = 1});
  for (const int threads : {2, 3, 8}) {
    options.threads = threads;
    tf::RandomForestClassifier other(5, 3, options);
    const auto entries = tf::detail::RepeatedRows(2000, weights, "");
    other.fit(rows.x, rows.labels, weights,
              {.steps = static_cast<std::int64_t>(entries.rows.size() + 99) / 100, .batch = 100});
    CHECK(same_trees(one.forest(), other.forest()));
  }
}

TEST_CASE("forests: wrong weights are errors") {
  const Rows rows = some_rows(10, 5, 23);
  tf::RandomForestClassifier forest(5, 3);
  const auto error_of = [&](std::vector<double> weights) {
    return message_of([&] { forest.fit(rows.x, rows.labels, weights); });
  };
  std::vector<double> weights(10, 1.0);
  weights[9] = -1;
  CHECK(error_of(weights) ==
        "RandomForestClassifier.fit: expected finite weights, 0 or more, got -1.000000 in row 9");
  weights[9] = not_a_number;
  CHECK(error_of(weights).find("nan in row 9") != std::string::npos);
  CHECK(error_of({1, 2}) ==
        "RandomForestClassifier.fit: expected 10 weights, one for each row, or none, got 2");
  CHECK(error_of(std::vector<double>(10, 0.0)) ==
        "RandomForestClassifier.fit: expected at least 1 row of a weight above 0, got 0");
  weights[9] = 1e15;
  CHECK(error_of(weights).find("expected weights of 2^30 together at most") != std::string::npos);
  weights[9] = -1;
  CHECK(message_of([&] {
          forest.evaluate(rows.x, rows.labels, weights);
        }).find("RandomForestClassifier.evaluate") == 0);
  CHECK(message_of([&] {
          forest.partial_fit(rows.x, rows.labels, weights);
        }).find("RandomForestClassifier.partial_fit") == 0);
  CHECK(forest.forest().samples_seen() == 0);
}
