// SPDX-License-Identifier: Apache-2.0

// Gradients of loops whose number of iterations a run finds out: against closed forms, differences,
// and loops of a known number.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
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

constexpr int most = 6;

/// x w^n, as `while (i < n) x *= w`.
constexpr void power(tf::Graph& g) {
  auto x = tf::placeholder<double>(g, "x");
  auto w = tf::placeholder<double>(g, "w");
  auto n = tf::placeholder<std::int32_t>(g, "n");
  auto zero = tf::constant<std::int32_t>(g, 0);
  auto [i, y] = tf::while_loop([&](auto k, auto) { return tf::less(k, n); },
                               [&](auto k, auto v) { return std::tuple{k + 1, v * w}; },
                               std::tuple{zero, x}, {.max_iterations = most});
  y.named("y");
  auto [dx, dw] = tf::gradients(y, x, w);
  dx.named("dx");
  dw.named("dw");
  auto [ddx, ddw] = tf::gradients(dw, x, w);  // d/dw d/dx, d2/dw2
  ddx.named("dwdx");
  ddw.named("dwdw");
  tf::gradients(ddw, w).named("dwdwdw");
  auto z = tf::fori_loop(zero, n, [&](auto, auto v) { return v * w; }, x, {.max_iterations = most});
  z.named("fori/y");
  auto [zx, zw] = tf::gradients(z, x, w);
  zx.named("fori/dx");
  zw.named("fori/dw");
}

/// A recurrent net that stops by what it has computed, with captured weights; the same loop of a
/// known number of iterations.
constexpr void recurrent(tf::Graph& g) {
  auto x = tf::placeholder<double, tf::batch, 3>(g, "x");
  auto w = tf::placeholder<double, 3, 3>(g, "w");
  auto b = tf::placeholder<double, 3>(g, "b");
  auto bound = tf::placeholder<double>(g, "bound");
  auto zero = tf::constant<double>(g, 0.0);
  const auto step = [&](auto sum, auto h) {
    auto next = tf::tanh(tf::matmul(h, w) + b) * h;
    auto gate = tf::cond(
        tf::less(sum, 1.0), [&] { return tf::exp(next) * tf::sum(w); }, [&] { return next + b; });
    return std::tuple{sum + tf::mean(tf::square(next)) + 0.5, gate};
  };
  auto [sum, h] = tf::while_loop([&](auto s, auto) { return tf::less(s, bound); }, step,
                                 std::tuple{zero, x}, {.max_iterations = most});
  auto loss = (tf::sum(h * h) + sum).named("loss");
  auto [lx, lw, lb] = tf::gradients(loss, x, w, b);
  lx.named("loss/x");
  lw.named("loss/w");
  lb.named("loss/b");
  auto second = (tf::sum(lw * lw) + tf::sum(lx * x)).named("second");
  auto [sx, sw, sb] = tf::gradients(second, x, w, b);
  sx.named("second/x");
  sw.named("second/w");
  sb.named("second/b");
}

/// Loops in one another: a while loop in a scan, and another in that one; a scan in a while loop.
constexpr void nested(tf::Graph& g) {
  auto x = tf::placeholder<double, 3>(g, "x");
  auto xs = tf::placeholder<double, tf::symbol<"time">, 3>(g, "xs");
  auto w = tf::placeholder<double>(g, "w");
  auto zero = tf::constant<std::int32_t>(g, 0);
  auto [last, all] = tf::scan(
      [&](auto s, auto slice) {
        auto count = tf::cast<std::int32_t>(tf::floor(tf::sum(slice) * 3.0));
        auto inner = tf::fori_loop(
            zero, count,
            [&](auto i, auto v) {
              return tf::fori_loop(zero, i, [&](auto, auto u) { return tf::sin(u * w) + slice; },
                                   v * s, {.max_iterations = 4});
            },
            slice, {.max_iterations = 5});
        return std::pair{inner + s * w, inner};
      },
      x, xs);
  auto loss = (tf::sum(last * last) + tf::sum(all)).named("loss");
  auto [lx, lxs, lw] = tf::gradients(loss, x, xs, w);
  lx.named("loss/x");
  lxs.named("loss/xs");
  lw.named("loss/w");
  auto outer = tf::while_loop(
      [&](auto v) { return tf::less(tf::sum(v), 4.0); },
      [&](auto v) {
        return v +
               tf::fold_left([&](auto s, auto slice) { return tf::tanh(s * w + slice); }, v, xs) +
               0.5;
      },
      x, {.max_iterations = 8});
  auto whole = tf::sum(outer * outer).named("outer");
  auto [ox, oxs, ow] = tf::gradients(whole, x, xs, w);
  ox.named("outer/x");
  oxs.named("outer/xs");
  ow.named("outer/w");
}

tf::HostTensor waves(const std::vector<tf::Extent>& extents, double phase) {
  tf::HostTensor out = tf::host_tensor(tf::DType::float64, test::dims(extents));
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.set(i, 0.7 * std::sin(phase + 1.7 * static_cast<double>(i)));
  }
  return out;
}

struct Ways {
  tf::Graph graph;
  tf::Interpreter interpreter;
  tf::ir::ProgramInterpreter programs;

  template <class Model>
  explicit Ways(const Model& model) : interpreter((model(graph), graph)), programs(graph) {}

  tf::HostTensor run(const std::string& name, const tf::HostTensors& feeds) {
    const tf::HostTensor meant = interpreter.run({name}, feeds)[0];
    tf::HostTensor got = programs.run({name}, feeds)[0];
    CAPTURE(name);
    CHECK(test::difference(meant, got) < 1e-12);
    return got;
  }
  void check_gradient(const std::string& y, const std::string& x, const tf::HostTensors& feeds) {
    constexpr double step = 1e-6;
    CAPTURE(y);
    CAPTURE(x);
    const tf::HostTensor gradient = run(y + "/" + x, feeds);
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
};

}  // namespace

TEST_CASE("while_loop: gradient") {
  Ways ways(power);
  for (int n = -1; n <= most; ++n) {
    CAPTURE(n);
    const double x = 1.5;
    const double w = -0.7;
    const double count = n < 0 ? 0 : n;
    const tf::HostTensors feeds{{"x", test::doubles({}, {x})},
                                {"w", test::doubles({}, {w})},
                                {"n", test::ints({}, {static_cast<double>(n)})}};
    const auto is = [&](const char* name, double expected) {
      CAPTURE(name);
      CHECK(ways.run(name, feeds).value(0) == doctest::Approx(expected));
    };
    is("y", x * std::pow(w, count));
    is("dx", std::pow(w, count));
    is("dw", count * std::pow(w, count - 1) * x);
    is("dwdx", count * std::pow(w, count - 1));
    is("dwdw", count * (count - 1) * std::pow(w, count - 2) * x);
    is("dwdwdw", count * (count - 1) * (count - 2) * std::pow(w, count - 3) * x);
    is("fori/y", x * std::pow(w, count));
    is("fori/dx", std::pow(w, count));
    is("fori/dw", count * std::pow(w, count - 1) * x);
  }
}

TEST_CASE("a session runs it; fewer iterations after more leave nothing behind") {
  tf::Variables store;
  tf::Session<power> session(store);
  for (const int n : {6, 2, 0, 5}) {
    CAPTURE(n);
    const auto [dx, dw, dww] = session.run<"dx", "dw", "dwdw">(
        tf::feed<"x">(1.5), tf::feed<"w">(2.0), tf::feed<"n">(std::int32_t{n}));
    CHECK(dx == std::pow(2.0, n));
    CHECK(dw == n * std::pow(2.0, n - 1) * 1.5);
    CHECK(dww == n * (n - 1) * std::pow(2.0, n - 2) * 1.5);
  }
  for (const char* const wrong : {"y", "fori/y"}) {
    CAPTURE(wrong);
    Ways ways(power);
    const tf::HostTensors feeds{{"x", test::doubles({}, {1})},
                                {"w", test::doubles({}, {1})},
                                {"n", test::ints({}, {most + 1})}};
    CHECK_THROWS_AS((void)ways.programs.run({wrong}, feeds), tf::Error);
  }
  try {
    (void)session.run<"dw">(tf::feed<"x">(1.5), tf::feed<"w">(2.0), tf::feed<"n">(std::int32_t{7}));
    FAIL("no error");
  } catch (const tf::Error& error) {
    CHECK(std::string(error.what()).find("after 6 iterations, the most that max_iterations") !=
          std::string::npos);
  }
}

TEST_CASE("a recurrent net that stops by what it has computed") {
  Ways ways(recurrent);
  for (const tf::Extent batch : {0, 1, 2}) {
    for (const double bound : {-1.0, 0.4, 1.2, 2.0}) {
      CAPTURE(batch);
      CAPTURE(bound);
      if (batch == 0 && bound > 0) continue;  // a mean of nothing is no number
      const tf::HostTensors feeds{{"x", waves({batch, 3}, 3)},
                                  {"w", waves({3, 3}, 1)},
                                  {"b", waves({3}, 2)},
                                  {"bound", test::doubles({}, {bound})}};
      for (const char* const x : {"x", "w", "b"}) {
        ways.check_gradient("loss", x, feeds);
        ways.check_gradient("second", x, feeds);
      }
    }
  }
}

TEST_CASE("loops of a limited number in one another") {
  Ways ways(nested);
  for (const tf::Extent time : {0, 1, 4}) {
    CAPTURE(time);
    const tf::HostTensors feeds{
        {"x", waves({3}, 1)}, {"xs", waves({time, 3}, 0.2)}, {"w", test::doubles({}, {0.9})}};
    for (const char* const x : {"x", "xs", "w"}) {
      ways.check_gradient("loss", x, feeds);
      ways.check_gradient("outer", x, feeds);
    }
  }
}

TEST_CASE("without a limit the error says what to do") {
  tf::Graph g;
  std::string text;
  try {
    auto x = tf::placeholder<double>(g, "x");
    auto y =
        tf::while_loop([](auto v) { return tf::less(v, 9.0); }, [](auto v) { return v * 2.0; }, x);
    (void)tf::gradients(y, x);
  } catch (const tf::Error& error) {
    text = error.what();
  }
  CHECK(text.find("give {.max_iterations = n}") != std::string::npos);
  CHECK(text.find("test_while_gradient.cpp:") != std::string::npos);
}
