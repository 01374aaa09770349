// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sequences of many lengths in batches of about one: each goes into the first bucket whose bound is
// not below its length, batches are of one bucket, and their sequences are padded to its bound. So
// a net that is unrolled to a bound of 10 need not run the samples of a bound of 100.

#include <algorithm>
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

namespace typeflow::inline TYPEFLOW_TARGET {

struct BucketOptions {
  std::vector<std::int64_t> bounds;  ///< the longest length of each bucket, ascending
  std::int64_t size = 32;            ///< sequences in a batch
  std::uint64_t seed = 1;
  bool shuffle = true;        ///< sequences within buckets and batches, anew in each epoch
  bool drop_smaller = false;  ///< whether what is less than a batch at a bucket's end is left out
};

/// A batch of one bucket; valid until the next one is taken.
template <class T>
struct BucketBatch {
  std::size_t bucket = 0;                 ///< its number in BucketOptions::bounds
  std::int64_t bound = 0;                 ///< the extent of the time axis
  std::span<const std::int64_t> samples;  ///< (B), which sequences these are
  std::span<const T> values;              ///< (B,bound), row-major
  std::span<const std::int32_t> lengths;  ///< (B)
};

/// An endless row of batches of sequences, which must outlive it. Use one from one thread at a
/// time.
template <class T>
class Buckets {
 public:
  /// Throws Error if bounds are missing or do not ascend, if a sequence is longer than the last
  /// one, or if there would be no batch.
  explicit Buckets(std::span<const std::vector<T>> sequences, BucketOptions options,
                   T padding = T{})
      : sequences_(sequences), options_(std::move(options)), padding_(padding) {
    check_options();
    members_.resize(options_.bounds.size());
    for (std::size_t i = 0; i < sequences.size(); ++i) members_[bucket_of(i)].push_back(as_int(i));
    start_epoch();
    if (batches_.empty()) {
      throw Error("buckets", "sequences for one batch at least",
                  std::to_string(sequences.size()) + " sequences");
    }
  }

  /// The next batch, in buffers that the next call overwrites.
  BucketBatch<T> next() {
    if (position_ == batches_.size()) {
      ++epochs_completed_;
      start_epoch();
    }
    const Place place = batches_[position_++];
    const auto& all = members_[place.bucket];
    const std::size_t last =
        std::min(all.size(), place.first + static_cast<std::size_t>(options_.size));
    const auto samples = std::span(all).subspan(place.first, last - place.first);
    fill(samples, options_.bounds[place.bucket]);
    return {place.bucket, options_.bounds[place.bucket], samples, values_, lengths_};
  }

  /// How many batches an epoch has.
  std::int64_t batches() const { return as_int(batches_.size()); }
  /// Epochs that batches have gone past.
  std::int64_t epochs_completed() const { return epochs_completed_; }

 private:
  struct Place {  // of a batch: a bucket, and the first of its members
    std::size_t bucket;
    std::size_t first;
  };
  static std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

  void check_options() const {
    const auto& bounds = options_.bounds;
    if (bounds.empty()) throw Error("buckets", "one bound or more", "none");
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (bounds[i] < 1 || (i > 0 && bounds[i] <= bounds[i - 1])) {
        throw Error("buckets", "bounds of 1 or more that ascend",
                    std::to_string(bounds[i]) + " as bound " + std::to_string(i));
      }
    }
    if (options_.size < 1) {
      throw Error("buckets", "a batch size of 1 or more", std::to_string(options_.size));
    }
    if (bounds.back() > std::numeric_limits<std::int32_t>::max()) {
      throw Error("buckets", "bounds that 31 bits can count", std::to_string(bounds.back()));
    }
  }
  std::size_t bucket_of(std::size_t sequence) const {
    const std::int64_t length = as_int(sequences_[sequence].size());
    const auto& bounds = options_.bounds;
    const auto found = std::lower_bound(bounds.begin(), bounds.end(), length);
    if (found == bounds.end()) {
      throw Error("buckets: sequence " + std::to_string(sequence),
                  "a length of at most " + std::to_string(bounds.back()), std::to_string(length));
    }
    return static_cast<std::size_t>(found - bounds.begin());
  }

  void start_epoch() {
    position_ = 0;
    batches_.clear();
    for (std::size_t bucket = 0; bucket < members_.size(); ++bucket) {
      shuffle(members_[bucket], bucket + 1);
      const auto size = static_cast<std::size_t>(options_.size);
      for (std::size_t first = 0; first < members_[bucket].size(); first += size) {
        if (options_.drop_smaller && members_[bucket].size() - first < size) break;
        batches_.push_back({bucket, first});
      }
    }
    shuffle(batches_, 0);
  }
  /// Fisher and Yates's shuffle, from the order of the epoch before, by the seed, the epoch and the
  /// number of the list.
  template <class U>
  void shuffle(std::vector<U>& list, std::size_t number) const {
    if (!options_.shuffle) return;
    constexpr std::uint64_t path = 0x6275636b65747321;  // "buckets!"
    const std::uint64_t key = random_key(options_.seed, path + number);
    const auto epoch = static_cast<std::uint64_t>(epochs_completed_);
    for (std::size_t i = list.size(); i-- > 1;) {
      const Philox random = Philox::generate(key, i, epoch);
      const std::uint64_t bits = std::uint64_t{random.word[0]} << 32 | random.word[1];
      std::swap(list[i], list[bits % (i + 1)]);  // the bias is below i / 2^64
    }
  }
  void fill(std::span<const std::int64_t> samples, std::int64_t bound) {
    values_.assign(samples.size() * static_cast<std::size_t>(bound), padding_);
    lengths_.clear();
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const std::vector<T>& sequence = sequences_[static_cast<std::size_t>(samples[row])];
      std::copy(sequence.begin(), sequence.end(), values_.begin() + as_int(row) * bound);
      lengths_.push_back(static_cast<std::int32_t>(sequence.size()));
    }
  }

  std::span<const std::vector<T>> sequences_;
  BucketOptions options_;
  T padding_;
  std::vector<std::vector<std::int64_t>> members_;  // of each bucket
  std::vector<Place> batches_;
  std::size_t position_ = 0;
  std::int64_t epochs_completed_ = 0;
  std::vector<T> values_;
  std::vector<std::int32_t> lengths_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
