// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses over many classes. They compute the logits of the true classes and of a sample of the
// others, and read only these rows of the weights. So their gradients are sparse, and an
// optimiser's step costs as much as the number of candidates, not of classes.
//
// Sources: Gutmann and Hyvarinen, "Noise-contrastive estimation", AISTATS 2010; Jean et al.,
// arXiv:1412.2007; TensorFlow's nn_impl.py for the terms that are subtracted and averaged.

#include <limits>
#include <source_location>
#include <type_traits>

#include "typeflow/candidate_sampling/samplers.hpp"
#include "typeflow/ops/index/gather.hpp"
#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/concat.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Logits of the true classes, (B,T), and of the sampled ones, (B,S), minus the logarithm of their
/// expected counts.
struct CandidateLogits {
  AnyExpr of_true;
  AnyExpr of_drawn;
};

template <class Samples>
constexpr CandidateLogits candidate_logits(const AnyExpr& weights, const AnyExpr& biases,
                                           const AnyExpr& labels, const AnyExpr& inputs,
                                           const Samples& samples, bool remove_accidental_hits) {
  const Extent batch = inputs.dims()[0];
  const Extent width = inputs.dims()[1];
  const Extent count = labels.dims().rank == 2 ? labels.dims()[1] : 1;
  const Dims pairs{2, {batch, count}};
  const auto at = [&](const AnyExpr& x, const AnyExpr& ids) {
    return gather_node(x, ids, 0, 0, Indexing::candidates);
  };
  const AnyExpr classes = reshape_to(labels, pairs);
  const AnyExpr ids = samples.ids.any();
  const AnyExpr products =
      reshape_to(inputs, Dims{3, {batch, 1, width}}) * at(weights, classes);  // (B,T,D)
  const AnyExpr of_true =
      reduce<ops::Sum>(products, 4u, false) +
      (at(biases, classes) - log(reshape_to(samples.true_expected_count.any(), pairs)));
  AnyExpr of_drawn = matmul(inputs, at(weights, ids), false, true) +
                     (at(biases, ids) - log(samples.expected_count.any()));
  if (remove_accidental_hits) {
    const AnyExpr same =
        equal(cast_to(reshape_to(classes, Dims{3, {batch, count, 1}}), DType::int32),
              ids);  // (B,T,S)
    const double lowest = inputs.dtype() == DType::float64
                              ? std::numeric_limits<double>::lowest()
                              : static_cast<double>(std::numeric_limits<float>::lowest());
    of_drawn = where(reduce<ops::Any>(same, 2u, false), lowest / 4, of_drawn);
  }
  return {of_true, of_drawn};
}

template <class W, class B, class L, class X>
inline constexpr bool candidate_shapes_fit = [] {
  if constexpr (W::rank == 2 && B::rank == 1 && X::rank == 2 && (L::rank == 1 || L::rank == 2)) {
    return W::shape::dims.extent[0] == B::shape::dims.extent[0] &&
           W::shape::dims.extent[1] == X::shape::dims.extent[1] &&
           L::shape::dims.extent[0] == X::shape::dims.extent[0] &&
           !is_symbolic(W::shape::dims.extent[0]) && W::shape::dims.extent[0] > 0 &&
           (L::rank == 1 ||
            (!is_symbolic(L::shape::dims.extent[1]) && L::shape::dims.extent[1] > 0));
  } else {
    return false;
  }
}();
template <class W, class B, class X>
inline constexpr bool candidate_elements_fit =
    std::is_floating_point_v<typename W::element> && same_elements<W, B, X>;

/// The shape of one loss for each row.
template <class X>
struct RowsRule {
  static constexpr Dims value{1, {X::shape::dims.rank > 0 ? X::shape::dims.extent[0] : 0}};
};

template <TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X, class Samples>
constexpr auto nce_of(const W& weights, const B& biases, const L& labels, const X& inputs,
                      const Samples& samples, bool remove_accidental_hits,
                      const std::source_location& at) {
  mark(at, inputs);
  const CandidateLogits logits = candidate_logits(weights.any(), biases.any(), labels.any(),
                                                  inputs.any(), samples, remove_accidental_hits);
  const auto count = static_cast<double>(logits.of_true.dims()[1]);
  // The cross entropy between sigmoid(x) and a label z: softplus(x) - x z.
  const AnyExpr of_true = softplus(logits.of_true) - logits.of_true / count;
  const AnyExpr loss =
      reduce<ops::Sum>(of_true, 2u, false) + reduce<ops::Sum>(softplus(logits.of_drawn), 2u, false);
  return Expr<typename X::element, shape_of_t<RowsRule<X>>>(inputs.graph(), loss.id);
}

template <TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X, class Samples>
constexpr auto sampled_softmax_of(const W& weights, const B& biases, const L& labels,
                                  const X& inputs, const Samples& samples,
                                  bool remove_accidental_hits, const std::source_location& at) {
  mark(at, inputs);
  const CandidateLogits logits = candidate_logits(weights.any(), biases.any(), labels.any(),
                                                  inputs.any(), samples, remove_accidental_hits);
  const auto count = static_cast<double>(logits.of_true.dims()[1]);
  const AnyExpr parts[] = {logits.of_true, logits.of_drawn};
  const AnyExpr loss = reduce<ops::LogSumExp>(concat_to(parts, 1), 2u, false) -
                       reduce<ops::Sum>(logits.of_true, 2u, false) / count;
  return Expr<typename X::element, shape_of_t<RowsRule<X>>>(inputs.graph(), loss.id);
}

}  // namespace detail

/// The noise-contrastive loss of each row of inputs: nce_loss<64>(weights, biases, labels, inputs).
/// It is a sum of sigmoid cross entropies: the T true classes have the label 1 / T, S sampled
/// classes the label 0. The logit of a class is inputs . weights[class] + biases[class] -
/// log(expected count). log_uniform_candidate_sampler draws the classes, each at most once, so
/// classes should be sorted by frequency. (V,D) x (V) x (B,T) or (B) x (B,D) -> (B)
///
/// Use it for training; compute all logits to evaluate. Gradients of weights and biases are sparse.
/// With remove_accidental_hits, sampled classes that are true classes of the row are ignored. A
/// label outside of [0, V) is an Error of the run.
template <Extent S, TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X>
constexpr auto nce_loss(const W& weights, const B& biases, const L& labels, const X& inputs,
                        bool remove_accidental_hits = false, Label name = "",
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::candidate_shapes_fit<W, B, L, X>,
                "nce_loss<S>(weights, biases, labels, inputs): the shapes must be (V,D), (V), "
                "(B,T) or (B), and (B,D), V and T numbers");
  static_assert(detail::candidate_elements_fit<W, B, X>,
                "nce_loss<S>(weights, biases, labels, inputs): weights, biases and inputs must "
                "be float, or all double");
  static_assert(detail::are_indices<L>,
                "nce_loss<S>(weights, biases, labels, inputs): the labels must be integers");
  const auto samples = log_uniform_candidate_sampler<S, typename X::element>(
      labels, {.range = W::shape::dims.extent[0], .name = name}, at);
  return detail::nce_of(weights, biases, labels, inputs, samples, remove_accidental_hits, at);
}
/// The same with classes that a sampler drew for these labels.
template <TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X, TypedExpr I, TypedExpr C, TypedExpr D>
constexpr auto nce_loss(const W& weights, const B& biases, const L& labels, const X& inputs,
                        const CandidateSamples<I, C, D>& samples,
                        bool remove_accidental_hits = false,
                        std::source_location at = std::source_location::current()) {
  static_assert(detail::candidate_shapes_fit<W, B, L, X>,
                "nce_loss(weights, biases, labels, inputs, samples): the shapes must be (V,D), "
                "(V), (B,T) or (B), and (B,D), V and T numbers");
  static_assert(detail::candidate_elements_fit<W, B, X> && detail::same_elements<X, C, D>,
                "nce_loss(weights, biases, labels, inputs, samples): weights, biases, inputs and "
                "expected counts must be float, or all double");
  static_assert(detail::are_indices<L> && C::shape::dims == L::shape::dims,
                "nce_loss(weights, biases, labels, inputs, samples): the labels must be the "
                "integers that the samples were drawn for");
  return detail::nce_of(weights, biases, labels, inputs, samples, remove_accidental_hits, at);
}

/// The softmax cross entropy of each row of inputs over its true classes and S sampled ones:
/// sampled_softmax_loss<64>(weights, biases, labels, inputs). Each of the T true classes has the
/// label 1 / T. Logits and classes are those of nce_loss. (V,D) x (V) x (B,T) or (B) x (B,D) -> (B)
///
/// Use it for training: it underestimates the loss over all classes. Sampled classes that are true
/// classes of the row are ignored, unless remove_accidental_hits is false. Gradients of weights and
/// biases are sparse. A label outside of [0, V) is an Error of the run.
template <Extent S, TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X>
constexpr auto sampled_softmax_loss(const W& weights, const B& biases, const L& labels,
                                    const X& inputs, bool remove_accidental_hits = true,
                                    Label name = "",
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::candidate_shapes_fit<W, B, L, X>,
                "sampled_softmax_loss<S>(weights, biases, labels, inputs): the shapes must be "
                "(V,D), (V), (B,T) or (B), and (B,D), V and T numbers");
  static_assert(detail::candidate_elements_fit<W, B, X>,
                "sampled_softmax_loss<S>(weights, biases, labels, inputs): weights, biases and "
                "inputs must be float, or all double");
  static_assert(detail::are_indices<L>,
                "sampled_softmax_loss<S>(weights, biases, labels, inputs): the labels must be "
                "integers");
  const auto samples = log_uniform_candidate_sampler<S, typename X::element>(
      labels, {.range = W::shape::dims.extent[0], .name = name}, at);
  return detail::sampled_softmax_of(weights, biases, labels, inputs, samples,
                                    remove_accidental_hits, at);
}
/// The same with classes that a sampler drew for these labels.
template <TypedExpr W, TypedExpr B, TypedExpr L, TypedExpr X, TypedExpr I, TypedExpr C, TypedExpr D>
constexpr auto sampled_softmax_loss(const W& weights, const B& biases, const L& labels,
                                    const X& inputs, const CandidateSamples<I, C, D>& samples,
                                    bool remove_accidental_hits = true,
                                    std::source_location at = std::source_location::current()) {
  static_assert(detail::candidate_shapes_fit<W, B, L, X>,
                "sampled_softmax_loss(weights, biases, labels, inputs, samples): the shapes must "
                "be (V,D), (V), (B,T) or (B), and (B,D), V and T numbers");
  static_assert(detail::candidate_elements_fit<W, B, X> && detail::same_elements<X, C, D>,
                "sampled_softmax_loss(weights, biases, labels, inputs, samples): weights, biases, "
                "inputs and expected counts must be float, or all double");
  static_assert(detail::are_indices<L> && C::shape::dims == L::shape::dims,
                "sampled_softmax_loss(weights, biases, labels, inputs, samples): the labels must "
                "be the integers that the samples were drawn for");
  return detail::sampled_softmax_of(weights, biases, labels, inputs, samples,
                                    remove_accidental_hits, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
