// SPDX-License-Identifier: Apache-2.0
#pragma once

// The record of an operation: the Op that nodes point to, with a C++ type's rules as function
// pointers. The way back from a record to its type. Adding nodes, and what rules can ask about
// them.

#include <array>
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
#include "typeflow/graph/layout.hpp"
#include "typeflow/graph/op.hpp"
#include "typeflow/ops/well_formed.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class O>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
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

/// The number as an element of this type: integers wrap around, others are rounded.
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

/// O's rules as the functions of an Op; I... for each of its inputs.
template <class O, class Inputs = InputsOf<O>>
struct Rules;
template <class O, std::size_t... I>
struct Rules<O, std::index_sequence<I...>> {
  static constexpr bool inferable =
      O::kind == Kind::elementwise ? !own_type<O> : O::variadic || Infers<O>;

  static constexpr bool infer(const ir::Graph& graph, const ir::Node& node, Type* out) {
    if constexpr (O::kind == Kind::elementwise) {
      return infer_elementwise(graph, node, out);
    } else if constexpr (O::variadic) {
      Pool<Type> types;
      for (int i = 0; i < node.inputs.count; ++i) types.push(graph.type_of(graph.input(node, i)));
      const std::span<const Type> x(types.data(), static_cast<std::size_t>(types.size()));
      return set_types(O::infer(decode<O>(graph, node), x), out);
    } else {
      if (node.inputs.count != arity<O>) return false;
      const bool fits =
          set_types(O::infer(decode<O>(graph, node),
                             graph.type_of(graph.input(node, static_cast<int>(I)))...),
                    out);
      if constexpr (O::kind == Kind::contraction && sizeof...(I) == 2) {
        return fits &&
               O::multiplies(graph.dtype_of(graph.input(node, static_cast<int>(I)))..., out->dtype);
      }
      return fits;
    }
  }

  static constexpr void gradient(ir::Graph& graph, Id id, const Id* dy, Id* dx) {
    const ir::Node node = graph.nodes.items[id];
    if constexpr (O::variadic) {
      const std::vector<AnyExpr> x = inputs_of(graph, node);
      std::vector<AnyExpr> of_x(x.size(), AnyExpr{});
      O::gradient(decode<O>(graph, node), std::span<const AnyExpr>(x),
                  AnyExpr{&graph, node.outputs.first}, AnyExpr{&graph, dy[0]}, of_x.data());
      for (std::size_t i = 0; i < x.size(); ++i) dx[i] = of_x[i].id;
    } else {
      typename ResultsOf<O::outputs>::type y{};
      typename ResultsOf<O::outputs>::type of_y{};
      if constexpr (O::outputs == 1) {
        y = AnyExpr{&graph, node.outputs.first};
        of_y = AnyExpr{&graph, dy[0]};
      } else {
        for (std::size_t i = 0; i < y.size(); ++i) {
          y[i] = AnyExpr{&graph, node.outputs.first + static_cast<Id>(i)};
          of_y[i] = AnyExpr{&graph, dy[i]};
        }
      }
      // The operation as a temporary: clang 16 can't copy what bit_cast made of an empty base.
      const auto result =
          O::gradient(decode<O>(graph, node),
                      AnyExpr{&graph, graph.input(node, static_cast<int>(I))}..., y, of_y);
      using Result = std::remove_cvref_t<decltype(result)>;
      constexpr bool one = std::is_same_v<Result, AnyExpr> && sizeof...(I) == 1;
      static_assert(one || std::is_same_v<Result, std::array<AnyExpr, sizeof...(I)>>,
                    "gradient(op, x..., y, dy) of an operation must give a std::array of as many "
                    "AnyExpr as there are inputs");
      if constexpr (one) {
        dx[0] = result.id;
      } else {
        ((dx[I] = result[I].id), ...);
      }
    }
  }

  static constexpr Id simplify(ir::Graph& graph, const ir::Node& node) {
    const AnyExpr y{&graph, node.outputs.first};
    if constexpr (O::variadic) {
      const std::vector<AnyExpr> x = inputs_of(graph, node);
      return O::simplify(decode<O>(graph, node), std::span<const AnyExpr>(x), y).id;
    } else {
      [[maybe_unused]] const Id* const inputs = graph.operands.data() + node.inputs.first;
      return O::simplify(decode<O>(graph, node), AnyExpr{&graph, inputs[I]}..., y).id;
    }
  }

  static constexpr Id expand(ir::Graph& graph, const std::uint32_t* words, const Id* inputs) {
    return O::expand(decode<O>(words), AnyExpr{&graph, inputs[I]}...).id;
  }

  static constexpr bool layout(const ir::Graph& graph, const ir::Node& node, Layout& found) {
    return O::layout(decode<O>(graph, node), graph.dims_of(graph.input(node, 0)),
                     graph.dims_of(node.outputs.first), found);
  }
  static constexpr bool input_layout(const ir::Graph& graph, const ir::Node& node, int input,
                                     Layout& found) {
    return O::input_layout(decode<O>(graph, node), graph, node, input, found);
  }

  /// One element. All integers are computed in 64 bits and wrapped, which equals arithmetic with
  /// fewer bits and needs fewer instantiations.
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    if constexpr (Evaluates<O>) {
      return O::evaluate(call);
    } else {
      const ir::Graph& graph = call.graph;
      const DType element = graph.dtype_of(graph.input(call.node, call.node.inputs.count - 1));
      return fitted(evaluate_in(element, decode<O>(graph, call.node), call.inputs),
                    graph.dtype_of(call.node.outputs.first));
    }
  }

 private:
  static constexpr bool infer_elementwise(const ir::Graph& graph, const ir::Node& node, Type* out) {
    if (node.inputs.count != arity<O>) return false;
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
    if constexpr (requires(O op) { O::result(op, element); }) {
      *out = Type(O::result(decode<O>(graph, node), element), dims);
    } else {
      *out = Type(O::result(element), dims);
    }
    return dims.valid();
  }
  static constexpr std::vector<AnyExpr> inputs_of(ir::Graph& graph, const ir::Node& node) {
    std::vector<AnyExpr> x;
    for (int i = 0; i < node.inputs.count; ++i) x.push_back(AnyExpr{&graph, graph.input(node, i)});
    return x;
  }
  static constexpr Number evaluate_in(DType element, const O& op, const Number* in) {
    if (is_unsigned(element)) return evaluate_as<std::uint64_t>(op, in);
    if (is_integer(element)) return evaluate_as<std::int64_t>(op, in);
    switch (element) {
      case DType::boolean:
        return evaluate_as<bool>(op, in);
      case DType::float64:
        return evaluate_as<double>(op, in);
      case DType::complex64:
        return evaluate_as<std::complex<float>>(op, in);
      case DType::complex128:
        return evaluate_as<std::complex<double>>(op, in);
      default:  // float and 16 bits
        return evaluate_as<float>(op, in);
    }
  }
  /// One element of an operation on elements that are computed in V.
  template <class V>
  static constexpr Number evaluate_as(const O& op, const Number* in) {
    if constexpr (!contains(O::domain, dtype_of<V>)) {
      return {};
    } else if constexpr (takes_numbers<O, V>(std::index_sequence<I...>{})) {
      return number_from(op(to<NumberOf<O, V, I>>(in[I])...));
    } else {
      static_assert(arity<O> < 0,
                    "operator() of an elementwise operation must take numbers of every element "
                    "type of its domain, from one to tf::max_arity = 8 of them");
      return {};
    }
  }
};

/// Defined in ops/contraction.hpp.
template <class O>
struct ContractionRulesOf;
}  // namespace detail

template <class O>
constexpr ir::Op make_op() {
  ir::Op op{};
  if constexpr (well_formed<O>()) {  // else it has said why not
    using Rules = detail::Rules<O>;
    op.name = O::name;
    op.id = hash(op.name);
    op.key = static_cast<unsigned>(op.id & 1023u);
    op.type = detail::type_name<O>();
    op.kind = O::kind;
    op.builtin = O::builtin;
    op.effect = O::effect;
    op.derivative = detail::HasGradient<O> ? Derivative::rule : Derivative::missing;
    if constexpr (requires { O::derivative; }) op.derivative = O::derivative;
    op.complex_gradient = O::complex_gradient;
    op.inferable = Rules::inferable;
    op.foldable = O::foldable;
    op.simplifies = detail::Simplifies<O>;
    op.moves = detail::Moves<O>;
    op.holds_inputs = detail::HoldsInputs<O>;
    op.gathers = O::gathers;
    op.takes_strings = O::takes_strings;
    op.host_only = O::host_only;
    op.may_wait = O::may_wait;
    op.flops = O::flops;
    op.words = word_count<O>;
    if constexpr (Rules::inferable) op.infer = &Rules::infer;
    if constexpr (detail::HasGradient<O>) op.gradient = &Rules::gradient;
    if constexpr (detail::Simplifies<O>) op.simplify = &Rules::simplify;
    if constexpr (detail::Moves<O>) op.layout = &Rules::layout;
    if constexpr (detail::HoldsInputs<O>) op.input_layout = &Rules::input_layout;
    op.row_offsets = O::row_offsets;
    if constexpr (detail::Expands<O>) op.expand = &Rules::expand;
    if constexpr (detail::Evaluates<O> || O::kind == Kind::elementwise) {
      op.evaluate = &Rules::evaluate;
    }
    if constexpr (requires(InterpretCall& call) { O::interpret(call); }) {
      op.interpret = [](InterpretCall& call) { O::interpret(call); };
    }
    if constexpr (O::kind == Kind::contraction)
      op.contraction = &detail::ContractionRulesOf<O>::rules;
  }
  return op;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-template-friend"
#endif
#ifdef __CUDACC__
#pragma nv_diag_suppress 1301
#endif

namespace detail {
template <const ir::Op& R>
struct OpTag {
  friend constexpr auto type_of_op(OpTag<R>);
};
template <class O>
struct BindOp;
}  // namespace detail

/// The Op of an operation type.
template <class O>
inline constexpr ir::Op record = make_op<O>();

namespace detail {
/// Instantiated with the first use of record<O>; defines the way back from the record to O.
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

/// The type of an operation, from its record as a constant: op_type<*graph.nodes.items[3].op>.
template <const ir::Op& R>
using op_type = typename decltype(type_of_op(detail::OpTag<R>{}))::type;

template <class O>
constexpr bool is(const ir::Op& op) {
  return op.id == record<O>.id;
}

// Questions of rules about a tensor.

/// Whether the tensor is the result of an O.
template <class O>
constexpr bool made_by(const AnyExpr& x) {
  const ir::Graph& graph = *x.graph;  // asked of every operand: as few calls as can be
  return graph.nodes.items[graph.values.items[x.id].node].op->id == record<O>.id;
}
/// The O whose result the tensor is, with its data members.
template <class O>
constexpr O operation_of(const AnyExpr& x) {
  return decode<O>(*x.graph, x.graph->node_of(x.id));
}
/// Input i of the operation whose result the tensor is.
constexpr AnyExpr input_of(const AnyExpr& x, int i) {
  return {x.graph, x.graph->input(x.graph->node_of(x.id), i)};
}
/// Whether two tensors have the same element type and shape.
constexpr bool alike(const AnyExpr& x, const AnyExpr& y) {
  return x.graph->values.items[x.id].type == y.graph->values.items[y.id].type;
}

// Adding nodes.

/// Adds a node with one output, whose type is a number in ir::Graph::types.
template <class O>
constexpr AnyExpr add_node(ir::Graph& graph, const O& op, const Id* inputs, int count, Id type) {
  (void)sizeof(detail::BindOp<O>);
  if constexpr (word_count<O> == 0) {
    return {&graph, graph.add_value(record<O>, inputs, count, type)};
  } else {
    const Words<O> words = encode(op);
    return {&graph, graph.add_value(record<O>, inputs, count, type, words.data(), word_count<O>)};
  }
}
template <class O>
constexpr AnyExpr add_node(ir::Graph& graph, const O& op, const Id* inputs, int count,
                           const Type& type) {
  return add_node(graph, op, inputs, count, graph.intern(type));
}
/// Adds a node with several outputs of these types.
template <class O, std::size_t N>
constexpr std::array<AnyExpr, N> add_node(ir::Graph& graph, const O& op, const Id* inputs,
                                          int count, const std::array<Type, N>& types) {
  (void)sizeof(detail::BindOp<O>);
  const Words<O> words = encode(op);
  const Id node =
      graph.add_node(record<O>, inputs, count, static_cast<int>(N), words.data(), word_count<O>);
  std::array<AnyExpr, N> outputs{};
  for (std::size_t i = 0; i < N; ++i) {
    const Id type = graph.intern(types[i]);
    outputs[i] = {&graph, graph.values.push(ir::Value{node, static_cast<Id>(i), type, none})};
  }
  return outputs;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
