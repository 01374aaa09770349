// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gives plans addresses: the constants of a program, and the memory and tables of its arenas.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/elements.hpp"
#include "typeflow/runtime/memory_demand.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// Stores a constant's words as an element in memory; a floating-point constant may have symbols.
TYPEFLOW_COLD inline void store_number(DType type, std::uint32_t low, std::uint32_t high, void* out,
                                       int powers = 0, const SymbolSizes& sizes = {}) {
  Number number = number_of(type, low, high);
  if (!is_integer(type) && type != DType::boolean) {
    number.real = resolve(number.real, powers, sizes);
  }
  ir::store_number(type, number, out, 0);
}

/// Element `index` of `count` constant strings. Their words are the beginning and length of each
/// string, then all bytes.
inline void store_string(const std::uint32_t* words, std::int64_t count, std::int64_t index,
                         void* out) {
  const char* const bytes = reinterpret_cast<const char*>(words + 2 * count);
  const std::string_view value(bytes + words[2 * index], words[2 * index + 1]);
  std::memcpy(out, &value, sizeof value);
}

/// The variables and constants that stay in the memory of devices (exec/residency.hpp).
struct Residents {
  /// Sets the addresses of a binding's resident places.
  void (*bind)(Residents& self, Arena& arena, Binding& binding);
  /// Copies the scalars of an arena that has copies of them.
  void (*send_scalars)(Residents& self, const Arena& arena);
  void (*destroy)(Residents* self);
};

/// Makes a program's arenas ready for runs, and holds the constants that they share.
class Binder {
  template <class V>
  static auto& at(V& v, Id i) {
    return v[static_cast<std::size_t>(i)];
  }
  /// The place of the arena's scalar i.
  static std::byte* scalar(const Arena& arena, int i) { return arena.scalars.data() + 16 * i; }

 public:
  /// `opened` must have all of the program's variables when a plan is bound.
  Binder(const ir::ProgramView& program, const KernelEntry* kernels,
         std::span<const MachineDevice> devices,
         const std::vector<typeflow::detail::OpenVariable>& opened, VariableTable& main,
         std::uint64_t seed, bool keep_all)
      : variables(opened),
        store(main),
        program_(program),
        kernels_(kernels),
        devices_(devices),
        seed_(seed),
        keep_all_(keep_all) {
    load_constant_arrays();
  }

  /// Makes an arena ready for runs of these sizes. Error if 63 bits can't count what they take.
  void resize(Arena& arena, const SymbolSizes& sizes) const {
    if (!(arena.sizes == sizes)) measure(arena, sizes);
  }
  /// Finds addresses for a plan's tensors, of the arena's sizes. Its variables' copies are valid.
  Binding& prepare(Arena& arena, const Plan& plan) const {
    const std::int64_t version = store.version.load(std::memory_order_acquire);
    for (Binding* known = arena.bindings; known != nullptr; known = known->next) {
      if (known->plan == &plan && known->version == version) return *known;
    }
    return renew(arena, plan);
  }

  DeviceCounters& counters(std::size_t device) const { return counters_[device]; }
  const std::vector<typeflow::detail::OpenVariable>& variables;
  VariableTable& store;            ///< of the variables that are no states
  Residents* residents = nullptr;  ///< owned; null if the memory of all devices is the host's

  /// Puts fed tensors in the place of their placeholders, and defaults for the others.
  void place_feeds(Binding& binding, std::span<const FedTensor> feeds) const {
    const Plan& plan = *binding.plan;
    for (const int p : plan.defaults) each_stream(binding, p, binding.own[p]);
    for (const FedTensor& fed : feeds) {
      if (fed.placeholder == none) continue;
      const int place = plan.external[program_.placeholders[fed.placeholder].slot];
      if (place != none) each_stream(binding, place, const_cast<void*>(fed.data));
    }
  }
  /// Sets a place's address in all streams.
  void each_stream(Binding& binding, int place, void* address) const {
    binding.at[0][place] = address;
    for (int s = 1; s < binding.plan->streams.size(); ++s) binding.at[s][place] = address;
  }
  /// Makes a variable's copy in a memory valid; null is the host's.
  TYPEFLOW_COLD bool use(Id slot, VariableUse how, const Memory* memory) const {
    const typeflow::detail::OpenVariable& variable = at(variables, program_.slots[slot].index);
    return variable.store->use(*variable.entry, how, memory);
  }

  /// The memory of a slot that no step writes.
  void* outside(const Arena& arena, Id slot) const {
    const ir::Slot& s = program_.slots[slot];
    switch (s.kind) {
      case ir::SlotKind::variable:
        return at(variables, s.index).entry->bytes.data();
      case ir::SlotKind::constant:
        return at(array_of_, s.index) != nullptr ? at(array_of_, s.index) : scalar(arena, s.index);
      case ir::SlotKind::placeholder:
        if (s.index == none || !program_.placeholders[s.index].has_default) return nullptr;
        return scalar(arena, program_.constants.size + s.index);
      default:
        return nullptr;
    }
  }

 private:
  TYPEFLOW_COLD void measure(Arena& arena, const SymbolSizes& sizes) const {
    arena.sizes = no_sizes;  // until all is done: an allocation may fail
    arena.extents.clear();
    for (const ir::StepExtent& extent : program_.extents) arena.extents.push(extent.resolve(sizes));
    arena.slot_bytes.clear();
    for (const ir::Slot& slot : program_.slots) {
      const Type& type = program_.types[slot.type];
      arena.slot_bytes.push(
          checked_product(count_of(type.dims).resolve(sizes), size_of(type.dtype)));
    }
    if (arena.scalars.size() == 0) {
      arena.scalars = AlignedBytes(16 * (program_.constants.size + program_.placeholders.size));
      for (int i = 0; i < program_.placeholders.size; ++i) {
        const ir::ProgramPlaceholder& p = program_.placeholders[i];
        if (!p.has_default) continue;
        store_number(program_.type_of(p.slot).dtype, p.low, p.high,
                     scalar(arena, program_.constants.size + i));
      }
    }
    for (int i = 0; i < program_.constants.size; ++i) {
      const ir::ConstantRecord& c = program_.constants[i];
      if (c.is_array) continue;
      const std::uint32_t* const words = program_.words.data + c.words.first;
      store_number(program_.type_of(c.slot).dtype, words[0], words[1], scalar(arena, i),
                   static_cast<std::int32_t>(words[2]), sizes);
    }
    if (arena.resident != nullptr) residents->send_scalars(*residents, arena);
    SymbolSizes largest = sizes;
    for (int i = 0; i < max_symbols; ++i) {
      largest.of[i] = std::max(sizes.of[i], arena.planned_for.of[i]);
    }
    const bool grows = !(largest == arena.planned_for);
    if (grows) typeflow::detail::check_sizes(program_, largest);
    make_workspace(arena);
    if (grows) arena.move();
    arena.planned_for = largest;
    arena.sizes = sizes;
  }

  /// The plan's binding, with addresses in the arena's memory and valid copies of variables.
  TYPEFLOW_COLD Binding& renew(Arena& arena, const Plan& plan) const {
    Binding* binding = arena.bindings;
    while (binding != nullptr && binding->plan != &plan) binding = binding->next;
    if (binding == nullptr) {
      binding = new Binding(plan);
      binding->next = std::exchange(arena.bindings, binding);
    }
    if (binding->memory != arena.memory_number) bind(arena, plan, binding);
    std::int64_t version = store.version.load();
    for (const Place& place : plan.places) {
      const bool is_copy = place.kind == PlaceKind::external || place.kind == PlaceKind::resident;
      if (!is_copy || program_.slots[place.slot].kind != ir::SlotKind::variable) continue;
      version += use(place.slot, place.written ? VariableUse::change : VariableUse::read,
                     place.device < 0 ? nullptr : at(devices_, place.device).memory);
    }
    binding->version = version;
    return *binding;
  }

  /// Finds addresses for a plan's places.
  TYPEFLOW_COLD void bind(Arena& arena, const Plan& plan, Binding* binding) const {
    binding->memory = -1;  // until all is done
    arena.last = nullptr;
    binding->layout = LayoutPlanner(program_, plan, arena.planned_for, keep_all_).run();
    try {
      allocate(arena, plan, binding->layout);
    } catch (...) {
      arena.planned_for = no_sizes;  // other sizes may fit
      arena.sizes = no_sizes;
      throw;
    }
    binding->own = Pool<void*>(plan.places.size(), nullptr);
    for (int p = 0; p < plan.places.size(); ++p) {
      const Place& place = plan.places[p];
      if (place.kind == PlaceKind::temporary) {
        binding->own[p] = at(arena.temporaries, place.device).data() + binding->layout.offset[p];
      } else if (place.kind == PlaceKind::external) {
        binding->own[p] = outside(arena, place.slot);
      }
    }
    const int streams = std::max(plan.streams.size(), 1);
    if (binding->at == nullptr) binding->at = new Pool<void*>[static_cast<std::size_t>(streams)];
    // (A plan of one list has none; another thread may be making those of its first other plan.)
    if (!plan.streams.empty() && residents != nullptr) residents->bind(*residents, arena, *binding);
    for (int s = 0; s < streams; ++s) binding->at[s] = binding->own;
    bind_launches(arena, *binding);
    binding->memory = arena.memory_number;
  }

  TYPEFLOW_COLD void bind_launches(Arena& arena, Binding& binding) const {
    const Plan& plan = *binding.plan;
    binding.operands = Pool<void*>::uninitialized(plan.operands.size());
    if (binding.launches == nullptr) {
      binding.launches = new BoundLaunch[static_cast<std::size_t>(plan.launches.size())];
    }
    for (int l = 0; l < plan.launches.size(); ++l) {
      const Launch& launch = plan.launches[l];
      const ir::Step& step = program_.steps[launch.step];
      const KernelEntry& kernel = kernels_[step.kernel];
      void** const operands = binding.operands.data() + launch.places.first;
      BoundLaunch& bound = binding.launches[l];
      bound.run = kernel.run;
      bound.places = plan.operands.data() + launch.places.first;
      bound.count = launch.places.count;
      bound.operands = operands;
      bound.call.operands = operands;
      bound.call.extents = arena.extents.data() + step.extents.first;
      bound.call.words = program_.words.data + step.words.first;
      bound.call.workspace = at(arena.workspace, launch.device).data();
      bound.call.stream = at(devices_, launch.device).stream;
      bound.call.random.seed = seed_;
      bound.call.description = kernel.description;
      bound.call.step = launch.step;
      bound.call.characters = &at(arena.characters, launch.device);
      bound.call.run = &arena.run;
    }
  }

  /// Memory for a layout, if the arena's is too small. It then moves, so that other plans are bound
  /// anew before they run.
  TYPEFLOW_COLD void allocate(Arena& arena, const Plan& plan, const Layout& layout) const {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const std::int64_t bytes = layout.bytes[d];
      if (bytes <= arena.temporaries[d].size()) continue;
      const typeflow::detail::MemoryDemand demand{program_, devices_[d], counters_[d].reserved};
      const std::int64_t limit = devices_[d].memory_limit;
      if (limit > 0 && bytes > limit) {
        demand.refuse(plan, layout, static_cast<int>(d), arena.planned_for, limit);
      }
      arena.move();
      try {
        arena.temporaries[d].allocate(bytes, *devices_[d].memory, counters_[d]);
      } catch (const std::bad_alloc&) {
        demand.refuse(plan, layout, static_cast<int>(d), arena.planned_for, 0);
      }
    }
  }

  TYPEFLOW_COLD void load_constant_arrays() {
    array_of_.assign(static_cast<std::size_t>(program_.constants.size), nullptr);
    std::int64_t bytes = 0;
    const auto padded = [&](const ir::ConstantRecord& c) {
      const Type& type = program_.type_of(c.slot);
      const std::int64_t size = count_of(type.dims).coefficient * size_of(type.dtype);
      return (size + memory_alignment - 1) / memory_alignment * memory_alignment;
    };
    for (const ir::ConstantRecord& c : program_.constants) bytes += c.is_array ? padded(c) : 0;
    constant_arrays_ = AlignedBytes(bytes);
    std::byte* next = constant_arrays_.data();
    for (int i = 0; i < program_.constants.size; ++i) {
      const ir::ConstantRecord& c = program_.constants[i];
      if (!c.is_array) continue;
      const DType dtype = program_.type_of(c.slot).dtype;
      const std::int64_t count = count_of(program_.type_of(c.slot).dims).coefficient;
      const std::uint32_t* const words = program_.words.data + c.words.first;
      for (std::int64_t k = 0; k < count; ++k) {
        std::byte* const place = next + k * size_of(dtype);
        if (dtype == DType::string) {
          store_string(words, count, k, place);
        } else {
          store_number(dtype, words[2 * k], words[2 * k + 1], place);
        }
      }
      at(array_of_, i) = next;
      next += padded(c);
    }
  }

  /// Allocates workspaces for the arena's extents, where its own are too small.
  TYPEFLOW_COLD void make_workspace(Arena& arena) const {
    std::int64_t most = 0;
    const ir::Step* largest = nullptr;
    for (const ir::Step& step : program_.steps) {
      const std::int64_t* const extents = arena.extents.data() + step.extents.first;
      const std::int64_t bytes = kernels_[step.kernel].workspace(extents);
      if (bytes > most) largest = &step;
      most = std::max(most, bytes);
    }
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (most <= arena.workspace[d].size()) continue;
      arena.move();  // prepared launches have its address
      try {
        arena.workspace[d].allocate(most, *devices_[d].memory, counters_[d]);
      } catch (const std::bad_alloc&) {
        typeflow::detail::MemoryDemand{program_, devices_[d], counters_[d].reserved}
            .refuse_workspace(*largest, most);
      }
    }
  }

  const ir::ProgramView& program_;
  const KernelEntry* kernels_;
  std::span<const MachineDevice> devices_;
  std::uint64_t seed_;
  bool keep_all_;
  AlignedBytes constant_arrays_;
  std::vector<std::byte*> array_of_;  // by constant
  mutable std::array<DeviceCounters, max_devices> counters_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
