// SPDX-License-Identifier: Apache-2.0
#pragma once

// What transforms of one length have in common: its factors, roots of unity, and for lengths with
// a large prime factor the numbers of Bluestein's algorithm. A plan is made when a length is first
// met, and lives until the program ends, so a steady run makes none.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA::signal {

/// exp(-2 pi i k / n) for 0 <= k < n, by the sine and cosine of at most an eighth of a turn. So
/// roots that mirror each other are exact mirrors.
inline std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
  std::int64_t eighths = 8 * k;  // of a turn, times n
  const bool below = eighths > 4 * n;
  if (below) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const double angle = std::numbers::pi / 4 * static_cast<double>(eighths) / static_cast<double>(n);
  double x = std::cos(angle);
  double y = std::sin(angle);
  if (steep) std::swap(x, y);
  return {left ? -x : x, below ? y : -y};
}

/// Real and imaginary parts in arrays of their own.
template <class T>
struct Parts {
  std::vector<T> re;
  std::vector<T> im;

  explicit Parts(std::int64_t n = 0)
      : re(static_cast<std::size_t>(n)), im(static_cast<std::size_t>(n)) {}
  void set(std::int64_t i, std::complex<double> value) {
    re[static_cast<std::size_t>(i)] = static_cast<T>(value.real());
    im[static_cast<std::size_t>(i)] = static_cast<T>(value.imag());
  }
};

/// Larger prime factors take more operations than Bluestein's algorithm does.
inline constexpr std::int64_t largest_factor = 31;

template <class T>
struct Plan {
  std::int64_t length = 1;
  std::vector<int> factors;  ///< of the passes; none: Bluestein's algorithm, or a length of 1
  Parts<T> roots;            ///< (length), roots_k = exp(-2 pi i k / length)
  Parts<T> half_turns;       ///< (length + 1), exp(-pi i k / length): for twice as many reals

  // Bluestein: with j k = (j^2 + k^2 - (k - j)^2) / 2 a transform is a convolution, which
  // transforms of a power of two compute.
  const Plan* padded = nullptr;  ///< of that power, at least 2 length - 1
  Parts<T> chirp;                ///< (length), exp(-pi i j^2 / length)
  Parts<T> filter;               ///< the transform of the conjugate chirp, divided by its length

  const Plan* next = nullptr;  ///< in the list of all plans

  bool is_convolution() const { return padded != nullptr; }
};

/// The factors of passes: fours first, which need the fewest operations. None if a prime factor is
/// too large.
inline std::vector<int> factors_of(std::int64_t n) {
  std::vector<int> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (std::int64_t p = 2; p <= largest_factor; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(static_cast<int>(p));
  }
  if (n != 1) factors.clear();
  return factors;
}

/// Sum over j of x_j exp(-2 pi i j k / n) for n a power of two, by halves. Only plans need it.
inline std::vector<std::complex<double>> plain_transform(
    const std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  if (n == 1) return x;
  std::vector<std::complex<double>> even;
  std::vector<std::complex<double>> odd;
  for (std::size_t j = 0; j < n; j += 2) {
    even.push_back(x[j]);
    odd.push_back(x[j + 1]);
  }
  even = plain_transform(even);
  odd = plain_transform(odd);
  std::vector<std::complex<double>> y(n);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const auto turned =
        odd[k] * root_of_unity(static_cast<std::int64_t>(k), static_cast<std::int64_t>(n));
    y[k] = even[k] + turned;
    y[k + n / 2] = even[k] - turned;
  }
  return y;
}

template <class T>
class Plans {
 public:
  /// The plan for n >= 1. Any thread may ask. Allocates if no one has asked for n before.
  static const Plan<T>& of(std::int64_t n) {
    if (const Plan<T>* const known = find(n)) return *known;
    const Plan<T>* const padded =
        factors_of(n).empty() && n > 1
            ? &of(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1))))
            : nullptr;
    const std::lock_guard lock(adding_);
    if (const Plan<T>* const known = find(n)) return *known;
    auto plan = std::make_unique<Plan<T>>();
    plan->length = n;
    plan->padded = padded;
    if (padded != nullptr) {
      make_convolution(*plan);
    } else {
      plan->factors = factors_of(n);
      plan->roots = Parts<T>(n);
      for (std::int64_t k = 0; k < n; ++k) plan->roots.set(k, root_of_unity(k, n));
    }
    plan->half_turns = Parts<T>(n + 1);
    for (std::int64_t k = 0; k <= n; ++k) plan->half_turns.set(k, root_of_unity(k, 2 * n));
    plan->next = first_.load(std::memory_order_relaxed);
    const Plan<T>* const added = plan.release();  // threads may read it until the program ends
    first_.store(added, std::memory_order_release);
    return *added;
  }

 private:
  static const Plan<T>* find(std::int64_t n) {
    const Plan<T>* plan = first_.load(std::memory_order_acquire);
    while (plan != nullptr && plan->length != n) plan = plan->next;
    return plan;
  }
  static void make_convolution(Plan<T>& plan) {
    const std::int64_t n = plan.length;
    const std::int64_t m = plan.padded->length;
    plan.chirp = Parts<T>(n);
    std::vector<std::complex<double>> mirrored(static_cast<std::size_t>(m));
    std::int64_t square = 0;  // j^2 modulo 2 n
    for (std::int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
      const std::complex<double> chirp = root_of_unity(square, 2 * n);
      plan.chirp.set(j, chirp);
      const auto at = static_cast<std::size_t>(j);
      mirrored[at] = std::conj(chirp);
      mirrored[(static_cast<std::size_t>(m) - at) % static_cast<std::size_t>(m)] = std::conj(chirp);
    }
    const auto spectrum = plain_transform(mirrored);
    plan.filter = Parts<T>(m);
    for (std::int64_t k = 0; k < m; ++k) {
      plan.filter.set(k, spectrum[static_cast<std::size_t>(k)] / static_cast<double>(m));
    }
  }

  inline static std::atomic<const Plan<T>*> first_{nullptr};
  inline static std::mutex adding_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::signal
