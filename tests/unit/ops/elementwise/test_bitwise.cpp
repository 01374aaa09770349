// SPDX-License-Identifier: Apache-2.0

// Operations on bits, against loops over bits: of every pair of 8-bit numbers, and of those numbers
// at which wider types overflow.

#include "support/check_integers.hpp"

namespace {

namespace tf = typeflow;
using test::integers::count;
using test::integers::numbers;
using test::integers::Wide;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto a = tf::placeholder<T, count<T>, 1>(g, "a");
  auto b = tf::placeholder<T, count<T>>(g, "b");
  bitwise_and(a, b).named("bitwise_and");
  bitwise_or(a, b).named("bitwise_or");
  bitwise_xor(a, b).named("bitwise_xor");
  invert(a).named("invert");
  left_shift(a, b).named("left_shift");
  right_shift(a, b).named("right_shift");
}

/// Of two's complement numbers, as wide as one likes.
bool bit(Wide x, int i) { return (x >> i) % 2 != 0; }

/// The number whose bits are f(i), wrapped.
template <class T, class F>
T from_bits(const F& f) {
  std::uint64_t x = 0;
  for (int i = 0; i < static_cast<int>(8 * sizeof(T)); ++i) {
    if (f(i)) x |= std::uint64_t{1} << i;
  }
  return static_cast<T>(x);
}

template <class T, class F>
void check_pairs(const std::string& name, const F& reference) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor a = numbers<T>(test::dims({count<T>, 1}));
  const tf::HostTensor b = numbers<T>(test::dims({count<T>}));
  const bool unary = name == "invert";
  tf::HostTensor y =
      tf::host_tensor(a.dtype, test::dims({count<T>, unary ? 1 : tf::Extent{count<T>}}));
  const std::int64_t columns = y.dims[1];
  for (std::int64_t i = 0; i < y.size(); ++i) {
    y[i] = tf::number_from(reference(tf::to<T>(a[i / columns]), tf::to<T>(b[i % columns])));
  }
  test::check_result<functions<T>>(name, {{"a", a}, {"b", b}}, y, 0);
}
template <class F>
void check(const std::string& name, const F& reference) {
  check_pairs<std::int8_t>(name, reference);
  check_pairs<std::uint8_t>(name, reference);
  check_pairs<std::int32_t>(name, reference);
  check_pairs<std::uint64_t>(name, reference);
}

}  // namespace

TEST_CASE("bitwise_and: values") {
  check("bitwise_and", []<class T>(T a, T b) {
    return from_bits<T>([&](int i) { return bit(a, i) && bit(b, i); });
  });
}
TEST_CASE("bitwise_or: values") {
  check("bitwise_or", []<class T>(T a, T b) {
    return from_bits<T>([&](int i) { return bit(a, i) || bit(b, i); });
  });
}
TEST_CASE("bitwise_xor: values") {
  check("bitwise_xor", []<class T>(T a, T b) {
    return from_bits<T>([&](int i) { return bit(a, i) != bit(b, i); });
  });
}
TEST_CASE("invert: values") {
  check("invert", []<class T>(T a, T) { return from_bits<T>([&](int i) { return !bit(a, i); }); });
}
TEST_CASE("left_shift: values") {
  check("left_shift", []<class T>(T a, T b) {
    const Wide count = b;
    if (count < 0 || count >= Wide{8 * sizeof(T)}) return T(0);
    return from_bits<T>([&](int i) { return i >= count && bit(a, i - static_cast<int>(count)); });
  });
}
TEST_CASE("right_shift: values") {
  check("right_shift", []<class T>(T a, T b) {
    const Wide count = b;
    const int bits = 8 * sizeof(T);
    const int moved = count < 0 || count >= bits ? bits : static_cast<int>(count);
    return from_bits<T>([&](int i) { return bit(a, i + moved); });
  });
}
