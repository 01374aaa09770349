// SPDX-License-Identifier: Apache-2.0

// Eigenvalues of a matrix: the energies of a particle in the potential x^2 / 2, the quantum
// harmonic oscillator. On a grid, -f'' / 2 + x^2 f / 2 = e f is an eigenvalue problem of a
// symmetric matrix. It is solved in three ways: by self_adjoint_eig; by inverse power iteration,
// whose vector turns to the lowest state; by orthogonal iteration, the same for four vectors, which
// QR keeps apart. Draws the four states, each at the height of its energy, as states.svg. Expected:
// the energies 1/2, 3/2, 5/2 and 7/2 to 0.01, the grid's error, and the three ways agree to 1e-9.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/linalg.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int points = 160;
constexpr double width = 16;  // from -8 to 8, where the states end
constexpr double h = width / (points + 1);
constexpr int states = 4;

constexpr void oscillator(tf::Graph& g) {
  // -f'' is (2 f_i - f_(i-1) - f_(i+1)) / h^2, of neighbours |i - j| = 1.
  auto i = cast<double>(tf::range<std::int32_t, points>(g, 1, 1));
  auto x = i * h - width / 2;
  auto beside = cast<double>(equal(abs(expand_dims<1>(i) - i), 1.0));
  auto energy = diag(1 / (h * h) + 0.5 * square(x)) - 0.5 / (h * h) * beside;  // (N,N)
  x.named("x");

  auto [values, vectors] = self_adjoint_eig(energy);
  slice<tf::range(0, states)>(values).named("values");
  slice<tf::whole, tf::range(0, states)>(vectors).named("vectors");

  // A multiplication by the inverse is a solution of two triangular systems.
  auto triangle = cholesky(energy);
  auto start = random_normal<double, points, states>(g, "start");
  const auto power = [=](auto, auto f) {
    auto next = cholesky_solve(triangle, f);
    return next / norm(next);
  };
  auto f = tf::fori_loop(0, 60, power, slice<tf::whole, tf::range(0, 1)>(start));  // (N,1)
  sum(f * matmul(energy, f)).named("lowest");  // Rayleigh's quotient

  const auto turn = [=](auto, auto block) { return qr(cholesky_solve(triangle, block)).q; };
  auto block = tf::fori_loop(0, 100, turn, start);  // (N,4)
  sum<0>(block * matmul(energy, block)).named("block");
}

void solve(const examples::Options& options) {
  tf::Variables variables;
  tf::Session<oscillator> session(variables, {.seed = options.seed});
  const auto [x, values, vectors, lowest, block] =
      session.run<"x", "values", "vectors", "lowest", "block">();

  std::printf("state   exact   self_adjoint_eig   orthogonal iteration\n");
  std::vector<tf::Curve> curves;
  double worst = 0;
  double apart = std::abs(lowest - values(0));
  for (std::size_t n = 0; n < states; ++n) {
    const double exact = static_cast<double>(n) + 0.5;
    std::printf("%5zu   %.3f   %16.9f   %20.9f\n", n, exact, values(n), block(n));
    worst = std::max(worst, std::abs(values(n) - exact));
    apart = std::max(apart, std::abs(block(n) - values(n)));
    tf::Curve curve{.name = "state " + std::to_string(n), .y = {}, .x = {}};
    // The sign of an eigenvector is arbitrary: the last hill is above the line.
    double last = 0;
    for (std::size_t k = 0; k < points; ++k) {
      if (std::abs(vectors(k, n)) > 0.05) last = vectors(k, n);
    }
    for (std::size_t k = 0; k < points; ++k) {
      if (std::abs(x(k)) > 5) continue;
      curve.x.push_back(x(k));
      curve.y.push_back(exact + std::copysign(2.0, last) * vectors(k, n));
    }
    curves.push_back(std::move(curve));
  }
  std::printf("inverse power iteration: %.9f\n", lowest);
  tf::write_plot(options.output, tf::plot_curves(curves, {.title = "the harmonic oscillator",
                                                          .x_label = "x",
                                                          .y_label = "energy"}));
  std::printf(
      "energies within %.4f of the exact ones, iterations within %.1e of self_adjoint_eig\n", worst,
      apart);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "Eigenvalues: the quantum harmonic oscillator.",
                               {.steps = 0, .batch = 0, .rate = 0, .output = "states.svg"}, solve);
}
