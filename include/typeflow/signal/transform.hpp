// SPDX-License-Identifier: Apache-2.0
#pragma once

// The loops of a transform. Several lines are transformed side by side: element j of line v is at
// [j * lines + v], real and imaginary parts in arrays of their own. The passes are Stockham's,
// which leave the elements in order (Van Loan, Computational Frameworks for the Fast Fourier
// Transform, 1992). Their inner loops run over contiguous elements, so they use vectors from the
// second pass on even for a single line. Every element is computed by the same operations whatever
// the number of lines, so its bits do not depend on it.

#include <cstdint>
#include <utility>

#include "typeflow/cpu/xsimd.hpp"
#include "typeflow/signal/plan.hpp"

namespace typeflow::inline TYPEFLOW_ISA::signal {

template <class T>
struct Lines {
  T* re;
  T* im;
};

/// A complex number, or a vector of them.
template <class B>
struct Pair {
  B re;
  B im;
  friend Pair operator+(const Pair& a, const Pair& b) { return {a.re + b.re, a.im + b.im}; }
  friend Pair operator-(const Pair& a, const Pair& b) { return {a.re - b.re, a.im - b.im}; }
  /// Times -i.
  Pair turned() const { return {im, -re}; }
  Pair times(const B& x, const B& y) const { return {re * x - im * y, re * y + im * x}; }
};

/// Vectors of an architecture, and single numbers.
template <class T, class A>
struct Vectors {
  using B = xsimd::batch<T, A>;
  static constexpr std::int64_t size = static_cast<std::int64_t>(B::size);
  static Pair<B> load(const Lines<T>& x, std::int64_t i) {
    return {B::load_unaligned(x.re + i), B::load_unaligned(x.im + i)};
  }
  static void store(const Lines<T>& y, std::int64_t i, const Pair<B>& value) {
    value.re.store_unaligned(y.re + i);
    value.im.store_unaligned(y.im + i);
  }
};
template <class T>
struct Numbers {
  using B = T;
  static constexpr std::int64_t size = 1;
  static Pair<T> load(const Lines<T>& x, std::int64_t i) { return {x.re[i], x.im[i]}; }
  static void store(const Lines<T>& y, std::int64_t i, const Pair<T>& value) {
    y.re[i] = value.re;
    y.im[i] = value.im;
  }
};

/// f(vectors, i) for i in [0, count), as many at a time as a vector has.
template <class T, class A, class F>
TYPEFLOW_INLINE void each(std::int64_t count, F&& f) {
  std::int64_t i = 0;
  for (; i + Vectors<T, A>::size <= count; i += Vectors<T, A>::size) f(Vectors<T, A>{}, i);
  for (; i < count; ++i) f(Numbers<T>{}, i);
}

/// Transforms lines by the passes of a plan.
template <class T, class A>
class Passes {
 public:
  Passes(const Plan<T>& plan, std::int64_t lines) : plan_(plan), lines_(lines) {}

  /// Transforms `from`; `other` is as large. Returns the one that has the result.
  Lines<T> run(Lines<T> from, Lines<T> other) const {
    std::int64_t left = plan_.length;  // of each part that is still to be transformed
    for (const int factor : plan_.factors) {
      const std::int64_t parts = plan_.length / left;
      const std::int64_t step = left / factor;
      if (factor == 4) pass<4>(parts, step, from, other);
      if (factor == 2) pass<2>(parts, step, from, other);
      if (factor == 3) pass<3>(parts, step, from, other);
      if (factor > 4) pass_of_prime(factor, parts, step, from, other);
      std::swap(from, other);
      left = step;
    }
    return from;
  }

 private:
  static Lines<T> at(const Lines<T>& x, std::int64_t i) { return {x.re + i, x.im + i}; }

  /// Element k of each part, combined from `Factor` elements that are `step` apart, and turned by
  /// the roots of unity for the next passes.
  template <int Factor>
  [[gnu::flatten]] void pass(std::int64_t parts, std::int64_t step, Lines<T> from,
                             Lines<T> to) const {
    const std::int64_t width = parts * lines_;
    const std::int64_t apart = step * width;
    for (std::int64_t k = 0; k < step; ++k) {
      const Lines<T> x = at(from, k * width);
      const Lines<T> y = at(to, Factor * k * width);
      T re[Factor];
      T im[Factor];
      for (int r = 1; r < Factor; ++r) {
        const auto root = static_cast<std::size_t>(parts * k * r);
        re[r] = plan_.roots.re[root];
        im[r] = plan_.roots.im[root];
      }
      each<T, A>(width, [&](auto vectors, std::int64_t i) {
        using V = decltype(vectors);
        using B = typename V::B;
        Pair<B> z[Factor];
        for (int j = 0; j < Factor; ++j) z[j] = V::load(x, i + j * apart);
        butterfly(z);
        V::store(y, i, z[0]);
        for (int r = 1; r < Factor; ++r) {
          V::store(y, i + r * width, z[r].times(B(re[r]), B(im[r])));
        }
      });
    }
  }

  template <class B>
  TYPEFLOW_INLINE static void butterfly(Pair<B> (&z)[2]) {
    const Pair<B> sum = z[0] + z[1];
    z[1] = z[0] - z[1];
    z[0] = sum;
  }
  template <class B>
  TYPEFLOW_INLINE static void butterfly(Pair<B> (&z)[3]) {
    constexpr T half = T(0.5);
    constexpr T sine = T(0.866025403784438646763723170752936183);  // of a third of a turn
    const Pair<B> sum = z[1] + z[2];
    const Pair<B> difference = (z[1] - z[2]).turned();
    const Pair<B> middle = {z[0].re - B(half) * sum.re, z[0].im - B(half) * sum.im};
    const Pair<B> side = {B(sine) * difference.re, B(sine) * difference.im};
    z[0] = z[0] + sum;
    z[1] = middle + side;
    z[2] = middle - side;
  }
  template <class B>
  TYPEFLOW_INLINE static void butterfly(Pair<B> (&z)[4]) {
    const Pair<B> even = z[0] + z[2];
    const Pair<B> even_difference = z[0] - z[2];
    const Pair<B> odd = z[1] + z[3];
    const Pair<B> odd_difference = (z[1] - z[3]).turned();
    z[0] = even + odd;
    z[1] = even_difference + odd_difference;
    z[2] = even - odd;
    z[3] = even_difference - odd_difference;
  }

  /// The same for a prime factor by the definition: element j and its mirror, factor - j, have
  /// conjugate roots.
  [[gnu::flatten]] void pass_of_prime(int factor, std::int64_t parts, std::int64_t step,
                                      Lines<T> from, Lines<T> to) const {
    const std::int64_t width = parts * lines_;
    const std::int64_t apart = step * width;
    const std::int64_t turn = plan_.length / factor;  // roots between those of the factor
    for (std::int64_t k = 0; k < step; ++k) {
      const Lines<T> x = at(from, k * width);
      const Lines<T> y = at(to, factor * k * width);
      each<T, A>(width, [&](auto vectors, std::int64_t i) {
        using V = decltype(vectors);
        using B = typename V::B;
        const Pair<B> first = V::load(x, i);
        Pair<B> all = first;
        for (int j = 1; j < factor; ++j) all = all + V::load(x, i + j * apart);
        V::store(y, i, all);
        for (int r = 1; 2 * r < factor; ++r) {
          Pair<B> middle = first;
          Pair<B> side{B(T(0)), B(T(0))};
          for (int j = 1; 2 * j < factor; ++j) {
            const Pair<B> a = V::load(x, i + j * apart);
            const Pair<B> b = V::load(x, i + (factor - j) * apart);
            const Pair<B> sum = a + b;
            const Pair<B> difference = (a - b).turned();
            const auto root = static_cast<std::size_t>(turn * (j * r % factor));
            const B cosine(plan_.roots.re[root]);
            const B sine(-plan_.roots.im[root]);
            middle = {middle.re + cosine * sum.re, middle.im + cosine * sum.im};
            side = {side.re + sine * difference.re, side.im + sine * difference.im};
          }
          const auto root = static_cast<std::size_t>(parts * k * r);
          const auto mirror = static_cast<std::size_t>(parts * k * (factor - r));
          V::store(y, i + r * width,
                   (middle + side).times(B(plan_.roots.re[root]), B(plan_.roots.im[root])));
          V::store(y, i + (factor - r) * width,
                   (middle - side).times(B(plan_.roots.re[mirror]), B(plan_.roots.im[mirror])));
        }
      });
    }
  }

  const Plan<T>& plan_;
  const std::int64_t lines_;
};

/// x_j *= factor_j for each element of all lines, and 0 for those from `count` on.
template <class T, class A>
[[gnu::flatten]] void multiply(const Parts<T>& factor, Lines<T> x, std::int64_t lines,
                               std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) {
    const T re = factor.re[static_cast<std::size_t>(j)];
    const T im = factor.im[static_cast<std::size_t>(j)];
    const Lines<T> line{x.re + j * lines, x.im + j * lines};
    each<T, A>(lines, [&](auto vectors, std::int64_t i) {
      using V = decltype(vectors);
      using B = typename V::B;
      V::store(line, i, V::load(line, i).times(B(re), B(im)));
    });
  }
}

/// Computes the first n + 1 elements of the transforms of lines of 2 n real numbers. y is the
/// transform of their pairs, taken for complex numbers: its symmetric part is the transform of the
/// numbers at even places, the rest that of the others.
template <class T, class A>
[[gnu::flatten]] void unfold_reals(const Plan<T>& plan, const Lines<T>& y, std::int64_t lines,
                                   const Lines<T>& to) {
  const std::int64_t n = plan.length;
  for (std::int64_t k = 0; k <= n; ++k) {
    const T x = plan.half_turns.re[static_cast<std::size_t>(k)];
    const T turn = plan.half_turns.im[static_cast<std::size_t>(k)];
    each<T, A>(lines, [&](auto vectors, std::int64_t i) {
      using V = decltype(vectors);
      using B = typename V::B;
      const Pair<B> a = V::load(y, k % n * lines + i);
      const Pair<B> mirror = V::load(y, (n - k) % n * lines + i);
      const Pair<B> b{mirror.re, -mirror.im};
      const Pair<B> even = a + b;
      const Pair<B> odd = (a - b).turned().times(B(x), B(turn));
      const Pair<B> sum = even + odd;
      V::store(to, k * lines + i, {B(T(0.5)) * sum.re, B(T(0.5)) * sum.im});
    });
  }
}

/// Transforms `from`, of `plan.length` elements of each of the lines. Both buffers have room for
/// plan.padded->length elements of each line, if there is one. Returns the buffer with the result.
template <class T, class A>
Lines<T> transform(const Plan<T>& plan, std::int64_t lines, Lines<T> from, Lines<T> other) {
  if (!plan.is_convolution()) return Passes<T, A>(plan, lines).run(from, other);
  const std::int64_t n = plan.length;
  const std::int64_t padded = plan.padded->length;
  multiply<T, A>(plan.chirp, from, lines, n);
  std::fill(from.re + n * lines, from.re + padded * lines, T(0));
  std::fill(from.im + n * lines, from.im + padded * lines, T(0));
  const Passes<T, A> passes(*plan.padded, lines);
  Lines<T> y = passes.run(from, other);
  if (y.re == other.re) std::swap(from, other);
  multiply<T, A>(plan.filter, y, lines, padded);
  // Real and imaginary parts exchanged, a forward transform is an inverse one.
  const Lines<T> back = passes.run({y.im, y.re}, {other.im, other.re});
  y = {back.im, back.re};
  multiply<T, A>(plan.chirp, y, lines, n);
  return y;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::signal
