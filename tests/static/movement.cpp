// SPDX-License-Identifier: Apache-2.0

// The shapes that slice, split, concat, pad, tile... give, and what simplification makes of them.

#include <array>

#include "support.hpp"

constexpr bool slice_says_what_is_taken_of_each_axis(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 6, 7>(g, "x");
  static_assert(is_tensor<decltype(tf::slice<tf::whole, 3, tf::range(0, 5, 2)>(x)), float, 5, 3>);
  static_assert(is_tensor<decltype(tf::slice<>(x)), float, 5, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<-1>(x)), float, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<0, 1, 2>(x)), float>);
  static_assert(is_tensor<decltype(tf::slice<tf::extent<0>(x) - 1>(x)), float, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::from(-2), tf::from(1, 2)>(x)), float, 2, 3, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::every(-2)>(x)), float, 3, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::range(4, 0, -1)>(x)), float, 4, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::range(-4, -1)>(x)), float, 3, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::range(3, 1)>(x)), float, 0, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::from(5)>(x)), float, 0, 6, 7>);
  static_assert(is_tensor<decltype(tf::slice<tf::new_axis, 0, tf::new_axis>(x)),  //
                          float, 1, 1, 6, 7>);
  tf::slice<tf::range(3, 1), tf::every(-1)>(x).named("nothing");
  // What is all of x is x, and an axis of one element has no order.
  auto one = tf::slice<tf::range(2, 3)>(x);
  return tf::slice<tf::whole, tf::range(0, 6)>(x).id() == x.id() &&
         tf::slice<tf::every(-1)>(one).id() == one.id();
}
static_assert(holds<slice_says_what_is_taken_of_each_axis>());

constexpr bool slice_of_batch_axes(tf::Graph& g) {
  auto x = tf::placeholder<float, 4 * tf::batch, 6>(g, "x");
  auto half = tf::split<2, 0>(x)[0];
#ifndef __CUDACC__  // nvcc 13 loses the slices' names in what it hands to the host compiler
  static_assert(is_tensor<decltype(tf::slice<tf::every(-1), 0>(x)), float, 4 * tf::batch>);
  static_assert(is_tensor<decltype(tf::slice<3>(x)), float, 6>);
  static_assert(is_tensor<decltype(tf::slice<tf::range(0, 3)>(x)), float, 3, 6>);
#endif
  static_assert(is_tensor<decltype(half), float, 2 * tf::batch, 6>);
  static_assert(is_tensor<decltype(tf::select<-1>(x, 0)), float, 4 * tf::batch>);
  tf::slice<tf::every(-1), 0>(x).named("column");
  return true;
}
static_assert(holds<slice_of_batch_axes>());

constexpr bool split_and_unstack_give_arrays(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 4>(g, "x");
  auto halves = tf::split<2, 1>(x);
  auto parts = tf::split_sizes<-1, 1, 0, 3>(x);
  auto rows = tf::unstack<1>(x);
  static_assert(
      std::is_same_v<decltype(halves), std::array<tf::Expr<float, tf::Shape<tf::batch, 3, 4>>, 2>>);
  static_assert(
      std::is_same_v<decltype(rows), std::array<tf::Expr<float, tf::Shape<tf::batch, 4>>, 6>>);
  static_assert(is_tensor<decltype(std::get<1>(parts)), float, tf::batch, 6, 0>);
  static_assert(is_tensor<decltype(std::get<2>(parts)), float, tf::batch, 6, 3>);
  return tf::split<1, 0>(x)[0].id() == x.id();
}
static_assert(holds<split_and_unstack_give_arrays>());

constexpr bool concat_and_stack_add_up(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 5>(g, "y");
  auto z = tf::placeholder<float, 2 * tf::batch, 3>(g, "z");
  static_assert(is_tensor<decltype(tf::concat<1>(x, y, x)), float, tf::batch, 11>);
  static_assert(is_tensor<decltype(tf::concat<0>(x, z)), float, 3 * tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::concat<-1>(std::array{x, x})), float, tf::batch, 6>);
  static_assert(is_tensor<decltype(tf::stack<0>(x, x)), float, 2, tf::batch, 3>);
  static_assert(is_tensor<decltype(tf::stack<-1>(std::array{x, x, x})), float, tf::batch, 3, 3>);
  return tf::concat<0>(x).id() == x.id();
}
static_assert(holds<concat_and_stack_add_up>());

constexpr bool other_shapes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4, 6, 1>(g, "x");
  auto n = tf::placeholder<std::uint8_t, tf::batch>(g, "n");
  static_assert(is_tensor<decltype(tf::pad<0, 0, 1, 2, 0, 0, 3, 0>(x)), float, tf::batch, 7, 6, 4>);
  static_assert(is_tensor<decltype(tf::pad<tf::batch, 0, 0, 0, 0, 0, 0, 0>(x, 2)), float,
                          2 * tf::batch, 4, 6, 1>);
  static_assert(is_tensor<decltype(tf::mirror_pad<tf::Mirror::reflect, 0, 0, 3, 1, 0, 0, 0, 0>(x)),
                          float, tf::batch, 8, 6, 1>);
  static_assert(is_tensor<decltype(tf::tile<2, 1, 0, 3>(x)), float, 2 * tf::batch, 4, 0, 3>);
  static_assert(is_tensor<decltype(squeeze(x)), float, tf::batch, 4, 6>);
  static_assert(is_tensor<decltype(tf::expand_dims<-1>(x)), float, tf::batch, 4, 6, 1, 1>);
  static_assert(is_tensor<decltype(tf::space_to_depth<2>(x)), float, tf::batch, 2, 3, 4>);
  static_assert(is_tensor<decltype(tf::reverse<0, -1>(x)), float, tf::batch, 4, 6, 1>);
  static_assert(is_tensor<decltype(tf::one_hot<10>(n)), float, tf::batch, 10>);
  static_assert(is_tensor<decltype(tf::one_hot<10, 0, bool>(n)), bool, 10, tf::batch>);
  static_assert(is_tensor<decltype(tf::sequence_mask<5>(n)), bool, tf::batch, 5>);
  static_assert(is_tensor<decltype(tf::range<double, tf::batch>(g, 0, 1)), double, tf::batch>);
  static_assert(is_tensor<decltype(tf::zeros<bool, 2, 3>(g)), bool, 2, 3>);
  static_assert(is_tensor<decltype(shape(x)), std::int32_t, 4>);
  return true;
}
static_assert(holds<other_shapes>());

// Of a static shape, its size is a constant.
constexpr bool questions_of_static_shapes_fold(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 4>(g, "x");
  auto y = size(x) * 2 + rank(x);
  const Run run = simplified(g, y);
  const tf::ir::Graph& after = run.simplified.graph;
  const tf::ir::Node& node = after.node_of(run.simplified.map[y.id()]);
  return node.op->builtin == tf::Builtin::constant &&
         tf::decode<tf::ops::Constant>(after, node).number(tf::DType::int32).integer == 26;
}
static_assert(holds<questions_of_static_shapes_fold>());

constexpr bool slices_of_slices_join(tf::Graph& g) {
  auto x = tf::placeholder<float, 4 * tf::batch, 12>(g, "x");
  auto some = tf::slice<tf::whole, tf::range(2, 12, 2)>(x);
  auto fewer = tf::slice<tf::whole, tf::range(1, 5, 3)>(some);
  auto quarter = tf::split<2, 0>(tf::split<2, 0>(x)[1])[1];
  return has_nodes(simplified(g, fewer), 2) && has_nodes(simplified(g, quarter), 2) &&
         has_nodes(simplified(g, tf::reverse<1>(tf::reverse<1>(x))), 1);
}
static_assert(holds<slices_of_slices_join>());

constexpr bool what_is_put_together_is_taken_apart_for_nothing(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto y = tf::placeholder<float, 3 * tf::batch, 12>(g, "y");
  auto both = tf::concat<0>(x, y);
  auto [a, b] = tf::split_sizes<0, tf::batch, 3 * tf::batch>(both);
  return has_nodes(simplified(g, a), 1) && has_nodes(simplified(g, b), 1) &&
         has_nodes(simplified(g, tf::split<4, 0>(both)[2]), 2);  // a slice of y
}
static_assert(holds<what_is_put_together_is_taken_apart_for_nothing>());

constexpr bool what_lies_across_parts_is_a_slice_of_the_whole(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto y = tf::placeholder<float, 3 * tf::batch, 12>(g, "y");
  auto both = tf::concat<0>(x, y);
  return count<tf::ops::Concat>(simplified(g, tf::split<2, 0>(both)[0])) == 1 &&
         count<tf::ops::Concat>(simplified(g, tf::concat<0>(both, x, both))) == 1;
}
static_assert(holds<what_lies_across_parts_is_a_slice_of_the_whole>());

constexpr bool the_gradient_of_split_is_concat(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 40>(g, "x");
  auto parts = tf::split<4, 1>(x);
  auto y = sigmoid(parts[0]) * tanh(parts[1]) + parts[2] * sigmoid(parts[3]);
  const Run run = simplified(g, gradients(sum(y), x));
  return tf::ir::verify(run.simplified).empty() && count<tf::ops::Pad>(run) == 0 &&
         count<tf::ops::Concat>(run) == 1;
}
static_assert(holds<the_gradient_of_split_is_concat>());

// A loop over 40 steps, of a tensor that is used elsewhere, too: no tensor of full size a step.
constexpr bool the_gradient_of_a_loop_is_concat(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 40, 8>(g, "x");
  auto h = tf::select<1>(x, 0);
  for (int t = 1; t < 40; ++t) h = tanh(h) * tf::select<1>(x, t);
  const Run run = simplified(g, gradients(sum(h) + sum(x * x), x));
  return tf::ir::verify(run.simplified).empty() && count<tf::ops::Pad>(run) == 0 &&
         count<tf::ops::Concat>(run) == 3;
}
static_assert(holds<the_gradient_of_a_loop_is_concat>());

constexpr bool windows_that_overlap_join_in_pairs(tf::Graph& g) {
  auto x = tf::placeholder<float, 9>(g, "x");
  auto y = sum(exp(tf::slice<tf::range(0, 5)>(x))) + sum(exp(tf::slice<tf::range(4, 9)>(x)));
  const Run two = simplified(g, gradients(y, x));
  // (a + b) + c is not a + (b + c) where b and c overlap.
  const Run three = simplified(g, gradients(sum(x * x) + y, x));
  return tf::ir::verify(two.simplified).empty() && count<tf::ops::Pad>(two) == 0 &&
         count<tf::ops::Concat>(two) == 1 && count<tf::ops::Pad>(three) == 2;
}
static_assert(holds<windows_that_overlap_join_in_pairs>());

constexpr bool positions_that_are_read_are_computed(tf::Graph& g) {
  auto x = tf::range<std::int32_t, 9>(g, 0, 1);
  return count<tf::ops::BroadcastTo>(simplified(g, x)) == 1 &&
         count<tf::ops::BroadcastTo>(simplified(g, tf::slice<tf::from(3)>(x))) == 1 &&
         count<tf::ops::BroadcastTo>(simplified(g, x * 2)) == 0;
}
static_assert(holds<positions_that_are_read_are_computed>());
