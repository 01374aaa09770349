// SPDX-License-Identifier: Apache-2.0

// A model with each layer of nn/ and rnn/ and a step of training, lowered by the compiler while the
// sanitizer of undefined behaviour is on: g++ then takes fewer expressions for constant ones, such
// as a comparison of a function with a null pointer.

#include <cstdint>

#include <typeflow/attention.hpp>
#include <typeflow/primitives.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

constexpr void layers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 6, 4>(g, "x");
  auto ids = tf::placeholder<std::int32_t, tf::batch, 6>(g, "ids");
  auto a = tf::conv2d<4, 3>(g, "conv", x, {.activation = tf::relu});
  a = tf::conv2d_transpose<4, 3>(g, "transposed", a, {.activation = tf::tanh});
  a = tf::depthwise_conv2d<1, 3>(g, "depthwise", a);
  a = tf::separable_conv2d<4, 3>(g, "separable", a);
  a = tf::conv2d_in_plane<3>(g, "in_plane", a);
  a = tf::batch_norm(g, "batch_norm", a);
  a = tf::group_norm<2>(g, "group_norm", a);
  a = tf::instance_norm(g, "instance_norm", a);
  a = tf::layer_norm(g, "layer_norm", a);
  auto line = tf::conv1d<4, 3>(g, "line", tf::slice<tf::whole, 0>(a));
  auto volume = tf::conv3d<4, 3>(g, "volume", tf::expand_dims<1>(a));
  auto pooled = tf::avg_pool<2, 2>(tf::max_pool<2, 1>(a));
  auto words = tf::embedding<10, 4>(g, "words", ids);
  auto heads = tf::multi_head_attention<2>(g, "heads", words, {.causal = true});
  auto rows = dropout(flatten(pooled), {.keep = 0.5f});
  auto h = tf::repeat<2>(g, "more", rows, [](tf::Graph& net, tf::Label name, auto y) {
    return tf::dense<8>(net, name, y, {.activation = [](auto v) { return leaky_relu(v, 0.1); }});
  });
  auto loss = mean(square(h)) + mean(line) + mean(volume) + mean(heads);
  tf::minimize(tf::Adam{}, loss.named("loss")).named("train");
}

constexpr void recurrent(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3, 4>(g, "x");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  const tf::LSTM<4, 4, 2> lstm(g, "lstm", {.peepholes = true, .cell_clip = 3});
  const tf::BasicLSTM<4, 4> forward(g, "forward");
  const tf::GRU<4, 4> backward(g, "backward");
  const tf::BasicRNN<4, 4> plain(g, "plain", {.activation = tf::relu});
  const auto both = tf::bidirectional_rnn(forward, backward, x, lengths);
  const auto deep = tf::multi_rnn<2>([&](int i) { return tf::GRU<4, 4>(g, {"deep", i}); });
  const auto dropped = tf::DropoutCell(g, plain, {.input_keep = 0.5, .state_keep = 0.5});
  auto memory = dynamic_rnn(deep, x).outputs;
  auto attention = tf::bahdanau_attention<4, 3>(g, "additive", memory, lengths);
  const tf::AttentionCell decoder(g, "decoder", tf::GRU<4 + 4, 4>(g, "decoder_cell"), attention);
  auto loss = mean(dynamic_rnn(lstm, x).outputs) + mean(dynamic_rnn(dropped, x).outputs) +
              mean(both.forward.outputs) + mean(both.backward.outputs) +
              mean(dynamic_rnn(decoder, x).outputs);
  tf::GradientDescent{.rate = 0.1}.minimize(loss.named("loss")).named("train");
}

constexpr void primitives_of_control_flow(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  const auto sides = tf::primitives::switch_(x, tf::placeholder<bool>(g, "p"));
  tf::primitives::merge(sides.on_false * 2, sides.on_true + 1).named("y");
}

static_assert(tf::ir::Lowering<layers>::error.empty());
static_assert(tf::ir::Lowering<recurrent>::error.empty());
static_assert(tf::ir::Lowering<primitives_of_control_flow>::error.empty());

}  // namespace
