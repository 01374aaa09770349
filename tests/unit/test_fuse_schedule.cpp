// SPDX-License-Identifier: Apache-2.0

// Which nodes become one kernel, and the order of the kernels.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "typeflow/graph.hpp"
#include "typeflow/lower/compile.hpp"

namespace tf = typeflow;

namespace {

struct Clusters {
  tf::Simplified graph;
  tf::Fused fused;
  tf::Pool<tf::Id> order;
  std::vector<std::vector<std::string>> operations;  ///< of each cluster, in order
};

Clusters cluster(const tf::Graph& g, const tf::FusionLimits& limits = {}, bool fuse = true) {
  tf::Pool<tf::Id> roots;
  for (const tf::Name& name : g.names) {
    if (name.kind != tf::NameKind::key) roots.push(name.value);
  }
  Clusters out{simplify(tf::Graph(g), roots), {}, {}, {}};
  out.fused = tf::fuse(out.graph, roots, fuse, limits);
  out.order = tf::schedule(out.graph.graph, out.fused);
  int alive = 0;
  for (const tf::Cluster& c : out.fused.clusters) alive += !c.merged;
  REQUIRE(out.order.size() == alive);
  for (const tf::Id c : out.order) {
    out.operations.emplace_back();
    for (tf::Id id = out.fused.clusters[c].first; id != tf::none; id = out.fused.next[id]) {
      out.operations.back().emplace_back(out.graph.graph.nodes[id].op->name);
    }
  }
  return out;
}

/// The position in the order of the one cluster that has an operation; -1 if there is none.
int position(const Clusters& c, const std::string& operation) {
  int found = -1;
  for (std::size_t i = 0; i < c.operations.size(); ++i) {
    for (const std::string& name : c.operations[i]) {
      if (name == operation) found = static_cast<int>(i);
    }
  }
  return found;
}

using Operations = std::vector<std::vector<std::string>>;

constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto W = tf::variable<float, 784, 10>(g, "W", tf::zeros);
  auto b = tf::variable<float, 10>(g, "b", tf::zeros);
  auto logits = (matmul(x, W) + b).named("logits");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  mean(tf::cast<float>(equal(tf::argmax<1>(logits), tf::argmax<1>(y)))).named("accuracy");
  tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
}

template <int Blocks>
constexpr void chain(tf::Graph& g) {
  auto h = tf::Expr<float, tf::Shape<64, 256>>(tf::placeholder<float, 64, 256>(g, "x"));
  for (int i = 0; i < Blocks; ++i) {
    tf::Scope in(g, "block", i);
    auto W1 = tf::variable<float, 256, 256>(g, "W1");
    auto b1 = tf::variable<float, 256>(g, "b1", tf::zeros);
    auto W2 = tf::variable<float, 256, 256>(g, "W2");
    auto b2 = tf::variable<float, 256>(g, "b2", tf::zeros);
    h = relu(h + (matmul(relu(matmul(h, W1) + b1), W2) + b2));
  }
  auto loss = mean(square(h)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

tf::ProgramPools compile(void (*model)(tf::Graph&)) {
  tf::Graph g;
  model(g);
  tf::ProgramPools program = tf::compile(std::move(g));
  REQUIRE(program.error.view() == "");
  return program;
}

}  // namespace

TEST_CASE("softmax regression with its training step is 7 steps of 6 kernels") {
  const tf::ProgramPools program = compile(softmax_regression);
  CHECK(program.steps.size() == 7);
  CHECK(program.kernels.size() == 6);
}

TEST_CASE("a residual chain: the kernels do not grow with its depth") {
  const tf::ProgramPools two = compile(chain<2>);
  CHECK(two.steps.size() == 16);
  CHECK(two.kernels.size() == 8);
  const tf::ProgramPools four = compile(chain<4>);
  const tf::ProgramPools eight = compile(chain<8>);
  CHECK(four.kernels.size() == eight.kernels.size());
  CHECK(eight.steps.size() - four.steps.size() == 2 * (four.steps.size() - two.steps.size()));
}

TEST_CASE("elementwise operations over one space are one cluster, the order that of their uses") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto b = tf::placeholder<float, 16>(g, "b");
  (tanh(exp(x) - b) * x).named("y");
  CHECK(cluster(g).operations == Operations{{"Exp", "Sub", "Tanh", "Mul"}});
  CHECK(cluster(g, {}, false).operations == Operations{{"Exp"}, {"Sub"}, {"Tanh"}, {"Mul"}});
}

TEST_CASE("a softmax over rows is one cluster with several phases") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  softmax(x).named("y");
  const Clusters c = cluster(g);
  CHECK(c.operations == Operations{{"Max", "Sub", "Exp", "Sum", "Div"}});
  CHECK(c.fused.clusters[c.order[0]].phases == 3);
}

TEST_CASE("what follows a matrix product on its tile joins it") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto w = tf::placeholder<float, 16, 4>(g, "w");
  auto b = tf::placeholder<float, 4>(g, "b");
  relu(matmul(exp(x), w) + b).named("y");
  CHECK(cluster(g).operations == Operations{{"Exp"}, {"MatMul", "Add", "Relu"}});
}

TEST_CASE("what must not be one cluster is not") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  SUBCASE("two devices") {
    auto h = tf::on<tf::Cpu<0>>(g, [&] { return exp(x); });
    tf::on<tf::Cpu<1>>(g, [&] { return tanh(h).named("y"); });
  }
  SUBCASE("elements of 4 and of 8 bytes") { tf::cast<double>(exp(x)).named("y"); }
  SUBCASE("reductions over rows and over columns") {
    (sum<0>(exp(x), tf::keep_dims) + 1).named("y");
    max<1>(exp(x)).named("z");
  }
  SUBCASE("two spaces") {
    auto y = exp(x);
    y.named("y");
    tanh(sum(y)).named("z");
    relu(tf::placeholder<float, 4>(g, "w")).named("w2");
  }
  CHECK(cluster(g).operations.size() == 2);
}

TEST_CASE("the limits hold") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8>(g, "x");
  auto y = x;
  for (int i = 0; i < 20; ++i) y = exp(y);
  y.named("y");
  CHECK(cluster(g).operations.size() == 1);
  CHECK(cluster(g, {.members = 5}).operations.size() == 4);
  tf::Graph sums;
  auto total = tf::placeholder<float, 8>(sums, "x");
  for (int i = 0; i < 12; ++i) {
    total = total + tf::placeholder<float, 8>(sums, tf::Label("more", i));
  }
  total.named("y");
  for (const tf::Cluster& c : cluster(sums).fused.clusters) {
    if (!c.merged) CHECK(c.tensors <= tf::FusionLimits{}.tensors);
  }
  CHECK(cluster(sums).operations.size() == 2);
}

TEST_CASE("an update joins the kernel that computes its value") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  assign(v, tanh(v) * 0.5f).named("update");
  CHECK(cluster(g).operations == Operations{{"Tanh", "Mul", "Assign"}});
}

TEST_CASE("an update is apart from a value that a run may fetch without it") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto next = tanh(v).named("next");
  assign(v, next).named("update");
  CHECK(cluster(g).operations == Operations{{"Tanh"}, {"Assign"}});
}

TEST_CASE("what reads a variable's old value comes before what writes it") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto x = tf::placeholder<float, 8>(g, "x");
  assign(v, exp(x)).named("update");
  sum(square(v)).named("norm");
  const Clusters c = cluster(g);
  CHECK(position(c, "Square") < position(c, "Assign"));
}

TEST_CASE("two variables that swap their values need a copy, or both reads first") {
  tf::Graph g;
  auto a = tf::variable<float, 8>(g, "a");
  auto b = tf::variable<float, 8>(g, "b");
  tf::group(assign(a, exp(b)), assign(b, tanh(a))).named("swap");
  const Clusters c = cluster(g);
  int last_read = -1;
  int first_write = 99;
  for (int i = 0; i < static_cast<int>(c.operations.size()); ++i) {
    const auto& operations = c.operations[static_cast<std::size_t>(i)];
    for (const std::string& name : operations) {
      if (name == "Exp" || name == "Tanh") last_read = i;
      if (name == "Assign" && first_write == 99) first_write = i;
    }
  }
  CHECK(last_read <= first_write);
}

TEST_CASE("writes and reads of one variable stay in the order of the model") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto x = tf::placeholder<float, 8>(g, "x");
  assign(v, x).named("first");
  exp(v.read()).named("between");
  assign(v, tanh(x)).named("second");
  relu(v.read()).named("after");
  const Clusters c = cluster(g);
  std::vector<int> accesses;
  for (int i = 0; i < c.order.size(); ++i) {
    for (tf::Id id = c.fused.clusters[c.order[i]].first; id != tf::none; id = c.fused.next[id]) {
      const tf::Op& op = *c.graph.graph.nodes[id].op;
      if (op.name == "Assign" || op.name == "Read") accesses.push_back(id);
    }
  }
  REQUIRE(accesses.size() == 4);
  CHECK(accesses[0] < accesses[1]);
  CHECK(accesses[1] < accesses[2]);
  CHECK(accesses[2] < accesses[3]);
}

TEST_CASE("what follows an effect is no part of a kernel that the effect waits for") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto old = square(v);  // read before the update
  auto now = tf::after(assign(v, old + 1), v.read());
  (old * now).named("y");
  const Clusters c = cluster(g);
  CHECK(position(c, "Square") < position(c, "Read"));
  CHECK(position(c, "Read") < position(c, "Mul"));
}

TEST_CASE("an update runs as soon as it can, so that gradients die early") {
  const tf::ProgramPools program = compile(chain<8>);
  // The way back begins at about half of the steps, and the first update with it.
  int first_write = program.steps.size();
  for (int i = program.steps.size() - 1; i >= 0; --i) {
    const tf::Step& step = program.steps[i];
    for (int k = step.inputs; k < step.operands.count; ++k) {
      const tf::Slot& slot = program.slots[program.operands[step.operands.first + k]];
      if (slot.kind == tf::SlotKind::variable) first_write = i;
    }
  }
  CHECK(first_write < program.steps.size() / 2);
}
