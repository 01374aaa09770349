// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of a cluster: its body, and its collapsed space.
//
// The space of a loop is collapsed first: adjacent axes along which all operands run alike become
// one. Extents, words and slots go to the program, everything else to the description.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/kernel_inputs.hpp"
#include "typeflow/lower/kernel_meaning.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/lower/slots.hpp"
#include "typeflow/ops/contraction.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class KernelDescriber : protected KernelInputs {
 protected:
  constexpr KernelDescriber(const Simplified& simplified, const Fused& fused)
      : KernelInputs(simplified, fused),
        cluster_of_(fused.cluster_of.data()),
        next_(fused.next.data()),
        is_row_(fused.is_row.data()),
        stored_pool_(graph_.values.size(), 0),
        number_pool_(Pool<int>::uninitialized(graph_.values.size())),
        stored_(stored_pool_.data()),
        number_of_(number_pool_.data()) {}

  // Loops.

  /// Where a store of the kernel goes.
  struct Destination {
    Id slot;
    const Part* part;  ///< its place in a larger tensor; null for most
  };
  constexpr void push_store(const StoreSpec& store, const Destination& destination) {
    destinations_[spec_.stores] = destination;
    spec_.store[spec_.stores++] = store;
  }

  constexpr void lower_loop(Id id, const Cluster& cluster) {
    push_body(id, cluster);
    const Dims& space = types_[cluster.space].dims;
    push_offsets(cluster, space);
    const int rank = space.rank;
    // Axes i - 1 and i share a loop if all operands run along both or neither, and both are reduced
    // or neither.
    const unsigned whole = (1u << rank) - 1u;
    unsigned differs = cluster.reduced ^ cluster.reduced << 1;
    for (int k = 0; k < input_count_; ++k) {
      differs |= inputs_[k].axes ^ inputs_[k].axes << 1;
    }
    differs |= place_strided(space) | place_parts(space);
    const unsigned starts = (differs | 1u) & whole;
    int last[max_rank] =
        {};  // by axis of the kernel: the innermost axis of the space that is in it
    int axes = 0;
    unsigned reduced = 0;
    for (int i = 0; i < rank; ++axes) {
      Count count{};
      if ((cluster.reduced >> i & 1u) != 0) reduced |= 1u << axes;
      do {
        count.multiply(space.extent[i]);
        ++i;
      } while (i < rank && (starts >> i & 1u) == 0);
      out_.extents.push(StepExtent{count.coefficient, count.powers});
      last[axes] = i - 1;
    }
    if (axes == 0) {  // a scalar
      out_.extents.push(StepExtent{1, 0});
      axes = 1;
    }
    const bool folds = (reduced >> (axes - 1) & 1u) != 0;
    const bool columns = reduced != 0 && !folds;
    if (columns) spec_.kind = KernelKind::columns;
    spec_.wide = (cluster.width & 2u) != 0;
    spec_.outer = columns ? axes - 2 : axes - 1;
    spec_.folds = folds;
    spec_.inner = inner_extent(out_.extents.items[out_.extents.size() - 1]);
    // One loop folds, and at most one is inside of it; kernels have no more.
    if (reduced != space_of(spec_).folded) {
      fail(cluster, "a reduction's axes do not collapse to those of a kernel");
    }
    for (int k = 0; k < input_count_; ++k) {
      unsigned& along = inputs_[k].axes;
      along = along == whole ? (1u << axes) - 1u : collapsed(along, starts, rank);
    }
    push_strided(last, axes);
    push_inputs();
  }
  /// Finds how results lie that are parts of larger tensors; returns the same as place_strided.
  constexpr unsigned place_parts(const Dims& space) {
    unsigned starts = 0;
    for (int i = 0; i < spec_.stores; ++i) {
      if (destinations_[i].part != nullptr) starts |= place_part(*destinations_[i].part, space);
    }
    return starts;
  }
  /// Says whether a loop with this innermost extent has short rows. A kernel without outer axes has
  /// one row, which counts as long.
  constexpr InnerExtent inner_extent(const StepExtent& extent) const {
    const bool columns = spec_.kind == KernelKind::columns;
    if (spec_.outer == 0 && !columns) return InnerExtent::large;
    if (extent.powers != 0) return spec_.folds || columns ? InnerExtent::any : InnerExtent::large;
    return extent.coefficient <= small_extent ? InnerExtent::small : InnerExtent::large;
  }
  /// The kernel's axes for these axes of the space. Each of the kernel's begins at an axis of
  /// `starts`.
  static constexpr unsigned collapsed(unsigned along, unsigned starts, int rank) {
    unsigned result = 0;
    int axis = -1;
    for (int i = 0; i < rank && along != 0; ++i) {
      if ((starts >> i & 1u) == 0) continue;
      ++axis;
      if ((along >> i & 1u) != 0) result |= 1u << axis;
    }
    return result;
  }

  /// The items and stores of a cluster. The numbers of values become final in push_inputs.
  constexpr void push_body(Id id, const Cluster& cluster) {
    const unsigned whole = (1u << cluster.rank) - 1u;
    for (Id m = cluster.first; m != none; m = next_[m]) {
      const Node node = nodes_[m];
      const Op& op = *node.op;
      const bool row = is_row_[m] != 0;
      const Id result = node.outputs.first;
      // Named after the last operation, if possible one of the model, because a user knows those.
      if (m == cluster.first || (op.kind != Kind::write &&
                                 (!node.source.gradient || nodes_[labelled_].source.gradient))) {
        labelled_ = m;
      }
      if (op.kind == Kind::write) {
        const Id storage = storage_[operands_[node.inputs.first + 1]];
        const int number = cluster_of_[values_[storage].node] == id
                               ? number_of_[storage]
                               : input(cluster, storage, whole);
        push_store(StoreSpec{number, row, false, dtype_of(storage), 0},
                   Destination{slot(storage_[operands_[node.inputs.first]]), nullptr});
        continue;
      }
      if (op.kind == Kind::contraction) {
        number_of_[result] = product;
      } else {
        const bool elementwise = op.kind == Kind::elementwise;
        ItemSpec item{&op,
                      op.kind == Kind::reduction,
                      row,
                      dtype_of(result),
                      fused_.phase.items[m],
                      elementwise ? node.attributes.count : 0,
                      node.inputs.count,
                      {}};
        for (Id k = 0; k < node.inputs.count; ++k) {
          const Id value = operands_[node.inputs.first + k];
          const Id storage = storage_[value];
          item.arguments[k] = cluster_of_[values_[storage].node] == id
                                  ? number_of_[storage]
                                  : input(cluster, storage, axes_of(cluster, node, row, value));
        }
        number_of_[result] = first_item + spec_.items;
        spec_.item[spec_.items++] = item;
        if (item.words > 0) push_words(node.attributes);
      }
      if (stored_[result] != 0) {
        const Part* const part = fused_.part(result);
        push_store(StoreSpec{number_of_[result], row, part != nullptr, dtype_of(result), 0},
                   Destination{temporary(result), part});
      }
    }
  }

  // Contractions.

  constexpr void lower_contraction(Id id, const Cluster& cluster) {
    const Node node = nodes_[cluster.first];
    const Id a = operands_[node.inputs.first];
    const Id b = operands_[node.inputs.first + 1];
    const Dims& dims = types_[type_of(node.outputs.first)].dims;
    const Contraction contraction = node.op->contraction->describe(graph_, node);
    push_words(node.attributes);  // in front of those of the body
    // The product's operands are inputs 0 and 1, and no values of the body. If the epilogue reads
    // one of them, too, it is another input.
    constexpr unsigned operand_axes = 1u << 31;
    inputs_[0] = Input{storage_[a], operand_axes, 0};
    inputs_[1] = Input{storage_[b], operand_axes, 0};
    input_count_ = 2;
    push_body(id, cluster);
    spec_.variant =
        contraction.variant | (spec_.device == DeviceKind::gpu ? 0u : contraction.loops);
    spec_.dtype = dtype_of(node.outputs.first);
    spec_.wide = lane_size(spec_.dtype) == 8;
    spec_.op = node.op;
    const Dims& space = types_[cluster.space].dims;
    place_strided(space, 2);
    // Each row of a part begins as far from the one before (PartFinder), so no axis is cut.
    place_parts(space);
    int last[max_rank] = {};  // as in lower_loop; none for rows or columns of extent 1
    if (node.op->contraction->whole_rows || dims.rank == 2) {
      place_rows(dims, contraction, last);
      for (const Id operand : {a, b}) {
        if (fused_.strided_view(storage_[operand]) == nullptr) continue;
        const StridedAxes factor = layout_of_factor(operand);
        push_factor(factor, {}, factor.stride[0]);
      }
    } else {
      const Factors factors{{layout_of_factor(a), layout_of_factor(b)},
                            {types_[type_of(a)].dims, types_[type_of(b)].dims}};
      place_axes(dims, contraction, factors, last);
    }
    for (int i = 0; i < node.op->contraction->further; ++i) push_extent(contraction.extents[i]);
    push_strided(last, spec_.outer + 2);
    push_inputs();
  }

  /// The operands of a product.
  struct Factors {
    StridedAxes layout[2];
    Dims dims[2];
  };

  /// The extents and input axes of a contraction that is one matrix. All axes but the last are
  /// rows; an input runs along all of them or none.
  constexpr void place_rows(const Dims& dims, const Contraction& contraction, int* last) {
    Count rows{};
    int row_axes = 0;  // of the space, which has none of extent 1
    for (int i = 0; i < dims.rank - 1; ++i) {
      rows.multiply(dims.extent[i]);
      row_axes += dims.extent[i] != 1;
    }
    out_.extents.push(StepExtent{rows.coefficient, rows.powers});
    push_extent(dims.extent[dims.rank - 1]);
    out_.extents.push(StepExtent{contraction.depth.coefficient, contraction.depth.powers});
    const unsigned all_rows = (1u << row_axes) - 1u;
    const bool columns = dims.extent[dims.rank - 1] != 1;
    last[0] = row_axes > 0 ? row_axes - 1 : none;
    last[1] = columns ? row_axes : none;
    for (int k = 0; k < input_count_; ++k) {
      const unsigned along = inputs_[k].axes;
      const bool along_rows = row_axes > 0 && (along & all_rows) != 0;
      const bool along_columns = columns && (along >> row_axes & 1u) != 0;
      // Without axes outside of the matrix, axis 0 is the rows.
      inputs_[k].axes = k < 2 ? 0u : (along_rows ? 1u : 0u) | (along_columns ? 2u : 0u);
    }
  }

  /// The same for a contraction with axes outside of its matrices. Adjacent axes along which all
  /// operands run alike become one. Axes along which a and the epilogue run as along rows, and b
  /// does not run, are rows. So (B,M,K) x (K,N) is one product of matrices, and has that kernel.
  constexpr void place_axes(const Dims& dims, const Contraction& contraction,
                            const Factors& factors, int* last) {
    Extent extents[max_rank] = {};     // of the space, less the columns
    Stride strides[2][max_rank] = {};  // of the operands along these axes
    int rank = 0;
    unsigned along_a = 0;
    unsigned along_b = 0;
    for (int i = 0; i < dims.rank - 2; ++i) {
      if (dims.extent[i] == 1) continue;
      if ((contraction.outside_a >> i & 1u) != 0) along_a |= 1u << rank;
      if ((contraction.outside_b >> i & 1u) != 0) along_b |= 1u << rank;
      for (int k = 0; k < 2; ++k) {
        const int axis = i - (dims.rank - factors.dims[k].rank);
        if (axis >= 0) strides[k][rank] = factors.layout[k].stride[axis];
      }
      extents[rank++] = dims.extent[i];
    }
    inputs_[0].axes = along_a;
    inputs_[1].axes = along_b;
    unsigned starts = 1u | (along_b ^ along_b << 1);
    const bool rows = dims.extent[dims.rank - 2] != 1;
    const unsigned row = rows ? 1u << rank : 0u;
    Stride pitch[2] = {};
    for (int k = 0; k < 2; ++k) pitch[k] = factors.layout[k].stride[factors.dims[k].rank - 2];
    if (rows) {
      if (contraction.rows_of_a) strides[0][rank] = pitch[0];
      extents[rank++] = dims.extent[dims.rank - 2];
    }
    const unsigned runs[2] = {along_a | (contraction.rows_of_a ? row : 0u), along_b};
    for (int k = 0; k < 2; ++k) {
      for (int i = 1; i < rank && factors.layout[k].fits; ++i) {
        const bool both = (runs[k] >> (i - 1) & 3u) == 3u;
        if (both && !continues(strides[k][i - 1], strides[k][i], extents[i])) starts |= 1u << i;
      }
    }
    if (contraction.rows_of_a) {
      starts |= (along_a | row) ^ (along_a | row) << 1;
    } else {
      starts |= row | (along_a ^ along_a << 1);
    }
    for (int k = 2; k < input_count_; ++k) starts |= inputs_[k].axes ^ inputs_[k].axes << 1;

    unsigned from[max_rank + 1] = {};  // an axis of the space...
    unsigned to[max_rank + 1] = {};    // ...and what it is for the kernel
    int axes = 0;
    StepExtent outer[max_rank] = {};
    int outer_count = 0;
    StepExtent row_extent{1, 0};
    int last_row = none;
    for (int i = 0; i < rank; ++axes) {
      const int first = i;
      Count count{};
      do count.multiply(extents[i++]);
      while (i < rank && (starts >> i & 1u) == 0);
      const StepExtent extent{count.coefficient, count.powers};
      from[axes] = 1u << first;
      to[axes] = 1u << outer_count;  // the rows come behind the axes outside
      // Without an axis of rows: the axis of several a's of one row each.
      if (i == rank && (rows || (contraction.rows_of_a && (along_b >> first & 1u) == 0))) {
        row_extent = extent;
        if (contraction.rows_of_a) pitch[0] = strides[0][i - 1];
        last_row = i - 1;
      } else {
        last[outer_count] = i - 1;
        outer[outer_count++] = extent;
      }
    }
    const unsigned outside = (1u << outer_count) - 1u;
    if (dims.extent[dims.rank - 1] != 1) {
      from[axes] = 1u << rank;
      to[axes++] = 2u << outer_count;
    }
    for (int k = 0; k < input_count_; ++k) {
      unsigned along = 0;
      for (int i = 0; i < axes; ++i) {
        if ((inputs_[k].axes & from[i]) != 0) along |= to[i];
      }
      inputs_[k].axes = k < 2 ? along & outside : along;
    }
    last[outer_count] = last_row;
    last[outer_count + 1] = dims.extent[dims.rank - 1] != 1 ? rank : none;
    spec_.outer = outer_count;
    out_.extents.push(row_extent);
    push_extent(dims.extent[dims.rank - 1]);
    out_.extents.push(StepExtent{contraction.depth.coefficient, contraction.depth.powers});
    for (int i = 0; i < outer_count; ++i) out_.extents.push(outer[i]);
    for (int k = 0; k < 2; ++k) {
      Stride outside_of[max_rank] = {};
      for (int i = 0; i < outer_count; ++i) outside_of[i] = strides[k][last[i]];
      push_factor(factors.layout[k], outside_of, pitch[k]);
    }
  }

  /// Appends how a strided operand of a product lies. A matrix of one row has no distance of rows.
  constexpr void push_factor(const StridedAxes& factor, const Stride (&outer)[max_rank],
                             const Stride& pitch) {
    if (!factor.fits) return;
    push_stride(factor.begin[0]);
    push_stride(factor.begin[1]);
    for (int i = 0; i < spec_.outer; ++i) push_stride(outer[i]);
    push_stride(pitch);
    push_stride({1, 0});
  }

  // Operations with a kernel of their own.

  constexpr void lower_single(const Cluster& cluster) {
    const Node& node = nodes_[cluster.first];
    labelled_ = cluster.first;
    push_words(node.attributes);  // before those of constants, whose slots may be made below
    spec_.op = node.op;
    const bool updates = node.op->kind == Kind::update;  // input 0, the variable, is written
    const int first = updates ? 1 : 0;
    if (node.inputs.count - first > KernelSpec::max_inputs) {
      fail(cluster, "more operands than a kernel can have");
      return;
    }
    for (Id k = first; k < node.inputs.count; ++k) {
      const Id value = operands_[node.inputs.first + k];
      spec_.input[spec_.inputs++] =
          InputSpec{dtype_of(value), false, false, push_tensor(value), 0, 0};
      out_.operands.push(slot(storage_[value]));
    }
    if (updates) {
      const Id variable = operands_[node.inputs.first];
      push_store(StoreSpec{0, false, false, dtype_of(variable), push_tensor(variable)},
                 Destination{slot(storage_[variable]), nullptr});
    }
    for (Id value = node.outputs.first; value < node.outputs.first + node.outputs.count; ++value) {
      if (type_of(value) == none) continue;  // a token is no tensor
      push_store(StoreSpec{0, false, false, dtype_of(value), push_tensor(value)},
                 Destination{temporary(value), nullptr});
    }
  }
  /// Appends a tensor's extents and returns their number.
  constexpr std::uint8_t push_tensor(Id value) {
    push_extents(type_of(value));
    return static_cast<std::uint8_t>(types_[type_of(value)].dims.rank);
  }

  const Id* cluster_of_;
  const Id* next_;
  const char* is_row_;
  Pool<char> stored_pool_;
  Pool<int> number_pool_;
  char* stored_;    // by value: leaves its cluster
  int* number_of_;  // by value: in the body of its cluster

  // Of the cluster at hand.
  Destination destinations_[KernelSpec::max_stores] = {};  // of the kernel's stores
  Id labelled_ = none;                                     // the node that its step is called after
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
