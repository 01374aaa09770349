// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks of a run besides its buffers, and texts about steps: devices, sizes that 63 bits can
// count, missing memory, values that are not finite, and the lines of tf::print.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/error.hpp"
#include "typeflow/exec/layout.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/lower/program.hpp"
#include "typeflow/runtime/buffers.hpp"
#include "typeflow/runtime/elements.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Throws for a kernel that found its data wrong; names the step. `rethrow` is that of the kernel's
/// error, whose class it keeps.
[[noreturn]] TYPEFLOW_COLD inline void fail_step(const ir::ProgramView& program,
                                                 const ir::Step& step, const std::string& what,
                                                 Error::Rethrow rethrow = nullptr) {
  Message where{};
  print_step(where, program, step);
  const std::string place(where.view());
  if (rethrow != nullptr) rethrow(place, what);
  throw Error(place, what);
}

/// Error if a step is pinned to a device that is not in the list.
TYPEFLOW_COLD inline void check_device(const ir::ProgramView& program, const ir::Step& step,
                                       std::span<const MachineDevice> devices) {
  const Device device = step.device;
  for (const MachineDevice& d : devices) {
    if (d.device == device) return;
  }
  Message what{};
  print_step(what, program, step);
  Message given{};
  given << device;
  Message known{};
  for (const MachineDevice& d : devices) known << (known.empty() ? "" : ", ") << d.device;
  throw Error(std::string(what.view()), sentence({"a device of this machine (", known.view(), ")"}),
              std::string(given.view()));
}

// Sizes.

/// Whether 63 bits can count a tensor's bytes, where extents of 0 count as 1.
TYPEFLOW_COLD inline bool can_count_bytes(const Type& type, const SymbolSizes& sizes) {
  std::int64_t bytes = size_of(type.dtype);
  for (int i = 0; i < type.dims.rank; ++i) {
    const std::int64_t extent = resolve(type.dims.extent[i], sizes);
    bytes = checked_product(bytes, std::max<std::int64_t>(extent, 1));
  }
  return exec::aligned_size(bytes) != too_many;
}
/// " with batch = 3", for the symbols in these digits; empty if there are none.
TYPEFLOW_COLD inline std::string with_symbols(const SymbolSizes& sizes, int powers) {
  return powers == 0 ? std::string() : sentence({" with ", text_of(sizes, powers)});
}
/// "float [batch, 8] with batch = 3 has more bytes than 63 bits can count"
TYPEFLOW_COLD inline std::string too_many_bytes(const Type& type, const SymbolSizes& sizes) {
  return sentence({to_string(type.dtype, type.dims),
                   with_symbols(sizes, count_of(type.dims).powers),
                   " has more bytes than 63 bits can count"});
}

/// Error if 63 bits cannot count a tensor's bytes or a kernel's elements. An axis of extent 0
/// counts as 1, so that products of some of the extents fit as well.
TYPEFLOW_COLD inline void check_sizes(const ir::ProgramView& program, const SymbolSizes& sizes) {
  for (const ir::Step& step : program.steps) {
    for (int i = 0; i < step.operands.count; ++i) {
      const Type& type = program.type_of(program.operands[step.operands.first + i]);
      if (!can_count_bytes(type, sizes)) fail_step(program, step, too_many_bytes(type, sizes));
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
      fail_step(program, step,
                sentence({"a loop", with_symbols(sizes, powers),
                          " has more steps than 63 bits can count"}));
    }
  }
  for (const ir::ProgramName& name : program.names) {
    if (name.slot == none) continue;
    const Type& type = program.types[name.type];
    if (can_count_bytes(type, sizes)) continue;
    Message what{};
    print_name(what, program.scopes, name.name);
    throw Error(std::string(what.view()), too_many_bytes(type, sizes));
  }
}

/// "no memory for the 4611686018427387904 bytes of float [batch, batch]"
TYPEFLOW_COLD inline std::string no_memory(const Type& type, std::int64_t bytes) {
  return sentence({"no memory for the ", bytes, " bytes of ", to_string(type.dtype, type.dims)});
}

// Values. `operands` points to the memory of a step's operands, which the host can read.

/// "hidden (mlp.cpp:14): float [100, 300], min -1.5, mean 0.02, max 1.7: 0.1 -0.3 ..."
TYPEFLOW_COLD inline void print_value(const ir::ProgramView& program, const ir::Step& step,
                                      void* const* operands, const SymbolSizes& sizes,
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
    const auto* const x = static_cast<const std::string_view*>(operands[step.inputs]);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) {
      line << (i == 0 ? ": \"" : " \"") << x[i] << '"';
    }
    if (count > 8) line << " ...";
    return take_line(line.view());
  }
  const auto element = [&](std::int64_t i) {
    const Number n = ir::load_number(type.dtype, operands[step.inputs], i);
    if (is_floating(type.dtype) || is_complex(type.dtype)) return n.real;
    return type.dtype == DType::uint64 ? static_cast<double>(static_cast<std::uint64_t>(n.integer))
                                       : static_cast<double>(n.integer);
  };
  if (count > 0) {
    double low = element(0);
    double high = low;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double e = element(i);
      low = e < low || e != e ? e : low;
      high = e > high || e != e ? e : high;
      sum += e;
    }
    number(", min ", low);
    number(", mean ", sum / static_cast<double>(count));
    number(", max ", high);
    line << ':';
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 8); ++i) number(" ", element(i));
    if (count > 8) line << " ...";
  }
  take_line(line.view());
}

/// Whether all elements are finite. Only in NaN and infinity are all bits of the exponent ones.
template <class Bits>
bool are_finite(const void* data, std::int64_t count, Bits exponent) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits x;
    std::memcpy(&x, bytes + i * static_cast<std::int64_t>(sizeof x), sizeof x);
    finite &= (x & exponent) != exponent;
  }
  return finite;
}
TYPEFLOW_COLD inline bool are_finite(DType type, const void* data, std::int64_t count) {
  switch (type) {
    case DType::float16:
      return are_finite<std::uint16_t>(data, count, 0x7c00);
    case DType::bfloat16:
      return are_finite<std::uint16_t>(data, count, 0x7f80);
    case DType::float32:
      return are_finite<std::uint32_t>(data, count, 0x7f800000);
    case DType::complex64:
      return are_finite<std::uint32_t>(data, 2 * count, 0x7f800000);
    case DType::float64:
      return are_finite<std::uint64_t>(data, count, 0x7ff0000000000000);
    case DType::complex128:
      return are_finite<std::uint64_t>(data, 2 * count, 0x7ff0000000000000);
    default:
      return true;
  }
}

/// Error if a step has just written a NaN or an infinity.
TYPEFLOW_COLD inline void check_outputs(const ir::ProgramView& program, const ir::Step& step,
                                        void* const* operands, const SymbolSizes& sizes) {
  for (int i = step.inputs; i < step.operands.count; ++i) {
    const Id slot = program.operands[step.operands.first + i];
    if (program.slots[slot].within != none) continue;  // looked at when the whole is there
    const Type& type = program.type_of(slot);
    if (type.dtype == DType::string) continue;
    const std::int64_t count = count_of(type.dims).resolve(sizes);
    if (are_finite(type.dtype, operands[i], count)) continue;
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const Number x = ir::load_number(type.dtype, operands[i], k);
      const bool is_nan = std::isnan(x.real) || std::isnan(x.imaginary);
      nan += is_nan;
      infinite += !is_nan && (std::isinf(x.real) || std::isinf(x.imaginary));
    }
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

}  // namespace typeflow::inline TYPEFLOW_ISA
