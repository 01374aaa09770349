// SPDX-License-Identifier: Apache-2.0

// Inputs of a ready-made estimator that lack a feature of its columns, and have one of another
// name.

// expect: fit(inputs): a part of the inputs has a name that the model lacks

#include <vector>

#include "typeflow/estimators/estimator.hpp"
#include "typeflow/estimators/linear.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr auto columns = tf::feature_columns(tf::numeric_column<"age">());
constexpr auto income = tf::numeric_column<"income">();

void train(tf::LinearRegressor<columns, income>& model, const std::vector<float>& x) {
#ifdef CORRECTED
  model.fit(tf::rows<"age", "income">({}, x, x));
#else
  model.fit(tf::rows<"years", "income">({}, x, x));  // error here
#endif
}
