// SPDX-License-Identifier: Apache-2.0

// Lists of devices, which of them a process may use, and models pinned to GPUs, with pretended
// ones.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/typeflow.hpp>

#include "support/machines.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

/// An environment variable for a time.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

template <int Gpu>
constexpr void sample(tf::Graph& g) {
  tf::on(g, tf::gpu(Gpu), [&] {
    auto a = tf::variable<float, 2, 3>(g, "a", tf::ones());
    auto b = tf::variable<float, 3, 2>(g, "b", tf::filled(2.0));
    return matmul(a, b).named("MatMul");
  });
}

template <int Gpu>
using Pretended = tf::Session<sample<Gpu>, tf::training, test::PretendedGpus>;

/// Nothing is pinned but `pinned`. `shown` needs the host.
constexpr void free_model(tf::Graph& g) {
  auto x = tf::placeholder<float, 2, 3>(g, "x");
  auto W = tf::variable<float, 3, 2>(g, "W", tf::normal(0, 0.3));
  auto h = tanh(matmul(x, W)).named("h");
  auto shown = tf::print(h * 2.0f, "shown");
  auto late =
      sum<1>(exp(shown)).named("late");  // its input is on the processor for want of a kernel
  auto pinned = tf::on(g, "/cpu:0", [&] { return sum<0>(square(h)).named("pinned"); });
  auto joined = sum(pinned * pinned).named("joined");
  auto on_second = tf::on(g, "/gpu:1", [&] { return sum(h).named("on_second"); });
  auto both = sum(joined * on_second + x).named("both");
  auto last = tf::fori_loop(0, 3, [&](auto, auto s) { return tanh(s + 1.0f); }, late);
  tf::Momentum{.rate = 0.1f}.minimize(both + sum(last)).named("train");
}

constexpr void in_turn(tf::Graph& g) {
  auto a = tf::variable<float, 2, 3>(g, "a", tf::ones());
  auto b = tf::variable<float, 3, 2>(g, "b", tf::filled(2.0));
  matmul(a, b).named("y");
}

template <class Target>
std::vector<float> trained(std::string* mapping) {
  std::vector<float> out;
  tf::Variables variables;
  tf::Session<free_model, tf::training, Target> session(
      variables, {.seed = 5, .print = [](std::string_view) {}});
  const std::vector<float> x = {0.1f, 0.2f, -0.3f, 0.4f, 0.5f, -0.6f};
  for (int i = 0; i < 3; ++i) {
    session.template run<"train">(tf::feed<"x">(x));
    out.push_back(session.template run<"both">(tf::feed<"x">(x)));
  }
  if (mapping != nullptr) *mapping = tf::device_mapping(session);
  const tf::Simulation simulated = tf::simulate<"train">(session, {.sizes = 1});
  CHECK(simulated.wrong == "");
  return out;
}

/// The same devices, for a target that says nothing about what it prefers.
class NoPreference : public test::PretendedGpus {
 public:
  using PretendedGpus::PretendedGpus;
  static constexpr tf::DeviceKind default_kind = tf::DeviceKind::any;
};

template <class Session>
std::string mapping(const tf::SessionOptions& options) {
  tf::Variables variables;
  Session session(variables, options);
  const auto product = session.template run<"MatMul">();
  CHECK(std::all_of(product.begin(), product.end(), [](float x) { return x == 6; }));
  return tf::device_mapping(session);
}

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE("the processor is a local device") {
  const std::vector<tf::LocalDevice> devices = tf::list_local_devices();
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].name == "/job:localhost/replica:0/task:0/cpu:0");
  CHECK(devices[0].kind == tf::DeviceKind::cpu);
  CHECK(devices[0].memory > (1 << 20));
  CHECK_FALSE(devices[0].description.empty());

  const std::vector<tf::LocalDevice> three =
      tf::list_local_devices({{}, {.memory_limit = 1000}, {}});
  REQUIRE(three.size() == 3);
  CHECK(three[1].name == "/job:localhost/replica:0/task:0/cpu:1");
  CHECK(three[1].memory == 1000);
  CHECK(three[2].memory == devices[0].memory);
}

TEST_CASE("lists of visible devices are read strictly, or as CUDA reads them") {
  using Numbers = std::vector<int>;
  for (const char* variable : {"V", ""}) {
    CHECK(tf::visible_devices("12,13,14,15", 16, variable) == Numbers{12, 13, 14, 15});
    CHECK(tf::visible_devices("3, 1 ,0", 4, variable) == Numbers{3, 1, 0});
    CHECK(tf::visible_devices("", 4, variable).empty());
    CHECK(tf::visible_devices("-1", 4, variable).empty());
    CHECK(tf::visible_devices("2,-1,3", 4, variable) == Numbers{2});
  }
  for (const char* list : {"1,4,2", "1,x,2", "1,1,2", "1,,2", "1,2x", "1,-2", "1,99999999999"}) {
    CAPTURE(list);
    CHECK(tf::visible_devices(list, 4, "") == Numbers{1});
    CHECK(message_of([&] { tf::visible_devices(list, 4, "V"); }) ==
          "V: expected different numbers from 0 to 3, with commas between them, got \"" +
              std::string(list) + '"');
  }
  CHECK(message_of([] { tf::visible_devices("0", 0, "V"); }) ==
        "V: expected an empty list (the machine has no accelerators), got \"0\"");
}

TEST_CASE("the environment says which accelerators a process sees") {
  const auto seen = [] {
    std::vector<std::string> out;
    for (const tf::LocalDevice& device : tf::list_local_devices<test::PretendedGpus>()) {
      if (device.kind == tf::DeviceKind::gpu) {
        out.push_back(device.name.substr(device.name.find("/gpu")) + ' ' + device.description);
      }
    }
    return out;
  };
  using Names = std::vector<std::string>;
  unsetenv("TYPEFLOW_VISIBLE_DEVICES");
  unsetenv("CUDA_VISIBLE_DEVICES");
  CHECK(seen().size() == 15);  // a session has 16 devices at most
  {
    const Environment cuda("CUDA_VISIBLE_DEVICES", "12,13,14,15");
    CHECK(seen() == Names{"/gpu:0 pretended GPU 12", "/gpu:1 pretended GPU 13",
                          "/gpu:2 pretended GPU 14", "/gpu:3 pretended GPU 15"});
    CHECK(has(mapping<Pretended<3>>({}),
              "\n/job:localhost/replica:0/task:0/gpu:3 -> device: 3, name: pretended GPU 15\n"));
    const Environment own("TYPEFLOW_VISIBLE_DEVICES", "7");
    CHECK(seen() == Names{"/gpu:0 pretended GPU 7"});
    tf::Variables variables;
    CHECK(has(message_of([&] { Pretended<3> session(variables); }),
              "expected a device of this machine (/cpu:0, /gpu:0), got /gpu:3"));
  }
  {
    const Environment own("TYPEFLOW_VISIBLE_DEVICES", "");
    CHECK(seen().empty());
  }
  const Environment own("TYPEFLOW_VISIBLE_DEVICES", "16");
  CHECK(has(message_of(seen), "TYPEFLOW_VISIBLE_DEVICES: expected different numbers"));
}

TEST_CASE("operations of a scope run on its GPU, and the log says so") {
  const std::string text = mapping<Pretended<2>>({});
  CHECK(
      text.ends_with("\na: /job:localhost/replica:0/task:0/gpu:2\n"
                     "b: /job:localhost/replica:0/task:0/gpu:2\n"
                     "MatMul: /job:localhost/replica:0/task:0/gpu:2\n"));
}

TEST_CASE("soft placement takes another GPU, or the processor, for one that is missing") {
  const tf::SessionOptions soft{.soft_placement = true};
  const Environment own("TYPEFLOW_VISIBLE_DEVICES", "4,5");
  CHECK(has(mapping<Pretended<1>>(soft), "\nMatMul: /job:localhost/replica:0/task:0/gpu:1\n"));
  CHECK(has(mapping<Pretended<9>>(soft), "\nMatMul: /job:localhost/replica:0/task:0/gpu:0\n"));
  const Environment none("TYPEFLOW_VISIBLE_DEVICES", "");
  CHECK(has(mapping<Pretended<9>>(soft), "\nMatMul: /job:localhost/replica:0/task:0/cpu:0\n"));
  tf::Variables variables;
  CHECK(has(message_of([&] { Pretended<9> session(variables); }), "got /gpu:9"));
}

TEST_CASE("a pin moves a step among the devices of its kernel's kind") {
  const auto pinned = [](const char* device, bool soft) {
    const tf::Placement placement({.pins = {{"MatMul", device}}});
    return mapping<Pretended<2>>({.soft_placement = soft, .placement = &placement});
  };
  CHECK(has(pinned("/gpu:11", false), "\nMatMul: /job:localhost/replica:0/task:0/gpu:11\n"));
  CHECK(has(pinned("/gpu:*", false), "\nMatMul: /job:localhost/replica:0/task:0/gpu:2\n"));
  CHECK(has(pinned("/gpu:11", false), "\na: /job:localhost/replica:0/task:0/gpu:2\n"));
  CHECK(has(message_of([&] { pinned("/cpu:0", false); }), "on a device that has a kernel for it"));
  CHECK(has(pinned("/cpu:0", true), "\nMatMul: /job:localhost/replica:0/task:0/gpu:2\n"));
}

TEST_CASE("by default operations run on the first GPU, and on the processor what needs the host") {
  const Environment own("TYPEFLOW_VISIBLE_DEVICES", "4,5,6");  // with /cpu:0 four devices
  std::string text;
  const std::vector<float> on_gpus = trained<test::PretendedGpus>(&text);
  const auto is_on = [&](const char* name, const char* device) {
    CAPTURE(std::string(name));
    CAPTURE(text);
    CHECK(
        has(text, std::string("\n") + name + ": /job:localhost/replica:0/task:0" + device + "\n"));
  };
  is_on("W", "/gpu:0");
  is_on("W/momentum/m", "/gpu:0");
  is_on("h", "/gpu:0");
  is_on("shown", "/cpu:0");   // it needs the host
  is_on("late", "/gpu:0");    // its input is on the processor by no choice of the model
  is_on("pinned", "/cpu:0");  // a pin counts more...
  is_on("joined", "/cpu:0");  // ...also for what reads the pinned tensor alone
  is_on("on_second", "/gpu:1");
  is_on("both", "/gpu:0");                   // inputs that disagree: the default
  CHECK_FALSE(has(text, "task:0/gpu:2\n"));  // the lowest number comes first

  // The device changes no bit of operations that are compiled alike.
  CHECK(trained<test::PretendedGpus>(nullptr) == on_gpus);
  const std::vector<float> plain = trained<NoPreference>(&text);
  is_on("h", "/cpu:0");
  is_on("late", "/cpu:0");
  REQUIRE(plain.size() == on_gpus.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(plain[i] == doctest::Approx(on_gpus[i]).epsilon(1e-6));
  }
}

TEST_CASE("without a GPU what the model leaves open runs on the processor") {
  const Environment own("TYPEFLOW_VISIBLE_DEVICES", "");
  tf::Variables variables;
  tf::Session<in_turn, tf::training, test::PretendedGpus> session(variables);  // no soft placement
  CHECK(session.run<"y">()(1, 1) == 6);
  CHECK(has(tf::device_mapping(session), "\ny: /job:localhost/replica:0/task:0/cpu:0\n"));
}
