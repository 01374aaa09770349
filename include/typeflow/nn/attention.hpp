// SPDX-License-Identifier: Apache-2.0
#pragma once

// Scaled dot-product attention, and a multi-head layer made of it. Source: Vaswani et al.,
// Attention is all you need, 2017.
//
// Attention is two products and a softmax. Scale and masks are computed on the first product's
// tiles. The gradient is that of the parts.

#include <limits>
#include <source_location>
#include <type_traits>

#include "typeflow/nn/dense.hpp"
#include "typeflow/ops/nn/softmax.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct AttentionOptions {
  /// Query t sees keys 0 to t only. Both are counted from 0: if S - T keys precede the T queries,
  /// use a mask.
  bool causal = false;
  double scale = 0;  ///< factor of the scores q k^T; 0: 1 / sqrt(D)
};

namespace detail {

/// 1 / sqrt(d), by Newton's method, because std::sqrt is no constant expression.
constexpr double attention_scale(Extent d) {
  const double x = static_cast<double>(d < 1 ? 1 : d);
  double root = x;
  for (int i = 0; i < 64; ++i) root = (root + x / root) / 2;
  return 1 / root;
}

/// The softmax of q k^T * scale over the keys that each query sees. Hidden keys get 0, whatever
/// their scores. A query that sees no key gets zeros.
constexpr AnyExpr attention_weights(const UntypedExpr auto& q, const UntypedExpr auto& k,
                                    const UntypedExpr auto& mask, const AttentionOptions& options) {
  auto& graph = *q.graph;
  const double scale =
      options.scale != 0 ? options.scale : attention_scale(q.dims().extent[q.dims().rank - 1]);
  AnyExpr scores = matmul(q, k, false, true) * scale;
  const Dims dims = scores.dims();
  AnyExpr visible{};
  if (mask.exists()) {
    if (mask.dtype() == DType::boolean) {
      visible = mask;
    } else {
      visible = not_equal(mask, -std::numeric_limits<double>::infinity());
      scores = scores + mask;
    }
  }
  if (options.causal) {
    const auto past = less_equal(index_along(graph, dims, dims.rank - 1),
                                 index_along(graph, dims, dims.rank - 2));
    visible = visible.exists() ? logical_and(visible, past) : past;
  }
  const auto axis = static_cast<unsigned>(dims.rank - 1);
  if (!visible.exists()) return softmax_along(scores, axis);
  return masked_softmax_along(scores, visible, axis, mask.exists());  // causal: a query sees itself
}

constexpr AnyExpr attention(const UntypedExpr auto& q, const UntypedExpr auto& k,
                            const UntypedExpr auto& v, UntypedExpr auto mask,
                            const AttentionOptions& options) {
  return in_float(q, [&](const auto& of_q) {
    const DType type = of_q.dtype();
    if (mask.exists() && mask.dtype() != DType::boolean) mask = cast_to(mask, type);
    return matmul(attention_weights(of_q, cast_to(k, type), mask, options), cast_to(v, type), false,
                  false);
  });
}

template <class Q, class K, class V>
struct AttentionRule {
  using Scores = MatMulRule<Q, K, Transposed::b>;
  static constexpr bool matrices = Q::rank >= 2 && K::rank >= 2 && V::rank >= 2;
  static constexpr bool depth =
      !matrices || (!is_symbolic(Q::dims.extent[Q::rank - 1]) &&
                    Q::dims.extent[Q::rank - 1] == K::dims.extent[K::rank - 1]);
  static constexpr bool rows =
      !matrices || K::dims.extent[K::rank - 2] == V::dims.extent[V::rank - 2];
  static constexpr Dims scores = matrices && depth && Scores::leading ? Scores::value : no_dims;
  static constexpr Dims product =
      scores.valid() && rows ? matrix_product(scores, false, V::dims, false) : no_dims;
  static constexpr bool leading = !matrices || !depth || !rows || product.valid();
  static constexpr Dims value = product.valid() ? product : Q::dims;
};

/// Whether a mask is boolean, or has q's element type.
template <class Q, class M>
inline constexpr bool mask_has_type = std::is_same_v<M, bool> || std::is_same_v<M, Q>;

template <TypedExpr Q, TypedExpr K, TypedExpr V>
constexpr auto checked_attention(const Q& q, const K& k, const V& v, const AnyExpr& mask,
                                 const AttentionOptions& options, const std::source_location& at) {
  using Rule = AttentionRule<typename Q::shape, typename K::shape, typename V::shape>;
  static_assert(Rule::matrices,
                "attention(q, k, v): q, k and v must have two axes or more, (..,T,D), (..,S,D) and "
                "(..,S,E)");
  static_assert(std::is_same_v<typename Q::element, typename K::element> &&
                    std::is_same_v<typename Q::element, typename V::element> &&
                    in_domain<Domain::floating, Q>,
                "attention(q, k, v): the element types must be equal and floating");
  static_assert(Rule::depth,
                "attention(q, k, v): the last axes of q and k must be equal, and a number");
  static_assert(Rule::rows,
                "attention(q, k, v): k and v must have as many rows, (..,S,D) and "
                "(..,S,E)");
  static_assert(Rule::leading,
                "attention(q, k, v): the axes in front of the last two must be equal, or 1");
  mark(at, q, k, v);
  using E = Expr<typename Q::element, shape_of_t<Rule>>;
  if constexpr (Rule::product.valid()) {
    return E(q.graph(), attention(q.any(), k.any(), v.any(), mask, options).id);
  } else {
    return E(q.graph(), q.id());
  }
}

}  // namespace detail

/// softmax(q k^T / sqrt(D)) v: each of the T queries gives a mean of the S values, weighted by how
/// well its keys fit. The leading axes (batches, heads) broadcast. 16-bit numbers are computed in
/// float and rounded once. (..,T,D) x (..,S,D) x (..,S,E) -> (..,T,E)
template <TypedExpr Q, TypedExpr K, TypedExpr V>
constexpr auto attention(const Q& q, const K& k, const V& v, AttentionOptions options = {},
                         std::source_location at = std::source_location::current()) {
  return detail::checked_attention(q, k, v, AnyExpr{}, options, at);
}

/// The same with a mask that broadcasts to (..,T,S). A boolean mask is true where a query sees a
/// key. A mask of numbers is added to the scores; -inf hides a key, a finite number does not. With
/// `causal`, a query sees only keys that both allow. Hidden keys never count, whatever their
/// scores; a query that sees no key gives 0.
template <TypedExpr Q, TypedExpr K, TypedExpr V, TypedExpr M>
constexpr auto attention(const Q& q, const K& k, const V& v, const M& mask,
                         AttentionOptions options = {},
                         std::source_location at = std::source_location::current()) {
  using Rule = detail::AttentionRule<typename Q::shape, typename K::shape, typename V::shape>;
  static_assert(detail::mask_has_type<typename Q::element, typename M::element>,
                "attention(q, k, v, mask): the mask must be boolean, or of the element type of q");
  static_assert(!Rule::product.valid() || broadcast(M::shape::dims, Rule::scores) == Rule::scores,
                "attention(q, k, v, mask): the mask must broadcast to (..,T,S)");
  return detail::checked_attention(q, k, v, mask.any(), options, at);
}

namespace detail {

/// The shapes inside multi_head_attention for x (B,T,C).
template <int Heads, class S>
struct HeadsRule {
  static constexpr bool has_rank = S::rank == 3;
  static constexpr Extent channels = has_rank ? S::dims.extent[has_rank ? 2 : 0] : 0;
  static constexpr bool fits = !has_rank || (Heads >= 1 && !is_symbolic(channels) &&
                                             channels % (Heads < 1 ? 1 : Heads) == 0);
  static constexpr Extent all = has_rank ? extent_of(count_of(without_last(S::dims, 1))) : 0;
  static constexpr bool has_rows = all != no_extent;
  /// All positions of all samples, as rows.
  static constexpr Dims value = Dims{2, {has_rows ? all : 1, fits ? channels : 1}};
  static constexpr Dims split = [] {
    Dims d = S::dims;
    if (has_rank && fits) {
      d.extent[2] = Heads;
      d.append(channels / Heads);
    }
    return d;
  }();
};

/// Self-attention of x with Heads heads, from its dense layers, which fit x.
template <int Heads, TypedExpr X, class Part>
constexpr auto attend_by_heads(const X& x, const AnyExpr& mask, const AttentionOptions& options,
                               const Part& query, const Part& key, const Part& value,
                               const Part& output, const std::source_location& at) {
  using Rule = HeadsRule<Heads, typename X::shape>;
  using Rows = Expr<typename X::element, shape_of_t<Rule>>;
  Graph& graph = x.graph();
  constexpr int order[] = {0, 2, 1, 3};
  const Rows rows(graph, reshape_to(x.any(), Rule::value).id);
  const auto heads_of = [&](Label name, const Part& part) {
    const NameScope in(graph, name);
    return transpose_to(reshape_to(part(rows, at).any(), Rule::split), order);
  };
  const AnyExpr q = heads_of("query", query);  // (B,heads,T,C/heads)
  const AnyExpr k = heads_of("key", key);
  const AnyExpr v = heads_of("value", value);
  const AnyExpr y = transpose_to(attention(q, k, v, mask, options), order);
  const Rows together(graph, reshape_to(y, Rule::value).id);
  const NameScope in(graph, "output");
  return same_type(x, reshape_to(output(together, at).any(), X::shape::dims).id);
}

template <int Heads, TypedExpr X>
constexpr auto multi_head_attention(Graph& graph, Label name, const X& x, const AnyExpr& mask,
                                    const AttentionOptions& options,
                                    const std::source_location& at) {
  using Rule = HeadsRule<Heads, typename X::shape>;
  static_assert(in_domain<Domain::floating, X>,
                "multi_head_attention<heads>(g, name, x): x must be floating-point; convert with "
                "cast<float>(x)");
  static_assert(Rule::has_rank, "multi_head_attention<heads>(g, name, x): x must be (B,T,C)");
  static_assert(Rule::fits,
                "multi_head_attention<heads>(g, name, x): heads must divide the channels of x, its "
                "last axis");
  static_assert(Rule::has_rows,
                "multi_head_attention<heads>(g, name, x): the first two axes of x must not be "
                "multiples of the same symbol");
  if constexpr (Rule::has_rank && Rule::fits && Rule::has_rows) {
    using Part = Dense<Rule::channels, Rule::channels, typename X::element>;
    const Scope in(graph, name);
    const Part query(graph, "query", {}, at);
    const Part key(graph, "key", {}, at);
    const Part value(graph, "value", {}, at);
    const Part output(graph, "output", {}, at);
    return attend_by_heads<Heads>(x, mask, options, query, key, value, output, at);
  } else {
    return same_type(x, x.id());
  }
}

/// Whether a mask broadcasts to the scores of x's positions, (B,Heads,T,T).
template <int Heads, class X, class M>
inline constexpr bool mask_fits_heads = [] {
  if (X::rank != 3) return true;
  const Extent positions = X::shape::dims.extent[X::rank > 1];
  const Dims scores{4, {X::shape::dims.extent[0], Heads, positions, positions}};
  return broadcast(M::shape::dims, scores) == scores;
}();

}  // namespace detail

/// Self-attention of x with Heads heads; each head has its part of the channels. Queries, keys and
/// values are x times new variables name/query/W, name/key/W, name/value/W (C,C), plus biases
/// name/query/b... (C). The heads' results, side by side, go through name/output/W and
/// name/output/b. (B,T,C) -> (B,T,C)
template <int Heads, TypedExpr X>
constexpr auto multi_head_attention(Graph& graph, Label name, const X& x,
                                    AttentionOptions options = {},
                                    std::source_location at = std::source_location::current()) {
  return detail::multi_head_attention<Heads>(graph, name, x, AnyExpr{}, options, at);
}

/// The same with a mask that broadcasts to (B,Heads,T,T); see attention.
template <int Heads, TypedExpr X, TypedExpr M>
constexpr auto multi_head_attention(Graph& graph, Label name, const X& x, const M& mask,
                                    AttentionOptions options = {},
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::mask_has_type<typename X::element, typename M::element>,
                "multi_head_attention<heads>(g, name, x, mask): the mask must be boolean, or of "
                "the element type of x");
  static_assert(detail::mask_fits_heads<Heads, X, M>,
                "multi_head_attention<heads>(g, name, x, mask): the mask must broadcast to "
                "(B,heads,T,T)");
  return detail::multi_head_attention<Heads>(graph, name, x, mask.any(), options, at);
}

/// The same as an object that can be called many times; it makes its variables once.
///
///   tf::MultiHeadAttention<4, 64> attend(g, "attend");
///   auto y = attend(x);
///
/// C is the number of channels of x, T its element type.
template <int Heads, Extent C, Element T = float>
class MultiHeadAttention {
 public:
  constexpr MultiHeadAttention(Graph& graph, Label name,
                               std::source_location at = std::source_location::current())
      : query_(part(graph, name, "query", at)),
        key_(part(graph, name, "key", at)),
        value_(part(graph, name, "value", at)),
        output_(part(graph, name, "output", at)) {}

  /// (B,T,C) -> (B,T,C)
  template <TypedExpr X>
  constexpr auto operator()(const X& x, AttentionOptions options = {},
                            std::source_location at = std::source_location::current()) const {
    return attended(x, AnyExpr{}, options, at);
  }
  /// The same with a mask that broadcasts to (B,Heads,T,T); see attention.
  template <TypedExpr X, TypedExpr M>
  constexpr auto operator()(const X& x, const M& mask, AttentionOptions options = {},
                            std::source_location at = std::source_location::current()) const {
    static_assert(detail::mask_has_type<typename X::element, typename M::element>,
                  "multi_head_attention: the mask must be boolean, or of the element type of x");
    static_assert(detail::mask_fits_heads<Heads, X, M>,
                  "multi_head_attention: the mask must broadcast to (B,heads,T,T)");
    return attended(x, mask.any(), options, at);
  }

 private:
  using Part = Dense<C, C, T>;
  static constexpr Part part(Graph& graph, Label name, Label label,
                             const std::source_location& at) {
    const Scope in(graph, name);
    return Part(graph, label, {}, at);
  }

  template <TypedExpr X>
  constexpr auto attended(const X& x, const AnyExpr& mask, const AttentionOptions& options,
                          const std::source_location& at) const {
    using Rule = detail::HeadsRule<Heads, typename X::shape>;
    constexpr bool fits = Rule::has_rank && Rule::fits && Rule::channels == C && Rule::has_rows;
    static_assert(fits,
                  "multi_head_attention: x must be (B,T,C) with the layer's channels, which heads "
                  "must divide");
    static_assert(std::is_same_v<typename X::element, T>,
                  "multi_head_attention: x must have the element type of the layer's variables");
    if constexpr (fits && std::is_same_v<typename X::element, T>) {
      return detail::attend_by_heads<Heads>(x, mask, options, query_, key_, value_, output_, at);
    } else {
      return detail::same_type(x, x.id());
    }
  }

  Part query_;
  Part key_;
  Part value_;
  Part output_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
