// SPDX-License-Identifier: Apache-2.0

// Reductions of everything, of rows, of columns, of an axis between others, and of rows with an id.

#include "cases.hpp"

#include <typeflow/operations.hpp>

namespace {

using namespace bench;
using Cube = Normal<float, 64, 1024, 64>;
using Flags = Between<bool, 0, 2, rows, columns>;
using Slices = Normal<float, 100'000, 16>;
using Ids = Between<std::int32_t, 0, 1000, 100'000>;

}  // namespace

int main(int argc, char** argv) {
  Cases c(argc, argv);
  c.both<[](auto x) { return tf::sum(x); }, Matrix>("sum");
  c.both<[](auto x) { return tf::sum<1>(x); }, Matrix>("row_sums");
  c.both<[](auto x) { return tf::sum<0>(x); }, Matrix>("column_sums");
  c.value<[](auto x) { return tf::sum<1>(x); }, Cube>("middle_sums");
  c.value<[](auto x) { return tf::mean(x); }, Matrix>("mean");
  c.value<[](auto x) { return tf::mean<1>(x); }, Matrix>("row_means");
  c.value<[](auto x) { return tf::mean<0>(x); }, Matrix>("column_means");
  c.value<[](auto x) { return tf::mean<1>(x); }, Cube>("middle_means");
  c.value<[](auto x) { return tf::max(x); }, Matrix>("max");
  c.both<[](auto x) { return tf::max<1>(x); }, Matrix>("row_max");
  c.value<[](auto x) { return tf::max<0>(x); }, Matrix>("column_max");
  c.value<[](auto x) { return tf::max<1>(x); }, Cube>("middle_max");
  c.value<[](auto x) { return tf::argmax<1>(x); }, Matrix>("row_argmax");
  c.value<[](auto x) { return tf::argmax<0>(x); }, Matrix>("column_argmax");
  c.value<[](auto x) { return tf::argmax<1>(x); }, Cube>("middle_argmax");
  c.value<[](auto x) { return tf::moments(x).variance; }, Matrix>("variance");
  c.both<[](auto x) { return tf::moments<1>(x).variance; }, Matrix>("row_variance");
  c.value<[](auto x) { return tf::moments<0>(x).variance; }, Matrix>("column_variance");
  c.value<[](auto x) { return tf::moments<1>(x).variance; }, Cube>("middle_variance");
  c.value<[](auto x) { return tf::norm(x); }, Matrix>("norm");
  c.both<[](auto x) { return tf::norm<1>(x); }, Matrix>("row_norm");
  c.value<[](auto x) { return tf::norm<0>(x); }, Matrix>("column_norm");
  c.value<[](auto x) { return tf::norm<1>(x); }, Cube>("middle_norm");
  c.value<[](auto x) { return tf::prod<1>(x); }, Matrix>("row_products");
  c.value<[](auto x) { return tf::any<1>(x); }, Flags>("row_any");
  c.value<[](auto x) { return tf::trace(x); }, Normal<float, 2048, 2048>>("trace");
  c.value<[](auto x, auto i) { return tf::unsorted_segment_sum<1000>(x, i); }, Slices, Ids>(
      "segment_sums");
  c.value<[](auto x, auto i) { return tf::unsorted_segment_max<1000>(x, i); }, Slices, Ids>(
      "segment_max");
  c.value<[](auto x, auto i) { return tf::mean<1>(gather(x, i)); }, Normal<float, 10'000, 128>,
          Between<std::int32_t, 0, 10'000, 1024, 16>>("bag_means");
  c.value<[](auto i) { return tf::bincount<256>(i); }, Between<std::int32_t, 0, 256, 1'000'000>>(
      "histogram");
}
