// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feature columns read from tables, and vocabularies from text files. A header of its own, because
// it needs what data.hpp needs (CMake: typeflow::data).

#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/csv.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/data/sources.hpp"
#include "typeflow/feature_columns/sources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class T>
std::string csv_default(const T& value) {
  if constexpr (is_string<T>) {
    return std::string(value);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
    return text;
  }
}
template <class Raw>
inline constexpr bool is_csv_feature = false;
template <Text Key, Element T>
inline constexpr bool is_csv_feature<RawFeature<Key, T>> = is_string<T> || CsvElement<T>;

}  // namespace detail

/// The rows of a table with a header, as tuples of the features that columns read, for
/// feature_iterator: csv_features("people.csv", columns).batch(32). `further` are types and names
/// of columns that the model reads beside them, such as labels: csv_features<float>("people.csv",
/// columns, {"income"}).
///
/// An empty field of words or ids is missing. One of numbers is an error unless the column has a
/// default. Errors have file, line and column, as those of csv_rows.
template <CsvElement... Further, class... Columns>
auto csv_features(const std::string& path, const std::tuple<Columns...>& columns,
                  const std::vector<std::string>& further = {}, CsvOptions options = {}) {
  if (further.size() != sizeof...(Further)) {
    throw Error("csv_features<T...>(path, columns, names)",
                std::to_string(sizeof...(Further)) + " names", std::to_string(further.size()));
  }
  options.header = true;
  options.columns.clear();
  options.defaults.clear();
  return std::apply(
      [&]<class... Raw>(const Raw&... raw) {
        static_assert((detail::is_csv_feature<Raw> && ...),
                      "csv_features(path, columns): a column of a table has one value for each "
                      "example");
        (options.columns.emplace_back(Raw::key.view()), ...);
        (options.defaults.push_back(raw.has_default ? detail::csv_default(raw.default_value)
                                                    : std::string()),
         ...);
        for (const std::string& name : further) {
          options.columns.push_back(name);
          options.defaults.emplace_back();
        }
        return csv_rows<std::conditional_t<detail::is_string<typename Raw::element>, std::string,
                                           typename Raw::element>...,
                        Further...>(path, options);
      },
      raw_features(columns));
}

/// The first `size` lines of a text, plain or gzip, for
/// categorical_column_with_vocabulary_file. Error if there are fewer. (Equal words are an error of
/// the run.)
inline std::vector<std::string> read_vocabulary(const std::string& path, std::int64_t size) {
  std::vector<std::string> words;
  DatasetIterator lines(text_lines(path).take(size));
  while (auto line = lines.next()) words.push_back(std::move(*line));
  if (static_cast<std::int64_t>(words.size()) < size) {
    throw Error(path, std::to_string(size) + " words", std::to_string(words.size()));
  }
  return words;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
