// SPDX-License-Identifier: Apache-2.0

// Linear algebra by a library of LAPACK's routines, against the processor: what it is asked, which
// matrices it has, and which are left to the kernels of our own.

#include "support/solver_on_host.hpp"

#include <typeflow/cuda/linalg.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/check_kernels.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using tf::SolverRoutine;

/// Matrices a and p, of which the lower triangle is read, right sides b, long and wide ones.
template <class T>
constexpr void decompositions(tf::Graph& g) {
  auto a = tf::placeholder<T, 3, tf::batch, tf::batch>(g, "a");
  auto b = tf::placeholder<T, 3, tf::batch, 2>(g, "b");
  auto p = tf::placeholder<T, 3, tf::batch, tf::batch>(g, "p");
  auto tall = tf::placeholder<T, 3, 7, 4>(g, "tall");
  auto wide = tf::placeholder<T, 3, 4, 7>(g, "wide");
  matrix_solve(a, b).named("solved");
  tf::matrix_solve<tf::transpose_a>(a, b).named("transposed");
  matrix_inverse(a).named("inverse");
  matrix_determinant(a).named("determinant");
  const auto [sign, log] = slogdet(a);
  sign.named("sign");
  log.named("log");
  const auto [lower, upper, order] = lu(a);
  lower.named("lower");
  upper.named("upper");
  order.named("order");
  cholesky(p).named("root");
  const auto [values, vectors] = self_adjoint_eig(p);
  values.named("values");
  vectors.named("vectors");
  const auto [tall_q, tall_r] = qr(tall);
  tall_q.named("tall_q");
  tall_r.named("tall_r");
  const auto [wide_q, wide_r] = qr(wide);
  wide_q.named("wide_q");
  wide_r.named("wide_r");
  const auto [tall_s, tall_u, tall_v] = svd(tall);
  tall_s.named("tall_s");
  tall_u.named("tall_u");
  tall_v.named("tall_v");
  const auto [wide_s, wide_u, wide_v] = svd(wide);
  wide_s.named("wide_s");
  wide_u.named("wide_u");
  wide_v.named("wide_v");
}

template <class T, class Target>
struct On {
  tf::Variables variables;
  tf::Session<decompositions<T>, tf::inference, Target> session{variables};

  template <tf::Text... N, class... F>
  auto run(const F&... feeds) {
    return session.template run<N...>(feeds...);
  }
};
template <class T>
using Library = On<T, test::BasicCudaTargetOnHost<tf::Precision::exact, test::SolverKernels>>;
template <class T>
using OwnKernels = On<T, test::CudaTargetOnHost>;
template <class T>
using Processor = On<T, tf::CpuTarget<>>;

template <class T>
std::vector<T> numbers(std::int64_t count, double size, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<T>(random.uniform(-size, size)));
  return out;
}
/// Three matrices, whose pivots are not on the diagonal.
template <class T>
std::vector<T> systems(std::int64_t n) {
  std::vector<T> a = numbers<T>(3 * n * n, 1.0 / static_cast<double>(n), 1);
  for (std::int64_t row = 0; row < 3 * n; ++row) {
    a[static_cast<std::size_t>(row * n + (row % n + 1) % n)] += T(2);
  }
  return a;
}
/// Three positive definite matrices, with other numbers above the diagonal.
template <class T>
std::vector<T> symmetric(std::int64_t n) {
  std::vector<T> p = numbers<T>(3 * n * n, 1.0 / static_cast<double>(n), 2);
  for (std::int64_t row = 0; row < 3 * n; ++row) {
    T* const elements = p.data() + row * n;
    elements[row % n] += T(2);
    std::fill(elements + row % n + 1, elements + n, T(1000));
  }
  return p;
}

bool is_close(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected ||
         std::abs(got - expected) <= tolerance * std::max(1.0, std::abs(expected));
}
/// How many elements of results differ.
template <class X, class Y>
int differences(const X& got, const Y& expected, double tolerance) {
  const auto of_one = [&](const auto& x, const auto& y) {
    int count = x.size() != y.size();
    for (std::int64_t i = 0; count == 0 && i < static_cast<std::int64_t>(x.size()); ++i) {
      count +=
          !is_close(static_cast<double>(x.data()[i]), static_cast<double>(y.data()[i]), tolerance);
    }
    return count;
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (of_one(std::get<I>(got), std::get<I>(expected)) + ...);
  }(std::make_index_sequence<std::tuple_size_v<X>>{});
}

/// Checks that three row-major matrices are x diag(d) y^T, and x and y orthonormal.
template <class T, class X, class D, class Y>
void check_product(const std::vector<T>& matrices, bool lower, const X& x, const D& d, const Y& y,
                   std::int64_t rows, std::int64_t columns, double tolerance) {
  const std::int64_t p = std::min(rows, columns);
  double worst = 0;
  const auto compare = [&](double got, double expected) {
    const double here = std::abs(got - expected);
    worst = here <= worst ? worst : here;  // keeps NaN
  };
  for (std::int64_t m = 0; m < 3; ++m) {
    const auto of = [&](const auto& factor, std::int64_t length, std::int64_t i, std::int64_t k) {
      return static_cast<double>(factor.data()[(m * length + i) * p + k]);
    };
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns && (!lower || j <= i); ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p; ++k) {
          sum +=
              of(x, rows, i, k) * static_cast<double>(d.data()[m * p + k]) * of(y, columns, j, k);
        }
        compare(sum, static_cast<double>(
                         matrices[static_cast<std::size_t>((m * rows + i) * columns + j)]));
      }
    }
    const auto check_columns = [&](const auto& factor, std::int64_t length) {
      for (std::int64_t k = 0; k < p; ++k) {
        for (std::int64_t other = 0; other <= k; ++other) {
          double sum = 0;
          for (std::int64_t i = 0; i < length; ++i) {
            sum += of(factor, length, i, k) * of(factor, length, i, other);
          }
          compare(sum, k == other);
        }
      }
    };
    check_columns(x, rows);
    check_columns(y, columns);
  }
  CHECK(worst <= tolerance);
}

template <class T>
void check(const std::vector<std::int64_t>& sizes, double tolerance) {
  Library<T> library;
  Library<T> again;
  Processor<T> processor;
  const auto alike = [&]<tf::Text... N>(const auto&... feeds) {
    const auto got = library.template run<N...>(feeds...);
    CHECK(differences(got, processor.template run<N...>(feeds...), tolerance) == 0);
    CHECK(differences(again.template run<N...>(feeds...), got, 0) == 0);
  };
  for (const std::int64_t n : sizes) {
    CAPTURE(n);
    const std::vector<T> a = systems<T>(n);
    const std::vector<T> b = numbers<T>(3 * n * 2, 1, 3);
    const std::vector<T> p = symmetric<T>(n);
    alike.template operator()<"solved", "transposed", "inverse", "determinant", "sign", "log",
                              "lower", "upper", "order", "root", "values">(
        tf::feed<"a">(a), tf::feed<"b">(b), tf::feed<"p">(p));
    const auto [values, vectors] = library.template run<"values", "vectors">(tf::feed<"p">(p));
    check_product(p, true, vectors, values, vectors, n, n, tolerance);
  }
  const std::vector<T> tall = numbers<T>(3 * 7 * 4, 1, 4);
  const std::vector<T> wide = numbers<T>(3 * 4 * 7, 1, 5);
  alike.template operator()<"tall_q", "tall_r", "wide_q", "wide_r", "tall_s", "wide_s">(
      tf::feed<"tall">(tall), tf::feed<"wide">(wide));
  const auto [tall_s, tall_u, tall_v] =
      library.template run<"tall_s", "tall_u", "tall_v">(tf::feed<"tall">(tall));
  check_product(tall, false, tall_u, tall_s, tall_v, 7, 4, tolerance);
  const auto [wide_s, wide_u, wide_v] =
      library.template run<"wide_s", "wide_u", "wide_v">(tf::feed<"wide">(wide));
  check_product(wide, false, wide_u, wide_s, wide_v, 4, 7, tolerance);
}

#if !defined(__CUDACC__)
using test::PlainSolver;

/// While it lives, the library is in a state.
template <class X>
struct State {
  State(X& its_place, X value) : place(its_place), before(its_place) { place = value; }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { place = before; }
  X& place;
  X before;
};
#endif

}  // namespace

TEST_CASE("a library decomposes matrices as the processor does") {
  check<float>({1, 2, 5, 33}, 2e-5);
  check<double>({1, 2, 5, 33}, 1e-12);
}

TEST_CASE("matrices with NaN, infinity or zeros have the processor's results with a library") {
  Library<float> library;
  Processor<float> processor;
  OwnKernels<float> own;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float special : {nan, infinity, -infinity, 0.0f}) {
    CAPTURE(special);
    std::vector<float> a = systems<float>(3);
    std::vector<float> p = symmetric<float>(3);
    std::vector<float> tall = numbers<float>(3 * 7 * 4, 1, 4);
    std::vector<float> wide = numbers<float>(3 * 4 * 7, 1, 5);
    if (special == 0) {  // matrices without rank
      std::fill(a.begin() + 9, a.begin() + 18, 0.0f);
      std::fill(p.begin() + 9, p.begin() + 18, 0.0f);
      std::fill(tall.begin() + 28, tall.begin() + 56, 0.0f);
      std::fill(wide.begin() + 28, wide.begin() + 56, 0.0f);
    } else {
      a[9 + 4] = p[9 + 3] = tall[28 + 11] = wide[28 + 11] = special;
    }
    const auto compare = [&]<tf::Text... N>(const auto&... feeds) {
      return differences(library.run<N...>(feeds...), processor.run<N...>(feeds...), 2e-5);
    };
    const auto eliminate = [&](auto& on) {
      return on.template run<"determinant", "sign", "log", "lower", "upper", "order">(
          tf::feed<"a">(a));
    };
    CHECK(differences(eliminate(library), eliminate(own), 2e-5) == 0);
    if (!std::isinf(special)) {  // of which each LAPACK makes something else
      CHECK(differences(eliminate(library), eliminate(processor), 2e-5) == 0);
    }
    CHECK(compare.operator()<"tall_q", "tall_r", "wide_q", "wide_r", "tall_s", "wide_s">(
              tf::feed<"tall">(tall), tf::feed<"wide">(wide)) == 0);
    CHECK(compare.operator()<"values", "values">(tf::feed<"p">(p)) == 0);
    if (special == 0) {
      const auto [s, u, v] = library.run<"tall_s", "tall_u", "tall_v">(tf::feed<"tall">(tall));
      check_product(tall, false, u, s, v, 7, 4, 2e-5);
    } else if (special != special) {
      const std::vector<float> b = numbers<float>(3 * 3 * 2, 1, 3);
      CHECK(compare.operator()<"solved", "transposed", "inverse">(tf::feed<"a">(a),
                                                                  tf::feed<"b">(b)) == 0);
    }
  }
  std::vector<float> b = numbers<float>(3 * 3 * 2, 1, 3);
  b[6] = nan;  // a column of the second matrix
  const std::vector<float> a = systems<float>(3);
  const auto [solved, transposed] =
      library.run<"solved", "transposed">(tf::feed<"a">(a), tf::feed<"b">(b));
  CHECK(differences(std::pair{solved, transposed},
                    processor.run<"solved", "transposed">(tf::feed<"a">(a), tf::feed<"b">(b)),
                    2e-5) == 0);
}

TEST_CASE("errors of matrices are the same with a library") {
  Library<float> library;
  Processor<float> processor;
  std::vector<float> a = systems<float>(3);
  std::vector<float> p = symmetric<float>(3);
  const std::vector<float> b = numbers<float>(3 * 3 * 2, 1, 3);
  a[18] = a[19] = a[20] = 0;
  a[9 + 2] = a[9 + 5] = a[9 + 8] = 0;  // singular, too, and in front
  p[9 + 8] = -5;
  const auto compare = [&](const std::string& text, const auto& run) {
    const std::string expected = message_of([&] { run(processor); });
    const std::string got = message_of([&] { run(library); });
    INFO(got);
    CHECK(expected.find(text) != std::string::npos);
    CHECK(got == expected);
  };
  compare("the matrix at [1] is singular",
          [&](auto& on) { on.template run<"solved">(tf::feed<"a">(a), tf::feed<"b">(b)); });
  compare("the matrix at [1] is singular",
          [&](auto& on) { on.template run<"inverse">(tf::feed<"a">(a)); });
  compare("the matrix at [1]", [&](auto& on) { on.template run<"root">(tf::feed<"p">(p)); });
}

TEST_CASE("squares of large and small numbers do not overflow in a library") {
  Library<float> library;
  Processor<float> processor;
  for (const float scale : {1e30f, 1e-30f}) {
    CAPTURE(scale);
    std::vector<float> p = symmetric<float>(5);
    std::vector<float> tall = numbers<float>(3 * 7 * 4, 1, 4);
    for (float& x : p) x *= scale;
    for (float& x : tall) x *= scale;
    const auto run = [&](auto& on) {
      auto [values, s] =
          on.template run<"values", "tall_s">(tf::feed<"p">(p), tf::feed<"tall">(tall));
      for (auto i = values.size(); i-- > 0;) values.data()[i] /= scale;
      for (auto i = s.size(); i-- > 0;) s.data()[i] /= scale;
      return std::pair{values, s};
    };
    CHECK(differences(run(library), run(processor), 2e-5) == 0);
#if !defined(__CUDACC__)
    CHECK(PlainSolver::largest <= 1);
    CHECK(PlainSolver::largest >= 0.25);
#endif
  }
}

#if !defined(__CUDACC__)

TEST_CASE("a library gets large matrices, one after the other") {
  Library<float> library;
  const std::vector<float> a = systems<float>(5);
  const std::vector<float> b = numbers<float>(3 * 5 * 2, 1, 3);
  PlainSolver::calls.clear();
  library.run<"transposed">(tf::feed<"a">(a), tf::feed<"b">(b));
  REQUIRE(PlainSolver::calls.size() == 6);
  CHECK(PlainSolver::calls[0].routine == SolverRoutine::getrf);
  CHECK(PlainSolver::calls[0].rows == 5);
  const tf::SolverCall& solves = PlainSolver::calls[5];
  CHECK(solves.routine == SolverRoutine::getrs);
  CHECK(solves.transposed);
  CHECK(solves.columns == 5);
  CHECK(solves.right == 2);
  CHECK(solves.type == tf::DType::float32);

  PlainSolver::calls.clear();
  const std::vector<float> wide = numbers<float>(3 * 4 * 7, 1, 5);
  library.run<"wide_s">(tf::feed<"wide">(wide));
  REQUIRE(PlainSolver::calls.size() == 3);
  CHECK(PlainSolver::calls[0].rows == 7);  // of the transpose
  CHECK(PlainSolver::calls[0].columns == 4);

  PlainSolver::calls.clear();
  library.run<"determinant">(tf::feed<"a">(systems<float>(1)));  // small matrices
  const std::vector<float> none;
  library.run<"determinant", "order">(tf::feed<"a">(none));
  const State too_many(PlainSolver::most_matrices, std::int64_t{2});
  library.run<"determinant", "order">(tf::feed<"a">(a));
  CHECK(PlainSolver::calls.empty());
}

TEST_CASE("what a library does not compute has the bits of our kernels") {
  Library<float> library;
  OwnKernels<float> own;
  const std::vector<float> a = systems<float>(5);
  const std::vector<float> b = numbers<float>(3 * 5 * 2, 1, 3);
  const std::vector<float> p = symmetric<float>(5);
  const std::vector<float> tall = numbers<float>(3 * 7 * 4, 1, 4);
  {
    const State trouble(PlainSolver::needs_more, true);
    PlainSolver::calls.clear();
    const auto run = [&](auto& on) {
      return on.template run<"solved", "order", "root">(tf::feed<"a">(a), tf::feed<"b">(b),
                                                        tf::feed<"p">(p));
    };
    CHECK(differences(run(library), run(own), 0) == 0);
    CHECK(PlainSolver::calls.size() == 3);
  }
  {
    const State trouble(PlainSolver::converges, false);
    const auto run = [&](auto& on) {
      return on.template run<"values", "vectors", "tall_s", "tall_u">(tf::feed<"p">(p),
                                                                      tf::feed<"tall">(tall));
    };
    CHECK(differences(run(library), run(own), 0) == 0);
  }
}

TEST_CASE("an error of a library of decompositions names the step") {
  Library<float> library;
  const State trouble(PlainSolver::fails, true);
  const std::string text =
      message_of([&] { library.run<"root">(tf::feed<"p">(symmetric<float>(5))); });
  INFO(text);
  CHECK(text.find("root") != std::string::npos);
  CHECK(text.find("a library: a decomposition: out of luck") != std::string::npos);
}

TEST_CASE("calls of a library of decompositions are not recorded") {
  Library<float> library;
  OwnKernels<float> own;
  const std::vector<float> a = systems<float>(5);
  const auto graphs_of = [&](auto& on) {
    const int before = PlainSolver::graphs();
    for (int i = 0; i < 4; ++i) {
      on.template run<"order", "determinant", "sign">(tf::feed<"a">(a));
    }
    return PlainSolver::graphs() - before;
  };
  PlainSolver::calls.clear();
  CHECK(graphs_of(library) == 0);
  CHECK(PlainSolver::calls.size() == 4 * 9);
  CHECK(graphs_of(own) == 1);
}

#endif
