// SPDX-License-Identifier: Apache-2.0

// What runs do besides computing: assignments, updates of slices, reads of present values, groups,
// and optimisers' steps.

#include "builder.hpp"

namespace fuzz {

namespace {

using tf::Domain;
namespace ops = tf::ops;

Id pick_variable(Builder& b) {
  if (b.variables.empty() || b.random.chance(0.1)) {
    b.variable(b.type(), Builder::fixed(b.shape()));
  }
  return b
      .variables[static_cast<std::size_t>(b.random.below(static_cast<int>(b.variables.size())))];
}
Id pick_token(Builder& b) {
  const int count = static_cast<int>(b.tokens.size());
  return b
      .tokens[static_cast<std::size_t>(b.random.chance(0.5) ? count - 1 : b.random.below(count))];
}

/// A tensor that can be assigned to a variable.
AnyExpr pick_value(Builder& b, const tf::Type& type) {
  const AnyExpr x = b.pick_if([&](const AnyExpr& e) {
    return e.dtype() == type.dtype && (b.wild() || b.bound(e) <= b.variable_bound()) &&
           tf::broadcast(e.dims(), type.dims) == type.dims;
  });
  return x.exists() ? x
                    : b.fresh(type.dtype, b.random.chance(0.5) ? type.dims : b.narrower(type.dims));
}

/// A token gets a name, or goes into a group later; users may also want the value that it assigned.
void finish(Builder& b, Id token, const AnyExpr& value) {
  if (b.random.chance(0.8)) {
    b.name_effect(token);
  } else {
    b.tokens.push_back(token);
  }
  if (b.random.chance(0.35)) b.keep(tf::detail::after_node(value, token), b.variable_bound());
}

void add_assign(Builder& b) {
  const Id v = pick_variable(b);
  const tf::Type type = b.g.type_of(v);
  const AnyExpr x = tf::broadcast_to(pick_value(b, type), type.dims);
  finish(b, tf::detail::assign_node(b.g, v, x.id), x);
}

/// v := v op x, of its present value or of that at the start of the run.
void add_assign_op(Builder& b) {
  const Id v = pick_variable(b);
  const tf::Type type = b.g.type_of(v);
  if (!contains(Domain::real, type.dtype)) return;
  const AnyExpr x = tf::broadcast_to(pick_value(b, type), type.dims);
  const AnyExpr now = b.random.chance(0.7) ? add_node(b.g, ops::Read{}, &v, 1, type) : b.any(v);
  AnyExpr next = maximum(now, x);
  const bool grows = tf::is_integer(type.dtype) || !b.exact();
  if (grows && b.random.chance(0.7)) {
    switch (b.random.below(3)) {
      case 0:
        next = now + x;
        break;
      case 1:
        next = now - x;
        break;
      default:
        next = now * x;
        break;
    }
    if (b.smooth() && tf::is_floating(type.dtype)) next = tanh(next);
  }
  finish(b, tf::detail::assign_node(b.g, v, next.id), next);
}

void add_scatter(Builder& b) {
  const Id v = pick_variable(b);
  const tf::Type type = b.g.type_of(v);
  if (type.dims.rank == 0 || type.dims[0] == 0) return;
  const AnyExpr ids = b.positions(Dims{1, {1 + b.random.below(3)}}, type.dims[0]);
  Dims rows = type.dims;
  rows.extent[0] = ids.dims()[0];
  AnyExpr x = tf::broadcast_to(pick_value(b, tf::Type(type.dtype, rows)), rows);
  Id token = tf::none;
  const bool numbers = contains(Domain::numbers, type.dtype);
  const int kind = numbers && (!b.exact() || tf::is_integer(type.dtype)) ? b.random.below(4) : 3;
  if (b.smooth() && kind != 3 && tf::is_floating(type.dtype)) x = x * 0.25;
  switch (kind) {
    case 0:
      token =
          tf::detail::scatter_node<ops::ScatterAdd>(b.any(v), ids, x, tf::Indexing::scatter_add);
      break;
    case 1:
      token =
          tf::detail::scatter_node<ops::ScatterSub>(b.any(v), ids, x, tf::Indexing::scatter_sub);
      break;
    case 2:
      token =
          tf::detail::scatter_node<ops::ScatterMul>(b.any(v), ids, x, tf::Indexing::scatter_mul);
      break;
    default:
      token = tf::detail::scatter_node<ops::ScatterUpdate>(b.any(v), ids, x,
                                                           tf::Indexing::scatter_update);
      break;
  }
  b.name_effect(token);
}

void add_assign_slice(Builder& b) {
  const Id v = pick_variable(b);
  const tf::Type type = b.g.type_of(v);
  if (type.dims.rank == 0 || type.dims[0] == 0) return;
  const tf::AxisSlice slices[] = {
      b.random.chance(0.5) ? tf::AxisSlice(0) : tf::from(0, 1 + b.random.below(2)), tf::ellipsis};
  const tf::detail::SlicePlan plan = tf::detail::plan_slice(type.dims, slices, 2);
  const AnyExpr x = tf::broadcast_to(pick_value(b, tf::Type(type.dtype, plan.result)), plan.result);
  b.name_effect(tf::detail::assign_slice_node(b.g, v, plan, x));
}

void add_read(Builder& b) {
  const Id v = pick_variable(b);
  const AnyExpr now = add_node(b.g, ops::Read{}, &v, 1, b.g.type_of(v));
  if (!b.tokens.empty() && b.random.chance(0.4)) {
    const Id token = pick_token(b);
    b.g.nodes[b.g.values[now.id].node].controls = b.g.append(&token, 1);
  }
  b.keep(now, b.variable_bound());
}

void add_after(Builder& b) {
  if (b.tokens.empty()) return;
  const AnyExpr x = b.pick();
  b.keep(tf::detail::after_node(x, pick_token(b)), {x});
}

void add_group(Builder& b) {
  if (b.tokens.size() < 2) return;
  const Id both[] = {pick_token(b), pick_token(b)};
  b.name_effect(tf::detail::group_node(b.model.graph, both, 2).token());
}

const Maker makers[] = {
    {4, true, true, add_assign},       {4, true, true, add_assign_op}, {3, true, true, add_scatter},
    {1, true, true, add_assign_slice}, {3, true, true, add_read},      {1, true, true, add_after},
    {2, true, true, add_group},
};

}  // namespace

std::span<const Maker> effect_makers() { return makers; }

void add_training(Builder& b) {
  const tf::ir::Graph before = b.g;
  const std::size_t names = b.model.tensors.size();
  try {
    const AnyExpr x = b.pick_if([&](const AnyExpr& e) { return tf::is_floating(e.dtype()); });
    if (!x.exists()) return;
    const AnyExpr loss =
        tf::reduce<ops::Sum>(b.smooth() ? tanh(x) : x, tf::detail::all_axes(x.dims().rank), false);
    tf::Pool<Id> from, weights, to;
    from.push(loss.id);
    weights.push(tf::none);
    for (const Id v : b.variables) {
      if (tf::is_floating(b.g.dtype_of(v))) to.push(v);
    }
    const tf::Pool<Id> gradients = tf::detail::gradients_of(b.g, from, weights, to);
    tf::Gradients list{&b.model.graph, {}};
    for (int i = 0; i < to.size(); ++i) {
      if (gradients[i] == tf::none) continue;
      if (b.random.chance(0.5)) b.name_tensor(b.any(gradients[i]));
      const tf::Id index = static_cast<Id>(b.g.words_of(b.g.node_of(to[i]))[0]);
      list.items.push({index, gradients[i]});
    }
    if (list.items.empty()) return;
    const Id token = tf::GradientDescent{.rate = 0.0625}.apply(list).token();
    b.name_effect(token);
    b.name_tensor(loss);
  } catch (const tf::Error&) {  // an operation on the way has no gradient
    b.g = before;
    b.model.tensors.resize(names);
  }
}

}  // namespace fuzz
