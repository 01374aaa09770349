// SPDX-License-Identifier: Apache-2.0

// Convolutions by a library, and their gradients, against the processor's kernels: strides,
// dilations, groups, paddings that a library has and has not, and what follows on them.

#include "support/library_on_host.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;
using tf::Precision;

template <Precision P>
using Target = test::BasicCudaTargetOnHost<P, test::LibraryKernels>;

/// A convolution and its gradients for dy = c, with these numbers.
constexpr void add(auto y, auto a, auto b, auto c, int i) {
  y.named({"y", i});
  auto [da, db] = gradients(y, tf::grad_ys(c), a, b);
  da.named({"da", i});
  db.named({"db", i});
}

constexpr void settings(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 9, 8>(g, "x");
  auto w = tf::placeholder<float, 3, 5, 8, 12>(g, "w");
  auto pointwise = tf::placeholder<float, 1, 1, 8, 36>(g, "pointwise");
  auto part = tf::placeholder<float, 3, 3, 4, 16>(g, "part");
  auto even = tf::placeholder<float, 2, 4, 8, 4>(g, "even");
  auto of_w = tf::placeholder<float, tf::batch, 12, 9, 12>(g, "of_w");
  auto few = tf::placeholder<float, tf::batch, 4, 3, 12>(g, "few");
  auto of_pointwise = tf::placeholder<float, tf::batch, 12, 9, 36>(g, "of_pointwise");
  auto of_part = tf::placeholder<float, tf::batch, 12, 9, 16>(g, "of_part");
  auto of_even = tf::placeholder<float, tf::batch, 12, 9, 4>(g, "of_even");
  auto strided = tf::placeholder<float, tf::batch, 4, 5, 12>(g, "strided");
  add(conv2d(x, w), x, w, of_w, 0);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}, .padding = Padding::valid}>(x, w), x, w, few, 1);
  add(conv2d<ConvOptions<2>{.dilations = {2, 1}}>(x, w), x, w, of_w, 2);
  add(conv2d(x, pointwise), x, pointwise, of_pointwise, 3);
  add(conv2d<ConvOptions<2>{.groups = 2}>(x, part), x, part, of_part, 4);
  // More padding behind than in front.
  add(conv2d(x, even), x, even, of_even, 5);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}}>(x, w), x, w, strided, 6);
}

constexpr void line(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 4, 8>(g, "w");
  auto c = tf::placeholder<float, tf::batch, 13, 8>(g, "c");
  add(conv1d(x, w), x, w, c, 0);
}

/// 16-bit operands, which become floats for a library.
constexpr void narrow(tf::Graph& g) {
  auto x = tf::placeholder<tf::bfloat16, tf::batch, 13, 4>(g, "x");
  auto w = tf::placeholder<tf::bfloat16, 3, 4, 8>(g, "w");
  auto c = tf::placeholder<tf::bfloat16, tf::batch, 13, 8>(g, "c");
  auto half_x = tf::placeholder<tf::float16, tf::batch, 6, 5, 8>(g, "half_x");
  auto half_w = tf::placeholder<tf::float16, 3, 3, 4, 8>(g, "half_w");
  auto half_c = tf::placeholder<tf::float16, tf::batch, 6, 5, 8>(g, "half_c");
  add(conv1d(x, w), x, w, c, 0);
  add(conv2d<ConvOptions<2>{.groups = 2}>(half_x, half_w), half_x, half_w, half_c, 1);
}

/// Bias, activation and residual.
constexpr void epilogues(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 5, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 4, 24>(g, "w");
  auto bias = tf::placeholder<float, 24>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 7, 5, 24>(g, "rest");
  auto y = conv2d(x, w);
  relu(rest + (y + bias)).named("y");
  auto [dx, dw] = gradients(conv2d(x * 2.0f, w), tf::grad_ys(rest), x, w);
  (dx + 1.0f).named("dx");
  (dw * 0.5f).named("dw");
}

/// A library has no convolutions of these.
constexpr void others(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 5, 4, 4>(g, "x");
  auto w = tf::placeholder<double, 3, 3, 4, 4>(g, "w");
  auto volume = tf::placeholder<float, tf::batch, 5, 4, 6, 4>(g, "volume");
  auto u = tf::placeholder<float, 2, 3, 3, 4, 4>(g, "u");
  auto colors = tf::placeholder<float, tf::batch, 5, 4, 3>(g, "colors");
  auto v = tf::placeholder<float, 3, 3, 3, 4>(g, "v");
  conv2d(x, w).named("doubles");
  conv3d(volume, u).named("volumes");
  conv2d(colors, v).named("colors_y");
}

/// Numbers with so few bits that TF32 has them, and float has the sums of their products.
template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  tf::HostTensors feeds = test::random_feeds(test::Kernels<Model>::Program::view, batch,
                                             static_cast<std::uint64_t>(batch) + 3);
  for (auto& [name, x] : feeds) {
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, std::round(x.value(i) * 16) / 16);
  }
  return feeds;
}
/// Compares all that a model names with the processor. Two runs have the same bits.
template <auto Model, Precision P = Precision::tf32>
void check_model(std::int64_t batch, double tolerance = 1e-6) {
  INFO("batch ", batch, " precision ", static_cast<int>(P));
  const tf::HostTensors feeds = feeds_of<Model>(batch);
  test::Kernels<Model> processor;
  test::Kernels<Model, tf::training, Target<P>> kernels;
  const test::Outcome expected = processor.run(feeds);
  const test::Outcome got = kernels.run(feeds);
  const test::Outcome again = kernels.run(feeds);
  int compared = 0;
  for (const auto& [name, value] : got) {
    test::check_equal_bits(name, value, again.at(name));
    const auto found = expected.find(name);
    if (found == expected.end()) continue;  // inside a kernel
    test::check_close(name, value, found->second, tolerance);
    ++compared;
  }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("a library's convolutions and their gradients are the processor's") {
  for (const std::int64_t batch : {0, 1, 3}) {
    check_model<settings>(batch);
    check_model<line>(batch);
    check_model<narrow>(batch);
  }
}

TEST_CASE("operations follow a library's convolution") {
  for (const std::int64_t batch : {1, 3}) check_model<epilogues>(batch);
}

TEST_CASE("convolutions that a library has not are our own kernels'") {
  check_model<others>(2);
  check_model<line, Precision::exact>(2);
  check_model<line, Precision::bfloat16>(2);
}

#if !defined(__CUDACC__)

using test::PlainLibrary;

namespace {

template <auto Model, Precision P = Precision::tf32>
std::vector<tf::LibraryConvolution> ask(std::int64_t batch) {
  test::Kernels<Model, tf::training, Target<P>> kernels;
  PlainLibrary::convolutions.clear();
  kernels.run(feeds_of<Model>(batch));
  return PlainLibrary::convolutions;
}

}  // namespace

TEST_CASE("a library is asked for the convolutions that it can have") {
  const auto asked = ask<settings>(3);
  // Without those of `even`. The last one has strides, and as much padding in front as behind.
  CHECK(asked.size() == 6 * 3);
  for (const tf::LibraryConvolution& c : asked) {
    CHECK(c.samples == 3);
    CHECK(c.window[0] != 2);
  }
  CHECK(ask<line>(1).size() == 3);
  CHECK(ask<narrow>(1).size() == 2 * 3);
  CHECK(ask<line>(0).empty());
  CHECK(ask<others>(2).empty());
  CHECK(ask<line, Precision::exact>(2).empty());
  CHECK(ask<line, Precision::bfloat16>(2).empty());
}

TEST_CASE("if a library refuses a convolution, it has the bits of our own kernels") {
  const tf::HostTensors feeds = feeds_of<epilogues>(3);
  test::Kernels<epilogues, tf::training, test::BasicCudaTargetOnHost<Precision::tf32>> own;
  test::Kernels<epilogues, tf::training, Target<Precision::tf32>> kernels;
  const test::Outcome expected = own.run(feeds);
  PlainLibrary::refuses = true;
  const test::Outcome got = kernels.run(feeds);
  PlainLibrary::refuses = false;
  for (const auto& [name, value] : got) test::check_equal_bits(name, value, expected.at(name));
}

#endif
