// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Penn Treebank as a text to predict, in the form that language models are compared on: 10,000
// words, the others <unk>, numbers N. Source: Mikolov et al., Recurrent neural network based
// language model, Interspeech 2010.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A text in three parts, as numbers of its words.
struct Corpus {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> validation;
  std::vector<std::int32_t> test;
  std::vector<std::string> words;  ///< of the numbers: the most frequent of `train` first
};

namespace detail {

/// The words of a text; a line's end is the word <eos>.
inline std::vector<std::string> words_of_lines(std::istream& in) {
  std::vector<std::string> words;
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    for (std::string word; parts >> word;) words.push_back(word);
    words.emplace_back("<eos>");
  }
  return words;
}

using WordNumbers = std::unordered_map<std::string, std::int32_t>;

/// Different words, the most frequent first, those of one frequency in the order of their bytes.
inline std::vector<std::string> vocabulary_of(const std::vector<std::string>& text) {
  std::unordered_map<std::string, std::int64_t> count;
  for (const std::string& word : text) ++count[word];
  std::vector<std::string> words;
  for (const auto& [word, n] : count) words.push_back(word);
  std::sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
    const std::int64_t n = count.at(a);
    const std::int64_t m = count.at(b);
    return n != m ? n > m : a < b;
  });
  return words;
}

inline WordNumbers numbered(const std::vector<std::string>& words) {
  WordNumbers numbers;
  for (std::size_t i = 0; i < words.size(); ++i) numbers[words[i]] = static_cast<std::int32_t>(i);
  return numbers;
}

/// A word that has no number gets that of <unk>; without one it is an Error that names the source.
inline std::vector<std::int32_t> numbers_of(const std::vector<std::string>& text,
                                            const WordNumbers& numbers, const std::string& source) {
  const auto unknown = numbers.find("<unk>");
  std::vector<std::int32_t> out;
  out.reserve(text.size());
  for (const std::string& word : text) {
    auto found = numbers.find(word);
    if (found == numbers.end()) found = unknown;
    if (found == numbers.end()) {
      throw Error(source, "words of the training text, or that this has <unk>", "'" + word + "'");
    }
    out.push_back(found->second);
  }
  return out;
}

/// The folder itself if it has the training text, else its subfolder ptb if that has, else empty.
inline std::filesystem::path ptb_folder(const std::filesystem::path& folder) {
  for (const std::filesystem::path& place : {folder, folder / "ptb"}) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(place / "ptb.train.txt", ignored)) return place;
  }
  return {};
}

inline std::vector<std::string> words_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path.string(), "a text that can be read", "none");
  std::vector<std::string> words = words_of_lines(in);
  if (in.bad()) throw Error(path.string(), "a text that can be read", "an error of reading");
  if (words.empty()) throw Error(path.string(), "a text of one line or more", "an empty file");
  return words;
}

}  // namespace detail

/// A text from its three parts, each of lines of words with blanks between them; a line ends with
/// the word <eos>. Throws Error if a word is not of the training part, and <unk> is not either.
inline Corpus text_of(std::string_view train, std::string_view validation, std::string_view test) {
  const auto words = [](std::string_view part) {
    std::istringstream in{std::string(part)};
    return detail::words_of_lines(in);
  };
  const std::vector<std::string> of_train = words(train);
  Corpus out;
  out.words = detail::vocabulary_of(of_train);
  const detail::WordNumbers numbers = detail::numbered(out.words);
  out.train = detail::numbers_of(of_train, numbers, "the training text");
  out.validation = detail::numbers_of(words(validation), numbers, "the text for validation");
  out.test = detail::numbers_of(words(test), numbers, "the text of the test");
  return out;
}

/// Whether a folder, or its subfolder `ptb`, has ptb.train.txt.
inline bool has_ptb(const std::filesystem::path& folder) {
  return !detail::ptb_folder(folder).empty();
}

/// Reads ptb.train.txt, ptb.valid.txt and ptb.test.txt from a folder, or from its subfolder `ptb`.
/// Throws Error naming the file that is missing, empty, or has a word that the training text has
/// not, if that has no <unk>. Of Mikolov's files: 929,589, 73,760 and 82,430 words, 10,000
/// different.
inline Corpus read_ptb(const std::filesystem::path& folder) {
  const std::filesystem::path place = detail::ptb_folder(folder);
  if (place.empty()) {
    throw Error(folder.string(), "the files of the Penn Treebank (ptb.train.txt, ...)",
                "none of them, nor in a subfolder ptb");
  }
  const std::vector<std::string> of_train = detail::words_of_file(place / "ptb.train.txt");
  Corpus out;
  out.words = detail::vocabulary_of(of_train);
  const detail::WordNumbers numbers = detail::numbered(out.words);
  const auto part = [&](const char* file) {
    const std::filesystem::path path = place / file;
    return detail::numbers_of(detail::words_of_file(path), numbers, path.string());
  };
  out.train = detail::numbers_of(of_train, numbers, (place / "ptb.train.txt").string());
  out.validation = part("ptb.valid.txt");
  out.test = part("ptb.test.txt");
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
