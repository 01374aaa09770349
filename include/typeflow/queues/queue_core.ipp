// SPDX-License-Identifier: Apache-2.0
#pragma once

// The code of queues.

#include <algorithm>
#include <cstring>

#include "typeflow/core/philox.hpp"
#include "typeflow/queues/queue_core.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

namespace queue {

/// Copies an item into the corner of a larger one, and sets the rest to zero.
inline void copy_padded(std::byte* to, const std::byte* from, const std::int64_t* extents,
                        const ItemLayout& item) {
  const int rank = item.dims.rank;
  std::memset(to, 0, static_cast<std::size_t>(item.bytes));
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < rank; ++i) rows *= extents[i];
  const std::int64_t row_bytes = extents[rank - 1] * item.element_size;
  if (row_bytes == 0) return;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t rest = row;
    std::int64_t offset = 0;
    std::int64_t stride = item.dims.extent[rank - 1] * item.element_size;
    for (int i = rank - 2; i >= 0; --i) {
      offset += rest % extents[i] * stride;
      rest /= extents[i];
      stride *= item.dims.extent[i];
    }
    std::memcpy(to + offset, from + row * row_bytes, static_cast<std::size_t>(row_bytes));
  }
}
/// The bytes of an item before it is padded.
inline std::int64_t given_bytes(const ItemLayout& item, const std::int64_t* extents) {
  if (item.varying == 0) return item.bytes;
  std::int64_t bytes = item.element_size;
  for (int i = 0; i < item.dims.rank; ++i) bytes *= extents[i];
  return bytes;
}
/// The order of a heap whose first entry leaves first.
template <class Entry>
bool leaves_later(const Entry& a, const Entry& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.number > b.number;
}
inline int varying_axes(const ItemLayout& item) {
  int count = 0;
  for (int i = 0; i < item.dims.rank; ++i) count += static_cast<int>(item.varying >> i & 1u);
  return count;
}

}  // namespace queue

TYPEFLOW_DEFINITION QueueCore::QueueCore(std::string_view path, const QueueSettings& settings,
                                         std::span<const ItemLayout> items)
    : path_(path),
      settings_(settings),
      items_(items.begin(), items.end()),
      string_items_(string_items(items_)) {
  const auto capacity = static_cast<std::size_t>(settings.capacity);
  for (const ItemLayout& item : items_) {
    memory_.emplace_back(new std::byte[capacity * static_cast<std::size_t>(item.bytes)]);
    const auto axes = static_cast<std::size_t>(queue::varying_axes(item));
    item_lengths_.emplace_back(axes == 0 ? nullptr : new std::int64_t[capacity * axes]);
    strings_.emplace_back(item.is_string ? new ItemCharacters[capacity] : nullptr);
  }
  if (settings.order == QueueOrder::fifo) return;
  slots_.resize(capacity);
  for (std::size_t i = 0; i < capacity; ++i) slots_[i] = static_cast<std::int32_t>(i);
  if (settings.order == QueueOrder::priority) heap_.reserve(capacity);
}

TYPEFLOW_DEFINITION std::string QueueCore::title() const { return "queue '" + path_ + "'"; }

TYPEFLOW_DEFINITION std::int64_t QueueCore::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}
TYPEFLOW_DEFINITION bool QueueCore::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}
TYPEFLOW_DEFINITION void QueueCore::close(CloseOptions options) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (options.cancel_pending_enqueues) pending_.clear();
  }
  elements_.notify();
  room_.notify();
}

TYPEFLOW_DEFINITION void QueueCore::check_extents(const ItemSource* sources) const {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const ItemLayout& item = items_[i];
    for (int axis = 0; axis < item.dims.rank && item.varying != 0; ++axis) {
      const std::int64_t given = sources[i].extents[axis];
      const std::int64_t most = item.dims.extent[axis];
      const bool varies = (item.varying >> axis & 1u) != 0;
      if (varies ? given <= most : given == most) continue;
      throw Error(title(),
                  (varies ? "at most " : "") + std::to_string(most) + " along axis " +
                      std::to_string(axis) + " of item " + std::to_string(i),
                  std::to_string(given));
    }
  }
}

TYPEFLOW_DEFINITION bool QueueCore::is_pending(const Enqueuer& by) const {
  if (by.who == nullptr) return false;
  for (const Pending& p : pending_) {
    if (p.who == by.who && p.step == by.step) return true;
  }
  return false;
}
TYPEFLOW_DEFINITION void QueueCore::remove_pending(const Enqueuer& by) noexcept {
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].who != by.who || pending_[i].step != by.step) continue;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    if (by.run != nullptr) by.run->let_go(this);
    return;
  }
}
TYPEFLOW_DEFINITION void QueueCore::withdraw(const void* who) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::erase_if(pending_, [&](const Pending& p) { return p.who == who; }) == 0) return;
  }
  elements_.notify();  // those that waited for its elements
}
TYPEFLOW_DEFINITION bool QueueCore::expects_elements() const {
  for (const Pending& p : pending_) {
    if (p.count <= settings_.capacity - size_) return true;
  }
  return false;
}

TYPEFLOW_DEFINITION bool QueueCore::try_enqueue(const ItemSource* sources, std::int64_t count,
                                                const Enqueuer& by) {
  check_extents(sources);
  if (count > settings_.capacity) {
    throw Error(title(), "at most " + std::to_string(settings_.capacity) + " elements at once",
                std::to_string(count));
  }
  {
    const std::lock_guard lock(mutex_);
    const bool waited = !pending_.empty() && is_pending(by);
    if (closed_ && !waited) throw Cancelled(title(), "is closed, so nothing can be enqueued");
    if (count > settings_.capacity - size_) {
      if (!waited && by.who != nullptr) {
        if (by.run != nullptr) by.run->hold(this, &QueueCore::release_run);
        pending_.push_back({by.who, by.step, count});
      }
      return false;
    }
    std::vector<ItemCharacters> strings = copy_strings(sources, count);
    for (std::int64_t i = 0; i < count; ++i) {
      store(sources, i, strings.data() + static_cast<std::size_t>(i) * string_items_);
    }
    if (waited) remove_pending(by);
  }
  elements_.notify();
  return true;
}

TYPEFLOW_DEFINITION std::int64_t QueueCore::try_dequeue(const ItemTarget* targets,
                                                        std::int64_t least, std::int64_t most,
                                                        Characters& characters) {
  std::int64_t count = most;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t kept = closed_ ? 0 : settings_.min_after_dequeue;
    if (most > size_ - kept) {
      if (!closed_ || expects_elements()) return must_wait;
      if (size_ < least) return at_end;
      count = std::min(most, size_);
    }
    if (string_items_ > 0) characters.reserve(static_cast<std::size_t>(count) * string_items_);
    for (std::int64_t i = 0; i < count; ++i) load(targets, i, characters);
  }
  room_.notify();
  return count;
}
TYPEFLOW_DEFINITION void QueueCore::clear_rows(const ItemTarget* targets, std::int64_t first,
                                               std::int64_t end) const {
  const auto rows = static_cast<std::size_t>(end - first);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const ItemLayout& item = items_[i];
    std::memset(static_cast<std::byte*>(targets[i].data) + first * item.bytes, 0,
                rows * static_cast<std::size_t>(item.bytes));
    const int axes = queue::varying_axes(item);
    if (axes > 0) std::fill_n(targets[i].lengths + first * axes, (end - first) * axes, 0);
  }
}
TYPEFLOW_DEFINITION void QueueCore::fail_at_end(std::int64_t wanted) const {
  throw OutOfRange(title(), std::to_string(wanted) + (wanted == 1 ? " element" : " elements"),
                   "a closed queue with " + std::to_string(size()));
}

TYPEFLOW_DEFINITION std::int64_t QueueCore::slot_for(std::int64_t priority) {
  const std::int64_t number = size_++;
  if (settings_.order == QueueOrder::fifo) {
    const std::int64_t slot = head_ + number;
    return slot < settings_.capacity ? slot : slot - settings_.capacity;
  }
  const std::int32_t slot = slots_[static_cast<std::size_t>(number)];
  if (settings_.order == QueueOrder::priority) {
    heap_.push_back({priority, number_++, slot});
    std::push_heap(heap_.begin(), heap_.end(), &queue::leaves_later<Entry>);
  }
  return slot;
}
TYPEFLOW_DEFINITION std::int64_t QueueCore::next_slot() {
  const std::int64_t rest = --size_;
  if (settings_.order == QueueOrder::fifo) {
    const std::int64_t slot = head_;
    if (++head_ == settings_.capacity) head_ = 0;
    return slot;
  }
  const auto last = static_cast<std::size_t>(rest);
  if (settings_.order == QueueOrder::shuffle) {
    const auto i =
        static_cast<std::size_t>(integer_element(settings_.seed, 0, number_++, last + 1));
    std::swap(slots_[i], slots_[last]);
    return slots_[last];
  }
  std::pop_heap(heap_.begin(), heap_.end(), &queue::leaves_later<Entry>);
  const std::int32_t slot = heap_.back().slot;
  heap_.pop_back();
  return slots_[last] = slot;
}

TYPEFLOW_DEFINITION std::vector<ItemCharacters> QueueCore::copy_strings(const ItemSource* sources,
                                                                        std::int64_t count) const {
  std::vector<ItemCharacters> out;
  if (string_items_ == 0) return out;
  out.reserve(static_cast<std::size_t>(count) * string_items_);
  for (std::int64_t element = 0; element < count; ++element) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].is_string) continue;
      const std::int64_t bytes = queue::given_bytes(items_[i], sources[i].extents);
      out.push_back(
          copy_characters(static_cast<const std::byte*>(sources[i].data) + element * bytes,
                          bytes / items_[i].element_size));
    }
  }
  return out;
}

TYPEFLOW_DEFINITION void QueueCore::store(const ItemSource* sources, std::int64_t element,
                                          ItemCharacters* strings) {
  std::int64_t priority = 0;
  if (settings_.order == QueueOrder::priority) {
    priority = static_cast<const std::int64_t*>(sources[0].data)[element];
  }
  const std::int64_t slot = slot_for(priority);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const ItemLayout& item = items_[i];
    const std::int64_t bytes = queue::given_bytes(item, sources[i].extents);
    const std::byte* from = static_cast<const std::byte*>(sources[i].data) + element * bytes;
    if (item.varying == 0) {
      std::memcpy(at(i, slot), from, static_cast<std::size_t>(bytes));
    } else {
      queue::copy_padded(at(i, slot), from, sources[i].extents, item);
    }
    if (item.is_string) {
      ItemCharacters& own = strings_[i][static_cast<std::size_t>(slot)];
      own = std::move(*strings++);
      refer_to(own.get(), at(i, slot), item.bytes / item.element_size);
    }
    std::int64_t* length = item_lengths_[i].get() + slot * queue::varying_axes(item);
    for (int axis = 0; axis < item.dims.rank; ++axis) {
      if ((item.varying >> axis & 1u) != 0) *length++ = sources[i].extents[axis];
    }
  }
}
TYPEFLOW_DEFINITION void QueueCore::load(const ItemTarget* targets, std::int64_t element,
                                         Characters& characters) {
  const std::int64_t slot = next_slot();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const ItemLayout& item = items_[i];
    std::memcpy(static_cast<std::byte*>(targets[i].data) + element * item.bytes, at(i, slot),
                static_cast<std::size_t>(item.bytes));
    if (item.is_string) hand_over(strings_[i][static_cast<std::size_t>(slot)], characters);
    if (item.varying == 0) continue;
    const int axes = queue::varying_axes(item);
    std::copy_n(item_lengths_[i].get() + slot * axes, axes, targets[i].lengths + element * axes);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
