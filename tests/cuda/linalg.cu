// SPDX-License-Identifier: Apache-2.0

// Linear algebra: curves that are fitted by each of its ways, which must be the same curve.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/linalg.hpp>
#include <typeflow/typeflow.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace tf = typeflow;

namespace {

constexpr int points = 20;

/// Coefficients of parabolas through points (batch, points), by normal equations A c = b.
template <class T>
constexpr void fits(tf::Graph& g) {
  auto powers = tf::placeholder<T, tf::batch, points, 3>(g, "powers");
  auto y = tf::placeholder<T, tf::batch, points, 1>(g, "y");
  auto a = matmul<tf::transpose_a>(powers, powers);
  auto b = matmul<tf::transpose_a>(powers, y);
  matrix_solve(a, b).named("solved");
  matmul(matrix_inverse(a), b).named("inverted");
  lstsq(powers, y).named("reflected");
  auto l = cholesky(a);
  using enum tf::Triangle;
  tf::matrix_triangular_solve<lower, tf::transpose_a>(l, tf::matrix_triangular_solve<lower>(l, b))
      .named("rooted");
  const auto [below, above, order] = lu(a);
  const auto exchanged = gather<tf::GatherOptions{.batch_dims = 1, .axis = 1}>(b, order);
  tf::matrix_triangular_solve<upper>(above, matrix_triangular_solve(below, exchanged))
      .named("eliminated");
  const auto [values, vectors] = self_adjoint_eig(a);
  matmul(vectors, matmul<tf::transpose_a>(vectors, b) / reshape<tf::batch, 3, 1>(values))
      .named("by_eigenvalues");
  const auto [s, u, v] = svd(powers);
  matmul(v, matmul<tf::transpose_a>(u, y) / reshape<tf::batch, 3, 1>(s))
      .named("by_singular_values");
  const auto [sign, log] = slogdet(a);
  (matrix_determinant(a) / (sign * exp(log))).named("one");
}

/// The largest error of the coefficients.
template <class T>
double largest_error() {
  constexpr std::size_t curves = 7;
  std::vector<T> powers;
  std::vector<T> y;
  for (std::size_t i = 0; i < curves; ++i) {
    for (int k = 0; k < points; ++k) {
      const T t = static_cast<T>(k) / points - static_cast<T>(0.5);
      for (const T power : {T(1), t, t * t}) powers.push_back(power);
      y.push_back(static_cast<T>(i) + 2 * t - 3 * t * t);
    }
  }
  tf::Variables variables;
  tf::Session<fits<T>, tf::training, tf::CudaTarget> session(variables);
  const auto results =
      session.template run<"solved", "inverted", "reflected", "rooted", "eliminated",
                           "by_eigenvalues", "by_singular_values", "one">(
          tf::feed<"powers">(powers), tf::feed<"y">(y));
  double worst = 0;
  const auto compare = [&](double got, double expected) {
    const double here = std::abs(got - expected);
    worst = here <= worst ? worst : here;  // keeps NaN
  };
  const auto compare_all = [&](const auto& c) {
    for (std::size_t i = 0; i < curves; ++i) {
      compare(static_cast<double>(c(i, 0, 0)), static_cast<double>(i));
      compare(static_cast<double>(c(i, 1, 0)), 2);
      compare(static_cast<double>(c(i, 2, 0)), -3);
    }
  };
  const auto& [solved, inverted, reflected, rooted, eliminated, by_eigenvalues, by_singular_values,
               one] = results;
  compare_all(solved);
  compare_all(inverted);
  compare_all(reflected);
  compare_all(rooted);
  compare_all(eliminated);
  compare_all(by_eigenvalues);
  compare_all(by_singular_values);
  for (std::size_t i = 0; i < curves; ++i) compare(static_cast<double>(one(i)), 1);
  return worst;
}

}  // namespace

int main() {
  const bool right = largest_error<float>() < 1e-3 && largest_error<double>() < 1e-11;
  std::puts(right ? "all ways find the curves" : "the ways differ");
  return right ? 0 : 1;
}
