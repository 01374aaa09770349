// SPDX-License-Identifier: Apache-2.0

// softmax, log_softmax, softmax_cross_entropy, dropout and dense.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/check_gradients.hpp"
#include "support/check_values.hpp"

namespace {

namespace tf = typeflow;
using test::check_gradients;
using Row = tf::Shape<4>;
using Matrix = tf::Shape<3, 4>;
using Cube = tf::Shape<2, 3, 4>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// References: a row's log(sum(exp(x))), in long double.

/// The largest element along an axis through element i, and log(sum(exp(x - largest))).
struct LogSum {
  long double largest;
  long double log_sum;
};
LogSum log_sum_exp(const tf::HostTensor& x, std::int64_t i, int axis) {
  std::vector<std::int64_t> at = test::coordinates(i, x.dims);
  const auto each = [&](const auto& f) {
    for (std::int64_t k = 0; k < x.dims.extent[axis]; ++k) {
      at[static_cast<std::size_t>(axis)] = k;
      f(static_cast<long double>(x.value(test::position(at, x.dims))));
    }
  };
  long double largest = -infinity;
  each([&](long double e) { largest = e > largest || e != e ? e : largest; });
  long double total = 0;
  each([&](long double e) { total += std::exp(e - largest); });
  return {largest, std::log(total)};
}
tf::HostTensor log_softmax_of(const tf::HostTensor& x, int axis) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const LogSum row = log_sum_exp(x, i, axis);
    y.set(i, static_cast<double>(x.value(i) - row.largest - row.log_sum));
  }
  return y;
}
tf::HostTensor softmax_of(const tf::HostTensor& x, int axis) {
  tf::HostTensor y = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const LogSum row = log_sum_exp(x, i, axis);
    y.set(i, static_cast<double>(std::exp(x.value(i) - row.largest - row.log_sum)));
  }
  return y;
}
/// One number for each row of the last axis: f(row, its first element).
template <class F>
tf::HostTensor of_rows(const tf::HostTensor& x, const F& f) {
  tf::Dims rows = x.dims;
  --rows.rank;
  const std::int64_t n = x.dims.extent[rows.rank];
  tf::HostTensor y = tf::host_tensor(x.dtype, rows);
  for (std::int64_t row = 0; row < y.size(); ++row) {
    y.set(row, static_cast<double>(f(row, row * n)));
  }
  return y;
}
tf::HostTensor cross_entropy_of(const tf::HostTensor& x, const tf::HostTensor& labels) {
  const int axis = x.dims.rank - 1;
  return of_rows(x, [&](std::int64_t, std::int64_t first) {
    long double loss = 0;
    for (std::int64_t i = first; i < first + x.dims.extent[axis]; ++i) {
      const LogSum row = log_sum_exp(x, i, axis);
      loss -= labels.value(i) * (x.value(i) - row.largest - row.log_sum);
    }
    return loss;
  });
}
tf::HostTensor cross_entropy_of_classes(const tf::HostTensor& x, const tf::HostTensor& classes) {
  const int axis = x.dims.rank - 1;
  return of_rows(x, [&](std::int64_t row, std::int64_t first) -> long double {
    const double label = classes.value(row);
    if (label < 0 || label >= static_cast<double>(x.dims.extent[axis])) return not_a_number;
    const LogSum sum = log_sum_exp(x, first, axis);
    return sum.largest + sum.log_sum - x.value(first + static_cast<std::int64_t>(label));
  });
}

template <class T, class S>
constexpr void softmaxes(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  softmax(x).named("softmax");
  tf::softmax<0>(x).named("softmax_0");
  tf::softmax<-S::rank>(x).named("softmax_first");
}
template <class T, class S>
constexpr void log_softmaxes(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  log_softmax(x).named("log_softmax");
  tf::log_softmax<0>(x).named("log_softmax_0");
  log(softmax(x)).named("log_of_softmax");
}

template <class T, class S>
tf::HostTensors feeds_of(double low = -5, double high = 5) {
  return test::random_feeds<softmaxes<T, S>>(6, 3, low, high);
}
template <class T, class S>
void check_softmax(double tolerance, const tf::HostTensors& feeds = feeds_of<T, S>()) {
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor first = softmax_of(x, 0);
  test::check_values<softmaxes<T, S>>(
      feeds,
      {{"softmax", softmax_of(x, S::rank - 1)}, {"softmax_0", first}, {"softmax_first", first}},
      tolerance);
}
template <class T, class S>
void check_log_softmax(double tolerance, const tf::HostTensors& feeds = feeds_of<T, S>()) {
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor last = log_softmax_of(x, S::rank - 1);
  test::check_values<log_softmaxes<T, S>>(
      feeds,
      {{"log_softmax", last}, {"log_softmax_0", log_softmax_of(x, 0)}, {"log_of_softmax", last}},
      tolerance);
}
/// Rows with infinities, NaN, and differences that exp can't hold.
tf::HostTensors extreme(tf::DType type) {
  return {{"x", test::tensor(type, {6, 3},
                             {1e4, 1e4, -1e4, -infinity, 0, 1, infinity, 0, 0, not_a_number, 0, 1,
                              -1e4, -1e4, -1e4, -infinity, -infinity, -infinity})}};
}

/// f(untyped x, axis) for shapes drawn by chance.
template <class F, class Reference>
void check_random_shapes(const F& f, const Reference& reference) {
  test::Random random(5);
  for (int i = 0; i < 30; ++i) {
    const tf::Dims shape = test::random_shape(random, 1 + random.below(4));
    const int axis = random.below(shape.rank);
    CAPTURE(axis);
    tf::Graph g;
    const tf::AnyExpr x = test::input(g, "x", tf::DType::float64, shape);
    test::name(f(x, static_cast<unsigned>(axis)), "y");
    const tf::HostTensors feeds{
        {"x", test::random_tensor(random, tf::DType::float64, shape, -3, 3)}};
    test::check_interpreter(g, feeds, {{"y", reference(feeds.at("x"), axis)}}, 1e-13);
  }
}

}  // namespace

TEST_CASE("softmax: values") {
  check_softmax<float, tf::Shape<1>>(1e-6);
  check_softmax<double, tf::Shape<37>>(1e-14);
  check_softmax<float, tf::Shape<3, 0, 2>>(0);
  check_softmax<float, tf::Shape<5, 1, 3>>(1e-6);
  check_softmax<float, tf::Shape<tf::batch, 131>>(1e-6);
  check_softmax<double, tf::Shape<2, tf::batch, 3>>(1e-14);
  check_softmax<tf::float16, tf::Shape<3, 10>>(2e-3);
  check_softmax<tf::bfloat16, tf::Shape<3, 10>>(2e-2);
  check_softmax<float, tf::Shape<6, 3>>(1e-6, extreme(tf::DType::float32));
  check_softmax<double, tf::Shape<6, 3>>(1e-14, extreme(tf::DType::float64));
  check_random_shapes([](auto x, unsigned axis) { return softmax_along(x, axis); }, softmax_of);
}

TEST_CASE("log_softmax: values") {
  check_log_softmax<float, tf::Shape<1>>(1e-6);
  check_log_softmax<double, tf::Shape<37>>(1e-14);
  check_log_softmax<float, tf::Shape<3, 0, 2>>(0);
  check_log_softmax<float, tf::Shape<5, 1, 3>>(1e-6);
  check_log_softmax<float, tf::Shape<tf::batch, 131>>(1e-6);
  check_log_softmax<tf::float16, tf::Shape<3, 10>>(4e-3);
  check_log_softmax<tf::bfloat16, tf::Shape<3, 10>>(3e-2);
  check_log_softmax<float, tf::Shape<6, 3>>(1e-6, extreme(tf::DType::float32));
  check_log_softmax<double, tf::Shape<6, 3>>(1e-14, extreme(tf::DType::float64));
  check_random_shapes([](auto x, unsigned axis) { return log_softmax_along(x, axis); },
                      log_softmax_of);
}

TEST_CASE("softmax: gradient") {
  check_gradients<Row>([](auto x) { return softmax(x); });
  check_gradients<Cube>([](auto x) { return softmax(x); });
  check_gradients<Cube>([](auto x) { return tf::softmax<0>(x); });
  check_gradients<Cube>([](auto x) { return tf::softmax<1>(x); });
  check_gradients<Matrix>([](auto x) { return gradients(sum(square(softmax(x))), x); });
}

TEST_CASE("log_softmax: gradient") {
  check_gradients<Row>([](auto x) { return log(softmax(x)); });
  check_gradients<Cube>([](auto x) { return log_softmax(x); });
  check_gradients<Cube>([](auto x) { return tf::log_softmax<0>(x); });
  check_gradients<Matrix>([](auto x) { return gradients(sum(square(log_softmax(x))), x); });
}

namespace {

template <class T, class S>
constexpr void cross_entropies(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  auto labels = test::input<T, S>(g, "labels");
  softmax_cross_entropy(x, labels).named("loss");
}
template <class T, class I, class S, class Rows>
constexpr void sparse_cross_entropies(tf::Graph& g) {
  auto x = test::input<T, S>(g, "x");
  auto classes = test::input<I, Rows>(g, "classes");
  auto loss = softmax_cross_entropy(x, classes).named("loss");
  gradients(sum(loss), x).named("dx");
}

template <class T, class S>
void check_cross_entropy(double tolerance) {
  // Labels below 0 and of other sums than 1 are taken as they are.
  const tf::HostTensors feeds = test::random_feeds<cross_entropies<T, S>>(6);
  test::check_values<cross_entropies<T, S>>(
      feeds, {{"loss", cross_entropy_of(feeds.at("x"), feeds.at("labels"))}}, tolerance);
}
template <class T, class I, class S, class Rows>
void check_sparse_cross_entropy(double tolerance) {
  constexpr auto model = sparse_cross_entropies<T, I, S, Rows>;
  const tf::HostTensors feeds = test::random_feeds<model>(6);  // classes from 0 to 9
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& classes = feeds.at("classes");
  tf::HostTensor dx = softmax_of(x, S::rank - 1);
  const std::int64_t n = x.dims.extent[x.dims.rank - 1];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto label = static_cast<std::int64_t>(classes.value(i / n));
    dx.set(i, label < n ? dx.value(i) - (i % n == label ? 1 : 0) : not_a_number);
  }
  test::check_values<model>(feeds, {{"loss", cross_entropy_of_classes(x, classes)}, {"dx", dx}},
                            tolerance);
}

constexpr void classes_out_of_range(tf::Graph& g) {
  auto x = tf::placeholder<double, 4, 3>(g, "x");
  auto classes = tf::placeholder<std::int64_t, 4>(g, "classes");
  softmax_cross_entropy(x, classes).named("loss");
}

}  // namespace

TEST_CASE("softmax_cross_entropy: values") {
  check_cross_entropy<float, tf::Shape<1>>(1e-6);
  check_cross_entropy<double, tf::Shape<37>>(1e-14);
  check_cross_entropy<float, tf::Shape<3, 2, 0>>(0);
  check_cross_entropy<float, tf::Shape<tf::batch, 131>>(3e-6);
  check_cross_entropy<double, tf::Shape<2, 3, 1>>(1e-14);
  check_cross_entropy<tf::float16, tf::Shape<3, 10>>(1e-2);
  check_cross_entropy<tf::bfloat16, tf::Shape<3, 10>>(6e-2);
  // Of 7 classes, so that labels from 7 to 9 are none.
  check_sparse_cross_entropy<float, std::int32_t, tf::Shape<tf::batch, 7>, tf::Shape<tf::batch>>(
      3e-6);
  check_sparse_cross_entropy<double, std::int64_t, tf::Shape<5, 3, 7>, tf::Shape<5, 3>>(1e-14);
  check_sparse_cross_entropy<float, std::uint8_t, tf::Shape<131>, tf::Shape<>>(3e-6);
  check_sparse_cross_entropy<float, std::int8_t, tf::Shape<0, 7>, tf::Shape<0>>(0);
  const tf::HostTensors feeds{
      {"x", test::doubles({4, 3}, {1, 2, 3, 1, 2, 3, 1e4, -1e4, 0, 1, 2, 3})},
      {"classes", test::tensor(tf::DType::int64, {4}, {-1, 3, 1, std::pow(2., 32)})}};
  test::check_values<classes_out_of_range>(
      feeds, {{"loss", test::doubles({4}, {not_a_number, not_a_number, 2e4, not_a_number})}},
      1e-14);
}

TEST_CASE("softmax_cross_entropy: gradient") {
  // Labels that do not sum to 1: the gradient must hold for them, too.
  check_gradients<Matrix, Matrix>([](auto x, auto y) { return softmax_cross_entropy(x, y); },
                                  {0.2, 2});
  check_gradients<Row, Row>([](auto x, auto y) { return softmax_cross_entropy(x, y); }, {0.2, 2});
  check_gradients<Cube, Cube>([](auto x, auto y) { return softmax_cross_entropy(x, y); });
  check_gradients<Matrix>([](auto x) {
    auto labels = tf::constant<std::int32_t, 3>(x.graph(), {3, 0, 2});
    return softmax_cross_entropy(x, labels);
  });
  check_gradients<Row>(
      [](auto x) { return softmax_cross_entropy(x, tf::constant<std::int64_t>(x.graph(), 1)); });
}

namespace {

constexpr void dropouts(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 37>(g, "x");
  auto keep = tf::placeholder<double>(g, "keep");
  auto y = dropout(x).named("half");
  dropout(x, {.keep = 0.75, .name = "other"}).named("most");
  dropout(x, {.keep = keep, .name = "fed"}).named("fed_share");
  dropout(tf::cast<double>(x), {.keep = 0.75, .name = "wide"}).named("wide_share");
  gradients(sum(3 * y), x).named("dx");
}

/// x / keep where the generator's number for this element is less than keep, else 0.
template <class T>
tf::HostTensor dropout_of(const tf::HostTensor& x, const char* name, double keep,
                          std::uint64_t draw) {
  tf::HostTensor y = tf::host_tensor(tf::dtype_of<T>, x.dims);
  const std::uint64_t key = tf::random_key(7, tf::hash(name));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const T u = tf::uniform_element<T>(key, draw, static_cast<std::uint64_t>(i));
    y.set(i, u < static_cast<T>(keep) ? x.value(i) / keep : 0);
  }
  return y;
}

}  // namespace

TEST_CASE("dropout: values") {
  tf::HostTensors feeds = test::random_feeds<dropouts>(40);
  const tf::HostTensor& x = feeds.at("x");
  tf::Graph g;
  dropouts(g);
  for (const int threads : {1, 3}) {
    test::Kernels<dropouts> kernels(threads);
    std::uint64_t draw = 0;
    for (const double keep : {0.25, 1., 0.}) {
      CAPTURE(keep);
      feeds["keep"] = test::doubles({}, {keep});
      const tf::HostTensors interpreted = tf::interpret(g, feeds, {}, {7, draw});
      for (const test::Outcome& got :
           {kernels.run(feeds), test::Outcome(interpreted.begin(), interpreted.end())}) {
        test::check_close("half", got.at("half"), dropout_of<float>(x, "dropout", 0.5, draw), 1e-6);
        test::check_close("most", got.at("most"), dropout_of<float>(x, "other", 0.75, draw), 1e-6);
        test::check_close("fed", got.at("fed_share"), dropout_of<float>(x, "fed", keep, draw),
                          1e-6);
        test::check_close("wide", got.at("wide_share"), dropout_of<double>(x, "wide", 0.75, draw),
                          1e-14);
      }
      ++draw;
    }
  }
  test::Kernels<dropouts, tf::inference> kernels;
  const test::Outcome got = kernels.run(feeds);
  for (const char* name : {"half", "most", "fed_share"}) {
    if (got.count(name) != 0) test::check_close(name, got.at(name), x, 0);
  }
}

TEST_CASE("dropout: gradient") {
  tf::HostTensors feeds = test::random_feeds<dropouts>(4);
  test::Kernels<dropouts> kernels;
  const test::Outcome got = kernels.run(feeds);
  int dropped = 0;
  for (std::int64_t i = 0; i < feeds.at("x").size(); ++i) {
    const bool kept = got.at("half").value(i) != 0;
    dropped += kept ? 0 : 1;
    CHECK(got.at("dx").value(i) == (kept ? 6 : 0));
  }
  CHECK(dropped > 40);
}

namespace {

constexpr void dense_layers(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 5>(g, "x");
  const tf::Dense<5, 3, double> layer(g, "twice", {.bias = tf::uniform(-1, 1)});
  auto y = tf::dense<3>(g, "fc", x, {.bias = tf::uniform(-1, 1)}).named("y");
  auto z = (layer(x) + layer(2 * x)).named("z");
  gradients(sum(y), x).named("dy_dx");
  auto [dW, db] = gradients(sum(z), layer.weights(), layer.bias());
  dW.named("dW");
  db.named("db");
}

/// x W + times b
tf::HostTensor affine(const tf::HostTensor& x, const tf::HostTensor& W, const tf::HostTensor& b,
                      double times) {
  const std::int64_t inputs = W.dims.extent[0];
  const std::int64_t outputs = W.dims.extent[1];
  tf::HostTensor y = tf::host_tensor(x.dtype, test::dims({x.dims.extent[0], outputs}));
  for (std::int64_t i = 0; i < y.size(); ++i) {
    double total = times * b.value(i % outputs);
    for (std::int64_t k = 0; k < inputs; ++k) {
      total += x.value(i / outputs * inputs + k) * W.value(k * outputs + i % outputs);
    }
    y.set(i, total);
  }
  return y;
}

/// Calls f(x, what kernels computed, the same interpreted).
template <class F>
void each_dense(const F& f) {
  for (const std::int64_t batch : {1, 7, 0}) {
    CAPTURE(batch);
    const tf::HostTensors feeds = test::random_feeds<dense_layers>(batch);
    test::Kernels<dense_layers> kernels;
    tf::Graph g;
    dense_layers(g);
    const tf::HostTensors variables = kernels.values();
    test::Outcome interpreted;
    for (const auto& [name, value] : tf::interpret(g, feeds, variables)) interpreted[name] = value;
    for (const auto& [name, value] : variables) interpreted[name] = value;
    f(feeds.at("x"), kernels.run(feeds));
    f(feeds.at("x"), interpreted);
  }
}

}  // namespace

TEST_CASE("dense: values") {
  each_dense([](const tf::HostTensor& x, const test::Outcome& got) {
    test::check_close("y", got.at("y"), affine(x, got.at("fc/W"), got.at("fc/b"), 1), 1e-14);
    const tf::HostTensor three = test::map(x, [](double e) { return 3 * e; });
    test::check_close("z", got.at("z"), affine(three, got.at("twice/W"), got.at("twice/b"), 2),
                      1e-14);
    bool varied = false;
    for (std::int64_t i = 1; i < 15; ++i) {
      varied |= got.at("fc/W").value(i) != got.at("fc/W").value(0);
    }
    CHECK(varied);
  });
}

TEST_CASE("dense: gradient") {
  each_dense([](const tf::HostTensor& x, const test::Outcome& got) {
    const std::int64_t rows = x.dims.extent[0];
    for (std::int64_t i = 0; i < x.size(); ++i) {
      double total = 0;  // of the row of W
      for (std::int64_t j = 0; j < 3; ++j) total += got.at("fc/W").value(i % 5 * 3 + j);
      CHECK(got.at("dy_dx").value(i) == doctest::Approx(total));
    }
    for (std::int64_t i = 0; i < 15; ++i) {
      double total = 0;
      for (std::int64_t row = 0; row < rows; ++row) total += 3 * x.value(row * 5 + i / 3);
      CHECK(got.at("dW").value(i) == doctest::Approx(total));
    }
    for (std::int64_t j = 0; j < 3; ++j) {
      CHECK(got.at("db").value(j) == 2 * static_cast<double>(rows));
    }
  });
}
