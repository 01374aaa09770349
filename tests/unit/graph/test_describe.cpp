// SPDX-License-Identifier: Apache-2.0

// Graphs as text.

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "typeflow/devices.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/graph/describe.hpp"

namespace tf = typeflow;

namespace {

// Lines are counted from here: the text holds them.
constexpr int first_line = __LINE__;
constexpr void net(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  tf::Scope in(g, "block", 2);
  auto w = tf::variable<float, 3, 4>(g, "W", tf::zeros());
  auto h = tf::on<tf::Gpu<1>>(g, [&] { return matmul<tf::transpose_b>(x, w); });
  auto loss = mean(tf::dropout(h, {.keep = 0.5f})).named("loss");
  sum<0, 1>(transpose<1, 0>(h), tf::keep_dims);
  tf::after(assign(w, w * 0.1f).named("shrink"), loss);
}
std::string at(int line) {
  return "  test_describe.cpp:" + std::to_string(first_line + line) + "\n";
}

}  // namespace

TEST_CASE("describe prints one line a node") {
  CHECK(tf::describe<net, tf::inference>() ==
        "x = Placeholder  float [batch, 4]" + at(2) + "block_2/W = block_2/Variable  float [3, 4]" +
            at(4) + "%2 = block_2/MatMul<transpose_b>(x, block_2/W)  float [batch, 3]  /gpu:1" +
            at(5) + "block_2/loss = block_2/Mean(%2)  float []" + at(6) +
            "%4 = block_2/Transpose<1, 0>(%2)  float [3, batch]" + at(7) +
            "%5 = block_2/Sum<0, 1; keep_dims>(%4)  float [1, 1]" + at(7) +
            "%6 = Const 0.1  float []" + at(7) +  //
            "%7 = block_2/Mul(block_2/W, %6)  float [3, 4]" + at(7) +
            "block_2/shrink = block_2/Assign(block_2/W, %7)  effect" + at(8) +
            "%9 = block_2/After(block_2/loss) after block_2/shrink  float []" + at(8));
}

TEST_CASE("describe traces for training unless told otherwise") {
  CHECK(tf::describe<net>().find("RandomUniform") != std::string::npos);
  CHECK(tf::describe<net, tf::inference>().find("RandomUniform") == std::string::npos);
}

TEST_CASE("a graph can be streamed") {
  tf::Graph g;
  net(g);
  std::ostringstream out;
  out << g;
  CHECK(out.str() == tf::describe<net>());
}

TEST_CASE("constants are printed with the digits of their type and the symbols behind them") {
  tf::Graph g;
  tf::constant<double>(g, 0.1);
  tf::constant<std::int32_t>(g, -7);
  tf::constant<tf::bfloat16>(g, tf::bfloat16(0.5f));
  tf::constant<bool>(g, true);
  auto x = tf::placeholder<float, 2 * tf::batch>(g, "x");
  gradients(mean(x), x);
  const std::string text = tf::describe(g);
  CHECK(text.find("Const 0.1  double []") != std::string::npos);
  CHECK(text.find("Const -7  int []") == std::string::npos);
  CHECK(text.find("Const -7  int32 []") != std::string::npos);
  CHECK(text.find("Const 0.5  bfloat16 []") != std::string::npos);
  CHECK(text.find("Const true  bool []") != std::string::npos);
  CHECK(text.find("Const 1 / (2 * batch)  float []") != std::string::npos);
}

TEST_CASE("dot draws scopes as boxes, inputs as arrows, order by effects as dashed ones") {
  const std::string text = [] {
    tf::Graph g(tf::inference);
    net(g);
    return tf::dot(g);
  }();
  CHECK(text.starts_with("digraph model {"));
  CHECK(text.ends_with("}\n"));
  CHECK(text.find("  n0 [label=\"x\\nPlaceholder\\nfloat [batch, 4]\"];\n") != std::string::npos);
  CHECK(text.find("  subgraph cluster_1 {\n    label=\"block_2\";\n    n1 [label=\"block_2/W") !=
        std::string::npos);
  CHECK(text.find("  n0 -> n2;\n  n1 -> n2;\n") != std::string::npos);
  CHECK(text.find("  n8 -> n9 [style=dashed];\n") != std::string::npos);
}
