// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batches of a data set, shuffled anew in each epoch. They follow TensorFlow's DataSet.next_batch:
// a batch that reaches the end of an epoch takes the rest of it and then the start of the next, so
// every batch is full and every example comes once in each epoch.
//
// The order of an epoch is a pure function of (seed, epoch), by Philox and integers alone: the same
// on every platform, which std::shuffle is not.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/data/labeled_images.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct BatchOptions {
  std::int64_t size = 100;  ///< examples in a batch
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< false: the order of the data set in every epoch
};

/// The numbers of the examples in each batch. Use one from one thread at a time.
class BatchSampler {
 public:
  /// Throws Error if there are no examples or the batch size is below 1.
  explicit BatchSampler(std::int64_t examples, BatchOptions options = {}) : options_(options) {
    if (examples < 1) throw Error("batches", "1 example or more", std::to_string(examples));
    if (options.size < 1) {
      throw Error("batches", "a batch size of 1 or more", std::to_string(options.size));
    }
    order_.resize(static_cast<std::size_t>(examples));
    batch_.resize(static_cast<std::size_t>(options.size));
    start_epoch();
  }

  /// The examples of the next batch; the span is valid until the next call.
  std::span<const std::int64_t> next() {
    for (std::int64_t& example : batch_) {
      if (position_ == order_.size()) {
        ++epochs_completed_;
        start_epoch();
      }
      example = order_[position_++];
    }
    return batch_;
  }

  /// Epochs that batches have gone past. As in TensorFlow, one that ended exactly with a batch
  /// counts when the next batch is taken.
  std::int64_t epochs_completed() const { return epochs_completed_; }

 private:
  void start_epoch() {  // Fisher and Yates's shuffle, from the order of the data set
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

  BatchOptions options_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> batch_;
  std::size_t position_ = 0;
  std::int64_t epochs_completed_ = 0;
};

/// Copies rows of a row-major array of `width` columns.  // (N,width), (B) -> (B,width)
template <class T>
void copy_rows(std::span<const T> array, std::size_t width, std::span<const std::int64_t> rows,
               std::vector<T>& out) {
  out.clear();
  for (const std::int64_t row : rows) {
    const auto part = array.subspan(static_cast<std::size_t>(row) * width, width);
    out.insert(out.end(), part.begin(), part.end());
  }
}

/// One batch of labeled images; valid until the next one is taken.
struct LabeledBatch {
  std::span<const float> images;         ///< (B,height*width)
  std::span<const std::int32_t> labels;  ///< (B)
  std::span<const float> one_hot;        ///< (B,classes)
};

/// An endless row of batches of a data set, which must outlive it. Use one from one thread at a
/// time.
class Batches {
 public:
  explicit Batches(const LabeledImages& data, BatchOptions options = {})
      : data_(&data), sampler_(data.size(), options) {}
  explicit Batches(LabeledImages&&, BatchOptions = {}) = delete;  // it would dangle

  /// The next batch, in buffers that the next call overwrites.
  LabeledBatch next() {
    const std::span<const std::int64_t> rows = sampler_.next();
    copy_rows<float>(data_->images, data_->image(0).size(), rows, images_);
    copy_rows<std::int32_t>(data_->labels, 1, rows, labels_);
    copy_rows<float>(data_->one_hot, static_cast<std::size_t>(data_->classes), rows, one_hot_);
    return {images_, labels_, one_hot_};
  }

  /// See BatchSampler::epochs_completed.
  std::int64_t epochs_completed() const { return sampler_.epochs_completed(); }

 private:
  const LabeledImages* data_;
  BatchSampler sampler_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::vector<float> one_hot_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
