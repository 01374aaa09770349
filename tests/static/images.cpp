// SPDX-License-Identifier: Apache-2.0

// Shapes of pools and convolutions; what batch_norm makes in either mode.

#include "support.hpp"

using tf::Padding;

constexpr bool pools_have_tensorflows_shapes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 8, 3>(g, "x");
  auto line = tf::placeholder<std::int32_t, 2, 9, 4>(g, "line");
  constexpr tf::PoolOptions<2> given{
      .window = {3, 2}, .padding = Padding::given, .pads = {{{2, 0}, {0, 1}}}};
  constexpr tf::PoolOptions<1> wide{.window = {4}, .strides = {3}};
  // The padding of 3x3 windows that are two apart over 8 columns: none, and one on the right.
  const tf::AnyExpr y = max_pool<3, 2>(x).any();
  const auto op = tf::decode<tf::ops::MaxPool>(g, records(g).node_of(y.id));
  return has_shape<float, tf::batch, 4, 4, 3>(max_pool<2>(x)) &&
         has_shape<float, tf::batch, 4, 4, 3>(max_pool<3, 2>(x)) &&
         has_shape<float, tf::batch, 3, 3, 3>(max_pool<3, 2, Padding::valid>(x)) &&
         has_shape<float, tf::batch, 7, 8, 3>(avg_pool<given>(x)) &&
         has_shape<std::int32_t, 2, 3, 4>(max_pool<wide>(line)) && op.window.axis(0).span() == 1 &&
         op.window.axis(1).before == 1 && op.window.axis(1).after == 1 &&
         op.window.axis(2).before == 0 && op.window.axis(2).after == 1;
}
static_assert(holds<pools_have_tensorflows_shapes>());

constexpr bool convolutions_have_tensorflows_shapes(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 8, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 2, 4, 6>(g, "w");
  auto grouped = tf::placeholder<float, 3, 3, 2, 6>(g, "grouped");
  auto line = tf::placeholder<float, tf::batch, 9, 4>(g, "line");
  auto of_line = tf::placeholder<float, 3, 4, 5>(g, "of_line");
  constexpr tf::ConvOptions<2> strided{.strides = {2, 3}};
  constexpr tf::ConvOptions<2> valid{.padding = Padding::valid, .dilations = {2, 1}};
  constexpr tf::ConvOptions<2> two{.groups = 2};
  auto y = conv2d<strided>(x, w);
  gradients(sum(square(gradients(sum(square(y)), x))), w);  // of second order
  return has_shape<float, tf::batch, 5, 3, 6>(y) &&
         has_shape<float, tf::batch, 5, 7, 6>(conv2d<valid>(x, w)) &&
         has_shape<float, tf::batch, 9, 8, 6>(conv2d<two>(x, grouped)) &&
         has_shape<float, tf::batch, 9, 5>(conv1d(line, of_line)) &&
         has_shape<float, tf::batch, 10, 9, 4>(conv2d_transpose<strided>(y, w)) &&
         count<tf::ops::ConvFilterGradient>(g) >= 1 && count<tf::ops::ConvInputGradient>(g) >= 2;
}
static_assert(holds<convolutions_have_tensorflows_shapes>());

constexpr bool depthwise_convolutions_keep_channels_together(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 9, 9, 4>(g, "x");
  auto one = tf::placeholder<float, 3, 3, 4, 1>(g, "one");
  auto three = tf::placeholder<float, 3, 3, 4, 3>(g, "three");
  constexpr tf::ConvOptions<2> strided{
      .strides = {2, 1}, .padding = Padding::valid, .dilations = {1, 2}};
  auto y = depthwise_conv2d(x, three);
  gradients(sum(y), x, three);
  const bool shapes = has_shape<float, tf::batch, 9, 9, 4>(depthwise_conv2d(x, one)) &&
                      has_shape<float, tf::batch, 4, 5, 12>(depthwise_conv2d<strided>(x, three));
  return shapes && count<tf::ops::DepthwiseConv>(g) == 3 &&
         count<tf::ops::DepthwiseInputGradient>(g) == 1 &&
         count<tf::ops::DepthwiseFilterGradient>(g) == 1;
}
static_assert(holds<depthwise_convolutions_keep_channels_together>());

constexpr void normalized(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4, 4, 8>(g, "x");
  auto h = tf::batch_norm(g, {"norm", 1}, x);
  static_assert(is_tensor<decltype(h), float, tf::batch, 4, 4, 8>);
  tf::batch_norm(g, {"norm", 2}, lrn(h), {.center = false});
}
constexpr bool batch_norm_registers_updates_in_training_alone() {
  tf::Graph train(tf::training);
  tf::Graph test(tf::inference);
  normalized(train);
  normalized(test);
  bool same =
      records(train).variable_records.size() == 7 && records(test).variable_records.size() == 7;
  for (int i = 0; same && i < 7; ++i) {
    same = records(train).names[records(train).variable_records[i].name].hash ==
           records(test).names[records(test).variable_records[i].name].hash;
  }
  return same && train.trainable().size() == 3 && records(train).update_tokens.size() == 4 &&
         records(test).update_tokens.empty();
}
static_assert(batch_norm_registers_updates_in_training_alone());
