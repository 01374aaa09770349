// SPDX-License-Identifier: Apache-2.0
#pragma once

// What optimisers share. An optimiser says what a step makes of one variable and of what it keeps
// beside it, its slots:
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
// The same words are the dense and the sparse step. Of a gradient that is zero but for slices, that
// of a table of embeddings, `v` and its slots are the rows that were read, and dv is theirs, what a
// row has been read for several times added up. Where a step must reach all rows, as Adam's does,
// the optimiser says so: constexpr bool every_row() const.

#include <concepts>
#include <vector>

#include "typeflow/front/gradients.hpp"
#include "typeflow/front/scope.hpp"
#include "typeflow/ops/index/scatter.hpp"
#include "typeflow/ops/index/segments.hpp"
#include "typeflow/ops/index/unique.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// The rows of a sparse gradient. Either `indices` (n) and for each of them in `values` (n,R...)
/// the sum of all values of its index; or, where the numbers of indices can't be added up while the
/// model is traced, those of a batch and 5, the dense gradient and in `touched` (N,1...) which rows
/// it is of.
struct SummedRows {
  AnyExpr values;
  AnyExpr indices{};
  AnyExpr touched{};
  Indexing indexing = Indexing::gather;
};

/// Which rows of a gradient (N,R...) its slices have: bool (N,1...).
constexpr AnyExpr touched_rows(const UntypedExpr auto& gradient, const Pool<Slices>& slices) {
  ir::Graph& graph = *gradient.graph;
  Dims rows = gradient.dims();
  const Extent extent = rows.extent[0];
  for (int i = 1; i < rows.rank; ++i) rows.extent[i] = 1;
  AnyExpr count{};
  for (const Slices& s : slices) {
    const AnyExpr indices{&graph, s.indices};
    const AnyExpr here = scatter_sum_node(indices, int32_ones(indices), extent, 0, 0, s.indexing);
    count = count.exists() ? count + here : here;
  }
  return reshape_to(greater(count, 0), rows);
}

/// The slices of a gradient as one list of rows (n) and (n,R...); no indices where they can't be.
/// (X for AnyExpr: clang instantiates what is called here when it is used, not where it is read.)
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

/// A variable, or a slot, in an optimiser's step: all of it, or the rows that a sparse gradient
/// has. 16-bit numbers are computed with, and their slots kept, as float.
class Rows {
 public:
  /// All rows. `owner` is the optimiser's name.
  constexpr Rows(const AnyVariable& variable, const Label& owner)
      : variable_(variable), owner_(owner) {}
  /// Those of a sparse gradient.
  constexpr Rows(const AnyVariable& variable, const Label& owner, const detail::SummedRows& rows)
      : Rows(variable, owner) {
    rows_ = rows;
  }

  constexpr const AnyVariable& variable() const { return variable_; }
  /// What the step computes in.
  constexpr DType dtype() const {
    const DType type = variable_.dtype();
    return is_half_precision(type) ? DType::float32 : type;
  }

  /// The rows as they are at this point of the model's statements.
  constexpr AnyExpr read() const {
    ir::Graph& graph = variable_.graph();
    AnyExpr now = detail::present_value(graph, variable_.id());
    if (rows_.indices.exists()) {
      now = detail::gather_node(now, rows_.indices, 0, 0, rows_.indexing);
    }
    return cast_to(now, dtype());
  }

  /// The same rows of a variable of this shape that the optimiser keeps: fc/W/<owner>/<name>. It is
  /// not trained, and saved with the model.
  constexpr Rows slot(Label name, Initializer initializer = zeros) const {
    Rows slot = *this;
    slot.variable_ = make_slot(name, Type(dtype(), variable_.dims()), initializer);
    return slot;
  }
  /// A number that the optimiser keeps for all its variables, a double, below the first one's path.
  constexpr AnyVariable number(Label name, Initializer initializer = zeros) const {
    return make_slot(name, Type(DType::float64, {}), initializer);
  }

  /// A setting, or another scalar, to compute with.
  constexpr AnyExpr setting(const Scalar& scalar) const {
    return typeflow::setting(variable_.graph(), scalar, dtype());
  }
  constexpr AnyExpr setting(const AnyExpr& scalar) const { return cast_to(scalar, dtype()); }
  /// 1 - setting: of a number as precise as a double is.
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
    const Scope below(g, variable_);
    const Scope own(g, owner_, {.reuse = Reuse::create});
    if (const Id taken = graph.find_name(graph.path_hash(graph.scope, name, true)); taken != none) {
      Message message{};
      message << "'" << graph.text_of(graph.names[taken]).view()
              << "' is there already: two optimisers of the variable '" << variable_.name().view()
              << "' need different names, {.name = \"...\"}";
      graph.fail(message);
      return variable_;
    }
    return typeflow::variable(g, name, type, initializer, false);
  }

  AnyVariable variable_;
  Label owner_;
  detail::SummedRows rows_{};
};

/// rows := x, of which the variable's other rows keep their values. x has the shape of the rows.
constexpr Effect assign(const Rows& rows, const UntypedExpr auto& x) { return rows.set(x); }

namespace detail {
/// The token of an optimiser's step of one variable.
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

/// The effect of an optimiser's step for each of these gradients. It changes variables and slots as
/// they are at this point of the model's statements, by gradients at their values when the run
/// starts. Slots of a name that is taken are an error of the model.
///
/// The step of a variable is optimizer.step(v, dv). Of an optimiser with begin(v), which is called
/// once, with the first of the variables, it is optimizer.step(v, dv, x) with the x that this
/// gives; x.effect is a part of the step, too.
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

/// The optimiser's step for these gradients, together with the updates that layers registered
/// (batch norm's moving averages): minimize(optimizer, gradients(loss)). An optimiser has `step`,
/// or as one that does all by itself, apply(gradients).
template <class Optimizer>
constexpr Effect minimize(const Optimizer& optimizer, const Gradients& gradients) {
  Effect step;
  if constexpr (requires { optimizer.apply(gradients); }) {
    step = optimizer.apply(gradients);
  } else {
    step = apply_gradients(optimizer, gradients);
  }
  const ir::Graph& graph = *gradients.graph;
  for (const Id token : graph.update_tokens) step += Effect(*gradients.graph, token);
  return step;
}
namespace detail {
/// Whether what is to be minimised is a scalar. Optimisers' own minimize ask it too: what the
/// compiler says then begins with the caller's line.
template <class L, class... More>
inline constexpr bool is_scalar_loss = requires { requires L::rank == 0; };
}  // namespace detail

/// One step down the gradient of a scalar loss, for all trainable variables that it depends on.
template <class Optimizer, TypedExpr L>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss) {
  static_assert(L::rank == 0, "minimize(loss): the loss must be a scalar; take mean(loss)");
  return minimize(optimizer,
                  detail::gradients_of_list(ys(loss), grad_ys(), loss.graph().trainable(), false));
}
/// The same for a list of variables: minimize(optimizer, loss, g.trainable("online")).
template <class Optimizer, TypedExpr L>
constexpr Effect minimize(const Optimizer& optimizer, const L& loss,
                          const VariableList& variables) {
  static_assert(L::rank == 0, "minimize(loss): the loss must be a scalar; take mean(loss)");
  return minimize(optimizer, detail::gradients_of_list(ys(loss), grad_ys(), variables, true));
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

}  // namespace typeflow::inline TYPEFLOW_TARGET
