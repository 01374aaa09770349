// SPDX-License-Identifier: Apache-2.0

// One model with kernels of many kinds: convolutions, pools, norms, 16-bit numbers, random numbers,
// indices, sorted rows, moved and cumulated elements.

#include <typeflow/cuda.hpp>
#include <typeflow/cuda/indexing.hpp>
#include <typeflow/cuda/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace tf = typeflow;

namespace {

constexpr void net(tf::Graph& g) {
  auto image = placeholder<float, tf::batch, 8, 8, 3>(g, "image");
  auto label = placeholder<std::int32_t, tf::batch>(g, "label");
  auto h = relu(tf::conv2d<8, 3>(g, "conv", image));
  auto pooled = tf::max_pool<2, 2>(h);
  auto rows = flatten(pooled);
  auto mixed = cast<float>(cast<tf::bfloat16>(rows) * cast<tf::bfloat16>(rows));
  auto noisy = dropout(mixed, {.keep = 0.9f});
  auto hidden = tf::layer_norm(g, "norm", tf::dense<32>(g, "hidden", noisy));
  auto [best, places] = top_k<4>(hidden);
  auto table = variable<float, 16, 32>(g, "table", tf::truncated_normal(0, 0.1));
  auto looked = gather<0>(table, label);
  auto logits = tf::dense<10>(g, "logits", concat<1>(hidden + looked, best));
  auto loss = mean(softmax_cross_entropy(logits, label)).named("loss");
  sum(cumsum<1>(transpose<1, 0>(logits))).named("total");
  tf::Adam{.rate = 0.01f}.minimize(loss).named("train");
}

}  // namespace

int main() {
  tf::Variables variables;
  tf::Session<net, tf::training, tf::CudaTarget> session(variables, {.seed = 1});
  constexpr std::size_t rows = 12;
  std::vector<float> image(rows * 8 * 8 * 3);
  std::vector<std::int32_t> label(rows);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < rows; ++i) label[i] = static_cast<std::int32_t>(i % 10);
  float first = 0;
  float last = 0;
  for (int i = 0; i < 60; ++i) {
    last = session.run<"train", "loss">(tf::feed<"image">(image), tf::feed<"label">(label));
    if (i == 0) first = last;
  }
  std::printf("%s\n", 2 * last < first ? "the loss falls" : "the loss does not fall");
  return 0;  // this may be compiled as a function of another program
}
