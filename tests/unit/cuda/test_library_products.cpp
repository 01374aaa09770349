// SPDX-License-Identifier: Apache-2.0

// Matrix products by a library, against loops in double and the processor's kernels: transposes,
// sides of 1, no depth, batches, precisions, and what follows on them.

#include "support/library_on_host.hpp"

#include <typeflow/cuda/mixed_matmul.hpp>
#include <typeflow/mixed_matmul.hpp>

#include <cmath>
#include <cstdint>
#include <string>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;
using tf::Precision;

/// Runs a model twice; both runs have the same bits.
template <auto Model, Precision P = Precision::exact, class Kernels = test::LibraryKernels>
test::Outcome run(const tf::HostTensors& feeds) {
  using Target = test::BasicCudaTargetOnHost<P, Kernels>;
  test::Kernels<Model, tf::training, Target> kernels;
  test::Kernels<Model, tf::training, Target> others;
  test::Outcome got = kernels.run(feeds);
  const test::Outcome again = others.run(feeds);
  for (const auto& [name, value] : got) test::check_equal_bits(name, value, again.at(name));
  return got;
}
template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  return test::random_feeds(test::Kernels<Model>::Program::view, batch,
                            static_cast<std::uint64_t>(batch) + 3);
}
/// Compares all that a model names with the processor.
template <auto Model>
void check_model(std::int64_t batch, double tolerance = 1e-5) {
  INFO("batch ", batch);
  const tf::HostTensors feeds = feeds_of<Model>(batch);
  test::Kernels<Model> processor;
  const test::Outcome expected = processor.run(feeds);
  int compared = 0;
  for (const auto& [name, value] : run<Model>(feeds)) {
    const auto found = expected.find(name);
    if (found == expected.end()) continue;  // inside a kernel
    test::check_close(name, value, found->second, tolerance);
    ++compared;
  }
  CHECK(compared > 0);
}

template <class T, int Depth, int Columns>
constexpr void products(tf::Graph& g) {
  auto a = tf::placeholder<T, tf::batch, Depth>(g, "a");
  auto at = tf::placeholder<T, Depth, tf::batch>(g, "at");
  auto b = tf::placeholder<T, Depth, Columns>(g, "b");
  auto bt = tf::placeholder<T, Columns, Depth>(g, "bt");
  matmul(a, b).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  tf::matmul<tf::transpose_b>(a, bt).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
}

/// The largest error of a product, relative to the sum of absolute values, as docs/cuda.md has it.
template <class T>
double bound(Precision p, std::int64_t depth) {
  const double sums = static_cast<double>(depth) * (sizeof(T) == 8 ? 0x1p-52 : 0x1p-23);
  if (sizeof(T) == 8 || p == Precision::exact) return sums;
  const double operand = p == Precision::tf32       ? 0x1p-10
                         : p == Precision::bfloat16 ? 0x1p-8
                                                    : 0x1p-11;
  return 2 * operand + operand * operand + sums;
}

template <class T, int Depth, int Columns, Precision P = Precision::exact>
void check_products(std::int64_t rows) {
  INFO("depth ", Depth, " columns ", Columns, " rows ", rows, " precision ", static_cast<int>(P));
  constexpr auto model = &products<T, Depth, Columns>;
  const tf::HostTensors feeds = feeds_of<model>(rows);
  const test::Outcome got = run<model, P>(feeds);
  double most = 0;
  for (const std::string name : {"nn", "tn", "nt", "tt"}) {
    const bool ta = name[0] == 't';
    const bool tb = name[1] == 't';
    const tf::HostTensor& a = feeds.at(ta ? "at" : "a");
    const tf::HostTensor& b = feeds.at(tb ? "bt" : "b");
    const tf::HostTensor& y = got.at(name);
    REQUIRE(y.size() == rows * Columns);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t row = i / Columns;
      const std::int64_t column = i % Columns;
      double sum = 0;
      double absolute = 0;
      for (std::int64_t k = 0; k < Depth; ++k) {
        const double product = a.value(ta ? k * rows + row : row * Depth + k) *
                               b.value(tb ? column * Depth + k : k * Columns + column);
        sum += product;
        absolute += std::abs(product);
      }
      const double allowed = bound<T>(P, Depth) * absolute;
      const double error = std::abs(y.value(i) - sum);
      INFO(name, " element ", i);
      REQUIRE(error <= allowed);
      if (allowed > 0) most = std::max(most, error / allowed);
    }
  }
  // Operands are rounded at all.
  if (P != Precision::exact && sizeof(T) == 4 && rows * Columns > 100) CHECK(most > 0.05);
}

/// 16-bit operands, of which none is rounded, with sums of floats.
template <class A, class B>
constexpr void narrow(tf::Graph& g) {
  auto a = tf::placeholder<A, tf::batch, 23>(g, "a");
  auto bt = tf::placeholder<B, 50, 23>(g, "bt");
  auto heads = tf::placeholder<B, 3, 23, 10>(g, "heads");
  auto bias = tf::placeholder<float, 50>(g, "bias");
  (tf::matmul<float, tf::transpose_b>(a, bt) + bias).named("biased");
  relu(matmul(tf::reshape<tf::batch, 1, 1, 23>(tf::cast<float>(a)), tf::cast<float>(heads)))
      .named("relu");
}
template <class A, class B, Precision P = Precision::exact>
void check_narrow(std::int64_t batch) {
  const tf::HostTensors feeds = feeds_of<narrow<A, B>>(batch);
  const test::Outcome got = run<narrow<A, B>, P>(feeds);
  const tf::HostTensor& a = feeds.at("a");
  for (std::int64_t i = 0; i < batch * 50; ++i) {
    const std::int64_t column = i % 50;
    double sum = feeds.at("bias").value(column);
    double absolute = std::abs(sum);
    for (std::int64_t k = 0; k < 23; ++k) {
      const double product = a.value(i / 50 * 23 + k) * feeds.at("bt").value(column * 23 + k);
      sum += product;
      absolute += std::abs(product);
    }
    REQUIRE(std::abs(got.at("biased").value(i) - sum) <= 24 * 0x1p-23 * absolute);
  }
  for (std::int64_t i = 0; i < batch * 30; ++i) {
    double sum = 0;
    double absolute = 0;
    for (std::int64_t k = 0; k < 23; ++k) {
      const double product =
          a.value(i / 30 * 23 + k) * feeds.at("heads").value((i / 10 % 3 * 23 + k) * 10 + i % 10);
      sum += product;
      absolute += std::abs(product);
    }
    REQUIRE(std::abs(got.at("relu").value(i) - std::max(0.0, sum)) <= 24 * 0x1p-23 * absolute);
  }
}

/// Products of 16-bit numbers that stay such: alone, of many matrices, a part of a larger tensor,
/// with a bias that is added to the rounded product.
template <class H>
constexpr void rounded(tf::Graph& g) {
  auto a = tf::placeholder<H, tf::batch, 23>(g, "a");
  auto b = tf::placeholder<H, 23, 50>(g, "b");
  auto heads = tf::placeholder<H, 3, 23, 10>(g, "heads");
  auto bias = tf::placeholder<H, 50>(g, "bias");
  matmul(a, b).named("alone");
  matmul(tf::reshape<tf::batch, 1, 1, 23>(a), heads).named("many");
  (matmul(a, b + b) + bias).named("biased");
  tf::concat<1>(matmul(a, b - bias), a).named("part");
}
template <class H>
void check_rounded(std::int64_t batch, double step) {
  constexpr auto model = &rounded<H>;
  constexpr tf::DType type = tf::dtype_of<H>;
  check_model<model>(batch, 2 * step);
  const tf::HostTensors feeds = feeds_of<model>(batch);
#if !defined(__CUDACC__)
  test::PlainLibrary::asked.clear();
#endif
  const test::Outcome got = run<model>(feeds);
  const tf::HostTensor& a = feeds.at("a");
  for (std::int64_t i = 0; i < batch * 50; ++i) {
    double sum = 0;
    double absolute = 0;
    for (std::int64_t k = 0; k < 23; ++k) {
      const double product = a.value(i / 50 * 23 + k) * feeds.at("b").value(k * 50 + i % 50);
      sum += product;
      absolute += std::abs(product);
    }
    // One rounding to 16 bits, and those of the float sums.
    const double allowed = step / 2 * std::abs(sum) + 24 * 0x1p-23 * absolute;
    REQUIRE(std::abs(got.at("alone").value(i) - sum) <= allowed);
  }
#if !defined(__CUDACC__)
  int direct = 0;
  for (const tf::LibraryProduct& product : test::PlainLibrary::asked) {
    CHECK(product.operands == type);
    direct += product.stored == type;
  }
  if (batch > 0) CHECK(direct >= 2 * 2);  // in each of two runs
  if (batch > 0) CHECK(direct < static_cast<int>(test::PlainLibrary::asked.size()));
#endif
}

/// Products that a library may complete itself, if that is wanted: by a bias, relu, both.
template <class H>
constexpr void layers(tf::Graph& g) {
  auto a = tf::placeholder<H, tf::batch, 23>(g, "a");
  auto b = tf::placeholder<H, 23, 50>(g, "b");
  auto bias = tf::placeholder<H, 50>(g, "bias");
  (matmul(a, b) + bias).named("biased");
  relu(bias + matmul(a, -b)).named("layer");
  relu(matmul(a, b + b)).named("relu");
  // These are not: another order, another operand, and one more step.
  (relu(matmul(a, b - bias)) + bias).named("late");
  (matmul(a, b * 0.5f) + tf::placeholder<H, tf::batch, 1>(g, "scale")).named("rows");
  tanh(relu(matmul(a, b + bias) + bias)).named("tanh");
}
template <class H>
void check_layers(std::int64_t batch, double step, int wanted) {
  constexpr auto model = &layers<H>;
  const tf::HostTensors feeds = feeds_of<model>(batch);
#if !defined(__CUDACC__)
  test::PlainLibrary::asked.clear();
#endif
  const test::Outcome got = run<model, Precision::exact, test::EpilogueKernels>(feeds);
  const auto value = [&](const char* name, std::int64_t i) { return feeds.at(name).value(i); };
  for (std::int64_t i = 0; i < batch * 50; ++i) {
    const std::int64_t column = i % 50;
    double sum = 0;
    double absolute = std::abs(value("bias", column));
    for (std::int64_t k = 0; k < 23; ++k) {
      const double product = value("a", i / 50 * 23 + k) * value("b", k * 50 + column);
      sum += product;
      absolute += std::abs(product);
    }
    const auto check = [&](const char* name, double product, double exact) {
      INFO(name, " element ", i);
      // One rounding, and those of the float sums; some of cuBLASLt's algorithms round the product,
      // too.
#if defined(__CUDACC__)
      const double rounded = (std::abs(product) + std::abs(exact)) * (1 + step);
#else
      const double rounded = std::abs(exact);
      (void)product;
#endif
      const double allowed = step / 2 * rounded + 25 * 0x1p-23 * absolute;
      REQUIRE(std::abs(got.at(name).value(i) - exact) <= allowed);
    };
    check("biased", sum, sum + value("bias", column));
    check("layer", sum, std::max(0.0, value("bias", column) - sum));
    check("relu", 0, 2 * std::max(0.0, sum));
  }
#if !defined(__CUDACC__)
  int with_bias = 0;
  int with_relu = 0;
  for (const tf::LibraryProduct& product : test::PlainLibrary::asked) {
    with_bias += product.bias != nullptr;
    with_relu += product.relu;
  }
  if (batch > 0) CHECK(with_bias == 2 * wanted);  // in each of two runs
  if (batch > 0) CHECK(with_relu == 2 * wanted);
  test::PlainLibrary::asked.clear();
  run<model>(feeds);  // of the other kernels
  for (const tf::LibraryProduct& product : test::PlainLibrary::asked) {
    CHECK((product.bias == nullptr || product.stored == tf::DType::float32));
    CHECK(!product.relu);
  }
#endif
  // All others are as on the processor.
  test::Kernels<model> processor;
  const test::Outcome expected = processor.run(feeds);
  for (const char* name : {"late", "rows", "tanh"}) {
    test::check_close(name, got.at(name), expected.at(name), step == 0 ? 1e-5 : 2 * step);
  }
}

/// What follows on a product: nothing, a bias, or more than a library has.
constexpr void epilogues(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 70>(g, "b");
  auto c = tf::placeholder<float, 9, 70>(g, "c");
  auto bias = tf::placeholder<float, 70>(g, "bias");
  auto rest = tf::placeholder<float, tf::batch, 70>(g, "rest");
  auto scale = tf::placeholder<float, tf::batch, 1>(g, "scale");
  auto wide_a = tf::placeholder<double, tf::batch, 9>(g, "wide_a");
  auto wide_b = tf::placeholder<double, 9, 70>(g, "wide_b");
  auto wide_bias = tf::placeholder<double, 70>(g, "wide_bias");
  auto half_a = tf::placeholder<tf::bfloat16, tf::batch, 9>(g, "half_a");
  auto half_b = tf::placeholder<tf::bfloat16, 9, 70>(g, "half_b");
  (matmul(a, b) + bias).named("biased");
  (bias + matmul(a, c)).named("biased_first");
  (matmul(wide_a, wide_b) + wide_bias).named("wide");
  relu(rest + scale * (matmul(a, b + c) + bias)).named("y");
  auto sum = (matmul(a, b - c) + bias).named("sum");
  tanh(sum).named("tanh");
  matmul(half_a, half_b).named("half");
  greater(matmul(a, b * 2.0f), 0).named("truth");
  // Parts of a larger tensor.
  tf::concat<1>(matmul(a, b * 3.0f), rest, matmul(a, c * 3.0f) + bias).named("parts");
}

/// Axes in front of the matrices: those along which both operands run, or one alone.
constexpr void batched(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3, 5, 9>(g, "a");
  auto at = tf::placeholder<float, tf::batch, 3, 9, 5>(g, "at");
  auto b = tf::placeholder<float, tf::batch, 3, 9, 20>(g, "b");
  auto bt = tf::placeholder<float, tf::batch, 3, 20, 9>(g, "bt");
  auto heads = tf::placeholder<float, 3, 9, 20>(g, "heads");
  auto samples = tf::placeholder<float, tf::batch, 1, 9, 20>(g, "samples");
  auto one = tf::placeholder<float, 9, 20>(g, "one");
  auto left = tf::placeholder<float, 5, 9>(g, "left");
  auto bias = tf::placeholder<float, 20>(g, "bias");
  auto head_bias = tf::placeholder<float, 3, 1, 20>(g, "head_bias");
  (matmul(a, b) + head_bias).named("nn");
  tf::matmul<tf::transpose_a>(at, b).named("tn");
  (tf::matmul<tf::transpose_b>(a, bt) + bias).named("nt");
  tf::matmul<tf::transpose_both>(at, bt).named("tt");
  relu(matmul(a, heads) + head_bias).named("heads");
  matmul(a, samples).named("samples");
  (matmul(a, one) + bias).named("rows");
  matmul(left, b).named("left");
}

/// One row or one column; axes of extent 1 in front.
constexpr void thin(tf::Graph& g) {
  auto q = tf::placeholder<double, tf::batch, 4, 1, 7>(g, "q");
  auto k = tf::placeholder<double, tf::batch, 1, 11, 7>(g, "k");
  auto w = tf::placeholder<double, 7, 6>(g, "w");
  auto v = tf::placeholder<double, 4, 7, 1>(g, "v");
  tf::matmul<tf::transpose_b>(q, k).named("qk");
  matmul(q, w).named("qw");
  matmul(k, v).named("kv");
  matmul(q, v).named("qv");
}

constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 6, 12>(g, "x");
  auto w = tf::variable<float, 12, 33>(g, "w", tf::truncated_normal(0, 0.1));
  auto u = tf::variable<float, 6, 6>(g, "u", tf::truncated_normal(0, 0.1));
  auto h = relu(matmul(matmul(u, x), w) + 0.1f);
  auto loss = mean(square(tf::matmul<tf::transpose_b>(h, h) - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

}  // namespace

TEST_CASE("a library's products are those of plain loops for any transposes and extents") {
  for (const std::int64_t rows : {0, 1, 4, 65}) {
    check_products<float, 23, 50>(rows);
    check_products<double, 23, 50>(rows);
  }
  check_products<float, 0, 5>(3);
  check_products<float, 1, 1>(2);
  check_products<float, 7, 1>(1);
}

TEST_CASE("a library's products have the stated errors of each precision") {
  for (const std::int64_t rows : {0, 1, 33}) {
    check_products<float, 23, 50, Precision::tf32>(rows);
    check_products<float, 23, 50, Precision::bfloat16>(rows);
    check_products<float, 23, 50, Precision::float16>(rows);
  }
  check_products<double, 23, 50, Precision::bfloat16>(3);
}

TEST_CASE("a library's products of 16-bit operands round nothing but sums") {
  using tf::bfloat16;
  using tf::float16;
  for (const std::int64_t batch : {0, 1, 33}) {
    check_narrow<float16, float16>(batch);
    check_narrow<bfloat16, bfloat16, Precision::tf32>(batch);
    check_narrow<float16, bfloat16>(batch);
    check_narrow<float, float16>(batch);
  }
}

TEST_CASE("a library's products of 16-bit numbers are rounded once, by the library where it can") {
  for (const std::int64_t batch : {0, 1, 33}) {
    check_rounded<tf::float16>(batch, 0x1p-10);
    check_rounded<tf::bfloat16>(batch, 0x1p-7);
  }
}

TEST_CASE("a library adds 16-bit biases, and computes relu, only if that is wanted") {
  for (const std::int64_t batch : {0, 1, 33}) {
    check_layers<tf::float16>(batch, 0x1p-10, 2);
    check_layers<tf::bfloat16>(batch, 0x1p-7, 2);
    check_layers<float>(batch, 0, 2);
  }
}

TEST_CASE("operations follow a library's product") {
  for (const std::int64_t batch : {0, 1, 3, 66}) check_model<epilogues>(batch);
}

TEST_CASE("a library's products of many matrices repeat operands in place") {
  for (const std::int64_t batch : {0, 1, 2, 70}) check_model<batched>(batch);
  for (const std::int64_t batch : {0, 1, 5}) check_model<thin>(batch, 1e-12);
}

TEST_CASE("a library's products and their gradients train as on the processor") {
  for (const std::int64_t batch : {1, 3}) check_model<training>(batch);
}
