// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix product.

#include <source_location>

#include "typeflow/front/shape_ops.hpp"

namespace typeflow {

/// Which operands of matmul are read transposed: matmul<transpose_b>(x, W).
enum class Transposed : std::uint32_t { neither = 0, a = 1, b = 2, both = 3 };
inline constexpr Transposed transpose_a = Transposed::a;
inline constexpr Transposed transpose_b = Transposed::b;
inline constexpr Transposed transpose_both = Transposed::both;

namespace ops {

struct MatMul : operation_base {
  static constexpr std::string_view name = "MatMul";
  static constexpr Kind kind = Kind::contraction;
  std::uint32_t transposed;  ///< a Transposed

  constexpr bool a() const { return (transposed & 1u) != 0; }
  constexpr bool b() const { return (transposed & 2u) != 0; }

  static constexpr Type infer(MatMul op, const Type& a, const Type& b) {
    return {a.dtype, a.dtype == b.dtype && is_floating(a.dtype)
                         ? matrix_product(a.dims, op.a(), b.dims, op.b())
                         : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(MatMul op, auto a, auto b, auto, auto dy) {
    const bool ta = op.a();
    const bool tb = op.b();
    return {ta ? matmul(b, dy, tb, true) : matmul(dy, b, false, !tb),
            tb ? matmul(dy, a, true, ta) : matmul(a, dy, !ta, false)};
  }
  static void interpret(InterpretCall& call) {
    const MatMul op = decode<MatMul>(call.graph, call.node);
    const HostTensor& a = *call.inputs[0];
    const HostTensor& b = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const std::int64_t rows = y.dims.extent[0];
    const std::int64_t columns = y.dims.extent[1];
    const std::int64_t depth = a.dims.extent[op.a() ? 0 : 1];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double total = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          total += a.value(op.a() ? k * rows + i : i * depth + k) *
                   b.value(op.b() ? j * depth + k : k * columns + j);
        }
        y.set(i * columns + j, total);
      }
    }
  }
};

}  // namespace ops

/// Untyped matrix product.
template <UntypedExpr X>
constexpr AnyExpr matmul(const X& a, const X& b, bool ta, bool tb) {
  const ops::MatMul op{{}, (ta ? 1u : 0u) | (tb ? 2u : 0u)};
  const Id ids[] = {a.id, b.id};
  return add_node(*a.graph, op, ids, 2,
                  Type(a.dtype(), matrix_product(a.dims(), ta, b.dims(), tb)));
}

namespace detail {
template <class A, class B, Transposed T>
struct MatMulRule {
  static constexpr Dims value = matrix_product(A::dims, (static_cast<unsigned>(T) & 1u) != 0,
                                               B::dims, (static_cast<unsigned>(T) & 2u) != 0);
};
}  // namespace detail

/// The matrix product. (M,K) x (K,N) -> (M,N); matmul<transpose_a> reads a as (K,M),
/// matmul<transpose_b> reads b as (N,K).
template <Transposed T = Transposed::neither, TypedExpr A, TypedExpr B>
constexpr auto matmul(const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  static_assert(A::rank == 2 && B::rank == 2,
                "matmul(a, b): a and b must be matrices, tensors of two axes");
  static_assert(std::is_same_v<typename A::element, typename B::element> &&
                    std::is_floating_point_v<typename A::element>,
                "matmul(a, b): the element types must be equal, float or double; convert with "
                "cast<T>(x)");
  using Rule = detail::MatMulRule<typename A::shape, typename B::shape, T>;
  static_assert(A::rank != 2 || B::rank != 2 || Rule::value.valid(),
                "matmul(a, b): the columns of a must equal the rows of b");
  detail::mark(at, a);
  using E = Expr<typename A::element, shape_of_t<Rule>>;
  const Id ids[] = {a.id(), b.id()};
  return E(a.graph(),
           add_node(a.graph(), ops::MatMul{{}, static_cast<std::uint32_t>(T)}, ids, 2, E::type).id);
}

}  // namespace typeflow
