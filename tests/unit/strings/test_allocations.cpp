// SPDX-License-Identifier: Apache-2.0

// Kernels make the bytes of strings in memory that stays for the next run: from the second run on,
// nothing is allocated. What docs/guide.md says that allocates, does.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/allocations.hpp"
#include "typeflow/core/characters.hpp"
#include "typeflow/regex.hpp"
#include "typeflow/strings.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

constexpr void makes(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto joined = string_join(", ", x, "and a text that is long enough", x);
  auto all = reduce_join<0>(x, "+");
  auto number = placeholder<double, tf::batch>(g, "number");
  auto bytes =
      sum(string_length(joined)) + string_length(all) + sum(string_length(as_string(number)));
  bytes.named("bytes");
}
constexpr void reads(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto [tokens, counts] = string_split<3>(x, " ,");
  (sum(string_length(substr(x, 0, 1))) + sum(counts) + sum(string_length(tokens))).named("total");
}
constexpr void hashes(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto buckets =
      sum(string_to_hash_bucket_fast(x, 7)) + sum(string_to_hash_bucket_strong(x, 7, {1, 2}));
  (buckets + sum(tf::cast<std::int64_t>(string_fingerprint(x)))).named("total");
}
constexpr void converts(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  sum(string_to_number<double>(as_string(string_length(x)))).named("total");
}
constexpr void finds(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto keys = constant<std::string_view, 3>(g, {"a", "b", "a longer text than others"});
  auto values = constant<float, 3>(g, {1, 2, 3});
  (tf::cast<float>(sum(find_strings(x, keys))) + sum(lookup(x, keys, values, -1))).named("total");
}
constexpr void decodes(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  auto [number, text] = decode_csv<std::int32_t, std::string_view>(x);
  (sum(string_length(split_csv<2>(x))) + sum(number) + sum(string_length(text))).named("total");
}
constexpr void raw(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  sum(decode_raw<float, 2>(x)).named("total");
}
constexpr void matches(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  sum(string_length(regex_replace(x, "a(b*)", "\\1"))).named("total");
}
constexpr void matches_all(tf::Graph& g) {
  auto x = placeholder<std::string_view, tf::batch>(g, "x");
  sum(tf::cast<std::int32_t>(regex_full_match(x, "a.*"))).named("total");
}

/// The allocations of three runs after the first.
template <class Run>
long allocations_of(const Run& run) {
  run();
  const long before = allocations;
  for (int i = 0; i < 3; ++i) run();
  return allocations - before;
}
template <auto Model>
long allocations_of(const std::vector<std::string_view>& x) {
  tf::Variables variables;
  tf::Session<Model> session(variables);
  return allocations_of([&] { (void)session.template run<"total">(tf::feed<"x">(x)); });
}

const std::vector<std::string_view> texts = {"a b", "", "x,y  z,a much longer text", "no"};

}  // namespace

TEST_CASE("string_join, reduce_join, as_string: runs allocate nothing") {
  tf::Variables variables;
  tf::Session<makes> session(variables);
  const std::vector<double> numbers = {-1.2345678901234567e-300, 0, 1, 1e17};
  CHECK(allocations_of([&] {
          (void)session.run<"bytes">(tf::feed<"x">(texts), tf::feed<"number">(numbers));
        }) == 0);
}
TEST_CASE("string_length, substr, string_split: runs allocate nothing") {
  CHECK(allocations_of<reads>(texts) == 0);
}
TEST_CASE("string_fingerprint, string_to_hash_bucket_fast: runs allocate nothing") {
  CHECK(allocations_of<hashes>(texts) == 0);
}
TEST_CASE("string_to_hash_bucket_strong: runs allocate nothing") {
  CHECK(allocations_of<hashes>(texts) == 0);
}
TEST_CASE("string_to_number, find_strings, string_index, lookup: runs allocate nothing") {
  CHECK(allocations_of<converts>(texts) == 0);
  CHECK(allocations_of<finds>(texts) == 0);
}
TEST_CASE("split_csv, decode_csv, decode_raw: runs allocate nothing") {
  CHECK(allocations_of<decodes>({"1,2", "3,\"a \"\"quoted\"\" field\""}) == 0);
  CHECK(allocations_of<raw>({"12345678", "abcdefgh"}) == 0);
}
TEST_CASE("regular expressions allocate, as docs/guide.md says") {
  CHECK(allocations_of<matches>(texts) > 0);
  CHECK(allocations_of<matches_all>(texts) > 0);
}

TEST_CASE("characters: rooms grow, and one is left that is large enough for all") {
  tf::Characters characters;
  const auto fill = [&] {
    std::vector<std::string_view> made;
    for (std::size_t n = 0; n < 200; ++n) {
      char* const bytes = characters.allocate(n);
      std::fill_n(bytes, n, static_cast<char>('a' + n % 26));
      made.emplace_back(bytes, n);
    }
    for (std::size_t n = 0; n < made.size(); ++n) {
      CHECK(made[n] == std::string(n, static_cast<char>('a' + n % 26)));
    }
    characters.clear();
  };
  fill();
  const long before = allocations;
  (void)characters.allocate(199 * 200 / 2);
  CHECK(allocations == before);
  characters.clear();
  fill();
}

TEST_CASE("characters: what is appended follows, in whichever room") {
  tf::Characters characters;
  const std::string_view first(characters.append(characters.allocate(0), 0, "kept"), 4);
  char* begin = characters.allocate(0);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
    begin = characters.append(begin, expected.size(), piece);
    expected += piece;
    CHECK(std::string_view(begin, expected.size()) == expected);
  }
  CHECK(first == "kept");
  // A part of the same string, which moves to another room.
  begin = characters.append(begin, expected.size(), std::string_view(begin, expected.size()));
  CHECK(std::string_view(begin, 2 * expected.size()) == expected + expected);
}
