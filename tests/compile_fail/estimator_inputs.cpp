// SPDX-License-Identifier: Apache-2.0

// Inputs of a ready-made estimator that lack a feature of its columns, and have one of another name.

// expect: "years"

#include "typeflow/estimators.hpp"

namespace tf = typeflow;

constexpr auto columns = tf::feature_columns(tf::numeric_column<"age">());
constexpr auto income = tf::numeric_column<"income">();

void train(tf::LinearRegressor<columns, income>& model) {
#ifdef CORRECTED
  model.fit(tf::rows<"age", "income">({}, std::vector<float>{20}, std::vector<float>{1}));
#else
  model.fit(tf::rows<"years", "income">({}, std::vector<float>{20}, std::vector<float>{1}));
#endif
}
