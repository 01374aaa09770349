// SPDX-License-Identifier: Apache-2.0
#pragma once

// Datasets: sequences of elements, read from files or memory and changed step by step.
//
//   const auto rows = tf::list_files("data/*.csv").flat_map([](const std::string& file) {
//                       return tf::csv_rows<float, float, std::int32_t>(file);
//                     }).shuffle({.buffer = 10000, .seed = 1}).repeat().batch(100).prefetch(2);
//   tf::DatasetIterator batches(rows);
//   while (const auto batch = batches.next()) { const auto& [x, y, label] = *batch; ... }
//
// A dataset is a recipe, which is copied cheaply and never changes. An iterator opens it, and has
// all that changes: files, buffers, threads. Elements are values of any type; tuples have several
// parts. Steps are those of tf.data, and mean the same.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/batched.hpp"
#include "typeflow/data/cursor.hpp"
#include "typeflow/data/dataset_options.hpp"
#include "typeflow/data/grouping_cursors.hpp"
#include "typeflow/data/parallel_cursor.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

template <class T>
class Dataset;

namespace detail {

inline void check_count(const char* call, const char* what, std::int64_t least, std::int64_t got) {
  if (got >= least) return;
  throw Error(call, std::string(what) + " of " + std::to_string(least) + " or more",
              std::to_string(got));
}
template <class T>
struct IsDataset : std::false_type {};
template <class T>
struct IsDataset<Dataset<T>> : std::true_type {};

}  // namespace detail

/// A sequence of elements. See above.
template <class T>
class Dataset {
 public:
  using element = T;

  /// Your own source: `open` makes a cursor, anew for each iterator and each repeat.
  explicit Dataset(detail::Opener<T> open)
      : open_(std::make_shared<const detail::Opener<T>>(std::move(open))) {}

  /// f(x) for each element. With threads, several are computed at once, in order.
  template <class F>
  auto map(F f, const MapOptions& options = {}) const {
    using R = std::invoke_result_t<const F&, T>;
    detail::check_count("Dataset::map", "a number of threads", 1, options.threads);
    return Dataset<R>([in = *this, f = std::move(f),
                       threads = options.threads](std::uint64_t epoch) -> detail::CursorOf<R> {
      if (threads == 1) return std::make_unique<detail::MapCursor<T, F>>(in.open(epoch), f);
      return std::make_unique<detail::ParallelCursor<T, F>>(in.open(epoch), f, threads,
                                                            2 * static_cast<std::size_t>(threads));
    });
  }
  /// The elements x for which f(x) is true.
  template <std::predicate<const T&> F>
  Dataset filter(F f) const {
    return Dataset([in = *this, f = std::move(f)](std::uint64_t epoch) {
      return detail::cursor_of<T>([from = in.open(epoch), &f]() -> std::optional<T> {
        std::optional<T> x = from->next();
        while (x && !f(std::as_const(*x))) x = from->next();
        return x;
      });
    });
  }
  /// The elements of the datasets f(x), one after the other.
  template <class F>
    requires detail::IsDataset<std::invoke_result_t<const F&, T>>::value
  auto flat_map(F f) const {
    return interleave(std::move(f), {.cycle = 1});
  }
  /// The elements of the datasets f(x), several of which are read in turns.
  template <class F>
    requires detail::IsDataset<std::invoke_result_t<const F&, T>>::value
  auto interleave(F f, const InterleaveOptions& options = {}) const {
    using Inner = std::invoke_result_t<const F&, T>;
    using R = typename Inner::element;
    detail::check_count("Dataset::interleave", "a cycle", 1, options.cycle);
    detail::check_count("Dataset::interleave", "a block", 1, options.block);
    return Dataset<R>([in = *this, f = std::move(f), options](std::uint64_t epoch) {
      struct Open {
        std::optional<Inner> dataset;  // must outlive its cursor
        detail::CursorOf<R> cursor;
      };
      return detail::cursor_of<R>(
          [from = in.open(epoch), &f, options, epoch,
           open = std::vector<Open>(static_cast<std::size_t>(options.cycle)), at = std::size_t{0},
           used = std::int64_t{0}, ended = false]() mutable -> std::optional<R> {
            // A place whose dataset has ended is filled when its turn comes, as in tf.data.
            for (std::size_t empty = 0; empty < open.size();) {
              Open& now = open[at];
              if (now.cursor == nullptr && !ended) {
                if (std::optional<T> x = from->next()) {
                  now.dataset.emplace(f(std::move(*x)));
                  now.cursor = now.dataset->open(epoch);
                } else {
                  ended = true;
                }
              }
              if (now.cursor != nullptr) {
                empty = 0;
                if (used < options.block) {
                  if (std::optional<R> x = now.cursor->next()) {
                    ++used;
                    return x;
                  }
                  now.cursor.reset();
                }
              } else {
                ++empty;
              }
              used = 0;
              at = (at + 1) % open.size();
            }
            return std::nullopt;
          });
    });
  }
  /// These elements, then the other's.
  Dataset concatenate(const Dataset& other) const {
    return Dataset([first = *this, other](std::uint64_t epoch) {
      return detail::cursor_of<T>(
          [&other, epoch, from = first.open(epoch), is_second = false]() mutable {
            std::optional<T> x = from->next();
            if (x || is_second) return x;
            is_second = true;
            from = other.open(epoch);
            return from->next();
          });
    });
  }
  /// An order by chance, which seed, buffer and the epoch of a repeat decide, the same on each
  /// machine. All orders are equally likely if the buffer holds all elements.
  Dataset shuffle(const ShuffleOptions& options = {}) const {
    detail::check_count("Dataset::shuffle", "a buffer", 1, options.buffer);
    return Dataset([in = *this, options](std::uint64_t epoch) -> detail::CursorOf<T> {
      return std::make_unique<detail::ShuffleCursor<T>>(
          in.open(epoch), static_cast<std::size_t>(options.buffer), options.seed,
          options.reshuffle ? epoch : 0);
    });
  }
  /// The elements `count` times; without a count, again and again.
  Dataset repeat(std::int64_t count = -1) const {
    return Dataset([in = *this, count](std::uint64_t epoch) -> detail::CursorOf<T> {
      return std::make_unique<detail::RepeatCursor<T>>(*in.open_, count, epoch);
    });
  }
  /// Batches of `size` elements (see Batched). The last one may be smaller.
  Dataset<Batched<T>> batch(std::int64_t size, const DatasetBatchOptions& options = {}) const {
    return grouped<detail::BatchOf<T>>("Dataset::batch", size, options.drop_smaller,
                                       detail::BatchOf<T>());
  }
  /// Batches of sequences of different lengths (see Padded).
  Dataset<Padded<T>> padded_batch(std::int64_t size,
                                  const DatasetBatchOptions& options = {}) const {
    return grouped<detail::PaddedBatchOf<T>>(
        "Dataset::padded_batch", size, options.drop_smaller,
        detail::PaddedBatchOf<T>(detail::PaddingValue{options.padding, options.text_padding}));
  }
  /// Padded batches of elements whose lengths, length_of(x), are similar. At the end come the
  /// batches that are not full, in the order of the buckets.
  template <class F>
  Dataset<Padded<T>> bucket_by_length(F length_of, BucketByLengthOptions options) const {
    const std::size_t buckets = options.bounds.size() + 1;
    if (options.sizes.size() == 1) options.sizes.resize(buckets, options.sizes.front());
    if (options.sizes.size() != buckets) {
      throw Error("Dataset::bucket_by_length", std::to_string(buckets) + " sizes, or one",
                  std::to_string(options.sizes.size()));
    }
    for (const std::int64_t size : options.sizes) {
      detail::check_count("Dataset::bucket_by_length", "a batch size", 1, size);
    }
    for (std::size_t i = 1; i < options.bounds.size(); ++i) {
      if (options.bounds[i] > options.bounds[i - 1]) continue;
      throw Error(
          "Dataset::bucket_by_length", "ascending bounds",
          std::to_string(options.bounds[i]) + " after " + std::to_string(options.bounds[i - 1]));
    }
    return Dataset<Padded<T>>(
        [in = *this, length_of = std::move(length_of),
         options = std::move(options)](std::uint64_t epoch) -> detail::CursorOf<Padded<T>> {
          return std::make_unique<detail::BucketCursor<T, F>>(in.open(epoch), length_of, options);
        });
  }
  /// Vectors of `size` elements, which overlap if the shift is smaller.
  Dataset<std::vector<T>> window(std::int64_t size, const WindowOptions& options = {}) const {
    detail::check_count("Dataset::window", "a size", 1, size);
    detail::check_count("Dataset::window", "a shift", 0, options.shift);
    detail::check_count("Dataset::window", "a stride", 1, options.stride);
    return Dataset<std::vector<T>>(
        [in = *this, size, options](std::uint64_t epoch) -> detail::CursorOf<std::vector<T>> {
          return std::make_unique<detail::WindowCursor<T>>(in.open(epoch), size, options);
        });
  }
  /// The same elements, of which a thread reads up to `count` ahead.
  Dataset prefetch(std::int64_t count = 2) const {
    detail::check_count("Dataset::prefetch", "a count", 1, count);
    struct Same {
      T operator()(T x) const { return x; }
    };
    return Dataset([in = *this, same = Same(), count](std::uint64_t epoch) -> detail::CursorOf<T> {
      return std::make_unique<detail::ParallelCursor<T, Same>>(in.open(epoch), same, 1,
                                                               static_cast<std::size_t>(count));
    });
  }
  /// The elements are kept in memory when they have been read to the end once. They stay as long as
  /// a dataset made from this one does.
  Dataset cache() const {
    struct Cache {
      std::mutex mutex;  // guards `elements`
      std::shared_ptr<const std::vector<T>> elements;
    };
    return Dataset([in = *this,
                    cache = std::make_shared<Cache>()](std::uint64_t epoch) -> detail::CursorOf<T> {
      std::shared_ptr<const std::vector<T>> known;
      {
        const std::lock_guard lock(cache->mutex);
        known = cache->elements;
      }
      if (known != nullptr) {
        return detail::cursor_of<T>([known, i = std::size_t{0}]() mutable -> std::optional<T> {
          if (i == known->size()) return std::nullopt;
          return (*known)[i++];
        });
      }
      return detail::cursor_of<T>(
          [from = in.open(epoch), cache, read = std::vector<T>()]() mutable -> std::optional<T> {
            std::optional<T> x = from->next();
            if (x) {
              read.push_back(*x);
              return x;
            }
            const std::lock_guard lock(cache->mutex);
            if (cache->elements == nullptr) {
              cache->elements = std::make_shared<const std::vector<T>>(std::move(read));
            }
            return x;
          });
    });
  }
  /// The first `count` elements.
  Dataset take(std::int64_t count) const {
    detail::check_count("Dataset::take", "a count", 0, count);
    return Dataset([in = *this, count](std::uint64_t epoch) {
      return detail::cursor_of<T>(
          [from = in.open(epoch), left = count]() mutable -> std::optional<T> {
            if (left == 0) return std::nullopt;
            --left;
            return from->next();
          });
    });
  }
  /// The elements after the first `count`.
  Dataset skip(std::int64_t count) const {
    detail::check_count("Dataset::skip", "a count", 0, count);
    return Dataset([in = *this, count](std::uint64_t epoch) {
      detail::CursorOf<T> from = in.open(epoch);
      from->skip(count);
      return from;
    });
  }
  /// Every count-th element, from number `index` on: the part of one of `count` readers.
  Dataset shard(std::int64_t count, std::int64_t index) const {
    detail::check_count("Dataset::shard", "a count", 1, count);
    if (index < 0 || index >= count) {
      throw Error("Dataset::shard", "an index in [0, " + std::to_string(count) + ")",
                  std::to_string(index));
    }
    return Dataset([in = *this, count, index](std::uint64_t epoch) {
      return detail::cursor_of<T>(
          [from = in.open(epoch), count, leave = index]() mutable -> std::optional<T> {
            from->skip(std::exchange(leave, count - 1));
            return from->next();
          });
    });
  }
  /// Pairs of a number, from `first` on, and an element.
  Dataset<std::tuple<std::int64_t, T>> enumerate(std::int64_t first = 0) const {
    using R = std::tuple<std::int64_t, T>;
    return Dataset<R>([in = *this, first](std::uint64_t epoch) {
      return detail::cursor_of<R>([from = in.open(epoch), n = first]() mutable -> std::optional<R> {
        std::optional<T> x = from->next();
        if (!x) return std::nullopt;
        return R(n++, std::move(*x));
      });
    });
  }
  /// f(state, x) returns the new state and an element, as a pair or tuple.
  template <class S, class F>
  auto scan(S initial, F f) const {
    using R = std::tuple_element_t<1, std::invoke_result_t<const F&, S, T>>;
    return Dataset<R>(
        [in = *this, initial = std::move(initial), f = std::move(f)](std::uint64_t epoch) {
          return detail::cursor_of<R>(
              [from = in.open(epoch), state = initial, &f]() mutable -> std::optional<R> {
                std::optional<T> x = from->next();
                if (!x) return std::nullopt;
                auto [next, out] = f(std::move(state), std::move(*x));
                state = std::move(next);
                return std::move(out);
              });
        });
  }

  /// For steps of your own: the elements, from the first on.
  detail::CursorOf<T> open(std::uint64_t epoch = 0) const { return (*open_)(epoch); }

 private:
  template <class Group>
  Dataset<typename Group::type> grouped(const char* call, std::int64_t size, bool drops,
                                        const Group& group) const {
    detail::check_count(call, "a size", 1, size);
    return Dataset<typename Group::type>([in = *this, size, drops, group](std::uint64_t epoch)
                                             -> detail::CursorOf<typename Group::type> {
      return std::make_unique<detail::BatchCursor<T, Group>>(in.open(epoch), size, drops, group);
    });
  }

  std::shared_ptr<const detail::Opener<T>> open_;
};

/// Tuples of the elements of several datasets; it ends with the shortest.
template <class... T>
Dataset<std::tuple<T...>> zip(const Dataset<T>&... parts) {
  using R = std::tuple<T...>;
  return Dataset<R>([all = std::tuple(parts...)](std::uint64_t epoch) {
    auto cursors =
        std::apply([&](const auto&... part) { return std::make_tuple(part.open(epoch)...); }, all);
    return detail::cursor_of<R>([cursors = std::move(cursors)]() -> std::optional<R> {
      return std::apply(
          [](const auto&... cursor) -> std::optional<R> {
            std::tuple<std::optional<T>...> next;
            bool all_there = true;
            [&]<std::size_t... I>(std::index_sequence<I...>) {
              const auto read = [&](auto& to, const auto& from) {
                if (all_there) to = from->next();
                all_there = all_there && to.has_value();
              };
              (read(std::get<I>(next), cursor), ...);
            }(std::index_sequence_for<T...>{});
            if (!all_there) return std::nullopt;
            return std::apply([](auto&... x) { return R(std::move(*x)...); }, next);
          },
          cursors);
    });
  });
}

/// Element i is the next one of the dataset that choices' element i names by its index. It ends
/// with the choices, or with a dataset that is chosen and has ended. Error if an index is none.
template <class T>
Dataset<T> choose_from(std::vector<Dataset<T>> datasets, const Dataset<std::int64_t>& choices) {
  return Dataset<T>([datasets = std::move(datasets), choices](std::uint64_t epoch) {
    std::vector<detail::CursorOf<T>> open;
    for (const Dataset<T>& dataset : datasets) open.push_back(dataset.open(epoch));
    return detail::cursor_of<T>([open = std::move(open), from = choices.open(epoch),
                                 ended = false]() mutable -> std::optional<T> {
      if (ended) return std::nullopt;
      const std::optional<std::int64_t> chosen = from->next();
      if (chosen && (*chosen < 0 || *chosen >= static_cast<std::int64_t>(open.size()))) {
        throw Error("choose_from", "an index in [0, " + std::to_string(open.size()) + ")",
                    std::to_string(*chosen));
      }
      std::optional<T> x;
      if (chosen) x = open[static_cast<std::size_t>(*chosen)]->next();
      ended = !x;
      return x;
    });
  });
}

/// Reads a dataset. Only one thread at a time may use it.
template <class T>
class DatasetIterator {
 public:
  explicit DatasetIterator(const Dataset<T>& dataset)
      : dataset_(dataset), cursor_(dataset_.open()) {}
  DatasetIterator(DatasetIterator&&) noexcept = default;
  DatasetIterator& operator=(DatasetIterator&& other) noexcept {
    cursor_.reset();  // before its dataset
    dataset_ = std::move(other.dataset_);
    cursor_ = std::move(other.cursor_);
    taken_ = other.taken_;
    return *this;
  }

  /// The next element; nothing at the end. What a step or a reader throws comes in the place of its
  /// element.
  std::optional<T> next() {
    std::optional<T> x = cursor_->next();
    taken_ += x.has_value();
    return x;
  }
  /// Elements taken so far: the position, which Checkpoints save.
  std::int64_t taken() const { return taken_; }
  /// Goes to the position after `taken` elements. It opens the dataset again and leaves out what
  /// comes before: maps of single threads compute nothing for it, shuffles read all of it.
  void seek(std::int64_t taken) {
    detail::check_count("DatasetIterator::seek", "a number of elements", 0, taken);
    detail::CursorOf<T> cursor = dataset_.open();  // if this throws, the position stays
    cursor->skip(taken);
    cursor_ = std::move(cursor);
    taken_ = taken;
  }

 private:
  Dataset<T> dataset_;  // must outlive the cursor
  detail::CursorOf<T> cursor_;
  std::int64_t taken_ = 0;
};

/// for (const auto& x : dataset) reads it from the first element on.
template <class T>
class DatasetLoop {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  DatasetLoop() = default;
  explicit DatasetLoop(const Dataset<T>& dataset)
      : iterator_(std::make_shared<DatasetIterator<T>>(dataset)), now_(iterator_->next()) {}
  const T& operator*() const { return *now_; }
  DatasetLoop& operator++() {
    now_ = iterator_->next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !now_.has_value(); }

 private:
  std::shared_ptr<DatasetIterator<T>> iterator_;
  std::optional<T> now_;
};
template <class T>
DatasetLoop<T> begin(const Dataset<T>& dataset) {
  return DatasetLoop<T>(dataset);
}
template <class T>
std::default_sentinel_t end(const Dataset<T>&) {
  return {};
}

}  // namespace typeflow::inline TYPEFLOW_ISA
