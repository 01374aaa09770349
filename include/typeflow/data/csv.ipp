// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <system_error>

#include "typeflow/core/error.hpp"
#include "typeflow/data/csv.hpp"
#include "typeflow/data/line_reader.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

struct CsvReader::Parts {
  Parts(const std::string& its_path, const CsvOptions& its_options, std::string_view its_types)
      : path(its_path), options(its_options), types(its_types), lines(its_path) {}

  [[noreturn]] TYPEFLOW_COLD void fail(const std::string& what) const {
    throw Error(path + ":" + std::to_string(line_of_row), what);
  }
  [[noreturn]] TYPEFLOW_COLD void fail(std::size_t column, const std::string& what) const {
    fail("column " + std::to_string(column + 1) +
         (names.empty() ? std::string() : " '" + names[column] + "'") + ": " + what);
  }

  /// Reads the fields of the next row that is not empty; false at the end.
  bool read_row() {
    do {
      text.clear();
      if (!lines.next(text)) return false;
      line_of_row = ++line;
    } while (text.empty());
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
      if (at == text.size()) return true;
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
        if (!lines.next(text)) fail("a quoted field has no end");
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
      if (!read_row()) throw Error(path, "a header", "an empty file");
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
  }
  void check_width() const {
    const std::size_t width = options.columns.empty() ? types.size() : names.size();
    if (fields.size() != width) {
      fail("expected " + std::to_string(width) + " columns, got " + std::to_string(fields.size()));
    }
  }
  std::string_view field(std::size_t i) const {
    return std::string_view(text).substr(fields[i].begin, fields[i].size);
  }

  void store(std::size_t i, void* place) const {
    const std::size_t column = chosen[i];
    std::string_view value = field(column);
    const bool is_empty = !fields[column].quoted &&
                          (value.empty() || (!options.missing.empty() && value == options.missing));
    const bool has_default = is_empty && !options.defaults.empty();
    if (has_default) value = options.defaults[i];
    switch (types[i]) {
      case 's':
        *static_cast<std::string*>(place) = is_empty && !has_default ? std::string_view() : value;
        return;
      case 'f':
        return store_number(column, value, "float", static_cast<float*>(place));
      case 'd':
        return store_number(column, value, "double", static_cast<double*>(place));
      case 'i':
        return store_number(column, value, "int32", static_cast<std::int32_t*>(place));
      case 'l':
        return store_number(column, value, "int64", static_cast<std::int64_t*>(place));
      default:
        value = trimmed(value);
        if (value == "1" || value == "true" || value == "True" || value == "TRUE") {
          *static_cast<bool*>(place) = true;
        } else if (value == "0" || value == "false" || value == "False" || value == "FALSE") {
          *static_cast<bool*>(place) = false;
        } else {
          fail(column, "expected true, false, 1 or 0, got '" + std::string(value) + "'");
        }
    }
  }
  static std::string_view trimmed(std::string_view value) {
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  template <class N>
  void store_number(std::size_t column, std::string_view given, const char* type, N* place) const {
    std::string_view value = trimmed(given);
    if (value.size() > 1 && value.front() == '+' && value[1] != '-') value.remove_prefix(1);
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *place);
    if (error == std::errc() && end == value.data() + value.size()) return;
    if (error == std::errc::result_out_of_range) {
      fail(column, "'" + std::string(given) + "' is out of the range of " + type);
    }
    fail(column, value.empty() ? std::string("the field is empty, and has no default")
                               : std::string("expected a number of type ") + type + ", got '" +
                                     std::string(given) + "'");
  }

  struct Field {
    std::size_t begin;
    std::size_t size;
    bool quoted;
  };

  std::string path;
  CsvOptions options;
  std::string types;
  LineReader lines;
  std::int64_t line = 0;
  std::int64_t line_of_row = 0;
  std::string text;  // of a row
  std::vector<Field> fields;
  std::vector<std::string> names;
  std::vector<std::size_t> chosen;  // by column of the result
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION CsvReader::CsvReader(const std::string& path,
                                                       const CsvOptions& options,
                                                       std::string_view types)
    : parts_(std::make_unique<Parts>(path, options, types)) {
  parts_->start();
}
TYPEFLOW_DEFINITION CsvReader::~CsvReader() = default;

TYPEFLOW_DEFINITION bool CsvReader::next(std::span<void* const> places) {
  if (!parts_->read_row()) return false;
  parts_->check_width();
  for (std::size_t i = 0; i < places.size(); ++i) parts_->store(i, places[i]);
  return true;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::string> CsvReader::first_row(
    const std::string& path, const CsvOptions& options) {
  Parts parts(path, options, "");
  std::vector<std::string> out;
  if (!parts.read_row()) return out;
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
