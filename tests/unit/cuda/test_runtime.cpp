// SPDX-License-Identifier: Apache-2.0

// The run time of GPUs: memory, copies, streams, and an error from each of CUDA's calls in turn.
//
// For the emulation alone: calls fail on demand.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using test::CudaOnHost;

constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 12>(g, "x");
  auto h = tanh(tf::dense<20>(g, "wide", x));
  auto y = tf::dense<3>(g, "narrow", h).named("y");
  auto loss = mean(square(y)).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}
using OnGpu = tf::Session<net, tf::training, test::CudaTargetOnHost>;

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}
template <class Session>
std::vector<float> losses(Session& session, int steps, std::size_t rows = 5) {
  const std::vector<float> x = inputs(rows);
  std::vector<float> out;
  for (int i = 0; i < steps; ++i) {
    out.push_back(session.template run<"train", "loss">(tf::feed<"x">(x)));
  }
  return out;
}
std::vector<float> expected(int steps, std::size_t rows = 5) {
  tf::Variables variables;
  tf::Session<net> session(variables, {.seed = 3});
  return losses(session, steps, rows);
}
void check_near(const std::vector<float>& got, const std::vector<float>& right) {
  REQUIRE(got.size() == right.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == doctest::Approx(right[i]).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("training on a GPU allocates at the first run with a batch, and gives all back") {
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  {
    tf::Variables variables;
    OnGpu session(variables, {.seed = 3});
    check_near(losses(session, 4), expected(4));
    CHECK(cuda.in_use > before);
    const tf::DeviceStatistics gpu = session.devices()[1];
    CHECK(gpu.device == tf::gpu(0));
    const int allocations = cuda.allocations;
    losses(session, 20);
    CHECK(cuda.allocations == allocations);
    losses(session, 1, 50);  // a larger batch needs more
    CHECK(cuda.allocations > allocations);
  }
  CHECK(cuda.in_use == before);
}

TEST_CASE("a training step copies its feeds in and its fetches out, and no variable") {
  CudaOnHost& cuda = CudaOnHost::get();
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  losses(session, 2);
  const int in = cuda.copies_in;
  const int out = cuda.copies_out;
  losses(session, 10);
  CHECK(cuda.copies_in == in + 10);
  CHECK(cuda.copies_out == out + 10);
  // Who reads a variable gets what the GPU has; the processor goes on from there.
  tf::Variables near;
  tf::Session<net> cpu(near, {.seed = 3});
  losses(cpu, 12);
  const auto weights = [](const tf::Variables& store) {
    const auto w = store.get<float>("wide/W");
    return std::vector<float>(w.begin(), w.end());
  };
  check_near(weights(variables), weights(near));
  CHECK(cuda.copies_out == out + 11);
}

TEST_CASE("the same bits in each run, whatever the order of threads") {
  const auto bits = [] {
    tf::Variables variables;
    OnGpu session(variables, {.seed = 3});
    return losses(session, 5, 33);
  };
  const std::vector<float> first = bits();
  for (int i = 0; i < 5; ++i) CHECK(bits() == first);
}

TEST_CASE("a call of CUDA's that fails is an error, and the next run is right") {
  CudaOnHost& cuda = CudaOnHost::get();
  const std::int64_t before = cuda.in_use;
  const std::vector<float> right = expected(4);
  int failures = 0;
  int not_recorded = 0;
  for (;; ++failures) {
    CAPTURE(failures);
    tf::Variables variables;
    cuda.until_failure = failures;
    std::string text;
    bool failed = false;
    try {
      OnGpu session(variables, {.seed = 3});
      std::vector<float> got;
      const int graphs = cuda.graph_launches;
      try {
        got = losses(session, 4);
      } catch (const tf::Error& error) {
        text = error.what();
      }
      failed = cuda.until_failure < 0;
      cuda.until_failure = -1;
      if (failed) {
        if (text == "") {  // what can't be recorded is launched
          CHECK(cuda.graph_launches == graphs);
          ++not_recorded;
          check_near(got, right);
        }
        tf::Variables fresh;
        OnGpu again(fresh, {.seed = 3});
        check_near(losses(again, 4), right);
        losses(session, 1);  // the session that failed can go on
      }
    } catch (const tf::Error& error) {  // while the session opens
      failed = cuda.until_failure < 0;
      cuda.until_failure = -1;
      CHECK(std::string(error.what()).find("CUDA: ") != std::string::npos);
    }
    if (!failed) break;
    if (text != "") {
      const bool names = text.find("CUDA: ") != std::string::npos ||
                         text.find("no memory for the ") != std::string::npos;
      CHECK_MESSAGE(names, text);
    }
  }
  CHECK(failures > 30);
  CHECK(not_recorded > 5);
  CHECK(cuda.in_use == before);
}

TEST_CASE(
    "an error that the GPU has found in a kernel is thrown, also if the run fetches nothing") {
  CudaOnHost& cuda = CudaOnHost::get();
  tf::Variables variables;
  OnGpu session(variables, {.seed = 3});
  losses(session, 1);
  const std::vector<float> x = inputs(5);
  cuda.synchronization_fails = true;
  std::string text;
  for (int i = 0; i < 2 && text.empty(); ++i) {
    try {
      session.run<"train">(tf::feed<"x">(x));
    } catch (const tf::Error& error) {
      text = error.what();
    }
  }
  cuda.synchronization_fails = false;
  CHECK(text.find("CUDA: ") != std::string::npos);
  // The GPU stays lost to its sessions; others have streams of their own.
  CHECK(message_of([&] { losses(session, 1); }).find("CUDA: ") != std::string::npos);
  tf::Variables fresh;
  OnGpu again(fresh, {.seed = 3});
  check_near(losses(again, 2), expected(2));
}

TEST_CASE("GPUs are listed with their names; a session uses several") {
  CudaOnHost::get().devices = 2;
  const auto devices = tf::list_local_devices<test::CudaTargetOnHost>();
  REQUIRE(devices.size() == 3);
  CHECK(devices[1].name == "/job:localhost/replica:0/task:0/gpu:0");
  CHECK(devices[2].description == "pretended GPU 1");
  setenv("TYPEFLOW_VISIBLE_DEVICES", "1", 1);
  const auto chosen = tf::list_local_devices<test::CudaTargetOnHost>();
  unsetenv("TYPEFLOW_VISIBLE_DEVICES");
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[1].name == "/job:localhost/replica:0/task:0/gpu:0");
  CHECK(chosen[1].description == "pretended GPU 1");
  CudaOnHost::get().devices = 1;
}

TEST_CASE("a driver that has no GPU for the program is said, none at all is not") {
  CudaOnHost& cuda = CudaOnHost::get();
  const auto reason = [&](int driver, cudaError_t found) {
    cuda.driver_version = driver;
    const std::string text = tf::detail::reason_without_gpu(CudaOnHost::runtime(), found);
    cuda.driver_version = 0;
    return text;
  };
  CHECK(reason(0, cudaErrorInvalidValue) == "");
  CHECK(reason(12040, cudaErrorInvalidValue) ==
        "typeflow: the processor runs what is meant for GPUs: NVIDIA's driver is for CUDA 12.4, "
        "expected 13.0 or newer");
  CHECK(reason(13000, cudaSuccess) ==
        "typeflow: the processor runs what is meant for GPUs: NVIDIA's driver for CUDA 13.0 has no "
        "device");
  CHECK(reason(13020, cudaErrorInvalidValue).ends_with(" has no device (invalid value)"));
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CHECK(reason(13000, cudaErrorInvalidValue) == "");
  CHECK(reason(12040, cudaErrorInvalidValue).find("CUDA 12.4") != std::string::npos);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_CASE("why there is no GPU is said once, on stderr, and the processor computes") {
  CudaOnHost& cuda = CudaOnHost::get();
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  cuda.devices = 0;
  cuda.driver_version = 12040;
  std::fflush(stderr);
  const int kept = dup(2);
  dup2(fileno(file), 2);
  for (int i = 0; i < 3; ++i) CHECK(test::CudaTargetOnHost().devices().size() == 1);
  std::fflush(stderr);
  dup2(kept, 2);
  close(kept);
  cuda.driver_version = 0;
  cuda.devices = 1;
  std::rewind(file);
  char text[1000] = {};
  const std::string said(text, std::fread(text, 1, sizeof text, file));
  std::fclose(file);
  CHECK(said ==
        "typeflow: the processor runs what is meant for GPUs: NVIDIA's driver is for CUDA 12.4, "
        "expected 13.0 or newer\n");
}
