// SPDX-License-Identifier: Apache-2.0

// The scalars of event files become a table: wall_time,step,tag,value.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/records.hpp>

#include "common.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

/// A number of a message tensorflow.TensorProto, in which TensorFlow 2 writes scalars.
std::optional<double> number_of(protozero::pbf_reader tensor) {
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
std::string plugin_of(protozero::pbf_reader metadata) {
  std::string name;
  while (metadata.next(1)) {
    protozero::pbf_reader plugin = metadata.get_message();
    while (plugin.next(1)) name = plugin.get_string();
  }
  return name;
}

struct Scalar {
  std::string tag;
  std::string value;
};
/// A scalar of a message tensorflow.Summary.Value; nothing of an image, a histogram and so on.
std::optional<Scalar> scalar_of(protozero::pbf_reader value) {
  Scalar out;
  std::optional<double> of_tensor;
  std::string plugin;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited):
        out.tag = value.get_string();
        break;
      case protozero::tag_and_type(2, protozero::pbf_wire_type::fixed32):
        out.value = tools::text_of(value.get_float());
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
    out.value = tools::text_of(static_cast<float>(*of_tensor));
  }
  if (out.value.empty()) return std::nullopt;
  return out;
}

std::string field_of(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// The rows of an encoded message tensorflow.Event.
std::string rows_of(std::string_view record, const std::vector<std::string>& tags) {
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
        while (summary.next(1)) {
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
    rows += tools::text_of(wall_time) + ',' + std::to_string(step) + ',' + field_of(scalar.tag) +
            ',' + scalar.value + '\n';
  }
  return rows;
}

/// An event file, or those of a folder, in the order of their names.
std::vector<std::string> files_of(const std::string& input) {
  if (!fs::is_directory(input)) return {input};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(input)) {
    if (entry.path().filename().string().find("tfevents") != std::string::npos) {
      files.push_back(entry.path().string());
    }
  }
  if (files.empty()) throw tf::Error(input, "event files, with 'tfevents' in their names", "none");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Writes the scalars of event files as a table (CSV) with the columns wall_time, step, tag "
      "and value.");
  std::string input;
  std::string output;
  std::vector<std::string> tags;
  bool partial = false;
  app.add_option("INPUT", input, "event file, or folder of some")->required();
  app.add_option("OUTPUT", output, "table")->required();
  app.add_option("--tag", tags, "of the scalars that are wanted, may be repeated; all by default")
      ->allow_extra_args(false);
  app.add_flag("--partial", partial,
               "where a file is damaged, or ends in an event, take those before");
  return tools::run(app, argc, argv, [&] {
    const std::vector<std::string> files = files_of(input);
    tools::WholeFile table(output);
    table.write("wall_time,step,tag,value\n");
    for (const std::string& file : files) {
      tf::TfRecordReader reader(file);
      for (;;) {
        std::optional<std::string_view> record;
        try {
          record = reader.next();
        } catch (const tf::Error&) {
          if (!partial) throw;
        }
        if (!record) break;
        try {
          table.write(rows_of(*record, tags));
        } catch (const protozero::exception&) {
          throw tf::Error(tools::place(file, reader.count() - 1), "an event", "other bytes");
        }
      }
    }
    table.finish();
  });
}
