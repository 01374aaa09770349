// SPDX-License-Identifier: Apache-2.0

// What random operations draw from: with a label its path alone, without one their place among
// those of their kind in their scope.

#include "support.hpp"

/// The paths of a model's random operations, in its order.
struct Paths {
  std::uint64_t path[8] = {};
  int count = 0;
};
template <auto Model>
constexpr Paths paths_of() {
  tf::Graph g;
  Model(g);
  Paths out;
  for (const tf::ir::Node& node : records(g).nodes) {
    if (node.op->effect != tf::SideEffect::random) continue;
    const std::uint32_t* const words = records(g).words_of(node);
    out.path[out.count++] = std::uint64_t{words[1]} << 32 | words[0];
  }
  return records(g).error.empty() && tf::ir::verify(g).empty() ? out : Paths{};
}

constexpr void drops(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  dropout(x);                         // 0
  dropout(x, {.name = "mask"});       // 1
  tf::random_uniform<float, 4>(g);    // 2
  shuffle(x);                         // 3
  dropout(x);                         // 4
  tf::random_uniform<float>(g, "u");  // 5
}
constexpr void drops_among_others(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "dropout");
  auto y = tf::placeholder<float, 4>(g, "random_uniform").named("shuffle");
  dropout(y, {.name = "dropout_1"});  // 0
  tf::random_uniform<float>(g, "v");  // 1
  tf::random_uniform<float, 4>(g);    // 2
  {
    tf::NameScope in(g, "in");
    dropout(x);                    // 3
    dropout(x, {.name = "mask"});  // 4
  }
  shuffle(x, "rows");            // 5
  dropout(x, {.name = "mask"});  // 6
  dropout(x);                    // 7
}
constexpr Paths some = paths_of<drops>();
constexpr Paths others = paths_of<drops_among_others>();
static_assert(some.count == 6 && others.count == 8);
static_assert(others.path[7] == some.path[0] && others.path[6] == some.path[1] &&
              others.path[2] == some.path[2]);

constexpr bool all_differ(const Paths& paths) {
  for (int i = 0; i < paths.count; ++i) {
    for (int k = 0; k < i; ++k) {
      if (paths.path[i] == paths.path[k]) return false;
    }
  }
  return true;
}
static_assert(all_differ(some) && all_differ(others));

// Scopes of one path are one scope, as for names.
constexpr void drops_in_a_scope_twice(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  for (int i = 0; i < 2; ++i) {
    tf::NameScope in(g, "in");
    dropout(x);
  }
}
static_assert(paths_of<drops_in_a_scope_twice>().count == 2 &&
              all_differ(paths_of<drops_in_a_scope_twice>()));

// A label is the result's name.
constexpr bool labels_are_names(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  tf::Scope in(g, "in");
  auto unnamed = dropout(x * 2);
  auto u = tf::random_uniform<float, 3>(g, {"u", 2}, -1, 1);
  auto rows = shuffle(x, "rows");
  auto mask = dropout(x * 3, {.name = "mask"});
  return is_named(u, "in/u_2") && is_named(rows, "in/rows") && is_named(mask, "in/mask") &&
         records(g).values[unnamed.id()].name == tf::none &&
         is_named((x * 4).named("mask"), "in/mask_1");
}
static_assert(holds<labels_are_names>(tf::training) && holds<labels_are_names>(tf::inference));

constexpr void takes_a_label_twice(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  tf::Scope in(g, "in");
  tf::random_uniform<float>(g, "z");  // line 94
  shuffle(x, "z");
}
static_assert(mistake<takes_a_label_twice>().view() ==
              "shuffle 'in/z': the name is taken at random.cpp:94");
constexpr void takes_a_placeholders_name(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  dropout(x, {.name = "x"});
}
static_assert(contains(mistake<takes_a_placeholders_name>(), "dropout 'x': the name is taken at "));

constexpr void draws_from_nothing(tf::Graph& g) {
  tf::random_uniform<std::int32_t, 3>(g, "z", 4, 4);
}
static_assert(contains(mistake<draws_from_nothing>(), "low must be less than high"));
