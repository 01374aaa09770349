// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of ops/nn/pool_argmax.hpp. A window is read from its end, so that the first of equal
// elements is written last, and the loop over channels has no other condition than the comparison.

#include <cstdint>

#include "typeflow/cpu/ops/pool.hpp"
#include "typeflow/ops/nn/pool_argmax.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::MaxPoolArgmax> {
  template <class A, class T>
  static void run(const ops::MaxPoolArgmax& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const PoolLoops<A, T> loops(op.window, *in);
    const auto& image = loops.image();
    const std::int64_t row_size = image.out[2] * image.channels;
    const std::int64_t image_size = image.in[0] * image.in[1] * image.in[2] * image.channels;
    loops.each_row_of_y(call, [&](std::int64_t r, std::int64_t d, std::int64_t h, std::int64_t n) {
      row<A, T>(loops, static_cast<const T*>(in[0].data),
                static_cast<const T*>(in[1].data) + r * row_size,
                static_cast<std::int64_t*>(out->data) + r * row_size, d, h, n,
                op.include_batch != 0 ? 0 : n * image_size);
    });
  }

 private:
  /// `zero` is the place in x where the image begins from which positions count.
  template <class A, class T>
  static void row(const PoolLoops<A, T>& loops, const T* x, const T* y, std::int64_t* to,
                  std::int64_t d, std::int64_t h, std::int64_t n, std::int64_t zero) {
    using C = Computed<T>;
    const auto& image = loops.image();
    const auto in_d = image.covered(0, d);
    const auto in_h = image.covered(1, h);
    for (std::int64_t place = 0; place < image.out[2]; ++place) {
      const auto in_w = image.covered(2, place);
      for (std::int64_t i = in_d.end; i-- > in_d.begin;) {
        for (std::int64_t j = in_h.end; j-- > in_h.begin;) {
          for (std::int64_t k = in_w.end; k-- > in_w.begin;) {
            const std::int64_t pixel = loops.pixel(n, i, j, k);
            for (std::int64_t c = 0; c < image.channels; ++c) {
              const C e = static_cast<C>(x[pixel + c]);
              if (e == static_cast<C>(y[c]) || e != e) to[c] = pixel + c - zero;
            }
          }
        }
      }
      y += image.channels;
      to += image.channels;
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
