// SPDX-License-Identifier: Apache-2.0

#include <type_traits>
#include <utility>

#include "time_net.hpp"

namespace resnet {

namespace {

/// Square images with channels.
template <int Size, int Channels>
using Images = tf::Expr<float, tf::Shape<tf::batch, Size, Size, Channels>>;

/// The result's type of a stage for an X, and that of a unit before the last, which has no stride.
template <Stage S, class X>
using AfterStage = decltype(stage<S>(std::declval<tf::Graph&>(), "", std::declval<X>()));
template <Stage S, class X>
using AfterUnit =
    decltype(bottleneck<S.depth, 1>(std::declval<tf::Graph&>(), "", std::declval<X>()));

/// Whether a net has the shapes of table 1 (He, Zhang, Ren and Sun, Deep residual learning for
/// image recognition, 2015). Stages end with those of slim's resnet_v2_test.py.
template <class N>
constexpr bool has_shapes = false;
template <Stage A, Stage B, Stage C, Stage D>
constexpr bool has_shapes<Net<A, B, C, D>> = [] {
  using X = decltype(root<64>(std::declval<tf::Graph&>(), std::declval<Images<224, 3>>()));
  using StageA = AfterStage<A, X>;
  using StageB = AfterStage<B, StageA>;
  using StageC = AfterStage<C, StageB>;
  static_assert(std::is_same_v<X, Images<56, 64>>);
  static_assert(std::is_same_v<AfterUnit<A, X>, Images<56, 256>>);
  static_assert(std::is_same_v<StageA, Images<28, 256>>);
  static_assert(std::is_same_v<AfterUnit<B, StageA>, Images<28, 512>>);
  static_assert(std::is_same_v<StageB, Images<14, 512>>);
  static_assert(std::is_same_v<AfterUnit<C, StageB>, Images<14, 1024>>);
  static_assert(std::is_same_v<StageC, Images<7, 1024>>);
  static_assert(std::is_same_v<AfterStage<D, StageC>, Images<7, 2048>>);
  return true;
}();
static_assert(has_shapes<ResNet50>);

}  // namespace

}  // namespace resnet

static_assert(resnet::tf::parameters<resnet::ResNet50::forward>() == 25'568'360);
template void resnet::time_net<resnet::ResNet50>(const examples::Options&);
