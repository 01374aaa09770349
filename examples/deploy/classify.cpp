// SPDX-License-Identifier: Apache-2.0

// A trained model as one static program, which needs no file and no shared library. It prints its
// size, the model's inputs and outputs, and how it classifies drawn digits. Expected: a test
// accuracy of about 0.99. That is for drawn digits, so the figure says nothing about MNIST.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>

#include <typeflow/data/digits.hpp>

#include "classifier.hpp"
#include "weights.hpp"

namespace tf = typeflow;

namespace {

void print(const char* what, std::span<const tf::RunnerTensor> tensors) {
  for (const tf::RunnerTensor& t : tensors) {
    std::printf("%s %.*s: %.*s\n", what, static_cast<int>(t.name.size()), t.name.data(),
                static_cast<int>(t.type.size()), t.type.data());
  }
}

void classify() {
  std::printf("this program: %ju bytes, of which %zu are the weights\n",
              static_cast<std::uintmax_t>(std::filesystem::file_size("/proc/self/exe")),
              deploy::weights().size());
  const tf::Runner classifier = deploy::make_classifier();
  print("input", classifier.inputs());
  print("output", classifier.outputs());

  const tf::LabeledImages data = tf::draw_digits(2000, 2);  // others than those of the training
  const tf::RunnerResults results = classifier.run({{"x", data.images}});
  const std::span<const std::int32_t> classes = results.get<std::int32_t>("class");
  const std::span<const float> probabilities = results.get<float>("probabilities");
  int right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int32_t label = data.labels[i];
    const auto guess = static_cast<std::size_t>(classes[i]);
    if (classes[i] == label) ++right;
    if (i >= 5) continue;
    std::printf("a %d is taken for a %d with probability %.3f\n", label, classes[i],
                static_cast<double>(probabilities[i * 10 + guess]));
  }
  std::printf("test accuracy %.4f\n",
              static_cast<double>(right) / static_cast<double>(classes.size()));
}

}  // namespace

int main() {
  try {
    classify();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
