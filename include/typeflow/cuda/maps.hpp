// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise kernels. A thread computes a packet: neighbouring elements of a row, which it loads
// and stores by accesses of 16 bytes where the operands allow it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "typeflow/cuda/body.hpp"
#include "typeflow/cuda/launch.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// Code of a kernel type for GPUs.
template <class Kernel>
struct Code;

/// Neighbouring elements in one access.
template <class T, int N>
struct alignas(sizeof(T) * N) Packet {
  T element[N];
};

/// The part of a map that a block does, one of so many.
template <class Code, int N, class Index>
TYPEFLOW_DEVICE void map_packets(const typename Code::Arguments& a, unsigned block,
                                 unsigned blocks) {
  const auto length = static_cast<Index>(a.extent[Code::outer]);
  const auto packets = static_cast<Index>(Code::elements(a) / N);
  const auto stride = static_cast<Index>(blocks) * static_cast<Index>(blockDim.x);
  for (auto p = static_cast<Index>(block) * static_cast<Index>(blockDim.x) +
                static_cast<Index>(threadIdx.x);
       p < packets; p += stride) {
    const Index first = p * N;
    Code::template packet<N>(a, first / length, first % length);
  }
}
template <class Code, int N, class Index>
__global__ void map_kernel(const __grid_constant__ typename Code::Arguments a) {
  map_packets<Code, N, Index>(a, blockIdx.x, gridDim.x);
}

/// The arguments of several maps that are one launch: the blocks of each come after those before.
template <class Code>
struct MapTable {
  /// As many as the 4 KiB of a kernel's parameters have room for.
  static constexpr int most =
      static_cast<int>(4096 / (sizeof(typename Code::Arguments) + 2 * sizeof(unsigned)));
  typename Code::Arguments of[most > 0 ? most : 1];
  unsigned end[most > 0 ? most : 1];  ///< of the blocks
};
template <class Code, int N, class Index>
__global__ void map_group_kernel(const __grid_constant__ MapTable<Code> table) {
  int map = 0;
  unsigned begin = 0;
  while (blockIdx.x >= table.end[map]) begin = table.end[map++];
  map_packets<Code, N, Index>(table.of[map], blockIdx.x - begin, table.end[map] - begin);
}

template <bool Wide, int Outer, ir::InnerExtent Inner, class B>
struct Code<ir::LoopKernel<Wide, Outer, false, Inner, B>> {
  using M = Machine<B>;
  using Registers = typename M::Registers;
  static constexpr int outer = Outer;
  static constexpr ir::KernelSpace space = ir::space_of(ir::KernelKind::loop, Outer, false);
  static constexpr unsigned inner_bit = 1u << Outer;
  using Arguments = LoopArguments<M, space.rank>;
  static constexpr int threads = 256;
  static_assert(
      [] {
        for (int s = 0; s < M::stores; ++s) {
          if (M::store_specs[s].is_row) return false;
        }
        return true;
      }(),
      "values of rows are stored by kernels that fold");

  static std::int64_t workspace(const std::int64_t*) { return 0; }

  static void run(const KernelCall& call) {
    const Arguments a = arguments_of<M, space>(call);
    const std::int64_t count = elements(a);
    if (count == 0) return;
    if (count >= std::numeric_limits<std::int32_t>::max() / 2) {
      launch_packets<1, std::int64_t>(call, a, count);
    } else if (most > 1 && fits(a)) {
      launch_packets<most, std::uint32_t>(call, a, count / most);
    } else {
      launch_packets<1, std::uint32_t>(call, a, count);
    }
  }

  static constexpr std::int64_t elements(const Arguments& a) {
    std::int64_t count = 1;
    for (int k = 0; k <= Outer; ++k) count *= a.extent[k];
    return count;
  }

  /// Computes N elements of a row.
  template <int N, class Index>
  TYPEFLOW_DEVICE static void packet(const Arguments& a, Index row, Index first) {
    std::int64_t coordinate[Outer + 1];
    find_coordinates<Outer>(coordinate, row, a.extent);
    Registers rows{};  // values that the elements share
    Packets<N> in;
    enter_all<N>(a, coordinate, static_cast<std::int64_t>(first), rows, in,
                 typename M::InputNumbers{});
    ElementContext at{a.random, static_cast<std::int64_t>(row)};
    M::template evaluate_rows<0>(rows, a.ops, at);
    OutPackets<N> out;
    const std::int64_t base = static_cast<std::int64_t>(row) * a.extent[Outer] + first;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) {
      Registers r = rows;
      take_all<N>(in, r, n, static_cast<std::int64_t>(first), typename M::InputNumbers{});
      at.index = base + n;
      M::template evaluate<0>(r, a.ops, at);
      give_all<N>(out, r, n, typename M::StoreNumbers{});
    }
    store_all<N>(a, coordinate, static_cast<std::int64_t>(first), out, typename M::StoreNumbers{});
  }

 private:
  template <int I>
  using InElement = element_of<M::template Input<I>::dtype>;
  template <int S>
  using OutElement = element_of<M::template Out<S>::dtype>;
  template <int I>
  static constexpr bool along_row = (M::template Input<I>::axes & inner_bit) != 0;

  template <int N, class Numbers>
  struct PacketsOf;
  template <int N, int... I>
  struct PacketsOf<N, std::integer_sequence<int, I...>> {
    using in = FlatTuple<Packet<InElement<I>, N>...>;
  };
  template <int N, class Numbers>
  struct OutPacketsOf;
  template <int N, int... S>
  struct OutPacketsOf<N, std::integer_sequence<int, S...>> {
    using out = FlatTuple<Packet<OutElement<S>, N>...>;
  };
  template <int N>
  using Packets = typename PacketsOf<N, typename M::InputNumbers>::in;
  template <int N>
  using OutPackets = typename OutPacketsOf<N, typename M::StoreNumbers>::out;

  /// The most elements of a packet: 16 bytes of the widest operand.
  static constexpr int most = [] {
    int widest = 1;
    for (int i = 0; i < M::inputs; ++i) {
      const ir::InputSpec& in = M::input_specs[i];
      if (!in.is_index && (in.axes & inner_bit) != 0) widest = std::max(widest, size_of(in.dtype));
    }
    for (int s = 0; s < M::stores; ++s) {
      widest = std::max(widest, size_of(M::store_specs[s].dtype));
    }
    return std::max(1, 16 / widest);
  }();

  static std::int64_t blocks_of(std::int64_t packets) {
    return std::min((packets + threads - 1) / threads, most_blocks);
  }
  template <int N, class Index>
  static void launch_packets(const KernelCall& call, const Arguments& a, std::int64_t packets) {
    if constexpr (may_group && sizeof(Index) == 4) {
      CudaStream& stream = stream_of(call);
      if (CudaCapture* const capture = stream.capture(); capture != nullptr) {
        capture->hold_back(stream, &launch_group<N, Index>, &a, sizeof a, accesses_of(a));
        return;
      }
    }
    launch(call, &map_kernel<Code, N, Index>, blocks_of(packets), threads, a);
  }

  /// Whether launches may be made together. Steps of optimizers have one loop; the kernels of other
  /// maps are compiled once, to keep programs small.
  static constexpr bool may_group = Outer == 0 && !M::draws && MapTable<Code>::most > 1;

  /// LaunchGroups::Launch.
  template <int N, class Index>
  static void launch_group(CudaStream& stream, const std::byte* arguments, int count) {
    KernelCall call{};
    call.stream = &stream;
    for (int done = 0; done < count; done += MapTable<Code>::most) {
      MapTable<Code> table{};
      const int maps = std::min(count - done, MapTable<Code>::most);
      std::memcpy(table.of, arguments + static_cast<std::size_t>(done) * sizeof(Arguments),
                  static_cast<std::size_t>(maps) * sizeof(Arguments));
      std::int64_t blocks = 0;
      for (int i = 0; i < maps; ++i) {
        blocks += blocks_of(elements(table.of[i]) / N);
        table.end[i] = static_cast<unsigned>(blocks);
      }
      if (maps > 1) {
        launch(call, &map_group_kernel<Code, N, Index>, blocks, threads, table);
      } else {
        launch(call, &map_kernel<Code, N, Index>, blocks, threads, table.of[0]);
      }
    }
  }

  /// The memory of a map's operands.
  static std::array<MemoryAccess, M::inputs + M::stores> accesses_of(const Arguments& a) {
    std::array<MemoryAccess, M::inputs + M::stores> accesses{};
    const auto access = [&](const OperandOf<space.rank>& operand, DType type, bool writes) {
      const auto size = static_cast<std::int64_t>(size_of(type));
      std::int64_t first = 0;
      std::int64_t last = 0;
      for (int k = 0; k <= Outer; ++k) {
        const std::int64_t distance = (a.extent[k] - 1) * operand.stride[k];
        (distance < 0 ? first : last) += distance;
      }
      const auto begin = reinterpret_cast<std::uintptr_t>(operand.data);
      return MemoryAccess{begin + static_cast<std::uintptr_t>(first * size),
                          begin + static_cast<std::uintptr_t>((last + 1) * size), writes};
    };
    for (std::size_t i = 0; i < M::inputs; ++i) {
      const ir::InputSpec& in = M::input_specs[i];
      if (!in.is_index) accesses[i] = access(a.in[i], in.dtype, false);
    }
    for (std::size_t s = 0; s < M::stores; ++s) {
      accesses[M::inputs + s] = access(a.out[s], M::store_specs[s].dtype, true);
    }
    return accesses;
  }

  /// Whether all rows of all operands consist of whole, aligned packets.
  static bool fits(const Arguments& a) {
    bool fits = a.extent[Outer] % most == 0;
    const auto check = [&](const OperandOf<space.rank>& operand, int size) {
      fits = fits && reinterpret_cast<std::uintptr_t>(operand.data) %
                             static_cast<std::uintptr_t>(most * size) ==
                         0;
      for (int k = 0; k < Outer; ++k) fits = fits && operand.stride[k] % most == 0;
      fits = fits && operand.stride[Outer] == 1;
    };
    for (int i = 0; i < M::inputs; ++i) {
      const ir::InputSpec& in = M::input_specs[i];
      if (!in.is_index && (in.axes & inner_bit) != 0) check(a.in[i], size_of(in.dtype));
    }
    for (int s = 0; s < M::stores; ++s) {
      check(a.out[s], size_of(M::store_specs[s].dtype));
    }
    return fits;
  }

  template <int N, int... I>
  TYPEFLOW_DEVICE static void enter_all(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1],
      [[maybe_unused]] std::int64_t first, [[maybe_unused]] Registers& rows,
      [[maybe_unused]] Packets<N>& in, std::integer_sequence<int, I...>) {
    (enter<N, I>(a, coordinate, first, rows, in), ...);
  }
  template <int N, int I>
  TYPEFLOW_DEVICE static void enter(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                    std::int64_t first, Registers& rows, Packets<N>& in) {
    using In = typename M::template Input<I>;
    using T = InElement<I>;
    if constexpr (In::is_index) {
      if constexpr (!along_row<I>) {
        get<I>(rows) = static_cast<T>(position_of<In::axes, Outer>(coordinate));
      }
    } else {
      std::int64_t offset = offset_of<In::axes, Outer>(a.in[I], coordinate);
      if constexpr (!along_row<I>) {
        get<I>(rows) = static_cast<Computed<T>>(*a.in[I].template at<const T>(offset));
      } else if constexpr (N == 1) {
        offset += first * a.in[I].stride[Outer];
        get<I>(in).element[0] = *a.in[I].template at<const T>(offset);
      } else {
        get<I>(in) =
            *reinterpret_cast<const Packet<T, N>*>(a.in[I].template at<const T>(offset + first));
      }
    }
  }
  template <int N, int... I>
  TYPEFLOW_DEVICE static void take_all([[maybe_unused]] const Packets<N>& in,
                                       [[maybe_unused]] Registers& r, [[maybe_unused]] int n,
                                       [[maybe_unused]] std::int64_t first,
                                       std::integer_sequence<int, I...>) {
    (take<N, I>(in, r, n, first), ...);
  }
  template <int N, int I>
  TYPEFLOW_DEVICE static void take(const Packets<N>& in, Registers& r, int n, std::int64_t first) {
    using T = InElement<I>;
    if constexpr (along_row<I>) {
      if constexpr (M::template Input<I>::is_index) {
        get<I>(r) = static_cast<T>(first + n);
      } else {
        get<I>(r) = static_cast<Computed<T>>(get<I>(in).element[n]);
      }
    }
  }
  template <int N, int... S>
  TYPEFLOW_DEVICE static void give_all([[maybe_unused]] OutPackets<N>& out,
                                       [[maybe_unused]] const Registers& r, [[maybe_unused]] int n,
                                       std::integer_sequence<int, S...>) {
    (give<N, S>(out, r, n), ...);
  }
  template <int N, int S>
  TYPEFLOW_DEVICE static void give(OutPackets<N>& out, const Registers& r, int n) {
    using Out = typename M::template Out<S>;
    get<S>(out).element[n] = M::template stored<Out>(get<Out::value>(r));
  }
  template <int N, int... S>
  TYPEFLOW_DEVICE static void store_all(
      [[maybe_unused]] const Arguments& a,
      [[maybe_unused]] const std::int64_t (&coordinate)[Outer + 1],
      [[maybe_unused]] std::int64_t first, [[maybe_unused]] const OutPackets<N>& out,
      std::integer_sequence<int, S...>) {
    (store<N, S>(a, coordinate, first, out), ...);
  }
  template <int N, int S>
  TYPEFLOW_DEVICE static void store(const Arguments& a, const std::int64_t (&coordinate)[Outer + 1],
                                    std::int64_t first, const OutPackets<N>& out) {
    using T = OutElement<S>;
    const std::int64_t offset = offset_of<space.whole(), Outer>(a.out[S], coordinate);
    if constexpr (N == 1) {
      *a.out[S].template at<T>(offset + first * a.out[S].stride[Outer]) = get<S>(out).element[0];
    } else {
      *reinterpret_cast<Packet<T, N>*>(a.out[S].template at<T>(offset + first)) = get<S>(out);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
