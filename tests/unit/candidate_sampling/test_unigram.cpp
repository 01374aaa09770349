// SPDX-License-Identifier: Apache-2.0

// fixed_unigram_candidate_sampler and all_candidate_sampler: frequencies and expected counts.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include <typeflow/candidate_sampling.hpp>

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

TEST_CASE("all_candidate_sampler: values") {
  const test::Outcome got = drawn();
  CHECK(test::elements(got.at("all")) == std::vector<double>{0, 1, 2, 3});
  CHECK(test::elements(got.at("all_count")) == std::vector<double>(4, 1));
  CHECK(test::elements(got.at("all_true")) == std::vector<double>(4, 1));
  CHECK(got.at("all_draws").value(0) == 4);
}
