// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cursors of a dataset's groups of elements: windows, and batches of similar lengths.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "typeflow/data/batched.hpp"
#include "typeflow/data/cursor.hpp"
#include "typeflow/data/dataset_options.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Vectors of `size` elements. A window starts `shift` elements behind the one before.
template <class T>
class WindowCursor final : public Cursor<std::vector<T>> {
 public:
  WindowCursor(CursorOf<T> in, std::int64_t size, const WindowOptions& options)
      : in_(std::move(in)),
        options_(options),
        shift_(options.shift == 0 ? size : options.shift),
        span_(static_cast<std::size_t>(std::min(size - 1, most / options.stride) * options.stride) +
              1) {}

  std::optional<std::vector<T>> next() override {
    for (; gap_ > 0; --gap_) {
      if (!in_->next()) return std::nullopt;
    }
    while (held_.size() < span_) {
      std::optional<T> x = in_->next();
      if (!x) break;
      held_.push_back(std::move(*x));
    }
    if (held_.empty() || (options_.drop_smaller && held_.size() < span_)) return std::nullopt;
    std::vector<T> out;
    for (std::size_t i = 0; i < held_.size(); i += static_cast<std::size_t>(options_.stride)) {
      out.push_back(held_[i]);
    }
    const auto leaves = std::min(held_.size(), static_cast<std::size_t>(shift_));
    gap_ = shift_ - static_cast<std::int64_t>(leaves);
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(leaves));
    return out;
  }

 private:
  CursorOf<T> in_;
  WindowOptions options_;
  std::int64_t shift_;
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::size_t span_;  // from a window's first element to its last
  std::vector<T> held_;
  std::int64_t gap_ = 0;  // elements left out between windows that do not touch
};

/// Padded batches, each of elements whose lengths are in one bucket. Its options are valid.
template <class T, class F>
class BucketCursor final : public Cursor<Padded<T>> {
 public:
  BucketCursor(CursorOf<T> in, const F& length_of, const BucketByLengthOptions& options)
      : in_(std::move(in)),
        length_of_(length_of),
        options_(options),
        held_(options.bounds.size() + 1) {}

  std::optional<Padded<T>> next() override {
    while (!ended_) {
      std::optional<T> x = in_->next();
      if (!x) {
        ended_ = true;
        break;
      }
      const auto length = static_cast<std::int64_t>(length_of_(std::as_const(*x)));
      std::size_t b = 0;
      while (b < options_.bounds.size() && length >= options_.bounds[b]) ++b;
      held_[b].push_back(std::move(*x));
      if (static_cast<std::int64_t>(held_[b].size()) == options_.sizes[b]) return take(held_[b]);
    }
    for (; at_ < held_.size() && !options_.drop_smaller; ++at_) {
      if (!held_[at_].empty()) return take(held_[at_]);
    }
    return std::nullopt;
  }

 private:
  Padded<T> take(std::vector<T>& bucket) const {
    PaddedBatchOf<T> group(PaddingValue{options_.padding, options_.text_padding});
    group.begin(bucket.size());
    for (T& x : bucket) group.add(std::move(x));
    bucket.clear();
    return group.take();
  }

  CursorOf<T> in_;
  const F& length_of_;
  const BucketByLengthOptions& options_;
  std::vector<std::vector<T>> held_;
  bool ended_ = false;
  std::size_t at_ = 0;  // the next bucket whose rest is given
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
