// SPDX-License-Identifier: Apache-2.0
#pragma once

// The arguments of a run, as the engine sees them.

#include <cstdint>

#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A fed tensor. It counts even if no step of the program reads it, because it may give the batch.
struct FedTensor {
  Id name;         ///< in ProgramView::names
  Id placeholder;  ///< in ProgramView::placeholders; none if the program does not read it
  const void* data;
  DType dtype;
  std::int64_t count;
  int rank;  ///< -1: no shape was given
  const std::int64_t* extents;
};

/// The buffer for a result of a run.
struct FetchBuffer {
  Id name;  ///< in ProgramView::names
  void* data;
  // Of the engine, in a run:
  int place = -1;          ///< in the plan; -1 if no step computes it
  bool is_direct = false;  ///< steps write the buffer itself
};

}  // namespace typeflow::inline TYPEFLOW_ISA
