// SPDX-License-Identifier: Apache-2.0

// string_to_number, as_string, hash buckets.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

constexpr void numbers(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  string_to_number(x).named("float");
  string_to_number<double>(x).named("double");
  string_to_number<tf::float16>(x).named("half");
  string_to_number<std::int32_t>(x).named("int32");
  string_to_number<std::uint8_t>(x).named("uint8");
  as_string(string_to_number<double>(x)).named("again");
  as_string(placeholder<bool, tf::batch>(g, "b")).named("of_bool");
  as_string(placeholder<float, tf::batch>(g, "f")).named("of_float");
  as_string(placeholder<tf::float16, tf::batch>(g, "h")).named("of_float16");
  as_string(placeholder<tf::bfloat16, tf::batch>(g, "bf")).named("of_bfloat16");
  as_string(placeholder<std::int64_t, tf::batch>(g, "i")).named("of_int64");
}

constexpr void hashes(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  string_to_hash_bucket_fast(x, 3).named("fast");
  string_fingerprint(x).named("fingerprint");
  string_to_hash_bucket_strong(x, 3, {1, 2}).named("strong");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  string_to_hash_bucket_fast(x, most).named("fast_of_many");
  string_to_hash_bucket_strong(x, most, {0x0706050403020100u, 0x0f0e0d0c0b0a0908u})
      .named("strong_of_many");
}

}  // namespace

TEST_CASE("string_to_number: values") {
  tf::Variables variables;
  tf::Session<numbers> session(variables);
  const Strings x = {"1", "-2.5", " \t3e2\n", "+0.1", "1e-400", "-1e400", "inf"};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> expected = {1, -2.5, 300, 0.1, 0, -infinity, infinity};
  CHECK(flat(session.run<"double">(tf::feed<"x">(x))) == expected);
  const auto f = session.run<"float">(tf::feed<"x">(x));
  const auto h = session.run<"half">(tf::feed<"x">(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(f(i) == static_cast<float>(expected[i]));
    CHECK(static_cast<float>(h(i)) ==
          static_cast<float>(tf::float16(static_cast<float>(expected[i]))));
  }
  CHECK(std::isnan(session.run<"double">(tf::feed<"x">(Strings{"nan"}))(0)));
  // Out of range by their digits, not by the sign of the exponent.
  const std::string zeros(400, '0');
  const std::string long_ones[] = {"-0." + zeros + "1e5", "1" + zeros + "e-5", "0.001e+400",
                                   "1e99999999999999999999", "1e-99999999999999999999"};
  const Strings y(std::begin(long_ones), std::end(long_ones));
  CHECK(flat(session.run<"double">(tf::feed<"x">(y))) ==
        std::vector<double>{0, infinity, infinity, infinity, 0});
  // Just above the middle of two floats, which is the nearest double; and floats below the normal.
  const Strings z = {"1.00000005960464477540", "1e-40", "3e38", "1e39", "1e-46"};
  CHECK(flat(session.run<"float">(tf::feed<"x">(z))) ==
        std::vector<float>{1.00000012f, 1e-40f, 3e38f, std::numeric_limits<float>::infinity(), 0});
  CHECK(flat(session.run<"int32">(tf::feed<"x">(Strings{"-2147483648", "+7", " 08 "}))) ==
        std::vector<std::int32_t>{-2147483647 - 1, 7, 8});
  CHECK(flat(session.run<"uint8">(tf::feed<"x">(Strings{"255", "0"}))) ==
        std::vector<std::uint8_t>{255, 0});
}

TEST_CASE("string_to_number: errors") {
  tf::Variables variables;
  tf::Session<numbers> session(variables);
  for (const char* const wrong : {"", " ", "abc", "1 2", "1x", "--1", "+-1", "+", "0x10", "1e"}) {
    CAPTURE(wrong);
    const Strings x = {"1", wrong};
    const std::string given =
        ": expected a number of type double, got \"" + std::string(wrong) + '"';
    CHECK_THROWS_WITH(session.run<"double">(tf::feed<"x">(x)),
                      doctest::Contains(("element 1" + given).c_str()));
  }
  for (const char* const wrong : {"2147483648", "-2147483649", "1.5", "1e3", "inf"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(session.run<"int32">(tf::feed<"x">(Strings{wrong})), tf::Error);
  }
  CHECK_THROWS_AS(session.run<"uint8">(tf::feed<"x">(Strings{"-1"})), tf::Error);
  CHECK_THROWS_WITH(session.run<"double">(tf::feed<"x">(Strings{std::string(100, 'a')})),
                    doctest::Contains((std::string(40, 'a') + "...\"").c_str()));
}

TEST_CASE("as_string: values") {
  tf::Variables variables;
  tf::Session<numbers> session(variables);
  const Strings x = {"0.1", "-12345678.5", "1e+100", "inf", "-0", "3"};
  CHECK(flat(session.run<"again">(tf::feed<"x">(x))) == x);
  CHECK(flat(session.run<"of_bool">(tf::feed<"b">(std::vector<bool>{true, false}))) ==
        Strings{"true", "false"});
  CHECK(flat(session.run<"of_float">(tf::feed<"f">(std::vector<float>{0.1f, 16777216}))) ==
        Strings{"0.1", "16777216"});
  const auto as = []<class T>(T, const std::vector<double>& values) {
    std::vector<T> all;
    for (const double value : values) all.push_back(T(value));
    return all;
  };
  const std::vector<double> values = {0.1, 1 / 3., -65504, 1e-7, 1e-40, INFINITY, -0., 3};
  CHECK(flat(session.run<"of_float16">(tf::feed<"h">(as(tf::float16(), values)))) ==
        Strings{"0.1", "0.3333", "-65500", "1e-07", "0", "inf", "-0", "3"});
  CHECK(flat(session.run<"of_bfloat16">(tf::feed<"bf">(as(tf::bfloat16(), values)))) ==
        Strings{"0.1", "0.334", "-65500", "1e-07", "9e-41", "inf", "-0", "3"});
  CHECK(flat(session.run<"of_int64">(tf::feed<"i">(std::vector<std::int64_t>{
            std::numeric_limits<std::int64_t>::min()}))) == Strings{"-9223372036854775808"});
}

// The first values are those of TensorFlow's documentation.
TEST_CASE("string_to_hash_bucket_fast: values") {
  tf::Variables variables;
  tf::Session<hashes> session(variables);
  CHECK(flat(session.run<"fast">(tf::feed<"x">(Strings{"Hello", "TensorFlow", "2.x"}))) ==
        std::vector<std::int64_t>{0, 2, 2});
}

TEST_CASE("string_fingerprint: values") {
  tf::Variables variables;
  tf::Session<hashes> session(variables);
  // By farmhash.fingerprint64 of PyPI's pyfarmhash 0.4.0, of bytes (7 i + n) mod 251.
  struct Known {
    int size;
    std::uint64_t fingerprint;
  };
  for (const auto& [size, fingerprint] :
       {Known{0, 11160318154034397263u}, Known{1, 5161771770385946686u},
        Known{3, 4662423180930907492u}, Known{4, 13909349088106176104u},
        Known{7, 17233423938440663304u}, Known{8, 12627020141284786728u},
        Known{16, 9887023220782602712u}, Known{17, 16960068419638019727u},
        Known{32, 3992320350721670009u}, Known{33, 5910987537513190125u},
        Known{64, 9719393743865045798u}, Known{65, 3209512396189334845u},
        Known{128, 9860653571417009732u}, Known{129, 11846919615297853605u},
        Known{1000, 2009490412243269336u}}) {
    std::string x;
    for (int i = 0; i < size; ++i) x.push_back(static_cast<char>((7 * i + size) % 251));
    CAPTURE(size);
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(session.run<"fast_of_many">(tf::feed<"x">(Strings{x}))(0) ==
          static_cast<std::int64_t>(fingerprint % most));
    CHECK(session.run<"fingerprint">(tf::feed<"x">(Strings{x}))(0) == fingerprint);
  }
}

TEST_CASE("string_to_hash_bucket_strong: values") {
  tf::Variables variables;
  tf::Session<hashes> session(variables);
  CHECK(flat(session.run<"strong">(tf::feed<"x">(Strings{"Hello", "TF"}))) ==
        std::vector<std::int64_t>{2, 0});
  std::string x;  // the test vector of SipHash's paper
  for (int i = 0; i < 15; ++i) x.push_back(static_cast<char>(i));
  const std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(session.run<"strong_of_many">(tf::feed<"x">(Strings{x}))(0) ==
        static_cast<std::int64_t>(0xa129ca6149be45e5u % most));
}
