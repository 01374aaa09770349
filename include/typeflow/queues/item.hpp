// SPDX-License-Identifier: Apache-2.0
#pragma once

// What queues, barriers and accumulators hold: items of an element type and a shape.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

inline constexpr Extent varying_unit = Extent{1} << 60;
constexpr bool is_varying(Extent extent) { return extent >= varying_unit; }
constexpr Extent bound_of(Extent extent) {
  return is_varying(extent) ? extent - varying_unit : extent;
}

}  // namespace detail

/// An axis whose length differs from element to element: Item<float, at_most(20), 3>.
constexpr Extent at_most(Extent extent) { return detail::varying_unit + extent; }

/// A tensor in each element of a queue: Item<float, 28, 28>, Item<std::int32_t> for a number,
/// Item<std::string_view> for a string. What is shorter than at_most(n) is padded with zeros to n,
/// or with empty strings.
template <Element T, Extent... D>
struct Item {
  static_assert(((D >= 0) && ...), "Item<T, D...>: the D must be numbers or at_most(n)");
  static_assert(sizeof...(D) < max_rank, "Item<T, D...>: seven axes at most");

  using element = T;
  static constexpr int rank = static_cast<int>(sizeof...(D));
  /// Which axes vary: bit i for axis i.
  static constexpr unsigned varying = [] {
    unsigned bits = 0;
    unsigned axis = 0;
    ((bits |= (detail::is_varying(D) ? 1u : 0u) << axis++), ...);
    return bits;
  }();
  static constexpr int varying_axes = ((detail::is_varying(D) ? 1 : 0) + ... + 0);
  /// The type of a padded item.
  static constexpr Type type{dtype_of<T>, Dims{rank, {detail::bound_of(D)...}}};
  static constexpr std::int64_t size = (detail::bound_of(D) * ... * 1);
};

namespace detail {

/// An item as a value.
struct ItemLayout {
  std::int64_t element_size;
  std::int64_t bytes;  ///< of a padded item
  unsigned varying;
  Dims dims;
  bool is_string;
};
template <class I>
inline constexpr ItemLayout layout_of_item{
    sizeof(typename I::element), I::size* static_cast<std::int64_t>(sizeof(typename I::element)),
    I::varying, I::type.dims, is_string<typename I::element>};

template <class I>
inline constexpr bool is_item = false;
template <Element T, Extent... D>
inline constexpr bool is_item<Item<T, D...>> = true;

/// "float [28, at most 3], int32 []"
constexpr void print_item(Message& to, const Type& type, unsigned varying) {
  to << type.dtype << " [";
  for (int i = 0; i < type.dims.rank; ++i) {
    to << (i > 0 ? ", " : "") << ((varying >> i & 1u) != 0 ? "at most " : "")
       << type.dims.extent[i];
  }
  to << ']';
}
template <class... I>
constexpr void print_items(Message& to) {
  const char* between = "";
  ((to << between, print_item(to, I::type, I::varying), between = ", "), ...);
}

/// A Message's text as a constant: F{}() makes the message.
template <class F>
struct MessageText {
  static constexpr Message message = F{}();
  static_assert(message.length < Message::capacity, "a queue has too many items to name them all");
  static constexpr auto characters = [] {
    std::array<char, static_cast<std::size_t>(message.length)> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = message.text[i];
    return out;
  }();
  static constexpr std::string_view view{characters.data(), characters.size()};
};

/// The name of an operation on a resource R: "Enqueue (Fifo 32: float [3])".
template <class R, Text What>
struct OperationText {
  constexpr Message operator()() const {
    Message m{};
    return m << What.view() << " (" << R::name << ')';
  }
};
template <class R, Text What>
inline constexpr std::string_view operation_name = MessageText<OperationText<R, What>>::view;

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
