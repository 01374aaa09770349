// SPDX-License-Identifier: Apache-2.0

// Nodes of recorded graphs depend on what they need, and on nothing else. The pretended GPU does
// nodes in shuffled orders, so an edge that is missing gives wrong numbers.
//
// For the emulation alone: it knows the nodes and edges of a graph, and shuffles them.

#include "support/cuda_target_on_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/cuda/pooling.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/pooling.hpp>

#include "cuda/user_operations.hpp"

namespace {

namespace tf = typeflow;
using Accesses = std::vector<tf::MemoryAccess>;
using test::CudaOnHost;
using test::CudaTargetOnHost;

bool conflict(const Accesses& a, const Accesses& b) {
  for (const tf::MemoryAccess& x : a) {
    for (const tf::MemoryAccess& y : b) {
      if (x.conflicts_with(y)) return true;
    }
  }
  return false;
}
/// By node: the earlier ones that edges lead to.
using Reached = std::vector<std::vector<bool>>;
void reach(Reached& reached, const std::vector<int>& edges) {
  std::vector<bool> mine(reached.size());
  for (const int edge : edges) {
    const auto node = static_cast<std::size_t>(edge);
    mine[node] = true;
    for (std::size_t i = 0; i < node; ++i) mine[i] = mine[i] || reached[node][i];
  }
  reached.push_back(mine);
}

/// An order of nodes, checked after each by comparing it with all before. `is_exact`: nodes that
/// need no order have none.
void check_order(const std::vector<Accesses>& nodes, bool is_exact) {
  tf::GraphOrder order;
  Reached reached;
  Reached needed;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto span = order.add(nodes[n]);
    const std::vector<int> edges(span.begin(), span.end());
    REQUIRE(edges.size() <= tf::GraphOrder::lanes);
    for (const int edge : edges) {
      REQUIRE(edge < static_cast<int>(n));
      for (const int other : edges) {  // none implies another one
        if (other <= edge) continue;
        REQUIRE(!reached[static_cast<std::size_t>(other)][static_cast<std::size_t>(edge)]);
      }
    }
    reach(reached, edges);
    std::vector<int> all;
    for (std::size_t i = 0; i < n; ++i) {
      if (conflict(nodes[i], nodes[n])) all.push_back(static_cast<int>(i));
    }
    const bool is_ordered = std::all_of(all.begin(), all.end(), [&](int earlier) {
      return reached[n][static_cast<std::size_t>(earlier)] &&
             order.comes_before(earlier, static_cast<int>(n));
    });
    REQUIRE(is_ordered);
    reach(needed, all);
    if (is_exact) CHECK(reached[n] == needed[n]);
  }
}

std::vector<Accesses> random_nodes(std::uint32_t seed, int count, int most_accesses) {
  std::minstd_rand random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() / 11 % n); };
  std::int32_t part = 0;
  std::vector<Accesses> nodes(static_cast<std::size_t>(count));
  for (Accesses& node : nodes) {
    for (unsigned i = below(static_cast<unsigned>(most_accesses)) + 1; i > 0; --i) {
      const unsigned kind = below(8);
      const std::uintptr_t begin = 100 + below(40);
      if (kind == 0) {  // a part of one of two tensors
        const std::uintptr_t whole = 100 + 20 * below(2);
        node.push_back({whole, whole + 15, true, part++});
      } else {
        node.push_back({begin, begin + 1 + below(12), kind < 4});
      }
    }
    if (below(40) == 0) node = {tf::any_access};
  }
  return nodes;
}

}  // namespace

TEST_CASE("a node comes after all with which it conflicts, by edges that others don't imply") {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    check_order(random_nodes(seed, tf::GraphOrder::lanes, 3), true);
    check_order(random_nodes(seed, 120, 4), false);
  }
}

TEST_CASE("writes, reads and parts of a tensor are put in order") {
  const auto edges = [](tf::GraphOrder& order, const Accesses& node) {
    const auto span = order.add(node);
    std::vector<int> sorted(span.begin(), span.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  using Edges = std::vector<int>;
  tf::GraphOrder order;
  CHECK(edges(order, {{0, 64, true}}) == Edges{});
  CHECK(edges(order, {{64, 128, true}}) == Edges{});
  CHECK(edges(order, {{0, 64, false}, {128, 192, true}}) == Edges{0});
  CHECK(edges(order, {{60, 70, false}}) == Edges{0, 1});
  CHECK(edges(order, {{0, 64, true}}) == Edges{2, 3});      // after those that have read
  CHECK(edges(order, {{0, 128, true, 7}}) == Edges{4});     // 4 comes after 3, and so after 1
  CHECK(edges(order, {{0, 128, true, 8}}) == Edges{4});     // beside 5
  CHECK(edges(order, {{0, 128, true, 7}}) == Edges{5, 6});  // the same part again
  CHECK(edges(order, {{127, 128, false}}) == Edges{7});
  CHECK(edges(order, {}) == Edges{});
  CHECK(edges(order, {tf::any_access}) == Edges{8});
  CHECK(edges(order, {{500, 501, false}}) == Edges{10});
}

TEST_CASE("nodes without order are edges for no more than some lanes") {
  tf::GraphOrder order;
  int edges = 0;
  for (std::uintptr_t i = 0; i < 1000; ++i) {
    const tf::MemoryAccess mine{10 * i, 10 * i + 10, true};
    edges += static_cast<int>(order.add({&mine, 1}).size());
  }
  CHECK(edges == 1000 - tf::GraphOrder::lanes);
  CHECK(order.ends().size() == tf::GraphOrder::lanes);
  CHECK(order.add({&tf::any_access, 1}).size() == tf::GraphOrder::lanes);
  CHECK(order.ends() == std::vector<int>{1000});
}

TEST_CASE("the pretended GPU does nodes in all orders that edges allow, and finds common writes") {
  CudaOnHost& cuda = CudaOnHost::get();
  const tf::CudaRuntime& runtime = CudaOnHost::runtime();
  tf::CudaGpu gpu(runtime, 0);
  cudaStream_t const stream = gpu.stream.get();
  std::byte* const data = gpu.memory.allocate(64);
  // The first two have no order. The last comes after both.
  const auto results = [&] {
    cudaGraphExec_t graph = nullptr;
    runtime.begin_capture(stream);
    runtime.fill(data, 1, 1, stream);
    const cudaGraphNode_t* ends = nullptr;
    std::size_t count = 0;
    runtime.capture_ends(stream, &ends, &count);
    REQUIRE(count == 1);
    std::vector<cudaGraphNode_t> both{*ends};
    runtime.set_capture_ends(stream, nullptr, 0);
    runtime.copy(data + 1, data, 1, cudaMemcpyDeviceToDevice, stream);
    runtime.capture_ends(stream, &ends, &count);
    both.push_back(*ends);
    runtime.set_capture_ends(stream, both.data(), both.size());
    runtime.copy(data + 2, data + 1, 1, cudaMemcpyDeviceToDevice, stream);
    runtime.end_capture(stream, &graph);
    CHECK(cuda.last_graph.nodes == 3);
    CHECK(cuda.last_graph.edges == 2);
    CHECK(cuda.last_graph.path == 2);
    std::set<std::string> found;
    for (int i = 0; i < 30; ++i) {
      gpu.memory.clear(data, 3);
      runtime.launch_graph(graph, stream);
      char out[3];
      gpu.memory.copy_out(out, data, 3);
      std::string text;
      for (const char c : out) text += static_cast<char>('0' + c);
      found.insert(text);
    }
    runtime.destroy_graph(graph);
    return found;
  };
  CHECK(results() == std::set<std::string>{"100", "111"});
  // Two nodes that write the same.
  cudaGraphExec_t graph = nullptr;
  runtime.begin_capture(stream);
  runtime.fill(data, 1, 2, stream);
  runtime.set_capture_ends(stream, nullptr, 0);
  runtime.fill(data + 1, 2, 2, stream);
  runtime.end_capture(stream, &graph);
  cuda.checks_writes = true;
  gpu.memory.clear(data, 3);
  runtime.launch_graph(graph, stream);
  CHECK(runtime.synchronize(stream) == cudaErrorLaunch);
  cuda.checks_writes = false;
  runtime.destroy_graph(graph);
  gpu.memory.release(data, 64);
}

namespace {

/// Blocks of branches that are concatenated, as in Inception, with dropout and clipped gradients.
constexpr auto block(tf::Graph& g, tf::Label name, const auto& x) {
  const tf::Scope in(g, name);
  auto a = relu(tf::conv2d<8, 1>(g, "a", x));
  auto b = relu(tf::conv2d<8, 3>(g, "b2", relu(tf::conv2d<4, 1>(g, "b1", x))));
  auto c = relu(tf::conv2d<8, 1>(g, "c", tf::max_pool<3, 1, tf::Padding::same>(x)));
  auto d = tanh(x) * 0.5f;
  return tf::concat<3>(a, b, c, d);
}
constexpr void inception(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4, 4, 8>(g, "x");
  auto h = mean<1, 2>(block(g, "second", block(g, "first", x)));
  auto y = tf::dense<3>(g, "last", dropout(h, {.keep = 0.75}));
  auto loss = mean(square(y - 1.0f)).named("loss");
  auto gradients = clip_by_global_norm(tf::gradients(loss, g.trainable()), 0.5f);
  tf::minimize(tf::Adam{.rate = 0.01f}, gradients).named("train");
}

/// Towers beside one another, sums in two kernels with workspaces, and a loop in the middle. A loop
/// that reads the number of its iteration is not recorded iteration by iteration.
template <bool ReadsNumber>
constexpr void towers(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4, 4, 8>(g, "x");
  auto flat = reshape<tf::batch, 128>(x);
  auto first = tanh(tf::dense<24>(g, "first", flat));
  auto second = tanh(tf::dense<24>(g, "second", flat));
  auto third = softmax(tf::dense<24>(g, "third", flat));
  auto [v, w] = tf::fori_loop(
      0, 3,
      [&]([[maybe_unused]] auto i, auto a, auto b) {
        if constexpr (ReadsNumber) {
          return std::tuple{tanh(a * 0.5f + third * tf::cast<float>(i)), b * 0.75f + second};
        } else {
          return std::tuple{tanh(a * 0.5f + third), b * 0.75f + second};
        }
      },
      std::tuple{first, second});
  auto y = tf::dense<3>(g, "last", tf::concat<1>(v, w, third));
  auto loss = mean(square(y - 1.0f)).named("loss");
  auto steps = tf::variable<float, 3>(g, "steps", tf::zeros());
  const tf::Effect counted = assign(steps, steps.read() + 1.0f);
  (tf::Momentum{.rate = 0.05f}.minimize(loss) + counted).named("train");
}

struct Trained {
  std::vector<std::byte> bytes;  // of all variables
  std::vector<float> losses;
  cuda_on_host::GraphSize graph;  // the last
};
template <auto Model, class Target>
Trained trained(int steps, bool waits = false) {
  Trained out;
  tf::Variables variables;
  tf::Session<Model, tf::training, Target> session(variables, {.seed = 3, .wait_for_steps = waits});
  std::vector<float> x(3 * 4 * 4 * 8);
  for (int i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < x.size(); ++k)
      x[k] = std::sin(static_cast<float>(3 * k + 5) + static_cast<float>(i));
    out.losses.push_back(session.template run<"train", "loss">(tf::feed<"x">(x)));
  }
  out.graph = CudaOnHost::get().last_graph;
  for (const std::string& name : variables.names()) {
    const auto values = std::as_const(variables).find(name);
    const std::byte* const bytes = values->bytes.data();
    out.bytes.insert(out.bytes.end(), bytes, bytes + values->bytes.size());
  }
  return out;
}

/// Graphs have the bits of kernels that are launched one by one, whatever the order of their nodes.
template <auto Model>
Trained check_training(int steps) {
  const Trained one_by_one = trained<Model, CudaTargetOnHost>(steps, true);
  const Trained near = trained<Model, tf::CpuTarget<>>(steps);
  for (std::size_t i = 0; i < one_by_one.losses.size(); ++i) {
    CHECK(one_by_one.losses[i] == doctest::Approx(near.losses[i]).epsilon(1e-4));
  }
  setenv("TYPEFLOW_CUDA_GRAPHS", "chain", 1);
  const Trained chain = trained<Model, CudaTargetOnHost>(steps);
  unsetenv("TYPEFLOW_CUDA_GRAPHS");
  CHECK(chain.bytes == one_by_one.bytes);
  CHECK(chain.graph.path == chain.graph.nodes);
  CHECK(chain.graph.edges == chain.graph.nodes - 1);
  Trained last;
  for (int i = 0; i < 6; ++i) {
    CudaOnHost::get().checks_writes = i == 5;
    last = trained<Model, CudaTargetOnHost>(steps);
    CHECK(last.bytes == one_by_one.bytes);
    CHECK(last.losses == one_by_one.losses);
  }
  CudaOnHost::get().checks_writes = false;
  CHECK(last.graph.nodes == chain.graph.nodes);
  return last;
}

}  // namespace

TEST_CASE("a training step of concatenated branches has equal bits in all orders of its graph") {
  const Trained last = check_training<inception>(8);
  CHECK(last.graph.nodes > 60);
  CHECK(last.graph.path < last.graph.nodes * 3 / 4);
  CHECK(last.graph.edges < last.graph.nodes * 3 / 2);
}

TEST_CASE("so has one of towers and a loop, whether its graph has the loop or the host decides") {
  CudaOnHost::get().has_conditional_nodes = false;
  const Trained last = check_training<towers<true>>(8);
  CHECK(last.graph.path < last.graph.nodes);
  CudaOnHost::get().has_conditional_nodes = true;
  const Trained whole = check_training<towers<true>>(8);
  CHECK(whole.bytes == last.bytes);
  CHECK(whole.graph.path == whole.graph.nodes);
}

TEST_CASE("so has one whose graph has the iterations of a loop one behind the other") {
  CudaOnHost::get().has_conditional_nodes = false;
  const Trained last = check_training<towers<false>>(8);
  CudaOnHost::get().has_conditional_nodes = true;
  const Trained whole = check_training<towers<false>>(8);
  CHECK(whole.bytes == last.bytes);
  CHECK(whole.graph.nodes > last.graph.nodes);
  CHECK(whole.graph.path < whole.graph.nodes);
}

namespace {

/// Sums of variables, which need nothing of one another.
template <int... I>
constexpr tf::Effect sum_all(tf::Graph& g, std::integer_sequence<int, I...>) {
  tf::Effect all;
  const auto add = [&](int i, auto v, auto s) {
    all += assign(s, 0.5f * s.read() + sum(v.read() + static_cast<float>(i)));
  };
  (add(I, tf::variable<float, 5 + I>(g, {"v", I}, tf::ones()),
       tf::variable<float>(g, {"s", I}, tf::zeros())),
   ...);
  return all;
}
constexpr void sums(tf::Graph& g) {
  sum_all(g, std::make_integer_sequence<int, 32>{}).named("train");
}
constexpr int column_sums = 9;
constexpr tf::Extent width_of(int i) { return i < 3 ? 16 : 4; }
/// Sums down columns, each in two kernels, with partial sums in the workspace.
template <int... I>
constexpr tf::Effect sum_columns(tf::Graph& g, std::integer_sequence<int, I...>) {
  tf::Effect all;
  const auto add = [&](int i, auto v, auto s) {
    all += assign(s, 0.5f * s.read() + tf::sum<0>(v.read() * static_cast<float>(i + 1)));
  };
  (add(I, tf::variable<float, 4096, width_of(I)>(g, {"v", I}, tf::ones()),
       tf::variable<float, width_of(I)>(g, {"s", I}, tf::zeros())),
   ...);
  return all;
}
constexpr void columns(tf::Graph& g) {
  sum_columns(g, std::make_integer_sequence<int, column_sums>{}).named("train");
}
/// The same beside a kernel of a user's, of which nobody knows what it accesses.
constexpr void sums_and_more(tf::Graph& g) {
  auto x = tf::variable<float, 2, 6>(g, "x", tf::ones());
  const tf::Effect turned = assign(x, tf::apply(acme::Backwards{}, x.read() * 0.5f) + 1.0f);
  (sum_all(g, std::make_integer_sequence<int, 4>{}) + turned).named("train");
}
template <auto Model>
cuda_on_host::GraphSize graph_of() {
  tf::Variables variables;
  tf::Session<Model, tf::training, CudaTargetOnHost> session(variables);
  for (int i = 0; i < 4; ++i) session.template run<"train">();
  float s = 0;
  for (int i = 0; i < 4; ++i) s = 0.5f * s + 5;
  CHECK(variables.get<float>("s_0")[0] == s);
  return CudaOnHost::get().last_graph;
}

template <class O>
constexpr bool is_confined = tf::cuda_kernels::confines<O, tf::cuda_kernels::kernel_of<O>>;
static_assert(is_confined<tf::ops::Concat>);
static_assert(is_confined<tf::ops::MaxPool>);
static_assert(!is_confined<acme::Backwards>);

}  // namespace

TEST_CASE("32 kernels that need nothing of one another have no edges") {
  const cuda_on_host::GraphSize size = graph_of<sums>();
  CHECK(size.nodes == 32);
  CHECK(size.edges == 0);
  CHECK(size.path == 1);
}

TEST_CASE("kernels that share the workspace come one after the other, others need not") {
  for (int turn = 0; turn < 6; ++turn) {
    CudaOnHost::get().checks_writes = turn == 5;
    tf::Variables variables;
    tf::Session<columns, tf::training, CudaTargetOnHost> session(variables);
    for (int i = 0; i < 4; ++i) session.run<"train">();
    for (int k = 0; k < column_sums; ++k) {
      float s = 0;
      for (int i = 0; i < 4; ++i) s = 0.5f * s + static_cast<float>(4096 * (k + 1));
      for (const float found : variables.get<float>("s_" + std::to_string(k))) CHECK(found == s);
    }
  }
  CudaOnHost::get().checks_writes = false;
  // Four narrow ones have room beside one another.
  const cuda_on_host::GraphSize size = CudaOnHost::get().last_graph;
  CHECK(size.nodes == 2 * column_sums);
  CHECK(size.path == 2 * (3 + 2));
}

TEST_CASE("a kernel of which nothing is known comes after all before, and before all others") {
  const cuda_on_host::GraphSize size = graph_of<sums_and_more>();
  CHECK(size.path >= 2);
  CHECK(size.edges >= size.nodes - 1);
}
