// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/interpret/interpret.hpp"
#include "typeflow/ops/control/primitive_nodes.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_DEFINITION Interpreter::Interpreter(const ir::Graph& graph)
    : graph_(graph), traced_(true) {
  for (Id id = 0; id < graph.nodes.size(); ++id) order_.push(id);
  for (Id id = 0; id < graph.values.size(); ++id) map_.push(id);
}

TYPEFLOW_DEFINITION std::vector<HostTensor> Interpreter::run(
    const std::vector<std::string>& fetches, const HostTensors& feeds) {
  std::vector<Id> ids;
  for (const std::string& name : fetches) ids.push_back(find(name, "fetch").value);
  return run_values(ids, feeds);
}

TYPEFLOW_DEFINITION std::vector<HostTensor> Interpreter::run_values(const std::vector<Id>& fetches,
                                                                    const HostTensors& feeds) {
  values_.assign(static_cast<std::size_t>(graph_.values.size()), HostTensor{});
  known_.assign(values_.size(), false);
  fed_.clear();
  symbols_ = {};
  feed(feeds);
  start_variables();
  const std::vector<bool> needed = find_needed(fetches);
  Pool<Id> nodes;
  for (const Id id : order_) {
    if (needed[static_cast<std::size_t>(id)]) nodes.push(id);
  }
  run_nodes(graph_, nodes);
  std::vector<HostTensor> results;
  for (const Id fetch : fetches) {
    if (!is_known(map_[fetch])) {
      throw Error(name_of(graph_, graph_.node_of(map_[fetch])), "has no value: it is dead");
    }
    if (!graph_.is_token(map_[fetch])) results.push_back(value(map_[fetch]));
  }
  for (const auto& [index, assigned] : assigned_) variables[variable_name(index)] = assigned;
  ++random.draw;
  return results;
}

TYPEFLOW_DEFINITION void Interpreter::set(Id id, HostTensor tensor) {
  value(id) = std::move(tensor);
  known_[static_cast<std::size_t>(id)] = true;
}

TYPEFLOW_DEFINITION std::string Interpreter::name_of(const ir::Graph& graph,
                                                     const ir::Node& node) const {
  Message out{};
  graph.print_scope(out, node.scope, false);
  out << (node.source.within ? node.source.op->name : node.op->name) << " ("
      << file_name(node.source.file) << ':' << node.source.line << ')';
  return std::string(out.view());
}

TYPEFLOW_DEFINITION void Interpreter::compute(const ir::Graph& graph, Id id) {
  const ir::Node node = graph.nodes[id];
  require_given(graph, node);
  for (Id k = 0; k < node.inputs.count + node.controls.count; ++k) {
    const Id input = k < node.inputs.count
                         ? graph.input(node, k)
                         : graph.operands[node.controls.first + k - node.inputs.count];
    if (!is_known(input)) throw Error(name_of(graph, node), "an input has not been computed");
  }
  for (Id k = 0; k < node.outputs.count; ++k) {
    const Id output = node.outputs.first + k;
    set(output, graph.is_token(output) ? HostTensor{} : zeros(graph, node, output));
  }
  compute_outputs(graph, node);
  for (const auto& [fed, tensor] : fed_) {  // a fed result of a node with several
    if (graph.values[fed].node == id) value(fed) = *tensor;
  }
}

TYPEFLOW_DEFINITION std::string Interpreter::quoted(const char* what, const std::string& name) {
  return std::string(what) + " \"" + name + "\"";
}

TYPEFLOW_DEFINITION std::string Interpreter::text_of(const HostTensor& tensor) {
  if (tensor.size() != count_of(tensor.dims).coefficient) {
    return detail::to_string(tensor.dtype, tensor.dims) + " with " + std::to_string(tensor.size()) +
           " elements";
  }
  return detail::to_string(tensor.dtype, tensor.dims);
}

TYPEFLOW_DEFINITION const ir::Name& Interpreter::find(const std::string& text,
                                                      const char* what) const {
  for (const ir::Name& name : graph_.names) {
    if (name.kind != ir::NameKind::key && graph_.text_of(name).view() == text) return name;
  }
  throw Error(quoted(what, text), "the model has nothing of this name");
}

TYPEFLOW_DEFINITION std::string Interpreter::variable_name(Id index) const {
  return std::string(graph_.text_of(graph_.names[graph_.variable_records[index].name]).view());
}

TYPEFLOW_DEFINITION void Interpreter::feed(const HostTensors& feeds) {
  for (const auto& [text, tensor] : feeds) {
    const ir::Name& name = find(text, "feed");
    const std::string what = quoted("feed", text);
    if (name.kind == ir::NameKind::effect) throw Error(what, "an effect can't be fed");
    if (graph_.op_of(name.value).builtin == Builtin::variable) {
      throw Error(what, "a variable is set, not fed");
    }
    const Id id = map_[name.value];
    if (!traced_ && graph_.op_of(id).builtin != Builtin::placeholder) {
      throw Error(what, "the graph was simplified for runs that compute it");
    }
    set(id, tensor);
    fed_.emplace_back(id, &tensor);
  }
  find_symbols(feeds);
}

TYPEFLOW_DEFINITION void Interpreter::find_symbols(const HostTensors& feeds) {
  std::string from[max_symbols];  // by symbol: the feed that gave its size
  for (bool told = true; told;) {
    told = false;
    for (const auto& [text, tensor] : feeds) {
      const Type& type = graph_.type_of(find(text, "feed").value);
      if (!fits(tensor, type)) {
        std::string expected = detail::to_string(type.dtype, type.dims);
        for (int i = 0; i < max_symbols; ++i) {
          if (from[i].empty() || detail::power_of(i, count_of(type.dims).powers) == 0) continue;
          expected += std::string(" where ") + symbol_names[i] + " is " +
                      std::to_string(symbols_[i]) + " by feed \"" + from[i] + "\"";
        }
        throw Error(quoted("feed", text), expected, text_of(tensor));
      }
      for (int i = 0; i < max_symbols; ++i) {
        if (!from[i].empty() || !symbols_.knows(i)) continue;
        from[i] = text;
        told = true;
      }
    }
  }
  for (const auto& [text, tensor] : feeds) {
    const Dims& dims = graph_.dims_of(find(text, "feed").value);
    for (int i = 0; i < dims.rank; ++i) {
      if (tensor.dims.extent[i] == resolve(dims.extent[i], symbols_.sizes())) continue;
      require_symbols(quoted("feed", text), symbols_of(dims.extent[i]));
    }
  }
}

TYPEFLOW_DEFINITION bool Interpreter::fits(const HostTensor& tensor, const Type& type) {
  if (tensor.dtype != type.dtype || tensor.dims.rank != type.dims.rank ||
      tensor.size() != count_of(tensor.dims).coefficient) {
    return false;
  }
  for (int i = 0; i < type.dims.rank; ++i) {
    const Count size = count_of(type.dims.extent[i]);
    if (symbols_.take(size, tensor.dims.extent[i]) == KnownSymbols::Found::wrong) return false;
  }
  return true;
}

TYPEFLOW_DEFINITION void Interpreter::start_variables() {
  assigned_.clear();
  for (Id index = 0; index < graph_.variable_records.size(); ++index) {
    const Id id = graph_.variable_records[index].value;
    const auto found = variables.find(variable_name(index));
    if (found == variables.end() || is_known(id)) continue;
    const Type& type = graph_.type_of(id);
    if (!fits(found->second, type)) {
      throw Error(quoted("variable", found->first), detail::to_string(type.dtype, type.dims),
                  text_of(found->second));
    }
    set(id, found->second);
  }
}

TYPEFLOW_DEFINITION std::vector<bool> Interpreter::find_needed(
    const std::vector<Id>& fetches) const {
  std::vector<bool> needed(static_cast<std::size_t>(graph_.nodes.size()), false);
  std::vector<Id> open;
  const auto need = [&](Id id) {
    const Id node = graph_.values[id].node;
    if (is_known(id) || needed[static_cast<std::size_t>(node)]) return;
    needed[static_cast<std::size_t>(node)] = true;
    open.push_back(node);
  };
  for (const Id fetch : fetches) need(map_[fetch]);
  while (!open.empty()) {
    const ir::Node& node = graph_.nodes[open.back()];
    open.pop_back();
    for (Id k = 0; k < node.inputs.count; ++k) need(graph_.input(node, k));
    for (Id k = 0; k < node.controls.count; ++k) {
      need(graph_.operands[node.controls.first + k]);
    }
    if (is<ops::Merge>(*node.op)) {
      if (const Id next = decode<ops::Merge>(graph_, node).next; next != none) need(next);
    }
  }
  return needed;
}

TYPEFLOW_DEFINITION HostTensor Interpreter::zeros(const ir::Graph& graph, const ir::Node& node,
                                                  Id id) const {
  const Type& type = graph.type_of(id);
  for (int i = 0; i < type.dims.rank; ++i) {
    if (!is_symbolic(type.dims.extent[i])) continue;
    require_symbols(name_of(graph, node), symbols_of(type.dims.extent[i]));
  }
  return host_tensor(type.dtype, resolve(type.dims, symbols_.sizes()));
}

TYPEFLOW_DEFINITION void Interpreter::require_symbols(const std::string& what, int powers) const {
  for (int i = 0; i < max_symbols; ++i) {
    if (detail::power_of(i, powers) != 0 && symbols_[i] == 0) return;  // the product is 0
  }
  for (int i = 0; i < max_symbols; ++i) {
    if (detail::power_of(i, powers) == 0 || symbols_.knows(i)) continue;
    throw Error(what, std::string("the ") + symbol_names[i] + " has no size: no feed tells it");
  }
}

TYPEFLOW_DEFINITION void Interpreter::require_given(const ir::Graph& graph,
                                                    const ir::Node& node) const {
  const bool is_variable = node.op->builtin == Builtin::variable;
  const bool is_fed = node.op->builtin == Builtin::placeholder && graph.words_of(node)[0] == 0;
  if (!is_variable && !is_fed) return;
  const Id id = node.outputs.first;
  if (is_variable && graph.variable_records[graph.variable_index(id)].is_resource()) {
    throw Error(quoted("resource", variable_name(graph.variable_index(id))),
                "the interpreter has no resources");
  }
  int i = 0;  // variables and placeholders always have a name
  while (graph.names[i].kind == ir::NameKind::key || map_[graph.names[i].value] != id) ++i;
  throw Error(
      quoted(is_variable ? "variable" : "feed", std::string(graph.text_of(graph.names[i]).view())),
      detail::to_string(graph.dtype_of(id), graph.dims_of(id)), "nothing");
}

TYPEFLOW_DEFINITION void Interpreter::compute_outputs(const ir::Graph& graph,
                                                      const ir::Node& node) {
  HostTensor& out = value(node.outputs.first);
  switch (node.op->kind) {
    case Kind::source:
      return compute_source(graph, node, out);
    case Kind::elementwise:
      if (node.op->effect == SideEffect::reads_state) return read(graph, node, out);
      return compute_elementwise(graph, node, out);
    case Kind::view:
      out.elements = value(graph.input(node, 0)).elements;
      return;
    case Kind::write:
      assigned_[graph.variable_index(graph.input(node, 0))] = value(graph.input(node, 1));
      return;
    case Kind::group:
      return;
    case Kind::control:
      return is<ops::Loop>(*node.op) ? loop(graph, node, decode<ops::Loop>(graph, node))
                                     : branch(graph, node);
    case Kind::result:
      return pick(graph, node, out);
    default:
      return node.op->interpret != nullptr ? call(graph, node) : expand(graph, node);
  }
}

TYPEFLOW_DEFINITION void Interpreter::compute_source(const ir::Graph& graph, const ir::Node& node,
                                                     HostTensor& out) {
  const std::uint32_t* const words = graph.words_of(node);
  switch (node.op->builtin) {
    case Builtin::placeholder:
      out[0] = number_of(out.dtype, words[1], words[2]);
      return;
    case Builtin::constant:
      out[0] = number_of(out.dtype, words[0], words[1]);
      if (const int powers = static_cast<std::int32_t>(words[2]); powers != 0) {
        require_symbols(name_of(graph, node), powers < 0 ? -powers : powers);
        out.set(0, resolve(out.value(0), powers, symbols_.sizes()));
      }
      return;
    case Builtin::index_along:
      return compute_index(static_cast<int>(words[0]), out);
    default:
      return compute_elementwise(graph, node, out);
  }
}

TYPEFLOW_DEFINITION void Interpreter::compute_index(int axis, HostTensor& out) {
  std::int64_t stride = 1;
  for (int i = out.dims.rank - 1; i > axis; --i) stride *= out.dims.extent[i];
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out[i].integer = i / stride % out.dims.extent[axis];
  }
}

TYPEFLOW_DEFINITION void Interpreter::compute_elementwise(const ir::Graph& graph,
                                                          const ir::Node& node, HostTensor& out) {
  std::vector<Number> inputs(static_cast<std::size_t>(node.inputs.count));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    for (Id k = 0; k < node.inputs.count; ++k) {
      const HostTensor& x = value(graph.input(node, k));
      inputs[static_cast<std::size_t>(k)] = x[broadcast_index(i, out.dims, x.dims)];
    }
    out[i] = node.op->evaluate({graph, node, inputs.data(), i, random});
  }
}

TYPEFLOW_DEFINITION void Interpreter::read(const ir::Graph& graph, const ir::Node& node,
                                           HostTensor& out) {
  const auto found = assigned_.find(graph.variable_index(graph.input(node, 0)));
  out = found != assigned_.end() ? found->second : value(graph.input(node, 0));
}

TYPEFLOW_DEFINITION void Interpreter::call(const ir::Graph& graph, const ir::Node& node) {
  const bool updates = node.op->kind == Kind::update;
  const auto variable = [&]() -> HostTensor& {  // its present value
    const Id start = graph.input(node, 0);
    return assigned_.emplace(graph.variable_index(start), value(start)).first->second;
  };
  HostTensor* const outputs = updates ? &variable() : &value(node.outputs.first);
  std::vector<const HostTensor*> inputs;
  for (Id k = updates ? 1 : 0; k < node.inputs.count; ++k) {
    inputs.push_back(&value(graph.input(node, k)));
  }
  InterpretCall call{graph, node, inputs.data(), outputs, random};
  try {
    node.op->interpret(call);
  } catch (const Error& error) {
    throw Error(name_of(graph, node), error.what());
  }
}

TYPEFLOW_DEFINITION HostTensors interpret(const ir::Graph& graph, const HostTensors& feeds,
                                          const HostTensors& variables, RandomState random) {
  Interpreter interpreter(graph);
  interpreter.variables = variables;
  interpreter.random = random;
  std::vector<Id> ids;
  std::vector<std::string> names;
  for (const ir::Name& name : graph.names) {
    if (name.kind != ir::NameKind::value) continue;
    ids.push_back(name.value);
    names.emplace_back(graph.text_of(name).view());
  }
  const std::vector<HostTensor> values = interpreter.run_values(ids, feeds);
  HostTensors results;
  for (std::size_t i = 0; i < names.size(); ++i) results[names[i]] = values[i];
  return results;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
