// SPDX-License-Identifier: Apache-2.0
#pragma once

// Symbols by name.

#include <cstdint>
#include <string_view>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The number of a symbol; -1 for another name.
constexpr int symbol_number(std::string_view name) {
  for (int i = 0; i < max_symbols; ++i) {
    if (name == symbol_names[i]) return i;
  }
  return -1;
}
template <Text Name>
concept is_batch_time_height_or_width = symbol_number(Name.view()) >= 0;

}  // namespace detail

/// A symbol, whose value a run gives: tf::symbol<"time">, <"height">, <"width">; <"batch"> is
/// tf::batch. No others compile, because an extent is one integer, in which each symbol has a
/// digit. A model may give them its own names: `constexpr auto words = tf::symbol<"time">;`.
///
///   placeholder<float, tf::batch, tf::symbol<"time">, 64>(g, "x")
template <Text Name>
  requires detail::is_batch_time_height_or_width<Name>
inline constexpr Symbols<detail::digit_of(detail::symbol_number(Name.view()))> symbol{};

/// The values of symbols that are known while feeds are read.
class KnownSymbols {
 public:
  enum class Found : std::uint8_t { fits, solved, open, wrong };

  constexpr std::int64_t operator[](int symbol) const { return size_[symbol]; }
  constexpr bool knows(int symbol) const { return size_[symbol] >= 0; }
  constexpr bool knows_all(int powers) const {
    for (int i = 0; powers > 0; ++i, powers /= 10) {
      if (powers % 10 > 0 && !knows(i)) return false;
    }
    return true;
  }

  /// Uses that a count is `given` in this run. `solved`: this gave the value of symbols. `open`:
  /// the count has several unknown symbols and gives none of them, as 6 = batch * time.
  [[gnu::noinline]] constexpr Found take(const Count& count, std::int64_t given) {
    std::int64_t known = count.coefficient;
    int unknown = -1;
    int unknowns = 0;
    int power = 0;
    for (int i = 0, rest = count.powers; rest > 0; ++i, rest /= 10) {
      if (rest % 10 == 0) continue;
      if (knows(i)) {
        for (int k = rest % 10; k > 0; --k) known = checked_product(known, size_[i]);
      } else {
        unknown = i;
        ++unknowns;
        power = rest % 10;
      }
    }
    if (unknowns == 0) return given == known ? Found::fits : Found::wrong;
    if (known == 0) return given == 0 ? Found::open : Found::wrong;
    if (given < 0 || given % known != 0) return Found::wrong;
    if (given == known) {  // all are 1
      for (int i = 0, rest = count.powers; rest > 0; ++i, rest /= 10) {
        if (rest % 10 > 0 && !knows(i)) size_[i] = 1;
      }
      return Found::solved;
    }
    if (unknowns > 1) return Found::open;
    const std::int64_t root = root_of(given / known, power);
    if (root < 0) return Found::wrong;
    size_[unknown] = root;
    return Found::solved;
  }

  /// Unknown symbols are 1.
  constexpr SymbolSizes sizes() const {
    SymbolSizes sizes;
    for (int i = 0; i < max_symbols; ++i) {
      if (knows(i)) sizes.of[i] = size_[i];
    }
    return sizes;
  }

 private:
  /// The n for which x = n^power; -1 if there is none.
  static constexpr std::int64_t root_of(std::int64_t x, int power) {
    if (power == 1) return x;
    std::int64_t low = 0;
    std::int64_t high = 3037000500;  // its square has more than 63 bits
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      if (raised(middle, power) <= x) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return raised(low, power) == x ? low : -1;
  }
  static constexpr std::int64_t raised(std::int64_t n, int power) {
    std::int64_t product = 1;
    for (; power > 0; --power) product = checked_product(product, n);
    return product;
  }

  std::int64_t size_[max_symbols] = {-1, -1, -1, -1};
};

}  // namespace typeflow::inline TYPEFLOW_ISA
