// SPDX-License-Identifier: Apache-2.0

// The kernels of a training step of MODEL, one of lstm_model.hpp's, for cuda_static.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/pooling.hpp>

#include <cstdint>
#include <vector>

#include "lstm_model.hpp"

int main() {
  tf::Variables variables;
  using Target = tf::BasicCudaTarget<tf::Precision::PRECISION>;
  tf::Session<MODEL::model, tf::training, Target> session(variables, {.seed = 1});
  const std::vector<float> x(std::size_t{MODEL::batch} * MODEL::inputs);
  const std::vector<std::int32_t> labels(MODEL::batch);
  session.run<"train">(tf::feed<"x">(x), tf::feed<"labels">(labels));
}
