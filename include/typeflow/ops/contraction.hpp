// SPDX-License-Identifier: Apache-2.0
#pragma once

// Contractions: operations whose results are matrices of sums of products. Passes and lowering know
// only what an operation says here. cpu_kernels::contraction_of<O> (cpu/contraction.hpp) has its
// loops, which gather the operands for the register tile.
//
// A contraction has two operands, a and b. `multiplies` says their types and the result's: by
// default one type, float or double. The result's last axis is the columns; whole_rows says what
// the others are. Besides `infer` and `interpret`, a contraction has
//
//   static describe(op, Type a, Type b, Type y)        a Contraction
//   static shapes(op, further, rows, columns, depth)   std::array<Dims, 3>: the shapes of a, b, y
//                                                      in a run, for one matrix; `further` are the
//                                                      Contraction's further extents
//
// and, if it multiplies 16-bit operands,
//
//   static elements(operand, further, rows, columns, depth)   how many elements operand 0 or 1 has
//                                                             for one matrix

#include <array>
#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/record.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// A contraction of two operands a and b.
struct Contraction {
  static constexpr int max_further = 8;

  Count depth{};         ///< an element is the sum of so many products
  unsigned variant = 0;  ///< attributes that the kernel's type has
  unsigned loops = 0;    ///< further ones of a processor's kernel: which loops its extents exclude
  /// Axes of the result outside of its matrices, as bits, along which a runs...
  unsigned outside_a = 0;
  unsigned outside_b = 0;            ///< ...and b
  bool rows_of_a = false;            ///< a's rows continue the axes outside, as one longer axis
  Extent extents[max_further] = {};  ///< the further ones that the kernel needs
};

/// Base of operations that are sums of products; elementwise operations may follow on a tile of
/// them.
struct contraction : operation_base {
  static constexpr Kind kind = Kind::contraction;
  /// If true, all axes of the result but the last are rows of one matrix, and operands that follow
  /// on the tile run along all of them or none. If false, the last two axes are rows and columns,
  /// and the others lie outside of the matrices.
  static constexpr bool whole_rows = true;
  /// Whether kernels of processors read operands that are strided views. Then the last two axes of
  /// an operand are a matrix, whose rows may lie any number of elements apart, and so may matrices
  /// along each axis in front of them. Such an operation has no further extents.
  static constexpr bool reads_strided = false;
  static constexpr int further_extents = 0;  ///< the number of Contraction::extents
  /// Whether there are kernels for operands and sums of these types.
  static constexpr bool multiplies(DType a, DType b, DType y) {
    return (y == DType::float32 || y == DType::float64) && a == y && b == y;
  }
};

// Float sums of operands that are float or 16-bit numbers, which need not be alike.

/// The type of the sums of these operands.
constexpr DType sums_of(DType a, DType b) {
  return a == DType::float64 && b == a ? DType::float64 : DType::float32;
}
/// Whether operands of these types have such sums. Doubles have sums of doubles.
constexpr bool has_wide_sums(DType a, DType b, DType y) {
  const auto is_read_as_float = [](DType type) {
    return type == DType::float32 || is_half_precision(type);
  };
  return contraction::multiplies(a, b, y) ||
         (y == DType::float32 && is_read_as_float(a) && is_read_as_float(b));
}
/// The 16-bit tensor from which x is widened to float, in x's shape; otherwise x. A contraction
/// reads it in place, so that nobody has to write its floats.
constexpr AnyExpr without_widening(const AnyExpr& x) {
  const AnyExpr source = x.graph->op_of(x.id).kind == Kind::view ? input_of(x, 0) : x;
  if (!made_by<ops::Cast>(source) || source.dtype() != DType::float32) return x;
  const AnyExpr narrow = input_of(source, 0);
  return is_half_precision(narrow.dtype()) ? reshape_to(narrow, x.dims()) : x;
}

/// The functions of a contraction to which an Op points.
struct ContractionRules {
  bool whole_rows;
  bool reads_strided;
  int further;
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
  static_assert(!O::reads_strided || O::further_extents == 0,
                "a contraction that reads strided views has no further extents");
  static_assert(O::further_extents >= 0 && O::further_extents <= Contraction::max_further,
                "a contraction has more further extents than a kernel can have");
  static constexpr ContractionRules rules{O::whole_rows, O::reads_strided, O::further_extents,
                                          &describe, &shapes};
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
