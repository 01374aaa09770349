// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a run checks besides its buffers, and what it tells of a step: devices, sizes that 63 bits
// can count, memory that isn't there, values that aren't finite, and the lines of tf::print.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/interpret/host_tensor.hpp"
#include "typeflow/lower/memory_plan.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/buffers.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

namespace detail {

/// A kernel found its data wrong: says which step it was.
[[noreturn]] TYPEFLOW_COLD inline void fail_step(const ir::ProgramView& program,
                                                 const ir::Step& step, const std::string& what) {
  Message where{};
  print_step(where, program, step);
  throw Error(std::string(where.view()), what);
}

/// Error if a step is pinned to none of these devices.
TYPEFLOW_COLD inline void check_device(const ir::ProgramView& program, const ir::Step& step,
                                       std::span<const Device> devices) {
  const Device device = step.device;
  if (std::find(devices.begin(), devices.end(), device) != devices.end()) return;
  Message what{};
  print_step(what, program, step);
  Message given{};
  given << device;
  Message known{};
  for (const Device& d : devices) known << (known.empty() ? "" : ", ") << d;
  throw Error(std::string(what.view()),
              "a device of this machine (" + std::string(known.view()) + ")",
              std::string(given.view()));
}

/// Error if a step reads or writes a tensor of another device. (Transfers are no steps yet.)
TYPEFLOW_COLD inline void check_operands(const ir::ProgramView& program, const ir::Step& step) {
  for (int i = 0; i < step.operands.count; ++i) {
    const ir::Slot& slot = program.slots[program.operands[step.operands.first + i]];
    if (slot.device == step.device || slot.device.kind == DeviceKind::any) continue;
    Message where{};
    print_step(where, program, step);
    Message what{};
    what << "is on " << step.device << ", but ";
    if (slot.kind == ir::SlotKind::variable) {
      what << "variable \"";
      print_name(what, program, program.variables[slot.index].name);
      what << '"';
    } else {
      print_step(what, program, program.steps[slot.step]);
    }
    what << " on " << slot.device << "; nothing moves tensors from one to the other";
    throw Error(std::string(where.view()), std::string(what.view()));
  }
}

// Sizes.

/// Error if a tensor has more bytes, or a kernel more to compute, than 63 bits can count. An axis
/// of extent 0 counts as 1, so that products of some of the extents fit as well.
TYPEFLOW_COLD inline void check_sizes(const ir::ProgramView& program, const SymbolSizes& sizes) {
  const auto fits = [&](const Type& type) {
    std::int64_t bytes = size_of(type.dtype);
    for (int i = 0; i < type.dims.rank; ++i) {
      const std::int64_t extent = resolve(type.dims.extent[i], sizes);
      bytes = checked_product(bytes, std::max<std::int64_t>(extent, 1));
    }
    return ir::aligned_size(bytes) != too_many;
  };
  const auto with = [&](int powers) {
    return powers == 0 ? "" : " with " + text_of(sizes, powers);
  };
  for (const ir::Step& step : program.steps) {
    const auto refuse = [&](const std::string& what) {
      Message where{};
      print_step(where, program, step);
      throw Error(std::string(where.view()), what);
    };
    for (int i = 0; i < step.operands.count; ++i) {
      const Type& type = program.type_of(program.operands[step.operands.first + i]);
      if (fits(type)) continue;
      refuse(to_string(type.dtype, type.dims) + with(count_of(type.dims).powers) +
             " has more bytes than 63 bits can count");
    }
    const ir::KernelSummary& kernel = program.kernels[step.kernel];
    if (kernel.kind == ir::KernelKind::custom || kernel.kind == ir::KernelKind::control) {
      continue;  // extents of operands, or none
    }
    std::int64_t space = 1;
    int powers = 0;
    for (int i = 0; i < loop_extents(kernel, step); ++i) {
      const ir::StepExtent& e = program.extents[step.extents.first + i];
      space = checked_product(space, std::max<std::int64_t>(e.resolve(sizes), 1));
      powers += e.powers;
    }
    if (space == too_many) {
      refuse("a loop" + with(powers) + " has more steps than 63 bits can count");
    }
  }
  for (const ir::ProgramName& name : program.names) {
    if (name.slot == none || fits(program.types[name.type])) continue;
    Message what{};
    print_name(what, program.scopes, name.name);
    const Type& type = program.types[name.type];
    throw Error(std::string(what.view()), to_string(type.dtype, type.dims) +
                                              with(count_of(type.dims).powers) +
                                              " has more bytes than 63 bits can count");
  }
}

/// "no memory for the 4611686018427387904 bytes of float [batch, batch]"
TYPEFLOW_COLD inline std::string no_memory(const Type& type, std::int64_t bytes) {
  return "no memory for the " + std::to_string(bytes) + " bytes of " +
         to_string(type.dtype, type.dims);
}
/// The temporaries did not find `bytes`: names the step that writes the largest.
[[noreturn]] TYPEFLOW_COLD inline void no_memory_for_temporaries(const ir::ProgramView& program,
                                                                 std::int64_t bytes,
                                                                 const SymbolSizes& sizes) {
  std::int64_t largest = -1;
  int powers = 0;  // of all symbols, once
  for (const Type& type : program.types) {
    for (int i = 0; i < max_symbols; ++i) {
      if (power_of(i, count_of(type.dims).powers) != 0 && power_of(i, powers) == 0) {
        powers += digit_of(i);
      }
    }
  }
  const ir::Slot* slot = nullptr;
  for (const ir::Slot& s : program.slots) {
    const Type& type = program.types[s.type];
    const std::int64_t size =
        checked_product(count_of(type.dims).resolve(sizes), size_of(type.dtype));
    if (s.kind != ir::SlotKind::temporary || s.step == none || size <= largest) continue;
    largest = size;
    slot = &s;
  }
  Message where{};
  print_step(where, program, program.steps[slot->step]);
  throw Error(std::string(where.view()),
              no_memory(program.types[slot->type], largest) + "; all temporaries" +
                  (powers == 0 ? "" : " with " + text_of(sizes, powers)) + " take " +
                  (bytes == too_many ? "more than 63 bits can count" : std::to_string(bytes)));
}

// Values. `slots` has the memory of each.

/// "hidden (mlp.cpp:14): float [100, 300], min -1.5, mean 0.02, max 1.7: 0.1 -0.3 ..."
TYPEFLOW_COLD inline void print_value(const ir::ProgramView& program, const ir::Step& step,
                                      void* const* slots, const SymbolSizes& sizes,
                                      const std::function<void(std::string_view)>& take_line) {
  if (!take_line) return;
  const Id slot = program.operands[step.operands.first + step.inputs];
  const Type& type = program.type_of(slot);
  const std::int64_t count = count_of(type.dims).resolve(sizes);
  Message line{};
  print_step(line, program, step);
  line << ": " << type.dtype << ' ' << resolve(type.dims, sizes);
  const auto number = [&](const char* before, double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", x);
    line << before << text;
  };
  if (type.dtype == DType::string) {
    const auto* const x = static_cast<const std::string_view*>(slots[slot]);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) {
      line << (i == 0 ? ": \"" : " \"") << x[i] << '"';
    }
    if (count > 8) line << " ...";
    return take_line(line.view());
  }
  visit_dtype(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const x = static_cast<const T*>(slots[slot]);
    if (count == 0) return;
    double low = convert_element<double>(x[0]);
    double high = low;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double e = convert_element<double>(x[i]);
      low = e < low || e != e ? e : low;
      high = e > high || e != e ? e : high;
      sum += e;
    }
    number(", min ", low);
    number(", mean ", sum / static_cast<double>(count));
    number(", max ", high);
    line << ':';
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) {
      number(" ", convert_element<double>(x[i]));
    }
    if (count > 8) line << " ...";
  });
  take_line(line.view());
}

/// Error if a step has just written a NaN or an infinity.
TYPEFLOW_COLD inline void check_outputs(const ir::ProgramView& program, const ir::Step& step,
                                        void* const* slots, const SymbolSizes& sizes) {
  for (int i = step.inputs; i < step.operands.count; ++i) {
    const Id slot = program.operands[step.operands.first + i];
    if (program.slots[slot].within != none) continue;  // looked at when the whole is there
    const Type& type = program.type_of(slot);
    if (type.dtype == DType::string) continue;
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    visit_dtype(type.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = static_cast<const T*>(slots[slot]);
      const std::int64_t count = count_of(type.dims).resolve(sizes);
      for (std::int64_t k = 0; k < count; ++k) {
        if constexpr (is_complex_number<T>) {
          const bool is_nan = std::isnan(x[k].real()) || std::isnan(x[k].imag());
          nan += is_nan;
          infinite += !is_nan && (std::isinf(x[k].real()) || std::isinf(x[k].imag()));
        } else if constexpr (is_real_floating<T>) {
          const auto e = static_cast<Computed<T>>(x[k]);
          nan += std::isnan(e);
          infinite += std::isinf(e);
        }
      }
    });
    if (nan + infinite == 0) continue;
    Message where{};
    print_step(where, program, step);
    Message what{};
    if (program.slots[slot].kind == ir::SlotKind::variable) {
      what << "variable \"";
      print_name(what, program, program.variables[program.slots[slot].index].name);
      what << "\" gets ";
    }
    if (nan > 0) what << nan << " NaN";
    if (nan > 0 && infinite > 0) what << " and ";
    if (infinite > 0) what << infinite << " infinite";
    what << " in " << resolve(type.dims, sizes);
    throw Error(std::string(where.view()), std::string(what.view()));
  }
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
