// SPDX-License-Identifier: Apache-2.0
#pragma once

// Joining and splitting strings: string_join, reduce_join, string_split, substr, string_length.
// Positions and lengths are in bytes.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "typeflow/front/sources.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// An operation with strings as inputs or outputs.
struct of_strings : custom {
  static constexpr bool takes_strings = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
};

/// Elements joined by a separator. Inputs: the separator, a scalar; tensors of one shape.
struct StringJoin : of_strings {
  static constexpr std::string_view name = "StringJoin";
  static constexpr bool variadic = true;
  static constexpr Type infer(const StringJoin&, std::span<const Type> x) {
    bool fits = x.size() >= 2 && x[0] == Type(DType::string, {});
    for (std::size_t i = 1; i < x.size(); ++i) fits = fits && x[i] == x[1];
    return {DType::string, fits && x[1].dtype == DType::string ? x[1].dims : no_dims};
  }
};

/// Elements along an axis joined by a separator: (...,N,...) x () -> (...,...)
struct ReduceJoin : of_strings {
  static constexpr std::string_view name = "ReduceJoin";
  std::int32_t axis;
  static constexpr Type infer(const ReduceJoin& op, const Type& x, const Type& separator) {
    const bool fits = separator == Type(DType::string, {}) && x.dtype == DType::string &&
                      op.axis >= 0 && op.axis < x.dims.rank;
    return {DType::string, fits ? reduced(x.dims, 1u << op.axis, false) : no_dims};
  }
};

/// The tokens of each string, padded with "", and their number:
/// (I...) x () -> (I...,tokens), (I...)
struct StringSplit : of_strings {
  static constexpr std::string_view name = "StringSplit";
  static constexpr int outputs = 2;
  Extent tokens;
  std::uint64_t skip_empty;
  static constexpr std::array<Type, 2> infer(const StringSplit& op, const Type& x,
                                             const Type& delimiters) {
    Dims dims = x.dims;
    const bool fits =
        x.dtype == DType::string && delimiters == Type(DType::string, {}) && dims.rank < max_rank;
    if (fits) dims.append(op.tokens);
    return {Type(DType::string, fits ? dims : no_dims), Type(DType::int32, x.dims)};
  }
};

/// Inputs: strings, positions and lengths, both int64, of one shape.
struct Substr : of_strings {
  static constexpr std::string_view name = "Substr";
  static constexpr Type infer(const Substr&, const Type& x, const Type& position,
                              const Type& length) {
    const bool fits =
        x.dtype == DType::string && position == Type(DType::int64, x.dims) && length == position;
    return {DType::string, fits ? x.dims : no_dims};
  }
  /// Mistakes: 1 is a position, 2 a length. The numbers are the element, its position or length,
  /// and the string's bytes.
  TYPEFLOW_COLD static Error explain(const Substr&, const Failure& wrong, std::span<const Dims>) {
    const std::string bytes = std::to_string(wrong.number[2]);
    const std::string element = " of element " + std::to_string(wrong.number[0]);
    const std::string given = std::to_string(wrong.number[1]);
    if (wrong.what == 2) return Error("length" + element, "0 or more", given);
    return Error("position" + element, "one in [-" + bytes + ", " + bytes + "] of its bytes",
                 given);
  }
};

/// The number of bytes in each string, as int32.
struct StringLength : of_strings {
  static constexpr std::string_view name = "StringLength";
  static constexpr Type infer(const StringLength&, const Type& x) {
    return {DType::int32, x.dtype == DType::string ? x.dims : no_dims};
  }
};

}  // namespace ops

/// A tensor of strings: Expr<std::string_view, ...>.
template <class X>
concept StringExpr = TypedExpr<X> && detail::is_string<typename X::element>;
/// A tensor of strings, or a text as a scalar.
template <class X>
concept StringOperand = StringExpr<X> || std::convertible_to<const X&, std::string_view>;

namespace detail {

template <StringOperand First, StringOperand... Rest>
constexpr Graph& graph_of_strings(const First& first, const Rest&... rest) {
  if constexpr (TypedExpr<First>) {
    return first.graph();
  } else {
    return graph_of_strings(rest...);
  }
}
template <StringOperand X>
constexpr AnyExpr string_operand(Graph& g, const X& x) {
  if constexpr (TypedExpr<X>) {
    return x.any();
  } else {
    return constant<std::string_view>(g, std::string_view(x)).any();
  }
}

/// Integers, or one integer, as int64 in the shape of x.
template <StringExpr X, Operand V>
constexpr AnyExpr integers_for(const X& x, const V& values) {
  ir::Graph& graph = x.graph();
  const AnyExpr v{&graph, operand_id(graph, DType::int64, values)};
  return broadcast_to(cast_to(v, DType::int64), X::shape::dims);
}
template <class X, class V>
inline constexpr bool are_integers_for = std::is_integral_v<V>;
template <class X, TypedExpr V>
inline constexpr bool are_integers_for<X, V> =
    contains(Domain::integers, dtype_of<typename V::element>) &&
    broadcast(V::shape::dims, X::shape::dims) == X::shape::dims;

template <class X, int Axis>
struct JoinRule {
  static constexpr bool fits = Axis >= -X::rank && Axis < X::rank;
  static constexpr int axis = Axis < 0 ? Axis + X::rank : Axis;
  static constexpr Dims value = reduced(X::shape::dims, fits ? 1u << axis : 0u, false);
};

template <class X, Extent Tokens>
struct SplitRule {
  static constexpr bool fits = X::rank < max_rank;
  static constexpr Dims value = [] {
    Dims dims = X::shape::dims;
    if (fits) dims.append(Tokens);
    return dims;
  }();
};

}  // namespace detail

/// Joins strings element by element, with a separator between them: string_join("/", folder, file).
/// The operands are texts and tensors that broadcast; at least one is a tensor.
template <StringOperand... X>
  requires(StringExpr<X> || ...)
constexpr auto string_join(std::string_view separator, const X&... x) {
  using Rule = detail::BroadcastRule<typename detail::ShapeOf<X>::type...>;
  static_assert(Rule::common.valid(),
                "string_join(separator, x...): the shapes of x... must broadcast to one");
  Graph& g = detail::graph_of_strings(x...);
  const AnyExpr operands[] = {constant<std::string_view>(g, separator).any(),
                              broadcast_to(detail::string_operand(g, x), Rule::value)...};
  Id ids[sizeof...(X) + 1];
  for (std::size_t i = 0; i <= sizeof...(X); ++i) ids[i] = operands[i].id;
  using E = Expr<std::string_view, shape_of_t<Rule>>;
  return E(g, add_node(g, ops::StringJoin{}, ids, static_cast<int>(sizeof...(X)) + 1, E::type).id);
}

/// Joins the strings along an axis, with a separator between them: reduce_join<1>(words, " "). A
/// negative axis counts from the end. (...,N,...) -> (...,...)
template <int Axis, StringExpr X>
constexpr auto reduce_join(const X& x, std::string_view separator = "",
                           std::source_location at = std::source_location::current()) {
  static_assert(Axis >= -X::rank && Axis < X::rank,
                "reduce_join<Axis>(x, separator): x has no such axis");
  detail::mark(at, x);
  using Rule = detail::JoinRule<X, Axis>;
  const AnyExpr y = apply(ops::ReduceJoin{{}, Rule::axis}, x.any(),
                          constant<std::string_view>(x.graph(), separator).any());
  return Expr<std::string_view, shape_of_t<Rule>>(x.graph(), y.id);
}

struct StringSplitOptions {
  bool skip_empty = true;  ///< drops tokens that are ""
};

/// The tokens of each string, as views of it, and their number. Each byte of `delimiters` is a
/// delimiter; without delimiters, every byte of the string is a token. There is room for Tokens
/// tokens: shorter lists are padded with "", longer ones keep their first tokens. The number counts
/// all tokens. (I...) -> (I...,Tokens) and (I...), int32
template <Extent Tokens, StringExpr X>
constexpr auto string_split(const X& x, std::string_view delimiters = " ",
                            StringSplitOptions options = {},
                            std::source_location at = std::source_location::current()) {
  static_assert(Tokens > 0, "string_split<Tokens>(x, delimiters): Tokens must be positive");
  static_assert(detail::SplitRule<X, Tokens>::fits,
                "string_split<Tokens>(x, delimiters): x has too many axes");
  detail::mark(at, x);
  Graph& g = x.graph();
  const Id ids[] = {x.id(), constant<std::string_view>(g, delimiters).id()};
  using Token = Expr<std::string_view, shape_of_t<detail::SplitRule<X, Tokens>>>;
  using Counts = Expr<std::int32_t, typename X::shape>;
  const ops::StringSplit op{{}, Tokens, options.skip_empty ? 1u : 0u};
  const auto y = add_node(g, op, ids, 2, std::array{Token::type, Counts::type});
  return std::tuple{Token(g, y[0].id), Counts(g, y[1].id)};
}

/// `length` bytes of each string, from `position` on; fewer if the string ends before. A negative
/// position counts from the end. Position and length are numbers, or integer tensors that broadcast
/// to the shape of x.
///
/// These are Errors of the run: a position before the string's first byte or after its end, a
/// negative length.
template <StringExpr X, Operand P, Operand L>
constexpr auto substr(const X& x, const P& position, const L& length,
                      std::source_location at = std::source_location::current()) {
  static_assert(detail::are_integers_for<X, P> && detail::are_integers_for<X, L>,
                "substr(x, position, length): position and length must be integers, numbers or "
                "tensors that broadcast to the shape of x");
  detail::mark(at, x);
  using E = Expr<std::string_view, typename X::shape>;
  return E(x.graph(), apply(ops::Substr{}, x.any(), detail::integers_for(x, position),
                            detail::integers_for(x, length))
                          .id);
}

/// The number of bytes in each string, as int32.
template <TypedExpr X>
constexpr auto string_length(const X& x,
                             std::source_location at = std::source_location::current()) {
  static_assert(StringExpr<X>, "string_length(x): x must be a tensor of strings");
  detail::mark(at, x);
  return Expr<std::int32_t, typename X::shape>(x.graph(), apply(ops::StringLength{}, x.any()).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
