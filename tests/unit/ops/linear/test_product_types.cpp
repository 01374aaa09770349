// SPDX-License-Identifier: Apache-2.0

// Matrix products and einsum of each type of numbers: integers wrap around, 16-bit numbers are
// multiplied and added up in float.

#include <complex>
#include <cstdint>
#include <type_traits>

#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using test::List;

template <class T>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, 3, 7>(g, "a");
  auto b = tf::placeholder<T, 7, 5>(g, "b");
  matmul(a, b).named("matmul");
  tf::matmul<tf::transpose_b>(a, transpose(b)).named("transposed");
  tf::einsum<"ij,jk->ki">(a, b).named("einsum");
  tf::einsum<"ij->j">(a).named("columns");
}

template <class T>
void check_products() {
  INFO(tf::name_of(tf::dtype_of<T>));
  using Wide = std::conditional_t<
      std::is_integral_v<T>, std::uint64_t,
      std::conditional_t<tf::is_complex(tf::dtype_of<T>), std::complex<double>, double>>;
  List<T> list;
  if constexpr (std::is_integral_v<T>) {
    list = test::ends<T>();
  } else if constexpr (tf::is_complex(tf::dtype_of<T>)) {
    list = {T(0, 1), T(2, -1), T(-1, 0), T(0.5, 0), T(1, 1)};
  } else {  // whose sums need more bits than the type has
    list = {T(0.5f), T(-2), T(1), T(-16), T(15), T(4.5f)};
  }
  const tf::HostTensor a = test::chosen(list, test::dims({3, 7}), 1);
  const tf::HostTensor b = test::chosen(list, test::dims({7, 5}), 2);
  const auto at = [](const tf::HostTensor& x, std::int64_t i) {
    return tf::detail::convert_element<Wide>(tf::to<T>(x[i]));
  };
  const auto narrow = [](Wide x) { return tf::number_from(tf::detail::convert_element<T>(x)); };
  tf::HostTensor product = tf::host_tensor(a.dtype, test::dims({3, 5}));
  tf::HostTensor turned = tf::host_tensor(a.dtype, test::dims({5, 3}));
  tf::HostTensor columns = tf::host_tensor(a.dtype, test::dims({7}));
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t k = 0; k < 5; ++k) {
      Wide total = 0;
      for (std::int64_t j = 0; j < 7; ++j) total += at(a, 7 * i + j) * at(b, 5 * j + k);
      product[5 * i + k] = turned[3 * k + i] = narrow(total);
    }
  }
  for (std::int64_t j = 0; j < 7; ++j) columns[j] = narrow(at(a, j) + at(a, 7 + j) + at(a, 14 + j));
  const tf::HostTensors feeds{{"a", a}, {"b", b}};
  const test::Outcome expected{
      {"matmul", product}, {"transposed", product}, {"einsum", turned}, {"columns", columns}};
  tf::Graph graph;
  products<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  test::Kernels<products<T>> kernels;
  const test::Outcome compiled = kernels.run(feeds);
  for (const auto& [name, value] : expected) {
    test::check_equal_bits(name + ", interpreted", interpreted.at(name), value);
    test::check_equal_bits(name + ", compiled", compiled.at(name), value);
  }
}

}  // namespace

TEST_CASE("products of integers wrap around") {
  check_products<std::int8_t>();
  check_products<std::int16_t>();
  check_products<std::int32_t>();
  check_products<std::int64_t>();
  check_products<std::uint8_t>();
  check_products<std::uint16_t>();
  check_products<std::uint32_t>();
  check_products<std::uint64_t>();
}
TEST_CASE("products of floating-point and complex numbers") {
  check_products<tf::bfloat16>();
  check_products<tf::float16>();
  check_products<float>();
  check_products<double>();
  check_products<std::complex<float>>();
  check_products<std::complex<double>>();
}
