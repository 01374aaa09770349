// SPDX-License-Identifier: Apache-2.0

// What moves slices by indices, of each element type: gather, take, gather_nd, boolean_mask,
// dynamic_partition, dynamic_stitch. Elements keep their bits.

#include <complex>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "support/typed_lists.hpp"

namespace {

namespace tf = typeflow;
using tf::DType;

template <class T>
constexpr void moves(tf::Graph& g) {
  auto x = tf::placeholder<T, 7, 5>(g, "x");
  auto i = tf::placeholder<std::int32_t, 4>(g, "i");
  auto j = tf::placeholder<std::int64_t, 3>(g, "j");
  auto cells = tf::placeholder<std::int64_t, 6, 2>(g, "cells");
  auto parts = tf::placeholder<std::int32_t, 7>(g, "parts");
  auto mask = tf::placeholder<bool, 7>(g, "mask");
  tf::gather(x, i).named("rows");
  tf::gather<1>(x, j).named("columns");
  tf::gather_nd(x, cells).named("elements");
  tf::boolean_mask(x, mask).values.named("masked");
  const auto lists = tf::dynamic_partition<2>(x, parts);
  lists[0].values.named("part_0");
  lists[1].values.named("part_1");
  tf::dynamic_stitch<8>(std::tuple{i, i + 1}, std::tuple{tf::gather(x, i), tf::gather(x, i)})
      .named("stitched");
}

/// 35 different numbers, as far as the type has them.
template <class T>
tf::HostTensor different() {
  tf::HostTensor x = tf::host_tensor(tf::dtype_of<T>, test::dims({7, 5}));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      x.set(i, static_cast<double>(i % 3 == 0));
    } else if constexpr (std::is_integral_v<T>) {  // all bytes differ
      x[i] =
          tf::number_from(static_cast<T>(0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(i + 1)));
    } else {
      x.set(i, 1.5 * static_cast<double>(i) - 20);
      if (tf::is_complex(x.dtype)) x[i].imaginary = 0.25 * static_cast<double>(i);
    }
  }
  return x;
}

template <class T>
void check_moves() {
  INFO(tf::name_of(tf::dtype_of<T>));
  const tf::HostTensor x = different<T>();
  const std::vector<double> i{6, 0, 2, 2};
  const std::vector<double> j{4, 4, 1};
  const std::vector<double> cells{0, 0, 6, 4, 3, 2, 3, 2, 1, 4, 5, 0};
  const std::vector<double> parts{1, 0, 0, 1, 0, 1, 1};
  const std::vector<double> mask{0, 1, 1, 0, 0, 1, 0};
  const tf::HostTensors feeds{{"x", x},
                              {"i", test::ints({4}, i)},
                              {"j", test::tensor(DType::int64, {3}, j)},
                              {"cells", test::tensor(DType::int64, {6, 2}, cells)},
                              {"parts", test::ints({7}, parts)},
                              {"mask", test::tensor(DType::boolean, {7}, mask)}};
  // Each element of a result is one of x, by its position; -1 for zero.
  const auto picked = [&](const std::vector<tf::Extent>& shape,
                          const std::vector<std::int64_t>& from) {
    tf::HostTensor y = tf::host_tensor(x.dtype, test::dims(shape));
    REQUIRE(from.size() <= y.elements.size());
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (from[k] >= 0) y[static_cast<std::int64_t>(k)] = x[from[k]];
    }
    return y;
  };
  const auto rows = [](const std::vector<double>& list) {
    std::vector<std::int64_t> from;
    for (const double row : list) {
      for (std::int64_t c = 0; c < 5; ++c) {
        from.push_back(row < 0 ? -1 : 5 * static_cast<std::int64_t>(row) + c);
      }
    }
    return from;
  };
  std::vector<std::int64_t> columns;
  for (std::int64_t row = 0; row < 7; ++row) {
    for (const double c : j) columns.push_back(5 * row + static_cast<std::int64_t>(c));
  }
  std::vector<std::int64_t> elements;
  for (std::size_t k = 0; k < cells.size(); k += 2) {
    elements.push_back(static_cast<std::int64_t>(5 * cells[k] + cells[k + 1]));
  }
  const test::Outcome expected{{"rows", picked({4, 5}, rows(i))},
                               {"columns", picked({7, 3}, columns)},
                               {"elements", picked({6}, elements)},
                               {"masked", picked({7, 5}, rows({1, 2, 5}))},
                               {"part_0", picked({7, 5}, rows({1, 2, 4}))},
                               {"part_1", picked({7, 5}, rows({0, 3, 5, 6}))},
                               {"stitched", picked({8, 5}, rows({0, 0, 2, 2, -1, -1, 6, 6}))}};
  tf::Graph graph;
  moves<T>(graph);
  const tf::HostTensors interpreted = tf::interpret(graph, feeds);
  test::Kernels<moves<T>> kernels;
  const test::Outcome compiled = kernels.run(feeds);
  for (const auto& [name, value] : expected) {
    test::check_equal_bits(name + ", interpreted", interpreted.at(name), value);
    test::check_equal_bits(name + ", compiled", compiled.at(name), value);
  }
}

}  // namespace

TEST_CASE("slices of booleans and integers move as they are") {
  check_moves<bool>();
  check_moves<std::int8_t>();
  check_moves<std::int16_t>();
  check_moves<std::int32_t>();
  check_moves<std::int64_t>();
  check_moves<std::uint8_t>();
  check_moves<std::uint16_t>();
  check_moves<std::uint32_t>();
  check_moves<std::uint64_t>();
}
TEST_CASE("slices of floating-point and complex numbers move as they are") {
  check_moves<tf::bfloat16>();
  check_moves<tf::float16>();
  check_moves<float>();
  check_moves<double>();
  check_moves<std::complex<float>>();
  check_moves<std::complex<double>>();
}
