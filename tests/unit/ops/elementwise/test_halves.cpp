// SPDX-License-Identifier: Apache-2.0

// What is made of several operations, of bfloat16 and float16: computed in float and rounded once,
// so that sums which no float16 can hold on the way are right. Models of 16-bit numbers learn.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "support/check_halves.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;

constexpr tf::Extent rows = 6;
constexpr tf::Extent columns = 400;

template <class T>
constexpr void functions(tf::Graph& g) {
  auto x = tf::placeholder<T, rows, columns>(g, "x");
  auto labels = tf::placeholder<T, rows, columns>(g, "labels");
  auto classes = tf::placeholder<std::uint8_t, rows>(g, "classes");
  mean<1>(x).named("mean");
  mean(x).named("mean_of_all");
  logsumexp<1>(x).named("logsumexp");
  const auto [centre, variance] = tf::moments<1>(x);
  centre.named("centre");
  variance.named("variance");
  norm<1>(x).named("norm");
  tf::global_norm(x, labels).named("global_norm");
  tf::l2_loss(labels).named("l2_loss");
  tf::l2_normalize<1>(x).named("l2_normalize");
  softmax(x).named("softmax");
  softmax<0>(x).named("softmax_0");
  log_softmax(x).named("log_softmax");
  log(softmax(x)).named("log_of_softmax");
  softmax_cross_entropy(x, labels).named("dense");
  softmax_cross_entropy(x, classes).named("sparse");
  gradients(sum(softmax_cross_entropy(x, classes)), x).named("dx");
  gradients(sum(logsumexp<1>(x)), x).named("softmax_too");
  gradients(sum(mean<1>(x)), x).named("one_nth");
}

using Row = std::vector<double>;

double sum_of(const Row& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double squares_of(const Row& x) { return std::inner_product(x.begin(), x.end(), x.begin(), 0.0); }
double log_sum_exp(const Row& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double total = 0;
  for (const double e : x) total += std::exp(e - largest);
  return largest + std::log(total);
}

template <class T>
void check_functions() {
  INFO(tf::name_of(tf::dtype_of<T>));
  constexpr DType type = tf::dtype_of<T>;
  test::Random random(4);
  // Row 0 sums to more than float16's largest number, row 1 is zeros, row 2's squares are large.
  tf::HostTensor x = tf::host_tensor(type, test::dims({rows, columns}));
  tf::HostTensor labels = x;
  tf::HostTensor classes = tf::host_tensor(DType::uint8, test::dims({rows}));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto row = i / columns;
    x.set(i, row == 0   ? random.uniform(290, 310)
             : row == 1 ? 0
             : row == 2 ? random.uniform(-60, 60)
                        : random.uniform(-4, 4));
    labels.set(i, random.uniform(0, 0.005));
  }
  for (std::int64_t i = 0; i < rows; ++i) classes.set(i, 255.0 - 40.0 * static_cast<double>(i));
  const tf::HostTensors feeds{{"x", x}, {"labels", labels}, {"classes", classes}};

  const auto row_of = [&](const tf::HostTensor& t, std::int64_t r) {
    Row row;
    for (std::int64_t j = 0; j < columns; ++j) row.push_back(t.value(r * columns + j));
    return row;
  };
  const auto per_row = [&](const auto& f) {
    tf::HostTensor y = tf::host_tensor(type, test::dims({rows}));
    for (std::int64_t r = 0; r < rows; ++r) y.set(r, f(r, row_of(x, r)));
    return y;
  };
  const auto per_element = [&](const auto& f) {
    tf::HostTensor y = tf::host_tensor(type, x.dims);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Row row = row_of(x, r);
      for (std::int64_t j = 0; j < columns; ++j) {
        y.set(r * columns + j, f(r, row, row[static_cast<std::size_t>(j)], j));
      }
    }
    return y;
  };
  const auto scalar = [&](double value) { return test::tensor(type, {}, {value}); };
  const Row all = test::elements(x);
  const Row all_labels = test::elements(labels);
  const auto mean_of = [](auto, const Row& row) { return sum_of(row) / columns; };
  const auto softmax_of = [](auto, const Row& row, double e, auto) {
    return std::exp(e - log_sum_exp(row));
  };
  const auto log_softmax_of = [](auto, const Row& row, double e, auto) {
    return e - log_sum_exp(row);
  };
  const auto label = [&](std::int64_t r) { return static_cast<std::int64_t>(classes.value(r)); };
  const test::Outcome expected{
      {"mean", per_row(mean_of)},
      {"mean_of_all", scalar(sum_of(all) / (rows * columns))},
      {"logsumexp", per_row([](auto, const Row& row) { return log_sum_exp(row); })},
      {"centre", per_row(mean_of)},
      {"variance", per_row([](auto, const Row& row) {
         const double mean = sum_of(row) / columns;
         double total = 0;
         for (const double e : row) total += (e - mean) * (e - mean);
         return total / columns;
       })},
      {"norm", per_row([](auto, const Row& row) { return std::sqrt(squares_of(row)); })},
      {"global_norm", scalar(std::sqrt(squares_of(all) + squares_of(all_labels)))},
      {"l2_loss", scalar(squares_of(all_labels) / 2)},
      {"l2_normalize", per_element([](auto, const Row& row, double e, auto) {
         return e == 0 ? 0 : e / std::sqrt(squares_of(row));
       })},
      {"softmax", per_element(softmax_of)},
      {"softmax_0", per_element([&](auto, const Row&, double e, std::int64_t j) {
         Row column;
         for (std::int64_t k = 0; k < rows; ++k) column.push_back(x.value(k * columns + j));
         return std::exp(e - log_sum_exp(column));
       })},
      {"log_softmax", per_element(log_softmax_of)},
      {"log_of_softmax", per_element(log_softmax_of)},
      {"dense", per_row([&](std::int64_t r, const Row& row) {
         const Row y = row_of(labels, r);
         return log_sum_exp(row) * sum_of(y) -
                std::inner_product(row.begin(), row.end(), y.begin(), 0.0);
       })},
      {"sparse", per_row([&](std::int64_t r, const Row& row) {
         return log_sum_exp(row) - row[static_cast<std::size_t>(label(r))];
       })},
      {"dx", per_element([&](std::int64_t r, const Row& row, double e, std::int64_t j) {
         return std::exp(e - log_sum_exp(row)) - (j == label(r) ? 1 : 0);
       })},
      {"softmax_too", per_element(softmax_of)},
      {"one_nth", per_element([](auto, const Row&, double, auto) { return 1.0 / columns; })}};

  tf::Graph graph;
  functions<T>(graph);
  REQUIRE(tf::ir::verify(graph).view() == "");
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  test::Kernels<functions<T>> kernels;
  const test::Outcome compiled = kernels.run(feeds);
  for (const auto& [name, value] : expected) {
    {
      INFO("interpreted");
      test::check_units<T>(name, interpreted.at(name), value, 1);
    }
    test::check_units<T>(name, compiled.at(name), value, 1);
  }
}

// A layer of 16-bit weights that learns to tell which of its inputs is the largest.

template <class T>
constexpr void network(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 8>(g, "x");
  auto labels = tf::placeholder<std::int32_t, tf::batch>(g, "labels");
  auto w = tf::variable<T, 8, 16>(g, "w", tf::glorot_uniform);
  auto v = tf::variable<T, 16, 8>(g, "v", tf::glorot_uniform);
  auto b = tf::variable<T, 8>(g, "b", tf::zeros());
  auto logits = matmul(relu(matmul(x, w)), v) + b;
  auto loss = mean(softmax_cross_entropy(logits, labels)).named("loss");
  const auto [dw, dv, db] = gradients(loss, w, v, b);
  dw.named("dw");
  dv.named("dv");
  db.named("db");
  tf::assign_sub(w, dw * 0.5).named("step_w");
  tf::assign_sub(v, dv * 0.5).named("step_v");
  tf::assign_sub(b, db * 0.5).named("step_b");
}

template <class T>
void check_learning(double tolerance) {
  INFO(tf::name_of(tf::dtype_of<T>));
  // One step against the interpreter, which adds up in double.
  test::check_against_interpreter<network<T>>(1, tolerance);
  test::check_against_interpreter<network<T>>(33, tolerance);
  test::check_bits<network<T>>(33);

  constexpr std::int64_t batch = 64;
  test::Random random(12);
  test::Kernels<network<T>> kernels;
  double first = 0;
  double last = 0;
  for (int step = 0; step < 200; ++step) {
    tf::HostTensor x = test::random_tensor(random, tf::dtype_of<T>, test::dims({batch, 8}), -2, 2);
    tf::HostTensor labels = tf::host_tensor(DType::int32, test::dims({batch}));
    for (std::int64_t i = 0; i < batch; ++i) {
      for (std::int64_t j = 0; j < 8; ++j) {
        if (x.value(i * 8 + j) > x.value(i * 8 + labels[i].integer)) labels[i].integer = j;
      }
    }
    last = kernels.run({{"x", x}, {"labels", labels}}).at("loss").value(0);
    if (step == 0) first = last;
  }
  CHECK(first > 1.5);
  CHECK(last < first / 3);
}

}  // namespace

TEST_CASE("sums, norms and softmax of bfloat16 round once") { check_functions<tf::bfloat16>(); }
TEST_CASE("sums, norms and softmax of float16 round once") { check_functions<tf::float16>(); }
TEST_CASE("a network of bfloat16 learns") { check_learning<tf::bfloat16>(0x1p-6); }
TEST_CASE("a network of float16 learns") { check_learning<tf::float16>(0x1p-9); }
