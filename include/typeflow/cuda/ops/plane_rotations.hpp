// SPDX-License-Identifier: Apache-2.0
#pragma once

// Jacobi's rotations of pairs of columns, of which a round has one for each pair.

#include <cmath>
#include <cstdint>
#include <limits>

#include "typeflow/cuda/matrices.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels {

/// The most rounds over all pairs.
inline constexpr int most_sweeps = 60;

/// Pair i of a round: of an even number of players each one meets each other one once in `players`
/// - 1 rounds. (The last one stays where it is while the others go round.)
struct Pair {
  int p;
  int q;

  TYPEFLOW_DEVICE Pair(int i, int round, int players) {
    const int ring = players - 1;
    const int one = i == 0 ? ring : (round + i) % ring;
    const int other = (round + ring - i) % ring;
    p = one < other ? one : other;
    q = one < other ? other : one;
  }
};

/// The rotation that makes pq zero: x := c x - s y, y := s x + c y. It has tau = s / (1 + c)
/// instead of c, whose rounding small angles do not survive. Source: Rutishauser, The Jacobi method
/// for real symmetric matrices, 1966.
template <class T>
struct PlaneRotation {
  T s = T(0);
  T tau = T(0);

  TYPEFLOW_DEVICE PlaneRotation(T pp, T pq, T qq) {
    const T theta = (qq - pp) / (T(2) * pq);
    const T t =
        (theta < T(0) ? T(-1) : T(1)) / (magnitude(theta) + std::sqrt(theta * theta + T(1)));
    const T c = T(1) / std::sqrt(t * t + T(1));
    s = t * c;
    tau = s / (T(1) + c);
  }
  TYPEFLOW_DEVICE PlaneRotation(T its_s, T its_tau) : s(its_s), tau(its_tau) {}
  TYPEFLOW_DEVICE void turn(T& x, T& y) const {
    const T before = x;
    x -= s * (y + tau * before);
    y += s * (before - tau * y);
  }
};

/// The place of value j of n in ascending or descending order; equal ones keep theirs.
template <class T>
TYPEFLOW_DEVICE int place_in_order(const T* values, int j, int n, bool ascending) {
  int before = 0;
  for (int i = 0; i < n; ++i) {
    const bool first = ascending ? values[i] < values[j] : values[i] > values[j];
    before += first || (values[i] == values[j] && i < j);
  }
  return before;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::cuda_kernels
