// SPDX-License-Identifier: Apache-2.0
#pragma once

// Entropies and quantiles of counts: Poisson, binomial and multinomial distributions.
//
// An entropy is the sum over the counts that matter, from the likeliest one to both sides. A
// distribution of large variance uses the asymptotic series instead, whose error is below 1e-12. A
// quantile is found by bisection of the distribution function. All compute in double for every
// element type, and are elementwise operations, so they fuse.

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "typeflow/ops/elementwise/incomplete_functions.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace math {

/// The variance, or mean, from which on the asymptotic series of entropies are used.
inline constexpr double many_counts = 1e4;

/// A mean over counts, and the logarithm of the sum of their weights.
struct CountMean {
  double mean;
  double log_total;
};
/// The mean of f(k, log w(k)) over the counts k from 0 to `most` with weights w. The weight of
/// `start`, which must be near the largest, is 1, and w(k + 1) / w(k) = exp(log_ratio(k)). Counts
/// whose weights are below e^-50 are left out.
template <class R, class F>
constexpr CountMean count_mean(double start, double most, const R& log_ratio, const F& f) {
  double rest = 0;  // of the total, without `start`
  double sum = f(start, 0.0);
  double log_w = 0;
  for (double k = start; k < most && (k == start || log_w > -50); ++k) {
    log_w += log_ratio(k);
    const double w = std::exp(log_w);
    rest += w;
    if (w > 0) sum += w * f(k + 1, log_w);
  }
  log_w = 0;
  for (double k = start; k > 0 && (k == start || log_w > -50); --k) {
    log_w -= log_ratio(k - 1);
    const double w = std::exp(log_w);
    rest += w;
    if (w > 0) sum += w * f(k - 1, log_w);
  }
  return {sum / (1 + rest), std::log1p(rest)};
}

/// The logarithm of the ratio of Poisson probabilities of k + 1 and k.
struct PoissonRatio {
  double rate;
  constexpr double operator()(double k) const { return std::log(rate / (k + 1)); }
};
/// The same of binomial probabilities. logit is log(p / (1 - p)).
struct BinomialRatio {
  double n;
  double logit;
  constexpr double operator()(double k) const { return std::log((n - k) / (k + 1)) + logit; }
};

/// The entropy of the Poisson distribution.
template <std::same_as<double> T>
constexpr T poisson_entropy(T rate) {
  if (!(rate >= 0)) return nan;
  if (rate == 0 || rate == infinity) return rate;
  if (rate >= many_counts) {
    const double r = 1 / rate;
    return 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * rate) -
           r * (1.0 / 12 + r * (1.0 / 24 + r * 19 / 360));
  }
  const CountMean m = count_mean(std::floor(rate), infinity, PoissonRatio{rate},
                                 [](double, double log_w) { return log_w; });
  return m.log_total - m.mean;
}
/// Its derivative: the mean of log((k + 1) / rate).
template <std::same_as<double> T>
constexpr T poisson_entropy_slope(T rate) {
  if (!(rate >= 0)) return nan;
  if (rate == 0) return infinity;
  if (rate == infinity) return 0;
  if (rate >= many_counts) {
    const double r = 1 / rate;
    return r * (0.5 + r * (1.0 / 12 + r * (1.0 / 12 + r * 19 / 120)));
  }
  return count_mean(std::floor(rate), infinity, PoissonRatio{rate},
                    [&](double k, double) { return std::log((k + 1) / rate); })
      .mean;
}

/// Whether x is the number of trials of a binomial distribution.
template <std::same_as<double> T>
constexpr bool is_count(T x) {
  return x >= 0 && x < infinity && x == std::floor(x);
}

/// The entropy of the binomial distribution of n trials with probability p = 1 / (1 + e^-logit).
template <std::same_as<double> T>
constexpr T binomial_entropy(T n, T logit) {
  const double x = -std::abs(logit);  // p and 1 - p give the same
  if (!is_count(n) || !(x <= 0)) return nan;
  if (n == 0 || x == -infinity) return 0;
  const double odds = std::exp(x);
  const double p = odds / (1 + odds);
  const double u = p / (1 + odds);  // p (1 - p)
  if (n * u >= many_counts) {
    return 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * n * u) -
           ((1 / u - 4) / 12 + ((1 / u - 4) / u + 2) / (24 * n)) / n;
  }
  const CountMean m = count_mean(std::fmin(std::floor((n + 1) * p), n), n, BinomialRatio{n, x},
                                 [](double, double log_w) { return log_w; });
  return m.log_total - m.mean;
}
/// Its derivative for logit: the covariance of k and -log(probability of k).
template <std::same_as<double> T>
constexpr T binomial_entropy_slope(T n, T logit) {
  const double x = -std::abs(logit);
  if (!is_count(n) || !(x <= 0)) return nan;
  if (n == 0 || x == 0 || x == -infinity) return 0;
  const double sign = logit > 0 ? -1 : 1;
  const double odds = std::exp(x);
  const double p = odds / (1 + odds);
  const double u = p / (1 + odds);
  if (n * u >= many_counts) {
    return sign * (1 - 2 * p) * (0.5 + (1 / (12 * u) + (1 / u - 2) / (12 * u * n)) / n);
  }
  const double mean = n * p;
  return -sign * count_mean(std::fmin(std::floor((n + 1) * p), n), n, BinomialRatio{n, x},
                            [&](double k, double log_w) { return (k - mean) * log_w; })
                     .mean;
}

/// A class' share of the entropy of a multinomial distribution: the mean of -log(probability of k
/// in the Poisson distribution of mean n p) over the counts k of n trials with probability p. A
/// multinomial vector is one of independent Poisson counts whose sum is n, so its entropy is the
/// sum of the shares of all classes, without that of a class of p = 1.
template <std::same_as<double> T>
constexpr T multinomial_share(T n, T p) {
  if (!is_count(n) || !(p >= 0 && p <= 1)) return nan;
  const double mean = n * p;
  if (mean == 0) return 0;
  const double q = 1 - p;
  if (mean >= many_counts) {
    return 0.5 * (std::log(2 * std::numbers::pi * mean) + q) +
           ((1 - q - q * q) / 12 - q * q / (24 * mean)) / mean;
  }
  const auto information = [&](double k, double) {
    return k == 0 ? mean : -log_gamma_front(k, mean);
  };
  if (q == 0) return information(n, 0.0);
  return count_mean(std::fmin(std::floor((n + 1) * p), n), n,
                    BinomialRatio{n, std::log(p) - std::log1p(-p)}, information)
      .mean;
}
/// Its derivative for p: n times the mean of log((k + 1) / (n p)) over the counts of n - 1 trials.
template <std::same_as<double> T>
constexpr T multinomial_share_slope(T n, T p) {
  if (!is_count(n) || !(p >= 0 && p <= 1)) return nan;
  if (n == 0) return 0;
  if (p == 0) return infinity;
  const double mean = n * p;
  const double q = 1 - p;
  if (mean >= many_counts) {
    return (0.5 - ((1 - q - q * q) / 12 - q * q / (12 * mean)) / mean) / p - 0.5 +
           ((1 + 2 * q) / 12 + q / (12 * mean)) / mean;
  }
  const auto growth = [&](double k, double) { return std::log((k + 1) / mean); };
  if (q == 0) return n * growth(n - 1, 0.0);
  return n * count_mean(std::fmin(std::floor(mean), n - 1), n - 1,
                        BinomialRatio{n - 1, std::log(p) - std::log1p(-p)}, growth)
                 .mean;
}

/// The smallest whole number k >= 0 with reaches(k), which is false below some number and true from
/// it on; `most` if none below it does. Begins beside `guess`.
template <class F>
constexpr double first_count(double guess, double most, const F& reaches) {
  double low = -1;
  double high = std::fmin(std::fmax(std::floor(guess), 0), most);
  double step = 1;
  if (high < most && !reaches(high)) {
    do {
      low = high;
      high = std::fmin(high + step, most);
      step *= 2;
    } while (high < most && !reaches(high));
  } else {
    for (; high > 0; step *= 2) {
      const double below = std::fmax(high - step, 0);
      if (!reaches(below)) {
        low = below;
        break;
      }
      high = below;
    }
  }
  for (;;) {
    const double middle = low + std::floor((high - low) / 2);
    if (!(middle > low && middle < high)) return high;
    (reaches(middle) ? high : low) = middle;
  }
}

/// About where a distribution of this mean and variance reaches the probability p.
template <std::same_as<double> T>
constexpr T rough_count(T mean, T variance, T p) {
  // Abramowitz and Stegun, 26.2.22
  const double t = std::sqrt(-2 * std::log(std::fmax(std::fmin(p, 1 - p), 1e-300)));
  const double z = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + t * 0.04481));
  return mean + (p < 0.5 ? -z : z) * std::sqrt(variance);
}

/// The smallest count whose Poisson distribution function, as a V, is at least p.
template <class V>
constexpr double poisson_quantile(double rate, V p) {
  const double level = static_cast<double>(p);
  if (!(rate >= 0 && rate < infinity) || !(level >= 0 && level <= 1)) return nan;
  if (rate == 0 || level == 0) return 0;
  if (level == 1) return infinity;
  return first_count(rough_count(rate, rate, level), infinity, [&](double k) {
    return static_cast<double>(static_cast<V>(igammac(k + 1, rate))) >= level;
  });
}
/// The smallest count whose binomial distribution function, of n trials that succeed with
/// probability p and fail with q, is, as a V, at least `least`.
template <class V>
constexpr double binomial_quantile(double n, double p, double q, V least) {
  const double level = static_cast<double>(least);
  if (!is_count(n) || !(p >= 0 && q >= 0 && q <= 1) || !(level >= 0 && level <= 1)) return nan;
  if (n == 0 || p == 0 || level == 0) return 0;
  if (q == 0 || level == 1) return n;
  return first_count(rough_count(n * p, n * p * q, level), n, [&](double k) {
    const double below =
        p >= 0.5 ? betainc(n - k, k + 1, q) : incomplete_beta<true>(k + 1, n - k, p);
    return static_cast<double>(static_cast<V>(below)) >= level;
  });
}

}  // namespace math

namespace ops {

/// The derivative of a Poisson distribution's entropy for its rate. It has no gradient.
struct PoissonEntropyGrad : special {
  static constexpr std::string_view name = "PoissonEntropyGrad";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V rate) const {
    return static_cast<V>(math::poisson_entropy_slope(static_cast<double>(rate)));
  }
};
struct PoissonEntropy : special {
  static constexpr std::string_view name = "PoissonEntropy";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V rate) const {
    return static_cast<V>(math::poisson_entropy(static_cast<double>(rate)));
  }
  static constexpr AnyExpr gradient(PoissonEntropy, auto rate, auto, auto dy) {
    return dy * detail::apply_untyped(PoissonEntropyGrad{}, rate);
  }
};

/// The derivative of a binomial distribution's entropy for its logit. It has no gradient.
struct BinomialEntropyGrad : special {
  static constexpr std::string_view name = "BinomialEntropyGrad";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V n, V logit) const {
    return static_cast<V>(
        math::binomial_entropy_slope(static_cast<double>(n), static_cast<double>(logit)));
  }
};
/// Its gradient stops at n, which is a whole number.
struct BinomialEntropy : special {
  static constexpr std::string_view name = "BinomialEntropy";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V n, V logit) const {
    return static_cast<V>(
        math::binomial_entropy(static_cast<double>(n), static_cast<double>(logit)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(BinomialEntropy, auto n, auto logit, auto,
                                                   auto dy) {
    return {AnyExpr{}, dy * detail::apply_untyped(BinomialEntropyGrad{}, n, logit)};
  }
};

/// The derivative of MultinomialShare for p. It has no gradient.
struct MultinomialShareGrad : special {
  static constexpr std::string_view name = "MultinomialShareGrad";
  static constexpr int flops = 2000;
  template <class V>
  constexpr V operator()(V n, V p) const {
    return static_cast<V>(
        math::multinomial_share_slope(static_cast<double>(n), static_cast<double>(p)));
  }
};
/// A class' share of a multinomial distribution's entropy. Its gradient stops at n.
struct MultinomialShare : special {
  static constexpr std::string_view name = "MultinomialShare";
  static constexpr int flops = 2000;
  template <class V>
  constexpr V operator()(V n, V p) const {
    return static_cast<V>(math::multinomial_share(static_cast<double>(n), static_cast<double>(p)));
  }
  static constexpr std::array<AnyExpr, 2> gradient(MultinomialShare, auto n, auto p, auto,
                                                   auto dy) {
    return {AnyExpr{}, dy * detail::apply_untyped(MultinomialShareGrad{}, n, p)};
  }
};

/// The smallest count whose Poisson distribution function is at least p. No gradient: it is
/// constant between its steps.
struct PoissonQuantile : special {
  static constexpr std::string_view name = "PoissonQuantile";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V rate, V p) const {
    return static_cast<V>(math::poisson_quantile(static_cast<double>(rate), p));
  }
  static constexpr std::array<AnyExpr, 2> gradient(PoissonQuantile, auto, auto, auto, auto) {
    return {};
  }
};
/// The same of a binomial distribution of n trials, which succeed with probability p and fail with
/// q.
struct BinomialQuantile : special {
  static constexpr std::string_view name = "BinomialQuantile";
  static constexpr int flops = 1000;
  template <class V>
  constexpr V operator()(V n, V p, V q, V least) const {
    return static_cast<V>(math::binomial_quantile(static_cast<double>(n), static_cast<double>(p),
                                                  static_cast<double>(q), least));
  }
  static constexpr std::array<AnyExpr, 4> gradient(BinomialQuantile, auto, auto, auto, auto, auto,
                                                   auto) {
    return {};
  }
};

}  // namespace ops

}  // namespace typeflow::inline TYPEFLOW_ISA
