// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batches of a data set, shuffled anew in each epoch. As in TensorFlow's DataSet.next_batch, a
// batch at the end of an epoch takes what is left of it, and then the start of the next. So every
// batch is full, and every example comes once in each epoch.
//
// The order of an epoch is a pure function of (seed, epoch). It needs only Philox and integers, so
// it is the same on every platform. (std::shuffle's order is not.)

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "typeflow/data/labeled_images.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct BatchOptions {
  std::int64_t size = 100;  ///< examples in a batch
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< false: the order of the data set in every epoch
};

namespace detail {

/// Throws Error unless `taken` is a possible number of batches of this size.
void check_taken(const char* sampler, std::int64_t taken, std::int64_t size);

}  // namespace detail

/// Chooses the examples of each batch. Only one thread at a time may use it.
class BatchSampler {
 public:
  /// Throws Error if there are no examples or the batch size is below 1.
  explicit BatchSampler(std::int64_t examples, BatchOptions options = {});

  /// The numbers of the next batch's examples, (size). The span is valid until the next call.
  std::span<const std::int64_t> next();

  /// The number of epochs completed. As in TensorFlow, an epoch that ends exactly with a batch
  /// counts when the next batch is taken.
  std::int64_t epochs_completed() const { return epochs_completed_; }

  /// The number of batches taken so far.
  std::int64_t taken() const { return taken_; }
  /// Goes forwards or backwards to the position after `taken` batches. Throws Error if that is
  /// negative.
  void seek(std::int64_t taken);
  /// The settings that decide the order: "55000 examples, batches of 100, shuffled by seed 1".
  std::string settings() const;

 private:
  void start_epoch();

  BatchOptions options_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> batch_;
  std::size_t position_ = 0;
  std::int64_t epochs_completed_ = 0;
  std::int64_t taken_ = 0;
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

/// An endless sequence of batches of a data set, which must outlive it. Only one thread at a time
/// may use it.
class Batches {
 public:
  explicit Batches(const LabeledImages& data, BatchOptions options = {})
      : data_(&data), sampler_(data.size(), options) {}
  explicit Batches(LabeledImages&&, BatchOptions = {}) = delete;  // it would dangle

  /// The next batch, in buffers that the next call overwrites.
  LabeledBatch next();

  /// See BatchSampler::epochs_completed.
  std::int64_t epochs_completed() const { return sampler_.epochs_completed(); }
  /// See BatchSampler::taken, seek and settings.
  std::int64_t taken() const { return sampler_.taken(); }
  void seek(std::int64_t taken) { sampler_.seek(taken); }
  std::string settings() const { return sampler_.settings(); }

 private:
  const LabeledImages* data_;
  BatchSampler sampler_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::vector<float> one_hot_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/batches.ipp"
#endif
