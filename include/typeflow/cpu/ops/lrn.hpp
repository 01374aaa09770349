// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/lrn.hpp: sums over neighbouring channels.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/nn/lrn.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::WindowSum> {
  template <class A, class T>
  static void run(const ops::WindowSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (is_batch<T>) {
      const std::int64_t channels = in->extents.back();
      if (channels == 0) return;
      const auto* const x = static_cast<const T*>(in->data);
      auto* const y = static_cast<T*>(out->data);
      const std::int64_t work = channels * (2 * std::int64_t{op.radius} + 2);
      parallel(call, in->size() / channels, std::max<std::int64_t>(1, 4 * chunk_size / work),
               [&](std::int64_t begin, std::int64_t end) {
                 rows<A>(x + begin * channels, y + begin * channels, end - begin, channels,
                         op.radius);
               });
    }
  }

 private:
  /// A copy of each row between zeros, so that every vector of sums has all its terms. The vectors
  /// overlap.
  template <class A, class T>
  [[gnu::flatten]] static void rows(const T* x, T* y, std::int64_t count, std::int64_t channels,
                                    std::int64_t radius) {
    using L = Lanes<(sizeof(T) > 4), A>;
    using C = Computed<T>;
    constexpr int N = L::size;
    std::vector<C> row(static_cast<std::size_t>(channels + 2 * radius + N));
    for (; count > 0; --count, x += channels, y += channels) {
      std::transform(x, x + channels, row.begin() + radius, [](T e) { return static_cast<C>(e); });
      for (std::int64_t c = 0; c < channels; c += N) {
        const C* const first = row.data() + c;
        auto sum = L::load(first);
        for (std::int64_t j = 1; j <= 2 * radius; ++j) sum = sum + L::load(first + j);
        const auto valid = static_cast<int>(std::min<std::int64_t>(N, channels - c));
        L::template store<T>(y + c, L::template rounded<T>(sum), valid);
      }
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
