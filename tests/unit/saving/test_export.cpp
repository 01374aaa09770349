// SPDX-License-Identifier: Apache-2.0

// Exported models: the file has what the outputs need, and runners check its signature.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/saving/export.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr void net(tf::Graph& g) {
  auto x = placeholder<float, tf::batch, 2>(g, "x");
  auto temperature = placeholder<float>(g, "temperature", 1.0f);
  auto y = placeholder<float, tf::batch, 3>(g, "y");
  auto W = variable<float, 2, 3>(g, "W", tf::glorot_uniform);
  auto b = variable<float, 3>(g, "b", tf::zeros());
  auto other = variable<float, 2>(g, "other", tf::ones());
  auto logits = (matmul(x, W) + b).named("logits");
  softmax(logits / temperature).named("probabilities");
  argmax<1>(logits).named("class");
  (sum(other * other)).named("size");
  auto loss = mean(softmax_cross_entropy(logits, y)).named("loss");
  tf::Adam{.rate = 0.1}.minimize(loss).named("train");
}
/// The same with other shapes and types.
constexpr void changed(tf::Graph& g) {
  auto x = placeholder<float, 4, 2>(g, "x");
  auto scale = placeholder<float>(g, "scale", 1.0f);
  auto W = variable<float, 2, 3>(g, "W", tf::glorot_uniform);
  auto b = variable<float, 3>(g, "b", tf::zeros());
  auto logits = matmul(x, W) + b;
  softmax(logits * scale).named("probabilities");
  cast<float>(argmax<1>(logits)).named("class");
}
using Serving = tf::Session<net, tf::inference>;

std::string text_of(const tf::Signature& signature) {
  std::string text;
  for (const tf::Signature::Tensor& t : signature.inputs) {
    text += "input " + t.name + ": " + t.type + (t.has_default ? ", has a default\n" : "\n");
  }
  for (const tf::Signature::Tensor& t : signature.outputs) {
    text += "output " + t.name + ": " + t.type + "\n";
  }
  return text;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

struct Trained {
  tf::Variables variables;
  Trained() {
    tf::Session<net> session(variables, {.seed = 3});
    const std::vector<float> x{1, -1, 2, 0}, y{1, 0, 0, 0, 0, 1};
    session.run<"train">(tf::feed<"x">(x), tf::feed<"y">(y));
  }
};

}  // namespace

TEST_CASE("an exported file has the variables of its outputs, and their signature") {
  const Folder folder;
  Trained trained;
  tf::Export exported(trained.variables);
  exported.add<Serving, "probabilities", "class">();
  exported.save(folder / "net", {.model = "net"});

  tf::Variables saved;
  const tf::Metadata metadata = load(saved, folder / "net");
  CHECK(saved.names() == std::vector<std::string>{"W", "b"});  // no slots, not `other`
  CHECK(metadata.at("typeflow.model") == "net");

  const std::map<std::string, tf::Signature> all = tf::signatures(folder / "net");
  REQUIRE(all.size() == 1);
  const std::string expected =
      "input x: float [batch, 2]\ninput temperature: float [], has a default\n"
      "output probabilities: float [batch, 3]\noutput class: int32 [batch]\n";
  CHECK(text_of(all.at("serving_default")) == expected);

  const tf::Runner runner = tf::exported_runner<Serving, "probabilities", "class">(folder / "net");
  CHECK(text_of(signature_of(runner)) == expected);
  CHECK(signature_of(runner) == all.at("serving_default"));
  const std::vector<float> x{0.5f, -2, 1, 1};
  tf::Session<net, tf::inference> session(trained.variables);
  const auto direct = session.run<"probabilities">(tf::feed<"x">(x));
  const tf::RunnerResults results = runner.run({{"x", x}}, {"probabilities"});
  const std::span<const float> got = results.get<float>("probabilities");
  REQUIRE(got.size() == direct.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == direct.data()[i]);
}

TEST_CASE("a file may have several signatures") {
  const Folder folder;
  Trained trained;
  tf::Export exported(trained.variables);
  exported.add<Serving, "class">("classify");
  exported.add<Serving, "size">("size");
  CHECK(message_of([&] { exported.add<Serving, "size">("size"); }) ==
        "Export::add: there is a signature 'size' already");
  exported.save(folder / "net");
  CHECK(tf::signatures(folder / "net").size() == 2);
  const tf::Runner size = tf::exported_runner<Serving, "size">(folder / "net", "size");
  CHECK(size.run({}).value<float>("size") == 2);
  CHECK(size.inputs().empty());
  CHECK(message_of([&] { tf::exported_runner<Serving, "class">(folder / "net"); }) ==
        (folder / "net").string() +
            ": signature 'serving_default': expected one of 'classify', 'size', got "
            "none");
}

TEST_CASE("a runner refuses the file of another model") {
  const Folder folder;
  Trained trained;
  tf::Export exported(trained.variables);
  exported.add<Serving, "probabilities", "class">();
  exported.save(folder / "net");
  using Changed = tf::Session<changed, tf::inference>;
  CHECK(
      message_of([&] { tf::exported_runner<Changed, "probabilities", "class">(folder / "net"); }) ==
      (folder / "net").string() +
          ": signature 'serving_default' is not that of the model: input 'x': expected float [4, "
          "2], the file has float [batch, 2]; input 'scale': the file has none; input "
          "'temperature': the model has none; output 'probabilities': expected float [4, 3], the "
          "file has float [batch, 3]; output 'class': expected float [4], the file has int32 "
          "[batch]");
  // Fewer outputs are another signature.
  CHECK(has(message_of([&] { tf::exported_runner<Serving, "class">(folder / "net"); }),
            "input 'temperature': the model has none; output 'probabilities': the model has none"));
  // The weights are checked before.
  CHECK(has(message_of([&] { tf::exported_runner<Serving, "size">(folder / "net", "size"); }),
            "it has none of the variables"));
}

TEST_CASE("files that were not exported, and damaged signatures") {
  const Folder folder;
  Trained trained;
  save(trained.variables, folder / "plain");
  CHECK(message_of([&] { tf::signatures(folder / "plain"); }) ==
        (folder / "plain").string() + ": has no signatures: tf::Export has not written it");
  CHECK(message_of([&] { tf::exported_runner<Serving, "class">(folder / "plain"); }) ==
        (folder / "plain").string() +
            ": signature 'serving_default': expected a file that tf::Export has "
            "written, got none");
  for (const char* const text : {"", "{", "[]", "{\"inputs\": [], \"outputs\": [1]}",
                                 "{\"inputs\": [{\"name\": 3}], \"outputs\": []}"}) {
    save(trained.variables, folder / "damaged",
         {.metadata = {{"typeflow.signature/serving_default", text}}});
    CHECK(message_of([&] { tf::signatures(folder / "damaged"); }) ==
          (folder / "damaged").string() + ": its signature 'serving_default' is damaged: '" + text +
              "'");
  }
  CHECK(message_of([&] { tf::Export(trained.variables).save(folder / "none"); }) ==
        "Export::save: expected a signature: call add() before, got none");
  tf::Variables empty;
  tf::Export exported(empty);
  CHECK(has(message_of([&] { exported.add<Serving, "class">(); }), "'W'"));
}

TEST_CASE("an exported file without one of the variables") {
  const Folder folder;
  Trained trained;
  tf::Export exported(trained.variables);
  exported.add<Serving, "class">();
  exported.save(folder / "net", {.only = [](std::string_view name) { return name == "W"; }});
  CHECK(message_of([&] { tf::exported_runner<Serving, "class">(folder / "net"); }) ==
        (folder / "net").string() + ": has no tensors for the model's variables 'b'");
}

TEST_CASE("an exported file in memory") {
  const Folder folder;
  Trained trained;
  tf::Export exported(trained.variables);
  exported.add<Serving, "class">();
  exported.save(folder / "net");
  std::ifstream file(folder / "net", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const tf::Runner runner =
      tf::exported_runner<Serving, "class">(std::as_bytes(std::span<const char>(bytes)));
  const std::vector<float> x{1, 1};
  CHECK(runner.run({{"x", x}}).tensor("class").shape[0] == 1);
}
