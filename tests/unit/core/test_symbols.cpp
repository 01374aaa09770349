// SPDX-License-Identifier: Apache-2.0

// Run-time extents besides the batch: the arithmetic of extents, what feeds tell, memory for what
// has been seen, and attention over (batch, time) beside programs of fixed shapes, bit for bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <typeflow/attention.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;
using tf::Extent;

constexpr auto time = tf::symbol<"time">;
constexpr auto width = tf::symbol<"width">;

// Extents.

static_assert(std::is_same_v<decltype(tf::symbol<"batch">), decltype(tf::batch)>);
static_assert(Extent{tf::batch} == -1 && Extent{3 * tf::batch} == -3);
static_assert(Extent{time} == -1000000000000001 &&
              Extent{2 * time * tf::batch} == -1100000000000002);
static_assert(Extent{0 * time} == 0 && Extent{tf::batch * 0} == 0);
static_assert(Extent{2 * tf::batch * time} == Extent{time * (2 * tf::batch)});

static_assert(tf::factor_of(6 * time) == 6 && tf::factor_of(6 * tf::batch) == 6);
static_assert(tf::factor_of(6) == 6 && tf::signed_factor(6) == 6);
static_assert(tf::signed_factor(6 * time) == -6 && tf::signed_factor(6 * tf::batch) == -6);
static_assert(tf::with_factor(6 * time, 2) == Extent{2 * time});
static_assert(tf::with_factor(6 * time, 0) == 0 && tf::with_factor(6, 2) == 2);
static_assert(tf::times(3 * time, 4) == Extent{12 * time});
static_assert(tf::sum_of(time, 2 * time) == Extent{3 * time} && tf::sum_of(2, 3) == 5);
static_assert(tf::sum_of(0, time) == Extent{time} && tf::sum_of(time, 0) == Extent{time});
static_assert(tf::sum_of(time, tf::batch) == tf::no_extent);
static_assert(tf::sum_of(time, 1) == tf::no_extent);
static_assert(tf::sum_of(time, time* tf::batch) == tf::no_extent);

constexpr tf::SymbolSizes sizes_of(std::int64_t batch, std::int64_t times, std::int64_t columns) {
  tf::SymbolSizes sizes(batch);
  sizes[time] = times;
  sizes[width] = columns;
  return sizes;
}
static_assert(tf::resolve(2 * tf::batch * time, sizes_of(3, 5, 7)) == 30);
static_assert(tf::resolve(width * time, sizes_of(3, 5, 7)) == 35);
static_assert(tf::count_of(tf::Dims{3, {tf::batch, time, 4 * time}}).resolve(sizes_of(3, 5, 7)) ==
              300);
static_assert(tf::extent_of(tf::count_of(tf::Dims{2, {tf::batch, 4 * time}})) ==
              Extent{4 * tf::batch * time});
static_assert(tf::extent_of(tf::count_of(tf::Dims{2, {time, time}})) == tf::no_extent);

// What can't be said of extents does not compile.
template <class A, class B>
concept multiplies = requires(A a, B b) { a* b; };
template <class A, class B>
concept adds = requires(A a, B b) { a + b; };
static_assert(multiplies<decltype(time), decltype(tf::batch)>);
static_assert(!multiplies<decltype(time), decltype(time)>);
static_assert(!multiplies<decltype(time * tf::batch), decltype(tf::batch)>);
static_assert(!adds<decltype(time), int> && !adds<decltype(time), decltype(tf::batch)>);

TEST_CASE("messages name the symbols") {
  tf::Message text{};
  text << tf::Dims{5, {tf::batch, 3 * time, 2 * tf::batch * time, time * width, 64}};
  CHECK(text.view() == "[batch, 3*time, 2*batch*time, time*width, 64]");
}

TEST_CASE("what counts tell of symbols") {
  using Found = tf::KnownSymbols::Found;
  tf::KnownSymbols known;
  const auto take = [&](tf::Dims dims, std::int64_t given) {
    return known.take(tf::count_of(dims), given);
  };
  CHECK(take({2, {tf::batch, time}}, 12) == Found::open);
  CHECK(take({2, {3, time}}, 13) == Found::wrong);
  CHECK(take({2, {3 * tf::batch, time}}, 13) == Found::wrong);
  {
    tf::KnownSymbols ones;
    CHECK(ones.take(tf::count_of(tf::Dims{2, {3 * tf::batch, time}}), 3) == Found::solved);
    CHECK(ones[0] == 1);
    CHECK(ones[1] == 1);
    CHECK_FALSE(ones.knows(2));
  }
  CHECK(take({2, {time, 2 * time}}, 17) == Found::wrong);  // no square
  CHECK(take({2, {time, 2 * time}}, 18) == Found::solved);
  CHECK(known[1] == 3);
  CHECK(take({2, {tf::batch, time}}, 12) == Found::solved);
  CHECK(known[0] == 4);
  CHECK(take({2, {tf::batch, time}}, 15) == Found::wrong);
  CHECK(take({2, {tf::batch, time}}, 12) == Found::fits);
  CHECK(take({2, {0, width}}, 0) == Found::open);
  CHECK(take({2, {0, width}}, 1) == Found::wrong);
  CHECK(take({1, {width}}, 0) == Found::solved);
  CHECK(known[3] == 0);
  CHECK_FALSE(known.knows(2));
  CHECK(known.knows_all(1011));
  CHECK_FALSE(known.knows_all(100));
  for (std::int64_t n : {0L, 1L, 2L, 1290L, 2097151L}) {  // of 63 bits
    tf::KnownSymbols cube;
    CHECK(cube.take(tf::count_of(tf::Dims{3, {time, time, time}}), n * n * n) == Found::solved);
    CHECK(cube[1] == n);
  }
}

}  // namespace

// Feeds.

namespace {

constexpr void feeds(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, time, 2>(g, "x");
  auto lengths = tf::placeholder<std::int32_t, tf::batch>(g, "lengths");
  auto flat = tf::placeholder<float, tf::batch * time>(g, "flat");
  auto rows = reshape<tf::batch * time, 2>(x);
  mean(x).named("mean");
  sum<1>(x).named("sums");
  (sum<1>(rows) + flat).named("rows");
  (cast<float>(lengths) * 2.0f).named("twice");
  size(x).named("size");
}

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 16;
  }
  return x;
}

}  // namespace

TEST_CASE("feeds with shapes tell what symbols are, and flat ones what is left") {
  tf::Variables variables;
  tf::Session<feeds> session(variables);
  const std::vector<float> x = numbers(3 * 5 * 2);
  const std::vector<float> flat = numbers(15);
  const std::vector<std::int32_t> lengths{1, 2, 3};
  const auto check = [&](const auto& rows) {
    REQUIRE(rows.size() == 15);
    for (std::size_t i = 0; i < 15; ++i) CHECK(rows(i) == x[2 * i] + x[2 * i + 1] + flat[i]);
  };
  check(session.run<"rows">(tf::feed<"x">(x.data(), {3, 5, 2}), tf::feed<"flat">(flat)));
  // `lengths` tells the batch; then 30 elements of x tell the time, in any order of the feeds.
  check(
      session.run<"rows">(tf::feed<"x">(x), tf::feed<"flat">(flat), tf::feed<"lengths">(lengths)));
  check(
      session.run<"rows">(tf::feed<"lengths">(lengths), tf::feed<"flat">(flat), tf::feed<"x">(x)));
  CHECK(session.run<"size">(tf::feed<"x">(x.data(), {3, 5, 2})) == 30);
  float total = 0;
  for (const float e : x) total += e;
  CHECK(std::abs(session.run<"mean">(tf::feed<"x">(x.data(), {3, 5, 2})) - total / 30) < 1e-5f);
  // Without elements in one of them, too.
  const auto none = session.run<"sums">(tf::feed<"x">(x.data(), {3, 0, 2}));
  REQUIRE(none.shape(0) == 3);
  for (std::size_t i = 0; i < 6; ++i) CHECK(none.data()[i] == 0);
}

TEST_CASE("feeds that disagree on a symbol, or leave it open, are errors that name it") {
  tf::Variables variables;
  tf::Session<feeds> session(variables);
  const std::vector<float> x = numbers(30);
  const std::vector<float> flat = numbers(15);
  CHECK(
      message_of([&] {
        session.run<"rows">(tf::feed<"x">(x.data(), {3, 5, 2}), tf::feed<"flat">(numbers(16)));
      }) ==
      "feed \"flat\": expected float [batch*time] with batch = 3, as feed \"x\" has, time = 5, as "
      "feed \"x\" has, got float, 16 elements");
  CHECK(message_of([&] {
          session.run<"rows", "twice">(tf::feed<"x">(x.data(), {3, 5, 2}), tf::feed<"flat">(flat),
                                       tf::feed<"lengths">(std::vector<std::int32_t>(2)));
        }) ==
        "feed \"lengths\": expected int32 [batch] with batch = 3, as feed \"x\" has, got int32, "
        "2 elements");
  CHECK(message_of([&] { session.run<"rows">(tf::feed<"x">(x), tf::feed<"flat">(flat)); }) ==
        "feed \"x\": expected float [batch, time, 2] with a shape, or after another feed, that "
        "says what each symbol is, got float, 30 elements");
  CHECK(message_of([&] { session.run<"mean">(tf::feed<"x">(x.data(), {3, 5, 3})); }) ==
        "feed \"x\": expected float [batch, time, 2], got float [3, 5, 3]");
}

TEST_CASE("results have the shapes that the feeds tell") {
  tf::Variables variables;
  tf::Session<feeds> session(variables);
  const std::vector<float> x = numbers(24);
  std::vector<float> sums(4 * 2);
  session.run(tf::feed<"x">(x.data(), {4, 3, 2}), tf::into<"sums">(sums));
  for (std::size_t b = 0; b < 4; ++b) {
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(sums[2 * b + k] == x[6 * b + k] + x[6 * b + 2 + k] + x[6 * b + 4 + k]);
    }
  }
  std::vector<float> short_of_one(7);
  CHECK(message_of([&] {
          session.run(tf::feed<"x">(x.data(), {4, 3, 2}), tf::into<"sums">(short_of_one));
        }).starts_with("into \"sums\": expected 8 elements"));
}

// Memory.

namespace {

/// A product whose panels, and a sum over rows whose parts, need a workspace.
constexpr void workspaces(tf::Graph& g) {
  auto a = tf::placeholder<float, tf::batch, 40>(g, "a");
  auto b = tf::placeholder<float, 40, time>(g, "b");
  auto c = tf::placeholder<float, time, tf::batch>(g, "c");
  auto y = matmul(a, b);
  auto z = matmul(c, a);
  (sum<1>(y) * 0.5f).named("y");
  (sum<0>(z) + sum(y)).named("z");
}

}  // namespace

TEST_CASE("one symbol grows while another shrinks, and memory is for the largest of each") {
  tf::Variables variables;
  tf::Session<workspaces> session(variables);
  for (const auto& [batch, times] :
       std::vector<std::pair<int, int>>{{90, 1}, {1, 130}, {90, 2}, {3, 130}, {90, 130}, {0, 7}}) {
    INFO("batch ", batch, ", time ", times);
    tf::Variables own_variables;
    tf::Session<workspaces> own(own_variables);  // that has seen nothing else
    const std::vector<float> a = numbers(batch * 40);
    const std::vector<float> b = numbers(40 * times);
    const std::vector<float> c = numbers(times * batch);
    const auto run = [&](auto& s) {
      return s.template run<"y", "z">(tf::feed<"a">(a.data(), {batch, 40}),
                                      tf::feed<"b">(b.data(), {40, times}),
                                      tf::feed<"c">(c.data(), {times, batch}));
    };
    const auto [y, z] = run(session);
    const auto [own_y, own_z] = run(own);
    REQUIRE(y.size() == own_y.size());
    CHECK(std::memcmp(y.data(), own_y.data(), y.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(z.data(), own_z.data(), z.size() * sizeof(float)) == 0);
    for (int i = 0; i < batch; i += 13) {
      double sum = 0;
      for (int k = 0; k < 40; ++k) {
        for (int j = 0; j < times; ++j) {
          sum += double{a[static_cast<std::size_t>(40 * i + k)]} *
                 double{b[static_cast<std::size_t>(times * k + j)]};
        }
      }
      CHECK(std::abs(y(static_cast<std::size_t>(i)) - sum / 2) < 1e-2);
    }
  }
  CHECK(session.arena_bytes(sizes_of(90, 130, 1)) > session.arena_bytes(sizes_of(90, 1, 1)));
  CHECK(session.arena_bytes(sizes_of(90, 1, 1)) == session.arena_bytes(90));
}

TEST_CASE("what is too large is said with its symbols") {
  tf::Variables variables;
  tf::Session<workspaces> session(variables);
  const std::string message = message_of(
      [&] { session.arena_bytes(sizes_of(std::int64_t{1} << 40, std::int64_t{1} << 40, 1)); });
  CHECK(
      message.find("float [batch, time] with batch = 1099511627776, time = 1099511627776 has more "
                   "bytes than 63 bits can count") != std::string::npos);
}

// Operations along an axis of another symbol.

namespace {

constexpr void parts(tf::Graph& g) {
  auto x = tf::placeholder<float, 4 * time, tf::batch>(g, "x");
  const auto halves = tf::split<2, 0>(x);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(halves[0])>::shape,
                               tf::Shape<2 * time, tf::batch>>);
  concat<0>(halves[1], halves[0]).named("swapped");
  auto thirds = tf::split_sizes<0, time, 3 * time>(x);
  (sum<0>(std::get<1>(thirds)) * 2.0f).named("last_three");
  pad<time, 0, 0, 0>(x).named("padded");
  // One row of the second half: no part of x that is known while compiling.
  select<0>(halves[1], 0).named("row");
  auto tiled = tile<2, 1>(x);
  static_assert(std::is_same_v<decltype(tiled)::shape, tf::Shape<8 * time, tf::batch>>);
  tiled.named("tiled");
  gradients(sum(square(halves[1]) * halves[0]), x).named("gradient");
}

}  // namespace

TEST_CASE("axes of any symbol are taken apart and put together") {
  tf::Variables variables;
  tf::Session<parts> session(variables);
  for (const int times : {1, 3}) {
    const int batch = 5;
    const std::vector<float> x = numbers(4 * times * batch);
    const auto feed = tf::feed<"x">(x.data(), {4 * times, batch});
    const auto [swapped, last_three, padded, row, tiled, gradient] =
        session.run<"swapped", "last_three", "padded", "row", "tiled", "gradient">(feed);
    const auto at = [&](int i, int j) { return x[static_cast<std::size_t>(i * batch + j)]; };
    const auto of = [](const auto& y, int i, int j) {
      return y(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    };
    for (int j = 0; j < batch; ++j) {
      float sum = 0;
      for (int i = times; i < 4 * times; ++i) sum += at(i, j);
      CHECK(std::abs(last_three(static_cast<std::size_t>(j)) - 2 * sum) < 1e-5f);
      CHECK(row(static_cast<std::size_t>(j)) == at(2 * times, j));
      for (int i = 0; i < 4 * times; ++i) {
        CHECK(of(swapped, i, j) == at((i + 2 * times) % (4 * times), j));
        CHECK(of(padded, times + i, j) == at(i, j));
        CHECK(of(tiled, 4 * times + i, j) == at(i, j));
        const bool first = i < 2 * times;
        const float other = at(first ? i + 2 * times : i - 2 * times, j);
        CHECK(of(gradient, i, j) ==
              doctest::Approx(first ? other * other : 2 * at(i, j) * other).epsilon(1e-6));
      }
    }
    for (int i = 0; i < times; ++i) CHECK(of(padded, i, 0) == 0);
  }
}

// Attention.

namespace {

constexpr int channels = 64;

/// A block of attention over (B, T, 64), flattened to (BT, 64) for its products with weights, with
/// a loss over all places and gradients.
template <Extent B, Extent T, Extent BT>
constexpr void attention(tf::Graph& g) {
  auto x = tf::placeholder<float, B, T, channels>(g, "x");
  auto target = tf::placeholder<float, B, T, channels>(g, "target");
  auto flat = tf::reshape<BT, channels>(x);
  const auto part = [&](tf::Label name) {
    auto w = tf::variable<float, channels, channels>(g, name);
    return std::pair{w, tf::reshape<B, T, channels>(matmul(flat, w))};
  };
  const auto [wq, q] = part("wq");
  const auto [wk, k] = part("wk");
  const auto [wv, v] = part("wv");
  auto weights = softmax(matmul(q, transpose<0, 2, 1>(k)) * 0.125f).named("weights");  // (B,T,T)
  auto y = (x + matmul(weights, v)).named("y");
  auto norm = (y - mean<2>(y, tf::keep_dims)) *
              rsqrt(mean<2>(square(y - mean<2>(y, tf::keep_dims)), tf::keep_dims) + 1e-5f);
  norm.named("norm");
  auto loss = mean(square(norm - target)).named("loss");
  gradients(loss, wq).named("dwq");
  gradients(loss, wk).named("dwk");
  gradients(loss, wv).named("dwv");
  gradients(loss, x).named("dx");
}
constexpr auto of_any_length = &attention<tf::batch, time, tf::batch * time>;

template <class R>
bool equal_bits(const R& a, const R& b) {
  if constexpr (requires { a.data(); }) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0;
  } else {
    return std::memcmp(&a, &b, sizeof(R)) == 0;
  }
}

template <auto Model>
auto run_attention(tf::Session<Model>& session, int batch, int times) {
  const std::vector<float> x = numbers(batch * times * channels);
  std::vector<float> target = x;
  std::reverse(target.begin(), target.end());
  return session.template run<"weights", "y", "norm", "loss", "dwq", "dwk", "dwv", "dx">(
      tf::feed<"x">(x.data(), {batch, times, channels}),
      tf::feed<"target">(target.data(), {batch, times, channels}));
}

/// The program of fixed shapes with the same weights: the same bits.
template <int Batch, int Time>
void check_fixed(tf::Session<of_any_length>& session, const tf::SessionOptions& options) {
  INFO("batch ", Batch, ", time ", Time);
  tf::Variables variables;
  tf::Session<&attention<Batch, Time, Batch * Time>> fixed(variables, options);
  const auto any = run_attention(session, Batch, Time);
  const auto own = run_attention(fixed, Batch, Time);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const bool equal[] = {equal_bits(std::get<I>(any), std::get<I>(own))...};
    for (const bool one : equal) CHECK(one);
  }(std::make_index_sequence<std::tuple_size_v<decltype(any)>>());
  CHECK(std::isfinite(std::get<3>(any)));
  CHECK(std::get<3>(any) > 0);
}

}  // namespace

TEST_CASE("attention over (batch, time) equals the programs of fixed shapes bit for bit") {
  tf::Variables variables;
  const tf::SessionOptions options{.seed = 7, .threads = 2};
  tf::Session<of_any_length> session(variables, options);
  check_fixed<2, 5>(session, options);
  check_fixed<3, 5>(session, options);
  check_fixed<2, 16>(session, options);
  check_fixed<3, 16>(session, options);
  check_fixed<2, 33>(session, options);
  check_fixed<3, 33>(session, options);
  check_fixed<2, 5>(session, options);  // and again, after longer ones
}
