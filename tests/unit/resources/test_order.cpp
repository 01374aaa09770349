// SPDX-License-Identifier: Apache-2.0

// Random statements on counters and variables, compared with a simulation that executes in the
// model's order what a run needs. Programs are made at run time, so that thousands cost no compile
// time: their kernels are plain loops, and those of counters the library's.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/host_tensors.hpp"
#include "typeflow/interpret/kernel.hpp"
#include "typeflow/interpret/program.hpp"
#include "typeflow/lower/selection.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

using test::Random;
using Tensor = tf::Expr<std::int64_t>;

/// One statement, which has a value. `a` and `b` are earlier ones.
struct Line {
  enum class Kind {
    handle,  ///< a variable at the start of the run
    read,    ///< a variable as it is then
    sum,     ///< a + b
    next,    ///< counter += a; its value before
    set,     ///< counter := a; then b, read anew if it is a read
    assign,  ///< variable := variable as it is then + a; the new value
  };
  Kind kind;
  int place = 0;  ///< the variable or counter
  int a = 0;
  int b = 0;
};
using Kind = Line::Kind;

struct Model {
  tf::Graph graph;
  std::vector<Line> lines;
};

Model random_model(std::uint64_t seed) {
  Random random(seed);
  Model model;
  tf::Graph& g = model.graph;
  std::vector<tf::Variable<std::int64_t>> variables;
  std::vector<tf::Resource<tf::Counter>> counters;
  std::vector<Tensor> values;
  for (int i = 0; i < 2; ++i) {
    variables.push_back(tf::variable<std::int64_t>(g, {"v", i}, tf::filled(i + 1)));
    counters.push_back(tf::counter(g, {"c", i}));
    values.push_back(variables.back());
    model.lines.push_back({Kind::handle, i});
  }
  const int count = 4 + random.below(16);
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<int>(values.size());
    const Line line{static_cast<Kind>(1 + random.below(5)), random.below(2), random.below(n),
                    random.below(n)};
    const auto at = [&](int value) { return values[static_cast<std::size_t>(value)]; };
    const auto& v = variables[static_cast<std::size_t>(line.place)];
    const auto& c = counters[static_cast<std::size_t>(line.place)];
    switch (line.kind) {
      case Kind::read:
        values.push_back(v.read());
        break;
      case Kind::sum:
        values.push_back(at(line.a) + at(line.b));
        break;
      case Kind::next:
        values.push_back(next(c, at(line.a)));
        break;
      case Kind::set:
        values.push_back(after(set(c, at(line.a)), at(line.b)));
        break;
      default:
        values.push_back(assign_add(v, at(line.a)).value());
        break;
    }
    model.lines.push_back(line);
  }
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    values[static_cast<std::size_t>(i)] = (values[static_cast<std::size_t>(i)] + 0).named({"t", i});
  }
  return model;
}

/// What runs see and change.
struct World {
  std::array<std::int64_t, 2> variables{1, 2};
  std::array<std::int64_t, 2> counters{0, 0};
};

/// Whether a value is a v.read(), which after(effect, v.read()) reads anew.
bool is_read(const std::vector<Line>& lines, int value) {
  return lines[static_cast<std::size_t>(value)].kind == Kind::read;
}

/// The values of a run that needs these lines, in the model's order.
std::vector<std::int64_t> simulate(const std::vector<Line>& lines, std::vector<bool> needed,
                                   World& world) {
  for (std::size_t i = lines.size(); i-- > 0;) {
    const Line& line = lines[i];
    if (!needed[i] || line.kind == Kind::handle || line.kind == Kind::read) continue;
    needed[static_cast<std::size_t>(line.a)] = true;
    const bool anew = line.kind == Kind::set && is_read(lines, line.b);
    if (line.kind == Kind::sum || (line.kind == Kind::set && !anew)) {
      needed[static_cast<std::size_t>(line.b)] = true;
    }
  }
  const World start = world;
  std::vector<std::int64_t> values(lines.size(), 0);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!needed[i]) continue;
    const Line& line = lines[i];
    const auto place = static_cast<std::size_t>(line.place);
    const std::int64_t a = values[static_cast<std::size_t>(line.a)];
    const std::int64_t b = values[static_cast<std::size_t>(line.b)];
    switch (line.kind) {
      case Kind::handle:
        values[i] = start.variables[place];
        break;
      case Kind::read:
        values[i] = world.variables[place];
        break;
      case Kind::sum:
        values[i] = a + b;
        break;
      case Kind::next:
        values[i] = world.counters[place];
        world.counters[place] += a;
        break;
      case Kind::set:
        world.counters[place] = a;
        values[i] = b;
        if (is_read(lines, line.b)) {
          const Line& read = lines[static_cast<std::size_t>(line.b)];
          values[i] = world.variables[static_cast<std::size_t>(read.place)];
        }
        break;
      default:
        values[i] = world.variables[place] += a;
        break;
    }
  }
  return values;
}

void add_kernel(const tf::KernelCall& call) {
  auto& counter = *call.operand<tf::Counter>(1);
  *call.operand<std::int64_t>(2) = counter.add(*call.operand<const std::int64_t>(0));
}
void set_kernel(const tf::KernelCall& call) {
  call.operand<tf::Counter>(1)->set(*call.operand<const std::int64_t>(0));
}

/// A program of plain loops, and of the counters' kernels.
std::vector<tf::KernelEntry> kernels_of(const tf::ir::InterpretedProgram& program) {
  std::vector<tf::KernelEntry> entries;
  for (const tf::ir::KernelSpec& spec : program.pools().specs) {
    entries.push_back(
        {&tf::ir::interpret_kernel, [](const std::int64_t*) { return std::int64_t{0}; }, &spec});
    if (spec.op == nullptr) continue;
    if (tf::is<tf::ops::CounterAdd>(*spec.op)) entries.back().run = &add_kernel;
    if (tf::is<tf::ops::CounterSet>(*spec.op)) entries.back().run = &set_kernel;
  }
  return entries;
}

/// Runs the model three times, for all of its values or for some. What differs from the simulation.
std::string check(std::uint64_t seed, const tf::ir::FusionLimits& limits) {
  const Model model = random_model(seed);
  Random random(seed + 1'000'000);
  const tf::ir::InterpretedProgram program(model.graph, {}, limits);
  const std::vector<tf::KernelEntry> entries = kernels_of(program);
  tf::Variables store;
  tf::Variables states;
  tf::Engine engine(program.view(), {.kernels = entries.data()}, store, states,
                    tf::EngineOptions{});
  World world;
  for (int run = 0; run < 3; ++run) {
    std::vector<bool> asked(model.lines.size(), false);
    std::vector<tf::Id> names;
    const tf::ir::ProgramView view = program.view();
    for (std::size_t i = 0; i < model.lines.size(); ++i) {
      const tf::Id name = tf::ir::find_name(view, "t_" + std::to_string(i));
      if (view.names[name].slot == tf::none || (run > 0 && random.below(3) != 0)) continue;
      asked[i] = true;
      names.push_back(name);
    }
    names.push_back(tf::none);
    const tf::ir::Selection selection =
        tf::ir::select_steps(view, names.data(), static_cast<int>(names.size()) - 1);
    if (!selection.exact) continue;
    std::vector<tf::Id> steps;
    for (tf::Id s = 0; s < view.steps.size; ++s) {
      if (selection.steps[s] != 0) steps.push_back(s);
    }
    std::vector<std::int64_t> results(names.size());
    std::vector<tf::FetchBuffer> buffers;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) buffers.push_back({names[i], &results[i]});
    tf::Engine::Run(engine, {}).execute(steps, buffers, false);
    const std::vector<std::int64_t> expected = simulate(model.lines, asked, world);
    std::size_t next = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!asked[i]) continue;
      const std::int64_t found = results[next++];
      if (found == expected[i]) continue;
      return "run " + std::to_string(run) + ", t_" + std::to_string(i) + ": " +
             std::to_string(found) + ", expected " + std::to_string(expected[i]);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t c = store.resource<tf::Counter>("c_" + std::to_string(i)).value();
      if (c != world.counters[i]) return "a counter after run " + std::to_string(run);
      const std::int64_t v = store.get<std::int64_t>("v_" + std::to_string(i))[0];
      if (v != world.variables[i]) return "a variable after run " + std::to_string(run);
    }
  }
  return "";
}

}  // namespace

TEST_CASE("random statements on counters and variables happen in the model's order") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    CHECK(check(seed, {}) == "");
    CHECK(check(seed, {.members = 1}) == "");
  }
}
