// SPDX-License-Identifier: Apache-2.0
#pragma once

// t-SNE (t-distributed stochastic neighbour embedding) for some hundred points: a map in the plane.
// Points that are near in many dimensions are near on it. It is exact, so a step costs n^2. Source:
// van der Maaten and Hinton, "Visualizing Data using t-SNE", JMLR 9, 2008, whose letters are the
// names below.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

struct TsneOptions {
  double perplexity = 30;  ///< roughly the number of a point's neighbours
  int steps = 1000;        ///< steps of the descent
};

namespace tsne_detail {

/// |x_i - x_j|^2 for points of `width` numbers. (n,width) -> (n,n)
inline std::vector<double> squared_distances(std::span<const double> x, std::size_t width) {
  const std::size_t n = x.size() / width;
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < width; ++k) {
        const double difference = x[i * width + k] - x[j * width + k];
        out[i * n + j] += difference * difference;
      }
    }
  }
  return out;
}

/// A row of p_{j|i}, the probability that point i has j as a neighbour: a Gaussian of the distances
/// with precision beta, but 0 for i itself. (n) -> (n)
inline std::vector<double> neighbour_row(std::span<const double> distances, std::size_t i,
                                         double beta) {
  std::vector<double> p(distances.size());
  double nearest = -1;
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (j != i && (nearest < 0 || distances[j] < nearest)) nearest = distances[j];
  }
  for (std::size_t j = 0; j < p.size(); ++j) {
    if (j != i) p[j] = std::exp(-beta * (distances[j] - nearest));
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& share : p) share /= sum;
  return p;
}

/// -sum p log p, in nats.
inline double entropy(std::span<const double> p) {
  double out = 0;
  for (const double share : p) {
    if (share > 0) out -= share * std::log(share);
  }
  return out;
}

/// All p_{j|i}. Each row has the precision at which its entropy is log(perplexity). (n,n) -> (n,n)
inline std::vector<double> neighbours(std::span<const double> distances, std::size_t n,
                                      double perplexity) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = distances.subspan(i * n, n);
    double low = 0;  // a larger precision has a smaller entropy
    double high = 1;
    while (high < 1e300 && entropy(neighbour_row(row, i, high)) > std::log(perplexity)) high *= 2;
    for (int step = 0; step < 100; ++step) {
      const double middle = (low + high) / 2;
      const bool wide = entropy(neighbour_row(row, i, middle)) > std::log(perplexity);
      (wide ? low : high) = middle;
    }
    const std::vector<double> p = neighbour_row(row, i, high);
    out.insert(out.end(), p.begin(), p.end());
  }
  return out;
}

/// (p_{j|i} + p_{i|j}) / 2n: symmetric, with the sum 1. (n,n) -> (n,n)
inline std::vector<double> joint(std::span<const double> p, std::size_t n) {
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out[i * n + j] = (p[i * n + j] + p[j * n + i]) / (2 * static_cast<double>(n));
    }
  }
  return out;
}

/// 1 / (1 + |y_i - y_j|^2) of points in the plane, 0 for i = j. (n,2) -> (n,n)
inline std::vector<double> closeness(std::span<const double> y) {
  const std::size_t n = y.size() / 2;
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double dx = y[2 * i] - y[2 * j];
      const double dy = y[2 * i + 1] - y[2 * j + 1];
      out[i * n + j] = out[j * n + i] = 1 / (1 + dx * dx + dy * dy);
    }
  }
  return out;
}

/// The loss of the map, sum p log(p / q), in nats. (n,n) x (n,2) -> ()
inline double divergence(std::span<const double> p, std::span<const double> y) {
  const std::vector<double> w = closeness(y);
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  double out = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) out += p[i] * std::log(p[i] * sum / w[i]);
  }
  return out;
}

/// Its gradient for y, with all p times `exaggeration`. (n,n) x (n,2) -> (n,2)
inline std::vector<double> divergence_gradient(std::span<const double> p, std::span<const double> y,
                                               double exaggeration = 1) {
  const std::size_t n = y.size() / 2;
  const std::vector<double> w = closeness(y);
  const double sum = std::accumulate(w.begin(), w.end(), 0.0);
  std::vector<double> out(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double closeness = w[i * n + j];
      const double force = 4 * (exaggeration * p[i * n + j] - closeness / sum) * closeness;
      out[2 * i] += force * (y[2 * i] - y[2 * j]);
      out[2 * i + 1] += force * (y[2 * i + 1] - y[2 * j + 1]);
    }
  }
  return out;
}

/// Subtracts the mean. (n,width) -> (n,width)
inline std::vector<double> centred(std::span<const double> points, std::size_t width) {
  const std::size_t n = points.size() / width;
  std::vector<double> x(points.begin(), points.end());
  std::vector<double> mean(width);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % width] += x[i] / static_cast<double>(n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= mean[i % width];
  return x;
}

/// The coordinates of points along a direction. (n,width) x (width) -> (n)
inline std::vector<double> places_along(std::span<const double> x,
                                        std::span<const double> direction) {
  std::vector<double> places(x.size() / direction.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    places[i / direction.size()] += x[i] * direction[i % direction.size()];
  }
  return places;
}

/// The direction in which centred points vary most, by power iteration on their covariance.
/// (n,width) -> (width)
inline std::vector<double> leading_direction(std::span<const double> x, std::size_t width) {
  std::vector<double> direction(width);
  for (std::size_t k = 0; k < width; ++k) direction[k] = std::cos(static_cast<double>(k));
  for (int step = 0; step < 300; ++step) {
    const std::vector<double> places = places_along(x, direction);
    std::vector<double> next(width);
    for (std::size_t i = 0; i < x.size(); ++i) next[i % width] += places[i / width] * x[i];
    const double norm = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
    if (norm == 0) break;  // all points are equal
    for (std::size_t k = 0; k < width; ++k) direction[k] = next[k] / norm;
  }
  return direction;
}

/// Points along their first two principal components. (n,width) -> (n,2)
inline std::vector<double> principal_components(std::span<const double> points, std::size_t width) {
  std::vector<double> x = centred(points, width);
  std::vector<double> y(2 * x.size() / width);
  for (std::size_t component = 0; component < 2; ++component) {
    const std::vector<double> direction = leading_direction(x, width);
    const std::vector<double> places = places_along(x, direction);
    for (std::size_t i = 0; i < places.size(); ++i) y[2 * i + component] = places[i];
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= places[i / width] * direction[i % width];
  }
  return y;
}

/// Scales numbers to a deviation of 1e-4 from 0, where the descent begins.
inline std::vector<double> tiny(std::vector<double> y) {
  const double squares = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
  const double deviation = std::sqrt(squares / static_cast<double>(y.size()));
  for (double& place : y) place *= deviation > 0 ? 1e-4 / deviation : 0;
  return y;
}

}  // namespace tsne_detail

/// Puts points of `width` numbers into the plane, by their Euclidean distances. It begins at their
/// first two principal components and descends as in the paper: a rate of 100 with a gain for each
/// number, a momentum of 0.5, and 0.8 after 250 steps, p times 4 in the first 50 steps. (n,width)
/// -> (n,2)
///
/// Throws std::invalid_argument if these are no points, or if there are fewer than the perplexity
/// asks for.
inline std::vector<double> tsne(std::span<const double> points, std::size_t width,
                                const TsneOptions& options = {}) {
  const std::size_t n = width == 0 ? 0 : points.size() / width;
  if (n == 0 || points.size() % width != 0) {
    throw std::invalid_argument("tsne: expected points of " + std::to_string(width) +
                                " numbers, got " + std::to_string(points.size()) + " numbers");
  }
  if (!(options.perplexity >= 1 && options.perplexity <= static_cast<double>(n - 1))) {
    throw std::invalid_argument("tsne: expected a perplexity from 1 to " + std::to_string(n - 1) +
                                ", one less than there are points, got " +
                                std::to_string(options.perplexity));
  }
  const std::vector<double> distances = tsne_detail::squared_distances(points, width);
  const std::vector<double> p =
      tsne_detail::joint(tsne_detail::neighbours(distances, n, options.perplexity), n);
  std::vector<double> y = tsne_detail::tiny(tsne_detail::principal_components(points, width));
  std::vector<double> speed(y.size());
  std::vector<double> gain(y.size(), 1);
  for (int step = 0; step < options.steps; ++step) {
    const std::vector<double> slope = tsne_detail::divergence_gradient(p, y, step < 50 ? 4 : 1);
    const double momentum = step < 250 ? 0.5 : 0.8;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool uphill = (slope[i] > 0) == (speed[i] > 0);  // it has overshot
      gain[i] = std::max(uphill ? gain[i] * 0.8 : gain[i] + 0.2, 0.01);
      speed[i] = momentum * speed[i] - 100 * gain[i] * slope[i];
      y[i] += speed[i];
    }
  }
  return y;
}

}  // namespace examples
