// SPDX-License-Identifier: Apache-2.0

// Thousands of random models: what passes, lowering and the memory plan make of them computes what
// their graphs mean. `fuzz` does the same for any number of seeds.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "check.hpp"
#include "docs/completeness.hpp"
#include "shrink.hpp"
#include "statements.hpp"
#include "support/graph_operations.hpp"
#include "typeflow/passes/place.hpp"
#include "write.hpp"

namespace {

namespace tf = typeflow;

constexpr std::uint64_t graphs = 3000;

/// A composite that is interpreted as one thing and expands into another.
struct Wrong : tf::composite {
  static constexpr std::string_view name = "test/Wrong";
  static constexpr tf::Type infer(Wrong, const tf::Type& x) { return x; }
  static constexpr tf::AnyExpr expand(Wrong, tf::AnyExpr x) { return x + 1; }
  static void interpret(tf::InterpretCall& call) {
    for (std::int64_t i = 0; i < call.outputs->size(); ++i) {
      call.outputs[0].set(i, call.inputs[0]->value(i) + 2);
    }
  }
};

/// A model of 20 operations with a wrong one in the middle of them.
fuzz::Model faulty_model() {
  fuzz::Model model;
  tf::Graph& g = model.graph;
  tf::AnyExpr x = tf::placeholder<float, 4>(g, {"x", 0}).any();
  for (int i = 0; i < 20; ++i) {
    x = i == 10 ? apply(Wrong{}, x) : i % 2 == 0 ? x * 2 : x - 1;
    tf::ir::records(g).add_name({"t", i}, tf::ir::NameKind::value, x.id);
    model.tensors.push_back("t_" + std::to_string(i));
  }
  model.feedable = {"x_0"};
  model.ranges = {{-2, 2}};
  model.runs = {{.fetches = {"t_3"}}, {.fetches = {"t_3", "t_19", "t_12"}, .sizes = 4}};
  return model;
}

int operations_of(const fuzz::Model& model) {
  int count = 0;
  for (const tf::ir::Node& node : tf::ir::records(model.graph).nodes)
    count += node.op->kind != tf::Kind::source;
  return count;
}

}  // namespace

TEST_CASE("programs of random graphs compute what the graphs mean") {
  std::set<std::string> seen;
  const auto see = [&](const tf::ir::Graph& graph) {
    for (const tf::ir::Node& node : graph.nodes) seen.emplace(node.op->name);
  };
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    const fuzz::Model model = fuzz::random_model(seed);
    CHECK(fuzz::check(model) == "");
    tf::ir::Graph placed = model.graph;
    tf::ir::place(placed);
    see(model.graph);
    see(tf::ir::simplify(std::move(placed), model.roots()).graph);
  }
  // All operations of the library take part, but for those of strings, since the interpreter has
  // numbers alone; of branches and loops, which test_control_flow and test_primitives make graphs
  // of; of resources, which unit/resources has random graphs of; of files, summaries, the
  // user's functions and assertions, whose effects no interpreter's result shows; and of what
  // swapped and compressed make, whose unit tests have devices; of products of bytes;
  // of binomial and von Mises numbers, igammac, zeta, gradients and inverses of incomplete
  // functions, functions of distributions, which unit/random, unit/ops and unit/distributions
  // compare with the interpreter; and of powers with some constants, which
  // unit/passes/test_simplify and unit/cpu/test_vector_math have.
  const std::set<std::string> elsewhere = {"Cube",
                                           "PowHalf",
                                           "PowMinusHalf",
                                           "PowMinusTwo",
                                           "WholePower",
                                           "Arrival",
                                           "TruncateToBfloat16",
                                           "AssignStrings",
                                           "BlockInput",
                                           "Branch",
                                           "Check",
                                           "Checkpoint",
                                           "Enter",
                                           "Host",
                                           "Exit",
                                           "Loop",
                                           "LoopCond",
                                           "Merge",
                                           "NextIteration",
                                           "PartDone",
                                           "PartDoneOnGpu",
                                           "PipelineStage",
                                           "Result",
                                           "RestoreTensor",
                                           "SaveVariables",
                                           "Switch",
                                           "MergeSummary",
                                           "Iterator",
                                           "RandomBinomial",
                                           "RandomVonMises",
                                           "Igammac",
                                           "Zeta",
                                           "GammaDensity",
                                           "IgammaGradA",
                                           "BetaDensity",
                                           "BetaincGrad",
                                           "Igammainv",
                                           "Igammacinv",
                                           "Betaincinv",
                                           "IntegerMatMul",
                                           "PoissonEntropy",
                                           "PoissonEntropyGrad",
                                           "PoissonQuantile",
                                           "BinomialEntropy",
                                           "BinomialEntropyGrad",
                                           "BinomialQuantile",
                                           "MultinomialShare",
                                           "RowOffsets",
                                           "MultinomialShareGrad",
                                           "VonMisesCdf",
                                           "VonMisesLogCdf",
                                           "VonMisesQuantile",
                                           "VonMisesSlope",
                                           "Betaincc",
                                           "LogBetainc",
                                           "LogBetaincGrad",
                                           "LogBetaincGradX",
                                           "LogIgamma",
                                           "LogIgammaGradA",
                                           "LogIgammaGradX",
                                           "TruncatedNormalQuantile",
                                           "ScatterDiv",
                                           "ScatterUpdateMax",
                                           "UnravelIndex",
                                           "ScatterUpdateMin",
                                           "UnigramSampler",
                                           "InvertPermutation",
                                           "CtcBeamSearch",
                                           "PoolingSequence"};
  const std::filesystem::path headers = TYPEFLOW_SOURCE_DIR "/include/typeflow";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(headers)) {
    if (entry.path().extension() != ".hpp") continue;
    const std::filesystem::path folder = entry.path().parent_path().filename();
    if (folder == "strings" || folder == "resources" || folder == "estimators" ||
        folder == "signal")
      continue;
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    for (const std::string& name : completeness::record_names(text.str())) {
      CAPTURE(name);
      CHECK((seen.contains(name) || elsewhere.contains(name)));
    }
  }
}

// The interpreter of programs took 16-bit factors for floats, and their memory for twice as long.
TEST_CASE("results may lie directly behind a product's 16-bit factors") {
  for (const std::uint64_t seed : {100702, 187432, 310162}) {
    CAPTURE(seed);
    CHECK(fuzz::check(fuzz::random_model(seed)) == "");
  }
}

TEST_CASE("random sequences of statements do what the guide says of statements") {
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    CAPTURE(seed);
    CHECK(fuzz::check_statements(seed) == "");
  }
}

TEST_CASE("a check sees a wrong operation, and a faulty model shrinks to it") {
  const fuzz::Model model = faulty_model();
  CHECK(fuzz::check(model).starts_with("run 1: simplified: \"t_19\" differs at 0"));
  const fuzz::Model small =
      fuzz::shrink(model, [](const fuzz::Model& m) { return !fuzz::check(m).empty(); });
  CHECK(operations_of(small) == 1);
  CHECK(small.runs.size() == 1);
  CHECK(fuzz::check(small) != "");
  const std::string text = fuzz::as_function(small, "model");
  CHECK(text.find("constexpr void model(tf::Graph& g) {") == 0);
  CHECK(text.find("Wrong>({v0}, {}, {tf::Type{tf::DType::float32, {1, {4}}}})") != text.npos);
}
