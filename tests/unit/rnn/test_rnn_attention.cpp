// SPDX-License-Identifier: Apache-2.0

// Attention decoders against plain loops, and their gradients against central differences.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/rnn.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;

using Numbers = std::vector<double>;

constexpr std::size_t samples = 3, steps = 4, positions = 5;
constexpr std::size_t inputs = 2, depth = 4, units = 3, hidden = 6, layer = 2;

/// A decoder that attends by additive scores, one by products, one of these with a layer.
constexpr void decoders(tf::Graph& g) {
  const auto x = placeholder<double, samples, steps, inputs>(g, "x");
  const auto memory = placeholder<double, samples, positions, depth>(g, "memory");
  const auto lengths = placeholder<std::int64_t, samples>(g, "lengths");

  const auto additive = tf::bahdanau_attention<units, hidden>(g, "additive", memory, lengths);
  const tf::BasicRNN<inputs + depth, units, double> first(g, "first");
  const tf::AttentionCell by_sums(g, "by_sums", first, additive);
  const auto sums = dynamic_rnn(by_sums, x);
  sums.outputs.named("sums");
  std::get<0>(sums.state).named("sums_state");
  additive.weights(std::get<0>(sums.state)).named("weights");

  const auto products = tf::luong_attention<units>(g, "products", memory, lengths, {.scale = true});
  const tf::BasicRNN<inputs + layer, units, double> second(g, "second");
  const tf::AttentionCell<tf::BasicRNN<inputs + layer, units, double>, decltype(products), layer>
      with_layer(g, "with_layer", second, products);
  const auto layered = dynamic_rnn(with_layer, x);
  layered.outputs.named("layered");

  const auto everything = tf::luong_attention<units>(g, "everything", memory);
  const tf::AttentionCell unmasked(g, "unmasked", first, everything);
  const auto all = dynamic_rnn(unmasked, x);
  all.outputs.named("all");

  const std::array losses = {sum(exp(sums.outputs)), sum(exp(layered.outputs)),
                             sum(exp(all.outputs))};
  std::array<tf::Expr<double, tf::Shape<samples, positions, depth>>, 3> dmemory;
  std::array<tf::Expr<double, tf::Shape<samples, steps, inputs>>, 3> dx;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto [of_memory, of_x] = gradients(losses[i], memory, x);
    dmemory[i] = of_memory;
    dx[i] = of_x;
  }
  stack<0>(losses).named("losses");
  stack<0>(dmemory).named("dmemory");
  stack<0>(dx).named("dx");
}

/// Row r of a matrix of so many columns times another. (n) x (n,columns) -> (columns)
Numbers product(const Numbers& row, const Numbers& matrix) {
  const std::size_t columns = matrix.size() / row.size();
  Numbers out(columns, 0.0);
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = 0; j < columns; ++j) out[j] += row[i] * matrix[i * columns + j];
  }
  return out;
}
Numbers joined(Numbers a, const Numbers& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Numbers part(const Numbers& all, std::size_t index, std::size_t size) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(index * size);
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

/// What a decoder of one sample says in each step. `score(query, row)`; `next(output, context)`.
struct Decoded {
  Numbers outputs;
  Numbers state;
  Numbers weights;
};
Decoded decode(const Numbers& x, const Numbers& memory, std::size_t length, const Numbers& kernel,
               std::size_t read_size, const auto& score, const auto& next) {
  Numbers h(units, 0.0);
  Numbers read(read_size, 0.0);
  Decoded out;
  for (std::size_t t = 0; t < steps; ++t) {
    h = product(joined(joined(part(x, t, inputs), read), h), kernel);
    for (double& v : h) v = std::tanh(v);
    Numbers weights(positions, 0.0);
    double total = 0;
    for (std::size_t s = 0; s < length; ++s) {
      weights[s] = std::exp(score(h, part(memory, s, depth)));
      total += weights[s];
    }
    Numbers context(depth, 0.0);
    for (std::size_t s = 0; s < length; ++s) {
      weights[s] /= total;
      for (std::size_t d = 0; d < depth; ++d) context[d] += weights[s] * memory[s * depth + d];
    }
    read = next(h, context);
    out.outputs = joined(out.outputs, read);
    out.state = h;
    out.weights = weights;
  }
  return out;
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void check_near(const double* got, const Numbers& wanted, const std::string& what) {
  INFO(what);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(std::abs(got[i] - wanted[i]) < 1e-13);
  }
}

Numbers made(std::size_t count, double phase) {
  Numbers x;
  for (std::size_t i = 0; i < count; ++i)
    x.push_back(std::sin(1.7 * static_cast<double>(i) + phase));
  return x;
}

Numbers value(const tf::Variables& variables, const std::string& name) {
  const auto tensor = variables.get<double>(name);
  return {tensor.begin(), tensor.end()};
}

}  // namespace

TEST_CASE("attention decoders are plain loops, and look at nothing past a memory's length") {
  tf::Variables variables;
  tf::Session<decoders> session(variables, {.seed = 5});
  const Numbers x = made(samples * steps * inputs, 0.3);
  const Numbers memory = made(samples * positions * depth, 0.9);
  const std::vector<std::int64_t> lengths = {5, 2, 1};
  session.run<"sums">(tf::feed<"x">(x), tf::feed<"memory">(memory), tf::feed<"lengths">(lengths));
  variables.set<double>("products/attention_g", Numbers{1.5}, tf::Dims{0, {}});
  const auto [sums, sums_state, weights, layered, all] =
      session.run<"sums", "sums_state", "weights", "layered", "all">(
          tf::feed<"x">(x), tf::feed<"memory">(memory), tf::feed<"lengths">(lengths));

  const Numbers keys = value(variables, "additive/memory_layer/kernel");
  const Numbers of_query = value(variables, "additive/query_layer/kernel");
  const Numbers direction = value(variables, "additive/attention_v");
  const Numbers of_products = value(variables, "products/memory_layer/kernel");
  const Numbers of_everything = value(variables, "everything/memory_layer/kernel");
  const Numbers attention_layer = value(variables, "with_layer/attention_layer/kernel");
  const Numbers first = value(variables, "first/kernel");
  const auto context_alone = [](const Numbers&, const Numbers& context) { return context; };
  for (std::size_t b = 0; b < samples; ++b) {
    const auto length = static_cast<std::size_t>(lengths[b]);
    const Numbers words = part(x, b, steps * inputs);
    const Numbers seen = part(memory, b, positions * depth);
    const Decoded by_sums = decode(
        words, seen, length, first, depth,
        [&](const Numbers& query, const Numbers& row) {
          const Numbers key = product(row, keys);
          const Numbers asked = product(query, of_query);
          double score = 0;
          for (std::size_t i = 0; i < hidden; ++i) {
            score += direction[i] * std::tanh(key[i] + asked[i]);
          }
          return score;
        },
        context_alone);
    check_near(sums.data() + b * steps * depth, by_sums.outputs, "additive");
    check_near(sums_state.data() + b * units, by_sums.state, "its state");
    check_near(weights.data() + b * positions, by_sums.weights, "its last weights");

    const Decoded with_layer = decode(
        words, seen, length, value(variables, "second/kernel"), layer,
        [&](const Numbers& query, const Numbers& row) {
          return 1.5 * dot(query, product(row, of_products));
        },
        [&](const Numbers& output, const Numbers& context) {
          return product(joined(output, context), attention_layer);
        });
    check_near(layered.data() + b * steps * layer, with_layer.outputs, "with a layer");

    const Decoded unmasked = decode(
        words, seen, positions, first, depth,
        [&](const Numbers& query, const Numbers& row) {
          return dot(query, product(row, of_everything));
        },
        context_alone);
    check_near(all.data() + b * steps * depth, unmasked.outputs, "of all");
  }
}

TEST_CASE("attention: a sample without a memory reads zeros") {
  tf::Variables variables;
  tf::Session<decoders> session(variables, {.seed = 5});
  const std::vector<std::int64_t> lengths = {0, 5, 0};
  const auto [sums, dmemory] = session.run<"sums", "dmemory">(
      tf::feed<"x">(made(samples * steps * inputs, 0.3)),
      tf::feed<"memory">(made(samples * positions * depth, 0.9)), tf::feed<"lengths">(lengths));
  for (std::size_t i = 0; i < steps * depth; ++i) CHECK(sums.data()[i] == 0);
  for (std::size_t i = 0; i < positions * depth; ++i) CHECK(dmemory.data()[i] == 0);
}

TEST_CASE("attention: the weights of what is seen sum to 1, whatever the scores") {
  tf::Graph g;
  auto memory = tf::placeholder<float, 2, 3, 1>(g, "memory");
  auto lengths = tf::placeholder<std::int32_t, 2>(g, "lengths");
  auto query = tf::placeholder<float, 2, 1>(g, "query");
  tf::luong_attention<1>(g, "a", memory, lengths).weights(query).named("weights");
  // Two scores of the lowest number, and one. What is past the lengths has a score of 0.
  const double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  const tf::HostTensors feeds = {
      {"memory", test::floats({2, 3, 1}, {lowest, lowest, 0, lowest, 7, 7})},
      {"lengths", test::ints({2}, {2, 1})},
      {"query", test::floats({2, 1}, {1, 1})}};
  const tf::HostTensors variables = {{"a/memory_layer/kernel", test::floats({1, 1}, {1})}};
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables = variables;
  const std::vector<double> expected = {0.5, 0.5, 0, 1, 0, 0};
  CHECK(test::elements(interpreter.run({"weights"}, feeds)[0]) == expected);
  CHECK(test::elements(programs.run({"weights"}, feeds)[0]) == expected);
}

TEST_CASE("attention decoders: gradients are central differences") {
  tf::Variables variables;
  tf::Session<decoders> session(variables, {.seed = 6});
  Numbers x = made(samples * steps * inputs, 0.3);
  Numbers memory = made(samples * positions * depth, 0.9);
  const std::vector<std::int64_t> lengths = {5, 2, 3};
  const auto run = [&] {
    const auto y = session.run<"losses">(tf::feed<"x">(x), tf::feed<"memory">(memory),
                                         tf::feed<"lengths">(lengths));
    return Numbers(y.begin(), y.end());
  };
  const auto [dmemory, dx] = session.run<"dmemory", "dx">(
      tf::feed<"x">(x), tf::feed<"memory">(memory), tf::feed<"lengths">(lengths));
  const auto check = [&](Numbers& at, const auto& slopes) {
    constexpr double step = 1e-5;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double here = at[i];
      at[i] = here + step;
      const Numbers above = run();
      at[i] = here - step;
      const Numbers below = run();
      at[i] = here;
      for (std::size_t k = 0; k < above.size(); ++k) {
        const double difference = (above[k] - below[k]) / (2 * step);
        CHECK(std::abs(slopes.data()[k * at.size() + i] - difference) < 1e-7);
      }
    }
  };
  check(memory, dmemory);
  check(x, dx);
}
