// SPDX-License-Identifier: Apache-2.0
#pragma once

// The equations of einsum: their meaning, and the order of products of several tensors.
//
// An ellipsis is parsed as the label '.'. When the ranks are known, labels of its own replace it,
// '0' to '7' from the left. A shorter ellipsis has the last ones, as in broadcasting.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/shape.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// The axes of a tensor by their labels.
struct Labels {
  int count;
  char label[2 * max_rank];

  constexpr void append(char c) { label[count++] = c; }
  constexpr int find(char c) const {
    for (int i = 0; i < count; ++i) {
      if (label[i] == c) return i;
    }
    return -1;
  }
  constexpr bool has(char c) const { return find(c) >= 0; }
  constexpr bool operator==(const Labels& other) const {
    if (count != other.count) return false;
    for (int i = 0; i < count; ++i) {
      if (label[i] != other.label[i]) return false;
    }
    return true;
  }
  /// The labels for which `f` is true, in order.
  template <class F>
  constexpr Labels where(const F& f) const {
    Labels out{};
    for (int i = 0; i < count; ++i) {
      if (f(label[i])) out.append(label[i]);
    }
    return out;
  }
};
constexpr Labels joined(const Labels& a, const Labels& b) {
  Labels out = a;
  for (int i = 0; i < b.count; ++i) out.append(b.label[i]);
  return out;
}

/// The most operands of an equation, because all orders of products are tried.
inline constexpr int max_einsum_operands = 8;

/// An equation, taken apart.
struct Equation {
  bool is_valid;  ///< letters and ellipses, at most one arrow
  int operands;
  Labels operand[max_einsum_operands];
  Labels result;

  /// Whether an operand has the label.
  constexpr bool knows(char c) const {
    for (const Labels& x : operand) {
      if (x.has(c)) return true;
    }
    return false;
  }
  constexpr bool result_is_known() const {
    for (int i = 0; i < result.count; ++i) {
      if (!knows(result.label[i])) return false;
    }
    return true;
  }
  constexpr bool result_is_unique() const {
    for (int i = 0; i < result.count; ++i) {
      if (result.find(result.label[i]) != i) return false;
    }
    return true;
  }
  /// Whether the result has all axes of the ellipses.
  constexpr bool keeps_ellipses() const {
    for (char c = '0'; c < '0' + max_rank; ++c) {
      if (knows(c) && !result.has(c)) return false;
    }
    return true;
  }
};

constexpr bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_of_ellipsis(char c) { return c >= '0' && c <= '9'; }

constexpr Equation parse_equation(std::string_view text) {
  Equation e{true, 1, {}, {}};
  bool arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    Labels& part = arrow ? e.result : e.operand[e.operands - 1];
    if (c == ' ') continue;
    if (is_label(c) && part.count < max_rank + part.has('.')) {
      part.append(c);
    } else if (text.substr(i, 3) == "..." && !part.has('.')) {
      part.append('.');
      i += 2;
    } else if (c == ',' && !arrow && e.operands < max_einsum_operands) {
      ++e.operands;
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      arrow = true;
      ++i;
    } else {
      return {};
    }
  }
  if (arrow) return e;
  // Without an arrow: the ellipsis, then the labels that stand once, in alphabetical order.
  if (e.knows('.')) e.result.append('.');
  for (char c = 'A'; c <= 'z'; ++c) {
    int times = 0;
    for (const Labels& x : e.operand) {
      for (int i = 0; i < x.count; ++i) times += x.label[i] == c;
    }
    if (times != 1) continue;
    if (e.result.count == max_rank) return {};
    e.result.append(c);
  }
  return e;
}

/// The labels with the last `axes` of `most` in place of the ellipsis.
constexpr Labels expanded(const Labels& labels, int axes, int most) {
  Labels out{};
  for (int i = 0; i < labels.count; ++i) {
    if (labels.label[i] != '.') {
      out.append(labels.label[i]);
      continue;
    }
    for (int k = most - axes; k < most; ++k) out.append(static_cast<char>('0' + k));
  }
  return out;
}
/// The equation for operands of these shapes, without ellipses; not valid if a rank does not fit.
constexpr Equation expand_ellipses(Equation e, const Dims* dims) {
  int most = 0;
  int axes[max_einsum_operands] = {};
  for (int i = 0; i < e.operands; ++i) {
    const bool has = e.operand[i].has('.');
    axes[i] = dims[i].rank - e.operand[i].count + has;
    if (axes[i] < 0 || (axes[i] > 0 && !has)) return {};
    if (axes[i] > most) most = axes[i];
  }
  if (e.result.count - 1 + most > max_rank && e.result.has('.')) return {};
  for (int i = 0; i < e.operands; ++i) e.operand[i] = expanded(e.operand[i], axes[i], most);
  e.result = expanded(e.result, most, most);
  return e;
}

/// The extent of a label's axis; 1 if there is none.
constexpr Extent extent_of(char label, const Labels& labels, const Dims& dims) {
  const int axis = labels.find(label);
  return axis < 0 ? 1 : dims.extent[axis];
}
/// The extent of a label: the same for all its axes, except for repeated axes of ellipses.
constexpr Extent extent_of(const Equation& e, char label, const Dims* dims) {
  Extent extent = 1;
  for (int i = 0; i < e.operands && extent == 1; ++i) {
    extent = extent_of(label, e.operand[i], dims[i]);
  }
  return extent;
}
constexpr bool extents_agree(const Equation& e, const Dims* dims) {
  for (int i = 0; i < e.operands; ++i) {
    for (int k = 0; k < e.operand[i].count; ++k) {
      const char c = e.operand[i].label[k];
      const Extent extent = dims[i].extent[k];
      if (extent == extent_of(e, c, dims)) continue;
      if (!is_of_ellipsis(c) || extent != 1) return false;
    }
  }
  return true;
}
constexpr Dims einsum_dims(const Equation& e, const Dims* dims) {
  Dims out{};
  for (int i = 0; i < e.result.count; ++i) out.append(extent_of(e, e.result.label[i], dims));
  return out;
}

/// The order of the products of several tensors: for each set of operands, as bits, the part that
/// is one side of its last product.
struct ProductOrder {
  bool valid;
  std::array<std::uint8_t, 1 << max_einsum_operands> left;
};

/// The labels of a set's product that the result or another operand needs.
constexpr Labels kept_labels(const Equation& e, unsigned set) {
  Labels out{};
  for (int i = 0; i < e.operands; ++i) {
    if ((set >> i & 1u) == 0) continue;
    for (int k = 0; k < e.operand[i].count; ++k) {
      const char c = e.operand[i].label[k];
      bool needed = e.result.has(c);
      for (int j = 0; j < e.operands; ++j) needed |= (set >> j & 1u) == 0 && e.operand[j].has(c);
      // If there are more labels than a tensor has axes, their number does not matter.
      if (needed && !out.has(c) && out.count <= max_rank) out.append(c);
    }
  }
  return out;
}

/// The order with the fewest multiplications; among equal ones, with the smallest tensors in
/// between. The best order for every set of operands is found, from small sets to large ones. A
/// symbol counts as 64. Not valid if every order has a product with more than max_rank labels.
constexpr ProductOrder product_order(const Equation& e, const Dims* dims) {
  constexpr double never = std::numeric_limits<double>::infinity();
  ProductOrder order{};
  if (e.operands <= 2) {
    const Labels both = kept_labels(e, 1);
    const Labels other = kept_labels(e, 2);
    order.left[3] = 1;
    order.valid = joined(both, other.where([&](char c) { return !both.has(c); })).count <= max_rank;
    return order;
  }
  Labels kept[1 << max_einsum_operands] = {};
  double cost[1 << max_einsum_operands] = {};
  double size_of_label[128] = {};
  for (int i = 0; i < e.operands; ++i) {
    for (int k = 0; k < e.operand[i].count; ++k) {
      const char c = e.operand[i].label[k];
      const Extent n = extent_of(e, c, dims);
      size_of_label[static_cast<int>(c)] =
          is_symbolic(n) ? 64. * static_cast<double>(factor_of(n)) : static_cast<double>(n);
    }
  }
  const auto size = [&](const Labels& labels) {
    double product = labels.count > max_rank ? never : 1;
    for (int i = 0; i < labels.count; ++i) {
      product *= size_of_label[static_cast<int>(labels.label[i])];
    }
    return product;
  };
  const unsigned all = (1u << e.operands) - 1;
  for (unsigned set = 1; set <= all; ++set) {
    kept[set] = kept_labels(e, set);
    if ((set & (set - 1)) == 0) continue;
    cost[set] = never;
    // The part with the first operand is one of the two.
    const unsigned first = set & (0u - set);
    for (unsigned part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      const unsigned rest = set ^ part;
      if ((part & first) == 0) continue;
      Labels both = kept[part];
      for (int i = 0; i < kept[rest].count && both.count <= max_rank; ++i) {
        if (!both.has(kept[rest].label[i])) both.append(kept[rest].label[i]);
      }
      if (both.count > max_rank) continue;
      // Sizes are weighted far below 1e-6 of the products, so that they only decide between equal
      // ones.
      const double total = cost[part] + cost[rest] + size(both) + 1e-6 * size(kept[set]);
      if (total < cost[set]) {
        cost[set] = total;
        order.left[set] = static_cast<std::uint8_t>(part);
      }
    }
  }
  order.valid = cost[all] < never;
  return order;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
