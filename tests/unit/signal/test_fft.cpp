// SPDX-License-Identifier: Apache-2.0

// Fourier transforms against their definition, by plain loops of doubles.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "support/allocations.hpp"
#include "typeflow/interpret/interpret.hpp"
#include "typeflow/signal.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

template <class T>
using Numbers = std::vector<std::complex<T>>;

/// Lines of n elements that are `inner` apart.
template <class T>
Numbers<double> defined(const Numbers<T>& x, std::size_t n, std::size_t inner, int sign) {
  Numbers<double> y(x.size());
  Numbers<double> roots(n);
  for (std::size_t k = 0; k < n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    roots[k] = {std::cos(angle), sign * std::sin(angle)};
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t k = i / inner % n;
    for (std::size_t j = 0; j < n; ++j) {
      y[i] += std::complex<double>(x[i - (k - j) * inner]) * roots[j * k % n];
    }
    if (sign > 0) y[i] /= static_cast<double>(n);
  }
  return y;
}

/// The largest difference, as a share of the largest number.
template <class T>
double difference(const std::complex<T>* y, const Numbers<double>& expected) {
  double most = 0;
  double size = 1e-300;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(std::complex<double>(y[i]) - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  return most / size;
}

template <class T>
Numbers<T> drawn(std::size_t count) {
  Numbers<T> x(count);
  std::uint32_t state = 1;
  const auto draw = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<T>(state >> 8) / static_cast<T>(1 << 23) - 1;
  };
  for (auto& z : x) {
    const T re = draw();
    z = {re, draw()};
  }
  return x;
}

/// Along a time axis of any length, which is not the last one in the second case.
template <class T>
constexpr void lines(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<T>, tf::batch, tf::symbol<"time">>(g, "z");
  tf::fft(z).named("forward");
  tf::ifft(z).named("back");
}

/// Lines of all kinds of lengths: powers, products, primes with passes of their own and without.
template <class T, bool Forward>
void check_lengths(double tolerance) {
  tf::Variables variables;
  tf::Session<lines<T>> session(variables, {.threads = 2});
  for (const std::int64_t n :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 30, 31, 37, 97, 128, 148, 243, 1000, 1009, 4096}) {
    for (const std::int64_t count : {1, 3, 33}) {
      CAPTURE(n);
      CAPTURE(count);
      if (n > 1000 && count > 3) continue;
      const Numbers<T> z = drawn<T>(static_cast<std::size_t>(n * count));
      const Numbers<double> expected = defined(z, static_cast<std::size_t>(n), 1, Forward ? -1 : 1);
      const auto feed = tf::feed<"z">(z.data(), {count, n});
      if constexpr (Forward) {
        CHECK(difference(session.template run<"forward">(feed).data(), expected) <= tolerance);
      } else {
        CHECK(difference(session.template run<"back">(feed).data(), expected) <= tolerance);
      }
    }
  }
}

template <class T>
constexpr void planes(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<T>, tf::batch, 6, tf::symbol<"time">>(g, "z");
  tf::fft2d(z).named("forward");
  tf::ifft2d(z).named("back");
}

template <class T>
constexpr void several_axes(tf::Graph& g) {
  auto z = tf::placeholder<std::complex<T>, 2, 3, 5, 8>(g, "z");
  auto x = tf::placeholder<T, 3, 5, 7>(g, "x");
  tf::fft2d(z).named("fft2d");
  tf::ifft2d(z).named("ifft2d");
  tf::fft3d(z).named("fft3d");
  tf::ifft3d(z).named("ifft3d");
  tf::rfft(x).named("rfft");
  tf::rfft2d(x).named("rfft2d");
  tf::rfft3d(x).named("rfft3d");
  tf::irfft<7>(tf::rfft(x)).named("again");
  tf::irfft2d<7>(tf::rfft2d(x)).named("again2d");
  tf::irfft3d<7>(tf::rfft3d(x)).named("again3d");
  tf::irfft(z).named("irfft");      // of 14 elements
  tf::irfft<3>(z).named("irfft3");  // of the first two
  tf::irfft<1>(z).named("irfft1");
  tf::irfft2d(z).named("irfft2d");
  tf::irfft3d(z).named("irfft3d");
  tf::fft(tf::placeholder<std::complex<T>, 3, 0>(g, "empty")).named("of_none");
}

Numbers<double> over(Numbers<double> x, const std::vector<std::size_t>& extents, int axes,
                     int sign) {
  std::size_t inner = 1;
  for (std::size_t k = extents.size(); axes > 0; --axes) {
    --k;
    x = defined(x, extents[k], inner, sign);
    inner *= extents[k];
  }
  return x;
}
template <class T>
Numbers<double> wide(const Numbers<T>& x) {
  return {x.begin(), x.end()};
}

/// N real numbers from the first half of a spectrum, by the formula.
template <class T>
std::vector<double> back(const Numbers<T>& z, std::size_t kept, std::size_t n) {
  std::vector<double> y;
  for (std::size_t line = 0; line < z.size(); line += kept) {
    for (std::size_t t = 0; t < n; ++t) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const bool mirrored = k > n / 2;
        std::complex<double> c(z[line + (mirrored ? n - k : k)]);
        if (mirrored) c = std::conj(c);
        const double angle =
            2 * std::numbers::pi * static_cast<double>(k * t % n) / static_cast<double>(n);
        sum += c.real() * std::cos(angle) - c.imag() * std::sin(angle);
      }
      y.push_back(sum / static_cast<double>(n));
    }
  }
  return y;
}

/// A session of several_axes, its feeds, and checks of its results.
template <class T>
struct Axes {
  double tolerance;
  tf::Variables variables;
  tf::Session<several_axes<T>> session{variables, {.threads = 1}};
  Numbers<T> z = drawn<T>(240);  // (2,3,5,8)
  std::vector<T> x;              // (3,5,7)

  explicit Axes(double most) : tolerance(most) {
    for (const auto& number : drawn<T>(105)) x.push_back(number.real());
  }
  auto of_z() const { return tf::feed<"z">(z); }
  auto of_x() const { return tf::feed<"x">(x); }

  void check(const auto& y, const Numbers<double>& expected) const {
    REQUIRE(y.size() == expected.size());
    CHECK(difference(y.data(), expected) <= tolerance);
  }
  void check(const auto& y, const std::vector<double>& expected) const {
    REQUIRE(y.size() == expected.size());
    double most = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(y.data()[i]) - expected[i]));
    }
    CHECK(most <= 4 * tolerance);
  }
  std::vector<double> wide_x() const { return {x.begin(), x.end()}; }
  Numbers<double> transformed_z(int axes, int sign) const {
    return over(wide(z), {2, 3, 5, 8}, axes, sign);
  }
  /// The first half of x's spectrum.
  Numbers<double> half_of_x(int axes) const {
    const Numbers<double> all = over({x.begin(), x.end()}, {3, 5, 7}, axes, -1);
    Numbers<double> half;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 7 < 4) half.push_back(all[i]);
    }
    return half;
  }
  /// The first elements of z's lines.
  Numbers<T> first_of_z(std::size_t n) const {
    Numbers<T> part;
    for (std::size_t i = 0; i < z.size(); ++i) {
      if (i % 8 < n) part.push_back(z[i]);
    }
    return part;
  }
};

/// Calls f for both widths.
template <class F>
void for_both(const F& f) {
  Axes<float> single(1e-6);
  f(single);
  Axes<double> wide(2e-15);
  f(wide);
}

}  // namespace

TEST_CASE("fft: values") {
  check_lengths<float, true>(2e-6);
  check_lengths<double, true>(6e-15);
  for_both([](auto& a) {
    CHECK(a.session.template run<"of_none">(tf::feed<"empty">(decltype(a.z){})).size() == 0);
  });
}
TEST_CASE("ifft: values") {
  check_lengths<float, false>(2e-6);
  check_lengths<double, false>(6e-15);
}
TEST_CASE("fft2d: values") {
  for_both(
      [](auto& a) { a.check(a.session.template run<"fft2d">(a.of_z()), a.transformed_z(2, -1)); });
}
TEST_CASE("ifft2d: values") {
  for_both(
      [](auto& a) { a.check(a.session.template run<"ifft2d">(a.of_z()), a.transformed_z(2, 1)); });
}
TEST_CASE("fft3d: values") {
  for_both(
      [](auto& a) { a.check(a.session.template run<"fft3d">(a.of_z()), a.transformed_z(3, -1)); });
}
TEST_CASE("ifft3d: values") {
  for_both(
      [](auto& a) { a.check(a.session.template run<"ifft3d">(a.of_z()), a.transformed_z(3, 1)); });
}
TEST_CASE("rfft: values") {
  for_both([](auto& a) { a.check(a.session.template run<"rfft">(a.of_x()), a.half_of_x(1)); });
}
TEST_CASE("rfft2d: values") {
  for_both([](auto& a) { a.check(a.session.template run<"rfft2d">(a.of_x()), a.half_of_x(2)); });
}
TEST_CASE("rfft3d: values") {
  for_both([](auto& a) { a.check(a.session.template run<"rfft3d">(a.of_x()), a.half_of_x(3)); });
}
TEST_CASE("irfft: values") {
  for_both([](auto& a) {
    a.check(a.session.template run<"again">(a.of_x()), a.wide_x());
    a.check(a.session.template run<"irfft">(a.of_z()), back(a.z, 8, 14));
    a.check(a.session.template run<"irfft3">(a.of_z()), back(a.first_of_z(2), 2, 3));
    a.check(a.session.template run<"irfft1">(a.of_z()), back(a.first_of_z(1), 1, 1));
  });
}
TEST_CASE("irfft2d: values") {
  for_both([](auto& a) {
    a.check(a.session.template run<"again2d">(a.of_x()), a.wide_x());
    const Numbers<double> others = defined(wide(a.z), 5, 8, 1);  // over the other axis first
    a.check(a.session.template run<"irfft2d">(a.of_z()), back(others, 8, 14));
  });
}
TEST_CASE("irfft3d: values") {
  for_both([](auto& a) {
    a.check(a.session.template run<"again3d">(a.of_x()), a.wide_x());
    const Numbers<double> others = defined(defined(wide(a.z), 5, 8, 1), 3, 40, 1);
    a.check(a.session.template run<"irfft3d">(a.of_z()), back(others, 8, 14));
  });
}

template <class T>
void check_planes(double tolerance) {
  tf::Variables variables;
  tf::Session<planes<T>> session(variables, {.threads = 2});
  for (const std::int64_t n : {7, 8, 16, 32, 40, 75}) {
    for (const std::int64_t count : {1, 5}) {
      CAPTURE(n);
      CAPTURE(count);
      const Numbers<T> z = drawn<T>(static_cast<std::size_t>(count * 6 * n));
      const auto width = static_cast<std::size_t>(n);
      const std::vector<std::size_t> extents = {static_cast<std::size_t>(count), 6, width};
      const auto feed = tf::feed<"z">(z.data(), {count, 6, n});
      CHECK(difference(session.template run<"forward">(feed).data(),
                       over(wide(z), extents, 2, -1)) <= tolerance);
      CHECK(difference(session.template run<"back">(feed).data(), over(wide(z), extents, 2, 1)) <=
            tolerance);
    }
  }
}
TEST_CASE(
    "lines of the first of two axes lie side by side, in blocks that end with a plane or not") {
  check_planes<float>(1e-6);
  check_planes<double>(2e-15);
}

/// Lines of N real numbers, and planes of 3 of them.
template <class T, int N>
constexpr void reals(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 3, N>(g, "x");
  tf::rfft(x).named("lines");
  tf::rfft2d(x).named("planes");
  tf::rfft3d(x).named("all");
}
template <class T, int N>
void check_reals(double tolerance) {
  tf::Variables variables;
  tf::Session<reals<T, N>> session(variables, {.threads = 2});
  for (const std::int64_t count : {0, 1, 2, 7}) {
    CAPTURE(N);
    CAPTURE(count);
    std::vector<T> x;
    for (const auto& z : drawn<T>(static_cast<std::size_t>(count * 3 * N))) x.push_back(z.real());
    const std::vector<std::size_t> extents = {static_cast<std::size_t>(count), 3, N};
    const auto half = [&](int axes) {
      const Numbers<double> all = over({x.begin(), x.end()}, extents, axes, -1);
      Numbers<double> kept;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i % N <= N / 2) kept.push_back(all[i]);
      }
      return kept;
    };
    const auto [y1, y2, y3] =
        session.template run<"lines", "planes", "all">(tf::feed<"x">(x.data(), {count, 3, N}));
    CHECK(y1.size() == static_cast<std::size_t>(count * 3 * (N / 2 + 1)));
    CHECK(difference(y1.data(), half(1)) <= tolerance);
    CHECK(difference(y2.data(), half(2)) <= tolerance);
    CHECK(difference(y3.data(), half(3)) <= tolerance);
  }
}
template <int... N>
void check_reals_of() {
  (check_reals<float, N>(1e-6), ...);
  (check_reals<double, N>(4e-15), ...);
}
TEST_CASE("an even number of reals is transformed as half as many complex numbers") {
  check_reals_of<2, 4, 6, 16, 30, 74, 128, 2018>();
}

TEST_CASE("lines of reals have the same bits beside any others, and keep NaN and infinity") {
  constexpr std::size_t n = 74;
  constexpr std::size_t half = n / 2 + 1;
  const auto drawn_reals = drawn<float>(70 * 3 * n);
  std::vector<float> x;
  for (const auto& z : drawn_reals) x.push_back(z.real());
  tf::Variables variables;
  tf::Session<reals<float, n>> one(variables, {.threads = 1});
  tf::Session<reals<float, n>> several(variables, {.threads = 3});
  const auto y = one.run<"lines">(tf::feed<"x">(x.data(), {70, 3, n}));
  CHECK(several.run<"lines">(tf::feed<"x">(x.data(), {70, 3, n})) == y);
  const auto alone = one.run<"lines">(tf::feed<"x">(x.data() + 69 * 3 * n, {1, 3, n}));
  CHECK(std::equal(alone.begin(), alone.end(), y.data() + 69 * 3 * half));
  x[n + 1] = std::numeric_limits<float>::infinity();
  const auto wild = one.run<"lines">(tf::feed<"x">(x.data(), {70, 3, n}));
  CHECK(std::equal(wild.data(), wild.data() + half, y.data()));
  CHECK(std::equal(wild.data() + 2 * half, wild.data() + wild.size(), y.data() + 2 * half));
  for (std::size_t k = half; k < 2 * half; ++k)
    CHECK_FALSE(std::isfinite(std::abs(wild.data()[k])));
}

TEST_CASE("the interpreter transforms as the definition says") {
  tf::Graph g;
  auto z = tf::placeholder<std::complex<float>, 2, 3, 5>(g, "z");
  tf::fft2d(z).named("forward");
  tf::ifft3d(z).named("back");
  tf::irfft<9>(z).named("real");
  tf::rfft(tf::placeholder<float, 2, 6>(g, "x")).named("half");
  const Numbers<float> x = drawn<float>(30);
  tf::HostTensor fed = tf::host_tensor(tf::DType::complex64, z.type.dims);
  for (std::int64_t i = 0; i < 30; ++i) {
    fed[i] = tf::number_from(x[static_cast<std::size_t>(i)]);
  }
  tf::HostTensor reals = tf::host_tensor(tf::DType::float32, {2, {2, 6}});
  Numbers<double> real_parts;
  for (std::int64_t i = 0; i < 12; ++i) {
    const float re = x[static_cast<std::size_t>(i)].real();
    real_parts.emplace_back(re, 0);
    reals[i] = tf::number_from(re);
  }
  const tf::HostTensors values = tf::interpret(g, {{"z", fed}, {"x", reals}});
  const auto numbers = [&](const char* name) {
    Numbers<double> y;
    const tf::HostTensor& tensor = values.at(name);
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      y.emplace_back(tensor[i].real, tensor[i].imaginary);
    return y;
  };
  CHECK(difference(numbers("forward").data(), over(wide(x), {2, 3, 5}, 2, -1)) <= 1e-6);
  CHECK(difference(numbers("back").data(), over(wide(x), {2, 3, 5}, 3, 1)) <= 1e-6);
  Numbers<double> halves = over(real_parts, {2, 6}, 1, -1);
  halves.erase(halves.begin() + 10, halves.end());
  halves.erase(halves.begin() + 4, halves.begin() + 6);
  CHECK(difference(numbers("half").data(), halves) <= 1e-6);
  const std::vector<double> expected = back(x, 5, 9);
  REQUIRE(values.at("real").size() == 54);
  for (std::int64_t i = 0; i < 54; ++i) {
    CHECK(std::abs(values.at("real").value(i) - expected[static_cast<std::size_t>(i)]) <= 1e-6);
  }
}

TEST_CASE("lines have the same bits beside any others, for any number of threads") {
  tf::Variables variables;
  for (const std::size_t n : {5u, 12u, 64u, 74u, 1000u}) {
    CAPTURE(n);
    const auto extent = static_cast<std::int64_t>(n);
    const Numbers<float> z = drawn<float>(70 * n);
    tf::Session<lines<float>> one(variables, {.threads = 1});
    const auto expected = one.run<"forward">(tf::feed<"z">(z.data(), {70, extent}));
    for (const int threads : {2, 3, 8}) {
      tf::Session<lines<float>> several(variables, {.threads = threads});
      CHECK(several.run<"forward">(tf::feed<"z">(z.data(), {70, extent})) == expected);
    }
    for (std::int64_t line = 0; line < 70; line += 23) {
      const std::complex<float>* const begin = z.data() + line * extent;
      const auto alone = one.run<"forward">(tf::feed<"z">(begin, {1, extent}));
      CHECK(std::equal(alone.data(), alone.data() + n, expected.data() + line * extent));
    }
  }
}

TEST_CASE("NaN and infinity stay in their line") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  tf::Variables variables;
  tf::Session<lines<float>> session(variables);
  for (const std::int64_t n : {6, 37}) {
    Numbers<float> z = drawn<float>(static_cast<std::size_t>(3 * n));
    const auto clean = session.run<"forward">(tf::feed<"z">(z.data(), {3, n}));
    z[static_cast<std::size_t>(n) + 1] = {inf, 0};
    const auto y = session.run<"forward">(tf::feed<"z">(z.data(), {3, n}));
    CHECK(std::equal(y.data(), y.data() + n, clean.data()));
    CHECK(std::equal(y.data() + 2 * n, y.data() + 3 * n, clean.data() + 2 * n));
    for (std::int64_t k = n; k < 2 * n; ++k) CHECK_FALSE(std::isfinite(std::abs(y.data()[k])));
  }
}

TEST_CASE("a steady run allocates nothing") {
  tf::Variables variables;
  tf::Session<lines<double>> session(variables, {.threads = 2});
  for (const std::int64_t n : {64, 97, 1000}) {  // passes, and Bluestein's algorithm
    const Numbers<double> z = drawn<double>(static_cast<std::size_t>(40 * n));
    Numbers<double> y(z.size());
    const auto run = [&] { session.run(tf::feed<"z">(z.data(), {40, n}), tf::into<"forward">(y)); };
    run();
    const long before = allocations;
    run();
    CHECK(allocations == before);
  }
}
