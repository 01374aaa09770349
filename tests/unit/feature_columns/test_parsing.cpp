// SPDX-License-Identifier: Apache-2.0

// Features of columns from Examples and tables, and what is wrong in them.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/feature_columns.hpp"
#include "typeflow/iterators.hpp"
#include "typeflow/iterators/csv_features.hpp"
#include "typeflow/records.hpp"
#include "typeflow/records/example_features.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using Strings = std::vector<std::string>;

constexpr auto pixels = tf::numeric_column<"pixels", 2>();
constexpr auto years = tf::with_default(tf::numeric_column<"years", std::int64_t>(), 7);
constexpr auto tags = tf::categorical_column_with_hash_bucket<"tags", 10, 3>();
constexpr auto weighted = tf::weighted_categorical_column<"weights">(tags);
constexpr auto education = tf::categorical_column_with_vocabulary_list<"education">({"a", "b"});
constexpr auto columns = tf::feature_columns(pixels, years, weighted, education);

tf::Example complete() {
  return {{{"pixels", std::vector<float>{1, 2}},
           {"years", std::vector<std::int64_t>{3}},
           {"tags", Strings{"x", "y"}},
           {"weights", std::vector<float>{0.5f, 2}},
           {"education", Strings{"b"}},
           {"unknown", Strings{"skipped"}}}};
}
tf::Example sparse() { return {{{"pixels", std::vector<float>{3, 4}}}}; }

tf::Dataset<std::string> encoded(const std::vector<tf::Example>& examples) {
  Strings records;
  for (const tf::Example& x : examples) records.push_back(tf::encode(x));
  return tf::from_elements(records);
}
/// The message of the error that reading all examples throws.
std::string error_of(const std::vector<tf::Example>& examples) {
  tf::DatasetIterator rows(tf::example_features(encoded(examples), columns));
  try {
    while (rows.next()) {
    }
  } catch (const tf::Error& why) {
    return why.what();
  }
  return "";
}

constexpr void sums(tf::Graph& g) {
  const auto f = feature_iterator(g, "examples", columns);
  sum(f.get<"pixels">()).named("pixel_sum");
  sum(dense_tensor(g, tf::indicator_column(weighted), f)).named("tag_sum");
  input_layer(g, "layer", f, tf::feature_columns(years, tf::indicator_column(education)))
      .named("layer_inputs");
}

constexpr auto steps = tf::feature_columns(tf::sequence_numeric_column<"steps">());
constexpr void sequences(tf::Graph& g) {
  const auto f = feature_iterator(g, "examples", steps);
  const auto [x, lengths] = sequence_input_layer(g, "layer", f, steps);
  x.named("x");
  lengths.named("lengths");
}

constexpr auto known_words =
    tf::sequence_categorical_column_with_vocabulary_list<"words">({"a", "b", "c"});
constexpr auto said = tf::feature_columns(tf::indicator_column(known_words));
constexpr void words_in_model(tf::Graph& g) {
  const auto f = feature_iterator(g, "examples", said);
  category_ids(g, known_words, f).named("ids");
  f.get<"words_length">().named("lengths");
}

void write(const char* path, const char* text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("parsing specification: types and values") {
  using Row = std::tuple<std::array<float, 2>, std::int64_t, std::array<std::string, 3>,
                         std::array<float, 3>, std::string>;
  tf::DatasetIterator rows(tf::example_features(encoded({complete(), sparse()}), columns));
  const auto first = rows.next();
  static_assert(std::is_same_v<const std::optional<Row>, decltype(first)>);
  CHECK(*first == Row({1, 2}, 3, {"x", "y", ""}, {0.5f, 2, 0}, "b"));
  CHECK(*rows.next() == Row({3, 4}, 7, {"", "", ""}, {0, 0, 0}, ""));
  CHECK_FALSE(rows.next());
}

TEST_CASE("parsed Examples feed a model") {
  tf::Variables variables;
  tf::DataSession<sums> session(variables);
  session.bind<"examples">(tf::example_features(encoded({complete(), sparse()}), columns).batch(2));
  const auto [pixel_sum, tag_sum, layer] = session.run<"pixel_sum", "tag_sum", "layer_inputs">();
  CHECK(pixel_sum == 10);
  CHECK(tag_sum == 2.5f);
  const std::vector<float> expected = {3, 0, 1, 7, 0, 0};
  CHECK(std::vector<float>(layer.begin(), layer.end()) == expected);
}

TEST_CASE("parsed sequences have their lengths") {
  tf::Variables variables;
  tf::DataSession<sequences> session(variables);
  const auto example = [](std::vector<float> x) { return tf::Example{{{"steps", std::move(x)}}}; };
  session.bind<"examples">(
      tf::example_features(encoded({example({1, 2}), example({}), example({5, 6, 7})}), steps)
          .padded_batch(3, {.padding = 9}));
  const auto [x, lengths] = session.run<"x", "lengths">();
  CHECK(std::vector<std::int32_t>(lengths.begin(), lengths.end()) ==
        std::vector<std::int32_t>{2, 0, 3});
  CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{1, 2, 0, 0, 0, 0, 5, 6, 7});
}

TEST_CASE("sequences of words are padded with \"\", and have their lengths") {
  const auto example = [](const char* key, tf::Feature x) {
    return tf::Example{{{key, std::move(x)}}};
  };
  const auto rows = [&](const std::vector<tf::Example>& examples) {
    return tf::example_features(encoded(examples), said);
  };
  const std::vector<tf::Example> examples = {example("words", Strings{"b", "unknown", "a"}),
                                             example("other", Strings{"a"}),
                                             example("words", Strings{"c"})};
  using Row = std::tuple<Strings>;
  tf::DatasetIterator each(rows(examples));
  static_assert(std::is_same_v<const std::optional<Row>, const decltype(each.next())>);
  CHECK(*each.next() == Row(Strings{"b", "unknown", "a"}));
  CHECK(*each.next() == Row());

  tf::DatasetIterator batches(rows(examples).padded_batch(2));
  {
    const auto [batch] = batches.next().value();
    CHECK(batch.values == Strings{"b", "unknown", "a", "", "", ""});
    CHECK(batch.lengths == std::vector<std::int32_t>{3, 0});
    CHECK(batch.bound == 3);
  }
  const auto [last] = batches.next().value();
  CHECK(last.values == Strings{"c"});
  tf::DatasetIterator marked(rows(examples).padded_batch(3, {.text_padding = "<end>"}));
  const auto [with_mark] = marked.next().value();
  CHECK(with_mark.values[3] == "<end>");
  CHECK(with_mark.values[8] == "<end>");
  tf::DatasetIterator buckets(
      rows(examples).bucket_by_length([](const Row& row) { return std::get<0>(row).size(); },
                                      {.bounds = {2}, .sizes = {2}, .text_padding = "-"}));
  CHECK(std::get<0>(buckets.next().value()).values == Strings{"-", "c"});

  tf::Variables variables;
  tf::DataSession<words_in_model> session(variables);
  session.bind<"examples">(rows(examples).padded_batch(3));
  {
    const auto [ids, lengths] = session.run<"ids", "lengths">();
    CHECK(std::vector<std::int64_t>(ids.begin(), ids.end()) ==
          std::vector<std::int64_t>{1, -1, 0, -1, -1, -1, 2, -1, -1});
    CHECK(std::vector<std::int32_t>(lengths.begin(), lengths.end()) ==
          std::vector<std::int32_t>{3, 0, 1});
    CHECK(ids.shape(1) == 3);
  }
  // No word in any example of the batch: no step.
  session.bind<"examples">(rows({examples[1], examples[1]}).padded_batch(2));
  CHECK(session.run<"ids">().shape(1) == 0);
}

TEST_CASE("wrong sequences of words: errors name the record and the feature") {
  const auto error_of = [](const Strings& records) {
    tf::DatasetIterator batches(
        tf::example_features(tf::from_elements(records), said).padded_batch(8));
    try {
      batches.next();
    } catch (const tf::Error& why) {
      return std::string(why.what());
    }
    return std::string();
  };
  const std::string good = tf::encode(tf::Example{{{"words", Strings{"a", "b"}}}});
  CHECK(error_of({good, good}).empty());
  CHECK(error_of({good, tf::encode(tf::Example{{{"words", std::vector<std::int64_t>{1}}}})}) ==
        "record 1: feature 'words': expected values of type bytes, got int64");
  CHECK(error_of({good.substr(0, good.size() - 1)}).find("record 0: an Example: is damaged") == 0);
  for (std::size_t size = 1; size < good.size(); ++size) {
    CAPTURE(size);
    const std::string why = error_of({good, good.substr(0, size)});
    CHECK((why.empty() || why.find("record 1: ") == 0));
  }
}

TEST_CASE("wrong Examples: errors name the record and the feature") {
  const auto with = [](const char* key, tf::Feature value) {
    tf::Example x = complete();
    x.features[key] = std::move(value);
    return x;
  };
  CHECK(error_of({complete(), complete()}).empty());
  tf::Example none = complete();
  none.features.erase("pixels");
  CHECK(error_of({complete(), none}) ==
        "record 1: feature 'pixels': is missing, and has no default");
  CHECK(error_of({with("pixels", std::vector<float>{1})}) ==
        "record 0: feature 'pixels': expected 2 values, got 1");
  CHECK(error_of({complete(), complete(), with("tags", Strings{"1", "2", "3", "4"})}) ==
        "record 2: feature 'tags': expected 3 values or fewer, got 4");
  CHECK(error_of({with("years", Strings{"old"})}) ==
        "record 0: feature 'years': expected values of type int64, got bytes");
  CHECK(error_of({with("education", Strings{"a", "b"})}) ==
        "record 0: feature 'education': expected 1 values, got 2");
  tf::DatasetIterator damaged(tf::example_features(
      tf::from_elements(Strings{tf::encode(complete()).substr(0, 20)}), columns));
  CHECK_THROWS_WITH_AS(damaged.next(), doctest::Contains("record 0: an Example: is damaged"),
                       tf::Error);
}

TEST_CASE("tables: rows of columns, and errors that name line and column") {
  constexpr auto ages =
      tf::feature_columns(tf::bucketized_column(tf::numeric_column<"age">(), {30}),
                          tf::with_default(tf::numeric_column<"hours">(), 40.5f), education,
                          tf::categorical_column_with_identity<"id", 5>());
  const char* const path = "feature_columns.csv";
  write(path, "id,education,age,hours,label\n4,b,17,,1\n,,30,8,0\n");
  tf::DatasetIterator rows(tf::csv_features<std::int32_t>(path, ages, {"label"}));
  using Row = std::tuple<float, float, std::string, std::int64_t, std::int32_t>;
  CHECK(*rows.next() == Row(17, 40.5f, "b", 4, 1));
  CHECK(*rows.next() == Row(30, 8, "", -1, 0));
  CHECK_FALSE(rows.next());

  write(path, "id,education,age,hours\n4,b,17,1\n3,a,old,2\n");
  tf::DatasetIterator wrong(tf::csv_features(path, ages));
  wrong.next();
  CHECK_THROWS_WITH_AS(wrong.next(), doctest::Contains("feature_columns.csv:3: column 3 'age'"),
                       tf::Error);
  write(path, "id,education,age,hours\n4,b,,1\n");
  tf::DatasetIterator empty(tf::csv_features(path, ages));
  CHECK_THROWS_WITH_AS(empty.next(), doctest::Contains("column 3 'age'"), tf::Error);
  write(path, "id,education,hours\n4,b,1\n");
  CHECK_THROWS_WITH_AS(tf::DatasetIterator(tf::csv_features(path, ages)).next(),
                       doctest::Contains("age"), tf::Error);
  CHECK_THROWS_AS(tf::csv_features<float>(path, ages), tf::Error);
  std::remove(path);
}

TEST_CASE("read_vocabulary: the first words of a file") {
  const char* const path = "feature_columns.txt";
  write(path, "red\ngreen\nblue\n");
  CHECK(tf::read_vocabulary(path, 2) == Strings{"red", "green"});
  CHECK(tf::read_vocabulary(path, 3).back() == "blue");
  CHECK_THROWS_WITH_AS(tf::read_vocabulary(path, 4), doctest::Contains("expected 4 words, got 3"),
                       tf::Error);
  std::remove(path);
}
