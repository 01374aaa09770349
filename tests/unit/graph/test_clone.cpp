// SPDX-License-Identifier: Apache-2.0

// Copies of regions: complete, apart from the original, with the regions inside.

#include <doctest/doctest.h>

#include <typeflow/control_flow.hpp>
#include <typeflow/graph/clone.hpp>
#include <typeflow/passes/region_graph.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;
using tf::Id;
using tf::ir::Graph;

/// Region 1 is the loop's body; it has a branch, regions 2 and 3.
constexpr void model(tf::Graph& g) {
  auto x = placeholder<float>(g, "x");
  auto p = placeholder<bool>(g, "p");
  auto w = tf::variable<float>(g, "w", tf::zeros());
  auto y = tf::fori_loop(
      0, 3,
      [&](auto, auto s) {
        auto drawn = tf::random_uniform<float>(g, "u");
        assign(w, s);
        return tf::cond(p, [&] { return s * x; }, [&] { return s + x + drawn; });
      },
      x);
  y.named("y");
}
Graph traced() {
  tf::Graph g;
  model(g);
  return tf::ir::records(g);
}

int nodes_in(const Graph& graph, Id region) {
  int count = 0;
  for (const tf::ir::Node& node : graph.nodes) count += node.region == region;
  return count;
}
Id listed(const Graph& graph, const tf::ir::Range& list, int k) {
  return graph.lists[list.first + k];
}

TEST_CASE("a copy within a graph reads what the region reads") {
  Graph graph = traced();
  REQUIRE(graph.regions.size() == 4);
  const int nodes = graph.nodes.size();
  const Id at = tf::ir::open_region(graph);
  tf::ir::RegionClone clone(graph, 1, graph);
  clone.run();
  CHECK(graph.region == at);
  REQUIRE(graph.regions.size() == 7);
  CHECK(nodes_in(graph, at) == nodes_in(graph, 1));
  CHECK(nodes_in(graph, at + 1) == nodes_in(graph, 2));
  CHECK(nodes_in(graph, at + 2) == nodes_in(graph, 3));
  CHECK(graph.regions[at + 1].parent == at);

  const tf::ir::Region& original = graph.regions[2];
  const tf::ir::Region& copy = graph.regions[at + 1];
  CHECK(copy.owner >= nodes);
  CHECK(graph.nodes[copy.owner].op == graph.nodes[original.owner].op);
  REQUIRE(copy.captures.count == original.captures.count);
  for (int k = 0; k < copy.captures.count; ++k) {
    const Id captured = listed(graph, original.captures, k);
    CHECK(listed(graph, copy.captures, k) == clone(captured));
    const bool outside = graph.node_of(captured).region == 0;
    CHECK((clone(captured) == captured) == outside);
  }
  const Id result = listed(graph, graph.regions[1].results, 0);
  CHECK(clone(result) != result);
  CHECK(graph.node_of(clone(result)).region == at);
  CHECK(clone(tf::none) == tf::none);
}

TEST_CASE("the copy of a branch lists copies of its results") {
  Graph graph = traced();
  const Id at = tf::ir::open_region(graph);
  tf::ir::RegionClone clone(graph, 1, graph);
  clone.run();
  const tf::ir::Region& original = graph.regions[3];
  const tf::ir::Region& copy = graph.regions[at + 2];
  REQUIRE(original.given.count == 1);
  REQUIRE(copy.given.count == 1);
  CHECK(listed(graph, copy.given, 0) == clone(listed(graph, original.given, 0)));
  CHECK(copy.iterations == tf::none);
}

TEST_CASE("a copy reads what it is given") {
  Graph graph = traced();
  const Id x = graph.names[0].value;
  const Id other = graph.add_value(tf::record<tf::ops::Neg>, &x, 1, graph.values[x].type);
  const int nodes = graph.nodes.size();
  tf::ir::open_region(graph);
  tf::ir::RegionClone clone(graph, 1, graph);
  clone.give(x, other);
  clone.run();
  int reads = 0;
  for (Id id = nodes; id < graph.nodes.size(); ++id) {
    const tf::ir::Node& node = graph.nodes[id];
    for (int k = 0; k < node.inputs.count; ++k) {
      CHECK(graph.input(node, k) != x);
      reads += graph.input(node, k) == other;
    }
  }
  CHECK(reads >= 3);  // of both sides, and of the branch
}

TEST_CASE("a copy into another graph: parameters and captures are its inputs") {
  const Graph graph = traced();
  const tf::ir::Region& body = graph.regions[1];
  const tf::ir::RegionGraph copy = tf::ir::graph_of_region(graph, 1, tf::Pool<char>(1, 1));
  REQUIRE(copy.graph.error.empty());
  CHECK(copy.inputs.size() == body.parameters.count + body.captures.count);
  CHECK(copy.results.size() == 1);
  CHECK(copy.effects.size() == 1);
  CHECK(copy.graph.regions.size() == 3);
  CHECK(tf::ir::verify(copy.graph).empty());
  const Graph unwanted = graph;
  CHECK(tf::ir::graph_of_region(unwanted, 1, tf::Pool<char>(1, 0)).results[0] == tf::none);
}

TEST_CASE("random numbers keep their keys") {
  const Graph graph = traced();
  const tf::ir::RegionGraph copy = tf::ir::graph_of_region(graph, 1, tf::Pool<char>(1, 1));
  const auto key = [](const Graph& of) {
    for (const tf::ir::Node& node : of.nodes) {
      if (node.op->name == "RandomUniform") return of.words_of(node)[0];
    }
    return 0u;
  };
  CHECK(key(graph) != 0);
  CHECK(key(graph) == key(copy.graph));
}

TEST_CASE("nodes move in front of another; values keep their numbers") {
  Graph graph = traced();
  const Id x = graph.names[0].value;
  const int nodes = graph.nodes.size();
  const Id owner = graph.regions[1].owner;
  const Id first = graph.regions[1].first_node;
  const Id added = graph.add_value(tf::record<tf::ops::Neg>, &x, 1, graph.values[x].type);
  graph.move_before(nodes, first);
  CHECK(graph.values[added].node == first);
  CHECK(graph.regions[1].owner == owner + 1);
  CHECK(graph.regions[1].first_node == first);
  CHECK(tf::ir::verify(graph).empty());
}

TEST_CASE("a result has one value") {
  Graph graph = traced();
  const tf::ir::Node owner = graph.nodes[graph.regions[1].owner];
  const Id token = owner.outputs.first;
  const Id known = tf::ir::known_result(graph, owner, 0);
  REQUIRE(known != tf::none);
  CHECK(tf::ir::control_result(graph, token, 0, graph.values[known].type) == known);
  CHECK(tf::ir::known_result(graph, owner, 7) == tf::none);
  CHECK(tf::ir::known_result(graph, owner, tf::ops::Result::iterations) == tf::none);
}

}  // namespace
