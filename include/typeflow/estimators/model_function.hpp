// SPDX-License-Identifier: Apache-2.0
#pragma once

// Model functions of estimators: models that are told what they are built for.
//
//   constexpr void iris(tf::Graph& g, tf::ModeKeys mode) {
//     auto x = placeholder<float, tf::batch, 4>(g, "x");
//     auto logits = dense<3>(g, "logits", x);
//     argmax<1>(logits).named("class");
//     if (mode == tf::ModeKeys::infer) return;
//     auto label = placeholder<std::int32_t, tf::batch>(g, "label");
//     auto loss = mean(sparse_softmax_cross_entropy(logits, label)).named("loss");
//     tf::metrics::accuracy(g, "accuracy", argmax<1>(logits), label);
//     if (mode == tf::ModeKeys::train) tf::Adagrad{.rate = 0.1f}.minimize(loss).named("train");
//   }

#include <concepts>
#include <cstdint>

#include "typeflow/front/scope.hpp"
#include "typeflow/graph/graph.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The purpose for which a model function builds its graph.
enum class ModeKeys : std::uint8_t {
  train,  ///< steps of training: the effect "train" and the number "loss"; g.training() is true
  eval,   ///< evaluation: the number "loss", and metrics
  infer,  ///< predictions: the inputs have no labels
};

namespace detail {

template <auto F>
concept ModelOfMode = requires(Graph& g) { F(g, ModeKeys::train); };

/// The model of a mode. Evaluation and inference share the model of a function without a mode.
template <auto F, ModeKeys Keys>
constexpr void model_in_mode(Graph& g) {
  if constexpr (ModelOfMode<F>) {
    F(g, Keys);
  } else {
    F(g);
  }
}
template <auto F>
inline constexpr ModeKeys infer_keys = ModelOfMode<F> ? ModeKeys::infer : ModeKeys::eval;

}  // namespace detail

/// A model function: constexpr void f(tf::Graph&, tf::ModeKeys). One without a mode builds the same
/// graph for evaluation and inference, and may ask g.training().
template <auto F>
concept ModelFunction = detail::ModelOfMode<F> || requires(Graph& g) { F(g); };

}  // namespace typeflow::inline TYPEFLOW_ISA
