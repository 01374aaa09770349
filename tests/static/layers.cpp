// SPDX-License-Identifier: Apache-2.0

// Layers, dropout in both modes, loops over types, and the ways to write a model.

#include "support.hpp"

constexpr bool dense_as_a_function(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto h = tf::dense<300>(g, "fc1", x, {.weights = tf::truncated_normal(0, 0.1)});
  auto y = tf::dense<10>(g, {"fc", 2}, relu(h));
  static_assert(is_tensor<decltype(h), float, tf::batch, 300>);
  static_assert(is_tensor<decltype(y), float, tf::batch, 10>);
  const tf::VariableList list = g.trainable();
  auto is_variable = [&](int i, std::string_view name, const tf::Dims& dims) {
    const tf::ir::VariableRecord& record = records(g).variable_records[list.variables[i]];
    return records(g).text_of(records(g).names[record.name]).view() == name &&
           records(g).dims_of(record.value) == dims;
  };
  using Kind = tf::Initializer::Kind;
  return list.variables.size() == 4 && is_variable(0, "fc1/W", tf::Dims{2, {784, 300}}) &&
         is_variable(1, "fc1/b", tf::Dims{1, {300}}) &&
         is_variable(2, "fc_2/W", tf::Dims{2, {300, 10}}) &&
         is_variable(3, "fc_2/b", tf::Dims{1, {10}}) &&
         records(g).variable_records[0].initializer.kind == Kind::truncated_normal &&
         records(g).variable_records[1].initializer.kind == Kind::constant &&
         records(g).variable_records[2].initializer.kind == Kind::variance_scaling;
}
static_assert(holds<dense_as_a_function>());

constexpr bool dense_as_an_object_shares_its_variables(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 8>(g, "a");
  auto b = tf::placeholder<double, 5, 8>(g, "b");
  tf::Dense<8, 4, double> layer(g, "layer");
  static_assert(is_tensor<decltype(layer(a)), double, tf::batch, 4>);
  static_assert(is_tensor<decltype(layer(b)), double, 5, 4>);
  layer(a).named("ya");
  layer(b).named("yb");
  return records(g).variable_records.size() == 2 && is_named(layer.weights(), "layer/W") &&
         is_named(layer.bias(), "layer/b") && count<tf::ops::MatMul>(g) == 2;
}
static_assert(holds<dense_as_an_object_shares_its_variables>());

// A net as a closure that owns its layers, called for two inputs.
constexpr bool nets_are_closures(tf::Graph& g) {
  auto q_net = [&](tf::Label name) {
    tf::Scope in(g, name);
    tf::Dense<16, 64> hidden(g, "hidden");
    tf::Dense<64, 4> q(g, "q");
    return [=](auto s) { return q(relu(hidden(s))); };
  };
  auto online = q_net("online");
  auto target = q_net("target");
  auto s = tf::placeholder<float, tf::batch, 16>(g, "s");
  auto s2 = tf::placeholder<float, tf::batch, 16>(g, "s2");
  static_assert(is_tensor<decltype(online(s)), float, tf::batch, 4>);
  (online(s) + online(s2) + target(s2)).named("q");
  return records(g).variable_records.size() == 8 && g.trainable("online").variables.size() == 4 &&
         g.variables("target").variables.size() == 4;
}
static_assert(holds<nets_are_closures>());

constexpr bool dropout_drops_in_training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto keep = tf::placeholder<float>(g, "keep", 0.75f);
  auto a = dropout(x, {.keep = 0.75f});
  auto b = dropout(a, {.keep = keep});
  static_assert(is_tensor<decltype(a), float, tf::batch, 300>);
  static_assert(is_tensor<decltype(b), float, tf::batch, 300>);
  // Two paths, hence two streams of random numbers.
  std::uint32_t words[2] = {};
  int draws = 0;
  for (const tf::ir::Node& node : records(g).nodes) {
    if (!tf::is<tf::ops::RandomUniform>(*node.op)) continue;
    words[draws++] = tf::decode<tf::ops::RandomUniform>(g, node).path_low;
  }
  return a.id() != x.id() && draws == 2 && words[0] != words[1];
}
static_assert(holds<dropout_drops_in_training>(tf::training));

constexpr bool dropout_is_nothing_in_inference(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 300>(g, "x");
  auto y = dropout(x, {.keep = 0.75f});
  static_assert(is_tensor<decltype(y), float, tf::batch, 300>);
  return y.id() == x.id() && count<tf::ops::RandomUniform>(g) == 0;
}
static_assert(holds<dropout_is_nothing_in_inference>(tf::inference));
static_assert(holds<dropout_is_nothing_in_inference>(tf::inference | tf::debug));

constexpr void mlp(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto h = dropout(relu(tf::dense<300>(g, "fc1", x)), {.keep = 0.75f});
  auto logits = tf::dense<10>(g, "fc2", h, {.weights = tf::zeros()}).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.3f}.minimize(loss).named("train");
}
constexpr bool variables_do_not_depend_on_the_mode() {
  tf::Graph train(tf::training);
  tf::Graph test(tf::inference);
  mlp(train);
  mlp(test);
  bool same =
      records(train).variable_records.size() == 4 && records(test).variable_records.size() == 4;
  for (int i = 0; same && i < 4; ++i) {
    same = records(train).names[records(train).variable_records[i].name].hash ==
           records(test).names[records(test).variable_records[i].name].hash;
  }
  return same && records(train).nodes.size() > records(test).nodes.size();
}
static_assert(variables_do_not_depend_on_the_mode());

// tf::fold: a loop in which the type changes from step to step.
struct Stage {
  int depth;
  int layers;
};
constexpr bool fold_loops_over_constants(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  int i = 0;
  auto h = tf::fold<Stage{300, 2}, Stage{100, 3}, Stage{10, 1}>(x, [&]<Stage S>(auto in) {
    tf::Scope stage(g, "stage", ++i);
    auto out = tf::dense<S.depth>(g, {"fc", 1}, in);
    for (int k = 2; k <= S.layers; ++k) out = tf::dense<S.depth>(g, {"fc", k}, relu(out));
    return out;
  });
  static_assert(is_tensor<decltype(h), float, tf::batch, 10>);
  return i == 3 && count<tf::ops::MatMul>(g) == 6 &&
         g.variables("stage_2/fc_3").variables.size() == 2 && tf::fold(x, 0).id() == x.id();
}
static_assert(holds<fold_loops_over_constants>());

// A model as a template over its settings.
struct Config {
  int hidden = 64;
  int layers = 2;
  float keep = 0.5f;
};
template <Config C>
constexpr bool configured(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, C.hidden>(g, "x");
  auto h = x;  // the type stays: a plain loop
  for (int i = 0; i < C.layers; ++i) {
    h = dropout(relu(tf::dense<C.hidden>(g, {"fc", i}, h)), {.keep = C.keep});
  }
  h.named("h");
  return records(g).variable_records.size() == 2 * C.layers &&
         is_tensor<decltype(h), float, tf::batch, C.hidden>;
}
static_assert(holds<configured<Config{}>>());
static_assert(holds<configured<Config{.hidden = 8, .layers = 5}>>());

// A model as a captureless lambda.
inline constexpr auto lambda = [](tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 2>(g, "x");
  matmul(x, x).named("y");
  return count<tf::ops::MatMul>(g) == 1;
};
static_assert(holds<lambda>());
