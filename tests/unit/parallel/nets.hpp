// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small classifier, its data, and trainings of it, for tests of parallel training.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <typeflow/losses.hpp>
#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// The mean loss of a small classifier with a regulariser. (B,5), (B) -> ()
constexpr auto loss_of(tf::Graph& g, auto x, auto y) {
  auto h =
      dense<8>(g, "hidden", x, {.regularizer = tf::l2_regularizer(0.01), .activation = tf::tanh});
  return mean(softmax_cross_entropy(dense<3>(g, "out", h), y)) + tf::regularization_loss(g);
}

struct Batch {
  std::vector<float> x;
  std::vector<std::int32_t> y;
};
inline Batch batch_of(std::size_t rows, std::size_t step) {
  Batch batch;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < 5; ++c) {
      batch.x.push_back(std::sin(static_cast<float>(7 * r + 3 * c + 11 * step)));
    }
    const float* const row = &batch.x[5 * r];
    batch.y.push_back(row[0] + row[1] > 0 ? 0 : row[2] > row[3] ? 1 : 2);
  }
  return batch;
}
/// The trained variables.
template <class Store>
std::vector<float> weights(const Store& variables) {
  std::vector<float> out;
  for (const char* name : {"hidden/W", "hidden/b", "out/W", "out/b"}) {
    const auto values = variables.template get<float>(name);
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}
/// The losses of some steps with `rows` rows each, then the trained variables.
template <class Session>
std::vector<float> train(Session& session, std::size_t rows, std::size_t steps = 20) {
  std::vector<float> out;
  for (std::size_t step = 0; step < steps; ++step) {
    const Batch batch = batch_of(rows, step);
    out.push_back(
        session.template run<"loss", "train">(tf::feed<"x">(batch.x), tf::feed<"y">(batch.y)));
  }
  const std::vector<float> trained = weights(session.variables());
  out.insert(out.end(), trained.begin(), trained.end());
  return out;
}
/// The largest difference of two elements.
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
  }
  return most;
}

}  // namespace test
