// SPDX-License-Identifier: Apache-2.0

// Linear algebra on a pretended GPU against the processor's LAPACK and plain loops: working copies
// in shared memory and in the workspace, extents around a warp's, very large and very small
// numbers.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <typeflow/cuda/linalg.hpp>

namespace {

namespace tf = typeflow;

/// x with a diagonal so large that it is positive definite, and far from singular.
template <class X>
constexpr X dominant(const X& x) {
  const tf::AnyExpr a = x.any();
  const auto on_diagonal = equal(tf::linalg::rows_of(a), tf::linalg::columns_of(a));
  return X(x.graph(), where(on_diagonal, a + 300, a).id);
}
/// Columns and rows of a square matrix in another order, so that elimination exchanges rows.
template <class X>
constexpr X turned(const X& x) {
  return reverse<-1>(x);
}

/// Two matrices (batch, batch) and as many right sides.
template <class T>
constexpr void systems(tf::Graph& g) {
  auto x = tf::placeholder<T, 2, tf::batch, tf::batch>(g, "x");
  auto b = tf::placeholder<T, 2, tf::batch, 3>(g, "b");
  const auto p = dominant(x);
  const auto a = turned(p);
  (matrix_inverse(a) * T(300)).named("inverse");
  (matrix_solve(a, b) * T(300)).named("solved");
  (tf::matrix_solve<tf::transpose_a>(a, b) * T(300)).named("solved_transposed");
  matrix_determinant(a / T(300)).named("determinant");
  const auto [sign, log] = slogdet(a);
  sign.named("sign");
  log.named("log");
  using enum tf::Triangle;
  (tf::matrix_triangular_solve<lower>(p, b) * T(300)).named("lower");
  (tf::matrix_triangular_solve<upper, tf::transpose_a>(p, b) * T(300)).named("upper_transposed");
  cholesky(p).named("cholesky");
  // Without large elements each pivot depends on all of the elimination before it. Floats round too
  // much for that.
  const auto [l, u, order] = lu(std::is_same_v<T, double> ? x : a);
  (l * T(300)).named("l");
  u.named("u");
  order.named("order");
}
/// Matrices (2 batch, batch) and (batch, 2 batch).
template <class T>
constexpr void factors(tf::Graph& g) {
  auto tall = tf::placeholder<T, 2, 2 * tf::batch, tf::batch>(g, "tall");
  auto wide = tf::placeholder<T, 2, tf::batch, 2 * tf::batch>(g, "wide");
  const auto [q, r] = qr(tall);
  q.named("q");
  r.named("r");
  const auto [wide_q, wide_r] = qr(dominant(wide));
  wide_q.named("wide_q");
  wide_r.named("wide_r");
  self_adjoint_eig(tf::placeholder<T, 2, tf::batch, tf::batch>(g, "x")).values.named("values");
}

template <class T>
constexpr void singular_values(tf::Graph& g) {
  svd(tf::placeholder<T, 2, 2 * tf::batch, tf::batch>(g, "tall")).s.named("s");
  svd(tf::placeholder<T, tf::batch, 2 * tf::batch>(g, "wide")).s.named("wide_s");
}

constexpr void of_one(tf::Graph& g) {
  auto a = tf::placeholder<double, 2 * tf::batch, tf::batch>(g, "a");
  const auto [s, u, v] = svd(a);
  s.named("s");
  u.named("u");
  v.named("v");
  const auto [wide_s, wide_u, wide_v] = svd(transpose<1, 0>(a));
  wide_s.named("wide_s");
  wide_u.named("wide_u");
  wide_v.named("wide_v");
  const auto [values, vectors] =
      self_adjoint_eig(tf::placeholder<double, tf::batch, tf::batch>(g, "symmetric"));
  values.named("values");
  vectors.named("vectors");
}

/// The largest difference between two matrices x^T y and a diagonal one. (rows, n)
double from_identity(const tf::HostTensor& x) {
  const std::int64_t rows = x.dims[0];
  const std::int64_t n = x.dims[1];
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double dot = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < rows; ++k) dot += x.value(k * n + i) * x.value(k * n + j);
      worst = std::abs(dot) <= worst ? worst : std::abs(dot);  // keeps NaN
    }
  }
  return worst;
}
/// The largest difference between x diag(d) y^T and a matrix, (rows, columns).
double from_product(const tf::HostTensor& x, const tf::HostTensor& d, const tf::HostTensor& y,
                    const tf::HostTensor& expected, bool transposed) {
  const std::int64_t rows = x.dims[0];
  const std::int64_t columns = y.dims[0];
  const std::int64_t n = d.size();
  double worst = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < n; ++k)
        sum += x.value(i * n + k) * d.value(k) * y.value(j * n + k);
      const std::int64_t at = transposed ? j * rows + i : i * columns + j;
      const double here = std::abs(sum - expected.value(at));
      worst = here <= worst ? worst : here;
    }
  }
  return worst;
}

/// Decompositions of a (2 n, n) and of a symmetric (n, n) matrix, checked by their definitions.
void check_factors(std::int64_t n, const std::vector<double>& a,
                   const std::vector<double>& symmetric) {
  const tf::HostTensors feeds = {{"a", test::doubles({2 * n, n}, a)},
                                 {"symmetric", test::doubles({n, n}, symmetric)}};
  const test::Outcome out =
      test::Kernels<of_one, tf::training, test::CudaTargetOnHost>().run(feeds);
  const auto largest = [](const std::vector<double>& x) {
    double most = 0;
    for (const double e : x) most = std::max(most, std::abs(e));
    return most;
  };
  const double tolerance = 1e-14 * static_cast<double>(n);
  for (const char* const name : {"u", "v", "wide_u", "wide_v", "vectors"}) {
    CAPTURE(name);
    CHECK(from_identity(out.at(name)) <= 10 * tolerance);
  }
  CHECK(from_product(out.at("u"), out.at("s"), out.at("v"), feeds.at("a"), false) <=
        tolerance * largest(a));
  CHECK(from_product(out.at("wide_u"), out.at("wide_s"), out.at("wide_v"), feeds.at("a"), true) <=
        tolerance * largest(a));
  CHECK(from_product(out.at("vectors"), out.at("values"), out.at("vectors"), feeds.at("symmetric"),
                     false) <= tolerance * largest(symmetric));
  for (std::int64_t i = 1; i < n; ++i) {
    CHECK(out.at("s").value(i - 1) >= out.at("s").value(i));
    CHECK(out.at("values").value(i - 1) <= out.at("values").value(i));
  }
}

}  // namespace

TEST_CASE("a GPU solves, inverts and decomposes as the processor does") {
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33}) {
    test::check_cuda<systems<double>>(n, 1e-12);
    test::check_cuda<systems<float>>(n, 2e-4);
  }
  test::check_cuda<systems<double>>(90, 1e-12);  // in the workspace
  test::check_cuda<systems<float>>(110, 5e-4);
}

TEST_CASE("a GPU finds orthogonal factors and eigenvalues as the processor does") {
  for (const std::int64_t n : {0, 1, 2, 7, 33}) test::check_cuda<factors<double>>(n, 1e-13);
  for (const std::int64_t n : {1, 7, 33}) test::check_cuda<factors<float>>(n, 5e-5);
  test::check_cuda<factors<double>>(52, 1e-13);  // in the workspace
}

TEST_CASE("a GPU finds singular values as the processor does") {
  for (const std::int64_t n : {0, 1, 2, 7, 17}) test::check_cuda<singular_values<double>>(n, 1e-14);
  for (const std::int64_t n : {1, 7, 17}) test::check_cuda<singular_values<float>>(n, 5e-6);
  test::check_cuda<singular_values<double>>(42, 1e-14);  // in the workspace
}

TEST_CASE("singular vectors and eigenvectors on a GPU are orthonormal, whatever the matrix") {
  for (const std::int64_t n : {1, 5, 20}) {
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> a(2 * size * size);
    std::vector<double> b(size * size);
    check_factors(n, a, b);  // zeros
    const auto fill = [&](const auto& f) {
      for (std::size_t i = 0; i < 2 * size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          a[i * size + j] = f(static_cast<double>(i), static_cast<double>(j));
        }
      }
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          b[i * size + j] =
              f(static_cast<double>(std::max(i, j)), static_cast<double>(std::min(i, j)));
        }
      }
      check_factors(n, a, b);
    };
    fill([](double i, double j) { return i == j ? 3 : 0; });                 // equal values
    fill([](double, double) { return 1; });                                  // of rank 1
    fill([](double i, double j) { return std::sin(i + 1) * std::cos(j); });  // of rank 1
    fill([](double i, double j) { return i + 2 * j; });                      // of rank 2
    fill([](double i, double j) { return 1 / (i + j + 1); });                // nearly singular
    fill([](double i, double j) { return std::sin(7 * i + 3 * j * j); });    //
    fill([](double i, double j) { return 1e200 * std::cos(i * j); });        // squares overflow
    fill([](double i, double j) { return 1e-200 * std::cos(i * j); });       // and underflow
    fill([](double i, double j) { return i == j ? std::exp(-4 * i) : 0; });  // of all sizes
    fill([](double i, double j) { return std::exp(-i - j) * std::cos(i - j); });
  }
}
