// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs: the plain tables that the compiler leaves of a model.
//
// A program is a list of steps. A step calls one kernel with operands, which are slots (memory that
// holds a tensor), extents and a few numbers. Kernels are described by values (KernelSpec). Equal
// kernels are merged, and only they become types and code (lower/kernel_types.hpp).

#include <cstdint>

#include "typeflow/core/extent.hpp"
#include "typeflow/core/pool.hpp"
#include "typeflow/core/text.hpp"
#include "typeflow/graph/names.hpp"
#include "typeflow/graph/records.hpp"
#include "typeflow/lower/kernel_meaning.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

// Ranges of tables.

/// `count` entries of a program's table from `first` on. T says what they are: the records of the
/// table, or in ProgramView::operands the records that its numbers are of.
template <class T>
struct RangeOf {
  Id first;
  Id count;

  constexpr operator Range() const { return {first, count}; }
};

struct Slot;
struct Step;
struct StepExtent;
struct Block;
struct NeedSet;  ///< a set of names in ProgramView::need_sets
using Word = std::uint32_t;

// Slots.

enum class SlotKind : std::uint8_t {
  temporary,
  placeholder,
  variable,
  constant,
  block_input  ///< an input of a block: the memory of another slot, or a slice of it
};

/// Memory that holds a tensor.
struct Slot {
  SlotKind kind;
  /// The device that has the memory. Any, for tensors from the host (placeholders, constants): they
  /// are with each device that reads them.
  Device device;
  Id type;   ///< in ProgramView::types
  Id index;  ///< of the placeholder, variable, constant or input
  Id step;   ///< the step that writes it; none unless a temporary
  /// The slot of a tensor in whose memory this one is computed, as a strided view of it
  /// (passes/parts.hpp); none for most.
  Id within;
};

/// A constant's place. Its `words` are {low, high, powers} for a scalar, and {low, high} for each
/// element of an array.
struct ConstantRecord {
  Id slot;
  bool is_array;
  RangeOf<Word> words;
};

/// A part of a shape as a number of elements; see Count. Those of strided views may be negative.
struct StepExtent {
  std::int64_t coefficient;
  int powers;

  constexpr std::int64_t resolve(const SymbolSizes& sizes) const {
    return coefficient < 0 ? -Count{-coefficient, powers}.resolve(sizes)
                           : Count{coefficient, powers}.resolve(sizes);
  }
};

/// The name of an operation. (The operation's record would bring its rules into the program.)
struct OperationName {
  const char* data;
  int size;

  constexpr std::string_view view() const { return {data, static_cast<std::size_t>(size)}; }
};

/// The node that a step computes, for messages.
struct StepLabel {
  OperationName operation;  ///< of the node
  OperationName called;     ///< the operation that the user called: the node's, or one around it
  Id scope;
  Id name;           ///< in ProgramView::names, if the result has one
  const char* file;  ///< where the user called it
  int line;
};

struct Step {
  Id kernel;
  int inputs;  ///< operands that are read; the rest are written
  RangeOf<Slot> operands;
  RangeOf<StepExtent> extents;
  RangeOf<Word> words;     ///< numbers for the body
  RangeOf<Step> after;     ///< steps that must have run, besides producers
  RangeOf<NeedSet> needs;  ///< who needs parts of it; none if all do
  Device device;
  StepLabel label;
};

// Blocks.

/// A straight list of steps. In a program with branches or loops, block 0 has the program's own
/// steps. The others belong to steps that run them.
struct Block {
  Id first;  ///< step
  int count;
  RangeOf<Slot> inputs;   ///< none for those that no step reads
  RangeOf<Slot> results;  ///< none for those that nobody wants
  RangeOf<Slot> parts;    ///< those that lie within results
  bool draws;             ///< has steps that draw random numbers, also in blocks that these run
};

enum class ControlKind : std::uint8_t {
  once,     ///< runs its block
  branch,   ///< runs the block that its first operand selects
  counted,  ///< runs its block a number of times
  given,    ///< runs its block as many times as an operand says
  tested    ///< runs its second block while its first one gives true
};

/// A step of KernelKind::control; the step's first word is the record's number.
///
/// A branch's operands are the predicate, then captures. A loop's operands are the initial states,
/// the stacked inputs, the trip count if it is `given`, then captures. The step writes all slots
/// below, and the plan has memory for them.
struct ControlRecord {
  ControlKind kind;
  bool reversed;
  int states;
  int stacked_inputs;
  StepExtent count;  ///< trip count; the most of a given or tested loop, or negative
  RangeOf<Block> blocks;
  RangeOf<Slot> results;         ///< none for unwanted ones; states first
  RangeOf<Slot> second_buffers;  ///< the second buffer of each state
  Id index;                      ///< slot of the iteration's number; none if no block reads it
  Id done;                       ///< slot of the trip count; none if it is unwanted
  int parallel;  ///< the most iterations of a loop that may overlap; 0: the plan chooses
};

/// A name that a run can use.
struct ProgramName {
  Name name;
  Id slot;              ///< of a tensor; none if no kernel keeps it
  Id type;              ///< of a tensor, as named
  RangeOf<Step> steps;  ///< of an effect
};

struct ProgramVariable {
  Id name;  ///< in ProgramView::names
  Id type;
  Id slot;  ///< none if no step uses it
  InitializerRecord initializer;
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

/// The tables of a program, listed once. Kept<Record, PerSixteenSteps> says how a table is kept.
/// The default is a Table. While a program grows it is a pool (ProgramPools). Constant evaluation
/// returns it with room for so many records for every 16 steps (lower/frozen.hpp).
///
/// A new table is a line here, and a name in with_tables below. Everything that copies, freezes and
/// views a program uses that.
template <template <class Record, int PerSixteenSteps> class Kept>
struct ProgramTables {
  Kept<Type, 2> types;
  Kept<Slot, 32> slots;
  Kept<Step, 16> steps;
  /// Lists of numbers of slots, steps, blocks and sets: a RangeOf says what its numbers are of.
  Kept<Id, 256> operands;
  Kept<StepExtent, 128> extents;
  Kept<Word, 256> words;
  Kept<ConstantRecord, 16> constants;
  Kept<ProgramName, 32> names;
  Kept<ScopeRecord, 16> scopes;
  Kept<ProgramVariable, 16> variables;
  Kept<ProgramPlaceholder, 2> placeholders;
  Kept<KernelSummary, 1> kernels;
  /// Sets of names, as bits: bit i stands for names[i]. Each has as many words as the names need.
  Kept<std::uint32_t, 64> need_sets;
  Kept<Block, 4> blocks;
  Kept<ControlRecord, 2> controls;
};

/// f(types, slots, ...): all tables of a program, in the order of ProgramTables.
template <class Program, class F>
constexpr auto with_tables(Program&& p, const F& f) {
  return f(p.types, p.slots, p.steps, p.operands, p.extents, p.words, p.constants, p.names,
           p.scopes, p.variables, p.placeholders, p.kernels, p.need_sets, p.blocks, p.controls);
}

template <class, int>
using KeptAsByte = char;
template <class Record, int>
using KeptAsPool = Pool<Record>;
template <class Record, int>
using KeptAsTable = Table<Record>;

inline constexpr int table_count =
    with_tables(ProgramTables<KeptAsByte>{},
                [](const auto&... table) { return static_cast<int>(sizeof...(table)); });
static_assert(sizeof(ProgramTables<KeptAsByte>) == table_count, "with_tables lacks a table");

/// A program while it grows, with data that only its compiler needs.
struct ProgramPools : ProgramTables<KeptAsPool> {
  Pool<KernelSpec> specs;  ///< by kernel
  Pool<Id> slot_of_value;  ///< by value of the traced graph; only in programs for debugging
  Pool<Id> block_inputs;   ///< of a region's program: slots, as in Block
  Pool<Id> block_results;
  int nodes = 0;  ///< of the graph as traced
  Message error{};
};

/// A program as the runtime sees it.
struct ProgramView : ProgramTables<KeptAsTable> {
  constexpr const Type& type_of(Id slot) const { return types[slots[slot].type]; }
};

/// The tables of these pools, which must outlive it.
constexpr ProgramView view_of(const ProgramPools& program) {
  return with_tables(
      program, [](const auto&... pool) { return ProgramView{{{pool.data(), pool.size()}...}}; });
}

/// The number of the program's own steps, without those of branches and loops.
constexpr int main_steps(const ProgramView& program) {
  return program.blocks.size > 0 ? program.blocks[0].count : program.steps.size;
}

/// The record of a step of KernelKind::control.
constexpr const ControlRecord& control_of(const ProgramView& program, const Step& step) {
  return program.controls[static_cast<int>(program.words[step.words.first])];
}

/// The number of a step's extents that belong to its loops; others may follow. Those of a custom
/// kernel are its operands'.
constexpr int loop_extents(const KernelSummary& kernel, const Step& step) {
  if (kernel.kind == KernelKind::control) return 0;
  return kernel.kind == KernelKind::custom ? step.extents.count : loop_extents(kernel);
}

// Names in messages.

constexpr void print_name(Message& out, const ProgramView& program, Id name) {
  print_name(out, program.scopes, program.names[name].name);
}
/// The name of a step or, if it has none, its scope and the operation that the user called.
TYPEFLOW_COLD constexpr void print_label(Message& out, const ProgramView& program,
                                         const StepLabel& label) {
  if (label.name != none) {
    print_name(out, program.scopes, operation_name(program.names[label.name].name));
  } else {
    print_scope(out, program.scopes, label.scope, false);
    out << label.called.view();
  }
}
/// The name with this path; none if the program has none.
constexpr Id find_name(const ProgramView& program, std::string_view path) {
  const std::uint64_t key = hash(path);
  for (Id i = 0; i < program.names.size; ++i) {
    if (program.names[i].name.hash == key) return i;
  }
  return none;
}
/// The placeholder that a name feeds; none if no step reads it.
constexpr Id placeholder_of(const ProgramView& program, Id name) {
  const Id slot = program.names[name].slot;
  const bool placeholder = slot != none && program.slots[slot].kind == SlotKind::placeholder;
  return placeholder ? program.slots[slot].index : none;
}
/// "fc2/MatMul (mlp.cpp:14)", "gradients/MatMul (mlp.cpp:14)": the operation that the user called.
TYPEFLOW_COLD constexpr void print_step(Message& out, const ProgramView& program,
                                        const Step& step) {
  print_label(out, program, step.label);
  out << " (" << file_name(step.label.file) << ':' << step.label.line << ')';
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
