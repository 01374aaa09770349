// SPDX-License-Identifier: Apache-2.0
#pragma once

// A copy of elements between two strided tensors: transposes, slices and reversals are such copies.
//
// Axes that continue one another are merged first, so that the pieces to move are as long as
// possible. Elements are bytes here: the code depends on their size only, and is compiled once
// (docs/building.md).

#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/copy_axis.hpp"
#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/visit.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A copy of elements between two strided tensors; strides count elements.
class StridedCopy {
 public:
  /// Into a part of this tensor, or all of it.
  explicit StridedCopy(const Tensor& result)
      : result_bytes_(result.size() * size_of(result.dtype)) {}

  /// Adds the next inner axis.
  void add_axis(std::int64_t extent, std::int64_t from, std::int64_t to) {
    size_ *= extent;
    if (from != 0) read_ *= extent;
    if (extent == 1) return;
    if (rank_ > 0 && axes_[rank_ - 1].from == extent * from && axes_[rank_ - 1].to == extent * to) {
      axes_[rank_ - 1] = {axes_[rank_ - 1].extent * extent, from, to};
    } else {
      axes_[rank_++] = {extent, from, to};
    }
  }

  /// Copies elements of T: Bytes<1>, 2, 4, 8 or 16, as of visit_size. Without Transposes it is slow
  /// if the axes are in another order than the input's.
  template <class T, bool Transposes = true>
  void run(const KernelCall& call, const T* in, T* out) const {
    copy<sizeof(T), Transposes>(call, in, out);
  }

  /// The same for elements of Size bytes.
  template <int Size, bool Transposes>
  void copy(const KernelCall& call, const void* in, void* out) const;

 private:
  CopyAxis axes_[max_rank + 1] = {};
  int rank_ = 0;
  std::int64_t size_ = 1;
  std::int64_t read_ = 1;  ///< elements of the input
  std::int64_t result_bytes_;
};

/// The strides of a contiguous tensor.
struct Strides {
  std::int64_t stride[max_rank];

  explicit Strides(const Tensor& x) {
    std::int64_t s = 1;
    for (std::size_t i = x.extents.size(); i-- > 0;) {
      stride[i] = s;
      s *= x.extents[i];
    }
  }
  std::int64_t operator[](std::size_t axis) const { return stride[axis]; }
};

#ifdef TYPEFLOW_COMPILED
extern template void StridedCopy::copy<1, false>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<1, true>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<2, false>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<2, true>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<4, false>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<4, true>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<8, false>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<8, true>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<16, false>(const KernelCall&, const void*, void*) const;
extern template void StridedCopy::copy<16, true>(const KernelCall&, const void*, void*) const;
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels

#ifndef TYPEFLOW_COMPILED
#include "typeflow/cpu/strided_copy.ipp"
#endif
