// SPDX-License-Identifier: Apache-2.0
#pragma once

// A loop over constants in which the type changes from step to step, where a plain `for` is
// impossible:
//
//   auto h = fold<Stage{64, 3}, Stage{128, 4}>(x, [&]<Stage S>(auto in) {
//     return stage<S>(g, in);
//   });

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {
template <auto First, auto... Rest, class X, class F>
constexpr auto fold_from(const X& x, F& f) {
  const auto next = f.template operator()<First>(x);
  if constexpr (sizeof...(Rest) == 0) {
    return next;
  } else {
    return fold_from<Rest...>(next, f);
  }
}
}  // namespace detail

/// f<Last>(...f<Second>(f<First>(start))).
template <auto... Items, class X, class F>
constexpr auto fold(const X& start, F&& f) {
  if constexpr (sizeof...(Items) == 0) {
    return start;
  } else {
    return detail::fold_from<Items...>(start, f);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
