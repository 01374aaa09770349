// SPDX-License-Identifier: Apache-2.0

// Attention over sequences of any length, with two symbols, batch and time. A sequence has pairs of
// a key and a value. Its queries are some of its keys, and the net learns to find their values. It
// trains on sequences of 4 to 24 pairs, with another length in each step. The same program is
// tested on lengths that it has not seen. Expected: a test accuracy of at least 0.99.
//
//   attention --steps 400

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <typeflow/attention.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int kinds = 12;  // the number of keys, and of values
constexpr int width = 32;
constexpr int questions = 4;  // about each sequence

constexpr void recall(tf::Graph& g) {
  constexpr auto length = tf::symbol<"time">;
  auto keys = placeholder<std::int32_t, tf::batch, length>(g, "keys");
  auto values = placeholder<std::int32_t, tf::batch, length>(g, "values");
  auto queries = placeholder<std::int32_t, tf::batch, questions>(g, "queries");
  auto answers = placeholder<std::int32_t, tf::batch, questions>(g, "answers");
  auto rate = placeholder<float>(g, "rate", 2.0f);

  const auto table = [&](tf::Label name) {
    return variable<float, kinds, width>(g, name, tf::truncated_normal(0, 0.3));
  };
  auto k = embedding_lookup(table("keys/table"), keys);        // (batch,time,32)
  auto v = embedding_lookup(table("values/table"), values);    // (batch,time,32)
  auto q = embedding_lookup(table("queries/table"), queries);  // (batch,4,32)
  auto found = layer_norm(g, "norm", attention(q, k, v));      // (batch,4,32)
  auto logits = dense<kinds>(g, "answer", reshape<tf::batch * questions, width>(found));
  auto truth = reshape<tf::batch * questions>(answers);
  auto loss = mean(softmax_cross_entropy(logits, truth)).named("loss");
  mean(cast<float>(equal(argmax<1>(logits), truth))).named("accuracy");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

/// Sequences of one length, each of which has one value for a key.
struct Sequences {
  Sequences(std::size_t count, std::size_t length, std::mt19937_64& random)
      : keys(count * length),
        values(keys.size()),
        queries(count * questions),
        answers(queries.size()) {
    const auto draw = [&](std::size_t n) { return static_cast<std::int32_t>(random() % n); };
    for (std::size_t i = 0; i < count; ++i) {
      std::array<std::int32_t, kinds> value_of{};
      for (std::int32_t& value : value_of) value = draw(kinds);
      for (std::size_t t = i * length; t < (i + 1) * length; ++t) {
        keys[t] = draw(kinds);
        values[t] = value_of[static_cast<std::size_t>(keys[t])];
      }
      for (std::size_t j = i * questions; j < (i + 1) * questions; ++j) {
        queries[j] = keys[i * length + random() % length];
        answers[j] = value_of[static_cast<std::size_t>(queries[j])];
      }
    }
  }
  std::vector<std::int32_t> keys;  // (count,length)
  std::vector<std::int32_t> values;
  std::vector<std::int32_t> queries;  // (count,4)
  std::vector<std::int32_t> answers;
};

float accuracy(tf::Session<recall>& session, const Sequences& s) {
  return session.run<"accuracy">(tf::feed<"queries">(s.queries), tf::feed<"answers">(s.answers),
                                 tf::feed<"keys">(s.keys), tf::feed<"values">(s.values));
}

void train(const examples::Options& options) {
  tf::Variables variables;
  tf::Session<recall> session(variables, {.seed = options.seed});
  std::mt19937_64 random(options.seed);
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    // The queries give the batch; the number of keys over it is the length.
    const Sequences s(static_cast<std::size_t>(options.batch), 4 + random() % 21, random);
    const float loss = session.run<"loss", "train">(
        tf::feed<"queries">(s.queries), tf::feed<"answers">(s.answers), tf::feed<"keys">(s.keys),
        tf::feed<"values">(s.values), tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  float least = 1;
  for (const std::size_t length : {2, 10, 40, 100}) {
    const float share = accuracy(session, Sequences(2000, length, random));
    std::printf("length %3zu: accuracy %.4f\n", length, static_cast<double>(share));
    least = std::min(least, share);
  }
  std::printf("test accuracy %.4f\n", static_cast<double>(least));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Attention over sequences of any length.",
                               {.steps = 400, .batch = 100, .rate = 2.0f}, train);
}
