// SPDX-License-Identifier: Apache-2.0

// Branches and loops: values against plain loops, by programs, by the interpreter and in sessions;
// gradients against differences.

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

namespace {

namespace tf = typeflow;

constexpr int steps = 4;
constexpr int width = 3;

constexpr void branches(tf::Graph& g) {
  auto x = tf::placeholder<double, width>(g, "x");
  auto w = tf::placeholder<double>(g, "w");
  auto k = tf::placeholder<std::int32_t>(g, "k");
  auto y = tf::cond(
      tf::less(w, 0.0), [&] { return tf::exp(x) * w; }, [&] { return tf::sin(x * w) * x; });
  y.named("cond");
  auto [yx, yw] = tf::gradients(tf::sum(y * y), x, w);
  yx.named("cond/x");
  yw.named("cond/w");
  tf::sum(y * y).named("cond/loss");
  // Each gives its argument, a captured tensor, or what it computes.
  auto z =
      tf::switch_case(k, [&] { return x; }, [&] { return x * w; }, [&] { return tf::tanh(x) + w; });
  z.named("switch_case");
  auto [zx, zw] = tf::gradients(tf::sum(z * z), x, w);
  zx.named("switch_case/x");
  zw.named("switch_case/w");
  tf::sum(z * z).named("switch_case/loss");
}

constexpr void counted(tf::Graph& g) {
  auto x = tf::placeholder<double, width>(g, "x");
  auto w = tf::placeholder<double>(g, "w");
  auto y = tf::fori_loop(
      2, 2 + steps, [&](auto i, auto v) { return tf::sin(v) * w + tf::cast<double>(i) * x; }, x);
  y.named("fori_loop");
  auto [yx, yw] = tf::gradients(tf::sum(y * y), x, w);
  yx.named("fori_loop/x");
  yw.named("fori_loop/w");
  tf::sum(y * y).named("fori_loop/loss");
  auto n = tf::placeholder<std::int32_t>(g, "n", 5);
  auto [i, u] = tf::while_loop([&](auto a, auto) { return tf::less(a, n); },
                               [&](auto a, auto v) { return std::tuple{a + 1, v * w}; },
                               std::tuple{tf::constant<std::int32_t>(g, 0), x});
  u.named("while_loop");
  i.named("iterations");
  auto zero = tf::constant<std::int32_t>(g, 0);
  tf::fori_loop(zero, n, [&](auto, auto v) { return v * w; }, x).named("run-time bounds");
  tf::fori_loop(3, 3, [&](auto, auto v) { return v * w; }, x).named("no iterations");
  // States that stay, change places, or are one and the same.
  auto [a, b, c] = tf::fori_loop(
      0, 3, [&](auto, auto p, auto q, auto r) { return std::tuple{q, p, r}; },
      std::tuple{x, x * 2.0, w});
  a.named("swapped");
  c.named("kept");
  auto [d, e] = tf::fori_loop(
      0, 2, [&](auto, auto p, auto) { return std::tuple{p + 1.0, p + 1.0}; }, std::tuple{x, x});
  (d * e).named("same");
}

constexpr void along(tf::Graph& g) {
  auto x = tf::placeholder<double, width>(g, "x");
  auto w = tf::placeholder<double>(g, "w");
  auto xs = tf::placeholder<double, tf::batch, width>(g, "xs");
  auto [h, hs] = tf::scan(
      [&](auto s, auto v) {
        auto t = tf::tanh(s * w + v);
        return std::pair{t, t * v};
      },
      x, xs);
  h.named("last");
  hs.named("scan");
  auto loss = (tf::sum(h) + tf::sum(hs * hs)).named("scan/loss");
  auto [hx, hw, hxs] = tf::gradients(loss, x, w, xs);
  hx.named("scan/x");
  hw.named("scan/w");
  hxs.named("scan/xs");
  tf::scan([&](auto s, auto v) { return std::pair{s + v, s}; }, x, xs, {.reverse = true})
      .second.named("reverse");
  auto m = tf::map([&](auto v) { return tf::sum(v * v) * w; }, xs);
  m.named("map");
  auto [mw, mxs] = tf::gradients(tf::sum(m * m), w, xs);
  mw.named("map/w");
  mxs.named("map/xs");
  tf::sum(m * m).named("map/loss");
  auto f = tf::fold_left([&](auto s, auto v) { return s * w + tf::sin(v); }, x, xs);
  f.named("fold_left");
  auto [fx, fw, fxs] = tf::gradients(tf::sum(f * f), x, w, xs);
  fx.named("fold_left/x");
  fw.named("fold_left/w");
  fxs.named("fold_left/xs");
  tf::sum(f * f).named("fold_left/loss");
}

/// A recurrent net, whose weights' gradients are one product over all steps, and the gradient of
/// those gradients.
constexpr void recurrent(tf::Graph& g) {
  auto x = tf::placeholder<double, 2, width>(g, "x");
  auto xs = tf::placeholder<double, steps, 2, width>(g, "xs");
  auto w = tf::placeholder<double, width, width>(g, "w");
  auto u = tf::placeholder<double, width, width>(g, "u");
  auto b = tf::placeholder<double, width>(g, "b");
  auto [h, hs] = tf::scan(
      [&](auto s, auto v) {
        auto z = tf::tanh(tf::matmul(s, w) + tf::matmul(v, u) + b);
        auto t = tf::sigmoid(tf::matmul(z, w) * 2.0) * s;
        return std::pair{t, tf::matmul(tf::concat<1>(t, v), tf::concat<0>(w, u))};
      },
      x, xs);
  auto loss = (tf::sum(h * h) + tf::sum(hs * hs)).named("loss");
  auto [lx, lxs, lw, lu, lb] = tf::gradients(loss, x, xs, w, u, b);
  lx.named("loss/x");
  lxs.named("loss/xs");
  lw.named("loss/w");
  lu.named("loss/u");
  lb.named("loss/b");
  auto second = (tf::sum(lw * lw) + tf::sum(lu * tf::sum(lx))).named("second");
  auto [sw, su] = tf::gradients(second, w, u);
  sw.named("second/w");
  su.named("second/u");
}

/// Loops and branches in one another.
constexpr void nested(tf::Graph& g) {
  auto x = tf::placeholder<double, width>(g, "x");
  auto w = tf::placeholder<double>(g, "w");
  auto y = tf::fori_loop(
      0, 3,
      [&](auto i, auto v) {
        auto u = tf::cond(tf::equal(i, 1), [&] { return tf::sin(v) * w; }, [&] { return v * v; });
        return tf::fori_loop(0, 2, [&](auto, auto z) { return tf::tanh(z * u) + v * w; }, u);
      },
      x);
  auto loss = tf::sum(y).named("loss");
  auto [lx, lw] = tf::gradients(loss, x, w);
  lx.named("loss/x");
  lw.named("loss/w");
  auto second = tf::sum(lx * lx).named("second");
  auto [sx, sw] = tf::gradients(second, x, w);
  sx.named("second/x");
  sw.named("second/w");
}

template <auto Model>
struct Ways {
  tf::Graph graph;
  tf::Interpreter interpreter;
  tf::ir::ProgramInterpreter programs;

  Ways() : interpreter((Model(graph), graph)), programs(graph) {}

  /// What a program computes, which is what the interpreter does.
  tf::HostTensor run(const std::string& name, const tf::HostTensors& feeds) {
    const tf::HostTensor meant = interpreter.run({name}, feeds)[0];
    tf::HostTensor got = programs.run({name}, feeds)[0];
    CAPTURE(name);
    CHECK(test::difference(meant, got) < 1e-14);
    return got;
  }
  /// Compares the gradient "y/x" with differences of a loss.
  void check_gradient(const std::string& y, const std::string& loss, const std::string& x,
                      const tf::HostTensors& feeds) {
    const tf::HostTensor gradient = run(y + "/" + x, feeds);
    CAPTURE(y);
    CAPTURE(x);
    for (std::int64_t i = 0; i < gradient.size(); ++i) {
      constexpr double step = 1e-6;
      tf::HostTensors up = feeds;
      tf::HostTensors down = feeds;
      up[x].set(i, feeds.at(x).value(i) + step);
      down[x].set(i, feeds.at(x).value(i) - step);
      const double difference =
          interpreter.run({loss}, up)[0].value(0) - interpreter.run({loss}, down)[0].value(0);
      CHECK(gradient.value(i) == doctest::Approx(difference / (2 * step)).epsilon(1e-6));
    }
  }
};

const std::vector<double> x0{0.1, -0.2, 0.3};
const std::vector<double> slices{0.1,  0.2, 0.3,  0.4, -0.5, 0.6, 0.7, 0.8,
                                 -0.9, 0.1, -0.2, 0.3, 0.5,  0.1, -0.1};

tf::HostTensors feeds_of(double w) {
  return {{"x", test::doubles({width}, x0)}, {"w", test::doubles({}, {w})}};
}
tf::HostTensors feeds_along(double w) {
  tf::HostTensors feeds = feeds_of(w);
  feeds["xs"] = test::doubles({5, width}, slices);
  return feeds;
}
tf::HostTensor waves(const std::vector<tf::Extent>& extents, double phase) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, test::dims(extents));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, 0.7 * std::sin(phase + 1.7 * static_cast<double>(i)));
  }
  return out;
}

}  // namespace

TEST_CASE("cond: values") {
  Ways<branches> ways;
  for (const double w : {-0.5, 0.0, 0.8}) {
    tf::HostTensors feeds = feeds_of(w);
    const tf::HostTensor y = ways.run("cond", feeds);
    for (std::int64_t i = 0; i < width; ++i) {
      const double x = x0[static_cast<std::size_t>(i)];
      CHECK(y.value(i) == doctest::Approx(w < 0 ? std::exp(x) * w : std::sin(x * w) * x));
    }
  }
  tf::Variables store;
  tf::Session<branches> session(store);
  const auto y = session.run<"cond">(tf::feed<"x">(x0), tf::feed<"w">(0.8));
  CHECK(y(2) == doctest::Approx(std::sin(0.3 * 0.8) * 0.3));
}

TEST_CASE("cond: gradient") {
  Ways<branches> ways;
  for (const double w : {-0.5, 0.8}) {
    for (const char* x : {"x", "w"}) ways.check_gradient("cond", "cond/loss", x, feeds_of(w));
  }
  tf::Variables store;
  tf::Session<branches> session(store);
  const double w = -0.5;
  const double dw = session.run<"cond/w">(tf::feed<"x">(x0), tf::feed<"w">(w));
  double expected = 0;  // of the sum of (exp(x) w)^2
  for (const double x : x0) expected += 2 * std::exp(2 * x) * w;
  CHECK(dw == doctest::Approx(expected));
}

TEST_CASE("switch_case: values") {
  Ways<branches> ways;
  for (const int k : {-1, 0, 1, 2, 7}) {
    tf::HostTensors feeds = feeds_of(0.8);
    feeds["k"] = test::ints({}, {static_cast<double>(k)});
    const tf::HostTensor y = ways.run("switch_case", feeds);
    for (std::int64_t i = 0; i < width; ++i) {
      const double x = x0[static_cast<std::size_t>(i)];
      CHECK(y.value(i) == doctest::Approx(k == 0 ? x : k == 1 ? x * 0.8 : std::tanh(x) + 0.8));
    }
  }
}

TEST_CASE("switch_case: gradient") {
  Ways<branches> ways;
  for (const int k : {0, 1, 2}) {
    tf::HostTensors feeds = feeds_of(0.8);
    feeds["k"] = test::ints({}, {static_cast<double>(k)});
    for (const char* x : {"x", "w"}) {
      ways.check_gradient("switch_case", "switch_case/loss", x, feeds);
    }
  }
}

TEST_CASE("while_loop: values") {
  Ways<counted> ways;
  for (const int n : {-3, 0, 1, 2, 7}) {
    tf::HostTensors feeds = feeds_of(0.8);
    feeds["n"] = test::ints({}, {static_cast<double>(n)});
    const int count = n < 0 ? 0 : n;
    const tf::HostTensor y = ways.run("while_loop", feeds);
    for (std::int64_t i = 0; i < width; ++i) {
      double v = x0[static_cast<std::size_t>(i)];
      for (int k = 0; k < count; ++k) v *= 0.8;
      CHECK(y.value(i) == doctest::Approx(v));
    }
    CHECK(ways.run("iterations", feeds).value(0) == count);
    CHECK(test::difference(ways.run("run-time bounds", feeds), y) == 0);
  }
  tf::Variables store;
  tf::Session<counted> session(store);
  const auto y = session.run<"while_loop">(tf::feed<"x">(x0), tf::feed<"w">(0.5));
  CHECK(y(1) == doctest::Approx(-0.2 / 32));
}

TEST_CASE("fori_loop: values") {
  Ways<counted> ways;
  const tf::HostTensors feeds = feeds_of(0.8);
  const tf::HostTensor y = ways.run("fori_loop", feeds);
  for (std::int64_t i = 0; i < width; ++i) {
    const double x = x0[static_cast<std::size_t>(i)];
    double v = x;
    for (int k = 2; k < 2 + steps; ++k) v = std::sin(v) * 0.8 + k * x;
    CHECK(y.value(i) == doctest::Approx(v));
    CHECK(ways.run("no iterations", feeds).value(i) == x);
    CHECK(ways.run("swapped", feeds).value(i) == doctest::Approx(2 * x));
    CHECK(ways.run("same", feeds).value(i) == doctest::Approx((x + 2) * (x + 2)));
  }
  CHECK(ways.run("kept", feeds).value(0) == 0.8);
}

TEST_CASE("fori_loop: gradient") {
  Ways<counted> ways;
  for (const char* x : {"x", "w"}) {
    ways.check_gradient("fori_loop", "fori_loop/loss", x, feeds_of(0.8));
  }
}

TEST_CASE("scan: values") {
  Ways<along> ways;
  const tf::HostTensors feeds = feeds_along(0.8);
  const tf::HostTensor last = ways.run("last", feeds);
  const tf::HostTensor all = ways.run("scan", feeds);
  const tf::HostTensor reverse = ways.run("reverse", feeds);
  REQUIRE(all.size() == 15);
  for (std::size_t i = 0; i < width; ++i) {
    double s = x0[i];
    for (std::size_t t = 0; t < 5; ++t) {
      s = std::tanh(s * 0.8 + slices[3 * t + i]);
      const auto at = static_cast<std::int64_t>(3 * t + i);
      CHECK(all.value(at) == doctest::Approx(s * slices[3 * t + i]));
    }
    CHECK(last.value(static_cast<std::int64_t>(i)) == doctest::Approx(s));
    s = x0[i];
    for (std::size_t t = 5; t-- > 0; s += slices[3 * t + i]) {
      CHECK(reverse.value(static_cast<std::int64_t>(3 * t + i)) == doctest::Approx(s));
    }
  }
  // In a session, of a batch that changes.
  tf::Variables store;
  tf::Session<along> session(store);
  for (const std::size_t count : {5u, 2u, 0u, 4u}) {
    const std::vector<double> some(slices.begin(),
                                   slices.begin() + static_cast<std::ptrdiff_t>(3 * count));
    const auto [h, hs] =
        session.run<"last", "scan">(tf::feed<"x">(x0), tf::feed<"w">(0.8), tf::feed<"xs">(some));
    double s = x0[1];
    for (std::size_t t = 0; t < count; ++t) s = std::tanh(s * 0.8 + some[3 * t + 1]);
    CHECK(h(1) == doctest::Approx(s));
    CHECK(hs.size() == 3 * count);
  }
}

TEST_CASE("scan: gradient") {
  Ways<along> ways;
  for (const char* x : {"x", "w", "xs"}) {
    ways.check_gradient("scan", "scan/loss", x, feeds_along(0.8));
  }
}

TEST_CASE("map: values") {
  Ways<along> ways;
  const tf::HostTensor y = ways.run("map", feeds_along(0.8));
  REQUIRE(y.size() == 5);
  for (std::size_t t = 0; t < 5; ++t) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += slices[3 * t + i] * slices[3 * t + i];
    CHECK(y.value(static_cast<std::int64_t>(t)) == doctest::Approx(sum * 0.8));
  }
}

TEST_CASE("map: gradient") {
  Ways<along> ways;
  for (const char* x : {"w", "xs"}) ways.check_gradient("map", "map/loss", x, feeds_along(0.8));
}

TEST_CASE("fold_left: values") {
  Ways<along> ways;
  const tf::HostTensor y = ways.run("fold_left", feeds_along(0.8));
  for (std::size_t i = 0; i < width; ++i) {
    double s = x0[i];
    for (std::size_t t = 0; t < 5; ++t) s = s * 0.8 + std::sin(slices[3 * t + i]);
    CHECK(y.value(static_cast<std::int64_t>(i)) == doctest::Approx(s));
  }
}

TEST_CASE("fold_left: gradient") {
  Ways<along> ways;
  for (const char* x : {"x", "w", "xs"}) {
    ways.check_gradient("fold_left", "fold_left/loss", x, feeds_along(0.8));
  }
}

TEST_CASE("gradients of a recurrent net, and of those") {
  Ways<recurrent> ways;
  const tf::HostTensors feeds{{"x", waves({2, width}, 0)},
                              {"xs", waves({steps, 2, width}, 1)},
                              {"w", waves({width, width}, 2)},
                              {"u", waves({width, width}, 3)},
                              {"b", waves({width}, 4)}};
  for (const char* x : {"x", "xs", "w", "u", "b"}) {
    ways.check_gradient("loss", "loss", x, feeds);
  }
  for (const char* x : {"w", "u"}) ways.check_gradient("second", "second", x, feeds);
}

TEST_CASE("gradients of loops and branches in one another, and of those") {
  Ways<nested> ways;
  for (const char* x : {"x", "w"}) {
    ways.check_gradient("loss", "loss", x, feeds_of(0.5));
    ways.check_gradient("second", "second", x, feeds_of(0.5));
  }
  tf::Variables store;
  tf::Session<nested> session(store);
  const tf::HostTensor expected = ways.run("second/w", feeds_of(0.5));
  const double dw = session.run<"second/w">(tf::feed<"x">(x0), tf::feed<"w">(0.5));
  CHECK(dw == doctest::Approx(expected.value(0)).epsilon(1e-12));
}
