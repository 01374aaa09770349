// SPDX-License-Identifier: Apache-2.0

// What recurrent nets remember. A long short-term memory (LSTM) reads five symbols, waits, and
// must then say them in their order, as in Hochreiter and Schmidhuber, Long short-term memory,
// 1997. And why a plain recurrent net does not learn that: the gradient that reaches a time step
// from the last one fades with the distance. Its norms are drawn for both nets, before any
// training. Expected: a sequence accuracy, the share of sequences without a wrong symbol, of at
// least 0.95, and over 60 steps a gradient of the LSTM that is a thousand times that of the plain
// net.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <typeflow/optimizers.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int batch = 64;
constexpr int symbols = 4;
constexpr int length = 5;           // symbols to remember
constexpr int delay = 3;            // steps between the last one and the signal to speak
constexpr int words = symbols + 2;  // the symbols, a blank, and the signal
constexpr int blank = symbols;
constexpr int signal = symbols + 1;
constexpr int steps = 2 * length + delay;
constexpr int units = 64;

/// Reads `words` (steps,batch); after the signal it must say the symbols.
constexpr void copier(tf::Graph& g) {
  auto read = placeholder<std::int32_t, steps, batch>(g, "read");
  auto right = placeholder<std::int32_t, length, batch>(g, "right");
  auto rate = placeholder<float>(g, "rate", 0.007f);
  const tf::BasicLSTM<words, units> lstm(g, "lstm", {.forget_bias = 1});
  auto outputs = dynamic_rnn<tf::time_major>(lstm, tf::one_hot<words>(read)).outputs;
  auto last = tf::slice<tf::range(steps - length, steps)>(outputs);  // (length,batch,units)
  auto logits = dense<symbols>(g, "say", tf::reshape<length * batch, units>(last));
  auto loss = mean(softmax_cross_entropy(logits, tf::reshape<length * batch>(right))).named("loss");
  tf::reshape<length, batch>(argmax<1>(logits)).named("said");
  tf::Adam{.rate = rate}.apply(clip_by_global_norm(gradients(loss), 1.0f)).named("train");
}

struct Sequences {
  explicit Sequences(std::mt19937_64& random) : read(steps * batch, blank), right(length * batch) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      read[i] = right[i] = static_cast<std::int32_t>(random() % symbols);
    }
    for (std::size_t b = 0; b < batch; ++b) read[(steps - length) * batch + b] = signal;
  }
  std::vector<std::int32_t> read, right;
};

double share_right(const Sequences& sequences, const auto& said) {
  int right = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    bool all = true;
    for (std::size_t t = 0; t < length; ++t) {
      all = all && said(t, b) == sequences.right[t * batch + b];
    }
    right += all;
  }
  return right / static_cast<double>(batch);
}

constexpr int distance = 60;  // steps of the sequences whose gradients are drawn

/// The norm of the gradient for each step's input, of a sum over the last step's output.
template <class Cell>
constexpr void gradient_norms(tf::Graph& g, tf::Label name, const Cell& cell) {
  auto x = random_normal<float, distance, batch, 8>(g);
  auto outputs = dynamic_rnn<tf::time_major>(cell, x).outputs;
  auto last = sum(square(tf::slice<distance - 1>(outputs)));
  norm<1, 2>(gradients(last, x)).named(name);  // (distance)
}
constexpr void two_nets(tf::Graph& g) {
  gradient_norms(g, "plain", tf::BasicRNN<8, 32>(g, "plain_cell"));
  gradient_norms(g, "long", tf::BasicLSTM<8, 32>(g, "long_cell", {.forget_bias = 3}));
}

void train(const examples::Options& options) {
  tf::Variables variables;
  tf::Session<two_nets> nets(variables, {.seed = options.seed});
  const auto [plain, kept] = nets.run<"plain", "long">();
  tf::Curve of_plain{.name = "plain recurrent net"};
  tf::Curve of_lstm{.name = "LSTM, forget bias 3"};
  for (std::size_t t = distance; t-- > 0;) {
    of_plain.y.push_back(static_cast<double>(plain(t)));
    of_lstm.y.push_back(static_cast<double>(kept(t)));
  }
  const std::vector<tf::Curve> curves = {of_plain, of_lstm};
  tf::write_plot(options.output,
                 tf::plot_curves(curves, {.title = "The gradient of the last output",
                                          .x_label = "steps back",
                                          .y_label = "norm of the gradient for an input",
                                          .log_y = true}));
  std::printf("norms of gradients over %d steps: %s\n", distance, options.output.c_str());
  std::printf("a step back: plain %.1e, LSTM %.1e; %d steps back: plain %.1e, LSTM %.1e\n",
              of_plain.y.front(), of_lstm.y.front(), distance, of_plain.y.back(), of_lstm.y.back());

  std::mt19937_64 random(options.seed);
  tf::Session<copier> session(variables, {.seed = options.seed});
  tf::Progress progress({.steps = options.steps, .batch_size = batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Sequences drawn(random);
    const float loss =
        session.run<"loss", "train">(tf::feed<"read">(drawn.read), tf::feed<"right">(drawn.right),
                                     tf::feed<"rate">(options.rate));
    progress.show(step, static_cast<double>(loss));
  }
  progress.finish();
  constexpr int tests = 20;
  double accuracy = 0;
  for (int i = 0; i < tests; ++i) {
    const Sequences drawn(random);
    accuracy += share_right(drawn, session.run<"said">(tf::feed<"read">(drawn.read))) / tests;
  }
  std::printf("gradient of the LSTM over that of the plain net %.0e\n",
              of_lstm.y.back() / of_plain.y.back());
  std::printf("sequence accuracy %.4f\n", accuracy);
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "An LSTM that copies sequences, and gradients that vanish.",
      {.steps = 1500, .batch = 0, .rate = 0.007f, .output = "gradients.svg"}, train);
}
