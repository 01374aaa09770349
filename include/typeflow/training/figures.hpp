// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named numbers of a training, and its history.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A number with a name: {"accuracy", 0.97}.
struct Figure {
  std::string name;
  double value = 0;

  bool operator==(const Figure&) const = default;
};
using Figures = std::vector<Figure>;

/// The result of a validation: one number, whose name is "validation", or several with names. In
/// histories and logs "val_" stands before these names.
///
///   .validate = [&]() -> tf::Validation { return {{"loss", loss}, {"accuracy", accuracy}}; }
class Validation {
 public:
  Validation(double value) { figures_.push_back({"validation", value}); }
  Validation(std::initializer_list<Figure> figures) : Validation(Figures(figures)) {}
  Validation(Figures figures) : figures_(std::move(figures)) {
    for (Figure& figure : figures_) figure.name.insert(0, "val_");
  }

  const Figures& figures() const { return figures_; }

 private:
  Figures figures_;
};

/// Whether a figure should fall, as a loss, or rise, as an accuracy.
enum class Goal : std::uint8_t { fall, rise };

/// The figures of the epochs of a training: means of the steps' figures, and those of validations.
class History {
 public:
  struct Epoch {
    std::int64_t number = 0;  ///< from 1 on
    Figures figures;

    bool operator==(const Epoch&) const = default;
  };

  const std::vector<Epoch>& epochs() const { return epochs_; }
  /// The names of all figures, in the order in which they came.
  std::vector<std::string> names() const;
  /// A figure of all epochs; NaN for epochs without it. Error if no epoch has it.
  std::vector<double> of(std::string_view name) const;

  void add(Epoch epoch) { epochs_.push_back(std::move(epoch)); }
  bool operator==(const History&) const = default;

 private:
  std::vector<Epoch> epochs_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/training/figures.ipp"
#endif
