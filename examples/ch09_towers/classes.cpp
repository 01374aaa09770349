// SPDX-License-Identifier: Apache-2.0

#include "classes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "speed.hpp"

namespace tf = typeflow;

namespace {

constexpr int towers = 2;

/// The loss of a net of 5, 16 and 1 units, whose variables begin with normal numbers of the notes'
/// seeds. The class is 1 or 0. (B,5), (B) -> ()
constexpr auto loss_of(tf::Graph& g, auto numbers, auto classes) {
  auto x = cast<float>(numbers) / 10;
  auto W1 = tf::variable<float, 5, 16>(g, "W1", tf::normal(0, 1).with_seed(9));
  auto b1 = tf::variable<float, 16>(g, "b1", tf::normal(0, 1).with_seed(1));
  auto W2 = tf::variable<float, 16>(g, "W2", tf::normal(0, 1).with_seed(0));
  auto b2 = tf::variable<float>(g, "b2", tf::normal(0, 1).with_seed(2));
  auto logits = sum<1>(tanh(matmul(x, W1) + b1) * W2) + b2;
  return mean(sigmoid_cross_entropy(logits, cast<float>(classes)));
}

constexpr void synchronous_net(tf::Graph& g) {
  auto x = placeholder<std::int64_t, towers * tf::batch, 5>(g, "x");
  auto y = placeholder<std::int64_t, towers * tf::batch>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto net = tf::data_parallel<towers>(
      g, [&](auto a, auto b) { return loss_of(g, a, b).named("loss"); }, x, y);
  net.loss().named("loss");
  minimize(tf::GradientDescent{.rate = rate}, net.gradients()).named("train");
}
constexpr void asynchronous_net(tf::Graph& g) {
  auto x = placeholder<std::int64_t, tf::batch, 5>(g, "x");
  auto y = placeholder<std::int64_t, tf::batch>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto net = tf::asynchronous<towers>(g, [&](auto a, auto b) { return loss_of(g, a, b); }, x, y);
  net.train(tf::GradientDescent{.rate = rate});
}
constexpr void whole_net(tf::Graph& g) {
  auto x = placeholder<std::int64_t, tf::batch, 5>(g, "x");
  auto y = placeholder<std::int64_t, tf::batch>(g, "y");
  auto rate = placeholder<float>(g, "rate", 0.1f);
  auto loss = loss_of(g, x, y).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");
}

struct Rows {
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> y;
};
/// Made rows: numbers from -10 to 10. The class says whether two products are larger than a third.
Rows make_rows(std::int64_t count, std::mt19937_64& random) {
  Rows rows;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t n[5] = {};
    for (std::int64_t& number : n) {
      number = static_cast<std::int64_t>(random() % 21) - 10;
      rows.x.push_back(number);
    }
    rows.y.push_back(n[0] * n[1] + 3 * n[2] * n[3] > 2 * n[4] * n[4] ? 1 : 0);
  }
  return rows;
}
/// The rows of one tower.
Rows part_of(const Rows& rows, std::size_t tower) {
  const std::size_t size = rows.y.size() / towers;
  const auto first = static_cast<std::ptrdiff_t>(tower * size);
  const auto last = first + static_cast<std::ptrdiff_t>(size);
  return {{rows.x.begin() + 5 * first, rows.x.begin() + 5 * last},
          {rows.y.begin() + first, rows.y.begin() + last}};
}

}  // namespace

void train_classes(const examples::Options& options, bool synchronous) {
  std::mt19937_64 random(options.seed);
  const Rows test = make_rows(20'000, random);
  std::vector<Rows> batches;
  const std::int64_t rows = options.batch / towers * towers;
  for (std::int64_t i = 0; i < options.steps; ++i) batches.push_back(make_rows(rows, random));

  tf::Variables of_one;
  tf::Session<whole_net> one(of_one, {.threads = 1});
  for (const Rows& b : batches) {
    one.run<"train">(tf::feed<"x">(b.x), tf::feed<"y">(b.y), tf::feed<"rate">(options.rate));
  }
  const auto loss_by = [&](tf::Variables& variables) {
    tf::Session<whole_net> session(variables, {.threads = 1});
    return session.run<"loss">(tf::feed<"x">(test.x), tf::feed<"y">(test.y));
  };

  tf::Variables variables;
  Speed speed;
  if (synchronous) {
    tf::Session<synchronous_net> session(variables, {.devices = tf::DeviceList::of(towers)});
    std::int64_t step = 0;
    for (const Rows& b : batches) {
      const auto [first, second] = session.run<"tower_0/loss", "tower_1/loss", "train">(
          tf::feed<"x">(b.x), tf::feed<"y">(b.y), tf::feed<"rate">(options.rate));
      if (++step % 100 == 0) {
        std::printf("step %lld loss of tower 0 %.4f, of tower 1 %.4f\n",
                    static_cast<long long>(step), static_cast<double>(first),
                    static_cast<double>(second));
      }
    }
  } else {
    // Each tower takes its rows of each batch, at its own pace. A tower's step counts half, because
    // there are twice as many as with one device.
    tf::Session<asynchronous_net> session(variables, {.devices = tf::DeviceList::of(towers)});
    const float rate = options.rate / towers;
    std::vector<std::int64_t> stale(towers, 0);
    {
      std::jthread first([&] {
        for (const Rows& b : batches) {
          const Rows part = part_of(b, 0);
          stale[0] += session.run<"worker_0/staleness">(
              tf::feed<"x">(part.x), tf::feed<"y">(part.y), tf::feed<"rate">(rate));
        }
      });
      std::jthread second([&] {
        for (const Rows& b : batches) {
          const Rows part = part_of(b, 1);
          stale[1] += session.run<"worker_1/staleness">(
              tf::feed<"x">(part.x), tf::feed<"y">(part.y), tf::feed<"rate">(rate));
        }
      });
    }
    const std::int64_t updates = session.run<"workers/updates">();
    std::printf("%lld updates, %.2f by the other tower since a tower's last one\n",
                static_cast<long long>(updates),
                static_cast<double>(stale[0] + stale[1]) / static_cast<double>(updates));
  }
  speed.print(options.steps, rows);
  std::printf("loss of towers %.4f, of one device %.4f\n", static_cast<double>(loss_by(variables)),
              static_cast<double>(loss_by(of_one)));
}
