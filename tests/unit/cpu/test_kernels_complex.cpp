// SPDX-License-Identifier: Apache-2.0

// Kernels of complex numbers against plain loops: rows that no vector divides, short rows, columns,
// broadcasts, sums, kernels with booleans and with numbers of another size.

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using Exact = std::complex<long double>;

template <class T>
tf::HostTensor numbers(const tf::Dims& dims, std::uint64_t seed) {
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, dims);
  test::Random random(seed);
  const auto part = [&] {
    return static_cast<double>(static_cast<typename T::value_type>(random.uniform(-2, 2)));
  };
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double real = part();
    x[i] = {real, 0, part()};
  }
  return x;
}
Exact exact(const tf::Number& x) { return {x.real, x.imaginary}; }
Exact exact(const tf::HostTensor& x, std::int64_t i) {
  return tf::is_complex(x.dtype) ? exact(x[i]) : Exact(static_cast<long double>(x.value(i)));
}

/// f(row, column) is what element (row, column) of a matrix should be.
template <class F>
void expect(const test::Outcome& got, const std::string& name, std::int64_t columns, const F& f,
            double tolerance) {
  INFO(name);
  const tf::HostTensor& y = got.at(name);
  int wrong = 0;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Exact expected = f(i / columns, i % columns);
    const auto error = static_cast<double>(std::abs(exact(y, i) - expected));
    if (error <= tolerance * std::max(1.0, static_cast<double>(std::abs(expected)))) continue;
    if (wrong++ < 3) MESSAGE("element " << i << " is off by " << error);
  }
  CHECK(y.size() > 0);
  CHECK(wrong == 0);
}

template <class T, tf::Extent Rows, tf::Extent Columns>
constexpr void matrix(tf::Graph& g) {
  auto a = tf::placeholder<T, Rows, Columns>(g, "a");
  auto b = tf::placeholder<T, Rows, Columns>(g, "b");
  auto row = tf::placeholder<T, Columns>(g, "row");
  auto column = tf::placeholder<T, Rows, 1>(g, "column");
  (a * b + row).named("chain");
  (conj(a) * column - b / (row + 5)).named("broadcasts");
  (complex_abs(a) * real(b)).named("parts");
  tf::complex(imag(a), complex_abs(b)).named("made");
  where(less(real(a), imag(a)), a, -b).named("chosen");
  tf::cast<float>(a * b).named("single");
  (tf::cast<std::complex<double>>(a) + 1).named("wide");
  tf::sum<1>(a * conj(b)).named("row_sums");
  tf::sum<0>(square(a)).named("column_sums");
  tf::sum(a).named("sum");
  tf::prod<1>(a * 0.5).named("row_products");
  tf::sum<0>(exp(a)).named("column_exps");
}

template <class T, tf::Extent Rows, tf::Extent Columns>
void check_matrix(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>), " of ", Rows, " rows of ", Columns);
  const tf::HostTensor a = numbers<T>(test::dims({Rows, Columns}), 1);
  const tf::HostTensor b = numbers<T>(test::dims({Rows, Columns}), 2);
  const tf::HostTensor row = numbers<T>(test::dims({Columns}), 3);
  const tf::HostTensor column = numbers<T>(test::dims({Rows, 1}), 4);
  test::Kernels<matrix<T, Rows, Columns>> kernels;
  const test::Outcome got = kernels.run({{"a", a}, {"b", b}, {"row", row}, {"column", column}});
  const auto at = [](const tf::HostTensor& x, std::int64_t i, std::int64_t j) {
    return exact(x[i * Columns + j]);
  };
  const auto element = [&](const char* name, double within, const auto& f) {
    expect(
        got, name, Columns,
        [&](std::int64_t i, std::int64_t j) {
          return f(at(a, i, j), at(b, i, j), exact(row[j]), exact(column[i]));
        },
        within);
  };
  element("chain", tolerance, [](Exact x, Exact y, Exact r, Exact) { return x * y + r; });
  element("broadcasts", tolerance,
          [](Exact x, Exact y, Exact r, Exact c) { return std::conj(x) * c - y / (r + 5.0L); });
  element("parts", tolerance,
          [](Exact x, Exact y, Exact, Exact) { return Exact(std::abs(x) * y.real()); });
  element("made", tolerance,
          [](Exact x, Exact y, Exact, Exact) { return Exact(x.imag(), std::abs(y)); });
  element("chosen", 0, [](Exact x, Exact y, Exact, Exact) { return x.real() < x.imag() ? x : -y; });
  element("single", std::max(tolerance, 0x1p-22),
          [](Exact x, Exact y, Exact, Exact) { return Exact((x * y).real()); });
  element("wide", tolerance, [](Exact x, Exact, Exact, Exact) { return x + 1.0L; });
  const auto over_rows = [&](std::int64_t i, const auto& f, Exact y) {
    for (std::int64_t j = 0; j < Columns; ++j) f(y, at(a, i, j), at(b, i, j));
    return y;
  };
  const auto over_columns = [&](std::int64_t j, const auto& f) {
    Exact y;
    for (std::int64_t i = 0; i < Rows; ++i) y += f(at(a, i, j));
    return y;
  };
  const double of_row = 4 * tolerance * std::sqrt(double(Columns));
  const double of_column = 4 * tolerance * std::sqrt(double(Rows));
  expect(
      got, "row_sums", 1,
      [&](std::int64_t i, std::int64_t) {
        return over_rows(i, [](Exact& y, Exact p, Exact q) { y += p * std::conj(q); }, {});
      },
      of_row);
  expect(
      got, "row_products", 1,
      [&](std::int64_t i, std::int64_t) {
        return over_rows(i, [](Exact& y, Exact p, Exact) { y *= 0.5L * p; }, 1);
      },
      Columns * tolerance);
  expect(
      got, "column_sums", Columns,
      [&](std::int64_t, std::int64_t j) { return over_columns(j, [](Exact x) { return x * x; }); },
      of_column);
  expect(
      got, "column_exps", Columns,
      [&](std::int64_t, std::int64_t j) {
        return over_columns(j, [](Exact x) { return std::exp(x); });
      },
      of_column);
  expect(
      got, "sum", 1,
      [&](std::int64_t, std::int64_t) {
        Exact y;
        for (std::int64_t i = 0; i < a.size(); ++i) y += exact(a[i]);
        return y;
      },
      of_row * std::sqrt(double(Rows)));
}
template <tf::Extent Rows, tf::Extent Columns>
void check_types() {
  check_matrix<std::complex<float>, Rows, Columns>(0x1p-21);
  check_matrix<std::complex<double>, Rows, Columns>(0x1p-50);
}

constexpr tf::Extent count = 72;
template <class T, tf::Extent Rows>
constexpr void functions(tf::Graph& g) {
  auto a = tf::placeholder<T, Rows, count / Rows>(g, "a");
  auto b = tf::placeholder<T, Rows, count / Rows>(g, "b");
  (a * b).named("product");
  (a / b).named("quotient");
  exp(a).named("exp");
  complex_abs(a).named("abs");
  angle(a).named("angle");
  // In a kernel with numbers of 8 bytes, too.
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    tf::cast<std::complex<double>>(a * b).named("wide_product");
    tf::cast<std::complex<double>>(a / b).named("wide_quotient");
    tf::cast<double>(complex_abs(a)).named("wide_abs");
  }
}
template <class T, tf::Extent Rows>
test::Outcome outcome(tf::HostTensor a, tf::HostTensor b) {
  a.dims = b.dims = test::dims({Rows, count / Rows});
  test::Kernels<functions<T, Rows>> kernels;
  return kernels.run({{"a", a}, {"b", b}});
}
/// Of special parts among others.
template <class T>
void check_places() {
  using Part = typename T::value_type;
  using Limits = std::numeric_limits<Part>;
  tf::HostTensor a = numbers<T>(test::dims({count}), 5);
  tf::HostTensor b = numbers<T>(test::dims({count}), 6);
  const Part parts[] = {0, Part(-0.0), 1, Limits::infinity(), Limits::max(), Limits::denorm_min()};
  for (std::int64_t i = 0; i < 36; ++i) {
    a[2 * i] = {static_cast<double>(parts[i / 6]), 0, static_cast<double>(parts[i % 6])};
    b[(10 * i + 7) % count] = a[2 * i];
  }
  const test::Outcome first = outcome<T, 1>(a, b);
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (x != x && y != y);
  };
  const auto compare = [&](const test::Outcome& other) {
    for (const auto& [name, x] : first) {
      INFO(name);
      const tf::HostTensor& y = other.at(name);
      int wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += !same(x[i].real, y[i].real) || !same(x[i].imaginary, y[i].imaginary);
      }
      CHECK(wrong == 0);
    }
  };
  compare(outcome<T, 2>(a, b));
  compare(outcome<T, 8>(a, b));
  compare(outcome<T, 24>(a, b));
  compare(outcome<T, 72>(a, b));
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    for (const char* name : {"product", "quotient", "abs"}) {
      INFO(name);
      int wrong = 0;
      const tf::HostTensor& x = first.at(name);
      const tf::HostTensor& y = first.at("wide_" + std::string(name));
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += !same(x[i].real, y[i].real) || !same(x[i].imaginary, y[i].imaginary);
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("kernels of complex numbers in rows that no vector divides") { check_types<3, 77>(); }
TEST_CASE("kernels of complex numbers in short rows") { check_types<41, 5>(); }
TEST_CASE("kernels of complex numbers in long columns") { check_types<300, 3>(); }
TEST_CASE("kernels of complex numbers in single rows") { check_types<1, 1027>(); }

TEST_CASE("an element has the same bits wherever it stands in a complex tensor") {
  check_places<std::complex<float>>();
  check_places<std::complex<double>>();
}
