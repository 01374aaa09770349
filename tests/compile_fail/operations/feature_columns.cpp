// SPDX-License-Identifier: Apache-2.0

// Wrong uses of feature columns. Each line below must be an error with the text in its comment;
// without them (-DCORRECTED) the file compiles.

#include "typeflow/feature_columns.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  constexpr auto age = tf::numeric_column<"age">();
  constexpr auto word = tf::categorical_column_with_hash_bucket<"word", 10>();
  constexpr auto day = tf::categorical_column_with_identity<"day", 7>();
  constexpr auto other = tf::numeric_column<"word">();
  constexpr auto missing = tf::numeric_column<"ages">();
  constexpr auto twice = tf::feature_columns(word, other);
  const auto f = feature_placeholders(g, tf::feature_columns(age, word, day));
  tf::linear_model(g, "linear", f, tf::feature_columns(age, word)).named("y");
#ifndef CORRECTED
  // clang-format off
  f.get<"agee">();  // error: features.get<name>(): there is no feature of this name
  numbers_of(missing, f);  // error: features.get<name>(): there is no feature of this name
  numbers_of(other, f);  // error: a numeric column: its feature has another element type than the column
  feature_placeholders(g, twice);  // error: feature columns: two columns read one feature with different types
  tf::input_layer(g, "a", f, tf::feature_columns(age, day));  // error: input_layer(g, name, features, columns): a categorical column is not dense; use indicator_column(column) or embedding_column<n>(column)
  tf::linear_model(g, "b", f, tf::feature_columns(tf::embedding_column<2>(day)));  // error: linear_model(g, name, features, columns): the columns must be numeric or categorical; give the column of an indicator or embedding itself
  tf::crossed_column<10>(word, day);  // error: crossed_column<buckets>(keys...): a column by hash can't be crossed; cross its feature, raw_feature<name>()
  tf::crossed_column<10>(day, age);  // error: crossed_column<buckets>(keys...): the keys must be categorical columns, or features of words or integers, raw_feature<name>()
  tf::shared_embedding_columns<2>({}, word, day);  // error: shared_embedding_columns<dimension>(options, columns...): the columns must have as many categories
  tf::input_layer(g, "c", f, tf::feature_columns(missing));  // error: input_layer(g, name, features, columns): a column reads a feature that is not among the features
  tf::sequence_input_layer(g, "s", f, tf::feature_columns(age));  // error: sequence_input_layer(g, name, features, columns): the columns must be of sequences
  // clang-format on
#endif
}
