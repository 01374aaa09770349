// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products of two or of many matrices. The axes before the last two broadcast, as in numpy;
// a kernel reads the operand that repeats in place.

#include <array>
#include <source_location>

#include "typeflow/ops/contraction.hpp"
#include "typeflow/ops/elementwise/arithmetic.hpp"
#include "typeflow/ops/reduce/reduce.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Which operands of a product are read transposed: matmul<transpose_b>(x, W).
enum class Transposed : std::uint32_t { neither = 0, a = 1, b = 2, both = 3 };
inline constexpr Transposed transpose_a = Transposed::a;
inline constexpr Transposed transpose_b = Transposed::b;
inline constexpr Transposed transpose_both = Transposed::both;
/// Whether a transposition includes `operand`, transpose_a or transpose_b.
constexpr bool reads_transposed(Transposed which, Transposed operand) {
  return (static_cast<unsigned>(which) & static_cast<unsigned>(operand)) != 0;
}

namespace ops {

/// Whether a permutation only transposes the matrices of the last two axes.
constexpr bool swaps_last(const Transpose& op, int rank) {
  for (int i = 0; i < rank - 2; ++i) {
    if (op.permutation[i] != i) return false;
  }
  return op.permutation[rank - 1] == rank - 2;
}

/// Whether a kernel that widens the matrices as it packs them does so for less than a pass costs.
/// Processors do not pack many small matrices.
constexpr bool packs(const AnyExpr& x) {
  const Dims& dims = x.dims();
  const Extent rows = dims.extent[dims.rank - 2];
  const Extent columns = dims.extent[dims.rank - 1];
  const bool is_small = dims.rank > 2 && rows >= 0 && columns >= 0 && rows * columns < 1024;
  return !is_small || x.graph->device.kind == DeviceKind::gpu;
}

/// The matrices of y, a transpose of x, transposed: with x's rows, if y's columns are those; then
/// nothing or less has to be moved. Otherwise y.
constexpr AnyExpr with_rows_of(const AnyExpr& x, const AnyExpr& y) {
  const Transpose op = operation_of<Transpose>(y);
  const int rank = y.dims().rank;
  if (swaps_last(op, rank)) return x;
  if (op.permutation[rank - 2] != rank - 1) return y;
  int permutation[max_rank] = {};
  for (int i = 0; i < rank - 2; ++i) permutation[i] = op.permutation[i];
  permutation[rank - 2] = op.permutation[rank - 1];
  permutation[rank - 1] = rank - 1;
  return transpose_to(x, permutation);
}

/// A product y without movements in front: a transpose of matrices becomes a flag, the axes before
/// the matrices broadcast anyway, and 16-bit operands are widened as they are read.
template <class O>
constexpr AnyExpr without_moves(O op, const AnyExpr& a, const AnyExpr& b, const AnyExpr& y) {
  std::array sides{a, b};
  bool changed = false;
  for (unsigned i = 0; i < 2; ++i) {
    while (true) {
      const AnyExpr side = sides[i];
      if (made_by<Transpose>(side)) {
        const AnyExpr x = input_of(side, 0);
        // As its rows, a's matrices are one with one b for all; as columns, each is a product.
        const Extent rows = side.dims().extent[side.dims().rank - 2];
        const bool one = i == 0 && !op.a() && (is_symbolic(rows) || rows < 32) &&
                         squeezed(without_last(sides[1].dims(), 2)).rank == 0;
        if (one && !swaps_last(operation_of<Transpose>(side), side.dims().rank)) break;
        sides[i] = with_rows_of(x, side);
        if (sides[i].id == side.id) break;
        op.transposed ^= 1u << i;
      } else if (made_by<BroadcastTo>(side)) {
        sides[i] = input_of(side, 0);
      } else {
        if (packs(side)) sides[i] = without_widening(side);
        if (sides[i].id == side.id) break;
      }
      if (matrix_product(sides[0].dims(), op.a(), sides[1].dims(), op.b()) != y.dims()) {
        sides[i] = side;
        break;
      }
      changed = true;
    }
  }
  if (!changed) return y;
  const Id ids[] = {sides[0].id, sides[1].id};
  return add_node(*y.graph, op, ids, 2, Type(y.dtype(), y.dims()));
}

/// Interprets a product. Calls element(i, each) for every element i of the result; each(f) calls
/// f(x, y) for the elements of a and b that are multiplied for it, in the order of the depth.
template <class O, class F>
void each_sum(const O& op, const InterpretCall& call, const F& element) {
  const Dims& a = call.inputs[0]->dims;
  const Dims& b = call.inputs[1]->dims;
  const Dims& y = call.outputs[0].dims;
  const Dims matrices = without_last(y, 2);
  const std::int64_t rows = y.extent[y.rank - 2];
  const std::int64_t columns = y.extent[y.rank - 1];
  const std::int64_t depth = a.extent[a.rank - (op.a() ? 2 : 1)];
  for (std::int64_t m = 0; m < count_of(matrices).coefficient; ++m) {
    const std::int64_t of_a = broadcast_index(m, matrices, without_last(a, 2)) * depth * rows;
    const std::int64_t of_b = broadcast_index(m, matrices, without_last(b, 2)) * depth * columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        element((m * rows + i) * columns + j, [&](const auto& f) {
          for (std::int64_t k = 0; k < depth; ++k) {
            f(of_a + (op.a() ? k * rows + i : i * depth + k),
              of_b + (op.b() ? j * depth + k : k * columns + j));
          }
        });
      }
    }
  }
}

/// For float and double. Float products have 16-bit operands, too, which their kernels widen.
struct MatMul : contraction {
  static constexpr std::string_view name = "MatMul";
  static constexpr bool whole_rows = false;
  static constexpr bool reads_strided = true;
  std::uint32_t transposed;  ///< a Transposed, and perhaps of_bfloat16
  /// All elements of both operands are numbers of bfloat16.
  static constexpr std::uint32_t of_bfloat16 = 4;

  // Loops of processors that a kernel has unless its extents exclude them.
  static constexpr unsigned never_deep = 8;      ///< a few results, each a long sum
  static constexpr unsigned never_vector = 16;   ///< one row or one column
  static constexpr std::int64_t deep_side = 16;  ///< the most rows, and columns, of few results
  static constexpr std::int64_t least_deep = 4096;
  /// Such a product with 2 to 15 known columns, whose a alone is transposed, has loops for as many;
  /// one with a single column has an epilogue for several rows of it at once.
  static constexpr unsigned few_columns = 32;  ///< times the columns
  /// Short rows of a by a small matrix, whose extents of 2 to point_side are known: a vector has
  /// several rows of the result.
  static constexpr unsigned points = 16 * few_columns;
  static constexpr Extent point_side = 8;

  constexpr bool a() const { return (transposed & 1u) != 0; }
  constexpr bool b() const { return (transposed & 2u) != 0; }

  static constexpr bool takes(DType type) {
    return type == DType::float32 || type == DType::float64;
  }
  static constexpr bool multiplies(DType a, DType b, DType y) { return has_wide_sums(a, b, y); }
  static constexpr Type infer(MatMul op, const Type& a, const Type& b) {
    const DType y = sums_of(a.dtype, b.dtype);
    return {y, multiplies(a.dtype, b.dtype, y) ? matrix_product(a.dims, op.a(), b.dims, op.b())
                                               : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(MatMul op, auto a, auto b, auto, auto dy) {
    const bool ta = op.a();
    const bool tb = op.b();
    // Its products are of bfloat16, too, if that is what the gradient comes from.
    const bool narrow = (op.transposed & of_bfloat16) != 0 && made_by<Cast>(dy) &&
                        input_of(dy, 0).dtype() == DType::bfloat16;
    const auto multiply = [&](const AnyExpr& x, const AnyExpr& other, bool tx, bool ty) {
      return product(x, other, tx, ty, narrow);
    };
    const AnyExpr da = ta ? multiply(b, dy, tb, true) : multiply(dy, b, false, !tb);
    if (!ta && dy.dims().rank > 2 && squeezed(without_last(b.dims(), 2)).rank == 0) {
      // With one b for all matrices: one product over the rows of all a's, instead of a sum of
      // products.
      const Dims of_a = one_matrix(a.dims());
      const Dims of_y = one_matrix(dy.dims());
      if (of_a.valid() && of_y.valid()) {
        const auto x = reshape_to(a, of_a);
        const auto dx = reshape_to(dy, of_y);
        return {da, reshape_to(tb ? multiply(dx, x, true, false) : multiply(x, dx, true, false),
                               b.dims())};
      }
    }
    return {da, tb ? multiply(dy, a, true, ta) : multiply(a, dy, !ta, false)};
  }
  /// Axes in front of the matrices are outside of them. There is a kernel for each way in which the
  /// operands are read.
  static constexpr Contraction describe(MatMul op, const Type& a, const Type& b, const Type& y) {
    Contraction product;
    const Extent columns = y.dims.extent[y.dims.rank - 1];
    const Extent depth = a.dims.extent[a.dims.rank - (op.a() ? 2 : 1)];
    product.depth.multiply(depth);
    product.variant = op.transposed;
    product.loops = excluded_loops(y.dims.extent[y.dims.rank - 2], columns, depth);
    if (columns == 1 || (op.a() && !op.b() && columns > 1 && columns < deep_side)) {
      product.loops |= few_columns * static_cast<unsigned>(columns);
    }
    const auto is_short = [](Extent x) { return x > 1 && x <= point_side; };
    if (!op.a() && is_short(columns) && is_short(depth)) product.loops |= points;
    const int outside = y.dims.rank - 2;
    const auto along = [&](const Dims& x) {
      unsigned axes = 0;
      for (int i = outside - (x.rank - 2), axis = 0; i < outside; ++i, ++axis) {
        if (x.extent[axis] != 1) axes |= 1u << i;
      }
      return axes;
    };
    if (outside > 0) {
      product.outside_a = along(a.dims);
      product.outside_b = along(b.dims);
      product.rows_of_a = !op.a();
    }
    return product;
  }
  /// The loops that these extents exclude. A kernel's rows may be a multiple of `rows`.
  static constexpr unsigned excluded_loops(Extent rows, Extent columns, Extent depth) {
    const auto at_most = [](Extent x, std::int64_t most) { return x < 0 || x <= most; };
    const bool deep = at_most(rows, deep_side) && at_most(columns, deep_side) &&
                      (depth < 0 || depth >= least_deep);
    const bool vector = at_most(rows, 1) || at_most(columns, 1);
    return (deep ? 0u : never_deep) | (vector ? 0u : never_vector);
  }
  static constexpr std::array<Dims, 3> shapes(MatMul op, const std::int64_t*, std::int64_t rows,
                                              std::int64_t columns, std::int64_t depth) {
    const Dims a = op.a() ? Dims{2, {depth, rows}} : Dims{2, {rows, depth}};
    const Dims b = op.b() ? Dims{2, {columns, depth}} : Dims{2, {depth, columns}};
    return {a, b, Dims{2, {rows, columns}}};
  }
  static constexpr std::int64_t elements(int operand, const std::int64_t*, std::int64_t rows,
                                         std::int64_t columns, std::int64_t depth) {
    return checked_product(operand == 0 ? rows : columns, depth);
  }
  static constexpr AnyExpr simplify(MatMul op, auto a, auto b, auto y) {
    return without_moves(op, a, b, y);
  }
  static void interpret(InterpretCall& call) {
    const HostTensor& a = *call.inputs[0];
    const HostTensor& b = *call.inputs[1];
    each_sum(
        decode<MatMul>(call.graph, call.node), call, [&](std::int64_t i, const auto& each_product) {
          double total = 0;
          each_product([&](std::int64_t x, std::int64_t y) { total += a.value(x) * b.value(y); });
          call.outputs[0].set(i, total);
        });
  }

  /// matmul; `narrow` if all elements of both operands are numbers of bfloat16.
  static constexpr AnyExpr product(const AnyExpr& a, const AnyExpr& b, bool ta, bool tb,
                                   bool narrow) {
    const MatMul op{{}, (ta ? 1u : 0u) | (tb ? 2u : 0u) | (narrow ? of_bfloat16 : 0u)};
    const Id ids[] = {a.id, b.id};
    return add_node(
        *a.graph, op, ids, 2,
        Type(sums_of(a.dtype(), b.dtype()), matrix_product(a.dims(), ta, b.dims(), tb)));
  }

  /// (..., M,N) as (...*M, N); none if the product is no extent.
  static constexpr Dims one_matrix(const Dims& x) {
    const Count rows = count_of(without_last(x, 1));
    if (extent_of(rows) == no_extent) return no_dims;
    return {2, {extent_of(rows), x.extent[x.rank - 1]}};
  }
};

}  // namespace ops

namespace detail {

/// A product by multiplications and a sum, which is correct for all number types.
constexpr AnyExpr sum_of_products(AnyExpr a, AnyExpr b, bool ta, bool tb) {
  if (ta) {
    int permutation[max_rank] = {};
    const int rank = a.dims().rank;
    for (int i = 0; i < rank; ++i) permutation[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    a = transpose_to(a, permutation);
  }
  // (..., M,K,1) * (..., 1,K,N), summed over K; if b is transposed (..., M,1,K) * (..., 1,N,K)
  const int rank_a = a.dims().rank;
  const AnyExpr products = reshape_to(a, expanded(a.dims(), tb ? rank_a - 1 : rank_a)) *
                           reshape_to(b, expanded(b.dims(), b.dims().rank - 2));
  return reduce<ops::Sum>(products, 1u << (products.dims().rank - (tb ? 1 : 2)), false);
}

}  // namespace detail

/// Untyped matrix product.
template <UntypedExpr X>
constexpr AnyExpr matmul(const X& a, const X& b, bool ta, bool tb) {
  const DType type = a.dtype();
  if (ops::MatMul::takes(type)) return ops::MatMul::product(a, b, ta, tb, false);
  if (is_floating(type)) {  // 16-bit numbers: multiplied and added up as float, rounded once
    const AnyExpr y = ops::MatMul::product(cast_to(a, DType::float32), cast_to(b, DType::float32),
                                           ta, tb, type == DType::bfloat16);
    return cast_to(y, type);
  }
  return detail::sum_of_products(a, b, ta, tb);
}

namespace detail {
template <class A, class B, Transposed T>
struct MatMulRule {
  static constexpr bool ta = reads_transposed(T, transpose_a);
  static constexpr bool tb = reads_transposed(T, transpose_b);
  static constexpr bool matrices = A::rank >= 2 && B::rank >= 2;
  static constexpr Dims product = matrix_product(A::dims, ta, B::dims, tb);
  /// Whether the leading axes broadcast.
  static constexpr bool leading =
      !matrices || broadcast(without_last(A::dims, 2), without_last(B::dims, 2)).valid();
  static constexpr bool inner = !matrices || !leading || product.valid();
  /// For matrices that do not fit, the shape of the product if they did: one mistake, one message.
  static constexpr Dims value = [] {
    Dims fitted = B::dims;
    if (matrices && leading) {
      fitted.extent[B::rank - (tb ? 1 : 2)] = A::dims.extent[A::rank - (ta ? 2 : 1)];
    }
    return matrix_product(A::dims, ta, fitted, tb);
  }();
};
}  // namespace detail

/// The matrix product of the last two axes; the leading axes broadcast. (..., M,K) x (..., K,N) ->
/// (..., M,N). matmul<transpose_a> reads a as (..., K,M), matmul<transpose_b> reads b as (...,
/// N,K).
///
/// float and double have kernels of their own; 16-bit numbers are added up in float (large
/// products of bfloat16 take denormal operands for zeros on AVX512-BF16). Products of
/// other numbers are plain sums, without blocking for the cache.
template <Transposed T = Transposed::neither, TypedExpr A, TypedExpr B>
constexpr auto matmul(const A& a, const B& b,
                      std::source_location at = std::source_location::current()) {
  (void)sizeof(
      detail::requirement<"matmul(a, b): a and b must be matrices, tensors of two axes or more",
                          (A::rank >= 2 && B::rank >= 2)>);
  static_assert(A::rank >= 2 && B::rank >= 2,
                "matmul(a, b): a and b must be matrices, tensors of two axes or more");
  static_assert(std::is_same_v<typename A::element, typename B::element> &&
                    detail::in_domain<Domain::numbers, A>,
                "matmul(a, b): the element types must be equal, those of numbers; convert with "
                "cast<T>(x)");
  using Rule = detail::MatMulRule<typename A::shape, typename B::shape, T>;
  (void)sizeof(detail::requirement<
               "matmul(a, b): the axes in front of the last two must be equal, or 1 in a or b",
               Rule::leading>);
  static_assert(Rule::leading,
                "matmul(a, b): the axes in front of the last two must be equal, or 1 in a or b");
  (void)sizeof(
      detail::requirement<"matmul(a, b): the columns of a must equal the rows of b", Rule::inner>);
  static_assert(Rule::inner, "matmul(a, b): the columns of a must equal the rows of b");
  detail::mark(at, a);
  using E = Expr<typename A::element, shape_of_t<Rule>>;
  if constexpr (ops::MatMul::takes(A::type.dtype)) {
    const Id ids[] = {a.id(), b.id()};
    const ops::MatMul op{{}, static_cast<std::uint32_t>(T)};
    return E(a.graph(), add_node(a.graph(), op, ids, 2, E::type).id);
  } else {
    static_assert(is_floating(A::type.dtype) || E::rank < max_rank,
                  "matmul(a, b): of tensors of integers or complex numbers the result must have "
                  "fewer axes than tf::max_rank");
    return E(a.graph(), matmul(a.any(), b.any(), Rule::ta, Rule::tb).id);
  }
}

/// matmul, by TensorFlow 1.x's name for tensors with more than two axes.
template <Transposed T = Transposed::neither, TypedExpr A, TypedExpr B>
constexpr auto batch_matmul(const A& a, const B& b,
                            std::source_location at = std::source_location::current()) {
  static_assert(A::rank >= 2 && B::rank >= 2,
                "batch_matmul(a, b): a and b must be matrices, tensors of two axes or more");
  return matmul<T>(a, b, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
