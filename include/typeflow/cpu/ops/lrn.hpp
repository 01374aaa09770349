// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/lrn.hpp: sums over neighbouring channels.

#include <algorithm>
#include <cstdint>

#include "typeflow/cpu/rows.hpp"
#include "typeflow/ops/nn/lrn.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::WindowSum> {
  /// Rows are shared out to so many parts, each with memory of its own.
  static std::int64_t parts_of(std::int64_t rows) { return std::min<std::int64_t>(rows, 16); }
  /// Elements of a row between zeros: beyond one on each side more of them change nothing.
  static std::int64_t padded(std::int64_t channels, std::int64_t radius) {
    constexpr std::int64_t line = 64;  // as many as a register has, at least
    return (channels + 2 * std::min(radius, channels) + 2 * line - 1) / line * line;
  }
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t channels = in->extents.back();
    if (channels == 0) return 0;
    std::int64_t rows = 1;
    for (const std::int64_t n : in->extents.first(in->extents.size() - 1)) rows *= n;
    const std::int64_t size = in->dtype == DType::float64 ? 8 : 4;
    return checked_product(parts_of(rows) * size, padded(channels, channels));
  }

  template <class A, class T>
  static void run(const ops::WindowSum& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (is_batch<T>) {
      const std::int64_t channels = in->extents.back();
      if (channels == 0) return;
      const auto* const x = static_cast<const T*>(in->data);
      auto* const y = static_cast<T*>(out->data);
      const std::int64_t radius = std::min<std::int64_t>(op.radius, channels);
      const std::int64_t count = in->size() / channels;
      const std::int64_t parts = parts_of(count);
      if (parts == 0) return;
      // For each vector of sums, a load and an addition a term, and the copy.
      constexpr int N = Lanes<(sizeof(T) > 4), A>::size;
      const std::int64_t vectors = (channels + N - 1) / N;
      const std::int64_t cost = (count + parts - 1) / parts * vectors * (2 * radius + 4) * 48;
      auto* const workspace = static_cast<Computed<T>*>(call.workspace);
      parallel(call, parts, grain_of_cost(cost), [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = count * begin / parts * channels;
        rows<A>(x + first, y + first, count * end / parts - count * begin / parts, channels, radius,
                workspace + begin * padded(channels, radius));
      });
    }
  }

 private:
  /// A copy of each row between zeros, so that every vector of sums has all its terms. The vectors
  /// overlap.
  template <class A, class T>
  [[gnu::flatten]] static void rows(const T* x, T* y, std::int64_t count, std::int64_t channels,
                                    std::int64_t radius, Computed<T>* row) {
    using L = Lanes<(sizeof(T) > 4), A>;
    using C = Computed<T>;
    constexpr int N = L::size;
    static_assert(N <= 64);
    std::fill_n(row, padded(channels, radius), C(0));
    for (; count > 0; --count, x += channels, y += channels) {
      std::transform(x, x + channels, row + radius, [](T e) { return static_cast<C>(e); });
      for (std::int64_t c = 0; c < channels; c += N) {
        const C* const first = row + c;
        auto sum = L::load(first);
        for (std::int64_t j = 1; j <= 2 * radius; ++j) sum = sum + L::load(first + j);
        const auto valid = static_cast<int>(std::min<std::int64_t>(N, channels - c));
        L::template store<T>(y + c, L::template rounded<T>(sum), valid);
      }
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
