// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/interpret/kernel.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/run_limits.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA::ir {

class ProgramInterpreter::Parts {
 public:
  Parts(const Graph& graph, std::uint64_t seed, const FusionLimits& limits,
        const InterpretedMachine& machine)
      : graph_(graph), seed_(seed), limits_(limits), machine_(machine), main_(part({})) {}

  std::vector<HostTensor> run(const std::vector<std::string>& fetches, const HostTensors& feeds,
                              HostTensors& store, std::uint64_t first_draw,
                              const std::stop_token& token) {
    const std::vector<Id> names = find_all(fetches);
    Part& part = part_for(names, feeds);
    const ProgramView view = part.program.view();
    const Selection selection = select_steps(view, names.data(), static_cast<int>(names.size()));
    require_feeds(view, selection, feeds);
    set_variables(store);
    std::vector<Tensor> fed_tensors;
    fed_tensors.reserve(feeds.size());
    std::vector<FedTensor> fed;
    for (const auto& [name, tensor] : feeds) {
      fed_tensors.emplace_back(tensor);
      fed.push_back(fed_tensor(view, find(name), tensor, fed_tensors.back().bytes.data()));
    }

    Engine::Run run(part.engine, fed);
    std::vector<Tensor> results;
    results.reserve(names.size());
    std::vector<FetchBuffer> buffers;
    for (const Id name : names) {
      if (view.names[name].name.kind == NameKind::effect) continue;
      const Type& type = view.types[view.names[name].type];
      results.emplace_back(host_tensor(type.dtype, resolve(type.dims, run.sizes())));
      buffers.push_back({name, results.back().bytes.data()});
    }
    std::vector<Id> steps;
    for (Id s = 0; s < view.steps.size; ++s) {
      if (selection.steps[s] != 0) steps.push_back(s);
    }
    store_.set_draws(first_draw);
    const auto execute = [&] { run.execute(steps, buffers, selection.draws); };
    if (token.stop_possible()) {
      execute_within(run, execute, stop_when(token));
    } else {
      execute();
    }
    get_variables(store);
    std::vector<HostTensor> out;
    for (Tensor& result : results) out.push_back(result.value());
    return out;
  }

  const InterpretedProgram& program() const { return main_.program; }

 private:
  /// A program and its engine.
  struct Part {
    Part(const Graph& graph, const Request& request, const FusionLimits& limits,
         const InterpretedMachine& machine, Variables& store, Variables& states,
         const EngineOptions& options)
        : program(graph, request, limits, machine),
          engine(program.view(), TargetView{program.kernels(), machine.devices, &exec::general()},
                 store, states, options) {}
    InterpretedProgram program;
    Engine engine;
  };
  /// The names that are fetched, and the fed names that are not placeholders.
  using Key = std::pair<std::vector<Id>, std::vector<Id>>;

  Part& part(const Key& key) {
    std::unique_ptr<Part>& found = parts_[key];
    if (found == nullptr) {
      Request request;
      request.everything = key.first.empty() && key.second.empty();
      for (const Id name : key.first) request.fetches.push(traced_name(name));
      for (const Id name : key.second) request.feeds.push(traced_name(name));
      EngineOptions options;
      options.seed = seed_;
      options.soft_placement = true;
      options.by_cost = machine_.by_cost;
      options.keep_all = has(graph_.mode(), Mode::debug);
      found = std::make_unique<Part>(graph_, request, limits_, machine_, store_, states_, options);
    }
    return *found;
  }
  /// The program that a session would choose for this run.
  Part& part_for(const std::vector<Id>& names, const HostTensors& feeds) {
    const ProgramView view = main_.program.view();
    Key key{names, {}};
    bool own = false;
    for (const Id name : names) {
      const ProgramName& record = view.names[name];
      own = own || (record.name.kind != NameKind::effect && record.slot == none);
    }
    own = own || !select_steps(view, names.data(), static_cast<int>(names.size())).exact;
    for (const auto& [text, tensor] : feeds) {
      const Id name = find(text);
      const NameKind kind = view.names[name].name.kind;
      if (kind == NameKind::effect) throw Error("feed \"" + text + "\"", "an effect can't be fed");
      if (kind == NameKind::variable || kind == NameKind::state) {
        throw Error("feed \"" + text + "\"", "a variable is set in its store, not fed");
      }
      if (kind == NameKind::value) key.second.push_back(name);
    }
    return own || !key.second.empty() ? part(key) : main_;
  }

  /// The number of a name in programs. The graph has other numbers: there, paths of random
  /// operations are names, too.
  Id find(const std::string& text) const {
    const Id name = find_name(main_.program.view(), text);
    if (name == none) throw Error('"' + text + '"', "the model has nothing of this name");
    return name;
  }
  std::vector<Id> find_all(const std::vector<std::string>& texts) const {
    std::vector<Id> names;
    for (const std::string& text : texts) names.push_back(find(text));
    return names;
  }
  /// The graph's number of a program's name.
  Id traced_name(Id name) const {
    return graph_.find_name(main_.program.view().names[name].name.hash);
  }

  void require_feeds(const ProgramView& view, const Selection& selection,
                     const HostTensors& feeds) const {
    std::vector<bool> fed(static_cast<std::size_t>(view.placeholders.size), false);
    for (const auto& [name, tensor] : feeds) {
      const Id placeholder = placeholder_of(view, find(name));
      if (placeholder != none) fed[static_cast<std::size_t>(placeholder)] = true;
    }
    for (Id i = 0; i < view.placeholders.size; ++i) {
      const ProgramPlaceholder& p = view.placeholders[i];
      if (selection.placeholders[i] == 0 || p.has_default || fed[static_cast<std::size_t>(i)]) {
        continue;
      }
      Message name{};
      print_name(name, view, p.name);
      const Type& type = view.types[view.names[p.name].type];
      throw Error("feed \"" + std::string(name.view()) + '"',
                  detail::to_string(type.dtype, type.dims), "nothing");
    }
  }

  // Tensors in memory.

  /// A tensor whose elements are bytes of its element type.
  struct Tensor {
    DType dtype;
    Dims dims;
    std::vector<std::byte> bytes;

    explicit Tensor(const HostTensor& x)
        : dtype(x.dtype),
          dims(x.dims),
          bytes(x.elements.size() * static_cast<std::size_t>(size_of(x.dtype))) {
      for (std::int64_t i = 0; i < x.size(); ++i) store_number(dtype, x[i], bytes.data(), i);
    }
    HostTensor value() const { return read(dtype, dims, bytes.data()); }
  };
  static HostTensor read(DType dtype, const Dims& dims, const void* data) {
    HostTensor x = host_tensor(dtype, dims);
    for (std::int64_t i = 0; i < x.size(); ++i) x[i] = load_number(dtype, data, i);
    return x;
  }
  static FedTensor fed_tensor(const ProgramView& view, Id name, const HostTensor& x,
                              const void* data) {
    return {name, placeholder_of(view, name), data, x.dtype, x.size(), x.dims.rank, x.dims.extent};
  }

  template <class F>
  void each_variable(const F& f) {
    for (const VariableRecord& variable : graph_.variable_records) {
      if (variable.is_resource()) continue;
      const std::string name(graph_.text_of(graph_.names[variable.name]).view());
      const Type& type = graph_.type_of(variable.value);
      Variables& store = variable.state ? states_ : store_;
      f(name, type, store);
    }
  }
  void set_variables(const HostTensors& store) {
    each_variable([&](const std::string& name, const Type& type, Variables& variables) {
      const auto found = store.find(name);
      if (found == store.end()) return;
      const HostTensor& x = found->second;
      if (x.dtype != type.dtype || !(x.dims == type.dims)) {
        throw Error("variable \"" + name + '"', detail::to_string(type.dtype, type.dims),
                    detail::to_string(x.dtype, x.dims));
      }
      const Tensor wanted(x);
      const VariableEntry& entry = *variables.find(name);
      if (std::ranges::equal(wanted.bytes, entry.bytes)) return;  // copies on devices stay valid
      variables.set_bytes(name, type.dtype, type.dims, wanted.bytes);
    });
  }
  void get_variables(HostTensors& store) {
    each_variable([&](const std::string& name, const Type& type, const Variables& variables) {
      store[name] = read(type.dtype, type.dims, variables.find(name)->bytes.data());
    });
  }

  const Graph& graph_;
  std::uint64_t seed_;
  FusionLimits limits_;
  InterpretedMachine machine_;
  Variables store_;
  Variables states_;
  std::map<Key, std::unique_ptr<Part>> parts_;
  Part& main_;
};

TYPEFLOW_DEFINITION InterpretedProgram::InterpretedProgram(const Graph& graph,
                                                           const Request& request,
                                                           const FusionLimits& limits,
                                                           const InterpretedMachine& machine)
    : pools_(compile(Graph(graph), request, limits)) {
  if (!pools_.error.empty()) throw Error(std::string(pools_.error.view()));
  for (const KernelSpec& kernel : pools_.specs) {
    entries_.push_back({machine.run, [](const std::int64_t*) { return std::int64_t{0}; }, &kernel});
  }
  for (int k = 0; k < pools_.kernels.size() && machine.may_wait != nullptr; ++k) {
    KernelSummary& kernel = pools_.kernels[k];
    if (kernel.kind != KernelKind::control && machine.may_wait(k)) kernel.may_wait = true;
  }
}
TYPEFLOW_DEFINITION InterpretedProgram::~InterpretedProgram() {}

TYPEFLOW_DEFINITION ProgramInterpreter::ProgramInterpreter(const Graph& graph, std::uint64_t seed,
                                                           const FusionLimits& limits,
                                                           const InterpretedMachine& machine)
    : parts_(new Parts(graph, seed, limits, machine)) {}
TYPEFLOW_DEFINITION ProgramInterpreter::~ProgramInterpreter() { delete parts_; }

TYPEFLOW_DEFINITION std::vector<HostTensor> ProgramInterpreter::run(
    const std::vector<std::string>& fetches, const HostTensors& feeds) {
  std::vector<HostTensor> results = parts_->run(fetches, feeds, variables, draw, stop);
  ++draw;
  return results;
}
TYPEFLOW_DEFINITION const InterpretedProgram& ProgramInterpreter::program() const {
  return parts_->program();
}

}  // namespace typeflow::inline TYPEFLOW_ISA::ir
