// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products whose result has wider elements than their operands: bytes that are summed as
// int32, as quantized nets need them; 16-bit numbers whose sums are not rounded to 16 bits.

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "typeflow/ops/elementwise/cast.hpp"
#include "typeflow/ops/linear/matmul.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// int32 of int8 and uint8. The sums are exact; they wrap around as those of int32 do.
struct IntegerMatMul : contraction {
  static constexpr std::string_view name = "IntegerMatMul";
  static constexpr bool whole_rows = false;
  static constexpr bool reads_strided = true;
  std::uint32_t transposed;  ///< a Transposed

  constexpr bool a() const { return (transposed & 1u) != 0; }
  constexpr bool b() const { return (transposed & 2u) != 0; }

  static constexpr bool takes(DType type) { return type == DType::int8 || type == DType::uint8; }
  static constexpr bool multiplies(DType a, DType b, DType y) {
    return takes(a) && takes(b) && y == DType::int32;
  }
  static constexpr Type infer(IntegerMatMul op, const Type& a, const Type& b) {
    return {DType::int32, takes(a.dtype) && takes(b.dtype)
                              ? matrix_product(a.dims, op.a(), b.dims, op.b())
                              : no_dims};
  }
  static constexpr Contraction describe(IntegerMatMul op, const Type& a, const Type& b,
                                        const Type& y) {
    Contraction product = MatMul::describe(MatMul{{}, op.transposed}, a, b, y);
    product.loops &= MatMul::never_vector;
    return product;
  }
  static constexpr std::array<Dims, 3> shapes(IntegerMatMul op, const std::int64_t* further,
                                              std::int64_t rows, std::int64_t columns,
                                              std::int64_t depth) {
    return MatMul::shapes(MatMul{{}, op.transposed}, further, rows, columns, depth);
  }
  static constexpr AnyExpr simplify(IntegerMatMul op, auto a, auto b, auto y) {
    return without_moves(op, a, b, y);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    const HostTensor& b = *call.inputs[1];
    each_sum(decode<IntegerMatMul>(call.graph, call.node), call,
             [&](std::int64_t i, const auto& each_product) {
               std::int64_t total = 0;
               each_product(
                   [&](std::int64_t x, std::int64_t y) { total += a[x].integer * b[y].integer; });
               call.outputs[0][i] = {0, static_cast<std::int32_t>(total)};
             });
  }
};

}  // namespace ops

/// Untyped matrix product whose elements have type `out`.
template <UntypedExpr X>
constexpr AnyExpr matmul(DType out, const X& a, const X& b, bool ta, bool tb) {
  if (ops::IntegerMatMul::multiplies(a.dtype(), b.dtype(), out)) {
    const Id ids[] = {a.id, b.id};
    return add_node(*a.graph, ops::IntegerMatMul{{}, (ta ? 1u : 0u) | (tb ? 2u : 0u)}, ids, 2,
                    Type(out, matrix_product(a.dims(), ta, b.dims(), tb)));
  }
  const auto as = [&](const AnyExpr& x) { return x.dtype() == out ? x : cast_to(x, out); };
  if (out == DType::float32) {
    const bool narrow = a.dtype() == DType::bfloat16 && b.dtype() == DType::bfloat16;
    return ops::MatMul::product(as(a), as(b), ta, tb, narrow);
  }
  return matmul(as(a), as(b), ta, tb);
}

/// matmul with elements of type Out: those of a and b are converted to Out, multiplied, and added
/// up. a and b may have different types. Both must be integers if Out is, or floating-point numbers
/// if Out is, of no more bits than Out.
///
///   tf::matmul<std::int32_t>(codes, weights)     int8 or uint8 (..., M,K) x (..., K,N) -> int32
///   tf::matmul<float>(x, W)                      bfloat16 or half, without rounding to 16 bits
///
/// int32 of bytes has a kernel of its own, for the processor's VNNI instructions where the build
/// has them, and has the same bits everywhere. It has no gradient. It is TensorFlow's
/// matmul(..., output_type), JAX's preferred_element_type.
template <class Out, Transposed T = Transposed::neither, TypedExpr A, TypedExpr B>
constexpr auto matmul(const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  static_assert(A::rank >= 2 && B::rank >= 2,
                "matmul<Out>(a, b): a and b must be matrices, tensors of two axes or more");
  constexpr DType out = dtype_of<Out>;
  constexpr auto fits = [](DType x) {
    if (x == out) return true;
    const auto is_unsigned = [](DType type) { return type >= DType::uint8; };
    const bool same_kind = (is_floating(x) && is_floating(out)) ||
                           (is_integer(x) && is_integer(out) && is_unsigned(x) >= is_unsigned(out));
    return same_kind && size_of(x) < size_of(out);
  };
  static_assert(fits(A::type.dtype) && fits(B::type.dtype),
                "matmul<Out>(a, b): Out must hold all values of the elements of a and b: integers "
                "of no more bits, or floating-point numbers of no more bits");
  using Rule = detail::MatMulRule<typename A::shape, typename B::shape, T>;
  static_assert(Rule::leading,
                "matmul<Out>(a, b): the axes in front of the last two must be equal, or 1 in a or "
                "b");
  static_assert(Rule::inner, "matmul<Out>(a, b): the columns of a must equal the rows of b");
  using E = Expr<Out, shape_of_t<Rule>>;
  static_assert(is_floating(out) || size_of(A::type.dtype) + size_of(B::type.dtype) == 2 ||
                    E::rank < max_rank,
                "matmul<Out>(a, b): of integers that are no bytes the result must have fewer axes "
                "than tf::max_rank");
  detail::mark(at, a);
  return E(a.graph(), matmul(out, a.any(), b.any(), Rule::ta, Rule::tb).id);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
