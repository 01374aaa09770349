// SPDX-License-Identifier: Apache-2.0

// A low-pass filter by the discrete Fourier transform: a signal of two tones of 5 and 12 Hz, with
// noise, becomes a spectrum (rfft); the elements above 20 Hz become 0; irfft gives the filtered
// signal. Its spectrum before and after the filter is drawn. Expected: both transforms agree with
// their definition in plain loops of doubles, and most of the noise is gone.

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include <typeflow/plots.hpp>
#include <typeflow/signal.hpp>
#include <typeflow/typeflow.hpp>

#include "common/program.hpp"

namespace tf = typeflow;

constexpr int samples = 2000;  // at 200 Hz: ten seconds
constexpr int rate = 200;
constexpr int kept = samples / 2 + 1;  // frequencies, a tenth of a Hz apart
constexpr int limit = 20;              // Hz

constexpr void low_pass(tf::Graph& g) {
  auto x = placeholder<float, samples>(g, "x");
  auto spectrum = rfft(x);  // (kept)
  auto pass = less(tf::range<std::int32_t, kept>(g, 0, 1), limit * samples / rate);
  auto filtered = where(pass, spectrum, 0);
  auto y = tf::irfft<samples>(filtered).named("y");
  spectrum.named("spectrum");
  (complex_abs(spectrum) * (2.0f / samples)).named("before");
  (complex_abs(tf::rfft(y)) * (2.0f / samples)).named("after");
}

double rms(const auto& f) {
  double sum = 0;
  for (std::size_t t = 0; t < samples; ++t) sum += f(t) * f(t);
  return std::sqrt(sum / samples);
}

void filter(const examples::Options& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> noise(0, 0.5);
  std::vector<double> pure(samples);
  std::vector<float> x(samples);
  for (std::size_t t = 0; t < samples; ++t) {
    const double turns = 2 * std::numbers::pi * static_cast<double>(t) / rate;
    pure[t] = std::sin(5 * turns) + 0.5 * std::cos(12 * turns);
    x[t] = static_cast<float>(pure[t] + noise(random));
  }

  tf::Variables variables;
  tf::Session<low_pass> session(variables);
  const auto [y, spectrum, before, after] =
      session.run<"y", "spectrum", "before", "after">(tf::feed<"x">(x));

  // The definition: the spectrum, and the filtered signal from its elements that pass.
  double difference = 0;
  double size = 0;
  std::vector<double> filtered(samples);
  for (std::size_t k = 0; k < kept; ++k) {
    std::complex<double> sum = 0;
    const auto root = [k](std::size_t t) {
      return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k * t % samples) / samples);
    };
    for (std::size_t t = 0; t < samples; ++t) {
      sum += static_cast<double>(x[t]) * std::conj(root(t));
    }
    difference += std::norm(std::complex<double>(spectrum(k)) - sum);
    size += std::norm(sum);
    if (k >= limit * samples / rate) continue;
    for (std::size_t t = 0; t < samples; ++t) {
      filtered[t] += (k == 0 ? 1 : 2) * (sum * root(t)).real() / samples;
    }
  }
  const double off = rms([&](std::size_t t) { return static_cast<double>(y(t)) - filtered[t]; });
  const double agreement = 1 - std::sqrt(difference / size) - off;

  tf::Curve of_x{.name = "before the filter"};
  tf::Curve of_y{.name = "after it"};
  for (std::size_t k = 0; k < kept / 2; ++k) {
    of_x.x.push_back(static_cast<double>(k) * rate / samples);
    of_x.y.push_back(static_cast<double>(before(k)));
    of_y.y.push_back(static_cast<double>(after(k)));
  }
  of_y.x = of_x.x;
  const std::vector<tf::Curve> curves = {of_x, of_y};
  tf::write_plot(options.output, tf::plot_curves(curves, {.title = "Two tones and noise",
                                                          .x_label = "frequency in Hz",
                                                          .y_label = "amplitude"}));
  std::printf("amplitudes: %s\n", options.output.c_str());
  std::printf("at 5 Hz %.3f, at 12 Hz %.3f\n", static_cast<double>(after(50)),
              static_cast<double>(after(120)));
  std::printf("noise before %.4f, after %.4f\n",
              rms([&](std::size_t t) { return static_cast<double>(x[t]) - pure[t]; }),
              rms([&](std::size_t t) { return static_cast<double>(y(t)) - pure[t]; }));
  std::printf("agreement with plain loops %.4f\n", agreement);
}

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "A low-pass filter by Fourier transforms.",
                               {.steps = 0, .batch = 0, .rate = 0, .output = "spectrum.svg"},
                               filter);
}
