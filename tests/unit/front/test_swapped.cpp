// SPDX-License-Identifier: Apache-2.0

// Tensors that wait for their gradient in another device's memory: the same bits in less of the
// device's own memory.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/devices.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"
#include "support/machines.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

constexpr int width = 16;
constexpr int rows = 64;
constexpr int layers = 20;

enum class Kind { plain, swapped, to_third, on_host };

/// A residual layer, whose gradient reads several tensors of it.
template <class X>
constexpr X layer(const X& x, auto w, auto b) {
  auto h = tf::tanh(tf::matmul(x, w) + b);
  return tf::sigmoid(tf::matmul(h, w)) * h + x;
}

template <Kind kind>
constexpr void net(tf::Graph& g) {
  using X = tf::Expr<float, tf::Shape<rows, width>>;
  auto x = tf::placeholder<float, rows, width>(g, "x");
  tf::on(g, tf::cpu(kind == Kind::on_host ? 0 : 1), [&] {
    X h = tf::tanh(x);
    for (int i = 0; i < layers; ++i) {
      auto w = tf::variable<float, width, width>(g, {"w", i}, tf::uniform(-0.4, 0.4));
      auto b = tf::variable<float, width>(g, {"b", i}, tf::uniform(-0.4, 0.4));
      const auto one = [&](const X& y) -> X { return layer<X>(y, w, b); };
      if constexpr (kind == Kind::plain) {
        h = one(h);
      } else if constexpr (kind == Kind::to_third) {
        h = tf::swapped<tf::Cpu<2>>(one, h);
      } else {
        h = tf::swapped(one, h);
      }
    }
    auto loss = tf::mean(tf::square(h)).named("loss");
    tf::GradientDescent{.rate = 0.5f}.minimize(loss).named("train");
  });
}

/// Views, broadcasts, drawn numbers, several results, functions in one another, and tensors that
/// the gradients of gradients read.
constexpr void pieces(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 3>(g, "x");
  auto w = tf::placeholder<double, 3, 3>(g, "w");
  tf::on(g, tf::cpu(1), [&] {
    auto start = tf::sin(x);
    auto [a, b] = tf::swapped(
        [&](auto h, auto v) {
          auto t = tf::transpose(tf::matmul(h, v));
          auto inner = tf::swapped([&](auto u) { return tf::tanh(u) * tf::transpose(h); }, t);
          auto mean = tf::mean<1>(inner);
          auto noise = tf::random_uniform<double, 3>(g);
          return std::pair{tf::transpose(inner * t), tf::exp(mean * noise)};
        },
        start, w);
    auto chosen = tf::cond(
        tf::less(tf::sum(b), 0.0), [&] { return a * 2.0; },
        [&] { return tf::swapped([](auto u) { return tf::square(u) * tf::sin(u); }, a); });
    auto again = tf::checkpointed(
        [&](auto u) { return tf::swapped([&](auto q) { return tf::cos(q) * b; }, u); }, chosen);
    auto loss = (tf::sum(tf::square(again)) + tf::sum(a * b)).named("loss");
    auto [lx, lw] = tf::gradients(loss, x, w);
    lx.named("loss/x");
    lw.named("loss/w");
    auto second = (tf::sum(lw * lw) + tf::sum(lx * x)).named("second");
    auto [sx, sw] = tf::gradients(second, x, w);
    sx.named("second/x");
    sw.named("second/w");
  });
}

tf::HostTensor waves(const std::vector<tf::Extent>& extents, double phase) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, test::dims(extents));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, 0.7 * std::sin(phase + 1.7 * static_cast<double>(i)));
  }
  return out;
}

std::vector<float> inputs() {
  std::vector<float> x(rows * width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.7f * static_cast<float>(i));
  return x;
}

struct Results {
  std::vector<float> losses;
  std::vector<float> variables;
  std::vector<std::int64_t> planned;  ///< by device
  bool operator==(const Results& other) const {
    return losses == other.losses && variables == other.variables;
  }
};

template <Kind kind>
Results run(const tf::SessionOptions& options) {
  tf::Variables store;
  tf::Session<net<kind>> session(store, options);
  Results out;
  for (int i = 0; i < 4; ++i) {
    out.losses.push_back(session.template run<"train", "loss">(tf::feed<"x">(inputs())));
  }
  for (const std::string& name : store.names()) {
    for (const float v : store.get<float>(name)) out.variables.push_back(v);
  }
  for (const tf::DeviceStatistics& device : session.devices())
    out.planned.push_back(device.planned);
  CHECK(tf::simulate<"train", "loss">(session).wrong == "");
  return out;
}

tf::SessionOptions on_devices(int count) {
  return {.seed = 3, .devices = tf::DeviceList::of(count)};
}

}  // namespace

template <Kind kind>
int launches() {
  tf::Variables store;
  tf::Session<net<kind>> session(store, on_devices(2));
  return session.template with_plan<"train", "loss">(
      [](const auto&, const auto&, const auto& plan) { return plan.launches.size(); });
}

TEST_CASE("a swapped net has the bits of a plain one, in less memory") {
  const Results plain = run<Kind::plain>(on_devices(2));
  CHECK(plain.losses[3] < plain.losses[0]);
  const Results swapped = run<Kind::swapped>(on_devices(2));
  CHECK(swapped == plain);
  CHECK(swapped.planned[1] < plain.planned[1] / 5);
  CHECK(swapped.planned[0] > plain.planned[0]);
  const Results third = run<Kind::to_third>(on_devices(3));
  CHECK(third == plain);
  CHECK(third.planned[1] == swapped.planned[1]);
  CHECK(third.planned[0] == plain.planned[0]);
}

TEST_CASE("a net that is too large for its device trains if it is swapped") {
  const tf::SessionOptions small = {.seed = 3, .devices = {{}, {.memory_limit = 40000}}};
  CHECK(message_of([&] {
          run<Kind::plain>(small);
        }).starts_with("the memory of /cpu:1: expected at most 40000 bytes of tensors, got "));
  CHECK(run<Kind::swapped>(small) == run<Kind::plain>(on_devices(2)));
}

TEST_CASE("swapping to the device itself does nothing") {
  CHECK(launches<Kind::on_host>() == launches<Kind::plain>());
  CHECK(launches<Kind::swapped>() > launches<Kind::plain>());
  CHECK(run<Kind::on_host>(on_devices(1)) == run<Kind::plain>(on_devices(2)));
  // A machine without the other device: the same values.
  const tf::SessionOptions one = {.seed = 3, .threads = 1, .soft_placement = true};
  CHECK(run<Kind::swapped>(one) == run<Kind::plain>(one));
}

TEST_CASE("gradients of swapped functions are those of finite differences") {
  tf::Graph g;
  pieces(g);
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g, 1);
  // The same where the host can't touch the memory of /cpu:1.
  const test::Machine machine(2, 0b10, 1);
  tf::ir::ProgramInterpreter far(g, 1, {}, machine.interpreted());
  constexpr double step = 1e-6;
  const auto meant = [&](const std::string& name, const tf::HostTensors& feeds) {
    interpreter.random = {1, 0};
    return interpreter.run({name}, feeds)[0];
  };
  for (const tf::Extent batch : {1, 3, 4}) {
    const tf::HostTensors feeds{{"x", waves({batch, 3}, 1)}, {"w", waves({3, 3}, 2)}};
    for (const std::string y : {"loss", "second"}) {
      for (const std::string x : {"x", "w"}) {
        CAPTURE(batch);
        CAPTURE(y);
        CAPTURE(x);
        programs.draw = 0;
        const tf::HostTensor gradient = programs.run({y + "/" + x}, feeds)[0];
        CHECK(test::difference(meant(y + "/" + x, feeds), gradient) < 1e-12);
        far.draw = 0;
        CHECK(test::difference(far.run({y + "/" + x}, feeds)[0], gradient) == 0);
        for (std::int64_t i = 0; i < gradient.size(); ++i) {
          tf::HostTensors up = feeds;
          tf::HostTensors down = feeds;
          up[x].set(i, feeds.at(x).value(i) + step);
          down[x].set(i, feeds.at(x).value(i) - step);
          const double difference = meant(y, up).value(0) - meant(y, down).value(0);
          CHECK(gradient.value(i) == doctest::Approx(difference / (2 * step)).epsilon(1e-5));
        }
      }
    }
  }
}
