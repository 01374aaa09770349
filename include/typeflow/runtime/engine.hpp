// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs programs: tables in, kernel calls out. Nothing here is a template, so its code is compiled
// once however many models a program has.
//
// What a run is given is checked in buffers.hpp, its memory is an arena of arena.hpp; here it is
// put together: steps in their order, fetched results in the caller's buffers.

#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/lower/memory_plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/arena.hpp"
#include "typeflow/runtime/block_runner.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/target.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// What all runs of an engine have in common.
struct EngineOptions {
  std::uint64_t seed = 0;
  bool initialize = true;
  bool check_finite = false;
  bool soft_placement = false;
  bool unused_variables = true;                 ///< open also those that no step uses
  bool keep_all = false;                        ///< every temporary keeps its memory, for value()
  std::function<void(std::string_view)> print;  ///< takes the lines of tf::print
};

class Engine {
  using Arena = detail::Arena;

 public:
  /// What the arguments refer to must outlive the engine.
  Engine(const ir::ProgramView& program, const TargetView& target, Variables& variables,
         Variables& states, const EngineOptions& options)
      : Engine(program, target, variables, &variables, states, options) {}
  /// On variables that are only read: it makes none, and the states number the draws. None of the
  /// steps that runs execute may assign a variable.
  Engine(const ir::ProgramView& program, const TargetView& target, const Variables& variables,
         Variables& states, const EngineOptions& options)
      : Engine(program, target, variables, nullptr, states, options) {}

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  TYPEFLOW_COLD ~Engine() = default;

  const ir::ProgramView& program() const { return program_; }

  /// Sets the states back to their initial values.
  TYPEFLOW_COLD void reset_states() {
    for (int i = 0; i < program_.variables.size; ++i) {
      const ir::ProgramVariable& v = program_.variables[i];
      Variables::Entry* const entry = variables_[static_cast<std::size_t>(i)].entry;
      if (!v.state || entry == nullptr) continue;
      Variables::reset(*entry, program_.names[v.name].name.hash, v.initializer, options_.seed);
    }
  }

  /// The bytes of the arena that a run of these sizes takes.
  std::int64_t arena_bytes(const SymbolSizes& sizes) const {
    detail::check_sizes(program_, sizes);
    return plan_memory(program_, sizes, options_.keep_all).bytes;
  }

  /// One run: feeds are checked, and the symbols are known, when it is made.
  class Run {
   public:
    Run(Engine& engine, std::span<const FedTensor> feeds)
        : engine_(engine),
          feeds_(feeds),
          sizes_(detail::FedSymbols(engine.program_, feeds).sizes()),
          arena_(engine.arenas_.claim()) {
      try {
        engine_.planner_.prepare(*arena_, sizes_);
        engine_.planner_.place_feeds(*arena_, feeds);
      } catch (...) {
        engine_.arenas_.release(arena_);
        throw;
      }
    }
    ~Run() {
      arena_->characters.clear();
      engine_.arenas_.release(arena_);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    /// What the symbols are.
    const SymbolSizes& sizes() const { return sizes_; }
    /// The shape of a tensor of this type in this run.
    std::int64_t extent(const Type& type, int axis) const {
      return resolve(type.dims.extent[axis], sizes_);
    }
    std::int64_t count(const Type& type) const { return count_of(type.dims).resolve(sizes_); }

    /// Error if a buffer is none for a tensor of this type: of another size, or of another shape
    /// if it has one (rank >= 0).
    void check_buffer(std::string_view name, const Type& type, std::int64_t count, int rank,
                      const std::int64_t* extents) const {
      bool fits = count == this->count(type) && (rank < 0 || rank == type.dims.rank);
      for (int i = 0; i < rank && fits; ++i) fits = extents[i] == extent(type, i);
      if (!fits) detail::refuse_shape(name, resolve(type.dims, sizes_), type, count, rank, extents);
    }

    /// Error if two of the fetches' buffers overlap, or one a variable of the program.
    void execute(std::span<const Id> steps, std::span<const FetchTarget> fetches, bool draws) {
      const bool aside =
          detail::check_buffers(engine_.program_, engine_.variables_, sizes_, feeds_, fetches);
      const std::uint64_t draw = draws ? engine_.draws_.next_draw() : std::uint64_t{0};
      if (aside) {
        engine_.execute_aside(*arena_, steps, fetches, draw);
      } else {
        engine_.execute(*arena_, steps, fetches, draw);
      }
    }

    /// A fetch found no memory for its result.
    [[noreturn]] TYPEFLOW_COLD void no_memory_for(Id name) const {
      Message text{};
      print_name(text, engine_.program_, name);
      const Type& type = engine_.program_.types[engine_.program_.names[name].type];
      throw Error("fetch \"" + std::string(text.view()) + "\"",
                  detail::no_memory(type, detail::bytes_of(engine_.program_, name, sizes_)));
    }

   private:
    Engine& engine_;
    std::span<const FedTensor> feeds_;
    SymbolSizes sizes_;
    Arena* arena_;
  };

  /// A copy of a tensor of the last run, if the engine keeps all; the arena that ran last has it.
  template <class F>
  void visit_last(Id slot, const F& f) {
    const Arena* const arena = arenas_.last();
    if (arena == nullptr) throw Error("value", "no run has been made yet");
    f(arena->slots[static_cast<std::size_t>(slot)], arena->sizes);
  }

 private:
  friend class Run;

  static constexpr int max_operands = 96;

  /// `writable`: the variables too, if they may be written.
  TYPEFLOW_COLD Engine(const ir::ProgramView& program, const TargetView& target,
                       const Variables& variables, Variables* writable, Variables& states,
                       const EngineOptions& options)
      : program_(program),
        target_(target),
        states_(states),
        draws_(writable != nullptr ? *writable : states),
        options_(options),
        planner_(program_, target, variables_, options.keep_all) {
    if (!options_.soft_placement) {
      for (const ir::Step& step : program_.steps) {
        detail::check_device(program_, step, target_.devices);
        detail::check_operands(program_, step);
      }
    }
    variables_.reserve(static_cast<std::size_t>(program_.variables.size));
    for (const ir::ProgramVariable& v : program_.variables) {
      if (v.slot == none && !options_.unused_variables) {
        variables_.push_back({nullptr});
        continue;
      }
      Message name{};
      print_name(name, program_, v.name);
      const Type& type = program_.types[v.type];
      Variables* const store = v.state ? &states_ : writable;
      variables_.push_back({store == nullptr
                                ? &variables.open(name.view(), type)
                                : &store->open(name.view(), type, v.initializer, options_.seed,
                                               options_.initialize || v.state)});
    }
  }

  /// A run whose results get memory of their own until it is done.
  TYPEFLOW_COLD void execute_aside(Arena& arena, std::span<const Id> steps,
                                   std::span<const FetchTarget> fetches, std::uint64_t draw) const {
    std::vector<FetchTarget> targets(fetches.begin(), fetches.end());
    std::vector<AlignedBytes> results;
    for (FetchTarget& target : targets) {
      const std::int64_t bytes = detail::bytes_of(program_, target.name, arena.sizes);
      try {
        target.data = results.emplace_back(bytes).data();
      } catch (const std::bad_alloc&) {
        Message name{};
        print_name(name, program_, target.name);
        throw Error("into \"" + std::string(name.view()) + "\"",
                    detail::no_memory(program_.types[program_.names[target.name].type], bytes));
      }
    }
    execute(arena, steps, targets, draw);
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      copy(fetches[i].data, targets[i].data,
           detail::bytes_of(program_, fetches[i].name, arena.sizes));
    }
  }

  void execute(Arena& arena, std::span<const Id> steps, std::span<const FetchTarget> fetches,
               std::uint64_t draw) const {
    // A temporary that is fetched is computed in its buffer; what else is fetched is copied: values
    // as they are when the run starts.
    struct Redirected {
      Arena& arena;
      const detail::ArenaPlanner& planner;
      const ir::ProgramView& program;
      std::span<const FetchTarget> fetches;
      Queue* queue;
      ~Redirected() {
        finish(queue);
        for (const FetchTarget& f : fetches) {
          const Id slot = program.names[f.name].slot;
          if (program.slots[slot].kind == ir::SlotKind::temporary) {
            arena.slot(slot) = arena.own_slot(slot);
          }
        }
        planner.place_parts(arena);
      }
    };
    Failure failure;  // there until the queue is finished
    const Redirected restore{arena, planner_, program_, fetches, target_.queue};
    for (const FetchTarget& f : fetches) {
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind != ir::SlotKind::temporary) {
        copy(f.data, arena.slot(slot), detail::bytes_of(program_, f.name, arena.sizes));
      } else if (arena.slot(slot) == arena.own_slot(slot) && !options_.keep_all) {
        arena.slot(slot) = f.data;
      }
    }
    planner_.place_parts(arena);
    for (const Id id : steps) run_step(arena, id, draw, failure);
    finish(target_.queue);
    if (failure.what != 0) fail(arena, failure);
    for (const FetchTarget& f : fetches) {  // a second fetch of one temporary
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind == ir::SlotKind::temporary && arena.slot(slot) != f.data) {
        copy(f.data, arena.slot(slot), detail::bytes_of(program_, f.name, arena.sizes));
      }
    }
  }
  /// What runs a step's blocks: it calls the engine for each of their steps.
  struct BlockSteps {
    const Engine& engine;
    Arena& arena;
    Failure& failure;
    void run(Id step, std::uint64_t draw) const { engine.run_step(arena, step, draw, failure); }
    void finish() const { Engine::finish(engine.target_.queue); }
  };

  void run_step(Arena& arena, Id id, std::uint64_t draw, Failure& failure) const {
    const ir::Step& step = program_.steps[id];
    const ir::KernelSummary& summary = program_.kernels[step.kernel];
    if (summary.kind == ir::KernelKind::control) {
      detail::BlockRunner<Arena, BlockSteps>(program_, arena, {*this, arena, failure})
          .run(step, draw);
      return;
    }
    void* operands[max_operands];
    const Id* const slots = program_.operands.data + step.operands.first;
    for (int i = 0; i < step.operands.count; ++i) operands[i] = arena.slot(slots[i]);
    try {
      const KernelEntry& kernel = target_.kernels[step.kernel];
      kernel.run({operands,
                  arena.extents.data() + step.extents.first,
                  program_.words.data + step.words.first,
                  arena.workspace.data(),
                  target_.queue,
                  {options_.seed, draw},
                  kernel.description,
                  &failure,
                  id,
                  &arena.characters});
    } catch (const Error& error) {
      detail::fail_step(program_, step, error.what());
    } catch (const std::bad_alloc&) {
      detail::fail_step(program_, step, "no memory for what its kernel needs besides its operands");
    }
    if (options_.check_finite || summary.prints) finish(target_.queue);
    if (failure.what != 0) fail(arena, failure);
    if (options_.check_finite) {
      detail::check_outputs(program_, step, arena.slots.data(), arena.sizes);
    }
    if (summary.prints) {
      detail::print_value(program_, step, arena.slots.data(), arena.sizes, options_.print);
    }
  }

  /// Throws what a kernel has found wrong.
  [[noreturn]] TYPEFLOW_COLD void fail(const Arena& arena, Failure& failure) const {
    const ir::Step& step = program_.steps[failure.step];
    const KernelEntry& kernel = target_.kernels[step.kernel];
    if (kernel.explain == nullptr) detail::fail_step(program_, step, "its data is wrong");
    const Error error = kernel.explain({nullptr,
                                        arena.extents.data() + step.extents.first,
                                        program_.words.data + step.words.first,
                                        nullptr,
                                        nullptr,
                                        {},
                                        kernel.description,
                                        &failure,
                                        failure.step});
    detail::fail_step(program_, step, error.what());
  }
  static void finish(Queue* queue) {
    if (queue != nullptr) queue->finish();
  }
  static void copy(void* to, const void* from, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  ir::ProgramView program_;
  TargetView target_;
  Variables& states_;
  Variables& draws_;  // whose counter numbers them
  EngineOptions options_;
  std::vector<detail::OpenVariable> variables_;
  detail::ArenaPlanner planner_;
  detail::ArenaPool arenas_;
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
