// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/data/batches.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION void detail::check_taken(const char* sampler, std::int64_t taken,
                                             std::int64_t size) {
  // Half of what can be counted, so that one can go on from there.
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2 / size;
  if (taken >= 0 && taken <= most) return;
  throw Error(std::string(sampler) + ": seek(taken)",
              "a number of batches from 0 to " + std::to_string(most), std::to_string(taken));
}

TYPEFLOW_DEFINITION BatchSampler::BatchSampler(std::int64_t examples, BatchOptions options)
    : options_(options) {
  if (examples < 1) throw Error("batches", "1 example or more", std::to_string(examples));
  if (options.size < 1) {
    throw Error("batches", "a batch size of 1 or more", std::to_string(options.size));
  }
  order_.resize(static_cast<std::size_t>(examples));
  batch_.resize(static_cast<std::size_t>(options.size));
  start_epoch();
}

TYPEFLOW_DEFINITION std::span<const std::int64_t> BatchSampler::next() {
  for (std::int64_t& example : batch_) {
    if (position_ == order_.size()) {
      ++epochs_completed_;
      start_epoch();
    }
    example = order_[position_++];
  }
  ++taken_;
  return batch_;
}

TYPEFLOW_DEFINITION void BatchSampler::seek(std::int64_t taken) {
  detail::check_taken("batches", taken, options_.size);
  const auto examples = static_cast<std::int64_t>(order_.size());
  const std::int64_t end = taken * options_.size;  // examples in these batches
  epochs_completed_ = end == 0 ? 0 : (end - 1) / examples;
  start_epoch();
  position_ = static_cast<std::size_t>(end - epochs_completed_ * examples);
  taken_ = taken;
}

TYPEFLOW_DEFINITION std::string BatchSampler::settings() const {
  return std::to_string(order_.size()) + " examples, batches of " + std::to_string(options_.size) +
         (options_.shuffle ? ", shuffled by seed " + std::to_string(options_.seed) : ", in order");
}

TYPEFLOW_DEFINITION void
BatchSampler::start_epoch() {  // Fisher-Yates shuffle, from the order of the data set
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  position_ = 0;
  if (!options_.shuffle) return;
  constexpr std::uint64_t path = 0x6261746368657321;  // "batches!"
  const std::uint64_t key = random_key(options_.seed, path);
  const auto epoch = static_cast<std::uint64_t>(epochs_completed_);
  for (std::size_t i = order_.size() - 1; i > 0; --i) {
    const Philox random = Philox::generate(key, i, epoch);
    const std::uint64_t bits = std::uint64_t{random.word[0]} << 32 | random.word[1];
    std::swap(order_[i], order_[bits % (i + 1)]);  // the bias is below i / 2^64
  }
}

TYPEFLOW_DEFINITION LabeledBatch Batches::next() {
  const std::span<const std::int64_t> rows = sampler_.next();
  copy_rows<float>(data_->images, data_->image(0).size(), rows, images_);
  copy_rows<std::int32_t>(data_->labels, 1, rows, labels_);
  copy_rows<float>(data_->one_hot, static_cast<std::size_t>(data_->classes), rows, one_hot_);
  return {images_, labels_, one_hot_};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
