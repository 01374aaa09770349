// SPDX-License-Identifier: Apache-2.0

// What the script control_flow compiles and runs: the training step of MODEL, one of the functions
// here, of sequences of STEPS steps. peers/recurrent.py has the same models and the same numbers to
// begin with.
//
//   recurrent                    the program's size
//   recurrent check              the losses of five steps
//   recurrent time THREADS SECS  milliseconds of the fastest of the steps made in so many seconds,
//   of
//                                the processor's time if there is one thread

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include "../timing.hpp"

namespace tf = typeflow;

namespace {

constexpr int batch = 20;
constexpr int steps = STEPS;

/// Element k of tensor `number`: from [-1, 1), the same everywhere.
float element(std::uint32_t number, std::uint32_t k) {
  std::uint32_t h = (k + 1) * 2654435761u + number * 40503u;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  return static_cast<float>(h >> 8) * (1.0f / 8388608) - 1;  // 24 bits: exact
}
std::vector<float> elements(std::uint32_t number, std::size_t count) {
  std::vector<float> out(count);
  for (std::size_t k = 0; k < count; ++k) out[k] = element(number, static_cast<std::uint32_t>(k));
  return out;
}
std::vector<std::int32_t> numbers_below(int limit, std::uint32_t number, std::size_t count) {
  std::vector<std::int32_t> out(count);
  for (std::size_t k = 0; k < count; ++k) {
    const float from_0_to_1 = (element(number, static_cast<std::uint32_t>(k)) + 1) / 2;
    out[k] = static_cast<std::int32_t>(from_0_to_1 * static_cast<float>(limit));
  }
  return out;
}
/// Variables in the order of their names: `scale` times tensors number 1, 2...
void set_weights(tf::Variables& variables, float scale) {
  std::uint32_t number = 0;
  for (const std::string& name : variables.names()) {
    if (name.find("state") != std::string::npos) continue;
    ++number;
    std::uint32_t k = 0;
    for (float& w : variables.get<float>(name)) w = scale * element(number, k++);
  }
}

/// Two layers of LSTM and the mean squared distance of what they give to y, by gradient descent.
struct lstm {
  static constexpr int units = 200;
  static constexpr float scale = 0.1f;

  static constexpr auto outputs(tf::Graph& g, const auto& x) {
    auto cells = tf::multi_rnn<2>(
        [&](int i) { return tf::BasicLSTM<units, units>(g, {"lstm", i}, {.forget_bias = 0}); });
    return dynamic_rnn<tf::time_major>(cells, x).outputs;
  }
  static constexpr void train(const auto& h, const auto& y) {
    auto loss = mean(square(h - y)).named("loss");
    tf::GradientDescent{.rate = 100.0f}.minimize(loss).named("train");
  }
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, steps, batch, units>(g, "x");
    auto y = placeholder<float, steps, batch, units>(g, "y");
    train(outputs(g, x), y);
  }
  static auto step(auto& session) {
    return [&session, x = elements(100, std::size_t{steps} * batch * units),
            y = elements(101, std::size_t{steps} * batch * units)] {
      return session.template run<"loss", "train">(tf::feed<"x">(x), tf::feed<"y">(y));
    };
  }
};

/// The same with each layer as a scan that is written here.
struct lstm_by_scan : lstm {
  static constexpr auto layer(tf::Graph& g, int number, const auto& x) {
    const tf::BasicLSTM<units, units> cell(g, {"lstm", number}, {.forget_bias = 0});
    const auto step = [&](auto state, auto projected) {
      auto now = cell.step(projected, state);
      return std::pair(now.state, now.output);
    };
    return scan(step, tf::zero_state<batch>(g, cell), cell.project(x)).second;
  }
  static constexpr void model(tf::Graph& g) {
    auto x = placeholder<float, steps, batch, units>(g, "x");
    auto y = placeholder<float, steps, batch, units>(g, "y");
    train(layer(g, 1, layer(g, 0, x)), y);
  }
};

/// Chapter 7's language model, medium, without dropout.
struct ptb {
  static constexpr int units = 650;
  static constexpr int vocabulary = 10'000;
  static constexpr float scale = 0.05f;

  static constexpr void model(tf::Graph& g) {
    auto words = placeholder<std::int32_t, steps, batch>(g, "words");
    auto next = placeholder<std::int32_t, steps, batch>(g, "next");
    auto x = tf::embedding<vocabulary, units>(g, "embedding", words);
    auto cells = tf::multi_rnn<2>(
        [&](int i) { return tf::BasicLSTM<units, units>(g, {"lstm", i}, {.forget_bias = 0}); });
    auto start = tf::kept_state<batch>(g, "state", cells);
    auto result = dynamic_rnn<tf::time_major>(cells, x, start);
    auto logits = tf::dense<vocabulary>(g, "softmax", result.outputs);
    auto loss = (sum(softmax_cross_entropy(logits, next)) / batch).named("loss");
    auto keep = keep_state(start, result.state);
    (tf::GradientDescent{.rate = 1.0f}.apply(clip_by_global_norm(gradients(loss), 5)) + keep)
        .named("train");
  }
  static auto step(auto& session) {
    return [&session, words = numbers_below(vocabulary, 100, std::size_t{steps} * batch),
            next = numbers_below(vocabulary, 101, std::size_t{steps} * batch)] {
      return session.template run<"loss", "train">(tf::feed<"words">(words),
                                                   tf::feed<"next">(next));
    };
  }
};

void print_size() {
  using Program = tf::ir::Lowering<MODEL::model>;
  tf::Variables variables;
  const tf::Session<MODEL::model> session(variables, {.threads = 1});
  std::printf("nodes=%d kernels=%d arena_kb=%lld\n", Program::node_count, Program::kernel_count,
              static_cast<long long>(session.arena_bytes() / 1000));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    print_size();
    return 0;
  }
  const bool timed = std::string_view(argv[1]) == "time" && argc == 4;
  tf::Variables variables;
  tf::Session<MODEL::model> session(variables, {.threads = timed ? std::atoi(argv[2]) : 1});
  set_weights(variables, MODEL::scale);
  const auto step = MODEL::step(session);
  if (timed) {
    const double seconds = bench::fastest_on(std::atoi(argv[2]), step, std::atof(argv[3]));
    std::printf("%.4f\n", seconds * 1e3);
    return 0;
  }
  for (int i = 0; i < 5; ++i) std::printf("%.7g ", static_cast<double>(step()));
  std::printf("\n");
}
