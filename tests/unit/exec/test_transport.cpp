// SPDX-License-Identifier: Apache-2.0

// One graph over several transports: copies of memory, transfers in other threads, and sockets.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/run_limits.hpp>
#include <typeflow/typeflow.hpp>

#include "support/message_of.hpp"
#include "support/transports.hpp"

namespace {

namespace tf = typeflow;

/// Three devices of the processor whose transport a test chooses.
tf::Transport* chosen = nullptr;

class Transported : public tf::CpuTarget<> {
 public:
  explicit Transported(const tf::TargetOptions& options) : CpuTarget(options) {
    for (const tf::MachineDevice& device : CpuTarget::devices()) {
      devices_.push_back(device);
      devices_.back().transport = chosen;
    }
  }
  std::span<const tf::MachineDevice> devices() const { return devices_; }

 private:
  std::vector<tf::MachineDevice> devices_;
};
template <auto Model>
using Session = tf::Session<Model, tf::Mode::training, Transported>;

/// Tensors go back and forth; a loop over two devices stands in between.
constexpr void trained(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 32>(g, "x");
  auto h = tanh(tf::dense<32>(g, "first", x));
  auto middle = tf::on<tf::Cpu<1>>(g, [&] {
    auto a = relu(tf::dense<32>(g, "a", h));
    return a + tf::fori_loop(
                   0, 3,
                   [&](auto, auto s) {
                     auto t = tf::on<tf::Cpu<2>>(g, [&] { return tanh(s); });
                     return tf::on<tf::Cpu<1>>(g, [&] { return t * 0.5f + a; });
                   },
                   a);
  });
  auto last = tf::on<tf::Cpu<2>>(g, [&] { return sigmoid(tf::dense<8>(g, "last", middle)); });
  auto loss = (mean(square(last)) + mean(square(h)) * 0.1f).named("loss");
  tf::Momentum{.rate = 0.1f}.minimize(loss).named("train");
}

/// Two tensors of /cpu:1 that /cpu:0 reads.
constexpr void edges(tf::Graph& g) {
  auto x = tf::placeholder<float, 64, 64>(g, "x");
  auto a = tf::on<tf::Cpu<1>>(g, [&] { return tanh(matmul(x, x)); });
  auto b = tf::on<tf::Cpu<1>>(g, [&] { return exp(matmul(a, x)); });
  tf::on<tf::Cpu<0>>(g, [&] { return matmul(a, b); }).named("y");
}

/// Parts of one tensor, which pins of a session move.
constexpr void parts(tf::Graph& g) {
  auto x = tf::placeholder<float, tf::batch, 32>(g, "x");
  auto a = tanh(tf::dense<12>(g, "a", x));
  auto b = relu(tf::dense<20>(g, "b", x));
  concat<1>(a, b, exp(x)).named("y");
}

std::vector<float> inputs(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * std::sin(static_cast<float>(3 * i));
  return x;
}

/// The losses of ten steps, then the variables.
std::vector<float> train(tf::Transport* transport, std::int64_t* sent = nullptr) {
  chosen = transport;
  tf::Variables variables;
  Session<trained> session(variables, {.seed = 3, .devices = tf::DeviceList::of(3)});
  std::vector<float> out;
  for (int step = 0; step < 10; ++step) {
    out.push_back(session.run<"train", "loss">(tf::feed<"x">(inputs(16 * 32))));
  }
  for (const std::string& name : variables.names()) {
    const auto values = variables.get<float>(name);
    out.insert(out.end(), values.begin(), values.end());
  }
  session.with_plan<"train", "loss">(
      [](const auto& program, const auto& devices, const auto& plan) {
        CHECK(tf::exec::verify(program, devices, plan, {16}, 20) == "");
      });
  for (const tf::DeviceStatistics& device : session.devices()) {
    if (sent != nullptr) *sent += device.sent;
  }
  return out;
}

/// Copies memory, and counts what passes.
class Counting final : public tf::MemoryTransport {
 public:
  void begin(const tf::Transfer& transfer, tf::Completion& over) override {
    bytes += transfer.bytes;
    MemoryTransport::begin(transfer, over);
  }
  std::atomic<std::int64_t> bytes{0};
};

}  // namespace

TEST_CASE("the same graph over copies, a slow transport and sockets gives the same bits") {
  std::int64_t sent = 0;
  const std::vector<float> copied = train(nullptr, &sent);
  CHECK(sent > 0);
  Counting counting;
  CHECK(train(&counting) == copied);
  CHECK(counting.bytes == sent);
  test::SlowTransport slow;
  CHECK(train(&slow) == copied);
  CHECK(slow.bytes == sent);
  test::SocketTransport sockets;
  CHECK(train(&sockets) == copied);
  CHECK(sockets.bytes == sent);
}

TEST_CASE("parts of a tensor come over transports") {
  const tf::Placement placement(
      {.pins = {{"Tanh", "/cpu:1"}, {"Relu", "/cpu:2"}, {"Exp", "/cpu:0"}, {"y", "/cpu:0"}}});
  tf::Variables variables;
  tf::Session<parts> one(variables, {.seed = 3});
  test::SlowTransport slow;
  chosen = &slow;
  Session<parts> session(variables, {.devices = tf::DeviceList::of(3), .placement = &placement});
  for (const std::size_t rows : std::vector<std::size_t>{7, 2, 13}) {
    const auto x = inputs(rows * 32);
    CHECK(session.run<"y">(tf::feed<"x">(x)) == one.run<"y">(tf::feed<"x">(x)));
  }
  CHECK(slow.count == 6);
  CHECK(slow.bytes == (7 + 2 + 13) * (12 + 20) * 4);
  session.with_plan<"y">([](const auto& program, const auto& devices, const auto& plan) {
    CHECK(tf::exec::verify(program, devices, plan, {16}, 20) == "");
  });
}

TEST_CASE(
    "a transfer that fails ends the run with the tensor and both devices, the next is right") {
  test::SlowTransport slow;
  chosen = &slow;
  tf::Variables variables;
  Session<edges> session(variables, {.devices = tf::DeviceList::of(2)});
  const auto y = session.run<"y">(tf::feed<"x">(inputs(64 * 64)));
  CHECK(slow.count == 2);
  for (int k = 0; k < 2; ++k) {
    slow.fails_at = slow.count + k;
    const std::string message =
        message_of([&] { session.run<"y">(tf::feed<"x">(inputs(64 * 64))); });
    CAPTURE(message);
    CHECK(message.starts_with(k == 0 ? "Tanh (test_transport.cpp:" : "Exp (test_transport.cpp:"));
    CHECK(message.ends_with("its result can't be carried from /cpu:1 to /cpu:0: the cable is cut"));
    CHECK(session.run<"y">(tf::feed<"x">(inputs(64 * 64))) == y);
  }
}

TEST_CASE("a transport that throws fails its transfer") {
  struct Throwing final : tf::Transport {
    void begin(const tf::Transfer&, tf::Completion&) override { throw tf::Error("no link"); }
  } throwing;
  chosen = &throwing;
  tf::Variables variables;
  Session<edges> session(variables, {.devices = tf::DeviceList::of(2)});
  for (int run = 0; run < 3; ++run) {
    const std::string message =
        message_of([&] { session.run<"y">(tf::feed<"x">(inputs(64 * 64))); });
    CAPTURE(message);
    CHECK(message.find("can't be carried from /cpu:1 to /cpu:0: no link") != message.npos);
  }
}

TEST_CASE("a limit ends a run whose transfer hangs") {
  test::SlowTransport slow;
  chosen = &slow;
  tf::Variables variables;
  Session<edges> session(variables, {.devices = tf::DeviceList::of(2)});
  const auto y = session.run<"y">(tf::feed<"x">(inputs(64 * 64)));
  for (int k = 0; k < 2; ++k) {
    slow.hangs_at = slow.count + k;
    const std::string message = message_of([&] {
      session.run<"y">(tf::feed<"x">(inputs(64 * 64)), tf::within(std::chrono::milliseconds(50)));
    });
    CHECK(message.starts_with("run: "));
    CHECK(session.run<"y">(tf::feed<"x">(inputs(64 * 64))) == y);
  }
  CHECK(slow.cancelled == 2);
}

TEST_CASE("a device computes while its tensors are on the way") {
  test::SlowTransport slow(std::chrono::milliseconds(1));
  chosen = &slow;
  tf::Variables variables;
  Session<edges> session(variables, {.devices = tf::DeviceList::of(2)});
  const std::string text = tf::explain<"y">(session);
  // The launches of /cpu:1 stand in one stream without a copy; another stream has the copies.
  const std::size_t computes = text.find("\n/cpu:1\n");
  const std::size_t copies = text.find("\n/cpu:1 stream ");
  REQUIRE(computes < copies);
  CHECK(text.find("copy", computes) > copies);
  CHECK(text.find("copy", copies) != text.npos);
}
