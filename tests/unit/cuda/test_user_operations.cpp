// SPDX-License-Identifier: Apache-2.0

// A user's elementwise operation and reduction run on GPUs unchanged; a custom one by one
// specialisation.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cuda/user_operations.hpp"

namespace tf = typeflow;

TEST_CASE("a user's operations run on a GPU: against plain loops, and trained against the CPU") {
  constexpr std::size_t n = 37;
  for (const std::size_t rows : {1u, 10u}) {
    std::vector<float> x(rows * n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(5 * i));
    tf::Variables far;
    tf::Session<acme::model, tf::training, test::CudaTargetOnHost> gpu(far);
    const auto y = gpu.run<"y">(tf::feed<"x">(x));
    const auto farthest = gpu.run<"farthest">(tf::feed<"x">(x));
    const auto shrunk = [&](std::size_t i) {
      return x[i] > 0.25f ? x[i] - 0.25f : x[i] < -0.25f ? x[i] + 0.25f : 0.0f;
    };
    for (std::size_t r = 0; r < rows; ++r) {
      float most = 0;
      for (std::size_t k = 0; k < n; ++k) {
        CHECK(y(r, k) == shrunk(r * n + n - 1 - k));
        const float at = shrunk(r * n + k);
        if (std::abs(at) > std::abs(most) || (std::abs(at) == std::abs(most) && at > most)) {
          most = at;
        }
      }
      CHECK(farthest(r) == most);
    }
    tf::Variables near;
    tf::Session<acme::model> cpu(near);
    for (int i = 0; i < 5; ++i) {
      const float expected = cpu.run<"train", "loss">(tf::feed<"x">(x));
      const float got = gpu.run<"train", "loss">(tf::feed<"x">(x));
      CHECK(got == doctest::Approx(expected).epsilon(1e-5));
    }
    // All of it was the GPU's: the processor gets no step.
    CHECK(gpu.devices()[1].planned > 0);
    CHECK(gpu.devices()[0].planned == 0);
  }
}
