// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products by the names of axes: einsum<"bij,bjk->bik">(a, b).
//
// The equation is a template argument and is checked while the program compiles. What is lowered is
// nothing new: diagonals, sums, transposes, and then
//   a matrix product        if labels are summed up, and each operand has labels of its own
//   a product and a sum     else: one operand has all labels (matrix times vector, sum of products
//                           over all axes), or nothing is summed up (outer products)
// The order of the product's operands and its flags are chosen so that as little as possible is
// transposed.
//
// The equation's plan and the function that checks it in the user's words are one thing, so the
// file is longer than most.

#include <source_location>

#include "typeflow/core/text.hpp"
#include "typeflow/ops/linear/linear.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

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
  /// Those for which `f` holds, in order.
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

/// An equation, taken apart.
struct Equation {
  bool is_valid;  ///< letters, at most one comma and one arrow
  int operands;
  Labels operand[2];
  Labels result;

  constexpr bool result_is_known() const {
    for (int i = 0; i < result.count; ++i) {
      if (!operand[0].has(result.label[i]) && !operand[1].has(result.label[i])) return false;
    }
    return true;
  }
  constexpr bool result_is_unique() const {
    for (int i = 0; i < result.count; ++i) {
      if (result.find(result.label[i]) != i) return false;
    }
    return true;
  }
  /// All labels once: those of the result, then those that are summed up.
  constexpr Labels all() const {
    Labels out = result;
    for (const Labels& x : operand) {
      for (int i = 0; i < x.count; ++i) {
        if (!out.has(x.label[i])) out.append(x.label[i]);
      }
    }
    return out;
  }
};

constexpr bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr Equation parse_equation(std::string_view text) {
  Equation e{true, 1, {}, {}};
  bool arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    Labels& part = arrow ? e.result : e.operand[e.operands - 1];
    if (c == ' ') continue;
    if (is_label(c) && part.count < max_rank) {
      part.append(c);
    } else if (c == ',' && !arrow && e.operands == 1) {
      e.operands = 2;
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !arrow) {
      arrow = true;
      ++i;
    } else {
      return {};
    }
  }
  if (arrow) return e;
  // Without an arrow: the labels that stand once, in the order of the alphabet.
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

/// The extent of a label's axis; 1 if there is none.
constexpr Extent extent_of(char label, const Labels& labels, const Dims& dims) {
  const int axis = labels.find(label);
  return axis < 0 ? 1 : dims.extent[axis];
}
constexpr bool extents_agree(const Equation& e, const Dims& a, const Dims& b) {
  const Labels both = joined(e.operand[0], e.operand[1]);
  for (int i = 0; i < both.count; ++i) {
    const int first = both.find(both.label[i]);
    const Extent x = first < a.rank ? a.extent[first] : b.extent[first - a.rank];
    if (x != (i < a.rank ? a.extent[i] : b.extent[i - a.rank])) return false;
  }
  return true;
}
constexpr Dims einsum_dims(const Equation& e, const Dims& a, const Dims& b) {
  Dims out{};
  for (int i = 0; i < e.result.count; ++i) {
    const char c = e.result.label[i];
    out.append(e.operand[0].has(c) ? extent_of(c, e.operand[0], a) : extent_of(c, e.operand[1], b));
  }
  return out;
}

/// A tensor and the labels of its axes.
struct Labelled {
  AnyExpr x;
  Labels labels;

  constexpr Extent extent(char label) const { return extent_of(label, labels, x.dims()); }
};

/// Sums over the labels that are not wanted.
template <class F>
constexpr Labelled sum_others(const Labelled& a, const F& wanted) {
  unsigned axes = 0;
  for (int i = 0; i < a.labels.count; ++i) {
    if (!wanted(a.labels.label[i])) axes |= 1u << i;
  }
  if (axes == 0) return a;
  return {reduce<ops::Sum>(a.x, axes, false), a.labels.where(wanted)};
}

/// Diagonals where a label stands twice.
constexpr Labelled take_diagonals(Labelled a) {
  for (int i = 0; i < a.labels.count;) {
    const int first = a.labels.find(a.labels.label[i]);
    if (first == i) {
      ++i;
      continue;
    }
    a.x = reduce<ops::Sum>(keep_diagonal(a.x, first, i), 1u << i, false);
    for (int k = i + 1; k < a.labels.count; ++k) a.labels.label[k - 1] = a.labels.label[k];
    --a.labels.count;
  }
  return a;
}

/// The axes in another order.
constexpr Labelled in_order(const Labelled& a, const Labels& order) {
  if (a.labels == order) return a;
  int permutation[max_rank] = {};
  for (int i = 0; i < order.count; ++i) permutation[i] = a.labels.find(order.label[i]);
  return {transpose_to(a.x, permutation), order};
}

/// The axes in the order of `space`, of which a may lack some: those get the extent 1.
constexpr AnyExpr spread(const Labelled& a, const Labels& space) {
  const Labelled y = in_order(a, space.where([&](char c) { return a.labels.has(c); }));
  Dims dims{};
  for (int i = 0; i < space.count; ++i) dims.append(y.extent(space.label[i]));
  return reshape_to(y.x, dims);
}

/// The product of several extents as one; no_dims if it is none: batch * batch.
constexpr Dims merged(const Labelled& a, const Labels& labels) {
  Count count{};
  for (int i = 0; i < labels.count; ++i) count.multiply(a.extent(labels.label[i]));
  if (typeflow::extent_of(count) == no_extent) return no_dims;
  return {1, {typeflow::extent_of(count)}};
}

/// A product of all elements that go together, summed over what is not in the result.
constexpr Labelled multiply_and_sum(const Labelled& a, const Labelled& b, const Labels& space,
                                    const Labels& result) {
  return sum_others({spread(a, space) * spread(b, space), space},
                    [&](char c) { return result.has(c); });
}

/// An operand of a matrix product: axes shared with the other operand and the result, axes of its
/// own, axes summed over. The two last are the matrix.
struct MatrixOperand {
  Labelled x;
  Labels own;
  bool summed_first;  ///< the summed axes stand in front of its own

  constexpr MatrixOperand(const Labelled& a, const Labels& batch, const Labels& of_own,
                          const Labels& summed, bool is_left)
      : x(a), own(of_own), summed_first(false) {
    const Labels own_last = joined(joined(batch, summed), own);
    const Labels own_first = joined(joined(batch, own), summed);
    summed_first = a.labels == own_last || (!(a.labels == own_first) && !is_left);
    x = in_order(a, summed_first ? own_last : own_first);
  }
};

/// The matrix product that sums over `summed`; x of a rank of -1 if it is none, for several batches
/// in one axis, or for more axes than tensors have.
constexpr Labelled multiply_matrices(const Labelled& a, const Labelled& b, const Labels& batch,
                                     const Labels& rows, const Labels& columns,
                                     const Labels& summed) {
  const MatrixOperand left(a, batch, rows, summed, true);
  const MatrixOperand right(b, batch, columns, summed, false);
  const Dims depth = merged(a, summed);
  const Dims width = merged(b, columns);
  const Dims height = merged(a, rows);
  // Rows of several labels stay axes where a has them in front: the last one and what is in front
  // of the matrices.
  const bool rows_stay = !left.summed_first && batch.count + rows.count < max_rank;
  const bool fits = rows_stay || (height.valid() && batch.count + 2 <= max_rank);
  Labels labels = joined(joined(batch, rows), columns);
  if (!fits || !depth.valid() || !width.valid()) return {AnyExpr{}, labels};

  Dims of_a{};
  Dims of_b{};
  Dims of_y{};
  for (int i = 0; i < batch.count; ++i) {
    of_a.append(a.extent(batch.label[i]));
    of_b.append(a.extent(batch.label[i]));
  }
  for (int i = 0; i + 1 < rows.count && rows_stay; ++i) {
    of_a.append(a.extent(rows.label[i]));
    if (batch.count > 0) of_b.append(1);
  }
  const Extent last = rows_stay ? a.extent(rows.label[rows.count - 1]) : height.extent[0];
  of_a.append(left.summed_first ? depth.extent[0] : last);
  of_a.append(left.summed_first ? last : depth.extent[0]);
  of_b.append(right.summed_first ? depth.extent[0] : width.extent[0]);
  of_b.append(right.summed_first ? width.extent[0] : depth.extent[0]);
  for (int i = 0; i < labels.count; ++i) {
    const char c = labels.label[i];
    of_y.append(a.labels.has(c) ? a.extent(c) : b.extent(c));
  }
  const AnyExpr y = matmul(reshape_to(left.x.x, of_a), reshape_to(right.x.x, of_b),
                           left.summed_first, !right.summed_first);
  return {reshape_to(y, of_y), labels};
}

/// How many operands a product with this order of the summed labels transposes.
constexpr int transposes(const Labelled& a, const Labelled& b, const Labels& batch,
                         const Labels& rows, const Labels& columns, const Labels& summed) {
  const auto fits = [&](const Labelled& x, const Labels& own) {
    return x.labels == joined(joined(batch, own), summed) ||
           x.labels == joined(joined(batch, summed), own);
  };
  return !fits(a, rows) + !fits(b, columns);
}

constexpr AnyExpr einsum_of(const Equation& e, AnyExpr x) {
  const auto in_result = [&](char c) { return e.result.has(c); };
  const Labelled a = sum_others(take_diagonals({x, e.operand[0]}), in_result);
  return in_order(a, e.result).x;
}

constexpr AnyExpr einsum_of(const Equation& e, AnyExpr x, AnyExpr y) {
  const auto wanted_of_a = [&](char c) { return e.result.has(c) || e.operand[1].has(c); };
  const auto wanted_of_b = [&](char c) { return e.result.has(c) || e.operand[0].has(c); };
  const Labelled a = sum_others(take_diagonals({x, e.operand[0]}), wanted_of_a);
  const Labelled b = sum_others(take_diagonals({y, e.operand[1]}), wanted_of_b);
  const auto in_a = [&](char c) { return a.labels.has(c); };
  const auto in_b = [&](char c) { return b.labels.has(c); };
  const auto in_both = [&](char c) { return in_a(c) && in_b(c); };
  // Of labels in the result, the result's order, so that it needs no transpose.
  const Labels batch = e.result.where(in_both);
  const Labels rows = e.result.where([&](char c) { return in_a(c) && !in_b(c); });
  const Labels columns = e.result.where([&](char c) { return in_b(c) && !in_a(c); });
  const auto is_summed = [&](char c) { return in_both(c) && !e.result.has(c); };
  const Labels summed = a.labels.where(is_summed);

  if (summed.count > 0 && rows.count > 0 && columns.count > 0) {
    const Labels other = b.labels.where(is_summed);
    const Labels& order = transposes(a, b, batch, rows, columns, other) <
                                  transposes(a, b, batch, rows, columns, summed)
                              ? other
                              : summed;
    // The operand whose labels the result has first is the left one.
    const bool swapped = e.result.find(columns.label[0]) < e.result.find(rows.label[0]);
    const Labelled product = swapped ? multiply_matrices(b, a, batch, columns, rows, order)
                                     : multiply_matrices(a, b, batch, rows, columns, order);
    if (product.x.exists()) return in_order(product, e.result).x;
  }
  // If one operand has all labels, it stays as it is.
  const Labels space = summed.count == 0    ? e.result
                       : columns.count == 0 ? a.labels
                       : rows.count == 0    ? b.labels
                                            : joined(e.result, summed);
  return in_order(multiply_and_sum(a, b, space, e.result), e.result).x;
}

template <Text E>
inline constexpr Equation equation = parse_equation(E.view());

/// The rule of an equation for operands of these shapes; the checks depend on the one before.
template <Text E, class... S>
struct EinsumRule {
  static constexpr Equation e = equation<E>;
  static constexpr bool arity = !e.is_valid || e.operands == static_cast<int>(sizeof...(S));
  static constexpr Dims dims[sizeof...(S) + 1] = {S::dims..., Dims{}};
  static constexpr bool ranks = [] {
    if (!e.is_valid || !arity) return true;
    for (int i = 0; i < e.operands; ++i) {
      if (e.operand[i].count != dims[i].rank) return false;
    }
    return true;
  }();
  static constexpr bool fits = e.is_valid && arity && ranks;
  static constexpr bool extents = !fits || extents_agree(e, dims[0], dims[1]);
  static constexpr bool known = e.result_is_known();
  static constexpr bool unique = e.result_is_unique();
  static constexpr bool space = e.all().count <= max_rank;
  static constexpr bool valid = fits && extents && known && unique && space;
  static constexpr Dims value = valid ? einsum_dims(e, dims[0], dims[1]) : no_dims;
};

}  // namespace detail

/// The sum of products that an equation of labels says, a letter an axis:
///
///   einsum<"bij,bjk->bik">(a, b)    products of matrices      einsum<"i,i->">(a, b)   dot product
///   einsum<"bij->bji">(a)           transposes                einsum<"i,j->ij">(a, b) outer
///   product einsum<"ii->i">(a), <"ii->">    diagonal, trace           einsum<"ij->j">(a)      sums
///   of columns
///
/// One operand or two. A label stands for the same extent everywhere; labels that the result lacks
/// are summed over. Without "->" the result has the labels that stand once, in the order of the
/// alphabet. As numpy.einsum, without ellipses and without broadcasting.
template <Text Equation, TypedExpr A>
constexpr auto einsum(const A& a, std::source_location at = std::source_location::current()) {
  using Rule = detail::EinsumRule<Equation, typename A::shape>;
  static_assert(
      Rule::e.is_valid,
      "einsum<equation>(x...): the equation must be of letters, at most eight an operand, "
      "with at most one comma and one arrow: \"ij,jk->ik\"");
  static_assert(Rule::arity,
                "einsum<equation>(x...): the equation must have as many operands as the call");
  static_assert(Rule::ranks, "einsum<equation>(x...): an operand must have an axis for each label");
  static_assert(Rule::extents,
                "einsum<equation>(x...): axes of the same label must be equally long");
  static_assert(Rule::known,
                "einsum<equation>(x...): a label of the result must be one of an operand's");
  static_assert(Rule::unique, "einsum<equation>(x...): the result must have each label once");
  static_assert(detail::in_domain<Domain::numbers, A>,
                "einsum<equation>(x...): x must be a tensor of numbers");
  detail::mark(at, a);
  using E = Expr<typename A::element, shape_of_t<Rule>>;
  if constexpr (Rule::valid) {
    return E(a.graph(), detail::einsum_of(Rule::e, a.any()).id);
  } else {
    return E(a.graph(), a.id());
  }
}
template <Text Equation, TypedExpr A, TypedExpr B>
constexpr auto einsum(const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  using Rule = detail::EinsumRule<Equation, typename A::shape, typename B::shape>;
  static_assert(
      Rule::e.is_valid,
      "einsum<equation>(x...): the equation must be of letters, at most eight an operand, "
      "with at most one comma and one arrow: \"ij,jk->ik\"");
  static_assert(Rule::arity,
                "einsum<equation>(x...): the equation must have as many operands as the call");
  static_assert(Rule::ranks, "einsum<equation>(x...): an operand must have an axis for each label");
  static_assert(Rule::extents,
                "einsum<equation>(x...): axes of the same label must be equally long");
  static_assert(Rule::known,
                "einsum<equation>(x...): a label of the result must be one of an operand's");
  static_assert(Rule::unique, "einsum<equation>(x...): the result must have each label once");
  static_assert(Rule::space,
                "einsum<equation>(x...): there must be no more labels than tf::max_rank");
  static_assert(
      std::is_same_v<typename A::element, typename B::element> &&
          detail::in_domain<Domain::numbers, A>,
      "einsum<equation>(x...): the element types must be equal, those of numbers; convert "
      "with cast<T>(x)");
  detail::mark(at, a);
  using E = Expr<typename A::element, shape_of_t<Rule>>;
  if constexpr (Rule::valid) {
    return E(a.graph(), detail::einsum_of(Rule::e, a.any(), b.any()).id);
  } else {
    return E(a.graph(), a.id());
  }
}

/// Refused: a product of three tensors is one of two of them, and then of that and the third, and
/// which two decides what it costs.
template <Text Equation, TypedExpr A, TypedExpr B, TypedExpr C, TypedExpr... More>
constexpr A einsum(const A& a, const B&, const C&, const More&...) {
  static_assert(!std::same_as<A, A>,
                "einsum<equation>(x...): one or two operands; write a product of three as "
                "einsum<...>(einsum<...>(a, b), c)");
  return a;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
