// SPDX-License-Identifier: Apache-2.0
#pragma once

// The model of a linear support vector machine (support_vector_machine.hpp, which has the
// formulas): a pass over all examples is a scan.

#include <cstdint>
#include <tuple>
#include <utility>

#include "typeflow/control_flow.hpp"
#include "typeflow/typeflow.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

template <int features, class T>
constexpr void svm_model(Graph& g) {
  const auto x = placeholder<T, batch, features>(g, "x");
  const auto label = placeholder<std::int32_t, batch>(g, "label");
  const auto weight = placeholder<double, batch>(g, "weight");
  const auto dual = placeholder<double, batch>(g, "dual");
  const auto order = placeholder<std::int32_t, batch>(g, "order");
  const auto l1 = placeholder<double>(g, "l1");
  const auto l2 = placeholder<double>(g, "l2");
  const auto one = placeholder<double>(g, "one");  // the feature of the bias: 1, or 0 without bias
  auto v = variable<double, features>(g, "v", zeros(), false);
  auto b = variable<double>(g, "b", zeros(), false);
  auto weights = variable<double, features>(g, "w", zeros(), false);
  auto steps = variable<std::int64_t>(g, "steps", zeros(), false);

  const auto shrunk = [&](auto sums) { return sign(sums) * maximum(abs(sums) - l1 / l2, 0.0); };
  const auto wide = cast<double>(x);
  const auto score = (sum<1>(wide * weights) + b * one).named("score");  // (batch)
  cast<std::int32_t>(greater(score, 0.0)).named("class");
  const auto y = 2.0 * cast<double>(label) - 1.0;
  const auto losses = sum(weight * maximum(1.0 - y * score, 0.0));
  (losses / sum(weight)).named("loss");
  const auto correct = equal(greater(score, 0.0), greater(y, 0.0));
  (sum(weight * cast<double>(correct)) / sum(weight)).named("accuracy");
  const auto half = 0.5 * l2 * (sum(square(weights)) + square(b * one));
  (losses + l1 * sum(abs(weights)) + half).named("primal");
  (sum(dual) - half).named("objective");

  // One example after the other: the best a_i with all others given.
  struct Sums {
    Expr<double, Shape<features>> v;
    Expr<double, Shape<>> b;
  };
  const auto rows = gather(x, order);
  const auto norms = sum<1>(square(cast<double>(rows))) + square(one);
  const auto step = [&](Sums sums, auto example) {
    const auto [row, sign_of, most, norm, before] = example;
    const auto features_of = cast<double>(row);
    const auto margin = sign_of * (sum(features_of * shrunk(sums.v)) + sums.b * one);
    const auto best = before + (1.0 - margin) * l2 / norm;
    // An example without features has a constant loss, whose dual variable is at its bound.
    const auto after = where(greater(norm, 0.0), minimum(maximum(best, 0.0), most), most);
    const auto change = (after - before) * sign_of / l2;
    return std::pair(Sums{sums.v + change * features_of, sums.b + change * one}, after);
  };
  const auto [sums, duals] =
      scan(step, Sums{v, b},
           std::tuple(rows, gather(y, order), gather(weight, order), norms, gather(dual, order)));
  duals.named("duals");  // in the order of the pass
  group(assign(v, sums.v), assign(b, sums.b), assign(weights, shrunk(sums.v)), assign_add(steps, 1))
      .named("pass");
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
