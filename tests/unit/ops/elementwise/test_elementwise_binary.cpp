// SPDX-License-Identifier: Apache-2.0

// Arithmetic between tensors that broadcast, against plain C++ on every pair of elements.

#include "support/check_pairs.hpp"

namespace {

namespace tf = typeflow;

struct Arithmetic {
  template <class T, class A, class B>
  static constexpr void model(tf::Graph& g) {
    auto a = test::input<T, A>(g, "a");
    auto b = test::input<T, B>(g, "b");
    (a + b).named("add");
    (a - b).named("sub");
    (a * b).named("mul");
    (a / b).named("div");
    floordiv(a, b).named("floordiv");
    mod(a, b).named("mod");
    pow(a, b).named("pow");
    maximum(a, b).named("maximum");
    minimum(a, b).named("minimum");
    squared_difference(a, b).named("squared_difference");
    clip_by_value(a, b, 2).named("clip_by_value");
    tf::add_n(a, a, a).named("add_n");
    if constexpr (std::is_floating_point_v<T>) atan2(a, b).named("atan2");
  }
};

// What the references say, for integers as for floating-point numbers.

__extension__ typedef __int128 Int128;
template <class T>
inline constexpr bool whole = std::is_integral_v<T>;

/// f in a type in which no integer overflows, then wrapped around.
template <class T, class F>
T exact(T a, T b, const F& f) {
  if constexpr (whole<T>) {
    return static_cast<T>(f(Int128{a}, Int128{b}));
  } else {
    return f(a, b);
  }
}
template <class T>
T floor_quotient(T a, T b) {
  if constexpr (whole<T>) {
    if (b == 0) return 0;
    const Int128 q = Int128{a} / b;
    return static_cast<T>(q * b != a && (a < 0) != (b < 0) ? q - 1 : q);
  } else {
    return std::floor(a / b);
  }
}
/// a^b modulo 2^64, from the highest bit of b on.
std::uint64_t power(std::uint64_t a, std::uint64_t b) {
  if (b == 0) return 1;
  const std::uint64_t half = power(a, b / 2);
  return half * half * (b % 2 == 0 ? 1 : a);
}

}  // namespace

TEST_CASE("add: values") {
  test::check_pairs<Arithmetic>(
      "add", [](auto a, auto b) { return exact(a, b, [](auto p, auto q) { return p + q; }); },
      [](auto a, auto b) { return a + b; }, 0);
}
TEST_CASE("sub: values") {
  test::check_pairs<Arithmetic>(
      "sub", [](auto a, auto b) { return exact(a, b, [](auto p, auto q) { return p - q; }); },
      [](auto a, auto b) { return a - b; }, 0);
}
TEST_CASE("mul: values") {
  test::check_pairs<Arithmetic>(
      "mul", [](auto a, auto b) { return exact(a, b, [](auto p, auto q) { return p * q; }); },
      [](auto a, auto b) { return a * b; }, 0);
}
TEST_CASE("div: values") {
  test::check_pairs<Arithmetic>(
      "div",
      [](auto a, auto b) {
        return exact(a, b, [](auto p, auto q) { return whole<decltype(a)> && q == 0 ? 0 : p / q; });
      },
      [](auto a, auto b) { return a / b; }, 0);
}
TEST_CASE("floordiv: values") {
  test::check_pairs<Arithmetic>(
      "floordiv", [](auto a, auto b) { return floor_quotient(a, b); },
      [](auto a, auto b) { return floordiv(a, b); }, 0);
}
TEST_CASE("mod: values") {
  test::check_pairs<Arithmetic>(
      "mod",
      []<class T>(T a, T b) {
        if constexpr (whole<T>) {
          return static_cast<T>(a - Int128{floor_quotient(a, b)} * b);
        } else {
          const T rest = std::fmod(a, b);
          return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        }
      },
      [](auto a, auto b) { return mod(a, b); }, 0);
  // Of floating-point numbers, too: between 0 and the divisor, and what floordiv leaves.
  for (const double a : {-7.5, -6.0, -0.25, 0.0, 0.25, 6.0, 7.5}) {
    for (const double b : {-3.0, -0.5, 0.5, 3.0}) {
      const double rest = tf::ops::FloorMod{}(a, b);
      CHECK((rest == 0 || ((rest < 0) == (b < 0) && std::abs(rest) < std::abs(b))));
      CHECK(tf::ops::FloorDiv{}(a, b) * b + rest == a);
    }
  }
}
TEST_CASE("pow: values") {
  test::check_pairs<Arithmetic>(
      "pow",
      []<class T>(T a, T b) {
        if constexpr (whole<T>) {
          if (std::is_signed_v<T> && b < 0) {
            if (a != 1 && a != static_cast<T>(-1)) return T(0);
            return b % 2 == 0 ? T(1) : a;
          }
          return static_cast<T>(
              power(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
        } else {
          return static_cast<T>(std::pow(static_cast<long double>(a), static_cast<long double>(b)));
        }
      },
      [](auto a, auto b) { return pow(a, b); }, 1);
}
TEST_CASE("maximum: values") {
  test::check_pairs<Arithmetic>(
      "maximum", [](auto a, auto b) { return a != a            ? a
                                             : b != b || a < b ? b
                                                               : a; },
      [](auto a, auto b) { return maximum(a, b); }, 0);
}
TEST_CASE("minimum: values") {
  test::check_pairs<Arithmetic>(
      "minimum", [](auto a, auto b) { return a != a            ? a
                                             : b != b || a > b ? b
                                                               : a; },
      [](auto a, auto b) { return minimum(a, b); }, 0);
}
TEST_CASE("squared_difference: values") {
  test::check_pairs<Arithmetic>(
      "squared_difference",
      [](auto a, auto b) {
        return exact(a, b, [](auto p, auto q) {
          // Of integers modulo 2^64, for which the difference of any two has bits enough.
          if constexpr (std::is_floating_point_v<decltype(p)>) {
            return (p - q) * (p - q);
          } else {
            const auto d = static_cast<std::uint64_t>(p - q);
            return d * d;
          }
        });
      },
      [](auto a, auto b) { return squared_difference(a, b); }, 0);
}
TEST_CASE("clip_by_value: values") {
  test::check_pairs<Arithmetic>(
      "clip_by_value",
      []<class T>(T a, T b) {
        if (a != a || b != b) return a != a ? a : b;
        return std::max(std::min(a, T(2)), b);
      },
      [](auto a, auto b) { return clip_by_value(a, b, 2); }, 0);
}
TEST_CASE("atan2: values") {
  test::check_pairs<Arithmetic, test::Types::floating>(
      "atan2",
      []<class T>(T a, T b) {
        return static_cast<T>(std::atan2(static_cast<long double>(a), static_cast<long double>(b)));
      },
      []<class A>(const A& a, const A& b) { return atan2(a, b); }, 1);
}
TEST_CASE("add_n: values") {
  test::Random random(3);
  using tf::Shape;
  const auto in_shape = [&]<class T, class S>(T, S) {
    const auto a = test::ordinary(random, tf::dtype_of<T>, S::dims);
    test::check_result<Arithmetic::model<T, S, Shape<1>>>(
        "add_n", {{"a", a}, {"b", test::ordinary(random, tf::dtype_of<T>, test::dims({1}))}},
        test::pairs<T>(a, a, [](T p, T) { return static_cast<T>(p + p + p); }), 0);
  };
  in_shape(float{}, Shape<5, 1, 3>{});
  in_shape(float{}, Shape<3, 0, 2>{});
  in_shape(float{}, Shape<>{});
  in_shape(double{}, Shape<37>{});
  in_shape(std::int32_t{}, Shape<37>{});
  in_shape(std::int64_t{}, Shape<37>{});
  in_shape(std::uint8_t{}, Shape<37>{});

  tf::Graph g;
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  tf::add_n(x).named("one");
  tf::add_n(std::array{x, x * 2, x * 3, x * 4}).named("array");
  tf::add_n(x.any(), (x * 2).any())
      .graph->add_name("untyped", tf::ir::NameKind::value,
                       tf::add_n(std::array{x.any(), (x * 2).any()}).id);
  const auto fed = test::floats({2, 2}, {1, 2, 3, 4});
  const auto got = tf::Interpreter(g).run({"one", "array", "untyped"}, {{"x", fed}});
  CHECK(test::elements(got[0]) == std::vector<double>{1, 2, 3, 4});
  CHECK(test::elements(got[1]) == std::vector<double>{10, 20, 30, 40});
  CHECK(test::elements(got[2]) == std::vector<double>{3, 6, 9, 12});
}

TEST_CASE("add: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return a + b; });
}
TEST_CASE("sub: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return a - b; });
}
TEST_CASE("mul: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return a * b; });
}
TEST_CASE("div: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return a / b; }, {0.5, 3}, 1e-6);
}
TEST_CASE("floordiv: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return a * b + floordiv(a, b); }, {0.5, 3});
}
TEST_CASE("mod: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return mod(a, b); }, {0.5, 3});
}
TEST_CASE("pow: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return pow(a, b); }, {0.5, 3}, 1e-6);
}
TEST_CASE("maximum: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return maximum(a, b); });
}
TEST_CASE("minimum: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return minimum(a, b); });
}
TEST_CASE("squared_difference: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return squared_difference(a, b); });
}
TEST_CASE("clip_by_value: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return clip_by_value(a, b, 1.5); }, {-3, 3});
}
TEST_CASE("where: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return where(less(a, 0), a * a, b * b * b); });
}
TEST_CASE("atan2: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return atan2(a, b); }, {0.3, 3}, 1e-6);
}
TEST_CASE("add_n: gradient") {
  test::check_pair_gradients([](auto a, auto b) { return tf::add_n(a * b, a * b, b * a); });
}

namespace {
/// The gradients of sum(f(a, b)) at a and b.
template <class F>
std::vector<double> derivatives_at(const F& f, double a, double b) {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto y = tf::placeholder<double>(g, "y");
  const auto [dx, dy] = gradients(f(x, y), x, y);
  dx.named("dx");
  dy.named("dy");
  const auto got = tf::Interpreter(g).run(
      {"dx", "dy"}, {{"x", test::doubles({}, {a})}, {"y", test::doubles({}, {b})}});
  return {got[0].value(0), got[1].value(0)};
}
}  // namespace

TEST_CASE("derivatives at ties and of powers of what is not positive are those of TensorFlow") {
  using V = std::vector<double>;
  const auto power = [](auto a, auto b) { return pow(a, b); };
  CHECK(derivatives_at(power, 0, 0) == V{0, 0});
  CHECK(derivatives_at(power, 0, 1) == V{1, 0});
  CHECK(derivatives_at(power, 0, 2) == V{0, 0});
  CHECK(derivatives_at(power, -2, 3) == V{12, 0});
  CHECK(derivatives_at(power, -2, 0) == V{0, 0});
  CHECK(derivatives_at([](auto a, auto b) { return maximum(a, b); }, 2, 2) == V{1, 0});
  CHECK(derivatives_at([](auto a, auto b) { return minimum(a, b); }, 2, 2) == V{1, 0});
  const auto clip = [](auto a, auto b) { return clip_by_value(a, b, 3); };
  CHECK(derivatives_at(clip, 1, 1) == V{1, 0});
  CHECK(derivatives_at(clip, 3, 1) == V{1, 0});
  CHECK(derivatives_at(clip, 4, 1) == V{0, 0});
  CHECK(derivatives_at(clip, 0, 1) == V{0, 1});
}

TEST_CASE("functions of two tensors have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 1003}) {
    test::check_bits<Arithmetic::model<float, tf::Shape<tf::batch, 5>, tf::Shape<5>>>(batch);
  }
}
