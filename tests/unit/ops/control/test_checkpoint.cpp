// SPDX-License-Identifier: Apache-2.0

// What is computed again for its gradient: the same bits in less memory.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"
#include "support/plan_memory.hpp"

namespace {

namespace tf = typeflow;

constexpr int width = 16;
constexpr int rows = 64;
constexpr int layers = 12;
constexpr int in_group = 3;  // layers that are computed again together

enum class Kind { plain, each, nested, scanned, checkpointed_scan };

/// One layer with several activations between its products, of which a gradient needs all; with
/// dropout in the middle.
template <class X>
constexpr X layer(const X& x, auto w, auto b) {
  auto h = tf::tanh(tf::matmul(x, w) + b);
  auto d = tf::dropout(h, {.keep = 0.8});
  return tf::matmul(tf::sigmoid(d * h), w) * tf::exp(-tf::square(h)) + x;
}

template <Kind kind>
constexpr void net(tf::Graph& g) {
  using X = tf::Expr<float, tf::Shape<rows, width>>;
  auto x = tf::placeholder<float, rows, width>(g, "x");
  auto w = tf::variable<float, layers, width, width>(g, "w", tf::uniform(-0.4, 0.4));
  auto b = tf::variable<float, layers, width>(g, "b", tf::uniform(-0.4, 0.4));
  const auto one = [&](const X& h, int i) -> X {
    return layer<X>(h, tf::select<0>(w, i), tf::select<0>(b, i));
  };
  X h = x;
  if constexpr (kind == Kind::scanned || kind == Kind::checkpointed_scan) {
    const auto step = [](const X& y, auto v, auto c) -> X { return layer<X>(y, v, c); };
    h = tf::fold_left(
        [&](const X& s, const auto& slices) {
          const auto& [v, c] = slices;
          return kind == Kind::scanned ? step(s, v, c) : tf::checkpointed(step, s, v, c);
        },
        h, std::tuple(w, b));
  } else {
    for (int i = 0; i < layers; i += in_group) {
      const auto group = [&](X y) {
        for (int k = i; k < i + in_group; ++k) {
          y = kind == Kind::nested ? X(tf::checkpointed([&](const X& z) { return one(z, k); }, y))
                                   : one(y, k);
        }
        return y;
      };
      h = kind == Kind::plain ? group(h) : X(tf::checkpointed(group, h));
    }
  }
  auto loss = tf::mean(tf::square(h)).named("loss");
  auto [dx, dw, db] = tf::gradients(loss, x, w, b);
  dx.named("dx");
  dw.named("dw");
  db.named("db");
}

/// Checkpoints in scan bodies, in one another, in branches, and around loops; captures, structures,
/// results that are arguments.
constexpr void pieces(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, 3>(g, "x");
  auto xs = tf::placeholder<double, tf::symbol<"time">, 2, 3>(g, "xs");
  auto w = tf::placeholder<double, 3, 3>(g, "w");
  auto zero = tf::constant<std::int32_t>(g, 0);
  auto [last, all] = tf::scan(
      [&](auto s, auto slice) {
        auto inside = [&](auto h, auto v) {
          auto twice = tf::checkpointed([&](auto u) { return tf::sin(tf::matmul(u, w)) * v; }, h);
          auto noise = tf::random_uniform<double, 2, 3>(g);
          return std::pair{tf::tanh(twice * noise + h) + v, h};
        };
        auto [next, same] = tf::checkpointed(inside, s, slice);
        auto loop = tf::checkpointed(
            [&](auto u) {
              auto n = tf::fori_loop(zero, tf::cast<std::int32_t>(tf::max(u) * 4.0),
                                     [&](auto, auto y) { return tf::sin(y) * slice + u; }, u,
                                     {.max_iterations = 20});
              return tf::cond(
                  tf::less(tf::sum(n), 0.0), [&] { return n * n; },
                  [&] {
                    return tf::fori_loop(
                        0, 3, [&](auto, auto y) { return tf::tanh(tf::matmul(y, w)) + n; }, n);
                  });
            },
            next);
        return std::pair{loop * 0.5, same * next};
      },
      x, xs);
  auto loss = (tf::sum(tf::square(last)) + tf::sum(all)).named("loss");
  auto [lx, lxs, lw] = tf::gradients(loss, x, xs, w);
  lx.named("loss/x");
  lxs.named("loss/xs");
  lw.named("loss/w");
  auto second = (tf::sum(lw * lw) + tf::sum(lx * x)).named("second");
  auto [sx, sxs, sw] = tf::gradients(second, x, xs, w);
  sx.named("second/x");
  sxs.named("second/xs");
  sw.named("second/w");
}

/// A variable's present value is read once, in front: what is assigned between the two computations
/// changes nothing.
constexpr void assigned_between(tf::Graph& g) {
  auto v = tf::variable<float>(g, "v", tf::filled(3));
  auto x = tf::placeholder<float>(g, "x");
  auto before = tf::assign(v, v.read() + 1.0f);
  auto y = tf::checkpointed([&](auto u) { return tf::square(tf::sin(u) * v.read()); }, x);
  auto between = tf::assign(v, 100.0f);
  (tf::gradients(y, x) + v.read() * 0.0f).named("dx");
  tf::group(before, between).named("assign");
}

struct Results {
  std::vector<float> dx, dw, db;
  float loss;
  bool operator==(const Results&) const = default;
};

template <Kind kind>
Results run(int times) {
  tf::Variables store;
  tf::Session<net<kind>> session(store, {.seed = 3});
  std::vector<float> x(rows * width);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(1.7f * static_cast<float>(i));
  }
  Results out;
  for (int i = 0; i < times; ++i) {
    const auto [loss, dx, dw, db] =
        session.template run<"loss", "dx", "dw", "db">(tf::feed<"x">(x));
    const auto list = [](const auto& t) { return std::vector<float>(t.begin(), t.end()); };
    out = {list(dx), list(dw), list(db), loss};
  }
  return out;
}
template <Kind kind>
std::int64_t peak() {
  tf::Graph g;
  net<kind>(g);
  const tf::ir::InterpretedProgram program(g);
  return test::plan_memory(program.view(), {}).bytes;
}

tf::HostTensor waves(const std::vector<tf::Extent>& extents, double phase) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, test::dims(extents));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, 0.7 * std::sin(phase + 1.7 * static_cast<double>(i)));
  }
  return out;
}

}  // namespace

TEST_CASE("checkpointed: values") {
  const Results plain = run<Kind::plain>(2);
  CHECK(plain.loss > 0);
  CHECK(run<Kind::plain>(1) != plain);  // another draw
  CHECK(run<Kind::each>(2) == plain);
  CHECK(run<Kind::nested>(2) == plain);
  const std::int64_t all = peak<Kind::plain>();
  CHECK(peak<Kind::each>() < all / 2);
  CHECK(peak<Kind::nested>() < peak<Kind::each>());
}

TEST_CASE("layers as a loop over stacked weights, each computed again") {
  const Results saved = run<Kind::scanned>(2);
  CHECK(run<Kind::checkpointed_scan>(2) == saved);
  CHECK(peak<Kind::checkpointed_scan>() < peak<Kind::scanned>() / 2);
}

TEST_CASE("checkpointed: gradient") {
  tf::Graph g;
  pieces(g);
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g, 1);
  constexpr double step = 1e-6;
  const auto meant = [&](const std::string& name, const tf::HostTensors& feeds) {
    interpreter.random = {1, 0};
    return interpreter.run({name}, feeds)[0];
  };
  for (const tf::Extent time : {0, 1, 3}) {
    const tf::HostTensors feeds{
        {"x", waves({2, 3}, 1)}, {"xs", waves({time, 2, 3}, 0.2)}, {"w", waves({3, 3}, 2)}};
    for (const std::string y : {"loss", "second"}) {
      for (const std::string x : {"x", "xs", "w"}) {
        CAPTURE(time);
        CAPTURE(y);
        CAPTURE(x);
        programs.draw = 0;
        const tf::HostTensor gradient = programs.run({y + "/" + x}, feeds)[0];
        CHECK(test::difference(meant(y + "/" + x, feeds), gradient) < 1e-12);
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

TEST_CASE("what is assigned between the two computations changes nothing") {
  tf::Variables store;
  tf::Session<assigned_between> session(store);
  const float x = 0.4f;
  const float dx = session.run<"dx", "assign">(tf::feed<"x">(x));
  CHECK(dx == doctest::Approx(2 * 16 * std::sin(x) * std::cos(x)));
}
