// SPDX-License-Identifier: Apache-2.0

// Pipelines, averaged copies, workers and rounds on two pretended GPUs. Their numbers are those of
// one processor, to which all pins are soft.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>

#include "support/cuda_calls.hpp"

namespace {

namespace tf = typeflow;

constexpr tf::GradientDescent descent{.rate = 0.05f};

constexpr auto loss_of(tf::Graph& g, auto x) {
  auto h = tanh(tf::dense<7>(g, "a", x));
  return mean(square(tf::dense<3>(g, "b", h) - 1.0f));
}
/// Two stages, through which four parts go.
constexpr auto stages(tf::Graph& g, auto x, const tf::PipelineOptions& options) {
  return tf::pipeline<4>(
      g, options, x, x, [&](auto part) { return tanh(tf::dense<7>(g, "a", part)); },
      [&](auto h, auto) { return mean(square(tf::dense<3>(g, "b", h) - 1.0f)); });
}
template <tf::PipelineOrder Order>
constexpr void staged(tf::Graph& g) {
  auto x = placeholder<float, 4 * tf::batch, 5>(g, "x");
  auto pipe = stages(g, x, {.order = Order, .kind = tf::DeviceKind::gpu});
  pipe.loss().named("loss");
  minimize(tf::Adam{.rate = 0.01f}, pipe.gradients()).named("train");
}
constexpr auto gpipe = staged<tf::PipelineOrder::all_forward_then_backward>;
constexpr auto alternating = staged<tf::PipelineOrder::one_forward_one_backward>;
/// The same net with the whole batch.
constexpr void whole(tf::Graph& g) {
  auto loss = loss_of(g, placeholder<float, 4 * tf::batch, 5>(g, "x")).named("loss");
  minimize(tf::Adam{.rate = 0.01f}, gradients(loss)).named("train");
}
constexpr void copies(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 5>(g, "x");
  auto both = tf::averaged_copies<2>(
      g, {.kind = tf::DeviceKind::gpu}, [&](auto part) { return loss_of(g, part); }, x);
  both.loss().named("loss");
  both.step(descent).named("train");
  both.average().named("average");
}
constexpr void workers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 5>(g, "x");
  auto both = tf::asynchronous<2>(
      g, {.kind = tf::DeviceKind::gpu}, [&](auto rows) { return loss_of(g, rows); }, x);
  both.train(descent);
}
/// One worker of two towers; the first GPU is somebody else's.
constexpr void group(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 5>(g, "x");
  auto one = tf::asynchronous<1, 2>(
      g, {.first_device = 1, .kind = tf::DeviceKind::gpu},
      [&](auto rows) { return loss_of(g, rows); }, x);
  one.train(descent);
}
constexpr void in_rounds(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 5>(g, "x");
  tf::rounds<2>(
      g, {.kind = tf::DeviceKind::gpu}, descent, [&](auto rows) { return loss_of(g, rows); }, x);
}

template <auto Model>
using OnGpus = tf::Session<Model, tf::training, test::CudaTargetOnHost>;

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

struct Gpus {
  explicit Gpus(int count) : exist(test::CudaOnHost::has_devices(count)) {
    test::CudaOnHost::get().devices = count;
  }
  ~Gpus() { test::CudaOnHost::get().devices = 1; }
  const bool exist;
};

/// Checks that these devices have tensors of their own, and hand tensors to others.
template <class Session>
void check_devices(Session& session, std::size_t first, std::size_t count) {
  const auto devices = session.devices();
  for (std::size_t i = first; i < first + count; ++i) {
    CAPTURE(i);
    CHECK(devices[i].peak > 0);
    CHECK(devices[i].sent > 0);
  }
}

void check_variables(tf::Variables& got, tf::Variables& expected) {
  for (const char* const name : {"a/W", "a/b", "b/W", "b/b"}) {
    const auto want = expected.get<float>(name);
    const auto have = got.get<float>(name);
    REQUIRE(have.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      CHECK(have[i] == doctest::Approx(want[i]).epsilon(1e-4));
    }
  }
}

template <auto Model>
void check_stages() {
  const Gpus machine(2);
  if (!machine.exist) return;
  tf::Variables near;
  tf::Session<whole> cpu(near, {.seed = 3});
  tf::Variables far;
  OnGpus<Model> gpus(far, {.seed = 3});
  const std::vector<float> x = inputs(12);
  for (int i = 0; i < 6; ++i) {
    const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
    const float got = gpus.template run<"train", "loss">(tf::feed<"x">(x));
    CHECK(got == doctest::Approx(expected).epsilon(1e-4));
  }
  check_variables(far, near);
  check_devices(gpus, 1, 2);
  for (int i = 0; i < 10; ++i) gpus.template run<"train">(tf::feed<"x">(x));
  const test::CudaCalls steady = test::calls_of([&] {
    for (int i = 0; i < 5; ++i) gpus.template run<"train">(tf::feed<"x">(x));
  });
  CHECK(steady.waits == 0);
  CHECK(steady.out == 0);  // nothing goes by way of the host
  CHECK(steady.peer > 0);
  CHECK(steady.allocations == 0);
}

}  // namespace

TEST_CASE("stages of a pipeline on GPUs train as the whole net does, and wait for nothing") {
  check_stages<gpipe>();
  check_stages<alternating>();
}

TEST_CASE("the ends of parts, which keep a pipeline's order, are on the stages' GPUs") {
  const Gpus machine(2);
  if (!machine.exist) return;
  tf::Variables variables;
  OnGpus<alternating> session(variables);
  int ends[2] = {};
  session.with_devices([&](const auto& program, auto) {
    for (int i = 0; i < program.steps.size; ++i) {
      tf::Message name{};
      print_step(name, program, program.steps[i]);
      if (name.view().find("PartDone") == std::string_view::npos) continue;
      const tf::Device device = program.steps[i].device;
      REQUIRE(device.kind == tf::DeviceKind::gpu);
      ++ends[device.index];
    }
  });
  // Four parts forward and four back; nothing comes after the last one.
  CHECK(ends[0] == 7);
  CHECK(ends[1] == 7);
}

TEST_CASE("copies on GPUs are averaged as on the processor") {
  const Gpus machine(2);
  if (!machine.exist) return;
  tf::Variables near;
  tf::Session<copies> cpu(near, {.seed = 3, .soft_placement = true});
  tf::Variables far;
  OnGpus<copies> gpus(far, {.seed = 3});
  const std::vector<float> x = inputs(12);
  for (int i = 0; i < 5; ++i) {
    const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
    const float got = gpus.run<"train", "loss">(tf::feed<"x">(x));
    CHECK(got == doctest::Approx(expected).epsilon(1e-4));
  }
  cpu.run<"average">();
  gpus.run<"average">();
  check_variables(far, near);
  check_devices(gpus, 1, 2);
}

TEST_CASE("workers on GPUs change the shared variables one after another") {
  const Gpus machine(2);
  if (!machine.exist) return;
  tf::Variables near;
  tf::Session<workers> cpu(near, {.seed = 3, .soft_placement = true});
  tf::Variables far;
  OnGpus<workers> gpus(far, {.seed = 3});
  const std::vector<float> first = inputs(3);
  const std::vector<float> second = inputs(4);
  const auto turn = [&](auto& session) {
    session.template run<"worker_0/train">(tf::feed<"x">(first));
    session.template run<"worker_1/train">(tf::feed<"x">(second));
  };
  for (int i = 0; i < 4; ++i) {
    turn(cpu);
    turn(gpus);
  }
  check_variables(far, near);
  check_devices(gpus, 1, 2);
  {
    std::jthread one([&] {
      for (int i = 0; i < 5; ++i) gpus.run<"worker_0/train">(tf::feed<"x">(first));
    });
    std::jthread other([&] {
      for (int i = 0; i < 5; ++i) gpus.run<"worker_1/train">(tf::feed<"x">(second));
    });
  }
  CHECK(gpus.run<"workers/updates">() == 18);
}

TEST_CASE("a worker's towers have the GPUs from the first device on") {
  const Gpus machine(3);
  if (!machine.exist) return;
  tf::Variables near;
  tf::Session<group> cpu(near, {.seed = 3, .soft_placement = true});
  tf::Variables far;
  OnGpus<group> gpus(far, {.seed = 3});
  const std::vector<float> x = inputs(8);
  for (int i = 0; i < 4; ++i) {
    cpu.run<"worker_0/train">(tf::feed<"x">(x));
    gpus.run<"worker_0/train">(tf::feed<"x">(x));
  }
  check_variables(far, near);
  check_devices(gpus, 2, 2);
}

TEST_CASE("rounds of workers on GPUs end as on the processor") {
  const Gpus machine(2);
  if (!machine.exist) return;
  const std::vector<float> first = inputs(3);
  const std::vector<float> second = inputs(4);
  const auto train = [&](auto& session) {
    tf::SyncReplicas replicas(session, {.replicas_to_aggregate = 2, .total_replicas = 2});
    {
      std::jthread one([&] {
        for (int i = 0; i < 4; ++i) replicas.template step<0>(tf::feed<"x">(first));
      });
      std::jthread other([&] {
        for (int i = 0; i < 4; ++i) replicas.template step<1>(tf::feed<"x">(second));
      });
    }
    CHECK(replicas.rounds() == 4);
    CHECK(replicas.dropped() == 0);
  };
  tf::Variables near;
  tf::Session<in_rounds> cpu(near, {.seed = 3, .soft_placement = true});
  train(cpu);
  tf::Variables far;
  OnGpus<in_rounds> gpus(far, {.seed = 3});
  train(gpus);
  check_variables(far, near);
  check_devices(gpus, 1, 2);
}
