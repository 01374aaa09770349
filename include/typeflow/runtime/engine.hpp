// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs programs: tables in, kernel calls out. Nothing here is a template, so its code is compiled
// once however many models a program has.
//
// An engine has a pool of arenas; a run claims one by an atomic exchange and takes no lock. An
// arena keeps its memory plan, its extents and its constants for the batch of its last run, so a
// run with the same batch allocates nothing.

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/cpu/call.hpp"
#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/lower/memory_plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/memory.hpp"
#include "typeflow/runtime/variables.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// A fed tensor, as the engine sees it. What no step of the program reads is fed all the same: it
/// may be what gives the batch.
struct FedTensor {
  Id name;         ///< in ProgramView::names
  Id placeholder;  ///< in ProgramView::placeholders; none if the program does not read it
  const void* data;
  DType dtype;
  std::int64_t count;
  int rank;  ///< -1: no shape was given
  const std::int64_t* extents;
};

/// Where a run's result goes.
struct FetchTarget {
  Id name;  ///< in ProgramView::names
  void* data;
};

namespace detail {

/// The batch that makes `coefficient * batch^power` equal to count; -1 if there is none.
inline std::int64_t solve_batch(const Count& size, std::int64_t count) {
  if (size.coefficient == 0) return count == 0 ? 0 : -1;
  if (count % size.coefficient != 0) return -1;
  const std::int64_t rest = count / size.coefficient;
  if (size.power == 1) return rest;
  auto root = static_cast<std::int64_t>(
      std::llround(std::pow(static_cast<double>(rest), 1.0 / size.power)));
  return Count{1, size.power}.resolve(root) == rest ? root : -1;
}

/// A constant's words as an element in memory; a floating one times `factor`.
inline void store_number(DType type, std::uint32_t low, std::uint32_t high, double factor,
                         void* out) {
  const Number number = number_of(type, low, high);
  visit_dtype(type, [&](auto zero) {
    using T = decltype(zero);
    const T value = is_integer(type) || type == DType::boolean
                        ? convert_element<T>(number.integer)
                        : convert_element<T>(number.real * factor);
    std::memcpy(out, &value, sizeof value);
  });
}

}  // namespace detail

/// What all runs of an engine have in common.
struct EngineOptions {
  std::uint64_t seed = 0;
  bool initialize = true;
  bool check_finite = false;
  bool soft_placement = false;
  bool keep_all = false;                        ///< every temporary keeps its memory, for value()
  std::function<void(std::string_view)> print;  ///< takes the lines of tf::print
};

class Engine {
  /// Memory of a run.
  struct Arena {
    std::int64_t batch = -1;
    std::int64_t planned_for = -1;  // the largest batch so far
    std::vector<std::int64_t> extents;
    std::vector<void*> slots;      // by slot
    std::vector<void*> own_slots;  // the same, as the plan has them
    AlignedBytes temporaries;
    AlignedBytes scalars;  // constants, then defaults of placeholders
    AlignedBytes workspace;
  };

 public:
  /// `kernels` has an entry for each of the program's kernels.
  TYPEFLOW_COLD Engine(const ProgramView& program, const simd::KernelEntry* kernels,
                       Variables& variables, Variables& states, simd::Executor* executor,
                       const EngineOptions& options)
      : program_(program),
        kernels_(kernels),
        store_(variables),
        states_(states),
        executor_(executor),
        options_(options) {
    for (const Step& step : program_.steps) check_device(step);
    variables_.reserve(static_cast<std::size_t>(program_.variables.size));
    for (const ProgramVariable& v : program_.variables) {
      Message name{};
      print_name(name, program_, v.name);
      Variables& store = v.state ? states_ : store_;
      variables_.push_back({&store.open(name.view(), program_.types[v.type], v.initializer,
                                        options_.seed, options_.initialize || v.state)});
    }
    load_constant_arrays();
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  TYPEFLOW_COLD ~Engine() {
    for (auto& place : arenas_) delete place.load();
  }

  const ProgramView& program() const { return program_; }

  /// Sets the states back to their initial values.
  TYPEFLOW_COLD void reset_states() {
    for (int i = 0; i < program_.variables.size; ++i) {
      const ProgramVariable& v = program_.variables[i];
      if (!v.state) continue;
      Variables::reset(*variables_[static_cast<std::size_t>(i)].entry,
                       program_.names[v.name].name.hash, v.initializer, options_.seed);
    }
  }

  /// The bytes of the arena that a run with this batch takes.
  std::int64_t arena_bytes(std::int64_t batch_size) const {
    check_sizes(batch_size);
    return plan_memory(program_, batch_size, options_.keep_all).bytes;
  }

  /// One run: feeds are checked, and the batch is known, when it is made.
  class Run {
   public:
    Run(Engine& engine, std::span<const FedTensor> feeds)
        : engine_(engine), feeds_(feeds), batch_(engine.batch_of(feeds)), arena_(engine.claim()) {
      try {
        engine_.prepare(*arena_, batch_);
        engine_.place_feeds(*arena_, feeds);
      } catch (...) {
        engine_.release(arena_);
        throw;
      }
    }
    ~Run() { engine_.release(arena_); }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    std::int64_t batch() const { return batch_; }
    /// The shape of a tensor of this type in this run.
    std::int64_t extent(const Type& type, int axis) const {
      return resolve(type.dims.extent[axis], batch_);
    }
    std::int64_t count(const Type& type) const { return count_of(type.dims).resolve(batch_); }

    /// Error if a buffer is none for a tensor of this type: of another size, or of another shape
    /// if it has one (rank >= 0).
    void check_buffer(std::string_view name, const Type& type, std::int64_t count, int rank,
                      const std::int64_t* extents) const {
      bool fits = count == this->count(type) && (rank < 0 || rank == type.dims.rank);
      for (int i = 0; i < rank && fits; ++i) fits = extents[i] == extent(type, i);
      if (!fits) engine_.refuse_shape(name, resolve(type.dims, batch_), type, count, rank, extents);
    }

    /// Error if two of the fetches' buffers overlap, or one a variable of the program.
    void execute(std::span<const Id> steps, std::span<const FetchTarget> fetches, bool draws) {
      const bool aside = engine_.check_buffers(*arena_, feeds_, fetches);
      const std::uint64_t draw = draws ? engine_.store_.next_draw() : std::uint64_t{0};
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
                  engine_.no_memory(type, engine_.bytes_of(*arena_, name)));
    }

   private:
    Engine& engine_;
    std::span<const FedTensor> feeds_;
    std::int64_t batch_;
    Arena* arena_;
  };

  /// A copy of a tensor of the last run, if the engine keeps all; the arena that ran last has it.
  template <class F>
  void visit_last(Id slot, const F& f) {
    Arena* const arena = last_.load(std::memory_order_acquire);
    if (arena == nullptr) throw Error("value", "no run has been made yet");
    f(arena->slots[static_cast<std::size_t>(slot)], arena->batch);
  }

 private:
  friend class Run;

  static constexpr int max_operands = 96;

  Arena* claim() {
    for (auto& place : arenas_) {
      Arena* const arena = place.exchange(nullptr, std::memory_order_acquire);
      if (arena != nullptr) return arena;
    }
    return new Arena;
  }
  void release(Arena* arena) {
    last_.store(arena, std::memory_order_release);
    for (auto& place : arenas_) {
      Arena* expected = nullptr;
      if (place.compare_exchange_strong(expected, arena, std::memory_order_release,
                                        std::memory_order_relaxed)) {
        return;
      }
    }
    if (last_.load() == arena) last_.store(nullptr);
    delete arena;
  }

  TYPEFLOW_COLD void check_device(const Step& step) const {
    const Device device = step.device;
    const bool here = device.kind == DeviceKind::any || device == cpu(0);
    if (here || options_.soft_placement) return;
    Message what{};
    print_step(what, program_, step);
    Message given{};
    given << device;
    throw Error(std::string(what.view()), "a device of this machine (/cpu:0)",
                std::string(given.view()));
  }

  TYPEFLOW_COLD void load_constant_arrays() {
    array_of_.assign(static_cast<std::size_t>(program_.constants.size), nullptr);
    std::int64_t bytes = 0;
    const auto padded = [&](const ConstantRecord& c) {
      const std::int64_t size = c.words.count / 2 * size_of(program_.type_of(c.slot).dtype);
      return (size + memory_alignment - 1) / memory_alignment * memory_alignment;
    };
    for (const ConstantRecord& c : program_.constants) bytes += c.is_array ? padded(c) : 0;
    constant_arrays_ = AlignedBytes(bytes);
    std::byte* at = constant_arrays_.data();
    for (int i = 0; i < program_.constants.size; ++i) {
      const ConstantRecord& c = program_.constants[i];
      if (!c.is_array) continue;
      const DType dtype = program_.type_of(c.slot).dtype;
      for (int k = 0; k < c.words.count / 2; ++k) {
        const std::uint32_t* const words = program_.words.data + c.words.first + 2 * k;
        detail::store_number(dtype, words[0], words[1], 1, at + k * size_of(dtype));
      }
      array_of_[static_cast<std::size_t>(i)] = at;
      at += padded(c);
    }
  }

  // Feeds.

  [[noreturn]] TYPEFLOW_COLD void wrong_feed(const FedTensor& fed,
                                             const std::string& expected_more = {}) const {
    Message name{};
    print_name(name, program_, fed.name);
    const Type& type = type_of(fed);
    std::string given(name_of(fed.dtype));
    if (fed.rank < 0) {
      given += ", " + std::to_string(fed.count) + " elements";
    } else {
      given += " " + text_of(fed.rank, fed.extents);
    }
    throw Error("feed \"" + std::string(name.view()) + "\"",
                detail::to_string(type.dtype, type.dims) + expected_more, given);
  }

  /// "[100, 784]"
  static std::string text_of(int rank, const std::int64_t* extents) {
    std::string text = "[";
    for (int i = 0; i < std::min(rank, max_rank); ++i) {
      text += (i > 0 ? ", " : "") + std::to_string(extents[i]);
    }
    return text + (rank > max_rank ? ", ...]" : "]");
  }

  const Type& type_of(const FedTensor& fed) const {
    return program_.types[program_.names[fed.name].type];
  }

  /// The batch that the feeds agree on; 1 if none has it.
  std::int64_t batch_of(std::span<const FedTensor> feeds) const {
    std::int64_t batch_size = -1;
    const FedTensor* from = nullptr;
    for (const FedTensor& fed : feeds) {
      const Dims& dims = type_of(fed).dims;
      const Count size = count_of(dims);
      std::int64_t found = -1;
      if (fed.rank < 0) {
        if (size.power == 0) {
          if (fed.count != size.coefficient) wrong_feed(fed);
          continue;
        }
        found = detail::solve_batch(size, fed.count);
        if (found < 0) wrong_feed(fed);
      } else {
        if (fed.rank != dims.rank) wrong_feed(fed);
        for (int i = 0; i < dims.rank; ++i) {
          const Extent e = dims.extent[i];
          const std::int64_t given = fed.extents[i];
          if (!is_batch(e)) {
            if (given != e) wrong_feed(fed);
          } else if (given < 0 || given % -e != 0 || (found >= 0 && given / -e != found)) {
            wrong_feed(fed);
          } else {
            found = given / -e;
          }
        }
        if (size.power == 0) continue;
      }
      if (batch_size >= 0 && found != batch_size) {
        Message other{};
        print_name(other, program_, from->name);
        wrong_feed(fed, " with batch = " + std::to_string(batch_size) + ", as feed \"" +
                            std::string(other.view()) + "\" has");
      }
      batch_size = found;
      from = &fed;
    }
    return batch_size < 0 ? 1 : batch_size;
  }

  // Arenas.

  template <class V>
  static auto& at(V& v, Id i) {
    return v[static_cast<std::size_t>(i)];
  }

  /// Where the arena's scalar i is.
  static std::byte* scalar(const Arena& arena, int i) { return arena.scalars.data() + 16 * i; }

  /// Brings an arena to this batch.
  void prepare(Arena& arena, std::int64_t batch_size) const {
    if (arena.batch == batch_size) return;
    arena.batch = -1;  // until all is done: an allocation may fail
    arena.extents.resize(static_cast<std::size_t>(program_.extents.size));
    for (int i = 0; i < program_.extents.size; ++i) {
      const StepExtent& e = program_.extents[i];
      at(arena.extents, i) = Count{e.coefficient, e.power}.resolve(batch_size);
    }
    if (arena.scalars.size() == 0) {
      arena.scalars = AlignedBytes(16 * (program_.constants.size + program_.placeholders.size));
    }
    for (int i = 0; i < program_.constants.size; ++i) {
      const ConstantRecord& c = program_.constants[i];
      if (c.is_array) continue;
      const std::uint32_t* const words = program_.words.data + c.words.first;
      const double power = static_cast<std::int32_t>(words[2]);
      detail::store_number(program_.type_of(c.slot).dtype, words[0], words[1],
                           std::pow(static_cast<double>(batch_size), power), scalar(arena, i));
    }
    if (batch_size > arena.planned_for) {
      plan(arena, batch_size);
      arena.planned_for = batch_size;
    }
    arena.batch = batch_size;
  }

  /// Error if a tensor has more bytes, or a kernel more to compute, than 63 bits can count. An axis
  /// of extent 0 counts as 1, so that products of some of the extents fit as well.
  TYPEFLOW_COLD void check_sizes(std::int64_t batch_size) const {
    const auto fits = [&](const Type& type) {
      std::int64_t bytes = size_of(type.dtype);
      for (int i = 0; i < type.dims.rank; ++i) {
        const std::int64_t extent = resolve(type.dims.extent[i], batch_size);
        bytes = checked_product(bytes, std::max<std::int64_t>(extent, 1));
      }
      return aligned_size(bytes) != too_many;
    };
    const auto text_of_batch = [&] { return " with batch = " + std::to_string(batch_size); };
    for (const Step& step : program_.steps) {
      const auto refuse = [&](const std::string& what) {
        Message where{};
        print_step(where, program_, step);
        throw Error(std::string(where.view()), what);
      };
      for (int i = 0; i < step.operands.count; ++i) {
        const Type& type = program_.type_of(program_.operands[step.operands.first + i]);
        if (fits(type)) continue;
        refuse(detail::to_string(type.dtype, type.dims) + text_of_batch() +
               " has more bytes than 63 bits can count");
      }
      const KernelSummary& kernel = program_.kernels[step.kernel];
      if (kernel.kind == KernelKind::custom) continue;  // extents of operands
      std::int64_t space = 1;
      for (int i = 0; i < loop_extents(kernel, step); ++i) {
        const StepExtent& e = program_.extents[step.extents.first + i];
        const std::int64_t extent = Count{e.coefficient, e.power}.resolve(batch_size);
        space = checked_product(space, std::max<std::int64_t>(extent, 1));
      }
      if (space == too_many) {
        refuse("a loop" + text_of_batch() + " has more steps than 63 bits can count");
      }
    }
    for (const ProgramName& name : program_.names) {
      if (name.slot == none || fits(program_.types[name.type])) continue;
      Message what{};
      print_name(what, program_.scopes, name.name);
      const Type& type = program_.types[name.type];
      throw Error(std::string(what.view()), detail::to_string(type.dtype, type.dims) +
                                                text_of_batch() +
                                                " has more bytes than 63 bits can count");
    }
  }

  /// "no memory for the 4611686018427387904 bytes of float [batch, batch]"
  TYPEFLOW_COLD static std::string no_memory(const Type& type, std::int64_t bytes) {
    return "no memory for the " + std::to_string(bytes) + " bytes of " +
           detail::to_string(type.dtype, type.dims);
  }
  /// The temporaries did not find `bytes`: names the step that writes the largest.
  [[noreturn]] TYPEFLOW_COLD void no_memory_for_temporaries(std::int64_t bytes,
                                                            std::int64_t batch_size) const {
    std::int64_t largest = -1;
    const Slot* slot = nullptr;
    for (const Slot& s : program_.slots) {
      const Type& type = program_.types[s.type];
      const std::int64_t size =
          checked_product(count_of(type.dims).resolve(batch_size), size_of(type.dtype));
      if (s.kind != SlotKind::temporary || s.step == none || size <= largest) continue;
      largest = size;
      slot = &s;
    }
    Message where{};
    print_step(where, program_, program_.steps[slot->step]);
    throw Error(std::string(where.view()),
                no_memory(program_.types[slot->type], largest) +
                    "; all temporaries with batch = " + std::to_string(batch_size) + " take " +
                    (bytes == too_many ? "more than 63 bits can count" : std::to_string(bytes)));
  }

  TYPEFLOW_COLD void plan(Arena& arena, std::int64_t batch_size) const {
    check_sizes(batch_size);
    const MemoryPlan plan = plan_memory(program_, batch_size, options_.keep_all);
    try {
      if (plan.bytes == too_many) throw std::bad_alloc();
      arena.temporaries = AlignedBytes(plan.bytes);
    } catch (const std::bad_alloc&) {
      no_memory_for_temporaries(plan.bytes, batch_size);
    }
    arena.own_slots.resize(static_cast<std::size_t>(program_.slots.size));
    for (Id i = 0; i < program_.slots.size; ++i) {
      const Slot& slot = program_.slots[i];
      void*& place = at(arena.own_slots, i);
      switch (slot.kind) {
        case SlotKind::temporary:
          place = at(plan.offset, i) < 0 ? nullptr : arena.temporaries.data() + at(plan.offset, i);
          break;
        case SlotKind::variable:
          place = at(variables_, slot.index).entry->bytes.data();
          break;
        case SlotKind::constant:
          place = at(array_of_, slot.index) != nullptr ? at(array_of_, slot.index)
                                                       : scalar(arena, slot.index);
          break;
        case SlotKind::placeholder:
          place = nullptr;
          break;
      }
    }
    for (int i = 0; i < program_.placeholders.size; ++i) {
      const ProgramPlaceholder& p = program_.placeholders[i];
      if (!p.has_default) continue;
      std::byte* const place = scalar(arena, program_.constants.size + i);
      detail::store_number(program_.type_of(p.slot).dtype, p.low, p.high, 1, place);
      at(arena.own_slots, p.slot) = place;
    }
    arena.slots = arena.own_slots;
    std::int64_t workspace = 0;
    const Step* largest = nullptr;
    for (const Step& step : program_.steps) {
      const std::int64_t* const extents = arena.extents.data() + step.extents.first;
      const std::int64_t bytes = kernels_[step.kernel].workspace(extents);
      if (bytes > workspace) largest = &step;
      workspace = std::max(workspace, bytes);
    }
    try {
      if (workspace == too_many) throw std::bad_alloc();
      arena.workspace = AlignedBytes(workspace);
    } catch (const std::bad_alloc&) {
      fail(*largest, workspace == too_many ? "its workspace has more bytes than 63 bits can count"
                                           : "no memory for the " + std::to_string(workspace) +
                                                 " bytes of its workspace");
    }
  }

  void place_feeds(Arena& arena, std::span<const FedTensor> feeds) const {
    for (const ProgramPlaceholder& p : program_.placeholders) {
      at(arena.slots, p.slot) = at(arena.own_slots, p.slot);
    }
    for (const FedTensor& fed : feeds) {
      if (fed.placeholder == none) continue;
      at(arena.slots, program_.placeholders[fed.placeholder].slot) = const_cast<void*>(fed.data);
    }
  }

  /// The bytes of a named tensor.
  std::int64_t bytes_of(const Arena& arena, Id name) const {
    const Type& type = program_.types[program_.names[name].type];
    return checked_product(count_of(type.dims).resolve(arena.batch), size_of(type.dtype));
  }

  /// Refuses buffers that overlap each other or a variable. Whether one overlaps a fed tensor: then
  /// what is computed there would change what is still to be read.
  bool check_buffers(const Arena& arena, std::span<const FedTensor> feeds,
                     std::span<const FetchTarget> fetches) const {
    struct Bytes {
      const void* data;
      std::int64_t size;
      bool overlaps(const Bytes& other) const {
        const auto a = reinterpret_cast<std::uintptr_t>(data);
        const auto b = reinterpret_cast<std::uintptr_t>(other.data);
        if (size == 0 || other.size == 0) return false;
        return a < b ? b - a < static_cast<std::uintptr_t>(size)
                     : a - b < static_cast<std::uintptr_t>(other.size);
      }
    };
    bool aside = false;
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      const Bytes buffer{fetches[i].data, bytes_of(arena, fetches[i].name)};
      for (const FedTensor& fed : feeds) {
        aside |= buffer.overlaps({fed.data, bytes_of(arena, fed.name)});
      }
      for (std::size_t k = 0; k < i; ++k) {
        if (!buffer.overlaps({fetches[k].data, bytes_of(arena, fetches[k].name)})) continue;
        refuse_buffer(fetches[i].name, "that of", fetches[k].name);
      }
      for (int k = 0; k < program_.variables.size; ++k) {
        const std::span<std::byte> variable = at(variables_, k).entry->bytes;
        if (!buffer.overlaps({variable.data(), static_cast<std::int64_t>(variable.size())})) {
          continue;
        }
        refuse_buffer(fetches[i].name, "the memory of variable", program_.variables[k].name);
      }
    }
    return aside;
  }
  [[noreturn]] TYPEFLOW_COLD static void refuse_shape(std::string_view name, const Dims& dims,
                                                      const Type& type, std::int64_t count,
                                                      int rank, const std::int64_t* extents) {
    const std::string what = "into \"" + std::string(name) + "\"";
    if (rank >= 0) throw Error(what, detail::to_string(type.dtype, dims), text_of(rank, extents));
    throw Error(what,
                std::to_string(count_of(dims).coefficient) + " elements of " +
                    detail::to_string(type.dtype, type.dims),
                std::to_string(count));
  }
  [[noreturn]] TYPEFLOW_COLD void refuse_buffer(Id name, const char* what, Id other) const {
    Message fetch{};
    print_name(fetch, program_, name);
    Message sentence{};
    sentence << "the buffer overlaps " << what << " \"";
    print_name(sentence, program_, other);
    sentence << "\"";
    throw Error("into \"" + std::string(fetch.view()) + "\"", std::string(sentence.view()));
  }

  /// A run whose results get memory of their own until it is done.
  TYPEFLOW_COLD void execute_aside(Arena& arena, std::span<const Id> steps,
                                   std::span<const FetchTarget> fetches, std::uint64_t draw) const {
    std::vector<FetchTarget> targets(fetches.begin(), fetches.end());
    std::vector<AlignedBytes> results;
    for (FetchTarget& target : targets) {
      const std::int64_t bytes = bytes_of(arena, target.name);
      try {
        target.data = results.emplace_back(bytes).data();
      } catch (const std::bad_alloc&) {
        Message name{};
        print_name(name, program_, target.name);
        throw Error("into \"" + std::string(name.view()) + "\"",
                    no_memory(program_.types[program_.names[target.name].type], bytes));
      }
    }
    execute(arena, steps, targets, draw);
    for (std::size_t i = 0; i < fetches.size(); ++i) {
      copy(fetches[i].data, targets[i].data, bytes_of(arena, fetches[i].name));
    }
  }

  void execute(Arena& arena, std::span<const Id> steps, std::span<const FetchTarget> fetches,
               std::uint64_t draw) const {
    // A temporary that is fetched is computed in its buffer; what else is fetched is copied: values
    // as they are when the run starts.
    struct Redirected {
      Arena& arena;
      const ProgramView& program;
      std::span<const FetchTarget> fetches;
      ~Redirected() {
        for (const FetchTarget& f : fetches) {
          const Id slot = program.names[f.name].slot;
          if (program.slots[slot].kind == SlotKind::temporary) {
            at(arena.slots, slot) = at(arena.own_slots, slot);
          }
        }
      }
    };
    const Redirected restore{arena, program_, fetches};
    for (const FetchTarget& f : fetches) {
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind != SlotKind::temporary) {
        copy(f.data, at(arena.slots, slot), bytes_of(arena, f.name));
      } else if (at(arena.slots, slot) == at(arena.own_slots, slot) && !options_.keep_all) {
        at(arena.slots, slot) = f.data;
      }
    }
    for (const Id id : steps) {
      const Step& step = program_.steps[id];
      void* operands[max_operands];
      const Id* const slots = program_.operands.data + step.operands.first;
      for (int i = 0; i < step.operands.count; ++i) operands[i] = at(arena.slots, slots[i]);
      try {
        kernels_[step.kernel].run({operands,
                                   arena.extents.data() + step.extents.first,
                                   program_.words.data + step.words.first,
                                   arena.workspace.data(),
                                   executor_,
                                   {options_.seed, draw},
                                   kernels_[step.kernel].description});
      } catch (const Error& error) {
        fail(step, error.what());
      } catch (const std::bad_alloc&) {
        fail(step, "no memory for what its kernel needs besides its operands");
      }
      if (options_.check_finite) check_outputs(arena, step);
      if (program_.kernels[step.kernel].prints) print(arena, step);
    }
    for (const FetchTarget& f : fetches) {  // a second fetch of one temporary
      const Id slot = program_.names[f.name].slot;
      if (program_.slots[slot].kind == SlotKind::temporary && at(arena.slots, slot) != f.data) {
        copy(f.data, at(arena.slots, slot), bytes_of(arena, f.name));
      }
    }
  }
  /// A kernel found its data wrong: says which step it was.
  [[noreturn]] TYPEFLOW_COLD void fail(const Step& step, const std::string& what) const {
    Message where{};
    print_step(where, program_, step);
    throw Error(std::string(where.view()), what);
  }
  static void copy(void* to, const void* from, std::int64_t bytes) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  /// "hidden (mlp.cpp:14): float [100, 300], min -1.5, mean 0.02, max 1.7: 0.1 -0.3 ..."
  TYPEFLOW_COLD void print(const Arena& arena, const Step& step) const {
    if (!options_.print) return;
    const Id slot = program_.operands[step.operands.first + step.inputs];
    const Type& type = program_.type_of(slot);
    const std::int64_t count = count_of(type.dims).resolve(arena.batch);
    Message line{};
    print_step(line, program_, step);
    line << ": " << type.dtype << ' ' << resolve(type.dims, arena.batch);
    const auto number = [&](const char* before, double x) {
      char text[32];
      std::snprintf(text, sizeof text, "%.6g", x);
      line << before << text;
    };
    visit_dtype(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(at(arena.slots, slot));
      if (count == 0) return;
      double low = detail::convert_element<double>(x[0]);
      double high = low;
      double sum = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const double e = detail::convert_element<double>(x[i]);
        low = e < low || e != e ? e : low;
        high = e > high || e != e ? e : high;
        sum += e;
      }
      number(", min ", low);
      number(", mean ", sum / static_cast<double>(count));
      number(", max ", high);
      line << ':';
      for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) {
        number(" ", detail::convert_element<double>(x[i]));
      }
      if (count > 8) line << " ...";
    });
    options_.print(line.view());
  }

  TYPEFLOW_COLD void check_outputs(const Arena& arena, const Step& step) const {
    for (int i = step.inputs; i < step.operands.count; ++i) {
      const Id slot = program_.operands[step.operands.first + i];
      const Type& type = program_.type_of(slot);
      std::int64_t nan = 0;
      std::int64_t infinite = 0;
      visit_dtype(type.dtype, [&](auto zero) {
        using T = decltype(zero);
        const T* const x = static_cast<const T*>(at(arena.slots, slot));
        const std::int64_t count = count_of(type.dims).resolve(arena.batch);
        for (std::int64_t k = 0; k < count; ++k) {
          if constexpr (detail::is_complex_number<T>) {
            const bool is_nan = std::isnan(x[k].real()) || std::isnan(x[k].imag());
            nan += is_nan;
            infinite += !is_nan && (std::isinf(x[k].real()) || std::isinf(x[k].imag()));
          } else if constexpr (detail::is_real_floating<T>) {
            const auto e = static_cast<detail::Computed<T>>(x[k]);
            nan += std::isnan(e);
            infinite += std::isinf(e);
          }
        }
      });
      if (nan + infinite == 0) continue;
      Message where{};
      print_step(where, program_, step);
      Message what{};
      if (program_.slots[slot].kind == SlotKind::variable) {
        what << "variable \"";
        print_name(what, program_, program_.variables[program_.slots[slot].index].name);
        what << "\" gets ";
      }
      if (nan > 0) what << nan << " NaN";
      if (nan > 0 && infinite > 0) what << " and ";
      if (infinite > 0) what << infinite << " infinite";
      what << " in " << resolve(type.dims, arena.batch);
      throw Error(std::string(where.view()), std::string(what.view()));
    }
  }

  ProgramView program_;
  const simd::KernelEntry* kernels_;
  Variables& store_;
  Variables& states_;
  simd::Executor* executor_;
  EngineOptions options_;
  struct OpenVariable {
    Variables::Entry* entry;
  };
  std::vector<OpenVariable> variables_;
  AlignedBytes constant_arrays_;
  std::vector<std::byte*> array_of_;  // by constant
  std::array<std::atomic<Arena*>, 16> arenas_{};
  std::atomic<Arena*> last_{nullptr};
};

}  // namespace typeflow::inline TYPEFLOW_TARGET
