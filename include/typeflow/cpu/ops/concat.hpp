// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of concat.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/stream.hpp"
#include "typeflow/cpu/strided_copy.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Concat> {
  template <class A>
  static void run(const ops::Concat& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::size_t axis = static_cast<std::size_t>(op.axis);
    const Strides to(*out);
    if (is_interleaved(in, *out, axis)) return interleave(call, in, *out, axis);
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
          copy.run(call, static_cast<const T*>(x->data),
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
    const std::int64_t pitch = bytes_of_run(out, axis);
    const std::int64_t block = std::max<std::int64_t>(1, 8192 / pitch);
    const std::int64_t size = out.size() * size_of(out.dtype);
    const std::int64_t rows = size / pitch;
    const bool streams = size >= streamed_bytes;
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
            copy_short_runs({from, bytes}, {to, pitch}, count, bytes, streams);
          }
          to += bytes;
        }
      }
      if (streams) end_streams();
    });
  }

  /// Whether rows of two to four elements get one from each part, as a stack along the last axis.
  static bool is_interleaved(const Tensor* in, const Tensor& out, std::size_t axis) {
    const std::int64_t pitch = bytes_of_run(out, axis);
    const std::int64_t size = size_of(out.dtype);
    if (out.size() == 0 || size > 8 || pitch < 2 * size || pitch > 4 * size) return false;
    for (std::int64_t i = 0; i < pitch / size; ++i) {
      if (in[i].data == out.data || bytes_of_run(in[i], axis) != size) return false;
    }
    return true;
  }
  static void interleave(const KernelCall& call, const Tensor* in, const Tensor& out,
                         std::size_t axis) {
    const std::int64_t parts = bytes_of_run(out, axis) / size_of(out.dtype);
    visit_size(out.dtype, [&]<class T>(T) {
      if constexpr (sizeof(T) <= 8) {
        if (parts == 2) {
          interleave<2, T>(call, in, out);
        } else if (parts == 3) {
          interleave<3, T>(call, in, out);
        } else {
          interleave<4, T>(call, in, out);
        }
      }
    });
  }
  template <int Parts, class T>
  static void interleave(const KernelCall& call, const Tensor* in, const Tensor& out) {
    constexpr std::int64_t block = 4096 / sizeof(T);  // stays in the cache, and is then copied
    const bool streams = out.size() * static_cast<std::int64_t>(sizeof(T)) >= streamed_bytes;
    parallel(call, out.size() / Parts, chunk_size, [&](std::int64_t first, std::int64_t last) {
      alignas(64) T part[block * Parts];
      T* const to = static_cast<T*>(out.data);
      for (std::int64_t row = first; row < last; row += block) {
        const std::int64_t count = std::min(block, last - row);
        const T* from[Parts];
        for (int k = 0; k < Parts; ++k) from[k] = static_cast<const T*>(in[k].data) + row;
        interleave_rows<Parts>(from, count, streams ? part : to + row * Parts);
        if (streams) copy_run(part, count * Parts, to + row * Parts, true);
      }
      if (streams) end_streams();
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
