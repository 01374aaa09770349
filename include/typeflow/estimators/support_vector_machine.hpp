// SPDX-License-Identifier: Apache-2.0
#pragma once

// A linear support vector machine for two classes, trained by stochastic dual coordinate ascent
// (Shalev-Shwartz and Zhang, Accelerated proximal stochastic dual coordinate ascent for regularized
// loss minimization, 2014). With labels y of -1 and 1 and weights s of the examples it minimises
//
//   P(w) = sum_i s_i max(0, 1 - y_i (w x_i + b)) + l1 |w|_1 + l2 / 2 (|w|^2 + b^2)
//
// Each example has a dual variable a_i in [0, s_i]. Their sums v = sum_i a_i y_i x_i / l2 give the
// weights w = sign(v) max(|v| - l1 / l2, 0), and the dual objective
//
//   D(a) = sum_i a_i - l2 / 2 (|w|^2 + b^2)  <=  P(w)
//
// A step passes over all examples once, in random order, and maximises D in one a_i after the
// other. P - D, the dual gap, bounds how far P is from its minimum.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "typeflow/estimators/rows.hpp"
#include "typeflow/estimators/svm_model.hpp"
#include "typeflow/estimators/training_store.hpp"
#include "typeflow/training/state_text.hpp"
#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Settings of a linear support vector machine. P is the objective at the top of this file.
struct SvmOptions {
  double l1 = 0;
  /// scikit-learn's and LIBLINEAR's C is 1 / l2. The dual needs a positive number: 0 means 1, as in
  /// TensorFlow.
  double l2 = 1;
  bool bias = true;           ///< with a weight b of a feature that is always 1
  std::int64_t steps = 1000;  ///< passes over the examples, at most
  /// Ends the training when the dual gap is at most this share of P, or at most this where P < 1.
  double tolerance = 1e-4;
  std::uint64_t seed = 0;  ///< of the order of examples
  int threads = 0;  ///< of the session; 0: all of the machine. The results have the same bits
  /// With a store: finish a training that was killed. If false, fit() begins anew.
  bool resume = true;
};

/// Examples for a support vector machine. x is row-major, (N,features). The spans must live until
/// the call returns.
template <class T>
struct SvmExamples {
  std::span<const T> x{};
  std::span<const std::int32_t> labels{};  ///< 0 or 1
  std::span<const double> weights{};       ///< 0 or more; none: all 1
  std::span<const std::string> ids{};      ///< all different; none: 0, 1, 2...
};

/// What a training of a support vector machine came to.
struct SvmResult {
  std::int64_t steps = 0;
  double loss = 0;         ///< weighted mean of the hinge losses, without l1 and l2
  double primal = 0;       ///< P
  double dual = 0;         ///< D
  bool converged = false;  ///< the dual gap ended it
  double gap() const { return primal - dual; }
};

/// How well a support vector machine does on examples.
struct SvmEvaluation {
  double loss = 0;      ///< weighted mean of the hinge losses
  double accuracy = 0;  ///< weighted share of correct predictions
};

/// A linear support vector machine of `features` numbers of type T, float or double. Sums and
/// weights are doubles.
///
///   tf::SvmClassifier<2> svm({.l2 = 1});
///   const tf::SvmResult result = svm.fit({.x = x, .labels = labels});
///   const auto classes = svm.predict(x);  // (N)
///
/// An example's id finds its dual variable again in a later call. An example that comes again with
/// another label or other features keeps a dual variable that does not belong to it: use a new id.
///
/// Equal examples, options and seeds give equal bits, whatever the number of threads.
///
/// With a store, such as a tf::ModelFolder, the machine begins with the last state saved there,
/// dual variables included, and its trainings save some. A training that was killed is finished by
/// the next fit() with the same examples and options, and ends with the same bits as without a
/// break.
///
/// Errors: numbers of elements that do not fit, NaN and infinity (with row and column), labels
/// other than 0 and 1, negative weights, an id twice, options out of range, predictions before a
/// fit. Of a store: a state that is damaged or of other sizes, and an unfinished training of other
/// examples or options.
template <int features, class T = float>
class SvmClassifier {
  static_assert(features >= 1, "SvmClassifier<features>: it must be 1 or more");

 public:
  using Examples = SvmExamples<T>;
  using Duals = std::unordered_map<std::string, double>;

  explicit SvmClassifier(SvmOptions options = {})
      : options_(checked(options)),
        session_(variables_, {.threads = options.threads}),
        random_(options.seed) {}

  /// The store must outlive this object.
  SvmClassifier(const SvmOptions& options, TrainingStore& store) : SvmClassifier(options) {
    store_ = &store;
    TrainingState state;
    if (store.load(state)) restore(state);
  }

  /// Trains anew, until the dual gap is small enough; or finishes the store's training.
  SvmResult fit(const Examples& examples) {
    Checked data = check("SvmClassifier::fit", examples);
    std::string of = store_ == nullptr ? "" : description(examples, data);
    if (std::exchange(may_resume_, false) && options_.resume) {
      if (of != training_.of || training_.duals.size() != data.ids.size()) {
        detail::refuse_training("SvmClassifier::fit", *store_, training_.of, of);
      }
      return train(examples, data, options_.steps);
    }
    std::ranges::fill(variables_.template get<double>("v"), 0.0);
    variables_.template get<double>("b")[0] = 0;
    variables_.template get<std::int64_t>("steps")[0] = 0;
    duals_.clear();
    random_.seed(options_.seed);
    begin(std::move(of), data);
    return train(examples, data, options_.steps);
  }

  /// Goes on for one pass over these examples, some of which may be new. `converged` is about them:
  /// it means the whole training if they are all examples so far.
  SvmResult partial_fit(const Examples& examples) {
    Checked data = check("SvmClassifier::partial_fit", examples);
    if (std::exchange(may_resume_, false) && options_.resume) {
      detail::refuse_training("SvmClassifier::partial_fit", *store_, "fit() of " + training_.of,
                              "partial_fit()");
    }
    if (is_trained() && duals_.empty()) {
      throw Error("SvmClassifier::partial_fit",
                  "the dual variables of the loaded training: set_duals()", "none");
    }
    begin("", data);
    return train(examples, data, 1);
  }

  /// w x + b of each row; it is positive for class 1.  // (N,features) -> (N)
  Array<double, 1> decision(std::span<const T> x) {
    check_rows("SvmClassifier::decision", x);
    return session_.template run<"score">(feed<"x">(x), one());
  }
  /// The class of each row, 0 or 1.  // (N,features) -> (N)
  Array<std::int32_t, 1> predict(std::span<const T> x) {
    check_rows("SvmClassifier::predict", x);
    return session_.template run<"class">(feed<"x">(x), one());
  }
  /// Loss and accuracy for the weights of these examples. Their ids are not looked at.
  SvmEvaluation evaluate(const Examples& examples) {
    check_trained("SvmClassifier::evaluate");
    const Checked data = check("SvmClassifier::evaluate", examples);
    SvmEvaluation result;
    session_.template run<>(feed<"x">(examples.x), feed<"label">(examples.labels),
                            feed<"weight">(data.weights), one(), into<"loss">(result.loss),
                            into<"accuracy">(result.accuracy));
    return result;
  }

  /// w.  // (features)
  std::span<const double> weights() const { return variables_.template get<double>("w"); }
  /// b; 0 without bias.
  double bias() const { return variables_.template get<double>("b")[0]; }
  /// The examples' dual variables by their ids; without ids, by "0", "1"...
  const Duals& duals() const { return duals_; }
  /// For a partial_fit() that goes on with loaded variables: what duals() was when they were saved.
  void set_duals(Duals duals) { duals_ = std::move(duals); }

  /// Whether there are weights, by a fit or by loaded variables.
  bool is_trained() const { return variables_.template get<std::int64_t>("steps")[0] > 0; }
  const SvmOptions& options() const { return options_; }
  /// The state but for the dual variables, for save() and load().
  Variables& variables() { return variables_; }

 private:
  /// Examples that are in order, with what they leave out.
  struct Checked {
    std::vector<double> weights;
    std::vector<std::string> ids;
  };

  static SvmOptions checked(SvmOptions options) {
    const auto check_one = [](const char* name, double value) {
      if (!(value >= 0 && value <= std::numeric_limits<double>::max())) {
        throw Error("SvmOptions: " + std::string(name), "a finite number, 0 or more",
                    std::to_string(value));
      }
    };
    check_one("l1", options.l1);
    check_one("l2", options.l2);
    check_one("tolerance", options.tolerance);
    if (options.steps < 1) {
      throw Error("SvmOptions: steps", "1 or more", std::to_string(options.steps));
    }
    if (options.l2 == 0) options.l2 = 1;
    return options;
  }
  void check_trained(const char* call) const {
    if (!is_trained())
      throw Error(call, "trained weights, which fit() makes or load() reads", "none");
  }
  void check_rows(const char* call, std::span<const T> x) const {
    check_trained(call);
    detail::checked_rows(call, x, features, 0);
  }

  Checked check(const char* call, const Examples& examples) const {
    const std::int64_t rows = detail::checked_rows(call, examples.x, features, 1);
    const auto count = [&](const char* what, std::size_t number) {
      if (number == static_cast<std::size_t>(rows)) return;
      throw Error(std::string(call) + ": " + what, std::to_string(rows) + ", one for each row",
                  std::to_string(number));
    };
    const auto row = [&](const char* what, std::size_t i) {
      return std::string(call) + ": " + what + " of row " + std::to_string(i);
    };
    count("labels", examples.labels.size());
    for (std::size_t i = 0; i < examples.labels.size(); ++i) {
      const std::int32_t label = examples.labels[i];
      if (label != 0 && label != 1) throw Error(row("label", i), "0 or 1", std::to_string(label));
    }
    Checked result{{examples.weights.begin(), examples.weights.end()},
                   {examples.ids.begin(), examples.ids.end()}};
    if (result.weights.empty()) result.weights.assign(static_cast<std::size_t>(rows), 1.0);
    count("weights", result.weights.size());
    double total = 0;
    for (std::size_t i = 0; i < result.weights.size(); ++i) {
      const double weight = result.weights[i];
      if (!(weight >= 0 && weight <= std::numeric_limits<double>::max())) {
        throw Error(row("weight", i), "a finite number, 0 or more", std::to_string(weight));
      }
      total += weight;
    }
    if (!(total > 0)) throw Error(std::string(call) + ": sum of weights", "more than 0", "0");
    if (result.ids.empty()) {
      for (std::int64_t i = 0; i < rows; ++i) result.ids.push_back(std::to_string(i));
    }
    count("ids", result.ids.size());
    std::unordered_map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < result.ids.size(); ++i) {
      const auto [first, is_new] = seen.try_emplace(result.ids[i], i);
      if (!is_new) {
        throw Error(row("id", i), "one that no other row has",
                    "'" + result.ids[i] + "', as row " + std::to_string(first->second));
      }
    }
    return result;
  }

  auto one() const { return feed<"one">(options_.bias ? 1.0 : 0.0); }

  /// A fit, between two of its passes.
  struct Training {
    std::string of{};  ///< examples and options; empty: a partial_fit
    SvmResult result{};
    std::vector<double> duals{};        ///< of the examples
    std::vector<std::int32_t> order{};  ///< of the last pass
    bool has_ended = true;
  };
  /// What a training is of. Another one of the same makes the same passes.
  std::string description(const Examples& examples, const Checked& data) const {
    const auto text = [](auto x) { return detail::exact_text(x); };
    std::uint64_t all = detail::fingerprint_of(examples.x);
    all = detail::fingerprint_of(examples.labels, all);
    all = detail::fingerprint_of(std::span<const double>(data.weights), all);
    for (const std::string& id : data.ids) {
      all = detail::fingerprint_of(std::span<const char>(id), all);
    }
    return text(data.ids.size()) + " examples (" + text(all) + "), l1 " + text(options_.l1) +
           ", l2 " + text(options_.l2) + (options_.bias ? ", with" : ", without") +
           " a bias, steps " + text(options_.steps) + ", tolerance " + text(options_.tolerance) +
           ", seed " + text(options_.seed);
  }
  void begin(std::string of, const Checked& data) {
    const std::size_t rows = data.ids.size();
    training_ = {};
    training_.of = std::move(of);
    training_.duals.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto found = duals_.find(data.ids[i]);
      if (found != duals_.end()) training_.duals[i] = found->second;
    }
    training_.order.resize(rows);
    std::iota(training_.order.begin(), training_.order.end(), 0);
  }

  /// Goes on with the training that begin() or restore() has set.
  SvmResult train(const Examples& examples, const Checked& data, std::int64_t steps) {
    const std::size_t rows = data.ids.size();
    auto& [of, result, duals, order, has_ended] = training_;
    std::vector<double> changed(rows);
    const auto run = [&]<Text... Names>(const auto&... into_buffers) {
      session_.template run<Names...>(feed<"x">(examples.x), feed<"label">(examples.labels),
                                      feed<"weight">(data.weights), feed<"dual">(training_.duals),
                                      feed<"order">(training_.order), feed<"l1">(options_.l1),
                                      feed<"l2">(options_.l2), one(), into_buffers...);
    };
    has_ended = of.empty();
    while (result.steps < steps && !result.converged) {
      detail::shuffle_rows(random_, order);
      run.template operator()<"pass">(into<"duals">(changed));
      for (std::size_t i = 0; i < rows; ++i) {
        duals[static_cast<std::size_t>(order[i])] = changed[i];
      }
      ++result.steps;
      run.template operator()<>(into<"loss">(result.loss), into<"primal">(result.primal),
                                into<"objective">(result.dual));
      result.converged = result.gap() <= options_.tolerance * std::max(1.0, result.primal);
      ++all_steps_;
      if (!has_ended && store_->is_due(all_steps_)) save();
    }
    for (std::size_t i = 0; i < rows; ++i) duals_[data.ids[i]] = duals[i];
    const bool was_fit = !has_ended;
    const SvmResult last = result;
    training_ = {};
    if (store_ != nullptr && (was_fit || store_->is_due(all_steps_))) save();
    return last;
  }

  void save() const {
    TrainingState state;
    for (const char* const name : {"v", "b", "w"}) {
      detail::put_list(state, name, variables_.template get<double>(name));
    }
    detail::put_list(state, "steps", variables_.template get<std::int64_t>("steps"));
    if (training_.has_ended) {
      // Ids may have any bytes, so they are no text.
      std::map<std::string_view, double> sorted(duals_.begin(), duals_.end());
      std::vector<std::int64_t> lengths;
      std::vector<std::uint8_t> characters;
      std::vector<double> duals;
      for (const auto& [id, dual] : sorted) {
        lengths.push_back(static_cast<std::int64_t>(id.size()));
        characters.insert(characters.end(), id.begin(), id.end());
        duals.push_back(dual);
      }
      detail::put_list(state, "id_lengths", std::span<const std::int64_t>(lengths));
      detail::put_list(state, "ids", std::span<const std::uint8_t>(characters));
      detail::put_list(state, "duals", std::span<const double>(duals));
    } else {
      detail::put_list(state, "duals", std::span<const double>(training_.duals));
      detail::put_list(state, "order", std::span<const std::int32_t>(training_.order));
    }
    StateWriter out("support vector machine");
    out.number(all_steps_).number(training_.has_ended ? 1 : 0).text(training_.of);
    out.text(detail::random_text(random_)).end();
    const SvmResult& result = training_.result;
    out.number(result.steps).number(result.converged ? 1 : 0);
    out.number(result.loss).number(result.primal).number(result.dual).end();
    state.text = out.finish();
    store_->save(state, all_steps_);
  }
  void restore(const TrainingState& state) {
    constexpr double most = std::numeric_limits<double>::max();
    constexpr std::int64_t most_steps = std::numeric_limits<std::int64_t>::max();
    StateReader in(state.text, "support vector machine", state.source);
    const auto count = [&](std::int64_t bound) { return detail::take_count(in, bound, state); };
    Training read;
    const std::int64_t all_steps = count(most_steps);
    read.has_ended = count(1) != 0;
    read.of = in.text();
    const std::mt19937_64 random = detail::random_from(in.text(), state.source);
    in.end();
    read.result.steps = count(most_steps);
    read.result.converged = count(1) != 0;
    read.result.loss = in.number();
    read.result.primal = in.number();
    read.result.dual = in.number();
    in.end();
    const auto numbers = [&](const char* name, std::int64_t size) {
      return detail::take_list<double>(state, name, size, -most, most);
    };
    const std::vector<double> v = numbers("v", features);
    const std::vector<double> b = numbers("b", 1);
    const std::vector<double> w = numbers("w", features);
    const auto steps = detail::take_list<std::int64_t>(state, "steps", 1, 0, most_steps);
    Duals all;
    if (read.has_ended) {
      all = duals_of(state);
    } else {
      read.duals = detail::take_list<double>(state, "duals", -1, 0, most);
      const auto rows = static_cast<std::int64_t>(read.duals.size());
      read.order = detail::take_list<std::int32_t>(state, "order", rows, 0,
                                                   static_cast<std::int32_t>(rows - 1));
      std::vector<std::int32_t> sorted = read.order;
      std::ranges::sort(sorted);
      if (std::ranges::adjacent_find(sorted) != sorted.end()) {
        throw Error(state.source + ": list 'order'", "each row once", "a row twice");
      }
    }
    variables_.template set<double>("v", std::span<const double>(v));
    variables_.template set<double>("b", std::span<const double>(b));
    variables_.template set<double>("w", std::span<const double>(w));
    variables_.template set<std::int64_t>("steps", std::span<const std::int64_t>(steps));
    duals_ = std::move(all);
    training_ = std::move(read);
    may_resume_ = !training_.has_ended;
    all_steps_ = all_steps;
    random_ = random;
  }
  /// The dual variables by ids of a training that has ended.
  static Duals duals_of(const TrainingState& state) {
    const auto characters = detail::take_list<std::uint8_t>(state, "ids", -1, 0, 255);
    const auto lengths = detail::take_list<std::int64_t>(
        state, "id_lengths", -1, 0, static_cast<std::int64_t>(characters.size()));
    const auto count = static_cast<std::int64_t>(lengths.size());
    const auto duals =
        detail::take_list<double>(state, "duals", count, 0, std::numeric_limits<double>::max());
    Duals all;
    std::size_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto length = static_cast<std::size_t>(lengths[i]);
      if (length > characters.size() - at) break;
      all.emplace(std::string(characters.begin() + static_cast<std::ptrdiff_t>(at),
                              characters.begin() + static_cast<std::ptrdiff_t>(at + length)),
                  duals[i]);
      at += length;
    }
    if (at != characters.size() || all.size() != lengths.size()) {
      throw Error(state.source + ": list 'id_lengths'",
                  "different ids of " + std::to_string(characters.size()) + " characters together",
                  std::to_string(all.size()) + " of " + std::to_string(at));
    }
    return all;
  }

  SvmOptions options_;
  Variables variables_;
  Session<detail::svm_model<features, T>> session_;
  std::mt19937_64 random_;
  Duals duals_;
  TrainingStore* store_ = nullptr;
  std::int64_t all_steps_ = 0;  // of all trainings
  Training training_;
  bool may_resume_ = false;  // a training that was killed
};

}  // namespace typeflow::inline TYPEFLOW_ISA
