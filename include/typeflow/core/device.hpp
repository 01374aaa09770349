// SPDX-License-Identifier: Apache-2.0
#pragma once

// Devices: as types in expressions (Cpu<0>, Gpu<1>, Anywhere), as values in nodes and steps.

#include <concepts>
#include <cstdint>

#include "typeflow/core/config.hpp"
#include "typeflow/core/text.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

enum class DeviceKind : std::uint8_t { any, cpu, gpu };

/// Where a node has to run: on any device, or on one of a kind by its number.
struct Device {
  Device() = default;
  constexpr Device(DeviceKind its_kind, int its_index)
      : kind(its_kind), is_open(false), index(its_index) {}

  DeviceKind kind;
  /// The model has left it open, and passes/place.hpp has chosen the number. Another device of the
  /// kind would do as well. Says nothing about which device it is.
  bool is_open;
  int index;
  constexpr bool operator==(const Device& other) const {
    return kind == other.kind && index == other.index;
  }
};
constexpr Device cpu(int index = 0) { return {DeviceKind::cpu, index}; }
constexpr Device gpu(int index = 0) { return {DeviceKind::gpu, index}; }

/// The device in an expression's type. Anywhere is the default: the placer chooses.
struct Anywhere {
  static constexpr Device value{};
};
template <int Index = 0>
struct Cpu {
  static constexpr Device value = cpu(Index);
};
template <int Index = 0>
struct Gpu {
  static constexpr Device value = gpu(Index);
};

template <class D>
concept DeviceType = requires {
  { D::value } -> std::convertible_to<Device>;
};

/// TensorFlow's spelling: /cpu:0, /gpu:1; empty for any device.
constexpr Message& operator<<(Message& message, Device device) {
  if (device.kind == DeviceKind::any) return message;
  return message << (device.kind == DeviceKind::cpu ? "/cpu:" : "/gpu:") << device.index;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
