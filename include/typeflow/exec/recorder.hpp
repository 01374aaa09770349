// SPDX-License-Identifier: Apache-2.0
#pragma once

// Records a run's instructions, and plays what it has recorded, as the engine sees it. The headers
// of devices that record include how it is done (recordings.hpp); other programs don't compile it.

#include <cstdint>

#include "typeflow/core/failure.hpp"
#include "typeflow/core/isa.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

struct Arena;
struct Binding;
struct Execution;
struct Instruction;
class Launcher;

/// A stream's part of a run.
struct StreamRun {
  const Execution& execution;
  const Launcher& launcher;
  const Arena& arena;
  Binding& binding;
  void* const* at;  ///< the addresses of the plan's places
  std::uint64_t draw;
  Failure& failure;  ///< outlives the kernels in the device's stream
};

/// The recordings of one stream of a plan in an arena.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  /// Makes the instructions from `now` on, as far as they are recorded. Returns the instruction
  /// after those that it has made: `now` if the caller has to make it. `now` is a launch, or begins
  /// a branch or loop.
  virtual const Instruction* play(const StreamRun& run, const Instruction* now,
                                  const Instruction* end) = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
