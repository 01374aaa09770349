// SPDX-License-Identifier: Apache-2.0

// The t-SNE of chapter 7's example: its search for precisions, its gradient beside central
// differences, and maps whose clusters are known.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "../../../examples/ch07_word2vec/tsne.hpp"

using namespace examples;

namespace {

/// Points about several centres 10 apart, each along an axis of its own. (clusters*each,width)
std::vector<double> clusters(std::size_t count, std::size_t each, std::size_t width) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> x;
  for (std::size_t i = 0; i < count * each; ++i) {
    for (std::size_t k = 0; k < width; ++k) x.push_back(normal(random) + (k == i / each ? 10 : 0));
  }
  return x;
}

double distance(std::span<const double> y, std::size_t i, std::size_t j) {
  return std::hypot(y[2 * i] - y[2 * j], y[2 * i + 1] - y[2 * j + 1]);
}

}  // namespace

TEST_CASE("each point has as many neighbours as the perplexity says") {
  const std::vector<double> x = clusters(2, 20, 5);
  const std::size_t n = 40;
  const std::vector<double> distances = tsne_detail::squared_distances(x, 5);
  CHECK(distances[3 * n + 7] == doctest::Approx(distances[7 * n + 3]));
  double by_hand = 0;
  for (std::size_t k = 0; k < 5; ++k) by_hand += std::pow(x[3 * 5 + k] - x[7 * 5 + k], 2);
  CHECK(distances[3 * n + 7] == doctest::Approx(by_hand));
  for (const double perplexity : {2.0, 10.0, 30.0}) {
    const std::vector<double> p = tsne_detail::neighbours(distances, n, perplexity);
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = std::span<const double>(p).subspan(i * n, n);
      CHECK(std::accumulate(row.begin(), row.end(), 0.0) == doctest::Approx(1).epsilon(1e-12));
      CHECK(row[i] == 0);
      double entropy = 0;
      for (const double share : row) entropy -= share > 0 ? share * std::log(share) : 0;
      CHECK(std::exp(entropy) == doctest::Approx(perplexity).epsilon(1e-9));
    }
    const std::vector<double> joint = tsne_detail::joint(p, n);
    CHECK(std::accumulate(joint.begin(), joint.end(), 0.0) == doctest::Approx(1).epsilon(1e-12));
    CHECK(joint[3 * n + 7] == joint[7 * n + 3]);
  }
}

TEST_CASE("the nearer of two neighbours is the likelier, however far both are") {
  const std::vector<double> distances = {0, 1e6, 1e6 + 1};
  const std::vector<double> p = tsne_detail::neighbour_row(distances, 0, 2);
  CHECK(p[1] / p[2] == doctest::Approx(std::exp(2)));
}

TEST_CASE("the gradient of the divergence is that of central differences") {
  const std::size_t n = 12;
  const std::vector<double> x = clusters(3, 4, 4);
  const std::vector<double> p =
      tsne_detail::joint(tsne_detail::neighbours(tsne_detail::squared_distances(x, 4), n, 5), n);
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> y(2 * n);
  for (double& place : y) place = normal(random);
  const std::vector<double> gradient = tsne_detail::divergence_gradient(p, y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::vector<double> moved = y;
    moved[i] = y[i] + 1e-5;
    const double above = tsne_detail::divergence(p, moved);
    moved[i] = y[i] - 1e-5;
    const double below = tsne_detail::divergence(p, moved);
    CHECK(gradient[i] == doctest::Approx((above - below) / 2e-5).epsilon(1e-6));
  }
}

TEST_CASE("the first two principal components are those of points that have no others") {
  // Points of a plane in four dimensions: a (1,1,1,1)/2 + b (1,-1,1,-1)/2, about (5,6,7,8).
  const std::vector<double> a = {-3, -1, 1, 3};
  const std::vector<double> b = {0.5, -0.5, -0.5, 0.5};
  std::vector<double> x;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      x.push_back(5 + static_cast<double>(k) + a[i] / 2 + (k % 2 == 0 ? b[i] : -b[i]) / 2);
    }
  }
  const std::vector<double> y = tsne_detail::principal_components(x, 4);
  const double sign_a = y[0] < 0 ? 1 : -1;
  const double sign_b = y[1] > 0 ? 1 : -1;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sign_a * y[2 * i] == doctest::Approx(a[i]));
    CHECK(sign_b * y[2 * i + 1] == doctest::Approx(b[i]));
  }
}

TEST_CASE("clusters are apart on the map") {
  const std::size_t each = 20;
  for (const std::size_t count : {2u, 4u}) {
    const std::vector<double> x = clusters(count, each, 6);
    const std::vector<double> y = tsne(x, 6, {.perplexity = 10, .steps = 500});
    REQUIRE(y.size() == 2 * count * each);
    double gap = 1e300;   // between two clusters
    double farthest = 0;  // of a point from the nearest one of its cluster
    for (std::size_t i = 0; i < count * each; ++i) {
      double nearest = 1e300;
      for (std::size_t j = 0; j < count * each; ++j) {
        const bool same = i / each == j / each;
        if (same && j != i) nearest = std::min(nearest, distance(y, i, j));
        if (!same) gap = std::min(gap, distance(y, i, j));
      }
      farthest = std::max(farthest, nearest);
    }
    CHECK(farthest > 0);
    CHECK(farthest < gap / 2);
  }
}

TEST_CASE("the descent lowers the divergence") {
  const std::size_t n = 40;
  const std::vector<double> x = clusters(4, 10, 6);
  const std::vector<double> p =
      tsne_detail::joint(tsne_detail::neighbours(tsne_detail::squared_distances(x, 6), n, 5), n);
  const double at_first = tsne_detail::divergence(p, tsne(x, 6, {.perplexity = 5, .steps = 0}));
  const double at_last = tsne_detail::divergence(p, tsne(x, 6, {.perplexity = 5, .steps = 500}));
  CHECK(at_last < at_first / 3);
}

TEST_CASE("what is no set of points is an error") {
  const std::vector<double> x = clusters(2, 5, 4);
  CHECK_THROWS_WITH_AS(tsne(x, 3), "tsne: expected points of 3 numbers, got 40 numbers",
                       std::invalid_argument);
  CHECK_THROWS_AS(tsne(x, 0), std::invalid_argument);
  CHECK_THROWS_AS(tsne(x, 4, {.perplexity = 30}), std::invalid_argument);
}
