// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random models, made at run time from a seed, with everything that a run of them needs.
//
// Two kinds, so that results can be compared in spite of rounding:
//
//   exact   whole numbers so small that no operation rounds, of all element types; any order of
//           computing gives the same numbers, so comparisons, casts and argmax are safe to use
//   smooth  float and double, continuous functions only, gradients and descent steps; results
//           agree to a tolerance
//
// Both have a batch, variables that are read and assigned, several named outputs and effects.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host_tensors.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/graph/interpret.hpp"

namespace test {

struct RandomModel {
  tf::Graph graph;
  tf::HostTensors feeds;
  tf::HostTensors variables;
  std::vector<std::string> outputs;  ///< tensors
  std::vector<std::string> effects;
  bool exact = true;

  /// Values and tokens of everything that has a name.
  tf::Pool<tf::Id> roots() const {
    tf::Pool<tf::Id> ids;
    for (const tf::Name& name : graph.names) {
      if (name.kind != tf::NameKind::key) ids.push(name.value);
    }
    return ids;
  }
};

struct RandomModelOptions {
  int operations = 30;
  bool exact = true;
  bool effects = true;
  bool random = true;  ///< operations that draw random numbers
};

namespace detail {

class ModelMaker {
 public:
  ModelMaker(std::uint64_t seed, const RandomModelOptions& options)
      : random_(seed), options_(options), g_(model_.graph) {
    model_.exact = options.exact;
  }

  RandomModel make() {
    make_shapes();
    make_sources();
    while (made_ < options_.operations) {
      const int before = g_.nodes.size();
      add_operation();
      made_ += g_.nodes.size() > before;
      if (options_.effects && random_.chance(0.08)) add_effect();
    }
    if (!options_.exact) add_training();
    name_outputs();
    return std::move(model_);
  }

 private:
  /// A tensor of the model, and a bound of its elements' absolute values.
  struct Item {
    tf::Id id;
    double bound;
  };

  // Shapes.

  void make_shapes() {
    const std::vector<tf::Extent> lengths{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};
    const auto length = [&] { return lengths[static_cast<std::size_t>(random_.below(11))]; };
    batch_ = lengths[static_cast<std::size_t>(random_.below(9))];
    base_.rank = 1 + random_.below(4);
    std::int64_t size = 1;
    for (int i = 0; i < base_.rank; ++i) {
      base_.extent[i] = size > 200 ? 1 + random_.below(3) : length();
      size *= base_.extent[i];
    }
    if (random_.chance(0.5)) base_.extent[0] = random_.chance(0.8) ? -1 : -2;
  }
  /// A shape that broadcasts to the model's base shape; without a batch, if so asked.
  tf::Dims shape(bool fixed) {
    tf::Dims out{};
    const int first = random_.chance(0.6) ? 0 : random_.below(base_.rank + 1);
    for (int i = first; i < base_.rank; ++i) {
      const bool one = random_.chance(0.2) || (fixed && base_.extent[i] < 0);
      out.append(one ? 1 : base_.extent[i]);
    }
    return out;
  }

  // Sources.

  double bound() const { return options_.exact ? 4 : 1.5; }
  tf::DType type() {
    if (!options_.exact) return width_;
    constexpr tf::DType types[] = {tf::DType::float32, tf::DType::float64, tf::DType::float32,
                                   tf::DType::int32, tf::DType::boolean};
    return types[random_.below(5)];
  }
  tf::HostTensor value(const tf::Type& type) {
    tf::HostTensor out = tf::host_tensor(type.dtype, tf::resolve(type.dims, batch_));
    for (std::int64_t i = 0; i < out.size(); ++i) {
      if (!options_.exact) {
        out.set(i, random_.uniform(-bound(), bound()));
      } else if (type.dtype == tf::DType::boolean) {
        out.set(i, random_.below(2));
      } else {
        out.set(i, random_.below(9) - 4);
      }
    }
    return out;
  }
  tf::AnyExpr any(tf::Id id) { return {&g_, id}; }
  void keep(const tf::AnyExpr& x, double limit) { items_.push_back({x.id, limit}); }

  void make_sources() {
    width_ = random_.chance(0.5) ? tf::DType::float32 : tf::DType::float64;
    const int placeholders = 2 + random_.below(3);
    for (int i = 0; i < placeholders; ++i) {
      const tf::Type t(type(), i == 0 ? base_ : shape(false));
      const tf::AnyExpr x = tf::add_node(g_, tf::ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, t);
      g_.add_name({"x", i}, tf::NameKind::placeholder, x.id);
      model_.feeds["x_" + std::to_string(i)] = value(t);
      keep(x, bound());
    }
    const int variables = 1 + random_.below(4);
    for (int i = 0; i < variables; ++i) {
      const tf::Type t(type(), shape(true));
      const tf::AnyExpr v = any(
          tf::detail::get_variable(g_, {"v", i}, t, tf::zeros, tf::is_floating(t.dtype), false));
      model_.variables["v_" + std::to_string(i)] = value(t);
      variables_.push_back(v.id);
      keep(v, bound());
    }
  }

  // Operations. Those that do not fit what they are given add nothing; there will be another.

  Item pick() {
    const int count = static_cast<int>(items_.size());
    // Late ones more often: deep graphs.
    const int from = random_.chance(0.7) ? std::max(0, count - 8) : 0;
    return items_[static_cast<std::size_t>(from + random_.below(count - from))];
  }
  tf::DType dtype(const Item& x) const { return g_.dtype_of(x.id); }
  const tf::Dims dims(const Item& x) const { return g_.dims_of(x.id); }
  std::int64_t size(const tf::Dims& d) const { return tf::count_of(d).resolve(batch_); }
  bool is_number(const Item& x) const { return tf::is_number(dtype(x)); }
  bool is_floating(const Item& x) const { return tf::is_floating(dtype(x)); }

  /// Another tensor of the same type whose shape broadcasts with that of x.
  bool pick_partner(const Item& x, Item& y) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      y = pick();
      if (dtype(y) != dtype(x)) continue;
      const tf::Dims together = tf::broadcast(dims(x), dims(y));
      if (together.valid() && size(together) <= 5000) return true;
    }
    y = x;
    return random_.chance(0.3);
  }
  bool fits(double limit) const { return limit <= (options_.exact ? 1e6 : 1e3); }

  void add_operation() {
    g_.source = {"random_graph.hpp", static_cast<int>(items_.size())};
    const Item x = pick();
    switch (random_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add_binary(x);
      case 4:
      case 5:
        return add_unary(x);
      case 6:
      case 7:
        return add_reduction(x);
      case 8:
        return add_shape(x);
      case 9:
        return options_.exact ? add_comparison(x) : add_composite(x);
      case 10:
        return add_matmul(x);
      default:
        return add_rare(x);
    }
  }

  void add_binary(const Item& x) {
    Item y{};
    if (!is_number(x) || !pick_partner(x, y)) return;
    const tf::AnyExpr a = any(x.id);
    const tf::AnyExpr b = any(y.id);
    const bool literal = random_.chance(0.15);
    switch (random_.below(6)) {
      case 0:
        if (!fits(x.bound + y.bound)) return;
        return literal ? keep(a + random_.below(3), x.bound + 2) : keep(a + b, x.bound + y.bound);
      case 1:
        if (!fits(x.bound + y.bound)) return;
        return literal ? keep(random_.below(3) - a, x.bound + 2) : keep(a - b, x.bound + y.bound);
      case 2:
      case 3:
        if (!fits(x.bound * std::max(2.0, y.bound))) return;
        return literal ? keep(a * random_.below(3), 2 * x.bound) : keep(a * b, x.bound * y.bound);
      case 4:
        if (options_.exact) {
          return random_.chance(0.5) ? keep(maximum(a, b), std::max(x.bound, y.bound))
                                     : keep(minimum(a, b), std::max(x.bound, y.bound));
        }
        return keep(a / (square(b) + 1), x.bound);
      default:
        if (dtype(x) != tf::DType::int32) return;
        return keep(a / b, x.bound);
    }
  }

  void add_unary(const Item& x) {
    const tf::AnyExpr a = any(x.id);
    if (options_.exact) {
      if (!is_number(x)) return keep(logical_not(a), 1);
      switch (random_.below(5)) {
        case 0:
          return keep(-a, x.bound);
        case 1:
          return keep(abs(a), x.bound);
        case 2:
          return keep(relu(a), x.bound);
        case 3:
          return fits(x.bound * x.bound) ? keep(square(a), x.bound * x.bound) : void();
        default:
          return keep(tf::cast_to(a, type_for_cast(x)), x.bound);
      }
    }
    switch (random_.below(9)) {
      case 0:
        return keep(-a, x.bound);
      case 1:
        return keep(abs(a), x.bound);
      case 2:
        return keep(relu(a), x.bound);
      case 3:
        return keep(tanh(a), 1);
      case 4:
        return keep(sigmoid(a), 1);
      case 5:
        return keep(softplus(a), x.bound + 1);
      case 6:
        return keep(sqrt(square(a) + 1), x.bound + 1);
      case 7:
        return keep(log(softplus(a) + 1), x.bound + 1);
      default:
        return keep(exp(tanh(a)), 3);
    }
  }
  tf::DType type_for_cast(const Item&) {
    constexpr tf::DType types[] = {tf::DType::float32, tf::DType::float64, tf::DType::int32,
                                   tf::DType::int64};
    return types[random_.below(4)];
  }

  void add_reduction(const Item& x) {
    const int rank = dims(x).rank;
    if (!is_number(x) || rank == 0) return;
    unsigned axes = static_cast<unsigned>(random_.below(1 << rank));
    if (axes == 0) axes = 1u << random_.below(rank);
    const bool kept = random_.chance(0.5);
    const tf::AnyExpr a = any(x.id);
    const double total = x.bound * static_cast<double>(size(dims(x)));
    switch (random_.below(options_.exact ? 4 : 3)) {
      case 0:
        return options_.exact ? keep(tf::reduce<tf::ops::Max>(a, axes, kept), x.bound)
                              : keep(tf::reduce<tf::ops::Mean>(a, axes, kept), x.bound);
      case 1:
        return options_.exact ? keep(tf::reduce<tf::ops::Min>(a, axes, kept), x.bound)
                              : keep(tf::reduce<tf::ops::Max>(a, axes, kept), x.bound);
      case 2:
        return fits(total) ? keep(tf::reduce<tf::ops::Sum>(a, axes, kept), total) : void();
      default: {
        const unsigned axis = 1u << random_.below(rank);
        if (size(dims(x)) == 0) return;
        return random_.chance(0.5) ? keep(tf::reduce<tf::ops::ArgMax>(a, axis, kept), 50)
                                   : keep(tf::reduce<tf::ops::ArgMin>(a, axis, kept), 50);
      }
    }
  }

  void add_shape(const Item& x) {
    const tf::Dims d = dims(x);
    const tf::AnyExpr a = any(x.id);
    switch (random_.below(4)) {
      case 0: {  // a permutation
        int permutation[tf::max_rank] = {};
        for (int i = 0; i < d.rank; ++i) permutation[i] = i;
        for (int i = d.rank - 1; i > 0; --i)
          std::swap(permutation[i], permutation[random_.below(i + 1)]);
        return keep(tf::transpose_to(a, permutation), x.bound);
      }
      case 1: {  // two adjacent axes as one
        if (d.rank < 2) return;
        const int at = random_.below(d.rank - 1);
        if (d.extent[at] < 0 && d.extent[at + 1] < 0) return;
        tf::Dims out{};
        for (int i = 0; i < d.rank; ++i) {
          if (i == at + 1) {
            out.extent[at] *= d.extent[i];
          } else {
            out.append(d.extent[i]);
          }
        }
        return keep(tf::reshape_to(a, out), x.bound);
      }
      case 2: {  // an axis of 1 more
        if (d.rank == tf::max_rank) return;
        tf::Dims out{};
        const int at = random_.below(d.rank + 1);
        for (int i = 0; i <= d.rank; ++i) {
          if (i == at) out.append(1);
          if (i < d.rank) out.append(d.extent[i]);
        }
        return keep(tf::reshape_to(a, out), x.bound);
      }
      default: {
        const tf::Dims out = tf::broadcast(d, base_);
        if (out.valid() && size(out) <= 5000) keep(tf::broadcast_to(a, out), x.bound);
      }
    }
  }

  void add_comparison(const Item& x) {
    Item y{};
    if (!pick_partner(x, y)) return;
    const tf::AnyExpr a = any(x.id);
    const tf::AnyExpr b = any(y.id);
    if (!is_number(x)) {
      return random_.chance(0.5) ? keep(logical_and(a, b), 1) : keep(logical_or(a, b), 1);
    }
    tf::AnyExpr condition;
    switch (random_.below(4)) {
      case 0:
        condition = equal(a, b);
        break;
      case 1:
        condition = less(a, b);
        break;
      case 2:
        condition = greater_equal(a, 1);
        break;
      default:
        condition = not_equal(a, b);
        break;
    }
    keep(condition, 1);
    if (random_.chance(0.5)) keep(where(condition, a, b), std::max(x.bound, y.bound));
    if (random_.chance(0.3)) keep(tf::cast_to(condition, type_for_cast(x)), 1);
  }

  void add_composite(const Item& x) {
    const tf::Dims d = dims(x);
    if (d.rank == 0) return;
    const unsigned axis = static_cast<unsigned>(random_.below(d.rank));
    const tf::AnyExpr a = any(x.id);
    switch (random_.below(3)) {
      case 0:
        return keep(tf::softmax_along(a, axis), 1);
      case 1:
        return keep(tf::log_softmax_along(a, axis), 2 * x.bound + 8);
      default: {
        const tf::AnyExpr labels = tf::softmax_along(2 * a, static_cast<unsigned>(d.rank - 1));
        const tf::Id ids[] = {x.id, labels.id};
        const tf::Type row(dtype(x), tf::reduced(d, 1u << (d.rank - 1), false));
        return keep(tf::add_node(g_, tf::ops::SoftmaxCrossEntropy{}, ids, 2, row), 2 * x.bound + 8);
      }
    }
  }

  void add_matmul(const Item& x) {
    if (!is_floating(x) || dims(x).rank != 2) return;
    for (int attempt = 0; attempt < 30; ++attempt) {
      const Item y = random_.chance(0.3) ? x : pick();
      const bool ta = random_.chance(0.5);
      const bool tb = random_.chance(0.5);
      if (dtype(y) != dtype(x)) continue;
      const tf::Dims d = tf::matrix_product(dims(x), ta, dims(y), tb);
      if (!d.valid() || size(d) > 5000) continue;
      const double depth = static_cast<double>(tf::resolve(dims(x)[ta ? 0 : 1], batch_));
      const double limit = x.bound * y.bound * depth;
      if (!fits(limit)) continue;
      return keep(tf::matmul(any(x.id), any(y.id), ta, tb), limit);
    }
  }

  void add_rare(const Item& x) {
    switch (random_.below(4)) {
      case 0: {  // random numbers, whole ones if exact
        if (!options_.random) return;
        const tf::AnyExpr u = tf::random_uniform(g_, "u", tf::Type(width_, shape(false)));
        return options_.exact ? keep(tf::cast_to(u * 8, tf::DType::int32), 8) : keep(u, 1);
      }
      case 1: {  // positions along an axis
        if (!options_.exact || base_.rank == 0) return;
        const tf::AnyExpr i = tf::index_along(g_, base_, random_.below(base_.rank));
        return keep(i * 1, 40);
      }
      case 2:
        return keep(tf::stop_gradient(any(x.id)), x.bound);
      default: {  // the present value of a variable
        if (!options_.effects) return;
        const tf::Id v = variables_[static_cast<std::size_t>(
            random_.below(static_cast<int>(variables_.size())))];
        const tf::AnyExpr now = tf::add_node(g_, tf::ops::Read{}, &v, 1, g_.type_of(v));
        if (!tokens_.empty() && random_.chance(0.5)) {
          const tf::Id token = tokens_.back();
          g_.nodes[g_.values[now.id].node].controls = g_.append(&token, 1);
        }
        return keep(now, variable_bound());
      }
    }
  }

  // Effects.

  static double variable_bound() { return 64; }

  /// v := something of its type that stays small.
  void add_effect() {
    const tf::Id v =
        variables_[static_cast<std::size_t>(random_.below(static_cast<int>(variables_.size())))];
    const tf::Type type = g_.type_of(v);
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Item x = pick();
      if (dtype(x) != type.dtype || x.bound > variable_bound()) continue;
      if (!(tf::broadcast(dims(x), type.dims) == type.dims)) continue;
      tf::AnyExpr next = any(x.id);
      if (tf::is_number(type.dtype) && random_.chance(0.4)) next = maximum(any(v), next);
      const tf::AnyExpr value = tf::broadcast_to(next, type.dims);
      const tf::Id token = type.dims.rank > 0 && random_.chance(0.4)
                               ? update_node(v, value)
                               : tf::detail::assign_node(g_, v, value.id);
      name_effect(token);
      if (random_.chance(0.3)) {
        keep(tf::detail::after_node(next, token), std::max(x.bound, variable_bound()));
      }
      if (tokens_.size() > 1 && random_.chance(0.3)) {
        const tf::Id both[] = {tokens_[tokens_.size() - 2], tokens_.back()};
        name_effect(tf::detail::group_node(g_, both, 2).token());
      }
      return;
    }
  }
  /// Sets some rows of a variable in place: row i / 2 or the middle one to row i of the value.
  tf::Id update_node(tf::Id v, const tf::AnyExpr& value) {
    const tf::Extent rows = g_.dims_of(v).extent[0];
    tf::Dims each{};
    each.append(rows);
    const tf::AnyExpr half = tf::index_along(g_, each, 0) / 2;
    const tf::AnyExpr rows_of = random_.chance(0.5) ? half : half * 0 + rows / 2;
    return tf::detail::scatter_node<tf::ops::ScatterUpdate>(any(v), rows_of, value,
                                                            tf::Indexing::scatter_update);
  }
  void name_effect(tf::Id token) {
    tokens_.push_back(token);
    const int i = static_cast<int>(model_.effects.size());
    g_.add_name({"effect", i}, tf::NameKind::effect, token);
    model_.effects.push_back("effect_" + std::to_string(i));
  }

  /// A loss, its gradients for all variables that it depends on, and a step down.
  void add_training() {
    const Item x = pick();
    const tf::AnyExpr all = tanh(any(x.id));
    const tf::AnyExpr loss =
        tf::reduce<tf::ops::Sum>(all, tf::detail::all_axes(dims(x).rank), false);
    tf::Pool<tf::Id> from, weights, to;
    from.push(loss.id);
    weights.push(tf::none);
    for (const tf::Id v : variables_) to.push(v);
    const tf::Pool<tf::Id> gradients = tf::detail::gradients_of(g_, from, weights, to);
    std::vector<tf::Id> steps;
    for (int i = 0; i < to.size(); ++i) {
      if (gradients[i] == tf::none) continue;
      name_output(gradients[i]);
      const tf::AnyExpr next = any(to[i]) - any(gradients[i]) * 0.01;
      steps.push_back(tf::detail::assign_node(g_, to[i], next.id));
    }
    if (!steps.empty() && options_.effects) {
      name_effect(tf::detail::group_node(g_, steps.data(), static_cast<int>(steps.size())).token());
    }
    name_output(loss.id);
  }

  void name_output(tf::Id id) {
    const int i = static_cast<int>(model_.outputs.size());
    g_.add_name({"out", i}, tf::NameKind::value, id);
    model_.outputs.push_back("out_" + std::to_string(i));
  }
  void name_outputs() {
    name_output(items_.back().id);
    const int count = 1 + random_.below(4);
    for (int i = 0; i < count; ++i) name_output(pick().id);
  }

  Random random_;
  RandomModelOptions options_;
  RandomModel model_;
  tf::Graph& g_;
  tf::Dims base_{};
  std::int64_t batch_ = 1;
  tf::DType width_ = tf::DType::float32;
  std::vector<Item> items_;
  std::vector<tf::Id> variables_;
  std::vector<tf::Id> tokens_;
  int made_ = 0;
};

}  // namespace detail

/// The model of a seed. Its graph has about `operations` nodes and those that gradients add.
inline RandomModel random_model(std::uint64_t seed, const RandomModelOptions& options = {}) {
  return detail::ModelMaker(seed, options).make();
}

/// How far results of a model may differ between two ways of computing it.
inline double tolerance(const RandomModel& model) {
  if (model.exact) return 0;
  return model.feeds.begin()->second.dtype == tf::DType::float32 ? 1e-3 : 1e-9;
}

}  // namespace test
