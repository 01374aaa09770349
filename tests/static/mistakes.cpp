// SPDX-License-Identifier: Apache-2.0

// Mistakes that only values can show, as the graph records them while the compiler traces a model:
// the first one, with names and places. A session makes compile errors of them.

#include "support.hpp"

constexpr void declares_twice(tf::Graph& g) {
  tf::variable<float, 3>(g, "W");  // line 9
  tf::variable<float, 3>(g, "b");
  tf::variable<float, 3>(g, "W");  // line 11
}
static_assert(mistake<declares_twice>().view() ==
              "variable 'W' declared twice: mistakes.cpp:9 and mistakes.cpp:11");

constexpr void declares_twice_in_scopes(tf::Graph& g) {
  for (int i = 0; i < 2; ++i) {
    tf::Scope block(g, "block", 3);
    tf::NameScope tower(g, "tower", i);  // is no part of a variable's name
    tf::variable<float, 3>(g, "W");
  }
}
static_assert(contains(mistake<declares_twice_in_scopes>(), "variable 'block_3/W' declared twice"));

constexpr void uses_a_layer_twice(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto h = tf::dense<3>(g, "fc", x);
  tf::dense<3>(g, "fc", h);
}
static_assert(contains(mistake<uses_a_layer_twice>(), "variable 'fc/W' declared twice"));
static_assert(contains(mistake<uses_a_layer_twice>(), "mistakes.cpp:27 and mistakes.cpp:28"));

constexpr void trains_layers_of_one_name(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::dense<2>(g, "fc", tf::dense<5>(g, "fc", x));
  tf::Adam{}.minimize(mean(square(y))).named("train");
}
static_assert(contains(mistake<trains_layers_of_one_name>(), "variable 'fc/W' declared twice"));

constexpr void reuses_what_does_not_exist(tf::Graph& g) {
  tf::Scope in(g, "net", {.reuse = tf::Reuse::reuse});
  tf::variable<float, 3>(g, "W");
}
static_assert(mistake<reuses_what_does_not_exist>().view() ==
              "variable 'net/W' does not exist, and its scope says to reuse it");

constexpr void reuses_as_another_type(tf::Graph& g) {
  tf::Scope in(g, "net", {.reuse = tf::Reuse::reuse_or_create});
  tf::variable<float, 3, 4>(g, "W");
  tf::variable<double, 3>(g, "W");
}
static_assert(mistake<reuses_as_another_type>().view() ==
              "variable 'net/W' reused as double [3], but it is float [3, 4]");

constexpr void takes_a_tensors_name(tf::Graph& g) {
  tf::placeholder<float, 3>(g, "x");
  tf::variable<float, 3>(g, "x");
}
static_assert(contains(mistake<takes_a_tensors_name>(), "variable 'x': the name is taken at "));

constexpr void adds_a_number_that_does_not_fit(tf::Graph& g) {
  auto bytes = tf::placeholder<std::uint8_t, 3>(g, "bytes");
  (bytes + 256).named("y");
}
static_assert(mistake<adds_a_number_that_does_not_fit>().view() ==
              "the number 256 is not exactly a uint8");

constexpr void adds_a_number_that_a_float_cannot_hold(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  (x + 16777217).named("y");
}
static_assert(mistake<adds_a_number_that_a_float_cannot_hold>().view() ==
              "the number 16777217 is not exactly a float");

// The first mistake counts, and tracing goes on.
constexpr void makes_two(tf::Graph& g) {
  tf::variable<float, 3>(g, "a");
  tf::variable<float, 3>(g, "a");
  auto b = tf::variable<float, 3>(g, "b");
  auto c = tf::variable<float, 3>(g, "b");
  (b + c).named("y");
}
static_assert(contains(mistake<makes_two>(), "variable 'a' declared twice"));

constexpr void minimizes_for_no_variable(tf::Graph& g) {
  auto w = tf::variable<float, 3>(g, "net/w");
  tf::GradientDescent{}.minimize(mean(w * w), g.trainable("nett")).named("train");
}
static_assert(
    mistake<minimizes_for_no_variable>().view() ==
    "minimize(loss, variables): the list has no variable; the model has none below 'nett'");

constexpr void keeps_nothing(tf::Graph& g) {
  dropout(tf::placeholder<float, 3>(g, "x"), {.keep = 0}).named("y");
}
static_assert(contains(mistake<keeps_nothing>(), "keep must be in (0, 1]"));
