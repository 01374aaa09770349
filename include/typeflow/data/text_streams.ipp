// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/data/batches.hpp"
#include "typeflow/data/text_streams.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION TextStreams::TextStreams(std::span<const std::int32_t> text,
                                             TextStreamOptions options)
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

TYPEFLOW_DEFINITION TextPart TextStreams::next() {
  const std::int64_t part = taken_++ % parts_;
  for (std::int64_t t = 0; t < options_.steps; ++t) {
    for (std::int64_t b = 0; b < options_.batch; ++b) {
      const auto from = static_cast<std::size_t>(b * length_ + part * options_.steps + t);
      const auto to = static_cast<std::size_t>(t * options_.batch + b);
      words_[to] = text_[from];
      next_[to] = text_[from + 1];
    }
  }
  return {words_, next_};
}

TYPEFLOW_DEFINITION void TextStreams::seek(std::int64_t taken) {
  detail::check_taken("text streams", taken, 1);
  taken_ = taken;
}

TYPEFLOW_DEFINITION std::string TextStreams::settings() const {
  return std::to_string(text_.size()) + " words, " + std::to_string(options_.batch) + " streams, " +
         std::to_string(options_.steps) + " steps";
}

}  // namespace typeflow::inline TYPEFLOW_ISA
