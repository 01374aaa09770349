// SPDX-License-Identifier: Apache-2.0
#pragma once

// Failure: the error that a kernel found in its data, as numbers, because not every processor can
// throw an exception or write text. On the host the operation says what they mean.

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

class Waiter;

struct Failure {
  /// `what` of a kernel that has to wait, and has done nothing. (It is called again.)
  static constexpr std::int32_t must_wait = -1;

  std::int32_t what = 0;        ///< which of the operation's mistakes, from 1 on; 0: none
  std::int64_t number[4] = {};  ///< numbers for its message
  std::int32_t step = -1;       ///< the program's step; KernelCall::fail sets it
  Waiter* waiter = nullptr;  ///< of the stream; null: a kernel that has to wait blocks its thread
};

}  // namespace typeflow::inline TYPEFLOW_ISA
