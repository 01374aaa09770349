// SPDX-License-Identifier: Apache-2.0
#pragma once

// The transforms of convolutions by fewer multiplications (S. Winograd; A. Lavin and S. Gray, Fast
// Algorithms for Convolutional Neural Networks, 2016).
//
// Along an axis, the sums of `taps` weights times 6 pixels, at 7 - taps places, are coefficients of
// a product of polynomials. They follow from its values at 6 points: values of the pixels times
// those of the weights. In two axes there are 36 such products, where plain sums take
// (7 - taps)^2 taps^2: 100 for 5 taps, 144 for 3.
//
// The points are 0, 1, -1, 1/2, -2 and infinity. Of such small numbers they have the smallest
// rounding errors.

#include <array>
#include <cstddef>
#include <type_traits>

#include "typeflow/cpu/lanes.hpp"
#include "typeflow/cpu/unrolled.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

/// The rows of the matrices for N weights, 6 x N, and for N results, N x 6.
struct WinogradMatrices {
  static constexpr int points = 6;
  static constexpr int last = points - 1;  ///< the point at infinity
  static constexpr double point[] = {0, 1, -1, 0.5, -2, 0};
  /// A point's kth power of N; at infinity, only the highest one counts.
  static constexpr double power(int p, int k, int n) {
    if (p == last) return k == n - 1 ? 1 : 0;
    double y = 1;
    for (int i = 0; i < k; ++i) y *= point[p];
    return y;
  }

  template <int I, int N>
  struct Weights {
    static constexpr int size = N;
    static constexpr std::array<double, N> row = [] {
      double distances = 1;
      for (int p = 0; p < last && I < last; ++p) distances *= p == I ? 1 : point[I] - point[p];
      std::array<double, N> c{};
      for (int k = 0; k < N; ++k) c[static_cast<std::size_t>(k)] = power(I, k, N) / distances;
      return c;
    }();
  };
  template <int I, int N>
  struct Results {
    static constexpr int size = points;
    static constexpr std::array<double, points> row = [] {
      std::array<double, points> c{};
      for (int p = 0; p < points; ++p) c[static_cast<std::size_t>(p)] = power(p, I, N);
      return c;
    }();
  };
};

/// The transforms of squares: along both axes, for vectors of elements.
template <class T, class A>
struct WinogradTransforms {
  using M = WinogradMatrices;
  using B = xsimd::batch<T, A>;
  static constexpr int points = M::points;

  /// Calls to(y, x, value) for the 36 points of 6 x 6 pixels of(y, x).
  template <class Of, class To>
  TYPEFLOW_INLINE static void pixels(const Of& of, const To& to) {
    B columns[points][points];
    unrolled<points>([&](auto x) TYPEFLOW_INLINE_LAMBDA {
      pixels_of_line([&](auto y) TYPEFLOW_INLINE_LAMBDA { return of(y, x); },
                     [&](auto y, const B& v) TYPEFLOW_INLINE_LAMBDA { columns[y][x] = v; });
    });
    unrolled<points>([&](auto y) TYPEFLOW_INLINE_LAMBDA {
      pixels_of_line([&](auto x) TYPEFLOW_INLINE_LAMBDA { return columns[y][x]; },
                     [&](auto x, const B& v) TYPEFLOW_INLINE_LAMBDA { to(y, x, v); });
    });
  }
  /// The same of N x N weights.
  template <int N, class Of, class To>
  TYPEFLOW_INLINE static void weights(const Of& of, const To& to) {
    square<N, points, Weights<N>::template Row>(of, to);
  }
  /// Calls to(y, x, value) for the N x N results of 36 products.
  template <int N, class Of, class To>
  TYPEFLOW_INLINE static void results(const Of& of, const To& to) {
    square<points, N, Results<N>::template Row>(of, to);
  }

 private:
  template <int N>
  struct Weights {
    template <int I>
    using Row = M::Weights<I, N>;
  };
  template <int N>
  struct Results {
    template <int I>
    using Row = M::Results<I, N>;
  };

  /// A row of the matrix has the coefficients of the product of x - p over all finite points p but
  /// its own. They share (x - 1/2) (x + 2) = x^2 + 3/2 x - 1, or (x - 1) (x + 1) = x^2 - 1.
  template <class Of, class To>
  TYPEFLOW_INLINE static void pixels_of_line(const Of& of, const To& to) {
    B d[points];
    unrolled<points>([&](auto k) TYPEFLOW_INLINE_LAMBDA { d[k] = of(k); });
    B e[4];
    unrolled<4>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      e[k] = cpu_kernels::fma(B(T(1.5)), d[k + 1], d[k + 2] - d[k]);
    });
    const B f = d[3] - d[1];
    const B g = d[4] - d[2];
    to(std::integral_constant<int, 0>{}, e[2] - e[0]);
    to(std::integral_constant<int, 1>{}, e[2] + e[1]);
    to(std::integral_constant<int, 2>{}, e[2] - e[1]);
    to(std::integral_constant<int, 3>{}, cpu_kernels::fma(B(T(2)), f, g));
    to(std::integral_constant<int, 4>{}, cpu_kernels::fma(B(T(-0.5)), f, g));
    to(std::integral_constant<int, 5>{}, e[3] - e[1]);
  }

  template <int From, int To, template <int> class Rows, class Of, class Put>
  TYPEFLOW_INLINE static void square(const Of& of, const Put& put) {
    B columns[To][From];
    unrolled<From>([&](auto x) TYPEFLOW_INLINE_LAMBDA {
      B column[From];
      unrolled<From>([&](auto y) TYPEFLOW_INLINE_LAMBDA { column[y] = of(y, x); });
      unrolled<To>([&](auto y)
                       TYPEFLOW_INLINE_LAMBDA { columns[y][x] = product<Rows<y()>>(column); });
    });
    unrolled<To>([&](auto y) TYPEFLOW_INLINE_LAMBDA {
      unrolled<To>([&](auto x)
                       TYPEFLOW_INLINE_LAMBDA { put(y, x, product<Rows<x()>>(columns[y])); });
    });
  }

  /// A row times a column.
  template <class Row>
  TYPEFLOW_INLINE static B product(const B (&column)[Row::size]) {
    B sum;
    unrolled<Row::size>([&](auto k) TYPEFLOW_INLINE_LAMBDA {
      constexpr std::size_t at = k();
      constexpr double c = Row::row[at];
      if constexpr (c != 0) {
        constexpr bool is_first = [] {
          for (std::size_t i = 0; i < at; ++i) {
            if (Row::row[i] != 0) return false;
          }
          return true;
        }();
        const B x = column[at];
        if constexpr (is_first) {
          sum = c == 1 ? x : c == -1 ? -x : B(T(c)) * x;
        } else {
          sum = c == 1 ? sum + x : c == -1 ? sum - x : cpu_kernels::fma(B(T(c)), x, sum);
        }
      }
    });
    return sum;
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
