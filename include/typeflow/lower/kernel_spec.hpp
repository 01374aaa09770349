// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of kernels as values.
//
// A description has ranks, operations and element types, never constants or names, and of extents
// only whether rows are short. So equal layers of a deep net have equal descriptions, and share one
// kernel. lower/kernel_meaning.hpp says what a description means.

#include <cstdint>

#include "typeflow/core/device.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

enum class KernelKind : std::uint8_t {
  loop,         ///< elementwise, and folds over the innermost axis
  columns,      ///< folds over an axis that has others inside of it
  contraction,  ///< sums of products and what follows on their tile
  custom,       ///< an operation's own kernel; an update's changes its output in place
  control       ///< none: the engine runs blocks
};

/// The extent of a kernel's innermost axis, as far as the kernel's type knows it. It matters if
/// there are axes outside of that one.
enum class InnerExtent : std::uint8_t {
  large,  ///< more than small_extent, or of no interest
  small,  ///< at most small_extent
  any     ///< a symbol, whose value a run decides
};
/// Rows of at most so many elements are shorter than a few vectors. Kernels compute several of them
/// together, and folds take their elements in order.
inline constexpr std::int64_t small_extent = 32;

/// An operand that a kernel loads, or the position along an axis.
struct InputSpec {
  DType dtype;
  bool is_index;      ///< the position along its axis; it has no memory
  bool is_strided;    ///< lies in a larger tensor; the step's extents say where
  std::uint8_t rank;  ///< custom: of the tensor
  unsigned axes;      ///< others: the axes of the kernel along which it runs, as bits
  /// Its rows are gathered: the input that says where each begins, counted from 1. 0: they are not.
  std::uint8_t offsets;
};

/// One operation of a kernel's body.
struct ItemSpec {
  static constexpr int max_arguments = max_arity;
  const Op* op;
  bool is_fold;
  bool is_row;  ///< a value per row, not per element
  DType dtype;
  int phase;
  int words;                     ///< how many numbers of the step are its attributes
  int count;                     ///< of arguments
  int arguments[max_arguments];  ///< numbers of values, as KernelBody counts them
};

/// A value that a kernel writes to memory.
struct StoreSpec {
  int value;  ///< its number; not in custom kernels
  bool is_row;
  bool is_strided;  ///< lies in a larger tensor; the step's extents say where
  DType dtype;
  std::uint8_t rank;  ///< custom: of the tensor
};

struct KernelSpec {
  static constexpr int max_inputs = 32;
  static constexpr int max_items = 48;
  static constexpr int max_stores = 48;

  KernelKind kind;
  DeviceKind device;
  bool wide;   ///< lanes of 8 bytes, not of 4
  int outer;   ///< axes outside of the reduced or innermost one, or of the matrices
  bool folds;  ///< loop: the innermost axis is reduced
  InnerExtent inner;
  unsigned variant;  ///< contraction: as in Contraction
  DType dtype;       ///< contraction: of the sums
  const Op* op;      ///< custom, contraction
  int inputs;
  int items;
  int stores;
  InputSpec input[max_inputs];
  ItemSpec item[max_items];
  StoreSpec store[max_stores];

  /// A description of nothing yet. What lies behind the counts of a description has no meaning.
  constexpr void begin(KernelKind of, DeviceKind on) {
    kind = of;
    device = on;
    wide = false;
    outer = 0;
    folds = false;
    inner = InnerExtent::large;
    variant = 0;
    dtype = {};
    op = nullptr;
    inputs = 0;
    items = 0;
    stores = 0;
  }
};

/// Whether the kernel is of one operation, with loops of its own.
constexpr bool has_operation(KernelKind kind) {
  return kind == KernelKind::custom || kind == KernelKind::contraction;
}

// Lowering compares each step's description with those it knows, in constant evaluation. So these
// loops are plain. Operations are compared by their ids, as passes do.

/// Whether two descriptions are of one kernel.
constexpr bool operator==(const KernelSpec& a, const KernelSpec& b) {
  if (a.kind != b.kind || a.device != b.device || a.wide != b.wide || a.outer != b.outer ||
      a.folds != b.folds || a.inner != b.inner || a.variant != b.variant || a.dtype != b.dtype ||
      a.inputs != b.inputs || a.items != b.items || a.stores != b.stores) {
    return false;
  }
  if (has_operation(a.kind) && a.op->id != b.op->id) return false;
  for (int i = 0; i < a.inputs; ++i) {
    const InputSpec& x = a.input[i];
    const InputSpec& y = b.input[i];
    if (x.axes != y.axes || x.dtype != y.dtype || x.is_index != y.is_index ||
        x.is_strided != y.is_strided || x.rank != y.rank || x.offsets != y.offsets) {
      return false;
    }
  }
  for (int i = 0; i < a.items; ++i) {
    const ItemSpec& x = a.item[i];
    const ItemSpec& y = b.item[i];
    if (x.op->id != y.op->id || x.is_fold != y.is_fold || x.is_row != y.is_row ||
        x.dtype != y.dtype || x.phase != y.phase || x.count != y.count) {
      return false;
    }
    for (int k = 0; k < x.count; ++k) {
      if (x.arguments[k] != y.arguments[k]) return false;
    }
  }
  for (int i = 0; i < a.stores; ++i) {
    const StoreSpec& x = a.store[i];
    const StoreSpec& y = b.store[i];
    if (x.value != y.value || x.dtype != y.dtype || x.is_row != y.is_row ||
        x.is_strided != y.is_strided || x.rank != y.rank) {
      return false;
    }
  }
  return true;
}

/// A small number that equal descriptions share. (g++ keeps a table of all integers that ever occur
/// in constant evaluation.)
constexpr unsigned key_of(const KernelSpec& spec) {
  unsigned key = static_cast<unsigned>(spec.inputs << 5 | spec.items << 10 | spec.stores);
  if (has_operation(spec.kind)) key += spec.op->key;
  for (int i = 0; i < spec.items; ++i) key = (key * 31u + spec.item[i].op->key) & 0xffffu;
  return key;
}

/// The description without what lies behind its counts.
constexpr KernelSpec trimmed(const KernelSpec& spec) {
  KernelSpec out{};
  out.begin(spec.kind, spec.device);
  out.wide = spec.wide;
  out.outer = spec.outer;
  out.folds = spec.folds;
  out.inner = spec.inner;
  out.variant = spec.variant;
  out.dtype = spec.dtype;
  out.op = spec.op;
  out.inputs = spec.inputs;
  out.items = spec.items;
  out.stores = spec.stores;
  for (int i = 0; i < spec.inputs; ++i) out.input[i] = spec.input[i];
  for (int i = 0; i < spec.items; ++i) out.item[i] = spec.item[i];
  for (int i = 0; i < spec.stores; ++i) out.store[i] = spec.store[i];
  return out;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
