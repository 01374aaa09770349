// SPDX-License-Identifier: Apache-2.0

// Graphs and run metadata: decoded from our own bytes, by the numbers of TensorFlow's fields.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/host.hpp>
#include <typeflow/iterators.hpp>
#include <typeflow/operations.hpp>
#include <typeflow/records/callbacks.hpp>
#include <typeflow/records/tf_record.hpp>
#include <typeflow/rnn.hpp>
#include <typeflow/summaries.hpp>

#include "fuzz/model.hpp"
#include "support/folder.hpp"
#include "support/graph_def.hpp"

namespace {

namespace tf = typeflow;

constexpr void mlp(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 4>(g, "x");
  auto y = placeholder<std::int32_t, tf::batch>(g, "y");
  auto h = dense<3>(g, "fc1", x, {.activation = tf::relu});
  auto logits = dense<2>(g, "fc2", h);
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::Adam{.rate = 1e-3}.minimize(loss).named("train");
  tf::named("parts", split<3, 1>(h));
  tf::named("best", top_k<2>(logits));
  host<tf::Result<float>>([](auto v) { return v[0]; }, loss).named("first");
}

constexpr void loop(tf::Graph& g) {
  tf::Scope in(g, "outer");
  auto n = placeholder<std::int32_t>(g, "n");
  auto w = variable<float>(g, "w", tf::ones());
  auto [i, a] = while_loop([&](auto k, auto) { return less(k, n); },
                           [&](auto k, auto b) {
                             tf::NameScope inner(g, "cell");
                             return std::tuple{k + 1, (b * w).named("grown")};
                           },
                           std::tuple{constant<std::int32_t>(g, 0), constant<float>(g, 1.0f)},
                           {.max_iterations = 10});
  cond(greater(a, 10.0f), [&] { return a * 2; }, [&] { return a - 1; }).named("y");
  i.named("count");
  tf::GradientDescent{.rate = 0.1}.minimize(square(a)).named("train");
}

constexpr void two_devices(tf::Graph& g) {
  auto x = placeholder<float, 8>(g, "x");
  auto w = tf::on<tf::Cpu<1>>(g, [&] { return variable<float, 8>(g, "w", tf::ones()); });
  auto y = tf::on<tf::Cpu<1>>(g, [&] { return (x * w).named("y"); });
  tf::on<tf::Cpu<0>>(g, [&] { return sum(exp(y)).named("z"); });
}

constexpr void reading(tf::Graph& g) {
  const auto [x, label] =
      tf::iterator<tf::ElementPart<float, tf::batch, 2>, tf::ElementPart<std::int32_t, tf::batch>>(
          g, "points");
  (sum(x) + cast<float>(sum(label))).named("total");
}

constexpr void odd_names(tf::Graph& g) {
  auto x = placeholder<float>(g, "a name: with *");
  tf::NameScope in(g, "_hidden");
  (x + 1).named("-");
  (x + 2).named("_");
}

constexpr void recurrent(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 5, 3>(g, "x");
  const tf::GRU<3, 4> gru(g, "gru");
  auto result = dynamic_rnn(gru, x);
  tf::Momentum{.rate = 0.1, .momentum = 0.9}.minimize(mean(square(result.outputs))).named("train");
}

template <auto Model, tf::Mode M = tf::training>
std::vector<NodeDef> graph_of() {
  tf::Graph graph(M);
  Model(graph);
  return nodes_of(tf::encode_graph(graph));
}
const NodeDef& find(const std::vector<NodeDef>& nodes, const std::string& name) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.name == name; });
  REQUIRE_MESSAGE(found != nodes.end(), name);
  return *found;
}
using Strings = std::vector<std::string>;

std::vector<std::string> events_of(const std::filesystem::path& path) {
  tf::TfRecordReader reader(path);
  std::vector<std::string> events;
  while (const auto event = reader.next()) events.emplace_back(*event);
  return events;
}
/// The bytes of a field of an event; empty if it lacks the field.
std::string field_of(const std::string& event, std::uint32_t field) {
  protozero::pbf_reader reader(event);
  return reader.next(field) ? reader.get_bytes() : std::string();
}

}  // namespace

TEST_CASE("a graph has the names, operations, inputs, types and shapes of its nodes") {
  const std::vector<NodeDef> nodes = graph_of<mlp>();
  CHECK(mistake_of(nodes) == "");
  const NodeDef& x = find(nodes, "x");
  CHECK(x.operation == "Placeholder");
  CHECK(x.inputs.empty());
  CHECK(x.extents() == std::vector<std::int64_t>{-1, 4});
  CHECK(x.type("dtype") == 1);                 // DT_FLOAT
  CHECK(find(nodes, "y").type("dtype") == 3);  // DT_INT32
  const NodeDef& w = find(nodes, "fc1/W");
  CHECK(w.operation == "Variable");
  CHECK(w.extents() == std::vector<std::int64_t>{4, 3});
  const NodeDef& product = find(nodes, "fc1/MatMul");
  CHECK(product.operation == "MatMul");
  CHECK(product.inputs == Strings{"x", "fc1/W"});
  CHECK(product.extents() == std::vector<std::int64_t>{-1, 3});
  CHECK(product.type("T") == 1);
  CHECK(product.device == "");
  CHECK(product.text("_description").find("test_session_events.cpp:") != std::string::npos);
  CHECK(find(nodes, "loss").inputs == Strings{"SparseSoftmaxCrossEntropy"});
  CHECK(find(nodes, "first").operation == "Host");
  // Results of one operation, and an operation made of several.
  CHECK(find(nodes, "best").operation == "TopK");
  CHECK(find(nodes, "parts/2").inputs == Strings{"fc1/Relu"});
  // Assignments are effects, and what an optimiser adds stands apart.
  const NodeDef& assign = find(nodes, "update/fc1/W/Assign");
  CHECK(assign.inputs == Strings{"fc1/W", "update/fc1/W/Sub_2"});
  for (const std::string& input : find(nodes, "train").inputs) CHECK(input.starts_with("^update/"));
  for (const NodeDef& node : nodes) {
    const bool known = node.name.find('/') != std::string::npos ||
                       std::set<std::string>{
                           "x", "y", "loss", "train", "best", "first", "SparseSoftmaxCrossEntropy"}
                           .contains(node.name);
    CHECK_MESSAGE(known, node.name);
  }
}

TEST_CASE("branches and loops have their bodies as scopes") {
  const std::vector<NodeDef> nodes = graph_of<loop>();
  CHECK(mistake_of(nodes) == "");
  CHECK(find(nodes, "outer/Loop/condition/Less").inputs ==
        Strings{"outer/Loop/condition/BlockInput_1", "outer/n"});
  CHECK(find(nodes, "outer/Loop/body/cell/grown").inputs ==
        Strings{"outer/Loop/body/BlockInput_2", "outer/w"});
  // A parameter begins with the loop's input, and the loop takes what its body gives.
  CHECK(find(nodes, "outer/Loop/body/BlockInput_2").inputs == Strings{"outer/Const_1"});
  const NodeDef& owner = find(nodes, "outer/Loop");
  CHECK(std::count(owner.inputs.begin(), owner.inputs.end(), "outer/Loop/body/cell/grown") == 1);
  CHECK(find(nodes, "outer/count").inputs == Strings{"outer/Loop"});
  CHECK(find(nodes, "outer/Branch/then/Mul").operation == "Mul");
  CHECK(find(nodes, "outer/Branch/else/Sub").operation == "Sub");
  CHECK(find(nodes, "outer/y").inputs == Strings{"outer/Branch"});
  CHECK(find(nodes, "outer/update/w/Assign").inputs[0] == "outer/w");
}

TEST_CASE("names have TensorFlow's characters, each once") {
  const std::vector<NodeDef> nodes = graph_of<odd_names>();
  CHECK(mistake_of(nodes) == "");
  CHECK(find(nodes, "a_name__with__").operation == "Placeholder");
  CHECK(mistake_of(graph_of<recurrent>()) == "");
  CHECK(mistake_of(graph_of<recurrent, tf::inference>()) == "");
  CHECK(mistake_of({{"a", "A", {"b"}, "", {}}}) == "a reads b");
  CHECK(mistake_of({{"a", "A", {}, "", {}}, {"a", "A", {}, "", {}}}) == "a is there twice");
}

TEST_CASE("random graphs have no duplicate and no dangling names") {
  std::size_t count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const fuzz::Model model = fuzz::random_model(seed);
    const std::vector<NodeDef> nodes = nodes_of(tf::encode_graph(model.graph));
    CHECK_MESSAGE(mistake_of(nodes) == "", seed);
    CHECK(nodes.size() == static_cast<std::size_t>(tf::ir::records(model.graph).nodes.size()));
    count += nodes.size();
  }
  CHECK(count > 3000);
}

TEST_CASE("a writer's graph has the session's devices") {
  const Folder folder;
  tf::Variables variables;
  const tf::Session<two_devices> session(variables, {.devices = {{.threads = 1}, {.threads = 1}}});
  tf::EventWriter writer(folder.path());
  writer.graph(session);
  writer.flush();
  const auto events = events_of(writer.path());
  REQUIRE(events.size() == 2);
  const std::vector<NodeDef> nodes = nodes_of(field_of(events[1], 4));
  CHECK(mistake_of(nodes) == "");
  CHECK(find(nodes, "y").device == "/job:localhost/replica:0/task:0/device:CPU:1");
  CHECK(find(nodes, "w").device == "/job:localhost/replica:0/task:0/device:CPU:1");
  CHECK(find(nodes, "x").device == "/job:localhost/replica:0/task:0/device:CPU:0");
  CHECK(find(nodes, "z").device == "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_CASE("WriteSummaries writes a session's graph when the training begins") {
  const Folder folder;
  tf::Variables variables;
  const tf::Session<two_devices> session(variables, {.devices = {{.threads = 1}, {.threads = 1}}});
  tf::EventWriter plain(folder / "plain");
  plain.graph(session);
  plain.flush();
  tf::EventWriter writer(folder / "training");
  tf::WriteSummaries writing(writer, session, {.every_steps = 1});
  tf::TrainingLoop loop({.steps_per_epoch = 1, .progress = nullptr}, {"loss"}, writing);
  CHECK(loop.goes_on());
  loop.step(0.5);
  loop.finish();
  const auto events = events_of(writer.path());
  REQUIRE(events.size() == 4);  // the version, the graph, the step's figure, the epoch's
  CHECK_FALSE(field_of(events[1], 4).empty());
  CHECK(field_of(events[1], 4) == field_of(events_of(plain.path())[1], 4));
}

TEST_CASE("the parts of an iterator are nodes") {
  const std::vector<NodeDef> nodes = graph_of<reading>();
  CHECK(mistake_of(nodes) == "");
  CHECK(find(nodes, "points/0").operation == "Iterator");
  CHECK(find(nodes, "points/0").extents() == std::vector<std::int64_t>{-1, 2});
  CHECK(find(nodes, "points/1").extents() == std::vector<std::int64_t>{-1});
}

TEST_CASE("run metadata has the times and the memory of the graph's nodes") {
  const Folder folder;
  tf::Variables variables;
  tf::Session<mlp> session(variables, {.threads = 1});
  tf::Trace trace;
  session.trace(&trace);
  const std::vector<float> x(32 * 4, 0.5f);
  const std::vector<std::int32_t> y(32, 1);
  session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
  session.trace<tf::Trace>(nullptr);
  tf::EventWriter writer(folder.path());
  writer.graph(session);
  writer.run_metadata(session, trace, "first", 1, 32);
  writer.run_metadata(session, trace, "without sizes", 1);
  writer.flush();

  const auto events = events_of(writer.path());
  REQUIRE(events.size() == 4);
  std::set<std::string> names;
  for (const NodeDef& node : nodes_of(field_of(events[1], 4))) names.insert(node.name);
  protozero::pbf_reader event(events[2]);
  REQUIRE(event.next(2));
  CHECK(event.get_int64() == 1);
  const std::string tagged = field_of(events[2], 8);
  CHECK(field_of(tagged, 1) == "first");
  const std::vector<NodeStats> stats = stats_of(field_of(tagged, 2));
  const std::vector<tf::Span> spans = trace.spans();
  REQUIRE(stats.size() == spans.size());
  REQUIRE(stats.size() > 5);
  double seconds = 0;
  std::int64_t nanoseconds = 0;
  bool has_product = false;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    CHECK(stats[i].device == "/job:localhost/replica:0/task:0/device:CPU:0");
    CHECK_MESSAGE(names.contains(stats[i].name), stats[i].name);
    CHECK(stats[i].start_micros == static_cast<std::int64_t>(spans[i].begin * 1e6));
    seconds += spans[i].end - spans[i].begin;
    nanoseconds += stats[i].nanoseconds;
    CHECK(stats[i].bytes >= 0);
    // (batch,4) x (4,3), and the layer's other operations are fused with it.
    has_product =
        has_product || (stats[i].name.starts_with("fc1/") && stats[i].bytes == 32 * 3 * 4);
  }
  CHECK(has_product);
  // Adam's kernels have one line. Each writes a variable and its two slots, and perhaps a gradient.
  for (const auto& [path, elements] : {std::pair<std::string, int>{"update/fc1/W/", 4 * 3},
                                       {"update/fc1/b/", 3},
                                       {"update/fc2/W/", 3 * 2},
                                       {"update/fc2/b/", 2}}) {
    const bool found = std::any_of(stats.begin(), stats.end(), [&](const auto& s) {
      return s.name.starts_with(path) && s.bytes >= elements * 3 * 4;
    });
    CHECK_MESSAGE(found, path);
  }
  CHECK(static_cast<double>(nanoseconds) ==
        doctest::Approx(seconds * 1e9).epsilon(1e-6).scale(static_cast<double>(stats.size())));
  const auto without = stats_of(field_of(field_of(events[3], 8), 2));
  REQUIRE(without.size() == stats.size());
  CHECK(std::any_of(without.begin(), without.end(), [](const auto& s) { return s.bytes < 0; }));
  CHECK(std::any_of(without.begin(), without.end(), [](const auto& s) { return s.bytes > 0; }));
}
