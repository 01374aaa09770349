// SPDX-License-Identifier: Apache-2.0
#pragma once

// Strided views: values that their readers find in another tensor's memory.
//
// A slice, a reversal or a transpose computes nothing. If all its readers are loops or products
// that can read its operand instead, it is no step, it has no memory, and its operand lives until
// they have run. A loop is cut where neighbours along an axis do not continue in the next row.
// Loops stay as long as folds and vectors need them, so every bit stays. Products take the distance
// of rows and of matrices as numbers, and add in the same order.
//
// Rows that are gathered at indices are read in place, too. A step checks the indices, and writes
// where each row begins: an offset for each row in place of a copy of it. Copied rows would be
// written and read once more. Only processors have kernels that read them.

#include <cstdint>
#include <limits>

#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/layout.hpp"
#include "typeflow/ops/contraction.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/effects.hpp"
#include "typeflow/passes/simplify.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// How a strided view lies along the axes of a space.
struct StridedAxes {
  bool fits;                ///< whether strides can express it
  unsigned starts;          ///< axes that do not continue where the axis before ends, as bits
  const Stride* begin;      ///< Layout::begin
  Count run;                ///< elements of the innermost axes, which lie together
  Stride stride[max_rank];  ///< by axis of the space
};

/// The same for the strided view of a tensor of shape `value`, which kernels may see with another
/// shape of as many elements. Axes that continue one another are merged, and split into those of
/// the space.
constexpr StridedAxes strided_axes(const Layout& layout, const Dims& value, const Dims& space,
                                   unsigned axes) {
  StridedAxes out{true, 0, layout.begin, {}, {}};
  int axis = space.rank;
  const auto next = [&] {
    do --axis;
    while (axis >= 0 && (axes >> axis & 1u) == 0);
  };
  next();
  bool innermost = true;
  for (int i = value.rank - 1; i >= 0;) {
    const Stride stride = layout.stride[i];
    Count run{};
    const auto goes_on = [&](const Stride& other) {
      return other.powers == stride.powers + run.powers &&
             other.coefficient == stride.coefficient * run.coefficient;
    };
    if (value.extent[i] == 1) {
      --i;
      continue;
    }
    do {
      run.multiply(value.extent[i]);
      do --i;
      while (i >= 0 && value.extent[i] == 1);
    } while (i >= 0 && goes_on(layout.stride[i]));
    Count size{};
    int first = none;
    while (!(size == run)) {
      if (axis < 0) return {};
      out.stride[axis] = {stride.coefficient * size.coefficient, stride.powers + size.powers};
      size.multiply(space.extent[axis]);
      first = axis;
      next();
    }
    if (i >= 0) out.starts |= 1u << first;
    if (innermost) out.run = run;
    innermost = false;
  }
  out.fits = axis < 0;
  return out;
}

/// Whether an axis continues the one in front of it.
constexpr bool continues(const Stride& outer, const Stride& inner, Extent extent) {
  return outer.powers == inner.powers + symbols_of(extent) &&
         outer.coefficient == inner.coefficient * factor_of(extent);
}

/// The same along the axes of an operand of a product, of those with an extent other than 1.
constexpr StridedAxes factor_axes(const Layout& layout, const Dims& value, const Dims& operand) {
  unsigned axes = 0;
  for (int i = 0; i < operand.rank; ++i) axes |= operand.extent[i] != 1 ? 1u << i : 0u;
  return strided_axes(layout, value, operand, axes);
}

/// The axes that number gathered rows, of those along which the rows run in a space. The innermost
/// of these hold the elements of a row.
constexpr unsigned axes_of_rows(std::int64_t row, const Dims& space, unsigned axes) {
  Count size{};
  for (int i = space.rank - 1; i >= 0 && !(size == Count{row, 0}); --i) {
    if ((axes >> i & 1u) == 0) continue;
    size.multiply(space.extent[i]);
    axes &= ~(1u << i);
  }
  return axes;
}

/// Whether a kernel of this geometry has a loop for each axis if some are cut from those before:
/// one loop for the reduced axes, and one for those inside of them.
constexpr bool fits_starts(unsigned starts, unsigned reduced, int rank) {
  unsigned inner = 0;
  for (int i = rank - 1; i >= 0 && reduced != 0 && (reduced >> i & 1u) == 0; --i) inner |= 1u << i;
  return (starts & (reduced & reduced << 1)) == 0 && (starts & (inner & inner << 1)) == 0;
}

/// Whether the tensor has elements, and a kernel can count from one to another with any strides.
constexpr bool can_index(const Dims& dims) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  Count count{};
  for (int i = 0; i < dims.rank; ++i) count.multiply(dims.extent[i]);
  return count.coefficient > 0 && count.coefficient <= most;
}

class StridedViewFinder {
 public:
  constexpr StridedViewFinder(Simplified& simplified, Fused& fused, const Roots& roots,
                              const Pool<Id>& stored, const FusionLimits& limits)
      : graph_(simplified.graph), map_(simplified.map), fused_(fused), limits_(limits) {
    for (Id c = 0; c < fused_.clusters.size(); ++c) {
      const Cluster& cluster = fused_.clusters.items[c];
      if (cluster.kind != ClusterKind::single || cluster.merged) continue;
      const Op& op = *graph_.nodes.items[cluster.first].op;
      if (op.moves || op.gathers) singles_.push(c);
    }
    if (singles_.empty()) return;
    pinned_ = Pool<char>(graph_.values.size(), 0);
    for (const Id value : roots.values) pin(value);
    for (const Id value : stored) pin(value);
  }

  constexpr void run() {
    for (const Id c : singles_) consider(c);
    if (found_.empty()) return;
    for (Id c = 0; c < fused_.clusters.size(); ++c) {
      if (!fused_.clusters.items[c].merged) check_reads(c);
    }
    for (int i = 0; i < found_.size(); ++i) {
      if (refused_[i] == 0) take(found_[i]);
    }
    if (fused_.strided_views.empty()) return;
    for (Cluster& c : fused_.clusters) {
      if (c.merged || c.kind == ClusterKind::single) continue;
      const int inputs = c.inputs;
      for (int i = 0; i < inputs; ++i) {
        const StridedView* const strided_view = fused_.strided_view(c.input[i]);
        if (strided_view == nullptr) continue;
        c.input[i] = strided_view->base;
        if (strided_view->offsets == none) continue;
        c.input_axes[c.inputs] = 0;  // nobody asks behind this pass
        c.input[c.inputs++] = strided_view->offsets;
      }
    }
  }

 private:
  constexpr void pin(Id traced) {
    const Id value = map_[traced];
    if (value == none || fused_.needs.items[graph_.values.items[value].node] == NeedSets::nobody)
      return;
    pinned_[fused_.storage.items[value]] = 1;
  }

  /// Considers the result of an operation that moves elements, if only reads need it.
  constexpr void consider(Id cluster) {
    const Node& node = graph_.nodes.items[fused_.clusters.items[cluster].first];
    const Id value = node.outputs.first;
    if (pinned_[value] != 0 || node.controls.count != 0) return;
    const Id x = graph_.input(node, 0);
    const Id base = fused_.storage.items[x];
    if (!can_index(graph_.dims_of(x)) || !can_index(graph_.dims_of(value))) return;
    StridedView strided_view{value, base, {}, none, 0};
    if (node.op->gathers
            ? !place_rows(cluster, node, strided_view)
            : is_written(base) || !node.op->layout(graph_, node, strided_view.layout)) {
      return;
    }
    if (candidate_of_.empty()) candidate_of_ = Pool<Id>(graph_.values.size(), none);
    candidate_of_[value] = found_.push(strided_view);
    refused_.push(0);
  }
  /// Finds where the rows of a gather lie, relative to offsets that `take` adds. False if they
  /// can't be read in place.
  constexpr bool place_rows(Id cluster, const Node& node, StridedView& rows) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();  // of an offset
    const Dims& x = graph_.dims_of(graph_.input(node, 0));
    const Dims& value = graph_.dims_of(rows.value);
    Count elements{};
    for (int i = 0; i < x.rank; ++i) elements.multiply(x.extent[i]);
    if (node.device.kind != DeviceKind::cpu || elements.powers != 0 || elements.coefficient > most)
      return false;
    // Kernels of integers of one or two bytes have no lanes for offsets.
    const DType type = graph_.dtype_of(rows.value);
    if (size_of(type) < 4 && !is_half_precision(type)) return false;
    // Kernels that follow no effect read a variable before it is written.
    if (is_written(rows.base) && cluster >= fused_.first_late) return false;
    const int last = value.rank - 1;
    rows.row = 1;
    for (int i = 0; i < x.rank - 1; ++i) {
      rows.layout.stride[last - i] = {rows.row, 0};
      rows.row *= value.extent[last - i];
    }
    return true;
  }
  /// Whether a run overwrites the value, which may have changed when it is read.
  constexpr bool is_written(Id base) {
    const Node& variable = graph_.node_of(base);
    if (variable.op->builtin != Builtin::variable) return false;
    if (written_.empty()) {
      written_ = Pool<char>(graph_.variable_records.size() + 1, 0);
      for (const Id id : fused_.order) {
        each_written_variable(graph_, graph_.nodes.items[id],
                              [&](Id written) { written_[written] = 1; });
      }
    }
    return written_[static_cast<Id>(graph_.words_of(variable)[0])] != 0;
  }

  constexpr void check_reads(Id id) {
    const Cluster& c = fused_.clusters.items[id];
    const Id* const candidate_of = candidate_of_.data();
    if (c.kind == ClusterKind::single) {
      const Range inputs = graph_.nodes.items[c.first].inputs;
      for (Id k = inputs.first; k < inputs.first + inputs.count; ++k) {
        const Id candidate = candidate_of[fused_.storage.items[graph_.operands.items[k]]];
        if (candidate != none) refused_[candidate] = 1;
      }
      return;
    }
    if (c.kind == ClusterKind::contraction) return check_product(c, candidate_of);
    const int inputs = c.inputs;
    int with_offsets = inputs;
    for (int i = 0; i < inputs; ++i) {
      const Id candidate = candidate_of[c.input[i]];
      if (candidate == none) continue;
      const StridedView& view = found_[candidate];
      bool can = can_read(c, c.input_axes[i], view);
      if (view.row != 0) {
        ++with_offsets;
        can = can && with_offsets <= FusionLimits::most_inputs &&
              can_gather(id, c.input_axes[i], view);
      }
      if (!can) refused_[candidate] = 1;
    }
  }
  /// A product may read its operands in place. What follows on its tiles reads whole tensors.
  constexpr void check_product(const Cluster& c, const Id* candidate_of) {
    const bool reads = graph_.nodes.items[c.first].op->contraction->reads_strided &&
                       c.device.kind == DeviceKind::cpu;
    for (Id m = c.first; m != none; m = fused_.next.items[m]) {
      const Range inputs = graph_.nodes.items[m].inputs;
      for (Id k = inputs.first; k < inputs.first + inputs.count; ++k) {
        const Id operand = graph_.operands.items[k];
        const Id candidate = candidate_of[fused_.storage.items[operand]];
        if (candidate == none) continue;
        if (!reads || m != c.first || !can_multiply(c, k - inputs.first, found_[candidate])) {
          refused_[candidate] = 1;
        }
      }
    }
  }
  /// Whether the rows of matrices of operand k lie together.
  constexpr bool can_multiply(const Cluster& c, int k, const StridedView& view) const {
    if (view.row != 0 || !(c.device == graph_.node_of(view.value).device)) return false;
    const Node& product = graph_.nodes.items[c.first];
    const Dims& dims = graph_.dims_of(graph_.input(product, k));
    const StridedAxes along = factor_axes(view.layout, graph_.dims_of(view.value), dims);
    const int last = dims.rank - 1;
    for (int i = 0; i < last; ++i) {
      if (along.stride[i].coefficient < 0) return false;
    }
    const bool is_short = along.run.powers == 0 && along.run.coefficient < limits_.run;
    if (!along.fits || dims.extent[last] == 1 || along.stride[last] != Stride{1, 0} || is_short) {
      return false;
    }
    return k != 0 || has_long_rows(product, dims, along);
  }
  /// Whether a's matrices have many rows, or continue one another. With one b for all of them they
  /// are one matrix then. Many products of a few rows each would cost more than a copy.
  constexpr bool has_long_rows(const Node& product, const Dims& a, const StridedAxes& along) const {
    constexpr Extent few_rows = 32;
    const Contraction contraction = product.op->contraction->describe(graph_, product);
    if (!contraction.rows_of_a) return true;
    const Extent rows = a.extent[a.rank - 2];
    if (!is_symbolic(rows) && rows >= few_rows) return true;
    const int in_front = graph_.dims_of(product.outputs.first).rank - a.rank;
    int inner = none;
    for (int i = a.rank - 2; i >= 0; --i) {
      if ((contraction.outside_b >> (i + in_front) & 1u) != 0) break;  // another b for each
      if (a.extent[i] == 1) continue;
      if (inner != none && !continues(along.stride[i], along.stride[inner], a.extent[inner])) {
        return false;
      }
      inner = i;
    }
    return true;
  }
  /// Whether a cluster that can read strided views can read these gathered rows.
  constexpr bool can_gather(Id id, unsigned axes, const StridedView& rows) {
    const Cluster& c = fused_.clusters.items[id];
    // An offset for each number would be no less than the number.
    if (c.rank == 0 || (axes >> (c.rank - 1) & 1u) == 0) return false;
    const Extent innermost = graph_.types.items[c.space].dims.extent[c.rank - 1];
    if (is_symbolic(innermost) || innermost < limits_.row) return false;
    if ((c.width | (is_wide(rows.value) ? 2u : 1u)) == 3u) return false;
    if (!is_written(rows.base)) return true;
    if (id >= fused_.first_late) return false;
    for (Id m = c.first; m != none; m = fused_.next.items[m]) {
      const Node& node = graph_.nodes.items[m];
      if (node.op->kind == Kind::write &&
          fused_.storage.items[graph_.input(node, 0)] == rows.base) {
        return false;
      }
    }
    return true;
  }
  /// Whether offsets of rows of the value are int64, in kernels of elements of 8 bytes.
  constexpr bool is_wide(Id value) const { return lane_size(graph_.dtype_of(value)) == 8; }
  constexpr bool can_read(const Cluster& c, unsigned axes, const StridedView& strided_view) const {
    if (c.kind != ClusterKind::loop || !(c.device == graph_.node_of(strided_view.value).device)) {
      return false;
    }
    const Dims& space = graph_.types.items[c.space].dims;
    const StridedAxes along =
        strided_axes(strided_view.layout, graph_.dims_of(strided_view.value), space, axes);
    if (!along.fits || !fits_starts(along.starts, c.reduced, c.rank)) return false;
    if (c.rank == 0 || (axes >> (c.rank - 1) & 1u) == 0) return true;  // a number for each row
    const bool is_short = along.run.powers == 0 && along.run.coefficient < limits_.run;
    if (is_short) return false;
    return along.stride[c.rank - 1] == Stride{1, 0} ||
           can_skip(c, along, size_of(graph_.dtype_of(strided_view.value)));
  }
  /// Whether a cluster reads every second, third or fourth element of long rows. Loops without
  /// folds on processors do, and put them side by side, some at a time. Elements in between that
  /// other rows read must be in a cache until then.
  constexpr bool can_skip(const Cluster& c, const StridedAxes& along, std::int64_t size) const {
    constexpr std::int64_t cached = 1 << 20;  // bytes
    const Stride inner = along.stride[c.rank - 1];
    const Extent row = graph_.types.items[c.space].dims.extent[c.rank - 1];
    const bool reads = c.device.kind == DeviceKind::cpu && c.reduced == 0 && !is_symbolic(row) &&
                       row >= limits_.row && inner.powers == 0 && inner.coefficient >= 2 &&
                       inner.coefficient <= 4;
    const bool is_near =
        along.run.powers == 0 && along.run.coefficient * inner.coefficient * size <= cached;
    for (int i = 0; i < c.rank - 1 && reads && !is_near; ++i) {
      if (along.stride[i] == Stride{1, 0}) return false;
    }
    return reads;
  }

  constexpr void take(StridedView strided_view) {
    const Id node = graph_.values.items[strided_view.value].node;
    const Id id = fused_.cluster_of.items[node];
    Id in_cluster = none;  // the node that stays in the operation's cluster
    if (strided_view.row != 0) {
      const int nodes = graph_.nodes.size();
      strided_view.offsets = add_offsets(node);
      if (strided_view.offsets == none) return;
      if (graph_.nodes.size() > nodes) in_cluster = nodes;
    }
    if (fused_.strided_view_of.empty())
      fused_.strided_view_of = Pool<Id>(graph_.values.size(), none);
    fused_.strided_view_of[strided_view.value] = fused_.strided_views.push(strided_view);
    Cluster& cluster = fused_.clusters.items[id];
    cluster.merged = in_cluster == none;
    cluster.first = in_cluster;
    cluster.last = in_cluster;
    cluster.members = in_cluster == none ? 0 : 1;
    if (in_cluster != none) fused_.cluster_of.items[in_cluster] = id;
    fused_.cluster_of.items[node] = none;
    fused_.needs.items[node] = NeedSets::nobody;
  }
  /// The value that says where the rows of a gather begin: a new one, or that of another gather.
  /// None if the operation has no such value.
  constexpr Id add_offsets(Id gather) {
    const Node node = graph_.nodes.items[gather];
    graph_.stand_at(node);
    graph_.source.make_part_of(*node.op);  // whose mistakes in indices it finds
    const Id known = graph_.values.size();
    const Id offsets = node.op->row_offsets(
        graph_, node, is_wide(node.outputs.first) ? DType::int64 : DType::int32);
    if (offsets == none) return none;
    const Id needs = fused_.needs.items[gather];
    if (offsets < known) {
      Id& all = fused_.needs.items[graph_.values.items[offsets].node];
      all = fused_.need_sets.unite(all, needs);
      return offsets;
    }
    fused_.storage.push(offsets);
    fused_.cluster_of.push(none);
    fused_.next.push(none);
    fused_.is_row.push(0);
    fused_.phase.push(0);
    fused_.needs.push(needs);
    return offsets;
  }

  Graph& graph_;
  const Pool<Id>& map_;
  Fused& fused_;
  const FusionLimits limits_;
  Pool<Id> singles_;         // clusters of operations that move elements
  Pool<StridedView> found_;  // possible strided views
  Pool<char> refused_;       // by possible strided view: somebody reads the value itself
  Pool<Id> candidate_of_;    // by value: in found_
  Pool<char> pinned_;        // by value: stays in memory in any case
  Pool<char> written_;       // by variable; empty until it is asked for
};

/// Removes operations that only move elements from the clusters, if all their readers can do
/// without. `stored`: values (of the original) that must be in memory at the end.
constexpr void find_strided_views(Simplified& simplified, Fused& fused, const Roots& roots,
                                  const Pool<Id>& stored, const FusionLimits& limits = {}) {
  StridedViewFinder(simplified, fused, roots, stored, limits).run();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
