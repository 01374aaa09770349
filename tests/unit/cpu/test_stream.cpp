// SPDX-License-Identifier: Apache-2.0

// Copies past the caches write what memcpy does, and nothing else. Elementwise kernels with large
// results write the same as with small ones.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

TEST_CASE("a streamed copy begins and ends anywhere") {
  std::vector<std::byte> from(4096);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  const std::byte untouched{255};
  for (const std::size_t bytes : {0u, 1u, 511u, 512u, 513u, 700u, 1024u, 2000u}) {
    for (std::size_t first = 0; first < 130; first += 13) {
      std::vector<std::byte> to(4096, untouched);
      tf::cpu_kernels::stream_copy(to.data() + first, from.data() + 3, bytes);
      tf::cpu_kernels::end_streams();
      int wrong = 0;
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= first && i < first + bytes;
        wrong += to[i] != (inside ? from[i - first + 3] : untouched);
      }
      CHECK(wrong == 0);
    }
  }
}

namespace {

constexpr int rows = 1301;

constexpr void large(tf::Graph& g) {
  const auto a = tf::placeholder<float, rows, 2003>(g, "a");
  const auto b = tf::placeholder<float, rows, 2205>(g, "b");
  concat<1>(a, b).named("both");
  pad<1, 2, 100, 1905>(b).named("padded");
}

/// Runs of whole lines.
constexpr int many = 90'000;
constexpr void lines(tf::Graph& g) {
  const auto a = tf::placeholder<float, many, 16>(g, "a");
  const auto b = tf::placeholder<float, many, 48>(g, "b");
  tf::concat<1>(a, b).named("both");
  tf::transpose<1, 0, 2>(tf::reshape<100, 900, 48>(b)).named("swapped");
}

}  // namespace

TEST_CASE("short runs of whole lines are streamed") {
  static_assert(many * 64 * sizeof(float) > tf::cpu_kernels::streamed_bytes);
  std::vector<float> a(many * 16);
  std::vector<float> b(many * 48);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 65521);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = -1 - static_cast<float>(i % 65519);
  tf::Variables variables;
  for (const int threads : {1, 3}) {
    tf::Session<lines> session(variables, {.threads = threads});
    const auto [both, swapped] = session.run<"both", "swapped">(tf::feed<"a">(a), tf::feed<"b">(b));
    int wrong = 0;
    for (std::size_t i = 0; i < both.size(); ++i) {
      const std::size_t row = i / 64;
      const std::size_t k = i % 64;
      wrong += both.data()[i] != (k < 16 ? a[row * 16 + k] : b[row * 48 + k - 16]);
    }
    for (std::size_t i = 0; i < swapped.size(); ++i) {
      const std::size_t row = i / 48 % 100 * 900 + i / 4800;
      wrong += swapped.data()[i] != b[row * 48 + i % 48];
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("concatenations and pads of many bytes are streamed") {
  static_assert(rows * (2003 + 2205) * sizeof(float) > tf::cpu_kernels::streamed_bytes);
  static_assert(tf::cpu_kernels::is_streamed_copy(rows * 2205 * 4, (rows + 3) * 4210 * 4));
  std::vector<float> a(rows * 2003);
  std::vector<float> b(rows * 2205);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 65521);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = -1 - static_cast<float>(i % 65519);
  tf::Variables variables;
  for (const int threads : {1, 3}) {
    tf::Session<large> session(variables, {.threads = threads});
    const auto [both, padded] = session.run<"both", "padded">(tf::feed<"a">(a), tf::feed<"b">(b));
    int wrong = 0;
    for (std::size_t i = 0; i < both.size(); ++i) {
      const std::size_t row = i / 4208;
      const std::size_t k = i % 4208;
      wrong += both.data()[i] != (k < 2003 ? a[row * 2003 + k] : b[row * 2205 + k - 2003]);
    }
    CHECK(wrong == 0);
    for (std::size_t i = 0; i < padded.size(); ++i) {
      const std::size_t row = i / 4210;
      const std::size_t k = i % 4210;
      const bool inside = row >= 1 && row < 1 + rows && k >= 100 && k < 100 + 2205;
      wrong += padded.data()[i] != (inside ? b[(row - 1) * 2205 + k - 100] : 0.0f);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("large results are streamed unless they are written in place or lie across lines") {
  alignas(64) static std::byte memory[4 * 64];
  const auto streams = [](std::size_t result, std::int64_t count, std::int64_t length, int size) {
    void* const operands[] = {memory, memory + 64, memory + result, memory + 192};
    tf::KernelCall call{};
    call.operands = operands;
    return tf::cpu_kernels::streams_results(call, 2, 2, count, length, {size, 3 * size});
  };
  constexpr std::int64_t bytes = tf::cpu_kernels::streamed_bytes;
  CHECK(streams(128, 1, bytes / 4, 4));
  CHECK(streams(128, 1, bytes / 4 + 1, 4));  // the end of one row may lie anywhere
  CHECK(streams(128, bytes / 64, 64, 1));
  void* const one_to_two[] = {memory, memory + 64};  // 2 bytes each to 4 bytes each
  tf::KernelCall call{};
  call.operands = one_to_two;
  CHECK_FALSE(tf::cpu_kernels::streams_results(call, 1, 1, 1, bytes / 4, {4, 6}));
  CHECK(tf::cpu_kernels::streams_results(call, 1, 1, 1, bytes / 2, {4, 6}));
  CHECK_FALSE(streams(128, 1, bytes / 4 - 1, 4));  // small
  CHECK_FALSE(streams(64, 1, bytes / 4, 4));       // in place of the second operand
  CHECK_FALSE(streams(132, 1, bytes / 4, 4));      // no line begins there
  CHECK_FALSE(streams(128, bytes / 64, 100, 1));   // nor at the second row
}

namespace {

constexpr int line_rows = 3701;    // of whole lines
constexpr int other_rows = 3007;   // of others
constexpr int floats = 3'200'003;  // a part of a register is left
constexpr int halves = 8'400'009;
constexpr int doubles = 2'100'001;
constexpr int bytes_of_all = 16'000'007;

constexpr void maps(tf::Graph& g) {
  const auto a = tf::placeholder<float, floats>(g, "a");
  const auto b = tf::placeholder<float, floats>(g, "b");
  (a * b).named("product");
  (a - b).named("difference");  // of the same kernel
  const auto h = tf::placeholder<tf::float16, halves>(g, "h");
  (h + h).named("doubled");
  const auto d = tf::placeholder<double, doubles>(g, "d");
  (d * 3).named("tripled");
  const auto c = tf::placeholder<std::uint8_t, bytes_of_all>(g, "c");
  (c + c).named("wrapped");
  less(tf::cast<float>(c), 100).named("below");  // a quarter of a register at a time
  const auto row = tf::placeholder<float, 1088>(g, "row");
  const auto m = tf::placeholder<float, line_rows, 1088>(g, "m");
  (m + row).named("lines");
  const auto n = tf::placeholder<float, other_rows, 1057>(g, "n");
  (n + tf::slice<tf::range(0, 1057)>(row)).named("others");
  auto v = tf::variable<float, floats>(g, "v", tf::filled(1.5));
  assign(v, v * 2 + a).named("in_place");
}

template <class T>
std::vector<T> counted(std::size_t count, int period) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(static_cast<float>(i % static_cast<std::size_t>(period)));
  }
  return x;
}
template <class Y, class F>
int differences(const Y& y, const F& expected) {
  int wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) wrong += y.data()[i] != expected(i) ? 1 : 0;
  return wrong;
}

}  // namespace

TEST_CASE("elementwise kernels with large results write each element") {
  const auto a = counted<float>(floats, 509);
  const auto b = counted<float>(floats, 127);
  const auto h = counted<tf::float16>(halves, 251);
  const auto d = counted<double>(doubles, 65521);
  const auto c = counted<std::uint8_t>(bytes_of_all, 241);
  const auto row = counted<float>(1088, 1087);
  const auto m = counted<float>(std::size_t{line_rows} * 1088, 4093);
  const auto n = counted<float>(std::size_t{other_rows} * 1057, 4093);
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    tf::Variables variables;
    tf::Session<maps> session(variables, {.threads = threads});
    const auto [product, difference, doubled, tripled] =
        session.run<"product", "difference", "doubled", "tripled">(
            tf::feed<"a">(a), tf::feed<"b">(b), tf::feed<"h">(h), tf::feed<"d">(d));
    CHECK(differences(product, [&](std::size_t i) { return a[i] * b[i]; }) == 0);
    CHECK(differences(difference, [&](std::size_t i) { return a[i] - b[i]; }) == 0);
    CHECK(differences(doubled, [&](std::size_t i) {
            return static_cast<tf::float16>(2 * static_cast<float>(h[i]));
          }) == 0);
    CHECK(differences(tripled, [&](std::size_t i) { return d[i] * 3; }) == 0);
    const auto [wrapped, below, lines, others] = session.run<"wrapped", "below", "lines", "others">(
        tf::feed<"c">(c), tf::feed<"row">(row), tf::feed<"m">(m), tf::feed<"n">(n));
    CHECK(differences(wrapped,
                      [&](std::size_t i) { return static_cast<std::uint8_t>(2 * c[i]); }) == 0);
    CHECK(differences(below, [&](std::size_t i) { return c[i] < 100; }) == 0);
    CHECK(differences(lines, [&](std::size_t i) { return m[i] + row[i % 1088]; }) == 0);
    CHECK(differences(others, [&](std::size_t i) { return n[i] + row[i % 1057]; }) == 0);
    session.run<"in_place">(tf::feed<"a">(a));
    const auto v = session.run<"v">();
    CHECK(differences(v, [&](std::size_t i) { return 3 + a[i]; }) == 0);
  }
}
