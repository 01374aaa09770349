// SPDX-License-Identifier: Apache-2.0

// Reductions and what is composed of them, against plain loops.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/interpret/program.hpp>

#include "support/check_reductions.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;
using tf::Shape;

using namespace test;  // references: sum_of, prod_of...

template <class T, class S>
constexpr void numbers(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  TYPEFLOW_TEST_REDUCE(sum)
  TYPEFLOW_TEST_REDUCE(prod)
  TYPEFLOW_TEST_REDUCE(max)
  TYPEFLOW_TEST_REDUCE(min)
  tf::argmax<0>(x).named({"argmax", 1});
  tf::argmax<-1>(x, tf::keep_dims).named({"argmax", 2});
  tf::argmin<0>(x).named({"argmin", 1});
  tf::argmin<-1>(x, tf::keep_dims).named({"argmin", 2});
}
template <class S>
constexpr void truths(tf::Graph& g) {
  auto x = test::input<bool, S>(g, "x");
  TYPEFLOW_TEST_REDUCE(any)
  TYPEFLOW_TEST_REDUCE(all)
}

template <class S>
test::Outcome expected_numbers(const tf::HostTensor& x) {
  test::Outcome out;
  expect(out, "sum", x, x.dtype, sum_of);
  expect(out, "prod", x, x.dtype, prod_of);
  expect(out, "max", x, x.dtype, max_of);
  expect(out, "min", x, x.dtype, min_of);
  expect(out, "argmax", x, DType::int32, argmax_of, 1, 2);
  expect(out, "argmin", x, DType::int32, argmin_of, 1, 2);
  return out;
}
template <class T, class S>
void check_numbers(double tolerance = 0) {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor x = tensor_with_ties(tf::dtype_of<T>, S::dims);
  test::check_values<numbers<T, S>>({{"x", x}}, expected_numbers<S>(x), tolerance);
}

template <class S>
void check_truths() {
  test::Random random(2);
  tf::HostTensor x = tf::host_tensor(DType::boolean, S::dims);
  for (const double likely : {0.03, 0.5, 0.97}) {
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.chance(likely));
    test::Outcome out;
    expect(out, "any", x, DType::boolean, any_of);
    expect(out, "all", x, DType::boolean, all_of);
    test::check_values<truths<S>>({{"x", x}}, out);
  }
}

constexpr void batches(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 5>(g, "x");
  auto b = tf::placeholder<bool, tf::batch, 37>(g, "b");
  prod(x).named("prod");
  tf::prod<0>(x).named("columns");
  tf::prod<1>(x).named("middle");
  logsumexp(x).named("logsumexp");
  tf::logsumexp<0>(x).named("lse_columns");
  tf::moments<0>(x).variance.named("variance");
  tf::l2_normalize<1>(x).named("normal");
  tf::argmax<0>(x).named("argmax");
  any(b).named("any");
  tf::all<0>(b).named("all");
  tf::any<1>(b).named("any_row");
  tf::cast<float>(tf::all<1>(logical_or(b, tf::any<0>(b, tf::keep_dims)))).named("mixed");
  global_norm(x, tf::cast<float>(b)).named("global_norm");
  gradients(sum(tf::prod<0, 2>(x)), x).named("dprod");
}

/// Over nothing.
constexpr void nothing(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, 0>(g, "x");
  auto i = tf::placeholder<std::int16_t, 0, 3>(g, "i");
  auto b = tf::placeholder<bool, 0>(g, "b");
  tf::sum<1>(x).named("sum");
  tf::prod<1>(x).named("prod");
  tf::mean<1>(x).named("mean");
  tf::max<1>(x).named("max");
  tf::min<1>(x).named("min");
  tf::logsumexp<1>(x).named("logsumexp");
  tf::max<0>(i).named("imax");
  tf::min<0>(i).named("imin");
  tf::prod<0>(i).named("iprod");
  any(b).named("any");
  all(b).named("all");
}

constexpr void scalars(tf::Graph& g) {
  auto x = tf::placeholder<float>(g, "x");
  sum(x).named("sum");
  prod(x).named("prod");
  logsumexp(x).named("logsumexp");
  norm(x).named("norm");
  tf::moments(x).variance.named("variance");
}

constexpr void limits(tf::Graph& g) {
  auto x = tf::placeholder<float, 5, 20>(g, "x");
  tf::max<1>(x).named("max");
  tf::min<1>(x).named("min");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  tf::logsumexp<1>(x).named("logsumexp");
  tf::max<1>(transpose(tf::reshape<20, 5>(transpose(x)))).named("columns");
}

}  // namespace

// Every model has all of them; these are the shapes. Other types: test_reduction_types.cpp.
TEST_CASE("sum: values") {
  check_numbers<float, Shape<1>>(1e-6);
  check_numbers<float, Shape<131>>(1e-6);
}
TEST_CASE("prod: values") {
  check_numbers<float, Shape<3, 0, 2>>();
  check_numbers<float, Shape<5, 1, 3>>(1e-6);
}

TEST_CASE("max: values") {
  // Of NaN, infinities and equal zeros: a row each.
  tf::HostTensor x = tf::host_tensor(DType::float32, test::dims({5, 20}));
  for (std::int64_t i = 0; i < 20; ++i) {
    x.set(i, i == 7 ? NaN : i == 9 ? 3 : -1);
    x.set(20 + i, NaN);
    x.set(40 + i, i == 13 ? inf : i == 3 ? -inf : 0);
    x.set(60 + i, -inf);
    x.set(80 + i, i % 2 == 0 ? 1e30 : -1e30);
  }
  const auto of = [&](DType type, const Fold& f) { return folded(x, 2, false, type, f); };
  const tf::HostTensor largest = of(DType::float32, max_of);
  CHECK(std::isnan(largest.value(0)));
  test::check_values<limits>({{"x", x}},
                             {{"max", largest},
                              {"min", of(DType::float32, min_of)},
                              {"columns", largest},
                              {"argmax", test::ints({5}, {9, 0, 13, 0, 0})},
                              {"argmin", test::ints({5}, {0, 0, 3, 0, 1})},
                              {"logsumexp", of(DType::float32, logsumexp_of)}},
                             1e-6);
}

TEST_CASE("min: values") { check_numbers<float, Shape<2, 3, 37>>(1e-6); }

TEST_CASE("argmax: values") {
  const tf::HostTensors feeds{{"x", test::floats({0, 3, 5}, {})},
                              {"b", tf::host_tensor(DType::boolean, test::dims({0, 37}))}};
  CHECK(test::elements(test::Kernels<batches>().run(feeds).at("argmax")) == Elements(15, 0));
}

TEST_CASE("argmin: values") { check_numbers<double, Shape<40, 37>>(1e-14); }

TEST_CASE("logsumexp: values") {
  // Beyond those with mean and max: no overflow, whatever the size.
  const Elements x{1000, 1000, -1e4, 88, 1e30, -3, -inf, -inf, -1, inf, -inf, 5};
  tf::Graph g;
  auto input = tf::placeholder<double, 6, 2>(g, "x");
  tf::logsumexp<1>(input).named("y");
  gradients(sum(tf::logsumexp<1>(input)), input).named("dx");
  const tf::HostTensors feeds{{"x", test::doubles({6, 2}, x)}};
  test::check_interpreter(
      g, feeds, {{"y", test::doubles({6}, {1000 + std::log(2), 88, 1e30, -inf, inf, 5})}}, 1e-15);
  test::check_interpreter(
      g, feeds, {{"dx", test::doubles({6, 2}, {0.5, 0.5, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1})}}, 1e-12);
}

TEST_CASE("any: values") {
  check_truths<Shape<1>>();
  check_truths<Shape<131>>();
  check_truths<Shape<5, 1, 3>>();
}
TEST_CASE("all: values") {
  check_truths<Shape<2, 3, 37>>();
  check_truths<Shape<40, 37>>();
}

TEST_CASE("reductions over nothing, and of scalars") {
  const auto three = [](double x) { return test::floats({3}, {x, x, x}); };
  const auto shorts = [](double x) { return test::tensor(DType::int16, {3}, {x, x, x}); };
  const auto flag = [](double x) { return test::tensor(DType::boolean, {}, {x}); };
  test::check_values<nothing>({{"x", test::floats({3, 0}, {})},
                               {"i", test::tensor(DType::int16, {0, 3}, {})},
                               {"b", test::tensor(DType::boolean, {0}, {})}},
                              {{"sum", three(0)},
                               {"prod", three(1)},
                               {"mean", three(NaN)},
                               {"max", three(-inf)},
                               {"min", three(inf)},
                               {"logsumexp", three(-inf)},
                               {"imax", shorts(-32768)},
                               {"imin", shorts(32767)},
                               {"iprod", shorts(1)},
                               {"any", flag(0)},
                               {"all", flag(1)}});
  const auto number = [](double x) { return test::floats({}, {x}); };
  test::check_values<scalars>({{"x", number(-1.5)}}, {{"sum", number(-1.5)},
                                                      {"prod", number(-1.5)},
                                                      {"logsumexp", number(-1.5)},
                                                      {"norm", number(1.5)},
                                                      {"variance", number(0)}});
}

TEST_CASE("reductions of batches: kernels agree, with equal bits for any number of threads") {
  for (const std::int64_t batch : {1, 2, 17, 300}) {
    test::check_against_interpreter<batches>(batch, 2e-5);
  }
  for (const std::int64_t batch : {0, 1, 5, 4003}) test::check_threads<batches>(batch);
}

TEST_CASE("reductions of random shapes over random axes") {
  test::Random random(41);
  for (int round = 0; round < 60; ++round) {
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const auto axes = static_cast<unsigned>(random.below(1 << shape.rank));
    const bool keep = random.chance(0.5);
    const tf::HostTensor value = test::random_tensor(random, DType::float64, shape, -2, 2);
    const tf::HostTensor truth = test::map(value, [](double v) { return v < 1.5; }, DType::boolean);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", DType::float64, shape);
    const tf::AnyExpr b = test::input(g, "b", DType::boolean, shape);
    namespace ops = tf::ops;
    test::name(tf::reduce<ops::Sum>(x, axes, keep), "sum");
    test::name(tf::reduce<ops::Prod>(x, axes, keep), "prod");
    test::name(tf::reduce<ops::Mean>(x, axes, keep), "mean");
    test::name(tf::reduce<ops::Max>(x, axes, keep), "max");
    test::name(tf::reduce<ops::Min>(x, axes, keep), "min");
    test::name(tf::reduce<ops::LogSumExp>(x, axes, keep), "logsumexp");
    test::name(tf::reduce<ops::Any>(b, axes, keep), "any");
    test::name(tf::reduce<ops::All>(b, axes, keep), "all");
    REQUIRE(tf::ir::verify(g).view() == "");
    const auto of = [&](const Fold& f) { return folded(value, axes, keep, DType::float64, f); };
    const auto of_truth = [&](const Fold& f, double start) {
      return folded(truth, axes, keep, DType::boolean,
                    [&](const Elements& e) { return e.empty() ? start : f(e); });
    };
    test::check_interpreter(g, {{"x", value}, {"b", truth}},
                            {{"sum", of(sum_of)},
                             {"prod", of(prod_of)},
                             {"mean", of(mean_of)},
                             {"max", of(max_of)},
                             {"min", of(min_of)},
                             {"logsumexp", of(logsumexp_of)},
                             {"any", of_truth(any_of, 0)},
                             {"all", of_truth(all_of, 1)}},
                            1e-14);
  }
}

// 41 times the float nearest to 1 / 41 is less than 1.
TEST_CASE("the mean of equal numbers is that number") {
  tf::Graph g;
  tf::mean(tf::placeholder<float, tf::batch>(g, "x")).named("all");
  tf::mean<1>(tf::placeholder<float, 2, 41>(g, "y")).named("rows");
  tf::mean<0, 1>(tf::placeholder<double, 7, 7, 2>(g, "z")).named("images");
  tf::ir::ProgramInterpreter programs(g);
  for (const std::int64_t n : {1, 2, 3, 41, 47, 128, 1000, 1029}) {
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n);
    const tf::HostTensor x = test::floats({n}, std::vector<double>(size, 1));
    CHECK(programs.run({"all"}, {{"x", x}})[0].value(0) == 1);
  }
  const tf::HostTensor y = test::floats({2, 41}, std::vector<double>(82, 1000));
  CHECK(programs.run({"rows"}, {{"y", y}})[0].value(0) == 1000);
  const tf::HostTensor z = test::doubles({7, 7, 2}, std::vector<double>(98, 1));
  CHECK(programs.run({"images"}, {{"z", z}})[0].value(1) == 1);
}
