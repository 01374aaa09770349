// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inputs of a kernel: operands, the axes of its space along which they run, and for strided
// views the place in other tensors.

#include <cstdint>

#include "typeflow/graph/graph.hpp"
#include "typeflow/lower/kernel_spec.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/lower/slots.hpp"
#include "typeflow/passes/clusters.hpp"
#include "typeflow/passes/simplify.hpp"
#include "typeflow/passes/strided_views.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class KernelInputs : protected ProgramBuilder {
 protected:
  using ProgramBuilder::ProgramBuilder;

  struct Input {
    Id storage;
    unsigned axes;
    std::uint8_t offsets;  ///< as in InputSpec
  };
  /// The number of an outside operand that runs along these axes.
  constexpr int input(const Cluster& cluster, Id storage, unsigned axes) {
    for (int i = 0; i < input_count_; ++i) {
      if (inputs_[i].storage == storage && inputs_[i].axes == axes) return i;
    }
    if (input_count_ == KernelSpec::max_inputs) {
      fail(cluster, "more operands than a kernel can have");
      return 0;
    }
    inputs_[input_count_] = Input{storage, axes, 0};
    return input_count_++;
  }

  // Until all inputs are known, items have numbers from here on, and a product the one before.
  static constexpr int first_item = KernelSpec::max_inputs + 1;
  static constexpr int product = first_item - 1;

  /// Describes the inputs, appends their slots to the operands, and numbers the values as
  /// KernelBody does.
  constexpr void push_inputs() {
    spec_.inputs = input_count_;
    for (int k = 0; k < input_count_; ++k) {
      const Id storage = inputs_[k].storage;
      const StridedView* const strided_view = fused_.strided_view(storage);
      const bool is_index = nodes_[values_[storage].node].op->builtin == Builtin::index_along;
      spec_.input[k] = InputSpec{dtype_of(storage), is_index,          strided_view != nullptr, 0,
                                 inputs_[k].axes,   inputs_[k].offsets};
      if (!is_index)
        out_.operands.push(slot(strided_view == nullptr ? storage : strided_view->base));
    }
    const int shift = input_count_ - (spec_.kind == KernelKind::contraction ? product : first_item);
    for (int i = 0; i < spec_.items; ++i) {
      ItemSpec& item = spec_.item[i];
      for (int a = 0; a < item.count; ++a) {
        if (item.arguments[a] >= product) item.arguments[a] += shift;
      }
    }
    for (int i = 0; i < spec_.stores; ++i) {
      if (spec_.store[i].value >= product) spec_.store[i].value += shift;
    }
  }

  /// Adds inputs that say where the rows of gathered inputs begin.
  constexpr void push_offsets(const Cluster& cluster, const Dims& space) {
    const int count = input_count_;
    for (int k = 0; k < count && !fused_.strided_views.empty(); ++k) {
      const StridedView* const view = fused_.strided_view(inputs_[k].storage);
      if (view == nullptr || view->offsets == none) continue;
      const unsigned axes = axes_of_rows(view->row, space, inputs_[k].axes);
      inputs_[k].offsets = static_cast<std::uint8_t>(input(cluster, view->offsets, axes) + 1);
    }
  }

  // Strided views.

  /// Finds how strided views, from the first_input on, lie in the space of the loops. They may cut
  /// it: returns, as bits, the axes that do not continue where the axis before them ends.
  constexpr unsigned place_strided(const Dims& space, int first_input = 0) {
    unsigned starts = 0;
    strided_count_ = 0;
    for (int k = first_input; k < input_count_ && !fused_.strided_views.empty(); ++k) {
      const StridedView* const strided_view = fused_.strided_view(inputs_[k].storage);
      if (strided_view == nullptr) continue;
      const Dims& value = types_[type_of(strided_view->value)].dims;
      StridedAxes& along = strided_[strided_count_++];
      along = strided_axes(strided_view->layout, value, space, inputs_[k].axes);
      starts |= along.starts;
    }
    return starts;
  }
  /// How an operand of a product lies along its own axes; fits nothing if it is no strided view.
  constexpr StridedAxes layout_of_factor(Id operand) const {
    const StridedView* const view = fused_.strided_view(storage_[operand]);
    if (view == nullptr) return {};
    return factor_axes(view->layout, types_[type_of(view->value)].dims,
                       types_[type_of(operand)].dims);
  }

  /// The same for a result that a kernel writes into a larger tensor. Strided views that are read
  /// come first.
  constexpr unsigned place_part(const Part& part, const Dims& space) {
    StridedAxes& along = strided_[strided_count_++];
    along = strided_axes(part.layout, types_[type_of(part.operand)].dims, space,
                         (1u << space.rank) - 1u);
    return along.starts;
  }
  /// Appends, for each strided view, its beginning and the strides along the kernel's axes to the
  /// extents. `last` are the innermost axes of the space that are in them; none for an axis of
  /// extent 1. A scalar has one stride.
  constexpr void push_strided(const int* last, int axes) {
    for (int i = 0; i < strided_count_; ++i) {
      const StridedAxes& along = strided_[i];
      push_stride(along.begin[0]);
      push_stride(along.begin[1]);
      for (int k = 0; k < axes; ++k) {
        push_stride(last[k] == none ? Stride{0, 0} : along.stride[last[k]]);
      }
    }
  }

  constexpr void push_stride(const Stride& stride) {
    out_.extents.push(StepExtent{stride.coefficient, stride.powers});
  }

  /// The axes of the cluster's space along which a member's operand runs.
  constexpr unsigned axes_of(const Cluster& cluster, const Node& node, bool row, Id value) const {
    const unsigned whole = (1u << cluster.rank) - 1u;
    if (node.op->kind == Kind::reduction || node.op->kind == Kind::write) return whole;
    const Id in = type_of(value);
    const Id out = type_of(node.outputs.first);
    const Node& from = nodes_[values_[storage_[value]].node];
    unsigned axes = 0;
    if (from.op->builtin == Builtin::index_along) {
      axes = position_axes(types_[in].dims,
                           static_cast<int>(graph_.attributes.items[from.attributes.first]),
                           types_[out].dims);
    } else if (in == out && !row) {
      return whole;
    } else {
      const std::uint16_t known = fused_.axes.items[in * fused_.type_count + out];
      axes = known != 0 ? known - 1u : broadcast_axes(types_[in].dims, types_[out].dims);
    }
    return row ? spread_axes(axes, cluster.reduced, cluster.rank) : axes;
  }

  // Of the cluster at hand.
  KernelSpec spec_{};  // its kernel
  Input inputs_[KernelSpec::max_inputs] = {};
  int input_count_ = 0;

 private:
  StridedAxes strided_[KernelSpec::max_inputs + KernelSpec::max_stores] = {};
  int strided_count_ = 0;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
