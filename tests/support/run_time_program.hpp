// SPDX-License-Identifier: Apache-2.0
#pragma once

// Graphs made at run time, run by compiled kernels.
//
// A kernel's type has no extents and no attributes (a product's says which loops its extents
// exclude), so those that one small model compiles to are all that any other graph of the same
// operations needs. A KernelTable collects them; a RunTimeProgram takes a graph the whole way to a
// program, finds its kernels there, and runs them as sessions do: hundreds of shapes and settings
// for the compile time of one.
//
//   test::KernelTable kernels;
//   kernels.add<model>();
//   test::RunTimeProgram program(graph, kernels);
//   program.run({{"x", x.data()}}, {{"y", y.data()}});

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// Compiled kernels and what they are of.
class KernelTable {
 public:
  /// Those of a model.
  template <auto Model>
  void add() {
    using Program = tf::ir::Lowering<Model>;
    static_assert(Program::error.empty());
    const auto& entries = tf::detail::kernel_table<Program, tf::CpuTarget<>>;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (kernels_.push_back({&Program::template Kernel<I>::value, entries[I]}), ...);
    }(std::make_integer_sequence<int, Program::kernel_count>{});
  }
  /// Error if there is none of this description.
  const tf::KernelEntry& find(const tf::ir::KernelSpec& spec) const {
    for (const Kernel& kernel : kernels_) {
      if (*kernel.spec == spec) return kernel.entry;
    }
    const std::string operation(spec.op != nullptr ? spec.op->name : "fused");
    throw tf::Error("a program made at run time", "none of the kernels is its " + operation);
  }

 private:
  struct Kernel {
    const tf::ir::KernelSpec* spec;
    tf::KernelEntry entry;
  };
  std::vector<Kernel> kernels_;
};

/// A graph without batch and variables as a program of compiled kernels.
class RunTimeProgram {
 public:
  /// The graph may go afterwards; the stream, if there is one, must stay.
  RunTimeProgram(const tf::Graph& graph, const KernelTable& kernels, tf::Stream* stream = nullptr)
      : program_(graph),
        entries_(find_all(program_, kernels)),
        device_{.device = tf::cpu(0), .stream = stream},
        engine_(program_.view(), {entries_.data(), {&device_, 1}, &tf::exec::general()}, store_,
                states_, tf::EngineOptions{}) {}

  /// One run: elements of all placeholders, and where those of results go, by name.
  void run(const std::map<std::string, const void*>& feeds,
           const std::map<std::string, void*>& results) {
    const tf::ir::ProgramView view = program_.view();
    std::vector<tf::FedTensor> fed;
    for (const auto& [text, data] : feeds) {
      const tf::Id name = tf::ir::find_name(view, text);
      const tf::Type& type = view.types[view.names[name].type];
      fed.push_back({name, tf::ir::placeholder_of(view, name), data, type.dtype,
                     tf::count_of(type.dims).coefficient, type.dims.rank, type.dims.extent});
    }
    std::vector<tf::FetchBuffer> buffers;
    for (const auto& [text, data] : results)
      buffers.push_back({tf::ir::find_name(view, text), data});
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < view.steps.size; ++s) steps.push_back(s);
    tf::Engine::Run run(engine_, fed);
    run.execute(steps, buffers, false);
  }

 private:
  static std::vector<tf::KernelEntry> find_all(const tf::ir::InterpretedProgram& program,
                                               const KernelTable& kernels) {
    std::vector<tf::KernelEntry> entries;
    for (const tf::ir::KernelSpec& spec : program.pools().specs)
      entries.push_back(kernels.find(spec));
    return entries;
  }

  tf::ir::InterpretedProgram program_;
  std::vector<tf::KernelEntry> entries_;
  tf::Variables store_;
  tf::Variables states_;
  tf::MachineDevice device_;
  tf::Engine engine_;
};

}  // namespace test
