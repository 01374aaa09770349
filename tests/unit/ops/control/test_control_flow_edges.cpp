// SPDX-License-Identifier: Apache-2.0

// Gradients of loops at the edges: no iteration, one, a batch of none, symbols in two axes, an
// operation of the user's own in a body.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/interpret/program.hpp>
#include <typeflow/typeflow.hpp>

#include "support/host_tensors.hpp"

namespace {

namespace tf = typeflow;

struct Cube : tf::elementwise {
  static constexpr std::string_view name = "user/Cube";
  static constexpr tf::Domain domain = tf::Domain::floating;
  template <class V>
  constexpr V operator()(V x) const {
    return x * x * x;
  }
  static constexpr tf::AnyExpr gradient(Cube, auto x, auto, auto dy) { return dy * 3 * x * x; }
};

template <int Count>
void model(tf::Graph& g) {
  auto xs = tf::placeholder<double, tf::symbol<"time">, tf::batch, 3>(g, "xs");
  auto w = tf::placeholder<double, 3, 3>(g, "w");
  auto b = tf::placeholder<double, 3>(g, "b");
  auto x = tf::placeholder<double, tf::batch, 3>(g, "x");
  auto [last, all] = tf::scan(
      [&](auto s, auto v) {
        return std::pair{tf::tanh(tf::matmul(s, w) + v * b), tf::matmul(v, w)};
      },
      x, xs);
  auto scanned = (tf::sum(last * last) + tf::sum(all * all)).named("scan");
  auto [sx, sw, sb, sxs] = tf::gradients(scanned, x, w, b, xs);
  sx.named("scan/x");
  sw.named("scan/w");
  sb.named("scan/b");
  sxs.named("scan/xs");
  auto y =
      tf::fori_loop(0, Count, [&](auto, auto v) { return tf::matmul(apply(Cube{}, v), w) + b; }, x);
  auto counted = tf::sum(y * y).named("fori");
  auto [cx, cw] = tf::gradients_or_zero(counted, x, w);
  cx.named("fori/x");
  cw.named("fori/w");
}

tf::HostTensor waves(const std::vector<tf::Extent>& extents, double phase) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, test::dims(extents));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, 0.7 * std::sin(phase + 1.7 * static_cast<double>(i)));
  }
  return out;
}

/// Compares the gradient of y for x by a program, by the interpreter and by differences.
void check_gradient(const tf::Graph& g, const std::string& y, const std::string& x,
                    const tf::HostTensors& feeds) {
  constexpr double step = 1e-6;
  CAPTURE(y);
  CAPTURE(x);
  tf::Interpreter interpreter(g);
  tf::ir::ProgramInterpreter programs(g);
  const std::string name = y + "/" + x;
  const tf::HostTensor gradient = programs.run({name}, feeds)[0];
  CHECK(test::difference(interpreter.run({name}, feeds)[0], gradient) < 1e-13);
  for (std::int64_t i = 0; i < gradient.size(); ++i) {
    tf::HostTensors up = feeds;
    tf::HostTensors down = feeds;
    up[x].set(i, feeds.at(x).value(i) + step);
    down[x].set(i, feeds.at(x).value(i) - step);
    const double difference =
        interpreter.run({y}, up)[0].value(0) - interpreter.run({y}, down)[0].value(0);
    CHECK(gradient.value(i) == doctest::Approx(difference / (2 * step)).epsilon(1e-6));
  }
}

template <int Count>
void check() {
  tf::Graph g;
  model<Count>(g);
  for (const tf::Extent time : {0, 1, 2, 4}) {
    for (const tf::Extent batch : {0, 1, 3}) {
      CAPTURE(Count);
      CAPTURE(time);
      CAPTURE(batch);
      const tf::HostTensors feeds{{"xs", waves({time, batch, 3}, 0)},
                                  {"w", waves({3, 3}, 1)},
                                  {"b", waves({3}, 2)},
                                  {"x", waves({batch, 3}, 3)}};
      for (const char* const x : {"x", "w", "b", "xs"}) check_gradient(g, "scan", x, feeds);
      for (const char* const x : {"x", "w"}) check_gradient(g, "fori", x, feeds);
    }
  }
}

}  // namespace

TEST_CASE("gradients of loops without an iteration, with one, and of empty batches") {
  check<0>();
  check<1>();
  check<3>();
}
