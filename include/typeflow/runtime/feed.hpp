// SPDX-License-Identifier: Apache-2.0
#pragma once

// Inputs and outputs of a run: feed<"x">(values), into<"y">(buffer).

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// What an argument of a run is: a feed, a buffer for a result, or a limit (run_limits.hpp).
enum class ArgumentKind { feed, into, limit };

/// An object of any type on the heap.
using AnyOwned = std::unique_ptr<void, void (*)(void*)>;

template <class X>
AnyOwned on_heap(X&& x) {
  using Object = std::remove_cvref_t<X>;
  return {new Object(std::forward<X>(x)),
          [](void* object) { delete static_cast<Object*>(object); }};
}

}  // namespace detail

/// A tensor for a run, made by feed<"name">(...): a pointer, and a shape if one was given. A feed
/// of a temporary owns it. Any other feed refers to the caller's memory, which must live and stay
/// unchanged until the run ends.
template <Text N, Element T>
struct Feed {
  static constexpr detail::ArgumentKind argument = detail::ArgumentKind::feed;
  using name = NameOf<N>;
  using element = T;

  const T* values = nullptr;  ///< null: `scalar` is the value
  std::int64_t count = 0;
  int rank = -1;  ///< -1: elements in row-major order without a shape
  std::array<std::int64_t, max_rank> extents{};
  T scalar{};
  std::unique_ptr<T[]> owned{};               ///< elements of an expression that was evaluated
  detail::AnyOwned source{nullptr, nullptr};  ///< the temporary that was fed

  const T* data() const { return values != nullptr ? values : &scalar; }
};

/// A buffer for a result: into<"name">(...).
template <Text N, Element T>
struct Into {
  static constexpr detail::ArgumentKind argument = detail::ArgumentKind::into;
  using name = NameOf<N>;
  using element = T;
  T* data;
  std::int64_t count;
  int rank = -1;  ///< -1: the buffer has no shape
  std::array<std::int64_t, max_rank> extents{};
};
/// A std::vector<bool> as a buffer. It has no elements in memory, so the run writes into `owned`,
/// from where the values go to the vector.
template <Text N>
struct IntoBits : Into<N, bool> {
  std::unique_ptr<bool[]> owned;
  std::vector<bool>* bits;

  void finish() const { std::copy(this->data, this->data + this->count, bits->begin()); }
};

/// std::strings as a buffer. The run writes views, whose bytes then go to the strings.
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
  x.layout();
  typename std::remove_cvref_t<X>::value_type;
};
/// A vector, array or span. (Uses <iterator>, because <ranges> takes long to compile.)
template <class X>
concept ContiguousRange = !XTensorExpression<X> && requires(std::remove_reference_t<X>& x) {
  { std::ranges::begin(x) } -> std::contiguous_iterator;
  std::ranges::data(x);
  std::ranges::size(x);
} && !std::convertible_to<const std::remove_cvref_t<X>&, std::string_view>;

/// xt::layout_type::row_major, found through X, because this header does not include xtensor.
template <XTensorExpression X>
inline constexpr auto row_major = std::remove_cvref_t<
    decltype(std::declval<const std::remove_cvref_t<X>&>().layout())>::row_major;

/// Gives a Feed or an Into the shape of x, if x has one.
template <class To, class X>
void take_shape(To& to, const X& x) {
  if constexpr (requires { x.dimension(), x.shape(); }) {
    to.rank = static_cast<int>(x.dimension());
    std::size_t axis = 0;
    for (const auto extent : x.shape()) {
      if (axis < to.extents.size()) to.extents[axis++] = static_cast<std::int64_t>(extent);
    }
  }
}

/// The element type of a tensor that takes or gives values of type V.
template <class V>
using FedElement = std::conditional_t<std::is_same_v<std::remove_cv_t<V>, std::string>,
                                      std::string_view, std::remove_cv_t<V>>;

/// Whether a forwarding reference refers to a temporary that owns its elements, or may own them.
/// Spans and other borrowed ranges never do.
template <class X>
concept Temporary = !std::is_reference_v<X> && !std::is_array_v<X> &&
                    !requires(X&& x) { std::ranges::begin(std::forward<X>(x)); } &&
                    (ContiguousRange<X> || std::is_same_v<std::remove_const_t<X>, std::string> ||
                     (XTensorExpression<X> && requires(const X& x) { x.data(); }));

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

/// Feeds the elements of a vector, array or span, in row-major order. The number of rows follows
/// from the placeholder's shape. Strings are std::string_views or std::strings.
///
/// This overload and those below refer to the elements; expressions without elements in memory are
/// evaluated.
template <Text N, detail::ContiguousRange R>
auto feed(const R& range) {
  using V = std::iter_value_t<decltype(std::ranges::begin(range))>;
  using T = detail::FedElement<V>;
  static_assert(Element<T>, "feed<name>(values): no tensor has elements of this type");
  Feed<N, T> f;
  f.count = static_cast<std::int64_t>(std::ranges::size(range));
  detail::take_shape(f, range);
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

/// The same for a std::vector<bool>, which is copied.
template <Text N>
Feed<N, bool> feed(const std::vector<bool>& bits) {
  Feed<N, bool> f;
  f.count = static_cast<std::int64_t>(bits.size());
  f.owned = std::make_unique<bool[]>(std::max<std::size_t>(bits.size(), 1));
  std::copy(bits.begin(), bits.end(), f.owned.get());
  f.values = f.owned.get();
  return f;
}

/// Feeds memory with a shape. The memory stays the caller's.
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

/// Feeds an xtensor container, view or expression, with its shape. It is evaluated first unless it
/// is contiguous and row-major.
template <Text N, detail::XTensorExpression X>
auto feed(const X& x) {
  using T = detail::FedElement<typename X::value_type>;
  static_assert(Element<T>, "feed<name>(x): no tensor has elements of this type");
  Feed<N, T> f;
  f.count = static_cast<std::int64_t>(x.size());
  detail::take_shape(f, x);
  if constexpr (requires {
                  { x.data() } -> std::convertible_to<const T*>;
                  x.data_offset();
                  x.is_contiguous();
                }) {
    if (x.is_contiguous() && (x.layout() == detail::row_major<X> || f.rank <= 1)) {
      f.values = x.data() + x.data_offset();
      return f;
    }
  }
  f.owned = std::make_unique<T[]>(std::max<std::size_t>(x.size(), 1));
  std::copy(x.template begin<detail::row_major<X>>(), x.template end<detail::row_major<X>>(),
            f.owned.get());
  f.values = f.owned.get();
  return f;
}

/// Feeds a temporary or moved string, vector, array, xtensor container or view. The feed owns it:
/// moves it to the heap, where it lives as long as the feed. Memory that a view refers to, and the
/// bytes of std::string_views, stay the caller's.
template <Text N, detail::Temporary X>
auto feed(X&& x) {
  detail::AnyOwned source = detail::on_heap(std::move(x));
  auto f = feed<N>(*static_cast<const X*>(source.get()));
  f.source = std::move(source);
  return f;
}
/// The same of an array of C, and of a list: feed<"x">({1.0f, 2.0f}).
template <Text N, Element T, std::size_t Size>
auto feed(T (&&values)[Size]) {
  return feed<N>(std::to_array(std::move(values)));
}

/// Fetches into a vector, array or span with the right number of elements, or into a row-major
/// xtensor container or contiguous view of the right shape. A buffer may overlap a feed: the result
/// is then copied there at the end of the run. Overlapping another buffer, or a variable of the
/// model, is an Error.
///
/// Strings are fetched into std::strings, because the bytes that a run makes end with the run.
template <Text N, class R>
  requires detail::ContiguousRange<R> || detail::XTensorExpression<R>
auto into(R&& buffer) {
  const auto target = [&] {
    if constexpr (detail::XTensorExpression<R>) {
      static_assert(std::remove_cvref_t<R>::static_layout == detail::row_major<R>,
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
  detail::take_shape(into, buffer);
  return into;
}
/// Fetches into a std::vector<bool>, through a buffer that is allocated.
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

}  // namespace typeflow::inline TYPEFLOW_ISA
