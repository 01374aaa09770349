// SPDX-License-Identifier: Apache-2.0

// split_csv, decode_csv, decode_raw: against TensorFlow's values.

#include <doctest/doctest.h>

#include <complex>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr void csv(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  tf::split_csv<3>(x).named("fields");
  tf::split_csv<3>(x, {.delimiter = ';', .quotes = false}).named("plain");
  auto [i, f, s] =
      tf::decode_csv<std::int32_t, float, std::string_view>(x, {.defaults = {"9", "0.5", "d"}});
  i.named("i");
  f.named("f");
  s.named("s");
  auto [a, b] =
      tf::decode_csv<std::int64_t, std::string_view>(x, {.missing = "NA", .defaults = {"-1"}});
  a.named("a");
  b.named("b");
}

constexpr void raw(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  tf::decode_raw<std::int16_t, 2>(x).named("little");
  tf::decode_raw<std::int16_t, 2>(x, {.big_endian = true}).named("big");
  tf::decode_raw<std::uint8_t, 4>(x).named("bytes");
  auto y = placeholder<std::string_view, 1, 1>(g, "y");
  tf::decode_raw<std::complex<float>, 1>(y, {.big_endian = true}).named("complex");
  tf::decode_raw<float, 2>(y).named("floats");
  tf::decode_raw<float, 0>(placeholder<std::string_view>(g, "z")).named("nothing");
}

std::string bytes(std::initializer_list<int> x) {
  std::string out;
  for (const int b : x) out += static_cast<char>(b);
  return out;
}

template <tf::Text Name, auto Model>
void check_error(const Strings& x, const std::string& sentence) {
  tf::Variables variables;
  tf::Session<Model> session(variables);
  CHECK_THROWS_WITH_AS(session.template run<Name>(tf::feed<"x">(x)),
                       doctest::Contains(sentence.c_str()), tf::Error);
}

}  // namespace

TEST_CASE("split_csv: values") {
  tf::Variables variables;
  tf::Session<csv> session(variables);
  CHECK(flat(session.run<"fields">(tf::feed<"x">(Strings{"a,,", "\"1,2\",\"a \"\"b\"\"\",\"\n\"",
                                                         " x , y,z ", ",\"\",\"\"\"\"\"\""}))) ==
        Strings{"a", "", "", "1,2", "a \"b\"", "\n", " x ", " y", "z ", "", "", "\"\""});
  CHECK(flat(session.run<"plain">(tf::feed<"x">(Strings{"a\"b;,;\"\""}))) ==
        Strings{"a\"b", ",", "\"\""});
  CHECK(session.run<"fields">(tf::feed<"x">(Strings{})).size() == 0);
}

TEST_CASE("split_csv: errors") {
  check_error<"fields", csv>({"a,b,c", "1,2"}, "row 1: expected 3 fields, got 2 in \"1,2\"");
  check_error<"fields", csv>({"1,2,3,4"}, "row 0: expected 3 fields, got 4");
  check_error<"fields", csv>({""}, "row 0: expected 3 fields, got 0");
  check_error<"fields", csv>({"a\"b,2,3"},
                             "row 0: a quote or an end of line is in a field without quotes");
  check_error<"fields", csv>({"1,2,3\r\n"}, "a quote or an end of line");
  check_error<"plain", csv>({"1;2;3\n"}, "a quote or an end of line");
  check_error<"fields", csv>({"\"a,2,3"}, "row 0: a quoted field has no end");
  check_error<"fields", csv>({"\""}, "row 0: a quoted field has no end");
  check_error<"fields", csv>({"\"a\"b,2,3"},
                             "row 0: a quote inside of a quoted field is not doubled");
}

TEST_CASE("decode_csv: values") {
  tf::Variables variables;
  tf::Session<csv> session(variables);
  const Strings x = {"1,2.5,abc", "-7,,\"a,\"\"b\"\"\"", ",3e2,x", " 4 , 5 , y ", "1,inf,"};
  const auto [i, f, s] = session.run<"i", "f", "s">(tf::feed<"x">(x));
  CHECK(flat(i) == std::vector<std::int32_t>{1, -7, 9, 4, 1});
  CHECK(f(0) == 2.5f);
  CHECK(f(1) == 0.5f);
  CHECK(f(2) == 300.f);
  CHECK(f(3) == 5.f);
  CHECK(f(4) > 1e38f);
  CHECK(flat(s) == Strings{"abc", "a,\"b\"", "x", " y ", "d"});
  const auto [a, b] = session.run<"a", "b">(tf::feed<"x">(Strings{"NA,NA", ",x", "3,"}));
  CHECK(flat(a) == std::vector<std::int64_t>{-1, -1, 3});
  CHECK(flat(b) == Strings{"", "x", ""});
}

TEST_CASE("decode_csv: errors") {
  check_error<"i", csv>({"1,2,c", "a,2,c"},
                        "element 1: expected a number of type int32, got \"a\"");
  check_error<"i", csv>({"99999999999,2,c"}, "element 0: expected a number of type int32");
  check_error<"f", csv>({"1,2"}, "row 0: expected 3 fields, got 2");
}

TEST_CASE("decode_raw: values") {
  tf::Variables variables;
  tf::Session<raw> session(variables);
  const Strings x = {bytes({1, 0, 2, 0}), bytes({3, 0, 255, 255})};
  CHECK(flat(session.run<"little">(tf::feed<"x">(x))) == std::vector<std::int16_t>{1, 2, 3, -1});
  CHECK(flat(session.run<"big">(tf::feed<"x">(x))) == std::vector<std::int16_t>{256, 512, 768, -1});
  CHECK(flat(session.run<"bytes">(tf::feed<"x">(x))) ==
        std::vector<std::uint8_t>{1, 0, 2, 0, 3, 0, 255, 255});
  CHECK(session.run<"bytes">(tf::feed<"x">(Strings{})).size() == 0);
  const Strings y = {bytes({0x3F, 0x80, 0, 0, 0xC0, 0, 0, 0})};
  const auto z = session.run<"complex">(tf::feed<"y">(y));
  CHECK(z(0, 0, 0) == std::complex<float>(1, -2));
  const Strings little = {bytes({0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0})};
  CHECK(flat(session.run<"floats">(tf::feed<"y">(little))) == std::vector<float>{1, -2});
  CHECK(session.run<"nothing">(tf::feed<"z">(std::string_view{})).size() == 0);
}

TEST_CASE("decode_raw: errors") {
  check_error<"little", raw>({bytes({1, 0, 2, 0}), "abc"},
                             "element 1: expected 4 bytes, 2 of type int16, got 3");
}
