// SPDX-License-Identifier: Apache-2.0

// What a library of products is asked: once for each product, with the bias that it can add, again
// when kernels are recorded; and what happens if it can't, or fails.
//
// For the emulation alone: the library is a plain loop of the host.

#include "support/library_on_host.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "support/check_kernels.hpp"

namespace {

namespace tf = typeflow;
using test::PlainLibrary;
using tf::Precision;

template <Precision P = Precision::exact>
using Libraries = test::BasicCudaTargetOnHost<P, test::LibraryKernels>;

constexpr void bare(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 7>(g, "b");
  matmul(a, b).named("y");
}
constexpr void biased(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 7>(g, "b");
  auto bias = tf::placeholder<float, 7>(g, "bias");
  (matmul(a, b) + bias).named("y");
}
/// Bytes behind multiples of 16: a library may not take them.
constexpr void biased_by_part(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 7>(g, "b");
  auto all = tf::placeholder<float, 8>(g, "bias");
  (matmul(a, b) + tf::slice<tf::range(1, 8)>(all)).named("y");
}
constexpr void followed(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<float, 9, 7>(g, "b");
  relu(matmul(a, b)).named("y");
}
template <class A, class B = A>
constexpr void narrow(tf::Graph& g) {
  auto a = tf::placeholder<A, tf::batch, 9>(g, "a");
  auto b = tf::placeholder<B, 9, 7>(g, "b");
  tf::matmul<float>(a, b).named("y");
}
/// b repeats along the first axis, which a library can't pass over in one call.
constexpr void heads(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 3, 5, 9>(g, "a");
  auto b = tf::placeholder<float, 3, 9, 2>(g, "b");
  matmul(a, b).named("y");
}
constexpr void training(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto w = tf::variable<float, 12, 33>(g, "w", tf::truncated_normal(0, 0.1));
  auto loss = mean(square(relu(matmul(x, w)) - 1)).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss).named("train");
}

template <auto Model>
tf::HostTensors feeds_of(std::int64_t batch) {
  return test::random_feeds(test::Kernels<Model>::Program::view, batch, 3);
}

/// What a run asks of the library, and how many kernels it launches.
struct Asked {
  std::vector<tf::LibraryProduct> products;
  int launches;
};
template <auto Model, Precision P = Precision::exact>
Asked ask(std::int64_t batch) {
  test::Kernels<Model, tf::training, Libraries<P>> kernels;
  const tf::HostTensors feeds = feeds_of<Model>(batch);
  PlainLibrary::asked.clear();
  const int launches = test::CudaOnHost::get().launches;
  kernels.run(feeds);
  return {PlainLibrary::asked, test::CudaOnHost::get().launches - launches};
}
/// While it lives, the library refuses or fails.
struct Trouble {
  explicit Trouble(bool& kind) : kind_(kind) { kind_ = true; }
  Trouble(const Trouble&) = delete;
  Trouble& operator=(const Trouble&) = delete;
  ~Trouble() { kind_ = false; }
  bool& kind_;
};

}  // namespace

TEST_CASE("a library writes a result where it belongs, with a bias") {
  const Asked of_bare = ask<bare>(5);
  REQUIRE(of_bare.products.size() == 1);
  CHECK(of_bare.launches == 1);
  const tf::LibraryProduct& p = of_bare.products[0];
  CHECK(p.m == 7);
  CHECK(p.n == 5);
  CHECK(p.k == 9);
  CHECK(p.matrices == 1);
  CHECK(p.operands == tf::DType::float32);
  CHECK_FALSE(p.as_tf32);
  CHECK(p.bias == nullptr);

  const Asked of_biased = ask<biased>(5);
  REQUIRE(of_biased.products.size() == 1);
  CHECK(of_biased.products[0].bias != nullptr);
  CHECK(of_biased.launches == 1);

  // The product is in the workspace, and a kernel follows.
  CHECK(ask<followed>(5).products.size() == 1);
  CHECK(ask<followed>(5).launches == 2);
}

TEST_CASE("operands for a library have the type of the precision") {
  CHECK(ask<bare, Precision::tf32>(5).products.at(0).as_tf32);
  CHECK(ask<bare, Precision::tf32>(5).launches == 1);
  const Asked half = ask<bare, Precision::float16>(5);
  CHECK(half.products.at(0).operands == tf::DType::float16);
  CHECK(half.products.at(0).results == tf::DType::float32);
  CHECK(half.launches == 3);
  CHECK(ask<bare, Precision::bfloat16>(5).products.at(0).operands == tf::DType::bfloat16);
}

TEST_CASE("16-bit operands of one type are the library's as they are") {
  const auto check = []<class T>(T) {
    for (const Asked& asked :
         {ask<narrow<T>>(5), ask<narrow<T>, Precision::tf32>(5),
          ask<narrow<T>, Precision::bfloat16>(5), ask<narrow<T>, Precision::float16>(5)}) {
      CHECK(asked.products.at(0).operands == tf::dtype_of<T>);
      CHECK(asked.products.at(0).results == tf::DType::float32);
      CHECK_FALSE(asked.products.at(0).as_tf32);
      CHECK(asked.launches == 1);
    }
  };
  check(tf::bfloat16(0));
  check(tf::float16(0));
}

TEST_CASE("operands of two types are converted where they have to be") {
  using tf::bfloat16;
  using tf::DType;
  using tf::float16;
  const auto check = [](const Asked& asked, DType type, int launches) {
    CHECK(asked.products.at(0).operands == type);
    CHECK(asked.launches == launches);
  };
  check(ask<narrow<float, bfloat16>>(5), DType::float32, 2);
  check(ask<narrow<bfloat16, float16>>(5), DType::float32, 3);
  check(ask<narrow<float16, float>, Precision::tf32>(5), DType::float32, 2);
  check(ask<narrow<float, bfloat16>, Precision::bfloat16>(5), DType::bfloat16, 2);
  check(ask<narrow<float, bfloat16>, Precision::float16>(5), DType::float16, 3);
}

TEST_CASE("a library is called for each axis that it can't go along") {
  const Asked few = ask<heads>(2);
  CHECK(few.products.size() == 2);
  CHECK(few.products.at(0).matrices == 3);
  const Asked many = ask<heads>(64);  // along the longer axis at once
  CHECK(many.products.size() == 3);
  CHECK(many.products.at(0).matrices == 64);
  CHECK(many.products.at(0).a.apart == 0);
  CHECK(many.products.at(0).b.apart == 3 * 5 * 9);
}

TEST_CASE("axes of batches that follow on one another are one for a library") {
  using Batches = tf::cuda_kernels::LibraryBatches;
  constexpr auto together = [] {
    Batches batches;
    batches.add({4, {10, 0, 20}});
    batches.add({1, {7, 7, 7}});
    batches.add({3, {40, 0, 80}});
    batches.choose();
    return batches;
  }();
  static_assert(together.calls() == 1);
  static_assert(together.of_call.extent == 12);
  static_assert(together.of_call.apart[2] == 20);
  constexpr auto apart = [] {
    Batches batches;
    batches.add({4, {10, 5, 20}});
    batches.add({3, {40, 0, 80}});
    batches.add({2, {0, 20, 240}});
    batches.choose();
    return batches;
  }();
  static_assert(apart.calls() == 6);
  static_assert(apart.of_call.extent == 4);
  std::int64_t sums[3] = {};
  for (std::int64_t call = 0; call < 6; ++call) {
    for (int i = 0; i < 3; ++i) sums[i] += apart.offset(call, i);
  }
  CHECK(sums[0] == 2 * (0 + 40 + 80));
  CHECK(sums[1] == 3 * 20);
  CHECK(sums[2] == 2 * (0 + 80 + 160) + 3 * 240);
}

TEST_CASE(
    "without elements, without depth, or if the library refuses, kernels of our own multiply") {
  CHECK(ask<bare>(0).products.empty());
  const tf::HostTensors feeds = feeds_of<biased>(5);
  test::Kernels<biased, tf::training, test::CudaTargetOnHost> own;
  const test::Outcome expected = own.run(feeds);
  {
    const Trouble trouble(PlainLibrary::refuses);
    CHECK(ask<biased>(5).products.size() == 1);
    test::Kernels<biased, tf::training, Libraries<>> kernels;
    test::check_equal_bits("y", kernels.run(feeds).at("y"), expected.at("y"));
    // Bits are those of the kernels that ran before, too: nothing of the library's is left.
    test::check_equal_bits("y", kernels.run(feeds).at("y"), expected.at("y"));
  }
}

TEST_CASE("a bias that lies at an odd place has its bits") {
  const tf::HostTensors feeds = feeds_of<biased_by_part>(5);
  test::Kernels<biased_by_part, tf::training, Libraries<>> kernels;
  test::Kernels<biased_by_part> processor;
  test::check_close("y", kernels.run(feeds).at("y"), processor.run(feeds).at("y"), 1e-6);
}

TEST_CASE("an error of a library names the step") {
  const Trouble trouble(PlainLibrary::fails);
  test::Kernels<followed, tf::training, Libraries<>> kernels;
  std::string text;
  try {
    kernels.run(feeds_of<followed>(2));
  } catch (const tf::Error& error) {
    text = error.what();
  }
  INFO(text);
  CHECK(text.find("y") != std::string::npos);
  CHECK(text.find("a library: multiplying matrices: out of luck") != std::string::npos);
}

TEST_CASE("a library's work is recorded, and then replayed without the library") {
  tf::Variables variables;
  tf::Session<training, tf::training, Libraries<>> session(variables, {.seed = 1});
  const std::vector<float> x(12 * 4, 0.5f);
  const auto train = [&] {
    session.run<"train">(tf::feed<"x">(x));
    return session.run<"loss">(tf::feed<"x">(x));
  };
  for (int i = 0; i < 3; ++i) train();
  PlainLibrary::asked.clear();
  const int graphs = test::CudaOnHost::get().graph_launches;
  const float before = train();
  CHECK(PlainLibrary::asked.empty());
  CHECK(test::CudaOnHost::get().graph_launches > graphs);
  CHECK(train() < before);
}

TEST_CASE("sessions with a library and without one share a GPU's variables") {
  tf::Variables variables;
  tf::Session<training, tf::training, Libraries<>> session(variables, {.seed = 1});
  tf::Session<training, tf::training, test::CudaTargetOnHost> other(variables, {.seed = 1});
  const std::vector<float> x(12 * 4, 0.5f);
  float loss = session.run<"loss">(tf::feed<"x">(x));
  CHECK(other.run<"loss">(tf::feed<"x">(x)) == doctest::Approx(loss));
  for (int i = 0; i < 3; ++i) {
    session.run<"train">(tf::feed<"x">(x));
    const int copies = test::CudaOnHost::get().copies_in;
    other.run<"train">(tf::feed<"x">(x));
    CHECK(test::CudaOnHost::get().copies_in == copies + 1);  // the feed
    const float now = other.run<"loss">(tf::feed<"x">(x));
    CHECK(now < loss);
    loss = now;
  }
}
