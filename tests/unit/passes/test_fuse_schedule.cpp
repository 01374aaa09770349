// SPDX-License-Identifier: Apache-2.0

// Which nodes become one kernel, and the order of the kernels.

#include <doctest/doctest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/devices.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/lower/compile.hpp"
#include "typeflow/lower/describe_passes.hpp"

#include "../examples/ch06_resnet_v2/resnet.hpp"

namespace tf = typeflow;

namespace {

struct Clusters {
  tf::ir::Simplified graph;
  tf::ir::Fused fused;
  tf::Pool<tf::Id> order;
  std::vector<std::vector<std::string>> operations;  ///< of each cluster, in order
};

/// Fused; nothing is recomputed, so that one pass is seen at a time.
Clusters cluster(const tf::ir::Graph& g, const tf::ir::FusionLimits& limits = {}, bool fuse = true,
                 bool recompute = false) {
  const tf::ir::Roots roots = tf::ir::named_roots(g, {}).roots;
  Clusters out{tf::ir::simplify(tf::ir::Graph(g), roots.values), {}, {}, {}};
  out.fused = tf::ir::fuse(out.graph, roots, fuse, limits);
  if (recompute) tf::ir::recompute(out.graph, out.fused, roots, limits);
  out.order = tf::ir::schedule(out.graph.graph, out.fused);
  int alive = 0;
  for (const tf::ir::Cluster& c : out.fused.clusters) alive += !c.merged;
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

/// The operations of the clusters in their order: "MatMul Add | Exp Sum".
std::string text(const Clusters& c) {
  std::string out;
  for (const std::vector<std::string>& operations : c.operations) {
    out += out.empty() ? "" : " |";
    for (const std::string& name : operations) out += (out.empty() ? "" : " ") + name;
  }
  return out;
}

constexpr void softmax_regression(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 784>(g, "x");
  auto y = tf::placeholder<float, tf::batch, 10>(g, "y");
  auto W = tf::variable<float, 784, 10>(g, "W", tf::zeros());
  auto b = tf::variable<float, 10>(g, "b", tf::zeros());
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
    auto b1 = tf::variable<float, 256>(g, "b1", tf::zeros());
    auto W2 = tf::variable<float, 256, 256>(g, "W2");
    auto b2 = tf::variable<float, 256>(g, "b2", tf::zeros());
    h = relu(h + (matmul(relu(matmul(h, W1) + b1), W2) + b2));
  }
  auto loss = mean(square(h)).named("loss");
  tf::GradientDescent{.rate = 0.01f}.minimize(loss).named("train");
}

tf::ir::ProgramPools compile(void (*model)(tf::Graph&)) {
  tf::Graph g;
  model(g);
  tf::ir::ProgramPools program = tf::ir::compile(std::move(g));
  REQUIRE(program.error.view() == "");
  return program;
}

}  // namespace

TEST_CASE("softmax regression with its training step is 9 steps") {
  const tf::ir::ProgramPools program = compile(softmax_regression);
  CHECK(program.steps.size() == 9);
  CHECK(program.kernels.size() == 9);
}

TEST_CASE("a residual chain: the kernels do not grow with its depth") {
  const tf::ir::ProgramPools two = compile(chain<2>);
  CHECK(two.steps.size() == 16);
  CHECK(two.kernels.size() == 8);
  const tf::ir::ProgramPools four = compile(chain<4>);
  const tf::ir::ProgramPools eight = compile(chain<8>);
  CHECK(four.kernels.size() == eight.kernels.size());
  CHECK(eight.steps.size() - four.steps.size() == 2 * (four.steps.size() - two.steps.size()));
}

TEST_CASE("elementwise operations over one space are one cluster, the order that of their uses") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto b = tf::placeholder<float, 16>(g, "b");
  (tanh(exp(x) - b) * x).named("y");
  CHECK(text(cluster(g)) == "Exp Sub Tanh Mul");
  CHECK(text(cluster(g, {}, false)) == "Exp | Sub | Tanh | Mul");
}

TEST_CASE("a softmax over rows is one cluster with several phases") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  softmax(x).named("y");
  const Clusters c = cluster(g);
  CHECK(text(c) == "Max Sub Exp Sum Div");
  CHECK(c.fused.clusters[c.order[0]].phases == 3);
}

TEST_CASE("few long rows are read once by a kernel") {
  const auto softmax_of = []<tf::Extent Rows, tf::Extent Columns>() {
    tf::Graph g;
    softmax(tf::placeholder<float, Rows, Columns>(g, "x")).named("y");
    return text(cluster(g));
  };
  CHECK(softmax_of.operator()<1, 65536>() == "Max | Sub Exp Sum | Div");
  CHECK(softmax_of.operator()<1, 65535>() == "Max Sub Exp Sum Div");
  CHECK(softmax_of.operator()<4, 4 * 65536>() == "Max | Sub Exp Sum | Div");
  CHECK(softmax_of.operator()<4, 4 * 65536 - 1>() == "Max Sub Exp Sum Div");
  CHECK(softmax_of.operator()<9, 9 * 65536>() == "Max Sub Exp Sum Div");
}

TEST_CASE("what follows a matrix product on its tile joins it") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto w = tf::placeholder<float, 16, 4>(g, "w");
  auto b = tf::placeholder<float, 4>(g, "b");
  relu(matmul(exp(x), w) + b).named("y");
  CHECK(text(cluster(g)) == "Exp | MatMul Add Relu");
}

TEST_CASE("bias, batch norm, residual addition and activation follow a convolution on its tile") {
  const auto block = [](tf::Graph& g) {
    auto x = tf::placeholder<float, tf::batch, 8, 8, 16>(g, "x");
    auto h = relu(tf::batch_norm(g, "norm1", tf::conv2d<16, 3>(g, "conv1", x)));
    relu(tf::batch_norm(g, "norm2", tf::conv2d<16, 3>(g, "conv2", h)) + x).named("y");
  };
  SUBCASE("all, with the averages of inference") {
    tf::Graph g(tf::inference);
    block(g);
    // The factors of 16 channels come first.
    CHECK(text(cluster(g)) ==
          "Add Rsqrt Mul | Conv Add Sub Fma Relu | Add Rsqrt Mul | "
          "Conv Add Sub Fma Add Relu");
  }
  SUBCASE("in training the batch's mean comes between") {
    tf::Graph g(tf::training);
    block(g);
    const std::string all = text(cluster(g, {}, true, true));
    CAPTURE(all);
    CHECK(all.find("Conv Add |") != std::string::npos);
    CHECK(all.find("Sub Fma Relu") != std::string::npos);
    CHECK(all.find("Sub Fma Add Relu") != std::string::npos);
  }
}

namespace {

/// The steps of a description of passes, one a line: the name of the first result without that of
/// its operation, then all operations.
std::string described_steps(const std::string& description) {
  std::istringstream lines(description.substr(description.find("after fuse:")));
  std::string out;
  bool is_first = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  cluster ")) {
      is_first = true;
      continue;
    }
    const std::size_t begin = line.find(" = ");
    if (!line.starts_with("    ") || begin == std::string::npos) continue;
    const std::string result = line.substr(begin + 3, line.find('(') - begin - 3);
    const std::size_t end = result.rfind('/');
    if (is_first) out += (out.empty() ? "" : "\n") + result.substr(0, end) + ':';
    out += ' ' + result.substr(end + 1);
    is_first = false;
  }
  return out;
}

/// A stage of ResNet v2: the first unit's shortcut is a convolution, the second one's the sum
/// before it, the last one's every other pixel of the sum.
constexpr void preactivated(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 56, 56, 64>(g, "x");
  resnet::stage<resnet::Stage{256, 3, 2}>(g, "block", x).named("y");
}

}  // namespace

TEST_CASE(
    "at inference each convolution of a pre-activation unit is a step with all that follows") {
  // The factors of the channels, gamma * rsqrt(variance + epsilon), are small steps of their own.
  const std::string factors = "Add Rsqrt Mul";
  std::istringstream lines(described_steps(tf::describe_passes<preactivated, tf::inference>()));
  std::string large;
  int small = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(": " + factors)) {
      ++small;
    } else {
      large += line + '\n';
    }
  }
  CHECK(small == 9);  // batch norms
  // A unit's last convolution has its bias, the sum with the shortcut, and the next unit's batch
  // norm and relu. It stores the sum, too, for the next unit's shortcut.
  CHECK(large ==
        "block/unit_1/preact: Sub Fma Relu\n"
        "block/unit_1/shortcut: Conv Add\n"
        "block/unit_1/conv1/conv: Conv Sub Fma Relu\n"
        "block/unit_1/conv2/conv: Conv Sub Fma Relu\n"
        "block/unit_1/conv3: Conv Add Add Sub Fma Relu\n"
        "block/unit_2/conv1/conv: Conv Sub Fma Relu\n"
        "block/unit_2/conv2/conv: Conv Sub Fma Relu\n"
        "block/unit_2/conv3: Conv Add Add Sub Fma Relu\n"
        "block/unit_3: MaxPool\n"
        "block/unit_3/conv1/conv: Conv Sub Fma Relu\n"
        "block/unit_3/conv2/conv: Conv Sub Fma Relu\n"
        "block/unit_3/conv3: Conv Add Add\n");
}

TEST_CASE("what others read is computed by them, if that takes no more memory") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto y = tf::placeholder<float, 8, 16>(g, "y");
  const auto recomputed = [&] { return text(cluster(g, {}, true, true)); };
  SUBCASE("a softmax's exponentials") {
    auto p = softmax(tf::placeholder<float, 4096, 512>(g, "logits"));
    sum<1>(square(p)).named("a");
    (p * tf::placeholder<float, 4096, 512>(g, "z")).named("b");
    CHECK(text(cluster(g)) == "Max Sub Exp Sum Div | Mul | Square Sum");
    CHECK(recomputed() == "Max Sub Exp Sum | Sub Exp Div Mul | Sub Exp Div Square Sum");
  }
  SUBCASE("not what a product reads, too") {
    auto h = relu(x);
    matmul<tf::transpose_b>(h, y).named("a");
    (h * y).named("b");
    CHECK(recomputed() == text(cluster(g)));
  }
  SUBCASE("not what is named") {
    auto h = relu(x).named("h");
    (h + y).named("a");
    (h * y).named("b");
    CHECK(recomputed() == text(cluster(g)));
  }
  SUBCASE("not where a fold over both axes would read a row's value") {
    auto p = softmax(x);
    sum(square(p)).named("a");
    (p * y).named("b");
    CHECK(recomputed() == text(cluster(g)));
  }
  SUBCASE("not what takes two tensors in place of one") {
    auto h = x * y;
    exp(h).named("a");
    tanh(h).named("b");
    CHECK(recomputed() == "Mul | Tanh | Exp");
  }
  SUBCASE("not what costs much") {
    auto h = lgamma(x);
    exp(h).named("a");
    tanh(h).named("b");
    CHECK(recomputed() == "Lgamma | Tanh | Exp");
  }
  SUBCASE("not from a variable that is written") {
    auto v = tf::variable<float, 8, 16>(g, "v");
    auto h = square(v);
    exp(h).named("a");
    tanh(h).named("b");
    assign(v, y).named("e");
    CHECK(recomputed() == text(cluster(g)));
  }
}

namespace {

/// What describe_passes says about the values that kernels of a model could compute again.
template <class M>
std::string costs(const M& model) {
  tf::Graph g;
  model(g);
  const std::string all = tf::describe_passes(g);
  const std::string_view begin = "after recompute:";
  std::string out;
  std::size_t at = all.find(begin);
  const std::size_t end = all.find("after find_strided_views", at);
  while (at < end) {
    const std::size_t line = all.find('\n', at) + 1;
    if (all.compare(at, 6, "  comp") == 0 || all.compare(at, 6, "  stor") == 0) {
      out += all.substr(at + 2, line - at - 3) + "; ";
    }
    at = line;
  }
  return out;
}
/// f(x) of a tensor of R x 256, read by so many kernels.
template <int R, int Readers, class F>
std::string costs_of(const F& f) {
  return costs([&](tf::Graph& g) {
    const auto x = tf::placeholder<float, R, 256>(g, "x");
    const auto y = f(x);
    sum<1>(square(y)).named("a");
    if constexpr (Readers > 1) sum<0>(y).named("b");
    if constexpr (Readers > 2) max<1>(y).named("c");
    if constexpr (Readers > 3) max<0>(y).named("d");
    if constexpr (Readers > 4) min<1>(y).named("e");
    if constexpr (Readers > 5) min<0>(y).named("f");
  });
}

}  // namespace

TEST_CASE("what several kernels read is computed again where flops cost less than bytes") {
  constexpr int small = 64;    // 64 KB
  constexpr int large = 8192;  // 8 MB
  const auto cheap = [](const auto& x) { return relu(x); };
  const auto function = [](const auto& x) { return exp(x); };
  const auto whole_rows = [](const auto& x) { return softmax(x); };
  SUBCASE("cheap operations, of tensors of any size") {
    const std::string text = "computed again %1: 1 flops or 12 bytes of an element, 2 readers; ";
    CHECK(costs_of<small, 2>(cheap) == text);
    CHECK(costs_of<large, 2>(cheap) == text);
    CHECK(costs_of<small, 6>(cheap) ==
          "computed again %1: 5 flops or 12 bytes of an element, 6 readers; ");
  }
  SUBCASE("functions, of tensors that no cache holds") {
    CHECK(costs_of<small, 2>(function) ==
          "stored %1: 16 flops or 12 bytes of an element, 2 readers; ");
    CHECK(costs_of<large, 2>(function) ==
          "computed again %1: 16 flops or 12 bytes of an element, 2 readers; ");
    CHECK(costs_of<small, 2>(whole_rows).find("stored") == 0);
    CHECK(costs_of<large, 2>(whole_rows).find("computed again") == 0);
  }
  SUBCASE("but not for many readers") {
    CHECK(costs_of<large, 6>(function) ==
          "stored %1: 80 flops or 12 bytes of an element, 6 readers; ");
    CHECK(costs_of<large, 4>(whole_rows).find("stored") == 0);
  }
  SUBCASE("a tensor that readers read anyway makes it cheaper") {
    CHECK(costs([](tf::Graph& g) {
            const auto x = tf::placeholder<float, small, 256>(g, "x");
            const auto y = exp(x);
            sum<1>(y * x).named("a");
            sum<0>(y + x).named("b");
          }) == "computed again %1: 16 flops or 20 bytes of an element, 2 readers; ");
  }
}

TEST_CASE("one_hot is computed where it is read, for labels of any type") {
  const auto loss = []<class T>(T) {
    tf::Graph g;
    auto x = tf::placeholder<float, tf::batch, 10>(g, "x");
    auto labels = tf::placeholder<T, tf::batch>(g, "labels");
    (-sum<1>(tf::one_hot<10>(labels) * log_softmax(x))).named("loss");
    return text(cluster(g));
  };
  const std::string rows = "Max Sub Exp Sum Log Sub Equal Select Mul Sum Neg";
  CHECK(loss(std::int32_t{}) == rows);
  CHECK(loss(std::uint32_t{}).find("Equal Select Mul Sum Neg") != std::string::npos);
  CHECK(loss(std::int64_t{}) == "Minimum Maximum | Cast | " + rows);
  CHECK(loss(std::uint64_t{}) == "Minimum | Cast | " + rows);
  CHECK(loss(std::uint8_t{}) == "Cast | " + rows);
}

TEST_CASE("what must not be one cluster is not") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  SUBCASE("two devices") {
    auto h = tf::on<tf::Cpu<0>>(g, [&] { return exp(x); });
    tf::on<tf::Cpu<1>>(g, [&] { return tanh(h).named("y"); });
  }
  SUBCASE("elements of 4 and of 8 bytes") { tf::cast<double>(exp(x)).named("y"); }
  SUBCASE("two spaces") {
    auto y = exp(x);
    y.named("y");
    tanh(sum(y)).named("z");
    relu(tf::placeholder<float, 4>(g, "w")).named("w2");
  }
  CHECK(cluster(g).operations.size() == 2);
}

TEST_CASE("reductions over rows and over columns are apart") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto y = exp(x);
  auto rows = max<1>(y);
  tf::concat<0>(sum<0>(y), rows).named("z");
  CHECK(text(cluster(g)) == "Exp Max | Sum | Concat");
}

TEST_CASE("a value per row does not join what runs along a part of the row's axes") {
  tf::Graph g;
  auto z = tf::placeholder<float, 3, 3, 5>(g, "z");
  auto b = tf::placeholder<float, 5>(g, "b");
  (sum<0>(z) + b).named("y");
  CHECK(text(cluster(g)) == "Sum | Add");
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
  for (const tf::ir::Cluster& c : cluster(sums).fused.clusters) {
    if (!c.merged) CHECK(c.tensors <= tf::ir::FusionLimits{}.tensors);
  }
  CHECK(cluster(sums).operations.size() == 2);
}

TEST_CASE("an update joins the kernel that computes its value") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  assign(v, tanh(v) * 0.5f).named("update");
  CHECK(text(cluster(g)) == "Tanh Mul Assign");
}

TEST_CASE("an update joins the kernel that folds the variable") {
  const auto update = []<tf::Extent Size>() {
    tf::Graph g;
    auto v = tf::variable<float, Size>(g, "v");
    assign(v, v / sum(square(v))).named("update");
    return text(cluster(g));
  };
  CHECK(update.operator()<100>() == "Square Sum Div Assign");
  CHECK(update.operator()<100'000>() == "Square Sum | Div Assign");
}

TEST_CASE("an update is apart from a result that a run fetches without it") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto next = tanh(v);
  assign(v, next).named("update");
  (next * 1.5f).named("y");
  CHECK(text(cluster(g)) == "Tanh | Assign | Mul");
}

TEST_CASE("a name on the way to a result splits no kernel") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v");
  auto next = tanh(v).named("next");
  assign(v, exp(next)).named("update");
  CHECK(text(cluster(g)) == "Tanh Exp Assign");
}

TEST_CASE("results that runs fetch one by one share kernels where both are needed only") {
  tf::Graph g;
  auto x = tf::placeholder<float, 8, 16>(g, "x");
  auto y = tf::placeholder<float, 8, 16>(g, "y");
  SUBCASE("two sums and their sum") {
    auto a = sum(square(x)).named("a");
    auto b = sum(square(y)).named("b");
    (a + b).named("c");
    CHECK(text(cluster(g)) == "Square Sum | Square Sum | Add");
  }
  SUBCASE("probabilities and a loss") {
    softmax(x).named("p");
    softmax_cross_entropy(x, y).named("loss");
    CHECK(text(cluster(g)) == "Max Sub Exp Sum | Div | Mul Sum | Sum | Log Fms");
  }
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
      const tf::ir::Op& op = *c.graph.graph.nodes[id].op;
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
  CHECK(position(c, "Read") <= position(c, "Mul"));
}

TEST_CASE("an update runs as soon as it can, so that gradients die early") {
  const tf::ir::ProgramPools program = compile(chain<8>);
  // The way back begins at about half of the steps, and the first update with it.
  int first_write = program.steps.size();
  for (int i = program.steps.size() - 1; i >= 0; --i) {
    const tf::ir::Step& step = program.steps[i];
    for (int k = step.inputs; k < step.operands.count; ++k) {
      const tf::ir::Slot& slot = program.slots[program.operands[step.operands.first + k]];
      if (slot.kind == tf::ir::SlotKind::variable) first_write = i;
    }
  }
  CHECK(first_write < program.steps.size() / 2);
}
