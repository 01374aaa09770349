// SPDX-License-Identifier: Apache-2.0

// Passes by name: each can be printed and skipped; those over loops move what they say, and change
// no result.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/lower/describe_passes.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;
using tf::ir::Pass;
using tf::ir::PassSet;

/// h' = tanh(x A + h (2 B)^T), over 4 slices.
constexpr void recurrent(tf::Graph& g) {
  auto x = placeholder<double, 4, 2, 3>(g, "x");
  auto a = placeholder<double, 3, 5>(g, "a");
  auto b = placeholder<double, 5, 5>(g, "b");
  auto last = tf::fold_left(
      [&](auto h, auto now) {
        return tf::tanh(matmul(now, a) + matmul<tf::transpose_b>(h, b * 2.0));
      },
      tf::zeros<double, 2, 5>(g), x);
  last.named("last");
}
constexpr void differentiated(tf::Graph& g) {
  recurrent(g);
  const tf::ir::Graph& graph = g;
  const auto value = [&](int k) { return graph.names[k].value; };
  const tf::Expr<double, tf::Shape<2, 5>> last(g, value(3));
  const tf::Expr<double, tf::Shape<3, 5>> a(g, value(1));
  const tf::Expr<double, tf::Shape<5, 5>> b(g, value(2));
  auto [da, db] = gradients(tf::sum(last * last), a, b);
  da.named("da");
  db.named("db");
}
/// Products of all rows of all slices with a matrix, in a loop in a loop.
constexpr void nested(tf::Graph& g) {
  auto x = placeholder<double, 3, 4, 2, 3>(g, "x");
  auto w = placeholder<double, 3, 3>(g, "w");
  auto y = tf::map(
      [&](auto outer) {
        return tf::map([&](auto inner) { return matmul<tf::transpose_b>(inner, tf::exp(w)); },
                       outer);
      },
      x);
  y.named("y");
}
constexpr void branch_in_loop(tf::Graph& g) {
  auto x = placeholder<double>(g, "x");
  auto p = placeholder<bool>(g, "p");
  auto y = tf::fori_loop(
      0, 3,
      [&](auto, auto s) {
        auto square = x * x;
        return tf::cond(p, [&] { return s + square; }, [&] { return s + x * 3.0; });
      },
      x);
  y.named("y");
}

/// How many nodes of an operation lie in a region.
int inside(const tf::ir::Graph& graph, std::string_view op) {
  int count = 0;
  for (const tf::ir::Node& node : graph.nodes) count += node.region != 0 && node.op->name == op;
  return count;
}
tf::ir::Graph traced(void (*model)(tf::Graph&), PassSet skipped = {}) {
  tf::Graph g;
  tf::ir::records(g).skipped = skipped;
  model(g);
  return tf::ir::records(g);
}

tf::HostTensors numbers(const tf::ir::Graph& graph) {
  tf::HostTensors feeds;
  double next = 0;
  for (const tf::ir::Name& name : graph.names) {
    if (name.kind != tf::ir::NameKind::placeholder) continue;
    tf::HostTensor x = tf::host_tensor(graph.dtype_of(name.value), graph.dims_of(name.value));
    for (std::int64_t i = 0; i < x.size(); ++i) {
      next += 0.37;
      x.set(i, x.dtype == tf::DType::boolean ? 1.0 : next - static_cast<int>(next) - 0.5);
    }
    feeds.emplace(std::string(graph.text_of(name).view()), x);
  }
  return feeds;
}
std::vector<double> results(const tf::ir::Graph& graph, const std::vector<std::string>& names) {
  tf::ir::ProgramInterpreter program(graph);
  std::vector<double> out;
  for (const tf::HostTensor& x : program.run(names, numbers(graph))) {
    for (const double e : test::elements(x)) out.push_back(e);
  }
  return out;
}

const std::vector<Pass> all_optional = {Pass::hoist,
                                        Pass::multiply_outside,
                                        Pass::transpose_outside,
                                        Pass::find_multiply_adds,
                                        Pass::distribute,
                                        Pass::fuse,
                                        Pass::recompute,
                                        Pass::find_strided_views,
                                        Pass::find_parts};

TEST_CASE("the traced graph has its loops as written; passes move loop-invariant work out") {
  tf::ir::Graph graph = traced(recurrent);
  CHECK(inside(graph, "MatMul") == 2);
  CHECK(inside(graph, "Mul") == 1);

  tf::ir::hoist(graph);
  CHECK(inside(graph, "Mul") == 0);
  CHECK(inside(graph, "MatMul") == 2);
  tf::ir::multiply_outside(graph);
  CHECK(inside(graph, "MatMul") == 1);
  CHECK(tf::describe(graph).find("MatMul<transpose_b>") != std::string::npos);
  tf::ir::transpose_outside(graph);
  CHECK(tf::describe(graph).find("MatMul<transpose_b>") == std::string::npos);
  CHECK(inside(graph, "Transpose") == 0);
  CHECK(tf::ir::verify(graph).empty());
}

TEST_CASE("what moves out of a loop moves out of the loop around it") {
  tf::ir::Graph graph = traced(nested);
  CHECK(inside(graph, "MatMul") == 1);
  tf::ir::rewrite_loops(graph);
  CHECK(inside(graph, "MatMul") == 0);
  CHECK(inside(graph, "Exp") == 0);
  CHECK(tf::ir::verify(graph).empty());
}

TEST_CASE("nothing moves out of a branch") {
  tf::ir::Graph graph = traced(branch_in_loop);
  tf::ir::rewrite_loops(graph);
  CHECK(inside(graph, "Mul") == 1);
  CHECK(tf::ir::verify(graph).empty());
}

TEST_CASE("a second time the passes change nothing") {
  for (void (*model)(tf::Graph&) : {&recurrent, &differentiated, &nested, &branch_in_loop}) {
    tf::ir::Graph graph = traced(model);
    tf::ir::rewrite_loops(graph);
    const std::string once = tf::describe(graph);
    tf::ir::rewrite_loops(graph);
    CHECK(tf::describe(graph) == once);
  }
}

TEST_CASE("results without a pass, and without all") {
  const auto check = [](void (*model)(tf::Graph&), const std::vector<std::string>& names) {
    const std::vector<double> meant = results(traced(model), names);
    const auto check_without = [&](PassSet skipped) {
      CAPTURE(skipped.bits);
      const std::vector<double> got = results(traced(model, skipped), names);
      REQUIRE(got.size() == meant.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i] == doctest::Approx(meant[i]).epsilon(1e-12));
      }
      return got == meant;
    };
    for (const Pass pass : all_optional) {
      CHECK(tf::ir::optional_passes.has(pass));
      CAPTURE(tf::ir::name_of(pass));
      const bool same_bits = check_without(PassSet{}.with(pass));
      // The gradient of a loop that was not rewritten adds up in another order.
      const bool other_sums =
          pass == Pass::find_multiply_adds || (pass == Pass::hoist && names.size() > 1);
      if (!other_sums) CHECK(same_bits);
    }
    check_without(tf::ir::optional_passes);
  };
  check(&recurrent, {"last"});
  check(&differentiated, {"last", "da", "db"});
  check(&nested, {"y"});
  check(&branch_in_loop, {"y"});
}

/// The gradient of the second result, weighted by the first, which the gradient needs, too.
constexpr void captured_twice(tf::Graph& g) {
  auto x = placeholder<double>(g, "x");
  auto p = placeholder<bool>(g, "p");
  auto [y, z] = tf::cond(
      p,
      [&] {
        auto s = tf::sin(x);
        return std::pair{s, tf::cond(p, [&] { return s * s; }, [&] { return s * 1.0; })};
      },
      [&] { return std::pair{x * 1.0, x * 1.0}; });
  auto d = gradients(z, tf::grad_ys(y), x).named("d");
  gradients(d, x).named("dd");
}

TEST_CASE("a value that a region captures in two ways has its gradient once") {
  const double x = 0.7;
  tf::ir::Graph graph = traced(captured_twice);
  tf::HostTensors feeds;
  feeds.emplace("x", test::doubles({}, {x}));
  tf::HostTensor yes = tf::host_tensor(tf::DType::boolean, tf::Dims{0, {}});
  yes.set(0, 1);
  feeds.emplace("p", yes);
  tf::ir::ProgramInterpreter program(graph);
  const std::vector<tf::HostTensor> got = program.run({"d", "dd"}, feeds);
  const double s = std::sin(x);
  const double c = std::cos(x);
  CHECK(got[0].value(0) == doctest::Approx(2 * s * s * c).epsilon(1e-12));
  CHECK(got[1].value(0) == doctest::Approx(4 * s * c * c - 2 * s * s * s).epsilon(1e-12));
  // No region captures a value twice.
  for (const tf::ir::Region& region : graph.regions) {
    for (int k = 0; k < region.captures.count; ++k) {
      for (int i = 0; i < k; ++i) {
        CHECK(graph.lists[region.captures.first + i] != graph.lists[region.captures.first + k]);
      }
    }
  }
}

TEST_CASE("describe_passes prints the graph after each pass") {
  const std::string text = tf::describe_passes<recurrent>();
  std::size_t from = 0;
  for (const char* const pass :
       {"hoist", "multiply_outside", "transpose_outside", "hoist", "place", "simplify", "fuse",
        "recompute", "find_strided_views", "find_parts", "simplify", "fuse"}) {
    CAPTURE(pass);
    from = text.find("after " + std::string(pass) + ":", from);
    REQUIRE(from != std::string::npos);
    ++from;
  }
  CHECK(text.find("after transpose_outside:\n  x = Placeholder  double [4, 2, 3]") !=
        std::string::npos);
  CHECK(text.find("after find_strided_views: as before\n") != std::string::npos);
  CHECK(text.find("  cluster 0\n    ") != std::string::npos);
}

/// A loop that gives each state as it was before, for a gradient, and one of them once more.
constexpr void states(tf::Graph& g) {
  auto x = placeholder<double, 4, 5>(g, "x");
  auto w = placeholder<double, 5, 5>(g, "w");
  const auto [h, c, before_h, before_c, again] = tf::fori_loop(
      0, 3,
      [&](auto, auto p, auto q, auto, auto, auto) {
        auto now = tf::tanh(matmul(p, w) * q);
        return std::tuple{now, q + now, p, q, now};
      },
      std::tuple{x, x, x, x, x});
  h.named("h");
  c.named("c");
  before_h.named("before_h");
  before_c.named("before_c");
  again.named("again");
}

TEST_CASE("what a loop's body gives twice or gives on is copied by few kernels") {
  const std::string text = tf::describe_passes<states>();
  const std::size_t body = text.rfind("after fuse:");
  REQUIRE(body != std::string::npos);
  const std::string clusters = text.substr(body, text.find("after recompute:", body) - body);
  CAPTURE(clusters);
  // The product writes its result twice. A loop of its own copies both states, since a product's
  // tile is no place for more operands.
  CHECK(clusters.find("cluster 1") != std::string::npos);
  CHECK(clusters.find("cluster 2") == std::string::npos);
  int copies = 0;
  for (std::size_t at = 0; (at = clusters.find("After(", at)) != std::string::npos; ++at) ++copies;
  CHECK(copies == 3);

  const tf::ir::Graph graph = traced(states);
  const std::vector<double> got = results(graph, {"h", "c", "before_h", "before_c", "again"});
  CHECK(got == results(traced(states, PassSet{}.with(Pass::fuse)),
                       {"h", "c", "before_h", "before_c", "again"}));
}

TEST_CASE("nodes of a region stand two columns further in") {
  const std::string text = tf::describe_passes<branch_in_loop>();
  CHECK(text.find("\n    %") != std::string::npos);
  CHECK(text.find("\n      %") != std::string::npos);
}

TEST_CASE("every pass has a name of its own") {
  for (int i = 0; i < tf::ir::pass_count; ++i) {
    CHECK(!tf::ir::name_of(Pass{static_cast<std::uint8_t>(i)}).empty());
    for (int k = 0; k < i; ++k) {
      CHECK(tf::ir::name_of(Pass{static_cast<std::uint8_t>(i)}) !=
            tf::ir::name_of(Pass{static_cast<std::uint8_t>(k)}));
    }
  }
}

}  // namespace
