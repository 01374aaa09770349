// SPDX-License-Identifier: Apache-2.0

// Sizes: products of extents that 63 bits can't hold, memory that there is not, buffers of another
// shape, buffers that overlap. Huge feeds are of empty rows, or of memory that no run reads.

#include <doctest/doctest.h>

#include <cstdint>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <typeflow/interpret/interpret.hpp>
#include <typeflow/typeflow.hpp>
#include <typeflow/xtensor.hpp>

#include <xtensor/xview.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The address sanitizer ends a program whose operator new finds no memory.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool ends_without_memory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool ends_without_memory = true;
#else
constexpr bool ends_without_memory = false;
#endif
#else
constexpr bool ends_without_memory = false;
#endif

constexpr std::int64_t two_to(int power) { return std::int64_t{1} << power; }
const float nothing = 0;

/// Rows of no elements, and how far the rows are from each other.
constexpr void distances(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 0>(g, "x");
  auto n = sum<1>(x);                                  // (batch)
  auto d = expand_dims<1>(n + 1) - expand_dims<0>(n);  // (batch,batch)
  cumsum<1>(d).named("sums");                          // has a kernel of its own
  mean(square(d)).named("mean");
}

/// As many products of two batches as nobody can count, none of which is kept.
constexpr void pairs(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 0>(g, "x");
  auto n = sum<1>(x) + 1;
  sum(expand_dims<1>(n) * expand_dims<0>(n)).named("sum");
}

constexpr void multiples(tf::Graph& g) {
  auto x = placeholder<float, 4 * tf::batch, 0>(g, "x");
  auto y = placeholder<float, tf::batch, 0>(g, "y");
  sum(x).named("x_sum");
  sum(y).named("y_sum");
}

}  // namespace

TEST_CASE("a product of extents that overflows 63 bits is an error that names the step") {
  tf::Variables variables;
  tf::Session<distances> session(variables);
  for (const int power : {31, 32, 40, 60}) {
    CAPTURE(power);
    const std::string message =
        message_of([&] { session.run<"sums">(tf::feed<"x">(&nothing, {two_to(power), 0})); });
    CHECK(contains(message, "test_sizes.cpp:"));
    CHECK(contains(message, "float [batch, batch] with batch = " + std::to_string(two_to(power))));
    CHECK(contains(message, "more bytes than 63 bits can count"));
    CHECK(contains(message_of([&] { session.arena_bytes(two_to(power)); }), "63 bits"));
  }
  const auto sums = session.run<"sums">(tf::feed<"x">(&nothing, {3, 0}));  // it runs on
  CHECK(sums(2, 0) == 1);
  CHECK(sums(2, 2) == 3);
}

TEST_CASE("a loop of more steps than 63 bits count is an error, even if it keeps nothing") {
  tf::Variables variables;
  tf::Session<pairs> session(variables);
  const std::string message =
      message_of([&] { session.run<"sum">(tf::feed<"x">(&nothing, {two_to(32), 0})); });
  CHECK(contains(message, "63 bits can count"));
  CHECK(contains(message, "batch = 4294967296"));
  CHECK(session.run<"sum">(tf::feed<"x">(&nothing, {5, 0})) == 25);
}

TEST_CASE("a multiple of the batch may overflow, too") {
  tf::Variables variables;
  tf::Session<multiples> session(variables);
  CHECK(
      contains(message_of([&] { session.run<"y_sum">(tf::feed<"y">(&nothing, {two_to(61), 0})); }),
               "float [4*batch, 0] with batch = 2305843009213693952 has more bytes"));
  CHECK(session.run<"y_sum">(tf::feed<"y">(&nothing, {two_to(20), 0})) == 0);
}

TEST_CASE("memory that there is not is an error with the bytes and the step") {
  tf::Variables variables;
  tf::Session<distances> session(variables);
  // 2^60 elements: they can be counted, but no machine has them.
  const std::string message =
      message_of([&] { session.run<"mean">(tf::feed<"x">(&nothing, {two_to(30), 0})); });
  CHECK(contains(message, "test_sizes.cpp:"));
  CHECK(contains(message, "the 4611686018427387904 bytes of float [1073741824, 1073741824] "));
  CHECK(contains(message, "batch = 1073741824"));
  // The session is as good as before.
  CHECK(session.run<"mean">(tf::feed<"x">(&nothing, {2, 0})) == 1);
  CHECK(session.run<"mean">(tf::feed<"x">(&nothing, {40, 0})) == 1);
}

namespace {
constexpr void wide_rows(tf::Graph& g) {
  sum(placeholder<float, tf::batch, 65536>(g, "x")).named("sum");
}
constexpr void huge_variable(tf::Graph& g) {
  (sum(variable<float, 1LL << 30, 1LL << 30>(g, "W", tf::zeros()))).named("y");
}
constexpr void uncountable_variable(tf::Graph& g) {
  (sum(variable<float, 1LL << 32, 1LL << 32>(g, "W", tf::zeros()))).named("y");
}
}  // namespace

TEST_CASE("results and variables that find no memory are errors with their bytes" *
          doctest::skip(ends_without_memory)) {
  tf::Variables variables;
  tf::Session<wide_rows> session(variables);
  CHECK(message_of([&] { session.run<"x">(tf::feed<"x">(&nothing, {two_to(44), 65536})); }) ==
        "fetch \"x\": no memory for the 4611686018427387904 bytes of float [batch, 65536]");
  CHECK(message_of([&] { tf::Session<huge_variable> s(variables); }) ==
        "variable 'W': no memory for the 4611686018427387904 bytes of float [1073741824, "
        "1073741824]");
  CHECK(message_of([&] { tf::Session<uncountable_variable> s(variables); }) ==
        "variable 'W': no memory for more bytes than 63 bits can count of float [4294967296, "
        "4294967296]");
  CHECK(variables.names().empty());
}

TEST_CASE("the interpreter says so as well" * doctest::skip(ends_without_memory)) {
  tf::Graph g;
  distances(g);
  const tf::HostTensor x{tf::DType::float32, {2, {two_to(30), 0}}, {}};
  CHECK(contains(message_of([&] { tf::interpret(g, {{"x", x}}); }), "no memory"));
  CHECK(contains(
      message_of([] { tf::host_tensor(tf::DType::float32, {2, {two_to(40), two_to(40)}}); }),
      "no memory"));
}

// Buffers.

namespace {
constexpr void chain(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 3>(g, "x");
  auto W = variable<float, 3, 3>(g, "W", tf::ones());
  auto h = matmul(x, W).named("h");        // (batch,3)
  auto y = (matmul(h, W) + x).named("y");  // (batch,3): reads x after h is written
  sum(y).named("sum");
  (x + 1).named("more");
}
const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
const std::vector<float> h_of_rows = {6, 6, 6, 15, 15, 15};
const std::vector<float> y_of_rows = {19, 20, 21, 49, 50, 51};
}  // namespace

TEST_CASE("a buffer with a shape must have the tensor's") {
  tf::Variables variables;
  tf::Session<chain> session(variables);
  xt::xtensor<float, 2> turned = xt::xtensor<float, 2>::from_shape({3, 2});
  CHECK(message_of([&] { session.run<>(tf::feed<"x">(rows), tf::into<"y">(turned)); }) ==
        "into \"y\": expected float [2, 3], got [3, 2]");
  xt::xtensor<float, 1> flat = xt::xtensor<float, 1>::from_shape({6});
  CHECK(message_of([&] { session.run<>(tf::feed<"x">(rows), tf::into<"y">(flat)); }) ==
        "into \"y\": expected float [2, 3], got [6]");
  xt::xtensor<float, 9> nine = xt::xtensor<float, 9>::from_shape({1, 1, 1, 1, 1, 1, 1, 2, 3});
  CHECK(message_of([&] { session.run<>(tf::feed<"x">(rows), tf::into<"y">(nine)); }) ==
        "into \"y\": expected float [2, 3], got [1, 1, 1, 1, 1, 1, 1, 2, ...]");
  xt::xtensor<float, 2> fits = xt::xtensor<float, 2>::from_shape({2, 3});
  session.run<>(tf::feed<"x">(rows), tf::into<"y">(fits));
  CHECK(std::vector<float>(fits.begin(), fits.end()) == y_of_rows);
}

TEST_CASE("a contiguous view is a buffer where it begins") {
  tf::Variables variables;
  tf::Session<chain> session(variables);
  xt::xtensor<float, 3> all = xt::zeros<float>({2, 2, 3});
  auto second = xt::view(all, 1, xt::all(), xt::all());
  session.run<>(tf::feed<"x">(rows), tf::into<"y">(second));
  CHECK(all(0, 0, 0) == 0);
  CHECK(all(1, 0, 0) == 19);
  CHECK(all(1, 1, 2) == 51);
}

TEST_CASE("a buffer may be what was fed, or overlap it") {
  tf::Variables variables;
  tf::Session<chain> session(variables);
  std::vector<float> both = rows;
  session.run<>(tf::feed<"x">(both), tf::into<"h">(both));  // x would be gone before y
  CHECK(both == h_of_rows);
  both = rows;
  session.run<>(tf::feed<"x">(both), tf::into<"y">(both));
  CHECK(both == y_of_rows);
  std::vector<float> longer(8);
  std::copy(rows.begin(), rows.end(), longer.begin());
  std::vector<float> y(6);
  session.run<>(tf::feed<"x">(std::span<const float>(longer.data(), 6)),
                tf::into<"h">(std::span<float>(longer.data() + 2, 6)), tf::into<"y">(y));
  CHECK(std::vector<float>(longer.begin(), longer.begin() + 2) == std::vector<float>{1, 2});
  CHECK(std::vector<float>(longer.begin() + 2, longer.end()) == h_of_rows);
  CHECK(y == y_of_rows);
  both = rows;  // what is copied when the run starts
  session.run<>(tf::feed<"x">(std::span<const float>(both.data(), 3)),
                tf::into<"x">(std::span<float>(both.data() + 1, 3)));
  CHECK(both == std::vector<float>{1, 1, 2, 3, 5, 6});
}

TEST_CASE("buffers that overlap each other or a variable are refused") {
  tf::Variables variables;
  tf::Session<chain> session(variables);
  std::vector<float> buffer(10, -1);
  const auto part = [&](std::ptrdiff_t at) { return std::span<float>(buffer.data() + at, 6); };
  for (const std::ptrdiff_t at : {0, 1, 4}) {
    CHECK(message_of([&] {
            session.run<>(tf::feed<"x">(rows), tf::into<"h">(part(at)), tf::into<"y">(part(0)));
          }) == "into \"y\": the buffer overlaps that of \"h\"");
    CHECK(message_of([&] {
            session.run<>(tf::feed<"x">(rows), tf::into<"h">(part(0)), tf::into<"y">(part(at)));
          }) == "into \"y\": the buffer overlaps that of \"h\"");
  }
  CHECK(buffer == std::vector<float>(10, -1.0f));
  const std::span<float> W = variables.get<float>("W");
  CHECK(message_of([&] {
          session.run<>(tf::feed<"x">(std::vector<float>{1, 2, 3}), tf::into<"h">(W.subspan(6)));
        }) == "into \"h\": the buffer overlaps the memory of variable \"W\"");
  CHECK(W[8] == 1);
  std::vector<float> side_by_side(12);  // which is no overlap
  session.run<>(tf::feed<"x">(rows), tf::into<"h">(std::span<float>(side_by_side).first(6)),
                tf::into<"y">(std::span<float>(side_by_side).last(6)));
  CHECK(std::vector<float>(side_by_side.begin() + 6, side_by_side.end()) == y_of_rows);
}
