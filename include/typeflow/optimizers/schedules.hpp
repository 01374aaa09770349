// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rates that depend on the number of the step, as TensorFlow's, and the variable that counts steps:
//
//   auto step = global_step(g);
//   auto rate = exponential_decay(step, {.rate = 0.1, .steps = 1000, .decay = 0.96});
//   tf::GradientDescent{.rate = rate}.minimize(loss, step).named("train");
//
// The step is a scalar of any number type, usually the count of steps taken before. Schedules
// compute in double and give floats.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <source_location>

#include "typeflow/front/scope.hpp"
#include "typeflow/ops/elementwise/binary.hpp"
#include "typeflow/ops/elementwise/math.hpp"
#include "typeflow/ops/elementwise/rounding.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The variable "global_step" (int64, initially 0, not trained). Made if the model has none yet.
/// minimize(loss, global_step(g)) increments it.
constexpr Variable<std::int64_t> global_step(
    Graph& g, std::source_location at = std::source_location::current()) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  constexpr Type type = Expr<std::int64_t>::type;
  const Id found = graph.find_name(graph.path_hash(0, "global_step", true));
  if (found != none && graph.type_of(graph.names[found].value) == type) {
    return {g, graph.names[found].value};
  }
  const Id scope = graph.scope;
  graph.scope = 0;  // the model's own, wherever this is called
  const Id id = detail::get_variable(graph, "global_step", type, zeros(), false, false);
  graph.scope = scope;
  return {g, id};
}

namespace detail {

constexpr AnyExpr in_double(const AnyExpr& x) { return cast_to(x, DType::float64); }

template <TypedExpr Step>
constexpr Expr<float> rate_at(const Step& step, const AnyExpr& rate) {
  static_assert(Step::rank == 0 && is_number(Step::type.dtype) && !is_complex(Step::type.dtype),
                "a schedule of a step: the step must be a scalar number");
  return {step.graph(), cast_to(rate, DType::float32).id};
}

/// step / steps. 0 steps are a mistake of the model.
constexpr AnyExpr part_of(const AnyExpr& step, double steps) {
  if (!(steps > 0)) {
    Message message{};
    step.graph->fail(message << "a schedule of a step: its steps must be more than 0");
  }
  return in_double(step) / steps;
}

/// The same; with staircase, rounded down to a whole number.
constexpr AnyExpr part_of(const AnyExpr& step, double steps, bool staircase) {
  const AnyExpr part = part_of(step, steps);
  return staircase ? floor(part) : part;
}

/// (1 + cos(pi part)) / 2. (Not cos(...): its type is deduced, which for clang depends on that of
/// sin(...).)
constexpr AnyExpr half_wave(const UntypedExpr auto& part) {
  return 0.5 * (1 + apply_untyped(ops::Cos{}, std::numbers::pi * part));
}

}  // namespace detail

struct ExponentialDecay {
  Scalar rate = 0.1;
  double steps = 1;  ///< after which the rate is decay times what it was
  double decay = 0.96;
  bool staircase = false;  ///< only after whole multiples of `steps`
};
/// rate * decay^(step / steps)
template <TypedExpr Step>
constexpr Expr<float> exponential_decay(const Step& step, const ExponentialDecay& o) {
  const AnyExpr x = step.any();
  const AnyExpr start = setting(*x.graph, o.rate, DType::float64);
  return detail::rate_at(step, start * pow(o.decay, detail::part_of(x, o.steps, o.staircase)));
}
/// rate * exp(-decay * step / steps)
template <TypedExpr Step>
constexpr Expr<float> natural_exp_decay(const Step& step, const ExponentialDecay& o) {
  const AnyExpr x = step.any();
  const AnyExpr start = setting(*x.graph, o.rate, DType::float64);
  return detail::rate_at(step, start * exp(-o.decay * detail::part_of(x, o.steps, o.staircase)));
}
/// rate / (1 + decay * step / steps)
template <TypedExpr Step>
constexpr Expr<float> inverse_time_decay(const Step& step, const ExponentialDecay& o) {
  const AnyExpr x = step.any();
  const AnyExpr start = setting(*x.graph, o.rate, DType::float64);
  return detail::rate_at(step, start / (1 + o.decay * detail::part_of(x, o.steps, o.staircase)));
}

/// values[0] up to and including step boundaries[0], then values[1] up to boundaries[1]..., and the
/// last value behind the last boundary: piecewise_constant(step, {1000, 2000}, {0.1, 0.01, 0.001}).
/// Boundaries must rise; otherwise they are a mistake of the model.
template <TypedExpr Step, std::size_t N, std::size_t M>
constexpr Expr<float> piecewise_constant(const Step& step, const double (&boundaries)[N],
                                         const double (&values)[M]) {
  static_assert(M == N + 1,
                "piecewise_constant(step, boundaries, values): one value more is needed than there "
                "are boundaries");
  const AnyExpr now = detail::in_double(step.any());
  for (std::size_t i = 1; i < N; ++i) {
    if (boundaries[i - 1] < boundaries[i]) continue;
    Message message{};
    now.graph->fail(
        message << "piecewise_constant(step, boundaries, values): each boundary must be "
                   "more than the one before it");
  }
  AnyExpr rate = detail::literal_node(*now.graph, DType::float64, values[M - 1]);
  for (std::size_t i = N; i-- > 0;) rate = where(less_equal(now, boundaries[i]), values[i], rate);
  return detail::rate_at(step, rate);
}

struct PolynomialDecay {
  Scalar rate = 0.1;
  double steps = 1;
  double end = 0.0001;  ///< the rate after `steps`
  double power = 1;
  bool cycle = false;  ///< at `end`, goes up again and on for as many steps
};
/// (rate - end) * (1 - t / steps)^power + end with t = min(step, steps). With cycle, t = step, and
/// steps is multiplied by the smallest whole number >= 1 with which it reaches t.
template <TypedExpr Step>
constexpr Expr<float> polynomial_decay(const Step& step, const PolynomialDecay& o) {
  const AnyExpr part = detail::part_of(step.any(), o.steps);
  const AnyExpr done = o.cycle ? part / maximum(ceil(part), 1) : minimum(part, 1);
  const AnyExpr start = setting(*part.graph, o.rate, DType::float64);
  return detail::rate_at(step, (start - o.end) * pow(1 - done, o.power) + o.end);
}

struct CosineDecay {
  Scalar rate = 0.1;
  double steps = 1;
  double least = 0;  ///< the smallest rate, as a part of `rate` (TensorFlow's alpha)
};
/// rate * ((1 - least) * (1 + cos(pi t / steps)) / 2 + least) with t = min(step, steps).
template <TypedExpr Step>
constexpr Expr<float> cosine_decay(const Step& step, const CosineDecay& o) {
  const AnyExpr done = minimum(detail::part_of(step.any(), o.steps), 1);
  const AnyExpr wave = detail::half_wave(done);
  const AnyExpr start = setting(*done.graph, o.rate, DType::float64);
  return detail::rate_at(step, start * ((1 - o.least) * wave + o.least));
}

struct CosineRestarts {
  Scalar rate = 0.1;
  double steps = 1;   ///< of the first period
  double longer = 2;  ///< each period is so many times as long as the one before, 1 at least
  double lower = 1;   ///< and starts at so many times its rate
  double least = 0;   ///< the smallest rate, as a part of `rate`
};
/// Cosine decay that restarts after each period (Loshchilov and Hutter, 2017). In period i = 0,
/// 1..., of which a part f is over: rate * ((1 - least) * lower^i * (1 + cos(pi f)) / 2 + least).
template <TypedExpr Step>
constexpr Expr<float> cosine_decay_restarts(const Step& step, const CosineRestarts& o) {
  const AnyExpr part = detail::part_of(step.any(), o.steps);  // in first periods
  constexpr double rounding = 1e-9;  // of the logarithms, where a period begins
  AnyExpr period = floor(part);
  AnyExpr done = part - period;
  if (o.longer != 1) {
    const AnyExpr longer = detail::literal_node(*part.graph, DType::float64, o.longer);
    period = floor(log(1 + part * (o.longer - 1)) / log(longer) + rounding);
    const AnyExpr length = pow(o.longer, period);
    done = (part - (length - 1) / (o.longer - 1)) / length;
  }
  const AnyExpr wave = pow(o.lower, period) * detail::half_wave(done);
  const AnyExpr start = setting(*part.graph, o.rate, DType::float64);
  return detail::rate_at(step, start * ((1 - o.least) * wave + o.least));
}

/// rate * min(step / steps, 1): rises from 0 to the rate, a number or another schedule.
template <TypedExpr Step>
constexpr Expr<float> linear_warmup(const Step& step, const Scalar& rate, double steps) {
  const AnyExpr done = minimum(detail::part_of(step.any(), steps), 1);
  return detail::rate_at(step, setting(*done.graph, rate, DType::float64) * done);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
