// SPDX-License-Identifier: Apache-2.0

// Training steps of LSTM and GRU cells over sequences: their loops and the backward ones are one
// recorded graph, and their numbers the processor's.

// For the emulation alone: nvcc 13 names types in its code that it has not declared. (tests/cuda/
// control_flow.cu and bench/gpu_steps.cu have loops for it.)

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/rnn.hpp>

#include "support/cuda_calls.hpp"

namespace {

namespace tf = typeflow;
using test::calls_of;
using test::CudaCalls;
using test::CudaOnHost;
using test::CudaTargetOnHost;

constexpr int steps = 5;
constexpr int inputs = 6;
constexpr int units = 9;

/// The loss of three classes by the last output of a cell, and a step down its gradient.
constexpr void train(tf::Graph& g, const auto& outputs) {
  auto label = placeholder<std::int32_t, tf::batch>(g, "label");
  auto logits = tf::dense<3>(g, "output", tf::select<1>(outputs, -1));
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  auto gradients = clip_by_global_norm(tf::gradients(loss, g.trainable()), 1.0f);
  tf::minimize(tf::Adam{.rate = 0.02f}, gradients).named("train");
}
template <class Cell>
constexpr void layer(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, steps, inputs>(g, "x");
  const Cell cell(g, "cell");
  train(g, dynamic_rnn(cell, x).outputs);
}
constexpr auto lstm = layer<tf::BasicLSTM<inputs, units>>;
constexpr auto gru = layer<tf::GRU<inputs, units>>;
/// Chapter 7's: one LSTM from the front, one from the back, with dropout between its steps.
constexpr void both_ways(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, steps, inputs>(g, "x");
  const tf::BasicLSTM<inputs, units> forward(g, "forward");
  const tf::BasicLSTM<inputs, units> backward(g, "backward");
  const auto both =
      bidirectional_rnn(tf::DropoutCell(g, forward, {.output_keep = 0.75}), backward, x);
  train(g, concat<2>(both.forward.outputs, both.backward.outputs));
}

std::vector<float> sequences(std::size_t rows, int turn) {
  std::vector<float> x(rows * steps * inputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<float>(7 * i) + static_cast<float>(turn));
  }
  return x;
}
std::vector<std::int32_t> labels(std::size_t rows) {
  std::vector<std::int32_t> label(rows);
  for (std::size_t i = 0; i < rows; ++i) label[i] = static_cast<std::int32_t>(i % 3);
  return label;
}

struct Trained {
  std::vector<float> losses;
  std::vector<float> variables;
};
/// Steps with batches of two sizes, some without a fetch.
template <auto Model, class Target>
Trained trained(bool waits) {
  Trained out;
  tf::Variables store;
  tf::Session<Model, tf::training, Target> session(store, {.seed = 4, .wait_for_steps = waits});
  for (int turn = 0; turn < 14; ++turn) {
    const std::size_t rows = turn % 4 == 3 ? 1 : 7;
    const std::vector<float> x = sequences(rows, turn % 3);
    if (turn % 5 == 2) {
      session.template run<"train">(tf::feed<"x">(x), tf::feed<"label">(labels(rows)));
    } else {
      out.losses.push_back(
          session.template run<"train", "loss">(tf::feed<"x">(x), tf::feed<"label">(labels(rows))));
    }
  }
  for (const std::string& name : store.names()) {
    if (name.find("/adam/") != std::string::npos) continue;
    const auto values = store.get<float>(name);
    out.variables.insert(out.variables.end(), values.begin(), values.end());
  }
  return out;
}
void check_near(const std::vector<float>& got, const std::vector<float>& right, double tolerance) {
  REQUIRE(got.size() == right.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(static_cast<double>(got[i]) ==
          doctest::Approx(static_cast<double>(right[i])).epsilon(tolerance));
  }
}

/// `decides`: loops are decided by the GPU, which counts their iterations; otherwise each iteration
/// is recorded.
template <auto Model>
void check_training(bool decides) {
  const Trained right = trained<Model, tf::CpuTarget<>>(false);
  Trained recorded;
  const CudaCalls calls = calls_of([&] { recorded = trained<Model, CudaTargetOnHost>(false); });
  CHECK((calls.nodes > 0) == decides);
  // All but the first with each size and each set of fetches, of which there are four.
  CHECK(calls.graph_launches == 10);
  const Trained launched = trained<Model, CudaTargetOnHost>(true);
  CHECK(recorded.losses == launched.losses);
  CHECK(recorded.variables == launched.variables);
  check_near(recorded.losses, right.losses, 1e-4);
  check_near(recorded.variables, right.variables, 1e-3);
  CHECK(recorded.losses.back() < recorded.losses.front());
}

}  // namespace

TEST_CASE("an LSTM trains on a GPU as on the processor") { check_training<lstm>(false); }
// A kernel of its iterations may fail.
TEST_CASE("a GRU trains on a GPU as on the processor") { check_training<gru>(true); }
TEST_CASE("a bidirectional LSTM with dropout trains on a GPU as on the processor") {
  check_training<both_ways>(false);
}

TEST_CASE("a training step of an LSTM is one graph, and waits for nothing") {
  tf::Variables store;
  tf::Session<lstm, tf::training, CudaTargetOnHost> session(store, {.seed = 4});
  const std::vector<float> x = sequences(4, 0);
  const std::vector<std::int32_t> label = labels(4);
  const auto step = [&] { session.run<"train">(tf::feed<"x">(x), tf::feed<"label">(label)); };
  for (int i = 0; i < 20; ++i) step();
  const CudaCalls steady = calls_of([&] {
    for (int i = 0; i < 10; ++i) step();
  });
  CHECK(steady.graph_launches == 10);
  CHECK(steady.launches == 0);
  CHECK(steady.graphs == 0);
  CHECK(steady.waits == 0);
  CHECK(steady.out == 0);
  CHECK(steady.allocations == 0);
  CHECK(steady.pinned == 0);
  CHECK(steady.bodies == 0);  // each iteration is recorded
}
