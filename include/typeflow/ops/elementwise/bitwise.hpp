// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations on the bits of integers: bitwise_and, bitwise_or, bitwise_xor, invert, left_shift,
// right_shift. They have no gradient.

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/compare.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct bitwise : elementwise {
  static constexpr Domain domain = Domain::integers;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr bool foldable = true;
};

struct BitwiseAnd : bitwise {
  static constexpr std::string_view name = "BitwiseAnd";
  template <class V>
  constexpr V operator()(V a, V b) const {
    return static_cast<V>(a & b);
  }
};
struct BitwiseOr : bitwise {
  static constexpr std::string_view name = "BitwiseOr";
  template <class V>
  constexpr V operator()(V a, V b) const {
    return static_cast<V>(a | b);
  }
};
struct BitwiseXor : bitwise {
  static constexpr std::string_view name = "BitwiseXor";
  template <class V>
  constexpr V operator()(V a, V b) const {
    return static_cast<V>(a ^ b);
  }
};
struct Invert : bitwise {
  static constexpr std::string_view name = "Invert";
  template <class V>
  constexpr V operator()(V a) const {
    return static_cast<V>(~a);
  }
};

/// Shifts. In C++ a shift by a negative number of bits, or by all bits or more, is undefined.
struct shift : bitwise {
  template <class V>
  static constexpr bool in_range(V count) {
    return static_cast<std::uint64_t>(count) < 8 * sizeof(V);
  }
};
struct LeftShift : shift {
  static constexpr std::string_view name = "LeftShift";
  template <class V>
  constexpr V operator()(V a, V count) const {
    return in_range(count) ? static_cast<V>(static_cast<std::uint64_t>(a) << count) : V(0);
  }
};
struct RightShift : shift {
  static constexpr std::string_view name = "RightShift";
  template <class V>
  constexpr V operator()(V a, V count) const {
    if (in_range(count)) return static_cast<V>(a >> count);
    if constexpr (std::is_signed_v<V>) {
      if (a < 0) return V(-1);
    }
    return V(0);
  }
};

}  // namespace ops

/// The bits that are set in both integers, elementwise.
template <class A, class B>
  requires Operands<A, B>
constexpr auto bitwise_and(const A& a, const B& b,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "bitwise_and(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "bitwise_and(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::integers, A, B> && detail::literals_fit<A, B>,
                "bitwise_and(a, b): a and b must be integers; of booleans it is logical_and(a, b)");
  return detail::apply_at(at, ops::BitwiseAnd{}, a, b);
}

/// The bits that are set in at least one of two integers, elementwise.
template <class A, class B>
  requires Operands<A, B>
constexpr auto bitwise_or(const A& a, const B& b,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "bitwise_or(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "bitwise_or(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::integers, A, B> && detail::literals_fit<A, B>,
                "bitwise_or(a, b): a and b must be integers; of booleans it is logical_or(a, b)");
  return detail::apply_at(at, ops::BitwiseOr{}, a, b);
}

/// The bits in which two integers differ, elementwise.
template <class A, class B>
  requires Operands<A, B>
constexpr auto bitwise_xor(const A& a, const B& b,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "bitwise_xor(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "bitwise_xor(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::integers, A, B> && detail::literals_fit<A, B>,
                "bitwise_xor(a, b): a and b must be integers; of booleans it is logical_xor(a, b)");
  return detail::apply_at(at, ops::BitwiseXor{}, a, b);
}

/// The bits that are not set in an integer, elementwise; for signed integers -x - 1.
template <Tensor X>
constexpr auto invert(const X& x, std::source_location at = std::source_location::current()) {
  static_assert(detail::in_domain<Domain::integers, X>,
                "invert(x): x must be a tensor of integers; of booleans it is logical_not(x)");
  return detail::apply_at(at, ops::Invert{}, x);
}

/// The bits of integers shifted to the left, elementwise; zeros follow, and high bits are lost. 0
/// where the number of places is negative or at least the number of bits, as in NumPy (TensorFlow
/// leaves that open).
template <class A, class B>
  requires Operands<A, B>
constexpr auto left_shift(const A& a, const B& count,
                          std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "left_shift(a, count): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "left_shift(a, count): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::integers, A, B> && detail::literals_fit<A, B>,
                "left_shift(a, count): a and count must be integers");
  return detail::apply_at(at, ops::LeftShift{}, a, count);
}

/// The bits of integers shifted to the right, elementwise: floor(a / 2^count). Zeros follow; in
/// signed types copies of the sign. Where the number of places is negative or at least the number
/// of bits, 0, or -1 where a is negative, as in NumPy (TensorFlow leaves that open).
template <class A, class B>
  requires Operands<A, B>
constexpr auto right_shift(const A& a, const B& count,
                           std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "right_shift(a, count): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "right_shift(a, count): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::integers, A, B> && detail::literals_fit<A, B>,
                "right_shift(a, count): a and count must be integers");
  return detail::apply_at(at, ops::RightShift{}, a, count);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
