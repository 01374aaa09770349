// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of ops/reduce/cumsum.hpp and cumulative.hpp.
//
// A thread walks along a line of elements, so the bits of a result are the processor's. If lines
// lie side by side, neighbouring threads have neighbouring lines. If elements of a line do, a block
// has the lines of a tile, which goes through shared memory, so that memory is accessed along rows.
// Few long lines would leave the GPU idle. Their sums and extremes are scanned by blocks: the parts
// of a line are walked at the same time, each from what the parts before it add up to.

#include <cstdint>
#include <type_traits>

#include "typeflow/cuda/compaction.hpp"
#include "typeflow/ops/reduce/cumsum.hpp"
#include "typeflow/ops/reduce/cumulative.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

// The next state of a cumulative operation, from elements computed in C.

template <class O>
struct NextFold {
  static constexpr int inputs = 1;
  template <class C>
  TYPEFLOW_DEVICE static C next(const C& state, const C* x) {
    return static_cast<C>(O{}(state, x[0]));
  }
};
struct NextLinear {
  static constexpr int inputs = 2;
  template <class C>
  TYPEFLOW_DEVICE static C next(const C& state, const C* x) {
    return static_cast<C>(ops::Add{}(static_cast<C>(ops::Mul{}(x[0], state)), x[1]));
  }
};

/// Lines of elements along an axis.
template <class T, class Next>
struct CumulativeLines {
  using C = Computed<T>;
  const T* in[Next::inputs];
  T* out;
  std::int64_t length;
  std::int64_t inner;  ///< lines side by side, and the distance of a line's elements
  std::int64_t lines;
  bool reverse;
  bool exclusive;
  C start;

  /// The place of element i of a line, counted in the direction of the walk.
  TYPEFLOW_DEVICE std::int64_t place(std::int64_t line, std::int64_t i) const {
    return (line / inner * length + (reverse ? length - 1 - i : i)) * inner + line % inner;
  }
  /// Walks a whole line.
  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index line) const {
    std::int64_t at = place(static_cast<std::int64_t>(line), 0);
    const std::int64_t step = reverse ? -inner : inner;
    C state = start;
    for (std::int64_t i = 0; i < length; ++i, at += step) {
      C x[Next::inputs];
      for (int k = 0; k < Next::inputs; ++k) x[k] = static_cast<C>(in[k][at]);
      const C next = Next::next(state, x);
      out[at] = static_cast<T>(exclusive ? state : next);
      state = next;
    }
  }
};

/// Lines whose elements lie together: a tile has `cumulative_tile` lines, and as many elements of
/// each at a time.
inline constexpr int cumulative_tile = 32;

template <class T, class Next>
__global__ void cumulative_tile_kernel(CumulativeLines<T, Next> a) {
  using C = Computed<T>;
  constexpr int size = cumulative_tile;
  __shared__ C tile[Next::inputs][size][size + 1];
  const int x = static_cast<int>(threadIdx.x) % size;
  const int y = static_cast<int>(threadIdx.x) / size;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * size; first < a.lines;
       first += static_cast<std::int64_t>(gridDim.x) * size) {
    C state = a.start;  // of line x, for the first warp
    for (std::int64_t begin = 0; begin < a.length; begin += size) {
      const bool is_inside = begin + x < a.length;
      for (int k = y; k < size; k += loop_threads / size) {
        if (!is_inside || first + k >= a.lines) continue;
        for (int n = 0; n < Next::inputs; ++n) {
          tile[n][k][x] = static_cast<C>(a.in[n][a.place(first + k, begin + x)]);
        }
      }
      __syncthreads();
      if (y == 0 && first + x < a.lines) {
        for (int i = 0; i < size && begin + i < a.length; ++i) {
          C in[Next::inputs];
          for (int n = 0; n < Next::inputs; ++n) in[n] = tile[n][x][i];
          const C next = Next::next(state, in);
          tile[0][x][i] = a.exclusive ? state : next;
          state = next;
        }
      }
      __syncthreads();
      for (int k = y; k < size; k += loop_threads / size) {
        if (!is_inside || first + k >= a.lines) continue;
        a.out[a.place(first + k, begin + x)] = static_cast<T>(tile[0][k][x]);
      }
      // No barrier: a thread next writes what it has read itself.
    }
  }
}

/// The longest part of a line that one thread walks in a scan.
inline constexpr std::int64_t cumulative_part = 64;

/// Folds a part of a line, into states[line][part].
template <class T, class Next>
struct CumulativePart {
  using C = Computed<T>;
  CumulativeLines<T, Next> a;
  std::int64_t parts;
  C* states;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const std::int64_t part = next_digit(at, parts);
    const auto line = static_cast<std::int64_t>(at);
    C state = a.start;
    for (std::int64_t i = part * cumulative_part; i < (part + 1) * cumulative_part && i < a.length;
         ++i) {
      const C x = static_cast<C>(a.in[0][a.place(line, i)]);
      state = Next::next(state, &x);
    }
    states[line * parts + part] = state;
  }
};
/// Replaces the states of a line's parts by what the parts before them add up to. A block for each
/// line.
template <class C, class Next>
__global__ void cumulative_states_kernel(C start, std::int64_t lines, std::int64_t parts,
                                         C* states) {
  __shared__ C shared[loop_threads];
  const int me = static_cast<int>(threadIdx.x);
  for (auto line = static_cast<std::int64_t>(blockIdx.x); line < lines;
       line += static_cast<std::int64_t>(gridDim.x)) {
    C* const of_line = states + line * parts;
    const std::int64_t share = (parts + loop_threads - 1) / loop_threads;
    const std::int64_t begin = me * share;
    const std::int64_t end = begin + share < parts ? begin + share : parts;
    C state = start;
    for (std::int64_t i = begin; i < end; ++i) state = Next::next(state, of_line + i);
    for (int by = 1; by < loop_threads; by *= 2) {
      shared[me] = state;
      __syncthreads();
      if (me >= by) state = Next::next(shared[me - by], &state);
      __syncthreads();
    }
    shared[me] = state;
    __syncthreads();
    state = me > 0 ? shared[me - 1] : start;
    for (std::int64_t i = begin; i < end; ++i) {
      const C own = of_line[i];
      of_line[i] = state;
      state = Next::next(state, &own);
    }
    __syncthreads();  // nobody writes into `shared` again while others read
  }
}
/// Walks a part of a line from its state.
template <class T, class Next>
struct CumulativeRest {
  using C = Computed<T>;
  CumulativeLines<T, Next> a;
  std::int64_t parts;
  const C* states;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    const std::int64_t part = next_digit(at, parts);
    const auto line = static_cast<std::int64_t>(at);
    C state = states[line * parts + part];
    for (std::int64_t i = part * cumulative_part; i < (part + 1) * cumulative_part && i < a.length;
         ++i) {
      const std::int64_t place = a.place(line, i);
      const C x = static_cast<C>(a.in[0][place]);
      const C next = Next::next(state, &x);
      a.out[place] = static_cast<T>(a.exclusive ? state : next);
      state = next;
    }
  }
};

/// Bytes of workspace for the states of scans. Lines have many parts, so there are less than twice
/// as many as whole parts fit into x.
inline std::int64_t cumulative_workspace(const Tensor& x) {
  return checked_product(x.size() / cumulative_part * 2, sizeof(double));
}

/// Runs a cumulative operation. Scans: it may be scanned by parts.
template <class Next, bool Scans, class T>
void accumulate(const KernelCall& call, const Tensor* in, const Tensor& out, std::uint32_t axis,
                bool reverse, bool exclusive, Computed<T> start) {
  CumulativeLines<T, Next> a{};
  for (int i = 0; i < Next::inputs; ++i) a.in[i] = static_cast<const T*>(in[i].data);
  a.out = static_cast<T*>(out.data);
  a.length = out.extents[axis];
  a.inner = 1;
  for (std::size_t i = axis + 1; i < out.extents.size(); ++i) a.inner *= out.extents[i];
  if (out.size() == 0) return;
  a.lines = out.size() / a.length;
  a.reverse = reverse;
  a.exclusive = exclusive;
  a.start = start;
  if constexpr (Scans) {
    constexpr std::int64_t few_lines = 256;
    constexpr std::int64_t long_line = 16 * cumulative_part;
    if (a.lines <= few_lines && a.length >= long_line) {
      const std::int64_t parts = (a.length + cumulative_part - 1) / cumulative_part;
      auto* const states = static_cast<Computed<T>*>(call.workspace);
      each(call, a.lines * parts, CumulativePart<T, Next>{a, parts, states});
      launch(call, &cumulative_states_kernel<Computed<T>, Next>, a.lines, loop_threads, start,
             a.lines, parts, states);
      each(call, a.lines * parts, CumulativeRest<T, Next>{a, parts, states});
      return;
    }
  }
  if (a.inner >= cumulative_tile) {
    each(call, a.lines, a);
  } else {
    launch(call, &cumulative_tile_kernel<T, Next>, blocks_for(a.lines, cumulative_tile),
           loop_threads, a);
  }
}

// Products and recurrences are not scanned: a product of some elements may overflow where the
// product of all does not.

template <>
struct kernel_of<ops::CumSum> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return cumulative_workspace(*in);
  }
  template <class T>
  static void run(const ops::CumSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    accumulate<NextFold<ops::Add>, true, T>(call, in, *out, op.axis, op.reverse != 0,
                                            op.exclusive != 0, Computed<T>(0));
  }
};
template <>
struct kernel_of<ops::CumProd> {
  template <class T>
  static void run(const ops::CumProd& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    accumulate<NextFold<ops::Mul>, false, T>(call, in, *out, op.axis, op.reverse != 0,
                                             op.exclusive != 0, Computed<T>(1));
  }
};
/// Copies the element before the one at a place, or a start.
template <class T>
struct ShiftElement {
  const T* in;
  T* out;
  std::int64_t length;
  std::int64_t inner;
  bool reverse;
  T start;

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    Index rest = at;
    next_digit(rest, inner);
    const std::int64_t i = next_digit(rest, length);
    const bool is_first = i == (reverse ? length - 1 : 0);
    const auto here = static_cast<std::int64_t>(at);
    out[at] = is_first ? start : in[reverse ? here + inner : here - inner];
  }
};

template <>
struct kernel_of<ops::Shift> {
  template <class T>
  static void run(const ops::Shift& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    std::int64_t inner = 1;
    for (std::size_t i = op.axis + 1; i < out->extents.size(); ++i) inner *= out->extents[i];
    each(call, out->size(),
         ShiftElement<T>{static_cast<const T*>(in->data), static_cast<T*>(out->data),
                         out->extents[op.axis], inner, op.reverse != 0,
                         static_cast<T>(Computed<T>(op.fill != 0 ? 1 : 0))});
  }
};
template <>
struct kernel_of<ops::LinearRecurrence> {
  template <class T>
  static void run(const ops::LinearRecurrence& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    accumulate<NextLinear, false, T>(call, in, *out, op.axis, op.reverse != 0, false,
                                     Computed<T>(0));
  }
};

template <class O>
struct kernel_of_extreme {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    return cumulative_workspace(*in);
  }
  template <class T>
  static void run(const O& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    using E = typename O::extreme;
    accumulate<NextFold<E>, true, T>(call, in, *out, op.axis, op.reverse != 0, false,
                                     E::template identity<Computed<T>>());
  }
};
template <>
struct kernel_of<ops::CumMax> : kernel_of_extreme<ops::CumMax> {};
template <>
struct kernel_of<ops::CumMin> : kernel_of_extreme<ops::CumMin> {};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
