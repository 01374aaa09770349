// SPDX-License-Identifier: Apache-2.0

// forests mnist FOLDER NODES STEPS THREADS | houses FILE THREADS newton|variance: what random
// forests and gradient boosting take. Prints `fit SECONDS predict SECONDS score SCORE`, on one
// thread the processor's seconds. The script bench/forests compares with scikit-learn.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/estimators/gradient_boosting.hpp>
#include <typeflow/estimators/random_forest.hpp>

namespace tf = typeflow;

namespace {

double now(int threads) {
  if (threads == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Fit, class Score>
int measure(int threads, const Fit& fit, const Score& score) {
  const double start = now(threads);
  fit();
  const double fitted = now(threads);
  const double found = score();
  std::printf("fit %.3f predict %.4f score %.4f\n", fitted - start, now(threads) - fitted, found);
  return 0;
}

int mnist(const std::string& folder, int nodes, int steps, int threads) {
  const tf::Datasets digits = tf::read_mnist(folder);
  tf::RandomForestClassifier forest(784, 10,
                                    {.trees = 100,
                                     .max_nodes = nodes,
                                     .split_after_samples = 100,
                                     .splits_to_consider = 50,
                                     .threads = threads});
  return measure(
      threads,
      [&] {
        forest.fit(digits.train.images, digits.train.labels, {.steps = steps, .batch = 1000});
      },
      [&] { return forest.evaluate(digits.test.images, digits.test.labels).accuracy; });
}

/// Every fifth row is for the test. The price is in units of 100,000 dollars.
int houses(const std::string& path, int threads, bool newton) {
  std::vector<float> x[2];
  std::vector<float> y[2];
  std::ifstream file(path);
  std::string line;
  for (int i = 0; std::getline(file, line); ++i) {
    std::stringstream fields(line);
    std::string field;
    for (int k = 0; std::getline(fields, field, ','); ++k) {
      (k < 8 ? x : y)[i % 5 == 4 ? 1 : 0].push_back(std::stof(field) / (k < 8 ? 1 : 100000));
    }
  }
  tf::GradientBoostingOptions options{.rounds = 100, .threads = threads};
  options.gain = newton ? tf::SplitGain::newton : tf::SplitGain::variance;
  if (newton) {
    options.max_depth = 5;
    options.min_samples_leaf = 20;
  }
  tf::GradientBoostingRegressor model(8, options);
  return measure(
      threads, [&] { model.fit(x[0], y[0]); }, [&] { return model.evaluate(x[1], y[1]).r2; });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 5 && words[0] == "mnist") {
    return mnist(words[1], std::stoi(words[2]), std::stoi(words[3]), std::stoi(words[4]));
  }
  if (words.size() == 4 && words[0] == "houses") {
    return houses(words[1], std::stoi(words[2]), words[3] == "newton");
  }
  std::fputs(
      "usage: forests mnist FOLDER NODES STEPS THREADS | houses FILE THREADS newton|variance\n",
      stderr);
  return 2;
}
