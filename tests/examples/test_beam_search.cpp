// SPDX-License-Identifier: Apache-2.0

// Beam search in a model against the same search in plain loops, and where no beam is lost against
// a look at all sentences.

#include "reverse_digits/beam_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace {

namespace tf = typeflow;

constexpr int words = 3;  // the last one is the end
constexpr int end = words - 1;
constexpr int steps = 4;
constexpr int samples = 2;

/// A decoder whose logits depend on the sample and on all words so far, the recent ones more.
double logit(int sample, double memory, int word) {
  return 2 * std::sin(3.1 * memory + 1.3 * word + 0.7 * sample);
}
double remembered(double memory, int word) { return 0.5 * memory + word; }

template <tf::Extent Width>
constexpr void search(tf::Graph& g) {
  constexpr tf::Extent rows = samples * Width;
  const auto sample = cast<float>(
      floordiv(tf::range<std::int32_t, rows>(g, 0, 1), static_cast<std::int32_t>(Width)));
  const auto decode = [&](const auto& word, const auto& state) {
    const auto memory = 0.5f * std::get<0>(state) + tf::cast<float>(word);  // (rows)
    const auto each = tf::cast<float>(tf::range<std::int32_t, words>(g, 0, 1));
    const auto logits =
        2.0f * sin(tf::expand_dims<-1>(3.1f * memory + 0.7f * sample) + 1.3f * each);
    return std::pair{logits, std::tuple{memory}};
  };
  const auto found = examples::beam_search<steps, samples, Width>(
      g, std::tuple{tf::zeros<float, rows>(g)}, 0, end, 0.6f, decode);
  found.words.named("words");
  found.scores.named("scores");
}

struct Sentence {
  std::vector<int> words;
  double log_probability = 0;
  double memory = 0;
  int length = 0;

  bool finished() const { return !words.empty() && words.back() == end; }
  double score() const { return log_probability / std::pow((5.0 + length) / 6.0, 0.6); }
};

/// All that a word more makes of a sentence.
std::vector<Sentence> longer(const Sentence& sentence, int sample) {
  if (sentence.finished()) {
    Sentence same = sentence;
    same.words.push_back(end);
    return {same};
  }
  const int last = sentence.words.empty() ? 0 : sentence.words.back();
  const double memory = remembered(sentence.memory, last);
  std::array<double, words> logits{};
  double total = 0;
  for (int w = 0; w < words; ++w) {
    logits[static_cast<std::size_t>(w)] = logit(sample, memory, w);
    total += std::exp(logits[static_cast<std::size_t>(w)]);
  }
  std::vector<Sentence> all;
  for (int w = 0; w < words; ++w) {
    Sentence next = sentence;
    next.words.push_back(w);
    next.log_probability += logits[static_cast<std::size_t>(w)] - std::log(total);
    next.memory = memory;
    ++next.length;
    all.push_back(next);
  }
  return all;
}

/// The best `width` of each step, the best first; all if width is 0.
std::vector<Sentence> plain_search(int sample, std::size_t width) {
  std::vector<Sentence> beams(1);
  for (int t = 0; t < steps; ++t) {
    std::vector<Sentence> all;
    for (const Sentence& beam : beams) {
      for (const Sentence& next : longer(beam, sample)) all.push_back(next);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Sentence& a, const Sentence& b) { return a.score() > b.score(); });
    if (width != 0 && all.size() > width) all.resize(width);
    beams = all;
  }
  return beams;
}

template <tf::Extent Width>
void check_search(std::size_t width) {
  tf::Variables variables;
  tf::Session<search<Width>> session(variables);
  const auto [found, scores] = session.template run<"words", "scores">();
  for (int sample = 0; sample < samples; ++sample) {
    const std::vector<Sentence> wanted = plain_search(sample, width);
    const auto s = static_cast<std::size_t>(sample);
    for (std::size_t k = 0; k < std::min<std::size_t>(wanted.size(), Width); ++k) {
      INFO("width ", Width, ", sample ", sample, ", beam ", k);
      CHECK(std::abs(scores(s, k) - wanted[k].score()) < 1e-5);
      for (std::size_t t = 0; t < steps; ++t) CHECK(found(t, s, k) == wanted[k].words[t]);
    }
    for (std::size_t k = wanted.size(); k < Width; ++k) {
      CHECK(scores(s, k) == -std::numeric_limits<float>::infinity());
    }
  }
}

}  // namespace

TEST_CASE("a beam search finds what plain loops find") {
  check_search<1>(1);
  check_search<2>(2);
  check_search<4>(4);
}

TEST_CASE("a beam search that loses nothing finds the best of all sentences") {
  CHECK(plain_search(0, 0).size() == 31);  // 16 of 4 words without an end, 8 + 4 + 2 + 1 with one
  check_search<40>(0);
}
