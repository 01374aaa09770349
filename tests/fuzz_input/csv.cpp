// SPDX-License-Identifier: Apache-2.0

// Tables: fields as texts, and typed columns with and without a header.

#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
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

/// A field as a number, by the rules of the documents and with std::from_chars; false if it is
/// none.
template <class N>
bool number_of(std::string_view text, N& number) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return false;
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [past, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && past == end;
}
/// Rows of types are the rows of texts, up to the first that is none of the types.
template <class A, class B>
void compare(const std::string& path, const std::vector<std::vector<std::string>>& rows) {
  std::size_t read = 0;
  attempt([&] {
    const auto typed = tf::csv_rows<A, B, std::string>(path).open(0);
    while (const auto row = typed->next()) {
      require(read < rows.size() && rows[read].size() == 3, "rows have the same fields");
      A a{};
      B b{};
      require(number_of(rows[read][0], a) && number_of(rows[read][1], b), "numbers are numbers");
      require(std::memcmp(&a, &std::get<0>(*row), sizeof a) == 0 &&
                  std::memcmp(&b, &std::get<1>(*row), sizeof b) == 0,
              "numbers have from_chars's bits");
      require(std::get<2>(*row) == rows[read][2], "texts are the same");
      ++read;
    }
  });
  if (read == rows.size()) return;
  A a{};
  B b{};
  require(rows[read].size() != 3 || !number_of(rows[read][0], a) || !number_of(rows[read][1], b),
          "a row of the types is read");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = file_with(text_of(data, size));
  std::vector<std::vector<std::string>> all;
  attempt([&] {
    const auto fields = tf::csv_fields(path).open(0);
    while (auto row = fields->next()) all.push_back(std::move(*row));
    compare<float, std::int32_t>(path, all);
    compare<double, std::int64_t>(path, all);
  });
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
  attempt([&] {
    read_all(tf::csv_rows<std::int64_t, bool, double>(path, {.header = true,
                                                             .columns = {"b", "c", "a"},
                                                             .defaults = {"0", "1", "2.5"},
                                                             .missing = "NA"}));
  });
  attempt([&] { read_all(tf::csv_fields(path, {.delimiter = ';', .header = true})); });
  return 0;
}
