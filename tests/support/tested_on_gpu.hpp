// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operations whose kernels for GPUs a program of tests compares with a reference.
//
// They are known when the program starts, whichever of its test cases run.

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <typeflow/typeflow.hpp>

namespace test {

namespace tf = typeflow;

/// "MatMul", of typeflow::ops::MatMul as the compiler prints it.
inline std::string_view name_of_type(const tf::ir::Op& op) {
  std::string_view text = op.type;
  text.remove_prefix(text.find("O = ") + 4);
  text = text.substr(0, text.find_first_of("];<"));
  return text.substr(text.rfind(':') + 1);
}

/// The names of their types.
inline std::set<std::string_view>& tested_on_gpu() {
  static std::set<std::string_view> names;
  return names;
}

/// Adds the operations of a kernel.
inline void add_tested(const tf::ir::KernelSpec& spec) {
  if (spec.kind == tf::ir::KernelKind::custom || spec.kind == tf::ir::KernelKind::contraction) {
    tested_on_gpu().insert(name_of_type(*spec.op));
  }
  if (spec.kind == tf::ir::KernelKind::custom) return;
  for (int i = 0; i < spec.items; ++i) tested_on_gpu().insert(name_of_type(*spec.item[i].op));
}

template <class Program, class Target, int... I>
bool add_tested(std::integer_sequence<int, I...>) {
  const auto& entries = tf::detail::kernel_table<Program, Target>;
  const auto add = [&](const tf::ir::KernelSpec& spec, std::size_t i) {
    if (spec.device == tf::DeviceKind::gpu && entries[i].run != nullptr) add_tested(spec);
  };
  (add(Program::template Kernel<I>::value, I), ...);
  return true;
}
/// Whoever compares a program's results on a target uses it.
template <class Program, class Target>
inline const bool is_tested =
    add_tested<Program, Target>(std::make_integer_sequence<int, Program::kernel_count>{});

}  // namespace test
