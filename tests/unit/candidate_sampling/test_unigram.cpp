// SPDX-License-Identifier: Apache-2.0

// fixed_unigram_candidate_sampler, learned_unigram_candidate_sampler and all_candidate_sampler:
// frequencies and expected counts.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include <typeflow/candidate_sampling.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

#include "support/check_random.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto labels = tf::constant<std::int32_t, 2, 2>(g, {0, 1, 4, 2});
  auto counts = tf::placeholder<float, 6>(g, "counts");
  auto often = tf::fixed_unigram_candidate_sampler<20000, double>(
      labels, counts, {.distortion = 0.75, .unique = false, .name = "often"});
  often.true_expected_count.named("often_true");
  often.expected_count.named("often_count");
  often.draws.named("often_draws");
  auto once = tf::fixed_unigram_candidate_sampler<3, double>(labels, counts, {.name = "once"});
  once.true_expected_count.named("once_true");
  once.expected_count.named("once_count");
  once.draws.named("once_draws");
  tf::fixed_unigram_candidate_sampler<5>(labels, counts, {.distortion = 0.01, .name = "five"});
  auto all = tf::all_candidate_sampler<4>(labels);
  all.ids.named("all");
  all.true_expected_count.named("all_true");
  all.expected_count.named("all_count");
  all.draws.named("all_draws");
}

const std::vector<double> weights = {8, 1, 0, 4, 2, 1};
const tf::HostTensors feeds = {{"counts", test::floats({6}, weights)}};

std::vector<double> probabilities(double distortion) {
  std::vector<double> p;
  double total = 0;
  for (const double w : weights) total += w > 0 ? std::pow(w, distortion) : 0;
  for (const double w : weights) p.push_back(w > 0 ? std::pow(w, distortion) / total : 0);
  return p;
}
test::Outcome drawn() {
  const test::Outcome got = test::Kernels<model>(3).run(feeds);
  test::check_allocations<model>(feeds);
  tf::Graph g;
  model(g);
  const tf::HostTensors meant = tf::interpret(g, feeds, {}, {7, 0});
  for (const auto& [name, x] : got) {
    CAPTURE(name);
    if (!feeds.contains(name)) test::check_close(name, x, meant.at(name), 1e-12);
  }
  return got;
}
void check_error(const std::vector<double>& counts, const char* text) {
  const tf::HostTensors wrong = {{"counts", test::floats({6}, counts)}};
  test::Kernels<model> kernels;
  CHECK_THROWS_WITH_AS(kernels.run(wrong), doctest::Contains(text), tf::Error);
  tf::Graph g;
  model(g);
  CHECK_THROWS_WITH_AS(tf::interpret(g, wrong, {}, {7, 0}), doctest::Contains(text), tf::Error);
}

constexpr void learning(tf::Graph& g) {
  auto labels = tf::placeholder<std::int64_t, tf::batch, 2>(g, "labels");
  auto samples = tf::learned_unigram_candidate_sampler<8, 5>(g, "sampler", labels,
                                                             {.unique = false, .name = "ids"});
  samples.true_expected_count.named("true_count");
  samples.expected_count.named("count");
  auto once =
      tf::learned_unigram_candidate_sampler<2, 5, double>(g, "once", labels, {.distortion = 0.5});
  once.ids.named("once_ids");
  once.true_expected_count.named("once_true");
  once.draws.named("once_draws");
  auto w = variable<float, 5, 3>(g, "W", tf::zeros());
  auto b = variable<float, 5>(g, "b", tf::zeros());
  auto inputs = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto loss = sum(nce_loss(w, b, labels, inputs, samples)).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("fixed_unigram_candidate_sampler: values") {
  const test::Outcome got = drawn();
  const std::vector<double> p = probabilities(0.75);
  const std::vector<double> often = test::elements(got.at("often"));
  // test::occur wants chances above 0.
  std::vector<double> of_drawable;
  for (const double id : often) of_drawable.push_back(id > 2 ? id - 1 : id);
  for (const double id : often) REQUIRE(id != 2);
  CHECK(test::occur(of_drawable, {p[0], p[1], p[3], p[4], p[5]}));
  CHECK(got.at("often_draws").value(0) == 20000);
  const std::size_t labels[] = {0, 1, 4, 2};
  for (int i = 0; i < 4; ++i) {
    CHECK(got.at("often_true").value(i) == doctest::Approx(20000 * p[labels[i]]).epsilon(1e-12));
  }
  for (int i = 0; i < 50; ++i) {
    const double expected = 20000 * p[static_cast<std::size_t>(often[static_cast<std::size_t>(i)])];
    CHECK(got.at("often_count").value(i) == doctest::Approx(expected).epsilon(1e-12));
  }

  const std::vector<double> q = probabilities(1);
  const double draws = got.at("once_draws").value(0);
  const std::vector<double> once = test::elements(got.at("once"));
  CHECK(std::set<double>(once.begin(), once.end()).size() == 3);
  for (std::size_t i = 0; i < 4; ++i) {
    const double expected = 1 - std::pow(1 - q[labels[i]], draws);
    CHECK(got.at("once_true").value(static_cast<std::int64_t>(i)) ==
          doctest::Approx(expected).epsilon(1e-12));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const double expected = 1 - std::pow(1 - q[static_cast<std::size_t>(once[i])], draws);
    CHECK(got.at("once_count").value(static_cast<std::int64_t>(i)) ==
          doctest::Approx(expected).epsilon(1e-12));
  }
  const std::vector<double> five = test::elements(got.at("five"));
  CHECK(std::set<double>(five.begin(), five.end()) == std::set<double>{0, 1, 3, 4, 5});
}

TEST_CASE("fixed_unigram_candidate_sampler: errors") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check_error({8, 1, -1, 4, 2, 1},
              "fixed_unigram_candidate_sampler: the weight of class 2 is "
              "negative or not finite");
  check_error({8, infinity, 0, 4, 2, 1},
              "fixed_unigram_candidate_sampler: the weight of class 1 "
              "is negative or not finite");
  check_error({0, 0, 0, 0, 0, 0}, "fixed_unigram_candidate_sampler: ");
  check_error({8, 0, 0, 4, 2, 1},
              "fixed_unigram_candidate_sampler: 5 classes to draw, but 4 have "
              "a weight above 0");
}

TEST_CASE("learned_unigram_candidate_sampler: values") {
  const std::vector<std::vector<std::int64_t>> labels = {
      {0, 1, 1, 1, 4, 0}, {2, 1, 1, 0, 3, 3}, {1, 1, 1, 1, 1, 2}, {0, 1, 2, 3, 4, 4}};
  // true_expected_count of tf.random.learned_unigram_candidate_sampler(labels, 2, 8, False, 5) of
  // TensorFlow 2.21
  const std::vector<std::vector<double>> meant = {
      {1.6, 1.6, 1.6, 1.6, 1.6, 1.6},
      {0.7272727489, 2.909090996, 2.909090996, 2.181818247, 0.7272727489, 0.7272727489},
      {2.823529482, 2.823529482, 2.823529482, 2.823529482, 2.823529482, 0.9411764741},
      {1.391304374, 3.826086998, 1.043478251, 1.043478251, 0.6956521869, 0.6956521869}};
  const std::vector<float> x(9, 1.f);
  tf::Variables variables;
  tf::Session<learning> session(variables, {.seed = 3});
  std::vector<double> counts(5, 1);
  for (std::size_t step = 0; step < labels.size(); ++step) {
    CAPTURE(step);
    const auto got =
        session.run<"true_count", "count", "sampler/ids", "once_ids", "once_true", "once_draws",
                    "train">(tf::feed<"labels">(labels[step]), tf::feed<"x">(x));
    double total = 0;
    double root_total = 0;
    for (const double c : counts) total += c;
    for (const double c : counts) root_total += std::sqrt(c);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(std::get<0>(got).data()[i] == doctest::Approx(meant[step][i]).epsilon(1e-6));
      const double p = std::sqrt(counts[static_cast<std::size_t>(labels[step][i])]) / root_total;
      const double draws = static_cast<double>(std::get<5>(got));
      CHECK(std::get<4>(got).data()[i] ==
            doctest::Approx(1 - std::pow(1 - p, draws)).epsilon(1e-12));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      const double p = counts[static_cast<std::size_t>(std::get<2>(got)[i])] / total;
      CHECK(std::get<1>(got)[i] == doctest::Approx(8 * p).epsilon(1e-6));
    }
    CHECK(std::get<3>(got)[0] != std::get<3>(got)[1]);
    for (const std::int64_t label : labels[step]) ++counts[static_cast<std::size_t>(label)];
  }
  const auto counted = variables.get<std::int64_t>("sampler/counts");
  CHECK(std::vector<double>(counted.begin(), counted.end()) == counts);

  // Neither a run without a training step counts, nor one of inference. A wrong class is an error.
  tf::Session<learning, tf::inference> inference(variables);
  (void)session.run<"loss">(tf::feed<"labels">(labels[0]), tf::feed<"x">(x));
  (void)inference.run<"loss">(tf::feed<"labels">(labels[0]), tf::feed<"x">(x));
  const auto after = variables.get<std::int64_t>("sampler/counts");
  CHECK(std::vector<double>(after.begin(), after.end()) == counts);
  const std::vector<std::int64_t> wrong = {0, 1, 5, 1, 4, 0};
  CHECK_THROWS_AS(session.run<"train">(tf::feed<"labels">(wrong), tf::feed<"x">(x)), tf::Error);
  CHECK(variables.get<std::int64_t>("sampler/counts")[0] == counted[0]);

  // Counts that the user sets may be wrong.
  const auto check_counts = [&](std::vector<std::int64_t> now, const char* text) {
    variables.set<std::int64_t>("sampler/counts", now);
    CHECK_THROWS_WITH_AS(session.run<"sampler/ids">(tf::feed<"labels">(labels[0])),
                         doctest::Contains(text), tf::Error);
  };
  check_counts({3, -1, 1, 1, 1},
               "learned_unigram_candidate_sampler: the count of class 1 is negative or not finite");
  check_counts({0, 0, 0, 0, 0},
               "learned_unigram_candidate_sampler: 8 classes to draw, but 0 have a count above 0");

  // The draws follow the counts.
  variables.set<std::int64_t>("sampler/counts", std::vector<std::int64_t>{700, 1, 100, 199, 0});
  std::vector<double> drawn(5, 0);
  for (int run = 0; run < 500; ++run) {
    for (const std::int32_t id : session.run<"sampler/ids">(tf::feed<"labels">(labels[0]))) {
      ++drawn[static_cast<std::size_t>(id)];
    }
  }
  CHECK(drawn[0] == doctest::Approx(2800).epsilon(0.05));
  CHECK(drawn[2] == doctest::Approx(400).epsilon(0.2));
  CHECK(drawn[3] == doctest::Approx(796).epsilon(0.15));
  CHECK(drawn[4] == 0);
}

TEST_CASE("all_candidate_sampler: values") {
  const test::Outcome got = drawn();
  CHECK(test::elements(got.at("all")) == std::vector<double>{0, 1, 2, 3});
  CHECK(test::elements(got.at("all_count")) == std::vector<double>(4, 1));
  CHECK(test::elements(got.at("all_true")) == std::vector<double>(4, 1));
  CHECK(got.at("all_draws").value(0) == 4);
}
