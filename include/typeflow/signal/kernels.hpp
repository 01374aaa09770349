// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of Fourier transforms: axis by axis, each by blocks of lines that fit the cache.

#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "typeflow/cpu/custom.hpp"
#include "typeflow/cpu/transpose_blocks.hpp"
#include "typeflow/cpu/visit.hpp"
#include "typeflow/signal/fft.hpp"
#include "typeflow/signal/transform.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

template <>
struct kernel_of<ops::Fft> {
  /// Lines of n elements that are transformed side by side: a power of two. With fewer than a
  /// vector has, the first passes go number by number.
  static std::int64_t lines_of(std::int64_t n) {
    std::int64_t lines = 16;
    while (lines > 1 && lines * n > 32768) lines /= 2;
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

  /// The numbers for `lines` lines.
  static std::int64_t numbers_of(std::int64_t n, std::int64_t lines) {
    return parts_of((lines + lines_of(n) - 1) / lines_of(n)) * numbers_of(n);
  }

  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t size = in->dtype == DType::complex128 ? 8 : 4;
    const std::int64_t elements = in->size();
    std::int64_t most = 0;
    if (elements == 0) return 0;
    for (const std::int64_t n : in->extents) most = std::max(most, numbers_of(n, elements / n));
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

    /// With Real, of lines of twice as many real numbers, for their transforms' first halves.
    template <bool Real = false>
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
                   T* const own = memory + begin * numbers_of(n);
                   if constexpr (Real) {
                     real_block(from, to, b * lines, count, own);
                   } else {
                     block(from, to, b * lines, count, own);
                   }
                 }
               });
    }

   private:
    /// Where line i of n elements begins, which are `inner_` apart.
    std::int64_t begin_of(std::int64_t i, std::int64_t n) const {
      return i / inner_ * inner_ * n + i % inner_;
    }

    void block(const std::complex<T>* from, std::complex<T>* to, std::int64_t first,
               std::int64_t lines, T* memory) const {
      const std::int64_t n = plan_.length;
      const std::int64_t room = numbers_of(n) / 4;
      signal::Lines<T> x{memory, memory + room};
      signal::Lines<T> other{memory + 2 * room, memory + 3 * room};
      // Real and imaginary parts exchanged, a forward transform is an inverse one.
      if (inverse_) std::swap(x.re, x.im);
      load(from, first, lines, x, memory + 2 * room);
      if (inverse_) std::swap(x.re, x.im);
      signal::Lines<T> y = signal::transform<T, A>(plan_, lines, x, other);
      const bool in_first = std::min(y.re, y.im) == memory;
      if (inverse_) std::swap(y.re, y.im);
      store(y, n, to, first, lines, memory + (in_first ? 2 * room : 0));
    }
    /// The same of lines of 2 n real numbers, for n + 1 elements.
    void real_block(const std::complex<T>* from, std::complex<T>* to, std::int64_t first,
                    std::int64_t lines, T* memory) const {
      const std::int64_t n = plan_.length;
      const std::int64_t room = numbers_of(n) / 4;
      const signal::Lines<T> x{memory, memory + room};
      const signal::Lines<T> other{memory + 2 * room, memory + 3 * room};
      load(from, first, lines, x, memory + 2 * room);
      const signal::Lines<T> y = signal::transform<T, A>(plan_, lines, x, other);
      const bool in_first = std::min(y.re, y.im) == memory;
      const signal::Lines<T>& half = in_first ? other : x;
      signal::unfold_reals<T, A>(plan_, y, lines, half);
      store(half, n + 1, to, first, lines, memory + (in_first ? 0 : 2 * room));
    }

    /// Whether element j of the lines lies side by side in memory, for each j.
    bool side_by_side(std::int64_t first, std::int64_t lines) const {
      return first % inner_ + lines <= inner_;
    }
    /// Whether lines follow each other, and blocks of them are transposed in registers.
    bool transposes(std::int64_t lines) const { return sizeof(T) == 4 && inner_ == 1 && lines > 1; }

    /// Copies lines to x. `pairs` has room for them.
    [[gnu::noinline]] void load(const std::complex<T>* from, std::int64_t first, std::int64_t lines,
                                const signal::Lines<T>& x, T* pairs) const {
      const std::int64_t n = plan_.length;
      const auto part = [&](const T* z, std::int64_t i, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) {
          x.re[i + k] = z[2 * k];
          x.im[i + k] = z[2 * k + 1];
        }
      };
      // Complex numbers are pairs of numbers.
      if (transposes(lines)) {
        turn(reinterpret_cast<const T*>(from + first * n), lines, n, pairs);
        part(pairs, 0, n * lines);
      } else if (side_by_side(first, lines)) {
        const T* const z = reinterpret_cast<const T*>(from + begin_of(first, n));
        if (inner_ == lines) return part(z, 0, n * lines);
        for (std::int64_t j = 0; j < n; ++j) part(z + 2 * j * inner_, j * lines, lines);
      } else {
        for (std::int64_t v = 0; v < lines; ++v) {
          const T* const z = reinterpret_cast<const T*>(from + begin_of(first + v, n));
          for (std::int64_t j = 0; j < n; ++j) part(z + 2 * j * inner_, j * lines + v, 1);
        }
      }
    }
    /// The other way round, times the factor, for lines of n elements.
    [[gnu::noinline]] void store(const signal::Lines<T>& y, std::int64_t n, std::complex<T>* to,
                                 std::int64_t first, std::int64_t lines, T* pairs) const {
      const auto part = [&](T* z, std::int64_t i, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) {
          z[2 * k] = y.re[i + k] * factor_;
          z[2 * k + 1] = y.im[i + k] * factor_;
        }
      };
      if (transposes(lines)) {
        part(pairs, 0, n * lines);
        turn(pairs, n, lines, reinterpret_cast<T*>(to + first * n));
      } else if (side_by_side(first, lines)) {
        T* const z = reinterpret_cast<T*>(to + begin_of(first, n));
        if (inner_ == lines) return part(z, 0, n * lines);
        for (std::int64_t j = 0; j < n; ++j) part(z + 2 * j * inner_, j * lines, lines);
      } else {
        for (std::int64_t v = 0; v < lines; ++v) {
          T* const z = reinterpret_cast<T*>(to + begin_of(first + v, n));
          for (std::int64_t j = 0; j < n; ++j) part(z + 2 * j * inner_, j * lines + v, 1);
        }
      }
    }
    /// Transposes a matrix of pairs of floats.
    static void turn(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
      using Two = Bytes<8>;
      TransposeBlocks<Two>::run({reinterpret_cast<const Two*>(from), columns}, rows, columns,
                                {reinterpret_cast<Two*>(to), rows}, rows * columns, false);
    }

    const signal::Plan<T>& plan_;
    const bool inverse_;
    const T factor_;
    std::int64_t count_ = 1;  // lines
    std::int64_t inner_ = 1;
  };
};

template <>
struct kernel_of<ops::RealFft> {
  using Complex = kernel_of<ops::Fft>;

  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t size = in->dtype == DType::float64 ? 8 : 4;
    const std::int64_t n = in->extents.back() / 2;
    return checked_product(Complex::numbers_of(n, in->size() / (2 * n)), size);
  }
  template <class A, class T>
  static void run(const ops::RealFft&, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    if constexpr (std::is_floating_point_v<T>) {
      using C = std::complex<T>;
      if (out->size() == 0) return;
      const std::int64_t n = in->extents.back() / 2;
      const std::int64_t extents[] = {in->size() / (2 * n), n};
      const Complex::Axis<T, A> axis(extents, 1, false, T(1));
      axis.template run<true>(static_cast<const C*>(in->data), static_cast<C*>(out->data), call);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
