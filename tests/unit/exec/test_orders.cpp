// SPDX-License-Identifier: Apache-2.0

// The memory of the chapters' nets: the order of their steps, against orders drawn by chance, and
// explain_memory.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/exec/layout.hpp>
#include <typeflow/exec/planner.hpp>
#include <typeflow/explain_memory.hpp>
#include <typeflow/lower/dependencies.hpp>
#include <typeflow/pooling.hpp>
#include <typeflow/typeflow.hpp>

#include "../../../bench/programs/chapter6_models.hpp"
#include "../../../bench/programs/chapter_models.hpp"

namespace {

/// The steps of a net's training, and the memory that orders of them take.
class Orders {
 public:
  Orders(void (*model)(tf::Graph&), int batch) : sizes_(batch) {
    tf::Graph g;
    model(g);
    pools_ = tf::ir::compile(std::move(static_cast<tf::ir::Graph&>(g)));
    REQUIRE(pools_.error.view() == "");
    waits_ = tf::ir::dependencies_of(view());
  }

  std::int64_t bytes_in_order() const {
    std::vector<tf::Id> steps(waits_.size());
    std::iota(steps.begin(), steps.end(), 0);
    return bytes(steps);
  }
  template <class Random>
  std::int64_t bytes_in_random_order(Random& random) const {
    std::vector<std::size_t> waiting;
    std::vector<std::vector<tf::Id>> next(waits_.size());
    std::vector<tf::Id> ready;
    for (std::size_t s = 0; s < waits_.size(); ++s) {
      waiting.push_back(waits_[s].size());
      for (const tf::Id before : waits_[s]) {
        next[static_cast<std::size_t>(before)].push_back(static_cast<tf::Id>(s));
      }
      if (waits_[s].empty()) ready.push_back(static_cast<tf::Id>(s));
    }
    std::vector<tf::Id> order;
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      order.push_back(ready.back());
      ready.pop_back();
      for (const tf::Id s : next[static_cast<std::size_t>(order.back())]) {
        if (--waiting[static_cast<std::size_t>(s)] == 0) ready.push_back(s);
      }
    }
    REQUIRE(order.size() == waits_.size());
    return bytes(order);
  }

 private:
  tf::ir::ProgramView view() const { return tf::ir::view_of(pools_); }
  std::int64_t bytes(const std::vector<tf::Id>& steps) const {
    const tf::ir::ProgramView program = view();
    const std::vector<tf::MachineDevice> devices{tf::MachineDevice{.device = tf::cpu(0)}};
    const tf::exec::Plan plan = tf::exec::Planner(program, devices, steps).run();
    return tf::exec::LayoutPlanner(program, plan, sizes_, false).run().total();
  }

  tf::ir::ProgramPools pools_;
  std::vector<std::vector<tf::Id>> waits_;
  tf::SymbolSizes sizes_;
};

template <class Net>
void check_orders() {
  const Orders orders(Net::model, Net::batch);
  std::mt19937 random(1);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 1000; ++i) best = std::min(best, orders.bytes_in_random_order(random));
  const std::int64_t ours = orders.bytes_in_order();
  CAPTURE(ours);
  CAPTURE(best);
  CHECK(static_cast<double>(ours) <= 1.05 * static_cast<double>(best));
}

/// The bytes that explain_memory lists for /cpu:0, and those that it says are in use at one time.
std::pair<std::int64_t, std::int64_t> listed_and_in_use(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::size_t at = line.find("; ") + 2;
  std::pair<std::int64_t, std::int64_t> out{0, std::stoll(line.substr(at))};
  std::getline(lines, line);  // the step
  while (std::getline(lines, line) && line.starts_with("  ")) out.first += std::stoll(line);
  return out;
}

constexpr void two_products(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 16>(g, "x");
  auto w = tf::variable<float, 16, 32>(g, "w");
  auto v = tf::variable<float, 32, 16>(g, "v");
  matmul(tf::relu(matmul(x, w)), v).named("y");
}

}  // namespace

TEST_CASE("the order of steps takes at most 1.05 of the memory of the best of 1,000 others") {
  SUBCASE("softmax regression") { check_orders<softmax_regression>(); }
  SUBCASE("perceptron") { check_orders<mlp>(); }
  SUBCASE("convolutional net") { check_orders<cnn>(); }
  SUBCASE("net for CIFAR-10") { check_orders<cifar>(); }
  SUBCASE("twenty residual blocks") { check_orders<residual>(); }
  SUBCASE("AlexNet") { check_orders<alexnet_32>(); }
  SUBCASE("VGG-16") { check_orders<vgg16_8>(); }
  SUBCASE("Inception V3") { check_orders<inception_v3_8>(); }
  SUBCASE("ResNet-50") { check_orders<resnet50_8>(); }
}

TEST_CASE("explain_memory says what a run's memory is for") {
  tf::Variables variables;
  const tf::Session<two_products> session(variables);
  const std::string text = tf::explain_memory<"y">(session, 100);
  // The hidden layer, and the result: 100 x 32 and 100 x 16 floats.
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  CAPTURE(text);
  CHECK(has("/cpu:0: 19200 bytes of temporaries; 19200 are in use at one time"));
  CHECK(has("no layout takes less: 1.000\n"));
  CHECK(has("12800  "));
  CHECK(has("float [100, 32]\n"));
  CHECK(has("6400  "));
  CHECK(has("float [100, 16]\n"));
  CHECK(text.find("12800") < text.find(" 6400"));
  CHECK(tf::explain_memory<"y">(session, 0) == "");
}

TEST_CASE("explain_memory lists all that is in use, also where results take operands' memory") {
  tf::Variables variables;
  const tf::Session<mlp::model> session(variables);
  for (const std::int64_t batch : {1, 7, 100}) {
    CAPTURE(batch);
    const auto [listed, in_use] = listed_and_in_use(tf::explain_memory<"train">(session, batch));
    CHECK(in_use > 0);
    CHECK(listed == in_use);
  }
}
