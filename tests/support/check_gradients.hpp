// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gradients against central differences, in double, both computed by the interpreter.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "host_tensors.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/graph/interpret.hpp"

namespace test {

/// Where inputs are drawn from. None is closer than 0.05 to 0, where relu and abs have a kink.
struct Range {
  double low = -2;
  double high = 2;
};

namespace detail {

template <class S>
struct Placeholder;
template <tf::Extent... D>
struct Placeholder<tf::Shape<D...>> {
  static auto make(tf::Graph& g, tf::Label name) { return tf::placeholder<double, D...>(g, name); }
};

inline tf::HostTensor draw(Random& random, const tf::Dims& shape, Range range) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    double x = 0;
    while (std::abs(x) < 0.05) x = random.uniform(range.low, range.high);
    out.set(i, x);
  }
  return out;
}

/// Compares the gradients dx_0, dx_1... of "loss" for x_0, x_1..., in the graph as it is and
/// simplified. "w" is fed, too.
inline void compare(tf::Graph& g, Range range, double tolerance) {
  REQUIRE(tf::verify(g).view() == "");
  Random random(1);
  tf::HostTensors feeds;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  tf::Pool<tf::Id> roots;
  for (const tf::Name& name : g.names) {
    roots.push(name.value);
    if (name.kind != tf::NameKind::placeholder) continue;
    const std::string text(g.text_of(name).view());
    feeds[text] = draw(random, g.dims_of(name.value), text == "w" ? Range{} : range);
    if (text == "w") continue;
    inputs.push_back(text);
    outputs.push_back("d" + text);
  }

  tf::Interpreter interpreter(g);
  const auto loss_of = [&] { return interpreter.run({"loss"}, feeds)[0].value(0); };
  const std::vector<tf::HostTensor> computed = interpreter.run(outputs, feeds);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(inputs[i]);
    tf::HostTensor& x = feeds[inputs[i]];
    REQUIRE(computed[i].dims == x.dims);
    for (std::int64_t k = 0; k < x.size(); ++k) {
      CAPTURE(k);
      const double here = x.value(k);
      const double h = 1e-5;
      x.set(k, here + h);
      const double above = loss_of();
      x.set(k, here - h);
      const double below = loss_of();
      x.set(k, here);
      CHECK(computed[i].value(k) ==
            doctest::Approx((above - below) / (2 * h)).epsilon(tolerance).scale(1));
    }
  }

  const tf::Simplified simplified = simplify(tf::Graph(g), roots);
  REQUIRE(tf::verify(simplified).view() == "");
  const std::vector<tf::HostTensor> after =
      tf::Interpreter(simplified.graph, simplified.order, simplified.map).run(outputs, feeds);
  for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(difference(computed[i], after[i]) < 1e-12);
}

template <class... S, class F, std::size_t... I>
void trace(tf::Graph& g, const F& f, std::index_sequence<I...>) {
  const std::tuple x{Placeholder<S>::make(g, tf::Label("x", static_cast<int>(I)))...};
  const auto y = f(std::get<I>(x)...);
  using Y = std::remove_cvref_t<decltype(y)>;
  // Any weights make a scalar of y whose gradient has no symmetry to hide behind.
  const auto loss = sum(y * Placeholder<typename Y::shape>::make(g, "w")).named("loss");
  const auto dx = gradients(loss, std::get<I>(x)...);
  if constexpr (sizeof...(S) == 1) {
    dx.named({"dx", 0});
  } else {
    (std::get<I>(dx).named({"dx", static_cast<int>(I)}), ...);
  }
}

}  // namespace detail

/// Checks the gradients of f(x...) for each of its inputs, tensors of double of the shapes S.
template <class... S, class F>
void check_gradients(const F& f, Range range = {}, double tolerance = 1e-7) {
  tf::Graph g;
  detail::trace<S...>(g, f, std::index_sequence_for<S...>());
  detail::compare(g, range, tolerance);
}

}  // namespace test
