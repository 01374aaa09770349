// SPDX-License-Identifier: Apache-2.0
#pragma once

// Errors about memory that a device lacks: what was asked, what is live, the limit, and the largest
// tensors.

#include <cstdint>
#include <string>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/exec/plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/checks.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// What a run asks of a device's memory.
struct MemoryDemand {
  const ir::ProgramView& program;
  const MachineDevice& device;
  std::int64_t live;  ///< bytes that the session's runs hold there

  /// Throws because the tensors of a plan are more than `limit` bytes; if that is 0, because there
  /// is no memory for them.
  ///
  ///   the memory of /cpu:1: expected at most 1000 bytes of tensors, got 6400; 0 bytes are
  ///   live; with batch = 100 the largest are the 3200 bytes of float [100, 8] h (mlp.cpp:14); ...
  [[noreturn]] TYPEFLOW_COLD void refuse(const exec::Plan& plan, const exec::Layout& layout,
                                         int number, const SymbolSizes& sizes,
                                         std::int64_t limit) const {
    Message text{};
    text << "the memory of " << device.device;
    const std::string where(text.view());
    text.length = 0;
    if (limit > 0) {
      text << "expected at most " << limit << " bytes of tensors, got " << layout.bytes[number];
    } else {
      print_bytes(text, layout.bytes[number], "a run's tensors");
    }
    print_use(text);
    std::string what(text.view());
    std::int64_t chosen[3];  // offsets: tensors at one place share memory
    for (int k = 0; k < 3; ++k) {
      int largest = none;
      std::int64_t most = 0;
      for (int p = 0; p < plan.places.size(); ++p) {
        const std::int64_t offset = layout.offset[p];
        if (plan.places[p].device != number || offset < 0) continue;
        bool is_listed = false;
        for (int other = 0; other < k; ++other) is_listed |= chosen[other] == offset;
        const std::int64_t bytes = bytes_of(plan.places[p].slot, sizes);
        if (is_listed || bytes <= most) continue;
        largest = p;
        most = bytes;
      }
      if (largest == none) break;
      chosen[k] = layout.offset[largest];
      text.length = 0;
      text << "; ";
      if (const int powers = count_of(program.type_of(plan.places[largest].slot).dims).powers;
          k == 0 && powers != 0) {
        text << "with " << text_of(sizes, powers) << " ";
      }
      if (k == 0) text << "the largest are ";
      print_tensor(text, plan.places[largest].slot, most, sizes);
      what += text.view();
    }
    throw Error(where, what);
  }

  /// Throws because there is no memory for the `bytes` of a step's workspace.
  [[noreturn]] TYPEFLOW_COLD void refuse_workspace(const ir::Step& step, std::int64_t bytes) const {
    Message text{};
    print_bytes(text, bytes, "its workspace on ");
    text << device.device;
    print_use(text);
    fail_step(program, step, std::string(text.view()));
  }

 private:
  /// "no memory for the 3200 bytes of its workspace"
  TYPEFLOW_COLD static void print_bytes(Message& text, std::int64_t bytes, const char* what) {
    text << "no memory for the " << bytes << " bytes of " << what;
  }
  TYPEFLOW_COLD void print_use(Message& text) const {
    const Memory::Use use = device.memory->use();
    text << "; " << (use.limit > 0 ? use.bytes : live) << " bytes are live";
    if (use.limit > 0) text << ", at most " << use.limit << " may be";
  }
  std::int64_t bytes_of(Id slot, const SymbolSizes& sizes) const {
    const Type& type = program.type_of(slot);
    return checked_product(count_of(type.dims).resolve(sizes), size_of(type.dtype));
  }
  /// "the 3200 bytes of float [100, 8] h (mlp.cpp:14)"
  TYPEFLOW_COLD void print_tensor(Message& text, Id slot, std::int64_t bytes,
                                  const SymbolSizes& sizes) const {
    const ir::Slot& s = program.slots[slot];
    const Type& type = program.types[s.type];
    text << "the " << bytes << " bytes of " << type.dtype << ' ' << resolve(type.dims, sizes)
         << ' ';
    if (s.step != none) return print_step(text, program, program.steps[s.step]);
    for (Id name = 0; name < program.names.size; ++name) {  // fed, or a variable's
      if (program.names[name].slot == slot) return print_name(text, program, name);
    }
  }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
