// SPDX-License-Identifier: Apache-2.0
#pragma once

// Numbers that a test and the program that made its expected values agree on.

#include <cstdint>

namespace numbers {

/// A linear congruential generator: numbers in [0, 1) that any language computes exactly.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    state_ = (state_ * 1103515245 + 12345) % (std::uint64_t{1} << 31);
    return static_cast<double>(state_) / 2147483648.0;
  }

 private:
  std::uint64_t state_;
};

}  // namespace numbers
