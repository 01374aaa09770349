// SPDX-License-Identifier: Apache-2.0

// Linear algebra against its definitions in plain loops: A A^-1 = I, Leibniz' formula, A X = B,
// reconstruction and orthogonality, closed forms.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include <typeflow/linalg.hpp>

#include "support/check_values.hpp"
#include "support/plain_matrices.hpp"

namespace {

namespace tf = typeflow;
using test::check_same;
using test::identity;
using test::matrices;
using test::Matrix;
using test::product;
using test::transposed;

/// The elements at or below the diagonal; or at or above it.
Matrix triangle(const Matrix& a, bool lower) {
  Matrix y(a.rows, a.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) y(i, j) = (lower ? j <= i : j >= i) ? a(i, j) : 0;
  }
  return y;
}
/// The symmetric matrix that has this lower triangle.
Matrix symmetric(const Matrix& a) {
  Matrix y = triangle(a, true);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) y(j, i) = y(i, j);
  }
  return y;
}
/// Leibniz: the sum over all permutations.
double determinant(const Matrix& a) {
  std::vector<std::int64_t> p(static_cast<std::size_t>(a.rows), 0);
  std::iota(p.begin(), p.end(), std::int64_t{0});
  double sum = 0;
  do {
    double term = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
      term *= a(static_cast<std::int64_t>(i), p[i]);
      for (std::size_t j = 0; j < i; ++j) term = p[j] > p[i] ? -term : term;
    }
    sum += term;
  } while (std::next_permutation(p.begin(), p.end()));
  return sum;
}

/// Each element close to what is expected, whatever the size of the others.
void check_elements(const tf::HostTensor& y, const std::vector<double>& expected,
                    double tolerance) {
  REQUIRE(y.size() == static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const double got = y.value(static_cast<std::int64_t>(i));
    const bool same = got == expected[i] || (std::isnan(got) && std::isnan(expected[i])) ||
                      std::abs(got - expected[i]) <= tolerance * std::abs(expected[i]);
    CHECK_MESSAGE(same, got << " instead of " << expected[i]);
  }
}

// Runs.

/// What the interpreter, one thread and several make of a model's named values. Threads must not
/// matter.
template <auto Model>
std::vector<test::Outcome> run(const tf::HostTensors& feeds) {
  tf::Graph graph;
  Model(graph);
  REQUIRE(tf::ir::verify(graph).view() == "");
  const tf::HostTensors values = tf::interpret(graph, feeds);
  const test::Outcome one = test::Kernels<Model>(1).run(feeds);
  const test::Outcome several = test::Kernels<Model>(3).run(feeds);
  test::check_parts(test::tested<Model>(), feeds);
  test::check_allocations<Model>(feeds);
  for (const auto& [name, value] : one) test::check_equal_bits(name, value, several.at(name));
  return {test::Outcome(values.begin(), values.end()), one};
}

constexpr double tolerance_of(tf::DType type) { return type == tf::DType::float32 ? 2e-4 : 1e-10; }

/// f(index, row, column) of every element of every matrix.
template <class F>
void for_each_element(const tf::HostTensor& x, const F& f) {
  const std::int64_t rows = x.dims.extent[x.dims.rank - 2];
  const std::int64_t columns = x.dims.extent[x.dims.rank - 1];
  std::int64_t index = 0;
  while (index < x.size()) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) f(index++, i, j);
    }
  }
}

/// Random matrices, easy to invert, for which elimination has to exchange rows: their large
/// elements are one off the diagonal.
tf::HostTensor regular(test::Random& random, tf::DType type, const tf::Dims& dims) {
  tf::HostTensor x = test::random_tensor(random, type, dims, -1, 1);
  const std::int64_t n = dims.extent[dims.rank - 1];
  for_each_element(x, [&](std::int64_t index, std::int64_t i, std::int64_t j) {
    if (i == (j + 1) % n) x.set(index, x.value(index) + 2 + static_cast<double>(n) / 4);
  });
  return x;
}
/// Random positive definite matrices in the lower triangles; what stands above must not matter.
tf::HostTensor positive(test::Random& random, tf::DType type, const tf::Dims& dims) {
  tf::HostTensor x = test::random_tensor(random, type, dims, -1, 1);
  const std::int64_t n = dims.extent[dims.rank - 1];
  for_each_element(x, [&](std::int64_t index, std::int64_t i, std::int64_t j) {
    if (i == j) x.set(index, x.value(index) + 1 + static_cast<double>(n));
    if (i < j) x.set(index, 100);
  });
  return x;
}
/// Random matrices with triangles that are easy to invert.
tf::HostTensor triangular(test::Random& random, tf::DType type, const tf::Dims& dims) {
  tf::HostTensor x = test::random_tensor(random, type, dims, -1, 1);
  const auto n = static_cast<double>(dims.extent[dims.rank - 1]);
  for_each_element(x, [&](std::int64_t index, std::int64_t i, std::int64_t j) {
    const double e = x.value(index);
    x.set(index, i == j ? std::copysign(1 + std::abs(e), e) : e / n);
  });
  return x;
}

// The models: of general matrices a and b, and of matrices p of which the lower triangle is read.

template <class T, class A, class B>
constexpr void systems(tf::Graph& g) {
  auto a = test::input<T, A>(g, "a");
  auto b = test::input<T, B>(g, "b");
  matrix_inverse(a).named("inverse");
  matrix_determinant(a).named("determinant");
  matrix_solve(a, b).named("solve");
  tf::matrix_solve<tf::transpose_a>(a, b).named("solve_transposed");
}
template <class T, class A, class B>
constexpr void triangles(tf::Graph& g) {
  auto a = test::input<T, A>(g, "p");
  auto b = test::input<T, B>(g, "b");
  using enum tf::Triangle;
  matrix_triangular_solve(a, b).named("lower");
  tf::matrix_triangular_solve<upper>(a, b).named("upper");
  tf::matrix_triangular_solve<lower, tf::transpose_a>(a, b).named("lower_transposed");
  tf::matrix_triangular_solve<upper, tf::transpose_a>(a, b).named("upper_transposed");
}
template <class T, class P>
constexpr void determinants(tf::Graph& g) {
  matrix_determinant(test::input<T, P>(g, "a")).named("determinant");
}
template <class T, class P, class R>
constexpr void decompositions(tf::Graph& g) {
  auto p = test::input<T, P>(g, "p");
  auto r = test::input<T, R>(g, "r");
  cholesky(p).named("cholesky");
  auto [w, v] = self_adjoint_eig(p);
  w.named("values");
  v.named("vectors");
  auto [s, left, right] = svd(r);
  s.named("s");
  left.named("u");
  right.named("v");
}

/// Of any matrices, NaN among them.
template <class T, class P>
constexpr void decompositions_of_any(tf::Graph& g) {
  auto p = test::input<T, P>(g, "p");
  if constexpr (tf::linalg::are_square(P::dims)) {
    auto [w, v] = self_adjoint_eig(p);
    w.named("values");
    v.named("vectors");
  } else {
    auto [s, u, v] = svd(p);
    s.named("s");
    u.named("u");
    v.named("v");
  }
}

template <class A, class B>
struct Shapes {
  using first = A;
  using second = B;
};
/// f for matrices of one axis and more before them, of batch, of extents 0 and 1, larger than
/// blocks.
template <class F>
void for_each_shapes(const F& f) {
  f(double{}, Shapes<tf::Shape<tf::batch, 5, 5>, tf::Shape<tf::batch, 5, 3>>{});
  f(float{}, Shapes<tf::Shape<2, 3, 6, 6>, tf::Shape<2, 3, 6, 1>>{});
  f(double{}, Shapes<tf::Shape<1, 1>, tf::Shape<1, 37>>{});
  f(float{}, Shapes<tf::Shape<0, 3, 3>, tf::Shape<0, 3, 2>>{});
  f(double{}, Shapes<tf::Shape<2, 0, 0>, tf::Shape<2, 0, 4>>{});
  f(float{}, Shapes<tf::Shape<3, 70, 70>, tf::Shape<3, 70, 90>>{});
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// f(a, b, values of the name, number of the matrix, tolerance) for each matrix of `systems`.
template <class T, class S, class F>
void check_systems(const char* name, T, S, const F& f) {
  test::Random random(3);
  const tf::DType type = tf::dtype_of<T>;
  const tf::HostTensors feeds = {
      {"a", regular(random, type, tf::resolve(S::first::dims, 7))},
      {"b", test::random_tensor(random, type, tf::resolve(S::second::dims, 7), -1, 1)}};
  const auto a = matrices(feeds.at("a"));
  const auto b = matrices(feeds.at("b"));
  for (const auto& out : run<systems<T, typename S::first, typename S::second>>(feeds)) {
    const tf::HostTensor& y = out.at(name);
    REQUIRE(y.dtype == type);
    for (std::size_t i = 0; i < a.size(); ++i) f(a[i], b[i], y, i, tolerance_of(type));
  }
}

/// The same for `triangles`.
template <class T, class S, class F>
void check_triangles(T, S, const F& f) {
  test::Random random(4);
  const tf::DType type = tf::dtype_of<T>;
  const tf::HostTensor a = triangular(random, type, tf::resolve(S::first::dims, 7));
  const tf::HostTensors feeds = {
      {"p", a}, {"b", test::random_tensor(random, type, tf::resolve(S::second::dims, 7), -1, 1)}};
  const auto b = matrices(feeds.at("b"));
  for (const auto& out : run<triangles<T, typename S::first, typename S::second>>(feeds)) {
    for (std::size_t i = 0; i < b.size(); ++i) f(matrices(a)[i], b[i], out, i, tolerance_of(type));
  }
}

/// f(p, r, values, number of the matrix, tolerance) for each matrix of `decompositions`.
template <class F>
void for_each_decomposition(const F& f) {
  const auto check = [&](auto zero, auto shapes) {
    using T = decltype(zero);
    using S = decltype(shapes);
    test::Random random(5);
    const tf::DType type = tf::dtype_of<T>;
    const tf::HostTensors feeds = {
        {"p", positive(random, type, tf::resolve(S::first::dims, 7))},
        {"r", test::random_tensor(random, type, tf::resolve(S::second::dims, 7), -1, 1)}};
    const auto p = matrices(feeds.at("p"));
    const auto r = matrices(feeds.at("r"));
    for (const auto& out : run<decompositions<T, typename S::first, typename S::second>>(feeds)) {
      for (std::size_t i = 0; i < p.size(); ++i) {
        f(symmetric(p[i]), r[i], out, i, tolerance_of(type));
      }
    }
  };
  check(double{}, Shapes<tf::Shape<tf::batch, 5, 5>, tf::Shape<tf::batch, 3, 5>>{});
  check(float{}, Shapes<tf::Shape<2, 3, 6, 6>, tf::Shape<2, 3, 7, 4>>{});
  check(double{}, Shapes<tf::Shape<1, 1>, tf::Shape<1, 9>>{});
  check(float{}, Shapes<tf::Shape<2, 0, 0>, tf::Shape<2, 0, 3>>{});
  check(double{}, Shapes<tf::Shape<3, 37, 37>, tf::Shape<3, 37, 33>>{});
}

/// A graph of untyped functions, of shapes drawn by chance, in the interpreter.
struct RandomSystems {
  tf::Graph g;
  tf::HostTensors feeds;
  std::vector<Matrix> a;
  std::vector<Matrix> b;

  explicit RandomSystems(std::uint64_t seed) {
    test::Random random(seed);
    tf::Dims dims = test::random_shape(random, random.below(3));
    const tf::Extent n = 1 + random.below(5);
    dims.append(n);
    tf::Dims right = dims;
    dims.append(n);
    right.append(random.below(4));
    feeds = {{"a", regular(random, tf::DType::float64, dims)},
             {"b", test::random_tensor(random, tf::DType::float64, right, -1, 1)}};
    a = matrices(feeds.at("a"));
    b = matrices(feeds.at("b"));
    const tf::AnyExpr left = test::input(g, "a", tf::DType::float64, dims);
    const tf::AnyExpr x = test::input(g, "b", tf::DType::float64, right);
    test::name(matrix_inverse(left), "inverse");
    test::name(matrix_determinant(left), "determinant");
    test::name(matrix_solve(left, x, true), "solve_transposed");
    test::name(matrix_triangular_solve(left + 3, x, tf::Triangle::upper, true), "triangular");
    test::name(cholesky(with_diagonal(left)), "cholesky");
    test::name(self_adjoint_eig(left).values, "values");
    test::name(svd(x).s, "s");
    REQUIRE(tf::ir::verify(g).view() == "");
  }
  tf::HostTensor operator()(const char* name) { return tf::Interpreter(g).run({name}, feeds)[0]; }

 private:
  /// A matrix whose lower triangle is positive definite, by its diagonal.
  static tf::AnyExpr with_diagonal(const tf::AnyExpr& x) {
    return where(equal(tf::linalg::rows_of(x), tf::linalg::columns_of(x)), 10, x);
  }
};

}  // namespace

TEST_CASE("matrix_inverse: values") {
  for_each_shapes([](auto type, auto shapes) {
    check_systems("inverse", type, shapes,
                  [](const Matrix& a, const Matrix&, const tf::HostTensor& y, std::size_t i,
                     double tolerance) {
                    const Matrix inverse = matrices(y)[i];
                    check_same(product(a, inverse), identity(a.rows), tolerance);
                    check_same(product(inverse, a), identity(a.rows), tolerance);
                  });
  });
  const tf::HostTensors feeds = {
      {"a", test::doubles({4, 2, 2},
                          {1, 2, 3, 4, 0, 1, 1, 0, not_a_number, 1, 0, 0, 1e-300, 0, 0, 1e300})},
      {"b", test::doubles({4, 2, 1}, {1, 2, 3, 4, 5, 6, 1, 1})}};
  for (const auto& out : run<systems<double, tf::Shape<4, 2, 2>, tf::Shape<4, 2, 1>>>(feeds)) {
    check_elements(out.at("inverse"),
                   {-2, 1, 1.5, -0.5, 0, 1, 1, 0, not_a_number, not_a_number, not_a_number,
                    not_a_number, 1e300, 0, 0, 1e-300},
                   1e-14);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSystems random(seed);
    const auto inverse = matrices(random("inverse"));
    for (std::size_t i = 0; i < random.a.size(); ++i) {
      check_same(product(random.a[i], inverse[i]), identity(random.a[i].rows), 1e-10);
    }
  }
}

TEST_CASE("matrix_determinant: values") {
  for_each_shapes([](auto type, auto shapes) {
    check_systems("determinant", type, shapes,
                  [](const Matrix& a, const Matrix&, const tf::HostTensor& y, std::size_t i,
                     double tolerance) {
                    if (a.rows > 6) return;  // 70! terms
                    CHECK(y.value(static_cast<std::int64_t>(i)) ==
                          doctest::Approx(determinant(a)).epsilon(tolerance));
                  });
  });
  // Singular ones; products of pivots that overflow on the way, and at the end; triangles.
  for (const auto& out : run<determinants<double, tf::Shape<7, 3, 3>>>(
           {{"a", test::doubles({7, 3, 3}, {1,     2, 3, 2,      4,
                                            6,     1, 1, 1,  //
                                            0,     0, 0, 0,      0,
                                            0,     0, 0, 0,  //
                                            1e200, 0, 0, 0,      1e200,
                                            0,     0, 0, 1e-300,  //
                                            1e200, 0, 0, 0,      -1e200,
                                            0,     0, 0, 1,  //
                                            2,     0, 0, 7,      3,
                                            0,     8, 9, 5,  //
                                            0,     0, 1, 0,      1,
                                            0,     1, 0, 0,  //
                                            1,     2, 3, 0,      not_a_number,
                                            0,     1, 1, 1})}})) {
    check_elements(out.at("determinant"), {0, 0, 1e100, -infinity, 30, -1, not_a_number}, 1e-12);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSystems random(seed);
    std::vector<double> expected;
    for (const Matrix& a : random.a) expected.push_back(determinant(a));
    check_elements(random("determinant"), expected, 1e-9);
  }
}

TEST_CASE("matrix_solve: values") {
  for (const bool transpose : {false, true}) {
    for_each_shapes([&](auto type, auto shapes) {
      check_systems(transpose ? "solve_transposed" : "solve", type, shapes,
                    [&](const Matrix& a, const Matrix& b, const tf::HostTensor& y, std::size_t i,
                        double tolerance) {
                      const Matrix x = matrices(y)[i];
                      check_same(product(transpose ? transposed(a) : a, x), b, tolerance);
                    });
    });
  }
  const tf::HostTensors feeds = {
      {"a", test::doubles({4, 2, 2},
                          {1, 2, 3, 4, 0, 1, 1, 0, not_a_number, 1, 0, 0, 1e-300, 0, 0, 1e300})},
      {"b", test::doubles({4, 2, 1}, {1, 2, 3, 4, 5, 6, 1, 1})}};
  for (const auto& out : run<systems<double, tf::Shape<4, 2, 2>, tf::Shape<4, 2, 1>>>(feeds)) {
    check_elements(out.at("solve"), {0, 0.5, 4, 3, not_a_number, not_a_number, 1e300, 1e-300},
                   1e-14);
    check_elements(out.at("solve_transposed"),
                   {1, 0, 4, 3, not_a_number, not_a_number, 1e300, 1e-300}, 1e-14);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSystems random(seed);
    const auto x = matrices(random("solve_transposed"));
    for (std::size_t i = 0; i < random.a.size(); ++i) {
      check_same(product(transposed(random.a[i]), x[i]), random.b[i], 1e-10);
    }
  }
}

TEST_CASE("matrix_triangular_solve: values") {
  for_each_shapes([](auto type, auto shapes) {
    check_triangles(type, shapes,
                    [](const Matrix& a, const Matrix& b, const test::Outcome& out, std::size_t i,
                       double tolerance) {
                      const Matrix lower = triangle(a, true);
                      const Matrix upper = triangle(a, false);
                      const auto solves = [&](const Matrix& t, const char* name) {
                        check_same(product(t, matrices(out.at(name))[i]), b, tolerance);
                      };
                      solves(lower, "lower");
                      solves(upper, "upper");
                      solves(transposed(lower), "lower_transposed");
                      solves(transposed(upper), "upper_transposed");
                    });
  });
  // What is in the other triangle is not read: no NaN comes out.
  for (const auto& out : run<triangles<double, tf::Shape<2, 2>, tf::Shape<2, 1>>>(
           {{"p", test::doubles({2, 2}, {2, not_a_number, 3, 4})},
            {"b", test::doubles({2, 1}, {2, 11})}})) {
    check_elements(out.at("lower"), {1, 2}, 1e-15);
    check_elements(out.at("lower_transposed"), {-3.125, 2.75}, 1e-15);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSystems random(seed);
    const auto x = matrices(random("triangular"));
    for (std::size_t i = 0; i < random.a.size(); ++i) {
      Matrix a = random.a[i];
      for (double& e : a.e) e += 3;
      const Matrix b = product(transposed(triangle(a, false)), x[i]);
      check_same(b, random.b[i], 1e-8);
    }
  }
}

TEST_CASE("cholesky: values") {
  for_each_decomposition([](const Matrix& p, const Matrix&, const test::Outcome& out, std::size_t i,
                            double tolerance) {
    const Matrix l = matrices(out.at("cholesky"))[i];
    check_same(product(l, transposed(l)), p, tolerance);
    CHECK(l.e == triangle(l, true).e);
    for (std::int64_t k = 0; k < l.rows; ++k) CHECK(l(k, k) > 0);
  });
  for (const auto& out : run<decompositions<double, tf::Shape<3, 3>, tf::Shape<2, 2>>>(
           {{"p", test::doubles(
                      {3, 3}, {4, not_a_number, not_a_number, 12, 37, not_a_number, -16, -43, 98})},
            {"r", test::doubles({2, 2}, {1, 2, 3, 4})}})) {
    check_elements(out.at("cholesky"), {2, 0, 0, 6, 1, 0, -8, 5, 3}, 1e-12);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomSystems random(seed);
    const auto l = matrices(random("cholesky"));
    for (std::size_t i = 0; i < random.a.size(); ++i) {
      Matrix a = random.a[i];
      for (std::int64_t k = 0; k < a.rows; ++k) a(k, k) = 10;
      check_same(product(l[i], transposed(l[i])), symmetric(a), 1e-12);
    }
  }
}

TEST_CASE("self_adjoint_eig: values") {
  for_each_decomposition([](const Matrix& p, const Matrix&, const test::Outcome& out, std::size_t i,
                            double tolerance) {
    const tf::HostTensor& values = out.at("values");
    const Matrix v = matrices(out.at("vectors"))[i];
    Matrix w(p.rows, p.rows);
    for (std::int64_t k = 0; k < p.rows; ++k) {
      w(k, k) = values.value(static_cast<std::int64_t>(i) * p.rows + k);
      if (k > 0) CHECK(w(k - 1, k - 1) <= w(k, k));
    }
    check_same(product(product(v, w), transposed(v)), p, tolerance);
    check_same(product(transposed(v), v), identity(p.rows), tolerance);
  });
  // -1 2 -1 along the diagonals: 2 - 2 cos(k pi / (n + 1)). One with NaN.
  constexpr int n = 6;
  std::vector<double> a(2 * n * n, 0.0);
  std::vector<double> expected;
  for (std::size_t i = 0; i < n; ++i) {
    a[i * n + i] = 2;
    if (i > 0) a[i * n + i - 1] = -1;
    expected.push_back(2 - 2 * std::cos(static_cast<double>(i + 1) * std::numbers::pi / (n + 1)));
  }
  a[n * n + n] = not_a_number;
  expected.insert(expected.end(), n, not_a_number);
  for (const auto& out : run<decompositions_of_any<double, tf::Shape<2, n, n>>>(
           {{"p", test::doubles({2, n, n}, a)}})) {
    check_elements(out.at("values"), expected, 1e-12);
    for (std::int64_t i = n * n; i < 2 * n * n; ++i) CHECK(std::isnan(out.at("vectors").value(i)));
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // The sum of the eigenvalues is the trace, their product the determinant.
    RandomSystems random(seed);
    const tf::HostTensor w = random("values");
    for (std::size_t i = 0; i < random.a.size(); ++i) {
      const Matrix& matrix = random.a[i];
      double sum = 0;
      double factor = 1;
      double trace = 0;
      for (std::int64_t k = 0; k < matrix.rows; ++k) {
        sum += w.value(static_cast<std::int64_t>(i) * matrix.rows + k);
        factor *= w.value(static_cast<std::int64_t>(i) * matrix.rows + k);
        trace += matrix(k, k);
      }
      CHECK(sum == doctest::Approx(trace));
      CHECK(factor == doctest::Approx(determinant(symmetric(matrix))));
    }
  }
}

TEST_CASE("svd: values") {
  for_each_decomposition([](const Matrix&, const Matrix& r, const test::Outcome& out, std::size_t i,
                            double tolerance) {
    const std::int64_t p = std::min(r.rows, r.columns);
    const Matrix u = matrices(out.at("u"))[i];
    const Matrix v = matrices(out.at("v"))[i];
    Matrix s(p, p);
    for (std::int64_t k = 0; k < p; ++k) {
      s(k, k) = out.at("s").value(static_cast<std::int64_t>(i) * p + k);
      CHECK(s(k, k) >= 0);
      if (k > 0) CHECK(s(k - 1, k - 1) >= s(k, k));
    }
    check_same(product(product(u, s), transposed(v)), r, tolerance);
    check_same(product(transposed(u), u), identity(p), tolerance);
    check_same(product(transposed(v), v), identity(p), tolerance);
  });
  // Of rank 1, of zeros, with infinity.
  for (const auto& out : run<decompositions_of_any<double, tf::Shape<3, 2, 3>>>(
           {{"p", test::doubles({3, 2, 3},
                                {1, 2, 2, 2, 4, 4, 0, 0, 0, 0, 0, 0, infinity, 0, 0, 0, 0, 0})}})) {
    const tf::HostTensor& s = out.at("s");
    CHECK(s.value(0) == doctest::Approx(std::sqrt(45)));
    CHECK(std::abs(s.value(1)) < 1e-14);
    CHECK(s.value(2) == 0);
    CHECK(s.value(3) == 0);
    for (std::size_t i = 0; i < 2; ++i) {
      const Matrix u = matrices(out.at("u"))[i];
      const Matrix v = matrices(out.at("v"))[i];
      check_same(product(transposed(u), u), identity(2), 1e-12);
      check_same(product(transposed(v), v), identity(2), 1e-12);
    }
    CHECK(std::isnan(s.value(4)));
    CHECK(std::isnan(out.at("u").value(8)));
    CHECK(std::isnan(out.at("v").value(12)));
  }
  // Squares of such elements underflow or overflow. A A^T has the eigenvalues (23 +- sqrt(425))
  // / 2.
  for (const double scale : {0x1p-600, 0x1p600}) {
    std::vector<double> elements = {1, 2, 2, 2, 3, 1};
    for (double& x : elements) x *= scale;
    for (const auto& out : run<decompositions_of_any<double, tf::Shape<1, 2, 3>>>(
             {{"p", test::doubles({1, 2, 3}, elements)}})) {
      for (const int sign : {1, -1}) {
        const double s = out.at("s").value(sign > 0 ? 0 : 1) / scale;
        CHECK(s == doctest::Approx(std::sqrt((23 + sign * std::sqrt(425)) / 2)));
      }
      const Matrix u = matrices(out.at("u"))[0];
      check_same(product(transposed(u), u), identity(2), 1e-12);
    }
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // The sum of the squares is that of the elements.
    RandomSystems random(seed);
    const tf::HostTensor s = random("s");
    double of_values = 0;
    double of_elements = 0;
    for (const double x : test::elements(s)) of_values += x * x;
    for (const Matrix& b : random.b) {
      for (const double x : b.e) of_elements += x * x;
    }
    CHECK(of_values == doctest::Approx(of_elements));
  }
}

namespace {

// Types of results. Batch may be an axis of the matrices, too.
template <class X, class T, tf::Extent... D>
inline constexpr bool is = std::is_same_v<X, tf::Expr<T, tf::Shape<D...>>>;
constexpr bool types_fit(tf::Graph& g) {
  constexpr tf::Extent n = tf::batch;
  constexpr tf::Extent n4 = 4 * tf::batch;
  auto a = tf::placeholder<float, 2, 3, 3>(g, "a");
  auto r = tf::placeholder<double, n, 3, 5>(g, "r");
  auto pairs = tf::placeholder<float, n, n>(g, "pairs");
  auto long_ones = tf::placeholder<float, n4, n>(g, "long_ones");
  static_assert(is<decltype(matrix_inverse(a)), float, 2, 3, 3>);
  static_assert(is<decltype(matrix_inverse(pairs)), float, n, n>);
  static_assert(is<decltype(matrix_determinant(a)), float, 2>);
  static_assert(is<decltype(matrix_determinant(pairs)), float>);
  static_assert(
      is<decltype(matrix_solve(pairs, tf::placeholder<float, n, 2>(g, "b"))), float, n, 2>);
  static_assert(is<decltype(matrix_triangular_solve(a, a)), float, 2, 3, 3>);
  static_assert(is<decltype(cholesky(a)), float, 2, 3, 3>);
  static_assert(is<decltype(self_adjoint_eig(a).values), float, 2, 3>);
  static_assert(is<decltype(self_adjoint_eig(a).vectors), float, 2, 3, 3>);
  static_assert(is<decltype(svd(r).s), double, n, 3>);
  static_assert(is<decltype(svd(r).u), double, n, 3, 3>);
  static_assert(is<decltype(svd(r).v), double, n, 5, 3>);
  static_assert(is<decltype(svd(long_ones).s), float, n>);
  static_assert(is<decltype(svd(long_ones).u), float, n4, n>);
  return true;
}

}  // namespace

TEST_CASE("matrices may have batch axes") {
  tf::Graph g;
  CHECK(types_fit(g));
  CHECK(tf::ir::verify(g).view() == "");
}

namespace {

/// The interpreter and the kernels say what is wrong in the same words.
template <auto Model>
void check_error(const tf::HostTensors& feeds, const char* text) {
  tf::Graph graph;
  Model(graph);
  CHECK_THROWS_WITH_AS(tf::interpret(graph, feeds), doctest::Contains(text), tf::Error);
  for (const int threads : {1, 3}) {
    test::Kernels<Model> kernels(threads);
    CHECK_THROWS_WITH_AS(kernels.run(feeds), doctest::Contains(text), tf::Error);
  }
}

constexpr void inverse(tf::Graph& g) {
  matrix_inverse(tf::placeholder<float, tf::batch, 2, 2>(g, "a")).named("y");
}
constexpr void inverse_of_one(tf::Graph& g) {
  matrix_inverse(tf::placeholder<float, 2, 2>(g, "a")).named("y");
}
constexpr void gradient_of_determinant(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 2>(g, "a");
  gradients(matrix_determinant(a), a).named("y");
}
template <tf::Transposed T>
constexpr void solution(tf::Graph& g) {
  auto a = tf::placeholder<double, 2, 3, 2, 2>(g, "a");
  tf::matrix_solve<T>(a, a).named("y");
}
template <tf::Triangle T>
constexpr void triangular_solution(tf::Graph& g) {
  auto a = tf::placeholder<double, 2, 2, 2>(g, "a");
  tf::matrix_triangular_solve<T>(a, a).named("y");
}
constexpr void root(tf::Graph& g) {
  cholesky(tf::placeholder<double, tf::batch, 2, 2>(g, "a")).named("y");
}

}  // namespace

TEST_CASE("matrix_inverse: errors") {
  // Matrices 3 and 5 of many: the first is named, whatever the threads.
  std::vector<double> a;
  for (int i = 0; i < 40000; ++i) {
    const bool singular = i == 3 || i == 5 || i == 39999;
    a.insert(a.end(), {1, 2, 2, singular ? 4.0 : 5.0});
  }
  check_error<inverse>({{"a", test::floats({40000, 2, 2}, a)}},
                       "matrix_inverse: the matrix at [3] is singular");
  check_error<inverse_of_one>({{"a", test::floats({2, 2}, {0, 0, 0, 0})}},
                              "matrix_inverse: the matrix is singular");
}

TEST_CASE("matrix_determinant: errors") {
  check_error<gradient_of_determinant>({{"a", test::floats({2, 2}, {1, 2, 2, 4})}},
                                       "matrix_inverse: the matrix is singular");
}

TEST_CASE("matrix_solve: errors") {
  tf::HostTensor a = tf::host_tensor(tf::DType::float64, test::dims({2, 3, 2, 2}));
  for (std::int64_t i = 0; i < 24; ++i) a.set(i, static_cast<double>(i % 4 == 3 ? i : i % 4));
  for (std::int64_t i = 20; i < 24; ++i) a.set(i, 1);
  check_error<solution<tf::Transposed::neither>>({{"a", a}},
                                                 "matrix_solve: the matrix at [1, 2] is singular");
  check_error<solution<tf::Transposed::a>>({{"a", a}},
                                           "matrix_solve: the matrix at [1, 2] is singular");
}

TEST_CASE("matrix_triangular_solve: errors") {
  const tf::HostTensors feeds = {{"a", test::doubles({2, 2, 2}, {1, 2, 3, 4, 1, 1, 1, 0})}};
  check_error<triangular_solution<tf::Triangle::lower>>(
      feeds, "matrix_triangular_solve: the matrix at [1] is singular");
  check_error<triangular_solution<tf::Triangle::upper>>(
      feeds, "matrix_triangular_solve: the matrix at [1] is singular");
}

TEST_CASE("cholesky: errors") {
  const char* const text = "cholesky: the matrix at [1] is not positive definite";
  for (const std::vector<double>& bad :
       {std::vector<double>{1, 2, 2, 1}, {0, 0, 0, 0}, {-1, 0, 0, 1}, {1, 0, not_a_number, 1}}) {
    std::vector<double> a = {2, 1, 1, 2};
    a.insert(a.end(), bad.begin(), bad.end());
    check_error<root>({{"a", test::doubles({2, 2, 2}, a)}}, text);
  }
}
