// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/index/selection.hpp.

#include <cstdint>

#include "typeflow/cuda/compaction.hpp"
#include "typeflow/ops/index/selection.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The coordinates of a mask's true elements.
struct TrueElements {
  const bool* mask;
  std::int32_t* rows;
  std::int64_t bound;
  std::int64_t extent[max_rank];
  int rank;

  TYPEFLOW_DEVICE bool is_chosen(std::int64_t i) const { return mask[i]; }
  TYPEFLOW_DEVICE void write(std::int64_t i, std::int64_t number) const {
    if (number >= bound) return;
    for (int axis = rank - 1; axis > 0; --axis) {
      rows[number * rank + axis] = static_cast<std::int32_t>(next_digit(i, extent[axis]));
    }
    rows[number * rank] = static_cast<std::int32_t>(i);
  }
};

template <>
struct kernel_of<ops::WhereIndex> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return compaction_workspace(in->size());
  }
  template <class>
  static void run(const ops::WhereIndex&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t bound = out[0].extents[0];
    auto* const rows = static_cast<std::int32_t*>(out[0].data);
    TrueElements test{
        static_cast<const bool*>(in->data), rows, bound, {}, static_cast<int>(in->extents.size())};
    for (std::size_t i = 0; i < in->extents.size(); ++i) test.extent[i] = in->extents[i];
    const StoreCount finish{static_cast<std::int32_t*>(out[1].data), bound, 1,
                            stream_of(call).failure_of(call)};
    const std::int64_t* const total = choose(call, in->size(), test, finish, call.workspace);
    each(call, out[0].size(), FillRest<std::int32_t>{rows, 0, total, test.rank});
  }
};

/// The positions of the elements of a part.
struct PartElements {
  Indices parts;
  std::int32_t* positions;
  std::int64_t bound;
  std::int64_t part;
  std::int64_t count;  ///< of parts

  TYPEFLOW_DEVICE bool is_wrong(std::int64_t i) const { return !is_inside(parts[i], count); }
  TYPEFLOW_DEVICE Failure mistake(std::int64_t i) const { return {1, {parts[i], i}}; }
  TYPEFLOW_DEVICE bool is_chosen(std::int64_t i) const { return parts[i] == part; }
  TYPEFLOW_DEVICE void write(std::int64_t i, std::int64_t number) const {
    if (number < bound) positions[number] = static_cast<std::int32_t>(i);
  }
};

template <>
struct kernel_of<ops::Partition> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return compaction_workspace(in->size());
  }
  template <class>
  static void run(const ops::Partition& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t bound = out[0].size();
    auto* const positions = static_cast<std::int32_t*>(out[0].data);
    const PartElements test{Indices(*in), positions, bound, op.part, op.parts};
    Failure* const found = find_mistake(call, in->size(), test);
    const StoreCount finish{static_cast<std::int32_t*>(out[1].data), bound,
                            ops::Partition::no_room(in->dtype, 0, 0).what, found};
    const std::int64_t* const total = choose(call, in->size(), test, finish, call.workspace);
    each(call, bound, FillRest<std::int32_t>{positions, -1, total, 1});
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
