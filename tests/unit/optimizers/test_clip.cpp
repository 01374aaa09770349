// SPDX-License-Identifier: Apache-2.0

// Gradients clipped, scaled and summed over runs, against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "typeflow/optimizers.hpp"
#include "typeflow/testing.hpp"

#include "support/check_optimizer.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

using Lists = std::vector<std::vector<double>>;  // the gradients of "w" and "table"

/// Clips the gradients of a vector and of a table that is read at rows 1, 3, 1, and checks the step
/// of a gradient descent of rate 1.
void check(const std::function<tf::Gradients(const tf::Gradients&)>& clip,
           const std::function<void(Lists&)>& expected, bool sparse = true) {
  tf::Graph g;
  auto w = tf::variable<double, 3>(g, "w");
  auto table = tf::variable<float, 4, 2>(g, "table");
  auto a = tf::placeholder<double, 3>(g, "a");
  auto ids = tf::placeholder<std::int32_t, 3>(g, "ids");
  auto b = tf::placeholder<float, 3, 2>(g, "b");
  auto loss = sum(w * a) + sum(tf::cast<double>(gather(table, ids) * b));
  const tf::Gradients clipped = clip(gradients(loss));
  CHECK(tf::slices_of(clipped[1].gradient).empty() != sparse);
  tf::GradientDescent{.rate = 1}.apply(clipped).named("train");

  Lists d = {{3, -4, 0.5}, {0, 0, 2 - 0.5, 1 + 3, 0, 0, -0.25, 0.125}};
  expected(d);
  const tf::HostTensors feeds = {{"a", test::doubles({3}, {3, -4, 0.5})},
                                 {"ids", test::ints({3}, {1, 3, 1})},
                                 {"b", test::floats({3, 2}, {2, 1, -0.25, 0.125, -0.5, 3})}};
  const tf::HostTensors start = {{"w", test::doubles({3}, {0, 0, 0})},
                                 {"table", test::floats({4, 2}, {0, 0, 0, 0, 0, 0, 0, 0})}};
  for (std::vector<double>& list : d) {
    for (double& x : list) x = -x;
  }
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables = start;
  interpreter.run({"train"}, feeds);
  programs.run({"train"}, feeds);
  for (const tf::HostTensors& after : {interpreter.variables, programs.variables}) {
    CHECK(test::difference(after.at("w"), test::doubles({3}, d[0])) <= 1e-7);
    CHECK(test::difference(after.at("table"), test::floats({4, 2}, d[1])) <= 1e-6);
  }
}

double norm_of(const std::vector<double>& list) {
  double sum = 0;
  for (const double x : list) sum += x * x;
  return std::sqrt(sum);
}
void scale(std::vector<double>& list, double factor) {
  for (double& x : list) x *= factor;
}

}  // namespace

TEST_CASE("clipping by value adds up what a row was read for first") {
  check([](const tf::Gradients& d) { return clip_by_value(d, -1, 2); },
        [](Lists& d) {
          for (std::vector<double>& list : d) {
            for (double& x : list) x = std::clamp(x, -1.0, 2.0);
          }
        });
}

TEST_CASE("clipping by norm, average norm and global norm") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double limit : {0.5, 4.5, 100.0, infinity}) {
    CAPTURE(limit);
    check([&](const tf::Gradients& d) { return clip_by_norm(d, limit); },
          [&](Lists& d) {
            for (auto& list : d) scale(list, std::min(1.0, limit / norm_of(list)));
          });
    check([&](const tf::Gradients& d) { return clip_by_average_norm(d, limit); },
          [&](Lists& d) {
            for (auto& list : d) {
              const double average = norm_of(list) / static_cast<double>(list.size());
              scale(list, std::min(1.0, limit / average));
            }
          });
    check([&](const tf::Gradients& d) { return clip_by_global_norm(d, limit); },
          [&](Lists& d) {
            const double norm = std::hypot(norm_of(d[0]), norm_of(d[1]));
            for (auto& list : d) scale(list, std::min(1.0, limit / norm));
          });
  }
}

TEST_CASE("the global norm of gradients adds up what a row was read for") {
  tf::Graph g;
  auto table = tf::variable<float, 1000000, 2>(g, "table");
  auto w = tf::variable<double>(g, "w");
  auto ids = tf::placeholder<std::int32_t, 3>(g, "ids");
  auto few = tf::placeholder<std::int32_t, tf::batch>(g, "few");
  auto small = tf::variable<float, 5, 1>(g, "small");
  auto b = tf::placeholder<float, 3, 2>(g, "b");
  auto loss = sum(gather(table, ids) * b) + tf::cast<float>(3 * w) + sum(gather(small, few)) +
              2 * sum(gather(small, ids));
  const tf::AnyExpr norm = global_norm(gradients(loss));
  CHECK(norm.dtype() == tf::DType::float64);
  norm.named("norm");
  const tf::HostTensors feeds = {{"ids", test::ints({3}, {1, 3, 1})},
                                 {"few", test::ints({2}, {3, 4})},
                                 {"b", test::floats({3, 2}, {2, 1, -0.25, 0.125, -0.5, 3})}};
  tf::ir::ProgramInterpreter programs(g);
  const double table_squares = 1.5 * 1.5 + 4 * 4 + 0.25 * 0.25 + 0.125 * 0.125;
  const double small_squares = 4 * 4 + 3 * 3 + 1;  // rows 1, 3, 4
  CHECK(programs.run({"norm"}, feeds)[0].value(0) ==
        doctest::Approx(std::sqrt(table_squares + 9 + small_squares)));
  // Nothing else has the shape of the table.
  tf::Pool<tf::Id> roots;
  roots.push(norm.id);
  const tf::ir::Simplified simplified = tf::ir::simplify(tf::ir::Graph(g), roots);
  for (const tf::Id n : simplified.order) {
    const tf::ir::Node& node = simplified.graph.nodes[n];
    if (node.op->name == "Variable" || node.outputs.count == 0) continue;
    CHECK(!(simplified.graph.dims_of(node.outputs.first) == tf::Dims{2, {1000000, 2}}));
  }
}

TEST_CASE("an infinite global norm makes all gradients NaN") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  check(
      [&](const tf::Gradients& d) {
        return clip_by_global_norm(d.map([&](tf::AnyVariable v, tf::AnyExpr x) {
          return v.dims().rank == 1 ? x * infinity : x;
        }),
                                   1);
      },
      [&](Lists& d) {
        d[0].assign(3, std::nan(""));
        for (const std::size_t i : {2, 3, 6, 7}) d[1][i] = std::nan("");
      });
}

TEST_CASE("some variables' gradients multiplied") {
  check([](const tf::Gradients& d) { return multiply(d, d.graph->trainable("table"), 0.25); },
        [](Lists& d) { scale(d[1], 0.25); });
}

TEST_CASE("16-bit gradients are scaled by factors that are no such numbers") {
  const auto stepped = [](const auto& change) {
    tf::Graph g;
    auto w = tf::variable<tf::float16, 4>(g, "w");
    auto a = tf::placeholder<tf::float16, 4>(g, "a");
    tf::GradientDescent{.rate = 1}.apply(change(gradients(sum(w * a)))).named("train");
    tf::ir::ProgramInterpreter programs(g);
    const auto halves = [](double x) {
      return test::tensor(tf::DType::float16, {4}, {x, -x, x, x});
    };
    programs.variables = {{"w", halves(0)}};
    programs.run({"train"}, {{"a", halves(49152)}});
    return test::elements(programs.variables.at("w"));
  };
  const double smallest = std::ldexp(1, -24);
  // The norm is 2 * 49152.
  const double half_of_limit = 0.5 * 1e-3;
  for (const double x : stepped([](const auto& d) { return clip_by_global_norm(d, 1e-3); })) {
    CHECK(std::abs(std::abs(x) - half_of_limit) <= 4 * smallest);
  }
  for (const double x : stepped([](const auto& d) { return clip_by_norm(d, 1e-3); })) {
    CHECK(std::abs(std::abs(x) - half_of_limit) <= 4 * smallest);
  }
  const double factor = std::ldexp(1, -26);
  CHECK(stepped([&](const auto& d) { return multiply(d, d.graph->trainable(), factor); }) ==
        std::vector<double>{-49152 * factor, 49152 * factor, -49152 * factor, -49152 * factor});
}

TEST_CASE("gradients summed over runs are applied once") {
  tf::Graph g;
  auto w = tf::variable<double, 3>(g, "w");
  auto table = tf::variable<double, 4, 2>(g, "table");
  auto a = tf::placeholder<double, 3>(g, "x");
  auto ids = tf::placeholder<std::int32_t, 2>(g, "ids");
  const tf::GradientSums sums(gradients(sum(square(w) * a) + sum(square(gather(table, ids)))));
  sums.add().named("accumulate");
  (tf::minimize(tf::GradientDescent{.rate = 0.5}, sums.mean()) + sums.reset()).named("train");
  tf::ir::ProgramInterpreter programs(g);
  programs.variables =
      test::start_values(g, {{"w", test::doubles({3}, {1, 2, 3})},
                             {"table", test::doubles({4, 2}, std::vector<double>(8, 1))}});
  const auto run = [&](const char* what, double x, double id) {
    programs.run({what},
                 {{"x", test::doubles({3}, {x, 2 * x, 0})}, {"ids", test::ints({2}, {id, 2})}});
  };
  for (int round = 0; round < 2; ++round) {
    run("accumulate", 0.25, 0);
    run("accumulate", 0.5, 2);
    CHECK(programs.variables.at("w/accumulated/count").value(0) == 2);
    run("train", 100, 3);  // whose own gradients play no part
  }
  // w_i's mean gradient is 2 w_i (0.375, 0.75, 0): halved, w is multiplied by 0.625, 0.25 and 1.
  CHECK(programs.variables.at("w").value(0) == 0.625 * 0.625);
  CHECK(programs.variables.at("w").value(1) == 2 * 0.25 * 0.25);
  CHECK(programs.variables.at("w").value(2) == 3);
  // Row 0 was read by half of the runs, row 2 three times in two: 1 - 0.5 * 2 * 3 / 2 = -0.5.
  CHECK(programs.variables.at("table").value(0) == 0.5 * 0.5);
  CHECK(programs.variables.at("table").value(2) == 1);
  CHECK(programs.variables.at("table").value(4) == 0.25);
  CHECK(programs.variables.at("w/accumulated").value(0) == 0);
}

TEST_CASE("limits that can't be meant are mistakes of the model") {
  tf::Graph g;
  auto w = tf::variable<double, 3>(g, "w");
  const tf::Gradients d = gradients(sum(w * w));
  for (const double limit : {0.0, -1.0}) {
    const std::string expected = "clipping gradients by a norm: the limit must be more than 0";
    CHECK(message_of([&] { clip_by_norm(d, limit); }).find(expected) != std::string::npos);
    CHECK(message_of([&] { clip_by_average_norm(d, limit); }).find(expected) != std::string::npos);
    CHECK(message_of([&] { clip_by_global_norm(d, limit); }).find(expected) != std::string::npos);
  }
  const std::string between =
      "clip_by_value(gradients, low, high): 0 must lie between low and high";
  CHECK(message_of([&] { clip_by_value(d, 1, 2); }).find(between) != std::string::npos);
  CHECK(message_of([&] { clip_by_value(d, -2, -1); }).find(between) != std::string::npos);
  CHECK(message_of([&] { clip_by_value(d, 0, 0); }).empty());
}
