// SPDX-License-Identifier: Apache-2.0

#include "check.hpp"

#include <optional>
#include <string>
#include <utility>

#include "compare.hpp"
#include "some_passes.hpp"

#include "typeflow/interpret/program.hpp"

namespace fuzz {

namespace {

template <class Runner>
Outcome run(Runner& runner, const tf::HostTensors& variables, const Run& run,
            const tf::HostTensors& feeds) {
  Outcome out;
  runner.variables = variables;
  try {
    out.values = runner.run(run.fetches, feeds);
    out.variables = runner.variables;
  } catch (const tf::Error& error) {
    out.error = error.what();
  }
  return out;
}

class Checker {
 public:
  explicit Checker(const Model& model)
      : model_(model),
        debug_graph_(model.graph),
        graph_without_(model.graph),
        traced_(model.graph),
        programs_(model.graph, 1, limits()) {
    debug_graph_.set_mode(tf::training | tf::debug);
    unfused_.emplace(debug_graph_, 1);
    graph_without_.skipped = some_passes(model.seed);
    without_.emplace(graph_without_, 1, limits());
  }

  std::string run_all() {
    if (const tf::Message wrong = tf::ir::verify(model_.graph); !wrong.empty()) {
      return "traced: " + std::string(wrong.view());
    }
    tf::HostTensors variables = model_.variables;
    for (std::size_t i = 0; i < model_.runs.size(); ++i) {
      const std::string wrong = check_run(model_.runs[i], i, variables);
      if (!wrong.empty()) return "run " + std::to_string(i) + ": " + wrong;
    }
    return {};
  }

 private:
  /// Tensors are small: windows and gathered rows of any width are read in place.
  static tf::ir::FusionLimits limits() {
    tf::ir::FusionLimits limits;
    limits.run = 1;
    limits.row = 1;
    limits.part = 1;
    limits.joined = 1;
    return limits;
  }

  std::string check_run(const Run& r, std::size_t number, tf::HostTensors& variables) {
    const tf::HostTensors feeds = feeds_of(model_, r);
    traced_.random = {1, number};
    programs_.draw = unfused_->draw = without_->draw = number;
    const Outcome meant = run(traced_, variables, r, feeds);
    if (meant.error.find(" has no size") != std::string::npos) return {};
    const Outcome got = run(programs_, variables, r, feeds);
    const Outcome apart = run(*unfused_, variables, r, feeds);
    const Outcome without = run(*without_, variables, r, feeds);
    if (feeds_variable(r)) {  // refused, whatever passes do
      return got.error.empty() || apart.error.empty() ? "a variable was fed" : "";
    }

    tf::Pool<Id> cuts;
    for (const std::string& name : r.feeds) cuts.push(model_.id_of(name));
    tf::ir::Graph placed = model_.graph;
    tf::ir::place(placed);
    const tf::ir::Simplified s = tf::ir::simplify(std::move(placed), model_.roots(), cuts);
    if (const tf::Message wrong = tf::ir::verify(s); !wrong.empty()) {
      return "simplified: " + std::string(wrong.view());
    }
    tf::Interpreter simplified(s.graph, s.order, s.map);
    simplified.random = {1, number};
    const Outcome simple = run(simplified, variables, r, feeds);

    // Of wild numbers, either way may be the one to overflow.
    const bool either = model_.numbers == Numbers::wild && (overflows(meant) || overflows(simple));
    const Outcome& same = either ? simple : meant;
    for (const auto& [what, other] : {std::pair{"simplified", &simple},
                                      {"program", &got},
                                      {"unfused program", &apart},
                                      {"program without passes", &without}}) {
      // Passes may find that a feed is not needed.
      if (other->error.empty() && same.error.ends_with("got nothing")) continue;
      if (same.error.empty() != other->error.empty()) {
        return std::string(what) + ": \"" + other->error + "\" instead of \"" + same.error + '"';
      }
    }
    if (!meant.error.empty() || !simple.error.empty()) return {};  // variables stay as they were
    variables = meant.variables;
    if (const auto wrong = compare(model_, r, meant, simple, false); !wrong.empty()) {
      return "simplified: " + wrong;
    }
    if (const auto wrong = compare(model_, r, simple, got, true); !wrong.empty()) {
      return "program: " + wrong;
    }
    if (const auto wrong = compare(model_, r, simple, apart, true); !wrong.empty()) {
      return "unfused program: " + wrong;
    }
    const bool same_bits = !graph_without_.skipped.has(tf::ir::Pass::find_multiply_adds);
    const std::string wrong = compare(model_, r, same_bits ? simple : meant, without, same_bits);
    return wrong.empty()
               ? wrong
               : "without passes " + std::to_string(graph_without_.skipped.bits) + ": " + wrong;
  }

  static bool overflows(const Outcome& outcome) {
    return outcome.error.find("check_numerics: ") != std::string::npos;
  }

  bool feeds_variable(const Run& r) const {
    for (const std::string& name : r.feeds) {
      if (tf::ir::records(model_.graph).op_of(model_.id_of(name)).builtin == tf::Builtin::variable)
        return true;
    }
    return false;
  }

  using Id = tf::Id;

  const Model& model_;
  tf::ir::Graph debug_graph_;
  tf::ir::Graph graph_without_;  // some passes skip it
  tf::Interpreter traced_;
  tf::ir::ProgramInterpreter programs_;
  std::optional<tf::ir::ProgramInterpreter> unfused_;
  std::optional<tf::ir::ProgramInterpreter> without_;
};

}  // namespace

std::string check(const Model& model) {
  try {
    std::string wrong = Checker(model).run_all();
    if (wrong.empty() || model.numbers != Numbers::smooth) return wrong;
    // Where numbers nearly tie, two ways may take different sides. What is wrong is wrong for other
    // numbers, too.
    Model again = model;
    for (int attempt = 0; attempt < 2; ++attempt) {
      for (Run& r : again.runs) r.seed += 7919;
      if (Checker(again).run_all().empty()) return {};
    }
    return wrong;
  } catch (const tf::Error& error) {
    return std::string("error: ") + error.what();
  }
}

}  // namespace fuzz
