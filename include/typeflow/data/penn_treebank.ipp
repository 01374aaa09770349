// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include "typeflow/data/penn_treebank.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The words of a text, with <eos> at the end of each line.
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

/// The different words of a text, the most frequent first; equally frequent ones in byte order.
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

/// The numbers of words; an unknown word gets that of <unk>. Throws Error, with the source's name,
/// if <unk> has none either.
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

/// The folder that has the training text: the given one, or its subfolder ptb. Empty if neither
/// has it.
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

TYPEFLOW_DEFINITION Corpus text_of(std::string_view train, std::string_view validation,
                                   std::string_view test) {
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

TYPEFLOW_DEFINITION bool has_ptb(const std::string& folder) {
  return !detail::ptb_folder(folder).empty();
}

TYPEFLOW_DEFINITION Corpus read_ptb(const std::string& folder) {
  const std::filesystem::path place = detail::ptb_folder(folder);
  if (place.empty()) {
    throw Error(folder, "the files of the Penn Treebank (ptb.train.txt, ...)",
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

}  // namespace typeflow::inline TYPEFLOW_ISA
