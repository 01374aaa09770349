// SPDX-License-Identifier: Apache-2.0

// lu, qr, lstsq, slogdet and eigvals against their definitions in plain loops: products,
// orthogonality, normal equations, Laplace's expansion, characteristic polynomials.

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <vector>

#include <typeflow/linalg.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/plain_matrices.hpp"

namespace {

namespace tf = typeflow;
using test::check_same;
using test::identity;
using test::matrices;
using test::Matrix;
using test::MatrixOf;
using test::product;
using test::transposed;
using tf::Shape;

/// Matrix number `index` of a tensor.
Matrix matrix(const tf::HostTensor& x, std::int64_t index) {
  return matrices(x)[static_cast<std::size_t>(index)];
}
std::int64_t count_of(const tf::HostTensor& x) {
  std::int64_t count = 1;
  for (int i = 0; i < x.dims.rank - 2; ++i) count *= x.dims[i];
  return count;
}
Matrix sum(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.e.size(); ++i) a.e[i] += b.e[i];
  return a;
}
/// Laplace: expansion along the first row.
template <class E>
E determinant(const MatrixOf<E>& a) {
  if (a.rows == 0) return E(1);
  E y(0);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    MatrixOf<E> minor(a.rows - 1, a.columns - 1);
    for (std::int64_t i = 1; i < a.rows; ++i) {
      for (std::int64_t k = 0; k < a.columns; ++k) {
        if (k != j) minor(i - 1, k < j ? k : k - 1) = a(i, k);
      }
    }
    y += (j % 2 == 0 ? E(1) : E(-1)) * a(0, j) * determinant(minor);
  }
  return y;
}

bool is_upper(const Matrix& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < std::min(i, a.columns); ++j) {
      if (a(i, j) != 0) return false;
    }
  }
  return true;
}

// Runs.

template <class T, class A>
constexpr void squares(tf::Graph& g) {
  auto a = test::input<T, A>(g, "a");
  const auto [l, u, p] = lu(a);
  l.named("l");
  u.named("u");
  p.named("p");
  const auto [sign, log] = slogdet(a);
  sign.named("sign");
  log.named("log");
  eigvals(a).named("eigenvalues");
}
template <class T, class A, class B>
constexpr void rectangles(tf::Graph& g) {
  auto a = test::input<T, A>(g, "a");
  auto b = test::input<T, B>(g, "b");
  if constexpr (tf::linalg::has_shorter_side(A::dims)) {
    const auto [q, r] = qr(a);
    q.named("q");
    r.named("r");
  }
  lstsq(a, b).named("x");
  lstsq(a, b, 0.5).named("regularised");
}

/// What the interpreter, and what kernels on several threads make of a model.
template <auto Model>
std::vector<test::Outcome> run(const tf::HostTensors& feeds) {
  tf::Graph graph;
  Model(graph);
  REQUIRE(tf::ir::verify(graph).view() == "");
  const tf::HostTensors values = tf::interpret(graph, feeds);
  test::check_parts(test::tested<Model>(), feeds);
  test::check_allocations<Model>(feeds);
  return {test::Outcome(values.begin(), values.end()), test::Kernels<Model>(3).run(feeds)};
}

constexpr double tolerance_of(tf::DType type) { return type == tf::DType::float32 ? 2e-4 : 1e-10; }

/// f(a, values, number of the matrix, tolerance) for square matrices.
template <class F>
void for_each_square(const F& f) {
  const auto check = [&]<class T, class S>(T, S) {
    test::Random random(3);
    const tf::DType type = tf::dtype_of<T>;
    const tf::HostTensor a = test::random_tensor(random, type, tf::resolve(S::dims, 4), -1, 1);
    for (const auto& out : run<squares<T, S>>({{"a", a}})) {
      for (std::int64_t i = 0; i < count_of(a); ++i) f(matrix(a, i), out, i, tolerance_of(type));
    }
  };
  check(double{}, Shape<tf::batch, 5, 5>{});
  check(float{}, Shape<2, 2, 6, 6>{});
  check(double{}, Shape<2, 0, 0>{});
}
/// f(a, b, values, number of the matrix, tolerance) for matrices with more rows, and with less.
template <class F>
void for_each_rectangle(const F& f) {
  const auto check = [&]<class T, class A, class B>(T, A, B) {
    test::Random random(4);
    const tf::DType type = tf::dtype_of<T>;
    const tf::HostTensor a = test::random_tensor(random, type, tf::resolve(A::dims, 6), -1, 1);
    const tf::HostTensor b = test::random_tensor(random, type, tf::resolve(B::dims, 6), -1, 1);
    for (const auto& out : run<rectangles<T, A, B>>({{"a", a}, {"b", b}})) {
      for (std::int64_t i = 0; i < count_of(a); ++i) {
        f(matrix(a, i), matrix(b, i), out, i, tolerance_of(type));
      }
    }
  };
  check(double{}, Shape<tf::batch, 5, 3>{}, Shape<tf::batch, 5, 2>{});
  check(float{}, Shape<2, 2, 6>{}, Shape<2, 2, 1>{});
  check(double{}, Shape<tf::batch, 2>{}, Shape<tf::batch, 1>{});
}

/// (A^T A + l2)^-1 A^T B, or A^T (A A^T)^-1 B, as the systems that they solve.
void check_least_squares(const Matrix& a, const Matrix& b, const Matrix& x, double l2,
                         double tolerance) {
  const Matrix at = transposed(a);
  if (l2 > 0 || a.rows >= a.columns) {
    const Matrix left = sum(product(at, a), identity(a.columns, l2));
    check_same(product(left, x), product(at, b), tolerance);
    return;
  }
  check_same(product(a, x), b, tolerance);
  // The smallest: no part of it is orthogonal to the rows of A. Two rows here.
  REQUIRE(a.rows == 2);
  const Matrix s = product(a, at);
  const double d = s(0, 0) * s(1, 1) - s(0, 1) * s(1, 0);
  Matrix inverse(2, 2);
  inverse(0, 0) = s(1, 1) / d;
  inverse(1, 1) = s(0, 0) / d;
  inverse(0, 1) = inverse(1, 0) = -s(0, 1) / d;
  check_same(product(at, product(inverse, product(a, x))), x, tolerance);
}

/// Eigenvalues of one matrix of doubles, by real parts, then imaginary ones: interpreted, or from
/// kernels.
constexpr void eigenvalues_of_three(tf::Graph& g) {
  eigvals(tf::placeholder<double, 3, 3>(g, "a")).named("y");
}
std::vector<std::vector<std::complex<double>>> eigenvalues(const std::vector<double>& elements) {
  std::vector<std::vector<std::complex<double>>> all;
  for (const auto& out : run<eigenvalues_of_three>({{"a", test::doubles({3, 3}, elements)}})) {
    const tf::HostTensor& y = out.at("y");
    std::vector<std::complex<double>> values;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      values.push_back(tf::to<std::complex<double>>(y[i]));
    }
    std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
      return std::abs(a.real() - b.real()) > 1e-6 ? a.real() < b.real() : a.imag() < b.imag();
    });
    all.push_back(values);
  }
  return all;
}
void check_eigenvalues(const std::vector<double>& elements,
                       const std::vector<std::complex<double>>& expected, double tolerance) {
  for (const auto& values : eigenvalues(elements)) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(std::abs(values[i] - expected[i]) <= tolerance);
    }
  }
}

/// x with a diagonal so large that it is far from singular.
template <class X>
constexpr X dominant(const X& x) {
  const tf::AnyExpr a = x.any();
  const auto on_diagonal = equal(tf::linalg::rows_of(a), tf::linalg::columns_of(a));
  return X(x.graph(), where(on_diagonal, a + 5, a).id);
}

constexpr void special_matrices(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 2, 2>(g, "a");
  const auto [sign, log] = slogdet(a);
  sign.named("sign");
  log.named("log");
  const auto [l, u, p] = lu(a);
  l.named("l");
  u.named("u");
  const auto [q, r] = qr(a);
  q.named("q");
  r.named("r");
  real(eigvals(a)).named("eigenvalues");
}

}  // namespace

TEST_CASE("lu: values") {
  for_each_square([](const Matrix& a, const auto& out, std::int64_t m, double tolerance) {
    const Matrix l = matrix(out.at("l"), m);
    const Matrix u = matrix(out.at("u"), m);
    const tf::HostTensor& p = out.at("p");
    REQUIRE(p.dtype == tf::DType::int32);
    CHECK(is_upper(u));
    CHECK(is_upper(transposed(l)));
    std::vector<std::int64_t> rows;
    Matrix exchanged(a.rows, a.columns);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      rows.push_back(p[m * a.rows + i].integer);
      REQUIRE(rows.back() >= 0);
      REQUIRE(rows.back() < a.rows);
      for (std::int64_t j = 0; j < a.columns; ++j) {
        exchanged(i, j) = a(rows.back(), j);
        CHECK(std::abs(l(i, j)) <= 1);  // partial pivoting
      }
      CHECK(l(i, i) == 1);
    }
    check_same(product(l, u), exchanged, tolerance);
    std::sort(rows.begin(), rows.end());
    CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
  });
}
TEST_CASE("qr: values") {
  for_each_rectangle([](const Matrix& a, const Matrix&, const auto& out, std::int64_t m, double t) {
    if (out.count("q") == 0) return;
    const Matrix q = matrix(out.at("q"), m);
    const Matrix r = matrix(out.at("r"), m);
    REQUIRE(q.columns == std::min(a.rows, a.columns));
    check_same(product(transposed(q), q), identity(q.columns), t);
    check_same(product(q, r), a, t);
    CHECK(is_upper(r));
  });
}
TEST_CASE("lstsq: values") {
  for_each_rectangle(
      [](const Matrix& a, const Matrix& b, const auto& out, std::int64_t m, double t) {
        check_least_squares(a, b, matrix(out.at("x"), m), 0, t);
        check_least_squares(a, b, matrix(out.at("regularised"), m), 0.5, t);
      });
}
namespace {

constexpr void ridges(tf::Graph& g) {
  auto b = tf::placeholder<double, 3, 1>(g, "b");
  lstsq(tf::placeholder<double, 3, 2>(g, "small"), b, 1).named("x");
  auto wide = tf::placeholder<double, 2, 3>(g, "wide");
  lstsq(wide, tf::slice<tf::range(0, 2)>(b), 1e-12).named("wide_x");
}

}  // namespace

TEST_CASE("lstsq keeps its digits beside a large l2, and with fewer rows beside a small one") {
  // Columns of `small` and rows of `wide` are orthogonal, so that each element is a quotient.
  const std::vector<double> x = {15e-6 / (1 + 25e-12), 4e-6 / (1 + 4e-12)};
  const std::vector<double> wide_x = {1 / (5 + 1e-12), 6 / (9 + 1e-12), 2 / (5 + 1e-12)};
  for (const auto& out : run<ridges>({{"b", test::doubles({3, 1}, {1, 2, 3})},
                                      {"small", test::doubles({3, 2}, {3e-6, 0, 0, 2e-6, 4e-6, 0})},
                                      {"wide", test::doubles({2, 3}, {1, 0, 2, 0, 3, 0})}})) {
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(std::abs(out.at("x").value(static_cast<std::int64_t>(i)) / x[i] - 1) <= 1e-14);
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(std::abs(out.at("wide_x").value(static_cast<std::int64_t>(i)) / wide_x[i] - 1) <=
            1e-14);
  }
}

TEST_CASE("slogdet: values") {
  for_each_square([](const Matrix& a, const auto& out, std::int64_t m, double tolerance) {
    const double d = determinant(a);
    CHECK(out.at("sign").value(m) == (d > 0 ? 1 : -1));
    CHECK(std::abs(out.at("log").value(m) - std::log(std::abs(d))) <=
          tolerance * std::max(1.0, 1 / std::abs(d)));
  });
}
namespace {

constexpr void determinants_near_one(tf::Graph& g) {
  slogdet(tf::placeholder<double, 3, 2, 2>(g, "a")).log.named("log");
}

}  // namespace

TEST_CASE("slogdet keeps its digits near a determinant of 1") {
  constexpr double little = 0x1p-30;
  constexpr double tiny = 0x1p-900;
  const std::vector<double> expected = {std::log1p(little), std::log1p(-little),
                                        -1800 * std::log(2.0)};
  for (const auto& out :
       run<determinants_near_one>({{"a", test::doubles({3, 2, 2}, {1, 0, 0, 1 + little,   //
                                                                   1 - little, 0, 0, -1,  //
                                                                   tiny, 0, 0, tiny})}})) {
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(std::abs(out.at("log").value(static_cast<std::int64_t>(i)) / expected[i] - 1) <= 1e-14);
  }
}

TEST_CASE("eigvals: values") {
  // Each is a root of the characteristic polynomial; sums of first and second powers are traces.
  for_each_square([](const Matrix& a, const auto& out, std::int64_t m, double tolerance) {
    std::complex<double> sums[2] = {};
    for (std::int64_t k = 0; k < a.rows; ++k) {
      const auto value = tf::to<std::complex<double>>(out.at("eigenvalues")[m * a.rows + k]);
      MatrixOf<std::complex<double>> shifted(a.rows, a.rows);
      for (std::size_t i = 0; i < a.e.size(); ++i) shifted.e[i] = a.e[i];
      for (std::int64_t i = 0; i < a.rows; ++i) shifted(i, i) -= value;
      CHECK(std::abs(determinant(shifted)) <= 20 * tolerance);
      sums[0] += value;
      sums[1] += value * value;
    }
    const Matrix square = product(a, a);
    for (std::int64_t i = 0; i < a.rows; ++i) {
      sums[0] -= a(i, i);
      sums[1] -= square(i, i);
    }
    CHECK(std::abs(sums[0]) <= 10 * tolerance);
    CHECK(std::abs(sums[1]) <= 20 * tolerance);
  });
  const double s = std::sqrt(0.75);
  check_eigenvalues({0, 0, 1, 1, 0, 0, 0, 1, 0}, {{-0.5, -s}, {-0.5, s}, 1}, 1e-12);  // a cycle
  check_eigenvalues({0, 0, 6, 1, 0, -11, 0, 1, 6}, {1, 2, 3}, 1e-10);  // (x - 1)(x - 2)(x - 3)
  check_eigenvalues({2, 1, 0, 0, 2, 1, 0, 0, 2}, {2, 2, 2}, 1e-4);     // one vector
  check_eigenvalues({0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}, 0);
  check_eigenvalues({1, 0, 0, 0, 0, -3, 0, 3, 0}, {{0, -3}, {0, 3}, 1}, 1e-12);
}

TEST_CASE("singular, tiny and undefined matrices have determinants and decompositions") {
  const std::vector<double> elements = {1,      2, 2,   4,       // singular
                                        1e-300, 0, 0,   1e-300,  // its determinant underflows
                                        0,      1, 1,   0,       //
                                        1,      2, NAN, 4};
  for (const auto& out : run<special_matrices>({{"a", test::doubles({4, 2, 2}, elements)}})) {
    const tf::HostTensor& sign = out.at("sign");
    const tf::HostTensor& log = out.at("log");
    CHECK(sign.value(0) == 0);
    CHECK(log.value(0) == -INFINITY);
    CHECK(sign.value(1) == 1);
    CHECK(log.value(1) == doctest::Approx(-600 * std::log(10.0)));
    CHECK(sign.value(2) == -1);
    CHECK(log.value(2) == 0);
    CHECK(std::isnan(sign.value(3)));
    CHECK(std::isnan(log.value(3)));
    check_same(product(matrix(out.at("l"), 0), matrix(out.at("u"), 0)),
               matrix(test::doubles({2, 2}, {2, 4, 1, 2}), 0), 1e-15);
    check_same(product(matrix(out.at("q"), 0), matrix(out.at("r"), 0)),
               matrix(test::doubles({2, 2}, {1, 2, 2, 4}), 0), 1e-15);
    for (const char* const name : {"l", "u", "q", "r"}) {
      for (std::int64_t i = 12; i < 16; ++i) {
        const bool fixed =
            (*name == 'r' || *name == 'u' || *name == 'l') && out.at(name)[i].real == 0;
        CHECK((fixed || std::isnan(out.at(name).value(i))));
      }
    }
    CHECK(std::isnan(out.at("eigenvalues").value(6)));
  }
}

TEST_CASE("lu: gradient") {
  test::check_gradients<Shape<3, 3>>([](const auto& x) { return lu(x).l; }, {}, 1e-6);
  test::check_gradients<Shape<2, 3, 3>>([](const auto& x) { return lu(x).u; }, {}, 1e-6);
  test::check_gradients<Shape<4, 4>>(
      [](const auto& x) {
        const auto [l, u, p] = lu(x);
        return l * u + square(u);
      },
      {}, 1e-5);
}
TEST_CASE("qr: gradient") {
  const auto both = [](const auto& x) {
    const auto [q, r] = qr(dominant(x));
    return matmul(q, square(r));
  };
  test::check_gradients<Shape<3, 3>>(both);
  test::check_gradients<Shape<2, 4, 2>>(both);
  test::check_gradients<Shape<2, 4>>(both);
  test::check_gradients<Shape<4, 2>>([](const auto& x) { return qr(dominant(x)).q; });
  test::check_gradients<Shape<2, 4>>([](const auto& x) { return qr(dominant(x)).q; });
  test::check_gradients<Shape<2, 2, 3>>([](const auto& x) { return qr(dominant(x)).r; });
  test::check_gradients<Shape<3, 2>>([&](const auto& x) { return gradients(sum(both(x)) / 10, x); },
                                     {}, 1e-6);
}
TEST_CASE("lstsq: gradient") {
  const auto f = [](const auto& a, const auto& b) { return lstsq(dominant(a), b); };
  const auto regularised = [](const auto& a, const auto& b) { return lstsq(a, b, 0.5); };
  test::check_gradients<Shape<4, 2>, Shape<4, 2>>(f);
  test::check_gradients<Shape<2, 2, 3>, Shape<2, 2, 1>>(f);
  test::check_gradients<Shape<3, 2>, Shape<3, 1>>(regularised);
  test::check_gradients<Shape<2, 3>, Shape<2, 1>>(regularised);
}
TEST_CASE("slogdet: gradient") {
  const auto f = [](const auto& x) { return slogdet(dominant(x)).log; };
  test::check_gradients<Shape<3, 3>>(f);
  test::check_gradients<Shape<2, 2, 2>>(f);
  test::check_gradients<Shape<2, 2>>([&](const auto& x) { return gradients(sum(f(x)), x); });
}
TEST_CASE("eigvals: gradient") {  // none
  tf::Graph g;
  auto x = tf::placeholder<double, 3, 3>(g, "x");
  const auto loss = sum(real(eigvals(x)));
  CHECK_THROWS_WITH_AS(gradients(loss, x), doctest::Contains("no gradient is defined for Eigvals"),
                       tf::Error);
}
TEST_CASE("lstsq: errors") {
  tf::Graph g;
  auto a = tf::placeholder<double, 3, 2>(g, "a");
  lstsq(a, tf::placeholder<double, 3, 1>(g, "b")).named("x");
  const tf::HostTensors feeds = {{"a", test::doubles({3, 2}, {1, 0, 1, 0, 1, 0})},
                                 {"b", test::doubles({3, 1}, {1, 2, 3})}};
  CHECK_THROWS_WITH_AS(tf::interpret(g, feeds), doctest::Contains("is singular"), tf::Error);
}
