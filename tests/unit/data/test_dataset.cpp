// SPDX-License-Identifier: Apache-2.0

// Datasets: each step against plain loops, threads, errors, positions.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/data.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

using Numbers = std::vector<std::int64_t>;

template <class T>
std::vector<T> all_of(const tf::Dataset<T>& dataset, std::int64_t most = 1 << 20) {
  std::vector<T> out;
  tf::DatasetIterator<T> elements(dataset);
  while (most-- > 0) {
    std::optional<T> x = elements.next();
    if (!x) {
      CHECK(!elements.next().has_value());
      break;
    }
    out.push_back(std::move(*x));
  }
  CHECK(elements.taken() == static_cast<std::int64_t>(out.size()));
  return out;
}
Numbers range(std::int64_t first, std::int64_t last) {
  Numbers out;
  for (std::int64_t n = first; n < last; ++n) out.push_back(n);
  return out;
}
const auto square = [](std::int64_t n) { return n * n; };

}  // namespace

TEST_CASE("sources") {
  CHECK(all_of(tf::from_range(2, 6)) == Numbers{2, 3, 4, 5});
  CHECK(all_of(tf::from_range(5, 0, -2)) == Numbers{5, 3, 1});
  CHECK(all_of(tf::from_range(5, 5)).empty());
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(all_of(tf::from_range(most - 4, most, 3).take(9)) == Numbers{most - 4, most - 1});
  CHECK(all_of(tf::from_range(3 - most, -most - 1, -7).take(9)) == Numbers{3 - most});
  CHECK(all_of(tf::from_elements(std::vector<std::string>{"a", "b"})) ==
        std::vector<std::string>{"a", "b"});
  CHECK(all_of(tf::from_rows(std::vector<int>{1, 2, 3, 4}, 2)) ==
        std::vector<std::vector<int>>{{1, 2}, {3, 4}});
  CHECK(message_of([] { tf::from_rows(std::vector<int>{1, 2, 3}, 2); }) ==
        "from_rows: expected whole rows of 2 elements, got 3 elements");
  int made = 0;
  const auto generated = tf::from_generator([&made] {
    ++made;
    return [n = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (n == 3) return std::nullopt;
      return n++;
    };
  });
  CHECK(all_of(generated) == range(0, 3));
  CHECK(all_of(generated.repeat(2)) == Numbers{0, 1, 2, 0, 1, 2});
  CHECK(made == 3);
}

TEST_CASE("map, filter, flat_map, concatenate, take, skip, shard, enumerate, scan, zip") {
  const auto ten = tf::from_range(0, 10);
  CHECK(all_of(ten.map(square)) == Numbers{0, 1, 4, 9, 16, 25, 36, 49, 64, 81});
  CHECK(all_of(ten.filter([](std::int64_t n) { return n % 3 == 1; })) == Numbers{1, 4, 7});
  CHECK(all_of(tf::from_range(0, 4).flat_map(
            [](std::int64_t n) { return tf::from_range(0, n); })) == Numbers{0, 0, 1, 0, 1, 2});
  CHECK(all_of(ten.take(2).concatenate(ten.skip(8))) == Numbers{0, 1, 8, 9});
  CHECK(all_of(ten.take(99)) == range(0, 10));
  CHECK(all_of(ten.skip(99)).empty());
  CHECK(all_of(ten.shard(3, 1)) == Numbers{1, 4, 7});
  CHECK(all_of(ten.shard(3, 0)) == Numbers{0, 3, 6, 9});
  CHECK(message_of([&] { ten.shard(3, 3); }) ==
        "Dataset::shard: expected an index in [0, 3), got 3");
  const auto numbered = all_of(ten.skip(8).enumerate(5));
  CHECK(numbered == std::vector<std::tuple<std::int64_t, std::int64_t>>{{5, 8}, {6, 9}});
  CHECK(all_of(ten.scan(std::int64_t{0}, [](std::int64_t sum, std::int64_t n) {
          return std::pair(sum + n, sum + n);
        })) == Numbers{0, 1, 3, 6, 10, 15, 21, 28, 36, 45});
  const auto pairs = all_of(tf::zip(ten, tf::from_range(100, 103)));
  CHECK(pairs == std::vector<std::tuple<std::int64_t, std::int64_t>>{{0, 100}, {1, 101}, {2, 102}});
  Numbers loop;
  for (const std::int64_t n : ten) loop.push_back(n);
  CHECK(loop == range(0, 10));
}

TEST_CASE("interleave takes turns, and replaces what has ended") {
  const Numbers sizes{3, 3, 1, 2};
  const auto parts = [sizes](std::int64_t i) {
    return tf::from_range(10 * i, 10 * i + sizes[static_cast<std::size_t>(i)]);
  };
  const auto interleaved = [&](std::int64_t cycle, std::int64_t block) {
    return all_of(tf::from_range(0, 4).interleave(parts, {.cycle = cycle, .block = block}));
  };
  // What tf.data of TensorFlow 2.21 gives.
  CHECK(interleaved(1, 1) == Numbers{0, 1, 2, 10, 11, 12, 20, 30, 31});
  CHECK(interleaved(2, 1) == Numbers{0, 10, 1, 11, 2, 12, 20, 30, 31});
  CHECK(interleaved(2, 2) == Numbers{0, 1, 10, 11, 2, 12, 20, 30, 31});
  CHECK(interleaved(3, 1) == Numbers{0, 10, 20, 1, 11, 2, 12, 30, 31});
  CHECK(interleaved(3, 2) == Numbers{0, 1, 10, 11, 20, 2, 12, 30, 31});
  CHECK(interleaved(9, 1) == Numbers{0, 10, 20, 30, 1, 11, 31, 2, 12});
  // Datasets with threads end in the middle, too.
  const auto threads = [](std::int64_t i) {
    return tf::from_range(0, i).map(square, {.threads = 2});
  };
  CHECK(all_of(tf::from_range(0, 5).interleave(threads, {.cycle = 3})).size() == 10);
}

TEST_CASE("shuffle is a permutation of each epoch, the same for a seed") {
  const auto shuffled = tf::from_range(0, 50).shuffle({.buffer = 50, .seed = 7});
  const Numbers first = all_of(shuffled);
  CHECK(std::set<std::int64_t>(first.begin(), first.end()).size() == 50);
  CHECK(first != range(0, 50));
  CHECK(all_of(shuffled) == first);
  CHECK(all_of(tf::from_range(0, 50).shuffle({.buffer = 50, .seed = 8})) != first);
  const Numbers three = all_of(shuffled.repeat(3));
  REQUIRE(three.size() == 150);
  for (int e = 0; e < 3; ++e) {
    const Numbers epoch(three.begin() + 50 * e, three.begin() + 50 * (e + 1));
    CHECK(std::set<std::int64_t>(epoch.begin(), epoch.end()).size() == 50);
    CHECK((epoch == first) == (e == 0));
  }
  const Numbers same = all_of(
      tf::from_range(0, 50).shuffle({.buffer = 50, .seed = 7, .reshuffle = false}).repeat(2));
  CHECK(Numbers(same.begin(), same.begin() + 50) == Numbers(same.begin() + 50, same.end()));
  // After a repeat, epochs mix, and nothing is lost.
  Numbers mixed = all_of(tf::from_range(0, 50).repeat(2).shuffle({.buffer = 100, .seed = 7}));
  std::sort(mixed.begin(), mixed.end());
  for (std::size_t i = 0; i < 100; ++i) CHECK(mixed[i] == static_cast<std::int64_t>(i / 2));
  // A buffer of n gives element k not before k - n + 1.
  const Numbers near = all_of(tf::from_range(0, 50).shuffle({.buffer = 5, .seed = 7}));
  for (std::size_t i = 0; i < 50; ++i) CHECK(near[i] <= static_cast<std::int64_t>(i) + 4);
}

TEST_CASE("the first element of a shuffle is uniform") {
  std::vector<int> counts(8, 0);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    tf::DatasetIterator elements(tf::from_range(0, 8).shuffle({.buffer = 8, .seed = seed}));
    ++counts[static_cast<std::size_t>(*elements.next())];
  }
  double chi2 = 0;
  for (const int count : counts) chi2 += (count - 500.0) * (count - 500.0) / 500.0;
  CHECK(chi2 < 24.3);  // 7 degrees of freedom, probability 0.001
}

TEST_CASE("repeat ends with an empty dataset, and goes on without a count") {
  CHECK(all_of(tf::from_range(0, 0).repeat()).empty());
  CHECK(all_of(tf::from_range(0, 3).repeat(), 7) == Numbers{0, 1, 2, 0, 1, 2, 0});
  CHECK(all_of(tf::from_range(0, 3).repeat(0)).empty());
}

TEST_CASE("batches: the last one is kept, or not; rows and tuples have arrays of their own") {
  using Batches = std::vector<Numbers>;
  CHECK(all_of(tf::from_range(0, 5).batch(2)) == Batches{{0, 1}, {2, 3}, {4}});
  CHECK(all_of(tf::from_range(0, 5).batch(2, {.drop_smaller = true})) == Batches{{0, 1}, {2, 3}});
  CHECK(all_of(tf::from_range(0, 3).repeat(2).batch(4)) == Batches{{0, 1, 2, 0}, {1, 2}});
  const auto rows = tf::from_rows(std::vector<float>{1, 2, 3, 4, 5, 6}, 2);
  const auto labels = tf::from_elements(std::vector<std::string>{"a", "b", "c"});
  const auto batches = all_of(tf::zip(rows, labels).batch(2));
  REQUIRE(batches.size() == 2);
  CHECK(std::get<0>(batches[0]) == std::vector<float>{1, 2, 3, 4});
  CHECK(std::get<1>(batches[0]) == std::vector<std::string>{"a", "b"});
  CHECK(std::get<0>(batches[1]) == std::vector<float>{5, 6});
  CHECK(all_of(tf::from_range(0, 4).batch(2).batch(2)) == Batches{{0, 1, 2, 3}});
  const auto uneven = tf::from_elements(std::vector<std::vector<int>>{{1, 2}, {3}});
  CHECK(message_of([&] { all_of(uneven.batch(2)); }).find("expected rows of 2 elements") !=
        std::string::npos);
  const auto empty_first = tf::from_elements(std::vector<std::vector<int>>{{}, {3}});
  CHECK(message_of([&] { all_of(empty_first.batch(2)); }).find("expected rows of 0 elements") !=
        std::string::npos);
  CHECK(message_of([] { tf::from_range(0, 1).batch(0); }) ==
        "Dataset::batch: expected a size of 1 or more, got 0");
}

TEST_CASE("sizes that no dataset has take no memory") {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(all_of(tf::from_range(0, 3).batch(huge)) == std::vector<Numbers>{{0, 1, 2}});
  const auto rows = tf::from_rows(std::vector<float>{1, 2, 3, 4}, 2);
  CHECK(all_of(rows.batch(huge)) == std::vector<std::vector<float>>{{1, 2, 3, 4}});
  CHECK(all_of(rows.padded_batch(huge)).size() == 1);
  CHECK(all_of(tf::from_range(0, 3).batch(2).skip(huge)).empty());
  const auto windows = all_of(tf::from_range(0, 3).window(3, {.stride = huge}));
  CHECK(windows == std::vector<Numbers>{{0}});
}

TEST_CASE("padded batches and buckets") {
  const auto words = tf::from_elements(
      std::vector<std::vector<int>>{{1}, {2, 2}, {3, 3, 3}, {}, {5, 5, 5, 5, 5}, {6}});
  const auto padded = all_of(words.padded_batch(3, {.padding = -1}));
  REQUIRE(padded.size() == 2);
  CHECK(padded[0].values == std::vector<int>{1, -1, -1, 2, 2, -1, 3, 3, 3});
  CHECK(padded[0].lengths == std::vector<std::int32_t>{1, 2, 3});
  CHECK(padded[0].bound == 3);
  CHECK(padded[1].bound == 5);
  CHECK(padded[1].lengths == std::vector<std::int32_t>{0, 5, 1});

  const auto length = [](const std::vector<int>& x) { return x.size(); };
  const auto buckets =
      all_of(words.bucket_by_length(length, {.bounds = {2, 4}, .sizes = {2, 2, 9}}));
  REQUIRE(buckets.size() == 4);
  CHECK(buckets[0].values == std::vector<int>{2, 2, 0, 3, 3, 3});  // full first
  CHECK(buckets[1].lengths == std::vector<std::int32_t>{1, 0});
  CHECK(buckets[2].values == std::vector<int>{6});  // then what is left, by bucket
  CHECK(buckets[3].values == std::vector<int>{5, 5, 5, 5, 5});
  CHECK(
      all_of(words.bucket_by_length(length, {.bounds = {2, 4}, .sizes = {2}, .drop_smaller = true}))
          .size() == 2);
  CHECK(message_of([&] { words.bucket_by_length(length, {.bounds = {4, 2}, .sizes = {1}}); }) ==
        "Dataset::bucket_by_length: expected ascending bounds, got 2 after 4");
  const auto tagged = all_of(tf::zip(words, tf::from_range(0, 6)).padded_batch(2));
  CHECK(std::get<0>(tagged[1]).values == std::vector<int>{3, 3, 3, 0, 0, 0});
  CHECK(std::get<1>(tagged[1]) == Numbers{2, 3});
}

TEST_CASE("windows") {
  using Windows = std::vector<Numbers>;
  const auto seven = tf::from_range(0, 7);
  CHECK(all_of(seven.window(3)) == Windows{{0, 1, 2}, {3, 4, 5}, {6}});
  CHECK(all_of(seven.window(3, {.drop_smaller = true})) == Windows{{0, 1, 2}, {3, 4, 5}});
  CHECK(all_of(seven.window(3, {.shift = 2, .drop_smaller = true})) ==
        Windows{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}});
  CHECK(all_of(seven.window(3, {.shift = 1, .stride = 2, .drop_smaller = true})) ==
        Windows{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}});
  CHECK(all_of(seven.window(3, {.shift = 1, .stride = 2})) ==
        Windows{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5}, {4, 6}, {5}, {6}});  // tf.data's
  CHECK(all_of(seven.window(2, {.shift = 3})) == Windows{{0, 1}, {3, 4}, {6}});
}

TEST_CASE("choose_from") {
  const std::vector<tf::Dataset<std::int64_t>> datasets{tf::from_range(0, 9),
                                                        tf::from_range(100, 102)};
  const auto chosen = [&](Numbers choices) {
    return tf::choose_from(datasets, tf::from_elements(std::move(choices)));
  };
  CHECK(all_of(chosen({0, 1, 1, 0, 0})) == Numbers{0, 100, 101, 1, 2});
  CHECK(all_of(chosen({1, 1, 1, 0})) == Numbers{100, 101});
  CHECK(message_of([&] { all_of(chosen({2})); }) ==
        "choose_from: expected an index in [0, 2), got 2");
}

TEST_CASE("a cache reads its input once") {
  std::atomic<int> calls = 0;
  const auto cached = tf::from_range(0, 5)
                          .map([&calls](std::int64_t n) {
                            ++calls;
                            return n;
                          })
                          .cache();
  all_of(cached, 3);  // not to the end
  CHECK(calls == 3);
  CHECK(all_of(cached) == range(0, 5));
  CHECK(calls == 8);
  CHECK(all_of(cached.repeat(3)).size() == 15);
  CHECK(calls == 8);
}

TEST_CASE("threads keep the order") {
  const auto slow = [](std::int64_t n) {
    std::this_thread::sleep_for(std::chrono::microseconds((n * 7919) % 300));
    return n * n;
  };
  for (const int threads : {1, 2, 8}) {
    CHECK(all_of(tf::from_range(0, 200).map(slow, {.threads = threads})) ==
          all_of(tf::from_range(0, 200).map(square)));
  }
  CHECK(all_of(tf::from_range(0, 500).prefetch(3)) == range(0, 500));
  // Memory grows with the elements, not with the count.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(all_of(tf::from_range(0, 500).prefetch(most)) == range(0, 500));
  CHECK(all_of(tf::from_range(0, 100).map(slow, {.threads = 3}).batch(7).prefetch(2)).size() == 15);
}

TEST_CASE("an exception comes in the place of its element") {
  const auto fails = [](std::int64_t n) {
    if (n == 5) throw std::runtime_error("five");
    return n;
  };
  const auto check = [](const tf::Dataset<std::int64_t>& dataset) {
    tf::DatasetIterator elements(dataset);
    for (std::int64_t n = 0; n < 5; ++n) CHECK(elements.next() == n);
    CHECK_THROWS_WITH_AS(elements.next(), "five", std::runtime_error);
    for (std::int64_t n = 6; n < 20; ++n) CHECK(elements.next() == n);
    CHECK_FALSE(elements.next());
  };
  check(tf::from_range(0, 20).map(fails));
  check(tf::from_range(0, 20).map(fails, {.threads = 4}));
  check(tf::from_range(0, 20).map(fails).prefetch(9));
  check(tf::from_range(0, 20)
            .map(fails, {.threads = 4})
            .map(square)
            .map(
                [](std::int64_t n) {
                  std::int64_t root = 0;
                  while (root * root < n) ++root;
                  return root;
                },
                {.threads = 2}));
}

TEST_CASE("a pipeline that is dropped in the middle leaks nothing") {
  const auto counter = std::make_shared<int>(0);
  for (int taken = 0; taken < 20; ++taken) {
    const auto dataset =
        tf::from_range(0, 1000000)
            .map([counter](std::int64_t n) { return std::pair(counter, n); }, {.threads = 3})
            .prefetch(4);
    tf::DatasetIterator elements(dataset);
    for (int i = 0; i < taken; ++i) CHECK(elements.next()->second == i);
  }
  CHECK(counter.use_count() == 1);
}

TEST_CASE("a position is saved and found again") {
  const auto dataset = tf::from_range(0, 30)
                           .shuffle({.buffer = 10, .seed = 3})
                           .repeat()
                           .map(square, {.threads = 2})
                           .batch(7)
                           .prefetch(2);
  tf::DatasetIterator whole(dataset);
  std::vector<Numbers> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(*whole.next());
  for (const std::int64_t at : {0, 1, 4, 13, 19}) {
    tf::DatasetIterator resumed(dataset);
    resumed.next();
    resumed.seek(at);
    CHECK(resumed.taken() == at);
    for (auto i = static_cast<std::size_t>(at); i < 20; ++i) CHECK(*resumed.next() == batches[i]);
  }
  std::atomic<int> calls = 0;
  const auto counted = tf::from_range(0, 100).map([&calls](std::int64_t n) {
    ++calls;
    return n;
  });
  tf::DatasetIterator cheap(counted.batch(10));
  cheap.seek(5);
  CHECK(cheap.next() == range(50, 60));
  CHECK(calls == 10);
}
