// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a model as sessions do, but for the compiler: graphs are compiled to programs at run time,
// and kernels are run from their descriptions.
//
// All else is what sessions have: which program serves a run, the engine with its arenas and memory
// plans, the store of variables. So whatever passes, lowering and planning do can be tested on any
// graph, without a compiler: what comes out is compared with the interpreter of graphs.
//
//   tf::Graph g;
//   model(g);
//   tf::ProgramInterpreter programs(g);
//   programs.variables = {{"W", w}, {"b", b}};
//   tf::HostTensor loss = programs.run({"loss", "train"}, {{"x", x}, {"y", y}})[0];

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/interpret/interpret.hpp"
#include "typeflow/interpret/kernel.hpp"
#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

/// A program that was compiled at run time, with tables as an engine takes them.
class InterpretedProgram {
 public:
  /// Error if the model has a mistake.
  explicit InterpretedProgram(ProgramPools&& pools) : pools_(std::move(pools)) {
    if (!pools_.error.empty()) throw Error(std::string(pools_.error.view()));
    for (const KernelSpec& kernel : pools_.specs) {
      entries_.push_back({&interpret_kernel, &no_workspace, &kernel});
    }
  }
  InterpretedProgram(const InterpretedProgram&) = delete;
  InterpretedProgram& operator=(const InterpretedProgram&) = delete;

  ProgramView view() const { return view_of(pools_); }
  /// Of each kernel: code that interprets its description.
  const KernelEntry* kernels() const { return entries_.data(); }
  const ProgramPools& pools() const { return pools_; }

 private:
  static std::int64_t no_workspace(const std::int64_t*) { return 0; }

  ProgramPools pools_;
  std::vector<KernelEntry> entries_;
};

/// Runs one graph's programs, any number of times. The graph must outlive it and stay as it is.
class ProgramInterpreter {
 public:
  /// A graph as traced; it may be one for debugging (Mode::debug).
  explicit ProgramInterpreter(const Graph& graph, std::uint64_t seed = 0,
                              const FusionLimits& limits = {})
      : graph_(graph), seed_(seed), limits_(limits), main_(part({})) {}
  explicit ProgramInterpreter(Graph&&, std::uint64_t = 0, const FusionLimits& = {}) = delete;

  HostTensors variables;   ///< as the next run starts; runs change those that their effects assign
  std::uint64_t draw = 0;  ///< of the next run; each run draws anew

  /// One run: the values of the tensors among the fetches, in their order; effects give none. Any
  /// named tensor can be fed. Errors: as those of Interpreter::run.
  std::vector<HostTensor> run(const std::vector<std::string>& fetches,
                              const HostTensors& feeds = {}) {
    const std::vector<Id> names = find_all(fetches);
    Part& part = part_for(names, feeds);
    const ProgramView view = part.program.view();
    const Selection selection = select_steps(view, names.data(), static_cast<int>(names.size()));
    require_feeds(view, selection, feeds);
    set_variables();
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
    std::vector<FetchTarget> targets;
    for (const Id name : names) {
      if (view.names[name].name.kind == NameKind::effect) continue;
      const Type& type = view.types[view.names[name].type];
      results.emplace_back(host_tensor(type.dtype, resolve(type.dims, run.sizes())));
      targets.push_back({name, results.back().bytes.data()});
    }
    std::vector<Id> steps;
    for (Id s = 0; s < view.steps.size; ++s) {
      if (selection.steps[s] != 0) steps.push_back(s);
    }
    store_.set_draws(draw);
    run.execute(steps, targets, selection.draws);
    ++draw;
    get_variables();
    std::vector<HostTensor> out;
    for (Tensor& result : results) out.push_back(result.value());
    return out;
  }

  /// The program for all that the model names.
  const InterpretedProgram& program() const { return main_.program; }

 private:
  /// A program and what runs it.
  struct Part {
    Part(ProgramPools&& pools, Variables& store, Variables& states, const EngineOptions& options)
        : program(std::move(pools)),
          engine(program.view(), TargetView{program.kernels()}, store, states, options) {}
    InterpretedProgram program;
    Engine engine;
  };
  /// Names that are fetched, and those that are fed besides placeholders.
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
      options.keep_all = has(graph_.mode(), Mode::debug);
      found = std::make_unique<Part>(compile(Graph(graph_), request, limits_), store_, states_,
                                     options);
    }
    return *found;
  }
  /// The program that a session would take.
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

  /// The number that a name has in programs, in which the paths of random operations are none.
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
  /// The same name in the graph.
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

  /// A tensor with its elements as an array of their own type.
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
      const std::string name(graph_.text_of(graph_.names[variable.name]).view());
      const Type& type = graph_.type_of(variable.value);
      Variables& store = variable.state ? states_ : store_;
      visit_dtype(type.dtype, [&](auto zero) {
        f(name, type, store.template get<decltype(zero)>(name).data());
      });
    }
  }
  void set_variables() {
    each_variable([&](const std::string& name, const Type& type, void* data) {
      const auto found = variables.find(name);
      if (found == variables.end()) return;
      const HostTensor& x = found->second;
      if (x.dtype != type.dtype || !(x.dims == type.dims)) {
        throw Error("variable \"" + name + '"', detail::to_string(type.dtype, type.dims),
                    detail::to_string(x.dtype, x.dims));
      }
      for (std::int64_t i = 0; i < x.size(); ++i) store_number(x.dtype, x[i], data, i);
    });
  }
  void get_variables() {
    each_variable([&](const std::string& name, const Type& type, const void* data) {
      variables[name] = read(type.dtype, type.dims, data);
    });
  }

  const Graph& graph_;
  std::uint64_t seed_;
  FusionLimits limits_;
  Variables store_;
  Variables states_;
  std::map<Key, std::unique_ptr<Part>> parts_;
  Part& main_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
