// SPDX-License-Identifier: Apache-2.0

// Batches against TensorFlow's next_batch, one-hot labels, and the drawn digits.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "typeflow/data/batches.hpp"
#include "typeflow/data/digits.hpp"

namespace tf = typeflow;
using Rows = std::vector<std::int64_t>;

namespace {

Rows take(tf::BatchSampler& sampler) {
  const auto batch = sampler.next();
  return {batch.begin(), batch.end()};
}

/// Five images of 1 x 2 pixels: (0, 0.5), (1, 1.5), ...; image i has class i.
tf::LabeledImages five() {
  tf::LabeledImages data{1, 2, 5, {}, {0, 1, 2, 3, 4}, {}};
  for (int i = 0; i < 10; ++i) data.images.push_back(0.5f * static_cast<float>(i));
  data.one_hot = tf::one_hot(data.labels, data.classes);
  return data;
}

/// DataSet.next_batch of TensorFlow 1.x (contrib/learn/python/learn/datasets/mnist.py), statement
/// by statement, on the numbers of the examples; each epoch's order is handed in.
struct TensorFlowDataSet {
  std::vector<Rows> epochs;
  Rows data;
  std::size_t index_in_epoch = 0;
  std::size_t epochs_completed = 0;

  Rows next_batch(std::size_t size) {
    std::size_t start = index_in_epoch;
    if (epochs_completed == 0 && start == 0) data = epochs[0];
    const auto slice = [&](std::size_t from, std::size_t to) {
      return Rows(data.begin() + static_cast<std::ptrdiff_t>(from),
                  data.begin() + static_cast<std::ptrdiff_t>(to));
    };
    if (start + size > data.size()) {
      epochs_completed += 1;
      const std::size_t rest = data.size() - start;
      Rows batch = slice(start, data.size());
      data = epochs[epochs_completed];
      index_in_epoch = size - rest;
      const Rows fresh = slice(0, index_in_epoch);
      batch.insert(batch.end(), fresh.begin(), fresh.end());
      return batch;
    }
    index_in_epoch += size;
    return slice(start, index_in_epoch);
  }
};

}  // namespace

TEST_CASE("the order of an epoch is the same on every platform") {
  // From an independent Python program: Philox4x32-10, splitmix64, Fisher and Yates's shuffle.
  tf::BatchSampler sampler(10, {.size = 10, .seed = 1});
  CHECK(take(sampler) == Rows{4, 9, 6, 7, 5, 1, 8, 3, 2, 0});
  CHECK(take(sampler) == Rows{0, 5, 3, 1, 7, 6, 4, 2, 8, 9});
  tf::BatchSampler other(10, {.size = 10, .seed = 2});
  CHECK(take(other) == Rows{6, 8, 4, 7, 9, 5, 1, 3, 2, 0});
}

TEST_CASE("batches are those of TensorFlow's next_batch") {
  for (const std::int64_t size : {1, 2, 3, 4, 6, 7, 11, 12}) {
    CAPTURE(size);
    TensorFlowDataSet reference;
    tf::BatchSampler orders(12, {.size = 12, .seed = 7});
    for (int epoch = 0; epoch < 20; ++epoch) reference.epochs.push_back(take(orders));
    tf::BatchSampler sampler(12, {.size = size, .seed = 7});
    for (int i = 0; i < 19; ++i) {
      CAPTURE(i);
      CHECK(take(sampler) == reference.next_batch(static_cast<std::size_t>(size)));
      CHECK(sampler.epochs_completed() == static_cast<std::int64_t>(reference.epochs_completed));
    }
  }
}

TEST_CASE("every example comes once in each epoch, in another order") {
  constexpr std::int64_t count = 1000;
  tf::BatchSampler sampler(count, {.size = count, .seed = 3});
  std::set<Rows> orders;
  for (int epoch = 0; epoch < 5; ++epoch) {
    Rows rows = take(sampler);
    orders.insert(rows);
    std::sort(rows.begin(), rows.end());
    Rows all(count);
    std::iota(all.begin(), all.end(), 0);
    CHECK(rows == all);
  }
  CHECK(orders.size() == 5);
}

TEST_CASE("each example is equally likely in each place") {
  // 4 examples, 24 orders, 24,000 epochs: chi-squared of 23 degrees is below 60 but once in 30,000.
  std::array<int, 256> seen{};
  tf::BatchSampler sampler(4, {.size = 4, .seed = 5});
  for (int epoch = 0; epoch < 24000; ++epoch) {
    const Rows rows = take(sampler);
    ++seen[static_cast<std::size_t>(rows[0] + 4 * rows[1] + 16 * rows[2] + 64 * rows[3])];
  }
  double chi_squared = 0;
  int orders = 0;
  for (const int count : seen) {
    if (count == 0) continue;
    ++orders;
    chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  CHECK(orders == 24);
  CHECK(chi_squared < 60);
}

TEST_CASE("without shuffling, batches follow the data set") {
  tf::BatchSampler sampler(5, {.size = 3, .shuffle = false});
  CHECK(take(sampler) == Rows{0, 1, 2});
  CHECK(sampler.epochs_completed() == 0);
  CHECK(take(sampler) == Rows{3, 4, 0});
  CHECK(sampler.epochs_completed() == 1);
  CHECK(take(sampler) == Rows{1, 2, 3});
}

TEST_CASE("a batch larger than the data set takes several epochs") {
  tf::BatchSampler sampler(2, {.size = 5, .shuffle = false});
  CHECK(take(sampler) == Rows{0, 1, 0, 1, 0});
  CHECK(sampler.epochs_completed() == 2);
}

TEST_CASE("a sampler goes to where it is after any number of batches") {
  for (const std::int64_t size : {1, 3, 4, 5, 12, 25}) {
    for (const bool shuffle : {true, false}) {
      CAPTURE(size);
      const tf::BatchOptions options{.size = size, .seed = 4, .shuffle = shuffle};
      tf::BatchSampler whole(12, options);
      tf::BatchSampler moving(12, options);
      for (std::int64_t taken = 0; taken < 30; ++taken) {
        CAPTURE(taken);
        CHECK(whole.taken() == taken);
        moving.seek(29 - taken);
        moving.seek(taken);
        CHECK(moving.taken() == taken);
        CHECK(moving.epochs_completed() == whole.epochs_completed());
        CHECK(take(moving) == take(whole));
        CHECK(take(moving).size() == static_cast<std::size_t>(size));
      }
    }
  }
  tf::BatchSampler sampler(12, {.size = 5});
  CHECK(sampler.settings() == "12 examples, batches of 5, shuffled by seed 1");
  CHECK(tf::BatchSampler(12, {.shuffle = false}).settings() ==
        "12 examples, batches of 100, in order");
  CHECK_THROWS_WITH_AS(
      sampler.seek(-1),
      "batches: seek(taken): expected a number of batches from 0 to 922337203685477580, got -1",
      tf::Error);
  CHECK_THROWS_AS(sampler.seek(std::numeric_limits<std::int64_t>::max() / 2), tf::Error);
  CHECK(sampler.taken() == 0);
}

TEST_CASE("a batch has the rows of its examples") {
  const tf::LabeledImages data = five();
  tf::Batches batches(data, {.size = 3, .seed = 9});
  tf::BatchSampler sampler(5, {.size = 3, .seed = 9});
  for (int i = 0; i < 4; ++i) {
    const tf::LabeledBatch batch = batches.next();
    const Rows rows = take(sampler);
    REQUIRE(batch.images.size() == 6);
    REQUIRE(batch.labels.size() == 3);
    REQUIRE(batch.one_hot.size() == 15);
    for (std::size_t b = 0; b < 3; ++b) {
      CHECK(batch.labels[b] == rows[b]);
      CHECK(batch.images[2 * b] == static_cast<float>(rows[b]));
      CHECK(batch.images[2 * b + 1] == static_cast<float>(rows[b]) + 0.5f);
      for (std::size_t c = 0; c < 5; ++c) {
        CHECK(batch.one_hot[5 * b + c] == (c == static_cast<std::size_t>(rows[b]) ? 1.0f : 0.0f));
      }
    }
  }
  CHECK(batches.epochs_completed() == 2);
  CHECK(batches.taken() == 4);
  tf::Batches other(data, {.size = 3, .seed = 9});
  other.seek(4);
  CHECK(other.next().labels[0] == batches.next().labels[0]);
  CHECK(other.settings() == sampler.settings());
}

TEST_CASE("no examples, or no batch, is an error") {
  CHECK_THROWS_WITH_AS(tf::BatchSampler(0), "batches: expected 1 example or more, got 0",
                       tf::Error);
  CHECK_THROWS_WITH_AS(tf::BatchSampler(10, {.size = 0}),
                       "batches: expected a batch size of 1 or more, got 0", tf::Error);
}

TEST_CASE("one_hot has a one at each label") {
  CHECK(tf::one_hot(std::vector<std::int32_t>{2, 0}, 3) == std::vector<float>{0, 0, 1, 1, 0, 0});
  CHECK(tf::one_hot({}, 3).empty());
  CHECK_THROWS_WITH_AS(tf::one_hot(std::vector<std::int32_t>{0, 3}, 3),
                       "one_hot: label 1: expected 0 to 2, got 3", tf::Error);
  CHECK_THROWS_WITH_AS(tf::one_hot(std::vector<std::int32_t>{-1}, 3),
                       "one_hot: label 0: expected 0 to 2, got -1", tf::Error);
}

TEST_CASE("drawn digits are images of all classes, the same for the same seed") {
  const tf::LabeledImages digits = tf::draw_digits(2000, 1);
  REQUIRE(digits.size() == 2000);
  REQUIRE(digits.images.size() == 2000u * 784u);
  CHECK(digits.one_hot == tf::one_hot(digits.labels, 10));
  std::array<int, 10> count{};
  for (const std::int32_t label : digits.labels) ++count.at(static_cast<std::size_t>(label));
  for (const int n : count) {
    CHECK(n > 130);  // 200 expected, standard deviation 13.4
    CHECK(n < 270);
  }
  for (const float pixel : digits.images) {  // bytes over 255, as in MNIST
    const float byte = pixel * 255.0f;
    REQUIRE(byte >= 0.0f);
    REQUIRE(byte <= 255.0f);
    REQUIRE(pixel == std::round(byte) / 255.0f);
  }

  const tf::LabeledImages again = tf::draw_digits(100, 1);
  CHECK(std::equal(again.images.begin(), again.images.end(), digits.images.begin()));
  CHECK(std::equal(again.labels.begin(), again.labels.end(), digits.labels.begin()));
  CHECK(tf::draw_digits(100, 2).images != again.images);
  CHECK_THROWS_AS(tf::draw_digits(-1, 1), tf::Error);
}

TEST_CASE("drawn digits are the same bytes on every platform") {
  // FNV-1a of the bytes and the labels, equal from g++ 12 and clang 16 and 19 at -O0 to -O3.
  const tf::LabeledImages digits = tf::draw_digits(500, 1);
  std::uint64_t hash = 14695981039346656037u;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const float pixel : digits.images) add(static_cast<std::uint64_t>(pixel * 255.0f + 0.5f));
  for (const std::int32_t label : digits.labels) add(static_cast<std::uint64_t>(label));
  CHECK(hash == 0x70bbcfc0d5312a57u);
}

TEST_CASE("drawn digits of a class look alike: the nearest class mean tells them apart") {
  const tf::Datasets data = tf::drawn_digits({.train = 3000, .validation = 10, .test = 500});
  CHECK(data.train.size() == 3000);
  CHECK(data.validation.size() == 10);
  std::vector<double> mean(std::size_t{10} * 784);
  std::array<double, 10> count{};
  for (std::int64_t i = 0; i < data.train.size(); ++i) {
    const auto label = static_cast<std::size_t>(data.train.labels[static_cast<std::size_t>(i)]);
    const std::span<const float> image = data.train.image(i);
    count[label] += 1;
    for (std::size_t p = 0; p < 784; ++p) mean[label * 784 + p] += double{image[p]};
  }
  int right = 0;
  for (std::int64_t i = 0; i < data.test.size(); ++i) {
    const std::span<const float> image = data.test.image(i);
    std::size_t best = 0;
    double nearest = 1e30;
    for (std::size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (std::size_t p = 0; p < 784; ++p) {
        const double d = double{image[p]} - mean[c * 784 + p] / count[c];
        distance += d * d;
      }
      if (distance < nearest) {
        nearest = distance;
        best = c;
      }
    }
    right += static_cast<std::int32_t>(best) == data.test.labels[static_cast<std::size_t>(i)];
  }
  MESSAGE("nearest mean: " << right << " of 500");
  CHECK(right > 300);  // 50 by chance
}
