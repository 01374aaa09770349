// SPDX-License-Identifier: Apache-2.0
#pragma once

// Feature columns read from TensorFlow's Examples: the features that columns name, with their
// types. A header of its own, because it needs what records.hpp needs (CMake: typeflow::records).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/feature_columns/sources.hpp"
#include "typeflow/records/example.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A feature of Count values, as a column reads it: parse_single_example gives an array. Error if
/// an Example has another number of values, or none and there is no default. If there may be fewer
/// values, the default stands for the rest.
template <detail::FeatureElement T, std::size_t Count>
struct ColumnFeature {
  using element = T;
  using type = std::array<T, Count>;

  std::string_view key;
  std::optional<T> default_value{};
  bool may_have_fewer = false;

  type take(Feature& feature, bool) const {
    auto* const values = std::get_if<std::vector<T>>(&feature);
    const std::size_t given = values == nullptr ? 0 : values->size();
    const std::string name = "feature '" + std::string(key) + "'";
    if (given == 0 && !default_value) throw Error(name, "is missing, and has no default");
    if (given > Count || (given < Count && given > 0 && !may_have_fewer)) {
      throw Error(name, std::to_string(Count) + (may_have_fewer ? " values or fewer" : " values"),
                  std::to_string(given));
    }
    type out;
    for (std::size_t i = 0; i < Count; ++i) {
      out[i] = i < given ? std::move((*values)[i]) : *default_value;
    }
    return out;
  }
};

namespace detail {

template <Element T>
using ParsedElement = std::conditional_t<is_string<T>, std::string, T>;

template <Text Key, Element T>
auto example_spec(const RawFeature<Key, T>& raw) {
  using P = ParsedElement<T>;
  FixedLen<P> spec{RawFeature<Key, T>::key.view()};
  if (raw.has_default) spec.default_value = P(raw.default_value);
  return std::tuple(std::move(spec));
}
template <Text Key, Element T, Extent D, Extent... Rest>
auto example_spec(const RawFeature<Key, T, D, Rest...>& raw) {
  using P = ParsedElement<T>;
  ColumnFeature<P, static_cast<std::size_t>((D * ... * Rest))> spec{
      RawFeature<Key, T, D, Rest...>::key.view()};
  if (raw.has_default) spec.default_value = P(raw.default_value);
  spec.may_have_fewer = raw.may_have_fewer;
  return std::tuple(std::move(spec));
}
template <Text Key, Element T, Extent... D>
auto example_spec(const RawSequence<Key, T, D...>&) {
  static_assert(sizeof...(D) == 0,
                "make_parse_example_spec(columns): sequences of several numbers a step can't be "
                "parsed; make batches of them and feed them");
  return std::tuple(VarLen<ParsedElement<T>>{RawSequence<Key, T, D...>::key.view()});
}
template <Text Key>
auto example_spec(const RawLength<Key>&) {
  return std::tuple();  // follows from the sequence
}

}  // namespace detail

/// What parse_single_example takes out of an Example for these columns: a tuple of a specification
/// for each feature, in the order of raw_features(columns). Words and ids that are missing are ""
/// and -1. Sequences are vectors; padded_batch gives them their lengths, and pads words with "".
template <class... Columns>
auto make_parse_example_spec(const std::tuple<Columns...>& columns) {
  return std::apply([](const auto&... raw) { return std::tuple_cat(detail::example_spec(raw)...); },
                    raw_features(columns));
}

/// The features of encoded Examples, as tuples, for feature_iterator:
/// example_features(tf::tf_records(path), columns).batch(32). Error, with the number of the record
/// and the feature, if an Example is damaged or lacks one.
template <class... Columns>
auto example_features(const Dataset<std::string>& records, const std::tuple<Columns...>& columns) {
  return records.enumerate().map(
      [specs = make_parse_example_spec(columns)](const std::tuple<std::int64_t, std::string>& row) {
        try {
          return std::apply(
              [&](const auto&... spec) { return parse_single_example(std::get<1>(row), spec...); },
              specs);
        } catch (const Error& why) {
          throw Error("record " + std::to_string(std::get<0>(row)), why.what());
        }
      });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
