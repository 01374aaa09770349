// SPDX-License-Identifier: Apache-2.0

// Products of a transposed a whose result has few columns, which have loops of their own: the same
// bits as chains of multiplications and additions in plain loops, fused where the instruction set
// has that, for any number of threads.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "typeflow/typeflow.hpp"

#include "support/multiply_add.hpp"

namespace {

namespace tf = typeflow;

/// Equal bits, or both NaN.
template <class Y, class T>
bool equal(const Y& y, const std::vector<T>& expected) {
  using Pattern = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::equal(y.begin(), y.end(), expected.begin(), expected.end(), [](T p, T q) {
    return std::bit_cast<Pattern>(p) == std::bit_cast<Pattern>(q) ||
           (std::isnan(p) && std::isnan(q));
  });
}

template <class T>
std::vector<T> drawn(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<T> number(-1, 1);
  std::vector<T> x(count);
  for (T& e : x) e = number(random);
  return x;
}
/// Puts in numbers that neighbours, in memory and in vectors, must not notice.
template <class T>
void add_special(std::vector<T>& a, std::vector<T>& b) {
  if (a.empty() || b.empty()) return;
  a.front() = std::numeric_limits<T>::infinity();
  a[a.size() / 2] = T(-0.0);
  a.back() = std::numeric_limits<T>::quiet_NaN();
  b[b.size() / 2] = -std::numeric_limits<T>::infinity();
  b.back() = T(-0.0);
}

/// (K,M)^T x (K,N), where rows of a lie `pitch` apart.
template <class T>
std::vector<T> chains(const T* a, std::size_t pitch, const T* b, std::size_t rows,
                      std::size_t columns, std::size_t depth) {
  std::vector<T> y(rows * columns);
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        T& sum = y[i * columns + j];
        sum = test::multiply_add(a[k * pitch + i], b[k * columns + j], sum);
      }
    }
  }
  return y;
}

// All numbers of columns, by the loops themselves.

#ifdef __AVX512F__
/// An epilogue that takes the sums from the results, which have their numbers before.
template <class T>
void subtract(const tf::KernelCall& call, std::int64_t matrix, const T* tiles, std::int64_t first,
              std::int64_t last, std::int64_t column, std::int64_t last_column) {
  constexpr std::int64_t pitch = tf::cpu_kernels::TileShape<T, tf::cpu_kernels::DefaultArch>::width;
  const std::int64_t columns = call.extents[1];
  for (std::int64_t i = first; i < last; ++i) {
    for (std::int64_t j = column; j < last_column; ++j) {
      T& y = call.operand<T>(2)[(matrix * call.extents[0] + i) * columns + j];
      y = static_cast<T>((i + 1) * columns + j) - tiles[(i - first) * pitch + j - column];
    }
    // Lanes without a column are zeros.
    T& y = call.operand<T>(2)[(matrix * call.extents[0] + i) * columns];
    for (std::int64_t j = last_column; j < column + pitch; ++j) {
      y += tiles[(i - first) * pitch + j - column];
    }
  }
}

template <class T, int Columns>
void check_loops() {
  using Loops = tf::cpu_kernels::FewColumns<T, tf::cpu_kernels::DefaultArch, Columns>;
  if constexpr (Loops::possible) {
    CAPTURE(Columns);
    std::mt19937 random(7);
    constexpr std::size_t columns = Columns;
    for (const std::size_t rows : {15u, 16u, 31u, 32u, 33u, 48u, 63u, 64u, 65u, 70u, 2100u}) {
      CAPTURE(rows);
      for (const std::size_t depth : {1u, 2u, 127u, 128u, 129u, 400u}) {
        CAPTURE(depth);
        if (rows > 100 && depth > 2 && depth != 129) continue;
        // Unaligned, in rows of a larger matrix.
        const std::size_t pitch = rows + 3;
        std::vector<T> a = drawn<T>(random, depth * pitch);
        std::vector<T> b = drawn<T>(random, depth * columns);
        add_special(a, b);
        std::vector<T> expected = chains(a.data() + 3, pitch, b.data(), rows, columns, depth);
        std::vector<T> y(rows * columns + 2, T(7));
        void* operands[] = {a.data() + 3, b.data(), y.data() + 1};
        const std::int64_t extents[] = {static_cast<std::int64_t>(rows), Columns,
                                        static_cast<std::int64_t>(depth)};
        const auto start = [](const std::int64_t*, std::int64_t) { return std::int64_t{0}; };
        tf::cpu_kernels::ProductKernel<T> kernel{.transposed_a = true,
                                                 .transposed_b = false,
                                                 .shared_b = true,
                                                 .strided_b = false,
                                                 .is_result = true,
                                                 .count = 1,
                                                 .pitch_a = static_cast<std::int64_t>(pitch),
                                                 .pitch_b = Columns,
                                                 .start_of_a = start,
                                                 .start_of_b = start,
                                                 .finish = &subtract<T>};
        const tf::KernelCall call{operands, extents, nullptr, nullptr, nullptr, {}};
        if (!Loops::fits(extents)) continue;
        expected.insert(expected.begin(), T(7));
        expected.push_back(T(7));
        Loops::run(call, kernel);
        CHECK(equal(y, expected));
        kernel.is_result = false;
        Loops::run(call, kernel);
        for (std::size_t i = 0; i < rows * columns; ++i) {
          expected[i + 1] = static_cast<T>(columns + i) - expected[i + 1];
        }
        CHECK(equal(y, expected));
      }
    }
    const std::int64_t none[] = {2100, Columns, 0};
    CHECK(!Loops::fits(none));
  }
}
template <class T>
void check_all_loops() {
  [&]<int... C>(std::integer_sequence<int, C...>) {
    (check_loops<T, C + 2>(), ...);
  }(std::make_integer_sequence<int, 14>{});
}
TEST_CASE("loops for few columns compute chains for 2 to 15 columns") {
  check_all_loops<float>();
  check_all_loops<double>();
  using tf::cpu_kernels::DefaultArch;
  static_assert(tf::cpu_kernels::FewColumns<float, DefaultArch, 15>::possible);
  static_assert(!tf::cpu_kernels::FewColumns<float, DefaultArch, 0>::possible);
  static_assert(tf::cpu_kernels::FewColumns<double, DefaultArch, 10>::possible);
  static_assert(!tf::cpu_kernels::FewColumns<double, DefaultArch, 8>::possible);
}
#endif

// The kernels that have the loops.

constexpr unsigned loops_of(unsigned transposed, tf::Extent columns) {
  using tf::DType;
  using tf::Type;
  const Type a(DType::float32,
               (transposed & 1u) != 0 ? tf::Dims{2, {100, 784}} : tf::Dims{2, {784, 100}});
  const Type b(DType::float32,
               (transposed & 2u) != 0 ? tf::Dims{2, {columns, 100}} : tf::Dims{2, {100, columns}});
  const Type y(DType::float32, tf::Dims{2, {784, columns}});
  const auto described = tf::ops::MatMul::describe(tf::ops::MatMul{{}, transposed}, a, b, y);
  return described.loops / tf::ops::MatMul::few_columns;
}
static_assert(loops_of(1, 10) == 10 && loops_of(1, 2) == 2 && loops_of(1, 15) == 15);
static_assert(loops_of(1, 16) == 0 && loops_of(1, tf::batch) == 0);
static_assert(loops_of(0, 1) == 1 && loops_of(1, 1) == 1);  // an epilogue of its own
static_assert(loops_of(0, 10) == 0 && loops_of(2, 10) == 0 && loops_of(3, 10) == 0);

constexpr tf::Extent rows_axis = tf::symbol<"width">;

template <class T>
constexpr void products(tf::Graph& g) {
  auto at = tf::placeholder<T, tf::batch, rows_axis>(g, "at");
  auto whole = tf::placeholder<T, tf::batch, 3, rows_axis>(g, "whole");
  auto b = tf::placeholder<T, tf::batch, 10>(g, "b");
  auto bias = tf::placeholder<T, 10>(g, "bias");
  auto before = tf::placeholder<T, rows_axis, 10>(g, "before");
  auto several = tf::placeholder<T, 3, tf::batch, rows_axis>(g, "several");
  tf::matmul<tf::transpose_a>(at, b).named("y");
  tf::matmul<tf::transpose_a>(slice<tf::whole, 1>(whole), b).named("strided");
  (before - abs(tf::matmul<tf::transpose_a>(at, b) + bias)).named("after");
  tf::matmul<tf::transpose_a>(several, b).named("batch");
  auto at_3 = slice<tf::whole, tf::range(7, 10)>(b);  // columns of a larger b
  tf::matmul<tf::transpose_a>(at, at_3).named("columns");
}

template <class T>
void check_sessions() {
  std::mt19937 random(11);
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    tf::Variables variables;
    tf::Session<products<T>> session(variables, {.threads = threads});
    for (const std::size_t rows : {1u, 16u, 31u, 32u, 45u, 64u, 79u, 1100u}) {
      CAPTURE(rows);
      for (const std::size_t depth : {0u, 1u, 100u, 301u}) {
        CAPTURE(depth);
        std::vector<T> at = drawn<T>(random, depth * rows);
        std::vector<T> b = drawn<T>(random, depth * 10);
        const std::vector<T> bias = drawn<T>(random, 10);
        const std::vector<T> before = drawn<T>(random, rows * 10);
        add_special(at, b);
        std::vector<T> whole = drawn<T>(random, 3 * depth * rows);
        std::vector<T> several = drawn<T>(random, 3 * depth * rows);
        std::vector<T> last(depth * 3);
        for (std::size_t k = 0; k < depth; ++k) {
          std::copy_n(at.data() + k * rows, rows, whole.data() + (k * 3 + 1) * rows);
          std::copy_n(b.data() + k * 10 + 7, 3, last.data() + k * 3);
        }
        std::copy(at.begin(), at.end(), several.begin() + static_cast<std::ptrdiff_t>(at.size()));
        const std::vector<T> y = chains(at.data(), rows, b.data(), rows, 10, depth);
        const std::vector<T> columns = chains(at.data(), rows, last.data(), rows, 3, depth);
        std::vector<T> after(y.size());
        for (std::size_t i = 0; i < y.size(); ++i) {
          after[i] = before[i] - std::abs(y[i] + bias[i % 10]);
        }
        std::vector<T> batch;
        for (std::size_t n = 0; n < 3; ++n) {
          const std::vector<T> part =
              chains(several.data() + n * at.size(), rows, b.data(), rows, 10, depth);
          batch.insert(batch.end(), part.begin(), part.end());
        }
        const auto [got, strided, got_after, got_batch, got_columns] =
            session.template run<"y", "strided", "after", "batch", "columns">(
                tf::feed<"at">(at), tf::feed<"whole">(whole), tf::feed<"b">(b),
                tf::feed<"bias">(bias), tf::feed<"before">(before), tf::feed<"several">(several));
        CHECK(equal(got, y));
        CHECK(equal(strided, y));
        CHECK(equal(got_after, after));
        CHECK(equal(got_batch, batch));
        CHECK(equal(got_columns, columns));
      }
    }
  }
}
TEST_CASE("products of float with few columns have equal bits for any number of threads") {
  check_sessions<float>();
}
TEST_CASE("products of double with few columns have equal bits for any number of threads") {
  check_sessions<double>();
}

// The gradient of w is x^T y. The update is the product's epilogue, in place.
constexpr void regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 70>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto w = tf::variable<float, 70, 10>(g, "w", tf::zeros());
  tf::GradientDescent{.rate = 0.5f}.minimize(sum(matmul(x, w) * y)).named("train");
}
TEST_CASE("an update after a product with few columns is made once for each element") {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> whole(-3, 3);
  for (const int threads : {1, 3}) {
    tf::Variables variables;
    tf::Session<regression> session(variables, {.threads = threads});
    std::vector<float> w(700);
    for (const std::size_t batch : {1u, 5u, 150u}) {
      std::vector<float> x(batch * 70);
      std::vector<float> y(batch * 10);
      for (float& e : x) e = static_cast<float>(whole(random));
      for (float& e : y) e = static_cast<float>(whole(random));
      const std::vector<float> gradient = chains(x.data(), 70, y.data(), 70, 10, batch);
      for (std::size_t i = 0; i < w.size(); ++i) w[i] -= 0.5f * gradient[i];  // exact
      session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
      CHECK(equal(session.run<"w">(), w));
    }
  }
}
}  // namespace
