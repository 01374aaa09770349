// SPDX-License-Identifier: Apache-2.0

// Which operands of concatenations and pads are written into the result by what computes them.

#include <doctest/doctest.h>

#include <string>

#include "typeflow/graph.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/passes/parts.hpp"

#include "support/plan_memory.hpp"

namespace tf = typeflow;

namespace {

/// The operations of a model's steps, each with how many parts of other tensors it writes: "Exp1".
template <class M>
std::string steps_of(const M& model, const tf::ir::FusionLimits& limits = {}) {
  tf::Graph g;
  model(g);
  const tf::ir::InterpretedProgram program(g, {}, limits);
  const tf::ir::ProgramView view = program.view();
  std::string out;
  for (const tf::ir::Step& step : view.steps) {
    out += (out.empty() ? "" : " ") + std::string(step.label.operation.view());
    int parts = 0;
    for (int i = step.inputs; i < step.operands.count; ++i) {
      parts += view.slots[view.operands[step.operands.first + i]].within != tf::none;
    }
    if (parts > 0) out += std::to_string(parts);
  }
  return out;
}

auto images(tf::Graph& g) { return tf::placeholder<float, 20, 30, 40>(g, "x"); }
auto others(tf::Graph& g) { return tf::placeholder<float, 20, 10, 40>(g, "z"); }

}  // namespace

TEST_CASE("what is put together is written where it belongs") {
  CHECK(steps_of([](tf::Graph& g) { concat<1>(exp(images(g)), tanh(others(g))).named("y"); }) ==
        "Tanh1 Exp1 Concat");
  CHECK(steps_of([](tf::Graph& g) { pad<1, 0, 0, 2, 3, 3>(exp(images(g))).named("y"); }) ==
        "Exp1 Pad");
  CHECK(steps_of([](tf::Graph& g) { concat<1>(softmax(images(g)), others(g)).named("y"); }) ==
        "Div1 Concat");
  SUBCASE("by one kernel, if the parts are of the same two tensors") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto [a, b] = tf::split<2, 2>(images(g));
            concat<2>(a - b, a * b).named("y");
          }) == "Mul2 Concat");
  }
  SUBCASE("also as a view of another shape") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = images(g);
            stack<1>(exp(x), tanh(x)).named("y");
          }) == "Tanh1 Exp1 Concat");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = reshape<20, 1200>(exp(images(g)));
            concat<1>(x, reshape<20, 400>(others(g))).named("y");
          }) == "Exp1 Concat");
  }
  SUBCASE("and the gradient of a slice, which is a pad") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = images(g);
            const auto y = 2.0f * slice<tf::whole, tf::range(3, 20), tf::range(4, 24)>(x);
            const auto dy = tf::placeholder<float, 20, 17, 20>(g, "dy");
            gradients(y, tf::grad_ys(dy), x).named("dx");
          }) == "Mul1 Pad");
  }
}

TEST_CASE("what others want, too, has memory of its own") {
  CHECK(steps_of([](tf::Graph& g) {
          concat<1>(exp(images(g)).named("e"), others(g)).named("y");
        }) == "Exp Concat");
  CHECK(steps_of([](tf::Graph& g) {
          const auto e = exp(images(g));
          concat<1>(e, e).named("y");
        }) == "Exp Concat");
  CHECK(steps_of([](tf::Graph& g) {
          const auto e = exp(images(g));
          concat<1>(e, others(g)).named("y");
          transpose<2, 1, 0>(e).named("t");
        }) == "Exp Transpose Concat");
}

TEST_CASE("products and convolutions write parts whose rows lie at one distance") {
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = slice<3>(images(g));  // (30,40)
          const auto y = relu(matmul(x, transpose<1, 0>(x)) + 1.0f);
          concat<1>(x, y).named("columns");
          concat<0>(matmul(y, x), x).named("rows");
          pad<0, 0, 2, 3>(matmul(y, y)).named("bordered");
        }).find("MatMul") != std::string::npos);
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = others(g);  // (20,10,40)
          const auto w = tf::placeholder<float, 40, 12>(g, "w");
          concat<2>(matmul(x, w), x).named("y");
        }) == "MatMul1 Concat");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, 8, 8, 16>(g, "x");
          const auto w = tf::placeholder<float, 3, 3, 16, 24>(g, "w");
          concat<3>(relu(conv2d(x, w)), conv2d(x, w)).named("y");
        }) == "Relu2 Concat");
  SUBCASE("other places are copied: rows are cut, or columns do not lie together") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = tf::placeholder<float, tf::batch, 8, 8, 16>(g, "x");
            const auto w = tf::placeholder<float, 1, 1, 16, 16>(g, "w");
            concat<1>(conv2d(x, w), x).named("y");
            pad<0, 0, 1, 1, 1, 1, 0, 0>(conv2d(x, 2.0f * w)).named("z");
          }).find("Conv1") == std::string::npos);
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = others(g);  // (20,10,40)
            concat<1>(matmul(x, tf::placeholder<float, 40, 40>(g, "w")), x).named("y");
          }) == "MatMul Concat");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = slice<3>(others(g));  // (10,40)
            stack<1>(matmul(x, tf::placeholder<float, 40, 1>(g, "w")),
                     matmul(x, tf::placeholder<float, 40, 1>(g, "v")))
                .named("y");
          }).find("MatMul1") == std::string::npos);
  }
  SUBCASE("so does what others want, too") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = slice<3>(others(g));  // (10,40)
            const auto y = matmul(x, tf::placeholder<float, 40, 12>(g, "w")).named("p");
            concat<1>(y, x).named("y");
          }).find("MatMul1") == std::string::npos);
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = slice<3>(others(g));
            const auto y = matmul(x, tf::placeholder<float, 40, 12>(g, "w"));
            concat<1>(y, x).named("y");
            concat<1>(x, y).named("z");
          }).find("MatMul1") == std::string::npos);
  }
  SUBCASE("a concatenation of concatenations is one") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = others(g);
            const auto w = tf::placeholder<float, 40, 12>(g, "w");
            concat<2>(concat<2>(matmul(x, w), x), exp(matmul(x, w))).named("y");
          }).find("Exp2 Concat") != std::string::npos);
  }
}

TEST_CASE("what no kernel computes, or not in long rows, is copied") {
  CHECK(steps_of([](tf::Graph& g) { concat<1>(images(g), others(g)).named("y"); }) == "Concat");
  const auto narrow = [](tf::Graph& g) {
    const auto x = tf::placeholder<float, 20, 7>(g, "x");
    concat<1>(exp(x), tf::placeholder<float, 20, 30>(g, "z")).named("y");
  };
  CHECK(steps_of(narrow) == "Exp Concat");
  CHECK(steps_of(narrow, {.run = 7}) == "Exp1 Concat");
  CHECK(steps_of([](tf::Graph& g) {
          concat<1>(sum<2>(images(g)), sum<2>(others(g))).named("y");
        }) == "Sum Sum Concat");
}

TEST_CASE("symbols: rows of any number, and places that are multiples of them") {
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
          concat<0>(exp(x), tanh(x)).named("y");
        }) == "Tanh1 Exp1 Concat");
  CHECK(steps_of([](tf::Graph& g) {
          const auto x = tf::placeholder<float, tf::batch, 20>(g, "x");
          const auto z = tf::placeholder<float, tf::batch, 12>(g, "z");
          concat<1>(exp(x), tanh(z)).named("y");
        }) == "Tanh1 Exp1 Concat");
}

TEST_CASE("a tensor lives from its first part on, which has no memory besides") {
  tf::Graph g;
  const auto x = tf::placeholder<float, 16, 32>(g, "x");
  const auto y = concat<1>(exp(x), tanh(tf::placeholder<float, 16, 32>(g, "z")));
  matmul(y, transpose<1, 0>(y)).named("product");
  const tf::ir::InterpretedProgram program(g);
  CHECK(test::plan_memory(program.view(), 1).bytes == (16 * 64 + 16 * 16) * 4);
}

TEST_CASE("a tensor that products write lives from its first part on, too") {
  tf::Graph g;
  const auto x = tf::placeholder<float, 16, 32>(g, "x");
  const auto w = tf::placeholder<float, 32, 32>(g, "w");
  const auto y = concat<1>(matmul(x, w), relu(matmul(x, w) - 1.0f));
  matmul(y, transpose<1, 0>(y)).named("product");
  const tf::ir::InterpretedProgram program(g);
  CHECK(test::plan_memory(program.view(), 1).bytes == (16 * 64 + 16 * 16) * 4);
}
