// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tests of element types: lists of them, and the numbers at which another type would be wrong.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/check_elementwise.hpp"

namespace test {

template <class T>
using List = std::vector<T>;

/// Numbers near the ends of the range, of which some are equal; for 16 bits infinities and NaN.
template <class T>
List<T> ends() {
  using Limits = std::numeric_limits<T>;
  List<T> list{T(0), Limits::max(), Limits::lowest(), T(1), T(100), T(Limits::max() / T(2))};
  if constexpr (tf::is_floating(tf::dtype_of<T>)) {
    list.insert(list.end(), {T(-0.0f), T(-1), Limits::infinity(), T(-Limits::infinity()),
                             Limits::quiet_NaN(), Limits::denorm_min()});
  } else {
    list.insert(list.end(),
                {static_cast<T>(-1), static_cast<T>(-100), static_cast<T>(Limits::max() - 1),
                 static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() / 2 + 1)});
  }
  return list;
}
/// A tensor of elements drawn from the list.
template <class T>
tf::HostTensor chosen(const List<T>& list, const tf::Dims& shape, std::uint64_t seed) {
  Random random(seed);
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x[i] = tf::number_from(
        list[static_cast<std::size_t>(random.below(static_cast<int>(list.size())))]);
  }
  return x;
}
/// Row r of a matrix.
template <class T>
List<T> row_of(const tf::HostTensor& x, std::int64_t r) {
  const std::int64_t columns = x.dims.extent[1];
  List<T> row;
  for (std::int64_t i = 0; i < columns; ++i) row.push_back(tf::to<T>(x[r * columns + i]));
  return row;
}
/// A tensor of exactly these elements.
template <class T>
tf::HostTensor tensor_of(const List<T>& list, const std::vector<tf::Extent>& shape) {
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, dims(shape));
  REQUIRE(x.size() == static_cast<std::int64_t>(list.size()));
  for (std::size_t i = 0; i < list.size(); ++i) {
    x[static_cast<std::int64_t>(i)] = tf::number_from(T(list[i]));
  }
  return x;
}

/// Checks a model, interpreted and compiled: its values are exactly what is expected.
template <auto Model>
void check_exact(const tf::HostTensors& feeds, const Outcome& expected) {
  tf::Graph graph;
  Model(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  Kernels<Model> kernels;
  const Outcome compiled = kernels.run(feeds);
  for (const auto& [name, value] : expected) {
    check_ulps(name + ", interpreted", interpreted.at(name), value, 0);
    check_ulps(name + ", compiled", compiled.at(name), value, 0);
  }
}

}  // namespace test
