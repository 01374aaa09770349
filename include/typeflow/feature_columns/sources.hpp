// SPDX-License-Identifier: Apache-2.0
#pragma once

// The features that columns read, as sources of a model: placeholders, or the parts of an iterator.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/feature_columns/features.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/iterators/iterator.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Each feature once, in the order of first use.
template <class... Kept>
constexpr auto each_once(const std::tuple<Kept...>& kept, const std::tuple<>&) {
  return kept;
}
template <class... Kept, class First, class... Rest>
constexpr auto each_once(const std::tuple<Kept...>& kept, const std::tuple<First, Rest...>& more) {
  const auto rest =
      std::apply([](const auto&, const auto&... others) { return std::tuple(others...); }, more);
  constexpr bool is_known = ((Kept::key.view() == First::key.view()) || ...);
  static_assert(!is_known || (std::is_same_v<Kept, First> || ...),
                "feature columns: two columns read one feature with different types");
  if constexpr (is_known) {
    return each_once(kept, rest);
  } else {
    return each_once(std::tuple_cat(kept, std::tuple<First>(std::get<0>(more))), rest);
  }
}

template <Element T, Extent... D>
constexpr auto part_of(Shape<D...>) {
  return ElementPart<T, D...>{};
}
template <class Raw, Extent Steps>
using PartOfRaw = decltype(part_of<typename Raw::element>(typename Raw::template shape<Steps>{}));

template <class Raw, Extent Steps>
constexpr auto raw_placeholder(Graph& g) {
  return [&]<Extent... D>(Shape<D...>) {
    return feature<Raw::key>(
        placeholder<typename Raw::element, D...>(g, Label(Raw::key.characters)));
  }(typename Raw::template shape<Steps>{});
}

}  // namespace detail

/// The features that columns read, each once, as a tuple of RawFeature and RawSequence: names,
/// types and shapes.
template <class... Columns>
constexpr auto raw_features(const std::tuple<Columns...>& columns) {
  return std::apply(
      [](const auto&... column) {
        return detail::each_once(std::tuple<>(), std::tuple_cat(column.raw_features()...));
      },
      columns);
}

/// A placeholder for each feature that the columns read, of its name: session.run<"loss">(
/// tf::feed<"age">(ages), tf::feed<"education">(educations)). Sequences have `Steps` steps, by
/// default any number.
template <Extent Steps = symbol<"time">, class... Columns>
constexpr auto feature_placeholders(Graph& g, const std::tuple<Columns...>& columns) {
  return std::apply(
      [&]<class... Raw>(const Raw&...) {
        return Features(detail::raw_placeholder<Raw, Steps>(g)...);
      },
      raw_features(columns));
}

/// The same features as the parts of an iterator, in the order of raw_features(columns), so that a
/// tf::DataSession takes them from a dataset. Datasets of csv_features and example_features have
/// these parts.
template <Extent Steps = symbol<"time">, class... Columns>
constexpr auto feature_iterator(Graph& g, Label name, const std::tuple<Columns...>& columns) {
  const auto features = [&]<class... Raw>(const Raw&...) {
    const auto parts = iterator<detail::PartOfRaw<Raw, Steps>...>(g, name);
    if constexpr (sizeof...(Raw) == 1) {
      return Features(feature<Raw::key>(parts)...);
    } else {
      return std::apply([](const auto&... x) { return Features(feature<Raw::key>(x)...); }, parts);
    }
  };
  return std::apply(features, raw_features(columns));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
