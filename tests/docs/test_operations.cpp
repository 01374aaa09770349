// SPDX-License-Identifier: Apache-2.0

// Every operation has its row in docs/operations.md and its tests. (And the check can fail.)

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "completeness.hpp"
#include "families.hpp"
#include "static/bodies.hpp"

namespace {

namespace docs = typeflow::docs;
namespace tf = typeflow;
namespace fs = std::filesystem;
using completeness::Exception;
using completeness::File;
using completeness::Sources;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<File> read_all(const fs::path& folder, std::string_view extension) {
  const fs::path root = TYPEFLOW_SOURCE_DIR;
  std::vector<File> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
    if (entry.path().extension() != extension) continue;
    files.push_back({fs::relative(entry.path(), root).string(), read(entry.path())});
  }
  return files;
}

/// Operations that no function of the library's users makes by itself.
constexpr Exception internal_records[] = {
    {"Arrival", "swapped tensors come back after it: docs/devices.md"},
    {"BlockInput", "what a branch or a body is given, made while they are traced"},
    {"Dropout", "dropout checks a share that is fed with it"},
    {"Fma", "the simplify pass makes it of a product and a sum"},
    {"Fms", "the simplify pass makes it of a product and a difference"},
    {"Fnma", "the simplify pass makes it of a product and a difference"},
    {"Cube", "the simplify pass makes it of a power with a constant exponent"},
    {"PowHalf", "the simplify pass makes it of a power with a constant exponent"},
    {"PowMinusHalf", "the simplify pass makes it of a power with a constant exponent"},
    {"PowMinusTwo", "the simplify pass makes it of a power with a constant exponent"},
    {"WholePower", "the simplify pass makes it of a power with a constant exponent"},
    {"RowOffsets", "kernels that read gathered rows in place need it: docs/design.md"},
    {"MergeSummary", "the merge of tf::Summaries: docs/summaries.md"},
};

/// Functions that are called from models but are no operations.
constexpr Exception other_functions[] = {
    {"Session", "the constructor of what runs a model"},
    {"BatchNorm", "the constructor of a layer; its call is that of batch_norm"},
    {"apply", "adds a node of the operation that it is given"},
    {"blend", "changes variables, which lists name"},
    {"ConvLayer", "the constructor of a layer; its call is that of conv2d"},
    {"ConvTransposeLayer", "the constructor of a layer; its call is that of conv2d_transpose"},
    {"Dense", "the constructor of a layer; its call is that of dense"},
    {"DepthwiseLayer", "the constructor of a layer; its call is that of depthwise_conv2d"},
    {"Embedding", "the constructor of a layer; its call is that of embedding"},
    {"GroupNorm", "the constructor of a layer; its call is that of group_norm"},
    {"InPlaneLayer", "the constructor of a layer; its call is that of conv2d_in_plane"},
    {"InstanceNorm", "the constructor of a layer; its call is that of instance_norm"},
    {"LayerNorm", "the constructor of a layer; its call is that of layer_norm"},
    {"MultiHeadAttention", "the constructor of a layer; its call is that of multi_head_attention"},
    {"SeparableLayer", "the constructor of a layer; its call is that of separable_conv2d"},
    {"connect", "makes an edge of a loop of primitives, and no node: docs/control_flow.md"},
    {"global_step", "makes the variable that minimize counts in: docs/optimizers.md"},
    {"named", "gives a name, and makes no node"},
    {"on", "says where operations run, and makes no node: docs/devices.md"},
    {"regularize", "records a regulariser, and makes no node"},
    {"regularization_loss", "sums up what the model collected: docs/losses.md"},
    {"total_loss", "sums up what the model collected: docs/losses.md"},
};

/// Functions that docs/guide.md lists, whose runs may allocate, and those whose runs nobody can
/// repeat.
constexpr Exception uncounted[] = {
    {"host", "calls a function of the user's, which may allocate: docs/guide.md"},
    {"regex_full_match", "makes a program of its pattern: docs/guide.md"},
    {"regex_replace", "makes a program of its pattern: docs/guide.md"},
    {"restore_tensor", "reads a file: docs/guide.md"},
    {"restore_variable", "reads a file: docs/guide.md"},
    {"save_variables", "writes a file: docs/guide.md"},
};

template <class... O>
void add_names(std::vector<std::string_view>& names, bodies::List<O...>) {
  (names.push_back(O::name), ...);
}

Sources the_library() {
  Sources in;
  add_names(in.bodies, bodies::All{});
  add_names(in.bodies, bodies::Without{});
  for (const docs::Family& family : docs::families) {
    for (const Row& row : family.rows) in.rows.push_back(&row);
  }
  in.headers = read_all("include/typeflow", ".hpp");
  // Metrics and recurrent nets are parts of models made of operations: docs/metrics.md and
  // docs/rnn.md have their tables. docs/queues.md and docs/resources.md have those of resources,
  // docs/parallel_training.md has that of towers and pipelines. docs/data.md has iterators,
  // docs/forests.md has forests, docs/distributions.md has distributions.
  std::erase_if(in.headers, [](const File& header) {
    return header.path.starts_with("include/typeflow/distributions/") ||
           header.path.starts_with("include/typeflow/estimators/") ||
           header.path.starts_with("include/typeflow/iterators/") ||
           header.path.starts_with("include/typeflow/metrics/") ||
           header.path.starts_with("include/typeflow/parallel/") ||
           header.path.starts_with("include/typeflow/queues/") ||
           header.path.starts_with("include/typeflow/resources/") ||
           header.path.starts_with("include/typeflow/rnn/");
  });
  in.tests = read_all("tests/unit", ".cpp");
  in.test_headers = read_all("tests/unit", ".hpp");
  std::ranges::move(read_all("tests/support", ".hpp"), std::back_inserter(in.test_headers));
  in.refused = read_all("tests/compile_fail", ".cpp");
  in.table = read(fs::path(TYPEFLOW_SOURCE_DIR) / "docs/operations.md");
  in.internal_records = internal_records;
  in.other_functions = other_functions;
  in.uncounted = uncounted;
  return in;
}

}  // namespace

TEST_CASE("every operation has a row and its tests") {
  const Sources in = the_library();
  REQUIRE(in.headers.size() > 20);
  REQUIRE(in.tests.size() > 20);
  REQUIRE(in.refused.size() > 20);
  for (const std::string& gap : gaps(in)) FAIL_CHECK(gap);
}

// The check, on an operation that has all, and on what is missing if a part of it is taken away.

namespace {

struct Swish : typeflow::ops::floating {
  static constexpr std::string_view name = "Swish";
  template <class V>
  constexpr V operator()(V x) const {
    return x;
  }
  static constexpr typeflow::AnyExpr gradient(Swish, auto, auto, auto dy) { return dy; }
};
struct Lookup : typeflow::custom {
  static constexpr std::string_view name = "Lookup";
};

constexpr Row swish = row<Swish>("swish", "swish(x)", "(S) -> (S)", "x sigmoid(x)");
constexpr Row either = row<Swish>("either", "a | b", "(S) x (S) -> (S)", "either");
constexpr Row found = row<Lookup>("lookup", "lookup(x)", "(S) -> (S)", "x, found");
constexpr Row composed = row<>("composed", "composed(x)", "(S) -> (S)", "x", {.types = "any"});
constexpr Row safe = row<Swish>("swish", "swish(x)", "(S) -> (S)", "", {.infallible = "never"});

constexpr std::string_view header = R"(
struct Swish : floating {
  static constexpr std::string_view name = "Swish";
};
template <class X>
constexpr auto swish(const X& x, float beta = f(1),
                     std::source_location at = std::source_location::current()) {
)";
constexpr std::string_view tests = R"(
TEST_CASE("swish: values") {
TEST_CASE_TEMPLATE("swish: gradient", T, float, double) {
)";
constexpr std::string_view refused = R"(
  swish(n);  // error: swish(x): x must be float or double
)";

Sources complete() {
  Sources in;
  in.rows = {&swish};
  in.bodies = {"Swish"};
  in.headers = {{"front/swish.hpp", std::string(header)}};
  in.tests = {{"test_swish.cpp", std::string(tests)}};
  in.refused = {{"swish.cpp", std::string(refused)}};
  in.table = "| `swish(x)` | `(S) -> (S)` |";
  return in;
}
/// All gaps in a text.
std::string text_of_gaps(const Sources& in) {
  std::string text;
  for (const std::string& gap : gaps(in)) text += gap + '\n';
  return text;
}
std::string without(std::string_view text, std::string_view line) {
  std::string out(text);
  REQUIRE(out.find(line) != std::string::npos);
  return out.erase(out.find(line), line.size());
}

}  // namespace

TEST_CASE("an operation with all that it needs has no gaps") {
  CHECK(text_of_gaps(complete()) == "");
}

TEST_CASE("an operation or a function without a row is a gap, unless it is an exception") {
  Sources in = complete();
  in.rows.clear();
  in.tests.clear();
  CHECK(text_of_gaps(in) ==
        "the operation 'Swish' of front/swish.hpp: no row in docs/operations/ names it\n"
        "the function 'swish' of front/swish.hpp: no row in docs/operations/ names it\n");
  constexpr Exception records[] = {{"Swish", "internal"}};
  constexpr Exception functions[] = {{"swish", "internal"}};
  in.internal_records = records;
  in.other_functions = functions;
  CHECK(text_of_gaps(in) == "");
}

TEST_CASE("an exception that nothing needs any more is a gap") {
  Sources in = complete();
  constexpr Exception records[] = {{"Swish", "has a row"}, {"Gone", "is gone"}};
  in.internal_records = records;
  CHECK(text_of_gaps(in) ==
        "the operation 'Swish': needs no exception, it has a row or is gone\n"
        "the operation 'Gone': needs no exception, it has a row or is gone\n");
}

TEST_CASE("a body that nvcc never sees is a gap") {
  Sources in = complete();
  in.bodies = {"Exp"};
  CHECK(text_of_gaps(in) ==
        "the operation 'Swish': neither list of tests/static/bodies.hpp has it\n");
}

TEST_CASE("a missing test is a gap") {
  Sources in = complete();
  in.tests[0].text = without(tests, "TEST_CASE(\"swish: values\")");
  CHECK(text_of_gaps(in) == "swish: no TEST_CASE(\"swish: values\") in tests/unit\n");
  in.tests[0].text = without(tests, "TEST_CASE_TEMPLATE(\"swish: gradient\"");
  CHECK(text_of_gaps(in) == "swish: no TEST_CASE(\"swish: gradient\") in tests/unit\n");
}

TEST_CASE("an operation with a kernel whose allocations nobody counts is a gap") {
  constexpr Row looked_up =
      row<Lookup>("lookup", "lookup(x)", "(S) -> (S)", "x, found",
                  {.types = "any", .gradient = Gradient::missing, .infallible = "never"});
  constexpr std::string_view gap = "lookup: no test counts the allocations of its runs\n";
  Sources in;
  in.rows = {&looked_up};
  in.headers = {{"front/lookup.hpp", R"(static constexpr std::string_view name = "Lookup";)"}};
  in.tests = {{"test_lookup.cpp", "TEST_CASE(\"lookup: values\") {"}};
  in.table = "| `lookup(x)` |";
  CHECK(text_of_gaps(in) == gap);

  in.test_headers = {{"tests/support/check_lookup.hpp", "test::check_values<Model>("},
                     {"tests/support/check_values.hpp", "void check_values("}};
  in.tests[0].text += "\n#include \"support/check_values.hpp\"\n";
  CHECK(text_of_gaps(in) == gap);
  Sources by_header = in;
  by_header.tests[0].text += "\n#include \"support/check_lookup.hpp\"\n";
  CHECK(text_of_gaps(by_header) == "");
  Sources by_itself = in;
  by_itself.tests[0].text += "test::check_against_interpreter<model>(3);";
  CHECK(text_of_gaps(by_itself) == "");

  constexpr Exception allocates[] = {{"lookup", "makes a table"}};
  in.uncounted = allocates;
  CHECK(text_of_gaps(in) == "");
  by_itself.uncounted = allocates;
  CHECK(text_of_gaps(by_itself) ==
        "lookup: needs no exception, its runs are counted or it has no kernel\n");
}

TEST_CASE("an operation without gradient needs no test of it") {
  constexpr Row stopped =
      row<Swish>("swish", "swish(x)", "(S) -> (S)", "", {.gradient = Gradient::nothing});
  Sources in = complete();
  in.rows = {&stopped};
  in.tests[0].text = without(tests, "TEST_CASE_TEMPLATE(\"swish: gradient\"");
  CHECK(text_of_gaps(in) == "");
}

TEST_CASE("a missing error is a gap, unless the row says that there is none") {
  constexpr std::string_view gap =
      "swish: no TEST_CASE(\"swish: errors\") in tests/unit, no `// error: swish(...` in "
      "tests/compile_fail/operations\n";
  Sources in = complete();
  for (const char* other : {"", "// error: swishes(x): x must be float\n", "// error: swish\n",
                            "swish(n);  // swish(x): x must be float\n"}) {
    in.refused[0].text = other;
    CHECK(text_of_gaps(in) == gap);
  }
  for (const char* enough :
       {"// error: swish<axis>(x): x has no such axis\n", "// error: swish: x has no such axis\n",
        "  // expect: swish(x): x must be float or double\n"}) {
    in.refused[0].text = enough;
    CHECK(text_of_gaps(in) == "");
  }
  in.refused.clear();
  in.tests.push_back({"test_more.cpp", "TEST_CASE(\"swish: errors\") {"});
  CHECK(text_of_gaps(in) == "");
  in.rows = {&safe};
  CHECK(text_of_gaps(in) == "swish: its row says that no call can be wrong, and a test has one\n");
  in.tests.pop_back();
  CHECK(text_of_gaps(in) == "");
}

TEST_CASE("operators are known by their call, and bars are escaped in the table") {
  Sources in = complete();
  in.rows.push_back(&either);
  in.tests[0].text += "TEST_CASE(\"either: values\") TEST_CASE(\"either: gradient\")";
  in.refused[0].text += "x | n;  // error: a | b: the element types must be equal\n";
  CHECK(text_of_gaps(in) ==
        "either: docs/operations.md has no 'a | b'; build the target operations_table\n");
  in.table += "\n| `a \\| b` |";
  CHECK(text_of_gaps(in) == "");
}

TEST_CASE("a row must know element types and gradient") {
  Sources in = complete();
  in.rows = {&swish, &found, &composed};
  const std::string text = text_of_gaps(in);
  CHECK(text.find("lookup: its records don't say which element types 'lookup(x)' takes; the row "
                  "must, .types") != std::string::npos);
  CHECK(text.find("composed: the row of 'composed(x)' has no record, so it must say .gradient") !=
        std::string::npos);
}

TEST_CASE("tests of a function that has no row are a gap") {
  Sources in = complete();
  in.tests[0].text += "TEST_CASE(\"relu7: values\") TEST_CASE(\"a sentence: with a colon\")";
  CHECK(text_of_gaps(in) ==
        "the test case 'relu7: values': no row in docs/operations/ has its function\n");
}

namespace {
/// How often f can be differentiated, up to three times.
template <class F>
int orders(const F& f) {
  tf::Graph g;
  auto x = tf::placeholder<double>(g, "x");
  auto y = f(x);
  for (int order = 0; order < 3; ++order) {
    try {
      y = gradients(y, x);
    } catch (const tf::Error&) {
      return order;
    }
  }
  return 3;
}
}  // namespace

TEST_CASE("gradients of gradients end where the table says") {
  const auto row_of = [](std::string_view call) {
    for (const docs::Family& family : docs::families) {
      for (const docs::Row& row : family.rows) {
        if (row.call == call) return gradient_of(row);
      }
    }
    return docs::Gradient::derived;
  };
  CHECK(row_of("lgamma(x)") == docs::Gradient::any_order);
  CHECK(orders([](auto x) { return lgamma(x); }) == 3);
  CHECK(row_of("igamma(a, x)") == docs::Gradient::once);
  CHECK(orders([](auto x) { return igamma(x, x); }) == 1);
  CHECK(row_of("erf(x)") == docs::Gradient::any_order);
  CHECK(orders([](auto x) { return erf(x); }) == 3);
}

TEST_CASE("types and gradients of rows are those of their records") {
  using namespace typeflow;
  constexpr auto types = [](const Row& r) { return types_of(r); };
  constexpr auto gradient = [](const Row& r) { return gradient_of(r); };
  CHECK(types(row<ops::Select, ops::Less, ops::Exp>("", "", "", "")) == "floating");
  CHECK(types(row<ops::Select, ops::LogicalAnd, ops::Add>("", "", "", "")) == "numbers");
  CHECK(types(row<ops::LogicalAnd>("", "", "", "")) == "bool");
  CHECK(types(row<ops::Equal>("", "", "", "")) == "any");
  CHECK(types(swish) == "floating");
  CHECK(gradient(row<ops::Less>("", "", "", "")) == Gradient::nothing);
  CHECK(gradient(row<ops::Less, ops::Exp>("", "", "", "")) == Gradient::any_order);
  CHECK(gradient(row<ops::Exp, Lookup>("", "", "", "")) == Gradient::once);
  CHECK(gradient(found) == Gradient::missing);
  CHECK(gradient(row<ops::Variable>("", "", "", "")) == Gradient::no_tensors);
}

TEST_CASE("no header of the processor's kernels names what allocates") {
  // In a steady run kernels have the memory of KernelCall::workspace. (Texts of failed checks are
  // in a .ipp.)
  constexpr std::string_view words[] = {
      "std::vector", "std::string",   "std::map",    "std::set",          "std::unordered",
      "std::deque",  "std::function", "std::stable", "make_unique",       "make_shared",
      "malloc",      "operator new",  "Pool<",       "std::inplace_merge"};
  std::vector<File> files;
  for (const char* folder : {"include/typeflow/cpu", "include/typeflow/cpu/ops"}) {
    for (File& file : read_all(folder, ".hpp")) files.push_back(std::move(file));
  }
  CHECK(files.size() > 40);
  for (const File& file : files) {
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) {
      const std::string code = line.substr(0, line.find("//"));
      for (const std::string_view word : words) {
        const std::size_t at = code.find(word);
        const bool is_view = at != code.npos && code.substr(at).starts_with("std::string_view");
        CHECK_MESSAGE((at == code.npos || is_view), file.path << ": " << line);
      }
    }
  }
}
