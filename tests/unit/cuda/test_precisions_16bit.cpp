// SPDX-License-Identifier: Apache-2.0

// Products and convolutions of 16-bit tensors on GPUs, which read them in place: against loops in
// double, with exact products and sums of floats, for any precision; and the same on processors.

#include "support/check_cuda.hpp"

#include <typeflow/cuda/mixed_matmul.hpp>
#include <typeflow/mixed_matmul.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace tf = typeflow;
using tf::bfloat16;
using tf::ConvOptions;
using tf::float16;
using tf::Precision;

template <Precision P>
using Gpu = test::BasicCudaTargetOnHost<P>;

/// A sum of products in double, and the sum of their absolute values.
struct Sum {
  double value = 0;
  double absolute = 0;
  void add(double x, double y) {
    value += x * y;
    absolute += std::abs(x * y);
  }
};

/// Half the distance of numbers of T around x.
template <class T>
double rounding_to(double x) {
  if (std::is_same_v<T, float>) return 0;
  const bool is_half = std::is_same_v<T, float16>;
  return std::abs(x) * (is_half ? 0x1p-11 : 0x1p-8) + (is_half ? 0x1p-25 : 0x1p-134);
}
/// Compares a result, rounded to T, of `depth` exact products. `expected(i)` is element i.
template <class T, class F>
void check(const std::string& name, const tf::HostTensor& got, std::int64_t depth,
           const F& expected) {
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const Sum sum = expected(i);
    const double of_sums = static_cast<double>(depth) * 0x1p-23 * sum.absolute;
    const double allowed = of_sums + rounding_to<T>(std::abs(sum.value) + of_sums);
    INFO(name, " element ", i);
    REQUIRE(std::abs(got.value(i) - sum.value) <= allowed);
  }
}

template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  return test::random_feeds(test::Kernels<Model>::Program::view, batch,
                            static_cast<std::uint64_t>(batch) + 11);
}
/// Runs a model, and counts the kernels that are launched.
struct Launched {
  test::Outcome got;
  int launches;
};
template <auto Model, Precision P>
Launched run(const tf::HostTensors& feeds) {
  test::Kernels<Model, tf::training, Gpu<P>> kernels;
  const int before = test::CudaOnHost::get().launches;
  test::Outcome got = kernels.run(feeds);
  return {std::move(got), test::CudaOnHost::get().launches - before};
}
/// f(results) for those of a GPU with exact products, which all precisions have, and a processor's.
/// The model's kernels are `launches`: none widens an operand.
template <auto Model, class F>
void check_everywhere(const tf::HostTensors& feeds, int launches, const F& f) {
  const Launched exact = run<Model, Precision::exact>(feeds);
  CHECK(exact.launches == launches);
  f(exact.got);
  const Launched tf32 = run<Model, Precision::tf32>(feeds);
  for (const auto& [name, value] : exact.got) {
    test::check_equal_bits(name, tf32.got.at(name), value);
  }
  test::Kernels<Model> processor;
  f(processor.run(feeds));
}

/// With results of floats, so that nothing is rounded but sums.
template <class T, int Depth, int Columns>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, tf::batch>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Columns, Depth>(g, "bt");
  tf::matmul<float>(a, b).named("nn");
  tf::matmul<float, tf::transpose_a>(at, b).named("tn");
  tf::matmul<float>(a, transpose<1, 0>(bt)).named("nt");
  tf::matmul<float, tf::transpose_both>(at, bt).named("tt");
}
template <class T, int Depth, int Columns>
void check_products(std::int64_t rows, int launches = 4) {
  constexpr auto model = &products<T, Depth, Columns>;
  const tf::HostTensors feeds = feeds_of<model>(rows);
  check_everywhere<model>(feeds, launches, [&](const test::Outcome& got) {
    for (const std::string name : {"nn", "tn", "nt", "tt"}) {
      const bool ta = name[0] == 't';
      const bool tb = name[1] == 't';
      const tf::HostTensor& a = feeds.at(ta ? "at" : "a");
      const tf::HostTensor& b = feeds.at(tb ? "bt" : "b");
      REQUIRE(got.at(name).size() == rows * Columns);
      check<float>(name, got.at(name), Depth, [&](std::int64_t i) {
        Sum sum;
        for (std::int64_t k = 0; k < Depth; ++k) {
          sum.add(a.value(ta ? k * rows + i / Columns : i / Columns * Depth + k),
                  b.value(tb ? i % Columns * Depth + k : k * Columns + i % Columns));
        }
        return sum;
      });
    }
  });
}

/// A layer and its gradients. `c` are the gradients of what the layer gives; `mixed` has those of a
/// result of floats.
template <class T>
constexpr void layer(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 2, 37>(g, "x");
  auto w = tf::placeholder<T, 37, 11>(g, "w");
  auto bias = tf::placeholder<T, 11>(g, "bias");
  auto c = tf::placeholder<T, tf::batch, 2, 11>(g, "c");
  auto wide = tf::placeholder<float, tf::batch, 2, 11>(g, "wide");
  auto y = matmul(x, w);
  relu(y + bias).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(c), x, w);
  dx.named("dx");
  dw.named("dw");
  auto [mixed_dx, mixed_dw] = gradients(tf::matmul<float>(x, w), tf::grad_ys(wide), x, w);
  mixed_dx.named("mixed_dx");
  mixed_dw.named("mixed_dw");
}
template <class T>
void check_layer(std::int64_t batch) {
  const tf::HostTensors feeds = feeds_of<layer<T>>(batch);
  const std::int64_t rows = 2 * batch;
  const auto check_all = [&](const test::Outcome& got) {
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor& w = feeds.at("w");
    for (std::int64_t i = 0; i < rows * 11; ++i) {
      Sum sum;
      for (std::int64_t k = 0; k < 37; ++k)
        sum.add(x.value(i / 11 * 37 + k), w.value(k * 11 + i % 11));
      const double bias = feeds.at("bias").value(i % 11);
      // Rounded as a product, and with the bias.
      const double of_product = 37 * 0x1p-23 * sum.absolute + rounding_to<T>(sum.absolute);
      const double all = sum.value + bias;
      const double allowed = of_product + rounding_to<T>(std::abs(all) + of_product);
      REQUIRE(std::abs(got.at("y").value(i) - std::max(0.0, all)) <= allowed);
    }
    for (const bool is_mixed : {false, true}) {
      const tf::HostTensor& c = feeds.at(is_mixed ? "wide" : "c");
      const std::string prefix = is_mixed ? "mixed_" : "";
      check<T>(prefix + "dx", got.at(prefix + "dx"), 11, [&](std::int64_t i) {
        Sum sum;
        for (std::int64_t k = 0; k < 11; ++k)
          sum.add(c.value(i / 37 * 11 + k), w.value(i % 37 * 11 + k));
        return sum;
      });
      check<T>(prefix + "dw", got.at(prefix + "dw"), rows, [&](std::int64_t i) {
        Sum sum;
        for (std::int64_t k = 0; k < rows; ++k)
          sum.add(x.value(k * 37 + i / 11), c.value(k * 11 + i % 11));
        return sum;
      });
    }
  };
  const Launched exact = run<layer<T>, Precision::exact>(feeds);
  CHECK(exact.launches == 5);
  check_all(exact.got);
  test::Kernels<layer<T>> processor;
  check_all(processor.run(feeds));
}

/// Axes in front of the matrices, along which one operand or both run; views; two types.
constexpr void batched(tf::Graph& g) {
  auto a = tf::placeholder<float16, tf::batch, 3, 5, 9>(g, "a");
  auto b = tf::placeholder<float16, tf::batch, 3, 9, 20>(g, "b");
  auto heads = tf::placeholder<float16, 3, 9, 20>(g, "per_head");
  auto flat = tf::placeholder<float16, tf::batch, 135>(g, "flat");
  auto other = tf::placeholder<bfloat16, 9, 20>(g, "one");
  tf::matmul<float>(a, b).named("both");
  tf::matmul<float>(a, heads).named("heads");
  tf::matmul<float>(a, other).named("other");
  matmul(tf::reshape<tf::batch, 3, 5, 9>(tf::cast<float>(flat)), tf::cast<float>(heads))
      .named("views");
}

/// (N,7,6,Channels) with 3 x 3 taps, and the gradients for dy = c.
template <class T, int Channels, int Filters, int Stride>
constexpr void convolution(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 7, 6, Channels>(g, "x");
  auto w = tf::placeholder<T, 3, 3, Channels, Filters>(g, "w");
  auto c =
      tf::placeholder<T, tf::batch, (6 + Stride) / Stride, (5 + Stride) / Stride, Filters>(g, "c");
  auto y = conv2d<ConvOptions<2>{.strides = {Stride, Stride}}>(x, w).named("y");
  auto [dx, dw] = gradients(y, tf::grad_ys(c), x, w);
  dx.named("dx");
  dw.named("dw");
}
template <class T, int Channels, int Filters, int Stride>
void check_convolution(std::int64_t samples, int launches) {
  constexpr auto model = &convolution<T, Channels, Filters, Stride>;
  constexpr int below = (6 + Stride) / Stride;
  constexpr int beside = (5 + Stride) / Stride;
  const tf::HostTensors feeds = feeds_of<model>(samples);
  const tf::HostTensor& x = feeds.at("x");
  const tf::HostTensor& w = feeds.at("w");
  const tf::HostTensor& c = feeds.at("c");
  std::vector<Sum> y(static_cast<std::size_t>(c.size()));
  std::vector<Sum> dx(static_cast<std::size_t>(x.size()));
  std::vector<Sum> dw(static_cast<std::size_t>(w.size()));
  const auto before = [](int extent, int places) {
    return std::max(0, (places - 1) * Stride + 3 - extent) / 2;
  };
  for (std::int64_t n = 0; n < samples; ++n) {
    for (int i = 0; i < below * beside * 9; ++i) {
      const int place = i / 9;
      const int tap = i % 9;
      const int row = place / beside * Stride + tap / 3 - before(7, below);
      const int column = place % beside * Stride + tap % 3 - before(6, beside);
      if (row < 0 || row >= 7 || column < 0 || column >= 6) continue;
      for (int k = 0; k < Channels; ++k) {
        for (int f = 0; f < Filters; ++f) {
          const std::int64_t at_x = ((n * 7 + row) * 6 + column) * Channels + k;
          const std::int64_t at_w = std::int64_t{tap * Channels + k} * Filters + f;
          const std::int64_t at_y = (n * below * beside + place) * Filters + f;
          y[static_cast<std::size_t>(at_y)].add(x.value(at_x), w.value(at_w));
          dx[static_cast<std::size_t>(at_x)].add(c.value(at_y), w.value(at_w));
          dw[static_cast<std::size_t>(at_w)].add(c.value(at_y), x.value(at_x));
        }
      }
    }
  }
  const auto of = [](const std::vector<Sum>& sums) {
    return [&sums](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; };
  };
  check_everywhere<model>(feeds, launches, [&](const test::Outcome& got) {
    check<T>("y", got.at("y"), 9 * Channels, of(y));
    check<T>("dx", got.at("dx"), 9 * Filters, of(dx));
    check<T>("dw", got.at("dw"), samples * below * beside, of(dw));
  });
}

template <class T>
constexpr void padded(tf::Graph& g) {
  auto x = tf::placeholder<T, tf::batch, 5, 6, 3>(g, "x");
  auto w = tf::placeholder<T, 3, 3, 3, 20>(g, "w");
  conv2d(x, w).named("y");
}

}  // namespace

TEST_CASE("products of 16-bit tensors read them in place, for any transposes and extents") {
  check_products<float16, 23, 70>(0, 0);
  check_products<bfloat16, 23, 70>(0, 0);
  for (const std::int64_t rows : {1, 65}) {
    check_products<float16, 23, 70>(rows);
    check_products<bfloat16, 23, 70>(rows);
  }
  check_products<float16, 40, 36>(36);  // in packets
  check_products<bfloat16, 64, 64>(64);
  check_products<float16, 1, 1>(2);
  check_products<float16, 2101, 7>(5, 8);  // blocks share the depth, and other kernels add up
}

TEST_CASE("layers of 16-bit tensors and their gradients, for results of 16 bits and of floats") {
  for (const std::int64_t batch : {1, 35}) {
    check_layer<float16>(batch);
    check_layer<bfloat16>(batch);
  }
}

TEST_CASE("16-bit operands repeat in place along axes in front of the matrices") {
  for (const std::int64_t batch : {0, 1, 3}) {
    const tf::HostTensors feeds = feeds_of<batched>(batch);
    const auto value = [&](const char* name, std::int64_t i) { return feeds.at(name).value(i); };
    const auto check_all = [&](const test::Outcome& got) {
      for (const std::string name : {"both", "heads", "other", "views"}) {
        REQUIRE(got.at(name).size() == batch * 300);
        check<float>(name, got.at(name), 9, [&](std::int64_t i) {
          const std::int64_t matrix = i / 100;
          const std::int64_t row = i / 20;
          Sum sum;
          for (std::int64_t k = 0; k < 9; ++k) {
            const std::int64_t in_b = k * 20 + i % 20;
            sum.add(value(name == "views" ? "flat" : "a", row * 9 + k),
                    name == "both"    ? value("b", matrix * 180 + in_b)
                    : name == "other" ? value("one", in_b)
                                      : value("per_head", matrix % 3 * 180 + in_b));
          }
          return sum;
        });
      }
    };
    const Launched gpu = run<batched, Precision::exact>(feeds);
    CHECK(gpu.launches == (batch == 0 ? 0 : 4));
    check_all(gpu.got);
    test::Kernels<batched> processor;
    check_all(processor.run(feeds));
  }
}

TEST_CASE("convolutions of 16-bit tensors and their gradients read them in place") {
  check_convolution<float16, 5, 9, 1>(2, 3);
  check_convolution<bfloat16, 4, 12, 1>(3, 3);
  check_convolution<float16, 8, 12, 2>(1, 6);  // dx has four phases
}

TEST_CASE("denormals, infinities and NaN of half reach the elements that they belong to") {
  constexpr auto model = &products<float16, 23, 70>;
  tf::HostTensors feeds = feeds_of<model>(5);
  tf::HostTensor& a = feeds.at("a");
  tf::HostTensor& b = feeds.at("b");
  // Row 0 of a has the smallest numbers, whose products are floats.
  for (std::int64_t k = 0; k < 23; ++k) a.set(k, (k % 2 == 0 ? 1 : -3) * 0x1p-24);
  for (std::int64_t k = 0; k < 23; ++k) b.set(k * 70, static_cast<double>(k) * 0x1p-24);
  a.set(23 + 4, std::numeric_limits<double>::infinity());
  b.set(4 * 70 + 9, 0);
  a.set(2 * 23 + 1, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t k = 0; k < 23; ++k) a.set(3 * 23 + k, -0.0);
  a.set(4 * 23, 65504);
  b.set(8, 65504);
  check_everywhere<model>(feeds, 4, [&](const test::Outcome& got) {
    const tf::HostTensor& y = got.at("nn");
    double least = 0;
    for (std::int64_t k = 0; k < 23; ++k) least += a.value(k) * b.value(k * 70);
    CHECK(y.value(0) == least);
    CHECK(least != 0);
    CHECK(std::isinf(y.value(70 + 3)));
    CHECK(std::isnan(y.value(70 + 9)));
    for (std::int64_t j = 0; j < 70; ++j) CHECK(std::isnan(y.value(2 * 70 + j)));
    for (std::int64_t j = 0; j < 70; ++j) CHECK(y.value(3 * 70 + j) == 0);
    CHECK(y.value(4 * 70 + 8) == doctest::Approx(65504.0 * 65504).epsilon(1e-3));
  });
}

TEST_CASE("padding of 16-bit images meets no infinities") {
  const auto check_type = []<class T>(T) {
    tf::HostTensors feeds = feeds_of<padded<T>>(1);
    tf::HostTensor& x = feeds.at("x");
    tf::HostTensor& w = feeds.at("w");
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 1 + std::abs(x.value(i)));
    // The first tap of filter 7, which places in the first row or column don't have.
    for (std::int64_t k = 0; k < 3; ++k) w.set(k * 20 + 7, std::numeric_limits<double>::infinity());
    check_everywhere<padded<T>>(feeds, 1, [&](const test::Outcome& got) {
      for (std::int64_t i = 0; i < 600; ++i) {
        const bool meets = i % 20 == 7 && i / 120 > 0 && i / 20 % 6 > 0;
        REQUIRE(std::isinf(got.at("y").value(i)) == meets);
      }
    });
  };
  check_type(float16(0));
  check_type(bfloat16(0));
}
