// SPDX-License-Identifier: Apache-2.0

// Products, convolutions and their gradients with operands of TF32, bfloat16 and half, against
// loops in double, within the errors that docs/cuda.md states.

#include "support/check_cuda.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace tf = typeflow;
using tf::ConvOptions;
using tf::Padding;
using tf::Precision;

/// A sum of products, in double, and the sum of their absolute values.
struct Sum {
  double value = 0;
  double absolute = 0;
  void add(double x, double y) {
    value += x * y;
    absolute += std::abs(x * y);
  }
};

/// The largest error of a product, relative to the sum of absolute values.
double bound(Precision p, std::int64_t depth) {
  const double operand = p == Precision::bfloat16 ? 0x1p-8 : 0x1p-11;
  return 2 * operand + operand * operand + static_cast<double>(depth) * 0x1p-23;
}

/// Feeds whose operands have more bits than any precision.
template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  return test::random_feeds(test::Kernels<Model>::Program::view, batch,
                            static_cast<std::uint64_t>(batch) + 5);
}

/// Runs a model twice, with threads in other orders: both runs have the same bits.
template <Precision P, auto Model>
test::Outcome run(const tf::HostTensors& feeds) {
  test::Kernels<Model, tf::training, test::BasicCudaTargetOnHost<P>> first;
  test::Kernels<Model, tf::training, test::BasicCudaTargetOnHost<P>> second;
  test::Outcome got = first.run(feeds);
  const test::Outcome again = second.run(feeds);
  for (const auto& [name, value] : got) test::check_equal_bits(name, value, again.at(name));
  return got;
}

/// Compares a tensor. `expected(i)` is element i. Returns the largest part of its bound that an
/// error takes.
template <class F>
double check(Precision p, const tf::HostTensor& got, std::int64_t depth, const F& expected) {
  double most = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const Sum sum = expected(i);
    const double error = std::abs(got.value(i) - sum.value);
    const double allowed = bound(p, depth) * sum.absolute;
    if (!(error <= allowed)) {
      INFO("element ", i, " precision ", static_cast<int>(p));
      CHECK(got.value(i) == doctest::Approx(sum.value));
      CHECK(error <= allowed);
      return 1;
    }
    if (allowed > 0) most = std::max(most, error / allowed);
  }
  CHECK(most <= 1);
  return most;
}

template <class F>
void for_all_precisions(const F& f) {
  f.template operator()<Precision::tf32>();
  f.template operator()<Precision::bfloat16>();
  f.template operator()<Precision::float16>();
}

template <int Depth, int Columns>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, Depth>(g, "a");
  auto at = tf::placeholder<float, Depth, tf::batch>(g, "at");
  auto b = tf::placeholder<float, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<float, Columns, Depth>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

/// Whether errors are there at all: tensor cores were used.
template <Precision P, int Depth, int Columns>
void check_products(std::int64_t rows) {
  INFO("depth ", Depth, " rows ", rows);
  const tf::HostTensors feeds = feeds_of<products<Depth, Columns>>(rows);
  const test::Outcome got = run<P, products<Depth, Columns>>(feeds);
  for (const std::string name : {"nn", "tn", "nt", "tt"}) {
    const bool ta = name[0] == 't';
    const bool tb = name[1] == 't';
    const tf::HostTensor& a = feeds.at(ta ? "at" : "a");
    const tf::HostTensor& b = feeds.at(tb ? "bt" : "b");
    const tf::HostTensor& y = got.at(name);
    REQUIRE(y.size() == rows * Columns);
    const double part = check(P, y, Depth, [&](std::int64_t i) {
      const std::int64_t row = i / Columns;
      const std::int64_t column = i % Columns;
      Sum sum;
      for (std::int64_t k = 0; k < Depth; ++k) {
        sum.add(a.value(ta ? k * rows + row : row * Depth + k),
                b.value(tb ? column * Depth + k : k * Columns + column));
      }
      return sum;
    });
    // Operands of floats would take less than a hundredth.
    if (y.size() > 100 && Depth < 100) CHECK(part > 0.1);
  }
}

/// What follows on a product, and what comes in front of it.
constexpr void epilogues(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 19>(g, "a");
  auto b = tf::placeholder<float, 19, 70>(g, "b");
  auto bias = tf::placeholder<float, 70>(g, "bias");
  auto y = matmul(a, b * 0.5f) + bias;
  relu(y).named("relu");
  greater(y, 0).named("truth");
  cast<tf::bfloat16>(y).named("bfloat16");
}

constexpr void dropped_out(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 19>(g, "a");
  auto b = tf::placeholder<float, 19, 70>(g, "b");
  tf::dropout(matmul(a, b), {.keep = 0.5}).named("y");
}

/// Operands of 16 bits: TF32 has them all, bfloat16 and half their own.
template <class T>
constexpr void halves(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, 40>(g, "a");
  auto b = tf::placeholder<T, 40, 20>(g, "b");
  matmul(cast<float>(a), cast<float>(b)).named("y");
  matmul(a, b).named("half");
}

template <Precision P, class T>
void check_halves() {
  const tf::HostTensors feeds = feeds_of<halves<T>>(33);
  const test::Outcome got = run<P, halves<T>>(feeds);
  const tf::HostTensor& a = feeds.at("a");
  const tf::HostTensor& b = feeds.at("b");
  const tf::HostTensor& y = got.at("y");
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Sum sum;
    for (std::int64_t k = 0; k < 40; ++k)
      sum.add(a.value(i / 20 * 40 + k), b.value(k * 20 + i % 20));
    REQUIRE(std::abs(y.value(i) - sum.value) <= 40 * 0x1p-23 * sum.absolute);
    REQUIRE(got.at("half").value(i) == double{static_cast<float>(T(y.value(i)))});
  }
}

/// Products of 16-bit tensors.
constexpr void products_of_bfloat16(tf::Graph& g) {
  auto a = tf::placeholder<tf::bfloat16, tf::batch, 40>(g, "a");
  auto b = tf::placeholder<tf::bfloat16, 40, 20>(g, "b");
  matmul(a, b).named("y");
}

constexpr void doubles(tf::Graph& g) {
  auto a = tf::placeholder<double, tf::batch, 40>(g, "a");
  auto b = tf::placeholder<double, 40, 20>(g, "b");
  matmul(a, b).named("y");
}

/// A loss that is linear in the product, whose gradients are products of `c`.
constexpr void gradient(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 37>(g, "a");
  auto b = tf::placeholder<float, 37, 11>(g, "b");
  auto c = tf::placeholder<float, tf::batch, 11>(g, "c");
  auto [da, db] = gradients(sum(matmul(a, b) * c), a, b);
  da.named("da");
  db.named("db");
}

/// Many matrices, of tiles of 128 x 128 if there are enough.
template <int Rows, int Depth, int Columns>
constexpr void batched(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, Rows, Depth>(g, "a");
  auto b = tf::placeholder<float, tf::batch, Depth, Columns>(g, "b");
  matmul(a, b).named("y");
}

template <Precision P, int Rows, int Depth, int Columns>
void check_batched(std::int64_t matrices) {
  const tf::HostTensors feeds = feeds_of<batched<Rows, Depth, Columns>>(matrices);
  const test::Outcome got = run<P, batched<Rows, Depth, Columns>>(feeds);
  check(P, got.at("y"), Depth, [&](std::int64_t i) {
    const std::int64_t row = i / Columns;  // of all matrices
    Sum sum;
    for (std::int64_t k = 0; k < Depth; ++k) {
      sum.add(feeds.at("a").value(row * Depth + k),
              feeds.at("b").value((row / Rows * Depth + k) * Columns + i % Columns));
    }
    return sum;
  });
}

/// A convolution (N,Height,Width,Channels) with `Size` x `Size` taps, and the gradients for
/// dy = c.
template <int Height, int Width, int Channels, int Size, int Filters, int Stride>
struct Convolution {
  static constexpr int below = (Height + Stride - 1) / Stride;
  static constexpr int beside = (Width + Stride - 1) / Stride;

  static constexpr void model(tf::Graph& g) {
    auto x = tf::placeholder<float, tf::batch, Height, Width, Channels>(g, "x");
    auto w = tf::placeholder<float, Size, Size, Channels, Filters>(g, "w");
    auto c = tf::placeholder<float, tf::batch, below, beside, Filters>(g, "c");
    auto y = conv2d<ConvOptions<2>{.strides = {Stride, Stride}}>(x, w).named("y");
    auto [dx, dw] = gradients(y, tf::grad_ys(c), x, w);
    dx.named("dx");
    dw.named("dw");
  }

  template <Precision P>
  static void check_all(std::int64_t samples) {
    const tf::HostTensors feeds = feeds_of<model>(samples);
    const test::Outcome got = run<P, model>(feeds);
    const tf::HostTensor& x = feeds.at("x");
    const tf::HostTensor& w = feeds.at("w");
    const tf::HostTensor& c = feeds.at("c");
    std::vector<Sum> y(static_cast<std::size_t>(c.size()));
    std::vector<Sum> dx(static_cast<std::size_t>(x.size()));
    std::vector<Sum> dw(static_cast<std::size_t>(w.size()));
    const auto before = [](int extent, int places) {
      return std::max(0, (places - 1) * Stride + Size - extent) / 2;
    };
    for (std::int64_t n = 0; n < samples; ++n) {
      for (int i = 0; i < below * beside * Size * Size; ++i) {
        const int place = i / (Size * Size);
        const int tap = i % (Size * Size);
        const int row = place / beside * Stride + tap / Size - before(Height, below);
        const int column = place % beside * Stride + tap % Size - before(Width, beside);
        if (row < 0 || row >= Height || column < 0 || column >= Width) continue;
        for (int k = 0; k < Channels; ++k) {
          for (int f = 0; f < Filters; ++f) {
            const std::int64_t at_x = ((n * Height + row) * Width + column) * Channels + k;
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
    CHECK(check(P, got.at("y"), Size * Size * Channels, of(y)) > 0.01);
    CHECK(check(P, got.at("dx"), Size * Size * Filters, of(dx)) > 0.01);
    CHECK(check(P, got.at("dw"), samples * below * beside, of(dw)) > 0.01);
  }
};

constexpr void padded(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5, 6, 3>(g, "x");
  auto w = tf::placeholder<float, 3, 3, 3, 20>(g, "w");
  conv2d(x, w).named("y");
}

}  // namespace

TEST_CASE("products on tensor cores have the stated errors for any transposes and extents") {
  for_all_precisions([]<Precision P>() {
    for (const std::int64_t rows : {0, 1, 65}) check_products<P, 23, 70>(rows);
    check_products<P, 32, 64>(64);
    check_products<P, 1, 1>(2);
    check_products<P, 0, 5>(3);
  });
}

TEST_CASE("blocks share a product on tensor cores with a long depth") {
  for_all_precisions([]<Precision P>() { check_products<P, 2101, 67>(5); });
}

TEST_CASE("big tiles on tensor cores") {
  for_all_precisions([]<Precision P>() {
    using Tiles = tf::cuda_kernels::ProductTiles<float, P>;
    static_assert(tf::cuda_kernels::ProductPlan::of<Tiles>({132, 80, 20, 1}, 128).tile ==
                  tf::cuda_kernels::TileChoice::big);
    check_batched<P, 132, 20, 80>(128);
    check_batched<P, 5, 9, 20>(3);
  });
}

TEST_CASE("operations follow a product on tensor cores in its kernel") {
  for_all_precisions([]<Precision P>() {
    for (const std::int64_t rows : {1, 66}) {
      const tf::HostTensors feeds = feeds_of<epilogues>(rows);
      const test::Outcome got = run<P, epilogues>(feeds);
      const tf::HostTensor& relu = got.at("relu");
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < relu.size(); ++i) {
        Sum sum;
        sum.add(feeds.at("bias").value(i % 70), 1);
        for (std::int64_t k = 0; k < 19; ++k) {
          sum.add(feeds.at("a").value(i / 70 * 19 + k), feeds.at("b").value(k * 70 + i % 70) * 0.5);
        }
        const double allowed = bound(P, 20) * sum.absolute;
        REQUIRE(std::abs(relu.value(i) - std::max(0.0, sum.value)) <= allowed);
        REQUIRE(std::abs(got.at("bfloat16").value(i) - sum.value) <=
                allowed + 0x1p-8 * std::abs(sum.value));
        if (std::abs(sum.value) <= allowed) continue;
        REQUIRE((got.at("truth").value(i) != 0) == (sum.value > 0));
        ++found;
      }
      CHECK(found > relu.size() * 9 / 10);
    }
  });
}

TEST_CASE("dropout after a product on tensor cores has the processor's random numbers") {
  const tf::HostTensors feeds = feeds_of<dropped_out>(33);
  test::Kernels<dropped_out> processor;
  const test::Outcome expected = processor.run(feeds);
  for_all_precisions([&]<Precision P>() {
    const test::Outcome got = run<P, dropped_out>(feeds);
    const tf::HostTensor& y = got.at("y");
    for (std::int64_t i = 0; i < y.size(); ++i) {
      REQUIRE((y.value(i) == 0) == (expected.at("y").value(i) == 0));
    }
  });
}

TEST_CASE("products of 16-bit numbers that the precision has are exact") {
  check_halves<Precision::tf32, tf::float16>();
  check_halves<Precision::tf32, tf::bfloat16>();
  check_halves<Precision::float16, tf::float16>();
  check_halves<Precision::bfloat16, tf::bfloat16>();
}

TEST_CASE("tensor cores multiply bfloat16 whatever the precision") {
  const tf::HostTensors feeds = feeds_of<products_of_bfloat16>(33);
  const tf::HostTensor& a = feeds.at("a");
  const tf::HostTensor& b = feeds.at("b");
  const test::Outcome exact = run<Precision::exact, products_of_bfloat16>(feeds);
  for (std::int64_t i = 0; i < 33 * 20; ++i) {
    Sum sum;
    for (std::int64_t k = 0; k < 40; ++k)
      sum.add(a.value(i / 20 * 40 + k), b.value(k * 20 + i % 20));
    const double y = exact.at("y").value(i);
    REQUIRE(std::abs(y - sum.value) <=
            40 * 0x1p-23 * sum.absolute + 0x1.01p-8 * std::abs(sum.value));
  }
  for_all_precisions([&]<Precision P>() {
    const test::Outcome got = run<P, products_of_bfloat16>(feeds);
    test::check_equal_bits("y", got.at("y"), exact.at("y"));
  });
}

TEST_CASE("products of doubles have no other precision") {
  const tf::HostTensors feeds = feeds_of<doubles>(33);
  const test::Outcome exact = run<Precision::exact, doubles>(feeds);
  for_all_precisions([&]<Precision P>() {
    const test::Outcome got = run<P, doubles>(feeds);
    test::check_equal_bits("y", got.at("y"), exact.at("y"));
  });
}

TEST_CASE("gradients of products on tensor cores") {
  for_all_precisions([]<Precision P>() {
    constexpr std::int64_t rows = 70;
    const tf::HostTensors feeds = feeds_of<gradient>(rows);
    const test::Outcome got = run<P, gradient>(feeds);
    check(P, got.at("da"), 11, [&](std::int64_t i) {
      Sum sum;
      for (std::int64_t k = 0; k < 11; ++k) {
        sum.add(feeds.at("c").value(i / 37 * 11 + k), feeds.at("b").value(i % 37 * 11 + k));
      }
      return sum;
    });
    check(P, got.at("db"), rows, [&](std::int64_t i) {
      Sum sum;
      for (std::int64_t k = 0; k < rows; ++k) {
        sum.add(feeds.at("a").value(k * 37 + i / 11), feeds.at("c").value(k * 11 + i % 11));
      }
      return sum;
    });
  });
}

TEST_CASE("convolutions on tensor cores and their gradients have the stated errors") {
  for_all_precisions([]<Precision P>() {
    Convolution<7, 6, 5, 3, 9, 1>::template check_all<P>(2);
    Convolution<9, 8, 8, 3, 12, 2>::template check_all<P>(3);
    Convolution<5, 4, 3, 5, 70, 1>::template check_all<P>(1);
    Convolution<20, 21, 4, 1, 8, 1>::template check_all<P>(2);
  });
}

TEST_CASE("padding meets no infinities on tensor cores") {
  for_all_precisions([]<Precision P>() {
    tf::HostTensors feeds = feeds_of<padded>(2);
    tf::HostTensor& x = feeds.at("x");
    tf::HostTensor& w = feeds.at("w");
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 1 + std::abs(x.value(i)));
    // The first tap of filter 7, at all channels: places in the first row or column don't have it.
    // As half, 1e6 is an infinity, too.
    constexpr double weight =
        P == Precision::float16 ? 1e6 : std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k < 3; ++k) w.set(k * 20 + 7, weight);
    const test::Outcome got = run<P, padded>(feeds);
    const tf::HostTensor& y = got.at("y");
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t f = i % 20;
      const std::int64_t column = i / 20 % 6;
      const std::int64_t row = i / 120 % 5;
      if (f == 7 && row > 0 && column > 0) {
        REQUIRE(y.value(i) == std::numeric_limits<double>::infinity());
        continue;
      }
      Sum sum;
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const std::int64_t r = row + tap / 3 - 1;
        const std::int64_t c = column + tap % 3 - 1;
        if (r < 0 || r >= 5 || c < 0 || c >= 6) continue;
        for (std::int64_t k = 0; k < 3; ++k) {
          sum.add(x.value(((i / 600 * 5 + r) * 6 + c) * 3 + k), w.value((tap * 3 + k) * 20 + f));
        }
      }
      REQUIRE(std::abs(y.value(i) - sum.value) <= bound(P, 27) * sum.absolute);
    }
  });
}

TEST_CASE("half has infinities beyond its range, TF32 and bfloat16 have not") {
  tf::HostTensors feeds = feeds_of<products<23, 70>>(3);
  feeds.at("a").set(0, 1e6);
  const auto first_is_finite = [&]<Precision P>() {
    return std::isfinite(run<P, products<23, 70>>(feeds).at("nn").value(0));
  };
  CHECK(first_is_finite.template operator()<Precision::tf32>());
  CHECK(first_is_finite.template operator()<Precision::bfloat16>());
  CHECK_FALSE(first_is_finite.template operator()<Precision::float16>());
}
