// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random numbers for changes of images: each image of a batch gets its own.

#include "typeflow/images/pixels.hpp"
#include "typeflow/ops/random/random.hpp"

namespace typeflow::inline TYPEFLOW_ISA::images {

/// Uniform in [0, 1), from the path of this function's label, or of its number in the scope.
constexpr AnyExpr draw(ir::Graph& graph, const Label& function, const Label& label,
                       const Type& type) {
  return detail::uniform_node(graph, graph.add_random_path(function, label), type);
}

/// A number in [low, high) for each image, which broadcasts to the image.
constexpr AnyExpr draw_each(const AnyExpr& x, const Label& function, const Label& label, double low,
                            double high) {
  const Dims dims = x.dims();
  const DType type = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const AnyExpr u =
      draw(*x.graph, function, label, Type(type, reduced(dims, 7u << (dims.rank - 3), true)));
  return u * (high - low) + low;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::images
