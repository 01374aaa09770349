// SPDX-License-Identifier: Apache-2.0

// Tensors of nothing but their shape: zeros, ones, fill, range, linspace.

#include <vector>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;

/// f(i) for i in 0 .. n - 1.
template <class F>
tf::HostTensor row(tf::DType type, std::int64_t n, const F& f) {
  tf::HostTensor out = tf::host_tensor(type, test::dims({n}));
  for (std::int64_t i = 0; i < n; ++i) out.set(i, static_cast<double>(f(i)));
  return out;
}
tf::HostTensor everywhere(tf::DType type, const std::vector<tf::Extent>& shape, double value) {
  tf::HostTensor out = tf::host_tensor(type, test::dims(shape));
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, value);
  return out;
}

template <class T>
constexpr void constants(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 3>(g, "x");
  auto scalar = tf::placeholder<T>(g, "scalar");
  tf::zeros<T>(g).named("zero");
  tf::zeros<T, 2, 37>(g).named("zeros");
  tf::zeros<T, 3, 0>(g).named("no_zeros");
  tf::ones<T, tf::batch, 5>(g).named("ones");
  zeros_like(x).named("zeros_like");
  ones_like(x).named("ones_like");
  tf::fill<2, tf::batch>(scalar).named("fill");
  tf::fill<>(scalar).named("fill_scalar");
}
template <class T>
void check_constants() {
  constexpr tf::DType type = tf::dtype_of<T>;
  INFO(tf::name_of(type));
  const tf::HostTensors feeds = test::random_feeds<constants<T>>(4);
  const double number = feeds.at("scalar").value(0);
  test::check_values<constants<T>>(feeds, {{"zero", everywhere(type, {}, 0)},
                                           {"zeros", everywhere(type, {2, 37}, 0)},
                                           {"no_zeros", everywhere(type, {3, 0}, 0)},
                                           {"ones", everywhere(type, {4, 5}, 1)},
                                           {"zeros_like", everywhere(type, {4, 3}, 0)},
                                           {"ones_like", everywhere(type, {4, 3}, 1)},
                                           {"fill", everywhere(type, {2, 4}, number)},
                                           {"fill_scalar", everywhere(type, {}, number)}});
}

template <class T>
constexpr void ranges(tf::Graph& g) {
  auto start = tf::placeholder<T>(g, "start");
  auto delta = tf::placeholder<T>(g, "delta");
  auto x = tf::placeholder<T, tf::batch>(g, "x");
  tf::range<T, 131>(g, 3, 2).named("numbers");
  tf::range<T, 7>(g, start, delta).named("tensors");
  tf::range<T, 0>(g, start, 1).named("none");
  tf::range<T, 2 * tf::batch>(g, 0, 1).named("batch");
  (x + tf::range<T, tf::batch>(g, 1, start)).named("fused");
}
/// Positions as they are, read by operations that have kernels of their own, or change the shape.
constexpr void positions(tf::Graph& g) {
  auto x = tf::range<std::int32_t, 12>(g, 0, 1);
  auto v = tf::variable<std::int32_t, 12>(g, "v", tf::zeros(), false);
  x.named("x");
  tf::slice<tf::range(2, 9, 3)>(x).named("slice");
  tf::reshape<3, 4>(x).named("reshape");
  (tf::reshape<3, 4>(x) * 10).named("product");
  tf::tile<2>(x).named("tile");
  sum(x).named("sum");
  tf::sum<0>(tf::reshape<3, 4>(x)).named("columns");
  assign(v, x).named("store");
}

template <class T>
void check_ranges() {
  constexpr tf::DType type = tf::dtype_of<T>;
  INFO(tf::name_of(type));
  const tf::HostTensors feeds = test::random_feeds<ranges<T>>(5);
  const double start = feeds.at("start").value(0);
  const double delta = feeds.at("delta").value(0);
  // In the element type, which wraps around if it is a byte.
  const auto at = [](double from, double step) {
    return [=](std::int64_t i) {
      return static_cast<T>(from + static_cast<double>(static_cast<T>(i)) * step);
    };
  };
  const auto fused = [&](std::int64_t i) {
    return feeds.at("x").value(i) + 1 + static_cast<double>(i) * start;
  };
  test::check_values<ranges<T>>(feeds,
                                {{"numbers", row(type, 131, at(3, 2))},
                                 {"tensors", row(type, 7, at(start, delta))},
                                 {"none", row(type, 0, at(0, 0))},
                                 {"batch", row(type, 10, at(0, 1))},
                                 {"fused", row(type, 5, fused)}},
                                tf::is_floating(type) ? 1e-6 : 0);
}

/// Of 16 bits, with positions that are no such numbers.
constexpr void long_halves(tf::Graph& g) {
  tf::range<tf::bfloat16, 2001>(g, -1000, 1).named("across_zero");
  tf::range<tf::float16, 70000>(g, 0, 0.0078125).named("many");
  tf::linspace<tf::float16, 70001>(g, 0, 0.25).named("spaces");
}

template <class T>
constexpr void spaces(tf::Graph& g) {
  auto from = tf::placeholder<T>(g, "from");
  auto to = tf::placeholder<T>(g, "to");
  tf::linspace<T, 5>(g, 0, 1).named("numbers");
  tf::linspace<T, 1>(g, from, to).named("one");
  tf::linspace<T, 50>(g, from, to).named("tensors");
}

}  // namespace

TEST_CASE("zeros: values") { check_constants<float>(); }
TEST_CASE("ones: values") {
  check_constants<bool>();
  check_constants<std::uint8_t>();
}
TEST_CASE("zeros_like: values") {
  check_constants<std::int32_t>();
  for (int i = 0; i < tf::dtype_count; ++i) {
    const tf::DType type = static_cast<tf::DType>(i);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", type, test::dims({2, 3}));
    test::name(zeros_like(x), "zeros");
    test::name(ones_like(x), "ones");
    test::check_interpreter(
        g, {{"x", everywhere(type, {2, 3}, 1)}},
        {{"zeros", everywhere(type, {2, 3}, 0)}, {"ones", everywhere(type, {2, 3}, 1)}});
  }
}
TEST_CASE("ones_like: values") { check_constants<double>(); }
TEST_CASE("fill: values") { check_constants<std::int64_t>(); }

TEST_CASE("fill: gradient") {
  test::check_gradients<tf::Shape<>>([](const auto& x) { return square(tf::fill<2, 3>(x)); });
}

TEST_CASE("zeros_like and ones_like take no gradient") {
  tf::Graph g;
  auto x = tf::placeholder<double, 3>(g, "x");
  tf::gradients(sum(x * ones_like(x) + zeros_like(x)), x).named("dx");
  test::check_interpreter(g, {{"x", test::doubles({3}, {5, 6, 7})}},
                          {{"dx", test::doubles({3}, {1, 1, 1})}});
}

TEST_CASE("range: values") {
  check_ranges<float>();
  check_ranges<double>();
  check_ranges<std::int32_t>();
  check_ranges<std::int64_t>();
}

TEST_CASE("range and linspace: more 16-bit numbers than are whole") {
  const auto number = [](std::int64_t i) { return static_cast<double>(i); };
  test::check_values<long_halves>(
      {},
      {{"across_zero",
        row(tf::DType::bfloat16, 2001, [&](std::int64_t i) { return number(i) - 1000; })},
       {"many", row(tf::DType::float16, 70000, [&](std::int64_t i) { return number(i) / 128; })},
       {"spaces",
        row(tf::DType::float16, 70001, [&](std::int64_t i) { return number(i) / 70000 / 4; })}},
      6e-4);
  test::Kernels<long_halves> kernels;
  const test::Outcome got = kernels.run({});
  for (std::int64_t i = 900; i <= 1100; ++i) {
    CHECK(got.at("across_zero").value(i) == number(i) - 1000);
  }
}

TEST_CASE("range: values that other operations read") {
  const auto numbers = [](std::int64_t n, auto f) { return row(tf::DType::int32, n, f); };
  tf::HostTensor matrix = numbers(12, [](std::int64_t i) { return i; });
  matrix.dims = test::dims({3, 4});
  test::check_values<positions>({},
                                {{"x", numbers(12, [](std::int64_t i) { return i; })},
                                 {"slice", numbers(3, [](std::int64_t i) { return 2 + 3 * i; })},
                                 {"reshape", matrix},
                                 {"product", test::map(matrix, [](double e) { return 10 * e; })},
                                 {"tile", numbers(24, [](std::int64_t i) { return i % 12; })},
                                 {"sum", test::ints({}, {66})},
                                 {"columns", test::ints({4}, {12, 15, 18, 21})}});
  test::Kernels<positions> kernels;
  const test::Outcome got = kernels.run({});
  test::check_close("v", got.at("v"), numbers(12, [](std::int64_t i) { return i; }), 0);
}

TEST_CASE("range: gradient") {
  test::check_gradients<tf::Shape<>, tf::Shape<>>([](const auto& start, const auto& delta) {
    return square(tf::range<double, 5>(start.graph(), start, delta));
  });
}

TEST_CASE("linspace: values") {
  tf::HostTensors feeds = {{"from", test::floats({}, {-1.5})}, {"to", test::floats({}, {0.1})}};
  const double from = -1.5;
  const double to = feeds.at("to").value(0);
  const auto at = [&](std::int64_t i) { return from + (to - from) * static_cast<double>(i) / 49; };
  test::check_values<spaces<float>>(feeds,
                                    {{"numbers", test::floats({5}, {0, 0.25, 0.5, 0.75, 1})},
                                     {"one", test::floats({1}, {from})},
                                     {"tensors", row(tf::DType::float32, 50, at)}},
                                    1e-6);
  // The last is exact.
  test::Kernels<spaces<float>> kernels;
  CHECK(kernels.run(feeds).at("tensors").value(49) == to);

  feeds = {{"from", test::doubles({}, {3})}, {"to", test::doubles({}, {-4})}};
  const auto down = [](std::int64_t i) { return 3 - 7 * static_cast<double>(i) / 49; };
  test::check_values<spaces<double>>(feeds,
                                     {{"numbers", test::doubles({5}, {0, 0.25, 0.5, 0.75, 1})},
                                      {"one", test::doubles({1}, {3})},
                                      {"tensors", row(tf::DType::float64, 50, down)}},
                                     1e-15);
}

TEST_CASE("linspace: ends whose difference is too large") {
  const double far = test::floats({}, {3e38}).value(0);
  const auto at = [&](std::int64_t i) { return far * static_cast<double>(2 * i - 49) / 49; };
  test::check_values<spaces<float>>(
      {{"from", test::floats({}, {-far})}, {"to", test::floats({}, {far})}},
      {{"numbers", test::floats({5}, {0, 0.25, 0.5, 0.75, 1})},
       {"one", test::floats({1}, {-far})},
       {"tensors", row(tf::DType::float32, 50, at)}},
      2e-7);
}

TEST_CASE("linspace: gradient") {
  test::check_gradients<tf::Shape<>, tf::Shape<>>([](const auto& from, const auto& to) {
    return square(tf::linspace<double, 4>(from.graph(), from, to));
  });
}
