// SPDX-License-Identifier: Apache-2.0
#pragma once

// Variables and constants in the memory of devices that the host can't access.
//
// Such a device has a copy of each variable and constant that its steps use. It stays there between
// runs. For variables, StoreCopies knows which copies are valid: the host's, and those of devices.
//
//   host      device          what happened
//   valid     -               the store made the variable
//   valid     valid           a run has read it on the device
//   stale     valid           a run has assigned it on the device
//   valid     stale           the host has written it
//
// A copy comes directly from a device of the same driver that has a valid one, and then leaves the
// host's as it is. Otherwise it comes from the host's copy, which is made valid first.
//
// A run asks for valid copies when its plan is bound, and again when the store's version differs
// from that of the binding: somebody has made a copy valid or stale since. So a run that repeats
// another one copies nothing, and takes no lock.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "typeflow/exec/arena.hpp"
#include "typeflow/exec/asynchronous.hpp"
#include "typeflow/exec/binder.hpp"
#include "typeflow/exec/launcher.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/exec/resident_bytes.hpp"
#include "typeflow/exec/transport.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/checks.hpp"
#include "typeflow/runtime/device_copies.hpp"

namespace typeflow::inline TYPEFLOW_ISA::exec {

/// The copies of a store's variables. The store owns it.
class StoreCopies final : public DeviceCopies {
 public:
  explicit StoreCopies(VariableTable& table) : versions_{&table.version} {}

  TYPEFLOW_COLD bool use(const VariableEntry& entry, const void* memory, VariableUse how) override {
    const std::lock_guard lock(mutex_);
    const auto found = variables_.find(&entry);
    if (found == variables_.end() || how == VariableUse::none) return false;
    Copies& copies = found->second;
    Copy* const wanted = memory == nullptr ? nullptr : &copies.in(memory);
    bool& is_valid = wanted == nullptr ? copies.on_host : wanted->is_valid;
    Change change{*this};
    if (!is_valid) {
      if (how != VariableUse::replace && !(wanted != nullptr && receive(entry, copies, *wanted))) {
        change.happened = !copies.on_host;  // also if the copy to the device fails
        to_host(entry, copies);
        if (wanted != nullptr) wanted->copy_in(entry);
      }
      is_valid = change.happened = true;
    }
    if (how != VariableUse::read) {
      const auto make_stale = [&](bool& other) {
        if (&other != &is_valid) change.happened |= std::exchange(other, false);
      };
      make_stale(copies.on_host);
      for (Copy& copy : copies.on_devices) make_stale(copy.is_valid);
    }
    return change.happened;
  }

  TYPEFLOW_COLD std::byte* hold(const VariableEntry& entry, const CopyMemory& memory) override {
    const std::lock_guard lock(mutex_);
    Copies& copies = variables_[&entry];
    for (Copy& copy : copies.on_devices) {
      if (copy.memory.memory != memory.memory) continue;
      ++copy.holders;
      return copy.data;
    }
    Copy& made = copies.on_devices.emplace_back(Copy{memory});
    const auto bytes = static_cast<std::int64_t>(entry.bytes.size());
    try {
      if (bytes > 0) made.data = memory.allocate(memory.memory, bytes);
    } catch (...) {
      copies.on_devices.pop_back();
      throw;
    }
    return made.data;
  }
  TYPEFLOW_COLD void drop(const VariableEntry& entry, const void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    Copies& copies = variables_.find(&entry)->second;
    Copy& copy = copies.in(memory);
    if (--copy.holders > 0) return;
    bool is_elsewhere = copies.on_host;
    for (const Copy& other : copies.on_devices) is_elsewhere |= &other != &copy && other.is_valid;
    if (copy.is_valid && !is_elsewhere) {
      try {
        to_host(entry, copies);
      } catch (...) {  // the device is broken: the host's last values are all there is
        copies.on_host = true;
      }
    }
    if (copy.data != nullptr) {
      copy.memory.release(copy.memory.memory, copy.data,
                          static_cast<std::int64_t>(entry.bytes.size()));
    }
    std::swap(copy, copies.on_devices.back());
    copies.on_devices.pop_back();
    announce();
  }

  TYPEFLOW_COLD void watch(std::atomic<std::int64_t>& version) override {
    const std::lock_guard lock(mutex_);
    versions_.push_back(&version);
  }
  TYPEFLOW_COLD void unwatch(std::atomic<std::int64_t>& version) noexcept override {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = versions_.size(); i-- > 0;) {  // the first one is the store's own
      if (versions_[i] != &version) continue;
      versions_.erase(versions_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  TYPEFLOW_COLD void destroy() override { delete this; }

 private:
  /// Announces a change at the end of a function.
  struct Change {
    StoreCopies& self;
    bool happened = false;
    ~Change() {
      if (happened) self.announce();
    }
  };
  struct Copy {
    CopyMemory memory;
    std::byte* data = nullptr;
    int holders = 1;
    bool is_valid = false;

    void copy_in(const VariableEntry& entry) {
      const auto bytes = static_cast<std::int64_t>(entry.bytes.size());
      if (bytes > 0) memory.copy_in(memory.memory, data, entry.bytes.data(), bytes);
    }
  };
  struct Copies {
    bool on_host = true;  // the host's is valid
    std::vector<Copy> on_devices;

    Copy& in(const void* memory) {
      std::size_t i = 0;
      while (on_devices[i].memory.memory != memory) ++i;
      return on_devices[i];
    }
  };

  /// Copies the elements from another device, if there is a direct way from one with a valid copy.
  TYPEFLOW_COLD static bool receive(const VariableEntry& entry, const Copies& copies,
                                    const Copy& wanted) {
    const auto bytes = static_cast<std::int64_t>(entry.bytes.size());
    for (const Copy& copy : copies.on_devices) {
      if (!copy.is_valid || copy.memory.copy_to != wanted.memory.copy_to) continue;
      try {
        if (copy.memory.copy_to(copy.memory.memory, wanted.memory.memory, wanted.data, copy.data,
                                bytes)) {
          return true;
        }
      } catch (...) {  // the other device is broken
        if (!copies.on_host) throw;
      }
    }
    return false;
  }
  /// Makes the host's copy valid.
  TYPEFLOW_COLD static void to_host(const VariableEntry& entry, Copies& copies) {
    if (copies.on_host) return;
    const auto bytes = static_cast<std::int64_t>(entry.bytes.size());
    for (const Copy& copy : copies.on_devices) {
      if (!copy.is_valid) continue;
      if (bytes > 0) {
        copy.memory.copy_out(copy.memory.memory, entry.bytes.data(), copy.data, bytes);
      }
      break;
    }
    copies.on_host = true;
  }
  /// Each counter once, also if several engines watch by it.
  TYPEFLOW_COLD void announce() {
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      bool is_known = false;
      for (std::size_t k = 0; k < i; ++k) is_known |= versions_[k] == versions_[i];
      if (!is_known) versions_[i]->fetch_add(1);
    }
  }

  std::mutex mutex_;  // guards what follows
  std::map<const VariableEntry*, Copies> variables_;
  std::vector<std::atomic<std::int64_t>*> versions_;
};

/// The copies of a store, made if it has none.
TYPEFLOW_COLD inline DeviceCopies& copies_of(VariableTable& table) {
  VariableCopies* known = table.copies.load();
  if (known == nullptr) {
    auto* const made = new StoreCopies(table);
    if (table.copies.compare_exchange_strong(known, made)) return *made;
    made->destroy();
  }
  return static_cast<DeviceCopies&>(*known);
}

/// The variables and constants of an engine in the memory of its devices.
class DeviceResidents final : public Residents {
 public:
  /// The arguments must outlive it.
  TYPEFLOW_COLD DeviceResidents(const Execution& execution, const Binder& binder)
      : Residents{[](Residents& self, Arena& arena, Binding& binding) {
                    static_cast<DeviceResidents&>(self).bind(arena, binding);
                  },
                  [](Residents& self, const Arena& arena) {
                    static_cast<DeviceResidents&>(self).send_scalars(arena);
                  },
                  [](Residents* self) { delete static_cast<DeviceResidents*>(self); }},
        program_(execution.program),
        execution_(execution),
        binder_(binder),
        held_(execution.devices.size()),
        arrays_(execution.devices.size()) {
    for (const typeflow::detail::OpenVariable& of : binder.variables) {
      if (of.entry == nullptr) continue;
      DeviceCopies& copies = copies_of(*of.store);
      if (of.store == &binder.store || states_ == &copies) continue;
      states_ = &copies;  // variables are in the session's store, or in that of its states
      states_->watch(binder.store.version);
    }
  }
  TYPEFLOW_COLD ~DeviceResidents() {
    for (std::size_t d = 0; d < held_.size(); ++d) {
      for (const auto& [index, data] : held_[d]) {
        const typeflow::detail::OpenVariable& of = variable(index);
        copies_of(*of.store).drop(*of.entry, execution_.devices[d].memory);
      }
    }
    if (states_ != nullptr) states_->unwatch(binder_.store.version);
  }

 private:
  /// Finds or makes the copies that a plan needs.
  TYPEFLOW_COLD void bind(Arena& arena, Binding& binding) {
    const Plan& plan = *binding.plan;
    const std::lock_guard lock(mutex_);
    check_limits(arena, plan, binding.layout);
    for (int p = 0; p < plan.places.size(); ++p) {
      const Place& place = plan.places[p];
      if (place.kind != PlaceKind::resident) continue;
      try {
        binding.own[p] = program_.slots[place.slot].kind == ir::SlotKind::variable
                             ? copy_of_variable(place)
                             : copy_of_constant(arena, place);
      } catch (const std::bad_alloc&) {
        refuse(place);
      }
    }
  }

  /// The tensors of a run are those of its layout, and the resident ones.
  TYPEFLOW_COLD void check_limits(const Arena& arena, const Plan& plan, const Layout& layout) {
    for (std::size_t d = 0; d < held_.size(); ++d) {
      const std::int64_t limit = execution_.devices[d].memory_limit;
      const std::int64_t resident =
          resident_bytes(program_, plan, static_cast<int>(d), arena.planned_for);
      if (limit <= 0 || checked_sum(layout.bytes[d], resident) <= limit) continue;
      Message where{};
      where << "the memory of " << execution_.devices[d].device;
      Message what{};
      what << "expected at most " << limit << " bytes of tensors, got "
           << checked_sum(layout.bytes[d], resident) << ", of which " << resident
           << " are those of variables and constants";
      throw Error(std::string(where.view()), std::string(what.view()));
    }
  }
  [[noreturn]] TYPEFLOW_COLD void refuse(const Place& place) const {
    const ir::Slot& slot = program_.slots[place.slot];
    const Type& type = program_.types[slot.type];
    Message where{};
    if (slot.kind == ir::SlotKind::variable) {
      where << "variable \"";
      print_name(where, program_, program_.variables[slot.index].name);
      where << '"';
    } else {
      where << "a constant";
    }
    Message what{};
    what << "no memory for the " << count_of(type.dims).coefficient * size_of(type.dtype)
         << " bytes of its copy on " << execution_.device(place.device).device;
    throw Error(std::string(where.view()), std::string(what.view()));
  }

  TYPEFLOW_COLD void* copy_of_variable(const Place& place) {
    const int index = program_.slots[place.slot].index;
    auto& held = held_[static_cast<std::size_t>(place.device)];
    const auto known = held.find(index);
    if (known != held.end()) return known->second;
    Memory* const memory = execution_.device(place.device).memory;
    const CopyMemory functions{
        memory,
        [](void* of, std::int64_t bytes) { return of_device(of).allocate(bytes); },
        [](void* of, std::byte* data, std::int64_t bytes) noexcept {
          of_device(of).release(data, bytes);
        },
        [](void* of, void* to, const void* from, std::int64_t bytes) {
          of_device(of).copy_in(to, from, bytes);
        },
        [](void* of, void* to, const void* from, std::int64_t bytes) {
          of_device(of).copy_out(to, from, bytes);
        },
        [](void* of, void* other, void* to, const void* from, std::int64_t bytes) {
          AsynchronousMemory* const sender = of_device(of).asynchronous();
          AsynchronousMemory* const receiver = of_device(other).asynchronous();
          if (!of_one_driver(sender, receiver)) return false;
          if (bytes > 0) sender->copy_in_turn_to(*receiver, to, from, bytes);
          return true;
        }};
    const typeflow::detail::OpenVariable& of = variable(index);
    const auto place_of_it = held.emplace(index, nullptr).first;
    try {
      place_of_it->second = copies_of(*of.store).hold(*of.entry, functions);
    } catch (...) {
      held.erase(place_of_it);
      throw;
    }
    execution_.counters[place.device].add(static_cast<std::int64_t>(of.entry->bytes.size()));
    return place_of_it->second;
  }
  static Memory& of_device(void* memory) { return *static_cast<Memory*>(memory); }

  /// An array is copied once for all arenas. The other constants may depend on symbols: each arena
  /// has its own.
  TYPEFLOW_COLD void* copy_of_constant(Arena& arena, const Place& place) {
    const auto device = static_cast<std::size_t>(place.device);
    Memory& memory = *execution_.device(place.device).memory;
    DeviceCounters& counters = execution_.counters[place.device];
    const int index = program_.slots[place.slot].index;
    if (!program_.constants[index].is_array) {
      if (arena.resident == nullptr) {
        arena.resident = new ScalarCopies;
        arena.release_resident = [](void* copies) { delete static_cast<ScalarCopies*>(copies); };
      }
      CountedBytes& copy = static_cast<ScalarCopies*>(arena.resident)->of[device];
      if (copy.size() == 0) {
        copy.allocate(arena.scalars.size(), memory, counters);
        memory.copy_in(copy.data(), arena.scalars.data(), copy.size());
      }
      return copy.data() + 16 * index;
    }
    const std::int64_t bytes = arena.slot_bytes[place.slot];
    CountedBytes& copy = arrays_[device][index];
    if (bytes > 0 && copy.size() == 0) {
      copy.allocate(bytes, memory, counters);
      memory.copy_in(copy.data(), binder_.outside(arena, place.slot), bytes);
    }
    return copy.data();
  }
  /// The scalars of an arena have changed.
  TYPEFLOW_COLD void send_scalars(const Arena& arena) {
    auto& copies = *static_cast<ScalarCopies*>(arena.resident);
    for (std::size_t d = 0; d < execution_.devices.size(); ++d) {
      const CountedBytes& copy = copies.of[d];
      if (copy.size() == 0) continue;
      execution_.devices[d].memory->copy_in(copy.data(), arena.scalars.data(), copy.size());
    }
  }

  struct ScalarCopies {
    std::array<CountedBytes, max_devices> of;
  };

  const typeflow::detail::OpenVariable& variable(int index) const {
    return binder_.variables[static_cast<std::size_t>(index)];
  }

  const ir::ProgramView& program_;
  const Execution& execution_;
  const Binder& binder_;
  DeviceCopies* states_ = nullptr;
  std::mutex mutex_;                                 // guards what follows
  std::vector<std::map<int, std::byte*>> held_;      // by device: copies of variables
  std::vector<std::map<int, CountedBytes>> arrays_;  // by device: copies of constants
};

/// Null if the memory of all devices is the host's.
TYPEFLOW_COLD inline Residents* residents_of(const Execution& execution, const Binder& binder) {
  for (const MachineDevice& device : execution.devices) {
    if (!device.memory->is_host()) return new DeviceResidents(execution, binder);
  }
  return nullptr;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::exec
