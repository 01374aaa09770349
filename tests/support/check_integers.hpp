// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elementwise functions of an integer type, against exact arithmetic in 128 bits that is then
// wrapped: of every pair of 8-bit numbers, and of those numbers at which wider types overflow.

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "support/check_elementwise.hpp"

namespace test::integers {

using tf::DType;
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

/// Numbers of each type that are tested with one another.
template <class T>
inline constexpr tf::Extent count = sizeof(T) == 1 ? 256 : 83;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto a = tf::placeholder<T, count<T>, 1>(g, "a");
  auto b = tf::placeholder<T, count<T>>(g, "b");
  (a + b).named("add");
  (a - b).named("sub");
  (a * b).named("mul");
  (a / b).named("div");
  tf::floordiv(a, b).named("floordiv");
  tf::mod(a, b).named("mod");
  tf::pow(a, b).named("pow");
  tf::maximum(a, b).named("maximum");
  tf::minimum(a, b).named("minimum");
  tf::squared_difference(a, b).named("squared_difference");
  tf::clip_by_value(a, 3, b).named("clip_by_value");
  tf::add_n(a, a, a).named("add_n");
  where(less(a, b), a, b + 1).named("where");
  equal(a, b).named("equal");
  not_equal(a, b).named("not_equal");
  less(a, b).named("less");
  less_equal(a, b).named("less_equal");
  greater(a, b).named("greater");
  greater_equal(a, b).named("greater_equal");
  neg(a).named("neg");
  abs(a).named("abs");
  sign(a).named("sign");
  square(a).named("square");
  relu(a).named("relu");
  relu6(a).named("relu6");
}

template <class T>
tf::HostTensor numbers(const tf::Dims& shape) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> list;
  if (sizeof(T) == 1) {
    for (int i = 0; i < 256; ++i) list.push_back(static_cast<T>(i));
  } else {
    for (int i = 0; i < 12; ++i) {
      list.push_back(static_cast<T>(Limits::min() + static_cast<T>(i)));
      list.push_back(static_cast<T>(Limits::max() - static_cast<T>(i)));
      list.push_back(static_cast<T>(i));
      list.push_back(static_cast<T>(-i));
      list.push_back(static_cast<T>(Limits::max() / 2 - 5 + static_cast<T>(i)));
    }
    test::Random random(sizeof(T));
    while (list.size() < static_cast<std::size_t>(count<T>)) {
      list.push_back(static_cast<T>(random.bits() >> random.below(64)));
    }
  }
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x[i] = tf::number_from(list[static_cast<std::size_t>(i)]);
  }
  return x;
}

inline Wide floor_quotient(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline std::uint64_t wrapped_power(std::uint64_t a, std::uint64_t b) {
  if (b == 0) return 1;
  const std::uint64_t half = wrapped_power(a, b / 2);
  return half * half * (b % 2 == 0 ? 1 : a);
}
/// Integer powers with negative exponents are the whole part of the quotient.
inline Wide power(Wide a, Wide b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  return static_cast<Wide>(
      wrapped_power(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
inline Wide product(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}

template <class T>
void check_type() {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor a = numbers<T>(test::dims({count<T>, 1}));
  const tf::HostTensor b = numbers<T>(test::dims({count<T>}));
  const tf::HostTensors feeds{{"a", a}, {"b", b}};
  tf::Graph graph;
  functions<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  test::Kernels<functions<T>> kernels;
  const test::Outcome compiled = kernels.run(feeds);
  const auto compare = [&](const std::string& name, const tf::HostTensor& expected) {
    test::check_ulps(name + ", interpreted", interpreted.at(name), expected, 0);
    test::check_ulps(name + ", compiled", compiled.at(name), expected, 0);
  };
  const auto pairs = [&](const std::string& name, Wide (*f)(Wide, Wide), bool predicate = false) {
    tf::HostTensor y =
        tf::host_tensor(predicate ? DType::boolean : a.dtype, test::dims({count<T>, count<T>}));
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const Wide exact = f(Wide{tf::to<T>(a[i / count<T>])}, Wide{tf::to<T>(b[i % count<T>])});
      y[i] = predicate ? tf::number_from(exact != 0) : tf::number_from(static_cast<T>(exact));
    }
    compare(name, y);
  };
  const auto predicates = [&](const std::string& name, Wide (*f)(Wide, Wide)) {
    pairs(name, f, true);
  };
  const auto singles = [&](const std::string& name, Wide (*f)(Wide)) {
    tf::HostTensor y = a;
    for (std::int64_t i = 0; i < y.size(); ++i) {
      y[i] = tf::number_from(static_cast<T>(f(Wide{tf::to<T>(a[i])})));
    }
    compare(name, y);
  };
  pairs("add", [](Wide x, Wide y) { return x + y; });
  pairs("sub", [](Wide x, Wide y) { return x - y; });
  pairs("mul", product);
  pairs("div", [](Wide x, Wide y) { return y == 0 ? 0 : x / y; });
  pairs("floordiv", floor_quotient);
  pairs("mod", [](Wide x, Wide y) { return x - floor_quotient(x, y) * y; });
  pairs("pow", power);
  pairs("maximum", [](Wide x, Wide y) { return x > y ? x : y; });
  pairs("minimum", [](Wide x, Wide y) { return x > y ? y : x; });
  pairs("squared_difference", [](Wide x, Wide y) { return product(x - y, x - y); });
  pairs("clip_by_value", [](Wide x, Wide y) {
    const Wide lower = x > y ? y : x;
    return lower < 3 ? Wide{3} : lower;
  });
  pairs("where", [](Wide x, Wide y) { return x < y ? x : y + 1; });
  predicates("equal", [](Wide x, Wide y) { return Wide{x == y}; });
  predicates("not_equal", [](Wide x, Wide y) { return Wide{x != y}; });
  predicates("less", [](Wide x, Wide y) { return Wide{x < y}; });
  predicates("less_equal", [](Wide x, Wide y) { return Wide{x <= y}; });
  predicates("greater", [](Wide x, Wide y) { return Wide{x > y}; });
  predicates("greater_equal", [](Wide x, Wide y) { return Wide{x >= y}; });
  singles("add_n", [](Wide x) { return 3 * x; });
  singles("neg", [](Wide x) { return -x; });
  singles("abs", [](Wide x) { return x < 0 ? -x : x; });
  singles("sign", [](Wide x) { return Wide{(x > 0) - (x < 0)}; });
  singles("square", [](Wide x) { return product(x, x); });
  singles("relu", [](Wide x) { return x < 0 ? Wide{0} : x; });
  singles("relu6", [](Wide x) { return x < 0 ? Wide{0} : x > 6 ? Wide{6} : x; });
}

}  // namespace test::integers
