// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/data/buckets.hpp"

namespace {

namespace tf = typeflow;

/// Sequence i has length i, 1 to 10, of numbers i.
std::vector<std::vector<std::int32_t>> ladder() {
  std::vector<std::vector<std::int32_t>> out;
  for (int i = 1; i <= 10; ++i) out.emplace_back(static_cast<std::size_t>(i), i);
  return out;
}

}  // namespace

TEST_CASE("an epoch has each sequence once, padded to the bound of its bucket") {
  const auto sequences = ladder();
  tf::Buckets<std::int32_t> buckets(sequences, {.bounds = {3, 10}, .size = 2, .seed = 5}, -1);
  CHECK(buckets.batches() == 2 + 4);  // of 3 and of 7 sequences
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::multiset<std::int64_t> seen;
    for (std::int64_t i = 0; i < buckets.batches(); ++i) {
      const tf::BucketBatch<std::int32_t> batch = buckets.next();
      CHECK(batch.bound == (batch.bucket == 0 ? 3 : 10));
      REQUIRE(batch.lengths.size() == batch.samples.size());
      REQUIRE(batch.values.size() == batch.samples.size() * static_cast<std::size_t>(batch.bound));
      for (std::size_t row = 0; row < batch.samples.size(); ++row) {
        const std::int64_t sample = batch.samples[row];
        seen.insert(sample);
        CHECK(batch.lengths[row] == sample + 1);
        CHECK((batch.lengths[row] <= 3) == (batch.bucket == 0));
        for (std::int64_t t = 0; t < batch.bound; ++t) {
          const auto at = row * static_cast<std::size_t>(batch.bound) + static_cast<std::size_t>(t);
          CHECK(batch.values[at] == (t <= sample ? sample + 1 : -1));
        }
      }
    }
    CHECK(buckets.epochs_completed() == epoch);
    CHECK(seen.size() == 10);
    for (std::int64_t sample = 0; sample < 10; ++sample) CHECK(seen.count(sample) == 1);
  }
}

TEST_CASE("batches are shuffled anew in each epoch, the same with one seed") {
  const auto sequences = ladder();
  const auto order = [&](std::uint64_t seed, bool shuffle) {
    tf::Buckets<std::int32_t> buckets(
        sequences, {.bounds = {10}, .size = 1, .seed = seed, .shuffle = shuffle});
    std::vector<std::int64_t> samples;
    for (int i = 0; i < 20; ++i) samples.push_back(buckets.next().samples[0]);
    return samples;
  };
  const std::vector<std::int64_t> one = order(1, true);
  CHECK(one == order(1, true));
  CHECK(one != order(2, true));
  CHECK_FALSE(std::equal(one.begin(), one.begin() + 10, one.begin() + 10));
  const std::vector<std::int64_t> plain = order(1, false);
  CHECK(std::is_sorted(plain.begin(), plain.begin() + 10));
}

TEST_CASE("buckets go to where they are after any number of batches") {
  const auto sequences = ladder();
  for (const bool drop : {true, false}) {
    const tf::BucketOptions options{.bounds = {3, 10}, .size = 2, .seed = 5, .drop_smaller = drop};
    tf::Buckets<std::int32_t> whole(sequences, options);
    tf::Buckets<std::int32_t> moving(sequences, options);
    for (std::int64_t taken = 0; taken < 20; ++taken) {
      CAPTURE(taken);
      CHECK(whole.taken() == taken);
      moving.seek(taken);
      CHECK(moving.taken() == taken);
      CHECK(moving.epochs_completed() == whole.epochs_completed());
      CHECK(std::ranges::equal(moving.next().values, whole.next().values));
      moving.next();
    }
    CHECK(whole.settings() == (drop ? "10 sequences, bounds 3 10, batches of 2 and no smaller "
                                      "ones, shuffled by seed 5"
                                    : "10 sequences, bounds 3 10, batches of 2, shuffled by seed "
                                      "5"));
    CHECK_THROWS_AS(whole.seek(-1), tf::Error);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    whole.seek(most);  // a position costs one epoch, however far it is
    whole.next();
    CHECK(whole.taken() == most + 1);
    CHECK_THROWS_AS(whole.seek(most + 1), tf::Error);
  }
  // What it would refer to has to live.
  using Sequences = std::vector<std::vector<std::int32_t>>;
  using Buckets = tf::Buckets<std::int32_t>;
  static_assert(!std::is_constructible_v<Buckets, Sequences&&, tf::BucketOptions>);
  static_assert(std::is_constructible_v<Buckets, Sequences&, tf::BucketOptions>);
  static_assert(std::is_constructible_v<Buckets, const Sequences&, tf::BucketOptions>);
}

TEST_CASE("what is less than a batch is left out on request") {
  const auto sequences = ladder();
  tf::Buckets<std::int32_t> buckets(sequences,
                                    {.bounds = {3, 10}, .size = 2, .drop_smaller = true});
  CHECK(buckets.batches() == 1 + 3);
  for (int i = 0; i < 8; ++i) CHECK(buckets.next().samples.size() == 2);
}

TEST_CASE("buckets refuse what they can't hold") {
  const auto sequences = ladder();
  using B = tf::Buckets<std::int32_t>;
  CHECK_THROWS_WITH_AS(B(sequences, {.bounds = {4, 8}}),
                       "buckets: sequence 8: expected a length of at most 8, got 9", tf::Error);
  CHECK_THROWS_WITH_AS(B(sequences, {.bounds = {}}),
                       "buckets: expected one bound or more, got none", tf::Error);
  CHECK_THROWS_WITH_AS(B(sequences, {.bounds = {4, 4}}),
                       "buckets: expected bounds of 1 or more that ascend, got 4 as bound 1",
                       tf::Error);
  CHECK_THROWS_WITH_AS(B(sequences, {.bounds = {10}, .size = 0}),
                       "buckets: expected a batch size of 1 or more, got 0", tf::Error);
  CHECK_THROWS_WITH_AS(B({}, {.bounds = {10}}),
                       "buckets: expected sequences for one batch at least, got 0 sequences",
                       tf::Error);
}
