// SPDX-License-Identifier: Apache-2.0

// The order of effects: what comes before a write, a read, and what follows an effect.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/graph.hpp"
#include "typeflow/lower/compile.hpp"
#include "typeflow/passes/effects.hpp"

namespace tf = typeflow;
using tf::ir::records;

namespace {

/// x itself; it tells somebody of it.
struct Tell : tf::custom {
  static constexpr std::string_view name = "Tell";
  static constexpr tf::SideEffect effect = tf::SideEffect::writes;
  static constexpr tf::Type infer(Tell, const tf::Type& x) { return x; }
  static void interpret(tf::InterpretCall& call) { call.outputs[0] = *call.inputs[0]; }
};

/// The nodes of an operation, in the order of the graph.
std::vector<tf::Id> nodes_of(const tf::ir::Graph& g, std::string_view operation) {
  std::vector<tf::Id> out;
  for (tf::Id id = 0; id < g.nodes.size(); ++id) {
    if (g.nodes[id].op->name == operation) out.push_back(id);
  }
  return out;
}

/// What comes before each node of a graph by its effects, each once.
std::vector<std::vector<tf::Id>> befores(const tf::ir::Graph& g) {
  tf::ir::EffectOrder order(g);
  std::vector<std::vector<tf::Id>> out(static_cast<std::size_t>(g.nodes.size()));
  for (tf::Id id = 0; id < g.nodes.size(); ++id) {
    if (!order.concerns(g.nodes[id])) continue;
    std::vector<tf::Id>& list = out[static_cast<std::size_t>(id)];
    order.place(id, [&](tf::Id before) { list.push_back(before); });
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return out;
}

}  // namespace

TEST_CASE("a write comes after the last write and the reads since, a read after the last write") {
  struct Access {
    int place;
    bool writes;
  };
  std::mt19937 random(7);
  tf::ir::AccessOrder order(3);
  std::vector<Access> accesses;
  for (tf::Id who = 0; who < 200; ++who) {
    const Access access{static_cast<int>(random() % 3), random() % 3 == 0};
    std::vector<tf::Id> expected;  // from the last one back
    for (tf::Id k = who - 1; k >= 0; --k) {
      const Access& earlier = accesses[static_cast<std::size_t>(k)];
      if (earlier.place != access.place) continue;
      if (earlier.writes || access.writes) expected.push_back(k);
      if (earlier.writes) break;
    }
    std::vector<tf::Id> given;
    const auto note = [&](tf::Id before) { given.push_back(before); };
    if (access.writes) {
      order.before_write(access.place, note);
      order.add_write(access.place, who);
    } else {
      order.before_read(access.place, note);
      order.add_read(access.place, who);
    }
    std::sort(given.rbegin(), given.rend());
    CHECK(given == expected);
    accesses.push_back(access);
  }
}

TEST_CASE("a token of groups stands for all their effects, in order") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto w = tf::variable<float, 8>(g, "w");
  const tf::Effect a = assign(v, 1);
  const tf::Effect b = assign(w, 2);
  const tf::Effect c = assign(v, 3);
  const tf::Effect all = tf::group(tf::group(a, b), c);
  const auto effects = [&](const tf::Effect& effect) {
    std::vector<tf::Id> out;
    tf::ir::each_effect(g, effect.token(), [&](tf::Id id) { out.push_back(id); });
    return out;
  };
  const std::vector<tf::Id> assigns = nodes_of(g, "Assign");
  REQUIRE(assigns.size() == 3);
  CHECK(effects(all) == assigns);
  CHECK(effects(b) == std::vector{assigns[1]});
}

TEST_CASE("accesses of one variable are ordered, those of another are not") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto w = tf::variable<float, 8>(g, "w");
  auto x = tf::placeholder<float, 8>(g, "x");
  assign(v, x);
  exp(v.read());
  tanh(v.read());
  assign(w, x);
  assign(v, relu(x));
  v.read();
  const std::vector<std::vector<tf::Id>> before = befores(g);
  const std::vector<tf::Id> writes = nodes_of(g, "Assign");
  const std::vector<tf::Id> reads = nodes_of(g, "Read");
  REQUIRE(writes.size() == 3);
  REQUIRE(reads.size() == 3);
  const auto of = [&](tf::Id id) { return before[static_cast<std::size_t>(id)]; };
  CHECK(of(writes[0]).empty());
  CHECK(of(reads[0]) == std::vector{writes[0]});
  CHECK(of(reads[1]) == std::vector{writes[0]});
  CHECK(of(writes[1]).empty());
  CHECK(of(writes[2]) == std::vector{writes[0], reads[0], reads[1]});
  CHECK(of(reads[2]) == std::vector{writes[2]});
}

TEST_CASE("a node with control inputs comes after their effects") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto w = tf::variable<float, 8>(g, "w");
  auto x = tf::placeholder<float, 8>(g, "x");
  tf::after(tf::group(assign(v, x), assign(w, x)), exp(x));
  const std::vector<std::vector<tf::Id>> before = befores(g);
  const std::vector<tf::Id> after = nodes_of(g, "After");
  REQUIRE(after.size() == 1);
  CHECK(before[static_cast<std::size_t>(after[0])] == nodes_of(g, "Assign"));
}

TEST_CASE("what follows an effect goes last, and reads a copy of what is written") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto w = tf::variable<float, 8>(g, "w");
  auto x = tf::placeholder<float, 8>(g, "x");
  const tf::Effect step = assign(v, exp(x));
  auto now = tf::after(step, square(x));
  now* v* w;  // v as it was at the start; w is not written
  tanh(x);
  tf::Pool<tf::Id> order;
  for (tf::Id id = 0; id < records(g).nodes.size(); ++id) order.push(id);
  const int traced = order.size();
  const tf::ir::EffectsLast split = tf::ir::put_effects_last(g, order);

  REQUIRE(split.order.size() == traced + 1);  // with the copy
  std::vector<std::string> last;
  for (int i = split.first_effect; i < split.order.size(); ++i) {
    last.emplace_back(records(g).nodes[split.order[i]].op->name);
  }
  CHECK(last == std::vector<std::string>{"Assign", "After", "Mul", "Mul"});
  const tf::ir::Node& first = records(g).nodes[nodes_of(g, "Mul")[0]];
  const tf::ir::Node& copy = records(g).node_of(records(g).input(first, 1));
  CHECK(copy.op->name == "After");
  CHECK(copy.controls.count == 0);
  CHECK(records(g).input(copy, 0) == v.id());
  const tf::ir::Node& second = records(g).nodes[nodes_of(g, "Mul")[1]];
  CHECK(records(g).input(second, 1) == w.id());
}

TEST_CASE("effects outside stay in the model's order, and kernels are chosen so that they can") {
  // The first Tell waits for the kernel of h. The quotient of h and what the second gives must not
  // join that kernel: it would wait for the second, which waits for the first.
  tf::Graph g;
  auto x = tf::placeholder<float, 4, 4>(g, "x");
  auto z = tf::placeholder<float, 4, 4>(g, "z");
  auto h = exp(matmul(x, matmul(x, x)));
  auto first = apply(Tell{}, h).named("first");
  auto second = apply(Tell{}, z);
  (h / second + first).named("y");
  const tf::ir::ProgramPools program = tf::ir::compile(std::move(g));
  CHECK(program.error.view() == "");
  std::vector<int> tells;
  for (int i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].label.operation.view() == "Tell") tells.push_back(i);
  }
  REQUIRE(tells.size() == 2);
  CHECK(program.steps[tells[0]].label.name != tf::none);  // "first"
}
