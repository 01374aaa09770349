// SPDX-License-Identifier: Apache-2.0

// word2vec: vectors of words from the company they keep. A skip-gram model guesses the words around
// a word out of 5000, by noise-contrastive estimation: a step looks at the true words and at 64
// drawn ones, and changes their rows alone. Words that stand among the same words come to lie side
// by side, which the nearest neighbours show. Source: Mikolov et al., arXiv:1310.4546.
//
//   word2vec --data DIR --steps 40000   DIR, or DIR/text, has a file text8 or gutenberg8: words of
//                                       a to z with spaces between them
//   word2vec                            takes TYPEFLOW_DATA, else a made text, whose words keep to
//                                       20 topics. Expected of it: of the neighbours of words, at
//                                       least 0.9 are of the word's topic; a guess has 0.05.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <typeflow/candidate_sampling.hpp>
#include <typeflow/data.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int vocabulary = 5000;  // the most frequent words, in the order of their frequency
constexpr int width = 64;
constexpr int neighbours = 8;

constexpr void skip_gram(tf::Graph& g) {
  auto words = placeholder<std::int32_t, tf::batch>(g, "words");
  auto contexts = placeholder<std::int32_t, tf::batch>(g, "contexts");
  auto rate = placeholder<float>(g, "rate", 8.0f);
  auto vectors = variable<float, vocabulary, width>(g, "vectors", tf::uniform(-0.05, 0.05));
  auto weights = variable<float, vocabulary, width>(g, "nce/W", tf::zeros);
  auto biases = variable<float, vocabulary>(g, "nce/b", tf::zeros);
  auto rows = embedding_lookup(vectors, words);  // (batch,64)
  auto loss = mean(nce_loss<64>(weights, biases, contexts, rows)).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");

  // By cosine; the nearest is the word itself.
  auto unit = l2_normalize<1>(vectors);
  auto cosines = matmul<tf::transpose_b>(embedding_lookup(unit, words), unit);  // (batch,5000)
  top_k<neighbours + 1>(cosines).indices.named("nearest");
}

/// A text as numbers of words.
struct Corpus {
  explicit Corpus(const std::string& text) {
    std::unordered_map<std::string, std::size_t> count;
    std::istringstream all(text);
    for (std::string word; all >> word;) ++count[word];
    for (const auto& [word, n] : count) names.push_back(word);
    std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
      return count[a] != count[b] ? count[a] > count[b] : a < b;
    });
    if (names.size() < vocabulary) {
      throw std::runtime_error("the text has to have " + std::to_string(vocabulary) +
                               " different words, it has " + std::to_string(names.size()));
    }
    names.resize(vocabulary);
    for (std::size_t i = 0; i < names.size(); ++i) {
      number[names[i]] = static_cast<std::int32_t>(i);
    }
    std::istringstream again(text);
    for (std::string word; again >> word;) {
      if (number.contains(word)) words.push_back(number[word]);
    }
  }
  std::vector<std::int32_t> words;
  std::vector<std::string> names;  // of the numbers
  std::unordered_map<std::string, std::int32_t> number;
};

/// Sentences of 12 words of one topic each: a1 to a250 of the first topic, b1 to b250 of the
/// second, the lower numbers more often. They say nothing about a language.
std::string made_text(std::mt19937_64& random) {
  std::string text;
  std::uniform_real_distribution<double> uniform;
  for (int sentence = 0; sentence < 60000; ++sentence) {
    const auto topic = static_cast<char>('a' + random() % 20);
    for (int i = 0; i < 12; ++i) {
      const int rank = static_cast<int>(std::pow(251, uniform(random)));  // by Zipf's law
      text += topic + std::to_string(rank) + ' ';
    }
  }
  return text;
}

/// The file of words in a folder, or in its subfolder text; empty if there is none.
std::filesystem::path text_file(const std::filesystem::path& folder) {
  return examples::find_file(folder, {"text8", "gutenberg8", "text/text8", "text/gutenberg8"});
}
bool has_text(const std::filesystem::path& folder) { return !text_file(folder).empty(); }

/// Without most occurrences of the most frequent words, which say little about their neighbours: of
/// a word with a share f of the text sqrt(1e-4 / f) is kept.
std::vector<std::int32_t> subsampled(const Corpus& corpus, std::mt19937_64& random) {
  std::vector<double> share(corpus.names.size());
  for (const std::int32_t word : corpus.words) {
    share[static_cast<std::size_t>(word)] += 1 / static_cast<double>(corpus.words.size());
  }
  std::uniform_real_distribution<double> uniform;
  std::vector<std::int32_t> kept;
  std::ranges::copy_if(corpus.words, std::back_inserter(kept), [&](std::int32_t word) {
    return uniform(random) < std::sqrt(1e-4 / share[static_cast<std::size_t>(word)]);
  });
  return kept;
}

/// Pairs of a word and one of the two words before or the two behind it.
struct Pairs {
  Pairs(const std::vector<std::int32_t>& text, std::size_t count, std::mt19937_64& random)
      : words(count), contexts(count) {
    constexpr std::size_t window = 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = window + random() % (text.size() - 2 * window);
      const std::size_t distance = 1 + random() % window;
      words[i] = text[at];
      contexts[i] = text[random() % 2 == 0 ? at - distance : at + distance];
    }
  }
  std::vector<std::int32_t> words;
  std::vector<std::int32_t> contexts;
};

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path file = text_file(tf::data_folder(options.data));
  if (file.empty()) {
    std::printf("No data: training on a MADE text, which says nothing about a language.\n");
  }
  std::ifstream in(file, std::ios::binary);
  const Corpus corpus(file.empty() ? made_text(random)
                                   : std::string(std::istreambuf_iterator<char>(in), {}));
  const std::vector<std::int32_t> text = subsampled(corpus, random);
  std::printf("%s: %zu words, %zu of them different; %zu are read\n",
              file.empty() ? "made text" : file.c_str(), corpus.words.size(), corpus.names.size(),
              text.size());

  tf::Variables variables;
  tf::Session<skip_gram> session(variables, {.seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Pairs pairs(text, static_cast<std::size_t>(options.batch), random);
    const float loss = session.run<"loss", "train">(tf::feed<"words">(pairs.words),
                                                    tf::feed<"contexts">(pairs.contexts),
                                                    tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  std::vector<std::int32_t> shown;
  for (const char* const word :
       {"three", "sea", "mother", "morning", "house", "french", "walked", "a1", "b1", "c1"}) {
    if (corpus.number.contains(word)) shown.push_back(corpus.number.at(word));
  }
  const auto name = [&](std::int32_t word) {
    return corpus.names[static_cast<std::size_t>(word)].c_str();
  };
  const auto nearest = session.run<"nearest">(tf::feed<"words">(shown));
  for (std::size_t i = 0; i < nearest.shape(0); ++i) {
    std::printf("%s:", name(nearest(i, 0)));
    for (std::size_t j = 1; j <= neighbours; ++j) std::printf(" %s", name(nearest(i, j)));
    std::printf("\n");
  }
  if (!file.empty()) return;

  std::vector<std::int32_t> all(corpus.names.size());
  std::iota(all.begin(), all.end(), 0);
  const auto of_all = session.run<"nearest">(tf::feed<"words">(all));
  double same = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 1; j <= neighbours; ++j) same += *name(of_all(i, j)) == *name(all[i]);
  }
  std::printf("neighbours of the same topic %.4f\n",
              same / static_cast<double>(all.size() * neighbours));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "word2vec: vectors of words from a text.",
                               {.data_set = {"a text, text8 or gutenberg8", has_text},
                                .steps = 4000,
                                .batch = 500,
                                .rate = 8.0f},
                               train);
}
