// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of Fourier transforms: axis by axis, each by blocks of lines that fit the cache.

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/custom.hpp"
#include "typeflow/signal/fft.hpp"
#include "typeflow/signal/transform.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Fft> {
  /// Lines of n elements that are transformed side by side: a power of two.
  static std::int64_t lines_of(std::int64_t n) {
    std::int64_t lines = 16;
    while (lines > 1 && lines * n > 8192) lines /= 2;
    return lines;
  }
  /// Blocks are shared out to so many parts, each with memory of its own.
  static std::int64_t parts_of(std::int64_t blocks) { return std::min<std::int64_t>(blocks, 16); }
  /// Numbers of a part's memory: two buffers of real and imaginary parts. Bluestein's algorithm
  /// needs the next power of two above 2 n; all others get it too, so that more elements never need
  /// less.
  static std::int64_t numbers_of(std::int64_t n) {
    return 4 * lines_of(n) *
           static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n)));
  }

  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t size = in->dtype == DType::complex128 ? 8 : 4;
    const std::int64_t elements = in->size();
    std::int64_t most = 0;
    if (elements == 0) return 0;
    for (const std::int64_t n : in->extents) {
      const std::int64_t lines = elements / n;
      const std::int64_t blocks = (lines + lines_of(n) - 1) / lines_of(n);
      most = std::max(most, parts_of(blocks) * numbers_of(n));
    }
    return checked_product(most, size);
  }

  template <class A, class C>
  static void run(const ops::Fft& op, const Tensor* in, const Tensor* out, const KernelCall& call) {
    if constexpr (detail::is_complex_number<C>) {
      using T = typename C::value_type;
      if (out->size() == 0) return;
      const int last = static_cast<int>(out->extents.size()) - static_cast<int>(op.after);
      const int first = last - static_cast<int>(op.axes);
      double count = 1;
      for (int k = first; k < last; ++k) {
        count *= static_cast<double>(out->extents[static_cast<std::size_t>(k)]);
      }
      const C* from = static_cast<const C*>(in->data);
      C* const to = static_cast<C*>(out->data);
      for (int k = last - 1; k >= first; --k) {
        const bool scaled = op.scaled != 0 && k == first;
        Axis<T, A>(out->extents, k, op.inverse != 0, scaled ? static_cast<T>(1 / count) : T(1))
            .run(from, to, call);
        from = to;
      }
    }
  }

 private:
  /// The transform along one axis.
  template <class T, class A>
  class Axis {
   public:
    Axis(std::span<const std::int64_t> extents, int axis, bool inverse, T factor)
        : plan_(signal::Plans<T>::of(extents[static_cast<std::size_t>(axis)])),
          inverse_(inverse),
          factor_(factor) {
      for (int k = 0; k < static_cast<int>(extents.size()); ++k) {
        const std::int64_t extent = extents[static_cast<std::size_t>(k)];
        if (k != axis) count_ *= extent;
        if (k > axis) inner_ *= extent;
      }
    }

    void run(const std::complex<T>* from, std::complex<T>* to, const KernelCall& call) const {
      const std::int64_t n = plan_.length;
      const std::int64_t lines = lines_of(n);
      const std::int64_t blocks = (count_ + lines - 1) / lines;
      const std::int64_t parts = parts_of(blocks);
      const std::int64_t work = (blocks + parts - 1) / parts * lines * n * 16;
      T* const memory = static_cast<T*>(call.workspace);
      parallel(call, parts, std::max<std::int64_t>(1, 4 * chunk_size / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t b = blocks * begin / parts; b < blocks * end / parts; ++b) {
                   const std::int64_t count = std::min(lines, count_ - b * lines);
                   block(from, to, b * lines, count, memory + begin * numbers_of(n));
                 }
               });
    }

   private:
    /// Where line i begins; its elements are `inner_` apart.
    std::int64_t begin_of(std::int64_t i) const {
      return i / inner_ * inner_ * plan_.length + i % inner_;
    }

    void block(const std::complex<T>* from, std::complex<T>* to, std::int64_t first,
               std::int64_t lines, T* memory) const {
      const std::int64_t n = plan_.length;
      const std::int64_t room = numbers_of(n) / 4;
      signal::Lines<T> x{memory, memory + room};
      signal::Lines<T> other{memory + 2 * room, memory + 3 * room};
      // Real and imaginary parts exchanged, a forward transform is an inverse one.
      const int re = inverse_ ? 1 : 0;
      // Complex numbers are pairs of numbers.
      for (std::int64_t v = 0; v < lines; ++v) {
        const T* const line = reinterpret_cast<const T*>(from + begin_of(first + v));
        for (std::int64_t j = 0; j < n; ++j) {
          x.re[j * lines + v] = line[2 * j * inner_ + re];
          x.im[j * lines + v] = line[2 * j * inner_ + 1 - re];
        }
      }
      const signal::Lines<T> y = signal::transform<T, A>(plan_, lines, x, other);
      for (std::int64_t v = 0; v < lines; ++v) {
        T* const line = reinterpret_cast<T*>(to + begin_of(first + v));
        for (std::int64_t j = 0; j < n; ++j) {
          line[2 * j * inner_ + re] = y.re[j * lines + v] * factor_;
          line[2 * j * inner_ + 1 - re] = y.im[j * lines + v] * factor_;
        }
      }
    }

    const signal::Plan<T>& plan_;
    const bool inverse_;
    const T factor_;
    std::int64_t count_ = 1;  // lines
    std::int64_t inner_ = 1;
  };
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
