// SPDX-License-Identifier: Apache-2.0
#pragma once

// What goes into a run and where its results go: feed<"x">(values), into<"y">(buffer).

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/core/xtensor.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A tensor for a run: a pointer, and its shape if one was given. Made by feed<"name">(...); must
/// not outlive what it was made of.
template <Text N, Element T>
struct Feed {
  static constexpr bool is_feed = true;
  using name = NameOf<N>;
  using element = T;

  const T* values = nullptr;  ///< null: the scalar
  std::int64_t count = 0;
  int rank = -1;  ///< -1: elements in row-major order without a shape
  std::array<std::int64_t, max_rank> extents{};
  T scalar{};
  std::unique_ptr<T[]> owned{};  ///< of an expression that had to be evaluated

  const T* data() const { return values != nullptr ? values : &scalar; }
};

/// A buffer for a result: into<"name">(...).
template <Text N, Element T>
struct Into {
  static constexpr bool is_feed = false;
  using name = NameOf<N>;
  using element = T;
  T* data;
  std::int64_t count;
  int rank = -1;  ///< -1: the buffer has no shape
  std::array<std::int64_t, max_rank> extents{};
};
/// The same for a std::vector<bool>, which has no elements in memory: the run writes into a buffer,
/// whose values then go to the vector.
template <Text N>
struct IntoBits : Into<N, bool> {
  std::unique_ptr<bool[]> owned;
  std::vector<bool>* bits;

  void finish() const { std::copy(this->data, this->data + this->count, bits->begin()); }
};

/// The same for std::strings: the run writes views, whose bytes then go to the strings.
template <Text N>
struct IntoStrings : Into<N, std::string_view> {
  std::unique_ptr<std::string_view[]> owned;
  std::string* strings;

  void finish() const { std::copy(this->data, this->data + this->count, strings); }
};

namespace detail {

template <class X>
concept XTensorExpression = requires(const std::remove_cvref_t<X>& x) {
  x.dimension();
  x.shape();
  typename std::remove_cvref_t<X>::value_type;
};
template <class X>
concept ContiguousRange =
    !XTensorExpression<X> && std::ranges::contiguous_range<X> && std::ranges::sized_range<X> &&
    !std::convertible_to<const std::remove_cvref_t<X>&, std::string_view>;

/// The element of a tensor that values of type V are fed as, or fetched from.
template <class V>
using FedElement = std::conditional_t<std::is_same_v<std::remove_cv_t<V>, std::string>,
                                      std::string_view, std::remove_cv_t<V>>;

}  // namespace detail

/// Feeds a number.
template <Text N, Element T>
Feed<N, T> feed(T value) {
  Feed<N, T> f;
  f.count = 1;
  f.rank = 0;
  f.scalar = value;
  return f;
}

/// Feeds a string.
template <Text N>
Feed<N, std::string_view> feed(std::string_view value) {
  Feed<N, std::string_view> f;
  f.count = 1;
  f.rank = 0;
  f.scalar = value;
  return f;
}

/// Feeds the elements of a vector, array or span, in row-major order. How many rows they are
/// follows from the placeholder's shape. Strings are std::string_views or std::strings.
template <Text N, detail::ContiguousRange R>
auto feed(const R& range) {
  using V = std::ranges::range_value_t<R>;
  using T = detail::FedElement<V>;
  static_assert(Element<T>, "feed<name>(values): no tensor has elements of this type");
  Feed<N, T> f;
  f.count = static_cast<std::int64_t>(std::ranges::size(range));
  if constexpr (std::is_same_v<T, std::remove_cv_t<V>>) {
    f.values = std::ranges::data(range);
  } else {
    f.owned = std::make_unique<T[]>(std::max<std::size_t>(std::ranges::size(range), 1));
    std::copy(std::ranges::begin(range), std::ranges::end(range), f.owned.get());
    f.values = f.owned.get();
  }
  static const T nothing{};
  if (f.values == nullptr) f.values = &nothing;
  return f;
}

/// The same of a std::vector<bool>, which is copied.
template <Text N>
Feed<N, bool> feed(const std::vector<bool>& bits) {
  Feed<N, bool> f;
  f.count = static_cast<std::int64_t>(bits.size());
  f.owned = std::make_unique<bool[]>(std::max<std::size_t>(bits.size(), 1));
  std::copy(bits.begin(), bits.end(), f.owned.get());
  f.values = f.owned.get();
  return f;
}

/// Feeds memory with a shape.
template <Text N, Element T>
Feed<N, T> feed(const T* values, std::initializer_list<std::int64_t> extents) {
  Feed<N, T> f;
  f.values = values;
  f.rank = static_cast<int>(extents.size());
  f.count = 1;
  int axis = 0;
  for (const std::int64_t e : extents) {
    if (axis < max_rank) f.extents[static_cast<std::size_t>(axis++)] = e;
    f.count = checked_product(f.count, std::max<std::int64_t>(e, 0));
  }
  return f;
}

/// Feeds an xtensor container, view or expression, with its shape. What is not contiguous in
/// row-major order is evaluated first.
template <Text N, detail::XTensorExpression X>
auto feed(const X& x) {
  using T = detail::FedElement<typename X::value_type>;
  static_assert(Element<T>, "feed<name>(x): no tensor has elements of this type");
  Feed<N, T> f;
  f.rank = static_cast<int>(x.dimension());
  f.count = static_cast<std::int64_t>(x.size());
  std::size_t axis = 0;
  for (const auto e : x.shape()) {
    if (axis < f.extents.size()) f.extents[axis++] = static_cast<std::int64_t>(e);
  }
  if constexpr (requires {
                  { x.data() } -> std::convertible_to<const T*>;
                  x.data_offset();
                  x.is_contiguous();
                }) {
    if (x.is_contiguous() && (x.layout() == xt::layout_type::row_major || f.rank <= 1)) {
      f.values = x.data() + x.data_offset();
      return f;
    }
  }
  f.owned = std::make_unique<T[]>(std::max<std::size_t>(x.size(), 1));
  std::copy(x.template begin<xt::layout_type::row_major>(),
            x.template end<xt::layout_type::row_major>(), f.owned.get());
  f.values = f.owned.get();
  return f;
}

/// Fetches into a vector, array or span of the right number of elements, or a row-major xtensor
/// container or contiguous view of the right shape. A buffer may overlap what the run is fed: its
/// result is then copied there when the run is done. One that overlaps another buffer, or a
/// variable of the model, is an Error.
///
/// Strings are fetched into std::strings: the bytes of what a run makes end with the run.
template <Text N, class R>
  requires detail::ContiguousRange<R> || detail::XTensorExpression<R>
auto into(R&& buffer) {
  const auto target = [&] {
    if constexpr (detail::XTensorExpression<R>) {
      static_assert(std::remove_cvref_t<R>::static_layout == xt::layout_type::row_major,
                    "into<name>(buffer): the container must be row-major");
      return std::span(buffer.data() + buffer.data_offset(), buffer.size());
    } else {
      return std::span(buffer);
    }
  }();
  using V = typename decltype(target)::element_type;
  using T = detail::FedElement<V>;
  static_assert(!std::is_const_v<V> && Element<T> && !detail::is_string<V>,
                "into<name>(buffer): the elements must be writable and of a tensor's type, strings "
                "std::strings");
  const auto count = static_cast<std::int64_t>(target.size());
  auto into = [&] {
    if constexpr (std::is_same_v<T, V>) {
      return Into<N, T>{target.data(), count};
    } else {
      auto owned = std::make_unique<T[]>(std::max<std::size_t>(target.size(), 1));
      T* const views = owned.get();
      return IntoStrings<N>{{views, count}, std::move(owned), target.data()};
    }
  }();
  if constexpr (detail::XTensorExpression<R>) {
    into.rank = static_cast<int>(buffer.dimension());
    std::size_t axis = 0;
    for (const auto e : buffer.shape()) {
      if (axis < into.extents.size()) into.extents[axis++] = static_cast<std::int64_t>(e);
    }
  }
  return into;
}
/// Fetches into a std::vector<bool>, by way of a buffer that is allocated.
template <Text N>
IntoBits<N> into(std::vector<bool>& bits) {
  auto owned = std::make_unique<bool[]>(std::max<std::size_t>(bits.size(), 1));
  bool* const data = owned.get();
  return {{data, static_cast<std::int64_t>(bits.size())}, std::move(owned), &bits};
}
/// Fetches a string.
template <Text N>
IntoStrings<N> into(std::string& value) {
  auto owned = std::make_unique<std::string_view[]>(1);
  std::string_view* const view = owned.get();
  return {{view, 1, -1, {}}, std::move(owned), &value};
}
/// Fetches a scalar.
template <Text N, Element T>
Into<N, T> into(T& value) {
  return {&value, 1, -1, {}};
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
