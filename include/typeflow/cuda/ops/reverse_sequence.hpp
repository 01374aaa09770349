// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/shape/reverse_sequence.hpp.

#include <algorithm>
#include <cstdint>

#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/shape/reverse_sequence.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

struct WrongLength {
  Indices lengths;
  std::int64_t extent;

  TYPEFLOW_DEVICE bool is_wrong(std::int64_t i) const {
    return lengths[i] < 0 || lengths[i] > extent;
  }
  TYPEFLOW_DEVICE Failure mistake(std::int64_t i) const { return {1, {lengths[i], i, extent}}; }
};

/// Copies a unit of a piece. A piece lies together behind the sequence axis and the batch axis.
template <int N>
struct ReverseUnit {
  const Unit<N>* in;
  Unit<N>* out;
  Indices lengths;
  std::int64_t units;   ///< in a piece
  std::int64_t step;    ///< pieces from one element of a sequence to the next
  std::int64_t stride;  ///< pieces from one sequence to the next
  std::int64_t extent;  ///< of the sequence axis
  std::int64_t batch_size;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index i) const {
    auto piece = static_cast<std::int64_t>(i / static_cast<Index>(units));
    const std::int64_t place = piece / step % extent;
    const std::int64_t length = lengths[piece / stride % batch_size];
    const bool moves = place < length && length <= extent;
    out[i] = in[static_cast<std::int64_t>(i) + (moves ? length - 1 - 2 * place : 0) * step * units];
  }
};

template <>
struct kernel_of<ops::ReverseSequence> {
  template <class>
  static void run(const ops::ReverseSequence& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const auto axis = static_cast<std::size_t>(op.sequence_axis);
    const auto outer = static_cast<std::size_t>(op.batch_axis);
    const std::int64_t extent = in->extents[axis];
    const Indices lengths(in[1]);
    find_mistake(call, in[1].size(), WrongLength{lengths, extent});
    const std::size_t last = std::max(axis, outer);
    std::int64_t bytes = size_of(in->dtype);  // of a piece
    for (std::size_t i = last + 1; i < in->extents.size(); ++i) bytes *= in->extents[i];
    const auto pieces_behind = [&](std::size_t first) {
      std::int64_t pieces = 1;
      for (std::size_t i = first; i <= last; ++i) pieces *= in->extents[i];
      return pieces;
    };
    const std::int64_t count = pieces_behind(0) * bytes;
    if (count == 0) return;
    const std::int64_t unit =
        unit_of(address_of(in->data) | address_of(out->data) | static_cast<std::uint64_t>(bytes));
    visit_unit(unit, [&]<int N>(Unit<N>) {
      each(call, count / N,
           ReverseUnit<N>{static_cast<const Unit<N>*>(in->data), static_cast<Unit<N>*>(out->data),
                          lengths, bytes / N, pieces_behind(axis + 1), pieces_behind(outer + 1),
                          extent, in->extents[outer]});
    });
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
