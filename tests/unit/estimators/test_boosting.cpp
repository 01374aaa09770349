// SPDX-License-Identifier: Apache-2.0

// Gradient boosted trees: bins and histograms against plain loops, predictions against
// scikit-learn's, independence of threads, files.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "support/message_of.hpp"
#include "typeflow/estimators/gradient_boosting.hpp"

namespace tf = typeflow;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// The rows of the program that made the numbers of scikit-learn below:
///
///   def lcg(n, s): ...  s = (s * 1103515245 + 12345) % 2**31; yields s >> 16
///   r = lcg(600, 1)
///   X = (r[:480] % 23).reshape(120, 4) * 0.25;  noise = (r[480:] % 1000) / 1000
///   y = (3 * sin(X[:, 0]) + X[:, 1] * X[:, 2] * 0.5 + noise).astype(float32)
///   two = X[:, 0] + X[:, 1] * 0.8 + noise > 5.3
///   three = digitize(X[:, 0] + X[:, 1] * 0.8 + noise, [4, 6.5])
///   tests = X[:20] + float32(0.11)
struct Rows {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<std::int32_t> two;
  std::vector<std::int32_t> three;
  std::vector<float> tests;

  Rows() {
    std::int64_t s = 1;
    const auto next = [&s] {
      s = (s * 1103515245 + 12345) % 2147483648;
      return s >> 16;
    };
    for (int i = 0; i < 480; ++i) x.push_back(static_cast<float>(next() % 23) * 0.25f);
    for (std::size_t i = 0; i < 120; ++i) {
      const double noise = static_cast<double>(next() % 1000) / 1000;
      const float* const row = x.data() + 4 * i;
      const double a = static_cast<double>(std::sin(row[0]) * 3 + row[1] * row[2] * 0.5f);
      y.push_back(static_cast<float>(a + noise));
      const double b = static_cast<double>(row[0] + row[1] * 0.8f) + noise;
      two.push_back(b > 5.3 ? 1 : 0);
      three.push_back(b < 4 ? 0 : b < 6.5 ? 1 : 2);
    }
    for (std::size_t i = 0; i < 80; ++i) tests.push_back(x[i] + 0.11f);
  }
};

/// A file that is removed at the end.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("boosting-" + std::to_string(std::random_device{}()) + ".safetensors"))
                         .string();
  ~TemporaryFile() { std::filesystem::remove(path); }
};

double largest_difference(std::span<const float> found, std::span<const double> expected) {
  REQUIRE(found.size() >= expected.size());
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(found[i]) - expected[i]));
  }
  return most;
}
std::vector<float> column_of(std::span<const float> x, std::size_t columns, std::size_t k) {
  std::vector<float> out;
  for (std::size_t i = k; i < x.size(); i += columns) out.push_back(x[i]);
  return out;
}

bool same_trees(std::span<const tf::DecisionTree> a, std::span<const tf::DecisionTree> b) {
  return std::ranges::equal(a, b, [](const tf::DecisionTree& s, const tf::DecisionTree& t) {
    return std::ranges::equal(s.nodes(), t.nodes()) && std::ranges::equal(s.values(), t.values());
  });
}

}  // namespace

// Predictions of scikit-learn 1.9.1, the same for several seeds, so no ties decide.
TEST_CASE("predictions are scikit-learn's") {
  const Rows rows;
  SUBCASE("a regression") {  // GradientBoostingRegressor(n_estimators=30)
    constexpr double expected[] = {6.05295543, 5.96592591,   3.85611578, -1.30734661, -1.59564443,
                                   3.50464076, 8.99119512,   4.75306108, 8.28100675,  3.75651354,
                                   1.70657851, 3.43145223,   5.07819788, 3.42594069,  -1.29512709,
                                   3.75651354, -0.647007548, 6.55520191, 4.76787618,  5.08019557};
    for (const auto gain : {tf::SplitGain::variance, tf::SplitGain::newton}) {
      tf::GradientBoostingRegressor model(4, {.rounds = 30, .gain = gain});
      model.fit(rows.x, rows.y);
      CHECK(largest_difference(model.predict(rows.tests), expected) < 1e-6);
    }
  }
  SUBCASE("two classes") {  // GradientBoostingClassifier(n_estimators=30, max_depth=2)
    constexpr double expected[] = {
        0.0355940642, 0.112652124, 0.972272542, 0.926246652, 0.655288479, 0.909674401, 0.259107006,
        0.937120196,  0.934731228, 0.939876795, 0.604703056, 0.972272542, 0.937120196, 0.0653429668,
        0.655288479,  0.939876795, 0.698807629, 0.910469724, 0.116827277, 0.0722038707};
    tf::GradientBoostingClassifier model(4, 2, {.rounds = 30, .max_depth = 2});
    model.fit(rows.x, rows.two);
    const std::vector<float> found = model.predict_proba(rows.tests);
    CHECK(largest_difference(column_of(found, 2, 1), expected) < 1e-6);
    for (std::size_t i = 0; i < 20; ++i) {
      CHECK(std::abs(found[2 * i] + found[2 * i + 1] - 1) < 1e-6f);
    }
  }
  SUBCASE("three classes") {
    // GradientBoostingClassifier(n_estimators=20, max_depth=2, learning_rate=0.2,
    // min_samples_leaf=3)
    constexpr double expected[] = {
        0.948934956,   0.0465204595, 0.00454458427, 0.753813295,   0.228814912, 0.0173717933,
        0.00128509502, 0.0149700789, 0.983744826,   0.0406581879,  0.099682417, 0.859659395,
        0.129493703,   0.828792251,  0.0417140462,  0.0327433823,  0.920615076, 0.0466415422,
        0.0690039932,  0.86234964,   0.0686463664,  0.00988097843, 0.174034808, 0.816084213,
        0.00531796145, 0.0673951953, 0.927286843,   0.0176729662,  0.544452795, 0.437874239};
    tf::GradientBoostingClassifier model(
        4, 3, {.rounds = 20, .learning_rate = 0.2, .max_depth = 2, .min_samples_leaf = 3});
    model.fit(rows.x, rows.three);
    CHECK(largest_difference(model.predict_proba(rows.tests), expected) < 1e-6);
    CHECK(model.trees().size() == 60);
    CHECK(model.rounds() == 20);
  }
  SUBCASE("one tree is a decision tree") {
    // DecisionTreeClassifier(max_depth=3): Gini's gain of two classes is the variance's.
    constexpr double expected[] = {0,           0,           0.982758621, 0.982758621, 0.875,
                                   0.982758621, 0.166666667, 0.982758621, 0.982758621, 0.982758621,
                                   0.982758621, 0.982758621, 0.982758621, 0,           0.875,
                                   0.982758621, 0.875,       0.982758621, 0,           0};
    std::vector<float> targets(rows.two.begin(), rows.two.end());
    tf::GradientBoostingRegressor model(4, {.rounds = 1, .learning_rate = 1});
    model.fit(rows.x, targets);
    CHECK(largest_difference(model.predict(rows.tests), expected) < 1e-6);
  }
}

TEST_CASE("bins keep the order of values") {
  std::mt19937 random(1);
  const auto serially = [](std::int64_t n, const auto& f) { f(std::int64_t{0}, n); };
  for (const int count : {1, 2, 5, 254, 255, 256, 1000, 5000}) {
    for (const int max_bins : {2, 16, 255}) {
      std::vector<float> x;
      for (int i = 0; i < 5000; ++i) {
        x.push_back(static_cast<float>(random() % static_cast<unsigned>(count)) - 100);
      }
      x[3] = x[4] = not_a_number;
      if (count > 5) {
        x[5] = infinity;
        x[6] = -infinity;
        x[7] = -0.0f;
      }
      const tf::detail::BinnedFeatures bins(x, 5000, 1, max_bins, serially);
      const std::set<float> different = [&] {
        std::set<float> values;
        for (const float v : x) {
          if (v == v) values.insert(v);
        }
        return values;
      }();
      const std::size_t most = std::min(different.size(), static_cast<std::size_t>(max_bins));
      const std::size_t expected = bins.bins_of(0) - 1;  // without that of NaN
      CHECK(expected <= most);
      CHECK(2 * expected >= most);
      if (different.size() <= static_cast<std::size_t>(max_bins)) CHECK(expected == most);
      const std::uint8_t* const column = bins.column(0);
      std::vector<int> rows_of(256);
      for (std::size_t i = 0; i < x.size(); ++i) {
        ++rows_of[column[i]];
        CHECK((column[i] == expected) == (x[i] != x[i]));
      }
      for (std::size_t b = 0; b < expected; ++b) {
        CHECK(rows_of[b] > 0);
        if (different.size() > 2000 && max_bins == 16) CHECK(std::abs(rows_of[b] - 312) < 10);
        const float threshold = bins.threshold(0, b, b + 1);
        const bool follows = std::ranges::all_of(
            std::views::iota(std::size_t{0}, x.size()),
            [&](std::size_t i) { return (column[i] <= b) == (x[i] <= threshold); });
        CHECK(follows);
      }
    }
  }
  CHECK(tf::detail::threshold_between(1, 2) == 1.5f);
  CHECK(tf::detail::threshold_between(1, std::nextafter(1.0f, 2.0f)) == 1);
  CHECK(tf::detail::threshold_between(-infinity, 2) == -infinity);
  CHECK(tf::detail::threshold_between(3, infinity) == 3);
  CHECK(std::isfinite(tf::detail::threshold_between(-3e38f, 3e38f)));
}

TEST_CASE("a tree takes the best of all splits, by plain loops") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    constexpr std::size_t n = 60;
    std::vector<float> x;
    std::vector<float> y;
    for (std::size_t i = 0; i < n; ++i) {
      for (int k = 0; k < 3; ++k) {
        x.push_back(random() % 8 == 0 ? not_a_number : static_cast<float>(random() % 9));
      }
      y.push_back(static_cast<float>(random() % 1000) / 100 + (x[3 * i] > 4 ? 3.0f : 0.0f));
    }
    tf::GradientBoostingRegressor model(
        3, {.rounds = 1, .learning_rate = 1, .max_depth = 1, .min_samples_leaf = 1 + trial % 7});
    model.fit(x, y);
    // The sum of squares that each test x <= t leaves, also the test of all that are not NaN.
    double least = std::numeric_limits<double>::infinity();
    const auto left_by = [&](std::size_t feature, float t) {
      double sum[2] = {};
      double squares[2] = {};
      int count[2] = {};
      for (std::size_t i = 0; i < n; ++i) {
        const int side = x[3 * i + feature] <= t ? 0 : 1;
        sum[side] += static_cast<double>(y[i]);
        squares[side] += static_cast<double>(y[i]) * static_cast<double>(y[i]);
        ++count[side];
      }
      if (std::min(count[0], count[1]) < 1 + trial % 7) {
        return std::numeric_limits<double>::infinity();
      }
      return squares[0] - sum[0] * sum[0] / count[0] + squares[1] - sum[1] * sum[1] / count[1];
    };
    for (std::size_t f = 0; f < 3; ++f) {
      for (int t = 0; t < 9; ++t) least = std::min(least, left_by(f, static_cast<float>(t)));
    }
    REQUIRE(model.trees()[0].size() == 3);
    const tf::TreeNode& root = model.trees()[0].node(0);
    CHECK(left_by(static_cast<std::size_t>(root.feature), root.threshold) ==
          doctest::Approx(least).epsilon(1e-9));
  }
}

TEST_CASE("boosting is the same for any threads") {
  std::mt19937 random(3);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 6000; ++i) {
    float sum = 0;
    for (int k = 0; k < 5; ++k) {
      x.push_back(static_cast<float>(random() % 4001) / 1000 - 2);
      sum += k < 2 ? x.back() * x.back() : 0;
    }
    labels.push_back(sum < 1.5f ? 0 : sum < 3 ? 1 : 2);
  }
  for (const auto gain : {tf::SplitGain::variance, tf::SplitGain::newton}) {
    for (const double subsample : {1.0, 0.5}) {
      tf::GradientBoostingOptions options{.rounds = 8, .learning_rate = 0.5, .max_depth = 4};
      options.gain = gain;
      options.subsample = subsample;
      options.l2 = gain == tf::SplitGain::newton ? 1 : 0;
      options.threads = 1;
      tf::GradientBoostingClassifier one(5, 3, options);
      std::vector<double> losses;
      one.fit(x, labels, [&](int, double loss) {
        losses.push_back(loss);
        return true;
      });
      REQUIRE(losses.size() == 8);
      CHECK(std::ranges::is_sorted(losses, std::greater<>()));
      CHECK(one.evaluate(x, labels).accuracy > 0.9);
      CHECK(one.evaluate(x, labels).loss < losses.back());
      for (const int threads : {2, 3, 8}) {
        options.threads = threads;
        tf::GradientBoostingClassifier other(5, 3, options);
        other.fit(x, labels);
        CHECK(same_trees(one.trees(), other.trees()));
        CHECK(one.predict_proba(x) == other.predict_proba(x));
      }
    }
  }
}

TEST_CASE("one class, equal targets and features without information") {
  const Rows rows;
  tf::GradientBoostingClassifier one(4, 2, {.rounds = 5});
  one.fit(rows.x, std::vector<std::int32_t>(120, 1));
  CHECK(one.evaluate(rows.x, std::vector<std::int32_t>(120, 1)).accuracy == 1);
  tf::GradientBoostingClassifier third(4, 3, {.rounds = 5});
  third.fit(rows.x, std::vector<std::int32_t>(120, 2));
  CHECK(third.predict(rows.tests) == std::vector<std::int32_t>(20, 2));
  tf::GradientBoostingRegressor equal(4, {.rounds = 5});
  equal.fit(rows.x, std::vector<float>(120, -2.5f));
  CHECK(equal.predict(rows.tests) == std::vector<float>(20, -2.5f));
  for (const float value : {1.0f, not_a_number, infinity, -infinity}) {
    tf::GradientBoostingRegressor constant(1, {.rounds = 3});
    constant.fit(std::vector<float>(120, value), rows.y);
    for (const tf::DecisionTree& tree : constant.trees()) CHECK(tree.size() == 1);
  }
  // Whether a feature is missing tells the target; infinities are values.
  tf::GradientBoostingRegressor missing(1, {.rounds = 1, .learning_rate = 1});
  missing.fit(std::vector<float>{1, not_a_number, 2, not_a_number, infinity, -infinity},
              std::vector<float>{5, 1, 5, 1, 7, 9});
  CHECK(largest_difference(
            missing.predict(std::vector<float>{not_a_number, 1.5f, infinity, -infinity, 2e38f}),
            std::vector<double>{1, 5, 7, 9, 7}) < 1e-6);
  tf::GradientBoostingRegressor single(1, {.rounds = 2});
  single.fit(std::vector<float>{3}, std::vector<float>{4});
  CHECK(single.predict(std::vector<float>{0}) == std::vector<float>{4});
}

TEST_CASE("boosting that is saved and loaded goes on with the same bits") {
  const Rows rows;
  const TemporaryFile file;
  tf::GradientBoostingOptions options{.rounds = 12, .max_depth = 3};
  options.subsample = 0.7;
  {
    tf::GradientBoostingClassifier through(4, 3, options);
    through.fit(rows.x, rows.three);
    tf::GradientBoostingClassifier before(4, 3, options);
    CHECK_FALSE(before.resume(file.path));
    before.fit(rows.x, rows.three, [](int round, double) { return round < 5; });
    CHECK(before.rounds() == 5);
    before.save(file.path);
    tf::GradientBoostingClassifier after(4, 3, options);
    CHECK(after.resume(file.path));
    after.fit(rows.x, rows.three);
    CHECK(after.rounds() == 12);
    CHECK(same_trees(through.trees(), after.trees()));
    after.fit(rows.x, rows.three);
    CHECK(after.rounds() == 12);
    auto read = tf::GradientBoostingClassifier::from_file(file.path);
    CHECK(read.predict_proba(rows.tests) == before.predict_proba(rows.tests));
    read.partial_fit(rows.x, rows.three, 7);
    CHECK(same_trees(through.trees(), read.trees()));
  }
  tf::GradientBoostingRegressor model(4, options);
  model.fit(rows.x, rows.y);
  model.save(file.path);
  CHECK(tf::GradientBoostingRegressor::from_file(file.path).predict(rows.tests) ==
        model.predict(rows.tests));
  CHECK(message_of([&] { tf::GradientBoostingClassifier::from_file(file.path); }) ==
        file.path +
            ": expected a file of a GradientBoostingClassifier, got one of a "
            "GradientBoostingRegressor");
  tf::GradientBoostingRegressor other(3);
  CHECK(message_of([&] { other.resume(file.path); }) ==
        file.path + ": expected 3 features and 1 outputs, got 4 features and 1 outputs");

  // Each list with a wrong number is refused, or the model works.
  tf::Variables lists;
  const tf::Metadata metadata = tf::load(lists, file.path);
  int refused = 0;
  const auto try_it = [&] {
    tf::save(lists, file.path, {.metadata = metadata});
    try {
      tf::GradientBoostingRegressor::from_file(file.path).predict(rows.tests);
    } catch (const tf::Error&) {
      ++refused;
    }
  };
  for (const std::string& name : lists.names()) {
    const auto change = [&]<class T>(T) {
      const std::span<T> list = lists.get<T>(name);
      for (std::size_t i = 0; i < list.size(); i += std::max<std::size_t>(list.size() / 9, 1)) {
        const T old = list[i];
        for (const double value : {-1.0, 3.0, 1e6}) {
          list[i] = static_cast<T>(value);
          try_it();
        }
        list[i] = old;
      }
    };
    if (lists.dtype(name) == tf::DType::int32) change(std::int32_t{});
    if (lists.dtype(name) == tf::DType::int64) change(std::int64_t{});
    if (lists.dtype(name) == tf::DType::float64) change(0.0);
  }
  CHECK(refused > 20);
}

TEST_CASE("errors of boosting name the thing") {
  const Rows rows;
  CHECK(message_of([] { tf::GradientBoostingClassifier(4, 1); }) ==
        "GradientBoostingClassifier: expected at least 2 classes, got 1");
  CHECK(message_of([] { tf::GradientBoostingRegressor(4, {.learning_rate = 0}); }) ==
        "GradientBoostingRegressor: expected learning_rate > 0, got 0.000000");
  CHECK(message_of([] { tf::GradientBoostingRegressor(4, {.max_bins = 256}); }) ==
        "GradientBoostingRegressor: expected max_bins from 2 to 255, got 256");
  tf::GradientBoostingClassifier model(4, 2);
  CHECK(message_of([&] { model.predict(rows.tests); }) ==
        "GradientBoostingClassifier.predict: expected a model that has seen rows, got a new one; "
        "call fit() first");
  CHECK(message_of([&] {
          model.fit(rows.x, rows.three);
        }).starts_with("GradientBoostingClassifier.fit: expected labels from 0 to 1, got 2"));
  CHECK(message_of([&] { model.partial_fit({}, {}); }) ==
        "GradientBoostingClassifier.partial_fit: expected at least 1 row, got 0");
  tf::GradientBoostingRegressor regressor(3);
  CHECK(message_of([&] { regressor.fit(std::span(rows.x).first(4), rows.y); }) ==
        "GradientBoostingRegressor.fit: expected rows of 3 features, got 4 numbers");
  CHECK(message_of([&] {
          regressor.fit(std::span(rows.x).first(3), std::vector<float>{not_a_number});
        }) == "GradientBoostingRegressor.fit: expected finite targets, got nan in row 0");
  CHECK(model.rounds() == 0);
}

// The same rows with weights[i] = 0.25 + (7 i mod 13) / 4, scikit-learn's sample_weight.
TEST_CASE("predictions of weighted rows are scikit-learn's") {
  const Rows rows;
  std::vector<double> weights;
  for (int i = 0; i < 120; ++i) weights.push_back(0.25 + (i * 7 % 13) / 4.0);
  SUBCASE("a regression") {
    constexpr double expected[] = {6.23576243, 5.77432378,  4.13424486, -1.55663914, -1.46192526,
                                   3.27393827, 8.84992223,  4.56096106, 7.24963078,  3.94019906,
                                   1.83843396, 3.62969273,  5.25996955, 3.53685359,  -1.13355004,
                                   3.94019906, -0.91956904, 6.12525514, 4.75454947,  5.50023043};
    for (const auto gain : {tf::SplitGain::variance, tf::SplitGain::newton}) {
      tf::GradientBoostingRegressor model(4, {.rounds = 30, .gain = gain});
      model.fit(rows.x, rows.y, weights);
      CHECK(largest_difference(model.predict(rows.tests), expected) < 1e-6);
    }
  }
  SUBCASE("two classes") {
    constexpr double expected[] = {
        0.0275685349, 0.120016512, 0.962437183, 0.914478647, 0.519224475, 0.907360121, 0.190237127,
        0.936434849,  0.936434849, 0.936434849, 0.406341878, 0.962437183, 0.936434849, 0.0831369653,
        0.519224475,  0.907360121, 0.699098911, 0.907360121, 0.101447175, 0.0831369653};
    tf::GradientBoostingClassifier model(4, 2, {.rounds = 30, .max_depth = 2});
    model.fit(rows.x, rows.two, weights);
    const std::vector<float> found = model.predict_proba(rows.tests);
    CHECK(largest_difference(column_of(found, 2, 1), expected) < 1e-6);
  }
  SUBCASE("three classes") {
    constexpr double expected[] = {
        0.961167294,   0.0338184819, 0.00501422393, 0.857819365,   0.129425185, 0.0127554503,
        0.00137243947, 0.0152722436, 0.983355317,   0.0563050273,  0.158503424, 0.785191548,
        0.186748066,   0.756368053,  0.0568838814,  0.0297720304,  0.925616612, 0.0446113577,
        0.0691300489,  0.860786354,  0.0700835967,  0.00956108469, 0.161787819, 0.828651096,
        0.00349017613, 0.0418671649, 0.954642659,   0.0100200059,  0.298003994, 0.691976};
    tf::GradientBoostingClassifier model(
        4, 3, {.rounds = 20, .learning_rate = 0.2, .max_depth = 2, .min_samples_leaf = 3});
    model.fit(rows.x, rows.three, weights);
    CHECK(largest_difference(model.predict_proba(rows.tests), expected) < 1e-6);
  }
}

TEST_CASE("boosting: weights are repeats, and rows of weight 0 are absent") {
  const Rows rows;
  std::vector<double> weights, some_weights;
  std::vector<float> repeated, some, repeated_y, some_y;
  std::vector<std::int32_t> repeated_three, some_three;
  for (std::size_t i = 0; i < 120; ++i) {
    weights.push_back(static_cast<double>(i * 5 % 4));
    const auto row = std::span(rows.x).subspan(4 * i, 4);
    for (std::size_t time = 0; time < i * 5 % 4; ++time) {
      repeated.insert(repeated.end(), row.begin(), row.end());
      repeated_y.push_back(rows.y[i]);
      repeated_three.push_back(rows.three[i]);
    }
    if (weights.back() == 0) continue;
    some.insert(some.end(), row.begin(), row.end());
    some_y.push_back(rows.y[i]);
    some_three.push_back(rows.three[i]);
    some_weights.push_back(weights.back());
  }
  for (const auto gain : {tf::SplitGain::variance, tf::SplitGain::newton}) {
    CAPTURE(static_cast<int>(gain));
    tf::GradientBoostingOptions options{.rounds = 12, .gain = gain, .l2 = 0.5};
    tf::GradientBoostingRegressor weighted(4, options), whole(4, options);
    std::vector<double> losses, expected_losses;
    weighted.fit(rows.x, rows.y, weights, [&](int, double loss) {
      losses.push_back(loss);
      return true;
    });
    whole.fit(repeated, repeated_y, [&](int, double loss) {
      expected_losses.push_back(loss);
      return true;
    });
    for (std::size_t i = 0; i < 12; ++i) {
      CHECK(losses[i] == doctest::Approx(expected_losses[i]).epsilon(1e-9));
    }
    const std::vector<float> found = whole.predict(rows.tests);
    CHECK(largest_difference(weighted.predict(rows.tests),
                             std::vector<double>(found.begin(), found.end())) < 1e-6);
    CHECK(weighted.evaluate(rows.x, rows.y, weights).mean_squared_error ==
          doctest::Approx(whole.evaluate(repeated, repeated_y).mean_squared_error));
    CHECK(weighted.evaluate(rows.x, rows.y, weights).r2 ==
          doctest::Approx(whole.evaluate(repeated, repeated_y).r2));

    // Deeper trees have nodes of few rows, where several features part the rows in the same way:
    // which of the equal gains is larger by a rounding depends on how sums are made.
    options.max_depth = 2;
    tf::GradientBoostingClassifier three(4, 3, options), three_whole(4, 3, options);
    three.fit(rows.x, rows.three, weights);
    three_whole.fit(repeated, repeated_three);
    const std::vector<float> p = three_whole.predict_proba(rows.tests);
    CHECK(largest_difference(three.predict_proba(rows.tests),
                             std::vector<double>(p.begin(), p.end())) < 1e-6);
    CHECK(three.evaluate(rows.x, rows.three, weights).loss ==
          doctest::Approx(three_whole.evaluate(repeated, repeated_three).loss));
    CHECK(three.evaluate(rows.x, rows.three, weights).accuracy ==
          doctest::Approx(three_whole.evaluate(repeated, repeated_three).accuracy));

    // The bits of rows that are not there: bins and draws of rows included.
    options.subsample = 0.6;
    options.max_bins = 5;
    tf::GradientBoostingClassifier with(4, 3, options), without(4, 3, options);
    with.fit(rows.x, rows.three, weights);
    without.fit(some, some_three, some_weights);
    CHECK(same_trees(with.trees(), without.trees()));
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      tf::GradientBoostingClassifier other(4, 3, options);
      other.partial_fit(rows.x, rows.three, weights, 12);
      CHECK(same_trees(with.trees(), other.trees()));
    }
    tf::GradientBoostingClassifier ones(4, 3, options), none(4, 3, options);
    ones.fit(rows.x, rows.three, std::vector<double>(120, 1.0));
    none.fit(rows.x, rows.three);
    CHECK(same_trees(ones.trees(), none.trees()));
  }
}

TEST_CASE("boosting: wrong weights are errors") {
  const Rows rows;
  tf::GradientBoostingRegressor model(4, {.rounds = 2});
  const auto error_of = [&](std::vector<double> weights) {
    return message_of([&] { model.fit(rows.x, rows.y, weights); });
  };
  std::vector<double> weights(120, 1.0);
  weights[7] = -0.5;
  CHECK(
      error_of(weights) ==
      "GradientBoostingRegressor.fit: expected finite weights, 0 or more, got -0.500000 in row 7");
  weights[7] = std::numeric_limits<double>::quiet_NaN();
  CHECK(error_of(weights).find("nan in row 7") != std::string::npos);
  weights[7] = std::numeric_limits<double>::infinity();
  CHECK(error_of(weights).find("inf in row 7") != std::string::npos);
  CHECK(error_of(std::vector<double>(3, 1.0)) ==
        "GradientBoostingRegressor.fit: expected 120 weights, one for each row, or none, got 3");
  CHECK(error_of(std::vector<double>(120, 0.0)) ==
        "GradientBoostingRegressor.fit: expected at least 1 row of a weight above 0, got 0");
  CHECK(model.rounds() == 0);
}
