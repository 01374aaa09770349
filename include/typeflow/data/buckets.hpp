// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batches of sequences of similar lengths. Each sequence goes into the first bucket whose bound is
// not below its length. A batch has sequences of one bucket, padded to the bucket's bound. So a
// sequence of 8 words runs through 10 unrolled steps, for example, instead of 100.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct BucketOptions {
  std::vector<std::int64_t> bounds;  ///< the longest length of each bucket, ascending
  std::int64_t size = 32;            ///< sequences in a batch
  std::uint64_t seed = 1;
  bool shuffle = true;        ///< shuffles each bucket, and the batches, anew in each epoch
  bool drop_smaller = false;  ///< leaves out a bucket's last batch if it is not full
};

/// A batch of one bucket; valid until the next one is taken.
template <class T>
struct BucketBatch {
  std::size_t bucket = 0;                 ///< its index in BucketOptions::bounds
  std::int64_t bound = 0;                 ///< the extent of the time axis
  std::span<const std::int64_t> samples;  ///< (B), the numbers of the sequences
  std::span<const T> values;              ///< (B,bound), row-major
  std::span<const std::int32_t> lengths;  ///< (B)
};

namespace detail {

/// The order of the batches. It depends on the lengths of the sequences and the options only.
class BucketOrder {
 public:
  BucketOrder(const std::vector<std::int64_t>& lengths, BucketOptions options);

  struct Batch {
    std::size_t bucket;
    std::int64_t bound;
    std::span<const std::int64_t> samples;
  };
  Batch next();

  std::int64_t batches() const { return static_cast<std::int64_t>(batches_.size()); }
  std::int64_t epochs_completed() const { return epochs_completed_; }
  std::int64_t taken() const { return taken_; }
  void seek(std::int64_t taken);
  std::string settings() const;

 private:
  struct Place {  // a batch: its bucket, and the position of its first member
    std::size_t bucket;
    std::size_t first;
  };

  void check_options() const;
  std::size_t bucket_of(std::size_t sequence, std::int64_t length) const;
  void start_epoch();
  /// Fisher-Yates shuffle. Seed, epoch and `number` choose the random numbers.
  template <class U>
  void shuffle(std::vector<U>& list, std::size_t number) const;

  std::size_t sequences_;
  BucketOptions options_;
  std::vector<std::vector<std::int64_t>> members_;  // by bucket
  std::vector<Place> batches_;
  std::size_t position_ = 0;
  std::int64_t epochs_completed_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace detail

/// An endless sequence of batches of the given sequences, which must outlive it. Only one thread at
/// a time may use it.
template <class T>
class Buckets {
 public:
  /// Throws Error if bounds are missing or do not ascend, if a sequence is longer than the last
  /// bound, or if there would be no batch.
  explicit Buckets(std::span<const std::vector<T>> sequences, BucketOptions options,
                   T padding = T{})
      : sequences_(sequences),
        order_(lengths_of(sequences), std::move(options)),
        padding_(padding) {}

  template <std::same_as<std::vector<std::vector<T>>> Sequences>
  explicit Buckets(Sequences&&, BucketOptions, T = T{}) = delete;  // it would dangle

  /// The next batch, in buffers that the next call overwrites.
  BucketBatch<T> next() {
    const detail::BucketOrder::Batch next_batch = order_.next();
    const auto bound = static_cast<std::size_t>(next_batch.bound);
    values_.clear();
    lengths_.clear();
    for (const std::int64_t sample : next_batch.samples) {
      const std::vector<T>& sequence = sequences_[static_cast<std::size_t>(sample)];
      values_.insert(values_.end(), sequence.begin(), sequence.end());
      lengths_.push_back(static_cast<std::int32_t>(sequence.size()));
      values_.resize(lengths_.size() * bound, padding_);
    }
    return {next_batch.bucket, next_batch.bound, next_batch.samples, values_, lengths_};
  }

  /// The number of batches in an epoch.
  std::int64_t batches() const { return order_.batches(); }
  /// The number of epochs completed. An epoch counts when the next one's first batch is taken.
  std::int64_t epochs_completed() const { return order_.epochs_completed(); }

  /// The number of batches taken so far.
  std::int64_t taken() const { return order_.taken(); }
  /// Goes forwards or backwards to the position after `taken` batches. Throws Error if `taken` is
  /// negative.
  void seek(std::int64_t taken) { order_.seek(taken); }
  /// The settings that decide the order:
  /// "900 sequences, bounds 10 20, batches of 32, shuffled by seed 1".
  std::string settings() const { return order_.settings(); }

 private:
  static std::vector<std::int64_t> lengths_of(std::span<const std::vector<T>> sequences) {
    std::vector<std::int64_t> lengths;
    for (const std::vector<T>& sequence : sequences) {
      lengths.push_back(static_cast<std::int64_t>(sequence.size()));
    }
    return lengths;
  }

  std::span<const std::vector<T>> sequences_;
  detail::BucketOrder order_;
  T padding_;
  std::vector<T> values_;
  std::vector<std::int32_t> lengths_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/buckets.ipp"
#endif
