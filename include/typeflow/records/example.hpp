// SPDX-License-Identifier: Apache-2.0
#pragma once

// TensorFlow's Example and SequenceExample: named lists of bytes, floats or integers, as protocol
// buffers. tf::parse_single_example takes out the features that a program knows, with their types:
//
//   const auto [pixels, label] = tf::parse_single_example(
//       record, tf::FixedLen<float, 784>{"image"}, tf::FixedLen<std::int64_t>{"label"});

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The values of a feature; std::monostate: of no type.
using Feature = std::variant<std::monostate, std::vector<std::string>, std::vector<float>,
                             std::vector<std::int64_t>>;
using FeatureMap = std::map<std::string, Feature, std::less<>>;

struct Example {
  FeatureMap features;
  bool operator==(const Example&) const = default;
};
/// An example with features of the whole, and lists of features, one for each step.
struct SequenceExample {
  FeatureMap context;
  std::map<std::string, std::vector<Feature>, std::less<>> feature_lists;
  bool operator==(const SequenceExample&) const = default;
};

/// The protocol buffer of an example. Features are in the order of their names, so that equal
/// examples have equal bytes.
std::string encode(const Example& example);
std::string encode(const SequenceExample& example);
/// Error if the bytes are no such protocol buffer.
Example decode_example(std::string_view bytes);
SequenceExample decode_sequence_example(std::string_view bytes);

namespace detail {

template <class T>
concept FeatureElement =
    std::same_as<T, std::string> || std::same_as<T, float> || std::same_as<T, std::int64_t>;

template <std::size_t Count, std::size_t... Rest>
inline constexpr std::size_t extents_product = Count * extents_product<Rest...>;
template <std::size_t Count>
inline constexpr std::size_t extents_product<Count> = Count;

/// Which alternative of Feature has elements T.
template <class T>
inline constexpr int kind_of_feature = std::is_same_v<T, std::string> ? 1
                                       : std::is_same_v<T, float>     ? 2
                                                                      : 3;

/// The features of some names in an Example: what is not asked for is skipped, not decoded.
struct WantedFeature {
  std::string_view key;
  int kind;
  Feature found{};
  bool is_there = false;
};
void find_features(std::string_view bytes, WantedFeature* wanted, std::size_t count);

[[noreturn]] void fail_missing(std::string_view key);
[[noreturn]] void fail_count(std::string_view key, std::size_t expected, std::size_t got);

}  // namespace detail

/// A feature of a known number of values: FixedLen<float, 28, 28>{"image"} is an array of 784,
/// row-major; FixedLen<std::int64_t>{"label"} one value. Error if it is missing and has no default,
/// or has another type or count.
template <detail::FeatureElement T, std::size_t... Extents>
struct FixedLen {
  static constexpr std::size_t count = detail::extents_product<1, Extents...>;
  using element = T;
  using type = std::conditional_t<sizeof...(Extents) == 0, T, std::array<T, count>>;

  std::string_view key;
  std::optional<type> default_value{};

  type take(Feature& feature, bool is_there) const {
    auto* const values = std::get_if<std::vector<T>>(&feature);
    // As in TensorFlow, a feature without values is as good as none.
    if (!is_there || values == nullptr) {
      if (!default_value) detail::fail_missing(key);
      return *default_value;
    }
    if (values->size() != count) detail::fail_count(key, count, values->size());
    if constexpr (sizeof...(Extents) == 0) {
      return std::move(values->front());
    } else {
      type out;
      for (std::size_t i = 0; i < count; ++i) out[i] = std::move((*values)[i]);
      return out;
    }
  }
};
/// A feature of any number of values, a std::vector. It is empty if the feature is missing. Error
/// if it has another type.
template <detail::FeatureElement T>
struct VarLen {
  using element = T;
  using type = std::vector<T>;

  std::string_view key;

  type take(Feature& feature, bool) const {
    auto* const values = std::get_if<std::vector<T>>(&feature);
    return values == nullptr ? type() : std::move(*values);
  }
};

/// The features of an encoded Example: a tuple, in the order of the arguments. If there are several
/// of a name, the last one counts.
template <class... Specs>
std::tuple<typename Specs::type...> parse_single_example(std::string_view bytes,
                                                         const Specs&... specs) {
  std::array<detail::WantedFeature, sizeof...(Specs)> wanted{
      detail::WantedFeature{specs.key, detail::kind_of_feature<typename Specs::element>}...};
  detail::find_features(bytes, wanted.data(), wanted.size());
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<typename Specs::type...>{specs.take(wanted[I].found, wanted[I].is_there)...};
  }(std::index_sequence_for<Specs...>{});
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/example.ipp"
#endif
