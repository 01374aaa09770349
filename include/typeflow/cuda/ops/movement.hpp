// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels that only move elements: transpose, slice, reverse, concat, pad.
//
// All but pad are a StridedCopy: extents, and the strides of both sides. Axes that continue one
// another are merged first. Elements that lie together on both sides are moved by up to 16 bytes at
// a time. If the sides are contiguous along different axes, tiles go through shared memory, so that
// both are accessed along their rows.

#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// An axis of a copy. Strides count units.
struct CopyAxis {
  std::int64_t extent;
  std::int64_t from;
  std::int64_t to;
};
struct CopyAxes {
  CopyAxis axis[max_rank + 2];
  int rank;
};

/// Copies unit i. The sides may begin later than at `in` and `out`.
template <int N>
struct CopyUnit {
  const Unit<N>* in;
  Unit<N>* out;
  CopyAxes axes;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    move(i, 0, 0);
  }
  template <class Index>
  TYPEFLOW_DEVICE void move(Index i, std::int64_t from, std::int64_t to) const {
    for (int k = axes.rank - 1; k > 0; --k) {
      const std::int64_t at = next_digit(i, axes.axis[k].extent);
      from += at * axes.axis[k].from;
      to += at * axes.axis[k].to;
    }
    from += static_cast<std::int64_t>(i) * axes.axis[0].from;
    to += static_cast<std::int64_t>(i) * axes.axis[0].to;
    out[to] = in[from];
  }
};

/// A copy whose input is contiguous along `across` and whose output along `inner`.
template <int N>
struct TileCopy {
  static constexpr int size = 32;  ///< of a tile's sides
  const Unit<N>* in;
  Unit<N>* out;
  CopyAxes planes;
  CopyAxis across;
  CopyAxis inner;
  std::int64_t tiles;  ///< along `inner`
  std::int64_t bands;  ///< of tiles along `across`
  std::int64_t count;  ///< all tiles of all planes
};

template <int N>
__global__ void tile_copy_kernel(TileCopy<N> copy) {
  constexpr int size = TileCopy<N>::size;
  constexpr int step = loop_threads / size;
  __shared__ Unit<N> tile[size][size + 1];
  const int x = static_cast<int>(threadIdx.x) % size;
  const int y = static_cast<int>(threadIdx.x) / size;
  for (auto task = static_cast<std::int64_t>(blockIdx.x); task < copy.count;
       task += static_cast<std::int64_t>(gridDim.x)) {
    std::int64_t rest = task;
    const std::int64_t first = next_digit(rest, copy.tiles) * size;  // along `inner`
    const std::int64_t band = next_digit(rest, copy.bands) * size;   // along `across`
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (int k = copy.planes.rank - 1; k >= 0; --k) {
      const std::int64_t at = next_digit(rest, copy.planes.axis[k].extent);
      from += at * copy.planes.axis[k].from;
      to += at * copy.planes.axis[k].to;
    }
    TYPEFLOW_UNROLL
    for (int j = 0; j < size / step; ++j) {
      const int k = y + j * step;
      if (first + k < copy.inner.extent && band + x < copy.across.extent) {
        tile[k][x] = copy.in[from + (first + k) * copy.inner.from + band + x];
      }
    }
    __syncthreads();
    TYPEFLOW_UNROLL
    for (int j = 0; j < size / step; ++j) {
      const int k = y + j * step;
      if (band + k < copy.across.extent && first + x < copy.inner.extent) {
        copy.out[to + (band + k) * copy.across.to + first + x] = tile[x][k];
      }
    }
    __syncthreads();  // nobody writes into the tile again while others read
  }
}

/// A copy of elements between two strided tensors.
class StridedCopy {
 public:
  explicit StridedCopy(DType type) : bytes_(size_of(type)) {}

  /// Adds the next inner axis; strides count elements.
  void add_axis(std::int64_t extent, std::int64_t from, std::int64_t to) {
    size_ *= extent;
    if (extent == 1) return;
    CopyAxis* const outer = axes_.axis + axes_.rank - 1;
    if (axes_.rank > 0 && outer->from == extent * from && outer->to == extent * to) {
      *outer = {outer->extent * extent, from, to};
    } else {
      axes_.axis[axes_.rank++] = {extent, from, to};
    }
  }

  const CopyAxes& axes() const { return axes_; }
  std::int64_t size() const { return size_; }

  void run(const KernelCall& call, const void* in, void* out) const {
    if (size_ == 0) return;
    const CopyAxis* const inner = axes_.axis + axes_.rank - 1;
    if (axes_.rank == 0 || (inner->from == 1 && inner->to == 1)) {
      copy_runs(call, in, out);
      return;
    }
    if (inner->to == 1) {
      for (int i = 0; i + 1 < axes_.rank; ++i) {
        const bool worth_tiles = axes_.axis[i].extent >= 8 && inner->extent >= 8;
        if (axes_.axis[i].from == 1 && worth_tiles) return copy_tiles(call, in, out, i);
      }
    }
    visit_unit(bytes_, [&]<int N>(Unit<N>) { copy_units<N>(call, in, out, axes_, size_); });
  }

 private:
  template <int N>
  static void copy_units(const KernelCall& call, const void* in, void* out, const CopyAxes& axes,
                         std::int64_t count) {
    each(call, count,
         CopyUnit<N>{static_cast<const Unit<N>*>(in), static_cast<Unit<N>*>(out), axes});
  }

  /// Moves elements that lie together by the largest unit that fits all rows.
  void copy_runs(const KernelCall& call, const void* in, void* out) const {
    CopyAxes axes = axes_;
    if (axes.rank == 0) axes.axis[axes.rank++] = {1, 1, 1};
    std::uint64_t all = address_of(in) | address_of(out);
    for (int i = 0; i < axes.rank; ++i) {
      CopyAxis& axis = axes.axis[i];
      const bool is_inner = i + 1 == axes.rank;
      all |= static_cast<std::uint64_t>(is_inner ? axis.extent * bytes_ : axis.from * bytes_);
      all |= static_cast<std::uint64_t>(is_inner ? 0 : axis.to * bytes_);
    }
    const std::int64_t unit = std::max(unit_of(all), bytes_);
    for (int i = 0; i + 1 < axes.rank; ++i) {
      axes.axis[i].from = axes.axis[i].from * bytes_ / unit;
      axes.axis[i].to = axes.axis[i].to * bytes_ / unit;
    }
    axes.axis[axes.rank - 1].extent = axes.axis[axes.rank - 1].extent * bytes_ / unit;
    visit_unit(unit,
               [&]<int N>(Unit<N>) { copy_units<N>(call, in, out, axes, size_ * bytes_ / unit); });
  }

  void copy_tiles(const KernelCall& call, const void* in, void* out, int crossing) const {
    visit_unit(bytes_, [&]<int N>(Unit<N>) {
      if constexpr (N <= 8) {
        constexpr std::int64_t size = TileCopy<N>::size;
        TileCopy<N> copy{static_cast<const Unit<N>*>(in),
                         static_cast<Unit<N>*>(out),
                         {},
                         axes_.axis[crossing],
                         axes_.axis[axes_.rank - 1],
                         0,
                         0,
                         0};
        std::int64_t planes = 1;
        for (int i = 0; i + 1 < axes_.rank; ++i) {
          if (i == crossing) continue;
          copy.planes.axis[copy.planes.rank++] = axes_.axis[i];
          planes *= axes_.axis[i].extent;
        }
        copy.tiles = (copy.inner.extent + size - 1) / size;
        copy.bands = (copy.across.extent + size - 1) / size;
        copy.count = planes * copy.tiles * copy.bands;
        launch(call, &tile_copy_kernel<N>, std::min(copy.count, most_blocks), loop_threads, copy);
      }
    });
  }

  CopyAxes axes_{};
  std::int64_t size_ = 1;
  std::int64_t bytes_;  // of an element
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

/// The address of an element.
inline const void* element_at(const Tensor& x, std::int64_t i) {
  return static_cast<const std::byte*>(x.data) + i * size_of(x.dtype);
}
inline void* result_at(const Tensor& y, std::int64_t i) {
  return static_cast<std::byte*>(y.data) + i * size_of(y.dtype);
}

/// Axis i of the result is axis permutation[i] of x.
template <>
struct kernel_of<ops::Transpose> {
  template <class>
  static void run(const ops::Transpose& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(out->dtype);
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      copy.add_axis(out->extents[i], from[static_cast<std::size_t>(op.permutation[i])], to[i]);
    }
    copy.run(call, in->data, out->data);
  }
};

template <>
struct kernel_of<ops::Slice> {
  template <class>
  static void run(const ops::Slice& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t* const window = out->extents.data();
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(out->dtype);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const int axis = static_cast<int>(i);
      const Failure wrong = ops::Slice::outside(op, axis, window, in->extents[i]);
      if (wrong.what != 0) return call.fail(wrong);
      start += op.offset(axis, window) * from[i];
      copy.add_axis(window[i], op.step[i] * from[i], to[i]);
    }
    if (copy.size() == 0) return;
    copy.run(call, element_at(*in, start), out->data);
  }
};

template <>
struct kernel_of<ops::Reverse> {
  template <class>
  static void run(const ops::Reverse& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Strides stride(*in);
    StridedCopy copy(out->dtype);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const std::int64_t extent = out->extents[i];
      const bool reversed = (op.axes >> i & 1u) != 0;
      if (reversed) start += (extent - 1) * stride[i];
      copy.add_axis(extent, reversed ? -stride[i] : stride[i], stride[i]);
    }
    copy.run(call, element_at(*in, start), out->data);
  }
};

template <>
struct kernel_of<ops::Concat> {
  template <class>
  static void run(const ops::Concat& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::size_t axis = static_cast<std::size_t>(op.axis);
    const Strides to(*out);
    std::int64_t begin = 0;
    // Parts along the axis add up to the result's: the last one ends there.
    for (const Tensor* x = in; begin < out->extents[axis]; ++x) {
      if (x->size() == 0) {
        if (x->extents[axis] == 0) continue;
        return;
      }
      if (x->data != out->data) {  // otherwise it is there already
        const Strides from(*x);
        StridedCopy copy(out->dtype);
        for (std::size_t i = 0; i < x->extents.size(); ++i) {
          copy.add_axis(x->extents[i], from[i], to[i]);
        }
        copy.run(call, x->data, result_at(*out, begin * to[axis]));
      }
      begin += x->extents[axis];
    }
  }
};

/// An axis of a padded tensor.
struct PadAxis {
  std::int64_t extent;
  std::int64_t window;
  std::int64_t begin;
  std::int64_t step;

  bool is_whole() const { return extent == window; }
};

/// Writes element i of a padded tensor. `in` is null if the window's elements are there already.
template <int N>
struct PadElement {
  const Unit<N>* in;
  const Unit<N>* value;
  Unit<N>* out;
  PadAxis axis[max_rank + 1];
  int rank;

  /// Adds the next inner axis. An axis without padding continues the one around it.
  void add_axis(const PadAxis& a) {
    PadAxis& outer = axis[rank > 0 ? rank - 1 : 0];
    if (rank > 0 && a.is_whole() && outer.step == 1) {
      outer = {outer.extent * a.extent, outer.window * a.extent, outer.begin * a.extent, 1};
    } else {
      axis[rank++] = a;
    }
  }
  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    Index rest = i;
    std::int64_t from = 0;
    std::int64_t stride = 1;
    bool is_inside = true;
    for (int k = rank - 1; k >= 0; --k) {
      const PadAxis& a = axis[k];
      std::int64_t at = next_digit(rest, a.extent) - a.begin;
      if (a.step != 1) {
        is_inside = is_inside && at % a.step == 0;
        at /= a.step;
      }
      is_inside = is_inside && cuda_kernels::is_inside(at, a.window);
      from += at * stride;
      stride *= a.window;
    }
    if (!is_inside) {
      out[i] = *value;
    } else if (in != nullptr) {
      out[i] = in[from];
    }
  }
};

template <>
struct kernel_of<ops::Pad> {
  template <class>
  static void run(const ops::Pad& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    const std::int64_t* const window = in->extents.data();
    const bool is_there = in->data == out->data;
    visit_size(out->dtype, [&]<int N>(Unit<N>) {
      PadElement<N> pad{is_there ? nullptr : static_cast<const Unit<N>*>(in[0].data),
                        static_cast<const Unit<N>*>(in[1].data),
                        static_cast<Unit<N>*>(out->data),
                        {},
                        0};
      for (std::size_t i = 0; i < out->extents.size(); ++i) {
        pad.add_axis(
            {out->extents[i], window[i], op.offset(static_cast<int>(i), window), op.step[i]});
      }
      each(call, out->size(), pad);
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
