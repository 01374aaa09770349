// SPDX-License-Identifier: Apache-2.0

// A feature of records becomes the lines of a text.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <typeflow/records.hpp>

#include "common.hpp"

namespace {

namespace tf = typeflow;

/// Values with blanks between them.
std::string line_of(const tf::Feature& feature) {
  std::string line;
  const auto add = [&](const auto& values, const auto& text) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) line += ' ';
      line += text(values[i]);
    }
  };
  if (const auto* const texts = std::get_if<std::vector<std::string>>(&feature)) {
    add(*texts, [](const std::string& x) { return x; });
  } else if (const auto* const floats = std::get_if<std::vector<float>>(&feature)) {
    add(*floats, [](float x) { return tools::text_of(x); });
  } else if (const auto* const integers = std::get_if<std::vector<std::int64_t>>(&feature)) {
    add(*integers, [](std::int64_t x) { return std::to_string(x); });
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a text with a line for each record of a TFRecord file.");
  std::string input;
  std::string output;
  std::string feature = "text";
  bool raw = false;
  bool allow_missing = false;
  app.add_option("INPUT", input, "TFRecord file, plain, gzip or zlib")->required();
  app.add_option("OUTPUT", output, "text file")->required();
  app.add_option("--feature", feature, "of the Examples; its values have blanks between them")
      ->capture_default_str();
  app.add_flag("--raw", raw, "the line is the record itself, which is no Example");
  app.add_flag("--allow-missing", allow_missing, "an Example without the feature is an empty line");
  return tools::run(app, argc, argv, [&] {
    tf::TfRecordReader reader(input);
    tools::WholeFile text(output);
    while (const auto record = reader.next()) {
      const std::string place = tools::place(input, reader.count() - 1);
      std::string line;
      if (raw) {
        line = *record;
      } else {
        try {
          const tf::Example example = tf::decode_example(*record);
          const auto found = example.features.find(feature);
          if (found != example.features.end()) {
            line = line_of(found->second);
          } else if (!allow_missing) {
            std::string names;
            for (const auto& [name, values] : example.features) names += " '" + name + "'";
            throw tf::Error("expected a feature '" + feature + "', got" +
                            (names.empty() ? " none" : names));
          }
        } catch (const tf::Error& error) {
          throw tf::Error(place, error.what());
        }
      }
      if (line.find('\n') != line.npos) throw tf::Error(place, "one line", "a text of several");
      text.write(line + '\n');
    }
    text.finish();
  });
}
