// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hooks of estimators, TensorFlow's monitors: what a training prints, keeps and writes at some of
// its steps. They are callbacks (training/callback.hpp); those without tensors also fit tf::fit.
//
//   estimator.fit(inputs, {.steps = 700}, tf::PrintTensors<"loss", "class">({.steps = 100}),
//                 tf::StopAtStep({.last_step = 5000}));

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/estimators/hook.hpp"
#include "typeflow/records/event_writer.hpp"
#include "typeflow/records/summary.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/training/loop.hpp"
#include "typeflow/training/progress.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The steps at which a hook works: the first ones, and multiples of a number.
struct HookSteps {
  std::int64_t steps = 100;  ///< multiples of it; 0: none
  std::int64_t first = 1;    ///< steps 1 to this one
  /// Receives the hook's lines; empty: they are printed where the progress is shown.
  std::function<void(std::string_view)> print{};
};

namespace detail {

/// Error if a number is negative.
inline void check_hook(const char* hook, const HookSteps& at) {
  if (at.steps < 0)
    throw Error(std::string(hook) + ": steps", "0 or more", std::to_string(at.steps));
  if (at.first < 0)
    throw Error(std::string(hook) + ": first", "0 or more", std::to_string(at.first));
}
inline bool is_hook_due(const HookSteps& at, std::int64_t step) {
  return step <= at.first || (at.steps > 0 && step % at.steps == 0);
}
inline void print_hook_line(const HookSteps& at, TrainingLoop& loop, const std::string& line) {
  if (at.print) {
    at.print(line);
  } else {
    loop.print(line);
  }
}

/// "0.25", "true", "word"
template <class T>
std::string element_text(const T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(x));
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", static_cast<double>(x));
    return text;
  }
}
/// "[3, 2] 0.1 0.2 0.3 ...": the shape and the first elements; a number alone has no shape.
template <class T>
std::string tensor_text(const T& tensor, std::size_t most) {
  if constexpr (requires { tensor.shape(); }) {
    std::string text = "[";
    for (const auto extent : tensor.shape()) {
      text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    }
    text += ']';
    const std::size_t shown = std::min(most, static_cast<std::size_t>(tensor.size()));
    for (std::size_t i = 0; i < shown; ++i) text += ' ' + element_text(tensor.data()[i]);
    return shown < tensor.size() ? text + " ..." : text;
  } else {
    return element_text(tensor);
  }
}

}  // namespace detail

/// Prints tensors: "step 100: loss 0.25, class [30] 2 0 1 ...". Their values are those before the
/// step's update.
template <Text... N>
class PrintTensors : public Callback {
 public:
  using tensors = TensorNames<N...>;

  /// `most`: elements that are printed of a tensor. Error if a number is negative.
  explicit PrintTensors(HookSteps at = {}, std::size_t most = 3) : at_(std::move(at)), most_(most) {
    detail::check_hook("PrintTensors", at_);
  }

  bool due(std::int64_t step) const { return detail::is_hook_due(at_, step); }
  template <class... V>
  void on_tensors(TrainingLoop& loop, const V&... values) {
    std::string line = "step " + std::to_string(loop.steps() + 1) + ":";
    const char* separator = " ";
    ((line += separator + std::string(N.view()) + ' ' + detail::tensor_text(values, most_),
      separator = ", "),
     ...);
    detail::print_hook_line(at_, loop, line);
  }

 private:
  HookSteps at_;
  std::size_t most_;
};

/// Writes the model's own summaries: the result of summaries.merge() (tf::Summaries), by default
/// named "summaries". (WriteSummaries of records/callbacks.hpp writes figures, histograms and the
/// graph.)
template <Text N = "summaries">
class SaveSummaries : public Callback {
 public:
  using tensors = TensorNames<N>;

  /// The writer must outlive the hook. Error if a number is negative.
  explicit SaveSummaries(EventWriter& writer, HookSteps at = {})
      : writer_(writer), at_(std::move(at)) {
    detail::check_hook("SaveSummaries", at_);
  }

  bool due(std::int64_t step) const { return detail::is_hook_due(at_, step); }
  void on_tensors(TrainingLoop& loop, std::string_view encoded) {
    writer_.add(encoded, loop.steps() + 1);
  }
  void on_end(TrainingLoop&) override { writer_.flush(); }

 private:
  EventWriter& writer_;
  HookSteps at_;
};

/// Keeps the values of tensors by step, to compare two trainings.
template <Text... N>
class GraphDump : public Callback {
 public:
  using tensors = TensorNames<N...>;
  using Values = std::map<std::string, std::vector<double>, std::less<>>;

  /// Error if a number is negative.
  explicit GraphDump(HookSteps at = {.steps = 1}) : at_(std::move(at)) {
    detail::check_hook("GraphDump", at_);
  }

  bool due(std::int64_t step) const { return detail::is_hook_due(at_, step); }
  template <class... V>
  void on_tensors(TrainingLoop& loop, const V&... values) {
    Values& kept = steps_[loop.steps() + 1];
    ((kept[std::string(N.view())] = numbers(values)), ...);
  }

  /// The tensors' elements, by step and name.
  const std::map<std::int64_t, Values>& steps() const { return steps_; }
  /// The names of the tensors that differ from the other dump's at a step, by more than `tolerance`
  /// in an element, or in the number of elements. Error if a dump does not have the step.
  std::vector<std::string> compare(const GraphDump& other, std::int64_t step,
                                   double tolerance = 1e-5) const {
    std::vector<std::string> different;
    const Values& mine = at(step);
    const Values& theirs = other.at(step);
    for (const auto& [name, values] : mine) {
      const bool is_equal =
          std::ranges::equal(values, theirs.find(name)->second, [&](double a, double b) {
            return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance;
          });
      if (!is_equal) different.push_back(name);
    }
    return different;
  }

 private:
  template <class V>
  static std::vector<double> numbers(const V& values) {
    std::vector<double> out;
    if constexpr (requires { values.shape(); }) {
      for (const auto& x : values) out.push_back(static_cast<double>(x));
    } else {
      out.push_back(static_cast<double>(values));
    }
    return out;
  }
  const Values& at(std::int64_t step) const {
    const auto found = steps_.find(step);
    if (found != steps_.end()) return found->second;
    throw Error("GraphDump::compare", "a step that both have", "step " + std::to_string(step));
  }

  HookSteps at_;
  std::map<std::int64_t, Values> steps_;
};

/// Prints variables: "step 100: fc/W [4, 3] mean 0.02, from -0.7 to 1.1".
class LogVariables : public Callback {
 public:
  /// The variables of these names; those that are no float or double are left out. The store must
  /// outlive the hook. Error if a number is negative.
  LogVariables(const Variables& variables, std::vector<std::string> names, HookSteps at = {})
      : variables_(variables), names_(std::move(names)), at_(std::move(at)) {
    detail::check_hook("LogVariables", at_);
  }
  /// An estimator's trainable variables.
  template <class E>
    requires requires(const E& e) { e.trainable_names(), e.variables(); }
  explicit LogVariables(const E& estimator, HookSteps at = {})
      : LogVariables(estimator.variables(), estimator.trainable_names(), std::move(at)) {}

  /// Error if the store lacks a variable.
  void on_begin(TrainingLoop&) override {
    for (const std::string& name : names_) variables_.dims(name);
  }
  void on_step(TrainingLoop& loop) override {
    if (!detail::is_hook_due(at_, loop.steps())) return;
    for (const std::string& name : names_) {
      if (variables_.dtype(name) == DType::float32) print<float>(loop, name);
      if (variables_.dtype(name) == DType::float64) print<double>(loop, name);
    }
  }

 private:
  template <class T>
  void print(TrainingLoop& loop, const std::string& name) {
    double sum = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    const auto values = variables_.get<T>(name);
    for (const T x : values) {
      sum += static_cast<double>(x);
      least = std::min(least, static_cast<double>(x));
      most = std::max(most, static_cast<double>(x));
    }
    if (values.empty()) return;
    char text[96];
    std::snprintf(text, sizeof text, " mean %.6g, from %.6g to %.6g",
                  sum / static_cast<double>(values.size()), least, most);
    detail::print_hook_line(at_, loop, "step " + std::to_string(loop.steps()) + ": " + name + text);
  }

  const Variables& variables_;
  std::vector<std::string> names_;
  HookSteps at_;
};

/// Keeps the values of a variable by step.
template <Element T>
class CaptureVariable : public Callback {
 public:
  /// The store must outlive the hook. Error if a number is negative.
  CaptureVariable(const Variables& variables, std::string name, HookSteps at = {})
      : variables_(variables), name_(std::move(name)), at_(std::move(at)) {
    detail::check_hook("CaptureVariable", at_);
  }

  /// Error if the store has no such variable, or if it has other elements.
  void on_begin(TrainingLoop&) override { variables_.get<T>(name_); }
  void on_step(TrainingLoop& loop) override {
    if (!detail::is_hook_due(at_, loop.steps())) return;
    const auto values = variables_.get<T>(name_);
    values_[loop.steps()].assign(values.begin(), values.end());
  }

  /// The elements after a step, row-major, by step.
  const std::map<std::int64_t, std::vector<T>>& values() const { return values_; }

 private:
  const Variables& variables_;
  std::string name_;
  HookSteps at_;
  std::map<std::int64_t, std::vector<T>> values_;
};

/// Ends a training after so many of its steps, or at a step of the model's.
class StopAtStep : public Callback {
 public:
  struct Step {
    std::int64_t steps = 0;      ///< of the training
    std::int64_t last_step = 0;  ///< as counted over all trainings
  };
  /// Error unless one of the two is given.
  explicit StopAtStep(Step at) : at_(at) {
    if ((at.steps > 0) != (at.last_step > 0)) return;
    throw Error("StopAtStep", "either steps or last_step, above 0",
                std::to_string(at.steps) + " steps, last_step " + std::to_string(at.last_step));
  }

  void on_step(TrainingLoop& loop) override {
    const std::int64_t last =
        at_.last_step > 0 ? at_.last_step : loop.options().first_step + at_.steps;
    if (loop.steps() >= last) loop.stop();
  }

 private:
  Step at_;
};

/// Measures steps a second: prints them, and writes them as "global_step/sec".
class StepCounter : public Callback {
 public:
  /// Without a writer, nothing is written. It must outlive the hook. Error if a number is negative.
  explicit StepCounter(HookSteps at = {.first = 0}, EventWriter* writer = nullptr)
      : at_(std::move(at)), writer_(writer) {
    detail::check_hook("StepCounter", at_);
  }

  void on_begin(TrainingLoop& loop) override { restart(loop); }
  void on_step(TrainingLoop& loop) override {
    if (!detail::is_hook_due(at_, loop.steps())) return;
    const double seconds = detail::clock_seconds() - last_time_;
    steps_per_second_ = static_cast<double>(loop.steps() - last_step_) / std::max(seconds, 1e-9);
    restart(loop);
    if (writer_ != nullptr) writer_->scalar("global_step/sec", steps_per_second_, loop.steps());
    char text[64];
    std::snprintf(text, sizeof text, ": %.1f steps a second", steps_per_second_);
    detail::print_hook_line(at_, loop, "step " + std::to_string(loop.steps()) + text);
  }

  /// The rate of the last whole interval; 0 before the first one ends.
  double steps_per_second() const { return steps_per_second_; }

 private:
  void restart(const TrainingLoop& loop) {
    last_step_ = loop.steps();
    last_time_ = detail::clock_seconds();
  }

  HookSteps at_;
  EventWriter* writer_;
  std::int64_t last_step_ = 0;
  double last_time_ = 0;
  double steps_per_second_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
