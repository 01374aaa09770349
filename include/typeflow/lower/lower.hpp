// SPDX-License-Identifier: Apache-2.0
#pragma once

// From clusters to a program: every cluster becomes a step and the description of its kernel.
//
// A description holds no names, extents or constants, so the equal layers of a deep net have
// equal descriptions, and are one kernel. The space of a loop is collapsed first: adjacent axes
// along which all operands run alike become one.

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/fuse.hpp"
#include "typeflow/passes/schedule.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/verify.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

class Lowerer {
 public:
  constexpr Lowerer(const Simplified& simplified, const Fused& fused, const Pool<Id>& order)
      : graph_(simplified.graph),
        map_(simplified.map),
        fused_(fused),
        order_(order),
        nodes_(graph_.nodes.data()),
        values_(graph_.values.data()),
        operands_(graph_.operands.data()),
        types_(graph_.types.data()),
        storage_(fused.storage.data()),
        cluster_of_(fused.cluster_of.data()),
        next_(fused.next.data()),
        is_row_(fused.is_row.data()),
        stored_pool_(graph_.values.size(), 0),
        slot_pool_(graph_.values.size(), none),
        number_pool_(Pool<int>::uninitialized(graph_.values.size())),
        step_of_(fused.clusters.size(), none),
        stored_(stored_pool_.data()),
        slot_of_(slot_pool_.data()),
        number_of_(number_pool_.data()) {}

  /// `keep`: values (of the original) that must be in memory at the end; all, if `keep_all`.
  constexpr ProgramPools run(const Pool<Id>& keep, bool keep_all) {
    out_.types = graph_.types;
    out_.scopes = graph_.scopes;
    mark_stored(keep, keep_all);
    out_.steps.reserve(order_.size());
    out_.slots.reserve(2 * order_.size());
    for (const Id cluster : order_) {
      step_of_[cluster] = out_.steps.size();
      lower(cluster, fused_.clusters[cluster]);
    }
    if (!out_.error.empty()) return std::move(out_);
    add_controls();
    add_names();
    add_variables();
    add_placeholders();
    for (Id value = 0; value < map_.size() && keep_all; ++value) {
      out_.slot_of_value.push(in_program(map_[value]) && type_of(map_[value]) != none
                                  ? slot_of_[storage_[map_[value]]]
                                  : none);
    }
    return std::move(out_);
  }

 private:
  // Arguments in descriptions: inputs from 0 on, a contraction's product, items.
  static constexpr int product_number = 32;
  static constexpr int first_item = 33;
  // A description is a head, the body, and the inputs, which are known when the body is.
  static constexpr int head_size = 5;

  /// Values that leave the cluster that computes them.
  constexpr void mark_stored(const Pool<Id>& keep, bool keep_all) {
    char* const stored = stored_;
    for (const Cluster& c : fused_.clusters) {
      const int inputs = c.inputs;
      for (int i = 0; i < inputs; ++i) stored[c.input[i]] = 1;
      if (c.kind != ClusterKind::single) continue;
      const Range operands = nodes_[c.first].inputs;
      for (Id k = 0; k < operands.count; ++k) stored[storage_[operands_[operands.first + k]]] = 1;
    }
    for (Id value = 0; value < stored_pool_.size() && keep_all; ++value) stored[value] = 1;
    for (const Id value : keep) {
      if (in_program(map_[value])) stored[storage_[map_[value]]] = 1;
    }
  }

  constexpr Id type_of(Id value) const { return values_[value].type; }
  constexpr int dtype_of(Id value) const {
    return static_cast<int>(types_[values_[value].type].dtype);
  }

  /// The slot of a storage value, made at its first use.
  constexpr Id slot(Id storage) {
    const Id known = slot_of_[storage];
    return known != none ? known : add_slot(storage);
  }
  constexpr Id add_slot(Id storage) {
    const Node& node = nodes_[values_[storage].node];
    Slot record{SlotKind::temporary, type_of(storage), none, none};
    const Id id = out_.slots.size();
    const Range words = node.attributes;
    if (node.op->kind == Kind::source) {
      if (node.op->builtin == Builtin::variable) {
        record.kind = SlotKind::variable;
        record.index = static_cast<Id>(graph_.attributes[words.first]);
      } else if (node.op->builtin == Builtin::placeholder) {
        record.kind = SlotKind::placeholder;
      } else {
        record.kind = SlotKind::constant;
        const bool is_array = node.op->builtin != Builtin::constant;
        record.index =
            out_.constants.push(ConstantRecord{id, is_array, {out_.words.size(), words.count}});
        push_words(words);
      }
    }
    out_.slots.push(record);
    slot_of_[storage] = id;
    return id;
  }
  constexpr void push_words(Range words) {
    for (Id k = words.first; k < words.first + words.count; ++k) {
      out_.words.push(graph_.attributes[k]);
    }
  }
  /// The slot of a value that the step at hand writes.
  constexpr Id temporary(Id value) {
    const Id id = slot(value);
    out_.slots[id].step = out_.steps.size();
    return id;
  }

  constexpr void push_extent(Extent extent) {
    out_.extents.push(extent < 0 ? StepExtent{-extent, 1} : StepExtent{extent, 0});
  }

  constexpr void lower(Id id, const Cluster& cluster) {
    const Id operands = out_.operands.size();
    const Id extents = out_.extents.size();
    const Id words = out_.words.size();
    size_ = 0;
    input_count_ = 0;
    store_count_ = 0;
    // Every member is at most an item, and a store.
    static_assert(FusionLimits::most_members <= KernelSpec::max_items &&
                  FusionLimits::most_members <= KernelSpec::max_stores &&
                  FusionLimits::most_inputs <= KernelSpec::max_inputs);
    if (cluster.members > KernelSpec::max_items || cluster.members > KernelSpec::max_stores) {
      fail(cluster, "more operations than a kernel can have");
    }
    if (!out_.error.empty()) return;
    switch (cluster.kind) {
      case ClusterKind::loop:
        lower_loop(id, cluster);
        break;
      case ClusterKind::contraction:
        lower_contraction(id, cluster);
        break;
      case ClusterKind::single:
        lower_single(cluster);
        break;
    }
    const int inputs = out_.operands.size() - operands;
    for (int i = 0; i < store_count_; ++i) out_.operands.push(stores_[i].slot);
    const Range tensors{operands, out_.operands.size() - operands};
    const Range needs = push_needs(cluster);
    const Node& node = nodes_[labelled_];
    out_.steps.push(
        Step{kernel(),
             inputs,
             tensors,
             {extents, out_.extents.size() - extents},
             {words, out_.words.size() - words},
             {},
             needs,
             cluster.device,
             {name_of(*node.op), name_of(node.source.within ? *node.source.op : *node.op),
              node.scope, none, node.source.file, node.source.line}});
  }
  static constexpr OperationName name_of(const Op& op) {
    return {op.name.data(), static_cast<int>(op.name.size())};
  }

  // Needs.

  /// The sets of names that need the members of a cluster, each once; none if all are needed by the
  /// same names: who reaches such a step needs all of it.
  constexpr Range push_needs(const Cluster& cluster) {
    const Id first = out_.operands.size();
    const Id* const needs = fused_.needs.data();
    const Id usual = needs[cluster.first];
    bool mixed = false;
    for (Id m = cluster.first; m != none && !mixed; m = next_[m]) mixed = needs[m] != usual;
    for (Id m = cluster.first; m != none && mixed; m = next_[m]) {
      const Id set = need_set(needs[m]);
      int i = first;
      while (i < out_.operands.size() && out_.operands[i] != set) ++i;
      if (i == out_.operands.size()) out_.operands.push(set);
    }
    return {first, out_.operands.size() - first};
  }
  /// The number of a set of names in the program.
  constexpr Id need_set(Id set) {
    const NeedSets& sets = fused_.need_sets;
    if (need_set_of_.empty()) need_set_of_ = Pool<Id>(sets.count(), none);
    Id& number = need_set_of_[set];
    if (number == none) {
      number = out_.need_sets.size() / sets.width();
      const std::uint32_t* const words = sets.words_of(set);
      for (int i = 0; i < sets.width(); ++i) out_.need_sets.push(words[i]);
    }
    return number;
  }

  // Loops.

  struct Input {
    Id storage;
    unsigned axes;
  };
  struct Store {
    int number;
    int is_row;
    int dtype;
    Id slot;
  };

  constexpr void lower_loop(Id id, const Cluster& cluster) {
    size_ = head_size;
    push_body(id, cluster);
    const Dims& space = types_[cluster.space].dims;
    const int rank = space.rank;
    // Axis i goes on in the loop of axis i - 1 if all operands run along both or neither, and
    // both are reduced or neither.
    const unsigned whole = (1u << rank) - 1u;
    unsigned differs = cluster.reduced ^ cluster.reduced << 1;
    for (int k = 0; k < input_count_; ++k) {
      differs |= inputs_[k].axes ^ inputs_[k].axes << 1;
    }
    const unsigned starts = (differs | 1u) & whole;
    int axes = 0;
    unsigned reduced = 0;
    for (int i = 0; i < rank; ++axes) {
      Count count{};
      if ((cluster.reduced >> i & 1u) != 0) reduced |= 1u << axes;
      do {
        count.multiply(space.extent[i]);
        ++i;
      } while (i < rank && (starts >> i & 1u) == 0);
      out_.extents.push(StepExtent{count.coefficient, count.power});
    }
    if (axes == 0) {  // a scalar
      out_.extents.push(StepExtent{1, 0});
      axes = 1;
    }
    const bool folds = (reduced >> (axes - 1) & 1u) != 0;
    const bool columns = reduced != 0 && !folds;
    // One loop folds, and at most one is inside of it: what kernels have.
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
    push_inputs();
  }
  /// Axes as those of the kernel, each of which begins at an axis of `starts`.
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

  /// Describes the inputs and appends their slots to the operands.
  constexpr void push_inputs() {
    int* at = spec_ + size_;
    *at++ = input_count_;
    for (int k = 0; k < input_count_; ++k, at += 3) {
      const Id storage = inputs_[k].storage;
      const bool is_index = nodes_[values_[storage].node].op->builtin == Builtin::index_along;
      at[0] = dtype_of(storage);
      at[1] = is_index;
      at[2] = static_cast<int>(inputs_[k].axes);
      if (!is_index) out_.operands.push(slot(storage));
    }
    size_ += 1 + 3 * input_count_;
  }

  /// The number of an operand from outside that runs along these axes.
  constexpr int input(const Cluster& cluster, Id storage, unsigned axes) {
    for (int i = 0; i < input_count_; ++i) {
      if (inputs_[i].storage == storage && inputs_[i].axes == axes) return i;
    }
    if (input_count_ == KernelSpec::max_inputs) {
      fail(cluster, "more operands than a kernel can have");
      return 0;
    }
    inputs_[input_count_] = Input{storage, axes};
    return input_count_++;
  }

  /// A mistake of a pass: what is lowered is not what kernels are.
  constexpr void fail(const Cluster& cluster, const char* what) {
    if (!out_.error.empty()) return;
    const Node& node = nodes_[cluster.first];
    out_.error << "internal error in lowering: " << node.op->name << ": " << what << " ("
               << file_name(node.source.file) << ':' << node.source.line << ')';
  }

  /// Along which axes of the cluster's space an operand of a member runs.
  constexpr unsigned axes_of(const Cluster& cluster, const Node& node, bool row, Id value) const {
    const unsigned whole = (1u << cluster.rank) - 1u;
    if (node.op->kind == Kind::reduction || node.op->kind == Kind::write) return whole;
    const Id in = type_of(value);
    const Id out = type_of(node.outputs.first);
    const Node& from = nodes_[values_[storage_[value]].node];
    unsigned axes = 0;
    if (from.op->builtin == Builtin::index_along) {
      axes =
          position_axes(types_[in].dims, static_cast<int>(graph_.attributes[from.attributes.first]),
                        types_[out].dims);
    } else if (in == out && !row) {
      return whole;
    } else {
      const std::uint16_t known = fused_.axes.data()[in * fused_.type_count + out];
      axes = known != 0 ? known - 1u : broadcast_axes(types_[in].dims, types_[out].dims);
    }
    return row ? spread_axes(axes, cluster.reduced, cluster.rank) : axes;
  }

  /// The items and stores of a cluster.
  constexpr void push_body(Id id, const Cluster& cluster) {
    const unsigned whole = (1u << cluster.rank) - 1u;
    int* at = spec_ + size_;
    int* const count = at++;
    int items = 0;
    for (Id m = cluster.first; m != none; m = next_[m]) {
      const Node node = nodes_[m];
      const Op& op = *node.op;
      const bool row = is_row_[m] != 0;
      const Id result = node.outputs.first;
      // Called after the last operation, of those of the model if there are such: a user knows
      // them.
      if (m == cluster.first || (op.kind != Kind::write &&
                                 (!node.source.gradient || nodes_[labelled_].source.gradient))) {
        labelled_ = m;
      }
      if (op.kind == Kind::write) {
        const Id storage = storage_[operands_[node.inputs.first + 1]];
        const int number = cluster_of_[values_[storage].node] == id
                               ? number_of_[storage]
                               : input(cluster, storage, whole);
        stores_[store_count_++] =
            Store{number, row, dtype_of(storage), slot(storage_[operands_[node.inputs.first]])};
        continue;
      }
      if (op.kind == Kind::contraction) {
        number_of_[result] = product_number;
      } else {
        const Id type = type_of(result);
        at[0] = operation(op);
        at[1] = (op.kind == Kind::reduction ? 1 : 0) | (row ? 2 : 0) | fused_.phase.data()[m] << 2;
        at[2] = static_cast<int>(types_[type].dtype);
        at[3] = node.inputs.count;
        at += 4;
        const Id last = node.inputs.first + node.inputs.count;
        for (Id k = node.inputs.first; k < last; ++k) {
          const Id value = operands_[k];
          const Id storage = storage_[value];
          if (cluster_of_[values_[storage].node] == id) {
            *at++ = number_of_[storage];
          } else {
            *at++ = input(cluster, storage, axes_of(cluster, node, row, value));
          }
        }
        number_of_[result] = first_item + items++;
        if (op.kind == Kind::elementwise && node.attributes.count > 0) {
          push_words(node.attributes);
        }
      }
      if (stored_[result] != 0) {
        stores_[store_count_++] =
            Store{number_of_[result], row, dtype_of(result), temporary(result)};
      }
    }
    *count = items;
    *at++ = store_count_;
    for (int i = 0; i < store_count_; ++i, at += 3) {
      at[0] = stores_[i].number;
      at[1] = stores_[i].is_row;
      at[2] = stores_[i].dtype;
    }
    size_ = static_cast<int>(at - spec_);
  }

  // Contractions.

  constexpr void lower_contraction(Id id, const Cluster& cluster) {
    const Node node = nodes_[cluster.first];
    const Id a = operands_[node.inputs.first];
    const Id b = operands_[node.inputs.first + 1];
    const Dims& dims = types_[type_of(node.outputs.first)].dims;
    const Contraction contraction = node.op->contraction->describe(graph_, node);
    push_words(node.attributes);  // in front of those of the body
    // The operands of the product are inputs 0 and 1 and no values of the body; what follows and
    // reads one of them, too, has it as another input.
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
    if (contraction.outside != 0) {
      place_axes(dims, contraction);
    } else {
      place_rows(dims, contraction);
    }
    for (int i = 0; i < contraction.further; ++i) push_extent(contraction.extents[i]);
    push_inputs();
  }

  /// The extents and the inputs' axes of a contraction that is one matrix: all axes but the last
  /// are rows, along all of which an input runs or along none.
  constexpr void place_rows(const Dims& dims, const Contraction& contraction) {
    Count rows{};
    int row_axes = 0;  // of the space, which has none of extent 1
    for (int i = 0; i < dims.rank - 1; ++i) {
      rows.multiply(dims.extent[i]);
      row_axes += dims.extent[i] != 1;
    }
    out_.extents.push(StepExtent{rows.coefficient, rows.power});
    push_extent(dims.extent[dims.rank - 1]);
    out_.extents.push(StepExtent{contraction.depth.coefficient, contraction.depth.power});
    const unsigned all_rows = (1u << row_axes) - 1u;
    const bool columns = dims.extent[dims.rank - 1] != 1;
    for (int k = 0; k < input_count_; ++k) {
      const unsigned along = inputs_[k].axes;
      const bool along_rows = row_axes > 0 && (along & all_rows) != 0;
      const bool along_columns = columns && (along >> row_axes & 1u) != 0;
      inputs_[k].axes = k < 2 ? 0u : (along_rows ? 1u : 0u) | (along_columns ? 2u : 0u);
    }
  }

  /// The same of one that has axes outside of its matrices. Adjacent ones along which all operands
  /// run alike become one; those that a and what follows run along as along the rows, and b does
  /// not, are rows. So (B,M,K) x (K,N) is one product of matrices, and the kernel is that of
  /// matrices.
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
      const StepExtent extent{count.coefficient, count.power};
      from[axes] = 1u << first;
      // Without an axis of rows, that of several a of one row each.
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
    out_.extents.push(StepExtent{contraction.depth.coefficient, contraction.depth.power});
    for (int i = 0; i < outer_count; ++i) out_.extents.push(outer[i]);
  }

  // Operations with a kernel of their own.

  constexpr void lower_single(const Cluster& cluster) {
    const Node& node = nodes_[cluster.first];
    labelled_ = cluster.first;
    int* at = spec_;
    push_words(node.attributes);  // before those of constants, whose slots may be made below
    *at++ = static_cast<int>(KernelKind::custom);
    *at++ = operation(*node.op);
    const bool updates = node.op->kind == Kind::update;  // input 0, the variable, is written
    const int first = updates ? 1 : 0;
    if (node.inputs.count - first > KernelSpec::max_inputs) {
      fail(cluster, "more operands than a kernel can have");
      return;
    }
    *at++ = node.inputs.count - first;
    const auto describe = [&](Id value) {
      *at++ = dtype_of(value);
      *at++ = types_[type_of(value)].dims.rank;
      push_extents(type_of(value));
    };
    for (Id k = first; k < node.inputs.count; ++k) {
      const Id value = operands_[node.inputs.first + k];
      describe(value);
      out_.operands.push(slot(storage_[value]));
    }
    int* const outputs = at++;
    *outputs = 0;
    if (updates) {
      const Id variable = operands_[node.inputs.first];
      ++*outputs;
      describe(variable);
      stores_[store_count_++] = Store{0, 0, 0, slot(storage_[variable])};
    }
    for (Id value = node.outputs.first; value < node.outputs.first + node.outputs.count; ++value) {
      if (type_of(value) == none) continue;  // a token is no tensor
      ++*outputs;
      describe(value);
      stores_[store_count_++] = Store{0, 0, 0, temporary(value)};
    }
    size_ = static_cast<int>(at - spec_);
  }
  constexpr void push_extents(Id type) {
    const Dims& dims = types_[type].dims;
    for (int i = 0; i < dims.rank; ++i) push_extent(dims.extent[i]);
  }

  // Kernels.

  /// The number of an operation in this program's descriptions.
  constexpr int operation(const Op& op) {
    const int place = static_cast<int>(op.id & 63u);
    if (op_number_[place] != 0 && ops_[op_number_[place] - 1].op->id == op.id) {
      return op_number_[place] - 1;
    }
    int number = 0;
    while (number < ops_.size() && ops_[number].op->id != op.id) ++number;
    if (number == ops_.size()) ops_.push(Operation{&op});
    op_number_[place] = number + 1;
    return number;
  }

  /// The number of the kernel whose description is in spec_.
  constexpr Id kernel() {
    const int* const spec = spec_;
    const int size = size_;
    unsigned key = static_cast<unsigned>(size);
    for (int i = 0; i < size; i += 3) key = (key * 31u + static_cast<unsigned>(spec[i])) & 0xffffu;
    for (int k = known_.size() - 1; k >= 0; --k) {
      const Known known = known_.data()[k];
      if (known.key != key || known.words.count != size) continue;
      const int* const words = all_words_.data() + known.words.first;
      int i = 0;
      while (i < size && words[i] == spec[i]) ++i;
      if (i == size) return k;
    }
    const Range words{all_words_.size(), size};
    for (int i = 0; i < size; ++i) all_words_.push(spec[i]);
    known_.push(Known{key, words});
    const KernelSpec decoded = decode();
    out_.specs.push(decoded);
    out_.kernels.push(summary_of(decoded));
    return known_.size() - 1;
  }

  /// The description in spec_ as a record.
  constexpr KernelSpec decode() const {
    KernelSpec k{};
    const int* at = spec_;
    k.kind = static_cast<KernelKind>(*at++);
    if (k.kind == KernelKind::custom) {
      k.op = ops_[*at++].op;
      k.inputs = *at++;
      for (int i = 0; i < k.inputs; ++i, at += 2) {
        k.input[i] = {static_cast<DType>(at[0]), false, static_cast<unsigned>(at[1])};
      }
      k.stores = *at++;
      for (int i = 0; i < k.stores; ++i, at += 2) {
        k.store[i] = {at[1], false, static_cast<DType>(at[0])};
      }
      return k;
    }
    if (k.kind == KernelKind::contraction) {
      k.variant = static_cast<unsigned>(at[0]);
      k.dtype = static_cast<DType>(at[1]);
      k.wide = size_of(k.dtype) == 8;
      k.outer = at[2];
      k.op = ops_[at[3]].op;
    } else {
      k.wide = at[0] != 0;
      k.outer = at[1];
      k.folds = at[2] != 0;
    }
    at += head_size - 1;
    const int shift = input_count_ - first_item + (k.kind == KernelKind::contraction ? 1 : 0);
    const auto number = [&](int code) {
      return code < product_number ? code : code == product_number ? input_count_ : code + shift;
    };
    k.items = *at++;
    for (int i = 0; i < k.items; ++i) {
      ItemSpec& item = k.item[i];
      item.op = ops_[at[0]].op;
      item.is_fold = (at[1] & 1) != 0;
      item.is_row = (at[1] & 2) != 0;
      item.phase = at[1] >> 2;
      item.dtype = static_cast<DType>(at[2]);
      item.count = at[3];
      at += 4;
      for (int a = 0; a < item.count; ++a) item.arguments[a] = number(*at++);
    }
    k.stores = *at++;
    for (int i = 0; i < k.stores; ++i, at += 3) {
      k.store[i] = {number(at[0]), at[1] != 0, static_cast<DType>(at[2])};
    }
    k.inputs = *at++;
    for (int i = 0; i < k.inputs; ++i, at += 3) {
      k.input[i] = {static_cast<DType>(at[0]), at[1] != 0, static_cast<unsigned>(at[2])};
    }
    return k;
  }

  // Tables.

  /// Steps whose nodes have control inputs, with the steps of those effects.
  constexpr void add_controls() {
    for (Id c = fused_.first_late; c < fused_.clusters.size(); ++c) {
      if (step_of_[c] == none) continue;
      const Id first = out_.operands.size();
      begin_effect();
      for (Id m = fused_.clusters[c].first; m != none; m = next_[m]) {
        const Range controls = nodes_[m].controls;
        for (Id k = 0; k < controls.count; ++k) push_effect_steps(operands_[controls.first + k]);
      }
      out_.steps[step_of_[c]].after = {first, out_.operands.size() - first};
    }
  }

  /// Appends the steps of the effects that a token stands for, each once since begin_effect.
  constexpr void push_effect_steps(Id token) {
    each_effect(graph_, token, [&](Id node) {
      const Id step = step_of_[cluster_of_[node]];
      if (effect_of_step_[step] == effect_) return;
      effect_of_step_[step] = effect_;
      out_.operands.push(step);
    });
  }
  constexpr void begin_effect() {
    if (effect_of_step_.empty()) effect_of_step_ = Pool<int>(out_.steps.size(), 0);
    ++effect_;
  }

  constexpr void add_names() {
    const Name* const names = graph_.names.data();
    const int count = graph_.names.size();
    name_of_ = Pool<Id>(count, none);
    out_.names.reserve(count);
    for (Id i = 0; i < count; ++i) {
      const Name name = names[i];
      if (name.kind == NameKind::key) continue;
      ProgramName record{name, none, none, {}};
      const Id value = map_[name.value];
      if (name.kind == NameKind::value) record.name.kind = kind_of(name.value);
      if (name.kind == NameKind::effect) {
        record.steps.first = out_.operands.size();
        begin_effect();
        if (in_program(value)) push_effect_steps(value);
        record.steps.count = out_.operands.size() - record.steps.first;
      } else {
        record.type = values_[name.value].type;
        if (in_program(value)) {
          const Id storage = storage_[value];
          const bool source = nodes_[values_[storage].node].op->kind == Kind::source;
          record.slot = source ? slot(storage) : slot_of_[storage];
          if (!source && record.slot != none && out_.slots[record.slot].step != none) {
            out_.steps[out_.slots[record.slot].step].label.name = out_.names.size();
          }
        }
      }
      name_of_[i] = out_.names.push(record);
    }
  }

  /// What users named by a second name: a placeholder or a variable, too.
  constexpr NameKind kind_of(Id traced) const {
    const Builtin builtin = nodes_[values_[traced].node].op->builtin;
    return builtin == Builtin::placeholder ? NameKind::placeholder
           : builtin == Builtin::variable  ? NameKind::variable
                                           : NameKind::value;
  }

  constexpr void add_variables() {
    for (const VariableRecord& variable : graph_.variable_records) {
      const Id value = map_[variable.value];
      out_.variables.push(ProgramVariable{name_of_[variable.name], values_[value].type,
                                          slot_of_[value], variable.initializer, variable.trainable,
                                          variable.state});
    }
  }

  /// Placeholders, and values that are fed as if they were.
  constexpr void add_placeholders() {
    for (Id i = 0; i < graph_.names.size(); ++i) {
      const Name& name = graph_.names[i];
      if (name_of_[i] == none || name.kind == NameKind::effect) continue;
      const Id value = map_[name.value];
      if (!in_program(value) || nodes_[values_[value].node].op->builtin != Builtin::placeholder) {
        continue;
      }
      const Id slot = slot_of_[value];
      if (slot == none || out_.slots[slot].index != none) continue;
      const std::uint32_t* const words =
          graph_.attributes.data() + nodes_[values_[value].node].attributes.first;
      out_.slots[slot].index = out_.placeholders.push(
          ProgramPlaceholder{name_of_[i], slot, words[0] != 0, words[1], words[2]});
    }
  }

  /// Whether the value is part of the program.
  constexpr bool in_program(Id value) const {
    return value != none && fused_.needs[values_[value].node] != NeedSets::nobody;
  }

  struct Operation {
    const Op* op;
  };
  struct Known {
    unsigned key;  // of some of the words, to spare most comparisons
    Range words;
  };

  const Graph& graph_;
  const Pool<Id>& map_;
  const Fused& fused_;
  const Pool<Id>& order_;
  const Node* nodes_;
  const Value* values_;
  const Id* operands_;
  const Type* types_;
  const Id* storage_;
  const Id* cluster_of_;
  const Id* next_;
  const char* is_row_;
  Pool<char> stored_pool_;
  Pool<Id> slot_pool_;
  Pool<int> number_pool_;
  Pool<Id> step_of_;  // by cluster
  char* stored_;      // by value: leaves its cluster
  Id* slot_of_;       // by storage value
  int* number_of_;    // by value: in the body of its cluster

  ProgramPools out_;
  Pool<Id> name_of_;          // by name of the graph: in the program
  Pool<Id> need_set_of_;      // by set of names: in the program
  Pool<int> effect_of_step_;  // the last effect that a step was listed for
  int effect_ = 0;
  Pool<int> all_words_;
  Pool<Known> known_;  // by kernel
  Pool<Operation> ops_;
  int op_number_[64] = {};

  // Of the cluster at hand.
  int spec_[2048] = {};  // the description of its kernel
  int size_ = 0;
  Input inputs_[KernelSpec::max_inputs] = {};
  int input_count_ = 0;
  Store stores_[KernelSpec::max_stores] = {};
  int store_count_ = 0;
  Id labelled_ = none;  // the node that its step is called after
};

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
