// SPDX-License-Identifier: Apache-2.0

// Operations without a kernel for GPUs, and machines without a GPU: the processor runs the steps.
//
// For the emulation alone: machines are pretended.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/indexing.hpp>

#include "support/message_of.hpp"

/// Twice x, by a kernel that only processors have.
namespace acme {

struct Doubled : typeflow::custom {
  static constexpr std::string_view name = "Doubled";
  static constexpr typeflow::Type infer(const Doubled&, const typeflow::Type& x) { return x; }
  static constexpr typeflow::AnyExpr gradient(const Doubled&, auto, auto, auto dy) {
    return 2 * dy;
  }
  static void interpret(typeflow::InterpretCall& call) {
    for (std::int64_t i = 0; i < call.outputs[0].size(); ++i) {
      call.outputs[0][i].real = 2 * (*call.inputs[0])[i].real;
    }
  }
};

}  // namespace acme

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {
template <>
struct kernel_of<acme::Doubled> {
  template <class Arch>
  static void run(const acme::Doubled&, const Tensor* in, const Tensor* out, const KernelCall&) {
    for (std::int64_t i = 0; i < in->size(); ++i) {
      static_cast<float*>(out->data)[i] = 2 * static_cast<const float*>(in->data)[i];
    }
  }
};
}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

namespace {

namespace tf = typeflow;

/// Steps with and without a kernel for GPUs.
constexpr void mixed(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 8>(g, "x");
  auto w = variable<float, 8>(g, "w", tf::ones());
  auto y = tf::apply(acme::Doubled{}, tanh(x * w));
  auto loss = mean(square(y - 1)).named("loss");
  (y + 1).named("y");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}
constexpr void pinned(tf::Graph& g) {
  auto x = placeholder<float, 4>(g, "x");
  tf::on(g, tf::gpu(0), [&] { return tf::apply(acme::Doubled{}, x + 1); }).named("y");
}

/// Each variable gets the other's old value, of which the run makes a copy.
constexpr void exchange(tf::Graph& g) {
  auto a = variable<float, 3>(g, "a", tf::ones());
  auto b = variable<float, 3>(g, "b", tf::zeros);
  auto first = assign(a, b);
  first.named("first");
  assign(b, a).named("second");
  after(first, a.read()).named("a_now");
}

template <auto Model>
using OnGpu = tf::Session<Model, tf::inference, test::CudaTargetOnHost>;

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 8);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

/// y's elements; the loss after some steps, if they are wanted.
template <class Session>
std::vector<float> outcome(Session& session, std::size_t rows) {
  const std::vector<float> x = inputs(rows);
  std::vector<float> out;
  for (int i = 0; i < 3; ++i) {
    out.push_back(session.template run<"train", "loss">(tf::feed<"x">(x)));
  }
  const auto y = session.template run<"y">(tf::feed<"x">(x));
  out.insert(out.end(), y.begin(), y.end());
  return out;
}

struct Gpus {
  explicit Gpus(int count) { test::CudaOnHost::get().devices = count; }
  ~Gpus() { test::CudaOnHost::get().devices = 1; }
};

}  // namespace

TEST_CASE("steps without a kernel for GPUs run on the processor, the others on the GPU") {
  tf::Variables near;
  tf::Session<mixed> on_cpu(near, {.seed = 1});
  for (const int gpus : {0, 1}) {
    CAPTURE(gpus);
    const Gpus machine(gpus);
    const int launches = test::CudaOnHost::get().launches;
    tf::Variables far;
    tf::Session<mixed, tf::training, test::CudaTargetOnHost> session(far, {.seed = 1});
    tf::Variables again;
    tf::Session<mixed> reference(again, {.seed = 1});
    const std::vector<float> got = outcome(session, 5);
    const std::vector<float> expected = outcome(reference, 5);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
    CHECK((test::CudaOnHost::get().launches > launches) == (gpus > 0));
    CHECK(session.devices().size() == static_cast<std::size_t>(1 + gpus));
  }
}

TEST_CASE(
    "what is pinned to a GPU that has no kernel for it is refused, unless placement is soft") {
  tf::Variables variables;
  const std::string text = message_of([&] { OnGpu<pinned> session(variables); });
  CHECK(text.starts_with("y (test_host_code.cpp:"));
  CHECK(text.ends_with(
      "there is no kernel for /gpu:0; leave the device open, pin it to /cpu:0, or set "
      "soft_placement"));
  OnGpu<pinned> soft(variables, {.soft_placement = true});
  const std::vector<float> x = {1, 2, 3, 4};
  const auto y = soft.run<"y">(tf::feed<"x">(x));
  for (std::size_t i = 0; i < 4; ++i) CHECK(y[i] == 2 * (x[i] + 1));
}

TEST_CASE("without a GPU what is pinned to one is refused, unless placement is soft") {
  const Gpus none(0);
  tf::Variables variables;
  const std::string text = message_of([&] { OnGpu<pinned> session(variables); });
  CHECK(text.find("expected a device of this machine (/cpu:0), got /gpu:0") != std::string::npos);
  OnGpu<pinned> soft(variables, {.soft_placement = true});
  const std::vector<float> x = {1, 2, 3, 4};
  const auto y = soft.run<"y">(tf::feed<"x">(x));
  for (std::size_t i = 0; i < 4; ++i) CHECK(y[i] == 2 * (x[i] + 1));
}

TEST_CASE("without a GPU products have the bits of the processor's own session") {
  static constexpr auto products = [](tf::Graph& g) {
    auto x = placeholder<float, 2, 6000>(g, "x");
    matmul(x, tf::transpose<1, 0>(x)).named("deep");
    matmul(tf::slice<tf::range(0, 1), tf::whole>(x), tf::transpose<1, 0>(x)).named("vector");
  };
  const Gpus none(0);
  std::vector<float> x(12000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  tf::Variables variables;
  tf::Session<products> near(variables);
  OnGpu<products> far(variables);
  const auto [deep, vector] = near.run<"deep", "vector">(tf::feed<"x">(x));
  const auto [deep_too, vector_too] = far.run<"deep", "vector">(tf::feed<"x">(x));
  CHECK(std::equal(deep.begin(), deep.end(), deep_too.begin()));
  CHECK(std::equal(vector.begin(), vector.end(), vector_too.begin()));
}

TEST_CASE("variables exchange their values with and without a GPU") {
  for (const int gpus : {0, 1}) {
    CAPTURE(gpus);
    const Gpus machine(gpus);
    tf::Variables variables;
    OnGpu<exchange> session(variables);
    for (const float a : session.run<"first", "second", "a_now">()) CHECK(a == 0);
    for (const float b : variables.get<float>("b")) CHECK(b == 1);
  }
}
