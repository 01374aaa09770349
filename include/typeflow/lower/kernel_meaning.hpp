// SPDX-License-Identifier: Apache-2.0
#pragma once

// The meaning of a kernel: what the numbers of its description, and of a step that has it, stand
// for.
//
// Back ends, the interpreter of programs, costs and the verifier ask here, and differ only in how
// they run the loops. A kernel's types (lower/kernel_types.hpp) hold the same records as its
// description, so both are asked by the same functions.
//
// A step's extents are those of the loops, a contraction's further ones, then the strided views'.
// For softmax over (batch, 10):
//
//   space     axis 0: batch, axis 1: 10, folded
//   passes    0: max      1: sum of exp(x - max)      2: exp(x - max) / sum, stored

#include <cstdint>

#include "typeflow/core/shape.hpp"
#include "typeflow/lower/kernel_spec.hpp"
#include "typeflow/ops/contraction.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

// The space: the axes of the loops.

/// The order of a contraction's extents. Behind them are those that only its operation knows, then
/// those of strided views.
struct ContractionExtents {
  static constexpr int rows = 0;
  static constexpr int columns = 1;
  static constexpr int depth = 2;
  static constexpr int outer = 3;  ///< of the first axis outside of the matrices
};

/// The axes of a kernel's loops, from the outermost on. Bit k of `axes` of an input is axis k.
///
///   loop         outer..., inner
///   columns      outer..., folded, inner
///   contraction  outer..., rows, columns
struct KernelSpace {
  KernelKind kind;
  int rank;
  unsigned folded;  ///< the axis that folds reduce, as a bit; 0 if there is none

  constexpr unsigned whole() const { return (1u << rank) - 1u; }
  /// The axes along which a result runs.
  constexpr unsigned axes_of(const StoreSpec& store) const {
    return store.is_row ? whole() & ~folded : whole();
  }
  /// The number of an axis among the step's extents.
  constexpr int extent(int axis) const {
    if (kind != KernelKind::contraction) return axis;
    return axis == rank - 2   ? ContractionExtents::rows
           : axis == rank - 1 ? ContractionExtents::columns
                              : ContractionExtents::outer + axis;
  }
  /// The number of extents that belong to the loops.
  constexpr int extents() const { return kind == KernelKind::contraction ? rank + 1 : rank; }
};

/// Of a kernel with loops. `outer` and `folds` are as in KernelSpec.
constexpr KernelSpace space_of(KernelKind kind, int outer, bool folds) {
  const bool one_inside = kind == KernelKind::loop;
  const bool has_fold = kind == KernelKind::columns || (one_inside && folds);
  return {kind, outer + (one_inside ? 1 : 2), has_fold ? 1u << outer : 0u};
}
constexpr KernelSpace space_of(const KernelSpec& kernel) {
  return space_of(kernel.kind, kernel.outer, kernel.folds);
}
/// The extents of a contraction that stand between those of its axes and the strided views': the
/// depth, and those that only its operation knows.
constexpr int contraction_extents(int further) { return 1 + further; }
/// The same for any kernel with loops.
constexpr int extents_between(const KernelSpec& kernel) {
  return kernel.kind == KernelKind::contraction
             ? contraction_extents(kernel.op->contraction->further)
             : 0;
}

// Operands: where elements lie in memory.

/// A strided view of a larger tensor, among the extents of a step: its beginning as a sum of two
/// numbers, then its stride along each axis of the loops. All are numbers of elements, and may be
/// negative. Of a product's operand they are: strides along the axes outside of the matrices, then
/// the distance of two rows of its matrix, as they are in memory, and of two elements of a row: 1.
struct StridedExtents {
  static constexpr int strides = 2;
  const std::int64_t* at;  ///< null: the operand is a tensor of its own

  static constexpr int count(int rank) { return strides + rank; }
  constexpr std::int64_t begin() const { return at[0] + at[1]; }
  constexpr std::int64_t stride(int axis) const { return at[strides + axis]; }
};

/// A strided view's extents, by its number, in those of a step whose loops have `rank` axes. Those
/// of a contraction are passed without its first `extents_between`.
constexpr StridedExtents strides_at(int number, int rank, const std::int64_t* extents) {
  return {extents + rank + number * StridedExtents::count(rank)};
}

/// Where an operand's elements lie: `begin`, and a stride along each axis of the loops, which is 0
/// where the operand repeats. For (3,1,5) in loops over (3,4,5): begin 0, strides 5, 0, 1.
template <int MaxRank>
struct OperandLayout {
  std::int64_t begin;
  std::int64_t stride[MaxRank];

  constexpr std::int64_t at(const std::int64_t* coordinates, int rank) const {
    std::int64_t place = begin;
    for (int k = 0; k < rank; ++k) place += coordinates[k] * stride[k];
    return place;
  }
};

/// The layout of an operand along these axes, whose extents are given by axis. (Inlined, because
/// little is left of it where the axes are constants, as in kernels.)
template <int MaxRank>
TYPEFLOW_INLINE constexpr OperandLayout<MaxRank> layout_of(unsigned axes,
                                                           const std::int64_t* extents,
                                                           StridedExtents strided_view) {
  OperandLayout<MaxRank> layout{};
  std::int64_t size = 1;
  for (int k = MaxRank - 1; k >= 0; --k) {
    if ((axes >> k & 1u) == 0) continue;
    layout.stride[k] = strided_view.at == nullptr ? size : strided_view.stride(k);
    size *= extents[k];
  }
  if (strided_view.at == nullptr) return layout;
  // An operand without elements may be null, and must not be advanced.
  if (size == 0) return OperandLayout<MaxRank>{};
  layout.begin = strided_view.begin();
  return layout;
}

/// Elements of a tensor that a kernel touches, from the first to the one behind the last.
struct ElementRange {
  std::int64_t first;
  std::int64_t last;
};
/// Those of an operand along these axes, whose extents are given by axis.
template <int MaxRank>
constexpr ElementRange elements_of(const OperandLayout<MaxRank>& layout, unsigned axes,
                                   const std::int64_t* extents, int rank) {
  ElementRange range{layout.begin, layout.begin};
  for (int k = 0; k < rank; ++k) {
    if ((axes >> k & 1u) == 0) continue;
    if (extents[k] == 0) return {layout.begin, layout.begin};
    const std::int64_t along = (extents[k] - 1) * layout.stride[k];
    (along < 0 ? range.first : range.last) += along;
  }
  ++range.last;
  return range;
}

// The body: inputs, operations and stores.

/// The body of a kernel, as its description or its type lists it. Values are numbered: the inputs
/// come first, in a contraction then the product, then the items.
struct KernelBody {
  const InputSpec* input;
  int inputs;
  const ItemSpec* item;
  int items;
  const StoreSpec* store;
  int stores;
  bool has_product;  ///< inputs 0 and 1 are the operands of a contraction's product

  constexpr int product() const { return inputs; }
  constexpr int first_item() const { return inputs + (has_product ? 1 : 0); }
  constexpr int values() const { return first_item() + items; }
  constexpr bool is_factor(int i) const { return has_product && i < 2; }

  // Operands of KernelCall: inputs that have memory, then results.

  constexpr int operand(int i) const {
    int number = 0;
    for (int k = 0; k < i; ++k) number += input[k].is_index ? 0 : 1;
    return number;
  }
  constexpr int first_result() const { return operand(inputs); }

  // Strided views, by number: those that are read, then those that are written.

  constexpr int strided_before(int i) const {
    int number = 0;
    for (int k = 0; k < i; ++k) number += input[k].is_strided ? 1 : 0;
    return number;
  }
  constexpr int strided_before_store(int s) const {
    int number = strided_before(inputs);
    for (int k = 0; k < s; ++k) number += store[k].is_strided ? 1 : 0;
    return number;
  }
  /// Whether an input's rows are gathered: input `offsets - 1` says where each begins, relative to
  /// the input's layout.
  constexpr bool gathers() const {
    for (int i = 0; i < inputs; ++i) {
      if (input[i].offsets != 0) return true;
    }
    return false;
  }

  constexpr int strided_views() const { return strided_before_store(stores); }
  /// The strided view of input i, or of store s, among the extents of a step.
  constexpr StridedExtents strides(int i, int rank, const std::int64_t* extents) const {
    if (!input[i].is_strided) return {nullptr};
    return strides_at(strided_before(i), rank, extents);
  }
  constexpr StridedExtents store_strides(int s, int rank, const std::int64_t* extents) const {
    if (!store[s].is_strided) return {nullptr};
    return strides_at(strided_before_store(s), rank, extents);
  }

  // Words of the step: the attributes of the kernel's own operation, then those of the items.

  constexpr int words_before(int i) const {
    int number = 0;
    for (int k = 0; k < i; ++k) number += item[k].words;
    return number;
  }

  // Phases and passes. A pass goes over the elements of a row. Its folds give row values of the
  // next phase; other row values of that phase follow. The last pass stores the elements.

  constexpr int phase_of(int value) const {
    return value < first_item() ? 0 : item[value - first_item()].phase;
  }
  constexpr int passes() const {
    int count = 0;
    for (int i = 0; i < items; ++i) {
      if (item[i].is_fold && item[i].phase > count) count = item[i].phase;
    }
    for (int s = 0; s < stores; ++s) {
      const int phase = phase_of(store[s].value);
      if (!store[s].is_row && phase + 1 > count) count = phase + 1;
    }
    return count;
  }
  constexpr bool folds_in(int pass) const;
};

/// Whether the item is an accumulator of a pass.
constexpr bool folds_in(const ItemSpec& item, int pass) {
  return item.is_fold && item.phase == pass + 1;
}
/// Whether the item is computed once for each row, of values of this phase and earlier ones.
constexpr bool is_row_value(const ItemSpec& item, int phase) {
  return item.is_row && !item.is_fold && item.phase == phase;
}
/// Whether the item is computed for each element, in the passes that need it.
constexpr bool is_element_value(const ItemSpec& item) { return !item.is_fold && !item.is_row; }

constexpr bool KernelBody::folds_in(int pass) const {
  for (int i = 0; i < items; ++i) {
    if (ir::folds_in(item[i], pass)) return true;
  }
  return false;
}

/// The body of a kernel with loops. The description must outlive it.
constexpr KernelBody body_of(const KernelSpec& kernel) {
  return {kernel.input,
          kernel.inputs,
          kernel.item,
          kernel.items,
          kernel.store,
          kernel.stores,
          kernel.kind == KernelKind::contraction};
}

// Custom kernels: whole tensors, first the inputs, then the results. A step has their extents one
// after the other.

constexpr DType tensor_dtype(const KernelSpec& kernel, int operand) {
  return operand < kernel.inputs ? kernel.input[operand].dtype
                                 : kernel.store[operand - kernel.inputs].dtype;
}
constexpr int tensor_rank(const KernelSpec& kernel, int operand) {
  return operand < kernel.inputs ? kernel.input[operand].rank
                                 : kernel.store[operand - kernel.inputs].rank;
}

// Steps.

/// The numbers of extents and words, and of operands that are read, of a step with this kernel.
struct StepNeeds {
  int extents;
  int words;
  int inputs;
};
constexpr StepNeeds needs_of(const KernelSpec& kernel) {
  StepNeeds needs{};
  if (kernel.kind == KernelKind::control) return needs;
  if (kernel.kind == KernelKind::custom) {
    needs.inputs = kernel.inputs;
    needs.words = kernel.op->words;
    for (int i = 0; i < kernel.inputs + kernel.stores; ++i) {
      needs.extents += tensor_rank(kernel, i);
    }
    return needs;
  }
  const KernelSpace space = space_of(kernel);
  const KernelBody body = body_of(kernel);
  needs.extents = space.rank + extents_between(kernel) +
                  body.strided_views() * StridedExtents::count(space.rank);
  needs.words = body.words_before(kernel.items) + (body.has_product ? kernel.op->words : 0);
  needs.inputs = body.first_result();
  return needs;
}

/// A kernel's properties that the engine needs.
struct KernelSummary {
  KernelKind kind;
  int outer;                ///< as in KernelSpec
  int strided_views;        ///< operands and results that lie in larger tensors
  bool random;              ///< draws random numbers
  bool prints;              ///< ops::Print
  int flops;                ///< per element of the step's space
  unsigned aligned;         ///< operands that are read at the element at hand alone, as bits
  unsigned element_stores;  ///< stores with a value per element, as bits
  bool updates;             ///< changes parts of its output in place: as many as it is given
  bool outside;             ///< has an effect on something else than variables
  bool may_wait;            ///< may wait for other steps or runs
};

constexpr KernelSummary summary_of(const KernelSpec& kernel) {
  KernelSummary s{kernel.kind, kernel.outer, 0, false, false, 0, 0, 0, false, false, false};
  if (kernel.kind == KernelKind::control) return s;
  if (kernel.kind == KernelKind::custom) {
    s.flops = kernel.op->flops;
    s.random = kernel.op->effect == SideEffect::random;
    s.prints = kernel.op->builtin == Builtin::print;
    s.updates = kernel.op->kind == Kind::update;
    s.outside = kernel.op->effect == SideEffect::writes && !writes_variable(kernel.op->kind);
    s.may_wait = kernel.op->may_wait;
    return s;
  }
  const KernelBody body = body_of(kernel);
  const unsigned whole = space_of(kernel).whole();
  s.strided_views = body.strided_views();
  int operand = 0;
  for (int i = 0; i < kernel.inputs; ++i) {
    const InputSpec& input = kernel.input[i];
    if (input.is_index) continue;
    if (!body.is_factor(i) && !input.is_strided && input.axes == whole) s.aligned |= 1u << operand;
    ++operand;
  }
  for (int i = 0; i < kernel.items; ++i) {
    if (!kernel.item[i].is_row) s.flops += kernel.item[i].op->flops;
    if (kernel.item[i].op->effect == SideEffect::random) s.random = true;
  }
  for (int i = 0; i < kernel.stores; ++i) {
    const StoreSpec& store = kernel.store[i];
    if (!store.is_row && !store.is_strided) s.element_stores |= 1u << (i & 31);
  }
  return s;
}

/// The number of extents that belong to the loops of a kernel, which must have some.
constexpr int loop_extents(const KernelSummary& kernel) {
  return space_of(kernel.kind, kernel.outer, false).extents();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
