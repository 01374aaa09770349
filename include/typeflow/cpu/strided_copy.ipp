// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/pattern_copy.hpp"
#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// A position along some axes in row-major order, and its places in both tensors, in elements.
class AxesPosition {
 public:
  AxesPosition(const CopyAxis* axes, int count, std::int64_t number) : axes_(axes), count_(count) {
    for (int i = count - 1; i >= 0; --i) {
      index_[i] = number % axes[i].extent;
      number /= axes[i].extent;
      from_ += index_[i] * axes[i].from;
      to_ += index_[i] * axes[i].to;
    }
  }
  void advance() {
    for (int i = count_ - 1; i >= 0; --i) {
      from_ += axes_[i].from;
      to_ += axes_[i].to;
      if (++index_[i] < axes_[i].extent) return;
      from_ -= index_[i] * axes_[i].from;
      to_ -= index_[i] * axes_[i].to;
      index_[i] = 0;
    }
  }
  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }

 private:
  const CopyAxis* axes_;
  int count_;
  std::int64_t index_[max_rank + 1];
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

/// The loops of a copy along these axes.
template <class T>
class StridedLoops {
 public:
  StridedLoops(const KernelCall& call, const CopyAxis* axes, int rank, std::int64_t size,
               bool streams)
      : call_(call), axes_(axes), rank_(rank), size_(size), streams_(streams) {}

  template <bool Transposes>
  void run(const T* in, T* out) const {
    const CopyAxis& inner = axes_[rank_ - 1];
    const auto size = static_cast<std::int64_t>(sizeof(T));
    // Long runs of neighbours, or of one element, need no pattern.
    const std::int64_t run_bytes = inner.extent * size;
    const bool is_long =
        (inner.from == 1 && run_bytes >= 128) || (inner.from == 0 && run_bytes >= 512);
    if (!is_long && copy_pattern(call_, axes_, rank_, size, reinterpret_cast<const std::byte*>(in),
                                 reinterpret_cast<std::byte*>(out), streams_)) {
      return;
    }
    if (rank_ > 1 && inner.from == 1 && inner.to == 1 && inner.extent * size <= short_run) {
      copy_short_rows(reinterpret_cast<const std::byte*>(in), reinterpret_cast<std::byte*>(out),
                      size);
      return;
    }
    if constexpr (Transposes) {
      const int crossing = contiguous_input();
      if (inner.from != 1 && inner.to == 1 && crossing >= 0) return copy_blocks(in, out, crossing);
    }
    copy_rows(in, out);
  }

 private:
  /// The axis along which the input is contiguous; -1 if there is none.
  int contiguous_input() const {
    for (int i = 0; i < rank_; ++i) {
      if (axes_[i].from == 1) return i;
    }
    return -1;
  }

  void copy_row(const CopyAxis& axis, std::int64_t count, const T* in, T* out) const {
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
    if (axis.from == 0 && axis.to == 1 && count > few) {
      constexpr auto size = static_cast<std::int64_t>(sizeof(T));
      Filling(in, size).fill(reinterpret_cast<std::byte*>(out), count * size);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) out[i * axis.to] = in[i * axis.from];
  }
  /// Copies rows of few elements of `size` bytes, as many at a time as the axis outside has.
  void copy_short_rows(const std::byte* in, std::byte* out, std::int64_t size) const {
    const std::int64_t length = axes_[rank_ - 1].extent;
    const CopyAxis& along = axes_[rank_ - 2];
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / length);
    parallel(call_, size_ / length, grain, [&](std::int64_t begin, std::int64_t end) {
      AxesPosition at(axes_, rank_ - 2, begin / along.extent);
      std::int64_t first = begin % along.extent;
      for (std::int64_t row = begin; row < end; at.advance(), first = 0) {
        const std::int64_t count = std::min(end - row, along.extent - first);
        const std::int64_t from = at.from() + first * along.from;
        const std::int64_t to = at.to() + first * along.to;
        copy_short_runs({in + from * size, along.from * size}, {out + to * size, along.to * size},
                        count, length * size, streams_);
        row += count;
      }
      if (streams_) end_streams();
    });
  }

  /// Copies row by row along the innermost axis. Threads get equal numbers of elements, possibly
  /// parts of rows.
  void copy_rows(const T* in, T* out) const {
    const CopyAxis& inner = axes_[rank_ - 1];
    const std::int64_t grain = grain_of_moves<T>(inner.extent, inner.from == 1 && inner.to == 1);
    parallel(call_, size_, grain, [&](std::int64_t begin, std::int64_t end) {
      AxesPosition at(axes_, rank_ - 1, begin / inner.extent);
      std::int64_t first = begin % inner.extent;
      for (std::int64_t left = end - begin; left > 0; at.advance(), first = 0) {
        const std::int64_t count = std::min(left, inner.extent - first);
        copy_row(inner, count, in + at.from() + first * inner.from,
                 out + at.to() + first * inner.to);
        left -= count;
      }
      if (streams_) end_streams();
    });
  }

  /// For an output whose innermost axis is not the input's: transposes tiles of the two axes.
  void copy_blocks(const T* in, T* out, int crossing) const {
    const CopyAxis& across = axes_[crossing];
    const CopyAxis& inner = axes_[rank_ - 1];
    const Tiles tiles = tiles_of(across.extent, inner.extent);
    const std::int64_t size = tiles.columns.size * tiles.rows.size;
    CopyAxis outer[max_rank + 1];
    int count = 0;
    const T* last = in;
    for (int i = 0; i < rank_; ++i) {
      last += (axes_[i].extent - 1) * axes_[i].from;
      if (i != crossing && i != rank_ - 1) outer[count++] = axes_[i];
    }
    const std::int64_t tiles_of_plane = tiles.columns.count * tiles.rows.count;
    const std::int64_t planes = size_ / (across.extent * inner.extent);
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / size);
    parallel(call_, planes * tiles_of_plane, grain, [&](std::int64_t begin, std::int64_t end) {
      AxesPosition at(outer, count, begin / tiles_of_plane);
      std::int64_t c = begin % tiles_of_plane / tiles.rows.count;
      std::int64_t r = begin % tiles.rows.count;
      for (std::int64_t tile = begin; tile < end; ++tile) {
        const T* const source =
            in + at.from() + c * tiles.columns.size + r * tiles.rows.size * inner.from;
        T* const target = out + at.to() + c * tiles.columns.size * across.to + r * tiles.rows.size;
        transpose_tile({source, inner.from}, tiles.rows.of(r), tiles.columns.of(c),
                       {target, across.to}, last + 1 - source);
        if (++r < tiles.rows.count) continue;
        r = 0;
        if (++c < tiles.columns.count) continue;
        c = 0;
        at.advance();
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
  static Tiles tiles_of(std::int64_t columns, std::int64_t rows) {
    if constexpr (sizeof(T) <= 8) {
      using B = TransposeBlocks<T>;
      return {Parts(columns, rows < B::N ? B::long_tile : B::tile, B::N),
              Parts(rows, columns < B::N ? B::long_tile : B::tile, B::W)};
    } else {
      return {Parts(columns, 16, 1), Parts(rows, 16, 1)};
    }
  }
  void transpose_tile(const Matrix<const T>& from, std::int64_t rows, std::int64_t columns,
                      const Matrix<T>& to, std::int64_t readable) const {
    if constexpr (sizeof(T) <= 8) {
      TransposeBlocks<T>::run(from, rows, columns, to, readable, streams_);
    } else {
      transpose_elements<T>(from, rows, columns, to);
    }
  }

  const KernelCall& call_;
  const CopyAxis* axes_;
  int rank_;
  std::int64_t size_;  ///< elements
  bool streams_;
};

template <int Size, bool Transposes>
void StridedCopy::copy(const KernelCall& call, const void* in, void* out) const {
  if (size_ == 0) return;
  using T = Bytes<Size>;
  const T* const from = static_cast<const T*>(in);
  T* const to = static_cast<T*>(out);
  if (rank_ == 0) {
    *to = *from;
    return;
  }
  // An input that repeats takes little room in the cache, which leaves more to the result.
  const std::int64_t repeats = size_ / read_;
  const bool streams = is_streamed_copy(result_bytes_ / repeats, result_bytes_);
  StridedLoops<T>(call, axes_, rank_, size_, streams).template run<Transposes>(from, to);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
