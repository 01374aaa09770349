// SPDX-License-Identifier: Apache-2.0

// Names of operations and variables: scopes, labels, uniqueness, sharing, lists.

#include "support.hpp"

#include "typeflow/core/name_distance.hpp"

constexpr bool scopes_prefix_names(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  {
    tf::Scope block(g, "block", 2);
    auto y = (x + 1).named("y");
    auto w = tf::variable<float, 3>(g, "w");
    {
      tf::Scope unit(g, {"unit", 10});
      auto v = tf::variable<float, 3>(g, {"v", 0});
      if (!is_named(v, "block_2/unit_10/v_0")) return false;
    }
    if (!is_named(y, "block_2/y") || !is_named(w, "block_2/w")) return false;
  }
  auto z = (x * 2).named({"z", 7});
  return is_named(x, "x") && is_named(z, "z_7");
}
static_assert(holds<scopes_prefix_names>());

// NameScope is for operations; a variable's name depends on Scopes alone (SC1 in TensorFlow:
// get_variable against Variable).
constexpr bool name_scopes_prefix_operations_alone(tf::Graph& g) {
  tf::Scope net(g, "net");
  tf::NameScope tower(g, "tower", 1);
  auto x = tf::placeholder<float, 3>(g, "x");
  auto w = tf::variable<float, 3>(g, "w");
  auto fresh = tf::fresh_variable<float, 3>(g, "fresh");
  auto y = (x * w).named("y");
  return is_named(x, "net/tower_1/x") && is_named(w, "net/w") &&
         is_named(fresh, "net/tower_1/fresh") && is_named(y, "net/tower_1/y");
}
static_assert(holds<name_scopes_prefix_operations_alone>());

constexpr bool names_of_operations_become_unique(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto taken = (x + 1).named("y_1");
  auto first = (x + 2).named("y");
  auto second = (x + 3).named("y");  // y_1 is taken
  auto third = (x + 4).named("y");
  tf::NameScope in(g, "in");
  auto inner = (x + 5).named("y");
  return is_named(taken, "y_1") && is_named(first, "y") && is_named(second, "y_2") &&
         is_named(third, "y_3") && is_named(inner, "in/y");
}
static_assert(holds<names_of_operations_become_unique>());

constexpr bool naming_keeps_the_tensor(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = x + 1;
  const int nodes = records(g).nodes.size();
  auto named = y.named("y");
  static_assert(std::is_same_v<decltype(named), decltype(y)>);
  return named.id() == y.id() && records(g).nodes.size() == nodes;
}
static_assert(holds<naming_keeps_the_tensor>());

// The example of TensorFlow's guide to sharing variables (SC5): a filter of two convolutions is
// called twice. With Variable that makes 8 variables, with get_variable and reuse 4.
template <bool Fresh>
constexpr void image_filter(tf::Graph& g) {
  if constexpr (Fresh) {
    tf::fresh_variable<float, 5, 5, 32, 32>(g, "conv1_weights");
    tf::fresh_variable<float, 32>(g, "conv1_biases", tf::zeros());
    tf::fresh_variable<float, 5, 5, 32, 32>(g, "conv2_weights");
    tf::fresh_variable<float, 32>(g, "conv2_biases", tf::zeros());
  } else {
    for (int i = 1; i <= 2; ++i) {
      tf::Scope conv(g, "conv", i);
      tf::variable<float, 5, 5, 32, 32>(g, "weights");
      tf::variable<float, 32>(g, "biases", tf::zeros());
    }
  }
}
constexpr bool variable_is(const tf::ir::Graph& g, int i, std::string_view name,
                           const tf::Dims& dims) {
  const tf::ir::VariableRecord& record = g.variable_records[i];
  return g.text_of(g.names[record.name]).view() == name && g.dims_of(record.value) == dims;
}
inline constexpr tf::Dims weights_dims{4, {5, 5, 32, 32}};
inline constexpr tf::Dims biases_dims{1, {32}};

constexpr bool fresh_variables_are_eight(tf::Graph& g) {
  image_filter<true>(g);
  image_filter<true>(g);
  return records(g).variable_records.size() == 8 &&
         variable_is(g, 0, "conv1_weights", weights_dims) &&
         variable_is(g, 1, "conv1_biases", biases_dims) &&
         variable_is(g, 2, "conv2_weights", weights_dims) &&
         variable_is(g, 3, "conv2_biases", biases_dims) &&
         variable_is(g, 4, "conv1_weights_1", weights_dims) &&
         variable_is(g, 5, "conv1_biases_1", biases_dims) &&
         variable_is(g, 6, "conv2_weights_1", weights_dims) &&
         variable_is(g, 7, "conv2_biases_1", biases_dims);
}
static_assert(holds<fresh_variables_are_eight>());

constexpr bool shared_variables_are_four(tf::Graph& g) {
  {
    tf::Scope filters(g, "image_filters");
    image_filter<false>(g);
  }
  {
    tf::Scope filters(g, "image_filters", {.reuse = tf::Reuse::reuse});
    image_filter<false>(g);
  }
  return records(g).variable_records.size() == 4 &&
         variable_is(g, 0, "image_filters/conv_1/weights", weights_dims) &&
         variable_is(g, 1, "image_filters/conv_1/biases", biases_dims) &&
         variable_is(g, 2, "image_filters/conv_2/weights", weights_dims) &&
         variable_is(g, 3, "image_filters/conv_2/biases", biases_dims);
}
static_assert(holds<shared_variables_are_four>());

constexpr bool reuse_or_create_does_both(tf::Graph& g) {
  for (int i = 0; i < 2; ++i) {
    tf::Scope filters(g, "image_filters", {.reuse = tf::Reuse::reuse_or_create});
    image_filter<false>(g);
  }
  return records(g).variable_records.size() == 4;
}
static_assert(holds<reuse_or_create_does_both>());

constexpr bool a_reused_variable_is_the_same_tensor(tf::Graph& g) {
  auto w = tf::variable<float, 3>(g, "w");
  tf::Scope top(g, "top", {.reuse = tf::Reuse::reuse_or_create});
  auto v = tf::variable<float, 3>(g, "v");
  {
    tf::Scope inner(g, "inner");  // inherits
    tf::variable<float, 3>(g, "u");
    tf::variable<float, 3>(g, "u");
  }
  return tf::variable<float, 3>(g, "v").id() == v.id() && v.id() != w.id() &&
         records(g).variable_records.size() == 3;
}
static_assert(holds<a_reused_variable_is_the_same_tensor>());

constexpr bool zeros_and_ones_are_initializers_without_parentheses(tf::Graph& g) {
  tf::variable<float, 3>(g, "a", tf::zeros);
  tf::variable<float, 3>(g, "b", tf::ones);
  const auto& all = records(g).variable_records;
  using Kind = tf::Initializer::Kind;
  return all[0].initializer.kind == Kind::constant && all[0].initializer.a == 0 &&
         all[1].initializer.kind == Kind::constant && all[1].initializer.a == 1;
}
static_assert(holds<zeros_and_ones_are_initializers_without_parentheses>());

constexpr bool scopes_give_initializers(tf::Graph& g) {
  auto first_value = [&](const auto& v) {
    for (const tf::ir::VariableRecord& record : records(g).variable_records) {
      if (record.value == v.id()) return record.initializer;
    }
    return tf::InitializerRecord{};
  };
  using Kind = tf::Initializer::Kind;
  auto plain = tf::variable<float, 3, 3>(g, "plain");
  tf::Scope model(g, "model", {.initializer = tf::uniform(-0.1, 0.1)});
  auto inherited = tf::variable<float, 3>(g, "inherited");
  auto own = tf::variable<float, 3>(g, "own", tf::zeros());
  tf::Scope inner(g, "inner");
  auto deeper = tf::variable<float, 3>(g, "deeper");
  const tf::Initializer glorot = first_value(plain);
  return glorot.kind == Kind::variance_scaling && glorot.a == 1 &&
         glorot.distribution == tf::Initializer::Distribution::uniform &&
         glorot.fan == tf::Initializer::Fan::average &&
         first_value(inherited).kind == Kind::uniform && first_value(inherited).b == 0.1 &&
         first_value(own).kind == Kind::constant && first_value(own).a == 0 &&
         first_value(deeper).kind == Kind::uniform && first_value(deeper).a == -0.1;
}
static_assert(holds<scopes_give_initializers>());

constexpr bool lists_are_in_creation_order(tf::Graph& g) {
  auto a = tf::variable<float, 3>(g, "D2");
  tf::Scope in(g, "D");
  auto b = tf::variable<float, 3>(g, "w");
  auto step = tf::variable<std::int32_t>(g, "step", tf::zeros());
  auto moving = tf::variable<float, 3>(g, "moving", tf::zeros(), false);
  auto memory = tf::state<float, 3>(g, "memory");
  tf::Scope deeper(g, "fc");
  auto c = tf::variable<double, 3>(g, "w");
  const tf::VariableList all = g.trainable();
  const tf::VariableList below = g.trainable("D");
  const tf::VariableList every = g.variables("D");
  return all.variables.size() == 3 && has_at(all, 0, a) && has_at(all, 1, b) && has_at(all, 2, c) &&
         below.variables.size() == 2 && has_at(below, 0, b) && has_at(below, 1, c) &&
         every.variables.size() == 4 && has_at(every, 1, step) && has_at(every, 2, moving) &&
         g.trainable("D/fc/w").variables.size() == 1 && g.trainable("x").variables.empty() &&
         is_named(memory, "D/memory");
}
static_assert(holds<lists_are_in_creation_order>());

constexpr bool every_node_knows_its_line(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto y = relu(x);
  const int line = __LINE__ - 1;
  auto z = (x + y).named("z");
  return node_of(y).source.line == line && tf::file_name(node_of(y).source.file) == "names.cpp" &&
         node_of(z).source.line == line + 2;
}
static_assert(holds<every_node_knows_its_line>());

// "Did you mean": letters that differ; a name without its scope is one letter away.
static_assert(tf::detail::distance("loss", "los") == 1);
static_assert(tf::detail::distance("kitten", "sitting") == 3);
static_assert(tf::detail::path_distance("loss", "net/loss") == 1);
static_assert(tf::detail::path_distance("tower_1/net/loss", "loss") == 1);
static_assert(tf::detail::path_distance("loss", "netloss") == 3);
static_assert(tf::detail::path_distance("loss", "loss") == 0);
static_assert(tf::detail::path_distance("fc1/W", "fc2/W") == 1);
