// SPDX-License-Identifier: Apache-2.0

// string_index, find_strings, lookup.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr int many = 1000;

constexpr void small(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch, 2>(g, "x");
  auto keys = constant<std::string_view, 3>(g, {"the", "cat", ""});
  auto values = constant<float, 3>(g, {0.5f, 1.5f, 2.5f});
  auto names = constant<std::string_view, 3>(g, {"die", "Katze", "nichts"});
  find_strings(x, keys).named("position");
  lookup(x, keys, values, -1).named("value");
  lookup(x, keys, names, "?").named("name");
  lookup(x, keys, values, placeholder<float>(g, "default", 7)).named("value_or");
}

constexpr void weighted(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch, 2>(g, "x");
  auto weights = placeholder<double, tf::batch, 2>(g, "weights");
  auto keys = constant<std::string_view, 3>(g, {"a", "b", "c"});
  auto values = variable<double, 3>(g, "values", tf::zeros());
  auto y = sum(weights * lookup(x, keys, values, -1));
  gradients(y, values).named("dvalues");
}

constexpr void vocabulary(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto keys = variable<std::string_view, many>(g, "keys", tf::zeros());
  auto index = state<std::int32_t, tf::string_index_size(many)>(g, "index");
  assign(index, string_index(keys)).named("make_index");
  find_strings(x, keys, index).named("position");
}

}  // namespace

TEST_CASE("find_strings: values") {
  tf::Variables variables;
  tf::Session<small> session(variables);
  const Strings x = {"cat", "dog", "", "the", "th", "the\n"};
  CHECK(flat(session.run<"position">(tf::feed<"x">(x))) ==
        std::vector<std::int64_t>{1, -1, 2, 0, -1, -1});
}

TEST_CASE("lookup: values") {
  tf::Variables variables;
  tf::Session<small> session(variables);
  const Strings x = {"cat", "dog", "", "the"};
  CHECK(flat(session.run<"value">(tf::feed<"x">(x))) == std::vector<float>{1.5f, -1, 2.5f, 0.5f});
  CHECK(flat(session.run<"name">(tf::feed<"x">(x))) == Strings{"Katze", "?", "nichts", "die"});
  CHECK(flat(session.run<"value_or">(tf::feed<"x">(x))) == std::vector<float>{1.5f, 7, 2.5f, 0.5f});
  CHECK(flat(session.run<"value_or">(tf::feed<"x">(x), tf::feed<"default">(8.0f)))[1] == 8);
}

TEST_CASE("lookup: gradient") {
  tf::Variables variables;
  tf::Session<weighted> session(variables);
  const Strings x = {"b", "none", "a", "b", "", "b"};
  const std::vector<double> weights = {1, 2, 4, 8, 16, 32};
  CHECK(flat(session.run<"dvalues">(tf::feed<"x">(x), tf::feed<"weights">(weights))) ==
        std::vector<double>{4, 1 + 8 + 32, 0});
}

TEST_CASE("string_index: values") {
  tf::Variables variables;
  Strings words;
  for (int i = 0; i < many; ++i) words.push_back("word " + std::to_string(i * i));
  const std::vector<std::string_view> keys(words.begin(), words.end());
  variables.set<std::string_view>("keys", keys, tf::Shape<many>::dims);
  tf::Session<vocabulary> session(variables);
  const auto all = tf::feed<"x">(words);
  for (const std::int64_t position : session.run<"position">(all)) CHECK(position == -1);
  session.run<"make_index">();
  const auto positions = session.run<"position">(all);
  for (std::size_t i = 0; i < many; ++i) CHECK(positions(i) == static_cast<std::int64_t>(i));
  CHECK(session.run<"position">(tf::feed<"x">(Strings{"word 2"}))(0) == -1);
  // An index of other keys finds nothing that is not there.
  std::swap(words[0], words[1]);
  const std::vector<std::string_view> others(words.begin(), words.end());
  variables.set<std::string_view>("keys", others);
  const auto stale = session.run<"position">(tf::feed<"x">(words));
  for (std::size_t i = 0; i < many; ++i) {
    CHECK((stale(i) == static_cast<std::int64_t>(i) || stale(i) == -1));
  }
}

TEST_CASE("string_index: errors") {
  tf::Variables variables;
  Strings words;
  for (int i = 0; i < many; ++i) words.push_back(std::to_string(i));
  words[700] = "30";
  const std::vector<std::string_view> keys(words.begin(), words.end());
  variables.set<std::string_view>("keys", keys, tf::Shape<many>::dims);
  tf::Session<vocabulary> session(variables);
  CHECK_THROWS_WITH(session.run<"make_index">(),
                    doctest::Contains("expected each one once, got \"30\" at 30 and 700"));
}
