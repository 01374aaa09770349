// SPDX-License-Identifier: Apache-2.0
#pragma once

// Quantiles of mixtures. A header of its own, because they are loops, and distributions.hpp does
// without those.

#include <limits>
#include <tuple>

#include "typeflow/control_flow.hpp"
#include "typeflow/distributions/compound.hpp"

namespace typeflow::inline TYPEFLOW_ISA::distributions {

namespace detail {

/// The least x in [least, most] with mixture.cdf(x) >= p, to the rounding error of the interval's
/// length, or the least whole number.
template <class M, class L, class H, class P>
constexpr auto bisect(const M& mixture, const L& least, const H& most, const P& p) {
  const auto step = [&](auto, auto low, auto high) {
    const auto half = 0.5 * (low + high);
    const auto middle = M::is_continuous ? half : floor(half);
    const auto enough = greater_equal(mixture.cdf(middle), p);
    return std::tuple{where(enough, low, middle), where(enough, middle, high)};
  };
  constexpr int steps = std::numeric_limits<typename M::element>::digits + 8;
  // A whole number below all that count: the lower end of an interval is no candidate.
  const auto low = M::is_continuous ? least + 0 : least - 1;
  return std::get<1>(fori_loop(0, steps, step, std::tuple{low, most + 0}));
}

}  // namespace detail

/// What mixture.quantile(p) is: the least x whose cdf is at least p, found by bisection between the
/// least and the largest of the components' quantiles. NaN outside of [0, 1]. A continuous
/// mixture's has a gradient, by the implicit function theorem, but no second one; a discrete one's
/// has none. (p) -> (p+batch)
template <class C, AnyDistribution D, class P>
constexpr auto mixture_quantile(const MixtureSameFamily<C, D>& mixture, const P& p) {
  static_assert(D::event_shape::rank == 0,
                "MixtureSameFamily.quantile(p): only distributions of numbers have one");
  const auto level = mixture.value(p);
  const auto each = stop_gradient(mixture.components.quantile(expand_dims<-1>(level)));
  const auto most = max<-1>(each);
  const auto least = min<-1>(each);
  // Both ends may be the same infinity.
  const auto found =
      stop_gradient(where(equal(least, most), most, detail::bisect(mixture, least, most, level)));
  if constexpr (D::is_continuous) {
    const auto density = stop_gradient(mixture.prob(found));
    const auto smooth = logical_and(greater(density, 0), logical_not(is_inf(found)));
    const auto x = where(smooth, found, 0);
    // Its gradient is -(dF/dparameters) / (dF/dx), and its value is taken away again.
    const auto step = where(smooth, (level - mixture.cdf(x)) / where(smooth, density, 1), 0);
    return found + (step - stop_gradient(step));
  } else {
    return found;
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::distributions
