// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels that only move elements: transpose, slice, reverse, concat, pad.
//
// All but pad are a StridedCopy: extents, and the strides of both sides. Axes that continue one
// another are merged first, so that the pieces to move are as long as possible. Elements are bytes
// here: the code depends on their size only.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/reverse_row.hpp"
#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/shape/concat.hpp"

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
  struct Axis {
    std::int64_t extent;
    std::int64_t from;
    std::int64_t to;
  };

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
      if (axis.from == -1 && axis.to == 1 && count > few) {
        reverse_row(in, count, out, streams_);
        return;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) out[i * axis.to] = in[i * axis.from];
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
                        count, length * size);
        row += count;
      }
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

/// Axis i of the result is axis permutation[i] of x.
template <>
struct kernel_of<ops::Transpose> {
  template <class A>
  static void run(const ops::Transpose& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(*out);
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      copy.add_axis(out->extents[i], from[static_cast<std::size_t>(op.permutation[i])], to[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run<A>(call, static_cast<const T*>(in->data), static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::Slice> {
  template <class A>
  static void run(const ops::Slice& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t* const window = out->extents.data();
    const Strides from(*in);
    const Strides to(*out);
    StridedCopy copy(*out);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const int axis = static_cast<int>(i);
      const Failure wrong = ops::Slice::outside(op, axis, window, in->extents[i]);
      if (wrong.what != 0) return call.fail(wrong);
      start += op.offset(axis, window) * from[i];
      copy.add_axis(window[i], op.step[i] * from[i], to[i]);
    }
    if (out->size() == 0) return;
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run<A>(call, static_cast<const T*>(in->data) + start, static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::Reverse> {
  template <class A>
  static void run(const ops::Reverse& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if (out->size() == 0) return;
    const Strides stride(*in);
    StridedCopy copy(*out);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      const std::int64_t extent = out->extents[i];
      const bool reversed = (op.axes >> i & 1u) != 0;
      if (reversed) start += (extent - 1) * stride[i];
      copy.add_axis(extent, reversed ? -stride[i] : stride[i], stride[i]);
    }
    visit_size(in->dtype, [&]<class T>(T) {
      copy.run<A>(call, static_cast<const T*>(in->data) + start, static_cast<T*>(out->data));
    });
  }
};

template <>
struct kernel_of<ops::Concat> {
  template <class A>
  static void run(const ops::Concat& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::size_t axis = static_cast<std::size_t>(op.axis);
    const Strides to(*out);
    if (has_short_runs(in, *out, axis)) return copy_short_parts(call, in, *out, axis);
    std::int64_t begin = 0;
    // Parts along the axis add up to the result's: the last one ends there.
    for (const Tensor* x = in; begin < out->extents[axis]; ++x) {
      if (x->size() == 0) {
        if (x->extents[axis] == 0) continue;
        return;
      }
      if (x->data != out->data) {  // otherwise it is there already
        const Strides from(*x);
        StridedCopy copy(*out);
        for (std::size_t i = 0; i < x->extents.size(); ++i) {
          copy.add_axis(x->extents[i], from[i], to[i]);
        }
        visit_size(x->dtype, [&]<class T>(T) {
          copy.run<A>(call, static_cast<const T*>(x->data),
                      static_cast<T*>(out->data) + begin * to[axis]);
        });
      }
      begin += x->extents[axis];
    }
  }

 private:
  static std::int64_t bytes_of_run(const Tensor& x, std::size_t axis) {
    std::int64_t bytes = size_of(x.dtype);
    for (std::size_t i = axis; i < x.extents.size(); ++i) bytes *= x.extents[i];
    return bytes;
  }
  static bool has_short_runs(const Tensor* in, const Tensor& out, std::size_t axis) {
    if (out.size() == 0) return false;
    std::int64_t begin = 0;
    for (const Tensor* x = in; begin < out.extents[axis]; ++x) {
      if (bytes_of_run(*x, axis) > short_run) return false;
      begin += x->extents[axis];
    }
    return true;
  }
  /// Copies some rows of all parts, so that the result's lines are still in the cache.
  static void copy_short_parts(const KernelCall& call, const Tensor* in, const Tensor& out,
                               std::size_t axis) {
    constexpr std::int64_t block = 256;
    const std::int64_t pitch = bytes_of_run(out, axis);
    const std::int64_t rows = out.size() * size_of(out.dtype) / pitch;
    const std::int64_t grain = std::max<std::int64_t>(1, chunk_size / pitch);
    parallel(call, rows, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; row += block) {
        const std::int64_t count = std::min(block, last - row);
        std::byte* to = static_cast<std::byte*>(out.data) + row * pitch;
        const std::byte* const end = to + pitch;
        for (const Tensor* x = in; to < end; ++x) {
          const std::int64_t bytes = bytes_of_run(*x, axis);
          if (bytes > 0 && x->data != out.data) {  // otherwise it is there already
            const std::byte* const from = static_cast<const std::byte*>(x->data) + row * bytes;
            copy_short_runs({from, bytes}, {to, pitch}, count, bytes);
          }
          to += bytes;
        }
      }
    });
  }
};

/// Writes the result row by row: the elements before the window, the window's row unless it is
/// there already, the elements behind it.
template <>
struct kernel_of<ops::Pad> {
  template <class A>
  static void run(const ops::Pad& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    Rows rows{};
    const std::int64_t* const window = in->extents.data();
    for (std::size_t i = 0; i < out->extents.size(); ++i) {
      rows.add_axis(
          {out->extents[i], window[i], op.offset(static_cast<int>(i), window), op.step[i]});
    }
    visit_size(in->dtype, [&]<class T>(T) {
      fill<A>(call, rows, static_cast<const T*>(in[0].data), *static_cast<const T*>(in[1].data),
              static_cast<T*>(out->data));
    });
  }

 private:
  struct Axis {
    std::int64_t extent;
    std::int64_t window;
    std::int64_t begin;
    std::int64_t step;

    bool is_whole() const { return extent == window; }
    /// The window's position at `index`; -1 if it has none there.
    std::int64_t inside(std::int64_t index) const {
      const std::int64_t along = index - begin;
      return along < 0 || along % step != 0 || along / step >= window ? -1 : along / step;
    }
  };
  struct Rows {
    Axis axis[max_rank + 1];
    int rank;

    /// Adds the next inner axis. An axis without padding continues the one around it.
    void add_axis(const Axis& a) {
      Axis& outer = axis[rank > 0 ? rank - 1 : 0];
      if (rank > 0 && a.is_whole() && outer.step == 1) {
        outer = {outer.extent * a.extent, outer.window * a.extent, outer.begin * a.extent, 1};
      } else {
        axis[rank++] = a;
      }
    }
  };

  template <class A, class T>
  static void fill(const KernelCall& call, const Rows& rows, const T* in, T value, T* out) {
    std::int64_t size = 1;
    for (int i = 0; i < rows.rank; ++i) size *= rows.axis[i].extent;
    if (size == 0) return;
    const Axis& inner = rows.axis[rows.rank - 1];
    const bool is_there = in == out;
    const bool streams = size * static_cast<std::int64_t>(sizeof(T)) >= streamed_bytes;
    parallel(call, size, chunk_size, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t first = begin % inner.extent;
        const std::int64_t last = std::min(inner.extent, first + end - begin);
        T* const row = out + (begin - first);
        const std::int64_t source = row_of_window(rows, begin / inner.extent);
        if (source < 0) {
          std::fill(row + first, row + last, value);
        } else {
          fill_row<A>(inner, is_there ? nullptr : in + source * inner.window, value, row, first,
                      last, streams);
        }
        begin += last - first;
      }
      if (streams) end_streams();
    });
  }

  /// The row of the window that lies in this row of the result; -1 for none.
  static std::int64_t row_of_window(const Rows& rows, std::int64_t row) {
    std::int64_t source = 0;
    std::int64_t stride = 1;
    for (int i = rows.rank - 2; i >= 0; --i) {
      const std::int64_t at = rows.axis[i].inside(row % rows.axis[i].extent);
      if (at < 0) return -1;
      source += at * stride;
      stride *= rows.axis[i].window;
      row /= rows.axis[i].extent;
    }
    return source;
  }

  /// Writes elements first .. last - 1 of a row. `in` is null if the window's elements are there
  /// already.
  template <class A, class T>
  static void fill_row(const Axis& axis, const T* in, T value, T* row, std::int64_t first,
                       std::int64_t last, bool streams) {
    if (axis.step == 1) {
      const std::int64_t from = std::clamp(axis.begin, first, last);
      const std::int64_t to = std::clamp(axis.begin + axis.window, from, last);
      std::fill(row + first, row + from, value);
      if (in != nullptr) copy_run(in + (from - axis.begin), to - from, row + from, streams);
      std::fill(row + to, row + last, value);
      return;
    }
    if (in == nullptr) {
      for (std::int64_t i = first; i < last; ++i) {
        if (axis.inside(i) < 0) row[i] = value;
      }
      return;
    }
    std::fill(row + first, row + last, value);
    const std::int64_t skipped = std::max<std::int64_t>(0, first - axis.begin);
    for (std::int64_t i = (skipped + axis.step - 1) / axis.step; i < axis.window; ++i) {
      const std::int64_t at = axis.begin + i * axis.step;
      if (at >= last) break;
      row[at] = in[i];
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
