// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pipelines: stages of a model on devices of their own, through which the parts of a batch go one
// behind another.
//
//   auto pipe = tf::pipeline<4>(g, tf::PipelineOrder::one_forward_one_backward, x, y,
//       [&](auto x) { return relu(dense<256>(g, "first", x)); },
//       [&](auto h, auto y) { return mean(softmax_cross_entropy(dense<10>(g, "last", h), y)); });
//   pipe.loss().named("loss");
//   minimize(tf::Adam{}, pipe.gradients()).named("train");
//
// A device would take its parts in any order that data allows. So each stage has a resource without
// content, PipelineStage: an effect on it follows each part's computation on the stage, and the
// next one's input comes after that effect. Resources are the host's, so a stage on a GPU has a
// variable of the session instead, which stays as it is.

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/parallel/data_parallel.hpp"
#include "typeflow/resources/kernels.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The order of the work of a stage. Both are right for any number of parts, and a device is idle
/// for the same share of the time, (S - 1) / (M + S - 1) with S stages and M parts, if all stages
/// take equally long.
enum class PipelineOrder {
  all_forward_then_backward,  ///< GPipe (Huang et al., 2019): a stage keeps M parts' activations
  one_forward_one_backward,   ///< PipeDream-flush (Narayanan et al., 2021): of S parts at most
};

/// How stages work, and where they are.
struct PipelineOptions {
  PipelineOrder order = PipelineOrder::one_forward_one_backward;
  int first_device = 0;               ///< stage s is on cpu(first_device + s)
  DeviceKind kind = DeviceKind::cpu;  ///< DeviceKind::gpu: stage s is on gpu(first_device + s)
};

/// The place of a stage's effects; it has no content.
struct PipelineStage {
  static constexpr std::string_view name = "PipelineStage";
};

namespace ops {

/// Happens when its inputs are computed.
struct PartDone : resource_operation<PipelineStage> {
  static constexpr std::string_view name = "PartDone";
  static constexpr int flops = 0;
  static void compute(PartDone, PipelineStage&, const cpu_kernels::Tensor*,
                      const cpu_kernels::Tensor*, const KernelCall&) {}
};
/// The same for a stage on a GPU, whose first input is a variable that it leaves alone.
struct PartDoneOnGpu : update {
  static constexpr std::string_view name = "PartDoneOnGpu";
  static constexpr int flops = 0;
  static constexpr bool only_orders = true;
  template <class Call>
  static void interpret(Call&) {}
};

}  // namespace ops

namespace cpu_kernels {

template <>
struct kernel_of<ops::PartDoneOnGpu> {
  template <class A>
  static void run(const ops::PartDoneOnGpu&, const Tensor*, const Tensor*, const KernelCall&) {}
};

}  // namespace cpu_kernels

namespace detail {

/// One step of a stage's work.
struct PipelineStep {
  int stage;
  int part;
  bool forward;
};

/// The number-th step of a stage's work.
constexpr PipelineStep pipeline_step(PipelineOrder order, int stages, int parts, int stage,
                                     int number) {
  if (order == PipelineOrder::all_forward_then_backward) {
    return number < parts ? PipelineStep{stage, number, true}
                          : PipelineStep{stage, number - parts, false};
  }
  const int ahead = stages - 1 - stage < parts ? stages - 1 - stage : parts;
  if (number < ahead) return {stage, number, true};
  const int pair = (number - ahead) / 2;
  const bool forward = (number - ahead) % 2 == 0;
  if (number >= 2 * parts - ahead) return {stage, number - parts, false};
  return {stage, forward ? ahead + pair : pair, forward};
}

/// All steps, each after those that it needs.
template <int Stages, int Parts>
constexpr std::array<PipelineStep, 2 * Stages * Parts> pipeline_steps(PipelineOrder order) {
  std::array<PipelineStep, 2 * Stages * Parts> steps{};
  std::size_t size = 0;
  int next[Stages] = {};
  bool forward[Stages][Parts] = {};
  bool backward[Stages][Parts] = {};
  while (size < steps.size()) {
    for (int s = 0; s < Stages; ++s) {
      if (next[s] == 2 * Parts) continue;
      const PipelineStep step = pipeline_step(order, Stages, Parts, s, next[s]);
      const bool ready =
          step.forward ? s == 0 || forward[s - 1][step.part]
                       : forward[s][step.part] && (s == Stages - 1 || backward[s + 1][step.part]);
      if (!ready) continue;
      (step.forward ? forward : backward)[s][step.part] = true;
      steps[size++] = step;
      ++next[s];
    }
  }
  return steps;
}

/// The activations between stages: what stage S gets.
template <class X, class Y, class... F>
struct StageInputs;
template <class X, class Y, class Last>
struct StageInputs<X, Y, Last> {
  using inputs = std::tuple<X>;
  using loss = std::invoke_result_t<const Last&, X, Y>;
};
template <class X, class Y, class First, class Second, class... F>
struct StageInputs<X, Y, First, Second, F...> {
  using output = std::invoke_result_t<const First&, X>;
  using after =
      StageInputs<Expr<typename output::element, typename output::shape>, Y, Second, F...>;
  using inputs = decltype(std::tuple_cat(std::declval<std::tuple<X>>(),
                                         std::declval<typename after::inputs>()));
  using loss = typename after::loss;
};

/// A pipeline while it is traced.
template <int Parts, class X, class Y, class... F>
class PipelineBuilder {
 public:
  static constexpr int stages = static_cast<int>(sizeof...(F));
  using Types = StageInputs<X, Y, F...>;
  using T = typename Types::loss::element;

  constexpr PipelineBuilder(Graph& g, const PipelineOptions& options,
                            const std::tuple<const F&...>& f, const std::array<X, Parts>& x,
                            const std::array<Y, Parts>& y)
      : g_(g), graph_(g), options_(options), f_(f), x_(x), y_(y) {
    for (Id& done : done_) done = none;
  }

  constexpr void run() {
    for (const PipelineStep& step : pipeline_steps<stages, Parts>(options_.order)) {
      [&]<std::size_t... S>(std::index_sequence<S...>) {
        (void)((static_cast<int>(S) == step.stage && (add<S>(step), true)) || ...);
      }(std::make_index_sequence<sizeof...(F)>{});
    }
  }

  std::array<Expr<T>, Parts> losses{};
  Gradients gradients{};

 private:
  template <std::size_t S>
  constexpr void add(const PipelineStep& step) {
    const Device device(options_.kind, options_.first_device + static_cast<int>(S));
    const NameScope in(g_, "stage", static_cast<int>(S));
    const DeviceGuard pin(graph_, device);
    if (step.part == 0 && step.forward) {
      const Label name("pipeline_stage", static_cast<int>(S));
      stage_[S] =
          is_on_gpu() ? state<float>(g_, name).id() : resource<PipelineStage>(g_, name).id();
    }
    step.forward ? add_forward<S>(step.part) : add_backward<S>(step.part);
  }

  constexpr bool is_on_gpu() const { return options_.kind == DeviceKind::gpu; }
  /// x, once the stage's last step is done.
  template <std::size_t S>
  constexpr AnyExpr in_order(const AnyExpr& x) {
    return done_[S] == none ? x : after_node(x, done_[S]);
  }
  template <std::size_t S>
  constexpr void finish(const Pool<Id>& results) {
    Pool<Id> inputs;
    for (int first = 0; first < results.size(); first += max_arity - 1) {
      inputs.clear();
      inputs.push(stage_[S]);
      for (int k = first; k < results.size() && k < first + max_arity - 1; ++k) {
        inputs.push(results[k]);
      }
      const Effect done = is_on_gpu()
                              ? effect_node(g_, ops::PartDoneOnGpu{}, inputs.data(), inputs.size())
                              : effect_node(g_, ops::PartDone{}, inputs.data(), inputs.size());
      done_[S] = done.token();
    }
  }

  template <std::size_t S>
  constexpr void add_forward(int part) {
    const std::size_t m = static_cast<std::size_t>(part);
    using Input = std::tuple_element_t<S, typename Types::inputs>;
    AnyExpr given{};
    if constexpr (S == 0) {
      given = x_[m].any();
    } else {
      given = {&graph_, output_[S - 1][m]};
    }
    const Input x(g_, in_order<S>(given).id);
    input_[S][m] = x.id();
    const Id known = graph_.variable_records.size();
    if (part == 0) of_stage_[S].first = variables_.size();
    {
      const TowerScope in(g_, {"part", part}, part == 0 ? Reuse::inherit : Reuse::reuse);
      if constexpr (static_cast<int>(S) + 1 == stages) {
        losses[m] = std::get<S>(f_)(x, y_[m]);
        output_[S][m] = losses[m].id();
      } else {
        output_[S][m] = std::get<S>(f_)(x).id();
      }
    }
    if (part > 0) {
      check_shared(graph_, known, "pipeline<M>(g, order, x, y, f...)", part);
    } else {
      for (Id i = known; i < graph_.variable_records.size(); ++i) {
        if (!graph_.variable_records[i].trainable) continue;
        variables_.push(i);
        sums_.push(none);
        ++of_stage_[S].count;
      }
    }
    Pool<Id> results;
    results.push(output_[S][m]);
    finish<S>(results);
  }

  template <std::size_t S>
  constexpr void add_backward(int part) {
    const std::size_t m = static_cast<std::size_t>(part);
    AnyExpr dy{};
    if constexpr (static_cast<int>(S) + 1 == stages) {
      dy = setting(graph_, Scalar(1.0 / Parts), dtype_of<T>);
    } else {
      dy = {&graph_, slope_[S + 1][m]};
    }
    Pool<Id> from;
    Pool<Id> weights;
    Pool<Id> to;
    from.push(output_[S][m]);
    weights.push(in_order<S>(dy).id);
    const ir::Range mine = of_stage_[S];
    for (int k = 0; k < mine.count; ++k) {
      to.push(graph_.variable_records[variables_[mine.first + k]].value);
    }
    if constexpr (S > 0) to.push(input_[S][m]);
    const Pool<Id> slopes = gradients_of(graph_, from, weights, to);
    Pool<Id> results;
    if constexpr (S > 0) {
      slope_[S][m] = slopes[slopes.size() - 1];
      if (slope_[S][m] == none) return fail_unreached(graph_, input_[S][m]);
      results.push(slope_[S][m]);
    }
    for (int k = 0; k < mine.count; ++k) {
      if (slopes[k] == none) continue;
      Id& sum = sums_[mine.first + k];
      const AnyExpr slope{&graph_, slopes[k]};
      sum = sum == none ? slope.id : (AnyExpr{&graph_, sum} + slope).id;
      if (slices_of({&graph_, sum}).empty()) results.push(sum);
    }
    if (!results.empty()) finish<S>(results);
    if (part + 1 < Parts) return;
    for (int k = mine.first; k < mine.first + mine.count; ++k) {
      if (sums_[k] != none) gradients.items.push(GradientRecord{variables_[k], sums_[k]});
    }
  }

  Graph& g_;
  ir::Graph& graph_;
  const PipelineOptions& options_;
  const std::tuple<const F&...>& f_;
  const std::array<X, Parts>& x_;
  const std::array<Y, Parts>& y_;
  Id stage_[sizeof...(F)] = {};
  Id done_[sizeof...(F)] = {};
  Id input_[sizeof...(F)][Parts] = {};
  Id output_[sizeof...(F)][Parts] = {};
  Id slope_[sizeof...(F)][Parts] = {};  // the gradients for the inputs
  // (Lists of all stages: of an array of lists, nvcc 13 destroys the first one alone.)
  Pool<Id> variables_;
  Pool<Id> sums_;  // by variable: the gradients of the parts so far
  ir::Range of_stage_[sizeof...(F)] = {};
};

}  // namespace detail

/// A pipelined model of M parts.
template <int M, Element T = float>
class Pipeline {
 public:
  constexpr Pipeline(const std::array<Expr<T>, M>& losses, const Gradients& gradients)
      : losses_(losses), gradients_(gradients) {}

  /// The loss of the batch: the mean of the parts' losses.
  constexpr Expr<T> loss() const {
    Expr<T> sum = losses_[0];
    for (std::size_t m = 1; m < M; ++m) sum = sum + losses_[m];
    return sum * (1.0 / M);
  }
  /// The gradients of that loss for the stages' trainable variables. Each is summed over the parts
  /// on its stage's device.
  constexpr const Gradients& gradients() const { return gradients_; }

 private:
  std::array<Expr<T>, M> losses_;
  Gradients gradients_;
};

/// Divides a batch into M equal parts, which go through the stages f... one behind another. Stage s
/// is on cpu(s), with its variables and their updates; {.kind = DeviceKind::gpu} in place of the
/// order puts it on gpu(s). The first stage gets a part of x, the others what the one before
/// returns, a tensor; the last gets a part of y, too, and returns the mean loss, a scalar. Each
/// device works in the given order.
///
/// x and y have the same rows: a number that M divides, or k*batch with a k that M divides. A stage
/// uses only variables that it declares itself, by tf::variable or a layer.
template <int M, TypedExpr X, TypedExpr Y, class... F>
constexpr auto pipeline(Graph& g, const PipelineOptions& options, const X& x, const Y& y,
                        const F&... f) {
  constexpr bool has_stages = M > 0 && sizeof...(F) > 0;
  static_assert(has_stages,
                "pipeline<M>(g, order, x, y, f...): M must be 1 or more, and one stage "
                "or more is needed");
  constexpr bool same =
      detail::rows_of<X>() != no_extent && detail::rows_of<X>() == detail::rows_of<Y>();
  static_assert(same,
                "pipeline<M>(g, order, x, y, f...): x and y must have the same number of rows");
  constexpr bool divisible =
      same && has_stages && factor_of(detail::rows_of<X>()) % (M > 0 ? M : 1) == 0;
  static_assert(divisible || !same,
                "pipeline<M>(g, order, x, y, f...): M must divide the rows; of a batch axis, "
                "k*batch, its k, as placeholder<float, M * tf::batch, ...>");
  if constexpr (divisible) {
    const auto xs = split<M, 0>(x);
    const auto ys = split<M, 0>(y);
    using Builder = detail::PipelineBuilder<M, typename decltype(xs)::value_type,
                                            typename decltype(ys)::value_type, F...>;
    using Loss = typename Builder::Types::loss;
    static_assert(TypedExpr<Loss> && Loss::rank == 0,
                  "pipeline<M>(g, order, x, y, f...): the last stage must return a scalar loss; "
                  "take mean(loss)");
    const std::tuple<const F&...> stages(f...);
    Builder builder(g, options, stages, xs, ys);
    builder.gradients.graph = &g;
    builder.run();
    return Pipeline<M, typename Loss::element>(builder.losses, builder.gradients);
  }
}
template <int M, TypedExpr X, TypedExpr Y, class... F>
constexpr auto pipeline(Graph& g, PipelineOrder order, const X& x, const Y& y, const F&... f) {
  return pipeline<M>(g, PipelineOptions{.order = order}, x, y, f...);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
