// SPDX-License-Identifier: Apache-2.0

// Operations and layers with flags, with each combination of them, against plain loops. The shapes
// fit any flags, so that a flag which is not looked at gives wrong numbers here and no error.
//
// Graphs are traced at run time and run by the interpreter and, after all passes, as programs.
// Elsewhere, with the kernels: cumsum and its kin (test_cumulative), sort and searchsorted
// (index/), linear systems (linalg/), attention (nn/), resize (images/), ctc (sequences/),
// optimisers and schedules (optimizers/), areas under curves (metrics/), reductions of losses
// (losses/).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/check_values.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/linalg.hpp"
#include "typeflow/rnn.hpp"
#include "typeflow/sparse.hpp"

namespace {

namespace tf = typeflow;
using Numbers = std::vector<double>;

/// A model's values by name, of the interpreter and of its programs.
struct Results {
  test::Outcome interpreted;
  test::Outcome programs;
};
Results results_of(const tf::Graph& g, const tf::HostTensors& feeds,
                   const tf::HostTensors& variables = {}) {
  std::vector<std::string> names;
  for (const tf::ir::Name& name : tf::ir::records(g).names) {
    if (name.kind != tf::ir::NameKind::value) continue;
    names.emplace_back(tf::ir::records(g).text_of(name).view());
  }
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables = variables;
  Results out;
  const std::vector<tf::HostTensor> a = interpreter.run(names, feeds);
  const std::vector<tf::HostTensor> b = programs.run(names, feeds);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.interpreted[names[i]] = a[i];
    out.programs[names[i]] = b[i];
  }
  return out;
}
void check(const Results& got, const test::Outcome& expected, double tolerance) {
  for (const auto& [name, value] : expected) {
    test::check_close(name, got.interpreted.at(name), value, tolerance);
    test::check_close(name, got.programs.at(name), value, tolerance);
  }
}

/// Random values for all variables of a model.
tf::HostTensors random_variables(const tf::Graph& g, test::Random& random) {
  const tf::ir::Graph& graph = g;
  tf::HostTensors out;
  for (const tf::ir::VariableRecord& v : graph.variable_records) {
    out[std::string(graph.text_of(graph.names[v.name]).view())] =
        test::random_tensor(random, graph.dtype_of(v.value), graph.dims_of(v.value), 0.25, 1.5);
  }
  return out;
}

constexpr tf::Transposed transposed[] = {tf::Transposed::neither, tf::transpose_a, tf::transpose_b,
                                         tf::transpose_both};

/// op(a) op(b) of square matrices; those of b repeat.
tf::HostTensor product(const tf::HostTensor& a, const tf::HostTensor& b, bool of_a, bool of_b) {
  const std::int64_t n = a.dims[a.dims.rank - 1];
  tf::HostTensor y = a;
  for (std::int64_t m = 0; m < a.size() / (n * n); ++m) {
    const std::int64_t at_a = m * n * n;
    const std::int64_t at_b = at_a % b.size();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          sum += a.value(at_a + (of_a ? k * n + i : i * n + k)) *
                 b.value(at_b + (of_b ? j * n + k : k * n + j));
        }
        y.set(at_a + i * n + j, sum);
      }
    }
  }
  return y;
}

template <class T>
void check_products(double tolerance) {
  INFO(std::string(tf::name_of(tf::dtype_of<T>)));
  test::Random random(3);
  const auto draw = [&](const std::vector<tf::Extent>& extents) {
    tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims(extents));
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, random.below(9) - 4);
    return x;
  };
  const tf::HostTensors feeds = {
      {"a", draw({3, 3})}, {"b", draw({3, 3})}, {"many", draw({2, 3, 3})}, {"values", draw({9})}};
  tf::Graph g;
  auto a = tf::placeholder<T, 3, 3>(g, "a");
  auto b = tf::placeholder<T, 3, 3>(g, "b");
  auto many = tf::placeholder<T, 2, 3, 3>(g, "many");
  auto cells = tf::constant<std::int32_t, 9, 2>(g, {0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2,  //
                                                    2, 0, 2, 1, 2, 2});
  const auto sparse = tf::sparse_tensor<3, 3>(cells, tf::placeholder<T, 9>(g, "values"));
  test::Outcome expected;
  tf::HostTensor dense = feeds.at("values");
  dense.dims = test::dims({3, 3});
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (
        [&] {
          constexpr tf::Transposed t = transposed[I];
          constexpr bool of_a = I % 2 == 1;
          constexpr bool of_b = I / 2 == 1;
          tf::matmul<t>(a, b).named({"matrices", I});
          tf::batch_matmul<t>(many, b).named({"many", I});
          tf::sparse_dense_matmul<t>(sparse, b).named({"sparse", I});
          const std::string number = "_" + std::to_string(I);
          expected["matrices" + number] = product(feeds.at("a"), feeds.at("b"), of_a, of_b);
          expected["many" + number] = product(feeds.at("many"), feeds.at("b"), of_a, of_b);
          expected["sparse" + number] = product(dense, feeds.at("b"), of_a, of_b);
        }(),
        ...);
  }(std::make_integer_sequence<int, 4>{});
  check(results_of(g, feeds), expected, tolerance);
}

/// The rows of a matrix of `width` columns, each times one, plus another.
tf::HostTensor affine(tf::HostTensor x, const Numbers& factor, const Numbers& shift) {
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto column = static_cast<std::size_t>(i) % factor.size();
    x.set(i, x.value(i) * factor[column] + shift[column]);
  }
  return x;
}
/// Over `count` elements `stride` apart, from each of the others: zero mean and unit variance.
tf::HostTensor standardized(tf::HostTensor x, std::int64_t count, std::int64_t stride,
                            double epsilon) {
  for (std::int64_t first = 0; first < x.size(); ++first) {
    if (first / stride % count != 0) continue;
    double mean = 0;
    double variance = 0;
    for (std::int64_t i = 0; i < count; ++i) mean += x.value(first + i * stride) / double(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const double off = x.value(first + i * stride) - mean;
      variance += off * off / double(count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      x.set(first + i * stride,
            (x.value(first + i * stride) - mean) / std::sqrt(variance + epsilon));
    }
  }
  return x;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double clipped(double x, double clip) { return clip > 0 ? std::clamp(x, -clip, clip) : x; }

}  // namespace

TEST_CASE("products with each combination of flags") {
  check_products<float>(0);
  check_products<double>(0);
  check_products<tf::bfloat16>(0);
  check_products<std::int32_t>(0);
  check_products<std::uint8_t>(0);
}

TEST_CASE("linear systems with each combination of flags") {
  test::Random random(5);
  tf::HostTensor a = test::random_tensor(random, tf::DType::float64, test::dims({3, 3}), -1, 1);
  for (std::int64_t i = 0; i < 3; ++i) a.set(4 * i, 4 + static_cast<double>(i));
  const tf::HostTensor b =
      test::random_tensor(random, tf::DType::float64, test::dims({3, 3}), -1, 1);
  tf::Graph g;
  auto m = tf::placeholder<double, 3, 3>(g, "a");
  auto right = tf::placeholder<double, 3, 3>(g, "b");
  using tf::lower_triangle, tf::upper_triangle, tf::transpose_a, tf::Transposed;
  tf::matrix_solve(m, right).named("solve");
  tf::matrix_solve<transpose_a>(m, right).named("solve_transposed");
  tf::matrix_triangular_solve<lower_triangle, Transposed::neither>(m, right).named("lower");
  tf::matrix_triangular_solve<lower_triangle, transpose_a>(m, right).named("lower_transposed");
  tf::matrix_triangular_solve<upper_triangle, Transposed::neither>(m, right).named("upper");
  tf::matrix_triangular_solve<upper_triangle, transpose_a>(m, right).named("upper_transposed");
  const Results got = results_of(g, {{"a", a}, {"b", b}});
  // op(A) X is b, of the triangle that is read.
  for (const std::string name : {"solve", "lower", "upper"}) {
    tf::HostTensor read = a;
    for (std::int64_t i = 0; i < 9; ++i) {
      if (name == "lower" && i % 3 > i / 3) read.set(i, 0);
      if (name == "upper" && i % 3 < i / 3) read.set(i, 0);
    }
    for (const bool flag : {false, true}) {
      const std::string full = flag ? name + "_transposed" : name;
      for (const test::Outcome& values : {got.interpreted, got.programs}) {
        test::check_close(full, product(read, values.at(full), flag, false), b, 1e-13);
      }
    }
  }
}

TEST_CASE("normalizations with each combination of center and scale") {
  constexpr std::int64_t channels = 4;
  for (const bool center : {false, true}) {
    for (const bool scale : {false, true}) {
      for (const tf::Mode mode : {tf::training, tf::inference}) {
        CAPTURE(center);
        CAPTURE(scale);
        tf::Graph g(mode);
        auto x = tf::placeholder<double, 3, 2, channels>(g, "x");
        tf::batch_norm(g, "batch", x, {.epsilon = 0.1, .center = center, .scale = scale})
            .named("batch_y");
        const tf::NormOptions options{.epsilon = 0.1, .center = center, .scale = scale};
        tf::layer_norm(g, "layer", x, options).named("layer_y");
        tf::group_norm<1>(g, "group", x, options).named("group_y");
        tf::instance_norm(g, "instance", x, options).named("instance_y");
        test::Random random(7);
        const tf::HostTensors variables = random_variables(g, random);
        const tf::HostTensor fed =
            test::random_tensor(random, tf::DType::float64, test::dims({3, 2, channels}), -2, 2);
        CHECK(variables.count("layer/beta") == (center ? 1 : 0));
        CHECK(variables.count("layer/gamma") == (scale ? 1 : 0));
        const auto with_variables = [&](const std::string& layer, const tf::HostTensor& y) {
          Numbers gamma(channels, 1);
          Numbers beta(channels, 0);
          if (scale) gamma = test::elements(variables.at(layer + "/gamma"));
          if (center) beta = test::elements(variables.at(layer + "/beta"));
          return affine(y, gamma, beta);
        };
        tf::HostTensor of_batch = standardized(fed, 6, channels, 0.1);
        if (mode == tf::inference) {
          Numbers factor;
          Numbers shift;
          for (std::int64_t c = 0; c < channels; ++c) {
            factor.push_back(1 / std::sqrt(variables.at("batch/moving_variance").value(c) + 0.1));
            shift.push_back(-variables.at("batch/moving_mean").value(c) * factor.back());
          }
          of_batch = affine(fed, factor, shift);
        }
        // Of each sample: over its last axis, all of it, and its places.
        tf::HostTensor of_instance = fed;
        for (std::int64_t n = 0; n < 3; ++n) {
          tf::HostTensor sample = test::doubles({2, channels}, Numbers(8, 0));
          for (std::int64_t i = 0; i < 8; ++i) sample[i] = fed[n * 8 + i];
          sample = standardized(sample, 2, channels, 0.1);
          for (std::int64_t i = 0; i < 8; ++i) of_instance[n * 8 + i] = sample[i];
        }
        check(results_of(g, {{"x", fed}}, variables),
              {{"batch_y", with_variables("batch", of_batch)},
               {"layer_y", with_variables("layer", standardized(fed, channels, 1, 0.1))},
               {"group_y", with_variables("group", standardized(fed, 8, 1, 0.1))},
               {"instance_y", with_variables("instance", of_instance)}},
              1e-12);
      }
    }
  }
}

TEST_CASE("layers with each combination of bias and activation") {
  for (const bool use_bias : {false, true}) {
    for (const bool active : {false, true}) {
      CAPTURE(use_bias);
      CAPTURE(active);
      tf::Graph g;
      auto x = tf::placeholder<double, 5, 3>(g, "x");
      tf::LayerOptions options{.use_bias = use_bias};
      if (active) options.activation = tf::relu;
      tf::dense<4>(g, "dense", x, options).named("dense_y");
      // With kernels of one place, convolutions are the same.
      tf::conv1d<4, 1>(g, "conv1", reshape<1, 5, 3>(x), options).named("conv1_y");
      tf::conv2d<4, 1>(g, "conv2", reshape<1, 5, 1, 3>(x), options).named("conv2_y");
      tf::conv3d<4, 1>(g, "conv3", reshape<1, 5, 1, 1, 3>(x), options).named("conv3_y");
      test::Random random(9);
      tf::HostTensors variables = random_variables(g, random);
      for (auto& [name, v] : variables) {
        for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, v.value(i) - 0.8);
      }
      const tf::HostTensor fed =
          test::random_tensor(random, tf::DType::float64, test::dims({5, 3}), -2, 2);
      test::Outcome expected;
      for (const std::string layer : {"dense", "conv1", "conv2", "conv3"}) {
        CHECK(variables.count(layer + "/b") == (use_bias ? 1 : 0));
        tf::HostTensor y = tf::host_tensor(tf::DType::float64, test::dims({5, 4}));
        for (std::int64_t i = 0; i < y.size(); ++i) {
          double sum = use_bias ? variables.at(layer + "/b").value(i % 4) : 0;
          for (std::int64_t k = 0; k < 3; ++k) {
            sum += fed.value(i / 4 * 3 + k) * variables.at(layer + "/W").value(k * 4 + i % 4);
          }
          y.set(i, active ? std::max(sum, 0.0) : sum);
        }
        if (layer == "conv1") y.dims = test::dims({1, 5, 4});
        if (layer == "conv2") y.dims = test::dims({1, 5, 1, 4});
        if (layer == "conv3") y.dims = test::dims({1, 5, 1, 1, 4});
        expected[layer + "_y"] = y;
      }
      check(results_of(g, {{"x", fed}}, variables), expected, 1e-13);
    }
  }
}

namespace {

constexpr std::int64_t samples = 3, steps = 4, inputs = 2, units = 3;

/// Element i of sample b at step t of x (B,T,n), or (T,B,n).
double at(const tf::HostTensor& x, std::int64_t b, std::int64_t t, std::int64_t i, bool by_time) {
  const std::int64_t n = x.dims[2];
  return x.value((by_time ? t * samples + b : b * steps + t) * n + i);
}
/// What tanh(x W + h U + bias) leaves at each step, zero past a sample's length; backwards from it.
tf::HostTensor recurrent(const tf::HostTensor& x, const tf::HostTensor& kernel,
                         const tf::HostTensor& bias, const Numbers& lengths, bool by_time,
                         bool backward) {
  tf::HostTensor y =
      tf::host_tensor(tf::DType::float64, by_time ? test::dims({steps, samples, units})
                                                  : test::dims({samples, steps, units}));
  for (std::int64_t b = 0; b < samples; ++b) {
    const auto length = static_cast<std::int64_t>(lengths[static_cast<std::size_t>(b)]);
    Numbers h(units, 0);
    for (std::int64_t step = 0; step < length; ++step) {
      const std::int64_t t = backward ? length - 1 - step : step;
      Numbers next(units, 0);
      for (std::int64_t u = 0; u < units; ++u) {
        double sum = bias.value(u);
        for (std::int64_t i = 0; i < inputs; ++i) {
          sum += at(x, b, t, i, by_time) * kernel.value(i * units + u);
        }
        for (std::int64_t i = 0; i < units; ++i) {
          sum += h[static_cast<std::size_t>(i)] * kernel.value((inputs + i) * units + u);
        }
        next[static_cast<std::size_t>(u)] = std::tanh(sum);
        y.set((by_time ? t * samples + b : b * steps + t) * units + u, std::tanh(sum));
      }
      h = next;
    }
  }
  return y;
}

template <tf::SequenceLayout Layout, tf::SequenceSteps Steps>
void check_sequences() {
  constexpr bool by_time = Layout == tf::time_major;
  constexpr tf::Extent first = by_time ? steps : samples;
  constexpr tf::Extent second = by_time ? samples : steps;
  CAPTURE(by_time);
  CAPTURE(Steps == tf::unrolled);
  tf::Graph g;
  auto x = tf::placeholder<double, first, second, inputs>(g, "x");
  auto lengths = tf::placeholder<std::int32_t, samples>(g, "lengths");
  const tf::BasicRNN<inputs, units, double> cell(g, "cell");
  const auto zeros = tf::zero_state<samples>(g, cell);
  tf::dynamic_rnn<Layout, Steps>(cell, x).outputs.named("all");
  tf::dynamic_rnn<Layout, Steps>(cell, x, zeros, lengths).outputs.named("some");
  const auto both = tf::bidirectional_rnn<Layout, Steps>(cell, cell, x);
  const auto both_some = tf::bidirectional_rnn<Layout, Steps>(cell, cell, x, lengths);
  both.forward.outputs.named("forward");
  both.backward.outputs.named("backward");
  both_some.forward.outputs.named("forward_some");
  both_some.backward.outputs.named("backward_some");
  test::Random random(2);
  const tf::HostTensors variables = random_variables(g, random);
  const tf::HostTensors feeds = {
      {"x",
       test::random_tensor(random, tf::DType::float64, test::dims({first, second, inputs}), -1, 1)},
      {"lengths", test::ints({samples}, {4, 2, 0})}};
  const auto expected = [&](const Numbers& of, bool backward) {
    return recurrent(feeds.at("x"), variables.at("cell/kernel"), variables.at("cell/bias"), of,
                     by_time, backward);
  };
  const Numbers whole(samples, steps);
  const Numbers some = {4, 2, 0};
  check(results_of(g, feeds, variables),
        {{"all", expected(whole, false)},
         {"some", expected(some, false)},
         {"forward", expected(whole, false)},
         {"backward", expected(whole, true)},
         {"forward_some", expected(some, false)},
         {"backward_some", expected(some, true)}},
        1e-13);
}

/// The outputs (B,T,outputs) of an LSTM over x (B,T,inputs).
template <int Projection>
void check_lstm(bool peepholes, double cell_clip, double projection_clip) {
  CAPTURE(Projection);
  CAPTURE(peepholes);
  CAPTURE(cell_clip);
  CAPTURE(projection_clip);
  constexpr std::int64_t outputs = Projection == 0 ? units : Projection;
  tf::Graph g;
  auto x = tf::placeholder<double, samples, steps, inputs>(g, "x");
  const tf::LSTM<inputs, units, Projection, double> cell(g, "cell",
                                                         {.forget_bias = 0.5,
                                                          .peepholes = peepholes,
                                                          .cell_clip = cell_clip,
                                                          .projection_clip = projection_clip});
  tf::dynamic_rnn(cell, x).outputs.named("y");
  test::Random random(4);
  const tf::HostTensors variables = random_variables(g, random);
  const tf::HostTensors feeds = {
      {"x", test::random_tensor(random, tf::DType::float64, test::dims({samples, steps, inputs}),
                                -1, 1)}};
  const tf::HostTensor& kernel = variables.at("cell/kernel");
  const tf::HostTensor& bias = variables.at("cell/bias");
  const auto peephole = [&](const std::string& name, std::int64_t u) {
    return peepholes ? variables.at("cell/" + name).value(u) : 0;
  };
  tf::HostTensor y = tf::host_tensor(tf::DType::float64, test::dims({samples, steps, outputs}));
  for (std::int64_t b = 0; b < samples; ++b) {
    Numbers c(units, 0);
    Numbers h(outputs, 0);
    for (std::int64_t t = 0; t < steps; ++t) {
      Numbers m(units, 0);
      for (std::int64_t u = 0; u < units; ++u) {
        double gate[4];
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t column = k * units + u;
          gate[k] = bias.value(column);
          for (std::int64_t i = 0; i < inputs; ++i) {
            gate[k] += at(feeds.at("x"), b, t, i, false) * kernel.value(i * 4 * units + column);
          }
          for (std::int64_t i = 0; i < outputs; ++i) {
            gate[k] +=
                h[static_cast<std::size_t>(i)] * kernel.value((inputs + i) * 4 * units + column);
          }
        }
        double& memory = c[static_cast<std::size_t>(u)];
        const double forget = sigmoid(gate[2] + 0.5 + peephole("w_f_diag", u) * memory);
        const double input = sigmoid(gate[0] + peephole("w_i_diag", u) * memory);
        memory = clipped(forget * memory + input * std::tanh(gate[1]), cell_clip);
        m[static_cast<std::size_t>(u)] =
            sigmoid(gate[3] + peephole("w_o_diag", u) * memory) * std::tanh(memory);
      }
      for (std::int64_t i = 0; i < outputs; ++i) {
        double out = Projection == 0 ? m[static_cast<std::size_t>(i)] : 0;
        for (std::int64_t u = 0; u < units && Projection > 0; ++u) {
          out += m[static_cast<std::size_t>(u)] *
                 variables.at("cell/projection/kernel").value(u * outputs + i);
        }
        if (Projection > 0) out = clipped(out, projection_clip);
        h[static_cast<std::size_t>(i)] = out;
        y.set((b * steps + t) * outputs + i, out);
      }
    }
  }
  check(results_of(g, feeds, variables), {{"y", y}}, 1e-13);
}

}  // namespace

TEST_CASE("sequences in each layout, looped and unrolled, with lengths and without") {
  check_sequences<tf::batch_major, tf::looped>();
  check_sequences<tf::batch_major, tf::unrolled>();
  check_sequences<tf::time_major, tf::looped>();
  check_sequences<tf::time_major, tf::unrolled>();
}

TEST_CASE("LSTM with each combination of peepholes, projection and clipping") {
  for (const bool peepholes : {false, true}) {
    for (const double cell_clip : {0.0, 0.4}) {
      check_lstm<0>(peepholes, cell_clip, 0);
      check_lstm<2>(peepholes, cell_clip, 0);
      check_lstm<2>(peepholes, cell_clip, 0.25);
    }
  }
}

TEST_CASE("embeddings with each combiner, weighted and not, safe and not") {
  constexpr tf::Combiner combiners[] = {tf::Combiner::sum, tf::Combiner::mean, tf::Combiner::sqrtn};
  const tf::HostTensors feeds = {{"table", test::doubles({4, 2}, {1, 2, 3, 5, 7, 11, 13, 17})},
                                 {"ids", test::ints({6}, {3, 0, 1, 1, 2, 0})},
                                 {"holes", test::ints({6}, {3, -1, 1, 1, -1, 0})},
                                 {"segments", test::ints({6}, {0, 0, 1, 1, 1, 3})},
                                 {"weights", test::doubles({6}, {0.5, 2, -1, 3, 0.25, 1})}};
  tf::Graph g;
  auto table = tf::placeholder<double, 4, 2>(g, "table");
  auto ids = tf::placeholder<std::int32_t, 6>(g, "ids");
  auto holes = tf::placeholder<std::int32_t, 6>(g, "holes");
  auto segments = tf::placeholder<std::int32_t, 6>(g, "segments");
  auto weights = tf::placeholder<double, 6>(g, "weights");
  auto rows = gather(table, ids);
  test::Outcome expected;
  const auto combined = [&](tf::Combiner combiner, bool weighted, bool safe) {
    tf::HostTensor y = tf::host_tensor(tf::DType::float64, test::dims({4, 2}));
    const tf::HostTensor& of = feeds.at(safe ? "holes" : "ids");
    for (std::int64_t i = 0; i < 8; ++i) {
      double sum = 0;
      double total = 0;
      for (std::int64_t k = 0; k < 6; ++k) {
        const double w = weighted ? feeds.at("weights").value(k) : 1;
        if (feeds.at("segments").value(k) != static_cast<double>(i / 2)) continue;
        if (safe && (of.value(k) < 0 || w <= 0)) continue;
        sum += w * feeds.at("table").value(static_cast<std::int64_t>(of.value(k)) * 2 + i % 2);
        total += combiner == tf::Combiner::sqrtn ? w * w : w;
      }
      if (combiner == tf::Combiner::sum) total = 1;
      if (combiner == tf::Combiner::sqrtn) total = std::sqrt(total);
      y.set(i, total == 0 ? 0 : sum / total);
    }
    return y;
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (
        [&] {
          constexpr tf::Combiner c = combiners[I];
          tf::embedding_lookup_sparse<4, c>(table, ids, segments).named({"lookup", I});
          tf::embedding_lookup_sparse<4, c>(table, ids, segments, weights).named({"weighted", I});
          tf::embedding_combine<4, c>(rows, segments).named({"rows", I});
          tf::embedding_combine<4, c>(rows, segments, weights).named({"weighted_rows", I});
          tf::safe_embedding_lookup_sparse<4, c>(table, holes, segments).named({"safe", I});
          tf::safe_embedding_lookup_sparse<4, c>(table, holes, segments, weights)
              .named({"weighted_safe", I});
          const std::string number = "_" + std::to_string(I);
          expected["lookup" + number] = expected["rows" + number] = combined(c, false, false);
          expected["weighted" + number] = expected["weighted_rows" + number] =
              combined(c, true, false);
          expected["safe" + number] = combined(c, false, true);
          expected["weighted_safe" + number] = combined(c, true, true);
        }(),
        ...);
  }(std::make_integer_sequence<int, 3>{});
  check(results_of(g, feeds), expected, 1e-13);
}
