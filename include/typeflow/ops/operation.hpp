// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a C++ type becomes an operation.
//
// An operation type derives from one of the bases below, has a `name`, and what of these its
// kind needs:
//
//   data members                      the node's attributes: 4- or 8-byte numbers, no padding
//   V operator()(V x...) const        elementwise: the kernel body, V a SIMD batch or a number;
//                                     reduction: one step of the fold
//   scalar_body                       true: operator() takes numbers only, kernels loop over lanes
//   static infer(op, Type x...)       the result's type; the base has it for elementwise
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
//   static expand(op, x...)           composite: the same result from other operations
//   static interpret(InterpretCall&)  plain loops; the base has it for elementwise
//
// record<O> is the operation's Op; apply(op, x...) adds a node. See docs/design.md, Operations.

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "typeflow/front/expr.hpp"
#include "typeflow/graph/graph.hpp"
#include "typeflow/graph/op.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// Which element types an elementwise operation takes.
enum class Domain : std::uint8_t {
  any,
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
  static constexpr std::nullptr_t simplify = nullptr;
};

/// One scalar function of inputs that broadcast. The result has the first input's element type
/// unless `result` says otherwise.
struct elementwise : operation_base {
  static constexpr Kind kind = Kind::elementwise;
  static constexpr Domain domain = Domain::real;
  /// operator() is a constant expression for numbers (so constants can be folded).
  static constexpr bool foldable = false;
  /// Input 0 is a boolean, whatever the element type of the others: where.
  static constexpr bool condition_first = false;
  static constexpr DType result(DType element) { return element; }
  /// The result's element type is the data member `to` instead: cast.
  static constexpr bool casts = false;
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
constexpr O decode(const Graph& graph, const Node& node) {
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

namespace detail {

template <class>
inline constexpr bool always_false = false;

template <class O>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

template <std::size_t>
using AlwaysAny = AnyExpr;
template <std::size_t>
using AlwaysType = Type;

/// The results, or their gradients, as O::gradient takes them.
template <int Count>
struct ResultsOf {
  using type = std::array<AnyExpr, static_cast<std::size_t>(Count)>;
};
template <>
struct ResultsOf<1> {
  using type = AnyExpr;
};

/// An operation with any number of inputs.
template <class O>
concept Variadic = requires { requires O::variadic; };
template <class O>
concept VariadicGradient = Variadic<O> && requires(O op, std::span<const AnyExpr> x, AnyExpr e,
                                                   AnyExpr* dx) { O::gradient(op, x, e, e, dx); };

/// The number of inputs that O::gradient(op, x..., y, dy) takes, with y and dy of type R; -1 if it
/// has no gradient.
template <class O, class R, std::size_t N = 1>
constexpr int gradient_arity_of() {
  constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires(O op, R y) { O::gradient(op, AlwaysAny<I>{}..., y, y); };
  }(std::make_index_sequence<N>{});
  if constexpr (fits) {
    return static_cast<int>(N);
  } else if constexpr (N < max_arity) {
    return gradient_arity_of<O, R, N + 1>();
  } else {
    return -1;
  }
}

template <class O>
constexpr int gradient_arity() {
  return gradient_arity_of<O, typename ResultsOf<O::outputs>::type>();
}

/// The number of inputs that O::infer(op, x...) takes; -1 if it is no function of their types.
template <class O, std::size_t N = 1>
constexpr int infer_arity() {
  constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires(O op) { O::infer(op, AlwaysType<I>{}...); };
  }(std::make_index_sequence<N>{});
  if constexpr (fits) {
    return static_cast<int>(N);
  } else if constexpr (N < max_arity) {
    return infer_arity<O, N + 1>();
  } else {
    return -1;
  }
}

/// The number of inputs that O::expand(op, x...) takes; -1 if there is none.
template <class O, std::size_t N = 1>
constexpr int expand_arity() {
  constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires(O op) { O::expand(op, AlwaysAny<I>{}...); };
  }(std::make_index_sequence<N>{});
  if constexpr (fits) {
    return static_cast<int>(N);
  } else if constexpr (N < max_arity) {
    return expand_arity<O, N + 1>();
  } else {
    return -1;
  }
}

/// Whether op(x...) takes N numbers of type V, the first a truth value if the operation says so.
template <class O, class V, std::size_t N>
inline constexpr bool takes_numbers = []<std::size_t... I>(std::index_sequence<I...>) {
  return requires(const O& op) {
    op(std::conditional_t < O::condition_first && I == 0, bool, V > {}...);
  };
}(std::make_index_sequence<N>{});
/// An element type that an elementwise operation takes.
template <class O>
using SampleOf =
    std::conditional_t<contains(O::domain, DType::float32), float,
                       std::conditional_t<contains(O::domain, DType::int64), std::int64_t,
                                          std::conditional_t<contains(O::domain, DType::boolean),
                                                             bool, std::complex<float>>>>;

/// An operation with a rule for what its result is the same as.
template <class O>
concept Simplifies =
    !requires { requires std::is_same_v<decltype(O::simplify), const std::nullptr_t>; };
/// The number of inputs that O::simplify(op, x..., y) takes.
template <class O, std::size_t N = 1>
constexpr std::size_t simplify_arity() {
  constexpr bool fits = []<std::size_t... I>(std::index_sequence<I...>) {
    return requires(O op, AnyExpr y) { O::simplify(op, AlwaysAny<I>{}..., y); };
  }(std::make_index_sequence<N>{});
  if constexpr (fits || N == max_arity) {
    return N;
  } else {
    return simplify_arity<O, N + 1>();
  }
}

template <class O>
constexpr Derivative derivative_of() {
  if constexpr (requires { O::derivative; }) {
    return O::derivative;
  } else {
    return VariadicGradient<O> || gradient_arity<O>() > 0 ? Derivative::rule : Derivative::missing;
  }
}

constexpr bool set_types(const Type& type, Type* out) {
  *out = type;
  return type.dims.valid();
}
template <std::size_t N>
constexpr bool set_types(const std::array<Type, N>& types, Type* out) {
  for (std::size_t i = 0; i < N; ++i) out[i] = types[i];
  return types[0].dims.valid();
}

template <class O>
constexpr bool infer_of(const Graph& graph, const Node& node, Type* out) {
  if constexpr (O::kind == Kind::elementwise) {
    if (node.inputs.count == 0 || node.inputs.count > max_arity) return false;
    const Id last = graph.input(node, node.inputs.count - 1);
    Dims dims = graph.dims_of(last);
    const DType element = graph.dtype_of(last);
    if (!contains(O::domain, element)) return false;
    for (int i = 0; i + 1 < node.inputs.count; ++i) {
      const Type& type = graph.type_of(graph.input(node, i));
      const DType expected = O::condition_first && i == 0 ? DType::boolean : element;
      if (type.dtype != expected) return false;
      if (!(type.dims == dims)) dims = broadcast(dims, type.dims);
    }
    if constexpr (O::casts) {
      *out = Type(static_cast<DType>(decode<O>(graph, node).to), dims);
    } else {
      *out = Type(O::result(element), dims);
    }
    return dims.valid();
  } else if constexpr (Variadic<O>) {
    Pool<Type> types;
    for (int i = 0; i < node.inputs.count; ++i) types.push(graph.type_of(graph.input(node, i)));
    const std::span<const Type> x(types.data(), static_cast<std::size_t>(types.size()));
    return set_types(O::infer(decode<O>(graph, node), x), out);
  } else if constexpr (infer_arity<O>() > 0) {
    if (node.inputs.count != infer_arity<O>()) return false;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return set_types(O::infer(decode<O>(graph, node),
                                graph.type_of(graph.input(node, static_cast<int>(I)))...),
                       out);
    }(std::make_index_sequence<static_cast<std::size_t>(infer_arity<O>())>{});
  } else {
    return false;
  }
}
template <class O>
constexpr bool infers() {
  if constexpr (O::kind == Kind::elementwise) {
    return !requires { O::nullary; };
  } else {
    return Variadic<O> || infer_arity<O>() > 0;
  }
}

template <class O>
constexpr void gradient_of(Graph& graph, Id node, const Id* dy, Id* dx) {
  const Node record = graph.nodes[node];
  if constexpr (VariadicGradient<O>) {
    std::vector<AnyExpr> x;
    for (int i = 0; i < record.inputs.count; ++i) {
      x.push_back(AnyExpr{&graph, graph.input(record, i)});
    }
    std::vector<AnyExpr> of_x(x.size(), AnyExpr{});
    O::gradient(decode<O>(graph, record), std::span<const AnyExpr>(x),
                AnyExpr{&graph, record.outputs.first}, AnyExpr{&graph, dy[0]}, of_x.data());
    for (std::size_t i = 0; i < x.size(); ++i) dx[i] = of_x[i].id;
  } else if constexpr (gradient_arity<O>() > 0) {
    constexpr std::size_t arity = static_cast<std::size_t>(gradient_arity<O>());
    typename ResultsOf<O::outputs>::type y{};
    typename ResultsOf<O::outputs>::type of_y{};
    if constexpr (O::outputs == 1) {
      y = AnyExpr{&graph, record.outputs.first};
      of_y = AnyExpr{&graph, dy[0]};
    } else {
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = AnyExpr{&graph, record.outputs.first + static_cast<Id>(i)};
        of_y[i] = AnyExpr{&graph, dy[i]};
      }
    }
    const auto result = [&]<std::size_t... I>(std::index_sequence<I...>) {
      // The operation as a temporary: clang 16 can't copy what bit_cast made of an empty base.
      return O::gradient(decode<O>(graph, record),
                         AnyExpr{&graph, graph.input(record, static_cast<int>(I))}..., y, of_y);
    }(std::make_index_sequence<arity>{});
    using Result = std::remove_cvref_t<decltype(result)>;
    if constexpr (std::is_same_v<Result, AnyExpr>) {
      static_assert(arity == 1,
                    "gradient(op, x..., y, dy) of an operation must give a std::array of as many "
                    "AnyExpr as there are inputs");
      dx[0] = result.id;
    } else {
      static_assert(std::is_same_v<Result, std::array<AnyExpr, arity>>,
                    "gradient(op, x..., y, dy) of an operation must give a std::array of as many "
                    "AnyExpr as there are inputs");
      for (std::size_t i = 0; i < arity; ++i) dx[i] = result[i].id;
    }
  }
}

template <class O>
constexpr Id expand_of(Graph& graph, const std::uint32_t* words, const Id* inputs) {
  if constexpr (O::kind != Kind::composite) {
    return none;
  } else if constexpr (constexpr int arity = expand_arity<O>(); arity > 0) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return O::expand(decode<O>(words), AnyExpr{&graph, inputs[I]}...).id;
    }(std::make_index_sequence<static_cast<std::size_t>(arity)>{});
  } else {
    return none;
  }
}

template <class O, std::size_t... I>
constexpr Id simplify_of(Graph& graph, const Node& node) {
  const AnyExpr y{&graph, node.outputs.first};
  if constexpr (O::variadic) {
    std::vector<AnyExpr> x;
    for (int i = 0; i < node.inputs.count; ++i) x.push_back(AnyExpr{&graph, graph.input(node, i)});
    return O::simplify(decode<O>(graph, node), std::span<const AnyExpr>(x), y).id;
  } else {
    const Id* const inputs = graph.operands.data() + node.inputs.first;
    return O::simplify(decode<O>(graph, node), AnyExpr{&graph, inputs[I]}..., y).id;
  }
}
/// O's rule for what its result is the same as; null if it has none.
template <class O>
constexpr auto simplify_rule() -> Id (*)(Graph&, const Node&) {
  if constexpr (!Simplifies<O>) {
    return nullptr;
  } else if constexpr (O::variadic) {
    return &simplify_of<O>;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return &simplify_of<O, I...>;
    }(std::make_index_sequence<simplify_arity<O>()>{});
  }
}

/// One element of an operation on elements that are computed in V.
template <class O, class V, std::size_t N = 1>
constexpr Number evaluate_as(const O& op, const Number* in) {
  if constexpr (!contains(O::domain, dtype_of<V>)) {
    return {};
  } else if constexpr (takes_numbers<O, V, N>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return number_from(
          op(to<std::conditional_t<O::condition_first && I == 0, bool, V>>(in[I])...));
    }(std::make_index_sequence<N>{});
  } else if constexpr (N < max_arity) {
    return evaluate_as<O, V, N + 1>(op, in);
  } else {
    static_assert(always_false<O>,
                  "operator() of an elementwise operation must take numbers of every element type "
                  "of its domain, from one to tf::max_arity = 8 of them");
    return {};
  }
}

/// The number as an element of this type holds it: integers wrap around, others are rounded.
constexpr Number fitted(const Number& x, DType type) {
  switch (type) {
    case DType::int8:
      return {0, static_cast<std::int8_t>(x.integer)};
    case DType::int16:
      return {0, static_cast<std::int16_t>(x.integer)};
    case DType::int32:
      return {0, static_cast<std::int32_t>(x.integer)};
    case DType::uint8:
      return {0, static_cast<std::uint8_t>(x.integer)};
    case DType::uint16:
      return {0, static_cast<std::uint16_t>(x.integer)};
    case DType::uint32:
      return {0, static_cast<std::uint32_t>(x.integer)};
    case DType::boolean:
      return {0, x.integer != 0};
    case DType::float32:
      return {static_cast<float>(x.real), 0};
    case DType::complex64:
      return {static_cast<float>(x.real), 0, static_cast<float>(x.imaginary)};
    case DType::bfloat16:
      return {static_cast<float>(bfloat16(x.real)), 0};
    case DType::float16:
      return {static_cast<float>(float16(x.real)), 0};
    default:
      return x;
  }
}

/// One element. All integers are computed in 64 bits and wrapped: that is what arithmetic of fewer
/// bits gives, for fewer instantiations.
template <class O>
constexpr Number evaluate_of(const EvaluateCall& call) {
  if constexpr (requires { O::evaluate(call); }) {
    return O::evaluate(call);
  } else if constexpr (O::kind == Kind::elementwise) {
    const O op = decode<O>(call.graph, call.node);
    const Graph& graph = call.graph;
    const DType element = graph.dtype_of(graph.input(call.node, call.node.inputs.count - 1));
    const auto in_type = [&]() -> Number {
      if (is_unsigned(element)) return evaluate_as<O, std::uint64_t>(op, call.inputs);
      if (is_integer(element)) return evaluate_as<O, std::int64_t>(op, call.inputs);
      switch (element) {
        case DType::boolean:
          return evaluate_as<O, bool>(op, call.inputs);
        case DType::float64:
          return evaluate_as<O, double>(op, call.inputs);
        case DType::complex64:
          return evaluate_as<O, std::complex<float>>(op, call.inputs);
        case DType::complex128:
          return evaluate_as<O, std::complex<double>>(op, call.inputs);
        default:  // float and 16 bits
          return evaluate_as<O, float>(op, call.inputs);
      }
    };
    return fitted(in_type(), graph.dtype_of(call.node.outputs.first));
  } else {
    return Number{};
  }
}

/// O's loops; null if it has none.
template <class O>
constexpr auto interpret_of() -> void (*)(InterpretCall&) {
  if constexpr (requires(InterpretCall& call) { O::interpret(call); }) {
    return [](InterpretCall& call) { O::interpret(call); };
  } else {
    return nullptr;
  }
}

/// Defined in ops/contraction.hpp.
template <class O>
struct ContractionRulesOf;
template <class O>
constexpr const ContractionRules* contraction_rules_of() {
  if constexpr (O::kind == Kind::contraction) {
    return &ContractionRulesOf<O>::rules;
  } else {
    return nullptr;
  }
}

template <class O>
constexpr bool is_foldable() {
  if constexpr (requires { O::foldable; }) {
    return O::foldable;
  } else {
    return false;
  }
}

}  // namespace detail

template <class O>
constexpr Op make_op() {
  static_assert(O::outputs >= 1 && O::outputs <= max_outputs,
                "an operation has from one to tf::max_outputs = 4 results");
  if constexpr (O::kind == Kind::composite) {
    constexpr int inputs = detail::expand_arity<O>();
    static_assert(inputs > 0,
                  "a composite operation must have expand(op, x...), of one to tf::max_arity = 8 "
                  "tensors");
    static_assert(inputs < 0 || inputs == detail::infer_arity<O>(),
                  "infer and expand of a composite operation must take as many inputs");
  }
  if constexpr (constexpr int inputs = detail::gradient_arity<O>(); inputs > 0) {
    if constexpr (O::kind != Kind::elementwise) {
      static_assert(detail::infer_arity<O>() < 0 || detail::infer_arity<O>() == inputs,
                    "infer and gradient of an operation must take as many inputs");
    } else if constexpr (!requires { &O::evaluate; }) {
      static_assert(detail::takes_numbers<O, detail::SampleOf<O>, inputs>,
                    "operator() and gradient of an elementwise operation must take as many inputs");
    }
  }
  return Op{hash(O::name),
            static_cast<unsigned>(hash(O::name) & 1023u),
            O::name,
            detail::type_name<O>(),
            O::kind,
            O::builtin,
            O::effect,
            detail::derivative_of<O>(),
            detail::infers<O>(),
            detail::is_foldable<O>(),
            O::flops,
            word_count<O>,
            &detail::infer_of<O>,
            &detail::gradient_of<O>,
            detail::simplify_rule<O>(),
            &detail::expand_of<O>,
            &detail::evaluate_of<O>,
            detail::interpret_of<O>(),
            detail::contraction_rules_of<O>()};
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
#ifdef __CUDACC__
#pragma nv_diag_suppress 1301
#endif

namespace detail {
template <const Op& R>
struct OpTag {
  friend constexpr auto type_of_op(OpTag<R>);
};
template <class O>
struct BindOp;
}  // namespace detail

/// The Op of an operation type.
template <class O>
inline constexpr Op record = make_op<O>();

namespace detail {
/// Instantiated with record<O>'s first use; defines the way back from the record to O.
template <class O>
struct BindOp {
  friend constexpr auto type_of_op(OpTag<record<O>>) { return std::type_identity<O>{}; }
};
}  // namespace detail

#ifdef __CUDACC__
#pragma nv_diag_default 1301
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// The type of an operation, from its record as a constant: op_type<*graph.nodes[3].op>.
template <const Op& R>
using op_type = typename decltype(type_of_op(detail::OpTag<R>{}))::type;

template <class O>
constexpr bool is(const Op& op) {
  return op.id == record<O>.id;
}

// What rules ask of a tensor.

/// Whether it is the result of an O.
template <class O>
constexpr bool made_by(const AnyExpr& x) {
  const Graph& graph = *x.graph;  // asked of every operand: as few calls as can be
  return graph.nodes.data()[graph.values.data()[x.id].node].op->id == record<O>.id;
}
/// The O that it is the result of, with its data members.
template <class O>
constexpr O operation_of(const AnyExpr& x) {
  return decode<O>(*x.graph, x.graph->node_of(x.id));
}
/// Input i of the operation that it is the result of.
constexpr AnyExpr input_of(const AnyExpr& x, int i) {
  return {x.graph, x.graph->input(x.graph->node_of(x.id), i)};
}
/// Whether two tensors have one element type and shape.
constexpr bool alike(const AnyExpr& x, const AnyExpr& y) {
  return x.graph->values[x.id].type == y.graph->values[y.id].type;
}

// Adding nodes.

/// Adds a node with one output of the type with this number (Graph::types).
template <class O>
constexpr AnyExpr add_node(Graph& graph, const O& op, const Id* inputs, int count, Id type) {
  (void)sizeof(detail::BindOp<O>);
  if constexpr (word_count<O> == 0) {
    return {&graph, graph.add_value(record<O>, inputs, count, type)};
  } else {
    const Words<O> words = encode(op);
    return {&graph, graph.add_value(record<O>, inputs, count, type, words.data(), word_count<O>)};
  }
}
template <class O>
constexpr AnyExpr add_node(Graph& graph, const O& op, const Id* inputs, int count,
                           const Type& type) {
  return add_node(graph, op, inputs, count, graph.intern(type));
}
/// Adds a node with several outputs, of these types.
template <class O, std::size_t N>
constexpr std::array<AnyExpr, N> add_node(Graph& graph, const O& op, const Id* inputs, int count,
                                          const std::array<Type, N>& types) {
  (void)sizeof(detail::BindOp<O>);
  const Words<O> words = encode(op);
  const Id node =
      graph.add_node(record<O>, inputs, count, static_cast<int>(N), words.data(), word_count<O>);
  std::array<AnyExpr, N> outputs{};
  for (std::size_t i = 0; i < N; ++i) {
    const Id type = graph.intern(types[i]);
    outputs[i] = {&graph, graph.values.push(Value{node, static_cast<Id>(i), type, none})};
  }
  return outputs;
}

}  // namespace typeflow::inline TYPEFLOW_TARGET
