// SPDX-License-Identifier: Apache-2.0

// A transformer whose compile time is watched: a language model of LAYERS decoder layers with 8
// heads, a session that trains it by Adam and one that uses it.

#include <cstdint>
#include <vector>

#include <typeflow/attention.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

constexpr int words = 1000;
constexpr int width = 256;
constexpr int hidden = 1024;
constexpr auto length = tf::symbol<"time">;

constexpr auto layer(tf::Graph& g, const auto& x) {
  auto attended = tf::multi_head_attention<8>(g, "attention", x, {.causal = true});
  auto y = tf::layer_norm(g, "attention_norm", x + tf::dropout(attended, {.keep = 0.9f}));
  auto rows = tf::reshape<length * tf::batch, width>(y);
  auto inner = gelu(tf::dense<hidden>(g, "inner", rows));
  auto outer = tf::reshape<tf::batch, length, width>(tf::dense<width>(g, "outer", inner));
  return tf::layer_norm(g, "norm", y + tf::dropout(outer, {.keep = 0.9f}));
}

constexpr void transformer(tf::Graph& g) {
  auto tokens = placeholder<std::int32_t, tf::batch, length>(g, "tokens");
  auto targets = placeholder<std::int32_t, tf::batch, length>(g, "targets");
  auto table = variable<float, words, width>(g, "embedding", tf::normal(0, 0.02));
  auto x = gather(table, tokens);  // (batch,time,width)
  for (int i = 0; i < LAYERS; ++i) {
    const tf::Scope in(g, "layer", i);
    x = layer(g, x);
  }
  auto rows = tf::reshape<length * tf::batch, width>(x);
  auto logits = tf::dense<words>(g, "logits", rows).named("logits");
  auto loss =
      mean(softmax_cross_entropy(logits, tf::reshape<length * tf::batch>(targets))).named("loss");
  tf::Adam{.rate = 0.001f}.minimize(loss).named("train");
}

int main() {
  tf::Variables variables;
  tf::Session<transformer> training(variables, {.seed = 1});
  tf::Session<transformer, tf::inference> inference(variables);
  const std::vector<std::int32_t> tokens(4 * 16), targets(4 * 16);
  training.run<"loss", "train">(tf::feed<"tokens">(tokens.data(), {4, 16}),
                                tf::feed<"targets">(targets.data(), {4, 16}));
  inference.run<"logits">(tf::feed<"tokens">(tokens.data(), {4, 16}));
}
