// SPDX-License-Identifier: Apache-2.0

// The Mandelbrot set by a loop in the graph: how often z := z^2 + c can be done before |z| exceeds
// 4, at most 200 times, for 450 x 600 numbers c. TensorFlow's tutorial has the loop in Python; here
// it is a tf::while_loop. Expected: at least 0.99 of the counts equal those of a plain loop over
// single numbers; at the other points rounding decides.
//
//   ch01_fractal --output mandelbrot.png

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <typeflow/control_flow.hpp>
#include <typeflow/image.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int rows = 450;
constexpr int columns = 600;
constexpr float least_re = -2.0f;    // the least real part
constexpr float least_im = -1.125f;  // the least imaginary part
constexpr float distance = 0.005f;   // from one point to the next
constexpr std::int32_t most = 200;
constexpr float limit = 16.0f;  // the limit of |z|^2

constexpr void mandelbrot(tf::Graph& g) {
  auto re = placeholder<float, rows, columns>(g, "re");
  auto im = placeholder<float, rows, columns>(g, "im");
  auto zero = tf::constant<std::int32_t>(g, 0);
  const auto is_inside = [](auto a, auto b) { return less_equal(a * a + b * b, limit); };
  auto [steps, last_re, last_im, counts] =
      while_loop([&](auto step, auto a, auto b,
                     auto) { return logical_and(less(step, most), any(is_inside(a, b))); },
                 [&](auto step, auto a, auto b, auto count) {
                   auto next_a = a * a - b * b + re;
                   auto next_b = 2.0f * a * b + im;
                   // A point that has escaped stays where it is, because its square would soon be
                   // no number.
                   auto inside = is_inside(a, b);
                   return std::tuple(step + 1, where(inside, next_a, a), where(inside, next_b, b),
                                     count + tf::cast<std::int32_t>(inside));
                 },
                 std::tuple(zero, re, im, zeros_like(tf::cast<std::int32_t>(re))));
  steps.named("steps");
  counts.named("counts");
}

/// The same for a single number.
std::int32_t count_of(std::complex<float> c) {
  std::complex<float> z = c;
  std::int32_t count = 0;
  while (count < most && std::norm(z) <= limit) {
    z = {z.real() * z.real() - z.imag() * z.imag() + c.real(),
         2.0f * z.real() * z.imag() + c.imag()};
    ++count;
  }
  return count;
}

/// Black inside of the set; outside from blue through white to brown, twice.
void add_color(tf::Image& image, std::int32_t count) {
  const double turn = 4 * 3.14159265358979 * std::sqrt(static_cast<double>(count) / most);
  for (const double shift : {0.0, 0.6, 1.2}) {
    const double share = count == most ? 0 : 0.5 - 0.5 * std::cos(turn + shift);
    image.pixels.push_back(static_cast<std::uint8_t>(255 * share + 0.5));
  }
}

void draw(const examples::Options& options) {
  constexpr std::size_t points = std::size_t{rows} * columns;
  std::vector<float> re(points);
  std::vector<float> im(points);
  for (std::size_t i = 0; i < points; ++i) {
    re[i] = least_re + distance * static_cast<float>(i % columns);
    im[i] = least_im + distance * static_cast<float>(i / columns);
  }

  tf::Variables variables;
  tf::Session<mandelbrot> session(variables);
  const auto [steps, counts] =
      session.run<"steps", "counts">(tf::feed<"re">(re), tf::feed<"im">(im));

  tf::Image image{rows, columns, 3, {}};
  std::size_t agree = 0;
  std::size_t in_set = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const std::int32_t count = counts(i / columns, i % columns);
    add_color(image, count);
    agree += count == count_of({re[i], im[i]}) ? 1 : 0;
    in_set += count == most ? 1 : 0;
  }
  tf::write_png(options.output, image);
  std::printf("%d steps; %zu of %zu points stay within them: %s\n", static_cast<int>(steps), in_set,
              points, options.output.c_str());
  std::printf("share that agrees with a plain loop %.4f\n",
              static_cast<double>(agree) / static_cast<double>(points));
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "The Mandelbrot set by a loop in the graph.",
                               {.steps = 0, .batch = 0, .rate = 0, .output = "mandelbrot.png"},
                               draw);
}
