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

// Names.

constexpr bool a_device_may_be_named(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto a = tf::on(g, "/gpu:1", [&] { return exp(x); });
  auto b = tf::on(g, "/job:localhost/replica:0/task:0/device:CPU:2", [&] { return exp(x); });
  auto c = tf::on<"/gpu:3">(g, [&] { return exp(x); });
  auto d = tf::on(g, "/gpu:*", [&] { return exp(x); });
  auto e = tf::on(g, "/job:localhost", [&] { return exp(x); });
  static_assert(is_tensor<decltype(a), float, 3>);
  static_assert(is_on<decltype(c), tf::Gpu<3>, float, 3>);
  static_assert(
      is_on<decltype(tf::on<"/job:localhost/cpu:1">(g, [&] { return x; })), tf::Cpu<1>, float, 3>);
  return node_of(a).device == tf::gpu(1) && node_of(b).device == tf::cpu(2) &&
         node_of(c).device == tf::gpu(3) && node_of(d).device == tf::gpu(0) &&
         node_of(e).device == tf::Device{};
}
static_assert(holds<a_device_may_be_named>());

constexpr bool names_of_nested_scopes_merge(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  return tf::on(g, "/gpu:2", [&] {
    auto kind = tf::on(g, "/device:GPU", [&] { return exp(x); });
    auto process = tf::on(g, "/job:localhost/task:0", [&] { return log(x); });
    auto other = tf::on(g, "/cpu:0", [&] { return sin(x); });
    auto number = tf::on(g, "/device:*:5", [&] { return cos(x); });
    return node_of(kind).device == tf::gpu(2) && node_of(process).device == tf::gpu(2) &&
           node_of(other).device == tf::cpu(0) && node_of(number).device == tf::gpu(5);
  });
}
static_assert(holds<names_of_nested_scopes_merge>());

template <tf::Text Name>
constexpr void on_a_bad_name(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  tf::on(g, Name.view(), [&] { return exp(x); });
}
static_assert(contains(mistake<on_a_bad_name<"/device:tpu:0">>(),
                       "device name \"/device:tpu:0\": expected cpu, gpu or * at position 8"));
static_assert(contains(mistake<on_a_bad_name<"/device:tpu:0">>(), "(devices.cpp:"));
static_assert(contains(mistake<on_a_bad_name<"/job:ps/task:1/cpu:0">>(),
                       "expected a device of this process, /job:localhost/replica:0/task:0"));
static_assert(contains(mistake<on_a_bad_name<"/device:*:1">>(), "needs its kind"));
static_assert(mistake<on_a_bad_name<"/cpu:1">>().empty());

// Colocation.

constexpr bool colocated_operations_are_where_the_other_will_run(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto W = tf::on(g, "/cpu:2", [&] { return tf::variable<float, 3>(g, "W"); });
  auto V = tf::variable<float, 3>(g, "V");
  auto near = exp(W * x);  // on the device of its inputs
  auto apart = tf::on(g, "/cpu:1", [&] { return near + V; });
  auto with_variable = tf::colocate_with(W, [&] { return sum(x); });
  auto with_unpinned = tf::colocate_with(near, [&] { return mean(x); });
  auto with_pinned = tf::colocate_with(apart, [&] { return max(x); });
  auto with_default = tf::colocate_with(V, [&] { return min(x); });
  auto with_mixed = tf::colocate_with(W + V, [&] { return prod(x); });
  return node_of(near).device == tf::Device{} && node_of(with_variable).device == tf::cpu(2) &&
         node_of(with_unpinned).device == tf::cpu(2) && node_of(with_pinned).device == tf::cpu(1) &&
         node_of(with_default).device == tf::cpu(0) && node_of(with_mixed).device == tf::cpu(0) &&
         records(g).device == tf::Device{};
}
static_assert(holds<colocated_operations_are_where_the_other_will_run>());

constexpr bool colocation_predicts_placement(tf::Graph& g) {
  auto x = tf::placeholder<float, 3>(g, "x");
  auto W = tf::on(g, "/cpu:2", [&] { return tf::variable<float, 3>(g, "W"); });
  auto a = tf::on(g, "/cpu:1", [&] { return exp(x); });
  auto values = std::array{(a + 1).id(), (W * 2).id(),  (a * W).id(),
                           (x + 1).id(), W.read().id(), tf::assign(W, a).token()};
  tf::ir::Graph placed = g;
  place(placed);
  for (const tf::Id value : values) {
    if (!(tf::ir::future_device(g, value) == placed.node_of(value).device)) return false;
  }
  return placed.node_of(values[5]).device == tf::cpu(2);
}
static_assert(holds<colocation_predicts_placement>());

// Variables in turn.

constexpr bool variables_go_to_the_devices_in_turn(tf::Graph& g) {
  tf::VariablesInTurn servers({tf::cpu(1), tf::cpu(2)});
  auto x = tf::placeholder<float, tf::batch, 3>(g, "x");
  const auto loss = tf::on(g, tf::cpu(3), [&] {
    return tf::on(g, servers, [&] {
      auto a = tf::variable<float, 3, 3>(g, "a");
      auto b = tf::variable<float, 3>(g, "b");
      auto own = tf::on(g, tf::cpu(4), [&] { return tf::variable<float, 3>(g, "own"); });
      auto c = tf::variable<float, 3>(g, "c");
      return sum(square(matmul(x, a) + b * c + own));
    });
  });
  const auto more = tf::on(g, servers, [&] { return tf::variable<float, 3>(g, "more"); });
  const auto after = tf::variable<float, 3>(g, "after");
  tf::on(g, servers, [&] { return tf::Momentum{.rate = 0.1f}.minimize(loss); });
  const auto device = [&](int i) {
    return records(g).node_of(records(g).variable_records[i].value).device;
  };
  bool slots_are_with_their_variables = true;
  const tf::Device expected[] = {tf::cpu(1), tf::cpu(2), tf::cpu(4), tf::cpu(1)};
  for (int i = 0; i < 4; ++i) {
    slots_are_with_their_variables &= device(i) == expected[i] && device(6 + i) == expected[i];
  }
  return slots_are_with_their_variables && node_of(loss).device == tf::cpu(3) &&
         node_of(more).device == tf::cpu(2) && node_of(after).device == tf::Device{};
}
static_assert(holds<variables_go_to_the_devices_in_turn>());
