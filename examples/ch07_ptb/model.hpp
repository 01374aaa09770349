// SPDX-License-Identifier: Apache-2.0
#pragma once

// The language model of chapter 7, its settings and its training. Each size is compiled in a file
// of its own, because each takes the compiler several seconds.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace ptb {

namespace tf = typeflow;

constexpr int vocabulary = 10000;

/// The settings of Zaremba et al., arXiv:1409.2329, as in TensorFlow's tutorial.
struct Config {
  int batch;
  int steps;  // through which gradients go back
  int hidden;
  int layers;
  int epochs;
  int full_rate_epochs;  // epochs before the rate falls
  float decay;           // factor of the rate for each later epoch
  float keep;            // probability to keep an element in dropout
  float clip;            // the largest global norm of gradients
  float init;            // initial weights are in [-init, init)
};
constexpr Config small{20, 20, 200, 2, 13, 4, 0.5f, 1, 5, 0.1f};
constexpr Config medium{20, 35, 650, 2, 39, 6, 0.8f, 0.5f, 5, 0.05f};
constexpr Config large{20, 35, 1500, 2, 55, 14, 1 / 1.15f, 0.35f, 10, 0.04f};
constexpr Config test{20, 2, 2, 1, 1, 1, 0.5f, 1, 1, 0.1f};

/// The same model for reading one text word by word.
constexpr Config word_by_word(Config c) {
  c.batch = 1;
  c.steps = 1;
  return c;
}

template <Config C>
constexpr void model(tf::Graph& g) {
  const tf::Scope in(g, "model", {.initializer = tf::uniform(-C.init, C.init)});
  auto words = placeholder<std::int32_t, C.steps, C.batch>(g, "words");
  auto next = placeholder<std::int32_t, C.steps, C.batch>(g, "next");
  auto rate = placeholder<float>(g, "rate", 1.0f);

  auto x = tf::embedding<vocabulary, C.hidden>(g, "embedding", words);  // (steps,batch,hidden)
  auto cells = tf::multi_rnn<C.layers>([&](int i) {
    const tf::BasicLSTM<C.hidden, C.hidden> lstm(g, {"lstm", i}, {.forget_bias = 0});
    return tf::DropoutCell(g, lstm, {.input_keep = C.keep});
  });
  auto start = tf::kept_state<C.batch>(g, "state", cells);
  auto result = dynamic_rnn<tf::time_major>(cells, x, start);
  auto outputs = C.keep < 1 ? dropout(result.outputs, {.keep = C.keep}) : result.outputs;
  auto logits =
      tf::dense<vocabulary>(g, "softmax", outputs, {.bias = tf::uniform(-C.init, C.init)});
  auto cost = (sum(softmax_cross_entropy(logits, next)) / C.batch).named("cost");
  auto keep = keep_state(start, result.state).named("keep");

  if (!g.training()) return;  // a session for tests needs no gradients
  const auto clipped = clip_by_global_norm(gradients(cost), C.clip);
  (tf::GradientDescent{.rate = rate}.apply(clipped) + keep).named("train");
}

/// The perplexity of a part of a text: exp of the mean cost of a word.
template <Config C>
double perplexity(tf::Variables& variables, const std::vector<std::int32_t>& text) {
  tf::Session<model<C>, tf::inference> session(variables);
  tf::TextStreams streams(text, {.batch = C.batch, .steps = C.steps});
  double cost = 0;
  for (std::int64_t i = 0; i < streams.parts(); ++i) {
    const tf::TextPart part = streams.next();
    cost += session.template run<"model/cost", "model/keep">(tf::feed<"model/words">(part.words),
                                                             tf::feed<"model/next">(part.next));
  }
  return std::exp(cost / static_cast<double>(streams.parts() * C.steps));
}

/// Trains for an epoch, or for the steps that are left. Returns the perplexity of the text
/// meanwhile.
template <Config C>
double train_epoch(auto& session, tf::TextStreams& streams, float rate, std::int64_t steps) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  session.reset();
  double cost = 0;
  double mean = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const tf::TextPart part = streams.next();
    cost += session.template run<"model/cost", "model/train">(tf::feed<"model/words">(part.words),
                                                              tf::feed<"model/next">(part.next),
                                                              tf::feed<"model/rate">(rate));
    mean = cost / static_cast<double>(step * C.steps);
    if (step % std::max<std::int64_t>(streams.parts() / 10, 1) != 0) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("%.3f perplexity %.3f, %.0f words/s\n",
                static_cast<double>(step) / static_cast<double>(streams.parts()), std::exp(mean),
                static_cast<double>(step * C.steps * C.batch) / seconds);
    std::fflush(stdout);
  }
  return std::exp(mean);
}

template <Config C>
void train(const tf::Corpus& text, const examples::Options& options) {
  tf::Variables variables;
  tf::Session<model<C>> session(variables, {.seed = options.seed});
  std::int64_t left = options.steps;
  for (int epoch = 1; epoch <= C.epochs && left > 0; ++epoch) {
    tf::TextStreams streams(text.train, {.batch = C.batch, .steps = C.steps});
    const float rate =
        options.rate *
        std::pow(C.decay, static_cast<float>(std::max(epoch - C.full_rate_epochs, 0)));
    const std::int64_t steps = std::min(left, streams.parts());
    std::printf("epoch %d, rate %.4f\n", epoch, static_cast<double>(rate));
    const double of_train = train_epoch<C>(session, streams, rate, steps);
    std::printf("epoch %d: train perplexity %.3f, validation perplexity %.3f\n", epoch, of_train,
                perplexity<C>(variables, text.validation));
    left -= steps;
  }
  std::printf("test perplexity %.1f\n", perplexity<word_by_word(C)>(variables, text.test));
}

/// A value of --size, and its training.
struct Size {
  const char* name;
  void (*train)(const tf::Corpus&, const examples::Options&);
};
/// The sizes that a program has; the first is its default. Each is a model of its own, which the
/// compiler needs seconds for.
std::vector<Size> sizes();

}  // namespace ptb
