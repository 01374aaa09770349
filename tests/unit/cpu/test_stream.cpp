// SPDX-License-Identifier: Apache-2.0

// Copies past the caches write what memcpy does, and nothing else.

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

constexpr int rows = 1001;

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
