// SPDX-License-Identifier: Apache-2.0

// A column of a feature that the model does not have.

// expect: a column reads a feature that is not among the features

#include "typeflow/feature_columns.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr auto age = tf::numeric_column<"age">();

constexpr void model(tf::Graph& g) {
  auto x = placeholder<float, tf::batch>(g, "x");
#ifdef CORRECTED
  const tf::Features features(tf::feature<"age">(x));
#else
  const tf::Features features(tf::feature<"years">(x));
#endif
  linear_model(g, "linear", features, tf::feature_columns(age)).named("logits");  // error here
}
