// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets: what a session's programs run on. A target is a type that gives kernels and devices with
// memory and streams. cpu_target.hpp has the one for processors. Engines see a TargetView.

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "typeflow/core/device.hpp"
#include "typeflow/exec/general.hpp"
#include "typeflow/exec/machine.hpp"
#include "typeflow/graph/mode.hpp"
#include "typeflow/lower/kernel_call.hpp"
#include "typeflow/lower/kernel_types.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The concept of a target. It also has code for every kernel type (lower/kernel_types.hpp), as a
/// constant, which may depend on the kind of device that the model names:
///   template <class Kernel, DeviceKind D> static constexpr KernelEntry kernel;
/// A session constructs its target from its options, and asks for the devices once for each
/// program. They must live as long as the target.
template <class T>
concept TargetType = std::constructible_from<T, const TargetOptions&> && requires(T& target) {
  /// The devices on which its kernels run; at most max_devices.
  { target.devices() } -> std::convertible_to<std::span<const MachineDevice>>;
};

/// A target whose devices include GPUs may also say
///   static constexpr DeviceKind default_kind = DeviceKind::gpu;
/// Then its sessions run what a model leaves open on /gpu:0, but for what needs the host. If it
/// lacks kernels of GPUs, their entries have a null `run`, and it also has
///   template <class Kernel> static constexpr KernelEntry host_kernel;
///   static constexpr auto move_to_host = &exec::move_to_host;
/// for the processor's (exec/host_code.hpp).
template <class T>
concept PrefersGpus = T::default_kind == DeviceKind::gpu;

namespace exec {
class Placed;
struct PlacementTask;
struct KernelTables;
}  // namespace exec

/// A target as engines see it, with its kernels for a program.
struct TargetView {
  const KernelEntry* kernels;  ///< one for each kernel of the program
  std::span<const MachineDevice> devices = host_devices;
  const exec::General* general = nullptr;  ///< null: straight programs only
  /// The processor's kernels, and the function that gives them to steps whose device has none
  /// (exec/host_code.hpp). Null if all devices have all kernels.
  const KernelEntry* host_kernels = nullptr;
  std::unique_ptr<exec::Placed> (*move_to_host)(const exec::PlacementTask&,
                                                const exec::KernelTables&,
                                                const KernelEntry*&) = nullptr;

  static constexpr MachineDevice host_devices[] = {{cpu(0)}};
};

namespace detail {

/// What a session on a target adds to its mode.
template <class Target>
inline constexpr Mode placing = PrefersGpus<Target> ? Mode::gpu_first : Mode{};

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

template <class P, class Target, int... I>
constexpr auto host_entries(std::integer_sequence<int, I...>) {
  return std::array<KernelEntry, sizeof...(I)>{
      Target::template host_kernel<ir::kernel_type<P::template Kernel<I>::value>>...};
}
template <class P, class Target>
inline constexpr auto host_table =
    host_entries<P, Target>(std::make_integer_sequence<int, P::kernel_count>{});

template <class P, TargetType T>
TargetView view_of(T& target) {
  TargetView view{kernel_table<P, T>.data(), target.devices()};
  if constexpr (requires { T::move_to_host; }) {
    view.host_kernels = host_table<P, T>.data();
    view.move_to_host = T::move_to_host;
  }
  // Programs that don't need it are not compiled with it.
  if constexpr (exec::is_general(P::view) || !requires { T::is_host; }) {
    view.general = &exec::general();
  }
  return view;
}

}  // namespace detail

}  // namespace typeflow::inline TYPEFLOW_ISA
