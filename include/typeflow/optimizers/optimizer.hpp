// SPDX-License-Identifier: Apache-2.0
#pragma once

// The common parts of optimisers. An optimiser defines the step of one variable and of its slots,
// the values that it keeps beside the variable:
//
//   struct Momentum {
//     tf::Scalar rate = 0.01, momentum = 0.9;
//     tf::Label name = "momentum";                            // slots are W/momentum/...
//
//     constexpr tf::Effect step(const auto& v, const auto& dv) const {  // tf::Rows, tf::AnyExpr
//       const auto m = v.slot("m");
//       const auto sum = v.setting(momentum) * m.read() + dv;
//       return assign(m, sum) + assign(v, v.read() - v.setting(rate) * sum);
//     }
//   };
//   minimize(Momentum{.rate = 0.1}, loss).named("train");
//
// One definition serves dense and sparse gradients. For a sparse gradient, such as that of an
// embedding table, `v` and its slots are the rows that were read, and dv is their gradient; slices
// of the same row are added first. An optimiser whose step must reach all rows, as Adam's, says so:
// constexpr bool every_row() const.

#include <concepts>
#include <vector>

#include "typeflow/front/gradients.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/index/scatter.hpp"
#include "typeflow/ops/index/segments.hpp"
#include "typeflow/ops/index/unique.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The rows of a sparse gradient, in one of two forms. With `indices` (n), `values` (n,R...) has
/// for each index the sum of all its slices. Without, `values` is the dense gradient, and `touched`
/// (N,1...) says which rows have slices: the slices are no list of a length that is an extent, as
/// batch + 5.
struct SummedRows {
  AnyExpr values;
  AnyExpr indices{};
  AnyExpr touched{};
  Indexing indexing = Indexing::gather;
};

/// Which rows of a gradient (N,R...) have slices: bool (N,1...).
constexpr AnyExpr touched_rows(const UntypedExpr auto& gradient, const Pool<Slices>& slices) {
  ir::Graph& graph = *gradient.graph;
  Dims rows = gradient.dims();
  const Extent extent = rows.extent[0];
  for (int i = 1; i < rows.rank; ++i) rows.extent[i] = 1;
  std::remove_cvref_t<decltype(gradient)> count{};
  for (const Slices& s : slices) {
    const AnyExpr indices{&graph, s.indices};
    const AnyExpr here = scatter_sum_node(indices, int32_ones(indices), extent, 0, 0, s.indexing);
    count = count.exists() ? count + here : here;
  }
  return reshape_to(greater(count, 0), rows);
}

/// The slices of a gradient as one list of rows, (n) and (n,R...); without indices if that is
/// impossible. (X instead of AnyExpr: clang then instantiates the calls at their use, not here.)
template <UntypedExpr X>
constexpr SummedRows listed_rows(const X& gradient, const Pool<Slices>& slices) {
  ir::Graph& graph = *gradient.graph;
  std::vector<X> indices;
  std::vector<X> values;
  Extent count = 0;
  for (const Slices& s : slices) {
    const X index{&graph, s.indices};
    const X value{&graph, s.values};
    const Dims flat = flattened(index.dims(), index.dims().rank);
    const Dims rows = flattened(value.dims(), index.dims().rank);
    count = flat.valid() && rows.valid() ? typeflow::sum_of(count, flat.extent[0]) : no_extent;
    if (count == no_extent) return {gradient};
    indices.push_back(reshape_to(cast_to(index, DType::int64), flat));
    values.push_back(reshape_to(value, rows));
  }
  if (slices.size() == 1) return {values[0], indices[0], {}, slices[0].indexing};
  return {concat_to(values, 0), concat_to(indices, 0), {}, slices[0].indexing};
}

template <UntypedExpr X>
constexpr SummedRows summed_rows(const X& gradient, const Pool<Slices>& slices) {
  SummedRows rows = listed_rows(gradient, slices);
  if (!rows.indices.exists()) return {gradient, {}, touched_rows(gradient, slices)};
  const X indices = rows.indices;
  const X values = rows.values;
  const Extent count = indices.dims().extent[0];
  const X group = unique(indices, count)[1];
  const X sums = unsorted_segment_sum(values, group, count);
  rows.values = gather(sums, group, 0, 0);
  return rows;
}

}  // namespace detail

/// A variable or a slot in an optimiser's step: all of it, or the rows of a sparse gradient. 16-bit
/// variables are computed in float, and their slots are float.
class Rows {
 public:
  /// All rows. `owner` is the optimiser's name.
  constexpr Rows(const AnyVariable& variable, const Label& owner)
      : variable_(variable), owner_(owner) {}
  /// The rows of a sparse gradient.
  constexpr Rows(const AnyVariable& variable, const Label& owner, const detail::SummedRows& rows)
      : Rows(variable, owner) {
    rows_ = rows;
  }

  constexpr const AnyVariable& variable() const { return variable_; }
  /// The element type in which the step computes.
  constexpr DType dtype() const {
    const DType type = variable_.dtype();
    return is_half_precision(type) ? DType::float32 : type;
  }

  /// The rows at this point of the model's statements.
  constexpr AnyExpr read() const {
    ir::Graph& graph = variable_.graph();
    AnyExpr now = detail::present_value(graph, variable_.id());
    if (rows_.indices.exists()) {
      now = detail::gather_node(now, rows_.indices, 0, 0, rows_.indexing);
    }
    return cast_to(now, dtype());
  }

  /// The same rows of a slot, a variable of this shape that the optimiser keeps:
  /// fc/W/<owner>/<name>. It is not trained, and is saved with the model. A second step in a scope
  /// that reuses variables (Reuse::reuse) has the same slots.
  constexpr Rows slot(Label name, Initializer initializer = zeros()) const {
    Rows slot = *this;
    slot.variable_ = make_slot(name, Type(dtype(), variable_.dims()), initializer);
    return slot;
  }
  /// A double that the optimiser keeps for all of its variables, below the path of the first one.
  constexpr AnyVariable number(Label name, Initializer initializer = zeros()) const {
    return make_slot(name, Type(DType::float64, {}), initializer);
  }

  /// A setting, or another scalar, in the element type of the step.
  constexpr AnyExpr setting(const Scalar& scalar) const {
    return typeflow::setting(variable_.graph(), scalar, dtype());
  }
  constexpr AnyExpr setting(const AnyExpr& scalar) const { return cast_to(scalar, dtype()); }
  /// 1 - setting; computed in double if the setting is a number.
  constexpr AnyExpr one_minus(const std::same_as<Scalar> auto& scalar) const {
    if (scalar.is_expression()) return 1 - setting(scalar);
    return setting(Scalar(1 - scalar.value()));
  }

  /// See assign.
  constexpr Effect set(const UntypedExpr auto& value) const {
    Graph& graph = variable_.graph();
    const auto x = cast_to(value, variable_.dtype());
    if (rows_.indices.exists()) {
      return {graph, detail::scatter_node<ops::ScatterUpdate>(variable_.any(), rows_.indices, x,
                                                              rows_.indexing)};
    }
    if (!rows_.touched.exists()) {
      return {graph, detail::assign_node(graph, variable_.id(), x.id)};
    }
    const AnyExpr now = detail::present_value(graph, variable_.id());
    return {graph, detail::assign_node(graph, variable_.id(), where(rows_.touched, x, now).id)};
  }

 private:
  /// A variable below this one's path and the optimiser's name.
  constexpr AnyVariable make_slot(const Label& name, const Type& type,
                                  const Initializer& initializer) const {
    Graph& g = variable_.graph();
    ir::Graph& graph = g;
    const bool share = graph.scopes[graph.scope].reuse == Reuse::reuse;
    const Scope below(g, variable_);
    const Scope own(g, owner_, {.reuse = share ? Reuse::reuse_or_create : Reuse::create});
    if (const Id taken = graph.find_name(graph.path_hash(graph.scope, name, true));
        taken != none && !share) {
      Message message{};
      message << "'" << graph.text_of(graph.names[taken]).view()
              << "' is there already: two optimisers of the variable '" << variable_.name().view()
              << "' need different names, {.name = \"...\"}";
      graph.fail(message);
      return variable_;
    }
    const Device device = graph.device;
    const ir::DeviceTurn turn = graph.variable_turn;
    graph.device = graph.node_of(variable_.id()).device;  // beside the variable
    graph.variable_turn = {};
    const AnyVariable slot = typeflow::variable(g, name, type, initializer, false);
    graph.device = device;
    graph.variable_turn = turn;
    return slot;
  }

  AnyVariable variable_;
  Label owner_;
  detail::SummedRows rows_{};
};

/// rows := x; other rows of the variable keep their values. x has the shape of the rows.
constexpr Effect assign(const Rows& rows, const UntypedExpr auto& x) { return rows.set(x); }

namespace detail {
/// The token of an optimiser's step for one variable.
template <class Optimizer, UntypedExpr X, class... Begun>
constexpr Id step_of(const Optimizer& optimizer, const AnyVariable& variable, const X& gradient,
                     const Begun&... begun) {
  const Rows all(variable, optimizer.name);
  const X dv = map_values(gradient, [&](const X& x) { return cast_to(x, all.dtype()); });
  bool every_row = false;
  if constexpr (requires { optimizer.every_row(); }) every_row = optimizer.every_row();
  Pool<Slices> slices;  // no conditional expression: g++ 12 ends its result's life too early
  if (!every_row) slices = slices_of(dv);
  if (slices.empty()) return optimizer.step(all, dv, begun...).token();
  const SummedRows summed = summed_rows(dv, slices);
  return optimizer.step(Rows(variable, optimizer.name, summed), summed.values, begun...).token();
}
}  // namespace detail

/// The effect of an optimiser's step for these gradients, without the updates that layers
/// registered (see minimize). It changes variables and slots at this point of the model's
/// statements, by gradients at their values at the start of the run. A slot name that is taken is
/// an error of the model.
///
/// It calls optimizer.step(v, dv) for each variable. If the optimiser has begin(v), that is called
/// once, with the first variable, and each step gets its result: optimizer.step(v, dv, x). x.effect
/// is part of the effect, too.
template <class Optimizer>
constexpr Effect apply_gradients(const Optimizer& optimizer, const Gradients& gradients) {
  if (gradients.size() == 0) {  // a mistake that is recorded already; the effect can have a name
    return gradients.graph == nullptr ? Effect() : detail::group_node(*gradients.graph, nullptr, 0);
  }
  Pool<Id> tokens;
  if constexpr (requires(const Rows& first) { optimizer.begin(first); }) {
    const auto begun = optimizer.begin(Rows(gradients[0].variable, optimizer.name));
    tokens.push(begun.effect.token());
    for (const auto& [variable, gradient] : gradients) {
      tokens.push(detail::step_of(optimizer, variable, gradient, begun));
    }
  } else {
    for (const auto& [variable, gradient] : gradients) {
      tokens.push(detail::step_of(optimizer, variable, gradient));
    }
  }
  return detail::group_node(*gradients.graph, tokens.data(), tokens.size());
}

namespace detail {

/// `step` and the updates that layers have registered so far, in one group. Returns `step` itself
/// if it has them, or if other runs computed the gradients (Gradients::updated).
constexpr Effect with_updates(const Effect& step, const Gradients& gradients) {
  if (step.empty() || gradients.updated) return step;
  const ir::Graph& graph = *gradients.graph;
  if (graph.update_tokens.empty()) return step;
  const ir::Node& node = graph.nodes[graph.values[step.token()].node];
  const Id last = graph.update_tokens[graph.update_tokens.size() - 1];
  for (int i = 0; i < node.inputs.count; ++i) {
    if (graph.input(node, i) == last) return step;
  }
  Pool<Id> tokens;
  tokens.push(step.token());
  for (const Id token : graph.update_tokens) tokens.push(token);
  return group_node(*gradients.graph, tokens.data(), tokens.size());
}
/// The library's optimisers' apply(gradients).
template <class Optimizer>
constexpr Effect apply_with_updates(const Optimizer& optimizer, const Gradients& gradients) {
  return with_updates(apply_gradients(optimizer, gradients), gradients);
}

}  // namespace detail

/// The optimiser's step for these gradients, together with the updates that layers registered
/// (batch norm's moving averages): minimize(optimizer, gradients(loss)). The optimiser has `step`,
/// or apply(gradients) if it does everything itself.
///
/// If a run has several steps, as for two nets, each update happens once.
template <class Optimizer>
constexpr Effect minimize(const Optimizer& optimizer, const Gradients& gradients) {
  Effect step;
  if constexpr (requires { optimizer.apply(gradients); }) {
    step = optimizer.apply(gradients);
  } else {
    step = apply_gradients(optimizer, gradients);
  }
  return detail::with_updates(step, gradients);
}
namespace detail {
template <class L>
concept ScalarLoss = requires { requires L::rank == 0; };
/// Whether what is to be minimised is a scalar. Optimisers' own minimize ask it too: what the
/// compiler says then begins with the caller's line.
template <class L, class... More>
inline constexpr bool is_scalar_loss =
    sizeof(
        requirement<"minimize(loss): the loss must be a scalar; take mean(loss)", ScalarLoss<L>>) >
        0 &&
    ScalarLoss<L>;
}  // namespace detail

/// One step down the gradient of a scalar loss, for all trainable variables that it depends on.
template <class Optimizer, TypedExpr L>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss) {
  static_assert(detail::is_scalar_loss<L>,
                "minimize(loss): the loss must be a scalar; take mean(loss)");
  return minimize(optimizer, detail::gradients_of_list("minimize(loss)", ys(loss), grad_ys(),
                                                       loss.graph().trainable(), false));
}
/// The same for a list of variables: minimize(optimizer, loss, g.trainable("online")).
template <class Optimizer, TypedExpr L>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss,
                          const VariableList& variables) {
  static_assert(detail::is_scalar_loss<L>,
                "minimize(loss): the loss must be a scalar; take mean(loss)");
  return minimize(optimizer, detail::gradients_of_list("minimize(loss, variables)", ys(loss),
                                                       grad_ys(), variables, true));
}
/// The same, and step := step + 1: minimize(optimizer, loss, global_step(g)).
template <class Optimizer, TypedExpr L, Element T>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss, const Variable<T>& step) {
  return minimize(optimizer, loss) + assign_add(step, 1);
}
template <class Optimizer, TypedExpr L, Element T>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss, const VariableList& variables,
                          const Variable<T>& step) {
  return minimize(optimizer, loss, variables) + assign_add(step, 1);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
