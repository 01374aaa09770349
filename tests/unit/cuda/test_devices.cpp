// SPDX-License-Identifier: Apache-2.0

// Models on two pretended GPUs and the processor: branches and loops, towers, variables that
// several GPUs use.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>

#include "support/cuda_calls.hpp"

namespace {

namespace tf = typeflow;

/// Parts on three devices, a branch and two loops.
constexpr void spread(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 9>(g, "x");
  auto w = variable<float, 9>(g, "w", tf::ones());
  auto first = tf::on(g, tf::gpu(0), [&] { return tanh(x * w); });
  auto second = tf::on(g, tf::gpu(1), [&] { return first + square(x); }).named("second");
  auto third = tf::on(g, tf::cpu(0), [&] { return second * 0.5f; }).named("third");
  auto n = sum(third);
  auto chosen =
      tf::cond(greater(n, 0.0f), [&] { return third - second; }, [&] { return third + second; });
  auto grown =
      tf::fori_loop(0, 5, [&](auto, auto v) { return v * 1.25f + 0.125f * second; }, chosen);
  auto halved = tf::while_loop([](auto v) { return greater(sum(square(v)), 1.0f); },
                               [](auto v) { return v * 0.5f; }, grown);
  halved.named("y");
  sum(halved).named("total");
}
constexpr void train(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 9>(g, "x");
  auto h = tf::on(g, tf::gpu(1), [&] { return relu(tf::dense<17>(g, "a", x)); });
  auto y = tf::on(g, tf::gpu(0), [&] { return tf::dense<3>(g, "b", h); });
  auto loss = mean(square(y - 1.0f)).named("loss");
  tf::Adam{.rate = 0.01f}.minimize(loss).named("train");
}

/// Two copies of a net, with half of the batch each, whose gradients are averaged.
constexpr void train_towers(tf::Graph& g) {
  auto x = placeholder<float, 2 * tf::batch, 9>(g, "x");
  auto net = tf::data_parallel<2>(
      g, {.kind = tf::DeviceKind::gpu},
      [&](auto part) {
        auto h = relu(tf::dense<17>(g, "a", part));
        return mean(square(tf::dense<3>(g, "b", h) - 1.0f));
      },
      x);
  net.loss().named("loss");
  minimize(tf::Adam{.rate = 0.01f}, net.gradients()).named("train");
}
/// Two programs that change a variable, each on a GPU of its own.
constexpr void grow(tf::Graph& g) {
  auto w = variable<float, 70>(g, "w", tf::ones());
  assign(w, w * 1.25f).named("step");
  sum(w).named("sum");
}
constexpr void look(tf::Graph& g) {
  tf::on(g, tf::gpu(1), [&] {
    auto w = variable<float, 70>(g, "w", tf::ones());
    auto seen = variable<float, 70>(g, "seen", tf::zeros());
    auto sum = 0.5f * seen + w;
    assign(seen, sum).named("look");
    assign(w, w - 0.125f).named("shrink");
    return sum;
  });
}
/// Each GPU can hand a tensor to the other one, which changes a variable by it.
constexpr void hand_over(tf::Graph& g) {
  auto x = placeholder<float, 70>(g, "x");
  auto a = tf::on(g, tf::gpu(0), [&] { return 2.0f * x; });
  auto b = tf::on(g, tf::gpu(1), [&] { return 3.0f * x; });
  const auto keep = [&](auto value, tf::Label name) {
    auto v = variable<float, 70>(g, name, tf::zeros());
    return assign(v, 0.5f * v + value);
  };
  tf::on(g, tf::gpu(0), [&] { return keep(b, "of_first"); }).named("to_first");
  tf::on(g, tf::gpu(1), [&] { return keep(a, "of_second"); }).named("to_second");
  tf::on(g, tf::gpu(0), [&] { return sum(x); }).named("sum_0");
  tf::on(g, tf::gpu(1), [&] { return sum(x); }).named("sum_1");
  tf::on(g, tf::gpu(1), [&] { return keep(x, "of_alone"); }).named("alone");
  tf::on(g, tf::gpu(0), [&] { return sum(b); }).named("sum_of_b");
}
template <auto Model>
using OnGpus = tf::Session<Model, tf::training, test::CudaTargetOnHost>;

std::vector<float> inputs(std::size_t rows, float scale) {
  std::vector<float> x(rows * 9);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * std::sin(static_cast<float>(3 * i));
  return x;
}

/// While it lives, sessions find two GPUs, if the machine has them.
struct TwoGpus {
  TwoGpus() { test::CudaOnHost::get().devices = 2; }
  ~TwoGpus() { test::CudaOnHost::get().devices = 1; }
  const bool exist = test::CudaOnHost::has_devices(2);
};

/// Parts of tensors, also in a loop.
constexpr void parts(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 20>(g, "x");
  const auto in_scope = [&](tf::Label name, const auto& f) {
    const tf::NameScope scope(g, name);
    return f();
  };
  auto a = in_scope("a", [&] { return tanh(x * 2.0f); });
  auto b = in_scope("b", [&] { return softmax(x); });
  concat<1>(a, b, x).named("columns");
  pad<0, 0, 3, 2>(in_scope("c", [&] { return exp(x); })).named("padded");
  auto d = in_scope("d", [&] { return sin(x); });
  auto e = in_scope("e", [&] { return cos(x) - x; });
  concat<0>(d, e, x).named("rows");
  tf::fori_loop(
      0, 5,
      [&](auto, auto state) {
        auto u =
            in_scope("u", [&] { return tanh(slice<tf::whole, tf::range(0, 10)>(state) + 0.25f); });
        return concat<1>(slice<tf::whole, tf::range(10, 20)>(state) * 0.5f, u);
      },
      x)
      .named("loop");
}

}  // namespace

TEST_CASE("branches and loops over two GPUs and the processor agree with the processor") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables near;
  tf::Session<spread> cpu(near, {.soft_placement = true});
  tf::Variables far;
  tf::Session<spread, tf::training, test::CudaTargetOnHost> gpu(far);
  CHECK(gpu.devices().size() == 3);
  for (const std::size_t rows : {1u, 4u, 30u}) {
    for (const float scale : {1.0f, -2.0f}) {
      const std::vector<float> x = inputs(rows, scale);
      const auto [y, total, second] = cpu.run<"y", "total", "second">(tf::feed<"x">(x));
      const auto [got, sum, part] = gpu.run<"y", "total", "second">(tf::feed<"x">(x));
      CHECK(sum == doctest::Approx(total).epsilon(1e-4));
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(got.data()[i] == doctest::Approx(y.data()[i]).epsilon(1e-5));
        CHECK(part.data()[i] == doctest::Approx(second.data()[i]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("a net that is spread over two GPUs trains as on the processor") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables near;
  tf::Session<train> cpu(near, {.seed = 2, .soft_placement = true});
  tf::Variables far;
  tf::Session<train, tf::training, test::CudaTargetOnHost> gpu(far, {.seed = 2});
  const std::vector<float> x = inputs(12, 1);
  for (int i = 0; i < 10; ++i) {
    const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
    const float got = gpu.run<"train", "loss">(tf::feed<"x">(x));
    CHECK(got == doctest::Approx(expected).epsilon(1e-4));
  }
  const auto devices = gpu.devices();
  CHECK(devices[1].sent > 0);
  CHECK(devices[2].sent > 0);
}

TEST_CASE("a step of two towers waits for nothing, and trains as the processor does") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables near;
  tf::Session<train_towers> cpu(near, {.seed = 2, .soft_placement = true});
  tf::Variables far;
  OnGpus<train_towers> gpus(far, {.seed = 2});
  const std::vector<float> x = inputs(24, 1);
  const auto step = [&](auto& session) { session.template run<"train">(tf::feed<"x">(x)); };
  for (int i = 0; i < 20; ++i) step(gpus);
  const test::CudaCalls steady = test::calls_of([&] {
    for (int i = 0; i < 10; ++i) step(gpus);
  });
  CHECK(steady.waits == 0);
  CHECK(steady.out == 0);
  CHECK(steady.in == 20);    // a feed for each GPU
  CHECK(steady.peer == 80);  // four variables to a tower, four gradients back
  CHECK(steady.event_waits > 20);
  CHECK(steady.graphs == 0);
  CHECK(steady.allocations == 0);
  CHECK(steady.pinned == 0);
  for (int i = 0; i < 30; ++i) step(cpu);
  for (int i = 0; i < 5; ++i) {
    const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
    const float got = gpus.run<"train", "loss">(tf::feed<"x">(x));
    CHECK(got == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("variables go from one GPU to another directly, in the order of both") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables variables;
  OnGpus<grow> first(variables);
  OnGpus<look> second(variables);
  float w = 1;
  float seen = 0;
  const auto turn = [&](bool shrinks) {
    first.run<"step">();
    w *= 1.25f;
    second.run<"look">();
    seen = 0.5f * seen + w;
    // The first GPU has copied the variable, the second one has not looked at it yet.
    CHECK(float(first.run<"sum">()) == doctest::Approx(70 * w).epsilon(1e-4));
    if (shrinks) second.run<"shrink">();
    w -= shrinks ? 0.125f : 0;
  };
  turn(false);
  const test::CudaCalls reads = test::calls_of([&] {
    for (int i = 0; i < 5; ++i) turn(false);
  });
  CHECK(reads.peer == 5);
  CHECK(reads.event_waits == 10);
  const test::CudaCalls writes = test::calls_of([&] {
    for (int i = 0; i < 5; ++i) turn(true);
  });
  CHECK(writes.peer == 9);  // the first step finds its variable
  for (const test::CudaCalls& calls : {reads, writes}) {
    CHECK(calls.waits == 0);
    CHECK(calls.in == 0);
    CHECK(calls.out == 5);  // of sums
    CHECK(calls.allocations == 0);
  }
  for (const float element : variables.get<float>("seen")) REQUIRE(element == seen);
  for (const float element : variables.get<float>("w")) REQUIRE(element == w);
}

TEST_CASE("a run on two GPUs comes after all of the run before, without the host") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables variables;
  OnGpus<hand_over> session(variables);
  std::vector<float> of_first(70);
  std::vector<float> of_second(70);
  std::vector<float> x(70);
  for (int i = 0; i < 12; ++i) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(static_cast<int>(k) % 7 - i);
      of_first[k] = 0.5f * of_first[k] + 3 * x[k];
      of_second[k] = 0.5f * of_second[k] + 2 * x[k];
    }
    const test::CudaCalls calls = test::calls_of([&] {
      session.run<"to_first">(tf::feed<"x">(x));
      session.run<"to_second">(tf::feed<"x">(x));
    });
    if (i > 2) CHECK(calls.waits == 0);
  }
  for (int i = 0; i < 12; ++i) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(static_cast<int>(k) % 5 - i);
      (i < 6 ? of_first : of_second)[k] =
          0.5f * (i < 6 ? of_first : of_second)[k] + static_cast<float>(i < 6 ? 3 : 2) * x[k];
    }
    // The GPU that sends does all that it was given; the other one has not begun.
    i < 6 ? session.run<"to_first">(tf::feed<"x">(x)) : session.run<"to_second">(tf::feed<"x">(x));
    if (i % 2 == 1)
      i < 6 ? session.run<"sum_1">(tf::feed<"x">(x)) : session.run<"sum_0">(tf::feed<"x">(x));
  }
  const auto first = variables.get<float>("of_first");
  const auto second = variables.get<float>("of_second");
  for (std::size_t k = 0; k < x.size(); ++k) {
    REQUIRE(first[k] == of_first[k]);
    REQUIRE(second[k] == of_second[k]);
  }
}

TEST_CASE("a run on two GPUs comes after one on the GPU alone that receives") {
  const TwoGpus two;
  if (!two.exist) return;
  tf::Variables variables;
  OnGpus<hand_over> session(variables);
  float alone = 0;
  float second = 0;
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> one(70, static_cast<float>(i));
    const std::vector<float> other(70, 5.0f);
    session.run<"alone">(tf::feed<"x">(one));
    session.run<"to_second">(tf::feed<"x">(other));
    session.run<"sum_0">(tf::feed<"x">(one));  // the GPU that sends does its work first
    alone = 0.5f * alone + static_cast<float>(i);
    second = 0.5f * second + 10;
    for (const float element : variables.get<float>("of_alone")) REQUIRE(element == alone);
    for (const float element : variables.get<float>("of_second")) REQUIRE(element == second);
  }
}

#if !defined(__CUDACC__)  // a GPU's calls and kernels do not fail on demand

TEST_CASE("a kernel of another GPU that goes wrong fails the run that fetches what depends on it") {
  const TwoGpus two;
  if (!two.exist) return;
  test::CudaOnHost& cuda = test::CudaOnHost::get();
  tf::Variables variables;
  OnGpus<hand_over> session(variables);
  const std::vector<float> x(70, 2.0f);
  CHECK(float(session.run<"sum_of_b">(tf::feed<"x">(x))) == 420);
  cuda.until_kernel_failure = 0;
  CHECK_THROWS_AS(session.run<"sum_of_b">(tf::feed<"x">(x)), tf::Error);
  cuda.until_kernel_failure = -1;
}

TEST_CASE("a GPU reads from the host what a broken one has, too") {
  const TwoGpus two;
  if (!two.exist) return;
  test::CudaOnHost& cuda = test::CudaOnHost::get();
  tf::Variables variables;
  OnGpus<grow> first(variables);
  OnGpus<look> second(variables);
  first.run<"step">();
  CHECK(variables.get<float>("w")[0] == 1.25f);  // the host's copy is valid, too
  cuda.until_kernel_failure = 0;
  CHECK_THROWS_AS(first.run<"sum">(), tf::Error);
  cuda.until_kernel_failure = -1;
  second.run<"look">();
  CHECK(variables.get<float>("seen")[0] == 1.25f);
}

TEST_CASE("on two GPUs, too, a call of CUDA's that fails is an error, and the next run is right") {
  const TwoGpus two;
  if (!two.exist) return;
  test::CudaOnHost& cuda = test::CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  const std::vector<float> x(70, 3.0f);
  const auto use = [&] {
    tf::Variables variables;
    OnGpus<hand_over> session(variables);
    for (int i = 0; i < 3; ++i) {
      session.run<"to_first">(tf::feed<"x">(x));
      session.run<"to_second">(tf::feed<"x">(x));
    }
    OnGpus<grow> first(variables);
    OnGpus<look> second(variables);
    for (int i = 0; i < 2; ++i) {
      first.run<"step">();
      second.run<"look">();
      second.run<"shrink">();
    }
    return variables.get<float>("of_first")[7] + variables.get<float>("seen")[7];
  };
  const float right = use();
  int failures = 0;
  int errors = 0;
  for (;; ++failures) {
    CAPTURE(failures);
    cuda.until_failure = failures;
    std::string text;
    float got = right;
    try {
      got = use();
    } catch (const tf::Error& error) {
      text = error.what();
      ++errors;
    }
    const bool failed = cuda.until_failure < 0;
    cuda.until_failure = -1;
    CHECK(got == right);  // what can't be recorded is launched
    if (failures % 16 == 0) CHECK(use() == right);
    if (!failed) break;
    const bool names = text.empty() || text.find("CUDA: ") != std::string::npos ||
                       text.find("no memory for the ") != std::string::npos;
    CHECK_MESSAGE(names, text);
  }
  CHECK(failures > 100);
  CHECK(errors > 50);
  CHECK(cuda.in_use == before);
}

#endif

TEST_CASE("parts that run on another GPU than their tensors have the same values") {
  test::CudaOnHost::get().devices = 1;
  tf::Variables of_one;
  tf::Session<parts, tf::training, test::CudaTargetOnHost> one(of_one, {.seed = 4});
  const TwoGpus two_gpus;
  if (!two_gpus.exist) return;
  int detached = 0;
  for (int places = 0; places < 64; places += 9) {
    CAPTURE(places);
    std::vector<tf::Pin> pins;
    int bits = places;
    for (const char* scope : {"a", "b", "c", "d", "e", "u"}) {
      pins.push_back({scope, "/gpu:" + std::to_string(bits & 1)});
      bits >>= 1;
    }
    for (const char* whole : {"columns", "padded", "rows"}) {
      pins.push_back({whole, "/gpu:" + std::to_string(places % 2)});
    }
    const tf::Placement placement({.pins = pins});
    tf::Variables of_two;
    tf::Session<parts, tf::training, test::CudaTargetOnHost> two(
        of_two, {.seed = 4, .placement = &placement});
    for (const std::size_t rows : {5u, 5u, 1u, 0u, 9u, 9u, 5u}) {  // repeated ones as graphs
      CAPTURE(rows);
      std::vector<float> x(20 * rows);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i + 1));
      const auto run = [&](auto& session) {
        return session.template run<"columns", "padded", "rows", "loop">(tf::feed<"x">(x));
      };
      const auto meant = run(one);
      const auto got = run(two);
      CHECK(std::get<0>(meant) == std::get<0>(got));
      CHECK(std::get<1>(meant) == std::get<1>(got));
      CHECK(std::get<2>(meant) == std::get<2>(got));
      CHECK(std::get<3>(meant) == std::get<3>(got));
    }
    two.with_plan<"columns", "padded", "rows", "loop">(
        [&](const auto&, const auto&, const auto& plan) {
          for (const auto& launch : plan.launches) detached += launch.extents != tf::none;
        });
  }
  CHECK(detached >= 8);
}
