// SPDX-License-Identifier: Apache-2.0

// What a run does and does not do besides what it is asked for: kernels that hold more than one
// value, effects beside values, feeds that no step reads, statements one after the other.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>
#include <typeflow/xtensor.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// The programs that a session compiles for a model beside the first.
template <auto Model, class Fetches, class Feeds>
inline constexpr bool has_own_program =
    tf::detail::ProgramFor<Model, tf::training, tf::ir::Lowering<Model>, Fetches, Feeds>::own;
template <tf::Text... N>
using Names = tf::ir::Names<tf::NameOf<N>...>;

}  // namespace

// Geometry.

namespace {

/// Reductions over leading axes, followed by what runs along a part of the axes that stay.
constexpr void leading(tf::Graph& g) {
  auto z = tf::placeholder<float, 3, 3, 5>(g, "z");
  auto zb = tf::placeholder<float, tf::batch, 3, 5>(g, "zb");
  auto b = tf::placeholder<float, 5>(g, "b");
  auto c = tf::placeholder<float, 3, 1>(g, "c");
  (sum<0>(z) + b).named("sum_b");
  (sum<0>(z) * c).named("sum_c");
  (mean<0>(z) + b).named("mean_b");
  (max<0>(z) - c).named("max_c");
  (prod<0>(z) + b).named("prod_b");
  (sum<0>(z, tf::keep_dims) + b).named("kept_b");
  (sum<0>(zb) + b).named("batch_b");
  auto v = tf::variable<float, 3, 3, 5>(g, "v", tf::ones());
  gradients(sum(square(sum<0>(v * z) + b) * c), v).named("gradient");
}

}  // namespace

TEST_CASE("a reduction over leading axes takes operands along a part of the others") {
  tf::Variables variables;
  tf::Session<leading> session(variables);
  xt::xtensor<float, 3> z = xt::xtensor<float, 3>::from_shape({3, 3, 5});
  for (int i = 0; i < 45; ++i) z.data()[i] = static_cast<float>(i % 7 - 3);
  const std::vector<float> b{1, 2, 3, 4, 5};
  const xt::xtensor<float, 2> c{{1}, {2}, {3}};
  const auto fold = [&](auto start, auto f, std::size_t j, std::size_t k) {
    for (std::size_t i = 0; i < 3; ++i) start = f(start, z(i, j, k));
    return start;
  };
  const auto add = [](float s, float x) { return s + x; };
  const auto [sum_b, sum_c, mean_b, max_c, prod_b, kept_b, batch_b, gradient] =
      session.run<"sum_b", "sum_c", "mean_b", "max_c", "prod_b", "kept_b", "batch_b", "gradient">(
          tf::feed<"z">(z), tf::feed<"zb">(z), tf::feed<"b">(b), tf::feed<"c">(c));
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t k = 0; k < 5; ++k) {
      const float total = fold(0.0f, add, j, k);
      CHECK(sum_b(j, k) == total + b[k]);
      CHECK(sum_c(j, k) == total * c(j, 0));
      CHECK(std::abs(mean_b(j, k) - (total / 3 + b[k])) < 1e-6f);
      CHECK(max_c(j, k) ==
            fold(-9.0f, [](float s, float x) { return std::max(s, x); }, j, k) - c(j, 0));
      CHECK(prod_b(j, k) == fold(1.0f, [](float s, float x) { return s * x; }, j, k) + b[k]);
      CHECK(kept_b(0, j, k) == total + b[k]);
      CHECK(batch_b(j, k) == total + b[k]);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(gradient(i, j, k) == 2 * (total + b[k]) * c(j, 0) * z(i, j, k));
      }
    }
  }
}

// Runs do what they are asked for.

namespace {

constexpr void beside_an_effect(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto v = tf::variable<float, 4>(g, "v", tf::zeros());
  auto t = (x * 2).named("t");
  auto e = tf::assign(v, t);
  e.value().named("new");
}

constexpr void beside_a_choice(tf::Graph& g) {
  auto x = tf::placeholder<float, 4>(g, "x");
  auto v = tf::variable<float, 4>(g, "v", tf::zeros());
  auto positive = greater(x, 0);
  auto [indices, count] = tf::where(positive);
  indices.named("indices");
  count.named("count");
  auto chosen = tf::where(positive, x, 0).named("chosen");
  tf::assign(v, chosen).named("keep");
}

constexpr void classifier(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto label = tf::placeholder<int, tf::batch>(g, "label");
  auto z = matmul(x, tf::variable<float, 4, 3>(g, "W")).named("z");
  softmax(z).named("p");
  log_softmax(z).named("log_p");
  tf::logsumexp<1>(z).named("total");
  max<1>(softmax(z)).named("confidence");
  mean(softmax_cross_entropy(z, label)).named("loss");
}

constexpr void two_sums(tf::Graph& g) {
  auto x = tf::placeholder<float, 8>(g, "x");
  auto y = tf::placeholder<float, 8>(g, "y");
  auto a = sum(square(x)).named("a");
  auto b = sum(square(y)).named("b");
  (a + b).named("c");
}

}  // namespace

TEST_CASE("a fetch executes no effect that it does not depend on") {
  tf::Variables variables;
  tf::Session<beside_an_effect> session(variables);
  const std::vector<float> x{1, 2, 3, 4};
  CHECK(session.run<"t">(tf::feed<"x">(x))(3) == 8);
  CHECK(variables.get<float>("v")[3] == 0);
  CHECK(session.run<"new">(tf::feed<"x">(x))(3) == 8);
  CHECK(variables.get<float>("v")[3] == 8);

  tf::Variables others;
  tf::Session<beside_a_choice> choice(others);
  const std::vector<float> y{1, -1, 3, -4};
  CHECK(choice.run<"count">(tf::feed<"x">(y)) == 2);
  CHECK(choice.run<"chosen">(tf::feed<"x">(y))(2) == 3);
  CHECK(choice.run<"indices">(tf::feed<"x">(y))(1, 0) == 2);
  CHECK(others.get<float>("v")[2] == 0);
  choice.run<"keep">(tf::feed<"x">(y));
  CHECK(others.get<float>("v")[2] == 3);
}

TEST_CASE("a run asks for the feeds that its names need, and no others") {
  tf::Variables variables;
  tf::Session<classifier> session(variables);
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
  const auto p = session.run<"p">(tf::feed<"x">(x));
  const auto log_p = session.run<"log_p">(tf::feed<"x">(x));
  const auto total = session.run<"total">(tf::feed<"x">(x));
  const auto z = session.run<"z">(tf::feed<"x">(x));
  const auto confidence = session.run<"confidence">(tf::feed<"x">(x));
  for (std::size_t i = 0; i < 2; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += std::exp(static_cast<double>(z(i, j)));
    float largest = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(p(i, j) == doctest::Approx(std::exp(static_cast<double>(z(i, j))) / sum));
      CHECK(log_p(i, j) == doctest::Approx(static_cast<double>(z(i, j)) - std::log(sum)));
      largest = std::max(largest, p(i, j));
    }
    CHECK(total(i) == doctest::Approx(std::log(sum)));
    CHECK(confidence(i) == largest);
  }
  const std::vector<int> label{0, 2};
  CHECK(session.run<"loss">(tf::feed<"x">(x), tf::feed<"label">(label)) > 0);

  tf::Session<two_sums> sums(variables);
  const std::vector<float> eight(8, 2.0f);
  CHECK(sums.run<"a">(tf::feed<"x">(eight)) == 32);
  CHECK(sums.run<"b">(tf::feed<"y">(eight)) == 32);
  CHECK(sums.run<"c">(tf::feed<"x">(eight), tf::feed<"y">(eight)) == 64);
}

TEST_CASE("results have no programs of their own, names on the way do where kernels hold more") {
  CHECK_FALSE(has_own_program<classifier, Names<"p">, Names<"x">>);
  CHECK_FALSE(has_own_program<classifier, Names<"loss">, Names<"x", "label">>);
  CHECK_FALSE(has_own_program<classifier, Names<"z">, Names<"x">>);
  CHECK_FALSE(has_own_program<two_sums, Names<"a">, Names<"x">>);
  CHECK(has_own_program<beside_an_effect, Names<"t">, Names<"x">>);
  CHECK_FALSE(has_own_program<beside_an_effect, Names<"new">, Names<"x">>);
}

// Feeds.

namespace {

constexpr void drawn(tf::Graph& g) {
  tf::placeholder<float, tf::batch, 2>(g, "unrelated");
  auto z = tf::random_uniform<float, tf::batch, 3>(g, "z");
  sum<0>(z).named("s");
  auto one = tf::broadcast_to<tf::batch, 3>(tf::constant<float>(g, 1));
  (one + 0.5f * z).named("w");
  sum(one).named("rows");
}

constexpr void aliases(tf::Graph& g) {
  auto x = tf::placeholder<float, 2>(g, "x").named("same");
  auto v = tf::variable<float, 2>(g, "v", tf::ones()).named("weights");
  auto h = (x * v).named("h").named("hidden");
  (h + 1).named("y");
}

}  // namespace

TEST_CASE("a feed gives the batch whatever the run's program reads") {
  tf::Variables variables;
  tf::Session<drawn> session(variables);
  const std::vector<float> five(10);
  CHECK(session.run<"rows">(tf::feed<"unrelated">(five)) == 15);
  const auto [z, s] = session.run<"z", "s">(tf::feed<"unrelated">(five));
  REQUIRE(z.shape()[0] == 5);
  for (std::size_t k = 0; k < 3; ++k) {
    double total = 0;
    for (std::size_t i = 0; i < 5; ++i) total += static_cast<double>(z(i, k));
    CHECK(s(k) == doctest::Approx(total));
  }
  // In a program of the run's own, too.
  const std::vector<float> of_z(15, 2.0f);
  CHECK(session.run<"w">(tf::feed<"unrelated">(five), tf::feed<"z">(of_z))(4, 2) == 2);
  const std::vector<float> other(9, 2.0f);
  CHECK(message_of([&] { session.run<"w">(tf::feed<"unrelated">(five), tf::feed<"z">(other)); }) ==
        "feed \"z\": expected float [batch, 3] with batch = 5, as feed \"unrelated\" has, "
        "got float, 9 elements");
  CHECK(message_of([&] { session.run<"w">(tf::feed<"unrelated">(std::vector<float>(9))); }) ==
        "feed \"unrelated\": expected float [batch, 2], got float, 9 elements");
}

TEST_CASE("a tensor with two names is fed and fetched by either") {
  tf::Variables variables;
  tf::Session<aliases> session(variables);
  const std::vector<float> two{1, 2};
  CHECK(session.run<"y">(tf::feed<"same">(two))(1) == 3);
  CHECK(session.run<"y">(tf::feed<"x">(two))(1) == 3);
  CHECK(session.run<"y">(tf::feed<"hidden">(two))(1) == 3);
  CHECK(session.run<"y">(tf::feed<"h">(two))(1) == 3);
  CHECK(session.run<"weights">()(1) == 1);
  CHECK(session.run<"hidden">(tf::feed<"x">(two))(1) == 2);
}

// Statements.

namespace {

constexpr void steps(tf::Graph& g) {
  auto dense = tf::variable<float, 2>(g, "dense", tf::zeros());
  auto sparse = tf::variable<float, 2>(g, "sparse", tf::zeros());
  auto all = tf::constant<int, 2>(g, {0, 1});
  tf::group(tf::assign_add(dense, 10), tf::assign_add(sparse, 10)).named("add");
  const tf::GradientDescent descent{.rate = 1};
  auto first = descent.minimize(sum(dense) + sum(gather(sparse, all)));
  auto second = descent.minimize(sum(dense) + sum(gather(sparse, all)));
  first.named("first");
  second.named("second");
}

constexpr void pinned(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto w = tf::variable<float, 4, 4>(g, "w");
  auto h = tf::on<tf::Cpu<0>>(g, [&] { return tanh(matmul(x, w) * 3 + 1); });
  (h * h + x).named("y");
}
constexpr void not_pinned(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 4>(g, "x");
  auto w = tf::variable<float, 4, 4>(g, "w");
  auto h = tanh(matmul(x, w) * 3 + 1);
  (h * h + x).named("y");
}

}  // namespace

TEST_CASE("an optimiser's step, dense or sparse, subtracts from the present value") {
  const auto after = [](auto run) {
    tf::Variables variables;
    tf::Session<steps> session(variables);
    run(session);
    const auto dense = variables.get<float>("dense");
    const auto sparse = variables.get<float>("sparse");
    for (std::size_t i = 0; i < 2; ++i) CHECK(dense[i] == sparse[i]);
    return dense[0];
  };
  CHECK(after([](auto& s) { tf::run<"first">(s); }) == -1);
  CHECK(after([](auto& s) { tf::run<"add", "first">(s); }) == 9);
  CHECK(after([](auto& s) { tf::run<"first", "second">(s); }) == -2);
  CHECK(after([](auto& s) { tf::run<"add", "first", "second">(s); }) == 8);
  CHECK(after([](auto& s) { tf::run<"second">(s); }) == -1);
}

TEST_CASE("a step where nothing came before is one kernel, in place") {
  tf::Graph g;
  auto v = tf::variable<float, 8>(g, "v", tf::ones());
  tf::GradientDescent{.rate = 0.5f}.minimize(sum(square(v))).named("train");
  const tf::ir::ProgramPools program = tf::ir::compile(std::move(g));
  REQUIRE(program.steps.size() == 1);
  for (const tf::ir::Slot& slot : program.slots) CHECK(slot.kind != tf::ir::SlotKind::temporary);
}

TEST_CASE("pinning to the only device changes neither kernels nor bits") {
  using Pinned = tf::ir::Lowering<pinned>;
  using Free = tf::ir::Lowering<not_pinned>;
  CHECK(Pinned::view.steps.size == Free::view.steps.size);
  CHECK(Pinned::kernel_count == Free::kernel_count);
  tf::Variables variables;
  tf::Session<pinned> one(variables);
  tf::Session<not_pinned> other(variables);
  const std::vector<float> x{0.1f, 0.2f, 0.3f, 0.4f, -1, 2, -3, 4};
  CHECK(one.run<"y">(tf::feed<"x">(x)) == other.run<"y">(tf::feed<"x">(x)));
}

TEST_CASE("a product behind a view that nothing uses becomes a multiply-add") {
  tf::Graph g;
  auto x = tf::placeholder<float, 4>(g, "x");
  auto y = tf::placeholder<float, 4>(g, "y");
  auto view = tf::reshape<2, 2>(x * y);
  (tf::reshape<4>(view) + x).named("z");
  const tf::ir::ProgramPools program = tf::ir::compile(std::move(g));
  REQUIRE(program.specs.size() == 1);
  REQUIRE(program.specs[0].items == 1);
  CHECK(program.specs[0].item[0].op->name == "Fma");
}
