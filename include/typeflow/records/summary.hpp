// SPDX-License-Identifier: Apache-2.0
#pragma once

// Summaries: what TensorBoard shows of a training, as TensorFlow's protocol buffers.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The values of one step, each under a tag. Tags with a common prefix "loss/" are shown together.
///
///   tf::Summary summary;
///   summary.scalar("loss", loss);
///   summary.histogram("weights/W", variables.get<float>("W"));
///   writer.add(summary, step);
class Summary {
 public:
  Summary& scalar(std::string_view tag, double value);
  /// Counts of values, in TensorFlow's buckets, whose limits grow by a tenth. Error if a value is
  /// NaN or infinite.
  Summary& histogram(std::string_view tag, std::span<const double> values);
  template <class T>
    requires std::is_arithmetic_v<T> && (!std::same_as<T, double>)
  Summary& histogram(std::string_view tag, std::span<const T> values) {
    return histogram(tag,
                     std::span<const double>(std::vector<double>(values.begin(), values.end())));
  }
  template <class Values>
    requires std::is_arithmetic_v<typename Values::value_type>
  Summary& histogram(std::string_view tag, const Values& values) {
    return histogram(tag,
                     std::span<const typename Values::value_type>(values.data(), values.size()));
  }
  /// A picture as the bytes of a PNG file (tf::encode_png). channels: 1, 3 or 4.
  Summary& image(std::string_view tag, std::string_view png, std::int32_t width,
                 std::int32_t height, std::int32_t channels);
  /// Sound as samples in [-1, 1], (frames,channels). It is stored as WAV of 16 bits; what is
  /// outside of the range is clipped.
  Summary& audio(std::string_view tag, std::span<const float> samples, double sample_rate,
                 std::int32_t channels = 1);
  /// Markdown.
  Summary& text(std::string_view tag, std::string_view markdown);
  /// A tensor of floats, for plugins and programs that read it.
  Summary& tensor(std::string_view tag, std::span<const float> values,
                  std::span<const std::int64_t> extents);
  /// A precision-recall curve of predictions in [0, 1].
  Summary& pr_curve(std::string_view tag, std::span<const float> predictions,
                    const std::vector<bool>& labels, std::int32_t thresholds = 201);
  /// The settings of a run, for the page of hyperparameters: numbers, texts, booleans.
  using Setting = std::variant<double, std::string, bool>;
  Summary& hyperparameters(const std::map<std::string, Setting, std::less<>>& settings,
                           std::string_view group = "", double start_seconds = 0);

  bool empty() const { return bytes_.empty(); }
  /// tensorflow.Summary.
  const std::string& encoded() const { return bytes_; }

 private:
  std::string bytes_;
};

/// tensorflow.Event: a summary at a step, and the time in seconds since 1970.
std::string encode_event(const Summary& summary, std::int64_t step, double wall_time);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/summary.ipp"
#endif
