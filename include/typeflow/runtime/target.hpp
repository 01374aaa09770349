// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets: what a session's programs run on. A target is a type that gives kernels, memory and a
// queue. cpu_target.hpp has the one for processors. Engines see a TargetView.

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "typeflow/core/device.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/lower/kernel_types.hpp"
#include "typeflow/runtime/memory.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

/// The concept of a target. It also has code for every kernel type (lower/kernel_types.hpp), as a
/// constant, which may depend on the kind of device that the model names:
///   template <class Kernel, DeviceKind D> static constexpr KernelEntry kernel;
/// A session constructs its target from the number of threads for its runs, and calls the following
/// functions once for each program. What they return must live as long as the target.
template <class T>
concept TargetType = std::constructible_from<T, int> && requires(T& target) {
  /// The devices on which its kernels run.
  { target.devices() } -> std::convertible_to<std::span<const Device>>;
  /// Memory for temporaries, workspace and constants.
  { target.memory() } -> std::convertible_to<Memory&>;
  /// The queue that kernels are called with; may be null.
  { target.queue() } -> std::convertible_to<Queue*>;
};

/// A target as engines see it, with its kernels for a program.
struct TargetView {
  const KernelEntry* kernels;  ///< one for each kernel of the program
  std::span<const Device> devices = host_devices;
  Memory* memory = &host_memory;
  Queue* queue = nullptr;

  static constexpr Device host_devices[] = {cpu(0)};
};

namespace detail {

template <class P, class Target, int... I>
constexpr auto kernel_entries(std::integer_sequence<int, I...>) {
  return std::array<KernelEntry, sizeof...(I)>{
      Target::template kernel<ir::kernel_type<P::template Kernel<I>::value>,
                              P::template Kernel<I>::value.device>...};
}
/// A target's kernels for a program that is a Lowering.
template <class P, class Target>
inline constexpr auto kernel_table =
    kernel_entries<P, Target>(std::make_integer_sequence<int, P::kernel_count>{});

template <class P, TargetType T>
TargetView view_of(T& target) {
  return {kernel_table<P, T>.data(), target.devices(), &static_cast<Memory&>(target.memory()),
          target.queue()};
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_TARGET
