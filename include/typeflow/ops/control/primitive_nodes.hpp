// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations of the primitives of control flow (primitives.hpp).

#include <cstdint>
#include <string_view>

#include "typeflow/front/sources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct primitive : operation_base {
  static constexpr Kind kind = Kind::primitive;
  static constexpr Derivative derivative = Derivative::missing;  // regions have a gradient
  static constexpr bool takes_strings = true;
  static constexpr int flops = 0;
};

/// Inputs: a value and a boolean scalar. Outputs: the value if the scalar is false, and the value
/// if it is true. The other one is dead.
struct Switch : primitive {
  static constexpr std::string_view name = "Switch";
};

/// The input that is not dead, of two, and its number. With one input, the beginning of a loop:
/// that input in the first iteration, then the value of the back edge, `next`.
struct Merge : primitive {
  static constexpr std::string_view name = "Merge";
  /// A NextIteration's value; none if nothing is connected. It is made after the Merge, so it is no
  /// input of the node.
  std::int32_t next;
};

/// Brings an outer value into a frame: into its first iteration, or into all of them (`constant`).
struct Enter : primitive {
  static constexpr std::string_view name = "Enter";
  std::int32_t frame;  ///< its number, below ir::Graph::frames
  std::int32_t constant;
  std::int64_t max_iterations;  ///< of the frame; 0: unlimited
};

/// The value with which an iteration leaves its frame: in the one iteration in which it is not
/// dead.
struct Exit : primitive {
  static constexpr std::string_view name = "Exit";
};

/// A value in the next iteration. If it is dead, there is no next iteration.
struct NextIteration : primitive {
  static constexpr std::string_view name = "NextIteration";
};

/// Whether there is another iteration: the predicate of a loop's Switches.
struct LoopCond : primitive {
  static constexpr std::string_view name = "LoopCond";
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
