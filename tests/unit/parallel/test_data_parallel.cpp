// SPDX-License-Identifier: Apache-2.0

// Towers: the training of N towers beside that of one device with the whole batch.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"
#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;
using test::batch_of;
using test::difference;
using test::loss_of;
using test::train;

constexpr tf::Adam adam{.rate = 0.05f};

constexpr void whole(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, tf::batch>(g, "y");
  auto loss = loss_of(g, x, y).named("loss");
  minimize(adam, loss).named("train");
}
template <int N>
constexpr void towers(tf::Graph& g) {
  auto x = tf::placeholder<float, N * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, N * tf::batch>(g, "y");
  auto towers =
      tf::data_parallel<N>(g, [&](auto a, auto b) { return loss_of(g, a, b).named("loss"); }, x, y);
  towers.loss().named("loss");
  minimize(adam, towers.gradients()).named("train");
}
/// Seven rows for three towers: parts of 3, 2 and 2.
constexpr void uneven(tf::Graph& g) {
  auto x = tf::placeholder<float, 7, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, 7>(g, "y");
  auto towers =
      tf::data_parallel<3>(g, [&](auto a, auto b) { return loss_of(g, a, b).named("loss"); }, x, y);
  towers.loss().named("loss");
  minimize(adam, towers.gradients()).named("train");
}

std::vector<float> train_whole(std::size_t rows) {
  tf::Variables variables;
  tf::Session<whole> session(variables, {.seed = 5, .threads = 1});
  return train(session, rows);
}

}  // namespace

TEST_CASE("towers train as one device does with the whole batch") {
  const std::vector<float> expected = train_whole(12);
  CHECK(expected[19] < 0.8f * expected[0]);  // it learns
  const auto check = [&]<int N>(std::integral_constant<int, N>) {
    tf::Variables of_one;
    tf::Variables of_several;
    tf::Session<towers<N>> one(of_one, {.seed = 5, .threads = 1, .soft_placement = true});
    tf::Session<towers<N>> several(of_several, {.seed = 5, .devices = tf::DeviceList::of(N)});
    const std::vector<float> got = train(several, 12);
    CHECK(difference(got, expected) < 1e-5);
    CHECK(train(one, 12) == got);  // pins decide about bits, devices do not
    CHECK(of_several.names().size() == 4 * 3 + 2);
  };
  check(std::integral_constant<int, 1>{});
  check(std::integral_constant<int, 2>{});
  check(std::integral_constant<int, 4>{});
}

TEST_CASE("towers of unequal parts weigh their means by the rows") {
  tf::Variables variables;
  tf::Session<uneven> session(variables, {.seed = 5, .devices = tf::DeviceList::of(3)});
  CHECK(difference(train(session, 7), train_whole(7)) < 1e-5);
}

TEST_CASE("a batch that towers can't share out is refused") {
  tf::Variables variables;
  tf::Session<towers<4>> session(variables, {.devices = tf::DeviceList::of(4)});
  const test::Batch batch = batch_of(10, 0);
  const std::string message =
      message_of([&] { session.run<"loss">(tf::feed<"x">(batch.x), tf::feed<"y">(batch.y)); });
  CHECK(message.find("4*batch") != std::string::npos);
}
