// SPDX-License-Identifier: Apache-2.0

// Plots: well-formed SVG, with points where their values say.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/plots.hpp"

namespace tf = typeflow;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Checks that elements are closed in their order, and that texts have no bare special characters.
bool is_well_formed(std::string_view svg) {
  std::vector<std::string_view> open;
  while (!svg.empty()) {
    const std::size_t begin = svg.find('<');
    const std::string_view text = svg.substr(0, begin);
    if (text.find('>') != text.npos) return false;
    for (std::size_t at = text.find('&'); at != text.npos; at = text.find('&', at + 1)) {
      const std::string_view rest = text.substr(at);
      if (!rest.starts_with("&lt;") && !rest.starts_with("&gt;") && !rest.starts_with("&amp;") &&
          !rest.starts_with("&quot;")) {
        return false;
      }
    }
    if (begin == svg.npos) break;
    const std::size_t end = svg.find('>', begin);
    if (end == svg.npos) return false;
    const std::string_view tag = svg.substr(begin + 1, end - begin - 1);
    if (count_of(tag, "\"") % 2 != 0 || tag.find('<') != tag.npos) return false;
    const std::string_view name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    svg.remove_prefix(end + 1);
  }
  return open.empty();
}

/// The values of an attribute of all elements of a kind.
std::vector<double> values_of(std::string_view svg, std::string_view element,
                              std::string_view attribute) {
  std::vector<double> values;
  const std::string tag = "<" + std::string(element) + " ";
  const std::string name = " " + std::string(attribute) + "=\"";
  for (std::size_t at = svg.find(tag); at != svg.npos; at = svg.find(tag, at + 1)) {
    const std::string text(svg.substr(at, svg.find('>', at) - at));
    values.push_back(std::strtod(text.c_str() + text.find(name) + name.size(), nullptr));
  }
  return values;
}

}  // namespace

TEST_CASE("curves are where their values say") {
  const tf::Curve curve{"loss <1>", {1, 2, 4}, {}};
  const std::string svg =
      tf::plot_curves(std::vector{curve}, {.title = "a & b", .x_label = "epoch"});
  CAPTURE(svg);
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "loss &lt;1&gt;") == 5);  // legend twice, and a title of each point
  CHECK(count_of(svg, "a &amp; b") == 1);
  const std::vector<double> x = values_of(svg, "circle", "cx");
  const std::vector<double> y = values_of(svg, "circle", "cy");
  REQUIRE(x.size() == 3);
  CHECK(x[1] - x[0] == doctest::Approx(x[2] - x[1]).epsilon(1e-3));
  CHECK(x[2] > x[0]);
  CHECK(y[0] - y[1] == doctest::Approx((y[1] - y[2]) / 2).epsilon(1e-3));  // pixels count downwards
  CHECK(y[0] > y[2]);
  // On a logarithmic axis 1, 2, 4 have equal distances.
  const std::vector<double> log_y =
      values_of(tf::plot_curves(std::vector{curve}, {.log_y = true}), "circle", "cy");
  CHECK(log_y[0] - log_y[1] == doctest::Approx(log_y[1] - log_y[2]).epsilon(1e-3));
}

TEST_CASE("values that are not finite are gaps, and long curves have no points") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string svg = tf::plot_curves(
      std::vector{tf::Curve{"", {1, not_a_number, 3, 4, infinity, -infinity, 7}, {}}}, {});
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "nan") + count_of(svg, "inf") == 0);
  CHECK(values_of(svg, "circle", "cx").size() == 4);
  const std::size_t path = svg.find("<path");
  CHECK(count_of(svg.substr(path, svg.find('>', path) - path), "M") == 3);
  CHECK(count_of(
            tf::plot_curves(std::vector{tf::Curve{"long", std::vector<double>(1000, 2), {}}}, {}),
            "<circle") == 0);
  // Nothing to show, and one value only.
  CHECK(is_well_formed(tf::plot_curves(std::vector<tf::Curve>{}, {})));
  CHECK(is_well_formed(tf::plot_curves(std::vector{tf::Curve{"x", {not_a_number}, {}}}, {})));
  CHECK(
      values_of(tf::plot_curves(std::vector{tf::Curve{"x", {0}, {}}}, {}), "circle", "cx").size() ==
      1);
  CHECK(values_of(tf::plot_curves(std::vector{tf::Curve{"x", {0, -1, 2}, {}}}, {.log_y = true}),
                  "circle", "cx")
            .size() == 1);
}

TEST_CASE("the curves of a history") {
  tf::History history;
  history.add({1, {{"loss", 3}, {"val_loss", 4}}});
  history.add({2, {{"loss", 2}, {"val_loss", 3}}});
  CHECK(count_of(tf::plot_curves(history), "<path") == 2);
  CHECK(count_of(tf::plot_curves(history, {"loss"}), "<path") == 1);
  CHECK(message_of([&] { tf::plot_curves(history, {"los"}); }) ==
        "History::of: expected one of 'loss', 'val_loss', got 'los'");
}

TEST_CASE("a confusion matrix") {
  const std::vector<std::int32_t> labels{0, 0, 0, 1, 1, 2};
  const std::vector<std::int32_t> predictions{0, 0, 1, 1, 1, 0};
  const std::vector<std::int64_t> counts = tf::confusion_counts(labels, predictions, 3);
  CHECK(counts == std::vector<std::int64_t>{2, 1, 0, 0, 2, 0, 1, 0, 0});
  const std::string svg = tf::plot_confusion(counts, {"cat", "dog", "cow"});
  CHECK(is_well_formed(svg));
  CHECK(count_of(svg, "<title>") == 9);
  CHECK(count_of(svg, "<title>cat taken for dog: 1</title>") == 1);
  CHECK(count_of(svg, "rgb(0,84,140)") == 1);  // all dogs are right
  CHECK(count_of(svg, "rgb(170,30,0)") == 1);  // all cows are wrong
  CHECK(message_of([&] { tf::plot_confusion(std::vector<std::int64_t>(8)); }) ==
        "plot_confusion: expected a square matrix of counts, got 8 counts");
  CHECK(message_of([&] { tf::plot_confusion(counts, {"cat"}); }) ==
        "plot_confusion: expected 3 names, got 1");
  CHECK(message_of([&] { tf::confusion_counts(labels, predictions, 2); }) ==
        "confusion_counts: label: expected 0 to 1, got 2");
  CHECK(message_of([&] { tf::confusion_counts(labels, {}, 3); }) ==
        "confusion_counts: expected 6 predictions, got 0");
}

TEST_CASE("points and bars") {
  const std::vector<float> points{0, 0, 1, 1, 2, static_cast<float>(not_a_number), 2, 0};
  const std::string svg =
      tf::plot_points(points, std::vector<std::int32_t>{0, 1, 0, 9}, {"first", "second"});
  CHECK(is_well_formed(svg));
  CHECK(values_of(svg, "circle", "cx").size() == 3);
  CHECK(message_of([&] { tf::plot_points(points, std::vector<std::int32_t>{0, -1, 0, 1}); }) ==
        "plot_points: class: expected 0 or more, got -1");
  CHECK(message_of([&] { tf::plot_points(points, std::vector<std::int32_t>{0}); }) ==
        "plot_points: expected 4 classes, got 1");
  const std::string bars = tf::plot_bars({{"matmul", 3}, {"add", 1}, {"loss", -1}}, {});
  CHECK(is_well_formed(bars));
  const std::vector<double> widths = values_of(bars, "rect", "width");
  REQUIRE(widths.size() == 4);  // the background first
  CHECK(widths[1] == doctest::Approx(3 * widths[2]).epsilon(1e-3));
  CHECK(widths[2] == doctest::Approx(widths[3]).epsilon(1e-3));
  CHECK(message_of([&] { tf::plot_bars({{"x", not_a_number}}, {}); }) ==
        "plot_bars: 'x': expected a finite number, got nan");
  CHECK(message_of([&] { tf::plot_bars({}, {.width = 10}); }) ==
        "plot: expected at least 160 times 120 pixels, got 10 times 400");
}

TEST_CASE("a plot is written as a whole") {
  const Folder folder;
  tf::write_plot(folder / "a.svg", "<svg/>");
  std::ifstream file(folder / "a.svg");
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "<svg/>");
  CHECK(message_of([&] { tf::write_plot(folder / "none/a.svg", "<svg/>"); }).find("none/a.svg") !=
        std::string::npos);
}
