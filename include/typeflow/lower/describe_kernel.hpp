// SPDX-License-Identifier: Apache-2.0
#pragma once

// The kernel of a cluster: its body, and its collapsed space.
//
// The space of a loop is collapsed first: adjacent axes along which all operands run alike become
// one. Extents, words and slots go to the program, everything else to the description.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/kernel_inputs.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/lower/slots.hpp"
#include "typeflow/ops/contraction.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

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

  struct Store {
    int number;
    int kind;  ///< row_bit, window_bit
    int dtype;
    Id slot;
    const Part* part;  ///< its place in a larger tensor; null for most
  };

  constexpr void lower_loop(Id id, const Cluster& cluster) {
    size_ = head_size;
    push_body(id, cluster);
    const Dims& space = types_[cluster.space].dims;
    const int rank = space.rank;
    // Axes i - 1 and i share a loop if all operands run along both or neither, and both are reduced
    // or neither.
    const unsigned whole = (1u << rank) - 1u;
    unsigned differs = cluster.reduced ^ cluster.reduced << 1;
    for (int k = 0; k < input_count_; ++k) {
      differs |= inputs_[k].axes ^ inputs_[k].axes << 1;
    }
    differs |= place_windows(space);
    for (int i = 0; i < store_count_; ++i) {
      if (stores_[i].part != nullptr) differs |= place_part(*stores_[i].part, space);
    }
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
    // One loop folds, and at most one is inside of it; kernels have no more.
    if (reduced != 0 && reduced != 1u << (axes - (columns ? 2 : 1))) {
      fail(cluster, "a reduction's axes do not collapse to those of a kernel");
    }
    int* const head = spec_;
    head[0] = static_cast<int>(columns ? KernelKind::columns : KernelKind::loop);
    head[1] = (cluster.width & 2u) != 0;
    head[2] = columns ? axes - 2 : axes - 1;
    head[3] = folds;
    head[4] = 0;
    for (int k = 0; k < input_count_; ++k) {
      unsigned& along = inputs_[k].axes;
      along = along == whole ? (1u << axes) - 1u : collapsed(along, starts, rank);
    }
    push_windows(last, axes);
    push_inputs();
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

  /// The items and stores of a cluster.
  constexpr void push_body(Id id, const Cluster& cluster) {
    const unsigned whole = (1u << cluster.rank) - 1u;
    const int count = size_++;
    int items = 0;
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
        stores_[store_count_++] = Store{number, row ? row_bit : 0, dtype_of(storage),
                                        slot(storage_[operands_[node.inputs.first]]), nullptr};
        continue;
      }
      if (op.kind == Kind::contraction) {
        number_of_[result] = product_number;
      } else {
        const Id type = type_of(result);
        spec_[size_++] = item_word(
            operation(op), (op.kind == Kind::reduction ? 1 : 0) | (row ? 2 : 0),
            fused_.phase.items[m], static_cast<int>(types_[type].dtype), node.inputs.count);
        for (Id k = 0; k < node.inputs.count; ++k) {
          const Id value = operands_[node.inputs.first + k];
          const Id storage = storage_[value];
          push_argument(k, cluster_of_[values_[storage].node] == id
                               ? number_of_[storage]
                               : input(cluster, storage, axes_of(cluster, node, row, value)));
        }
        number_of_[result] = first_item + items++;
        if (op.kind == Kind::elementwise && node.attributes.count > 0) {
          push_words(node.attributes);
        }
      }
      if (stored_[result] != 0) {
        const Part* const part = fused_.part(result);
        const int kind = (row ? row_bit : 0) | (part != nullptr ? window_bit : 0);
        stores_[store_count_++] =
            Store{number_of_[result], kind, dtype_of(result), temporary(result), part};
      }
    }
    spec_[count] = items;
    spec_[size_++] = store_count_;
    for (int i = 0; i < store_count_; ++i) {
      spec_[size_++] = store_word(stores_[i].number, stores_[i].kind, stores_[i].dtype);
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
    inputs_[0] = Input{storage_[a], operand_axes};
    inputs_[1] = Input{storage_[b], operand_axes};
    input_count_ = 2;
    size_ = head_size;
    push_body(id, cluster);
    spec_[0] = static_cast<int>(KernelKind::contraction);
    spec_[1] = static_cast<int>(contraction.variant);
    spec_[2] = dtype_of(a);
    spec_[3] = 0;
    spec_[4] = operation(*node.op);
    if (node.op->contraction->whole_rows || dims.rank == 2) {
      place_rows(dims, contraction);
    } else {
      place_axes(dims, contraction);
    }
    for (int i = 0; i < contraction.further; ++i) push_extent(contraction.extents[i]);
    push_inputs();
  }

  /// The extents and input axes of a contraction that is one matrix. All axes but the last are
  /// rows; an input runs along all of them or none.
  constexpr void place_rows(const Dims& dims, const Contraction& contraction) {
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
    for (int k = 0; k < input_count_; ++k) {
      const unsigned along = inputs_[k].axes;
      const bool along_rows = row_axes > 0 && (along & all_rows) != 0;
      const bool along_columns = columns && (along >> row_axes & 1u) != 0;
      inputs_[k].axes = k < 2 ? 0u : (along_rows ? 1u : 0u) | (along_columns ? 2u : 0u);
    }
  }

  /// The same for a contraction with axes outside of its matrices. Adjacent axes along which all
  /// operands run alike become one. Axes along which a and the epilogue run as along rows, and b
  /// does not run, are rows. So (B,M,K) x (K,N) is one product of matrices, and has that kernel.
  constexpr void place_axes(const Dims& dims, const Contraction& contraction) {
    Extent extents[max_rank] = {};  // of the space, less the columns
    int rank = 0;
    unsigned along_a = 0;
    unsigned along_b = 0;
    for (int i = 0; i < dims.rank - 2; ++i) {
      if (dims.extent[i] == 1) continue;
      if ((contraction.outside_a >> i & 1u) != 0) along_a |= 1u << rank;
      if ((contraction.outside_b >> i & 1u) != 0) along_b |= 1u << rank;
      extents[rank++] = dims.extent[i];
    }
    inputs_[0].axes = along_a;
    inputs_[1].axes = along_b;
    unsigned starts = 1u | (along_b ^ along_b << 1);
    const bool rows = dims.extent[dims.rank - 2] != 1;
    const unsigned row = rows ? 1u << rank : 0u;
    if (rows) extents[rank++] = dims.extent[dims.rank - 2];
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
    for (int i = 0; i < rank; ++axes) {
      const int first = i;
      Count count{};
      do count.multiply(extents[i++]);
      while (i < rank && (starts >> i & 1u) == 0);
      const StepExtent extent{count.coefficient, count.powers};
      from[axes] = 1u << first;
      // Without an axis of rows: the axis of several a's of one row each.
      if (i == rank && (rows || (contraction.rows_of_a && (along_b >> first & 1u) == 0))) {
        to[axes] = 1u;
        row_extent = extent;
      } else {
        to[axes] = 4u << outer_count;
        outer[outer_count++] = extent;
      }
    }
    if (dims.extent[dims.rank - 1] != 1) {
      from[axes] = 1u << rank;
      to[axes++] = 2u;
    }
    for (int k = 0; k < input_count_; ++k) {
      unsigned along = 0;
      for (int i = 0; i < axes; ++i) {
        if ((inputs_[k].axes & from[i]) != 0) along |= to[i];
      }
      inputs_[k].axes = k < 2 ? along & ~3u : along;
    }
    spec_[3] = outer_count;
    out_.extents.push(row_extent);
    push_extent(dims.extent[dims.rank - 1]);
    out_.extents.push(StepExtent{contraction.depth.coefficient, contraction.depth.powers});
    for (int i = 0; i < outer_count; ++i) out_.extents.push(outer[i]);
  }

  // Operations with a kernel of their own.

  constexpr void lower_single(const Cluster& cluster) {
    const Node& node = nodes_[cluster.first];
    labelled_ = cluster.first;
    push_words(node.attributes);  // before those of constants, whose slots may be made below
    spec_[size_++] = static_cast<int>(KernelKind::custom);
    spec_[size_++] = operation(*node.op);
    const bool updates = node.op->kind == Kind::update;  // input 0, the variable, is written
    const int first = updates ? 1 : 0;
    if (node.inputs.count - first > KernelSpec::max_inputs) {
      fail(cluster, "more operands than a kernel can have");
      return;
    }
    spec_[size_++] = node.inputs.count - first;
    const auto describe = [&](Id value) {
      spec_[size_++] = dtype_of(value);
      spec_[size_++] = types_[type_of(value)].dims.rank;
      push_extents(type_of(value));
    };
    for (Id k = first; k < node.inputs.count; ++k) {
      const Id value = operands_[node.inputs.first + k];
      describe(value);
      out_.operands.push(slot(storage_[value]));
    }
    int& outputs = spec_[size_++];
    outputs = 0;
    if (updates) {
      const Id variable = operands_[node.inputs.first];
      ++outputs;
      describe(variable);
      stores_[store_count_++] = Store{0, 0, 0, slot(storage_[variable]), nullptr};
    }
    for (Id value = node.outputs.first; value < node.outputs.first + node.outputs.count; ++value) {
      if (type_of(value) == none) continue;  // a token is no tensor
      ++outputs;
      describe(value);
      stores_[store_count_++] = Store{0, 0, 0, temporary(value), nullptr};
    }
  }

  const Id* cluster_of_;
  const Id* next_;
  const char* is_row_;
  Pool<char> stored_pool_;
  Pool<int> number_pool_;
  char* stored_;    // by value: leaves its cluster
  int* number_of_;  // by value: in the body of its cluster

  // Of the cluster at hand.
  Store stores_[KernelSpec::max_stores] = {};
  int store_count_ = 0;
  Id labelled_ = none;  // the node that its step is called after
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
