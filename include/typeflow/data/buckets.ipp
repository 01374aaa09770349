// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/philox.hpp"
#include "typeflow/data/batches.hpp"
#include "typeflow/data/buckets.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

TYPEFLOW_DEFINITION BucketOrder::BucketOrder(const std::vector<std::int64_t>& lengths,
                                             BucketOptions options)
    : sequences_(lengths.size()), options_(std::move(options)) {
  check_options();
  members_.resize(options_.bounds.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    members_[bucket_of(i, lengths[i])].push_back(static_cast<std::int64_t>(i));
  }
  start_epoch();
  if (batches_.empty()) {
    throw Error("buckets", "sequences for one batch at least",
                std::to_string(lengths.size()) + " sequences");
  }
}

TYPEFLOW_DEFINITION BucketOrder::Batch BucketOrder::next() {
  if (position_ == batches_.size()) {
    ++epochs_completed_;
    start_epoch();
  }
  const Place place = batches_[position_++];
  ++taken_;
  const std::span<const std::int64_t> all = members_[place.bucket];
  const std::size_t last =
      std::min(all.size(), place.first + static_cast<std::size_t>(options_.size));
  return {place.bucket, options_.bounds[place.bucket],
          all.subspan(place.first, last - place.first)};
}

TYPEFLOW_DEFINITION void BucketOrder::seek(std::int64_t taken) {
  check_taken("buckets", taken, 1);
  epochs_completed_ = taken == 0 ? 0 : (taken - 1) / batches();
  start_epoch();
  position_ = static_cast<std::size_t>(taken - epochs_completed_ * batches());
  taken_ = taken;
}

TYPEFLOW_DEFINITION std::string BucketOrder::settings() const {
  std::string text = std::to_string(sequences_) + " sequences, bounds";
  for (const std::int64_t bound : options_.bounds) text += ' ' + std::to_string(bound);
  text += ", batches of " + std::to_string(options_.size);
  if (options_.drop_smaller) text += " and no smaller ones";
  return text +
         (options_.shuffle ? ", shuffled by seed " + std::to_string(options_.seed) : ", in order");
}

TYPEFLOW_DEFINITION void BucketOrder::check_options() const {
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

TYPEFLOW_DEFINITION std::size_t BucketOrder::bucket_of(std::size_t sequence,
                                                       std::int64_t length) const {
  const auto& bounds = options_.bounds;
  const auto found = std::lower_bound(bounds.begin(), bounds.end(), length);
  if (found == bounds.end()) {
    throw Error("buckets: sequence " + std::to_string(sequence),
                "a length of at most " + std::to_string(bounds.back()), std::to_string(length));
  }
  return static_cast<std::size_t>(found - bounds.begin());
}

template <class U>
void BucketOrder::shuffle(std::vector<U>& list, std::size_t number) const {
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

TYPEFLOW_DEFINITION void BucketOrder::start_epoch() {
  position_ = 0;
  batches_.clear();
  for (std::size_t bucket = 0; bucket < members_.size(); ++bucket) {
    // From the order of the data set, so that an epoch's order depends on no other epoch.
    if (options_.shuffle) std::ranges::sort(members_[bucket]);
    shuffle(members_[bucket], bucket + 1);
    const auto size = static_cast<std::size_t>(options_.size);
    for (std::size_t first = 0; first < members_[bucket].size(); first += size) {
      if (options_.drop_smaller && members_[bucket].size() - first < size) break;
      batches_.push_back({bucket, first});
    }
  }
  shuffle(batches_, 0);
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
