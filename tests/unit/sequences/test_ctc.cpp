// SPDX-License-Identifier: Apache-2.0

// ctc_loss against the sum over all paths, one by one, and ctc_greedy_decoder.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/message_of.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/sequences.hpp"

namespace {

namespace tf = typeflow;
using Labels = std::vector<std::int64_t>;

/// What a path of classes reads as.
Labels read(const Labels& path, std::int64_t blank, bool merge_repeated) {
  Labels out;
  for (std::size_t t = 0; t < path.size(); ++t) {
    const bool repeated = merge_repeated && t > 0 && path[t] == path[t - 1];
    if (path[t] != blank && !repeated) out.push_back(path[t]);
  }
  return out;
}

constexpr std::int64_t classes = 3;
constexpr std::int64_t steps = 5;

/// -log of the probability of all of the classes^length paths that read as these labels.
double loss_of_all_paths(const tf::HostTensor& logits, std::int64_t b, std::int64_t length,
                         const Labels& labels, std::int64_t blank, bool merge_repeated) {
  const std::int64_t batch = logits.dims[1];
  Labels path(static_cast<std::size_t>(length), 0);
  double total = 0;
  for (;;) {
    if (read(path, blank, merge_repeated) == labels) {
      double probability = 1;
      for (std::int64_t t = 0; t < length; ++t) {
        const std::int64_t row = (t * batch + b) * classes;
        double sum = 0;
        for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits.value(row + k));
        probability *= std::exp(logits.value(row + path[static_cast<std::size_t>(t)])) / sum;
      }
      total += probability;
    }
    std::size_t place = 0;
    while (place < path.size() && ++path[place] == classes) path[place++] = 0;
    if (place == path.size()) return -std::log(total);
  }
}

template <class T>
constexpr void losses(tf::Graph& g) {
  auto logits = tf::placeholder<T, steps, tf::batch, classes>(g, "logits");
  auto labels = tf::placeholder<std::int32_t, tf::batch, 3>(g, "labels");
  auto of_last = tf::placeholder<std::int32_t, tf::batch, 3>(g, "of_last");
  auto counts = tf::placeholder<std::int8_t, tf::batch>(g, "counts");
  auto lengths = tf::placeholder<std::int64_t, tf::batch>(g, "lengths");
  tf::ctc_loss(logits, labels, counts, lengths, {.ignore_longer_outputs_than_inputs = true})
      .named("loss");
  tf::ctc_loss(logits, of_last, counts, lengths,
               {.blank = 0, .ignore_longer_outputs_than_inputs = true})
      .named("blank_0");
  tf::ctc_loss(logits, labels, counts, lengths,
               {.ctc_merge_repeated = false, .ignore_longer_outputs_than_inputs = true})
      .named("unmerged");
  auto collapsed = tf::ctc_loss(
      logits, labels, counts, lengths,
      {.preprocess_collapse_repeated = true, .ignore_longer_outputs_than_inputs = true});
  collapsed.named("collapsed");
  gradients(sum(collapsed), logits).named("dx");
}

template <class T>
void check_losses(double tolerance) {
  // Labels (0, 1 where the blank is the last class), how many there are, and steps.
  struct Case {
    Labels labels;
    std::int64_t steps;
  };
  const std::vector<Case> cases = {{{}, 5},     {{}, 0},        {{0}, 1},       {{1}, 5},
                                   {{0, 1}, 4}, {{0, 0}, 3},    {{1, 1, 1}, 5}, {{0, 1, 0}, 3},
                                   {{0, 0}, 2}, {{1, 0, 1}, 2}, {{1, 1, 0}, 4}, {{0, 0, 0}, 4}};
  const auto size = static_cast<std::int64_t>(cases.size());
  test::Random random(11);
  const auto dims = [&](std::int64_t n) { return test::dims({size, n}); };
  tf::HostTensors feeds = {
      {"logits",
       test::random_tensor(random, tf::dtype_of<T>, test::dims({steps, size, classes}), -3, 3)},
      {"labels", tf::host_tensor(tf::DType::int32, dims(3))},
      {"of_last", tf::host_tensor(tf::DType::int32, dims(3))},
      {"counts", tf::host_tensor(tf::DType::int8, test::dims({size}))},
      {"lengths", tf::host_tensor(tf::DType::int64, test::dims({size}))}};
  const tf::HostTensor& logits = feeds.at("logits");
  const tf::HostTensor row = tf::host_tensor(logits.dtype, test::dims({size}));
  test::Outcome expected = {{"loss", row}, {"blank_0", row}, {"unmerged", row}, {"collapsed", row}};
  for (std::int64_t b = 0; b < size; ++b) {
    const auto& [labels, length] = cases[static_cast<std::size_t>(b)];
    const auto count = static_cast<std::int64_t>(labels.size());
    Labels shifted;
    Labels unique;
    std::int64_t repeats = 0;
    for (std::int64_t i = 0; i < 3; ++i) {  // -1 behind the last label: nothing reads it
      const std::int64_t label = i < count ? labels[static_cast<std::size_t>(i)] : -1;
      feeds.at("labels").set(b * 3 + i, static_cast<double>(label));
      feeds.at("of_last").set(b * 3 + i, static_cast<double>(label + 1));
      if (i >= count) continue;
      shifted.push_back(label + 1);
      const bool repeated = i > 0 && label == labels[static_cast<std::size_t>(i - 1)];
      if (repeated) ++repeats;
      if (!repeated) unique.push_back(label);
    }
    feeds.at("counts").set(b, static_cast<double>(count));
    feeds.at("lengths").set(b, static_cast<double>(length));
    const auto set = [&](const char* name, std::int64_t least, const Labels& of, std::int64_t blank,
                         bool merge) {
      const bool fits = least <= length;
      expected.at(name).set(b, fits ? loss_of_all_paths(logits, b, length, of, blank, merge) : 0);
    };
    set("loss", count + repeats, labels, 2, true);
    set("blank_0", count + repeats, shifted, 0, true);
    set("unmerged", count, labels, 2, false);
    set("collapsed", static_cast<std::int64_t>(unique.size()), unique, 2, true);
  }
  test::check_values<losses<T>>(feeds, expected, tolerance);
}

/// Of float and with one class that can't be: infinite losses, and gradients of 0 there.
constexpr void extreme(tf::Graph& g) {
  auto logits = tf::placeholder<float, 2, 2, 2>(g, "logits");
  auto labels = tf::constant<std::int32_t, 2, 1>(g, {0, 0});
  auto ones = tf::constant<std::int32_t, 2>(g, {1, 1});
  auto lengths = tf::constant<std::int32_t, 2>(g, {2, 1});
  auto loss = tf::ctc_loss(logits, labels, ones, lengths).named("loss");
  gradients(sum(loss), logits).named("dx");
}

constexpr void long_sequences(tf::Graph& g) {
  auto logits = tf::placeholder<float, 2000, 1, 5>(g, "logits");
  auto labels = tf::placeholder<std::int32_t, 1, 2>(g, "labels");
  auto count = tf::placeholder<std::int32_t, 1>(g, "count");
  auto length = tf::placeholder<std::int32_t, 1>(g, "length");
  tf::ctc_loss(logits, labels, count, length).named("loss");
}

constexpr void decoder(tf::Graph& g) {
  auto logits = tf::placeholder<float, 6, tf::batch, 3>(g, "logits");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  auto [decoded, counts, sums] = tf::ctc_greedy_decoder(logits, lengths);
  decoded.named("decoded");
  counts.named("counts");
  sums.named("sums");
  auto [all, all_counts, same] =
      tf::ctc_greedy_decoder(logits, lengths, {.blank = 0, .merge_repeated = false});
  all.named("all");
  all_counts.named("all_counts");
  same.named("same");
}

constexpr void wrong_blank(tf::Graph& g) {
  auto logits = tf::placeholder<float, 6, 2, 3>(g, "logits");
  auto lengths = tf::placeholder<std::int32_t, 2>(g, "lengths");
  auto labels = tf::placeholder<std::int32_t, 2, 3>(g, "labels");
  tf::ctc_loss(logits, labels, lengths, lengths, {.blank = 3});
}
constexpr void wrong_blank_of_decoder(tf::Graph& g) {
  auto logits = tf::placeholder<float, 6, 2, 3>(g, "logits");
  auto lengths = tf::placeholder<std::int32_t, 2>(g, "lengths");
  tf::ctc_greedy_decoder(logits, lengths, {.blank = -4});
}

constexpr void checked(tf::Graph& g) {
  auto logits = tf::placeholder<float, 3, 2, 3>(g, "logits");
  auto labels = tf::placeholder<std::int32_t, 2, 2>(g, "labels");
  auto counts = tf::placeholder<std::int32_t, 2>(g, "counts");
  auto lengths = tf::placeholder<std::int32_t, 2>(g, "lengths");
  tf::ctc_loss(logits, labels, counts, lengths).named("loss");
  tf::ctc_greedy_decoder(logits, lengths).decoded.named("decoded");
}

}  // namespace

TEST_CASE("ctc_loss: values") {
  check_losses<double>(1e-13);
  check_losses<float>(1e-6);
}

TEST_CASE("ctc_loss: each combination of options") {
  // Labels, 2 of which may be equal neighbours, and steps: those of the last row are too few for
  // three labels, and for one label they are enough.
  const std::vector<Labels> rows = {{0, 1, 0}, {1, 1, 0}, {0, 0, 0}, {1, 1, 1}};
  const std::vector<std::int64_t> lengths = {5, 5, 5, 2};
  test::Random random(12);
  const tf::HostTensor logits =
      test::random_tensor(random, tf::DType::float64, test::dims({steps, 4, classes}), -2, 2);
  for (int i = 0; i < 16; ++i) {
    const bool collapse = i % 2 != 0;
    const bool merge = i / 2 % 2 != 0;
    const bool ignore = i / 4 % 2 != 0;
    const int blank = i / 8 != 0 ? 0 : -1;
    CAPTURE(collapse);
    CAPTURE(merge);
    CAPTURE(ignore);
    CAPTURE(blank);
    const std::int64_t shift = blank == 0 ? 1 : 0;
    tf::HostTensors feeds = {{"logits", logits},
                             {"labels", tf::host_tensor(tf::DType::int32, test::dims({4, 3}))},
                             {"lengths", test::ints({4}, {5, 5, 5, 2})}};
    tf::HostTensor expected = tf::host_tensor(tf::DType::float64, test::dims({4}));
    bool longer = false;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      Labels read_as;
      std::int64_t repeats = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::int64_t label = rows[b][k] + shift;
        feeds.at("labels").set(static_cast<std::int64_t>(b * 3 + k), static_cast<double>(label));
        const bool repeated = k > 0 && rows[b][k] == rows[b][k - 1];
        if (repeated && collapse) continue;
        repeats += repeated;
        read_as.push_back(label);
      }
      const auto least = static_cast<std::int64_t>(read_as.size()) + (merge ? repeats : 0);
      const bool fits = least <= lengths[b];
      longer = longer || !fits;
      const auto row = static_cast<std::int64_t>(b);
      if (!fits) continue;
      expected.set(row, loss_of_all_paths(logits, row, lengths[b], read_as,
                                          blank == 0 ? 0 : classes - 1, merge));
    }
    tf::Graph g;
    auto x = tf::placeholder<double, steps, 4, classes>(g, "logits");
    auto labels = tf::placeholder<std::int32_t, 4, 3>(g, "labels");
    auto of_time = tf::placeholder<std::int32_t, 4>(g, "lengths");
    auto counts = tf::constant<std::int32_t, 4>(g, {3, 3, 3, 3});
    tf::ctc_loss(x, labels, counts, of_time,
                 {.blank = blank,
                  .preprocess_collapse_repeated = collapse,
                  .ctc_merge_repeated = merge,
                  .ignore_longer_outputs_than_inputs = ignore})
        .named("loss");
    CHECK(longer == !collapse);
    if (longer && !ignore) {
      CHECK_THROWS_AS(tf::Interpreter(g).run({"loss"}, feeds), tf::Error);
      CHECK_THROWS_AS(tf::ir::ProgramInterpreter(g).run({"loss"}, feeds), tf::Error);
    } else {
      test::check_close("loss", tf::Interpreter(g).run({"loss"}, feeds)[0], expected, 1e-13);
      test::check_close("loss", tf::ir::ProgramInterpreter(g).run({"loss"}, feeds)[0], expected,
                        1e-13);
    }
  }
}

TEST_CASE("ctc_greedy_decoder: each combination of options") {
  const Labels path = {2, 2, 0, 0, 2, 1};
  tf::HostTensor logits = tf::host_tensor(tf::DType::float32, test::dims({6, 1, 3}));
  for (std::int64_t t = 0; t < 6; ++t) logits.set(t * 3 + path[static_cast<std::size_t>(t)], 1);
  for (const bool merge : {false, true}) {
    for (const int blank : {0, -1, 1}) {
      CAPTURE(merge);
      CAPTURE(blank);
      tf::Graph g;
      auto x = tf::placeholder<float, 6, 1, 3>(g, "logits");
      auto length = tf::constant<std::int32_t, 1>(g, {6});
      tf::ctc_greedy_decoder(x, length, {.blank = blank, .merge_repeated = merge})
          .decoded.named("decoded");
      Labels expected = read(path, blank < 0 ? 2 : blank, merge);
      expected.resize(6, -1);
      for (const tf::HostTensor& got :
           {tf::Interpreter(g).run({"decoded"}, {{"logits", logits}})[0],
            tf::ir::ProgramInterpreter(g).run({"decoded"}, {{"logits", logits}})[0]}) {
        for (std::int64_t t = 0; t < 6; ++t) {
          CHECK(got[t].integer == expected[static_cast<std::size_t>(t)]);
        }
      }
    }
  }
}

TEST_CASE("ctc_loss: what no path reads as, and what lies behind a sequence's end") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  // Class 0 of the first sequence has the probability 0; the second has one step, of 1/4.
  test::check_values<extreme>(
      {{"logits", test::floats({2, 2, 2}, {-inf, 0, 0, std::log(3.), -inf, 0, 7, 8})}},
      {{"loss", test::floats({2}, {inf, std::log(4.)})},
       {"dx", test::floats({2, 2, 2}, {0, 0, -0.75, 0.75, 0, 0, 0, 0})}},
      1e-6);
}

TEST_CASE("ctc_loss: probabilities that a double can't hold") {
  // With equal logits: the paths of T steps that read as two different labels are as many as there
  // are ways to place the borders of two runs with blanks around, C(T + 2, 4).
  const double t = 2000;
  const double paths = (t + 2) * (t + 1) * t * (t - 1) / 24;
  test::check_values<long_sequences>(
      {{"logits", tf::host_tensor(tf::DType::float32, test::dims({2000, 1, 5}))},
       {"labels", test::ints({1, 2}, {0, 3})},
       {"count", test::ints({1}, {2})},
       {"length", test::ints({1}, {2000})}},
      {{"loss", test::floats({1}, {t * std::log(5.) - std::log(paths)})}}, 1e-7);
}

TEST_CASE("ctc_loss: gradient") {
  const auto loss = [](auto logits, tf::CtcOptions options) {
    auto& g = logits.graph();
    auto labels = tf::constant<std::int32_t, 4, 2>(g, {0, 1, 1, 1, 0, -1, -1, -1});
    auto counts = tf::constant<std::int32_t, 4>(g, {2, 2, 1, 0});
    auto lengths = tf::constant<std::int32_t, 4>(g, {5, 4, 3, 2});
    return tf::ctc_loss(logits, labels, counts, lengths, options);
  };
  using Logits = tf::Shape<5, 4, 3>;
  test::check_gradients<Logits>([&](auto x) { return loss(x, {}); });
  test::check_gradients<Logits>([&](auto x) { return loss(x, {.ctc_merge_repeated = false}); });
  test::check_gradients<Logits>(
      [&](auto x) { return loss(x, {.preprocess_collapse_repeated = true}); });
}

TEST_CASE("ctc_greedy_decoder: values") {
  // Best classes 0 0 2 0 1 1 of six steps, and 1 0 2 2 of four.
  const std::vector<double> best = {0, 1, 0, 0, 2, 2, 0, 2, 1, 0, 1, 0};
  tf::HostTensor logits = tf::host_tensor(tf::DType::float32, test::dims({6, 2, 3}));
  for (std::size_t i = 0; i < best.size(); ++i) {
    const auto row = static_cast<std::int64_t>(3 * i);
    logits.set(row + static_cast<std::int64_t>(best[i]), static_cast<double>(i) + 1);
  }
  test::check_values<decoder>(
      {{"logits", logits}, {"lengths", test::ints({2}, {6, 4})}},
      {{"decoded", test::ints({2, 6}, {0, 0, 1, -1, -1, -1, 1, 0, -1, -1, -1, -1})},
       {"counts", test::ints({2}, {3, 2})},
       {"sums", test::floats({2}, {-(1. + 3 + 5 + 7 + 9 + 11), -(2. + 4 + 6 + 8)})},
       {"all", test::ints({2, 6}, {2, 1, 1, -1, -1, -1, 1, 2, 2, -1, -1, -1})},
       {"all_counts", test::ints({2}, {3, 3})},
       {"same", test::floats({2}, {-36, -20})}});
}

TEST_CASE("ctc_greedy_decoder: gradient") {
  test::check_gradients<tf::Shape<3, 2, 3>>([](auto x) {
    auto lengths = tf::constant<std::int32_t, 2>(x.graph(), {3, 2});
    return tf::ctc_greedy_decoder(x, lengths).neg_sum_logits;
  });
}

TEST_CASE("ctc_loss: errors") {  // and ctc_greedy_decoder's
  const auto message = [](const std::vector<int>& labels, const std::vector<int>& counts,
                          const std::vector<int>& lengths) {
    return message_of([&] {
      tf::Variables variables;
      tf::Session<checked> session(variables);
      const std::vector<float> logits(18);
      session.run<"loss", "decoded">(tf::feed<"logits">(logits), tf::feed<"labels">(labels),
                                     tf::feed<"counts">(counts), tf::feed<"lengths">(lengths));
    });
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != text.npos);
  };
  has(message({0, 1, 2, 1}, {2, 2}, {3, 3}),
      "ctc_loss: label 2 at [1, 0] must be a class, in [0, 3), and not the blank");
  has(message({0, -1, 0, 1}, {2, 2}, {3, 3}), "ctc_loss: label -1 at [0, 1]");
  has(message({0, 1, 0, 1}, {2, 3}, {3, 3}), "ctc_loss: label length 3 at [1] is not in [0, 2]");
  has(message({0, 1, 0, 1}, {2, 2}, {4, 3}), "length 4 at [0] is not in [0, 3]");
  has(message({0, 1, 1, 1}, {2, 2}, {3, 2}),
      "ctc_loss: the labels at [1] need 3 steps, and there "
      "are 2");
  CHECK(message({0, 1, 0, 1}, {2, 2}, {3, 2}).empty());
  const auto of = [](auto model) {
    return message_of([&] {
      tf::Graph g;
      model(g);
    });
  };
  has(of(wrong_blank), "ctc_loss: the blank must be one of the 3 classes");
  has(of(wrong_blank_of_decoder), "ctc_greedy_decoder: the blank must be one of the 3 classes");
}
