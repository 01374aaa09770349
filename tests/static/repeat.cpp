// SPDX-License-Identifier: Apache-2.0

// repeat and stack: layers behind each other, and the names of their variables. (Lambdas that are
// templates capture: nvcc warns of those that could be converted to functions.)

#include "support.hpp"

constexpr bool has_paths(tf::Graph& g, std::initializer_list<std::string_view> paths) {
  const tf::ParameterTable table = tf::parameters(g);
  if (table.size() != static_cast<int>(paths.size())) return false;
  int i = 0;
  for (const std::string_view path : paths) {
    if (table[i++].path != path) return false;
  }
  return true;
}

// The type changes at the first layer and stays; names are those of chapter 11.
constexpr bool repeat_numbers_its_layers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 8, 6, 3>(g, "x");
  auto y = repeat<3>(g, "conv1", x, [](tf::Graph& in, tf::Label name, auto v) {
    return conv2d<4, 3>(in, name, v).named(name);
  });
  return has_shape<float, tf::batch, 8, 6, 4>(y) && is_named(y, "conv1/conv1_3") &&
         count<tf::ops::Conv>(g) == 3 &&
         has_paths(g, {"conv1/conv1_1/W", "conv1/conv1_1/b", "conv1/conv1_2/W", "conv1/conv1_2/b",
                       "conv1/conv1_3/W", "conv1/conv1_3/b"});
}
static_assert(holds<repeat_numbers_its_layers>());

constexpr bool repeat_follows_types(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 32, 32, 3>(g, "x");
  const auto halve = [](tf::Graph& in, tf::Label name, auto v) {
    return conv2d<4, 3, 2>(in, name, v, {.use_bias = false});
  };
  auto y = repeat<3>(g, {"half", 7}, x, halve);
  auto z = repeat<1>(g, "one", x, halve);
  return has_shape<float, tf::batch, 4, 4, 4>(y) && has_shape<float, tf::batch, 16, 16, 4>(z) &&
         has_paths(g, {"half_7/half_1/W", "half_7/half_2/W", "half_7/half_3/W", "one/one_1/W"});
}
static_assert(holds<repeat_follows_types>());

constexpr bool stack_takes_an_item_each(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 10>(g, "x");
  auto y = stack<32, 64, 128>(g, "fc", x, [&]<int N>(tf::Graph& in, tf::Label name, auto v) {
    return relu(dense<N>(in, name, v));
  });
  const tf::ParameterTable table = tf::parameters(g);
  return has_shape<float, tf::batch, 128>(y) &&
         has_paths(
             g, {"fc/fc_1/W", "fc/fc_1/b", "fc/fc_2/W", "fc/fc_2/b", "fc/fc_3/W", "fc/fc_3/b"}) &&
         table[2].dims == tf::Dims{2, {32, 64}} && count<tf::ops::Relu>(g) == 3;
}
static_assert(holds<stack_takes_an_item_each>());

// Items are settings of any type. What the scope says holds for the layers.
struct Layers {
  int filters;
  int stride;
};
constexpr bool stack_takes_structs(tf::Graph& g) {
  tf::Scope net(g, "net", {.initializer = tf::filled(0.25)});
  auto x = placeholder<float, tf::batch, 8, 8, 3>(g, "x");
  auto y = stack<Layers{4, 1}, Layers{6, 2}>(
      g, "stage", x, [&]<Layers S>(tf::Graph& in, tf::Label name, auto v) {
        return conv2d<S.filters, 3, S.stride>(in, name, v, {.use_bias = false});
      });
  return has_shape<float, tf::batch, 4, 4, 6>(y) &&
         has_paths(g, {"net/stage/stage_1/W", "net/stage/stage_2/W"}) &&
         records(g).variable_records[1].initializer.a == 0.25;
}
static_assert(holds<stack_takes_structs>());
