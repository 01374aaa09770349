// SPDX-License-Identifier: Apache-2.0
#pragma once

// The product of a sparse matrix and a dense one. It has a kernel of its own: composed of a gather
// and segment sums, it would write a row of the dense matrix for every element of the sparse one.

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "typeflow/ops/linear/matmul.hpp"
#include "typeflow/ops/shape/concat.hpp"
#include "typeflow/sparse/sparse_tensor.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// y[row] += value b[column] for every element of a sparse matrix, in order, starting from zeros.
/// With `transposed` the coordinates are (column, row). (N,2) x (N) x (K,P) -> (rows,P)
struct SparseMatMul : custom {
  static constexpr std::string_view name = "SparseMatMul";
  static constexpr Domain domain = Domain::numbers;
  Extent rows;
  std::int64_t transposed;

  static constexpr Type infer(const SparseMatMul& op, const Type& indices, const Type& values,
                              const Type& b) {
    const bool fits = is_integer(indices.dtype) && values.dtype == b.dtype && b.dims.rank == 2 &&
                      values.dims.rank == 1 && indices.dims == Dims{2, {values.dims.extent[0], 2}};
    return {b.dtype, fits ? Dims{2, {op.rows, b.dims.extent[1]}} : no_dims};
  }
  /// The gradient of a value is dy[row] b[column]; that of b is the product with the transposed
  /// matrix.
  static constexpr std::array<AnyExpr, 3> gradient(SparseMatMul op, AnyExpr indices, AnyExpr values,
                                                   AnyExpr b, AnyExpr, AnyExpr dy) {
    const auto coordinate = [&](std::int64_t axis) {
      return reshape_to(slice_along(indices, 1, axis, 1), values.dims());
    };
    const AnyExpr row = coordinate(op.transposed);
    const AnyExpr column = coordinate(1 - op.transposed);
    const auto rows_of = [](const AnyExpr& x, const AnyExpr& i) {
      return detail::gather_node(x, i, 0, 0, Indexing::gather);
    };
    const SparseMatMul back{{}, b.dims().extent[0], 1 - op.transposed};
    return {AnyExpr{}, reduce<Sum>(rows_of(dy, row) * rows_of(b, column), 2u, false),
            apply(back, indices, values, dy)};
  }
  /// The mistake in the first coordinate that is out of range. at(i) is coordinate number i.
  template <class At>
  static Failure find_wrong(const SparseMatMul& op, const At& at, std::int64_t count,
                            std::int64_t rows, std::int64_t columns) {
    for (std::int64_t i = 0; i < 2 * count; ++i) {
      const std::int64_t extent = i % 2 == op.transposed ? rows : columns;
      if (at(i) < 0 || at(i) >= extent) return {1, {i, at(i), extent}};
    }
    return {};
  }
  TYPEFLOW_COLD static Error explain(const SparseMatMul&, const Failure& wrong,
                                     std::span<const Dims> operands) {
    const auto [i, index, extent, unused] = wrong.number;
    return detail::out_of_range("sparse_dense_matmul", "index", index,
                                detail::place_of(i, detail::extents_of(operands[0])), extent);
  }
  static void interpret(InterpretCall& call) {
    const SparseMatMul op = decode<SparseMatMul>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    const HostTensor& values = *call.inputs[1];
    const HostTensor& b = *call.inputs[2];
    HostTensor& y = call.outputs[0];
    const auto at = [&](std::int64_t i) { return detail::index_at(indices, i); };
    const Failure wrong = find_wrong(op, at, values.size(), y.dims.extent[0], b.dims.extent[0]);
    if (wrong.what != 0) throw explain(op, wrong, std::array{indices.dims});
    const std::int64_t width = y.dims.extent[1];
    detail::visit_widest(y.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      std::vector<Wide> sums(static_cast<std::size_t>(y.size()));
      for (std::int64_t n = 0; n < values.size(); ++n) {
        for (std::int64_t p = 0; p < width; ++p) {
          Wide& sum = sums[static_cast<std::size_t>(at(2 * n + op.transposed) * width + p)];
          const Wide element = typeflow::to<Wide>(b[at(2 * n + 1 - op.transposed) * width + p]);
          sum = Add{}(sum, Mul{}(typeflow::to<Wide>(values[n]), element));
        }
      }
      for (std::int64_t i = 0; i < y.size(); ++i) {
        y[i] = detail::fitted(number_from(sums[static_cast<std::size_t>(i)]), y.dtype);
      }
    });
  }
};

}  // namespace ops

namespace detail {

template <class S, class B, Transposed T>
struct SparseProductRule {
  static constexpr bool of_a = reads_transposed(T, transpose_a);
  static constexpr bool of_b = reads_transposed(T, transpose_b);
  static constexpr bool matrices = S::rank == 2 && B::rank == 2;
  static constexpr Dims value = matrices ? matrix_product(S::dims, of_a, B::dims, of_b) : no_dims;
};

/// Untyped: the product of a sparse matrix with this many rows and a dense one.
constexpr AnyExpr sparse_product(const AnyExpr& indices, const AnyExpr& values, const AnyExpr& b,
                                 Extent rows, bool transposed) {
  const ops::SparseMatMul op{{}, rows, transposed ? 1 : 0};
  return in_float(values,
                  [&](const AnyExpr& v) { return apply(op, indices, v, cast_to(b, v.dtype())); });
}

}  // namespace detail

/// The product of a sparse matrix and a dense one. (M,K) x (K,P) -> (M,P);
/// sparse_dense_matmul<transpose_a> reads a as (K,M), sparse_dense_matmul<transpose_b> reads b as
/// (P,K), and sparse_dense_matmul<transpose_both> both, as with matmul.
///
/// It costs one multiplication for each of a's elements and each column of the result. Gradients
/// flow to the values of a and to b. A coordinate outside of its axis is an error of the run.
template <Transposed T = Transposed::neither, class S, TypedExpr I, TypedExpr V, TypedExpr B>
constexpr auto sparse_dense_matmul(const SparseTensor<S, I, V>& a, const B& b,
                                   std::source_location at = std::source_location::current()) {
  using Rule = detail::SparseProductRule<S, typename B::shape, T>;
  static_assert(Rule::matrices, "sparse_dense_matmul(a, b): a and b must be matrices, of two axes");
  static_assert(!Rule::matrices || Rule::value.valid(),
                "sparse_dense_matmul(a, b): the columns of a must equal the rows of b");
  static_assert(detail::same_elements<V, B> && detail::in_domain<Domain::numbers, B>,
                "sparse_dense_matmul(a, b): the element types must be equal, those of numbers; "
                "convert with cast<T>(x)");
  detail::mark(at, b);
  using E = Expr<typename B::element, shape_of_t<Rule>>;
  if constexpr (Rule::value.valid()) {
    constexpr int swapped[] = {1, 0};
    const AnyExpr dense = Rule::of_b ? transpose_to(b.any(), swapped) : b.any();
    return E(b.graph(), detail::sparse_product(a.indices.any(), a.values.any(), dense,
                                               Rule::value.extent[0], Rule::of_a)
                            .id);
  } else {
    return E(b.graph(), b.id());
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
