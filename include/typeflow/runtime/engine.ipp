// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hands a program's runs feeds, variables and the caller's buffers. buffers.hpp checks the
// arguments; exec/ plans and runs.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/binder.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/placer.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/plan_cache.hpp"
#include "typeflow/exec/straight.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/engine.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

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
        on_host_(move_to_host()),
        execution_{program_,      target_.kernels,      target_.devices,
                   options.seed,  options.check_finite, options.wait_for_steps,
                   options_.print},
        launcher_(execution_),
        binder_(program_, target_.kernels, target_.devices, variables_, variables.table(),
                options.seed, options.keep_all),
        plans_(execution_, options_.by_cost, binder_) {
    if (options_.placer != nullptr) placed_ = options_.placer->place(placement_task());
    if (options_.by_cost != nullptr) target_.general = options_.by_cost->general;
    execution_.general = target_.general;
    execution_.looks = options.check_finite || options.wait_for_steps;
    for (const ir::KernelSummary& kernel : program_.kernels) execution_.looks |= kernel.prints;
    execution_.counters = &binder_.counters(0);
    if (!options_.soft_placement) {
      for (const ir::Step& step : program_.steps) {
        // What the model leaves open runs elsewhere if the device is missing.
        if (!step.device.is_open) detail::check_device(program_, step, target_.devices);
      }
    }
    variables_.reserve(static_cast<std::size_t>(program_.variables.size));
    for (const ir::ProgramVariable& v : program_.variables) {
      if (v.slot == none && !options_.unused_variables) {
        variables_.push_back({nullptr, nullptr});
        continue;
      }
      Message name{};
      print_name(name, program_, v.name);
      const Type& type = program_.types[v.type];
      Variables* const store = v.state ? &states_ : writable;
      variables_.push_back({store == nullptr
                                ? &variables.open(name.view(), type)
                                : &store->open(name.view(), type, v.initializer, options_.seed,
                                               options_.initialize || v.state),
                            &(v.state ? states_ : variables).table()});
    }
  }

  const ir::ProgramView& program() const { return program_; }

  TYPEFLOW_COLD void reset_states() {
    for (int i = 0; i < program_.variables.size; ++i) {
      const ir::ProgramVariable& v = program_.variables[i];
      Variables::Entry* const entry = variables_[static_cast<std::size_t>(i)].entry;
      if (!v.state || entry == nullptr) continue;
      states_.table().use(*entry, VariableUse::replace);
      Variables::reset(*entry, program_.names[v.name].name.hash, v.initializer, options_.seed);
    }
  }

  /// The layout for all steps of the program.
  TYPEFLOW_COLD exec::Layout layout(const SymbolSizes& sizes) {
    detail::check_sizes(program_, sizes);
    return exec::LayoutPlanner(program_, plans_.get_all(), sizes, options_.keep_all).run();
  }

  /// The plan of a run of these steps.
  const exec::Plan& plan_of(std::span<const Id> steps) { return plans_.get(steps); }
  std::span<const MachineDevice> devices() const { return target_.devices; }
  void trace(KernelTrace* trace) { execution_.trace = trace; }
  TYPEFLOW_COLD std::vector<DeviceStatistics> statistics() const {
    std::vector<DeviceStatistics> out;
    for (std::size_t d = 0; d < target_.devices.size(); ++d) {
      const exec::DeviceCounters& counters = binder_.counters(d);
      out.push_back({target_.devices[d].device, target_.devices[d].memory_limit,
                     counters.reserved.load(), counters.peak.load(), 0, 0, 0,
                     counters.allocations.load(), counters.sent.load()});
    }
    arenas_.each([&](const Arena& arena, bool is_last) {
      for (std::size_t d = 0; d < out.size(); ++d) {
        const exec::ArenaFigures& figures = arena.figures[d];
        if (arena.runs.load()) out[d].live += figures.planned.load();
        if (!is_last) continue;
        out[d].planned = figures.planned.load();
        out[d].lower_bound = figures.at_once.load();
      }
    });
    return out;
  }

  TYPEFLOW_COLD HostTensor last_value(std::string_view name) const {
    const auto refuse = [&](const char* why) -> Error {
      return Error(detail::sentence({"value(\"", name, "\")"}), why);
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
    const int stream = std::max(plan.places[place].stream, 0);
    HostTensor out = host_tensor(type.dtype, resolve(type.dims, arena->sizes));
    const std::int64_t bytes = arena->slot_bytes[slot];
    const AlignedBytes copy(bytes);
    copy_out(device, copy.data(), binding.at[stream][place], bytes);
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
    arena->run.stop.reset();
    for (std::size_t d = 0; d < target_.devices.size(); ++d) {
      arena->characters[d].clear();
    }
    arena->runs.store(false, std::memory_order_relaxed);
    arenas_.release(arena);
  }

  /// Forced inline into its one caller: to pass so many arguments again costs a short run 5%.
  TYPEFLOW_INLINE void execute(Arena& arena, std::span<const FedTensor> feeds,
                               std::span<const Id> steps, std::span<FetchBuffer> fetches,
                               bool draws) {
    Binding& binding = binder_.prepare(arena, plan_of(steps));
    if (arena.last != &binding) show(arena, binding);
    arena.runs.store(true, std::memory_order_relaxed);
    binder_.place_feeds(binding, feeds);
    const bool overlaps =
        detail::check_buffers(program_, variables_, arena.slot_bytes.data(), feeds, fetches);
    const std::uint64_t draw = draws ? draws_.next_draw() : std::uint64_t{0};
    const std::unique_ptr<Aside> aside = overlaps ? set_aside(arena, fetches) : nullptr;
    execute(arena, binding, feeds, overlaps ? std::span(aside->buffers) : fetches, draw);
    if (overlaps) copy_back(arena, *aside, fetches);
  }

 private:
  TYPEFLOW_COLD exec::PlacementTask placement_task() {
    return {program_,
            target_.devices,
            target_.general,
            options_.soft_placement,
            options_.whole_model,
            options_.print};
  }
  /// Has the processor run what other devices can't.
  TYPEFLOW_COLD std::unique_ptr<exec::Placed> move_to_host() {
    if (target_.move_to_host == nullptr) return nullptr;
    return target_.move_to_host(placement_task(), {target_.kernels, target_.host_kernels},
                                target_.kernels);
  }
  /// The arena runs another plan, or has bound it anew.
  void show(Arena& arena, Binding& binding) const {
    arena.last = &binding;
    for (std::size_t d = 0; d < target_.devices.size(); ++d) {
      arena.figures[d].planned.store(binding.layout.bytes[d], std::memory_order_relaxed);
      arena.figures[d].at_once.store(binding.layout.at_once[d], std::memory_order_relaxed);
    }
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
  Id find_slot(std::string_view text) const {
    const std::string_view name = plain_name(text);
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

  std::int64_t bytes_of(const Arena& arena, const FetchBuffer& fetch) const {
    return arena.slot_bytes[program_.names[fetch.name].slot];
  }

  /// Temporary buffers of a run, because a caller's buffer overlaps a feed.
  struct Aside {
    TYPEFLOW_COLD ~Aside() {}
    std::vector<FetchBuffer> buffers;
    std::vector<AlignedBytes> results;
  };
  TYPEFLOW_COLD std::unique_ptr<Aside> set_aside(const Arena& arena,
                                                 std::span<const FetchBuffer> fetches) const {
    auto aside = std::make_unique<Aside>();
    aside->buffers.assign(fetches.begin(), fetches.end());
    for (FetchBuffer& buffer : aside->buffers) {
      const std::int64_t bytes = bytes_of(arena, buffer);
      try {
        buffer.data = aside->results.emplace_back(bytes).data();
      } catch (const std::bad_alloc&) {
        throw Error(detail::text_of("into", program_, buffer.name),
                    detail::no_memory(program_.types[program_.names[buffer.name].type], bytes));
      }
    }
    return aside;
  }
  TYPEFLOW_COLD void copy_back(const Arena& arena, const Aside& aside,
                               std::span<const FetchBuffer> fetches) const {
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      copy_out(exec::the_host, fetches[i].data, aside.buffers[i].data, bytes_of(arena, fetches[i]));
    }
  }

  /// Copies a fetched tensor that no step computes: fed, a constant or a variable.
  TYPEFLOW_COLD void copy_given(const Arena& arena, const Binding& binding,
                                std::span<const FedTensor> feeds, const FetchBuffer& fetch) const {
    const exec::Plan& plan = *binding.plan;
    const Id slot = program_.names[fetch.name].slot;
    const void* found = binder_.outside(arena, slot);
    int device = exec::the_host;
    if (const int home = plan.home[slot]; home != none) {  // a variable's copy on a device
      found = binding.own[home];
      device = plan.places[home].device;
    } else if (program_.slots[slot].kind == ir::SlotKind::variable) {
      binder_.use(slot, VariableUse::read, nullptr);
    }
    for (const FedTensor& fed : feeds) {  // the last one counts, as for steps
      if (fed.placeholder != none && program_.placeholders[fed.placeholder].slot == slot) {
        found = fed.data;
      }
    }
    copy_out(device, fetch.data, found, bytes_of(arena, fetch));
  }

  TYPEFLOW_INLINE void execute(Arena& arena, Binding& binding, std::span<const FedTensor> feeds,
                               std::span<FetchBuffer> fetches, std::uint64_t draw) {
    const exec::Plan& plan = *binding.plan;
    // A fetched temporary is computed in the caller's buffer, if its device can write there.
    struct Redirected {
      const exec::Binder& binder;
      Binding& binding;
      std::span<const FetchBuffer> fetches;
      ~Redirected() {
        for (const FetchBuffer& f : fetches) {
          if (f.place != none) binder.each_stream(binding, f.place, binding.own[f.place]);
        }
      }
    };
    const Redirected restore{binder_, binding, fetches};
    // Steps write a temporary in its stream.
    const auto address = [&](int p) { return binding.at[plan.places[p].stream][p]; };
    for (FetchBuffer& f : fetches) {
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind == ir::SlotKind::temporary) f.place = plan.home[slot];
      if (f.place == none) {
        copy_given(arena, binding, feeds, f);
        continue;
      }
      if (address(f.place) == binding.own[f.place] && !options_.keep_all &&
          (plan.streams.empty() || is_host(plan.places[f.place].device))) {
        binder_.each_stream(binding, f.place, f.data);
        f.is_direct = true;
      }
    }
    if (plan.streams.empty()) {
      run_straight(arena, binding, draw);
    } else {
      target_.general->run(execution_, arena, binding, draw, plans_.workers(plan));
    }
    bool has_copied = false;
    for (const FetchBuffer& f : fetches) {  // on other devices, or fetched again
      if (f.place == none || f.is_direct) continue;
      copy_out(plan.places[f.place].device, f.data, address(f.place), bytes_of(arena, f));
      has_copied = true;
    }
    if (has_copied && plan.used_devices > 1) target_.general->check(execution_, plan);
  }
  void run_straight(Arena& arena, Binding& binding, std::uint64_t draw) {
    Failure failure;  // must outlive the kernels in the stream
    struct Finished {
      Stream* stream;
      ~Finished() { exec::finish(stream); }
    };
    {
      const Finished at_end{execution_.device(binding.plan->main_device).stream};
      exec::run_straight(launcher_, arena, binding, draw, failure);
    }
    if (failure.what != 0) launcher_.fail(arena, failure);
  }

  ir::ProgramView program_;
  std::unique_ptr<exec::Placed> placed_;  // null if the program is as it was compiled
  TargetView target_;
  Variables& states_;
  Variables& draws_;  // the store with the counter of random draws
  EngineOptions options_;
  std::unique_ptr<exec::Placed> on_host_;  // null if all steps run on devices of their kind
  exec::Execution execution_;
  exec::Launcher launcher_;
  std::vector<detail::OpenVariable> variables_;
  exec::Binder binder_;
  exec::ArenaPool arenas_;
  exec::PlanCache plans_;
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
TYPEFLOW_DEFINITION void Engine::trace(KernelTrace* trace) { parts_->trace(trace); }
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
                                              std::span<FetchBuffer> fetches, bool draws) {
  engine_.parts_->execute(*arena_, feeds_, steps, fetches, draws);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION RunStop& Engine::Run::stop() const { return arena_->run.stop; }

TYPEFLOW_COLD TYPEFLOW_DEFINITION void Engine::Run::no_memory_for(Id name) const {
  const ir::ProgramView& program = engine_.program();
  throw Error(detail::text_of("fetch", program, name),
              detail::no_memory(program.types[program.names[name].type],
                                arena_->slot_bytes[program.names[name].slot]));
}

namespace detail {

/// Error if a number of threads is negative.
TYPEFLOW_COLD inline void check_threads(int requested, std::string_view call,
                                        const std::source_location* at) {
  if (requested >= 0) return;
  std::string where(call);
  if (at != nullptr) where += sentence({" (", file_name(at->file_name()), ":", at->line(), ")"});
  throw Error(where, "threads >= 0", sentence({requested}));
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION TargetOptions target_options(int threads,
                                                               const DeviceList& devices,
                                                               std::string_view call,
                                                               const std::source_location* at) {
  for (int i = 0; i < devices.size(); ++i) check_threads(devices[i].threads, call, at);
  check_threads(threads, call, at);
  const unsigned all = std::max(1u, std::thread::hardware_concurrency());
  return {threads > 0 ? threads : static_cast<int>(all), devices};
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void print_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
