// SPDX-License-Identifier: Apache-2.0

// Sums, products and running ones of each element type, at the ends of its range.

#include <complex>
#include <cstdint>
#include <type_traits>

#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using test::List;
constexpr tf::Extent rows = 5;
constexpr tf::Extent columns = 21;

template <class T>
constexpr void scans(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, columns>(g, "x");
  sum<1>(x).named("sum");
  prod<1>(x).named("prod");
  tf::cumsum<1>(x).named("cumsum");
  tf::cumprod<1>(x, {.exclusive = true, .reverse = true}).named("cumprod");
}

/// Sums of integers wrap around; of 16-bit numbers they add up in float, here exactly.
template <class T>
void check_scans() {
  INFO(tf::name_of(tf::dtype_of<T>));
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, double>;
  List<T> list = test::ends<T>();
  if constexpr (!std::is_integral_v<T>) list = {T(0.5f), T(-2), T(1), T(-1), T(0.25f), T(4), T(-1)};
  const tf::HostTensor x = test::chosen(list, test::dims({rows, columns}), 4);
  List<T> sum, prod, cumsum, cumprod;
  const auto narrow = [](Sum total) { return static_cast<T>(total); };
  for (std::int64_t r = 0; r < rows; ++r) {
    const List<T> row = test::row_of<T>(x, r);
    Sum total = 0;
    for (const T e : row) {
      total += static_cast<Sum>(e);
      cumsum.push_back(narrow(total));
    }
    sum.push_back(narrow(total));
    Sum product = 1;
    List<T> products;
    for (auto e = row.rbegin(); e != row.rend(); ++e) {
      products.push_back(narrow(product));
      product *= static_cast<Sum>(*e);
    }
    cumprod.insert(cumprod.end(), products.rbegin(), products.rend());
    prod.push_back(narrow(product));
  }
  test::check_exact<scans<T>>({{"x", x}}, {{"sum", test::tensor_of(sum, {rows})},
                                           {"prod", test::tensor_of(prod, {rows})},
                                           {"cumsum", test::tensor_of(cumsum, {rows, columns})},
                                           {"cumprod", test::tensor_of(cumprod, {rows, columns})}});
}

/// Powers of i and small whole numbers: exact.
template <class T>
void check_complex_scans() {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor x = test::chosen(List<T>{T(0, 1), T(0, -1), T(1, 1), T(-1, 0), T(1, 0)},
                                        test::dims({rows, columns}), 5);
  tf::Graph graph;
  scans<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, {{"x", x}});
  test::Kernels<scans<T>> kernels;
  for (const test::Outcome& got :
       {kernels.run({{"x", x}}), test::Outcome(interpreted.begin(), interpreted.end())}) {
    const auto element = [&](const char* name, std::int64_t i) {
      return tf::to<T>(got.at(name)[i]);
    };
    for (std::int64_t r = 0; r < rows; ++r) {
      const List<T> row = test::row_of<T>(x, r);
      T total(0);
      T product(1);
      for (std::int64_t i = 0; i < columns; ++i) {
        total += row[static_cast<std::size_t>(i)];
        CHECK(element("cumsum", r * columns + i) == total);
      }
      for (std::int64_t i = columns - 1; i >= 0; --i) {
        CHECK(element("cumprod", r * columns + i) == product);
        product *= row[static_cast<std::size_t>(i)];
      }
      CHECK(element("sum", r) == total);
      CHECK(element("prod", r) == product);
    }
  }
}

}  // namespace

TEST_CASE("sums, products and running ones at the ends of the integer types") {
  check_scans<std::int8_t>();
  check_scans<std::int16_t>();
  check_scans<std::int32_t>();
  check_scans<std::int64_t>();
  check_scans<std::uint8_t>();
  check_scans<std::uint16_t>();
  check_scans<std::uint32_t>();
  check_scans<std::uint64_t>();
}
TEST_CASE("running sums and products of 16-bit numbers") {
  check_scans<tf::bfloat16>();
  check_scans<tf::float16>();
}
TEST_CASE("running sums and products of complex numbers") {
  check_complex_scans<std::complex<float>>();
  check_complex_scans<std::complex<double>>();
}
