// SPDX-License-Identifier: Apache-2.0
#pragma once

// What tests of kernels that move elements share.

#include <algorithm>
#include <cstdint>

#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// A type of each size of element.
inline constexpr tf::DType type_of_each_size[] = {tf::DType::uint8, tf::DType::float16,
                                                  tf::DType::float32, tf::DType::float64,
                                                  tf::DType::complex128};

/// Runs parts of `grain` elements, the last one first.
class Backwards : public tf::cpu_kernels::Executor {
 public:
  void run(std::int64_t count, std::int64_t grain, Task task, void* context) override {
    for (std::int64_t i = (count - 1) / grain; i >= 0; --i) {
      task(context, i * grain, std::min(count, (i + 1) * grain));
    }
  }
};

}  // namespace test
