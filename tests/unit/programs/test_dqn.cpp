// SPDX-License-Identifier: Apache-2.0

// Double Q-learning with a target network that follows the online one, against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/plain_nets.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
using test::Numbers;

// A net is a closure that owns its layers.
constexpr auto q_net(tf::Graph& g, tf::Label name) {
  tf::Scope in(g, name);
  tf::Dense<3, 5> hidden(g, "hidden", {.bias = tf::uniform(-1, 1)});
  tf::Dense<5, 4> q(g, "q");
  return [=](auto s) { return q(relu(hidden(s))); };
}
constexpr void dqn(tf::Graph& g) {
  auto online = q_net(g, "online");
  auto target = q_net(g, "target");
  auto s = placeholder<float, tf::batch, 3>(g, "s");
  auto s2 = placeholder<float, tf::batch, 3>(g, "s2");
  auto a = placeholder<std::int32_t, tf::batch>(g, "a");
  auto r = placeholder<float, tf::batch>(g, "r");
  auto q = online(s);
  argmax<1>(q).named("action");
  auto goal = stop_gradient(
      r + 0.99f * gather<tf::GatherOptions{.batch_dims = 1}>(target(s2), argmax<1>(online(s2))));
  auto loss = mean(square(goal - gather<tf::GatherOptions{.batch_dims = 1}>(q, a))).named("loss");
  tf::GradientDescent{.rate = 0.05f}.minimize(loss, g.trainable("online")).named("train");
  tf::blend(g.variables("target"), g.variables("online"), 0.25f).named("soft_update");
}

Numbers q_of(const Numbers& s, const tf::Variables& variables, const std::string& net) {
  return test::dense(test::relu(test::dense(s, variables, net + "/hidden")), variables, net + "/q");
}
std::size_t best(const Numbers& q, std::size_t row) {
  const auto first = q.begin() + static_cast<std::ptrdiff_t>(4 * row);
  return static_cast<std::size_t>(std::max_element(first, first + 4) - first);
}

}  // namespace

TEST_CASE("a double DQN computes its loss, trains its online net, and blends its target net") {
  constexpr std::size_t batch = 7;
  const Numbers s = test::random_numbers(3 * batch, 1);
  const Numbers s2 = test::random_numbers(3 * batch, 2);
  const Numbers r = test::random_numbers(batch, 3);
  const std::vector<std::int32_t> a{0, 3, 2, 1, 1, 0, 2};
  const std::vector<float> s_fed = test::as_floats(s);
  const std::vector<float> s2_fed = test::as_floats(s2);
  const std::vector<float> r_fed = test::as_floats(r);
  tf::Variables variables;
  tf::Session<dqn> session(variables, {.seed = 2});

  const auto actions = session.run<"action">(tf::feed<"s">(s_fed));
  const Numbers q_s = q_of(s, variables, "online");
  for (std::size_t i = 0; i < batch; ++i) {
    CHECK(static_cast<std::size_t>(actions(i)) == best(q_s, i));
  }

  // The goal is fixed. The gradient of the loss goes through the values of the actions taken.
  const Numbers q_online = q_of(s2, variables, "online");
  const Numbers q_target = q_of(s2, variables, "target");
  const Numbers before = test::dense(s, variables, "online/hidden");
  const Numbers h = test::relu(before);
  const Numbers W = test::variable(variables, "online/q/W");
  const char* const names[] = {"hidden/W", "hidden/b", "q/W", "q/b"};
  std::vector<Numbers> expected;  // after the step
  std::vector<Numbers> of_target;
  for (const char* const name : names) {
    expected.push_back(test::variable(variables, std::string("online/") + name));
    of_target.push_back(test::variable(variables, std::string("target/") + name));
  }
  double loss = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto taken = static_cast<std::size_t>(a[i]);
    const double goal = r[i] + 0.99 * q_target[4 * i + best(q_online, i)];
    const double error = q_s[4 * i + taken] - goal;
    loss += error * error / batch;
    const double step = 0.05 * 2 * error / batch;
    expected[3][taken] -= step;
    for (std::size_t k = 0; k < 5; ++k) {
      expected[2][4 * k + taken] -= step * h[5 * i + k];
      if (before[5 * i + k] <= 0) continue;
      expected[1][k] -= step * W[4 * k + taken];
      for (std::size_t m = 0; m < 3; ++m) {
        expected[0][5 * m + k] -= step * W[4 * k + taken] * s[3 * i + m];
      }
    }
  }
  const double got = static_cast<double>(session.run<"loss", "train">(
      tf::feed<"s">(s_fed), tf::feed<"s2">(s2_fed), tf::feed<"r">(r_fed), tf::feed<"a">(a)));
  CHECK(got == doctest::Approx(loss).epsilon(1e-5));
  session.run<"soft_update">();
  for (std::size_t k = 0; k < 4; ++k) {
    INFO(names[k]);
    const Numbers trained = test::variable(variables, std::string("online/") + names[k]);
    CHECK(test::largest_difference(trained, expected[k]) < 1e-6);
    for (std::size_t i = 0; i < trained.size(); ++i) {
      of_target[k][i] += 0.25 * (trained[i] - of_target[k][i]);
    }
    const Numbers followed = test::variable(variables, std::string("target/") + names[k]);
    CHECK(test::largest_difference(followed, of_target[k]) < 1e-6);
  }
}
