// SPDX-License-Identifier: Apache-2.0

// Casts between all element types.

#include <array>
#include <cmath>
#include <complex>
#include <string>

#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

using Row = tf::Shape<21>;
using C = std::complex<float>;
using Z = std::complex<double>;

constexpr tf::Label type_labels[tf::dtype_count] = {
    {"to", 0}, {"to", 1}, {"to", 2},  {"to", 3},  {"to", 4},  {"to", 5},  {"to", 6}, {"to", 7},
    {"to", 8}, {"to", 9}, {"to", 10}, {"to", 11}, {"to", 12}, {"to", 13}, {"to", 14}};

/// x as each of the element types.
template <class T>
constexpr void casts(tf::Graph& g) {
  auto x = test::input<T, Row>(g, "x");
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (tf::cast<tf::element_of<static_cast<tf::DType>(I)>>(x).named(type_labels[I]), ...);
  }(std::make_integer_sequence<int, tf::dtype_count>{});
}

/// Numbers that a cast has to think about.
constexpr double numbers[21] = {0,     1,     -1,   2.5,   -2.5,    127,          128,
                                -128,  -129,  255,  256,   65535.6, 1e10,         -1e10,
                                0.499, -0.75, 3e38, 1e300, 40000,   1.0009765625, 7};

/// An integer of `bits` bits that wraps around.
std::int64_t wrap(std::int64_t x, int bits, bool is_signed) {
  if (bits == 64) return x;
  const std::int64_t span = std::int64_t{1} << bits;
  std::int64_t r = ((x % span) + span) % span;
  if (is_signed && r >= span / 2) r -= span;
  return r;
}

/// What the documentation says of cast: from a number of type `from` to one of type `to`.
tf::Number expected(const tf::Number& x, tf::DType from, tf::DType to) {
  const bool is_real = tf::is_floating(from) || tf::is_complex(from);
  if (to == tf::DType::boolean) {
    return {0, is_real ? (x.real != 0 || x.imaginary != 0) : x.integer != 0};
  }
  if (tf::is_integer(to)) {
    const int bits = 8 * tf::size_of(to);
    const bool is_signed = !tf::is_unsigned(to);
    if (!is_real) return {0, wrap(x.integer, bits, is_signed)};
    if (std::isnan(x.real)) return {};
    const double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
    const double high = std::ldexp(1.0, is_signed ? bits - 1 : bits);
    if (x.real <= low) return {0, static_cast<std::int64_t>(low)};
    if (x.real >= high) {
      return {0, is_signed ? static_cast<std::int64_t>(~std::uint64_t{0} >> (65 - bits))
                           : static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits))};
    }
    const double whole = std::trunc(x.real);
    return {0, whole >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                               : static_cast<std::int64_t>(whole)};
  }
  long double real = x.real;
  if (!is_real) {
    real = from == tf::DType::uint64
               ? static_cast<long double>(static_cast<std::uint64_t>(x.integer))
               : static_cast<long double>(x.integer);
  }
  switch (to) {
    case tf::DType::bfloat16:
      return {static_cast<float>(tf::bfloat16(static_cast<double>(real))), 0};
    case tf::DType::float16:
      return {static_cast<float>(tf::float16(static_cast<double>(real))), 0};
    case tf::DType::float32:
      return {static_cast<float>(real), 0};
    case tf::DType::float64:
      return {static_cast<double>(real), 0};
    case tf::DType::complex64:
      return {static_cast<float>(real), 0, static_cast<float>(x.imaginary)};
    default:
      return {static_cast<double>(real), 0, x.imaginary};
  }
}

bool same(const tf::Number& a, const tf::Number& b) {
  const auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return equal(a.real, b.real) && a.integer == b.integer && equal(a.imaginary, b.imaginary);
}

template <class T>
tf::HostTensor cast_input() {
  constexpr tf::DType type = tf::dtype_of<T>;
  tf::HostTensor x = tf::host_tensor(type, Row::dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double v = numbers[i];
    if (tf::is_floating(type) || tf::is_complex(type)) {
      x.set(i, i == 20 ? std::nan("") : v);
      if (tf::is_complex(type)) x[i].imaginary = i % 3 == 0 ? -0.5 : 0;
    } else if (std::abs(v) < 1e18) {
      x.set(i, v);
      if (type == tf::DType::uint64 && i == 20) x[i].integer = -1;  // the largest
    }
  }
  return x;
}

template <class T>
void check_casts() {
  constexpr tf::DType from = tf::dtype_of<T>;
  const tf::HostTensors feeds{{"x", cast_input<T>()}};
  const tf::HostTensor& x = feeds.at("x");
  test::Kernels<casts<T>> kernels;
  const test::Outcome got = kernels.run(feeds);
  tf::Graph graph;
  casts<T>(graph);
  tf::Interpreter interpreter(graph);
  for (int i = 0; i < tf::dtype_count; ++i) {
    const auto to = static_cast<tf::DType>(i);
    if (to == from) continue;  // the tensor itself
    const std::string name = "to_" + std::to_string(i);
    INFO("from ", tf::name_of(from), " to ", tf::name_of(to));
    const tf::HostTensor interpreted = interpreter.run({name}, feeds)[0];
    for (std::int64_t k = 0; k < x.size(); ++k) {
      INFO("element ", k, ": ", x.value(k));
      const tf::Number want = expected(x[k], from, to);
      CHECK(same(interpreted[k], want));
      CHECK(same(got.at(name)[k], want));
    }
  }
}

}  // namespace

TEST_CASE("cast: values") {
  check_casts<bool>();
  check_casts<std::int8_t>();
  check_casts<std::int16_t>();
  check_casts<std::int32_t>();
  check_casts<std::int64_t>();
  check_casts<std::uint8_t>();
  check_casts<std::uint16_t>();
  check_casts<std::uint32_t>();
  check_casts<std::uint64_t>();
  check_casts<tf::bfloat16>();
  check_casts<tf::float16>();
  check_casts<float>();
  check_casts<double>();
  check_casts<C>();
  check_casts<Z>();
}
