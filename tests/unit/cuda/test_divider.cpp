// SPDX-License-Identifier: Apache-2.0

// Division by multiplication, against the operator.
//
// For the emulation alone: the arithmetic is the same on the processor.

#include "support/cuda_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <typeflow/cuda/divider.hpp>

TEST_CASE("dividing by a multiplication is exact for all numbers of 31 bits") {
  constexpr std::int64_t last = (std::int64_t{1} << 31) - 1;
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= 300; ++d) divisors.push_back(d);
  for (int bit = 8; bit <= 31; ++bit) {
    for (std::int64_t by = -2; by <= 2; ++by) {
      divisors.push_back(std::min(last, (std::int64_t{1} << bit) + by));
    }
  }
  int wrong = 0;
  for (const std::int64_t divisor : divisors) {
    const auto by = typeflow::cuda_kernels::Divider::by(divisor);
    const auto check = [&](std::int64_t n) {
      if (n < 0 || n > last) return;
      auto quotient = static_cast<std::uint32_t>(n);
      const std::int32_t remainder = by.take_remainder(quotient);
      wrong += quotient != n / divisor || remainder != n % divisor;
    };
    // Around multiples of the divisor an inexact quotient would show.
    for (std::int64_t n = 0; n <= last;
         n += divisor * std::max<std::int64_t>(1, last / divisor / 99)) {
      for (std::int64_t near = n - 2; near <= n + 2; ++near) check(near);
    }
    for (std::int64_t n = last - 99; n <= last; ++n) check(n);
    const std::int64_t last_multiple = last / divisor * divisor;
    check(last_multiple - 1);
    check(last_multiple);
  }
  CHECK(wrong == 0);
}
