// SPDX-License-Identifier: Apache-2.0
#pragma once

// Extents: the lengths of axes.
//
// The compiler knows every extent, except for four symbols, whose values a run's feeds give:
// tf::batch, and tf::symbol<"time">, <"height"> and <"width"> (core/symbol.hpp). An extent is an
// integer n >= 0, or k times a product of different symbols.
//
// It is one integer in both cases, so that shapes are lists of plain integers, in types and in
// error messages. k * batch is -k. Other products have one digit for each symbol, from width to
// batch, in front of the fourteen digits of k:
//
//   Shape<-1, 784>               [batch, 784]
//   Shape<-4, 10>                [4*batch, 10]
//   Shape<-1000000000000001>     [time]
//   Shape<-1100000000000002>     [2*batch*time]

#include <concepts>
#include <cstdint>
#include <stdexcept>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

using Extent = std::int64_t;

/// The symbols that a program can have.
inline constexpr int max_symbols = 4;
inline constexpr const char* symbol_names[max_symbols] = {"batch", "time", "height", "width"};

namespace detail {

/// The unit of the symbols' digits in extents with other symbols than batch alone; k is added.
inline constexpr Extent symbol_unit = 100'000'000'000'000;

/// The digit of a symbol: batch 1, time 10, height 100, width 1000.
constexpr int digit_of(int symbol) {
  int digit = 1;
  for (int i = 0; i < symbol; ++i) digit *= 10;
  return digit;
}
/// How often a symbol occurs in a product of symbols.
constexpr int power_of(int symbol, int powers) { return powers / digit_of(symbol) % 10; }

/// Whether each symbol occurs at most once, as an extent needs.
constexpr bool are_distinct(int powers) {
  for (; powers > 0; powers /= 10) {
    if (powers % 10 > 1) return false;
  }
  return true;
}

[[noreturn]] inline void refuse_factor() {
  throw std::out_of_range("typeflow: the factor of a symbol must be in [0, 10^14)");
}
/// A factor times symbols. A factor outside of [0, 10^14) would change the symbols: it is
/// std::out_of_range at run time, and no constant expression.
constexpr Extent extent_from(Extent factor, int symbols) {
  if (factor < 0 || factor >= symbol_unit) refuse_factor();
  if (factor == 0) return 0;
  return symbols == 1 ? -factor : -(symbols * symbol_unit + factor);
}

}  // namespace detail

/// k times a product of symbols. Converts to an Extent. Only products with integers and with other
/// symbols compile.
template <int Powers>
struct Symbols {
  Extent factor = 1;
  constexpr operator Extent() const { return detail::extent_from(factor, Powers); }
};

/// The symbol of most models: `placeholder<float, tf::batch, 784>`, `4 * tf::batch`.
inline constexpr Symbols<1> batch{};

template <std::integral I, int P>
constexpr Symbols<P> operator*(I k, Symbols<P> s) {
  return {static_cast<Extent>(k) * s.factor};
}
template <std::integral I, int P>
constexpr Symbols<P> operator*(Symbols<P> s, I k) {
  return {static_cast<Extent>(k) * s.factor};
}
template <int P, int Q>
  requires(detail::are_distinct(P + Q))
constexpr Symbols<P + Q> operator*(Symbols<P> a, Symbols<Q> b) {
  return {a.factor * b.factor};
}
template <int P, int Q>
  requires(!detail::are_distinct(P + Q))
void operator*(Symbols<P>, Symbols<Q>) = delete;
template <int P, class T>
void operator+(Symbols<P>, T) = delete;
template <int P, class T>
void operator+(T, Symbols<P>) = delete;
template <int P, class T>
void operator-(Symbols<P>, T) = delete;
template <int P, class T>
void operator-(T, Symbols<P>) = delete;
template <int P, class T>
void operator/(Symbols<P>, T) = delete;
template <int P>
void operator-(Symbols<P>) = delete;

/// Whether only a run knows the extent.
constexpr bool is_symbolic(Extent extent) { return extent < 0; }

/// The symbols of an extent as digits: 1 for 3*batch, 11 for batch*time, 0 for a number.
constexpr int symbols_of(Extent extent) {
  if (extent >= 0) return 0;
  return extent > -detail::symbol_unit ? 1 : static_cast<int>(-extent / detail::symbol_unit);
}
/// The number in front of an extent's symbols; of a number, the number.
constexpr Extent factor_of(Extent extent) {
  if (extent >= 0) return extent;
  return extent > -detail::symbol_unit ? -extent : -extent % detail::symbol_unit;
}
/// The factor, negative in front of symbols. Along one axis such numbers can be added.
constexpr Extent signed_factor(Extent extent) {
  return is_symbolic(extent) ? -factor_of(extent) : extent;
}
/// An extent with the same symbols and another factor, as for a part of an axis.
constexpr Extent with_factor(Extent extent, Extent factor) {
  return is_symbolic(extent) ? detail::extent_from(factor, symbols_of(extent)) : factor;
}

/// n times the extent.
constexpr Extent times(Extent extent, std::int64_t n) {
  return with_factor(extent, factor_of(extent) * n);
}

/// Stands for a number of elements that is no extent, as batch * batch.
inline constexpr Extent no_extent = INT64_MIN;

/// Whether two extents can be compared, or one can be a part of the other: numbers, or multiples of
/// the same symbols. 0 is a multiple of all.
constexpr bool are_comparable(Extent a, Extent b) {
  return a == 0 || b == 0 || symbols_of(a) == symbols_of(b);
}
/// a + b; no_extent if they are not comparable.
constexpr Extent sum_of(Extent a, Extent b) {
  if (a == no_extent || b == no_extent || !are_comparable(a, b)) return no_extent;
  return a == 0 ? b : with_factor(a, factor_of(a) + factor_of(b));
}

/// The result of checked_product and checked_sum for a number that 63 bits cannot hold: the largest
/// that they can. No machine has so much memory, so it always leads to an error.
inline constexpr std::int64_t too_many = INT64_MAX;

/// a * b, of numbers >= 0; too_many instead of overflowing.
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 31 == 0) return a * b;
  return b != 0 && a > too_many / b ? too_many : a * b;
}
/// a + b, of numbers >= 0; too_many instead of overflowing.
constexpr std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  return a > too_many - b ? too_many : a + b;
}

/// The values of the symbols in a run; 1 for those that no feed gives.
struct SymbolSizes {
  std::int64_t of[max_symbols] = {1, 1, 1, 1};

  constexpr SymbolSizes() = default;
  /// For a program whose only symbol is tf::batch.
  constexpr SymbolSizes(std::int64_t batch_size) : of{batch_size, 1, 1, 1} {}  // NOLINT

  /// sizes[tf::batch] = 32
  template <int P>
    requires(P == 1 || P == 10 || P == 100 || P == 1000)
  constexpr std::int64_t& operator[](Symbols<P>) {
    return of[P == 1 ? 0 : P == 10 ? 1 : P == 100 ? 2 : 3];
  }

  /// The product of the symbols in these digits.
  [[gnu::noinline]] constexpr std::int64_t product(int powers) const {
    std::int64_t size = 1;
    for (int i = 0; powers > 0; ++i, powers /= 10) {
      for (int k = powers % 10; k > 0; --k) size = checked_product(size, of[i]);
    }
    return size;
  }
  constexpr bool operator==(const SymbolSizes&) const = default;
};

/// A constant in a run: the value times symbols. Negative powers are 1 over the product, so that
/// 1/N has the same bits as if N were a number.
constexpr double resolve(double value, int powers, const SymbolSizes& sizes) {
  if (powers == 0) return value;
  const double product = static_cast<double>(sizes.product(powers < 0 ? -powers : powers));
  return powers < 0 ? 1 / (value * product) : value * product;
}

/// The extent in a run.
constexpr std::int64_t resolve(Extent extent, const SymbolSizes& sizes) {
  if (extent >= 0) return extent;
  return checked_product(factor_of(extent), sizes.product(symbols_of(extent)));
}

/// A number of elements: a coefficient times powers of symbols, as digits like those of extents.
/// The powers are negative in a constant that divides by the number. The axes of a tensor give a
/// symbol a power of at most 8. Products are checked.
struct Count {
  std::int64_t coefficient = 1;
  int powers = 0;

  constexpr void multiply(Extent extent) {
    if (extent >= 0) {  // (compilers count calls, and this is called for every axis)
      coefficient = checked_product(coefficient, extent);
    } else {
      coefficient = checked_product(coefficient, factor_of(extent));
      powers += symbols_of(extent);
    }
  }
  constexpr std::int64_t resolve(const SymbolSizes& sizes) const {
    return powers == 0 ? coefficient : checked_product(coefficient, sizes.product(powers));
  }
  constexpr bool operator==(const Count&) const = default;
};

/// An extent as a count.
constexpr Count count_of(Extent extent) { return {factor_of(extent), symbols_of(extent)}; }

/// A count as the extent of one axis; no_extent for others, as batch * batch.
constexpr Extent extent_of(const Count& count) {
  if (count.powers == 0) return count.coefficient;
  if (count.coefficient == 0) return 0;
  if (!detail::are_distinct(count.powers) || count.coefficient >= detail::symbol_unit) {
    return no_extent;
  }
  return detail::extent_from(count.coefficient, count.powers);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
