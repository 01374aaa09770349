// SPDX-License-Identifier: Apache-2.0

// k nearest neighbours on MNIST: a test image has the class of the most similar of 5,000 known
// images, or the one that most of its five most similar have. Nothing is trained: the known images
// are fed like the others. Draws the confusion matrix of one neighbour as confusion.svg. Expected:
// a test accuracy of one neighbour of at least 0.93.
//
//   nearest_neighbors --data DIR    DIR, or DIR/mnist, has the four files of MNIST
//   nearest_neighbors               takes TYPEFLOW_DATA, otherwise compares drawn digits

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <typeflow/plots.hpp>
#include <typeflow/typeflow.hpp>

#include "common/digits.hpp"

namespace tf = typeflow;

constexpr int pixels = 784;
constexpr int neighbors = 5;

constexpr void nearest(tf::Graph& g) {
  constexpr auto knowns = tf::symbol<"time">;  // how many images are known
  auto known = placeholder<float, knowns, pixels>(g, "known");
  auto labels = placeholder<std::int32_t, knowns>(g, "labels");
  auto x = placeholder<float, tf::batch, pixels>(g, "x");
  // -|x - k|^2 without |x|^2, which is the same for all k.  // (batch,knowns)
  auto closeness = 2.0f * matmul<tf::transpose_b>(x, known) - sum<1>(square(known));
  auto [values, places] = top_k<neighbors>(closeness);  // (batch,5), the nearest first
  auto classes = gather(labels, places);                // (batch,5)
  slice<tf::whole, 0>(classes).named("one");
  // Of classes with equally many neighbours, argmax takes the lowest.
  argmax<1>(sum<1>(tf::one_hot<10, -1, float>(classes))).named("five");
}

void classify(const examples::Options& options) {
  const tf::Datasets digits = examples::load_digits(options);
  // The first images of MNIST's training file, which read_mnist sets aside.
  const std::vector<float>& known = digits.validation.images;
  const std::vector<std::int32_t>& labels = digits.validation.labels;
  const auto tests = static_cast<std::size_t>(digits.test.size());

  tf::Variables variables;
  tf::Session<nearest> session(variables);
  std::vector<std::int32_t> predictions;
  std::size_t right = 0;
  for (std::size_t from = 0; from < tests; from += static_cast<std::size_t>(options.batch)) {
    const std::size_t size = std::min(static_cast<std::size_t>(options.batch), tests - from);
    const auto [one, five] = session.run<"one", "five">(
        tf::feed<"known">(known), tf::feed<"labels">(labels),
        tf::feed<"x">(std::span(digits.test.images).subspan(from * pixels, size * pixels)));
    predictions.insert(predictions.end(), one.data(), one.data() + one.size());
    for (std::size_t i = 0; i < size; ++i) right += five(i) == digits.test.labels[from + i] ? 1 : 0;
  }
  std::size_t right_of_one = 0;
  for (std::size_t i = 0; i < tests; ++i) {
    right_of_one += predictions[i] == digits.test.labels[i] ? 1 : 0;
  }
  tf::write_plot(options.output,
                 tf::plot_confusion(tf::confusion_counts(digits.test.labels, predictions, 10), {},
                                    {.title = "the nearest neighbour's class",
                                     .x_label = "predicted",
                                     .y_label = "true class"}));
  std::printf("%zu known images; five neighbours: %.4f\n", labels.size(),
              static_cast<double>(right) / static_cast<double>(tests));
  std::printf("test accuracy %.4f\n",
              static_cast<double>(right_of_one) / static_cast<double>(tests));
}

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "k nearest neighbours on MNIST.",
      {.data_set = examples::mnist, .steps = 0, .batch = 500, .rate = 0, .output = "confusion.svg"},
      classify);
}
