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
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "typeflow/control_flow.hpp"
#include "typeflow/estimators/rows.hpp"
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

namespace detail {

template <int features, class T>
constexpr void svm_model(Graph& g) {
  const auto x = placeholder<T, batch, features>(g, "x");
  const auto label = placeholder<std::int32_t, batch>(g, "label");
  const auto weight = placeholder<double, batch>(g, "weight");
  const auto dual = placeholder<double, batch>(g, "dual");
  const auto order = placeholder<std::int32_t, batch>(g, "order");
  const auto l1 = placeholder<double>(g, "l1");
  const auto l2 = placeholder<double>(g, "l2");
  const auto one = placeholder<double>(g, "one");  // the feature of the bias: 1, or 0 without bias
  auto v = variable<double, features>(g, "v", zeros(), false);
  auto b = variable<double>(g, "b", zeros(), false);
  auto weights = variable<double, features>(g, "w", zeros(), false);
  auto steps = variable<std::int64_t>(g, "steps", zeros(), false);

  const auto shrunk = [&](auto sums) { return sign(sums) * maximum(abs(sums) - l1 / l2, 0.0); };
  const auto wide = cast<double>(x);
  const auto score = (sum<1>(wide * weights) + b * one).named("score");  // (batch)
  cast<std::int32_t>(greater(score, 0.0)).named("class");
  const auto y = 2.0 * cast<double>(label) - 1.0;
  const auto losses = sum(weight * maximum(1.0 - y * score, 0.0));
  (losses / sum(weight)).named("loss");
  const auto correct = equal(greater(score, 0.0), greater(y, 0.0));
  (sum(weight * cast<double>(correct)) / sum(weight)).named("accuracy");
  const auto half = 0.5 * l2 * (sum(square(weights)) + square(b * one));
  (losses + l1 * sum(abs(weights)) + half).named("primal");
  (sum(dual) - half).named("objective");

  // One example after the other: the best a_i with all others given.
  struct Sums {
    Expr<double, Shape<features>> v;
    Expr<double, Shape<>> b;
  };
  const auto rows = gather(x, order);
  const auto norms = sum<1>(square(cast<double>(rows))) + square(one);
  const auto step = [&](Sums sums, auto example) {
    const auto [row, sign_of, most, norm, before] = example;
    const auto features_of = cast<double>(row);
    const auto margin = sign_of * (sum(features_of * shrunk(sums.v)) + sums.b * one);
    const auto best = before + (1.0 - margin) * l2 / norm;
    // An example without features has a constant loss, whose dual variable is at its bound.
    const auto after = where(greater(norm, 0.0), minimum(maximum(best, 0.0), most), most);
    const auto change = (after - before) * sign_of / l2;
    return std::pair(Sums{sums.v + change * features_of, sums.b + change * one}, after);
  };
  const auto [sums, duals] =
      scan(step, Sums{v, b},
           std::tuple(rows, gather(y, order), gather(weight, order), norms, gather(dual, order)));
  duals.named("duals");  // in the order of the pass
  group(assign(v, sums.v), assign(b, sums.b), assign(weights, shrunk(sums.v)), assign_add(steps, 1))
      .named("pass");
}

}  // namespace detail

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
/// Errors: numbers of elements that do not fit, NaN and infinity (with row and column), labels
/// other than 0 and 1, negative weights, an id twice, options out of range, predictions before a
/// fit.
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

  /// Trains anew, until the dual gap is small enough.
  SvmResult fit(const Examples& examples) {
    Checked data = check("SvmClassifier::fit", examples);
    std::ranges::fill(variables_.template get<double>("v"), 0.0);
    variables_.template get<double>("b")[0] = 0;
    variables_.template get<std::int64_t>("steps")[0] = 0;
    duals_.clear();
    random_.seed(options_.seed);
    return train(examples, data, options_.steps);
  }

  /// Goes on for one pass over these examples, some of which may be new. `converged` is about them:
  /// it means the whole training if they are all examples so far.
  SvmResult partial_fit(const Examples& examples) {
    Checked data = check("SvmClassifier::partial_fit", examples);
    if (is_trained() && duals_.empty()) {
      throw Error("SvmClassifier::partial_fit",
                  "the dual variables of the loaded training: set_duals()", "none");
    }
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

  SvmResult train(const Examples& examples, const Checked& data, std::int64_t steps) {
    const std::size_t rows = data.ids.size();
    std::vector<double> duals(rows);
    std::vector<double> changed(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto found = duals_.find(data.ids[i]);
      if (found != duals_.end()) duals[i] = found->second;
    }
    std::vector<std::int32_t> order(rows);
    std::iota(order.begin(), order.end(), 0);
    const auto run = [&]<Text... Names>(const auto&... into_buffers) {
      session_.template run<Names...>(feed<"x">(examples.x), feed<"label">(examples.labels),
                                      feed<"weight">(data.weights), feed<"dual">(duals),
                                      feed<"order">(order), feed<"l1">(options_.l1),
                                      feed<"l2">(options_.l2), one(), into_buffers...);
    };
    SvmResult result;
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
    }
    for (std::size_t i = 0; i < rows; ++i) duals_[data.ids[i]] = duals[i];
    return result;
  }

  SvmOptions options_;
  Variables variables_;
  Session<detail::svm_model<features, T>> session_;
  std::mt19937_64 random_;
  Duals duals_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
