// SPDX-License-Identifier: Apache-2.0

// Dense columns beside TensorFlow's (tests/peers/feature_columns.py).

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "peers/feature_columns.hpp"
#include "typeflow/feature_columns.hpp"
#include "typeflow/typeflow.hpp"
#include "unit/feature_columns/examples.hpp"

namespace tf = typeflow;
namespace peer = peers::feature_columns;
using namespace examples;

namespace {

constexpr auto tags_oov =
    tf::categorical_column_with_vocabulary_list<"tags", 2, 3>({"a", "b", "c"});
constexpr auto tags_default = tf::categorical_column_with_vocabulary_list<"tags", 0, 3>(
    {"a", "b", "c"}, {.default_value = 1});
constexpr auto levels_oov = tf::categorical_column_with_vocabulary_list<"level", 3>({7, 1, 5});

constexpr auto needed = tf::feature_columns(age_column, pixels_column, education_column,
                                            tags_column, weighted, day_column, levels);

constexpr void dense_columns(tf::Graph& g) {
  const auto f = feature_placeholders(g, needed);
  dense_tensor(g, age_column, f).named("numbers");
  dense_tensor(g, pixels_column, f).named("pixel_numbers");
  dense_tensor(g, age_buckets, f).named("age_buckets");
  dense_tensor(g, pixel_buckets, f).named("pixel_buckets");
  const auto indicator = [&](const auto& column) {
    return dense_tensor(g, tf::indicator_column(column), f);
  };
  indicator(education_column).named("education_counts");
  indicator(levels_hashed).named("levels_hashed_counts");
  indicator(tags_column).named("tags_counts");
  indicator(tags_oov).named("tags_oov_counts");
  indicator(tags_default).named("tags_default_counts");
  indicator(levels).named("levels_counts");
  indicator(levels_oov).named("levels_oov_counts");
  indicator(day_column).named("days_counts");
  indicator(weighted).named("weighted_counts");
  indicator(cross).named("cross_counts");
  indicator(cross_tags).named("cross_tags_counts");
  category_ids(g, tf::crossed_column<10'000'000>(tf::raw_feature<"education">(), age_buckets), f)
      .named("crossed_ids");
}

}  // namespace

TEST_CASE("dense columns: TensorFlow's values") {
  tf::Variables variables;
  tf::Session<dense_columns> session(variables);
  const auto got =
      session.run<"numbers", "pixel_numbers", "age_buckets", "pixel_buckets", "education_counts",
                  "levels_hashed_counts", "tags_counts", "tags_oov_counts", "tags_default_counts",
                  "levels_counts", "levels_oov_counts", "days_counts", "weighted_counts",
                  "cross_counts", "cross_tags_counts", "crossed_ids">(
          tf::feed<"age">(age), tf::feed<"pixels">(pixels), tf::feed<"education">(education),
          tf::feed<"tags">(tags), tf::feed<"weights">(weights), tf::feed<"day">(day),
          tf::feed<"level">(level));
  check_equal("numbers", std::get<0>(got), peer::numbers);
  check_equal("pixel_numbers", std::get<1>(got), peer::pixel_numbers);
  check_equal("age_buckets", std::get<2>(got), peer::age_buckets);
  check_equal("pixel_buckets", std::get<3>(got), peer::pixel_buckets);
  check_equal("education", std::get<4>(got), peer::education_indicator);
  check_equal("levels_hashed", std::get<5>(got), peer::levels_hashed_indicator);
  check_equal("tags", std::get<6>(got), peer::tags_indicator);
  check_equal("tags_oov", std::get<7>(got), peer::tags_oov_indicator);
  check_equal("tags_default", std::get<8>(got), peer::tags_default_indicator);
  check_equal("levels", std::get<9>(got), peer::levels_indicator);
  check_equal("levels_oov", std::get<10>(got), peer::levels_oov_indicator);
  check_equal("days", std::get<11>(got), peer::day_indicator);
  check_equal("weighted", std::get<12>(got), peer::weighted_indicator);
  check_equal("cross", std::get<13>(got), peer::cross_indicator);
  check_equal("cross_tags", std::get<14>(got), peer::cross_tags_indicator);
  // TensorFlow's ids are sparse: the third example has no education.
  const auto& ids = std::get<15>(got);
  CHECK(ids(0, 0) == peer::crossed_ids[0]);
  CHECK(ids(1, 0) == peer::crossed_ids[1]);
  CHECK(ids(2, 0) == -1);
  CHECK(ids(3, 0) == peer::crossed_ids[2]);
}
