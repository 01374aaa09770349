// SPDX-License-Identifier: Apache-2.0

// regex_replace, regex_full_match: against the values of TensorFlow 2.21, whose engine is RE2.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "typeflow/regex.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/strings/strings.hpp"

namespace tf = typeflow;

namespace {

const Strings x = {"hello world", "aaa",        "",
                   "a.b.c\012x",  "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"};

struct Case {
  std::string pattern;
  std::string rewrite;
  Strings replaced;
  std::vector<bool> full;
};
// tf.strings.regex_replace(x, pattern, rewrite) and tf.strings.regex_full_match(x, pattern)
const Case cases[] = {
    {"o",
     "0",
     {"hell0 w0rld", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"a*",
     "-",
     {"-h-e-l-l-o- -w-o-r-l-d-", "-", "-", "-.-b-.-c-\012-x-", "-2-0-2-4---0-1---3-1-",
      "-\346\227\245-\346\234\254- -\303\251-_-Q-"},
     {false, true, true, false, false, false}},
    {"(\\d+)-(\\d+)-(\\d+)",
     "\\3/\\2/\\1",
     {"hello world", "aaa", "", "a.b.c\012x", "31/01/2024", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, true, false}},
    {"(\\w)(\\w)",
     "\\2\\1",
     {"ehllo owlrd", "aaa", "", "a.b.c\012x", "0242-10-13", "\346\227\245\346\234\254 \303\251Q_"},
     {false, false, false, false, false, false}},
    {"^",
     "<",
     {"<hello world", "<aaa", "<", "<a.b.c\012x", "<2024-01-31",
      "<\346\227\245\346\234\254 \303\251_Q"},
     {false, false, true, false, false, false}},
    {"$",
     ">",
     {"hello world>", "aaa>", ">", "a.b.c\012x>", "2024-01-31>",
      "\346\227\245\346\234\254 \303\251_Q>"},
     {false, false, true, false, false, false}},
    {".",
     "#",
     {"###########", "###", "", "#####\012#", "##########", "######"},
     {false, false, false, false, false, false}},
    {"\\b",
     "|",
     {"|hello| |world|", "|aaa|", "", "|a|.|b|.|c|\012|x|", "|2024|-|01|-|31|",
      "\346\227\245\346\234\254 \303\251|_Q|"},
     {false, false, false, false, false, false}},
    {"[aeiou]",
     "[\\0]",
     {"h[e]ll[o] w[o]rld", "[a][a][a]", "", "[a].b.c\012x", "2024-01-31",
      "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"(?i)HELLO|q",
     "hi",
     {"hi world", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_hi"},
     {false, false, false, false, false, false}},
    {"l+?",
     "L",
     {"heLLo worLd", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"x{0}",
     "e",
     {"eheeeleleoe eweoerelede", "eaeaeae", "e", "eae.ebe.ece\012exe", "e2e0e2e4e-e0e1e-e3e1e",
      "e\346\227\245e\346\234\254e e\303\251e_eQe"},
     {false, false, true, false, false, false}},
    {"(a)|b",
     "<\\1>",
     {"hello world", "<a><a><a>", "", "<a>.<>.c\012x", "2024-01-31",
      "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"(?:(?m)^|$)",
     "!",
     {"!hello world!", "!aaa!", "!", "!a.b.c!\012!x!", "!2024-01-31!",
      "!\346\227\245\346\234\254 \303\251_Q!"},
     {false, false, true, false, false, false}},
    {"[^\\w\\s]+",
     "_",
     {"hello world", "aaa", "", "a_b_c\012x", "2024_01_31", "_ __Q"},
     {false, false, false, false, false, false}},
    {"[\346\227\245-\346\234\254]+",
     "J",
     {"hello world", "aaa", "", "a.b.c\012x", "2024-01-31", "J \303\251_Q"},
     {false, false, false, false, false, false}},
    {"(?s:b.c.)",
     "S",
     {"hello world", "aaa", "", "a.Sx", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"(?P<first>\\w+) (\\w+)",
     "\\2 \\1",
     {"world hello", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {true, false, false, false, false, false}},
    {"(|a)*",
     "*",
     {"*h*e*l*l*o* *w*o*r*l*d*", "*a*a*a*", "*", "*a*.*b*.*c*\012*x*", "*2*0*2*4*-*0*1*-*3*1*",
      "*\346\227\245*\346\234\254* *\303\251*_*Q*"},
     {false, true, true, false, false, false}},
    {"[[:alpha:]]{2,3}",
     "#",
     {"## ##", "#", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, true, false, false, false, false}},
    {"\\x61\\.\\x{62}",
     "AB",
     {"hello world", "aaa", "", "AB.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"l{2}|o w",
     "\\\\",
     {"he\\\\orld", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"\\Q.b\\E",
     "#",
     {"hello world", "aaa", "", "a#.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"\\Qa.\\E+|\\Q-01",
     "#",
     {"hello world", "aaa", "", "#b.c\012x", "2024#-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"(?i)\\QHEL\\E{2}(o\\Q w\\E)",
     "<\\1>",
     {"<o w>orld", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251_Q"},
     {false, false, false, false, false, false}},
    {"a\\Q\\E*\\Q\\E",
     "-",
     {"-h-e-l-l-o- -w-o-r-l-d-", "-", "-", "-.-b-.-c-\012-x-", "-2-0-2-4---0-1---3-1-",
      "-\346\227\245-\346\234\254- -\303\251-_-Q-"},
     {false, true, true, false, false, false}},
    {"(\\Q\346\234\254 \303\251\\E)_\\QQ\\E",
     "\\1",
     {"hello world", "aaa", "", "a.b.c\012x", "2024-01-31", "\346\227\245\346\234\254 \303\251"},
     {false, false, false, false, false, false}},
};

constexpr void model(tf::Graph& g) {
  auto in = placeholder<std::string_view, tf::batch>(g, "x");
  regex_replace(in, "(\\w+)-(\\w+)", "\\2-\\1").named("swapped");
  regex_replace(in, "[a-z]", "#", {.all = false}).named("first");
  regex_full_match(in, "(?i)[a-z ]+").named("words");
}

std::string error_of(std::string_view pattern) {
  return std::string(tf::detail::RegexProgram(pattern).error);
}

}  // namespace

TEST_CASE("regex_replace: values") {
  for (const Case& c : cases) {
    CAPTURE(c.pattern);
    const tf::detail::RegexProgram program(c.pattern);
    REQUIRE(program.error == "");
    REQUIRE(tf::detail::rewrite_error(c.rewrite, program.groups) == "");
    tf::detail::RegexMatcher matcher(program);
    for (std::size_t i = 0; i < x.size(); ++i) {
      std::string out;
      matcher.replace(x[i], c.rewrite, true, out);
      CHECK(out == c.replaced[i]);
    }
  }
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(flat(session.run<"swapped">(tf::feed<"x">(x))) ==
        Strings{x[0], x[1], x[2], x[3], "01-2024-31", x[5]});
  CHECK(flat(session.run<"first">(tf::feed<"x">(x))) ==
        Strings{"#ello world", "#aa", "", "#.b.c\nx", x[4], x[5]});
  CHECK(session.run<"first">(tf::feed<"x">(Strings{})).size() == 0);
}

TEST_CASE("regex_full_match: values") {
  for (const Case& c : cases) {
    CAPTURE(c.pattern);
    const tf::detail::RegexProgram program(c.pattern);
    tf::detail::RegexMatcher matcher(program);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(matcher.full_match(x[i]) == c.full[i]);
  }
  tf::Variables variables;
  tf::Session<model> session(variables);
  CHECK(flat(session.run<"words">(tf::feed<"x">(Strings{"Hello world", "", "a1", "z"}))) ==
        std::vector<bool>{true, false, false, true});
}

TEST_CASE("a pattern that lets others try all ways takes linear time") {
  const tf::detail::RegexProgram program("(a*)*(a|aa)+b|(x+x+)+y");
  tf::detail::RegexMatcher matcher(program);
  const std::string text = std::string(2000, 'a') + std::string(2000, 'x');
  std::string out;
  matcher.replace(text.substr(0, 1500), "", true, out);
  CHECK(out == text.substr(0, 1500));
  // A long string does not need a deep stack.
  const tf::detail::RegexProgram any("(?:a|b)*");
  tf::detail::RegexMatcher long_match(any);
  CHECK(long_match.full_match(std::string(1 << 20, 'b')));
}

TEST_CASE("bytes that are not UTF-8 match nothing and stay") {
  const tf::detail::RegexProgram program(".");
  tf::detail::RegexMatcher matcher(program);
  std::string out;
  matcher.replace("a\xFF\xE6\x97z\xC0\x80\xED\xA0\x80", "#", true, out);
  CHECK(out == "#\xFF\xE6\x97#\xC0\x80\xED\xA0\x80");
}

TEST_CASE("no match begins inside a code point") {  // in RE2 one of \\B may
  const tf::detail::RegexProgram program("\\B");
  tf::detail::RegexMatcher matcher(program);
  std::string out;
  matcher.replace("a\303\251 b\346\227\245", "-", true, out);
  CHECK(out == "a\303\251- b\346\227\245-");
}

TEST_CASE("regex_replace: errors") {
  CHECK(error_of("(") == "missing )");
  CHECK(error_of("a)") == "unexpected )");
  CHECK(error_of("[a") == "missing ]");
  CHECK(error_of("[b-a]") == "invalid range of characters");
  CHECK(error_of("[a-\\d]") == "invalid range of characters");
  CHECK(error_of("[[:letter:]]") == "invalid name of a class of characters");
  CHECK(error_of("*") == "no argument for a repetition operator");
  CHECK(error_of("a|+") == "no argument for a repetition operator");
  CHECK(error_of("(?i)*") == "no argument for a repetition operator");
  CHECK(error_of("a**") == "bad repetition operator");
  CHECK(error_of("a{2,1}") == "invalid repetition size");
  CHECK(error_of("a{1001}") == "invalid repetition size");
  CHECK(error_of("((a{100}){100}){100}") == "the pattern is too large");
  CHECK(error_of(std::string(300, '(')) == "the groups are nested too deeply");
  CHECK(error_of("\\1") == "invalid escape sequence");
  CHECK(error_of("\\x{110000}") == "invalid escape sequence");
  CHECK(error_of("\\C") == "invalid escape sequence");
  CHECK(error_of("a\\E") == "invalid escape sequence");
  CHECK(error_of("\\Q\\E*") == "no argument for a repetition operator");
  CHECK(error_of("\\") == "trailing \\");
  CHECK(error_of("(?U:a)") == "invalid flags of a group");
  CHECK(error_of("(?P<>a)") == "invalid name of a group");
  CHECK(error_of("\xFF") == "the pattern is not UTF-8");
  tf::Graph g;
  auto in = placeholder<std::string_view, 2>(g, "x");
  CHECK_THROWS_WITH_AS(
      regex_replace(in, "a(b", ""),
      doctest::Contains("regex_replace(x, pattern, rewrite): missing ) in \"a(b\""), tf::Error);
  CHECK_THROWS_WITH_AS(regex_replace(in, "a", "\\1"),
                       doctest::Contains("the pattern has no such group in \"\\1\""), tf::Error);
  CHECK_THROWS_WITH_AS(regex_replace(in, "a", "\\n"),
                       doctest::Contains("invalid escape sequence in \"\\n\""), tf::Error);
}

TEST_CASE("regex_full_match: errors") {
  tf::Graph g;
  auto in = placeholder<std::string_view, 2>(g, "x");
  CHECK_THROWS_WITH_AS(regex_full_match(in, "[z"),
                       doctest::Contains("regex_full_match(x, pattern): missing ] in \"[z\""),
                       tf::Error);
}
