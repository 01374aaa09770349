// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of pad.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/pattern_copy.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// Short rows are copied by a pattern that has their padding. Otherwise writes the result row by
/// row: the elements before the window, the window's row unless it is there already, the elements
/// behind it.
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
    if (fill_pattern(call, rows, in, *out)) return;
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

  static bool fill_pattern(const KernelCall& call, const Rows& rows, const Tensor* in,
                           const Tensor& out) {
    constexpr std::int64_t long_row = 1024;  // bytes
    const std::int64_t size = size_of(out.dtype);
    if (rows.rank == 0 || in->data == out.data || in->size() == 0) return false;
    if (rows.axis[rows.rank - 1].extent * size > long_row) return false;
    CopyAxis axes[max_rank + 1];
    std::int64_t from = 1;
    std::int64_t to = 1;
    for (int i = rows.rank - 1; i >= 0; --i) {
      const Axis& axis = rows.axis[i];
      const std::int64_t end = axis.begin + axis.window;
      if (axis.step != 1 || axis.begin < 0 || end > axis.extent) return false;
      axes[i] = {axis.extent, from, to, axis.begin, end};
      from *= axis.window;
      to *= axis.extent;
    }
    return copy_pattern(call, axes, rows.rank, size, static_cast<const std::byte*>(in->data),
                        static_cast<std::byte*>(out.data), is_streamed_copy(from * size, to * size),
                        Filling(in[1].data, size));
  }

  template <class A, class T>
  static void fill(const KernelCall& call, const Rows& rows, const T* in, T value, T* out) {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
    std::int64_t size = 1;
    std::int64_t window = 1;
    for (int i = 0; i < rows.rank; ++i) {
      size *= rows.axis[i].extent;
      window *= rows.axis[i].window;
    }
    if (size == 0) return;
    const Axis& inner = rows.axis[rows.rank - 1];
    const bool is_there = in == out;
    const bool streams = is_streamed_copy(is_there ? 0 : window * bytes, size * bytes);
    const Filling filling(&value, bytes);
    const std::int64_t grain = grain_of_moves<T>(inner.extent, inner.step == 1);
    parallel(call, size, grain, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t first = begin % inner.extent;
        const std::int64_t last = std::min(inner.extent, first + end - begin);
        T* const row = out + (begin - first);
        const std::int64_t source = row_of_window(rows, begin / inner.extent);
        if (source < 0) {
          filling.fill(row + first, row + last);
        } else {
          fill_row<A>(inner, is_there ? nullptr : in + source * inner.window, filling, value, row,
                      first, last, streams);
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
  static void fill_row(const Axis& axis, const T* in, const Filling& filling, T value, T* row,
                       std::int64_t first, std::int64_t last, bool streams) {
    if (axis.step == 1) {
      const std::int64_t from = std::clamp(axis.begin, first, last);
      const std::int64_t to = std::clamp(axis.begin + axis.window, from, last);
      filling.fill(row + first, row + from);
      if (in != nullptr) copy_run(in + (from - axis.begin), to - from, row + from, streams);
      filling.fill(row + to, row + last);
      return;
    }
    if (in == nullptr) {
      for (std::int64_t i = first; i < last; ++i) {
        if (axis.inside(i) < 0) row[i] = value;
      }
      return;
    }
    const std::int64_t skipped = std::max<std::int64_t>(0, first - axis.begin);
    const std::int64_t from = (skipped + axis.step - 1) / axis.step;
    const std::int64_t end = (last - axis.begin + axis.step - 1) / axis.step;
    const std::int64_t count = std::min(axis.window, end) - from - 1;  // with gaps behind them
    if (count < 0) {
      filling.fill(row + first, row + last);
      return;
    }
    T* const to = row + axis.begin + from * axis.step;
    filling.fill(row + first, to);
    spread(axis.step, in + from, count, value, to);
    to[count * axis.step] = in[from + count];
    filling.fill(to + count * axis.step + 1, row + last);
  }
  template <class T>
  static void spread(std::int64_t step, const T* in, std::int64_t count, T value, T* to) {
    if constexpr (sizeof(T) <= 8) {
      if (step == 2) return cpu_kernels::spread<2>(in, count, value, to);
      if (step == 3) return cpu_kernels::spread<3>(in, count, value, to);
      if (step == 4) return cpu_kernels::spread<4>(in, count, value, to);
    }
    std::fill(to, to + count * step, value);
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = in[i];
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
