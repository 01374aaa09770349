// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a C++ type becomes an operation.
//
// An operation type derives from one of the bases below, has a `name`, and what of these its
// kind needs:
//
//   data members                      the node's attributes: 4- or 8-byte numbers, no padding
//   V operator()(V x...) const        elementwise: the kernel body, V a SIMD batch or a number;
//                                     that calls math::exp(x) and the like
//                                     (ops/elementwise/functions.hpp); reduction: one step of the
//                                     fold
//   scalar_body                       true: operator() takes numbers only, kernels loop over lanes
//   static infer(op, Type x...)       the result's type; elementwise operations have none
//   static gradient(op, x..., y, dy)  one AnyExpr, or a std::array of them, one an input
//   outputs                           how many results, if not one: infer then gives a std::array
//                                     of types, gradient takes std::arrays for y and dy, in which
//                                     a dy may not exist
//   variadic                          true: any number of inputs, not max_arity at most;
//                                     infer(op, span<const Type>),
//                                     gradient(op, span<const AnyExpr> x, y, dy, AnyExpr* dx)
//   static simplify(op, x..., y)      the tensor that y is the same as, bit for bit; y itself if
//   none
//                                     is known. If variadic: simplify(op, span<const AnyExpr> x, y)
//   static layout(op, Dims x, Dims y, Layout&)
//                                     custom, of one input: where the elements of y are in x, if
//                                     all of them are there; false if no Layout says it. Kernels
//                                     that read y then may read x
//   static input_layout(op, const ir::Graph&, const ir::Node&, int input, Layout&)
//                                     custom, of one result: where the elements of an input are in
//                                     it; false if they are not, or no Layout says it. Then who
//                                     computes that input may write it there: the kernel is given
//                                     the result's memory as the input's, and leaves what is there
//   static expand(op, x...)           composite: the same result from other operations
//   static interpret(InterpretCall&)  plain loops; elementwise operations need none
//   static explain(op, const Failure&, span<const Dims>)
//                                     the Error for what its kernel has found wrong with the data,
//                                     from the extents of inputs and outputs in the run
//
// All take as many inputs. well_formed.hpp checks that, record.hpp makes the Op of it, and
// apply(op, x...) adds a node. See docs/design.md, Operations.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "typeflow/core/failure.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Which element types an elementwise operation takes.
enum class Domain : std::uint8_t {
  any,       ///< all but strings, unless the operation takes_strings
  numbers,   ///< all but booleans
  real,      ///< integers and floating: what can be ordered
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

// Bases. What they declare, an operation may declare again.

struct operation_base {
  static constexpr Builtin builtin = Builtin::other;
  static constexpr SideEffect effect = SideEffect::pure;
  static constexpr int flops = 1;
  static constexpr int outputs = 1;
  static constexpr bool variadic = false;
  static constexpr bool scalar_body = false;
  /// operator() is a constant expression for numbers (so constants can be folded).
  static constexpr bool foldable = false;
  /// Elements may be strings: it moves or compares them (or has a kernel for them).
  static constexpr bool takes_strings = false;
  // Rules that it does not have.
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
  /// Input 0 is a boolean, whatever the element type of the others: where.
  static constexpr bool condition_first = false;
  /// result(op, element) if it depends on the attributes: cast.
  static constexpr DType result(DType element) { return element; }
  /// The result's type is no function of those of the inputs: broadcasts, random numbers.
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

/// Has a kernel of its own: a specialisation of simd::kernel_of.
struct custom : operation_base {
  static constexpr Kind kind = Kind::custom;
};

/// Changes a variable in place, and only parts of it. Inputs: the variable, then what to change it
/// with; output: a token. It has a kernel of its own: a specialisation of simd::kernel_of, whose
/// inputs are those after the variable and whose output is the variable as it is at this point of
/// the model's statements. The same holds for `interpret`.
struct update : operation_base {
  static constexpr Kind kind = Kind::update;
  static constexpr SideEffect effect = SideEffect::writes;
};

// Attributes.

template <class O>
inline constexpr int word_count = std::is_empty_v<O> ? 0 : static_cast<int>(sizeof(O) / 4);

template <class O>
using Words = std::array<std::uint32_t, static_cast<std::size_t>(word_count<O>)>;

/// The operation's data members as a node keeps them.
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
    Words<O> copy{};
    for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = words[i];
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

}  // namespace typeflow::inline TYPEFLOW_TARGET
