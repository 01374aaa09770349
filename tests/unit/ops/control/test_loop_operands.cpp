// SPDX-License-Identifier: Apache-2.0

// What of a loop's products is done once for all iterations: against the same written by hand, and
// against finite differences.

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/typeflow.hpp>

namespace {

namespace tf = typeflow;

/// h' = tanh(x A + h B^T), over 4 slices.
constexpr void recurrent(tf::Graph& g) {
  auto x = placeholder<double, 4, 2, 3>(g, "x");
  auto a = placeholder<double, 3, 5>(g, "a");
  auto b = placeholder<double, 5, 5>(g, "b");
  auto [last, all] = tf::scan(
      [&](auto h, auto now) {
        auto next = tf::tanh(matmul(now, a) + matmul<tf::transpose_b>(h, b));
        return std::pair{next, 2.0 * next};
      },
      tf::zeros<double, 2, 5>(g), x);
  last.named("last");
  all.named("all");
  auto loss = tf::sum(all * all * all).named("loss");
  auto [dx, da, db] = gradients(loss, x, a, b);
  dx.named("dx");
  da.named("da");
  db.named("db");
}

/// Products of one iteration alone, of no slice, and of a slice with what the body computes.
constexpr void others(tf::Graph& g) {
  auto x = placeholder<double, 4, 2, 2>(g, "x");
  auto w = placeholder<double, 2, 2>(g, "w");
  tf::scan(
      [&](auto h, auto now) { return std::pair{matmul(now, h), matmul<tf::transpose_a>(now, w)}; },
      w, x)
      .second.named("y");
  tf::map([&](auto now) { return matmul<tf::transpose_b>(now, w) + matmul(now, w); }, x).named("z");
}

std::vector<double> numbers(std::size_t count, double from) {
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = std::sin(from + 0.7 * static_cast<double>(i)) * 0.5;
  }
  return x;
}

struct Reference {
  std::vector<double> all;
  double loss = 0;
};
Reference run(const std::vector<double>& x, const std::vector<double>& a,
              const std::vector<double>& b) {
  Reference r;
  std::vector<double> h(10, 0);
  for (std::size_t t = 0; t < 4; ++t) {
    std::vector<double> next(10);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        double z = 0;
        for (std::size_t k = 0; k < 3; ++k) z += x[(t * 2 + i) * 3 + k] * a[k * 5 + j];
        for (std::size_t k = 0; k < 5; ++k) z += h[i * 5 + k] * b[j * 5 + k];
        next[i * 5 + j] = std::tanh(z);
      }
    }
    h = next;
    for (const double y : h) {
      r.all.push_back(2 * y);
      r.loss += 8 * y * y * y;
    }
  }
  return r;
}

void check_close(const auto& got, const std::vector<double>& wanted, double error) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(got.data()[i] == doctest::Approx(wanted[i]).epsilon(error));
  }
}

/// The operations of the kernels that a program's blocks run, besides its own steps.
int products_in_blocks(const tf::ir::ProgramPools& program) {
  int count = 0;
  for (int s = program.blocks[0].count; s < program.steps.size(); ++s) {
    count += program.specs[program.steps[s].kernel].kind == tf::ir::KernelKind::contraction;
  }
  return count;
}

TEST_CASE("products of a loop's slices, and with transposed matrices") {
  const auto x = numbers(24, 0.1);
  const auto a = numbers(15, 1.3);
  const auto b = numbers(25, 2.2);
  tf::Variables variables;
  tf::Session<recurrent> session(variables);
  const auto feed = [&](const auto& f) {
    return f(tf::feed<"x">(x), tf::feed<"a">(a), tf::feed<"b">(b));
  };
  const auto [all, loss, dx, da, db] =
      feed([&](const auto&... f) { return session.run<"all", "loss", "dx", "da", "db">(f...); });
  const Reference wanted = run(x, a, b);
  check_close(all, wanted.all, 1e-12);
  CHECK(loss == doctest::Approx(wanted.loss).epsilon(1e-12));
  const auto difference = [&](std::vector<double> p, const auto& of) {
    std::vector<double> d;
    for (double& e : p) {
      const double kept = e;
      e = kept + 1e-5;
      const double up = of(p);
      e = kept - 1e-5;
      d.push_back((up - of(p)) / 2e-5);
      e = kept;
    }
    return d;
  };
  check_close(dx, difference(x, [&](const auto& p) { return run(p, a, b).loss; }), 1e-6);
  check_close(da, difference(a, [&](const auto& p) { return run(x, p, b).loss; }), 1e-6);
  check_close(db, difference(b, [&](const auto& p) { return run(x, a, p).loss; }), 1e-6);
}

TEST_CASE("a loop's body multiplies what depends on its state, and no more") {
  tf::Graph g;
  recurrent(g);
  const tf::ir::ProgramPools program = tf::ir::compile(std::move(static_cast<tf::ir::Graph&>(g)));
  REQUIRE(program.error.empty());
  CHECK(products_in_blocks(program) == 2);  // h b, and its gradient for h
}

TEST_CASE("products that stay in a loop, and some of map") {
  const auto x = numbers(16, 0.4);
  const auto w = numbers(4, 0.9);
  tf::Variables variables;
  tf::Session<others> session(variables);
  const auto [y, z] = session.run<"y", "z">(tf::feed<"x">(x), tf::feed<"w">(w));
  std::vector<double> wanted_y;
  std::vector<double> wanted_z;
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        double of_y = 0;
        double of_z = 0;
        for (std::size_t k = 0; k < 2; ++k) {
          of_y += x[t * 4 + k * 2 + i] * w[k * 2 + j];
          of_z += x[t * 4 + i * 2 + k] * (w[j * 2 + k] + w[k * 2 + j]);
        }
        wanted_y.push_back(of_y);
        wanted_z.push_back(of_z);
      }
    }
  }
  check_close(y, wanted_y, 1e-12);
  check_close(z, wanted_z, 1e-12);
}

}  // namespace
