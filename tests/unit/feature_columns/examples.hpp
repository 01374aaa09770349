// SPDX-License-Identifier: Apache-2.0
#pragma once

// The four examples of tests/peers/feature_columns.py, and the variables' values there.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/feature_columns.hpp"
#include "typeflow/runtime/session.hpp"

namespace examples {

namespace tf = typeflow;

using Strings = std::vector<std::string>;

inline const std::vector<float> age = {17, 18, 64.5f, 65};
inline const std::vector<float> pixels = {0.5f, -1, 2, 3.5f, 0, 0.25f, 1, 1};
inline const Strings education = {"Bachelors", "HS-grad", "", "10th"};
inline const Strings tags = {"a", "b", "a", "c", "", "", "", "", "", "b", "d", "zz"};
inline const std::vector<float> weights = {1, 2, -0.5f, 0.25f, 9, 9, 9, 9, 9, 0, 3, 1};
inline const std::vector<std::int64_t> day = {0, 6, -1, 3};
inline const std::vector<std::int64_t> level = {5, 1, 8, 7};

constexpr auto age_column = tf::numeric_column<"age">([](auto x) { return (x - 40.0f) / 8.0f; });
constexpr auto pixels_column = tf::numeric_column<"pixels", 2>();
constexpr auto age_buckets = tf::bucketized_column(tf::numeric_column<"age">(), {18, 25, 65});
constexpr auto pixel_buckets = tf::bucketized_column(pixels_column, {0, 1});
constexpr auto education_column = tf::categorical_column_with_hash_bucket<"education", 7>();
constexpr auto levels_hashed = tf::categorical_column_with_hash_bucket<"level", std::int64_t, 7>();
constexpr auto tags_column =
    tf::categorical_column_with_vocabulary_list<"tags", 0, 3>({"a", "b", "c"});
constexpr auto levels = tf::categorical_column_with_vocabulary_list<"level">({7, 1, 5});
constexpr auto day_column = tf::categorical_column_with_identity<"day", 7>();
constexpr auto weighted = tf::weighted_categorical_column<"weights">(tags_column);
constexpr auto cross =
    tf::crossed_column<12>(tf::raw_feature<"education">(), age_buckets, day_column);
constexpr auto cross_tags = tf::crossed_column<50>(tags_column, tf::raw_feature<"education">());

/// Sets all variables of the store to the values of feature_columns.py.
inline void set_values(tf::Variables& variables) {
  for (const auto& name : variables.names()) {
    std::size_t k = 0;
    for (float& value : variables.get<float>(name)) {
      value = 0.25f * static_cast<float>(static_cast<int>((7 * k++ + 3) % 11) - 5);
    }
  }
}

/// Equal to float's precision.
inline void check_equal(const char* what, const auto& got, const std::vector<double>& expected) {
  const std::string name = what;
  CAPTURE(name);
  REQUIRE(got.size() == expected.size());
  std::size_t i = 0;
  for (const float x : got) {
    CAPTURE(i);
    CHECK(static_cast<double>(x) == doctest::Approx(expected[i++]).epsilon(1e-6));
  }
}

}  // namespace examples
