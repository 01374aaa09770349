// SPDX-License-Identifier: Apache-2.0

// Properties that hold for every graph, tried on many random ones: passes keep what a graph
// computes, and programs run in an order in which that is right.

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "../support/random_graph.hpp"
#include "typeflow/lower/compile.hpp"

namespace tf = typeflow;

namespace {

/// The models to try: exact and smooth ones, small and large, with effects and without. The count
/// grows with TYPEFLOW_RANDOM_GRAPHS.
template <class F>
void for_models(const F& f) {
  const char* const more = std::getenv("TYPEFLOW_RANDOM_GRAPHS");
  const int count = more != nullptr ? std::atoi(more) : 150;
  for (int seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    test::RandomModelOptions options;
    options.operations = 5 + seed * 7 % 56;
    options.exact = seed % 2 == 0;
    options.effects = seed % 3 != 0;
    f(test::random_model(static_cast<std::uint64_t>(seed), options));
  }
}

/// The fetches to try: all tensors; each effect by itself, with a tensor; everything.
std::vector<std::vector<std::string>> fetches_of(const test::RandomModel& model) {
  std::vector<std::vector<std::string>> out{model.outputs};
  for (const std::string& effect : model.effects) out.push_back({effect, model.outputs.front()});
  out.push_back(model.outputs);
  out.back().insert(out.back().end(), model.effects.begin(), model.effects.end());
  return out;
}

void check_same(const test::RandomModel& model, tf::Interpreter& a, tf::Interpreter& b) {
  for (const std::vector<std::string>& fetches : fetches_of(model)) {
    CAPTURE(fetches.front());
    for (tf::Interpreter* interpreter : {&a, &b}) {
      interpreter->variables = model.variables;
      interpreter->random = {1, 2};
    }
    const std::vector<tf::HostTensor> x = a.run(fetches, model.feeds);
    const std::vector<tf::HostTensor> y = b.run(fetches, model.feeds);
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(test::difference(x[i], y[i]) <= test::tolerance(model));
    }
    for (const auto& [name, value] : a.variables) {
      CAPTURE(name);
      CHECK(test::difference(value, b.variables.at(name)) <= test::tolerance(model));
    }
  }
}

}  // namespace

TEST_CASE("the verifier finds nothing wrong with traced and simplified graphs") {
  for_models([](const test::RandomModel& model) {
    CHECK(tf::verify(model.graph).view() == "");
    const tf::Simplified s = simplify(tf::Graph(model.graph), model.roots());
    CHECK(tf::verify(s).view() == "");
  });
}

TEST_CASE("a simplified graph computes what the original does") {
  int smaller = 0;
  for_models([&](const test::RandomModel& model) {
    const tf::Simplified s = simplify(tf::Graph(model.graph), model.roots());
    tf::Interpreter original(model.graph);
    tf::Interpreter simplified(s.graph, s.order, s.map);
    check_same(model, original, simplified);
    smaller += s.order.size() < model.graph.nodes.size();
  });
  CHECK(smaller > 100);
}

TEST_CASE("simplifying for some of the names keeps them") {
  for_models([](const test::RandomModel& model) {
    tf::Pool<tf::Id> roots;
    for (const tf::Name& name : model.graph.names) {
      if (model.graph.text_of(name).view() == model.outputs.front()) roots.push(name.value);
    }
    const tf::Simplified s = simplify(tf::Graph(model.graph), roots);
    REQUIRE(tf::verify(s).view() == "");
    tf::Interpreter original(model.graph);
    tf::Interpreter simplified(s.graph, s.order, s.map);
    original.variables = simplified.variables = model.variables;
    const auto x = original.run({model.outputs.front()}, model.feeds);
    const auto y = simplified.run({model.outputs.front()}, model.feeds);
    CHECK(test::difference(x[0], y[0]) <= test::tolerance(model));
  });
}

namespace {

/// Whether a step reads a variable as it is then, not as it was when the run started.
bool is_read(const tf::ProgramPools& p, const tf::Step& step) {
  const tf::KernelSpec& kernel = p.kernels[step.kernel];
  return kernel.items == 1 && kernel.item[0].op->name == "Read";
}

/// Checks that the steps, one after the other, find what they read.
void check_order(const tf::ProgramPools& p) {
  REQUIRE(p.error.view() == "");
  std::vector<int> written(static_cast<std::size_t>(p.slots.size()), tf::none);  // last, by slot
  for (int s = 0; s < p.steps.size(); ++s) {
    const tf::Step& step = p.steps[s];
    CAPTURE(s);
    REQUIRE(step.kernel >= 0);
    REQUIRE(step.kernel < p.kernels.size());
    CHECK(step.inputs <= step.operands.count);
    for (int k = 0; k < step.inputs; ++k) {
      const tf::Id id = p.operands[step.operands.first + k];
      const tf::Slot& slot = p.slots[id];
      const int writer = written[static_cast<std::size_t>(id)];
      if (slot.kind == tf::SlotKind::temporary) {
        CHECK(slot.step == writer);
        CHECK(writer != tf::none);
      } else if (slot.kind == tf::SlotKind::variable && !is_read(p, step)) {
        CHECK_MESSAGE(writer == tf::none, "reads the value at the start after it is overwritten");
      }
    }
    for (int k = step.inputs; k < step.operands.count; ++k) {
      const tf::Id id = p.operands[step.operands.first + k];
      const tf::SlotKind kind = p.slots[id].kind;
      CHECK((kind == tf::SlotKind::temporary || kind == tf::SlotKind::variable));
      if (kind == tf::SlotKind::temporary) {
        CHECK(written[static_cast<std::size_t>(id)] == tf::none);  // once
      }
      written[static_cast<std::size_t>(id)] = s;
    }
    for (int k = 0; k < step.after.count; ++k) CHECK(p.operands[step.after.first + k] < s);
  }
  for (const tf::ProgramName& name : p.names) {
    for (int k = 0; k < name.steps.count; ++k) {
      CHECK(p.operands[name.steps.first + k] < p.steps.size());
    }
  }
}

}  // namespace

TEST_CASE("the steps of a compiled graph find what they read") {
  for_models(
      [](const test::RandomModel& model) { check_order(tf::compile(tf::Graph(model.graph))); });
}

TEST_CASE("also if it is compiled for some fetches, or for some feeds") {
  for_models([](const test::RandomModel& model) {
    tf::Request request;
    request.everything = false;
    tf::Request fed;
    for (tf::Id i = 0; i < model.graph.names.size(); ++i) {
      const tf::NameKind kind = model.graph.names[i].kind;
      if (kind == tf::NameKind::value && request.fetches.size() < 2) request.fetches.push(i);
      if (kind == tf::NameKind::effect && i % 2 == 0) request.fetches.push(i);
      if (kind == tf::NameKind::value && fed.feeds.empty()) fed.feeds.push(i);
    }
    check_order(tf::compile(tf::Graph(model.graph), request));
    check_order(tf::compile(tf::Graph(model.graph), fed));
  });
}

TEST_CASE("a graph that is not fused has as many steps as it has nodes that compute, at least") {
  for_models([](const test::RandomModel& model) {
    tf::Simplified s = simplify(tf::Graph(model.graph), model.roots());
    tf::Simplified t = s;
    const tf::Fused fused = fuse(s, model.roots());
    const tf::Fused apart = fuse(t, model.roots(), false);
    int fused_clusters = 0;
    for (const tf::Cluster& c : fused.clusters) fused_clusters += !c.merged;
    CHECK(fused_clusters <= apart.clusters.size());
    for (const tf::Cluster& c : apart.clusters) CHECK(c.members == 1);
  });
}
