// SPDX-License-Identifier: Apache-2.0

// ResNet-50 v2: its parameters, shapes and names, from tracing it alone.

#include "../../examples/ch06_resnet_v2/resnet.hpp"

#include "support.hpp"

constexpr auto resnet50 = resnet::ResNet50::forward;

/// The parameters of a unit, from its definition: gamma and beta of preact, the convolutions
/// without bias and with norm, and those with bias.
constexpr std::int64_t of_unit(std::int64_t in, std::int64_t depth) {
  const std::int64_t d = depth / 4;
  const std::int64_t shortcut = in == depth ? 0 : in * depth + depth;
  return 2 * in + shortcut + (in * d + 2 * d) + (9 * d * d + 2 * d) + (d * depth + depth);
}
constexpr std::int64_t of_resnet50() {
  std::int64_t total = 7 * 7 * 3 * 64 + 64;
  std::int64_t in = 64;
  for (const resnet::Stage stage :
       {resnet::Stage{256, 3, 2}, {512, 4, 2}, {1024, 6, 2}, {2048, 3, 1}}) {
    for (int i = 0; i < stage.units; ++i) {
      total += of_unit(in, stage.depth);
      in = stage.depth;
    }
  }
  return total + 2 * 2048 + 2048 * 1000 + 1000;
}
static_assert(of_resnet50() == 25'568'360);

constexpr bool resnet50_is_as_published() {
  tf::Graph g(tf::inference);
  resnet50(g);
  const tf::ParameterTable table = tf::parameters(g);
  const tf::ir::Graph& graph = g;
  const auto has = [&](std::string_view path, const tf::Dims& dims) {
    for (const tf::Parameter& parameter : table) {
      if (parameter.path == path) return parameter.dims == dims;
    }
    return false;
  };
  return graph.error.empty() && table == 25'568'360 && has("root/W", tf::Dims{4, {7, 7, 3, 64}}) &&
         has("block_1/unit_1/shortcut/b", tf::Dims{1, {256}}) &&
         has("block_2/unit_4/conv2/conv/W", tf::Dims{4, {3, 3, 128, 128}}) &&
         has("block_3/unit_6/preact/gamma", tf::Dims{1, {1024}}) &&
         has("block_4/unit_3/conv3/W", tf::Dims{4, {1, 1, 512, 2048}}) &&
         has("logits/W", tf::Dims{2, {2048, 1000}});
}
static_assert(resnet50_is_as_published());
