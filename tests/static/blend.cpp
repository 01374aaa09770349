// SPDX-License-Identifier: Apache-2.0

// tf::blend pairs variables by their paths below their lists'.

#include "support.hpp"

constexpr bool pairs_by_path_in_any_order(tf::Graph& g) {
  {
    tf::Scope in(g, "target");
    variable<float, 2>(g, "a");
    variable<double>(g, "nested/b");
  }
  tf::Scope outer(g, "outer");
  {
    tf::Scope in(g, "online", 2);
    variable<double>(g, "nested/b");
    variable<float, 2>(g, "a");
  }
  const tf::Effect effect = tf::blend(g.variables("target"), g.variables("outer/online_2"), 0.25);
  return !effect.empty() && count<tf::ops::Assign>(g) == 2;
}
static_assert(holds<pairs_by_path_in_any_order>());

constexpr void net(tf::Graph& g, tf::Label name) {
  tf::Scope in(g, name);
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  dense<3>(g, "fc", x);
}

// The slots of an optimiser lie below the variables that it trains: they are no part of a net.
constexpr bool leaves_slots_out(tf::Graph& g) {
  net(g, "target");
  net(g, "online");
  for (const tf::AnyVariable v : g.trainable("online")) {
    tf::Scope in(g, v);
    tf::Scope deeper(g, "adam");
    variable(g, "m", type_of(v), tf::zeros(), false);
  }
  tf::blend(g.variables("target"), g.variables("online"), 0.25);
  return g.variables("online").size() == 4 && count<tf::ops::Assign>(g) == 2;
}
static_assert(holds<leaves_slots_out>());

constexpr void without_source(tf::Graph& g) {
  net(g, "target");
  net(g, "online");
  variable<float, 3>(g, "target/extra");
  tf::blend(g.variables("target"), g.variables("online"), 0.25);
}
static_assert(mistake<without_source>().view() ==
              "blend: variable 'target/extra' has no source 'online/extra'");

constexpr void without_target(tf::Graph& g) {
  net(g, "target");
  net(g, "online");
  variable<float, 3>(g, "online/extra");
  tf::blend(g.variables("target"), g.variables("online"), 0.25);
}
static_assert(mistake<without_target>().view() ==
              "blend: variable 'online/extra' has no target 'target/extra'");

constexpr void of_another_shape(tf::Graph& g) {
  variable<float, 3>(g, "target/a");
  variable<float, 4>(g, "online/a");
  tf::blend(g.variables("target"), g.variables("online"), 0.25);
}
static_assert(mistake<of_another_shape>().view() ==
              "blend: variable 'target/a' is float [3], its source float [4]; expected the same, "
              "floating-point");

constexpr void of_integers(tf::Graph& g) {
  variable<std::int32_t>(g, "target/steps", tf::zeros());
  variable<std::int32_t>(g, "online/steps", tf::zeros());
  tf::blend(g.variables("target"), g.variables("online"), 0.25);
}
static_assert(contains(mistake<of_integers>(), "variable 'target/steps' is int32 []"));

constexpr void of_nothing(tf::Graph& g) {
  net(g, "online");
  tf::blend(g.variables("traget"), g.variables("olnine"), 0.25);
}
static_assert(mistake<of_nothing>().view() == "blend: no variables lie below 'traget'");
