// SPDX-License-Identifier: Apache-2.0
#pragma once

// The features of a batch of examples: a tensor for each name. The names are part of the type, so a
// column that reads a feature which is not there does not compile.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/symbol.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/front/expr.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A feature as it comes from a file or a feed: its name, the type of its elements, and the extents
/// of one example. RawFeature<"pixels", float, 28, 28>.
template <Text Key, Element T, Extent... D>
struct RawFeature {
  static constexpr Text key = Key;
  static constexpr Text name = Key;
  using element = T;
  /// Of a batch, whatever the number of steps.
  template <Extent Steps>
  using shape = Shape<batch, D...>;

  /// What stands for it where an example has none.
  T default_value{};
  bool has_default = false;
  bool may_have_fewer = false;  ///< an example with fewer values is padded with the default

  constexpr std::tuple<RawFeature> raw_features() const { return {*this}; }
};
/// A feature with any number of steps, the same for all examples of a batch. A second feature, its
/// name with "_length" behind it, says how many steps of each example count.
template <Text Key, Element T, Extent... D>
struct RawSequence {
  static constexpr Text key = Key;
  using element = T;
  template <Extent Steps>
  using shape = Shape<batch, Steps, D...>;
};

/// The numbers of steps of a sequence, a feature of each batch.
template <Text Key>
struct RawLength {
  static constexpr Text key = Key;
  using element = std::int32_t;
  template <Extent Steps>
  using shape = Shape<batch>;
};

/// A tensor and the name of its feature. Made by feature<"age">(x).
template <Text Key, class E>
struct NamedFeature {
  static constexpr Text key = Key;
  E tensor;
};
template <Text Key, TypedExpr X>
constexpr auto feature(const X& x) {
  return NamedFeature<Key, Expr<typename X::element, typename X::shape>>{{x.graph(), x.id()}};
}

namespace detail {

template <std::size_t A, std::size_t B>
constexpr Text<A + B - 1> joined(const Text<A>& a, const Text<B>& b) {
  Text<A + B - 1> out;
  for (std::size_t i = 0; i + 1 < A; ++i) out.characters[i] = a.characters[i];
  for (std::size_t i = 0; i < B; ++i) out.characters[A - 1 + i] = b.characters[i];
  return out;
}

/// The position of a name among others; their number if it is not there.
template <std::size_t N>
constexpr std::size_t position_of(std::string_view name,
                                  const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return i;
  }
  return N;
}

template <class X>
inline constexpr bool is_named_feature = false;
template <Text Key, class E>
inline constexpr bool is_named_feature<NamedFeature<Key, E>> = true;

}  // namespace detail

/// Tensors by the names of their features: Features(feature<"age">(age), feature<"sex">(sex)).
/// feature_placeholders and feature_iterator make them for columns.
template <class... Named>
struct Features {
  static constexpr std::array<std::string_view, sizeof...(Named)> names{Named::key.view()...};
  std::tuple<Named...> tensors;

  constexpr explicit Features(const Named&... named) : tensors(named...) {}

  template <Text Key>
  static constexpr bool has = detail::position_of(Key.view(), names) < sizeof...(Named);

  /// The tensor of a feature.
  template <Text Key>
  constexpr auto get() const {
    static_assert(has<Key>, "features.get<name>(): there is no feature of this name");
    if constexpr (has<Key>) {
      return std::get<detail::position_of(Key.view(), names)>(tensors).tensor;
    } else {
      return std::get<0>(tensors).tensor;
    }
  }
  /// The graph of the tensors.
  constexpr Graph& graph() const { return std::get<0>(tensors).tensor.graph(); }
};

namespace detail {
template <class X>
inline constexpr bool is_features = false;
template <class... Named>
inline constexpr bool is_features<Features<Named...>> = true;
}  // namespace detail
/// Tensors by names.
template <class X>
concept FeatureSet = detail::is_features<X>;

namespace detail {

template <class F, class... Raw>
constexpr bool has_all(const std::tuple<Raw...>*) {
  return (F::template has<Raw::key> && ...);
}
/// Whether features have all that columns read.
template <class F, class... Columns>
inline constexpr bool has_features_of =
    (has_all<F>(static_cast<decltype(std::declval<const Columns&>().raw_features())*>(nullptr)) &&
     ...);

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
