// SPDX-License-Identifier: Apache-2.0

// Reading numbers: lines of two to four digits, without knowing where a digit stands. A window
// moves over the line in steps of four pixels. At each place the net gives logits for the ten
// digits and a blank. The loss of connectionist temporal classification (CTC) counts all ways in
// which the places read as the number. Source: Graves et al., "Connectionist temporal
// classification", ICML 2006. The accuracy is 1 - the edit distance to the truth, per digit.
// Expected on MNIST: at least 0.9.
//
//   ctc --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   ctc               takes TYPEFLOW_DATA, otherwise trains on drawn digits

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <typeflow/sequences.hpp>
#include <typeflow/training.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr int height = 28;  // pixels
constexpr int length = 112;
constexpr int window = 16;
constexpr int stride = 4;
constexpr int places = (length - window) / stride + 1;
constexpr int features = 96;
constexpr int most = 4;  // digits in a line

constexpr void reader(tf::Graph& g) {
  auto lines = placeholder<float, tf::batch, height, length, 1>(g, "lines");
  auto digits = placeholder<std::int32_t, tf::batch, most>(g, "digits");
  auto counts = placeholder<std::int32_t, tf::batch>(g, "counts");
  auto steps = placeholder<std::int32_t, tf::batch>(g, "steps");
  auto rate = placeholder<float>(g, "rate", 0.1f);

  auto W = variable<float, height, window, 1, features>(g, "window/W");
  auto b = variable<float, features>(g, "window/b", tf::zeros());
  constexpr tf::ConvOptions<2> options{.strides = {1, stride}, .padding = tf::Padding::valid};
  auto seen = relu(conv2d<options>(lines, W) + b);  // (batch,1,25,96)
  auto rows = dense<11>(g, "classes", reshape<tf::batch * places, features>(seen));
  auto logits = transpose<1, 0, 2>(reshape<tf::batch, places, 11>(rows));  // (25,batch,11)

  auto loss = mean(ctc_loss(logits, digits, counts, steps)).named("loss");
  tf::GradientDescent{.rate = rate}.minimize(loss).named("train");

  auto [read, read_counts, neg_sum_logits] = ctc_greedy_decoder(logits, steps);
  read.named("read");  // (batch,25), -1 behind the digits
  auto errors = edit_distance(read, read_counts, digits, counts, {.normalize = false});
  (1 - sum(errors) / sum(cast<float>(counts))).named("accuracy");
}

/// Lines of digits, whose images lie 20 to 28 pixels apart.
struct Lines {
  Lines(const tf::LabeledImages& images, std::size_t count, std::mt19937_64& random)
      : pixels(count * height * length), digits(count * most), counts(count), steps(count) {
    for (std::size_t i = 0; i < count; ++i) {
      counts[i] = static_cast<std::int32_t>(2 + random() % (most - 1));
      std::size_t left = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(counts[i]); ++k) {
        if (k > 0) left += 20 + random() % 9;
        const auto drawn = static_cast<std::int64_t>(random() % images.labels.size());
        digits[i * most + k] = images.labels[static_cast<std::size_t>(drawn)];
        const std::span<const float> image = images.image(drawn);
        for (std::size_t y = 0; y < height; ++y) {
          for (std::size_t x = 0; x < 28; ++x) {
            float& pixel = pixels[(i * height + y) * length + left + x];
            pixel = std::max(pixel, image[y * 28 + x]);
          }
        }
      }
      steps[i] = static_cast<std::int32_t>((left + 28 - window) / stride + 1);
    }
  }
  std::vector<float> pixels;         // (count,28,112)
  std::vector<std::int32_t> digits;  // (count,4)
  std::vector<std::int32_t> counts;  // number of digits
  std::vector<std::int32_t> steps;   // windows up to the end of the last digit
};

void train(const examples::Options& options) {
  const tf::Datasets images = examples::load_digits(options);
  tf::Variables variables;
  tf::Session<reader> session(variables, {.seed = options.seed});
  std::mt19937_64 random(options.seed);
  tf::Progress progress({.steps = options.steps, .batch_size = options.batch});
  for (std::int64_t step = 1; step <= options.steps; ++step) {
    const Lines lines(images.train, static_cast<std::size_t>(options.batch), random);
    const float loss = session.run<"loss", "train">(
        tf::feed<"lines">(lines.pixels), tf::feed<"digits">(lines.digits),
        tf::feed<"counts">(lines.counts), tf::feed<"steps">(lines.steps),
        tf::feed<"rate">(options.rate));
    progress.show(step, loss);
  }

  const Lines lines(images.test, 2000, random);
  const auto [read, accuracy] = session.run<"read", "accuracy">(
      tf::feed<"lines">(lines.pixels), tf::feed<"digits">(lines.digits),
      tf::feed<"counts">(lines.counts), tf::feed<"steps">(lines.steps));
  for (std::size_t i = 0; i < 8; ++i) {
    std::string truth;
    std::string text;
    for (std::size_t k = 0; k < static_cast<std::size_t>(lines.counts[i]); ++k) {
      truth += std::to_string(lines.digits[i * most + k]);
    }
    for (std::size_t k = 0; k < places && read(i, k) >= 0; ++k) text += std::to_string(read(i, k));
    std::printf("%s read as %s\n", truth.c_str(), text.c_str());
  }
  std::printf("test accuracy %.4f\n", static_cast<double>(accuracy));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "Numbers read from lines of digits by the CTC loss.",
      {.data_set = examples::mnist, .steps = 2000, .batch = 50, .rate = 0.1f}, train);
}
