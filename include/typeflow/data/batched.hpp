// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a batch of a dataset's elements is.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/half.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Sequences of different lengths, padded to the longest.
template <class A>
struct PaddedBatch {
  std::vector<A> values;              ///< (B,bound), row-major
  std::vector<std::int32_t> lengths;  ///< (B)
  std::int64_t bound = 0;             ///< the length of a row
};

namespace detail {

template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

template <class A>
inline constexpr bool is_row_element =
    std::is_arithmetic_v<A> || std::is_same_v<A, float16> || std::is_same_v<A, bfloat16>;

/// A row of numbers or booleans: std::vector or std::array.
template <class T>
concept NumberRow =
    std::same_as<T, std::vector<bool>> ||
    (requires { typename T::value_type; } && !std::same_as<T, std::string> &&
     is_row_element<typename T::value_type> && requires(const T& x) {
       x.data();
       x.size();
     });

/// Makes room for `count` rows, but not for more than 1 GiB: a batch may be far larger than its
/// dataset.
template <class V>
void reserve_rows(V& out, std::size_t count, std::size_t length = 1) {
  const std::size_t most = (std::size_t{1} << 30) / sizeof(typename V::value_type);
  out.reserve(std::min(count, most / std::max<std::size_t>(length, 1)) * length);
}

/// The batch of elements T. `begin(n)` makes room for n elements, add(x) adds one.
template <class T>
struct BatchOf {
  using type = std::vector<T>;

  void begin(std::size_t count) {
    out.clear();
    reserve_rows(out, count);
  }
  void add(T&& x) { out.push_back(std::move(x)); }
  type take() { return std::move(out); }

  type out;
};
/// Rows of equal length become one array, (B,length).
template <NumberRow T>
struct BatchOf<T> {
  using type = std::vector<typename T::value_type>;

  void begin(std::size_t count) {
    out.clear();
    rows = count;
    length = unknown;
  }
  void add(T&& x) {
    if (length == unknown) {
      length = x.size();
      reserve_rows(out, rows, length);
    } else if (x.size() != length) {
      throw Error("Dataset::batch",
                  "rows of " + std::to_string(length) + " elements, as the batch's first one",
                  std::to_string(x.size()) + " (padded_batch takes rows of any length)");
    }
    out.insert(out.end(), x.begin(), x.end());
  }
  type take() { return std::move(out); }

  static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
  type out;
  std::size_t rows = 0;
  std::size_t length = unknown;  // of the first row
};

/// Rows of texts, of one length that their type tells, are one array, too.
template <std::size_t N>
struct BatchOf<std::array<std::string, N>> {
  using type = std::vector<std::string>;

  void begin(std::size_t count) {
    out.clear();
    reserve_rows(out, count, N);
  }
  void add(std::array<std::string, N>&& x) {
    for (std::string& text : x) out.push_back(std::move(text));
  }
  type take() { return std::move(out); }

  type out;
};

/// What stands behind the last element of a shorter row.
struct PaddingValue {
  double number = 0;
  std::string text{};

  template <class A>
  A as() const {
    if constexpr (std::is_same_v<A, std::string>) {
      return text;
    } else {
      return static_cast<A>(number);
    }
  }
};

/// Rows of any length, padded.
template <class T>
struct PaddedBatchOf : BatchOf<T> {
  explicit PaddedBatchOf(const PaddingValue&) {}
};
template <class A>
  requires std::is_arithmetic_v<A> || std::is_same_v<A, std::string>
struct PaddedBatchOf<std::vector<A>> {
  using type = PaddedBatch<A>;

  explicit PaddedBatchOf(const PaddingValue& with) : padding(with.as<A>()) {}
  void begin(std::size_t count) {
    rows.clear();
    reserve_rows(rows, count);
  }
  void add(std::vector<A>&& x) { rows.push_back(std::move(x)); }
  type take() {
    type out;
    std::size_t bound = 0;
    for (const std::vector<A>& row : rows) bound = std::max(bound, row.size());
    out.bound = static_cast<std::int64_t>(bound);
    out.values.reserve(bound * rows.size());
    for (std::vector<A>& row : rows) {
      out.values.insert(out.values.end(), std::make_move_iterator(row.begin()),
                        std::make_move_iterator(row.end()));
      out.values.insert(out.values.end(), bound - row.size(), padding);
      out.lengths.push_back(static_cast<std::int32_t>(row.size()));
    }
    return out;
  }

  std::vector<std::vector<A>> rows;
  A padding;
};

/// Each part of a tuple is a batch.
template <template <class> class Of, class... T>
struct TupleBatch {
  using type = std::tuple<typename Of<T>::type...>;

  template <class... With>
  explicit TupleBatch(const With&... with) : parts{Of<T>(with...)...} {}
  void begin(std::size_t count) {
    std::apply([&](auto&... part) { (part.begin(count), ...); }, parts);
  }
  void add(std::tuple<T...>&& x) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (std::get<I>(parts).add(std::move(std::get<I>(x))), ...);
    }(std::index_sequence_for<T...>{});
  }
  type take() {
    return std::apply([](auto&... part) { return type{part.take()...}; }, parts);
  }

  std::tuple<Of<T>...> parts;
};
template <class... T>
struct BatchOf<std::tuple<T...>> : TupleBatch<BatchOf, T...> {};
template <class... T>
struct PaddedBatchOf<std::tuple<T...>> : TupleBatch<PaddedBatchOf, T...> {
  explicit PaddedBatchOf(const PaddingValue& with) : TupleBatch<PaddedBatchOf, T...>(with) {}
};

}  // namespace detail

/// What Dataset<T>::batch gives: std::vector<T>; for rows of numbers one array, row-major; for
/// tuples a tuple of batches.
template <class T>
using Batched = typename detail::BatchOf<T>::type;
/// The same for padded_batch: vectors of numbers or texts become a PaddedBatch.
template <class T>
using Padded = typename detail::PaddedBatchOf<T>::type;

}  // namespace typeflow::inline TYPEFLOW_ISA
