// SPDX-License-Identifier: Apache-2.0

// linear mnist FOLDER THREADS | census FOLDER THREADS: what linear classifiers take. Prints `fit
// SECONDS predict SECONDS score ACCURACY`, on one thread the processor's seconds. The script
// bench/linear_models compares with scikit-learn.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/estimators.hpp>
#include <typeflow/feature_columns.hpp>
#include <typeflow/optimizers.hpp>
#include <typeflow/typeflow.hpp>

namespace tf = typeflow;

namespace {

double now(int threads) {
  if (threads == 1) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Model, class Train, class Test>
int measure(int threads, std::int64_t steps, const Train& train, const Test& test) {
  Model model({.seed = 1, .threads = threads, .progress = nullptr});
  const double start = now(threads);
  model.fit(train, {.steps = steps});
  const double fitted = now(threads);
  const double accuracy = model.evaluate(test)["accuracy"];
  std::printf("fit %.3f predict %.4f score %.4f\n", fitted - start, now(threads) - fitted,
              accuracy);
  return 0;
}

constexpr auto pixels = tf::feature_columns(tf::numeric_column<"pixels", 784>());
constexpr auto digit = tf::categorical_column_with_identity<"digit", 10>();
constexpr tf::Adagrad adagrad{.rate = 0.1f};

int mnist(const std::string& folder, int threads) {
  const tf::Datasets digits = tf::read_mnist(folder);
  const auto rows = [](const tf::LabeledImages& part, const tf::RowOptions& options) {
    return tf::rows<"pixels", "digit">(
        options, tf::matrix(part.images, 784),
        std::vector<std::int64_t>(part.labels.begin(), part.labels.end()));
  };
  return measure<tf::LinearClassifier<pixels, digit, adagrad>>(
      threads, 15000, rows(digits.train, {.batch = 100, .shuffle = true}),
      rows(digits.test, {.batch = 1000, .epochs = 1}));
}

constexpr auto ages =
    tf::bucketized_column(tf::numeric_column<"age">(), {18, 25, 30, 35, 40, 45, 50, 55, 60, 65});
constexpr auto people =
    tf::feature_columns(tf::categorical_column_with_hash_bucket<"workclass", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"education", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"marriage", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"occupation", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"relationship", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"sex", 10'000>(),
                        tf::categorical_column_with_hash_bucket<"country", 10'000>(), ages);
constexpr auto income = tf::categorical_column_with_vocabulary_list<"income">({"<=50K", ">50K"});
constexpr tf::Ftrl ftrl{.rate = 1.0};

/// Eight columns of words, the last one is the income, and the age.
struct Census {
  std::array<std::vector<std::string>, 8> words;
  std::vector<float> age;

  explicit Census(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
      std::array<std::string, 15> field;
      std::size_t begin = 0;
      for (std::string& text : field) {
        const std::size_t end = std::min(line.find(", ", begin), line.size());
        text = line.substr(std::min(begin, line.size()), end - std::min(begin, line.size()));
        begin = end + 2;
      }
      if (field[14].empty()) continue;
      field[14] = field[14].substr(0, field[14].find('.'));
      age.push_back(std::stof(field[0]));
      constexpr std::array<std::size_t, 8> columns = {1, 3, 5, 6, 7, 9, 13, 14};
      for (std::size_t i = 0; i < 8; ++i) words[i].push_back(field[columns[i]]);
    }
  }
  auto rows(const tf::RowOptions& options) const {
    return std::apply(
        [&](const auto&... column) {
          return tf::rows<"age", "workclass", "education", "marriage", "occupation", "relationship",
                          "sex", "country", "income">(options, age, column...);
        },
        words);
  }
};

int census(const std::string& folder, int threads) {
  const Census train(folder + "/uci/adult.data");
  const Census test(folder + "/uci/adult.test");
  return measure<tf::LinearClassifier<people, income, ftrl>>(
      threads, 260, train.rows({.batch = 500, .shuffle = true}),
      test.rows({.batch = 1000, .epochs = 1}));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "mnist") return mnist(words[1], std::stoi(words[2]));
  if (words.size() == 3 && words[0] == "census") return census(words[1], std::stoi(words[2]));
  std::fputs("usage: linear mnist FOLDER THREADS | census FOLDER THREADS\n", stderr);
  return 2;
}
