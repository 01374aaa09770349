// SPDX-License-Identifier: Apache-2.0
#pragma once

// A text for a recurrent net that carries its state from step to step: cut into as many streams as
// a batch has samples, which are read side by side, some words at a time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/error.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct TextStreamOptions {
  std::int64_t batch = 20;  ///< streams
  std::int64_t steps = 20;  ///< words of each in a part
};

/// A part of all streams; valid until the next one is taken. (steps,batch): time comes first, as
/// dynamic_rnn<tf::time_major> has it.
struct TextPart {
  std::span<const std::int32_t> words;
  std::span<const std::int32_t> next;  ///< the word that follows each
};

/// The parts of a text, one after another, and from its beginning again when it ends: stream b
/// begins at word b * (length / batch). What remains at the streams' ends, fewer than `steps` words
/// and one to predict, is left out. (As TensorFlow's ptb_producer.) The text must outlive it.
class TextStreams {
 public:
  /// Throws Error if a stream has not one part.
  explicit TextStreams(std::span<const std::int32_t> text, TextStreamOptions options = {})
      : text_(text), options_(options) {
    if (options.batch < 1 || options.steps < 1) {
      throw Error("text streams", "a batch and steps of 1 or more",
                  std::to_string(options.batch) + " and " + std::to_string(options.steps));
    }
    length_ = static_cast<std::int64_t>(text.size()) / options.batch;
    parts_ = (length_ - 1) / options.steps;
    if (length_ < 1 || parts_ < 1) {
      throw Error("text streams",
                  "at least " + std::to_string(options.steps + 1) + " words for each of " +
                      std::to_string(options.batch) + " streams",
                  std::to_string(text.size()) + " words");
    }
    const auto size = static_cast<std::size_t>(options.batch * options.steps);
    words_.resize(size);
    next_.resize(size);
  }

  /// How many parts the text has.
  std::int64_t parts() const { return parts_; }

  TextPart next() {
    for (std::int64_t t = 0; t < options_.steps; ++t) {
      for (std::int64_t b = 0; b < options_.batch; ++b) {
        const auto from = static_cast<std::size_t>(b * length_ + part_ * options_.steps + t);
        const auto to = static_cast<std::size_t>(t * options_.batch + b);
        words_[to] = text_[from];
        next_[to] = text_[from + 1];
      }
    }
    part_ = (part_ + 1) % parts_;
    return {words_, next_};
  }

 private:
  std::span<const std::int32_t> text_;
  TextStreamOptions options_;
  std::int64_t length_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t part_ = 0;
  std::vector<std::int32_t> words_;
  std::vector<std::int32_t> next_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
