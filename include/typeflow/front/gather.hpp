// SPDX-License-Identifier: Apache-2.0
#pragma once

// Choosing slices of a tensor by integer tensors, and adding up slices at places that integer
// tensors name: gather, take, gather_nd, scatter_nd.
//
// There are two primitives, each the other's gradient. Gather reads, for every index, the slice of
// x there along one axis; ScatterSum starts from zeros and adds every slice of `values` at its
// index, so that duplicates add up. Segment sums, bin counts and embeddings are made of these two
// (front/segments.hpp, front/embedding.hpp).
//
// **Sparse gradients.** Of a table of embeddings a step reads few rows, and the gradient is zero
// but for these. The gradient of a Gather along axis 0 is therefore a node of IndexedSlices: a
// composite whose type is the dense one and which expands into ScatterSum, so that every operation
// can use it as the dense tensor that it stands for. A consumer that can do with the rows alone
// asks slices_of(gradient), and if it takes what it gets, nothing expands: an optimiser changes
// these rows of the variable in place (front/scatter.hpp).

#include <array>
#include <cstdint>
#include <limits>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/front/custom.hpp"
#include "typeflow/front/shape_ops.hpp"

namespace typeflow {

/// On behalf of which function an operation follows indices: how messages call it, and what it
/// makes of an index outside of [0, extent). (64 bits, so that attributes have no padding.)
enum class Indexing : std::uint64_t {
  gather,
  take,
  gather_nd,
  scatter_nd,
  scatter_add,
  scatter_sub,
  scatter_mul,
  scatter_update,
  segment_sum,
  unsorted_segment_sum,
  bincount,
  confusion_matrix,
  embedding_lookup,
  embedding_lookup_sparse,
};

namespace detail {

struct IndexingRule {
  std::string_view name;
  bool skips_negative;  ///< reads zeros, adds nothing; else an error
  bool skips_large;     ///< the same, of an index >= extent
  bool sorted;          ///< an index smaller than the one before is an error
};
inline constexpr IndexingRule indexing_rules[] = {
    {"gather", false, false, false},           {"take", false, false, false},
    {"gather_nd", false, false, false},        {"scatter_nd", false, false, false},
    {"scatter_add", false, false, false},      {"scatter_sub", false, false, false},
    {"scatter_mul", false, false, false},      {"scatter_update", false, false, false},
    {"segment_sum", false, false, true},       {"unsorted_segment_sum", true, false, false},
    {"bincount", false, true, false},          {"confusion_matrix", false, false, false},
    {"embedding_lookup", false, false, false}, {"embedding_lookup_sparse", false, false, false},
};
constexpr const IndexingRule& rule_of(Indexing indexing) {
  return indexing_rules[static_cast<int>(indexing)];
}

// What interpreter and kernels have in common.

/// A tensor, indices along one of its axes, and the slices that they choose, as nested loops: the
/// tensor is [shared][middle][extent][inner], the indices are [shared][count], the slices
/// [shared][middle][count][inner].
struct IndexLoops {
  std::int64_t shared = 1;
  std::int64_t middle = 1;
  std::int64_t extent = 1;
  std::int64_t count = 1;
  std::int64_t inner = 1;
};
inline IndexLoops index_loops(std::span<const std::int64_t> tensor,
                              std::span<const std::int64_t> indices, int axis, int batch_dims) {
  IndexLoops loops;
  const int rank = static_cast<int>(tensor.size());
  for (int i = 0; i < rank; ++i) {
    std::int64_t& part = i < batch_dims ? loops.shared
                         : i < axis     ? loops.middle
                         : i == axis    ? loops.extent
                                        : loops.inner;
    part *= tensor[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = static_cast<std::size_t>(batch_dims); i < indices.size(); ++i) {
    loops.count *= indices[i];
  }
  return loops;
}
inline std::span<const std::int64_t> extents_of(const HostTensor& tensor) {
  return {tensor.dims.extent, static_cast<std::size_t>(tensor.dims.rank)};
}

/// An index of any integer type; what an std::int64_t can't hold is too large for any tensor.
template <class T>
constexpr std::int64_t to_index(T index) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (index > static_cast<std::uint64_t>(largest)) return largest;
  }
  return static_cast<std::int64_t>(index);
}
inline std::int64_t index_at(const HostTensor& indices, std::int64_t i) {
  const std::int64_t index = indices[i].integer;
  return indices.dtype == DType::uint64 ? to_index(static_cast<std::uint64_t>(index)) : index;
}

/// " at [1, 4]": element `position` of a tensor of these extents; nothing of a scalar.
TYPEFLOW_COLD inline std::string place_of(std::int64_t position,
                                          std::span<const std::int64_t> extents) {
  std::string place;
  for (std::size_t i = extents.size(); i-- > 0;) {
    place = std::to_string(position % extents[i]) + (place.empty() ? "]" : ", ") + place;
    position /= extents[i];
  }
  return place.empty() ? place : " at [" + place;
}
[[noreturn]] TYPEFLOW_COLD inline void throw_out_of_range(std::string_view function,
                                                          const char* what, std::int64_t index,
                                                          const std::string& place,
                                                          std::int64_t extent) {
  throw Error(std::string(function), what + (' ' + std::to_string(index)) + place +
                                         " is not in [0, " + std::to_string(extent) + ")");
}

/// Throws if an index is out of range and not to be skipped, or out of order. at(i) is the i-th.
template <class At>
void check_indices(Indexing indexing, const At& at, std::span<const std::int64_t> extents,
                   std::int64_t extent) {
  const IndexingRule& rule = rule_of(indexing);
  std::int64_t count = 1;
  for (const std::int64_t e : extents) count *= e;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = at(i);
    if ((index < 0 && !rule.skips_negative) || (index >= extent && !rule.skips_large)) {
      throw_out_of_range(rule.name, "index", index, place_of(i, extents), extent);
    }
    if (rule.sorted && i > 0 && index < at(i - 1)) {
      throw Error(std::string(rule.name), "the ids must be sorted, but " + std::to_string(index) +
                                              place_of(i, extents) + " follows " +
                                              std::to_string(at(i - 1)));
    }
  }
}
inline void check_indices(Indexing indexing, const HostTensor& indices, std::int64_t extent) {
  check_indices(
      indexing, [&](std::int64_t i) { return index_at(indices, i); }, extents_of(indices), extent);
}

/// Calls f(slice of the tensor, slice of the chosen ones), each as the place of its first element
/// in steps of loops.inner, for every index in order; the former is -1 for one that is skipped.
template <class F>
void each_index(const IndexLoops& loops, const HostTensor& indices, const F& f) {
  for (std::int64_t outer = 0; outer < loops.shared * loops.middle; ++outer) {
    for (std::int64_t i = 0; i < loops.count; ++i) {
      const std::int64_t index = index_at(indices, outer / loops.middle * loops.count + i);
      const bool skipped = index < 0 || index >= loops.extent;
      f(skipped ? -1 : outer * loops.extent + index, outer * loops.count + i);
    }
  }
}

// Shapes.

/// x[:axis] + indices[batch_dims:] + x[axis+1:]
constexpr Dims gathered(const Dims& x, const Dims& indices, int axis, int batch_dims) {
  if (axis < 0 || axis >= x.rank || batch_dims < 0 || batch_dims > axis ||
      batch_dims > indices.rank || x.rank - 1 + indices.rank - batch_dims > max_rank) {
    return no_dims;
  }
  Dims out{};
  for (int i = 0; i < batch_dims; ++i) {
    if (x.extent[i] != indices.extent[i]) return no_dims;
  }
  for (int i = 0; i < axis; ++i) out.append(x.extent[i]);
  for (int i = batch_dims; i < indices.rank; ++i) out.append(indices.extent[i]);
  for (int i = axis + 1; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}

/// The tensor of which `values` are slices that indices choose: with `extent` along the axis.
constexpr Dims scattered(const Dims& indices, const Dims& values, Extent extent, int axis,
                         int batch_dims) {
  const int chosen = indices.rank - batch_dims;
  if (batch_dims < 0 || batch_dims > axis || chosen < 0 || axis + chosen > values.rank ||
      values.rank - chosen + 1 > max_rank) {
    return no_dims;
  }
  Dims out{};
  for (int i = 0; i < axis; ++i) {
    out.append(values.extent[i]);
    if (i < batch_dims && values.extent[i] != indices.extent[i]) return no_dims;
  }
  out.append(extent);
  for (int i = 0; i < chosen; ++i) {
    if (values.extent[axis + i] != indices.extent[batch_dims + i]) return no_dims;
  }
  for (int i = axis + chosen; i < values.rank; ++i) out.append(values.extent[i]);
  return out;
}

constexpr AnyExpr gather_node(const AnyExpr& x, const AnyExpr& indices, int axis, int batch_dims,
                              Indexing indexing);
constexpr AnyExpr scatter_sum_node(const AnyExpr& indices, const AnyExpr& values, Extent extent,
                                   int axis, int batch_dims, Indexing indexing);

}  // namespace detail

namespace ops {

/// The slices of x along an axis at these indices. The first `batch_dims` axes are shared.
/// (S...,P...,N,R...) x (S...,I...) -> (S...,P...,I...,R...)
struct Gather : custom {
  static constexpr std::string_view name = "Gather";
  static constexpr int flops = 0;
  std::int32_t axis;
  std::int32_t batch_dims;
  Indexing indexing;

  static constexpr Type infer(const Gather& op, const Type& x, const Type& indices) {
    return {x.dtype, is_integer(indices.dtype)
                         ? detail::gathered(x.dims, indices.dims, op.axis, op.batch_dims)
                         : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(Gather op, AnyExpr x, AnyExpr indices, AnyExpr,
                                                   AnyExpr dy);
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
};

/// Zeros, plus every slice of `values` at its index: the sum where an index occurs several times.
/// (S...,I...) x (S...,P...,I...,R...) -> (S...,P...,extent,R...)
struct ScatterSum : custom {
  static constexpr std::string_view name = "ScatterSum";
  Extent extent;
  std::int32_t axis;
  std::int32_t batch_dims;
  Indexing indexing;

  static constexpr Type infer(const ScatterSum& op, const Type& indices, const Type& values) {
    return {values.dtype,
            is_integer(indices.dtype) && is_number(values.dtype)
                ? detail::scattered(indices.dims, values.dims, op.extent, op.axis, op.batch_dims)
                : no_dims};
  }
  static constexpr std::array<AnyExpr, 2> gradient(ScatterSum op, AnyExpr indices, AnyExpr, AnyExpr,
                                                   AnyExpr dy) {
    return {AnyExpr{}, detail::gather_node(dy, indices, op.axis, op.batch_dims, op.indexing)};
  }
  static void interpret(InterpretCall& call) {
    const ScatterSum op = decode<ScatterSum>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    const HostTensor& values = *call.inputs[1];
    HostTensor& y = call.outputs[0];
    const detail::IndexLoops loops = detail::index_loops(
        detail::extents_of(y), detail::extents_of(indices), op.axis, op.batch_dims);
    detail::check_indices(op.indexing, indices, loops.extent);
    visit_dtype(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (is_number(dtype_of<T>)) {
        using Wide = detail::Widest<T>;
        std::vector<Wide> total(static_cast<std::size_t>(y.size()));
        detail::each_index(loops, indices, [&](std::int64_t to, std::int64_t from) {
          for (std::int64_t r = 0; r < loops.inner && to >= 0; ++r) {
            Wide& t = total[static_cast<std::size_t>(to * loops.inner + r)];
            t = Add{}(t, typeflow::to<Wide>(values[from * loops.inner + r]));
          }
        });
        for (std::int64_t i = 0; i < y.size(); ++i) {
          y[i] = number_from(detail::convert_element<T>(total[static_cast<std::size_t>(i)]));
        }
      }
    });
  }
};

/// ScatterSum along axis 0, for consumers that don't need the zeros: see slices_of.
/// (I...) x (I...,R...) -> (extent,R...)
struct IndexedSlices : composite {
  static constexpr std::string_view name = "IndexedSlices";
  Extent extent;
  Indexing indexing;

  static constexpr Type infer(const IndexedSlices& op, const Type& indices, const Type& values) {
    return ScatterSum::infer({{}, op.extent, 0, 0, op.indexing}, indices, values);
  }
  static constexpr std::array<AnyExpr, 2> gradient(IndexedSlices op, AnyExpr indices, AnyExpr,
                                                   AnyExpr, AnyExpr dy) {
    return {AnyExpr{}, detail::gather_node(dy, indices, 0, 0, op.indexing)};
  }
  static constexpr AnyExpr expand(IndexedSlices op, AnyExpr indices, AnyExpr values) {
    return detail::scatter_sum_node(indices, values, op.extent, 0, 0, op.indexing);
  }
};

constexpr std::array<AnyExpr, 2> Gather::gradient(Gather op, AnyExpr x, AnyExpr indices, AnyExpr,
                                                  AnyExpr dy) {
  const Extent extent = x.dims().extent[op.axis];
  if (op.axis == 0) return {apply(IndexedSlices{{}, extent, op.indexing}, indices, dy), AnyExpr{}};
  return {
      detail::scatter_sum_node(indices, dy, extent, op.axis, op.batch_dims, op.indexing),
      AnyExpr{},
  };
}

/// Rows of K coordinates as positions, in row-major order, in a tensor whose shape is that of the
/// second input without its last axis, which is empty: a shape may depend on the batch, and
/// attributes can't. (I...,K) x (D1,...,DK,0) -> (I...)
struct RavelIndex : custom {
  static constexpr std::string_view name = "RavelIndex";
  static constexpr Derivative derivative = Derivative::zero;
  Indexing indexing;

  static constexpr Type infer(const RavelIndex&, const Type& indices, const Type& shape) {
    Dims dims = indices.dims;
    const bool fits = is_integer(indices.dtype) && dims.rank > 0 &&
                      dims.extent[dims.rank - 1] == shape.dims.rank - 1;
    --dims.rank;
    return {DType::int64, fits ? dims : no_dims};
  }
  /// ravel(at, position) of every row; `shape` ends with the empty axis.
  template <class At>
  static std::int64_t position(const RavelIndex& op, std::int64_t row, const At& at,
                               std::span<const std::int64_t> indices,
                               std::span<const std::int64_t> shape) {
    std::int64_t position = 0;
    const auto depth = static_cast<std::int64_t>(shape.size()) - 1;
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t extent = shape[static_cast<std::size_t>(k)];
      const std::int64_t index = at(row * depth + k);
      if (index < 0 || index >= extent) fail(op, row, k, index, indices, extent);
      position = position * extent + index;
    }
    return position;
  }
  [[noreturn]] TYPEFLOW_COLD static void fail(const RavelIndex& op, std::int64_t row,
                                              std::int64_t k, std::int64_t index,
                                              std::span<const std::int64_t> indices,
                                              std::int64_t extent) {
    const bool confusion = op.indexing == Indexing::confusion_matrix;
    const std::string place =
        confusion ? detail::place_of(row, indices.first(indices.size() - 1))
                  : detail::place_of(row * static_cast<std::int64_t>(indices.back()) + k, indices);
    detail::throw_out_of_range(detail::rule_of(op.indexing).name,
                               !confusion ? "index"
                               : k == 0   ? "label"
                                          : "prediction",
                               index, place, extent);
  }
  static void interpret(InterpretCall& call) {
    const RavelIndex op = decode<RavelIndex>(call.graph, call.node);
    const HostTensor& indices = *call.inputs[0];
    HostTensor& y = call.outputs[0];
    for (std::int64_t row = 0; row < y.size(); ++row) {
      y[row].integer = position(
          op, row, [&](std::int64_t i) { return detail::index_at(indices, i); },
          detail::extents_of(indices), detail::extents_of(*call.inputs[1]));
    }
  }
};

}  // namespace ops

// Sparse gradients.

/// Slices of a tensor at indices along its axis 0: (I...) and (I...,R...), duplicates to be added.
struct Slices {
  Id indices;  ///< a value
  Id values;   ///< the same
  Indexing indexing;
};

/// A tensor that is zero but for slices as these; empty for one that is dense. Where a tensor was
/// gathered from several times, its gradient is a sum of several.
constexpr Pool<Slices> slices_of(const AnyExpr& gradient);

/// f(gradient) for an f that maps every element by itself and 0 to 0: scaling, clipping by value,
/// rounding. If the gradient is sparse, so is the result: f gets the values of its slices.
/// An f that is not linear needs indices without duplicates.
template <class F>
constexpr AnyExpr map_values(const AnyExpr& gradient, const F& f);

namespace detail {

constexpr AnyExpr gather_node(const AnyExpr& x, const AnyExpr& indices, int axis, int batch_dims,
                              Indexing indexing) {
  return apply(ops::Gather{{}, axis, batch_dims, indexing}, x, indices);
}
constexpr AnyExpr scatter_sum_node(const AnyExpr& indices, const AnyExpr& values, Extent extent,
                                   int axis, int batch_dims, Indexing indexing) {
  return apply(ops::ScatterSum{{}, extent, axis, batch_dims, indexing}, indices, values);
}

/// Appends the slices whose sum a value is; false if it is dense.
constexpr bool collect_slices(Graph& graph, Id value, Pool<Slices>& out) {
  const Node& node = graph.node_of(value);
  if (is<ops::IndexedSlices>(*node.op)) {
    out.push(Slices{graph.input(node, 0), graph.input(node, 1),
                    decode<ops::IndexedSlices>(graph, node).indexing});
    return true;
  }
  if (node.op->builtin != Builtin::add) return false;
  const Id a = graph.input(node, 0);
  const Id b = graph.input(node, 1);
  return graph.values[a].type == graph.values[b].type && collect_slices(graph, a, out) &&
         collect_slices(graph, b, out);
}

template <class F>
constexpr Id map_slices(Graph& graph, Id value, const F& f) {
  const Node node = graph.node_of(value);
  if (is<ops::IndexedSlices>(*node.op)) {
    const AnyExpr indices{&graph, graph.input(node, 0)};
    const AnyExpr values = f(AnyExpr{&graph, graph.input(node, 1)});
    return apply(decode<ops::IndexedSlices>(graph, node), indices, values).id;
  }
  const Id a = map_slices(graph, graph.input(node, 0), f);
  const Id b = map_slices(graph, graph.input(node, 1), f);
  return (AnyExpr{&graph, a} + AnyExpr{&graph, b}).id;
}

/// The first `count` extents as one: at most one of them a multiple of batch. no_dims otherwise.
constexpr Dims flattened(const Dims& x, int count) {
  Count size{};
  for (int i = 0; i < count; ++i) size.multiply(x.extent[i]);
  if (size.power > 1) return no_dims;
  Dims out{};
  out.append(size.power == 1 ? -size.coefficient : size.coefficient);
  for (int i = count; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}

/// The rows of indices as positions in a tensor with the first extents of `dims`.
constexpr AnyExpr ravel(const AnyExpr& indices, const Dims& dims, Indexing indexing) {
  Dims shape{};
  for (int i = 0; i < indices.dims().extent[indices.dims().rank - 1]; ++i) {
    shape.append(dims.extent[i]);
  }
  shape.append(0);
  const AnyExpr empty =
      broadcast_to(constant_node(*indices.graph, DType::boolean, Number{}), shape);
  return apply(ops::RavelIndex{{}, indexing}, indices, empty);
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
constexpr AnyExpr gather(const AnyExpr& x, const AnyExpr& indices, int axis, int batch_dims) {
  return detail::gather_node(x, indices, axis, batch_dims, Indexing::gather);
}
/// Untyped: the slices of x along an axis.
constexpr AnyExpr take(const AnyExpr& x, const AnyExpr& indices, int axis) {
  return detail::gather_node(x, indices, axis, 0, Indexing::take);
}
/// Untyped: the slices of x at rows of coordinates.
constexpr AnyExpr gather_nd(const AnyExpr& x, const AnyExpr& indices) {
  const auto depth = static_cast<int>(indices.dims().extent[indices.dims().rank - 1]);
  return detail::gather_node(reshape_to(x, detail::flattened(x.dims(), depth)),
                             detail::ravel(indices, x.dims(), Indexing::gather_nd), 0, 0,
                             Indexing::gather_nd);
}
/// Untyped: zeros of a shape, plus the values at rows of coordinates.
constexpr AnyExpr scatter_nd(const AnyExpr& indices, const AnyExpr& values, const Dims& dims) {
  const auto depth = static_cast<int>(indices.dims().extent[indices.dims().rank - 1]);
  const AnyExpr positions = detail::ravel(indices, dims, Indexing::scatter_nd);
  const Extent extent = detail::flattened(dims, depth).extent[0];
  return reshape_to(detail::scatter_sum_node(positions, values, extent, 0, 0, Indexing::scatter_nd),
                    dims);
}

namespace detail {

template <class X, class I, int Axis, int BatchDims>
struct GatherRule {
  static constexpr Dims value = gathered(X::dims, I::dims, Axis, BatchDims);
};

/// The number of coordinates in a row of indices; -1 if it is none of [1, at most].
template <class I>
constexpr int index_depth(int most) {
  if (I::rank == 0) return -1;
  const Extent depth = I::dims.extent[I::rank == 0 ? 0 : I::rank - 1];
  return depth < 1 || depth > most || depth >= max_rank ? -1 : static_cast<int>(depth);
}

/// indices[:-1] + x[K:]
constexpr Dims gathered_nd(const Dims& x, const Dims& indices, int depth) {
  if (depth < 0 || indices.rank - 1 + x.rank - depth > max_rank) return no_dims;
  Dims out{};
  for (int i = 0; i < indices.rank - 1; ++i) out.append(indices.extent[i]);
  for (int i = depth; i < x.rank; ++i) out.append(x.extent[i]);
  return out;
}
template <class X, class I>
struct GatherNdRule {
  static constexpr int depth = index_depth<I>(X::rank);
  static constexpr Dims value = gathered_nd(X::dims, I::dims, depth);
  static constexpr bool flattens = depth < 0 || flattened(X::dims, depth).valid();
};

template <class I>
inline constexpr bool are_indices = is_integer(I::type.dtype);

}  // namespace detail

/// The slices of x along an axis at these indices; the axes in front of it are shared by x and the
/// indices. gather(x, i): rows of x, (N,R...) x (I...) -> (I...,R...)
/// gather<1>(q, a): of each row the element that a says, (B,N,R...) x (B,I...) -> (B,I...,R...)
///
/// The indices have any integer type. One outside of [0, N) is an error of the run. The gradient
/// for x of gather(x, i) is sparse: see slices_of.
template <int Axis = 0, TypedExpr X, TypedExpr I>
constexpr auto gather(const X& x, const I& indices,
                      std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "gather<axis>(x, indices): x has no such axis");
  static_assert(detail::are_indices<I>, "gather<axis>(x, indices): the indices must be integers");
  using Rule = detail::GatherRule<typename X::shape, typename I::shape, axis, axis>;
  static_assert(axis < 0 || Rule::value.valid(),
                "gather<axis>(x, indices): the axes of x in front of the axis must be the first "
                "axes of the indices; to choose the same everywhere use take<axis>(x, indices)");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::gather_node(x.any(), indices.any(), axis, axis, Indexing::gather).id);
}

/// The slices of x along an axis at these indices, the same ones everywhere (numpy's take):
/// take<1>(x, i). (P...,N,R...) x (I...) -> (P...,I...,R...)
/// The indices have any integer type. One outside of [0, N) is an error of the run.
template <int Axis, TypedExpr X, TypedExpr I>
constexpr auto take(const X& x, const I& indices,
                    std::source_location at = std::source_location::current()) {
  constexpr int axis = normalize_axis(Axis, X::rank);
  static_assert(axis >= 0, "take<axis>(x, indices): x has no such axis");
  static_assert(detail::are_indices<I>, "take<axis>(x, indices): the indices must be integers");
  using Rule = detail::GatherRule<typename X::shape, typename I::shape, axis, 0>;
  static_assert(axis < 0 || Rule::value.valid(),
                "take<axis>(x, indices): the result would have more axes than tf::max_rank");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(
      x.graph(), detail::gather_node(x.any(), indices.any(), axis, 0, Indexing::take).id);
}

/// The slices of x at rows of K coordinates: with indices (B,2) the elements x[i,j] of a matrix.
/// (D1,...,DK,R...) x (I...,K) -> (I...,R...)
/// A coordinate outside of its axis is an error of the run.
template <TypedExpr X, TypedExpr I>
constexpr auto gather_nd(const X& x, const I& indices,
                         std::source_location at = std::source_location::current()) {
  static_assert(detail::are_indices<I>, "gather_nd(x, indices): the indices must be integers");
  using Rule = detail::GatherNdRule<typename X::shape, typename I::shape>;
  static_assert(Rule::depth > 0,
                "gather_nd(x, indices): the last axis of the indices must have as many elements as "
                "axes of x are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || Rule::value.valid(),
                "gather_nd(x, indices): the result would have more axes than tf::max_rank");
  static_assert(Rule::flattens,
                "gather_nd(x, indices): only one of the axes that are indexed may have tf::batch");
  detail::mark(at, x);
  return Expr<typename X::element, shape_of_t<Rule>>(x.graph(),
                                                     gather_nd(x.any(), indices.any()).id);
}

/// Zeros of shape [D...], plus the values at rows of K coordinates; duplicates add up:
/// scatter_nd<100, 3>(indices, values). (I...,K) x (I...,D[K:]...) -> (D...)
/// A coordinate outside of its axis is an error of the run.
template <Extent... D, TypedExpr I, TypedExpr V>
constexpr auto scatter_nd(const I& indices, const V& values,
                          std::source_location at = std::source_location::current()) {
  using S = Shape<D...>;
  static_assert(detail::are_indices<I>,
                "scatter_nd<D...>(indices, values): the indices must be integers");
  static_assert(detail::in_domain<Domain::numbers, V>,
                "scatter_nd<D...>(indices, values): the values must be numbers");
  using Rule = detail::GatherNdRule<S, typename I::shape>;
  static_assert(Rule::depth > 0,
                "scatter_nd<D...>(indices, values): the last axis of the indices must have as many "
                "elements as axes of the result are indexed, at least 1 and at most 7");
  static_assert(Rule::depth < 0 || Rule::value == V::shape::dims,
                "scatter_nd<D...>(indices, values): the values must have the shape of the indices "
                "without the last axis, and then that of a slice of the result");
  static_assert(Rule::flattens,
                "scatter_nd<D...>(indices, values): only one of the axes that are indexed may have "
                "tf::batch");
  detail::mark(at, values);
  return Expr<typename V::element, S>(values.graph(),
                                      scatter_nd(indices.any(), values.any(), S::dims).id);
}

}  // namespace typeflow
