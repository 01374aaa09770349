// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/core/xml_text.hpp"
#include "typeflow/plots/plots.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Colours that people with any colour vision can tell apart. (Okabe and Ito, Color Universal
/// Design, 2008.)
inline constexpr std::array<const char*, 8> plot_colors = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#a6761d"};

inline const char* plot_color(std::size_t i) { return plot_colors[i % plot_colors.size()]; }

TYPEFLOW_COLD inline std::string svg_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}
/// A number of an axis or a bar.
TYPEFLOW_COLD inline std::string short_number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// Round numbers that divide a range into some `wanted` parts: 1, 2 or 5 times a power of ten.
TYPEFLOW_COLD inline std::vector<double> round_ticks(double low, double high, int wanted) {
  const double rough = (high - low) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double scaled = rough / power;
  const double step = power * (scaled < 1.5 ? 1 : scaled < 3.5 ? 2 : scaled < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last && ticks.size() < 100; ++i) ticks.push_back(i * step + 0.0);
  return ticks;
}

/// An axis: values are shown from `low` to `high`, at pixels from `begin` to `end`.
struct PlotAxis {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool is_log = false;
  double begin = 0;
  double end = 1;

  bool shows(double value) const { return std::isfinite(value) && (!is_log || value > 0); }
  double scaled(double value) const { return is_log ? std::log10(value) : value; }
  void include(double value) {
    if (!shows(value)) return;
    low = std::min(low, scaled(value));
    high = std::max(high, scaled(value));
  }
  /// Widens a range without values, or with one.
  void settle() {
    if (!(low <= high)) low = 0, high = 1;
    if (low == high) {
      const double width = low == 0 ? 1 : std::abs(low) * 0.1;
      low -= width;
      high += width;
    }
  }
  double at(double value) const {
    return begin + (scaled(value) - low) / (high - low) * (end - begin);
  }
  /// Values of marks, and their texts.
  std::vector<std::pair<double, std::string>> ticks(int wanted) const {
    std::vector<double> values;
    if (is_log) {  // 1, 2 and 5 times powers of ten; of many powers, these alone
      for (double power = std::floor(low); power <= high && values.size() < 100; ++power) {
        for (const double factor : {1.0, 2.0, 5.0}) {
          const double tick = power + std::log10(factor);
          if (tick < low || tick > high || (factor > 1 && high - low > 3)) continue;
          values.push_back(factor * std::pow(10, power));
        }
      }
    } else {
      values = round_ticks(low, high, wanted);
    }
    std::vector<std::pair<double, std::string>> out;
    for (const double value : values) out.emplace_back(value, short_number(value));
    return out;
  }
};

/// An SVG text in the making.
class Plot {
 public:
  explicit Plot(const PlotOptions& options) : options_(options) {
    if (options.width < 160 || options.height < 120) {
      throw Error("plot", "at least 160 times 120 pixels",
                  std::to_string(options.width) + " times " + std::to_string(options.height));
    }
    svg_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(options.width) +
           "\" height=\"" + std::to_string(options.height) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
           "fill=\"#fff\"/>\n";
    if (!options.title.empty()) {
      text(options.width / 2.0, 20, options.title, "middle", "font-size=\"15\"");
    }
  }

  double width() const { return options_.width; }
  double height() const { return options_.height; }
  double top() const { return options_.title.empty() ? 14 : 34; }

  void text(double x, double y, const std::string& text, const char* anchor = "start",
            const std::string& more = "") {
    svg_ += "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" +
            anchor + "\" " + more + ">" + xml_escaped(text) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* color) {
    svg_ += "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
            svg_number(x2) + "\" y2=\"" + svg_number(y2) + "\" stroke=\"" + color + "\"/>\n";
  }
  void box(double x, double y, double w, double h, const std::string& color,
           const std::string& title) {
    svg_ += "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" +
            svg_number(w) + "\" height=\"" + svg_number(h) + "\" fill=\"" + color + "\"><title>" +
            xml_escaped(title) + "</title></rect>\n";
  }
  void point(double x, double y, double radius, const char* color, const std::string& title) {
    svg_ += "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) + "\" r=\"" +
            svg_number(radius) + "\" fill=\"" + color + "\" fill-opacity=\"0.7\"";
    svg_ += title.empty() ? "/>\n" : "><title>" + xml_escaped(title) + "</title></circle>\n";
  }
  void path(const std::string& moves, const char* color) {
    svg_ += "<path d=\"" + moves + "\" fill=\"none\" stroke=\"" + color +
            "\" stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n";
  }
  /// Lines, marks and names of both axes.
  void axes(const PlotAxis& x, const PlotAxis& y) {
    for (const auto& [value, label] : y.ticks(6)) {
      line(x.begin, y.at(value), x.end, y.at(value), "#e6e6e6");
      text(x.begin - 6, y.at(value) + 4, label, "end");
    }
    for (const auto& [value, label] : x.ticks(8)) {
      line(x.at(value), y.begin, x.at(value), y.begin + 4, "#444");
      text(x.at(value), y.begin + 17, label, "middle");
    }
    line(x.begin, y.begin, x.end, y.begin, "#444");
    line(x.begin, y.begin, x.begin, y.end, "#444");
    labels((x.begin + x.end) / 2, (y.begin + y.end) / 2);
  }
  void labels(double x, double y) {
    if (!options_.x_label.empty()) text(x, height() - 6, options_.x_label, "middle");
    if (!options_.y_label.empty()) {
      text(14, y, options_.y_label, "middle", "transform=\"rotate(-90 14 " + svg_number(y) + ")\"");
    }
  }
  /// A list of names with their colours, at the right of `x`.
  void legend(double x, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double y = top() + 16.0 * static_cast<double>(i);
      if (y > height() - 16) return;
      box(x, y, 10, 10, plot_color(i), names[i]);
      text(x + 15, y + 10, names[i]);
    }
  }
  std::string finish() {
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  const PlotOptions& options_;
  std::string svg_;
};

/// The place that a legend needs.
TYPEFLOW_COLD inline double legend_width(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  return names.empty() ? 0 : std::min(200.0, 26 + 7.0 * static_cast<double>(longest));
}

TYPEFLOW_COLD inline void place(PlotAxis& x, PlotAxis& y, const Plot& plot, double legend) {
  x.settle();
  y.settle();
  x.begin = 62;
  x.end = plot.width() - 16 - legend;
  y.begin = plot.height() - 42;
  y.end = plot.top();
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string plot_curves(std::span<const Curve> curves,
                                                          const PlotOptions& options) {
  detail::Plot plot(options);
  detail::PlotAxis x;
  detail::PlotAxis y{.is_log = options.log_y};
  std::vector<std::string> names;
  const auto x_of = [](const Curve& curve, std::size_t i) {
    return curve.x.empty() ? static_cast<double>(i + 1) : curve.x[i];
  };
  for (const Curve& curve : curves) {
    if (!curve.x.empty() && curve.x.size() != curve.y.size()) {
      throw Error("plot_curves: curve '" + curve.name + "'",
                  std::to_string(curve.y.size()) + " values of x", std::to_string(curve.x.size()));
    }
    names.push_back(curve.name);
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      if (!x.shows(x_of(curve, i)) || !y.shows(curve.y[i])) continue;
      x.include(x_of(curve, i));
      y.include(curve.y[i]);
    }
  }
  detail::place(x, y, plot, detail::legend_width(names));
  plot.axes(x, y);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const Curve& curve = curves[c];
    std::string moves;
    bool is_open = false;
    for (std::size_t i = 0; i < curve.y.size(); ++i) {
      if (!x.shows(x_of(curve, i)) || !y.shows(curve.y[i])) {
        is_open = false;
        continue;
      }
      const double px = x.at(x_of(curve, i));
      const double py = y.at(curve.y[i]);
      moves += (is_open ? "L" : "M") + detail::svg_number(px) + " " + detail::svg_number(py);
      is_open = true;
      if (curve.y.size() <= 60) {
        plot.point(px, py, 2.5, detail::plot_color(c),
                   curve.name + " " + detail::short_number(curve.y[i]));
      }
    }
    if (!moves.empty()) plot.path(moves, detail::plot_color(c));
  }
  plot.legend(x.end + 10, names);
  return plot.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string plot_curves(const History& history,
                                                          const std::vector<std::string>& names,
                                                          const PlotOptions& options) {
  std::vector<Curve> curves;
  for (const std::string& name : names.empty() ? history.names() : names) {
    curves.push_back({name, history.of(name), {}});
    for (const History::Epoch& epoch : history.epochs()) {
      curves.back().x.push_back(static_cast<double>(epoch.number));
    }
  }
  return plot_curves(curves, options);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string plot_confusion(std::span<const std::int64_t> counts,
                                                             const std::vector<std::string>& names,
                                                             const PlotOptions& options) {
  std::size_t classes = 0;
  while (classes * classes < counts.size()) ++classes;
  if (classes == 0 || classes * classes != counts.size()) {
    throw Error("plot_confusion", "a square matrix of counts",
                std::to_string(counts.size()) + " counts");
  }
  if (!names.empty() && names.size() != classes) {
    throw Error("plot_confusion", std::to_string(classes) + " names", std::to_string(names.size()));
  }
  const auto name = [&](std::size_t i) { return names.empty() ? std::to_string(i) : names[i]; };
  std::size_t longest = 0;
  for (std::size_t i = 0; i < classes; ++i) longest = std::max(longest, name(i).size());
  detail::Plot plot(options);
  const double left = 30 + std::min(150.0, 7.0 * static_cast<double>(longest));
  const double top = plot.top() + 6;
  const double n = static_cast<double>(classes);
  const double w = (plot.width() - left - 12) / n;
  const double h = (plot.height() - top - 44) / n;
  for (std::size_t i = 0; i < classes; ++i) {
    const std::span<const std::int64_t> row = counts.subspan(i * classes, classes);
    double sum = 0;
    for (const std::int64_t count : row) {
      if (count < 0) throw Error("plot_confusion", "counts of 0 or more", std::to_string(count));
      sum += static_cast<double>(count);
    }
    const double y = top + h * static_cast<double>(i);
    plot.text(left - 6, y + h / 2 + 4, name(i), "end");
    for (std::size_t j = 0; j < classes; ++j) {
      const double share = sum > 0 ? static_cast<double>(row[j]) / sum : 0;
      // From white to a dark blue, or for mistakes to a dark red.
      const auto mixed = [&](int dark) {
        return std::to_string(static_cast<int>(std::lround(255 + (dark - 255) * share)));
      };
      const std::string color = i == j
                                    ? "rgb(" + mixed(0) + "," + mixed(84) + "," + mixed(140) + ")"
                                    : "rgb(" + mixed(170) + "," + mixed(30) + "," + mixed(0) + ")";
      const double x = left + w * static_cast<double>(j);
      plot.box(x, y, w - 1, h - 1, color,
               name(i) + " taken for " + name(j) + ": " + std::to_string(row[j]));
      if (row[j] > 0 && w > 24 && h > 12) {
        plot.text(x + w / 2, y + h / 2 + 4, std::to_string(row[j]), "middle",
                  share > 0.5 ? "fill=\"#fff\"" : "");
      }
    }
  }
  for (std::size_t j = 0; j < classes; ++j) {
    plot.text(left + w * (static_cast<double>(j) + 0.5), top + h * n + 15, name(j), "middle");
  }
  plot.labels(left + w * n / 2, top + h * n / 2);
  return plot.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::int64_t> confusion_counts(
    std::span<const std::int32_t> labels, std::span<const std::int32_t> predictions,
    std::int64_t classes) {
  if (classes < 1) throw Error("confusion_counts: classes", "1 or more", std::to_string(classes));
  if (labels.size() != predictions.size()) {
    throw Error("confusion_counts", std::to_string(labels.size()) + " predictions",
                std::to_string(predictions.size()));
  }
  const auto index = [&](const char* what, std::int32_t value) {
    if (value < 0 || value >= classes) {
      throw Error(std::string("confusion_counts: ") + what, "0 to " + std::to_string(classes - 1),
                  std::to_string(value));
    }
    return static_cast<std::size_t>(value);
  };
  const auto n = static_cast<std::size_t>(classes);
  std::vector<std::int64_t> counts(n * n);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ++counts[index("label", labels[i]) * n + index("prediction", predictions[i])];
  }
  return counts;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string plot_points(std::span<const float> points,
                                                          std::span<const std::int32_t> classes,
                                                          const std::vector<std::string>& names,
                                                          const PlotOptions& options) {
  const std::size_t count = points.size() / 2;
  if (points.size() % 2 != 0) {
    throw Error("plot_points", "two coordinates of each point",
                std::to_string(points.size()) + " numbers");
  }
  if (!classes.empty() && classes.size() != count) {
    throw Error("plot_points", std::to_string(count) + " classes", std::to_string(classes.size()));
  }
  for (const std::int32_t c : classes) {
    if (c < 0) throw Error("plot_points: class", "0 or more", std::to_string(c));
  }
  detail::Plot plot(options);
  detail::PlotAxis x;
  detail::PlotAxis y{.is_log = options.log_y};
  const auto coordinates = [&](std::size_t i) {
    return std::pair(static_cast<double>(points[2 * i]), static_cast<double>(points[2 * i + 1]));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto [px, py] = coordinates(i);
    if (!x.shows(px) || !y.shows(py)) continue;
    x.include(px);
    y.include(py);
  }
  detail::place(x, y, plot, detail::legend_width(names));
  plot.axes(x, y);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [px, py] = coordinates(i);
    if (!x.shows(px) || !y.shows(py)) continue;
    const std::size_t c = classes.empty() ? 0 : static_cast<std::size_t>(classes[i]);
    plot.point(x.at(px), y.at(py), count > 2000 ? 1.5 : 3, detail::plot_color(c),
               c < names.size() ? names[c] : "");
  }
  plot.legend(x.end + 10, names);
  return plot.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string plot_bars(const Figures& figures,
                                                        const PlotOptions& options) {
  detail::Plot plot(options);
  std::size_t longest = 0;
  detail::PlotAxis x;
  x.include(0);
  for (const Figure& figure : figures) {
    if (!std::isfinite(figure.value)) {
      throw Error("plot_bars: '" + figure.name + "'", "a finite number",
                  std::to_string(figure.value));
    }
    longest = std::max(longest, figure.name.size());
    x.include(figure.value);
  }
  x.settle();
  x.begin = 24 + std::min(240.0, 7.0 * static_cast<double>(longest));
  x.end = plot.width() - 70;
  const double h = (plot.height() - plot.top() - 30) /
                   static_cast<double>(std::max<std::size_t>(figures.size(), 1));
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double y = plot.top() + h * static_cast<double>(i);
    const double from = std::min(x.at(0), x.at(figures[i].value));
    const double to = std::max(x.at(0), x.at(figures[i].value));
    const std::string value = detail::short_number(figures[i].value);
    plot.box(from, y + h * 0.1, to - from, h * 0.8, detail::plot_color(0),
             figures[i].name + " " + value);
    plot.text(x.begin - 8, y + h / 2 + 4, figures[i].name, "end");
    plot.text(to + 5, y + h / 2 + 4, value);
  }
  plot.labels((x.begin + x.end) / 2, plot.height() / 2);
  return plot.finish();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void write_plot(const std::string& path, const std::string& svg) {
  detail::replace_file(path, svg);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
