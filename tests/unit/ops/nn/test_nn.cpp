// SPDX-License-Identifier: Apache-2.0

// softmax_cross_entropy, dropout and dense.

#include <doctest/doctest.h>

#include <algorithm>
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

// References, in long double.

/// log(sum(exp(x))) of the n elements from `first` on, as the largest and what is added to it.
struct LogSum {
  long double largest;
  long double log_sum;
};
LogSum log_sum_exp(const tf::HostTensor& x, std::int64_t first, std::int64_t n) {
  long double largest = -infinity;
  for (std::int64_t i = first; i < first + n; ++i) {
    largest = std::max(largest, static_cast<long double>(x.value(i)));
  }
  long double total = 0;
  for (std::int64_t i = first; i < first + n; ++i) total += std::exp(x.value(i) - largest);
  return {largest, std::log(total)};
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
    const LogSum row = log_sum_exp(x, first, x.dims.extent[axis]);
    long double loss = 0;
    for (std::int64_t i = first; i < first + x.dims.extent[axis]; ++i) {
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
    const LogSum sum = log_sum_exp(x, first, x.dims.extent[axis]);
    return sum.largest + sum.log_sum - x.value(first + static_cast<std::int64_t>(label));
  });
}

}  // namespace

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
  softmax_cross_entropy(x, classes).named("loss");
  gradients(sum(softmax_cross_entropy(x, classes)), x).named("dx");
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
  const std::int64_t n = x.dims.extent[x.dims.rank - 1];
  tf::HostTensor dx = tf::host_tensor(x.dtype, x.dims);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const LogSum row = log_sum_exp(x, i / n * n, n);
    const auto share = static_cast<double>(std::exp(x.value(i) - row.largest - row.log_sum));
    const auto label = static_cast<std::int64_t>(classes.value(i / n));
    dx.set(i, label < n ? share - (i % n == label ? 1 : 0) : not_a_number);
  }
  test::check_values<model>(feeds, {{"loss", cross_entropy_of_classes(x, classes)}, {"dx", dx}},
                            tolerance);
}

/// Along each axis, and of labels that broadcast.
constexpr void along_axes(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, 3, 4>(g, "x");
  auto labels = tf::placeholder<double, 3, 1>(g, "labels");
  auto classes = tf::placeholder<std::int32_t, 2, 1>(g, "classes");
  tf::softmax_cross_entropy<0>(x, labels).named("dense_0");
  tf::softmax_cross_entropy<-2>(x, labels).named("dense_1");
  tf::softmax_cross_entropy<2>(x, labels).named("dense_2");
  tf::softmax_cross_entropy<1>(x, classes).named("sparse_1");
}

constexpr void classes_out_of_range(tf::Graph& g) {
  auto x = tf::placeholder<double, 5, 3>(g, "x");
  auto classes = tf::placeholder<std::int64_t, 5>(g, "classes");
  softmax_cross_entropy(x, classes).named("loss");
}

}  // namespace

TEST_CASE("softmax_cross_entropy: values") {
  check_cross_entropy<float, tf::Shape<1>>(1e-6);
  check_cross_entropy<double, tf::Shape<37>>(1e-14);
  check_cross_entropy<float, tf::Shape<3, 0, 2>>(0);
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
  {
    tf::HostTensors feeds = test::random_feeds<along_axes>(1);
    feeds["classes"] = test::tensor(tf::DType::int32, {2, 1}, {2, 3});
    const tf::HostTensor& x = feeds.at("x");
    // log(softmax(x))[i][j][k] along an axis, and the losses from it.
    const std::int64_t n[] = {2, 3, 4};
    const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
      return static_cast<long double>(x.value((i * 3 + j) * 4 + k));
    };
    const auto log_softmax_at = [&](int axis, std::int64_t i, std::int64_t j, std::int64_t k) {
      long double total = 0;
      for (std::int64_t c = 0; c < n[axis]; ++c) {
        total += std::exp(at(axis == 0 ? c : i, axis == 1 ? c : j, axis == 2 ? c : k));
      }
      return at(i, j, k) - std::log(total);
    };
    tf::HostTensor dense[] = {test::doubles({3, 4}, std::vector<double>(12)),
                              test::doubles({2, 4}, std::vector<double>(8)),
                              test::doubles({2, 3}, std::vector<double>(6))};
    tf::HostTensor sparse = dense[1];
    for (std::int64_t i = 0; i < 2; ++i) {
      const double label = feeds.at("classes").value(i);  // 3 is none
      for (std::int64_t j = 0; j < 3; ++j) {
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t rows[] = {j * 4 + k, i * 4 + k, i * 3 + j};
          for (int axis = 0; axis < 3; ++axis) {
            const double weight = feeds.at("labels").value(j);
            const double loss = -weight * static_cast<double>(log_softmax_at(axis, i, j, k));
            dense[axis].set(rows[axis], dense[axis].value(rows[axis]) + loss);
          }
          if (label > 2) sparse.set(rows[1], not_a_number);
          if (label == static_cast<double>(j)) {
            sparse.set(rows[1], -static_cast<double>(log_softmax_at(1, i, j, k)));
          }
        }
      }
    }
    test::check_values<along_axes>(
        feeds,
        {{"dense_0", dense[0]}, {"dense_1", dense[1]}, {"dense_2", dense[2]}, {"sparse_1", sparse}},
        1e-13);
  }
  // Beside 1e20 a logarithm is nothing.
  const tf::HostTensors feeds{
      {"x", test::doubles({5, 3}, {1, 2, 3, 1, 2, 3, 1e4, -1e4, 0, 1, 2, 3, 1e20, 1e20, 0})},
      {"classes", test::tensor(tf::DType::int64, {5}, {-1, 3, 1, std::pow(2., 32), 1})}};
  const double log_2 = std::log(2.);
  test::check_values<classes_out_of_range>(
      feeds, {{"loss", test::doubles({5}, {not_a_number, not_a_number, 2e4, not_a_number, log_2})}},
      1e-14);
  test::check_values<cross_entropies<double, tf::Shape<3>>>(
      {{"x", test::doubles({3}, {1e20, 1e20, 0})}, {"labels", test::doubles({3}, {0.25, 0.75, 0})}},
      {{"loss", test::doubles({}, {log_2})}}, 1e-14);
}

TEST_CASE("softmax_cross_entropy: gradient") {
  // Labels that do not sum to 1: the gradient must hold for them, too.
  check_gradients<Matrix, Matrix>([](auto x, auto y) { return softmax_cross_entropy(x, y); },
                                  {0.2, 2});
  check_gradients<Row, Row>([](auto x, auto y) { return softmax_cross_entropy(x, y); }, {0.2, 2});
  check_gradients<Cube, Cube>([](auto x, auto y) { return softmax_cross_entropy(x, y); });
  check_gradients<Cube, tf::Shape<3, 1>>(
      [](auto x, auto y) { return tf::softmax_cross_entropy<0>(x, y); });
  check_gradients<Cube, tf::Shape<4>>(
      [](auto x, auto y) { return tf::softmax_cross_entropy<1>(x, y); });
  check_gradients<Matrix>([](auto x) {
    auto label = tf::constant<std::int32_t>(x.graph(), 2);
    return tf::softmax_cross_entropy<0>(x, label);
  });
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
  dropout(x).named("half");
  dropout(x, {.keep = 0.75, .name = "most"});
  dropout(x, {.keep = keep, .name = "fed_share"});
  dropout(tf::cast<double>(x), {.keep = 0.75, .name = "wide_share"});
  auto halves = tf::cast<tf::bfloat16>(floor(4 * x));
  dropout(halves, {.keep = 0.5, .name = "of_halves"});
}
constexpr void dropout_gradient(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 37>(g, "x");
  auto y = dropout(x).named("half");
  gradients(sum(3 * y), x).named("dx");
}

/// x / keep where the generator's number for this element is less than keep, else 0.
template <class T>
tf::HostTensor dropout_of(const tf::HostTensor& x, std::string_view path, double keep,
                          std::uint64_t draw) {
  tf::HostTensor y = tf::host_tensor(tf::dtype_of<T>, x.dims);
  const std::uint64_t key = tf::random_key(7, tf::hash(path));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const T u = tf::uniform_element<T>(key, draw, static_cast<std::uint64_t>(i));
    y.set(i, u < static_cast<T>(keep) ? x.value(i) / keep : 0);
  }
  return y;
}
/// The path of the first dropout without a label.
constexpr std::string_view unlabelled("\0dropout", 8);

}  // namespace

TEST_CASE("dropout: values") {
  tf::HostTensors feeds = test::random_feeds<dropouts>(40);
  const tf::HostTensor& x = feeds.at("x");
  tf::Graph g;
  dropouts(g);
  for (const int threads : {1, 3}) {
    test::Kernels<dropouts> kernels(threads);
    std::uint64_t draw = 0;
    for (const double keep : {0.25, 1., 0.0625}) {
      CAPTURE(keep);
      feeds["keep"] = test::doubles({}, {keep});
      const tf::HostTensors interpreted = tf::interpret(g, feeds, {}, {7, draw});
      for (const test::Outcome& got :
           {kernels.run(feeds), test::Outcome(interpreted.begin(), interpreted.end())}) {
        test::check_close("half", got.at("half"), dropout_of<float>(x, unlabelled, 0.5, draw),
                          1e-6);
        test::check_close("most", got.at("most"), dropout_of<float>(x, "most", 0.75, draw), 1e-6);
        test::check_close("fed", got.at("fed_share"), dropout_of<float>(x, "fed_share", keep, draw),
                          1e-6);
        test::check_close("wide", got.at("wide_share"),
                          dropout_of<double>(x, "wide_share", 0.75, draw), 1e-14);
        const auto floors = test::map(x, [](double e) { return std::floor(4 * e); });
        tf::HostTensor halves = dropout_of<float>(floors, "of_halves", 0.5, draw);
        halves.dtype = tf::DType::bfloat16;
        test::check_close("halves", got.at("of_halves"), halves, 0);
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
  tf::HostTensors feeds = test::random_feeds<dropout_gradient>(4);
  test::Kernels<dropout_gradient, tf::debug> kernels;  // which keeps what it names
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
  tf::dense<3>(g, "fc", x, {.bias = tf::uniform(-1, 1)}).named("y");
  (layer(x) + layer(2 * x)).named("z");
  auto [dx, dW, db] = gradients(sum(layer(x) + layer(2 * x)), x, layer.weights(), layer.bias());
  dx.named("dx");
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
      double total = 0;
      for (std::int64_t j = 0; j < 3; ++j) total += 3 * got.at("twice/W").value(i % 5 * 3 + j);
      CHECK(got.at("dx").value(i) == doctest::Approx(total));
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
