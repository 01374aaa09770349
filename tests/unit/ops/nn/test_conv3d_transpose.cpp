// SPDX-License-Identifier: Apache-2.0

// conv3d_transpose against loops that add every element's window: paddings, strides, dilations,
// groups, batches.

#include <doctest/doctest.h>

#include <cstdint>

#include "typeflow/testing.hpp"

namespace {

namespace tf = typeflow;
namespace testing = tf::testing;
using testing::Elements;
using testing::Inputs;
using Options = tf::ConvOptions<3>;

constexpr Options strided{.strides = {2, 3, 1}};
constexpr Options valid{
    .strides = {1, 2, 2}, .padding = tf::Padding::valid, .dilations = {2, 1, 1}};
constexpr Options grouped{.padding = tf::Padding::valid, .groups = 2};

/// y (N,D',H',W',F) and w (KD,KH,KW,C/groups,F) to x (N,D,H,W,C).
template <Options O>
tf::HostTensor reference(const tf::HostTensor& y, const tf::HostTensor& w) {
  std::int64_t extent[3];
  std::int64_t before[3];
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t places = y.dims[1 + i];
    const std::int64_t reach = (places - 1) * O.strides[at] + (w.dims[i] - 1) * O.dilations[at] + 1;
    const bool same = O.padding == tf::Padding::same;
    extent[i] = same ? places * O.strides[at] : reach;
    before[i] = same && reach > extent[i] ? (reach - extent[i]) / 2 : 0;
  }
  const std::int64_t filters = y.dims[4];
  const std::int64_t share = w.dims[3];
  const std::int64_t channels = share * O.groups;
  tf::HostTensor x =
      tf::host_tensor(y.dtype, tf::Dims{5, {y.dims[0], extent[0], extent[1], extent[2], channels}});
  for (std::int64_t e = 0; e < y.size(); ++e) {
    const std::int64_t f = e % filters;
    std::int64_t rest = e / filters;
    std::int64_t place[3];
    for (int i = 2; i >= 0; --i) {
      place[i] = rest % y.dims[1 + i];
      rest /= y.dims[1 + i];
    }
    for (std::int64_t k = 0; k < w.size() / filters; ++k) {
      const std::int64_t c = k % share + f / (filters / O.groups) * share;
      std::int64_t tap = k / share;
      std::int64_t to[3];
      bool inside = true;
      for (int i = 2; i >= 0; --i) {
        const auto at = static_cast<std::size_t>(i);
        to[i] = place[i] * O.strides[at] + tap % w.dims[i] * O.dilations[at] - before[i];
        tap /= w.dims[i];
        inside = inside && to[i] >= 0 && to[i] < extent[i];
      }
      if (!inside) continue;
      const std::int64_t target =
          (((rest * extent[0] + to[0]) * extent[1] + to[1]) * extent[2] + to[2]) * channels + c;
      x.set(target, x.value(target) + y.value(e) * w.value(k * filters + f));
    }
  }
  return x;
}

}  // namespace

TEST_CASE("conv3d_transpose: values") {
  const auto check = [](const auto& result) {
    INFO(result.worst);
    CHECK(result.largest_error <= 40);
  };
  using Images = Inputs<tf::Shape<tf::batch, 2, 3, 4, 4>, tf::Shape<3, 2, 3, 2, 4>>;
  using Single = Inputs<tf::Shape<1, 1, 1, 1, 2>, tf::Shape<1, 1, 1, 1, 2>>;
  check(testing::check_values<Elements<float, double>, Images, Single>(
      [](auto y, auto w) { return tf::conv3d_transpose(y, w); }, reference<Options{}>));
  check(testing::check_values<Elements<float>, Images, Single>(
      [](auto y, auto w) { return tf::conv3d_transpose<strided>(y, w); }, reference<strided>));
  check(testing::check_values<Elements<double>, Images>(
      [](auto y, auto w) { return tf::conv3d_transpose<valid>(y, w); }, reference<valid>));
  check(testing::check_values<Elements<float>, Images>(
      [](auto y, auto w) { return tf::conv3d_transpose<grouped>(y, w); }, reference<grouped>));
}

TEST_CASE("conv3d_transpose: gradient") {
  const auto check = testing::check_gradients<tf::Shape<2, 2, 1, 2, 2>, tf::Shape<2, 3, 2, 1, 2>>(
      [](auto y, auto w) { return tf::conv3d_transpose<strided>(y, w); });
  INFO(check.worst);
  CHECK(check.largest_error < 1e-6);
}
