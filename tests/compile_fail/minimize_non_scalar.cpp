// SPDX-License-Identifier: Apache-2.0

// An optimiser given one loss a row instead of their mean.

// expect: minimize(loss): the loss must be a scalar; take mean(loss)
// expect: Shape<-1>
// never: gradients(y)

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto losses = softmax_cross_entropy(tf::dense<10>(g, "fc", x), y);
#ifdef CORRECTED
  tf::GradientDescent{.rate = 0.5f}.minimize(mean(losses)).named("train");
#else
  tf::GradientDescent{.rate = 0.5f}.minimize(losses).named("train");  // error here
#endif
}
