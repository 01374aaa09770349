// SPDX-License-Identifier: Apache-2.0

// Chapter 7: word2vec, vectors of words from their neighbours. A skip-gram model guesses the
// neighbours of a word among 50,000 words, by noise-contrastive estimation: a step reads and
// changes only the rows of the true words and of 64 drawn ones. Words with similar neighbours get
// similar vectors. The program prints the nearest words of some words, and draws a map of the
// hundred most frequent ones. Source: Mikolov et al., arXiv:1310.4546. Expected, according to the
// book TensorFlow in Practice, on text8: an average loss of 4.68.
//
//   ch07_word2vec --data DIR    DIR, or DIR/text, has a file text8 or gutenberg8: words of a to z
//                               with spaces between them
//   ch07_word2vec               takes TYPEFLOW_DATA, otherwise a made text with 20 topics. Expected
//                               there: more than 0.5 of the words nearest to a word have its
//                               topic; guessing gives 0.05.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <typeflow/candidate_sampling.hpp>
#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"
#include "tsne.hpp"
#include "word_map.hpp"

namespace tf = typeflow;

constexpr std::size_t vocabulary = 50000;  // "UNK", then the most frequent words
constexpr std::size_t width = 128;
constexpr int nearest = 8;
constexpr std::size_t mapped = 100;          // words on the map
constexpr std::int64_t report = 2000;        // steps between two average losses
constexpr std::int64_t look = 10000;         // steps between two prints of nearest words
constexpr double deviation = 0.08838834765;  // deviation of weights, 1 / sqrt(width)

constexpr void skip_gram(tf::Graph& g) {
  auto words = placeholder<std::int32_t, tf::batch>(g, "words");
  auto contexts = placeholder<std::int32_t, tf::batch>(g, "contexts");
  auto rate = placeholder<float>(g, "rate", 1.0f);
  auto vectors = variable<float, vocabulary, width>(g, "vectors", tf::uniform(-1, 1));
  auto weights = variable<float, vocabulary, width>(g, "nce/W", tf::truncated_normal(0, deviation));
  auto biases = variable<float, vocabulary>(g, "nce/b", tf::zeros());
  auto rows = embedding_lookup(vectors, words);  // (batch,128)
  auto loss = mean(nce_loss<64>(weights, biases, contexts, rows)).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");

  // By cosine. The nearest word is the word itself. Rows from `count` on belong to no word.
  auto count = placeholder<std::int32_t>(g, "count");
  auto unit = l2_normalize<1>(vectors);
  auto directions = embedding_lookup(unit, words).named("directions");
  auto cosines = matmul<tf::transpose_b>(directions, unit);  // (batch,50000)
  auto is_word = less(range<std::int32_t, vocabulary>(g, 0, 1), count);
  top_k<nearest + 1>(where(is_word, cosines, -2.0f)).indices.named("nearest");
}
static_assert(tf::parameters<skip_gram>() == 12'850'000);

/// A text as numbers of words: 0 is "UNK", for words that are not in the vocabulary, 1 the most
/// frequent word.
struct Corpus {
  explicit Corpus(const std::string& text) {
    std::unordered_map<std::string, std::size_t> count;
    std::istringstream all(text);
    for (std::string word; all >> word;) ++count[word];
    for (const auto& [word, n] : count) names.push_back(word);
    std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
      return count[a] != count[b] ? count[a] > count[b] : a < b;
    });
    if (names.size() < mapped) {
      throw std::runtime_error("the text has to have " + std::to_string(mapped) +
                               " different words, it has " + std::to_string(names.size()));
    }
    names.insert(names.begin(), "UNK");
    names.resize(std::min(names.size(), vocabulary));
    for (std::size_t i = 1; i < names.size(); ++i) number[names[i]] = static_cast<std::int32_t>(i);
    std::istringstream again(text);
    for (std::string word; again >> word;) {
      const auto found = number.find(word);
      words.push_back(found == number.end() ? 0 : found->second);
    }
  }
  const char* name(std::int32_t word) const {
    return names[static_cast<std::size_t>(word)].c_str();
  }

  std::vector<std::int32_t> words;
  std::vector<std::string> names;  // names of the numbers
  std::unordered_map<std::string, std::int32_t> number;
};

/// Sentences of 6 words with one topic each. The words are a1 to a50 for the first topic, b1 to b50
/// for the second, lower numbers more often. They say nothing about a language.
std::string made_text(std::mt19937_64& random) {
  std::string text;
  std::uniform_real_distribution<double> uniform;
  for (int sentence = 0; sentence < 120000; ++sentence) {
    const auto topic = static_cast<char>('a' + random() % 20);
    for (int i = 0; i < 6; ++i) {
      const int rank = static_cast<int>(std::pow(51, uniform(random)));  // by Zipf's law
      text += topic + std::to_string(rank) + ' ';
    }
  }
  return text;
}

/// The file of words in a folder, or in its subfolder text; empty if there is none.
std::filesystem::path text_file(const std::filesystem::path& folder) {
  return examples::find_file(folder, {"text8", "gutenberg8", "text/text8", "text/gutenberg8"});
}
bool has_text(const std::string& folder) { return !text_file(folder).empty(); }

/// Each word of a text in turn, once with the word before it and once with the word after it; the
/// first follows the last.
class Pairs {
 public:
  Pairs(std::span<const std::int32_t> text, std::int64_t batch) : text_(text) {
    if (batch % 2 != 0) throw std::runtime_error("the batch has to be even: two pairs a word");
    words.resize(static_cast<std::size_t>(batch));
    contexts.resize(words.size());
  }
  void next() {
    for (std::size_t i = 0; i < words.size(); i += 2) {
      words[i] = words[i + 1] = text_[at_];
      contexts[i] = text_[at_ - 1];
      contexts[i + 1] = text_[at_ + 1];
      at_ = at_ + 2 < text_.size() ? at_ + 1 : 1;
    }
  }
  std::vector<std::int32_t> words;
  std::vector<std::int32_t> contexts;

 private:
  std::span<const std::int32_t> text_;
  std::size_t at_ = 1;
};

using Session = tf::Session<skip_gram>;

/// The words nearest to each of these, one line each.
void print_nearest(Session& session, const Corpus& corpus, std::span<const std::int32_t> words) {
  const auto count = static_cast<std::int32_t>(corpus.names.size());
  const auto found = session.run<"nearest">(tf::feed<"words">(words), tf::feed<"count">(count));
  for (std::size_t i = 0; i < found.shape(0); ++i) {
    std::printf("%s:", corpus.name(words[i]));
    for (std::size_t j = 1; j <= nearest; ++j) std::printf(" %s", corpus.name(found(i, j)));
    std::printf("\n");
  }
}

/// The share of the nearest words, for each word of a made text, that have its topic.
double share_of_topic(Session& session, const Corpus& corpus) {
  const std::size_t count = corpus.names.size();
  std::vector<std::int32_t> all(count - 1);
  std::iota(all.begin(), all.end(), 1);
  const auto found = session.run<"nearest">(tf::feed<"words">(all),
                                            tf::feed<"count">(static_cast<std::int32_t>(count)));
  double same = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 1; j <= nearest; ++j) {
      same += *corpus.name(found(i, j)) == *corpus.name(all[i]);
    }
  }
  return same / static_cast<double>(all.size() * nearest);
}

/// Draws the most frequent words where t-SNE puts them.
tf::Image word_map(Session& session, const Corpus& corpus) {
  std::vector<std::int32_t> frequent(mapped);
  std::iota(frequent.begin(), frequent.end(), 0);
  const auto directions = session.run<"directions">(tf::feed<"words">(frequent));
  const std::vector<double> points(directions.begin(), directions.end());
  const std::vector<double> places = examples::tsne(points, width, {.steps = 5000});
  return examples::draw_words(std::span(corpus.names).first(mapped), places);
}

/// Returns the average loss of the last 2,000 steps, or of the steps since the last report.
double train(Session& session, const Corpus& corpus, const examples::Options& options,
             std::span<const std::int32_t> shown) {
  Pairs pairs(corpus.words, options.batch);
  double sum = 0;
  double average = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    pairs.next();
    sum += static_cast<double>(session.run<"loss", "train">(tf::feed<"words">(pairs.words),
                                                            tf::feed<"contexts">(pairs.contexts),
                                                            tf::feed<"rate">(options.rate)));
    if (step % report == 0 || step == options.steps) {
      average = sum / static_cast<double>((step - 1) % report + 1);
      sum = 0;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::printf("step %lld of %lld   average loss %.4f   %.4g words/s\n",
                  static_cast<long long>(step), static_cast<long long>(options.steps), average,
                  static_cast<double>(step * options.batch / 2) / seconds.count());
    }
    if (step % look == 0) print_nearest(session, corpus, shown);
  }
  return average;
}

void learn(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  const std::filesystem::path file = text_file(tf::data_folder(options.data));
  if (file.empty()) {
    std::printf("No data: training on a MADE text, which says nothing about a language.\n");
  }
  std::ifstream in(file, std::ios::binary);
  const Corpus corpus(file.empty() ? made_text(random)
                                   : std::string(std::istreambuf_iterator<char>(in), {}));
  std::printf("%s: %zu words, %zu of them different\n", file.empty() ? "made text" : file.c_str(),
              corpus.words.size(), corpus.names.size() - 1);

  // Sixteen of the hundred most frequent words, as in the book, and some rarer ones.
  std::vector<std::int32_t> shown(mapped);
  std::iota(shown.begin(), shown.end(), 0);
  std::ranges::shuffle(shown, random);
  shown.resize(16);
  for (const char* const word :
       {"three", "seven", "sea", "mother", "morning", "french", "walked"}) {
    if (corpus.number.contains(word)) shown.push_back(corpus.number.at(word));
  }

  tf::Variables variables;
  Session session(variables, {.seed = options.seed});
  const double loss = train(session, corpus, options, shown);
  if (options.steps % look != 0) print_nearest(session, corpus, shown);
  tf::write_png(options.output, word_map(session, corpus));
  std::printf("a map of the hundred most frequent words: %s\n", options.output.c_str());
  if (file.empty()) {
    std::printf("nearest words of the same topic %.4f\n", share_of_topic(session, corpus));
  } else {
    std::printf("average loss %.4f\n", loss);
  }
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "word2vec: vectors of words from a text.",
                               {.data_set = {"a text, text8 or gutenberg8", has_text},
                                .steps = 100'000,
                                .batch = 128,
                                .rate = 1.0f,
                                .output = "words.png"},
                               learn);
}
