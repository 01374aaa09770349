// SPDX-License-Identifier: Apache-2.0

// Collections under keys of the user, with towers.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <typeflow/collections.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/losses.hpp>
#include <typeflow/parallel.hpp>
#include <typeflow/typeflow.hpp>

#include "unit/parallel/nets.hpp"

namespace {

namespace tf = typeflow;

constexpr int towers = 2;

/// Each tower adds two losses and its predictions. The sums of the losses by scope are named.
constexpr void collecting(tf::Graph& g) {
  auto x = tf::placeholder<float, towers * tf::batch, 5>(g, "x");
  auto y = tf::placeholder<std::int32_t, towers * tf::batch>(g, "y");
  tf::Collections collections(g);
  auto net = tf::data_parallel<towers>(
      g,
      [&](auto a, auto b) {
        auto logits = tf::dense<3>(g, "out", a);
        collections.add("predict", softmax(logits));
        auto fit = collections.add("losses", mean(softmax_cross_entropy(logits, b)).named("fit"));
        const tf::NameScope in(g, "extra");
        return fit + collections.add("losses", (0.1f * mean(square(logits))).named("size"));
      },
      x, y);
  net.loss().named("loss");
  collections.add("train_model",
                  minimize(tf::GradientDescent{.rate = 0.1f}, net.gradients()).named("train"));
  const auto sum_of = [&](const char* path, tf::Label name) {
    tf::Expr<float> total = tf::Expr<float>(g, collections.get("losses", path)[0].id);
    const tf::CollectedTensors all = collections.get("losses", path);
    for (int i = 1; i < all.size(); ++i) total = total + tf::Expr<float>(g, all[i].id);
    total.named(name);
  };
  sum_of("", "all");
  sum_of("tower_0", "of_0");
  sum_of("tower_1", "of_1");
  sum_of("tower_1/extra", "extra_of_1");
  for (int i = 0; i < towers; ++i) {
    const tf::CollectedTensors predicted =
        collections.get("predict", i == 0 ? "tower_0" : "tower_1");
    for (const tf::AnyExpr one : predicted) {
      tf::Expr<float, tf::Shape<tf::batch, 3>>(g, one.id).named({"predicted", i});
    }
  }
  collections.effects("train_model").named("step");
}

constexpr int count(const char* path, int kind) {
  tf::Graph g;
  tf::Collections collections(g);
  auto x = tf::placeholder<float, 4>(g, "x");
  auto v = tf::variable<float, 4>(g, "v", tf::zeros());
  g.add_loss(mean(x));
  for (int i : {1, 10}) {
    const tf::NameScope in(g, "tower", i);
    collections.add("losses", mean(square(x)));
    collections.add({"part", i}, x);
    collections.add("predict", exp(x));
    collections.add("predict", x);
    collections.add("train_model", tf::assign(v, x));
  }
  if (kind == 0) return collections.get("losses", path).size();
  if (kind == 1) return collections.get("predict", path).size();
  if (kind == 2) return collections.get({"part", 10}, path).size();
  if (kind == 3) return collections.get("other", path).size();
  if (kind == 4) return collections.get("train_model", path).size();  // effects are no tensors
  if (kind == 5) return collections.effects("train_model", path).empty() ? 0 : 1;
  return g.losses(path).size();
}
static_assert(count("", 0) == 3 && count("", 6) == 3);
static_assert(count("tower_1", 0) == 1 && count("tower_1", 6) == 1);
static_assert(count("tower", 0) == 0);
static_assert(count("", 1) == 4 && count("tower_1", 1) == 2 && count("tower_10", 1) == 2);
static_assert(count("", 2) == 1 && count("tower_1", 2) == 0);
static_assert(count("", 3) == 0 && count("", 4) == 0);
static_assert(count("", 5) == 1 && count("tower_10", 5) == 1 && count("tower_2", 5) == 0);

}  // namespace

TEST_CASE("with the scope of a tower, a collection has only that tower's tensors") {
  tf::Variables variables;
  tf::Session<collecting> session(variables, {.seed = 5, .devices = tf::DeviceList::of(towers)});
  const test::Batch batch = test::batch_of(8, 0);
  const auto x = tf::feed<"x">(batch.x);
  const auto y = tf::feed<"y">(batch.y);
  const auto [loss, all, first, second, extra] =
      session.run<"loss", "all", "of_0", "of_1", "extra_of_1">(x, y);
  const auto [fit_0, fit_1, size_0, size_1] =
      session.run<"tower_0/fit", "tower_1/fit", "tower_0/extra/size", "tower_1/extra/size">(x, y);
  CHECK(first == doctest::Approx(fit_0 + size_0));
  CHECK(second == doctest::Approx(fit_1 + size_1));
  CHECK(extra == size_1);
  CHECK(first != second);
  CHECK(all == doctest::Approx(first + second));
  CHECK(loss == doctest::Approx(all / 2));
  const auto [p0, p1] = session.run<"predicted_0", "predicted_1">(x, y);
  CHECK(p0.size() == 4 * 3);
  CHECK(p0 != p1);
}

TEST_CASE("a collection's effects happen as one") {
  tf::Variables variables;
  tf::Variables expected;
  tf::Session<collecting> session(variables, {.seed = 5, .devices = tf::DeviceList::of(towers)});
  tf::Session<collecting> other(expected, {.seed = 5, .devices = tf::DeviceList::of(towers)});
  const test::Batch batch = test::batch_of(8, 0);
  session.run<"step">(tf::feed<"x">(batch.x), tf::feed<"y">(batch.y));
  other.run<"train">(tf::feed<"x">(batch.x), tf::feed<"y">(batch.y));
  const auto a = variables.get<float>("out/W");
  const auto b = expected.get<float>("out/W");
  CHECK(std::vector<float>(a.begin(), a.end()) == std::vector<float>(b.begin(), b.end()));
}
