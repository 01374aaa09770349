// SPDX-License-Identifier: Apache-2.0
#pragma once

// Selecting slices of a tensor by integer tensors: gather.
//
// There are two primitives, each the other's gradient. Gather reads, for every index, the slice of
// x at it along one axis. ScatterSum starts from zeros and adds every slice of `values` at its
// index, so duplicates add up. gather_nd (ops/index/gather_nd.hpp), segment sums
// (ops/index/segments.hpp) and embeddings (ops/index/embedding.hpp) are made of them.
//
// **Sparse gradients.** A training step reads few rows of an embedding table, and the gradient is
// zero elsewhere. So the gradient of a Gather along axis 0 is a node of IndexedSlices. It is a
// composite with the dense type, which expands into ScatterSum, so every operation can use it like
// a dense tensor. Code that can use the rows alone asks slices_of(gradient). If nothing else uses
// it, nothing expands, and an optimiser changes only these rows of the variable in place
// (ops/index/scatter.hpp).

#include <array>
#include <cstdint>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/index/indexing.hpp"
#include "typeflow/ops/shape/shape_ops.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

constexpr AnyExpr gather_node(const UntypedExpr auto& x, const AnyExpr& indices, int axis,
                              int batch_dims, Indexing indexing);
constexpr AnyExpr scatter_sum_node(const AnyExpr& indices, const UntypedExpr auto& values,
                                   Extent extent, int axis, int batch_dims, Indexing indexing);

/// Op::row_offsets of a Gather: along axis 0, if each index has to be one of a slice.
constexpr Id row_offsets(ir::Graph& graph, const ir::Node& gather, DType type);
/// The elements of a slice along axis 0, if all extents are numbers.
constexpr std::int64_t row_size(const Dims& dims) {
  std::int64_t size = 1;
  for (int i = 1; i < dims.rank; ++i) size *= dims.extent[i];
  return size;
}

}  // namespace detail

namespace ops {

/// Where slices along axis 0 begin in a tensor, in elements, for kernels that read the slices
/// there: index * size. An index outside of [0, extent) is an error. (I...) -> (I...)
struct RowOffsets : custom {
  static constexpr std::string_view name = "RowOffsets";
  static constexpr Domain domain = Domain::any;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr bool host_only = true;  // made for processors alone
  Extent extent;
  Extent size;
  Indexing indexing;
  std::uint64_t wide;  ///< the result is int64, not int32

  static constexpr Type infer(const RowOffsets& op, const Type& indices) {
    return {op.wide != 0 ? DType::int64 : DType::int32,
            is_integer(indices.dtype) ? indices.dims : no_dims};
  }
  static void interpret(InterpretCall& call) {
    const RowOffsets op = decode<RowOffsets>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    detail::check_indices(op.indexing, indices, op.extent);
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      call.outputs[0][i] = Number{0, detail::index_at(indices, i) * op.size};
    }
  }
  static Error explain(const RowOffsets& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[0]));
  }
};

/// The slices of x along an axis at these indices. The first `batch_dims` axes are shared.
/// (S...,P...,N,R...) x (S...,I...) -> (S...,P...,I...,R...)
struct Gather : custom {
  static constexpr std::string_view name = "Gather";
  static constexpr bool takes_strings = true;
  static constexpr Domain domain = Domain::any;
  static constexpr int flops = 0;
  std::int32_t axis;
  std::int32_t batch_dims;
  Indexing indexing;

  static constexpr Type infer(const Gather& op, const Type& x, const Type& indices) {
    return {x.dtype, is_integer(indices.dtype)
                         ? detail::gathered(x.dims, indices.dims, op.axis, op.batch_dims)
                         : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(Gather op, auto x, auto indices, auto, auto dy);
  static constexpr bool gathers = true;
  static constexpr Id (*row_offsets)(ir::Graph&, const ir::Node&, DType) = &detail::row_offsets;
  static void interpret(InterpretCall& call) {
    const Gather op = decode<Gather>(call.graph, call.node);
    const HostTensor& x = *call.inputs[0];
    const HostTensor& indices = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const detail::IndexLoops loops = detail::index_loops(
        detail::extents_of(x), detail::extents_of(indices), op.axis, op.batch_dims);
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::each_index(loops, indices, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t r = 0; r < loops.inner && from >= 0; ++r) {
        y[to * loops.inner + r] = x[from * loops.inner + r];
      }
    });
  }
  static Error explain(const Gather& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[1]));
  }
};

/// Zeros, plus every slice of `values` at its index; duplicates add up. (S...,P...,I...,R...) x
/// (S...,I...) -> (S...,P...,extent,R...)
struct ScatterSum : custom {
  static constexpr std::string_view name = "ScatterSum";
  static constexpr Domain domain = Domain::numbers;
  Extent extent;
  std::int32_t axis;
  std::int32_t batch_dims;
  Indexing indexing;

  static constexpr Type infer(const ScatterSum& op, const Type& values, const Type& indices) {
    return {values.dtype,
            is_integer(indices.dtype) && is_number(values.dtype)
                ? detail::scattered(indices.dims, values.dims, op.extent, op.axis, op.batch_dims)
                : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(ScatterSum op, auto, auto indices, auto,
                                                   auto dy) {
    return {detail::gather_node(dy, indices, op.axis, op.batch_dims, op.indexing), AnyExpr{}};
  }
  static void interpret(InterpretCall& call) {
    const ScatterSum op = decode<ScatterSum>(call.graph, call.node);
    const HostTensor& values = *call.inputs[0];
    const HostTensor& indices = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const detail::IndexLoops loops = detail::index_loops(
        detail::extents_of(y), detail::extents_of(indices), op.axis, op.batch_dims);
    detail::check_indices(op.indexing, indices, loops.extent);
    detail::visit_widest(y.dtype, [&](auto zero) {
      using Wide = decltype(zero);
      std::vector<Wide> total(static_cast<std::size_t>(y.size()));
      detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
        for (std::int64_t r = 0; r < loops.inner && to >= 0; ++r) {
          Wide& t = total[static_cast<std::size_t>(to * loops.inner + r)];
          t = Add{}(t, typeflow::to<Wide>(values[from * loops.inner + r]));
        }
      });
      for (std::int64_t i = 0; i < y.size(); ++i) {
        y[i] = detail::fitted(number_from(total[static_cast<std::size_t>(i)]), y.dtype);
      }
    });
  }
  static Error explain(const ScatterSum& op, const Failure& wrong, std::span<const Dims> operands) {
    return detail::wrong_index(op.indexing, wrong, detail::extents_of(operands[1]));
  }
};

/// ScatterSum along axis 0, for code that does not need the zeros; see slices_of. (I...) x
/// (I...,R...) -> (extent,R...)
struct IndexedSlices : composite {
  static constexpr std::string_view name = "IndexedSlices";
  static constexpr Domain domain = Domain::numbers;
  Extent extent;
  Indexing indexing;

  static constexpr Type infer(const IndexedSlices& op, const Type& indices, const Type& values) {
    return ScatterSum::infer({{}, op.extent, 0, 0, op.indexing}, values, indices);
  }
  static constexpr std::array<AnyExpr, 2> gradient(IndexedSlices op, auto indices, auto, auto,
                                                   auto dy) {
    return {AnyExpr{}, detail::gather_node(dy, indices, 0, 0, op.indexing)};
  }
  static constexpr AnyExpr expand(IndexedSlices op, auto indices, auto values) {
    return detail::scatter_sum_node(indices, values, op.extent, 0, 0, op.indexing);
  }
};

constexpr std::array<AnyExpr, 2> Gather::gradient(Gather op, auto x, auto indices, auto, auto dy) {
  const Extent extent = x.dims().extent[op.axis];
  if (op.axis == 0) return {apply(IndexedSlices{{}, extent, op.indexing}, indices, dy), AnyExpr{}};
  return {
      detail::scatter_sum_node(indices, dy, extent, op.axis, op.batch_dims, op.indexing),
      AnyExpr{},
  };
}

}  // namespace ops

// Sparse gradients.

/// Slices of a tensor at indices along its axis 0: (I...) and (I...,R...). Duplicates are added.
struct Slices {
  Id indices;  ///< a value
  Id values;   ///< the same
  Indexing indexing;
};

/// The lists of slices whose sum a tensor is; empty for a dense tensor. If a tensor was gathered
/// from several times, its gradient has several lists.
constexpr Pool<Slices> slices_of(const AnyExpr& gradient);

/// f(gradient), for an f that works on each element and maps 0 to 0: scaling, clipping by value,
/// rounding. For a sparse gradient f gets the values of its slices, and the result is sparse, too.
/// An f that is not linear needs indices without duplicates.
template <class F>
constexpr AnyExpr map_values(const AnyExpr& gradient, const F& f);

namespace detail {

constexpr Id row_offsets(ir::Graph& graph, const ir::Node& gather, DType type) {
  const auto op = decode<ops::Gather>(graph, gather);
  const IndexingRule& rule = rule_of(op.indexing);
  const bool is_strict = !rule.skips_negative && !rule.skips_large && !rule.sorted;
  if (op.axis != 0 || op.batch_dims != 0 || !is_strict) return none;
  const Dims& x = graph.dims_of(graph.input(gather, 0));
  const std::uint64_t wide = type == DType::int64 ? 1 : 0;
  return apply(ops::RowOffsets{{}, x.extent[0], row_size(x), op.indexing, wide},
               AnyExpr{&graph, graph.input(gather, 1)})
      .id;
}

constexpr AnyExpr gather_node(const UntypedExpr auto& x, const AnyExpr& indices, int axis,
                              int batch_dims, Indexing indexing) {
  return apply(ops::Gather{{}, axis, batch_dims, indexing}, x, indices);
}
constexpr AnyExpr scatter_sum_node(const AnyExpr& indices, const UntypedExpr auto& values,
                                   Extent extent, int axis, int batch_dims, Indexing indexing) {
  return in_float(values, [&](const auto& v) {
    return apply(ops::ScatterSum{{}, extent, axis, batch_dims, indexing}, v, indices);
  });
}

/// Appends the lists of slices whose sum a value is; false if it is dense.
constexpr bool collect_slices(ir::Graph& graph, Id value, Pool<Slices>& out) {
  const ir::Node& node = graph.node_of(value);
  if (is<ops::IndexedSlices>(*node.op)) {
    out.push(Slices{graph.input(node, 0), graph.input(node, 1),
                    decode<ops::IndexedSlices>(graph, node).indexing});
    return true;
  }
  if (!is<ops::Add>(*node.op)) return false;
  const Id a = graph.input(node, 0);
  const Id b = graph.input(node, 1);
  return graph.values[a].type == graph.values[b].type && collect_slices(graph, a, out) &&
         collect_slices(graph, b, out);
}

template <class F>
constexpr Id map_slices(ir::Graph& graph, Id value, const F& f) {
  const ir::Node node = graph.node_of(value);
  if (is<ops::IndexedSlices>(*node.op)) {
    const AnyExpr indices{&graph, graph.input(node, 0)};
    const AnyExpr values = f(AnyExpr{&graph, graph.input(node, 1)});
    return apply(decode<ops::IndexedSlices>(graph, node), indices, values).id;
  }
  const Id a = map_slices(graph, graph.input(node, 0), f);
  const Id b = map_slices(graph, graph.input(node, 1), f);
  return (AnyExpr{&graph, a} + AnyExpr{&graph, b}).id;
}

}  // namespace detail

constexpr Pool<Slices> slices_of(const AnyExpr& gradient) {
  Pool<Slices> slices;
  if (!detail::collect_slices(*gradient.graph, gradient.id, slices)) slices.clear();
  return slices;
}
template <class F>
constexpr AnyExpr map_values(const AnyExpr& gradient, const F& f) {
  if (slices_of(gradient).empty()) return f(gradient);
  return {gradient.graph, detail::map_slices(*gradient.graph, gradient.id, f)};
}

// Untyped functions.

/// Untyped: the slices of x along an axis; the first `batch_dims` axes of x and indices are shared.
template <UntypedExpr X>
constexpr AnyExpr gather(const X& x, const X& indices, int axis, int batch_dims = 0) {
  return detail::gather_node(x, indices, axis, batch_dims, Indexing::gather);
}
namespace detail {

template <class X, class I, int Axis, int BatchDims>
struct GatherRule {
  static constexpr Dims value = gathered(X::dims, I::dims, Axis, BatchDims);
};

}  // namespace detail

/// Options of gather, with TensorFlow's defaults.
struct GatherOptions {
  int batch_dims = 0;     ///< leading axes that x and the indices share
  int axis = batch_dims;  ///< the axis that the indices are positions of
};

/// The slices of x at these indices, as TensorFlow's gather and NumPy's take.
/// gather<GatherOptions{.batch_dims = 1}>(q, a): one element of each row,
/// (B,N,R...) x (B,I...) -> (B,I...,R...)
///
/// The indices have any integer type. An index outside of [0, N) is an error of the run. The
/// gradient of gather(x, i) for x is sparse: see slices_of.
template <GatherOptions Options, TypedExpr X, TypedExpr I>
constexpr auto gather(const X& x, const I& indices,
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Options.axis, X::rank);
  static_assert(axis >= 0, "gather<axis>(x, indices): x has no such axis");
  static_assert(detail::are_indices<I>, "gather<axis>(x, indices): the indices must be integers");
  constexpr int shared = Options.batch_dims;
  constexpr bool is_batch = shared >= 0 && shared <= axis && shared <= I::rank;
  static_assert(axis < 0 || is_batch,
                "gather<options>(x, indices): batch_dims must be from 0 to the axis, and at most "
                "the rank of the indices");
  using Rule =
      detail::GatherRule<typename X::shape, typename I::shape, axis, is_batch ? shared : 0>;
  static_assert(axis < 0 || !is_batch || shared == 0 || Rule::value.valid(),
                "gather<options>(x, indices): the first batch_dims axes of x and of the indices "
                "must be the same");
  static_assert(axis < 0 || shared != 0 || Rule::value.valid(),
                "gather<axis>(x, indices): the result would have more axes than tf::max_rank");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::gather_node(x.any(), indices.any(), axis, shared, Indexing::gather).id);
}

/// The same along an axis, by the same indices for all positions of the other axes.
/// gather(x, i): rows of x, (N,R...) x (I...) -> (I...,R...)
/// gather<1>(x, i): columns, (P,N,R...) x (I...) -> (P,I...,R...)
template <int Axis = 0, TypedExpr X, TypedExpr I>
constexpr auto gather(const X& x, const I& indices,
                      std::source_location at = std::source_location::current()) {
  return gather<GatherOptions{.axis = Axis}>(x, indices, at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
