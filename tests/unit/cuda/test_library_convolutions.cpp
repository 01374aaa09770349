// SPDX-License-Identifier: Apache-2.0

// Convolutions by a library, and their gradients, against the processor's kernels: strides,
// dilations, groups, paddings that a library has and has not, and what follows on them.

#include "support/library_on_host.hpp"

#include <cstdint>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;
using tf::Precision;

template <Precision P>
using Target = test::BasicCudaTargetOnHost<P, test::LibraryKernels>;

/// A convolution and its gradients, with these numbers.
constexpr void add(auto y, auto a, auto b, int i) {
  y.named({"y", i});
  auto [da, db] = gradients(sum(square(y)), a, b);
  da.named({"da", i});
  db.named({"db", i});
}

constexpr void settings(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12, 9, 6>(g, "x");
  auto w = tf::placeholder<float, 3, 5, 6, 10>(g, "w");
  auto pointwise = tf::placeholder<float, 1, 1, 6, 35>(g, "pointwise");
  auto part = tf::placeholder<float, 3, 3, 3, 10>(g, "part");
  auto even = tf::placeholder<float, 2, 4, 6, 3>(g, "even");
  add(conv2d(x, w), x, w, 0);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}, .padding = Padding::valid}>(x, w), x, w, 1);
  add(conv2d<ConvOptions<2>{.dilations = {2, 1}}>(x, w), x, w, 2);
  add(conv2d(x, pointwise), x, pointwise, 3);
  add(conv2d<ConvOptions<2>{.groups = 2}>(x, part), x, part, 4);
  // More padding behind than in front.
  add(conv2d(x, even), x, even, 5);
  add(conv2d<ConvOptions<2>{.strides = {3, 2}}>(x, w), x, w, 6);
}

constexpr void line(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 13, 4>(g, "x");
  auto w = tf::placeholder<float, 3, 4, 6>(g, "w");
  add(conv1d(x, w), x, w, 0);
}

/// Bias, activation and residual.
constexpr void epilogues(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 7, 5, 5>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 5, 24>(g, "w");
  auto bias = tf::placeholder<float, 24>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 7, 5, 24>(g, "rest");
  auto y = conv2d(x, w);
  relu(rest + (y + bias)).named("y");
  auto [dx, dw] = gradients(sum(square(conv2d(x * 2.0f, w))), x, w);
  (dx + 1.0f).named("dx");
  (dw * 0.5f).named("dw");
}

/// A library has no convolutions of these.
constexpr void others(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 5, 4, 3>(g, "x");
  auto w = tf::placeholder<double, 3, 3, 3, 5>(g, "w");
  auto volume = tf::placeholder<float, tf::batch, 5, 4, 6, 3>(g, "volume");
  auto u = tf::placeholder<float, 2, 3, 3, 3, 5>(g, "u");
  add(conv2d(x, w), x, w, 0);
  add(conv3d(volume, u), volume, u, 1);
}

template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  return test::random_feeds(test::Kernels<Model>::Program::view, batch,
                            static_cast<std::uint64_t>(batch) + 3);
}
/// Compares all that a model names with the processor. Two runs have the same bits.
template <auto Model, Precision P = Precision::exact>
void check_model(std::int64_t batch, double tolerance = 1e-5) {
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
  }
}

TEST_CASE("a library's convolutions as TF32") { check_model<settings, Precision::tf32>(3, 4e-3); }

TEST_CASE("operations follow a library's convolution") {
  for (const std::int64_t batch : {1, 3}) check_model<epilogues>(batch);
}

TEST_CASE("convolutions that a library has not are our own kernels'") {
  check_model<others>(2);
  check_model<line, Precision::bfloat16>(2, 0.05);
}

#if !defined(__CUDACC__)

using test::PlainLibrary;

namespace {

template <auto Model, Precision P = Precision::exact>
std::vector<tf::LibraryConvolution> ask(std::int64_t batch) {
  test::Kernels<Model, tf::training, Target<P>> kernels;
  PlainLibrary::convolutions.clear();
  kernels.run(feeds_of<Model>(batch));
  return PlainLibrary::convolutions;
}

}  // namespace

TEST_CASE("a library is asked for the convolutions that it can have") {
  const auto asked = ask<settings>(3);
  // Without those of `even`; the last has strides, and as much padding in front as behind.
  CHECK(asked.size() == 6 * 3);
  for (const tf::LibraryConvolution& c : asked) {
    CHECK(c.samples == 3);
    CHECK_FALSE(c.as_tf32);
    CHECK(c.window[0] != 2);
  }
  CHECK(ask<line, Precision::tf32>(1).at(0).as_tf32);
  CHECK(ask<line>(0).empty());
  CHECK(ask<others>(2).empty());
  CHECK(ask<line, Precision::bfloat16>(2).empty());
}

TEST_CASE("if a library refuses a convolution, it has the bits of our own kernels") {
  const tf::HostTensors feeds = feeds_of<epilogues>(3);
  test::Kernels<epilogues, tf::training, test::CudaTargetOnHost> own;
  test::Kernels<epilogues, tf::training, Target<Precision::exact>> kernels;
  const test::Outcome expected = own.run(feeds);
  PlainLibrary::refuses = true;
  const test::Outcome got = kernels.run(feeds);
  PlainLibrary::refuses = false;
  for (const auto& [name, value] : got) test::check_equal_bits(name, value, expected.at(name));
}

#endif
