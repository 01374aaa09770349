// SPDX-License-Identifier: Apache-2.0

// Convolutions as layers: shapes, variables and their names, functions and objects.

#include "support.hpp"

using tf::Dims;
using tf::Padding;

/// Whether variable i of a graph has this path and shape.
constexpr bool is_variable(tf::Graph& g, int i, std::string_view path, const Dims& dims) {
  const tf::ParameterTable table = tf::parameters(g);
  return i < table.size() && table[i].path == path && table[i].dims == dims;
}

constexpr bool conv2d_takes_a_kernel_and_a_stride(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 28, 20, 3>(g, "x");
  auto a = conv2d<8, 5>(g, "a", x);
  auto b = conv2d<6, tf::Kernel2d{1, 7}, 2>(g, {"b", 1}, a, {.use_bias = false});
  auto c =
      conv2d<4, 3, tf::ConvOptions<2>{.padding = Padding::valid, .dilations = {2, 1}, .groups = 2}>(
          g, "c", b);
  return has_shape<float, tf::batch, 28, 20, 8>(a) && has_shape<float, tf::batch, 14, 10, 6>(b) &&
         has_shape<float, tf::batch, 10, 8, 4>(c) &&
         is_variable(g, 0, "a/W", Dims{4, {5, 5, 3, 8}}) &&
         is_variable(g, 1, "a/b", Dims{1, {8}}) &&
         is_variable(g, 2, "b_1/W", Dims{4, {1, 7, 8, 6}}) &&
         is_variable(g, 3, "c/W", Dims{4, {3, 3, 3, 4}}) &&
         is_variable(g, 4, "c/b", Dims{1, {4}}) && tf::parameters(g).size() == 5;
}
static_assert(holds<conv2d_takes_a_kernel_and_a_stride>());

constexpr bool conv1d_and_conv3d_are_alike(tf::Graph& g) {
  auto x = placeholder<double, tf::batch, 28, 3>(g, "x");
  auto y = placeholder<float, 2, 6, 7, 8, 3>(g, "y");
  auto a = conv1d<8, 5, 2>(g, "a", x);
  auto b = conv3d<4, tf::Kernel3d{1, 2, 3}, tf::ConvOptions<3>{.strides = {1, 2, 1}}>(g, "b", y);
  return has_shape<double, tf::batch, 14, 8>(a) && has_shape<float, 2, 6, 4, 8, 4>(b) &&
         is_variable(g, 0, "a/W", Dims{3, {5, 3, 8}}) &&
         is_variable(g, 2, "b/W", Dims{5, {1, 2, 3, 3, 4}});
}
static_assert(holds<conv1d_and_conv3d_are_alike>());

constexpr bool others_of_the_family_have_their_weights(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 8, 6, 4>(g, "x");
  auto up = conv2d_transpose<5, 4, 2>(g, "up", x);
  auto plane = depthwise_conv2d<2, 3, 2>(g, "plane", x);
  auto separable = separable_conv2d<7, 3, 1, 2>(g, "separable", x);
  auto blur = conv2d_in_plane<3>(g, "blur", x);
  return has_shape<float, tf::batch, 16, 12, 5>(up) &&
         has_shape<float, tf::batch, 4, 3, 8>(plane) &&
         has_shape<float, tf::batch, 8, 6, 7>(separable) &&
         has_shape<float, tf::batch, 8, 6, 4>(blur) &&
         is_variable(g, 0, "up/W", Dims{4, {4, 4, 5, 4}}) &&
         is_variable(g, 1, "up/b", Dims{1, {5}}) &&
         is_variable(g, 2, "plane/W", Dims{4, {3, 3, 4, 2}}) &&
         is_variable(g, 3, "plane/b", Dims{1, {8}}) &&
         is_variable(g, 4, "separable/depthwise", Dims{4, {3, 3, 4, 2}}) &&
         is_variable(g, 5, "separable/W", Dims{4, {1, 1, 8, 7}}) &&
         is_variable(g, 6, "separable/b", Dims{1, {7}}) &&
         is_variable(g, 7, "blur/W", Dims{4, {3, 3, 1, 1}}) &&
         is_variable(g, 8, "blur/b", Dims{1, {4}});
}
static_assert(holds<others_of_the_family_have_their_weights>());

// Objects share their variables between calls, of images of any size.
constexpr bool objects_are_called_many_times(tf::Graph& g) {
  auto a = placeholder<float, tf::batch, 8, 6, 4>(g, "a");
  auto b = placeholder<float, 3, 5, 5, 4>(g, "b");
  auto c = placeholder<double, 3, 9, 2>(g, "c");
  auto d = placeholder<float, 3, 2, 2, 2, 1>(g, "d");
  tf::Conv2d<4, 6, 3, 2> conv(g, "conv");
  tf::Conv1d<2, 3, 5, tf::ConvOptions<1>{}, double> line(g, "line");
  tf::Conv3d<1, 2, 2> volume(g, "volume", {.use_bias = false});
  tf::Conv2dTranspose<4, 6, 3, 2> up(g, "up");
  tf::DepthwiseConv2d<4, 1, 3> plane(g, "plane");
  tf::SeparableConv2d<4, 6, 3> separable(g, "separable");
  return has_shape<float, tf::batch, 4, 3, 6>(conv(a)) && has_shape<float, 3, 3, 3, 6>(conv(b)) &&
         has_shape<double, 3, 9, 3>(line(c)) && has_shape<float, 3, 2, 2, 2, 2>(volume(d)) &&
         has_shape<float, 3, 10, 10, 6>(up(b)) && has_shape<float, 3, 5, 5, 4>(plane(b)) &&
         has_shape<float, 3, 5, 5, 6>(separable(b)) && is_named(conv.weights(), "conv/W") &&
         is_named(conv.bias(), "conv/b") && is_named(line.weights(), "line/W") &&
         is_named(volume.weights(), "volume/W") && volume.bias().id() == tf::none &&
         is_named(up.bias(), "up/b") && is_named(plane.weights(), "plane/W") &&
         is_named(separable.depthwise_weights(), "separable/depthwise") &&
         is_named(separable.weights(), "separable/W") && tf::parameters(g).size() == 12;
}
static_assert(holds<objects_are_called_many_times>());

// Initialisers: a layer's own, else the scope's; of biases zeros.
constexpr bool initializers_come_from_options_and_scopes(tf::Graph& g) {
  tf::Scope in(g, "net", {.initializer = tf::uniform(-0.05, 0.05)});
  auto x = placeholder<float, tf::batch, 8, 6, 4>(g, "x");
  conv2d<5, 3>(g, "own", x, {.weights = tf::truncated_normal(0, 0.1), .bias = tf::filled(0.1)});
  conv2d<5, 3>(g, "scope", x);
  using Kind = tf::Initializer::Kind;
  const auto& variables = records(g).variable_records;
  return variables[0].initializer.kind == Kind::truncated_normal &&
         variables[1].initializer.a == 0.1 && variables[2].initializer.kind == Kind::uniform &&
         variables[3].initializer.kind == Kind::constant && variables[3].initializer.a == 0;
}
static_assert(holds<initializers_come_from_options_and_scopes>());

// Regularisers: a layer's own for weights and bias, else the scope's.
constexpr bool regularizers_come_from_options_and_scopes(tf::Graph& g) {
  tf::Scope in(g, "net", {.regularizer = tf::l2_regularizer(0.5)});
  auto x = placeholder<float, tf::batch, 8, 6, 4>(g, "x");
  auto ids = placeholder<std::int32_t, tf::batch>(g, "ids");
  conv2d<5, 3>(g, "scope", x);
  conv2d<5, 3>(g, "own", x,
               {.regularizer = tf::l1_regularizer(2), .bias_regularizer = tf::no_regularizer});
  separable_conv2d<5, 3>(g, "separable", x, {.regularizer = tf::l1_regularizer(3)});
  embedding<10, 4>(g, "words", ids, {.regularizer = tf::l1_regularizer(4)});
  const auto is = [&](int i, double l1, double l2) {
    const tf::Regularizer r = records(g).variable_records[i].regularizer;
    return r.l1 == l1 && r.l2 == l2;
  };
  return is(0, 0, 0.5) && is(1, 0, 0.5) && is(2, 2, 0) && is(3, 0, 0) && is(4, 3, 0) &&
         is(5, 3, 0) && is(6, 0, 0.5) && is(7, 4, 0);
}
static_assert(holds<regularizers_come_from_options_and_scopes>());

// Activations: functions of the library, and lambdas.
constexpr bool activations_follow_the_bias(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 8, 6, 4>(g, "x");
  auto y = conv2d<5, 3>(g, "a", x, {.activation = tf::relu});
  auto z = conv2d<5, 3>(g, "b", x, {.activation = [](auto v) { return 2 * sigmoid(v); }});
  return tf::is<tf::ops::Relu>(*node_of(y).op) && tf::is<tf::ops::Mul>(*node_of(z).op) &&
         count<tf::ops::Sigmoid>(g) == 1;
}
static_assert(holds<activations_follow_the_bias>());

constexpr void changes_the_type(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  dense<5>(g, "fc", x, {.activation = [](auto v) { return cast_to(v, tf::DType::float64); }});
}
static_assert(mistake<changes_the_type>().view() ==
              ".activation: expected float [batch, 5] as its argument has, got double [batch, 5]");

// Dense layers of more axes than two are one product; where rows can't be counted, several.
constexpr bool dense_takes_more_axes(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 7, 4>(g, "x");
  auto y = placeholder<float, tf::batch, 2 * tf::batch, 4>(g, "y");
  auto a = dense<3>(g, "a", x);
  auto b = dense<3>(g, "b", y, {.use_bias = false});
  return has_shape<float, tf::batch, 7, 3>(a) && has_shape<float, tf::batch, 2 * tf::batch, 3>(b) &&
         count<tf::ops::MatMul>(g) == 2 && is_variable(g, 2, "b/W", Dims{2, {4, 3}}) &&
         tf::parameters(g).size() == 3;
}
static_assert(holds<dense_takes_more_axes>());
