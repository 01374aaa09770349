// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contractions: operations whose result is matrices of sums of products. What an operation says
// here is all that passes and lowering know of it; how its loops gather the operands for the
// register tile is simd::contraction_of<O> (cpu/contraction.hpp).
//
// It has two operands, a and b; they and the result are of one type, float or double. The result's
// last axis is the columns; whole_rows says what the others are. Besides `infer` and `interpret`, a
// contraction has
//
//   static describe(op, Type a, Type b, Type y)        a Contraction
//   static shapes(op, further, rows, columns, depth)   std::array<Dims, 3>: of a, b and y in a run,
//                                                      for one matrix; `further` are its extents
//                                                      that a Contraction has besides

#include <array>
#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/record.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A contraction of two operands a and b.
struct Contraction {
  static constexpr int max_further = 8;

  Count depth{};         ///< products that an element is the sum of
  unsigned variant = 0;  ///< what of the attributes the kernel's type has
  /// Axes of the result, outside of its matrices, along which a runs, as bits...
  unsigned outside_a = 0;
  unsigned outside_b = 0;  ///< ...and b
  bool rows_of_a = false;  ///< a's rows go on from the axes outside, as one longer axis
  int further = 0;         ///< extents that the kernel needs besides
  Extent extents[max_further] = {};
};

/// Sums of products, on a tile of which the elementwise operations behind it go on.
struct contraction : operation_base {
  static constexpr Kind kind = Kind::contraction;
  /// All axes of the result but the last are rows of one matrix; what follows on the tile runs
  /// along all of them or none. If false, the last two are rows and columns, and the others lie
  /// outside of the matrices.
  static constexpr bool whole_rows = true;
};

/// What of a contraction an Op points to.
struct ContractionRules {
  bool whole_rows;
  Contraction (*describe)(const ir::Graph&, const ir::Node&);
  std::array<Dims, 3> (*shapes)(const std::uint32_t* words, const std::int64_t* further,
                                std::int64_t rows, std::int64_t columns, std::int64_t depth);
};

namespace detail {

template <class O>
struct ContractionRulesOf {
  static constexpr Contraction describe(const ir::Graph& graph, const ir::Node& node) {
    return O::describe(decode<O>(graph, node), graph.type_of(graph.input(node, 0)),
                       graph.type_of(graph.input(node, 1)), graph.type_of(node.outputs.first));
  }
  static constexpr std::array<Dims, 3> shapes(const std::uint32_t* words,
                                              const std::int64_t* further, std::int64_t rows,
                                              std::int64_t columns, std::int64_t depth) {
    return O::shapes(decode<O>(words), further, rows, columns, depth);
  }
  static constexpr ContractionRules rules{O::whole_rows, &describe, &shapes};
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
