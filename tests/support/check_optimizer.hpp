// SPDX-License-Identifier: Apache-2.0
#pragma once

// Steps of an optimiser against a plain loop in double: of a matrix, and of tables whose gradients
// are sparse in each of the ways that there are.
//
//   test::check_steps(tf::Adagrad{.rate = 0.3}, {{"sum", 0.1}}, false,
//                     [](double& w, double d, double* slots, int step) { ... });

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"

namespace test {

/// A slot and the value that its elements start with.
struct Slot {
  std::string name;
  double initial = 0;
};
/// What a step makes of one element and of its slots; `d` is its gradient, steps count from 1.
using Rule = std::function<void(double& w, double d, double* slots, int step)>;

/// A model's variables: those that are given, others as their initialisers say, constants all.
inline tf::HostTensors start_values(const tf::Graph& g, const tf::HostTensors& given) {
  tf::HostTensors out = given;
  const tf::ir::Graph& graph = g;
  for (const tf::ir::VariableRecord& v : graph.variable_records) {
    const std::string name(graph.text_of(graph.names[v.name]).view());
    if (out.contains(name)) continue;
    REQUIRE(v.initializer.kind == tf::Initializer::Kind::constant);
    tf::HostTensor x = tf::host_tensor(graph.dtype_of(v.value), graph.dims_of(v.value));
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, v.initializer.a);
    out.emplace(name, std::move(x));
  }
  return out;
}

/// Of "W" the gradient is a + W; of a table, 2 s T for every time that a row is read.
/// "once" is read at ids with duplicates, "twice" at two lists of constant length, "batch" at one
/// of a batch and one of constant length.
constexpr tf::Expr<double> optimizer_loss(tf::Graph& g) {
  auto W = tf::variable<double, 3, 4>(g, "W");
  auto loss = sum(W * tf::placeholder<double, 3, 4>(g, "a") + square(W) * 0.5);
  const auto read = [&](const auto& table, const auto& ids, const auto& s) {
    return sum(square(gather(table, ids)) * s);
  };
  auto i = tf::placeholder<std::int32_t, 5>(g, "i");
  auto j = tf::placeholder<std::int64_t, 3>(g, "j");
  auto k = tf::placeholder<std::int32_t, tf::batch, 2>(g, "k");
  auto once = tf::variable<double, 10, 2>(g, "once");
  auto twice = tf::variable<double, 10, 2>(g, "twice");
  auto batch = tf::variable<double, 10, 2>(g, "batch");
  auto s = tf::placeholder<double, 5, 2>(g, "s");
  loss = loss + read(once, i, s) + read(twice, i, s) + read(twice, j, 0.5) + read(batch, k, 1.5) +
         read(batch, j, 0.25);
  return loss;
}

/// Five steps of the optimiser and of the rule. `every_row`: the step moves rows with a gradient of
/// zero, too.
template <class Optimizer>
void check_steps(const Optimizer& optimizer, const std::vector<Slot>& slots, bool every_row,
                 const Rule& rule, double tolerance = 1e-12) {
  tf::Graph g;
  tf::minimize(optimizer, optimizer_loss(g)).named("train");
  const tf::ir::Graph& graph = g;
  REQUIRE(tf::ir::verify(graph).view() == "");

  Random random(3);
  const std::vector<std::string> names = {"W", "once", "twice", "batch"};
  tf::HostTensors start;
  for (const std::string& name : names) {
    start[name] = random_tensor(random, tf::DType::float64,
                                name == "W" ? dims({3, 4}) : dims({10, 2}), -1, 1);
  }
  tf::HostTensors expected = start;
  std::map<std::string, std::vector<double>> kept;
  for (const std::string& name : names) {
    for (std::int64_t i = 0; i < start[name].size(); ++i) {
      for (const Slot& slot : slots) kept[name].push_back(slot.initial);
    }
  }
  tf::Interpreter interpreter(graph);
  tf::ir::ProgramInterpreter programs(g);
  interpreter.variables = programs.variables = start_values(g, start);

  for (int step = 1; step <= 5; ++step) {
    tf::HostTensors feeds;
    feeds["a"] = random_tensor(random, tf::DType::float64, dims({3, 4}), -1, 1);
    feeds["s"] = random_tensor(random, tf::DType::float64, dims({5, 2}), -1, 1);
    const double first = step % 2;
    feeds["i"] = ints({5}, {4, 1, 4, first, 1});
    feeds["j"] = tensor(tf::DType::int64, {3}, {2, 4, 2});
    feeds["k"] = ints({2, 2}, {first, 3, 3, 4});
    interpreter.run({"train"}, feeds);
    programs.run({"train"}, feeds);

    for (const std::string& name : names) {
      CAPTURE(name);
      CAPTURE(step);
      tf::HostTensor& w = expected[name];
      std::vector<double> d(static_cast<std::size_t>(w.size()));
      std::vector<bool> touched(d.size(), name == "W" || every_row);
      const auto read = [&](const char* ids, const auto& s) {
        for (std::int64_t n = 0; n < feeds[ids].size(); ++n) {
          for (std::int64_t c = 0; c < 2; ++c) {
            const std::int64_t at = static_cast<std::int64_t>(feeds[ids].value(n)) * 2 + c;
            d[static_cast<std::size_t>(at)] += 2 * s(n * 2 + c) * w.value(at);
            touched[static_cast<std::size_t>(at)] = true;
          }
        }
      };
      const auto s_of = [&](std::int64_t at) { return feeds["s"].value(at); };
      if (name == "W") {
        for (std::int64_t i = 0; i < w.size(); ++i) {
          d[static_cast<std::size_t>(i)] = feeds["a"].value(i) + w.value(i);
        }
      }
      if (name == "once" || name == "twice") read("i", s_of);
      if (name == "twice") read("j", [](std::int64_t) { return 0.5; });
      if (name == "batch") {
        read("k", [](std::int64_t) { return 1.5; });
        read("j", [](std::int64_t) { return 0.25; });
      }
      for (std::size_t i = 0; i < d.size(); ++i) {
        if (!touched[i]) continue;
        double x = w.value(static_cast<std::int64_t>(i));
        rule(x, d[i], kept[name].data() + i * slots.size(), step);
        w.set(static_cast<std::int64_t>(i), x);
      }
      CHECK(difference(interpreter.variables.at(name), w) <= tolerance);
      CHECK(difference(programs.variables.at(name), w) <= tolerance);
      for (std::size_t n = 0; n < slots.size(); ++n) {
        const std::string path =
            name + "/" + std::string(optimizer.name.text) + "/" + slots[n].name;
        CAPTURE(path);
        tf::HostTensor slot = w;
        for (std::size_t i = 0; i < d.size(); ++i) {
          slot.set(static_cast<std::int64_t>(i), kept[name][i * slots.size() + n]);
        }
        CHECK(difference(interpreter.variables.at(path), slot) <= tolerance);
        CHECK(difference(programs.variables.at(path), slot) <= tolerance);
      }
    }
  }
}

}  // namespace test
