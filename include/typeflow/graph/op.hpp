// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations: what a node does.
//
// An operation is a C++ type (ops::MatMul, acme::Swish) whose data members are the node's
// attributes. The graph refers to it by an Op, the record that make_op derives from the type:
// its name, its kind and its rules as function pointers. The set is open: any header can add a
// type, and nothing registers at run time.
//
// The way back, from a record to its type, is what turns a kernel described by data into a
// kernel that is a type. It goes through a friend function that record<O> defines (see op_type):
// by the object itself, never by a hash of its name, so two operations of one name in two
// translation units can't be taken for one another.

#include <bit>
#include <cstdint>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

struct Layout;
struct Type;
struct InterpretCall;
struct ContractionRules;

namespace ir {
class Graph;
struct Node;
}  // namespace ir

/// Index of a node, a value, a scope... in its pool; -1 for none.
using Id = std::int32_t;
inline constexpr Id none = -1;

/// What passes and lowering have to know of an operation.
enum class Kind : std::uint8_t {
  source,       ///< placeholder, variable, constant, index: no tensor inputs
  elementwise,  ///< one scalar function, inputs broadcast
  reduction,    ///< a fold over axes
  view,         ///< same elements, other shape: reshape
  contraction,  ///< sums of products: a matrix product, a convolution
  composite,    ///< expands into other operations before fusion: softmax
  custom,       ///< a kernel of its own
  write,        ///< changes a variable: a store of a loop
  update,       ///< changes parts of a variable in place, by a kernel of its own
  group,        ///< joins effects, computes nothing
  control,      ///< runs regions: a branch, a loop; its output is a token
  result,       ///< one of the tensors that a node of kind `control` gives
  primitive,    ///< Switch, Merge and their like: regions take their place before all passes
};

/// What passes, lowering and printing treat in ways of its own. What an operation is the same as is
/// no matter of theirs: it has a rule (Op::simplify).
enum class Builtin : std::uint8_t {
  other,
  constant,      ///< a number: folded, and a scalar operand of kernels
  variable,      ///< memory of a store
  placeholder,   ///< memory of a run
  index_along,   ///< no memory: kernels make it up
  broadcast_to,  ///< elementwise operations do it by themselves
  transpose,     ///< printed with its permutation
  after,         ///< fused with nothing
  print,         ///< its steps tell the session
  block_input,   ///< what a region is given: a parameter, or in its own graph a captured value
};

enum class SideEffect : std::uint8_t {
  pure,
  random,
  reads,        ///< something from outside: what a run feeds
  reads_state,  ///< a variable as it is when the node runs
  writes,
};

/// Whether operations of this kind change the variable that is their first input.
constexpr bool writes_variable(Kind kind) { return kind == Kind::write || kind == Kind::update; }

/// How gradients treat an operation.
enum class Derivative : std::uint8_t {
  rule,    ///< the operation's gradient rule
  zero,    ///< allowed on the way, nothing flows back (comparisons, argmax, stop_gradient)
  missing  ///< a gradient through it is an error
};

/// One number of any element type: `real` for floating-point types, `real` and `imaginary` for
/// complex ones, `integer` for the others (the bits of an uint64).
struct Number {
  double real = 0;
  std::int64_t integer = 0;
  double imaginary = 0;
};

/// A number of this type from the two words in which attributes keep it: the bits of a double (of
/// a complex number without imaginary part, too), or of a 64-bit integer.
constexpr Number number_of(DType type, std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = std::uint64_t{high} << 32 | low;
  return is_floating(type) || is_complex(type) ? Number{std::bit_cast<double>(bits), 0}
                                               : Number{0, static_cast<std::int64_t>(bits)};
}

/// What random operations draw from: a session's seed and the number of the draw.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;
};

/// The most results that an operation can have.
inline constexpr int max_outputs = 4;
/// The most inputs of one that is not variadic.
inline constexpr int max_arity = 8;

}  // namespace typeflow::inline TYPEFLOW_TARGET

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// One element of an elementwise operation, as the interpreter and constant folding ask for it.
struct EvaluateCall {
  const Graph& graph;
  const Node& node;
  const Number* inputs;
  std::int64_t index = 0;  ///< of the element, in row-major order
  RandomState random{};
};

struct Op {
  std::uint64_t id;       ///< hash of the name; two types with one id in a graph are an error
  unsigned key;           ///< some bits of it
  std::string_view name;  ///< "MatMul", "acme/Swish"
  std::string_view type;  ///< the C++ type's name as the compiler prints it
  Kind kind;
  Builtin builtin;
  SideEffect effect;
  Derivative derivative;
  bool inferable;  ///< `infer` gives the output types
  bool foldable;   ///< `evaluate` is a constant expression for constant inputs
  /// `simplify` is there. (The sanitizer of undefined behaviour lets g++ 12 compare no pointer to a
  /// function with null in constant evaluation.)
  bool simplifies;
  bool moves;          ///< `layout` is there
  bool holds_inputs;   ///< `input_layout` is there
  bool takes_strings;  ///< inputs may be strings
  int flops;           ///< floating-point operations per output element, for the cost model
  int words;           ///< of the operation's data members

  /// Output types (at most max_outputs) from input types; false if the inputs do not fit.
  bool (*infer)(const Graph&, const Node&, Type* out);
  /// `dx[i]` := gradient for input i, given `dy[o]` for output o (either may be none).
  void (*gradient)(Graph&, Id node, const Id* dy, Id* dx);
  /// The value that stands for the node's result: itself, another of the graph, or that of nodes
  /// that it adds. Null for an operation without such a rule.
  Id (*simplify)(Graph&, const Node&);
  /// Where the result's elements are in input 0; false if no Layout says it. Null for an operation
  /// without such a rule.
  bool (*layout)(const Graph&, const Node&, Layout&);
  /// Where the elements of an input are in the result; false if they are not there, or no Layout
  /// says it. Null for an operation without such a rule.
  bool (*input_layout)(const Graph&, const Node&, int input, Layout&);
  /// Composite operations: the same result from other operations.
  Id (*expand)(Graph&, const std::uint32_t* words, const Id* inputs);
  /// Elementwise operations: one element.
  Number (*evaluate)(const EvaluateCall&);
  /// All others: plain loops over whole tensors; may be null for composite ones.
  void (*interpret)(InterpretCall&);
  /// Contractions: what passes and kernels have to know of them (ops/contraction.hpp).
  const ContractionRules* contraction;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
