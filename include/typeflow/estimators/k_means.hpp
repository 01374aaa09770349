// SPDX-License-Identifier: Apache-2.0
#pragma once

// k-means: centres such that the sum of the squared distances of points to the nearest of them is
// small. Steps are Lloyd's (Least squares quantization in PCM, 1982) over all points, or Sculley's
// (Web-scale k-means clustering, 2010) over mini-batches. Centres start at random points, or by
// k-means++ (Arthur and Vassilvitskii, 2007), each time as the best of 2 + ln k points drawn.
//
// A step is one run of a model: a product of points and centres, the nearest centre of each row of
// it, and sums over equal centres. Points and centres are shifted by the mean of the points, so
// that the product loses no digits of points that are far from 0.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "typeflow/estimators/rows.hpp"
#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Where the centres of k-means start.
enum class KMeansStart {
  plus_plus,  ///< k-means++: points far from the centres so far are more likely
  random,     ///< at different points, all equally likely
};

/// Settings of a k-means clustering.
struct KMeansOptions {
  KMeansStart start = KMeansStart::plus_plus;
  std::int64_t starts = 1;   ///< trainings from other starts; that with the lowest score is kept
  std::int64_t steps = 300;  ///< at most, in each training
  std::int64_t batch = 0;    ///< points of a step, drawn at random; 0: all points in each step
  /// Ends a training over all points when the squares of the centres' movements in a step add up to
  /// at most this share of the mean variance of the features. Steps over mini-batches are all done.
  double tolerance = 1e-4;
  std::uint64_t seed = 0;
  int threads = 0;  ///< of the session; 0: all of the machine. The results have the same bits
};

/// The result of a training of k-means.
struct KMeansResult {
  std::int64_t steps = 0;  ///< of the training that was kept
  double score = 0;        ///< sum of the squared distances to the nearest centres
  bool converged = false;  ///< the tolerance ended it
};

namespace detail {

/// Points that k-means++ tries for each centre.
constexpr int k_means_candidates(int k) {
  int logarithm = 0;  // floor(ln k)
  for (double power = 2.718281828459045; power <= k; power *= 2.718281828459045) ++logarithm;
  return 2 + logarithm;
}

template <int k, int features, class T>
constexpr void k_means_model(Graph& g) {
  auto x = placeholder<T, batch, features>(g, "x");
  auto centers = variable<T, k, features>(g, "centers", zeros(), false);
  auto counts =
      variable<double, k>(g, "counts", zeros(), false);  // points that centres were moved by
  auto steps = variable<std::int64_t>(g, "steps", zeros(), false);
  auto shift = variable<T, features>(g, "shift", zeros(), false);

  const auto points = moments<0>(x);
  mean(cast<double>(points.variance)).named("variance");
  group(assign(shift, points.mean), assign(counts, 0), assign(steps, 0)).named("begin");

  const auto from = x - shift;  // (batch,features)
  const auto to = centers - shift;
  // |x - c|^2 = |x|^2 - 2 (x c - |c|^2 / 2)
  const auto nearness = matmul(from, transpose(to)) - T(0.5) * sum<1>(square(to));  // (batch,k)
  const auto nearest = argmax<1>(nearness).named("nearest");                        // (batch)
  const auto squares = sum<1>(squared_difference(x, gather(centers, nearest))).named("squares");
  sum(cast<double>(squares)).named("score");
  sqrt(sum<2>(squared_difference(expand_dims<1>(x), centers))).named("distances");  // (batch,k)

  // Each centre is the mean of all points that it was nearest to, or of those of this step if
  // `keep` is 0.
  const auto keep = placeholder<double>(g, "keep", 0.0);
  const auto sizes = bincount<k>(nearest).named("sizes");
  const auto before = keep * counts;
  const auto after = before + cast<double>(sizes);
  const auto sums = cast<double>(unsorted_segment_sum<k>(from, nearest));  // (k,features)
  const auto mean = (expand_dims<1>(before) * cast<double>(to) + sums) / expand_dims<1>(after);
  const auto moved = where(expand_dims<1>(equal(sizes, 0)), centers, cast<T>(mean) + shift);
  sum(cast<double>(squared_difference(moved, centers))).named("movement");
  group(assign(centers, moved), assign(counts, after), assign_add(steps, 1)).named("step");

  // k-means++: the sums of squared distances if one of the candidates becomes a centre.
  const auto candidates = placeholder<T, k_means_candidates(k), features>(g, "candidates");
  const auto so_far = placeholder<T, batch>(g, "so_far");
  const auto at = candidates - shift;
  const auto apart = expand_dims<1>(sum<1>(square(from))) + sum<1>(square(at)) -
                     T(2) * matmul(from, transpose(at));  // (batch,candidates)
  const auto lowered = minimum(expand_dims<1>(so_far), maximum(apart, T(0)));
  const auto best = argmin<0>(sum<0>(cast<double>(lowered))).named("best");  // ()
  gather<1>(lowered, best).named("lowered");                                 // (batch)
}

}  // namespace detail

/// k-means clustering of points with `features` numbers of type T, float or double. Points are
/// row-major, (N,features).
///
///   tf::KMeans<6, 2> means({.seed = 1});
///   const tf::KMeansResult result = means.fit(points);
///   const auto nearest = means.predict(points);  // (N)
///
/// A step over all points may leave a centre without points. It then moves to the point that is
/// farthest from its nearest centre, if that is not 0 away; several such centres move to as many
/// points. In steps over mini-batches it stays. With fewer than k different points some centres
/// coincide.
///
/// Equal points, options and seeds give equal bits, whatever the number of threads.
///
/// variables() has the state: "centers" (k,features), "counts" (k), "steps" (), "shift" (features).
/// save() and load() of typeflow/saving.hpp take it; then predict() and partial_fit() go on from
/// there.
///
/// Errors: elements that are no multiple of `features`, fewer points than centres, NaN and infinity
/// (with row and column), options out of range, and predictions before a fit.
template <int k, int features, class T = float>
class KMeans {
  static_assert(k >= 1 && features >= 1, "KMeans<k, features>: both must be 1 or more");

 public:
  explicit KMeans(KMeansOptions options = {})
      : options_(checked(options)),
        session_(variables_, {.seed = options.seed, .threads = options.threads}),
        random_(options.seed) {}

  /// Trains from new starts.
  KMeansResult fit(std::span<const T> points) {
    const std::int64_t rows = detail::checked_rows("KMeans::fit", points, features, k);
    KMeansResult best;
    State kept;
    random_.seed(options_.seed);
    for (std::int64_t start = 0; start < options_.starts; ++start) {
      begin(points, rows);
      const KMeansResult result = train(points, rows);
      if (start == 0 || result.score < best.score) {
        best = result;
        kept = state();
      }
    }
    variables_.template set<T>("centers", std::span<const T>(kept.centers));
    variables_.template set<double>("counts", std::span<const double>(kept.counts));
    variables_.template get<std::int64_t>("steps")[0] = best.steps;
    return best;
  }

  /// Trains from these centres, (k,features), instead of starts of its own.
  KMeansResult fit(std::span<const T> points, std::span<const T> centers) {
    const std::int64_t rows = detail::checked_rows("KMeans::fit", points, features, k);
    check_centers(centers);
    random_.seed(options_.seed);
    measure(points);
    variables_.template set<T>("centers", centers);
    return train(points, rows);
  }

  /// One step over a mini-batch. The first one starts the centres at its points, of which it needs
  /// k.
  void partial_fit(std::span<const T> points) {
    const bool is_first = !is_trained();
    const std::int64_t rows =
        detail::checked_rows("KMeans::partial_fit", points, features, is_first ? k : 1);
    if (is_first) begin(points, rows);
    session_.template run<"step">(feed<"x">(points), feed<"keep">(1.0));
  }

  /// The centres.  // (k,features)
  Array<T, 2> clusters() const {
    check_trained("KMeans::clusters");
    Array<T, 2> all({k, features});
    const std::span<const T> now = variables_.template get<T>("centers");
    std::copy(now.begin(), now.end(), all.begin());
    return all;
  }

  /// The number of each point's nearest centre, the first among equals.  // (N,features) -> (N)
  Array<std::int32_t, 1> predict(std::span<const T> points) {
    check("KMeans::predict", points);
    return session_.template run<"nearest">(feed<"x">(points));
  }

  /// The sum of the squared distances of points to their nearest centres.  // (N,features) -> ()
  double score(std::span<const T> points) {
    check("KMeans::score", points);
    return session_.template run<"score">(feed<"x">(points));
  }

  /// The distance of each point from each centre.  // (N,features) -> (N,k)
  Array<T, 2> transform(std::span<const T> points) {
    check("KMeans::transform", points);
    return session_.template run<"distances">(feed<"x">(points));
  }

  /// Whether there are centres, by a fit or by loaded variables.
  bool is_trained() const { return variables_.template get<std::int64_t>("steps")[0] > 0; }
  const KMeansOptions& options() const { return options_; }
  /// The state, for save() and load().
  Variables& variables() { return variables_; }

 private:
  /// The centres, and how many points each has had: a training changes these alone.
  struct State {
    std::vector<T> centers;
    std::vector<double> counts;
  };
  State state() const {
    const std::span<const T> centers = variables_.template get<T>("centers");
    const std::span<const double> counts = variables_.template get<double>("counts");
    return {{centers.begin(), centers.end()}, {counts.begin(), counts.end()}};
  }

  static constexpr int candidates = detail::k_means_candidates(k);

  static KMeansOptions checked(const KMeansOptions& options) {
    const auto least = [](const char* name, std::int64_t value, std::int64_t bound) {
      if (value < bound) {
        throw Error("KMeansOptions: " + std::string(name), std::to_string(bound) + " or more",
                    std::to_string(value));
      }
    };
    least("starts", options.starts, 1);
    least("steps", options.steps, 1);
    least("batch", options.batch, 0);
    if (!(options.tolerance >= 0)) {
      throw Error("KMeansOptions: tolerance", "0 or more", std::to_string(options.tolerance));
    }
    return options;
  }
  void check_trained(const char* call) const {
    if (!is_trained())
      throw Error(call, "trained centers, which fit() makes or load() reads", "none");
  }
  void check(const char* call, std::span<const T> points) const {
    check_trained(call);
    detail::checked_rows(call, points, features, 0);
  }
  void check_centers(std::span<const T> centers) const {
    if (centers.size() != std::size_t{k} * features) {
      throw Error("KMeans::fit: elements of centers", std::to_string(k * features),
                  std::to_string(centers.size()));
    }
    detail::checked_rows("KMeans::fit: centers", centers, features, k);
  }

  /// Row `row` of the points becomes row `to` of a table.
  static void copy_row(std::span<const T> points, std::int64_t row, std::span<T> table,
                       std::int64_t to) {
    std::copy_n(points.data() + row * features, features, table.data() + to * features);
  }

  /// Takes the mean and the variance of the points, and counts from 0.
  void measure(std::span<const T> points) {
    const double variance = session_.template run<"variance", "begin">(feed<"x">(points));
    if (!(variance <= std::numeric_limits<double>::max())) {
      throw Error("KMeans::fit: variance of the points", "a finite number", "an overflow");
    }
    enough_ = options_.tolerance * variance;
  }

  /// New centres at points.
  void begin(std::span<const T> points, std::int64_t rows) {
    measure(points);
    std::vector<T> centers(std::size_t{k} * features);
    if (options_.start == KMeansStart::plus_plus) {
      spread(points, rows, centers);
    } else {
      const std::vector<std::int64_t> chosen = detail::different_rows(random_, rows, k);
      for (int i = 0; i < k; ++i) copy_row(points, chosen[static_cast<std::size_t>(i)], centers, i);
    }
    variables_.template set<T>("centers", std::span<const T>(centers));
  }

  /// k-means++: the next centre is a point drawn in proportion to its squared distance to the
  /// nearest centre so far.
  void spread(std::span<const T> points, std::int64_t rows, std::span<T> centers) {
    std::vector<T> squares(static_cast<std::size_t>(rows), std::numeric_limits<T>::max());
    std::vector<T> tried(std::size_t{candidates} * features);
    for (int i = 0; i < k; ++i) {
      const std::vector<std::int64_t> drawn = draw(squares, i == 0);
      for (int j = 0; j < candidates; ++j) {
        copy_row(points, drawn[static_cast<std::size_t>(j)], tried, j);
      }
      std::int32_t best = 0;
      session_.template run<>(feed<"x">(points), feed<"candidates">(tried), feed<"so_far">(squares),
                              into<"best">(best), into<"lowered">(squares));
      copy_row(points, drawn[static_cast<std::size_t>(best)], centers, i);
    }
  }

  /// Candidates in proportion to the squares; the first ones are all the same, drawn from all
  /// points.
  std::vector<std::int64_t> draw(std::span<const T> squares, bool is_first) {
    const auto rows = static_cast<std::int64_t>(squares.size());
    std::vector<std::int64_t> drawn(std::size_t{candidates}, 0);
    double total = 0;
    if (!is_first) {
      for (const T s : squares) total += static_cast<double>(s);
    }
    if (!(total > 0)) {  // or all points are centres
      std::fill(drawn.begin(), drawn.end(), detail::uniform_row(random_, rows));
      return drawn;
    }
    std::vector<double> places(std::size_t{candidates});
    for (double& place : places) place = detail::uniform_number(random_) * total;
    std::sort(places.begin(), places.end());
    double sum = 0;
    std::int64_t row = -1;
    std::int64_t last = 0;  // that has a share
    for (std::size_t j = 0; j < places.size(); ++j) {
      while (sum <= places[j] && row + 1 < rows) {
        sum += static_cast<double>(squares[static_cast<std::size_t>(++row)]);
        if (squares[static_cast<std::size_t>(row)] > 0) last = row;
      }
      drawn[j] = last;
    }
    return drawn;
  }

  KMeansResult train(std::span<const T> points, std::int64_t rows) {
    KMeansResult result =
        options_.batch > 0 ? train_on_batches(points, rows) : train_on_all(points);
    result.score = session_.template run<"score">(feed<"x">(points));
    return result;
  }
  KMeansResult train_on_batches(std::span<const T> points, std::int64_t rows) {
    KMeansResult result;
    std::vector<T> some(static_cast<std::size_t>(options_.batch) * features);
    for (; result.steps < options_.steps; ++result.steps) {
      for (std::int64_t i = 0; i < options_.batch; ++i) {
        copy_row(points, detail::uniform_row(random_, rows), some, i);
      }
      session_.template run<"step">(feed<"x">(some), feed<"keep">(1.0));
    }
    return result;
  }
  KMeansResult train_on_all(std::span<const T> points) {
    KMeansResult result;
    std::vector<std::int32_t> sizes(k);
    while (result.steps < options_.steps && !result.converged) {
      double movement = 0;
      session_.template run<"step">(feed<"x">(points), into<"movement">(movement),
                                    into<"sizes">(sizes));
      ++result.steps;
      const bool replaced = fill_empty(points, sizes);
      result.converged = !replaced && movement <= enough_;
    }
    return result;
  }

  /// Moves centres without points to the points that are farthest from theirs. Whether it moved
  /// any.
  bool fill_empty(std::span<const T> points, std::span<const std::int32_t> sizes) {
    const auto empty = std::count(sizes.begin(), sizes.end(), 0);
    if (empty == 0) return false;
    const Array<T, 1> squares = session_.template run<"squares">(feed<"x">(points));
    std::vector<std::int64_t> rows(squares.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    std::partial_sort(rows.begin(), rows.begin() + empty, rows.end(),
                      [&](std::int64_t a, std::int64_t b) {
                        const T near = squares[static_cast<std::size_t>(b)];
                        const T far = squares[static_cast<std::size_t>(a)];
                        return far > near || (far == near && a < b);
                      });
    bool moved = false;
    auto row = rows.begin();
    const std::span<T> centers = variables_.template get<T>("centers");
    for (int i = 0; i < k; ++i) {
      if (sizes[static_cast<std::size_t>(i)] != 0) continue;
      if (squares[static_cast<std::size_t>(*row)] > 0) {
        copy_row(points, *row, centers, i);
        moved = true;
      }
      ++row;
    }
    return moved;
  }

  KMeansOptions options_;
  Variables variables_;
  Session<detail::k_means_model<k, features, T>> session_;
  std::mt19937_64 random_;
  double enough_ = 0;  // movement that ends a training
};

}  // namespace typeflow::inline TYPEFLOW_ISA
