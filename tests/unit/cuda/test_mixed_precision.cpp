// SPDX-License-Identifier: Apache-2.0

// Float masters of 16-bit variables and loss scaling on the GPU: recorded and launched one by one,
// with steps that overflow, against plain loops and the processor.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <typeflow/cuda/indexing.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/mixed_precision.hpp>
#include <typeflow/optimizers.hpp>

#include "support/check_loss_scale.hpp"
#include "support/cuda_calls.hpp"

namespace {

namespace tf = typeflow;
using test::calls_of;
using test::CudaCalls;
using test::CudaOnHost;
using test::CudaTargetOnHost;
using test::floats;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <auto Model>
using OnGpu = tf::Session<Model, tf::training, CudaTargetOnHost>;

/// The bits of all variables.
std::vector<std::byte> bytes_of(const tf::Variables& store) {
  std::vector<std::byte> out;
  for (const std::string& name : store.names()) {
    const tf::VariableEntry& entry = *store.find(name);
    const std::byte* const bytes = entry.bytes.data();
    out.insert(out.end(), bytes, bytes + entry.bytes.size());
  }
  return out;
}

/// sum(w x), whose gradient for w is x.
template <class T>
constexpr void line(tf::Graph& g) {
  auto x = placeholder<float, 7>(g, "x");
  auto w = variable<T, 7>(g, "w", tf::filled(1.5));
  tf::with_masters(tf::Momentum{.rate = 1e-4, .momentum = 0.5})
      .minimize(sum(tf::cast<float>(w) * x))
      .named("train");
}
template <class T>
void check_masters() {
  tf::Variables store;
  OnGpu<line<T>> session(store);
  std::vector<float> master(7, 1.5f);
  std::vector<float> m(7, 0.0f);
  for (int step = 0; step < 60; ++step) {
    std::vector<float> x;
    for (int i = 0; i < 7; ++i) x.push_back(std::sin(static_cast<float>(step + 3 * i)) + 1.0f);
    session.template run<"train">(tf::feed<"x">(x));
    for (std::size_t i = 0; i < 7; ++i) {
      // The gradient passes through the cast, so it is a 16-bit number.
      m[i] = 0.5f * m[i] + static_cast<float>(static_cast<T>(x[i]));
      master[i] = master[i] - 1e-4f * m[i];
    }
  }
  const std::vector<float> w = floats<T>(store, "w");
  const std::vector<float> rest = floats<float>(store, "w/momentum/rest");
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(w[i] == static_cast<float>(static_cast<T>(master[i])));
    CHECK(w[i] + rest[i] == master[i]);
    CHECK(master[i] < 1.5f);
  }
}

/// Two dense layers of T, whose products have operands of 16 bits.
template <class T>
constexpr void layers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 9>(g, "x");
  auto first = variable<T, 9, 17>(g, "first", tf::uniform(-0.5, 0.5));
  auto bias = variable<T, 17>(g, "bias", tf::zeros());
  auto last = variable<T, 17, 3>(g, "last", tf::uniform(-0.5, 0.5));
  auto hidden = relu(matmul(tf::cast<T>(x), first) + bias);
  auto loss = mean(square(tf::cast<float>(matmul(hidden, last)) - 0.5f)).named("loss");
  const tf::LossScale scale(g, {.initial = 512, .interval = 5});
  scale.minimize(tf::with_masters(tf::Adam{.rate = 0.01f}), loss).named("train");
}
std::vector<float> rows_of(std::size_t rows, int step) {
  std::vector<float> x(9 * rows);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<float>(3 * i) + 0.3f * static_cast<float>(step));
  }
  return x;
}
struct Trained {
  std::vector<float> losses;
  std::vector<float> scales;
  std::vector<std::byte> bytes;
};
/// Steps with an infinity in every fifth feed.
template <class Session>
Trained trained(Session& session, tf::Variables& store, int steps) {
  Trained out;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> x = rows_of(step % 7 == 6 ? 3 : 10, step);
    if (step % 5 == 3) x[11] = inf;
    session.template run<"train">(tf::feed<"x">(x));
    out.losses.push_back(session.template run<"loss">(tf::feed<"x">(rows_of(10, 0))));
    out.scales.push_back(store.get<float>("loss_scale/scale")[0]);
  }
  out.bytes = bytes_of(store);
  return out;
}

template <class T>
void check_layers(double tolerance) {
  constexpr int steps = 23;
  const auto on_gpu = [&](bool waits) {
    tf::Variables store;
    OnGpu<layers<T>> session(store, {.seed = 5, .wait_for_steps = waits});
    return trained(session, store, steps);
  };
  Trained recorded;
  const CudaCalls calls = calls_of([&] { recorded = on_gpu(false); });
  CHECK(calls.graph_launches > steps);
  const Trained launched = on_gpu(true);
  CHECK(recorded.bytes == launched.bytes);
  CHECK(recorded.losses == launched.losses);
  tf::Variables store;
  tf::Session<layers<T>> cpu(store, {.seed = 5});
  const Trained right = trained(cpu, store, steps);
  CHECK(recorded.scales == right.scales);
  CHECK(right.scales.back() < 512.0f);
  for (std::size_t i = 0; i < recorded.losses.size(); ++i) {
    CHECK(static_cast<double>(recorded.losses[i]) ==
          doctest::Approx(static_cast<double>(right.losses[i])).epsilon(tolerance));
  }
  CHECK(recorded.losses.back() < 0.5f * recorded.losses.front());
}

}  // namespace

TEST_CASE("masters on the GPU keep steps that 16-bit variables lose") {
  check_masters<tf::bfloat16>();
  check_masters<tf::float16>();
}

TEST_CASE("a step that overflows is skipped on the GPU and halves the scale") {
  test::check_loss_scale<CudaTargetOnHost>();
}

TEST_CASE("the GPU decides whether a step is skipped: a step is one graph, and nothing waits") {
  tf::Variables store;
  OnGpu<test::scaled_loss> session(store);
  const std::vector<float> good{1, 0.5f};
  const std::vector<float> bad{inf, 0.5f};
  for (int i = 0; i < 10; ++i) session.run<"train">(tf::feed<"x">(i % 2 == 0 ? good : bad));
  const CudaCalls calls = calls_of([&] {
    for (int i = 0; i < 10; ++i) session.run<"train">(tf::feed<"x">(i % 2 == 0 ? good : bad));
  });
  CHECK(calls.graph_launches == 10);
  CHECK(calls.launches == 0);
  CHECK(calls.graphs == 0);
  CHECK(calls.waits == 0);
  CHECK(calls.out == 0);
  if (CudaOnHost::counts_bodies) CHECK(calls.bodies == 10);
  CHECK(store.get<float>("loss_scale/scale")[0] == std::ldexp(8.0f, -10));
}

TEST_CASE("layers of 16 bits with masters and a scaled loss train as on the processor") {
  // A rounded sum may be the neighbour of the processor's: 2^-8 of a bfloat16, 2^-11 of a half.
  check_layers<tf::bfloat16>(3e-2);
  check_layers<tf::float16>(1e-2);
}

TEST_CASE("the scale of halves falls until their gradients are finite") {
  static constexpr auto model = [](tf::Graph& g) {
    auto x = placeholder<tf::float16, 6>(g, "x");
    auto w = variable<tf::float16, 6>(g, "w", tf::ones());
    const tf::LossScale scale(g, {.initial = 65536.0 * 64, .interval = 0x7fffffff});
    scale
        .minimize(tf::with_masters(tf::GradientDescent{.rate = 0.125}), tf::cast<float>(sum(w * x)))
        .named("train");
  };
  tf::Variables store;
  OnGpu<model> session(store);
  const std::vector<tf::float16> x(6, tf::float16(2.0f));
  // 2^22 is beyond a half's range, as are 2^16 and, times x, 2^15. With 2^14 it is finite.
  int steps = 0;
  while (floats<tf::float16>(store, "w")[0] == 1.0f && steps < 20) {
    session.run<"train">(tf::feed<"x">(x));
    ++steps;
  }
  CHECK(store.get<float>("loss_scale/scale")[0] == 16384.0f);
  CHECK(steps == 9);
  CHECK(floats<tf::float16>(store, "w") == std::vector<float>(6, 0.75f));
}

TEST_CASE("rows of a sparse gradient have masters on the GPU") {
  static constexpr auto model = [](tf::Graph& g) {
    auto i = placeholder<std::int32_t, 3>(g, "i");
    auto weight = placeholder<float>(g, "weight");
    auto table = variable<tf::bfloat16, 5, 2>(g, "table", tf::filled(2));
    const tf::LossScale scale(g, {.initial = 4, .interval = 1000});
    scale
        .minimize(tf::with_masters(tf::Adam{.rate = 1e-4, .lazy = true}),
                  weight * sum(tf::cast<float>(gather(table, i))))
        .named("train");
  };
  tf::Variables store;
  OnGpu<model> session(store);
  for (int step = 0; step < 60; ++step) {
    session.run<"train">(tf::feed<"i">(std::vector<std::int32_t>{1, 3, 1}),
                         tf::feed<"weight">(step % 6 == 5 ? not_a_number : 1.0f));
  }
  CHECK(store.get<float>("loss_scale/scale")[0] == std::ldexp(4.0f, -10));
  const std::vector<float> table = floats<tf::bfloat16>(store, "table");
  const std::vector<float> rest = floats<float>(store, "table/adam/rest");
  for (std::size_t row = 0; row < 5; ++row) {
    const bool moves = row == 1 || row == 3;
    for (std::size_t k = 0; k < 2; ++k) {
      // With a constant gradient Adam moves by its rate: in 50 of the 60 steps.
      CHECK(static_cast<double>(table[2 * row + k] + rest[2 * row + k]) ==
            doctest::Approx(moves ? 2 - 50 * 1e-4 : 2.0).epsilon(1e-5));
    }
  }
}
