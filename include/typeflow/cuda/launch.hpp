// SPDX-License-Identifier: Apache-2.0
#pragma once

// Launching kernels on the stream of a call.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "typeflow/cuda/stream.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

inline CudaStream& stream_of(const KernelCall& call) {
  return *static_cast<CudaStream*>(call.stream);
}

#if defined(__CUDACC__)
template <class... P>
inline constexpr auto call_on_host = static_cast<void (*)(const void*, void**)>(nullptr);
#else
template <class... P>
void call_on_host(const void* kernel, void** arguments) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    reinterpret_cast<void (*)(P...)>(reinterpret_cast<std::uintptr_t>(kernel))(
        *static_cast<std::remove_reference_t<P>*>(arguments[I])...);
  }(std::make_integer_sequence<int, static_cast<int>(sizeof...(P))>{});
}
#endif

/// Launches a kernel on the call's stream, with so many bytes of shared memory for each block
/// (launched_memory). Nothing is launched without blocks.
template <class... P>
void launch_with_memory(const KernelCall& call, void (*kernel)(P...), std::int64_t blocks,
                        int threads, std::int64_t bytes, std::type_identity_t<P>... arguments) {
  if (blocks <= 0) return;
  CudaStream& stream = stream_of(call);
  stream.check();
  stream.use_device();
  void* pointers[] = {&arguments...};
  static constexpr std::size_t sizes[] = {sizeof(P)...};
  const cudaError_t error = stream.runtime().launch(
      {reinterpret_cast<const void*>(kernel), call_on_host<P...>,
       dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
       static_cast<std::size_t>(bytes), pointers, sizes, static_cast<int>(sizeof...(P))},
      stream.get());
  stream.check(error, "launching a kernel");
}
/// The same without shared memory of that kind.
template <class... P>
void launch(const KernelCall& call, void (*kernel)(P...), std::int64_t blocks, int threads,
            std::type_identity_t<P>... arguments) {
  launch_with_memory(call, kernel, blocks, threads, 0, arguments...);
}

/// Random numbers for a kernel: those of a draw, whose number is an argument, or in memory if the
/// kernel is recorded.
struct RandomSource {
  std::uint64_t seed;
  std::uint64_t draw;
  const std::uint64_t* draw_in_memory;

  constexpr RandomState state() const {
    return {seed, draw_in_memory == nullptr ? draw : *draw_in_memory};
  }
};
inline RandomSource random_source(const KernelCall& call) {
  return {call.random.seed, call.random.draw, stream_of(call).draw()};
}

/// The most blocks of a kernel whose threads go on to further elements: several for each of a
/// GPU's multiprocessors.
inline constexpr std::int64_t most_blocks = 4096;

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
