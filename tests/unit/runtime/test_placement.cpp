// SPDX-License-Identifier: Apache-2.0

// Run-time placement: pins by name or scope, things that must be together, and the log of where
// all is.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr void towers(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 12>(g, "x");
  auto W = tf::variable<float, 12, 8>(g, "W", tf::normal(0, 0.3));
  auto b = tf::variable<float, 8>(g, "b", tf::filled(0.1));
  auto V = tf::variable<float, 8, 8>(g, "V", tf::normal(0, 0.3));
  const auto tower = [&](int i, auto y) {
    tf::NameScope in(g, "tower", i);
    return tanh(matmul(y, V)).named("out");
  };
  auto h = (matmul(x, W) + b).named("h");
  auto both = matmul(tower(0, h), transpose(tower(1, tanh(h)))).named("both");
  auto loss = mean(square(both)).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

std::vector<float> inputs(std::size_t rows) {
  std::vector<float> x(rows * 12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i));
  return x;
}

using OnThree = tf::Session<towers>;
tf::SessionOptions on_three(const tf::Placement* placement) {
  return {.seed = 3, .devices = tf::DeviceList::of(3), .placement = placement};
}

std::vector<float> train(OnThree& session) {
  std::vector<float> out;
  for (std::size_t step = 1; step <= 3; ++step) {
    const auto [loss, both] = session.run<"train", "loss", "both">(tf::feed<"x">(inputs(step)));
    out.push_back(loss);
    out.insert(out.end(), both.data(), both.data() + both.size());
  }
  return out;
}

/// The devices of all lines of a mapping that begin with a name: "0", "0 2".
std::string devices_of(const std::string& mapping, const std::string& name) {
  const std::string line = '\n' + name + ": /job:localhost/replica:0/task:0/cpu:";
  std::string out;
  for (std::size_t at = mapping.find(line); at != std::string::npos;
       at = mapping.find(line, at + 1)) {
    out += (out.empty() ? "" : " ") + std::string(1, mapping[at + line.size()]);
  }
  return out;
}

/// The error that a session with this placement gives; empty if it opens.
std::string refusal(tf::PlacementOptions options, bool soft = false) {
  const tf::Placement placement(std::move(options));
  tf::Variables variables;
  tf::SessionOptions settings = on_three(&placement);
  settings.soft_placement = soft;
  return message_of([&] { OnThree session(variables, settings); });
}
bool has(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

constexpr void sample(tf::Graph& g) {
  auto a = tf::placeholder<float, 2, 3>(g, "a");
  auto b = tf::variable<float, 3, 2>(g, "b", tf::ones());
  matmul(a, b).named("MatMul");
}

/// a and b are computed by one step. c is computed where d is.
constexpr void fused(tf::Graph& g) {
  auto x = tf::placeholder<float, 4, 4>(g, "x");
  auto W = tf::variable<float, 4, 4>(g, "W");
  auto product = matmul(x, W);
  auto a = tanh(product).named("a");
  auto b = tanh(product + 1.0f).named("b");
  matmul(a, b).named("ab");
  auto c = exp(x).named("c");
  sum(c + 1.0f).named("d");
}

constexpr void loop(tf::Graph& g) {
  auto x = tf::placeholder<float, 6>(g, "x");
  auto last = tf::fori_loop(
      0, 5,
      [&](auto, auto s) {
        auto inner = matmul(tf::reshape<2, 3>(s), tf::reshape<3, 2>(s)).named("inner");
        return tanh(s * sum(inner));
      },
      x);
  last.named("last");
}

}  // namespace

TEST_CASE("pins move operations by name, by scope and by pattern") {
  tf::Variables variables;
  OnThree plain(variables, on_three(nullptr));
  const std::string before = tf::device_mapping(plain);
  CHECK(devices_of(before, "tower_0/out") == "0");
  CHECK(devices_of(before, "tower_1/out") == "0");

  for (const char* name : {"tower_1/out", "tower_1", "tower_1/", "tower_1/*", "t*_1", "*1/out"}) {
    CAPTURE(name);
    const tf::Placement placement({.pins = {{name, "/cpu:2"}}});
    OnThree session(variables, on_three(&placement));
    const std::string mapping = tf::device_mapping(session);
    CHECK(devices_of(mapping, "tower_1/out") == "2");
    CHECK(devices_of(mapping, "tower_0/out") == "0");
    CHECK(devices_of(mapping, "both") == "0");
    CHECK(devices_of(mapping, "W") == "0");
    session.with_plan<"both">(
        [](const auto&, const auto&, const auto& plan) { CHECK(plan.used_devices == 2); });
  }
}

TEST_CASE("a pinned session computes the bits of one that is not, wherever the pins are") {
  tf::Variables reference_store;
  OnThree plain(reference_store, on_three(nullptr));
  const std::vector<float> reference = train(plain);
  const std::array<const char*, 3> devices = {"/cpu:0", "/device:CPU:1", "/job:localhost/cpu:2"};
  int opened = 0;
  for (std::size_t pins = 0; pins < 243; pins += 2) {
    const auto device = [&](std::size_t power) { return devices[pins / power % 3]; };
    const tf::Placement placement({.pins = {{"W", device(1)},
                                            {"b", device(3)},
                                            {"tower_0", device(9)},
                                            {"gradients", device(27)},
                                            {"loss", device(81)}}});
    tf::Variables variables;
    OnThree session(variables, on_three(&placement));
    REQUIRE(train(session) == reference);
    const auto check = tf::simulate<"train", "loss">(session, {.sizes = 4});
    REQUIRE(check.wrong == "");
    ++opened;
  }
  CHECK(opened == 122);
}

TEST_CASE("a variable moves with the steps that assign it") {
  const tf::Placement placement({.pins = {{"W", "/cpu:1"}}});
  tf::Variables variables;
  OnThree session(variables, on_three(&placement));
  const std::string mapping = tf::device_mapping(session);
  CHECK(devices_of(mapping, "W") == "1");
  CHECK(devices_of(mapping, "W/momentum/m") == "1");  // assigned by the same step
  CHECK(devices_of(mapping, "b") == "0");
  session.with_plan<"train">([](const auto& program, const auto&, const auto&) {
    int assigning = 0;
    for (const tf::ir::Step& step : program.steps) {
      for (int i = step.inputs; i < step.operands.count; ++i) {
        const tf::ir::Slot& slot = program.slots[program.operands[step.operands.first + i]];
        if (slot.kind != tf::ir::SlotKind::variable) continue;
        ++assigning;
        CHECK(slot.device == step.device);
      }
    }
    CHECK(assigning >= 4);
  });
}

TEST_CASE("names of one list are on one device") {
  const auto mapping = [](tf::PlacementOptions options) {
    const tf::Placement placement(std::move(options));
    tf::Variables variables;
    OnThree session(variables, on_three(&placement));
    return tf::device_mapping(session);
  };
  std::string text = mapping({.pins = {{"b", "/cpu:2"}}, .together = {{"tower_0", "b"}}});
  CHECK(devices_of(text, "b") == "2");
  CHECK(devices_of(text, "tower_0/out") == "2");
  CHECK(devices_of(text, "tower_1/out") == "0");
  // Lists that share a member are one group; a partial name leaves the choice to the others.
  text = mapping({.pins = {{"loss", "/cpu:1"}, {"W", "/cpu:*"}},
                  .together = {{"tower_0", "W"}, {"loss", "tower_0"}}});
  CHECK(devices_of(text, "W") == "1");
  CHECK(devices_of(text, "tower_0/out") == "1");
  CHECK(devices_of(text, "loss") == "1");
  // Without a pin the group is where its variable is.
  text = mapping({.pins = {{"tower_1", "/cpu:1"}}, .together = {{"tower_0", "b"}}});
  CHECK(devices_of(text, "tower_0/out") == "0");
}

TEST_CASE("demands that contradict each other are refused with the names of both") {
  std::string text = refusal({.pins = {{"W", "/cpu:1"}, {"train", "/cpu:2"}}});
  CHECK(has(text, "placement: one device for "));
  CHECK(has(text, "on /cpu:1 (pin \"W\")"));
  CHECK(has(text, "Sub ("));
  CHECK(has(text, "on /cpu:2 (pin \"train\")"));
  CHECK(has(text, "no device meets these demands"));

  text = refusal({.pins = {{"W", "/cpu:1"}, {"W/momentum/m", "/cpu:2"}}});  // W is its scope, too
  CHECK(text ==
        "placement: expected variable \"W/momentum/m\" on /cpu:1 (pin \"W\"), got /cpu:2 "
        "(pin \"W/momentum/m\"): no device meets these demands");

  text =
      refusal({.pins = {{"tower_0", "/cpu:1"}, {"b", "/cpu:2"}}, .together = {{"tower_0", "b"}}});
  CHECK(has(text, "together {\"tower_0\", \"b\"}: one device for "));
  CHECK(has(text, "tower_0/out (test_placement.cpp:"));
  CHECK(has(text, "variable \"b\" on /cpu:2 (pin \"b\")"));

  const tf::Placement placement({.pins = {{"a", "/cpu:0"}, {"b", "/cpu:1"}}});
  tf::Variables variables;
  text = message_of([&] {
    tf::Session<fused> session(variables,
                               {.devices = tf::DeviceList::of(2), .placement = &placement});
  });
  CHECK(has(text, "on /cpu:0 (pin \"a\")"));
  CHECK(has(text, "got /cpu:1 (pin \"b\"): no device meets these demands"));

  const tf::Placement inner({.pins = {{"c", "/cpu:1"}}});
  text = message_of([&] {
    tf::Session<fused> session(variables, {.devices = tf::DeviceList::of(2), .placement = &inner});
  });
  CHECK(has(text, "'c' is fused into steps that read it"));

  // Which pairs contradict is as plain sets say, whatever the order.
  const std::array<const char*, 5> names = {"/cpu:0", "/cpu:1", "/cpu:2", "/cpu:*", ""};
  const auto set_of = [](std::size_t i) { return i < 3 ? 1u << i : 7u; };
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::string message = refusal(
          {.pins = {{"b", names[i]}, {"tower_1", names[k]}}, .together = {{"tower_1", "b"}}});
      REQUIRE(message.empty() == ((set_of(i) & set_of(k)) != 0));
    }
  }
}

TEST_CASE("pins that name nothing, or no device, are refused") {
  CHECK(refusal({.pins = {{"tower_2", "/cpu:1"}}}) ==
        "pin {\"tower_2\", \"/cpu:1\"}: 'tower_2' names no operation, variable or scope that runs; "
        "did you mean 'tower_0'?");
  CHECK(has(refusal({.pins = {{"x", "/cpu:1"}}}), "'x' names no operation, variable or scope"));
  CHECK(has(refusal({.together = {{"W", "los"}}}), "did you mean 'loss'?"));
  CHECK(has(refusal({.pins = {{"W", "/cpu1"}}}), "\"/cpu1\": expected /job:NAME"));
  CHECK(has(refusal({.pins = {{"W", "/cpu:x"}}}),
            "expected the device's number, or * at position 5"));
  CHECK(refusal({.pins = {{"b", "/cpu:7"}}}) ==
        "pin {\"b\", \"/cpu:7\"}: expected a device of this machine (/cpu:0, /cpu:1, /cpu:2) for "
        "variable \"b\", variable \"b/momentum/m\", got /cpu:7");
  // Soft placement drops the demands that no device meets.
  CHECK(refusal({.pins = {{"W", "/cpu:7"}, {"loss", "/gpu:0"}}}, true) == "");
  CHECK(has(refusal({.pins = {{"tower_2", "/cpu:1"}}}, true), "names no operation"));
}

TEST_CASE("a pin to another process is refused when the session opens, or dropped with a line") {
  for (const char* device :
       {"/job:worker/task:17/device:gpu:3", "/job:worker", "/job:localhost/task:1/cpu:0",
        "/job:localhost/replica:1/task:0/cpu:0"}) {
    CAPTURE(device);
    const std::string text = refusal({.pins = {{"tower_1", device}}});
    const std::string pin = std::string("pin {\"tower_1\", \"") + device + "\"}: ";
    CHECK(has(text, pin + "expected a device of this machine (/cpu:0, /cpu:1, /cpu:2) for "));
    CHECK(has(text, "tower_1/out (test_placement.cpp:"));
    CHECK(text.ends_with(std::string(", got ") + device));

    std::vector<std::string> lines;
    const tf::Placement placement({.pins = {{"tower_1", device}, {"tower_0", "/cpu:2"}}});
    tf::SessionOptions options = on_three(&placement);
    options.soft_placement = true;
    options.print = [&](std::string_view line) { lines.emplace_back(line); };
    tf::Variables variables;
    OnThree session(variables, options);
    REQUIRE(lines.size() == 1);
    CHECK(has(lines[0], pin + "this machine lacks the device (devices: /cpu:0, /cpu:1, /cpu:2); "
                              "soft placement drops it for "));
    CHECK(has(lines[0], "tower_1/out (test_placement.cpp:"));
    CHECK(devices_of(tf::device_mapping(session), "tower_1/out") == "0");
    CHECK(devices_of(tf::device_mapping(session), "tower_0/out") == "2");
  }
  // A full name of this process is as good as a short one.
  CHECK(refusal({.pins = {{"tower_1", "/job:localhost/replica:0/task:0/device:CPU:1"}}}) == "");
}

TEST_CASE("pins act on steps inside of loops, too") {
  tf::Variables variables;
  tf::Session<loop> plain(variables);
  const tf::Placement placement({.pins = {{"inner", "/cpu:1"}}});
  tf::Session<loop> pinned(variables, {.devices = tf::DeviceList::of(2), .placement = &placement});
  CHECK(devices_of(tf::device_mapping(pinned), "inner") == "1");
  const std::vector<float> x = {0.1f, -0.2f, 0.3f, 0.4f, -0.5f, 0.6f};
  CHECK(plain.run<"last">(tf::feed<"x">(x)) == pinned.run<"last">(tf::feed<"x">(x)));
}

TEST_CASE("a run that is compiled for itself has the pins, too") {
  const tf::Placement placement({.pins = {{"tower_1", "/cpu:2"}, {"W", "/cpu:1"}}});
  tf::Variables variables;
  OnThree session(variables, on_three(&placement));
  OnThree plain(variables, on_three(nullptr));
  const std::vector<float> out(2 * 8, 0.25f);
  const auto run = [&](OnThree& s) {
    return s.run<"both">(tf::feed<"x">(inputs(2)), tf::feed<"tower_0/out">(out));
  };
  CHECK(run(session) == run(plain));
}

TEST_CASE("the log has the lines of log_device_placement") {
  std::vector<std::string> lines;
  const tf::Placement placement({.pins = {{"MatMul", "/cpu:1"}}, .log = true});
  tf::Variables variables;
  tf::Session<sample> session(variables,
                              {.devices = tf::DeviceList::of(2),
                               .placement = &placement,
                               .print = [&](std::string_view line) { lines.emplace_back(line); }});
  CHECK(lines == std::vector<std::string>{
                     "Device mapping:",
                     "/job:localhost/replica:0/task:0/cpu:0 -> device: 0, name: processor",
                     "/job:localhost/replica:0/task:0/cpu:1 -> device: 1, name: processor",
                     "b: /job:localhost/replica:0/task:0/cpu:0",
                     "MatMul: /job:localhost/replica:0/task:0/cpu:1",
                 });
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  CHECK(tf::device_mapping(session) == text);
}
