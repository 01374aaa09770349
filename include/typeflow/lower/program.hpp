// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is left of a model when the compiler is done with it: plain tables.
//
// A program is a list of steps. A step calls one kernel with operands, which are slots (memory
// that holds a tensor), extents and a few numbers. Kernels are described by values (KernelSpec);
// equal ones are one, and only they become types and code (lower/kernel_types.hpp).

#include <cstdint>

#include "typeflow/core/extent.hpp"
#include "typeflow/graph/records.hpp"

namespace typeflow {

// Kernels.

enum class KernelKind : std::uint8_t {
  loop,         ///< elementwise, and folds over the innermost axis
  columns,      ///< folds over an axis that has others inside of it
  contraction,  ///< a matrix product and what follows on its tile
  custom        ///< an operation's own kernel
};

/// An operand that a kernel loads: along which of its axes it runs (bit i for axis i; the others
/// repeat), or the position along an axis itself.
struct InputSpec {
  DType dtype;
  bool is_index;
  unsigned axes;
};

/// One operation of a kernel's body. Its arguments are numbers of values: first come the inputs,
/// in a contraction then the product, then the items.
struct ItemSpec {
  static constexpr int max_arguments = 4;
  const Op* op;
  bool is_fold;
  bool is_row;  ///< a value per row, not per element
  DType dtype;
  int phase;
  int count;
  int arguments[max_arguments];
};

/// A value that a kernel writes to memory.
struct StoreSpec {
  int value;
  bool is_row;
  DType dtype;
};

struct KernelSpec {
  static constexpr int max_inputs = 32;
  static constexpr int max_items = 48;
  static constexpr int max_stores = 48;

  KernelKind kind;
  bool wide;            ///< lanes of 8 bytes, not of 4
  int outer;            ///< loop, columns: axes outside of the reduced or innermost one
  bool folds;           ///< loop: the innermost axis is reduced
  unsigned transposed;  ///< contraction: as in ops::MatMul
  DType dtype;          ///< contraction: of the operands
  const Op* op;         ///< custom
  int inputs;
  int items;
  int stores;
  InputSpec input[max_inputs];
  ItemSpec item[max_items];
  StoreSpec store[max_stores];
};

// Slots.

enum class SlotKind : std::uint8_t { temporary, placeholder, variable, constant };

/// Memory that holds a tensor.
struct Slot {
  SlotKind kind;
  Id type;   ///< in ProgramView::types
  Id index;  ///< of the placeholder, variable or constant
  Id step;   ///< that writes it; none for all but temporaries
};

/// A constant's place: `words` of a scalar are {low, high, power}, of an array {low, high} each.
struct ConstantRecord {
  Id slot;
  bool is_array;
  Range words;  ///< in ProgramView::words
};

/// A part of a shape as a number of elements: coefficient * batch^power.
struct StepExtent {
  std::int64_t coefficient;
  int power;
};

/// Which node a step computes, for messages.
struct StepLabel {
  const char* operation;
  int length;
  Id scope;
  Id name;  ///< in ProgramView::names, if the result has one
  SourceLine source;
};

struct Step {
  Id kernel;
  int inputs;      ///< operands that are read; the rest are written
  Range operands;  ///< in ProgramView::operands: slots
  Range extents;   ///< in ProgramView::extents
  Range words;     ///< in ProgramView::words: numbers for the body
  Range after;     ///< in ProgramView::operands: steps that must have run, besides producers
  Device device;
  StepLabel label;
};

/// A name that a run can use.
struct ProgramName {
  Name name;
  Id slot;      ///< of a tensor; none if no kernel keeps it
  Id type;      ///< of a tensor, as named
  Range steps;  ///< of an effect: in ProgramView::operands
};

struct ProgramVariable {
  Id name;  ///< in ProgramView::names
  Id type;
  Id slot;  ///< none if no step uses it
  Initializer initializer;
  bool trainable;
  bool state;
};

struct ProgramPlaceholder {
  Id name;
  Id slot;
  bool has_default;
  std::uint32_t low;
  std::uint32_t high;
};

/// A table, as a pointer and a length.
template <class T>
struct Table {
  const T* data;
  int size;

  constexpr const T& operator[](int i) const { return data[i]; }
  constexpr const T* begin() const { return data; }
  constexpr const T* end() const { return data + size; }
};

/// A program's tables.
struct ProgramView {
  Table<Type> types;
  Table<Slot> slots;
  Table<Step> steps;
  Table<Id> operands;
  Table<StepExtent> extents;
  Table<std::uint32_t> words;
  Table<ConstantRecord> constants;
  Table<ProgramName> names;
  Table<ScopeRecord> scopes;
  Table<ProgramVariable> variables;
  Table<ProgramPlaceholder> placeholders;
};

}  // namespace typeflow
