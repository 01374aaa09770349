// SPDX-License-Identifier: Apache-2.0
#pragma once

// A session's iterator: the dataset that it is bound to, and the place there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/iterators/elements.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What session.iterator<"name">() of a tf::DataSession gives. Several threads may use it and run
/// the session meanwhile: each element goes to one run. Members other than is_bound() throw Error
/// if no dataset is bound.
class BoundIterator {
 public:
  explicit BoundIterator(std::string_view name) : name_(name) {}
  BoundIterator(const BoundIterator&) = delete;
  BoundIterator& operator=(const BoundIterator&) = delete;

  bool is_bound() const {
    const std::lock_guard lock(mutex_);
    return source_ != nullptr;
  }

  /// The position, which Checkpoints save: the number of elements that runs have used. After
  /// restart() it is 2^40 for each earlier epoch, and the number of elements of this one. It counts
  /// elements of runs that go on.
  std::int64_t taken() const {
    const std::lock_guard lock(mutex_);
    check();
    return epoch_ * epoch_unit + taken_ - static_cast<std::int64_t>(returned_.size());
  }
  /// Goes to a position that taken() gave, as DatasetIterator::seek does. If it throws, the
  /// position stays.
  void seek(std::int64_t taken) {
    detail::check_count("BoundIterator::seek", "a position", 0, taken);
    const std::lock_guard lock(mutex_);
    go_to(taken / epoch_unit, taken % epoch_unit);
  }
  /// Begins the next epoch: the dataset from its first element on, with another order if it is
  /// shuffled, the one that Dataset::repeat would give it. Binding it again gives the first order.
  void restart() {
    const std::lock_guard lock(mutex_);
    go_to(epoch_ + 1, 0);
  }
  /// The same if a run has found the end of the dataset. Returns whether one has.
  bool restart_if_ended() {
    const std::lock_guard lock(mutex_);
    if (!ended_) return false;
    go_to(epoch_ + 1, 0);
    return true;
  }
  /// Drops the elements of runs that have failed, which the next runs would get. Returns their
  /// number.
  std::int64_t discard() {
    const std::lock_guard lock(mutex_);
    check();
    return static_cast<std::int64_t>(std::exchange(returned_, {}).size());
  }

  // For DataSession.

  /// Reads another dataset, from its first element on.
  void bind(std::unique_ptr<detail::ElementSource> source) {
    const std::lock_guard lock(mutex_);
    source_ = std::move(source);
    begin(0, 0);
  }
  /// An element for a run: one that has been put back, or the next one. OutOfRange at the end.
  detail::TakenElement take() {
    const std::lock_guard lock(mutex_);
    check();
    returned_.reserve(returned_.size() + running_ + 1);  // put_back() must not fail
    if (!returned_.empty()) {
      const auto first = std::ranges::min_element(returned_, {}, &detail::TakenElement::number);
      detail::TakenElement element = std::move(*first);
      returned_.erase(first);
      ++running_;
      return element;
    }
    std::optional<detail::TakenElement> element = source_->next();
    if (!element) {
      ended_ = true;
      throw OutOfRange("iterator '" + name_ + "'", "its dataset has come to its end");
    }
    element->number = taken_++;
    element->generation = generation_;
    ++running_;
    return std::move(*element);
  }
  /// The run has used its element.
  void finish() {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  /// The run has failed: the next one gets the element.
  void put_back(detail::TakenElement&& element) noexcept {
    const std::lock_guard lock(mutex_);
    --running_;
    if (element.generation == generation_) returned_.push_back(std::move(element));
  }

 private:
  static constexpr std::int64_t epoch_unit = std::int64_t{1} << 40;

  void check() const {
    if (source_ != nullptr) return;
    throw Error("iterator '" + name_ + "'",
                "a dataset, which session.bind<\"" + name_ + "\">(dataset) gives it", "none");
  }
  void go_to(std::int64_t epoch, std::int64_t taken) {
    check();
    source_->open(static_cast<std::uint64_t>(epoch), taken);
    begin(epoch, taken);
  }
  void begin(std::int64_t epoch, std::int64_t taken) {
    epoch_ = epoch;
    taken_ = taken;
    ended_ = false;
    returned_.clear();
    ++generation_;
  }

  const std::string name_;
  mutable std::mutex mutex_;  // guards all below
  std::unique_ptr<detail::ElementSource> source_;
  std::int64_t epoch_ = 0;
  std::int64_t taken_ = 0;  // from the dataset, in this epoch
  std::uint64_t generation_ = 0;
  bool ended_ = false;
  std::vector<detail::TakenElement> returned_;  // by runs that have failed
  std::size_t running_ = 0;                     // runs that have an element
};

}  // namespace typeflow::inline TYPEFLOW_ISA
