// SPDX-License-Identifier: Apache-2.0
#pragma once

// Handles of tensors in a graph under construction.
//
// Expr<T, Shape<...>, Device> is what model code holds. It is two words at run time, and its type
// has everything that the compiler can check. AnyExpr is the same without the types; gradient rules
// and expansions are written on it, once for all shapes. Both are values: a copy refers to the same
// tensor.

#include <concepts>
#include <source_location>
#include <type_traits>

#include "typeflow/core/device.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/core/shape.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/model.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

constexpr ir::SourceLine source_line(const std::source_location& at) {
  return {at.file_name(), static_cast<int>(at.line()), false, false, nullptr};
}

namespace detail {

/// Puts the sentence of the static_assert that follows into g++'s first lines, however deep in
/// templates the mistake is. g++ begins with what it instantiates, requirement<"the sentence">, and
/// the line that asked for it, and ends with the error. clang begins with the error.
template <Text Sentence, bool Ok>
struct requirement {
#ifndef __clang__
  static_assert(Ok, "the sentence is in the template arguments of requirement<...>");
#endif
};

/// As a condition it says that the template that asks is never right.
template <class...>
inline constexpr bool never = false;

}  // namespace detail

/// A tensor of any element type and shape.
struct AnyExpr {
  ir::Graph* graph = nullptr;
  Id id = none;

  constexpr bool exists() const { return id != none; }
  /// By value: adding a node may move the graph's types.
  constexpr Dims dims() const { return graph->dims_of(id); }
  constexpr DType dtype() const { return graph->dtype_of(id); }

  /// Gives the tensor a name, as Expr::named does.
  constexpr AnyExpr named(Label name,
                          std::source_location at = std::source_location::current()) const {
    graph->name_value(name, ir::NameKind::value, id, source_line(at));
    return *this;
  }
};

/// A tensor with its element type, shape and device.
template <Element T, class S = Shape<>, DeviceType D = Anywhere>
class Expr {
 public:
  using element = T;
  using shape = S;
  using device = D;
  static constexpr int rank = S::rank;
  static constexpr Type type = Type(dtype_of<T>, S::dims);

  constexpr Expr() = default;
  constexpr Expr(Graph& graph, Id id) : graph_(&graph), id_(id) {}
  /// A pinned tensor converts to an unpinned one.
  template <DeviceType Other>
    requires(std::same_as<D, Anywhere> && !std::same_as<Other, Anywhere>)
  constexpr Expr(const Expr<T, S, Other>& pinned)  // NOLINT: an implicit conversion by design
      : graph_(&pinned.graph()), id_(pinned.id()) {}

  constexpr Graph& graph() const { return *graph_; }
  constexpr Id id() const { return id_; }
  constexpr AnyExpr any() const { return {&ir::records(*graph_), id_}; }

  /// Names the tensor. The name can be fed and fetched, and appears in messages. A second tensor of
  /// the same name in the same scope gets the suffix _1, a third _2.
  constexpr Expr named(Label name,
                       std::source_location at = std::source_location::current()) const {
    any().named(name, at);
    return *this;
  }

  // A tensor is neither a condition nor a number. These conversions do not compile; they are here
  // for their sentences.

  /// if (x), x ? a : b, x && y, !x
  constexpr explicit operator bool() const {
    (void)sizeof(detail::requirement<
                 "a tensor is not a condition, its value is known only in a run: use cond(x, f, g) "
                 "or where(x, a, b), logical_and(x, y), logical_or(x, y), logical_not(x)",
                 detail::never<T>>);
    static_assert(detail::never<T>,
                  "a tensor is not a condition, its value is known only in a run: use cond(x, f, "
                  "g) or where(x, a, b), logical_and(x, y), logical_or(x, y), logical_not(x)");
    return false;
  }
  /// float y = x, and std::exp(x)
  constexpr operator double() const {  // NOLINT: implicit, as the mistake is
    (void)sizeof(
        detail::requirement<"a tensor is not a number, its value is known only in a run: fetch it "
                            "with session.run<\"name\">(), and use tf::exp(x), not std::exp(x)",
                            detail::never<T>>);
    static_assert(detail::never<T>,
                  "a tensor is not a number, its value is known only in a run: fetch it with "
                  "session.run<\"name\">(), and use tf::exp(x), not std::exp(x)");
    return 0;
  }

 private:
  Graph* graph_ = nullptr;
  Id id_ = none;
};

namespace detail {
template <class X>
struct IsExpr : std::false_type {};
template <class T, class S, class D>
struct IsExpr<Expr<T, S, D>> : std::true_type {};
template <class T, class S, class D>
std::true_type derived_from_expr(const Expr<T, S, D>*);
std::false_type derived_from_expr(const void*);
}  // namespace detail

/// An Expr, or a class derived from one (a variable's handle).
template <class X>
concept TypedExpr = decltype(detail::derived_from_expr(static_cast<X*>(nullptr)))::value;

/// AnyExpr as a concept: functions of it are then templates, instantiated only when used.
template <class X>
concept UntypedExpr = std::same_as<X, AnyExpr>;

/// Anything that stands for a tensor.
template <class X>
concept Tensor = TypedExpr<X> || UntypedExpr<X>;

/// A C++ number. It takes the element type of the tensors in the same operation.
template <class X>
concept Literal = std::is_arithmetic_v<X>;

template <class X>
concept Operand = Tensor<X> || Literal<X>;

namespace detail {
/// The value `id` as a handle of the type of x.
template <class T, class S, class D>
constexpr Expr<T, S> same_type(const Expr<T, S, D>& x, Id id) {
  return {x.graph(), id};
}
constexpr AnyExpr same_type(const AnyExpr& x, Id id) { return {x.graph, id}; }
}  // namespace detail

/// The extent of an axis, as a constant: extent<1>(x).
template <int Axis, TypedExpr X>
constexpr Extent extent(const X&) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "extent<axis>(x): x has no such axis");
  return X::shape::dims.extent[axis < 0 ? 0 : axis];
}

/// Something that a run does rather than computes: an assignment, a training step. Effects add up:
/// `effect += assign(...)`. A default effect does nothing.
class Effect {
 public:
  constexpr Effect() = default;
  constexpr Effect(Graph& graph, Id token) : graph_(&graph), token_(token) {}

  constexpr Graph& graph() const { return *graph_; }
  constexpr Id token() const { return token_; }
  constexpr bool empty() const { return token_ == none; }

  /// Names the effect. A run can execute it by this name.
  constexpr Effect named(Label name,
                         std::source_location at = std::source_location::current()) const {
    if (empty()) throw Error("named", "an effect that does nothing can't have a name");
    ir::Graph& graph = *graph_;
    graph.name_value(name, ir::NameKind::effect, token_, source_line(at));
    return *this;
  }

 private:
  Graph* graph_ = nullptr;
  Id token_ = none;
};

constexpr void Graph::add_update(const Effect& update) {
  if (!update.empty()) records_.update_tokens.push(update.token());
}

template <class L>
constexpr L Graph::add_loss(const L& loss) {
  (void)sizeof(
      detail::requirement<"g.add_loss(loss): the loss must be a scalar tensor; take mean(loss)",
                          (TypedExpr<L> && L::rank == 0)>);
  static_assert(TypedExpr<L> && L::rank == 0,
                "g.add_loss(loss): the loss must be a scalar tensor; take mean(loss)");
  records_.losses.push(ir::LossRecord{loss.id(), records_.scope});
  return loss;
}
constexpr AnyExpr LossList::operator[](int i) const { return {&ir::records(*graph), values[i]}; }

/// A setting that is a number or a scalar tensor, such as a learning rate. It is never part of a
/// kernel's type.
class Scalar {
 public:
  constexpr Scalar(double value) : value_(value) {}  // NOLINT: .rate = 0.5
  constexpr Scalar(float value) : value_(value) {}   // NOLINT
  constexpr Scalar(int value) : value_(value) {}     // NOLINT
  template <Element T, DeviceType D>
  constexpr Scalar(const Expr<T, Shape<>, D>& expression)  // NOLINT: .rate = placeholder
      : expression_(expression.any()) {}

  constexpr bool is_expression() const { return expression_.exists(); }
  constexpr double value() const { return value_; }
  constexpr AnyExpr expression() const { return expression_; }

 private:
  double value_ = 0;
  AnyExpr expression_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
