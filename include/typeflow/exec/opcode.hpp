// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of instructions. Plans of one list have none, so programs with such plans don't
// compile this header.

#include <cstdint>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

enum class Opcode : std::uint8_t {
  launch,           ///< a: launch
  copy,             ///< a: from, b: to
  signal,           ///< a: event
  wait,             ///< a: event
  wait_iterations,  ///< a: event, b: loop: until the other stream lags by fewer than its frames
  read,             ///< a: place of a number, b: cell, c: last arm, or below 0 and d: loop
  read_flag,        ///< the same for a bool
  jump,             ///< b: target
  jump_unless,      ///< a: cell, b: target
  select,           ///< a: cell, b: first of the targets in Plan::targets, c: their count
  enter,            ///< a: loop, c: cell of the trip count
  iterate,          ///< a: loop, b: target when the count is reached
  check,            ///< a: loop: error if the count is reached
  proceed,          ///< a: loop, b: target
  exit,             ///< a: loop
  frame,            ///< a: loop: the temporaries of the loop's next frame
  bind,             ///< a: place, b: whose memory it gets
  slice,            ///< a: place, b: whole, c: loop
  alternate,        ///< a: place, b: result, c: other, d: loop
  finish_state,     ///< a: result, b: other, c: initial value, d: loop
  set_index,        ///< a: place, c: loop
  set_count,        ///< a: place, c: loop
  clear_rows,       ///< a: whole, b: row, c: loop
};

/// Whether an instruction's b is the instruction to go on with. (`select` has several.)
constexpr bool is_jump(Opcode opcode) {
  return opcode == Opcode::jump || opcode == Opcode::jump_unless || opcode == Opcode::iterate ||
         opcode == Opcode::proceed;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
