// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs a program's steps in order, and writes fetched results to the caller's buffers. buffers.hpp
// checks the arguments; arena.hpp has the memory.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/lower/memory_plan.hpp"
#include "typeflow/runtime/arena.hpp"
#include "typeflow/runtime/block_runner.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/engine.hpp"
#include "typeflow/runtime/memory.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

class Engine::Parts {
  using Arena = detail::Arena;

 public:
  /// `writable` is the store of `variables` if runs may write it, else null.
  TYPEFLOW_COLD Parts(const ir::ProgramView& program, const TargetView& target,
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

  const ir::ProgramView& program() const { return program_; }

  TYPEFLOW_COLD void reset_states() {
    for (int i = 0; i < program_.variables.size; ++i) {
      const ir::ProgramVariable& v = program_.variables[i];
      Variables::Entry* const entry = variables_[static_cast<std::size_t>(i)].entry;
      if (!v.state || entry == nullptr) continue;
      Variables::reset(*entry, program_.names[v.name].name.hash, v.initializer, options_.seed);
    }
  }

  TYPEFLOW_COLD std::int64_t arena_bytes(const SymbolSizes& sizes) const {
    detail::check_sizes(program_, sizes);
    return plan_memory(program_, sizes, options_.keep_all).bytes;
  }

  TYPEFLOW_COLD HostTensor last_value(std::string_view name) const {
    const auto refuse = [&](const char* why) -> Error {
      return Error("value(\"" + std::string(name) + "\")", why);
    };
    const Id slot = find_slot(name);
    if (slot == none) throw refuse("no such tensor");
    const Type& type = program_.type_of(slot);
    if (type.dtype == DType::string) {
      throw refuse("is a tensor of strings: give it a name, and fetch it");
    }
    const Arena* const arena = arenas_.last();
    if (arena == nullptr) throw Error("value", "no run has been made yet");
    HostTensor out = host_tensor(type.dtype, resolve(type.dims, arena->sizes));
    const void* const data = arena->slots[static_cast<std::size_t>(slot)];
    for (std::int64_t i = 0; i < out.size(); ++i) out[i] = ir::load_number(type.dtype, data, i);
    return out;
  }

  /// Claims an arena, and prepares it for a run with these feeds.
  Arena* begin(std::span<const FedTensor> feeds, const SymbolSizes& sizes) {
    Arena* const arena = arenas_.claim();
    try {
      planner_.prepare(*arena, sizes);
      planner_.place_feeds(*arena, feeds);
    } catch (...) {
      arenas_.release(arena);
      throw;
    }
    return arena;
  }
  void end(Arena* arena) {
    arena->run.close();
    arena->characters.clear();
    arenas_.release(arena);
  }

  void execute(Arena& arena, std::span<const FedTensor> feeds, std::span<const Id> steps,
               std::span<const FetchTarget> fetches, bool draws) {
    const bool aside = detail::check_buffers(program_, variables_, arena.sizes, feeds, fetches);
    const std::uint64_t draw = draws ? draws_.next_draw() : std::uint64_t{0};
    if (aside) {
      execute_aside(arena, steps, fetches, draw);
    } else {
      execute(arena, steps, fetches, draw);
    }
  }

  /// Runs one step. Branches and loops call it for the steps of their blocks.
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
                  &arena.characters,
                  &arena.run});
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

 private:
  static constexpr int max_operands = 96;

  /// Runs the steps in the blocks of a branch or loop.
  struct BlockSteps {
    const Parts& engine;
    Arena& arena;
    Failure& failure;
    void run(Id step, std::uint64_t draw) const { engine.run_step(arena, step, draw, failure); }
    void finish() const { Parts::finish(engine.target_.queue); }
  };

  /// The slot of a tensor: by name, or by scope and operation; none if there is none.
  Id find_slot(std::string_view name) const {
    const Id id = find_name(program_, name);
    if (id != none && program_.names[id].slot != none) return program_.names[id].slot;
    for (const ir::Step& step : program_.steps) {
      if (step.operands.count == step.inputs) continue;
      Message path{};
      print_scope(path, program_.scopes, step.label.scope, false);
      path << step.label.operation.view();
      if (path.view() == name) return program_.operands[step.operands.first + step.inputs];
    }
    return none;
  }

  /// A run with temporary buffers, because a caller's buffer overlaps a feed.
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
    // A fetched temporary is computed in the caller's buffer. Other fetched values are copied
    // before the first step.
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
    Failure failure;  // must outlive the kernels in the queue
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
    for (const FetchTarget& f : fetches) {  // temporaries that are fetched again
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind == ir::SlotKind::temporary && arena.slot(slot) != f.data) {
        copy(f.data, arena.slot(slot), detail::bytes_of(program_, f.name, arena.sizes));
      }
    }
  }

  /// Throws the error that a kernel has reported.
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
  Variables& draws_;  // the store with the counter of random draws
  EngineOptions options_;
  std::vector<detail::OpenVariable> variables_;
  detail::ArenaPlanner planner_;
  detail::ArenaPool arenas_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION Engine::Engine(const ir::ProgramView& program,
                                                 const TargetView& target, Variables& variables,
                                                 Variables& states, const EngineOptions& options)
    : parts_(new Parts(program, target, variables, &variables, states, options)) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Engine::Engine(const ir::ProgramView& program,
                                                 const TargetView& target,
                                                 const Variables& variables, Variables& states,
                                                 const EngineOptions& options)
    : parts_(new Parts(program, target, variables, nullptr, states, options)) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION Engine::~Engine() { delete parts_; }

TYPEFLOW_DEFINITION const ir::ProgramView& Engine::program() const { return parts_->program(); }
TYPEFLOW_DEFINITION void Engine::reset_states() { parts_->reset_states(); }
TYPEFLOW_DEFINITION std::int64_t Engine::arena_bytes(const SymbolSizes& sizes) const {
  return parts_->arena_bytes(sizes);
}
TYPEFLOW_DEFINITION HostTensor Engine::last_value(std::string_view name) const {
  return parts_->last_value(name);
}

TYPEFLOW_DEFINITION Engine::Run::Run(Engine& engine, std::span<const FedTensor> feeds)
    : engine_(engine),
      feeds_(feeds),
      sizes_(detail::FedSymbols(engine.program(), feeds).sizes()),
      arena_(engine.parts_->begin(feeds, sizes_)) {}
TYPEFLOW_DEFINITION Engine::Run::~Run() { engine_.parts_->end(arena_); }

TYPEFLOW_DEFINITION void Engine::Run::check_buffer(std::string_view name, const Type& type,
                                                   std::int64_t count, int rank,
                                                   const std::int64_t* extents) const {
  bool fits = count == this->count(type) && (rank < 0 || rank == type.dims.rank);
  for (int i = 0; i < rank && fits; ++i) fits = extents[i] == extent(type, i);
  if (!fits) detail::refuse_shape(name, resolve(type.dims, sizes_), type, count, rank, extents);
}

TYPEFLOW_DEFINITION void Engine::Run::execute(std::span<const Id> steps,
                                              std::span<const FetchTarget> fetches, bool draws) {
  engine_.parts_->execute(*arena_, feeds_, steps, fetches, draws);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void Engine::Run::no_memory_for(Id name) const {
  const ir::ProgramView& program = engine_.program();
  Message text{};
  print_name(text, program, name);
  throw Error("fetch \"" + std::string(text.view()) + "\"",
              detail::no_memory(program.types[program.names[name].type],
                                detail::bytes_of(program, name, sizes_)));
}

namespace detail {

struct OtherEngines::List {
  struct Entry {
    const ir::ProgramView* program;
    std::unique_ptr<Engine> engine;
    const Entry* next;
  };
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    const Entry* entry = first.load();
    while (entry != nullptr) delete std::exchange(entry, entry->next);
  }

  static Engine* find(const Entry* entry, const ir::ProgramView* program) {
    while (entry != nullptr && entry->program != program) entry = entry->next;
    return entry != nullptr ? entry->engine.get() : nullptr;
  }

  std::atomic<const Entry*> first{nullptr};  // the newest
  std::mutex mutex;                          // guards making entries
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION OtherEngines::OtherEngines() : list_(new List) {}
TYPEFLOW_COLD TYPEFLOW_DEFINITION OtherEngines::~OtherEngines() { delete list_; }

TYPEFLOW_DEFINITION Engine& OtherEngines::get(const ir::ProgramView& program, Make make,
                                              void* session) {
  if (Engine* const known = List::find(list_->first.load(std::memory_order_acquire), &program)) {
    return *known;
  }
  const std::lock_guard lock(list_->mutex);
  const List::Entry* const first = list_->first.load(std::memory_order_relaxed);
  if (Engine* const known = List::find(first, &program)) return *known;
  const auto* const made = new List::Entry{&program, make(session), first};
  list_->first.store(made, std::memory_order_release);
  return *made->engine;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION int thread_count(int requested, std::string_view call,
                                                   const std::source_location* at) {
  if (requested < 0) {
    std::string where(call);
    if (at != nullptr) {
      where +=
          " (" + std::string(file_name(at->file_name())) + ':' + std::to_string(at->line()) + ')';
    }
    throw Error(where, "threads >= 0", std::to_string(requested));
  }
  return requested > 0 ? requested
                       : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void print_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
