// SPDX-License-Identifier: Apache-2.0
#pragma once

// Saving and restoring as operations of the graph: save_variables(path, {W, b}), restore_tensor,
// restore_variable. The path is a scalar tensor of strings, so a run can feed it.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string_view>
#include <vector>

#include "typeflow/front/variables.hpp"
#include "typeflow/ops/custom.hpp"
#include "typeflow/ops/state/assign.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace ops {

/// Writes tensors to a file. Inputs: the path, the tensors' names (N), N tensors; output: a token.
struct SaveVariables : custom {
  static constexpr std::string_view name = "SaveVariables";
  static constexpr SideEffect effect = SideEffect::writes;
  static constexpr bool takes_strings = true;
  static constexpr bool host_only = true;
  static constexpr int flops = 0;
};

/// Reads a tensor from a file. Inputs: the path, the tensor's name.
struct RestoreTensor : custom {
  static constexpr std::string_view name = "RestoreTensor";
  static constexpr SideEffect effect = SideEffect::writes;  // keeps the model's order with saving
  static constexpr bool takes_strings = true;
  static constexpr bool host_only = true;
  static constexpr Derivative derivative = Derivative::zero;
  static constexpr int flops = 0;
};

}  // namespace ops

namespace detail {

template <class P>
inline constexpr bool is_path = false;
template <TypedExpr P>
inline constexpr bool is_path<P> = P::type == Type(DType::string, {});

/// The largest number of variables that one kernel can take.
inline constexpr std::size_t max_saved_variables = 30;

/// A constant of strings (N), where N is not a template argument.
constexpr Id constant_strings(ir::Graph& graph, const std::vector<std::string_view>& values) {
  (void)sizeof(BindOp<ops::ConstantArray>);
  const Pool<std::uint32_t> words = words_of_strings(values.data(), values.size());
  const Type type(DType::string, Dims{1, {static_cast<Extent>(values.size())}});
  return graph.add_value(record<ops::ConstantArray>, nullptr, 0, graph.intern(type), words.data(),
                         words.size());
}

/// Why variables of these names can't be saved together; empty if they can.
constexpr Message mistake_in_saving(const std::vector<Message>& names) {
  Message out{};
  if (names.empty()) return out << "save_variables(path, variables): no variable is given";
  if (names.size() > max_saved_variables) {
    return out << "save_variables(path, variables): "
               << static_cast<std::int64_t>(max_saved_variables) << " variables are the most, got "
               << static_cast<std::int64_t>(names.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (names[i].view() != names[k].view()) continue;
      return out << "save_variables(path, variables): '" << names[i].view() << "' is given twice";
    }
  }
  return out;
}

constexpr Effect save_node(const AnyExpr& path, const std::vector<AnyVariable>& variables,
                           Graph& g) {
  ir::Graph& graph = g;
  std::vector<Message> paths;
  for (const AnyVariable& v : variables) paths.push_back(v.name());
  if (const Message mistake = mistake_in_saving(paths); !mistake.empty()) graph.fail(mistake);
  std::vector<std::string_view> names;
  for (const Message& name : paths) names.push_back(name.view());
  std::vector<Id> ids{path.id, constant_strings(graph, names)};
  for (const AnyVariable& v : variables) ids.push_back(present_value(graph, v.id()).id);
  return effect_node(g, ops::SaveVariables{}, ids.data(), static_cast<int>(ids.size()));
}

}  // namespace detail

/// Writes variables to a safetensors file: save_variables(path, {W, b}).named("save"). The path is
/// a scalar of strings. The variables have their values at this point of the model's statements,
/// and their names in the store, so load() reads the file. As with save(), the file is replaced as
/// a whole or stays unchanged.
///
/// At most 30 variables, none of strings or complex<double>. A file that can't be written is an
/// Error of the run.
///
/// An effect. It keeps the model's order with other file operations, checks and host functions.
template <class P>
constexpr Effect save_variables(const P& path, std::initializer_list<AnyVariable> variables,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::is_path<P>,
                "save_variables(path, variables): the path must be a scalar tensor of strings");
  if constexpr (detail::is_path<P>) {
    detail::mark(at, path);
    return detail::save_node(path.any(), std::vector<AnyVariable>(variables), path.graph());
  } else {
    return {};
  }
}
/// The same for a list of variables: save_variables(path, g.trainable()).
template <class P>
constexpr Effect save_variables(const P& path, const VariableList& variables,
                                std::source_location at = std::source_location::current()) {
  static_assert(detail::is_path<P>,
                "save_variables(path, variables): the path must be a scalar tensor of strings");
  if constexpr (detail::is_path<P>) {
    detail::mark(at, path);
    std::vector<AnyVariable> all;
    for (const AnyVariable v : variables) all.push_back(v);
    return detail::save_node(path.any(), all, path.graph());
  } else {
    return {};
  }
}

/// Reads a tensor from a safetensors file: restore_tensor<float, 784, 10>(path, "fc/W"). The path
/// is a scalar of strings. Each run that computes the tensor reads the file. -> (D...)
///
/// These are Errors of the run: the file is missing or damaged, it lacks the tensor, or the tensor
/// has another element type or shape. Nothing is converted.
template <Element T, Extent... D, class P>
constexpr auto restore_tensor(const P& path, std::string_view name,
                              std::source_location at = std::source_location::current()) {
  constexpr bool fits = detail::is_path<P>;
  constexpr bool fixed = detail::is_static(Shape<D...>::dims);
  static_assert(fits,
                "restore_tensor<T, D...>(path, name): the path must be a scalar tensor of strings");
  static_assert(fixed,
                "restore_tensor<T, D...>(path, name): the extents must be numbers, not tf::batch");
  static_assert(!detail::is_string<T> && dtype_of<T> != DType::complex128,
                "restore_tensor<T, D...>(path, name): safetensors files have no strings and no "
                "complex<double>");
  if constexpr (fits && fixed) {
    detail::mark(at, path);
    ir::Graph& graph = path.graph();
    const Id ids[] = {path.id(), constant<std::string_view>(path.graph(), name, at).id()};
    using E = Expr<T, Shape<D...>>;
    return E(path.graph(), add_node(graph, ops::RestoreTensor{}, ids, 2, E::type).id);
  }
}

namespace detail {
template <Element T, class S, class P, Extent... D>
constexpr auto restore_for(const Variable<T, S>& variable, const P& path, std::string_view name,
                           Shape<D...>, const std::source_location& at) {
  return assign(variable, restore_tensor<T, D...>(path, name, at), at);
}
}  // namespace detail

/// variable := restore_tensor(path, name). Without a name, the tensor has the variable's name:
/// restore_variable(path, W). After an error the variable keeps its value.
template <class P, Element T, class S>
constexpr Assignment<T, S> restore_variable(
    const P& path, const Variable<T, S>& variable, std::string_view name,
    std::source_location at = std::source_location::current()) {
  static_assert(detail::is_path<P>,
                "restore_variable(path, variable): the path must be a scalar tensor of strings");
  return detail::restore_for(variable, path, name, S{}, at);
}
template <class P, Element T, class S>
constexpr Assignment<T, S> restore_variable(
    const P& path, const Variable<T, S>& variable,
    std::source_location at = std::source_location::current()) {
  const Message name = AnyVariable(variable).name();
  return restore_variable(path, variable, name.view(), at);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
