// SPDX-License-Identifier: Apache-2.0
#pragma once

// The scalars of events, as rows of a table: wall_time,step,tag,value.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text_of.hpp"

namespace tools {

/// A number of a message tensorflow.TensorProto, in which TensorFlow 2 writes scalars.
inline std::optional<double> number_of(protozero::pbf_reader tensor) {
  std::optional<double> number;
  int type = 0;
  std::string_view content;
  const auto set_first = [&](const auto& range) {
    if (range.begin() != range.end()) number = *range.begin();
  };
  while (tensor.next()) {
    if (tensor.tag() == 1 && tensor.wire_type() == protozero::pbf_wire_type::varint) {
      type = tensor.get_int32();
    } else if (tensor.wire_type() != protozero::pbf_wire_type::length_delimited) {
      tensor.skip();
    } else if (tensor.tag() == 4) {
      const protozero::data_view bytes = tensor.get_view();
      content = {bytes.data(), bytes.size()};
    } else if (tensor.tag() == 5) {
      set_first(tensor.get_packed_float());
    } else if (tensor.tag() == 6) {
      set_first(tensor.get_packed_double());
    } else {
      tensor.skip();
    }
  }
  constexpr int float_type = 1;
  constexpr int double_type = 2;
  if (type == float_type && content.size() == sizeof(float)) {
    float value = 0;
    std::memcpy(&value, content.data(), sizeof value);
    number = value;
  } else if (type == double_type && content.size() == sizeof(double)) {
    double value = 0;
    std::memcpy(&value, content.data(), sizeof value);
    number = value;
  }
  return number;
}

/// The name of the plugin of a message tensorflow.SummaryMetadata.
inline std::string plugin_of(protozero::pbf_reader metadata) {
  std::string name;
  constexpr auto bytes = protozero::pbf_wire_type::length_delimited;
  while (metadata.next(1, bytes)) {
    protozero::pbf_reader plugin = metadata.get_message();
    while (plugin.next(1, bytes)) name = plugin.get_string();
  }
  return name;
}

struct Scalar {
  std::string tag;
  std::string value;
};
/// A scalar of a message tensorflow.Summary.Value; nothing of an image, a histogram and so on.
inline std::optional<Scalar> scalar_of(protozero::pbf_reader value) {
  Scalar out;
  std::optional<double> of_tensor;
  std::string plugin;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited):
        out.tag = value.get_string();
        break;
      case protozero::tag_and_type(2, protozero::pbf_wire_type::fixed32):
        out.value = text_of(value.get_float());
        break;
      case protozero::tag_and_type(8, protozero::pbf_wire_type::length_delimited):
        of_tensor = number_of(value.get_message());
        break;
      case protozero::tag_and_type(9, protozero::pbf_wire_type::length_delimited):
        plugin = plugin_of(value.get_message());
        break;
      default:
        value.skip();
    }
  }
  if (out.value.empty() && plugin == "scalars" && of_tensor) {
    // As a float, in which scalars are kept: 0.1 and not 0.10000000149.
    out.value = text_of(static_cast<float>(*of_tensor));
  }
  if (out.value.empty()) return std::nullopt;
  return out;
}

inline std::string field_of(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// The rows of an encoded message tensorflow.Event, with these tags, or with any if there are none.
/// Throws protozero::exception if the record is damaged.
inline std::string rows_of(std::string_view record, const std::vector<std::string>& tags) {
  double wall_time = 0;
  std::int64_t step = 0;
  std::vector<Scalar> scalars;
  protozero::pbf_reader event(record.data(), record.size());
  while (event.next()) {
    switch (event.tag_and_type()) {
      case protozero::tag_and_type(1, protozero::pbf_wire_type::fixed64):
        wall_time = event.get_double();
        break;
      case protozero::tag_and_type(2, protozero::pbf_wire_type::varint):
        step = event.get_int64();
        break;
      case protozero::tag_and_type(5, protozero::pbf_wire_type::length_delimited): {
        protozero::pbf_reader summary = event.get_message();
        while (summary.next(1, protozero::pbf_wire_type::length_delimited)) {
          auto scalar = scalar_of(summary.get_message());
          if (scalar &&
              (tags.empty() || std::find(tags.begin(), tags.end(), scalar->tag) != tags.end())) {
            scalars.push_back(std::move(*scalar));
          }
        }
        break;
      }
      default:
        event.skip();
    }
  }
  std::string rows;
  for (const Scalar& scalar : scalars) {
    rows += text_of(wall_time) + ',' + std::to_string(step) + ',' + field_of(scalar.tag) + ',' +
            scalar.value + '\n';
  }
  return rows;
}

}  // namespace tools
