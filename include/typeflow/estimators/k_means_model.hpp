// SPDX-License-Identifier: Apache-2.0
#pragma once

// The model of k-means (k_means.hpp). A step is one run of it: a product of points and centres, the
// nearest centre of each row of it, and sums over equal centres. Points and centres are shifted by
// the mean of the points, so that the product loses no digits of points that are far from 0.

#include <cstdint>

#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Points that k-means++ tries for each centre.
constexpr int k_means_candidates(int k) {
  int logarithm = 0;  // floor(ln k)
  for (double power = 2.718281828459045; power <= k; power *= 2.718281828459045) ++logarithm;
  return 2 + logarithm;
}

template <int k, int features, class T>
constexpr void k_means_model(Graph& g) {
  auto x = placeholder<T, batch, features>(g, "x");
  auto centers = variable<T, k, features>(g, "centers", zeros(), false);
  auto counts =
      variable<double, k>(g, "counts", zeros(), false);  // points that centres were moved by
  auto steps = variable<std::int64_t>(g, "steps", zeros(), false);
  auto shift = variable<T, features>(g, "shift", zeros(), false);

  const auto points = moments<0>(x);
  mean(cast<double>(points.variance)).named("variance");
  group(assign(shift, points.mean), assign(counts, 0), assign(steps, 0)).named("begin");

  const auto from = x - shift;  // (batch,features)
  const auto to = centers - shift;
  // |x - c|^2 = |x|^2 - 2 (x c - |c|^2 / 2)
  const auto nearness = matmul(from, transpose(to)) - T(0.5) * sum<1>(square(to));  // (batch,k)
  const auto nearest = argmax<1>(nearness).named("nearest");                        // (batch)
  const auto squares = sum<1>(squared_difference(x, gather(centers, nearest))).named("squares");
  sum(cast<double>(squares)).named("score");
  sqrt(sum<2>(squared_difference(expand_dims<1>(x), centers))).named("distances");  // (batch,k)

  // Each centre is the mean of all points that it was nearest to, or of those of this step if
  // `keep` is 0.
  const auto keep = placeholder<double>(g, "keep", 0.0);
  const auto sizes = bincount<k>(nearest).named("sizes");
  const auto before = keep * counts;
  const auto after = before + cast<double>(sizes);
  const auto sums = cast<double>(unsorted_segment_sum<k>(from, nearest));  // (k,features)
  const auto mean = (expand_dims<1>(before) * cast<double>(to) + sums) / expand_dims<1>(after);
  const auto moved = where(expand_dims<1>(equal(sizes, 0)), centers, cast<T>(mean) + shift);
  sum(cast<double>(squared_difference(moved, centers))).named("movement");
  group(assign(centers, moved), assign(counts, after), assign_add(steps, 1)).named("step");

  // k-means++: the sums of squared distances if one of the candidates becomes a centre.
  const auto candidates = placeholder<T, k_means_candidates(k), features>(g, "candidates");
  const auto so_far = placeholder<T, batch>(g, "so_far");
  const auto at = candidates - shift;
  const auto apart = expand_dims<1>(sum<1>(square(from))) + sum<1>(square(at)) -
                     T(2) * matmul(from, transpose(at));  // (batch,candidates)
  const auto lowered = minimum(expand_dims<1>(so_far), maximum(apart, T(0)));
  const auto best = argmin<0>(sum<0>(cast<double>(lowered))).named("best");  // ()
  gather<1>(lowered, best).named("lowered");                                 // (batch)
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
