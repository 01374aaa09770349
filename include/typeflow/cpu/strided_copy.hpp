// SPDX-License-Identifier: Apache-2.0
#pragma once

// A copy of elements between two strided tensors: transposes, slices and reversals are such copies.
//
// Axes that continue one another are merged first, so that the pieces to move are as long as
// possible. Elements are bytes here: the code depends on their size only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/pattern_copy.hpp"
#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/visit.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A copy of elements between two strided tensors; strides count elements.
class StridedCopy {
 public:
  /// Into a part of this tensor, or all of it.
  explicit StridedCopy(const Tensor& result)
      : streams_(result.size() * size_of(result.dtype) >= streamed_bytes) {}

  /// Adds the next inner axis.
  void add_axis(std::int64_t extent, std::int64_t from, std::int64_t to) {
    size_ *= extent;
    if (extent == 1) return;
    if (rank_ > 0 && axes_[rank_ - 1].from == extent * from && axes_[rank_ - 1].to == extent * to) {
      axes_[rank_ - 1] = {axes_[rank_ - 1].extent * extent, from, to};
    } else {
      axes_[rank_++] = {extent, from, to};
    }
  }

  template <class A, class T>
  void run(const KernelCall& call, const T* in, T* out) const {
    if (size_ == 0) return;
    if (rank_ == 0) {
      *out = *in;
      return;
    }
    if (copy_pattern(call, reinterpret_cast<const std::byte*>(in),
                     reinterpret_cast<std::byte*>(out), sizeof(T))) {
      return;
    }
    const int crossing = contiguous_input();
    const Axis& inner = axes_[rank_ - 1];
    const auto size = static_cast<std::int64_t>(sizeof(T));
    if (rank_ > 1 && inner.from == 1 && inner.to == 1 && inner.extent * size <= short_run) {
      copy_short_rows(call, reinterpret_cast<const std::byte*>(in),
                      reinterpret_cast<std::byte*>(out), size);
    } else if (axes_[rank_ - 1].from == 1 || crossing < 0) {
      copy_rows<A>(call, in, out);
    } else {
      copy_blocks<A>(call, in, out, crossing);
    }
  }

 private:
  using Axis = CopyAxis;

  /// Copies small blocks with a pattern, as many axes of them as possible. False if there is none.
  bool copy_pattern(const KernelCall& call, const std::byte* in, std::byte* out,
                    std::int64_t size) const {
#if defined(__SSSE3__)
    constexpr std::int64_t long_run = 128;
    const Axis& inner = axes_[rank_ - 1];
    if (inner.to != 1 || (inner.from == 1 && inner.extent * size >= long_run)) return false;
    PatternCopy pattern;
    int outer = 0;
    while (outer < rank_ && !pattern.prepare(axes_ + outer, rank_ - outer, size, size_ * size)) {
      ++outer;
    }
    if (outer == rank_) return false;
    const std::byte* readable = in + size;
    for (int i = 0; i < rank_; ++i) {
      readable += std::max<std::int64_t>(0, (axes_[i].extent - 1) * axes_[i].from) * size;
    }
    // Long rows are in parts, of which the last has the rest.
    const std::int64_t blocks = axes_[outer].extent;
    const std::int64_t row = blocks * pattern.block();
    const std::int64_t chunk = chunk_size * size;
    const std::int64_t period = pattern.period();
    const std::int64_t part = std::max<std::int64_t>(1, chunk / pattern.block() / period) * period;
    const std::int64_t parts = std::max<std::int64_t>(1, blocks / part);
    const std::int64_t rows = size_ * size / row;
    const std::int64_t grain = std::max<std::int64_t>(1, chunk * parts / row);
    parallel(call, rows * parts, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t task = first; task < last; ++task) {
        std::int64_t rest = task / parts;
        const std::byte* from = in;
        std::byte* to = out;
        for (int i = outer - 1; i >= 0; --i) {
          from += rest % axes_[i].extent * axes_[i].from * size;
          to += rest % axes_[i].extent * axes_[i].to * size;
          rest /= axes_[i].extent;
        }
        const std::int64_t begin = task % parts * part;
        const std::int64_t end = task % parts == parts - 1 ? blocks : begin + part;
        pattern.run(from, to, begin, end, readable, streams_);
      }
      if (streams_) end_streams();
    });
    return true;
#else
    static_cast<void>(call), static_cast<void>(in), static_cast<void>(out);
    static_cast<void>(size);
    return false;
#endif
  }

  /// The axis along which the input is contiguous; -1 if there is none.
  int contiguous_input() const {
    for (int i = 0; i < rank_; ++i) {
      if (axes_[i].from == 1) return i;
    }
    return -1;
  }

  template <class A, class T>
  void copy_row(const Axis& axis, std::int64_t count, const T* in, T* out) const {
    constexpr std::int64_t few = 8;  // for fewer, memcpy is not worth its call
    if (axis.from == 1 && axis.to == 1 && count > few) {
      copy_run(in, count, out, streams_);
      return;
    }
    if constexpr (sizeof(T) <= 8) {
      if (axis.to == 1 && count > few) {
        if (axis.from == 2) return copy_every<2>(in, count, out);
        if (axis.from == 3) return copy_every<3>(in, count, out);
        if (axis.from == 4) return copy_every<4>(in, count, out);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) out[i * axis.to] = in[i * axis.from];
  }
  /// (A loop that compilers turn into shuffles.)
  template <int Step, class T>
  static void copy_every(const T* in, std::int64_t count, T* __restrict out) {
    for (std::int64_t i = 0; i < count; ++i) {
      BitsOf<T> x;
      std::memcpy(&x, in + i * Step, sizeof x);
      std::memcpy(out + i, &x, sizeof x);
    }
  }

  /// Copies rows of few elements of `size` bytes, as many at a time as the axis outside has.
  void copy_short_rows(const KernelCall& call, const std::byte* in, std::byte* out,
                       std::int64_t size) const {
    const std::int64_t length = axes_[rank_ - 1].extent;
    const Axis& along = axes_[rank_ - 2];
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / length);
    parallel(call, size_ / length, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end;) {
        const std::int64_t first = row % along.extent;
        const std::int64_t count = std::min(end - row, along.extent - first);
        std::int64_t from = first * along.from;
        std::int64_t to = first * along.to;
        std::int64_t rest = row / along.extent;
        for (int i = rank_ - 3; i >= 0; --i) {
          from += rest % axes_[i].extent * axes_[i].from;
          to += rest % axes_[i].extent * axes_[i].to;
          rest /= axes_[i].extent;
        }
        copy_short_runs({in + from * size, along.from * size}, {out + to * size, along.to * size},
                        count, length * size, streams_);
        row += count;
      }
      if (streams_) end_streams();
    });
  }

  /// Copies row by row along the innermost axis. Threads get equal numbers of elements, possibly
  /// parts of rows.
  template <class A, class T>
  void copy_rows(const KernelCall& call, const T* in, T* out) const {
    const Axis& inner = axes_[rank_ - 1];
    parallel(call, size_, chunk_size, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t index[max_rank + 1] = {};
      std::int64_t rest = begin;
      const T* source = in;
      T* target = out;
      for (int i = rank_ - 1; i >= 0; --i) {
        index[i] = rest % axes_[i].extent;
        rest /= axes_[i].extent;
        if (i == rank_ - 1) continue;
        source += index[i] * axes_[i].from;
        target += index[i] * axes_[i].to;
      }
      std::int64_t first = index[rank_ - 1];
      for (std::int64_t left = end - begin; left > 0;) {
        const std::int64_t count = std::min(left, inner.extent - first);
        copy_row<A>(inner, count, source + first * inner.from, target + first * inner.to);
        left -= count;
        first = 0;
        for (int i = rank_ - 2; i >= 0; --i) {
          source += axes_[i].from;
          target += axes_[i].to;
          if (++index[i] < axes_[i].extent) break;
          source -= index[i] * axes_[i].from;
          target -= index[i] * axes_[i].to;
          index[i] = 0;
        }
      }
      if (streams_) end_streams();
    });
  }

  /// For an output whose innermost axis is not the input's: transposes tiles of the two axes.
  template <class A, class T>
  void copy_blocks(const KernelCall& call, const T* in, T* out, int crossing) const {
    const Axis& across = axes_[crossing];
    const Axis& inner = axes_[rank_ - 1];
    const Tiles tiles = tiles_of<T>(across.extent, inner.extent);
    const std::int64_t size = tiles.columns.size * tiles.rows.size;
    const std::int64_t planes = size_ / (across.extent * inner.extent);
    const T* last = in;
    for (int i = 0; i < rank_; ++i) last += (axes_[i].extent - 1) * axes_[i].from;
    parallel(call, planes * tiles.columns.count * tiles.rows.count,
             std::max<std::int64_t>(1, chunk_size / size),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t tile = begin; tile < end; ++tile) {
                 const T* source = in;
                 T* target = out;
                 std::int64_t rest = tile / tiles.rows.count;
                 const std::int64_t c = rest % tiles.columns.count;
                 rest /= tiles.columns.count;
                 for (int i = rank_ - 2; i >= 0; --i) {
                   if (i == crossing) continue;
                   source += rest % axes_[i].extent * axes_[i].from;
                   target += rest % axes_[i].extent * axes_[i].to;
                   rest /= axes_[i].extent;
                 }
                 const std::int64_t r = tile % tiles.rows.count;
                 source += c * tiles.columns.size + r * tiles.rows.size * inner.from;
                 target += c * tiles.columns.size * across.to + r * tiles.rows.size;
                 transpose_tile<T>({source, inner.from}, tiles.rows.of(r), tiles.columns.of(c),
                                   {target, across.to}, last + 1 - source);
               }
               if (streams_) end_streams();
             });
  }

  /// An axis in parts of `size`; the last one has the rest.
  struct Parts {
    std::int64_t extent;
    std::int64_t size;
    std::int64_t count;

    /// The last part has at least `least` elements, or is the only one.
    Parts(std::int64_t e, std::int64_t s, std::int64_t least)
        : extent(e), size(std::min(e, s)), count(std::max<std::int64_t>(1, (e + s - least) / s)) {}
    std::int64_t of(std::int64_t i) const { return i + 1 < count ? size : extent - i * size; }
  };
  struct Tiles {
    Parts columns;
    Parts rows;
  };
  /// Parts of the input's rows and columns that are transposed together.
  template <class T>
  static Tiles tiles_of(std::int64_t columns, std::int64_t rows) {
    if constexpr (sizeof(T) <= 8) {
      using B = TransposeBlocks<T>;
      return {Parts(columns, rows < B::N ? B::long_tile : B::tile, B::N),
              Parts(rows, columns < B::N ? B::long_tile : B::tile, B::W)};
    } else {
      return {Parts(columns, 16, 1), Parts(rows, 16, 1)};
    }
  }
  template <class T>
  void transpose_tile(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                      const Matrix<T>& to, std::int64_t readable) const {
    if constexpr (sizeof(T) <= 8) {
      TransposeBlocks<T>::run(from, rows, columns, to, readable, streams_);
    } else {
      transpose_elements<T>(from, rows, columns, to);
    }
  }

  Axis axes_[max_rank + 1] = {};
  int rank_ = 0;
  std::int64_t size_ = 1;
  bool streams_;
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

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
