// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strings that hold other tensors' elements: rows of comma-separated values (split_csv, decode_csv)
// and bytes of numbers (decode_raw).

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/shape/slice.hpp"
#include "typeflow/strings/convert.hpp"
#include "typeflow/strings/pieces.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The fields of each row: (I...) -> (I...,columns)
struct SplitCsv : of_strings {
  static constexpr std::string_view name = "SplitCsv";
  Extent columns;
  std::uint32_t delimiter;
  std::uint32_t quotes;
  static constexpr Type infer(const SplitCsv& op, const Type& x) {
    Dims dims = x.dims;
    const bool fits = x.dtype == DType::string && dims.rank < max_rank;
    if (fits) dims.append(op.columns);
    return {DType::string, fits ? dims : no_dims};
  }
};

/// The bytes of each string as elements of type `to`: (I...) -> (I...,count)
struct DecodeRaw : of_strings {
  static constexpr std::string_view name = "DecodeRaw";
  Extent count;
  std::uint32_t to;  ///< a DType
  std::uint32_t big_endian;
  static constexpr Type infer(const DecodeRaw& op, const Type& x) {
    Dims dims = x.dims;
    const bool fits = x.dtype == DType::string && dims.rank < max_rank;
    if (fits) dims.append(op.count);
    return {static_cast<DType>(op.to), fits ? dims : no_dims};
  }
};

}  // namespace ops

struct SplitCsvOptions {
  char delimiter = ',';
  bool quotes = true;  ///< fields may stand in quotes; otherwise a quote is a character as any
};

/// The fields of rows of comma-separated values (RFC 4180), one row a string: split_csv<3>(lines).
/// Fields in quotes may have delimiters, ends of lines and doubled quotes inside.
/// (I...) -> (I...,Columns)
///
/// These are Errors of the run: a row with another number of fields, a quote or an end of line in a
/// field without quotes, a quoted field without an end.
template <Extent Columns, StringExpr X>
constexpr auto split_csv(const X& x, SplitCsvOptions options = {},
                         std::source_location at = std::source_location::current()) {
  static_assert(Columns > 0 && !is_symbolic(Columns),
                "split_csv<Columns>(x): Columns must be a number from 1 on");
  using Rule = detail::SplitRule<X, Columns>;
  static_assert(Rule::fits, "split_csv<Columns>(x): x has too many axes");
  detail::mark(at, x);
  const ops::SplitCsv op{{},
                         Columns,
                         static_cast<std::uint32_t>(static_cast<unsigned char>(options.delimiter)),
                         options.quotes ? 1u : 0u};
  return Expr<std::string_view, shape_of_t<Rule>>(x.graph(), apply(op, x.any()).id);
}

/// Settings of decode_csv for N columns.
template <std::size_t N>
struct DecodeCsvOptions {
  char delimiter = ',';
  bool quotes = true;
  std::string_view missing = "";  ///< a field that counts as empty, such as "NA"
  /// What an empty field stands for, by column, as text: {"0", "?"}. An empty field of numbers
  /// without such a text is an Error of the run.
  std::array<std::string_view, N> defaults = {};
};

namespace detail {

template <class T>
inline constexpr bool is_csv_element = [] {
  if constexpr (Element<T> || is_string<T>) {
    return contains(Domain::real, dtype_of<T>) || is_string<T>;
  } else {
    return false;
  }
}();

/// A column of fields as numbers or strings of a type.
constexpr AnyExpr csv_column(const AnyExpr& fields, std::size_t i, const Dims& dims, DType type,
                             std::string_view missing, std::string_view otherwise, Graph& g) {
  AnyExpr column =
      reshape_to(slice_along(fields, fields.dims().rank - 1, static_cast<Extent>(i), 1), dims);
  const auto text = [&](std::string_view x) { return constant<std::string_view>(g, x).any(); };
  if (!otherwise.empty() || !missing.empty()) {
    AnyExpr empty = equal(column, text(""));
    if (!missing.empty()) empty = logical_or(empty, equal(column, text(missing)));
    column = where(empty, text(otherwise), column);
  }
  if (type == DType::string) return column;
  return apply(ops::StringToNumber{{}, static_cast<std::uint32_t>(type)}, column);
}

}  // namespace detail

/// The columns of rows of comma-separated values, a tensor for each: auto [id, price, name] =
/// decode_csv<std::int64_t, float, std::string_view>(lines, {.defaults = {"", "0", "?"}}).
/// (I...) -> (I...)...
///
/// Rows are those of split_csv, numbers those of string_to_number; their Errors are the same.
template <class... T, StringExpr X>
constexpr auto decode_csv(const X& x, DecodeCsvOptions<sizeof...(T)> options = {},
                          std::source_location at = std::source_location::current()) {
  static_assert(sizeof...(T) > 0 && (detail::is_csv_element<T> && ...),
                "decode_csv<T...>(x): each T must be an integer or floating type, or "
                "std::string_view");
  detail::mark(at, x);
  const auto fields = split_csv<static_cast<Extent>(sizeof...(T))>(
      x, {.delimiter = options.delimiter, .quotes = options.quotes}, at);
  Graph& g = x.graph();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple{Expr<T, typename X::shape>(
        g, detail::csv_column(fields.any(), I, X::shape::dims, dtype_of<T>, options.missing,
                              options.defaults[I], g)
               .id)...};
  }(std::index_sequence_for<T...>{});
}

struct DecodeRawOptions {
  bool big_endian = false;  ///< the first byte of a number is its highest
};

/// The bytes of each string as numbers: decode_raw<float, 3>(x) takes 12 bytes from each.
/// (I...) -> (I...,Count)
///
/// A string of another length is an Error of the run.
template <Element T, Extent Count, StringExpr X>
constexpr auto decode_raw(const X& x, DecodeRawOptions options = {},
                          std::source_location at = std::source_location::current()) {
  static_assert(contains(Domain::numbers, dtype_of<T>),
                "decode_raw<T, Count>(x): T must be a type of numbers");
  static_assert(Count >= 0 && !is_symbolic(Count),
                "decode_raw<T, Count>(x): Count must be a number from 0 on");
  using Rule = detail::SplitRule<X, Count>;
  static_assert(Rule::fits, "decode_raw<T, Count>(x): x has too many axes");
  detail::mark(at, x);
  const ops::DecodeRaw op{
      {}, Count, static_cast<std::uint32_t>(dtype_of<T>), options.big_endian ? 1u : 0u};
  return Expr<T, shape_of_t<Rule>>(x.graph(), apply(op, x.any()).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
