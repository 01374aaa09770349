// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/lrn.hpp: sums over neighbouring channels, in their order.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "typeflow/cuda/divider.hpp"
#include "typeflow/cuda/loops.hpp"
#include "typeflow/ops/nn/lrn.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The sums of N neighbouring channels. Packets that all of their windows may reach are loaded
/// once; each sum takes the elements of its own window, in order.
template <class T, int N>
struct WindowSums {
  const T* x;
  T* y;
  std::int64_t channels;
  std::int64_t radius;  ///< at most `channels`
  Divider by_packets;   ///< of a row, if there are less than 2^31 elements

  template <class Index>
  TYPEFLOW_DEVICE void operator()(Index at) const {
    using C = Computed<T>;
    // The channels of a row fit into an int if they are divided by the multiplication.
    using Channel = std::conditional_t<sizeof(Index) == 4, std::int32_t, std::int64_t>;
    Index rest = at;
    Channel c;
    if constexpr (sizeof(Index) == 4) {
      c = by_packets.take_remainder(rest) * N;
    } else {
      c = next_digit(rest, channels / N) * N;
    }
    const auto reach = static_cast<Channel>(radius);
    const auto count = static_cast<Channel>(channels);
    const T* const row = x + static_cast<std::int64_t>(rest) * channels;
    const Channel first = c > reach ? (c - reach) / N * N : 0;
    const Channel last = count - c > N - 1 + reach ? c + N - 1 + reach : count - 1;
    C sum[N] = {};
    for (Channel j = first; j <= last; j += N) {
      const auto elements = *reinterpret_cast<const Packet<T, N>*>(row + j);
      const Channel distance = j - c;
      TYPEFLOW_UNROLL
      for (int e = 0; e < N; ++e) {
        TYPEFLOW_UNROLL
        for (int n = 0; n < N; ++n) {
          const Channel d = distance + (e - n);
          if (d >= -reach && d <= reach) sum[n] = sum[n] + static_cast<C>(elements.element[e]);
        }
      }
    }
    Packet<T, N> result;
    TYPEFLOW_UNROLL
    for (int n = 0; n < N; ++n) result.element[n] = static_cast<T>(sum[n]);
    *reinterpret_cast<Packet<T, N>*>(y + at * N) = result;
  }
};

template <>
struct kernel_of<ops::WindowSum> {
  template <class T>
  static void run(const ops::WindowSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    constexpr std::int64_t most_of_32_bits = std::numeric_limits<std::int32_t>::max();
    constexpr int most = 4;
    const auto* const x = static_cast<const T*>(in->data);
    auto* const y = static_cast<T*>(out->data);
    const std::int64_t size = in->size();
    const std::int64_t channels = in->extents.back();
    const auto radius = std::min<std::int64_t>(op.radius, channels);
    const auto divider = [&](int n) {
      return Divider::by(std::clamp<std::int64_t>(channels / n, 1, most_of_32_bits));
    };
    const bool fits = size < most_of_32_bits && channels % most == 0 &&
                      (address_of(x) | address_of(y)) % (most * sizeof(T)) == 0;
    if (fits) {
      launch(call, &each_kernel<std::uint32_t, WindowSums<T, most>>,
             blocks_for(size / most, loop_threads), loop_threads,
             WindowSums<T, most>{x, y, channels, radius, divider(most)},
             static_cast<std::uint32_t>(size / most));
    } else {
      each(call, size, WindowSums<T, 1>{x, y, channels, radius, divider(1)});
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
