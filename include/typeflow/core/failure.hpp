// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a kernel finds wrong with its data, as numbers: not every processor can throw an exception
// or write text. The operation, on the host, says what they mean.

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct Failure {
  std::int32_t what = 0;        ///< which mistake of those that the operation knows; 0: none
  std::int64_t number[4] = {};  ///< what there is to say of it
  std::int32_t step = -1;       ///< of the program; KernelCall::fail sets it
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
