// SPDX-License-Identifier: Apache-2.0

// Kernels with folds against the interpreter: rows, columns, several passes.

#include <cmath>
#include <limits>

#include "support/check_kernels.hpp"
#include "support/moving_kernels.hpp"

namespace {

namespace tf = typeflow;

constexpr void rows(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 37>(g, "x");
  sum<1>(x).named("sum");
  max<1>(x).named("max");
  min<1>(x).named("min");
  mean<1>(square(x)).named("mean_square");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  (x - mean<1>(x, tf::keep_dims)).named("centred");
  sum(x).named("total");
  max(abs(x)).named("largest");
}

constexpr void columns(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 37>(g, "x");
  sum<0>(x).named("sum");
  max<0>(x).named("max");
  min<0>(x * 2).named("min");
  tf::argmax<0>(x).named("argmax");
  (x * sum<0>(x, tf::keep_dims)).named("scaled");
}

/// A fold of 16-bit numbers is rounded before what follows it in the same kernel.
constexpr void halves(tf::Graph& g) {
  auto x = tf::placeholder<tf::bfloat16, tf::batch, 37>(g, "x");
  (x * sum<0>(x, tf::keep_dims)).named("scaled_by_columns");
  (x * sum<1>(x, tf::keep_dims)).named("scaled_by_rows");
}

/// Blocks of whole vectors: 64 floats are four of them with AVX-512, 32 with AVX, 16 with SSE.
constexpr void blocks(tf::Graph& g) {
  const auto reduce = [](auto x, tf::Label total, tf::Label largest, tf::Label place) {
    sum<1>(x).named(total);
    max<1>(x * 2).named(largest);
    tf::argmax<1>(x).named(place);
  };
  reduce(tf::placeholder<float, 2, tf::batch, 64>(g, "x64"), "sum64", "max64", "argmax64");
  reduce(tf::placeholder<float, 2, tf::batch, 32>(g, "x32"), "sum32", "max32", "argmax32");
  reduce(tf::placeholder<double, 2, tf::batch, 32>(g, "d32"), "sum_d", "max_d", "argmax_d");
}

constexpr void middle(tf::Graph& g) {
  auto x = tf::placeholder<float, 3, tf::batch, 5>(g, "x");
  sum<1>(x).named("sum");
  sum<0>(x).named("outer");
  sum<2>(x).named("inner");
  sum<0, 1>(x).named("outer_two");
  sum<1, 2>(x).named("inner_two");
  sum<0, 2>(x).named("first_and_last");
  softmax(tf::reshape<3, 5 * tf::batch>(x)).named("softmax");
}

constexpr void classification(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 11>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto p = tf::placeholder<float, tf::batch, 11>(g, "p");
  auto W = tf::variable<float, 11, 10>(g, "W");
  auto logits = matmul(x, W);
  softmax(logits).named("softmax");
  tf::log_softmax(logits).named("log_softmax");
  auto sparse = mean(softmax_cross_entropy(logits, y)).named("sparse");
  auto dense = mean(softmax_cross_entropy(x, softmax(p))).named("dense");
  mean(tf::cast<float>(equal(tf::argmax<1>(logits), y))).named("accuracy");
  tf::GradientDescent{.rate = 0.1f}.minimize(sparse + dense).named("train");
}

constexpr void types(tf::Graph& g) {
  auto d = tf::placeholder<double, tf::batch, 13>(g, "d");
  auto i = tf::placeholder<std::int32_t, tf::batch, 13>(g, "i");
  auto l = tf::placeholder<std::int64_t, 6, 13>(g, "l");
  sum<1>(d * d).named("d");
  softmax(d).named("softmax");
  sum<1>(i).named("i");
  max<0>(i).named("max");
  tf::argmax<1>(i).named("argmax");
  sum(l).named("l");
  min<0>(l).named("min");
}

}  // namespace

TEST_CASE("kernels with folds agree with the interpreter") {
  for (const std::int64_t batch : {1, 2, 17, 300}) {
    test::check_against_interpreter<rows>(batch, 1e-5);
    test::check_against_interpreter<columns>(batch, 1e-5);
    test::check_against_interpreter<middle>(batch, 1e-5);
    test::check_against_interpreter<classification>(batch, 1e-5);
    test::check_against_interpreter<types>(batch, 1e-6);
  }
}

namespace {

/// Rows longer than short ones, whose lanes are folded together: whole vectors, parts of them, less
/// than a vector of bytes. And short rows of bytes and 16-bit numbers.
constexpr void together(tf::Graph& g) {
  const auto b = tf::placeholder<bool, tf::batch, 45>(g, "b");
  any<1>(b).named("any");
  all<1>(b).named("all");
  any<1>(tf::placeholder<bool, tf::batch, 20>(g, "b20")).named("any20");
  const auto h = tf::placeholder<tf::bfloat16, tf::batch, 45>(g, "h");
  max<1>(h).named("max_h");
  tf::argmax<1>(h).named("argmax_h");
  max<1>(tf::placeholder<tf::bfloat16, tf::batch, 20>(g, "h20")).named("max_h20");
  const auto c = tf::placeholder<std::int8_t, tf::batch, 100>(g, "c");
  max<1>(c).named("max_c");
  tf::argmin<1>(c).named("argmin_c");
  min<1>(tf::placeholder<std::uint8_t, tf::batch, 40>(g, "u")).named("min_u");
  const auto d = tf::placeholder<double, tf::batch, 35>(g, "d");
  const auto w = tf::placeholder<double, tf::batch>(g, "w");
  (sum<1>(d * tf::expand_dims<1>(w)) + w).named("scaled_sum");
  tf::logsumexp<1>(d).named("logsumexp");
  softmax(d).named("softmax");
  max<0>(d).named("columns");
}

}  // namespace

TEST_CASE("folds whose lanes are folded together agree with the interpreter") {
  for (const std::int64_t batch : {1, 2, 15, 16, 17, 300}) {
    test::check_against_interpreter<together>(batch, 1e-6);
    test::check_bits<together>(batch);
  }
}

TEST_CASE("folds of blocks of whole vectors of columns agree with the interpreter") {
  for (const std::int64_t batch : {0, 1, 255, 256, 257, 600}) {
    test::check_against_interpreter<blocks>(batch, 1e-5);
    test::check_bits<blocks>(batch);
  }
}

namespace {

/// Columns that are folded and stored where they are read: sums of y, which takes the place of t,
/// and of a variable that is written.
template <tf::Extent Columns>
constexpr void in_place(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, Columns>(g, "x");
  auto y = tanh(tf::cumsum<0>(0.01f * x));
  auto s = sum<0>(y, tf::keep_dims);
  (tf::cumsum<0>(y) + 0.0f * s).named("z");
  (s + 0.0f).named("s");
  auto w = tf::variable<float, 100, Columns>(g, "w", tf::ones());
  auto first = assign(w, w + 1.0f);
  auto halved = 0.5f * w.read();
  auto second = assign(w, halved);
  auto v = tf::variable<float, Columns>(g, "v", tf::zeros());
  (first + second + assign(v, sum<0>(halved))).named("step");
}

}  // namespace

TEST_CASE("columns that are stored where they are read are read once") {
  for (const std::int64_t batch : {4, 70}) {
    test::check_against_interpreter<in_place<48>>(batch, 1e-5);
    test::check_against_interpreter<in_place<80>>(batch, 1e-5);
  }
}

namespace {

/// Variables that kernels fold and write: what each element becomes depends on what its row was.
template <tf::Extent Rows, tf::Extent Columns>
constexpr void written_rows(tf::Graph& g) {
  const auto x = tf::placeholder<float, Rows, Columns>(g, "x");
  const auto v = tf::variable<float, Rows, Columns>(g, "v", tf::ones());
  const auto m = tf::variable<float, Rows, Columns>(g, "m", tf::ones());
  const auto y = x * v;
  const auto next = 0.5f * m + softmax(y);
  (assign(m, next) + assign(v, v - next * y)).named("rows");
  // The same for all elements, and a fold of columns.
  const auto w = tf::variable<float, Rows, Columns>(g, "w", tf::ones());
  const auto total = tf::variable<float, Columns>(g, "total", tf::ones());
  const auto z = x + w;
  (assign(w, w - z / (1 + sum(square(z)))) + assign(total, total + sum<0>(x * w))).named("whole");
  // Folds of what is stored, in one pass, along rows and down columns.
  const auto u = tf::variable<float, Rows, Columns>(g, "u", tf::ones());
  const auto c = tf::variable<float, Rows, Columns>(g, "c", tf::ones());
  const auto of_rows = x - u;
  const auto of_columns = x * x - c;
  const auto row_sums = tf::variable<float, Rows>(g, "row_sums", tf::ones());
  (assign(u, of_rows) + assign(row_sums, sum<1>(of_rows))).named("rows in one pass");
  (assign(c, of_columns) + assign(total, sum<0>(of_columns))).named("columns in one pass");
}

}  // namespace

TEST_CASE("variables are written by the kernels that fold them") {
  test::check_against_interpreter<written_rows<37, 5>>(1, 1e-5);
  test::check_against_interpreter<written_rows<7, 45>>(1, 1e-5);
  test::check_against_interpreter<written_rows<3, 5000>>(1, 1e-5, 3);
#ifndef TYPEFLOW_TEST_TARGET
  CHECK(test::check_threads(test::tested<written_rows<9, 5000>>(), 1) > 0);
#endif
}

TEST_CASE("folds over nothing give the identity") { test::check_against_interpreter<columns>(0); }

TEST_CASE("kernels with folds have equal bits, fused or not, for any number of threads") {
  for (const std::int64_t batch : {1, 5, 1003}) {
    test::check_bits<rows>(batch);
    test::check_bits<columns>(batch);
    test::check_bits<classification>(batch);
    test::check_bits<types>(batch);
    test::check_bits<halves>(batch);
  }
}

namespace {

constexpr void positions(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 40>(g, "x");
  tf::argmax<1>(x).named("argmax");
  tf::argmin<1>(x).named("argmin");
  max<1>(x).named("max");
}

}  // namespace

TEST_CASE("argmax takes the first of equals, and numbers before NaN; max passes NaN on") {
  tf::Variables variables;
  tf::Session<positions> session(variables);
  std::vector<float> x(80, 1.0f);
  x[13] = 5;
  x[29] = 5;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 40; i < 80; ++i) x[static_cast<std::size_t>(i)] = nan;
  x[59] = -2;
  const auto [most, least, largest] = session.run<"argmax", "argmin", "max">(tf::feed<"x">(x));
  CHECK(most(0) == 13);
  CHECK(least(0) == 0);
  CHECK(largest(0) == 5);
  CHECK(most(1) == 19);
  CHECK(least(1) == 19);
  CHECK(largest(1) != largest(1));
}

#ifndef TYPEFLOW_TEST_TARGET
namespace {

/// A processor that runs the parts of a loop one after the other, the last one first.
class BackwardsTarget {
 public:
  explicit BackwardsTarget(const tf::TargetOptions&) {}

  template <class Kernel, tf::DeviceKind>
  static constexpr tf::KernelEntry kernel = tf::CpuTarget<>::kernel<Kernel>;

  std::span<const tf::MachineDevice> devices() const { return {&device_, 1}; }

 private:
  test::Backwards stream_;
  tf::MachineDevice device_{.device = tf::cpu(0), .stream = &stream_};
};

/// Compares one thread with three, and with parts that run backwards: equal bits.
template <auto Model>
void check_parts(std::int64_t batch) {
  INFO("batch ", batch);
  for (const bool has_specials : {false, true}) {
    tf::HostTensors feeds = test::random_feeds<Model>(batch);
    for (auto& [name, x] : feeds) {
      if (!has_specials || !tf::is_floating(x.dtype)) continue;
      for (std::int64_t i = 0; i < x.size(); i += 5003) x.set(i, -0.0);
      x.set(x.size() / 3, std::numeric_limits<double>::infinity());
      x.set(x.size() / 2, std::numeric_limits<double>::quiet_NaN());
    }
    const test::Outcome one = test::Kernels<Model>(1).run(feeds);
    const test::Outcome three = test::Kernels<Model>(3).run(feeds);
    const test::Outcome backwards =
        test::Kernels<Model, tf::training, BackwardsTarget>(1).run(feeds);
    for (const auto& [name, value] : one) {
      test::check_equal_bits(name, value, three.at(name));
      test::check_equal_bits(name, value, backwards.at(name));
    }
  }
}

}  // namespace

TEST_CASE("threads share the chunks of few long rows and of long columns") {
  // The least sizes that are shared. The last chunk of the row is less than a vector.
  constexpr std::int64_t batch = 7528;
  static_assert(batch * 37 % 16384 == 8);
  test::check_against_interpreter<rows>(batch, 1e-5, 3);
  test::check_against_interpreter<columns>(batch, 1e-5, 3);
  check_parts<rows>(batch);
  check_parts<columns>(batch);
  check_parts<halves>(batch);
  check_parts<types>(21255);
  check_parts<middle>(52500);
}
#endif
