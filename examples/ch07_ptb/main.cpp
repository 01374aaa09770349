// SPDX-License-Identifier: Apache-2.0

// Chapter 7: a language model, two layers of LSTM (long short-term memory) that guess the next word
// of the Penn Treebank. Expected of the small model: a test perplexity of at most 120 after its 13
// epochs, at most 200 after one (--steps 2323). The medium and the large model, which are a program
// of their own, ch07_ptb_large, reach about 82 and 78, according to TensorFlow's tutorial.
//
//   ch07_ptb --data DIR    DIR, or DIR/ptb, has ptb.train.txt, ptb.valid.txt and ptb.test.txt
//   ch07_ptb               takes TYPEFLOW_DATA, otherwise a made text; its best perplexity is 4

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "model.hpp"

namespace tf = typeflow;

/// Sentences of words w0 to w199. Each word is followed by one of four that depend on it. So no
/// model has a perplexity below 4, except at the ends of sentences. The figures say nothing about a
/// language.
std::string made_text(std::uint64_t seed, int words) {
  std::mt19937_64 random(seed);
  std::string text;
  std::uint64_t word = 0;
  for (int i = 1; i <= words; ++i) {
    text += 'w' + std::to_string(word) + (i % 20 == 0 ? '\n' : ' ');
    word = (word * 7 + 1 + random() % 4) % 200;
  }
  return text;
}

tf::Corpus load_text(const examples::Options& options) {
  const std::filesystem::path folder = tf::data_folder(options.data);
  if (!folder.empty()) return tf::read_ptb(folder);
  std::printf(
      "No data: neither --data nor TYPEFLOW_DATA says where the Penn Treebank is. Training on a\n"
      "MADE text instead; the perplexity says nothing about a language.\n");
  return tf::text_of(made_text(options.seed, 200000), made_text(options.seed + 1, 10000),
                     made_text(options.seed + 2, 10000));
}

void train(const examples::Options& options) {
  const tf::Corpus text = load_text(options);
  std::printf("%zu words for training, %zu for validation, %zu for the test; %zu different\n",
              text.train.size(), text.validation.size(), text.test.size(), text.words.size());
  if (text.words.size() > ptb::vocabulary) {
    throw std::runtime_error("the text must have at most " + std::to_string(ptb::vocabulary) +
                             " different words, it has " + std::to_string(text.words.size()));
  }
  for (const ptb::Size& size : ptb::sizes()) {
    if (options.size == size.name) size.train(text, options);
  }
}

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (const ptb::Size& size : ptb::sizes()) names.push_back(size.name);
  return examples::run_program(argc, argv,
                               "A language model: chapter 7's LSTM on the Penn Treebank.",
                               {.data_set = {"the Penn Treebank", tf::has_ptb},
                                .steps = 1'000'000,  // more than in all epochs
                                .batch = 0,
                                .rate = 1.0f,
                                .sizes = names},
                               train);
}
