// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/training/callbacks.hpp"
#include "typeflow/training/state_text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION bool detail::BestFigure::update(const TrainingLoop& loop) {
  const double value =
      watched_.figure.empty() ? loop.main_figure().value : loop.figure(watched_.figure);
  const double gain = watched_.goal == Goal::fall ? value_ - value : value - value_;
  const bool is_better = epoch_ == 0 ? !std::isnan(value) : gain > watched_.min_delta;
  if (is_better) {
    epoch_ = loop.epochs();
    value_ = value;
  }
  return is_better;
}

TYPEFLOW_DEFINITION std::string detail::BestFigure::state(std::string_view kind) const {
  return StateWriter(kind).number(epoch_).number(value_).end().finish();
}

TYPEFLOW_DEFINITION void detail::BestFigure::restore(std::string_view state,
                                                     std::string_view kind) {
  StateReader reader(state, kind, "the state of a " + std::string(kind));
  const std::int64_t epoch = reader.integer();
  value_ = reader.number();
  epoch_ = epoch;
}

TYPEFLOW_DEFINITION EarlyStopping::EarlyStopping(Watched watched, std::int64_t patience)
    : best_(std::move(watched)), patience_(patience) {
  if (patience < 1) throw Error("EarlyStopping: patience", "1 or more", std::to_string(patience));
}

TYPEFLOW_DEFINITION void EarlyStopping::on_epoch(TrainingLoop& loop) {
  best_.update(loop);
  if (loop.epochs() - best_.epoch() >= patience_) loop.stop();
}

TYPEFLOW_DEFINITION std::string EarlyStopping::state() const {
  return best_.state("EarlyStopping");
}

TYPEFLOW_DEFINITION void EarlyStopping::restore(std::string_view state) {
  best_.restore(state, "EarlyStopping");
}

TYPEFLOW_DEFINITION ReduceOnPlateau::ReduceOnPlateau(Variables& variables, std::string rate,
                                                     ReduceOnPlateauOptions options)
    : variables_(variables),
      name_(std::move(rate)),
      options_(std::move(options)),
      best_(options_.watched) {
  if (!(options_.factor > 0 && options_.factor < 1)) {
    throw Error("ReduceOnPlateau: factor", "more than 0 and less than 1",
                std::to_string(options_.factor));
  }
  if (options_.patience < 1) {
    throw Error("ReduceOnPlateau: patience", "1 or more", std::to_string(options_.patience));
  }
  if (options_.cooldown < 0) {
    throw Error("ReduceOnPlateau: cooldown", "0 or more", std::to_string(options_.cooldown));
  }
  if (!(options_.least >= 0)) {
    throw Error("ReduceOnPlateau: least", "0 or more", std::to_string(options_.least));
  }
}

TYPEFLOW_DEFINITION double ReduceOnPlateau::rate() const {
  const Variables& variables = variables_;
  const DType dtype = variables.dtype(name_);
  if (variables.dims(name_).rank != 0 || (dtype != DType::float32 && dtype != DType::float64)) {
    throw Error("ReduceOnPlateau: variable '" + name_ + "'", "a scalar of float or double",
                detail::to_string(dtype, variables.dims(name_)));
  }
  return dtype == DType::float64 ? variables.get<double>(name_)[0]
                                 : static_cast<double>(variables.get<float>(name_)[0]);
}

TYPEFLOW_DEFINITION void ReduceOnPlateau::on_begin(TrainingLoop&) {
  rate();
  best_.reset();
  waited_ = cooling_ = 0;
}

TYPEFLOW_DEFINITION void ReduceOnPlateau::on_epoch(TrainingLoop& loop) {
  if (cooling_ > 0) --cooling_;
  waited_ = best_.update(loop) || cooling_ > 0 ? 0 : waited_ + 1;
  if (waited_ < options_.patience) return;
  const double before = rate();
  const double after = std::max(before * options_.factor, options_.least);
  if (!(after < before)) return;
  if (variables_.dtype(name_) == DType::float64) {
    variables_.set<double>(name_, std::span<const double>(&after, 1));
  } else {
    const auto single = static_cast<float>(after);
    variables_.set<float>(name_, std::span<const float>(&single, 1));
  }
  char text[48];
  std::snprintf(text, sizeof text, " from %.4g to %.4g", before, after);
  loop.print("epoch " + std::to_string(loop.epochs()) + ": reduced " + name_ + text);
  waited_ = 0;
  cooling_ = options_.cooldown;
}

TYPEFLOW_DEFINITION std::string ReduceOnPlateau::state() const {
  return StateWriter("ReduceOnPlateau")
      .text(best_.state("BestFigure"))
      .number(waited_)
      .number(cooling_)
      .end()
      .finish();
}

TYPEFLOW_DEFINITION void ReduceOnPlateau::restore(std::string_view state) {
  StateReader reader(state, "ReduceOnPlateau", "the state of a ReduceOnPlateau");
  const std::string best = reader.text();
  const std::int64_t waited = reader.integer();
  const std::int64_t cooling = reader.integer();
  best_.restore(best, "BestFigure");
  waited_ = waited;
  cooling_ = cooling;
}

TYPEFLOW_DEFINITION std::string csv_of(const History& history) {
  const auto field = [](const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
  };
  const std::vector<std::string> names = history.names();
  std::string table = "epoch";
  for (const std::string& name : names) (table += ",") += field(name);
  table += "\n";
  for (const History::Epoch& epoch : history.epochs()) {
    table += std::to_string(epoch.number);
    for (const std::string& name : names) {
      table += ",";
      const auto found = std::ranges::find(epoch.figures, name, &Figure::name);
      if (found != epoch.figures.end()) table += detail::exact_text(found->value);
    }
    table += "\n";
  }
  return table;
}

TYPEFLOW_DEFINITION void CsvLog::on_epoch(TrainingLoop& loop) {
  detail::replace_file(path_, csv_of(loop.history()));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
