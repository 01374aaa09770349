// SPDX-License-Identifier: Apache-2.0

// Tables: fields as texts, and typed columns with and without a header.

#include <string>
#include <utility>
#include <vector>

#include "fuzz_input/input.hpp"
#include "typeflow/data/csv.hpp"

using namespace fuzz_input;

namespace {

/// A row as a line of a table that has the same fields.
std::string line_of(const std::vector<std::string>& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    line += i == 0 ? "\"" : ",\"";
    for (const char c : row[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

template <class Rows>
void read_all(const Rows& rows) {
  auto cursor = rows.open(0);
  while (cursor->next()) {
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = file_with(text_of(data, size));
  attempt([&] {
    std::vector<std::vector<std::string>> rows;
    std::string table;
    auto fields = tf::csv_fields(path).open(0);
    while (auto row = fields->next()) {
      for (const std::string& field : *row) {
        if (field.find("\r\n") != field.npos) return;  // becomes a line's end when it is read
      }
      table += line_of(*row);
      rows.push_back(std::move(*row));
    }
    auto again = tf::csv_fields(file_with<1>(table)).open(0);
    for (const auto& row : rows) require(again->next() == row, "rows survive writing in quotes");
    require(!again->next(), "a table ends after its last row");
  });
  attempt([&] { read_all(tf::csv_rows<float, std::int32_t, std::string>(path)); });
  attempt([&] {
    read_all(tf::csv_rows<std::int64_t, bool, double>(path, {.header = true,
                                                             .columns = {"b", "c", "a"},
                                                             .defaults = {"0", "1", "2.5"},
                                                             .missing = "NA"}));
  });
  attempt([&] { read_all(tf::csv_fields(path, {.delimiter = ';', .header = true})); });
  return 0;
}
