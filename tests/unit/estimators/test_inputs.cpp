// SPDX-License-Identifier: Apache-2.0

// Inputs of estimators: rows of arrays, datasets, padded batches, feature columns, tables.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <typeflow/estimators.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/iterators/csv_features.hpp>
#include <typeflow/typeflow.hpp>

#include "support/folder.hpp"

namespace tf = typeflow;

namespace {

/// All batches of inputs.
template <class T, class... N>
std::vector<T> batches_of(const tf::Inputs<T, N...>& inputs, int most = 100) {
  std::vector<T> batches;
  tf::DatasetIterator<T> reader(inputs.batches());
  while (static_cast<int>(batches.size()) < most) {
    auto next = reader.next();
    if (!next) break;
    batches.push_back(std::move(*next));
  }
  return batches;
}

using Columns = std::vector<float>;
using Numbers = std::vector<std::int32_t>;

constexpr auto columns = tf::feature_columns(
    tf::numeric_column<"age">(), tf::categorical_column_with_vocabulary_list<"sex">({"f", "m"}));

/// A model without a mode, of texts' lengths in padded batches and of a table's features.
constexpr void table(tf::Graph& g) {
  const auto features = tf::feature_placeholders(g, columns);
  auto income = placeholder<float, tf::batch>(g, "income");
  auto y = reshape<tf::batch>(linear_model(g, "linear", features, columns)).named("y");
  auto loss = mean(square(y - income)).named("loss");
  tf::GradientDescent{.rate = 0}.minimize(loss).named("train");
}
constexpr void sequences(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, tf::symbol<"time">>(g, "x");
  auto lengths = placeholder<std::int32_t, tf::batch>(g, "x_length");
  auto w = variable<float>(g, "w", tf::ones());
  sum<1>(x).named("totals");
  cast<float>(lengths).named("lengths");
  auto loss = mean(square(w * sum<1>(x) - cast<float>(lengths))).named("loss");
  tf::GradientDescent{.rate = 0}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("Rows of arrays come in batches, in their order, as often as is asked for") {
  const std::vector<float> x{0, 1, 10, 11, 20, 21, 30, 31, 40, 41};
  const std::int32_t label[] = {0, 1, 2, 3, 4};
  const auto once =
      batches_of(tf::rows<"x", "label">({.batch = 2, .epochs = 1}, tf::matrix(x, 2), label));
  REQUIRE(once.size() == 3);
  CHECK(once[0] == std::tuple(Columns{0, 1, 10, 11}, Numbers{0, 1}));
  CHECK(once[2] == std::tuple(Columns{40, 41}, Numbers{4}));

  const auto all = batches_of(tf::rows<"label">({.epochs = 2}, label));
  REQUIRE(all.size() == 2);
  CHECK(std::get<0>(all[1]) == Numbers{0, 1, 2, 3, 4});
  const auto twice = batches_of(tf::rows<"label">({.batch = 4, .epochs = 2}, label));
  REQUIRE(twice.size() == 3);  // a batch goes on in the next epoch
  CHECK(std::get<0>(twice[1]) == Numbers{4, 0, 1, 2});
  CHECK(std::get<0>(twice[2]) == Numbers{3, 4});
  CHECK(batches_of(tf::rows<"label">({}, label), 7).size() == 7);
  CHECK(std::get<0>(batches_of(tf::rows<"label">({.batch = 99, .epochs = 1}, label))[0]).size() ==
        5);
}

TEST_CASE("Shuffled rows are each once in an epoch, in an order of the seed") {
  std::vector<std::int32_t> label(50);
  for (std::size_t i = 0; i < 50; ++i) label[i] = static_cast<std::int32_t>(i);
  const auto order = [&](std::uint64_t seed) {
    return batches_of(
        tf::rows<"label">({.batch = 50, .epochs = 2, .shuffle = true, .seed = seed}, label));
  };
  const auto first = order(1);
  CHECK(first == order(1));
  CHECK(first != order(2));
  CHECK(first[0] != first[1]);
  for (auto epoch : first) {
    std::ranges::sort(std::get<0>(epoch));
    CHECK(std::get<0>(epoch) == label);
  }
}

TEST_CASE("Arrays with shapes, texts and truth values are rows, and are copied") {
  tf::Array<double, 3> images({2, 2, 2});
  for (std::size_t i = 0; i < 8; ++i) images.data()[i] = static_cast<double>(i);
  std::vector<std::string> words{"a", "b"};
  const bool flags[] = {true, false, false, true};
  const auto inputs = tf::rows<"image", "word", "flag">({.batch = 1, .epochs = 1}, images, words,
                                                        tf::matrix(std::span(flags), 2));
  words[1] = "c";
  const auto found = batches_of(inputs);
  REQUIRE(found.size() == 2);
  CHECK(std::get<0>(found[1]) == std::vector<double>{4, 5, 6, 7});
  CHECK(std::get<1>(found[1]) == std::vector<std::string>{"b"});
  CHECK(std::get<2>(found[0]) == std::vector<bool>{true, false});
  CHECK(std::get<2>(found[1]) == std::vector<bool>{false, true});
  CHECK(inputs.names() == "\"image\", \"word\", \"flag\"");
}

TEST_CASE("A table's features and a label go to the placeholders of their names") {
  const Folder folder;
  std::FILE* const file = std::fopen((folder / "people.csv").c_str(), "w");
  std::fputs("sex,income,age\nf,3,20\nm,5,30\nf,7,40\n", file);
  std::fclose(file);
  const auto rows = tf::csv_features<float>((folder / "people.csv").string(), columns, {"income"});
  tf::Estimator<table> estimator({.progress = nullptr});
  estimator.fit(tf::feature_inputs<"income">(columns, rows.batch(2)));
  CHECK(estimator.step() == 2);
  const auto found = estimator.evaluate(tf::feature_inputs<"income">(columns, rows.batch(3)));
  CHECK(found["loss"] == doctest::Approx((9 + 25 + 49) / 3.0));  // weights are zeros
  CHECK(estimator.predict<"y">(tf::feature_inputs<"income">(columns, rows.batch(2))).size() == 3);
  CHECK_THROWS_WITH(
      estimator.fit(tf::feature_inputs<"income">(
          columns,
          tf::csv_features<float>((folder / "people.csv").string(), columns, {"wage"}).batch(2))),
      doctest::Contains("wage"));
}

TEST_CASE("Padded batches are values and lengths") {
  const auto rows = tf::from_elements(std::vector<Columns>{{1, 2, 3}, {4}, {5, 6}});
  const auto inputs = tf::inputs<"x", "x_length">(rows.padded_batch(2));
  tf::Estimator<sequences> estimator({.progress = nullptr});
  CHECK(estimator.partial_fit(inputs).steps == 2);
  const auto [totals, lengths] = estimator.predict<"totals", "lengths">(inputs);
  CHECK(std::vector<float>(totals.begin(), totals.end()) == Columns{6, 4, 11});
  CHECK(std::vector<float>(lengths.begin(), lengths.end()) == Columns{3, 1, 2});
  CHECK(estimator.evaluate(inputs)["loss"] == doctest::Approx(((9 + 9) / 2.0 + 81) / 2));
}

TEST_CASE("feeds of padded texts have two axes, of no rows and no steps, too") {
  const tf::PaddedBatch<std::string> batch{{"a", "", "b", "c"}, {1, 2}, 2};
  const auto f = tf::detail::padded_feed<"x">(batch);
  CHECK(f.rank == 2);
  CHECK(f.extents[0] == 2);
  CHECK(f.extents[1] == 2);
  CHECK(f.count == 4);
  CHECK(f.data()[2] == "b");
  const auto empty = tf::detail::padded_feed<"x">(tf::PaddedBatch<std::string>{{}, {0, 0, 0}, 0});
  CHECK(empty.extents[0] == 3);
  CHECK(empty.extents[1] == 0);
  CHECK(empty.count == 0);
}
