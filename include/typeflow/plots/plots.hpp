// SPDX-License-Identifier: Apache-2.0
#pragma once

// Curves, confusion matrices, points and bars as SVG texts, which browsers show.
//
//   tf::write_plot("loss.svg", tf::plot_curves(result.history, {"loss", "val_loss"}));

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/config.hpp"
#include "typeflow/training/figures.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct PlotOptions {
  std::string title{};
  std::string x_label{};
  std::string y_label{};
  int width = 640;  ///< pixels, at least 160
  int height = 400;
  bool log_y = false;  ///< a logarithmic axis; values that are not positive are left out
};

/// A curve: y over x, or over 1, 2, 3... if there is no x. NaN and infinite values are gaps.
struct Curve {
  std::string name{};
  std::vector<double> y{};
  std::vector<double> x{};
};

/// Curves with axes and a legend. Error if x and y of a curve have different lengths, or if the
/// size is too small.
std::string plot_curves(std::span<const Curve> curves, const PlotOptions& options = {});
/// Figures of a training's history over its epochs; all of them if no name is given. Error for a
/// name that the history lacks.
std::string plot_curves(const History& history, const std::vector<std::string>& names = {},
                        const PlotOptions& options = {.x_label = "epoch"});

/// A confusion matrix: row i, column j has the number of examples of class i that were taken for
/// class j, counts[i * classes + j]. The shades are shares of rows. Names are those of classes;
/// none: their numbers. Error if the number of counts is no square, or that of names is wrong.
std::string plot_confusion(std::span<const std::int64_t> counts,
                           const std::vector<std::string>& names = {},
                           const PlotOptions& options = {.x_label = "predicted",
                                                         .y_label = "true class"});
/// Counts for it: Error if a label is not in 0...classes-1, or if the lengths differ.
std::vector<std::int64_t> confusion_counts(std::span<const std::int32_t> labels,
                                           std::span<const std::int32_t> predictions,
                                           std::int64_t classes);

/// Points of a plane, such as embeddings after a projection, (N,2) row-major, coloured by class.
/// Without classes all have one colour. Names are those of classes, for the legend. Points that are
/// not finite are left out. Error if a class is negative, or the lengths differ.
std::string plot_points(std::span<const float> points, std::span<const std::int32_t> classes = {},
                        const std::vector<std::string>& names = {},
                        const PlotOptions& options = {});

/// A bar for each figure, with its value, in their order. Bars begin at 0. Error if a value is not
/// finite.
std::string plot_bars(const Figures& figures, const PlotOptions& options = {});

/// Writes a plot, or another text; an existing file is replaced as a whole. Error if it can't be
/// written.
void write_plot(const std::string& path, const std::string& svg);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED
#include "typeflow/plots/plots.ipp"
#endif
