// SPDX-License-Identifier: Apache-2.0
#pragma once

// A text for a recurrent net that carries its state from batch to batch. The text is cut into
// streams, one for each sample of a batch. They are read side by side, some words at a time.

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct TextStreamOptions {
  std::int64_t batch = 20;  ///< streams
  std::int64_t steps = 20;  ///< words of each stream in a part
};

/// A part of all streams, (steps,batch): time comes first, as in dynamic_rnn<tf::time_major>. Valid
/// until the next one is taken.
struct TextPart {
  std::span<const std::int32_t> words;
  std::span<const std::int32_t> next;  ///< the word that follows each
};

/// The parts of a text in order, again from the beginning when it ends. Stream b begins at word
/// b * (length / batch). Words at a stream's end that do not fill a part, with one more to predict,
/// are left out, as in TensorFlow's ptb_producer. The text must outlive it.
class TextStreams {
 public:
  /// Throws Error if a stream is too short for one part: steps + 1 words.
  explicit TextStreams(std::span<const std::int32_t> text, TextStreamOptions options = {});

  template <std::same_as<std::vector<std::int32_t>> Text>
  explicit TextStreams(Text&&, TextStreamOptions = {}) = delete;  // it would dangle

  /// The number of parts in the text.
  std::int64_t parts() const { return parts_; }

  TextPart next();

  /// The number of parts taken so far.
  std::int64_t taken() const { return taken_; }
  /// Goes forwards or backwards to the position after `taken` parts. Throws Error if that is
  /// negative.
  void seek(std::int64_t taken);
  /// The settings that decide the parts, besides the text's words:
  /// "929589 words, 20 streams, 35 steps".
  std::string settings() const;

 private:
  std::span<const std::int32_t> text_;
  TextStreamOptions options_;
  std::int64_t length_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t taken_ = 0;
  std::vector<std::int32_t> words_;
  std::vector<std::int32_t> next_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/text_streams.ipp"
#endif
