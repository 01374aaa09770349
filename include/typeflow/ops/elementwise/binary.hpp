// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise functions of several tensors, with numpy's broadcasting: maximum, minimum, floordiv,
// mod, pow, atan2, squared_difference, clip_by_value, add_n.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <source_location>

#include "typeflow/ops/elementwise/bitwise.hpp"
#include "typeflow/ops/elementwise/compare.hpp"
#include "typeflow/ops/elementwise/fixed_powers.hpp"
#include "typeflow/ops/elementwise/functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// The larger of two; NaN where either is NaN. Of equals the first, which gets the gradient.
struct Maximum : elementwise {
  static constexpr std::string_view name = "Maximum";
  static constexpr Domain domain = Domain::real;
  template <class V>
  constexpr V operator()(V a, V b) const {
    using math::select;
    if constexpr (std::is_integral_v<V>) {
      return select(a < b, b, a);
    } else {
      return select((a < b) || !(b == b), b, a);
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Maximum, auto a, auto b, auto, auto dy) {
    return {detail::apply_untyped(IfGreaterEqual{}, dy, a, b),
            detail::apply_untyped(IfGreater{}, dy, b, a)};
  }
};

struct Minimum : elementwise {
  static constexpr std::string_view name = "Minimum";
  static constexpr Domain domain = Domain::real;
  template <class V>
  constexpr V operator()(V a, V b) const {
    using math::select;
    if constexpr (std::is_integral_v<V>) {
      return select(b < a, b, a);
    } else {
      return select((b < a) || !(b == b), b, a);
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Minimum, auto a, auto b, auto, auto dy) {
    return {detail::apply_untyped(IfGreaterEqual{}, dy, b, a),
            detail::apply_untyped(IfGreater{}, dy, a, b)};
  }
};

/// The n of a constant 2^n of an integer type; -1 for anything else.
constexpr int binary_logarithm(const AnyExpr& x) {
  if (!is_constant(x) || !contains(Domain::integers, x.dtype())) return -1;
  const std::int64_t number =
      decode<Constant>(*x.graph, x.graph->node_of(x.id)).number(x.dtype()).integer;
  return number > 0 && (number & (number - 1)) == 0
             ? std::countr_zero(static_cast<std::uint64_t>(number))
             : -1;
}

/// The whole part of a / b, rounded towards minus infinity.
struct FloorDiv : elementwise {
  static constexpr std::string_view name = "FloorDiv";
  static constexpr Domain domain = Domain::real;
  static constexpr Derivative derivative = Derivative::zero;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      const V quotient = Div{}(a, b);
      if constexpr (std::is_signed_v<V>) {
        if (b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0)) {
          return static_cast<V>(quotient - 1);
        }
      }
      return quotient;
    } else {
      return math::floor(a / b);
    }
  }
  static constexpr AnyExpr simplify(FloorDiv, AnyExpr a, AnyExpr b, AnyExpr y) {
    const int bits = binary_logarithm(b);
    if (bits < 0 || !alike(a, y)) return y;
    return bits == 0 ? a : detail::apply_untyped(RightShift{}, a, bits);
  }
};

/// The remainder of floordiv: a - floordiv(a, b) * b.
struct FloorMod : elementwise {
  static constexpr std::string_view name = "FloorMod";
  static constexpr Domain domain = Domain::real;
  static constexpr int flops = 12;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      if (b == 0) return a;
      if constexpr (std::is_signed_v<V>) {
        if (b == -1) return 0;
        const V rest = static_cast<V>(a % b);
        return static_cast<V>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
      } else {
        return static_cast<V>(a % b);
      }
    } else {
      using math::select;
      const V rest = math::fmod(a, b);
      return select((rest < V(0) && b > V(0)) || (rest > V(0) && b < V(0)), rest + b, rest);
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(FloorMod, auto a, auto b, auto, auto dy) {
    return {dy, -(dy * floordiv(a, b))};
  }
  static constexpr AnyExpr simplify(FloorMod, AnyExpr a, AnyExpr b, AnyExpr y) {
    const int bits = binary_logarithm(b);
    if (bits < 0 || !alike(a, y)) return y;
    return detail::apply_untyped(BitwiseAnd{}, a, (std::int64_t{1} << bits) - 1);
  }
};

struct Pow : elementwise {
  static constexpr std::string_view name = "Pow";
  static constexpr Domain domain = Domain::real;
  static constexpr int flops = 40;
  template <class V>
  constexpr V operator()(V a, V b) const {
    if constexpr (std::is_integral_v<V>) {
      return integer_power(a, b);
    } else {
      return math::pow(a, b);
    }
  }
  static constexpr std::array<AnyExpr, 2> gradient(Pow, auto a, auto b, auto y, auto dy) {
    const AnyExpr of_b = detail::apply_untyped(IfGreater{}, dy * (y * logarithm(a, y)), a, 0);
    return {dy * slope(a, b), where(equal(y, y), of_b, y)};
  }
  static constexpr AnyExpr simplify(Pow, AnyExpr a, AnyExpr b, AnyExpr y) {
    if (!is_constant(b) || !is_floating(b.dtype()) || !alike(a, y)) return y;
    const double exponent =
        decode<Constant>(*b.graph, b.graph->node_of(b.id)).number(b.dtype()).real;
    if (exponent == 1) return a;
    if (exponent == 2) return detail::apply_untyped(Square{}, a);
    if (exponent == 3) return detail::apply_untyped(Cube{}, a);
    if (exponent == 0.5) return detail::apply_untyped(PowHalf{}, a);
    if (exponent == -0.5) return detail::apply_untyped(PowMinusHalf{}, a);
    if (exponent == -1) return detail::apply_untyped(Div{}, 1, a);
    if (exponent == -2) return detail::apply_untyped(PowMinusTwo{}, a);
    if (!(exponent >= -64 && exponent <= 64)) return y;
    const int whole = static_cast<int>(exponent);
    return whole != 0 && whole == exponent ? detail::apply_untyped(WholePower{{}, whole}, a) : y;
  }

 private:
  /// b a^(b-1); 0 where that is 0 times infinity. That is at b = 0, where a^0 is 1 for every a, and
  /// at infinite b, where a^b is 0 for every a between -1 and 1, or for every other a.
  static constexpr AnyExpr slope(const auto& a, const auto& b) {
    // Not pow(...): its type is deduced, which for clang depends on that of the gradient.
    const auto power = [&](const auto& x) { return detail::apply_untyped(Pow{}, a, x); };
    if (is_constant(b) && !is_constant(b, 0)) return b * power(b - 1);
    const AnyExpr overflows = equal(abs(1 / a), std::numeric_limits<double>::infinity());
    const AnyExpr y = power(where(logical_and(equal(b, 0), overflows), 1, b - 1));
    return where(equal(y, 0), 0, b * y);
  }
  /// log(a); 0 where a is not positive, and where a^b is 0, as at infinite a.
  static constexpr AnyExpr logarithm(const auto& a, const auto& y) {
    return log(where(logical_and(greater(a, 0), not_equal(y, 0)), a, 1));
  }
  template <class V>
  static constexpr V integer_power(V a, V b) {
    if constexpr (std::is_signed_v<V>) {
      if (b < 0) return static_cast<V>(a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
    }
    std::uint64_t square = static_cast<std::uint64_t>(a);
    std::uint64_t power = 1;
    for (auto rest = static_cast<std::uint64_t>(b); rest != 0; rest >>= 1) {
      if ((rest & 1) != 0) power *= square;
      square *= square;
    }
    return static_cast<V>(power);
  }
};

struct Atan2 : floating {
  static constexpr std::string_view name = "Atan2";
  static constexpr int flops = 40;
  template <class V>
  constexpr V operator()(V y, V x) const {
    return math::atan2(y, x);
  }
  static constexpr std::array<AnyExpr, 2> gradient(Atan2, auto y, auto x, auto, auto dy) {
    const AnyExpr scaled = dy / (square(x) + square(y));
    return {scaled * unless_infinite(x), -(scaled * unless_infinite(y))};
  }

 private:
  /// x, but 0 where it is infinite. The angle does not change there, and 0 times x would be NaN.
  static constexpr AnyExpr unless_infinite(const auto& x) {
    return where(equal(abs(x), std::numeric_limits<double>::infinity()), 0, x);
  }
};

}  // namespace ops

/// The larger of two, elementwise; NaN where either is NaN. The gradient goes to the larger one;
/// where they are equal, to a; where either is NaN, it is NaN for both.
template <class A, class B>
  requires Operands<A, B>
constexpr auto maximum(const A& a, const B& b,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "maximum(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "maximum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "maximum(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "maximum(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::Maximum{}, a, b);
}

/// The smaller of two, elementwise; NaN where either is NaN. The gradient goes to the smaller one;
/// where they are equal, to a; where either is NaN, it is NaN for both.
template <class A, class B>
  requires Operands<A, B>
constexpr auto minimum(const A& a, const B& b,
                       std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "minimum(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "minimum(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "minimum(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "minimum(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::Minimum{}, a, b);
}

/// a / b rounded towards minus infinity, elementwise: floordiv(-7, 2) is -4. An integer divided by
/// zero is 0; for floating-point numbers it is floor(a / b). It has no gradient, as in TensorFlow.
template <class A, class B>
  requires Operands<A, B>
constexpr auto floordiv(const A& a, const B& b,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "floordiv(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "floordiv(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "floordiv(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "floordiv(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::FloorDiv{}, a, b);
}

/// The remainder of floordiv, elementwise; it has the divisor's sign: mod(-7, 3) is 2, mod(7, -3)
/// is -2. mod(a, 0) is a for integers, NaN for floating-point numbers.
template <class A, class B>
  requires Operands<A, B>
constexpr auto mod(const A& a, const B& b,
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "mod(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "mod(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "mod(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "mod(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::FloorMod{}, a, b);
}

/// a^b, elementwise. Floating-point numbers behave as std::pow. Integers wrap around; with a
/// negative exponent the result is 1 / a^-b truncated to 1, -1 or 0 (TensorFlow has an error
/// there).
///
/// The gradient for a is 0 where b is 0, for infinite a, too. The gradient for b is NaN where a^b
/// is NaN, and 0 elsewhere where a <= 0.
template <class A, class B>
  requires Operands<A, B>
constexpr auto pow(const A& a, const B& b,
                   std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<A, B>,
                "pow(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(
      detail::literals_fit<A, B>,
      "pow(a, b): a floating-point number does not fit an integer tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "pow(a, b): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::real, A, B>,
                "pow(a, b): a and b must be tensors of numbers that have an order");
  return detail::apply_at(at, ops::Pow{}, a, b);
}

/// The angle of the point (x, y) in (-pi, pi], elementwise, as std::atan2, including zeros and
/// infinities. The gradient is NaN at (0, 0), where the angle jumps, and 0 at infinite points.
template <class Y, class X>
  requires Operands<Y, X>
constexpr auto atan2(const Y& y, const X& x,
                     std::source_location at = std::source_location::current()) {
  static_assert(detail::same_elements<Y, X>,
                "atan2(y, x): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::broadcasts<Y, X>, "atan2(y, x): the shapes do not broadcast");
  static_assert(detail::in_domain<Domain::floating, Y, X>,
                "atan2(y, x): y and x must be floating-point; convert with cast<float>(x)");
  return detail::apply_at(at, ops::Atan2{}, y, x);
}

/// (a - b)^2, elementwise.
template <class A, class B>
  requires Operands<A, B>
constexpr auto squared_difference(const A& a, const B& b,
                                  std::source_location at = std::source_location::current()) {
  static_assert(
      detail::same_elements<A, B>,
      "squared_difference(a, b): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<A, B>,
                "squared_difference(a, b): a floating-point number does not fit an integer tensor; "
                "use cast<T>(x)");
  static_assert(detail::broadcasts<A, B>, "squared_difference(a, b): the shapes do not broadcast");
  return square(detail::apply_at(at, ops::Sub{}, a, b), at);
}

/// x limited to [low, high], elementwise. NaN stays NaN; where low > high the result is low. The
/// gradient for x is 1 where low <= x <= high, NaN where x is NaN, and 0 elsewhere.
template <class X, class Low, class High>
  requires Operands<X, Low, High>
constexpr auto clip_by_value(const X& x, const Low& low, const High& high,
                             std::source_location at = std::source_location::current()) {
  static_assert(
      detail::same_elements<X, Low, High>,
      "clip_by_value(x, low, high): the element types must be equal; convert with cast<T>(x)");
  static_assert(detail::literals_fit<X, Low, High>,
                "clip_by_value(x, low, high): a floating-point number does not fit an integer "
                "tensor; use cast<T>(x)");
  static_assert(detail::broadcasts<X, Low, High>,
                "clip_by_value(x, low, high): the shapes do not broadcast");
  return maximum(minimum(x, high, at), low, at);
}

namespace detail {
template <class First, class... Rest>
inline constexpr bool one_type = [] {
  if constexpr (untyped<First, Rest...>) {
    return true;
  } else {
    return ((First::type == Rest::type) && ...);
  }
}();
template <Tensor X>
constexpr auto itself(const X& x) {
  return same_type(x, operand_id(graph_of(x), DType{}, x));
}
}  // namespace detail

/// The sum of tensors of one type and shape, from the first to the last: add_n(a, b, c).
template <Tensor First, Tensor... Rest>
constexpr auto add_n(const First& first, const Rest&... rest) {
  static_assert(detail::one_type<First, Rest...>,
                "add_n(x...): the tensors must have one element type and one shape");
  if constexpr (sizeof...(Rest) == 0 || !detail::one_type<First, Rest...>) {
    return detail::itself(first);
  } else {
    return (first + ... + rest);
  }
}
/// The same for an array of them.
template <Tensor X, std::size_t N>
constexpr auto add_n(const std::array<X, N>& x) {
  static_assert(N > 0, "add_n(x): the array must hold one tensor at least");
  auto total = detail::itself(x[0]);
  for (std::size_t i = 1; i < N; ++i) total = total + x[i];
  return total;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
