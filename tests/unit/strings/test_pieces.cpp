// SPDX-License-Identifier: Apache-2.0

// string_join, reduce_join, string_split, substr, string_length.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr void model(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch, 2>(g, "x");
  auto row = constant<std::string_view, 2>(g, {"<", "one"});
  auto at = placeholder<std::int32_t, 2>(g, "at");
  auto count = placeholder<std::int64_t>(g, "count");
  string_join(", ", x, row, "end").named("joined");
  string_join("", x).named("copied");
  reduce_join<0>(x, "+").named("down");
  reduce_join<-1>(x).named("across");
  auto [tokens, counts] = string_split<3>(x, " ,");
  tokens.named("tokens");
  counts.named("counts");
  auto [kept, kept_counts] = string_split<3>(x, " ,", {.skip_empty = false});
  kept.named("kept");
  kept_counts.named("kept_counts");
  auto [bytes, byte_counts] = string_split<2>(x, "");
  bytes.named("bytes");
  byte_counts.named("byte_counts");
  substr(x, at, count).named("part");
  substr(x, -1, 1).named("last");
  string_length(x).named("lengths");
}

const Strings x = {"a b", "", "x,y  z,last", "no"};

}  // namespace

TEST_CASE("string_join: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(flat(session.run<"joined">(tf::feed<"x">(x))) ==
        Strings{"a b, <, end", ", one, end", "x,y  z,last, <, end", "no, one, end"});
  CHECK(flat(session.run<"copied">(tf::feed<"x">(x))) == x);
  CHECK(session.run<"copied">(tf::feed<"x">(Strings{})).size() == 0);
}

TEST_CASE("reduce_join: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(flat(session.run<"down">(tf::feed<"x">(x))) == Strings{"a b+x,y  z,last", "+no"});
  CHECK(flat(session.run<"across">(tf::feed<"x">(x))) == Strings{"a b", "x,y  z,lastno"});
  CHECK(flat(session.run<"down">(tf::feed<"x">(Strings{}))) == Strings{"", ""});
}

TEST_CASE("string_split: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto of = tf::feed<"x">(x);
  const auto [tokens, counts] = session.run<"tokens", "counts">(of);
  CHECK(flat(tokens) == Strings{"a", "b", "", "", "", "", "x", "y", "z", "no", "", ""});
  CHECK(flat(counts) == std::vector<std::int32_t>{2, 0, 4, 1});
  const auto [kept, kept_counts] = session.run<"kept", "kept_counts">(of);
  CHECK(flat(kept) == Strings{"a", "b", "", "", "", "", "x", "y", "", "no", "", ""});
  CHECK(flat(kept_counts) == std::vector<std::int32_t>{2, 1, 5, 1});
  const auto [bytes, byte_counts] = session.run<"bytes", "byte_counts">(of);
  CHECK(flat(bytes) == Strings{"a", " ", "", "", "x", ",", "n", "o"});
  CHECK(flat(byte_counts) == std::vector<std::int32_t>{3, 0, 11, 2});
}

TEST_CASE("substr: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const std::vector<std::int32_t> at = {-2, 0};
  CHECK(flat(session.run<"part">(tf::feed<"x">(x), tf::feed<"at">(at),
                                 tf::feed<"count">(std::int64_t{5}))) ==
        Strings{" b", "", "st", "no"});
  CHECK(flat(session.run<"part">(tf::feed<"x">(x), tf::feed<"at">(at),
                                 tf::feed<"count">(std::int64_t{1}))) ==
        Strings{" ", "", "s", "n"});
  CHECK(flat(session.run<"last">(tf::feed<"x">(Strings{"ab", "c"}))) == Strings{"b", "c"});
}

TEST_CASE("substr: errors") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const auto run = [&](std::vector<std::int32_t> at, std::int64_t count) {
    session.run<"part">(tf::feed<"x">(x), tf::feed<"at">(at), tf::feed<"count">(count));
  };
  CHECK_THROWS_WITH(run({0, 1}, 1), doctest::Contains("position of element 1: expected one in "
                                                      "[-0, 0] of its bytes, got 1"));
  CHECK_THROWS_WITH(run({-4, 0}, 1), doctest::Contains("position of element 0: expected one in "
                                                       "[-3, 3] of its bytes, got -4"));
  CHECK_THROWS_WITH(run({0, 0}, -1),
                    doctest::Contains("length of element 0: expected 0 or more, got -1"));
}

TEST_CASE("string_length: values") {
  tf::Variables variables;
  tf::Session<model> session(variables);
  const Strings with_zero = {std::string("a\0b", 3), "\xc3\xa4"};
  CHECK(flat(session.run<"lengths">(tf::feed<"x">(x))) == std::vector<std::int32_t>{3, 0, 11, 2});
  CHECK(flat(session.run<"lengths">(tf::feed<"x">(with_zero))) == std::vector<std::int32_t>{3, 2});
}
