// SPDX-License-Identifier: Apache-2.0
#pragma once

// Whether a C++ type is an operation. well_formed<O>() says in sentences what is missing or
// contradicts. It is called once, when the record is made (record.hpp). It relies only on what the
// bases declare; names of data members have no meaning.
//
// arity<O> is the number of inputs, found in one of the rules. All other rules, the kernel and the
// interpreter must take as many.

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "typeflow/core/error.hpp"
#include "typeflow/core/failure.hpp"
#include "typeflow/front/expr.hpp"
#include "typeflow/ops/operation.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class>
inline constexpr bool always_false = false;

/// The results, or their gradients, as O::gradient takes them.
template <int Count>
struct ResultsOf {
  using type = std::array<AnyExpr, static_cast<std::size_t>(Count)>;
};
template <>
struct ResultsOf<1> {
  using type = AnyExpr;
};

// Whether an operation has a rule, of any form.
template <class T>
concept NoRule = std::is_same_v<T, const std::nullptr_t>;
template <class O>
concept Infers = !requires { requires NoRule<decltype(O::infer)>; };
template <class O>
concept HasGradient = !requires { requires NoRule<decltype(O::gradient)>; };
template <class O>
concept Simplifies = !requires { requires NoRule<decltype(O::simplify)>; };
template <class O>
concept Moves = !requires { requires NoRule<decltype(O::layout)>; };
template <class O>
concept HoldsInputs = !requires { requires NoRule<decltype(O::input_layout)>; };
template <class O>
concept Expands = !requires { requires NoRule<decltype(O::expand)>; };
/// It computes its elements itself, from a whole call.
template <class O>
concept Evaluates = requires(const ir::EvaluateCall& call) { O::evaluate(call); };

/// The result's type does not follow from the inputs' types.
template <class O>
inline constexpr bool own_type = false;
template <class O>
  requires(O::kind == Kind::elementwise)
inline constexpr bool own_type<O> = O::own_type;

/// An element type that an elementwise operation takes.
template <class O>
using SampleOf =
    std::conditional_t<contains(O::domain, DType::float32), float,
                       std::conditional_t<contains(O::domain, DType::int64), std::int64_t,
                                          std::conditional_t<contains(O::domain, DType::boolean),
                                                             bool, std::complex<float>>>>;

template <std::size_t>
using AlwaysAny = AnyExpr;
template <std::size_t>
using AlwaysType = Type;
/// The type of input I of an elementwise operation on V.
template <class O, class V, std::size_t I>
using NumberOf = std::conditional_t<O::condition_first && I == 0, bool, V>;

/// Whether op(x...) takes N numbers of type V. (A function: nvcc does not find V in a variable.)
template <class O, class V, std::size_t... I>
constexpr bool takes_numbers(std::index_sequence<I...>) {
  return requires(const O& op) { op(NumberOf<O, V, I>{}...); };
}

/// Which rules of an operation take N inputs.
template <class O, class Inputs>
struct Takes;
template <class O, std::size_t... I>
struct Takes<O, std::index_sequence<I...>> {
  using Results = typename ResultsOf<O::outputs>::type;

  static constexpr bool types = requires(O op) { O::infer(op, AlwaysType<I>{}...); };
  static constexpr bool gradient =
      requires(O op, Results y) { O::gradient(op, AlwaysAny<I>{}..., y, y); };
  static constexpr bool simplify =
      requires(O op, AnyExpr y) { O::simplify(op, AlwaysAny<I>{}..., y); };
  static constexpr bool expand = requires(O op) { O::expand(op, AlwaysAny<I>{}...); };
};

/// Whether the rule that gives the number of inputs takes N.
template <class O, std::size_t N>
constexpr bool rule_takes() {
  using With = Takes<O, std::make_index_sequence<N>>;
  if constexpr (O::kind == Kind::elementwise) {
    return takes_numbers<O, SampleOf<O>>(std::make_index_sequence<N>{}) ||
           (Evaluates<O> && With::gradient);
  } else if constexpr (Infers<O>) {
    return With::types;
  } else if constexpr (Expands<O>) {
    return With::expand;
  } else {
    return With::gradient;
  }
}
template <class O, std::size_t N = 1>
constexpr int find_arity() {
  if constexpr (O::variadic ||
                (O::kind != Kind::elementwise && !Infers<O> && !Expands<O> && !HasGradient<O>)) {
    return -1;
  } else if constexpr (rule_takes<O, N>()) {
    return static_cast<int>(N);
  } else if constexpr (N < max_arity) {
    return find_arity<O, N + 1>();
  } else if constexpr (O::kind == Kind::custom && Takes<O, std::index_sequence<>>::types) {
    return 0;  // asked last, because hardly any operation has no inputs
  } else {
    return -1;
  }
}

}  // namespace detail

/// The number of inputs of an operation; -1 for any number (variadic), or if no rule gives it.
template <class O>
inline constexpr int arity = detail::find_arity<O>();

namespace detail {

/// I... for each input; empty if there is no fixed number.
template <class O>
using InputsOf = std::make_index_sequence<static_cast<std::size_t>(arity<O> < 0 ? 0 : arity<O>)>;

template <class O>
concept VariadicInfer = requires(O op, std::span<const Type> x) { O::infer(op, x); };
template <class O>
concept VariadicGradient = requires(O op, std::span<const AnyExpr> x, AnyExpr y, AnyExpr* dx) {
  O::gradient(op, x, y, y, dx);
};
template <class O>
concept VariadicSimplify =
    requires(O op, std::span<const AnyExpr> x, AnyExpr y) { O::simplify(op, x, y); };

/// A declaration of the base is a constant of the same type, not an attribute.
template <class O>
constexpr bool constants_fit() {
  return std::is_same_v<decltype(O::kind), const Kind> &&
         std::is_same_v<decltype(O::builtin), const Builtin> &&
         std::is_same_v<decltype(O::effect), const SideEffect> &&
         std::is_same_v<decltype(O::flops), const int> &&
         std::is_same_v<decltype(O::outputs), const int> &&
         std::is_same_v<decltype(O::variadic), const bool> &&
         std::is_same_v<decltype(O::scalar_body), const bool> &&
         std::is_same_v<decltype(O::foldable), const bool> &&
         std::is_same_v<decltype(O::host_only), const bool> &&
         std::is_same_v<decltype(O::may_wait), const bool>;
}
/// `derivative`, if there is one.
template <class O>
constexpr bool derivative_fits() {
  if constexpr (requires { O::derivative; }) {
    return std::is_same_v<decltype(O::derivative), const Derivative>;
  } else {
    return true;
  }
}

/// Passes read a reduction's axes in its first word, and in the second whether they stay.
template <class O>
constexpr bool axes_first() {
  if constexpr (requires(O op) {
                  requires std::is_same_v<decltype(op.axes), std::uint32_t>;
                  requires std::is_same_v<decltype(op.keep_dims), std::uint32_t>;
                }) {
    O op{};
    op.axes = 1;
    op.keep_dims = 2;
    const Words<O> words = encode(op);
    return words[0] == 1 && words[1] == 2;
  } else {
    return false;
  }
}

/// Whether a contraction has what passes and kernels need.
template <class O>
concept describes_itself =
    requires(O op, Type t, const std::int64_t* e, std::int64_t n, InterpretCall& call) {
      O::describe(op, t, t, t);
      O::shapes(op, e, n, n, n);
      O::interpret(call);
    };

template <class O>
concept Explains = requires { &O::explain; };
template <class O>
concept explains_failures =
    requires(const O& op, const Failure& wrong, std::span<const Dims> operands) {
      { O::explain(op, wrong, operands) } -> std::same_as<Error>;
    };

template <class O>
concept lays_out = requires(O op, const Dims& dims, Layout& layout) {
  { O::layout(op, dims, dims, layout) } -> std::same_as<bool>;
};
template <class O>
constexpr bool layout_fits() {
  constexpr bool fits = O::kind == Kind::custom && O::outputs == 1 && arity<O> == 1 && lays_out<O>;
  static_assert(fits,
                "layout is for operations with a kernel of their own, one input and one result: "
                "bool layout(op, const tf::Dims& x, const tf::Dims& y, tf::Layout&)");
  return fits;
}

template <class O>
concept lays_out_inputs =
    requires(O op, const ir::Graph& graph, const ir::Node& node, Layout& layout) {
      { O::input_layout(op, graph, node, 0, layout) } -> std::same_as<bool>;
    };
template <class O>
constexpr bool input_layout_fits() {
  constexpr bool fits = O::kind == Kind::custom && O::outputs == 1 && lays_out_inputs<O>;
  static_assert(fits,
                "input_layout is for operations with a kernel of their own and one result: bool "
                "input_layout(op, const tf::ir::Graph&, const tf::ir::Node&, int input, "
                "tf::Layout&)");
  return fits;
}

template <class O>
constexpr bool elementwise_fits() {
  using With = Takes<O, InputsOf<O>>;
  constexpr bool takes = arity<O> > 0 || (Evaluates<O> && O::own_type);
  constexpr bool gradient = !HasGradient<O> || With::gradient;
  constexpr bool simplify = !Simplifies<O> || With::simplify;
  static_assert(takes,
                "operator() of an elementwise operation must take numbers of every element type "
                "of its domain, from one to tf::max_arity = 8 of them");
  static_assert(!takes || gradient,
                "operator() and gradient of an elementwise operation must take as many inputs");
  static_assert(!takes || simplify,
                "operator() and simplify of an elementwise operation must take as many inputs");
  static_assert(!Infers<O>,
                "an elementwise operation has no infer: its operands broadcast, and "
                "result(element) gives the element type");
  static_assert(O::outputs == 1, "an elementwise operation has one result");
  return takes && gradient && simplify;
}

template <class O>
constexpr bool variadic_fits() {
  static_assert(O::kind != Kind::composite && O::kind != Kind::elementwise,
                "a composite or elementwise operation has a fixed number of inputs, it can't be "
                "variadic");
  constexpr bool gradient = !HasGradient<O> || VariadicGradient<O>;
  constexpr bool simplify = !Simplifies<O> || VariadicSimplify<O>;
  static_assert(VariadicInfer<O>,
                "a variadic operation must have infer(op, std::span<const tf::Type> x)");
  static_assert(gradient,
                "gradient of a variadic operation must be gradient(op, "
                "std::span<const tf::AnyExpr> x, y, dy, tf::AnyExpr* dx)");
  static_assert(simplify,
                "simplify of a variadic operation must be simplify(op, "
                "std::span<const tf::AnyExpr> x, y)");
  return VariadicInfer<O> && gradient && simplify;
}

template <class O>
constexpr bool rules_fit() {
  using With = Takes<O, InputsOf<O>>;
  constexpr bool some = Infers<O> || Expands<O> || HasGradient<O> || Simplifies<O>;
  constexpr bool takes = !some || arity<O> >= 0;
  constexpr bool expands = !Expands<O> || With::expand;
  constexpr bool gradient = !HasGradient<O> || With::gradient;
  constexpr bool simplify = !Simplifies<O> || With::simplify;
  static_assert(takes,
                "the rules of an operation, infer(op, x...) first, must take at most "
                "tf::max_arity = 8 inputs; without inputs, it must be custom");
  if constexpr (O::kind == Kind::composite) {
    static_assert(Expands<O>,
                  "a composite operation must have expand(op, x...), of one to tf::max_arity = 8 "
                  "tensors");
    static_assert(!takes || expands,
                  "infer and expand of a composite operation must take as many inputs");
  } else {
    static_assert(!Expands<O>,
                  "expand is for what is made of other operations: derive from tf::composite");
  }
  static_assert(!takes || gradient, "infer and gradient of an operation must take as many inputs");
  static_assert(!takes || simplify, "infer and simplify of an operation must take as many inputs");
  if constexpr (O::kind == Kind::contraction) {
    static_assert(arity<O> == 2, "a contraction has two inputs");
    static_assert(arity<O> != 2 || describes_itself<O>,
                  "a contraction must have describe(op, a, b, y) and shapes(op, further, rows, "
                  "columns, depth) (ops/contraction.hpp), and interpret(call)");
    return arity<O> == 2 && describes_itself<O> && gradient && simplify;
  }
  if constexpr (O::kind == Kind::reduction) {
    static_assert(axes_first<O>(),
                  "the first data members of a reduction must be std::uint32_t axes and keep_dims");
  }
  return takes && expands && gradient && simplify;
}

}  // namespace detail

/// Whether O is an operation. If not, a sentence says what is wrong.
template <class O>
constexpr bool well_formed() {
  static_assert(std::is_base_of_v<operation_base, O>,
                "an operation derives from tf::elementwise, tf::comparison, tf::composite, "
                "tf::custom, tf::contraction, tf::update or tf::ops::reduction");
  static_assert(
      requires { requires std::is_same_v<decltype(O::name), const std::string_view>; },
      "an operation must have a name: static constexpr std::string_view name "
      "= \"space/Name\"");
  static_assert(std::is_empty_v<O> || (sizeof(O) % 4 == 0 && std::is_trivially_copyable_v<O>),
                "an operation's data members must be numbers of 4 or 8 bytes without padding");
  static_assert(detail::constants_fit<O>() && detail::derivative_fits<O>(),
                "what tf::operation_base declares, and derivative, can't be a data member of an "
                "operation: only a static constexpr member of the same type");
  static_assert(O::outputs >= 1 && O::outputs <= max_outputs,
                "an operation has from one to tf::max_outputs = 16 results");
  static_assert(!detail::Simplifies<O> || O::outputs == 1,
                "simplify is for operations with one result");
  static_assert(!detail::Explains<O> || detail::explains_failures<O>,
                "explain of an operation must be explain(op, const tf::Failure&, "
                "std::span<const tf::Dims>), and give a tf::Error");
  if constexpr (detail::HoldsInputs<O>) {
    if (!detail::input_layout_fits<O>()) return false;
  }
  if constexpr (detail::Moves<O>) {
    return detail::layout_fits<O>() && detail::rules_fit<O>();
  } else if constexpr (O::kind == Kind::elementwise) {
    return detail::elementwise_fits<O>();
  } else if constexpr (O::variadic) {
    return detail::variadic_fits<O>();
  } else {
    return detail::rules_fit<O>();
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
