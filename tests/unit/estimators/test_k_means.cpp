// SPDX-License-Identifier: Apache-2.0

// k-means beside plain loops of doubles and beside scikit-learn 1.9's KMeans.

#include <typeflow/typeflow.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/estimators/k_means.hpp>
#include <typeflow/saving.hpp>

#include "support/message_of.hpp"
#include "unit/estimators/numbers.hpp"

namespace tf = typeflow;

namespace {

using Means = tf::KMeans<4, 3>;

/// Points of a unit cube.  // (n,3)
std::vector<float> cube(int n, std::uint64_t seed = 11) {
  numbers::Sequence next(seed);
  std::vector<float> x(static_cast<std::size_t>(n) * 3);
  for (float& e : x) e = static_cast<float>(next());
  return x;
}

double squared_distance(const float* a, const float* b, int features) {
  double sum = 0;
  for (int j = 0; j < features; ++j) {
    const double d = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    sum += d * d;
  }
  return sum;
}

/// Steps of Lloyd's over all points in plain loops, until no point changes its centre.
std::vector<double> lloyd(const std::vector<float>& x, const std::vector<float>& start, int k,
                          int features) {
  const auto n = static_cast<int>(x.size()) / features;
  std::vector<double> centers(start.begin(), start.end());
  std::vector<int> nearest(static_cast<std::size_t>(n), -1);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<double> sums(centers.size());
    std::vector<int> counts(static_cast<std::size_t>(k));
    for (int i = 0; i < n; ++i) {
      int best = 0;
      double least = 1e300;
      for (int c = 0; c < k; ++c) {
        double d = 0;
        for (int j = 0; j < features; ++j) {
          const double e = static_cast<double>(x[static_cast<std::size_t>(i * features + j)]) -
                           centers[static_cast<std::size_t>(c * features + j)];
          d += e * e;
        }
        if (d < least) {
          least = d;
          best = c;
        }
      }
      changed |= nearest[static_cast<std::size_t>(i)] != best;
      nearest[static_cast<std::size_t>(i)] = best;
      ++counts[static_cast<std::size_t>(best)];
      for (int j = 0; j < features; ++j) {
        sums[static_cast<std::size_t>(best * features + j)] +=
            static_cast<double>(x[static_cast<std::size_t>(i * features + j)]);
      }
    }
    for (int c = 0; c < k; ++c) {
      for (int j = 0; j < features; ++j) {
        const auto at = static_cast<std::size_t>(c * features + j);
        if (counts[static_cast<std::size_t>(c)] > 0) {
          centers[at] = sums[at] / counts[static_cast<std::size_t>(c)];
        }
      }
    }
  }
  return centers;
}

}  // namespace

TEST_CASE("from the same starts k-means gets where plain loops and scikit-learn get") {
  const std::vector<float> x = cube(200);
  const std::vector<float> start(x.begin(), x.begin() + 12);
  Means means({.tolerance = 0});
  const tf::KMeansResult result = means.fit(x, start);
  CHECK(result.converged);
  CHECK(result.steps <= 12);
  CHECK(result.score == doctest::Approx(23.43514177721366).epsilon(1e-6));

  const std::vector<double> expected = lloyd(x, start, 4, 3);
  const auto centers = means.clusters();
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(static_cast<double>(centers.data()[i]) == doctest::Approx(expected[i]).epsilon(1e-5));
  }
  CHECK(centers(0, 0) == doctest::Approx(0.3149746548525004).epsilon(1e-5));
  CHECK(centers(3, 2) == doctest::Approx(0.25964938451458397).epsilon(1e-5));
}

TEST_CASE("assignments, scores and distances are those of plain loops") {
  for (const int n : {4, 5, 17, 200, 1003}) {
    const std::vector<float> x = cube(n, static_cast<std::uint64_t>(n));
    Means means({.seed = 3});
    const tf::KMeansResult result = means.fit(x);
    const auto nearest = means.predict(x);
    const auto distances = means.transform(x);
    const auto centers = means.clusters();
    REQUIRE(nearest.size() == static_cast<std::size_t>(n));
    REQUIRE(distances.shape(1) == 4);
    double score = 0;
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      double least = 1e300;
      for (std::size_t c = 0; c < 4; ++c) {
        const double d = squared_distance(&x[i * 3], &centers(c, 0), 3);
        least = std::min(least, d);
        CHECK(static_cast<double>(distances(i, c)) == doctest::Approx(std::sqrt(d)).epsilon(1e-5));
      }
      const auto chosen = static_cast<std::size_t>(nearest[i]);
      CHECK(squared_distance(&x[i * 3], &centers(chosen, 0), 3) <= least + 1e-6);
      score += least;
    }
    CHECK(means.score(x) == doctest::Approx(score).epsilon(1e-5));
    CHECK(result.score == means.score(x));
  }
}

TEST_CASE("points far from 0 lose no digits") {
  numbers::Sequence next(7);
  std::vector<float> x;
  for (int i = 0; i < 200; ++i) {
    const double a = next(), b = next(), c = next();
    x.push_back(static_cast<float>((i % 4) * 3 + a * 2 - 1));
    x.push_back(static_cast<float>((i % 4) / 2 * 4 + b * 2 - 1));
    x.push_back(static_cast<float>(c * 2 - 1 + 1000));
  }
  Means means({.tolerance = 0});
  const tf::KMeansResult result = means.fit(x, std::span<const float>(x).first(12));
  CHECK(result.score == doctest::Approx(193.96612150603028).epsilon(1e-6));
  CHECK(result.steps == 3);  // as scikit-learn; the last moves nothing
  const auto nearest = means.predict(x);
  for (std::size_t i = 0; i < 200; ++i) CHECK(nearest[i] == static_cast<int>(i % 4));
}

TEST_CASE("both starts, restarts and mini-batches find clusters that lie apart") {
  numbers::Sequence next(5);
  std::vector<float> x;
  double squares = 0;
  for (int i = 0; i < 2000; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double offset = next() - 0.5;
      squares += offset * offset;
      x.push_back(static_cast<float>(10 * (i % 4 == j) + offset));
    }
  }
  const auto share = [&](const tf::KMeansOptions& options) {
    Means means(options);
    const double score = means.fit(x).score;
    CHECK(means.score(x) == score);
    return score / squares;
  };
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{100}}) {
    CAPTURE(batch);
    CHECK(share({.steps = 50, .batch = batch, .seed = 1}) == doctest::Approx(1).epsilon(0.02));
    CHECK(share({.start = tf::KMeansStart::random, .starts = 20, .steps = 50, .batch = batch}) ==
          doctest::Approx(1).epsilon(0.02));
  }
  // More starts are never worse, since the first ones are the same.
  double last = std::numeric_limits<double>::infinity();
  for (const std::int64_t starts : {1, 2, 5}) {
    Means means({.start = tf::KMeansStart::random, .starts = starts, .seed = 8});
    const double score = means.fit(x).score;
    CHECK(score <= last);
    last = score;
  }
}

TEST_CASE("mini-batches move centres by means of all points so far") {
  const std::vector<float> x = cube(60);
  Means means;
  means.partial_fit(std::span<const float>(x).first(24));
  std::vector<double> sums(12);
  std::vector<double> counts(4);
  const auto add = [&](std::span<const float> points, const tf::Array<std::int32_t, 1>& nearest) {
    for (std::size_t i = 0; i < nearest.size(); ++i) {
      const auto c = static_cast<std::size_t>(nearest[i]);
      ++counts[c];
      for (std::size_t j = 0; j < 3; ++j) sums[c * 3 + j] += static_cast<double>(points[i * 3 + j]);
    }
  };
  // What the first step made of its points is known by its counts and centres.
  const auto after = means.clusters();
  for (std::size_t c = 0; c < 4; ++c) {
    counts[c] = means.variables().get<double>("counts")[c];
    for (std::size_t j = 0; j < 3; ++j)
      sums[c * 3 + j] = counts[c] * static_cast<double>(after(c, j));
  }
  CHECK(counts[0] + counts[1] + counts[2] + counts[3] == 8);
  for (const int from : {8, 30}) {
    const std::span<const float> points =
        std::span<const float>(x).subspan(static_cast<std::size_t>(from) * 3, 22 * 3);
    add(points, means.predict(points));
    means.partial_fit(points);
    const auto centers = means.clusters();
    for (std::size_t i = 0; i < 12; ++i) {
      if (counts[i / 3] == 0) continue;
      CHECK(static_cast<double>(centers.data()[i]) ==
            doctest::Approx(sums[i] / counts[i / 3]).epsilon(1e-5));
    }
  }
}

TEST_CASE("equal seeds give equal bits for any number of threads") {
  const std::vector<float> x = cube(30000);
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{300}}) {
    const auto centers = [&](int threads, std::uint64_t seed) {
      Means means({.steps = 20, .batch = batch, .seed = seed, .threads = threads});
      means.fit(x);
      means.fit(x);  // anew
      return means.clusters();
    };
    const auto one = centers(1, 2);
    for (const int threads : {2, 3, 8}) CHECK(centers(threads, 2) == one);
    CHECK(!(centers(1, 3) == one));
  }
}

TEST_CASE("a centre without points moves to the farthest point") {
  // All start at one place, so the first step gives all points to the first of them.
  std::vector<float> x;
  for (int i = 0; i < 40; ++i) {
    x.push_back(static_cast<float>(i % 4 * 10));
    x.push_back(static_cast<float>(i / 20));
    x.push_back(0);
  }
  const std::vector<float> start(12, 5.0f);
  Means means({.tolerance = 0});
  const tf::KMeansResult result = means.fit(x, start);
  CHECK(result.converged);
  CHECK(result.score == doctest::Approx(40 * 0.25));  // 0.5 from each centre, in the second feature
  const auto nearest = means.predict(x);
  for (std::size_t i = 4; i < 40; ++i) CHECK(nearest[i] == nearest[i - 4]);
}

TEST_CASE("fewer different points than centres") {
  std::vector<float> x;
  for (int i = 0; i < 30; ++i) {
    for (int j = 0; j < 3; ++j) x.push_back(static_cast<float>(i % 2));
  }
  for (const tf::KMeansStart start : {tf::KMeansStart::plus_plus, tf::KMeansStart::random}) {
    Means means({.start = start});
    const tf::KMeansResult result = means.fit(x);
    CHECK(result.score == 0);
    CHECK(result.converged);
    const auto centers = means.clusters();
    for (const float c : centers) CHECK((c == 0 || c == 1));
  }
}

TEST_CASE("one centre, one feature, doubles") {
  tf::KMeans<1, 1, double> means;
  const std::vector<double> x = {1, 2, 6};
  const tf::KMeansResult result = means.fit(x);
  CHECK(result.score == doctest::Approx(14));
  CHECK(means.clusters()(0, 0) == doctest::Approx(3).epsilon(1e-14));
  CHECK(means.transform(std::vector<double>{7})(0, 0) == doctest::Approx(4).epsilon(1e-14));
  CHECK(means.predict(std::vector<double>{}).size() == 0);
  CHECK(means.score(std::vector<double>{}) == 0);
  CHECK(means.fit(std::vector<double>{5}).score == 0);
}

TEST_CASE("saved variables go on in another object") {
  const std::vector<float> x = cube(100);
  const auto path = std::filesystem::temp_directory_path() / "typeflow-test-k-means.safetensors";
  Means first({.seed = 4});
  first.fit(x);
  save(first.variables(), path.string());
  Means second;
  CHECK(!second.is_trained());
  load(second.variables(), path.string());
  std::filesystem::remove(path);
  CHECK(second.is_trained());
  CHECK(second.clusters() == first.clusters());
  CHECK(second.predict(x) == first.predict(x));
  first.partial_fit(x);
  second.partial_fit(x);
  CHECK(second.clusters() == first.clusters());
}

TEST_CASE("mistakes are named") {
  Means means;
  std::vector<float> x = cube(10);
  CHECK(message_of([&] { means.predict(x); }) ==
        "KMeans::predict: expected trained centers, which fit() makes or load() reads, got none");
  CHECK(message_of([&] { means.clusters(); }).starts_with("KMeans::clusters: expected trained"));
  CHECK(message_of([&] { means.fit(std::span<const float>(x).first(9)); }) ==
        "KMeans::fit: rows: expected 4 or more, got 3");
  CHECK(message_of([&] { means.partial_fit(std::span<const float>(x).first(3)); }) ==
        "KMeans::partial_fit: rows: expected 4 or more, got 1");
  CHECK(message_of([&] { means.fit(std::span<const float>(x).first(29)); }) ==
        "KMeans::fit: elements: expected a multiple of 3, got 29");
  CHECK(message_of([&] { means.fit(x, std::span<const float>(x).first(6)); }) ==
        "KMeans::fit: elements of centers: expected 12, got 6");
  means.fit(x);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  CHECK(message_of([&] { means.fit(x); }) ==
        "KMeans::fit: row 2, column 1: expected a finite number, got NaN");
  CHECK(message_of([&] { means.predict(x); }) ==
        "KMeans::predict: row 2, column 1: expected a finite number, got NaN");
  x[7] = -std::numeric_limits<float>::infinity();
  CHECK(message_of([&] { means.score(x); }) ==
        "KMeans::score: row 2, column 1: expected a finite number, got infinity");
  x[7] = std::numeric_limits<float>::max();
  CHECK(message_of([&] { means.fit(x); }) ==
        "KMeans::fit: variance of the points: expected a finite number, got an overflow");
  CHECK(message_of([] { Means none({.starts = 0}); }) ==
        "KMeansOptions: starts: expected 1 or more, got 0");
  CHECK(message_of([] { Means none({.steps = 0}); }) ==
        "KMeansOptions: steps: expected 1 or more, got 0");
  CHECK(message_of([] { Means none({.batch = -1}); }) ==
        "KMeansOptions: batch: expected 0 or more, got -1");
  CHECK(message_of([] {
          Means none({.tolerance = std::nan("")});
        }).starts_with("KMeansOptions: tolerance: expected 0 or more, got"));
}
