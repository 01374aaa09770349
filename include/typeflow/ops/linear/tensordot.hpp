// SPDX-License-Identifier: Apache-2.0
#pragma once

// tensordot: products of two tensors, summed over pairs of axes. It writes the equation of einsum.

#include <source_location>
#include <utility>

#include "typeflow/ops/linear/einsum.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Axes of a tensor, in an order: Axes<1, 0>. Negative ones count from the end.
template <int... A>
struct Axes {
  static constexpr int count = sizeof...(A);
};

namespace detail {

/// The axes of a tensor of this rank as a list. It is not valid if one is missing or stands twice.
struct AxisList {
  bool is_valid;
  int count;
  int axis[max_rank];
};
template <int... A>
constexpr AxisList axis_list(Axes<A...>, int rank) {
  AxisList list{true, 0, {}};
  const int given[] = {A..., 0};
  for (int i = 0; i < static_cast<int>(sizeof...(A)); ++i) {
    const int axis = normalize_axis(given[i], rank);
    bool fits = axis >= 0;
    for (int k = 0; k < list.count; ++k) fits = fits && list.axis[k] != axis;
    if (!fits) return {};
    list.axis[list.count++] = axis;
  }
  return list;
}

/// The equation that sums over axis a.axis[i] of the first and b.axis[i] of the second operand.
/// The first operand's labels are A, B..., the second's own ones a, b...
constexpr Equation dot_equation(int rank_a, int rank_b, const AxisList& a, const AxisList& b) {
  Equation e{true, 2, {}, {}};
  const auto is_summed = [](const AxisList& list, int axis) {
    for (int i = 0; i < list.count; ++i) {
      if (list.axis[i] == axis) return true;
    }
    return false;
  };
  for (int i = 0; i < rank_a; ++i) {
    const char label = static_cast<char>('A' + i);
    e.operand[0].append(label);
    if (!is_summed(a, i)) e.result.append(label);
  }
  for (int i = 0; i < rank_b; ++i) {
    char label = static_cast<char>('a' + i);
    for (int k = 0; k < b.count; ++k) {
      if (b.axis[k] == i) label = static_cast<char>('A' + a.axis[k]);
    }
    e.operand[1].append(label);
    if (!is_summed(b, i)) e.result.append(label);
  }
  e.is_valid = e.result.count <= max_rank;
  return e;
}

template <class A, class B, class AxesA, class AxesB>
struct TensordotRule {
  static constexpr Dims dims[] = {A::dims, B::dims};
  static constexpr AxisList a = axis_list(AxesA{}, A::rank);
  static constexpr AxisList b = axis_list(AxesB{}, B::rank);
  static constexpr bool exist = a.is_valid && b.is_valid && a.count == b.count;
  static constexpr Equation e = exist ? dot_equation(A::rank, B::rank, a, b) : Equation{};
  static constexpr bool extents = !e.is_valid || extents_agree(e, dims);
  static constexpr ProductOrder order =
      e.is_valid && extents ? product_order(e, dims) : ProductOrder{true, {}};
  static constexpr bool ranks = !exist || (e.is_valid && order.valid);
  static constexpr bool valid = exist && extents && ranks;
  static constexpr Dims value = valid ? einsum_dims(e, dims) : no_dims;
};

template <class AxesA, class AxesB, TypedExpr A, TypedExpr B>
constexpr auto tensordot_typed(const A& a, const B& b) {
  using Rule = TensordotRule<typename A::shape, typename B::shape, AxesA, AxesB>;
  static_assert(Rule::exist,
                "tensordot<axes>(a, b): as many axes of a as of b must be given, which exist, each "
                "once");
  static_assert(Rule::extents, "tensordot<axes>(a, b): the axes of a and b must be equally long");
  static_assert(Rule::ranks,
                "tensordot<axes>(a, b): the product and its sums must have no more axes than "
                "tf::max_rank");
  static_assert(same_elements<A, B> && in_domain<Domain::numbers, A>,
                "tensordot<axes>(a, b): the element types must be equal, those of numbers; convert "
                "with cast<T>(x)");
  using R = Expr<typename A::element, shape_of_t<Rule>>;
  if constexpr (Rule::valid) {
    const AnyExpr operands[] = {a.any(), b.any()};
    return R(a.graph(), einsum_of(Rule::e, Rule::order, operands).id);
  } else {
    return R(a.graph(), a.id());
  }
}

/// The last n axes, and the first n.
template <int N, class = std::make_integer_sequence<int, (N < 0 ? 0 : N)>>
struct InnerAxes;
template <int N, int... I>
struct InnerAxes<N, std::integer_sequence<int, I...>> {
  using last = Axes<(I - N)...>;
  using first = Axes<I...>;
};

}  // namespace detail

/// The products of two tensors, summed over the last N axes of a and the first N of b:
/// tensordot<1>(a, b) is the matrix product for matrices, tensordot<0>(a, b) the outer product.
/// (S...,K) x (K,R...) -> (S...,R...)
template <int N, TypedExpr A, TypedExpr B>
constexpr auto tensordot(const A& a, const B& b,
                         std::source_location at = std::source_location::current()) {
  static_assert(N >= 0 && N <= A::rank && N <= B::rank,
                "tensordot<n>(a, b): n must be from 0 to the number of axes of a and of b");
  constexpr int n = N >= 0 && N <= A::rank && N <= B::rank ? N : 0;
  detail::mark(at, a);
  using Inner = detail::InnerAxes<n>;
  return detail::tensordot_typed<typename Inner::last, typename Inner::first>(a, b);
}
/// The same over pairs of axes, the first with the first...: tensordot<tf::Axes<2, 0>, tf::Axes<0,
/// 1>>(a, b) sums a[k,i,j] b[j,k,l] over j and k. The result has the other axes of a, then those of
/// b. As numpy.tensordot. (K,I,J) x (J,K,L) -> (I,L)
template <class AxesOfA, class AxesOfB, TypedExpr A, TypedExpr B>
constexpr auto tensordot(const A& a, const B& b,
                         std::source_location at = std::source_location::current()) {
  detail::mark(at, a);
  return detail::tensordot_typed<AxesOfA, AxesOfB>(a, b);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
