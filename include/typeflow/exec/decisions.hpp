// SPDX-License-Identifier: Apache-2.0
#pragma once

// Branches and loops of a recording: the device decides by numbers in its own memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "typeflow/core/failure.hpp"
#include "typeflow/core/isa.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The memory that a recording needs, and how deep its branches and loops nest.
struct RecordingNeeds {
  std::int64_t scratch = 0;  ///< bytes of memory
  int depth = 0;             ///< branches and loops inside one another; 0: kernels alone
};

/// A loop of a recording.
struct RecordedLoop {
  std::byte* numbers;              ///< Decisions::loop_bytes of memory for its counters
  const std::int32_t* trip_count;  ///< in the device's memory; null: it is `most`
  std::int64_t most;
  bool is_tested;       ///< a condition ends it
  bool is_reversed;     ///< the last index first
  bool draws;           ///< each iteration has random numbers of its own
  std::int32_t* index;  ///< of the iteration, in the device's memory; null: nobody reads it
};

/// A loop that must end after so many iterations.
struct IterationLimit {
  std::int64_t most;  ///< below 0: no limit
  Failure* failure;   ///< of the run; gets `most` as its number
  std::int32_t step;
};

/// Bytes that a recording copies. In an iteration with index i, the addresses are i steps further.
struct RowCopy {
  std::byte* to;
  const std::byte* from;
  std::int64_t bytes;
  std::int64_t to_step = 0;
  std::int64_t from_step = 0;
};

/// Records branches and loops. All addresses are those of the device.
///
///     branch:  begin_branch, and for each arm begin_arm ... end_body
///     loop:    enter, [condition, test], begin_iteration ... next, [condition, test], end_body,
///              [clear_rows], [store_count], exit
class Decisions {
 public:
  static constexpr std::int64_t loop_bytes = 64;

  Decisions() = default;
  Decisions(const Decisions&) = delete;
  Decisions& operator=(const Decisions&) = delete;
  virtual ~Decisions() = default;

  /// The memory of RecordingNeeds, aligned for any element.
  virtual std::byte* scratch() const = 0;
  /// A bool in the device's memory chooses arm 0 of two, if it holds. An int32 chooses the arm; one
  /// that is none chooses the last.
  virtual void begin_branch(const void* number, bool is_flag, int arms) = 0;
  virtual void enter(const RecordedLoop& loop) = 0;
  /// The loop goes on if a bool in the device's memory holds. At the limit it ends, and its run
  /// finds a failure.
  virtual void test(const bool* goes_on, const IterationLimit& limit) = 0;
  /// The next arm.
  virtual void begin_arm() = 0;
  /// The loop's body.
  virtual void begin_iteration() = 0;
  virtual void end_body() = 0;
  /// Ends an iteration of the loop.
  virtual void next() = 0;
  /// Copies that do not depend on one another.
  virtual void copy(std::span<const RowCopy> copies) = 0;
  /// Clears the rows behind those that the loop's iterations have written, of `most`.
  virtual void clear_rows(std::byte* rows, std::int64_t row_bytes, std::int64_t most) = 0;
  /// Stores the number of iterations.
  virtual void store_count(std::int32_t* to) = 0;
  virtual void exit() = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA
