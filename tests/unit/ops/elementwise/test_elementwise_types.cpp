// SPDX-License-Identifier: Apache-2.0

// Functions that change the element type or only look at elements: cast, bitcast, identity,
// stop_gradient, check_numerics; and functions of one integer tensor.

#include <bit>
#include <cstring>

#include "support/check_elementwise.hpp"
#include "support/check_gradients.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

template <class T, class S>
constexpr void integer_functions(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  neg(x).named("neg");
  (-x).named("minus");
  abs(x).named("abs");
  sign(x).named("sign");
  square(x).named("square");
  relu(x).named("relu");
  relu6(x).named("relu6");
}

template <class T, class S>
void check_integers(const tf::Dims& shape) {
  constexpr bool is_signed = std::is_signed_v<T>;
  const T lowest = std::numeric_limits<T>::min();
  const auto x = test::extreme_integers(tf::dtype_of<T>, shape, 7);
  const auto map = [&](auto f) {
    tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = tf::number_from(f(tf::to<T>(x[i])));
    return y;
  };
  const auto negative = map([&](T e) { return e == lowest ? e : static_cast<T>(~e + 1); });
  const test::Outcome expected{
      {"neg", negative},
      {"minus", negative},
      {"abs", map([&](T e) { return e < 0 && e != lowest ? static_cast<T>(-e) : e; })},
      {"sign", map([&](T e) { return static_cast<T>(e > 0                ? 1
                                                    : is_signed && e < 0 ? -1
                                                                         : 0); })},
      {"square", map([&](T e) {
         return static_cast<T>(static_cast<std::uint64_t>(e) * static_cast<std::uint64_t>(e));
       })},
      {"relu", map([&](T e) { return std::max(e, T(0)); })},
      {"relu6", map([&](T e) { return std::min(std::max(e, T(0)), T(6)); })}};
  test::check_values<integer_functions<T, S>>({{"x", x}}, expected);
}

template <class From, class S>
constexpr void casts(tf::Graph& g) {
  auto x = test::input<From, S>(g, "x");
  tf::cast<bool>(x).named("bool");
  tf::cast<std::uint8_t>(x).named("uint8");
  tf::cast<std::int32_t>(x).named("int32");
  tf::cast<std::int64_t>(x).named("int64");
  tf::cast<float>(x).named("float");
  tf::cast<double>(x).named("double");
}
/// Numbers that every type holds once truncated; NaN and infinity go to float and double only.
template <class From, class S>
void check_casts(const tf::Dims& shape) {
  test::Random random(3);
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<From>, shape);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.set(i, std::is_same_v<From, bool> ? random.below(2)
             : random.chance(0.2)       ? 0
             : random.chance(0.5)       ? random.below(128)
                                        : random.uniform(0, 127));
  }
  const auto to = [&]<class T>(T) {
    tf::HostTensor y = tf::host_tensor(tf::dtype_of<T>, shape);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      y[i] = tf::number_from(static_cast<T>(tf::to<From>(x[i])));
    }
    return y;
  };
  test::check_values<casts<From, S>>({{"x", x}}, {{"bool", to(bool{})},
                                                  {"uint8", to(std::uint8_t{})},
                                                  {"int32", to(std::int32_t{})},
                                                  {"int64", to(std::int64_t{})},
                                                  {"float", to(float{})},
                                                  {"double", to(double{})}});
}

template <class S>
constexpr void same(tf::Graph& g) {
  auto x = test::input<float, S>(g, "x");
  (tf::identity(x) * 2).named("identity");
  (tf::stop_gradient(x) * 2).named("stop_gradient");
  (tf::check_numerics(x) * 2).named("check_numerics");
}

/// That twice the named result is twice x.
template <class Call>
void check_same(const std::string& name, const Call& call) {
  const auto twice = [](double e) { return 2 * e; };
  test::Random random(1);
  test::for_each_shape([&]<class S>(S) {
    const auto x = test::random_tensor(random, DType::float32, S::dims, -4, 4);
    test::check_values<same<S>>({{"x", x}}, {{name, test::map(x, twice)}});
  });
  for (const std::int64_t batch : {0, 1, 33}) {
    const auto x = test::random_tensor(random, DType::float32, test::dims({batch, 5}), -4, 4);
    test::check_values<same<Shape<tf::batch, 5>>>({{"x", x}}, {{name, test::map(x, twice)}});
  }
  for (int i = 0; i < 10; ++i) {
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const auto x = test::random_tensor(random, DType::float64, shape, -4, 4);
    tf::Graph g;
    test::name(call(test::input(g, "x", x.dtype, shape)), "y");
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"x", x}}, {{"y", x}});
  }
}

template <class S>
constexpr void bits(tf::Graph& g) {
  auto x = test::input<float, S>(g, "x");
  auto y = tf::bitcast<std::int32_t>(x * 2);
  y.named("int32");
  tf::bitcast<float>(y + 1).named("next");
  tf::bitcast<std::uint8_t>(x).named("bytes");
  tf::bitcast<float>(tf::bitcast<std::uint8_t>(x)).named("back");
  if constexpr (S::rank > 0) {
    if constexpr (S::dims.extent[S::rank - 1] == 2) tf::bitcast<double>(x).named("double");
  }
}
template <class S>
void check_bits(const tf::Dims& shape) {
  test::Random random(4);
  const auto x = test::random_tensor(random, DType::float32, shape, -4, 4);
  tf::Dims longer = shape;
  longer.append(4);
  tf::HostTensor ints = tf::host_tensor(DType::int32, shape);
  tf::HostTensor next = x;
  tf::HostTensor bytes = tf::host_tensor(DType::uint8, longer);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto element = static_cast<float>(x.value(i));
    ints[i].integer = std::bit_cast<std::int32_t>(element * 2);
    next.set(i, std::nextafter(element * 2, element > 0 ? 100.0f : -100.0f));
    for (int k = 0; k < 4; ++k) {
      unsigned char raw[4];
      std::memcpy(raw, &element, 4);
      bytes[4 * i + k].integer = raw[k];
    }
  }
  test::Outcome expected{{"int32", ints}, {"next", next}, {"bytes", bytes}, {"back", x}};
  if (shape.rank > 0 && shape.extent[shape.rank - 1] == 2) {
    tf::Dims shorter{};
    for (int i = 0; i + 1 < shape.rank; ++i) shorter.append(shape.extent[i]);
    tf::HostTensor wide = tf::host_tensor(DType::float64, shorter);
    for (std::int64_t i = 0; i < wide.size(); ++i) {
      const float pair[] = {static_cast<float>(x.value(2 * i)),
                            static_cast<float>(x.value(2 * i + 1))};
      double together = 0;
      std::memcpy(&together, pair, sizeof together);
      wide.set(i, together);
    }
    expected["double"] = wide;
  }
  test::check_values<bits<S>>({{"x", x}}, expected);
}

constexpr void checked(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto y = tf::check_numerics(1 / x, "ratio");
  (y * 0).named("y");
  (x + 1).named("other");
}

std::string message_of(const tf::HostTensor& x, const std::string& fetch) {
  tf::Graph g;
  checked(g);
  try {
    tf::Interpreter(g).run({fetch}, {{"x", x}});
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("functions of integers wrap around") {
  const auto each = [&]<class T>(T) {
    check_integers<T, Shape<131>>(test::dims({131}));
    check_integers<T, Shape<3, 0, 2>>(test::dims({3, 0, 2}));
    check_integers<T, Shape<>>(test::dims({}));
    check_integers<T, Shape<tf::batch, 5>>(test::dims({33, 5}));
  };
  each(std::int32_t{});
  each(std::int64_t{});
  each(std::uint8_t{});
}

TEST_CASE("casts work on every shape") {
  const auto each = [&]<class T>(T) {
    check_casts<T, Shape<131>>(test::dims({131}));
    check_casts<T, Shape<3, 0, 2>>(test::dims({3, 0, 2}));
    check_casts<T, Shape<>>(test::dims({}));
    check_casts<T, Shape<tf::batch, 5>>(test::dims({7, 5}));
  };
  each(bool{});
  each(std::uint8_t{});
  each(std::int32_t{});
  each(std::int64_t{});
  each(float{});
  each(double{});
  // NaN and infinity are true, and stay what they are as another floating type.
  using Model = test::Kernels<casts<float, Shape<131>>>;
  Model kernels;
  const auto x = test::extreme(DType::float32, test::dims({131}));
  auto y = kernels.run({{"x", x}});
  test::check_ulps("double", y.at("double"),
                   test::map(x, [](double e) { return e; }, DType::float64), 0);
  test::check_ulps("bool", y.at("bool"),
                   test::map(x, [](double e) { return e != 0; }, DType::boolean), 0);
  // Run-time graphs.
  test::Random random(9);
  for (int i = 0; i < 10; ++i) {
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const auto in = test::random_tensor(random, DType::float64, shape, -9, 9);
    tf::Graph g;
    test::name(cast_to(test::input(g, "x", in.dtype, shape), DType::int32), "y");
    test::check_ulps("y", tf::Interpreter(g).run({"y"}, {{"x", in}})[0],
                     test::map(in, [](double e) { return std::trunc(e); }, DType::int32), 0);
  }
}
TEST_CASE("cast: gradient") {
  test::check_gradients<Shape<2, 3>>(
      [](auto x) { return tf::cast<double>(tf::cast<float>(x)) * 0 + square(x); });
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  gradients(sum(square(tf::cast<float>(x))), x).named("dx");
  const auto dx = tf::Interpreter(g).run({"dx"}, {{"x", test::doubles({2}, {3, -1.5})}})[0];
  CHECK(dx.dtype == DType::float64);
  CHECK(test::elements(dx) == std::vector<double>{6, -3});
}

TEST_CASE("identity: values") {
  check_same("identity", [](auto x) { return tf::identity(x); });
}
TEST_CASE("stop_gradient: values") {
  check_same("stop_gradient", [](auto x) { return tf::stop_gradient(x); });
}
TEST_CASE("check_numerics: values") {
  check_same("check_numerics", [](auto x) { return tf::check_numerics(x); });
}

TEST_CASE("identity: gradient") {
  const auto f = [](auto x) { return square(tf::identity(x)) + x; };
  test::check_gradients<Shape<>>(f);
  test::check_gradients<Shape<2, 3>>(f);
  // For the identity itself, only what is computed from it counts.
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  auto y = tf::identity(x);
  gradients(sum(x * x + 3 * y), y).named("dy");
  const auto dy = tf::Interpreter(g).run({"dy"}, {{"x", test::doubles({2}, {5, 7})}})[0];
  CHECK(test::elements(dy) == std::vector<double>{3, 3});
}
TEST_CASE("stop_gradient: gradient") {
  tf::Graph g;
  auto x = tf::placeholder<double, 2>(g, "x");
  gradients(sum(x * tf::stop_gradient(x)), x).named("dx");
  const auto dx = tf::Interpreter(g).run({"dx"}, {{"x", test::doubles({2}, {5, 7})}})[0];
  CHECK(test::elements(dx) == std::vector<double>{5, 7});
}
TEST_CASE("check_numerics: gradient") {
  const auto f = [](auto x) { return square(tf::check_numerics(x)) + x; };
  test::check_gradients<Shape<>>(f);
  test::check_gradients<Shape<2, 3>>(f);
}
TEST_CASE("check_numerics: errors") {
  const auto finite = test::floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto zeros = test::floats({2, 3}, {1, 0, 3, test::nan, -0.0, 6});
  const char* const sentence = "check_numerics: 1 NaN and 2 infinite among 6 elements";
  CHECK(message_of(finite, "y") == "no error");
  CHECK(message_of(zeros, "y").find(sentence) != std::string::npos);
  CHECK(message_of(zeros, "other") == "no error");  // not computed
  const auto run = [](const tf::HostTensor& x) { test::Kernels<checked>().run({{"x", x}}); };
  CHECK_NOTHROW(run(finite));
  CHECK_THROWS_WITH_AS(run(zeros), doctest::Contains(sentence), tf::Error);
  const auto threaded = [](const tf::HostTensor& x) { test::Kernels<checked>(2).run({{"x", x}}); };
  tf::HostTensor large = tf::host_tensor(DType::float32, test::dims({100000, 3}));
  for (std::int64_t i = 0; i < large.size(); ++i) large.set(i, i % 1000 == 0 ? 0 : 1);
  CHECK_THROWS_WITH_AS(threaded(large),
                       doctest::Contains("0 NaN and 300 infinite among 300000 elements"),
                       tf::Error);
}

TEST_CASE("bitcast: values") {
  check_bits<Shape<>>(test::dims({}));
  check_bits<Shape<1>>(test::dims({1}));
  check_bits<Shape<3, 0, 2>>(test::dims({3, 0, 2}));
  check_bits<Shape<5, 1, 3>>(test::dims({5, 1, 3}));
  check_bits<Shape<131>>(test::dims({131}));
  check_bits<Shape<tf::batch, 2>>(test::dims({33, 2}));
  test::Random random(2);
  for (int i = 0; i < 10; ++i) {
    const tf::Dims shape = test::random_shape(random, random.below(5));
    const auto x = test::random_tensor(random, DType::float64, shape, -4, 4);
    tf::Graph g;
    const auto in = test::input(g, "x", x.dtype, shape);
    test::name(tf::bitcast_to(tf::bitcast_to(in, DType::int32), DType::float64), "back");
    test::name(tf::bitcast_to(in, DType::int64), "bits");
    REQUIRE(tf::ir::verify(g).view() == "");
    tf::HostTensor bits_of_x = tf::host_tensor(DType::int64, shape);
    for (std::int64_t k = 0; k < x.size(); ++k) {
      bits_of_x[k].integer = std::bit_cast<std::int64_t>(x.value(k));
    }
    const auto got = tf::Interpreter(g).run({"back", "bits"}, {{"x", x}});
    test::check_ulps("back", got[0], x, 0);
    test::check_ulps("bits", got[1], bits_of_x, 0);
  }
}
TEST_CASE("bitcast: gradient") {  // none
  test::check_gradients<Shape<3>>([](auto x) {
    return x * tf::cast<double>(tf::cast<bool>(tf::bitcast<std::int64_t>(square(x) + 1)));
  });
}
