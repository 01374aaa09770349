// SPDX-License-Identifier: Apache-2.0

// Programs: memory plans never let live tensors overlap, steps depend on earlier ones, costs.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/graph.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/lower/compile.hpp>
#include <typeflow/lower/cost.hpp>
#include <typeflow/lower/dependencies.hpp>

#include "fuzz/model.hpp"
#include "support/plan_memory.hpp"

namespace {

namespace tf = typeflow;

/// A program made at run time.
struct Program {
  tf::ir::InterpretedProgram program;
  const tf::ir::ProgramPools& pools = program.pools();

  explicit Program(const tf::ir::Graph& graph) : program(graph) {}
  tf::ir::ProgramView view() const { return program.view(); }
};

struct Life {
  tf::Id slot;
  tf::Id first;
  tf::Id last;
  std::int64_t begin;
  std::int64_t end;
};

std::vector<Life> lives_of(const tf::ir::ProgramView& v, const test::MemoryPlan& plan,
                           std::int64_t batch) {
  std::vector<Life> lives;
  for (tf::Id slot = 0; slot < v.slots.size; ++slot) {
    if (v.slots[slot].kind != tf::ir::SlotKind::temporary) continue;
    if (v.slots[slot].within != tf::none) continue;  // has the memory of another
    Life life{slot, tf::none, tf::none, 0, 0};
    for (tf::Id s = 0; s < v.steps.size; ++s) {
      for (int i = 0; i < v.steps[s].operands.count; ++i) {
        const tf::Id operand = v.operands[v.steps[s].operands.first + i];
        if (operand != slot && v.slots[operand].within != slot) continue;
        if (life.first == tf::none) life.first = s;
        life.last = s;
      }
    }
    if (life.first == tf::none) continue;
    life.begin = plan.offset[static_cast<std::size_t>(slot)];
    life.end = life.begin + tf::count_of(v.type_of(slot).dims).resolve(batch) *
                                tf::size_of(v.type_of(slot).dtype);
    lives.push_back(life);
  }
  return lives;
}

/// Whether `out` may take the place of `in` in step s: it is read only where it is written.
bool in_place(const tf::ir::ProgramView& v, tf::Id s, const Life& in, const Life& out) {
  const tf::ir::Step& step = v.steps[s];
  const tf::ir::KernelSummary& kernel = v.kernels[step.kernel];
  if (in.begin != out.begin || in.end != out.end) return false;
  for (int i = 0; i < step.operands.count; ++i) {
    const tf::Id slot = v.operands[step.operands.first + i];
    if (slot == in.slot && (i >= step.inputs || (kernel.aligned >> i & 1u) == 0)) return false;
    if (slot == out.slot &&
        (i < step.inputs || (kernel.element_stores >> (i - step.inputs) & 1u) == 0)) {
      return false;
    }
  }
  return true;
}

struct Counts {
  int shared = 0;
  int replaced = 0;
};

void check_plan(const tf::ir::ProgramView& v, std::int64_t batch, Counts& counts) {
  const test::MemoryPlan plan = test::plan_memory(v, batch);
  const std::vector<Life> lives = lives_of(v, plan, batch);
  for (const Life& a : lives) {
    CHECK(a.begin >= 0);
    CHECK(a.begin % tf::exec::memory_alignment == 0);
    CHECK(a.end <= plan.bytes);
    for (const Life& b : lives) {
      if (b.first < a.first || a.slot == b.slot) continue;
      const bool apart = a.end <= b.begin || b.end <= a.begin;
      if (apart || a.begin == a.end || b.begin == b.end) continue;
      if (b.first > a.last) {
        ++counts.shared;
        continue;
      }
      const bool replaces = b.first == a.last && a.first < b.first && in_place(v, b.first, a, b);
      CHECK(replaces);
      counts.replaced += replaces;
    }
  }
  const test::MemoryPlan apart = test::plan_memory(v, batch, true);
  CHECK(apart.bytes >= plan.bytes);
  for (const Life& a : lives_of(v, apart, batch)) {
    for (const Life& b : lives_of(v, apart, batch)) {
      CHECK((a.slot == b.slot || a.end <= b.begin || b.end <= a.begin || a.begin == a.end ||
             b.begin == b.end));
    }
  }
}

constexpr void deep(tf::Graph& g) {
  auto h = tf::placeholder<float, tf::batch, 32>(g, "x");
  for (int i = 0; i < 10; ++i) {
    h = relu(matmul(h, tf::variable<float, 32, 32>(g, {"W", i})));
  }
  h.named("y");
}

}  // namespace

TEST_CASE("plans of random programs keep live tensors apart") {
  Counts counts;
  for (int seed = 0; seed < 80; ++seed) {
    CAPTURE(seed);
    fuzz::Model model = fuzz::random_model(static_cast<std::uint64_t>(seed));
    const Program program(std::move(model.graph));
    REQUIRE(program.pools.error.empty());
    for (const std::int64_t batch : {1, 40}) check_plan(program.view(), batch, counts);
  }
  CHECK(counts.shared > 100);
  CHECK(counts.replaced > 10);
}

TEST_CASE("the verifier of programs sees what is wrong") {
  const auto broken = [](const auto& breaking) {
    tf::Graph graph(tf::inference);
    deep(graph);
    tf::ir::ProgramPools pools = tf::ir::compile(std::move(graph));
    CHECK(tf::ir::verify(pools).empty());
    breaking(pools);
    return std::string(tf::ir::verify(pools).view());
  };
  CHECK(broken([](tf::ir::ProgramPools& p) { std::swap(p.steps[3], p.steps[4]); }) ==
        "step 3: reads what is not yet written");
  CHECK(broken([](tf::ir::ProgramPools& p) { p.steps[2].kernel = 7; }) == "step 2: no such kernel");
  CHECK(broken([](tf::ir::ProgramPools& p) { p.steps[1].inputs = 1; }) ==
        "step 1: other operands than its kernel has");
  CHECK(broken([](tf::ir::ProgramPools& p) { p.operands[p.steps[5].operands.first] = 1000; }) ==
        "step 5: no such slot");
  CHECK(broken([](tf::ir::ProgramPools& p) { p.steps[1].operands = p.steps[0].operands; }) ==
        "step 1: writes a temporary again");
}

TEST_CASE("a deep net needs two layers' memory for inference") {
  tf::Graph graph(tf::inference);
  deep(graph);
  const Program program(std::move(graph));
  CHECK(test::plan_memory(program.view(), 8).bytes == 2 * 8 * 32 * 4);
  CHECK(test::plan_memory(program.view(), 8, true).bytes == 10 * 8 * 32 * 4);
}

TEST_CASE("steps depend on earlier ones: on what they read, and on readers of what they write") {
  for (int seed = 0; seed < 40; ++seed) {
    fuzz::Model model = fuzz::random_model(static_cast<std::uint64_t>(seed));
    const Program program(std::move(model.graph));
    const tf::ir::ProgramView v = program.view();
    const auto waits = tf::ir::dependencies_of(v);
    REQUIRE(waits.size() == static_cast<std::size_t>(v.steps.size));
    for (tf::Id s = 0; s < v.steps.size; ++s) {
      const auto& list = waits[static_cast<std::size_t>(s)];
      CHECK(std::is_sorted(list.begin(), list.end()));
      if (!list.empty()) CHECK(list.back() < s);
      const tf::ir::Step& step = v.steps[s];
      for (int i = 0; i < step.inputs; ++i) {
        const tf::ir::Slot& slot = v.slots[v.operands[step.operands.first + i]];
        if (slot.kind != tf::ir::SlotKind::temporary) continue;
        CHECK(std::binary_search(list.begin(), list.end(), slot.step));
      }
    }
  }
}

TEST_CASE("costs count a product's multiply-adds and every operand's bytes") {
  tf::Graph graph(tf::inference);
  deep(graph);
  const Program program(std::move(graph));
  const tf::ir::ProgramView v = program.view();
  for (const tf::ir::Step& step : v.steps) {
    const tf::ir::StepCost cost = tf::ir::cost_of(v, step, 8);
    CHECK(cost.flops == 2 * 8 * 32 * 32 + 8 * 32);  // relu is one a result
    CHECK(cost.bytes == 4 * (8 * 32 + 32 * 32 + 8 * 32));
  }
}
