// SPDX-License-Identifier: Apache-2.0

// Placement: devices in types, in nodes and in the nodes of gradients.

#include <array>
#include <tuple>

#include "support.hpp"
#include "typeflow/front/placement.hpp"

template <class X, class D, class T, tf::Extent... E>
inline constexpr bool is_on = std::is_same_v<X, tf::Expr<T, tf::Shape<E...>, D>>;

constexpr bool on_pins_nodes_and_types(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto W = tf::variable<float, 3, 4>(g, "W");
  auto h = tf::on<tf::Gpu<1>>(g, [&] { return relu(matmul(x, W)); });
  auto y = h + 1;
  static_assert(is_on<decltype(h), tf::Gpu<1>, float, tf::batch, 4>);
  static_assert(is_tensor<decltype(y), float, tf::batch, 4>);  // free again
  static_assert(std::is_convertible_v<decltype(h), decltype(y)>);
  static_assert(!std::is_convertible_v<decltype(y), decltype(h)>);
  const tf::Expr<float, tf::Shape<tf::batch, 4>> unpinned = h;
  const tf::Id product = records(g).input(node_of(h), 0);
  return unpinned.id() == h.id() && node_of(h).device == tf::gpu(1) &&
         records(g).node_of(product).device == tf::gpu(1) && node_of(x).device == tf::Device{} &&
         node_of(W).device == tf::Device{} && node_of(y).device == tf::Device{};
}
static_assert(holds<on_pins_nodes_and_types>());

constexpr bool on_returns_several(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto pair = tf::on<tf::Cpu<>>(g, [&] { return std::tuple{exp(x), sum(x)}; });
  auto list = tf::on<tf::Cpu<1>>(g, [&] { return std::array{x + 1, x + 2}; });
  static_assert(is_on<std::tuple_element_t<0, decltype(pair)>, tf::Cpu<0>, float, 3>);
  static_assert(is_on<std::tuple_element_t<1, decltype(pair)>, tf::Cpu<0>, float>);
  static_assert(is_on<decltype(list)::value_type, tf::Cpu<1>, float, 3>);
  return node_of(std::get<1>(pair)).device == tf::cpu(0) && node_of(list[1]).device == tf::cpu(1);
}
static_assert(holds<on_returns_several>());

constexpr bool a_device_may_be_chosen_while_tracing(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  std::array<tf::Expr<float>, 4> losses;
  for (int i = 0; i < 4; ++i) {
    losses[static_cast<std::size_t>(i)] = tf::on(g, tf::gpu(i), [&] {
      tf::NameScope in(g, "tower", i);
      return sum(square(x)).named("loss");
    });
  }
  return node_of(losses[0]).device == tf::gpu(0) && node_of(losses[3]).device == tf::gpu(3) &&
         is_named(losses[3], "tower_3/loss");
}
static_assert(holds<a_device_may_be_chosen_while_tracing>());

constexpr bool the_inner_device_counts(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  tf::Device seen{};
  auto y = tf::on<tf::Gpu<0>>(g, [&] {
    auto inner = tf::on<tf::Cpu<0>>(g, [&] { return exp(x); });
    seen = node_of(inner).device;
    return log(inner);
  });
  return seen == tf::cpu(0) && node_of(y).device == tf::gpu(0) && records(g).device == tf::Device{};
}
static_assert(holds<the_inner_device_counts>());

constexpr bool gradients_sit_with_their_forward_nodes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  auto W = tf::variable<float, 3, 4>(g, "W");
  auto V = tf::variable<float, 4, 5>(g, "V");
  auto h = tf::on<tf::Gpu<0>>(g, [&] { return matmul(x, W); });
  auto y = tf::on<tf::Gpu<1>>(g, [&] { return matmul(h, V); });
  auto [dW, dV] = gradients(sum(y), W, V);
  static_assert(is_tensor<decltype(dW), float, 3, 4>);
  return node_of(dW).device == tf::gpu(0) && node_of(dV).device == tf::gpu(1);
}
static_assert(holds<gradients_sit_with_their_forward_nodes>());

constexpr bool operands_may_be_pinned_apart(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto a = tf::on<tf::Gpu<0>>(g, [&] { return exp(x); });
  auto b = tf::on<tf::Gpu<1>>(g, [&] { return log(x); });
  static_assert(is_tensor<decltype(a * b), float, 3>);
  static_assert(is_tensor<decltype(where(less(a, b), a, b)), float, 3>);
  where(less(a, b), a, b).named("y");
  return true;
}
static_assert(holds<operands_may_be_pinned_apart>());

static_assert(tf::DeviceType<tf::Anywhere> && tf::DeviceType<tf::Gpu<3>> && !tf::DeviceType<int>);
