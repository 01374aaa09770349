// SPDX-License-Identifier: Apache-2.0

// tf::blend: values, its place among other statements, and that it is one loop a variable.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/einsum.hpp"
#include "typeflow/testing.hpp"
#include "typeflow/typeflow.hpp"

namespace {

namespace tf = typeflow;
using test::elements;

template <class T>
constexpr void pair(tf::Graph& g) {
  variable<T, 3>(g, "target/a", tf::zeros());
  variable<T>(g, "target/b", tf::zeros());
  variable<T, 3>(g, "online/a", tf::ones());
  variable<T>(g, "online/b", tf::ones());
}

constexpr void blends(tf::Graph& g) {
  pair<double>(g);
  tf::blend(g.variables("target"), g.variables("online"), 0.125).named("follow");
  auto tau = placeholder<float>(g, "tau", 0.5f);
  tf::blend(g.variables("target"), g.variables("online"), tau).named("fed");
}

constexpr void after_training(tf::Graph& g) {
  pair<float>(g);
  for (const tf::AnyVariable v : g.variables("online")) assign_add(v, 4).named("train");
  tf::blend(g.variables("target"), g.variables("online"), 0.25).named("follow");
}

constexpr void of_16_bits(tf::Graph& g) {
  variable<tf::bfloat16>(g, "target/a");
  variable<tf::bfloat16>(g, "online/a");
  tf::blend(g.variables("target"), g.variables("online"), 0.001).named("follow");
}

struct Model {
  explicit Model(void (*trace)(tf::Graph&))
      : graph([trace] {
          tf::Graph g;
          trace(g);
          return g;
        }()),
        run(graph) {}

  void set(const std::string& net, tf::DType type, const std::vector<double>& a, double b) {
    run.variables[net + "/a"] = test::tensor(type, {3}, a);
    run.variables[net + "/b"] = test::tensor(type, {}, {b});
  }

  tf::Graph graph;
  tf::Interpreter run;
};

}  // namespace

TEST_CASE("blend moves its targets a share of the way to their sources") {
  Model model(blends);
  model.set("target", tf::DType::float64, {1, 2, -4}, 8);
  model.set("online", tf::DType::float64, {9, 2, 4}, 0);
  model.run.run({"follow"});
  CHECK(elements(model.run.variables["target/a"]) == std::vector<double>{2, 2, -3});
  CHECK(elements(model.run.variables["target/b"]) == std::vector<double>{7});
  CHECK(elements(model.run.variables["online/a"]) == std::vector<double>{9, 2, 4});
  model.run.run({"fed"}, {{"tau", test::floats({}, {0.75})}});
  CHECK(elements(model.run.variables["target/a"]) == std::vector<double>{7.25, 2, 2.25});
  CHECK(elements(model.run.variables["target/b"]) == std::vector<double>{1.75});
  CHECK(elements(model.run.variables["online/b"]) == std::vector<double>{0});
}

TEST_CASE("blend takes its sources as they are when the run starts") {
  Model model(after_training);
  model.set("target", tf::DType::float32, {0, 4, 8}, 0);
  model.set("online", tf::DType::float32, {4, 8, 12}, -4);
  model.run.run({"train", "train_1", "follow"});
  CHECK(elements(model.run.variables["online/a"]) == std::vector<double>{8, 12, 16});
  CHECK(elements(model.run.variables["target/a"]) == std::vector<double>{1, 5, 9});
  CHECK(elements(model.run.variables["target/b"]) == std::vector<double>{-1});
  model.run.run({"follow"});
  CHECK(elements(model.run.variables["target/a"]) == std::vector<double>{2.75, 6.75, 10.75});
}

TEST_CASE("several blends of a target follow each other") {
  Model model(blends);
  model.set("target", tf::DType::float64, {0, 0, 0}, 0);
  model.set("online", tf::DType::float64, {8, 8, 8}, 8);
  model.run.run({"follow", "fed"}, {{"tau", test::floats({}, {0.5})}});
  CHECK(elements(model.run.variables["target/b"]) == std::vector<double>{4.5});
}

TEST_CASE("blend computes 16-bit variables in float") {  // where 1 - 0.001 rounds to 1
  Model model(of_16_bits);
  model.run.variables["target/a"] = test::tensor(tf::DType::bfloat16, {}, {-1000});
  model.run.variables["online/a"] = test::tensor(tf::DType::bfloat16, {}, {1000});
  model.run.run({"follow"});
  CHECK(elements(model.run.variables["target/a"]) == std::vector<double>{-1000});
  model.run.variables["online/a"] = test::tensor(tf::DType::bfloat16, {}, {8000});
  model.run.run({"follow"});  // -991, which lies between -992 and -988
  CHECK(elements(model.run.variables["target/a"])[0] == -992);
}

TEST_CASE("blend is one loop a variable") {
  using Program = tf::ir::Lowering<after_training, tf::training>;
  // Two for the online net, two for the targets.
  CHECK(Program::view.steps.size == 4);
  tf::Variables variables;
  tf::Session<after_training> session(variables);
  session.run<"train", "train_1", "follow">();
  CHECK(variables.get<float>("target/a")[2] == 0.25f);
  session.run<"follow">();
  for (const float x : variables.get<float>("target/a")) CHECK(x == 1.4375f);
  CHECK(variables.get<float>("target/b")[0] == 1.4375f);
}
