// SPDX-License-Identifier: Apache-2.0

// What operations that save and restore variables refuse.

#include "typeflow/graph.hpp"
#include "typeflow/saving/operations.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto path = tf::placeholder<std::string_view>(g, "path");
  auto paths = tf::placeholder<std::string_view, 2>(g, "paths");
  auto v = tf::variable<float, 2, 3>(g, "v");
  save_variables(path, {v}).named("right");
  restore_variable(path, v).named("restored");
#ifndef CORRECTED
  // clang-format off
  save_variables(paths, {v});                                // error: save_variables(path, variables): the path must be a scalar tensor of strings
  save_variables(v, g.trainable());                          // error: save_variables(path, variables): the path must be a scalar tensor of strings
  tf::restore_tensor<float, 2>(v, "v");                      // error: restore_tensor<T, D...>(path, name): the path must be a scalar tensor of strings
  tf::restore_tensor<float, tf::batch>(path, "v");           // error: restore_tensor<T, D...>(path, name): the extents must be numbers, not tf::batch
  tf::restore_tensor<std::string_view, 2>(path, "words");    // error: restore_tensor<T, D...>(path, name): safetensors files have no strings and no complex<double>
  restore_variable(paths, v);                                // error: restore_variable(path, variable): the path must be a scalar tensor of strings
  // clang-format on
#endif
}
