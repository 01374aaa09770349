// SPDX-License-Identifier: Apache-2.0

// Running sums and products along an axis, against plain loops.

#include <cmath>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"
#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

/// y[i] = f(y[i-1], x[i]) along an axis, from y[-1] = start.
/// T is the element type; C is what the loop computes in.
template <class T, class C = T, class F>
tf::HostTensor scanned(const tf::HostTensor& x, int axis, tf::CumulativeOptions options,
                       double start, const F& f) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  const std::int64_t n = x.dims.extent[axis];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::vector<std::int64_t> c = test::coordinates(i, x.dims);
    std::int64_t& k = c[static_cast<std::size_t>(axis)];
    const std::int64_t last = k;
    C total = static_cast<C>(start);
    const auto take = [&] {
      total = static_cast<C>(f(total, static_cast<C>(x.value(test::position(c, x.dims)))));
    };
    if (options.reverse) {
      for (k = n - 1; k >= last + options.exclusive; --k) take();
    } else {
      for (k = 0; k <= last - options.exclusive; ++k) take();
    }
    y[i] = tf::number_from(static_cast<T>(total));
  }
  return y;
}
constexpr auto plus = [](auto a, auto b) { return a + b; };
constexpr auto times = [](auto a, auto b) { return a * b; };

constexpr tf::CumulativeOptions all_options[] = {
    {}, {.exclusive = true}, {.reverse = true}, {.exclusive = true, .reverse = true}};

template <class T, class S>
constexpr void scans(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  for (int i = 0; i < 4; ++i) {
    tf::cumsum<-1>(x, all_options[i]).named({"sum", i});
    tf::cumprod<-1>(x, all_options[i]).named({"prod", i});
    tf::cumsum<0>(x, all_options[i]).named({"outer_sum", i});
    tf::cumprod<0>(x, all_options[i]).named({"outer_prod", i});
  }
}

template <class T, class S, class Computed = T>
void check_scans(double tolerance = 0) {
  INFO(tf::name_of(tf::dtype_of<T>));
  test::Random random(5);
  const bool floating = tf::is_floating(tf::dtype_of<T>);
  const tf::HostTensor x = test::random_tensor(random, tf::dtype_of<T>, S::dims,
                                               floating ? -1.5 : 0, floating ? 1.5 : 9);
  test::Outcome expected;
  for (int i = 0; i < 4; ++i) {
    const std::string suffix = "_" + std::to_string(i);
    const tf::CumulativeOptions o = all_options[i];
    const int last = S::rank - 1;
    expected["sum" + suffix] = scanned<T, Computed>(x, last, o, 0, plus);
    expected["prod" + suffix] = scanned<T, Computed>(x, last, o, 1, times);
    expected["outer_sum" + suffix] = scanned<T, Computed>(x, 0, o, 0, plus);
    expected["outer_prod" + suffix] = scanned<T, Computed>(x, 0, o, 1, times);
  }
  test::check_values<scans<T, S>>({{"x", x}}, expected, tolerance);
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 5>(g, "x");
  tf::cumsum<1>(x).named("sum");
  tf::cumprod<1>(x, {.exclusive = true}).named("prod");
  tf::cumsum<2>(x, {.reverse = true}).named("inner");
  tf::cumsum<0>(tf::reshape<15, tf::batch>(x)).named("outer");
  auto [dx, dp] = gradients(ys(sum(square(tf::cumsum<1>(x))), sum(tf::cumprod<2>(x))), x, x);
  dx.named("dx");
  dp.named("dp");
}

template <class T, class S>
constexpr void rows(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  tf::cumsum<1>(x).named("sum_0");
  tf::cumsum<1>(x, all_options[2]).named("sum_2");
  tf::cumprod<1>(x, all_options[1]).named("prod_1");
  tf::cumprod<1>(x, all_options[3]).named("prod_3");
}

/// The kernels' elements are equal to those of loops, which add and multiply in the same order.
template <class T, class S, class Computed = T>
void check_rows() {
  INFO(tf::name_of(tf::dtype_of<T>));
  INFO(S::dims.extent[1]);
  test::Random random(7);
  const bool floating = tf::is_floating(tf::dtype_of<T>);
  const tf::HostTensor x = test::random_tensor(random, tf::dtype_of<T>, S::dims,
                                               floating ? -1.5 : 0, floating ? 1.5 : 9);
  test::Outcome expected;
  expected["sum_0"] = scanned<T, Computed>(x, 1, all_options[0], 0, plus);
  expected["sum_2"] = scanned<T, Computed>(x, 1, all_options[2], 0, plus);
  expected["prod_1"] = scanned<T, Computed>(x, 1, all_options[1], 1, times);
  expected["prod_3"] = scanned<T, Computed>(x, 1, all_options[3], 1, times);
  test::Kernels<rows<T, S>> kernels;
  const test::Outcome got = kernels.run({{"x", x}});
  for (const auto& [name, value] : expected) test::check_ulps(name, got.at(name), value, 0);
}

using D1 = Shape<7>;
using D3 = Shape<2, 4, 3>;

}  // namespace

TEST_CASE("cumsum: values") {
  check_scans<float, Shape<1>>();
  check_scans<float, Shape<131>>(1e-6);
  check_scans<float, Shape<5, 1, 3>>(1e-6);
  check_scans<float, Shape<3, 0, 2>>();
  check_scans<float, Shape<19, 37>>(1e-6);
  check_scans<double, Shape<4, 11, 70>>(1e-14);
  check_scans<std::int32_t, Shape<6, 9>, std::uint32_t>();
  check_scans<std::int8_t, Shape<6, 40>, std::uint8_t>();
  check_scans<std::uint16_t, Shape<2, 3, 35>, std::uint16_t>();
  check_scans<std::int64_t, Shape<3, 9>>();
  check_scans<tf::bfloat16, Shape<5, 33>, float>(0x1p-8);
  check_scans<tf::float16, Shape<5, 33>, float>(0x1p-10);
}

TEST_CASE("cumsum of many rows, which are walked in tiles") {
  check_rows<float, Shape<70, 1>>();
  check_rows<float, Shape<99, 3>>();
  check_rows<float, Shape<33, 10>>();
  check_rows<float, Shape<32, 67>>();
  check_rows<double, Shape<37, 3>>();
  check_rows<double, Shape<16, 34>>();
  check_rows<std::int32_t, Shape<65, 7>, std::uint32_t>();
  check_rows<std::int64_t, Shape<17, 35>, std::uint64_t>();
  check_rows<std::int8_t, Shape<64, 19>, std::uint8_t>();
  check_rows<tf::bfloat16, Shape<33, 9>, float>();
  check_rows<tf::float16, Shape<96, 33>, float>();
}

TEST_CASE("cumsum of what is no number, and of complex numbers") {
  tf::Graph g;
  const tf::AnyExpr x = test::input(g, "x", DType::float32, test::dims({4}));
  const tf::AnyExpr z = test::input(g, "z", DType::complex64, test::dims({2}));
  test::name(tf::cumsum_along(x, 0), "y");
  test::name(tf::cumprod_along(z, 0), "p");
  constexpr double inf = std::numeric_limits<double>::infinity();
  tf::HostTensor complex = test::tensor(DType::complex64, {2}, {1, 3});
  complex[0].imaginary = 2;
  complex[1].imaginary = -1;
  tf::Interpreter interpreter(g);
  const std::vector<tf::HostTensor> got =
      interpreter.run({"y", "p"}, {{"x", test::floats({4}, {1, inf, -inf, 2})}, {"z", complex}});
  CHECK(got[0].value(0) == 1);
  CHECK(got[0].value(1) == inf);
  CHECK(std::isnan(got[0].value(2)));
  CHECK(std::isnan(got[0].value(3)));
  CHECK(got[1][1].real == 5);  // (1 + 2i)(3 - i)
  CHECK(got[1][1].imaginary == 5);
}

TEST_CASE("cumsum: values of random shapes") {
  test::Random random(11);
  for (int round = 0; round < 40; ++round) {
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const int axis = random.below(shape.rank);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", DType::float64, shape);
    const tf::HostTensor value = test::random_tensor(random, DType::float64, shape, -2, 2);
    test::Outcome expected;
    for (int i = 0; i < 4; ++i) {
      test::name(tf::cumsum_along(x, axis, all_options[i]), {"s", i});
      test::name(tf::cumprod_along(x, axis, all_options[i]), {"p", i});
      expected["s_" + std::to_string(i)] = scanned<double>(value, axis, all_options[i], 0, plus);
      expected["p_" + std::to_string(i)] = scanned<double>(value, axis, all_options[i], 1, times);
    }
    REQUIRE(tf::ir::verify(g).view() == "");
    test::check_interpreter(g, {{"x", value}}, expected, 1e-14);
  }
}

TEST_CASE("cumsum along and beside batches: kernels agree, with equal bits for any threads") {
  for (const std::int64_t batch : {0, 1, 4, 1003}) {
    test::check_against_interpreter<batches>(batch, 1e-5);
    test::check_threads<batches>(batch);
  }
}

TEST_CASE("cumprod: values") {
  // Those of every type, shape and option are with cumsum's; here, TensorFlow's documented ones.
  const tf::HostTensor x = test::floats({3}, {2, 3, 5});
  test::Outcome expected;
  const std::vector<double> products[] = {{2, 6, 30}, {1, 2, 6}, {30, 15, 5}, {15, 5, 1}};
  const std::vector<double> sums[] = {{2, 5, 10}, {0, 2, 5}, {10, 8, 5}, {8, 5, 0}};
  for (int i = 0; i < 4; ++i) {
    const std::string suffix = "_" + std::to_string(i);
    expected["prod" + suffix] = expected["outer_prod" + suffix] = test::floats({3}, products[i]);
    expected["sum" + suffix] = expected["outer_sum" + suffix] = test::floats({3}, sums[i]);
  }
  test::check_values<scans<float, Shape<3>>>({{"x", x}}, expected);
}

TEST_CASE("cumsum: gradient") {
  for (const tf::CumulativeOptions options : all_options) {
    CAPTURE(options.exclusive);
    CAPTURE(options.reverse);
    test::check_gradients<D1>([=](auto x) { return tf::cumsum<0>(x, options); });
    test::check_gradients<D3>([=](auto x) { return tf::cumsum<1>(square(x), options); });
  }
}

TEST_CASE("cumprod: gradient") {
  for (const tf::CumulativeOptions options : all_options) {
    CAPTURE(options.exclusive);
    CAPTURE(options.reverse);
    const auto along = [=](auto x) { return tf::cumprod<1>(x, options); };
    test::check_gradients<D3>(along);
    test::check_gradients<D3>(
        [=](auto x) {  // of the gradient
          const auto dx = gradients(sum(square(along(x))), x);
          return gradients(sum(square(dx)), x);
        },
        {-1.2, 1.2}, 1e-6);
    // Zeros: relu makes some of the elements.
    test::check_gradients<D3>([=](auto x) { return along(relu(x)); });
    test::check_gradients<D3>([=](auto x) { return gradients(sum(along(relu(x)) * x), x); });
  }
}
