// SPDX-License-Identifier: Apache-2.0
#pragma once

// The Penn Treebank as a text for language models, in the usual benchmark form: 10,000 words;
// other words are <unk>, numbers are N. Source: Mikolov et al., Recurrent neural network based
// language model, Interspeech 2010.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A text in three parts, as word numbers.
struct Corpus {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> validation;
  std::vector<std::int32_t> test;
  std::vector<std::string> words;  ///< by number, the most frequent of `train` first
};

/// Makes a corpus from three texts: lines of words with blanks between them. Each line's end counts
/// as the word <eos>. A word that `train` lacks becomes <unk>. Throws Error if `train` lacks <unk>,
/// too.
Corpus text_of(std::string_view train, std::string_view validation, std::string_view test);

/// Whether a folder, or its subfolder `ptb`, has ptb.train.txt.
bool has_ptb(const std::string& folder);

/// Reads ptb.train.txt, ptb.valid.txt and ptb.test.txt from a folder, or from its subfolder `ptb`.
/// Mikolov's files have 929,589, 73,760 and 82,430 words, 10,000 of them different.
///
/// Throws Error, with the file's name, if a file is missing or empty, or has a word that the
/// training text lacks while it has no <unk>.
Corpus read_ptb(const std::string& folder);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/penn_treebank.ipp"
#endif
