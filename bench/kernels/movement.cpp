// SPDX-License-Identifier: Apache-2.0

// Operations that move elements, and those that put them in order.

#include "cases.hpp"

#include <typeflow/images.hpp>
#include <typeflow/indexing.hpp>
#include <typeflow/operations.hpp>

namespace {

using namespace bench;
using Square = Normal<float, 4096, 4096>;
using Images = Normal<float, 32, 224, 224, 3>;
using ByteImages = Between<std::uint8_t, 0, 256, 32, 224, 224, 3>;
using Channels = Normal<float, 16, 56, 56, 64>;
using Bytes = Between<std::uint8_t, 0, 256, 4096, 4096>;
using Table = Normal<float, 32'768, 128>;
using Places = Between<std::int32_t, 0, columns, rows, columns>;
constexpr auto nearest = tf::ResizeOptions{.method = tf::Interpolation::nearest};
constexpr auto along = tf::GatherOptions{.batch_dims = 1};

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.value<[](auto x) { return transpose(x); }, Matrix>("transpose");
  c.value<[](auto x) { return transpose(x); }, Square>("transpose_4096");
  c.value<[](auto x) { return transpose(x); }, Bytes>("transpose_uint8");
  c.value<[](auto x) { return tf::transpose<0, 3, 1, 2>(x); }, Normal<float, 32, 56, 56, 64>>(
      "channels_first");
  c.value<[](auto x) { return tf::transpose<0, 2, 3, 1>(x); }, Normal<float, 32, 64, 56, 56>>(
      "channels_last");
  c.value<[](auto x) { return tf::transpose<0, 3, 1, 2>(x); }, Normal<float, 32, 224, 224, 3>>(
      "channels_first_rgb");
  c.value<[](auto x) { return tf::transpose<0, 2, 3, 1>(x); }, Normal<float, 32, 3, 224, 224>>(
      "channels_last_rgb");
  c.value<[](auto x) { return tf::transpose<0, 2, 1, 3>(x); }, Normal<float, 32, 128, 8, 64>>(
      "swap_heads");
  c.value<[](auto x) { return tf::reverse<1>(x); }, Matrix>("reverse_columns");
  c.value<[](auto x) { return tf::reverse<0>(x); }, Matrix>("reverse_rows");
  c.value<[](auto x) { return tf::reverse<1>(x); }, Normal<double, rows, columns>>(
      "reverse_double");
  c.value<[](auto x) { return tf::reverse<2>(x); }, Images>("flip_rgb");
  c.value<[](auto x) { return tf::reverse<2>(x); }, ByteImages>("flip_rgb_uint8");
  c.value<[](auto x) { return tf::reverse<3>(x); }, ByteImages>("bgr_uint8");
  c.value<[](auto x) { return tf::transpose<0, 3, 1, 2>(x); }, ByteImages>("channels_first_uint8");
  c.value<[](auto x) { return tf::transpose<0, 2, 1>(x); }, Normal<float, 65'536, 4, 4>>(
      "transposes_4x4");
  c.value<[](auto x, auto n) { return tf::reverse_sequence<1>(x, n); }, Normal<float, rows, 256>,
          Between<std::int32_t, 0, 257, rows>>("reverse_sequence");
  c.both<[](auto x, auto i) { return gather(x, i); }, Table,
         Between<std::int32_t, 0, 32'768, 32'768>>("gather_rows");
  c.value<[](auto x, auto i) { return tf::gather<1>(x, i); }, Matrix,
          Between<std::int32_t, 0, columns, columns>>("gather_columns");
  c.both<[](auto x, auto i) { return tf::gather<along>(x, i); }, Matrix, Places>("take_along_axis");
  c.both<[](auto a, auto b) { return tf::concat<1>(a, b); }, Matrix, Matrix>("concat");
  c.value<[](auto a, auto b) { return tf::concat<3>(a, b); }, Channels, Channels>(
      "concat_channels");
  c.value<[](auto a, auto b, auto d) { return tf::concat<1>(a, b, d); }, Normal<float, 65'536, 16>,
          Normal<float, 65'536, 16>, Normal<float, 65'536, 32>>("concat_short");
  c.value<[](auto a, auto b) { return tf::concat<0>(a, b); }, Matrix, Matrix>("concat_rows");
  c.value<[](auto a, auto b) { return tf::stack<2>(a, b); }, Matrix, Matrix>("interleave");
  c.both<[](auto x) { return tf::pad<1, 1, 8, 8>(x); }, Matrix>("pad");
  // Differences of neighbours; the gradient is the sum of two pads that overlap.
  c.both<[](auto x) {
    return tf::slice<tf::whole, tf::range(1, columns)>(x) -
           tf::slice<tf::whole, tf::range(0, columns - 1)>(x);
  },
         Matrix>("differences");
  c.value<[](auto x) { return tf::pad<0, 0, 0, 1>(x); }, Normal<float, 1'000'000, 3>>("pad_rgba");
  c.both<[](auto x) { return tf::slice<tf::range(1, rows - 1), tf::range(8, columns - 24)>(x); },
         Matrix>("slice");
  c.both<[](auto x) { return tf::slice<tf::whole, tf::every(2)>(x); }, Matrix>("slice_every_2");
  c.value<[](auto x) { return tf::resize<112, 112, nearest>(x); }, Normal<float, 8, 56, 56, 16>>(
      "resize_nearest");
  c.value<[](auto x) { return tf::tile<4, 1>(x); }, Normal<float, 1024, 1024>>("tile_rows");
  c.value<[](auto x) { return tf::tile<1, 4>(x); }, Normal<float, 1024, 1024>>("tile_columns");
  c.value<[](auto x) { return tf::tile<1, 8>(x); }, Normal<float, 65'536, 16>>("tile_short");
  c.value<[](auto x) { return tf::tile<1, 4>(x); }, Normal<float, 65'536, 10>>("tile_10");
  c.value<[](auto x) { return tf::broadcast_to<1024, 1024, 4>(x); }, Normal<float, 1024, 1024, 1>>(
      "repeat_4");
  c.value<[](auto i) { return tf::one_hot<1000>(i); }, Between<std::int32_t, 0, 1000, rows>>(
      "one_hot");
  c.value<[](auto x) { return sort(x); }, Normal<float, 1 << 20>>("sort_1m");
  c.value<[](auto x) { return argsort(x); }, Normal<float, 1 << 20>>("argsort_1m");
  c.value<[](auto x) { return argsort(x); }, Matrix>("argsort");
  c.value<[](auto x) { return tf::cumsum<0>(x); }, Matrix>("cumsum_columns");
  c.value<[](auto x, auto cosines, auto sines) {
    const auto [a, b] = tf::split<2, 3>(x);
    return tf::concat<3>(a * cosines - b * sines, a * sines + b * cosines);
  },
          Normal<float, 16, 128, 8, 64>, Normal<float, 128, 1, 32>, Normal<float, 128, 1, 32>>(
      "rotary");
  c.both<[](auto x, auto cosines, auto sines) {
    const auto [a, b] = tf::split<2, 2>(x);
    return x * cosines + tf::concat<2>(-b, a) * sines;
  },
         Normal<float, 16, 256, 512>, Normal<float, 256, 512>, Normal<float, 256, 512>>(
      "rotary_halves");
  c.value<[](auto x) { return tf::slice<tf::whole, tf::range(8, 264)>(x); },
          Normal<float, 8192, 400>>("slice_256");
  c.gradient<[](auto x) { return 2.0f * tf::slice<tf::whole, tf::range(10, 500)>(x); }, Matrix>(
      "slice_490");
  c.value<[](auto a, auto x) { return tf::searchsorted(sort(a), x); }, Normal<float, 1000>,
          Normal<float, 1 << 18>>("searchsorted");
}
