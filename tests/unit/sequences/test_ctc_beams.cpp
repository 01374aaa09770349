// SPDX-License-Identifier: Apache-2.0

// ctc_beam_search_decoder: against the sum over all paths, one by one, and TensorFlow's values.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/check_values.hpp"
#include "typeflow/sequences.hpp"

namespace {

namespace tf = typeflow;
using Labels = std::vector<std::int64_t>;

constexpr std::int64_t classes = 3;
constexpr std::int64_t steps = 5;

constexpr void exact(tf::Graph& g) {
  auto logits = tf::placeholder<float, steps, tf::batch, classes>(g, "logits");
  auto wide = tf::placeholder<double, steps, tf::batch, classes>(g, "wide");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  const auto all = tf::ctc_beam_search_decoder<70>(logits, lengths);  // there are 63 at most
  all.decoded.named("decoded");
  all.lengths.named("counts");
  all.log_probabilities.named("logs");
  const auto first = tf::ctc_beam_search_decoder(wide, lengths, {.beam_width = 64, .blank = 0});
  first.decoded.named("first");
  first.log_probabilities.named("first_log");
}

/// The probability of each label sequence over all paths, by log-probability.
std::vector<std::pair<double, Labels>> all_sequences(const tf::HostTensor& logits, std::int64_t b,
                                                     std::int64_t length, std::int64_t blank) {
  const std::int64_t batch = logits.dims[1];
  std::map<Labels, double> chance;
  Labels path(static_cast<std::size_t>(length), 0);
  for (bool more = true; more;) {
    Labels labels;
    double p = 1;
    for (std::int64_t t = 0; t < length; ++t) {
      const auto i = static_cast<std::size_t>(t);
      const std::int64_t row = (t * batch + b) * classes;
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits.value(row + k));
      p *= std::exp(logits.value(row + path[i])) / sum;
      if (path[i] != blank && (t == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
    }
    chance[labels] += p;
    std::size_t place = 0;
    while (place < path.size() && ++path[place] == classes) path[place++] = 0;
    more = place < path.size();
  }
  std::vector<std::pair<double, Labels>> out;
  for (const auto& [labels, p] : chance) {
    if (p > 0) out.push_back({std::log(p), labels});
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  return out;
}

/// The first `paths` sequences of each row as tensors.
test::Outcome decoded(const tf::HostTensor& logits, const tf::HostTensor& lengths,
                      std::int64_t paths, std::int64_t blank, const char* labels,
                      const char* counts, const char* logs) {
  const std::int64_t batch = lengths.size();
  tf::HostTensor decoded = tf::host_tensor(tf::DType::int32, test::dims({batch, paths, steps}));
  tf::HostTensor count = tf::host_tensor(tf::DType::int32, test::dims({batch, paths}));
  tf::HostTensor log = tf::host_tensor(logits.dtype, test::dims({batch, paths}));
  for (tf::Number& n : decoded.elements) n.integer = -1;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto all = all_sequences(logits, b, lengths[b].integer, blank);
    for (std::int64_t p = 0; p < paths; ++p) {
      const std::int64_t row = b * paths + p;
      log.set(row, -std::numeric_limits<double>::infinity());
      if (p >= static_cast<std::int64_t>(all.size())) continue;
      const auto& [chance, sequence] = all[static_cast<std::size_t>(p)];
      log.set(row, chance);
      count[row].integer = static_cast<std::int64_t>(sequence.size());
      for (std::size_t t = 0; t < sequence.size(); ++t) {
        decoded[row * steps + static_cast<std::int64_t>(t)].integer = sequence[t];
      }
    }
  }
  test::Outcome out = {{labels, decoded}, {logs, log}};
  if (*counts != 0) out[counts] = count;
  return out;
}

// TensorFlow's example.
constexpr void narrow(tf::Graph& g) {
  auto logits = tf::placeholder<float, 5, 2, 4>(g, "logits");
  auto lengths = tf::constant<std::int64_t, 2>(g, {5, 3});
  const auto best = tf::ctc_beam_search_decoder<3>(logits, lengths, {.beam_width = 10});
  best.decoded.named("decoded");
  best.lengths.named("counts");
  best.log_probabilities.named("logs");
}
constexpr void narrower(tf::Graph& g) {
  auto logits = tf::placeholder<float, 6, 1, 3>(g, "logits");
  auto lengths = tf::constant<std::int64_t, 1>(g, {6});
  const auto best = tf::ctc_beam_search_decoder<2>(logits, lengths, {.beam_width = 4});
  best.decoded.named("decoded");
  best.log_probabilities.named("logs");
}

constexpr void merging(tf::Graph& g) {
  auto logits = tf::placeholder<float, 9, 2, 3>(g, "logits");
  auto lengths = tf::constant<std::int32_t, 2>(g, {9, 7});
  const auto merged =
      tf::ctc_beam_search_decoder<3>(logits, lengths, {.beam_width = 10, .merge_repeated = true});
  merged.decoded.named("merged");
  merged.lengths.named("merged_counts");
  merged.log_probabilities.named("merged_logs");
  const auto apart = tf::ctc_beam_search_decoder<3>(logits, lengths, {.beam_width = 10});
  apart.decoded.named("apart");
  apart.lengths.named("apart_counts");
  apart.log_probabilities.named("apart_logs");
}

}  // namespace

TEST_CASE("ctc_beam_search_decoder: values") {
  for (const std::int64_t batch : {0, 1, 3, 20}) {
    CAPTURE(batch);
    test::Random random(static_cast<std::uint64_t>(batch) + 3);
    const auto numbers = [&](tf::DType type) {
      return test::random_tensor(random, type, test::dims({steps, batch, classes}), -3, 3);
    };
    tf::HostTensor lengths = tf::host_tensor(tf::DType::int32, test::dims({batch}));
    for (std::int64_t b = 0; b < batch; ++b) lengths[b].integer = (b + 5) % 6;
    const tf::HostTensors feeds = {{"logits", numbers(tf::DType::float32)},
                                   {"wide", numbers(tf::DType::float64)},
                                   {"lengths", lengths}};
    test::check_values<exact>(
        feeds, decoded(feeds.at("logits"), lengths, 70, 2, "decoded", "counts", "logs"), 1e-6);
    test::check_values<exact>(
        feeds, decoded(feeds.at("wide"), lengths, 1, 0, "first", "", "first_log"), 1e-12);
  }
}

TEST_CASE("ctc_beam_search_decoder is TensorFlow's where the beam is narrow") {
  const std::vector<double> x = {3.25,  -1.22, -1.06, -2.15, 1.73,  -4.6,  3.49,  -1.52,
                                 0.64,  -0.5,  2.92,  -4.12, -0.64, -0.77, 2.27,  -2.2,
                                 -0.34, -1.76, 0.08,  1.17,  -2.2,  2.29,  1.8,   1,
                                 1.8,   -1.37, -0.25, -1.87, -0.54, 1.06,  -1.38, -0.79,
                                 -1.37, -1.69, -1.34, -0.03, -2.23, 0.47,  3.32,  1.48};
  test::check_values<narrow>(
      {{"logits", test::floats({5, 2, 4}, x)}},
      {{"decoded", test::ints({2, 3, 5}, {0, 2, 0,  -1, -1, 0, 2,  0,  2,  -1, 0, 2, 0, 1,  -1,
                                          2, 1, -1, -1, -1, 2, -1, -1, -1, -1, 0, 2, 1, -1, -1})},
       {"counts", test::ints({2, 3}, {3, 4, 4, 2, 1, 3})},
       {"logs", test::floats({2, 3}, {-0.6423454881, -2.1165208817, -2.5469708443, -0.8376684785,
                                      -1.0224941969, -2.6738150120})}},
      1e-6);
  const std::vector<double> y = {-0.38, -1.78, -1.49, 3.38,  0.1,  -1.27, 0.38, 4.2,  0.24,
                                 1.23,  0.6,   -0.7,  -2.29, -0.7, -0.42, 1.17, 1.68, 1.86};
  test::check_values<narrower>(
      {{"logits", test::floats({6, 1, 3}, y)}},
      {{"decoded", test::ints({1, 2, 6}, {0, 1, 0, 1, -1, -1, 0, 1, 0, -1, -1, -1})},
       {"logs", test::floats({1, 2}, {-1.3419206143, -1.5648031235})}},
      1e-6);
}

TEST_CASE("merge_repeated is that of TensorFlow 1.x: it changes the labels alone") {
  const std::vector<double> x = {1.72,  -0.63, -1.29, -0.58, 1.99,  -0.89, -0.73, -0.98, 1.8,
                                 -1.31, 1.58,  -0.76, 1.94,  -1.34, -0.62, -1.23, -1.09, 1.8,
                                 -0.87, -0.92, 2.1,   -1.23, 1.78,  -1.25, 1.83,  -1.36, -1.33,
                                 -0.54, -0.54, 1.69,  -1.48, 1.7,   -0.8,  -0.72, 1.52,  -0.92,
                                 -1.5,  -0.98, 2.14,  2.49,  -1.24, -0.7,  -0.63, 2.42,  -1.5,
                                 -1.03, -0.52, 1.9,   -0.69, -0.95, 2.27,  1.98,  -1.47, -1.41};
  // tf.compat.v1.nn.ctc_beam_search_decoder(x, [9, 7], 10, 3, merge_repeated) of TensorFlow 2.21
  const tf::HostTensor logs = test::floats({2, 3}, {-0.8496178985, -1.8536443710, -2.4745416641,
                                                    -0.7461204529, -1.5407156944, -2.9761204720});
  test::check_values<merging>(
      {{"logits", test::floats({9, 2, 3}, x)}},
      {{"merged", test::ints({2, 3, 9},
                             {0, 1, -1, -1, -1, -1, -1, -1, -1, 0, 1, -1, -1, -1, -1, -1, -1, -1,
                              0, 1, -1, -1, -1, -1, -1, -1, -1, 1, 0, -1, -1, -1, -1, -1, -1, -1,
                              1, 0, -1, -1, -1, -1, -1, -1, -1, 1, 0, 1,  0,  -1, -1, -1, -1, -1})},
       {"merged_counts", test::ints({2, 3}, {2, 2, 2, 2, 2, 4})},
       {"merged_logs", logs},
       {"apart",
        test::ints({2, 3, 9}, {0, 0, 0, 1,  1,  -1, -1, -1, -1, 0, 0, 1, 1, -1, -1, -1, -1, -1,
                               0, 0, 0, 1,  -1, -1, -1, -1, -1, 1, 1, 1, 0, -1, -1, -1, -1, -1,
                               1, 1, 0, -1, -1, -1, -1, -1, -1, 1, 1, 0, 1, 0,  -1, -1, -1, -1})},
       {"apart_counts", test::ints({2, 3}, {5, 4, 4, 4, 3, 5})},
       {"apart_logs", logs}},
      1e-6);
}

TEST_CASE("ctc_beam_search_decoder: infinite and undefined logits") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  tf::HostTensors f = {
      {"logits", tf::host_tensor(tf::DType::float32, test::dims({steps, 2, classes}))},
      {"wide", tf::host_tensor(tf::DType::float64, test::dims({steps, 2, classes}))},
      {"lengths", test::ints({2}, {1, 5})}};
  f.at("logits").set(0, -infinity);  // no label 0
  f.at("logits").set(3, std::numeric_limits<double>::quiet_NaN());
  const test::Outcome got = test::Kernels<exact>().run(f);
  CHECK(got.at("logs").value(0) == doctest::Approx(std::log(0.5)));
  CHECK(got.at("logs").value(1) == doctest::Approx(std::log(0.5)));
  CHECK(got.at("logs").value(2) == -infinity);
  CHECK(got.at("logs").value(70) == -infinity);  // NaN: no sequence has a probability
  CHECK(got.at("counts").value(70) == 0);
}

TEST_CASE("ctc_beam_search_decoder: errors") {
  tf::HostTensors f = {
      {"logits", tf::host_tensor(tf::DType::float32, test::dims({steps, 2, classes}))},
      {"wide", tf::host_tensor(tf::DType::float64, test::dims({steps, 2, classes}))},
      {"lengths", test::ints({2}, {1, 6})}};
  const char* const text = "ctc_beam_search_decoder: length 6 at [1] is not in [0, 5]";
  test::Kernels<exact> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(f), doctest::Contains(text), tf::Error);
  tf::Graph g;
  exact(g);
  CHECK_THROWS_WITH_AS(tf::Interpreter(g).run({"logs"}, f), doctest::Contains(text), tf::Error);
  auto x = tf::placeholder<float, 5, 1, 3>(g, "x");
  auto n = tf::placeholder<std::int32_t, 1>(g, "n");
  CHECK_THROWS_WITH_AS(tf::ctc_beam_search_decoder(x, n, {.blank = 3}),
                       doctest::Contains("the blank must be one of the 3 classes"), tf::Error);
  CHECK_THROWS_WITH_AS(tf::ctc_beam_search_decoder<5>(x, n, {.beam_width = 4}),
                       doctest::Contains("a beam of 4 is too narrow for 5 paths"), tf::Error);
}
