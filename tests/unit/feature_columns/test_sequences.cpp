// SPDX-License-Identifier: Apache-2.0

// Columns of sequences beside TensorFlow's (tests/peers/feature_columns.py), and errors of the run.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "peers/feature_columns.hpp"
#include "typeflow/feature_columns.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/feature_columns/examples.hpp"

namespace tf = typeflow;
namespace peer = peers::feature_columns;
using namespace examples;

namespace {

constexpr auto words = tf::sequence_categorical_column_with_hash_bucket<"words", 7>();
constexpr auto known =
    tf::sequence_categorical_column_with_vocabulary_list<"words">({"a", "b", "c"});
constexpr auto prices = tf::sequence_numeric_column<"prices">([](auto x) { return x * 2.0f; });
constexpr auto days = tf::sequence_categorical_column_with_identity<"days", 7>();

constexpr void sequences(tf::Graph& g) {
  const auto columns =
      tf::feature_columns(tf::indicator_column(words), tf::embedding_column<3>(known), prices);
  const auto f = feature_placeholders(g, columns);
  sequence_tensor(g, tf::indicator_column(words), f).named("indicator");
  sequence_tensor(g, tf::embedding_column<3>(known), f).named("embedding");
  sequence_tensor(g, prices, f).named("numbers");
  const auto [inputs, lengths] = sequence_input_layer(g, "layer", f, columns);
  inputs.named("inputs");
  lengths.named("lengths");
}

constexpr void identities(tf::Graph& g) {
  const auto f = feature_placeholders<3>(g, tf::feature_columns(days, day_column));
  category_ids(g, days, f).named("day_ids");
  category_ids(g, day_column, f).named("one_day");
  category_ids(g, tf::categorical_column_with_identity<"day", 7>({.default_value = 2}), f)
      .named("or_two");
}

constexpr void from_file(tf::Graph& g) {
  const auto column = tf::categorical_column_with_vocabulary_file<"word", 3, 2>();
  const auto f = feature_placeholders(g, tf::feature_columns(column));
  category_ids(g, column, f).named("ids");
}

const Strings word_rows = {"a", "zz", "b", "c", "x", "x", "x", "x", "x", "b", "a", "x"};
const std::vector<float> price_rows = {1.5f, 2, -1, 0.5f, 9, 9, 9, 9, 9, 4, 8, 9};
const std::vector<std::int32_t> lengths = {3, 1, 0, 2};

}  // namespace

TEST_CASE("sequence columns: TensorFlow's values") {
  tf::Variables variables;
  tf::Session<sequences> session(variables);
  set_values(variables);
  const auto got = session.run<"indicator", "embedding", "numbers", "inputs", "lengths">(
      tf::feed<"words">(word_rows), tf::feed<"words_length">(lengths),
      tf::feed<"prices">(price_rows.data(), {4, 3}), tf::feed<"prices_length">(lengths));
  check_equal("indicator", std::get<0>(got), peer::sequence_indicator);
  check_equal("embedding", std::get<1>(got), peer::sequence_embedding);
  check_equal("numbers", std::get<2>(got), peer::sequence_numbers);
  const auto& inputs = std::get<3>(got);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t k = 0; k < 7; ++k) CHECK(inputs(i, t, k) == std::get<0>(got)(i, t, k));
      for (std::size_t k = 0; k < 3; ++k) CHECK(inputs(i, t, 7 + k) == std::get<1>(got)(i, t, k));
      CHECK(inputs(i, t, 10) == std::get<2>(got)(i, t, 0));
    }
    CHECK(std::get<4>(got)(i) == lengths[i]);
  }
}

TEST_CASE("identity columns: ids out of range") {
  tf::Variables variables;
  tf::Session<identities> session(variables);
  const std::vector<std::int64_t> rows = {0, 6, 99, 5, -7, 99};  // 99 and -7 are after the end
  const std::vector<std::int32_t> counts = {2, 1};
  const auto ids = session.run<"day_ids">(tf::feed<"days">(rows), tf::feed<"days_length">(counts));
  const std::vector<std::int64_t> expected = {0, 6, -1, 5, -1, -1};
  CHECK(std::vector<std::int64_t>(ids.begin(), ids.end()) == expected);

  const std::vector<std::int64_t> wrong = {3, 7};
  const auto replaced = session.run<"or_two">(tf::feed<"day">(wrong));
  CHECK(replaced(0, 0) == 3);
  CHECK(replaced(1, 0) == 2);
  CHECK_THROWS_WITH_AS(session.run<"one_day">(tf::feed<"day">(wrong)),
                       doctest::Contains("an id is out of range"), tf::Error);
  const std::vector<std::int64_t> negative = {-2};
  CHECK_THROWS_AS(session.run<"one_day">(tf::feed<"day">(negative)), tf::Error);
  // An empty batch has no ids.
  CHECK(session.run<"one_day">(tf::feed<"day">(std::vector<std::int64_t>{})).size() == 0);
}

TEST_CASE("vocabulary columns of files: the words are a variable") {
  tf::Variables variables;
  tf::Session<from_file> session(variables);
  const std::vector<std::string_view> vocabulary = {"red", "green", "blue"};
  variables.set("word/vocabulary", std::span<const std::string_view>(vocabulary));
  const auto ids = session.run<"ids">(tf::feed<"word">(Strings{"blue", "red", "", "d", "zz"}));
  CHECK(ids(0, 0) == 2);
  CHECK(ids(1, 0) == 0);
  CHECK(ids(2, 0) == -1);
  // As in tags_oov_indicator, whose vocabulary has as many words: "d" and "zz" in other buckets.
  CHECK(ids(3, 0) + ids(4, 0) == 7);
}
