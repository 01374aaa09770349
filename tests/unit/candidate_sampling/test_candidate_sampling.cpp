// SPDX-License-Identifier: Apache-2.0

// Samplers of candidates, and losses over them against plain loops with the classes that were
// drawn.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <typeflow/candidate_sampling.hpp>

#include "support/check_random.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void samplers(tf::Graph& g) {
  auto labels = tf::constant<std::int32_t, 4>(g, {0, 1, 7, 49});
  auto often = tf::log_uniform_candidate_sampler<20000, double>(
      labels, {.range = 50, .unique = false, .name = "often"});
  often.true_expected_count.named("often_true");
  often.expected_count.named("often_count");
  auto once = tf::log_uniform_candidate_sampler<20, double>(labels, {.range = 50, .name = "once"});
  once.true_expected_count.named("once_true");
  once.expected_count.named("once_count");
  once.draws.named("once_draws");
  tf::log_uniform_candidate_sampler<10>(labels, {.range = 10, .name = "all"});
  auto even = tf::uniform_candidate_sampler<5000, double>(
      labels, {.range = 10, .unique = false, .name = "even"});
  even.true_expected_count.named("even_true");
  auto few = tf::uniform_candidate_sampler<4, double>(labels, {.range = 10, .name = "few"});
  few.true_expected_count.named("few_true");
  few.draws.named("few_draws");
}

/// In draw 0, by kernels; the interpreter must agree.
test::Outcome drawn() {
  const test::Outcome got = test::Kernels<samplers>(3).run({});
  test::check_allocations<samplers>({});
  tf::Graph g;
  samplers(g);
  const tf::HostTensors meant = tf::interpret(g, {}, {}, {7, 0});
  for (const auto& [name, x] : got) {
    CAPTURE(name);
    test::check_close(name, x, meant.at(name), 1e-12);
  }
  return got;
}
double log_uniform(double k, double range) {
  return std::log((k + 2) / (k + 1)) / std::log(range + 1);
}
/// Distinct classes below a range.
bool are_distinct(const std::vector<double>& ids, double range) {
  const std::set<double> distinct(ids.begin(), ids.end());
  return distinct.size() == ids.size() && *distinct.begin() >= 0 && *distinct.rbegin() < range;
}

}  // namespace

TEST_CASE("log_uniform_candidate_sampler: values") {
  const test::Outcome got = drawn();
  const std::vector<double> often = test::elements(got.at("often"));
  std::vector<double> p;
  for (int k = 0; k < 50; ++k) p.push_back(log_uniform(k, 50));
  CHECK(test::occur(often, p));
  const double labels[] = {0, 1, 7, 49};
  for (int i = 0; i < 4; ++i) {
    const double expected = 20000 * log_uniform(labels[i], 50);
    CHECK(got.at("often_true").value(i) == doctest::Approx(expected).epsilon(1e-12));
  }
  for (int i = 0; i < 100; ++i) {
    CHECK(got.at("often_count").value(i) ==
          doctest::Approx(20000 * log_uniform(often[static_cast<std::size_t>(i)], 50)));
  }
  const std::vector<double> once = test::elements(got.at("once"));
  CHECK(are_distinct(once, 50));
  const double draws = got.at("once_draws").value(0);
  CHECK(draws >= 20);
  for (int i = 0; i < 4; ++i) {
    const double expected = 1 - std::pow(1 - log_uniform(labels[i], 50), draws);
    CHECK(got.at("once_true").value(i) == doctest::Approx(expected).epsilon(1e-12));
  }
  for (int i = 0; i < 20; ++i) {
    const double q = log_uniform(once[static_cast<std::size_t>(i)], 50);
    CHECK(got.at("once_count").value(i) ==
          doctest::Approx(1 - std::pow(1 - q, draws)).epsilon(1e-12));
  }
  CHECK(are_distinct(test::elements(got.at("all")), 10));
}

TEST_CASE("uniform_candidate_sampler: values") {
  const test::Outcome got = drawn();
  CHECK(test::occur(test::elements(got.at("even")), std::vector<double>(10, 0.1)));
  CHECK(are_distinct(test::elements(got.at("few")), 10));
  const double draws = got.at("few_draws").value(0);
  for (int i = 0; i < 4; ++i) {
    CHECK(got.at("even_true").value(i) == doctest::Approx(500));
    CHECK(got.at("few_true").value(i) == doctest::Approx(1 - std::pow(0.9, draws)));
  }
}

TEST_CASE("expected counts of unique classes are those seen over many draws") {
  test::Kernels<samplers> kernels;
  double seen = 0;
  double expected = 0;
  for (int run = 0; run < 400; ++run) {
    const test::Outcome got = kernels.run({});
    const std::vector<double> ids = test::elements(got.at("once"));
    seen += static_cast<double>(std::count(ids.begin(), ids.end(), 7.));
    expected += got.at("once_true").value(2);
  }
  CHECK(std::abs(seen - expected) < 4 * std::sqrt(400 * 0.25));
}

namespace {

constexpr int batch = 4;
constexpr int width = 3;
constexpr int classes = 12;
constexpr int drawn_classes = 5;

template <int T>
constexpr void losses(tf::Graph& g) {
  auto W = tf::placeholder<double, classes, width>(g, "W");
  auto b = tf::placeholder<double, classes>(g, "b");
  auto x = tf::placeholder<double, tf::batch, width>(g, "x");
  auto labels = tf::placeholder<std::int64_t, tf::batch, T>(g, "labels");
  auto samples = tf::log_uniform_candidate_sampler<drawn_classes, double>(
      labels, {.range = classes, .name = "ids"});
  samples.true_expected_count.named("true_count");
  samples.expected_count.named("count");
  auto nce = nce_loss(W, b, labels, x, samples).named("nce");
  auto apart = nce_loss(W, b, labels, x, samples, true).named("nce_apart");
  auto softmax = sampled_softmax_loss(W, b, labels, x, samples).named("softmax");
  sampled_softmax_loss(W, b, labels, x, samples, false).named("softmax_all");
  auto [W1, b1, x1] = gradients(sum(nce), W, b, x);
  W1.named("nce_dW");
  b1.named("nce_db");
  x1.named("nce_dx");
  auto [W2, b2, x2] = gradients(sum(softmax), W, b, x);
  W2.named("softmax_dW");
  b2.named("softmax_db");
  x2.named("softmax_dx");
  (sum(apart) + sum(nce)).named("both");
}

/// The losses of a row from plain loops.
struct Reference {
  tf::HostTensors feeds;
  const test::Outcome& drawn;
  int count;  ///< of true classes a row

  double logit(std::int64_t row, std::int64_t k, double expected) const {
    double y = feeds.at("b").value(k) - std::log(expected);
    for (int d = 0; d < width; ++d) {
      y += feeds.at("x").value(row * width + d) * feeds.at("W").value(k * width + d);
    }
    return y;
  }
  double loss(const std::string& name, std::int64_t row) const {
    const bool remove = name != "nce" && name != "softmax_all";
    double sum = 0;
    double chosen = 0;
    double entropies = 0;
    for (int t = 0; t < count; ++t) {
      const std::int64_t at = row * count + t;
      const double y = logit(row, feeds.at("labels")[at].integer, drawn.at("true_count").value(at));
      sum += std::exp(y);
      chosen += y / count;
      entropies += std::log(1 + std::exp(y)) - y / count;
    }
    for (int s = 0; s < drawn_classes; ++s) {
      const std::int64_t k = drawn.at("ids")[s].integer;
      bool hit = false;
      for (int t = 0; t < count; ++t) hit |= feeds.at("labels")[row * count + t].integer == k;
      if (hit && remove) continue;
      const double y = logit(row, k, drawn.at("count").value(s));
      sum += std::exp(y);
      entropies += std::log(1 + std::exp(y));
    }
    return name.starts_with("softmax") ? std::log(sum) - chosen : entropies;
  }
  double total(const std::string& name) const {
    double sum = 0;
    for (int row = 0; row < batch; ++row) sum += loss(name, row);
    return sum;
  }
};

template <int T>
tf::HostTensors feeds_of_losses() {
  tf::HostTensors feeds = test::random_feeds<losses<T>>(batch);
  for (int i = 0; i < batch * T; ++i) {
    feeds.at("labels")[i] = {0, (i * 5) % 7};  // small: some are drawn
  }
  return feeds;
}

template <int T>
void check_values_of(const std::string& name) {
  const tf::HostTensors feeds = feeds_of_losses<T>();
  tf::Graph g;
  losses<T>(g);
  const tf::HostTensors interpreted = tf::interpret(g, feeds, {}, {7, 0});
  std::vector<test::Outcome> outcomes{test::Outcome(interpreted.begin(), interpreted.end())};
  if constexpr (T == 2) {  // a program to compile
    outcomes.push_back(test::Kernels<losses<T>, tf::debug>().run(feeds));
    test::check_allocations<losses<T>, tf::debug>(feeds);
  }
  for (const test::Outcome& got : outcomes) {
    const Reference reference{feeds, got, T};
    for (int row = 0; row < batch; ++row) {
      CHECK(got.at(name).value(row) == doctest::Approx(reference.loss(name, row)).epsilon(1e-12));
    }
  }
}

template <int T>
void check_gradients_of(const std::string& name) {
  const tf::HostTensors feeds = feeds_of_losses<T>();
  const test::Outcome got = test::Kernels<losses<T>, tf::debug>().run(feeds);
  Reference reference{feeds, got, T};
  for (const char* of : {"W", "b", "x"}) {
    tf::HostTensor& x = reference.feeds.at(of);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      CAPTURE(of);
      CAPTURE(i);
      const double e = x.value(i);
      x.set(i, e + 1e-5);
      const double above = reference.total(name);
      x.set(i, e - 1e-5);
      const double below = reference.total(name);
      x.set(i, e);
      const double slope = (above - below) / 2e-5;
      CHECK(std::abs(got.at(name + "_d" + of).value(i) - slope) < 1e-8 * (1 + std::abs(slope)));
    }
  }
}

}  // namespace

TEST_CASE("nce_loss: values") {
  check_values_of<1>("nce");
  check_values_of<2>("nce");
  check_values_of<2>("nce_apart");
}
TEST_CASE("nce_loss: gradient") { check_gradients_of<2>("nce"); }
TEST_CASE("sampled_softmax_loss: values") {
  check_values_of<1>("softmax");
  check_values_of<2>("softmax");
  check_values_of<2>("softmax_all");
}
TEST_CASE("sampled_softmax_loss: gradient") { check_gradients_of<2>("softmax"); }

TEST_CASE("nce_loss: errors") {
  tf::HostTensors feeds = feeds_of_losses<1>();
  feeds.at("labels")[2] = {0, classes};
  tf::Graph g;
  losses<1>(g);
  CHECK_THROWS_WITH_AS(tf::interpret(g, feeds, {}, {7, 0}), doctest::Contains("sampled loss"),
                       tf::Error);
}

TEST_CASE("gradients of weights and biases are sparse") {
  tf::Graph g;
  auto W = tf::variable<float, classes, width>(g, "W");
  auto b = tf::variable<float, classes>(g, "b");
  auto x = tf::placeholder<float, tf::batch, width>(g, "x");
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  for (const auto& loss : {sum(tf::nce_loss<drawn_classes>(W, b, labels, x)),
                           sum(tf::sampled_softmax_loss<drawn_classes>(W, b, labels, x))}) {
    auto [dW, db] = gradients(loss, W, b);
    CHECK(tf::slices_of(dW.any()).size() == 2);
    CHECK(tf::slices_of(db.any()).size() == 2);
  }
  CHECK(tf::ir::records(g).error.empty());
}
