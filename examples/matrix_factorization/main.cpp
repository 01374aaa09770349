// SPDX-License-Identifier: Apache-2.0

// Films recommended by matrix factorisation. 400 users have rated some of 300 films. Behind the
// ratings are four tastes of each user and four traits of each film, which nobody knows, a level of
// each, and noise of deviation 0.25. The program finds them again in two ways: by Adam on batches
// of ratings, and by alternating least squares, which solves for all users, then for all films.
// Both predict a fifth of the ratings, which they have not seen. Draws the errors over the passes
// as errors.svg. Expected: an error of at most 1.1 times the noise, below which no guess can be.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include <typeflow/einsum.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int users = 400;
constexpr int films = 300;
constexpr int traits = 4;
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

/// For all rows at once the factors with the least squared errors, of rated films alone: a row's
/// matrix of products is the sum over these.  // (N,M) x (N,M) x (M,K) -> (N,K)
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
  auto ratings = placeholder<float, users, films>(g, "ratings");  // less their mean
  auto is_rated = placeholder<float, users, films>(g, "is rated");
  auto is_test = placeholder<float, users, films>(g, "is test");
  auto p = variable<float, users, k>(g, "p");
  auto q = variable<float, films, k>(g, "q");
  assign(p, solve_rows<users, films, k>(ratings, is_rated, q)).named("users");
  assign(q, solve_rows<films, users, k>(transpose(ratings), transpose(is_rated), p)).named("films");
  auto errors = square(matmul<tf::transpose_b>(p, q) - ratings);
  sqrt(sum(is_test * errors) / sum(is_test)).named("error");
}

struct Ratings {
  std::vector<std::int32_t> user;
  std::vector<std::int32_t> film;
  std::vector<float> rating;
};

/// Each film is rated by half of the users; each fifth rating is for the test.
void make_ratings(std::mt19937_64& random, Ratings& known, Ratings& test) {
  std::normal_distribution<float> normal;
  std::vector<float> p(std::size_t{users} * (traits + 1));
  std::vector<float> q(std::size_t{films} * (traits + 1));
  for (float& value : p) value = 0.7f * normal(random);
  for (float& value : q) value = 0.7f * normal(random);
  for (std::size_t u = 0; u < users; ++u) {
    for (std::size_t f = 0; f < films; ++f) {
      if (random() % 2 == 0) continue;
      const float* const a = &p[u * (traits + 1)];
      const float* const b = &q[f * (traits + 1)];
      Ratings& part = random() % 5 == 0 ? test : known;
      part.user.push_back(static_cast<std::int32_t>(u));
      part.film.push_back(static_cast<std::int32_t>(f));
      part.rating.push_back(std::inner_product(a, a + traits, b, 3.5f) + a[traits] + b[traits] +
                            noise * normal(random));
    }
  }
}

/// A part's values as a matrix; ones, if there are no values.  // (users,films)
std::vector<float> dense(const Ratings& part, bool of_ones, float mean = 0) {
  std::vector<float> matrix(std::size_t{users} * films);
  for (std::size_t i = 0; i < part.user.size(); ++i) {
    const auto at = static_cast<std::size_t>(part.user[i] * films + part.film[i]);
    matrix[at] = of_ones ? 1 : part.rating[i] - mean;
  }
  return matrix;
}

std::vector<double> train_by_adam(const examples::Options& options, const Ratings& known,
                                  const Ratings& test) {
  tf::Variables variables;
  tf::Session<by_adam> session(variables, {.seed = options.seed});
  std::mt19937_64 random(options.seed);
  std::vector<std::size_t> order(known.user.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = static_cast<std::size_t>(options.batch);
  std::vector<double> errors;
  for (std::int64_t pass = 0; pass < options.steps; ++pass) {
    std::shuffle(order.begin(), order.end(), random);
    const double done = static_cast<double>(pass) / static_cast<double>(options.steps);
    const auto rate = options.rate * static_cast<float>(1 - done);
    for (std::size_t from = 0; from < order.size(); from += size) {
      Ratings batch;
      for (std::size_t i = from; i < std::min(from + size, order.size()); ++i) {
        batch.user.push_back(known.user[order[i]]);
        batch.film.push_back(known.film[order[i]]);
        batch.rating.push_back(known.rating[order[i]]);
      }
      session.run<"train">(tf::feed<"user">(batch.user), tf::feed<"film">(batch.film),
                           tf::feed<"rating">(batch.rating), tf::feed<"rate">(rate));
    }
    errors.push_back(session.run<"error">(tf::feed<"user">(test.user), tf::feed<"film">(test.film),
                                          tf::feed<"rating">(test.rating)));
  }
  return errors;
}

std::vector<double> solve_by_least_squares(const examples::Options& options, const Ratings& known,
                                           const Ratings& test) {
  const float mean = std::accumulate(known.rating.begin(), known.rating.end(), 0.0f) /
                     static_cast<float>(known.rating.size());
  std::vector<float> ratings = dense(known, false, mean);
  const std::vector<float> of_test = dense(test, false, mean);
  for (std::size_t i = 0; i < ratings.size(); ++i) ratings[i] += of_test[i];
  const auto is_rated = dense(known, true);  // the others' ratings count nowhere
  tf::Variables variables;
  tf::Session<by_least_squares> session(variables, {.seed = options.seed});
  std::vector<double> errors;
  for (std::int64_t pass = 0; pass < options.steps; ++pass) {
    session.run<"users">(tf::feed<"ratings">(ratings), tf::feed<"is rated">(is_rated));
    session.run<"films">(tf::feed<"ratings">(ratings), tf::feed<"is rated">(is_rated));
    errors.push_back(
        session.run<"error">(tf::feed<"ratings">(ratings), tf::feed<"is test">(dense(test, true))));
  }
  return errors;
}

void train(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  Ratings known;
  Ratings test;
  make_ratings(random, known, test);
  std::printf("%zu ratings, %zu of others to predict\n", known.user.size(), test.user.size());
  const std::vector<double> adam = train_by_adam(options, known, test);
  const std::vector<double> squares = solve_by_least_squares(options, known, test);
  const std::vector<double> floor(adam.size(), noise);
  const std::vector<tf::Curve> curves{{.name = "Adam", .y = adam},
                                      {.name = "alternating least squares", .y = squares},
                                      {.name = "noise", .y = floor}};
  tf::write_plot(options.output, tf::plot_curves(curves, {.title = "error on the test's ratings",
                                                          .x_label = "pass",
                                                          .log_y = true}));
  std::printf("error by Adam %.4f, by alternating least squares %.4f, noise %.2f\n", adam.back(),
              squares.back(), noise);
  std::printf("error %.2f times the noise\n", std::max(adam.back(), squares.back()) / noise);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Films recommended by matrix factorisation.",
                               {.steps = 30, .batch = 500, .rate = 0.02f, .output = "errors.svg"},
                               train);
}
