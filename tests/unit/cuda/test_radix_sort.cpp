// SPDX-License-Identifier: Apache-2.0

// Sorts of rows that take one tile of a block or several, and selections of their first elements,
// against std::sort.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include <typeflow/cuda/indexing.hpp>

namespace {

namespace tf = typeflow;

template <class T, int Rows>
constexpr void orders(tf::Graph& g) {
  auto x = tf::placeholder<T, Rows, tf::batch>(g, "x");
  tf::argsort<-1>(x).named("up");
  tf::argsort<-1>(x, {.descending = true}).named("down");
  tf::sort<-1>(x, {.descending = true}).named("values");
  const auto none = tf::top_k<0>(x);
  none.values.named("best0");
  none.indices.named("places0");
  const auto one = tf::top_k<1>(x);
  one.values.named("best1");
  one.indices.named("places1");
  const auto few = tf::top_k<64>(x);
  few.values.named("best64");
  few.indices.named("places64");
  const auto some = tf::top_k<1100>(x);
  some.values.named("best1100");
  some.indices.named("places1100");
  const auto many = tf::top_k<4100>(x);
  many.values.named("best4100");
  many.indices.named("places4100");
}
/// Sums at indices, of which many are equal and some are skipped, in rows.
constexpr void sums(tf::Graph& g) {
  auto index = tf::placeholder<std::int32_t, 2, tf::batch>(g, "index");
  auto values = tf::placeholder<float, 2, tf::batch>(g, "values");
  auto x = tf::placeholder<float, 2, 700>(g, "x");
  auto chosen = tf::gather<tf::GatherOptions{.batch_dims = 1}>(x, index);
  tf::gradients(sum(chosen * values), x).named("dx");
  tf::unsorted_segment_sum<70000>(reshape<2 * tf::batch>(values), reshape<2 * tf::batch>(index))
      .named("segments");
}
constexpr void shuffles(tf::Graph& g) {
  shuffle(tf::placeholder<float, tf::batch>(g, "x"), "shuffled");
}

/// An element as a number that std::isnan and the operators take.
template <class T>
auto number(T x) {
  if constexpr (tf::detail::is_half<T>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}
template <class T>
bool is_nan(T x) {
  return number(x) != number(x);
}
template <class T>
bool is_less(T a, T b) {
  if (is_nan(a) || is_nan(b)) return !is_nan(a) && is_nan(b);
  return number(a) < number(b);
}

/// Whether element a of a row comes before b. Equal ones keep their order.
template <class T>
bool comes_before(const T* row, std::int32_t a, std::int32_t b, bool descending) {
  if (is_less(row[a], row[b])) return !descending;
  if (is_less(row[b], row[a])) return descending;
  return a < b;
}

/// Elements of all kinds: many equal ones, extremes, and all bits at random.
template <class T>
std::vector<T> elements(std::int64_t count, bool few) {
  test::Random random(7);
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto choice = random.below(few ? 3 : 8);
    if constexpr (tf::detail::is_half<T> || std::is_floating_point_v<T>) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      const double special[] = {0.0, -0.0, nan, -nan, infinity, -infinity};
      const double x = choice < 2 ? special[random.below(6)]
                                  : std::ldexp(static_cast<double>(random.below(1000)) - 500,
                                               static_cast<int>(random.below(20)) - 10);
      out.push_back(static_cast<T>(few ? special[random.below(6)] : x));
    } else if constexpr (std::is_same_v<T, bool>) {
      out.push_back(choice % 2 != 0);
    } else {
      const auto any =
          static_cast<T>(static_cast<std::uint64_t>(random.below(1 << 30)) * 0x9E3779B97F4A7C15ull);
      const T special[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}};
      out.push_back(choice < 2 || few ? special[random.below(3)] : any);
    }
  }
  return out;
}

/// The number of wrong elements and positions among the first K of each row, whose positions in
/// order are given.
template <std::int64_t K, tf::Text Best, tf::Text Places, class Session, class T>
int wrong_among_first(Session& session, const std::vector<T>& x,
                      const std::vector<std::int32_t>& order, std::int64_t length) {
  if (length < K) return 0;
  const auto [best, places] = session.template run<Best, Places>(tf::feed<"x">(x));
  const std::int64_t rows = length == 0 ? 0 : static_cast<std::int64_t>(x.size()) / length;
  int wrong = static_cast<std::int64_t>(best.size()) != (length == 0 ? 0 : rows * K);
  for (std::int64_t row = 0; row < rows && wrong == 0; ++row) {
    for (std::int64_t i = 0; i < K; ++i) {
      const std::int32_t expected = order[static_cast<std::size_t>(row * length + i)];
      wrong += places.data()[row * K + i] != expected;
      wrong += std::memcmp(best.data() + row * K + i, x.data() + row * length + expected,
                           sizeof(T)) != 0;
    }
  }
  return wrong;
}

template <class T, int Rows>
void check_orders(const std::vector<std::int64_t>& lengths) {
  INFO(tf::name_of(tf::dtype_of<T>));
  tf::Variables variables;
  tf::Session<orders<T, Rows>, tf::inference, test::CudaTargetOnHost> session(variables);
  for (const std::int64_t length : lengths) {
    for (const bool few : {false, true}) {
      CAPTURE(length);
      CAPTURE(few);
      const std::vector<T> x = elements<T>(Rows * length, few);
      const auto [up, down, values] =
          session.template run<"up", "down", "values">(tf::feed<"x">(x));
      int wrong = 0;
      std::vector<std::int32_t> orders_down;
      for (int row = 0; row < Rows; ++row) {
        const T* const of_row = x.data() + row * length;
        std::vector<std::int32_t> order(static_cast<std::size_t>(length));
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
          return comes_before(of_row, a, b, false);
        });
        const std::int32_t* got = up.data() + row * length;
        for (const std::int32_t expected : order) wrong += *got++ != expected;
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](std::int32_t a, std::int32_t b) { return comes_before(of_row, a, b, true); });
        got = down.data() + row * length;
        const T* value = values.data() + row * length;
        for (const std::int32_t expected : order) {
          wrong += *got++ != expected;
          wrong += std::memcmp(value++, of_row + expected, sizeof(T)) != 0;
        }
        orders_down.insert(orders_down.end(), order.begin(), order.end());
      }
      CHECK(wrong == 0);
      CHECK(wrong_among_first<0, "best0", "places0">(session, x, orders_down, length) == 0);
      CHECK(wrong_among_first<1, "best1", "places1">(session, x, orders_down, length) == 0);
      CHECK(wrong_among_first<64, "best64", "places64">(session, x, orders_down, length) == 0);
      CHECK(wrong_among_first<1100, "best1100", "places1100">(session, x, orders_down, length) ==
            0);
      CHECK(wrong_among_first<4100, "best4100", "places4100">(session, x, orders_down, length) ==
            0);
    }
  }
}

/// Few of the elements of rows: most of a row is left out after a look at the minima of its parts.
template <class T, int Rows>
constexpr void few_chosen(tf::Graph& g) {
  auto x = tf::placeholder<T, Rows, tf::batch>(g, "x");
  const auto one = tf::top_k<1>(x);
  one.values.named("best1");
  one.indices.named("places1");
  const auto some = tf::top_k<4>(x);
  some.values.named("best4");
  some.indices.named("places4");
  const auto more = tf::top_k<9>(x);
  more.values.named("best9");
  more.indices.named("places9");
}
/// Rows of which each has another order: any, descending, ascending, all elements alike, all but
/// the last ones, few elements.
template <class T, int Rows>
void check_few_chosen(std::int64_t length) {
  INFO(tf::name_of(tf::dtype_of<T>));
  CAPTURE(length);
  tf::Variables variables;
  tf::Session<few_chosen<T, Rows>, tf::inference, test::CudaTargetOnHost> session(variables);
  std::vector<T> x = elements<T>(Rows * length, false);
  const std::vector<T> few = elements<T>(Rows * length, true);
  std::vector<std::int32_t> orders;
  for (int row = 0; row < Rows; ++row) {
    T* const begin = x.data() + row * length;
    T* const end = begin + length;
    const auto kind = row % 6;
    if (kind == 1) std::sort(begin, end, [](T a, T b) { return is_less(b, a); });
    if (kind == 2) std::sort(begin, end, [](T a, T b) { return is_less(a, b); });
    if (kind == 3) std::fill(begin, end, static_cast<T>(row % 5));
    if (kind == 4) std::fill(begin, end - 3, static_cast<T>(1));
    if (kind == 5) std::copy_n(few.data() + row * length, length, begin);
    std::vector<std::int32_t> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return comes_before(begin, a, b, true); });
    orders.insert(orders.end(), order.begin(), order.end());
  }
  CHECK(wrong_among_first<1, "best1", "places1">(session, x, orders, length) == 0);
  CHECK(wrong_among_first<4, "best4", "places4">(session, x, orders, length) == 0);
  CHECK(wrong_among_first<9, "best9", "places9">(session, x, orders, length) == 0);
}

template <auto Model, class Target>
using SessionOn = tf::Session<Model, tf::inference, Target>;

}  // namespace

TEST_CASE("a GPU sorts long rows of all types by their digits, and selects their first elements") {
  check_orders<std::uint8_t, 2>({4100});
  check_orders<std::int16_t, 2>({300});
  check_orders<tf::float16, 2>({300, 4100});
  check_orders<tf::bfloat16, 1>({4097});
  check_orders<std::uint32_t, 1>({600});
  check_orders<std::int64_t, 2>({2100});
  check_orders<std::uint64_t, 1>({300});
  check_orders<double, 2>({257});
}
TEST_CASE("a GPU sorts rows of more types with several tiles (long)") {
  check_orders<std::uint8_t, 2>({300, 5000});
  check_orders<std::int16_t, 2>({5000});
  check_orders<tf::float16, 2>({5000});
  check_orders<std::uint32_t, 1>({8192});
  check_orders<std::int64_t, 2>({300, 3000});
  check_orders<std::uint64_t, 1>({2048, 2049});
  check_orders<double, 2>({2500});
}
TEST_CASE("a GPU sorts rows of any length") {
  check_orders<float, 1>({0, 1, 2, 255, 256, 257, 512, 1000, 1025, 2049, 4096, 4097});
  check_orders<float, 3>({100, 1000});
}
TEST_CASE("a GPU sorts rows of more lengths (long)") {
  check_orders<float, 1>({511, 513, 1024, 2048, 4095, 8191, 8192, 8193});
  check_orders<float, 3>({5000});
}
TEST_CASE("a GPU selects the first elements of many rows, and of rows that blocks divide") {
  CHECK(tf::cuda_kernels::SelectShape(255, 8193, 64, 32).tiles == 3);
  CHECK(tf::cuda_kernels::SelectShape(256, 8193, 64, 32).tiles == 1);
  check_orders<std::int16_t, 260>({257});
  check_orders<std::int8_t, 1>({9001});
}
TEST_CASE("a GPU selects the first elements of longer rows that blocks divide (long)") {
  check_orders<double, 2>({9000});
  check_orders<tf::bfloat16, 3>({16401});
}
TEST_CASE("a GPU leaves out parts of rows that have no chosen elements") {
  using tf::cuda_kernels::SelectShape;
  CHECK(SelectShape(6, 2100, 4, 32).parts == 9);
  CHECK(SelectShape(6, 2100, 9, 32).parts == 0);
  CHECK(SelectShape(256, 65536, 64, 32).parts == 256);
  CHECK(SelectShape(256, (1 << 18) + 1, 64, 32).part_bits == 9);
  CHECK(SelectShape(1, 1 << 24, 64, 32).has_minima());
  check_few_chosen<float, 6>(2100);
  check_few_chosen<std::int8_t, 6>(2049);
  check_few_chosen<tf::bfloat16, 6>(5000);
  check_few_chosen<std::int64_t, 7>(1900);
  check_few_chosen<float, 6>(9 * 4096 + 1);
  check_few_chosen<std::uint16_t, 6>(20 * 4096 - 5);
}
TEST_CASE("a GPU leaves out parts of longer rows (long)") {
  check_few_chosen<double, 6>(33 * 4096);
  check_few_chosen<float, 258>(8200);
}
TEST_CASE("a GPU sorts many rows, and rows of more tiles than a warp's lanes") {
  check_orders<std::int8_t, 5000>({1});
  check_orders<std::int8_t, 30>({300});
  check_orders<std::uint8_t, 1>({33 * 4096 + 7});
}
TEST_CASE("a GPU adds up long rows of indices with the processor's bits") {
  tf::Variables variables;
  SessionOn<sums, tf::CpuTarget<>> near(variables);
  SessionOn<sums, test::CudaTargetOnHost> far(variables);
  for (const std::size_t length : {1u, 700u, 1024u, 1025u, 5000u}) {
    CAPTURE(length);
    test::Random random(3);
    std::vector<std::int32_t> index;
    std::vector<float> values;
    for (std::size_t i = 0; i < 2 * length; ++i) {
      index.push_back(static_cast<std::int32_t>(random.below(700)));
      values.push_back(static_cast<float>(random.below(1000)) * 0.37f);
    }
    const std::vector<float> x(1400, 1.0f);
    const auto results = [&](auto& session) {
      return session.template run<"dx", "segments">(tf::feed<"index">(index),
                                                    tf::feed<"values">(values), tf::feed<"x">(x));
    };
    const auto [dx, segments] = results(near);
    const auto [got_dx, got_segments] = results(far);
    CHECK(got_dx == dx);
    CHECK(got_segments == segments);
  }
}
TEST_CASE("a GPU shuffles long rows as the processor does") {
  for (const std::int64_t batch : {300, 2048, 2049, 6000}) test::check_cuda<shuffles>(batch, 0);
}
TEST_CASE("the workspace of rows whose number is unknown is enough for any number") {
  using tf::cuda_kernels::sort_workspace;
  for (const std::int64_t rows : {1, 2, 3, 7, 100}) {
    for (const std::int64_t length : {0, 1, 255, 2047, 2048, 2049, 4095, 4096, 4097, 100000}) {
      CHECK(sort_workspace<std::uint64_t>(rows * length) >=
            sort_workspace<std::uint64_t>(rows, length));
      CHECK(sort_workspace<std::uint32_t>(rows * length) >=
            sort_workspace<std::uint32_t>(rows, length));
    }
  }
}
