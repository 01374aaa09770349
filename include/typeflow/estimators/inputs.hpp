// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inputs of estimators: batches of a dataset whose parts have the names of a model's placeholders.
//
//   const auto rows = tf::csv_rows<float, float, std::int32_t>("points.csv", {.header = true});
//   const auto train = tf::inputs<"x", "y", "label">(rows.shuffle({.seed = 1}).repeat().batch(32));

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/data/batched.hpp"
#include "typeflow/data/batches.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/data/sources.hpp"
#include "typeflow/feature_columns/sources.hpp"
#include "typeflow/iterators/padded_feed.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A literal as a type, for lists of names that every compiler can take apart.
template <Text N>
struct Named {
  static constexpr auto text = N;
};

}  // namespace detail

/// The batches of a dataset, with a name for each part of an element. Made by inputs(), rows() and
/// feature_inputs(). It is a recipe, as a dataset is: each fit, evaluate or predict reads it from
/// its first batch on.
template <class T, class... Names>
class Inputs {
 public:
  explicit Inputs(Dataset<T> batches) : batches_(std::move(batches)) {}

  const Dataset<T>& batches() const { return batches_; }
  /// "x", "label"
  static std::string names() {
    std::string list;
    (list.append(list.empty() ? "\"" : ", \"").append(Names::text.view()).append("\""), ...);
    return list;
  }

 private:
  Dataset<T> batches_;
};

namespace detail {

template <class X>
inline constexpr bool is_padded_batch = false;
template <class A>
inline constexpr bool is_padded_batch<PaddedBatch<A>> = true;

/// References to the parts of a batch. A padded batch has two, the second one is the lengths.
template <class T>
auto parts_of_batch(const T& from) {
  if constexpr (requires { std::tuple_size<T>::value; } && !requires { from.data(); }) {
    return std::apply(
        [](const auto&... part) { return std::tuple_cat(detail::parts_of_batch(part)...); }, from);
  } else if constexpr (is_padded_batch<T>) {
    return std::tuple<const T&, const std::vector<std::int32_t>&>(from, from.lengths);
  } else {
    return std::tuple<const T&>(from);
  }
}
template <class T>
inline constexpr std::size_t part_count =
    std::tuple_size_v<decltype(detail::parts_of_batch(std::declval<const T&>()))>;

/// A feed of a part, as a tuple; an empty one if the session's model has no such name.
template <class S, Text N, bool Needed, class X>
auto feed_of_part(const X& part) {
  if constexpr (!Needed && !S::template has_name<N>()) {
    return std::tuple<>();
  } else if constexpr (is_padded_batch<X>) {
    return std::tuple(padded_feed<N>(part));
  } else {
    return std::tuple(feed<N>(part));
  }
}

/// f(feeds...) with the parts of a batch. If not all are `Needed`, a part is left out whose name
/// the model lacks, such as a label where the model predicts.
template <class S, bool Needed, class T, class... Names, class F>
auto with_feeds(const Inputs<T, Names...>&, const T& from, const F& f) {
  return std::apply(
      [&](const auto&... part) {
        return std::apply(f, std::tuple_cat(feed_of_part<S, Names::text, Needed>(part)...));
      },
      parts_of_batch(from));
}

}  // namespace detail

/// Names the parts of a dataset's batches: a tuple has several, and a PaddedBatch two, the values
/// and the lengths.
template <Text... Names, class T>
Inputs<T, detail::Named<Names>...> inputs(const Dataset<T>& batches) {
  static_assert(sizeof...(Names) == detail::part_count<T>,
                "inputs<names...>(batches): a name for each part of the dataset's elements");
  return Inputs<T, detail::Named<Names>...>(batches);
}

namespace detail {

template <Text... Further, class T, class... Raw>
auto inputs_of_features(const Dataset<T>& batches, const std::tuple<Raw...>&) {
  return inputs<Raw::key..., Further...>(batches);
}

}  // namespace detail

/// The same for batches with the features that columns read, in the order of
/// raw_features(columns), and `Further` parts behind them, such as labels:
///
///   tf::feature_inputs<"income">(columns, tf::csv_features<float>("people.csv", columns,
///                                                                 {"income"}).batch(100));
template <Text... Further, class T, class... Columns>
auto feature_inputs(const std::tuple<Columns...>& columns, const Dataset<T>& batches) {
  return detail::inputs_of_features<Further...>(batches, raw_features(columns));
}

struct RowOptions {
  std::int64_t batch = 0;   ///< rows in a batch; 0: all of them
  std::int64_t epochs = 0;  ///< how often all rows are read; 0: again and again
  bool shuffle = false;     ///< another order in each epoch
  std::uint64_t seed = 1;   ///< of the orders
};

/// The rows of a row-major matrix that is given as a span or a vector: matrix(values, 4).
template <class T>
struct Matrix {
  const T* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 1;
};
namespace detail {

/// An array whose elements lie in memory.
template <class R>
concept ElementsInMemory = requires(const R& values) {
  std::data(values);
  std::size(values);
};

}  // namespace detail

/// Error unless the values are whole rows.
template <detail::ElementsInMemory R>
auto matrix(const R& values, std::int64_t columns) {
  const auto size = static_cast<std::int64_t>(std::size(values));
  if (columns < 1 || size % columns != 0) {
    throw Error("matrix(values, columns)", "whole rows of " + std::to_string(columns) + " columns",
                std::to_string(size) + " values");
  }
  return Matrix<std::remove_cvref_t<decltype(*std::data(values))>>{std::data(values),
                                                                   size / columns, columns};
}

namespace detail {

/// A copy of rows.
template <class T>
struct KeptRows {
  std::vector<T> values;
  std::int64_t rows = 0;
  std::size_t columns = 1;

  std::vector<T> batch(std::span<const std::int64_t> which) const {
    std::vector<T> out;
    out.reserve(which.size() * columns);
    for (const std::int64_t row : which) {
      const auto first = values.begin() + row * static_cast<std::int64_t>(columns);
      out.insert(out.end(), first, first + static_cast<std::int64_t>(columns));
    }
    return out;
  }
};
template <class T>
KeptRows<T> kept_rows(const Matrix<T>& from) {
  std::vector<T> values(from.values, from.values + from.rows * from.columns);
  return {std::move(values), from.rows, static_cast<std::size_t>(from.columns)};
}
template <class R>
auto kept_rows(const R& values) {
  static_assert(ElementsInMemory<R>,
                "rows<names...>(options, arrays...): an array is a matrix(values, columns), a "
                "tensor, a vector or a span; a std::vector<bool> has no elements in memory");
  if constexpr (requires { values.shape(); }) {  // (N,...)
    const auto& shape = values.shape();
    const auto rows = static_cast<std::int64_t>(*shape.begin());
    const auto size = static_cast<std::int64_t>(values.size());
    return kept_rows(matrix(values, rows == 0 ? 1 : size / rows));
  } else {
    return kept_rows(matrix(values, 1));
  }
}

}  // namespace detail

/// Batches of the rows of arrays, which it copies: matrix(values, columns), tensors with a shape,
/// whose first axis counts the rows, or ranges with a number for each row.
///
///   tf::rows<"x", "label">({.batch = 32, .shuffle = true}, tf::matrix(measures, 4), species)
///
/// Error if the arrays have no rows, or not the same number of them.
template <Text... Names, class... Arrays>
auto rows(const RowOptions& options, const Arrays&... arrays) {
  static_assert(sizeof...(Names) == sizeof...(Arrays) && sizeof...(Names) > 0,
                "rows<names...>(options, arrays...): a name for each array");
  using Kept = std::tuple<decltype(detail::kept_rows(arrays))...>;
  auto kept = std::make_shared<const Kept>(detail::kept_rows(arrays)...);
  const std::int64_t count = std::get<0>(*kept).rows;
  const std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
  const auto found =
      std::apply([](const auto&... array) { return std::array{array.rows...}; }, *kept);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (found[i] == count && count > 0) continue;
    throw Error("rows: array \"" + std::string(names[i]) + "\"",
                count == 0 ? "a row at least" : std::to_string(count) + " rows, as the first array",
                std::to_string(found[i]));
  }
  detail::check_count("rows", "a batch", 0, options.batch);
  detail::check_count("rows", "a number of epochs", 0, options.epochs);
  const std::int64_t size = options.batch == 0 ? count : std::min(options.batch, count);
  return inputs<Names...>(from_generator([kept, options, count, size] {
    return [kept, options, size, left = options.epochs * count,
            sampler = BatchSampler(count, {size, options.seed, options.shuffle})]() mutable {
      using Batch = decltype(std::apply(
          [&](const auto&... array) { return std::tuple(array.batch({})...); }, *kept));
      std::optional<Batch> out;
      std::span<const std::int64_t> which = sampler.next();
      if (options.epochs > 0) {
        if (left == 0) return out;
        which = which.first(static_cast<std::size_t>(std::min(left, size)));
        left -= static_cast<std::int64_t>(which.size());
      }
      out = std::apply([&](const auto&... array) { return Batch(array.batch(which)...); }, *kept);
      return out;
    };
  }));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
