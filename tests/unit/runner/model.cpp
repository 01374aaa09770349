// SPDX-License-Identifier: Apache-2.0

#include "model.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <typeflow/make_runner.hpp>
#include <typeflow/typeflow.hpp>

namespace runner_test {
namespace {

namespace tf = typeflow;

constexpr void model(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 3>(g, "y");
  auto scale = tf::placeholder<float>(g, "scale", 2.0f);
  auto words = tf::placeholder<std::string_view, tf::batch>(g, "words");
  auto W = tf::variable<float, 4, 3>(g, "W", tf::zeros());
  auto b = tf::variable<float, 3>(g, "b", tf::zeros());
  auto logits = (matmul(x, W) * scale + b).named("logits");  // (batch,3)
  softmax(logits).named("probabilities");
  argmax<1>(logits).named("class");
  equal(words, tf::constant<std::string_view>(g, "cat")).named("is_cat");
  identity(words).named("echo");
  auto n = tf::placeholder<double, 2, 2>(g, "n");
  square(n).named("squares");
  sum(n).named("total");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::GradientDescent{.rate = 0.1f}.minimize(loss).named("train");
}

using Session = tf::Session<model, tf::inference>;

void fill(tf::Variables& variables) {
  std::vector<float> W;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) W.push_back(static_cast<float>(i - j));
  }
  variables.set<float>("W", W, {2, {4, 3}});
  variables.set<float>("b", std::array{0.0f, 1.0f, 2.0f}, {1, {3}});
}

template <class VariableStore>
tf::Runner make_of(VariableStore&& store) {
  return tf::runner<Session, "logits", "probabilities", "class", "is_cat", "echo", "squares",
                    "total">(std::forward<VariableStore>(store));
}

tf::Variables& store() {
  static tf::Variables variables;
  return variables;
}

}  // namespace

tf::Runner make() { return make_of(fill); }

tf::Runner make_on_store() {
  fill(store());
  return make_of(store());
}
void set_b(float value) { std::ranges::fill(store().get<float>("b"), value); }

tf::Runner make_incomplete() {
  auto variables = std::make_unique<tf::Variables>();
  variables->set<float>("W", std::vector<float>(12), {2, {4, 3}});
  return make_of(std::move(variables));
}
tf::Runner make_misshapen() {
  return make_of([](tf::Variables& variables) {
    variables.set<float>("W", std::vector<float>(12), {2, {4, 3}});
    variables.set<float>("b", std::vector<float>(4), {1, {4}});
  });
}

tf::Runner make_of_total() {
  static const tf::Variables none;
  return tf::runner<tf::Session<model, tf::inference | tf::read_only>, "total">(none);
}

}  // namespace runner_test
