// SPDX-License-Identifier: Apache-2.0

// Films recommended by matrix factorisation. Behind ratings of 300 films by 400 users are four
// tastes of each user and four traits of each film, a level of each, and noise of deviation 0.25.
// They are found by Adam on batches of ratings, and by alternating least squares, which solves for
// all users, then for all films. Draws the errors on unseen ratings over the passes as errors.svg.
// Expected: at most 1.1 times the noise, below which no guess can be.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/einsum.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int users = 400, films = 300, traits = 4;
constexpr float noise = 0.25f;

/// rating = mean + level of the user + level of the film + tastes of the user . traits of the film
constexpr void by_adam(tf::Graph& g) {
  auto user = placeholder<std::int32_t, tf::batch>(g, "user");
  auto film = placeholder<std::int32_t, tf::batch>(g, "film");
  auto rating = placeholder<float, tf::batch>(g, "rating");
  auto middle = variable<float>(g, "mean", tf::zeros());
  const auto small = tf::normal(0, 0.1);
  auto p = embedding<users, traits>(g, "tastes", user, {.weights = small});  // (batch,traits)
  auto q = embedding<films, traits>(g, "traits", film, {.weights = small});
  auto levels = embedding<users, 1>(g, "user", user, {.weights = tf::zeros()}) +
                embedding<films, 1>(g, "film", film, {.weights = tf::zeros()});
  auto error = mean(square(middle + sum<1>(levels) + sum<1>(p * q) - rating));
  sqrt(error).named("error");
  auto loss = error + 0.005f * mean(sum<1>(square(p) + square(q)));
  auto rate = placeholder<float>(g, "rate");
  tf::Adam{.rate = rate}.minimize(loss).named("train");
}

/// The best factors of all rows at once, by rated films alone: a row's matrix of products is the
/// sum over these.  // (N,M) x (N,M) x (M,K) -> (N,K)
template <int n, int m, int k>
constexpr auto solve_rows(auto ratings, auto is_rated, auto other) {
  auto pairs = reshape<m, k * k>(expand_dims<2>(other) * expand_dims<1>(other));
  auto products = reshape<n, k, k>(matmul(is_rated, pairs));
  auto target = matmul(ratings * is_rated, other);
  constexpr float l2 = 0.3f;  // so that a row without ratings is zero, and not an error
  auto damped = products + l2 * tf::eye<float, k>(other.graph());
  return squeeze<2>(cholesky_solve(cholesky(damped), expand_dims<2>(target)));
}

/// Two more factors than traits, for the levels.
constexpr void by_least_squares(tf::Graph& g) {
  constexpr int k = traits + 2;
  auto all = placeholder<float, users, films>(g, "all");
  auto is_rated = placeholder<float, users, films>(g, "is known");
  auto is_test = cast<float>(not_equal(all, 0)) - is_rated;
  auto ratings = all - sum(all * is_rated) / sum(is_rated);  // less their mean
  auto p = variable<float, users, k>(g, "p");
  auto q = variable<float, films, k>(g, "q");
  auto new_p = solve_rows<users, films, k>(ratings, is_rated, q);
  auto new_q = solve_rows<films, users, k>(transpose(ratings), transpose(is_rated), new_p);
  group(assign(p, new_p), assign(q, new_q)).named("pass");
  auto errors = square(matmul<tf::transpose_b>(p, q) - ratings);
  sqrt(sum(is_test * errors) / sum(is_test)).named("error");
}

/// Each film is rated by half of the users; each fifth rating is for the test.
struct Ratings {
  std::vector<std::tuple<std::int32_t, std::int32_t, float>> known, test;   // user, film, rating
  std::vector<float> all = std::vector<float>(std::size_t{users} * films);  // (users,films)
  std::vector<float> is_known = all;                                        // 0 or 1
  explicit Ratings(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<std::array<float, traits + 1>> p(users), q(films);  // and the level
    for (auto& row : p) std::ranges::generate(row, [&] { return 0.7f * normal(random); });
    for (auto& row : q) std::ranges::generate(row, [&] { return 0.7f * normal(random); });
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (random() % 2 == 0) continue;
      const auto &a = p[at / films], &b = q[at % films];
      const bool tests = random() % 5 == 0;
      all[at] = std::inner_product(a.begin(), a.end() - 1, b.begin(), 3.5f) + a.back() + b.back() +
                noise * normal(random);
      is_known[at] = tests ? 0 : 1;
      (tests ? test : known).emplace_back(at / films, at % films, all[at]);
    }
  }
};

void train(const examples::Options& options) {
  const Ratings ratings(options.seed);
  std::printf("%zu ratings, %zu of others to predict\n", ratings.known.size(), ratings.test.size());
  tf::Variables variables;
  tf::Session<by_adam> adam(variables, {.seed = options.seed});
  tf::Session<by_least_squares> squares(variables, {.seed = options.seed});
  const auto run = [&]<tf::Text Name>(const auto& batch, const auto&... rate) {
    return adam.run<Name>(tf::feed<"user">(std::get<0>(batch)),
                          tf::feed<"film">(std::get<1>(batch)),
                          tf::feed<"rating">(std::get<2>(batch)), rate...);
  };
  const tf::Dataset known = tf::from_elements(ratings.known).shuffle({.buffer = users * films});
  const tf::Dataset others = tf::from_elements(ratings.test).batch(users * films);
  const auto test = tf::DatasetIterator(others).next();
  tf::DatasetIterator batches(known.batch(options.batch).repeat());
  std::vector<tf::Curve> curves{{.name = "Adam"}, {.name = "alternating least squares"}};
  const auto count = static_cast<std::int64_t>(ratings.known.size());
  const auto all = tf::feed<"all">(ratings.all);
  const auto is_known = tf::feed<"is known">(ratings.is_known);  // the others count nowhere
  for (std::int64_t pass = 0; pass < options.steps; ++pass) {
    const auto left = static_cast<float>(options.steps - pass) / static_cast<float>(options.steps);
    const auto rate = tf::feed<"rate">(options.rate * left);
    for (auto i = count; i > 0; i -= options.batch) run.operator()<"train">(*batches.next(), rate);
    curves[0].y.push_back(run.operator()<"error">(*test));
    squares.run<"pass">(all, is_known);
    curves[1].y.push_back(squares.run<"error">(all, is_known));
  }
  const double first = curves[0].y.back(), second = curves[1].y.back();
  curves.push_back({.name = "noise", .y = std::vector<double>(curves[0].y.size(), noise)});
  const tf::PlotOptions plot{.title = "error on the test", .x_label = "pass", .log_y = true};
  tf::write_plot(options.output, tf::plot_curves(curves, plot));
  std::printf("error by Adam %.4f, by least squares %.4f, noise %.2f\n", first, second, noise);
  std::printf("error %.2f times the noise\n", std::max(first, second) / noise);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Films recommended by matrix factorisation.",
                               {.steps = 30, .batch = 500, .rate = 0.02f, .output = "errors.svg"},
                               train);
}
