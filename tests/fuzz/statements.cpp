// SPDX-License-Identifier: Apache-2.0

#include "statements.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "support/graph_operations.hpp"
#include "support/host_tensors.hpp"
#include "typeflow/interpret/program.hpp"

namespace fuzz {

namespace {

namespace tf = typeflow;
using test::Random;

constexpr int rows = 4;
constexpr int columns = 2;
using Values = std::array<double, rows * columns>;
using Variable = tf::Variable<double, tf::Shape<rows, columns>>;
using Tensor = tf::Expr<double, tf::Shape<rows, columns>>;

/// One line of the list. `a` and `b` are earlier lines, -1 for none.
struct Line {
  enum class Kind {
    feed,         ///< what the run feeds
    handle,       ///< a variable when the run starts
    read,         ///< a variable as it is now; after line b, if there is one
    sum,          ///< a + b
    product,      ///< a * b
    value,        ///< what assignment a assigned
    after,        ///< a, once b has happened; if a is a read that follows nothing, made anew
    assign,       ///< variable := a
    assign_add,   ///< variable := variable as it is now + a
    assign_sub,   ///< the same, - a
    assign_mul,   ///< the same, * a
    scatter_add,  ///< rows 1 and 3 of the variable += rows 0 and 1 of a
    scatter_set,  ///< the same, :=
    dense_step,   ///< variable as it is now -= 0.5 a: minimises sum(stop_gradient(a) * variable)
    sparse_step,  ///< rows 2 and 2 of the variable, as they are now, -= 0.5 rows 0 and 1 of a
    group         ///< a and b
  };
  Kind kind;
  int variable = -1;
  int a = -1;
  int b = -1;

  bool is_effect() const { return kind >= Kind::assign; }
  bool has_value() const { return kind >= Kind::assign && kind <= Kind::assign_mul; }
};
using Kind = Line::Kind;

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed), g_(graph) {
    for (int i = 0; i < 2; ++i) {
      variables_.push_back(tf::variable<double, rows, columns>(g_, {"v", i}, tf::zeros()));
      add({Kind::handle, i});
    }
    for (int i = 0; i < 2; ++i) add({Kind::feed});
    const int count = 4 + random_.below(14);
    while (static_cast<int>(lines.size()) < count + 4) add_random();
  }

  tf::Graph graph;
  std::vector<Line> lines;
  int feeds = 0;

 private:
  template <class V>
  static auto& at(V& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }
  int any_line(bool effect) {
    std::vector<int> found;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].is_effect() == effect) found.push_back(static_cast<int>(i));
    }
    return found.empty()
               ? -1
               : found[static_cast<std::size_t>(random_.below(static_cast<int>(found.size())))];
  }
  void add_random() {
    const auto kind = static_cast<Kind>(2 + random_.below(14));
    Line line{kind, random_.below(2)};
    switch (kind) {
      case Kind::read:
        line.b = random_.chance(0.4) ? any_line(true) : -1;
        break;
      case Kind::sum:
      case Kind::product:
        line.a = any_line(false);
        line.b = any_line(false);
        break;
      case Kind::value:
        line.a = any_line(true);
        if (line.a < 0 || !at(lines, line.a).has_value()) return;
        break;
      case Kind::after:
        line.a = any_line(false);
        line.b = any_line(true);
        if (line.b < 0) return;
        break;
      case Kind::group:
        line.a = any_line(true);
        line.b = any_line(true);
        if (line.a < 0) return;
        break;
      default:
        line.a = any_line(false);
        break;
    }
    add(line);
  }

  const Variable& variable(const Line& line) const { return at(variables_, line.variable); }
  const Tensor& tensor(int line) const { return at(tensors_, line); }

  /// Adds a line to the list, and what it says to the graph.
  void add(const Line& line) {
    const int number = static_cast<int>(lines.size());
    lines.push_back(line);
    tensors_.emplace_back();
    effects_.emplace_back();
    assigned_.emplace_back();
    if (line.is_effect()) {
      at(effects_, number) = effect(line).named({"e", number});
    } else {
      at(tensors_, number) = value(line);
      if (line.kind != Kind::handle && line.kind != Kind::feed) {
        at(tensors_, number).named({"t", number});
      }
    }
  }
  Tensor value(const Line& line) {
    switch (line.kind) {
      case Kind::feed:
        return tf::placeholder<double, rows, columns>(g_, {"x", feeds++});
      case Kind::handle:
        return variable(line);
      case Kind::read:
        if (line.b < 0) return variable(line).read();
        return tf::after(at(effects_, line.b), variable(line).read());
      case Kind::sum:
        return tensor(line.a) + tensor(line.b);
      case Kind::product:
        return tensor(line.a) * tensor(line.b);
      case Kind::value:
        return at(assigned_, line.a);
      default:
        return tf::after(at(effects_, line.b), tensor(line.a));
    }
  }
  tf::Effect assigned(const tf::Assignment<double, tf::Shape<rows, columns>>& assignment) {
    assigned_.back() = assignment.value();
    return assignment;
  }
  tf::Effect effect(const Line& line) {
    const tf::GradientDescent descent{.rate = 0.5};
    const Variable* const v = line.variable >= 0 ? &variable(line) : nullptr;
    switch (line.kind) {
      case Kind::assign:
        return assigned(tf::assign(*v, tensor(line.a)));
      case Kind::assign_add:
        return assigned(tf::assign_add(*v, tensor(line.a)));
      case Kind::assign_sub:
        return assigned(tf::assign_sub(*v, tensor(line.a)));
      case Kind::assign_mul:
        return assigned(tf::assign_mul(*v, tensor(line.a)));
      case Kind::scatter_add:
        return tf::scatter_add(*v, tf::constant<int, 2>(g_, {1, 3}), first_rows(line.a));
      case Kind::scatter_set:
        return tf::scatter_update(*v, tf::constant<int, 2>(g_, {1, 3}), first_rows(line.a));
      case Kind::dense_step:
        return descent.minimize(sum(tf::stop_gradient(tensor(line.a)) * *v), only(line.variable));
      case Kind::sparse_step: {
        const auto chosen = gather(*v, tf::constant<int, 2>(g_, {2, 2}));
        return descent.minimize(sum(tf::stop_gradient(first_rows(line.a)) * chosen),
                                only(line.variable));
      }
      default:
        return at(effects_, line.a) + at(effects_, line.b);
    }
  }
  tf::Expr<double, tf::Shape<2, columns>> first_rows(int line) {
    return tf::slice<tf::range(0, 2)>(tensor(line));
  }
  tf::VariableList only(int i) { return graph.trainable(i == 0 ? "v_0" : "v_1"); }

  Random random_;
  tf::Graph& g_;
  std::vector<Variable> variables_;
  std::vector<Tensor> tensors_;  ///< by line
  std::vector<tf::Effect> effects_;
  std::vector<Tensor> assigned_;  ///< by line, of assignments
};

/// Runs of the list by what the guide says: a run executes what it names and what that depends on,
/// in the order of the model; a handle is the variable when the run starts.
class Simulation {
 public:
  explicit Simulation(const Program& program) : lines_(program.lines) {}

  std::vector<Values> variables;

  std::vector<Values> run(const std::vector<int>& names, const std::vector<Values>& feeds) {
    std::vector<bool> needed(lines_.size(), false);
    for (const int name : names) needed[static_cast<std::size_t>(name)] = true;
    for (std::size_t i = lines_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      if (lines_[i].a >= 0) needed[static_cast<std::size_t>(lines_[i].a)] = true;
      if (lines_[i].b >= 0) needed[static_cast<std::size_t>(lines_[i].b)] = true;
    }
    const std::vector<Values> start = variables;
    std::vector<Values> value(lines_.size());
    std::size_t next_feed = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].kind == Kind::feed) {
        value[i] = feeds[next_feed++];
      } else if (needed[i]) {
        value[i] = execute(lines_[i], start, value);
      }
    }
    std::vector<Values> out;
    for (const int name : names) {
      if (!lines_[static_cast<std::size_t>(name)].is_effect()) {
        out.push_back(value[static_cast<std::size_t>(name)]);
      }
    }
    return out;
  }

 private:
  Values execute(const Line& line, const std::vector<Values>& start,
                 const std::vector<Values>& value) {
    const auto at = [&](int i) -> const Values& { return value[static_cast<std::size_t>(i)]; };
    Values* const v =
        line.variable >= 0 ? &variables[static_cast<std::size_t>(line.variable)] : nullptr;
    Values out{};
    const auto each = [&](auto f) {
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = f(k);
    };
    switch (line.kind) {
      case Kind::handle:
        return start[static_cast<std::size_t>(line.variable)];
      case Kind::read:
        return *v;
      case Kind::sum:
        each([&](std::size_t k) { return at(line.a)[k] + at(line.b)[k]; });
        return out;
      case Kind::product:
        each([&](std::size_t k) { return at(line.a)[k] * at(line.b)[k]; });
        return out;
      case Kind::after: {
        const Line& x = lines_[static_cast<std::size_t>(line.a)];
        const bool reads_anew = x.kind == Kind::read && x.b < 0;
        return reads_anew ? variables[static_cast<std::size_t>(x.variable)] : at(line.a);
      }
      case Kind::value:
        return at(line.a);
      case Kind::assign:
        return *v = at(line.a);
      case Kind::assign_add:
        each([&](std::size_t k) { return (*v)[k] + at(line.a)[k]; });
        return *v = out;
      case Kind::assign_sub:
        each([&](std::size_t k) { return (*v)[k] - at(line.a)[k]; });
        return *v = out;
      case Kind::assign_mul:
        each([&](std::size_t k) { return (*v)[k] * at(line.a)[k]; });
        return *v = out;
      case Kind::scatter_add:
      case Kind::scatter_set:
        for (std::size_t k = 0; k < columns; ++k) {
          for (std::size_t r = 0; r < 2; ++r) {
            double& element = (*v)[(2 * r + 1) * columns + k];
            const double x = at(line.a)[r * columns + k];
            element = line.kind == Kind::scatter_add ? element + x : x;
          }
        }
        return out;
      case Kind::dense_step:
        for (std::size_t k = 0; k < out.size(); ++k) (*v)[k] -= 0.5 * at(line.a)[k];
        return out;
      case Kind::sparse_step:
        for (std::size_t k = 0; k < 2 * columns; ++k) {
          (*v)[2 * columns + k % columns] -= 0.5 * at(line.a)[k];
        }
        return out;
      default:
        return out;
    }
  }

  const std::vector<Line>& lines_;
};

tf::HostTensor to_tensor(const Values& values) {
  return test::doubles({rows, columns}, {values.begin(), values.end()});
}
Values some_values(Random& random) {
  Values values{};
  for (double& x : values) x = random.below(5) - 2;
  return values;
}

/// What differs first, if anything does.
std::string difference(const std::string& name, const tf::HostTensor& got, const Values& meant) {
  for (std::size_t i = 0; i < meant.size(); ++i) {
    const double element = got.value(static_cast<std::int64_t>(i));
    if (element == meant[i] || (std::isnan(element) && std::isnan(meant[i]))) continue;
    char text[120];
    std::snprintf(text, sizeof text, " differs: element %d is %.17g, not %.17g",
                  static_cast<int>(i), element, meant[i]);
    return name + text;
  }
  return {};
}

template <class Runner>
std::string compare(const char* what, Runner& runner, const std::vector<std::string>& names,
                    const tf::HostTensors& feeds, const std::vector<Values>& meant,
                    const std::vector<Values>& variables) {
  const std::vector<tf::HostTensor> got = runner.run(names, feeds);
  std::string wrong;
  for (std::size_t i = 0; i < got.size() && wrong.empty(); ++i) {
    wrong = difference("value " + std::to_string(i), got[i], meant[i]);
  }
  for (std::size_t i = 0; i < variables.size() && wrong.empty(); ++i) {
    const std::string name = "v_" + std::to_string(i);
    wrong = difference("variable " + name, runner.variables.at(name), variables[i]);
  }
  return wrong.empty() ? wrong : what + (": " + wrong);
}

}  // namespace

std::string check_statements(std::uint64_t seed) {
  const Program program(seed);
  Random random(seed + 1);
  Simulation simulation(program);
  tf::Interpreter interpreter(program.graph);
  tf::ir::ProgramInterpreter programs(program.graph);
  for (int i = 0; i < 2; ++i) {
    simulation.variables.push_back(some_values(random));
    const std::string name = "v_" + std::to_string(i);
    interpreter.variables[name] = programs.variables[name] = to_tensor(simulation.variables.back());
  }
  for (int run = 0; run < 3; ++run) {
    std::vector<int> lines;
    std::vector<std::string> names;
    const double share = random.uniform(0.1, 0.9);
    for (std::size_t i = 4; i < program.lines.size(); ++i) {
      if (!random.chance(share)) continue;
      lines.push_back(static_cast<int>(i));
      names.push_back((program.lines[i].is_effect() ? "e_" : "t_") + std::to_string(i));
    }
    if (names.empty()) continue;
    std::vector<Values> feeds;
    tf::HostTensors fed;
    for (int i = 0; i < program.feeds; ++i) {
      feeds.push_back(some_values(random));
      fed["x_" + std::to_string(i)] = to_tensor(feeds.back());
    }
    const std::vector<Values> meant = simulation.run(lines, feeds);
    std::string wrong =
        compare("interpreter", interpreter, names, fed, meant, simulation.variables);
    if (wrong.empty())
      wrong = compare("program", programs, names, fed, meant, simulation.variables);
    if (!wrong.empty()) return "run " + std::to_string(run) + ": " + wrong;
  }
  return {};
}

}  // namespace fuzz
