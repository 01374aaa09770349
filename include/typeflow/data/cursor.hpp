// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a dataset opens to be read once: a source of elements, or a step that reads another one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "typeflow/core/philox.hpp"
#include "typeflow/data/batched.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Reads the elements of a dataset in order. Only one thread at a time uses it.
template <class T>
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  virtual ~Cursor() = default;

  /// The next element; nothing at the end, and from then on.
  virtual std::optional<T> next() = 0;
  /// Leaves out elements. Steps that need not compute what they leave out say so here.
  virtual void skip(std::int64_t count) {
    while (count-- > 0 && next()) {
    }
  }
};
template <class T>
using CursorOf = std::unique_ptr<Cursor<T>>;

/// Opens a dataset. The epoch counts how often a repeat has opened it before: shuffles have another
/// order each time.
template <class T>
using Opener = std::function<CursorOf<T>(std::uint64_t epoch)>;

/// A cursor made of a function that gives the next element.
template <class T, class F>
class FunctionCursor final : public Cursor<T> {
 public:
  explicit FunctionCursor(F f) : f_(std::move(f)) {}
  std::optional<T> next() override { return f_(); }

 private:
  F f_;
};
template <class T, class F>
CursorOf<T> cursor_of(F f) {
  return std::make_unique<FunctionCursor<T, F>>(std::move(f));
}

template <class T, class F>
class MapCursor final : public Cursor<std::invoke_result_t<const F&, T>> {
 public:
  MapCursor(CursorOf<T> in, const F& f) : in_(std::move(in)), f_(f) {}
  std::optional<std::invoke_result_t<const F&, T>> next() override {
    std::optional<T> x = in_->next();
    if (!x) return std::nullopt;
    return f_(std::move(*x));
  }
  void skip(std::int64_t count) override { in_->skip(count); }

 private:
  CursorOf<T> in_;
  const F& f_;
};

/// Holds `size` elements, gives one of them at random, and reads the next in its place.
template <class T>
class ShuffleCursor final : public Cursor<T> {
 public:
  ShuffleCursor(CursorOf<T> in, std::size_t size, std::uint64_t seed, std::uint64_t epoch)
      : in_(std::move(in)), size_(size), key_(random_key(seed, path)), epoch_(epoch) {}

  std::optional<T> next() override {
    while (!ended_ && held_.size() < size_) {
      if (std::optional<T> x = in_->next()) {
        held_.push_back(std::move(*x));
      } else {
        ended_ = true;
      }
    }
    if (held_.empty()) return std::nullopt;
    const auto chosen =
        static_cast<std::size_t>(integer_element(key_, epoch_, turn_++, held_.size()));
    std::swap(held_[chosen], held_.back());
    std::optional<T> x = std::move(held_.back());
    held_.pop_back();
    return x;
  }

 private:
  static constexpr std::uint64_t path = 0x73687566666c6521;  // "shuffle!"

  CursorOf<T> in_;
  std::size_t size_;
  std::uint64_t key_;
  std::uint64_t epoch_;
  std::uint64_t turn_ = 0;
  std::vector<T> held_;
  bool ended_ = false;
};

/// Reads a dataset again and again; it ends early if the dataset is empty.
template <class T>
class RepeatCursor final : public Cursor<T> {
 public:
  RepeatCursor(const Opener<T>& open, std::int64_t count, std::uint64_t epoch)
      : open_(open), count_(count), first_(epoch) {}

  std::optional<T> next() override {
    while (count_ < 0 || done_ < count_) {
      if (in_ == nullptr) {
        // Repeats of repeats have epochs of their own.
        in_ = open_(first_ * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(done_));
        gave_ = false;
      }
      if (std::optional<T> x = in_->next()) {
        gave_ = true;
        return x;
      }
      in_.reset();
      ++done_;
      if (!gave_) count_ = done_;
    }
    return std::nullopt;
  }

 private:
  const Opener<T>& open_;
  std::int64_t count_;
  std::uint64_t first_;
  std::int64_t done_ = 0;
  CursorOf<T> in_;
  bool gave_ = false;
};

/// Groups of `size` elements, each made by a `Group` with begin, add and take.
template <class T, class Group>
class BatchCursor final : public Cursor<typename Group::type> {
 public:
  BatchCursor(CursorOf<T> in, std::int64_t size, bool drop_smaller, Group group)
      : in_(std::move(in)), size_(size), drops_(drop_smaller), group_(std::move(group)) {}

  std::optional<typename Group::type> next() override {
    group_.begin(static_cast<std::size_t>(size_));
    std::int64_t count = 0;
    while (count < size_) {
      std::optional<T> x = in_->next();
      if (!x) break;
      group_.add(std::move(*x));
      ++count;
    }
    if (count == 0 || (drops_ && count < size_)) return std::nullopt;
    return group_.take();
  }
  void skip(std::int64_t count) override {
    if (drops_) return Cursor<typename Group::type>::skip(count);
    in_->skip(std::min(count, std::numeric_limits<std::int64_t>::max() / size_) * size_);
  }

 private:
  CursorOf<T> in_;
  std::int64_t size_;
  bool drops_;
  Group group_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
