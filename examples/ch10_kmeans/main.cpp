// SPDX-License-Identifier: Apache-2.0

// Chapter 10: k-means on made points of the plane. Six centres lie in [0, 500] x [0, 500], no two
// nearer than 100, so that "the true clusters" means something. 10,000 points lie around them, with
// offsets of deviation 20. k-means gets the points alone, and has ten steps, over all points. The
// score is the sum of the squared distances to the nearest centre; the true one is that of the
// offsets. Draws the points and centres as clusters.svg. Expected: a score within 5 % of the true.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <typeflow/estimators/k_means.hpp>
#include <typeflow/plots.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int clusters = 6;
constexpr std::size_t count = 10'000;

struct Points {
  std::vector<float> x;  // (10000,2)
  double score = 0;      // the sum of the squared offsets
};

std::vector<float> make_centers(std::mt19937_64& random) {
  std::uniform_real_distribution<float> place(0, 500);
  std::vector<float> centers;
  while (centers.size() < 2 * clusters) {
    const float x = place(random);
    const float y = place(random);
    bool is_apart = true;
    for (std::size_t i = 0; i < centers.size(); i += 2) {
      is_apart &= std::hypot(x - centers[i], y - centers[i + 1]) >= 100;
    }
    if (is_apart) centers.insert(centers.end(), {x, y});
  }
  return centers;
}

Points make_points(const std::vector<float>& centers, std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> choose(0, clusters - 1);
  std::normal_distribution<float> offset(0, 20);
  Points points;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t center = choose(random);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const float away = offset(random);
      points.x.push_back(centers[2 * center + axis] + away);
      points.score += away * away;
    }
  }
  return points;
}

/// Every twentieth point, coloured by its nearest centre, and the centres, all in one further
/// colour.
void draw(const Points& points, tf::KMeans<clusters, 2>& means, const std::string& path) {
  const auto nearest = means.predict(points.x);
  const auto centers = means.clusters();
  std::vector<float> places;
  std::vector<std::int32_t> classes;
  for (std::size_t i = 0; i < count; i += 20) {
    places.insert(places.end(), {points.x[2 * i], points.x[2 * i + 1]});
    classes.push_back(nearest[i]);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < clusters; ++i) {
    places.insert(places.end(), {centers(i, 0), centers(i, 1)});
    classes.push_back(clusters);
    names.push_back("cluster " + std::to_string(i));
  }
  names.emplace_back("centres");
  tf::write_plot(path, tf::plot_points(places, classes, names, {.title = "k-means"}));
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const Points points = make_points(make_centers(random), random);

  const auto fit = [&](const char* way, const tf::KMeansOptions& settings) {
    tf::KMeans<clusters, 2> means(settings);
    const tf::KMeansResult result = means.fit(points.x);
    std::printf("%-34s %3d steps   score %.4f of the true\n", way, static_cast<int>(result.steps),
                result.score / points.score);
    return result.score / points.score;
  };
  fit("k-means++",
      {.start = tf::KMeansStart::plus_plus, .steps = options.steps, .seed = options.seed});
  fit("k-means++, mini-batches of 200", {.start = tf::KMeansStart::plus_plus,
                                         .steps = 10 * options.steps,
                                         .batch = 200,
                                         .seed = options.seed});
  const tf::KMeansOptions book{
      .start = tf::KMeansStart::random, .starts = 10, .steps = options.steps, .seed = options.seed};
  const double share = fit("random points, the best of ten", book);

  tf::KMeans<clusters, 2> means(book);
  means.fit(points.x);
  draw(points, means, options.output);
  std::printf("score %.2f of the true\n", share);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "k-means on made points of the plane.",
                               {.steps = 10, .batch = 0, .rate = 0, .output = "clusters.svg"},
                               train);
}
