// SPDX-License-Identifier: Apache-2.0
#pragma once

// The sources of tensors: placeholder, variable, fresh_variable, state, constant.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include "typeflow/core/symbol.hpp"
#include "typeflow/front/initializers.hpp"
#include "typeflow/ops/elementwise/complex.hpp"
#include "typeflow/ops/shape/concat.hpp"  // a rule of sums is there

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

struct source : operation_base {
  static constexpr Kind kind = Kind::source;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
};

/// A tensor that each run feeds. A scalar with a default may be left out.
struct Placeholder : source {
  static constexpr Builtin builtin = Builtin::placeholder;
  static constexpr std::string_view name = "Placeholder";
  static constexpr SideEffect effect = SideEffect::reads;  // two placeholders are never one
  std::uint32_t has_default;
  std::uint32_t low;  ///< of the default, as in Constant
  std::uint32_t high;
};

/// A tensor that outlives runs. Its value is the one at the start of the run.
struct Variable : source {
  static constexpr Builtin builtin = Builtin::variable;
  static constexpr std::string_view name = "Variable";
  std::int32_t index;  ///< in ir::Graph::variable_records
};

/// An array of constants. The attributes are two words for each element, as in Constant. For a
/// string they are the beginning and the length of its bytes; all bytes follow behind the last
/// element.
struct ConstantArray : source {
  static constexpr std::string_view name = "ConstArray";
  static constexpr Number evaluate(const ir::EvaluateCall& call) {
    const std::uint32_t* const words =
        call.graph.words_of(call.node) + 2 * static_cast<int>(call.index);
    return Constant{{}, words[0], words[1], 0}.number(call.graph.dtype_of(call.node.outputs.first));
  }
};

}  // namespace ops

/// A tensor that each run feeds: placeholder<float, tf::batch, 784>(g, "x").
template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> placeholder(
    Graph& g, Label name, std::source_location at = std::source_location::current()) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  using E = Expr<T, Shape<D...>>;
  const AnyExpr x = add_node(graph, ops::Placeholder{{}, 0, 0, 0}, nullptr, 0, E::type);
  graph.add_name(name, ir::NameKind::placeholder, x.id);
  return {g, x.id};
}

/// A scalar with a default for runs that do not feed it: placeholder<float>(g, "rate", 0.1f).
template <Element T>
constexpr Expr<T> placeholder(Graph& g, Label name, std::type_identity_t<T> value,
                              std::source_location at = std::source_location::current()) {
  static_assert(
      !detail::is_complex_number<T> && !detail::is_string<T>,
      "placeholder<T>(g, name, value): a placeholder of complex numbers or strings has no "
      "default");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const detail::NumberWords words = detail::words_of(dtype_of<T>, number_from(value));
  const AnyExpr x =
      add_node(graph, ops::Placeholder{{}, 1, words.low, words.high}, nullptr, 0, Expr<T>::type);
  graph.add_name(name, ir::NameKind::placeholder, x.id);
  return {g, x.id};
}

/// A variable's handle: an expression whose value is the variable's at the start of the run.
/// assign() and read() take it.
template <Element T, class S = Shape<>>
class Variable : public Expr<T, S> {
 public:
  constexpr Variable() = default;
  constexpr Variable(Graph& graph, Id id) : Expr<T, S>(graph, id) {}
  /// The value at this point of the model's statements, after the earlier ones that the run
  /// executes; see ops/state/assign.hpp.
  constexpr Expr<T, S> read(std::source_location at = std::source_location::current()) const;
};

namespace detail {

constexpr Id add_variable(ir::Graph& graph, const Type& type, Initializer initializer,
                          bool trainable, bool state) {
  if (initializer.kind == Initializer::Kind::unset) {
    initializer = graph.scopes.items[graph.scope].initializer;
  }
  if (initializer.kind == Initializer::Kind::unset) initializer = glorot_uniform;
  const Id index = graph.variable_records.push(
      ir::VariableRecord{none, none, initializer,
                         trainable ? graph.scopes.items[graph.scope].regularizer : Regularizer{},
                         trainable, state, false, false});
  const Device device = graph.device;
  if (!state && initializer.kind != Initializer::Kind::resource) {
    graph.device = graph.variable_turn.device_for_variable(device);
  }
  const Id value = add_node(graph, ops::Variable{{}, index}, nullptr, 0, type).id;
  graph.device = device;
  graph.variable_records.items[index].value = value;
  return index;
}

constexpr void print_place(Message& out, const ir::SourceLine& source) {
  out << file_name(source.file) << ':' << source.line;
}

/// The variable of this name, if the scope says to share it; otherwise a new one.
constexpr Id get_variable(ir::Graph& graph, const Label& label, const Type& type,
                          const Initializer& initializer, bool trainable, bool state) {
  const Reuse reuse = graph.scopes.items[graph.scope].reuse;
  const std::uint64_t path = graph.path_hash(graph.scope, label, true);
  const Id found = graph.find_name(path);
  if (found == none) {
    const Id index = add_variable(graph, type, initializer, trainable, state);
    const Id value = graph.variable_records.items[index].value;
    const Id name = graph.add_unique_name(
        label, 0, state ? ir::NameKind::state : ir::NameKind::variable, true, value, path);
    graph.variable_records.items[index].name = name;
    if (reuse == Reuse::reuse) {
      Message message{};
      message << "variable '";
      graph.print_name(message, graph.names.items[name]);
      graph.fail(message << "' does not exist, and its scope says to reuse it");
    }
    return value;
  }
  const ir::Name& name = graph.names.items[found];
  Message message{};
  if (name.kind != ir::NameKind::variable && name.kind != ir::NameKind::state) {
    message << "variable '";
    graph.print_name(message, name);
    message << "': the name is taken at ";
    print_place(message, graph.node_of(name.value).source);
    graph.fail(message);
  } else if (reuse == Reuse::create || reuse == Reuse::inherit) {
    message << "variable '";
    graph.print_name(message, name);
    message << "' declared twice: ";
    print_place(message, graph.node_of(name.value).source);
    message << " and ";
    print_place(message, graph.source);
    graph.fail(message);
  } else if (!(graph.type_of(name.value) == type)) {
    const Type& there = graph.type_of(name.value);
    message << "variable '";
    graph.print_name(message, name);
    graph.fail(message << "' reused as " << type.dtype << ' ' << type.dims << ", but it is "
                       << there.dtype << ' ' << there.dims);
  } else {
    return name.value;
  }
  const Id index = add_variable(graph, type, initializer, trainable, state);
  ir::VariableRecord& record = graph.variable_records.items[index];
  record.name = found;  // optimisers look for names below it
  return record.value;
}

}  // namespace detail

/// A trainable variable: variable<float, 784, 10>(g, "W", tf::zeros()). Its full name is the path
/// of the enclosing Scopes and this label. A second variable of that name is an error, unless the
/// scope says to reuse it. The default initialiser is the scope's, otherwise glorot_uniform.
template <Element T, Extent... D>
constexpr Variable<T, Shape<D...>> variable(
    Graph& g, Label name, Initializer initializer = {}, bool trainable = true,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_static_shape<Shape<D...>>,
                "variable<T, D...>: the extents of a variable must be numbers, not tf::batch");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  return {g, detail::get_variable(graph, name, Expr<T, Shape<D...>>::type, initializer,
                                  trainable && detail::is_real_floating<T>, false)};
}

/// TensorFlow's Variable: always a new one. A suffix makes its name unique, and NameScopes prefix
/// it, too.
template <Element T, Extent... D>
constexpr Variable<T, Shape<D...>> fresh_variable(
    Graph& g, Label name, Initializer initializer = {}, bool trainable = true,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_static_shape<Shape<D...>>,
                "fresh_variable<T, D...>: the extents must be numbers, not tf::batch");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  const Id index = detail::add_variable(graph, Expr<T, Shape<D...>>::type, initializer,
                                        trainable && detail::is_real_floating<T>, false);
  ir::VariableRecord& record = graph.variable_records.items[index];
  record.name = graph.add_name(name, ir::NameKind::variable, record.value);
  return {g, record.value};
}

/// A variable of the session, not of the variable store: not shared, not saved, reset by
/// Session::reset(). For values that runs carry on, such as a recurrent net's state.
template <Element T, Extent... D>
constexpr Variable<T, Shape<D...>> state(
    Graph& g, Label name, Initializer initializer = zeros(),
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_static_shape<Shape<D...>>,
                "state<T, D...>: the extents of a state must be numbers, not tf::batch");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  return {g,
          detail::get_variable(graph, name, Expr<T, Shape<D...>>::type, initializer, false, true)};
}

namespace detail {

/// The words of constant strings, in the form of ops::ConstantArray.
constexpr Pool<std::uint32_t> words_of_strings(const std::string_view* values, std::size_t count) {
  Pool<std::uint32_t> words;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    words.push(begin);
    words.push(static_cast<std::uint32_t>(values[i].size()));
    begin += words.back();
  }
  std::array<char, 4> bytes{};
  std::size_t filled = 0;
  const auto flush = [&] {
    if (filled > 0) words.push(std::bit_cast<std::uint32_t>(bytes));
    bytes = {};
    filled = 0;
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const char c : values[i]) {
      bytes[filled++] = c;
      if (filled == bytes.size()) flush();
    }
  }
  flush();
  return words;
}

template <Element T, Extent... D>
constexpr Expr<T, Shape<D...>> constant_array(Graph& g, const Pool<std::uint32_t>& words) {
  (void)sizeof(BindOp<ops::ConstantArray>);
  ir::Graph& graph = g;
  return {g, graph.add_value(record<ops::ConstantArray>, nullptr, 0,
                             graph.intern(Expr<T, Shape<D...>>::type), words.data(), words.size())};
}

}  // namespace detail

/// A scalar constant: constant<float>(g, 3), constant<std::string_view>(g, "unknown").
template <Element T>
constexpr Expr<T> constant(Graph& g, std::type_identity_t<T> value,
                           std::source_location at = std::source_location::current()) {
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (detail::is_complex_number<T>) {
    return {g, complex(constant<typename T::value_type>(g, value.real()),
                       constant<typename T::value_type>(g, value.imag()))
                   .id()};
  } else if constexpr (detail::is_string<T>) {
    return detail::constant_array<T>(g, detail::words_of_strings(&value, 1));
  } else {
    return {g, detail::constant_node(graph, dtype_of<T>, number_from(value)).id};
  }
}

/// A constant array, in row-major order: constant<float, 2, 2>(g, {1, 2, 3, 4}).
template <Element T, Extent... D, std::size_t N>
constexpr Expr<T, Shape<D...>> constant(Graph& g, const T (&values)[N],
                                        std::source_location at = std::source_location::current()) {
  static_assert(
      count_of(Shape<D...>::dims) == Count{static_cast<std::int64_t>(N), 0},
      "constant<T, D...>(g, {...}): as many numbers are needed as the shape has elements");
  ir::Graph& graph = g;
  graph.source = source_line(at);
  if constexpr (detail::is_complex_number<T>) {
    using Part = typename T::value_type;
    Part re[N] = {};
    Part im[N] = {};
    for (std::size_t i = 0; i < N; ++i) {
      re[i] = values[i].real();
      im[i] = values[i].imag();
    }
    return {g, complex(constant<Part, D...>(g, re), constant<Part, D...>(g, im)).id()};
  } else if constexpr (detail::is_string<T>) {
    return detail::constant_array<T, D...>(g, detail::words_of_strings(values, N));
  } else {
    Pool<std::uint32_t> words;
    words.reserve(2 * static_cast<int>(N));
    for (const T& value : values) {
      const detail::NumberWords pair = detail::words_of(dtype_of<T>, number_from(value));
      words.push(pair.low);
      words.push(pair.high);
    }
    return detail::constant_array<T, D...>(g, words);
  }
}

}  // namespace typeflow::inline TYPEFLOW_ISA
