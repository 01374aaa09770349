// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reverse accumulation through branches and loops.
//
// The gradient of a branch is a branch; each of its regions is the gradient of one of the first.
// The gradient of a loop is a loop from the last iteration to the first. Its states are the
// gradients of the states, and sums of the captures' gradients. Values of a forward region that a
// backward region uses are saved: they become further results of the forward one, which a loop
// stacks along axis 0.

#include "typeflow/front/backward.hpp"
#include "typeflow/front/checkpoint_gradient.hpp"
#include "typeflow/front/saved_values.hpp"
#include "typeflow/front/while_gradient.hpp"
#include "typeflow/ops/control/region.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The gradient of one branch or loop.
class ControlGradient {
 public:
  /// `dy`: the gradients of its results, by index, none for some. `wanted`, by input: whether a
  /// gradient is wanted.
  constexpr ControlGradient(ir::Graph& graph, Id owner, const Pool<Id>& dy,
                            const Pool<char>& wanted)
      : graph_(graph), owner_(owner), node_(graph.nodes[owner]), dy_(dy), wanted_(wanted) {}

  /// The gradients for the inputs; none for some.
  constexpr Pool<Id> run() {
    dx_ = Pool<Id>(node_.inputs.count, none);
    if (is<ops::Checkpoint>(*node_.op)) return checkpoint_gradient(graph_, owner_, dy_, wanted_);
    if (!is<ops::Loop>(*node_.op)) {
      branch();
    } else {
      const ops::Loop op = typeflow::decode<ops::Loop>(graph_, node_);
      if (has_bound(op)) {
        loop(op);
      } else {
        fail_unbounded();
      }
    }
    return std::move(dx_);
  }

 private:
  using Range = ir::Range;

  constexpr Id listed(const Range& list, int i) const { return graph_.lists[list.first + i]; }
  constexpr Id region(int i) const { return listed(node_.regions, i); }
  constexpr bool is_floating_value(Id value) const {
    return value != none && is_floating(graph_.dtype_of(value));
  }
  constexpr Id zeros_like(Id value) {
    const Type type = graph_.type_of(value);
    return broadcast_to(constant_node(graph_, type.dtype, Number{}), type.dims).id;
  }
  constexpr bool is_wanted(int input) const {
    return wanted_[input] != 0 && is_floating_value(graph_.input(node_, input));
  }

  /// Whether the model limits the trip count.
  constexpr bool has_bound(const ops::Loop& op) const {
    return node_.regions.count == 1 || op.limited != 0;
  }
  constexpr void fail_unbounded() {
    Message message{};
    message << "no gradient is defined for a loop without a bound on its iterations (while_loop, "
               "fori_loop with tensors for bounds): give {.max_iterations = n}, for which memory "
               "is planned. Used at ";
    print_place(message, node_.source);
    graph_.fail(message);
  }

  constexpr void branch() {
    const Range captures = graph_.regions[region(0)].captures;
    Pool<int> inputs;  // that a gradient is wanted for
    Pool<Id> xs;
    for (int k = 0; k < captures.count; ++k) {
      const int input = node_.inputs.count - captures.count + k;
      if (!is_wanted(input)) continue;
      inputs.push(input);
      xs.push(listed(captures, k));
    }
    Pool<Id> regions;
    SavedValues saved(graph_, owner_);
    for (int r = 0; r < node_.regions.count; ++r) {
      const Id forward = region(r);
      const Range results = graph_.regions[forward].results;
      Pool<Id> y;
      Pool<Id> dy;
      for (int i = 0; i < dy_.size() && i < results.count; ++i) {
        if (dy_[i] == none || !is_floating_value(listed(results, i))) continue;
        y.push(listed(results, i));
        dy.push(dy_[i]);
      }
      const Id back = ir::open_region(graph_);
      Pool<Id> dx = gradients_of(graph_, y, dy, xs, forward);
      for (int i = 0; i < dx.size(); ++i) {
        if (dx[i] == none) dx[i] = zeros_like(xs[i]);
      }
      saved.replace(back, forward, dx, [&](Id value) {
        return saved.result_of(value, r, 0, graph_.values[value].type);
      });
      ir::close_region(graph_, back, dx);
      regions.push(back);
    }
    Pool<Id> selector;
    selector.push(graph_.input(node_, 0));
    const Id token = ir::ControlBuilder(graph_, regions).add(ops::Branch{}, selector);
    for (int i = 0; i < inputs.size(); ++i) {
      dx_[inputs[i]] = ir::control_result(graph_, token, i, graph_.values[xs[i]].type);
    }
  }

  constexpr void loop(const ops::Loop& op) {
    const Id forward = region(node_.regions.count - 1);
    const Id iterations = given_iterations(graph_, owner_, op);
    const Range parameters = graph_.regions[forward].parameters;
    const Range results = graph_.regions[forward].results;
    const Range captures = graph_.regions[forward].captures;
    const int first_capture = node_.inputs.count - captures.count;
    const Id back = ir::open_region(graph_);
    const Id index = parameter(graph_.values[listed(parameters, 0)].type);

    // The incoming gradients: those of states become states, those of stacked outputs become
    // slices.
    Pool<Id> y;
    Pool<Id> dy;
    Pool<Id> states;  // parameters...
    Pool<Id> starts;  // ...and what they begin with
    Pool<Id> slices;
    Pool<Id> wholes;  // of the slices
    Pool<Id> xs;
    Pool<int> inputs;  // of the forward node, as xs
    for (int i = 0; i < dy_.size(); ++i) {
      const Id result = listed(results, i);
      if (!is_floating_value(result) || (i >= op.states && dy_[i] == none)) continue;
      const Id given = parameter(graph_.values[result].type);
      y.push(result);
      dy.push(given);
      if (i >= op.states) {
        slices.push(given);
        wholes.push(dy_[i]);
        continue;
      }
      states.push(given);
      starts.push(dy_[i]);  // none: zeros, made outside
      xs.push(listed(parameters, 1 + i));
      inputs.push(i);
    }
    const int state_count = states.size();
    for (int i = op.states; i < first_capture; ++i) {
      if (!is_wanted(i)) continue;
      xs.push(listed(parameters, 1 + i));
      inputs.push(i);
    }
    const int taken_apart = xs.size();
    for (int k = 0; k < captures.count; ++k) {
      if (!is_wanted(first_capture + k)) continue;
      xs.push(listed(captures, k));
      inputs.push(first_capture + k);
    }
    const Pool<Id> dx = gradients_of(graph_, y, dy, xs, forward);

    // The results: the states' gradients, then sums for captures, then slices.
    Pool<Id> given;
    Pool<int> of_input;  // of the forward node, by result
    for (int i = 0; i < state_count; ++i) {
      given.push(dx[i] != none ? dx[i] : zeros_like(xs[i]));
      of_input.push(inputs[i]);
    }
    SavedValues saved(graph_, owner_);
    for (int i = taken_apart; i < xs.size(); ++i) {
      if (dx[i] == none) continue;
      // Stacked rows that no iteration has written would enter a product.
      const Id rest =
          iterations != none ? dx[i] : take_products(op, dx[i], inputs[i], back, forward);
      if (rest == none) continue;
      const Id sum = parameter(graph_.values[xs[i]].type);
      states.push(sum);
      starts.push(none);
      given.push((AnyExpr{&graph_, sum} + AnyExpr{&graph_, rest}).id);
      of_input.push(inputs[i]);
    }
    for (int i = state_count; i < taken_apart; ++i) {
      if (dx[i] == none) continue;
      given.push(dx[i]);
      of_input.push(inputs[i]);
    }
    // The factors of products. Saved values of the forward loop are stacked already; others become
    // results.
    for (Product& product : products_) {
      for (Factor* const factor : {&product.a, &product.b}) {
        for (int i = 0; i < slices.size(); ++i) {
          if (slices[i] == factor->value) factor->whole = wholes[i];
        }
        if (factor->whole != none) continue;
        if (ir::region_of(graph_, factor->value) == forward) {
          factor->whole = whole_of(saved, op, parameters, factor->value);
          continue;
        }
        factor->result = states.size();
        while (factor->result < given.size() && given[factor->result] != factor->value) {
          ++factor->result;
        }
        if (factor->result < given.size()) continue;  // one tensor for all who want it
        given.push(factor->value);
        of_input.push(none);
      }
    }

    // The values of the forward loop that it uses.
    saved.replace(back, forward, given, [&](Id value) {
      if (value == listed(parameters, 0)) return index;
      const Id slice = parameter(graph_.values[value].type);
      slices.push(slice);
      wholes.push(whole_of(saved, op, parameters, value));
      return slice;
    });
    Pool<Id> all;
    all.push(index);
    for (const Id state : states) all.push(state);
    for (const Id slice : slices) all.push(slice);
    const Range list = graph_.append_list(all);
    graph_.regions[back].parameters = list;
    ir::close_region(graph_, back, given);

    Pool<Id> operands;
    for (int i = 0; i < starts.size(); ++i) {
      operands.push(starts[i] != none ? starts[i] : zeros_like(states[i]));
    }
    for (const Id whole : wholes) operands.push(whole);
    if (iterations != none) operands.push(iterations);
    Pool<Id> regions;
    regions.push(back);
    Pool<Id> types;
    for (int i = 0; i < given.size(); ++i) {
      const Id result = listed(graph_.regions[back].results, i);
      types.push(i < states.size() ? graph_.values[result].type : stacked(op, result));
    }
    const Id token = ir::ControlBuilder(graph_, regions)
                         .add(ops::Loop{{},
                                        op.count,
                                        states.size(),
                                        slices.size(),
                                        op.reversed != 0 ? 0 : 1,
                                        iterations == none ? 1 : 0,
                                        op.parallel},
                              operands);
    for (int i = 0; i < types.size(); ++i) {
      const Id result = ir::control_result(graph_, token, i, types[i]);
      if (of_input[i] != none) dx_[of_input[i]] = result;
      for (Product& product : products_) {
        if (product.a.result == i) product.a.whole = result;
        if (product.b.result == i) product.b.whole = result;
      }
    }
    for (const Product& product : products_) {
      const Id whole = matmul(all_rows(product.a.whole), all_rows(product.b.whole), true, false).id;
      Id& sum = dx_[product.input];
      sum = sum == none ? whole : (AnyExpr{&graph_, sum} + AnyExpr{&graph_, whole}).id;
    }
  }

  // In an iteration, a weight's gradient is a product, over rows, of the input and the gradient of
  // the output. For all iterations together it is one product over all rows. That is faster than a
  // sum of products, each of which would write the whole weight.

  struct Factor {
    Id value;    ///< the value in an iteration
    Id whole;    ///< the values of all iterations, stacked
    int result;  ///< the backward loop's result that is the whole; none: another's
  };
  struct Product {
    int input;  ///< an input of the forward node
    Factor a;
    Factor b;
  };

  /// Takes such products out of a sum. Returns the rest of the sum; none if nothing is left.
  constexpr Id take_products(const ops::Loop& op, Id sum, int input, Id back, Id forward) {
    const ir::Node node = graph_.node_of(sum);
    if (node.region != back) return sum;
    if (is<ops::Add>(*node.op)) {
      const Id x = graph_.input(node, 0);
      const Id y = graph_.input(node, 1);
      if (graph_.values[x].type != graph_.values[y].type) return sum;
      const Id left = take_products(op, x, input, back, forward);
      const Id right = take_products(op, y, input, back, forward);
      if (left == x && right == y) return sum;
      if (left == none || right == none) return left == none ? right : left;
      return (AnyExpr{&graph_, left} + AnyExpr{&graph_, right}).id;
    }
    if (!is<ops::MatMul>(*node.op)) return sum;
    const ops::MatMul product = typeflow::decode<ops::MatMul>(graph_, node);
    const Id a = graph_.input(node, 0);
    const Id b = graph_.input(node, 1);
    const auto varies = [&](Id value) {
      const Id region = ir::region_of(graph_, value);
      return (region == back || region == forward) && graph_.dims_of(value).rank == 2 &&
             ops::MatMul::one_matrix(graph_.types[stacked(op, value)].dims).valid();
    };
    if (!product.a() || product.b() || !varies(a) || !varies(b)) return sum;
    products_.push(Product{input, {a, none, none}, {b, none, none}});
    return none;
  }
  /// The rows of all iterations as one matrix.
  constexpr AnyExpr all_rows(Id whole) {
    return reshape_to(AnyExpr{&graph_, whole}, ops::MatMul::one_matrix(graph_.dims_of(whole)));
  }

  /// The tensor that stacks a forward value's values in all iterations.
  constexpr Id whole_of(SavedValues& saved, const ops::Loop& op, const Range& parameters,
                        Id value) {
    for (int i = 0; i < op.stacked_inputs; ++i) {
      if (listed(parameters, 1 + op.states + i) == value) {
        return graph_.input(node_, op.states + i);
      }
    }
    return saved.result_of(value, node_.regions.count - 1, op.states, stacked(op, value));
  }
  /// The type of a value when it is stacked along axis 0.
  constexpr Id stacked(const ops::Loop& op, Id value) {
    const Type type = graph_.type_of(value);
    if (type.dims.rank >= max_rank) {
      Message message{};
      message << "gradient of a loop: ";
      print_value(message, graph_, value);
      graph_.fail(message << " has tf::max_rank axes, and is needed for each iteration");
      return graph_.values[value].type;
    }
    Dims dims{0, {}};
    dims.append(op.count);
    for (int i = 0; i < type.dims.rank; ++i) dims.append(type.dims.extent[i]);
    return graph_.intern(Type(type.dtype, dims));
  }
  constexpr Id parameter(Id type) {
    return add_node(graph_, ops::BlockInput{{}, 0}, nullptr, 0, type).id;
  }

  ir::Graph& graph_;
  const Id owner_;
  const ir::Node node_;
  const Pool<Id>& dy_;
  const Pool<char>& wanted_;
  Pool<Id> dx_;
  Pool<Product> products_;
};

/// See ir::Graph::control_gradient.
constexpr Pool<Id> control_gradient(ir::Graph& graph, Id owner, const Pool<Id>& dy,
                                    const Pool<char>& wanted) {
  const ir::Node& node = graph.nodes[owner];
  Pool<Id> all = dy;
  // A loop carries gradients from all of its states to all others.
  const int states = is<ops::Loop>(*node.op) ? typeflow::decode<ops::Loop>(graph, node).states : 0;
  while (all.size() < states) all.push(none);
  return ControlGradient(graph, owner, all, wanted).run();
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
