// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operations: what a node does.
//
// An operation is a C++ type (ops::MatMul, acme::Swish) whose data members are the node's
// attributes. The graph refers to it by an Op. make_op derives this record from the type: its name,
// its kind, and its rules as function pointers. The set is open: any header can add a type, and
// nothing is registered at run time.
//
// A kernel that is described by data becomes a type through the way back, from a record to its
// type. record<O> defines a friend function for that (see op_type). It goes by the record's
// address, never by a hash of its name, so two operations of one name in two translation units are
// never mistaken for each other.

#include <bit>
#include <cstdint>
#include <string_view>

#include "typeflow/core/config.hpp"
#include "typeflow/core/dtype.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

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

/// The kinds of operations, for passes and lowering.
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
  primitive,    ///< Switch, Merge and the like: regions replace them before all passes
};

/// Operations that passes, lowering or printing treat in a special way. Whether a result equals
/// another tensor is not among these ways: that is a rule of the operation (Op::simplify).
enum class Builtin : std::uint8_t {
  other,
  constant,      ///< a number: folded, and a scalar operand of kernels
  variable,      ///< memory of a store
  placeholder,   ///< memory of a run
  index_along,   ///< no memory: kernels make it up
  broadcast_to,  ///< elementwise operations do it by themselves
  transpose,     ///< printed with its permutation
  after,         ///< fused with nothing
  print,         ///< the session prints its lines
  block_input,   ///< a region's parameter; in a region's own graph also a captured value
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
/// complex ones, `integer` for the others (for uint64, its bits).
struct Number {
  double real = 0;
  std::int64_t integer = 0;
  double imaginary = 0;
};

/// A number of this type from the two words that attributes keep: the bits of a double (also of a
/// complex number without imaginary part), or of a 64-bit integer.
constexpr Number number_of(DType type, std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = std::uint64_t{high} << 32 | low;
  return is_floating(type) || is_complex(type) ? Number{std::bit_cast<double>(bits), 0}
                                               : Number{0, static_cast<std::int64_t>(bits)};
}

/// The source of random numbers: a session's seed and the number of the draw.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;
};

/// The most results that an operation can have.
inline constexpr int max_outputs = 16;
/// The most inputs of an operation that is not variadic.
inline constexpr int max_arity = 8;

}  // namespace typeflow::inline TYPEFLOW_ISA

namespace typeflow::inline TYPEFLOW_ISA::ir {

/// One element of an elementwise operation, for the interpreter and constant folding.
struct EvaluateCall {
  const Graph& graph;
  const Node& node;
  const Number* inputs;
  std::int64_t index = 0;  ///< of the element, in row-major order
  RandomState random{};
};

// Rules in place of those that an operation lacks.
constexpr bool infer_nothing(const Graph&, const Node&, Type*) { return false; }
constexpr void give_no_gradient(Graph&, Id, const Id*, Id*) {}
constexpr Id expand_to_nothing(Graph&, const std::uint32_t*, const Id*) { return none; }
constexpr Number evaluate_to_zero(const EvaluateCall&) { return {}; }

struct Op {
  std::uint64_t id;       ///< hash of the name; two types with one id in a graph are an error
  unsigned key;           ///< some bits of it
  std::string_view name;  ///< "MatMul", "acme/Swish"
  std::string_view type;  ///< the C++ type's name as the compiler prints it
  Kind kind;
  Builtin builtin;
  SideEffect effect;
  Derivative derivative;
  bool complex_gradient;  ///< `gradient` holds for complex numbers
  bool inferable;         ///< `infer` gives the output types
  bool foldable;          ///< `evaluate` is a constant expression for constant inputs
  /// `simplify` exists. (A flag, because with its sanitizer of undefined behaviour g++ 12 cannot
  /// compare a pointer to a function with null in constant evaluation.)
  bool simplifies;
  bool moves;          ///< `layout` is there
  bool holds_inputs;   ///< `input_layout` is there
  bool gathers;        ///< `row_offsets` is there
  bool takes_strings;  ///< inputs may be strings
  bool host_only;      ///< its kernel needs the host: it can't be pinned to another kind of device
  bool may_wait;       ///< its kernel may wait for other steps or runs, without holding a thread
  int flops;           ///< floating-point operations per output element, for the cost model
  int words;           ///< of the operation's data members

  /// Output types (at most max_outputs) from input types; false if the inputs do not fit.
  bool (*infer)(const Graph&, const Node&, Type* out) = infer_nothing;
  /// `dx[i]` := gradient for input i, given `dy[o]` for output o (either may be none).
  void (*gradient)(Graph&, Id node, const Id* dy, Id* dx) = give_no_gradient;
  /// The value that equals the node's result: the result itself, another value of the graph, or a
  /// value of nodes that the rule adds. Null for an operation without such a rule.
  Id (*simplify)(Graph&, const Node&);
  /// Where the result's elements lie in input 0; false if no Layout expresses it. Null for an
  /// operation without such a rule.
  bool (*layout)(const Graph&, const Node&, Layout&);
  /// Where an input's elements lie in the result; false if they do not, or if no Layout expresses
  /// it. Null for an operation without such a rule.
  bool (*input_layout)(const Graph&, const Node&, int input, Layout&);
  /// For an operation whose result is rows of input 0, one for each element of input 1: a value of
  /// nodes that the rule adds, where each row begins in input 0, in elements of this type. None if
  /// the result is something else. Null for an operation without such a rule.
  Id (*row_offsets)(Graph&, const Node&, DType);
  /// Composite operations: the same result from other operations.
  Id (*expand)(Graph&, const std::uint32_t* words, const Id* inputs) = expand_to_nothing;
  /// Elementwise operations: one element.
  Number (*evaluate)(const EvaluateCall&) = evaluate_to_zero;
  /// Other operations: plain loops over whole tensors; may be null for composite ones.
  void (*interpret)(InterpretCall&);
  /// Contractions: their description for passes and kernels (ops/contraction.hpp).
  const ContractionRules* contraction;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
