// SPDX-License-Identifier: Apache-2.0
#pragma once

// k-means: centres such that the sum of the squared distances of points to the nearest of them is
// small. Steps are Lloyd's (Least squares quantization in PCM, 1982) over all points, or Sculley's
// (Web-scale k-means clustering, 2010) over mini-batches. Centres start at random points, or by
// k-means++ (Arthur and Vassilvitskii, 2007), each time as the best of 2 + ln k points drawn.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/estimators/k_means_model.hpp"
#include "typeflow/estimators/rows.hpp"
#include "typeflow/estimators/training_store.hpp"
#include "typeflow/training/state_text.hpp"
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
  /// With a store: finish a training that was killed. If false, fit() begins anew.
  bool resume = true;
};

/// The result of a training of k-means.
struct KMeansResult {
  std::int64_t steps = 0;  ///< of the training that was kept
  double score = 0;        ///< sum of the squared distances to the nearest centres
  bool converged = false;  ///< the tolerance ended it
};

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
/// With a store, such as a tf::ModelFolder, the clustering begins with the last state saved there,
/// and its trainings save some. A training that was killed is finished by the next fit() with the
/// same points and options, and ends with the same bits as without a break.
///
/// Errors: elements that are no multiple of `features`, fewer points than centres, NaN and infinity
/// (with row and column), options out of range, and predictions before a fit. Of a store: a state
/// that is damaged or of other sizes, and an unfinished training of other points or options.
template <int k, int features, class T = float>
class KMeans {
  static_assert(k >= 1 && features >= 1, "KMeans<k, features>: both must be 1 or more");

 public:
  explicit KMeans(KMeansOptions options = {})
      : options_(checked(options)),
        session_(variables_, {.seed = options.seed, .threads = options.threads}),
        random_(options.seed) {}

  /// The store must outlive this object.
  KMeans(const KMeansOptions& options, TrainingStore& store) : KMeans(options) {
    store_ = &store;
    TrainingState state;
    if (store.load(state)) restore(state);
  }

  /// Trains from new starts.
  KMeansResult fit(std::span<const T> points) {
    const std::int64_t rows = detail::checked_rows("KMeans::fit", points, features, k);
    return train_all(points, rows, {});
  }

  /// Trains from these centres, (k,features), instead of starts of its own.
  KMeansResult fit(std::span<const T> points, std::span<const T> centers) {
    const std::int64_t rows = detail::checked_rows("KMeans::fit", points, features, k);
    check_centers(centers);
    return train_all(points, rows, centers);
  }

  /// One step over a mini-batch. The first one starts the centres at its points, of which it needs
  /// k. A store saves the state when it is due.
  void partial_fit(std::span<const T> points) {
    if (std::exchange(may_resume_, false) && options_.resume) {
      detail::refuse_training("KMeans::partial_fit", *store_, "fit() of " + training_.of,
                              "partial_fit()");
    }
    training_ = {};
    const bool is_first = !is_trained();
    const std::int64_t rows =
        detail::checked_rows("KMeans::partial_fit", points, features, is_first ? k : 1);
    if (is_first) begin(points, rows);
    session_.template run<"step">(feed<"x">(points), feed<"keep">(1.0));
    count_step();
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
  State now() const {
    const std::span<const T> centers = variables_.template get<T>("centers");
    const std::span<const double> counts = variables_.template get<double>("counts");
    return {{centers.begin(), centers.end()}, {counts.begin(), counts.end()}};
  }
  /// A fit, between two of its steps.
  struct Training {
    std::string of{};  ///< points, starting centres and options
    std::int64_t start = 0;
    KMeansResult result{};  ///< from this start
    KMeansResult best{};    ///< from those before
    State kept{};
    bool has_ended = true;
  };

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

  /// What a training is of. Another one of the same takes the same steps.
  std::string description(std::span<const T> points, std::int64_t rows,
                          std::span<const T> centers) const {
    const auto text = [](auto x) { return detail::exact_text(x); };
    std::string of = text(rows) + " points (" + text(detail::fingerprint_of(points)) + "), ";
    of += centers.empty() ? (options_.start == KMeansStart::random ? "random starts: "
                                                                   : "starts of k-means++: ") +
                                text(options_.starts)
                          : "given centers (" + text(detail::fingerprint_of(centers)) + ")";
    return of + ", steps " + text(options_.steps) + ", batch " + text(options_.batch) +
           ", tolerance " + text(options_.tolerance) + ", seed " + text(options_.seed);
  }

  /// Trains from each start, or from the given centres; or finishes the store's training.
  KMeansResult train_all(std::span<const T> points, std::int64_t rows, std::span<const T> centers) {
    std::string of = store_ == nullptr ? "" : description(points, rows, centers);
    bool goes_on = std::exchange(may_resume_, false) && options_.resume;
    if (goes_on && of != training_.of) {
      detail::refuse_training("KMeans::fit", *store_, training_.of, of);
    }
    if (!goes_on) {
      training_ = {};
      training_.of = std::move(of);
      training_.has_ended = false;
      random_.seed(options_.seed);
    }
    const std::int64_t starts = centers.empty() ? options_.starts : 1;
    for (; training_.start < starts; ++training_.start) {
      if (!goes_on) {
        training_.result = {};
        if (centers.empty()) {
          begin(points, rows);
        } else {
          measure(points);
          variables_.template set<T>("centers", centers);
        }
      }
      goes_on = false;
      if (options_.batch > 0) {
        train_on_batches(points, rows);
      } else {
        train_on_all(points);
      }
      training_.result.score = session_.template run<"score">(feed<"x">(points));
      if (training_.start == 0 || training_.result.score < training_.best.score) {
        training_.best = training_.result;
        training_.kept = now();
      }
    }
    const KMeansResult best = training_.best;
    variables_.template set<T>("centers", std::span<const T>(training_.kept.centers));
    variables_.template set<double>("counts", std::span<const double>(training_.kept.counts));
    variables_.template get<std::int64_t>("steps")[0] = best.steps;
    training_ = {};
    if (store_ != nullptr) save();
    return best;
  }
  void train_on_batches(std::span<const T> points, std::int64_t rows) {
    KMeansResult& result = training_.result;
    std::vector<T> some(static_cast<std::size_t>(options_.batch) * features);
    while (result.steps < options_.steps) {
      for (std::int64_t i = 0; i < options_.batch; ++i) {
        copy_row(points, detail::uniform_row(random_, rows), some, i);
      }
      session_.template run<"step">(feed<"x">(some), feed<"keep">(1.0));
      ++result.steps;
      count_step();
    }
  }
  void train_on_all(std::span<const T> points) {
    KMeansResult& result = training_.result;
    std::vector<std::int32_t> sizes(k);
    while (result.steps < options_.steps && !result.converged) {
      double movement = 0;
      session_.template run<"step">(feed<"x">(points), into<"movement">(movement),
                                    into<"sizes">(sizes));
      ++result.steps;
      const bool replaced = fill_empty(points, sizes);
      result.converged = !replaced && movement <= enough_;
      count_step();
    }
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

  void count_step() {
    ++all_steps_;
    if (store_ != nullptr && store_->is_due(all_steps_)) save();
  }

  void save() const {
    TrainingState state;
    const auto put = [&]<class V>(const char* name, const V& list) {
      detail::put_list(state, name, std::span(list));
    };
    put("centers", variables_.template get<T>("centers"));
    put("counts", variables_.template get<double>("counts"));
    put("shift", variables_.template get<T>("shift"));
    put("steps", variables_.template get<std::int64_t>("steps"));
    const bool has_best = !training_.has_ended && training_.start > 0;
    if (has_best) {
      put("best_centers", std::span<const T>(training_.kept.centers));
      put("best_counts", std::span<const double>(training_.kept.counts));
    }
    StateWriter out("k-means");
    out.number(all_steps_).number(training_.has_ended ? 1 : 0).text(training_.of).end();
    out.number(training_.start).number(enough_).text(detail::random_text(random_)).end();
    out.number(training_.result.steps).number(training_.result.converged ? 1 : 0).end();
    const KMeansResult& best = training_.best;
    out.number(best.steps).number(best.score).number(best.converged ? 1 : 0).end();
    state.text = out.finish();
    store_->save(state, all_steps_);
  }
  void restore(const TrainingState& state) {
    constexpr T most = std::numeric_limits<T>::max();
    constexpr double most_count = std::numeric_limits<double>::max();
    constexpr std::int64_t most_steps = std::numeric_limits<std::int64_t>::max();
    StateReader in(state.text, "k-means", state.source);
    const auto count = [&](std::int64_t bound) { return detail::take_count(in, bound, state); };
    Training read;
    const std::int64_t all_steps = count(most_steps);
    read.has_ended = count(1) != 0;
    read.of = in.text();
    in.end();
    read.start = count(most_steps);
    const double enough = in.number();
    const std::mt19937_64 random = detail::random_from(in.text(), state.source);
    in.end();
    read.result.steps = count(most_steps);
    read.result.converged = count(1) != 0;
    in.end();
    read.best.steps = count(most_steps);
    read.best.score = in.number();
    read.best.converged = count(1) != 0;
    in.end();
    const auto centers_at = [&](const char* name) {
      return detail::take_list<T>(state, name, std::int64_t{k} * features, -most, most);
    };
    const auto counts_at = [&](const char* name) {
      return detail::take_list<double>(state, name, k, 0, most_count);
    };
    const std::vector<T> centers = centers_at("centers");
    const std::vector<double> counts = counts_at("counts");
    const std::vector<T> shift = detail::take_list<T>(state, "shift", features, -most, most);
    const auto steps = detail::take_list<std::int64_t>(state, "steps", 1, 0, most_steps);
    if (!read.has_ended && read.start > 0) {
      read.kept = {centers_at("best_centers"), counts_at("best_counts")};
    }
    variables_.template set<T>("centers", std::span<const T>(centers));
    variables_.template set<double>("counts", std::span<const double>(counts));
    variables_.template set<T>("shift", std::span<const T>(shift));
    variables_.template set<std::int64_t>("steps", std::span<const std::int64_t>(steps));
    training_ = std::move(read);
    may_resume_ = !training_.has_ended;
    all_steps_ = all_steps;
    random_ = random;
    enough_ = enough;
  }

  KMeansOptions options_;
  Variables variables_;
  Session<detail::k_means_model<k, features, T>> session_;
  std::mt19937_64 random_;
  double enough_ = 0;  // movement that ends a training
  TrainingStore* store_ = nullptr;
  std::int64_t all_steps_ = 0;  // of all trainings
  Training training_;
  bool may_resume_ = false;  // a training that was killed
};

}  // namespace typeflow::inline TYPEFLOW_ISA
