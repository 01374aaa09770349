// SPDX-License-Identifier: Apache-2.0
#pragma once

// An embedding table as a layer: a learned vector for each id of a vocabulary.

#include <source_location>

#include "typeflow/nn/layer.hpp"
#include "typeflow/ops/index/embedding.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct EmbeddingLayerOptions {
  Initializer weights{};      ///< of W; without one, the scope's, or glorot_uniform
  Regularizer regularizer{};  ///< of W; without one, the scope's
};

/// A layer with weights W (Vocabulary,Width). It can be called many times, and makes its variable
/// once: tf::Embedding<10000, 128> words(g, "words"); words(ids).
template <Extent Vocabulary, Extent Width, Element T = float>
class Embedding {
 public:
  constexpr Embedding(Graph& graph, Label name, EmbeddingLayerOptions options = {},
                      std::source_location at = std::source_location::current()) {
    const Scope in(graph, name);
    weights_ = detail::layer_variable<T, Shape<Vocabulary, Width>>(graph, "W", options.weights,
                                                                   options.regularizer, at);
  }

  /// The rows of W for these ids. An id outside of [0, Vocabulary) is an error of the run. (I...)
  /// -> (I...,Width)
  template <TypedExpr I>
  constexpr auto operator()(const I& ids,
                            std::source_location at = std::source_location::current()) const {
    static_assert(detail::are_indices<I>, "embedding: the ids must be integers");
    return embedding_lookup(weights_, ids, at);
  }

  constexpr const Variable<T, Shape<Vocabulary, Width>>& weights() const { return weights_; }

 private:
  Variable<T, Shape<Vocabulary, Width>> weights_;
};

/// A layer used once: embedding<10000, 128>(g, "words", ids) has the variable words/W.
/// (I...) -> (I...,Width)
template <Extent Vocabulary, Extent Width, Element T = float, TypedExpr I>
constexpr auto embedding(Graph& graph, Label name, const I& ids, EmbeddingLayerOptions options = {},
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>,
                "embedding<vocabulary, width>(g, name, ids): the ids must be integers");
  const Embedding<Vocabulary, Width, T> layer(graph, name, options, at);
  const NameScope scope(graph, name);
  return layer(ids, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
