// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <protozero/pbf_writer.hpp>

#include "typeflow/core/error.hpp"
#include "typeflow/records/encoded_event.hpp"
#include "typeflow/records/summary.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

// Numbers of fields: tensorflow/core/framework/summary.proto, tensor.proto, util/event.proto, and
// the plugins' of TensorBoard.

/// Appends a value with a tag. f(writer) writes what it has besides.
template <class F>
void add_summary_value(std::string& summary, std::string_view tag, const F& f) {
  protozero::pbf_writer out(summary);
  protozero::pbf_writer value(out, 1);
  value.add_string(1, tag.data(), tag.size());
  f(value);
}
inline void write_plugin(protozero::pbf_writer& value, std::string_view plugin,
                         std::string_view content) {
  protozero::pbf_writer metadata(value, 9);
  protozero::pbf_writer data(metadata, 1);
  data.add_string(1, plugin.data(), plugin.size());
  if (!content.empty()) data.add_bytes(2, content.data(), content.size());
}
inline void write_shape(protozero::pbf_writer& tensor, std::span<const std::int64_t> extents) {
  if (extents.empty()) return tensor.add_message(2, protozero::data_view{"", 0});
  protozero::pbf_writer shape(tensor, 2);
  for (const std::int64_t extent : extents) {
    protozero::pbf_writer dimension(shape, 2);
    dimension.add_int64(1, extent);
  }
}
inline constexpr std::int32_t dt_float = 1;
inline constexpr std::int32_t dt_string = 7;

inline void write_floats(protozero::pbf_writer& value, std::span<const float> values,
                         std::span<const std::int64_t> extents) {
  protozero::pbf_writer tensor(value, 8);
  tensor.add_enum(1, dt_float);
  write_shape(tensor, extents);
  if (!values.empty()) tensor.add_packed_float(5, values.begin(), values.end());
}

/// The limits of TensorFlow's buckets (core/lib/histogram): 1e-12 times powers of 1.1, their
/// negatives, and the largest doubles.
TYPEFLOW_COLD inline const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive;
    for (double v = 1.0e-12; v < 1.0e20; v *= 1.1) positive.push_back(v);
    positive.push_back(std::numeric_limits<double>::max());
    std::vector<double> all;
    for (std::size_t i = positive.size(); i-- > 0;) all.push_back(-positive[i]);
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

/// Finds buckets of numbers by their upper 16 bits: sign, exponent and four bits of the mantissa.
/// Numbers that have these in common are in two buckets at most, or three.
class BucketFinder {
 public:
  TYPEFLOW_COLD BucketFinder() {
    const std::vector<double>& limits = bucket_limits();
    for (std::uint64_t key = 0; key < first_.size(); ++key) {
      const bool negative = key >> 15 != 0;
      const auto least = std::bit_cast<double>(key << 48 | (negative ? (1ull << 48) - 1 : 0));
      if (!std::isfinite(least)) continue;
      const auto found = std::upper_bound(limits.begin(), limits.end() - 1, least);
      first_[key] = static_cast<std::uint16_t>(found - limits.begin());
    }
  }
  /// The bucket of a finite number: the first whose limit is above it, or the last one.
  std::size_t operator()(double value) const {
    const std::vector<double>& limits = limits_;
    std::size_t i = first_[std::bit_cast<std::uint64_t>(value) >> 48];
    while (value >= limits[i] && i + 1 < limits.size()) ++i;
    return i;
  }

 private:
  const std::vector<double>& limits_ = bucket_limits();
  std::vector<std::uint16_t> first_ = std::vector<std::uint16_t>(1 << 16);
};

/// A WAV file of 16 bits.
TYPEFLOW_COLD inline std::string wav_of(std::span<const float> samples, double sample_rate,
                                        std::int32_t channels) {
  std::string out;
  const auto put = [&](std::uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> 8 * i & 0xffu);
  };
  const auto data = static_cast<std::uint32_t>(2 * samples.size());
  const auto rate = static_cast<std::uint32_t>(std::lround(sample_rate));
  const auto wide = static_cast<std::uint32_t>(channels);
  out += "RIFF";
  put(36 + data, 4);
  out += "WAVEfmt ";
  put(16, 4);
  put(1, 2);  // PCM
  put(wide, 2);
  put(rate, 4);
  put(rate * wide * 2, 4);
  put(wide * 2, 2);
  put(16, 2);
  out += "data";
  put(data, 4);
  for (const float sample : samples) {
    const float scaled = sample == sample ? std::round(sample * 32768.0f) : 0.0f;  // TensorFlow's
    put(static_cast<std::uint32_t>(std::lround(std::clamp(scaled, -32768.0f, 32767.0f))), 2);
  }
  return out;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::scalar(std::string_view tag, double value) {
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    out.add_float(2, static_cast<float>(value));
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::histogram(std::string_view tag,
                                                              std::span<const double> values) {
  const std::vector<double>& limits = detail::bucket_limits();
  static const detail::BucketFinder bucket_of;
  std::vector<double> counts(limits.size(), 0);
  double least = std::numeric_limits<double>::max();
  double most = -std::numeric_limits<double>::max();
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      throw Error("Summary::histogram(\"" + std::string(tag) + "\")", "finite values",
                  std::to_string(value));
    }
    ++counts[bucket_of(value)];
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
    squares += value * value;
  }
  // A run of empty buckets is one bucket.
  std::vector<double> kept_limits;
  std::vector<double> kept;
  for (std::size_t i = 0; i < counts.size();) {
    double end = limits[i];
    const double count = counts[i++];
    while (count <= 0 && i < counts.size() && counts[i] <= 0) end = limits[i++];
    kept_limits.push_back(end);
    kept.push_back(count);
  }
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    protozero::pbf_writer histogram(out, 5);
    const auto put = [&](protozero::pbf_tag_type field, double number) {
      if (number != 0 || std::signbit(number)) histogram.add_double(field, number);
    };
    put(1, least);
    put(2, most);
    put(3, static_cast<double>(values.size()));
    put(4, sum);
    put(5, squares);
    histogram.add_packed_double(6, kept_limits.begin(), kept_limits.end());
    histogram.add_packed_double(7, kept.begin(), kept.end());
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::image(std::string_view tag,
                                                          std::string_view png, std::int32_t width,
                                                          std::int32_t height,
                                                          std::int32_t channels) {
  if (channels != 1 && channels != 3 && channels != 4) {
    throw Error("Summary::image", "1, 3 or 4 channels", std::to_string(channels));
  }
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    protozero::pbf_writer image(out, 4);
    image.add_int32(1, height);
    image.add_int32(2, width);
    image.add_int32(3, channels);
    image.add_bytes(4, png.data(), png.size());
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::audio(std::string_view tag,
                                                          std::span<const float> samples,
                                                          double sample_rate,
                                                          std::int32_t channels) {
  if (channels < 1 || samples.size() % static_cast<std::size_t>(channels) != 0) {
    throw Error("Summary::audio", "whole frames of " + std::to_string(channels) + " channels",
                std::to_string(samples.size()) + " samples");
  }
  if (!(sample_rate > 0 && sample_rate < 1e9) || samples.size() > (std::size_t{1} << 30)) {
    throw Error("Summary::audio", "a sample rate above 0, and at most 2^30 samples",
                std::to_string(sample_rate) + ", " + std::to_string(samples.size()));
  }
  const std::string wav = detail::wav_of(samples, sample_rate, channels);
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    protozero::pbf_writer audio(out, 6);
    audio.add_float(1, static_cast<float>(sample_rate));
    audio.add_int64(2, channels);
    audio.add_int64(3, static_cast<std::int64_t>(samples.size()) / channels);
    audio.add_bytes(4, wav);
    audio.add_string(5, "audio/wav");
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::text(std::string_view tag,
                                                         std::string_view markdown) {
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    {
      protozero::pbf_writer tensor(out, 8);
      tensor.add_enum(1, detail::dt_string);
      detail::write_shape(tensor, {});
      tensor.add_bytes(8, markdown.data(), markdown.size());
    }
    detail::write_plugin(out, "text", "");
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::tensor(std::string_view tag,
                                                           std::span<const float> values,
                                                           std::span<const std::int64_t> extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  if (count != static_cast<std::int64_t>(values.size())) {
    throw Error("Summary::tensor", std::to_string(count) + " values, as the extents say",
                std::to_string(values.size()));
  }
  detail::add_summary_value(
      bytes_, tag, [&](protozero::pbf_writer& out) { detail::write_floats(out, values, extents); });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::pr_curve(std::string_view tag,
                                                             std::span<const float> predictions,
                                                             const std::vector<bool>& labels,
                                                             std::int32_t thresholds) {
  if (predictions.size() != labels.size()) {
    throw Error("Summary::pr_curve", std::to_string(predictions.size()) + " labels",
                std::to_string(labels.size()));
  }
  if (thresholds < 2) {
    throw Error("Summary::pr_curve", "2 thresholds or more", std::to_string(thresholds));
  }
  const auto n = static_cast<std::size_t>(thresholds);
  // Predictions by the highest threshold that they reach; then sums from above.
  std::vector<double> positives(n, 0);
  std::vector<double> negatives(n, 0);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    if (!(predictions[i] >= 0 && predictions[i] <= 1)) {
      throw Error("Summary::pr_curve", "predictions in [0, 1]", std::to_string(predictions[i]));
    }
    const auto bucket = static_cast<std::size_t>(
        std::floor(static_cast<double>(predictions[i]) * static_cast<double>(n - 1)));
    (labels[i] ? positives : negatives)[bucket] += 1;
  }
  for (std::size_t i = n - 1; i-- > 0;) {
    positives[i] += positives[i + 1];
    negatives[i] += negatives[i + 1];
  }
  // Rows: true and false positives, true and false negatives, precision, recall.
  std::vector<float> rows(6 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const double right = positives[i];
    const double wrong = negatives[i];
    const double all[] = {right,
                          wrong,
                          negatives[0] - wrong,
                          positives[0] - right,
                          right / std::max(1e-7, right + wrong),
                          right / std::max(1e-7, positives[0])};
    for (std::size_t row = 0; row < 6; ++row) rows[row * n + i] = static_cast<float>(all[row]);
  }
  std::string content;
  protozero::pbf_writer(content).add_int32(2, thresholds);
  const std::array<std::int64_t, 2> extents{6, thresholds};
  detail::add_summary_value(bytes_, tag, [&](protozero::pbf_writer& out) {
    detail::write_floats(out, rows, extents);
    detail::write_plugin(out, "pr_curves", content);
  });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Summary& Summary::hyperparameters(
    const std::map<std::string, Setting, std::less<>>& settings, std::string_view group,
    double start_seconds) {
  std::string content;
  {
    protozero::pbf_writer plugin(content);
    protozero::pbf_writer start(plugin, 3);
    for (const auto& [name, setting] : settings) {
      protozero::pbf_writer entry(start, 1);
      entry.add_string(1, name);
      protozero::pbf_writer value(entry, 2);
      if (const auto* const number = std::get_if<double>(&setting)) {
        value.add_double(2, *number);
      } else if (const auto* const text = std::get_if<std::string>(&setting)) {
        value.add_string(3, *text);
      } else {
        value.add_bool(4, std::get<bool>(setting));
      }
    }
    if (!group.empty()) start.add_string(4, group.data(), group.size());
    if (start_seconds != 0) start.add_double(5, start_seconds);
  }
  detail::add_summary_value(bytes_, "_hparams_/session_start_info",
                            [&](protozero::pbf_writer& out) {
                              const std::array<std::int64_t, 1> no_elements{0};
                              detail::write_floats(out, {}, no_elements);
                              detail::write_plugin(out, "hparams", content);
                            });
  return *this;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string encode_event(const Summary& summary,
                                                           std::int64_t step, double wall_time) {
  return detail::encoded_event(wall_time, step, [&](protozero::pbf_writer& event) {
    event.add_message(5, summary.encoded());
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
