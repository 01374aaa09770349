// SPDX-License-Identifier: Apache-2.0

// A dataset for an iterator that the model has not.

// expect: no iterator
// expect: iterators: data

#include <vector>

#include "typeflow/iterators.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::iterator<tf::ElementPart<float, tf::batch, 4>>(g, "data");
  mean(sum<1>(x)).named("loss");
}

void use(const tf::Dataset<std::vector<float>>& dataset) {
  tf::Variables variables;
  tf::DataSession<model> session(variables);
#ifdef CORRECTED
  session.bind<"data">(dataset);
#else
  session.bind<"date">(dataset);  // error here
#endif
}
