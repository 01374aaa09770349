// SPDX-License-Identifier: Apache-2.0

// Gradients of linear algebra against central differences, once and twice.

#include <typeflow/linalg.hpp>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// x with a diagonal so large that it is positive definite, and far from singular.
template <class X>
constexpr X dominant(const X& x) {
  const tf::AnyExpr a = x.any();
  const auto on_diagonal = equal(tf::linalg::rows_of(a), tf::linalg::columns_of(a));
  return X(x.graph(), where(on_diagonal, a + 8, a).id);
}

}  // namespace

TEST_CASE("matrix_inverse: gradient") {
  const auto f = [](const auto& x) { return matrix_inverse(dominant(x)); };
  test::check_gradients<tf::Shape<3, 3>>(f);
  test::check_gradients<tf::Shape<1, 1>>(f);
  test::check_gradients<tf::Shape<2, 3, 3>>(f);
  test::check_gradients<tf::Shape<3, 3>>(  // twice
      [](const auto& x) { return gradients(sum(square(matrix_inverse(dominant(x)))), x); });
}

TEST_CASE("matrix_determinant: gradient") {
  const auto f = [](const auto& x) { return matrix_determinant(dominant(x)) / 100; };
  test::check_gradients<tf::Shape<3, 3>>(f);
  test::check_gradients<tf::Shape<2, 1, 4, 4>>(f);
  test::check_gradients<tf::Shape<2, 2>>(
      [](const auto& x) { return gradients(sum(matrix_determinant(dominant(x))), x) / 100; });
}

TEST_CASE("matrix_solve: gradient") {
  const auto f = [](const auto& a, const auto& b) { return matrix_solve(dominant(a), b); };
  const auto transposed = [](const auto& a, const auto& b) {
    return tf::matrix_solve<tf::transpose_a>(dominant(a), b);
  };
  test::check_gradients<tf::Shape<3, 3>, tf::Shape<3, 2>>(f);
  test::check_gradients<tf::Shape<3, 3>, tf::Shape<3, 2>>(transposed);
  test::check_gradients<tf::Shape<2, 3, 3>, tf::Shape<2, 3, 1>>(f);
  test::check_gradients<tf::Shape<2, 3, 3>, tf::Shape<2, 3, 1>>(transposed);
  test::check_gradients<tf::Shape<2, 2>, tf::Shape<2, 2>>([](const auto& a, const auto& b) {
    return gradients(sum(square(tf::matrix_solve<tf::transpose_a>(dominant(a), b))), a);
  });
}

TEST_CASE("matrix_triangular_solve: gradient") {
  using enum tf::Triangle;
  const auto f = [](const auto& a, const auto& b) {
    const auto d = dominant(a);
    return matrix_triangular_solve(d, b) - 2 * tf::matrix_triangular_solve<upper>(d, b) +
           3 * tf::matrix_triangular_solve<lower, tf::transpose_a>(d, b) -
           4 * tf::matrix_triangular_solve<upper, tf::transpose_a>(d, b);
  };
  test::check_gradients<tf::Shape<3, 3>, tf::Shape<3, 2>>(f);
  test::check_gradients<tf::Shape<2, 3, 3>, tf::Shape<2, 3, 1>>(f);
  test::check_gradients<tf::Shape<2, 2>, tf::Shape<2, 2>>([](const auto& a, const auto& b) {
    return gradients(sum(square(tf::matrix_triangular_solve<upper>(dominant(a), b))), a);
  });
}

TEST_CASE("cholesky: gradient") {
  const auto f = [](const auto& x) { return cholesky(dominant(x)); };
  test::check_gradients<tf::Shape<3, 3>>(f);
  test::check_gradients<tf::Shape<1, 1>>(f);
  test::check_gradients<tf::Shape<2, 4, 4>>(f);
  test::check_gradients<tf::Shape<3, 3>>(
      [](const auto& x) { return gradients(sum(square(cholesky(dominant(x)) + 1)), x); });
}

TEST_CASE("self_adjoint_eig: gradient") {
  const auto values = [](const auto& x) { return self_adjoint_eig(x).values; };
  const auto vectors = [](const auto& x) { return self_adjoint_eig(x).vectors; };
  const auto both = [](const auto& x) {
    const auto [w, v] = self_adjoint_eig(x);
    return sum<0>(w * v);  // sums columns that have the sign of one run
  };
  test::check_gradients<tf::Shape<3, 3>>(values);
  test::check_gradients<tf::Shape<3, 3>>(vectors, {}, 1e-6);
  test::check_gradients<tf::Shape<3, 3>>(both, {}, 1e-6);
  test::check_gradients<tf::Shape<2, 2, 2>>(vectors, {}, 1e-6);
  test::check_gradients<tf::Shape<1, 1>>(vectors);
  test::check_gradients<tf::Shape<3, 3>>(
      [](const auto& x) {
        const auto [w, v] = self_adjoint_eig(x);
        return gradients(sum(w * sum<0>(v * v * v * v)), x);
      },
      {}, 1e-5);
  // Equal eigenvalues have derivatives, their vectors need not.
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 2>(g, "x");
  gradients(sum(self_adjoint_eig(x).values), x).named("dx");
  const auto dx = tf::Interpreter(g).run({"dx"}, {{"x", test::doubles({2, 2}, {3, 0, 0, 3})}})[0];
  CHECK(test::difference(dx, test::doubles({2, 2}, {1, 0, 0, 1})) < 1e-12);
}

TEST_CASE("svd: gradient") {
  // There is none, and asking for it is an error: while compiling, if the model is compiled.
  tf::Graph g;
  auto x = tf::placeholder<double, 2, 3>(g, "x");
  const auto loss = sum(svd(x).s);
  CHECK_THROWS_WITH_AS(gradients(loss, x), doctest::Contains("no gradient is defined for Svd"),
                       tf::Error);
}

namespace {

/// All gradients at once, for kernels.
template <class T, class A, class B>
constexpr void all_gradients(tf::Graph& g) {
  auto x = test::input<T, A>(g, "x");
  auto b = test::input<T, B>(g, "b");
  const auto a = dominant(x);
  const auto [w, v] = self_adjoint_eig(a);
  const auto loss = sum(square(matrix_inverse(a))) + sum(matrix_determinant(a)) / 10000 +
                    sum(square(matrix_solve(a, b))) +
                    sum(square(tf::matrix_triangular_solve<tf::upper_triangle>(a, b))) +
                    sum(square(cholesky(a) + 1)) + sum(square(w)) + sum(v * v * v * v);
  const auto [dx, db] = gradients(loss, x, b);
  dx.named("dx");
  db.named("db");
}

template <class T, class A, class B>
void check_gradients_in_kernels(double tolerance) {
  test::Random random(9);
  const tf::DType type = tf::dtype_of<T>;
  const tf::HostTensors feeds = {
      {"x", test::random_tensor(random, type, tf::resolve(A::dims, 7), -1, 1)},
      {"b", test::random_tensor(random, type, tf::resolve(B::dims, 7), -1, 1)}};
  tf::Graph graph;
  all_gradients<T, A, B>(graph);
  const tf::HostTensors expected = tf::interpret(graph, feeds);
  const test::Outcome got = test::Kernels<all_gradients<T, A, B>>(2).run(feeds);
  for (const char* const name : {"dx", "db"}) {
    test::check_close(name, got.at(name), expected.at(name), tolerance);
  }
}

}  // namespace

TEST_CASE("gradients of linear algebra in kernels are those that the interpreter computes") {
  check_gradients_in_kernels<double, tf::Shape<4, 4>, tf::Shape<4, 3>>(1e-9);
  check_gradients_in_kernels<float, tf::Shape<tf::batch, 4, 4>, tf::Shape<tf::batch, 4, 3>>(1e-3);
}
