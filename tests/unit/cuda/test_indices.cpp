// SPDX-License-Identifier: Apache-2.0

// Gathers, scatters, segments and stitches on a pretended GPU. Sums of up to 256 values have the
// bits of the processor's, because each adds up in the order of the indices (test_scattering.cpp
// has longer ones). Of several wrong indices the first is reported, and a variable then stays as it
// is.

#include "support/check_cuda.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <typeflow/cuda/atomic_sums.hpp>
#include <typeflow/cuda/indexing.hpp>

#include "support/cuda_calls.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

// Feeds of integers are in [0, 10), so every indexed axis has 10 elements at least.

template <class T, class I>
constexpr void gathers(tf::Graph& g, int i) {
  auto table = tf::placeholder<T, 10, 6>(g, {"table", i});
  auto cube = tf::placeholder<T, 3, 11, 4>(g, {"cube", i});
  auto words = tf::placeholder<I, tf::batch, 3>(g, {"words", i});
  auto none = tf::placeholder<I, 0>(g, {"none", i});
  auto one = tf::placeholder<I>(g, {"one", i});
  auto per_row = tf::placeholder<I, 3, 2>(g, {"per_row", i});
  auto q = tf::placeholder<T, tf::batch, 10>(g, {"q", i});
  auto pairs = tf::placeholder<I, tf::batch, 2>(g, {"pairs", i});
  gather(table, words).named({"rows", i});
  gather(table, none).named({"nothing", i});
  gather(table, one).named({"row", i});
  tf::gather<1>(cube, words).named({"middle", i});
  tf::gather<1>(q, per_row).named({"columns", i});
  tf::gather<tf::GatherOptions{.batch_dims = 1}>(cube, per_row).named({"of_planes", i});
  tf::gather_nd(tf::placeholder<T, 10, 12, 3>(g, {"square", i}), pairs).named({"at_pairs", i});
}
constexpr void gathered(tf::Graph& g) {
  gathers<bool, std::uint8_t>(g, 0);
  gathers<tf::float16, std::uint64_t>(g, 1);
  gathers<float, std::int32_t>(g, 2);
  gathers<double, std::int16_t>(g, 3);
}

template <class T>
constexpr void sums(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 3>(g, {"x", i});
  auto ids = tf::placeholder<std::int64_t, tf::batch>(g, {"ids", i});
  auto many = tf::placeholder<T, 2500>(g, {"many", i});
  auto of_many = tf::placeholder<std::int32_t, 2500>(g, {"of_many", i});
  tf::unsorted_segment_sum<10>(x, ids - 1).named({"unsorted", i});  // -1 is skipped
  tf::unsorted_segment_sum<20>(many, of_many).named({"many_sums", i});
  auto some = tf::placeholder<T, 250>(g, {"some", i});
  auto of_some = tf::placeholder<std::int32_t, 250>(g, {"of_some", i});
  tf::segment_sum<1>(some, of_some - of_some).named({"one_segment", i});
  tf::scatter_nd<11, 3>(tf::reshape<tf::batch, 1>(ids), x).named({"scatter_nd", i});
  tf::unsorted_segment_max<12>(x, ids).named({"max", i});
  tf::unsorted_segment_min<12>(many, of_many).named({"min", i});
  tf::unsorted_segment_prod<12>(x, ids).named({"prod", i});
  tf::tensor_scatter_nd_update(tf::placeholder<T, 12, 3>(g, {"old", i}),
                               tf::reshape<tf::batch, 1>(ids), x)
      .named({"replaced", i});
}
template <class T>
constexpr void updates(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 2>(g, {"y", i});
  auto ids = tf::placeholder<std::int32_t, tf::batch>(g, {"rows", i});
  scatter_add(tf::variable<T, 10, 2>(g, {"add", i}, tf::ones(), false), ids, x)
      .named({"step_add", i});
  scatter_sub(tf::variable<T, 11, 2>(g, {"sub", i}, tf::ones(), false), ids, x)
      .named({"step_sub", i});
  scatter_mul(tf::variable<T, 12, 2>(g, {"mul", i}, tf::ones(), false), ids, x)
      .named({"step_mul", i});
  scatter_div(tf::variable<T, 12, 2>(g, {"div", i}, tf::ones(), false), ids, x + 1)
      .named({"step_div", i});
  scatter_max(tf::variable<T, 12, 2>(g, {"largest", i}, tf::ones(), false), ids, x)
      .named({"step_max", i});
  scatter_min(tf::variable<T, 12, 2>(g, {"smallest", i}, tf::ones(), false), ids, x)
      .named({"step_min", i});
  scatter_update(tf::variable<T, 13, 2>(g, {"update", i}, tf::ones(), false), ids, x)
      .named({"step_update", i});
  auto part = tf::variable<T, 5, 6>(g, {"part", i}, tf::ones(), false);
  tf::assign_slice<tf::range(0, 5, 2), tf::range(1, 4)>(part,
                                                        tf::placeholder<T, 3, 3>(g, {"window", i}))
      .named({"step_part", i});
}
constexpr void summed(tf::Graph& g) {
  sums<float>(g, 0);
  sums<std::int8_t>(g, 1);
  sums<std::int32_t>(g, 2);
}
constexpr void updated(tf::Graph& g) {
  updates<float>(g, 0);
  updates<tf::bfloat16>(g, 1);
  updates<std::uint64_t>(g, 2);
}

constexpr void gather_gradients(tf::Graph& g) {
  auto table = tf::variable<float, 10, 5>(g, "table", tf::truncated_normal(0, 1));
  auto words = tf::placeholder<std::int32_t, tf::batch, 4>(g, "words");
  auto x = gather(table, words);
  auto loss = mean(square(x - 1)).named("loss");
  tf::Adam{.rate = 0.1f}.minimize(loss).named("train");
  auto cube = tf::placeholder<float, 3, 12, 4>(g, "cube");
  tf::gradients(sum(square(tf::gather<1>(cube, words))), cube).named("dcube");
  auto per_row = tf::placeholder<std::int32_t, 3, 7>(g, "per_row");
  auto chosen = tf::gather<tf::GatherOptions{.batch_dims = 1}>(cube, per_row);
  tf::gradients(sum(chosen * chosen * chosen), cube).named("dchosen");
}

/// Sums that AtomicSums adds atomically.
template <class T>
constexpr void atomic_sums(tf::Graph& g, int i) {
  auto x = tf::placeholder<T, tf::batch, 3>(g, {"x", i});
  auto ids = tf::placeholder<std::int64_t, tf::batch>(g, {"ids", i});
  tf::unsorted_segment_sum<10>(x, ids - 1).named({"sums", i});  // -1 is skipped
  auto add = tf::variable<T, 10, 3>(g, {"add", i}, tf::ones(), false);
  scatter_add(add, ids, x).named({"step_add", i});
  scatter_sub(tf::variable<T, 11, 3>(g, {"sub", i}, tf::ones(), false), ids, x)
      .named({"step_sub", i});
}
constexpr void summed_atomically(tf::Graph& g) {
  atomic_sums<float>(g, 0);
  atomic_sums<double>(g, 1);
  atomic_sums<tf::bfloat16>(g, 2);
  atomic_sums<std::int8_t>(g, 3);
  atomic_sums<std::uint16_t>(g, 4);
  atomic_sums<std::int32_t>(g, 5);
  atomic_sums<std::uint64_t>(g, 6);
  auto cube = tf::placeholder<float, 3, 12, 4>(g, "cube");
  auto words = tf::placeholder<std::int32_t, tf::batch, 4>(g, "words");
  tf::gradients(sum(square(tf::gather<1>(cube, words))), cube).named("dcube");
}
using Atomic = test::BasicCudaTargetOnHost<tf::Precision::exact, tf::AtomicSums<>>;

constexpr void stitches(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  auto x = tf::placeholder<float, tf::batch, 2>(g, "x");
  tf::dynamic_stitch<10>(std::tuple{i, i}, std::tuple{x, x + 1}).named("stitched");
  tf::sparse_to_dense<10, 11>(tf::placeholder<std::int64_t, tf::batch, 2>(g, "at"),
                              tf::placeholder<float, tf::batch>(g, "values"), 7)
      .named("dense");
  shuffle(tf::placeholder<float, 1500>(g, "ordered"), "shuffled");
  shuffle(x, "rows");
}

constexpr void wrong_gather(tf::Graph& g) {
  auto i = tf::placeholder<std::int32_t, tf::batch>(g, "i");
  gather(tf::placeholder<float, 5, 2>(g, "x"), i).named("y");
  tf::segment_sum<5>(tf::placeholder<float, tf::batch>(g, "z"), i).named("segments");
  tf::gather_nd(tf::placeholder<float, 5, 5>(g, "square"),
                tf::concat<1>(tf::reshape<tf::batch, 1>(i), tf::reshape<tf::batch, 1>(i)))
      .named("nd");
  auto v = tf::variable<float, 5>(g, "v", tf::ones(), false);
  scatter_add(v, i, tf::placeholder<float, tf::batch>(g, "add")).named("step");
  v.read().named("v_read");
}

}  // namespace

TEST_CASE("a GPU gathers as the processor does") {
  for (const std::int64_t batch : {0, 1, 33}) test::check_cuda<gathered>(batch, 0);
}
TEST_CASE("a GPU folds slices at indices with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 33, 1200}) test::check_cuda<summed>(batch, 0);
}
TEST_CASE("a GPU changes slices of variables with the processor's bits") {
  for (const std::int64_t batch : {0, 1, 33, 1200}) test::check_cuda<updated>(batch, 0);
}
TEST_CASE("a GPU trains embeddings as the processor does") {
  for (const std::int64_t batch : {1, 33}) test::check_cuda<gather_gradients>(batch);
}
TEST_CASE("a GPU adds atomically, if the target says so, and sorts nothing") {
  for (const std::int64_t batch : {0, 1, 33, 1200}) {
    INFO("batch ", batch);
    test::Kernels<summed_atomically> cpu;
    test::Kernels<summed_atomically, tf::training, test::CudaTargetOnHost> sorting;
    test::Kernels<summed_atomically, tf::training, Atomic> atomic;
    const tf::HostTensors feeds =
        test::random_feeds(test::Kernels<summed_atomically>::Program::view, batch, 7);
    const test::Outcome expected = cpu.run(feeds);
    test::Outcome got;
    const int sorted = test::calls_of([&] { sorting.run(feeds); }).launches;
    const int launches = test::calls_of([&] { got = atomic.run(feeds); }).launches;
    if (batch > 0) CHECK(launches < sorted);
    int compared = 0;
    for (const auto& [name, value] : expected) {
      if (!got.contains(name)) continue;  // inside a kernel
      const bool is_float = name.back() < '3' || name.back() > '6';
      test::check_close(name, got.at(name), value, is_float ? 1e-5 : 0);
      ++compared;
    }
    CHECK(compared > 20);
    for (const int type : {0, 1, 5}) {
      const std::string number = "_" + std::to_string(type);
      const tf::HostTensor& x = feeds.at("x" + number);
      const tf::HostTensor& ids = feeds.at("ids" + number);
      for (std::int64_t at = 0; at < 30; ++at) {
        double sum = 0;
        double size = 0;
        for (std::int64_t i = 0; i < batch; ++i) {
          if (ids.value(i) - 1 != static_cast<double>(at / 3)) continue;
          sum += x.value(3 * i + at % 3);
          size += std::abs(x.value(3 * i + at % 3));
        }
        const double allowed = type == 5 ? 0 : static_cast<double>(batch) * 0x1p-23 * size;
        CHECK(std::abs(got.at("sums" + number).value(at) - sum) <= allowed);
      }
    }
  }
}
TEST_CASE("atomic sums of NaN, infinities and -0 are those of plain loops") {
  static constexpr auto model = [](tf::Graph& g) {
    tf::segment_sum<4>(tf::placeholder<float, tf::batch>(g, "x"),
                       tf::placeholder<std::int32_t, tf::batch>(g, "ids"))
        .named("y");
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  tf::Variables none;
  tf::Session<model, tf::inference, Atomic> session(none);
  const std::vector<float> x{1, infinity, 2, infinity, -infinity, NAN, -0.0f, -0.0f};
  const std::vector<std::int32_t> ids{0, 0, 0, 1, 1, 2, 3, 3};
  const auto y = session.run<"y">(tf::feed<"x">(x), tf::feed<"ids">(ids));
  CHECK(y[0] == infinity);
  CHECK(std::isnan(y[1]));
  CHECK(std::isnan(y[2]));
  CHECK(y[3] == 0.0f);
}
TEST_CASE("a GPU stitches and shuffles as the processor does") {
  for (const std::int64_t batch : {0, 1, 33}) test::check_cuda<stitches>(batch, 0);
}

TEST_CASE("of several wrong indices, a GPU reports the first, and leaves the variable alone") {
  tf::Variables variables;
  tf::Session<wrong_gather, tf::training, test::CudaTargetOnHost> session(variables);
  tf::Variables others;
  tf::Session<wrong_gather, tf::training, Atomic> atomic(others);
  const std::vector<float> x(10);
  const std::vector<float> square(25);
  for (const std::size_t count : {9u, 3000u}) {
    CAPTURE(count);
    std::vector<std::int32_t> i(count, 4);
    i[6] = 5;
    i[8] = -1;
    i.back() = 7;
    const std::vector<float> values(count, 1.0f);
    CHECK(message_of([&] {
            session.run<"y">(tf::feed<"x">(x), tf::feed<"i">(i));
          }).find("index 5 at [6] is not in [0, 5)") != std::string::npos);
    CHECK(message_of([&] {
            session.run<"nd">(tf::feed<"square">(square), tf::feed<"i">(i));
          }).find("index 5 at [6, 0] is not in [0, 5)") != std::string::npos);
    CHECK(message_of([&] {
            session.run<"step">(tf::feed<"add">(values), tf::feed<"i">(i));
          }).find("index 5 at [6] is not in [0, 5)") != std::string::npos);
    for (const float element : session.run<"v_read">()) CHECK(element == 1.0f);
    CHECK(message_of([&] {
            atomic.run<"step">(tf::feed<"add">(values), tf::feed<"i">(i));
          }).find("index 5 at [6] is not in [0, 5)") != std::string::npos);
    for (const float element : atomic.run<"v_read">()) CHECK(element == 1.0f);
    i[3] = 2;
    CHECK(message_of([&] {
            session.run<"segments">(tf::feed<"z">(values), tf::feed<"i">(i));
          }).find("the ids must be sorted, but 2 at [3] follows 4") != std::string::npos);
  }
}
