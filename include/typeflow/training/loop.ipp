// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/training/figures.ipp"
#include "typeflow/training/loop.hpp"
#include "typeflow/training/state_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD TYPEFLOW_DEFINITION void check_fit(const FitOptions& options,
                                                 std::int64_t least_steps) {
  if (options.epochs < 0) {
    throw Error("fit: epochs", "0 or more", std::to_string(options.epochs));
  }
  if (options.steps_per_epoch < least_steps) {
    throw Error("fit: steps_per_epoch", std::to_string(least_steps) + " or more",
                std::to_string(options.steps_per_epoch));
  }
  if (options.first_step < 0) {
    throw Error("fit: first_step", "0 or more", std::to_string(options.first_step));
  }
}

/// Error for a name that a state can't keep, or that is given twice.
TYPEFLOW_COLD inline void check_figure_names(const std::vector<std::string>& names) {
  if (names.empty()) throw Error("fit: names of figures", "one or more", "none");
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty()) throw Error("fit: name of a figure", "a text", "an empty one");
    if (std::find(names.begin(), name, *name) != name) {
      throw Error("fit: names of figures", "different ones", "'" + *name + "' twice");
    }
  }
}

}  // namespace detail

TYPEFLOW_DEFINITION TrainingLoop::TrainingLoop(FitOptions options, std::vector<std::string> names,
                                               std::vector<Callback*> callbacks)
    : options_(std::move(options)),
      names_(std::move(names)),
      callbacks_(std::move(callbacks)),
      progress_({.steps = options_.steps_per_epoch == 0
                              ? 0
                              : options_.first_step + options_.epochs * options_.steps_per_epoch,
                 .batch_size = options_.batch_size,
                 .out = options_.progress,
                 .every = options_.progress_every}),
      sums_(names_.size()) {
  detail::check_fit(options_, 0);
  detail::check_figure_names(names_);
  result_.steps = options_.first_step;
  progress_.start_at(options_.first_step);
  for (const std::string& name : names_) figures_.push_back({name, 0});
  for (Callback* const callback : callbacks_) callback->on_begin(*this);
  for (Callback* const callback : callbacks_) callback->on_resume(*this);
  // It was interrupted after an epoch's last step.
  if (goes_on() && options_.steps_per_epoch > 0 && steps_in_epoch_ >= options_.steps_per_epoch) {
    end_epoch();
  }
}

TYPEFLOW_DEFINITION void TrainingLoop::step(std::span<const double> values) {
  if (values.size() != names_.size()) {
    throw Error("TrainingLoop::step", std::to_string(names_.size()) + " figures",
                std::to_string(values.size()));
  }
  result_.loss = values[0];
  ++result_.steps;
  ++steps_in_epoch_;
  if (!std::isfinite(result_.loss)) {
    throw Error("fit: the loss of step " + std::to_string(result_.steps), "a finite number",
                std::to_string(result_.loss));
  }
  figures_.resize(names_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    figures_[i].name = names_[i];
    figures_[i].value = values[i];
    sums_[i] += values[i];
  }
  progress_.show(result_.steps, figures_);
  if (options_.on_step && !options_.on_step(result_.steps, result_.loss)) {
    is_interrupted_ = true;
    stop();
  }
  for (Callback* const callback : callbacks_) callback->on_step(*this);
  if (!result_.stopped_early && steps_in_epoch_ == options_.steps_per_epoch) return end_epoch();
  for (Callback* const callback : callbacks_) callback->on_settled(*this);
}

TYPEFLOW_DEFINITION void TrainingLoop::end_epoch() {
  if (steps_in_epoch_ == 0) throw Error("fit: the data", "a batch at least", "none");
  ++result_.epochs;
  figures_.resize(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i) {
    figures_[i] = {names_[i], sums_[i] / static_cast<double>(steps_in_epoch_)};
    sums_[i] = 0;
  }
  steps_in_epoch_ = 0;
  if (options_.validate) validate();
  result_.history.add({result_.epochs, figures_});
  if (figures_.size() > 1) progress_.print(epoch_line());
  for (Callback* const callback : callbacks_) callback->on_epoch(*this);
  for (Callback* const callback : callbacks_) callback->on_settled(*this);
}

TYPEFLOW_DEFINITION void TrainingLoop::validate() {
  progress_.pause();  // validations are no training, and may print
  const Validation validation = options_.validate();
  progress_.resume();
  const Figures& found = validation.figures();
  if (found.empty()) throw Error("fit: validate()", "a figure at least", "none");
  figures_.insert(figures_.end(), found.begin(), found.end());
  if (found[0].value < result_.best_validation - options_.min_delta) {
    result_.best_validation = found[0].value;
    result_.best_epoch = result_.epochs;
  }
  if (options_.patience > 0 && result_.epochs - result_.best_epoch >= options_.patience) stop();
}

TYPEFLOW_DEFINITION FitResult TrainingLoop::finish() {
  for (Callback* const callback : callbacks_) callback->on_end(*this);
  progress_.finish();
  return result_;
}

TYPEFLOW_DEFINITION double TrainingLoop::figure(std::string_view name) const {
  const auto found = std::ranges::find(figures_, name, &Figure::name);
  if (found != figures_.end()) return found->value;
  std::vector<std::string> known;
  for (const Figure& figure : figures_) known.push_back(figure.name);
  throw Error("a figure of the training", "one of " + detail::quoted_list(known),
              "'" + std::string(name) + "'");
}

TYPEFLOW_DEFINITION const Figure& TrainingLoop::main_figure() const {
  return figures_.size() > names_.size() ? figures_[names_.size()] : figures_[0];
}

TYPEFLOW_DEFINITION std::string TrainingLoop::epoch_line() const {
  std::string line =
      "epoch " + std::to_string(result_.epochs) + " of " + std::to_string(options_.epochs);
  for (const Figure& figure : figures_) line += detail::figure_text(figure);
  return line;
}

TYPEFLOW_DEFINITION std::string TrainingLoop::state() const {
  StateWriter record("training");
  for (const std::string& name : names_) record.text(name);
  record.end();
  const bool is_stopped = result_.stopped_early && !is_interrupted_;
  record.number(result_.steps).number(result_.epochs).number(steps_in_epoch_);
  record.number(result_.best_epoch).number(is_stopped ? 1 : 0);
  record.number(result_.loss).number(result_.best_validation);
  for (const double sum : sums_) record.number(sum);
  record.end();
  record.number(static_cast<std::int64_t>(result_.history.epochs().size())).end();
  for (const History::Epoch& epoch : result_.history.epochs()) {
    record.number(epoch.number);
    for (const Figure& figure : epoch.figures) record.text(figure.name).number(figure.value);
    record.end();
  }
  record.number(static_cast<std::int64_t>(callbacks_.size())).end();
  for (const Callback* const callback : callbacks_) record.text(callback->state()).end();
  return record.finish();
}

TYPEFLOW_DEFINITION void TrainingLoop::restore(std::string_view state) {
  StateReader record(state, "training", "the state of a training");
  std::vector<std::string> names;
  while (!record.at_end_of_line()) names.push_back(record.text());
  record.end();
  if (names != names_) {
    throw Error("the state of a training", "the figures " + detail::quoted_list(names_),
                detail::quoted_list(names));
  }
  FitResult result;
  result.steps = record.integer();
  result.epochs = record.integer();
  const std::int64_t steps_in_epoch = record.integer();
  result.best_epoch = record.integer();
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (result.steps < 0 || result.steps > most || result.epochs < 0 || result.epochs > most ||
      steps_in_epoch < 0 || steps_in_epoch > result.steps || result.best_epoch < 0 ||
      result.best_epoch > result.epochs) {
    throw Error("the state of a training", "numbers of steps and epochs that fit each other",
                std::to_string(result.steps) + " steps, " + std::to_string(result.epochs) +
                    " epochs, " + std::to_string(steps_in_epoch) +
                    " steps in the last one, the best one " + std::to_string(result.best_epoch));
  }
  result.stopped_early = record.integer() != 0;
  result.loss = record.number();
  result.best_validation = record.number();
  std::vector<double> sums(sums_.size());
  for (double& sum : sums) sum = record.number();
  record.end();
  const std::int64_t epochs = record.integer();
  record.end();
  for (std::int64_t i = 0; i < epochs; ++i) {
    History::Epoch epoch{record.integer(), {}};
    while (!record.at_end_of_line()) {
      std::string name = record.text();
      epoch.figures.push_back({std::move(name), record.number()});
    }
    record.end();
    result.history.add(std::move(epoch));
  }
  const std::int64_t callbacks = record.integer();
  record.end();
  if (callbacks != static_cast<std::int64_t>(callbacks_.size())) {
    throw Error("the state of a training", std::to_string(callbacks_.size()) + " callbacks",
                std::to_string(callbacks));
  }
  std::vector<std::string> states;
  for (std::int64_t i = 0; i < callbacks; ++i) {
    states.push_back(record.text());
    record.end();
  }
  for (std::size_t i = 0; i < states.size(); ++i) callbacks_[i]->restore(states[i]);
  result_ = std::move(result);
  steps_in_epoch_ = steps_in_epoch;
  sums_ = std::move(sums);
  progress_.start_at(result_.steps);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
