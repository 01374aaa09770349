// SPDX-License-Identifier: Apache-2.0

// What candidate samplers and the losses over them refuse.

#include "typeflow/candidate_sampling/losses.hpp"
#include "typeflow/candidate_sampling/unigram.hpp"
#include "typeflow/graph.hpp"

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto W = tf::placeholder<float, 12, 3>(g, "W");
  auto b = tf::placeholder<float, 12>(g, "b");
  auto short_b = tf::placeholder<float, 11>(g, "short_b");
  auto wide_b = tf::placeholder<double, 12>(g, "wide_b");
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  auto none = tf::placeholder<float, tf::batch>(g, "none");
  auto others = tf::placeholder<std::int32_t, tf::batch, 2>(g, "others");
  tf::nce_loss<5>(W, b, labels, x).named("right");
  auto samples = tf::log_uniform_candidate_sampler<5>(labels, {.range = 12});
  auto wide = tf::log_uniform_candidate_sampler<5, double>(labels, {.range = 12});
  sampled_softmax_loss(W, b, labels, x, samples).named("right, too");
#ifndef CORRECTED
  // clang-format off
  tf::log_uniform_candidate_sampler<0>(labels, {.range = 12});                // error: log_uniform_candidate_sampler<S>(true_classes): S must be a number from 1 on
  tf::log_uniform_candidate_sampler<5, std::int32_t>(labels, {.range = 12});  // error: log_uniform_candidate_sampler<S, T>(true_classes): T must be float or double
  tf::log_uniform_candidate_sampler<5>(x, {.range = 12});                     // error: log_uniform_candidate_sampler<S>(true_classes): the classes must be integers
  tf::uniform_candidate_sampler<tf::batch>(labels, {.range = 12});            // error: uniform_candidate_sampler<S>(true_classes): S must be a number from 1 on
  tf::uniform_candidate_sampler<5, std::int32_t>(labels, {.range = 12});      // error: uniform_candidate_sampler<S, T>(true_classes): T must be float or double
  tf::uniform_candidate_sampler<5>(x, {.range = 12});                         // error: uniform_candidate_sampler<S>(true_classes): the classes must be integers
  tf::nce_loss<5>(W, short_b, labels, x);                                     // error: nce_loss<S>(weights, biases, labels, inputs): the shapes must be (V,D), (V), (B,T) or (B), and (B,D), V and T numbers
  tf::nce_loss<5>(W, wide_b, labels, x);                                      // error: nce_loss<S>(weights, biases, labels, inputs): weights, biases and inputs must be float, or all double
  tf::nce_loss<5>(W, b, none, x);                                             // error: nce_loss<S>(weights, biases, labels, inputs): the labels must be integers
  nce_loss(W, short_b, labels, x, samples);                                   // error: nce_loss(weights, biases, labels, inputs, samples): the shapes must be (V,D), (V), (B,T) or (B), and (B,D), V and T numbers
  nce_loss(W, b, labels, x, wide);                                            // error: nce_loss(weights, biases, labels, inputs, samples): weights, biases, inputs and expected counts must be float, or all double
  nce_loss(W, b, others, x, samples);                                         // error: nce_loss(weights, biases, labels, inputs, samples): the labels must be the integers that the samples were drawn for
  tf::sampled_softmax_loss<5>(W, short_b, labels, x);                         // error: sampled_softmax_loss<S>(weights, biases, labels, inputs): the shapes must be (V,D), (V), (B,T) or (B), and (B,D), V and T numbers
  tf::sampled_softmax_loss<5>(W, wide_b, labels, x);                          // error: sampled_softmax_loss<S>(weights, biases, labels, inputs): weights, biases and inputs must be float, or all double
  tf::sampled_softmax_loss<5>(W, b, none, x);                                 // error: sampled_softmax_loss<S>(weights, biases, labels, inputs): the labels must be integers
  sampled_softmax_loss(W, short_b, labels, x, samples);                       // error: sampled_softmax_loss(weights, biases, labels, inputs, samples): the shapes must be (V,D), (V), (B,T) or (B), and (B,D), V and T numbers
  sampled_softmax_loss(W, b, labels, x, wide);                                // error: sampled_softmax_loss(weights, biases, labels, inputs, samples): weights, biases, inputs and expected counts must be float, or all double
  sampled_softmax_loss(W, b, others, x, samples);                             // error: sampled_softmax_loss(weights, biases, labels, inputs, samples): the labels must be the integers that the samples were drawn for
  tf::fixed_unigram_candidate_sampler<0>(labels, b);                          // error: fixed_unigram_candidate_sampler<S>(true_classes, weights): S must be a number from 1 on
  tf::fixed_unigram_candidate_sampler<5, std::int32_t>(labels, b);            // error: fixed_unigram_candidate_sampler<S, T>(true_classes, weights): T must be float or double
  tf::fixed_unigram_candidate_sampler<5>(x, b);                               // error: fixed_unigram_candidate_sampler<S>(true_classes, weights): the classes must be integers
  tf::fixed_unigram_candidate_sampler<5>(labels, W);                          // error: fixed_unigram_candidate_sampler<S>(true_classes, weights): the weights must be real numbers, one for each class
  tf::learned_unigram_candidate_sampler<0, 9>(g, "a", labels);                // error: learned_unigram_candidate_sampler<S, V>(g, name, true_classes): S and V must be numbers from 1 on
  tf::learned_unigram_candidate_sampler<5, 9, std::int32_t>(g, "b", labels);  // error: learned_unigram_candidate_sampler<S, V, T>(g, name, true_classes): T must be float or double
  tf::learned_unigram_candidate_sampler<5, 9>(g, "c", x);                     // error: learned_unigram_candidate_sampler<S, V>(g, name, true_classes): the classes must be integers
  tf::all_candidate_sampler<0>(labels);                                       // error: all_candidate_sampler<S>(true_classes): S must be a number from 1 on
  tf::all_candidate_sampler<5, std::int32_t>(labels);                         // error: all_candidate_sampler<S, T>(true_classes): T must be float or double
  tf::all_candidate_sampler<5>(x);                                            // error: all_candidate_sampler<S>(true_classes): the classes must be integers
  // clang-format on
#endif
}
