// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reverse-mode gradients. They extend the graph while the model is traced: each operation's rule
// adds nodes. If a tensor has several uses, their gradients are added. The results are ordinary
// expressions, which have gradients again.
//
//   auto dx = gradients(loss, x);                          // an expression like x
//   auto [dW, db] = gradients(loss, W, b);                 // a tuple
//   auto dW = gradients(y, grad_ys(dy), W);                // y of any shape, its gradient given
//   auto dW = gradients(ys(a, b), W);                      // the sum of two scalars' gradients
//   tf::Gradients all = gradients(loss, g.trainable());    // what optimisers apply

#include <source_location>
#include <tuple>
#include <utility>

#include "typeflow/front/backward.hpp"
#include "typeflow/front/sources.hpp"
#include "typeflow/front/variables.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

constexpr void fail_unreached(ir::Graph& graph, Id x) {
  Message message{};
  message << "gradients(y, x): no differentiable path leads from '";
  print_value(message, graph, x);
  graph.fail(message << "' to y");
}
/// The mistake of a call that has no variable to take the gradient of y for.
TYPEFLOW_COLD constexpr void fail_of_no_variable(ir::Graph& graph, const char* call, Id y,
                                                 const VariableList& list, bool strict) {
  Message message{};
  message << call;
  if (strict) {
    message << ": the list has no variable";
    if (!list.path.empty()) message << "; the model has none below '" << list.path << "'";
  } else {
    message << ": '";
    print_value(message, graph, y);
    message << "' at ";
    print_place(message, graph.node_of(y).source);
    message << " depends on no trainable variable";
  }
  graph.fail(message);
}

}  // namespace detail

/// Several tensors to take gradients of, as one argument.
template <TypedExpr... Y>
struct Ys {
  std::tuple<Y...> values;
};
template <TypedExpr... Y>
constexpr Ys<Y...> ys(const Y&... y) {
  return {{y...}};
}
/// The given gradients of the ys, with the types of the ys.
template <TypedExpr... DY>
struct GradYs {
  std::tuple<DY...> values;
};
template <TypedExpr... DY>
constexpr GradYs<DY...> grad_ys(const DY&... dy) {
  return {{dy...}};
}

/// A variable and the gradient for it, which has its element type and shape.
struct VariableGradient {
  AnyVariable variable;
  AnyExpr gradient;
};
/// The same as a record.
struct GradientRecord {
  Id variable;  ///< in ir::Graph::variable_records
  Id gradient;  ///< a value
};

/// The gradients for a list of variables, as optimisers apply them. A loop over them sees
/// VariableGradients: for (const auto& [v, dv] : gradients(loss)).
struct Gradients {
  Graph* graph = nullptr;
  Pool<GradientRecord> items;
  /// True if other runs computed these gradients, and made the updates that layers registered.
  bool updated = false;

  constexpr int size() const { return items.size(); }
  constexpr VariableGradient operator[](int i) const {
    ir::Graph& records = *graph;
    return {{*graph, records.variable_records.items[items[i].variable].value},
            {&records, items[i].gradient}};
  }
  constexpr ListPlace<Gradients> begin() const { return {this, 0}; }
  constexpr ListPlace<Gradients> end() const { return {this, size()}; }

  /// The result of f(variable, gradient) for each gradient, such as a clipped one. It must have the
  /// element type and shape of the variable.
  template <class F>
  constexpr Gradients map(const F& f) const {
    Gradients out{graph, {}, updated};
    for (int i = 0; i < size(); ++i) {
      const VariableGradient item = (*this)[i];
      const AnyExpr mapped = f(item.variable, item.gradient);
      if (!(type_of(mapped) == type_of(item.variable))) {
        Message message{};
        message << "Gradients::map(f): the gradient for '" << item.variable.name().view()
                << "': expected " << item.variable.dtype() << ' ' << item.variable.dims()
                << ", got " << mapped.dtype() << ' ' << mapped.dims();
        mapped.graph->fail(message);
      }
      out.items.push(GradientRecord{items[i].variable, mapped.id});
    }
    return out;
  }
};

namespace detail {

template <class... Y, class... DY>
constexpr auto start(const Ys<Y...>& y, const GradYs<DY...>& dy) {
  std::pair<Pool<Id>, Pool<Id>> ids;
  std::apply([&](const auto&... e) { (ids.first.push(e.id()), ...); }, y.values);
  std::apply([&](const auto&... e) { (ids.second.push(e.id()), ...); }, dy.values);
  while (ids.second.size() < ids.first.size()) ids.second.push(none);
  return ids;
}

template <bool OrZero, class Y, class DY, TypedExpr... X>
constexpr auto gradients_typed(const Y& y, const DY& dy, const X&... x) {
  ir::Graph& graph = std::get<0>(y.values).graph();
  const auto [from, weights] = start(y, dy);
  Pool<Id> to;
  (to.push(x.id()), ...);
  Pool<Id> result = gradients_of(graph, from, weights, to);
  for (int i = 0; i < result.size(); ++i) {
    if (result[i] != none) continue;
    if (!OrZero) fail_unreached(graph, to[i]);
    const Type type = graph.type_of(to[i]);
    result[i] = broadcast_to(constant_node(graph, type.dtype, Number{0, 0}), type.dims).id;
  }
  if constexpr (sizeof...(X) == 1) {
    return same_type(x..., result[0]);
  } else {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{same_type(x, result[static_cast<int>(I)])...};
    }(std::index_sequence_for<X...>{});
  }
}

/// The gradients for the variables of a list that y depends on. With `strict`, a variable that y
/// does not depend on is an error, which names the call.
template <class Y, class DY>
constexpr Gradients gradients_of_list(const char* call, const Y& y, const DY& dy,
                                      const VariableList& list, bool strict) {
  Graph& of = std::get<0>(y.values).graph();
  ir::Graph& graph = of;
  const auto [from, weights] = start(y, dy);
  Pool<Id> to;
  for (const Id variable : list.variables) to.push(graph.variable_records.items[variable].value);
  const Pool<Id> result = gradients_of(graph, from, weights, to);
  Gradients gradients{&of, {}};
  for (int i = 0; i < result.size(); ++i) {
    if (result[i] != none) {
      gradients.items.push(GradientRecord{list.variables[i], result[i]});
    } else if (strict) {
      fail_unreached(graph, to[i]);
    }
  }
  if (gradients.items.empty()) {
    fail_of_no_variable(graph, call, from[0], list, strict);
  }
  return gradients;
}

template <class Y>
inline constexpr bool all_scalar = false;
template <class... Y>
inline constexpr bool all_scalar<Ys<Y...>> = ((Y::rank == 0) && ...);
template <class Y, class DY>
inline constexpr bool like = false;
template <class... Y, class... DY>
  requires(sizeof...(Y) == sizeof...(DY))
inline constexpr bool like<Ys<Y...>, GradYs<DY...>> = ((Y::type == DY::type) && ...);
template <class... X>
inline constexpr bool all_floating = (is_real_floating<typename X::element> && ...);
/// What gradients can be taken for.
template <class... X>
inline constexpr bool all_differentiable =
    ((is_real_floating<typename X::element> || is_complex_number<typename X::element>) && ...);

}  // namespace detail

/// The gradients of a scalar for each x. For one x the result is an expression like x, for several
/// a tuple. It is a compile error, which names x, if y does not depend on x.
template <TypedExpr Y, TypedExpr... X>
constexpr auto gradients(const Y& y, const X&... x) {
  (void)sizeof(detail::requirement<
               "gradients(y, x): y must be a scalar; for other shapes give its gradient, "
               "gradients(y, grad_ys(dy), x)",
               (Y::rank == 0)>);
  static_assert(Y::rank == 0,
                "gradients(y, x): y must be a scalar; for other shapes give its gradient, "
                "gradients(y, grad_ys(dy), x)");
  static_assert(detail::all_floating<Y> && detail::all_differentiable<X...>,
                "gradients(y, x): y and x must be floating-point");
  return detail::gradients_typed<false>(ys(y), grad_ys(), x...);
}
/// The same for the sum of several scalars.
template <TypedExpr... Y, TypedExpr... X>
constexpr auto gradients(const Ys<Y...>& y, const X&... x) {
  static_assert(detail::all_scalar<Ys<Y...>>,
                "gradients(ys(y...), x): the ys must be scalars; for other shapes give their "
                "gradients, gradients(ys(y...), grad_ys(dy...), x)");
  static_assert(detail::all_floating<Y..., X...>,
                "gradients(ys(y...), x): the ys and x must be floating-point");
  return detail::gradients_typed<false>(y, grad_ys(), x...);
}
/// The same for a y of any shape, whose own gradient is given.
template <TypedExpr Y, class... DY, TypedExpr... X>
constexpr auto gradients(const Y& y, const GradYs<DY...>& dy, const X&... x) {
  static_assert(detail::like<Ys<Y>, GradYs<DY...>>,
                "gradients(y, grad_ys(dy), x): dy must have the element type and shape of y");
  return detail::gradients_typed<false>(ys(y), dy, x...);
}
template <TypedExpr... Y, class... DY, TypedExpr... X>
constexpr auto gradients(const Ys<Y...>& y, const GradYs<DY...>& dy, const X&... x) {
  static_assert(detail::like<Ys<Y...>, GradYs<DY...>>,
                "gradients(ys(y...), grad_ys(dy...), x): as many dys are needed as ys, each with "
                "the element type and shape of its y");
  return detail::gradients_typed<false>(y, dy, x...);
}
/// The gradients of a scalar; zeros for an x on which it does not depend.
template <TypedExpr Y, TypedExpr... X>
constexpr auto gradients_or_zero(const Y& y, const X&... x) {
  static_assert(Y::rank == 0, "gradients_or_zero(y, x): y must be a scalar");
  static_assert(detail::all_floating<Y, X...>,
                "gradients_or_zero(y, x): y and x must be floating-point");
  return detail::gradients_typed<true>(ys(y), grad_ys(), x...);
}

/// The gradients of a scalar for a list of variables. It is a compile error, which names the
/// variable, if the scalar does not depend on one of them.
template <TypedExpr Y>
constexpr auto gradients(const Y& y, const VariableList& list) {  // Gradients
  (void)sizeof(detail::requirement<"gradients(y, variables): y must be a scalar", (Y::rank == 0)>);
  static_assert(Y::rank == 0, "gradients(y, variables): y must be a scalar");
  return detail::gradients_of_list("gradients(y, variables)", ys(y), grad_ys(), list, true);
}
/// The gradients of a scalar for the trainable variables on which it depends.
template <TypedExpr Y>
constexpr auto gradients(const Y& y) {  // Gradients
  (void)sizeof(detail::requirement<"gradients(y): y must be a scalar", (Y::rank == 0)>);
  static_assert(Y::rank == 0, "gradients(y): y must be a scalar");
  return detail::gradients_of_list("gradients(y)", ys(y), grad_ys(), y.graph().trainable(), false);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
