// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a C++ type becomes an operation.
//
// An operation type derives from one of the bases below. It has a `name`, and these members, as its
// kind needs them:
//
//   data members                      the node's attributes: 4- or 8-byte numbers, no padding
//   V operator()(V x...) const        elementwise: the kernel body; V is a SIMD batch or a number,
//                                     and it calls math::exp(x) and the like
//                                     (ops/elementwise/functions.hpp); reduction: one step of the
//                                     fold
//   scalar_body                       true: operator() takes numbers only, kernels loop over lanes
//   static infer(op, Type x...)       the result's type; elementwise operations have none
//   static gradient(op, x..., y, dy)  an AnyExpr, or a std::array with one for each input
//   outputs                           the number of results, if not one: infer then returns a
//                                     std::array of types, gradient takes std::arrays for y and dy,
//                                     in which a dy may not exist
//   host_only                         true: it can't be pinned to a device that is no CPU
//   may_wait                          true: its kernel calls wait_for (resources/waiting.hpp)
//   variadic                          true: any number of inputs, not at most max_arity;
//                                     infer(op, span<const Type>),
//                                     gradient(op, span<const AnyExpr> x, y, dy, AnyExpr* dx)
//   static simplify(op, x..., y)      a tensor that equals y bit for bit; y itself if none is
//                                     known. If variadic: simplify(op, span<const AnyExpr> x, y)
//   static layout(op, Dims x, Dims y, Layout&)
//                                     custom, of one input: where y's elements lie in x, if all of
//                                     them do; false if no Layout expresses it. Kernels that read y
//                                     then may read x
//   static input_layout(op, const ir::Graph&, const ir::Node&, int input, Layout&)
//                                     custom, of one result: where an input's elements lie in it;
//                                     false if they do not, or if no Layout expresses it. The
//                                     kernel that computes the input may then write it there: this
//                                     kernel gets the result's memory as the input's, and leaves it
//                                     alone
//   static expand(op, x...)           composite: the same result from other operations
//   static interpret(InterpretCall&)  plain loops; elementwise operations need none
//   static explain(op, const Failure&, span<const Dims>)
//                                     the Error for a mistake that the kernel found in the data,
//                                     from the extents of inputs and outputs in the run
//
// All of them take the same number of inputs, which well_formed.hpp checks: at most max_arity, or
// none if the operation is custom (apply(g, op)). record.hpp makes the
// Op, and apply(op, x...) adds a node. See docs/design.md, Operations.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/core/failure.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Which element types an elementwise operation takes.
enum class Domain : std::uint8_t {
  any,       ///< all but strings, unless the operation takes_strings
  numbers,   ///< all but booleans
  real,      ///< integers and floating: types with an order
  inexact,   ///< floating and complex
  floating,  ///< real floating-point types
  complex,
  integers,
  booleans
};

constexpr bool contains(Domain domain, DType type) {
  switch (domain) {
    case Domain::any:
      return true;
    case Domain::numbers:
      return is_number(type);
    case Domain::real:
      return is_integer(type) || is_floating(type);
    case Domain::inexact:
      return is_floating(type) || is_complex(type);
    case Domain::floating:
      return is_floating(type);
    case Domain::complex:
      return is_complex(type);
    case Domain::integers:
      return is_integer(type);
    case Domain::booleans:
      return type == DType::boolean;
  }
  return false;
}

// Bases. An operation may redeclare what they declare.

struct operation_base {
  static constexpr Builtin builtin = Builtin::other;
  static constexpr SideEffect effect = SideEffect::pure;
  static constexpr int flops = 1;
  static constexpr int outputs = 1;
  static constexpr bool variadic = false;
  static constexpr bool scalar_body = false;
  /// operator() is a constant expression for numbers (so constants can be folded).
  static constexpr bool foldable = false;
  /// The gradient rule holds for complex numbers, too; otherwise a gradient through complex inputs
  /// or results is an error. For a complex z the gradient of a real y is dy/dRe(z) + i dy/dIm(z),
  /// as in TensorFlow, so rules multiply by conjugates: conjugate_of(x).
  static constexpr bool complex_gradient = false;
  /// Elements may be strings: it moves or compares them (or has a kernel for them).
  static constexpr bool takes_strings = false;
  /// Its kernel needs the host: it prints, calls the user's functions, reads files... All
  /// operations on strings do, and need not say so.
  static constexpr bool host_only = false;
  /// Its kernel may wait until another step or run changes a resource (resources/waiting.hpp).
  static constexpr bool may_wait = false;
  /// Op::row_offsets, if the result is rows of input 0. (A pointer and no rule by name, so that it
  /// costs other operations no instantiation.)
  static constexpr bool gathers = false;
  static constexpr Id (*row_offsets)(ir::Graph&, const ir::Node&, DType) = nullptr;
  // Missing rules.
  static constexpr std::nullptr_t infer = nullptr;
  static constexpr std::nullptr_t gradient = nullptr;
  static constexpr std::nullptr_t simplify = nullptr;
  static constexpr std::nullptr_t layout = nullptr;
  static constexpr std::nullptr_t input_layout = nullptr;
  static constexpr std::nullptr_t expand = nullptr;
};

/// One scalar function of inputs that broadcast. The result has the last input's element type
/// unless `result` says otherwise.
struct elementwise : operation_base {
  static constexpr Kind kind = Kind::elementwise;
  static constexpr Domain domain = Domain::real;
  /// Input 0 is a boolean, whatever the other inputs' element type is, as in where.
  static constexpr bool condition_first = false;
  /// result(op, element), if the element type depends on attributes, as in cast.
  static constexpr DType result(DType element) { return element; }
  /// The result's type does not follow from the inputs' types: broadcasts, random numbers.
  static constexpr bool own_type = false;
};

/// Elementwise with a boolean result.
struct comparison : elementwise {
  static constexpr bool foldable = true;
  static constexpr DType result(DType) { return DType::boolean; }
};

/// Expands into other operations before fusion.
struct composite : operation_base {
  static constexpr Kind kind = Kind::composite;
};

/// Has a kernel of its own: a specialisation of cpu_kernels::kernel_of.
struct custom : operation_base {
  static constexpr Kind kind = Kind::custom;
};

/// Changes parts of a variable in place. Inputs: the variable, then the data of the change. Output:
/// a token. (An operation on a resource may have results instead: resources/resource.hpp.) It has a
/// kernel of its own, a specialisation of cpu_kernels::kernel_of. The kernel's inputs are those
/// after the variable; its output is the variable, as it is at this point of the model's
/// statements. The same holds for `interpret`.
struct update : operation_base {
  static constexpr Kind kind = Kind::update;
  static constexpr SideEffect effect = SideEffect::writes;
};

// Attributes.

template <class O>
inline constexpr int word_count = std::is_empty_v<O> ? 0 : static_cast<int>(sizeof(O) / 4);

template <class O>
using Words = std::array<std::uint32_t, static_cast<std::size_t>(word_count<O>)>;

/// The operation's data members, in the form that a node keeps.
template <class O>
constexpr Words<O> encode(const O& op) {
  if constexpr (std::is_empty_v<O>) {
    return {};
  } else {
    static_assert(sizeof(O) % 4 == 0 && std::is_trivially_copyable_v<O>,
                  "an operation's data members must be numbers of 4 or 8 bytes without padding");
    return std::bit_cast<Words<O>>(op);
  }
}
template <class O>
constexpr O decode(const std::uint32_t* words) {
  if constexpr (std::is_empty_v<O>) {
    return O{};
  } else {
    // No std::array, each access to which is two evaluated calls.
    struct Copy {
      std::uint32_t words[static_cast<std::size_t>(word_count<O>)];
    } copy{};
    for (int i = 0; i < word_count<O>; ++i) copy.words[i] = words[i];
    return std::bit_cast<O>(copy);
  }
}
template <class O>
constexpr O decode(const ir::Graph& graph, const ir::Node& node) {
  return decode<O>(graph.words_of(node));
}

// Numbers.

template <Element T>
constexpr T to(const Number& number) {
  if constexpr (detail::is_complex_number<T>) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(number.real), static_cast<Part>(number.imaginary));
  } else if constexpr (detail::is_real_floating<T>) {
    return static_cast<T>(number.real);
  } else if constexpr (std::is_same_v<T, bool>) {
    return number.integer != 0;
  } else {
    return static_cast<T>(number.integer);
  }
}
template <Element T>
constexpr Number number_from(T value) {
  if constexpr (detail::is_complex_number<T>) {
    return {static_cast<double>(value.real()), 0, static_cast<double>(value.imag())};
  } else if constexpr (detail::is_real_floating<T>) {
    return {static_cast<double>(value), 0};
  } else {
    return {0, static_cast<std::int64_t>(value)};
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
