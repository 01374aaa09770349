// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sums of products by the names of axes: einsum<"bij,bjk->bik">(a, b).
//
// The equation is a template argument, and is checked while the program compiles. It becomes known
// operations: diagonals, sums, transposes, and then
//
//   a matrix product        if labels are summed over, and each operand has labels of its own
//   a product and a sum     otherwise: one operand has all labels (matrix times vector, sum of
//                           products over all axes), or nothing is summed over (outer products)
//
// The order of the product's operands, and its flags, are chosen so that as little as possible is
// transposed. equation.hpp has equations, and the order of several products.

#include <source_location>

#include "typeflow/core/text.hpp"
#include "typeflow/ops/linear/equation.hpp"
#include "typeflow/ops/linear/linear.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

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

/// Takes diagonals of labels that stand twice.
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

/// The axes in the order of `space`. Labels that a lacks get axes of extent 1.
constexpr AnyExpr spread(const Labelled& a, const Labels& space) {
  const Labelled y = in_order(a, space.where([&](char c) { return a.labels.has(c); }));
  Dims dims{};
  for (int i = 0; i < space.count; ++i) dims.append(y.extent(space.label[i]));
  return reshape_to(y.x, dims);
}

/// The product of several extents as one; no_dims if it is no extent, as batch * batch.
constexpr Dims merged(const Labelled& a, const Labels& labels) {
  Count count{};
  for (int i = 0; i < labels.count; ++i) count.multiply(a.extent(labels.label[i]));
  if (typeflow::extent_of(count) == no_extent) return no_dims;
  return {1, {typeflow::extent_of(count)}};
}

/// The product of matching elements, summed over labels that are not in the result.
constexpr Labelled multiply_and_sum(const Labelled& a, const Labelled& b, const Labels& space,
                                    const Labels& result) {
  return sum_others({spread(a, space) * spread(b, space), space},
                    [&](char c) { return result.has(c); });
}

/// An operand of a matrix product: axes shared with the other operand and the result, axes of its
/// own, axes summed over. The last two kinds form the matrix.
struct MatrixOperand {
  Labelled x;
  Labels own;
  bool summed_first;  ///< whether the summed axes stand in front of its own

  constexpr MatrixOperand(const Labelled& a, const Labels& batch, const Labels& of_own,
                          const Labels& summed, bool is_left)
      : x(a), own(of_own), summed_first(false) {
    const Labels own_last = joined(joined(batch, summed), own);
    const Labels own_first = joined(joined(batch, own), summed);
    summed_first = a.labels == own_last || (!(a.labels == own_first) && !is_left);
    x = in_order(a, summed_first ? own_last : own_first);
  }
};

/// The matrix product that sums over `summed`. x has rank -1 if there is none: an axis would have
/// several batches, or there would be too many axes.
constexpr Labelled multiply_matrices(const Labelled& a, const Labelled& b, const Labels& batch,
                                     const Labels& rows, const Labels& columns,
                                     const Labels& summed) {
  const MatrixOperand left(a, batch, rows, summed, true);
  const MatrixOperand right(b, batch, columns, summed, false);
  const Dims depth = merged(a, summed);
  const Dims width = merged(b, columns);
  const Dims height = merged(a, rows);
  // Several labels of rows stay axes if a has them in front: the last one is the rows, the others
  // are in front of the matrices.
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

/// The number of operands that a product with this order of the summed labels transposes.
constexpr int transposes(const Labelled& a, const Labelled& b, const Labels& batch,
                         const Labels& rows, const Labels& columns, const Labels& summed) {
  const auto fits = [&](const Labelled& x, const Labels& own) {
    return x.labels == joined(joined(batch, own), summed) ||
           x.labels == joined(joined(batch, summed), own);
  };
  return !fits(a, rows) + !fits(b, columns);
}

/// The product of two tensors, summed over the labels that the result lacks.
constexpr Labelled multiply(const Labelled& x, const Labelled& y, const Labels& result) {
  const auto wanted_of_a = [&](char c) { return result.has(c) || y.labels.has(c); };
  const auto wanted_of_b = [&](char c) { return result.has(c) || x.labels.has(c); };
  const Labelled a = sum_others(x, wanted_of_a);
  const Labelled b = sum_others(y, wanted_of_b);
  const auto in_a = [&](char c) { return a.labels.has(c); };
  const auto in_b = [&](char c) { return b.labels.has(c); };
  const auto in_both = [&](char c) { return in_a(c) && in_b(c); };
  // Labels in the result are in the result's order, so that it needs no transpose.
  const Labels batch = result.where(in_both);
  const Labels rows = result.where([&](char c) { return in_a(c) && !in_b(c); });
  const Labels columns = result.where([&](char c) { return in_b(c) && !in_a(c); });
  const auto is_summed = [&](char c) { return in_both(c) && !result.has(c); };
  const Labels summed = a.labels.where(is_summed);

  if (summed.count > 0 && rows.count > 0 && columns.count > 0) {
    const Labels other = b.labels.where(is_summed);
    const Labels& order = transposes(a, b, batch, rows, columns, other) <
                                  transposes(a, b, batch, rows, columns, summed)
                              ? other
                              : summed;
    // The left operand is the one whose labels the result has first.
    const bool swapped = result.find(columns.label[0]) < result.find(rows.label[0]);
    const Labelled product = swapped ? multiply_matrices(b, a, batch, columns, rows, order)
                                     : multiply_matrices(a, b, batch, rows, columns, order);
    if (product.x.exists()) return in_order(product, result);
  }
  // If one operand has all labels, it stays as it is.
  const Labels space = summed.count == 0    ? result
                       : columns.count == 0 ? a.labels
                       : rows.count == 0    ? b.labels
                                            : joined(result, summed);
  return in_order(multiply_and_sum(a, b, space, result), result);
}

/// An operand with diagonals taken of labels that stand twice, and without axes that an ellipsis
/// repeats.
constexpr Labelled operand_of(const AnyExpr& x, const Labels& labels, const Equation& e,
                              const Dims* dims) {
  Labelled a{x, {}};
  Dims kept{};
  for (int i = 0; i < labels.count; ++i) {
    const char c = labels.label[i];
    if (is_of_ellipsis(c) && x.dims().extent[i] != extent_of(e, c, dims)) continue;
    a.labels.append(c);
    kept.append(x.dims().extent[i]);
  }
  a.x = reshape_to(x, kept);
  return take_diagonals(a);
}

/// The product of a set of operands, in the order that was found.
constexpr Labelled product_of(const Equation& e, const ProductOrder& order, const Labelled* x,
                              unsigned set) {
  if ((set & (set - 1)) == 0) {
    int i = 0;
    while ((set >> i & 1u) == 0) ++i;
    return x[i];
  }
  const unsigned left = order.left[set];
  const Labelled a = product_of(e, order, x, left);
  const Labelled b = product_of(e, order, x, set ^ left);
  if (set == (1u << e.operands) - 1) return multiply(a, b, e.result);
  // First the common labels, then the left operand's, as in a matrix product.
  const Labels kept = kept_labels(e, set);
  const auto in_both = [&](char c) { return kept.has(c) && a.labels.has(c) && b.labels.has(c); };
  const auto left_alone = [&](char c) { return kept.has(c) && !b.labels.has(c); };
  const auto right_alone = [&](char c) { return kept.has(c) && !a.labels.has(c); };
  return multiply(a, b,
                  joined(joined(a.labels.where(in_both), a.labels.where(left_alone)),
                         b.labels.where(right_alone)));
}

/// The result of an equation without ellipses.
constexpr AnyExpr einsum_of(const Equation& e, const ProductOrder& order, const AnyExpr* x) {
  Dims dims[max_einsum_operands] = {};
  Labelled operands[max_einsum_operands] = {};
  for (int i = 0; i < e.operands; ++i) dims[i] = x[i].dims();
  for (int i = 0; i < e.operands; ++i) operands[i] = operand_of(x[i], e.operand[i], e, dims);
  const Labelled y = product_of(e, order, operands, (1u << e.operands) - 1);
  return in_order(sum_others(y, [&](char c) { return e.result.has(c); }), e.result).x;
}
/// The result of any equation that fits.
template <UntypedExpr... X>
constexpr AnyExpr einsum_of(const Equation& equation, const X&... x) {
  const AnyExpr operands[] = {x...};
  const Dims dims[] = {x.dims()...};
  const Equation e = expand_ellipses(equation, dims);
  return einsum_of(e, product_order(e, dims), operands);
}

template <Text E>
inline constexpr Equation equation = parse_equation(E.view());

/// The rule of an equation for operands of these shapes. Each check depends on the one before.
template <Text E, class... S>
struct EinsumRule {
  static constexpr Dims dims[] = {S::dims...};
  static constexpr bool parsed = equation<E>.is_valid;
  static constexpr bool arity = !parsed || equation<E>.operands == static_cast<int>(sizeof...(S));
  static constexpr Equation e = parsed && arity ? expand_ellipses(equation<E>, dims) : Equation{};
  static constexpr bool fits = e.is_valid;
  static constexpr bool ranks = !parsed || !arity || fits;
  static constexpr bool extents = !fits || extents_agree(e, dims);
  static constexpr bool known = !fits || e.result_is_known();
  static constexpr bool unique = !fits || e.result_is_unique();
  static constexpr bool ellipses = !fits || e.keeps_ellipses();
  static constexpr bool described = fits && extents && known && unique && ellipses;
  static constexpr ProductOrder order = described ? product_order(e, dims) : ProductOrder{true, {}};
  static constexpr bool valid = described && order.valid;
  static constexpr Dims value = valid ? einsum_dims(e, dims) : no_dims;
};

template <Text E, TypedExpr A, TypedExpr... More>
constexpr auto einsum_typed(const A& a, const More&... more) {
  using Rule = EinsumRule<E, typename A::shape, typename More::shape...>;
  static_assert(Rule::parsed,
                "einsum<equation>(x...): the equation must be of letters and ellipses, at most "
                "eight letters and one ellipsis an operand, of at most eight operands and one "
                "arrow: \"...ij,...jk->...ik\"");
  static_assert(Rule::arity,
                "einsum<equation>(x...): the equation must have as many operands as the call");
  static_assert(Rule::ranks,
                "einsum<equation>(x...): an operand must have an axis for each label, and no other "
                "without an ellipsis");
  static_assert(Rule::extents,
                "einsum<equation>(x...): axes of the same label must be equally long");
  static_assert(Rule::known,
                "einsum<equation>(x...): a label of the result must be one of an operand's");
  static_assert(Rule::unique, "einsum<equation>(x...): the result must have each label once");
  static_assert(Rule::ellipses,
                "einsum<equation>(x...): the result must have the ellipsis of the operands");
  static_assert(Rule::order.valid,
                "einsum<equation>(x...): two operands, or what is made of them on the way, must "
                "have no more labels than tf::max_rank");
  static_assert(
      same_elements<A, More...> && in_domain<Domain::numbers, A>,
      "einsum<equation>(x...): the element types must be equal, those of numbers; convert "
      "with cast<T>(x)");
  using R = Expr<typename A::element, shape_of_t<Rule>>;
  if constexpr (Rule::valid) {
    const AnyExpr operands[] = {a.any(), more.any()...};
    return R(a.graph(), einsum_of(Rule::e, Rule::order, operands).id);
  } else {
    return R(a.graph(), a.id());
  }
}

}  // namespace detail

/// The sum of products in an equation. Each axis has a letter, its label:
///
///   einsum<"bij,bjk->bik">(a, b)        products of matrices
///   einsum<"...ij,...jk->...ik">(a, b)  the same, whatever axes are in front
///   einsum<"i,i->">(a, b)               dot product
///   einsum<"bij->bji">(a)               transposes
///   einsum<"i,j->ij">(a, b)             outer product
///   einsum<"ii->i">(a), <"ii->">        diagonal, trace
///   einsum<"ij->j">(a)                  sums of columns
///   einsum<"ij,jk,kl->il">(a, b, c)     products of several
///
/// Up to eight operands. A label has the same extent everywhere. Labels that the result lacks are
/// summed over. An ellipsis stands for axes without labels; those of several operands broadcast,
/// and the result has them. Without "->" the result has the ellipsis, then the labels that stand
/// once, in alphabetical order. As numpy.einsum.
///
/// Several operands are multiplied in pairs, in the order with the fewest multiplications. A symbol
/// (tf::batch) counts as 64.
template <Text Equation, TypedExpr A>
constexpr auto einsum(const A& a, std::source_location at = std::source_location::current()) {
  detail::mark(at, a);
  return detail::einsum_typed<Equation>(a);
}
template <Text Equation, TypedExpr A, TypedExpr B>
constexpr auto einsum(const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  detail::mark(at, a);
  return detail::einsum_typed<Equation>(a, b);
}
template <Text Equation, TypedExpr A, TypedExpr B, TypedExpr C, TypedExpr... More>
constexpr auto einsum(const A& a, const B& b, const C& c, const More&... more) {
  return detail::einsum_typed<Equation>(a, b, c, more...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
