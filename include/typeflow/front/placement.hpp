// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pinning parts of a model to devices.
//
//   auto h = on<tf::Gpu<1>>(g, [&] { return relu(matmul(x, W)); });   // Expr<..., Gpu<1>>
//   auto y = on(g, tf::gpu(i), [&] { return tower(xs[i]); });         // the types stay unpinned
//   auto z = on(g, "/job:localhost/gpu:1", [&] { ... });              // by name
//   auto t = colocate_with(y, [&] { ... });                           // where y is
//
//   tf::VariablesInTurn servers({tf::cpu(1), tf::cpu(2)});
//   on(g, servers, [&] { ... });                                      // only variables
//
// Every node that the function makes is pinned, and so are the nodes of its gradients. Operations
// on pinned tensors are not pinned themselves.

#include <array>
#include <cstddef>
#include <source_location>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/core/device_name.hpp"
#include "typeflow/front/expr.hpp"
#include "typeflow/passes/place.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

template <class D, class R>
constexpr R pinned(R result) {
  return result;
}
template <class D, class T, class S, class Before>
constexpr Expr<T, S, D> pinned(Expr<T, S, Before> result) {
  return {result.graph(), result.id()};
}
template <class D, class T, class S, class Before, std::size_t N>
constexpr std::array<Expr<T, S, D>, N> pinned(const std::array<Expr<T, S, Before>, N>& results) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Expr<T, S, D>, N>{pinned<D>(results[I])...};
  }(std::make_index_sequence<N>{});
}
template <class D, class... R>
constexpr auto pinned(const std::tuple<R...>& results) {
  return std::apply([](const R&... r) { return std::tuple{pinned<D>(r)...}; }, results);
}

/// Sets the graph's device until the end of its life.
class DeviceGuard {
 public:
  constexpr DeviceGuard(ir::Graph& graph, Device device) : graph_(graph), outer_(graph.device) {
    graph.device = device;
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  constexpr ~DeviceGuard() { graph_.device = outer_; }

 private:
  ir::Graph& graph_;
  Device outer_;
};

/// Sets the devices to which variables go in turn, until the end of its life.
class TurnGuard {
 public:
  constexpr TurnGuard(ir::Graph& graph, const Device* devices, int count, int& next)
      : graph_(graph), outer_(graph.variable_turn), next_(next) {
    graph.variable_turn = {devices, count, next, graph.device};
  }
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;
  constexpr ~TurnGuard() {
    next_ = graph_.variable_turn.next;
    graph_.variable_turn = outer_;
  }

 private:
  ir::Graph& graph_;
  ir::DeviceTurn outer_;
  int& next_;
};

/// The device of a name inside of a scope of another device. A mistake is one of the model.
constexpr Device device_in(ir::Graph& graph, std::string_view text,
                           const std::source_location& at) {
  const Device outer = graph.device;
  const ParsedDeviceName parsed = parse_device_name(text);
  Message message{};
  message << "on(g, name, f) (" << file_name(at.file_name()) << ':' << static_cast<int>(at.line())
          << "): ";
  if (!parsed.ok()) {
    graph.fail(print_mistake(message, text, parsed));
    return outer;
  }
  constexpr DeviceName process = local_name({});
  const DeviceName& name = parsed.name;
  if (!(merge({name.job, name.replica, name.task}, process) == process)) {
    graph.fail(message << "device name \"" << text << "\": expected a device of this process, "
                       << process << ", got another process");
    return outer;
  }
  DeviceName around{};
  if (outer.kind != DeviceKind::any) around = {{}, -1, -1, outer.kind, outer.index};
  const DeviceName merged = merge(name, around);
  if (merged.kind == DeviceKind::any && merged.index != DeviceName::any_number) {
    graph.fail(message << "device name \"" << text << "\": a device's number needs its kind");
    return outer;
  }
  if (merged.kind == DeviceKind::any) return outer;
  return {merged.kind, merged.index == DeviceName::any_number ? 0 : merged.index};
}

}  // namespace detail

/// Calls `f()` and pins every node that it makes to D. The tensors that it returns (one, an array
/// or a tuple) carry D in their types.
template <DeviceType D, class F>
constexpr auto on(Graph& graph, F&& f) {
  const detail::DeviceGuard guard(graph, D::value);
  if constexpr (std::is_void_v<decltype(f())>) {
    f();
  } else {
    return detail::pinned<D>(f());
  }
}

/// The same for a device that is chosen while tracing. The types stay unpinned, so loops and arrays
/// stay plain.
template <class F>
constexpr auto on(Graph& graph, Device device, F&& f) {
  const detail::DeviceGuard guard(graph, device);
  return f();
}

/// The same for a name (core/device_name.hpp). Parts that it leaves open come from the scopes
/// around; a kind without a number means the first device of the kind. A bad name, or one of
/// another process, is a mistake of the model: a session of it does not compile.
template <class F>
constexpr auto on(Graph& graph, std::string_view name, F&& f,
                  std::source_location at = std::source_location::current()) {
  return on(graph, detail::device_in(graph, name, at), std::forward<F>(f));
}

/// The same for a name that is a constant, /cpu:N or /gpu:N. The results carry the device in their
/// types.
template <Text Name, class F>
constexpr auto on(Graph& graph, F&& f) {
  constexpr ParsedDeviceName parsed = parse_device_name(Name.view());
  constexpr DeviceName name = parsed.name;
  static_assert(parsed.ok(), "on<name>(g, f): the text is no name of a device");
  static_assert(
      !parsed.ok() || (name.kind != DeviceKind::any && name.index != DeviceName::any_number &&
                       fits(name, local_name({name.kind, name.index}))),
      "on<name>(g, f): the name must say which device of this process: /cpu:N or /gpu:N");
  constexpr int index = name.index < 0 ? 0 : name.index;
  if constexpr (name.kind == DeviceKind::gpu) {
    return on<Gpu<index>>(graph, std::forward<F>(f));
  } else {
    return on<Cpu<index>>(graph, std::forward<F>(f));
  }
}

/// Calls `f()` and pins every node that it makes to the device where the operation of x will run,
/// by its pin or by the rules of passes/place.hpp.
template <class F>
constexpr auto colocate_with(const AnyExpr& x, F&& f) {
  const detail::DeviceGuard guard(*x.graph, ir::future_device(*x.graph, x.id));
  return f();
}
template <TypedExpr X, class F>
constexpr auto colocate_with(const X& x, F&& f) {
  return colocate_with(x.any(), std::forward<F>(f));
}

/// Devices to which variables go in turn, as TensorFlow's replica_device_setter spreads them over
/// parameter servers. Several calls of on() with the same object continue the turn.
template <std::size_t N>
class VariablesInTurn {
 public:
  constexpr explicit VariablesInTurn(const Device (&devices)[N])
      : devices_(std::to_array(devices)) {}

 private:
  template <std::size_t M, class F>
  friend constexpr auto on(Graph& graph, VariablesInTurn<M>& variables, F&& f);

  std::array<Device, N> devices_;
  int next_ = 0;
};

/// Calls `f()`. Each variable that it makes is pinned to the next of the devices, and an optimiser
/// keeps its slots for a variable there, too. Everything else stays as it is without this, and so
/// do variables that `f` pins itself.
template <std::size_t N, class F>
constexpr auto on(Graph& graph, VariablesInTurn<N>& variables, F&& f) {
  const detail::TurnGuard guard(graph, variables.devices_.data(), static_cast<int>(N),
                                variables.next_);
  return f();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
