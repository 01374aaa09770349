// SPDX-License-Identifier: Apache-2.0

// Sessions that only read their store, which may be const.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  auto w = variable<float, 2>(g, "w", tf::ones());
  auto runs = state<float>(g, "runs", tf::zeros());
  assign(w, 2 * w).named("double");
  assign(w, w + 1).value().named("more");
  assign_add(runs, 1).value().named("count");
  (w * random_uniform<float, 2>(g, "noise")).named("noisy");
  (3 * w).named("y");
}
using Reader = tf::Session<model, tf::inference | tf::read_only>;

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

static_assert(std::is_constructible_v<Reader, const tf::Variables&>);
static_assert(std::is_constructible_v<Reader, tf::Variables&>);
static_assert(!std::is_constructible_v<tf::Session<model, tf::inference>, const tf::Variables&>);

TEST_CASE("a read_only session computes with a const store, and numbers its draws itself") {
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{1, 10}, {1, {2}});
  variables.set_draws(7);
  const tf::Variables& store = variables;
  Reader session(store, {.seed = 4});
  static_assert(std::is_same_v<decltype(session.variables()), const tf::Variables&>);
  CHECK(session.run<"y">()(1) == 30);
  variables.set<float>("w", std::vector<float>{1, 20});  // not copied: it sees what others change
  CHECK(session.run<"y">()(1) == 60);

  // States are the session's own.
  CHECK(session.run<"count">() == 1);
  CHECK(session.run<"count">() == 2);
  session.reset();
  CHECK(session.run<"count">() == 1);

  const auto first = session.run<"noisy">();
  CHECK(session.run<"noisy">() != first);
  CHECK(store.draws() == 7);
  CHECK(store.names() == std::vector<std::string>{"w"});
  Reader again(store, {.seed = 4});  // begins with the same draws
  CHECK(again.run<"noisy">() == first);
}

TEST_CASE("a read_only session makes no variable") {
  tf::Variables variables;
  const std::string what = refusal([&] { Reader session(variables); });
  CHECK(what == "variable 'w': is not in the store, which the session only reads");
  CHECK(variables.names().empty());
  variables.set<float>("w", std::vector<float>(3), {1, {3}});
  CHECK(refusal([&] { Reader session(variables); }) ==
        "variable 'w': expected float [2], got float [3]");
}
