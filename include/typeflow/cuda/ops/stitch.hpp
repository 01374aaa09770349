// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/index/stitch.hpp. The last row for a place is the largest one, so rows may come
// in any order.

#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/index/stitch.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

struct StitchRow {
  Indices indices;
  std::int32_t* rows;
  std::int64_t extent[max_rank];
  int rank;

  /// The axis along which a row's index is outside; -1 if there is none.
  TYPEFLOW_DEVICE int wrong_axis(std::int64_t row) const {
    if (indices[row * rank] == -1) return -1;  // the row names no place
    for (int axis = 0; axis < rank; ++axis) {
      if (!is_inside(indices[row * rank + axis], extent[axis])) return axis;
    }
    return -1;
  }
  TYPEFLOW_DEVICE bool is_wrong(std::int64_t row) const { return wrong_axis(row) >= 0; }
  TYPEFLOW_DEVICE Failure mistake(std::int64_t row) const {
    const int axis = wrong_axis(row);
    return {1, {indices[row * rank + axis], row, axis, extent[axis]}};
  }
  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    const auto row = static_cast<std::int64_t>(i);
    if (indices[row * rank] == -1 || is_wrong(row)) return;
    std::int64_t place = 0;
    for (int axis = 0; axis < rank; ++axis) {
      place = place * extent[axis] + indices[row * rank + axis];
    }
    atomicMax(rows + place, static_cast<std::int32_t>(row));
  }
};

template <>
struct kernel_of<ops::LastPositions> {
  template <class>
  static void run(const ops::LastPositions& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    StitchRow stitch{Indices(*in), static_cast<std::int32_t*>(out->data), {}, op.rank};
    for (int i = 0; i < op.rank; ++i) {
      stitch.extent[i] = out->extents[static_cast<std::size_t>(i)];
    }
    find_mistake(call, in->extents[0], stitch);
    fill_bytes(call, out->data, 0xff, out->size() * size_of(out->dtype));  // -1
    each(call, in->extents[0], stitch);
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
