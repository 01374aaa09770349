// SPDX-License-Identifier: Apache-2.0

// Which operations on concatenations are done to the parts, and which operations in front of slices
// to the slices.

#include <doctest/doctest.h>

#include <string>

#include "typeflow/devices.hpp"
#include "typeflow/graph.hpp"
#include "typeflow/interpret/program.hpp"

namespace tf = typeflow;

namespace {

/// The operations of a model's steps, as they are labelled: "Slice MatMul".
template <class M>
std::string steps_of(const M& model, tf::ir::PassSet skipped = {}) {
  tf::Graph g;
  tf::ir::records(g).skipped = skipped;
  model(g);
  const tf::ir::InterpretedProgram program(g);
  std::string out;
  for (const tf::ir::Step& step : program.pools().steps) {
    out += (out.empty() ? "" : " ") + std::string(step.label.operation.view());
  }
  return out;
}
template <class M>
std::string steps_without(const M& model) {
  return steps_of(model, tf::ir::PassSet{}.with(tf::ir::Pass::distribute));
}

auto images(tf::Graph& g) { return tf::placeholder<float, 20, 30, 40>(g, "x"); }
auto others(tf::Graph& g) { return tf::placeholder<float, 20, 10, 40>(g, "z"); }
auto both(tf::Graph& g) { return concat<1>(images(g), others(g)); }

}  // namespace

TEST_CASE("an operation on a concatenation is done to its parts") {
  const auto halves = [](tf::Graph& g) {
    const auto x = tf::placeholder<float, tf::batch, 64>(g, "x");
    const auto a = tf::placeholder<float, 64>(g, "a");
    const auto b = tf::placeholder<float, 64>(g, "b");
    const auto [low, high] = tf::split<2, 1>(x);
    (x * a + concat<1>(-high, low) * b).named("y");
  };
  CHECK(steps_of(halves) == "Fma Concat");
  CHECK(steps_without(halves) == "Slice Neg Concat Fma");
  SUBCASE("several after another, and of several concatenations") {
    CHECK(steps_of([](tf::Graph& g) { (exp(both(g)) - 3.0f).named("y"); }) == "Sub Sub Concat");
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) / concat<1>(exp(images(g)), exp(others(g)))).named("y");
          }) == "Div Div Concat");
  }
  SUBCASE("whose other operands repeat along the axis, or are in memory") {
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) +
             tf::placeholder<float, 20, 1, 40>(g, "a") * tf::placeholder<float, 40>(g, "b"))
                .named("y");
          }) == "Mul Add Add Concat");
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) * tf::placeholder<float, 20, 40, 40>(g, "a")).named("y");
          }) == "Mul Mul Concat");
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) * sort(tf::placeholder<float, 20, 40, 40>(g, "a"))).named("y");
          }) == "TopK Mul Mul Concat");
  }
  SUBCASE("as what follows the products that make them") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = images(g);
            const auto v = tf::placeholder<float, 40, 32>(g, "v");
            const auto w = tf::placeholder<float, 40, 48>(g, "w");
            relu(concat<2>(matmul(x, v), matmul(x, w))).named("y");
          }) == "Relu Relu Concat");
  }
}

TEST_CASE("an operation stays behind a concatenation") {
  SUBCASE("that is wanted, or read, besides") {
    CHECK(steps_of([](tf::Graph& g) { exp(both(g).named("z")).named("y"); }) == "Concat Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = both(g);
            (x * sort(x)).named("y");
          }) == "Concat TopK Mul");
  }
  SUBCASE("if another operand would have to be stored for it") {
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) * exp(tf::placeholder<float, 20, 40, 40>(g, "a"))).named("y");
          }) == "Concat Mul");
    CHECK(steps_of([](tf::Graph& g) {
            const auto a = tf::placeholder<float, 20, 40, 8>(g, "a");
            (both(g) + matmul(a, tf::placeholder<float, 8, 40>(g, "b"))).named("y");
          }) == "Concat Add");
  }
  SUBCASE("of short rows, many parts, or few elements") {
    CHECK(steps_of([](tf::Graph& g) {
            exp(concat<2>(images(g), tf::placeholder<float, 20, 30, 8>(g, "z"))).named("y");
          }) == "Concat Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = images(g);
            exp(concat<0>(x, x, x, x, x)).named("y");
          }) == "Concat Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = tf::placeholder<float, 2, 40>(g, "x");
            exp(concat<0>(x, x)).named("y");
          }) == "Concat Exp");
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = tf::placeholder<float, tf::batch, 40>(g, "x");
            exp(concat<0>(x, x)).named("y");
          }) == "Concat Exp");
  }
  SUBCASE("if it also repeats the concatenation") {
    CHECK(steps_of([](tf::Graph& g) {
            (both(g) + tf::placeholder<float, 2, 1, 1, 1>(g, "a")).named("y");
          }) == "Concat Add");
  }
  SUBCASE("that becomes a variable's new value") {
    CHECK(steps_of([](tf::Graph& g) {
            auto v = tf::variable<float, 20, 40, 40>(g, "v");
            tf::assign(v, v - 0.5f * both(g)).named("step");
          }) == "Concat Fnma");
  }
  SUBCASE("on another device") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto x = both(g);
            tf::on<tf::Cpu<1>>(g, [&] { return exp(x).named("y"); });
          }) == "Concat Exp");
  }
}

TEST_CASE("an operation that only slices read is done to the slices") {
  const auto model = [](tf::Graph& g) {
    const auto x = images(g);
    const auto y = x * tf::placeholder<float, 20, 30, 40>(g, "a") + 1.0f;
    sort(slice<tf::whole, tf::range(0, 20)>(y)).named("low");
    exp(slice<tf::whole, tf::range(20, 30)>(y)).named("high");
  };
  CHECK(steps_of(model) == "Fma TopK Exp");
  CHECK(steps_without(model) == "Fma Exp Slice TopK");
  SUBCASE("not if they overlap, or something else reads it") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto y = exp(images(g));
            sort(slice<tf::whole, tf::range(0, 20)>(y)).named("low");
            sort(slice<tf::whole, tf::range(15, 30)>(y)).named("high");
          }) == "Exp Slice TopK Slice TopK");
    CHECK(steps_of([](tf::Graph& g) {
            const auto y = exp(images(g));
            sort(slice<tf::whole, tf::range(0, 20)>(y)).named("low");
            sort(y).named("all");
          }) == "Exp TopK Slice TopK");
  }
  SUBCASE("not if the product that it follows would be stored for it") {
    CHECK(steps_of([](tf::Graph& g) {
            const auto y = relu(matmul(images(g), tf::placeholder<float, 40, 64>(g, "w")));
            exp(slice<tf::whole, tf::whole, tf::range(0, 32)>(y)).named("low");
            sort(slice<tf::whole, tf::whole, tf::range(32, 64)>(y)).named("high");
          }) == "Relu Exp Slice TopK");
  }
}
