// SPDX-License-Identifier: Apache-2.0

// Assignments and training steps: what they return, which nodes they are.

#include "support.hpp"

constexpr bool an_assignment_is_an_effect_with_a_value(tf::Graph& g) {
  auto v = tf::variable<float, 3, 4>(g, "v", tf::zeros());
  auto row = tf::placeholder<float, 4>(g, "row");
  auto set = assign(v, row);  // broadcasts to the variable
  static_assert(std::is_convertible_v<decltype(set), tf::Effect>);
  static_assert(is_tensor<decltype(set.value()), float, 3, 4>);
  auto add = assign_add(v, 1);
  auto subtract = assign_sub(v, row);
  auto scale = assign_mul(v, 0.5);
  const tf::Effect all = group(set, add, subtract, scale).named("all");
  return records(g).is_token(set.token()) && records(g).is_token(all.token()) &&
         count<tf::ops::Assign>(g) == 4 && node_of(set.value()).controls.count == 1;
}
static_assert(holds<an_assignment_is_an_effect_with_a_value>());

constexpr bool a_read_after_an_effect_waits_for_it(tf::Graph& g) {
  auto v = tf::variable<float, 3>(g, "v", tf::zeros());
  auto now = after(assign_add(v, 1), v.read());
  static_assert(is_tensor<decltype(now), float, 3>);
  const tf::ir::Node& node = node_of(now);
  return node.controls.count == 1 &&
         records(g).is_token(records(g).operands[node.controls.first]) && now.id() != v.id();
}
static_assert(holds<a_read_after_an_effect_waits_for_it>());

constexpr bool effects_add_up(tf::Graph& g) {
  auto v = tf::variable<float, 3>(g, "v", tf::zeros());
  tf::Effect carry;
  if (!carry.empty()) return false;
  carry += assign(v, 1);
  const tf::Id first = carry.token();
  carry += tf::Effect{};  // nothing
  if (carry.token() != first) return false;
  carry += assign(v, 2);
  return carry.token() != first && count<tf::ops::Group>(g) == 1;
}
static_assert(holds<effects_add_up>());

constexpr bool minimize_updates_what_the_loss_depends_on(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto loss = mean(square(tf::dense<4>(g, "used", x)));
  tf::variable<float, 3>(g, "unused");
  tf::variable<float, 3>(g, "frozen", tf::zeros(), false);
  const tf::Effect train = tf::GradientDescent{.rate = 0.5}.minimize(loss).named("train");
  return count<tf::ops::Assign>(g) == 2 && records(g).is_token(train.token());
}
static_assert(holds<minimize_updates_what_the_loss_depends_on>());

constexpr bool minimize_takes_a_list(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto h = tf::dense<4>(g, "G", x);
  auto loss = mean(square(tf::dense<5>(g, "D", h)));
  tf::GradientDescent{.rate = 0.5}.minimize(loss, g.trainable("D")).named("train_d");
  if (count<tf::ops::Assign>(g) != 2) return false;
  tf::GradientDescent{.rate = 0.5}.minimize(loss, g.trainable("G")).named("train_g");
  return count<tf::ops::Assign>(g) == 4;
}
static_assert(holds<minimize_takes_a_list>());

// Computing gradients changes nothing; applying them does.
constexpr bool computing_and_applying_are_two_steps(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto rate = tf::placeholder<float>(g, "rate", 0.1f);
  auto loss = mean(square(tf::dense<4>(g, "fc", x)));
  const tf::Gradients computed = gradients(loss);
  if (count<tf::ops::Assign>(g) != 0 || computed.items.size() != 2) return false;
  tf::GradientDescent{.rate = rate}.apply(computed).named("train");
  // The rate is an input of each update, no constant.
  int updates = 0;
  for (const tf::ir::Node& node : records(g).nodes) {
    if (tf::is<tf::ops::Fnma>(*node.op)) updates += records(g).input(node, 0) == rate.id();
  }
  return count<tf::ops::Assign>(g) == 2 && updates == 2;
}
static_assert(holds<computing_and_applying_are_two_steps>());
