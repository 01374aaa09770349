// SPDX-License-Identifier: Apache-2.0
#pragma once

// Derivatives along a direction and of higher order, against central differences.

#include <string>

#include "check_gradients.hpp"

namespace test {

/// Random feeds for all placeholders of a graph.
inline tf::HostTensors random_feeds_of(const tf::ir::Graph& g, double low, double high) {
  Random random(11);
  tf::HostTensors feeds;
  for (const tf::ir::Name& name : g.names) {
    if (name.kind != tf::ir::NameKind::placeholder) continue;
    feeds[std::string(g.text_of(name).view())] =
        random_tensor(random, g.dtype_of(name.value), g.dims_of(name.value), low, high);
  }
  return feeds;
}

/// jvp(f(x), x, v) against (f(x + hv) - f(x - hv)) / 2h.
template <class S, class F>
void check_jvp(const F& f, double low = -1, double high = 1) {
  tf::Graph g;
  auto x = tf::testing::detail::InputOf<S>::make(g, "x");
  auto v = tf::testing::detail::InputOf<S>::make(g, "v");
  auto y = f(x);
  y.named("y");
  jvp(y, x, v).named("dy");
  REQUIRE(tf::ir::verify(g).view() == "");
  tf::HostTensors feeds = random_feeds_of(g, low, high);
  tf::Interpreter interpreter(g);
  const tf::HostTensor dy = interpreter.run({"dy"}, feeds)[0];
  const tf::HostTensor at = feeds["x"];
  const double h = 1e-5;
  const auto moved = [&](double by) {
    for (std::int64_t i = 0; i < at.size(); ++i) {
      feeds["x"].set(i, at.value(i) + by * feeds["v"].value(i));
    }
    return interpreter.run({"y"}, feeds)[0];
  };
  const tf::HostTensor above = moved(h);
  const tf::HostTensor below = moved(-h);
  REQUIRE(dy.dims == above.dims);
  for (std::int64_t i = 0; i < dy.size(); ++i) {
    CHECK(dy.value(i) ==
          doctest::Approx((above.value(i) - below.value(i)) / (2 * h)).epsilon(1e-7));
  }
}

/// Checks the first, second and third derivative of f: each against differences of the one before.
template <class S, class F>
void check_orders(const F& f, Range range = {0.3, 1.5}) {
  const auto first = [&](auto x) { return gradients(sum(f(x)), x); };
  const auto second = [&](auto x) { return gradients(sum(square(first(x))), x); };
  check_gradients<S>(f, range, 1e-6);
  check_gradients<S>(first, range, 1e-6);
  check_gradients<S>(second, range, 1e-5);
}

}  // namespace test
