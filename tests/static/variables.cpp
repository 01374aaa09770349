// SPDX-License-Identifier: Apache-2.0

// Variables of lists: names, types, loops, slots, and what they refuse.

#include "support.hpp"

constexpr bool lists_are_loops(tf::Graph& g) {
  auto a = tf::variable<float, 3>(g, "a");
  auto b = tf::variable<double>(g, "b", tf::zeros(), false);
  auto c = tf::variable<float, 2, 3>(g, "c");
  tf::Id ids[3] = {};
  int count = 0;
  for (const tf::AnyVariable v : g.variables()) ids[count++] = v.id();
  const tf::VariableList trainable = g.trainable();
  return count == 3 && ids[0] == a.id() && ids[1] == b.id() && ids[2] == c.id() &&
         trainable.size() == 2 && trainable[1].id() == c.id() &&
         trainable[1].name().view() == "c" && trainable[1].dims() == tf::Dims{2, {2, 3}} &&
         g.variables()[1].dtype() == tf::DType::float64;
}
static_assert(holds<lists_are_loops>());

constexpr bool gradients_are_loops(tf::Graph& g) {
  auto a = tf::variable<float, 3>(g, "a");
  auto b = tf::variable<float>(g, "b");
  const tf::Gradients all = gradients(sum(a * b));
  int count = 0;
  for (const auto& [v, dv] : all) {
    count += v.id() == (count == 0 ? a.id() : b.id()) && type_of(v) == type_of(dv);
  }
  const tf::Gradients halves = all.map([](tf::AnyVariable, tf::AnyExpr dv) { return dv * 0.5; });
  return count == 2 && halves.size() == 2 && halves[1].variable.id() == b.id() &&
         tf::made_by<tf::ops::Mul>(halves[1].gradient);
}
static_assert(holds<gradients_are_loops>());

constexpr bool slots_have_shapes_of_variables(tf::Graph& g) {
  auto w = tf::variable<float, 2, 3>(g, "w");
  auto m = tf::variable<double>(g, "m", shape_of(w), tf::zeros(), false);
  static_assert(std::is_same_v<decltype(m), tf::Variable<double, tf::Shape<2, 3>>>);
  auto s = tf::variable<double>(g, {"s", 0}, shape_of(w + 1));
  static_assert(std::is_same_v<decltype(s), decltype(m)>);
  auto n = tf::variable<float>(g, "n", shape_of(sum(w)), tf::ones());
  static_assert(std::is_same_v<decltype(n), tf::Variable<float, tf::Shape<>>>);
  const tf::AnyVariable any = w;
  const tf::AnyVariable u = tf::variable<std::int32_t>(g, "u", shape_of(any), tf::zeros());
  const tf::AnyVariable like = variable(g, "like", type_of(any));
  return g.trainable().size() == 4 && u.dtype() == tf::DType::int32 && u.dims() == any.dims() &&
         type_of(like) == type_of(w.any()) && g.variables().size() == 6;
}
static_assert(holds<slots_have_shapes_of_variables>());

template <class V>
constexpr bool has_slot(tf::Graph& g, const V& v, std::string_view path) {
  tf::Scope elsewhere(g, "elsewhere");
  tf::Scope in(g, v);
  const tf::AnyVariable slot = variable(g, "m", type_of(tf::AnyVariable(v)));
  const tf::ir::Name& name = slot.name_record();
  return slot.name().view() == path && name.hash == tf::hash(path);
}
constexpr bool scopes_of_variables_have_their_paths(tf::Graph& g) {
  tf::Scope net(g, "net", 2);
  tf::NameScope tower(g, "tower");
  tf::Scope fc(g, "fc");
  auto w = tf::variable<float, 2>(g, {"w", 3});
  auto first = tf::fresh_variable<float, 2>(g, {"f", 3});
  auto second = tf::fresh_variable<float, 2>(g, {"f", 3});
  {
    tf::Scope in(g, w);
    const tf::AnyExpr named = (w * 2).any().named("twice");
    if (records(g).text_of(records(g).names[records(g).values[named.id].name]).view() !=
        "net_2/tower/fc/w_3/twice") {
      return false;
    }
  }
  return has_slot(g, w, "net_2/fc/w_3/m") && has_slot(g, first, "net_2/tower/fc/f_3/m") &&
         has_slot(g, second, "net_2/tower/fc/f_3_1/m") &&
         g.variables("net_2/tower/fc/f_3_1").size() == 2;
}
static_assert(holds<scopes_of_variables_have_their_paths>());

constexpr void assigns_another_type(tf::Graph& g) {
  auto x = tf::placeholder<double, 3>(g, "x");
  tf::variable<float, 2, 3>(g, "w");
  assign(g.trainable()[0], x);
}
static_assert(mistake<assigns_another_type>().view() ==
              "assign(variable 'w', value): expected float [2, 3], got double [3]");
constexpr void assigns_another_shape(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 3>(g, "x");
  tf::variable<float, 2, 3>(g, "w");
  assign(g.trainable()[0], x);
}
static_assert(mistake<assigns_another_shape>().view() ==
              "assign(variable 'w', value): expected float [2, 3], got float [3, 3]");

constexpr void maps_to_another_type(tf::Graph& g) {
  auto w = tf::variable<float, 2, 3>(g, "w");
  (void)gradients(sum(w)).map([](tf::AnyVariable, tf::AnyExpr dv) { return sum(dv); });
}
static_assert(mistake<maps_to_another_type>().view() ==
              "Gradients::map(f): the gradient for 'w': expected float [2, 3], got float []");

constexpr void makes_a_variable_of_batch(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  variable(g, "w", type_of(x.any()));
}
static_assert(contains(mistake<makes_a_variable_of_batch>(), "not tf::batch; got [batch, 3]"));
