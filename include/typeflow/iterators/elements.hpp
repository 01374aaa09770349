// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements of datasets as tensors that a run is fed with, without the dataset's type.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/dtype.hpp"
#include "typeflow/data/batched.hpp"
#include "typeflow/data/cursor.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/iterators/padded_feed.hpp"
#include "typeflow/runtime/feed.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The types of the parts of an element: those of a tuple, the values and the lengths of a padded
/// batch, or that of the element itself.
template <class T>
struct PartsOf {
  using type = std::tuple<std::type_identity<T>>;
};
template <class A>
struct PartsOf<PaddedBatch<A>> {
  using type =
      std::tuple<std::type_identity<PaddedBatch<A>>, std::type_identity<std::vector<std::int32_t>>>;
};
template <class... T>
struct PartsOf<std::tuple<T...>> {
  using type = decltype(std::tuple_cat(typename PartsOf<T>::type{}...));
};

template <class T>
inline constexpr bool is_padded = false;
template <class A>
inline constexpr bool is_padded<PaddedBatch<A>> = true;

/// f(part) for each part of an element, as a tuple.
template <class T, class F>
auto map_parts(const T& element, const F& f) {
  if constexpr (IsTuple<T>::value) {
    return std::apply(
        [&](const auto&... part) { return std::tuple_cat(detail::map_parts(part, f)...); },
        element);
  } else if constexpr (is_padded<T>) {
    return std::tuple<decltype(f(element)), decltype(f(element.lengths))>(f(element),
                                                                          f(element.lengths));
  } else {
    return std::tuple<decltype(f(element))>(f(element));
  }
}

/// A feed of a part. It refers to the part's elements, if they lie in memory as a tensor's do.
struct FeedPart {
  template <class X>
  auto operator()(const X& x) const {
    if constexpr (is_padded<X>) {
      return padded_feed<"part">(x);
    } else {
      return feed<"part">(x);
    }
  }
};

/// The rank and the number of elements that the C++ type of a part gives to its tensor.
template <class X>
struct PartType {
  static constexpr bool is_tensor = is_padded<X> || requires(const X& x) { feed<"part">(x); };
  /// The number of axes; -1 if only a run can tell.
  static constexpr int rank = [] {
    if constexpr (is_padded<X>) {
      return 2;
    } else if constexpr (Element<X> || std::is_convertible_v<const X&, std::string_view>) {
      return 0;
    } else if constexpr (requires { std::tuple_size<typename X::shape_type>::value; }) {
      return static_cast<int>(std::tuple_size<typename X::shape_type>::value);
    } else {
      return -1;
    }
  }();
  /// The number of elements, of a std::array; -1 for others.
  static constexpr std::int64_t count = [] {
    if constexpr (requires { std::tuple_size<X>::value; }) {
      return static_cast<std::int64_t>(std::tuple_size<X>::value);
    } else {
      return std::int64_t{-1};
    }
  }();
};
/// Its elements. (Not in PartType: only tensors have some.)
template <class X>
inline constexpr DType dtype_of_part =
    dtype_of<typename decltype(FeedPart{}(std::declval<const X&>()))::element>;

/// A tensor of an element.
struct PartTensor {
  const void* data;
  std::int64_t count;
  int rank;  ///< -1: elements in row-major order without a shape
  std::array<std::int64_t, max_rank> extents;
};

/// An element that a run has taken.
struct TakenElement {
  AnyOwned element{nullptr, nullptr};
  std::vector<PartTensor> parts;
  std::int64_t number = 0;       ///< in its epoch
  std::uint64_t generation = 0;  ///< of the iterator: others are from before a seek or a new epoch
};

template <class T>
TakenElement taken_element(T&& value) {
  struct Held {
    explicit Held(T&& x) : element(std::move(x)), feeds(map_parts(element, FeedPart{})) {}
    T element;
    decltype(map_parts(std::declval<const T&>(), FeedPart{})) feeds;  // refer to `element`
  };
  auto held = std::make_unique<Held>(std::move(value));
  TakenElement taken;
  std::apply(
      [&](const auto&... f) {
        taken.parts = {PartTensor{f.data(), f.count, f.rank, f.extents}...};
      },
      held->feeds);
  taken.element = {held.release(), [](void* object) { delete static_cast<Held*>(object); }};
  return taken;
}

/// A dataset that is read, whatever its elements are. Only one thread at a time uses it.
class ElementSource {
 public:
  ElementSource() = default;
  ElementSource(const ElementSource&) = delete;
  ElementSource& operator=(const ElementSource&) = delete;
  virtual ~ElementSource() = default;

  /// The next element; nothing at the end, and from then on.
  virtual std::optional<TakenElement> next() = 0;
  /// Goes to the position after `taken` elements of an epoch. If it throws, the position stays.
  virtual void open(std::uint64_t epoch, std::int64_t taken) = 0;
};

template <class T>
class ElementsOf final : public ElementSource {
 public:
  explicit ElementsOf(const Dataset<T>& dataset) : dataset_(dataset), cursor_(dataset_.open()) {}

  std::optional<TakenElement> next() override {
    std::optional<T> x = cursor_->next();
    if (!x) return std::nullopt;
    return taken_element(std::move(*x));
  }
  void open(std::uint64_t epoch, std::int64_t taken) override {
    CursorOf<T> cursor = dataset_.open(epoch);
    cursor->skip(taken);
    cursor_ = std::move(cursor);
  }

 private:
  Dataset<T> dataset_;  // must outlive the cursor
  CursorOf<T> cursor_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
