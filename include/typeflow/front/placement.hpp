// SPDX-License-Identifier: Apache-2.0
#pragma once

// Pinning parts of a model to devices.
//
//   auto h = on<tf::Gpu<1>>(g, [&] { return relu(matmul(x, W)); });   // Expr<..., Gpu<1>>
//   auto y = on(g, tf::gpu(i), [&] { return tower(xs[i]); });         // the types stay unpinned
//
// Every node that the function makes is pinned, and so are the nodes of its gradients. Operations
// on pinned tensors are not pinned themselves.

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "typeflow/front/expr.hpp"

namespace typeflow::inline TYPEFLOW_TARGET {

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

}  // namespace typeflow::inline TYPEFLOW_TARGET
