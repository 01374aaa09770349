// SPDX-License-Identifier: Apache-2.0

// Rows of a table become records. A column of integers is a feature of integers, one of other
// numbers a feature of floats, any other one a feature of bytes.

#include <charconv>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/records.hpp>

#include "common.hpp"

namespace {

namespace tf = typeflow;

/// In the order in which they are tried.
enum class Type : std::uint8_t { none, integer, real, text };

template <class N>
bool parse(std::string_view text, N& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}
Type type_of(std::string_view field) {
  std::int64_t integer = 0;
  float real = 0;
  return field.empty()           ? Type::none
         : parse(field, integer) ? Type::integer
         : parse(field, real)    ? Type::real
                                 : Type::text;
}

tf::Feature feature_of(Type type, const std::string& field) {
  if (type == Type::integer) {
    std::int64_t number = 0;
    parse(field, number);
    return std::vector<std::int64_t>{number};
  }
  if (type == Type::real) {
    float number = 0;
    parse(field, number);
    return std::vector<float>{number};
  }
  return std::vector<std::string>{field};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a TFRecord file with an Example for each row of a table (CSV).");
  std::string input;
  std::string output;
  std::string packing;
  std::vector<std::string> columns;
  std::vector<std::string> texts;
  std::string missing;
  char delimiter = ',';
  app.add_option("INPUT", input, "table whose first row names the columns, plain or gzip")
      ->required();
  app.add_option("OUTPUT", output, "TFRecord file")->required();
  app.add_option("--columns", columns, "those to be read, with commas between; all by default")
      ->delimiter(',');
  app.add_option("--text", texts, "columns that are texts even if all fields are numbers")
      ->delimiter(',');
  app.add_option("--missing", missing, "a field that counts as empty, such as NA");
  app.add_option("--delimiter", delimiter, "between fields")->capture_default_str();
  tools::add_packing(app, packing);
  return tools::run(app, argc, argv, [&] {
    tf::CsvOptions options{.delimiter = delimiter, .header = true, .missing = missing};
    std::vector<std::string> names = tf::csv_first_row(input, options);
    options.columns = columns;
    if (!columns.empty()) names = columns;
    if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
      throw tf::Error(input, "names of columns that differ (--columns chooses some)", "one twice");
    }
    const auto rows = tf::csv_fields(input, options);

    std::vector<Type> types(names.size(), Type::none);
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < row.size(); ++i) types[i] = std::max(types[i], type_of(row[i]));
    }
    for (const std::string& text : texts) {
      const auto found = std::find(names.begin(), names.end(), text);
      if (found == names.end()) throw tf::Error(input, "has no column '" + text + "'");
      types[static_cast<std::size_t>(found - names.begin())] = Type::text;
    }

    tf::TfRecordWriter writer(output, {.packing = tools::packing_of(packing)});
    for (const auto& row : rows) {
      tf::Example example;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const bool is_number = types[i] == Type::integer || types[i] == Type::real;
        if (is_number && row[i].empty()) continue;  // a missing feature, which has defaults
        example.features[names[i]] = feature_of(types[i], row[i]);
      }
      writer.write(tf::encode(example));
    }
    writer.finish();
  });
}
