// SPDX-License-Identifier: Apache-2.0

// Reductions of integers, which wrap around, and of 16-bit and complex numbers.

#include <cstdint>

#include "support/check_reductions.hpp"

namespace {

namespace tf = typeflow;
using namespace test;  // references: sum_of, prod_of...
using tf::DType;

template <class T>
constexpr void reductions(tf::Graph& g) {
  auto x = tf::placeholder<T, 7, 19>(g, "x");
  tf::sum<0>(x).named({"sum", 0});
  tf::sum<1>(x).named({"sum", 1});
  tf::prod<0>(x).named({"prod", 0});
  tf::prod<1>(x).named({"prod", 1});
  tf::max<0>(x).named({"max", 0});
  tf::max<1>(x).named({"max", 1});
  tf::min<0>(x).named({"min", 0});
  tf::min<1>(x).named({"min", 1});
  tf::argmax<0>(x).named({"argmax", 0});
  tf::argmax<1>(x).named({"argmax", 1});
}

/// What wraps around, computed in T.
template <class T>
double wrapped_sum(const Elements& x) {
  T total = 0;
  for (const double e : x) total = static_cast<T>(total + static_cast<T>(e));
  return static_cast<double>(total);
}
template <class T>
double wrapped_prod(const Elements& x) {
  T total = 1;
  for (const double e : x) {
    const auto product =
        static_cast<std::uint64_t>(total) * static_cast<std::uint64_t>(static_cast<T>(e));
    total = static_cast<T>(product);
  }
  return static_cast<double>(total);
}

template <class T>
void check_type(double tolerance = 0) {
  INFO(tf::name_of(tf::dtype_of<T>));
  constexpr DType type = tf::dtype_of<T>;
  tf::HostTensor x = tensor_with_ties(type, test::dims({7, 19}));
  Fold sum = sum_of;
  Fold prod = prod_of;
  if constexpr (tf::is_integer(type)) {
    sum = wrapped_sum<T>;
    prod = wrapped_prod<T>;
  } else {
    x = test::map(x, [](double v) { return v / 2 + 1.25; });  // products that fit
  }
  test::Outcome out;
  for (int axis = 0; axis < 2; ++axis) {
    const auto expect = [&](const char* name, DType result, const Fold& f) {
      out[name + ("_" + std::to_string(axis))] = folded(x, 1u << axis, false, result, f);
    };
    expect("sum", type, sum);
    expect("prod", type, prod);
    expect("max", type, max_of);
    expect("min", type, min_of);
    expect("argmax", DType::int32, argmax_of);
  }
  test::check_values<reductions<T>>({{"x", x}}, out, tolerance);
}

constexpr void complex_numbers(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<float>, 3, 2>(g, "z");
  tf::prod<0>(z).named("prod");
  tf::sum<1>(z).named("sum");
}

}  // namespace

TEST_CASE("reductions of integers wrap around") {
  check_type<std::int8_t>();
  check_type<std::int16_t>();
  check_type<std::int32_t>();
  check_type<std::int64_t>();
  check_type<std::uint8_t>();
  check_type<std::uint16_t>();
  check_type<std::uint32_t>();
  check_type<std::uint64_t>();
  test::check_threads<reductions<std::int16_t>>(1);
}

TEST_CASE("reductions of 16-bit numbers add up in float") {
  check_type<tf::bfloat16>(0x1p-7);
  check_type<tf::float16>(0x1p-10);
  test::check_threads<reductions<tf::float16>>(1);
}

TEST_CASE("sums and products of complex numbers") {
  tf::HostTensor z = test::tensor(DType::complex64, {3, 2}, {1, 0, 2, 1, -1, 3});
  for (std::int64_t i = 0; i < 6; ++i) z[i].imaginary = static_cast<double>(i % 3) - 1;
  // 1-i, 0; 2+i, 1-i; -1, 3+i
  const test::Outcome got = test::Kernels<complex_numbers>().run({{"z", z}});
  const auto check = [](const tf::Number& n, double real, double imaginary) {
    CHECK(n.real == real);
    CHECK(n.imaginary == imaginary);
  };
  check(got.at("prod")[0], -3, 1);  // (1-i)(2+i)(-1)
  check(got.at("prod")[1], 0, 0);
  check(got.at("sum")[0], 1, -1);
  check(got.at("sum")[1], 3, 0);
  check(got.at("sum")[2], 2, 1);
}
