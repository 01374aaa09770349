// SPDX-License-Identifier: Apache-2.0
#pragma once

// Plans a program's runs, and hands them feeds, variables and the caller's buffers. buffers.hpp
// checks the arguments; exec/ plans and runs.

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

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/binder.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/straight.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// The plans of an engine, each for some steps. They are found without a lock.
class PlanList {
 public:
  PlanList() = default;
  PlanList(const PlanList&) = delete;
  PlanList& operator=(const PlanList&) = delete;
  ~PlanList() {
    const Entry* entry = first_.load();
    while (entry != nullptr) delete std::exchange(entry, entry->next);
  }

  /// The plan for these steps; make() makes it.
  template <class F>
  const exec::Plan& get(std::span<const Id> steps, const F& make) {
    const exec::Plan* known = find(steps);
    if (known != nullptr) return *known;
    const std::lock_guard lock(mutex_);
    known = find(steps);
    if (known != nullptr) return *known;
    auto* const made = new Entry{{}, make(), first_.load()};
    for (const Id step : steps) made->steps.push(step);
    first_.store(made, std::memory_order_release);
    return made->plan;
  }

 private:
  struct Entry {
    bool is_for(std::span<const Id> others) const {
      if (static_cast<int>(others.size()) != steps.size()) return false;
      for (int i = 0; i < steps.size(); ++i) {
        if (steps[i] != others[static_cast<std::size_t>(i)]) return false;
      }
      return true;
    }
    Pool<Id> steps;
    exec::Plan plan;
    const Entry* next;
  };
  const exec::Plan* find(std::span<const Id> steps) const {
    const Entry* entry = first_.load(std::memory_order_acquire);
    while (entry != nullptr &&
           !std::equal(steps.begin(), steps.end(), entry->steps.begin(), entry->steps.end())) {
      entry = entry->next;
    }
    return entry != nullptr ? &entry->plan : nullptr;
  }

  std::atomic<const Entry*> first_{nullptr};  // the newest
  std::mutex mutex_;                          // guards making entries
};

}  // namespace detail

class Engine::Parts {
  using Arena = exec::Arena;
  using Binding = exec::Binding;

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
        execution_{program_,     target_.kernels,      target_.devices,
                   options.seed, options.check_finite, options_.print},
        launcher_(execution_),
        binder_(program_, target_.kernels, target_.devices, variables_, options.keep_all) {
    execution_.general = target.general;
    if (!options_.soft_placement) {
      for (const ir::Step& step : program_.steps) {
        detail::check_device(program_, step, target_.devices);
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
  ~Parts() {
    if (workers_ != nullptr) target_.general->stop(workers_);
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

  /// The layout for all steps of the program.
  TYPEFLOW_COLD exec::Layout layout(const SymbolSizes& sizes) {
    detail::check_sizes(program_, sizes);
    return exec::LayoutPlanner(program_, plan_of(all_steps()), sizes, options_.keep_all).run();
  }

  /// The plan of a run of these steps.
  const exec::Plan& plan_of(std::span<const Id> steps) {
    return plans_.get(steps, [&] { return make_plan(steps); });
  }
  std::span<const MachineDevice> devices() const { return target_.devices; }
  void trace(void (*take)(void*, int, Id), void* context) {
    execution_.trace = take;
    execution_.trace_context = context;
  }
  TYPEFLOW_COLD std::vector<DeviceStatistics> statistics() const {
    const Arena* const arena = arenas_.last();
    const exec::Binding* const last = arena == nullptr ? nullptr : arena->last;
    std::vector<DeviceStatistics> out;
    for (std::size_t d = 0; d < target_.devices.size(); ++d) {
      const exec::DeviceCounters& counters = binder_.counters(d);
      out.push_back({target_.devices[d].device, target_.devices[d].memory_limit,
                     counters.reserved.load(), last == nullptr ? 0 : last->layout.bytes[d],
                     last == nullptr ? 0 : last->layout.at_once[d], counters.allocations.load()});
    }
    return out;
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
    if (arena == nullptr || arena->last == nullptr)
      throw Error("value", "no run has been made yet");
    const Binding& binding = *arena->last;
    const exec::Plan& plan = *binding.plan;
    const int place = plan.home[slot] != none ? plan.home[slot] : plan.external[slot];
    if (place == none) throw refuse("the last run did not compute it");
    const int device = plan.places[place].device;
    const exec::StreamState& stream =
        binding.streams[device == exec::the_host ? 0 : stream_of(plan, device)];
    HostTensor out = host_tensor(type.dtype, resolve(type.dims, arena->sizes));
    const std::int64_t bytes = arena->slot_bytes[slot];
    const AlignedBytes copy(bytes);
    copy_out(device, copy.data(), stream.at[place], bytes);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      out[i] = ir::load_number(type.dtype, copy.data(), i);
    }
    return out;
  }

  /// Claims an arena for a run of these sizes.
  Arena* begin(const SymbolSizes& sizes) {
    Arena* const arena = arenas_.claim();
    try {
      binder_.resize(*arena, sizes);
    } catch (...) {
      arenas_.release(arena);
      throw;
    }
    return arena;
  }
  void end(Arena* arena) {
    arena->run.close();
    for (std::size_t d = 0; d < target_.devices.size(); ++d) arena->characters[d].clear();
    arenas_.release(arena);
  }

  void execute(Arena& arena, const SymbolSizes& sizes, std::span<const FedTensor> feeds,
               std::span<const Id> steps, std::span<const FetchTarget> fetches, bool draws) {
    Binding& binding = binder_.prepare(arena, plan_of(steps));
    arena.last = &binding;
    binder_.place_feeds(binding, feeds);
    const bool aside = detail::check_buffers(program_, variables_, sizes, feeds, fetches);
    const std::uint64_t draw = draws ? draws_.next_draw() : std::uint64_t{0};
    if (aside) {
      execute_aside(arena, binding, feeds, fetches, draw);
    } else {
      execute(arena, binding, feeds, fetches, draw);
    }
  }

 private:
  std::vector<Id> all_steps() const {
    std::vector<Id> steps(static_cast<std::size_t>(main_steps(program_)));
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<Id>(i);
    return steps;
  }

  TYPEFLOW_COLD exec::Plan make_plan(std::span<const Id> steps) {
    const MachineDevice& first = target_.devices[0];
    if (target_.general == nullptr ||
        (!exec::is_general(program_) && first.device == cpu(0) && first.memory->is_host())) {
      return exec::plan_straight(program_, 0, steps);
    }
    exec::Plan plan = target_.general->plan(program_, target_.devices, steps);
    if (plan.used_streams > 1 && workers_ == nullptr) {
      workers_ = target_.general->start(static_cast<int>(target_.devices.size()));
    }
    return plan;
  }
  static int stream_of(const exec::Plan& plan, int device) {
    return plan.streams.empty() ? 0 : device;
  }
  TYPEFLOW_COLD bool is_host(int device) const {
    return device == exec::the_host || execution_.device(device).memory->is_host();
  }
  /// Copies from a device's memory, or the host's, to the host's.
  TYPEFLOW_COLD void copy_out(int device, void* to, const void* from, std::int64_t bytes) const {
    if (bytes <= 0) return;
    if (is_host(device)) {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    } else {
      target_.general->transfer(execution_.device(device).memory, from, nullptr, to, bytes);
    }
  }

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
  TYPEFLOW_COLD void execute_aside(Arena& arena, Binding& binding, std::span<const FedTensor> feeds,
                                   std::span<const FetchTarget> fetches, std::uint64_t draw) {
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
    execute(arena, binding, feeds, targets, draw);
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      copy_out(exec::the_host, fetches[i].data, targets[i].data,
               detail::bytes_of(program_, fetches[i].name, arena.sizes));
    }
  }

  /// The place of a fetched tensor that steps compute; none for a fed one, a constant or a
  /// variable.
  int computed(const exec::Plan& plan, const FetchTarget& fetch) const {
    const Id slot = program_.names[fetch.name].slot;
    return program_.slots[slot].kind == ir::SlotKind::temporary ? plan.home[slot] : none;
  }
  /// Where a fetched tensor is that no step computes.
  const void* given(const Arena& arena, std::span<const FedTensor> feeds, Id slot) const {
    const void* found = binder_.outside(arena, slot);
    for (const FedTensor& fed : feeds) {  // the last one counts, as for steps
      if (fed.placeholder != none && program_.placeholders[fed.placeholder].slot == slot) {
        found = fed.data;
      }
    }
    return found;
  }

  void execute(Arena& arena, Binding& binding, std::span<const FedTensor> feeds,
               std::span<const FetchTarget> fetches, std::uint64_t draw) {
    const exec::Plan& plan = *binding.plan;
    // A fetched temporary is computed in the caller's buffer, if its device can write there.
    // Fetched tensors that are given are copied before the first step.
    struct Redirected {
      const Parts& parts;
      Binding& binding;
      std::span<const FetchTarget> fetches;
      ~Redirected() {
        for (const FetchTarget& f : fetches) {
          const int place = parts.computed(*binding.plan, f);
          if (place != none) parts.binder_.each_stream(binding, place, binding.own[place]);
        }
      }
    };
    const Redirected restore{*this, binding, fetches};
    const auto address = [&](int place) {
      return binding.streams[stream_of(plan, plan.places[place].device)].at[place];
    };
    for (const FetchTarget& f : fetches) {
      const int place = computed(plan, f);
      if (place == none) {
        copy_out(exec::the_host, f.data, given(arena, feeds, program_.names[f.name].slot),
                 detail::bytes_of(program_, f.name, arena.sizes));
      } else if (address(place) == binding.own[place] && !options_.keep_all &&
                 (plan.streams.empty() || is_host(plan.places[place].device))) {
        binder_.each_stream(binding, place, f.data);
      }
    }
    if (plan.streams.empty()) {
      run_straight(arena, binding, draw);
    } else {
      target_.general->run(execution_, arena, binding, draw, workers_);
    }
    for (const FetchTarget& f : fetches) {  // on other devices, or fetched again
      const int place = computed(plan, f);
      if (place == none || address(place) == f.data) continue;
      copy_out(plan.places[place].device, f.data, address(place),
               detail::bytes_of(program_, f.name, arena.sizes));
    }
  }
  void run_straight(Arena& arena, Binding& binding, std::uint64_t draw) {
    Failure failure;  // must outlive the kernels in the stream
    struct Finished {
      Stream* stream;
      ~Finished() { exec::finish(stream); }
    };
    {
      const Finished at_end{execution_.device(0).stream};
      exec::run_straight(launcher_, arena, binding, draw, failure);
    }
    if (failure.what != 0) launcher_.fail(arena, failure);
  }

  ir::ProgramView program_;
  TargetView target_;
  Variables& states_;
  Variables& draws_;  // the store with the counter of random draws
  EngineOptions options_;
  exec::Execution execution_;
  exec::Launcher launcher_;
  std::vector<detail::OpenVariable> variables_;
  exec::Binder binder_;
  detail::PlanList plans_;
  exec::ArenaPool arenas_;
  exec::Workers* workers_ = nullptr;  // made under the lock of plans_
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
  return parts_->layout(sizes).total();
}
TYPEFLOW_DEFINITION const exec::Plan& Engine::plan(std::span<const Id> steps) const {
  return parts_->plan_of(steps);
}
TYPEFLOW_DEFINITION std::span<const MachineDevice> Engine::devices() const {
  return parts_->devices();
}
TYPEFLOW_DEFINITION void Engine::trace(void (*take)(void*, int, Id), void* context) {
  parts_->trace(take, context);
}
TYPEFLOW_DEFINITION std::vector<DeviceStatistics> Engine::statistics() const {
  return parts_->statistics();
}
TYPEFLOW_DEFINITION HostTensor Engine::last_value(std::string_view name) const {
  return parts_->last_value(name);
}

TYPEFLOW_DEFINITION Engine::Run::Run(Engine& engine, std::span<const FedTensor> feeds)
    : engine_(engine),
      feeds_(feeds),
      sizes_(detail::FedSymbols(engine.program(), feeds).sizes()),
      arena_(engine.parts_->begin(sizes_)) {}
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
  engine_.parts_->execute(*arena_, sizes_, feeds_, steps, fetches, draws);
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

TYPEFLOW_COLD TYPEFLOW_DEFINITION TargetOptions target_options(int threads,
                                                               const DeviceList& devices,
                                                               std::string_view call,
                                                               const std::source_location* at) {
  const auto checked = [&](int requested) {
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
  };
  for (int i = 0; i < devices.size(); ++i) checked(devices[i].threads);
  return {checked(threads), devices};
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void print_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
