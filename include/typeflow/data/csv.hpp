// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tables as comma-separated values (RFC 4180): fields may stand in quotes, with delimiters, ends of
// lines and doubled quotes inside.
//
//   tf::csv_rows<float, std::int32_t, std::string>("table.csv", {.header = true})

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/data/dataset.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The type of a column.
template <class T>
concept CsvElement =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t> || std::same_as<T, bool> || std::same_as<T, std::string>;

struct CsvOptions {
  char delimiter = ',';
  bool header = false;  ///< the first row has names, and is left out
  /// The names of the columns to be read, in the order of the types; needs a header. Empty: all
  /// columns, in their order.
  std::vector<std::string> columns = {};
  /// What an empty field stands for, by column of the result, as text: {"0", "?"}. Empty: an empty
  /// field of numbers is an error.
  std::vector<std::string> defaults = {};
  std::string missing = "";  ///< a field that counts as empty, such as "NA"
};

namespace detail {

/// A type of a column, as a number.
template <CsvElement T>
inline constexpr char csv_type = std::is_same_v<T, float>          ? 'f'
                                 : std::is_same_v<T, double>       ? 'd'
                                 : std::is_same_v<T, std::int32_t> ? 'i'
                                 : std::is_same_v<T, std::int64_t> ? 'l'
                                 : std::is_same_v<T, bool>         ? 'b'
                                                                   : 's';

/// Reads rows of fields.
class CsvReader {
 public:
  CsvReader(const std::string& path, const CsvOptions& options, std::string_view types);
  CsvReader(const CsvReader&) = delete;
  CsvReader& operator=(const CsvReader&) = delete;
  ~CsvReader();

  /// Reads the next row, and puts its columns to the places, of the types; false at the end.
  bool next(std::span<void* const> places);

  /// The fields of the first row, whatever their number; empty if there is none.
  static std::vector<std::string> first_row(const std::string& path, const CsvOptions& options);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace detail

/// The rows of a table, plain or gzip, as tuples of the columns' types. Error, with file, line and
/// column, if a row has another number of columns, or a field is no value of its type.
template <CsvElement... T>
Dataset<std::tuple<T...>> csv_rows(const std::string& path, const CsvOptions& options = {}) {
  using Row = std::tuple<T...>;
  return Dataset<Row>([=](std::uint64_t) {
    static constexpr char types[] = {detail::csv_type<T>..., '\0'};
    return detail::cursor_of<Row>(
        [reader = std::make_unique<detail::CsvReader>(
             path, options, std::string_view(types, sizeof...(T)))]() -> std::optional<Row> {
          Row row;
          const auto places = std::apply(
              [](auto&... part) { return std::array<void*, sizeof...(T)>{&part...}; }, row);
          if (!reader->next(places)) return std::nullopt;
          return row;
        });
  });
}

/// The rows of a table whose number of columns a program does not know, as texts: of all columns,
/// or of those that the options name. Errors are those of csv_rows.
Dataset<std::vector<std::string>> csv_fields(const std::string& path,
                                             const CsvOptions& options = {});
/// The fields of a table's first row: the names of its columns, if it has a header. Error if the
/// file has no row.
std::vector<std::string> csv_first_row(const std::string& path, const CsvOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/csv.ipp"
#endif
