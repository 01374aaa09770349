// SPDX-License-Identifier: Apache-2.0
#pragma once

// Beam search of fixed width, as part of a model. One scan keeps the best partial sentences of each
// sample; a second one, backwards, puts their words together. Source: Sutskever et al.,
// arXiv:1409.3215; the length penalty is that of Wu et al., arXiv:1609.08144, equation 14.

#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include <typeflow/control_flow.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/typeflow.hpp>

namespace examples {

namespace tf = typeflow;

/// Partial sentences while they grow.
template <tf::Extent Samples, tf::Extent Width>
struct Beams {
  template <class T>
  using Each = tf::Expr<T, tf::Shape<Samples, Width>>;

  Each<std::int32_t> word;      // the last word
  Each<float> log_probability;  // the sum of the words'
  Each<float> length;           // in words, including the end
  Each<bool> finished;          // whether the last word is the end
};

/// The result of a beam search; each sample's best sentence comes first.
template <tf::Extent Steps, tf::Extent Samples, tf::Extent Width>
struct Found {
  tf::Expr<std::int32_t, tf::Shape<Steps, Samples, Width>>
      words;  // behind an end all words are ends
  tf::Expr<float, tf::Shape<Samples, Width>> scores;
};

/// The log-probability of a sentence over ((5 + length) / 6)^alpha, by which sentences are
/// compared.
constexpr auto score_of(const auto& log_probability, const auto& length, float alpha) {
  return log_probability / pow((length + 5.0f) / 6.0f, alpha);
}

/// Log-probabilities: 0 where a condition is true, minus infinity elsewhere.
constexpr auto sure(const auto& condition) {
  return where(condition, tf::constant<float>(condition.graph(), 0.0f),
               -std::numeric_limits<float>::infinity());
}

/// The initial beams: one has the probability 1, and all words of the first step follow it.
template <tf::Extent Samples, tf::Extent Width>
constexpr Beams<Samples, Width> first_beams(tf::Graph& g, std::int32_t first) {
  const auto is_first = equal(tf::range<std::int32_t, Width>(g, 0, 1), 0);
  const auto one_row = sure(is_first);
  return {tf::fill<Samples, Width>(tf::constant<std::int32_t>(g, first)),
          tf::broadcast_to<Samples, Width>(one_row), tf::zeros<float, Samples, Width>(g),
          tf::fill<Samples, Width>(tf::constant<bool>(g, false))};
}

/// The best continuations of the beams by one word, and the beam from which each came.
template <tf::Extent Samples, tf::Extent Width, tf::Extent Words>
constexpr auto grow(const Beams<Samples, Width>& beams,
                    const tf::Expr<float, tf::Shape<Samples * Width, Words>>& logits,
                    std::int32_t end, float alpha) {
  tf::Graph& g = logits.graph();
  const auto log_probabilities = tf::reshape<Samples, Width, Words>(log_softmax(logits));
  // A sentence that has ended continues with ends, which cost nothing.
  const auto is_end = equal(tf::range<std::int32_t, Words>(g, 0, 1), end);
  const auto of_ended = sure(is_end);
  const auto of_word = where(tf::expand_dims<-1>(beams.finished), of_ended, log_probabilities);
  const auto sums = tf::expand_dims<-1>(beams.log_probability) + of_word;
  const auto lengths = beams.length + tf::cast<float>(logical_not(beams.finished));
  const auto scores = score_of(sums, tf::expand_dims<-1>(lengths), alpha);

  const auto best = tf::top_k<Width>(tf::reshape<Samples, Width * Words>(scores));
  const auto from = floordiv(best.indices, static_cast<std::int32_t>(Words));
  const auto word = best.indices - from * static_cast<std::int32_t>(Words);
  const Beams<Samples, Width> grown{word,
                                    tf::gather<tf::GatherOptions{.batch_dims = 1}>(
                                        tf::reshape<Samples, Width * Words>(sums), best.indices),
                                    tf::gather<tf::GatherOptions{.batch_dims = 1}>(lengths, from),
                                    equal(word, end)};
  return std::pair{grown, from};
}

/// Selects the rows of each tensor of a tuple by the beams' origins. (Samples*Width,..)
template <tf::Extent Samples, tf::Extent Width, class... X>
constexpr auto follow(const std::tuple<X...>& state,
                      const tf::Expr<std::int32_t, tf::Shape<Samples, Width>>& from) {
  const auto first_row = tf::range<std::int32_t, Samples>(from.graph(), 0, Width);
  const auto rows = tf::reshape<Samples * Width>(from + tf::expand_dims<-1>(first_row));
  return std::apply([&](const X&... x) { return std::tuple<X...>{tf::gather<0>(x, rows)...}; },
                    state);
}

/// Searches for the sentences of at most `Steps` words that a decoder finds most probable.
/// decode(words, state) takes words (Samples*Width) and a std::tuple of tensors (Samples*Width,..).
/// It returns a pair of logits (Samples*Width,Words) and the next state.
template <tf::Extent Steps, tf::Extent Samples, tf::Extent Width, class State, class F>
constexpr Found<Steps, Samples, Width> beam_search(tf::Graph& g, const State& start,
                                                   std::int32_t first, std::int32_t end,
                                                   float alpha, const F& decode) {
  using Now = Beams<Samples, Width>;
  using Choice = tf::Expr<std::int32_t, tf::Shape<Samples, Width>>;
  using Carried = std::pair<Now, State>;
  const auto step = [&](const Carried& before, const tf::Expr<std::int32_t>&) {
    const auto& [beams, state] = before;
    const auto [logits, next] = decode(tf::reshape<Samples * Width>(beams.word), state);
    const auto [grown, from] = grow(beams, logits, end, alpha);
    return std::pair{Carried(grown, follow(State(next), from)),
                     std::pair<Choice, Choice>(grown.word, from)};
  };
  const auto [last, chosen] = scan(step, Carried(first_beams<Samples, Width>(g, first), start),
                                   tf::range<std::int32_t, Steps>(g, 0, 1));

  // From the last step to the first: the beam from which each of the best came.
  const auto back = [](const Choice& beam, const std::pair<Choice, Choice>& made) {
    return std::pair<Choice, Choice>(
        tf::gather<tf::GatherOptions{.batch_dims = 1}>(made.second, beam),
        tf::gather<tf::GatherOptions{.batch_dims = 1}>(made.first, beam));
  };
  const auto all = tf::broadcast_to<Samples, Width>(tf::range<std::int32_t, Width>(g, 0, 1));
  const auto words = scan(back, Choice(all), chosen, {.reverse = true}).second;
  return {words, score_of(last.first.log_probability, last.first.length, alpha)};
}

}  // namespace examples
