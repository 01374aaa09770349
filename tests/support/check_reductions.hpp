// SPDX-License-Identifier: Apache-2.0
#pragma once

// What reductions are tested against: functions of the list of elements that become one.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "support/check_values.hpp"

namespace test {

inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double inf = std::numeric_limits<double>::infinity();

using Elements = std::vector<double>;
using Fold = std::function<double(const Elements&)>;

inline tf::HostTensor folded(const tf::HostTensor& x, unsigned axes, bool keep, tf::DType type,
                             const Fold& f) {
  const tf::Dims kept = tf::reduced(x.dims, axes, true);
  std::vector<Elements> lists(static_cast<std::size_t>(tf::count_of(kept).coefficient));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::vector<std::int64_t> c = test::coordinates(i, x.dims);
    for (int axis = 0; axis < x.dims.rank; ++axis) {
      if ((axes >> axis & 1u) != 0) c[static_cast<std::size_t>(axis)] = 0;
    }
    lists[static_cast<std::size_t>(test::position(c, kept))].push_back(x.value(i));
  }
  tf::HostTensor y = tf::host_tensor(type, tf::reduced(x.dims, axes, keep));
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, f(lists[static_cast<std::size_t>(i)]));
  return y;
}

inline double sum_of(const Elements& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
inline double prod_of(const Elements& x) {
  return std::accumulate(x.begin(), x.end(), 1.0, [](double a, double b) { return a * b; });
}
inline double mean_of(const Elements& x) { return sum_of(x) / static_cast<double>(x.size()); }
inline double variance_of(const Elements& x) {
  const double mean = mean_of(x);
  double total = 0;
  for (const double e : x) total += (e - mean) * (e - mean);
  return total / static_cast<double>(x.size());
}
inline double squares_of(const Elements& x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}
inline double norm_of(const Elements& x) { return std::sqrt(squares_of(x)); }
inline double max_of(const Elements& x) {
  double best = -inf;
  for (const double e : x) {
    if (std::isnan(e)) return e;
    best = std::max(best, e);
  }
  return best;
}
inline double min_of(const Elements& x) {
  double best = inf;
  for (const double e : x) {
    if (std::isnan(e)) return e;
    best = std::min(best, e);
  }
  return best;
}
/// The first of the largest; 0 if all are NaN.
inline double argmax_of(const Elements& x) {
  std::size_t best = x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isnan(x[i]) && (best == x.size() || x[i] > x[best])) best = i;
  }
  return best == x.size() ? 0 : static_cast<double>(best);
}
inline double argmin_of(const Elements& x) {
  Elements negated;
  for (const double e : x) negated.push_back(-e);
  return argmax_of(negated);
}
inline double logsumexp_of(const Elements& x) {
  const double largest = max_of(x);
  if (std::isinf(largest) || std::isnan(largest)) return largest;
  double total = 0;
  for (const double e : x) total += std::exp(e - largest);
  return largest + std::log(total);
}
inline double any_of(const Elements& x) { return *std::max_element(x.begin(), x.end()); }
inline double all_of(const Elements& x) { return *std::min_element(x.begin(), x.end()); }

/// Random elements, of which some are equal.
inline tf::HostTensor tensor_with_ties(tf::DType type, const tf::Dims& shape) {
  test::Random random(17);
  tf::HostTensor x = tf::host_tensor(type, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.set(i, tf::is_floating(type)   ? random.below(60) * 0.0625 - 2
             : tf::is_unsigned(type) ? random.below(19)
                                     : random.below(19) - 9);
  }
  return x;
}

// Models and expectations: over all axes, the first, the last with keep_dims, and both of these.

#define TYPEFLOW_TEST_REDUCE(reduction)                       \
  reduction(x).named({#reduction, 0});                        \
  tf::reduction<0>(x).named({#reduction, 1});                 \
  tf::reduction<-1>(x, tf::keep_dims).named({#reduction, 2}); \
  tf::reduction<0, -1>(x).named({#reduction, 3});

inline constexpr bool keeps[] = {false, false, true, false};

inline void expect(Outcome& out, const std::string& name, const tf::HostTensor& x, tf::DType type,
                   const Fold& f, int first = 0, int last = 3) {
  const unsigned all = (1u << x.dims.rank) - 1;
  const unsigned end = 1u << (x.dims.rank - 1);
  const unsigned axes[] = {all, 1u, end, 1u | end};
  for (int i = first; i <= last; ++i) {
    out[name + '_' + std::to_string(i)] = folded(x, axes[i], keeps[i], type, f);
  }
}

}  // namespace test
