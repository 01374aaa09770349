// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/shape/reverse_sequence.hpp.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/cpu/short_runs.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/ops/shape/reverse_sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::ReverseSequence> {
  template <class A>
  static void run(const ops::ReverseSequence& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    visit_integer(in[1].dtype, [&](auto zero) {
      reverse(op, *in, static_cast<const decltype(zero)*>(in[1].data), *out, call);
    });
  }

 private:
  /// Copies pieces that lie together behind the sequence axis. (The length is looked up for each,
  /// which is cheap beside the copy.)
  template <class T>
  static void reverse(const ops::ReverseSequence& op, const Tensor& x, const T* lengths,
                      const Tensor& y, const KernelCall& call) {
    const auto axis = static_cast<std::size_t>(op.sequence_axis);
    const auto outer = static_cast<std::size_t>(op.batch_axis);
    const std::int64_t extent = x.extents[axis];
    const std::int64_t batch_size = x.extents[outer];
    for (std::int64_t b = 0; b < batch_size; ++b) {
      const auto length = static_cast<std::int64_t>(lengths[b]);
      if (length < 0 || length > extent) return call.fail({1, {length, b, extent}});
    }
    // A piece is as long as one length applies to it: up to the batch axis, if that is further in.
    const std::size_t last = std::max(axis, outer);
    std::int64_t size = size_of(x.dtype);
    for (std::size_t i = last + 1; i < x.extents.size(); ++i) size *= x.extents[i];
    std::int64_t step = 1;  // pieces from one element of a sequence to the next
    for (std::size_t i = axis + 1; i <= last; ++i) step *= x.extents[i];
    std::int64_t stride = 1;  // pieces from one sequence to the next
    for (std::size_t i = outer + 1; i <= last; ++i) stride *= x.extents[i];
    std::int64_t pieces = 1;
    for (std::size_t i = 0; i <= last; ++i) pieces *= x.extents[i];
    if (size == 0 || extent == 0) return;
    const auto* const from = static_cast<const std::byte*>(x.data);
    auto* const to = static_cast<std::byte*>(y.data);
    const std::int64_t grain = std::max<std::int64_t>(1, 4 * chunk_size / size);
    visit_bytes(size, [&](auto bytes) {
      if (axis == last) {  // sequences one after the other
        const std::int64_t rows = pieces / extent;
        const std::int64_t rows_of_one = stride / extent;
        const std::int64_t least = std::max<std::int64_t>(1, grain / extent);
        return parallel(call, rows, least, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            const auto length = static_cast<std::int64_t>(lengths[row / rows_of_one % batch_size]);
            const std::int64_t at = row * extent * bytes;
            reverse_row(from + at, extent, length, bytes, to + at);
          }
        });
      }
      parallel(call, pieces, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t place = i / step % extent;
          const auto length = static_cast<std::int64_t>(lengths[i / stride % batch_size]);
          const std::int64_t moved = place < length ? length - 1 - 2 * place : 0;
          std::memcpy(to + i * bytes, from + (i + moved * step) * bytes,
                      static_cast<std::size_t>(bytes));
        }
      });
    });
  }
  /// `extent` pieces of some bytes, of which the first `length` are reversed. (Compilers turn the
  /// loop over pieces of one element into shuffles.)
  template <class Size>
  static void reverse_row(const std::byte* from, std::int64_t extent, std::int64_t length,
                          Size size, std::byte* __restrict to) {
    const auto bytes = static_cast<std::size_t>(size);
    const std::byte* const last = from + (length - 1) * size;
    if constexpr (std::is_same_v<Size, std::int64_t>) {
      copy_short_or_long(last, length, size, to);
    } else {
      using T = BitsOf<Bytes<static_cast<int>(size)>>;
      if constexpr (sizeof(T) == size) {
        for (std::int64_t i = 0; i < length; ++i) {
          T x;
          std::memcpy(&x, last - i * size, bytes);
          std::memcpy(to + i * size, &x, bytes);
        }
      } else {
        for (std::int64_t i = 0; i < length; ++i)
          std::memcpy(to + i * size, last - i * size, bytes);
      }
    }
    const auto rest = static_cast<std::size_t>((extent - length) * size);
    std::memcpy(to + length * size, from + length * size, rest);
  }
  static void copy_short_or_long(const std::byte* last, std::int64_t length, std::int64_t size,
                                 std::byte* to) {
    if (size <= short_run) return copy_short_runs({last, -size}, {to, size}, length, size);
    for (std::int64_t i = 0; i < length; ++i) {
      std::memcpy(to + i * size, last - i * size, static_cast<std::size_t>(size));
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
