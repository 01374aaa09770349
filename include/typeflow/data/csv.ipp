// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>
#include <type_traits>

#include "typeflow/core/error.hpp"
#include "typeflow/data/csv.hpp"
#include "typeflow/data/decimal.hpp"
#include "typeflow/data/line_reader.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

struct CsvReader::Parts {
  static_assert(LineReader::slack >= decimal_slack);

  struct Field {
    std::size_t begin;
    std::size_t size;
    bool quoted;
  };

  /// A column of the file, for read_simple.
  struct SimpleColumn {
    char type;          // 0: it is not read
    std::size_t place;  // the column of the result
  };

  Parts(const std::string& its_path, const CsvOptions& its_options, std::string_view its_types)
      : path(its_path), options(its_options), types(its_types), lines(its_path) {}

  [[noreturn]] TYPEFLOW_COLD void fail(const std::string& what) const {
    throw Error(path + ":" + std::to_string(line_of_row), what);
  }
  [[noreturn]] TYPEFLOW_COLD void fail(std::size_t column, const std::string& what) const {
    fail("column " + std::to_string(column + 1) +
         (names.empty() ? std::string() : " '" + names[column] + "'") + ": " + what);
  }

  /// Reads the next row; false at the end.
  bool next(std::span<void* const> places) {
    std::string_view row;
    if (!next_line(row)) return false;
    if (!simple_columns.empty() && read_simple(row, places)) return true;
    split(row);
    check_width();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!store(i, field(chosen[i]), fields[chosen[i]].quoted, places[i])) fail_value(i);
    }
    return true;
  }
  /// Finds the next line that is not empty; false at the end.
  bool next_line(std::string_view& row) {
    do {
      if (!lines.next(row)) return false;
      line_of_row = ++line;
      if (line == 1 && row.starts_with("\xEF\xBB\xBF")) row.remove_prefix(3);  // a mark of UTF-8
    } while (row.empty());
    return true;
  }

  /// Reads a row whose fields end in its line, without a copy of them, and throws nothing. False
  /// if the row has others, or anything is wrong: split and store see to that.
  bool read_simple(std::string_view row, std::span<void* const> places) const {
    const char* at = row.data();
    const char* const end = at + row.size();
    const SimpleColumn* const last = &simple_columns.back();
    const char delimiter = options.delimiter;
    const bool skips_space = delimiter != ' ';
    const bool has_missing = !options.missing.empty();
    for (const SimpleColumn* column = simple_columns.data();; ++column) {
      // The byte at `end` is no delimiter.
      const auto is_end = [&](const char* past) {
        return past != nullptr && (column == last ? past == end : *past == delimiter);
      };
      const auto is_number = [&](const char* past) {
        return is_end(past) && !(has_missing && std::string_view(at, past) == options.missing);
      };
      void* const place = places[column->place];
      const char* past = read_simple_number(at, column->type, place);
      if (!is_number(past)) {
        if (*at == ' ' && skips_space) past = read_simple_number(at + 1, column->type, place);
        if (!is_number(past)) past = simple_field(at, end, *column, place);
        if (!is_end(past)) return false;
      }
      if (column == last) return true;
      at = past + 1;
    }
  }
  /// Reads a number and returns where it ends; null if std::from_chars must do so.
  static const char* read_simple_number(const char* at, char type, void* place) {
    switch (type) {
      case 'f':
        return read_decimal(at, *static_cast<float*>(place));
      case 'd':
        return read_decimal(at, *static_cast<double*>(place));
      case 'i':
        return read_decimal(at, *static_cast<std::int32_t*>(place));
      case 'l':
        return read_decimal(at, *static_cast<std::int64_t*>(place));
      default:
        return nullptr;
    }
  }
  /// Stores any field, and returns where it ends; null if it goes on in the next line, has doubled
  /// quotes, or is wrong.
  const char* simple_field(const char* at, const char* end, const SimpleColumn& column,
                           void* place) const {
    const bool quoted = at != end && *at == '"';
    const char* const first = at + quoted;
    const char* const last = find_character(first, end, quoted ? '"' : options.delimiter);
    const char* past = last;
    if (quoted) {
      if (last == end) return nullptr;
      past = last + 1;
      if (past != end && *past != options.delimiter) return nullptr;
    }
    if (column.type == 0) return past;
    return store(column.place, std::string_view(first, last), quoted, place) ? past : nullptr;
  }
  /// The first such character of a text, or its end.
  static const char* find_character(const char* at, const char* end, char character) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    const std::uint64_t all = ones * static_cast<unsigned char>(character);
    for (; at < end; at += 8) {
      const std::uint64_t word = eight_characters(at) ^ all;
      if (const std::uint64_t zeros = (word - ones) & ~word & (ones << 7)) {
        return std::min(at + (std::countr_zero(zeros) >> 3), end);
      }
    }
    return end;
  }

  /// Finds the fields of a row.
  void split(std::string_view row) {
    text = row;
    fields.clear();
    std::size_t at = 0;
    for (;;) {
      if (at < text.size() && text[at] == '"') {
        read_quoted(at);
      } else {
        const std::size_t end = std::min(text.find(options.delimiter, at), text.size());
        fields.push_back({at, end - at, false});
        at = end;
      }
      if (at == text.size()) return;
      ++at;  // behind the delimiter
    }
  }
  /// A quoted field at `at`, which may go on in the next lines. Quotes inside are made single, in
  /// place.
  void read_quoted(std::size_t& at) {
    const std::size_t begin = at + 1;
    std::size_t from = begin;
    std::size_t to = begin;
    for (;;) {
      if (from == text.size()) {
        text.resize(to);
        text += '\n';
        to = from = text.size();
        std::string_view more;
        if (!lines.next(more)) fail("a quoted field has no end");
        text += more;
        ++line;
        continue;
      }
      if (text[from] == '"') {
        if (from + 1 == text.size() || text[from + 1] != '"') break;
        ++from;
      }
      text[to++] = text[from++];
    }
    at = from + 1;
    fields.push_back({begin, to - begin, true});
    if (at < text.size() && text[at] != options.delimiter) {
      fail("column " + std::to_string(fields.size()) + ": there is text behind the quoted field");
    }
  }

  TYPEFLOW_COLD void start() {
    if (options.header) {
      std::string_view row;
      if (!next_line(row)) throw Error(path, "a header", "an empty file");
      split(row);
      for (std::size_t i = 0; i < fields.size(); ++i) names.emplace_back(field(i));
    }
    if (options.columns.empty()) {
      for (std::size_t i = 0; i < types.size(); ++i) chosen.push_back(i);
      if (options.header) check_width();
    } else {
      if (!options.header) throw Error("csv_rows", "a header, for columns by name", "none");
      if (options.columns.size() != types.size()) {
        throw Error("csv_rows", std::to_string(types.size()) + " names of columns, one for a type",
                    std::to_string(options.columns.size()));
      }
      for (const std::string& name : options.columns) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) fail("there is no column '" + name + "'");
        chosen.push_back(static_cast<std::size_t>(found - names.begin()));
      }
    }
    if (!options.defaults.empty() && options.defaults.size() != types.size()) {
      throw Error("csv_rows", std::to_string(types.size()) + " defaults, one for a type",
                  std::to_string(options.defaults.size()));
    }
    plan_simple_rows();
  }
  /// Rows are simple only if numbers end at a delimiter, and no column is asked for twice.
  TYPEFLOW_COLD void plan_simple_rows() {
    constexpr std::string_view of_others = "0123456789.+-eE\"\r\n";
    if (of_others.find(options.delimiter) != of_others.npos) return;
    simple_columns.resize(width(), {0, 0});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      SimpleColumn& column = simple_columns[chosen[i]];
      if (column.type != 0) return simple_columns.clear();
      column = {types[i], i};
    }
  }
  std::size_t width() const { return options.columns.empty() ? types.size() : names.size(); }
  void check_width() const {
    if (fields.size() != width()) {
      fail("expected " + std::to_string(width()) + " columns, got " +
           std::to_string(fields.size()));
    }
  }
  std::string_view field(std::size_t i) const {
    return std::string_view(text).substr(fields[i].begin, fields[i].size);
  }

  /// The text that column i of the result is read from: a default stands for an empty field.
  std::string_view value_of(std::size_t i, std::string_view value, bool quoted) const {
    if (quoted || !(value.empty() || (!options.missing.empty() && value == options.missing))) {
      return value;
    }
    if (!options.defaults.empty()) return options.defaults[i];
    return types[i] == 's' ? std::string_view() : value;
  }
  /// False if the field is no value of the column's type.
  bool store(std::size_t i, std::string_view field, bool quoted, void* place) const {
    const std::string_view value = value_of(i, field, quoted);
    switch (types[i]) {
      case 's':
        *static_cast<std::string*>(place) = value;
        return true;
      case 'f':
        return read_number(value, static_cast<float*>(place)) == std::errc();
      case 'd':
        return read_number(value, static_cast<double*>(place)) == std::errc();
      case 'i':
        return read_number(value, static_cast<std::int32_t*>(place)) == std::errc();
      case 'l':
        return read_number(value, static_cast<std::int64_t*>(place)) == std::errc();
      default:
        return read_bool(trimmed(value), static_cast<bool*>(place));
    }
  }
  static bool read_bool(std::string_view value, bool* place) {
    *place = value == "1" || value == "true" || value == "True" || value == "TRUE";
    return *place || value == "0" || value == "false" || value == "False" || value == "FALSE";
  }
  static std::string_view trimmed(std::string_view value) {
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  template <class N>
  static std::errc read_number(std::string_view value, N* place) {
    value = trimmed(value);
    if (value.size() > 1 && value.front() == '+' && value[1] != '-') value.remove_prefix(1);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *place);
    if constexpr (std::is_floating_point_v<N>) {
      if (error == std::errc::result_out_of_range && is_tiny(value)) {
        *place = value.front() == '-' ? -N(0) : N(0);
        return std::errc();
      }
    }
    if (error != std::errc()) return error;
    return end == value.data() + value.size() ? std::errc() : std::errc::invalid_argument;
  }
  /// Whether a number that a float or double cannot hold is too near 0.
  TYPEFLOW_COLD static bool is_tiny(std::string_view value) {
    long double x = 1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
    return error == std::errc() && end == value.data() + value.size() && std::abs(x) < 1;
  }
  /// Says why the value of column i of the result cannot be stored.
  [[noreturn]] TYPEFLOW_COLD void fail_value(std::size_t i) const {
    const std::size_t column = chosen[i];
    const std::string value(value_of(i, field(column), fields[column].quoted));
    switch (types[i]) {
      case 'f':
        fail_number<float>(column, value, "float");
      case 'd':
        fail_number<double>(column, value, "double");
      case 'i':
        fail_number<std::int32_t>(column, value, "int32");
      case 'l':
        fail_number<std::int64_t>(column, value, "int64");
      default:
        fail(column, "expected true, false, 1 or 0, got '" + std::string(trimmed(value)) + "'");
    }
  }
  template <class N>
  [[noreturn]] TYPEFLOW_COLD void fail_number(std::size_t column, const std::string& value,
                                              const char* type) const {
    N number{};
    if (read_number(value, &number) == std::errc::result_out_of_range) {
      fail(column, "'" + value + "' is out of the range of " + type);
    }
    if (trimmed(value).empty() && !fields[column].quoted) {
      fail(column, "the field is empty, and has no default");
    }
    fail(column, std::string("expected a number of type ") + type + ", got '" + value + "'");
  }

  std::string path;
  CsvOptions options;
  std::string types;
  LineReader lines;
  std::int64_t line = 0;
  std::int64_t line_of_row = 0;
  std::string text;  // of a row that was split
  std::vector<Field> fields;
  std::vector<std::string> names;
  std::vector<std::size_t> chosen;           // by column of the result
  std::vector<SimpleColumn> simple_columns;  // none: all rows must be split
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION CsvReader::CsvReader(const std::string& path,
                                                       const CsvOptions& options,
                                                       std::string_view types)
    : parts_(std::make_unique<Parts>(path, options, types)) {
  parts_->start();
}
TYPEFLOW_DEFINITION CsvReader::~CsvReader() = default;

TYPEFLOW_DEFINITION bool CsvReader::next(std::span<void* const> places) {
  return parts_->next(places);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::string> CsvReader::first_row(
    const std::string& path, const CsvOptions& options) {
  Parts parts(path, options, "");
  std::vector<std::string> out;
  std::string_view row;
  if (!parts.next_line(row)) return out;
  parts.split(row);
  for (std::size_t i = 0; i < parts.fields.size(); ++i) out.emplace_back(parts.field(i));
  return out;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Dataset<std::vector<std::string>> csv_fields(
    const std::string& path, const CsvOptions& options) {
  using Row = std::vector<std::string>;
  return Dataset<Row>([=](std::uint64_t) {
    const std::size_t width = options.columns.empty()
                                  ? detail::CsvReader::first_row(path, options).size()
                                  : options.columns.size();
    return detail::cursor_of<Row>(
        [width, reader = std::make_unique<detail::CsvReader>(
                    path, options,
                    std::string(width, detail::csv_type<std::string>))]() -> std::optional<Row> {
          Row row(width);
          std::vector<void*> places;
          for (std::string& field : row) places.push_back(&field);
          if (!reader->next(places)) return std::nullopt;
          return row;
        });
  });
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::string> csv_first_row(
    const std::string& path, const CsvOptions& options) {
  std::vector<std::string> row = detail::CsvReader::first_row(path, options);
  if (row.empty()) throw Error(path, "a row", "an empty file");
  return row;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
