// SPDX-License-Identifier: Apache-2.0
#pragma once

// A convolution and its two gradients as a graph that is made at run time, by compiled kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/check_conv.hpp"
#include "support/run_time_program.hpp"

namespace test {

/// The attributes of an operation over so many axes.
inline tf::ops::ConvAttributes attributes_of(const Convolution& c, int rank,
                                             bool winograd = false) {
  tf::ops::ConvAttributes a{
      tf::ops::one_element, {1, 1, 1}, static_cast<std::int32_t>(c.groups), rank, winograd ? 1 : 0};
  for (int i = 0; i < 3; ++i) {
    const ConvAxis& axis = c.axes[static_cast<std::size_t>(i)];
    a.window.set(i, {axis.size, axis.stride, axis.dilation, axis.before, axis.after});
    a.image[i] = static_cast<std::int32_t>(axis.in);
  }
  return a;
}

/// The shapes of its tensors.
struct ConvShapes {
  tf::Dims x, w, y;
};

/// y, dx and dw of x, w and dy.
inline tf::Graph convolution_graph(const tf::ops::ConvAttributes& attributes,
                                   const ConvShapes& shapes, tf::DType type) {
  tf::Graph g;
  const tf::AnyExpr x = input(g, "x", type, shapes.x);
  const tf::AnyExpr w = input(g, "w", type, shapes.w);
  const tf::AnyExpr dy = input(g, "dy", type, shapes.y);
  const auto add = [type](tf::Label label, const tf::AnyExpr& sums) {
    name(cast_to(sums, type), label);  // those of 16-bit numbers are floats
  };
  add("y", apply(tf::ops::Conv{{}, attributes}, x, w));
  add("dx", apply(tf::ops::ConvInputGradient{{}, attributes}, dy, w));
  add("dw", apply(tf::ops::ConvFilterGradient{{}, attributes}, x, dy));
  return g;
}

/// Runs such a graph. Elements of the results have first all bits of 0x7f.
inline Outcome run_convolution(const tf::Graph& graph, const ConvShapes& shapes, tf::DType type,
                               const tf::HostTensors& feeds, const KernelTable& kernels,
                               tf::Stream* stream) {
  RunTimeProgram program(graph, kernels, stream);
  std::map<std::string, std::vector<std::byte>> bytes;
  std::map<std::string, const void*> fed;
  std::map<std::string, void*> results;
  for (const auto& [name, tensor] : feeds) fed[name] = (bytes[name] = to_bytes(tensor)).data();
  const std::map<std::string, tf::Dims> of_results{
      {"y", shapes.y}, {"dx", shapes.x}, {"dw", shapes.w}};
  for (const auto& [name, shape] : of_results) {
    bytes[name] = to_bytes(tf::host_tensor(type, shape));
    std::fill(bytes[name].begin(), bytes[name].end(), std::byte{0x7f});
    results[name] = bytes[name].data();
  }
  program.run(fed, results);
  Outcome out;
  for (const auto& [name, shape] : of_results) out[name] = from_bytes(type, shape, results[name]);
  return out;
}

}  // namespace test
